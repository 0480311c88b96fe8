//! `optiq paths`.

use crate::arguments::{Demands, MESSAGE, Search, Topology};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::target::Target;
use crate::{names, output, table};
use clap::Args;
use optiq_net::{LinkId, Network, units};
use optiq_solver::demands::Demand;
use optiq_solver::{CandidateMethod, Candidates, candidates, legs};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Find candidate paths for one pair of hosts, or for all pairs of a demand set into a path file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq paths --topology torus:4x4 --from h0 --to '(2,3)' --k 8
  optiq paths --topology bgq:512 --demands pattern:disjoint --k 20 --output d.paths
  optiq plan --topology bgq:512 --demands pattern:disjoint --paths d.paths")]
pub struct Arguments {
    #[command(flatten)]
    topology: Topology,
    /// The source: a name, a number or coordinates
    #[arg(long, value_name = "A", requires = "to", required_unless_present = "demands")]
    from: Option<String>,
    /// The destination
    #[arg(long, value_name = "B", requires = "from")]
    to: Option<String>,
    /// All pairs of these demands: pattern:NAME or file:PATH
    #[arg(long, value_name = "DEMANDS", conflicts_with_all = ["from", "to"])]
    demands: Option<String>,
    #[command(flatten)]
    search: Search,
    /// Write a path file, which `optiq plan --paths` reads, instead of listing the paths
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    topology: &'a str,
    network_fingerprint: String,
    k: usize,
    method: CandidateMethod,
    pairs: usize,
    paths: usize,
    paths_per_pair_max: usize,
    paths_per_pair_mean: f64,
    hops_max: usize,
    hops_mean: f64,
    candidates_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// Left out if the paths went to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    candidates: Option<Vec<PairDocument>>,
}

#[derive(Serialize)]
struct PairDocument {
    from: String,
    to: String,
    distance: u32,
    paths: Vec<PathDocument>,
}

#[derive(Serialize)]
struct PathDocument {
    hops: usize,
    nodes: Vec<String>,
    forwarders: Vec<String>,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let target = self.output.as_deref().map(Target::new).transpose()?;
        let progress = Progress::start("");
        let net = self.topology.load(&progress)?;
        let demands = self.pairs(&net, &progress)?;
        progress.now(format!("finding candidate paths for {}", table::count(demands.len(), "demand")));
        let start = Instant::now();
        let found = Candidates::generate(&net, &demands, self.search.k, self.search.method)?;
        let candidates_seconds = start.elapsed().as_secs_f64();
        if let Some(target) = &target {
            progress.now("writing the path file");
            target.write(|out| candidates::file::write_to(out, &net, &found))?;
        }
        drop(progress);
        let pairs = distinct(&demands);
        let mut document = Document::new(&net, &found, &pairs, candidates_seconds);
        document.output = target.map(|t| t.path().display().to_string());
        match (self.json, document.output.is_some()) {
            (true, written) => {
                document.candidates = (!written).then(|| listing(&net, &found, &demands, &pairs));
                output::print_json(&document)?;
            }
            (false, true) => output::print(&document.summary())?,
            (false, false) if self.demands.is_some() => {
                output::write(|mut out| candidates::file::write_to(&mut out, &net, &found))?;
            }
            (false, false) => output::print(&(text(&net, &found) + "\n" + &document.summary()))?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn pairs(&self, net: &Network, progress: &Progress) -> Result<Vec<Demand>, Failure> {
        if let Some(demands) = &self.demands {
            let message = units::parse_bytes(MESSAGE)?;
            return Demands { demands: demands.clone(), message }.load(net, progress);
        }
        let (Some(from), Some(to)) = (&self.from, &self.to) else {
            return Err(Failure::Input("--from and --to, or --demands, are expected".into()));
        };
        let (src, dst) = (names::host(net, from)?, names::host(net, to)?);
        if src == dst {
            let name = net.name(src);
            return Err(Failure::Input(format!("--from and --to are both {name}; two different hosts are expected")));
        }
        Ok(vec![Demand::new(src, dst, 1)])
    }
}

/// For each different pair, the first demand that has it.
fn distinct(demands: &[Demand]) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    (0..demands.len()).filter(|&i| seen.insert((demands[i].src, demands[i].dst))).collect()
}

fn forwarders(net: &Network, path: &[LinkId]) -> Vec<String> {
    let stops = legs::stops(net, path).unwrap_or_default();
    names::of(net, stops.get(1..stops.len().saturating_sub(1)).unwrap_or_default())
}

fn listing(net: &Network, found: &Candidates, demands: &[Demand], pairs: &[usize]) -> Vec<PairDocument> {
    let path = |links: &[LinkId]| PathDocument {
        hops: links.len(),
        nodes: names::along(net, links),
        forwarders: forwarders(net, links),
    };
    let pair = |&i: &usize| PairDocument {
        from: net.name(demands[i].src).to_owned(),
        to: net.name(demands[i].dst).to_owned(),
        distance: net.distance(demands[i].src, demands[i].dst),
        paths: found.paths(i).map(path).collect(),
    };
    pairs.iter().map(pair).collect()
}

fn text(net: &Network, found: &Candidates) -> String {
    let mut rows = vec![vec!["path".to_owned(), "hops".into(), "vertices; those in brackets forward".into()]];
    for (i, links) in found.paths(0).enumerate() {
        let stops = legs::stops(net, links).unwrap_or_default();
        rows.push(vec![(i + 1).to_string(), links.len().to_string(), names::line(net, links, &stops)]);
    }
    table::list(&rows)
}

impl<'a> Document<'a> {
    fn new(net: &'a Network, found: &Candidates, pairs: &[usize], candidates_seconds: f64) -> Self {
        let per_pair = || pairs.iter().map(|&i| found.paths(i).len());
        let hops = || pairs.iter().flat_map(|&i| found.paths(i)).map(<[LinkId]>::len);
        let paths: usize = per_pair().sum();
        let mean = |sum: usize, of: usize| if of > 0 { sum as f64 / of as f64 } else { 0.0 };
        Document {
            topology: net.spec(),
            network_fingerprint: net.fingerprint().to_string(),
            k: found.k(),
            method: found.method(),
            pairs: pairs.len(),
            paths,
            paths_per_pair_max: per_pair().max().unwrap_or(0),
            paths_per_pair_mean: mean(paths, pairs.len()),
            hops_max: hops().max().unwrap_or(0),
            hops_mean: mean(hops().sum(), paths),
            candidates_seconds,
            output: None,
            candidates: None,
        }
    }

    fn summary(&self) -> String {
        let to = self.output.as_ref().map_or_else(String::new, |file| format!(" -> {file}"));
        format!(
            "{} for {} ({} at most), {:.2} hops on average, {} at most; method {}, {}{to}\n",
            table::count(self.paths, "path"),
            table::count(self.pairs, "pair"),
            self.paths_per_pair_max,
            self.hops_mean,
            self.hops_max,
            self.method,
            table::seconds(self.candidates_seconds)
        )
    }
}
