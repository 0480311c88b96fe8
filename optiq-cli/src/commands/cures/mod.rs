//! `optiq cures`: what helps jobs that slow each other. The work is in `optiq_sim::jobs::cures`.

mod document;
mod found;
mod page;
mod text;

use super::simulate::interrupt;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use crate::target::Target;
use clap::Args;
use document::CuresDocument;
use found::Found;
use optiq_sim::jobs::cures::remedies::{RemedyKind, Selection};
use optiq_sim::jobs::cures::trial::{TrialOptions, TrialProgress, try_out};
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::throttle;
use optiq_view::table;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

/// Simulate the jobs of a file as they are and with every cure that fits, and say what each cure brings and costs
///
/// Cures are other placements, other positions of I/O servers, adaptive routing, throttle windows, and for jobs that run alltoallv MPI's
/// algorithms and OPTIQ's plans: one as if the job were alone, and one beside the load of the other jobs, which is measured in a run
/// without the job. Everything has the same seed. Each cure is simulated with all jobs together and with each job alone; runs that cures have
/// in common are made once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq cures --jobs jobs.toml
  optiq cures --jobs jobs.toml --only placement --only servers --report cures.html
  optiq cures --jobs jobs.toml --only exchange --job solver --json

Kinds:
  placement   other hosts: contiguous, random-node, random-switch, random-group, for jobs that list none
  servers     other hosts for I/O servers: spread-target, isolated-target, random-target
  routing     adaptive routing, where the network has several ways
  throttle    the window of optiq throttle, from completion and from start, so that clients ask as often with both
  exchange    alltoallv by MPI (linear, pairwise; both with adaptive routing, too) and by OPTIQ (planned alone, beside the others)

Columns: slowdown is the mean time beside the others over that alone, both with the cure; cycle is the mean time from the start of an operation to the
start of the next one, over that as it is, which is what a cure costs the job that it is applied to.")]
pub struct Arguments {
    /// The job file; - is standard input
    #[arg(long, value_name = "FILE")]
    jobs: PathBuf,
    /// Throttles and exchanges of this job only; may be given more than once [default: of all]
    #[arg(long, value_name = "NAME")]
    job: Vec<String>,
    /// Cures of this kind only; may be given more than once [default: all kinds]
    #[arg(long, value_name = "KIND")]
    only: Vec<RemedyKind>,
    /// What throttle windows are to reach, as optiq throttle has it
    #[arg(long, value_name = "TARGET", default_value = "threshold")]
    target: throttle::Target,
    /// Simulate with this seed in place of the file's
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Threads of the simulator [default: all processors]; results are the same with any number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: Option<u8>,
    /// Write a page with tables and box plots to this file; - is standard output
    #[arg(long, value_name = "PAGE")]
    report: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let report = self.report.as_deref().map(Target::new).transpose()?;
        let progress = Progress::start("reading the job file");
        let mut file = JobFile::read(&self.jobs)?;
        file.seed = self.seed.unwrap_or(file.seed);
        let jobs = self.job.iter().map(|name| number_of(&file, name)).collect::<Result<Vec<_>, _>>()?;
        progress.now("building the network");
        let network = file.load_network()?;
        let model = file.load_model(&network)?;
        let tell = |now: TrialProgress| {
            progress.now(format!(
                "simulating: {} of {} over, {} of all samples",
                now.finished,
                table::count(now.runs, "run"),
                table::percent(now.part)
            ));
        };
        let options = TrialOptions {
            threads: self.threads.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from),
            stop: Some(interrupt::watch()?),
            progress: Some(&tell),
        };
        let selection = Selection { kinds: &self.only, jobs: &jobs, target: self.target };
        let trials = try_out((&file, &network, &model), &selection, &options)?;
        let found = Found { file: &file, network: &network, model: &model, target: self.target, trials: &trials };
        if let Some(target) = &report {
            target.write(|out| out.write_all(page::page(&found).as_bytes()))?;
        }
        drop(progress);
        match self.json {
            true => output::print_json(Schema::Cures, &CuresDocument::new(&found))?,
            false => output::print(&text::text(&found))?,
        }
        // Half a comparison is none to decide by.
        Ok(if trials.left_out == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// The number of the job of this name.
fn number_of(file: &JobFile, name: &str) -> Result<usize, Failure> {
    file.jobs.iter().position(|job| job.name == name).ok_or_else(|| {
        let names = file.jobs.iter().map(|job| &*job.name).collect::<Vec<_>>().join(", ");
        let name = optiq_net::text_file::shorten(name);
        Failure::Input(format!(
            "job file {}: there is no job \"{name}\"; --job with one of {names} is expected",
            file.label()
        ))
    })
}
