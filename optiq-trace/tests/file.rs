//! A trace that is recorded by hand, without a transport: what the tracer gets is in the file, and no damage to the
//! file crashes its reader.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use optiq_trace::{
    ChunkEvent, Clock, EventKind, Leg, NO_PEER, Outcome, PathId, Rank, RankTrace, Run, SentChunk, SentCredit,
    TraceOptions, Tracer, perfetto,
};
use std::path::Path;

const FORWARDED: PathId = PathId(4);
const OWN: PathId = PathId(9);

/// Rank 1 of three: it forwards path 4 from 0 to 2, and sends path 9 to 0; chunks of 10 bytes.
const LEGS: [Leg; 2] = [
    Leg {
        path: FORWARDED,
        source: Rank(0),
        destination: Rank(2),
        from: Some(Rank(0)),
        to: Some(Rank(2)),
        bytes: 15,
        chunk: 10,
    },
    Leg { path: OWN, source: Rank(1), destination: Rank(0), from: None, to: Some(Rank(0)), bytes: 10, chunk: 10 },
];

/// Two exchanges alike, then a call that plain MPI serves.
fn record(directory: &Path) {
    let clock = Clock::start();
    let options =
        TraceOptions { directory: directory.into(), events: 64, session: 0xabc, rank: Rank(1), ranks: 3, clock };
    let tracer = Tracer::create(&options, "by hand").unwrap();
    for _ in 0..2 {
        tracer.open("the test");
        tracer.begin(LEGS.into_iter());
        tracer.sends(&SentChunk { path: OWN, sequence: 0, bytes: 10, source: Rank(1), to: Rank(0) });
        tracer.poll_begins();
        tracer.poll_ends([].into_iter(), 0);
        let polls: [&[ChunkEvent]; 2] = [
            &[
                ChunkEvent::Received { path: FORWARDED, sequence: 0 },
                ChunkEvent::Received { path: FORWARDED, sequence: 1 },
            ],
            &[
                ChunkEvent::Sent { path: FORWARDED, sequence: 0 },
                ChunkEvent::Sent { path: FORWARDED, sequence: 1 },
                ChunkEvent::Sent { path: OWN, sequence: 0 },
                ChunkEvent::Credit { path: OWN, chunks: 1 },
            ],
        ];
        for (events, sends) in polls.into_iter().zip([2, 0]) {
            tracer.poll_begins();
            tracer.poll_ends(events.iter().copied(), 0);
            for sequence in 0..sends {
                let bytes = 10 - 5 * sequence;
                tracer.sends(&SentChunk { path: FORWARDED, sequence, bytes, source: Rank(0), to: Rank(2) });
            }
        }
        tracer.credits(&SentCredit { path: FORWARDED, to: Rank(0), chunks: 1 });
        tracer.poll_begins();
        tracer.end_asked(true);
    }
    tracer.plain("plain MPI", || ());
}

#[test]
fn what_the_tracer_is_told_stands_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path());
    let run = Run::load(folder.path()).unwrap().remove(0);
    assert_eq!((run.session(), run.ranks(), run.transport()), (0xabc, 3, "by hand"));
    assert_eq!(run.missing(), [Rank(0), Rank(2)]);
    let file = &run.files()[0];
    // The second exchange has the paths of the first one, so it has its table.
    assert_eq!((file.rank, file.complete, file.tables.len()), (Rank(1), true, 1));
    assert_eq!(file.tables[0].legs, LEGS);
    let calls: Vec<_> = file.calls.iter().map(|c| (c.number, c.outcome, c.table)).collect();
    assert_eq!(calls, [(0, Outcome::Planned, Some(0)), (1, Outcome::Planned, Some(0)), (2, Outcome::Plain, None)]);
    for call in &file.calls[..2] {
        assert_eq!((call.sent, call.sent_bytes, call.forwarded, call.forwarded_bytes), (1, 10, 2, 15));
        assert_eq!(call.waiting + call.copying + call.forwarding + call.own, call.end - call.start);
    }
    let kinds = |kind| file.records.iter().filter(|r| r.call == 0 && r.kind == kind).collect::<Vec<_>>();
    let chunks = |kind| kinds(kind).iter().map(|r| (r.path.0, r.sequence, r.bytes, r.peer.0)).collect::<Vec<_>>();
    assert_eq!(chunks(EventKind::Received), [(4, 0, 10, 0), (4, 1, 5, 0)]);
    assert_eq!(chunks(EventKind::Sent), [(9, 0, 10, 0), (4, 0, 10, 2), (4, 1, 5, 2)]);
    assert_eq!(chunks(EventKind::Completed), [(4, 0, 10, 2), (4, 1, 5, 2), (9, 0, 10, 0)]);
    assert_eq!(chunks(EventKind::CreditReceived), [(9, 1, 0, 0)]);
    assert_eq!(chunks(EventKind::CreditSent), [(4, 1, 0, 0)]);
    assert!(kinds(EventKind::Worked).iter().all(|r| r.peer == NO_PEER));
    // The poll that returned nothing began a wait, which a chunk from rank 0 ended.
    let wait = kinds(EventKind::Waited)[0];
    assert_eq!((wait.cause, wait.peer, wait.path), (Some(EventKind::Received), Rank(0), FORWARDED));
}

#[test]
fn no_damaged_byte_crashes_the_reader_or_those_who_use_what_it_read() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path());
    let bytes = std::fs::read(folder.path().join(format!("{:016x}.1.optiqtrace", 0xabc))).unwrap();
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0xff, bytes[at] ^ 1] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            let Ok(trace) = RankTrace::parse(&damaged, "damaged".as_ref()) else { continue };
            let run = Run::new(vec![trace]).unwrap();
            run.rank_summaries(None);
            run.pair(Rank(0), Rank(2), None);
            perfetto::write(&run, None, std::io::sink()).unwrap();
        }
    }
}
