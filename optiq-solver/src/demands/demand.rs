//! A demand, and what decides whether two lists of demands are the same.

use optiq_net::fingerprint::Hasher;
use optiq_net::{Fingerprint, NodeId};
use serde::{Deserialize, Serialize};

/// Bytes that one host has and another needs: the thesis's *job*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Demand {
    /// The host that has the bytes.
    pub src: NodeId,
    /// The host that needs them; another one than `src`.
    pub dst: NodeId,
    /// How many; 0 is allowed and needs no flow.
    pub bytes: u64,
    /// How urgent: higher classes are planned first, lower ones on what these leave (thesis 7.2.3).
    pub class: u8,
}

impl Demand {
    /// `bytes` bytes from `src` to `dst`, in the least urgent class, 0.
    pub fn new(src: NodeId, dst: NodeId, bytes: u64) -> Self {
        Demand { src, dst, bytes, class: 0 }
    }
}

/// The most demands that a pattern or file may hold; beyond it they are refused rather than allocated.
pub const MAX_DEMANDS: usize = 1 << 24;

/// A fingerprint of a demand list; the order counts.
pub fn fingerprint(demands: &[Demand]) -> Fingerprint {
    let mut h = Hasher::new("optiq demands 1");
    h.u64(demands.len() as u64);
    for d in demands {
        h.u64(u64::from(d.src.0) << 32 | u64::from(d.dst.0));
        h.u64(d.bytes);
    }
    // Lists without classes keep the fingerprint that they had before there were any.
    for (i, d) in demands.iter().enumerate().filter(|(_, d)| d.class != 0) {
        h.u64(i as u64);
        h.u64(u64::from(d.class));
    }
    h.finish()
}

/// A class as it is written: a whole number from 0 to 255. The error is the rest of a sentence.
pub(super) fn parse_class(text: &str) -> Result<u8, String> {
    // Rust's own reading of numbers would take a sign.
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| "a whole number from 0 to 255 is expected".into())
}

/// One demand for each pair of hosts, as an alltoallv has it: bytes of several add up, and are as urgent as the most urgent.
pub fn by_pair(mut demands: Vec<Demand>) -> Vec<Demand> {
    demands.sort_by_key(|d| (d.src, d.dst));
    demands.dedup_by(|next, kept| {
        let same = (next.src, next.dst) == (kept.src, kept.dst);
        if same {
            kept.bytes = kept.bytes.saturating_add(next.bytes);
            kept.class = kept.class.max(next.class);
        }
        same
    });
    demands
}
