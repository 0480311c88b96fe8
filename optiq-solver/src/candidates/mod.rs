//! Candidate paths: what planners choose from (thesis 4.2.1).
//!
//! | method | paths | where |
//! | --- | --- | --- |
//! | [`yen`] | the k shortest, none longer than the diameter; as published | any network |
//! | [`diverse`] | through all pairs of ports, up to 4 hops longer than the shortest | `auto` where there are no switches |
//! | [`via`] | the fabric's own routes by every port, and through one intermediate host | `auto` on networks with switches |
//!
//! Whatever the method, the fabric's own route is among the candidates, so that no planner need be worse than it,
//! and every candidate can be executed: it falls into legs ([`crate::legs`]). On a grid every path does; on a
//! switched network, where software cannot choose switches, few do, and [`via`] finds them by composing legs.

pub mod diverse;
pub mod file;
pub mod via;
pub mod yen;

use crate::error::PlanError;
use crate::{Demand, legs};
use diverse::Diverse;
use optiq_net::{Fingerprint, LinkId, Network, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use via::Via;
use yen::{Query, Yen};

/// The largest number of candidate paths per demand that can be asked for.
pub const MAX_K: usize = 10_000;

/// The largest number of candidate paths that are kept for all demands together.
pub const MAX_PATHS: usize = 1 << 26;

/// How candidate paths are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CandidateMethod {
    /// [`Diverse`](CandidateMethod::Diverse) where hosts are joined directly (every host has ports to choose from,
    /// and on a dense graph the diameter would leave Yen's paths no way around), [`Via`](CandidateMethod::Via) on
    /// networks with switches.
    #[default]
    Auto,
    /// The k shortest loopless paths, [`yen`].
    Yen,
    /// Port-pair-diverse paths, [`diverse`].
    Diverse,
    /// The fabric's own routes and detours through one intermediate host, [`via`].
    Via,
}

impl CandidateMethod {
    /// What `Auto` means on `net`.
    pub fn resolve(self, net: &Network) -> Self {
        match self {
            CandidateMethod::Auto if net.vertices() == net.hosts() => CandidateMethod::Diverse,
            CandidateMethod::Auto => CandidateMethod::Via,
            other => other,
        }
    }
}

impl fmt::Display for CandidateMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CandidateMethod::Auto => "auto",
            CandidateMethod::Yen => "yen",
            CandidateMethod::Diverse => "diverse",
            CandidateMethod::Via => "via",
        })
    }
}

impl FromStr for CandidateMethod {
    type Err = PlanError;
    fn from_str(s: &str) -> Result<Self, PlanError> {
        match s {
            "auto" => Ok(CandidateMethod::Auto),
            "yen" => Ok(CandidateMethod::Yen),
            "diverse" => Ok(CandidateMethod::Diverse),
            "via" => Ok(CandidateMethod::Via),
            other => Err(PlanError::UnknownMethod(other.to_owned())),
        }
    }
}

/// Candidate paths for a list of demands: for each demand a range of paths, each path a stretch of one arena of
/// links. Demands of the same pair share their paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidates {
    network: Fingerprint,
    k: usize,
    method: CandidateMethod,
    /// Per demand: its pair.
    pairs: Vec<(NodeId, NodeId)>,
    /// Per demand: its paths.
    rows: Vec<Range<u32>>,
    /// Path `p` is `arena[ends[p - 1]..ends[p]]` (from 0 for the first).
    ends: Vec<usize>,
    arena: Vec<LinkId>,
}

impl Candidates {
    /// No candidates yet, for paths on `net`.
    fn empty(net: &Network, k: usize, method: CandidateMethod) -> Self {
        let (pairs, rows, ends, arena) = Default::default();
        Candidates { network: net.fingerprint(), k, method, pairs, rows, ends, arena }
    }

    /// At most `k` candidate paths for every demand, in the method's order: fewer links first (after the direct routes
    /// with [`via`]).
    ///
    /// The result depends on the network, the pairs, `k` and `method` only: not on sizes, nor on which other
    /// demands there are.
    ///
    /// # Errors
    /// [`PlanError::K`] for `k` outside of `1..=MAX_K`; [`PlanError::Unconnected`] for a pair without a route;
    /// [`PlanError::NoSuchHost`], [`PlanError::SelfDemand`] and [`PlanError::Overflow`] for demands that do not fit
    /// the network; [`PlanError::TooManyPaths`] beyond [`MAX_PATHS`].
    pub fn generate(net: &Network, demands: &[Demand], k: usize, method: CandidateMethod) -> Result<Self, PlanError> {
        if k == 0 || k > MAX_K {
            return Err(PlanError::K { found: k, max: MAX_K });
        }
        crate::problem::check_demands(net, demands)?;
        let method = method.resolve(net);
        let mut candidates = Self::empty(net, k, method);
        let mut generator = Generator::new(net, k, method, demands.len());
        // Pairs with the same destination follow each other, so that what is known of distances to it is used.
        let mut order: Vec<usize> = (0..demands.len()).collect();
        order.sort_by_key(|&d| (demands[d].dst, demands[d].src));
        candidates.pairs = demands.iter().map(|d| (d.src, d.dst)).collect();
        candidates.rows = vec![0..0; demands.len()];
        let mut last: Option<usize> = None;
        for d in order {
            let (src, dst) = candidates.pairs[d];
            if let Some(last) = last.filter(|&l| candidates.pairs[l] == (src, dst)) {
                candidates.rows[d] = candidates.rows[last].clone();
                continue;
            }
            last = Some(d);
            let paths = generator.paths(src, dst).map_err(|e| crate::problem::unconnected(net, demands, d, e))?;
            let start = candidates.ends.len();
            for path in paths {
                candidates.push(&path);
            }
            if candidates.ends.len() > MAX_PATHS {
                return Err(PlanError::TooManyPaths { demands: demands.len(), k, max: MAX_PATHS });
            }
            candidates.rows[d] = start as u32..candidates.ends.len() as u32;
        }
        Ok(candidates)
    }

    /// Appends a path to the arena.
    fn push(&mut self, path: &[LinkId]) {
        self.arena.extend_from_slice(path);
        self.ends.push(self.arena.len());
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
        let known: BTreeMap<(NodeId, NodeId), Range<u32>> =
            self.pairs.iter().copied().zip(self.rows.iter().cloned()).collect();
        let row = |(i, d): (usize, &Demand)| {
            known.get(&(d.src, d.dst)).cloned().ok_or_else(|| PlanError::Uncovered {
                demand: i,
                from: crate::problem::name(net, d.src),
                to: crate::problem::name(net, d.dst),
            })
        };
        self.rows = demands.iter().enumerate().map(row).collect::<Result<_, _>>()?;
        self.pairs = demands.iter().map(|d| (d.src, d.dst)).collect();
        Ok(self)
    }

    /// Only those paths that need no forwarder at hosts for which `allowed` (one entry per host) says no: where no
    /// process runs, nobody forwards. The fabric's own route always stays.
    ///
    /// # Errors
    /// [`PlanError::Uncovered`] for a demand that is left without a path.
    pub fn forwarding_only_at(&self, net: &Network, allowed: &[bool]) -> Result<Self, PlanError> {
        let may = |host: &NodeId| allowed.get(host.index()).copied().unwrap_or(false);
        let possible = |links: &[LinkId]| {
            crate::legs::stops(net, links).is_some_and(|stops| stops[1..stops.len() - 1].iter().all(may))
        };
        let mut kept = Self { rows: Vec::new(), ends: Vec::new(), arena: Vec::new(), ..self.clone() };
        // Demands of the same pair go on sharing their paths.
        let mut moved: BTreeMap<u32, Range<u32>> = BTreeMap::new();
        for (d, row) in self.rows.iter().enumerate() {
            let known = moved.get(&row.start).cloned();
            let new = known.unwrap_or_else(|| {
                let start = kept.ends.len() as u32;
                self.paths(d).filter(|p| possible(p)).for_each(|p| kept.push(p));
                start..kept.ends.len() as u32
            });
            if new.is_empty() {
                let (from, to) = self.pairs[d];
                let name = |v| crate::problem::name(net, v);
                return Err(PlanError::Uncovered { demand: d, from: name(from), to: name(to) });
            }
            moved.insert(row.start, new.clone());
            kept.rows.push(new);
        }
        Ok(kept)
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
        self.rows.len()
    }

    /// Number of distinct paths stored.
    pub fn stored_paths(&self) -> usize {
        self.ends.len()
    }

    /// The numbers of the paths of a demand, for [`Candidates::path`].
    pub fn of(&self, demand: usize) -> Range<u32> {
        self.rows[demand].clone()
    }

    /// The links of one path.
    pub fn path(&self, path: u32) -> &[LinkId] {
        let p = path as usize;
        let start = if p == 0 { 0 } else { self.ends[p - 1] };
        &self.arena[start..self.ends[p]]
    }

    /// The paths of a demand, each as its links from source to destination.
    pub fn paths(&self, demand: usize) -> impl ExactSizeIterator<Item = &[LinkId]> {
        let row = self.rows[demand].clone();
        (row.start as usize..row.end as usize).map(|p| self.path(p as u32))
    }
}

/// One method's working space.
struct Generator<'n> {
    net: &'n Network,
    k: usize,
    method: Method<'n>,
    /// Whether paths need not be looked at one by one to know that they can be executed.
    all_executable: bool,
    /// The destination of the last query and the distances to it.
    distances: Option<(NodeId, Vec<u32>)>,
    diameter: u32,
}

enum Method<'n> {
    Yen(Yen<'n>),
    Diverse(Diverse<'n>),
    Via(Via<'n>),
}

impl<'n> Generator<'n> {
    /// For about `pairs` pairs.
    fn new(net: &'n Network, k: usize, method: CandidateMethod, pairs: usize) -> Self {
        let (method, diameter) = match method {
            CandidateMethod::Diverse => (Method::Diverse(Diverse::new(net)), 0),
            CandidateMethod::Via => (Method::Via(Via::new(net, pairs, k)), 0),
            _ => (Method::Yen(Yen::new(net)), net.diameter()),
        };
        Generator { net, k, method, all_executable: legs::every_path_has_legs(net), distances: None, diameter }
    }

    /// At most `k` paths, the fabric's own among them.
    fn paths(&mut self, src: NodeId, dst: NodeId) -> Result<Vec<Vec<LinkId>>, optiq_net::NetError> {
        let mut own = Vec::new();
        self.net.route(src, dst, &mut own)?;
        let (net, k) = (self.net, self.k);
        let executable = |path: &[LinkId]| self.all_executable || legs::stops(net, path).is_some();
        let rotation = rotation(src, dst);
        let mut paths = match &mut self.method {
            Method::Diverse(diverse) => diverse.paths(src, dst, k, rotation, executable),
            // It composes them of legs, the fabric's own route first.
            Method::Via(via) => return Ok(via.paths(src, dst, k)),
            Method::Yen(yen) => {
                let distances = match self.distances.take() {
                    Some((of, distances)) if of == dst => distances,
                    _ => net.distances_to(dst),
                };
                let max_hops = self.diameter;
                let paths = yen.paths(Query { src, dst, distance: &distances, k, max_hops, rotation }, executable);
                self.distances = Some((dst, distances));
                paths
            }
        };
        if !paths.contains(&own) {
            paths.truncate(k - 1);
            let place = paths.partition_point(|p| p.len() <= own.len());
            paths.insert(place, own);
        }
        Ok(paths)
    }
}

/// What turns the order of ports between equally good paths, so that not all pairs prefer the same.
fn rotation(src: NodeId, dst: NodeId) -> u32 {
    src.0.wrapping_add(dst.0)
}
