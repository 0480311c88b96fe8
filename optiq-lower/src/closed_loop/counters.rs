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
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// A reading of some links' counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// When, in seconds.
    pub seconds: f64,
    /// Bytes that each link has carried so far.
    pub bytes: BTreeMap<LinkId, u64>,
}

/// Bytes on the wire per byte of ours: 1,448 bytes of payload in 1,514 of an Ethernet frame with IP and TCP headers and time stamps. Fabrics with larger
/// packets have less, which is an error of less than 5 % of our own share, a third of what changes anything ([`CHANGE`](crate::constants::CHANGE)).
const FRAMED: f64 = 1514.0 / 1448.0;

/// A list, of links by the names of their ends with the bytes that each has carried.
pub fn list<'a>(seconds: f64, links: impl IntoIterator<Item = (&'a str, &'a str, u64)>) -> String {
    let lines = links.into_iter().map(|(from, to, bytes)| format!("{from} {to} {bytes}\n"));
    std::iter::once(format!("seconds {seconds:.6}\n")).chain(lines).collect()
}

impl Reading {
    /// Reads a [list].
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

/// What others leave of the links from reading to reading, while we send as well.
///
/// Whoever reads the counters does so at any time, also in the midst of a call of ours; when that was says how much of the call is in the reading, as
/// if its bytes were spread evenly over it.
#[derive(Clone, Debug, Default)]
pub struct Counting {
    last: Option<Reading>,
    /// Since the last reading, in order.
    sent: VecDeque<Sent>,
}

/// Calls of ours, one after the other.
#[derive(Clone, Debug)]
struct Sent {
    began: f64,
    ended: f64,
    calls: f64,
    /// By link, what each of them sends; nothing if that is not known.
    loads: Option<Rc<[u64]>>,
}

/// Calls that differ from the one before, between two readings: beyond these, the interval says nothing.
const MOST_SENT: usize = 4096;

impl Counting {
    /// A call of ours has sent these bytes, by link, from second `began` to second `ended` of any clock; `None` if it is not known over which links.
    pub fn sent(&mut self, loads: Option<&Rc<[u64]>>, began: f64, ended: f64) {
        let is_same = |last: &Sent| match (&last.loads, loads) {
            (Some(last), Some(loads)) => Rc::ptr_eq(last, loads),
            (None, None) => true,
            _ => false,
        };
        if let Some(last) = self.sent.back_mut().filter(|last| is_same(last)) {
            (last.ended, last.calls) = (ended, last.calls + 1.0);
            return;
        }
        let mut call = Sent { began, ended, calls: 1.0, loads: loads.cloned() };
        if self.sent.len() == MOST_SENT {
            (call.began, call.loads) = (self.sent[0].began, None);
            self.sent.clear();
        }
        self.sent.push_back(call);
    }

    /// What others leave of each link since the last reading, as [`Reading::left_since`]; `at` is when this one was made, on the clock of [`Counting::sent`].
    /// Nothing if there was none, if we have sent something of which the links are not known, or if this is the last one once more.
    pub fn read(&mut self, reading: Reading, at: f64, network: &Network) -> Option<Vec<Option<f64>>> {
        if self.last.as_ref().is_some_and(|last| last.seconds == reading.seconds) {
            return None;
        }
        let own = self.take_sent_until(at, network.links().len());
        let before = self.last.replace(reading);
        let (before, now, own) = (before?, self.last.as_ref()?, own?);
        Some(now.left_since(&before, network, &own))
    }

    /// What we have sent by link until second `at`; nothing if that is not known.
    fn take_sent_until(&mut self, at: f64, links: usize) -> Option<Vec<u64>> {
        let mut own = vec![0.0; links];
        let mut is_known = true;
        while let Some(first) = self.sent.front_mut().filter(|first| first.began < at) {
            let part = ((at - first.began) / (first.ended - first.began)).min(1.0);
            match &first.loads {
                Some(loads) => {
                    own.iter_mut().zip(loads.iter()).for_each(|(own, &load)| *own += part * first.calls * load as f64);
                }
                None => is_known = false,
            }
            if part < 1.0 {
                (first.began, first.calls) = (at, first.calls * (1.0 - part));
                break;
            }
            self.sent.pop_front();
        }
        is_known.then(|| own.into_iter().map(|bytes| bytes.round() as u64).collect())
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
