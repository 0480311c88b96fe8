//! `optiq reproduce`: what the thesis published, what comes out here, and whether that shows it again.
//!
//! A claim is an entry in [`CLAIMS`]: a function that fills a table ([`findings`]) whose rows carry verdicts. Published
//! numbers are data ([`published`]), so are the 91 cases ([`cases`]).

mod all_cases;
mod applications;
mod cases;
mod claims;
mod findings;
mod gains;
mod heuristics;
mod machine;
mod page;
mod program;
mod published;
mod scaling;
mod setting;
mod simulated;
mod table_vii;

use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::target::Target;
use claims::{CLAIMS, Claim, OF_CASES, SCALED};
use clap::Args;
use findings::Findings;
use optiq_solver::{PlannerOptions, planner};
use page::Circumstances;
use published::Published;
use serde::Serialize;
use setting::Setting;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The partitions of a Blue Gene/Q that the thesis used.
const PARTITIONS: [u32; 4] = [512, 1024, 2048, 4096];

/// The planner of the 91 cases unless another is asked for.
const PLANNER: &str = "optimal";

/// Show again what the thesis published: its value, ours, and the verdict
#[derive(Debug, Args)]
#[command(after_help = "\
The claims: O1 to O4 (Table VII: loads of MPI, the LP, heuristic 2, heuristic 1), O5 (its throughputs, simulated), O6 (Table
VI: gains in 91 cases, simulated), O7 to O11 (Figures 8 and 10, Table VIII, Figure 12, Table IX: by nodes, sizes, distance,
destinations, pairing, simulated), O12 and O13 (Figures 13 and 14: chunk and message sizes, simulated), O14 (Table X:
maxload), O15 (Tables XI, XIII, XIV: seconds), O16 (Table XII: candidate paths), O17 (solvers), O18 and O19 (CESM and HACC I/O,
simulated), and 91 (all 91 cases with one planner: gaps).

Examples:
  optiq reproduce O1
  optiq reproduce O1 O3 O4 --json
  optiq reproduce O3 --repetitions 1 --output results
  optiq reproduce 91 --nodes 512 --planner heu2

A claim that is not shown is no failure: the exit status is 0, and the verdict says what was seen. With --nodes a claim runs
on another partition than the published one, and its published numbers are shown but not judged by. O5 to O13, O15 to
O19 and 91 take minutes, O6 twenty. O6 to O11, O18 and O19 move fewer bytes in larger packets than published; their pages say
what that changes. With --scale and --packets they take others, and with more than their own nothing is judged.")]
pub struct Arguments {
    /// Claims, such as O1, or 91 for the 91 cases
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Run on a partition of 512, 1024, 2048 or 4096 nodes instead of the published one (91: 2048)
    #[arg(long, value_name = "NODES", allow_hyphen_values = true)]
    nodes: Option<u32>,
    /// Plans of which a time is the median, where one pattern is timed
    #[arg(long, value_name = "N", default_value_t = 5, allow_hyphen_values = true)]
    repetitions: usize,
    /// 91: the planner [default: optimal]
    #[arg(long, value_name = "NAME")]
    planner: Option<String>,
    /// 91, O6 and O15: take the cases from a file like data/thesis91.toml instead
    #[arg(long, value_name = "FILE")]
    cases: Option<PathBuf>,
    /// O5 to O11, O18, O19: divide all bytes by N instead of the claim's own divisor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    scale: Option<u64>,
    /// O5 to O11, O18, O19: packets N times as large as the machine's instead of the claim's own factor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    packets: Option<u64>,
    /// Write a page for each claim into a directory, such as docs/results
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The document. Its keys are a contract with scripts.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    circumstances: Circumstances,
    claims: Vec<ClaimDocument>,
}

#[derive(Serialize)]
struct ClaimDocument {
    id: &'static str,
    title: &'static str,
    statement: &'static str,
    shown_when: &'static str,
    command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<String>,
    #[serde(flatten)]
    findings: findings::Document,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let claims = claims(&self.ids)?;
        self.check(&claims)?;
        let cases = match &self.cases {
            Some(path) => cases::read(path)?,
            None => cases::built_in()?,
        };
        let published = Published::load()?;
        let pages = match &self.output {
            Some(directory) => pages(directory, &claims, self.nodes)?,
            None => Vec::new(),
        };
        let circumstances = Circumstances::now();
        let mut found = Vec::with_capacity(claims.len());
        for (i, claim) in claims.iter().enumerate() {
            let progress = Progress::start(format!("claim {}", claim.id));
            let (nodes, repetitions) = (self.nodes, self.repetitions);
            let (scale, packets) = (self.scale, self.packets);
            let (published, cases, progress_ref) = (&published, &cases[..], &progress);
            let setting = Setting { published, nodes, repetitions, scale, packets, cases, progress: progress_ref };
            let findings = (claim.run)(&setting, self.planner.as_deref().unwrap_or(PLANNER))?;
            drop(progress);
            let command = self.command(claim);
            if let Some(page) = pages.get(i) {
                page.write(claim, &findings, &command, &circumstances)?;
            }
            // What is known is said at once: the next claim may take minutes.
            let page = pages.get(i).map(|p| p.text.path().display().to_string());
            if !self.json {
                output::print(&text(claim, &findings, page.as_deref(), i > 0))?;
            }
            let Claim { id, title, statement, shown_when, .. } = **claim;
            found.push(ClaimDocument { id, title, statement, shown_when, command, page, findings: findings.json() });
        }
        if self.json {
            output::print_json(&Document { circumstances, claims: found })?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Everything that can be refused before work begins.
    fn check(&self, claims: &[&Claim]) -> Result<(), Failure> {
        let refuse = |sentence: String| Err(Failure::Input(sentence));
        if let Some(nodes) = self.nodes.filter(|n| !PARTITIONS.contains(n)) {
            return refuse(format!("--nodes is {nodes}; 512, 1024, 2048 or 4096 is expected"));
        }
        if self.repetitions == 0 {
            return refuse("--repetitions is 0; at least 1 is expected".into());
        }
        let any = |ids: &[&str]| claims.iter().any(|c| ids.contains(&c.id));
        if self.planner.is_some() && !any(&["91"]) {
            return refuse("--planner is given, but of the claims only 91 takes one".into());
        }
        if self.cases.is_some() && !any(&OF_CASES) {
            return refuse("--cases is given, but of the claims only 91, O6 and O15 take cases".into());
        }
        for (name, given) in [("--scale", self.scale), ("--packets", self.packets)] {
            if given.is_some() && !any(&SCALED) {
                return refuse(format!("{name} is given, but of the claims only {} can be scaled", SCALED.join(", ")));
            }
        }
        if let Some(name) = &self.planner {
            planner::by_name(name, &PlannerOptions::default())?;
        }
        Ok(())
    }

    /// The command that runs one claim as this one does.
    fn command(&self, claim: &Claim) -> String {
        let mut command = format!("optiq reproduce {}", claim.id);
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                command.push_str(&format!(" --{name} {value}"));
            }
        };
        add("nodes", self.nodes.map(|n| n.to_string()));
        add("repetitions", Some(self.repetitions).filter(|&n| n != 5).map(|n| n.to_string()));
        add("planner", self.planner.clone().filter(|_| claim.id == "91"));
        let scaled = SCALED.contains(&claim.id);
        add("scale", self.scale.filter(|_| scaled).map(|n| n.to_string()));
        add("packets", self.packets.filter(|_| scaled).map(|n| n.to_string()));
        let takes_cases = OF_CASES.contains(&claim.id);
        add("cases", self.cases.as_ref().filter(|_| takes_cases).map(|p| p.display().to_string()));
        command
    }
}

/// The claims of these names, each once, in their given order.
fn claims(ids: &[String]) -> Result<Vec<&'static Claim>, Failure> {
    let mut claims: Vec<&Claim> = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(claim) = CLAIMS.iter().find(|c| c.id.eq_ignore_ascii_case(id)) else {
            let known: Vec<&str> = CLAIMS.iter().map(|c| c.id).collect();
            return Err(Failure::Input(format!("there is no claim \"{id}\"; the claims are {}", known.join(", "))));
        };
        if !claims.iter().any(|c| c.id == claim.id) {
            claims.push(claim);
        }
    }
    Ok(claims)
}

/// A page's file, and its picture's beside it.
struct Page {
    text: Target,
    picture: Target,
}

impl Page {
    fn write(
        &self,
        claim: &Claim,
        findings: &Findings,
        command: &str,
        circumstances: &Circumstances,
    ) -> Result<(), Failure> {
        if let Some(chart) = &findings.chart {
            self.picture.write(|out| out.write_all(chart.svg().as_bytes()))?;
        }
        let name = self.picture.path().file_name().map(|name| name.to_string_lossy());
        let page = page::markdown(claim, findings, command, circumstances, name.as_deref());
        self.text.write(|out| out.write_all(page.as_bytes()))
    }
}

/// The pages' files: `o1.md`, `cases-91.md`; with `-512` and the like where the partition was chosen.
fn pages(directory: &Path, claims: &[&Claim], nodes: Option<u32>) -> Result<Vec<Page>, Failure> {
    fs::create_dir_all(directory)
        .map_err(|e| Failure::Input(format!("cannot make the directory {}: {e}", directory.display())))?;
    let page = |claim: &&Claim| {
        let name = if claim.id == "91" { "cases-91".to_owned() } else { claim.id.to_lowercase() };
        let nodes = nodes.map_or(String::new(), |n| format!("-{n}"));
        let target = |kind: &str| Target::new(&directory.join(format!("{name}{nodes}.{kind}")));
        Ok(Page { text: target("md")?, picture: target("svg")? })
    };
    claims.iter().map(page).collect()
}

fn text(claim: &Claim, findings: &Findings, page: Option<&str>, more: bool) -> String {
    let page = page.map_or(String::new(), |p| format!("written: {p}\n"));
    format!(
        "{}{}, {}\n{}\n\n{}\n{}: {}\n{page}",
        if more { "\n" } else { "" },
        claim.id,
        claim.title,
        claim.statement,
        findings.text(),
        claim.id,
        findings.verdict().sentence()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_have_names_of_their_own() {
        let ids: std::collections::BTreeSet<&str> = CLAIMS.iter().map(|c| c.id).collect();
        assert_eq!(ids.len(), CLAIMS.len());
        for id in SCALED.into_iter().chain(OF_CASES) {
            assert!(ids.contains(id), "{id}");
        }
        for id in ["O1", "O2", "O3", "O4", "O5", "O12", "O13", "O14", "O15", "O16", "O17", "91"] {
            assert!(ids.contains(id), "{id}");
        }
        let twice = claims(&["o2".into(), "O1".into(), "O2".into()]).unwrap();
        assert_eq!(twice.iter().map(|c| c.id).collect::<Vec<_>>(), ["O2", "O1"]);
    }

    #[test]
    fn an_unknown_claim_is_told_the_known_ones() {
        let Err(Failure::Input(sentence)) = claims(&["O99".into()]) else { panic!() };
        assert_eq!(
            sentence,
            "there is no claim \"O99\"; the claims are O1, O2, O3, O4, O5, O6, O7, O8, O9, O10, O11, O12, O13, O14, O15, O16, O17, O18, O19, 91"
        );
    }
}
