//! Ranks as threads of one process, joined by channels; optionally paced, which emulates a network without MPI.
//!
//! # Pacing
//!
//! Each directed link `l` has a rate `c_l` and a time `f_l` from which it is free. A chunk of `b` bytes that is
//! sent at `t` over links `l_1 .. l_h` cuts through: on each link in turn it starts at `t <- max(t, f_l)`, occupies
//! the link until `f_l <- t + b / c_l`, and it is delivered at the largest `f_l` on its way. Links are thus shared
//! first come first served at chunk granularity, which is enough to show congestion; the simulator
//! (`optiq-sim`) models packets.

use crate::capabilities::{Capabilities, SendCompletion};
use crate::error::TransportError;
use crate::memory::Memory;
use crate::protocol::{Credit, Event, Post, Region, Transmit};
use crate::schedule::Schedule;
use crate::transport::Transport;
use crossbeam::channel::{Receiver, Sender, TryRecvError, unbounded};
use optiq_trace::Meter;
use optiq_trace::ids::{PathId, Rank};
use parking_lot::Mutex;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Which links a leg between two ranks occupies, and how fast they are.
pub trait LinkMap: Send + Sync {
    /// Bytes per second of each link.
    fn rates(&self) -> &[f64];
    /// Indices into [`LinkMap::rates`] of the links from one rank to another, in order; none means no delay.
    fn links(&self, from: Rank, to: Rank) -> &[u32];
}

struct Pacing {
    map: Box<dyn LinkMap>,
    /// When each link is free again, in seconds since `start`.
    free: Mutex<Vec<f64>>,
    start: Instant,
}

impl Pacing {
    /// Occupies the links of a leg and returns the time at which the last byte arrives.
    fn transmit(&self, from: Rank, to: Rank, bytes: u64) -> Instant {
        let mut free = self.free.lock();
        let mut at = self.start.elapsed().as_secs_f64();
        let mut arrival = at;
        for &link in self.map.links(from, to) {
            let link = link as usize;
            at = at.max(free[link]);
            free[link] = at + bytes as f64 / self.map.rates()[link];
            arrival = arrival.max(free[link]);
        }
        self.start + Duration::from_secs_f64(arrival)
    }
}

enum Message {
    Chunk { path: PathId, sequence: u64, data: Box<[u8]> },
    Credit { path: PathId, chunks: u64 },
}

/// A message with the time from which its receiver may see it; ordered so that the earliest is the greatest.
struct Parcel {
    due: Option<Instant>,
    /// The exchange that it belongs to: a fast rank may already be in the next one.
    exchange: u64,
    number: u64,
    message: Message,
}

impl PartialEq for Parcel {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Parcel {}
impl PartialOrd for Parcel {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Parcel {
    fn cmp(&self, other: &Self) -> Ordering {
        other.due.cmp(&self.due).then(other.number.cmp(&self.number))
    }
}

/// A chunk's number on its path, and its bytes.
type Numbered = (u64, Box<[u8]>);

/// A chunk is copied when it is sent, so there is no limit and nothing to wait for.
const CAPABILITIES: Capabilities = Capabilities {
    name: "in-process",
    largest_eager_bytes: None,
    largest_chunk_bytes: None,
    delivers_in_place: true,
    send_completion: SendCompletion::Local,
    flush_blocks: false,
    end_waits_for_all_ranks: false,
    puts_need_target_progress: None,
    drop_is_collective: false,
    largest_bytes_in_flight: None,
};

/// One rank's end of an in-process mesh.
pub struct InProcess {
    rank: Rank,
    inbox: Receiver<Parcel>,
    peers: Vec<Sender<Parcel>>,
    pacing: Option<Arc<Pacing>>,
    /// Arrived, but not due yet, or ahead of its post.
    waiting: BinaryHeap<Parcel>,
    posted: BTreeMap<PathId, VecDeque<(u64, Region)>>,
    early: BTreeMap<PathId, VecDeque<Numbered>>,
    slots: Vec<u8>,
    sent: Vec<Event>,
    meter: Meter,
    exchange: u64,
    /// Messages of exchanges that this rank has not begun.
    ahead: Vec<Parcel>,
    numbered: u64,
}

/// `ranks` ends that are joined with each other, as fast as memory.
pub fn mesh(ranks: u32) -> Vec<InProcess> {
    build(ranks, None)
}

/// `ranks` ends that are joined by links of limited rate.
pub fn paced_mesh(ranks: u32, map: Box<dyn LinkMap>) -> Vec<InProcess> {
    let free = Mutex::new(vec![0.0; map.rates().len()]);
    build(ranks, Some(Arc::new(Pacing { map, free, start: Instant::now() })))
}

fn build(ranks: u32, pacing: Option<Arc<Pacing>>) -> Vec<InProcess> {
    let (senders, inboxes): (Vec<_>, Vec<_>) = (0..ranks).map(|_| unbounded()).unzip();
    let end = |(rank, inbox)| InProcess {
        rank,
        inbox,
        peers: senders.clone(),
        pacing: pacing.clone(),
        waiting: BinaryHeap::new(),
        posted: BTreeMap::new(),
        early: BTreeMap::new(),
        slots: Vec::new(),
        sent: Vec::new(),
        meter: Meter::default(),
        exchange: 0,
        ahead: Vec::new(),
        numbered: 0,
    };
    (0..ranks).map(Rank).zip(inboxes).map(end).collect()
}

impl InProcess {
    /// This end's rank.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    fn deliver(&mut self, to: Rank, bytes: u64, message: Message) -> Result<(), TransportError> {
        let due = self.pacing.as_ref().map(|p| p.transmit(self.rank, to, bytes));
        self.numbered += 1;
        let parcel = Parcel { due, exchange: self.exchange, number: self.numbered, message };
        let peer = self.peers.get(to.index()).ok_or(TransportError::PeerGone { peer: to })?;
        peer.send(parcel).map_err(|_| TransportError::PeerGone { peer: to })
    }

    /// Copies a chunk to the place that its post named.
    fn place(
        &mut self,
        memory: &Memory<'_>,
        path: PathId,
        (sequence, into): (u64, Region),
        data: &[u8],
    ) -> Result<Event, TransportError> {
        // SAFETY: `execute` has checked the memory for this schedule, and `begin` has sized the slots for it.
        let (address, bytes) = unsafe { memory.address(into, self.slots.as_mut_ptr()) };
        if bytes != data.len() {
            let what = format!("a chunk of {} bytes instead of {bytes} on path {path}", data.len());
            log::warn!("rank {} rejects chunk {sequence}: {what}, in exchange {}", self.rank, self.exchange);
            return Err(TransportError::Unexpected { rank: self.rank, what });
        }
        // SAFETY: as above; `data` is a box of its own.
        self.meter.copy(|| unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), address, bytes) });
        Ok(Event::Received { path, sequence })
    }
}

impl Transport for InProcess {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn begin(&mut self, schedule: &Schedule) -> Result<(), TransportError> {
        self.slots.clear();
        self.slots.resize(schedule.forward_bytes() as usize, 0);
        self.exchange += 1;
        let (now, later): (Vec<Parcel>, Vec<Parcel>) = self.ahead.drain(..).partition(|p| p.exchange <= self.exchange);
        self.ahead = later;
        self.waiting = now.into();
        Ok(())
    }

    fn post(&mut self, _: &Memory<'_>, post: &Post) -> Result<(), TransportError> {
        self.posted.entry(post.header.path).or_default().push_back((post.header.sequence, post.into));
        Ok(())
    }

    fn send(&mut self, memory: &Memory<'_>, transmit: &Transmit) -> Result<(), TransportError> {
        // SAFETY: `execute` has checked the memory for this schedule, and `begin` has sized the slots for it; the
        // scheduler sends a region only while nothing is written to it.
        let data: Box<[u8]> = unsafe {
            let (address, bytes) = memory.address(transmit.data, self.slots.as_mut_ptr());
            self.meter.copy(|| std::slice::from_raw_parts(address, bytes).into())
        };
        let (path, sequence) = (transmit.header.path, transmit.header.sequence);
        self.deliver(transmit.to, transmit.header.bytes, Message::Chunk { path, sequence, data })?;
        self.sent.push(Event::Sent { path, sequence });
        Ok(())
    }

    fn credit(&mut self, credit: &Credit) -> Result<(), TransportError> {
        self.deliver(credit.to, 0, Message::Credit { path: credit.path, chunks: credit.chunks })
    }

    fn poll(&mut self, memory: &Memory<'_>, events: &mut Vec<Event>) -> Result<(), TransportError> {
        events.append(&mut self.sent);
        loop {
            match self.inbox.try_recv() {
                Ok(parcel) if parcel.exchange > self.exchange => self.ahead.push(parcel),
                Ok(parcel) => self.waiting.push(parcel),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        let now = self.pacing.as_ref().map(|_| Instant::now());
        while self.waiting.peek().is_some_and(|p| p.due <= now) {
            let Some(parcel) = self.waiting.pop() else { break };
            match parcel.message {
                Message::Credit { path, chunks } => events.push(Event::Credit { path, chunks }),
                Message::Chunk { path, sequence, data } => {
                    self.early.entry(path).or_default().push_back((sequence, data));
                }
            }
        }
        // Chunks wait here only until their receive is posted; credits keep their number below the window.
        let matched: Vec<PathId> =
            self.early.keys().copied().filter(|p| self.posted.get(p).is_some_and(|q| !q.is_empty())).collect();
        for path in matched {
            while let (Some(early), Some(posted)) = (self.early.get_mut(&path), self.posted.get_mut(&path)) {
                let (Some(&(sequence, _)), Some(&place)) = (early.front(), posted.front()) else { break };
                if sequence != place.0 {
                    let what = format!("chunk {sequence} of path {path} instead of chunk {}", place.0);
                    let (early, posted) = (early.len(), posted.len());
                    log::warn!(
                        "rank {} rejects {what}, in exchange {}: {early} chunks of the path have arrived, {posted} receives are posted",
                        self.rank,
                        self.exchange
                    );
                    return Err(TransportError::Unexpected { rank: self.rank, what });
                }
                posted.pop_front();
                let Some((_, data)) = early.pop_front() else { break };
                events.push(self.place(memory, path, place, &data)?);
            }
            if self.early.get(&path).is_some_and(VecDeque::is_empty) {
                self.early.remove(&path);
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<bool, TransportError> {
        self.posted.clear();
        Ok(true)
    }

    fn abandon(&mut self) {
        self.posted.clear();
        self.sent.clear();
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        Some(&mut self.meter)
    }
}
