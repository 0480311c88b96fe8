//! From demands to a plan with its report: candidates, planner, legs, bound.

use crate::bound::lower_bound;
use crate::candidates::{self, CandidateMethod, Candidates};
use crate::demands::{self, Demand};
use crate::error::PlanError;
use crate::legs;
use crate::plan::{self, Flow, PLAN_VERSION, Plan};
use crate::planner::optimal::{GAP, Optimal};
use crate::planner::{self, Planner, PlannerOptions};
use crate::problem::{Assignment, Problem, unconnected};
use crate::report::Report;
use optiq_net::Network;
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How to plan. The defaults are those of the thesis's experiments, with our candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanOptions {
    /// Name of the planner ([`planner::NAMES`]). Default `heu2`.
    pub planner: String,
    /// Candidate paths per demand, at most. Default 50.
    pub k: usize,
    /// How candidate paths are found. Default `auto`.
    pub method: CandidateMethod,
    /// See [`PlannerOptions::maxload`].
    pub maxload: u32,
    /// See [`PlannerOptions::chunk`].
    pub chunk: u64,
    /// Take candidate paths from this path file, found beforehand for this network, instead of searching them
    /// (thesis 4.2.2, hybrid search). `k` and `method` then do not matter.
    pub candidate_file: Option<PathBuf>,
    /// Per host, whether it can forward; `None` if all can. A host without a process cannot.
    pub forwarders: Option<Vec<bool>>,
    /// `optimal`: the proved gap that is good enough. Default 0.01, 1 %.
    pub gap: f64,
    /// `optimal`: how long it may iterate ([`Optimal::new`]); what it has by then is the plan, which then depends on
    /// the machine. Default `None`: until the gap is reached.
    pub time_limit: Option<Duration>,
}

impl Default for PlanOptions {
    fn default() -> Self {
        let PlannerOptions { maxload, chunk } = PlannerOptions::default();
        let (planner, method) = ("heu2".to_owned(), CandidateMethod::Auto);
        PlanOptions {
            planner,
            k: 50,
            method,
            maxload,
            chunk,
            candidate_file: None,
            forwarders: None,
            gap: GAP,
            time_limit: None,
        }
    }
}

/// Wall-clock seconds of the stages. They are kept beside the plan, never in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timings {
    /// Finding or reading candidate paths; 0 for a planner that needs none.
    pub candidates_seconds: f64,
    /// The planner proper.
    pub plan_seconds: f64,
    /// Everything: these, the cutting into legs, the bound, the report.
    pub total_seconds: f64,
}

/// A plan, what it looks like, and how long it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Its figures.
    pub report: Report,
    /// Wall-clock times.
    pub timings: Timings,
}

/// Plans `demands` on `net`. No demands give an empty plan.
///
/// # Errors
/// [`PlanError`]: options out of range, demands that do not fit the network, a path file that does not serve, a
/// planner that fails.
pub fn run(net: &Network, demands: &[Demand], options: &PlanOptions) -> Result<Planned, PlanError> {
    run_with(net, demands, options, None)
}

/// [`run`] with candidate paths that are at hand, for these demands or more; `None` finds or reads them as the
/// options say.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    net: &Network,
    demands: &[Demand],
    options: &PlanOptions,
    candidates: Option<&Candidates>,
) -> Result<Planned, PlanError> {
    let start = Instant::now();
    let planner: Box<dyn Planner> = match options.planner.as_str() {
        "optimal" => Box::new(Optimal::new(options.gap, options.time_limit)?),
        name => planner::by_name(name, &PlannerOptions { maxload: options.maxload, chunk: options.chunk })?,
    };
    check_k(options.k)?;
    let candidates = match (planner.needs_candidates(), candidates, &options.candidate_file) {
        (false, _, _) => None,
        (true, Some(candidates), _) if candidates.fits(demands) => Some(Cow::Borrowed(candidates)),
        (true, Some(candidates), _) => Some(Cow::Owned(candidates.clone().for_demands(net, demands)?)),
        (true, None, Some(path)) => Some(Cow::Owned(candidates::file::read(path, net)?.for_demands(net, demands)?)),
        (true, None, None) => Some(Cow::Owned(Candidates::generate(net, demands, options.k, options.method)?)),
    };
    let candidates = match (candidates, &options.forwarders) {
        (Some(c), Some(allowed)) if allowed.contains(&false) => Some(Cow::Owned(c.forwarding_only_at(net, allowed)?)),
        (c, _) => c,
    };
    let candidates_seconds = if candidates.is_some() { start.elapsed().as_secs_f64() } else { 0.0 };
    let problem = Problem::new(net, demands, candidates.as_deref())?.with_forwarders(options.forwarders.as_deref());
    let planning = Instant::now();
    let assignment = planner.assign(&problem)?;
    let plan_seconds = planning.elapsed().as_secs_f64();
    let plan = finish(&problem, planner.name(), assignment)?;
    let report = Report::new(&plan, net)?;
    let timings = Timings { candidates_seconds, plan_seconds, total_seconds: start.elapsed().as_secs_f64() };
    Ok(Planned { plan, report, timings })
}

fn check_k(k: usize) -> Result<(), PlanError> {
    if (1..=candidates::MAX_K).contains(&k) { Ok(()) } else { Err(PlanError::K { found: k, max: candidates::MAX_K }) }
}

/// Makes a planner's assignment a plan: cuts its paths into legs, adds the figures and the bound, and checks that
/// nothing was lost.
///
/// # Errors
/// [`PlanError::Unsound`] if the planner lost bytes or used a path that cannot be executed;
/// [`PlanError::Unconnected`] for a demand that the fabric has no route for.
pub fn finish(problem: &Problem, planner: &'static str, assignment: Assignment) -> Result<Plan, PlanError> {
    let (net, demands) = (problem.net(), problem.demands());
    let unsound = |problem: String| PlanError::Unsound { planner, problem };
    let mut flows = Vec::with_capacity(demands.len());
    for (i, shares) in assignment.shares.into_iter().enumerate() {
        let mut of_demand = Vec::with_capacity(shares.len());
        for share in shares.into_iter().filter(|s| s.bytes > 0) {
            let none = || unsound(format!("a path of demand {i} leaves the fabric's own routes between hosts"));
            let stops = legs::stops(net, &share.links).ok_or_else(none)?;
            of_demand.push(Flow { links: share.links, stops, bytes: share.bytes });
        }
        flows.push(of_demand);
    }
    let mut bound = lower_bound(net, demands)?;
    if let Some(proved) = assignment.bound.filter(|proved| proved.seconds > bound.seconds) {
        bound = proved;
    }
    let direct = plan::direct_load(net, demands).map_err(|e| {
        let routed = |d: &Demand| net.route(d.src, d.dst, &mut Vec::new()).is_ok();
        unconnected(net, demands, demands.iter().position(|d| !routed(d)).unwrap_or(0), e)
    })?;
    let mut plan = Plan {
        version: PLAN_VERSION,
        planner: planner.to_owned(),
        network: net.fingerprint(),
        demands_fingerprint: demands::fingerprint(demands),
        demands: demands.to_vec(),
        flows,
        congestion_seconds: 0.0,
        direct_congestion_seconds: plan::congestion(net, &direct),
        bound_seconds: 0.0,
        binding: bound.binding,
    };
    plan.congestion_seconds = plan::congestion(net, &plan.link_load(net)?);
    // Where both are the same cut, they are rounded differently.
    plan.bound_seconds = bound.seconds.min(plan.congestion_seconds);
    plan.check(net).map_err(unsound)?;
    Ok(plan)
}
