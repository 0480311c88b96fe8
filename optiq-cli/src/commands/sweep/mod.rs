//! `optiq sweep`.

mod document;
mod execute;
mod page;
mod plan;
mod share;
mod store;
mod summary;
mod text;

use super::simulate::interrupt;
use super::simulate::jobs::Only;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use clap::Args;
use execute::{Ended, Execution};
use optiq_sim::jobs::run::Which;
use optiq_sim::jobs::sweep::file::Sweep;
use share::Share;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::Store;

/// Simulate all combinations of the lists in a job file, on all cores, with a document for each run and pages of all
///
/// A sweep file is a job file in which values may be lists: in place of a value, or in a table [sweep] under the value's path. Runs
/// that are finished are not made again: a sweep that was ended, however, goes on where it was, and one that was changed makes the runs
/// that changed. Under mpirun or srun the runs are dealt out to the ranks, which need the directory in common and nothing else.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq sweep sweep.toml --plan-only
  optiq sweep sweep.toml --output think-times
  mpirun -n 64 optiq sweep sweep.toml --output think-times
  optiq sweep sweep.toml --json

A sweep file, of 3 x 2 x 3 runs:
  network = \"fattree:4x4x3:1x4x2:1x1x2\"
  [[job]]
  name = \"solver\"
  hosts = 20
  placement = [\"random-node\", \"random-switch\"]
  program = \"pairs,message=256KB,think=500us,jitter=5%\"
  [[job]]
  name = \"checkpoint\"
  hosts = 16
  servers = \"spread-target:8\"
  program = \"io-write,request=1MB,jitter=5%\"
  [sweep]
  \"job.checkpoint.program.think\" = [\"0\", \"1ms\", \"2ms\"]
  seed = [1, 2, 3]

DIR gets sweep.json, all results in one document; index.html, with curves and box plots; and runs/, with a document for each run.")]
pub struct Arguments {
    /// The sweep file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where results go [default: the file's name with -runs in place of its extension]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// How many runs are made at once, each with a thread [default: all processors; 1 under mpirun or srun]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Simulate each job alone only, or all together only; without it both, which gives slowdowns
    #[arg(long, value_name = "WHICH")]
    only: Option<Only>,
    /// Simulate nothing but a few seconds to learn the simulator's speed: say how many runs and packets there are, and how long they
    /// are expected to take
    #[arg(long)]
    plan_only: bool,
    /// How many runs are listed
    #[arg(long, value_name = "NUMBER", default_value_t = 40)]
    most: usize,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let share = Share::of_environment(|name| std::env::var(name).ok());
        let progress = Progress::start("reading the sweep file");
        let sweep = Sweep::read(&self.file)?;
        let which = Only::which(self.only);
        let threads = self.threads.map_or_else(|| share.default_threads(), usize::from);
        let folder = self.output.clone().unwrap_or_else(|| default_folder(&self.file));
        if self.plan_only && !share.prints() {
            return Ok(ExitCode::SUCCESS);
        }
        if self.plan_only {
            return self.plan(&sweep, (which, threads), &folder, progress);
        }
        let store = Store::create(&folder)?;
        let execution = Execution { sweep: &sweep, which, share, store: &store, stop: interrupt::watch()? };
        let made = execution.run(threads, &progress)?;
        if share.size > 1 && share.prints() && made.ended == Ended::Whole {
            execution.wait_for_others(&made, &progress)?;
        }
        progress.now("collecting the documents");
        let found = summary::of(&execution, &self.file)?;
        let is_whole = found.finished == found.runs;
        if is_whole || share.prints() {
            progress.now("writing sweep.json and index.html");
            store.write("sweep.json", &output::json(Schema::Sweep, &found)?)?;
            store.write("index.html", &page::page(&sweep, &found))?;
        }
        drop(progress);
        // One of several ranks prints for all.
        if share.prints() {
            match self.json {
                true => output::print_json(Schema::Sweep, &found)?,
                false => output::print(&text::text(&sweep, &found, &made, self.most))?,
            }
        }
        made.verdict(&sweep, (found.finished, found.runs))?;
        Ok(if is_whole || share.size > 1 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn plan(
        &self,
        sweep: &Sweep,
        (which, threads): (Which, usize),
        folder: &Path,
        progress: Progress,
    ) -> Result<ExitCode, Failure> {
        let plan = plan::plan(sweep, (which, threads), &Store::at(folder), &progress)?;
        drop(progress);
        match self.json {
            true => output::print_json(Schema::SweepPlan, &plan)?,
            false => output::print(&plan.text())?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// `sweep-runs` for `some/where/sweep.toml`.
fn default_folder(file: &Path) -> PathBuf {
    let stem = file.file_stem();
    let mut name = stem.map_or_else(|| OsString::from("sweep"), OsString::from);
    name.push("-runs");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_go_beside_the_working_directory() {
        let folder = |file: &str| default_folder(Path::new(file));
        assert_eq!(["a/b/think.toml", "/"].map(folder), ["think-runs", "sweep-runs"].map(PathBuf::from));
    }
}
