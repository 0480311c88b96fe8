//! Demands: which bytes go where, from built-in patterns, from files, or from a program's counts.

mod application;
mod file;
mod pattern;

use crate::error::DemandError;
use optiq_net::fingerprint::Hasher;
use optiq_net::{Fingerprint, Network, NodeId};
use serde::{Deserialize, Serialize};

/// So many bytes from one host to another: the thesis's *job*.
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
fn class(text: &str) -> Result<u8, String> {
    // Rust's own reading of numbers would take a sign.
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| "a whole number from 0 to 255 is expected".into())
}

/// Demands from their textual form, `pattern:NAME[,KEY=VALUE...]` or `file:PATH`.
///
/// Patterns, for a network of `P` hosts (thesis 6.4.2 and 6.4.4.2; `S` sources with `K` destinations each; every
/// demand has `message_bytes` bytes, and a host's demand to itself is left out):
///
/// | name | node `i < S` sends to | keys |
/// | --- | --- | --- |
/// | `disjoint` | `P/2 + K i .. P/2 + K i + K-1` | `sources`, `destinations` |
/// | `overlap` | `S/2 + K i .. S/2 + K i + K-1` (`S/2 = P/32` by default) | `sources`, `destinations` |
/// | `subset` | `K i .. K i + K-1` | `sources`, `destinations` |
/// | `alltoall` | every host, from every host | |
/// | `random` | `count` pairs of different hosts, each equally likely; sizes equally likely in `min..=max` | `count`, `seed`, `min`, `max`, `classes` |
/// | `coupling` | hosts of another range, in `pairs` different pairs of hosts, each choice equally likely; `messages` messages between the `ranks` ranks of either host of a pair, with 1 to `points` points of `message_bytes` bytes each, merged to one demand for each pair (thesis 6.5.1) | `from`, `to`, `pairs`, `messages`, `ranks`, `points`, `seed` |
/// | `aggregate` | its default I/O host, from every host: what `ranks` ranks have, each with `min..=max` bytes, equally likely (thesis 6.5.3) | `ranks`, `min`, `max`, `seed` |
///
/// Every pattern takes `class=N`, the class of all its demands ([`Demand::class`]). `random` takes `classes=N` instead:
/// each demand's class is one of `0..N`, equally likely; pairs and sizes are those of the same seed without it.
///
/// Defaults: `S = P/16` and `K = 8` from 128 hosts on (the thesis's shape); below, `S = P/4` and `K = (P/2)/S`, each
/// at least 1. `random`: `count = P`, `seed = 1`, and `message_bytes` for `min` and `max` where they are not given; so in
/// `aggregate`. `coupling`: `from` and `to` are all hosts (`FIRST-LAST`, as numbers, otherwise), `pairs = P`, `messages = pairs`.
/// `ranks` and `points` are 1.
///
/// A demand file has one demand per line, `SRC DST BYTES [class=N]`: hosts by name, number or coordinates, sizes with or
/// without a unit (`8MiB`), the class from 0 (the least urgent, and the default) to 255, `#` starting a comment. Lines of a host to itself need no network and are left out.
/// Files up to 256 MiB and [`MAX_DEMANDS`] demands are read; `message_bytes` does not matter to them.
///
/// # Errors
/// [`DemandError`], naming the key or the file and line.
pub fn parse(text: &str, net: &Network, message_bytes: u64) -> Result<Vec<Demand>, DemandError> {
    if let Some(pattern) = text.strip_prefix("pattern:") {
        pattern::parse(pattern, net, message_bytes)
            .map_err(|problem| DemandError::Pattern { pattern: pattern.to_owned(), problem })
    } else if let Some(path) = text.strip_prefix("file:") {
        file::read(path, net)
    } else {
        Err(DemandError::Form(text.to_owned()))
    }
}
