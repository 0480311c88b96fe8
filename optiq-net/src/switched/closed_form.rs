//! A switched network of any of the topologies, with the closed forms that they have in common.

use crate::fingerprint::Hasher;
use crate::ids::NodeId;
use crate::switched::cables::{Cable, Class};
use crate::switched::dragonfly::Dragonfly;
use crate::switched::dragonfly_plus::DragonflyPlus;
use crate::switched::fat_tree::FatTree;

/// A switched network, by its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Switched {
    FatTree(FatTree),
    Dragonfly(Dragonfly),
    DragonflyPlus(DragonflyPlus),
}

impl Switched {
    pub fn hosts(&self) -> u32 {
        match self {
            Switched::FatTree(t) => t.hosts(),
            Switched::Dragonfly(d) => d.hosts(),
            Switched::DragonflyPlus(d) => d.hosts(),
        }
    }

    pub fn vertices(&self) -> u32 {
        match self {
            Switched::FatTree(t) => t.vertices(),
            Switched::Dragonfly(d) => d.vertices(),
            Switched::DragonflyPlus(d) => d.vertices(),
        }
    }

    pub fn cables(&self) -> Vec<Cable> {
        match self {
            Switched::FatTree(t) => t.cables(),
            Switched::Dragonfly(d) => d.cables(),
            Switched::DragonflyPlus(d) => d.cables(),
        }
    }

    /// The next vertex from `at` towards the host `dst`, which is not `at`; the number of the host `key` chooses among
    /// equally good ways.
    pub fn next(&self, at: u32, key: u32, dst: u32) -> u32 {
        match self {
            Switched::FatTree(t) => t.next(at, key, dst),
            Switched::Dragonfly(d) => d.next(at, key, dst),
            Switched::DragonflyPlus(d) => d.next(at, key, dst),
        }
    }

    /// The host whose number chooses for packets that start at `src`: itself, or the first host below a switch.
    pub fn source_key(&self, src: u32) -> u32 {
        match self {
            Switched::FatTree(t) => t.first_host(src),
            _ => src.min(self.hosts() - 1),
        }
    }

    /// The group of a switch of a dragonfly; 0 elsewhere.
    pub fn group(&self, switch: u32) -> u32 {
        match self {
            Switched::FatTree(_) => 0,
            Switched::Dragonfly(d) => d.group(switch),
            Switched::DragonflyPlus(d) => d.group(switch),
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
            Switched::FatTree(t) => Some(t.lane(from, to, key, dst)),
            Switched::Dragonfly(_) | Switched::DragonflyPlus(_) => None,
        }
    }

    /// The distance between two hosts in links; nothing if one of them is a switch.
    pub fn distance(&self, a: NodeId, b: NodeId) -> Option<u32> {
        if a.0.max(b.0) >= self.hosts() {
            return None;
        }
        Some(match self {
            _ if a == b => 0,
            Switched::FatTree(t) => t.distance(a.0, b.0),
            Switched::Dragonfly(d) => d.distance(a.0, b.0),
            Switched::DragonflyPlus(d) => d.distance(a.0, b.0),
        })
    }

    pub fn fingerprint(&self, h: &mut Hasher) {
        let mut words = |kind: u64, words: &[u32]| {
            h.u64(kind);
            h.u64(words.len() as u64);
            words.iter().for_each(|&w| h.u64(u64::from(w)));
        };
        match self {
            Switched::FatTree(t) => words(0, &t.words()),
            Switched::Dragonfly(d) => words(1, &d.words()),
            Switched::DragonflyPlus(d) => words(2, &d.words()),
        }
    }
}
