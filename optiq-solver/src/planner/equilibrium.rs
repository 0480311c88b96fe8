//! Path equilibration under steep prices: how `optimal` spreads bytes over given paths.
//!
//! The congestion `max_l u_l`, with `u_l = load_l / (c_l t)`, is the limit for growing `p` of the smooth convex
//! potential `sum_l c_l t u_l^p / p`. Its derivative by a byte on link `l` is the link's *price* `u_l^(p-1)`, so the
//! potential is least where no demand has bytes on a path that is dearer than another path of its own: the user
//! equilibrium of traffic assignment (Wardrop 1952; Beckmann, McGuire and Winsten 1956). It is found as the fastest
//! path-based methods for that problem find theirs (Jayakrishnan, Tsai, Prashker and Rajadhyaksha, "A faster path-based
//! algorithm for traffic assignment", 1994; Gauss-Seidel form: Florian, Constantin and Florian 2009): demand after
//! demand, bytes move from every dearer path `f` to the demand's cheapest path `t`, by Newton's step along that line,
//!
//! ```text
//! bytes = (price(f) - price(t)) / sum of d price_l / d load_l over the links of f and t that they do not share,
//! ```
//!
//! and prices follow at once. Links that both paths have cancel. A step moves no load by more than about its `p`-th
//! part, and is therefore safe although prices are steep.
//!
//! Prices are also a proof: a routing with congestion `s` pays at most `s` for loads that cost `y_l / c_l` a byte if
//! `sum_l y_l = 1`, so `s >= sum_j b_j cheapest_j` (module `pricing`). With `y_l` in proportion to `c_l u_l^(p-1)`, used
//! paths being cheapest, what is left between that sum and the congestion is `max u / sum_l y_l u_l`: links below the
//! maximum that still have a price. It shrinks as `p` grows; as most loaded links of an optimum are loaded alike, `p` =
//! 32 is often enough for 1 %, and small `p` converge fastest. So `p` starts small and is doubled.
//!
//! `p` is a power of two and powers are repeated squares: only operations that IEEE 754 rounds the same way everywhere.

use crate::constants::{DEARER, SELECTIVE};
use crate::planner::pricing::ROUNDING;
use std::ops::Range;

/// What a price may fall to before it counts as zero: far above the denormal numbers, which are slow.
const NEGLIGIBLE: f64 = 1e-200;

/// How high a price may be: sums of such prices are finite.
const PROHIBITIVE: f64 = 1e200;

/// How many demands a sweep goes through before it asks whether to stop.
const STOP_EVERY: usize = 4096;

/// Paths of demands, and the bytes on them.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// Demand `j` has the columns `rows[j]..rows[j + 1]`.
    rows: Vec<usize>,
    /// Column `i` has the links `arena[ends[i - 1]..ends[i]]`.
    ends: Vec<usize>,
    arena: Vec<u32>,
    /// Bytes on each column.
    pub bytes: Vec<f64>,
    /// A price of the column besides those of its links, in multiples of [`Equilibrium::forward_price`].
    pub forwards: Vec<f64>,
}

impl Columns {
    /// No columns, for no demands.
    pub fn new() -> Self {
        Columns { rows: vec![0], ends: Vec::new(), arena: Vec::new(), bytes: Vec::new(), forwards: Vec::new() }
    }

    /// Appends a column to the demand that is being added.
    pub fn push(&mut self, links: impl IntoIterator<Item = u32>, bytes: f64) {
        self.arena.extend(links);
        self.ends.push(self.arena.len());
        self.bytes.push(bytes);
        self.forwards.push(0.0);
    }

    /// Ends the columns of the demand that is being added.
    pub fn end_row(&mut self) {
        self.rows.push(self.ends.len());
    }

    /// Number of demands.
    pub fn demands(&self) -> usize {
        self.rows.len() - 1
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The columns of a demand.
    pub fn row(&self, demand: usize) -> Range<usize> {
        self.rows[demand]..self.rows[demand + 1]
    }

    /// The links of a column.
    pub fn links(&self, column: usize) -> &[u32] {
        &self.arena[self.span(column)]
    }

    /// Visits to links that a look at all columns makes.
    pub fn visits(&self) -> f64 {
        self.arena.len() as f64
    }

    fn span(&self, column: usize) -> Range<usize> {
        let start = if column == 0 { 0 } else { self.ends[column - 1] };
        start..self.ends[column]
    }
}

/// What a sweep saw.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// What all bytes paid, at the prices of the moment.
    pub paid: f64,
    /// What they would have paid on the cheapest columns.
    pub least: f64,
}

impl Seen {
    /// How far from the equilibrium: the part of what was paid that was too much.
    pub fn reduced_cost_excess(&self) -> f64 {
        if self.paid > 0.0 { 1.0 - self.least / self.paid } else { 0.0 }
    }
}

/// Loads, prices and columns.
pub(super) struct Equilibrium {
    pub columns: Columns,
    /// Per link: seconds per byte.
    pub per_byte: Vec<f64>,
    /// Bytes that are on the links whatever is decided here.
    pub base: Vec<f64>,
    loads: Vec<f64>,
    prices: Vec<f64>,
    /// Derivatives of prices by loads, divided by `p - 1`.
    slopes: Vec<f64>,
    /// `per_byte / reference`.
    scaled: Vec<f64>,
    /// `p = 2^doublings`.
    doublings: u32,
    /// The congestion at which a link's price is 1, in seconds.
    reference: f64,
    /// What the slowest link carries in the reference time.
    reference_bytes: f64,
    /// Below this `u` prices are negligible.
    floor: f64,
    /// Beyond this `u` prices do not grow.
    roof: f64,
    /// What a byte on a column pays for each unit of `forwards`.
    pub forward_price: f64,
    /// No step lifts a link above this multiple of the reference.
    pub ceiling: f64,
    marks: Vec<u32>,
    epoch: u32,
    scratch: Vec<f64>,
    /// Demand `j` has the live columns `live[live_rows[j]..live_rows[j + 1]]`.
    live: Vec<u32>,
    live_rows: Vec<usize>,
}

impl Equilibrium {
    /// `per_byte` is the reciprocal capacity of each link, `base` the bytes it carries anyhow.
    pub fn new(columns: Columns, per_byte: Vec<f64>, base: Vec<f64>) -> Self {
        let n = per_byte.len();
        let mut this = Equilibrium {
            columns,
            base,
            loads: vec![0.0; n],
            prices: vec![0.0; n],
            slopes: vec![0.0; n],
            scaled: vec![0.0; n],
            doublings: 3,
            reference: 1.0,
            reference_bytes: 0.0,
            floor: 0.0,
            roof: f64::INFINITY,
            forward_price: 0.0,
            ceiling: f64::INFINITY,
            marks: vec![0; n],
            epoch: 0,
            scratch: Vec::new(),
            live: Vec::new(),
            live_rows: Vec::new(),
            per_byte,
        };
        this.reload();
        this
    }

    /// Sums the loads anew.
    pub fn reload(&mut self) {
        self.loads.copy_from_slice(&self.base);
        for i in 0..self.columns.len() {
            let bytes = self.columns.bytes[i];
            if bytes > 0.0 {
                for &l in &self.columns.arena[self.columns.span(i)] {
                    self.loads[l as usize] += bytes;
                }
            }
        }
    }

    /// Seconds that the most loaded of the links with bytes of these demands needs.
    pub fn congestion(&self) -> f64 {
        let ours = |l: &usize| self.loads[*l] > self.base[*l];
        (0..self.loads.len()).filter(ours).map(|l| self.loads[l] * self.per_byte[l]).fold(0.0, f64::max)
    }

    /// Sum of bytes times `forwards`.
    pub fn forwarded(&self) -> f64 {
        self.columns.bytes.iter().zip(&self.columns.forwards).map(|(bytes, forwards)| bytes * forwards).sum()
    }

    /// Puts more bytes on a column, or takes some off; prices stay.
    pub fn put(&mut self, column: usize, bytes: f64) {
        self.columns.bytes[column] = (self.columns.bytes[column] + bytes).max(0.0);
        for k in self.columns.span(column) {
            let load = &mut self.loads[self.columns.arena[k] as usize];
            *load = (*load + bytes).max(0.0);
        }
    }

    /// Bytes that a column can take until a link of it needs `limit` seconds.
    pub fn room(&self, column: usize, limit: f64) -> f64 {
        let room = |&l: &u32| limit / self.per_byte[l as usize] - self.loads[l as usize];
        self.columns.links(column).iter().map(room).fold(f64::INFINITY, f64::min)
    }

    /// By how much the potential, and what is paid for forwarding, would grow by `bytes` more bytes on a column. A first
    /// order method looks at prices; this is exact.
    pub fn potential(&self, column: usize, bytes: f64) -> f64 {
        let power = |u: f64| (0..self.doublings).fold(u.min(self.roof), |square, _| square * square);
        let grows = |&l: &u32| {
            let (load, scaled) = (self.loads[l as usize], self.scaled[l as usize]);
            (power((load + bytes) * scaled) - power(load * scaled)) / scaled
        };
        let links = self.columns.links(column).iter().map(grows).sum::<f64>();
        links / f64::from(1u32 << self.doublings) + bytes * self.columns.forwards[column] * self.forward_price
    }

    /// What the prices of the moment prove of every way to spread the bytes over these columns, in seconds, where there is
    /// no base load: see module `pricing`, here with the columns for all paths.
    pub fn proved(&self) -> f64 {
        let price = |i: usize| self.columns.links(i).iter().map(|&l| self.prices[l as usize]).sum::<f64>();
        let mut paid = 0.0;
        for j in 0..self.columns.demands() {
            let cheapest = self.columns.row(j).map(price).fold(f64::INFINITY, f64::min);
            let bytes: f64 = self.columns.bytes[self.columns.row(j)].iter().sum();
            paid += if bytes > 0.0 { bytes * cheapest } else { 0.0 };
        }
        let weight: f64 = self.prices.iter().zip(&self.per_byte).map(|(price, r)| price / r).sum();
        if weight > 0.0 { paid / weight * (1.0 - ROUNDING) } else { 0.0 }
    }

    /// Sets `p = 2^doublings` and the congestion at which links cost 1, and prices all links by it.
    pub fn price_links(&mut self, doublings: u32, reference: f64) {
        self.doublings = doublings;
        self.reference = reference.max(f64::MIN_POSITIVE);
        let capacity: f64 = self.per_byte.iter().map(|r| r.recip()).fold(f64::INFINITY, f64::min);
        self.reference_bytes = self.reference * capacity;
        self.floor = (0..doublings).fold(NEGLIGIBLE, |floor, _| floor.sqrt());
        self.roof = (0..doublings).fold(PROHIBITIVE, |roof, _| roof.sqrt());
        for l in 0..self.prices.len() {
            self.scaled[l] = self.per_byte[l] / self.reference;
            self.update(l);
        }
    }

    /// The links' prices: what a byte pays to pass them, up to a common factor.
    pub fn prices(&self) -> &[f64] {
        &self.prices
    }

    /// `max u / sum_l y_l u_l`, minus 1: what this `p` leaves between congestion and bound even at an equilibrium.
    pub fn smoothing_gap(&self) -> f64 {
        let (mut paid, mut weight) = (0.0, 0.0);
        for l in 0..self.loads.len() {
            if self.loads[l] > self.base[l] {
                paid += self.prices[l] * self.loads[l];
                weight += self.prices[l] / self.per_byte[l];
            }
        }
        if paid > 0.0 { self.congestion() * weight / paid - 1.0 } else { 0.0 }
    }

    /// Prices a link: `u^(p-1)`, and how that grows with its load, but for the factor `p - 1`.
    #[inline]
    fn update(&mut self, link: usize) {
        let u = (self.loads[link] * self.scaled[link]).min(self.roof);
        if u <= self.floor {
            (self.prices[link], self.slopes[link]) = (0.0, 0.0);
            return;
        }
        // u^(p-2) is the product of u^2, u^4, ... u^(p/2).
        let (mut power, mut square) = (1.0, u);
        for _ in 1..self.doublings {
            square *= square;
            power *= square;
        }
        (self.prices[link], self.slopes[link]) = (power * u, power * self.scaled[link]);
    }

    /// The price of a column.
    #[inline]
    pub fn price_of(&self, column: usize) -> f64 {
        let links = &self.columns.arena[self.columns.span(column)];
        links.iter().map(|&l| self.prices[l as usize]).sum::<f64>() + self.columns.forwards[column] * self.forward_price
    }

    /// Moves bytes of every demand once, from its dearer columns to its cheapest: of all columns if `full`, which also
    /// decides which are live until the next time, or else of the live ones: those with bytes, and the cheapest. A
    /// column on which less would remain than the part `thin` of its demand, or than the part `drop_threshold` of what the slowest
    /// link carries in the reference time, is emptied. `stop` is asked now and then; the other demands then stay as they are.
    pub fn sweep(&mut self, full: bool, thin: f64, drop_threshold: f64, stop: &dyn Fn() -> bool) -> Seen {
        let smallest = drop_threshold * self.reference_bytes;
        let mut seen = Seen::default();
        let mut prices = std::mem::take(&mut self.scratch);
        let mut live = std::mem::take(&mut self.live);
        let mut live_rows = std::mem::take(&mut self.live_rows);
        if full {
            live.clear();
            live_rows.clear();
            live_rows.push(0);
        }
        for j in 0..self.columns.demands() {
            if j % STOP_EVERY == STOP_EVERY - 1 && stop() {
                // Without live columns they are passed by.
                live_rows.resize(self.columns.demands() + 1, live.len());
                break;
            }
            prices.clear();
            if full {
                self.revive(j, &mut live, &mut prices);
                live_rows.push(live.len());
            }
            let row = &live[live_rows[j]..live_rows[j + 1]];
            if !full {
                prices.extend(row.iter().map(|&i| self.price_of(i as usize)));
            }
            let (mut best, mut least, mut most, mut amount) = (0, f64::INFINITY, 0.0f64, 0.0);
            for (&i, &price) in row.iter().zip(&prices) {
                let i = i as usize;
                if price < least {
                    (best, least) = (i, price);
                }
                let bytes = self.columns.bytes[i];
                if bytes > 0.0 {
                    amount += bytes;
                    seen.paid += bytes * price;
                    most = most.max(price);
                }
            }
            seen.least += amount * least;
            let limit = least + SELECTIVE * (most - least);
            if most <= least * (1.0 + DEARER) {
                continue;
            }
            for (&i, &price) in row.iter().zip(&prices) {
                let i = i as usize;
                if i != best && price > limit && self.columns.bytes[i] > 0.0 {
                    self.shift(i, best, smallest.min(amount / 2.0).max(amount * thin));
                }
            }
        }
        (self.scratch, self.live, self.live_rows) = (prices, live, live_rows);
        seen
    }

    /// Appends the columns of a demand that have bytes, and its cheapest one, the first among equals, to `live`, and their
    /// prices to `prices`.
    ///
    /// Most columns have no bytes and are far dearer than the cheapest: prices are not negative, so that a column is left as
    /// soon as a part of its price is more than the least so far.
    fn revive(&self, demand: usize, live: &mut Vec<u32>, prices: &mut Vec<f64>) {
        let (row, start) = (self.columns.row(demand), live.len());
        if row.is_empty() {
            return;
        }
        let bytes = &self.columns.bytes;
        for i in row.clone().filter(|&i| bytes[i] > 0.0) {
            live.push(i as u32);
            prices.push(self.price_of(i));
        }
        let (mut best, mut least) = (row.start, f64::INFINITY);
        for (&i, &price) in live[start..].iter().zip(&*prices) {
            if price < least {
                (best, least) = (i as usize, price);
            }
        }
        for i in row.filter(|&i| bytes[i] <= 0.0) {
            if let Some(price) = self.price_up_to(i, least)
                && (price < least || price == least && i < best)
            {
                (best, least) = (i, price);
            }
        }
        if bytes[best] <= 0.0 {
            let place = live[start..].partition_point(|&i| (i as usize) < best);
            live.insert(start + place, best as u32);
            prices.insert(place, self.price_of(best));
        }
    }

    /// The price of a column, unless it is more than `most`.
    #[inline]
    fn price_up_to(&self, column: usize, most: f64) -> Option<f64> {
        let forwards = self.columns.forwards[column] * self.forward_price;
        if forwards > most {
            return None;
        }
        let mut sum = 0.0;
        for &l in &self.columns.arena[self.columns.span(column)] {
            sum += self.prices[l as usize];
            if sum + forwards > most {
                return None;
            }
        }
        Some(sum + forwards)
    }

    /// Newton's step from one column to another of the same demand; what would remain below `drop_threshold` goes along.
    fn shift(&mut self, from: usize, to: usize, drop_threshold: f64) {
        self.epoch = match self.epoch.checked_add(2) {
            Some(epoch) => epoch,
            None => {
                self.marks.fill(0);
                2
            }
        };
        let (only_to, shared) = (self.epoch, self.epoch + 1);
        let (from_links, to_links) = (self.columns.span(from), self.columns.span(to));
        let arena = &self.columns.arena;
        for &l in &arena[to_links.clone()] {
            self.marks[l as usize] = only_to;
        }
        let (mut gain, mut slope) = (0.0, 0.0);
        for &l in &arena[from_links.clone()] {
            let l = l as usize;
            if self.marks[l] == only_to {
                self.marks[l] = shared;
            } else {
                gain += self.prices[l];
                slope += self.slopes[l];
            }
        }
        let (mut room, limited) = (f64::INFINITY, self.ceiling.is_finite());
        for &l in &arena[to_links.clone()] {
            let l = l as usize;
            if self.marks[l] == only_to {
                gain -= self.prices[l];
                slope += self.slopes[l];
                if limited {
                    room = room.min(self.ceiling / self.scaled[l] - self.loads[l]);
                }
            }
        }
        gain += (self.columns.forwards[from] - self.columns.forwards[to]) * self.forward_price;
        if gain <= 0.0 || room <= 0.0 {
            return;
        }
        let p = f64::from(1u32 << self.doublings);
        let all = self.columns.bytes[from];
        let mut bytes = (gain / (slope * (p - 1.0))).min(room);
        // Not a number where neither path has a price besides that of forwarding and the slope is zero.
        if bytes.is_nan() || bytes > all - drop_threshold {
            bytes = all.min(room);
        }
        self.columns.bytes[from] = all - bytes;
        self.columns.bytes[to] += bytes;
        for k in from_links {
            let l = self.columns.arena[k] as usize;
            if self.marks[l] != shared {
                self.loads[l] = (self.loads[l] - bytes).max(0.0);
                self.update(l);
            }
        }
        for k in to_links {
            let l = self.columns.arena[k] as usize;
            if self.marks[l] == only_to {
                self.loads[l] += bytes;
                self.update(l);
            }
        }
    }

    /// Adds columns without bytes (in the order of demands), and forgets those without bytes that are dearer than `keep`
    /// times the cheapest of their demand.
    pub fn rebuild(&mut self, more: &[(usize, Vec<u32>)], keep: f64) {
        let mut columns = Columns::new();
        columns.arena.reserve(self.columns.arena.len());
        let mut more = more.iter().peekable();
        for j in 0..self.columns.demands() {
            let row = self.columns.row(j);
            // Not a number where the cheapest is free and all are kept that cost less than infinite times as much: then none is.
            let limit = keep * self.least_price(row.clone());
            let cheap = |i: usize| limit == f64::INFINITY || limit >= 0.0 && self.price_up_to(i, limit).is_some();
            for i in row {
                let bytes = self.columns.bytes[i];
                if bytes > 0.0 || cheap(i) {
                    columns.arena.extend_from_slice(self.columns.links(i));
                    columns.ends.push(columns.arena.len());
                    columns.bytes.push(bytes);
                    columns.forwards.push(self.columns.forwards[i]);
                }
            }
            while let Some((_, links)) = more.next_if(|(demand, _)| *demand == j) {
                columns.push(links.iter().copied(), 0.0);
            }
            columns.end_row();
        }
        self.columns = columns;
    }

    /// The price of the cheapest of some columns. Those with bytes are likely to be cheap, and first.
    fn least_price(&self, row: Range<usize>) -> f64 {
        let used = |i: &usize| self.columns.bytes[*i] > 0.0;
        let least = row.clone().filter(used).map(|i| self.price_of(i)).fold(f64::INFINITY, f64::min);
        row.filter(|i| !used(i))
            .fold(least, |least, i| self.price_up_to(i, least).map_or(least, |price| price.min(least)))
    }

    /// Visits to links that a sweep makes, about.
    pub fn work(&self, full: bool) -> f64 {
        let columns = if full { self.columns.len() + self.live.len() } else { self.live.len() };
        let links = self.columns.arena.len() as f64 / self.columns.len().max(1) as f64;
        3.0 * columns as f64 * links
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two demands, of 3 and 1. The first has links 0 and 1 to choose from, the second 1 and 2; link 2 is half as fast.
    /// All three links are filled alike: 4 over a capacity of 2.5. The first puts 1.6 and 1.4, the second 0.2 and 0.8.
    fn two_demands() -> Equilibrium {
        let mut columns = Columns::new();
        for (amount, links) in [(3.0, [0, 1]), (1.0, [1, 2])] {
            links.iter().for_each(|&l| columns.push([l], amount / 2.0));
            columns.end_row();
        }
        Equilibrium::new(columns, vec![1.0, 1.0, 2.0], vec![0.0; 3])
    }

    fn settle(state: &mut Equilibrium, doublings: u32) -> Seen {
        let mut seen = Seen::default();
        for s in 0..200 {
            if s % 10 == 0 {
                state.reload();
                let reference = state.congestion();
                state.price_links(doublings, reference);
            }
            seen = state.sweep(s % 10 == 0, 0.0, 1e-9, &|| false);
        }
        state.reload();
        seen
    }

    #[test]
    fn loads_meet_at_the_optimum() {
        let mut state = two_demands();
        assert_eq!(state.congestion(), 1.5 + 0.5);
        for doublings in [3, 5, 7] {
            let seen = settle(&mut state, doublings);
            assert!(seen.reduced_cost_excess() < 1e-6, "{doublings}: {}", seen.reduced_cost_excess());
        }
        assert!((state.congestion() - 1.6).abs() < 0.01, "{}", state.congestion());
        let expected = [1.6, 1.4, 0.2, 0.8];
        let found = &state.columns.bytes;
        assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 0.02), "{found:?}");
        // The prices prove almost as much: what is between is the smoothing gap.
        let reference = state.congestion();
        state.price_links(7, reference);
        let weight: f64 = state.prices().iter().zip([1.0, 1.0, 0.5]).map(|(price, c)| price * c).sum();
        let cheapest = |i: usize, j: usize| state.price_of(i).min(state.price_of(j));
        let bound = (3.0 * cheapest(0, 1) + cheapest(2, 3)) / weight;
        assert!(bound <= 1.6 + 1e-9 && bound > 1.6 * 0.98, "{bound}");
        assert!(
            state.smoothing_gap() >= 0.0 && state.congestion() <= bound * (1.0 + state.smoothing_gap()) * (1.0 + 1e-3)
        );
    }

    /// Link 0 carries 2 bytes of others: the first demand leaves it to them as far as that is as good.
    #[test]
    fn a_base_load_is_planned_around() {
        let mut columns = Columns::new();
        columns.push([0], 2.0);
        columns.push([1], 2.0);
        columns.end_row();
        let mut state = Equilibrium::new(columns, vec![1.0, 1.0], vec![2.0, 0.0]);
        for doublings in [3, 5, 7] {
            settle(&mut state, doublings);
        }
        assert!((state.columns.bytes[0] - 1.0).abs() < 0.02 && (state.columns.bytes[1] - 3.0).abs() < 0.02);
    }

    /// A byte that pays for a forwarder leaves as soon as there is room below the ceiling, and no further: of 3 bytes that
    /// are shared evenly, link 0 may take up to 2.
    #[test]
    fn forwarding_is_saved_below_the_ceiling() {
        let mut columns = Columns::new();
        columns.push([0], 1.5);
        columns.push([1], 1.5);
        columns.forwards[1] = 1.0;
        columns.end_row();
        let mut state = Equilibrium::new(columns, vec![1.0, 1.0], vec![0.0; 2]);
        (state.forward_price, state.ceiling) = (0.2, 1.0);
        for doublings in 4..=9 {
            state.price_links(doublings, 2.0);
            (0..20).for_each(|s| {
                state.sweep(s == 0, 0.0, 1e-9, &|| false);
            });
        }
        assert!((1.95..=2.0).contains(&state.columns.bytes[0]), "{:?}", state.columns.bytes);
    }

    /// A sweep that is stopped leaves the demands behind as they are, and those before as the sweep does.
    #[test]
    fn a_stopped_sweep_changes_part() {
        let mut columns = Columns::new();
        let demands = 2 * STOP_EVERY as u32;
        for j in 0..demands {
            columns.push([2 * j], 3.0);
            columns.push([2 * j + 1], 1.0);
            columns.end_row();
        }
        let mut state = Equilibrium::new(columns, vec![1.0; 2 * demands as usize], vec![0.0; 2 * demands as usize]);
        state.price_links(3, 3.0);
        state.sweep(true, 0.0, 0.0, &|| true);
        let moved = (0..demands as usize).filter(|&j| state.columns.bytes[2 * j] < 3.0).count();
        assert_eq!(moved, STOP_EVERY - 1);
        // And none of them is lost.
        assert!((state.columns.bytes.iter().sum::<f64>() - 4.0 * f64::from(demands)).abs() < 1e-6);
    }

    #[test]
    fn columns_come_and_go_with_their_bytes() {
        let mut state = two_demands();
        state.columns.bytes[1] = 0.0;
        state.columns.bytes[0] = 3.0;
        state.reload();
        state.price_links(3, 1.0);
        // Column 1 costs nothing where its link is empty but for the other demand's half byte; the dear one stays for its
        // bytes.
        state.rebuild(&[(1, vec![2, 0])], 1.0);
        assert_eq!(state.columns.demands(), 2);
        assert_eq!(state.columns.len(), 5);
        assert_eq!(state.columns.links(4), [2, 0]);
        assert_eq!(state.columns.bytes, [3.0, 0.0, 0.5, 0.5, 0.0]);
    }
}
