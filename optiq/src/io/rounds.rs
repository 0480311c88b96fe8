//! Rounds: what moves between ranks and servers at a time, so that half of a server's budget holds it.
//!
//! While one half is being written, the next round arrives in the other. There are two ways of making rounds:
//!
//! - *Slices*: every rank's share is cut into as many equal slices as there are rounds. All rounds then move the same
//!   counts, and one plan serves them all; and all ranks' links are used in every round. Slices are only made where they
//!   are [`LARGE_BYTES`] or more on average, since each is a write of its own.
//! - *Windows*: the server's bytes are taken in file order. Each round is one contiguous piece of the file, or as few as
//!   there are holes; counts differ from round to round.
//!
//! Where one round is enough, both are the same.
//!
//! If a server's bytes exceed a half of its budget but not the whole, one round can take them all, without anything being
//! written meanwhile. Let the bytes of a server take `a` seconds through the links that enter its host and `b` seconds to
//! the storage. In n rounds, of which each costs `r` seconds beyond its bytes, that is
//!
//! ```text
//!   a/n + (n-1)/n max(a, b) + b/n + n r  =  max(a, b) + min(a, b)/n + n r       against  a + b + r  in one,
//! ```
//!
//! so that one round is no slower if min(a, b) <= n r.

use super::assign::Runs;
use super::{Extent, Server, Share};
use optiq_transport::Rank;
use std::collections::BTreeMap;

/// Slices are not made smaller than this on average, in bytes: what parallel file systems take in one request at most.
pub const LARGE_BYTES: u64 = 1 << 20;

/// Half of a budget is not made larger than this, in bytes: MPI counts to 2^31 - 1.
pub const MAX_HALF_BYTES: u64 = 1 << 30;

/// Bytes between a rank and a server in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The rank.
    pub rank: Rank,
    /// The bytes in the file.
    pub extent: Extent,
    /// Where they are in the server's half, in bytes.
    pub at: u64,
}

/// Bytes that a server reads or writes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The bytes in the file.
    pub extent: Extent,
    /// Where they are in the server's half, in bytes.
    pub at: u64,
}

/// All rounds of one access.
#[derive(Clone, Debug)]
pub struct Rounds {
    unit: u64,
    count: u64,
    sliced: bool,
    /// So many rounds, from the first on, move the same counts between the same places of moving windows.
    alike: u64,
    servers: Vec<OfServer>,
}

#[derive(Clone, Debug)]
struct OfServer {
    shares: Vec<Share>,
    runs: Runs,
    /// Bytes of a window.
    step: u64,
}

/// A multiple of `unit` that is no less than `bytes`.
fn up(bytes: u64, unit: u64) -> u64 {
    bytes.div_ceil(unit).saturating_mul(unit)
}

impl Rounds {
    /// Rounds of at most `half` bytes at each server, for shares as [`super::assign`] makes them. Borders are multiples of
    /// `unit` bytes behind the start of a share. `None` if `half` does not hold one unit.
    pub fn new(shares: Vec<Vec<Share>>, unit: u64, half: u64) -> Option<Self> {
        let unit = unit.max(1);
        let half = half.min(MAX_HALF_BYTES);
        let half = half - half % unit;
        if half == 0 {
            return None;
        }
        let of = |shares: Vec<Share>| OfServer { runs: Runs::new(&shares), shares, step: 0 };
        let mut servers: Vec<OfServer> = shares.into_iter().map(of).collect();
        let windows = servers.iter().map(|s| s.runs.total().div_ceil(half)).max().unwrap_or(0);
        let slices = if windows > 1 { slices(&servers, unit, half) } else { None };
        let count = slices.unwrap_or(windows);
        for server in &mut servers {
            server.step = up(server.runs.total().div_ceil(count.max(1)), unit);
        }
        let mut rounds = Self { unit, count, sliced: slices.is_some(), alike: 0, servers };
        rounds.alike = rounds.alike();
        Some(rounds)
    }

    /// Rounds in which all slices have their full size; none if a rank has slices of different sizes at two servers, whose
    /// distance in its memory changes then.
    fn alike(&self) -> u64 {
        if !self.sliced {
            return 0;
        }
        let mut alike = self.count;
        let mut step_of = BTreeMap::new();
        for share in self.servers.iter().flat_map(|s| &s.shares) {
            let step = self.slice(share, 0).bytes;
            if *step_of.entry(share.rank).or_insert(step) != step {
                return 0;
            }
            alike = alike.min(share.extent.bytes / step.max(1));
        }
        alike
    }

    /// Whether a round is the one before, farther on in every rank's bytes: the same counts, and on each side the same
    /// distances between blocks.
    pub fn repeats(&self, round: u64) -> bool {
        round > 0 && round < self.alike
    }

    /// One round in place of several, if `whole` bytes at each server hold it and it is expected to be no slower; a round
    /// costs `round_seconds` beyond its bytes. Storage of which nothing is known is taken for one that costs no time.
    #[must_use]
    pub fn at_once(mut self, servers: &[Server], whole: u64, round_seconds: f64) -> Self {
        let both = |(of, server): (&OfServer, &Server)| {
            let bytes = of.runs.total() as f64;
            (bytes / server.enter).min(server.storage.map_or(0.0, |rate| bytes / rate))
        };
        let overlap = self.servers.iter().zip(servers).map(both).fold(0.0, f64::max);
        let fits = |of: &OfServer| up(of.runs.total(), self.unit) <= whole.min(MAX_HALF_BYTES);
        if self.count > 1 && self.servers.iter().all(fits) && overlap <= self.count as f64 * round_seconds {
            (self.count, self.sliced, self.alike) = (1, false, 0);
            for of in &mut self.servers {
                of.step = up(of.runs.total(), self.unit);
            }
        }
        self
    }

    /// How many rounds.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether all rounds but the last move the same counts.
    pub fn is_sliced(&self) -> bool {
        self.sliced
    }

    /// The largest number of bytes that a server has in one round.
    pub fn largest(&self, server: usize) -> u64 {
        (0..self.count).map(|round| self.bytes(server, round)).max().unwrap_or(0)
    }

    /// Bytes of a server in a round.
    fn bytes(&self, server: usize, round: u64) -> u64 {
        let of = &self.servers[server];
        match self.sliced {
            true => of.shares.iter().map(|s| self.slice(s, round).bytes).sum(),
            false => {
                let window = of.window(round);
                window.end - window.start
            }
        }
    }

    /// What a server and the ranks exchange in a round, ascending by place in its half (by file if it reads bytes that
    /// several ranks want). At most one message for each rank.
    pub fn messages(&self, server: usize, round: u64) -> Vec<Message> {
        let of = &self.servers[server];
        let mut messages = Vec::new();
        if self.sliced {
            let mut at = 0;
            for share in &of.shares {
                let extent = self.slice(share, round);
                if extent.bytes > 0 {
                    messages.push(Message { rank: share.rank, extent, at });
                    at += extent.bytes;
                }
            }
        } else {
            messages.extend(of.shares.iter().filter_map(|share| of.within(share, round)));
        }
        messages
    }

    /// The part of a rank's bytes that it exchanges with a server in a round, if any.
    pub fn of_rank(&self, server: usize, round: u64, rank: Rank) -> Option<Extent> {
        let of = &self.servers[server];
        // Shares are in file order, and this is asked for one rank: a look at all is cheap beside a round.
        let share = of.shares.iter().find(|s| s.rank == rank)?;
        match self.sliced {
            true => Some(self.slice(share, round)).filter(|e| e.bytes > 0),
            false => of.within(share, round).map(|m| m.extent),
        }
    }

    /// What a server reads or writes in a round, ascending; neighbours in the file are one piece.
    pub fn pieces(&self, server: usize, round: u64) -> Vec<Piece> {
        let of = &self.servers[server];
        let parts: Vec<Extent> = match self.sliced {
            true => of.shares.iter().map(|s| self.slice(s, round)).collect(),
            false => of.runs.parts(of.window(round)).collect(),
        };
        let mut pieces: Vec<Piece> = Vec::new();
        let mut at = 0;
        for extent in parts.into_iter().filter(|e| e.bytes > 0) {
            match pieces.last_mut().filter(|last| last.extent.end() == extent.start) {
                Some(last) => last.extent.bytes += extent.bytes,
                None => pieces.push(Piece { extent, at }),
            }
            at += extent.bytes;
        }
        pieces
    }

    fn slice(&self, share: &Share, round: u64) -> Extent {
        let Extent { start, bytes } = share.extent;
        let step = up(bytes.div_ceil(self.count), self.unit);
        let from = step.saturating_mul(round).min(bytes);
        Extent { start: start + from, bytes: step.min(bytes - from) }
    }
}

impl OfServer {
    /// The places of a window.
    fn window(&self, round: u64) -> std::ops::Range<u64> {
        let total = self.runs.total();
        let from = self.step.saturating_mul(round).min(total);
        from..from.saturating_add(self.step).min(total)
    }

    /// The part of a share that a window holds.
    fn within(&self, share: &Share, round: u64) -> Option<Message> {
        let window = self.window(round);
        let start = self.runs.place(share.extent.start);
        let (from, to) = (start.max(window.start), (start + share.extent.bytes).min(window.end));
        let extent = Extent { start: share.extent.start + from.saturating_sub(start), bytes: to.saturating_sub(from) };
        (extent.bytes > 0).then(|| Message { rank: share.rank, extent, at: from - window.start })
    }
}

/// The number of rounds in which slices fit into `half` at every server, if slices are large enough and no byte belongs to
/// two ranks.
fn slices(servers: &[OfServer], unit: u64, half: u64) -> Option<u64> {
    let mut count = 0;
    for OfServer { shares, runs, .. } in servers.iter().filter(|s| !s.shares.is_empty()) {
        let bytes: u64 = shares.iter().map(|s| s.extent.bytes).sum();
        if bytes != runs.total() {
            return None;
        }
        // Each slice may be rounded up by less than a unit.
        let room = half.checked_sub((shares.len() as u64).checked_mul(unit)?).filter(|&room| room > 0)?;
        count = count.max(bytes.div_ceil(room));
    }
    let large = |s: &OfServer| s.runs.total() / count.max(1) / s.shares.len().max(1) as u64 >= LARGE_BYTES;
    servers.iter().filter(|s| !s.shares.is_empty()).all(large).then_some(count)
}
