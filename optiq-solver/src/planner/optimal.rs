//! The least congestion over every routing, to within a gap that the plan proves.
//!
//! 1. Heuristic 2 ([`super::heu2`]) gives a start, and cuts ([`crate::bound`]) a first bound.
//! 2. A first-order method (module `pdhg`) lowers the congestion over the candidate paths, and finds the prices of
//!    links that prove how far it can be lowered.
//! 3. Those prices prove a bound over every routing, and show the paths that the candidates lack (module `pricing`).
//!    They are added, as far as they can be executed ([`crate::legs`]), and the method goes on from where it is.
//!
//! That ends when congestion and bound, whether of a cut or of prices, are within the gap; when there is no path to
//! add (on a switched network software cannot choose the links between switches, so that the bound may be out of
//! reach of any plan); at the time limit; or after so much work that the method must have stalled. What is found then
//! is
//! the plan, with its true gap.
//!
//! 4. What is left of the gap is spent on simplicity: flows, the smallest first, move onto another flow of their
//!    demand, the one with the fewest links, wherever no link gets too loaded by it. The rest is rounded to whole
//!    bytes by largest remainder.
//!
//! Without a time limit the same problem has the same plan everywhere.

use super::heu2::Heuristic2;
use super::pdhg::{Game, Pdhg, Until};
use super::round::largest_remainder;
use super::{Planner, pricing};
use crate::bound::{Bound, lower_bound};
use crate::demands::Demand;
use crate::error::PlanError;
use crate::legs;
use crate::problem::{Assignment, Problem, Share};
use optiq_net::LinkId;
use std::time::{Duration, Instant};

/// The gap that is good enough where nothing else is said: 1 %.
pub const GAP: f64 = 0.01;

/// This part of the gap is left to the last step and to rounding.
const SPARE: f64 = 0.2;

/// Shares below this, divided by the number of a demand's paths, are noise.
const DUST: f64 = 5e-4;

/// The gap over the candidates at which their prices are good enough to look for further paths the first time. Later
/// it
/// is half the gap over every routing: prices need not be better than the paths that they are for.
const COARSE: f64 = 0.1;

/// Iterations after paths were added, at least.
const AT_LEAST: u64 = 50;

/// Rounds of pricing, at most.
const ROUNDS: usize = 100;

/// Iterations in all, at most, and visits to links.
const ITERATIONS: u64 = 20_000;
const WORK: u64 = 20_000_000_000;

/// A path is added if it is cheaper than the candidates by so much, relatively.
const CHEAPER: f64 = 1e-6;

/// Sums of prices are rounded; what they prove is lowered by so much, relatively.
const ROUNDING: f64 = 1e-9;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Optimal {
    gap: f64,
    time_limit: Option<Duration>,
}

impl Optimal {
    /// Ends at a proved gap of `gap` (0.01 is 1 %), or after `time_limit`, if one is given. The limit is looked at
    /// between
    /// iterations; the start and the last step come on top of it.
    ///
    /// # Errors
    /// [`PlanError::Gap`] if the gap is not above zero and finite, [`PlanError::TimeLimit`] for a limit of zero.
    pub fn new(gap: f64, time_limit: Option<Duration>) -> Result<Self, PlanError> {
        if !(gap.is_finite() && gap > 0.0) {
            return Err(PlanError::Gap(gap));
        }
        match time_limit {
            Some(Duration::ZERO) => Err(PlanError::TimeLimit),
            _ => Ok(Optimal { gap, time_limit }),
        }
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
        let deadline = self.time_limit.and_then(|limit| Instant::now().checked_add(limit));
        let stop = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let demands = problem.demands();
        let moving: Vec<usize> = (0..demands.len()).filter(|&j| demands[j].bytes > 0).collect();
        problem.candidates(self.name())?;
        if moving.is_empty() {
            return Ok(Assignment { shares: vec![Vec::new(); demands.len()], bound: None });
        }
        let total: u64 = demands.iter().map(|d| d.bytes).sum();
        let start = Heuristic2::new((total / moving.len() as u64 / 16).max(1))?.assign(problem)?;
        let cut = lower_bound(problem.net(), demands)?;
        let mut search = Search::new(problem, self.name(), moving, &start, cut)?;
        search.run(self.gap * (1.0 - SPARE), &stop);
        let limit = search.bound.seconds / search.unit_seconds * (1.0 + self.gap);
        let found = search.assignment(limit);
        // Where bytes are few, rounding may cost more than was gained.
        let best = if congestion(problem, &start) < congestion(problem, &found) { start } else { found };
        Ok(Assignment { bound: Some(search.bound), ..best })
    }
}

/// Max over links of load / capacity, in seconds.
fn congestion(problem: &Problem, assignment: &Assignment) -> f64 {
    let mut loads = vec![0u64; problem.net().links().len()];
    for share in assignment.shares.iter().flatten() {
        share.links.iter().for_each(|l| loads[l.index()] += share.bytes);
    }
    problem.net().links().iter().zip(loads).map(|(l, load)| load as f64 / l.capacity).fold(0.0, f64::max)
}

/// The search for a plan: a game over a growing set of paths, and the best shares and bound found.
struct Search<'a> {
    problem: &'a Problem<'a>,
    /// The demands with bytes: the game's demands.
    moving: Vec<usize>,
    game: Game,
    /// The game's links, in the network.
    links: Vec<LinkId>,
    /// The network's links, in the game; `u32::MAX` for those on no path.
    local: Vec<u32>,
    /// Of the network.
    unit_capacity: f64,
    /// Seconds of a load of 1 in the game.
    unit_seconds: f64,
    /// Shares of the game's paths.
    shares: Vec<f64>,
    /// The best bound over every routing.
    bound: Bound,
    /// Whether paths need not be looked at one by one to know that they can be executed.
    all_executable: bool,
}

/// A path to add: its demand's position among the moving ones, its links.
type Lacking = (usize, Vec<LinkId>);

impl<'a> Search<'a> {
    fn new(
        problem: &'a Problem<'a>,
        planner: &'static str,
        moving: Vec<usize>,
        start: &Assignment,
        bound: Bound,
    ) -> Result<Self, PlanError> {
        let (net, demands, candidates) = (problem.net(), problem.demands(), problem.candidates(planner)?);
        let unit_seconds = congestion(problem, start);
        let mut search = Search {
            problem,
            game: Game { rows: vec![0], ..Game::default() },
            links: Vec::new(),
            local: vec![u32::MAX; net.links().len()],
            unit_capacity: net.unit_capacity(),
            unit_seconds,
            shares: Vec::new(),
            bound,
            all_executable: problem.forwarders().is_none() && legs::every_path_has_legs(net),
            moving,
        };
        let unit_bytes = search.unit_capacity * unit_seconds;
        for i in 0..search.moving.len() {
            let j = search.moving[i];
            let bytes = demands[j].bytes as f64;
            // A start's shares are in the order of the candidates.
            let mut used = start.shares[j].iter().peekable();
            for path in candidates.paths(j) {
                search.push(path);
                let share = used.next_if(|share| share.links == path).map_or(0.0, |share| share.bytes as f64 / bytes);
                search.shares.push(share);
            }
            search.game.rows.push(search.game.ends.len());
            search.game.amounts.push(bytes / unit_bytes);
        }
        Ok(search)
    }

    /// Appends a path to the last row of the game.
    fn push(&mut self, path: &[LinkId]) {
        let net = self.problem.net();
        for &link in path {
            let local = &mut self.local[link.index()];
            if *local == u32::MAX {
                *local = self.links.len() as u32;
                self.links.push(link);
                self.game.per_amount.push(self.unit_capacity / net.link(link).capacity);
            }
            self.game.arena.push(*local);
        }
        self.game.ends.push(self.game.arena.len());
    }

    /// Iterates and prices in turn until the gap over every routing is at most `gap`, or there is nothing left to do.
    fn run(&mut self, gap: f64, stop: &dyn Fn() -> bool) {
        let mut duals: Option<Vec<f64>> = None;
        let mut weight = None;
        let mut work = 0u64;
        let mut loose = COARSE.max(gap);
        for round in 0..ROUNDS {
            let per_iteration = 2 * self.game.arena.len() + self.links.len();
            let budget = WORK.min(ITERATIONS * per_iteration as u64);
            let enough = self.bound.seconds / self.unit_seconds * (1.0 + gap);
            let y = duals.take().map(|mut y| {
                y.resize(self.links.len(), 0.0);
                y
            });
            let mut method = Pdhg::new(&self.game, std::mem::take(&mut self.shares), y, weight);
            method.run(Until {
                congestion: enough,
                gap: loose,
                at_least: if round == 0 { 0 } else { AT_LEAST },
                work: budget.saturating_sub(work),
                stop,
            });
            work += method.work;
            let (congestion, over_candidates) = (method.congestion, method.bound);
            weight = Some(method.weight());
            let prices = method.duals;
            self.shares = method.shares;
            if congestion <= enough {
                return;
            }
            let lacking = self.price(&prices, stop);
            log::debug!(
                "round {round}: congestion {congestion}, bound {over_candidates} over {} paths and {} over every \
                 routing, {} paths lack, work {work}",
                self.game.ends.len(),
                self.bound.seconds / self.unit_seconds,
                lacking.len(),
            );
            let close = congestion * self.unit_seconds <= self.bound.seconds * (1.0 + gap);
            // Where nothing lacks under rough prices, or software cannot take what lacks, finer ones decide.
            let last = lacking.is_empty() && loose <= gap;
            if close || last || work >= budget || stop() {
                return;
            }
            let over_all = congestion * self.unit_seconds / self.bound.seconds - 1.0;
            loose = if lacking.is_empty() { loose / 2.0 } else { loose.min(over_all / 2.0) }.max(gap);
            duals = Some(prices);
            self.extend(&lacking);
        }
    }

    /// Improves the bound by the prices `y` of the game's links, and gives the paths that are cheaper than the
    /// candidates, in the order of demands.
    fn price(&mut self, y: &[f64], stop: &dyn Fn() -> bool) -> Vec<Lacking> {
        let (net, demands) = (self.problem.net(), self.problem.demands());
        let sum: f64 = y.iter().sum();
        let mut costs = vec![0.0; net.links().len()];
        let mut priced = 0;
        for (&link, &y) in self.links.iter().zip(y) {
            costs[link.index()] = y / sum / net.link(link).capacity;
            priced += usize::from(y > 0.0);
        }
        let place = {
            let mut place = vec![usize::MAX; demands.len()];
            self.moving.iter().enumerate().for_each(|(i, &j)| place[j] = i);
            place
        };
        let cheapest = |i: usize| {
            let cost = |p| self.game.path(p).iter().map(|&l| costs[self.links[l as usize].index()]).sum::<f64>();
            self.game.row(i).map(cost).fold(f64::INFINITY, f64::min)
        };
        let mut paid = 0.0;
        let mut lacking: Vec<Lacking> = Vec::new();
        let generate = net.vertices() == net.hosts();
        let complete = pricing::sweep(net, demands, &costs, stop, |j, cost, path| {
            paid += demands[j].bytes as f64 * cost;
            if generate && cost < cheapest(place[j]) * (1.0 - CHEAPER) {
                let path = path();
                if self.executable(&path) {
                    lacking.push((place[j], path));
                }
            }
        });
        let seconds = paid * (1.0 - ROUNDING);
        if complete && seconds.is_finite() && seconds > self.bound.seconds {
            let links = if priced == 1 { "1 link".into() } else { format!("{priced} links") };
            self.bound = Bound { seconds, binding: format!("the prices that the first-order method puts on {links}") };
        }
        lacking.sort_by_key(|l| l.0);
        lacking
    }

    fn executable(&self, path: &[LinkId]) -> bool {
        self.all_executable
            || legs::stops(self.problem.net(), path).is_some_and(|stops| {
                let may =
                    |allowed: &[bool]| stops[1..stops.len() - 1].iter().all(|s| allowed.get(s.index()) == Some(&true));
                self.problem.forwarders().is_none_or(may)
            })
    }

    /// The game with more paths. Shares stay; numbers of links stay.
    fn extend(&mut self, lacking: &[Lacking]) {
        let old = std::mem::replace(&mut self.game, Game { rows: vec![0], ..Game::default() });
        let shares = std::mem::take(&mut self.shares);
        self.game.amounts.clone_from(&old.amounts);
        self.game.per_amount.clone_from(&old.per_amount);
        let mut more = lacking.iter().peekable();
        for i in 0..old.amounts.len() {
            for p in old.row(i) {
                self.game.arena.extend_from_slice(old.path(p));
                self.game.ends.push(self.game.arena.len());
                self.shares.push(shares[p]);
            }
            while let Some((_, path)) = more.next_if(|l| l.0 == i) {
                self.push(path);
                self.shares.push(0.0);
            }
            self.game.rows.push(self.game.ends.len());
        }
    }

    /// The shares in whole bytes, after moving small ones together as far as no load exceeds `limit`.
    fn assignment(&mut self, limit: f64) -> Assignment {
        let game = &self.game;
        let mut loads = vec![0.0; self.links.len()];
        let r = &game.per_amount;
        for (i, amount) in game.amounts.iter().enumerate() {
            for p in game.row(i) {
                game.path(p).iter().for_each(|&l| loads[l as usize] += amount * self.shares[p] * r[l as usize]);
            }
        }
        for (i, amount) in game.amounts.iter().enumerate() {
            let mut used: Vec<usize> = game.row(i).filter(|&p| self.shares[p] > 0.0).collect();
            let mut smallest = used.clone();
            smallest.sort_by(|&p, &q| self.shares[p].total_cmp(&self.shares[q]).then(q.cmp(&p)));
            used.sort_by_key(|&p| (game.path(p).len(), p));
            for from in smallest {
                let load = amount * self.shares[from];
                game.path(from).iter().for_each(|&l| loads[l as usize] -= load * r[l as usize]);
                let fits = |&to: &usize| {
                    let below = |&l: &u32| loads[l as usize] + load * r[l as usize] <= limit;
                    to != from && self.shares[to] > 0.0 && game.path(to).iter().all(below)
                };
                let to = used.iter().copied().find(fits).unwrap_or(from);
                game.path(to).iter().for_each(|&l| loads[l as usize] += load * r[l as usize]);
                if to != from {
                    self.shares[to] += self.shares[from];
                    self.shares[from] = 0.0;
                }
            }
        }
        let demands: &[Demand] = self.problem.demands();
        let mut shares = vec![Vec::new(); demands.len()];
        for (i, &j) in self.moving.iter().enumerate() {
            let row = self.game.row(i);
            let noise = DUST / row.len() as f64;
            let weights: Vec<f64> = self.shares[row.clone()].iter().map(|&x| if x < noise { 0.0 } else { x }).collect();
            let bytes = largest_remainder(demands[j].bytes, &weights);
            for (p, bytes) in row.zip(bytes).filter(|&(_, bytes)| bytes > 0) {
                let links = self.game.path(p).iter().map(|&l| self.links[l as usize]).collect();
                shares[j].push(Share { links, bytes });
            }
        }
        Assignment { shares, bound: None }
    }
}
