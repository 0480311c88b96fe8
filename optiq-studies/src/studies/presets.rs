//! What gains on a simulated Blue Gene/Q rest on: the same exchanges on the preset that pages use, on the one that is fitted on a published
//! table, and on one whose routers have the pipeline with which the simulator finds BookSim2's curves again.
//!
//! Beside planned paths stands MPI with all messages at once on the fabric's deterministic routes, as in the thesis, and on minimal
//! adaptive ones. A gain is MPI's time over that of planned paths; over several exchanges, their geometric mean.

use crate::claims::exchange::simulate;
use crate::claims::setting::with_planner;
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::presets::PRESETS;
use crate::progress::Progress;
use crate::published::PATTERNS;
use optiq_measure::statistics::geometric_mean;
use optiq_net::{Network, Routing, units};
use optiq_sim::Model;
use optiq_sim::simulated_exchange::method::{MpiAlgorithm, TransferMethod};
use optiq_solver::demands;
use optiq_solver::pipeline;
use optiq_solver::planner::PlannerName;
use optiq_transport::ScheduleOptions;
use optiq_view::table;
use serde::{Deserialize, Serialize};

/// Those that are compared; the first one is the one that pages use.
const COMPARED: [&str; 3] = ["bgq", "mira", "bgq-pipeline"];
/// Networks, and the bytes of each pair.
const SIZES: [(&str, &[u64]); 2] = [("bgq:512", &[64 << 10, 1 << 20, 8 << 20]), ("bgq:1024", &[64 << 10, 1 << 20])];

/// An exchange on one preset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PresetRun {
    preset: String,
    mpi_seconds: f64,
    /// Nothing where routers with a pipeline do not know adaptive routes.
    adaptive_mpi_seconds: Option<f64>,
    planned_seconds: f64,
}

impl PresetRun {
    fn gain(&self) -> f64 {
        self.mpi_seconds / self.planned_seconds
    }

    fn gain_over_faster(&self) -> Option<f64> {
        Some(self.mpi_seconds.min(self.adaptive_mpi_seconds?) / self.planned_seconds)
    }
}

/// An exchange on all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PresetExchange {
    topology: String,
    demands: String,
    message_bytes: u64,
    /// Of planned paths, which are the same on all presets.
    link_bound_seconds: f64,
    runs: Vec<PresetRun>,
}

/// What was simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PresetsContent {
    exchanges: Vec<PresetExchange>,
}

/// Simulates for some minutes.
///
/// # Errors
/// What planners and the simulator report.
pub fn run(progress: &Progress) -> Result<PresetsContent, Failure> {
    let mut exchanges = Vec::new();
    for (topology, messages) in SIZES {
        let net = Network::from_spec(topology)?;
        for pattern in PATTERNS {
            for &message_bytes in messages {
                exchanges.push(exchange(&net, &format!("pattern:{pattern}"), message_bytes, progress)?);
            }
        }
    }
    Ok(PresetsContent { exchanges })
}

fn exchange(net: &Network, demands: &str, message_bytes: u64, progress: &Progress) -> Result<PresetExchange, Failure> {
    let (topology, parsed) = (net.spec().to_owned(), demands::parse(demands, net, message_bytes)?);
    let planned = pipeline::run(net, &parsed, &with_planner(PlannerName::Optimal))?;
    let adaptive = net.clone().with_routing(Routing::MinimalAdaptive)?;
    let mut runs = Vec::new();
    for preset in COMPARED {
        progress.now(format!("{topology}, {demands}, {}, {preset}", units::format_bytes(message_bytes)));
        let model = Model::read(preset)?;
        let mpi = |net: &Network| {
            simulate(net, &model, &parsed, TransferMethod::Mpi(MpiAlgorithm::Linear), progress).map(|run| run.seconds())
        };
        let method = TransferMethod::Planned(Box::new(planned.clone()), ScheduleOptions::default());
        runs.push(PresetRun {
            preset: preset.into(),
            mpi_seconds: mpi(net)?,
            adaptive_mpi_seconds: if model.router.pipeline.is_some() { None } else { Some(mpi(&adaptive)?) },
            planned_seconds: simulate(net, &model, &parsed, method, progress)?.seconds(),
        });
    }
    let link_bound_seconds = planned.report.congestion_seconds;
    Ok(PresetExchange { topology, demands: demands.into(), message_bytes, link_bound_seconds, runs })
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"))
}

impl PresetsContent {
    /// Of the page.
    pub const TITLE: &'static str = "Presets of the simulator: why pages use which, and what gains rest on";

    /// The geometric mean over all exchanges of what a run on a preset has; nothing if it has it in none.
    fn mean(&self, preset: &str, of: impl Fn(&PresetRun) -> Option<f64>) -> Option<f64> {
        let runs = self.exchanges.iter().flat_map(|exchange| &exchange.runs).filter(|run| run.preset == preset);
        geometric_mean(&runs.filter_map(of).collect::<Vec<_>>())
    }

    fn summary(&self) -> TextTable {
        let mut summary = TextTable::new(&["preset<", "times MPI", "times the faster MPI"]);
        for preset in COMPARED {
            summary.rows.push(vec![
                format!("`{preset}`"),
                ratio(self.mean(preset, |run| Some(run.gain()))),
                ratio(self.mean(preset, PresetRun::gain_over_faster)),
            ]);
        }
        summary
    }

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut uses = TextTable::new(&["preset<", "what it is, and why<"]);
        uses.rows = PRESETS.iter().map(|preset| vec![format!("`{}`", preset.name), preset.why.to_owned()]).collect();
        let mut table = TextTable::new(&[
            "network<",
            "demands<",
            "message",
            "preset<",
            "MPI, ms",
            "MPI, adaptive routes, ms",
            "planned paths, ms",
            "share of the link bound",
            "times MPI",
            "times the faster MPI",
        ]);
        let milliseconds = |seconds: f64| format!("{:.4}", seconds * 1e3);
        for exchange in &self.exchanges {
            for run in &exchange.runs {
                table.rows.push(vec![
                    format!("`{}`", exchange.topology),
                    exchange.demands.clone(),
                    units::format_bytes(exchange.message_bytes),
                    format!("`{}`", run.preset),
                    milliseconds(run.mpi_seconds),
                    run.adaptive_mpi_seconds.map_or("-".to_owned(), milliseconds),
                    milliseconds(run.planned_seconds),
                    table::percent(exchange.link_bound_seconds / run.planned_seconds),
                    ratio(Some(run.gain())),
                    ratio(run.gain_over_faster()),
                ]);
            }
        }
        format!(
            "Each page with simulated exchanges says which preset it uses.\n\n{}\n\
             ## The same exchanges on three presets of one machine\n\n\
             MPI sends all messages at once. Planned paths are on deterministic routes, and the same on all three; where chunks are relayed, the \
             cost model of each decides. Routers with a pipeline do not know adaptive routes. Geometric means over the {} exchanges below:\n\n{}\n{}",
            uses.markdown(),
            self.exchanges.len(),
            self.summary().markdown(),
            table.markdown(),
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// 8 and 2 over 2 and 1 s: gains of 4 and 2; over the faster of 8 and 4, and of 2 and 3, 2 and 2.
    #[test]
    fn means_by_hand() {
        let run = |mpi_seconds, adaptive_mpi_seconds, planned_seconds| PresetRun {
            preset: "bgq".into(),
            mpi_seconds,
            adaptive_mpi_seconds: Some(adaptive_mpi_seconds),
            planned_seconds,
        };
        let exchange = |run| PresetExchange {
            topology: "bgq:512".into(),
            demands: "pattern:disjoint".into(),
            message_bytes: 1 << 20,
            link_bound_seconds: 0.5,
            runs: vec![run],
        };
        let content = PresetsContent { exchanges: vec![exchange(run(8.0, 4.0, 2.0)), exchange(run(2.0, 3.0, 1.0))] };
        assert!((content.mean("bgq", |run| Some(run.gain())).unwrap() - 8f64.sqrt()).abs() < 1e-12);
        assert!((content.mean("bgq", PresetRun::gain_over_faster).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(content.mean("mira", PresetRun::gain_over_faster), None);
        assert!(content.body().contains("| `bgq` | 2.83 | 2.00 |"), "{}", content.body());
    }

    /// A small one on all three: what is simulated differs from preset to preset, what is planned does not.
    #[test]
    fn presets_are_compared_on_one_plan() {
        let net = Network::from_spec("bgq:512").unwrap();
        let found = exchange(&net, "pattern:disjoint", 4 << 10, &Progress::new(&|_| ())).unwrap();
        assert_eq!(found.runs.iter().map(|run| run.preset.as_str()).collect::<Vec<_>>(), COMPARED);
        assert!(found.runs.iter().all(|run| run.planned_seconds > found.link_bound_seconds), "{found:?}");
        assert!(found.runs[1].planned_seconds > found.runs[0].planned_seconds, "forwarders copy: {found:?}");
    }
}
