//! `optiq fabric`: real fabrics, from what their tools print, and how they are built.

mod import;
mod show;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// Real fabrics: networks from what ibnetdiscover, OpenSM and Slurm write, and pictures of them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ibnetdiscover > cables.txt; dump_fts > tables.txt
  optiq fabric import cables.txt tables.txt --output net.toml
  optiq fabric show net.toml --report fabric.html
  optiq topology file:net.toml --route node0001 node0324")]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Import(import::Arguments),
    Show(show::Arguments),
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        match self.what {
            What::Import(arguments) => arguments.run(),
            What::Show(arguments) => arguments.run(),
        }
    }
}
