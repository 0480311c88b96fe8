//! One rank's ring of records, the sums of the call under way, and the file that both end in.

use super::file::{self, Leg, TraceError};
use super::{Call, Clock, EXTENSION, Kind, NOBODY, Outcome, Record};
use crate::{Credit, Event, Hop, PathId, Rank, Schedule, Transmit};
use std::cell::RefCell;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long a transport copies, and waits for other ranks inside calls; counts only while a trace asks for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    on: bool,
    copied: Duration,
    blocked: Duration,
}

impl Meter {
    /// Does a copy.
    #[inline]
    pub fn copy<R>(&mut self, copy: impl FnOnce() -> R) -> R {
        Self::timed(self.on, &mut self.copied, copy)
    }

    /// Makes a call that returns when another rank has answered.
    #[inline]
    pub fn block<R>(&mut self, call: impl FnOnce() -> R) -> R {
        Self::timed(self.on, &mut self.blocked, call)
    }

    #[inline]
    fn timed<R>(on: bool, sum: &mut Duration, work: impl FnOnce() -> R) -> R {
        if !on {
            return work();
        }
        let start = Instant::now();
        let result = work();
        *sum += start.elapsed();
        result
    }

    pub(super) fn switch_on(&mut self) {
        self.on = true;
    }

    /// Nanoseconds of copying and of waiting since this was asked last.
    pub(super) fn take(&mut self) -> (u64, u64) {
        let nanos = |sum: &mut Duration| std::mem::take(sum).as_nanos() as u64;
        (nanos(&mut self.copied), nanos(&mut self.blocked))
    }
}

/// Where a trace goes, and who writes it.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// The directory; made if it is not there.
    pub directory: PathBuf,
    /// How many records the ring holds; within [`super::EVENTS`].
    pub events: usize,
    /// The same number on all ranks of a session, and another one for each session.
    pub session: u64,
    /// This rank.
    pub rank: Rank,
    /// How many ranks there are.
    pub ranks: Rank,
    /// This rank's clock.
    pub clock: Clock,
}

/// A rank's trace; clones share it. The file is complete once the last of them is dropped.
#[derive(Clone, Debug)]
pub struct Tracer(pub(super) Rc<RefCell<Recorder>>);

impl Tracer {
    /// Begins a trace, for a transport of that name. The ring is allocated, and the file is there with its head.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the directory or the file cannot be made.
    pub fn create(options: &TraceOptions, transport: &str) -> Result<Self, TraceError> {
        Ok(Self(Rc::new(RefCell::new(Recorder::create(options, transport)?))))
    }

    /// Says what will serve the exchange that is about to begin. Without it the exchange has no words.
    pub fn open(&self, served_by: impl std::fmt::Display) {
        self.0.borrow_mut().open(served_by.to_string());
    }

    /// Does a copy outside the transport, which belongs to the exchange under way or else to the next one.
    pub fn copy<R>(&self, copy: impl FnOnce() -> R) -> R {
        self.0.borrow_mut().copy_begins();
        let result = copy();
        self.0.borrow_mut().copy_ends();
        result
    }

    /// Has plain MPI serve a call.
    pub fn plain<R>(&self, served_by: impl std::fmt::Display, serve: impl FnOnce() -> R) -> R {
        let start = self.0.borrow().clock.now();
        let result = serve();
        self.0.borrow_mut().plain(served_by.to_string(), start);
        result
    }
}

/// A ring whose oldest entry gives way.
#[derive(Debug)]
pub(super) struct Ring {
    records: Vec<Record>,
    capacity: usize,
    /// The oldest one, once the ring is full.
    oldest: usize,
}

impl Ring {
    pub(super) fn new(capacity: usize) -> Self {
        Self { records: Vec::with_capacity(capacity), capacity, oldest: 0 }
    }

    /// Adds a record; returns the one that gave way.
    #[inline]
    pub(super) fn push(&mut self, record: Record) -> Option<Record> {
        if self.records.len() < self.capacity {
            self.records.push(record);
            return None;
        }
        let gone = std::mem::replace(&mut self.records[self.oldest], record);
        self.oldest = (self.oldest + 1) % self.capacity;
        Some(gone)
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// All records, oldest first.
    pub(super) fn in_order(&mut self) -> &[Record] {
        self.records.rotate_left(self.oldest);
        self.oldest = 0;
        &self.records
    }

    fn clear(&mut self) {
        self.records.clear();
        self.oldest = 0;
    }
}

/// Whom the time since the last stamp belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Own,
    Forward,
}

/// Copies before the call that they belong to.
#[derive(Clone, Copy, Debug)]
struct Early {
    /// The start of the first one.
    from: u64,
    /// The start of the last one.
    last: u64,
    /// How long all of them took.
    copying: u64,
}

/// A call under way.
#[derive(Debug)]
struct Open {
    call: Call,
    begun: bool,
    /// All time before it is accounted for.
    mark: u64,
    class: Class,
    /// Copying since `mark` inside the transport.
    copied: u64,
    /// Since when nothing has moved.
    waiting_since: Option<u64>,
    /// When the poll under way began.
    poll_start: u64,
    /// The busy stretch under way: its start, and the two sums at that time.
    worked_from: u64,
    worked_sums: (u64, u64),
}

/// A busy stretch is recorded at least so often, so that a picture shows how it changes.
const LONGEST_STRETCH: u64 = 10_000_000;
/// So many heads of calls are kept before they are written.
const CALLS: usize = 256;

#[derive(Debug)]
pub(super) struct Recorder {
    clock: Clock,
    rank: Rank,
    ring: Ring,
    /// Calls that are over and not in the file.
    calls: Vec<Call>,
    open: Option<Open>,
    early: Option<Early>,
    next: u32,
    /// This rank's hops in the last exchange, and the number of their table.
    hops: Vec<Hop>,
    tables: u32,
    file: Option<(PathBuf, File)>,
    records: u64,
    dropped: u64,
}

impl Recorder {
    fn create(options: &TraceOptions, transport: &str) -> Result<Self, TraceError> {
        let path = options.directory.join(format!("{:016x}.{}.{EXTENSION}", options.session, options.rank));
        let io = |what, error: std::io::Error| TraceError::Io { path: path.clone(), what, error: error.to_string() };
        std::fs::create_dir_all(&options.directory).map_err(|e| io("the trace's directory cannot be made", e))?;
        let mut file = File::create(&path).map_err(|e| io("the trace cannot be written", e))?;
        file.write_all(&file::head(options, transport)).map_err(|e| io("the trace cannot be written", e))?;
        Ok(Self {
            clock: options.clock,
            rank: options.rank,
            ring: Ring::new(options.events.clamp(*super::EVENTS.start(), *super::EVENTS.end())),
            calls: Vec::with_capacity(CALLS),
            open: None,
            early: None,
            next: 0,
            hops: Vec::new(),
            tables: 0,
            file: Some((path, file)),
            records: 0,
            dropped: 0,
        })
    }

    fn number(&mut self) -> u32 {
        self.next = self.next.wrapping_add(1);
        self.next - 1
    }

    fn open(&mut self, served_by: String) {
        if self.open.is_some() {
            self.close(Outcome::Failed);
        }
        let now = self.clock.now();
        // A copy that was made for this exchange before it was opened is its first part.
        let (start, copying) = self.early.take().map_or((now, 0), |e| (e.from, e.copying));
        let number = self.number();
        let own = now - start - copying;
        let call = Call { number, start, served_by, copying, own, ..Call::default() };
        self.open = Some(Open {
            call,
            begun: false,
            mark: now,
            class: Class::Own,
            copied: 0,
            waiting_since: None,
            poll_start: now,
            worked_from: start,
            worked_sums: (0, 0),
        });
    }

    fn plain(&mut self, served_by: String, start: u64) {
        let (number, end) = (self.number(), self.clock.now());
        let outcome = Outcome::Plain;
        self.calls.push(Call { number, start, end, outcome, served_by, plain: end - start, ..Call::default() });
        self.write_if_full();
    }

    /// An exchange begins. This may allocate; no chunk is on its way at this rank.
    pub(super) fn begin(&mut self, schedule: &Schedule) {
        if self.open.as_ref().is_none_or(|o| o.begun) {
            self.open(String::new());
        }
        if self.tables == 0 || self.hops != schedule.hops() {
            self.hops.clear();
            self.hops.extend_from_slice(schedule.hops());
            self.tables += 1;
            let legs: Vec<Leg> = self.hops.iter().map(Leg::of).collect();
            let block = file::table(self.tables - 1, &legs);
            self.put(&block);
        }
        let table = self.tables - 1;
        if let Some(open) = &mut self.open {
            open.begun = true;
            open.call.table = Some(table);
        }
    }

    #[inline]
    fn push(&mut self, record: Record) {
        let Some(gone) = self.ring.push(record) else { return };
        self.dropped += 1;
        // Calls before this one were written when half of the ring was full, or their heads are still here.
        let heads = self.calls.iter_mut().rev().chain(self.open.as_mut().map(|o| &mut o.call));
        if let Some(call) = heads.into_iter().find(|c| c.number == gone.call) {
            call.dropped += 1;
        }
    }

    #[inline]
    fn hop(&self, path: PathId) -> Option<&Hop> {
        let at = self.hops.binary_search_by_key(&path, |h| h.path).ok()?;
        self.hops.get(at)
    }

    pub(super) fn sends(&mut self, transmit: &Transmit) {
        let own = transmit.header.source == self.rank;
        let now = self.clock.now();
        let Some(open) = &mut self.open else { return };
        open.account(now, if own { Class::Own } else { Class::Forward });
        let (sequence, bytes, path) = (transmit.header.sequence, transmit.header.bytes, transmit.header.path);
        let (chunks, sum) = if own {
            (&mut open.call.sent, &mut open.call.sent_bytes)
        } else {
            (&mut open.call.forwarded, &mut open.call.forwarded_bytes)
        };
        *chunks += 1;
        *sum += bytes;
        let (call, peer) = (open.call.number, transmit.to);
        self.push(Record { time: now, duration: 0, sequence, bytes, call, path, peer, kind: Kind::Sent, cause: None });
    }

    pub(super) fn credits(&mut self, credit: &Credit) {
        let Some(open) = &self.open else { return };
        // Small and frequent: not worth a reading of the clock.
        let (time, call) = (open.mark, open.call.number);
        let (path, sequence, peer) = (credit.path, credit.chunks, credit.to);
        let kind = Kind::CreditSent;
        self.push(Record { time, duration: 0, sequence, bytes: 0, call, path, peer, kind, cause: None });
    }

    /// The transport has copied for so many nanoseconds since it was asked last.
    pub(super) fn copied(&mut self, nanoseconds: u64) {
        if let Some(open) = &mut self.open {
            open.copied += nanoseconds;
        }
    }

    pub(super) fn poll_begins(&mut self) {
        let now = self.clock.now();
        let Some(open) = &mut self.open else { return };
        if open.waiting_since.is_none() {
            open.account(now, Class::Own);
        }
        open.poll_start = now;
    }

    /// What the poll returned; it has waited inside calls for `blocked` nanoseconds.
    pub(super) fn poll_ends(&mut self, events: &[Event], blocked: u64) {
        let Some(first) = events.first() else { return self.nothing_moved() };
        let now = self.clock.now();
        let ended_by = self.describe(first);
        self.something_moved(Some(ended_by));
        self.was_blocked(blocked, events);
        let of_others = |path| self.hop(path).is_some_and(|h| h.incoming.is_some() && h.outgoing.is_some());
        let forwarded = events.iter().filter(|e| of_others(path_of(e))).count() as u64;
        let Some(open) = &mut self.open else { return };
        open.share(now, forwarded, events.len() as u64);
        let call = open.call.number;
        if now - open.worked_from > LONGEST_STRETCH {
            self.worked_until(now);
        }
        for event in events {
            let record = Record { time: now, call, ..self.describe(event) };
            if record.kind == Kind::Received
                && self.hop(record.path).is_some_and(|h| h.outgoing.is_none())
                && let Some(open) = &mut self.open
            {
                open.call.delivered += 1;
                open.call.delivered_bytes += record.bytes;
            }
            self.push(record);
        }
    }

    /// What a poll waited inside calls is a wait at its beginning, for the first chunk that was confirmed.
    fn was_blocked(&mut self, duration: u64, events: &[Event]) {
        let Some(open) = &mut self.open else { return };
        let time = open.poll_start;
        if duration == 0 {
            return;
        }
        self.worked_until(time);
        let first = events.iter().find(|e| matches!(e, Event::Sent { .. })).or(events.first());
        let Some(record) = first.map(|e| self.describe(e)) else { return };
        let Some(open) = &mut self.open else { return };
        open.call.waiting += duration;
        open.mark = time + duration;
        open.worked_from = time + duration;
        let (call, cause) = (open.call.number, Some(record.kind));
        self.push(Record { time, duration, call, kind: Kind::Waited, cause, ..record });
    }

    /// The end was asked for; whether it is reached.
    pub(super) fn end_asked(&mut self, ended: bool) {
        if !ended {
            return self.nothing_moved();
        }
        self.something_moved(None);
        self.close(Outcome::Planned);
    }

    /// The exchange was given up.
    pub(super) fn abandoned(&mut self) {
        if self.open.is_some() {
            self.close(Outcome::Failed);
            // Most programs end now: better in the file than in memory.
            self.write();
        }
    }

    /// What an event says of whom, without its time.
    fn describe(&self, event: &Event) -> Record {
        let path = path_of(event);
        let hop = self.hop(path);
        let from = hop.and_then(|h| h.incoming).map_or(NOBODY, |i| i.from);
        let to = hop.and_then(|h| h.outgoing).map_or(NOBODY, |o| o.to);
        let size = |sequence| hop.filter(|h| sequence < h.chunks()).map_or(0, |h| h.chunk_bytes(sequence));
        let (kind, sequence, bytes, peer) = match *event {
            Event::Received { sequence, .. } => (Kind::Received, sequence, size(sequence), from),
            Event::Sent { sequence, .. } => (Kind::Completed, sequence, size(sequence), to),
            Event::Credit { chunks, .. } => (Kind::CreditReceived, chunks, 0, to),
        };
        Record { time: 0, duration: 0, sequence, bytes, call: 0, path, peer, kind, cause: None }
    }

    fn nothing_moved(&mut self) {
        let Some(open) = &mut self.open else { return };
        if open.waiting_since.is_none() {
            let start = open.poll_start;
            open.waiting_since = Some(start);
            self.worked_until(start);
        }
    }

    /// Ends a wait at the start of the poll that found something.
    fn something_moved(&mut self, ended_by: Option<Record>) {
        let Some(open) = &mut self.open else { return };
        let Some(since) = open.waiting_since.take() else { return };
        let until = open.poll_start;
        open.call.waiting += until - since;
        open.mark = until;
        open.worked_from = until;
        open.worked_sums = open.sums();
        let call = open.call.number;
        let nobody = Record {
            time: 0,
            duration: 0,
            sequence: 0,
            bytes: 0,
            call,
            path: 0,
            peer: NOBODY,
            kind: Kind::Waited,
            cause: None,
        };
        let cause = ended_by.map(|r| r.kind);
        let record = ended_by.unwrap_or(nobody);
        self.push(Record { time: since, duration: until - since, call, kind: Kind::Waited, cause, ..record });
    }

    fn worked_until(&mut self, until: u64) {
        let Some(open) = &mut self.open else { return };
        let (from, before, after) = (open.worked_from, open.worked_sums, open.sums());
        open.worked_from = until;
        open.worked_sums = after;
        if until > from {
            let (time, duration, call) = (from, until - from, open.call.number);
            let (sequence, bytes) = (after.0 - before.0, after.1 - before.1);
            let (kind, peer) = (Kind::Worked, NOBODY);
            self.push(Record { time, duration, sequence, bytes, call, path: 0, peer, kind, cause: None });
        }
    }

    fn close(&mut self, outcome: Outcome) {
        let now = self.clock.now();
        if let Some(open) = &mut self.open
            && open.waiting_since.is_some()
        {
            open.poll_start = now;
            self.something_moved(None);
        }
        if let Some(open) = &mut self.open {
            open.account(now, Class::Own);
        }
        self.worked_until(now);
        if let Some(open) = self.open.take() {
            self.calls.push(Call { end: now, outcome, ..open.call });
        }
        self.write_if_full();
    }

    fn copy_begins(&mut self) {
        let now = self.clock.now();
        if self.open.is_none() {
            self.early.get_or_insert(Early { from: now, last: now, copying: 0 }).last = now;
            return;
        }
        if let Some(open) = &mut self.open {
            open.poll_start = now;
        }
        self.something_moved(None);
        if let Some(open) = &mut self.open {
            open.account(now, Class::Own);
        }
    }

    fn copy_ends(&mut self) {
        let now = self.clock.now();
        if let Some(open) = &mut self.open {
            open.copied = now - open.mark;
            open.account(now, Class::Own);
        } else if let Some(early) = &mut self.early {
            early.copying += now - early.last;
        }
    }

    fn write_if_full(&mut self) {
        // Not while an exchange is under way; plain MPI may serve a call meanwhile.
        if self.open.is_some() {
            return;
        }
        if self.ring.len() * 2 >= self.ring.capacity || self.calls.len() >= CALLS {
            self.write();
        }
    }

    /// Between exchanges: everything goes to the file.
    fn write(&mut self) {
        let records = self.ring.in_order();
        self.records += records.len() as u64;
        let block = file::calls_and_records(&self.calls, records);
        self.put(&block);
        self.calls.clear();
        self.ring.clear();
    }

    fn put(&mut self, block: &[u8]) {
        let Some((path, file)) = &mut self.file else { return };
        if let Err(error) = file.write_all(block) {
            log::warn!("the trace {} ends early: {error}", path.display());
            self.file = None;
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.open.is_some() {
            self.close(Outcome::Failed);
        }
        self.write();
        let block = file::end(self.records, self.dropped);
        self.put(&block);
    }
}

impl Open {
    fn sums(&self) -> (u64, u64) {
        (self.call.forwarding, self.call.copying)
    }

    /// The time since the last stamp goes to the class that it was for; from now on it is for `next`.
    #[inline]
    fn account(&mut self, now: u64, next: Class) {
        let forwarded = u64::from(self.class == Class::Forward);
        self.share(now, forwarded, 1);
        self.class = next;
    }

    /// The time since the last stamp, less the copies in it, is forwarding for `forwarded` parts of `of`.
    #[inline]
    fn share(&mut self, now: u64, forwarded: u64, of: u64) {
        let time = now.saturating_sub(self.mark);
        // Measured with stamps of their own, inside this time.
        let copied = std::mem::take(&mut self.copied).min(time);
        let rest = time - copied;
        let forwarding = (u128::from(rest) * u128::from(forwarded) / u128::from(of)) as u64;
        self.call.copying += copied;
        self.call.forwarding += forwarding;
        self.call.own += rest - forwarding;
        self.mark = now;
        self.class = Class::Own;
    }
}

fn path_of(event: &Event) -> PathId {
    match *event {
        Event::Received { path, .. } | Event::Sent { path, .. } | Event::Credit { path, .. } => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(time: u64) -> Record {
        let (kind, cause, peer) = (Kind::Sent, None, NOBODY);
        Record { time, duration: 0, sequence: 0, bytes: 0, call: 0, path: 0, peer, kind, cause }
    }

    #[test]
    fn the_oldest_record_gives_way() {
        let mut ring = Ring::new(3);
        let gone: Vec<Option<u64>> = (0..5).map(|t| ring.push(numbered(t)).map(|r| r.time)).collect();
        assert_eq!(gone, [None, None, None, Some(0), Some(1)]);
        assert_eq!(ring.in_order().iter().map(|r| r.time).collect::<Vec<_>>(), [2, 3, 4]);
        // Read in the middle of its life, it goes on in order.
        assert_eq!(ring.push(numbered(5)).map(|r| r.time), Some(2));
        assert_eq!(ring.in_order().iter().map(|r| r.time).collect::<Vec<_>>(), [3, 4, 5]);
        ring.clear();
        assert_eq!((ring.push(numbered(6)), ring.len()), (None, 1));
    }

    #[test]
    fn a_ring_is_allocated_once() {
        let mut ring = Ring::new(100);
        let place = ring.records.as_ptr();
        for t in 0..1000 {
            ring.push(numbered(t));
        }
        assert_eq!((ring.records.as_ptr(), ring.len()), (place, 100));
    }

    #[test]
    fn time_is_shared_as_documented() {
        let mut open = Open {
            call: Call::default(),
            begun: true,
            mark: 100,
            class: Class::Own,
            copied: 0,
            waiting_since: None,
            poll_start: 0,
            worked_from: 0,
            worked_sums: (0, 0),
        };
        // 30 ns of scheduling, then a send of another's chunk for 50 ns, then an own one for 20 ns.
        open.account(130, Class::Forward);
        open.account(180, Class::Own);
        open.account(200, Class::Own);
        let sums = |o: &Open| [o.call.waiting, o.call.copying, o.call.forwarding, o.call.own];
        assert_eq!(sums(&open), [0, 0, 50, 50]);
        // A poll of 90 ns that copied for 30 and returned three events, one of them of another's chunk: 20 and 40.
        open.copied = 30;
        open.share(290, 1, 3);
        assert_eq!(sums(&open), [0, 30, 70, 90]);
        // More copying than time cannot be; the sum stays the time.
        open.copied = 1000;
        open.share(300, 0, 1);
        assert_eq!(sums(&open), [0, 40, 70, 90]);
    }
}
