//! Rounds: what moves between ranks and servers at a time, so that half of a server's budget holds it.
//!
//! While one half is being written, the next round arrives in the other.
//!
//! A server's bytes lie in *lanes*, and each round takes the next slice of every lane, so that lanes say who sends in a
//! round. The first of these that gives slices of [`LARGE_BYTES`] or more on average, since each is a write of its own:
//!
//! - a lane for each rank: all rounds then move the same counts, and one plan serves them all;
//! - a lane for the ranks of each host that follow each other in the file: the links of all hosts are used in every round;
//! - one lane: each round is one contiguous piece of the file, or one for each hole.
//!
//! Where one round is enough, all three are the same.
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

use super::assign::{Extent, Runs, Share};
use super::servers::Server;
use crate::constants::LARGE_SLICE_BYTES;
use optiq_net::NodeId;
use optiq_transport::Rank;
use std::collections::BTreeMap;
use std::ops::Range;

/// Slices are not made smaller than this on average, in bytes: what parallel file systems take in one request at most.
pub const LARGE_BYTES: u64 = LARGE_SLICE_BYTES;

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
    /// This number of rounds, from the first on, move the same counts between the same places of moving windows.
    alike: u64,
    /// Of each server, in the order of the file.
    servers: Vec<Vec<Lane>>,
}

/// Shares of which each round takes a slice.
#[derive(Clone, Debug)]
struct Lane {
    /// In the order of the file; they may overlap if there is one lane.
    shares: Vec<Share>,
    runs: Runs,
    /// Bytes of a slice.
    step: u64,
}

/// A multiple of `unit` that is no less than `bytes`.
fn up(bytes: u64, unit: u64) -> u64 {
    bytes.div_ceil(unit).saturating_mul(unit)
}

fn total(lanes: &[Lane]) -> u64 {
    lanes.iter().map(|lane| lane.runs.total()).sum()
}

impl Rounds {
    /// Rounds of at most `half` bytes at each server, for shares as [`super::assign::assign`] makes them. Borders are multiples of
    /// `unit` bytes behind the start of a share. `host` says where ranks run. `None` if `half` does not hold one unit.
    pub fn new(shares: &[Vec<Share>], unit: u64, half: u64, host: impl Fn(Rank) -> NodeId) -> Option<Self> {
        let unit = unit.max(1);
        let half = half.min(MAX_HALF_BYTES);
        let half = half - half % unit;
        if half == 0 {
            return None;
        }
        let by = |together: &dyn Fn(&Share, &Share) -> bool| -> Vec<Vec<Lane>> {
            shares.iter().map(|shares| lanes(shares, together)).collect()
        };
        let one = by(&|_, _| true);
        let windows = one.iter().map(|lanes| total(lanes).div_ceil(half)).max().unwrap_or(0);
        let split = |together: &dyn Fn(&Share, &Share) -> bool| {
            let servers = by(together);
            slices(&servers, unit, half).map(|count| (servers, count))
        };
        let neighbours = |a: &Share, b: &Share| a.extent.end() == b.extent.start && host(a.rank) == host(b.rank);
        let split = match windows {
            0 | 1 => None,
            _ if one.iter().flatten().any(Lane::overlaps) => None,
            _ => split(&|_, _| false).or_else(|| split(&neighbours)),
        };
        let (servers, count) = split.unwrap_or((one, windows));
        Some(Self { unit, count, alike: 0, servers }.measured())
    }

    /// With the sizes of slices for the number of rounds.
    fn measured(mut self) -> Self {
        for lane in self.servers.iter_mut().flatten() {
            lane.step = up(lane.runs.total().div_ceil(self.count.max(1)), self.unit);
        }
        self.alike = self.alike();
        self
    }

    /// Rounds in which all slices have their full size and are one rank's; none if a rank has slices of different sizes at
    /// two servers, whose distance in its memory changes then.
    fn alike(&self) -> u64 {
        let mut alike = self.count;
        let mut step_of = BTreeMap::new();
        for lane in self.servers.iter().flatten() {
            let [share] = lane.shares[..] else { return 0 };
            if *step_of.entry(share.rank).or_insert(lane.step) != lane.step {
                return 0;
            }
            alike = alike.min(share.extent.bytes / lane.step.max(1));
        }
        alike
    }

    /// Whether a round is the one before, farther on in every rank's bytes: the same counts, and on each side the same
    /// distances between blocks.
    pub fn repeats(&self, round: u64) -> bool {
        round > 0 && round < self.alike
    }

    /// One round in place of several, if `whole` bytes at each server hold it and it is expected to be no slower; a round
    /// costs `round_seconds` beyond its bytes. Storage that was not measured counts as taking no time.
    #[must_use]
    pub fn at_once(mut self, servers: &[Server], whole: u64, round_seconds: f64) -> Self {
        let both = |(lanes, server): (&Vec<Lane>, &Server)| {
            let bytes = total(lanes) as f64;
            (bytes / server.enter).min(server.storage.map_or(0.0, |rate| bytes / rate))
        };
        let overlap = self.servers.iter().zip(servers).map(both).fold(0.0, f64::max);
        let lane = |lane: &Lane| up(lane.runs.total(), self.unit);
        let fits = |lanes: &Vec<Lane>| lanes.iter().map(lane).sum::<u64>() <= whole.min(MAX_HALF_BYTES);
        if self.count > 1 && self.servers.iter().all(fits) && overlap <= self.count as f64 * round_seconds {
            self.count = 1;
            self = self.measured();
        }
        self
    }

    /// How many rounds.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The largest number of bytes that a server has in one round.
    pub fn largest(&self, server: usize) -> u64 {
        (0..self.count).map(|round| self.bytes(server, round)).max().unwrap_or(0)
    }

    /// Bytes of a server in a round.
    fn bytes(&self, server: usize, round: u64) -> u64 {
        self.servers[server].iter().map(|lane| lane.slice_bytes(round)).sum()
    }

    /// What a server and the ranks exchange in a round, ascending by place in its half (by file if it reads bytes that
    /// several ranks want). At most one message for each rank.
    pub fn messages(&self, server: usize, round: u64) -> Vec<Message> {
        let mut messages = Vec::new();
        let mut before = 0;
        for lane in &self.servers[server] {
            let within = lane.shares.iter().filter_map(|share| lane.within(share, round));
            messages.extend(within.map(|m| Message { at: before + m.at, ..m }));
            before += lane.slice_bytes(round);
        }
        messages
    }

    /// The part of a rank's bytes that it exchanges with a server in a round, if any.
    pub fn of_rank(&self, server: usize, round: u64, rank: Rank) -> Option<Extent> {
        // Shares are in file order, and this is asked for one rank: a look at all is cheap beside a round.
        let of = |lane: &Lane| lane.shares.iter().find(|s| s.rank == rank).map(|share| lane.within(share, round));
        self.servers[server].iter().find_map(of)?.map(|message| message.extent)
    }

    /// What a server reads or writes in a round, ascending; neighbours in the file are one piece.
    pub fn pieces(&self, server: usize, round: u64) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut at = 0;
        let parts = self.servers[server].iter().flat_map(|lane| lane.runs.parts(lane.slice(round)));
        for extent in parts.filter(|e| e.bytes > 0) {
            match pieces.last_mut().filter(|last| last.extent.end() == extent.start) {
                Some(last) => last.extent.bytes += extent.bytes,
                None => pieces.push(Piece { extent, at }),
            }
            at += extent.bytes;
        }
        pieces
    }
}

impl Lane {
    /// Whether bytes belong to several shares.
    fn overlaps(&self) -> bool {
        self.shares.iter().map(|s| s.extent.bytes).sum::<u64>() != self.runs.total()
    }

    /// The places of a slice in the row of the lane's bytes.
    fn slice(&self, round: u64) -> Range<u64> {
        let total = self.runs.total();
        let from = self.step.saturating_mul(round).min(total);
        from..from.saturating_add(self.step).min(total)
    }

    fn slice_bytes(&self, round: u64) -> u64 {
        let slice = self.slice(round);
        slice.end - slice.start
    }

    /// The part of a share that a slice holds, with its place in the slice.
    fn within(&self, share: &Share, round: u64) -> Option<Message> {
        let slice = self.slice(round);
        let start = self.runs.place(share.extent.start);
        let (from, to) = (start.max(slice.start), (start + share.extent.bytes).min(slice.end));
        let extent = Extent { start: share.extent.start + from.saturating_sub(start), bytes: to.saturating_sub(from) };
        (extent.bytes > 0).then(|| Message { rank: share.rank, extent, at: from - slice.start })
    }
}

/// Lanes of shares, in order; neighbours are in one lane if they are together.
fn lanes(shares: &[Share], together: impl Fn(&Share, &Share) -> bool) -> Vec<Lane> {
    let lane = |shares: &[Share]| Lane { runs: Runs::new(shares), shares: shares.to_vec(), step: 0 };
    shares.chunk_by(together).map(lane).collect()
}

/// The number of rounds in which slices of these lanes fit into `half` at every server, if they are large enough.
fn slices(servers: &[Vec<Lane>], unit: u64, half: u64) -> Option<u64> {
    let used = || servers.iter().filter(|lanes| !lanes.is_empty());
    let mut count = 0;
    for lanes in used() {
        // Each slice may be rounded up by less than a unit.
        let room = half.checked_sub((lanes.len() as u64).checked_mul(unit)?).filter(|&room| room > 0)?;
        count = count.max(total(lanes).div_ceil(room));
    }
    let large = |lanes: &Vec<Lane>| total(lanes) / count.max(1) / lanes.len() as u64 >= LARGE_BYTES;
    used().all(large).then_some(count)
}
