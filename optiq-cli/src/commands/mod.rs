//! The commands, one file each.

use crate::failure::Failure;
use clap::{ArgMatches, Subcommand};
use optiq_files::input::StandardInput;
use std::process::ExitCode;

// Not declared by the macro below, for `cargo fmt` finds modules only where it can see them.
#[cfg(feature = "mpi")]
mod bench;
#[cfg(feature = "mpi")]
mod calibrate;
mod congestion;
mod cures;
#[cfg(feature = "mpi")]
mod demo;
mod explain;
mod fabric;
mod generate;
mod info;
mod interfere;
mod job_document;
mod lab;
mod paths;
mod plan;
mod postcards;
mod probe;
mod profile;
mod reproduce;
pub(crate) mod simulate;
mod sweep;
mod throttle;
mod topology;
mod trace;
mod traffic;
mod transfers;
mod wrap;

/// What `-` stands for among the inputs of a command. Under `mpirun` every rank reads them, and programs in a lab read them again.
pub fn standard_input(matches: &ArgMatches) -> StandardInput {
    let command = matches.subcommand();
    let nested = command.and_then(|(_, inner)| inner.subcommand_name());
    match (command.map(|(name, _)| name), nested) {
        (Some("bench" | "calibrate" | "demo" | "lab" | "sweep"), _) | (Some("transfers"), Some("run")) => {
            StandardInput::Shared
        }
        _ => StandardInput::Allowed,
    }
}

/// Declares the enum of subcommands and its dispatch from lines `Name(module)`: a module has a clap
/// argument type `Arguments`, whose documentation is the command's help, with a method `run`. `generate`, the last one, takes
/// the whole command line as well.
macro_rules! commands {
    ($($(#[$attribute:meta])* $name:ident($module:ident)),* $(,)?) => {
        /// What `optiq` can do.
        #[derive(Debug, Subcommand)]
        pub enum Command {
            $($(#[$attribute])* #[allow(missing_docs)] $name($module::Arguments),)*
            #[allow(missing_docs)]
            Generate(generate::Arguments),
        }

        impl Command {
            /// Does it. `whole` makes the whole command line, which manual pages and completions are made from; no other command
            /// pays for that, least of all `wrap` in front of every rank.
            pub fn run(self, whole: fn() -> clap::Command) -> Result<ExitCode, Failure> {
                match self {
                    $($(#[$attribute])* Command::$name(arguments) => arguments.run(),)*
                    Command::Generate(arguments) => arguments.run(&whole()),
                }
            }
        }
    };
}

commands! {
    Topology(topology),
    Fabric(fabric),
    Paths(paths),
    Plan(plan),
    Explain(explain),
    Transfers(transfers),
    Simulate(simulate),
    Interfere(interfere),
    Congestion(congestion),
    Sweep(sweep),
    Throttle(throttle),
    Postcards(postcards),
    Probe(probe),
    Cures(cures),
    Reproduce(reproduce),
    Lab(lab),
    #[cfg(feature = "mpi")]
    Bench(bench),
    #[cfg(feature = "mpi")]
    Calibrate(calibrate),
    #[cfg(feature = "mpi")]
    Demo(demo),
    Trace(trace),
    Profile(profile),
    Traffic(traffic),
    Wrap(wrap),
    Info(info),
}
