//! What the preload library costs calls that it passes on.

use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::selection::Selection;
use crate::workspace::{self, Workspace};
use optiq_measure::statistics::Summary;
use serde::{Deserialize, Serialize};
use std::env;
use std::fmt::Write;

/// Ranks, calls in a batch, and pairs of batches.
const RUNS: [[&str; 3]; 3] = [["1", "20000", "101"], ["2", "5000", "201"], ["16", "200", "401"]];

/// Title, whether the library is preloaded, and the environment.
type PreloadSide = (&'static str, bool, &'static [(&'static str, &'static str)]);

/// The first is the same program without the library: what it shows is noise.
const SIDES: [PreloadSide; 3] = [
    ("not preloaded", false, &[]),
    ("preloaded, no topology: passed on", true, &[]),
    (
        "preloaded, with a topology: OPTIQ decides",
        true,
        &[("OPTIQ_TOPOLOGY", "torus:4x4"), ("OPTIQ_PLACEMENT", "rank")],
    ),
];

/// What `benches/passed.c` prints of one run, seconds per call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassedRun {
    pmpi_seconds: f64,
    more_seconds: f64,
    more_seconds_at_a_quarter: f64,
    more_seconds_at_three_quarters: f64,
}

/// The runs of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassedSide {
    title: String,
    runs: Vec<PassedRun>,
}

/// The runs on one number of ranks, in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassedTable {
    ranks: String,
    sides: Vec<PassedSide>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreloadContent {
    rounds: u32,
    tables: Vec<PassedTable>,
}

/// The names that `--cases` takes: `ranks-1` and so on.
pub fn case_names() -> Vec<String> {
    RUNS.iter().map(|[ranks, ..]| case_name(ranks)).collect()
}

fn case_name(ranks: &str) -> String {
    format!("ranks-{ranks}")
}

/// Measures the selected cases; all of them take some minutes. The library is built; `MPICC` names the compiler if it is not `mpicc`.
///
/// # Errors
/// [`Failure::Work`] if the program cannot be compiled or fails.
pub fn run(workspace: &Workspace, rounds: u32, selection: &Selection) -> Result<PreloadContent, Failure> {
    let program = workspace.built("passed");
    let compiler = env::var_os("MPICC").unwrap_or_else(|| "mpicc".into());
    workspace::run(workspace.command(compiler).args(["-O2", "-o"]).arg(&program).arg("benches/passed.c"))?;
    let mut tables = Vec::new();
    for [ranks, calls, pairs] in RUNS.into_iter().filter(|[ranks, ..]| selection.includes(&case_name(ranks))) {
        let mut sides: Vec<PassedSide> =
            SIDES.iter().map(|(title, ..)| PassedSide { title: (*title).into(), runs: Vec::new() }).collect();
        for _ in 0..rounds {
            for ((_, preloaded, environment), side) in SIDES.iter().zip(&mut sides) {
                let mut command = workspace.command("mpirun");
                command.args(["-n", ranks]);
                if *preloaded {
                    let library = workspace.built("liboptiq_pmpi.so");
                    command.arg("-x").arg(format!("LD_PRELOAD={}", library.display()));
                }
                for (name, value) in *environment {
                    command.arg("-x").arg(format!("{name}={value}"));
                }
                side.runs.push(workspace::json(command.arg(&program).args(["1", calls, pairs]))?);
            }
        }
        tables.push(PassedTable { ranks: ranks.into(), sides });
    }
    Ok(PreloadContent { rounds, tables })
}

impl PreloadContent {
    /// Of the page.
    pub const TITLE: &'static str = "What the preload library costs a call that it passes on";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = format!(
            "`benches/passed.c`: `MPI_Alltoallv`, which the library has, and `PMPI_Alltoallv`, which it has not, in pairs of \
             batches in one program, a byte from each rank to each. Medians over all pairs, in microseconds per call, with \
             the middle half of the pairs. Each line was run {} times, in turn with the others of its table, and the run \
             with the median difference is shown beside the lowest and the highest. The target is 1 us or 1 %, whichever is larger.\n",
            self.rounds
        );
        for table in &self.tables {
            let plural = if table.ranks == "1" { "" } else { "s" };
            let _ = write!(page, "\n## {} rank{plural}\n\n{}", table.ranks, table.markdown());
        }
        page
    }
}

impl PassedTable {
    fn markdown(&self) -> String {
        let mut table = TextTable::new(&[
            "<",
            "PMPI, us",
            "more, us",
            "middle half<",
            "lowest and highest run",
            "more, %",
            "within the target<",
        ]);
        table.rows = self.sides.iter().filter_map(PassedSide::cells).collect();
        table.markdown()
    }
}

impl PassedSide {
    /// Nothing without runs. The middle run by its difference is shown; of an even number, the upper one of the two.
    fn cells(&self) -> Option<Vec<String>> {
        let mut runs = self.runs.clone();
        runs.sort_by(|a, b| a.more_seconds.total_cmp(&b.more_seconds));
        let all = Summary::of(&runs.iter().map(|r| r.more_seconds * 1e6).collect::<Vec<_>>())?;
        let run = runs.get(runs.len() / 2)?;
        let (plain, more) = (run.pmpi_seconds * 1e6, run.more_seconds * 1e6);
        Some(vec![
            self.title.clone(),
            format!("{plain:.3}"),
            format!("{more:.3}"),
            format!("{:.3} to {:.3}", run.more_seconds_at_a_quarter * 1e6, run.more_seconds_at_three_quarters * 1e6),
            format!("{:.3} and {:.3}", all.minimum, all.maximum),
            format!("{:.2}", 100.0 * more / plain),
            if more <= (plain / 100.0).max(1.0) { "yes" } else { "no" }.into(),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_run_is_shown() {
        let run = |more: f64| PassedRun {
            pmpi_seconds: 200e-6,
            more_seconds: more * 1e-6,
            more_seconds_at_a_quarter: (more - 0.5) * 1e-6,
            more_seconds_at_three_quarters: (more + 0.5) * 1e-6,
        };
        let cells = |runs: Vec<PassedRun>| PassedSide { title: "x".into(), runs }.cells().map(|c| c.join(" | "));
        assert_eq!(
            cells(vec![run(3.0), run(1.5), run(-1.0)]).as_deref(),
            Some("x | 200.000 | 1.500 | 1.000 to 2.000 | -1.000 and 3.000 | 0.75 | yes")
        );
        assert!(cells(vec![run(2.1)]).is_some_and(|c| c.ends_with("1.05 | no")));
        assert_eq!(cells(Vec::new()), None);
    }
}
