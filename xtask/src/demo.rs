//! `cargo xtask demo`: from a bare machine to `MPI_Alltoallv` and `optiq_alltoallv` side by side on a real network.
//!
//! Planner `optimal` plans. The command is built without HiGHS, which only planner `lp` needs and which compiles for
//! minutes.

use crate::args::Args;
use crate::failure::{Failure, Outcome};
use crate::install::Needs;
use crate::mpi::Library;
use crate::process::{self, Project};
use crate::requirements::{BUILD, LAB, OPEN_MPI, namespaces_are_permitted};
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const HELP: &str = "\
cargo xtask demo [OPTIONS]

Installs what is missing, builds OPTIQ, plans an exchange on 1,024 nodes of a Blue Gene/Q, then brings up a lab (16
hosts on a 4x4 torus, made of network namespaces of this machine), runs the same exchange with MPI_Alltoallv and with
optiq_alltoallv, checks every byte, and prints the times. Pictures go to target/demo.

  --json             one JSON document on standard output, everything else on standard error
  --rate RATE        bandwidth of the lab's links (100Mbit/s)
  --repetitions N    runs of either kind, alternating (5)
  --no-lab           only plans, no lab
  --no-install       install nothing; if something is missing, name the packages and exit with status 2

Example:

  cargo xtask demo --rate 50Mbit/s";

/// What is planned for the large machine.
const PLAN: &[&str] = &["plan", "--topology", "bgq:1024", "--demands", "pattern:disjoint", "--message", "8MiB"];

struct Options {
    json: bool,
    rate: String,
    repetitions: u32,
    lab: bool,
    install: bool,
}

/// The planner that is shown. It needs no HiGHS, whose build takes minutes.
const PLANNER: &str = "optimal";
const FEATURES: [&str; 3] = ["--no-default-features", "--features", "mpi"];

pub fn main(arguments: &[String]) -> Outcome {
    let Some(mut args) = Args::new("demo", HELP, arguments) else { return Ok(()) };
    let mut options = Options { json: false, rate: "100Mbit/s".into(), repetitions: 5, lab: true, install: true };
    while let Some(flag) = args.next()? {
        match flag.as_str() {
            "--json" => options.json = args.switch(&flag)?,
            "--rate" => options.rate = args.value(&flag)?,
            "--repetitions" => options.repetitions = args.parsed(&flag, "a number above zero")?,
            "--no-lab" => options.lab = !args.switch(&flag)?,
            "--no-install" => options.install = !args.switch(&flag)?,
            _ => return Err(args.unknown(&flag)),
        }
    }
    if options.repetitions == 0 {
        return Err(Failure::Usage("demo --repetitions is \"0\", and a number above zero is expected".into()));
    }
    Demo::new(options)?.run()
}

/// A running demo.
struct Demo {
    project: Project,
    options: Options,
    output: PathBuf,
    start: Instant,
    /// The documents that the command printed, in order, with what they are.
    documents: Vec<(&'static str, String)>,
}

impl Demo {
    fn new(options: Options) -> Outcome<Self> {
        let project = Project::locate()?;
        let output = project.target().join("demo");
        fs::create_dir_all(&output)
            .map_err(|e| Failure::Failed(format!("{} cannot be made: {e}", output.display())))?;
        Ok(Demo { project, options, output, start: Instant::now(), documents: Vec::new() })
    }

    fn run(mut self) -> Outcome {
        let needs = Needs::default().required(OPEN_MPI).required(BUILD);
        let needs = if self.options.lab { needs.required(LAB) } else { needs };
        needs.meet(self.options.install)?;
        if self.options.lab && !namespaces_are_permitted() {
            eprintln!("xtask: this machine does not permit network namespaces, so there is no lab; plans only");
            self.options.lab = false;
        }
        self.show_all()?;
        self.close()
    }

    /// Builds the command, plans, and runs the lab where there is one.
    fn show_all(&mut self) -> Outcome {
        process::step("build optiq, without HiGHS", || {
            let what = ["--release", "--package", "optiq-cli"];
            process::run(
                self.project.cargo("build", [&what[..], &FEATURES].concat()).envs(Library::OpenMpi.environment()),
            )
        })?;
        let picture = self.output.join(format!("plan-{PLANNER}.html"));
        let mut plan = self.optiq(PLAN);
        plan.args(["--planner", PLANNER, "--html"]).arg(&picture);
        self.show("plans", &format!("plan with {PLANNER}"), plan)?;
        if self.options.lab {
            let mut lab = self.optiq(&["demo"]);
            lab.args(["--planner", PLANNER, "--rate", &self.options.rate]);
            lab.args(["--repetitions", &self.options.repetitions.to_string()]);
            lab.arg("--output").arg(self.output.join(format!("lab-{PLANNER}")));
            self.show("lab", &format!("run the lab with plans of {PLANNER}"), lab)?;
        }
        Ok(())
    }

    fn optiq(&self, arguments: &[&str]) -> Command {
        let mut command = self.project.command(self.project.program("optiq"));
        command.args(arguments);
        command
    }

    /// Runs the command, whose output is either shown or kept for the document.
    fn show(&mut self, kind: &'static str, title: &str, mut command: Command) -> Outcome {
        if !self.options.json {
            return process::step(title, || process::run(&mut command));
        }
        let text = process::step(title, || process::capture(command.arg("--json")))?;
        self.documents.push((kind, text));
        Ok(())
    }

    fn close(&self) -> Outcome {
        let total = self.start.elapsed().as_secs_f64();
        if self.options.json {
            println!("{}", document(&self.documents, total)?);
        }
        eprintln!("==> demo: {total:.0} s in all");
        for picture in pictures(&self.output) {
            eprintln!("    picture: {}", picture.display());
        }
        Ok(())
    }
}

/// `{"lab": [...], "plans": [...], "total_seconds": s}`, around the command's documents as they are.
fn document(documents: &[(&str, String)], total: f64) -> Outcome<String> {
    let broken = |e: serde_json::Error| Failure::Failed(format!("optiq printed no JSON document: {e}"));
    let of = |kind: &str| {
        let texts = documents.iter().filter(|(k, _)| *k == kind).map(|(_, text)| RawValue::from_string(text.clone()));
        to_raw_value(&texts.collect::<Result<Vec<_>, _>>()?)
    };
    let all = || {
        let seconds = to_raw_value(&((total * 10.0).round() / 10.0))?;
        serde_json::to_string(&BTreeMap::from([
            ("plans", of("plans")?),
            ("lab", of("lab")?),
            ("total_seconds", seconds),
        ]))
    };
    all().map_err(broken)
}

fn pictures(output: &Path) -> Vec<PathBuf> {
    let folder = glob::Pattern::escape(&output.to_string_lossy());
    let pattern = |end: &str| process::files(&format!("{folder}/{end}"));
    [pattern("*.html"), pattern("*/*.html")].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_holds_the_commands_documents_as_they_are() {
        let documents =
            [("plans", "{\"a\": 1}\n".to_string()), ("lab", "{}".into()), ("plans", "{\"b\":\n2}".to_string())];
        assert_eq!(
            document(&documents, 200.0).unwrap(),
            "{\"lab\":[{}],\"plans\":[{\"a\": 1},{\"b\":\n2}],\"total_seconds\":200.0}"
        );
        assert_eq!(document(&[], 0.04).unwrap(), "{\"lab\":[],\"plans\":[],\"total_seconds\":0.0}");
        let broken = document(&[("lab", "no".into())], 0.0).unwrap_err().to_string();
        assert!(broken.starts_with("optiq printed no JSON document"), "{broken}");
    }
}
