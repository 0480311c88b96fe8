//! Routes that are known when a packet leaves: the fabric's own, from optiq-net, with virtual channels that keep them
//! free of deadlock.
//!
//! A set of routes cannot deadlock if the dependencies between (channel, class) pairs have no cycle (Dally and Seitz,
//! "Deadlock-Free Message Routing in Multiprocessor Interconnection Networks", IEEE ToC C-36(5), 1987). What breaks the
//! cycles:
//!
//! - **Torus, dimension order**: two classes. In each ring packets start in class 0 and are in class 1 from the link that
//!   wraps around on (Dally and Seitz's dateline), or in all of a ring in which they wrap around ([`Dateline`]): then those in
//!   class 0 never wrap, and those in class 1 go no further than half around. Orders that differ between packets add cycles
//!   between dimensions (zones 0 and 1); there the class is the number of times that the order of dimensions was violated,
//!   each with a dateline.
//! - **Fat tree**: up, then down; one class.
//! - **Dragonfly and Dragonfly+**, minimal: the class is the number of global links behind the packet.
//! - **Anything else** (tables from files, shortest paths): one class if the dependencies of all routes have no cycle, which
//!   is looked at when the simulator is made; otherwise a class for each hop, as many as the longest route has.

use crate::engine::packet::{Route, Step};
use crate::error::SimError;
use crate::model::{Dateline, RouterModel, Ties};
use crate::router::fabric::Fabric;
use crate::router::route_cache::{RouteCache, SharedRoutes};
use optiq_net::{Class, LinkId, Network, NodeId};

/// What decides the class of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Classes {
    /// All hops are alike.
    One,
    /// See the top of the file; with the number of changes of direction against the ascending order of dimensions that are
    /// possible.
    Datelines(u32),
    /// Global links so far.
    GlobalHops,
    /// Hops so far.
    Hops(u32),
}

impl Classes {
    pub(crate) fn count(self) -> u32 {
        match self {
            Classes::One => 1,
            Classes::Datelines(turns) => 2 * (turns + 1),
            Classes::GlobalHops => 2,
            Classes::Hops(most) => most,
        }
    }
}

/// The most classes of virtual channels.
const MOST_CLASSES: u32 = 32;
/// Larger networks are not searched for cycles.
const MOST_PAIRS: usize = 1 << 22;

/// The fabric's own routes.
#[derive(Debug)]
pub(crate) struct Routes<'n> {
    network: &'n Network,
    classes: Classes,
    /// Per dimension, its place in the order in which most packets travel.
    rank: Vec<u32>,
    dateline: Dateline,
    ties: Ties,
    /// Routes end after their first step.
    first_only: bool,
    /// Per host that step, where it is always the same.
    first: Vec<Option<Step>>,
    /// Per link, whether it is global; where these are counted ([`Classes::GlobalHops`]).
    globals: Vec<bool>,
    /// What hosts have in common of their routes, if they have.
    shared: Option<SharedRoutes>,
}

impl<'n> Routes<'n> {
    pub(crate) fn new(network: &'n Network, router: &RouterModel) -> Result<Self, SimError> {
        let &RouterModel { dateline, ties, .. } = router;
        let shared = SharedRoutes::of(network);
        let mut routes = Self { dateline, ties, first_only: false, shared, ..Self::first_steps(network) };
        routes.classes = routes.find_classes()?;
        if routes.classes == Classes::GlobalHops {
            let links = (0..network.links().len() as u32).map(LinkId);
            routes.globals = links.map(|link| network.class(link) == Class::Global).collect();
        }
        Ok(routes)
    }

    /// Only out of the source's memory: routers decide the rest.
    pub(crate) fn first_steps(network: &'n Network) -> Self {
        let (dateline, ties) = (Dateline::default(), Ties::default());
        Self {
            network,
            classes: Classes::One,
            rank: Vec::new(),
            dateline,
            ties,
            first_only: true,
            first: Vec::new(),
            globals: Vec::new(),
            shared: None,
        }
    }

    /// Looks for first steps that do not depend on the destination.
    pub(crate) fn find_first(&mut self, fabric: &Fabric) {
        if fabric.direct {
            return;
        }
        let first = |host: u32| {
            let exits = self.network.out_range(NodeId(host));
            let link = LinkId(exits.start);
            let only = exits.len() == 1 && self.network.link(link).lanes == 1;
            only.then(|| Step::new(fabric.channel(link), 0, false))
        };
        self.first = (0..fabric.hosts).map(first).collect();
    }

    pub(crate) fn classes(&self) -> Classes {
        self.classes
    }

    fn find_classes(&mut self) -> Result<Classes, SimError> {
        use optiq_net::{HopRule, Routing};
        let network = self.network;
        if let (Some(grid), Some(ports)) = (network.geometry().grid(), network.ports()) {
            let dims = grid.dims().len() as u32;
            let wraps = grid.wrap().iter().zip(grid.dims()).any(|(&wrap, &length)| wrap && length > 2);
            self.rank = (0..dims).collect();
            match (network.routing(), ports.order()) {
                (Routing::DimensionOrder(_) | Routing::Zone(_) | Routing::MinimalAdaptive, Some(order)) => {
                    order.dims().iter().enumerate().for_each(|(i, &d)| self.rank[usize::from(d)] = i as u32);
                    return Ok(if wraps { Classes::Datelines(0) } else { Classes::One });
                }
                // Any order: a dimension may be followed by one of lower rank as often as there are dimensions before it.
                (Routing::Zone(_), None) => return Ok(Classes::Datelines(dims.saturating_sub(1))),
                _ => {}
            }
        } else if let Routing::Table(table) = network.routing() {
            match table.rule() {
                HopRule::DModK | HopRule::SModK => return Ok(Classes::One),
                HopRule::Minimal => return Ok(Classes::GlobalHops),
                HopRule::Table => {}
            }
        }
        self.search()
    }

    /// Classes for routes without a closed form, by a search for cycles.
    fn search(&self) -> Result<Classes, SimError> {
        let hosts = self.network.hosts();
        let mut longest = 0;
        let mut after: Vec<Vec<u32>> = vec![Vec::new(); self.network.links().len()];
        let mut route = Vec::new();
        if hosts.saturating_mul(hosts) > MOST_PAIRS {
            let text = format!(
                "the routing of a network of {hosts} hosts that has no closed form cannot be checked for deadlock"
            );
            return Err(SimError::Routing(format!("{text}; at most 2,048 hosts are supported there")));
        }
        for (src, dst) in (0..hosts).flat_map(|s| (0..hosts).map(move |d| (s, d))).filter(|(s, d)| s != d) {
            route.clear();
            self.network.route(NodeId(src as u32), NodeId(dst as u32), &mut route)?;
            longest = longest.max(route.len() as u32);
            for pair in route.windows(2) {
                let row = &mut after[pair[0].index()];
                if let Err(at) = row.binary_search(&pair[1].0) {
                    row.insert(at, pair[1].0);
                }
            }
        }
        if is_acyclic(&after) {
            return Ok(Classes::One);
        }
        if longest > MOST_CLASSES {
            let text = format!("routes of up to {longest} hops whose channels depend on each other in a cycle");
            return Err(SimError::Routing(format!("{text}; at most {MOST_CLASSES} virtual channels are supported")));
        }
        Ok(Classes::Hops(longest))
    }

    /// Whether [`Routes::route`] needs random draws.
    pub(crate) fn draws_ties(&self) -> bool {
        self.ties == Ties::Random && matches!(self.classes, Classes::Datelines(_))
    }

    /// Half around a ring, goes in the other direction if the dimension's bit of the draws is set.
    fn draw_ties(&self, links: &mut [LinkId], draws: u64) {
        let (Some(grid), Some(ports)) = (self.network.geometry().grid(), self.network.ports()) else { return };
        for ring in links.chunk_by_mut(|&a, &b| ports.of_link(a) == ports.of_link(b)) {
            let port = usize::from(ports.of_link(ring[0]));
            let d = port / 2;
            let half = grid.wrap()[d] && grid.dims()[d] > 2 && 2 * ring.len() == grid.dims()[d] as usize;
            if half && draws >> (d % 64) & 1 == 1 {
                let mut at = self.network.link(ring[0]).from;
                for link in ring {
                    // In a ring there is always one.
                    if let Some(exit) = ports.exit(at, port ^ 1) {
                        (*link, at) = (exit.link, exit.to);
                    }
                }
            }
        }
    }

    /// The links from `src` to `dst`, each with its class; `draws` decide about ties, a bit for each dimension.
    pub(crate) fn links(
        &self,
        src: u32,
        dst: u32,
        draws: u64,
        links: &mut Vec<LinkId>,
        steps: &mut Vec<(LinkId, u32)>,
    ) -> Result<(), SimError> {
        links.clear();
        steps.clear();
        let exits = self.network.out_range(NodeId(src));
        if self.first_only && exits.len() == 1 {
            // There is no other, whatever the route is.
            links.push(LinkId(exits.start));
            steps.push((LinkId(exits.start), 0));
            return Ok(());
        }
        if src == dst && exits.len() == 1 && self.network.hosts() < self.network.vertices() {
            // To the switch and back.
            let up = LinkId(exits.start);
            let down = self.network.link_between(self.network.link(up).to, NodeId(src));
            links.extend([Some(up), down].into_iter().flatten());
        } else {
            self.network.route(NodeId(src), NodeId(dst), links)?;
        }
        if self.draws_ties() {
            self.draw_ties(links, draws);
        }
        let (mut class, mut dimension, mut wrapped, mut turns) = (0, u32::MAX, 0, 0);
        for (i, &link) in links.iter().enumerate() {
            match self.classes {
                Classes::One => {}
                Classes::Hops(_) => class = i as u32,
                Classes::GlobalHops => {}
                Classes::Datelines(_) => {
                    let (d, wraps) = self.direction(link);
                    if d != dimension {
                        let before = if dimension == u32::MAX { None } else { Some(self.rank[dimension as usize]) };
                        turns += u32::from(before.is_some_and(|before| self.rank[d as usize] < before));
                        (dimension, wrapped) = (d, 0);
                        if self.dateline == Dateline::FromTheStart {
                            let ring = links[i..].iter().map(|&l| self.direction(l)).take_while(|way| way.0 == d);
                            wrapped = u32::from(ring.into_iter().any(|way| way.1));
                        }
                    }
                    wrapped |= u32::from(wraps);
                    class = 2 * turns + wrapped;
                }
            }
            steps.push((link, class));
            if self.globals.get(link.index()) == Some(&true) {
                class += 1;
            }
        }
        Ok(())
    }

    /// The dimension of a link of a grid, and whether it wraps around.
    fn direction(&self, link: LinkId) -> (u32, bool) {
        let (Some(grid), Some(ports)) = (self.network.geometry().grid(), self.network.ports()) else {
            return (0, false);
        };
        let d = u32::from(ports.of_link(link) / 2);
        let link = self.network.link(link);
        let [from, to] = [link.from, link.to].map(|v| grid.coordinate(v, d as usize));
        // A ring of two has no wrap-around.
        (d, grid.dims()[d as usize] > 2 && from.abs_diff(to) > 1)
    }

    /// The whole route from memory to memory; `draws` as in [`Routes::links`].
    pub(crate) fn route(
        &self,
        fabric: &Fabric,
        (src, dst): (u32, u32),
        draws: u64,
        scratch: &mut Scratch,
    ) -> Result<Route, SimError> {
        if let Some(&Some(step)) = self.first.get(src as usize) {
            if self.first_only {
                return Ok(Route::new(&[step]));
            }
            if let Some(shared) = &self.shared {
                return self.shared_route(fabric, shared, (src, dst), step, scratch);
            }
        }
        self.find(fabric, (src, dst), draws, scratch)?;
        Ok(Route::new(&scratch.route))
    }

    /// As [`Routes::route`], where hosts have all but the first step in common with others.
    fn shared_route(
        &self,
        fabric: &Fabric,
        shared: &SharedRoutes,
        pair: (u32, u32),
        first: Step,
        scratch: &mut Scratch,
    ) -> Result<Route, SimError> {
        if let Some(rest) = scratch.cache.get(shared, pair) {
            scratch.route.clear();
            scratch.route.push(first);
            scratch.route.extend(rest);
        } else {
            self.find(fabric, pair, 0, scratch)?;
            debug_assert_eq!(scratch.route.first(), Some(&first));
            scratch.cache.keep(shared, pair, &scratch.route);
        }
        Ok(Route::new(&scratch.route))
    }

    /// Finds a route, into the scratch.
    fn find(&self, fabric: &Fabric, (src, dst): (u32, u32), draws: u64, scratch: &mut Scratch) -> Result<(), SimError> {
        let Scratch { links, steps, route, .. } = scratch;
        self.links(src, dst, draws, links, steps)?;
        route.clear();
        if fabric.direct {
            // The injection queue of the link that is taken first.
            let first = links.first().map_or(0, |l| l.0 - self.network.out_range(NodeId(src)).start);
            let queue = if fabric.queue_per_link { first.min(31) } else { 0 };
            route.push(Step::new(fabric.injection(src), queue, false));
        }
        for (i, &(link, class)) in steps.iter().enumerate() {
            let lanes = if fabric.one_lane { 1 } else { self.network.link(link).lanes };
            let lane = if lanes > 1 { self.network.lane(link, NodeId(src), NodeId(dst)) } else { Some(0) };
            // Into memory there is one virtual channel, but for routers with a pipeline.
            let into_memory = !fabric.direct && i + 1 == steps.len();
            let class = if into_memory && !fabric.classes_into_memory { 0 } else { class };
            route.push(Step::new(fabric.channel(link) + lane.unwrap_or(0), class, lane.is_none()));
        }
        if fabric.direct {
            route.push(Step::new(fabric.ejection(dst), 0, false));
        }
        if self.first_only {
            route.truncate(1);
        }
        Ok(())
    }
}

/// What finding a route needs, to be used again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    links: Vec<LinkId>,
    steps: Vec<(LinkId, u32)>,
    route: Vec<Step>,
    cache: RouteCache,
}

#[cfg(test)]
impl Scratch {
    pub(crate) fn keeps_routes(&self) -> bool {
        self.cache.keeps_routes()
    }
}

/// Whether a directed graph has no cycle (Kahn).
pub(crate) fn is_acyclic(after: &[Vec<u32>]) -> bool {
    let mut before = vec![0u32; after.len()];
    after.iter().flatten().for_each(|&to| before[to as usize] += 1);
    let mut free: Vec<usize> = (0..after.len()).filter(|&i| before[i] == 0).collect();
    let mut seen = 0;
    while let Some(i) = free.pop() {
        seen += 1;
        for &to in &after[i] {
            before[to as usize] -= 1;
            if before[to as usize] == 0 {
                free.push(to as usize);
            }
        }
    }
    seen == after.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the dependencies of all routes between (link, class) pairs have no cycle.
    fn deadlock_free(spec: &str, dateline: Dateline, ties: Ties) -> (bool, u32) {
        let network = Network::from_spec(spec).unwrap();
        let router = RouterModel { dateline, ties, ..RouterModel::default() };
        let routes = Routes::new(&network, &router).unwrap();
        let classes = routes.classes().count();
        let mut after: Vec<Vec<u32>> = vec![Vec::new(); network.links().len() * classes as usize];
        let (mut links, mut steps) = (Vec::new(), Vec::new());
        let hosts = network.hosts() as u32;
        let pairs = (0..hosts).flat_map(|s| (0..hosts).map(move |d| (s, d))).filter(|(s, d)| s != d);
        // Without random ties, draws must make no difference.
        for ((src, dst), draws) in pairs.flat_map(|pair| [(pair, 0), (pair, 1), (pair, u64::MAX)]) {
            routes.links(src, dst, draws, &mut links, &mut steps).unwrap();
            assert_eq!(steps.last().map(|s| network.link(s.0).to.0), Some(dst), "{spec}");
            for pair in steps.windows(2) {
                let [a, b] = [pair[0], pair[1]].map(|(link, class)| {
                    assert!(class < classes, "{spec}: class {class} of {classes}");
                    link.0 * classes + class
                });
                if !after[a as usize].contains(&b) {
                    after[a as usize].push(b);
                }
            }
        }
        (is_acyclic(&after), classes)
    }

    #[test]
    fn channel_dependencies_have_no_cycle() {
        let cases = [
            ("torus:8", 2),
            ("torus:5x4x3", 2),
            ("torus:4x4x2", 2),
            ("mesh:4x5", 1),
            ("torus:4x4x4,routing=zone0", 6),
            ("torus:4x3x3,routing=zone1", 6),
            ("torus:4x4x3,routing=zone2", 2),
            ("fattree:k=4", 1),
            ("fattree:3x3x2:1x3x2,routing=smodk", 1),
            ("dragonfly:p=2,a=4,h=2", 2),
            ("dragonfly+:p=2,l=3,s=3,h=2", 2),
            ("fattree:k=4,routing=shortest", 1),
        ];
        for (spec, classes) in cases {
            for dateline in [Dateline::AtTheWrap, Dateline::FromTheStart] {
                for ties in [Ties::Fabric, Ties::Random] {
                    assert_eq!(deadlock_free(spec, dateline, ties), (true, classes), "{spec} {dateline:?}");
                }
            }
        }
        // A ring on shortest paths with one class would not be.
        let (free, classes) = deadlock_free("torus:8,routing=shortest", Dateline::AtTheWrap, Ties::Fabric);
        assert!(free && classes > 1);
    }
}
