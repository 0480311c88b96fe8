//! From the list of all paths to what one rank has to do, and where its memory is.
//!
//! # Windows, and why nothing deadlocks
//!
//! For every path, each rank that receives on it (forwarder or destination) dedicates a *window* of `w >= 1` chunk
//! slots to that path alone. A sender may have at most `w` chunks of a path in flight or unfreed on a leg; the
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
//! How many bytes may be in flight on a leg is a matter of its own, see `in_flight.rs`.
//!
//! Everything here is computed from the global list of paths, so all ranks agree on chunk sizes, windows, slots
//! and tags without exchanging anything.

use crate::error::TransportError;
use crate::grants::places;
use crate::hop::{Granted, Hop, Incoming, Outgoing, Roles, Sink};
use crate::in_flight::InFlightLimits;
use crate::path::Path;
use crate::schedule_options::{Grants, ScheduleOptions};
use crate::timetable;
use optiq_trace::ids::{PathId, Rank};
use std::collections::BTreeMap;
use std::ops::Range;

/// One rank's part of an exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    rank: Rank,
    ranks: u32,
    hops: Vec<Hop>,
    forward_bytes: u64,
    slot_bytes: u64,
    largest_slot_bytes: u64,
    send_bytes: u64,
    receive_bytes: u64,
    ahead: u64,
    small_chunk: u64,
    in_flight_limit: u64,
    busiest_end: u64,
    grants_always: bool,
}

impl Schedule {
    /// The part of `rank` (of `ranks`) in moving `paths`. Every rank must pass the same `paths` and `options`.
    ///
    /// # Errors
    /// [`TransportError::BadPath`] for a malformed path; [`TransportError::Budget`] if some rank's budget
    /// cannot hold one byte of each path that it receives on. Either is found by all ranks alike.
    pub fn new(rank: Rank, ranks: u32, paths: &[Path], options: &ScheduleOptions) -> Result<Self, TransportError> {
        let none = || Self { rank, ranks, ahead: options.ahead, small_chunk: options.small_chunk, ..Self::default() };
        let list = Self::of_ranks(rank.0..rank.0.saturating_add(1), ranks, paths, options)?;
        Ok(list.into_iter().next().unwrap_or_else(none))
    }

    /// The parts of all ranks, for a caller that simulates all of them; each is what [`Schedule::new`] gives.
    ///
    /// # Errors
    /// As [`Schedule::new`].
    pub fn all(ranks: u32, paths: &[Path], options: &ScheduleOptions) -> Result<Vec<Self>, TransportError> {
        Self::of_ranks(0..ranks, ranks, paths, options)
    }

    fn of_ranks(
        wanted: Range<u32>,
        ranks: u32,
        paths: &[Path],
        options: &ScheduleOptions,
    ) -> Result<Vec<Self>, TransportError> {
        let mut order: Vec<&Path> = paths.iter().collect();
        order.sort_by_key(|p| p.id);
        check(&order, ranks)?;
        let shares = BudgetShares::new(&order, options.budget)?;
        let chunk_of = |p: &&Path| {
            let least = p.ranks[1..].iter().map(|&r| shares.of(r)).min().unwrap_or(1);
            options.chunk.chunk(p.bytes, p.legs(), options.cost).min(least)
        };
        let chunk_sizes: Vec<u64> = order.iter().map(chunk_of).collect();
        let sized: Vec<(&Path, u64)> = order.into_iter().zip(chunk_sizes).collect();
        let limits = InFlightLimits::new(sized.iter().copied(), options);
        let layout = SlotLayout::new(&sized, &shares, options.window);
        log_decisions(&wanted, &sized, &layout, &limits, options);
        Ok(assemble(wanted, ranks, &sized, &layout, &limits, options))
    }

    /// The rank whose part this is.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// The number of ranks in the exchange.
    pub fn ranks(&self) -> u32 {
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

    /// As [`ScheduleOptions::ahead`].
    pub fn ahead(&self) -> u64 {
        self.ahead
    }

    /// As [`ScheduleOptions::small_chunk`]; at least 1.
    pub(crate) fn small_chunk(&self) -> u64 {
        self.small_chunk.max(1)
    }

    /// Bytes that may be in flight on the busiest leg.
    pub(crate) fn in_flight_limit(&self) -> u64 {
        self.in_flight_limit
    }

    /// Bytes that a rank grants at one time if it receives `bytes` in the exchange, or has in flight of what is granted to it if it sends them.
    pub(crate) fn granted_limit(&self, bytes: u64) -> u64 {
        granted_limit(self.in_flight_limit, bytes, self.busiest_end)
    }

    /// Whether options say [`Grants::Always`].
    pub(crate) fn grants_always(&self) -> bool {
        self.grants_always
    }

    /// With other rows for the same paths, which take no more memory.
    pub(crate) fn with_hops(&self, hops: Vec<Hop>, ahead: u64, in_flight_limit: u64) -> Self {
        Self { hops, ahead, in_flight_limit, ..*self }
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

/// The part of the in-flight limit that `bytes` are of those of the busiest link.
fn granted_limit(limit: u64, bytes: u64, busiest: u64) -> u64 {
    (u128::from(limit) * u128::from(bytes))
        .checked_div(u128::from(busiest))
        .map_or(limit, |part| limit.min(part as u64))
}

/// The part of the budget that each receiver has for each path that it receives on.
struct BudgetShares {
    budget: u64,
    /// How many paths end at a rank or pass through it.
    paths: BTreeMap<Rank, u64>,
}

impl BudgetShares {
    fn new(order: &[&Path], budget: u64) -> Result<Self, TransportError> {
        let mut paths: BTreeMap<Rank, u64> = BTreeMap::new();
        for &receiver in order.iter().flat_map(|path| &path.ranks[1..]) {
            *paths.entry(receiver).or_default() += 1;
        }
        let shares = Self { budget, paths };
        match shares.paths.iter().find(|&(&rank, _)| shares.of(rank) == 0) {
            Some((&rank, &paths)) => Err(TransportError::Budget { rank, paths, budget }),
            None => Ok(shares),
        }
    }

    /// Bytes for each path at `rank`.
    fn of(&self, rank: Rank) -> u64 {
        self.budget / self.paths.get(&rank).copied().unwrap_or(1)
    }
}

/// A path's slots at one receiver.
#[derive(Clone, Copy)]
struct Slots {
    window: u64,
    first_byte: u64,
}

/// Where the slots of every path are at every receiver: first those that are forwarded from, then those that a transport
/// needs only if it cannot deliver in place. Two passes over the paths in id order give the same on all ranks.
struct SlotLayout {
    placed: BTreeMap<(Rank, PathId), Slots>,
    forward_bytes: BTreeMap<Rank, u64>,
    bytes: BTreeMap<Rank, u64>,
}

impl SlotLayout {
    fn new(sized: &[(&Path, u64)], shares: &BudgetShares, largest_window: u64) -> Self {
        let mut placed = BTreeMap::new();
        let mut bytes: BTreeMap<Rank, u64> = BTreeMap::new();
        let mut forward_bytes = BTreeMap::new();
        for sink in [Sink::Forward, Sink::Deliver] {
            for &(path, chunk) in sized {
                let chunks = path.bytes.div_ceil(chunk);
                let last = path.ranks.len() - 1;
                let receiving = if sink == Sink::Deliver { last..last + 1 } else { 1..last };
                for &r in &path.ranks[receiving] {
                    let window = largest_window.max(1).min(shares.of(r) / chunk).min(chunks);
                    let next = bytes.entry(r).or_default();
                    placed.insert((r, path.id), Slots { window, first_byte: *next });
                    *next += window * chunk;
                }
            }
            if sink == Sink::Forward {
                forward_bytes.clone_from(&bytes);
            }
        }
        Self { placed, forward_bytes, bytes }
    }

    fn largest_bytes(&self) -> u64 {
        self.bytes.values().copied().max().unwrap_or(0)
    }
}

/// Puts the schedules of the wanted ranks together.
fn assemble(
    wanted: Range<u32>,
    ranks: u32,
    sized: &[(&Path, u64)],
    layout: &SlotLayout,
    limits: &InFlightLimits,
    options: &ScheduleOptions,
) -> Vec<Schedule> {
    let largest_slot_bytes = layout.largest_bytes();
    let (places, busiest_end) = match options.grants {
        Grants::Never => (BTreeMap::new(), 0),
        _ => (places(sized.iter().map(|&(path, _)| path), ranks), limits.busiest_end()),
    };
    let bytes_of = |of: &BTreeMap<Rank, u64>, rank| of.get(&rank).copied().unwrap_or(0);
    let empty = |rank| Schedule {
        rank,
        ranks,
        forward_bytes: bytes_of(&layout.forward_bytes, rank),
        slot_bytes: bytes_of(&layout.bytes, rank),
        largest_slot_bytes,
        ahead: options.ahead,
        small_chunk: options.small_chunk,
        in_flight_limit: limits.most(),
        busiest_end,
        grants_always: options.grants == Grants::Always,
        ..Schedule::default()
    };
    let mut list: Vec<Schedule> = wanted.clone().map(Rank).map(empty).collect();
    let mut tags: BTreeMap<(Rank, Rank), u32> = BTreeMap::new();
    for &(path, chunk) in sized {
        for leg in path.ranks.windows(2) {
            *tags.entry((leg[0], leg[1])).or_insert(0) += 1;
        }
        for (here, &rank) in path.ranks.iter().enumerate().filter(|(_, rank)| wanted.contains(&rank.0)) {
            let schedule = &mut list[(rank.0 - wanted.start) as usize];
            let granted = places.get(&path.id).copied();
            let from_the_start = options.grants == Grants::Always && path.starts_at.is_none();
            let limit = |g: Granted| granted_limit(limits.most(), g.received, busiest_end);
            let granted = granted.map(|g| if from_the_start { g.within(limit(g), chunk) } else { g });
            let tag = |from: Rank, to: Rank| tags[&(from, to)] - 1;
            let incoming = (here > 0).then(|| {
                let Slots { window, first_byte: slots } = layout.placed[&(rank, path.id)];
                let from = path.ranks[here - 1];
                let sink = if here + 1 == path.ranks.len() { Sink::Deliver } else { Sink::Forward };
                Incoming { from, tag: tag(from, rank), sink, window, slots }
            });
            let outgoing = path.ranks.get(here + 1).map(|&to| {
                let Slots { window, first_byte: slots } = layout.placed[&(to, path.id)];
                Outgoing { to, tag: tag(rank, to), window, slots, in_flight_limit: limits.of_leg(rank, to) }
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
                starts_at: path.starts_at,
                class: path.class,
                granted,
                incoming,
                outgoing,
            });
        }
    }
    list
}

/// What was decided for all paths, with the reasons, in one line of the log.
fn log_decisions(
    wanted: &Range<u32>,
    sized: &[(&Path, u64)],
    layout: &SlotLayout,
    limits: &InFlightLimits,
    options: &ScheduleOptions,
) {
    if !log::log_enabled!(log::Level::Debug) {
        return;
    }
    let whose = match wanted.len() {
        1 => format!("rank {}", wanted.start),
        n => format!("{n} ranks"),
    };
    let chunks = || sized.iter().map(|&(_, chunk)| chunk);
    // A chunk below what the rule says was cut to the receivers' share of the budget.
    let ruled = |(path, chunk): &&(&Path, u64)| *chunk < options.chunk.chunk(path.bytes, path.legs(), options.cost);
    let windows = || layout.placed.values().map(|slots| slots.window);
    log::debug!(
        "schedule of {whose}: {} paths; chunks of {} to {} bytes (rule {:?}, {} ns per chunk at {} bytes/s, at most {} bytes \
         automatically; {} paths have smaller ones to fit a budget of {} bytes); windows of {} to {} chunks (at most {}); {limits}",
        sized.len(),
        chunks().min().unwrap_or(0),
        chunks().max().unwrap_or(0),
        options.chunk,
        options.cost.nanoseconds,
        options.cost.bytes_per_second,
        options.cost.largest_chunk,
        sized.iter().filter(ruled).count(),
        options.budget,
        windows().min().unwrap_or(0),
        windows().max().unwrap_or(0),
        options.window,
    );
}

fn check(paths: &[&Path], ranks: u32) -> Result<(), TransportError> {
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
        if let Some(r) = p.ranks.iter().find(|r| r.0 >= ranks) {
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
    timetable::check(paths)
}
