//! Which links were slow in an exchange, from the times of its legs alone.
//!
//! Leg `e` carries `b_e` bytes over the links `R(e)` and is busy for `t_e` seconds: something is in flight on it. Link `l` carries
//! `w_l = sum of b_e over the legs across it`, of a nominal capacity `C_l` of which the share `s_l` is left to us. The executor keeps bytes in flight in
//! proportion to planned bytes (`optiq-transport/src/in_flight.rs`), so the legs across a saturated link share it in that proportion and finish
//! together, and a leg finishes with the last of its links:
//!
//! ```text
//!     t_e = max over l in R(e) of x_l,        x_l = w_l / (f s_l C_l)      where l is saturated,
//! ```
//!
//! with `f` the part of a link's capacity that this executor reaches on links without other load. This is a linear system in the max-plus algebra. It has
//! a greatest solution, found by residuation (R. Cuninghame-Green, *Minimax Algebra*, Springer 1979, chapter 14):
//!
//! ```text
//!     x_l = min over legs e across l of t_e,
//! ```
//!
//! so a link is exonerated by the fastest leg across it. Times are noisy, so the minimum is a lower quantile by bytes ([`QUANTILE`]). With `T` the link
//! bound that was planned, everything should be over after `T / f`; a leg is *late* if it took [`EarlierExchanges::late`] times that, and [`COMPARABLE`] of the time of the
//! leg that took longest. Legs behind a very late one get their chunks one by one and so take longer than planned as well; what is slow besides shows when a plan
//! avoids the slowest links. A late leg needs one slow link among those with `x_l` close to `t_e`; of all sets of links that explain all late legs, one
//! with few links is taken: the link that explains the most late bytes first, again and again (greedy set cover: V. Chvátal, "A Greedy Heuristic for
//! the Set-Covering Problem", Mathematics of Operations Research 4(3), 1979). Links that explain the same late legs cannot be told apart and are blamed
//! together, so that a plan keeps off all of them. The only link of a host is blamed last: nothing but that host's own bytes go over it, and no plan
//! can keep off it. A leg is late as well if its confirmations come back over a link that our own
//! bytes fill; so a link that a single leg speaks against is let off if that leg's confirmations cross another one that is blamed. The share of a link that is blamed is
//! `s_l = w_l / (f x_l C_l)`; of one that is not, the same formula is a lower bound.
//!
//! Where routers choose packet by packet, plans have relays at every host, and a leg of one hop has one link. With a longer one among them, whose
//! bytes may be anywhere, an exchange says nothing.
//!
//! `f` comes from the exchange itself: the largest `w_l / (x_l s_l C_l)` over links that were planned to be busy for half of `T` or more. If all links
//! are slow together, `f` is small and no link is blamed: no other plan would help.

use crate::constants::{AS_GOOD, COMPARABLE, LATE, QUANTILE};
use optiq_net::{Link, LinkId, Network, NodeId};
use std::collections::BTreeMap;
use std::fmt;

/// What one leg did in one exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LegTime {
    /// The host that sent.
    pub from: NodeId,
    /// The host that received.
    pub to: NodeId,
    /// What it carried.
    pub bytes: u64,
    /// For how long something was in flight on it, in seconds.
    pub seconds: f64,
}

/// One exchange on planned paths, as it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// The link bound of the plan on what was taken for left of each link, in seconds.
    pub planned_seconds: f64,
    /// From its beginning until the last rank was through, in seconds.
    pub seconds: f64,
    /// All legs of all ranks, in any order.
    pub legs: Vec<LegTime>,
}

impl Exchange {
    /// The bytes of its legs on each link; none where the fabric has no route.
    pub fn link_bytes(&self, network: &Network) -> Vec<u64> {
        let legs = self.legs.iter().filter(|leg| leg.from != leg.to).map(|leg| (leg.from, leg.to, leg.bytes));
        network.route_load(legs).map_or_else(|_| vec![0; network.links().len()], |load| load.bytes)
    }
}

impl fmt::Display for Exchange {
    /// Planned and measured seconds, then FROM TO BYTES SECONDS of each leg.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} s planned, {:.6} s taken", self.planned_seconds, self.seconds)?;
        self.legs.iter().try_for_each(|leg| write!(f, "; {} {} {} {:.6}", leg.from.0, leg.to.0, leg.bytes, leg.seconds))
    }
}

/// A leg with the links under it.
struct Leg {
    links: Vec<LinkId>,
    /// Over which its confirmations come back.
    back: Vec<LinkId>,
    bytes: u64,
    seconds: f64,
}

/// What an exchange says of the links, see the top of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// By link: the bytes of all legs across it.
    pub loads: Vec<u64>,
    /// By link: the share of its nominal capacity that it gave at least; nothing where no leg crossed it.
    pub reached: Vec<Option<f64>>,
    /// Links that explain the late legs, with the share of their nominal capacity that was left, ascending by link.
    pub slow: Vec<(LinkId, f64)>,
    /// `f`; nothing if no leg was usable.
    pub efficiency: Option<f64>,
    /// The time of the leg that took longest, over `T / f`; 0 if no leg was usable.
    pub latest: f64,
}

/// What earlier exchanges taught.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarlierExchanges {
    /// The efficiency that they reached, if any was looked at.
    pub efficiency: Option<f64>,
    /// A leg is late that takes more than this, above 1, times what was planned.
    pub late: f64,
}

/// The legs that can be used: with bytes, a time that is possible, and a route that is known. Clocks that jump and ranks that measured another exchange
/// give times beyond the exchange's own.
fn usable(network: &Network, exchange: &Exchange) -> Vec<Leg> {
    let possible = |leg: &LegTime| {
        let hosts = leg.from != leg.to && network.is_host(leg.from) && network.is_host(leg.to);
        hosts && leg.bytes > 0 && leg.seconds > 0.0 && leg.seconds <= exchange.seconds * LATE
    };
    let with_links = |leg: &LegTime| {
        let mut links = Vec::new();
        // Which port a host with several took, is not told.
        if network.chooses_port(leg.from) {
            return None;
        }
        network.route(leg.from, leg.to, &mut links).ok()?;
        let mut back = Vec::new();
        network.route(leg.to, leg.from, &mut back).ok()?;
        Some(Leg { links, back, bytes: leg.bytes, seconds: leg.seconds })
    };
    let legs: Vec<Leg> = exchange.legs.iter().filter(|leg| possible(leg)).filter_map(with_links).collect();
    let anywhere = network.routing().is_adaptive() && legs.iter().any(|leg| leg.links.len() > 1);
    if anywhere { Vec::new() } else { legs }
}

/// The value below which the part [`QUANTILE`] of all bytes lies.
fn lower_quantile(times: &mut [(f64, u64)]) -> f64 {
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = times.iter().map(|t| t.1 as f64).sum();
    let mut passed = 0.0;
    for &(seconds, bytes) in &*times {
        passed += bytes as f64;
        if passed >= QUANTILE * all {
            return seconds;
        }
    }
    0.0
}

/// What `exchange` says of the links of `network`, whose capacities are nominal, where `assumed` is the share of each that was taken for left. `preferred` says of a link whether it is to be blamed where another one explains as much.
pub fn estimate(
    network: &Network,
    assumed: &[f64],
    earlier: EarlierExchanges,
    exchange: &Exchange,
    preferred: impl Fn(LinkId) -> bool,
) -> Estimate {
    let legs = usable(network, exchange);
    let mut across: BTreeMap<LinkId, Vec<(f64, u64)>> = BTreeMap::new();
    let mut loads = vec![0u64; network.links().len()];
    for leg in &legs {
        for &link in &leg.links {
            across.entry(link).or_default().push((leg.seconds, leg.bytes));
            loads[link.index()] = loads[link.index()].saturating_add(leg.bytes);
        }
    }
    let mut times = vec![0.0; loads.len()];
    for (link, list) in &mut across {
        times[link.index()] = lower_quantile(list);
    }
    let nominal = |link: LinkId| network.link(link).capacity;
    let ideal = |link: LinkId| loads[link.index()] as f64 / nominal(link);
    let busy = |link: &&LinkId| ideal(**link) / assumed[link.index()] >= exchange.planned_seconds / 2.0;
    let used = |link: &LinkId| ideal(*link) / assumed[link.index()] / times[link.index()];
    let best = across.keys().filter(busy).map(used).fold(0.0, f64::max).min(1.0);
    let efficiency = (best > 0.0).then(|| best.max(earlier.efficiency.unwrap_or(0.0)));
    let Some(f) = efficiency else {
        return Estimate { reached: vec![None; loads.len()], loads, ..Estimate::default() };
    };
    let share = |link: LinkId| (ideal(link) / (f * times[link.index()])).min(1.0);
    let mut reached = vec![None; loads.len()];
    across.keys().for_each(|&link| reached[link.index()] = Some(share(link)));
    let longest = legs.iter().map(|leg| leg.seconds).fold(0.0, f64::max);
    let late_after = (earlier.late * exchange.planned_seconds / f).max(COMPARABLE * longest);
    let is_last = |link: LinkId| is_only_link_of_a_host(network, link);
    let slow = blame(&legs, &times, late_after, (is_last, preferred));
    let slow = slow.into_iter().map(|link| (link, share(link))).collect();
    let latest = longest * f / exchange.planned_seconds;
    Estimate { loads, reached, slow, efficiency, latest }
}

/// Whether all that crosses a link is from or for one host.
fn is_only_link_of_a_host(network: &Network, link: LinkId) -> bool {
    let Link { from, to, .. } = *network.link(link);
    let leaves_alone = network.is_host(from) && network.out_links(from).all(|other| other == link);
    let enters_alone = network.is_host(to) && network.in_links(to).iter().all(|&other| other == link);
    leaves_alone || enters_alone
}

/// The links that explain all legs which took longer than `late_after`, few of them, ascending. Those that are `last` are taken where no other one
/// explains anything; of links that explain as much one that is `preferred`, with those that explain the same.
fn blame(
    legs: &[Leg],
    times: &[f64],
    late_after: f64,
    (last, preferred): (impl Fn(LinkId) -> bool, impl Fn(LinkId) -> bool),
) -> Vec<LinkId> {
    let explains =
        |link: LinkId, leg: &Leg| times[link.index()] > late_after && times[link.index()] >= leg.seconds / LATE;
    let late: Vec<&Leg> = legs.iter().filter(|leg| leg.seconds > late_after).collect();
    let mut open = late.clone();
    let mut blamed: Vec<(LinkId, Vec<&Leg>)> = Vec::new();
    loop {
        let mut explained: BTreeMap<LinkId, u64> = BTreeMap::new();
        for leg in &open {
            for &link in leg.links.iter().filter(|&&link| explains(link, leg)) {
                let bytes = explained.entry(link).or_default();
                *bytes = leg.bytes.saturating_add(*bytes);
            }
        }
        if !explained.keys().all(|&link| last(link)) {
            explained.retain(|&link, _| !last(link));
        }
        let Some(most) = explained.values().copied().max() else { break };
        let good = explained.iter().filter(|(_, bytes)| **bytes as f64 >= AS_GOOD * most as f64);
        let order = |link: LinkId, bytes: u64| (preferred(link), bytes, std::cmp::Reverse(link));
        let Some((&link, _)) = good.max_by_key(|(link, bytes)| order(**link, **bytes)) else { break };
        let explained_by = |link: LinkId| move |leg: &&Leg| leg.links.contains(&link) && explains(link, leg);
        let (mine, others): (Vec<&Leg>, Vec<&Leg>) = open.iter().partition(|leg| explained_by(link)(leg));
        let same = |other: &LinkId| {
            let is_same = |leg: &&Leg| explained_by(*other)(leg) == explained_by(link)(leg);
            preferred(*other) == preferred(link) && open.iter().all(is_same)
        };
        blamed.extend(explained.keys().filter(|other| same(other)).map(|&other| (other, mine.clone())));
        open = others;
    }
    let mut links = without_echoes(blamed, &late);
    links.sort_unstable();
    links
}

/// Leaves out links that only one late leg speaks against, if its confirmations come back over another link that is blamed. Of two that excuse each
/// other, the one stays that more late bytes, or their confirmations, cross.
fn without_echoes(blamed: Vec<(LinkId, Vec<&Leg>)>, late: &[&Leg]) -> Vec<LinkId> {
    let crossing = |link: LinkId| {
        let across = late.iter().filter(|leg| leg.links.contains(&link) || leg.back.contains(&link));
        across.fold(0, |sum: u64, leg| sum.saturating_add(leg.bytes))
    };
    let mut order: Vec<usize> = (0..blamed.len()).collect();
    order.sort_by_key(|&i| (crossing(blamed[i].0), std::cmp::Reverse(blamed[i].0)));
    let mut links: Vec<LinkId> = blamed.iter().map(|(link, _)| *link).collect();
    for i in order {
        let (link, legs) = &blamed[i];
        if let [leg] = legs.as_slice()
            && leg.back.iter().any(|back| back != link && links.contains(back))
        {
            links.retain(|l| l != link);
        }
    }
    links
}
