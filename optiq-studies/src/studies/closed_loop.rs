//! The closed loop in a lab: plans that follow the load of links (`OPTIQ_BACKGROUND=measure`) beside plans that know the load, plans that do not, and
//! plain MPI.
//!
//! Before anything is measured, the plan for idle links says which four links it loads most: these are loaded first, then the next four, which share none with
//! them. The load is UDP at a fixed share of the capacity, which gives way to no program; a plan that knows it has the same numbers as a file.
//! Series are measured in turn, the order changing from repetition to repetition; in each, the load comes, moves and goes between calls.

use super::lab::{self, NAME, TUNED};
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::plot::{Plot, PlotKind};
use crate::selection::Selection;
use crate::workspace::{self, Workspace};
use optiq_measure::statistics::{median, quantile};
use optiq_net::{Background, Network};
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::planner::PlannerName;
use optiq_solver::{Demand, Plan, demands, plan};
use optiq_view::table::seconds;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// The network. Links are half as fast as in other labs, so that load and messages leave the processors alone.
const TOPOLOGY: &str = "torus:4x4,capacity=50Mbit/s";
/// As many hosts with twice the links.
const TOPOLOGY_4D: &str = "torus:2x2x2x2,capacity=50Mbit/s";
/// Bytes for each pair.
const MESSAGE: &str = "1MB";
/// What is exchanged, and where; constants of the loop were chosen on the training cases.
const CASES: [Asked; 5] = [
    Asked { name: "disjoint", topology: TOPOLOGY, pattern: "disjoint", held_out: false },
    Asked { name: "overlap", topology: TOPOLOGY, pattern: "overlap", held_out: false },
    Asked { name: "subset", topology: TOPOLOGY, pattern: "subset", held_out: false },
    Asked { name: "disjoint-4d", topology: TOPOLOGY_4D, pattern: "disjoint", held_out: true },
    Asked { name: "random", topology: TOPOLOGY, pattern: "random,count=24,seed=5", held_out: true },
];

/// A case before it is measured.
struct Asked {
    name: &'static str,
    topology: &'static str,
    pattern: &'static str,
    held_out: bool,
}
/// Links that are loaded at a time.
const LOADED: usize = 4;
/// The share of their capacity that the load takes.
const SHARE: f64 = 0.75;
/// Calls in the phases without load, and with it.
const CALLS: usize = 16;
/// What a plan must have done within this many calls after a change; the calls after them count.
const SETTLED: usize = 10;
/// To start a load.
const ATTEMPTS: usize = 5;
/// Of a run in the lab, in seconds.
const LIMIT: &str = "240";

/// A call, as far as pages show what `optiq bench calls` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCall {
    /// Until the last rank has returned.
    pub seconds: f64,
    /// `MPI`, or how many paths.
    pub served_by: String,
}

/// A link that was taken for busy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundLink {
    /// The vertex that sends.
    pub from: String,
    /// The vertex that receives.
    pub to: String,
    /// The share of its capacity that is left.
    pub share_left: f64,
}

/// The calls of a phase, and the links that were taken for busy at its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredPhase {
    /// In order.
    pub calls: Vec<MeasuredCall>,
    /// Ascending.
    pub busy_links: Vec<FoundLink>,
}

/// What `optiq bench calls --json` prints, as far as it is needed.
#[derive(Deserialize)]
struct Printed {
    verified: bool,
    phases: Vec<MeasuredPhase>,
}

/// What serves a series of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// `MPI_Alltoallv` as it is.
    Mpi,
    /// With the linear algorithm of Open MPI.
    MpiLinear,
    /// With the pairwise algorithm of Open MPI.
    MpiPairwise,
    /// A plan for idle links.
    Unaware,
    /// A plan for each phase's load, which a file says.
    Knows,
    /// `OPTIQ_BACKGROUND=measure`.
    Loop,
}

const SIDES: [Side; 6] = [Side::Mpi, Side::MpiLinear, Side::MpiPairwise, Side::Unaware, Side::Knows, Side::Loop];

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::Mpi => "MPI",
            Side::MpiLinear => "MPI, linear",
            Side::MpiPairwise => "MPI, pairwise",
            Side::Unaware => "plan without knowledge",
            Side::Knows => "plan that knows",
            Side::Loop => "closed loop",
        }
    }

    fn environment(self) -> &'static [&'static str] {
        match self {
            Side::Mpi | Side::Unaware | Side::Knows => &[],
            Side::MpiLinear => {
                &["OMPI_MCA_coll_tuned_use_dynamic_rules=1", "OMPI_MCA_coll_tuned_alltoallv_algorithm=1"]
            }
            Side::MpiPairwise => {
                &["OMPI_MCA_coll_tuned_use_dynamic_rules=1", "OMPI_MCA_coll_tuned_alltoallv_algorithm=2"]
            }
            Side::Loop => &["OPTIQ_BACKGROUND=measure"],
        }
    }

    fn is_mpi(self) -> bool {
        matches!(self, Side::Mpi | Side::MpiLinear | Side::MpiPairwise)
    }
}

/// What the links carry in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPhase {
    /// For people.
    pub name: String,
    /// Ends of the links that are loaded.
    pub loaded: Vec<(String, String)>,
    /// Link bound of the plan for idle links beside this load, in seconds.
    pub unaware_bound_seconds: f64,
    /// That of a plan that knows the load.
    pub knows_bound_seconds: f64,
    /// That of the fabric's own routes.
    pub direct_bound_seconds: f64,
}

/// A series of calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideSeries {
    /// What served it.
    pub side: Side,
    /// By phase.
    pub phases: Vec<MeasuredPhase>,
}

/// A pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClosedLoopCase {
    /// Its name.
    pub pattern: String,
    /// The network.
    #[serde(default)]
    pub topology: String,
    /// No constant was chosen on it.
    #[serde(default)]
    pub held_out: bool,
    /// Without load, with load, with other load, without.
    pub phases: Vec<LoadPhase>,
    /// In the order in which they ran.
    pub series: Vec<SideSeries>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClosedLoopContent {
    /// The network.
    pub topology: String,
    /// Bytes for each pair.
    pub message: String,
    /// Of the loaded links' capacity.
    pub share: f64,
    /// In each phase.
    pub calls: usize,
    /// Those before are left out of the figures.
    pub settled: usize,
    /// Of each side.
    pub repetitions: u32,
    /// By pattern.
    pub cases: Vec<ClosedLoopCase>,
}

/// The names that `--cases` takes.
pub fn case_names() -> Vec<String> {
    CASES.iter().map(|case| case.name.into()).collect()
}

/// Measures the selected cases.
///
/// # Errors
/// [`Failure::Work`] if the lab cannot be brought up or a program in it fails.
pub fn run(workspace: &Workspace, repetitions: u32, selection: &Selection) -> Result<ClosedLoopContent, Failure> {
    let mut cases = Vec::new();
    for asked in CASES.iter().filter(|asked| selection.includes(asked.name)) {
        let &Asked { name, topology, pattern, held_out } = asked;
        let network = Network::from_spec(topology).map_err(|e| Failure::Work(e.to_string()))?;
        let phases = phases(&network, pattern)?;
        let mut series = Vec::new();
        workspace::step(&format!("closed loop, {name}"), || {
            lab::in_lab(workspace, topology, TUNED, || {
                for repetition in 0..repetitions as usize {
                    let mut order = SIDES;
                    order.rotate_left(repetition % SIDES.len());
                    for side in order {
                        series
                            .push(SideSeries { side, phases: series_of(workspace, &network, pattern, &phases, side)? });
                    }
                }
                Ok(())
            })
        })?;
        cases.push(ClosedLoopCase { pattern: name.into(), topology: topology.into(), held_out, phases, series });
    }
    let (topology, message) = (TOPOLOGY.into(), MESSAGE.into());
    Ok(ClosedLoopContent { topology, message, share: SHARE, calls: CALLS, settled: SETTLED, repetitions, cases })
}

fn list_of(network: &Network, pattern: &str) -> Result<Vec<Demand>, Failure> {
    let bytes = optiq_net::units::parse_bytes(MESSAGE).map_err(|e| Failure::Work(e.to_string()))?;
    demands::parse(&format!("pattern:{pattern}"), network, bytes).map_err(|e| Failure::Work(e.to_string()))
}

fn planned(network: &Network, list: &[Demand], planner: PlannerName) -> Result<Plan, Failure> {
    let options = PlanOptions { planner, ..PlanOptions::default() };
    Ok(pipeline::run(network, list, &options).map_err(|e| Failure::Work(e.to_string()))?.plan)
}

/// The phases of a pattern, with the links that the plan for idle ones loads most.
fn phases(network: &Network, pattern: &str) -> Result<Vec<LoadPhase>, Failure> {
    let work = |e: optiq_net::NetError| Failure::Work(e.to_string());
    let list = list_of(network, pattern)?;
    let unaware = planned(network, &list, PlannerName::Optimal)?;
    let load = unaware.link_load(network).map_err(work)?;
    let mut links: Vec<usize> = (0..load.bytes.len()).collect();
    links.sort_by_key(|&l| (std::cmp::Reverse(load.bytes[l]), l));
    let name = |l: usize| {
        let link = &network.links()[l];
        (network.name(link.from).to_string(), network.name(link.to).to_string())
    };
    let sets = [
        ("no load", &links[..0]),
        ("load on four links", &links[..LOADED]),
        ("load on four others", &links[LOADED..2 * LOADED]),
        ("no load again", &links[..0]),
    ];
    let phase = |(text, set): (&str, &[usize])| {
        let loaded: Vec<(String, String)> = set.iter().map(|&l| name(l)).collect();
        let background = Background::parse(&background(&loaded), "load").map_err(work)?;
        let left = network.clone().with_background(&background).map_err(work)?;
        Ok(LoadPhase {
            name: text.into(),
            loaded,
            unaware_bound_seconds: plan::congestion(&left, &load),
            knows_bound_seconds: planned(&left, &list, PlannerName::Optimal)?.congestion_seconds,
            direct_bound_seconds: planned(&left, &list, PlannerName::Direct)?.congestion_seconds,
        })
    };
    sets.into_iter().map(phase).collect()
}

/// The load as a file of background load has it.
fn background(loaded: &[(String, String)]) -> String {
    loaded.iter().map(|(from, to)| format!("{from} {to} {:.0}%\n", 100.0 * SHARE)).collect()
}

/// A program that loads links, until it is dropped.
struct Loading(Option<Child>);

impl Loading {
    fn start(workspace: &Workspace, network: &Network, loaded: &[(String, String)]) -> Result<Self, Failure> {
        if loaded.is_empty() {
            return Ok(Self(None));
        }
        let rate = SHARE * network.unit_capacity() * 8.0 / 1e6;
        let mut ended = None;
        // The load before this one may still hold a receiver's port.
        for _ in 0..ATTEMPTS {
            let mut command = workspace.optiq(&["lab", "load", "--name", NAME, "--seconds", LIMIT]);
            loaded.iter().for_each(|(from, to)| _ = command.args(["--flow", &format!("{from}:{to}={rate}Mbit/s")]));
            let child = command.stdin(Stdio::null()).spawn();
            let mut child = child.map_err(|e| Failure::Work(format!("optiq lab load cannot be started: {e}")))?;
            // Until its queues are full.
            std::thread::sleep(Duration::from_millis(700));
            match child.try_wait() {
                Ok(Some(status)) => ended = Some(status),
                _ => return Ok(Self(Some(child))),
            }
        }
        let status = ended.map_or_else(String::new, |status| format!(" ({status})"));
        Err(Failure::Work(format!("optiq lab load has ended before it was to{status}, {ATTEMPTS} times")))
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // What it started ends with it.
            let _ = child.kill();
            let _ = child.wait();
            std::thread::sleep(Duration::from_millis(300));
        }
    }
}

/// One series of calls.
fn series_of(
    workspace: &Workspace,
    network: &Network,
    pattern: &str,
    phases: &[LoadPhase],
    side: Side,
) -> Result<Vec<MeasuredPhase>, Failure> {
    let unwritten = |e: std::io::Error| Failure::Work(format!("a folder to meet in cannot be made: {e}"));
    let folder = tempfile::tempdir().map_err(unwritten)?;
    let mut files = Vec::new();
    for (number, phase) in phases.iter().enumerate() {
        let path = folder.path().join(format!("load-{number}"));
        std::fs::write(&path, background(&phase.loaded)).map_err(unwritten)?;
        files.push(if phase.loaded.is_empty() { "none".to_owned() } else { path.to_string_lossy().into_owned() });
    }
    let (calls, count) = (CALLS.to_string(), phases.len().to_string());
    let mut command = workspace.optiq(&["lab", "run", "--name", NAME, "--timeout", LIMIT, "--", "env"]);
    command.args(side.environment()).arg(workspace.built("optiq"));
    command.args([
        "bench",
        "calls",
        "--demands",
        &format!("pattern:{pattern}"),
        "--message",
        MESSAGE,
        "--calls",
        &calls,
    ]);
    command.args(["--phases", &count, "--json", "--by", if side.is_mpi() { "mpi" } else { "optiq" }, "--meet"]);
    command.arg(folder.path());
    if side == Side::Knows {
        command.args(["--backgrounds", &files.join(",")]);
    }
    let run = std::thread::scope(|scope| {
        let measuring = scope.spawn(|| workspace::json::<Printed>(&mut command));
        let mut loading = Loading(None);
        for (number, phase) in phases.iter().enumerate() {
            if !appears(&folder.path().join(format!("ready-{number}")), || measuring.is_finished()) {
                break;
            }
            drop(std::mem::replace(&mut loading, Loading(None)));
            loading = Loading::start(workspace, network, &phase.loaded)?;
            std::fs::write(folder.path().join(format!("go-{number}")), "").map_err(unwritten)?;
        }
        let series = measuring.join().map_err(|_| Failure::Work("a measurement has panicked".into()))?;
        drop(loading);
        series
    });
    let printed = run?;
    if printed.verified { Ok(printed.phases) } else { Err(Failure::Work("optiq bench calls found wrong bytes".into())) }
}

/// Waits for a file; whether it came before `is_over`.
fn appears(file: &Path, is_over: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !file.exists() {
        if is_over() || began.elapsed() > Duration::from_secs(240) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

impl ClosedLoopCase {
    /// The times of a side's calls in a phase, of all repetitions, from call `from` on.
    fn times(&self, side: Side, phase: usize, from: usize) -> Vec<f64> {
        let series = self.series.iter().filter(|s| s.side == side);
        series.filter_map(|s| s.phases.get(phase)).flat_map(|p| p.calls.iter().skip(from).map(|c| c.seconds)).collect()
    }

    fn median(&self, side: Side, phase: usize, from: usize) -> Option<f64> {
        median(&self.times(side, phase, from))
    }

    /// The best of plain MPI's algorithms.
    fn best_mpi(&self, phase: usize, from: usize) -> Option<(Side, f64)> {
        let known = SIDES.into_iter().filter(|s| s.is_mpi()).filter_map(|s| Some((s, self.median(s, phase, from)?)));
        known.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The median over repetitions of each call of a phase.
    fn by_call(&self, side: Side, phase: usize) -> Vec<f64> {
        let series: Vec<&SideSeries> = self.series.iter().filter(|s| s.side == side).collect();
        let calls = series.iter().filter_map(|s| s.phases.get(phase)).map(|p| p.calls.len()).min().unwrap_or(0);
        let of = |call: usize| {
            let times: Vec<f64> =
                series.iter().filter_map(|s| Some(s.phases.get(phase)?.calls.get(call)?.seconds)).collect();
            median(&times)
        };
        (0..calls).filter_map(of).collect()
    }

    /// After how many calls of a phase the loop stays within [`NEAR`] of what the plan that knows takes; by medians over repetitions.
    fn recovered(&self, phase: usize, settled: usize) -> Option<usize> {
        let limit = NEAR * self.median(Side::Knows, phase, settled)?;
        let calls = self.by_call(Side::Loop, phase);
        // One late call in the rest is not a plan that was lost.
        (0..calls.len().saturating_sub(2)).find(|&i| {
            let rest = &calls[i..];
            calls[i] <= limit && rest.iter().filter(|&&t| t > limit).count() * 4 <= rest.len()
        })
    }
}

/// A call counts as recovered within this of the plan that knows.
const NEAR: f64 = 1.15;

/// The targets of issue 21.
const OF_KNOWS: f64 = 1.1;
const OF_UNAWARE: f64 = 1.3;
const OF_MPI: f64 = 0.97;
const COST: f64 = 1.01;

impl ClosedLoopContent {
    /// Of the page.
    pub const TITLE: &'static str = "Plans that follow the load of links: the closed loop in a lab";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = format!(
            "Labs of 16 hosts, one rank each, `{}` where nothing else is said; {} for each pair of a pattern. Each series has {} calls in each of four phases: no load; a load on \
             four links; the load on four others; no load. The load is UDP at {:.0} % of the links' capacity, sent by `optiq lab load`, which gives way \
             to no program; it changes between calls. Links were chosen before anything was measured: those that the plan for idle links loads most, \
             then the next four. The plan that knows has the load as a file, in a session of its own for each phase; the closed loop has \
             `OPTIQ_BACKGROUND=measure` and is told nothing. Figures are medians (quartiles) of the calls from number {} of a phase on, over {} series of each \
             side, which ran in turn. MPI ran with Open MPI's own choice and with both of its algorithms; the best of the three is meant by *best MPI*. Link \
             bounds: what is left of the most loaded link cannot carry its bytes faster; the load's packets count as sent in full.\n\n",
            self.topology,
            self.message,
            self.calls,
            100.0 * self.share,
            self.settled + 1,
            self.repetitions,
        );
        if self.cases.iter().any(|case| case.held_out) {
            page.push_str(
                "Constants and rules of the loop were chosen on the training cases (disjoint, overlap and subset on the torus of two dimensions), after an earlier page had shown \
                 that targets were missed there; the held-out cases were not run before.\n\n",
            );
        }
        page.push_str(&self.targets());
        page.push_str("\n![Each call of each series](closed-loop.svg)\n");
        for case in &self.cases {
            let network = if case.topology.is_empty() { &self.topology } else { &case.topology };
            let role = if case.held_out { "held out" } else { "training" };
            let _ = write!(page, "\n## {} (`{network}`, {role})\n\n{}", case.pattern, self.table(case));
            page.push_str(&self.told(case));
        }
        page
    }

    /// The four targets, met or not, by pattern and phase.
    fn targets(&self) -> String {
        let mut table = TextTable::new(&[
            "pattern<",
            "phase<",
            "closed loop : plan that knows (at most 1.10)",
            "plan without : closed loop (at least 1.30)",
            "best MPI : closed loop (at least 0.97)",
            "recovered after calls (at most 10)",
            "met<",
        ]);
        // Of training cases, of held-out ones.
        let (mut met, mut asked) = ([0; 2], [0; 2]);
        for case in &self.cases {
            for (phase, load) in case.phases.iter().enumerate() {
                let of = |side| case.median(side, phase, self.settled);
                let (Some(own), Some(knows), Some(unaware), Some((best, mpi))) =
                    (of(Side::Loop), of(Side::Knows), of(Side::Unaware), case.best_mpi(phase, self.settled))
                else {
                    continue;
                };
                let recovered = case.recovered(phase, self.settled);
                let is_loaded = !load.loaded.is_empty();
                let checks = [
                    own <= OF_KNOWS * knows,
                    !is_loaded || unaware >= OF_UNAWARE * own,
                    mpi >= OF_MPI * own,
                    phase == 0 || recovered.is_some_and(|calls| calls <= SETTLED),
                ];
                let good = checks.iter().filter(|c| **c).count();
                met[usize::from(case.held_out)] += good;
                asked[usize::from(case.held_out)] += checks.len();
                table.rows.push(vec![
                    case.pattern.clone(),
                    load.name.clone(),
                    format!("{:.2}", own / knows),
                    format!("{:.2}", unaware / own),
                    format!("{:.2} ({})", mpi / own, best.name()),
                    recovered.map_or("never".into(), |calls| calls.to_string()),
                    if good == checks.len() { "yes".into() } else { format!("{good} of {}", checks.len()) },
                ]);
            }
        }
        let cost = self.cost();
        let cost = cost.map_or(String::new(), |cost| {
            let verdict = if cost <= COST { "met" } else { "not met" };
            format!(
                "Without load, before any came, calls of the closed loop took {cost:.3} times what those of the plan without knowledge took \
                 (geometric mean over patterns; at most 1.01 was asked for: {verdict}).\n"
            )
        });
        let count = |i: usize, cases: &str| {
            if asked[i] > 0 {
                format!("**{} of {} targets are met on {cases} cases.** ", met[i], asked[i])
            } else {
                String::new()
            }
        };
        format!("{}{}{cost}\n{}", count(0, "training"), count(1, "held-out"), table.markdown())
    }

    /// What the loop costs where there is nothing to follow.
    fn cost(&self) -> Option<f64> {
        let ratio = |case: &ClosedLoopCase| {
            let of = |side| case.median(side, 0, self.calls / 4);
            Some(of(Side::Loop)? / of(Side::Unaware)?)
        };
        optiq_measure::statistics::geometric_mean(&self.cases.iter().filter_map(ratio).collect::<Vec<_>>())
    }

    fn table(&self, case: &ClosedLoopCase) -> String {
        let mut table = TextTable::new(&["phase<", "side<", "median", "quartiles<", "link bound"]);
        for (phase, load) in case.phases.iter().enumerate() {
            for side in SIDES {
                let times = case.times(side, phase, self.settled);
                let Some(middle) = median(&times) else { continue };
                let quartiles = quantile(&times, 0.25).zip(quantile(&times, 0.75));
                let bound = match side {
                    Side::Unaware => load.unaware_bound_seconds,
                    Side::Knows | Side::Loop => load.knows_bound_seconds,
                    _ => load.direct_bound_seconds,
                };
                table.rows.push(vec![
                    load.name.clone(),
                    side.name().into(),
                    seconds(middle),
                    quartiles.map_or(String::new(), |(q1, q3)| format!("{} to {}", seconds(q1), seconds(q3))),
                    seconds(bound),
                ]);
            }
        }
        table.markdown()
    }

    /// Which links were loaded, and which the loop took for busy in the end of each phase.
    fn told(&self, case: &ClosedLoopCase) -> String {
        let mut text = String::from("\n");
        for (phase, load) in case.phases.iter().enumerate() {
            let truth: Vec<String> = load.loaded.iter().map(|(from, to)| format!("{from} -> {to}")).collect();
            let of_loop = case.series.iter().filter(|s| s.side == Side::Loop).filter_map(|s| s.phases.get(phase));
            let found: Vec<String> = of_loop
                .map(|p| {
                    let links = p
                        .busy_links
                        .iter()
                        .map(|b| format!("{} -> {} ({:.0} % left)", b.from, b.to, 100.0 * b.share_left));
                    let links: Vec<String> = links.collect();
                    if links.is_empty() { "none".into() } else { links.join(", ") }
                })
                .collect();
            let truth = if truth.is_empty() { "none".into() } else { truth.join(", ") };
            let _ =
                writeln!(text, "- {}: loaded: {truth}. Taken for busy at its end: {}.", load.name, found.join("; "));
        }
        text
    }

    /// Each call, in the order of time, by medians over repetitions.
    pub fn plot(&self) -> Plot {
        let phases = self.cases.first().map_or(0, |case| case.phases.len());
        // More labels than these would overlap.
        let label = |n: usize| if n % self.calls == 1 { n.to_string() } else { String::new() };
        let numbers = (1..=phases * self.calls).map(label).collect();
        let title =
            "Time of each call: load comes after the first quarter, moves after the second, goes after the third";
        let mut plot = Plot::new(PlotKind::Lines, title, "seconds", "call", numbers);
        for case in &self.cases {
            for side in [Side::Mpi, Side::Unaware, Side::Knows, Side::Loop] {
                for phase in 0..phases {
                    for (call, time) in case.by_call(side, phase).into_iter().enumerate() {
                        plot.set(&case.pattern, side.name(), phase * self.calls + call, time);
                    }
                }
            }
        }
        plot
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn loaded_links_are_those_that_the_plan_needs_and_a_plan_that_knows_gains() {
        for &Asked { topology, pattern, .. } in &CASES {
            let network = Network::from_spec(topology).unwrap();
            let phases = phases(&network, pattern).unwrap();
            let loaded: Vec<usize> = phases.iter().map(|p| p.loaded.len()).collect();
            assert_eq!(loaded, [0, LOADED, LOADED, 0], "{pattern}");
            assert!(phases[1].loaded.iter().all(|link| !phases[2].loaded.contains(link)), "{pattern}");
            for phase in &phases[1..3] {
                assert!(phase.unaware_bound_seconds >= phase.knows_bound_seconds, "{pattern}");
            }
        }
    }

    fn series(side: Side, by_phase: [f64; 4], first: f64) -> SideSeries {
        let phase = |&seconds: &f64| {
            let call = |n: usize| {
                let seconds = if n < 3 { first * seconds } else { seconds };
                MeasuredCall { seconds, served_by: "9 paths".into() }
            };
            MeasuredPhase { calls: (0..CALLS).map(call).collect(), busy_links: vec![] }
        };
        SideSeries { side, phases: by_phase.iter().map(phase).collect() }
    }

    #[test]
    fn figures_and_targets_as_computed_by_hand() {
        let load = |name: &str, loaded: usize| LoadPhase {
            name: name.into(),
            loaded: vec![("h0".into(), "h1".into()); loaded],
            unaware_bound_seconds: 0.4,
            knows_bound_seconds: 0.2,
            direct_bound_seconds: 0.5,
        };
        let case = ClosedLoopCase {
            pattern: "disjoint".into(),
            topology: TOPOLOGY.into(),
            held_out: false,
            phases: vec![load("idle", 0), load("one", 4), load("two", 4), load("idle again", 0)],
            series: vec![
                series(Side::Mpi, [0.4, 0.5, 0.5, 0.4], 1.0),
                series(Side::MpiLinear, [0.3, 0.6, 0.6, 0.3], 1.0),
                series(Side::Unaware, [0.2, 0.4, 0.4, 0.2], 1.0),
                series(Side::Knows, [0.2, 0.25, 0.25, 0.2], 1.0),
                // Slow for three calls; in the third phase too slow for good.
                series(Side::Loop, [0.2, 0.26, 0.35, 0.2], 2.0),
            ],
        };
        assert_eq!(case.recovered(1, SETTLED), Some(3));
        assert_eq!(case.recovered(2, SETTLED), None);
        assert_eq!(case.best_mpi(1, SETTLED), Some((Side::Mpi, 0.5)));
        let content = ClosedLoopContent {
            topology: TOPOLOGY.into(),
            message: MESSAGE.into(),
            share: SHARE,
            calls: CALLS,
            settled: SETTLED,
            repetitions: 1,
            cases: vec![case],
        };
        let page = content.body();
        // Of phase three: 0.35 is above 1.1 x 0.25, 0.4 below 1.3 x 0.35, and it never recovers; MPI is slower.
        assert!(page.contains("**13 of 16 targets are met on training cases.**"), "{page}");
        assert!(page.contains("took 1.000 times") && page.contains("1 of 4") && page.contains("1.92 (MPI)"), "{page}");
        assert!(content.plot().svg().contains("closed loop"));
    }
}
