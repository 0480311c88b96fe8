//! What the profiler costs collectives (claim B2), measured as document 000 measured ibprof: the smallest of 100 trials after 100
//! warm-ups.

use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::progress::Progress;
use crate::real_runs::{RealRuns, Source};
use crate::selection::Selection;
use crate::workspace;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Ranks, and the largest block in bytes. As many ranks as the smallest machine has cores: with more, the smallest time is that of a trial in
/// which nobody waited for a core.
const RUNS: [[&str; 2]; 1] = [["2", "8388608"]];

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

/// The runs on one number of ranks, in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfiledTable {
    ranks: String,
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
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfilerContent {
    rounds: u32,
    tables: Vec<ProfiledTable>,
}

/// The names that `--cases` takes: `ranks-2` and so on.
pub fn case_names() -> Vec<String> {
    RUNS.iter().map(|[ranks, _]| format!("ranks-{ranks}")).collect()
}

/// Measures the selected cases; about a minute a round. The library is built; `MPICC` names the compiler if it is not `mpicc`.
///
/// # Errors
/// [`Failure::Work`] if the program cannot be compiled or fails.
pub fn run(rounds: u32, selection: &Selection) -> Result<ProfilerContent, Failure> {
    let runs = RealRuns::find().map_err(Failure::Work)?;
    Ok(ProfilerContent { rounds, tables: measure(&runs, rounds, selection, &Progress::new(&|_| ()))? })
}

/// The tables of the selected cases.
///
/// # Errors
/// As [`run`].
pub fn measure(
    runs: &RealRuns,
    rounds: u32,
    selection: &Selection,
    progress: &Progress<'_>,
) -> Result<Vec<ProfiledTable>, Failure> {
    let program = runs.compile(Source::Profiled)?;
    let (library, folder) = (runs.library()?, runs.path("profiles"));
    let mut tables = Vec::new();
    for [ranks, largest] in RUNS.into_iter().filter(|[ranks, _]| selection.includes(&format!("ranks-{ranks}"))) {
        let (mut plain, mut profiled) = (Vec::new(), Vec::new());
        for round in 1..=rounds {
            progress.now(format!("{ranks} ranks, round {round} of {rounds}"));
            for (with, times) in [(false, &mut plain), (true, &mut profiled)] {
                let mut command = runs.command("mpirun");
                command.args(["--oversubscribe", "-n", ranks]);
                if with {
                    command.arg("-x").arg(format!("LD_PRELOAD={library}"));
                    command.arg("-x").arg(format!("OPTIQ_PROFILE={}", folder.display()));
                }
                times.push(workspace::json(command.arg(&program).arg(largest))?);
            }
        }
        tables.push(ProfiledTable { ranks: ranks.into(), plain, profiled });
    }
    Ok(tables)
}

impl ProfilerContent {
    /// Of the page.
    pub const TITLE: &'static str = "What the profiler costs collectives";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = format!(
            "`benches/profiled.c` with `OPTIQ_PROFILE` and without the library, {} times each in turn, the smallest of 100 trials after 100 \
             warm-ups in each run, and the smallest of all runs. Blocks of 2 B to 8 MB. Both ranks are on one machine, \
             where a small message takes 0.1 us, less than a tenth of what it takes over any network, so that what counting adds weighs more; \
             document 000 had 32 nodes with one rank each on InfiniBand. Open MPI's component `pml_monitoring` does the counting; the library reads it \
             at `MPI_Init` and `MPI_Finalize` alone, outside of what is timed.\n",
            self.rounds
        );
        for table in &self.tables {
            let _ = write!(page, "\n## {} ranks\n\n{}\n{}", table.ranks, table.summary(), table.cases());
        }
        page
    }
}

/// The smallest time of each function and size over all runs.
fn smallest(runs: &[ProfiledRun]) -> BTreeMap<(String, u64), f64> {
    let mut all: BTreeMap<(String, u64), f64> = BTreeMap::new();
    for case in runs.iter().flat_map(|run| &run.cases) {
        let least = all.entry((case.function.clone(), case.block_bytes)).or_insert(f64::INFINITY);
        *least = least.min(case.seconds);
    }
    all
}

impl ProfiledTable {
    /// How many ranks there were.
    pub fn ranks(&self) -> &str {
        &self.ranks
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
        let pairs = self.pairs();
        let cost = |(function, published, target_percent): (&'static str, &'static str, f64)| {
            let more: Vec<f64> = pairs
                .iter()
                .filter(|p| p.0 == function)
                .map(|(_, _, plain, with)| 100.0 * (with / plain - 1.0))
                .collect();
            (!more.is_empty()).then(|| FunctionCost {
                function,
                published,
                target_percent,
                mean_percent: more.iter().sum::<f64>() / more.len() as f64,
                most_percent: more.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            })
        };
        PUBLISHED.into_iter().filter_map(cost).collect()
    }

    /// For each function the mean over all sizes, beside what was published.
    fn summary(&self) -> String {
        let mut table =
            TextTable::new(&["function<", "more, mean of all sizes, %", "most, %", "published, %<", "at most that<"]);
        for cost in self.costs() {
            table.rows.push(vec![
                cost.function.into(),
                format!("{:.2}", cost.mean_percent),
                format!("{:.2}", cost.most_percent),
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

    #[test]
    fn the_smallest_of_all_runs_is_compared() {
        let run = |times: [f64; 2]| ProfiledRun {
            ranks: 2,
            cases: [2, 16]
                .iter()
                .zip(times)
                .map(|(bytes, t)| TimedCase { function: "Bcast".into(), block_bytes: *bytes, seconds: t })
                .collect(),
        };
        let table = ProfiledTable {
            ranks: "2".into(),
            plain: vec![run([2e-6, 4e-6]), run([1e-6, 5e-6])],
            profiled: vec![run([3e-6, 4.4e-6]), run([1.1e-6, 9e-6])],
        };
        let summary = table.summary();
        assert!(summary.contains("10.00") && summary.contains("| no"), "{summary}");
        assert!(table.cases().contains("1.00") && table.cases().contains("4.40"), "{}", table.cases());
    }
}
