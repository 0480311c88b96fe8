//! `cargo xtask`: sets a machine up, shows OPTIQ at work, and tests it.
//!
//! Every subcommand installs what it needs first ([`requirements`]), starts programs through [`process`], and says
//! on standard error what it does and how long it took. Results go to standard output.

mod args;
mod book;
mod demo;
mod deny;
mod deploy;
mod failure;
mod forward;
mod fuzz;
mod install;
mod mpi;
mod process;
mod readers;
mod requirements;
mod tally;
mod test;
mod tools;

use failure::{Failure, Outcome};
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask COMMAND [OPTIONS]

  demo       install what is missing, build OPTIQ, run it on a lab network of 16 hosts, show the figures
  test       install what is missing, build and run all tests
  install    build OPTIQ and install it below a prefix: libraries, header, command, pages
  uninstall  remove what was installed below a prefix
  deny       check the licences, versions and origins of the dependencies
  fuzz       run the fuzz targets of everything that is parsed
  results    measure, and write the pages in docs/results
  race-codes run CODES and OPTIQ's simulator in turn, and write docs/results/codes.md

cargo xtask COMMAND --help tells more. Example:

  cargo xtask demo";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            failure.status()
        }
    }
}

fn dispatch(arguments: &[String]) -> Outcome {
    let (command, rest) = match arguments.split_first() {
        None => ("--help", &[][..]),
        Some((command, rest)) => (command.as_str(), rest),
    };
    match command {
        "demo" => demo::main(rest),
        "test" => test::main(rest),
        "install" => deploy::install(rest),
        "uninstall" => deploy::uninstall(rest),
        "deny" => deny::main(rest),
        "fuzz" => fuzz::main(rest),
        "results" => forward::results(rest),
        "race-codes" => forward::race_codes(rest),
        "help" | "-h" | "--help" => {
            println!("{USAGE}");
            Ok(())
        }
        other => {
            let all = "demo, test, install, uninstall, deny, fuzz, results and race-codes";
            Err(Failure::Usage(format!("no command is called \"{other}\"; there are {all}")))
        }
    }
}
