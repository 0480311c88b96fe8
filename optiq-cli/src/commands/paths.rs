//! `optiq paths`.

use crate::arguments::{Demands, MESSAGE, Search, Topology};
use crate::failure::Failure;
use crate::output::Schema;
use crate::progress::Progress;
use crate::target::Target;
use crate::{names, output};
use clap::Args;
use optiq_net::{LinkId, Network, NodeId, units};
use optiq_solver::demands::{self, Demand};
use optiq_solver::{CandidateMethod, Candidates, candidates, legs, pipeline};
use optiq_view::table;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Find candidate paths for one pair of hosts, or for all pairs of a demand set or host list into a path file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq paths --topology torus:4x4 --from h0 --to '(2,3)' --k 8
  optiq paths --topology bgq:512 --demands pattern:disjoint --k 20 --output d.paths
  optiq paths --topology torus:4x4 --hosts '0-5,h9,(3,3)' --k 8 --output h.paths
  optiq plan --topology bgq:512 --demands pattern:disjoint --paths d.paths")]
pub struct Arguments {
    #[command(flatten)]
    topology: Topology,
    /// The source: a name, a number or coordinates
    #[arg(long, value_name = "A", requires = "to", required_unless_present_any = ["demands", "hosts"])]
    from: Option<String>,
    /// The destination
    #[arg(long, value_name = "B", requires = "from")]
    to: Option<String>,
    /// All pairs of these demands: pattern:NAME or file:PATH
    #[arg(long, value_name = "DEMANDS", conflicts_with_all = ["from", "to"])]
    demands: Option<String>,
    /// All pairs among these hosts, both ways: names, numbers, ranges of numbers such as 0-15 and coordinates in
    /// brackets, separated by commas; or all
    #[arg(long, value_name = "HOSTS", conflicts_with_all = ["from", "to", "demands"])]
    hosts: Option<String>,
    #[command(flatten)]
    search: Search,
    /// Write a path file, which `optiq plan --paths` reads, instead of listing the paths; - is standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct PathsDocument<'a> {
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
        let found = pipeline::candidates(&net, &demands, self.search.k.0.unwrap_or(pipeline::K), self.search.method)?;
        let candidates_seconds = start.elapsed().as_secs_f64();
        if let Some(target) = &target {
            progress.now("writing the path file");
            target.write(|mut out| candidates::file::write_to(&mut out, &net, &found))?;
        }
        drop(progress);
        let pairs = distinct(&demands);
        let mut document = PathsDocument::new(&net, &found, &pairs, candidates_seconds);
        document.output = target.map(|t| t.path().display().to_string());
        match (self.json, document.output.is_some()) {
            (true, written) => {
                document.candidates = (!written).then(|| listing(&net, &found, &demands, &pairs));
                output::print_json(Schema::Paths, &document)?;
            }
            (false, true) => output::print(&document.summary())?,
            (false, false) if self.demands.is_some() || self.hosts.is_some() => {
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
        if let Some(hosts) = &self.hosts {
            return all_pairs(net, hosts);
        }
        let (Some(from), Some(to)) = (&self.from, &self.to) else {
            return Err(Failure::Input("--from and --to, --demands or --hosts are expected".into()));
        };
        let (src, dst) = (names::host(net, from)?, names::host(net, to)?);
        if src == dst {
            let name = net.name(src);
            return Err(Failure::Input(format!("--from and --to are both {name}; two different hosts are expected")));
        }
        Ok(vec![Demand::new(src, dst, 1)])
    }
}

/// A demand of a byte for every ordered pair of the hosts that `text` lists.
fn all_pairs(net: &Network, text: &str) -> Result<Vec<Demand>, Failure> {
    let mut hosts: Vec<NodeId> = Vec::new();
    if text == "all" {
        hosts.extend((0..net.hosts() as u32).map(NodeId));
    } else {
        for word in words(text) {
            // A name comes before a range, as it does before a number.
            match (net.host(word), range(word)) {
                (None, Some((first, last))) => {
                    // Both ends exist, so that everything between them does, and is no more than there is.
                    let (first, last) = (names::host(net, first)?, names::host(net, last)?);
                    if first > last {
                        let why = format!("--hosts: {word} runs backwards; the smaller number is expected first");
                        return Err(Failure::Input(why));
                    }
                    hosts.extend((first.0..=last.0).map(NodeId));
                }
                _ => hosts.push(names::host(net, word)?),
            }
            if hosts.len() > demands::MAX_DEMANDS {
                return Err(Failure::Input(format!("--hosts lists more than {} hosts", demands::MAX_DEMANDS)));
            }
        }
    }
    hosts.sort_unstable();
    hosts.dedup();
    if hosts.len() < 2 {
        return Err(Failure::Input(format!(
            "--hosts lists {}; at least 2 are expected",
            table::count(hosts.len(), "host")
        )));
    }
    let pairs = hosts.len() * (hosts.len() - 1);
    if pairs > demands::MAX_DEMANDS {
        let (hosts, most) = (hosts.len(), demands::MAX_DEMANDS);
        return Err(Failure::Input(format!("--hosts: {hosts} hosts make {pairs} pairs; at most {most} are possible")));
    }
    let to_others = |&src: &NodeId| {
        let others = hosts.iter().filter(move |&&dst| dst != src);
        others.map(move |&dst| Demand::new(src, dst, 1)).collect::<Vec<_>>()
    };
    Ok(hosts.iter().flat_map(to_others).collect())
}

/// The words between commas; commas in brackets belong to coordinates.
fn words(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let separators = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(separators).map(str::trim).collect()
}

/// The two numbers of `0-15`.
fn range(word: &str) -> Option<(&str, &str)> {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    word.split_once('-').filter(|(first, last)| number(first) && number(last))
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

impl<'a> PathsDocument<'a> {
    fn new(net: &'a Network, found: &Candidates, pairs: &[usize], candidates_seconds: f64) -> Self {
        let per_pair = || pairs.iter().map(|&i| found.paths(i).len());
        let hops = || pairs.iter().flat_map(|&i| found.paths(i)).map(<[LinkId]>::len);
        let paths: usize = per_pair().sum();
        let mean = |sum: usize, of: usize| if of > 0 { sum as f64 / of as f64 } else { 0.0 };
        PathsDocument {
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
