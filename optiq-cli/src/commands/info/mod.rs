//! `optiq info`.

mod constants;
mod discovery;
mod options;
mod scores;

use crate::failure::Failure;
use crate::output::{self, Schema};
use clap::Args;
use optiq_lower::transport_rule::{TRANSPORT_RULES, TransportRule};
use optiq_net::grammar::{Entry, KINDS, OPTIONS, ROUTINGS};
use optiq_solver::{PLAN_VERSION, PlannerOptions, planner};
use optiq_view::table;
use serde::Serialize;
use std::process::ExitCode;

/// Show the version, what was built in, and which planners, topologies and patterns there are; or what would serve which
/// exchange; or the options; or the tuned constants; or where programs get their network from
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq info
  optiq info --json
  optiq info -c
  optiq info -cf | tee optiq.conf
  optiq info --constants
  optiq info --discovery
  OPTIQ_TOPOLOGY=auto SLURM_JOB_NODELIST=node[001-004] optiq info --discovery
  optiq info --scores --topology torus:4x4,capacity=12.5MB/s
  OPTIQ_SCORES=0-64KiB=mpi optiq info --scores --topology bgq:512
  OPTIQ_LEARNED=learned.json optiq info --scores --topology star:16")]
pub struct Arguments {
    /// Show the score map: what serves exchanges of which size, and what the cost model predicts for them. Options
    /// (OPTIQ_SCORES, OPTIQ_CALIBRATION, OPTIQ_MIN_GAIN ...) count as they would in a program, and what earlier programs
    /// learned is shown (OPTIQ_LEARNED)
    #[arg(long)]
    scores: bool,
    /// The network of the score map [default: OPTIQ_TOPOLOGY]
    #[arg(long, value_name = "SPEC", requires = "scores")]
    topology: Option<String>,
    /// Show every option with its value and where that comes from: environment, `optiq.conf` or default. What is printed
    /// can be used as `optiq.conf`
    #[arg(short, long, conflicts_with = "scores")]
    config: bool,
    /// Show what each option does and takes as well
    #[arg(short, long, requires = "config")]
    full: bool,
    /// Show every tuned constant with its value, its unit, where it comes from and what it does
    #[arg(long, conflicts_with_all = ["scores", "config"])]
    constants: bool,
    /// Show which provider would give programs their network here, and why those before it do not: a specification or a file
    /// (OPTIQ_TOPOLOGY), and with auto the files of the machine (OPTIQ_TOPOLOGY_FILES), the process manager, or one switch
    #[arg(long, conflicts_with_all = ["scores", "config", "constants"])]
    discovery: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct InfoDocument {
    version: &'static str,
    licence: &'static str,
    plan_version: u32,
    features: Vec<&'static str>,
    planners: Vec<&'static str>,
    planners_left_out: Vec<&'static str>,
    topologies: Vec<&'static str>,
    topology_options: Vec<&'static str>,
    routings: Vec<&'static str>,
    patterns: [&'static str; 7],
    candidate_methods: [&'static str; 5],
    transports: Vec<Transport>,
}

/// What carries chunks with an MPI library.
#[derive(Serialize)]
struct Transport {
    mpi_library: &'static str,
    transport: String,
    reason: &'static str,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        if self.scores {
            return scores::run(self.topology, self.json);
        }
        if self.constants {
            return constants::run(self.json);
        }
        if self.discovery {
            return discovery::run(self.json);
        }
        if self.config {
            return options::run(self.full, self.json);
        }
        let options = PlannerOptions::default();
        let (planners, planners_left_out) =
            planner::NAMES.into_iter().partition(|name| planner::by_name(name, &options).is_ok());
        let features = [("highs", cfg!(feature = "highs")), ("mpi", cfg!(feature = "mpi"))];
        let document = InfoDocument {
            version: env!("CARGO_PKG_VERSION"),
            licence: env!("CARGO_PKG_LICENSE"),
            plan_version: PLAN_VERSION,
            features: features.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect(),
            planners,
            planners_left_out,
            topologies: words(KINDS),
            topology_options: words(OPTIONS),
            routings: words(ROUTINGS),
            patterns: ["disjoint", "overlap", "subset", "alltoall", "random", "coupling", "aggregate"],
            candidate_methods: ["auto", "yen", "diverse", "via", "priced"],
            transports: TRANSPORT_RULES.iter().map(transport).collect(),
        };
        if self.json {
            output::print_json(Schema::Info, &document)?;
        } else {
            let line = |label: &str, words: &[&str]| {
                let words = if words.is_empty() { "none".into() } else { words.join(", ") };
                vec![label.to_owned(), words]
            };
            let version = document.plan_version.to_string();
            let mut lines = vec![
                line("version", &[document.version]),
                line("licence", &[document.licence]),
                line("plan file version", &[&version]),
                line("features", &document.features),
                line("planners", &document.planners),
                line("planners left out", &document.planners_left_out),
                line("topologies", &document.topologies),
                line("topology options", &document.topology_options),
                line("routings", &document.routings),
                line("patterns", &document.patterns),
                line("candidate methods", &document.candidate_methods),
            ];
            for rule in &document.transports {
                let label = format!("transport with {}", rule.mpi_library);
                lines.push(line(&label, &[&format!("{}: {}", rule.transport, rule.reason)]));
            }
            output::print(&table::list(&lines))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn words(entries: &[Entry]) -> Vec<&'static str> {
    entries.iter().map(|entry| entry.syntax).collect()
}

fn transport(rule: &TransportRule) -> Transport {
    let mpi_library = if rule.library.is_empty() { "any other MPI" } else { rule.library };
    Transport { mpi_library, transport: rule.choice.to_string(), reason: rule.reason }
}
