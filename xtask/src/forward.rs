//! `cargo xtask results` and `cargo xtask race-codes`: install what is missing, and hand over to `optiq-studies`, which has the
//! options and does the work.

use crate::failure::{Failure, Outcome};
use crate::install::Needs;
use crate::mpi::Library;
use crate::process::Project;
use crate::requirements::{BUILD, LAB, OPEN_MPI};

/// `optiq-studies results`, with Open MPI; without `ip` and `tc` there is no lab, and the studies in labs fail.
pub fn results(arguments: &[String]) -> Outcome {
    hand_over(
        "results",
        &["--features", "mpi"],
        Needs::default().required(BUILD).required(OPEN_MPI).wished(LAB),
        arguments,
    )
}

/// `optiq-studies race-codes`, which needs no MPI.
pub fn race_codes(arguments: &[String]) -> Outcome {
    hand_over("race-codes", &[], Needs::default().required(BUILD), arguments)
}

fn hand_over(command: &str, features: &[&str], needs: Needs, arguments: &[String]) -> Outcome {
    if arguments.iter().any(|a| a == "--help" || a == "-h") {
        println!(
            "cargo xtask {command} [OPTIONS]\n\nInstalls what is missing, and runs\n\n  cargo run --release -p optiq-studies {}-- {command} \
             [OPTIONS]\n\nwhich measures and writes pages in docs/results; `{command} --help` there lists the options.",
            features.iter().map(|word| format!("{word} ")).collect::<String>()
        );
        return Ok(());
    }
    needs.meet(true)?;
    let words = [&["--quiet", "--release", "--package", "optiq-studies"], features, &["--", command]].concat();
    let mut run = Project::locate()?.cargo("run", words);
    // Paths among the arguments are relative to where the user is.
    run.args(arguments).envs(Library::OpenMpi.environment()).current_dir(".");
    let status = run.status().map_err(|e| Failure::Failed(format!("cargo cannot be started: {e}")))?;
    match status.code() {
        Some(0) => Ok(()),
        code => Err(Failure::Forwarded(code.and_then(|c| u8::try_from(c).ok()).unwrap_or(1))),
    }
}
