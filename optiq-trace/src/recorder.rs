//! One rank's recorder: the ring of records, the sums of the current call, and the file in which both end.

use crate::clock::Clock;
use crate::encode;
use crate::error::TraceError;
use crate::event::{ChunkEvent, SentChunk, SentCredit};
use crate::ids::{NO_PEER, PathId, Rank};
use crate::options::{EVENTS, EXTENSION, TraceOptions};
use crate::rank_trace::Leg;
use crate::record::{Call, EventKind, Outcome, Record};
use crate::ring::Ring;
use optiq_files::output::{PUBLIC, Place};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// What the time since the last stamp went into.
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

/// The current call.
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
    /// When the current poll began.
    poll_start: u64,
    /// The current busy stretch: its start, and the two sums at that time.
    worked_from: u64,
    worked_sums: (u64, u64),
}

/// The longest busy stretch that one record describes, in nanoseconds, so that a picture shows how it changes.
const LONGEST_STRETCH: u64 = 10_000_000;
/// The most heads of calls that are kept before they are written.
const CALLS: usize = 256;

#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) clock: Clock,
    rank: Rank,
    ring: Ring,
    /// Calls that have ended and are not in the file yet.
    calls: Vec<Call>,
    open: Option<Open>,
    early: Option<Early>,
    next: u32,
    /// This rank's part of each path of the last exchange, and how many tables of them are in the file.
    legs: Vec<Leg>,
    tables: u32,
    file: Option<(PathBuf, File)>,
    records: u64,
    dropped: u64,
}

impl Recorder {
    pub(crate) fn create(options: &TraceOptions, transport: &str) -> Result<Self, TraceError> {
        let path = options.directory.join(format!("{:016x}.{}.{EXTENSION}", options.session, options.rank));
        let io = |what, error: std::io::Error| TraceError::Io { path: path.clone(), what, error: error.to_string() };
        std::fs::create_dir_all(&options.directory).map_err(|e| io("the trace's directory cannot be made", e))?;
        // The file takes its name when its head is in it, so that a full disk leaves none rather than an empty one. All else is
        // written under that name, for whoever looks at the trace of a program that runs or was killed.
        let head = encode::head(options, transport);
        let begun = Place::new(&path).and_then(|place| {
            let draft = place.draft(PUBLIC)?;
            draft.file().write_all(&head)?;
            draft.keep()
        });
        let file = begun.map_err(|e| io("the trace cannot be written", e))?;
        Ok(Self {
            clock: options.clock,
            rank: options.rank,
            ring: Ring::new(options.events.clamp(*EVENTS.start(), *EVENTS.end())),
            calls: Vec::with_capacity(CALLS),
            open: None,
            early: None,
            next: 0,
            legs: Vec::new(),
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

    pub(crate) fn open(&mut self, served_by: String) {
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

    pub(crate) fn plain(&mut self, served_by: String, start: u64) {
        let (number, end) = (self.number(), self.clock.now());
        let outcome = Outcome::Plain;
        self.calls.push(Call { number, start, end, outcome, served_by, plain: end - start, ..Call::default() });
        self.write_if_full();
    }

    /// An exchange begins, with this rank's part of each path, ascending by path.
    pub(crate) fn begin(&mut self, legs: impl Iterator<Item = Leg> + Clone) {
        if self.open.as_ref().is_none_or(|o| o.begun) {
            self.open(String::new());
        }
        if self.tables == 0 || !self.legs.iter().copied().eq(legs.clone()) {
            self.legs.clear();
            self.legs.extend(legs);
            self.tables += 1;
            let block = encode::table(self.tables - 1, &self.legs);
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
        // Earlier calls were written when half of the ring was full, or their heads are still in `calls`.
        let heads = self.calls.iter_mut().rev().chain(self.open.as_mut().map(|o| &mut o.call));
        if let Some(call) = heads.into_iter().find(|c| c.number == gone.call) {
            call.dropped += 1;
        }
    }

    #[inline]
    fn leg(&self, path: PathId) -> Option<&Leg> {
        let at = self.legs.binary_search_by_key(&path, |l| l.path).ok()?;
        self.legs.get(at)
    }

    pub(crate) fn sends(&mut self, chunk: &SentChunk) {
        let own = chunk.source == self.rank;
        let now = self.clock.now();
        let Some(open) = &mut self.open else { return };
        open.account(now, if own { Class::Own } else { Class::Forward });
        let (sequence, bytes, path) = (chunk.sequence, chunk.bytes, chunk.path);
        let (chunks, sum) = if own {
            (&mut open.call.sent, &mut open.call.sent_bytes)
        } else {
            (&mut open.call.forwarded, &mut open.call.forwarded_bytes)
        };
        *chunks += 1;
        *sum += bytes;
        let (call, peer) = (open.call.number, chunk.to);
        self.push(Record {
            time: now,
            duration: 0,
            sequence,
            bytes,
            call,
            path,
            peer,
            kind: EventKind::Sent,
            cause: None,
        });
    }

    pub(crate) fn credits(&mut self, credit: &SentCredit) {
        let Some(open) = &self.open else { return };
        // Small and frequent: not worth a reading of the clock.
        let (time, call) = (open.mark, open.call.number);
        let (path, sequence, peer) = (credit.path, credit.chunks, credit.to);
        let kind = EventKind::CreditSent;
        self.push(Record { time, duration: 0, sequence, bytes: 0, call, path, peer, kind, cause: None });
    }

    /// The transport has copied for `nanoseconds` since the last call of this function.
    pub(crate) fn copied(&mut self, nanoseconds: u64) {
        if let Some(open) = &mut self.open {
            open.copied += nanoseconds;
        }
    }

    pub(crate) fn poll_begins(&mut self) {
        let now = self.clock.now();
        let Some(open) = &mut self.open else { return };
        if open.waiting_since.is_none() {
            open.account(now, Class::Own);
        }
        open.poll_start = now;
    }

    /// What the poll returned; it has waited inside calls for `blocked` nanoseconds.
    pub(crate) fn poll_ends(&mut self, events: impl ExactSizeIterator<Item = ChunkEvent> + Clone, blocked: u64) {
        let Some(first) = events.clone().next() else { return self.nothing_moved() };
        let now = self.clock.now();
        let ended_by = self.describe(&first);
        self.something_moved(Some(ended_by));
        self.was_blocked(blocked, events.clone());
        let of_others = |path| self.leg(path).is_some_and(|l| l.from.is_some() && l.to.is_some());
        let forwarded = events.clone().filter(|e| of_others(e.path())).count() as u64;
        let Some(open) = &mut self.open else { return };
        open.share(now, forwarded, events.len() as u64);
        let call = open.call.number;
        if now - open.worked_from > LONGEST_STRETCH {
            self.worked_until(now);
        }
        for event in events {
            let record = Record { time: now, call, ..self.describe(&event) };
            if record.kind == EventKind::Received
                && self.leg(record.path).is_some_and(|l| l.to.is_none())
                && let Some(open) = &mut self.open
            {
                open.call.delivered += 1;
                open.call.delivered_bytes += record.bytes;
            }
            self.push(record);
        }
    }

    /// What a poll waited inside calls is a wait at its beginning, for the first chunk that was confirmed.
    fn was_blocked(&mut self, duration: u64, mut events: impl Iterator<Item = ChunkEvent> + Clone) {
        let Some(open) = &mut self.open else { return };
        let time = open.poll_start;
        if duration == 0 {
            return;
        }
        self.worked_until(time);
        let first = events.clone().next();
        let first = events.find(|e| matches!(e, ChunkEvent::Sent { .. })).or(first);
        let Some(record) = first.map(|e| self.describe(&e)) else { return };
        let Some(open) = &mut self.open else { return };
        open.call.waiting += duration;
        open.mark = time + duration;
        open.worked_from = time + duration;
        let (call, cause) = (open.call.number, Some(record.kind));
        self.push(Record { time, duration, call, kind: EventKind::Waited, cause, ..record });
    }

    /// The end was asked for; whether it is reached.
    pub(crate) fn end_asked(&mut self, ended: bool) {
        if !ended {
            return self.nothing_moved();
        }
        self.something_moved(None);
        self.close(Outcome::Planned);
    }

    /// The exchange was given up.
    pub(crate) fn abandoned(&mut self) {
        if self.open.is_some() {
            self.close(Outcome::Failed);
            // Most programs end now, so the records go to the file at once.
            self.write();
        }
    }

    /// The record of an event, without its time and call.
    fn describe(&self, event: &ChunkEvent) -> Record {
        let path = event.path();
        let leg = self.leg(path);
        let from = leg.and_then(|l| l.from).unwrap_or(NO_PEER);
        let to = leg.and_then(|l| l.to).unwrap_or(NO_PEER);
        let size = |sequence| leg.filter(|l| sequence < l.chunks()).map_or(0, |l| l.chunk_bytes(sequence));
        let (kind, sequence, bytes, peer) = match *event {
            ChunkEvent::Received { sequence, .. } => (EventKind::Received, sequence, size(sequence), from),
            ChunkEvent::Sent { sequence, .. } => (EventKind::Completed, sequence, size(sequence), to),
            ChunkEvent::Credit { chunks, .. } => (EventKind::CreditReceived, chunks, 0, to),
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
        let none = Record {
            time: 0,
            duration: 0,
            sequence: 0,
            bytes: 0,
            call,
            path: PathId::default(),
            peer: NO_PEER,
            kind: EventKind::Waited,
            cause: None,
        };
        let cause = ended_by.map(|r| r.kind);
        let record = ended_by.unwrap_or(none);
        self.push(Record { time: since, duration: until - since, call, kind: EventKind::Waited, cause, ..record });
    }

    fn worked_until(&mut self, until: u64) {
        let Some(open) = &mut self.open else { return };
        let (from, before, after) = (open.worked_from, open.worked_sums, open.sums());
        open.worked_from = until;
        open.worked_sums = after;
        if until > from {
            let (time, duration, call) = (from, until - from, open.call.number);
            let (sequence, bytes) = (after.0 - before.0, after.1 - before.1);
            let (kind, peer) = (EventKind::Worked, NO_PEER);
            self.push(Record {
                time,
                duration,
                sequence,
                bytes,
                call,
                path: PathId::default(),
                peer,
                kind,
                cause: None,
            });
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

    pub(crate) fn copy_begins(&mut self) {
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

    pub(crate) fn copy_ends(&mut self) {
        let now = self.clock.now();
        if let Some(open) = &mut self.open {
            open.copied = now - open.mark;
            open.account(now, Class::Own);
        } else if let Some(early) = &mut self.early {
            early.copying += now - early.last;
        }
    }

    fn write_if_full(&mut self) {
        // Not during an exchange; plain MPI may serve a call meanwhile.
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
        let block = encode::calls_and_records(&self.calls, records);
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
        let block = encode::end(self.records, self.dropped);
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

#[cfg(test)]
mod tests {
    use super::*;

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
        // More copying than time is impossible; the sum stays the time.
        open.copied = 1000;
        open.share(300, 0, 1);
        assert_eq!(sums(&open), [0, 40, 70, 90]);
    }
}
