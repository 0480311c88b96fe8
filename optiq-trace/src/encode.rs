//! Writing a rank's trace; the format is described in `format.rs`.

use crate::clock::Clock;
use crate::format::{CALL_BYTES, CALLS, END, LEG_BYTES, MAGIC, MAX_WORDS, NONE, RECORD_BYTES, TABLE, VERSION};
use crate::options::TraceOptions;
use crate::rank_trace::Leg;
use crate::record::{Call, Outcome, Record};

pub(crate) fn head(options: &TraceOptions, transport: &str) -> Vec<u8> {
    let Clock { wall, offset, error, .. } = options.clock;
    let mut body = Vec::new();
    body.extend(options.session.to_le_bytes());
    body.extend(options.rank.0.to_le_bytes());
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

pub(crate) fn table(number: u32, legs: &[Leg]) -> Vec<u8> {
    let mut body = Vec::with_capacity(8 + legs.len() * LEG_BYTES);
    body.extend(number.to_le_bytes());
    body.extend((legs.len() as u32).to_le_bytes());
    for leg in legs {
        let (from, to) = (leg.from.map_or(NONE, |r| r.0), leg.to.map_or(NONE, |r| r.0));
        for word in [leg.path.0, leg.source.0, leg.destination.0, from, to] {
            body.extend(word.to_le_bytes());
        }
        body.extend(leg.bytes.to_le_bytes());
        body.extend(leg.chunk.to_le_bytes());
    }
    block(TABLE, &body)
}

pub(crate) fn calls_and_records(calls: &[Call], records: &[Record]) -> Vec<u8> {
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
        for word in [r.call, r.path.0, r.peer.0] {
            body.extend(word.to_le_bytes());
        }
        for word in [r.time, r.duration, r.sequence, r.bytes] {
            body.extend(word.to_le_bytes());
        }
    }
    block(CALLS, &body)
}

pub(crate) fn end(records: u64, dropped: u64) -> Vec<u8> {
    block(END, &[records.to_le_bytes(), dropped.to_le_bytes()].concat())
}
