//! How many bytes may be in flight on each leg, and why no more.
//!
//! Windows bound memory (see `schedule.rs`); they must not decide how much lies on the wires. With `M` the bytes of the
//! busiest link and `b_l` the bytes that leg `l` carries in the exchange, at most
//!
//! ```text
//!     limit(l) = b_l / M * W
//! ```
//!
//! bytes are sent and not confirmed on it, where `W` is a little more than a link carries in a round trip. The legs across a
//! busiest link then have `W` in flight together, not `W` each. Little's law says why that matters: bytes in flight are rate
//! times round-trip time, and the round trip contains the queues of *both* directions, since confirmations wait behind data
//! that goes the other way. Let `A` have `W` in flight through one link, and two legs `2 W` through the link back. With both
//! links busy the round trip takes `2 W / B`, so `A` moves at half of `B` however idle its own link is. With limits in
//! proportion to planned bytes, every busy link sees the same round trip `W / B`, and every leg moves at the rate that the plan
//! gave it. Chunks are large beside `W`, so the scheduler rounds each limit up or down as often as makes it right on average.
//! See `docs/executor.md` for the measurements.
//!
//! Bytes in flight also delay: a chunk waits behind `W / B` seconds of others at every leg, so a path of `L` legs takes
//! `(L - 1) W / B` longer to fill. Where the network takes chunks without a turn of any progress loop in between, a small
//! part of the exchange's bytes, `M / n`, keeps a busy link busy, and the fill stays a small part of the time, `(L - 1) / n`;
//! two chunks are the least that pipelines.
//!
//! J. D. C. Little, "A Proof for the Queuing Formula: L = λW", Operations Research 9(3), 1961.

use crate::chunk::mean;
use crate::path::Path;
use crate::schedule_options::ScheduleOptions;
use optiq_trace::ids::Rank;
use std::collections::BTreeMap;
use std::fmt;

/// Why the busiest leg has its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitReason {
    Options,
    Part(u64),
    TwoChunks(u64),
}

/// The in-flight limit of each leg, see the top of the file.
pub(crate) struct InFlightLimits {
    legs: BTreeMap<(Rank, Rank), u64>,
    busiest: u64,
    most: u64,
    reason: LimitReason,
}

impl InFlightLimits {
    /// For paths with the sizes of their chunks.
    pub(crate) fn new<'p>(paths: impl Iterator<Item = (&'p Path, u64)> + Clone, options: &ScheduleOptions) -> Self {
        let mut legs: BTreeMap<(Rank, Rank), u64> = BTreeMap::new();
        for (path, _) in paths.clone() {
            for leg in path.ranks.windows(2) {
                let bytes = legs.entry((leg[0], leg[1])).or_default();
                *bytes = bytes.saturating_add(path.bytes);
            }
        }
        let busiest = legs.values().copied().max().unwrap_or(0).max(options.busiest).max(1);
        // One size for all: the mean over bytes. With each leg's own, legs of large chunks would fill the queues that the
        // confirmations of the others wait in.
        let chunk = mean(paths.map(|(path, chunk)| (path.bytes, path.legs(), chunk))).unwrap_or(0);
        let two_chunks = chunk.saturating_mul(2);
        let part = busiest.checked_div(options.in_flight_part).unwrap_or(u64::MAX);
        let reason = match part {
            part if options.in_flight_limit <= part.max(two_chunks) => LimitReason::Options,
            part if part >= two_chunks => LimitReason::Part(options.in_flight_part),
            _ => LimitReason::TwoChunks(chunk),
        };
        Self { legs, busiest, most: options.in_flight_limit.min(part.max(two_chunks)), reason }
    }

    /// The limit of the busiest leg in bytes.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// Bytes of the busiest link, or of the busiest rank, as a sender or as a receiver, if that is more: of these a rank's own are the part of
    /// the limit that it grants (`grants.rs`).
    pub(crate) fn busiest_end(&self) -> u64 {
        let mut ranks: BTreeMap<(bool, Rank), u64> = BTreeMap::new();
        for (&(from, to), &carried) in &self.legs {
            for end in [(true, from), (false, to)] {
                let bytes = ranks.entry(end).or_default();
                *bytes = bytes.saturating_add(carried);
            }
        }
        ranks.into_values().fold(self.busiest, u64::max)
    }

    /// The limit of a leg in bytes.
    pub(crate) fn of_leg(&self, from: Rank, to: Rank) -> u64 {
        let bytes = self.legs.get(&(from, to)).copied().unwrap_or(0);
        // At most `most`, since no leg carries more than the busiest.
        (u128::from(self.most) * u128::from(bytes) / u128::from(self.busiest)) as u64
    }
}

/// What was decided, with its reason and numbers.
impl fmt::Display for InFlightLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { legs, busiest, most, reason } = self;
        write!(f, "at most {most} bytes in flight per {busiest} bytes that a leg carries, on {} legs (", legs.len())?;
        match reason {
            LimitReason::Options => write!(f, "the limit that the options set)"),
            LimitReason::Part(n) => write!(f, "the {n}th part of the busiest link's bytes)"),
            LimitReason::TwoChunks(chunk) => write!(f, "two chunks of {chunk} bytes, the least that pipelines)"),
        }
    }
}
