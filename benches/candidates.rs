//! How long finding candidate paths takes, beside others: `cargo bench --bench candidates [-- --json]`.
//!
//! k = 50 loopless paths a pair, pairs of the thesis's pattern `disjoint`, all on the same pairs in turn in one run:
//!
//! - `bgq:512` and `bgq:2048`: what planners get (`diverse` is the default there), our Yen, Yen with every cell
//!   searched when it is made (the oracle of the solver's tests), Yen of the crate `pathfinding`, and the Yen of
//!   networkx and igraph on a few of the pairs (`candidates.py` makes a virtual environment with them below `target`;
//!   where that fails they are left out, with a sentence);
//! - other networks, for our two Yens alone: a larger torus, a graph without structure, a fat tree and a dragonfly,
//!   with what planners ask there: no longer than the diameter, and only paths that can be executed as legs.
//!
//! Making the network or graph and finding its diameter is done once and not timed; distances are, wherever they are
//! used. All but `diverse` claim to find k shortest paths, so their lengths are compared pair by pair with ours. The
//! few pairs are a little shorter on average than all ("links per path"), which favours those who get them.

mod common;
#[path = "../optiq-solver/tests/yen/reference.rs"]
mod reference;

use common::{Document, Subject, in_turn, table};
use optiq_net::{Geometry, LinkId, Network, NetworkBuilder, NodeId, Routing, random::SplitMix64};
use optiq_solver::candidates::yen::{Query, Yen};
use optiq_solver::{CandidateMethod, Candidates, Demand, demands, legs};
use reference::Eager;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

const K: usize = 50;
const DEMANDS: &str = "pattern:disjoint";
const MESSAGE: u64 = 8 << 20;
/// Networks on which all are compared, and the ones for our two Yens.
const COMPARED: [&str; 2] = ["bgq:512", "bgq:2048"];
const OTHERS: [&str; 4] = ["bgq:4096", "random", "fattree:brown1296", "dragonfly:p=4,a=8,h=4"];
/// The most pairs of a network that are used.
const PAIRS: usize = 256;
/// How many of the pairs those get who need tens or hundreds of milliseconds for one.
const FEW: usize = 32;
/// What the last column means.
const NOTE: &str = "Same lengths: pairs on which the 50 paths are as long as those of yen. The crate pathfinding takes \
    equally long paths before it has looked for all deviations, and misses some of the shortest; diverse looks for \
    paths through all ports, not for the shortest. Where planners can execute a few of the paths only (switches), \
    yen goes on until it has 50 or there are no more within the diameter.";
/// The script that sets up and runs the Python contenders.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/candidates.py");

#[derive(Serialize)]
struct Searches {
    demands: &'static str,
    k: usize,
    repetitions: usize,
    rows: Vec<Row>,
    /// Why a rival is missing.
    left_out: Option<String>,
}

/// One contender on one network.
#[derive(Serialize)]
struct Row {
    network: &'static str,
    contender: String,
    pairs: usize,
    ms_per_pair: f64,
    /// Time per pair over that of our Yen, and over that of what planners get by default, where that is another.
    times_yen: f64,
    times_default: Option<f64>,
    paths_per_pair: f64,
    links_per_path: f64,
    /// On how many pairs the paths' lengths are those of our Yen. `diverse` does not try.
    same_lengths: Option<usize>,
}

/// The lengths of the paths of every pair, ascending.
type Lengths = Vec<Vec<u32>>;

/// Somebody who finds paths: gives seconds per pair and the lengths.
struct Contender<'a> {
    name: String,
    /// Whether it claims that no other k paths are shorter.
    shortest: bool,
    /// It gets one pair in this many.
    step: usize,
    find: Box<dyn FnMut() -> Result<(f64, Lengths), String> + 'a>,
}

fn main() -> ExitCode {
    common::main("candidates", 3, measure)
}

fn measure(repetitions: usize) -> Result<Searches, String> {
    let (python, left_out) = match python() {
        Ok(python) => (Some(python), None),
        Err(why) => (None, Some(format!("networkx and igraph are left out: {why}"))),
    };
    let mut rows = Vec::new();
    for topology in COMPARED.into_iter().chain(OTHERS) {
        let net = if topology == "random" { random()? } else { Network::from_spec(topology).map_err(say)? };
        let pairs = pairs(&net)?;
        let diameter = net.diameter();
        let mut contenders = vec![yen(&net, &pairs, diameter), eager(&net, &pairs, diameter)];
        if COMPARED.contains(&topology) {
            contenders.extend([diverse(&net, &pairs), pathfinding(&net, &pairs)]);
            for library in ["networkx", "igraph"] {
                contenders.extend(python.iter().map(|python| external(&net, &pairs, python, library)));
            }
        }
        rows.extend(compare(topology, contenders, repetitions)?);
    }
    Ok(Searches { demands: DEMANDS, k: K, repetitions, rows, left_out })
}

/// The pattern's pairs, at most [`PAIRS`] of them, by destination: so that distances are found once for each.
fn pairs(net: &Network) -> Result<Vec<Demand>, String> {
    let all = demands::parse(DEMANDS, net, MESSAGE).map_err(say)?;
    let mut pairs: Vec<Demand> = all.iter().step_by(all.len().div_ceil(PAIRS)).copied().collect();
    pairs.sort_by_key(|d| (d.dst, d.src));
    Ok(pairs)
}

/// Every how many pairs there is one for those who get [`FEW`]: an odd number, as an even one would meet the same
/// coordinates again and again.
fn step(pairs: &[Demand]) -> usize {
    pairs.len().div_ceil(FEW) | 1
}

/// 2,048 hosts on the union of four random rings: some eight links each.
fn random() -> Result<Network, String> {
    const HOSTS: usize = 2048;
    let mut rng = SplitMix64::new(8);
    let mut builder = NetworkBuilder::new();
    let ends: Vec<_> = (0..HOSTS).map(|i| builder.host(format!("h{i}"))).collect();
    let mut joined = BTreeSet::new();
    for _ in 0..4 {
        let mut ring: Vec<usize> = (0..HOSTS).collect();
        for i in (1..HOSTS).rev() {
            ring.swap(i, rng.up_to(i as u64) as usize);
        }
        for i in 0..HOSTS {
            let (a, b) = (ring[i], ring[(i + 1) % HOSTS]);
            // Two that were neighbours on an earlier ring are joined once.
            if joined.insert((a.min(b), a.max(b))) {
                builder.duplex(ends[a], ends[b], 1, 2e9);
            }
        }
    }
    builder.build("random", Geometry::General, Routing::Shortest).map_err(say)
}

/// Times what one of ours does for all pairs: a search for a query, with distances found anew for each destination.
fn timed<'a>(
    net: &'a Network,
    pairs: &'a [Demand],
    max_hops: u32,
    mut paths: impl FnMut(Query, &dyn Fn(&[LinkId]) -> bool) -> Vec<Vec<LinkId>> + 'a,
) -> Box<dyn FnMut() -> Result<(f64, Lengths), String> + 'a> {
    let all = legs::every_path_has_legs(net);
    Box::new(move || {
        let executable = |path: &[LinkId]| all || legs::stops(net, path).is_some();
        let mut found = Vec::with_capacity(pairs.len());
        let mut towards: Option<(NodeId, Vec<u32>)> = None;
        let start = Instant::now();
        for &Demand { src, dst, .. } in pairs {
            let (_, distance) = match towards.take() {
                Some(known) if known.0 == dst => towards.insert(known),
                _ => towards.insert((dst, net.distances_to(dst))),
            };
            let rotation = src.0.wrapping_add(dst.0);
            found.push(paths(Query { src, dst, distance, k: K, max_hops, rotation }, &executable));
        }
        let seconds = start.elapsed().as_secs_f64() / pairs.len() as f64;
        Ok((seconds, found.iter().map(|paths| paths.iter().map(|p| p.len() as u32).collect()).collect()))
    })
}

fn yen<'a>(net: &'a Network, pairs: &'a [Demand], max_hops: u32) -> Contender<'a> {
    let mut ours = Yen::new(net);
    let find = timed(net, pairs, max_hops, move |query, accept| ours.paths(query, accept));
    Contender { name: "yen".into(), shortest: true, step: 1, find }
}

fn eager<'a>(net: &'a Network, pairs: &'a [Demand], max_hops: u32) -> Contender<'a> {
    let mut eager = Eager::new(net);
    let find = timed(net, pairs, max_hops, move |query, accept| eager.paths(query, accept));
    Contender { name: "yen, searches not postponed".into(), shortest: true, step: 1, find }
}

/// What planners get by default where hosts are joined directly, whole: search, own routes, storing.
fn diverse<'a>(net: &'a Network, pairs: &'a [Demand]) -> Contender<'a> {
    let find = move || {
        let start = Instant::now();
        let found = Candidates::generate(net, pairs, K, CandidateMethod::Diverse).map_err(say)?;
        let seconds = start.elapsed().as_secs_f64() / pairs.len() as f64;
        let lengths = |d| found.paths(d).map(|p| p.len() as u32).collect();
        Ok((seconds, (0..pairs.len()).map(lengths).collect()))
    };
    Contender { name: "diverse".into(), shortest: false, step: 1, find: Box::new(find) }
}

fn pathfinding<'a>(net: &'a Network, pairs: &'a [Demand]) -> Contender<'a> {
    let find = move || {
        let successors = |v: &u32| net.neighbours(NodeId(*v)).map(|w| (w.0, 1)).collect::<Vec<(u32, u32)>>();
        let start = Instant::now();
        let search = |d: &Demand| pathfinding::prelude::yen(&d.src.0, successors, |v| *v == d.dst.0, K);
        let found: Vec<_> = pairs.iter().map(search).collect();
        let seconds = start.elapsed().as_secs_f64() / pairs.len() as f64;
        Ok((seconds, found.iter().map(|paths| paths.iter().map(|(_, hops)| *hops).collect()).collect()))
    };
    Contender { name: "crate pathfinding".into(), shortest: true, step: 1, find: Box::new(find) }
}

/// The Python that has the pinned libraries.
fn python() -> Result<String, String> {
    let mut setup = Command::new("python3");
    setup.args([SCRIPT, "setup", concat!(env!("CARGO_TARGET_TMPDIR"), "/candidates-venv")]);
    let output = setup.stderr(Stdio::inherit()).output().map_err(|e| format!("python3 does not start: {e}"))?;
    if !output.status.success() {
        return Err(format!("making the virtual environment ended with {}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A library that `candidates.py` measures.
fn external<'a>(net: &Network, pairs: &[Demand], python: &'a str, library: &'static str) -> Contender<'a> {
    #[derive(Serialize)]
    struct Case {
        vertices: usize,
        links: Vec<(u32, u32)>,
        pairs: Vec<(u32, u32)>,
        k: usize,
    }
    #[derive(Deserialize)]
    struct Answer {
        seconds_per_pair: f64,
        lengths: Lengths,
    }
    let links = net.links().iter().map(|l| (l.from.0, l.to.0)).collect();
    let step = step(pairs);
    let pairs = pairs.iter().step_by(step).map(|d| (d.src.0, d.dst.0)).collect();
    let case = serde_json::to_vec(&Case { vertices: net.vertices(), links, pairs, k: K });
    let find = move || {
        let case = case.as_ref().map_err(say)?;
        let mut script = Command::new(python);
        script.args([SCRIPT, library]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = script.spawn().map_err(|e| format!("{python} does not start: {e}"))?;
        // The script reads all of its input before it writes; dropping the pipe ends the input.
        child.stdin.take().map_or(Ok(()), |mut input| input.write_all(case)).map_err(say)?;
        let output = child.wait_with_output().map_err(say)?;
        if !output.status.success() {
            return Err(format!("candidates.py {library} ended with {}", output.status));
        }
        let answer: Answer = serde_json::from_slice(&output.stdout).map_err(say)?;
        Ok((answer.seconds_per_pair, answer.lengths))
    };
    Contender { name: library.into(), shortest: true, step, find: Box::new(find) }
}

/// All contenders in turn on one network; the first one is our Yen.
fn compare(network: &'static str, mut contenders: Vec<Contender>, repetitions: usize) -> Result<Vec<Row>, String> {
    let mut found: Vec<Lengths> = vec![Lengths::new(); contenders.len()];
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for (contender, found) in contenders.iter_mut().zip(&mut found) {
        let find = &mut contender.find;
        subjects.push(Box::new(move || {
            let (seconds, lengths) = find()?;
            *found = lengths;
            Ok(seconds)
        }));
    }
    let seconds = in_turn(repetitions, &mut subjects)?;
    drop(subjects);
    let default = contenders.iter().position(|c| c.name == "diverse").map(|i| seconds[i]);
    let row = |((contender, lengths), took): ((&Contender, &Lengths), &f64)| {
        let pairs = lengths.len();
        let same = found[0].iter().step_by(contender.step).zip(lengths).filter(|(a, b)| a == b).count();
        let paths = lengths.iter().map(Vec::len).sum::<usize>() as f64;
        let links: u32 = lengths.iter().flatten().sum();
        Row {
            network,
            contender: contender.name.clone(),
            pairs,
            ms_per_pair: took * 1e3,
            times_yen: took / seconds[0],
            times_default: default.map(|default| took / default),
            paths_per_pair: paths / pairs as f64,
            links_per_path: f64::from(links) / paths,
            same_lengths: contender.shortest.then_some(same),
        }
    };
    Ok(contenders.iter().zip(&found).zip(&seconds).map(row).collect())
}

fn say(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Document for Searches {
    fn text(&self) -> String {
        let heads = [
            "network",
            "candidates",
            "pairs",
            "ms per pair",
            "times yen",
            "times diverse",
            "paths per pair",
            "links per path",
            "same lengths as yen",
        ];
        let rows: Vec<Vec<String>> = self.rows.iter().map(Row::cells).collect();
        let left_out = self.left_out.iter().map(|why| format!("\n{why}\n")).collect::<String>();
        format!(
            "{}, k = {}, loopless paths; medians of {} repetitions\n\n{}\n{NOTE}\n{left_out}",
            self.demands,
            self.k,
            self.repetitions,
            table(2, &heads, &rows),
        )
    }
}

impl Row {
    fn cells(&self) -> Vec<String> {
        vec![
            self.network.into(),
            self.contender.clone(),
            self.pairs.to_string(),
            format!("{:.4}", self.ms_per_pair),
            format!("{:.2}", self.times_yen),
            self.times_default.map_or("-".into(), |times| format!("{times:.2}")),
            format!("{:.1}", self.paths_per_pair),
            format!("{:.2}", self.links_per_path),
            self.same_lengths.map_or("-".into(), |same| format!("{same} of {}", self.pairs)),
        ]
    }
}
