//! How long planning takes, and how good the plans are: `cargo bench --bench planning [-- --json]`.
//!
//! Three Blue Gene/Q shapes with the thesis's pattern `disjoint` (64 sources with 8 destinations each at 1,024 nodes,
//! 8 MiB a pair, k = 50):
//!
//! - candidate paths: [`CandidateMethod::Yen`] and [`CandidateMethod::Diverse`] for all pairs (`benches/candidates.rs`
//!   has other people's beside them);
//! - planners: heuristics 1 and 2 and the linear program, all on the same diverse candidates. The linear program is
//!   left out at 2,048 nodes, and where HiGHS is not built.
//!
//! - a whole plan stage by stage: 512 nodes with 8 random destinations each on average, the plan that one call of
//!   `optiq_alltoallv` waits for. "Rest" is the cutting into legs, checks, bound and report.
//!
//! - the bounds that cuts prove ([`bound::lower_bound`]), on networks of all kinds, and what sets them.
//!
//! - plans where hosts are the adapters of nodes, 8 nodes of 8, one adapter of each sending twice as much: the planner `optimal` proper, which finds a
//!   closed form, and the whole plan. Issue 22 asks for 1 ms.
//!
//! The thesis's search times stand beside ours for orientation; they are of other machines, networks of other sizes
//! in part, and other solvers.

mod common;

use common::{Document, Subject, in_turn, table};
use optiq_net::{Network, NodeId};
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::{
    CandidateMethod, Candidates, Demand, PlannerName, PlannerOptions, Problem, bound, demands, planner,
};
use serde::Serialize;
use std::process::ExitCode;
use std::time::Instant;

const TOPOLOGIES: [&str; 3] = ["bgq:512", "bgq:1024", "bgq:2048"];
const DEMANDS: &str = "pattern:disjoint";
const MESSAGE: u64 = 8 << 20;
const K: usize = 50;
/// The largest network, in nodes, that the linear program is measured on.
const LP_NODES: usize = 1024;

/// The plan that is timed stage by stage.
const ONLINE: (&str, &str) = ("bgq:512", "pattern:random,count=4096");

/// What bounds are timed on.
const BOUNDS: [(&str, &str); 13] = [
    ("bgq:4096", "pattern:disjoint"),
    ("bgq:4096", "pattern:overlap"),
    ("bgq:4096", "pattern:subset"),
    ("bgq:4096", "pattern:random,count=10000,min=64KiB,max=8MiB"),
    ("bgq:4096", "pattern:random,count=50000,min=64KiB,max=8MiB"),
    ("bgq:512", "pattern:random,count=50000,min=64KiB,max=8MiB"),
    ("bgq:512", "pattern:alltoall"),
    ("torus:64x64", "pattern:random,count=50000"),
    ("torus:2x2x2x2x2x2x2x2x2x2x2x2", "pattern:random,count=50000"),
    ("torus:8x12x16x16x2", "pattern:disjoint"),
    ("fattree:brown1296", "pattern:random,count=50000"),
    ("dragonfly:p=4,a=8,h=4", "pattern:random,count=50000"),
    ("dragonfly+:3456", "pattern:random,count=50000"),
];

/// 64 adapters; each sends to all of other nodes.
const ADAPTERS: &str = "star:64,capacity=12.5GB/s,nodes=8@100GB/s";
/// Bytes of a message of the adapters that send less.
const ADAPTER_MESSAGE: u64 = 64 << 10;

/// What the thesis reports: planner, seconds, and where.
const PUBLISHED: [(PlannerName, &str, &str); 3] = [
    (PlannerName::Heuristic1, "1.9 to 2.2 s", "Table XI: disjoint, 1,024 nodes, maxload 1 to 32"),
    (PlannerName::Heuristic2, "8 to 100 s", "section 6.4.4.12: 91 experiments"),
    (
        PlannerName::LinearProgram,
        "308 to 1,157 s",
        "Table XIII: AMPL and solving, 2,048 nodes, k = 50; \"up to a few thousands seconds\" in section 6.4.4.12",
    ),
];

#[derive(Serialize)]
struct Planning {
    demands: &'static str,
    message_bytes: u64,
    k: usize,
    repetitions: usize,
    searches: Vec<Search>,
    plans: Vec<Plan>,
    stages: Vec<Stages>,
    bounds: Vec<Bounds>,
    adapters: Adapters,
    published: Vec<Published>,
}

/// Finding candidate paths for some pairs in one way.
#[derive(Serialize)]
struct Search {
    topology: &'static str,
    pairs: usize,
    method: &'static str,
    ms_per_pair: f64,
    /// Time over that of our `yen` on the same pairs.
    times_yen: f64,
    paths_per_pair: f64,
    links_per_path: f64,
}

/// One planner on one network.
#[derive(Default, Serialize)]
struct Plan {
    topology: &'static str,
    planner: &'static str,
    plan_seconds: f64,
    /// Time over that of `heu2` on the same network.
    times_heu2: f64,
    /// Bytes on the worst unit link, in MB (10^6 bytes).
    worst_link_mb: f64,
    /// No routing has a worst link below this, in MB.
    bound_mb: f64,
    /// Flows: pairs of a demand and a path with bytes.
    paths: usize,
}

/// A whole plan.
#[derive(Serialize)]
struct Stages {
    topology: &'static str,
    demands: &'static str,
    planner: &'static str,
    k: usize,
    candidates_seconds: f64,
    plan_seconds: f64,
    rest_seconds: f64,
    total_seconds: f64,
    gap: f64,
}

/// A bound by cuts.
#[derive(Serialize)]
struct Bounds {
    topology: &'static str,
    demands: &'static str,
    pairs: usize,
    seconds: f64,
    /// Bytes on the worst unit link at least, in MiB.
    bound_mib: f64,
    binding: String,
}

/// Plans for the adapters of nodes.
#[derive(Serialize)]
struct Adapters {
    topology: &'static str,
    pairs: usize,
    /// By which adapter each byte leaves and enters.
    assign_seconds: f64,
    /// With bound, direct routes, legs and checks.
    total_seconds: f64,
    gap: f64,
}

#[derive(Serialize)]
struct Published {
    planner: &'static str,
    seconds: &'static str,
    source: &'static str,
}

/// Number of paths, and links of all of them together.
type Found = (usize, usize);

fn main() -> ExitCode {
    common::main("planning", 5, measure)
}

fn measure(repetitions: usize) -> Result<Planning, String> {
    let (mut searches, mut plans) = (Vec::new(), Vec::new());
    for topology in TOPOLOGIES {
        let net = Network::from_spec(topology).map_err(|e| e.to_string())?;
        let all = demands::parse(DEMANDS, &net, MESSAGE).map_err(|e| e.to_string())?;
        searches.extend(search(topology, &net, &all, repetitions)?);
        plans.extend(plan(topology, &net, &all, repetitions)?);
    }
    let stages =
        [PlannerName::Heuristic2, PlannerName::Optimal].into_iter().map(|planner| stages(planner, repetitions));
    let stages = stages.collect::<Result<Vec<_>, _>>()?;
    let bounds = BOUNDS.into_iter().map(|(topology, demands)| bounds(topology, demands, repetitions));
    let bounds = bounds.collect::<Result<Vec<_>, _>>()?;
    let published =
        PUBLISHED.map(|(planner, seconds, source)| Published { planner: planner.as_str(), seconds, source }).into();
    Ok(Planning {
        demands: DEMANDS,
        message_bytes: MESSAGE,
        k: K,
        repetitions,
        searches,
        plans,
        stages,
        bounds,
        adapters: adapters(repetitions)?,
        published,
    })
}

/// Candidate paths for `list`.
fn search(topology: &'static str, net: &Network, list: &[Demand], repetitions: usize) -> Result<Vec<Search>, String> {
    let finders = [("yen", CandidateMethod::Yen), ("diverse", CandidateMethod::Diverse)];
    let mut found: Vec<Found> = vec![(0, 0); finders.len()];
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for (&(_, method), found) in finders.iter().zip(&mut found) {
        subjects.push(Box::new(move || {
            let start = Instant::now();
            let candidates = Candidates::generate(net, list, K, method).map_err(|e| e.to_string())?;
            let paths = (0..list.len()).flat_map(|d| candidates.paths(d));
            *found = paths.fold((0, 0), |(n, links), path| (n + 1, links + path.len()));
            Ok(start.elapsed().as_secs_f64())
        }));
    }
    let seconds = in_turn(repetitions, &mut subjects)?;
    drop(subjects);
    let (pairs, seconds_of_yen) = (list.len(), seconds[0]);
    let row = |(((method, _), seconds), (paths, links)): (((&'static str, CandidateMethod), &f64), Found)| Search {
        topology,
        pairs,
        method,
        ms_per_pair: seconds * 1e3 / pairs as f64,
        times_yen: seconds / seconds_of_yen,
        paths_per_pair: paths as f64 / pairs as f64,
        links_per_path: links as f64 / paths as f64,
    };
    Ok(finders.into_iter().zip(&seconds).zip(found).map(row).collect())
}

/// All planners that are measured on `net`, on the same candidates.
fn plan(topology: &'static str, net: &Network, list: &[Demand], repetitions: usize) -> Result<Vec<Plan>, String> {
    let candidates = Candidates::generate(net, list, K, CandidateMethod::Diverse).map_err(|e| e.to_string())?;
    let all = [PlannerName::Heuristic2, PlannerName::Heuristic1, PlannerName::LinearProgram];
    let measured = |&p: &PlannerName| p != PlannerName::LinearProgram || lp_is_measured(net);
    let planners: Vec<PlannerName> = all.into_iter().filter(measured).collect();
    let row = |planner: &PlannerName| Plan { topology, planner: planner.as_str(), ..Plan::default() };
    let mut plans: Vec<Plan> = planners.iter().map(row).collect();
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for (row, &planner) in plans.iter_mut().zip(&planners) {
        let options = PlanOptions { planner, k: Some(K), ..PlanOptions::default() };
        let candidates = &candidates;
        subjects.push(Box::new(move || {
            let planned = pipeline::run_with(net, list, &options, Some(candidates)).map_err(|e| e.to_string())?;
            let mb = |seconds: f64| seconds * net.unit_capacity() / 1e6;
            row.worst_link_mb = mb(planned.plan.congestion_seconds);
            row.bound_mb = mb(planned.plan.bound_seconds);
            row.paths = planned.report.paths;
            Ok(planned.timings.plan_seconds)
        }));
    }
    let seconds = in_turn(repetitions, &mut subjects)?;
    drop(subjects);
    let seconds_of_heu2 = seconds[0];
    for (row, seconds) in plans.iter_mut().zip(seconds) {
        row.plan_seconds = seconds;
        row.times_heu2 = seconds / seconds_of_heu2;
    }
    Ok(plans)
}

/// A whole plan by `planner`, with as many candidates as it has by default. The repetition with the median total counts.
fn stages(planner: PlannerName, repetitions: usize) -> Result<Stages, String> {
    let (topology, demands) = ONLINE;
    let net = Network::from_spec(topology).map_err(|e| e.to_string())?;
    let list = demands::parse(demands, &net, MESSAGE).map_err(|e| e.to_string())?;
    let options = PlanOptions { planner, ..PlanOptions::default() };
    let mut runs = Vec::with_capacity(repetitions);
    for _ in 0..repetitions {
        let planned = pipeline::run(&net, &list, &options).map_err(|e| e.to_string())?;
        runs.push((planned.timings, planned.plan.gap()));
    }
    runs.sort_by(|(a, _), (b, _)| a.total_seconds.total_cmp(&b.total_seconds));
    let (timings, gap) = runs[runs.len() / 2];
    Ok(Stages {
        topology,
        demands,
        planner: planner.as_str(),
        k: options.k_for(&net, &list),
        candidates_seconds: timings.candidates_seconds,
        plan_seconds: timings.plan_seconds,
        rest_seconds: timings.total_seconds - timings.candidates_seconds - timings.plan_seconds,
        total_seconds: timings.total_seconds,
        gap,
    })
}

/// The bound by cuts for one network and pattern.
fn bounds(topology: &'static str, demands: &'static str, repetitions: usize) -> Result<Bounds, String> {
    let net = Network::from_spec(topology).map_err(|e| e.to_string())?;
    let list = demands::parse(demands, &net, MESSAGE).map_err(|e| e.to_string())?;
    let mut last = None;
    let seconds = in_turn(
        repetitions,
        &mut [Box::new(|| {
            let start = Instant::now();
            last = Some(bound::lower_bound(&net, &list).map_err(|e| e.to_string())?);
            Ok(start.elapsed().as_secs_f64())
        })],
    )?;
    let bound = last.ok_or("no repetition")?;
    let bound_mib = bound.seconds * net.unit_capacity() / f64::from(1 << 20);
    Ok(Bounds { topology, demands, pairs: list.len(), seconds: seconds[0], bound_mib, binding: bound.binding })
}

/// Plans for the adapters of nodes.
fn adapters(repetitions: usize) -> Result<Adapters, String> {
    let net = Network::from_spec(ADAPTERS).map_err(|e| e.to_string())?;
    let hosts = net.hosts() as u32;
    let pairs =
        (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst))).filter(|(src, dst)| src / 8 != dst / 8);
    let bytes = |src: u32| if src.is_multiple_of(8) { 2 * ADAPTER_MESSAGE } else { ADAPTER_MESSAGE };
    let list: Vec<Demand> = pairs.map(|(src, dst)| Demand::new(NodeId(src), NodeId(dst), bytes(src))).collect();
    let problem = Problem::new(&net, &list, None).map_err(|e| e.to_string())?;
    let optimal = planner::create(PlannerName::Optimal, &PlannerOptions::default()).map_err(|e| e.to_string())?;
    let mut gap = 0.0;
    let mut assign = || {
        let start = Instant::now();
        // Without candidate paths it would fail where the closed form does not do.
        optimal.assign(&problem).map_err(|e| e.to_string())?;
        Ok(start.elapsed().as_secs_f64())
    };
    let mut whole = || {
        let planned = pipeline::run(&net, &list, &PlanOptions::default()).map_err(|e| e.to_string())?;
        gap = planned.plan.gap();
        Ok(planned.timings.total_seconds)
    };
    let seconds = in_turn(repetitions, &mut [Box::new(&mut assign), Box::new(&mut whole)])?;
    let (assign_seconds, total_seconds) = (seconds[0], seconds[1]);
    Ok(Adapters { topology: ADAPTERS, pairs: list.len(), assign_seconds, total_seconds, gap })
}

/// Whether this build has the linear program, and the network is not too large to wait for it.
fn lp_is_measured(net: &Network) -> bool {
    net.hosts() <= LP_NODES && planner::create(PlannerName::LinearProgram, &PlannerOptions::default()).is_ok()
}

impl Document for Planning {
    fn text(&self) -> String {
        let searches: Vec<Vec<String>> = self.searches.iter().map(Search::cells).collect();
        let plans: Vec<Vec<String>> = self.plans.iter().map(Plan::cells).collect();
        let stages: Vec<Vec<String>> = self.stages.iter().map(Stages::cells).collect();
        let stage_heads = ["network", "demands", "planner", "k", "candidates ms", "planner ms", "rest ms", "ms", "gap"];
        let bounds: Vec<Vec<String>> = self.bounds.iter().map(Bounds::cells).collect();
        let bound_heads = ["network", "demands", "set by", "pairs", "ms", "MiB"];
        let published: Vec<Vec<String>> =
            self.published.iter().map(|p| [p.planner, p.seconds, p.source].map(String::from).into()).collect();
        let search_heads =
            ["network", "candidates", "pairs", "ms per pair", "times yen", "paths per pair", "links per path"];
        let plan_heads = ["network", "planner", "ms", "times heu2", "worst link", "bound", "paths"];
        format!(
            "{}, {} MiB a pair, k = {}; medians of {} repetitions\n\n{}\n{}\na whole plan\n{}\nbounds by cuts\n{}\nadapters of nodes\n{}\nthe thesis's search times\n{}",
            self.demands,
            self.message_bytes >> 20,
            self.k,
            self.repetitions,
            table(2, &search_heads, &searches),
            table(2, &plan_heads, &plans),
            table(3, &stage_heads, &stages),
            table(3, &bound_heads, &bounds),
            table(1, &["network", "pairs", "planner ms", "whole plan ms", "gap"], &[self.adapters.cells()]),
            table(3, &["planner", "seconds", "source"], &published),
        )
    }
}

impl Search {
    fn cells(&self) -> Vec<String> {
        vec![
            self.topology.into(),
            self.method.into(),
            self.pairs.to_string(),
            format!("{:.3}", self.ms_per_pair),
            format!("{:.2}", self.times_yen),
            format!("{:.1}", self.paths_per_pair),
            format!("{:.2}", self.links_per_path),
        ]
    }
}

impl Adapters {
    fn cells(&self) -> Vec<String> {
        let ms = |seconds: f64| format!("{:.3}", seconds * 1e3);
        let (assign, total) = (ms(self.assign_seconds), ms(self.total_seconds));
        vec![self.topology.into(), self.pairs.to_string(), assign, total, format!("{:.2} %", self.gap * 100.0)]
    }
}

impl Stages {
    fn cells(&self) -> Vec<String> {
        let ms = |seconds: f64| format!("{:.2}", seconds * 1e3);
        vec![
            self.topology.into(),
            self.demands.into(),
            self.planner.into(),
            self.k.to_string(),
            ms(self.candidates_seconds),
            ms(self.plan_seconds),
            ms(self.rest_seconds),
            ms(self.total_seconds),
            format!("{:.2} %", self.gap * 100.0),
        ]
    }
}

impl Bounds {
    fn cells(&self) -> Vec<String> {
        vec![
            self.topology.into(),
            self.demands.into(),
            self.binding.clone(),
            self.pairs.to_string(),
            format!("{:.2}", self.seconds * 1e3),
            format!("{:.3}", self.bound_mib),
        ]
    }
}

impl Plan {
    fn cells(&self) -> Vec<String> {
        vec![
            self.topology.into(),
            self.planner.into(),
            format!("{:.2}", self.plan_seconds * 1e3),
            format!("{:.2}", self.times_heu2),
            format!("{:.2} MB", self.worst_link_mb),
            format!("{:.2} MB", self.bound_mb),
            self.paths.to_string(),
        ]
    }
}
