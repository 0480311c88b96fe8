//! `cargo xtask fuzz`: coverage-guided fuzzing of everything that OPTIQ parses, by cargo-fuzz and libFuzzer.
//!
//! The targets are in `fuzz/`, a workspace of its own. cargo-fuzz is built once below the target directory. Its instrumentation
//! is an unstable option of the compiler, which `RUSTC_BOOTSTRAP` permits on a stable one; nothing else is built that way.

use crate::args::Args;
use crate::failure::{Failure, Outcome};
use crate::install::Needs;
use crate::process::{self, Project};
use crate::requirements::BUILD_BARE;
use crate::tools::Tool;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Any version knows what is used of it.
const CARGO_FUZZ: Tool = Tool {
    package: "cargo-fuzz",
    program: "cargo-fuzz",
    version: "0.13.2",
    options: &[],
    suits: |_| true,
    instead: "cargo-fuzz",
};

const HELP: &str = "\
cargo xtask fuzz [OPTIONS]

Runs the fuzz targets in fuzz/ one after the other, each for a while, and keeps in fuzz/corpus the inputs that reach new code. An
input on which a target panics, hangs or takes too much memory stays in fuzz/artifacts, and the command fails. Ordinary tests run
the corpus again (tests/corpora.rs). cargo-fuzz is built once, in target/tools.

  --target NAME   only this target; the names are those of the files in fuzz/fuzz_targets
  --seconds N     for each target (60)

Example:

  cargo xtask fuzz --target spec --seconds 600";

/// Runs the command.
pub fn main(arguments: &[String]) -> Outcome {
    let Some(mut args) = Args::new("fuzz", HELP, arguments) else { return Ok(()) };
    let (mut only, mut seconds) = (None, 60u32);
    while let Some(flag) = args.next()? {
        match flag.as_str() {
            "--target" => only = Some(args.value(&flag)?),
            "--seconds" => seconds = args.parsed(&flag, "a whole number of seconds")?,
            _ => return Err(args.unknown(&flag)),
        }
    }
    let project = Project::locate()?;
    let all = targets(&project)?;
    let chosen = match only {
        None => all,
        Some(name) if all.contains(&name) => vec![name],
        Some(name) => {
            let all = all.join(", ");
            return Err(Failure::Usage(format!("fuzz --target is \"{name}\"; one of {all} is expected")));
        }
    };
    Needs::default().required(BUILD_BARE).meet(true)?;
    let tool = CARGO_FUZZ.get(&project, &[])?;
    for target in chosen {
        process::step(&format!("fuzz {target} for {seconds} s"), || {
            process::run(&mut run(&project, &tool, &target, seconds))
        })?;
    }
    Ok(())
}

/// The names of the files in `fuzz/fuzz_targets`, sorted.
fn targets(project: &Project) -> Outcome<Vec<String>> {
    let folder = project.root().join("fuzz/fuzz_targets");
    let unreadable = |e: std::io::Error| Failure::Failed(format!("{} cannot be read: {e}", folder.display()));
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// The command that fuzzes one target. Without the address sanitizer, as nothing that parses is `unsafe`; with overflow checks
/// (fuzz/Cargo.toml), a limit on memory, and one on the time of an input.
fn run(project: &Project, tool: &PathBuf, target: &str, seconds: u32) -> Command {
    let mut command = Command::new(tool);
    command.args(["fuzz", "run", "--sanitizer", "none", target, "--"]);
    command.arg(format!("-max_total_time={seconds}"));
    command.args(["-rss_limit_mb=2048", "-timeout=20", "-print_final_stats=1"]);
    command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", project.target().join("fuzz"));
    command.current_dir(project.root().join("fuzz"));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_files() {
        let names = targets(&Project::locate().unwrap()).unwrap();
        assert!(names.contains(&"spec".to_owned()) && names.contains(&"checkpoint".to_owned()), "{names:?}");
    }
}
