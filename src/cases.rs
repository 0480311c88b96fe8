//! The case files: networks and demands with answers that were derived by hand.

use optiq_net::Network;
use optiq_net::units::parse_bytes;
use optiq_solver::{Demand, demands};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// One case. All planners and all transports must get it right, except where `exceptions` says why not.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique, `snake_case`.
    pub name: String,
    /// Topology specification.
    pub topology: String,
    /// `pattern:...` for [`demands::parse`], or ...
    #[serde(default)]
    pub pattern: Option<String>,
    /// ... triples of source, destination, and bytes (with a unit if wanted).
    #[serde(default)]
    pub demands: Vec<(u32, u32, String)>,
    /// Bytes per pair of a pattern.
    #[serde(default)]
    pub message: Option<String>,
    /// The optimum over all routings: bytes on the worst link, in units of the slowest link.
    pub optimum: f64,
    /// Bytes on the worst link on the fabric's own routes.
    pub direct: f64,
    /// How the two numbers follow, in words.
    pub why: String,
    /// Per planner: how far its worst link may be above the optimum, as a factor. A planner that is not named must
    /// reach the optimum to 0.1 %.
    #[serde(default)]
    pub within: BTreeMap<String, f64>,
    /// Per planner or transport: why the case is not run on it.
    #[serde(default)]
    pub exceptions: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

impl Case {
    /// The case's network.
    ///
    /// # Errors
    /// What is wrong with the specification.
    pub fn network(&self) -> Result<Network, String> {
        Network::from_spec(&self.topology).map_err(|e| format!("{}: {e}", self.name))
    }

    /// The case's demands.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn demands(&self, network: &Network) -> Result<Vec<Demand>, String> {
        let size = |text: &str| parse_bytes(text).map_err(|e| format!("{}: {e}", self.name));
        if let Some(pattern) = &self.pattern {
            let message = size(self.message.as_deref().unwrap_or("1MiB"))?;
            return demands::parse(pattern, network, message).map_err(|e| format!("{}: {e}", self.name));
        }
        let demand = |(src, dst, bytes): &(u32, u32, String)| {
            Ok(Demand::new(optiq_net::NodeId(*src), optiq_net::NodeId(*dst), size(bytes)?))
        };
        self.demands.iter().map(demand).collect()
    }
}

/// All cases of the workspace, in the order of their files' names.
///
/// # Errors
/// The first file that cannot be read, and why.
pub fn all() -> Result<Vec<Case>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let describe = |e: std::io::Error| format!("{}: {e}", folder.display());
    let entries: Result<Vec<_>, _> = std::fs::read_dir(&folder).map_err(describe)?.collect();
    let mut files: Vec<_> = entries.map_err(describe)?.into_iter().map(|e| e.path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "toml"));
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let parsed: File = toml::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        cases.extend(parsed.case);
    }
    Ok(cases)
}
