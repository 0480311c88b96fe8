//! `optiq bench`: measurements under `mpirun`.

mod calls;
mod classes;
mod io;
mod job;

use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::ranks;
use crate::target::Target;
use clap::{Args, Subcommand};
use mpi::traits::Communicator;
use optiq::PlannerChoice;
use optiq_studies::bench::alltoallv::{self, Request};
use optiq_studies::bench::cases::{self, Sizes};
use optiq_studies::bench::comparison::Suite;
use std::path::PathBuf;
use std::process::ExitCode;

/// Measure under mpirun: plain MPI and OPTIQ in turn in one job, every byte checked; or the programs of job files
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq bench alltoallv --help
  optiq bench calls --help
  optiq bench classes --help
  optiq bench io --help
  optiq bench job --help

A job of 16 ranks in the lab:
  optiq lab up --topology torus:4x4
  optiq lab run -- optiq bench alltoallv --demands pattern:disjoint --message 4MB
  optiq lab run -- optiq bench alltoallv --cases thesis30 --html cases.html
  optiq lab down")]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Alltoallv(Alltoallv),
    Calls(calls::Calls),
    Classes(classes::Classes),
    Io(io::Io),
    Job(job::Job),
}

/// MPI_Alltoallv against optiq_alltoallv. Started on every rank by mpirun; OPTIQ_TOPOLOGY names the network, which
/// `optiq lab run` sees to. Without it every rank is taken for a host of a star
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq bench alltoallv --help

On 2 ranks of this machine, which stand for the hosts of a small network:
  OPTIQ_TOPOLOGY=star:2 OPTIQ_PLACEMENT=rank mpirun -n 2 optiq bench alltoallv --message 1MB
From 1 byte to 16 MB for each pair, in a picture:
  mpirun -n 2 optiq bench alltoallv --demands pattern:disjoint,pattern:alltoall --message 1B..16MB --html sizes.html

A file of cases has tables such as
  [[case]]
  demands = \"pattern:random,count=40\"
  message = \"1MB\"")]
pub struct Alltoallv {
    /// Which host sends what to which: patterns or files, as for optiq plan; a list, or given several times
    #[arg(long, value_name = "DEMANDS", default_value = "pattern:disjoint")]
    demands: Vec<String>,
    /// Bytes per pair of a pattern: a size, a list, or a range such as 1B..16MB (each four times the one before) or
    /// 1B..16MB*8
    #[arg(long, value_name = "SIZES", default_value = cases::MESSAGE, allow_hyphen_values = true)]
    message: Sizes,
    /// A fixed list of cases in place of demands and sizes: thesis30 (30 cases for 16 hosts), or a file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["demands", "message"])]
    cases: Option<String>,
    /// Timed repetitions of each, before each of which comes an untimed call of the same side
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repetitions: u32,
    /// The planner, or a list of them; auto is as OPTIQ chooses [default: auto]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    planner: Vec<PlannerChoice>,
    /// Use the plan even where OPTIQ would leave the exchange to plain MPI
    #[arg(long)]
    force: bool,
    /// With several ranks on a host: spread what goes from one host to another over all pairs of their ranks, instead of
    /// having the first rank of each carry it
    #[arg(long)]
    all_ranks: bool,
    /// Write a picture of the ratios against bytes per pair, one HTML page; - is standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let a = match self.what {
            What::Alltoallv(a) => a,
            What::Calls(calls) => return calls.run().map(|()| ExitCode::SUCCESS),
            What::Classes(classes) => return classes.run().map(|()| ExitCode::SUCCESS),
            What::Io(io) => return io.run().map(|()| ExitCode::SUCCESS),
            What::Job(job) => return job.run().map(|()| ExitCode::SUCCESS),
        };
        let listed = a.cases.is_some();
        let cases = match &a.cases {
            Some(name) => cases::cases(name).map_err(Failure::Input)?,
            None => {
                let demands: Vec<String> = a.demands.iter().flat_map(|text| cases::split_demands(text)).collect();
                cases::product(&demands, &a.message.0)
            }
        };
        let planners = if a.planner.is_empty() { vec![PlannerChoice::Auto] } else { a.planner.clone() };
        let request =
            Request { cases, planners, repetitions: a.repetitions as usize, force: a.force, all_ranks: a.all_ranks };
        ranks::run_on_several(
            |world| {
                // Before anything is measured: rank 0 will write the page.
                let html = match &a.html {
                    Some(path) if world.rank() == 0 => Some(Target::new(path).map_err(|e| e.sentence().to_owned())?),
                    _ => None,
                };
                let progress = ranks::progress(world, "measuring");
                let suite = alltoallv::measure(world, &request, &|doing| progress.now(doing))?;
                Ok(suite.map(|suite| (suite, html)))
            },
            |(suite, html)| show(&suite, html, listed, a.json),
        )?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints the result, and writes the picture. One comparison that was not asked for as a list is a document of its own.
fn show(suite: &Suite, html: Option<Target>, listed: bool, json: bool) -> Result<(), Failure> {
    if let Some(target) = html {
        let page = suite.page().map_err(|e| Failure::Work(format!("cannot make the page: {e}")))?;
        target.write(|out| out.write_all(page.as_bytes()))?;
    }
    match (suite.cases.as_slice(), listed) {
        ([only], false) if json => output::print_json(Schema::BenchAlltoallv, &only.comparison),
        ([only], false) => {
            let note = suite.note.as_ref().map_or(String::new(), |note| format!("{note}\n"));
            output::print(&(note + &only.comparison.text()))
        }
        _ if json => output::print_json(Schema::BenchAlltoallvCases, suite),
        _ => output::print(&suite.text()),
    }
}
