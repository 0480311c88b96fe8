//! The postcards of one rank of a real run, in a file that grows while the rank runs.
//!
//! ```text
//!   head   OPTIQRPC, version u32, length u32, then session, rank, ranks, processor name
//!   blocks 1  length u32: postcards written over so far u64, then postcards of 40 bytes each
//!          2  length u32: a call stack; the first one has the number 0
//!          3  length u32 = 0: the rank has ended its session
//! ```
//!
//! All numbers are little-endian. A rank that died leaves a file without the last block, which may end anywhere.

use super::call_stack::CallStack;
use super::record::{Component, Operation, POSTCARD_BYTES, Packet, Postcard};
use crate::codec;
use crate::error::TraceError;
use crate::ids::Rank;
use bincode::{Decode, Encode};
use std::path::{Path, PathBuf};

pub(super) const MAGIC: &[u8; 8] = b"OPTIQRPC";
const VERSION: u32 = 1;
/// Magic, version, length of the rest of the head.
const FIXED_HEAD: usize = 16;
const POSTCARDS: u8 = 1;
const CALL_STACK: u8 = 2;
const END: u8 = 3;

/// Whose file it is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RankHead {
    /// The same number on all ranks of a session, and another one for each session.
    pub session: u64,
    /// Which rank.
    pub rank: u32,
    /// How many ranks there are.
    pub ranks: u32,
    /// The processor that it is on.
    pub host: String,
}

/// What one rank left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankPostcards {
    /// The file.
    pub path: PathBuf,
    /// Whose it is.
    pub head: RankHead,
    /// The call stacks that postcards name in place of contexts.
    pub call_stacks: Vec<CallStack>,
    /// Postcards that were written over.
    pub overwritten: u64,
    /// The others; a component is a rank.
    pub postcards: Vec<Postcard>,
    /// Whether the rank has ended its session.
    pub is_complete: bool,
}

/// The bytes of a postcard, field by field.
struct Fields {
    bytes: [u8; POSTCARD_BYTES],
    at: usize,
}

impl Fields {
    fn new(kind: u8) -> Self {
        Self { bytes: [0; POSTCARD_BYTES], at: 0 }.put([kind])
    }

    fn put<const N: usize>(mut self, field: [u8; N]) -> Self {
        self.bytes[self.at..self.at + N].copy_from_slice(&field);
        self.at += N;
        self
    }

    fn words(self, words: &[u32]) -> Self {
        words.iter().fold(self, |fields, word| fields.put(word.to_le_bytes()))
    }

    fn times(self, times: &[u64]) -> Self {
        times.iter().fold(self, |fields, time| fields.put(time.to_le_bytes()))
    }
}

pub(super) fn head(head: &RankHead) -> Vec<u8> {
    let body = codec::encode(head);
    [&MAGIC[..], &VERSION.to_le_bytes(), &(body.len() as u32).to_le_bytes(), &body].concat()
}

fn block(kind: u8, body: &[&[u8]]) -> Vec<u8> {
    let length: usize = body.iter().map(|part| part.len()).sum();
    let mut out = Vec::with_capacity(5 + length);
    out.push(kind);
    out.extend((length as u32).to_le_bytes());
    body.iter().for_each(|part| out.extend_from_slice(part));
    out
}

pub(super) fn postcards_block(overwritten: u64, records: &[&[u8]]) -> Vec<u8> {
    let count = overwritten.to_le_bytes();
    let parts: Vec<&[u8]> = std::iter::once(&count[..]).chain(records.iter().copied()).collect();
    block(POSTCARDS, &parts)
}

pub(super) fn call_stack_block(stack: &CallStack) -> Vec<u8> {
    block(CALL_STACK, &[&codec::encode(stack)])
}

pub(super) fn end_block() -> Vec<u8> {
    block(END, &[])
}

/// A postcard's bytes. What a rank injects is data, and from itself.
pub(super) fn record(postcard: &Postcard) -> [u8; POSTCARD_BYTES] {
    let fields = match *postcard {
        Postcard::Issued { context, command, destination, at } => {
            Fields::new(0).words(&[context, command, destination.0]).times(&[at])
        }
        Postcard::Injected { command, packet, next, seen, left, last_left, .. } => Fields::new(1)
            .words(&[command, packet.destination.0, next.0])
            .put(packet.tag.to_le_bytes())
            .times(&[seen, left, last_left]),
        Postcard::Forwarded { packet, previous, next, arrived, left, waiting_bytes } => Fields::new(2)
            .words(&[packet.source.0, packet.destination.0, previous.0, next.0, waiting_bytes])
            .put(packet.tag.to_le_bytes())
            .times(&[arrived, left]),
        Postcard::Arrived { packet, previous, command, arrived, complete } => Fields::new(3)
            .words(&[packet.source.0, previous.0, command])
            .put(packet.tag.to_le_bytes())
            .times(&[arrived, complete]),
        Postcard::Received { context, command, source, at } => {
            Fields::new(4).words(&[context, command, source.0]).times(&[at])
        }
    };
    fields.bytes
}

/// Reads what [`Fields`] has put; fields behind the end are 0.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut field = [0; N];
        if let Some((first, rest)) = self.0.split_at_checked(N) {
            field.copy_from_slice(first);
            self.0 = rest;
        }
        field
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn component(&mut self) -> Component {
        Component(self.word())
    }

    fn tag(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    fn time(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

/// The postcard of these bytes at rank `me`; `None` if there is no such kind.
fn postcard(bytes: &[u8], me: Component) -> Option<Postcard> {
    let mut from = Reader(bytes);
    let [kind] = from.take();
    Some(match kind {
        0 => Postcard::Issued {
            context: from.word(),
            command: from.word(),
            destination: from.component(),
            at: from.time(),
        },
        1 => {
            let (command, destination, next, tag) = (from.word(), from.component(), from.component(), from.tag());
            let packet = Packet { source: me, destination, tag };
            let (seen, left, last_left) = (from.time(), from.time(), from.time());
            Postcard::Injected { command, operation: Operation::Data, packet, next, seen, left, last_left }
        }
        2 => {
            let (source, destination, previous, next) =
                (from.component(), from.component(), from.component(), from.component());
            let (waiting_bytes, tag) = (from.word(), from.tag());
            let packet = Packet { source, destination, tag };
            Postcard::Forwarded { packet, previous, next, arrived: from.time(), left: from.time(), waiting_bytes }
        }
        3 => {
            let (source, previous, command, tag) = (from.component(), from.component(), from.word(), from.tag());
            let packet = Packet { source, destination: me, tag };
            Postcard::Arrived { packet, previous, command, arrived: from.time(), complete: from.time() }
        }
        4 => {
            Postcard::Received { context: from.word(), command: from.word(), source: from.component(), at: from.time() }
        }
        _ => return None,
    })
}

/// Whether these are the first bytes of a rank's file.
pub(super) fn is_rank_file(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// What a rank's file has; a file that is cut off behind its head is what there is of it.
///
/// # Errors
/// [`TraceError::Format`] if it is no such file, or names what there is not.
pub fn decode_rank(path: &Path, bytes: &[u8]) -> Result<RankPostcards, TraceError> {
    let wrong = |what: String| TraceError::Format { path: path.into(), what };
    let (fixed, rest) = bytes
        .split_at_checked(FIXED_HEAD)
        .ok_or_else(|| wrong(format!("found {} bytes; a head of {FIXED_HEAD} is expected", bytes.len())))?;
    let mut fixed = Reader(fixed);
    if &fixed.take::<8>() != MAGIC {
        return Err(wrong("it does not begin with \"OPTIQRPC\"".into()));
    }
    let (version, length) = (fixed.word(), fixed.word() as usize);
    if version != VERSION {
        return Err(wrong(format!("found version {version}; version {VERSION} is expected")));
    }
    let (body, rest) = rest.split_at_checked(length).ok_or_else(|| wrong("it is cut off in its head".into()))?;
    let head: RankHead = codec::decode(body).map_err(|e| wrong(format!("its head is damaged: {e}")))?;
    if head.rank >= head.ranks {
        return Err(wrong(format!("it is of rank {} of {}", head.rank, head.ranks)));
    }
    let mut file = RankPostcards {
        path: path.into(),
        head,
        call_stacks: Vec::new(),
        overwritten: 0,
        postcards: Vec::new(),
        is_complete: false,
    };
    file.blocks(rest).map_err(wrong)?;
    file.check().map_err(wrong)?;
    Ok(file)
}

impl RankPostcards {
    fn blocks(&mut self, mut rest: &[u8]) -> Result<(), String> {
        while let Some((head, behind)) = rest.split_at_checked(5) {
            let mut fixed = Reader(head);
            let [kind] = fixed.take();
            let length = fixed.word() as usize;
            let is_cut = behind.len() < length;
            let (body, behind) = behind.split_at(length.min(behind.len()));
            rest = behind;
            match kind {
                POSTCARDS => self.add_postcards(body)?,
                CALL_STACK if is_cut => {}
                CALL_STACK => {
                    self.call_stacks.push(codec::decode(body).map_err(|e| format!("a call stack is damaged: {e}"))?);
                }
                END => self.is_complete = true,
                kind => return Err(format!("found a block of kind {kind}; 1 to 3 are expected")),
            }
        }
        Ok(())
    }

    fn add_postcards(&mut self, body: &[u8]) -> Result<(), String> {
        let Some((count, records)) = body.split_at_checked(8) else { return Ok(()) };
        self.overwritten = Reader(count).time();
        // What is cut off is less than a whole one.
        for record in records.chunks_exact(POSTCARD_BYTES) {
            let kind = record.first().copied().unwrap_or_default();
            let postcard = postcard(record, Component(self.head.rank));
            self.postcards
                .push(postcard.ok_or_else(|| format!("found a postcard of kind {kind}; 0 to 4 are expected"))?);
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        for (postcard, number) in self.postcards.iter().zip(1..) {
            let ranks = self.head.ranks;
            if let Some(rank) = postcard.components().into_iter().flatten().find(|c| c.0 >= ranks) {
                return Err(format!("postcard {number} names rank {} of {ranks}", Rank(rank.0)));
            }
            if postcard.context().is_some_and(|context| context as usize >= self.call_stacks.len()) {
                return Err(format!("postcard {number} names a call stack that there is not"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind, with different numbers everywhere.
    fn all() -> Vec<Postcard> {
        let (me, other, third) = (Component(2), Component(0), Component(1));
        let packet = |source, destination| Packet { source, destination, tag: 0xfeed };
        vec![
            Postcard::Issued { context: 0, command: 5, destination: other, at: 1 << 60 },
            Postcard::Injected {
                command: 6,
                operation: Operation::Data,
                packet: packet(me, other),
                next: third,
                seen: 7,
                left: 8,
                last_left: 9,
            },
            Postcard::Forwarded {
                packet: packet(other, third),
                previous: other,
                next: third,
                arrived: 10,
                left: 11,
                waiting_bytes: u32::MAX,
            },
            Postcard::Arrived { packet: packet(other, me), previous: third, command: 12, arrived: 13, complete: 14 },
            Postcard::Received { context: 0, command: 15, source: other, at: 16 },
        ]
    }

    fn bytes() -> Vec<u8> {
        let of_rank = RankHead { session: 9, rank: 2, ranks: 3, host: "n1".into() };
        let records: Vec<_> = all().iter().map(record).collect();
        let records: Vec<&[u8]> = records.iter().map(|r| &r[..]).collect();
        let stack = call_stack_block(&CallStack::default());
        [head(&of_rank), stack, postcards_block(0, &records[..2]), postcards_block(4, &records[2..]), end_block()]
            .concat()
    }

    fn refused(bytes: &[u8], why: &str) {
        let error = decode_rank(Path::new("f"), bytes).unwrap_err().to_string();
        assert!(error.starts_with("f is no trace that can be read: ") && error.contains(why), "{error}: {why}");
    }

    #[test]
    fn what_is_written_is_read() {
        let file = decode_rank(Path::new("f"), &bytes()).unwrap();
        assert_eq!((file.postcards, file.overwritten, file.is_complete), (all(), 4, true));
        assert_eq!((file.head.host.as_str(), file.call_stacks.len()), ("n1", 1));
    }

    #[test]
    fn a_file_that_is_cut_off_has_what_there_is_of_it() {
        let (bytes, start) = (bytes(), head(&RankHead { session: 9, rank: 2, ranks: 3, host: "n1".into() }).len());
        let stack = start + call_stack_block(&CallStack::default()).len();
        for end in start..bytes.len() {
            let file = decode_rank(Path::new("f"), &bytes[..end]);
            // The block of call stacks is there before any postcard that names it.
            let file = file.unwrap();
            assert!(!file.is_complete && all().starts_with(&file.postcards), "{end}");
            assert_eq!(file.call_stacks.len(), usize::from(end >= stack), "{end}");
        }
        for end in 0..start {
            refused(&bytes[..end], "");
        }
    }

    #[test]
    fn what_is_no_rank_file_is_refused() {
        refused(b"OPTIQRPC", "found 8 bytes; a head of 16 is expected");
        refused(b"OPTIQPCD\x01\0\0\0\0\0\0\0", "does not begin with \"OPTIQRPC\"");
        refused(b"OPTIQRPC\x09\0\0\0\0\0\0\0", "found version 9; version 1 is expected");
        let start = head(&RankHead { session: 9, rank: 0, ranks: 1, host: String::new() });
        refused(&[&start[..], &[7, 0, 0, 0, 0]].concat(), "found a block of kind 7; 1 to 3 are expected");
        let kind = [&[9u8][..], &[0; 39]].concat();
        refused(&[start.clone(), postcards_block(0, &[&kind])].concat(), "found a postcard of kind 9");
        let other = record(&all()[4]);
        let stack = call_stack_block(&CallStack::default());
        refused(&[start.clone(), postcards_block(0, &[&other])].concat(), "names a call stack that there is not");
        let far = record(&all()[2]);
        refused(&[start, stack, postcards_block(0, &[&far])].concat(), "postcard 1 names rank 1 of 1");
        refused(&head(&RankHead { session: 9, rank: 3, ranks: 3, host: String::new() }), "it is of rank 3 of 3");
    }
}
