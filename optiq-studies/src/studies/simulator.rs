//! How fast the simulator is, and what it predicts beside what was measured; training and held-out cases apart.

use super::lab::{BenchCase, LabContent};
use crate::closeness::{Closeness, WITHIN, percent_off};
use crate::failure::Failure;
use crate::markdown::{self, MarkdownBlock, TextTable};
use crate::measurement_cases::{self, CaseRole, Platform};
use crate::selection::Selection;
use crate::workspace::{self, Workspace};
use optiq_measure::statistics::median;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// The name for `--cases` of the speed benchmark.
const SPEED: &str = "speed";

/// Times that were measured, and those that are predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    topology: String,
    demands: String,
    message_bytes: u64,
    role: CaseRole,
    mpi: PredictedSide,
    optiq: PredictedSide,
    /// OPTIQ left the exchange to `MPI_Alltoallv`.
    optiq_is_served_by_mpi: bool,
}

/// The times of one side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedSide {
    measured_seconds: f64,
    simulated_seconds: f64,
    /// What the most loaded link needs for its bytes.
    link_bound_seconds: f64,
}

/// What was simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulatorContent {
    /// What the speed benchmark printed.
    speed: Vec<MarkdownBlock>,
    predictions: Vec<Prediction>,
}

/// What `optiq simulate --json` prints, as far as it is needed here.
#[derive(Deserialize)]
struct SimulateDocument {
    runs: Vec<SimulateRun>,
}

#[derive(Deserialize)]
struct SimulateRun {
    seconds: f64,
}

/// The names that `--cases` takes.
///
/// # Errors
/// As [`measurement_cases::groups`].
pub fn case_names() -> Result<Vec<String>, Failure> {
    let groups = measurement_cases::groups()?.into_iter().filter(|group| group.platform == Platform::Lab);
    Ok(groups.map(|group| group.name).chain([SPEED.to_owned()]).collect())
}

/// Simulates the selected cases of what `measured` has of labs. All of them take about ten minutes.
///
/// # Errors
/// [`Failure::Work`] if a program fails or prints what is not understood.
pub fn run(workspace: &Workspace, measured: &LabContent, selection: &Selection) -> Result<SimulatorContent, Failure> {
    let mut speed = Vec::new();
    if selection.includes(SPEED) {
        let text = workspace::capture(&mut workspace.cargo("bench", ["--package", "optiq-sim", "--bench", "speed"]))?;
        speed = markdown::parse(&text);
        speed.retain(|block| matches!(block, MarkdownBlock::Table(_)));
    }
    let mut predictions = Vec::new();
    for lab in &measured.labs {
        for bench in lab.benches.iter().filter(|bench| selection.includes(&bench.title)) {
            let Some(role) = bench.role else { continue };
            for case in &bench.suite.cases {
                let case = PredictedCase { topology: &lab.topology, spec: &bench.suite.topology, role, case };
                predictions.push(case.predict(workspace)?);
            }
        }
    }
    Ok(SimulatorContent { speed, predictions })
}

/// A measured case whose times are to be predicted.
struct PredictedCase<'a> {
    topology: &'a str,
    /// The network with the capacity of the lab's links.
    spec: &'a str,
    role: CaseRole,
    case: &'a BenchCase,
}

impl PredictedCase<'_> {
    fn predict(&self, workspace: &Workspace) -> Result<Prediction, Failure> {
        let case = self.case;
        let mpi = self.simulate(workspace, &["--mpi", "linear"])?;
        let optiq_is_served_by_mpi = case.served_by == "MPI";
        let optiq = if optiq_is_served_by_mpi { mpi } else { self.simulate(workspace, &[])? };
        Ok(Prediction {
            topology: self.topology.to_owned(),
            demands: case.demands.clone(),
            message_bytes: case.message_bytes,
            role: self.role,
            mpi: PredictedSide {
                measured_seconds: case.mpi.median_seconds,
                simulated_seconds: mpi,
                link_bound_seconds: case.mpi.link_bound_seconds,
            },
            optiq: PredictedSide {
                measured_seconds: case.optiq.median_seconds,
                simulated_seconds: optiq,
                link_bound_seconds: case.optiq.link_bound_seconds,
            },
            optiq_is_served_by_mpi,
        })
    }

    fn simulate(&self, workspace: &Workspace, more: &[&str]) -> Result<f64, Failure> {
        let mut command = workspace.optiq(&["simulate", "--model", "lab", "--topology", self.spec]);
        command.args(["--demands", &self.case.demands]);
        // The bytes of a file are in the file.
        if !self.case.demands.starts_with("file:") {
            command.args(["--message", &format!("{}B", self.case.message_bytes)]);
        }
        Ok(only_run(command.args(more))?.seconds)
    }
}

fn only_run(command: &mut std::process::Command) -> Result<SimulateRun, Failure> {
    let document: SimulateDocument = workspace::json(command.arg("--json"))?;
    document.runs.into_iter().next().ok_or_else(|| Failure::Work("optiq simulate printed no run".into()))
}

impl SimulatorContent {
    /// Of the page.
    pub const TITLE: &'static str = "The simulator: its speed, and its predictions";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = String::from("## Speed\n\n");
        if self.speed.is_empty() {
            page.push_str(&not_run(SPEED));
        } else {
            let _ = write!(
                page,
                "`cargo bench -p optiq-sim --bench speed`: uniform random messages of 4 KB, one a microsecond from each host, the \
                 middle one of three runs. Events are arrivals, what hosts do, and wake-ups of channels. The target on one core is \
                 5 M events/s, 400 k packets/s, at most 12 events a packet and 500 MB.\n\n{}",
                markdown::render(&self.speed)
            );
        }
        page.push_str(
            "\n## Predictions\n\nThe times of [lab.md](lab.md), measured there on a real network, and those that `optiq simulate --model \
             lab` finds for the same demands: all messages at once for MPI, planner optimal for OPTIQ. One model for all cases; it was \
             tuned on the training cases of `data/cases.toml`, and is judged on the held-out ones.\n",
        );
        page.push_str(&self.summary());
        for role in ROLES {
            page.push_str(&self.predictions_of(role));
        }
        page
    }

    /// How many predictions are close, those of the null model beside those of the simulator.
    fn summary(&self) -> String {
        let null = NullModel::of(&self.predictions);
        let mut text = String::new();
        for role in ROLES {
            let of_role = || self.predictions.iter().filter(move |p| p.role == role);
            let all = Closeness::of(of_role().flat_map(|p| [p.mpi.off(), p.optiq.off()]));
            let Some(mean) = all.mean else {
                let _ = write!(text, "\nNo {} cases were measured.\n", adjective(role));
                continue;
            };
            let _ = write!(
                text,
                "\n{} of {} predictions of {} cases are within {WITHIN} %; on average they are {mean:.1} % off. MPI: {}. OPTIQ: {}.",
                all.close,
                all.count,
                adjective(role),
                Closeness::of(of_role().map(|p| p.mpi.off())),
                Closeness::of(of_role().map(|p| p.optiq.off())),
            );
            if let Some(null) = null {
                let (mpi, optiq) = (|p: &Prediction| null.mpi_off(p), |p: &Prediction| null.optiq_off(p));
                let _ = write!(
                    text,
                    " The null model: {}. MPI: {}. OPTIQ: {}.",
                    Closeness::of(of_role().flat_map(|p| [mpi(p), optiq(p)])),
                    Closeness::of(of_role().map(mpi)),
                    Closeness::of(of_role().map(optiq)),
                );
            }
            text.push('\n');
        }
        match null {
            Some(NullModel { mpi_share, optiq_share }) => {
                let _ = write!(
                    text,
                    "\nThe null model knows no packets: its time is the link bound over the share of it that is reached, which is the median \
                     of the training cases, {:.1} % for MPI and {:.1} % for OPTIQ. Where MPI serves OPTIQ's call, it takes MPI's share. The \
                     simulator is worth its time only where its error is smaller.\n",
                    mpi_share * 100.0,
                    optiq_share * 100.0
                );
            }
            None => text.push_str("\nThere is no null model, which would need training cases.\n"),
        }
        text
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
        for p in self.predictions.iter().filter(|p| p.role == role) {
            let (demands, message) = match p.demands.strip_prefix("file:") {
                Some(file) => (file, String::new()),
                None => (p.demands.trim_start_matches("pattern:"), p.message_bytes.to_string()),
            };
            let sides = [p.mpi, p.optiq].into_iter().flat_map(|side| {
                let times = [side.measured_seconds, side.simulated_seconds].map(|t| format!("{:.1}", t * 1e3));
                times.into_iter().chain([format!("{:+.1}", side.off())])
            });
            table
                .rows
                .push([format!("`{}`", p.topology), demands.to_owned(), message].into_iter().chain(sides).collect());
        }
        if table.rows.is_empty() {
            return String::new();
        }
        format!("\n### Predictions of {} cases\n\n{}", adjective(role), table.markdown())
    }
}

/// Held-out cases come first: they are what a model is judged by.
const ROLES: [CaseRole; 2] = [CaseRole::HeldOut, CaseRole::Training];

fn adjective(role: CaseRole) -> &'static str {
    match role {
        CaseRole::HeldOut => "held-out",
        CaseRole::Training => "training",
    }
}

/// What the page says in place of a part that was not selected.
fn not_run(cases: &str) -> String {
    format!("Not part of this run; `cargo xtask results --only simulator --cases {cases}` runs it.\n")
}

impl PredictedSide {
    fn off(&self) -> f64 {
        percent_off(self.simulated_seconds, self.measured_seconds)
    }

    /// The share of the link bound that was reached when it was measured.
    fn share(&self) -> f64 {
        self.link_bound_seconds / self.measured_seconds
    }
}

/// A time is the link bound over a share that was calibrated on training cases.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NullModel {
    mpi_share: f64,
    optiq_share: f64,
}

impl NullModel {
    /// The medians of the training cases; nothing without such.
    fn of(predictions: &[Prediction]) -> Option<Self> {
        let training = || predictions.iter().filter(|p| p.role == CaseRole::Training);
        let mpi: Vec<f64> = training().map(|p| p.mpi.share()).collect();
        let optiq: Vec<f64> = training().filter(|p| !p.optiq_is_served_by_mpi).map(|p| p.optiq.share()).collect();
        Some(NullModel { mpi_share: median(&mpi)?, optiq_share: median(&optiq)? })
    }

    fn mpi_off(&self, p: &Prediction) -> f64 {
        percent_off(p.mpi.link_bound_seconds / self.mpi_share, p.mpi.measured_seconds)
    }

    fn optiq_off(&self, p: &Prediction) -> f64 {
        let share = if p.optiq_is_served_by_mpi { self.mpi_share } else { self.optiq_share };
        percent_off(p.optiq.link_bound_seconds / share, p.optiq.measured_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_are_counted_apart() {
        let side =
            |simulated_seconds| PredictedSide { measured_seconds: 1.0, simulated_seconds, link_bound_seconds: 0.8 };
        let prediction = |role, simulated: f64| Prediction {
            topology: "star:16".into(),
            demands: "pattern:disjoint".into(),
            message_bytes: 1,
            role,
            mpi: side(simulated),
            optiq: side(1.0),
            optiq_is_served_by_mpi: false,
        };
        let predictions = vec![
            prediction(CaseRole::HeldOut, 1.5),
            prediction(CaseRole::HeldOut, 0.9),
            prediction(CaseRole::Training, 1.0),
        ];
        let page = SimulatorContent { speed: Vec::new(), predictions }.body();
        assert!(
            page.contains("3 of 4 predictions of held-out cases are within 15 %; on average they are 15.0 % off."),
            "{page}"
        );
        assert!(page.contains("2 of 2 predictions of training cases are within 15 %"), "{page}");
        // The simulator's counts for each side, then those of the null model.
        assert!(
            page.contains("MPI: 1 of 2, 30.0 % off. OPTIQ: 2 of 2, 0.0 % off. The null model: 4 of 4, 0.0 % off."),
            "{page}"
        );
        assert!(page.contains("80.0 % for MPI and 80.0 % for OPTIQ"), "{page}");
    }
}
