//! Routing over equally short paths, as fabrics of switches do it: by the destination's number, or by a hash.
//!
//! *D-mod-k* on any network: hosts are numbered in the order of the switches that they hang on. A vertex of level i (its
//! distance from the nearest host) has a divisor W_i, the product over the levels below it of the most links that lead up, and sends
//! towards host number d by link floor(d / W_i) mod n of the n that begin its shortest paths, counted in lanes. On a fat tree this
//! is the d-mod-k of [`crate::switched::fat_tree`]: all links down from a level carry equally many destinations.
//!
//! *ECMP*: a hash of source, destination, vertex and seed chooses, by lanes. It stands for one draw of what switches do that hash
//! the headers of each connection; which path a pair of hosts gets cannot be known.

use crate::fingerprint::Hasher;
use std::sync::{Arc, OnceLock};

/// What chooses among equally short paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EqualCost {
    /// The destination's number.
    DModK,
    /// A hash of source, destination and vertex.
    Ecmp {
        /// Another seed is another draw.
        seed: u64,
    },
}

impl EqualCost {
    /// What chooses, for people.
    pub fn describe(self) -> String {
        match self {
            EqualCost::DModK => "shortest paths, d-mod-k among equal ones".into(),
            EqualCost::Ecmp { seed } => format!("shortest paths, equal ones by hash (ECMP), seed {seed}"),
        }
    }

    pub(super) fn is_destination_based(self) -> bool {
        self == EqualCost::DModK
    }

    pub(super) fn fingerprint(self, h: &mut Hasher) {
        match self {
            EqualCost::DModK => h.u64(5),
            EqualCost::Ecmp { seed } => {
                h.u64(6);
                h.u64(seed);
            }
        }
    }
}

/// What is computed once for a network under one of these routings; [`crate::routes`] computes and follows it.
#[derive(Clone, Debug)]
pub(crate) struct EqualCostRows {
    /// W of the level of each vertex.
    pub divisors: Vec<u64>,
    /// The number of each host in the order of the switches.
    pub keys: Vec<u32>,
    /// For each destination, of every vertex, the next hop under d-mod-k and the distance under ECMP; none at all in a
    /// network that is too large.
    pub rows: Arc<[OnceLock<Box<[u32]>>]>,
}
