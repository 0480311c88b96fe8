//! `optiq reproduce`: what was published, what comes out here, and whether that shows it again. The work is in `optiq-studies`.

use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use crate::target::Target;
use clap::Args;
use optiq_solver::planner::PlannerName;
use optiq_studies::circumstances::Circumstances;
use optiq_studies::claim_runs::{ClaimOptions, ClaimRuns, REPETITIONS};
use optiq_studies::claims::list::Claim;
use optiq_studies::document::{DATA, StudyDocument};
use optiq_studies::findings::{Findings, FindingsByKey};
use optiq_studies::progress::Progress as StudyProgress;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show again what was published: its value, ours, and the verdict
#[derive(Debug, Args)]
#[command(after_help = "\
The claims: O1 to O4 (Table VII: loads of MPI, the LP, heuristic 2, heuristic 1), O5 (its throughputs, simulated), O6 (Table
VI: gains in 91 cases, simulated), O7 to O11 (Figures 8 and 10, Table VIII, Figure 12, Table IX: by nodes, sizes, distance,
destinations, pairing, simulated), O12 and O13 (Figures 13 and 14: chunk and message sizes, simulated), O14 (Table X:
maxload), O15 (Tables XI, XIII, XIV: seconds), O16 (Table XII: candidate paths), O17 (solvers), O18 and O19 (CESM and HACC I/O,
simulated), O20 (Table IV in C), O21 (priorities, in a lab of 16 hosts as well, several solutions, time at scale), 91 (all 91 cases with one planner: gaps). Of Brown, the profiler under Open MPI and traffic on fat trees that OpenSM routes in ibsim: B1
(counts), B2 (costs), B3 (memory), B4 (levels), B5 (bytes on links), B6 (the picture, in a browser), B7 (samplesort on two node sets), B8 (one rail of two); and, of MPI and I/O on one fat tree (Brown, chapters 5 and 6, simulated),
B9 (small requests under large messages), B10 and B11 (the threshold of I/O congestion, and beyond), B12 and B13 (MPI under
I/O), B14 (adaptive routing), B15 (sizes of jobs), B16 and B17 (placements of jobs, of servers) and B18 (a throttle). Of Kang et
al., jobs on a Dragonfly+ of 3,456 hosts, simulated: K1 (structure), K2 and K3 (uniform random alone and beside a background), K4
(stencil and tornado by placement), K5 (tornado beside a background), K6 and K7 (broadcast: latency and rate), K8 (adaptive
routing). Of Yoga and Chabbi, paths of marked packets on a simulated dragonfly of 5,586 hosts: Y1 (whole paths), Y2 (NCAST), Y3 (lines of
programs), Y4 (overhead), Y5 (buffers). Of Casas and Bronevetsky, probes of one switch of 18 hosts, simulated, and C1 and C2 in a lab of 16: C1 (what probes see
and cost), C2 (the load of CompressionB), C3 (utilisation from latency), C4 (predictors of slowdowns), C5 (training sets), C6 (the cost of training).

Examples:
  optiq reproduce O1
  optiq reproduce O1 O3 O4 --json
  optiq reproduce O3 --repetitions 1 --output results
  optiq reproduce 91 --nodes 512 --planner heu2
  optiq reproduce K1

A claim that is not shown is no failure: the exit status is 0, and the verdict says what was seen. With --nodes a claim runs
on another partition than the published one, and its published numbers are shown but not judged by. O5 to O13, O15 to
O19, O21, 91, B1 to B18, K2 to K8, C1, C2, C4, C5 and Y1 to Y5 take minutes, O6 an hour. O6 to O11, O14, O18 and O19 move fewer bytes in larger packets than published; their pages say
what that changes. With --scale and --packets they take others, and with more than their own nothing is judged.")]
pub struct Arguments {
    /// Claims, such as O1, or 91 for the 91 cases
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Run on a partition of 512, 1024, 2048 or 4096 nodes instead of the published one (91: 2048)
    #[arg(long, value_name = "NODES", allow_hyphen_values = true)]
    nodes: Option<u32>,
    /// Plans of which a time is the median, where one pattern is timed
    #[arg(long, value_name = "N", default_value_t = REPETITIONS, allow_hyphen_values = true)]
    repetitions: usize,
    /// 91: the planner [default: optimal]
    #[arg(long, value_name = "NAME")]
    planner: Option<PlannerName>,
    /// 91, O6 and O15: take the cases from a file like data/thesis91.toml instead; - is standard input
    #[arg(long, value_name = "FILE")]
    cases: Option<PathBuf>,
    /// O5 to O11, O14, O18, O19, O21: divide all bytes by N instead of the claim's own divisor; K2 to K5, K8: numbers of messages by N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    scale: Option<u64>,
    /// O5 to O11, O14, O18, O19, O21: packets N times as large as the machine's instead of the claim's own factor; K2 to K5: N times the
    /// claim's own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    packets: Option<u64>,
    /// Write a page for each claim into a directory, such as results, and its document into data below that
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The document. Its keys are a contract with scripts.
#[derive(Serialize)]
struct ReproduceDocument {
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
    findings: FindingsByKey,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let Arguments { ids, nodes, repetitions, planner, cases, scale, packets, output: directory, json } = self;
        let runs = ClaimRuns::new(&ids, ClaimOptions { nodes, repetitions, planner, cases, scale, packets })?;
        let pages = match &directory {
            Some(directory) => pages(directory, &runs)?,
            None => Vec::new(),
        };
        let circumstances = Circumstances::now();
        let mut found = Vec::with_capacity(runs.claims().len());
        for (i, claim) in runs.claims().iter().enumerate() {
            let progress = Progress::start(format!("claim {}", claim.id));
            let findings = runs.run(claim, &StudyProgress::new(&|doing| progress.now(doing)))?;
            drop(progress);
            if let Some(page) = pages.get(i) {
                page.write(&runs.document(claim, findings.clone(), &circumstances))?;
            }
            // What is known is said at once: the next claim may take minutes.
            let page = pages.get(i).map(|p| p.text.path().display().to_string());
            if !json {
                output::print(&text(claim, &findings, page.as_deref(), i > 0))?;
            }
            let Claim { id, title, statement, shown_when, .. } = **claim;
            let (command, findings) = (runs.command(claim), findings.by_key());
            found.push(ClaimDocument { id, title, statement, shown_when, command, page, findings });
        }
        if json {
            output::print_json(Schema::Reproduce, &ReproduceDocument { circumstances, claims: found })?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A page's file, its picture's beside it, and its document's.
struct PageTargets {
    text: Target,
    picture: Target,
    data: Target,
}

impl PageTargets {
    fn write(&self, document: &StudyDocument) -> Result<(), Failure> {
        for file in document.files()? {
            let target = match file.path.extension().and_then(|e| e.to_str()) {
                Some("json") => &self.data,
                Some("svg") => &self.picture,
                _ => &self.text,
            };
            target.write(|out| out.write_all(file.text.as_bytes()))?;
        }
        Ok(())
    }
}

/// The files of all claims, in their order.
fn pages(directory: &Path, runs: &ClaimRuns) -> Result<Vec<PageTargets>, Failure> {
    let data = directory.join(DATA);
    fs::create_dir_all(directory)
        .map_err(|e| Failure::Input(format!("cannot make the directory {}: {e}", directory.display())))?;
    fs::create_dir_all(&data)
        .map_err(|e| Failure::Input(format!("cannot make the directory {}: {e}", data.display())))?;
    let page = |claim: &&'static Claim| {
        let name = runs.file_name(claim);
        let target = |folder: &Path, kind: &str| Target::new(&folder.join(format!("{name}.{kind}")));
        Ok(PageTargets {
            text: target(directory, "md")?,
            picture: target(directory, "svg")?,
            data: target(&data, "json")?,
        })
    };
    runs.claims().iter().map(page).collect()
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
