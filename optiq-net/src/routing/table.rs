//! Next hops: what the forwarding tables of a fabric's switches say, or what a closed form computes.

use crate::fingerprint::Hasher;
use crate::ids::NodeId;
use crate::switched::closed_form::Plane;
use crate::switched::rails::Switched;
use std::sync::Arc;

/// Whose number chooses among equally good next hops of a computed routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The destination's: d-mod-k, and the minimal routing of the dragonflies.
    Destination,
    /// The source's: s-mod-k.
    Source,
}

/// A next hop for every vertex and every destination host: written down in a table, or computed in closed form on the
/// fat trees and dragonflies of [`crate::network::Network::from_spec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextHops(pub(crate) Hops);

/// What decides next hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopRule {
    /// A forwarding table.
    Table,
    /// A fat tree's: the destination's number chooses the port up.
    DModK,
    /// A fat tree's: the source's number chooses the port up.
    SModK,
    /// A dragonfly's minimal routing; the destination chooses among parallel global links.
    Minimal,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hops {
    Table(Table),
    /// Towards switches, which no closed form covers, routes are shortest paths.
    Computed(Arc<Switched>, Rule),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub hosts: usize,
    pub vertices: usize,
    /// `next[dst * vertices + at]`: the link to take, or `NONE`.
    pub next: Vec<u32>,
}

impl NextHops {
    /// The closed form of a switched network.
    pub(crate) fn computed(shape: Arc<Switched>, rule: Rule) -> Self {
        NextHops(Hops::Computed(shape, rule))
    }

    /// What decides the next hops.
    pub fn rule(&self) -> HopRule {
        match &self.0 {
            Hops::Table(_) => HopRule::Table,
            Hops::Computed(shape, rule) => match (shape.plane(), rule) {
                (Plane::FatTree(_), Rule::Destination) => HopRule::DModK,
                (Plane::FatTree(_), Rule::Source) => HopRule::SModK,
                _ => HopRule::Minimal,
            },
        }
    }

    /// What decides the next hops, for people.
    pub fn describe(&self) -> &'static str {
        match self.rule() {
            HopRule::Table => "a table of next hops",
            HopRule::DModK => "d-mod-k",
            HopRule::SModK => "s-mod-k",
            HopRule::Minimal => "minimal, parallel global links chosen by destination",
        }
    }

    pub(super) fn key(&self, src: NodeId, dst: NodeId) -> Option<u32> {
        match &self.0 {
            Hops::Table(_) => None,
            Hops::Computed(shape, rule) => Some(rule.key(shape, src, dst)),
        }
    }

    pub(super) fn is_destination_based(&self) -> bool {
        !matches!(self.0, Hops::Computed(_, Rule::Source))
    }

    pub(super) fn fingerprint(&self, h: &mut Hasher) {
        match &self.0 {
            Hops::Table(table) => {
                h.u64(3);
                h.u64(table.next.len() as u64);
                for &link in &table.next {
                    h.u64(u64::from(link));
                }
            }
            Hops::Computed(shape, rule) => {
                h.u64(4);
                h.u64(u64::from(*rule == Rule::Source));
                shape.fingerprint(h);
            }
        }
    }
}

impl Rule {
    pub(crate) fn key(self, shape: &Switched, src: NodeId, dst: NodeId) -> u32 {
        match self {
            Rule::Destination => dst.0,
            Rule::Source => shape.source_key(src.0),
        }
    }
}
