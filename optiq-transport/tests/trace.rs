//! Traces of exchanges between threads: complete, in causal order, bounded, and read back by a parser that no input can
//! crash.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use optiq_trace::{Call, ChunkKey, Clock, EventKind, Meter, Outcome, RankTrace, Run, Stretch, TraceOptions, Tracer};
use optiq_transport::{
    Capabilities, ChunkRule, Credit, Event, ExecuteOptions, InProcess, LinkMap, Memory, Path, PathId, Post, Rank,
    Schedule, ScheduleOptions, Traced, Transmit, Transport, TransportError, execute, mesh, paced_mesh,
};
use proptest::prelude::*;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A directory below the test's own, removed with the value, and a name in it that does not exist yet.
fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("trace");
    (folder, path)
}

fn path(id: u32, ranks: &[u32], bytes: u64, at: u64) -> Path {
    let ranks = ranks.iter().copied().map(Rank).collect();
    Path { id: PathId(id), ranks, bytes, source_offset: at, destination_offset: at, starts_at: None, class: 0 }
}

/// 0 to 3 directly, over 1 and over 1 and 2; 2 to 0 over 3; chunks of 1000 bytes.
fn paths() -> Vec<Path> {
    vec![
        path(0, &[0, 3], 4_500, 0),
        path(1, &[0, 1, 3], 10_000, 4_500),
        path(2, &[0, 1, 2, 3], 7_001, 14_500),
        path(7, &[2, 3, 0], 3_000, 0),
    ]
}

fn trace<T: Transport + Send>(directory: &std::path::Path, events: usize, calls: usize, ends: Vec<T>) -> Run {
    let paths = paths();
    let ranks = ends.len() as u32;
    let options = ScheduleOptions { chunk: ChunkRule::Fixed(1000), window: 3, ..ScheduleOptions::default() };
    let how = ExecuteOptions { give_up_after: Some(Duration::from_secs(60)), ..ExecuteOptions::default() };
    let clock = Clock::at(Instant::now(), 1);
    std::thread::scope(|scope| {
        for (end, rank) in ends.into_iter().zip((0..).map(Rank)) {
            let (paths, directory) = (&paths, directory.to_path_buf());
            scope.spawn(move || {
                let schedule = Schedule::new(rank, ranks, paths, &options).unwrap();
                let trace = TraceOptions { directory, events, session: 0xfeed, rank, ranks, clock };
                let tracer = Tracer::create(&trace, "in-process").unwrap();
                let mut end = Traced::new(end, tracer.clone());
                let send: Vec<u8> = (0..schedule.send_bytes()).map(|i| (i * 31 + u64::from(rank.0)) as u8).collect();
                let mut receive = vec![0; schedule.receive_bytes() as usize];
                for call in 0..calls {
                    tracer.open(format_args!("call {call} of the test"));
                    tracer.copy(|| std::hint::black_box(send.clone()));
                    execute(&mut end, &schedule, &how, &Memory::new(&send, &mut receive)).unwrap();
                }
                tracer.plain("plain MPI of the test", || ());
            });
        }
    });
    let mut runs = Run::load(directory).unwrap();
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

struct Slow;

impl LinkMap for Slow {
    fn rates(&self) -> &[f64] {
        &[2e6]
    }

    fn links(&self, _: Rank, _: Rank) -> &[u32] {
        &[0]
    }
}

#[test]
fn every_chunk_of_every_hop_is_there_once_and_in_causal_order() {
    for ends in [mesh(4), paced_mesh(4, Box::new(Slow))] {
        let (_folder, directory) = folder();
        let run = trace(&directory, 1 << 14, 2, ends);
        assert_eq!((run.session(), run.ranks(), run.transport(), run.missing().len()), (0xfeed, 4, "in-process", 0));
        let journeys = run.journeys(None);
        let mut expected = 0;
        for call in 0..2 {
            for path in paths() {
                for sequence in 0..path.bytes.div_ceil(1000) {
                    expected += 1;
                    let key = ChunkKey { call, path: path.id, sequence };
                    let journey = &journeys[&key];
                    assert_eq!(journey.bytes, 1000.min(path.bytes - sequence * 1000));
                    assert_eq!(journey.steps.iter().map(|s| s.rank).collect::<Vec<_>>(), path.ranks);
                    let last = path.ranks.len() - 1;
                    let mut before = 0;
                    for (i, step) in journey.steps.iter().enumerate() {
                        assert_eq!((step.received.is_some(), step.sent.is_some()), (i > 0, i < last));
                        assert_eq!(step.completed.is_some(), i < last);
                        for time in [step.received, step.sent, step.completed].into_iter().flatten() {
                            assert!(time >= step.received.or(step.sent).unwrap());
                        }
                        for time in [step.received, step.sent].into_iter().flatten() {
                            assert!(time >= before, "{key:?} at rank {}: {time} after {before}", step.rank);
                            before = time;
                        }
                    }
                }
            }
        }
        assert_eq!(journeys.len(), expected);
        // Exactly once: as many records as steps, none twice.
        let legs: u64 = paths().iter().map(|p| p.bytes.div_ceil(1000) * (p.ranks.len() as u64 - 1)).sum();
        for kind in [EventKind::Sent, EventKind::Completed, EventKind::Received] {
            let found = run.files().iter().flat_map(|f| &f.records).filter(|r| r.kind == kind).count();
            assert_eq!(found as u64, 2 * legs, "{kind:?}");
        }
    }
}

#[test]
fn sums_are_the_time_of_a_call_and_the_chunks_of_the_plan() {
    let (_folder, directory) = folder();
    let run = trace(&directory, 1 << 14, 1, mesh(4));
    for file in run.files() {
        assert!(file.complete);
        let [planned, plain] = &file.calls[..] else { panic!("{} calls", file.calls.len()) };
        assert_eq!((planned.outcome, plain.outcome), (Outcome::Planned, Outcome::Plain));
        let parts = planned.waiting + planned.copying + planned.forwarding + planned.own;
        assert_eq!(parts, planned.end - planned.start);
        assert!(planned.copying > 0, "the copy before the exchange belongs to it");
        assert_eq!((plain.plain, plain.table), (plain.end - plain.start, None));
        // Stretches of the call lie end to end, and say the same as its sums.
        let stretches: Vec<_> = run.stretches(Some(0)).into_iter().filter(|s| s.rank == file.rank).collect();
        let mut at = run.at(file, planned.start);
        for s in &stretches {
            assert_eq!(s.start, at);
            at += s.duration;
        }
        assert_eq!(at, run.at(file, planned.end));
        let sum = |f: fn(&Stretch) -> u64| stretches.iter().map(f).sum::<u64>();
        assert_eq!(
            [sum(|s| s.waiting), sum(|s| s.copying), sum(|s| s.forwarding)],
            [planned.waiting, planned.copying, planned.forwarding]
        );
    }
    // By hand: rank 0 sends 5 + 10 + 8 chunks, rank 1 passes 18 on, rank 2 sends 3 and passes 8 on, rank 3 passes 3 on.
    let sums = run.rank_summaries(None);
    assert_eq!(sums.iter().map(|s| s.sent).collect::<Vec<_>>(), [(23, 21_501), (0, 0), (3, 3_000), (0, 0)]);
    assert_eq!(sums.iter().map(|s| s.forwarded).collect::<Vec<_>>(), [(0, 0), (18, 17_001), (8, 7_001), (3, 3_000)]);
    assert_eq!(sums.iter().map(|s| s.delivered).collect::<Vec<_>>(), [(3, 3_000), (0, 0), (0, 0), (23, 21_501)]);
    assert!(sums[0].forwarding == 0 || run.files()[0].records.iter().any(|r| r.kind == EventKind::Worked));
    let calls = run.calls(None);
    assert_eq!(calls[0].served_by, "call 0 of the test");
    assert_eq!((calls[0].paths, calls[0].chunks, calls[0].bytes, calls[0].forwarded_bytes), (4, 26, 24_501, 27_002));
    assert_eq!((calls[1].outcome, calls[1].served_by.as_str()), (Outcome::Plain, "plain MPI of the test"));
}

/// Waits inside each poll that confirms chunks, as for a flush.
struct Flushing(InProcess, Meter);

const FLUSH: Duration = Duration::from_micros(300);

impl Transport for Flushing {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "flushing", flush_blocks: true, ..self.0.capabilities() }
    }

    fn begin(&mut self, schedule: &Schedule) -> Result<(), TransportError> {
        self.0.begin(schedule)
    }

    fn post(&mut self, memory: &Memory<'_>, post: &Post) -> Result<(), TransportError> {
        self.0.post(memory, post)
    }

    fn send(&mut self, memory: &Memory<'_>, transmit: &Transmit) -> Result<(), TransportError> {
        self.0.send(memory, transmit)
    }

    fn credit(&mut self, credit: &Credit) -> Result<(), TransportError> {
        self.0.credit(credit)
    }

    fn poll(&mut self, memory: &Memory<'_>, events: &mut Vec<Event>) -> Result<(), TransportError> {
        self.0.poll(memory, events)?;
        if events.iter().any(|e| matches!(e, Event::Sent { .. })) {
            self.1.block(|| std::thread::sleep(FLUSH));
        }
        Ok(())
    }

    fn end(&mut self) -> Result<bool, TransportError> {
        self.0.end()
    }

    fn abandon(&mut self) {
        self.0.abandon();
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        Some(&mut self.1)
    }
}

#[test]
fn waiting_inside_a_call_is_waiting() {
    let (_folder, directory) = folder();
    let ends = mesh(4).into_iter().map(|end| Flushing(end, Meter::default())).collect();
    let run = trace(&directory, 1 << 14, 1, ends);
    // All ranks send. That the parts are the time of the call, the reader has checked.
    let least = FLUSH.as_nanos() as u64;
    for rank in run.rank_summaries(None) {
        assert!(
            rank.for_confirmations >= least && rank.waiting >= rank.for_confirmations + rank.for_chunks,
            "{rank:?}"
        );
    }
    let confirmed: Vec<Rank> = run
        .longest_waits(None, usize::MAX)
        .iter()
        .filter(|w| w.cause == Some(EventKind::Completed) && w.duration >= least)
        .map(|w| w.rank)
        .collect();
    assert!((0..4).all(|rank| confirmed.contains(&Rank(rank))), "{confirmed:?}");
}

#[test]
fn a_pair_shows_its_paths_and_the_slowest_leg() {
    let (_folder, directory) = folder();
    let run = trace(&directory, 1 << 14, 2, paced_mesh(4, Box::new(Slow)));
    let found = run.pair(Rank(0), Rank(3), None);
    let of: Vec<_> = found.iter().map(|p| (p.ranks.clone(), p.bytes, p.paths, p.chunks, p.known)).collect();
    let expected = [
        ([0, 1, 3].map(Rank).to_vec(), 20_000, 2, 20, true),
        ([0, 1, 2, 3].map(Rank).to_vec(), 14_002, 2, 16, true),
        ([0, 3].map(Rank).to_vec(), 9_000, 2, 10, true),
    ];
    assert_eq!(of, expected);
    for path in &found {
        let slowest = path.slowest.unwrap();
        assert!(path.ranks.windows(2).any(|l| l == [slowest.from, slowest.to]));
        assert_eq!(slowest.chunks, path.chunks);
        // One chunk of 1,000 bytes takes 0.5 ms on a link of 2 MB/s, also of the last path, whose last chunk is 500.
        assert!(slowest.mean >= 400_000, "{slowest:?}");
        assert!(path.first.unwrap() < path.last.unwrap());
    }
    assert!(run.pair(Rank(1), Rank(2), None).is_empty());
    assert_eq!(run.pair(Rank(0), Rank(3), Some(1))[0].bytes, 10_000);
    // All ranks wait on such a slow link, and each wait was ended by another rank, or is the last one.
    let waits = run.longest_waits(None, 5);
    assert_eq!(waits.len(), 5);
    assert!(waits.windows(2).all(|w| w[0].duration >= w[1].duration));
    assert!(waits.iter().all(|w| w.cause.is_none() || w.peer.is_some_and(|p| p != w.rank)));
}

#[test]
fn a_small_ring_drops_the_oldest_records_and_counts_them() {
    let (_folder, directory) = folder();
    let run = trace(&directory, 16, 2, mesh(4));
    let ((_whole_folder, whole), other) = (folder(), 1 << 14);
    let all = trace(&whole, other, 2, mesh(4));
    let sums = run.rank_summaries(None);
    assert!(sums.iter().map(|s| s.dropped).sum::<u64>() > 0);
    for (few, many) in run.files().iter().zip(all.files()) {
        assert!(few.complete);
        // A call leaves at most a ring of records, and the sums do not depend on it.
        assert!(few.records.len() <= 3 * 16, "{}", few.records.len());
        for (a, b) in few.calls.iter().zip(&many.calls) {
            let sums = |c: &Call| [c.sent, c.forwarded, c.delivered, c.delivered_bytes];
            assert_eq!(sums(a), sums(b));
        }
        assert_eq!(many.calls.iter().map(|c| c.dropped).sum::<u64>(), 0);
        // What is kept is the end: the last stretch of the last exchange.
        assert_eq!(few.records.last().map(|r| (r.call, r.kind)), many.records.last().map(|r| (r.call, r.kind)));
        assert_eq!(few.records.last().map(|r| r.call), Some(1));
        let chunk = |k| matches!(k, EventKind::Sent | EventKind::Completed | EventKind::Received);
        let chunks = few.records.iter().filter(|r| chunk(r.kind)).count();
        let of = many.records.iter().filter(|r| chunk(r.kind)).count();
        let dropped: u64 = few.calls.iter().map(|c| c.dropped).sum();
        assert!(dropped as usize >= of - chunks);
    }
}

#[test]
fn an_exchange_that_fails_is_written_at_once() {
    let (_folder, directory) = folder();
    let mut ends = mesh(2);
    let clock = Clock::start();
    let trace = TraceOptions { directory: directory.clone(), events: 64, session: 5, rank: Rank(0), ranks: 2, clock };
    let tracer = Tracer::create(&trace, "in-process").unwrap();
    let schedule = Schedule::new(Rank(0), 2, &[path(0, &[1, 0], 10, 0)], &ScheduleOptions::default()).unwrap();
    let how = ExecuteOptions { give_up_after: Some(Duration::from_millis(5)), ..ExecuteOptions::default() };
    // No rank sends.
    let mut traced = Traced::new(ends.swap_remove(0), tracer.clone());
    execute(&mut traced, &schedule, &how, &Memory::new(&[], &mut [0; 10])).unwrap_err();
    let run = Run::load(&directory).unwrap().remove(0);
    let file = &run.files()[0];
    assert!(!file.complete, "the session goes on");
    assert_eq!((file.calls[0].outcome, run.missing()), (Outcome::Failed, vec![Rank(1)]));
    assert!(file.calls[0].waiting >= 4_000_000);
    let wait = run.longest_waits(None, 1)[0];
    assert_eq!((wait.peer, wait.cause), (None, None));
    drop((traced, tracer));
    assert!(Run::load(&directory).unwrap()[0].files()[0].complete);
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let (_folder, directory) = folder();
    let error = Run::load(&directory).unwrap_err().to_string();
    assert!(error.contains("the directory cannot be read"), "{error}");
    std::fs::create_dir_all(&directory).unwrap();
    assert!(Run::load(&directory).unwrap_err().to_string().contains("holds no file"));
    let run = trace(&directory, 64, 1, mesh(4));
    let name = |rank: u32| directory.join(format!("{:016x}.{rank}.optiqtrace", 0xfeed));
    std::fs::copy(name(1), name(9)).unwrap();
    let error = Run::load(&directory).unwrap_err().to_string();
    assert!(error.contains("are both of rank 1"), "{error}");
    std::fs::write(name(9), b"something else").unwrap();
    // As a full disk leaves them: the others are shown all the same.
    std::fs::write(name(10), b"").unwrap();
    let loaded = Run::load(&directory).unwrap().remove(0);
    let skipped: Vec<String> = loaded.skipped().iter().map(ToString::to_string).collect();
    assert_eq!((loaded.files().len(), skipped.len()), (4, 2));
    let (empty, other) = (&skipped[0], &skipped[1]);
    assert!(empty.contains(".10.optiqtrace is no trace that can be read: it is empty"), "{empty}");
    assert!(other.contains(".9.optiqtrace is no trace that can be read: it does not begin as a trace does"), "{other}");
    for rank in 0..4 {
        std::fs::remove_file(name(rank)).unwrap();
    }
    assert_eq!(&Run::load(&directory).unwrap_err().to_string(), empty);
    let mut other = run.files().to_vec();
    other[1].ranks = 5;
    assert!(Run::new(other).unwrap_err().to_string().contains("different sessions"));
    assert!(Run::new(Vec::new()).is_err());
}

/// The bytes of a real file.
fn sample() -> &'static [u8] {
    static BYTES: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    BYTES.get_or_init(|| {
        let (_folder, directory) = folder();
        trace(&directory, 64, 2, mesh(4));
        std::fs::read(directory.join(format!("{:016x}.1.optiqtrace", 0xfeed))).unwrap()
    })
}

/// Everything that is done with what was read must stand anything that was read.
fn use_it(trace: RankTrace) {
    let run = Run::new(vec![trace]).unwrap();
    run.calls(None);
    run.rank_summaries(None);
    run.longest_waits(None, 3);
    run.stretches(None);
    run.pair(Rank(0), Rank(3), None);
    run.journeys(None);
}

#[test]
fn what_is_whole_of_a_cut_file_is_read() {
    let bytes = sample();
    let whole = RankTrace::parse(bytes, "whole".as_ref()).unwrap();
    assert!(whole.complete && !whole.records.is_empty());
    let mut read = 0;
    let mut lengths = std::collections::BTreeSet::new();
    for cut in 0..bytes.len() {
        match RankTrace::parse(&bytes[..cut], "cut".as_ref()) {
            Ok(part) => {
                read += 1;
                lengths.insert(part.records.len());
                assert!(!part.complete && part.records.len() <= whole.records.len());
                assert_eq!(part.records, whole.records[..part.records.len()]);
            }
            // Only where not even the head is whole: 16 bytes, then 50 and the name of the transport.
            Err(e) => assert!(cut < 16 + 50 + "in-process".len(), "{cut}: {e}"),
        }
    }
    assert!(read > 0);
    // Not only what is in whole blocks: each record for itself.
    assert!(lengths.into_iter().eq(0..=whole.records.len()));
}

proptest! {
    #[test]
    fn damaged_files_are_refused_or_read_but_never_fatal(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        let mut bytes = sample().to_vec();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if !whole {
            bytes.truncate(cut.index(bytes.len()));
        }
        match RankTrace::parse(&bytes, "damaged".as_ref()) {
            Ok(trace) => use_it(trace),
            Err(e) => {
                let sentence = e.to_string();
                prop_assert!(sentence.starts_with("damaged is no trace that can be read: ") && !sentence.contains('\n'));
            }
        }
    }

    #[test]
    fn noise_is_no_trace(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(RankTrace::parse(&bytes, "noise".as_ref()).is_err());
        let after = [&sample()[..100], &bytes].concat();
        if let Ok(trace) = RankTrace::parse(&after, "noise".as_ref()) {
            use_it(trace);
        }
    }
}
