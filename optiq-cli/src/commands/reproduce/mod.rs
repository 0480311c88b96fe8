//! `optiq reproduce`: what the thesis published, what comes out here, and whether that shows it again.
//!
//! A claim is an entry in [`CLAIMS`]: a function that fills a table ([`findings`]) whose rows carry verdicts. Published
//! numbers are data ([`published`]), so are the 91 cases ([`cases`]).

mod all_cases;
mod cases;
mod findings;
mod heuristics;
mod page;
mod program;
mod published;
mod setting;
mod simulated;
mod table_vii;

use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::target::Target;
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
The claims: O1 to O4 (Table VII: loads of MPI, the LP, heuristic 2, heuristic 1), O5 (its throughputs, simulated), O12 and O13
(Figures 13 and 14: chunk and message sizes, simulated), O14 (Table X: maxload), O15 (Tables XI,
XIII, XIV: seconds), O16 (Table XII: candidate paths), O17 (solvers), and 91 (all 91 cases with one planner: gaps).

Examples:
  optiq reproduce O1
  optiq reproduce O1 O3 O4 --json
  optiq reproduce O3 --repetitions 1 --output results
  optiq reproduce 91 --nodes 512 --planner heu2

A claim that is not shown is no failure: the exit status is 0, and the verdict says what was seen. With --nodes a claim runs
on another partition than the published one, and its published numbers are shown but not judged by. O5, O12, O13, O15 to
O17 and 91 take minutes.")]
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
    /// 91 and O15: take the cases from a file like data/thesis91.toml instead
    #[arg(long, value_name = "FILE")]
    cases: Option<PathBuf>,
    /// Write a page for each claim into a directory, such as docs/results
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Something that was published.
pub struct Claim {
    pub id: &'static str,
    pub title: &'static str,
    /// What was published, a sentence.
    pub statement: &'static str,
    /// By what it is judged.
    pub shown_when: &'static str,
    run: fn(&Setting, &str) -> Result<Findings, Failure>,
}

/// All claims that can be run; the names are those of the project's list of claims.
const CLAIMS: &[Claim] = &[
    Claim {
        id: "O1",
        title: "Table VII, what MPI puts on the links",
        statement: "At 1,024 nodes and in all three patterns, MPI_Alltoallv has 512 paths, at most 16 of them on a link, and \
                    134.21 MB on the worst link.",
        shown_when: "equal under the default routing; paths per link, mean, within 5 %",
        run: |setting, _| table_vii::mpi(setting),
    },
    Claim {
        id: "O2",
        title: "Table VII, optimization",
        statement: "At 1,024 nodes the plans of the LP have 18.28, 16.97 and 17.10 MB on the worst link.",
        shown_when: "ours no more, with the bound over all routings beside it",
        run: |setting, _| table_vii::optimization(setting),
    },
    Claim {
        id: "O3",
        title: "Table VII, heuristic 2",
        statement: "At 1,024 nodes the plans of heuristic 2 have 24.31, 22.21 and 21.75 MB on the worst link.",
        shown_when: "ours no more",
        run: |setting, _| table_vii::heuristic2(setting),
    },
    Claim {
        id: "O4",
        title: "Table VII, heuristic 1",
        statement: "At 1,024 nodes the plans of heuristic 1 with maxload 16 have 63.04, 38.66 and 45.08 MB on the worst link.",
        shown_when: "ours no more",
        run: |setting, _| table_vii::heuristic1(setting),
    },
    Claim {
        id: "O5",
        title: "Table VII, throughputs",
        statement: "At 1,024 nodes and in all three patterns the LP's plans move the bytes fastest, then those of heuristic 2, then \
                    those of heuristic 1, and MPI_Alltoallv slowest.",
        shown_when: "the same order in the simulator, with each one's share of its own link bound beside it",
        run: |setting, _| simulated::throughputs(setting),
    },
    Claim {
        id: "O12",
        title: "Figure 13, chunk sizes",
        statement: "At 512 nodes in pattern subset messages below 16 KB are best sent whole, those of 32 KB in chunks of 16 KB, of 64 \
                    and 128 KB in 32 KB, larger ones in 64 KB.",
        shown_when: "in the simulator our automatic chunk is within 5 % of the best fixed one at every message size",
        run: |setting, _| simulated::chunks(setting),
    },
    Claim {
        id: "O13",
        title: "Figure 14, message sizes",
        statement: "At 512 nodes MPI_Alltoallv is faster than planned paths below 512 KB, and slower above.",
        shown_when: "in the simulator ours is never below 0.97 of MPI, and planned paths are faster from 128 KB on at the latest",
        run: |setting, _| simulated::sizes(setting),
    },
    Claim {
        id: "O14",
        title: "Table X, heuristic 1 by maxload",
        statement: "Heuristic 1 is best at a maxload of 8 to 16.",
        shown_when: "our worst link is lightest there",
        run: |setting, _| heuristics::maxload(setting),
    },
    Claim {
        id: "O15",
        title: "Tables XI, XIII and XIV, how long planning takes",
        statement: "Heuristic 1 searches for about 2 s at 1,024 nodes; at 2,048 nodes heuristic 2 takes 8 to 100 s, and the \
                    optimization 308 to 1,157 s, 54,306 s for 91 cases.",
        shown_when: "ours at least 20, 20 and 500 times faster",
        run: |setting, _| heuristics::times(setting),
    },
    Claim {
        id: "O16",
        title: "Table XII, the LP by the number of shortest paths",
        statement: "At 2,048 nodes the throughput of the LP's plans rises with k = 4, 16, 32, 50 shortest paths for each pair.",
        shown_when: "the worst link's load falls with k, and 10 of our candidates reach what 50 shortest paths cannot",
        run: |setting, _| program::by_k(setting),
    },
    Claim {
        id: "O17",
        title: "Tables XIII and XIV, solvers compared",
        statement: "Two solvers give comparable plans of the same program.",
        shown_when: "the worst links of HiGHS's interior-point method, of its first-order method and of our own are within 1 %",
        run: |setting, _| program::by_solver(setting),
    },
    Claim {
        id: "91",
        title: "the 91 cases",
        statement: "91 experiments in three patterns were made on each partition (thesis 6.4.4.1); data/thesis91.toml says how \
                    they are put together here.",
        shown_when: "each plan proves a gap of at most 1 % over all routings",
        run: all_cases::run,
    },
];

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
            let setting = Setting { published: &published, nodes, repetitions, cases: &cases, progress: &progress };
            let findings = (claim.run)(&setting, self.planner.as_deref().unwrap_or(PLANNER))?;
            drop(progress);
            let command = self.command(claim);
            if let Some(target) = pages.get(i) {
                let page = page::markdown(claim, &findings, &command, &circumstances);
                target.write(|out| out.write_all(page.as_bytes()))?;
            }
            // What is known is said at once: the next claim may take minutes.
            let page = pages.get(i).map(|t| t.path().display().to_string());
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
        if self.cases.is_some() && !any(&["91", "O15"]) {
            return refuse("--cases is given, but of the claims only 91 and O15 take cases".into());
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
        let takes_cases = ["91", "O15"].contains(&claim.id);
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

/// The pages' files: `o1.md`, `cases-91.md`; with `-512` and the like where the partition was chosen.
fn pages(directory: &Path, claims: &[&Claim], nodes: Option<u32>) -> Result<Vec<Target>, Failure> {
    fs::create_dir_all(directory)
        .map_err(|e| Failure::Input(format!("cannot make the directory {}: {e}", directory.display())))?;
    let page = |claim: &&Claim| {
        let name = if claim.id == "91" { "cases-91".to_owned() } else { claim.id.to_lowercase() };
        let nodes = nodes.map_or(String::new(), |n| format!("-{n}"));
        Target::new(&directory.join(format!("{name}{nodes}.md")))
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
            "there is no claim \"O99\"; the claims are O1, O2, O3, O4, O5, O12, O13, O14, O15, O16, O17, 91"
        );
    }
}
