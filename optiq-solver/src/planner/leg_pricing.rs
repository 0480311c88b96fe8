//! What prices of links prove, and which paths enter, where software chooses only the hosts that forward.
//!
//! On a network with switches a path is a chain of legs, each the fabric's own route between two hosts, begun by
//! whichever port the sending host chooses ([`crate::legs`]). Let links cost `y_l / c_l` per byte, with `y >= 0` and
//! `sum_l y_l = 1`, as in module `pricing`. Everything that software can do then costs at least
//!
//! ```text
//! t >= sum_j b_j D_y(src_j, dst_j)
//! ```
//!
//! where `D_y` is the cheapest chain of legs, of any number of legs: a shortest path in the complete graph of hosts whose
//! edges are the legs. That graph need not be made. A leg from host `u` to host `v` is `u`'s port to a switch and the
//! route from there. Let `T(s, v)` be the cost of the fabric's route from *entry* `s` (module `leg_table`) to host `v`,
//! and `c(v, s)` that of `v`'s port into `s`. To enter by `s`, be forwarded once and be in the fabric again at entry `t`
//! costs
//!
//! ```text
//! W(s, t) = min over hosts v on t of  T(s, v) + c(v, t)
//! ```
//!
//! and chains of legs are shortest paths in the graph of entries with weights `W`: 216 of them for the 3,456 hosts of a
//! Dragonfly+. One intermediate host ([`LegPricing::sweep`]) is a minimum over one entry `t`, of `W(s, t) + T(t, dst)`;
//! any number ([`LegPricing::bound`]) is Dijkstra's algorithm in its dense form, `O(entries^2)` from each distinct entry.

use crate::demands::Demand;
use crate::leg_table::{Injection, LegTable};
use crate::legs::{self, may_forward};
use optiq_net::{LinkId, Network, NodeId};

/// Bytes of tables at a time, at most.
const MEMORY: usize = 256 << 20;

/// Steps of [`LegPricing::bound`], at most: visits to links, and relaxations.
const WORK: u64 = 1 << 30;

/// What a byte costs, and the links it passes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost(f64, u32);

impl Cost {
    const NONE: Cost = Cost(f64::INFINITY, u32::MAX);

    fn plus(self, other: Cost) -> Cost {
        Cost(self.0 + other.0, self.1.saturating_add(other.1))
    }

    fn less(self, other: Cost) -> bool {
        self.0 < other.0 || (self.0 == other.0 && self.1 < other.1)
    }
}

/// The legs of a network, to be priced again and again.
pub(super) struct LegPricing<'n> {
    net: &'n Network,
    table: LegTable<'n>,
}

/// The cheapest paths from an entry over one host into every entry.
struct Through {
    cost: Vec<Cost>,
    host: Vec<u32>,
}

impl<'n> LegPricing<'n> {
    /// See [`LegTable::new`].
    pub fn new(net: &'n Network) -> Self {
        LegPricing { net, table: LegTable::new(net) }
    }

    fn injections(&self, host: NodeId) -> &[Injection] {
        self.table.injections(host)
    }

    /// Appends the fabric's route from entry `e` to `host`; whether there is one.
    fn route(&self, e: usize, host: NodeId, links: &mut Vec<LinkId>) -> bool {
        self.table.route(e, host, links)
    }

    /// `T(e, host)`; `links` is scratch space.
    fn cost(&self, e: usize, host: NodeId, costs: &[f64], links: &mut Vec<LinkId>) -> Cost {
        let sum = |links: &[LinkId]| match links {
            // The empty route is none: no entry is the host itself.
            [] => Cost::NONE,
            links => Cost(links.iter().map(|l| costs[l.index()]).sum(), links.len() as u32),
        };
        if let Some(route) = self.table.kept(e, host) {
            return sum(route);
        }
        links.clear();
        self.route(e, host, links);
        sum(links)
    }

    fn cost_of_injection(injection: &Injection, costs: &[f64]) -> Cost {
        injection.link.map_or(Cost(0.0, 0), |l| Cost(costs[l.index()], 1))
    }

    /// Row `e` of `W`: per entry the cheapest way into it over one host that may forward.
    fn through(&self, e: usize, costs: &[f64], forwarders: Option<&[bool]>, links: &mut Vec<LinkId>) -> Through {
        let n = self.table.entries();
        let mut row = Through { cost: vec![Cost::NONE; n], host: vec![u32::MAX; n] };
        for host in (0..self.net.hosts() as u32).map(NodeId).filter(|&h| may_forward(forwarders, h)) {
            let there = self.cost(e, host, costs, links);
            for injection in self.injections(host) {
                let cost = there.plus(Self::cost_of_injection(injection, costs));
                if cost.less(row.cost[injection.entry as usize]) {
                    row.cost[injection.entry as usize] = cost;
                    row.host[injection.entry as usize] = host.0;
                }
            }
        }
        row
    }

    /// Calls `found` for every demand with bytes with the cost per byte of its cheapest path, direct by any port or over
    /// one intermediate host that may forward, and that path, given what each link costs (not negative). The order is
    /// that of blocks of sources, then of destinations and demands. A demand without any path has an infinite cost
    /// and no links. Ends early, and gives false, when `stop` says so, which is asked for each entry and destination.
    ///
    /// Among equally cheap paths that with the fewest links is found, then the direct one, then the one over the
    /// host with the lowest number.
    pub fn sweep(
        &self,
        demands: &[Demand],
        costs: &[f64],
        forwarders: Option<&[bool]>,
        stop: &dyn Fn() -> bool,
        mut found: impl FnMut(usize, f64, &mut dyn FnMut() -> Vec<LinkId>),
    ) -> bool {
        let n = self.table.entries();
        let mut order: Vec<usize> = (0..demands.len()).filter(|&j| demands[j].bytes > 0).collect();
        let first_entry = |src: NodeId| self.injections(src).first().map_or(0, |w| w.entry);
        order.sort_by_key(|&j| (first_entry(demands[j].src), demands[j].src, j));
        self.keep_routes_for(demands, &order);
        let rows_at_a_time = (MEMORY / (n.max(1) * (size_of::<Cost>() + size_of::<u32>()))).max(1);
        let mut links = Vec::new();
        let mut rest = order.as_mut_slice();
        while !rest.is_empty() {
            // As many sources as there is room for the rows of.
            let mut row_of = vec![usize::MAX; n];
            let mut rows: Vec<Through> = Vec::new();
            let mut end = 0;
            while end < rest.len() && (end == 0 || rows.len() < rows_at_a_time) {
                for injection in self.injections(demands[rest[end]].src) {
                    if row_of[injection.entry as usize] == usize::MAX {
                        if stop() {
                            return false;
                        }
                        row_of[injection.entry as usize] = rows.len();
                        rows.push(self.through(injection.entry as usize, costs, forwarders, &mut links));
                    }
                }
                end += 1;
            }
            let (block, later) = rest.split_at_mut(end);
            rest = later;
            block.sort_by_key(|&j| (demands[j].dst, j));
            for to_one in block.chunk_by(|&a, &b| demands[a].dst == demands[b].dst) {
                if stop() {
                    return false;
                }
                let dst = demands[to_one[0]].dst;
                let down: Vec<Cost> = (0..n).map(|e| self.cost(e, dst, costs, &mut links)).collect();
                for &j in to_one {
                    let (cost, path) =
                        self.cheapest(demands[j].src, dst, costs, forwarders, &down, |e| &rows[row_of[e]]);
                    found(j, cost, &mut || path.clone());
                }
            }
        }
        true
    }

    /// Keeps all routes if a sweep over these demands would compute a good part of them.
    fn keep_routes_for(&self, demands: &[Demand], order: &[usize]) {
        let distinct = |mut of: Vec<NodeId>| {
            of.sort_unstable();
            of.dedup();
            of.len()
        };
        let (entries, hosts) = (self.table.entries(), self.net.hosts());
        let sources = distinct(order.iter().map(|&j| demands[j].src).collect()).min(entries);
        let destinations = distinct(order.iter().map(|&j| demands[j].dst).collect());
        if 4 * (sources * hosts + destinations * entries) >= entries * hosts {
            self.table.keep_routes();
        }
    }

    /// The cheapest path from `src` to `dst`, where `down` are the costs from all entries to `dst`.
    fn cheapest<'r>(
        &self,
        src: NodeId,
        dst: NodeId,
        costs: &[f64],
        forwarders: Option<&[bool]>,
        down: &[Cost],
        row: impl Fn(usize) -> &'r Through,
    ) -> (f64, Vec<LinkId>) {
        let mut best = Cost::NONE;
        // The first injection; the intermediate host, and the entry where it sends.
        let mut choice: Option<(Injection, Option<(u32, usize)>)> = None;
        for injection in self.injections(src) {
            let cost = Self::cost_of_injection(injection, costs).plus(down[injection.entry as usize]);
            if cost.less(best) {
                (best, choice) = (cost, Some((*injection, None)));
            }
        }
        for injection in self.injections(src) {
            let row = row(injection.entry as usize);
            let begin = Self::cost_of_injection(injection, costs);
            for (e, (&through, &down)) in row.cost.iter().zip(down).enumerate() {
                let cost = begin.plus(through).plus(down);
                let lower =
                    |(_, via): (Injection, Option<(u32, usize)>)| via.is_some_and(|(host, _)| row.host[e] < host);
                if cost.less(best) || (cost == best && cost != Cost::NONE && choice.is_some_and(lower)) {
                    (best, choice) = (cost, Some((*injection, Some((row.host[e], e)))));
                }
            }
        }
        let Some((injection, via)) = choice else { return (f64::INFINITY, Vec::new()) };
        let mut path: Vec<LinkId> = injection.link.into_iter().collect();
        let complete = match via {
            None => self.route(injection.entry as usize, dst, &mut path),
            Some((host, e)) => {
                let first = self.route(injection.entry as usize, NodeId(host), &mut path);
                path.extend(self.injections(NodeId(host)).iter().find(|w| w.entry as usize == e).and_then(|w| w.link));
                first && self.route(e, dst, &mut path)
            }
        };
        if complete && legs::repeated(self.net, &path).is_none() {
            return (best.0, path);
        }
        // The cheapest walk passes something twice. That is rare enough to look at every host.
        self.cheapest_without_repetition(src, dst, costs, forwarders)
    }

    fn cheapest_without_repetition(
        &self,
        src: NodeId,
        dst: NodeId,
        costs: &[f64],
        forwarders: Option<&[bool]>,
    ) -> (f64, Vec<LinkId>) {
        let mut best = (Cost::NONE, Vec::new());
        let mut offer = |path: &[LinkId]| {
            let cost = Cost(path.iter().map(|l| costs[l.index()]).sum(), path.len() as u32);
            if cost.less(best.0) && legs::repeated(self.net, path).is_none() {
                best = (cost, path.to_vec());
            }
        };
        let mut path = Vec::new();
        let leg = |injection: &Injection, to: NodeId, path: &mut Vec<LinkId>| {
            path.extend(injection.link);
            self.route(injection.entry as usize, to, path)
        };
        for injection in self.injections(src) {
            path.clear();
            if leg(injection, dst, &mut path) {
                offer(&path);
            }
        }
        for host in
            (0..self.net.hosts() as u32).map(NodeId).filter(|&h| h != src && h != dst && may_forward(forwarders, h))
        {
            for first in self.injections(src) {
                path.clear();
                if !leg(first, host, &mut path) {
                    continue;
                }
                let so_far = path.len();
                for second in self.injections(host) {
                    path.truncate(so_far);
                    if leg(second, dst, &mut path) {
                        offer(&path);
                    }
                }
            }
        }
        (best.0.0, best.1)
    }

    /// What all bytes together cost at least, `sum_j b_j D(src_j, dst_j)`, over chains of any number of legs between
    /// hosts that may forward, given what each link costs per byte (not negative): with costs `y_l / c_l` and `y` that
    /// sum to 1 a lower bound in seconds on the congestion of everything that software can do. Not lowered by what
    /// rounding may add. Infinite if a demand has no path; `None` if it would take too much work or memory, or
    /// `stop` says so.
    pub fn bound(
        &self,
        demands: &[Demand],
        costs: &[f64],
        forwarders: Option<&[bool]>,
        stop: &dyn Fn() -> bool,
    ) -> Option<f64> {
        let (n, hosts) = (self.table.entries(), self.net.hosts());
        let moving = || demands.iter().filter(|d| d.bytes > 0);
        let mut begins = vec![false; n];
        moving().flat_map(|d| self.injections(d.src)).for_each(|injection| begins[injection.entry as usize] = true);
        let sources = begins.iter().filter(|b| **b).count();
        let work = (n as u64 * hosts as u64)
            .saturating_mul(16)
            .saturating_add((n as u64 * n as u64).saturating_mul(sources as u64))
            .saturating_add(moving().map(|d| (self.injections(d.src).len() * n) as u64).sum());
        if work > WORK || (n * (hosts + n + sources)).saturating_mul(size_of::<f64>()) > MEMORY {
            return None;
        }
        self.table.keep_routes();
        let mut links = Vec::new();
        // T and W, row by row.
        let (mut direct, mut through) = (Vec::with_capacity(n * hosts), vec![f64::INFINITY; n * n]);
        for e in 0..n {
            if stop() {
                return None;
            }
            let row = &mut through[e * n..(e + 1) * n];
            for host in (0..hosts as u32).map(NodeId) {
                let there = self.cost(e, host, costs, &mut links).0;
                direct.push(there);
                if may_forward(forwarders, host) {
                    for injection in self.injections(host) {
                        let into = &mut row[injection.entry as usize];
                        *into = into.min(there + Self::cost_of_injection(injection, costs).0);
                    }
                }
            }
        }
        let mut reach: Vec<Vec<f64>> = vec![Vec::new(); n];
        for e in (0..n).filter(|&e| begins[e]) {
            if stop() {
                return None;
            }
            reach[e] = dense_dijkstra(n, e, &through);
        }
        let mut paid = 0.0;
        for d in moving() {
            let by = |injection: &Injection| {
                let chains = reach[injection.entry as usize].iter().enumerate();
                let cheapest = chains.map(|(e, reach)| reach + direct[e * hosts + d.dst.index()]);
                Self::cost_of_injection(injection, costs).0 + cheapest.fold(f64::INFINITY, f64::min)
            };
            paid += d.bytes as f64 * self.injections(d.src).iter().map(by).fold(f64::INFINITY, f64::min);
        }
        Some(paid)
    }
}

/// Cheapest costs from `begin` to all `n`, given all `weights` (not negative) row by row.
fn dense_dijkstra(n: usize, begin: usize, weights: &[f64]) -> Vec<f64> {
    let mut cost = vec![f64::INFINITY; n];
    cost[begin] = 0.0;
    let mut open: Vec<usize> = (0..n).collect();
    while let Some(i) = (0..open.len()).min_by(|&a, &b| cost[open[a]].total_cmp(&cost[open[b]])) {
        let v = open.swap_remove(i);
        if cost[v] == f64::INFINITY {
            break;
        }
        let so_far = cost[v];
        for (to, weight) in cost.iter_mut().zip(&weights[v * n..(v + 1) * n]) {
            // Those that were left behind stay as they are: weights are not negative.
            *to = to.min(so_far + weight);
        }
    }
    cost
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use optiq_net::random::SplitMix64;

    fn net(spec: &str) -> Network {
        Network::from_spec(spec).unwrap()
    }

    fn demand(src: u32, dst: u32, bytes: u64) -> Demand {
        Demand::new(NodeId(src), NodeId(dst), bytes)
    }

    fn swept(net: &Network, demands: &[Demand], costs: &[f64], may: Option<&[bool]>) -> Vec<(usize, f64, Vec<LinkId>)> {
        let mut found = Vec::new();
        let legs = LegPricing::new(net);
        assert!(legs.sweep(demands, costs, may, &|| false, |j, cost, path| found.push((j, cost, path()))));
        found.sort_by_key(|f| f.0);
        found
    }

    /// All legs between two hosts.
    fn legs_between(net: &Network, from: NodeId, to: NodeId) -> Vec<Vec<LinkId>> {
        let mut legs = Vec::new();
        for port in net.out_links(from) {
            let mut links = Vec::new();
            if from != to && net.route_by_port(port, to, &mut links).is_ok() {
                legs.push(links);
            }
        }
        legs
    }

    /// Every path of at most two legs and every chain of legs, one by one.
    fn brute_force(net: &Network, d: &Demand, costs: &[f64], may: &[bool]) -> (Cost, f64) {
        let hosts: Vec<NodeId> = (0..net.hosts() as u32).map(NodeId).collect();
        let cost = |links: &[LinkId]| Cost(links.iter().map(|l| costs[l.index()]).sum(), links.len() as u32);
        let mut best = Cost::NONE;
        let mut offer = |links: &[LinkId]| {
            if legs::repeated(net, links).is_none() && cost(links).less(best) {
                best = cost(links);
            }
        };
        legs_between(net, d.src, d.dst).iter().for_each(|leg| offer(leg));
        for &h in hosts.iter().filter(|h| may[h.index()] && **h != d.src && **h != d.dst) {
            for first in legs_between(net, d.src, h) {
                legs_between(net, h, d.dst).iter().for_each(|second| offer(&[&first[..], second].concat()));
            }
        }
        // Bellman and Ford's rounds over the complete graph of hosts.
        let cheapest =
            |a: NodeId, b: NodeId| legs_between(net, a, b).iter().map(|l| cost(l).0).fold(f64::INFINITY, f64::min);
        let mut reach: Vec<f64> = hosts.iter().map(|&h| if h == d.src { 0.0 } else { f64::INFINITY }).collect();
        for _ in &hosts {
            for &a in hosts.iter().filter(|&&a| a == d.src || may[a.index()]) {
                for &b in &hosts {
                    reach[b.index()] = reach[b.index()].min(reach[a.index()] + cheapest(a, b));
                }
            }
        }
        (best, reach[d.dst.index()])
    }

    #[test]
    fn sweep_and_bound_are_what_brute_force_finds() {
        let specs = [
            "fattree:2x3:1x2",
            "fattree:2x2x2:1x2x2,routing=smodk",
            "fattree:2x3:1x2,rails=2",
            "fattree:2x3:1x2,rails=2,routing=smodk",
            "fattree:2x2:2x1,routing=shortest",
            "dragonfly:p=1,a=3,h=1",
            "dragonfly+:p=2,l=2,s=2,h=1",
            "star:5",
            "torus:3x3",
            "torus:4x2,routing=zone2",
        ];
        for (seed, spec) in specs.into_iter().enumerate() {
            let net = net(spec);
            let hosts = net.hosts() as u32;
            let mut random = SplitMix64::new(seed as u64);
            for round in 0..6 {
                // Many links cost nothing, as where a planner asks; multiples of 1/8 are summed without rounding.
                let price = |random: &mut SplitMix64| match random.below(3) {
                    0 => random.below(64) as f64 / 8.0,
                    _ => 0.0,
                };
                let costs: Vec<f64> = net.links().iter().map(|_| price(&mut random)).collect();
                let may: Vec<bool> = (0..hosts).map(|_| round % 2 == 0 || random.below(2) == 0).collect();
                let demands: Vec<Demand> = (0..hosts)
                    .flat_map(|a| (0..hosts).filter(move |&b| b != a).map(move |b| demand(a, b, 3)))
                    .collect();
                let found = swept(&net, &demands, &costs, Some(&may));
                let mut paid = 0.0;
                for (d, (j, cost, path)) in demands.iter().zip(&found) {
                    let (expected, any) = brute_force(&net, d, &costs, &may);
                    assert_eq!((*cost, path.len() as u32), (expected.0, expected.1), "{spec}: demand {j}");
                    let stops = legs::stops(&net, path).unwrap();
                    assert!(legs::between(&stops).iter().all(|s| may[s.index()]) && legs::check(&net, path, &stops));
                    paid += 3.0 * any;
                }
                let bound = LegPricing::new(&net).bound(&demands, &costs, Some(&may), &|| false).unwrap();
                assert!((bound - paid).abs() <= 1e-9 * paid, "{spec}: {bound} instead of {paid}");
                assert!(bound <= found.iter().map(|f| 3.0 * f.1).sum::<f64>() * (1.0 + 1e-12));
            }
        }
    }

    /// Two leaves under two roots; hosts 0, 1 and 2, 3. The link from leaf 4 to root 6, which the fabric takes to host 2,
    /// costs 5: over host 3 one goes by root 7. That takes two more links, so at no price one goes direct.
    #[test]
    fn round_an_expensive_cable() {
        let net = net("fattree:2x2:1x2");
        let link = |a, b| net.link_between(NodeId(a), NodeId(b)).unwrap();
        let mut costs = vec![0.0; net.links().len()];
        let demands = [demand(0, 2, 1), demand(1, 0, 0), demand(1, 3, 2)];
        assert_eq!(
            swept(&net, &demands[..1], &costs, None),
            [(0, 0.0, vec![link(0, 4), link(4, 6), link(6, 5), link(5, 2)])]
        );
        costs[link(4, 6).index()] = 5.0;
        let round = vec![link(0, 4), link(4, 7), link(7, 5), link(5, 3), link(3, 5), link(5, 2)];
        let found = swept(&net, &demands, &costs, None);
        assert_eq!((found[0].clone(), found.len(), found[1].0), ((0, 0.0, round), 2, 2));
        // Not where host 3 cannot forward.
        assert_eq!(swept(&net, &demands[..1], &costs, Some(&[true, true, true, false]))[0].1, 5.0);
        let legs = LegPricing::new(&net);
        assert_eq!(legs.bound(&demands, &costs, Some(&[true, true, true]), &|| false), Some(5.0));
        assert_eq!(legs.bound(&demands, &costs, None, &|| false), Some(0.0));
        assert!(!legs.sweep(&demands, &costs, None, &|| true, |_, _, _| ()));
        assert_eq!(legs.bound(&demands, &costs, None, &|| true), None);
    }

    /// Three leaves under two roots; hosts 0 and 1 of leaf 6 send to 2 and 4, both by root 9. All routings could use both
    /// roots and reach half the congestion, as the hosts' links prove. Software can do so over odd hosts beside the
    /// destinations; where no host forwards, the price of the one link proves that direct is the best.
    #[test]
    fn direct_is_proved_the_best_that_software_can_do() {
        let net = net("fattree:2x3:1x2");
        let demands = [demand(0, 2, 1 << 20), demand(1, 4, 1 << 20)];
        let mut costs = vec![0.0; net.links().len()];
        let up = net.link_between(NodeId(6), NodeId(9)).unwrap();
        costs[up.index()] = 1.0 / net.link(up).capacity;
        let legs = LegPricing::new(&net);
        let none = vec![false; 6];
        let bound = legs.bound(&demands, &costs, Some(&none), &|| false).unwrap();
        assert_eq!(legs.bound(&demands, &costs, None, &|| false), Some(0.0));
        let options = crate::pipeline::PlanOptions { forwarders: Some(none), ..Default::default() };
        let planned = crate::pipeline::run(&net, &demands, &options).unwrap();
        let (plan, gain) = (planned.plan, planned.report.gain);
        let verdict = crate::verdict::verdict(&plan, Some(bound), &gain).unwrap();
        assert!(verdict.direct_suffices);
        assert_eq!(
            verdict.text,
            "direct is the best that software can do on this network; the limit of 2.0x would need switches to be chosen"
        );
        assert!(!crate::verdict::verdict(&plan, None, &gain).unwrap().direct_suffices);
    }
}
