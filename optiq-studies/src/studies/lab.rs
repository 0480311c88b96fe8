//! `MPI_Alltoallv` and `optiq_alltoallv` in turn on labs of 16 hosts, and on one machine without a lab.
//!
//! The cases are the groups of `data/cases.toml` on platform `lab`, training and held-out ones apart; besides, small messages and
//! those around the crossover, which no constant was tuned on, and calls over shared memory.

use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::measurement_cases::{self, CaseGroup, CaseRole, MeasurementCase, Platform};
use crate::selection::Selection;
use crate::workspace::{self, Workspace};
use optiq_measure::statistics::geometric_mean;
use optiq_view::table::{percent, seconds};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// Arguments of `optiq bench alltoallv`, what they are for, and their name for `--cases`.
struct BenchArguments {
    name: &'static str,
    title: &'static str,
    arguments: &'static [&'static str],
}

const ALL_PATTERNS: &str = "pattern:disjoint,pattern:overlap,pattern:subset,pattern:alltoall";

/// Short calls vary from one to the next by more than is looked for, so there are many of them.
const SMALL: BenchArguments = BenchArguments {
    name: "small-messages",
    title: "Small messages",
    arguments: &["--demands", ALL_PATTERNS, "--message", "1B,256B,4kB,16kB", "--repetitions", "51"],
};
const MEDIUM: BenchArguments = BenchArguments {
    name: "crossover",
    title: "Around the crossover",
    arguments: &["--demands", ALL_PATTERNS, "--message", "64kB,128kB,256kB"],
};

/// The labs in which small messages are measured.
const SMALL_MESSAGES: [&str; 3] = ["torus:4x4", "fattree:k=4", "star:16"];

/// The name for `--cases` of the calls on one machine.
const MACHINE: &str = "shared-memory";
/// Ranks on one machine.
const RANKS: [&str; 4] = ["2", "4", "8", "16"];
const SHARED_MEMORY: &[&str] = &[
    "--demands",
    "pattern:disjoint,pattern:alltoall",
    "--message",
    "1B,64B,1kB,16kB,256kB,4MB",
    "--repetitions",
    "21",
];

/// Of the labs' links where a topology does not say another capacity; what `optiq lab up` takes then.
pub const RATE: &str = "100Mbit/s";
/// The labs' profile where nothing else is said.
pub const TUNED: &str = "tuned";
/// The labs' name for `optiq lab`.
pub const NAME: &str = "results";

/// One side of a comparison, as `optiq bench` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchSide {
    /// The timed repetitions, in order.
    pub seconds: Vec<f64>,
    /// Their median.
    pub median_seconds: f64,
    /// No execution along these paths is faster.
    pub link_bound_seconds: f64,
    /// Link bound over median.
    pub share_of_bound: f64,
    /// The first call; zero in documents from before it was kept.
    #[serde(default, skip_serializing_if = "is_unknown")]
    pub first_seconds: f64,
}

/// A case, as `optiq bench` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchCase {
    /// As tables and headings have it.
    pub case: String,
    /// As asked for.
    pub demands: String,
    /// As asked for.
    pub message_bytes: u64,
    /// `MPI`, or how many paths.
    pub served_by: String,
    /// `MPI_Alltoallv`.
    pub mpi: BenchSide,
    /// `optiq_alltoallv`.
    pub optiq: BenchSide,
    /// Median of MPI over median of OPTIQ.
    pub ratio: f64,
    /// What the session took that no call includes; zero in documents from before it was measured.
    #[serde(default, skip_serializing_if = "is_unknown")]
    pub setup_seconds: f64,
    /// What carried the chunks; empty in documents from before it was kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub transport: String,
    /// MPI's calls in a timed repetition; zero in documents from before the two sides had numbers of their own.
    #[serde(default, skip_serializing_if = "is_old")]
    pub mpi_calls: usize,
    /// Calls of the same side before each timed repetition; zero in documents from before they were made.
    #[serde(default, skip_serializing_if = "is_old")]
    pub untimed_calls: usize,
}

impl BenchCase {
    /// In tables.
    pub(super) fn name(&self) -> &str {
        self.case.trim_start_matches("file:data/cases/")
    }
}

/// A document from before a time was measured stays as it is.
fn is_unknown(seconds: &f64) -> bool {
    *seconds <= 0.0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_old(calls: &usize) -> bool {
    *calls == 0
}

impl BenchSuite {
    /// Whether an untimed call of the same side comes before each repetition; not in documents from before decision 085.
    pub(super) fn has_untimed_calls(&self) -> bool {
        self.cases.iter().any(|case| case.untimed_calls > 0)
    }
}

/// How many calls a repetition of these suites made, in sentences for a page.
pub(super) fn repetitions_of<'a>(mut suites: impl Iterator<Item = &'a BenchSuite> + Clone) -> String {
    let mut text = String::from(if suites.clone().any(|suite| suite.cases.iter().any(|case| case.mpi_calls > 0)) {
        "A repetition of a side makes as many calls as take ten milliseconds, and five times what a barrier takes that ranks enter as they leave \
         another one (decision 083); they overlap, so that shares above 100 % are possible."
    } else {
        "Below ten milliseconds a repetition makes many calls, which overlap, so that shares above 100 % are possible."
    });
    if suites.any(BenchSuite::has_untimed_calls) {
        text.push_str(
            " An untimed call of the same side comes before each: what TCP learned in a call of the other side does not count (decision 085).",
        );
    }
    text
}

/// What `optiq bench alltoallv --json` prints of many cases, as far as pages show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchSuite {
    /// The network, with the capacity of its links.
    pub topology: String,
    /// MPI ranks.
    pub ranks: usize,
    /// Timed repetitions of each.
    pub repetitions: usize,
    /// In the order that was asked for.
    pub cases: Vec<BenchCase>,
    /// Every byte that was looked at was right.
    pub verified: bool,
}

/// One run of `optiq bench alltoallv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabBench {
    /// As tables and headings have it.
    pub title: String,
    /// The role of its group of `data/cases.toml`, if it is of one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub role: Option<CaseRole>,
    /// The command line.
    pub command: String,
    /// What it printed.
    pub suite: BenchSuite,
}

/// What was measured in one lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabRuns {
    /// The network.
    pub topology: String,
    /// What `optiq lab up` measured of it.
    pub calibration: String,
    /// In the order in which they ran.
    pub benches: Vec<LabBench>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabContent {
    /// Of the links.
    pub rate: String,
    /// Of each comparison, unless its command says otherwise.
    pub repetitions: u32,
    /// One lab after the other.
    pub labs: Vec<LabRuns>,
    /// On one machine without a lab.
    pub machine: Vec<LabBench>,
}

/// The names that `--cases` takes.
///
/// # Errors
/// As [`measurement_cases::groups`].
pub fn case_names() -> Result<Vec<String>, Failure> {
    let groups = lab_groups()?.into_iter().map(|group| group.name);
    Ok(groups.chain([SMALL.name, MEDIUM.name, MACHINE].map(String::from)).collect())
}

fn lab_groups() -> Result<Vec<CaseGroup>, Failure> {
    groups_on(Platform::Lab)
}

/// The groups of cases on a platform.
pub(super) fn groups_on(platform: Platform) -> Result<Vec<CaseGroup>, Failure> {
    Ok(measurement_cases::groups()?.into_iter().filter(|g| g.platform == platform).collect())
}

/// Measures the selected cases; all of them take about forty minutes.
///
/// # Errors
/// [`Failure::Work`] if a lab cannot be brought up or a program in it fails.
pub fn run(workspace: &Workspace, repetitions: u32, selection: &Selection) -> Result<LabContent, Failure> {
    let groups: Vec<CaseGroup> = lab_groups()?.into_iter().filter(|g| selection.includes(&g.name)).collect();
    let series: Vec<&BenchArguments> = [&SMALL, &MEDIUM].into_iter().filter(|s| selection.includes(s.name)).collect();
    let mut networks = topologies(&groups);
    if !series.is_empty() {
        let others: Vec<&str> = SMALL_MESSAGES.into_iter().filter(|topology| !networks.contains(topology)).collect();
        networks.extend(others);
    }
    let mut labs = Vec::new();
    for topology in networks {
        labs.push(measure_lab(workspace, topology, &groups, &series, repetitions)?);
    }
    let ranks: &[&str] = if selection.includes(MACHINE) { &RANKS } else { &[] };
    let machine = ranks.iter().map(|ranks| machine_bench(workspace, ranks, repetitions)).collect::<Result<_, _>>()?;
    Ok(LabContent { rate: RATE.into(), repetitions, labs, machine })
}

/// Everything that is measured on one network.
fn measure_lab(
    workspace: &Workspace,
    topology: &str,
    groups: &[CaseGroup],
    series: &[&BenchArguments],
    repetitions: u32,
) -> Result<LabRuns, Failure> {
    let mut benches = Vec::new();
    let calibration = workspace::step(&format!("lab {topology}"), || {
        in_lab(workspace, topology, TUNED, || {
            for group in groups {
                let cases: Vec<&MeasurementCase> = group.cases.iter().filter(|c| c.topology == topology).collect();
                if !cases.is_empty() {
                    benches.push(group_bench(workspace, group, &cases, repetitions)?);
                }
            }
            for one in series.iter().filter(|_| SMALL_MESSAGES.contains(&topology)) {
                let times = repetitions.to_string();
                let words = bench("alltoallv", one.arguments, &times);
                let suite = in_lab_suite(workspace, &workspace.built("optiq"), &[], &[], &words)?;
                let command = format!("optiq {}", words.join(" "));
                benches.push(LabBench { title: one.title.into(), role: None, command, suite });
            }
            Ok(())
        })
    })?;
    Ok(LabRuns { topology: topology.into(), calibration, benches })
}

/// A list of cases as `optiq bench alltoallv --cases` reads it.
#[derive(Serialize)]
struct CaseList<'a> {
    case: Vec<ListedCase<'a>>,
}

#[derive(Serialize)]
struct ListedCase<'a> {
    demands: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

/// A group's cases on one network.
fn group_bench(
    workspace: &Workspace,
    group: &CaseGroup,
    cases: &[&MeasurementCase],
    repetitions: u32,
) -> Result<LabBench, Failure> {
    let suite = suite_of(workspace, group, cases, repetitions, &[], &[])?;
    let command = format!(
        "optiq bench alltoallv --cases FILE --repetitions {repetitions}`, group `{}` of `data/cases.toml",
        group.name
    );
    Ok(LabBench { title: group.name.clone(), role: Some(group.role), command, suite })
}

/// `mpirun`'s words, as `optiq lab run` takes them.
pub(super) fn mpirun_arguments<'a>(words: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = String> {
    words.into_iter().map(|word| format!("--mpirun-argument={word}"))
}

/// Has the cases of every group measured on each of their networks, in a lab that is up meanwhile.
pub(super) fn in_labs(
    workspace: &Workspace,
    groups: &[CaseGroup],
    mut measure: impl FnMut(&CaseGroup, &str, &[&MeasurementCase]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for topology in topologies(groups) {
        workspace::step(&format!("lab {topology}"), || {
            in_lab(workspace, topology, TUNED, || {
                for group in groups {
                    let cases: Vec<&MeasurementCase> = group.cases.iter().filter(|c| c.topology == topology).collect();
                    if !cases.is_empty() {
                        measure(group, topology, &cases)?;
                    }
                }
                Ok(())
            })
        })?;
    }
    Ok(())
}

/// The networks of the groups' cases, each once, in the order in which they come.
fn topologies(groups: &[CaseGroup]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let cases = groups.iter().flat_map(|group| &group.cases);
    cases.map(|case| case.topology.as_str()).filter(|topology| seen.insert(*topology)).collect()
}

/// What `optiq bench` measures of a group's cases on the network of the lab that is up, with arguments of `optiq lab run`, and of
/// `env`, if there are any.
pub(super) fn suite_of(
    workspace: &Workspace,
    group: &CaseGroup,
    cases: &[&MeasurementCase],
    repetitions: u32,
    lab_run: &[&str],
    environment: &[&str],
) -> Result<BenchSuite, Failure> {
    suite_by(workspace, &workspace.built("optiq"), group, cases, repetitions, lab_run, environment)
}

/// The same by an `optiq` that was built elsewhere, with another MPI library; the lab is this one's.
pub(super) fn suite_by(
    workspace: &Workspace,
    program: &Path,
    group: &CaseGroup,
    cases: &[&MeasurementCase],
    repetitions: u32,
    lab_run: &[&str],
    environment: &[&str],
) -> Result<BenchSuite, Failure> {
    let case = cases.iter().map(|c| ListedCase { demands: &c.demands, message: c.message.as_deref() }).collect();
    let text = toml::to_string(&CaseList { case }).map_err(|e| Failure::Work(format!("{}: {e}", group.name)))?;
    let unwritten = |e: std::io::Error| Failure::Work(format!("a list of cases cannot be written: {e}"));
    let mut list = tempfile::Builder::new().suffix(".toml").tempfile().map_err(unwritten)?;
    list.write_all(text.as_bytes()).and_then(|()| list.flush()).map_err(unwritten)?;
    let (path, repetitions) = (list.path().to_string_lossy().into_owned(), repetitions.to_string());
    let mut words = bench("alltoallv", &["--cases", &path], &repetitions);
    let ranks_per_host = group.ranks_per_host.to_string();
    let mut lab_run = lab_run.to_vec();
    if group.ranks_per_host > 1 {
        words.push("--all-ranks");
        lab_run.extend(["--ranks-per-host", &ranks_per_host]);
    }
    in_lab_suite(workspace, program, &lab_run, environment, &words)
}

/// Of `optiq lab run`, in seconds.
pub(super) const TIMEOUT: &str = "--timeout";

fn in_lab_suite(
    workspace: &Workspace,
    program: &Path,
    lab_run: &[&str],
    environment: &[&str],
    words: &[&str],
) -> Result<BenchSuite, Failure> {
    let mut command = workspace.optiq(&["lab", "run", "--name", NAME]);
    if !lab_run.contains(&TIMEOUT) {
        command.args([TIMEOUT, "3600"]);
    }
    command.args(lab_run).arg("--");
    if !environment.is_empty() {
        command.arg("env").args(environment);
    }
    workspace::json(command.arg(program).args(words).arg("--json"))
}

fn machine_bench(workspace: &Workspace, ranks: &str, repetitions: u32) -> Result<LabBench, Failure> {
    let repetitions = repetitions.to_string();
    let words = bench("alltoallv", SHARED_MEMORY, &repetitions);
    let mut command = workspace.command("mpirun");
    let suite = workspace::json(command.args(["-n", ranks]).arg(workspace.built("optiq")).args(&words).arg("--json"))?;
    let command = format!("mpirun -n {ranks} optiq {}", words.join(" "));
    Ok(LabBench { title: format!("{ranks} ranks"), role: None, command, suite })
}

/// Brings a lab up, measures, and takes the lab down whatever came of it; gives what the lab's calibration printed.
///
/// # Errors
/// [`Failure::Work`] if the lab cannot be brought up or taken down; else those of `measure`.
pub fn in_lab(
    workspace: &Workspace,
    topology: &str,
    profile: &str,
    measure: impl FnOnce() -> Result<(), Failure>,
) -> Result<String, Failure> {
    let up = ["lab", "up", "--topology", topology, "--name", NAME, "--lifetime", "7200", "--profile"];
    let calibration = workspace::capture(workspace.optiq(&up).arg(profile))?;
    let measured = measure();
    let mut down: Command = workspace.optiq(&["lab", "down", "--name", NAME]);
    measured.and(workspace::run(&mut down))?;
    Ok(calibration)
}

/// The whole command line of a measurement by `optiq bench`, but for the program.
pub fn bench<'a>(what: &'a str, arguments: &[&'a str], repetitions: &'a str) -> Vec<&'a str> {
    let mut all = [&["bench", what], arguments].concat();
    if !arguments.contains(&"--repetitions") {
        all.extend(["--repetitions", repetitions]);
    }
    all
}

impl LabContent {
    /// Of the page.
    pub const TITLE: &'static str = "`MPI_Alltoallv` and `optiq_alltoallv` in turn on a real network";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = format!(
            "Labs of 16 hosts, one rank each, with links of {}: `optiq lab up`, then `optiq bench alltoallv` in it, as given \
             with each table. Both run in turn in one job; every byte of the first and the last call of a repetition is checked. \
             Times are medians of {} repetitions, unless the command has another number. The bound is the time that the most \
             loaded link needs, on the fabric's own routes for MPI and on the planned paths for OPTIQ; the percentage is the share \
             of it that was reached. {} Constants were tuned on the training cases and on no held-out one (`data/cases.toml`).\n",
            self.rate,
            self.repetitions,
            repetitions_of(self.labs.iter().flat_map(|lab| lab.benches.iter().map(|bench| &bench.suite)))
        );
        let sections = [
            (Some(CaseRole::HeldOut), "Held-out cases"),
            (Some(CaseRole::Training), "Training cases"),
            (None, "Small messages and the crossover"),
        ];
        for (role, title) in sections {
            let ratios: Vec<f64> = self.of(role).flat_map(|(_, b)| &b.suite.cases).map(|c| c.ratio).collect();
            let Some(mean) = geometric_mean(&ratios) else { continue };
            let _ =
                write!(page, "\n## {title}\n\nGeometric mean of the ratios of {} cases: {mean:.3} x.\n", ratios.len());
            for (lab, bench) in self.of(role) {
                let _ = write!(page, "\n### {}, `{}`\n\n{}", bench.title, lab.topology, bench.section());
            }
        }
        if !self.machine.is_empty() {
            page.push_str("\n## One machine, without a lab\n\nAll ranks on this machine, over shared memory.\n");
        }
        for bench in &self.machine {
            let _ = write!(page, "\n### {}\n\n{}", bench.title, bench.section());
        }
        page.push_str("\n## The labs\n");
        for lab in &self.labs {
            let _ = write!(page, "\n```text\n{}\n```\n", lab.calibration.trim_end());
        }
        page
    }

    /// What the README says of it; nothing if cases of a role are missing.
    pub fn for_readers(&self, page: &str) -> Option<String> {
        let ratios =
            |role| self.of(Some(role)).flat_map(|(_, b)| &b.suite.cases).map(|c| c.ratio).collect::<Vec<f64>>();
        let (held_out, training) = (ratios(CaseRole::HeldOut), ratios(CaseRole::Training));
        let networks: BTreeSet<&str> =
            self.of(Some(CaseRole::HeldOut)).map(|(_, bench)| bench.suite.topology.as_str()).collect();
        Some(format!(
            "Measured with real TCP and real MPI on an emulated network of 16 hosts inside one machine; [all figures]({page}). Over {} \
             cases that no constant was tuned on, on {} networks with a fat tree and a switch among them, the geometric mean of the ratios \
             is {:.3} x; over the {} cases on tori that constants were tuned on it is {:.3} x.",
            held_out.len(),
            networks.len(),
            geometric_mean(&held_out)?,
            training.len(),
            geometric_mean(&training)?
        ))
    }

    fn of(&self, role: Option<CaseRole>) -> impl Iterator<Item = (&LabRuns, &LabBench)> {
        let benches = self.labs.iter().flat_map(|lab| lab.benches.iter().map(move |bench| (lab, bench)));
        benches.filter(move |(_, bench)| bench.role == role)
    }
}

impl LabBench {
    fn section(&self) -> String {
        let mut table = TextTable::new(&[
            "case<",
            "MPI",
            "OPTIQ",
            "ratio",
            "bound of MPI",
            "share",
            "bound of OPTIQ",
            "share",
            "served by<",
        ]);
        for c in &self.suite.cases {
            table.rows.push(vec![
                c.case.clone(),
                seconds(c.mpi.median_seconds),
                seconds(c.optiq.median_seconds),
                format!("{:.2} x", c.ratio),
                seconds(c.mpi.link_bound_seconds),
                percent(c.mpi.share_of_bound),
                seconds(c.optiq.link_bound_seconds),
                percent(c.optiq.share_of_bound),
                c.served_by.clone(),
            ]);
        }
        let ratios: Vec<f64> = self.suite.cases.iter().map(|c| c.ratio).collect();
        let worst = self.suite.cases.iter().min_by(|a, b| a.ratio.total_cmp(&b.ratio));
        let summary = geometric_mean(&ratios).zip(worst).map_or(String::new(), |(mean, worst)| {
            let (cases, least, name) = (ratios.len(), worst.ratio, &worst.case);
            format!("\n{cases} cases: geometric mean of the ratios {mean:.3} x; the worst is {least:.2} x: {name}.\n")
        });
        let checked = if self.suite.verified { "" } else { "\n**WRONG BYTES**\n" };
        format!("`{}`\n\n{}{summary}{checked}", self.command, table.markdown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lab with one case of each of two roles.
    fn content() -> LabContent {
        let side = |median_seconds: f64| BenchSide {
            seconds: vec![median_seconds; 3],
            median_seconds,
            link_bound_seconds: median_seconds / 2.0,
            share_of_bound: 0.5,
            first_seconds: 0.0,
        };
        let bench = |role, mpi: f64, optiq: f64| LabBench {
            title: format!("{role}"),
            role: Some(role),
            command: "optiq bench x".into(),
            suite: BenchSuite {
                topology: "star:16,capacity=12.5MB/s".into(),
                ranks: 16,
                repetitions: 3,
                cases: vec![BenchCase {
                    case: "disjoint, 1MB".into(),
                    demands: "pattern:disjoint".into(),
                    message_bytes: 1_000_000,
                    served_by: "8 paths".into(),
                    mpi: side(mpi),
                    optiq: side(optiq),
                    ratio: mpi / optiq,
                    setup_seconds: 0.0,
                    transport: String::new(),
                    mpi_calls: 0,
                    untimed_calls: 0,
                }],
                verified: true,
            },
        };
        let benches = vec![bench(CaseRole::Training, 0.4, 0.1), bench(CaseRole::HeldOut, 0.2, 0.1)];
        let labs = vec![LabRuns { topology: "star:16".into(), calibration: "99 %\n".into(), benches }];
        LabContent { rate: RATE.into(), repetitions: 3, labs, machine: Vec::new() }
    }

    #[test]
    fn repetitions_are_those_of_the_bench_or_of_the_page() {
        assert_eq!(
            bench("alltoallv", &["--message", "1B"], "9"),
            ["bench", "alltoallv", "--message", "1B", "--repetitions", "9"]
        );
        let own = bench("alltoallv", SMALL.arguments, "9");
        assert_eq!(own.iter().filter(|a| **a == "--repetitions").count(), 1);
    }

    #[test]
    fn training_and_held_out_cases_are_apart() {
        let page = content().body();
        let held_out = page.split("## Held-out cases").nth(1).and_then(|p| p.split("## Training cases").next());
        assert!(
            held_out.is_some_and(|p| p.contains("of 1 cases: 2.000 x") && p.contains("| disjoint, 1MB | 200 ms")),
            "{page}"
        );
        let training = page.split("## Training cases").nth(1);
        assert!(training.is_some_and(|p| p.contains("of 1 cases: 4.000 x")), "{page}");
    }
}
