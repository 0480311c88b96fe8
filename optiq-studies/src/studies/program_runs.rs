//! One run of a program in the lab: how it is started, and what is read from what it prints.

use super::direct::SENDS;
use super::lab::{NAME, mpirun_arguments};
use crate::failure::Failure;
use crate::workspace::{self, Workspace};
use optiq_measure::statistics::mean;
use optiq_net::{Network, NodeId, text_file};
use optiq_solver::bound::lower_bound;
use optiq_solver::demands::Demand;
use serde::{Deserialize, Serialize};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use tempfile::TempDir;

/// How a program is run.
#[derive(Clone, Copy, Debug)]
struct Setting {
    /// The arguments of `optiq wrap`, if it is used.
    wrap: Option<&'static [&'static str]>,
    /// Whether Open MPI only sends ([`SENDS`]).
    sends: bool,
}

/// What OPTIQ decides by itself.
const WRAPPED: Option<&[&str]> = Some(&["--take", "alltoallv,alltoall", "--report"]);

/// In the order of [`ProgramRuns`](super::programs::ProgramRuns).
const SETTINGS: [Setting; 6] = [
    Setting { wrap: None, sends: false },
    Setting { wrap: WRAPPED, sends: false },
    LEARNING,
    Setting { wrap: Some(&["--take", "alltoallv,alltoall", "--report", "--algorithm", "multipath"]), sends: false },
    Setting { wrap: None, sends: true },
    Setting { wrap: WRAPPED, sends: true },
];

/// What goes on from what an earlier run of it left.
const LEARNING: Setting = Setting {
    wrap: Some(&["--take", "alltoallv,alltoall", "--report", "--option", "OPTIQ_LEARNED={work}/learned"]),
    sends: false,
};

/// Short programs run again until their plain runs have taken this together, in seconds: one start of 16 ranks differs from the next by a tenth of a
/// second, which is a tenth of such a program.
pub(super) const ENOUGH_SECONDS: f64 = 20.0;
/// However short they are.
pub(super) const MOST_RUNS: u32 = 25;

/// A program that takes longer has failed.
const TIMEOUT_SECONDS: &str = "180";
/// The largest file of times, in bytes: a line for each rank.
const MAX_TIMES: u64 = 1 << 20;
/// The most characters of an error that a page shows.
const MAX_SAID: usize = 200;

/// Started on every rank, with the working folder, the library of `times.c` and the program: that library comes before OPTIQ's. One
/// thread for each rank, as two processors are shared by all. The shell has libraries preloaded in all ways, and so the MPI library, which takes as
/// long as all else that it does.
const SCRIPT: &str = "cd \"$1\" && export CALL_TIMES=\"$1/call-times\" OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
                      LD_PRELOAD=\"$2${LD_PRELOAD:+:$LD_PRELOAD}\" && shift 2 && exec \"$@\"";

/// A program, as `data/programs/programs.toml` has it and says there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// For `--cases`.
    pub name: String,
    /// On the page.
    pub title: String,
    /// A package of Debian, or a repository and its commit.
    pub package: String,
    /// The command.
    pub program: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Of the inputs, below `data/programs`.
    pub folder: Option<String>,
    /// Run before, outside the lab.
    #[serde(default)]
    pub prepare: Vec<Vec<String>>,
    /// The program's own seconds are the first number after the last place of this text.
    pub seconds_after: Option<String>,
    /// Likewise the result that all runs must share.
    pub result_after: Option<String>,
    /// Of the result, relative.
    pub tolerance: Option<f64>,
    /// What it prints after its own verification.
    pub verified: Option<String>,
    /// Also run on the lab's profiles.
    #[serde(default)]
    pub profiles: bool,
}

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramRun {
    /// From the start of `optiq lab run`, or of `optiq wrap` in front of it, to its end.
    pub seconds: f64,
    /// What the program says it took.
    pub own_seconds: Option<f64>,
    /// A result that all runs must share.
    pub result: Option<f64>,
    /// The program's own verification, where it has one.
    pub verified: Option<bool>,
    /// Calls of the two functions, mean over the ranks that call them; over all ranks in documents without a link bound.
    pub calls: f64,
    /// Seconds in them, mean over the same ranks.
    pub seconds_in_calls: f64,
    /// What the links need at least for the bytes of all these calls together, over whatever paths; nothing in documents from before it was
    /// computed, and where a rank is no host of the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_bound_seconds: Option<f64>,
    /// What OPTIQ's report says of the calls.
    pub report: Vec<String>,
    /// Why it did not come to its end.
    pub failure: Option<String>,
}

/// What all runs share.
pub(super) struct Runner<'a> {
    workspace: &'a Workspace,
    /// Of the library that takes the times.
    folder: TempDir,
    /// `NPB_BIN`.
    npb: Option<PathBuf>,
}

impl<'a> Runner<'a> {
    /// Compiles `data/programs/times.c`; `MPICC` names the compiler if it is not `mpicc`.
    pub fn new(workspace: &'a Workspace) -> Result<Self, Failure> {
        let folder = temporary()?;
        let runner = Runner { workspace, folder, npb: env::var_os("NPB_BIN").map(PathBuf::from) };
        let compiler = env::var_os("MPICC").unwrap_or_else(|| "mpicc".into());
        let mut compile = workspace.command(compiler);
        compile.args(["-O2", "-shared", "-fPIC", "-o"]).arg(runner.times()).args(["data/programs/times.c", "-ldl"]);
        workspace::run(&mut compile)?;
        Ok(runner)
    }

    fn times(&self) -> PathBuf {
        self.folder.path().join("libtimes.so")
    }

    /// Whether a program can be run here; else why not.
    pub fn find(&self, program: &Program) -> Result<(), String> {
        // What is compiled in the working folder is found to be missing when it is compiled.
        let command = program.prepare.first().and_then(|words| words.first()).unwrap_or(&program.program);
        if let Some(name) = command.strip_prefix("{npb}/") {
            let folder = self.npb.as_ref().ok_or("NPB_BIN names no folder")?;
            return if folder.join(name).is_file() { Ok(()) } else { Err(format!("no {name} in NPB_BIN")) };
        }
        if workspace::in_path(command).is_some() {
            Ok(())
        } else {
            Err(format!("no {command} in PATH; the package is not installed"))
        }
    }

    /// All runs of a program on the network that is up, all settings in turn, after one run that only learns: as many as asked for, or
    /// [`ENOUGH_SECONDS`].
    pub fn in_turn(
        &self,
        program: &Program,
        network: &Network,
        repetitions: u32,
    ) -> Result<[Vec<ProgramRun>; SETTINGS.len()], Failure> {
        let work = temporary()?;
        let mut by_setting: [Vec<ProgramRun>; SETTINGS.len()] = Default::default();
        let prepared = self.prepare(program, work.path());
        if prepared.is_ok() {
            self.once(program, network, work.path(), LEARNING)?;
        }
        let mut plain_seconds = 0.0;
        for round in 0..repetitions.max(MOST_RUNS) {
            if round >= repetitions && (prepared.is_err() || plain_seconds >= ENOUGH_SECONDS) {
                break;
            }
            for (setting, runs) in SETTINGS.into_iter().zip(&mut by_setting) {
                let failed = |failure: &String| ProgramRun { failure: Some(failure.clone()), ..ProgramRun::default() };
                runs.push(match &prepared {
                    Ok(()) => self.once(program, network, work.path(), setting)?,
                    Err(failure) => failed(failure),
                });
            }
            plain_seconds += by_setting[0].last().map_or(0.0, |run| run.seconds);
        }
        Ok(by_setting)
    }

    /// Copies the inputs, and runs what comes before the program.
    fn prepare(&self, program: &Program, work: &Path) -> Result<(), String> {
        let said = |e: std::io::Error| format!("its inputs cannot be copied: {e}");
        if let Some(folder) = &program.folder {
            for entry in fs::read_dir(self.workspace.path("data/programs").join(folder)).map_err(said)? {
                let entry = entry.map_err(said)?;
                fs::copy(entry.path(), work.join(entry.file_name())).map_err(said)?;
            }
        }
        for words in &program.prepare {
            let Some((command, arguments)) = words.split_first() else { continue };
            let mut command = Command::new(command);
            command.current_dir(work).args(arguments).stdin(Stdio::null());
            let output = command.output().map_err(|e| format!("{} cannot be started: {e}", words[0]))?;
            if !output.status.success() {
                let text = String::from_utf8_lossy(&output.stderr).into_owned();
                return Err(format!("{} ended with {}: {}", words[0], output.status, last_line(&text)));
            }
        }
        Ok(())
    }

    /// One run.
    fn once(&self, program: &Program, network: &Network, work: &Path, setting: Setting) -> Result<ProgramRun, Failure> {
        let times = work.join("call-times");
        // The last run's.
        let _ = fs::remove_file(&times);
        let mut command = self.workspace.optiq(&[]);
        if let Some(wrap) = setting.wrap {
            command.arg("wrap").args(wrap.iter().map(|word| word.replace("{work}", &work.to_string_lossy())));
            command.arg("--").arg(self.workspace.built("optiq"));
        }
        command.args(["lab", "run", "--name", NAME, "--mpi", "openmpi", "--timeout", TIMEOUT_SECONDS]);
        if setting.sends {
            command.args(mpirun_arguments(SENDS.split(' ')));
        }
        command.arg("--");
        command.args(["sh", "-c", SCRIPT, "sh"]).arg(work).arg(self.times());
        let npb = self.npb.as_deref().unwrap_or(Path::new("")).to_string_lossy();
        command.arg(program.program.replace("{npb}", &npb).replace("{work}", &work.to_string_lossy()));
        command.args(&program.arguments);
        let start = Instant::now();
        let output = command
            .env("LD_PRELOAD", self.times())
            .stdin(Stdio::null())
            .output()
            .map_err(|e| Failure::Work(format!("optiq lab run cannot be started: {e}")))?;
        let seconds = start.elapsed().as_secs_f64();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let failure = (!output.status.success()).then(|| format!("ended with {}: {}", output.status, last_line(&err)));
        let text = format!("{out}\n{err}");
        let ranks = read_times(&text_file::read(&times, MAX_TIMES).unwrap_or_default());
        let (calls, seconds_in_calls) = mean_times(&ranks);
        Ok(ProgramRun {
            seconds,
            own_seconds: program.seconds_after.as_deref().and_then(|after| number_after(&text, after)),
            result: program.result_after.as_deref().and_then(|after| number_after(&text, after)),
            verified: program.verified.as_deref().map(|words| text.contains(words)),
            calls,
            seconds_in_calls,
            link_bound_seconds: link_bound(&ranks, network),
            report: report_lines(&err),
            failure,
        })
    }
}

fn temporary() -> Result<TempDir, Failure> {
    tempfile::tempdir().map_err(|e| Failure::Work(format!("no temporary folder can be made: {e}")))
}

/// The last line that says something, cut.
fn last_line(text: &str) -> String {
    let line = text.lines().rev().find(|line| !line.trim_matches(['-', ' ']).is_empty()).unwrap_or_default();
    line.trim().chars().take(MAX_SAID).collect()
}

/// The first number on a line behind the last place of a text.
fn number_after(text: &str, after: &str) -> Option<f64> {
    let (_, behind) = text.rsplit_once(after)?;
    let mut words = behind.lines().next()?.split(|c: char| c.is_whitespace() || ":=,".contains(c));
    words.find_map(|word| word.parse().ok().filter(|number: &f64| number.is_finite()))
}

/// A line of `times.c`.
struct RankCalls {
    calls: f64,
    seconds: f64,
    /// In `MPI_COMM_WORLD`.
    rank: usize,
    /// By the sender's rank; empty if the rank called nothing.
    received_bytes: Vec<u64>,
}

/// The lines of `times.c`, but for those that are none.
fn read_times(text: &str) -> Vec<RankCalls> {
    let line = |line: &str| {
        let mut words = line.split(' ');
        Some(RankCalls {
            calls: words.next()?.parse().ok()?,
            seconds: words.next()?.parse().ok()?,
            rank: words.next()?.parse().ok()?,
            received_bytes: words.map(|word| word.parse().ok()).collect::<Option<_>>()?,
        })
    };
    text.lines().filter_map(line).collect()
}

/// Means over the ranks that call: calls, and seconds in them. Where four of sixteen ranks call, a mean over all would be a quarter of what the
/// program waits for.
fn mean_times(ranks: &[RankCalls]) -> (f64, f64) {
    let calling: Vec<&RankCalls> = ranks.iter().filter(|rank| rank.calls > 0.0).collect();
    let mean_of = |value: fn(&RankCalls) -> f64| {
        mean(&calling.iter().map(|rank| value(rank)).collect::<Vec<f64>>()).unwrap_or(0.0)
    };
    (mean_of(|rank| rank.calls), mean_of(|rank| rank.seconds))
}

/// The bound of the bytes of all calls together, in seconds: it is at most the sum of the calls' bounds. Rank `r` is on host `r`, as `optiq lab run`
/// starts one rank on each.
fn link_bound(ranks: &[RankCalls], network: &Network) -> Option<f64> {
    let mut demands = Vec::new();
    for rank in ranks {
        for (sender, &bytes) in
            rank.received_bytes.iter().enumerate().filter(|(from, bytes)| *from != rank.rank && **bytes > 0)
        {
            demands.push(Demand::new(
                NodeId(u32::try_from(sender).ok()?),
                NodeId(u32::try_from(rank.rank).ok()?),
                bytes,
            ));
        }
    }
    lower_bound(network, &demands).ok().map(|bound| bound.seconds)
}

/// What the report says of calls; not what was learned, which is long.
fn report_lines(text: &str) -> Vec<String> {
    let behind = text.lines().skip_while(|line| !line.starts_with("optiq: calls of")).skip(1);
    let block = behind.take_while(|line| line.starts_with(' ') && !line.trim_start().starts_with("learned"));
    block.map(|line| line.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn numbers_are_those_behind_the_last_place() {
        let text = "energy = -1.0 Ry\nCPU x\nenergy  =   -63.25 Ry 7\nTime in seconds =   0.12\n";
        assert_eq!(number_after(text, "energy"), Some(-63.25));
        assert_eq!(number_after(text, "Time in seconds"), Some(0.12));
        assert_eq!(number_after(text, "CPU"), None, "the next line is not looked at");
        assert_eq!(number_after(text, "Loop time"), None);
    }

    #[test]
    fn times_are_means_over_ranks() {
        let mean = |text| mean_times(&read_times(text));
        assert_eq!(mean("10 1.5 0 0 7\n20 0.5 1 7 0\n"), (15.0, 1.0));
        assert_eq!(mean("10 1.5 0 1 2\n0 0.000000 1\n"), (10.0, 1.5), "a rank that calls nothing does not count");
        assert_eq!(mean(""), (0.0, 0.0));
        assert_eq!(mean("half a li"), (0.0, 0.0));
        assert_eq!(mean("1 2.0 0 half\n"), (0.0, 0.0));
    }

    #[test]
    fn the_bound_is_of_all_calls_together() {
        // By hand: host 0 sends 10 MB to each of two, 20 MB out of a port of 10 MB/s; nothing else takes longer. What a rank has from
        // itself crosses no link.
        let star = Network::from_spec("star:3,capacity=10MB/s").unwrap();
        let ranks = read_times("2 9.0 0 5000000000 1 0\n2 9.0 1 10000000 0 0\n2 9.0 2 10000000 0 0\n");
        assert_eq!(link_bound(&ranks, &star), Some(2.0));
        assert_eq!(link_bound(&[], &star), Some(0.0));
        // A rank without a host.
        assert_eq!(link_bound(&read_times("1 1.0 3 1 1 1 0\n"), &star), None);
    }

    #[test]
    fn a_report_is_read_up_to_what_was_learned() {
        let text = "noise\noptiq: calls of all 16 ranks\n  MPI_Alltoall: 5 served by planned paths\n    3: why\n  learned, as shares:\n    star\n";
        assert_eq!(report_lines(text), ["MPI_Alltoall: 5 served by planned paths", "3: why"]);
        assert_eq!(report_lines("nothing"), Vec::<String>::new());
    }

    #[test]
    fn the_last_line_that_says_something_is_shown() {
        assert_eq!(last_line("a\n  b\n-----\n\n"), "b");
        assert_eq!(last_line(""), "");
    }
}
