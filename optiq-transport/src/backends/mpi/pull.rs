//! Chunks by `MPI_Rget` from the sender's window: the receiver pulls.
//!
//! A put is complete at its target only after a flush, which blocks until the target has answered. A get is complete where it was
//! called, and that of `MPI_Rget` can be tested (MPI 4.0, section 12.3.5): no call here waits for another rank. A chunk takes three
//! steps:
//!
//! ```text
//!   sender                                    receiver
//!     chunk into the window  ──exposed──►       MPI_Rget into its final place
//!     place is free again    ◄──fetched──       ... tested, and complete
//! ```
//!
//! What is sent from the caller's buffer is copied into a ring in the window; what is passed on lies in its slot there already. A chunk
//! for which the ring has no room waits. Which chunk is where travels in one word, as each (path, sequence) and place together.
//!
//! Of one rank, few chunks are fetched at a time ([`GETS_IN_FLIGHT`]), in the order in which they were announced: gets that share a link end together,
//! late, and a forwarder has nothing to pass on meanwhile, where messages arrive one after the other.
//!
//! As with puts, an emulated window needs its owner's progress: every rank stays in the progress loop, or in the final barrier, until all
//! are done; the barrier also keeps announcements of the next exchange out of this one.

use super::comm::{Communicator, byte, check};
use super::control::{Control, ControlKind, ControlRecord};
use super::convert::{LARGEST_COUNT, c_count, c_rank};
use super::ending::Ending;
use super::ffi;
use super::requests::Requests;
use super::window::Window;
use crate::capabilities::{Capabilities, SendCompletion};
use crate::constants::{GETS_IN_FLIGHT, PULL_RING_BYTES};
use crate::error::TransportError;
use crate::in_order::InOrder;
use crate::memory::Memory;
use crate::protocol::{Credit, Event, Post, Region, Transmit};
use crate::schedule::Schedule;
use crate::transport::Transport;
use optiq_trace::Meter;
use optiq_trace::ids::{PathId, Rank};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Bits of the word of an announcement that say where the chunk is; the others have its sequence.
const PLACE_BITS: u32 = 36;

/// How long chunks that are being fetched are waited for after a failure.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(1);

/// Room for chunks in order, which is given back in any order and free again in the order in which it was taken.
#[derive(Debug, Default)]
struct Ring {
    bytes: u64,
    /// Where the next chunk goes.
    head: u64,
    /// (first byte, length, whether it was given back), the oldest first.
    taken: VecDeque<(u64, u64, bool)>,
}

impl Ring {
    fn new(bytes: u64) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// The first byte of a free piece.
    fn take(&mut self, bytes: u64) -> Option<u64> {
        let tail = self.taken.front().map(|piece| piece.0);
        let at = match tail {
            None => (bytes <= self.bytes).then_some(0),
            Some(tail) if tail < self.head && self.head + bytes <= self.bytes => Some(self.head),
            Some(tail) if tail < self.head => (bytes < tail).then_some(0),
            Some(tail) => (self.head + bytes < tail).then_some(self.head),
        }?;
        self.head = at + bytes;
        self.taken.push_back((at, bytes, false));
        Some(at)
    }

    fn give_back(&mut self, at: u64) {
        if let Some(piece) = self.taken.iter_mut().find(|piece| piece.0 == at && !piece.2) {
            piece.2 = true;
        }
        while self.taken.front().is_some_and(|piece| piece.2) {
            self.taken.pop_front();
        }
    }
}

/// What is fetched from one rank.
#[derive(Debug, Default)]
struct Source {
    /// Gets that have begun.
    fetching: usize,
    /// Receives of chunks that are due, with their places, in the order in which they were announced.
    waiting: VecDeque<(Post, u64)>,
}

/// A chunk whose `MPI_Rget` has begun.
struct Fetching {
    from: Rank,
    path: PathId,
    sequence: u64,
}

/// The back end in which receivers pull (`MPI_Rget`, passive target).
pub struct Pull {
    comm: Rc<Communicator>,
    control: Control,
    window: Option<Window>,
    /// Where the ring begins in the window.
    ring_at: u64,
    ring: Ring,
    /// Chunks that wait for room in the ring.
    waiting: VecDeque<Transmit>,
    /// Where exposed chunks are in the ring.
    exposed: BTreeMap<(PathId, u64), u64>,
    /// Receives that the scheduler has posted, per path.
    posted: BTreeMap<PathId, VecDeque<Post>>,
    /// Announced and not yet due, with their places.
    announced: BTreeMap<(PathId, u64), u64>,
    sources: BTreeMap<Rank, Source>,
    fetching: Requests<Fetching>,
    due: InOrder,
    received: InOrder,
    sent: InOrder,
    meter: Meter,
    ending: Ending,
}

impl Pull {
    /// What it can do. Whether a get needs the owner's progress depends on the library and the network.
    pub const CAPABILITIES: Capabilities = Capabilities {
        name: "mpi-pull",
        largest_eager_bytes: None,
        largest_chunk_bytes: Some(if PULL_RING_BYTES < LARGEST_COUNT { PULL_RING_BYTES } else { LARGEST_COUNT }),
        delivers_in_place: true,
        send_completion: SendCompletion::Remote,
        flush_blocks: false,
        end_waits_for_all_ranks: true,
        puts_need_target_progress: Some(true),
        drop_is_collective: true,
        largest_bytes_in_flight: None,
    };

    /// On a private communicator; collective. Finds out at once whether this MPI library gives windows on it.
    ///
    /// # Errors
    /// What MPI reports, on every rank alike; then use the two-sided back end.
    pub fn new(comm: Rc<Communicator>) -> Result<Self, TransportError> {
        let window = Some(Window::first(&comm)?);
        let control = Control::new(Rc::clone(&comm))?;
        let ending = Ending::new(&comm)?;
        Ok(Self {
            comm,
            control,
            window,
            ring_at: 0,
            ring: Ring::default(),
            waiting: VecDeque::new(),
            exposed: BTreeMap::new(),
            posted: BTreeMap::new(),
            announced: BTreeMap::new(),
            sources: BTreeMap::new(),
            fetching: Requests::default(),
            due: InOrder::default(),
            received: InOrder::default(),
            sent: InOrder::default(),
            meter: Meter::default(),
            ending,
        })
    }

    fn window(&self) -> Result<&Window, TransportError> {
        let gone = || TransportError::Mpi { call: "MPI_Win_allocate", message: "no window after a failure".into() };
        self.window.as_ref().ok_or_else(gone)
    }

    fn unexpected(&self, what: String) -> TransportError {
        let rank = self.comm.rank();
        log::warn!("rank {rank} rejects {what}; receives are posted on {} paths", self.posted.len());
        TransportError::Unexpected { rank, what }
    }

    /// Puts a chunk into the window and announces it; false if there is no room.
    fn expose(&mut self, memory: &Memory<'_>, transmit: &Transmit) -> Result<bool, TransportError> {
        let (path, sequence) = (transmit.header.path, transmit.header.sequence);
        let base = self.window()?.base;
        let place = match transmit.data {
            Region::Slot { offset, .. } => offset,
            Region::Send { .. } | Region::Receive { .. } => {
                let Some(at) = self.ring.take(transmit.header.bytes) else { return Ok(false) };
                self.exposed.insert((path, sequence), at);
                let place = self.ring_at + at;
                // SAFETY: `execute` has checked the memory for this schedule; the ring lies inside the window.
                unsafe {
                    let (from, bytes) = memory.address(transmit.data, base);
                    let into = base.add(place as usize);
                    self.meter.copy(|| std::ptr::copy_nonoverlapping(from, into, bytes));
                }
                place
            }
        };
        if sequence >> (u64::BITS - PLACE_BITS) != 0 || place >> PLACE_BITS != 0 {
            return Err(
                self.unexpected(format!("chunk {sequence} of path {path} at byte {place}, beyond what is announced"))
            );
        }
        let number = sequence << PLACE_BITS | place;
        self.control.queue(transmit.to, ControlRecord { kind: ControlKind::Exposed, path, number });
        Ok(true)
    }

    /// Exposes what has waited for room, as far as there is some now.
    fn expose_waiting(&mut self, memory: &Memory<'_>) -> Result<bool, TransportError> {
        let mut any = false;
        while let Some(transmit) = self.waiting.front().copied() {
            if !self.expose(memory, &transmit)? {
                break;
            }
            self.waiting.pop_front();
            any = true;
        }
        Ok(any)
    }

    /// Begins to fetch what is due, of each rank no more at one time than it may have.
    fn fetch_due(&mut self, memory: &Memory<'_>) -> Result<(), TransportError> {
        let mut due = Vec::new();
        for source in self.sources.values_mut() {
            let free = GETS_IN_FLIGHT.saturating_sub(source.fetching).min(source.waiting.len());
            source.fetching += free;
            due.extend(source.waiting.drain(..free));
        }
        due.into_iter().try_for_each(|(post, place)| self.fetch(memory, &post, place))
    }

    /// Begins to fetch the chunk of a receive.
    fn fetch(&mut self, memory: &Memory<'_>, post: &Post, place: u64) -> Result<(), TransportError> {
        let count = c_count(&post.header)?;
        let window = self.window()?;
        // SAFETY: `execute` has checked the memory for this schedule and keeps the region untouched until the chunk is received; the
        // owner keeps the chunk in its window until it is told. The request is overwritten.
        let request = unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let (address, _) = memory.address(post.into, window.base);
            let (from, at) = (c_rank(post.from), place as ffi::MPI_Aint);
            let (into, raw) = (address.cast(), window.raw);
            let code = ffi::PMPI_Rget(into, count, byte(), from, at, count, byte(), raw, &mut request);
            check(code, "MPI_Rget")?;
            request
        };
        let (path, sequence) = (post.header.path, post.header.sequence);
        self.fetching.push(request, Fetching { from: post.from, path, sequence });
        Ok(())
    }

    fn sync(&self) -> Result<(), TransportError> {
        // SAFETY: our window. Makes what was stored visible to gets, and the other way round.
        check(unsafe { ffi::PMPI_Win_sync(self.window()?.raw) }, "MPI_Win_sync")
    }
}

impl Transport for Pull {
    fn capabilities(&self) -> Capabilities {
        Self::CAPABILITIES
    }

    fn begin(&mut self, schedule: &Schedule) -> Result<(), TransportError> {
        // The same number on every rank, so all reallocate together or none does.
        self.ring_at = schedule.largest_slot_bytes().next_multiple_of(64);
        let needed = self.ring_at + PULL_RING_BYTES;
        self.window = Some(Window::of_at_least(self.window.take(), &self.comm, needed)?);
        self.ring = Ring::new(PULL_RING_BYTES);
        self.waiting.clear();
        self.exposed.clear();
        self.posted.clear();
        self.announced.clear();
        self.sources.clear();
        for order in [&mut self.due, &mut self.received, &mut self.sent] {
            order.clear();
        }
        Ok(())
    }

    fn post(&mut self, _: &Memory<'_>, post: &Post) -> Result<(), TransportError> {
        self.posted.entry(post.header.path).or_default().push_back(*post);
        Ok(())
    }

    fn send(&mut self, memory: &Memory<'_>, transmit: &Transmit) -> Result<(), TransportError> {
        if !self.waiting.is_empty() || !self.expose(memory, transmit)? {
            self.waiting.push_back(*transmit);
        }
        Ok(())
    }

    fn credit(&mut self, credit: &Credit) -> Result<(), TransportError> {
        self.control
            .queue(credit.to, ControlRecord { kind: ControlKind::Credit, path: credit.path, number: credit.chunks });
        Ok(())
    }

    fn poll(&mut self, memory: &Memory<'_>, events: &mut Vec<Event>) -> Result<(), TransportError> {
        // Before chunks are announced that were exposed since the last poll.
        self.sync()?;
        let (mut ready, mut fetched) = (Vec::new(), Vec::new());
        let (announced, due) = (&mut self.announced, &mut self.due);
        self.control.poll(|record| match record.kind {
            ControlKind::Credit => events.push(Event::Credit { path: record.path, chunks: record.number }),
            ControlKind::Exposed => {
                let (sequence, place) = (record.number >> PLACE_BITS, record.number & ((1 << PLACE_BITS) - 1));
                announced.insert((record.path, sequence), place);
                ready.extend(due.due(record.path, sequence).map(|sequence| (record.path, sequence)));
            }
            ControlKind::Fetched => fetched.push((record.path, record.number)),
            // Of the back end that puts.
            ControlKind::Arrived => {}
        })?;
        for (path, sequence) in fetched {
            if let Some(at) = self.exposed.remove(&(path, sequence)) {
                self.ring.give_back(at);
            }
            events.extend(self.sent.due(path, sequence).map(|sequence| Event::Sent { path, sequence }));
        }
        for (path, sequence) in ready {
            // Credits allow no more than one window of chunks, and as many receives are posted.
            let post = self.posted.get_mut(&path).and_then(VecDeque::pop_front);
            let place = self.announced.remove(&(path, sequence));
            let (Some(post), Some(place)) = (post, place) else {
                return Err(self.unexpected(format!("chunk {sequence} of path {path} before its receive")));
            };
            self.sources.entry(post.from).or_default().waiting.push_back((post, place));
        }
        let (control, received, sources) = (&mut self.control, &mut self.received, &mut self.sources);
        self.fetching.test(|_, Fetching { from, path, sequence }| {
            if let Some(source) = sources.get_mut(&from) {
                source.fetching = source.fetching.saturating_sub(1);
            }
            control.queue(from, ControlRecord { kind: ControlKind::Fetched, path, number: sequence });
            events.extend(received.due(path, sequence).map(|sequence| Event::Received { path, sequence }));
            Ok(())
        })?;
        self.fetch_due(memory)?;
        self.expose_waiting(memory).map(drop)
    }

    fn end(&mut self) -> Result<bool, TransportError> {
        self.ending.advance(&mut self.control)
    }

    fn abandon(&mut self) {
        self.waiting.clear();
        // Gets cannot be cancelled (MPI 4.0, section 12.3.5), and write to the caller's receive buffer.
        let start = Instant::now();
        while !self.fetching.is_empty() && start.elapsed() < GIVEN_UP_AFTER {
            if self.fetching.test(|_, _| Ok(())).is_err() {
                break;
            }
            std::thread::yield_now();
        }
        if !self.fetching.is_empty() {
            log::error!(
                "rank {}: chunks that were given up may still be written to the receive buffer",
                self.comm.rank()
            );
            std::mem::forget(std::mem::take(&mut self.fetching));
        }
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        Some(&mut self.meter)
    }
}

impl Drop for Pull {
    fn drop(&mut self) {
        if let Some(window) = self.window.take() {
            window.free();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule_options::ScheduleOptions;

    #[test]
    fn the_default_options_are_within_its_capabilities() {
        let capabilities = Pull::CAPABILITIES;
        assert!(!capabilities.flush_blocks && capabilities.delivers_in_place && capabilities.end_waits_for_all_ranks);
        let options = ScheduleOptions::default();
        let within = options.within(&capabilities);
        assert!(within.cost.largest_chunk <= PULL_RING_BYTES);
    }

    #[test]
    fn pieces_of_a_ring_do_not_overlap_and_come_free_in_order() {
        let mut ring = Ring::new(100);
        assert_eq!([ring.take(40), ring.take(40), ring.take(40)], [Some(0), Some(40), None]);
        ring.give_back(40);
        assert_eq!(ring.take(30), None, "the oldest is still there");
        ring.give_back(0);
        assert_eq!((ring.take(101), ring.take(100)), (None, Some(0)));
        ring.give_back(0);
        let mut random = 12345u64;
        let mut held: Vec<(u64, u64)> = Vec::new();
        for _ in 0..10_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let bytes = 1 + (random >> 33) % 40;
            match ring.take(bytes) {
                Some(at) => {
                    assert!(
                        at + bytes <= 100
                            && held.iter().all(|&(other, length)| at + bytes <= other || other + length <= at)
                    );
                    held.push((at, bytes));
                }
                None => {
                    assert!(!held.is_empty(), "an empty ring has room");
                    let (at, _) = held.swap_remove((random >> 40) as usize % held.len());
                    ring.give_back(at);
                }
            }
        }
    }
}
