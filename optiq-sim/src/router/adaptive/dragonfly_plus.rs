//! Dragonfly+: fully progressive adaptive routing (FPAR).
//!
//! A. Shpiner et al., "Dragonfly+: Low Cost Topology for Scaling Datacenters", HiPINEB 2017, as Kang et al. (see
//! `optiq-net/src/switched/dragonfly_plus.rs`) have it in their section 3.1.2. There are three kinds of paths to another
//! group, in order of length:
//!
//! 1. minimal: up, over a cable to the destination's group, down (3 hops between switches);
//! 2. by an intermediate spine: up, over a cable to a spine of a third group, over one of its own to the destination's, down (4);
//! 3. by an intermediate leaf: as 2, but in the third group down to a leaf and up to another spine (6).
//!
//! Every router that still may choose knows the outputs of each kind. The score of an output is its queue
//! divided by the queue's length; a kind has the score of its best output, one of several alike at random. With the
//! threshold `T`, a longer kind is taken only if its score is below `T` and the scores of all shorter ones are above `T`; if no
//! kind is left, the best output of the shortest one. Two kinds that go by the same output are one until their paths
//! part, which is in the third group: its spine takes its own cable, or goes down.
//!
//! Virtual lanes: packets start on VL0. The intermediate spine or leaf that sends a packet minimally puts it on VL1, and what
//! comes on VL1 goes minimally. Packets within a group go minimally: up by the output with the best score, and down.
//!
//! A path is a part of: up on VL0, global on VL0, down on VL0 (third group), up on VL1, global on VL1, down on VL1, or ends
//! down on VL0 after the first or the second of these. Every path passes them in this order, so no cycle is possible.

use super::ports::{channels_between, channels_of, groups, homes};
use super::router_view::{Choice, Place, RouterView};
use crate::engine::packet::RouteState;
use crate::router::fabric::Fabric;
use optiq_net::{Class, Network, NodeId, Shape};
use std::ops::Range;

pub(crate) struct DragonflyPlus {
    destinations: Vec<Destination>,
    switches: Vec<Switch>,
    hosts: u32,
    groups: u32,
    /// Outputs of switches that do not follow each other.
    scattered: Vec<u32>,
    /// Per spine and leaf of its group, the channels down.
    down: Vec<Range<u32>>,
    /// Per switch and group, for each kind of path there, in order of length, the outputs by which it goes: a bit for each,
    /// of a leaf's channels up, of a spine's global ones.
    kinds: Vec<u64>,
    /// Words of each of these sets.
    words: usize,
    limits: Limits,
}

/// A queue's length times the threshold, in bytes: of a class of channels within groups, and between them.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) local: f64,
    pub(crate) global: f64,
}

/// What decisions need of a packet's destination.
struct Destination {
    /// Its leaf, and which one that is in its group.
    home: u32,
    rank: u32,
    group: u32,
    /// The channels from the leaf.
    channels: Range<u32>,
}

struct Switch {
    spine: bool,
    group: u32,
    /// Where the outputs begin that go towards other groups: channels one after the other, or places in `scattered`.
    first: u32,
    scattered: bool,
    /// A leaf's channels up, a spine's down.
    inside: Range<u32>,
    /// A spine's first place in `down`.
    down: u32,
}

/// Kinds of paths: at leaves the last two are one, as they part further on.
const KINDS: usize = 3;

impl DragonflyPlus {
    /// For packets that find their way on this fabric.
    pub(crate) fn new(network: &Network, fabric: &Fabric, shape: Shape, limits: Limits) -> Self {
        let group = groups(network, &shape);
        let (hosts, vertices) = (network.hosts(), network.vertices());
        let groups = group.iter().max().map_or(1, |&last| last + 1);
        let is_spine = |v: u32| shape.level(NodeId(v)) == 2;
        let mut outputs = vec![Vec::new(); vertices];
        let mut inside = vec![0..0; vertices];
        let mut reaches = vec![false; vertices * groups as usize];
        for v in hosts..vertices {
            for link in network.out_links(NodeId(v as u32)) {
                let channels = channels_of(network, fabric, link);
                match network.class(link) {
                    Class::Terminal => {}
                    // The leaves and the spines of a group are numbered one after the other.
                    Class::Local if inside[v].is_empty() => inside[v] = channels,
                    Class::Local => inside[v].end = channels.end,
                    Class::Global => {
                        reaches[v * groups as usize + group[network.link(link).to.index()] as usize] = true;
                        outputs[v].extend(channels);
                    }
                }
            }
            if !is_spine(v as u32) {
                outputs[v] = inside[v].clone().collect();
            }
        }
        let words = outputs.iter().map(|o| o.len().div_ceil(64)).max().unwrap_or(0);
        let mut leaves = vec![Vec::new(); groups as usize];
        for leaf in (hosts as u32..vertices as u32).filter(|&v| !is_spine(v)) {
            leaves[group[leaf as usize] as usize].push(leaf);
        }
        let destination = |(host, home): (u32, u32)| Destination {
            home,
            rank: leaves[group[home as usize] as usize].binary_search(&home).unwrap_or(0) as u32,
            group: group[host as usize],
            channels: channels_between(network, fabric, home, host),
        };
        let mut all = Self {
            destinations: (0..).zip(homes(network)).map(destination).collect(),
            switches: Vec::new(),
            hosts: hosts as u32,
            groups,
            scattered: Vec::new(),
            down: Vec::new(),
            kinds: Vec::new(),
            words,
            limits,
        };
        for (v, outputs) in outputs.iter().enumerate().skip(hosts) {
            let (spine, here) = (is_spine(v as u32), group[v]);
            let scattered = outputs.windows(2).any(|pair| pair[0] + 1 != pair[1]);
            let first = if scattered { all.scattered.len() as u32 } else { outputs.first().copied().unwrap_or(0) };
            let down = all.down.len() as u32;
            all.switches.push(Switch { spine, group: here, first, scattered, inside: inside[v].clone(), down });
            all.scattered.extend(outputs.iter().filter(|_| scattered));
            if spine {
                let leaves = &leaves[here as usize];
                all.down.extend(leaves.iter().map(|&leaf| channels_between(network, fabric, v as u32, leaf)));
            }
            for there in 0..groups {
                let kind = |&channel: &u32| {
                    let end = fabric.ends[channel as usize];
                    let reaches = reaches[end as usize * groups as usize + there as usize];
                    match (spine, group[end as usize] == there) {
                        (true, true) => 0,
                        (true, false) => 1 + usize::from(!reaches),
                        (false, _) => usize::from(!reaches),
                    }
                };
                let mut sets = vec![0; KINDS * words];
                for (i, channel) in outputs.iter().enumerate() {
                    sets[kind(channel) * words + i / 64] |= 1 << (i % 64);
                }
                all.kinds.extend(sets);
            }
        }
        all
    }

    /// The outputs of a switch by which a kind of path to a group goes.
    #[inline]
    fn outputs(&self, at: u32, there: u32, kind: usize) -> impl Iterator<Item = u32> + '_ {
        let switch = self.switch(at);
        let row = ((at - self.hosts) * self.groups + there) as usize * KINDS + kind;
        let sets = &self.kinds[row * self.words..(row + 1) * self.words];
        Ones { word: 0, words: sets.iter(), base: 0u32.wrapping_sub(64) }.map(move |output| {
            let at = switch.first + output;
            if switch.scattered { self.scattered[at as usize] } else { at }
        })
    }

    #[inline]
    fn switch(&self, at: u32) -> &Switch {
        &self.switches[(at - self.hosts) as usize]
    }

    /// The outputs that [`DragonflyPlus::decide`] will look at first.
    #[inline]
    pub(crate) fn likely(&self, at: u32, dst: u32, mut look: impl FnMut(Range<u32>)) {
        let (switch, Some(to)) = (self.switch(at), self.destinations.get(dst as usize)) else { return };
        if at == to.home {
            look(to.channels.clone());
        } else if !switch.spine {
            look(switch.inside.clone());
        } else if switch.group != to.group {
            self.outputs(at, to.group, 0).for_each(|channel| look(channel..channel + 1));
        } else if let Some(down) = self.down.get((switch.down + to.rank) as usize) {
            look(down.clone());
        }
    }

    pub(crate) fn decide(&self, place: Place, state: &mut RouteState, view: &mut impl RouterView) -> Choice {
        let (choice, is_global) = if self.switch(place.at).spine {
            self.decide_spine(place, state, view)
        } else {
            (self.decide_leaf(place, state, view), false)
        };
        if is_global {
            state.global();
        }
        choice
    }

    fn decide_leaf(&self, place: Place, state: &mut RouteState, view: &mut impl RouterView) -> Choice {
        let Place { at, first, dst } = place;
        let (switch, to) = (self.switch(at), &self.destinations[dst as usize]);
        let up = switch.inside.clone();
        if at == to.home {
            return Choice::new(best_of(to.channels.clone(), 0, view), 0);
        }
        if to.group == switch.group {
            return Choice::new(best_of(up, 0, view), 0);
        }
        // From the intermediate leaf on, minimally.
        state.lane = u8::from(!first);
        let class = u32::from(state.lane);
        // All go up first, by channels within the group.
        let (mut kinds, limit) = (Kinds::default(), self.limits.local);
        if let Some(channel) = kinds.offer(view.least(self.outputs(at, to.group, 0), class), limit) {
            return Choice::new(channel, class);
        }
        if first && let Some(channel) = kinds.offer(view.least(self.outputs(at, to.group, 1), class), limit) {
            state.detour = true;
            return Choice::new(channel, class);
        }
        Choice::new(kinds.shortest.unwrap_or(up.start), class)
    }

    /// The choice, and whether it is a global channel.
    fn decide_spine(&self, place: Place, state: &mut RouteState, view: &mut impl RouterView) -> (Choice, bool) {
        let Place { at, dst, .. } = place;
        let (switch, to) = (self.switch(at), &self.destinations[dst as usize]);
        let inside = switch.inside.clone();
        if switch.group == to.group {
            let down = self.down[(switch.down + to.rank) as usize].clone();
            return (Choice::new(best_of(down, state.lane.into(), view), state.lane.into()), false);
        }
        let own = || self.outputs(at, to.group, 0);
        let (mut kinds, limits) = (Kinds::default(), self.limits);
        if state.lane == 1 {
            let channel = view.least(own(), 1).map_or(inside.start, |best| best.0);
            return (Choice::new(channel, 1), true);
        }
        if state.globals > 0 {
            // The intermediate spine: what it sends minimally goes on VL1, what goes down stays on VL0.
            let mut sends = kinds.offer(view.least(own(), 1), limits.global);
            if sends.is_none() {
                let has_own = kinds.shortest;
                let down = view.least_in(inside.clone(), 0);
                let down = if has_own.is_some() { kinds.offer(down, limits.local) } else { down.map(|best| best.0) };
                if let Some(channel) = down {
                    return (Choice::new(channel, 0), false);
                }
                sends = has_own;
            }
            state.lane = 1;
            return (Choice::new(sends.unwrap_or(inside.start), 1), true);
        }
        if let Some(channel) = kinds.offer(view.least(own(), 0), limits.global) {
            return (Choice::new(channel, 0), true);
        }
        for kind in 1..KINDS {
            if let Some(channel) = kinds.offer(view.least(self.outputs(at, to.group, kind), 0), limits.global) {
                state.detour = true;
                return (Choice::new(channel, 0), true);
            }
        }
        // All are above the threshold: the shortest kind that there is. Only without an own cable is that a detour.
        let channel = kinds.shortest.unwrap_or(inside.start);
        state.detour |= own().next().is_none();
        (Choice::new(channel, 0), true)
    }
}

/// Of parallel channels the one with the shortest queue.
fn best_of(channels: Range<u32>, class: u32, view: &mut impl RouterView) -> u32 {
    let start = channels.start;
    view.least_in(channels, class).map_or(start, |best| best.0)
}

/// The numbers of the bits that are set.
struct Ones<'a> {
    word: u64,
    words: std::slice::Iter<'a, u64>,
    /// That of the word's first bit.
    base: u32,
}

impl Iterator for Ones<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        while self.word == 0 {
            self.word = *self.words.next()?;
            self.base = self.base.wrapping_add(64);
        }
        let bit = self.word.trailing_zeros();
        self.word &= self.word - 1;
        Some(self.base + bit)
    }
}

/// Kinds of paths, offered from the shortest to the longest.
#[derive(Default)]
struct Kinds {
    /// The best output of the shortest kind that there is.
    shortest: Option<u32>,
}

impl Kinds {
    /// A kind's best output, with its queue and what of it is the threshold; that output if it is to be taken.
    fn offer(&mut self, best: Option<(u32, u64)>, limit: f64) -> Option<u32> {
        let (channel, queue) = best?;
        let longer = self.shortest.is_some();
        self.shortest.get_or_insert(channel);
        let free = if longer { (queue as f64) < limit } else { queue as f64 <= limit };
        free.then_some(channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_kinds_are_taken_below_the_threshold_only_when_all_shorter_ones_are_above() {
        // Queues of the best outputs, by kind; the kind to take with a limit of 4, or none that is free.
        let cases: [(&[Option<u64>], Option<u32>); 9] = [
            (&[Some(0), Some(0), Some(0)], Some(0)),
            (&[Some(4), Some(0), Some(0)], Some(0)),
            (&[Some(5), Some(3), Some(0)], Some(1)),
            (&[Some(5), Some(4), Some(3)], Some(2)),
            (&[Some(5), Some(5), Some(3)], Some(2)),
            (&[Some(9), Some(4), Some(4)], None),
            (&[None, Some(4), Some(0)], Some(1)),
            (&[None, Some(5), None], None),
            (&[None, None, None], None),
        ];
        for (queues, expected) in cases {
            let mut kinds = Kinds::default();
            let found = (0..).zip(queues).find_map(|(kind, queue)| kinds.offer(queue.map(|queue| (kind, queue)), 4.0));
            assert_eq!(found, expected, "{queues:?}");
            // If none is free, the shortest one that there is.
            if found.is_none() {
                assert_eq!(kinds.shortest, queues.iter().position(|q| q.is_some()).map(|kind| kind as u32));
            }
        }
    }
}
