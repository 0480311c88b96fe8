//! The least congestion over every routing, to within a gap that the plan proves, and then the fewest forwarded bytes.
//!
//! 1. The candidates share every demand's bytes evenly. Path equilibration (module `equilibrium`) spreads them under
//!    prices that grow with a small power of a link's load; the power grows from round to round, as soon as what is
//!    left to gain at the present one is less than its *smoothing gap*: what it leaves between congestion and bound
//!    even at an equilibrium.
//! 2. The prices prove a bound over every routing, and show the paths that would be columns with negative reduced cost in the linear
//!    program over the candidates (module `pricing`).
//!    They are added, as far as they can be executed ([`crate::legs`]), and equilibration continues from the current shares. On a
//!    network with switches, where software chooses hosts and not links, the paths to add are chains of legs, and the
//!    prices prove a second bound, on everything that software can do (module `leg_pricing`).
//!
//! Where hosts are the adapters of nodes there is a closed form (module `adapters`); the search begins only if what it
//! finds is not within gap and slack of the bound.
//!
//! That ends when congestion and bound, whether of a cut ([`crate::bound`]) or of prices, are within the gap; when there
//! is nothing left to gain by paths that can be executed; at the time limit; or after so much work that the method must
//! have stalled. What is found then is the plan, with its true gap.
//!
//! 3. The second goal (thesis 7.2.1): among plans whose congestion is within the *slack* of the bound, few forwarded
//!    bytes and forwarders. A byte now also pays for every forwarder that it passes, and links up to the limit cost next
//!    to nothing. No step may lift a link above the limit. Flows too small to be worth a message move onto others, and
//!    in the end as many are left out as the limit allows and little work finds (module `sparsify`). Where the fabric's own routes are within the slack already, they are the plan.
//!
//! On grids too large for that (module `scale`) there are few columns to begin with, and those that are missing are the
//! cheapest walks dimension by dimension (module `walks`), which cost next to nothing to find and prove nothing: the bound is
//! then that of cuts.
//!
//! Beside a base load (more urgent demands, thesis 7.2.3) the congestion counts over the links that the demands take, and
//! only what is left to gain decides.
//!
//! Without a time limit the same problem has the same plan everywhere, whatever the number of threads.

use crate::bound::{Bound, describe_prices, lower_bound};
use crate::candidates::{Candidates, PathBuffer};
use crate::constants::{
    self, ALWAYS_WORTH, DROP_THRESHOLD, DROP_THRESHOLD_FORWARDING, FIRST_POWER, FORCED_HOPS_WORK, FORWARD_PRICE,
    FORWARDING_POWER_FIRST, FORWARDING_POWER_LAST, FORWARDING_SWEEPS, FORWARDING_SWEEPS_LARGE, FORWARDING_SWEEPS_LEAST,
    FORWARDING_SWEEPS_MOST, FORWARDING_WORK, FULL_SWEEP_EVERY, KEEP_COLUMNS, LAST_POWER, MERGE_FROM_POWER, MERGE_PART,
    ROUNDS_MOST, SPARE_GAP, SWEEPS_LEAST, SWEEPS_MOST, SWEEPS_MOST_LARGE, THIN_FIRST_ROUNDS, THIN_FIRST_SWEEPS,
    TOLERANCE, UNPRICED_ROUNDS, WHOLE_BYTES, WORK_MOST,
};
use crate::deadline::Deadline;
use crate::demands::Demand;
use crate::error::PlanError;
use crate::legs;
use crate::planner::adapters;
use crate::planner::direct::Direct;
use crate::planner::equilibrium::{Columns, Equilibrium, Seen};
use crate::planner::interface::Planner;
use crate::planner::leg_pricing::LegPricing;
use crate::planner::name::PlannerName;
use crate::planner::pricing::{self, ROUNDING, Roots, UNREACHED};
use crate::planner::round::largest_remainder;
use crate::planner::scale;
use crate::planner::sparsify;
use crate::planner::walks::{ForcedHops, Walks};
use crate::problem::{Assignment, Problem, Share};
pub use crate::progress::Progress;
use optiq_net::LinkId;
use std::fmt;
use std::time::{Duration, Instant};

/// The gap that is good enough where nothing else is said.
pub const GAP: f64 = constants::GAP;

/// The slack where nothing else is said.
pub const SLACK: f64 = constants::SLACK;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Optimal {
    gap: f64,
    slack: f64,
    time_limit: Option<Duration>,
}

impl Optimal {
    /// Ends at a proved gap of `gap` (0.01 is 1 %), or after `time_limit`, if one is given, to within a tenth or two
    /// seconds. In [`crate::pipeline`] the limit counts from before the candidate paths to the checked plan.
    ///
    /// # Errors
    /// [`PlanError::Gap`] if the gap is not above zero and finite, [`PlanError::TimeLimit`] for a limit of zero.
    pub fn new(gap: f64, time_limit: Option<Duration>) -> Result<Self, PlanError> {
        if !(gap.is_finite() && gap > 0.0) {
            return Err(PlanError::Gap(gap));
        }
        match time_limit {
            Some(Duration::ZERO) => Err(PlanError::TimeLimit),
            _ => Ok(Optimal { gap, slack: SLACK, time_limit }),
        }
    }

    /// Lets congestion be up to `slack` (not negative; 0.01 is 1 %) above the bound where that saves forwarding.
    pub fn with_slack(self, slack: f64) -> Self {
        Optimal { slack, ..self }
    }
}

/// What is found without a search.
enum Found {
    /// A plan, and the bound that it is near enough to.
    Plan(Bound),
    /// Only the bound of cuts.
    Bound(Bound),
}

impl Optimal {
    /// Looks whether the fabric's own routes, `direct`, will do, which take `seconds`, or where hosts are adapters, the closed form, whose
    /// shares then take the place of theirs. The bound of nodes is the cheaper one, and is asked first.
    fn without_search(&self, problem: &Problem, direct: &mut Assignment, seconds: f64) -> Result<Found, PlanError> {
        let nodes = adapters::Nodes::of(problem);
        let mut moved = nodes.as_ref().map(|nodes| nodes.moved(self.slack)).transpose()?;
        let mut moved_seconds = f64::INFINITY;
        if let Some(moved) = &mut moved {
            moved.swap(&mut direct.shares);
            moved_seconds = congestion(problem, direct);
            moved.swap(&mut direct.shares);
        }
        // Quotas are rounded up to whole bytes.
        let byte = problem.net().unit_capacity().recip();
        let mut is_enough = |bound: &Bound| {
            if problem.base().is_none() && seconds <= bound.seconds * (1.0 + self.slack) {
                log::debug!("optimal: the fabric's own routes are within the slack of {}", bound.binding);
                return true;
            }
            let limit = bound.seconds * (1.0 + self.gap) * (1.0 + self.slack) + byte;
            let Some(moved) = moved.as_mut().filter(|_| moved_seconds <= limit) else { return false };
            log::debug!("optimal: the adapters of nodes in closed form, at {}", bound.binding);
            moved.swap(&mut direct.shares);
            true
        };
        let of_nodes = nodes.map(|nodes| nodes.bound());
        if let Some(bound) = of_nodes.clone().filter(&mut is_enough) {
            return Ok(Found::Plan(bound));
        }
        let cut = lower_bound(problem.net(), problem.demands())?;
        let bound = of_nodes.filter(|bound| bound.seconds > cut.seconds).unwrap_or(cut);
        Ok(if is_enough(&bound) { Found::Plan(bound) } else { Found::Bound(bound) })
    }
}

impl Planner for Optimal {
    fn id(&self) -> PlannerName {
        PlannerName::Optimal
    }

    fn needs_candidates(&self) -> bool {
        true
    }

    fn assign(&self, problem: &Problem) -> Result<Assignment, PlanError> {
        let start = Instant::now();
        let deadline = match problem.deadline() {
            deadline if deadline.is_set() => deadline,
            _ => Deadline::new(start, self.time_limit),
        };
        let demands = problem.demands();
        if demands.iter().all(|d| d.bytes == 0) {
            return Ok(Assignment { shares: vec![Vec::new(); demands.len()], ..Assignment::default() });
        }
        let routing = Instant::now();
        let mut direct = Direct.assign(problem)?;
        let direct_seconds = congestion(problem, &direct);
        let seconds_per_flow = routing.elapsed().as_secs_f64() / demands.len() as f64;
        let cut = match self.without_search(problem, &mut direct, direct_seconds)? {
            Found::Plan(bound) => return Ok(Assignment { bound: Some(bound), ..direct }),
            Found::Bound(cut) => cut,
        };
        // What follows goes through all flows about as often, however long that takes on this machine.
        let deadline = deadline.reserving(FINISHING * FLOWS * seconds_per_flow * demands.len() as f64);
        let candidates = problem.candidates(self.name())?;
        let mut search = Search::new(problem, columns(demands, candidates, &direct, deadline), cut, start);
        let searching = deadline.keeping(SECOND_GOAL);
        search.run(self.gap * (1.0 - SPARE_GAP), &|| searching.stop());
        log::debug!("search: {:.3} s", start.elapsed().as_secs_f64());
        search.minimise_forwarding(self.slack, &direct, deadline, seconds_per_flow);
        log::debug!("second goal: {:.3} s", start.elapsed().as_secs_f64());
        let found = Assignment { shares: search.shares(), ..Assignment::default() };
        // Where bytes are few, rounding may cost more than was gained.
        let best = if direct_seconds < congestion(problem, &found) { direct } else { found };
        let without_base = problem.base().is_none();
        let over_legs = (without_base && search.over_legs > 0.0).then_some(search.over_legs);
        Ok(Assignment { bound: without_base.then(|| search.take_bound()), over_legs, trace: search.trace, ..best })
    }
}

/// How many times longer than the fabric's own routes take to be listed and summed it takes to make a plan of what was found.
/// A guess on the long side: only where a time limit ends planning depends on it.
const FINISHING: f64 = 8.0;

/// Flows for each demand that are made ready for, where a time limit ends the search.
const FLOWS: f64 = 3.0;

/// The part of the time that is kept for the second goal.
const SECOND_GOAL: f64 = 0.3;

/// All candidates as columns that share their demand's bytes evenly. Where time is over, the fabric's own routes must do.
fn columns(demands: &[Demand], candidates: &Candidates, direct: &Assignment, deadline: Deadline) -> Columns {
    let (mut columns, mut paths) = (Columns::new(), PathBuffer::default());
    let mut overdue = false;
    for (j, d) in demands.iter().enumerate() {
        overdue = overdue || j % 4096 == 4095 && deadline.overdue();
        if d.bytes > 0 && !overdue {
            paths.clear();
            candidates.expand(j, &mut paths);
            let share = d.bytes as f64 / paths.len() as f64;
            paths.iter().for_each(|path| columns.push(path.iter().map(|l| l.0), share));
        } else {
            direct.shares[j].iter().for_each(|s| columns.push(s.links.iter().map(|l| l.0), s.bytes as f64));
        }
        columns.end_row();
    }
    columns
}

/// The sum of what links cost, or `least` if that is no more. Most columns are far dearer than the cheapest: they are left early.
fn cost_below(links: &[u32], costs: &[u32], least: u32) -> u32 {
    let mut sum = 0u32;
    for &l in links {
        sum = sum.saturating_add(costs[l as usize]);
        if sum >= least {
            return least;
        }
    }
    sum
}

/// Max of load / capacity, in seconds, over the links that carry bytes of the assignment.
fn congestion(problem: &Problem, assignment: &Assignment) -> f64 {
    let base = problem.base_or_zero();
    let mut loads = base.clone();
    for share in assignment.shares.iter().flatten() {
        share.links.iter().for_each(|l| loads[l.index()] += share.bytes);
    }
    let ours = loads.iter().zip(&base).zip(problem.net().links()).filter(|((load, base), _)| load > base);
    ours.map(|((&load, _), l)| load as f64 / l.capacity).fold(0.0, f64::max)
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopReason {
    Proved,
    NothingToGain,
    WorkSpent,
    TimeLimit,
    RoundsSpent,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StopReason::Proved => "the gap is proved",
            StopReason::NothingToGain => "nothing is left to gain by paths that can be executed",
            StopReason::WorkSpent => "the work allowed is spent",
            StopReason::TimeLimit => "the time limit is reached",
            StopReason::RoundsSpent => "the rounds allowed are spent",
        })
    }
}

/// `spent` counts visits to links, of which [`WORK_MOST`] are allowed.
fn log_end(reason: StopReason, round: usize, spent: f64) {
    log::debug!("optimal: stops after round {round}, as {reason}; {spent:.1e} of {WORK_MOST:.1e} visits");
}

/// The search for a plan.
struct Search<'a> {
    problem: &'a Problem<'a>,
    state: Equilibrium,
    /// The best bound over every routing; with a base load, of the demands alone.
    bound: Bound,
    /// The links' shares in the sum that proves it, where that is not the cut but prices: `y` of module `pricing`, up to
    /// a factor.
    proof: Option<Vec<f64>>,
    roots: Roots<'a>,
    /// Where there are switches, the legs; and the best bound over everything that software can do there, in seconds.
    legs: Option<LegPricing<'a>>,
    /// On large grids, the walks that are priced in place of all paths.
    walks: Option<(Walks<'a>, ForcedHops)>,
    over_legs: f64,
    /// The largest part of what was paid that was too much, over all paths that can be executed, when last priced.
    reduced_cost_excess: f64,
    /// Whether paths need not be looked at one by one to know that they can be executed.
    all_executable: bool,
    threads: usize,
    /// Visits to links that a sweep of pricing makes, about.
    pricing_work: f64,
    start: Instant,
    trace: Vec<Progress>,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem<'a>, columns: Columns, bound: Bound, start: Instant) -> Self {
        let net = problem.net();
        let per_byte = net.links().iter().map(|l| l.capacity.recip()).collect();
        let base = problem.base_or_zero().into_iter().map(|bytes| bytes as f64).collect();
        let roots = Roots::new(net, problem.demands());
        let large = scale::is_large(net, problem.demands());
        let walks = if large { Walks::new(net) } else { None }.map(|walks| {
            let affordable =
                |&hops: &ForcedHops| walks.look_ups(hops) * problem.demands().len() as f64 <= FORCED_HOPS_WORK;
            let hops = [ForcedHops::Both, ForcedHops::One].into_iter().find(affordable).unwrap_or(ForcedHops::None);
            (walks, hops)
        });
        let pricing_work = match &walks {
            Some((walks, hops)) => walks.look_ups(*hops) * problem.demands().len() as f64,
            None => scale::pricing_work(net, roots.count()),
        };
        Search {
            problem,
            state: Equilibrium::new(columns, per_byte, base),
            bound,
            proof: None,
            legs: (net.vertices() > net.hosts()).then(|| LegPricing::new(net)),
            over_legs: 0.0,
            reduced_cost_excess: f64::INFINITY,
            all_executable: problem.forwarders().is_none() && legs::every_path_has_legs(net),
            threads: std::thread::available_parallelism().map_or(1, |n| n.get()).min(8),
            pricing_work,
            walks,
            roots,
            start,
            trace: Vec::new(),
        }
    }

    /// Notes congestion and bound of the moment.
    fn note(&mut self, congestion_seconds: f64) {
        let (seconds, bound_seconds) = (self.start.elapsed().as_secs_f64(), self.bound.seconds);
        self.trace.push(Progress { seconds, congestion_seconds, bound_seconds });
    }

    /// Iterates and prices in turn until the gap over every routing is at most `gap`, or there is nothing left to do.
    fn run(&mut self, gap: f64, stop: &(dyn Fn() -> bool + Sync)) {
        let mut doublings = FIRST_POWER;
        let (mut rounds_at_power, mut unpriced, mut spent) = (0, 0, 0.0);
        for round in 0..ROUNDS_MOST {
            let (seen, work) = self.equilibrate(doublings, round, gap, stop);
            self.state.reload();
            let congestion = self.state.congestion();
            self.state.price_links(doublings, congestion);
            let smoothing_gap = self.state.smoothing_gap();
            let proved = |s: &Self| {
                let bound = s.bound.seconds.max(s.over_legs);
                s.problem.base().is_none() && congestion <= bound * (1.0 + gap)
            };
            unpriced += 1;
            spent += work;
            let settled =
                smoothing_gap <= gap / 2.0 && seen.reduced_cost_excess() <= smoothing_gap || unpriced > UNPRICED_ROUNDS;
            let worth = self.walks.is_some()
                || smoothing_gap + seen.reduced_cost_excess() <= gap
                || settled
                || self.pricing_work <= work.max(ALWAYS_WORTH);
            let worth = worth && spent + self.pricing_work <= WORK_MOST;
            let entering = match worth && !proved(self) {
                true => {
                    let Some(entering) = self.price(stop) else {
                        return log_end(StopReason::TimeLimit, round, spent);
                    };
                    unpriced = 0;
                    spent += self.pricing_work;
                    Some(entering)
                }
                false => None,
            };
            self.note(congestion);
            log::debug!(
                "round {round}: p = 2^{doublings}, congestion {congestion:.4e} s, bound {:.4e} s, gap {:.3} %, smoothing gap {:.3} %, \
                 reduced-cost excess {:.3} %, {} columns, {} with negative reduced cost added, {:.3} s",
                self.bound.seconds,
                100.0 * (congestion / self.bound.seconds - 1.0),
                100.0 * smoothing_gap,
                100.0 * seen.reduced_cost_excess(),
                self.state.columns.len(),
                entering.as_ref().map_or(0, Vec::len),
                self.start.elapsed().as_secs_f64()
            );
            // Where pricing is out of reach, nothing will be added to the columns.
            let priced =
                if self.pricing_work > WORK_MOST { seen.reduced_cost_excess() } else { self.reduced_cost_excess };
            let settled = (entering.is_some() || self.pricing_work > WORK_MOST)
                && priced <= gap / 2.0
                && smoothing_gap <= gap / 2.0;
            let reason = if proved(self) {
                Some(StopReason::Proved)
            } else if settled && (self.nothing_else_can_help() || self.pricing_work > WORK_MOST) {
                Some(StopReason::NothingToGain)
            } else if spent > WORK_MOST {
                Some(StopReason::WorkSpent)
            } else if stop() {
                Some(StopReason::TimeLimit)
            } else {
                None
            };
            if let Some(reason) = reason {
                return log_end(reason, round, spent);
            }
            self.state.rebuild(entering.as_deref().unwrap_or_default(), KEEP_COLUMNS);
            rounds_at_power += 1;
            // Columns to add weigh as what the present ones have to gain does.
            let residual = if entering.is_some() { self.reduced_cost_excess } else { seen.reduced_cost_excess() };
            if smoothing_gap > gap / 2.0 && (residual <= smoothing_gap / 4.0 || rounds_at_power > 1) {
                // The smoothing gap falls about as the power grows.
                let further = |factor: f64| u32::from(residual <= smoothing_gap / 4.0 && smoothing_gap > factor * gap);
                doublings = (doublings + 1 + further(1.0) + further(4.0)).min(LAST_POWER);
                rounds_at_power = 0;
            }
        }
        log_end(StopReason::RoundsSpent, ROUNDS_MOST, spent);
    }

    /// Whether the bound is out of reach because the cheapest paths of all cannot be executed, or are not looked for, or
    /// because of a base load.
    fn nothing_else_can_help(&self) -> bool {
        !self.all_executable || self.walks.is_some() || self.problem.base().is_some()
    }

    /// Sweeps until little is left to gain by the columns; what the last sweep saw, and visits to links, about.
    fn equilibrate(&mut self, doublings: u32, round: usize, gap: f64, stop: &dyn Fn() -> bool) -> (Seen, f64) {
        let (mut seen, mut work) = (Seen::default(), 0.0);
        let most = if self.walks.is_some() { SWEEPS_MOST_LARGE } else { SWEEPS_MOST };
        for s in 0..most {
            let full = s % FULL_SWEEP_EVERY == 0;
            if full {
                self.state.reload();
                let reference = self.state.congestion();
                self.state.price_links(doublings, reference);
            }
            let thin = match round {
                0 if s < 2 => THIN_FIRST_SWEEPS,
                0 | 1 => THIN_FIRST_ROUNDS,
                _ => 0.0,
            };
            seen = self.state.sweep(full, thin, DROP_THRESHOLD, stop);
            work += self.state.work(full);
            if s + 1 >= SWEEPS_LEAST && seen.reduced_cost_excess() <= TOLERANCE * gap || stop() {
                break;
            }
        }
        (seen, work)
    }

    /// Improves the bound by the links' prices, and gives the paths that are cheaper than the columns, in the order of
    /// demands. `None` if stopped.
    fn price(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> Option<Vec<(usize, Vec<u32>)>> {
        let (net, demands) = (self.problem.net(), self.problem.demands());
        let costs = pricing::whole_costs(self.state.prices());
        if let Some((walks, hops)) = &self.walks {
            let found = self.price_walks(walks, *hops, &costs, stop);
            self.reduced_cost_excess = found.1;
            return (!stop()).then_some(found.0);
        }
        let columns = &self.state.columns;
        let cost = |i: usize| columns.links(i).iter().fold(0u32, |sum, &l| sum.saturating_add(costs[l as usize]));
        let cheapest =
            |j: usize| columns.row(j).fold(UNREACHED, |least, i| cost_below(columns.links(i), &costs, least));
        let mut reachable: Vec<u32> = (0..columns.demands()).map(cheapest).collect();
        // Where there are switches the cheapest paths of all only prove the bound.
        let switched = self.legs.is_some();
        let limit = |j: usize| if switched { 0 } else { reachable[j] };
        let found = pricing::sweep(net, &self.roots, &costs, self.threads, &limit, stop)?;
        let sum = |costs: &[u32]| demands.iter().zip(costs).map(|(d, &c)| d.bytes as f64 * f64::from(c)).sum::<f64>();
        let y: Vec<f64> = costs.iter().zip(net.links()).map(|(&c, l)| f64::from(c) * l.capacity).collect();
        let weight: f64 = y.iter().sum();
        let seconds = |paid: f64| paid / weight * (1.0 - ROUNDING);
        let (proved, mut paths, mut over_legs) = (seconds(sum(&found.cost)), found.paths, 0.0);
        let used = (0..columns.len()).filter(|&i| columns.bytes[i] > 0.0);
        let pays: f64 = used.map(|i| columns.bytes[i] * f64::from(cost(i))).sum();
        if let Some(legs) = &self.legs {
            let costs: Vec<f64> = costs.iter().map(|&c| f64::from(c)).collect();
            let forwarders = self.problem.forwarders();
            let complete = legs.sweep(demands, &costs, forwarders, stop, |j, cost, path| {
                if cost < f64::from(reachable[j]) {
                    reachable[j] = cost as u32;
                    paths.push((j, path().into_iter().map(|l| l.0).collect()));
                }
            });
            if !complete {
                return None;
            }
            paths.sort_by_key(|path| path.0);
            over_legs =
                legs.bound(demands, &costs, forwarders, stop).filter(|paid| paid.is_finite()).map_or(0.0, seconds);
        } else {
            paths.retain(|(_, path)| self.executable(path));
            paths.iter().for_each(|(j, _)| reachable[*j] = found.cost[*j]);
        }
        // What demands pay on their columns, or on the paths that are about to be added.
        self.reduced_cost_excess = if pays > 0.0 { 1.0 - sum(&reachable) / pays } else { 0.0 };
        self.over_legs = self.over_legs.max(over_legs);
        if !found.cost.contains(&UNREACHED) && proved > self.bound.seconds {
            self.bound.seconds = proved;
            self.proof = Some(y);
        }
        Some(paths)
    }

    /// [`Search::price`] by walks, which prove no bound: those that are cheaper than the columns by enough to matter, and what
    /// demands pay too much beside them.
    fn price_walks(
        &self,
        walks: &Walks,
        hops: ForcedHops,
        costs: &[u32],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> (Vec<(usize, Vec<u32>)>, f64) {
        let (demands, columns) = (self.problem.demands(), &self.state.columns);
        let cost = |i: usize| columns.links(i).iter().map(|&l| u64::from(costs[l as usize])).sum::<u64>();
        let mut least: Vec<u64> = Vec::with_capacity(demands.len());
        let mut pays = 0.0;
        for j in 0..columns.demands() {
            let mut cheapest = u64::MAX;
            for i in columns.row(j) {
                let cost = cost(i);
                cheapest = cheapest.min(cost);
                pays += columns.bytes[i] * cost as f64;
            }
            least.push(cheapest);
        }
        // A walk that is only just cheaper is another column to carry along for nothing.
        let limit = |j: usize| least[j] - least[j] / 64;
        let found = walks.cheapest(demands, costs, hops, self.threads, &limit, stop);
        let mut paths = Vec::with_capacity(found.len());
        for (j, cost, links) in found {
            if self.executable(&links) {
                least[j] = cost;
                paths.push((j, links));
            }
        }
        let needed = demands.iter().zip(&least).filter(|(d, _)| d.bytes > 0).map(|(d, &c)| d.bytes as f64 * c as f64);
        let reduced_cost_excess = if pays > 0.0 { 1.0 - needed.sum::<f64>() / pays } else { 0.0 };
        (paths, reduced_cost_excess)
    }

    /// The bound, and what proves it in words.
    fn take_bound(&mut self) -> Bound {
        if let Some(y) = self.proof.take() {
            self.bound.binding = describe_prices(self.problem.net(), self.problem.demands(), &y);
        }
        self.bound.clone()
    }

    fn executable(&self, path: &[u32]) -> bool {
        if self.all_executable {
            return true;
        }
        let links: Vec<LinkId> = path.iter().copied().map(LinkId).collect();
        let forwarders = self.problem.forwarders();
        legs::stops(self.problem.net(), &links)
            .is_some_and(|stops| legs::between(&stops).iter().all(|&host| legs::may_forward(forwarders, host)))
    }

    /// The second goal: see the module.
    ///
    /// With a deadline, what it takes is known from how long a flow takes on this machine: columns without bytes are not
    /// looked at, or the whole of it is left out, where there is no time for it.
    fn minimise_forwarding(&mut self, slack: f64, direct: &Assignment, deadline: Deadline, seconds_per_flow: f64) {
        let flows = self.state.columns.bytes.iter().filter(|&&bytes| bytes > 0.0).count();
        let deadline = deadline.reserving(FINISHING * flows as f64 * seconds_per_flow);
        let too_late = |columns: usize| !deadline.allows(FINISHING * (flows + columns) as f64 * seconds_per_flow);
        if too_late(flows) {
            log::debug!("optimal: no time is left for the second goal");
            return;
        }
        let net = self.problem.net();
        let own: Vec<(usize, Vec<u32>)> = direct
            .shares
            .iter()
            .enumerate()
            .flat_map(|(j, shares)| shares.iter().map(move |s| (j, s.links.iter().map(|l| l.0).collect())))
            .collect();
        // On large problems what has no bytes costs more than it may save.
        let few = self.walks.is_some() || too_late(self.state.columns.len());
        let keep = if few { 0.0 } else { f64::INFINITY };
        self.state.rebuild(&own, keep);
        drop(own);
        let columns = &mut self.state.columns;
        let (mut cutter, mut links) = (legs::Cutter::new(net), Vec::new());
        for i in 0..columns.len() {
            links.clear();
            links.extend(columns.links(i).iter().copied().map(LinkId));
            let stops = cutter.stops(&links).map_or(links.len() + 1, |stops| stops.len());
            columns.forwards[i] = stops.saturating_sub(2) as f64;
        }
        self.state.reload();
        let limit = self.bound.seconds.max(self.over_legs) * (1.0 + slack) * (1.0 - WHOLE_BYTES);
        let limit = self.state.congestion().max(limit);
        (self.state.forward_price, self.state.ceiling) = (FORWARD_PRICE, 1.0);
        // Small problems can afford more sweeps, and fewer flows matter there as they do elsewhere.
        let most = ((FORWARDING_WORK / self.state.work(true).max(1.0)) as usize)
            .clamp(FORWARDING_SWEEPS, FORWARDING_SWEEPS_MOST);
        let most = if self.walks.is_some() { FORWARDING_SWEEPS_LARGE } else { most };
        let mut sweeps = 0;
        for doublings in FORWARDING_POWER_FIRST..=FORWARDING_POWER_LAST {
            for s in 0..most {
                let full = s % (FORWARDING_SWEEPS / 2) == 0;
                if full {
                    self.state.reload();
                    self.state.price_links(doublings, limit);
                }
                self.state.sweep(
                    full,
                    if doublings >= MERGE_FROM_POWER { MERGE_PART } else { 0.0 },
                    DROP_THRESHOLD_FORWARDING,
                    &|| deadline.overdue(),
                );
                sweeps += 1;
                if sweeps >= FORWARDING_SWEEPS_LEAST && deadline.stop() || deadline.overdue() {
                    return;
                }
            }
        }
        sparsify::reduce(&mut self.state, limit);
    }

    /// The columns' bytes, in whole bytes.
    fn shares(&self) -> Vec<Vec<Share>> {
        let columns = &self.state.columns;
        let of_demand = |(j, d): (usize, &Demand)| {
            let row = columns.row(j);
            let bytes = largest_remainder(d.bytes, &columns.bytes[row.clone()]);
            let links = |i| columns.links(i).iter().copied().map(LinkId).collect();
            let used = row.zip(bytes).filter(|&(_, bytes)| bytes > 0);
            used.map(|(i, bytes)| Share { links: links(i), bytes }).collect()
        };
        self.problem.demands().iter().enumerate().map(of_demand).collect()
    }
}
