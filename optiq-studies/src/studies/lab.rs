//! `docs/results/lab.md`: `MPI_Alltoallv` and `optiq_alltoallv` in turn on labs of 16 hosts, and on one machine without a lab.

use crate::failure::Outcome;
use crate::mpi::Library;
use crate::process::{self, Project};
use std::fmt::Write;
use std::process::Command;

/// Arguments of `optiq bench alltoallv`, and what they are for.
type Bench = (&'static str, &'static [&'static str]);

const PATTERNS: &str = "pattern:disjoint,pattern:overlap,pattern:subset";
const ALL_PATTERNS: &str = "pattern:disjoint,pattern:overlap,pattern:subset,pattern:alltoall";

/// Short calls vary from one to the next by more than is looked for, so there are many of them.
const SMALL: Bench =
    ("Small messages", &["--demands", ALL_PATTERNS, "--message", "1B,256B,4kB,16kB", "--repetitions", "51"]);
const MEDIUM: Bench = ("Around the crossover", &["--demands", ALL_PATTERNS, "--message", "64kB,128kB,256kB"]);
const LARGE: Bench = ("The thesis's patterns", &["--demands", PATTERNS, "--message", "1MB,4MB,16MB"]);
const LARGE_WITHOUT_GAIN: Bench = ("The thesis's patterns", &["--demands", PATTERNS, "--message", "1MB,4MB"]);

const LABS: [(&str, &[Bench]); 4] = [
    ("torus:4x4", &[("Thirty cases", &["--cases", "thesis30"]), SMALL, MEDIUM]),
    ("torus:2x2x2x2", &[LARGE]),
    ("fattree:k=4", &[SMALL, MEDIUM, LARGE_WITHOUT_GAIN]),
    ("star:16", &[SMALL, MEDIUM, LARGE_WITHOUT_GAIN]),
];

/// Ranks on one machine.
const RANKS: [&str; 4] = ["2", "4", "8", "16"];
const SHARED_MEMORY: &[&str] = &[
    "--demands",
    "pattern:disjoint,pattern:alltoall",
    "--message",
    "1B,64B,1kB,16kB,256kB,4MB",
    "--repetitions",
    "21",
];

/// Of the labs' links.
pub const RATE: &str = "100Mbit/s";
/// The labs' name for `optiq lab`.
pub const NAME: &str = "results";

/// Measures for about twenty minutes; returns the page.
pub fn page(project: &Project, about: &str, repetitions: u32) -> Outcome<String> {
    let repetitions = repetitions.to_string();
    let mut page = format!(
        "# `MPI_Alltoallv` and `optiq_alltoallv` in turn on a real network\n\n{about}\n\
         Labs of 16 hosts, one rank each, with links of {RATE}: `optiq lab up`, then `optiq bench alltoallv` in it, as given \
         with each table. Both run in turn in one job; every byte of the first and the last call of a repetition is checked. \
         Times are medians of {repetitions} repetitions, or as many as the command says. The bound is the time that the most \
         loaded link needs, on the fabric's own routes for MPI and on the planned paths for OPTIQ; the percentage is the share \
         of it that was reached. Below ten milliseconds a repetition makes many calls, which overlap, so that shares above \
         100 % are possible.\n"
    );
    for (topology, benches) in LABS {
        let _ = write!(page, "\n## `{topology}`\n");
        in_lab(project, topology, &mut page, |page| {
            benches.iter().try_for_each(|&(title, arguments)| {
                let bench = bench("alltoallv", arguments, &repetitions);
                let program = project.program("optiq");
                let mut command = optiq(project, &["lab", "run", "--name", NAME, "--timeout", "3600", "--"]);
                let text = process::capture(command.arg(program).args(&bench))?;
                section(page, title, "", &bench, &text);
                Ok(())
            })
        })?;
    }
    page.push_str("\n## One machine, without a lab\n\nAll ranks on this machine, over shared memory.\n");
    for ranks in RANKS {
        let bench = bench("alltoallv", SHARED_MEMORY, &repetitions);
        let mut command = project.command("mpirun");
        command.envs(Library::OpenMpi.environment()).args(["-n", ranks]);
        let text = process::capture(command.arg(project.program("optiq")).args(&bench))?;
        section(&mut page, &format!("{ranks} ranks"), &format!("mpirun -n {ranks} "), &bench, &text);
    }
    Ok(page)
}

fn optiq(project: &Project, arguments: &[&str]) -> Command {
    let mut command = project.command(project.program("optiq"));
    command.args(arguments);
    command
}

/// Brings a lab up, adds its calibration to the page, measures, and takes the lab down whatever came of it.
pub fn in_lab(
    project: &Project,
    topology: &str,
    page: &mut String,
    measure: impl FnOnce(&mut String) -> Outcome,
) -> Outcome {
    let up = ["lab", "up", "--topology", topology, "--rate", RATE, "--name", NAME, "--lifetime", "7200"];
    let calibration = process::capture(&mut optiq(project, &up))?;
    let _ = write!(page, "\n```text\n{calibration}```\n");
    let measured = measure(page);
    measured.and(process::run(&mut optiq(project, &["lab", "down", "--name", NAME])))
}

/// The whole command line of a measurement by `optiq bench`, but for the program.
pub fn bench<'a>(what: &'a str, arguments: &[&'a str], repetitions: &'a str) -> Vec<&'a str> {
    let mut all = [&["bench", what], arguments].concat();
    if !arguments.contains(&"--repetitions") {
        all.extend(["--repetitions", repetitions]);
    }
    all
}

fn section(page: &mut String, title: &str, launcher: &str, bench: &[&str], text: &str) {
    let _ = write!(page, "\n### {title}\n\n`{launcher}optiq {}`\n\n```text\n{text}```\n", bench.join(" "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_those_of_the_bench_or_of_the_page() {
        assert_eq!(
            bench("alltoallv", &["--message", "1B"], "9"),
            ["bench", "alltoallv", "--message", "1B", "--repetitions", "9"]
        );
        let own = bench("alltoallv", SMALL.1, "9");
        assert_eq!(own.iter().filter(|a| **a == "--repetitions").count(), 1);
        let mut page = String::new();
        section(&mut page, "Some", "mpirun -n 2 ", &["bench", "x"], "a table\n");
        assert_eq!(page, "\n### Some\n\n`mpirun -n 2 optiq bench x`\n\n```text\na table\n```\n");
    }
}
