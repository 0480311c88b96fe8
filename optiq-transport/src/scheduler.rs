//! The scheduler: what one rank posts, sends, forwards and acknowledges, as a state machine without I/O, threads
//! or clocks (thesis 4.2.3 and 6.3).
//!
//! Per path the chunks travel in order, so a counter describes each queue. For a receiving end with window `w`
//! and `n` chunks, and a sending end downstream:
//!
//! ```text
//!     freed <= received <= posted <= min(n, freed + w)            (receiving end; a posted receive owns a slot)
//!     sent  <= min(n, w + credited),   sent <= received           (sending end; a source has "received" all)
//!     freed  = chunks whose slot may be used again: sent on and completed, or delivered
//! ```
//!
//! Credits travel only while the sender still needs them (`n - w` in all), in batches of half a window, so that
//! when both sides are done no credit is left in flight. Where receivers grant chunks, one or none leaves without a credit in place
//! of `w`, and a credit waits until it fits what the receiver has granted to others (`grants.rs`).

use crate::error::TransportError;
use crate::grants::{Granting, GrantingState};
use crate::hop::{Hop, Sink};
use crate::protocol::{Credit, Post, Region, Transmit};
use crate::schedule::Schedule;
use crate::timetable::{Side, end_of, start_of};
use bincode::{Decode, Encode};
use optiq_trace::codec;
use optiq_trace::ids::{PathId, Rank};
use std::borrow::Borrow;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

#[cfg(test)]
mod tests;

/// Which of the two queues of a rank is served first (thesis 4.2.3), for each next rank by itself: chunks for different
/// ranks do not wait for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueOrder {
    /// Chunks of others before its own: frees slots soonest.
    ForwardFirst,
    /// Its own chunks before those of others.
    LocalFirst,
    /// One of each in turn, as long as both queues have some.
    RoundRobin,
    /// The path that is furthest behind its share, its own or another rank's (not in the thesis).
    #[default]
    Proportional,
}

/// Counters of one path at this rank; see the inequalities at the top of the file.
#[derive(Clone, Copy, Debug, Default, Decode, Encode)]
struct Progress {
    posted: u64,
    received: u64,
    freed: u64,
    acknowledged: u64,
    credited: u64,
    sent: u64,
    completed: u64,
    /// Whether it is in the ready queue.
    queued: bool,
}

/// Hops whose next chunk may be sent. The most urgent class comes first (thesis 7.2.3), then the path that is furthest behind
/// its share, so that all paths of a message finish together: the key is [`key_of`], then the hop.
type Queue = BinaryHeap<Reverse<(u64, usize)>>;

/// Where in a key the class begins; below it is the fraction sent, in units of 2^-32, at most 2^32.
const CLASS_SHIFT: u32 = 40;

/// The key of a hop in a [`Queue`], the smaller the earlier: its class, turned around, then the fraction of it that was sent.
fn key_of(hop: &Hop, sent: u64) -> u64 {
    let behind = (u128::from(sent) << 32) / u128::from(hop.chunks());
    u64::from(u8::MAX - hop.class) << CLASS_SHIFT | behind as u64
}

/// What waits for, and is in flight to, one next rank.
#[derive(Debug, Default, Decode, Encode)]
struct Lane {
    /// Chunks of others.
    forward: Queue,
    /// Its own chunks.
    local: Queue,
    /// Whether its own chunks are next under [`QueueOrder::RoundRobin`].
    local_turn: bool,
    /// Bytes that are sent and not completed.
    in_flight: u64,
    /// Chunks that were sent.
    sent: u64,
}

/// 2^64 over the golden ratio: multiples of it, taken as fractions, are spread evenly from the first ones on (Weyl).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl Lane {
    /// Whether `bytes` more may be sent. A limit is seldom a whole number of chunks, and rounding it to the nearest one would be
    /// wrong by up to half a chunk; so it is rounded up as often as makes it right on average.
    fn has_room(&self, bytes: u64, limit: u64) -> bool {
        let part = (u128::from(bytes) * u128::from(self.sent.wrapping_mul(GOLDEN))) >> 64;
        // One chunk always fits.
        self.in_flight == 0 || u128::from(self.in_flight) + u128::from(bytes) <= u128::from(limit) + part
    }

    /// The queue that is to be served next: that of the more urgent class, and of two of the same class as `order` says.
    fn next(&mut self, order: QueueOrder) -> &mut Queue {
        let local_first = match (self.forward.peek(), self.local.peek()) {
            (_, None) => false,
            (None, _) => true,
            (Some(Reverse((forward, _))), Some(Reverse((local, _)))) => {
                match (forward >> CLASS_SHIFT).cmp(&(local >> CLASS_SHIFT)) {
                    Ordering::Less => false,
                    Ordering::Greater => true,
                    Ordering::Equal => match order {
                        QueueOrder::ForwardFirst => false,
                        QueueOrder::LocalFirst => true,
                        QueueOrder::RoundRobin => self.local_turn,
                        QueueOrder::Proportional => local < forward,
                    },
                }
            }
        };
        if local_first { &mut self.local } else { &mut self.forward }
    }

    /// The class of what is to be served next, turned around; `None` if nothing waits.
    fn class(&self) -> Option<u64> {
        let heads = self.forward.peek().into_iter().chain(self.local.peek());
        heads.map(|Reverse((key, _))| key >> CLASS_SHIFT).min()
    }
}

/// One rank's scheduler, over a schedule that it borrows or shares. See the crate's front page for the calling order.
#[derive(Debug)]
pub struct Scheduler<S> {
    schedule: S,
    order: QueueOrder,
    progress: Vec<Progress>,
    /// Hops that may have a receive to post.
    to_post: VecDeque<usize>,
    /// Hops that owe credits.
    to_credit: VecDeque<usize>,
    /// What this rank has granted of the paths that end here.
    grants: Granting,
    /// What may be sent, per next rank, ascending by rank.
    lanes: Vec<Lane>,
    /// Per hop: its lane. Hops that end here have none and hold 0, which is not used.
    lane_of: Vec<usize>,
    /// The lane that is tried first: the one after the lane that was served last.
    turn: usize,
    /// What this rank sends by a timetable: the next that is to be sent.
    departures: Side,
    /// Whether some paths here are more urgent than others.
    classes: bool,
    /// The same paths: the oldest that is not confirmed.
    confirmations: Side,
    /// What this rank receives by a timetable: the oldest that is not here.
    arrivals: Side,
    /// Ends of legs that are not finished.
    open_ends: usize,
    slots_in_use: u64,
    peak_slots_in_use: u64,
}

impl<S: Borrow<Schedule>> Scheduler<S> {
    /// At the start of an exchange.
    pub fn new(schedule: S, order: QueueOrder) -> Self {
        let list = schedule.borrow().hops();
        let hops = list.len();
        let classes = list.windows(2).any(|pair| pair[0].class != pair[1].class);
        let departures = Side::new(list, |hop| hop.outgoing.is_some());
        let arrivals = Side::new(list, |hop| hop.incoming.is_some());
        let of = schedule.borrow();
        let grants = Granting::new((of.rank(), of.ranks()), list, |bytes| of.granted_limit(bytes));
        let mut scheduler = Self {
            schedule,
            order,
            progress: vec![Progress::default(); hops],
            to_post: VecDeque::new(),
            to_credit: VecDeque::new(),
            grants,
            lanes: Vec::new(),
            lane_of: vec![0; hops],
            turn: 0,
            classes,
            confirmations: departures.clone(),
            departures,
            arrivals,
            open_ends: 0,
            slots_in_use: 0,
            peak_slots_in_use: 0,
        };
        // Those of a timetable need no lane.
        let next = |i| scheduler.hop(i).outgoing.filter(|_| scheduler.hop(i).starts_at.is_none()).map(|o| o.to);
        let mut ranks: Vec<Rank> = (0..hops).filter_map(next).collect();
        ranks.sort_unstable();
        ranks.dedup();
        scheduler.lane_of = (0..hops).map(|i| next(i).map_or(0, |to| ranks.partition_point(|&r| r < to))).collect();
        scheduler.lanes = ranks.iter().map(|_| Lane::default()).collect();
        // The next rank first, and not the lowest: that one would have the first chunks of all ranks at one time.
        scheduler.turn = ranks.partition_point(|&r| r <= scheduler.schedule.borrow().rank()) % ranks.len().max(1);
        for i in 0..hops {
            let hop = scheduler.hop(i);
            scheduler.open_ends += usize::from(hop.incoming.is_some()) + usize::from(hop.outgoing.is_some());
            if hop.incoming.is_some() {
                scheduler.to_post.push_back(i);
                scheduler.offer(i);
            } else {
                scheduler.progress[i].received = hop.chunks();
                scheduler.enqueue(i);
            }
        }
        scheduler
    }

    /// Its state, for [`Scheduler::restore`].
    pub fn save(&self) -> Vec<u8> {
        let Self { progress, to_post, to_credit, lanes, turn, open_ends, slots_in_use, peak_slots_in_use, .. } = self;
        let slots = (slots_in_use, peak_slots_in_use);
        codec::encode(&(progress, to_post, to_credit, lanes, turn, open_ends, slots, self.grants.state()))
    }

    /// Takes over the state of a scheduler of the same schedule, as [`Scheduler::save`] returned it.
    ///
    /// # Errors
    /// [`TransportError::Unexpected`] if `state` is not of such a scheduler.
    pub fn restore(&mut self, state: &[u8]) -> Result<(), TransportError> {
        type State =
            (Vec<Progress>, VecDeque<usize>, VecDeque<usize>, Vec<Lane>, usize, usize, (u64, u64), GrantingState);
        let decoded: Result<State, _> = codec::decode(state);
        let fits = |s: &State| s.0.len() == self.progress.len() && s.3.len() == self.lanes.len();
        let Some(state) = decoded.ok().filter(fits) else {
            return Err(self.reject("a saved state that is not of its schedule".into(), None));
        };
        (self.progress, self.to_post, self.to_credit, self.lanes, self.turn, self.open_ends, ..) = state;
        (self.slots_in_use, self.peak_slots_in_use) = state.6;
        self.grants.restore(state.7);
        Ok(())
    }

    /// The next receive to post, if there is one.
    pub fn poll_post(&mut self) -> Option<Post> {
        while let Some(&i) = self.to_post.front() {
            let hop = self.hop(i);
            let p = &mut self.progress[i];
            if let Some(incoming) = hop.incoming
                && p.posted < hop.chunks().min(p.freed + incoming.window)
            {
                let sequence = p.posted;
                p.posted += 1;
                let header = hop.header(sequence);
                let slot = incoming.slots + (sequence % incoming.window) * hop.chunk;
                let into = match incoming.sink {
                    Sink::Deliver => Region::Receive { offset: header.offset, bytes: header.bytes },
                    Sink::Forward => Region::Slot { offset: slot, bytes: header.bytes },
                };
                return Some(Post { from: incoming.from, tag: incoming.tag, header, into, slot });
            }
            self.to_post.pop_front();
        }
        None
    }

    /// The next chunk to send, if one may be sent.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.poll_transmit_to(|_| true)
    }

    /// The same of chunks for ranks that `may_send` allows: others wait for what the caller has for these ranks.
    pub fn poll_transmit_to(&mut self, may_send: impl Fn(Rank) -> bool) -> Option<Transmit> {
        let i = self.pick_by_timetable(&may_send).or_else(|| self.pick_by_turns(&may_send))?;
        let hop = self.hop(i);
        let p = &mut self.progress[i];
        let sequence = p.sent;
        p.sent += 1;
        p.queued = false;
        let header = hop.header(sequence);
        let data = match hop.incoming {
            None => Region::Send { offset: hop.source_offset + sequence * hop.chunk, bytes: header.bytes },
            Some(incoming) => {
                let offset = incoming.slots + (sequence % incoming.window) * hop.chunk;
                Region::Slot { offset, bytes: header.bytes }
            }
        };
        self.enqueue(i);
        // Only hops with an outgoing end are ever queued.
        let outgoing = hop.outgoing?;
        let remote_slot = outgoing.slots + (sequence % outgoing.window) * hop.chunk;
        Some(Transmit { to: outgoing.to, tag: outgoing.tag, header, data, remote_slot })
    }

    /// The hop whose next chunk is due by the timetable, see `timetable.rs`.
    fn pick_by_timetable(&mut self, may_send: &impl Fn(Rank) -> bool) -> Option<usize> {
        let (schedule, progress) = (self.schedule.borrow(), &self.progress);
        let hops = schedule.hops();
        let i = self.departures.turn(hops, |i| progress[i].sent)?;
        let (hop, p) = (&hops[i], &progress[i]);
        let credited = hop.outgoing.filter(|o| may_send(o.to)).map_or(0, |o| hop.unasked(o.window) + p.credited);
        if p.sent >= credited {
            return None;
        }
        let confirmed = self.confirmations.turn(hops, |i| progress[i].completed);
        let arrived = self.arrivals.turn(hops, |i| progress[i].received);
        let ends = [
            confirmed.map(|i| end_of(&hops[i], progress[i].completed)),
            arrived.map(|i| end_of(&hops[i], progress[i].received)),
        ];
        let oldest = ends.into_iter().flatten().min().unwrap_or(u64::MAX);
        (start_of(hop, p.sent)? < oldest.saturating_add(schedule.ahead())).then_some(i)
    }

    /// The hop whose next chunk is to be sent, of those that have no place in a timetable.
    fn pick_by_turns(&mut self, may_send: &impl Fn(Rank) -> bool) -> Option<usize> {
        let lanes = self.lanes.len();
        let in_turn = (self.turn..lanes).chain(0..self.turn);
        let (lane, i) = if self.classes {
            // Lanes with more urgent chunks before the others: they may share the port, whichever rank they lead to.
            let mut ranked: Vec<(u64, usize)> = in_turn.filter_map(|l| Some((self.lanes[l].class()?, l))).collect();
            ranked.sort_by_key(|&(class, _)| class);
            ranked.into_iter().find_map(|(_, lane)| Some((lane, self.pick(lane, may_send)?)))?
        } else {
            in_turn.into_iter().find_map(|lane| Some((lane, self.pick(lane, may_send)?)))?
        };
        self.turn = (lane + 1) % lanes;
        Some(i)
    }

    /// Takes the hop out of a lane whose chunk is to be sent next, if the lane has room for it and may be used.
    fn pick(&mut self, lane: usize, may_send: &impl Fn(Rank) -> bool) -> Option<usize> {
        let queue = self.lanes[lane].next(self.order);
        let &Reverse((_, i)) = queue.peek()?;
        let hop = self.hop(i);
        let bytes = hop.chunk_bytes(self.progress[i].sent);
        let outgoing = hop.outgoing?;
        let lane = &mut self.lanes[lane];
        let is_granted = hop.is_granted();
        let fits =
            if is_granted { self.grants.may_send(bytes) } else { lane.has_room(bytes, outgoing.in_flight_limit) };
        if !may_send(outgoing.to) || !fits {
            return None;
        }
        if is_granted {
            self.grants.sends(bytes);
        }
        lane.next(self.order).pop();
        lane.sent += 1;
        lane.local_turn = hop.incoming.is_some();
        lane.in_flight += bytes;
        Some(i)
    }

    /// The next credit to give, if one is due.
    pub fn poll_credit(&mut self) -> Option<Credit> {
        if let Some(i) = self.grants.poll() {
            self.progress[i].acknowledged += 1;
            self.offer(i);
            let hop = self.hop(i);
            return hop.incoming.map(|incoming| Credit { to: incoming.from, path: hop.path, chunks: 1 });
        }
        while let Some(i) = self.to_credit.pop_front() {
            let hop = self.hop(i);
            let Some(incoming) = hop.incoming else { continue };
            let p = &mut self.progress[i];
            // The sender has `window` credits from the start and needs `chunks - window` more.
            let chunks = p.freed.min(hop.chunks() - incoming.window) - p.acknowledged;
            if chunks > 0 {
                p.acknowledged += chunks;
                return Some(Credit { to: incoming.from, path: hop.path, chunks });
            }
        }
        None
    }

    /// A chunk has arrived, at the place that its [`Post`] named.
    ///
    /// # Errors
    /// [`TransportError::Unexpected`] if the schedule knows no such chunk or it comes out of order.
    pub fn handle_received(&mut self, path: PathId, sequence: u64) -> Result<(), TransportError> {
        let i = self.schedule.borrow().find(path);
        let unexpected = || self.reject(format!("the arrival of chunk {sequence} of path {path}"), i);
        let i = i.ok_or_else(unexpected)?;
        let hop = self.hop(i);
        let p = &self.progress[i];
        let incoming = hop.incoming.ok_or_else(unexpected)?;
        if sequence != p.received || sequence >= p.posted {
            return Err(unexpected());
        }
        let p = &mut self.progress[i];
        p.received += 1;
        if p.received == hop.chunks() {
            self.open_ends -= 1;
        }
        match incoming.sink {
            Sink::Deliver => self.free(i),
            Sink::Forward => {
                self.slots_in_use += hop.chunk_bytes(sequence);
                self.peak_slots_in_use = self.peak_slots_in_use.max(self.slots_in_use);
                self.enqueue(i);
            }
        }
        Ok(())
    }

    /// The memory of a chunk that was sent may be used again.
    ///
    /// # Errors
    /// [`TransportError::Unexpected`] if no such chunk was sent, or an earlier one of the path is not complete yet.
    pub fn handle_sent(&mut self, path: PathId, sequence: u64) -> Result<(), TransportError> {
        let i = self.schedule.borrow().find(path);
        let unexpected = || self.reject(format!("the completed sending of chunk {sequence} of path {path}"), i);
        let i = i.ok_or_else(unexpected)?;
        let hop = self.hop(i);
        let p = &self.progress[i];
        if hop.outgoing.is_none() || sequence != p.completed || sequence >= p.sent {
            return Err(unexpected());
        }
        let p = &mut self.progress[i];
        p.completed += 1;
        if hop.starts_at.is_none() {
            self.lanes[self.lane_of[i]].in_flight -= hop.chunk_bytes(sequence);
        }
        if hop.is_granted() {
            self.grants.confirmed(hop.chunk_bytes(sequence));
        }
        if p.completed == hop.chunks() {
            self.open_ends -= 1;
        }
        if hop.incoming.is_some() {
            self.slots_in_use -= hop.chunk_bytes(sequence);
            self.free(i);
        }
        Ok(())
    }

    /// The next rank on `path` can take `chunks` more.
    ///
    /// # Errors
    /// [`TransportError::Unexpected`] for a path that this rank does not send on, or more credits than there are
    /// chunks.
    pub fn handle_credit(&mut self, path: PathId, chunks: u64) -> Result<(), TransportError> {
        let i = self.schedule.borrow().find(path);
        let unexpected = || self.reject(format!("{chunks} credits for path {path}"), i);
        let i = i.ok_or_else(unexpected)?;
        let hop = self.hop(i);
        let outgoing = hop.outgoing.ok_or_else(unexpected)?;
        let limit =
            self.progress[i].credited.checked_add(chunks).and_then(|c| c.checked_add(hop.unasked(outgoing.window)));
        if limit.is_none_or(|l| l > hop.chunks()) {
            return Err(unexpected());
        }
        self.progress[i].credited += chunks;
        self.enqueue(i);
        Ok(())
    }

    /// Everything that this rank sends has left, everything that it receives has arrived, and all slots are free.
    pub fn is_done(&self) -> bool {
        self.open_ends == 0 && self.to_credit.is_empty()
    }

    /// The most bytes that sat in forward slots at one time.
    pub fn peak_slot_bytes(&self) -> u64 {
        self.peak_slots_in_use
    }

    /// The first thing that is still missing, in words; for messages about an exchange that does not advance.
    pub fn waiting_for(&self) -> String {
        for (hop, p) in self.schedule.borrow().hops().iter().zip(&self.progress) {
            let n = hop.chunks();
            if let Some(outgoing) = hop.outgoing
                && p.completed < n
                && p.received > p.completed
            {
                let what = if p.sent > p.completed { "to take" } else { "to have room for" };
                return format!("rank {} {what} chunk {} of {n} of path {}", outgoing.to, p.completed, hop.path);
            }
            if let Some(incoming) = hop.incoming
                && p.received < n
            {
                return format!("chunk {} of {n} of path {} from rank {}", p.received, hop.path, incoming.from);
            }
        }
        "nothing".into()
    }

    fn hop(&self, i: usize) -> Hop {
        self.schedule.borrow().hops()[i]
    }

    /// Puts a hop into its ready queue if it has a chunk and a credit for it.
    fn enqueue(&mut self, i: usize) {
        let hop = self.hop(i);
        let p = &mut self.progress[i];
        let Some(outgoing) = hop.outgoing else { return };
        if hop.starts_at.is_some()
            || p.queued
            || p.sent >= p.received
            || p.sent >= hop.unasked(outgoing.window) + p.credited
        {
            return;
        }
        p.queued = true;
        let key = key_of(&hop, p.sent);
        let lane = &mut self.lanes[self.lane_of[i]];
        let queue = if hop.incoming.is_some() { &mut lane.forward } else { &mut lane.local };
        queue.push(Reverse((key, i)));
    }

    /// The oldest slot of a receiving end is free again: post the next receive, and tell the sender in batches.
    fn free(&mut self, i: usize) {
        let hop = self.hop(i);
        let p = &mut self.progress[i];
        let Some(incoming) = hop.incoming else { return };
        p.freed += 1;
        if p.posted < hop.chunks() {
            self.to_post.push_back(i);
        }
        if hop.is_granted() {
            self.grants.received(hop.chunk_bytes(p.freed - 1));
            self.offer(i);
            return;
        }
        let needed = hop.chunks() - incoming.window;
        let due = p.freed.min(needed) - p.acknowledged;
        if due > 0 && (due >= incoming.window.div_ceil(2) || p.freed >= needed) {
            self.to_credit.push_back(i);
        }
    }

    /// Lets the next chunk of a path that ends here be granted, if it is not granted yet and has a slot.
    fn offer(&mut self, i: usize) {
        let hop = self.hop(i);
        let p = self.progress[i];
        let Some(incoming) = hop.incoming.filter(|_| hop.is_granted()) else { return };
        let granted = hop.unasked(incoming.window) + p.acknowledged;
        if granted < hop.chunks().min(p.freed + incoming.window) {
            self.grants.offer(i, &hop, (key_of(&hop, granted), hop.chunk_bytes(granted)));
        }
    }

    /// The error for an event that contradicts the schedule, after a line in the log with this rank's counters of hop `i`, if
    /// the event names a path that this rank is on.
    fn reject(&self, what: String, i: Option<usize>) -> TransportError {
        let schedule = self.schedule.borrow();
        let rank = schedule.rank();
        match i.and_then(|i| Some((schedule.hops().get(i)?, self.progress.get(i)?))) {
            Some((hop, p)) => log::warn!(
                "rank {rank} rejects {what}: of its {} chunks {} are posted, {} received, {} sent, {} completed; {} credits beside {} \
                 that need none",
                hop.chunks(),
                p.posted,
                p.received,
                p.sent,
                p.completed,
                p.credited,
                hop.outgoing.map_or(0, |o| hop.unasked(o.window)),
            ),
            None => log::warn!("rank {rank} rejects {what}: it is on {} other paths", schedule.hops().len()),
        }
        TransportError::Unexpected { rank, what }
    }
}

/// Checks the invariants at the top of the file; for tests.
#[cfg(test)]
impl<S: Borrow<Schedule>> Scheduler<S> {
    pub(crate) fn check_invariants(&self) {
        let mut queued = std::collections::BTreeMap::<usize, usize>::new();
        for (l, lane) in self.lanes.iter().enumerate() {
            let sent = |i: usize| (self.progress[i].completed..self.progress[i].sent).map(move |s| (i, s));
            let in_lane = |i: usize| self.hop(i).outgoing.is_some() && self.hop(i).starts_at.is_none();
            let mine = (0..self.progress.len()).filter(|&i| in_lane(i) && self.lane_of[i] == l);
            let sizes: Vec<u64> = mine.clone().flat_map(sent).map(|(i, s)| self.hop(i).chunk_bytes(s)).collect();
            let grants_any = mine.clone().any(|i| self.hop(i).is_granted());
            let longest = sizes.iter().copied().max().unwrap_or(0);
            assert_eq!(lane.in_flight, sizes.iter().sum::<u64>());
            for i in mine {
                let fits =
                    self.hop(i).outgoing.is_some_and(|o| lane.in_flight <= o.in_flight_limit.saturating_add(longest));
                assert!(sizes.len() <= 1 || fits || grants_any);
            }
            for Reverse((_, i)) in lane.forward.iter().chain(&lane.local) {
                *queued.entry(*i).or_default() += 1;
            }
        }
        let (mut expected, mut granted_sent) = (0, 0);
        for (i, (hop, p)) in self.schedule.borrow().hops().iter().zip(&self.progress).enumerate() {
            let n = hop.chunks();
            if hop.is_granted() {
                granted_sent += (p.completed..p.sent).map(|sequence| hop.chunk_bytes(sequence)).sum::<u64>();
            }
            if let Some(incoming) = hop.incoming.filter(|_| hop.is_granted()) {
                let may_come = p.received..hop.unasked(incoming.window) + p.acknowledged;
                expected += may_come.map(|sequence| hop.chunk_bytes(sequence)).sum::<u64>();
            }
            if let Some(incoming) = hop.incoming {
                assert!(p.freed <= p.received && p.received <= p.posted);
                assert!(p.posted <= n.min(p.freed + incoming.window));
                assert!(p.acknowledged <= n - hop.unasked(incoming.window));
                assert!(hop.unasked(incoming.window) + p.acknowledged <= p.freed + incoming.window);
            }
            if let Some(outgoing) = hop.outgoing {
                assert!(p.completed <= p.sent && p.sent <= p.received);
                let window = hop.unasked(outgoing.window);
                assert!(p.sent <= window + p.credited && window + p.credited <= n.max(window));
            }
            assert_eq!(queued.get(&i).copied().unwrap_or(0), usize::from(p.queued));
        }
        assert_eq!((expected, granted_sent), self.grants.expected_and_sent());
    }
}
