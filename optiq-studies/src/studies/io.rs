//! Collective file access in labs, as HACC writes its checkpoints (thesis 6.5.3).

use super::lab::{self, NAME, RATE};
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::quartiles::Quartiles;
use crate::selection::Selection;
use crate::workspace::{self, Workspace};
use optiq_view::table::{bytes, seconds};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

const TOPOLOGY: &str = "torus:4x4,io=0+10";

/// A run of `optiq bench io`: Open MPI's component for files, the budget, and arguments.
struct IoRun {
    /// For `--cases`.
    name: &'static str,
    title: &'static str,
    /// In the lab; 16 ranks of this machine without one.
    ranks_per_host: Option<&'static str>,
    component: &'static str,
    budget: Option<&'static str>,
    arguments: &'static [&'static str],
}

const RUNS: [IoRun; 7] = [
    IoRun {
        name: "romio-8",
        title: "8 ranks on each host, ROMIO",
        ranks_per_host: Some("8"),
        component: "romio321",
        budget: None,
        arguments: &[],
    },
    IoRun {
        name: "romio-8-rounds",
        title: "8 ranks on each host, ROMIO, three rounds",
        ranks_per_host: Some("8"),
        component: "romio321",
        budget: Some("32MiB"),
        arguments: &[],
    },
    IoRun {
        name: "ompio-8",
        title: "8 ranks on each host, OMPIO",
        ranks_per_host: Some("8"),
        component: "ompio",
        budget: None,
        arguments: &[],
    },
    IoRun {
        name: "romio-1",
        title: "1 rank on each host, ROMIO",
        ranks_per_host: Some("1"),
        component: "romio321",
        budget: None,
        arguments: &["--least", "5600KB", "--most", "6400KB"],
    },
    IoRun {
        name: "ompio-1",
        title: "1 rank on each host, OMPIO",
        ranks_per_host: Some("1"),
        component: "ompio",
        budget: None,
        arguments: &["--least", "5600KB", "--most", "6400KB"],
    },
    IoRun {
        name: "romio-1-rounds",
        title: "1 rank on each host, ROMIO, three rounds",
        ranks_per_host: Some("1"),
        component: "romio321",
        budget: Some("32MiB"),
        arguments: &["--least", "5600KB", "--most", "6400KB"],
    },
    IoRun {
        name: "large",
        title: "4 GB through 64 MiB, on one machine without a lab, ROMIO",
        ranks_per_host: None,
        component: "romio321",
        budget: None,
        arguments: &["--least", "268435456B", "--most", "268435456B", "--repetitions", "1", "--files-only", "--force"],
    },
];

/// One method of access, as `optiq bench io` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IoSide {
    name: String,
    seconds: Vec<f64>,
    median_seconds: f64,
    /// Missing in documents that were measured before `optiq bench io` printed them.
    #[serde(flatten)]
    quartiles: Option<Quartiles>,
    link_bound_seconds: Option<f64>,
    bytes_per_second: f64,
}

/// Medians of the others over OPTIQ's, as `optiq bench io` prints them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IoRatios {
    over_mpi_alltoallv_default: Option<f64>,
    over_mpi_alltoallv_balanced: Option<f64>,
    over_mpi_file_write_at_all: f64,
    over_mpi_file_read_at_all: f64,
    aggregation_over_mpi_alltoallv_default: Option<f64>,
    aggregation_over_mpi_alltoallv_balanced: Option<f64>,
}

/// What `optiq bench io --json` prints, as far as the page shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IoReport {
    topology: String,
    ranks: usize,
    hosts: usize,
    total_bytes: u64,
    repetitions: usize,
    io_budget_bytes: u64,
    /// Missing in documents of before 2026-11-30, when ROMIO had its own 16 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    collective_buffer_bytes: Option<u64>,
    peak_buffer_bytes: u64,
    peak_resident_bytes: u64,
    decision: String,
    balanced_bytes: Vec<u64>,
    default_bytes: Vec<u64>,
    sides: Vec<IoSide>,
    ratios: IoRatios,
    verified: bool,
}

/// One run of `optiq bench io`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IoBench {
    title: String,
    command: String,
    report: IoReport,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IoContent {
    topology: String,
    rate: String,
    repetitions: u32,
    /// What `optiq lab up` measured of the lab.
    calibration: String,
    benches: Vec<IoBench>,
}

/// The names that `--cases` takes.
pub fn case_names() -> Vec<String> {
    RUNS.iter().map(|run| run.name.to_owned()).collect()
}

/// Measures the selected cases; all of them take about a quarter of an hour.
///
/// # Errors
/// [`Failure::Work`] if the lab cannot be brought up or a program in it fails.
pub fn run(workspace: &Workspace, repetitions: u32, selection: &Selection) -> Result<IoContent, Failure> {
    let mut benches = Vec::new();
    let calibration = lab::in_lab(workspace, TOPOLOGY, lab::TUNED, || {
        for run in RUNS.iter().filter(|run| selection.includes(run.name)) {
            let report = run.measure(workspace, &repetitions.to_string())?;
            benches.push(IoBench { title: run.title.into(), command: run.shown(&repetitions.to_string()), report });
        }
        Ok(())
    })?;
    Ok(IoContent { topology: TOPOLOGY.into(), rate: RATE.into(), repetitions, calibration, benches })
}

impl IoRun {
    fn environment(&self) -> Vec<(&'static str, &'static str)> {
        let budget = self.budget.map(|b| ("OPTIQ_IO_BUDGET", b));
        let no_lab = self.ranks_per_host.is_none();
        let network = no_lab.then_some([("OPTIQ_TOPOLOGY", TOPOLOGY), ("OPTIQ_PLACEMENT", "rank")]);
        let component = ("OMPI_MCA_io", self.component);
        [component].into_iter().chain(budget).chain(network.into_iter().flatten()).collect()
    }

    fn bench<'a>(&self, repetitions: &'a str) -> Vec<&'a str> {
        lab::bench("io", self.arguments, repetitions)
    }

    fn measure(&self, workspace: &Workspace, repetitions: &str) -> Result<IoReport, Failure> {
        let mut command = match self.ranks_per_host {
            Some(ranks) => {
                let mut command =
                    workspace.optiq(&["lab", "run", "--name", NAME, "--timeout", "3600", "--ranks-per-host", ranks]);
                for (name, value) in self.environment() {
                    command.env(name, value).args(["--mpirun-argument=-x", &format!("--mpirun-argument={name}")]);
                }
                command.arg("--");
                command
            }
            None => {
                let mut command = workspace.command("mpirun");
                command.envs(self.environment()).args(["-n", "16"]);
                command
            }
        };
        workspace::json(command.arg(workspace.built("optiq")).args(self.bench(repetitions)).arg("--json"))
    }

    /// The command line, with the environment.
    fn shown(&self, repetitions: &str) -> String {
        let set: String = self.environment().iter().map(|(name, value)| format!("{name}={value} ")).collect();
        format!("{set}optiq {}", self.bench(repetitions).join(" "))
    }
}

impl IoContent {
    /// Of the page.
    pub const TITLE: &'static str = "Collective file access in a lab";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = format!(
            "A lab `{}` with links of {}, and `optiq bench io` in it, with the sizes of the thesis's HACC benchmark: \
             about 96 MB in all. All methods of writing run in turn in one job, medians of {} repetitions, unless the command has \
             another number; every byte of every file is read back after the first run and after the last. The bound is the \
             time that the most loaded link needs. ROMIO and OMPIO are the two components for files of Open MPI; ROMIO has hints \
             to aggregate at the I/O hosts, with {}.\n\n```text\n{}\n```\n",
            self.topology,
            self.rate,
            self.repetitions,
            match self.benches.iter().all(|bench| bench.report.collective_buffer_bytes.is_some()) {
                true => "a buffer of as many bytes as OPTIQ may have there (`cb_buffer_size`)",
                false => "ROMIO's own buffer of 16 MiB, where OPTIQ may have 64",
            },
            self.calibration.trim_end()
        );
        for bench in &self.benches {
            let _ = write!(page, "\n## {}\n\n`{}`\n\n{}", bench.title, bench.command, bench.report.markdown());
        }
        page
    }
}

impl IoReport {
    fn markdown(&self) -> String {
        let each = |all: &[u64]| all.iter().map(|&b| bytes(b as f64)).collect::<Vec<_>>().join(", ");
        let mut text = format!(
            "{}: {} ranks on {} hosts, {} in all. For each I/O host balanced {}, by default {}. {}. Buffers of {} at most at an \
             I/O host, {} resident; OPTIQ_IO_BUDGET is {}.\n\n",
            self.topology,
            self.ranks,
            self.hosts,
            bytes(self.total_bytes as f64),
            each(&self.balanced_bytes),
            each(&self.default_bytes),
            self.decision,
            bytes(self.peak_buffer_bytes as f64),
            bytes(self.peak_resident_bytes as f64),
            bytes(self.io_budget_bytes as f64),
        );
        let mut table = TextTable::new(&["method<", "median", "link bound", "per second"]);
        for side in &self.sides {
            table.rows.push(vec![
                side.name.replace('_', " "),
                side.quartiles.map_or_else(|| seconds(side.median_seconds), |q| q.beside(side.median_seconds)),
                side.link_bound_seconds.map_or(String::new(), seconds),
                bytes(side.bytes_per_second),
            ]);
        }
        text.push_str(&table.markdown());
        let r = &self.ratios;
        let sentences = [
            (r.over_mpi_alltoallv_default, "MPI_Alltoallv to the default I/O hosts and a write there"),
            (r.over_mpi_alltoallv_balanced, "MPI_Alltoallv with the balanced assignment and a write there"),
            (Some(r.over_mpi_file_write_at_all), "MPI_File_write_at_all"),
            (Some(r.over_mpi_file_read_at_all), "MPI_File_read_at_all, reading"),
            (r.aggregation_over_mpi_alltoallv_default, "MPI_Alltoallv to the default I/O hosts, without writing"),
            (r.aggregation_over_mpi_alltoallv_balanced, "MPI_Alltoallv with the balanced assignment, without writing"),
        ];
        text.push('\n');
        for (ratio, what) in sentences {
            if let Some(ratio) = ratio {
                let _ = writeln!(text, "- {ratio:.2} times as fast as {what}");
            }
        }
        if !self.verified {
            text.push_str("\n**WRONG BYTES**\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_run_says_how_it_was_made() {
        assert_eq!(RUNS[1].shown("5"), "OMPI_MCA_io=romio321 OPTIQ_IO_BUDGET=32MiB optiq bench io --repetitions 5");
        assert!(RUNS[6].bench("5").ends_with(&["--repetitions", "1", "--files-only", "--force"]));
    }

    #[test]
    fn quartiles_are_read_where_there_are_some() {
        let old =
            r#"{"name":"a","seconds":[1.0],"median_seconds":1.0,"link_bound_seconds":null,"bytes_per_second":2.0}"#;
        let side: IoSide = serde_json::from_str(old).unwrap();
        assert_eq!((side.quartiles, serde_json::to_string(&side).unwrap().as_str()), (None, old));
        let more = r#""median_seconds":1.0,"first_quartile_seconds":0.5,"third_quartile_seconds":2.0"#;
        let new = old.replace(r#""median_seconds":1.0"#, more);
        let side: IoSide = serde_json::from_str(&new).unwrap();
        assert_eq!(side.quartiles.map(|q| q.beside(1.0)).as_deref(), Some("1.00 s (500 ms to 2.00 s)"));
        assert_eq!(serde_json::to_string(&side).unwrap(), new);
    }
}
