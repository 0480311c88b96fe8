//! What others send over links, from counters of the ports that send.
//!
//! Between two readings a port has sent `N` bytes in `d` seconds, `O` of them ours with their headers: `(N - O) / d` are others'. Two forms are read. A
//! *list*, which `optiq lab counters` writes and any script can:
//!
//! ```text
//! seconds 12.345            # when it was read, on any clock that does not jump
//! h0 h1 123456789           # FROM TO BYTES: what the link has carried so far; vertices by name, number or coordinates
//! ```
//!
//! and the output of `perfquery` (infiniband-diags) of one port, extended counters or not: `PortXmitData` counts units of four bytes
//! (InfiniBand Architecture Specification 1.4, volume 1, section 16.1.3.5).

use optiq_net::{LinkId, Network};
use std::collections::BTreeMap;

/// A reading of some links' counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// When, in seconds.
    pub seconds: f64,
    /// Bytes that each link has carried so far.
    pub bytes: BTreeMap<LinkId, u64>,
}

/// Bytes on the wire per byte of ours: 1,448 bytes of payload in 1,514 of an Ethernet frame with IP and TCP headers and time stamps.
const FRAMED: f64 = 1514.0 / 1448.0;

impl Reading {
    /// Reads a list.
    ///
    /// # Errors
    /// A sentence that names the line.
    pub fn parse(text: &str, network: &Network) -> Result<Self, String> {
        let mut reading = Reading::default();
        let mut timed = false;
        for (number, line) in (1..).zip(text.lines()) {
            let bad = |problem: String| format!("line {number}: {problem}");
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            match words.as_slice() {
                [] => {}
                ["seconds", value] => {
                    let seconds = value.parse::<f64>().ok().filter(|s| s.is_finite() && *s >= 0.0);
                    reading.seconds = seconds.ok_or_else(|| bad(format!("\"{value}\" is not a number of seconds")))?;
                    timed = true;
                }
                [from, to, value] => {
                    let end = |name: &str| network.resolve(name).map_err(|e| bad(e.to_string()));
                    let (from, to) = (end(from)?, end(to)?);
                    let link = network.link_between(from, to);
                    let link = link.ok_or_else(|| {
                        bad(format!("there is no link from {} to {}", network.name(from), network.name(to)))
                    })?;
                    let count = value.parse().map_err(|_| bad(format!("\"{value}\" is not a number of bytes")))?;
                    reading.bytes.insert(link, count);
                }
                words => return Err(bad(format!("{} words; `seconds S` or FROM TO BYTES is expected", words.len()))),
            }
        }
        if timed { Ok(reading) } else { Err("no line `seconds S`".into()) }
    }

    /// What others leave of each link, as a share of its capacity, since an `earlier` reading; `own` are the bytes that we have sent over it meanwhile. Nothing for links
    /// that are not in both readings, or whose counter went back; nothing at all if time did not pass.
    pub fn left_since(&self, earlier: &Reading, network: &Network, own: &[u64]) -> Vec<Option<f64>> {
        let seconds = self.seconds - earlier.seconds;
        let left = |(i, link): (usize, &optiq_net::Link)| {
            let id = LinkId(i as u32);
            let sent = self.bytes.get(&id)?.checked_sub(*earlier.bytes.get(&id)?)?;
            let others = (sent as f64 - FRAMED * own[i] as f64).max(0.0);
            (seconds > 0.0).then(|| (1.0 - others / seconds / link.capacity).clamp(0.0, 1.0))
        };
        network.links().iter().enumerate().map(left).collect()
    }
}

/// The bytes that a port has sent, from the output of `perfquery` or `perfquery -x`.
///
/// # Errors
/// A sentence, if it has no counter of transmitted data, or one that has stopped at its largest value, as those of 32 bits do.
pub fn perfquery_bytes(text: &str) -> Result<u64, String> {
    let found = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim_start_matches('.').trim();
        matches!(name.trim(), "PortXmitData" | "XmtData" | "PortXmitDataExtended").then_some(value)
    });
    let value = found.ok_or("no line `PortXmitData:....N`, as perfquery prints it")?;
    let words: u64 = value.parse().map_err(|_| format!("PortXmitData is \"{value}\"; a whole number is expected"))?;
    if words == u64::from(u32::MAX) {
        return Err(
            "PortXmitData has stopped at 4294967295, the most that 32 bits hold; perfquery -x reads 64 bits".into()
        );
    }
    words.checked_mul(4).ok_or_else(|| format!("PortXmitData is {words}, more than can be counted in bytes"))
}
