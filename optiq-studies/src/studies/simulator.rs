//! How fast the simulator is, and what it predicts beside what was measured; training and held-out cases apart.

use super::lab::LabContent;
use crate::failure::Failure;
use crate::markdown::{self, MarkdownBlock, TextTable};
use crate::measurement_cases::{self, CaseRole, MeasurementCase, Platform};
use crate::workspace::{self, Workspace};
use optiq_measure::statistics::mean;
use serde::{Deserialize, Serialize};

/// How close a prediction should be, in percent.
const WITHIN: f64 = 15.0;
/// Larger networks of `data/cases.toml` take too long here.
const HOSTS: usize = 1024;

/// Times that were measured, and those that are predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    topology: String,
    demands: String,
    message_bytes: u64,
    role: CaseRole,
    mpi_measured_seconds: f64,
    mpi_simulated_seconds: f64,
    optiq_measured_seconds: f64,
    optiq_simulated_seconds: f64,
}

/// What planned paths reach of their link bound on a large network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutorRow {
    case: MeasurementCase,
    role: CaseRole,
    legs: String,
    transport: String,
    link_bound_seconds: f64,
    seconds: f64,
    packets: u64,
    simulation_seconds: f64,
}

/// What was simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulatorContent {
    /// What the speed benchmark printed.
    speed: Vec<MarkdownBlock>,
    predictions: Vec<Prediction>,
    executor: Vec<ExecutorRow>,
}

/// What `optiq simulate --json` prints, as far as it is needed here.
#[derive(Deserialize)]
struct SimulateDocument {
    runs: Vec<SimulateRun>,
}

#[derive(Deserialize)]
struct SimulateRun {
    seconds: f64,
    link_bound_seconds: f64,
    packets: u64,
    simulation_seconds: f64,
}

/// Simulates for about twenty minutes, what `measured` has of labs and the cases of `data/cases.toml` for the simulator.
///
/// # Errors
/// [`Failure::Work`] if a program fails or prints what is not understood.
pub fn run(workspace: &Workspace, measured: &LabContent) -> Result<SimulatorContent, Failure> {
    let text = workspace::capture(&mut workspace.cargo("bench", ["--package", "optiq-sim", "--bench", "speed"]))?;
    let mut predictions = Vec::new();
    for lab in &measured.labs {
        for bench in &lab.benches {
            let Some(role) = bench.role else { continue };
            for case in &bench.suite.cases {
                let message = format!("{}B", case.message_bytes);
                let simulate = |more: &[&str]| {
                    let topology = &bench.suite.topology;
                    let mut command = workspace.optiq(&["simulate", "--model", "lab", "--topology", topology]);
                    command.args(["--demands", &case.demands, "--message", &message]);
                    only_run(command.args(more))
                };
                let mpi = simulate(&["--mpi", "linear"])?.seconds;
                let optiq = if case.served_by == "MPI" { mpi } else { simulate(&[])?.seconds };
                predictions.push(Prediction {
                    topology: lab.topology.clone(),
                    demands: case.demands.clone(),
                    message_bytes: case.message_bytes,
                    role,
                    mpi_measured_seconds: case.mpi.median_seconds,
                    mpi_simulated_seconds: mpi,
                    optiq_measured_seconds: case.optiq.median_seconds,
                    optiq_simulated_seconds: optiq,
                });
            }
        }
    }
    let speed = markdown::parse(&text);
    let speed = speed.into_iter().filter(|block| matches!(block, MarkdownBlock::Table(_))).collect();
    Ok(SimulatorContent { speed, predictions, executor: executor(workspace)? })
}

fn only_run(command: &mut std::process::Command) -> Result<SimulateRun, Failure> {
    let document: SimulateDocument = workspace::json(command.arg("--json"))?;
    document.runs.into_iter().next().ok_or_else(|| Failure::Work("optiq simulate printed no run".into()))
}

fn executor(workspace: &Workspace) -> Result<Vec<ExecutorRow>, Failure> {
    let mut rows = Vec::new();
    for group in measurement_cases::groups()?.into_iter().filter(|g| g.platform == Platform::Simulator) {
        for case in group.cases {
            if optiq_net::Network::from_spec(&case.topology)?.hosts() > HOSTS {
                continue;
            }
            for (legs, transport) in [("planned", "two-sided"), ("hops", "one-sided")] {
                let mut command = workspace.optiq(&["simulate", "--model", "bgq", "--topology", &case.topology]);
                command.args(["--demands", &case.demands, "--threads", "2", "--legs", legs, "--transport", transport]);
                if let Some(message) = &case.message {
                    command.args(["--message", message]);
                }
                let run = only_run(&mut command)?;
                rows.push(ExecutorRow {
                    case: case.clone(),
                    role: group.role,
                    legs: legs.into(),
                    transport: transport.into(),
                    link_bound_seconds: run.link_bound_seconds,
                    seconds: run.seconds,
                    packets: run.packets,
                    simulation_seconds: run.simulation_seconds,
                });
            }
        }
    }
    Ok(rows)
}

impl SimulatorContent {
    /// Of the page.
    pub const TITLE: &'static str = "The simulator: its speed, and its predictions";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = format!(
            "## Speed\n\n`cargo bench -p optiq-sim --bench speed`: uniform random messages of 4 KB, one a microsecond from each host, the \
             middle one of three runs. Events are arrivals, what hosts do, and wake-ups of channels. The target on one core is 5 M \
             events/s, 400 k packets/s, at most 12 events a packet and 500 MB.\n\n{}\n\
             ## Predictions\n\nThe times of [lab.md](lab.md), measured there on a real network, and those that `optiq simulate --model \
             lab` finds for the same demands: all messages at once for MPI, planner optimal for OPTIQ. One model for all cases; it was \
             tuned on the training cases of `data/cases.toml`, and is judged on the held-out ones.\n",
            markdown::render(&self.speed)
        );
        for role in [CaseRole::HeldOut, CaseRole::Training] {
            page.push_str(&self.predictions_of(role));
        }
        page.push_str(
            "\n## Planned paths on large networks\n\n`optiq simulate --model bgq --threads 2`, planner optimal, with the overheads of \
             forwarding: 85 % of the link bound at 1,024 nodes, in less than a minute, are asked for. Why relaying at every host helps: \
             `docs/executor.md`, whose constants were tuned on the training cases.\n",
        );
        for role in [CaseRole::HeldOut, CaseRole::Training] {
            page.push_str(&self.executor_of(role));
        }
        page
    }

    fn predictions_of(&self, role: CaseRole) -> String {
        let mut table = TextTable::new(&[
            "network<",
            "demands<",
            "bytes",
            "MPI, measured, ms",
            "simulated",
            "off, %",
            "OPTIQ, measured, ms",
            "simulated",
            "off, %",
        ]);
        let mut all: Vec<f64> = Vec::new();
        for p in self.predictions.iter().filter(|p| p.role == role) {
            let off = |simulated: f64, measured: f64| (simulated / measured - 1.0) * 100.0;
            let mpi = off(p.mpi_simulated_seconds, p.mpi_measured_seconds);
            let optiq = off(p.optiq_simulated_seconds, p.optiq_measured_seconds);
            all.extend([mpi.abs(), optiq.abs()]);
            table.rows.push(vec![
                format!("`{}`", p.topology),
                p.demands.trim_start_matches("pattern:").to_owned(),
                p.message_bytes.to_string(),
                format!("{:.1}", p.mpi_measured_seconds * 1e3),
                format!("{:.1}", p.mpi_simulated_seconds * 1e3),
                format!("{mpi:+.1}"),
                format!("{:.1}", p.optiq_measured_seconds * 1e3),
                format!("{:.1}", p.optiq_simulated_seconds * 1e3),
                format!("{optiq:+.1}"),
            ]);
        }
        let close = all.iter().filter(|off| **off <= WITHIN).count();
        let of = match role {
            CaseRole::HeldOut => "held-out",
            CaseRole::Training => "training",
        };
        let sentence = match mean(&all) {
            Some(mean) => format!(
                "{close} of {} predictions of {of} cases are within {WITHIN} %; on average they are {mean:.1} % off.",
                all.len()
            ),
            None => format!("No {of} cases were measured."),
        };
        format!("\n### Predictions of {of} cases\n\n{sentence}\n\n{}", table.markdown())
    }

    fn executor_of(&self, role: CaseRole) -> String {
        let mut table = TextTable::new(&[
            "network<",
            "demands<",
            "message<",
            "legs<",
            "transport<",
            "link bound, ms",
            "simulated, ms",
            "share of the bound, %",
            "packets",
            "simulated in, s",
        ]);
        for row in self.executor.iter().filter(|row| row.role == role) {
            table.rows.push(vec![
                format!("`{}`", row.case.topology),
                row.case.demands.trim_start_matches("pattern:").to_owned(),
                row.case.message.clone().unwrap_or_default(),
                row.legs.clone(),
                row.transport.clone(),
                format!("{:.2}", row.link_bound_seconds * 1e3),
                format!("{:.2}", row.seconds * 1e3),
                format!("{:.1}", row.link_bound_seconds / row.seconds * 100.0),
                row.packets.to_string(),
                format!("{:.0}", row.simulation_seconds),
            ]);
        }
        format!("\n### Shares of the bound, {role} cases\n\n{}", table.markdown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_are_counted_apart() {
        let prediction = |role, simulated: f64| Prediction {
            topology: "star:16".into(),
            demands: "pattern:disjoint".into(),
            message_bytes: 1,
            role,
            mpi_measured_seconds: 1.0,
            mpi_simulated_seconds: simulated,
            optiq_measured_seconds: 1.0,
            optiq_simulated_seconds: 1.0,
        };
        let predictions = vec![
            prediction(CaseRole::HeldOut, 1.5),
            prediction(CaseRole::HeldOut, 0.9),
            prediction(CaseRole::Training, 1.0),
        ];
        let page = SimulatorContent { speed: Vec::new(), predictions, executor: Vec::new() }.body();
        assert!(
            page.contains("3 of 4 predictions of held-out cases are within 15 %; on average they are 15.0 % off."),
            "{page}"
        );
        assert!(page.contains("2 of 2 predictions of training cases are within 15 %"), "{page}");
    }
}
