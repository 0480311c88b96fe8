//! From demands to a plan with its report: candidates, planner, legs, bound.

use crate::bound::lower_bound;
use crate::candidates::{self, CandidateMethod, Candidates, LazyCandidates};
use crate::checks::{check_demands, unconnected};
use crate::constants::{
    self, CANDIDATE_PATHS, CANDIDATE_PATHS_CONCENTRATED, CANDIDATE_PATHS_LARGE, CONCENTRATED_PART, DEMANDS_MOST,
    K_LEAST, K_LEAST_LARGE, K_MOST,
};
use crate::deadline::Deadline;
use crate::demands::{self, Demand};
use crate::error::PlanError;
use crate::estimate::Estimate;
use crate::legs;
use crate::parallel::in_two;
use crate::plan::{self, Flow, MANY, PLAN_VERSION, Plan};
use crate::planner::optimal::{GAP, Optimal, SLACK};
use crate::planner::scale;
use crate::planner::{self, Planner, PlannerName, PlannerOptions};
use crate::priced;
use crate::problem::{Assignment, Problem, Share};
use crate::progress::Progress;
use crate::report::Report;
use crate::verdict::{Verdict, verdict, without_rival};
use optiq_net::{LinkLoad, Network};
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How to plan. The defaults are those of the thesis's experiments, with our candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanOptions {
    /// The planner. Default `optimal`.
    pub planner: PlannerName,
    /// Candidate paths per demand, at most. Default `None`: as [`PlanOptions::k_for`] says.
    pub k: Option<usize>,
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
    /// `optimal`: how long planning may take, from candidate paths to the checked plan, to within a tenth or two seconds;
    /// what it has by then is the plan, which then depends on the machine. Default `None`: until the gap is reached.
    pub time_limit: Option<Duration>,
    /// `optimal`: how much more congestion than the least, relatively, a plan with fewer forwarded bytes may have
    /// (thesis 7.2.1). Default 0.01, 1 %; finite and at least 0.
    pub slack: f64,
    /// Plan demands of all classes together, as if they were of one. Default false: class by class, which is right where links
    /// serve urgent bytes first. Where only ranks do, as they do everywhere so far, urgent paths would be chosen without a look
    /// at what shares their links, and urgent chunks wait there (claim O21).
    pub together: bool,
}

/// Candidate paths per demand where nothing is said, as published.
pub const K: usize = constants::K;

impl PlanOptions {
    /// Candidate paths per demand, at most, for these demands: [`PlanOptions::k`] if it is given, or else [`K`]. For
    /// `optimal` as many as `constants::CANDIDATE_PATHS` in all allow, from `constants::K_LEAST` to `constants::K_MOST` for a
    /// demand: it finds further paths by itself, but with few demands each may have more to begin with. Where few of the hosts
    /// send, or receive (`constants::CONCENTRATED_PART`), it is the cuts around these that bind, which takes more paths to fill:
    /// `constants::CANDIDATE_PATHS_CONCENTRATED`. Large problems on grids begin with fewer (`constants::CANDIDATE_PATHS_LARGE`,
    /// at least `constants::K_LEAST_LARGE`) and find others as walks.
    pub fn k_for(&self, net: &Network, demands: &[Demand]) -> usize {
        let concentrated = |end: fn(&Demand) -> optiq_net::NodeId| {
            let mut seen = vec![false; net.vertices()];
            for d in demands {
                if let Some(seen) = seen.get_mut(end(d).index()) {
                    *seen = true;
                }
            }
            seen.into_iter().filter(|&seen| seen).count() <= net.hosts() / CONCENTRATED_PART
        };
        let automatic = || match self.planner {
            PlannerName::Optimal if scale::is_large(net, demands) => {
                (CANDIDATE_PATHS_LARGE / demands.len().max(1)).clamp(K_LEAST_LARGE, K_LEAST)
            }
            PlannerName::Optimal => {
                let few = concentrated(|d| d.src) || concentrated(|d| d.dst);
                let paths = if few { CANDIDATE_PATHS_CONCENTRATED } else { CANDIDATE_PATHS };
                (paths / demands.len().max(1)).clamp(K_LEAST, K_MOST)
            }
            _ => K,
        };
        self.k.unwrap_or_else(automatic)
    }
}

impl Default for PlanOptions {
    fn default() -> Self {
        let PlannerOptions { maxload, chunk } = PlannerOptions::default();
        let (planner, method) = (PlannerName::Optimal, CandidateMethod::Auto);
        PlanOptions {
            planner,
            k: None,
            method,
            maxload,
            chunk,
            candidate_file: None,
            forwarders: None,
            gap: GAP,
            time_limit: None,
            slack: SLACK,
            together: false,
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
    /// Whether forwarding can help, in words; `None` if there is nothing to move.
    pub verdict: Option<Verdict>,
    /// Congestion and bound over time, if the planner is `optimal`; with classes, those of the most urgent one.
    pub trace: Vec<Progress>,
}

/// Plans `demands` on `net`. No demands give an empty plan.
///
/// Demands of several classes ([`Demand::class`]) are planned class by class, the most urgent first, the others beside
/// the load of those before them: what is urgent is planned as if there were nothing else (thesis 7.2.3). The plan's
/// bound is that of all demands together whatever their classes: it holds for every routing, so for this one too, but
/// a gap may then be due to the classes' order.
///
/// # Errors
/// [`PlanError`]: options out of range, demands that do not fit the network, a path file that does not serve, a
/// planner that fails.
pub fn run(net: &Network, demands: &[Demand], options: &PlanOptions) -> Result<Planned, PlanError> {
    run_with(net, demands, options, None)
}

/// A sentence to be said before [`run`] to whoever set the time limit, if planning will take longer, however little is done.
///
/// # Errors
/// [`PlanError`] for demands that do not fit the network.
pub fn announcement(net: &Network, demands: &[Demand], options: &PlanOptions) -> Result<Option<String>, PlanError> {
    check_demands(net, demands)?;
    let limit = options.time_limit.filter(|_| options.planner == PlannerName::Optimal);
    let estimate = || Estimate::new(net, demands, options.k_for(net, demands), options.planner);
    Ok(limit.and_then(|limit| estimate().announcement(limit)))
}

/// At most `k` candidate paths for every demand by any method; [`Candidates::generate`] knows those that look at pairs alone.
///
/// # Errors
/// Those of [`Candidates::generate`], and of the planner `optimal` for [`CandidateMethod::Priced`].
pub fn candidates(
    net: &Network,
    demands: &[Demand],
    k: usize,
    method: CandidateMethod,
) -> Result<Candidates, PlanError> {
    if method != CandidateMethod::Priced {
        return Candidates::generate(net, demands, k, method);
    }
    check_k(k)?;
    let initial = PlanOptions::default().k_for(net, demands);
    priced::candidates(Problem::new(net, demands, None)?, k, || {
        Candidates::generate(net, demands, initial, CandidateMethod::Auto)
    })
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
    if options.together && plan::classes::classes(demands).len() > 1 {
        let as_one: Vec<Demand> = demands.iter().map(|d| Demand { class: 0, ..*d }).collect();
        let mut planned = run_with(net, &as_one, options, candidates)?;
        for (planned, given) in planned.plan.demands.iter_mut().zip(demands) {
            planned.class = given.class;
        }
        planned.plan.demands_fingerprint = demands::fingerprint(demands);
        planned.report = Report::new(&planned.plan, net)?;
        return Ok(planned);
    }
    let start = Instant::now();
    if !(options.slack.is_finite() && options.slack >= 0.0) {
        return Err(PlanError::Slack(options.slack));
    }
    let parameters = PlannerOptions { maxload: options.maxload, chunk: options.chunk };
    let planner = planner::create(options.planner, &parameters)?;
    let planner: Box<dyn Planner> = match options.planner {
        PlannerName::Optimal => Box::new(Optimal::new(options.gap, options.time_limit)?.with_slack(options.slack)),
        _ => planner,
    };
    check_demands(net, demands)?;
    let k = options.k_for(net, demands);
    check_k(k)?;
    let deadline = match options.planner {
        PlannerName::Optimal => Deadline::new(start, options.time_limit),
        _ => Deadline::NEVER,
    };
    if options.planner == PlannerName::Optimal && !deadline.is_set() && demands.len() > DEMANDS_MOST {
        return Err(PlanError::TooManyDemands { demands: demands.len(), most: DEMANDS_MOST });
    }
    let estimate = Estimate::new(net, demands, k, options.planner);
    estimate.check_memory()?;
    let mut timings = Timings::default();
    // A file is read once, whatever the number of classes.
    let given = match (planner.needs_candidates(), candidates, &options.candidate_file) {
        (true, Some(candidates), _) => Some(Cow::Borrowed(candidates)),
        (true, None, Some(path)) => Some(Cow::Owned(candidates::file::read(path, net)?)),
        _ => None,
    };
    log::debug!(
        "plan: planner {} for {} demands on {} hosts, {}",
        options.planner,
        demands.len(),
        net.hosts(),
        match (&given, planner.needs_candidates(), options.k) {
            (_, false, _) => "which needs no candidate paths".to_owned(),
            (Some(_), true, _) => "with candidate paths that are given".to_owned(),
            (None, true, Some(k)) =>
                format!("at most {k} candidate paths for each by method {}", options.method.resolve(net)),
            (None, true, None) => format!(
                "at most {k} candidate paths for each, by their number, by method {}",
                options.method.resolve(net)
            ),
        }
    );
    timings.candidates_seconds = if given.is_some() { start.elapsed().as_secs_f64() } else { 0.0 };
    let stage = Stage { net, options, k, planner: planner.as_ref(), estimate, timings };
    let (mut assignment, timings) = stage.all_classes(demands, given, deadline)?;
    let (over_legs, trace) = (assignment.over_legs, std::mem::take(&mut assignment.trace));
    let problem = Problem::new(net, demands, None)?.with_forwarders(options.forwarders.as_deref());
    let (plan, [load, direct]) = finish_with_loads(&problem, planner.name(), assignment)?;
    let report = Report::with_loads(&plan, net, load, direct)?;
    let timings = Timings { total_seconds: start.elapsed().as_secs_f64(), ..timings };
    let verdict = match net.unused_equal_paths() {
        None => verdict(&plan, over_legs, &report.gain),
        Some(_) => without_rival(&plan, &report.gain),
    };
    log::debug!(
        "plan: congestion {:.4e} s, bound {:.4e} s set by {}, direct {:.4e} s",
        plan.congestion_seconds,
        plan.bound_seconds,
        plan.binding,
        plan.direct_congestion_seconds
    );
    Ok(Planned { plan, report, timings, trace, verdict })
}

/// What is the same for all classes, and the times spent on them so far.
struct Stage<'a> {
    net: &'a Network,
    options: &'a PlanOptions,
    k: usize,
    planner: &'a dyn Planner,
    estimate: Estimate,
    timings: Timings,
}

impl Stage<'_> {
    /// Candidates and planner for every class of `demands`, the most urgent first, each beside the load that those
    /// before it left (thesis 7.2.3). So a class's shares do not depend on less urgent ones. The candidates of each
    /// are taken from `given`, or else searched.
    fn all_classes(
        mut self,
        demands: &[Demand],
        given: Option<Cow<Candidates>>,
        deadline: Deadline,
    ) -> Result<(Assignment, Timings), PlanError> {
        let classes = plan::classes::classes(demands);
        if classes.len() <= 1 {
            return Ok((self.assign(demands, given, None, deadline)?, self.timings));
        }
        let mut unplanned = demands.len();
        let mut whole = Assignment { shares: vec![Vec::new(); demands.len()], ..Assignment::default() };
        let mut base = LinkLoad::empty(self.net);
        for (rank, class) in classes.into_iter().enumerate() {
            let members: Vec<usize> = (0..demands.len()).filter(|&i| demands[i].class == class).collect();
            let of_class: Vec<Demand> = members.iter().map(|&i| demands[i]).collect();
            let given = given.as_deref().map(Cow::Borrowed);
            let above = (rank > 0).then_some(&base);
            // Of the time that is left, as much as this class has of the demands that are left.
            let deadline = deadline.part(members.len() as f64 / unplanned as f64);
            unplanned -= members.len();
            let assignment = self.assign(&of_class, given, above, deadline).map_err(|e| e.renumbered(&members))?;
            for (&i, shares) in members.iter().zip(assignment.shares) {
                for share in shares.iter().filter(|s| s.bytes > 0) {
                    base.add(self.net, &share.links, share.bytes)?;
                }
                whole.shares[i] = shares;
            }
            // What holds for the most urgent demands alone holds for all demands together. A bound beside a base load
            // holds for the routing only that the base load came from.
            if rank == 0 {
                (whole.bound, whole.over_legs, whole.trace) =
                    (assignment.bound, assignment.over_legs, assignment.trace);
            }
        }
        Ok((whole, self.timings))
    }

    /// Candidates and planner for demands that are planned together.
    fn assign(
        &mut self,
        demands: &[Demand],
        given: Option<Cow<Candidates>>,
        base: Option<&LinkLoad>,
        deadline: Deadline,
    ) -> Result<Assignment, PlanError> {
        let (net, options, k, estimate) = (self.net, self.options, self.k, self.estimate);
        let forwarders = options.forwarders.as_deref();
        let usable = |found: Candidates| match forwarders.filter(|allowed| allowed.contains(&false)) {
            Some(allowed) => found.forwarding_only_at(net, allowed),
            None => Ok(found),
        };
        let rearranging = Instant::now();
        let given = match given.filter(|_| self.planner.needs_candidates()) {
            Some(given) if given.fits(demands) && !forwarders.is_some_and(|allowed| allowed.contains(&false)) => {
                Some(given)
            }
            Some(given) => Some(Cow::Owned(usable(given.into_owned().for_demands(net, demands)?)?)),
            None => None,
        };
        if given.is_some() {
            self.timings.candidates_seconds += rearranging.elapsed().as_secs_f64();
        }
        let planning = Instant::now();
        let problem = Problem::new(net, demands, given.as_deref())?.with_forwarders(forwarders).with_deadline(deadline);
        let problem = match base {
            Some(base) => problem.with_base(base)?,
            None => problem,
        };
        let search = LazyCandidates::new(move || {
            estimate.check_memory_of_candidates()?;
            let found = |k: usize, method: CandidateMethod| {
                usable(Candidates::generate_until(net, demands, k, method, deadline.part(SEARCHING))?)
            };
            match (options.method, options.planner) {
                (CandidateMethod::Priced, PlannerName::Optimal) => found(k, CandidateMethod::Auto),
                (CandidateMethod::Priced, _) => {
                    let own = PlanOptions { k: None, planner: PlannerName::Optimal, ..options.clone() };
                    priced::candidates(problem, k, || found(own.k_for(net, demands), CandidateMethod::Auto))
                }
                (method, _) => found(k, method),
            }
        });
        let problem = if self.planner.needs_candidates() { problem.with_search(&search) } else { problem };
        let assignment = self.planner.assign(&problem)?;
        self.timings.candidates_seconds += search.seconds();
        self.timings.plan_seconds += planning.elapsed().as_secs_f64() - search.seconds();
        Ok(assignment)
    }
}

/// The part of the time that is left for a stage which the search for candidates may take.
const SEARCHING: f64 = 0.5;

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
    finish_with_loads(problem, planner, assignment).map(|(plan, _)| plan)
}

/// [`finish`], with the load of the flows and that of the fabric's own routes.
fn finish_with_loads(
    problem: &Problem,
    planner: &'static str,
    mut assignment: Assignment,
) -> Result<(Plan, [LinkLoad; 2]), PlanError> {
    let (net, demands) = (problem.net(), problem.demands());
    let unsound = |problem: String| PlanError::Unsound { planner, problem };
    assignment.shares.iter_mut().for_each(|shares| shares.retain(|s| s.bytes > 0));
    let cut = |part: &[Vec<Share>]| {
        let mut cutter = legs::Cutter::new(net);
        part.iter().flatten().map(|share| cutter.stops(&share.links)).collect::<Vec<_>>()
    };
    let (first, second) = in_two(&assignment.shares, demands.len() >= MANY, cut);
    let mut stops = first.into_iter().chain(second.into_iter().flatten());
    let mut flows = Vec::with_capacity(demands.len());
    for (i, shares) in assignment.shares.into_iter().enumerate() {
        let flow = |share: Share| {
            let none = || unsound(format!("a path of demand {i} leaves the fabric's own routes between hosts"));
            Ok(Flow { links: share.links, stops: stops.next().flatten().ok_or_else(none)?, bytes: share.bytes })
        };
        flows.push(shares.into_iter().map(flow).collect::<Result<Vec<_>, PlanError>>()?);
    }
    // What a planner proved of all demands began with the cuts. With classes it is proved of the most urgent one alone.
    let one_class = plan::classes::classes(demands).len() <= 1;
    let bound = match assignment.bound {
        Some(proved) if one_class => proved,
        proved => {
            let cut = lower_bound(net, demands)?;
            proved.filter(|proved| proved.seconds > cut.seconds).unwrap_or(cut)
        }
    };
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
    if plan.flows.len() != demands.len() {
        return Err(unsound(format!("there are shares for {} demands of {}", plan.flows.len(), demands.len())));
    }
    // The load may be looked at where flows are sound.
    plan.check_flows(net).map_err(unsound)?;
    let load = plan.link_load(net)?;
    plan.congestion_seconds = plan::congestion(net, &load);
    // Where both are the same cut, they are rounded differently.
    plan.bound_seconds = bound.seconds.min(plan.congestion_seconds);
    plan.check_figures(net, &load, &direct).map_err(unsound)?;
    Ok((plan, [load, direct]))
}
