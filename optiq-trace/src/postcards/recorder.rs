//! What a rank of a real run writes of marked chunks: as a program that sends them, a relay that passes them on, and a program that
//! receives them.
//!
//! Which chunk is marked and what its tag is, each rank of its path finds by itself, so that nothing more is sent: with `s` a start that
//! differs from path to path and from exchange to exchange (multiplicative hashing: D. Knuth, The Art of Computer Programming, vol. 3,
//! 6.4), the chunk that is number `i` on its path has
//!
//! ```text
//!     n = s(path, exchange) + i,      marked if N divides n,      tag = n / N mod 2^16
//! ```
//!
//! so that one in N is marked, and tags count up and begin again. Postcards wait in a ring of 2 KB. The rank empties it into its
//! file when a poll finds nothing, so when it would wait anyway, and at the end of an exchange; what does not fit replaces the oldest
//! one and is counted. A rank that is killed leaves what it has written by then.

use super::call_stack::{CallStack, MOST_FRAMES};
use super::file::EXTENSION;
use super::rank_file::{self, RankHead};
use super::record::{Component, Operation, POSTCARD_BYTES, Packet, Postcard};
use crate::error::TraceError;
use crate::ids::{PathId, Rank};
use crate::rank_trace::Leg;
use optiq_files::output::{PUBLIC, Place};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// One chunk in this many is marked by default.
pub const DEFAULT_EVERY: u32 = 100;

/// The ring of a rank, in bytes, as in the source of the method.
const RING_BYTES: usize = 2048;
const RING: usize = RING_BYTES / POSTCARD_BYTES;

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Call stacks beyond this many have the number of the first one that has none of its own.
const MOST_STACKS: usize = 4096;

/// How a rank writes postcards.
#[derive(Clone, Debug)]
pub struct RankOptions {
    /// Where its file goes; made if it is not there.
    pub directory: PathBuf,
    /// One chunk in this many is marked; the same on all ranks, at least 1.
    pub every: u32,
    /// Whose file it is.
    pub head: RankHead,
    /// Appends the return addresses of its caller, from the innermost one on.
    pub call_stack: fn(&mut Vec<u64>),
    /// The mappings of the process, as [`CallStack::new`] takes them.
    pub mappings: fn() -> String,
}

/// A marked chunk that has not left a relay.
#[derive(Clone, Copy, Debug)]
struct Held {
    arrived: u64,
    waiting_bytes: u32,
}

/// Writes a rank's postcards. The file is complete once it is dropped.
#[derive(Debug)]
pub struct RankRecorder {
    options: RankOptions,
    epoch: Instant,
    wall: u64,
    ring: VecDeque<[u8; POSTCARD_BYTES]>,
    overwritten: u64,
    file: Option<(PathBuf, File)>,
    exchange: u32,
    began: u64,
    context: u32,
    /// Numbers of call stacks, by their return addresses.
    call_stacks: HashMap<Vec<u64>, u32>,
    addresses: Vec<u64>,
    /// This rank's part of each path, ascending by path.
    legs: Vec<Leg>,
    /// Bytes of others that are here.
    stored_bytes: u64,
    held: HashMap<(PathId, u64), Held>,
    sent: u32,
    arrived: u32,
    /// What has arrived in this exchange: its number, and its source.
    received: Vec<(u32, Rank)>,
}

impl RankRecorder {
    /// Begins a rank's file.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the directory or the file cannot be made.
    pub fn create(options: RankOptions) -> Result<Self, TraceError> {
        let RankHead { session, rank, .. } = options.head;
        let path = options.directory.join(format!("{session:016x}.{rank}.{EXTENSION}"));
        let io = |what, error: std::io::Error| TraceError::Io { path: path.clone(), what, error: error.to_string() };
        std::fs::create_dir_all(&options.directory).map_err(|e| io("the directory of postcards cannot be made", e))?;
        let begun = Place::new(&path).and_then(|place| {
            let draft = place.draft(PUBLIC)?;
            draft.file().write_all(&rank_file::head(&options.head))?;
            draft.keep()
        });
        let file = begun.map_err(|e| io("postcards cannot be written", e))?;
        Ok(Self {
            options,
            epoch: Instant::now(),
            wall: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64),
            ring: VecDeque::with_capacity(RING),
            overwritten: 0,
            file: Some((path, file)),
            exchange: 0,
            began: 0,
            context: 0,
            call_stacks: HashMap::new(),
            addresses: Vec::with_capacity(MOST_FRAMES),
            legs: Vec::new(),
            stored_bytes: 0,
            held: HashMap::new(),
            sent: 0,
            arrived: 0,
            received: Vec::new(),
        })
    }

    /// Nanoseconds since 1970 by this rank's own clock, which is not set while it runs.
    fn now(&self) -> u64 {
        self.wall + self.epoch.elapsed().as_nanos() as u64
    }

    /// An exchange begins, with this rank's part of each path, ascending by path. To be called within the program's call.
    pub fn begin(&mut self, legs: impl Iterator<Item = Leg>) {
        self.exchange = self.exchange.wrapping_add(1);
        self.began = self.now();
        self.legs.clear();
        self.legs.extend(legs);
        self.stored_bytes = 0;
        self.held.clear();
        self.received.clear();
        // A rank that only relays has no program's call to name.
        if self.legs.iter().any(|leg| leg.from.is_none() || leg.to.is_none()) {
            self.context = self.number_of_call_stack();
        }
    }

    fn number_of_call_stack(&mut self) -> u32 {
        self.addresses.clear();
        (self.options.call_stack)(&mut self.addresses);
        if let Some(&number) = self.call_stacks.get(&self.addresses) {
            return number;
        }
        let number = self.call_stacks.len().min(MOST_STACKS) as u32;
        if self.call_stacks.len() <= MOST_STACKS {
            let recorder = Self::create as fn(RankOptions) -> Result<Self, TraceError> as usize as u64;
            let maps = (self.options.mappings)();
            let addresses = if self.call_stacks.len() < MOST_STACKS { &self.addresses[..] } else { &[] };
            let block = rank_file::call_stack_block(&CallStack::new(addresses, recorder, &maps));
            self.put(&block);
            self.call_stacks.insert(self.addresses.clone(), number);
        }
        number
    }

    fn leg(&self, path: PathId) -> Option<Leg> {
        let at = self.legs.binary_search_by_key(&path, |leg| leg.path).ok()?;
        self.legs.get(at).copied()
    }

    /// The tag of a chunk, if it is marked.
    fn tag(&self, path: PathId, sequence: u64) -> Option<u16> {
        let start = (u64::from(path.0) << 32 | u64::from(self.exchange)).wrapping_mul(GOLDEN) >> 16;
        let (number, every) = (start + sequence, u64::from(self.options.every.max(1)));
        number.is_multiple_of(every).then_some((number / every) as u16)
    }

    fn packet(leg: &Leg, tag: u16) -> Packet {
        Packet { source: Component(leg.source.0), destination: Component(leg.destination.0), tag }
    }

    /// The transport is about to send a chunk.
    pub fn sends(&mut self, path: PathId, sequence: u64) {
        let Some(leg @ Leg { to: Some(to), .. }) = self.leg(path) else { return };
        if leg.from.is_some() {
            self.stored_bytes = self.stored_bytes.saturating_sub(leg.chunk_bytes(sequence));
        }
        let Some(tag) = self.tag(path, sequence) else { return };
        let (left, packet, next) = (self.now(), Self::packet(&leg, tag), Component(to.0));
        let Some(from) = leg.from else {
            let (command, seen) = (self.sent, self.began);
            self.sent = self.sent.wrapping_add(1);
            let context = self.context;
            self.write(&Postcard::Issued { context, command, destination: packet.destination, at: seen });
            let operation = Operation::Data;
            let injected = Postcard::Injected { command, operation, packet, next, seen, left, last_left: left };
            return self.write(&injected);
        };
        if let Some(Held { arrived, waiting_bytes }) = self.held.remove(&(path, sequence)) {
            let previous = Component(from.0);
            self.write(&Postcard::Forwarded { packet, previous, next, arrived, left, waiting_bytes });
        }
    }

    /// A chunk has arrived.
    pub fn received(&mut self, path: PathId, sequence: u64) {
        let Some(leg @ Leg { from: Some(from), .. }) = self.leg(path) else { return };
        let tag = self.tag(path, sequence);
        if leg.to.is_some() {
            if tag.is_some() {
                let waiting_bytes = self.stored_bytes.try_into().unwrap_or(u32::MAX);
                let arrived = self.now();
                self.held.insert((path, sequence), Held { arrived, waiting_bytes });
            }
            self.stored_bytes += leg.chunk_bytes(sequence);
        } else if let Some(tag) = tag {
            let (arrived, command, packet) = (self.now(), self.arrived, Self::packet(&leg, tag));
            self.arrived = self.arrived.wrapping_add(1);
            self.received.push((command, leg.source));
            let previous = Component(from.0);
            self.write(&Postcard::Arrived { packet, previous, command, arrived, complete: arrived });
        }
    }

    /// Nothing has moved: time to empty the ring, if it is worth a write.
    pub fn idle(&mut self) {
        if self.ring.len() > RING / 2 {
            self.drain();
        }
    }

    /// The exchange is over: the program has what has arrived.
    pub fn ended(&mut self) {
        let (at, context) = (self.now(), self.context);
        for (command, source) in std::mem::take(&mut self.received) {
            if self.ring.len() == RING {
                self.drain();
            }
            self.write(&Postcard::Received { context, command, source: Component(source.0), at });
        }
        self.drain();
    }

    /// The exchange was given up: no program has received anything.
    pub fn abandoned(&mut self) {
        self.received.clear();
        self.drain();
    }

    fn write(&mut self, postcard: &Postcard) {
        if self.ring.len() == RING {
            self.ring.pop_front();
            self.overwritten += 1;
        }
        self.ring.push_back(rank_file::record(postcard));
    }

    fn drain(&mut self) {
        if self.ring.is_empty() {
            return;
        }
        let records: Vec<&[u8]> = self.ring.iter().map(|record| &record[..]).collect();
        let block = rank_file::postcards_block(self.overwritten, &records);
        self.ring.clear();
        self.put(&block);
    }

    fn put(&mut self, block: &[u8]) {
        let Some((path, file)) = &mut self.file else { return };
        if let Err(error) = file.write_all(block) {
            log::warn!("{}: postcards end here: {error}", path.display());
            self.file = None;
        }
    }
}

impl Drop for RankRecorder {
    fn drop(&mut self) {
        self.drain();
        self.put(&rank_file::end_block());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postcards::rank_file::decode_rank;

    fn recorder(folder: &std::path::Path, rank: u32, every: u32) -> RankRecorder {
        let head = RankHead { session: 0xab, rank, ranks: 3, host: "n".into() };
        let call_stack = |into: &mut Vec<u64>| into.push(0x1010);
        let mappings = || "1000-2000 r-xp 00000000 08:01 17 /bin/a\n".into();
        RankRecorder::create(RankOptions { directory: folder.into(), every, head, call_stack, mappings }).unwrap()
    }

    /// Chunks of 10 bytes from rank 0 over rank 1 to rank 2.
    fn leg(rank: u32) -> Leg {
        let (from, to) = (rank.checked_sub(1).map(Rank), (rank < 2).then_some(Rank(rank + 1)));
        let (source, destination) = (Rank(0), Rank(2));
        Leg { path: PathId(5), source, destination, from, to, bytes: 1005, chunk: 10 }
    }

    fn postcards(folder: &std::path::Path, rank: u32) -> rank_file::RankPostcards {
        let path = folder.join(format!("00000000000000ab.{rank}.postcards"));
        decode_rank(&path, &std::fs::read(&path).unwrap()).unwrap()
    }

    #[test]
    fn all_ranks_of_a_path_mark_the_same_chunks() {
        let folder = tempfile::tempdir().unwrap();
        for rank in 0..3 {
            let mut recorder = recorder(folder.path(), rank, 10);
            for _ in 0..2 {
                recorder.begin([leg(rank)].into_iter());
                for sequence in 0..leg(rank).chunks() {
                    recorder.received(PathId(5), sequence);
                    recorder.sends(PathId(5), sequence);
                }
                recorder.ended();
            }
        }
        let tags = |rank: u32, of: fn(&Postcard) -> Option<u16>| {
            let file = postcards(folder.path(), rank);
            assert!(file.is_complete && file.overwritten == 0);
            file.postcards.iter().filter_map(of).collect::<Vec<_>>()
        };
        let sent = tags(0, |p| if let Postcard::Injected { packet, .. } = p { Some(packet.tag) } else { None });
        let passed = tags(1, |p| if let Postcard::Forwarded { packet, .. } = p { Some(packet.tag) } else { None });
        let arrived = tags(2, |p| if let Postcard::Arrived { packet, .. } = p { Some(packet.tag) } else { None });
        // 101 chunks of each exchange: 10 or 11 in 10 of them.
        assert!((20..=22).contains(&sent.len()), "{sent:?}");
        assert_eq!((&passed, &arrived), (&sent, &sent));
        // Tags of one exchange count up.
        assert!(sent[..10].windows(2).all(|w| w[1] == w[0].wrapping_add(1)), "{sent:?}");
        let received = postcards(folder.path(), 2);
        let last = received.postcards.iter().filter(|p| matches!(p, Postcard::Received { .. })).count();
        assert_eq!(last, sent.len());
        assert_eq!(received.call_stacks[0].frames[0].module, "/bin/a");
        assert!(postcards(folder.path(), 1).call_stacks.is_empty(), "a relay has no call to name");
    }

    #[test]
    fn a_relay_says_what_waits_and_a_full_ring_drops_the_oldest() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = recorder(folder.path(), 1, 1);
        recorder.begin([leg(1)].into_iter());
        recorder.received(PathId(5), 0);
        recorder.received(PathId(5), 1);
        recorder.sends(PathId(5), 0);
        recorder.sends(PathId(5), 1);
        for sequence in 2..101 {
            recorder.received(PathId(5), sequence);
            recorder.sends(PathId(5), sequence);
        }
        recorder.idle();
        drop(recorder);
        let file = postcards(folder.path(), 1);
        assert_eq!((file.postcards.len(), file.overwritten), (RING, 101 - RING as u64));
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = super::tests::recorder(folder.path(), 1, 1);
        recorder.begin([leg(1)].into_iter());
        for sequence in [0, 1, 100] {
            recorder.received(PathId(5), sequence);
        }
        for sequence in [0, 1, 100] {
            recorder.sends(PathId(5), sequence);
        }
        drop(recorder);
        let waited = |p: &Postcard| if let Postcard::Forwarded { waiting_bytes, .. } = p { *waiting_bytes } else { 99 };
        assert_eq!(postcards(folder.path(), 1).postcards.iter().map(waited).collect::<Vec<_>>(), [0, 10, 20]);
    }
}
