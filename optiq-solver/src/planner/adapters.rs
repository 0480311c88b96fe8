//! Several adapters a node, owned by ranks: the least congestion in closed form, with the fewest bytes through memory.
//!
//! The hosts of the network are adapters here, and those of one node are joined by its memory ([`optiq_net::Shape::memory`]): a
//! forwarder on one's own node *is* another adapter, for the price of a copy. Let `c_a` be the capacity of adapter `a`, and `S_n`
//! and `R_n` the bytes that node `n` sends to other nodes and receives from them. All of `S_n` crosses the adapters of `n`, in any
//! routing, so
//!
//! ```text
//! T = max over nodes n of max(S_n, R_n) / (sum of c_a over the adapters a of n)
//! ```
//!
//! is a lower bound on congestion (the cut around a node, Ford and Fulkerson 1956). It is reached: by which adapter a byte leaves
//! its node, and by which it enters the other one, are two choices of which neither limits the other. With the *level* of a node,
//! `t_n = S_n / (sum of c_a)` on the one side and `R_n / (sum of c_a)` on the other, each adapter keeps its own
//! bytes up to its *quota* `t_n c_a`, and what is beyond moves through memory to adapters below theirs; they have room for it, because
//! the quotas of a node sum to at least `S_n`. No plan in which all adapters of a node are as busy moves fewer bytes: every adapter must get rid of what is
//! beyond its quota, once. NIMBLE (arXiv 2604.00317) approaches the same optimum by multiplicative weights, without a proof of how
//! near it is.
//!
//! Quotas of `T c_a` would do for the bound and move less still; but then adapters of many nodes are as busy as the fullest node's, and messages between two
//! such wait for each other (`docs/results/adapters.md`).
//!
//! An adapter gives away its largest messages first, so that few are split: at each side of a node at most (adapters - 1) are.
//! What leaves by another adapter comes first in a message, and what enters by another one last, so that few bytes are forwarded twice.
//!
//! The closed form knows adapters and not what lies between them, nor how fast memory is. Whoever asks for it compares the load
//! of all links with the bound ([`crate::planner::optimal`] does, and goes on where a link is not as light).

use crate::bound::Bound;
use crate::demands::Demand;
use crate::error::PlanError;
use crate::problem::{Problem, Share};
use optiq_net::{LinkId, Network, NodeId, Shape};
use std::ops::Range;

/// One side of all nodes: bytes that leave, or bytes that enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Out,
    In,
}

impl Side {
    /// Whose adapter a demand has on this side.
    fn owner(self, demand: &Demand) -> NodeId {
        match self {
            Side::Out => demand.src,
            Side::In => demand.dst,
        }
    }
}

/// A part of a demand, and the adapter that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    bytes: u64,
    adapter: NodeId,
}

/// The adapters of a network and the demands between nodes.
pub(crate) struct Nodes<'a> {
    net: &'a Network,
    shape: Shape,
    demands: &'a [Demand],
    size: usize,
    /// Per host, the capacity of its adapter in each direction.
    capacity: [Vec<f64>; 2],
    /// Per host, the bytes of other nodes that its own demands have.
    load: [Vec<u64>; 2],
}

/// The demands of which parts take other adapters than their own, in a plan of the module's head, by index; the others take the fabric's own
/// routes.
pub(crate) struct Moved(Vec<(usize, Vec<Share>)>);

impl Moved {
    /// Puts their shares where others are, which are kept in their place: twice is as before.
    pub fn swap(&mut self, all: &mut [Vec<Share>]) {
        self.0.iter_mut().for_each(|(demand, shares)| std::mem::swap(shares, &mut all[*demand]));
    }
}

impl<'a> Nodes<'a> {
    /// `None` if the network has no nodes of several adapters, if a host has several links to switches or cannot forward, or if more urgent
    /// demands are on the links already.
    pub(crate) fn of(problem: &Problem<'a>) -> Option<Self> {
        let hosts = problem.net().hosts();
        let all_forward =
            problem.forwarders().is_none_or(|allowed| allowed.len() >= hosts && !allowed.contains(&false));
        if all_forward && problem.base().is_none() { Nodes::new(problem.net(), problem.demands()) } else { None }
    }

    /// The plan of the module's head; adapters may have `slack` more than their quotas where that saves bytes through memory.
    ///
    /// # Errors
    /// [`PlanError`] if the fabric has no route for a leg.
    pub(crate) fn moved(&self, slack: f64) -> Result<Moved, PlanError> {
        let [out, into] = [Side::Out, Side::In].map(|side| self.balance(side, slack));
        let mut shares = Vec::new();
        for (i, ((demand, out), into)) in self.demands.iter().zip(out).zip(into).enumerate() {
            if !(out.is_empty() && into.is_empty()) {
                shares.push((i, self.join(demand, out, into)?));
            }
        }
        Ok(Moved(shares))
    }

    fn new(net: &'a Network, demands: &'a [Demand]) -> Option<Self> {
        let shape = net.switched_shape()?;
        let size = shape.adapters_per_node()? as usize;
        let mut capacity = [vec![0.0; net.hosts()], vec![0.0; net.hosts()]];
        for host in (0..net.hosts() as u32).map(NodeId) {
            let memory = shape.memory(host)?;
            let mut out = net.adapter_links(host);
            let mut into = net.in_links(host).iter().filter(|&&l| net.link(l).from != memory);
            // With several cables to switches, which of them carries what is the fabric's choice.
            let (Some(o), None, Some(i), None) = (out.next(), out.next(), into.next(), into.next()) else {
                return None;
            };
            capacity[0][host.index()] = net.link(o).capacity;
            capacity[1][host.index()] = net.link(*i).capacity;
        }
        let mut load = [vec![0u64; net.hosts()], vec![0u64; net.hosts()]];
        for d in demands.iter().filter(|d| d.src.index() / size != d.dst.index() / size) {
            load[0][d.src.index()] += d.bytes;
            load[1][d.dst.index()] += d.bytes;
        }
        Some(Nodes { net, shape, demands, size, capacity, load })
    }

    fn node(&self, host: NodeId) -> usize {
        host.index() / self.size
    }

    fn between_nodes(&self, demand: &Demand) -> bool {
        self.node(demand.src) != self.node(demand.dst)
    }

    /// The seconds that the bytes of a node's hosts take over all of its adapters.
    fn level(&self, side: Side, hosts: Range<usize>) -> f64 {
        let bytes: u64 = self.load[side as usize][hosts.clone()].iter().sum();
        let capacity: f64 = self.capacity[side as usize][hosts].iter().sum();
        bytes as f64 / capacity
    }

    /// What the plan of the module's head proves: the largest of all nodes' levels; the first of equals.
    pub(crate) fn bound(&self) -> Bound {
        let mut best = Bound { seconds: 0.0, binding: String::new() };
        for node in 0..self.net.hosts() / self.size {
            let of = node * self.size..(node + 1) * self.size;
            for side in [Side::Out, Side::In] {
                let seconds = self.level(side, of.clone());
                if seconds > best.seconds {
                    let verb = if side == Side::Out { "leave" } else { "enter" };
                    let names = [of.start, of.end - 1].map(|host| self.net.name(NodeId(host as u32)).to_owned());
                    let binding = format!(
                        "the {} adapters by which bytes {verb} the node of {} to {}",
                        self.size, names[0], names[1]
                    );
                    best = Bound { seconds, binding };
                }
            }
        }
        best
    }

    /// Per demand, the parts that take other adapters than their own on one side, in the order in which they were taken.
    fn balance(&self, side: Side, slack: f64) -> Vec<Vec<Part>> {
        let mut parts: Vec<Vec<Part>> = vec![Vec::new(); self.demands.len()];
        let (load, capacity) = (&self.load[side as usize], &self.capacity[side as usize]);
        let nodes = (0..self.net.hosts()).step_by(self.size).map(|first| first..first + self.size);
        let of_node = |hosts: Range<usize>| {
            let level = self.level(side, hosts.clone()) * (1.0 + slack);
            hosts.map(move |host| (level * capacity[host]).ceil() as u64)
        };
        let quota: Vec<u64> = nodes.flat_map(of_node).collect();
        // Demands between nodes of adapters that have too much.
        let mut of_adapter: Vec<Vec<usize>> = vec![Vec::new(); self.net.hosts()];
        for (i, d) in self.demands.iter().enumerate() {
            let owner = side.owner(d).index();
            if load[owner] > quota[owner] && self.between_nodes(d) {
                of_adapter[owner].push(i);
            }
        }
        for first in (0..self.net.hosts()).step_by(self.size) {
            let hosts = first..first + self.size;
            let mut receivers: Vec<Part> = hosts
                .clone()
                .map(|host| Part { bytes: quota[host].saturating_sub(load[host]), adapter: NodeId(host as u32) })
                .filter(|receiver| receiver.bytes > 0)
                .collect();
            receivers.sort_by_key(|receiver| (std::cmp::Reverse(receiver.bytes), receiver.adapter));
            let mut receivers = receivers.into_iter();
            let mut receiver = receivers.next();
            for host in hosts.filter(|&host| load[host] > quota[host]) {
                let mut surplus = load[host] - quota[host];
                let own = &mut of_adapter[host];
                own.sort_by_key(|&i| (std::cmp::Reverse(self.demands[i].bytes), i));
                for &i in own.iter() {
                    let mut left = self.demands[i].bytes.min(surplus);
                    surplus -= left;
                    while let Some(to) = receiver.as_mut().filter(|_| left > 0) {
                        let bytes = left.min(to.bytes);
                        parts[i].push(Part { bytes, adapter: to.adapter });
                        (left, to.bytes) = (left - bytes, to.bytes - bytes);
                        if to.bytes == 0 {
                            receiver = receivers.next();
                        }
                    }
                }
            }
        }
        parts
    }

    /// The shares of a demand whose parts leave and enter by these adapters, and the rest by its own.
    fn join(&self, demand: &Demand, mut out: Vec<Part>, into: Vec<Part>) -> Result<Vec<Share>, PlanError> {
        let rest = |parts: &[Part], adapter| Part {
            bytes: demand.bytes - parts.iter().map(|p| p.bytes).sum::<u64>(),
            adapter,
        };
        out.push(rest(&out, demand.src));
        let mut entering = vec![rest(&into, demand.dst)];
        entering.extend(into);
        let mut shares = Vec::with_capacity(out.len() + entering.len() - 1);
        let mut entering = entering.into_iter().filter(|part| part.bytes > 0);
        let mut enters = entering.next();
        for mut leaves in out.into_iter().filter(|part| part.bytes > 0) {
            while let Some(by) = enters.as_mut().filter(|_| leaves.bytes > 0) {
                let bytes = leaves.bytes.min(by.bytes);
                let links = self.path(demand, leaves.adapter, by.adapter)?;
                shares.push(Share { links, bytes });
                (leaves.bytes, by.bytes) = (leaves.bytes - bytes, by.bytes - bytes);
                if by.bytes == 0 {
                    enters = entering.next();
                }
            }
        }
        Ok(shares)
    }

    /// From a demand's source through memory to an adapter, to an adapter of the other node, and through its memory on.
    fn path(&self, demand: &Demand, leaves: NodeId, enters: NodeId) -> Result<Vec<LinkId>, PlanError> {
        let mut links = Vec::with_capacity(8);
        let stops = [demand.src, leaves, enters, demand.dst];
        debug_assert!(leaves == demand.src || self.shape.memory(leaves) == self.shape.memory(demand.src));
        for leg in stops.windows(2).filter(|leg| leg[0] != leg[1]) {
            self.net.route(leg[0], leg[1], &mut links)?;
        }
        Ok(links)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::pipeline::{self, PlanOptions, Planned};
    use crate::planner::Planner;
    use crate::planner::direct::Direct;
    use proptest::prelude::*;

    fn demands(of: &[(u32, u32, u64)]) -> Vec<Demand> {
        of.iter().map(|&(src, dst, bytes)| Demand::new(NodeId(src), NodeId(dst), bytes)).collect()
    }

    /// With no slack.
    fn plan(spec: &str, of: &[(u32, u32, u64)]) -> Planned {
        let net = Network::from_spec(spec).unwrap();
        pipeline::run(&net, &demands(of), &PlanOptions { slack: 0.0, ..PlanOptions::default() }).unwrap()
    }

    /// Two nodes of two adapters, 1 B/s each; hosts 0 and 1 are the first.
    const PAIR: &str = "star:4,capacity=1B/s,nodes=2@100B/s";

    #[test]
    fn one_message_leaves_and_enters_by_two_adapters() {
        // By hand: 100 bytes over two adapters take 50 s, half through memory on both sides: 0 -> 2 and 0 -> 1 -> 3 -> 2.
        let planned = plan(PAIR, &[(0, 2, 100)]);
        assert_eq!((planned.plan.congestion_seconds, planned.plan.bound_seconds), (50.0, 50.0));
        assert_eq!(planned.plan.direct_congestion_seconds, 100.0);
        // Other cuts are not looked at.
        let cut = "the 2 adapters by which bytes leave the node of h0-0 to h0-1";
        assert_eq!(planned.plan.binding, cut);
        let mut flows: Vec<(u64, Vec<u32>)> =
            planned.plan.flows[0].iter().map(|f| (f.bytes, f.stops.iter().map(|s| s.0).collect())).collect();
        flows.sort();
        // What leaves by adapter 1 enters by adapter 2, its own: nothing is forwarded twice.
        assert_eq!(flows, [(50, vec![0, 1, 2]), (50, vec![0, 3, 2])]);
    }

    #[test]
    fn adapters_get_shares_by_their_speed() {
        // Adapter 1 has half the speed: 90 bytes take 60 s, 60 by adapter 0 and 30 by adapter 1; the other node's are even, 45 each.
        let planned = plan("star:4,capacity=1B/s,nodes=2@100B/s,adapters=1.0@50%", &[(0, 2, 90)]);
        assert_eq!((planned.plan.congestion_seconds, planned.plan.bound_seconds), (60.0, 60.0));
        let by_slow: u64 = planned.plan.flows[0].iter().filter(|f| f.stops.contains(&NodeId(1))).map(|f| f.bytes).sum();
        assert_eq!(by_slow, 30);
    }

    #[test]
    fn only_what_is_beyond_the_quota_moves() {
        // Node 0 sends 60 + 20 and receives nothing, node 1 gets 80: 40 s. Adapter 0 gives 20 away; adapter 3 gets 10 from 2's 50.
        let planned = plan(PAIR, &[(0, 2, 50), (0, 3, 10), (1, 3, 20)]);
        assert_eq!((planned.plan.congestion_seconds, planned.plan.bound_seconds), (40.0, 40.0));
        let moved = |stop: u32| -> u64 {
            let flows = planned.plan.flows.iter().flatten();
            flows.filter(|f| f.stops[1..f.stops.len() - 1].contains(&NodeId(stop))).map(|f| f.bytes).sum()
        };
        assert_eq!([0, 1, 2, 3].map(moved), [0, 20, 0, 10]);
    }

    #[test]
    fn each_node_has_its_own_level() {
        // By hand, four adapters of 1 B/s: node 0 sends 200 by adapter 0, and node 1 sends 60 by adapter 2. Halves move on all sides, though node 1 would be in time.
        let planned = plan("star:6,capacity=1B/s,nodes=2@100B/s", &[(0, 4, 200), (2, 5, 60)]);
        assert_eq!((planned.plan.congestion_seconds, planned.plan.bound_seconds), (130.0, 130.0));
        let by = |stop: u32| -> u64 {
            let flows = planned.plan.flows.iter().flatten();
            flows.filter(|f| f.stops[1..f.stops.len() - 1].contains(&NodeId(stop))).map(|f| f.bytes).sum()
        };
        assert_eq!([1, 3].map(by), [100, 30]);
    }

    #[test]
    fn slack_saves_copies() {
        // 101 and 99 bytes: within 1 % of the bound nothing moves.
        let net = Network::from_spec(PAIR).unwrap();
        let of = demands(&[(0, 2, 101), (1, 3, 99)]);
        let planned = pipeline::run(&net, &of, &PlanOptions::default()).unwrap();
        assert!(planned.plan.flows.iter().all(|flows| flows.len() == 1 && flows[0].stops.len() == 2));
        assert_eq!(planned.plan.bound_seconds, 100.0);
    }

    /// Demands within a node stay there, and nothing is taken where memory is the limit.
    #[test]
    fn slow_memory_is_left_to_the_search() {
        let spec = "star:4,capacity=1B/s,nodes=2@100B/s";
        let planned = plan(spec, &[(0, 1, 1000)]);
        assert_eq!(planned.plan.congestion_seconds, 10.0);
        // Half of 100 bytes through memory of 0.1 B/s would take 500 s.
        let slow = plan("star:4,capacity=1B/s,nodes=2@0.1B/s", &[(0, 2, 100)]);
        assert!(slow.plan.congestion_seconds <= 100.0, "{}", slow.plan.congestion_seconds);
        let net = Network::from_spec("fattree:2x2:1x2,rails=2").unwrap();
        assert!(Nodes::of(&Problem::new(&net, &demands(&[(0, 2, 1)]), None).unwrap()).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// The bound is reached to within a byte of each adapter, every byte arrives, and no adapter gives away more than it must.
        #[test]
        fn the_bound_is_reached(
            spec in prop::sample::select(vec![
                "star:6,nodes=2@1TB/s", "star:8,nodes=4@1TB/s,adapters=1.0@50%+6.0@25%", "star:9,nodes=3@1TB/s,adapters=4.0@10%",
            ]),
            of in prop::collection::vec((0u32..9, 0u32..9, 0u64..100_000), 1..30),
        ) {
            let net = Network::from_spec(spec).unwrap();
            let n = net.hosts() as u32;
            let mut of: Vec<_> = of.into_iter().map(|(s, d, b)| (s % n, d % n, b)).filter(|(s, d, _)| s != d).collect();
            of.sort_unstable();
            of.dedup_by_key(|d| (d.0, d.1));
            let demands = demands(&of);
            let problem = Problem::new(&net, &demands, None).unwrap();
            let nodes = Nodes::of(&problem).unwrap();
            let (mut found, bound) = (nodes.moved(0.0).unwrap(), nodes.bound());
            let direct = Direct.assign(&problem).unwrap();
            let mut all = direct.clone();
            found.swap(&mut all.shares);
            let plan = pipeline::finish(&problem, "adapters", all.clone()).unwrap();
            found.swap(&mut all.shares);
            prop_assert_eq!(&all.shares, &direct.shares, "undone");
            let load = plan.link_load(&net).unwrap();
            for (link, &bytes) in net.links().iter().zip(&load.bytes) {
                let of_memory = net.name(link.from).starts_with('m') || net.name(link.to).starts_with('m');
                prop_assert!(of_memory || bytes as f64 <= bound.seconds * link.capacity + 1.0, "{bound:?} {bytes}");
            }
            // Bytes through memory: what is beyond quotas, and what stays within a node.
            let through: u64 = net.links().iter().zip(&load.bytes)
                .filter(|(l, _)| net.name(l.to).starts_with('m')).map(|(_, b)| b).sum();
            let within: u64 = demands.iter().filter(|d| !nodes.between_nodes(d)).map(|d| d.bytes).sum();
            let beyond: u64 = [Side::Out, Side::In].into_iter().flat_map(|side| {
                let (load, capacity) = (nodes.load[side as usize].clone(), nodes.capacity[side as usize].clone());
                let level: Vec<f64> = (0..net.hosts() / nodes.size).map(|node| nodes.level(side, node * nodes.size..(node + 1) * nodes.size)).collect();
                let size = nodes.size;
                load.into_iter().zip(capacity).enumerate()
                    .map(move |(host, (load, c))| load.saturating_sub((level[host / size] * c).ceil() as u64))
            }).sum();
            prop_assert_eq!(through, within + beyond);
        }
    }

    #[cfg(feature = "highs")]
    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]

        /// No linear program over candidate paths is below it, and it is not above by more than a byte of each adapter.
        #[test]
        fn the_linear_program_finds_nothing_better(
            of in prop::collection::vec((0u32..6, 0u32..6, 1u64..100_000), 1..12),
        ) {
            let net = Network::from_spec("star:6,nodes=3@1TB/s,adapters=1.0@50%").unwrap();
            let mut of: Vec<_> = of.into_iter().filter(|(s, d, _)| s / 3 != d / 3).collect();
            of.sort_unstable();
            of.dedup_by_key(|d| (d.0, d.1));
            prop_assume!(!of.is_empty());
            let demands = demands(&of);
            let options = |planner| PlanOptions { planner, slack: 0.0, k: Some(50), ..PlanOptions::default() };
            let of_lp = pipeline::run(&net, &demands, &options(crate::PlannerName::LinearProgram)).unwrap().plan;
            let ours = pipeline::run(&net, &demands, &options(crate::PlannerName::Optimal)).unwrap().plan;
            let byte = 1.0 / 0.5e9;
            prop_assert!(ours.congestion_seconds <= of_lp.congestion_seconds + byte, "{ours:?}");
            prop_assert!(ours.bound_seconds <= of_lp.congestion_seconds, "{ours:?}");
        }
    }
}
