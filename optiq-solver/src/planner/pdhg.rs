//! The restarted primal-dual hybrid gradient method on the product of simplices.
//!
//! Least congestion over given paths is a matrix game. With the shares `x_jp` of demand `j` on its path `p` (`x_j` on
//! the
//! unit simplex), `a_j` its bytes and `r_l` the reciprocal of a link's capacity,
//!
//! ```text
//! min over x   max over y   sum_l y_l load_l(x),      load_l(x) = r_l sum_j a_j sum_{p through l} x_jp
//! ```
//!
//! where the dual `y`, a distribution over links, prices them: a byte on path `p` costs `g_jp = sum_{l in p} y_l
//! r_l`.
//! Every `x` proves that the optimum is at most `max_l load_l(x)`, and every `y` that it is at least
//! `sum_j a_j min_p g_jp`. One iteration (Chambolle and Pock 2011) is
//!
//! ```text
//! x_j <- project(x_j - (step / weight) g_j(y))
//! y   <- project(y + step * weight * (2 load(x_new) - load(x_old)))
//! ```
//!
//! with Euclidean projections on simplices. The primal metric is `sum_j a_j |x_j|^2`: then small and large demands
//! move the same share at a time. Around it, as in PDLP (Applegate et al., "Practical large-scale linear programming
//! using
//! primal-dual hybrid gradient", NeurIPS 2021, and "Faster first-order primal-dual methods for linear programming
//! using
//! restarts and sharpness", Mathematical Programming 2023):
//! - the step adapts: a step beyond `|dz|^2 / (2 |dy . dload|)` is taken back, and the next tried is a little less
//!   than that or a little more than the last;
//! - the method restarts from the iterate or the average of all iterates since the last restart, whichever has the
//!   smaller
//!   gap, when that gap has fallen far enough, or has fallen and now grows, or the run gets long. The gap here is the
//!   true duality gap, which costs nothing extra, as averages of loads and prices are those of the average;
//! - at a restart the weight moves to the ratio of the distances that `y` and `x` have come.
//!
//! Only operations that IEEE 754 rounds the same way everywhere are used (no powers, exponentials or logarithms).

use std::ops::Range;

/// Iterations between looks at the average.
const LOOK: u64 = 8;

/// Demands, their paths and links, numbered densely.
#[derive(Clone, Debug, Default)]
pub(super) struct Game {
    /// Per demand: its amount, in units that bring loads near 1.
    pub amounts: Vec<f64>,
    /// Demand `j` has the paths `rows[j]..rows[j + 1]`, at least one.
    pub rows: Vec<usize>,
    /// Path `p` has the links `arena[ends[p - 1]..ends[p]]`.
    pub ends: Vec<usize>,
    /// Links, below `per_amount.len()`.
    pub arena: Vec<u32>,
    /// Per link: load per amount.
    pub per_amount: Vec<f64>,
}

impl Game {
    pub fn row(&self, demand: usize) -> Range<usize> {
        self.rows[demand]..self.rows[demand + 1]
    }

    pub fn path(&self, path: usize) -> &[u32] {
        let start = if path == 0 { 0 } else { self.ends[path - 1] };
        &self.arena[start..self.ends[path]]
    }

    /// The loads of all links under shares `x`.
    fn loads(&self, x: &[f64], loads: &mut [f64]) {
        loads.fill(0.0);
        for (j, &amount) in self.amounts.iter().enumerate() {
            for p in self.row(j).filter(|&p| x[p] > 0.0) {
                let amount = amount * x[p];
                self.path(p).iter().for_each(|&l| loads[l as usize] += amount);
            }
        }
        loads.iter_mut().zip(&self.per_amount).for_each(|(load, r)| *load *= r);
    }

    /// What a unit of amount costs on each path when links cost `y`; `scratch` is as long as `y`.
    fn prices(&self, y: &[f64], scratch: &mut [f64], prices: &mut [f64]) {
        for ((s, y), r) in scratch.iter_mut().zip(y).zip(&self.per_amount) {
            *s = y * r;
        }
        let mut start = 0;
        for (price, &end) in prices.iter_mut().zip(&self.ends) {
            *price = self.arena[start..end].iter().map(|&l| scratch[l as usize]).sum();
            start = end;
        }
    }

    /// The bound that path prices prove.
    fn bound(&self, prices: &[f64]) -> f64 {
        let cheapest = |j| prices[self.row(j)].iter().copied().fold(f64::INFINITY, f64::min);
        self.amounts.iter().enumerate().map(|(j, amount)| amount * cheapest(j)).sum()
    }
}

/// A pair of strategies with what follows from it linearly.
#[derive(Clone, Debug)]
struct Point {
    x: Vec<f64>,
    y: Vec<f64>,
    loads: Vec<f64>,
    prices: Vec<f64>,
}

impl Point {
    fn zero(game: &Game) -> Self {
        let (paths, links) = (game.ends.len(), game.per_amount.len());
        Point { x: vec![0.0; paths], y: vec![0.0; links], loads: vec![0.0; links], prices: vec![0.0; paths] }
    }

    fn parts(&mut self) -> [&mut Vec<f64>; 4] {
        [&mut self.x, &mut self.y, &mut self.loads, &mut self.prices]
    }

    /// Adds `factor` times `other`.
    fn add(&mut self, factor: f64, other: &mut Point) {
        for (a, b) in self.parts().into_iter().zip(other.parts()) {
            a.iter_mut().zip(b.iter()).for_each(|(a, b)| *a += factor * b);
        }
    }

    fn scale(&mut self, factor: f64) {
        self.parts().into_iter().for_each(|part| part.iter_mut().for_each(|v| *v *= factor));
    }

    /// Congestion that the shares reach and bound that the prices prove.
    fn values(&self, game: &Game) -> (f64, f64) {
        (self.loads.iter().copied().fold(0.0, f64::max), game.bound(&self.prices))
    }
}

/// When [`Pdhg::run`] ends.
#[derive(Clone, Copy)]
pub(super) struct Until<'a> {
    /// At this congestion.
    pub congestion: f64,
    /// At this gap, `congestion / bound - 1`, over the game's paths.
    pub gap: f64,
    /// But not for that before so many iterations.
    pub at_least: u64,
    /// After so many visits to links, about.
    pub work: u64,
    /// When this says so, asked now and then.
    pub stop: &'a dyn Fn() -> bool,
}

/// The method's state: the iterate, the average, and the best found so far on either side.
pub(super) struct Pdhg<'g> {
    game: &'g Game,
    now: Point,
    next: Point,
    /// Sum of iterates since the last restart, weighted by their steps.
    sum: Point,
    steps: f64,
    average: Point,
    /// Where the last restart began.
    origin: (Vec<f64>, Vec<f64>),
    gap_at_restart: f64,
    gap_before: f64,
    iterations: u64,
    since_restart: u64,
    step: f64,
    weight: f64,
    scratch: Vec<f64>,
    /// The least congestion found, and its shares.
    pub congestion: f64,
    pub shares: Vec<f64>,
    /// The largest bound over the game's paths, and its prices.
    pub bound: f64,
    pub duals: Vec<f64>,
    /// Visits to links.
    pub work: u64,
}

impl<'g> Pdhg<'g> {
    /// Begins at shares `x` and the distribution `y` over links, or where `x` is most loaded.
    pub fn new(game: &'g Game, x: Vec<f64>, y: Option<Vec<f64>>, weight: Option<f64>) -> Self {
        let mut now = Point { x, ..Point::zero(game) };
        let mut scratch = vec![0.0; game.per_amount.len()];
        game.loads(&now.x, &mut now.loads);
        let worst = now.loads.iter().copied().fold(0.0, f64::max);
        let loaded = now.loads.iter().filter(|&&l| l >= 0.9 * worst).count().max(1);
        now.y = y.unwrap_or_else(|| {
            now.loads.iter().map(|&l| if l >= 0.9 * worst { 1.0 / loaded as f64 } else { 0.0 }).collect()
        });
        game.prices(&now.y, &mut scratch, &mut now.prices);
        let (congestion, bound) = now.values(game);
        let total: f64 = game.amounts.iter().sum();
        let longest = (0..game.ends.len()).map(|p| game.path(p).len()).max().unwrap_or(1).max(1);
        let weight = weight.unwrap_or((2.0 / (loaded as f64 * total)).sqrt());
        // The norm of the operator is at most the root of its largest row sum times its largest column sum; a step
        // that is too small soon grows.
        let row = now.loads.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let step = 1.0 / (row * longest as f64).sqrt();
        let (shares, duals) = (now.x.clone(), now.y.clone());
        Pdhg {
            game,
            next: Point::zero(game),
            sum: Point::zero(game),
            average: Point::zero(game),
            steps: 0.0,
            origin: (now.x.clone(), now.y.clone()),
            gap_at_restart: congestion - bound,
            gap_before: f64::INFINITY,
            iterations: 0,
            since_restart: 0,
            step,
            weight,
            scratch,
            congestion,
            shares,
            bound,
            duals,
            now,
            work: 0,
        }
    }

    /// The primal weight, for a game with more paths that goes on from here.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Iterates until one of the ends is reached.
    pub fn run(&mut self, until: Until) {
        let least = self.iterations + until.at_least;
        let done = |s: &Self| {
            s.congestion <= until.congestion || (s.iterations >= least && s.congestion <= s.bound * (1.0 + until.gap))
        };
        while !done(self) && self.work < until.work {
            if !self.iterate() {
                return;
            }
            let (congestion, bound) = self.now.values(self.game);
            self.keep(congestion, bound, false);
            if self.since_restart.is_multiple_of(LOOK) {
                self.look(congestion - bound);
                if (until.stop)() {
                    return;
                }
            }
        }
    }

    /// Keeps what is better than the best so far.
    fn keep(&mut self, congestion: f64, bound: f64, average: bool) {
        let point = if average { &self.average } else { &self.now };
        if congestion < self.congestion {
            self.congestion = congestion;
            self.shares.copy_from_slice(&point.x);
        }
        if bound > self.bound {
            self.bound = bound;
            self.duals.copy_from_slice(&point.y);
        }
    }

    /// One accepted step; false at a point that no step moves.
    fn iterate(&mut self) -> bool {
        let game = self.game;
        loop {
            self.iterations += 1;
            self.work += 2 * game.arena.len() as u64 + game.per_amount.len() as u64;
            let (tau, sigma) = (self.step / self.weight, self.step * self.weight);
            let (mut moved_x, mut moved_y, mut between) = (0.0, 0.0, 0.0);
            for (j, &amount) in game.amounts.iter().enumerate() {
                let row = game.row(j);
                let (old, new) = (&self.now.x[row.clone()], &mut self.next.x[row.clone()]);
                for ((new, old), price) in new.iter_mut().zip(old).zip(&self.now.prices[row]) {
                    *new = old - tau * price;
                }
                project(new, &mut self.scratch);
                moved_x += amount * distance2(old, new);
            }
            self.scratch.resize(game.per_amount.len(), 0.0);
            game.loads(&self.next.x, &mut self.next.loads);
            for (l, new) in self.next.y.iter_mut().enumerate() {
                *new = self.now.y[l] + sigma * (2.0 * self.next.loads[l] - self.now.loads[l]);
            }
            project(&mut self.next.y, &mut self.scratch);
            self.scratch.resize(game.per_amount.len(), 0.0);
            for l in 0..self.next.y.len() {
                let dy = self.next.y[l] - self.now.y[l];
                moved_y += dy * dy;
                between += dy * (self.next.loads[l] - self.now.loads[l]);
            }
            let moved = self.weight * moved_x + moved_y / self.weight;
            if moved <= 0.0 {
                return false;
            }
            let limit = if between == 0.0 { f64::INFINITY } else { moved / (2.0 * f64::abs(between)) };
            let taken = self.step;
            let root = ((self.iterations + 1) as f64).sqrt();
            self.step = ((1.0 - 1.0 / root.sqrt()) * limit).min((1.0 + 1.0 / root) * taken);
            if taken <= limit {
                game.prices(&self.next.y, &mut self.scratch, &mut self.next.prices);
                std::mem::swap(&mut self.now, &mut self.next);
                self.sum.add(taken, &mut self.now);
                self.steps += taken;
                self.since_restart += 1;
                return true;
            }
        }
    }

    /// Looks at the average, and restarts where that is due.
    fn look(&mut self, gap_now: f64) {
        self.average.clone_from(&self.sum);
        self.average.scale(1.0 / self.steps);
        let (congestion, bound) = self.average.values(self.game);
        self.keep(congestion, bound, true);
        let gap_average = congestion - bound;
        let gap = gap_average.min(gap_now);
        let due = gap <= 0.2 * self.gap_at_restart
            || (gap <= 0.8 * self.gap_at_restart && gap > self.gap_before)
            || self.since_restart * 25 >= self.iterations * 9;
        self.gap_before = gap;
        if !due {
            return;
        }
        if gap_average < gap_now {
            std::mem::swap(&mut self.now, &mut self.average);
            self.game.loads(&self.now.x, &mut self.now.loads);
            self.game.prices(&self.now.y, &mut self.scratch, &mut self.now.prices);
        }
        let weighted = self.game.amounts.iter().enumerate();
        let moved_x: f64 =
            weighted.map(|(j, a)| a * distance2(&self.now.x[self.game.row(j)], &self.origin.0[self.game.row(j)])).sum();
        let moved_y = distance2(&self.now.y, &self.origin.1);
        if moved_x > 0.0 && moved_y > 0.0 {
            // The geometric mean of the old weight and the ratio of distances.
            self.weight = (self.weight * (moved_y / moved_x).sqrt()).sqrt();
        }
        self.origin.0.copy_from_slice(&self.now.x);
        self.origin.1.copy_from_slice(&self.now.y);
        self.gap_at_restart = gap;
        self.gap_before = f64::INFINITY;
        self.since_restart = 0;
        self.sum.scale(0.0);
        self.steps = 0.0;
    }
}

fn distance2(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Moves `v` to the nearest point of the unit simplex: `max(v_i - theta, 0)` with the `theta` for which the sum is 1
/// (Michelot 1986). Candidates for the support are those above `theta`'s last lower bound, until none drops out;
/// `theta` is at least the maximum minus 1 from the start. `active` is scratch space.
fn project(v: &mut [f64], active: &mut Vec<f64>) {
    let most = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut theta = most - 1.0;
    active.clear();
    active.extend(v.iter().copied().filter(|&a| a > theta));
    loop {
        // Relative to the maximum, so that large numbers do not swallow the 1.
        let sum: f64 = active.iter().map(|a| a - most).sum();
        let above = most + (sum - 1.0) / active.len().max(1) as f64;
        let before = active.len();
        theta = above.max(theta);
        active.retain(|&a| a > theta);
        if active.len() == before || active.is_empty() {
            break;
        }
    }
    v.iter_mut().for_each(|a| *a = (*a - theta).max(0.0));
    let sum: f64 = v.iter().sum();
    if sum > 0.0 {
        v.iter_mut().for_each(|a| *a /= sum);
    } else if let Some(first) = v.iter().position(|&a| a == 0.0) {
        v[first] = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn projected(v: &[f64]) -> Vec<f64> {
        let mut v = v.to_vec();
        project(&mut v, &mut Vec::new());
        v
    }

    #[test]
    fn projections_by_hand() {
        assert_eq!(projected(&[5.0]), [1.0]);
        assert_eq!(projected(&[0.25, 0.75]), [0.25, 0.75]);
        assert_eq!(projected(&[3.0, 3.0]), [0.5, 0.5]);
        assert_eq!(projected(&[2.0, 0.0]), [1.0, 0.0]);
        assert_eq!(projected(&[0.5, 0.0, 0.0, 1.0]), [0.25, 0.0, 0.0, 0.75]);
    }

    proptest! {
        /// The projection is where the simplex has a normal towards the point: `v_i - u_i` is the same on the support
        /// and not larger elsewhere.
        #[test]
        fn projections_are_nearest(v in prop::collection::vec(-3.0f64..3.0, 1..30)) {
            let u = projected(&v);
            prop_assert!((u.iter().sum::<f64>() - 1.0).abs() < 1e-12 && u.iter().all(|&u| u >= 0.0));
            let theta = v.iter().zip(&u).filter(|(_, u)| **u > 0.0).map(|(v, u)| v - u).fold(f64::NEG_INFINITY, f64::max);
            for (v, u) in v.iter().zip(&u) {
                let normal = if *u > 0.0 { (v - u - theta).abs() < 1e-9 } else { *v <= theta + 1e-9 };
                prop_assert!(normal);
            }
        }
    }

    /// Two demands, of 3 and 1. The first has links 0 and 1 to choose from, the second 1 and 2; link 2 is half as
    /// fast.
    /// All three links are filled alike: 4 over a capacity of 2.5.
    #[test]
    fn a_game_by_hand() {
        let game = Game {
            amounts: vec![3.0, 1.0],
            rows: vec![0, 2, 4],
            ends: vec![1, 2, 3, 4],
            arena: vec![0, 1, 1, 2],
            per_amount: vec![1.0, 1.0, 2.0],
        };
        let mut method = Pdhg::new(&game, vec![1.0, 0.0, 1.0, 0.0], None, None);
        assert_eq!(method.congestion, 3.0);
        method.run(Until { congestion: 0.0, gap: 1e-4, at_least: 0, work: 1_000_000, stop: &|| false });
        assert!(method.congestion <= 1.6 * 1.0001 && method.congestion >= 1.6 - 1e-9, "{}", method.congestion);
        assert!(method.bound >= 1.6 / 1.0001 && method.bound <= 1.6 + 1e-9, "{}", method.bound);
    }
}
