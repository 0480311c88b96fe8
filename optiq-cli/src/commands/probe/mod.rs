//! `optiq probe`: what probes of a switch say.

mod predict;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// Of the only one of them so far, too.
const EXAMPLES: &str = "\
Examples:
  optiq probe predict table.toml
  optiq probe predict table.toml FFTW AMG";

/// Probes of a switch: who slows whom, from runs of each application alone
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Predict(predict::Arguments),
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        match self.what {
            What::Predict(arguments) => arguments.run(),
        }
    }
}
