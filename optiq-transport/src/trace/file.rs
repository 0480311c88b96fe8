//! A rank's trace in a file.
//!
//! ```text
//!   magic "OPTIQTRC", format version u32, length of the head u32,
//!   head:    session u64, rank u32, ranks u32, wall u64, offset i64, error u64, ring's capacity u64, transport's name
//!   blocks:  tag u8, length u32, that many bytes
//!     1  table            number u32, count u32, legs of 36 bytes
//!     2  calls, records   count u32, calls of 123 bytes and their words; count u32, records of 46 bytes
//!     3  the end          records u64, dropped records u64
//! ```
//!
//! All numbers are little-endian, and nothing but counts and lengths says how much there is, each checked against the
//! bytes that are left, so that no file makes its reader allocate more than a small multiple of its own size. A file
//! whose last block is cut off, or that has no block 3, is that of a rank that was killed: what is whole is read.

use super::{Call, Clock, Kind, Outcome, Record, TraceOptions};
use crate::{Hop, PathId, Rank};
use std::path::{Path, PathBuf};
use thiserror::Error;

const MAGIC: &[u8; 8] = b"OPTIQTRC";
const VERSION: u32 = 1;
const TABLE: u8 = 1;
const CALLS: u8 = 2;
const END: u8 = 3;
const LEG_BYTES: usize = 36;
const CALL_BYTES: usize = 123;
const RECORD_BYTES: usize = 46;
/// A head with more is none of ours.
const MAX_HEAD: usize = 4096;
/// Words of a call beyond this are cut.
const MAX_WORDS: usize = 1000;
/// Files beyond this are not read.
const MAX_FILE: u64 = 4 << 30;
const NONE: u32 = u32::MAX;

/// Why a trace cannot be written or read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// The operating system refused.
    #[error("{path}: {what}: {error}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What it said.
        error: String,
    },
    /// Not a trace, or a damaged one.
    #[error("{path} is no trace that can be read: {what}", path = path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        what: String,
    },
    /// Files that do not belong together.
    #[error("{0}")]
    Set(String),
}

/// One path at one rank: where it comes from, and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The path.
    pub path: PathId,
    /// Its source.
    pub source: Rank,
    /// Its destination.
    pub destination: Rank,
    /// The rank before this one; `None` at the source.
    pub from: Option<Rank>,
    /// The rank after this one; `None` at the destination.
    pub to: Option<Rank>,
    /// Its bytes.
    pub bytes: u64,
    /// Its chunk size in bytes.
    pub chunk: u64,
}

impl Leg {
    pub(super) fn of(hop: &Hop) -> Self {
        let Hop { path, source, destination, bytes, chunk, .. } = *hop;
        let (from, to) = (hop.incoming.map(|i| i.from), hop.outgoing.map(|o| o.to));
        Self { path, source, destination, from, to, bytes, chunk }
    }

    /// Number of chunks on the path.
    pub fn chunks(&self) -> u64 {
        self.bytes.div_ceil(self.chunk)
    }
}

/// The paths of an exchange at one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its number in the file.
    pub number: u32,
    /// The paths, ascending.
    pub legs: Vec<Leg>,
}

/// What one rank's file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankTrace {
    /// The file.
    pub path: PathBuf,
    /// The same on all ranks of a session.
    pub session: u64,
    /// Which rank.
    pub rank: Rank,
    /// How many there are.
    pub ranks: Rank,
    /// Nanoseconds since 1970 at the trace's beginning.
    pub wall: u64,
    /// To be added to a time stamp to have rank 0's.
    pub offset: i64,
    /// How wrong `offset` may be.
    pub error: u64,
    /// Records that the ring holds.
    pub capacity: u64,
    /// The transport's name.
    pub transport: String,
    /// Paths, by the numbers that calls give.
    pub tables: Vec<Table>,
    /// Calls, ascending.
    pub calls: Vec<Call>,
    /// Records, in the order in which they were made.
    pub records: Vec<Record>,
    /// Whether the rank came to its end.
    pub complete: bool,
}

impl RankTrace {
    /// The table of a call.
    pub fn table(&self, call: &Call) -> Option<&Table> {
        let number = call.table?;
        self.tables.iter().find(|t| t.number == number)
    }
}

pub(super) fn head(options: &TraceOptions, transport: &str) -> Vec<u8> {
    let Clock { wall, offset, error, .. } = options.clock;
    let mut body = Vec::new();
    body.extend(options.session.to_le_bytes());
    body.extend(options.rank.to_le_bytes());
    body.extend(options.ranks.to_le_bytes());
    body.extend(wall.to_le_bytes());
    body.extend(offset.to_le_bytes());
    body.extend(error.to_le_bytes());
    body.extend((options.events as u64).to_le_bytes());
    words(&mut body, transport);
    let mut out = MAGIC.to_vec();
    out.extend(VERSION.to_le_bytes());
    out.extend((body.len() as u32).to_le_bytes());
    out.extend(body);
    out
}

/// A length and a text, cut where it is too long.
fn words(out: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(MAX_WORDS);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    out.extend((end as u16).to_le_bytes());
    out.extend(&text.as_bytes()[..end]);
}

fn block(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    out.extend((body.len() as u32).to_le_bytes());
    out.extend(body);
    out
}

pub(super) fn table(number: u32, legs: &[Leg]) -> Vec<u8> {
    let mut body = Vec::with_capacity(8 + legs.len() * LEG_BYTES);
    body.extend(number.to_le_bytes());
    body.extend((legs.len() as u32).to_le_bytes());
    for leg in legs {
        for word in [leg.path, leg.source, leg.destination, leg.from.unwrap_or(NONE), leg.to.unwrap_or(NONE)] {
            body.extend(word.to_le_bytes());
        }
        body.extend(leg.bytes.to_le_bytes());
        body.extend(leg.chunk.to_le_bytes());
    }
    block(TABLE, &body)
}

pub(super) fn calls_and_records(calls: &[Call], records: &[Record]) -> Vec<u8> {
    let mut body = Vec::with_capacity(8 + calls.len() * (CALL_BYTES + 100) + records.len() * RECORD_BYTES);
    body.extend((calls.len() as u32).to_le_bytes());
    for c in calls {
        body.extend(c.number.to_le_bytes());
        body.extend(c.table.unwrap_or(NONE).to_le_bytes());
        body.push(match c.outcome {
            Outcome::Planned => 0,
            Outcome::Failed => 1,
            Outcome::Plain => 2,
        });
        for sum in [c.start, c.end, c.waiting, c.copying, c.forwarding, c.own, c.plain, c.sent, c.sent_bytes] {
            body.extend(sum.to_le_bytes());
        }
        for sum in [c.forwarded, c.forwarded_bytes, c.delivered, c.delivered_bytes, c.dropped] {
            body.extend(sum.to_le_bytes());
        }
        words(&mut body, &c.served_by);
    }
    body.extend((records.len() as u32).to_le_bytes());
    for r in records {
        body.push(r.kind as u8);
        body.push(r.cause.map_or(0, |k| k as u8));
        for word in [r.call, r.path, r.peer] {
            body.extend(word.to_le_bytes());
        }
        for word in [r.time, r.duration, r.sequence, r.bytes] {
            body.extend(word.to_le_bytes());
        }
    }
    block(CALLS, &body)
}

pub(super) fn end(records: u64, dropped: u64) -> Vec<u8> {
    block(END, &[records.to_le_bytes(), dropped.to_le_bytes()].concat())
}

/// What is left of a file or a block. Errors are sentences without a subject.
struct Reader<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self
            .rest
            .split_at_checked(n)
            .ok_or_else(|| format!("{} needs {n} bytes where {} are left", self.what, self.rest.len()))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let bytes = self.take(N)?;
        Ok(std::array::from_fn(|i| bytes[i]))
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.array().map(|[b]| b)
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, String> {
        self.array().map(u64::from_le_bytes)
    }

    fn optional(&mut self) -> Result<Option<u32>, String> {
        self.u32().map(|v| (v != NONE).then_some(v))
    }

    fn words(&mut self) -> Result<String, String> {
        let length = self.array().map(u16::from_le_bytes)?;
        Ok(String::from_utf8_lossy(self.take(usize::from(length))?).into_owned())
    }

    /// A number of things of at least so many bytes each.
    fn count(&mut self, least: usize, things: &str) -> Result<usize, String> {
        let n = self.u32()? as usize;
        if n > self.rest.len() / least {
            return Err(format!(
                "{} speaks of {n} {things}, which its {} bytes cannot hold",
                self.what,
                self.rest.len()
            ));
        }
        Ok(n)
    }

    fn end(&self) -> Result<(), String> {
        if self.rest.is_empty() { Ok(()) } else { Err(format!("{} has {} bytes too many", self.what, self.rest.len())) }
    }
}

impl RankTrace {
    /// Reads a file.
    ///
    /// # Errors
    /// [`TraceError::Io`]; [`TraceError::Format`] with one sentence for whatever is not a trace.
    pub fn load(path: &Path) -> Result<Self, TraceError> {
        let io = |e: std::io::Error| TraceError::Io {
            path: path.to_path_buf(),
            what: "the trace cannot be read",
            error: e.to_string(),
        };
        let size = std::fs::metadata(path).map_err(io)?.len();
        if size > MAX_FILE {
            let what = format!("it has {size} bytes; at most {MAX_FILE} are read");
            return Err(TraceError::Format { path: path.to_path_buf(), what });
        }
        Self::parse(&std::fs::read(path).map_err(io)?, path)
    }

    /// Reads the bytes of a file; `path` is for messages.
    ///
    /// # Errors
    /// [`TraceError::Format`].
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, TraceError> {
        Self::read(bytes, path).map_err(|what| TraceError::Format { path: path.to_path_buf(), what })
    }

    fn read(bytes: &[u8], path: &Path) -> Result<Self, String> {
        let mut file = Reader { rest: bytes, what: "the beginning" };
        if file.take(MAGIC.len()).map_or(true, |magic| magic != MAGIC) {
            return Err("it does not begin as a trace does".into());
        }
        match file.u32()? {
            VERSION => {}
            other => return Err(format!("it has format version {other}, and {VERSION} is expected")),
        }
        let length = file.u32()? as usize;
        if length > MAX_HEAD {
            return Err(format!("its head has {length} bytes, and at most {MAX_HEAD} are expected"));
        }
        let mut head = Reader { rest: file.take(length)?, what: "the head" };
        let mut trace = Self {
            path: path.to_path_buf(),
            session: head.u64()?,
            rank: head.u32()?,
            ranks: head.u32()?,
            wall: head.u64()?,
            offset: head.array().map(i64::from_le_bytes)?,
            error: head.u64()?,
            capacity: head.u64()?,
            transport: head.words()?,
            tables: Vec::new(),
            calls: Vec::new(),
            records: Vec::new(),
            complete: false,
        };
        head.end()?;
        if trace.rank >= trace.ranks || trace.ranks == NONE {
            return Err(format!("its head says rank {} of {}", trace.rank, trace.ranks));
        }
        while !file.rest.is_empty() {
            if trace.complete {
                return Err(format!("{} bytes follow its end", file.rest.len()));
            }
            let mut ahead = Reader { rest: file.rest, what: "a block" };
            // A rank that was killed while it wrote leaves a part of a block.
            let Ok(tag) = ahead.byte() else { break };
            let Ok(length) = ahead.u32() else { break };
            let Ok(body) = ahead.take(length as usize) else { break };
            let body = Reader { rest: body, what: "a block" };
            match tag {
                TABLE => trace.table_block(body)?,
                CALLS => trace.calls_block(body)?,
                END => trace.end_block(body)?,
                other => return Err(format!("it has a block of kind {other}, which there is not")),
            }
            file.rest = ahead.rest;
        }
        Ok(trace)
    }

    fn table_block(&mut self, mut from: Reader<'_>) -> Result<(), String> {
        from.what = "a table of paths";
        let number = from.u32()?;
        if number as usize != self.tables.len() {
            return Err(format!("table {number} comes where table {} is expected", self.tables.len()));
        }
        let count = from.count(LEG_BYTES, "paths")?;
        let mut legs: Vec<Leg> = Vec::with_capacity(count);
        for _ in 0..count {
            let (path, source, destination) = (from.u32()?, from.u32()?, from.u32()?);
            let (before, to) = (from.optional()?, from.optional()?);
            let (bytes, chunk) = (from.u64()?, from.u64()?);
            let named = [Some(source), Some(destination), before, to];
            if let Some(rank) = named.into_iter().flatten().find(|&r| r >= self.ranks) {
                return Err(format!("path {path} names rank {rank}, but there are {} ranks", self.ranks));
            }
            if chunk == 0 || bytes == 0 || legs.last().is_some_and(|l| l.path >= path) {
                return Err(format!("path {path} is empty or out of order"));
            }
            if (before.is_none() != (source == self.rank)) || (to.is_none() != (destination == self.rank)) {
                return Err(format!("path {path} begins or ends at rank {} and elsewhere", self.rank));
            }
            legs.push(Leg { path, source, destination, from: before, to, bytes, chunk });
        }
        self.tables.push(Table { number, legs });
        from.end()
    }

    fn calls_block(&mut self, mut from: Reader<'_>) -> Result<(), String> {
        from.what = "a list of calls";
        for _ in 0..from.count(CALL_BYTES, "calls")? {
            let (number, table) = (from.u32()?, from.optional()?);
            let outcome = match from.byte()? {
                0 => Outcome::Planned,
                1 => Outcome::Failed,
                2 => Outcome::Plain,
                other => return Err(format!("call {number} ended in way {other}, which there is not")),
            };
            let mut sums = [0; 14];
            for sum in &mut sums {
                *sum = from.u64()?;
            }
            let [start, end, waiting, copying, forwarding, own, plain, sent, sent_bytes, rest @ ..] = sums;
            let [forwarded, forwarded_bytes, delivered, delivered_bytes, dropped] = rest;
            let served_by = from.words()?;
            if self.calls.last().is_some_and(|c| c.number >= number) {
                return Err(format!("call {number} is out of order"));
            }
            if table.is_some_and(|t| t as usize >= self.tables.len()) {
                return Err(format!("call {number} has a table of paths that is not there"));
            }
            let parts = [waiting, copying, forwarding, own, plain];
            let sum = parts.iter().try_fold(0u64, |a, &b| a.checked_add(b));
            if end < start || end.cast_signed() < 0 || sum != Some(end - start) {
                return Err(format!("the parts of call {number} are not its time"));
            }
            let call = Call {
                number,
                start,
                end,
                outcome,
                served_by,
                table,
                waiting,
                copying,
                forwarding,
                own,
                plain,
                ..Call::default()
            };
            self.calls.push(Call {
                sent,
                sent_bytes,
                forwarded,
                forwarded_bytes,
                delivered,
                delivered_bytes,
                dropped,
                ..call
            });
        }
        from.what = "a list of records";
        let count = from.count(RECORD_BYTES, "records")?;
        self.records.reserve(count);
        for _ in 0..count {
            let (code, cause) = (from.byte()?, from.byte()?);
            let kind =
                Kind::from_code(code).ok_or_else(|| format!("a record is of kind {code}, which there is not"))?;
            let (call, path, peer) = (from.u32()?, from.u32()?, from.u32()?);
            let (time, duration, sequence, bytes) = (from.u64()?, from.u64()?, from.u64()?, from.u64()?);
            let cause = match cause {
                0 => None,
                code => Some(
                    Kind::from_code(code).ok_or_else(|| format!("a wait was ended by {code}, which there is not"))?,
                ),
            };
            if peer >= self.ranks && peer != super::NOBODY {
                return Err(format!("a record names rank {peer}, but there are {} ranks", self.ranks));
            }
            if time.checked_add(duration).is_none_or(|end| end.cast_signed() < 0) {
                return Err("a record lies beyond the end of time".into());
            }
            self.records.push(Record { time, duration, sequence, bytes, call, path, peer, kind, cause });
        }
        from.end()
    }

    fn end_block(&mut self, mut from: Reader<'_>) -> Result<(), String> {
        from.what = "the end";
        let (records, dropped) = (from.u64()?, from.u64()?);
        let (read, gone) = (self.records.len() as u64, self.calls.iter().map(|c| u128::from(c.dropped)).sum::<u128>());
        if records != read || u128::from(dropped) != gone {
            return Err(format!(
                "its end counts {records} records and {dropped} dropped ones, but it has {read} and {gone}"
            ));
        }
        self.complete = true;
        from.end()
    }
}
