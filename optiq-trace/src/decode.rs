//! Reading a rank's trace; the format is described in `format.rs`.

use crate::error::TraceError;
use crate::format::{CALL_BYTES, CALLS, END, LEG_BYTES, MAGIC, MAX_HEAD, NONE, RECORD_BYTES, TABLE, VERSION};
use crate::ids::{NO_PEER, PathId, Rank};
use crate::rank_trace::{Leg, RankTrace, Table};
use crate::record::{Call, EventKind, Outcome, Record};
use optiq_files::input;
use std::path::Path;

/// Larger files are not read.
const MAX_FILE: u64 = 4 << 30;
/// Magic, format version and the length of the head, in bytes.
const BEGINNING: usize = 16;

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

    fn path(&mut self) -> Result<PathId, String> {
        self.u32().map(PathId)
    }

    fn rank(&mut self) -> Result<Rank, String> {
        self.u32().map(Rank)
    }

    fn optional(&mut self) -> Result<Option<u32>, String> {
        self.u32().map(|v| (v != NONE).then_some(v))
    }

    fn words(&mut self) -> Result<String, String> {
        let length = self.array().map(u16::from_le_bytes)?;
        Ok(String::from_utf8_lossy(self.take(usize::from(length))?).into_owned())
    }

    /// A number of things of at least `least` bytes each.
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

    /// What every file begins with; the length of the head that follows.
    fn beginning(&mut self) -> Result<usize, String> {
        if self.rest.is_empty() {
            return Err("it is empty, as on a disk that was full".into());
        }
        if self.take(MAGIC.len()).map_or(true, |magic| magic != MAGIC) {
            return Err("it does not begin as a trace does".into());
        }
        match self.u32()? {
            VERSION => {}
            other => return Err(format!("it has format version {other}, and {VERSION} is expected")),
        }
        let length = self.u32()? as usize;
        if length > MAX_HEAD {
            return Err(format!("its head has {length} bytes, and at most {MAX_HEAD} are expected"));
        }
        Ok(length)
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
        let bytes = input::read_checked(path, BEGINNING, io, |beginning, _| {
            let mut reader = Reader { rest: beginning, what: "the beginning" };
            let checked = reader.beginning().map(|_| MAX_FILE);
            checked.map_err(|what| TraceError::Format { path: path.to_path_buf(), what })
        })?;
        Self::parse(&bytes, path)
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
        let length = file.beginning()?;
        let mut head = Reader { rest: file.take(length)?, what: "the head" };
        let mut trace = Self {
            path: path.to_path_buf(),
            session: head.u64()?,
            rank: head.rank()?,
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
        if trace.rank.0 >= trace.ranks || trace.ranks == NONE {
            return Err(format!("its head says rank {} of {}", trace.rank, trace.ranks));
        }
        while !file.rest.is_empty() {
            if trace.complete {
                return Err(format!("{} bytes follow its end", file.rest.len()));
            }
            let mut ahead = Reader { rest: file.rest, what: "a block" };
            // A rank that was killed while it wrote, and a full disk, leave a part of a block.
            let Ok(tag) = ahead.byte() else { break };
            let Ok(length) = ahead.u32() else { break };
            if length as usize > ahead.rest.len() {
                if tag == CALLS {
                    trace.cut_block(Reader { rest: ahead.rest, what: "a block" });
                }
                break;
            }
            let body = ahead.take(length as usize)?;
            let body = Reader { rest: body, what: "a block" };
            match tag {
                TABLE => trace.table_block(body)?,
                CALLS => trace.calls_block(body)?,
                END => trace.end_block(body)?,
                other => return Err(format!("it has a block of unknown kind {other}")),
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
            let (path, source, destination) = (from.path()?, from.rank()?, from.rank()?);
            let (before, to) = (from.optional()?.map(Rank), from.optional()?.map(Rank));
            let (bytes, chunk) = (from.u64()?, from.u64()?);
            let named = [Some(source), Some(destination), before, to];
            if let Some(rank) = named.into_iter().flatten().find(|r| r.0 >= self.ranks) {
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
            let call = self.call(&mut from)?;
            self.calls.push(call);
        }
        from.what = "a list of records";
        let count = from.count(RECORD_BYTES, "records")?;
        self.records.reserve(count);
        for _ in 0..count {
            let record = self.record(&mut from)?;
            self.records.push(record);
        }
        from.end()
    }

    /// The calls and records that are whole in the beginning of their block.
    fn cut_block(&mut self, mut from: Reader<'_>) {
        for _ in 0..from.u32().unwrap_or(0) {
            match self.call(&mut from) {
                Ok(call) => self.calls.push(call),
                Err(_) => return,
            }
        }
        for _ in 0..from.u32().unwrap_or(0) {
            match self.record(&mut from) {
                Ok(record) => self.records.push(record),
                Err(_) => return,
            }
        }
    }

    /// The next call, checked against those before it and the tables.
    fn call(&self, from: &mut Reader<'_>) -> Result<Call, String> {
        let (number, table) = (from.u32()?, from.optional()?);
        let outcome = match from.byte()? {
            0 => Outcome::Planned,
            1 => Outcome::Failed,
            2 => Outcome::Plain,
            other => return Err(format!("call {number} has the unknown outcome {other}")),
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
            return Err(format!("call {number} names a table of paths that does not exist"));
        }
        let parts = [waiting, copying, forwarding, own, plain];
        let sum = parts.iter().try_fold(0u64, |a, &b| a.checked_add(b));
        if end < start || end.cast_signed() < 0 || sum != Some(end - start) {
            return Err(format!("the parts of call {number} are not its time"));
        }
        Ok(Call {
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
            sent,
            sent_bytes,
            forwarded,
            forwarded_bytes,
            delivered,
            delivered_bytes,
            dropped,
        })
    }

    /// The next record, whose rank must be one of the session.
    fn record(&self, from: &mut Reader<'_>) -> Result<Record, String> {
        let (code, cause) = (from.byte()?, from.byte()?);
        let kind = EventKind::from_code(code).ok_or_else(|| format!("a record is of unknown kind {code}"))?;
        let (call, path, peer) = (from.u32()?, from.path()?, from.rank()?);
        let (time, duration, sequence, bytes) = (from.u64()?, from.u64()?, from.u64()?, from.u64()?);
        let cause = match cause {
            0 => None,
            code => Some(
                EventKind::from_code(code)
                    .ok_or_else(|| format!("a wait was ended by an event of unknown kind {code}"))?,
            ),
        };
        if peer.0 >= self.ranks && peer != NO_PEER {
            return Err(format!("a record names rank {peer}, but there are {} ranks", self.ranks));
        }
        if time.checked_add(duration).is_none_or(|end| end.cast_signed() < 0) {
            return Err("a record lies beyond the end of time".into());
        }
        Ok(Record { time, duration, sequence, bytes, call, path, peer, kind, cause })
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
