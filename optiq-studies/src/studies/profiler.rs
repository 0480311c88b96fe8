//! What the profiler costs collectives (claim B2), measured as document 000 measured ibprof: the smallest of 100 trials after 100
//! warm-ups.

use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::progress::Progress;
use crate::real_runs::{RealRuns, Source};
use crate::selection::Selection;
use crate::workspace;
use optiq_measure::statistics::median;
use optiq_net::units::format_bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

/// Ranks that share memory. As many ranks as the smallest machine has cores: with more, the smallest time is that of a trial in
/// which nobody waited for a core.
const RUNS: [&str; 1] = ["2"];
/// Their largest block in bytes.
const LARGEST: &str = "8388608";

/// One rank on each of two hosts, as was published: the network, and the speed of its links. Up to this one the lab's token buckets give what is
/// asked for, on two cores; on slower links a bucket that happens to be full decides what the smallest time of 100 is.
const LAB: [&str; 2] = ["star:2", "10Gbit/s"];
const LAB_RANKS: &str = "2";
/// The largest block there. The times of larger ones are of two kinds, one two to three times the other, and which one the smallest of 100 is of, is chance.
const LAB_LARGEST: &str = "131072";
/// Runs of either kind there, for each on this machine: they take a second, and few do not meet what is fastest.
const LAB_RUNS: u32 = 10;

/// For `--cases`.
const LAB_CASE: &str = "lab";

/// The longest that one run in the lab may take, in seconds.
const LAB_LIMIT: &str = "120";

/// Ranks that share a processor leave it to each other while they wait.
const YIELDING: &str = "OMPI_MCA_mpi_yield_when_idle=1";

/// A lab tells programs its network. Without that, the library profiles, and makes ready to serve calls where it knows one.
const WITHOUT_NETWORK: [&str; 2] = ["-u", "OPTIQ_TOPOLOGY"];

/// What was published for each function: abstract and chapter 3 of document 000, of which the smaller is the target; in percent.
const PUBLISHED: [(&str, &str, f64); 4] = [
    ("Bcast", "7.63 (abstract), 11.6 (chapter)", 7.63),
    ("Alltoall", "2.06 (abstract)", 2.06),
    ("Reduce", "3.4 (chapter)", 3.4),
    ("Scatter", "1.3 (chapter)", 1.3),
];

/// One function and size, of one run of `benches/profiled.c`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimedCase {
    function: String,
    block_bytes: u64,
    seconds: f64,
}

/// What `benches/profiled.c` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfiledRun {
    ranks: u32,
    cases: Vec<TimedCase>,
}

/// The network between hosts of a lab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabNetwork {
    topology: String,
    rate: String,
}

/// The runs of one number of ranks, in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfiledTable {
    ranks: String,
    /// Each rank was on a host of its own. Documents of before there were such runs do not say so: ranks shared memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lab: Option<LabNetwork>,
    plain: Vec<ProfiledRun>,
    profiled: Vec<ProfiledRun>,
}

/// What counting costs one function, over all sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCost {
    /// Without `MPI_`.
    pub function: &'static str,
    /// What was published, and where.
    pub published: &'static str,
    /// The smaller of what was published, in percent.
    pub target_percent: f64,
    /// How much more time it takes, mean of all sizes, in percent.
    pub mean_percent: f64,
    /// The most of all sizes, in percent.
    pub most_percent: f64,
    /// The same mean, by the medians of runs in place of the smallest of them: one run that met a rare fast moment does not decide.
    pub by_medians_percent: f64,
    /// How much every second run without the profiler differs from the others, mean of all sizes, in percent; nothing with one run. Less than that
    /// says nothing.
    pub noise_percent: Option<f64>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfilerContent {
    rounds: u32,
    /// What was measured in each setting; that over a network, if there is one, comes first.
    pub tables: Vec<ProfiledTable>,
    /// Why there is nothing from a lab, although that was to be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_lab: Option<String>,
}

/// The names that `--cases` takes: `lab`, `ranks-2` and so on.
pub fn case_names() -> Vec<String> {
    [LAB_CASE.to_owned()].into_iter().chain(RUNS.iter().map(|ranks| case_name(ranks))).collect()
}

/// Of ranks that share memory.
fn case_name(ranks: &str) -> String {
    format!("ranks-{ranks}")
}

/// Measures the selected cases; about a minute a round. The library is built; `MPICC` names the compiler if it is not `mpicc`.
///
/// # Errors
/// [`Failure::Work`] if the program cannot be compiled or fails.
pub fn run(rounds: u32, selection: &Selection) -> Result<ProfilerContent, Failure> {
    let runs = RealRuns::find().map_err(Failure::Work)?;
    measure(&runs, rounds, selection, &Progress::new(&|_| ()))
}

/// The selected cases. If no lab can be had, what was measured without it.
///
/// # Errors
/// As [`run`].
pub fn measure(
    runs: &RealRuns,
    rounds: u32,
    selection: &Selection,
    progress: &Progress<'_>,
) -> Result<ProfilerContent, Failure> {
    let (program, library) = (runs.compile(Source::Profiled)?, runs.library()?);
    let measurement = Measurement { runs, program, library, folder: runs.path("profiles"), rounds, progress };
    let (mut tables, mut without_lab) = (Vec::new(), None);
    if selection.includes(LAB_CASE) {
        match measurement.in_lab() {
            Ok(table) => tables.push(table),
            Err(failure) => without_lab = Some(failure.to_string()),
        }
    }
    for ranks in RUNS.into_iter().filter(|ranks| selection.includes(&case_name(ranks))) {
        tables.push(measurement.on_this_machine(ranks)?);
    }
    match without_lab {
        Some(why) if tables.is_empty() => Err(Failure::Work(why)),
        without_lab => Ok(ProfilerContent { rounds, tables, without_lab }),
    }
}

/// What runs of all settings have in common.
struct Measurement<'a> {
    runs: &'a RealRuns,
    program: PathBuf,
    library: String,
    /// Of the profiles, which are not read.
    folder: PathBuf,
    rounds: u32,
    progress: &'a Progress<'a>,
}

impl Measurement<'_> {
    /// Runs without the profiler and with it, in turn: `command` starts either.
    fn in_turn(
        &self,
        place: &str,
        rounds: u32,
        command: impl Fn(bool) -> Command,
    ) -> Result<[Vec<ProfiledRun>; 2], Failure> {
        let (mut plain, mut profiled) = (Vec::new(), Vec::new());
        for round in 1..=rounds {
            self.progress.now(format!("{place}, round {round} of {rounds}"));
            plain.push(workspace::json(&mut command(false))?);
            profiled.push(workspace::json(&mut command(true))?);
        }
        Ok([plain, profiled])
    }

    /// The variables that turn the profiler on.
    fn variables(&self) -> [String; 2] {
        [format!("LD_PRELOAD={}", self.library), format!("OPTIQ_PROFILE={}", self.folder.display())]
    }

    /// Ranks that share memory.
    fn on_this_machine(&self, ranks: &str) -> Result<ProfiledTable, Failure> {
        let command = |with: bool| {
            let mut command = self.runs.command("mpirun");
            command.args(["--oversubscribe", "-n", ranks]);
            for variable in self.variables().into_iter().filter(|_| with) {
                command.arg("-x").arg(variable);
            }
            command.arg(&self.program).arg(LARGEST);
            command
        };
        let [plain, profiled] = self.in_turn(&format!("{ranks} ranks on this machine"), self.rounds, command)?;
        Ok(ProfiledTable { ranks: ranks.into(), lab: None, plain, profiled })
    }

    /// One rank on each host of a lab.
    fn in_lab(&self) -> Result<ProfiledTable, Failure> {
        let [topology, rate] = LAB;
        let name = format!("profiler-{}", std::process::id());
        let command = |with: bool| {
            let mut command = self.runs.optiq(&["lab", "run", "--name", &name, "--timeout", LAB_LIMIT, "--", "env"]);
            command.args(WITHOUT_NETWORK).arg(YIELDING).args(self.variables().into_iter().filter(|_| with));
            command.arg(&self.program).args([LAB_LARGEST, "shared"]);
            command
        };
        let (place, rounds) = (format!("{LAB_RANKS} hosts of a lab"), self.rounds.saturating_mul(LAB_RUNS));
        let [plain, profiled] = self.runs.in_lab(&name, topology, rate, || self.in_turn(&place, rounds, command))?;
        let lab = Some(LabNetwork { topology: topology.into(), rate: rate.into() });
        Ok(ProfiledTable { ranks: LAB_RANKS.into(), lab, plain, profiled })
    }
}

impl ProfilerContent {
    /// Of the page.
    pub const TITLE: &'static str = "What the profiler costs collectives";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = String::from(
            "`benches/profiled.c` with `OPTIQ_PROFILE` and without the library in turn, the smallest of 100 trials after 100 warm-ups in each run, and \
             the smallest of all runs. Document 000 had 32 nodes with one rank each on InfiniBand. Open MPI's component `pml_monitoring` does the \
             counting; the library reads it at `MPI_Init` and `MPI_Finalize` alone, outside of what is timed. Programs in the lab are not told its network, without which the library serves no calls; until 01bb6e93 they were, \
             and `MPI_Alltoall`, which the library passes on then, took some 12 us longer. By medians: the mean of all sizes by the median \
             of runs in place of the smallest. Noise: how much every second run without the library differs from the others; what is less says \
             nothing.\n",
        );
        if let Some(why) = &self.without_lab {
            let _ = write!(page, "\nThere are no runs in a lab: {}.\n", why.trim_end_matches('.'));
        }
        for table in &self.tables {
            let (place, setting) = (table.place(), table.setting());
            let _ = write!(page, "\n## {place}\n\n{setting}\n\n{}\n{}", table.summary(), table.cases());
        }
        page
    }
}

/// A time in seconds for each function and size.
type Times = BTreeMap<(String, u64), f64>;

/// What `of` makes of the times of each function and size in all runs.
fn times<'a>(runs: impl IntoIterator<Item = &'a ProfiledRun>, of: impl Fn(&[f64]) -> f64) -> Times {
    let mut all: BTreeMap<(String, u64), Vec<f64>> = BTreeMap::new();
    for case in runs.into_iter().flat_map(|run| &run.cases) {
        all.entry((case.function.clone(), case.block_bytes)).or_default().push(case.seconds);
    }
    all.into_iter().map(|(case, seconds)| (case, of(&seconds))).collect()
}

/// The smallest time of each function and size over all runs.
fn smallest<'a>(runs: impl IntoIterator<Item = &'a ProfiledRun>) -> Times {
    times(runs, |seconds| seconds.iter().copied().fold(f64::INFINITY, f64::min))
}

/// The median of each function and size over all runs.
fn medians(runs: &[ProfiledRun]) -> Times {
    times(runs, |seconds| median(seconds).unwrap_or(f64::NAN))
}

/// How much more `other` is than `base`, mean of all sizes of each function, in percent.
fn more_percent(base: &Times, other: &Times) -> BTreeMap<String, f64> {
    let mut more: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (case, seconds) in base {
        if let Some(other) = other.get(case) {
            more.entry(case.0.clone()).or_default().push(100.0 * (other / seconds - 1.0));
        }
    }
    more.into_iter().map(|(function, all)| (function, all.iter().sum::<f64>() / all.len() as f64)).collect()
}

impl ProfiledTable {
    /// Whether each rank was on a host of its own.
    pub fn is_in_lab(&self) -> bool {
        self.lab.is_some()
    }

    /// Where the ranks were, in a few words.
    pub fn place(&self) -> String {
        let ranks = &self.ranks;
        if self.is_in_lab() { format!("{ranks} hosts of a lab") } else { format!("{ranks} ranks of one machine") }
    }

    /// Where the ranks were, and what that does to the result.
    pub fn setting(&self) -> String {
        let (runs, times) = (self.plain.len(), smallest(&self.plain));
        let largest = format_bytes(times.keys().map(|(_, bytes)| *bytes).max().unwrap_or(0));
        let least = times.into_values().fold(f64::INFINITY, f64::min) * 1e6;
        match &self.lab {
            Some(LabNetwork { topology, rate }) => format!(
                "In the lab (`optiq lab up --topology {topology} --rate {rate}`: namespaces, TCP, Open MPI): {runs} runs of either kind, one rank a host, \
                 blocks of 2 B to {largest}. The hosts share one processor, on which their ranks take turns: times repeat best so, and with blocks of these \
                 sizes; the noise says how well. The shortest call takes {least:.2} us, more than over InfiniBand, so that what counting \
                 adds weighs less than it would there."
            ),
            None => format!(
                "On one machine: {runs} runs of either kind, {} ranks that share memory, blocks of 2 B to {largest}. The shortest call takes {least:.2} us, \
                 less than over any network, so that what counting adds weighs more than it would there.",
                self.ranks
            ),
        }
    }

    /// (function, bytes, plain seconds, profiled seconds).
    fn pairs(&self) -> Vec<(String, u64, f64, f64)> {
        let profiled = smallest(&self.profiled);
        let pair = |((function, bytes), plain): ((String, u64), f64)| {
            let with = *profiled.get(&(function.clone(), bytes))?;
            Some((function, bytes, plain, with))
        };
        smallest(&self.plain).into_iter().filter_map(pair).collect()
    }

    /// What counting costs each function.
    pub fn costs(&self) -> Vec<FunctionCost> {
        let means = more_percent(&smallest(&self.plain), &smallest(&self.profiled));
        let by_medians = more_percent(&medians(&self.plain), &medians(&self.profiled));
        let noise = self.noise();
        let pairs = self.pairs();
        let most = |function: &str| {
            let of_function = pairs.iter().filter(|p| p.0 == function);
            of_function.map(|(_, _, plain, with)| 100.0 * (with / plain - 1.0)).fold(f64::NEG_INFINITY, f64::max)
        };
        let cost = |(function, published, target_percent): (&'static str, &'static str, f64)| {
            Some(FunctionCost {
                function,
                published,
                target_percent,
                mean_percent: *means.get(function)?,
                most_percent: most(function),
                by_medians_percent: *by_medians.get(function)?,
                noise_percent: noise.get(function).copied(),
            })
        };
        PUBLISHED.into_iter().filter_map(cost).collect()
    }

    /// [`FunctionCost::noise_percent`] by function.
    fn noise(&self) -> BTreeMap<String, f64> {
        let half = |first: usize| smallest(self.plain.iter().skip(first).step_by(2));
        more_percent(&half(0), &half(1)).into_iter().map(|(function, mean)| (function, mean.abs())).collect()
    }

    /// For each function the mean over all sizes, beside what was published.
    fn summary(&self) -> String {
        let mut table = TextTable::new(&[
            "function<",
            "more, mean of all sizes, %",
            "most, %",
            "by medians, %",
            "noise, %",
            "published, %<",
            "at most that<",
        ]);
        for cost in self.costs() {
            table.rows.push(vec![
                cost.function.into(),
                format!("{:.2}", cost.mean_percent),
                format!("{:.2}", cost.most_percent),
                format!("{:.2}", cost.by_medians_percent),
                cost.noise_percent.map_or_else(String::new, |noise| format!("{noise:.2}")),
                cost.published.into(),
                if cost.mean_percent <= cost.target_percent { "yes" } else { "no" }.into(),
            ]);
        }
        table.markdown()
    }

    fn cases(&self) -> String {
        let mut table =
            TextTable::new(&["function<", "block, B", "without, us", "profiled, us", "more, us", "more, %"]);
        for (function, bytes, plain, with) in self.pairs() {
            table.rows.push(vec![
                function,
                bytes.to_string(),
                format!("{:.2}", plain * 1e6),
                format!("{:.2}", with * 1e6),
                format!("{:.2}", (with - plain) * 1e6),
                format!("{:.1}", 100.0 * (with / plain - 1.0)),
            ]);
        }
        table.markdown()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(times: [f64; 2]) -> ProfiledRun {
        let case = |(bytes, seconds): (u64, f64)| TimedCase { function: "Bcast".into(), block_bytes: bytes, seconds };
        ProfiledRun { ranks: 2, cases: [2, 16].into_iter().zip(times).map(case).collect() }
    }

    #[test]
    fn the_smallest_of_all_runs_is_compared() {
        let table = ProfiledTable {
            ranks: "2".into(),
            lab: None,
            plain: vec![run([2e-6, 4e-6]), run([1e-6, 5e-6])],
            profiled: vec![run([3e-6, 4.4e-6]), run([1.1e-6, 9e-6])],
        };
        let summary = table.summary();
        assert!(summary.contains("10.00") && summary.contains("| no"), "{summary}");
        assert!(table.cases().contains("1.00") && table.cases().contains("4.40"), "{}", table.cases());
        assert!(
            table.setting().contains("blocks of 2 B to 16B. The shortest call takes 1.00 us"),
            "{}",
            table.setting()
        );
        // Without the profiler the second run took half as long with one size, and a quarter longer with the other.
        assert!(table.costs()[0].noise_percent.is_some_and(|noise| (noise - 12.5).abs() < 1e-9));
        // Medians: 1.5 and 4.5 us without, 2.05 and 6.7 us with it.
        let by_hand = 100.0 * ((2.05 / 1.5 - 1.0) + (6.7 / 4.5 - 1.0)) / 2.0;
        assert!((table.costs()[0].by_medians_percent - by_hand).abs() < 1e-9);
        let one = ProfiledTable { plain: vec![run([2e-6, 4e-6])], ..table };
        assert_eq!(one.costs()[0].noise_percent, None);
    }

    #[test]
    fn documents_of_before_there_was_a_lab_are_read() {
        let old = r#"{"ranks": "2", "plain": [], "profiled": []}"#;
        let table: ProfiledTable = serde_json::from_str(old).unwrap();
        assert!(!table.is_in_lab() && table.place() == "2 ranks of one machine");
        assert!(!serde_json::to_string(&table).unwrap().contains("lab"));
        let lab = Some(LabNetwork { topology: "star:2".into(), rate: "10Gbit/s".into() });
        let table = ProfiledTable { lab, ..table };
        assert_eq!(serde_json::from_str::<ProfiledTable>(&serde_json::to_string(&table).unwrap()).unwrap(), table);
    }

    #[test]
    fn the_page_says_where_ranks_were_and_what_is_missing() {
        let lab = Some(LabNetwork { topology: "star:2".into(), rate: "10Gbit/s".into() });
        let runs = || vec![run([1e-6, 2e-6])];
        let table = |lab| ProfiledTable { ranks: "2".into(), lab, plain: runs(), profiled: runs() };
        let content = |lab, without_lab| ProfilerContent { rounds: 1, tables: vec![table(lab)], without_lab };
        let page = content(lab, None).body();
        assert!(page.contains("## 2 hosts of a lab\n") && page.contains("--rate 10Gbit/s"), "{page}");
        let page = content(None, Some("no lab: it is forbidden.".into())).body();
        assert!(page.contains("There are no runs in a lab: no lab: it is forbidden.\n"), "{page}");
        assert!(page.contains("## 2 ranks of one machine\n"), "{page}");
    }
}
