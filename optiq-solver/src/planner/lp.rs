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
//! Nobody wants to execute that. So each path has a price: its number of legs, plus a random number below 1 (of a fixed
//! seed) that makes the cheapest optimum unique and thereby a vertex, with about as many flows as there are demands
//! and full links together. Prices are scaled such that all of them together are at most `PRICE` of a lower bound
//! on `t`: by so much, 0.1 %, they can raise the congestion at the very most. What the tolerance leaves on unused
//! paths is dropped, less than `DUST`, 0.05 %, of any demand; its other shares are scaled up to make good for it and
//! rounded to whole bytes by largest remainder. So the plan is within 0.15 % and the solver's tolerance of the optimum
//! over the candidates.

use super::Planner;
use super::round::largest_remainder;
use crate::bound::lower_bound;
use crate::error::PlanError;
use crate::legs;
use crate::problem::{Assignment, Problem};
use good_lp::solvers::SolutionStatus;
use good_lp::solvers::highs::{HighsSolution, highs};
use good_lp::{Expression, ProblemVariables, Solution, SolverModel, Variable, constraint, variable};
use optiq_net::random::SplitMix64;

/// So much of a demand, in sum over its paths, may be taken for noise of the interior-point method.
const DUST: f64 = 5e-4;

/// All prices together, relative to a lower bound on the congestion.
const PRICE: f64 = 1e-3;

/// Tolerance and crossover of the attempts, until one ends at an optimum: a tolerance that tells a vertex from its
/// neighbourhood; HiGHS's own tolerance; and with crossover, slow but the most robust.
const ATTEMPTS: [(f64, &str); 3] = [(1e-10, "off"), (1e-8, "off"), (1e-8, "on")];

/// The same for HiGHS's first-order methods, whose work grows with the inverse of the tolerance: the congestion is right
/// to about this, but the prices are too small for it to see, so that there may be many flows.
const FIRST_ORDER_ATTEMPTS: [(f64, &str); 1] = [(1e-4, "off")];

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct LinearProgram {
    /// HiGHS's name of the method.
    solver: &'static str,
}

impl Default for LinearProgram {
    /// The interior-point method.
    fn default() -> Self {
        LinearProgram { solver: "ipx" }
    }
}

impl LinearProgram {
    /// With another of HiGHS's methods, by its name in HiGHS: `ipx`, or `pdlp` and `hipdlp`, its first-order methods.
    /// They are there to be compared with; planner `lp` is the [default](Self::default).
    pub fn with_solver(solver: &'static str) -> Self {
        LinearProgram { solver }
    }

    fn attempts(&self) -> &'static [(f64, &'static str)] {
        if first_order(self.solver) { &FIRST_ORDER_ATTEMPTS } else { &ATTEMPTS }
    }
}

/// Whether HiGHS's method of this name is a first-order method.
fn first_order(solver: &str) -> bool {
    solver.ends_with("pdlp")
}

impl Planner for LinearProgram {
    fn name(&self) -> &'static str {
        "lp"
    }

    fn needs_candidates(&self) -> bool {
        true
    }

    fn assign(&self, problem: &Problem) -> Result<Assignment, PlanError> {
        let candidates = problem.candidates(self.name())?;
        let demands = problem.demands();
        let moving: Vec<usize> = (0..demands.len()).filter(|&d| demands[d].bytes > 0).collect();
        if moving.is_empty() {
            return Ok(Assignment { shares: vec![Vec::new(); demands.len()], bound: None });
        }
        let program = Program::new(problem, &moving, self.name())?;
        let mut solution = Err(PlanError::Solver("it was not tried".into()));
        for &(tolerance, crossover) in self.attempts() {
            solution = program.solve(self.solver, tolerance, crossover);
            match &solution {
                Ok(_) => break,
                Err(e) => log::info!("tolerance {tolerance:e}, crossover {crossover}: {e}"),
            }
        }
        let solution = solution?;
        let mut bytes = vec![Vec::new(); demands.len()];
        for (&d, xs) in moving.iter().zip(&program.columns) {
            let share = |&x: &Variable| solution.value(x);
            let noise = DUST / xs.len() as f64;
            let weights: Vec<f64> = xs.iter().map(share).map(|s| if s < noise { 0.0 } else { s }).collect();
            bytes[d] = largest_remainder(demands[d].bytes, &weights);
        }
        Ok(Assignment::from_bytes(candidates, &bytes))
    }
}

/// The linear program.
struct Program {
    variables: ProblemVariables,
    t: Variable,
    /// Per moving demand: its shares, one for each candidate.
    columns: Vec<Vec<Variable>>,
    /// Per link: the shares of the paths through it, with their demands' bytes in units of the mean demand.
    on_link: Vec<Vec<(Variable, f64)>>,
    /// Per link: capacity relative to the slowest.
    capacity: Vec<f64>,
    /// What paths cost.
    price: Expression,
}

impl Program {
    fn new(problem: &Problem, moving: &[usize], planner: &'static str) -> Result<Self, PlanError> {
        let (net, demands, candidates) = (problem.net(), problem.demands(), problem.candidates(planner)?);
        let mean = moving.iter().map(|&d| demands[d].bytes as f64).sum::<f64>() / moving.len() as f64;
        let capacity = problem.relative_capacities();
        let mut variables = ProblemVariables::new();
        let t = variables.add(variable().min(0.0));
        let mut on_link = vec![Vec::new(); capacity.len()];
        let mut columns = Vec::with_capacity(moving.len());
        let mut prices: Vec<(Variable, f64)> = Vec::new();
        let mut rng = SplitMix64::new(1);
        for &d in moving {
            let xs = variables.add_vector(variable().min(0.0), candidates.of(d).len());
            let first = prices.len();
            for (&x, path) in xs.iter().zip(candidates.paths(d)) {
                path.iter().for_each(|l| on_link[l.index()].push((x, demands[d].bytes as f64 / mean)));
                let legs = legs::stops(net, path).map_or(path.len(), |stops| stops.len() - 1);
                prices.push((x, legs as f64 + rng.below(1 << 20) as f64 / f64::from(1 << 20)));
            }
            // Only differences between a demand's paths matter.
            let least = prices[first..].iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
            prices[first..].iter_mut().for_each(|p| p.1 -= least);
            columns.push(xs);
        }
        let highest = prices.iter().map(|p| p.1).fold(f64::MIN_POSITIVE, f64::max);
        let bound = lower_bound(net, demands)?.seconds * net.unit_capacity() / mean;
        let scale = PRICE * bound / moving.len() as f64 / highest;
        let price = prices.into_iter().map(|(x, price)| scale * price * x).sum();
        Ok(Program { variables, t, columns, on_link, capacity, price })
    }

    fn solve(&self, solver: &str, tolerance: f64, crossover: &str) -> Result<HighsSolution, PlanError> {
        let mut model = self
            .variables
            .clone()
            .minimise(self.t + self.price.clone())
            .using(highs)
            .set_option("solver", solver)
            .set_option("run_crossover", crossover)
            .set_option("ipm_optimality_tolerance", tolerance)
            .set_option("parallel", "off")
            .set_threads(1);
        if first_order(solver) {
            // Of the method itself, and of the check of its result.
            model = model.set_option("kkt_tolerance", tolerance);
        }
        for xs in &self.columns {
            model.add_constraint(constraint::eq(xs.iter().sum::<Expression>(), 1.0));
        }
        for (xs, &c) in self.on_link.iter().zip(&self.capacity).filter(|(xs, _)| !xs.is_empty()) {
            let load: Expression = xs.iter().map(|&(x, amount)| amount * x).sum();
            model.add_constraint(constraint::leq(load - c * self.t, 0.0));
        }
        let solution = model.solve().map_err(|e| PlanError::Solver(e.to_string()))?;
        match solution.status() {
            SolutionStatus::Optimal => Ok(solution),
            other => Err(PlanError::Solver(format!("it ended with status {other:?}"))),
        }
    }
}
