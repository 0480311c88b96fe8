//! From the list of all paths to what one rank has to do, and where its memory is.
//!
//! # Windows, and why nothing deadlocks
//!
//! For every path, each rank that receives on it (forwarder or destination) dedicates a *window* of `w >= 1` chunk
//! slots to that path alone. A sender may have at most `w` chunks of a path under way or unfreed on a leg; the
//! receiver gives credits back as it frees slots. So with `n_r` the number of paths that rank `r` receives on,
//! `c_p` the chunk size of path `p` and `B` the budget,
//!
//! ```text
//!     sum over p through r of w(p, r) * c(p) <= B,        w(p, r) = min(W, B / n_r / c(p), chunks(p)),
//!     c(p) = min(rule(p), min over r on p of B / n_r)      so that w >= 1 everywhere.
//! ```
//!
//! No slot is shared between paths, so the wait-for graph has an edge from (path p, leg i) only to (p, leg i + 1):
//! it is a union of chains, and a chain ends at a destination, which always accepts. Hence no cycle of waiting
//! forwarders exists, for any set of paths, any crossing of flows, and the smallest budget. The argument needs
//! that a send with credit completes without further conditions; the receiver has set the slot aside before the
//! credit was given, so it does.
//!
//! # How much is under way, and why no more
//!
//! Windows bound memory; they must not decide how much lies on the wires. On a leg that carries `b_l` bytes of the
//! exchange, at most `b_l / M * W` bytes are sent and not confirmed, `M` being the bytes of the busiest link and `W` a
//! little more than a link carries in a round trip. The legs across a busiest link then have `W` under way together,
//! not `W` each. Little's law says why that matters: what is under way is rate times round-trip time, and the round
//! trip contains the queues of *both* directions, since confirmations wait behind data that goes the other way. Let `A`
//! have `W` under way through one link, and two legs `2 W` through the link back. With both links busy the round trip
//! takes `2 W / B`, so `A` moves at half of `B` however idle its own link is. With windows in proportion to planned
//! bytes, every busy link sees the same round trip `W / B`, and every leg moves at the rate that the plan gave it. Chunks
//! are large beside `W`, so the scheduler rounds each limit up or down as often as makes it right on average. See
//! `docs/executor.md` for the measurements.
//!
//! What is under way also delays: a chunk waits behind `W / B` seconds of others at every leg, so a path of `L` legs
//! takes `(L - 1) W / B` longer to fill. Where the network takes chunks without a turn of anybody's progress loop in
//! between, a small part of the exchange's bytes, `M / n`, keeps a busy link busy, and the fill stays a small part of the
//! time, `(L - 1) / n`; two chunks are the least that pipelines.
//!
//! Everything here is computed from the global list of paths, so all ranks agree on chunk sizes, windows, slots
//! and tags without exchanging anything.

use crate::chunk::{ChunkCost, ChunkRule, mean};
use crate::constants::EAGER;
use crate::error::TransportError;
use crate::path::{Header, Path};
use optiq_trace::ids::{PathId, Rank};
use std::collections::BTreeMap;
use std::ops::Range;

/// What shapes a schedule; must be the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleOptions {
    /// The chunk size rule, applied to each path's bytes.
    pub chunk: ChunkRule,
    /// Bytes of buffer memory per rank for everything it receives on behalf of others or ahead of time.
    pub budget: u64,
    /// The largest window, in chunks per path and leg. More hides a longer round trip; 2 is the least that pipelines.
    pub window: u64,
    /// What [`ChunkRule::Auto`] reckons with.
    pub cost: ChunkCost,
    /// Bytes that may be under way at one time on the busiest leg; on others, in proportion to what they carry.
    pub under_way: u64,
    /// And at most the `n`-th part of the busiest leg's bytes, or two chunks if that is more: for transports that hand
    /// chunks to the network without a question ([`PUTS_UNDER_WAY`]). 0 for no such limit.
    pub under_way_part: u64,
    /// Bytes on the busiest link, of one link's capacity, where the caller knows: a link can be shared by several
    /// legs. 0 takes the busiest leg's bytes.
    pub busiest: u64,
}

/// Six chunks of [`EAGER`] bytes: one on the wire, one that is being confirmed, four for the turns of progress
/// loops that share processors.
const UNDER_WAY: u64 = 6 * EAGER;

/// Which part of the busiest leg's bytes is under way at one time where chunks are put by the network's own hardware.
/// Measured in the simulator of Blue Gene/Q, see `docs/executor.md`.
pub const PUTS_UNDER_WAY: u64 = 40;

impl Default for ScheduleOptions {
    fn default() -> Self {
        let (chunk, cost) = (ChunkRule::Auto, ChunkCost::default());
        let (under_way, under_way_part) = (UNDER_WAY, 0);
        Self { chunk, budget: 64 << 20, window: 32, cost, under_way, under_way_part, busiest: 0 }
    }
}

/// Where a rank puts what it receives on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    /// Into the receive buffer; it is the destination.
    Deliver,
    /// Into slots, from which it is sent on.
    Forward,
}

/// The receiving end of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The rank that sends.
    pub from: Rank,
    /// Tells this path from others on the same leg; counted from 0 per (sender, receiver).
    pub tag: u32,
    /// What happens to the chunks.
    pub sink: Sink,
    /// How many chunks may be under way or unfreed.
    pub window: u64,
    /// First byte of this path's slots in the receiver's slot memory.
    pub slots: u64,
}

/// The sending end of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The rank that receives.
    pub to: Rank,
    /// As the receiver's [`Incoming::tag`].
    pub tag: u32,
    /// As the receiver's [`Incoming::window`].
    pub window: u64,
    /// As the receiver's [`Incoming::slots`]: where a one-sided transport puts.
    pub slots: u64,
    /// How many bytes may be under way to the receiver, on all paths together; at least one chunk always may.
    pub under_way: u64,
}

/// One path's row in a rank's table: (path, previous, next) as in thesis 4.2.3, with sizes and windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The path.
    pub path: PathId,
    /// Its source rank.
    pub source: Rank,
    /// Its destination rank.
    pub destination: Rank,
    /// Its bytes.
    pub bytes: u64,
    /// Chunk size; every chunk but the last has it.
    pub chunk: u64,
    /// Where its bytes start in the source's send buffer.
    pub source_offset: u64,
    /// Where they go in the destination's receive buffer.
    pub destination_offset: u64,
    /// Where it comes from; `None` at the source.
    pub incoming: Option<Incoming>,
    /// Where it goes; `None` at the destination.
    pub outgoing: Option<Outgoing>,
}

impl Hop {
    /// Number of chunks on this path.
    pub fn chunks(&self) -> u64 {
        self.bytes.div_ceil(self.chunk)
    }

    /// Size in bytes of chunk `sequence`.
    pub fn chunk_bytes(&self, sequence: u64) -> u64 {
        self.chunk.min(self.bytes - sequence * self.chunk)
    }

    /// What chunk `sequence` says about itself.
    pub fn header(&self, sequence: u64) -> Header {
        Header {
            path: self.path,
            sequence,
            source: self.source,
            destination: self.destination,
            bytes: self.chunk_bytes(sequence),
            offset: self.destination_offset + sequence * self.chunk,
        }
    }
}

/// What a rank is in an exchange (thesis 4.2.3): any of these, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// Its own bytes leave.
    pub source: bool,
    /// Bytes arrive for it.
    pub destination: bool,
    /// It passes bytes of others on.
    pub forwarder: bool,
}

impl Roles {
    /// Neither source nor destination nor forwarder.
    pub fn idle(self) -> bool {
        self == Roles::default()
    }
}

/// One rank's part of an exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    rank: Rank,
    ranks: Rank,
    hops: Vec<Hop>,
    forward_bytes: u64,
    slot_bytes: u64,
    largest_slot_bytes: u64,
    send_bytes: u64,
    receive_bytes: u64,
}

/// What must be known of every rank to size windows and place slots.
#[derive(Default)]
struct Receiver {
    forwards: u64,
    delivers: u64,
}

/// How much may be under way on each leg, see the top of the file.
struct Flow {
    legs: BTreeMap<(Rank, Rank), u64>,
    busiest: u64,
    most: u64,
}

impl Flow {
    /// For paths with the sizes of their chunks.
    fn new<'p>(paths: impl Iterator<Item = (&'p Path, u64)> + Clone, options: &ScheduleOptions) -> Self {
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
        let part = busiest.checked_div(options.under_way_part).unwrap_or(u64::MAX);
        Self { legs, busiest, most: options.under_way.min(part.max(chunk.saturating_mul(2))) }
    }

    fn of_leg(&self, from: Rank, to: Rank) -> u64 {
        let bytes = self.legs.get(&(from, to)).copied().unwrap_or(0);
        // At most `most`, since no leg carries more than the busiest.
        (u128::from(self.most) * u128::from(bytes) / u128::from(self.busiest)) as u64
    }
}

impl Schedule {
    /// The part of `rank` (of `ranks`) in moving `paths`. Every rank must pass the same `paths` and `options`.
    ///
    /// # Errors
    /// [`TransportError::BadPath`] for a path that cannot be; [`TransportError::Budget`] if some rank's budget
    /// cannot hold one byte of each path that it receives on. Either is found by all ranks alike.
    pub fn new(rank: Rank, ranks: Rank, paths: &[Path], options: &ScheduleOptions) -> Result<Self, TransportError> {
        let none = || Self { rank, ranks, ..Self::default() };
        let list = Self::of_ranks(rank..rank.saturating_add(1), ranks, paths, options)?;
        Ok(list.into_iter().next().unwrap_or_else(none))
    }

    /// The parts of all ranks, for whoever plays all of them; each is what [`Schedule::new`] gives.
    ///
    /// # Errors
    /// As [`Schedule::new`].
    pub fn all(ranks: Rank, paths: &[Path], options: &ScheduleOptions) -> Result<Vec<Self>, TransportError> {
        Self::of_ranks(0..ranks, ranks, paths, options)
    }

    fn of_ranks(
        wanted: Range<Rank>,
        ranks: Rank,
        paths: &[Path],
        options: &ScheduleOptions,
    ) -> Result<Vec<Self>, TransportError> {
        let mut order: Vec<&Path> = paths.iter().collect();
        order.sort_by_key(|p| p.id);
        check(&order, ranks)?;

        let mut receivers: BTreeMap<Rank, Receiver> = BTreeMap::new();
        for path in &order {
            for (i, &r) in path.ranks.iter().enumerate().skip(1) {
                let receiver = receivers.entry(r).or_default();
                if i + 1 == path.ranks.len() { receiver.delivers += 1 } else { receiver.forwards += 1 }
            }
        }
        let share = |r: Rank| {
            let n = receivers.get(&r).map_or(1, |x| x.forwards + x.delivers);
            options.budget / n
        };
        for (&rank, receiver) in &receivers {
            if share(rank) == 0 {
                let paths = receiver.forwards + receiver.delivers;
                return Err(TransportError::Budget { rank, paths, budget: options.budget });
            }
        }

        // Slots are laid out per receiver: first those that are forwarded from, then those that a transport needs
        // only if it cannot deliver in place. Two passes over the paths in id order give both the same on all ranks.
        let mut tags: BTreeMap<(Rank, Rank), u32> = BTreeMap::new();
        let mut placed: BTreeMap<(Rank, PathId), (u64, u64)> = BTreeMap::new();
        let mut used: BTreeMap<Rank, u64> = BTreeMap::new();
        let mut forward_bytes: BTreeMap<Rank, u64> = BTreeMap::new();
        let chunk_of = |p: &&Path| {
            let least = p.ranks[1..].iter().map(|&r| share(r)).min().unwrap_or(1);
            options.chunk.chunk(p.bytes, p.legs(), options.cost).min(least)
        };
        let chunk_sizes: Vec<u64> = order.iter().map(chunk_of).collect();
        let sized = || order.iter().copied().zip(chunk_sizes.iter().copied());
        let flow = Flow::new(sized(), options);
        for sink in [Sink::Forward, Sink::Deliver] {
            for (path, chunk) in sized() {
                let chunks = path.bytes.div_ceil(chunk);
                let last = path.ranks.len() - 1;
                let receiving = if sink == Sink::Deliver { last..last + 1 } else { 1..last };
                for &r in &path.ranks[receiving] {
                    let window = options.window.max(1).min(share(r) / chunk).min(chunks);
                    let next = used.entry(r).or_default();
                    placed.insert((r, path.id), (window, *next));
                    *next += window * chunk;
                }
            }
            if sink == Sink::Forward {
                forward_bytes.clone_from(&used);
            }
        }
        let largest_slot_bytes = used.values().copied().max().unwrap_or(0);

        let bytes_of = |of: &BTreeMap<Rank, u64>, rank| of.get(&rank).copied().unwrap_or(0);
        let empty = |rank| Self {
            rank,
            ranks,
            forward_bytes: bytes_of(&forward_bytes, rank),
            slot_bytes: bytes_of(&used, rank),
            largest_slot_bytes,
            ..Self::default()
        };
        let mut list: Vec<Self> = wanted.clone().map(empty).collect();
        for (path, chunk) in sized() {
            for leg in path.ranks.windows(2) {
                *tags.entry((leg[0], leg[1])).or_insert(0) += 1;
            }
            for (here, &rank) in path.ranks.iter().enumerate().filter(|(_, rank)| wanted.contains(rank)) {
                let schedule = &mut list[(rank - wanted.start) as usize];
                let tag = |from: Rank, to: Rank| tags[&(from, to)] - 1;
                let incoming = (here > 0).then(|| {
                    let (window, slots) = placed[&(rank, path.id)];
                    let from = path.ranks[here - 1];
                    let sink = if here + 1 == path.ranks.len() { Sink::Deliver } else { Sink::Forward };
                    Incoming { from, tag: tag(from, rank), sink, window, slots }
                });
                let outgoing = path.ranks.get(here + 1).map(|&to| {
                    let (window, slots) = placed[&(to, path.id)];
                    Outgoing { to, tag: tag(rank, to), window, slots, under_way: flow.of_leg(rank, to) }
                });
                if incoming.is_none() {
                    schedule.send_bytes = schedule.send_bytes.max(path.source_offset + path.bytes);
                }
                if outgoing.is_none() {
                    schedule.receive_bytes = schedule.receive_bytes.max(path.destination_offset + path.bytes);
                }
                schedule.hops.push(Hop {
                    path: path.id,
                    source: path.source(),
                    destination: path.destination(),
                    bytes: path.bytes,
                    chunk,
                    source_offset: path.source_offset,
                    destination_offset: path.destination_offset,
                    incoming,
                    outgoing,
                });
            }
        }
        Ok(list)
    }

    /// The rank whose part this is.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// The number of ranks in the exchange.
    pub fn ranks(&self) -> Rank {
        self.ranks
    }

    /// This rank's (path, previous, next) table, ascending by path.
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// The index in [`Schedule::hops`] of a path, if this rank is on it.
    pub fn find(&self, path: PathId) -> Option<usize> {
        self.hops.binary_search_by_key(&path, |h| h.path).ok()
    }

    /// Bytes of slot memory for chunks that this rank forwards. They are the first bytes of the slot memory.
    pub fn forward_bytes(&self) -> u64 {
        self.forward_bytes
    }

    /// Bytes of slot memory including slots for chunks that end here, which only transports need that cannot
    /// receive in place. At most the budget.
    pub fn slot_bytes(&self) -> u64 {
        self.slot_bytes
    }

    /// The largest [`Schedule::slot_bytes`] over all ranks: what a collectively allocated window must hold.
    pub fn largest_slot_bytes(&self) -> u64 {
        self.largest_slot_bytes
    }

    /// How far into the send buffer this rank reads, in bytes.
    pub fn send_bytes(&self) -> u64 {
        self.send_bytes
    }

    /// How far into the receive buffer this rank writes, in bytes.
    pub fn receive_bytes(&self) -> u64 {
        self.receive_bytes
    }

    /// What this rank is in the exchange.
    pub fn roles(&self) -> Roles {
        let mut roles = Roles::default();
        for hop in &self.hops {
            roles.source |= hop.incoming.is_none();
            roles.destination |= hop.outgoing.is_none();
            roles.forwarder |= hop.incoming.is_some() && hop.outgoing.is_some();
        }
        roles
    }
}

fn check(paths: &[&Path], ranks: Rank) -> Result<(), TransportError> {
    let bad = |path: PathId, what: String| Err(TransportError::BadPath { path, what });
    if let Some(w) = paths.windows(2).find(|w| w[0].id == w[1].id) {
        return bad(w[0].id, "is given twice".into());
    }
    for p in paths {
        if p.ranks.len() < 2 {
            return bad(p.id, format!("has {} ranks; a source and a destination are needed", p.ranks.len()));
        }
        if p.bytes == 0 {
            return bad(p.id, "carries no bytes; it should not be there".into());
        }
        if let Some(r) = p.ranks.iter().find(|&&r| r >= ranks) {
            return bad(p.id, format!("names rank {r}, but there are {ranks} ranks"));
        }
        let mut sorted = p.ranks.clone();
        sorted.sort_unstable();
        if let Some(w) = sorted.windows(2).find(|w| w[0] == w[1]) {
            return bad(p.id, format!("passes rank {} twice", w[0]));
        }
        if p.source_offset.checked_add(p.bytes).is_none() || p.destination_offset.checked_add(p.bytes).is_none() {
            return bad(p.id, "reaches beyond byte 2^64 of a buffer".into());
        }
    }
    Ok(())
}
