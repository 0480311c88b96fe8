//! Cuts: sets of links that certain bytes must cross, and the best of them so far.

use crate::bound::region::Region;
use crate::demands::Demand;
use optiq_net::{LinkId, Network, NodeId};

/// Two bounds that differ by less, relatively, are the same but for rounding; the first of them is kept.
pub(super) const SAME: f64 = 1e-12;

/// A proved lower bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// No plan's congestion is below this, in seconds.
    pub seconds: f64,
    /// What proves it, in words that complete "the bound is set by ...": `the 9 links that leave h3`.
    pub binding: String,
}

/// Whether the bytes and links are those out of a set or those into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Leave,
    Enter,
}

impl Verb {
    pub const BOTH: [Verb; 2] = [Verb::Leave, Verb::Enter];

    /// Whether something from inside the set (or not) to inside the set (or not) counts.
    pub fn crosses(self, from_inside: bool, to_inside: bool) -> bool {
        from_inside != to_inside && from_inside == (self == Verb::Leave)
    }
}

/// What a bound was proved by.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cut {
    Nothing,
    Host(NodeId, Verb),
    /// All sources ([`Verb::Leave`]) or all destinations ([`Verb::Enter`]).
    Ends(Verb),
    Volume,
    Box(Region, Verb),
    /// Per vertex, whether it is inside.
    Part(Vec<bool>, Verb),
}

/// The best bound so far.
pub(super) struct Best {
    pub seconds: f64,
    pub cut: Cut,
}

impl Best {
    /// What another bound must exceed to be better.
    pub fn floor(&self) -> f64 {
        self.seconds * (1.0 + SAME)
    }

    /// Takes another bound if it is better.
    pub fn offer(&mut self, seconds: f64, cut: impl FnOnce() -> Cut) {
        if seconds > self.floor() {
            *self = Best { seconds, cut: cut() };
        }
    }
}

/// The bytes that each host sends, or receives.
pub(super) fn by_host(net: &Network, demands: &[Demand], verb: Verb) -> Vec<u64> {
    let mut bytes = vec![0u64; net.hosts()];
    for d in demands {
        bytes[if verb == Verb::Leave { d.src } else { d.dst }.index()] += d.bytes;
    }
    bytes
}

/// All links.
pub(super) fn all(net: &Network) -> impl Iterator<Item = LinkId> + use<> {
    (0..net.links().len() as u32).map(LinkId)
}

/// The links that leave or enter a host.
pub(super) fn at_host(net: &Network, host: NodeId, verb: Verb) -> impl Iterator<Item = LinkId> + '_ {
    let out = (verb == Verb::Leave).then(|| net.out_links(host));
    let into = (verb == Verb::Enter).then(|| net.in_links(host).iter().copied());
    out.into_iter().flatten().chain(into.into_iter().flatten())
}

/// Per vertex, whether it is a host with bytes.
pub(super) fn ends(net: &Network, bytes: &[u64]) -> Vec<bool> {
    (0..net.vertices()).map(|v| bytes.get(v).is_some_and(|&b| b > 0)).collect()
}

/// The links that leave or enter a set.
pub(super) fn boundary<'a>(net: &'a Network, inside: &'a [bool], verb: Verb) -> impl Iterator<Item = LinkId> + 'a {
    all(net).filter(move |&l| {
        let link = net.link(l);
        verb.crosses(inside[link.from.index()], inside[link.to.index()])
    })
}

/// The capacity of all of these links together.
pub(super) fn capacity(net: &Network, links: impl Iterator<Item = LinkId>) -> f64 {
    links.map(|l| net.link(l).capacity).sum()
}
