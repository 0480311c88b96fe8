//! The cases that measurements use, from `data/cases.toml`: constants are tuned on training cases and judged on held-out ones.

use crate::failure::Failure;
use optiq_net::{Network, units};
use optiq_solver::Demand;
use optiq_solver::demands;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

const TEXT: &str = include_str!("../../data/cases.toml");

/// The lists that groups may name.
const LISTS: [(&str, &str); 3] = [
    ("data/thesis30.toml", include_str!("../../data/thesis30.toml")),
    ("data/sizes-training.toml", include_str!("../../data/sizes-training.toml")),
    ("data/sizes-held-out.toml", include_str!("../../data/sizes-held-out.toml")),
];

/// What a group of cases is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseRole {
    /// Constants may be tuned on them.
    Training,
    /// Constants are judged on them.
    HeldOut,
}

impl fmt::Display for CaseRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CaseRole::Training => "training",
            CaseRole::HeldOut => "held out",
        })
    }
}

/// On what a group's cases run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Platform {
    /// An emulated network of 16 hosts.
    Lab,
    /// The same, for messages that go directly.
    Direct,
    /// The same, by one order of sending after the other.
    Orders,
    /// The same, under other profiles as well (`optiq lab up --profile`).
    Profiles,
    /// The same, beside other algorithms.
    Race,
    /// The same, for small messages between several ranks of each host.
    RaceSmall,
    /// The same, for messages of all sizes between 1 to 8 ranks of each of 8 hosts.
    RanksPerHost,
    /// An emulated network of 16 hosts, by every transport.
    Transports,
    /// The packet-level simulator.
    Simulator,
    /// The same, for messages that go directly between many hosts.
    Scale,
    /// A lab of nodes with several adapters.
    Adapters,
    /// The simulator, with many such nodes.
    AdaptersSimulated,
}

/// Demands on a network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasurementCase {
    /// As `--topology` takes it.
    pub topology: String,
    /// As `--demands` takes them; files are relative to the checkout.
    pub demands: String,
    /// As `--message` takes it; none where the demands have bytes of their own.
    pub message: Option<String>,
}

/// Cases that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseGroup {
    /// By which constants and pages refer to it.
    pub name: String,
    /// Training or held out.
    pub role: CaseRole,
    /// What they run on.
    pub platform: Platform,
    /// In labs: all pairs of them on two hosts share what goes from one host to the other.
    pub ranks_per_host: u32,
    /// Why these; a sentence.
    pub why: String,
    /// When they joined a list that was fixed before; no date for those of the list.
    pub added: Option<String>,
    /// At least one.
    pub cases: Vec<MeasurementCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    group: Vec<GroupForm>,
}

/// A group as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupForm {
    name: String,
    role: CaseRole,
    platform: Platform,
    topologies: Vec<String>,
    list: Option<String>,
    #[serde(default)]
    demands: Vec<String>,
    #[serde(default)]
    messages: Vec<String>,
    #[serde(default = "one")]
    ranks_per_host: u32,
    why: String,
    added: Option<String>,
}

fn one() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListForm {
    case: Vec<ListedCase>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListedCase {
    demands: String,
    message: Option<String>,
}

impl GroupForm {
    fn listed(&self) -> Result<Vec<ListedCase>, String> {
        if let Some(list) = &self.list {
            if !self.demands.is_empty() || !self.messages.is_empty() {
                return Err("either a list, or demands and messages are expected".into());
            }
            let known = LISTS.iter().find(|(name, _)| name == list);
            let (name, text) = known.ok_or_else(|| {
                let names: Vec<&str> = LISTS.iter().map(|(name, _)| *name).collect();
                format!("list \"{list}\": one of {} is expected", names.join(", "))
            })?;
            let form: ListForm = toml::from_str(text).map_err(|e| format!("{name}: {}", e.message()))?;
            return Ok(form.case);
        }
        let messages: Vec<Option<String>> = match &self.messages[..] {
            [] => vec![None],
            some => some.iter().cloned().map(Some).collect(),
        };
        let with = |demands: &String| {
            let demands = demands.clone();
            messages.iter().map(move |message| ListedCase { demands: demands.clone(), message: message.clone() })
        };
        Ok(self.demands.iter().flat_map(with).collect())
    }

    fn group(self) -> Result<CaseGroup, String> {
        let listed = self.listed()?;
        let case = |topology: &String, one: &ListedCase| MeasurementCase {
            topology: topology.clone(),
            demands: one.demands.clone(),
            message: one.message.clone(),
        };
        let cases: Vec<MeasurementCase> =
            self.topologies.iter().flat_map(|topology| listed.iter().map(move |one| case(topology, one))).collect();
        if cases.is_empty() {
            return Err("it has no cases; topologies, and demands or a list are expected".into());
        }
        let GroupForm { name, role, platform, ranks_per_host, why, added, .. } = self;
        Ok(CaseGroup { name, role, platform, ranks_per_host, why, added, cases })
    }
}

/// The groups of a text; `path` is for messages.
///
/// # Errors
/// [`Failure::Input`] if it is not of the form of `data/cases.toml`, with the group and what is wrong.
pub fn parse(text: &str, path: &str) -> Result<Vec<CaseGroup>, Failure> {
    let form: FileForm = toml::from_str(text).map_err(|e| Failure::Input(format!("{path}: {}", e.message())))?;
    let group = |form: GroupForm| {
        let name = form.name.clone();
        form.group().map_err(|e| Failure::Input(format!("{path}: group \"{name}\": {e}")))
    };
    form.group.into_iter().map(group).collect()
}

/// When a group of `data/cases.toml` joined a list that was fixed before; nothing for those of the list, and for others.
pub fn added(name: &str) -> Option<String> {
    groups().ok()?.into_iter().find(|group| group.name == name)?.added
}

/// The groups of `data/cases.toml`, in its order.
///
/// # Errors
/// As [`parse`], which a test excludes.
pub fn groups() -> Result<Vec<CaseGroup>, Failure> {
    parse(TEXT, "data/cases.toml")
}

impl MeasurementCase {
    /// The network and the demands; `root` is the checkout.
    ///
    /// # Errors
    /// As their specifications have them.
    pub fn read(&self, root: &Path) -> Result<(Network, Vec<Demand>), Failure> {
        let net = Network::from_spec(&self.topology)?;
        let bytes = match &self.message {
            Some(message) => units::parse_bytes(message).map_err(|e| Failure::Input(format!("message: {e}")))?,
            None => 0,
        };
        let text = match self.demands.strip_prefix("file:") {
            Some(file) => format!("file:{}", root.join(file).display()),
            None => self.demands.clone(),
        };
        let demands = demands::parse(&text, &net, bytes)?;
        Ok((net, demands))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::collections::BTreeSet;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
    }

    /// Every case as what it is: ranks of a host, network, pairs and bytes.
    fn kinds(role: CaseRole, platform: Platform) -> Vec<String> {
        let groups = groups().unwrap();
        let wanted = groups.iter().filter(|g| g.role == role && g.platform == platform);
        let kind = |(ranks, case): (u32, &MeasurementCase)| {
            let (net, demands) = case.read(root()).unwrap();
            assert!(demands.iter().any(|d| d.bytes > 0), "{case:?}");
            format!("{ranks} {} {}", net.spec(), demands::fingerprint(&demands))
        };
        wanted.flat_map(|g| g.cases.iter().map(|case| (g.ranks_per_host, case))).map(kind).collect()
    }

    #[test]
    fn at_least_as_many_cases_are_held_out_and_none_is_both() {
        for platform in [
            Platform::Lab,
            Platform::Direct,
            Platform::Orders,
            Platform::RanksPerHost,
            Platform::Simulator,
            Platform::Scale,
            Platform::Adapters,
            Platform::AdaptersSimulated,
        ] {
            let training = kinds(CaseRole::Training, platform);
            let held_out = kinds(CaseRole::HeldOut, platform);
            assert!(held_out.len() >= training.len(), "{platform:?}: {} and {}", held_out.len(), training.len());
            let trained: BTreeSet<&String> = training.iter().collect();
            let held: BTreeSet<&String> = held_out.iter().collect();
            assert_eq!(
                (trained.len(), held.len()),
                (training.len(), held_out.len()),
                "{platform:?}: a case is there twice"
            );
            assert!(trained.is_disjoint(&held), "{platform:?}: {:?}", trained.intersection(&held));
        }
    }

    #[test]
    fn groups_have_names_of_their_own_and_the_lab_s_cases_sixteen_hosts() {
        let groups = groups().unwrap();
        let names: BTreeSet<&str> = groups.iter().map(|g| g.name.as_str()).collect();
        assert_eq!(names.len(), groups.len());
        let in_labs =
            |g: &&CaseGroup| ![Platform::Simulator, Platform::Scale, Platform::AdaptersSimulated].contains(&g.platform);
        for group in groups.iter().filter(in_labs) {
            // Two processors cannot run more ranks than these as if each had one.
            let expected = match (group.platform, group.ranks_per_host) {
                (Platform::RanksPerHost, _) => 8,
                (_, 1) => 16,
                (_, several) => 64 / several as usize,
            };
            for case in &group.cases {
                assert_eq!(Network::from_spec(&case.topology).unwrap().hosts(), expected, "{case:?}");
            }
        }
        assert!(groups.iter().all(|g| g.why.ends_with('.')));
    }

    #[test]
    fn mistakes_name_the_group() {
        let form = |keys: &str| {
            let text = format!("[[group]]\nname = \"a\"\nrole = \"training\"\nplatform = \"lab\"\nwhy = \"w\"\n{keys}");
            parse(&text, "f").unwrap_err().to_string()
        };
        assert_eq!(
            form("topologies = []"),
            "f: group \"a\": it has no cases; topologies, and demands or a list are expected"
        );
        assert!(
            form("topologies = [\"star:16\"]\nlist = \"x\"")
                .contains("one of data/thesis30.toml, data/sizes-training.toml, ")
        );
        assert!(form("topologies = [\"star:16\"]\nlist = \"x\"\ndemands = [\"y\"]").contains("either a list"));
        assert!(form("topologies = [\"star:16\"]\nrole2 = 1").starts_with("f: "));
    }
}
