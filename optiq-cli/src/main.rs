//! The `optiq` command: arguments, progress, tables, JSON and pictures. What it shows is computed elsewhere.
//!
//! Contract with scripts: results go to standard output, one JSON document with `--json`; everything else goes to
//! standard error. The exit status is 0 for success, 2 for bad input or arguments and 1 for other failures, each of the
//! latter two with one sentence `optiq: ...`. `optiq fabric import` ends with 3 if it used what it could and lists the rest, which is
//! in its results. `optiq lab run` and `exec` pass on the status of the program they ran; so do `optiq wrap` and `optiq profile`, which
//! end with 127 if the program is not found and with 126 if it cannot be executed, as shells do.

mod arguments;
mod commands;
mod csv;
mod elf;
mod fabric_pictures;
mod failure;
mod logger;
mod names;
mod output;
mod preload;
mod progress;
#[cfg(feature = "mpi")]
mod ranks;
mod schema;
mod target;
mod topology_help;
mod yaml;

use clap::{CommandFactory, FromArgMatches, Parser};
use commands::Command;
use failure::Failure;
use std::process::ExitCode;

/// Moves data on supercomputers over many paths: plans which bytes take which links, and shows why.
#[derive(Debug, Parser)]
#[command(name = "optiq", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Show sizes with binary units (MiB, 2^20 bytes) in place of decimal ones (MB, 10^6 bytes)
    #[arg(long, global = true)]
    binary: bool,
}

const EXAMPLES: &str = "\
Examples:
  optiq topology torus:4x4
  optiq plan --topology torus:4x4 --demands pattern:disjoint --html plan.html
  optiq info --json

Every command has its own --help with examples. OPTIQ_LOG=debug logs to standard error.";

fn main() -> ExitCode {
    // A lab starts this binary again, with other things to do; nothing may come before that.
    if let Some(status) = optiq_lab::internal_main(std::env::args_os()) {
        return ExitCode::from(u8::try_from(status).unwrap_or(1));
    }
    match run() {
        Ok(status) => status,
        Err(failure) => failure.report(),
    }
}

fn run() -> Result<ExitCode, Failure> {
    let matches = match Cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(e) if e.use_stderr() && e.kind() != clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return Err(Failure::arguments(&e));
        }
        Err(e) if e.use_stderr() => return Err(Failure::Input("a command is missing; optiq --help lists them".into())),
        Err(help) => {
            output::print(&help.render().to_string())?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    logger::install()?;
    optiq_files::input::set_standard_input(commands::standard_input(&matches));
    let cli = Cli::from_arg_matches(&matches).map_err(|e| Failure::arguments(&e))?;
    if cli.binary {
        optiq_view::table::use_binary_units();
    }
    cli.command.run(Cli::command)
}
