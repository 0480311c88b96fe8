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
//! Every router that still may choose knows the outputs by which each kind goes on. The score of an output is its queue
//! divided by the queue's length; a kind has the score of its best output, one of several alike at random. With the
//! threshold `T`, a longer kind is taken only if its score is below `T` and the scores of all shorter ones are above `T`; if no
//! kind is left that way, the best output of the shortest one. Two kinds that go by the same output are one until their ways
//! part, which is in the third group: its spine takes its own cable, or goes down.
//!
//! Virtual lanes: packets start on VL0. The intermediate spine or leaf that sends a packet minimally puts it on VL1, and what
//! comes on VL1 goes minimally. Packets within a group go minimally: up by the output with the best score, and down.
//!
//! A way is a part of: up on VL0, global on VL0, down on VL0 (third group), up on VL1, global on VL1, down on VL1, or ends
//! down on VL0 after the first or the second of these. Every way passes them in this order, so no cycle is possible.

use super::{Choice, Eyes, Place, Way, channels_between, channels_of, groups, homes};
use crate::fabric::Fabric;
use optiq_net::{Class, Network, NodeId, Shape};
use std::ops::Range;

pub(crate) struct DragonflyPlus<'n> {
    network: &'n Network,
    group: Vec<u32>,
    home: Vec<u32>,
    spine: Vec<bool>,
    groups: u32,
    /// Per leaf its channels up, per spine those down.
    inside: Vec<Range<u32>>,
    /// Per switch, the global channels that leave it.
    cables: Vec<Vec<u32>>,
    /// Bit `vertex * groups + group`: the switch has a cable to the group.
    reaches: Vec<u64>,
    /// The queue's length times the threshold.
    limit: f64,
}

impl<'n> DragonflyPlus<'n> {
    /// `limit`: so many bytes are the threshold of a class's queue.
    pub(crate) fn new(network: &'n Network, fabric: &Fabric, shape: Shape, limit: f64) -> Self {
        let group = groups(network, &shape);
        let vertices = network.vertices();
        let groups = group.iter().max().map_or(1, |&last| last + 1);
        let mut cables = vec![Vec::new(); vertices];
        let mut inside = vec![0..0; vertices];
        let mut reaches = vec![0; (vertices * groups as usize).div_ceil(64)];
        for v in network.hosts()..vertices {
            for link in network.out_links(NodeId(v as u32)) {
                let channels = channels_of(network, fabric, link);
                match network.class(link) {
                    Class::Terminal => {}
                    // The leaves and the spines of a group are numbered one after the other.
                    Class::Local if inside[v].is_empty() => inside[v] = channels,
                    Class::Local => inside[v].end = channels.end,
                    Class::Global => {
                        let bit = v * groups as usize + group[network.link(link).to.index()] as usize;
                        reaches[bit / 64] |= 1u64 << (bit % 64);
                        cables[v].extend(channels);
                    }
                }
            }
        }
        let spine = (0..vertices as u32).map(|v| shape.level(NodeId(v)) == 2).collect();
        Self { home: homes(network), network, group, spine, groups, inside, cables, reaches, limit }
    }

    fn reaches(&self, switch: u32, group: u32) -> bool {
        let bit = switch as usize * self.groups as usize + group as usize;
        self.reaches[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// The switch at the other end of a channel, and its group.
    fn end(&self, fabric: &Fabric, channel: u32) -> (u32, u32) {
        let to = fabric.ends[channel as usize];
        (to, self.group[to as usize])
    }

    pub(crate) fn decide(&self, fabric: &Fabric, place: Place, way: &mut Way, eyes: &mut impl Eyes) -> Choice {
        let (choice, is_global) = if self.spine[place.at as usize] {
            self.decide_spine(fabric, place, way, eyes)
        } else {
            (self.decide_leaf(fabric, place, way, eyes), false)
        };
        if is_global {
            way.global();
        }
        choice
    }

    fn decide_leaf(&self, fabric: &Fabric, place: Place, way: &mut Way, eyes: &mut impl Eyes) -> Choice {
        let Place { at, first, dst } = place;
        if at == self.home[dst as usize] {
            let ways = channels_between(self.network, fabric, at, dst);
            return Choice::new(eyes.least(ways.clone(), 0).map_or(ways.start, |best| best.0), 0);
        }
        let there = self.group[dst as usize];
        let up = self.inside[at as usize].clone();
        if there == self.group[at as usize] {
            return Choice::new(eyes.least(up.clone(), 0).map_or(up.start, |best| best.0), 0);
        }
        // From the intermediate leaf on, minimally.
        way.lane = u8::from(!first);
        let class = u32::from(way.lane);
        let reaches = |&c: &u32| self.reaches(self.end(fabric, c).0, there);
        let mut kinds = Kinds::new(self.limit);
        let minimal = eyes.least(up.clone().filter(reaches), class);
        if let Some(channel) = kinds.offer(minimal) {
            return Choice::new(channel, class);
        }
        if first && let Some(channel) = kinds.offer(eyes.least(up.clone().filter(|c| !reaches(c)), class)) {
            way.detour = true;
            return Choice::new(channel, class);
        }
        Choice::new(kinds.shortest.unwrap_or(up.start), class)
    }

    /// The choice, and whether it is a global channel.
    fn decide_spine(&self, fabric: &Fabric, place: Place, way: &mut Way, eyes: &mut impl Eyes) -> (Choice, bool) {
        let Place { at, dst, .. } = place;
        let (here, there) = (self.group[at as usize], self.group[dst as usize]);
        if here == there {
            let down = channels_between(self.network, fabric, at, self.home[dst as usize]);
            let channel = eyes.least(down.clone(), way.lane.into()).map_or(down.start, |best| best.0);
            return (Choice::new(channel, way.lane.into()), false);
        }
        let cables = || self.cables[at as usize].iter().copied();
        let own = || cables().filter(|&c| self.end(fabric, c).1 == there);
        let mut kinds = Kinds::new(self.limit);
        if way.lane == 1 {
            let channel = eyes.least(own(), 1).map_or(self.inside[at as usize].start, |best| best.0);
            return (Choice::new(channel, 1), true);
        }
        if way.globals > 0 {
            // The intermediate spine: what it sends minimally goes on VL1, what goes down stays on VL0.
            let mut sends = kinds.offer(eyes.least(own(), 1));
            if sends.is_none() {
                let has_own = kinds.shortest;
                let down = eyes.least(self.inside[at as usize].clone(), 0);
                let down = if has_own.is_some() { kinds.offer(down) } else { down.map(|best| best.0) };
                if let Some(channel) = down {
                    return (Choice::new(channel, 0), false);
                }
                sends = has_own;
            }
            way.lane = 1;
            return (Choice::new(sends.unwrap_or(self.inside[at as usize].start), 1), true);
        }
        if let Some(channel) = kinds.offer(eyes.least(own(), 0)) {
            return (Choice::new(channel, 0), true);
        }
        for by_spine in [true, false] {
            let other = |&c: &u32| {
                let (spine, group) = self.end(fabric, c);
                group != there && self.reaches(spine, there) == by_spine
            };
            if let Some(channel) = kinds.offer(eyes.least(cables().filter(other), 0)) {
                way.detour = true;
                return (Choice::new(channel, 0), true);
            }
        }
        // All are above the threshold.
        let channel = kinds.shortest.unwrap_or(self.inside[at as usize].start);
        way.detour |= self.end(fabric, channel).1 != there;
        (Choice::new(channel, 0), true)
    }
}

/// Kinds of paths, offered from the shortest to the longest.
struct Kinds {
    limit: f64,
    /// The best output of the shortest kind that there is.
    shortest: Option<u32>,
}

impl Kinds {
    fn new(limit: f64) -> Self {
        Kinds { limit, shortest: None }
    }

    /// A kind's best output, with its queue; that output if it is to be taken.
    fn offer(&mut self, best: Option<(u32, u64)>) -> Option<u32> {
        let (channel, queue) = best?;
        let longer = self.shortest.is_some();
        self.shortest.get_or_insert(channel);
        let free = if longer { (queue as f64) < self.limit } else { queue as f64 <= self.limit };
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
            let mut kinds = Kinds::new(4.0);
            let found = (0..).zip(queues).find_map(|(kind, queue)| kinds.offer(queue.map(|queue| (kind, queue))));
            assert_eq!(found, expected, "{queues:?}");
            // If none is free, the shortest one that there is.
            if found.is_none() {
                assert_eq!(kinds.shortest, queues.iter().position(|q| q.is_some()).map(|kind| kind as u32));
            }
        }
    }
}
