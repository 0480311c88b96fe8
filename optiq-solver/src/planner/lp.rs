//! The linear program over the candidate paths (thesis 5.4), through `good_lp` and HiGHS.
//!
//! The thesis maximises a common rate: `sum_p flow[j,p] = b_j Z`, `sum flow over l <= c_l`, `Z = 1/t`. With
//! `x = flow / Z`, the bytes on a path, that is
//!
//! ```text
//! minimise t   subject to   sum_p x_jp = b_j            for every demand j
//!                           sum_{p through l} x_jp <= c_l t   for every link l that a candidate uses
//!                           x >= 0
//! ```
//!
//! The variables handed to the solver are shares of a demand, `x_jp / b_j`, so that they lie between 0 and 1 whatever
//! the sizes; bytes are counted in units of the mean demand and capacities in units of the slowest link, so that `t`
//! lies near 1 as well. HiGHS solves it by its interior-point method (IPX) without crossover: the simplex method needs
//! minutes where this needs seconds (these programs are massively degenerate), and crossover is a simplex method. One
//! thread, so that the same program has the same solution.
//!
//! An interior-point method ends inside of the optimal face, with a little on every path: 50 flows for every demand.
//! Executing that would be slow. So each path has a price: its number of legs, plus a random number below 1 (of a fixed
//! seed) that makes the cheapest optimum unique and thereby a vertex, with about as many flows as there are demands
//! and full links together. Prices are scaled such that all of them together are at most `lp.leg_price` of a lower bound
//! on `t`: they raise the congestion by 0.1 % at most. What the tolerance leaves on unused
//! paths is dropped, less than `lp.drop_threshold`, 0.05 %, of any demand; its other shares are scaled up to make good for it and
//! rounded to whole bytes by largest remainder. So the plan is within 0.15 % and the solver's tolerance of the optimum
//! over the candidates.
//!
//! Beside a base load of `a_l` bytes ([`Problem::base`]) the second line is `a_l + sum x_jp <= c_l t`. Where the base
//! load is high and the demands are small, that alone decides nothing: `t` is the base load of some link, and any
//! routing that keeps off it is optimal. What the demands wait for are the links that they take. So the least `t`
//! over those is looked for by bisection: for a limit between the bounds known, paths through a link with
//! `a_l / c_l` of the limit or more are left out; what the program then reaches is an upper bound, and if it is above
//! the limit, the limit is a lower one (every other path is above it before it carries anything).

use crate::bound::lower_bound;
use crate::candidates::Candidates;
use crate::constants::{LP_CLOSE, LP_DROP_THRESHOLD, LP_LEG_PRICE, LP_PROGRAMS};
use crate::error::PlanError;
use crate::legs;
use crate::planner::interface::Planner;
use crate::planner::name::PlannerName;
use crate::planner::round::largest_remainder;
use crate::problem::{Assignment, Problem};
use good_lp::solvers::SolutionStatus;
use good_lp::solvers::highs::{HighsSolution, highs};
use good_lp::{Expression, ProblemVariables, Solution, SolverModel, Variable, constraint, variable};
use optiq_net::LinkId;
use optiq_net::random::SplitMix64;
use std::str::FromStr;

/// A method of HiGHS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HighsMethod {
    /// `ipx`: its interior-point method.
    InteriorPoint,
    /// `pdlp`: a first-order method.
    Pdlp,
    /// `hipdlp`: HiGHS's own first-order method.
    HiPdlp,
}

impl HighsMethod {
    /// All methods that are known here.
    pub const ALL: [HighsMethod; 3] = [HighsMethod::InteriorPoint, HighsMethod::Pdlp, HighsMethod::HiPdlp];

    /// The name that HiGHS has for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            HighsMethod::InteriorPoint => "ipx",
            HighsMethod::Pdlp => "pdlp",
            HighsMethod::HiPdlp => "hipdlp",
        }
    }

    fn is_first_order(self) -> bool {
        matches!(self, HighsMethod::Pdlp | HighsMethod::HiPdlp)
    }
}

impl FromStr for HighsMethod {
    type Err = PlanError;

    fn from_str(name: &str) -> Result<Self, PlanError> {
        let found = HighsMethod::ALL.into_iter().find(|method| method.as_str() == name);
        let known = HighsMethod::ALL.map(HighsMethod::as_str).join(", ");
        found.ok_or_else(|| PlanError::Solver(format!("\"{name}\" is no method of it; {known} are")))
    }
}

/// Whether a solution of the interior-point method is made a vertex by HiGHS's simplex method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crossover {
    Off,
    On,
}

impl Crossover {
    /// The value of HiGHS's option.
    const fn as_str(self) -> &'static str {
        match self {
            Crossover::Off => "off",
            Crossover::On => "on",
        }
    }
}

/// Tolerance and crossover of the attempts, until one ends at an optimum: a tolerance that tells a vertex from its
/// neighbourhood; HiGHS's own tolerance; and with crossover, slow but the most robust.
const ATTEMPTS: [(f64, Crossover); 3] = [(1e-10, Crossover::Off), (1e-8, Crossover::Off), (1e-8, Crossover::On)];

/// The same for HiGHS's first-order methods, whose work grows with the inverse of the tolerance: the congestion is right
/// to about this, but the prices are too small for it to see, so that there may be many flows.
const FIRST_ORDER_ATTEMPTS: [(f64, Crossover); 1] = [(1e-4, Crossover::Off)];

/// A first-order method has failed after this many iterations; without a limit it may cycle for ever.
const FIRST_ORDER_ITERATIONS: i32 = 200_000;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct LinearProgram {
    method: HighsMethod,
}

impl Default for LinearProgram {
    /// The interior-point method.
    fn default() -> Self {
        LinearProgram { method: HighsMethod::InteriorPoint }
    }
}

impl LinearProgram {
    /// With another of HiGHS's methods. They are there to be compared with; planner `lp` is the [default](Self::default).
    pub fn with_method(method: HighsMethod) -> Self {
        LinearProgram { method }
    }

    fn attempts(&self) -> &'static [(f64, Crossover)] {
        if self.method.is_first_order() { &FIRST_ORDER_ATTEMPTS } else { &ATTEMPTS }
    }

    /// Bytes per demand and candidate of the program without paths through links whose base load is `limit` or more.
    fn solve(&self, problem: &Problem, moving: &[usize], limit: f64) -> Result<Vec<Vec<u64>>, PlanError> {
        let program = Program::new(problem, moving, limit)?;
        let mut solution = Err(PlanError::Solver("it was not tried".into()));
        for &(tolerance, crossover) in self.attempts() {
            solution = program.solve(self.method, tolerance, crossover);
            match &solution {
                Ok(_) => break,
                Err(e) => log::info!("tolerance {tolerance:e}, crossover {}: {e}", crossover.as_str()),
            }
        }
        let solution = solution?;
        let mut bytes = vec![Vec::new(); problem.demands().len()];
        for (&d, xs) in moving.iter().zip(&program.columns) {
            let share = |x: &Option<Variable>| x.map_or(0.0, |x| solution.value(x));
            let noise = LP_DROP_THRESHOLD / xs.len() as f64;
            let weights: Vec<f64> = xs.iter().map(share).map(|s| if s < noise { 0.0 } else { s }).collect();
            let total = problem.demands()[d].bytes;
            bytes[d] = largest_remainder(total, &weights);
        }
        Ok(bytes)
    }
}

impl Planner for LinearProgram {
    fn id(&self) -> PlannerName {
        PlannerName::LinearProgram
    }

    fn needs_candidates(&self) -> bool {
        true
    }

    fn assign(&self, problem: &Problem) -> Result<Assignment, PlanError> {
        let candidates = problem.candidates(self.name())?;
        let demands = problem.demands();
        let moving: Vec<usize> = (0..demands.len()).filter(|&d| demands[d].bytes > 0).collect();
        if moving.is_empty() {
            return Ok(Assignment { shares: vec![Vec::new(); demands.len()], ..Assignment::default() });
        }
        let mut bytes = self.solve(problem, &moving, f64::INFINITY)?;
        if problem.base().is_some() {
            let levels = Levels::new(problem);
            let (mut low, highest) = levels.range(candidates, &moving);
            let mut high = levels.waits_for(candidates, &bytes);
            for _ in 0..LP_PROGRAMS {
                // Above every base load it is the demands that decide, and the program has decided.
                if high > highest * (1.0 + LP_CLOSE) || high <= low * (1.0 + LP_CLOSE) {
                    break;
                }
                let limit = low + (high - low) / 2.0;
                let found = self.solve(problem, &moving, limit)?;
                let reached = levels.waits_for(candidates, &found);
                if reached < high {
                    (high, bytes) = (reached, found);
                }
                if reached > limit {
                    low = limit;
                }
            }
        }
        Ok(Assignment::from_bytes(candidates, &bytes))
    }
}

/// How loaded links are, in bytes per unit link.
struct Levels {
    base: Vec<u64>,
    capacity: Vec<f64>,
}

impl Levels {
    fn new(problem: &Problem) -> Self {
        Levels { base: problem.base_or_zero(), capacity: problem.relative_capacities() }
    }

    /// The highest base load on a path.
    fn of(&self, path: &[LinkId]) -> f64 {
        path.iter().map(|l| self.base[l.index()] as f64 / self.capacity[l.index()]).fold(0.0, f64::max)
    }

    /// What some demand must exceed, and the highest base load on any path.
    fn range(&self, candidates: &Candidates, moving: &[usize]) -> (f64, f64) {
        let (mut low, mut highest) = (0.0f64, 0.0f64);
        for &d in moving {
            let levels = || candidates.paths(d).map(|path| self.of(path));
            low = low.max(levels().fold(f64::INFINITY, f64::min));
            highest = highest.max(levels().fold(0.0, f64::max));
        }
        (low, highest)
    }

    /// The highest load, base included, on a link that some demand takes.
    fn waits_for(&self, candidates: &Candidates, bytes: &[Vec<u64>]) -> f64 {
        let mut load = vec![0u64; self.base.len()];
        for (d, bytes) in bytes.iter().enumerate() {
            for (path, &bytes) in candidates.paths(d).zip(bytes).filter(|(_, bytes)| **bytes > 0) {
                path.iter().for_each(|l| load[l.index()] += bytes);
            }
        }
        let taken = (0..load.len()).filter(|&l| load[l] > 0);
        taken.map(|l| (self.base[l] + load[l]) as f64 / self.capacity[l]).fold(0.0, f64::max)
    }
}

/// The linear program.
struct Program {
    variables: ProblemVariables,
    t: Variable,
    /// Per moving demand: its shares, one for each candidate that may be taken.
    columns: Vec<Vec<Option<Variable>>>,
    /// Per link: the shares of the paths through it, with their demands' bytes in units of the mean demand.
    on_link: Vec<Vec<(Variable, f64)>>,
    /// Per link: capacity relative to the slowest.
    capacity: Vec<f64>,
    /// Per link: base load in units of the mean demand.
    base: Vec<f64>,
    /// What paths cost.
    price: Expression,
}

impl Program {
    fn new(problem: &Problem, moving: &[usize], limit: f64) -> Result<Self, PlanError> {
        let (net, demands, candidates) =
            (problem.net(), problem.demands(), problem.candidates(PlannerName::LinearProgram.as_str())?);
        let mean = moving.iter().map(|&d| demands[d].bytes as f64).sum::<f64>() / moving.len() as f64;
        let levels = Levels::new(problem);
        let mut variables = ProblemVariables::new();
        let t = variables.add(variable().min(0.0));
        let mut on_link = vec![Vec::new(); levels.capacity.len()];
        let mut columns = Vec::with_capacity(moving.len());
        let mut prices: Vec<(Variable, f64)> = Vec::new();
        let mut rng = SplitMix64::new(1);
        for &d in moving {
            let first = prices.len();
            let mut column = Vec::with_capacity(candidates.of(d).len());
            for path in candidates.paths(d) {
                if levels.of(path) >= limit {
                    column.push(None);
                    continue;
                }
                let x = variables.add(variable().min(0.0));
                column.push(Some(x));
                path.iter().for_each(|l| on_link[l.index()].push((x, demands[d].bytes as f64 / mean)));
                let legs = legs::stops(net, path).map_or(path.len(), |stops| stops.len() - 1);
                prices.push((x, legs as f64 + rng.below(1 << 20) as f64 / f64::from(1 << 20)));
            }
            // Only differences between a demand's paths matter.
            let least = prices[first..].iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
            prices[first..].iter_mut().for_each(|p| p.1 -= least);
            columns.push(column);
        }
        let highest = prices.iter().map(|p| p.1).fold(f64::MIN_POSITIVE, f64::max);
        let bound = lower_bound(net, demands)?.seconds * net.unit_capacity() / mean;
        let scale = LP_LEG_PRICE * bound / moving.len() as f64 / highest;
        let price = prices.into_iter().map(|(x, price)| scale * price * x).sum();
        let base = levels.base.iter().map(|&b| b as f64 / mean).collect();
        Ok(Program { variables, t, columns, on_link, capacity: levels.capacity, base, price })
    }

    fn solve(&self, method: HighsMethod, tolerance: f64, crossover: Crossover) -> Result<HighsSolution, PlanError> {
        let mut model = self
            .variables
            .clone()
            .minimise(self.t + self.price.clone())
            .using(highs)
            .set_option("solver", method.as_str())
            .set_option("run_crossover", crossover.as_str())
            .set_option("ipm_optimality_tolerance", tolerance)
            .set_option("parallel", "off")
            .set_threads(1);
        if method.is_first_order() {
            // Of the method itself, and of the check of its result.
            model =
                model.set_option("kkt_tolerance", tolerance).set_option("pdlp_iteration_limit", FIRST_ORDER_ITERATIONS);
        }
        for xs in &self.columns {
            model.add_constraint(constraint::eq(xs.iter().flatten().sum::<Expression>(), 1.0));
        }
        let links = self.on_link.iter().zip(self.capacity.iter().zip(&self.base));
        for (xs, (&c, &base)) in links.filter(|(xs, _)| !xs.is_empty()) {
            let load: Expression = xs.iter().map(|&(x, amount)| amount * x).sum();
            model.add_constraint(constraint::leq(load - c * self.t, -base));
        }
        let solution = model.solve().map_err(|e| PlanError::Solver(e.to_string()))?;
        match solution.status() {
            SolutionStatus::Optimal => Ok(solution),
            other => Err(PlanError::Solver(format!("it ended with status {other:?}"))),
        }
    }
}
