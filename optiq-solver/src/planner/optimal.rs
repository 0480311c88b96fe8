//! The least congestion over every routing, to within a gap that the plan proves, and then the fewest forwarded bytes.
//!
//! 1. The candidates share every demand's bytes evenly. Path equilibration (module `equilibrium`) spreads them under
//!    prices that grow with a small power of a link's load; the power grows from round to round, as soon as what is
//!    left to gain at the present one is less than what it cannot see (its *blur*).
//! 2. The prices prove a bound over every routing, and show the paths that the candidates lack (module `pricing`).
//!    They are added, as far as they can be executed ([`crate::legs`]), and equilibration goes on from where it is. On a
//!    network with switches, where software chooses hosts and not links, the paths to add are chains of legs, and the
//!    prices prove a second bound, on everything that software can do (module `leg_pricing`).
//!
//! That ends when congestion and bound, whether of a cut ([`crate::bound`]) or of prices, are within the gap; when there
//! is nothing left to gain by paths that can be executed; at the time limit; or after so much work that the method must
//! have stalled. What is found then is the plan, with its true gap.
//!
//! 3. The second goal (thesis 7.2.1): among plans whose congestion is within the *slack* of the bound, few forwarded
//!    bytes and forwarders. A byte now also pays for every forwarder that it passes, and links up to the limit cost next
//!    to nothing. No step may lift a link above the limit. Flows too small to be worth a message move onto others, and
//!    in the end as many are left out as the limit allows and little work finds (module `fewer`). Where the fabric's own routes are within the slack already, they are the plan.
//!
//! Beside a base load (more urgent demands, thesis 7.2.3) the congestion counts over the links that the demands take, and
//! only what is left to gain decides.
//!
//! Without a time limit the same problem has the same plan everywhere, whatever the number of threads.

use crate::bound::{Bound, describe_prices, lower_bound};
use crate::candidates::PathBuffer;
use crate::demands::Demand;
use crate::error::PlanError;
use crate::legs;
use crate::planner::direct::Direct;
use crate::planner::equilibrium::{Columns, Equilibrium, Seen};
use crate::planner::fewer;
use crate::planner::interface::Planner;
use crate::planner::leg_pricing::LegPricing;
use crate::planner::pricing::{self, ROUNDING, Roots, UNREACHED};
use crate::planner::round::largest_remainder;
use crate::problem::{Assignment, Problem, Share};
pub use crate::progress::Progress;
use optiq_net::LinkId;
use std::time::{Duration, Instant};

/// The gap that is good enough where nothing else is said: 1 %.
pub const GAP: f64 = 0.01;

/// The slack where nothing else is said: 1 %.
pub const SLACK: f64 = 0.01;

/// This part of the gap is left to rounding, and to the second goal.
const SPARE: f64 = 0.2;

/// Rounds, at most.
const ROUNDS: usize = 200;

/// Sweeps of a round, at most, and at least.
const SWEEPS: usize = 30;
const SWEEPS_LEAST: usize = 5;

/// Every so many sweeps one looks at all columns.
const FULL: usize = 15;

/// The first power, and the last, as numbers of doublings.
const FIRST: u32 = 3;
const LAST: u32 = 10;

/// A round's sweeps end when no more than this part of the gap is left to gain.
const CALM: f64 = 0.05;

/// Columns without bytes are forgotten if they are dearer than this many times the cheapest of their demand.
const KEEP: f64 = 1.2;

/// What remains on a column is not worth a flow below this part of what a link carries in all.
const DUST: f64 = 1e-5;

/// As far as this part of a demand while the first, many columns thin out, in the first sweeps and in the first rounds.
const THIN: [f64; 2] = [0.02, 0.01];

/// A visit to a link costs pricing about so many times what it costs a sweep. Where that makes it dearer than a round of
/// sweeps, it is made only when these have settled or it may prove the gap, but after so many rounds in any case.
const PRICING_VISIT: f64 = 3.0;
const PATIENCE: usize = 8;

/// So many visits are always worth it: a tenth of a second.
const CHEAP: f64 = 5e7;

/// Visits to links in all, at most: some twenty seconds.
const WORK: f64 = 4e9;

/// The second goal: the powers, as doublings, sweeps for each, and the price of a forwarder relative to that of a link at
/// its limit.
const ECONOMY: std::ops::RangeInclusive<u32> = 4..=9;
const ECONOMIES: usize = 16;
const ECONOMIES_LEAST: usize = 4;
const MANY_ECONOMIES: usize = 200;
const ECONOMY_WORK: f64 = 3e6;

/// From this power on, as doublings, flows below this part of their demand move onto others where there is room: on
/// Blue Gene/Q shapes 15 % fewer flows for 2 % more forwarded bytes.
const FEWER: u32 = 6;
const FEW: f64 = 0.1;
const FORWARD_PRICE: f64 = 0.2;

/// Rounding to whole bytes must not lift a link above the limit.
const WHOLE_BYTES: f64 = 2e-5;

/// What remains on a column then is not worth a flow below this part of what a link carries in all.
const SMALL: f64 = 1e-2;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Optimal {
    gap: f64,
    slack: f64,
    time_limit: Option<Duration>,
}

impl Optimal {
    /// Ends at a proved gap of `gap` (0.01 is 1 %), or after `time_limit`, if one is given. The limit is looked at
    /// between sweeps; the start and the last step come on top of it.
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

impl Planner for Optimal {
    fn name(&self) -> &'static str {
        "optimal"
    }

    fn needs_candidates(&self) -> bool {
        true
    }

    fn assign(&self, problem: &Problem) -> Result<Assignment, PlanError> {
        let start = Instant::now();
        let deadline = self.time_limit.and_then(|limit| start.checked_add(limit));
        let stop = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let candidates = problem.candidates(self.name())?;
        let demands = problem.demands();
        if demands.iter().all(|d| d.bytes == 0) {
            return Ok(Assignment { shares: vec![Vec::new(); demands.len()], ..Assignment::default() });
        }
        let cut = lower_bound(problem.net(), demands)?;
        let direct = Direct.assign(problem)?;
        let direct_seconds = congestion(problem, &direct);
        if problem.base().is_none() && direct_seconds <= cut.seconds * (1.0 + self.slack) {
            log::debug!("optimal: the fabric's own routes are within the slack of {}", cut.binding);
            return Ok(Assignment { bound: Some(cut), ..direct });
        }
        let (mut columns, mut paths) = (Columns::new(), PathBuffer::default());
        for (j, d) in demands.iter().enumerate() {
            if d.bytes > 0 {
                paths.clear();
                candidates.expand(j, &mut paths);
                let share = d.bytes as f64 / paths.len() as f64;
                paths.iter().for_each(|path| columns.push(path.iter().map(|l| l.0), share));
            }
            columns.end_row();
        }
        let mut search = Search::new(problem, columns, cut, start);
        search.run(self.gap * (1.0 - SPARE), &stop);
        log::debug!("search: {:.3} s", start.elapsed().as_secs_f64());
        search.economise(self.slack, &direct, &stop);
        log::debug!("second goal: {:.3} s", start.elapsed().as_secs_f64());
        let found = Assignment { shares: search.shares(), ..Assignment::default() };
        // Where bytes are few, rounding may cost more than was gained.
        let best = if direct_seconds < congestion(problem, &found) { direct } else { found };
        let alone = problem.base().is_none();
        let over_legs = (alone && search.over_legs > 0.0).then_some(search.over_legs);
        Ok(Assignment { bound: alone.then(|| search.take_bound()), over_legs, trace: search.trace, ..best })
    }
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
    over_legs: f64,
    /// The largest part of what was paid that was too much, over all paths that can be executed, when last priced.
    excess: f64,
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
        Search {
            problem,
            state: Equilibrium::new(columns, per_byte, base),
            bound,
            proof: None,
            legs: (net.vertices() > net.hosts()).then(|| LegPricing::new(net)),
            over_legs: 0.0,
            excess: f64::INFINITY,
            all_executable: problem.forwarders().is_none() && legs::every_path_has_legs(net),
            threads: std::thread::available_parallelism().map_or(1, |n| n.get()).min(8),
            pricing_work: PRICING_VISIT * roots.count() as f64 * net.links().len() as f64,
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
        let mut doublings = FIRST;
        let (mut rounds_at_power, mut unpriced, mut spent) = (0, 0, 0.0);
        for round in 0..ROUNDS {
            let (seen, work) = self.equilibrate(doublings, round, gap, stop);
            self.state.reload();
            let congestion = self.state.congestion();
            self.state.price_links(doublings, congestion);
            let blur = self.state.blur();
            let proved = |s: &Self| {
                let bound = s.bound.seconds.max(s.over_legs);
                s.problem.base().is_none() && congestion <= bound * (1.0 + gap)
            };
            unpriced += 1;
            spent += work;
            let settled = blur <= gap / 2.0 && seen.excess() <= blur || unpriced > PATIENCE;
            let worth = blur + seen.excess() <= gap || settled || self.pricing_work <= work.max(CHEAP);
            let worth = worth && spent + self.pricing_work <= WORK;
            let lacking = match worth && !proved(self) {
                true => {
                    let Some(lacking) = self.price(stop) else { return };
                    unpriced = 0;
                    spent += self.pricing_work;
                    Some(lacking)
                }
                false => None,
            };
            self.note(congestion);
            log::debug!(
                "round {round}: p = 2^{doublings}, congestion {congestion:.4e} s, bound {:.4e} s, gap {:.3} %, blur {:.3} %, \
                 excess {:.3} %, {} columns, {} lack, {:.3} s",
                self.bound.seconds,
                100.0 * (congestion / self.bound.seconds - 1.0),
                100.0 * blur,
                100.0 * seen.excess(),
                self.state.columns.len(),
                lacking.as_ref().map_or(0, Vec::len),
                self.start.elapsed().as_secs_f64()
            );
            let settled = lacking.is_some() && self.excess <= gap / 2.0 && blur <= gap / 2.0;
            if proved(self) || settled && self.nothing_else_can_help() || spent > WORK || stop() {
                return;
            }
            self.state.rebuild(lacking.as_deref().unwrap_or_default(), KEEP);
            rounds_at_power += 1;
            // Paths that lack weigh as what the columns have to gain does.
            let unrest = if lacking.is_some() { self.excess } else { seen.excess() };
            if blur > gap / 2.0 && (unrest <= blur / 4.0 || rounds_at_power > 1) {
                // The blur falls about as the power grows.
                let calm = |factor: f64| u32::from(unrest <= blur / 4.0 && blur > factor * gap);
                doublings = (doublings + 1 + calm(1.0) + calm(4.0)).min(LAST);
                rounds_at_power = 0;
            }
        }
    }

    /// Whether the bound is out of reach because the cheapest paths of all cannot be executed, or because of a base load.
    fn nothing_else_can_help(&self) -> bool {
        !self.all_executable || self.problem.base().is_some()
    }

    /// Sweeps until little is left to gain by the columns; what the last sweep saw, and visits to links, about.
    fn equilibrate(&mut self, doublings: u32, round: usize, gap: f64, stop: &dyn Fn() -> bool) -> (Seen, f64) {
        let (mut seen, mut work) = (Seen::default(), 0.0);
        for s in 0..SWEEPS {
            let full = s % FULL == 0;
            if full {
                self.state.reload();
                let reference = self.state.congestion();
                self.state.price_links(doublings, reference);
            }
            let thin = match round {
                0 if s < 2 => THIN[0],
                0 | 1 => THIN[1],
                _ => 0.0,
            };
            seen = self.state.sweep(full, thin, DUST);
            work += self.state.work(full);
            if s + 1 >= SWEEPS_LEAST && seen.excess() <= CALM * gap || stop() {
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
        let columns = &self.state.columns;
        let cost = |i: usize| columns.links(i).iter().fold(0u32, |sum, &l| sum.saturating_add(costs[l as usize]));
        let mut reachable: Vec<u32> =
            (0..columns.demands()).map(|j| columns.row(j).map(cost).min().unwrap_or(UNREACHED)).collect();
        // Where there are switches the cheapest paths of all only prove the bound.
        let switched = self.legs.is_some();
        let limit = |j: usize| if switched { 0 } else { reachable[j] };
        let found = pricing::sweep(net, &self.roots, &costs, self.threads, &limit, stop)?;
        let sum = |costs: &[u32]| demands.iter().zip(costs).map(|(d, &c)| d.bytes as f64 * f64::from(c)).sum::<f64>();
        let y: Vec<f64> = costs.iter().zip(net.links()).map(|(&c, l)| f64::from(c) * l.capacity).collect();
        let weight: f64 = y.iter().sum();
        let seconds = |paid: f64| paid / weight * (1.0 - ROUNDING);
        let (proved, mut paths, mut over_legs) = (seconds(sum(&found.cost)), found.paths, 0.0);
        let pays: f64 = (0..columns.len()).map(|i| columns.bytes[i] * f64::from(cost(i))).sum();
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
        self.excess = if pays > 0.0 { 1.0 - sum(&reachable) / pays } else { 0.0 };
        self.over_legs = self.over_legs.max(over_legs);
        if !found.cost.contains(&UNREACHED) && proved > self.bound.seconds {
            self.bound.seconds = proved;
            self.proof = Some(y);
        }
        Some(paths)
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
    fn economise(&mut self, slack: f64, direct: &Assignment, stop: &dyn Fn() -> bool) {
        let net = self.problem.net();
        let own: Vec<(usize, Vec<u32>)> = direct
            .shares
            .iter()
            .enumerate()
            .flat_map(|(j, shares)| shares.iter().map(move |s| (j, s.links.iter().map(|l| l.0).collect())))
            .collect();
        self.state.rebuild(&own, f64::INFINITY);
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
        let most = ((ECONOMY_WORK / self.state.work(true).max(1.0)) as usize).clamp(ECONOMIES, MANY_ECONOMIES);
        let mut sweeps = 0;
        for doublings in ECONOMY {
            for s in 0..most {
                let full = s % (ECONOMIES / 2) == 0;
                if full {
                    self.state.reload();
                    self.state.price_links(doublings, limit);
                }
                self.state.sweep(full, if doublings >= FEWER { FEW } else { 0.0 }, SMALL);
                sweeps += 1;
                if sweeps >= ECONOMIES_LEAST && stop() {
                    return;
                }
            }
        }
        fewer::reduce(&mut self.state, limit);
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
