//! What the simulator predicts of labs, beside what was measured there: its model, fitted on one pattern on one network, and all else
//! held out.
//!
//! With `s` a simulated time and `m` the measured one, of each side of each case that is fitted on, the loss is
//!
//! ```text
//!     L = mean of |s / m - 1|
//! ```
//!
//! Where packets wait and how a switch forwards is not fitted: the kernel has a queue in front of each link. Fitted are how much such
//! a queue holds before those behind it wait, what a host needs for a message, and how long a packet is on its way in a host, over a small grid
//! ([`fit`]). Beside the simulator stands the *null model*, which knows no packets: the link bound over the share of it that was reached, the median of
//! the same fitted cases. What users ask is by how much OPTIQ is faster, so that the error of that ratio, the *gain*, is what counts.

use super::lab::{BenchCase, LabContent, RATE, TUNED};
use super::profiles::ProfilesContent;
use crate::closeness::{Closeness, WITHIN, percent_off};
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::measurement_cases::CaseRole;
use crate::selection::Selection;
use crate::workspace::{self, Workspace};
use optiq_measure::statistics::{mean, median};
use optiq_net::Network;
use optiq_sim::Model;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The preset that is fitted.
const MODEL: &str = "lab";
/// The network and the pattern that it is fitted on, at the labs' own rate and profile.
const FITTED: (&str, &str) = ("torus:4x4", "pattern:disjoint");
/// The profiles of [`ProfilesContent`] that are predicted, in which ranks yield.
const PROFILES: [&str; 2] = [TUNED, "kernel"];
/// The name for `--cases` of what was measured in other profiles and at another rate.
pub(super) const OTHER_PROFILES: &str = "profiles";

/// Candidates of the fit: bytes that wait in front of a link; picoseconds that a host needs to send, receive or forward a message;
/// picoseconds of a packet's way in a host.
const BUFFERS: [u64; 3] = [1 << 16, 1 << 18, 4_000_000];
const OVERHEADS: [u64; 3] = [20_000_000, 50_000_000, 100_000_000];
const LATENCIES: [u64; 2] = [50_000_000, 150_000_000];

/// A gain is well predicted within this, in per cent, in this part of the cases, and with an error that is smaller than the null model's by this part.
const GAIN_WITHIN: f64 = 10.0;
const GAINS: f64 = 0.8;
const SKILL: f64 = 1.0 / 3.0;

/// Times that were measured, and those that are predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    topology: String,
    /// Of the lab.
    #[serde(default = "tuned", skip_serializing_if = "is_tuned")]
    profile: String,
    demands: String,
    message_bytes: u64,
    /// Training cases are those that the model was fitted on.
    role: CaseRole,
    mpi: PredictedSide,
    optiq: PredictedSide,
    /// OPTIQ left the exchange to `MPI_Alltoallv`.
    optiq_is_served_by_mpi: bool,
}

fn tuned() -> String {
    TUNED.into()
}

fn is_tuned(profile: &String) -> bool {
    profile == TUNED
}

/// The times of one side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedSide {
    measured_seconds: f64,
    simulated_seconds: f64,
    /// What the most loaded link needs for its bytes.
    link_bound_seconds: f64,
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

/// A measured case whose times are to be predicted.
struct PredictedCase<'a> {
    topology: &'a str,
    profile: &'a str,
    /// The network with the capacity of the lab's links.
    spec: &'a str,
    case: &'a BenchCase,
}

impl PredictedCase<'_> {
    /// Whether the model may be fitted on it.
    fn is_fitted(&self) -> bool {
        (self.topology, self.profile) == (FITTED.0, TUNED) && self.case.demands.starts_with(FITTED.1)
    }

    fn predict(&self, workspace: &Workspace, model: &ModelFile) -> Result<Prediction, Failure> {
        let case = self.case;
        let model = model.at_rate(Network::from_spec(self.spec)?.unit_capacity())?;
        let model = model.to_string_lossy();
        let mpi = self.simulate(workspace, &model, &["--mpi", "linear"])?;
        let optiq_is_served_by_mpi = case.served_by == "MPI";
        // Where no path is forwarded, the library may send by a timetable.
        let optiq =
            if optiq_is_served_by_mpi { mpi } else { self.simulate(workspace, &model, &["--direct-order", "auto"])? };
        Ok(Prediction {
            topology: self.topology.to_owned(),
            profile: self.profile.to_owned(),
            demands: case.demands.clone(),
            message_bytes: case.message_bytes,
            role: if self.is_fitted() { CaseRole::Training } else { CaseRole::HeldOut },
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

    fn simulate(&self, workspace: &Workspace, model: &str, more: &[&str]) -> Result<f64, Failure> {
        let mut command = workspace.optiq(&["simulate", "--model", model, "--topology", self.spec]);
        command.args(["--demands", &self.case.demands]);
        // The bytes of a file are in the file.
        if !self.case.demands.starts_with("file:") {
            command.args(["--message", &format!("{}B", self.case.message_bytes)]);
        }
        let document: SimulateDocument = workspace::json(command.args(more).arg("--json"))?;
        let run = document.runs.into_iter().next();
        Ok(run.ok_or_else(|| Failure::Work("optiq simulate printed no run".into()))?.seconds)
    }
}

/// A model in a file of its own, with the rate of a lab's links.
struct ModelFile<'a> {
    model: &'a Model,
    folder: &'a Path,
}

impl ModelFile<'_> {
    /// Where the model is that has links of this many bytes a second, and is the same in all else.
    fn at_rate(&self, bytes_per_second: f64) -> Result<PathBuf, Failure> {
        let mut model = self.model.clone();
        model.link.rates_bytes_per_second = vec![bytes_per_second];
        let file = self.folder.join("model.toml");
        let unwritten = |why: String| Failure::Work(format!("{} cannot be written: {why}", file.display()));
        let text = toml::to_string(&model).map_err(|e| unwritten(e.to_string()))?;
        std::fs::write(&file, text).map_err(|e| unwritten(e.to_string()))?;
        Ok(file)
    }
}

/// A folder for models, which is gone with it.
fn folder() -> Result<TempDir, Failure> {
    tempfile::tempdir().map_err(|e| Failure::Work(format!("a folder for models cannot be made: {e}")))
}

/// The cases of groups that were measured in labs. Short calls overlap, so that the series of small messages and of the
/// crossover, which are of no group, are no times of one exchange.
fn in_labs<'a>(measured: &'a LabContent, selection: &Selection) -> Vec<PredictedCase<'a>> {
    let benches = measured.labs.iter().flat_map(|lab| lab.benches.iter().map(move |bench| (lab, bench)));
    let of_groups = benches.filter(|(_, bench)| bench.role.is_some() && selection.includes(&bench.title));
    let cases = of_groups.flat_map(|(lab, bench)| bench.suite.cases.iter().map(move |case| (lab, bench, case)));
    cases
        .map(|(lab, bench, case)| PredictedCase {
            topology: &lab.topology,
            profile: TUNED,
            spec: &bench.suite.topology,
            case,
        })
        .collect()
}

/// The cases that were measured in [`PROFILES`].
fn in_profiles(measured: &ProfilesContent) -> Vec<PredictedCase<'_>> {
    let benches = measured.benches.iter().filter(|bench| PROFILES.contains(&bench.setting.as_str()));
    let cases = benches.flat_map(|bench| bench.suite.cases.iter().map(move |case| (bench, case)));
    cases
        .map(|(bench, case)| PredictedCase {
            topology: bench.suite.topology.strip_suffix(OWN_RATE).unwrap_or(&bench.suite.topology),
            profile: &bench.setting,
            spec: &bench.suite.topology,
            case,
        })
        .collect()
}

/// What a specification ends with where links have the labs' rate, [`RATE`].
const OWN_RATE: &str = ",capacity=12.5MB/s";

/// Predicts the selected cases of what was measured; all of them take a minute.
///
/// # Errors
/// [`Failure::Work`] if a program fails or prints what is not understood.
pub(super) fn predict(
    workspace: &Workspace,
    labs: &LabContent,
    profiles: Option<&ProfilesContent>,
    selection: &Selection,
) -> Result<Vec<Prediction>, Failure> {
    let mut cases = in_labs(labs, selection);
    if let Some(profiles) = profiles.filter(|_| selection.includes(OTHER_PROFILES)) {
        // What a group measured in both is predicted once.
        let twice = |a: &PredictedCase, b: &PredictedCase| {
            (a.topology, a.profile, &a.case.demands, a.case.message_bytes)
                == (b.topology, b.profile, &b.case.demands, b.case.message_bytes)
        };
        let others: Vec<_> = in_profiles(profiles).into_iter().filter(|b| !cases.iter().any(|a| twice(a, b))).collect();
        cases.extend(others);
    }
    let (folder, model) = (folder()?, Model::read(MODEL)?);
    let model = ModelFile { model: &model, folder: folder.path() };
    cases.iter().map(|case| case.predict(workspace, &model)).collect()
}

/// Simulates the cases that the model may be fitted on with every candidate: a table with the loss of each, and the best.
///
/// # Errors
/// [`Failure::Input`] if none of these cases was measured, [`Failure::Work`] if a program fails or a file cannot be written.
pub fn fit(workspace: &Workspace, measured: &LabContent, say: &dyn Fn(String)) -> Result<String, Failure> {
    let cases: Vec<_> = in_labs(measured, &Selection::new(&[])).into_iter().filter(PredictedCase::is_fitted).collect();
    if cases.is_empty() {
        let (topology, pattern) = FITTED;
        return Err(Failure::Input(format!("{pattern} on {topology} is not among what was measured in labs")));
    }
    let folder = folder()?;
    let mut table = TextTable::new(&["buffer, bytes", "overheads, us", "latency in a host, us", "loss, %"]);
    let mut best: Option<(f64, Model)> = None;
    for buffer_bytes in BUFFERS {
        for overhead in OVERHEADS {
            for latency in LATENCIES {
                let mut model = Model::read(MODEL)?;
                model.router.buffer_bytes = buffer_bytes;
                model.link.local_latency_picoseconds = latency;
                let host = &mut model.host;
                (host.send_overhead_picoseconds, host.receive_overhead_picoseconds) = (overhead, overhead);
                host.forward_overhead_picoseconds = overhead;
                let loss = loss(workspace, &cases, &ModelFile { model: &model, folder: folder.path() })? * 100.0;
                let words = [buffer_bytes.to_string(), (overhead / 1_000_000).to_string()];
                let more = [(latency / 1_000_000).to_string(), format!("{loss:.2}")];
                say(format!("{}, {}", words.join(", "), more.join(", ")));
                table.rows.push(words.into_iter().chain(more).collect());
                if best.as_ref().is_none_or(|best| loss < best.0) {
                    best = Some((loss, model));
                }
            }
        }
    }
    let best = best.map_or(String::new(), |(loss, model)| {
        format!(
            "best: router.buffer_bytes = {}, host overheads = {} ps, link.local_latency_picoseconds = {}: {loss:.2} %",
            model.router.buffer_bytes, model.host.send_overhead_picoseconds, model.link.local_latency_picoseconds
        )
    });
    Ok(format!("{}\n{} cases\n{best}\n", table.markdown(), cases.len()))
}

/// See the top of the file.
fn loss(workspace: &Workspace, cases: &[PredictedCase], model: &ModelFile) -> Result<f64, Failure> {
    let mut off = Vec::with_capacity(2 * cases.len());
    for case in cases {
        let found = case.predict(workspace, model)?;
        off.extend([found.mpi.off().abs() / 100.0, found.optiq.off().abs() / 100.0]);
    }
    Ok(mean(&off).unwrap_or(0.0))
}

/// Held-out cases come first: they are what a model is judged by.
const ROLES: [CaseRole; 2] = [CaseRole::HeldOut, CaseRole::Training];

fn adjective(role: CaseRole) -> &'static str {
    match role {
        CaseRole::HeldOut => "held-out",
        CaseRole::Training => "fitted",
    }
}

/// The part of the page about predictions, below its heading.
pub(super) fn section(predictions: &[Prediction]) -> String {
    let mut page = format!(
        "The times of [lab.md](lab.md), and of the profiles {} of [profiles.md](profiles.md), measured there on a real network, and those that `optiq simulate \
         --model {MODEL}` finds for the same demands: all messages at once for MPI, planner optimal for OPTIQ. Three parameters of the model \
         (`data/sim/{MODEL}.toml`) were fitted on {} on `{}` at {RATE} alone, by `optiq-studies fit-lab`, and frozen; all other cases are held out: other patterns, \
         other networks, another rate, another profile. **Changed on 2026-11-26**: until then the model had been chosen with all cases of two tori in sight, \
         packets waited at inputs, and the gain was not judged. **Changed on 2026-11-29**: the two directions of a pair follow each other beyond \
         192 KiB, as in Open MPI (`host.both_ways_bytes`, decision 090); that is not fitted, but it was added after predictions of cases with \
         such pairs (all-to-all, blocks) were seen to fail, so that these are no held-out evidence for it.\n",
        PROFILES.join(" and "),
        FITTED.1.trim_start_matches("pattern:"),
        FITTED.0,
    );
    page.push_str(&summary(predictions));
    for role in ROLES {
        page.push_str(&table_of(predictions, role));
    }
    page
}

/// How many predictions are close, those of the null model beside those of the simulator.
fn summary(predictions: &[Prediction]) -> String {
    let null = NullModel::of(predictions);
    let mut text = String::new();
    for role in ROLES {
        let of_role: Vec<&Prediction> = predictions.iter().filter(|p| p.role == role).collect();
        let sides = |off: &dyn Fn(&Prediction) -> [f64; 2]| {
            let [mpi, optiq] = [0, 1].map(|side| Closeness::of(of_role.iter().map(|p| off(p)[side])));
            let all = Closeness::of(of_role.iter().flat_map(|p| off(p)));
            format!("{all}; MPI {mpi}; OPTIQ {optiq}")
        };
        if of_role.is_empty() {
            let _ = write!(text, "\nNo {} cases were measured.\n", adjective(role));
            continue;
        }
        let _ = write!(
            text,
            "\n**Times of {} cases** within {WITHIN} %: {}.",
            adjective(role),
            sides(&|p| [p.mpi.off(), p.optiq.off()])
        );
        if let Some(null) = null {
            let _ = write!(text, " The null model: {}.", sides(&|p| [null.mpi_off(p), null.optiq_off(p)]));
        }
        text.push('\n');
        if let Some(null) = null.filter(|_| role == CaseRole::HeldOut) {
            text.push_str(&gains(&of_role, null));
        }
    }
    match null {
        Some(NullModel { mpi_share, optiq_share }) => {
            let _ = write!(
                text,
                "\nThe null model knows no packets: its time is the link bound over the share of it that is reached, which is the median \
                 of the fitted cases, {:.1} % for MPI and {:.1} % for OPTIQ. Where MPI serves OPTIQ's call, it takes MPI's share, and the gain is 1 for both. \
                 The simulator is worth its time only where its error is smaller.\n",
                mpi_share * 100.0,
                optiq_share * 100.0
            );
        }
        None => text.push_str("\nThere is no null model, which would need fitted cases.\n"),
    }
    text
}

/// How well the gain is predicted: MPI's time over OPTIQ's.
fn gains(predictions: &[&Prediction], null: NullModel) -> String {
    let planned = || predictions.iter().filter(|p| !p.optiq_is_served_by_mpi);
    let off = |gain: &dyn Fn(&Prediction) -> f64| -> Vec<f64> {
        predictions.iter().map(|p| percent_off(gain(p), p.measured_gain()).abs()).collect()
    };
    let (ours, theirs) = (off(&Prediction::simulated_gain), off(&|p| null.gain(p)));
    let within = |off: &[f64]| off.iter().filter(|&&off| off <= GAIN_WITHIN).count();
    let [mean_ours, mean_theirs] = [&ours, &theirs].map(|off| mean(off).unwrap_or(0.0));
    let [median_ours, median_theirs] = [&ours, &theirs].map(|off| median(off).unwrap_or(0.0));
    let smaller = 1.0 - mean_ours / mean_theirs;
    let verdict = |holds: bool| if holds { "met" } else { "missed" };
    format!(
        "\n**The gain in held-out cases**, MPI's time over OPTIQ's: {} of {} predictions within {GAIN_WITHIN} % (asked {:.0} %: **{}**), {mean_ours:.1} % off on average, \
         {median_ours:.1} % by the median; the null model {} of {}, {mean_theirs:.1} % and {median_theirs:.1} %. The simulator's mean error is {:.0} % {} (asked \
         a third smaller: **{}**). OPTIQ served {} of the cases itself.\n",
        within(&ours),
        ours.len(),
        GAINS * 100.0,
        verdict(within(&ours) as f64 >= GAINS * ours.len() as f64),
        within(&theirs),
        theirs.len(),
        smaller.abs() * 100.0,
        if smaller < 0.0 { "larger" } else { "smaller" },
        verdict(smaller >= SKILL),
        planned().count(),
    )
}

fn table_of(predictions: &[Prediction], role: CaseRole) -> String {
    let mut table = TextTable::new(&[
        "network<",
        "profile<",
        "demands<",
        "bytes",
        "MPI, measured, ms",
        "simulated",
        "off, %",
        "OPTIQ, measured, ms",
        "simulated",
        "off, %",
        "gain, measured",
        "simulated",
        "off, %",
    ]);
    for p in predictions.iter().filter(|p| p.role == role) {
        let (demands, message) = match p.demands.strip_prefix("file:") {
            Some(file) => (file, String::new()),
            None => (p.demands.trim_start_matches("pattern:"), p.message_bytes.to_string()),
        };
        let sides = [p.mpi, p.optiq].into_iter().flat_map(|side| {
            let times = [side.measured_seconds, side.simulated_seconds].map(|t| format!("{:.1}", t * 1e3));
            times.into_iter().chain([format!("{:+.1}", side.off())])
        });
        let (measured, simulated) = (p.measured_gain(), p.simulated_gain());
        let gain = [format!("{measured:.2}"), format!("{simulated:.2}")];
        let mut row = vec![format!("`{}`", p.topology), p.profile.clone(), demands.to_owned(), message];
        row.extend(sides);
        row.extend(gain.into_iter().chain([format!("{:+.1}", percent_off(simulated, measured))]));
        table.rows.push(row);
    }
    if table.rows.is_empty() {
        return String::new();
    }
    format!("\n### Predictions of {} cases\n\n{}", adjective(role), table.markdown())
}

impl Prediction {
    /// MPI's time over OPTIQ's.
    fn measured_gain(&self) -> f64 {
        self.mpi.measured_seconds / self.optiq.measured_seconds
    }

    fn simulated_gain(&self) -> f64 {
        self.mpi.simulated_seconds / self.optiq.simulated_seconds
    }
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

/// A time is the link bound over a share that was calibrated on the fitted cases.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NullModel {
    mpi_share: f64,
    optiq_share: f64,
}

impl NullModel {
    /// The medians of the fitted cases; nothing without such.
    fn of(predictions: &[Prediction]) -> Option<Self> {
        let fitted = || predictions.iter().filter(|p| p.role == CaseRole::Training);
        let mpi: Vec<f64> = fitted().map(|p| p.mpi.share()).collect();
        let optiq: Vec<f64> = fitted().filter(|p| !p.optiq_is_served_by_mpi).map(|p| p.optiq.share()).collect();
        Some(NullModel { mpi_share: median(&mpi)?, optiq_share: median(&optiq)? })
    }

    /// Seconds of MPI and of OPTIQ.
    fn seconds(&self, p: &Prediction) -> [f64; 2] {
        let share = if p.optiq_is_served_by_mpi { self.mpi_share } else { self.optiq_share };
        [p.mpi.link_bound_seconds / self.mpi_share, p.optiq.link_bound_seconds / share]
    }

    fn mpi_off(&self, p: &Prediction) -> f64 {
        percent_off(self.seconds(p)[0], p.mpi.measured_seconds)
    }

    fn optiq_off(&self, p: &Prediction) -> f64 {
        percent_off(self.seconds(p)[1], p.optiq.measured_seconds)
    }

    fn gain(&self, p: &Prediction) -> f64 {
        let [mpi, optiq] = self.seconds(p);
        mpi / optiq
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
            profile: tuned(),
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
        let page = section(&predictions);
        // The simulator's counts for each side, then those of the null model.
        let expected = "**Times of held-out cases** within 15 %: 3 of 4, 15.0 % off; MPI 1 of 2, 30.0 % off; OPTIQ 2 of 2, 0.0 % off. The null model: 4 \
                        of 4, 0.0 % off; MPI 2 of 2, 0.0 % off; OPTIQ 2 of 2, 0.0 % off.";
        assert!(page.contains(expected), "{page}");
        assert!(page.contains("**Times of fitted cases** within 15 %: 2 of 2, 0.0 % off"), "{page}");
        // All gains are 1; those simulated are 1.5 and 0.9.
        let expected = "1 of 2 predictions within 10 % (asked 80 %: **missed**), 30.0 % off on average, 30.0 % by the median; the null model 2 of 2, 0.0 % \
                        and 0.0 %.";
        assert!(page.contains(expected), "{page}");
        assert!(page.contains("80.0 % for MPI and 80.0 % for OPTIQ"), "{page}");
    }

    /// A model that is better by a third and close in four of five cases is said to be so.
    #[test]
    fn skill_is_told() {
        let prediction = |role, measured: f64, simulated: f64| Prediction {
            topology: "star:16".into(),
            profile: "kernel".into(),
            demands: "file:a.txt".into(),
            message_bytes: 1,
            role,
            mpi: PredictedSide { measured_seconds: measured, simulated_seconds: simulated, link_bound_seconds: 1.0 },
            optiq: PredictedSide { measured_seconds: 1.0, simulated_seconds: 1.0, link_bound_seconds: 1.0 },
            optiq_is_served_by_mpi: false,
        };
        let held_out = [(2.0, 1.9), (1.5, 1.5), (1.2, 1.0), (1.1, 1.1), (1.0, 1.0)];
        let mut predictions: Vec<_> = held_out.into_iter().map(|(m, s)| prediction(CaseRole::HeldOut, m, s)).collect();
        predictions.push(prediction(CaseRole::Training, 1.0, 1.0));
        let page = section(&predictions);
        // Off by 5, 0, 16.7, 0 and 0 %, and the null model, whose gain is 1, by 50, 33.3, 16.7, 9.1 and 0 %.
        let expected = "4 of 5 predictions within 10 % (asked 80 %: **met**), 4.3 % off on average, 0.0 % by the median; the null model 2 of 5, 21.8 % \
                        and 16.7 %. The simulator's mean error is 80 % smaller (asked a third smaller: **met**).";
        assert!(page.contains(expected), "{page}");
    }
}
