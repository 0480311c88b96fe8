//! `optiq transfers`: lists of transfers are made, shown and executed.

mod plan;
mod refused;
#[cfg(feature = "mpi")]
mod run;
mod show;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// Transfer lists: bytes from rank to rank, with paths that are found beforehand
#[derive(Debug, Args)]
#[command(
    visible_alias = "jobs",
    after_help = "\
Examples:
  optiq transfers plan --topology torus:4x4 --to 0,10 --bytes 750KB --output to_bridges.jobs
  optiq transfers plan --topology mesh:4x4 --demands pattern:subset --planner heu2 --output d.json
  optiq transfers show to_bridges.jobs

Under mpirun, with OPTIQ_TOPOLOGY as in the file:
  mpirun -n 16 optiq transfers run to_bridges.jobs"
)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Plan(Box<plan::Arguments>),
    Show(show::Arguments),
    #[cfg(feature = "mpi")]
    Run(run::Arguments),
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        match self.what {
            What::Plan(arguments) => arguments.run(),
            What::Show(arguments) => arguments.run(),
            #[cfg(feature = "mpi")]
            What::Run(arguments) => arguments.run(),
        }
    }
}
