//! `optiq bench calls`: what each call of a series takes.

use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::ranks;
use clap::{Args, ValueEnum};
use optiq_net::units::parse_bytes;
use optiq_studies::bench::calls::{self, By, CallSeries, Request};
use std::path::PathBuf;

/// The same exchange again and again: what each call takes and what serves it, while the network may change. Started on every rank by
/// mpirun; OPTIQ_TOPOLOGY names the network, which `optiq lab run` sees to
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq bench calls --help

In the lab, with plans that follow the load of links:
  optiq lab up --topology torus:4x4
  OPTIQ_BACKGROUND=measure optiq lab run -- optiq bench calls --message 1MB --calls 20
  optiq lab down")]
pub struct Calls {
    /// Which host sends what to which: a pattern or a file, as for optiq plan
    #[arg(long, value_name = "DEMANDS", default_value = "pattern:disjoint")]
    demands: String,
    /// Bytes for each pair of a pattern
    #[arg(long, value_name = "SIZE", default_value = "1MB", value_parser = size)]
    message: u64,
    /// Calls in each phase
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    calls: u32,
    /// Phases; before each, rank 0 waits in --meet
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    phases: u32,
    /// A folder where rank 0 makes ready-0, waits for go-0, and so on for every phase, while somebody changes the network
    #[arg(long, value_name = "DIR")]
    meet: Option<PathBuf>,
    /// Who serves the calls
    #[arg(long, value_name = "WHO", default_value = "optiq")]
    by: Who,
    /// A file of background load for each phase, in place of OPTIQ_BACKGROUND, each with a session of its own; none for no load
    #[arg(long, value_name = "FILES", value_delimiter = ',')]
    backgrounds: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Who {
    /// MPI_Alltoallv
    Mpi,
    /// optiq_alltoallv
    Optiq,
}

fn size(text: &str) -> Result<u64, String> {
    parse_bytes(text).map_err(|e| e.to_string())
}

impl Calls {
    pub fn run(self) -> Result<(), Failure> {
        let phases = self.phases as usize;
        if !self.backgrounds.is_empty() && self.backgrounds.len() != phases {
            let (found, expected) = (self.backgrounds.len(), phases);
            return Err(Failure::Input(format!(
                "--backgrounds has {found} files; one for each of {expected} phases is expected"
            )));
        }
        let request = Request {
            demands: self.demands,
            message_bytes: self.message,
            calls: self.calls as usize,
            phases,
            by: match self.by {
                Who::Mpi => By::Mpi,
                Who::Optiq => By::Optiq,
            },
            backgrounds: self.backgrounds.into_iter().map(|file| (file != "none").then_some(file)).collect(),
            meet: self.meet,
        };
        let json = self.json;
        let show = |series: CallSeries| match json {
            true => output::print_json(Schema::BenchCalls, &series),
            false => output::print(&series.text()),
        };
        ranks::run_on_several(|world| calls::measure(world, &request), show)
    }
}
