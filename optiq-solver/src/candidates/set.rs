//! Candidate paths for a list of demands.

use crate::candidates::generator::Generator;
use crate::candidates::limits::{MAX_K, MAX_PATHS};
use crate::candidates::method::CandidateMethod;
use crate::candidates::table::{PathBuffer, PathTable};
use crate::candidates::template::{self, Templates};
use crate::checks::{check_demands, name, unconnected};
use crate::deadline::Deadline;
use crate::demands::Demand;
use crate::error::PlanError;
use crate::legs;
use crate::parallel::in_two;
use optiq_net::{Fingerprint, LinkId, Network, NodeId};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

/// Candidate paths for a list of demands. Demands of the same pair share their paths.
///
/// On tori they are kept as templates (module `template`), which is little, and have to be expanded into links: demand by
/// demand with [`Candidates::expand`], or all together with [`Candidates::expanded`], which is done once and
/// kept. [`Candidates::of`], [`path`](Candidates::path), [`paths`](Candidates::paths) and
/// [`stored_paths`](Candidates::stored_paths) do the latter.
#[derive(Clone, Debug)]
pub struct Candidates {
    network: Fingerprint,
    k: usize,
    method: CandidateMethod,
    /// Per demand: its pair.
    pub(super) pairs: Vec<(NodeId, NodeId)>,
    /// Where there are templates, `table` is made from them when it is asked for.
    templates: Option<Templates>,
    table: OnceLock<PathTable>,
}

impl Candidates {
    pub(super) fn from_table(
        (network, k, method): (Fingerprint, usize, CandidateMethod),
        pairs: Vec<(NodeId, NodeId)>,
        table: PathTable,
    ) -> Self {
        Candidates { network, k, method, pairs, templates: None, table: table.into() }
    }

    /// At most `k` candidate paths for every demand, in the method's order: fewer links first (after the direct routes
    /// with `via.rs`).
    ///
    /// The result depends on the network, the pairs, `k` and `method` only: not on sizes, nor on which other
    /// demands there are.
    ///
    /// # Errors
    /// [`PlanError::K`] for `k` outside of `1..=MAX_K`; [`PlanError::Unconnected`] for a pair without a route;
    /// [`PlanError::NoSuchHost`], [`PlanError::SelfDemand`] and [`PlanError::Overflow`] for demands that do not fit
    /// the network; [`PlanError::TooManyPaths`] beyond [`MAX_PATHS`]; [`PlanError::PricedWithoutPlan`] for that method.
    pub fn generate(net: &Network, demands: &[Demand], k: usize, method: CandidateMethod) -> Result<Self, PlanError> {
        Self::generate_until(net, demands, k, method, Deadline::NEVER)
    }

    /// [`Candidates::generate`] that gives pairs that are reached after the deadline the fabric's own route only.
    pub(crate) fn generate_until(
        net: &Network,
        demands: &[Demand],
        k: usize,
        method: CandidateMethod,
        deadline: Deadline,
    ) -> Result<Self, PlanError> {
        if k == 0 || k > MAX_K {
            return Err(PlanError::K { found: k, max: MAX_K });
        }
        check_demands(net, demands)?;
        let method = method.resolve(net);
        if method == CandidateMethod::Priced {
            return Err(PlanError::PricedWithoutPlan);
        }
        let pairs: Vec<_> = demands.iter().map(|d| (d.src, d.dst)).collect();
        let network = net.fingerprint();
        let too_many = || PlanError::TooManyPaths { demands: demands.len(), k, max: MAX_PATHS };
        if let Some(place) = template::serve(net).filter(|_| method == CandidateMethod::Diverse) {
            let templates = Templates::generate(place, demands, k, deadline).ok_or_else(too_many)?;
            return Ok(Candidates { network, k, method, pairs, templates: Some(templates), table: OnceLock::new() });
        }
        let (order, rows) = distinct(&pairs);
        let make = |order: &[usize]| {
            let mut generator = Generator::new(net, k, method, order.len());
            let mut found = Found::default();
            let mut overdue = false;
            for (i, &d) in order.iter().enumerate() {
                let (src, dst) = pairs[d];
                overdue = overdue || i % 64 == 63 && deadline.overdue();
                if overdue {
                    let mut own = Vec::new();
                    net.route(src, dst, &mut own).map_err(|e| unconnected(net, demands, d, e))?;
                    found.paths.push(&own);
                    found.ends.push(found.paths.len());
                    continue;
                }
                let paths = generator.paths(src, dst).map_err(|e| unconnected(net, demands, d, e))?;
                paths.iter().for_each(|path| found.paths.push(path));
                found.ends.push(found.paths.len());
                if found.paths.len() > MAX_PATHS {
                    return Err(too_many());
                }
            }
            Ok(found)
        };
        let (first, second) = in_two(&order, order.len() * k >= MANY, make);
        let mut found = first?;
        if let Some(second) = second {
            let (second, before) = (second?, found.paths.len());
            found.paths.append(&second.paths);
            found.ends.extend(second.ends.iter().map(|end| before + end));
        }
        if found.paths.len() > MAX_PATHS {
            return Err(too_many());
        }
        let row = |&row: &u32| {
            let row = row as usize;
            (if row == 0 { 0 } else { found.ends[row - 1] as u32 })..found.ends[row] as u32
        };
        let table = PathTable { rows: rows.iter().map(row).collect(), stored: found.paths };
        Ok(Self::from_table((network, k, method), pairs, table))
    }

    /// Paths that were found for each pair of `demands`, at most `k`, by `method`. Pairs that `paths` lacks have none.
    pub(crate) fn from_paths(
        net: &Network,
        demands: &[Demand],
        (k, method): (usize, CandidateMethod),
        paths: &BTreeMap<(NodeId, NodeId), PathBuffer>,
    ) -> Self {
        let pairs: Vec<_> = demands.iter().map(|d| (d.src, d.dst)).collect();
        let (order, rows) = distinct(&pairs);
        let mut stored = PathBuffer::new();
        let mut ranges = Vec::with_capacity(order.len());
        for d in order {
            let start = stored.len() as u32;
            if let Some(found) = paths.get(&pairs[d]) {
                stored.append(found);
            }
            ranges.push(start..stored.len() as u32);
        }
        let rows = rows.iter().map(|&row| ranges[row as usize].clone()).collect();
        Self::from_table((net.fingerprint(), k, method), pairs, PathTable { rows, stored })
    }

    /// The candidates for `demands`, which may be fewer than, or in another order than those that the paths were
    /// found for: a set precomputed for a network serves any demands among its pairs.
    ///
    /// # Errors
    /// [`PlanError::OtherNetwork`] if the paths belong to another network, [`PlanError::Uncovered`] for a demand
    /// whose pair has no paths.
    pub fn for_demands(mut self, net: &Network, demands: &[Demand]) -> Result<Self, PlanError> {
        self.check_network(net)?;
        if self.fits(demands) {
            return Ok(self);
        }
        let known: BTreeMap<(NodeId, NodeId), usize> = self.pairs.iter().copied().zip(0..).collect();
        let of = |(i, d): (usize, &Demand)| {
            known.get(&(d.src, d.dst)).copied().ok_or_else(|| PlanError::Uncovered {
                demand: i,
                from: name(net, d.src),
                to: name(net, d.dst),
            })
        };
        let places = demands.iter().enumerate().map(of).collect::<Result<Vec<usize>, _>>()?;
        self.pairs = demands.iter().map(|d| (d.src, d.dst)).collect();
        match self.templates.take() {
            Some(templates) => {
                self.templates = Some(templates.rearranged(&places));
                self.table = OnceLock::new();
            }
            None => {
                if let Some(table) = self.table.get_mut() {
                    table.rows = places.iter().map(|&d| table.of(d)).collect();
                }
            }
        }
        Ok(self)
    }

    /// Only those paths that need no forwarder at hosts for which `allowed` (one entry per host) says no: a host
    /// without a process cannot forward. The fabric's own route always stays.
    ///
    /// # Errors
    /// [`PlanError::NoForwarder`] for a demand that is left without a path.
    pub fn forwarding_only_at(&self, net: &Network, allowed: &[bool]) -> Result<Self, PlanError> {
        let may = |host: &NodeId| legs::may_forward(Some(allowed), *host);
        let mut cutter = legs::Cutter::new(net);
        let mut kept = PathTable::default();
        // Demands of the same pair go on sharing their paths.
        let (order, rows) = distinct(&self.pairs);
        let mut paths = PathBuffer::new();
        let mut ranges = Vec::with_capacity(order.len());
        for d in order {
            let start = kept.stored.len() as u32;
            paths.clear();
            self.expand(d, &mut paths);
            for path in paths.iter() {
                if cutter.stops(path).is_some_and(|stops| legs::between(&stops).iter().all(may)) {
                    kept.stored.push(path);
                }
            }
            ranges.push(start..kept.stored.len() as u32);
        }
        kept.rows = rows.iter().map(|&row| ranges[row as usize].clone()).collect();
        if let Some(demand) = kept.rows.iter().position(Range::is_empty) {
            let (from, to) = self.pairs[demand];
            let name = |v| name(net, v);
            return Err(PlanError::NoForwarder { demand, from: name(from), to: name(to) });
        }
        Ok(Self::from_table((self.network, self.k, self.method), self.pairs.clone(), kept))
    }

    pub(crate) fn check_network(&self, net: &Network) -> Result<(), PlanError> {
        let given = net.fingerprint();
        if self.network == given {
            return Ok(());
        }
        Err(PlanError::OtherNetwork { found: self.network.to_string(), expected: given.to_string() })
    }

    /// Whether these are candidates for exactly the pairs of `demands`, in their order.
    pub(crate) fn fits(&self, demands: &[Demand]) -> bool {
        self.pairs.len() == demands.len() && self.pairs.iter().zip(demands).all(|(p, d)| *p == (d.src, d.dst))
    }

    /// The fingerprint of the network that the paths run through.
    pub fn network(&self) -> Fingerprint {
        self.network
    }

    /// The number of paths that was asked for.
    pub fn k(&self) -> usize {
        self.k
    }

    /// How the paths were found; not `Auto`.
    pub fn method(&self) -> CandidateMethod {
        self.method
    }

    /// Number of demands.
    pub fn demands(&self) -> usize {
        self.pairs.len()
    }

    /// Number of a demand's paths.
    pub fn count(&self, demand: usize) -> usize {
        match &self.templates {
            Some(templates) => templates.count(demand),
            None => self.expanded().of(demand).len(),
        }
    }

    /// Appends a demand's paths to `out`.
    pub fn expand(&self, demand: usize, out: &mut PathBuffer) {
        match &self.templates {
            Some(templates) => templates.expand(demand, out),
            None => self.expanded().paths(demand).for_each(|path| out.push(path)),
        }
    }

    /// Number of templates' paths, or of distinct paths where there are no templates: what is kept unless
    /// [`Candidates::expanded`] is asked for.
    pub fn kept_paths(&self) -> usize {
        self.templates.as_ref().map_or_else(|| self.expanded().stored_paths(), Templates::stored)
    }

    /// All paths as links. Made when it is first asked for, and kept.
    pub fn expanded(&self) -> &PathTable {
        self.table.get_or_init(|| self.templates.as_ref().map(|t| self.expand_all(t)).unwrap_or_default())
    }

    fn expand_all(&self, templates: &Templates) -> PathTable {
        let (order, rows) = distinct(&self.pairs);
        let make = |order: &[usize]| {
            let mut paths = PathBuffer::new();
            paths.links.reserve_exact(order.iter().map(|&d| templates.links(d)).sum());
            paths.ends.reserve_exact(order.iter().map(|&d| templates.count(d)).sum());
            order.iter().for_each(|&d| templates.expand(d, &mut paths));
            paths
        };
        let (mut stored, second) = in_two(&order, order.len() * self.k >= MANY, make);
        if let Some(second) = second {
            stored.append(&second);
        }
        let mut end = 0;
        let mut range = |&d: &usize| {
            let start = end;
            end += templates.count(d) as u32;
            start..end
        };
        let ranges: Vec<Range<u32>> = order.iter().map(&mut range).collect();
        PathTable { rows: rows.iter().map(|&row| ranges[row as usize].clone()).collect(), stored }
    }

    /// See [`PathTable::stored_paths`].
    pub fn stored_paths(&self) -> usize {
        self.expanded().stored_paths()
    }

    /// See [`PathTable::of`].
    pub fn of(&self, demand: usize) -> Range<u32> {
        self.expanded().of(demand)
    }

    /// See [`PathTable::path`].
    pub fn path(&self, path: u32) -> &[LinkId] {
        self.expanded().path(path)
    }

    /// See [`PathTable::paths`].
    pub fn paths(&self, demand: usize) -> impl ExactSizeIterator<Item = &[LinkId]> {
        self.expanded().paths(demand)
    }
}

/// With fewer paths than this a second thread does not pay.
const MANY: usize = 1 << 13;

/// Paths found for some pairs, and how many there were after each.
#[derive(Default)]
struct Found {
    paths: PathBuffer,
    ends: Vec<usize>,
}

/// One demand of every distinct pair, ordered by destination (so that what is known of distances to it is used again)
/// and source, and per demand the position of its pair in that order.
fn distinct(pairs: &[(NodeId, NodeId)]) -> (Vec<usize>, Vec<u32>) {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by_key(|&d| (pairs[d].1, pairs[d].0));
    let mut rows = vec![0; pairs.len()];
    let mut distinct: Vec<usize> = Vec::with_capacity(pairs.len());
    for d in order {
        if distinct.last().is_none_or(|&last| pairs[last] != pairs[d]) {
            distinct.push(d);
        }
        rows[d] = distinct.len() as u32 - 1;
    }
    (distinct, rows)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::demands;
    use std::time::{Duration, Instant};

    /// When time is over, pairs have the fabric's own route and nothing else; but for the few whose turn comes before
    /// the clock is looked at.
    #[test]
    fn without_time_there_are_own_routes() {
        let over = Instant::now().checked_sub(Duration::from_secs(100)).unwrap();
        let over = Deadline::new(over, Some(Duration::from_secs(1)));
        for (spec, method) in [
            ("torus:9x9x9", CandidateMethod::Diverse),
            ("mesh:6x6x6", CandidateMethod::Diverse),
            ("fattree:k=8", CandidateMethod::Via),
        ] {
            let net = Network::from_spec(spec).unwrap();
            let demands = demands::parse("pattern:random,count=6000", &net, 1).unwrap();
            let found = Candidates::generate_until(&net, &demands, 5, method, over).unwrap();
            let short = (0..demands.len()).filter(|&d| found.count(d) == 1).count();
            // Templates are made for distances: 125 times 4 of them.
            assert!(short > demands.len() / 2, "{spec}: {short}");
            for (d, demand) in demands.iter().enumerate().filter(|(d, _)| found.count(*d) == 1) {
                let mut own = Vec::new();
                net.route(demand.src, demand.dst, &mut own).unwrap();
                assert_eq!(found.paths(d).next(), Some(own.as_slice()), "{spec}");
            }
        }
    }
}
