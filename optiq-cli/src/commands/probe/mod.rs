//! `optiq probe`: what probes of a switch say.

mod predict;
#[cfg(feature = "mpi")]
mod report;
#[cfg(feature = "mpi")]
mod run;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// Probes of a switch: how busy it is, and who slows whom, from runs of each application alone
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq probe impact --help
  optiq probe predict table.toml
  optiq probe predict table.toml FFTW AMG

On the hosts of a lab, ImpactB beside nothing, and for three seconds CompressionB:
  optiq lab up --topology star:4
  optiq lab run -- optiq probe impact --interval 20ms
  optiq lab run -- optiq probe compression --partners 2 --sleep 100ms --samples 30
  optiq lab down")]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    #[cfg(feature = "mpi")]
    Impact(run::Impact),
    #[cfg(feature = "mpi")]
    Compression(run::Compression),
    #[cfg(feature = "mpi")]
    Link(run::Link),
    #[cfg(feature = "mpi")]
    Proxy(run::Proxy),
    Predict(predict::Arguments),
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        match self.what {
            #[cfg(feature = "mpi")]
            What::Impact(impact) => impact.run(),
            #[cfg(feature = "mpi")]
            What::Compression(compression) => compression.run(),
            #[cfg(feature = "mpi")]
            What::Link(link) => link.run(),
            #[cfg(feature = "mpi")]
            What::Proxy(proxy) => proxy.run(),
            What::Predict(arguments) => arguments.run(),
        }
    }
}
