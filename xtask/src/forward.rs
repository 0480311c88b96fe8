//! `cargo xtask results` and `cargo xtask race-codes`: install what is missing, and hand over to `optiq-studies`, which has the
//! options and does the work.

use crate::failure::{Failure, Outcome};
use crate::install::Needs;
use crate::mpi::Library;
use crate::process::Project;
use crate::requirements::{BUILD, LAB, OPEN_MPI};

/// `optiq-studies results`, with Open MPI.
pub fn results(arguments: &[String]) -> Outcome {
    let needs = Needs::default().required(BUILD).required(OPEN_MPI);
    let needs = if has_labs(arguments) { needs.required(LAB) } else { needs };
    hand_over("results", &["--features", "mpi"], needs, arguments, "cargo xtask results --only table-vii")
}

/// Whether a part that needs a lab is among what is to run: better refused now than in an hour.
fn has_labs(arguments: &[String]) -> bool {
    let after = arguments
        .iter()
        .zip(arguments.iter().skip(1))
        .filter(|(flag, _)| *flag == "--only")
        .map(|(_, part)| part.as_str());
    let joined = arguments.iter().filter_map(|argument| argument.strip_prefix("--only="));
    let parts: Vec<&str> = after.chain(joined).collect();
    parts.is_empty() || parts.iter().any(|part| ["lab", "lab-jobs", "io"].contains(part))
}

/// `optiq-studies race-codes`, which needs no MPI.
pub fn race_codes(arguments: &[String]) -> Outcome {
    hand_over(
        "race-codes",
        &[],
        Needs::default().required(BUILD),
        arguments,
        "cargo xtask race-codes --directory ../codes/run --fattree '../bin/model-net-synthetic-fattree --sync=1 -- ft.conf'",
    )
}

fn hand_over(command: &str, features: &[&str], needs: Needs, arguments: &[String], example: &str) -> Outcome {
    if arguments.iter().any(|a| a == "--help" || a == "-h") {
        println!(
            "cargo xtask {command} [OPTIONS]\n\nInstalls what is missing, and runs\n\n  cargo run --release -p optiq-studies {}-- {command} \
             [OPTIONS]\n\nwhich measures and writes pages in docs/results; with --help in place of OPTIONS, that command lists them.\n\nExample:\n\n  {example}",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labs_are_needed_where_they_are_measured() {
        let has = |words: &str| has_labs(&words.split(' ').map(String::from).collect::<Vec<_>>());
        assert!(
            has("--repetitions 3") && has("--only lab") && has("--only=lab-jobs") && has("--only=io --only booksim")
        );
        assert!(!has("--only booksim --only=table-vii"));
    }
}
