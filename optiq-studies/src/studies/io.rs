//! `docs/results/io.md`: collective file access in labs, as HACC writes its checkpoints (thesis 6.5.3).

use crate::failure::Outcome;
use crate::lab_page::{self, NAME, RATE};
use crate::mpi::Library;
use crate::process::{self, Project};
use std::fmt::Write;

const TOPOLOGY: &str = "torus:4x4,io=0+10";

/// A run of `optiq bench io`: Open MPI's component for files, the budget, and arguments.
struct Bench {
    title: &'static str,
    /// In the lab; 16 ranks of this machine without one.
    ranks_per_host: Option<&'static str>,
    component: &'static str,
    budget: Option<&'static str>,
    arguments: &'static [&'static str],
}

const BENCHES: [Bench; 7] = [
    Bench {
        title: "8 ranks on each host, ROMIO",
        ranks_per_host: Some("8"),
        component: "romio321",
        budget: None,
        arguments: &[],
    },
    Bench {
        title: "8 ranks on each host, ROMIO, three rounds",
        ranks_per_host: Some("8"),
        component: "romio321",
        budget: Some("32MiB"),
        arguments: &[],
    },
    Bench {
        title: "8 ranks on each host, OMPIO",
        ranks_per_host: Some("8"),
        component: "ompio",
        budget: None,
        arguments: &[],
    },
    Bench {
        title: "1 rank on each host, ROMIO",
        ranks_per_host: Some("1"),
        component: "romio321",
        budget: None,
        arguments: &["--least", "5600KB", "--most", "6400KB"],
    },
    Bench {
        title: "1 rank on each host, OMPIO",
        ranks_per_host: Some("1"),
        component: "ompio",
        budget: None,
        arguments: &["--least", "5600KB", "--most", "6400KB"],
    },
    Bench {
        title: "1 rank on each host, ROMIO, three rounds",
        ranks_per_host: Some("1"),
        component: "romio321",
        budget: Some("32MiB"),
        arguments: &["--least", "5600KB", "--most", "6400KB"],
    },
    Bench {
        title: "4 GB through 64 MiB, on one machine without a lab, ROMIO",
        ranks_per_host: None,
        component: "romio321",
        budget: None,
        arguments: &["--least", "268435456B", "--most", "268435456B", "--repetitions", "1", "--files-only", "--force"],
    },
];

/// Measures for about a quarter of an hour; returns the page.
pub fn page(project: &Project, about: &str, repetitions: u32) -> Outcome<String> {
    let repetitions = repetitions.to_string();
    let mut page = format!(
        "# Collective file access in a lab\n\n{about}\n\
         A lab `{TOPOLOGY}` with links of {RATE}, and `optiq bench io` in it, with the sizes of the thesis's HACC benchmark: \
         about 96 MB in all. All ways of writing run in turn in one job, medians of {repetitions} repetitions, or as many as \
         the command says; every byte of every file is read back after the first run and after the last. The bound is the \
         time that the most loaded link needs. ROMIO and OMPIO are the two components for files of Open MPI; ROMIO has hints \
         to aggregate at the I/O hosts.\n"
    );
    lab_page::in_lab(project, TOPOLOGY, &mut page, |page| {
        BENCHES.iter().try_for_each(|bench| {
            let text = bench.run(project, &repetitions)?;
            bench.section(page, &repetitions, &text);
            Ok(())
        })
    })?;
    Ok(page)
}

impl Bench {
    fn environment(&self) -> Vec<(&'static str, &'static str)> {
        let budget = self.budget.map(|b| ("OPTIQ_IO_BUDGET", b));
        let alone = self.ranks_per_host.is_none();
        let network = alone.then_some([("OPTIQ_TOPOLOGY", TOPOLOGY), ("OPTIQ_PLACEMENT", "rank")]);
        let component = ("OMPI_MCA_io", self.component);
        [component].into_iter().chain(budget).chain(network.into_iter().flatten()).collect()
    }

    fn bench<'a>(&self, repetitions: &'a str) -> Vec<&'a str> {
        lab_page::bench("io", self.arguments, repetitions)
    }

    fn run(&self, project: &Project, repetitions: &str) -> Outcome<String> {
        let program = project.program("optiq");
        let mut command = match self.ranks_per_host {
            Some(ranks) => {
                let mut command = project.command(&program);
                command.args(["lab", "run", "--name", NAME, "--timeout", "3600", "--ranks-per-host", ranks]);
                for (name, value) in self.environment() {
                    command.env(name, value).args(["--mpirun-argument=-x", &format!("--mpirun-argument={name}")]);
                }
                command.arg("--");
                command
            }
            None => {
                let mut command = project.command("mpirun");
                command.envs(Library::OpenMpi.environment()).envs(self.environment()).args(["-n", "16"]);
                command
            }
        };
        process::capture(command.arg(program).args(self.bench(repetitions)))
    }

    fn section(&self, page: &mut String, repetitions: &str, text: &str) {
        let set: String = self.environment().iter().map(|(name, value)| format!("{name}={value} ")).collect();
        let (title, bench) = (self.title, self.bench(repetitions).join(" "));
        let _ = write!(page, "\n## {title}\n\n`{set}optiq {bench}`\n\n```text\n{text}```\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_says_how_it_was_made() {
        let mut page = String::new();
        BENCHES[1].section(&mut page, "5", "a table\n");
        assert_eq!(
            page,
            "\n## 8 ranks on each host, ROMIO, three rounds\n\n`OMPI_MCA_io=romio321 OPTIQ_IO_BUDGET=32MiB optiq bench io \
             --repetitions 5`\n\n```text\na table\n```\n"
        );
        assert!(BENCHES[6].bench("5").ends_with(&["--repetitions", "1", "--files-only", "--force"]));
    }
}
