//! The scheduler, stepped by hand.

use super::{QueueOrder, Scheduler};
use crate::chunk::ChunkRule;
use crate::constants::EAGER;
use crate::error::TransportError;
use crate::hop::Sink;
use crate::path::Path;
use crate::protocol::{Credit, Region};
use crate::schedule::Schedule;
use crate::schedule_options::ScheduleOptions;
use optiq_trace::ids::{PathId, Rank};

fn path(id: u32, ranks: &[u32], bytes: u64) -> Path {
    let ranks = ranks.iter().copied().map(Rank).collect();
    Path { id: PathId(id), ranks, bytes, source_offset: 0, destination_offset: 0, starts_at: None, class: 0 }
}

fn schedules(ranks: u32, paths: &[Path], options: ScheduleOptions) -> Vec<Schedule> {
    (0..ranks).map(|r| Schedule::new(Rank(r), ranks, paths, &options).unwrap()).collect()
}

fn options(chunk: u64, budget: u64, window: u64) -> ScheduleOptions {
    ScheduleOptions { chunk: ChunkRule::Fixed(chunk), budget, window, ..ScheduleOptions::default() }
}

#[test]
fn roles_table_and_windows_of_a_relayed_path() {
    // 10 bytes over 0 -> 1 -> 2 in chunks of 4: sizes 4, 4, 2. Budget 8 holds a window of 2 at each receiver.
    let s = schedules(4, &[path(5, &[0, 1, 2], 10)], options(4, 8, 8));
    assert!(s[0].roles().source && !s[0].roles().forwarder && !s[0].roles().destination);
    assert!(s[1].roles().forwarder && !s[1].roles().source && !s[1].roles().destination);
    assert!(s[2].roles().destination && !s[2].roles().forwarder);
    assert!(s[3].roles().idle());
    let hop = s[1].hops()[0];
    assert_eq!((hop.chunks(), hop.chunk_bytes(0), hop.chunk_bytes(2)), (3, 4, 2));
    let (incoming, outgoing) = (hop.incoming.unwrap(), hop.outgoing.unwrap());
    assert_eq!((incoming.from, incoming.sink, incoming.window, incoming.slots), (Rank(0), Sink::Forward, 2, 0));
    assert_eq!((outgoing.to, outgoing.window), (Rank(2), 2));
    assert_eq!((s[1].forward_bytes(), s[1].slot_bytes()), (8, 8));
    assert_eq!((s[2].forward_bytes(), s[2].slot_bytes()), (0, 8));
    assert_eq!((s[0].send_bytes(), s[2].receive_bytes()), (10, 10));
}

#[test]
fn a_rank_begins_with_the_one_after_itself() {
    let paths: Vec<Path> = (0..4u32)
        .flat_map(|s| (0..4u32).map(move |d| (s, d)))
        .filter(|(s, d)| s != d)
        .map(|(s, d)| path(4 * s + d, &[s, d], 10))
        .collect();
    let s = schedules(4, &paths, options(10, 80, 8));
    let order = |rank: usize| {
        let mut scheduler = Scheduler::new(&s[rank], QueueOrder::default());
        while scheduler.poll_post().is_some() {}
        std::iter::from_fn(|| scheduler.poll_transmit()).map(|t| t.to.0).collect::<Vec<u32>>()
    };
    assert_eq!([0, 1, 2, 3].map(order), [[1, 2, 3], [2, 3, 0], [3, 0, 1], [0, 1, 2]]);
}

#[test]
fn the_forwarder_step_by_step() {
    let s = schedules(3, &[path(5, &[0, 1, 2], 10)], options(4, 8, 8));
    let mut f = Scheduler::new(&s[1], QueueOrder::ForwardFirst);

    // Window 2: two receives are posted into the two slots, nothing can be sent.
    let posts: Vec<Region> = std::iter::from_fn(|| f.poll_post()).map(|p| p.into).collect();
    assert_eq!(posts, [Region::Slot { offset: 0, bytes: 4 }, Region::Slot { offset: 4, bytes: 4 }]);
    assert_eq!((f.poll_transmit(), f.poll_credit()), (None, None));

    f.handle_received(PathId(5), 0).unwrap();
    let t = f.poll_transmit().unwrap();
    assert_eq!((t.to, t.header.sequence, t.data), (Rank(2), 0, Region::Slot { offset: 0, bytes: 4 }));
    assert_eq!((t.header.source, t.header.destination, t.header.offset), (Rank(0), Rank(2), 0));
    assert_eq!((f.poll_post(), f.poll_credit()), (None, None), "the slot is still being sent from");

    f.handle_sent(PathId(5), 0).unwrap();
    let p = f.poll_post().unwrap();
    assert_eq!((p.header.sequence, p.into), (2, Region::Slot { offset: 0, bytes: 2 }));
    let credit = Credit { to: Rank(0), path: PathId(5), chunks: 1 };
    assert_eq!(f.poll_credit(), Some(credit), "3 chunks, window 2: one credit in all");

    f.handle_received(PathId(5), 1).unwrap();
    f.handle_received(PathId(5), 2).unwrap();
    assert_eq!(f.poll_transmit().unwrap().header.sequence, 1);
    assert_eq!(f.poll_transmit(), None, "two chunks are at rank 2, which has not given a credit yet");
    f.handle_credit(PathId(5), 1).unwrap();
    assert_eq!(f.poll_transmit().unwrap().header.bytes, 2);
    f.handle_sent(PathId(5), 1).unwrap();
    assert!(!f.is_done());
    f.handle_sent(PathId(5), 2).unwrap();
    assert_eq!(f.poll_credit(), None, "the sender needs no more");
    assert!(f.is_done());
    assert_eq!(f.peak_slot_bytes(), 6, "chunks 1 and 2 at one time");
}

#[test]
fn what_the_schedule_does_not_contain_is_refused() {
    let s = schedules(3, &[path(5, &[0, 1, 2], 10)], options(4, 8, 8));
    let mut f = Scheduler::new(&s[1], QueueOrder::ForwardFirst);
    let unexpected = |r: Result<(), TransportError>| matches!(r, Err(TransportError::Unexpected { rank: Rank(1), .. }));
    assert!(unexpected(f.handle_received(PathId(5), 0)), "before its post");
    while f.poll_post().is_some() {}
    assert!(unexpected(f.handle_received(PathId(5), 1)), "out of order");
    assert!(unexpected(f.handle_received(PathId(6), 0)), "another path");
    assert!(unexpected(f.handle_sent(PathId(5), 0)), "never sent");
    assert!(unexpected(f.handle_credit(PathId(5), 2)), "only one credit can ever be due");
    assert!(unexpected(f.handle_credit(PathId(5), u64::MAX)));
    f.handle_received(PathId(5), 0).unwrap();
    assert!(f.waiting_for().contains("rank 2"), "{}", f.waiting_for());
}

#[test]
fn own_paths_advance_in_proportion_to_their_bytes() {
    let s = schedules(3, &[path(0, &[0, 1], 2), path(1, &[0, 1, 2], 6)], options(1, 64, 8));
    let mut f = Scheduler::new(&s[0], QueueOrder::ForwardFirst);
    let sent: Vec<u32> = std::iter::from_fn(|| f.poll_transmit()).map(|t| t.header.path.0).collect();
    assert_eq!(sent, [0, 1, 1, 1, 0, 1, 1, 1]);
}

#[test]
fn a_crossing_of_flows_under_the_smallest_budget() {
    // 0 -> 1 -> 2 and 2 -> 1 -> 0 and, through each other, 1 -> 0 -> 2 and 1 -> 2 -> 0: every rank forwards for,
    // and waits for, every other one. Budget 3 bytes: 1-byte chunks, windows of one.
    let paths = [path(0, &[0, 1, 2], 5), path(1, &[2, 1, 0], 5), path(2, &[1, 0, 2], 5), path(3, &[1, 2, 0], 5)];
    let s = schedules(3, &paths, options(64, 3, 8));
    assert!(s.iter().all(|s| s.slot_bytes() <= 3 && s.hops().iter().all(|h| h.chunk == 1)));
    let mut f: Vec<Scheduler<&Schedule>> = s.iter().map(|s| Scheduler::new(s, QueueOrder::LocalFirst)).collect();
    // A synchronous network: in each round every rank does all it may, then everything arrives.
    for round in 0.. {
        assert!(round < 100, "stuck: {}", f.iter().map(Scheduler::waiting_for).collect::<Vec<_>>().join("; "));
        let mut sent = Vec::new();
        let mut credits = Vec::new();
        for (rank, f) in f.iter_mut().enumerate() {
            while f.poll_post().is_some() {}
            sent.extend(std::iter::from_fn(|| f.poll_transmit()).map(|t| (rank, t)));
            credits.extend(std::iter::from_fn(|| f.poll_credit()));
            f.check_invariants();
        }
        if f.iter().all(Scheduler::is_done) {
            break;
        }
        for (rank, t) in sent {
            f[t.to.index()].handle_received(t.header.path, t.header.sequence).unwrap();
            f[rank].handle_sent(t.header.path, t.header.sequence).unwrap();
        }
        for c in credits {
            f[c.to.index()].handle_credit(c.path, c.chunks).unwrap();
        }
    }
}

#[test]
fn a_budget_that_cannot_hold_a_byte_per_path_is_refused_on_every_rank() {
    let paths = [path(0, &[0, 1, 2], 5), path(1, &[2, 1, 0], 5)];
    for rank in 0..3 {
        let e = Schedule::new(Rank(rank), 3, &paths, &options(4, 1, 8)).unwrap_err();
        assert_eq!(e, TransportError::Budget { rank: Rank(1), paths: 2, budget: 1 });
    }
}

#[test]
fn bad_paths_are_named() {
    let refuse = |p: &[Path]| Schedule::new(Rank(0), 3, p, &ScheduleOptions::default()).unwrap_err().to_string();
    assert_eq!(refuse(&[path(4, &[0], 5)]), "path 4 has 1 ranks; a source and a destination are needed");
    assert_eq!(refuse(&[path(4, &[0, 3], 5)]), "path 4 names rank 3, but there are 3 ranks");
    assert_eq!(refuse(&[path(4, &[0, 1, 0], 5)]), "path 4 passes rank 0 twice");
    assert_eq!(refuse(&[path(4, &[0, 1], 0)]), "path 4 carries no bytes; it should not be there");
    assert_eq!(refuse(&[path(4, &[0, 1], 1), path(4, &[1, 2], 1)]), "path 4 is given twice");
    let far = Path { source_offset: u64::MAX, ..path(4, &[0, 1], 1) };
    assert_eq!(refuse(&[far]), "path 4 reaches beyond byte 2^64 of a buffer");
}

#[test]
fn sizes_are_64_bit() {
    let s = schedules(2, &[path(0, &[0, 1], 5 << 40)], ScheduleOptions::default());
    assert_eq!(s[0].send_bytes(), 5 << 40);
    assert_eq!(s[0].hops()[0].chunks(), (5u64 << 40).div_ceil(EAGER));
}

/// Rank 0 sends 600 bytes straight to 1 and 200 through it to 3, and 400 straight to 2.
fn unequal() -> Vec<Path> {
    let with = |id, ranks: &[u32], bytes, at| Path { source_offset: at, ..path(id, ranks, bytes) };
    vec![with(0, &[0, 1], 600, 0), with(1, &[0, 1, 3], 200, 600), with(2, &[0, 2], 400, 800)]
}

#[test]
fn bytes_in_flight_are_in_proportion_to_what_a_leg_carries() {
    // Legs carry 800, 400 and 200 bytes; 8 chunks of 10 on the busiest are 4 and 2 on the others.
    let o = ScheduleOptions { in_flight_limit: 80, ..options(10, 1 << 20, 100) };
    let s = schedules(4, &unequal(), o);
    let limit = |schedule: &Schedule, path: u32| {
        let hop = schedule.hops()[schedule.find(PathId(path)).unwrap()];
        hop.outgoing.unwrap().in_flight_limit
    };
    assert_eq!([limit(&s[0], 0), limit(&s[0], 1), limit(&s[0], 2), limit(&s[1], 1)], [80, 80, 40, 20]);
    // Where a link is known to carry more than any leg does, every leg gets less.
    let shared = schedules(4, &unequal(), ScheduleOptions { busiest: 1600, ..o });
    assert_eq!(shared[0].hops()[0].outgoing.unwrap().in_flight_limit, 40);
    // The sixteenth part of 800 bytes; the hundredth would be less than two chunks of 10; half would be more than 80.
    let part = |in_flight_part| {
        let s = schedules(4, &unequal(), ScheduleOptions { in_flight_part, ..o });
        [limit(&s[0], 0), limit(&s[0], 2), limit(&s[1], 1)]
    };
    assert_eq!([part(16), part(100), part(2)], [[50, 25, 12], [20, 10, 5], [80, 40, 20]]);

    let mut source = Scheduler::new(&s[0], QueueOrder::Proportional);
    let sent: Vec<(u32, u32, u64)> =
        std::iter::from_fn(|| source.poll_transmit()).map(|t| (t.to.0, t.header.path.0, t.header.sequence)).collect();
    source.check_invariants();
    let to = |rank| sent.iter().filter(|t| t.0 == rank).map(|t| t.1).collect::<Vec<u32>>();
    assert_eq!(to(2), [2; 4]);
    // In turn by the fraction sent: 1/60 of path 0 is behind 1/20 of path 1, which waits until 0 has sent 3 as well.
    assert_eq!(to(1), [0, 1, 0, 0, 0, 1, 0, 0]);
    assert_eq!(sent[..2].iter().map(|t| t.0).collect::<Vec<_>>(), [1, 2], "legs take turns");

    // What is confirmed makes room for as much.
    assert_eq!(source.poll_transmit(), None);
    source.handle_sent(PathId(2), 0).unwrap();
    assert_eq!(source.poll_transmit().map(|t| (t.to, t.header.sequence)), Some((Rank(2), 4)));
    assert_eq!(source.poll_transmit(), None);
    source.check_invariants();
}

#[test]
fn limits_that_are_no_whole_number_of_chunks_are_right_on_average() {
    // Limits of 50 and 25 bytes: five chunks of 10, and two or three, each half of the time.
    let paths = [path(0, &[0, 1], 4000), Path { source_offset: 4000, ..path(1, &[0, 2], 2000) }];
    let s = schedules(3, &paths, ScheduleOptions { in_flight_limit: 50, ..options(10, 1 << 20, 1000) });
    let mut source = Scheduler::new(&s[0], QueueOrder::Proportional);
    let mut in_flight = [0u64; 2];
    let mut counts = [[0u64; 6]; 2];
    for round in 0..190 {
        while let Some(t) = source.poll_transmit() {
            in_flight[t.header.path.0 as usize] += 1;
        }
        source.check_invariants();
        for path in 0..2 {
            counts[path as usize][in_flight[path as usize] as usize] += 1;
            source.handle_sent(PathId(path), round).unwrap();
            in_flight[path as usize] -= 1;
        }
    }
    assert_eq!(counts[0][5], 190);
    assert_eq!(counts[1][2] + counts[1][3], 190);
    assert!(counts[1][2].abs_diff(95) <= 3, "{counts:?}");
}

#[test]
fn one_chunk_may_always_be_in_flight() {
    let o = ScheduleOptions { in_flight_limit: 0, ..options(10, 1 << 20, 100) };
    let s = schedules(4, &unequal(), o);
    let mut source = Scheduler::new(&s[0], QueueOrder::Proportional);
    let sent: Vec<u32> = std::iter::from_fn(|| source.poll_transmit()).map(|t| t.to.0).collect();
    assert_eq!(sent, [1, 2]);
}

#[test]
fn whose_chunks_go_first() {
    // Rank 1 passes path 0 on to 2 and has path 1 of its own for 2; both have 4 chunks.
    let paths = [path(0, &[0, 1, 2], 40), path(1, &[1, 2], 40)];
    let s = schedules(3, &paths, options(10, 1 << 20, 100));
    for (order, expected) in [
        (QueueOrder::ForwardFirst, [0, 0, 0, 0, 1, 1, 1, 1]),
        (QueueOrder::LocalFirst, [1, 1, 1, 1, 0, 0, 0, 0]),
        (QueueOrder::RoundRobin, [0, 1, 0, 1, 0, 1, 0, 1]),
        (QueueOrder::Proportional, [0, 1, 0, 1, 0, 1, 0, 1]),
    ] {
        let mut relay = Scheduler::new(&s[1], order);
        while relay.poll_post().is_some() {}
        (0..4).for_each(|sequence| relay.handle_received(PathId(0), sequence).unwrap());
        let sent: Vec<u32> = std::iter::from_fn(|| relay.poll_transmit()).map(|t| t.header.path.0).collect();
        assert_eq!(sent, expected, "{order:?}");
    }
}

/// Rank 1 has bytes of its own for rank 2 and passes on others' for it; the class decides before the order of queues, and between
/// next ranks as well.
#[test]
fn urgent_classes_go_first_to_every_next_rank() {
    let of_class = |class: u8, p: Path| Path { class, ..p };
    let paths = [
        of_class(0, path(0, &[1, 2], 8)),
        of_class(2, path(1, &[1, 2, 3], 8)),
        of_class(0, path(2, &[1, 3], 8)),
        of_class(7, path(3, &[1, 0], 8)),
        of_class(2, path(4, &[1, 3], 8)),
    ];
    let s = schedules(4, &paths, options(4, 1 << 10, 8));
    for order in [QueueOrder::ForwardFirst, QueueOrder::LocalFirst, QueueOrder::RoundRobin, QueueOrder::Proportional] {
        let mut scheduler = Scheduler::new(&s[1], order);
        while scheduler.poll_post().is_some() {}
        let sent: Vec<u32> = std::iter::from_fn(|| scheduler.poll_transmit()).map(|t| t.header.path.0).collect();
        // Class 7 to rank 0, then both of class 2 in turn, ranks 2 and 3, then those without a class in turn, and rank 3 was last.
        assert_eq!(sent, [3, 3, 1, 4, 1, 4, 0, 2, 0, 2], "{order:?}");
        scheduler.check_invariants();
    }
}

#[test]
fn a_forwarder_passes_urgent_chunks_on_before_its_own() {
    let forwarded = |class| Path { class, ..path(0, &[0, 1, 2], 4) };
    let first = |class: u8, order| {
        let s = schedules(3, &[forwarded(class), path(1, &[1, 2], 4)], options(4, 1 << 10, 8));
        let mut scheduler = Scheduler::new(&s[1], order);
        while scheduler.poll_post().is_some() {}
        scheduler.handle_received(PathId(0), 0).unwrap();
        scheduler.poll_transmit().unwrap().header.path.0
    };
    assert_eq!([0, 1].map(|class| first(class, QueueOrder::LocalFirst)), [1, 0]);
    assert_eq!([0, 1].map(|class| first(class, QueueOrder::ForwardFirst)), [0, 0]);
}
