//! A run as a Perfetto trace, for <https://ui.perfetto.dev>. It takes few messages, so no protocol-buffer library is needed.
//!
//! Field numbers are those of Perfetto's `.proto` files, in `protos/perfetto/trace/` of its repository:
//!
//! ```text
//!   trace.proto                           Trace             packet = 1
//!   trace_packet.proto                    TracePacket       timestamp = 8, trusted_packet_sequence_id = 10,
//!                                                           track_event = 11, sequence_flags = 13,
//!                                                           track_descriptor = 60
//!   track_event/track_descriptor.proto    TrackDescriptor   uuid = 1, name = 2, process = 3, parent_uuid = 5
//!   track_event/process_descriptor.proto  ProcessDescriptor pid = 1, process_name = 6
//!   track_event/track_event.proto         TrackEvent        debug_annotations = 4, type = 9, track_uuid = 11,
//!                                                           categories = 22, name = 23, flow_ids = 47,
//!                                                           terminating_flow_ids = 48
//!                                         Type              SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3
//!   track_event/debug_annotation.proto    DebugAnnotation   uint_value = 3, string_value = 6, name = 10
//! ```
//!
//! A rank is a process. Its tracks: calls; progress (waiting, working); and as many chunk tracks as it had chunks at one
//! time, since slices of a track must nest. A chunk is one slice at each rank: at its source and at forwarders from its
//! arrival until its memory is free, at its destination an instant. One flow joins them, so that a click on any of them
//! shows the whole path.

use crate::ids::{PathId, Rank};
use crate::merge::Run;
use crate::protobuf::Message;
use crate::record::{EventKind, Outcome};
use crate::summary::{Journey, Step, Stretch};
use std::collections::BTreeMap;
use std::io::{self, Write};

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
/// `TracePacket.SequenceFlags.SEQ_INCREMENTAL_STATE_CLEARED`: nothing before this packet is referred to.
const STATE_CLEARED: u64 = 1;

/// Writes packets: tracks at once, events at the end, sorted by their time.
pub(crate) struct Packets<W> {
    out: W,
    events: Vec<(u64, u8, Message)>,
    flagged: bool,
}

impl<W: Write> Packets<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, events: Vec::new(), flagged: false }
    }

    fn packet(&mut self, message: Message) -> io::Result<()> {
        let mut message = message.number(10, 1);
        if !std::mem::replace(&mut self.flagged, true) {
            message = message.number(13, STATE_CLEARED);
        }
        self.out.write_all(&Message::default().message(1, message).0)
    }

    pub(crate) fn track(&mut self, uuid: u64, parent: Option<u64>, name: &str, process: Option<u64>) -> io::Result<()> {
        let mut track = Message::default().number(1, uuid).words(2, name);
        if let Some(pid) = process {
            track = track.message(3, Message::default().number(1, pid).words(6, name));
        }
        if let Some(parent) = parent {
            track = track.number(5, parent);
        }
        self.packet(Message::default().message(60, track))
    }

    /// An event of its own or the beginning of a slice, which ends `duration` later.
    pub(crate) fn event(&mut self, track: u64, start: u64, duration: Option<u64>, event: Message) {
        let what = if duration.is_some() { SLICE_BEGIN } else { INSTANT };
        // What ends comes before what begins at the same time, or slices of a track would overlap.
        self.events.push((start, 1, event.number(9, what).number(11, track)));
        if let Some(duration) = duration {
            let end = Message::default().number(9, SLICE_END).number(11, track);
            self.events.push((start.saturating_add(duration.max(1)), 0, end));
        }
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        let mut events = std::mem::take(&mut self.events);
        events.sort_by_key(|e| (e.0, e.1));
        for (time, _, event) in events {
            self.packet(Message::default().number(8, time).message(11, event))?;
        }
        Ok(())
    }
}

pub(crate) fn named(name: &str, category: &str) -> Message {
    Message::default().words(22, category).words(23, name)
}

pub(crate) fn number(event: Message, name: &str, value: u64) -> Message {
    event.message(4, Message::default().words(10, name).number(3, value))
}

pub(crate) fn words(event: Message, name: &str, value: &str) -> Message {
    event.message(4, Message::default().words(10, name).words(6, value))
}

/// One step of a flow: the last one ends it, so that its number may come again.
pub(crate) fn flow(event: Message, number: u64, is_last: bool) -> Message {
    event.fixed(if is_last { 48 } else { 47 }, number)
}

/// As many tracks as slices need so that those of a track do not overlap.
#[derive(Default)]
pub(crate) struct Lanes(Vec<u64>);

impl Lanes {
    /// The first track that is free from `start` to `end`, given in the order of `start`, and whether it is a new one.
    pub(crate) fn place(&mut self, start: u64, end: u64) -> (usize, bool) {
        let free = self.0.iter().position(|&free| free <= start);
        let lane = free.unwrap_or(self.0.len());
        if free.is_none() {
            self.0.push(0);
        }
        self.0[lane] = end.max(start + 1);
        (lane, free.is_none())
    }
}

/// Writes a Perfetto trace of a run, or of one call of it, to `out`. It writes many small pieces: pass a buffered writer.
///
/// # Errors
/// What `out` reports.
pub fn write(run: &Run, only: Option<u32>, out: impl Write) -> io::Result<()> {
    let mut packets = Packets::new(out);
    // Each rank has 2^32 numbers for its tracks: 1 itself, 2 calls, 3 progress, from 16 on chunks.
    let uuid = |rank: Rank, track: u64| (u64::from(rank.0) + 1) << 32 | track;
    for file in run.files() {
        let rank = file.rank;
        packets.track(uuid(rank, 1), None, &format!("rank {rank}"), Some(u64::from(rank.0) + 1))?;
        packets.track(uuid(rank, 2), Some(uuid(rank, 1)), "calls", None)?;
        packets.track(uuid(rank, 3), Some(uuid(rank, 1)), "progress", None)?;
        for c in file.calls.iter().filter(|c| only.is_none_or(|n| n == c.number)) {
            let failed = if c.outcome == Outcome::Failed { ", failed" } else { "" };
            let event = words(named(&format!("call {}{failed}", c.number), "call"), "served by", &c.served_by);
            let event = number(number(event, "bytes sent", c.sent_bytes), "bytes forwarded", c.forwarded_bytes);
            packets.event(uuid(rank, 2), run.at(file, c.start), Some(c.end - c.start), event);
        }
    }
    // An empty slice would swallow the next one.
    for s in run.stretches(only).into_iter().filter(|s| s.duration > 0) {
        let (name, category) = name_of(&s);
        let mut event = named(&name, category);
        if category == "working" {
            event = number(number(event, "forwarding ns", s.forwarding), "copying ns", s.copying);
        }
        packets.event(uuid(s.rank, 3), s.start, Some(s.duration), event);
    }
    chunks(run, only, uuid, &mut packets)?;
    packets.finish()
}

fn name_of(s: &Stretch) -> (String, &'static str) {
    if s.plain > 0 {
        return ("MPI_Alltoallv".into(), "plain");
    }
    if s.waiting == 0 {
        return ("working".into(), "working");
    }
    let name = match s.cause {
        Some((EventKind::Received, peer)) => format!("waiting for a chunk from rank {peer}"),
        Some((EventKind::Completed, peer)) => format!("waiting for rank {peer} to take a chunk"),
        Some((EventKind::CreditReceived, peer)) => format!("waiting for room at rank {peer}"),
        _ => "waiting for the end".into(),
    };
    (name, "waiting")
}

/// One slice per chunk and rank, in as many tracks as are needed for slices not to overlap.
fn chunks<W: Write>(
    run: &Run,
    only: Option<u32>,
    uuid: impl Fn(Rank, u64) -> u64,
    packets: &mut Packets<W>,
) -> io::Result<()> {
    let journeys = run.journeys(only);
    // Per rank: when each slice begins and ends, and of which chunk and step it is.
    let mut slices: BTreeMap<Rank, Vec<(u64, u64, usize, usize)>> = BTreeMap::new();
    let all: Vec<_> = journeys.iter().collect();
    for (at, (_, journey)) in all.iter().enumerate() {
        for (i, step) in journey.steps.iter().enumerate() {
            let Some((start, end)) = extent(step) else { continue };
            slices.entry(step.rank).or_default().push((start, end, at, i));
        }
    }
    for (rank, mut slices) in slices {
        slices.sort_unstable();
        let mut lanes = Lanes::default();
        for (start, end, at, i) in slices {
            let (key, journey) = all[at];
            let (lane, is_new) = lanes.place(start, end);
            if is_new {
                let name = if lane == 0 { "chunks".to_string() } else { format!("chunks {}", lane + 1) };
                packets.track(uuid(rank, 16 + lane as u64), Some(uuid(rank, 1)), &name, None)?;
            }
            let step = &journey.steps[i];
            let arrived = step.sent.is_none() && step.completed.is_none();
            let event = named(&title(journey, i, key.path, key.sequence), "chunk");
            let event = number(number(event, "call", u64::from(key.call)), "bytes", journey.bytes);
            let event = match (step.received, step.sent) {
                (Some(received), Some(sent)) => number(event, "held before sending ns", sent.saturating_sub(received)),
                _ => event,
            };
            let event = flow(event, at as u64 + 1, i + 1 == journey.steps.len());
            packets.event(uuid(rank, 16 + lane as u64), start, (!arrived).then_some(end - start), event);
        }
    }
    Ok(())
}

/// From the arrival at the rank until its memory is free.
fn extent(step: &Step) -> Option<(u64, u64)> {
    let times = [step.received, step.sent, step.completed];
    let start = times.into_iter().flatten().min()?;
    Some((start, times.into_iter().flatten().max().unwrap_or(start)))
}

fn title(journey: &Journey, i: usize, path: PathId, sequence: u64) -> String {
    let what = match (i, i + 1 == journey.steps.len()) {
        (_, true) => "arrives",
        (0, _) => "sent",
        _ => "forwarded",
    };
    let next = journey.steps.get(i + 1).map_or(String::new(), |s| format!(" to rank {}", s.rank));
    format!("path {path} chunk {sequence} {what}{next}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::rank_trace::{Leg, RankTrace, Table};
    use crate::record::{Call, Record};

    /// One field: its number and its value.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Field<'a> {
        Number(u64),
        Bytes(&'a [u8]),
    }

    /// An independent reader of the wire format; panics at anything else.
    pub(crate) fn decode(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
        fn varint(bytes: &mut &[u8]) -> u64 {
            let mut value = 0;
            for shift in (0..64).step_by(7) {
                let (&first, rest) = bytes.split_first().unwrap();
                *bytes = rest;
                value |= u64::from(first & 0x7f) << shift;
                if first < 0x80 {
                    return value;
                }
            }
            panic!("a varint of more than ten bytes");
        }
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let value = match tag & 7 {
                0 => Field::Number(varint(&mut bytes)),
                1 => {
                    let (word, rest) = bytes.split_at(8);
                    bytes = rest;
                    Field::Number(u64::from_le_bytes(word.try_into().unwrap()))
                }
                2 => {
                    let length = varint(&mut bytes) as usize;
                    let (part, rest) = bytes.split_at(length);
                    bytes = rest;
                    Field::Bytes(part)
                }
                other => panic!("wire type {other}"),
            };
            fields.push((tag >> 3, value));
        }
        fields
    }

    fn find<'a>(fields: &'a [(u64, Field<'a>)], number: u64) -> Option<&'a Field<'a>> {
        fields.iter().find(|f| f.0 == number).map(|f| &f.1)
    }

    pub(crate) fn number_of(fields: &[(u64, Field<'_>)], field: u64) -> Option<u64> {
        find(fields, field).map(|f| match f {
            Field::Number(n) => *n,
            Field::Bytes(_) => panic!("field {field} is no number"),
        })
    }

    pub(crate) fn inside<'a>(fields: &[(u64, Field<'a>)], field: u64) -> Option<&'a [u8]> {
        fields.iter().find(|f| f.0 == field).map(|f| match f.1 {
            Field::Bytes(b) => b,
            Field::Number(_) => panic!("field {field} is a number"),
        })
    }

    #[test]
    fn varints_are_those_of_the_documentation() {
        // 150 is 96 01, and field 1 with a varint is 08; "testing" in field 2 is 12 07 ...: the encoding guide's examples.
        assert_eq!(Message::default().number(1, 150).0, [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().words(2, "testing").0, [b"\x12\x07", &b"testing"[..]].concat());
        assert_eq!(decode(&Message::default().number(60, u64::MAX).0), [(60, Field::Number(u64::MAX))]);
    }

    /// Two ranks and a forwarder, one chunk: sent at 100, received at 200, sent on at 210, free at 250, received at 300.
    fn by_hand() -> Run {
        let leg = |from: Option<u32>, to: Option<u32>| Leg {
            path: PathId(5),
            source: Rank(0),
            destination: Rank(2),
            from: from.map(Rank),
            to: to.map(Rank),
            bytes: 10,
            chunk: 10,
        };
        let record = |time, kind, peer| Record {
            time,
            duration: 0,
            sequence: 0,
            bytes: 10,
            call: 0,
            path: PathId(5),
            peer: Rank(peer),
            kind,
            cause: None,
        };
        let file = |rank: u32, leg, records: Vec<Record>| {
            let call =
                Call { start: 100, end: 300, own: 200, served_by: "by hand".into(), table: Some(0), ..Call::default() };
            RankTrace {
                path: "by-hand".into(),
                session: 1,
                rank: Rank(rank),
                ranks: 3,
                wall: 0,
                offset: 0,
                error: 0,
                capacity: 16,
                transport: "none".into(),
                tables: vec![Table { number: 0, legs: vec![leg] }],
                calls: vec![call],
                records,
                complete: true,
            }
        };
        let waited = Record {
            duration: 100,
            kind: EventKind::Waited,
            cause: Some(EventKind::Received),
            ..record(100, EventKind::Sent, 0)
        };
        let all = vec![
            file(0, leg(None, Some(1)), vec![record(100, EventKind::Sent, 1), record(150, EventKind::Completed, 1)]),
            file(
                1,
                leg(Some(0), Some(2)),
                vec![
                    waited,
                    record(200, EventKind::Received, 0),
                    record(210, EventKind::Sent, 2),
                    record(250, EventKind::Completed, 2),
                ],
            ),
            file(2, leg(Some(1), None), vec![record(300, EventKind::Received, 1)]),
        ];
        Run::new(all).unwrap()
    }

    #[test]
    fn a_chunk_is_one_flow_through_three_ranks() {
        let mut bytes = Vec::new();
        write(&by_hand(), None, &mut bytes).unwrap();
        let packets: Vec<Vec<(u64, Field<'_>)>> = decode(&bytes)
            .into_iter()
            .map(|(field, value)| match value {
                Field::Bytes(b) if field == 1 => decode(b),
                other => panic!("{field} {other:?} is no packet"),
            })
            .collect();
        assert!(packets.iter().all(|p| number_of(p, 10) == Some(1)));
        assert_eq!(packets.iter().filter(|p| number_of(p, 13) == Some(1)).count(), 1);
        let tracks: BTreeMap<u64, (String, Option<u64>)> = packets
            .iter()
            .filter_map(|p| inside(p, 60).map(decode))
            .map(|t| {
                let name = String::from_utf8(inside(&t, 2).unwrap().to_vec()).unwrap();
                (number_of(&t, 1).unwrap(), (name, number_of(&t, 5)))
            })
            .collect();
        // Three ranks with calls, progress and one track of chunks each.
        assert_eq!(tracks.len(), 12);
        assert!(tracks.values().all(|t| t.1.is_none_or(|parent| tracks.contains_key(&parent))));
        let mut flow = Vec::new();
        let mut open: BTreeMap<u64, u32> = BTreeMap::new();
        let mut last = 0;
        for packet in &packets {
            let Some(event) = inside(packet, 11).map(decode) else { continue };
            let time = number_of(packet, 8).unwrap();
            assert!(time >= last);
            last = time;
            let track = number_of(&event, 11).unwrap();
            assert!(tracks.contains_key(&track));
            match number_of(&event, 9).unwrap() {
                1 => *open.entry(track).or_default() += 1,
                2 => *open.get_mut(&track).unwrap() -= 1,
                3 => {}
                other => panic!("type {other}"),
            }
            for (field, ends) in [(47, false), (48, true)] {
                if let Some(id) = number_of(&event, field) {
                    let name = String::from_utf8(inside(&event, 23).unwrap().to_vec()).unwrap();
                    flow.push((id, time, track >> 32, ends, name));
                }
            }
        }
        assert!(open.values().all(|&n| n == 0), "every slice ends");
        let step = |time, rank, ends, name: &str| (1, time, rank, ends, name.to_string());
        assert_eq!(
            flow,
            [
                step(0, 1, false, "path 5 chunk 0 sent to rank 1"),
                step(100, 2, false, "path 5 chunk 0 forwarded to rank 2"),
                step(200, 3, true, "path 5 chunk 0 arrives"),
            ]
        );
    }
}
