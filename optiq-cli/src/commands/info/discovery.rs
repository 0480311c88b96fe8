//! `optiq info --discovery`: which provider would give programs their network, and why the others do not.

use crate::failure::Failure;
use crate::output::{self, Schema};
use optiq::Config;
use optiq::discovery::{self, Answer, DiscoveryError, FileNetwork, Found, PROVIDERS, RankStatement, Surroundings};
use optiq_net::spec::AUTO;
use optiq_view::table;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Serialize)]
struct DiscoveryDocument {
    /// `OPTIQ_TOPOLOGY`, as it counts.
    topology: Option<String>,
    topology_files: Option<String>,
    /// Who gives programs their network; none where they use plain MPI.
    used: Option<&'static str>,
    providers: Vec<ProviderRow>,
}

#[derive(Serialize)]
struct ProviderRow {
    name: &'static str,
    /// `found`, `partial` (what ranks together will find), `nothing`, `refused`, or `not asked`.
    result: &'static str,
    detail: String,
    hosts: Option<usize>,
    switches: Option<usize>,
}

/// The name of this processor, as far as a process can know it without MPI.
fn processor() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/hostname");
    kernel.ok().or_else(|| std::env::var("HOSTNAME").ok()).map_or("unknown".into(), |name| name.trim().to_owned())
}

fn row(name: &'static str, answer: Option<&Result<Answer, DiscoveryError>>) -> ProviderRow {
    let (mut hosts, mut switches) = (None, None);
    let (result, detail) = match answer {
        None => ("not asked", String::new()),
        Some(Err(error)) => ("refused", error.to_string()),
        Some(Ok(Answer::Nothing(why))) => ("nothing", why.clone()),
        Some(Ok(Answer::Partial(text))) => ("partial", text.clone()),
        Some(Ok(Answer::Found(found))) => {
            if let Found::Network(network, _) = found {
                hosts = Some(network.hosts());
                switches = Some(network.vertices() - network.hosts());
            }
            ("found", found.describe())
        }
    };
    ProviderRow { name, result, detail, hosts, switches }
}

pub fn run(json: bool) -> Result<ExitCode, Failure> {
    let config = Config::read().usable().map_err(|error| Failure::Input(error.to_string()))?;
    let files = config.topology_files.as_deref().map(|files| FileNetwork::read(files, config.max_hosts));
    let ranks = [RankStatement::new(&processor(), &|name| std::env::var(name).ok(), files.as_ref())];
    let answers = discovery::discover(&Surroundings {
        topology: Some(config.topology.as_deref().unwrap_or(AUTO)),
        files: files.as_ref(),
        placement: &config.placement,
        max_hosts: config.max_hosts,
        ranks: &ranks,
        in_job: false,
    });
    let by = |name: &str| answers.iter().find(|(who, _)| *who == name).map(|(_, answer)| answer);
    let last = answers.last();
    let finds = last.filter(|(_, answer)| matches!(answer, Ok(Answer::Found(_) | Answer::Partial(_))));
    let error = last.and_then(|(_, answer)| answer.as_ref().err()).map(ToString::to_string);
    let document = DiscoveryDocument {
        used: finds.filter(|_| config.topology.is_some()).map(|(name, _)| *name),
        providers: PROVIDERS.iter().map(|provider| row(provider.name(), by(provider.name()))).collect(),
        topology: config.topology,
        topology_files: config.topology_files,
    };
    if json {
        output::print_json(Schema::InfoDiscovery, &document)?;
    } else {
        output::print(&document.text(finds.map(|(name, _)| *name)))?;
    }
    error.map_or(Ok(ExitCode::SUCCESS), |error| Err(Failure::Input(error)))
}

impl DiscoveryDocument {
    fn text(&self, finds: Option<&str>) -> String {
        let line = |row: &ProviderRow| {
            let used = if finds == Some(row.name) { " (used)" } else { "" };
            let detail = if row.detail.is_empty() { String::new() } else { format!(": {}", row.detail) };
            vec![row.name.to_owned(), format!("{}{used}{detail}", row.result)]
        };
        let mut text = table::list(&self.providers.iter().map(line).collect::<Vec<_>>());
        if self.topology.is_none() {
            text += "\nOPTIQ_TOPOLOGY is not set: this is what auto finds, which optiq wrap sets. Programs that call OPTIQ use plain MPI.\n";
        }
        text
    }
}
