//! `optiq info --scores`: what serves exchanges of which size on a network, and why.

use crate::arguments::specification;
use crate::failure::Failure;
use crate::output::{self, Schema};
use optiq::Config;
use optiq_lower::decide::score;
use optiq_lower::learned::{Learned, Record};
use optiq_lower::machine::MachineRecord;
use optiq_lower::model::CostModel;
use optiq_lower::scores::Rule;
use optiq_net::Network;
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::{Plan, demands};
use optiq_view::table;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// Patterns that are looked at: the thesis's three, and one that forwarding cannot help.
const PATTERNS: [&str; 4] = ["pattern:disjoint", "pattern:overlap", "pattern:subset", "pattern:alltoall"];
/// Bytes per pair of the plan that the others are scaled from.
const PLANNED_BYTES: u64 = 8 << 20;
/// Sizes are powers of four, from 1 KiB to 16 MiB.
const SIZES: std::ops::RangeInclusive<u32> = 5..=12;

#[derive(Serialize)]
struct ScoresDocument {
    topology: String,
    rules: Vec<String>,
    agreement_seconds: f64,
    latency_seconds: f64,
    chunk_seconds: f64,
    planned_link_efficiency: f64,
    store_and_forward_link_efficiency: f64,
    mpi_link_efficiency: f64,
    scores: Vec<Row>,
    /// Of `OPTIQ_LEARNED`.
    learned: Vec<Record>,
}

/// What serves one pattern at one size.
#[derive(Serialize)]
struct Row {
    pattern: &'static str,
    message_bytes: u64,
    hosts: usize,
    algorithm: String,
    mpi_seconds: f64,
    multipath_seconds: f64,
    gain: f64,
}

pub fn run(topology: Option<String>, json: bool) -> Result<ExitCode, Failure> {
    let config = Config::read().usable().map_err(|error| Failure::Input(error.to_string()))?;
    let spec = specification(topology.as_deref(), "--topology SPEC")?;
    let network = Network::from_spec(&spec).map_err(|e| Failure::Input(e.to_string()))?;
    let model = match &config.calibration {
        Some(file) => {
            // Which MPI library a program will have is not known here.
            let record = MachineRecord::read(Path::new(file)).map_err(Failure::Input)?;
            let (model, elsewhere) = record.model_on(network.fingerprint(), None);
            if let Some(note) = elsewhere {
                log::warn!("calibration file {file}: {note}");
            }
            model
        }
        None => CostModel::default(),
    };
    let learned = config.learned.as_ref().map(|file| Learned::read(Path::new(file))).transpose();
    let learned = learned.map_err(Failure::Input)?.unwrap_or_default();
    let mut scores = Vec::new();
    for pattern in PATTERNS {
        let plan = plan(&network, pattern)?;
        scores.extend(SIZES.map(|power| row(pattern, 1 << (2 * power), &plan, &network, &config, &model)));
    }
    let CostModel { agreement_seconds, latency_seconds, chunk_seconds, .. } = model;
    let rules = config.scores.0.iter().map(Rule::to_string).collect();
    let topology = network.spec().to_string();
    let document = ScoresDocument {
        topology,
        rules,
        agreement_seconds,
        latency_seconds,
        chunk_seconds,
        planned_link_efficiency: model.planned_link_efficiency,
        store_and_forward_link_efficiency: model.store_and_forward_link_efficiency,
        mpi_link_efficiency: model.mpi_link_efficiency,
        scores,
        learned: learned.records(),
    };
    if json {
        output::print_json(Schema::InfoScores, &document)?
    } else {
        output::print(&(text(&document, &model) + &what_was_learned(&learned)))?
    }
    Ok(ExitCode::SUCCESS)
}

fn plan(network: &Network, pattern: &str) -> Result<Plan, Failure> {
    let demands = demands::parse(pattern, network, PLANNED_BYTES).map_err(|e| Failure::Input(e.to_string()))?;
    let planned = pipeline::run(network, &demands, &PlanOptions::default());
    Ok(planned.map_err(|e| Failure::Work(e.to_string()))?.plan)
}

fn row(pattern: &'static str, bytes: u64, plan: &Plan, network: &Network, config: &Config, model: &CostModel) -> Row {
    let (algorithm, predicted) =
        score(plan, network, &config.decision_options(), model, bytes as f64 / PLANNED_BYTES as f64);
    let hosts: std::collections::BTreeSet<_> = plan.demands.iter().flat_map(|d| [d.src, d.dst]).collect();
    Row {
        pattern: pattern.trim_start_matches("pattern:"),
        message_bytes: bytes,
        hosts: hosts.len(),
        algorithm: algorithm.to_string(),
        mpi_seconds: predicted.plain_seconds,
        multipath_seconds: predicted.planned_seconds,
        gain: predicted.gain(),
    }
}

fn text(d: &ScoresDocument, model: &CostModel) -> String {
    let head = ["pattern", "bytes per pair", "hosts", "served by", "MPI_Alltoallv", "planned paths", "gain"];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(d.scores.iter().map(|r| {
        vec![
            r.pattern.to_string(),
            table::bytes(r.message_bytes as f64),
            r.hosts.to_string(),
            r.algorithm.clone(),
            table::seconds(r.mpi_seconds),
            table::seconds(r.multipath_seconds),
            format!("{:.2} x", r.gain),
        ]
    }));
    let rules = if d.rules.is_empty() { "none".to_string() } else { d.rules.join(",") };
    format!(
        "{}\n\nRules of OPTIQ_SCORES: {rules}; elsewhere the cost model decides.\n\nCost model, as OPTIQ_CALIBRATION takes \
         it (a program measures the first two when it begins):\n{model}\nPredicted:\n{}",
        d.topology,
        table::table(&rows)
    )
}

/// The lines about `OPTIQ_LEARNED`; empty if nothing was learned.
fn what_was_learned(learned: &Learned) -> String {
    if learned.0.is_empty() {
        return String::new();
    }
    format!("\nLearned (OPTIQ_LEARNED), as shares of the link bound on the fabric's own routes:\n{learned}")
}
