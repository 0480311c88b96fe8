//! One plane of switches of any of the topologies, with the closed forms that they have in common.

use crate::switched::cables::{Cable, Class};
use crate::switched::dragonfly::Dragonfly;
use crate::switched::dragonfly_plus::DragonflyPlus;
use crate::switched::fat_tree::FatTree;

/// A switched network of one rail, by its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plane {
    FatTree(FatTree),
    Dragonfly(Dragonfly),
    DragonflyPlus(DragonflyPlus),
}

impl Plane {
    pub fn hosts(&self) -> u32 {
        match self {
            Plane::FatTree(t) => t.hosts(),
            Plane::Dragonfly(d) => d.hosts(),
            Plane::DragonflyPlus(d) => d.hosts(),
        }
    }

    pub fn vertices(&self) -> u32 {
        match self {
            Plane::FatTree(t) => t.vertices(),
            Plane::Dragonfly(d) => d.vertices(),
            Plane::DragonflyPlus(d) => d.vertices(),
        }
    }

    /// Directed links, parallel ones as one.
    pub fn directed_links(&self) -> u64 {
        match self {
            Plane::FatTree(t) => t.directed_links(),
            Plane::Dragonfly(d) => d.directed_links(),
            Plane::DragonflyPlus(d) => d.directed_links(),
        }
    }

    pub fn cables(&self) -> Vec<Cable> {
        match self {
            Plane::FatTree(t) => t.cables(),
            Plane::Dragonfly(d) => d.cables(),
            Plane::DragonflyPlus(d) => d.cables(),
        }
    }

    /// The next vertex from `at` towards the host `dst`, which is not `at`; the number of the host `key` chooses among
    /// equally good ways.
    pub fn next(&self, at: u32, key: u32, dst: u32) -> u32 {
        match self {
            Plane::FatTree(t) => t.next(at, key, dst),
            Plane::Dragonfly(d) => d.next(at, key, dst),
            Plane::DragonflyPlus(d) => d.next(at, key, dst),
        }
    }

    /// The host whose number chooses for packets that start at `src`: itself, or the first host below a switch.
    pub fn source_key(&self, src: u32) -> u32 {
        match self {
            Plane::FatTree(t) => t.first_host(src),
            _ => src.min(self.hosts() - 1),
        }
    }

    /// The group of a switch of a dragonfly; 0 elsewhere.
    pub fn group(&self, switch: u32) -> u32 {
        match self {
            Plane::FatTree(_) => 0,
            Plane::Dragonfly(d) => d.group(switch),
            Plane::DragonflyPlus(d) => d.group(switch),
        }
    }

    /// The class of the link between two neighbours.
    pub fn class(&self, a: u32, b: u32) -> Class {
        if a.min(b) < self.hosts() {
            Class::Terminal
        } else if self.group(a) == self.group(b) {
            Class::Local
        } else {
            Class::Global
        }
    }

    /// The cable of a bundle of parallel ones that modulo routing takes; nothing where it does not say.
    pub fn lane(&self, from: u32, to: u32, key: u32, dst: u32) -> Option<u32> {
        match self {
            Plane::FatTree(t) => Some(t.lane(from, to, key, dst)),
            Plane::Dragonfly(_) | Plane::DragonflyPlus(_) => None,
        }
    }

    /// The distance between two hosts in links.
    pub fn distance(&self, a: u32, b: u32) -> u32 {
        match self {
            _ if a == b => 0,
            Plane::FatTree(t) => t.distance(a, b),
            Plane::Dragonfly(d) => d.distance(a, b),
            Plane::DragonflyPlus(d) => d.distance(a, b),
        }
    }

    /// What kind it is, and the numbers that describe it.
    pub fn words(&self) -> (u64, Vec<u32>) {
        match self {
            Plane::FatTree(t) => (0, t.words()),
            Plane::Dragonfly(d) => (1, d.words().to_vec()),
            Plane::DragonflyPlus(d) => (2, d.words().to_vec()),
        }
    }
}
