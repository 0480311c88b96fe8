//! Whole exchanges over the in-process transport: every byte arrives, whatever the paths, budgets and delays.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use optiq_transport::{
    Capabilities, ChunkRule, Delayed, ExecuteOptions, Execution, FlowControl, Grants, LinkMap, Memory, Path, PathId,
    Progress, QueueOrder, Rank, Running, Schedule, ScheduleOptions, SendCompletion, Transport, TransportError, execute,
    mesh, paced_mesh,
};
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// One rank's result: its receive buffer, and what it did.
type Outcome = Result<(Vec<u8>, Execution), TransportError>;

fn byte_of(source: Rank, offset: u64) -> u8 {
    (u64::from(source.0).wrapping_mul(131).wrapping_add(offset.wrapping_mul(7)) % 251) as u8
}

/// Between the beginnings of both buffers.
fn path(id: u32, ranks: &[u32], bytes: u64) -> Path {
    let ranks = ranks.iter().copied().map(Rank).collect();
    Path { id: PathId(id), ranks, bytes, source_offset: 0, destination_offset: 0, starts_at: None, class: 0 }
}

/// Runs an exchange with one thread per rank.
fn run<T: Transport + Send>(
    ends: Vec<T>,
    paths: &[Path],
    options: &ScheduleOptions,
    (order, flow_control): (QueueOrder, FlowControl),
) -> Vec<Outcome> {
    let ranks = ends.len() as u32;
    let extent = |of: fn(&Path) -> (Rank, u64), r| {
        paths.iter().map(of).filter(|x| x.0 == r).map(|x| x.1).max().unwrap_or(0) as usize
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = ends
            .into_iter()
            .zip((0..).map(Rank))
            .map(|(mut end, rank)| {
                scope.spawn(move || {
                    let length = extent(|p| (p.source(), p.source_offset + p.bytes), rank);
                    let send: Vec<u8> = (0..length).map(|i| byte_of(rank, i as u64)).collect();
                    let mut receive = vec![0xee; extent(|p| (p.destination(), p.destination_offset + p.bytes), rank)];
                    let schedule = Schedule::new(rank, ranks, paths, options)?.with_flow_control(flow_control);
                    let run = ExecuteOptions {
                        order,
                        give_up_after: Some(Duration::from_secs(20)),
                        sends_in_flight: 4,
                        ..Default::default()
                    };
                    let memory = Memory::new(&send, &mut receive);
                    let execution = execute(&mut end, &schedule, &run, &memory)?;
                    assert!(execution.peak_slot_bytes <= options.budget);
                    Ok((receive, execution))
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

fn verify(paths: &[Path], outcomes: &[Outcome]) {
    let mut touched: Vec<Vec<bool>> = outcomes.iter().map(|o| vec![false; o.as_ref().unwrap().0.len()]).collect();
    for p in paths {
        let (received, _) = outcomes[p.destination().index()].as_ref().unwrap();
        for i in 0..p.bytes {
            let at = (p.destination_offset + i) as usize;
            assert_eq!(received[at], byte_of(p.source(), p.source_offset + i), "byte {i} of path {}", p.id);
            touched[p.destination().index()][at] = true;
        }
    }
    for (outcome, touched) in outcomes.iter().zip(touched) {
        let received = &outcome.as_ref().unwrap().0;
        assert!(received.iter().zip(touched).all(|(&b, t)| t || b == 0xee), "a byte outside all paths was written");
    }
}

/// Random paths over `ranks` ranks, of several classes; receive offsets do not overlap. Some of the direct ones have a place in a
/// timetable.
fn paths(ranks: u32) -> impl Strategy<Value = Vec<Path>> {
    let timed = proptest::option::of(0u64..3000);
    let one = (
        Just((0..ranks).map(Rank).collect::<Vec<_>>()).prop_shuffle(),
        2..=ranks as usize,
        1u64..4000,
        0u64..50,
        timed,
        prop_oneof![2 => Just(0u8), 1 => 0u8..=255],
    );
    proptest::collection::vec(one, 0..14).prop_map(move |list| {
        let mut end = vec![0u64; ranks as usize];
        let (mut sends_until, mut receives_until) = (end.clone(), end.clone());
        let mut paths = Vec::new();
        for (id, (mut chain, length, bytes, gap, timed, class)) in list.into_iter().enumerate() {
            chain.truncate(length);
            let last = &mut end[chain[length - 1].index()];
            let destination_offset = *last + gap;
            *last = destination_offset + bytes;
            let starts_at = timed.filter(|_| length == 2).map(|pause| {
                let (sends, receives) = (&mut sends_until[chain[0].index()], &mut receives_until[chain[1].index()]);
                let start = (*sends).max(*receives) + pause;
                (*sends, *receives) = (start + bytes, start + bytes);
                start
            });
            let id = PathId(id as u32 * 3);
            paths.push(Path { id, ranks: chain, bytes, source_offset: gap, destination_offset, starts_at, class });
        }
        paths
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_byte_arrives_under_any_budget_order_and_delay(
        paths in paths(5),
        chunk in 1u64..1500,
        budget in 14u64..9000,
        window in 1u64..6,
        in_flight_limit in prop_oneof![Just(0u64), 1u64..5000],
        ahead in 0u64..2000,
        grants in prop_oneof![Just(Grants::Never), Just(Grants::InShortestQueues), Just(Grants::Always)],
        flow_control in prop::sample::select(FlowControl::ALL.to_vec()),
        order in prop_oneof![
            Just(QueueOrder::ForwardFirst), Just(QueueOrder::LocalFirst), Just(QueueOrder::RoundRobin), Just(QueueOrder::Proportional)
        ],
        delays in proptest::collection::vec(0u64..8, 1..50),
    ) {
        // 14 paths at most, so 14 bytes always hold one byte of each.
        let options =
            ScheduleOptions { chunk: ChunkRule::Fixed(chunk), budget, window, in_flight_limit, ahead, grants, ..ScheduleOptions::default() };
        let late = |(end, rank)| {
            let mut delays = delays.iter().copied().cycle().skip(rank);
            Delayed::new(end, move || delays.next().unwrap_or(0))
        };
        let ends = mesh(5).into_iter().zip(0..).map(late).collect();
        let outcomes = run(ends, &paths, &options, (order, flow_control));
        verify(&paths, &outcomes);
        let relayed: u64 = paths.iter().map(|p| p.bytes * (p.ranks.len() as u64 - 2)).sum();
        let forwarded: u64 = outcomes.iter().map(|o| o.as_ref().unwrap().1.bytes_forwarded).sum();
        prop_assert_eq!(relayed, forwarded);
    }

    #[test]
    fn slots_of_different_paths_never_overlap_and_fit_the_budget(paths in paths(5), chunk in 1u64..300, budget in 14u64..900) {
        let options = ScheduleOptions { chunk: ChunkRule::Fixed(chunk), budget, window: 4, ..ScheduleOptions::default() };
        let all: Vec<Schedule> = (0..5).map(|r| Schedule::new(Rank(r), 5, &paths, &options).unwrap()).collect();
        for schedule in &all {
            prop_assert!(schedule.slot_bytes() <= budget);
            prop_assert!(schedule.slot_bytes() <= schedule.largest_slot_bytes());
            let mut ranges: Vec<(u64, u64)> = Vec::new();
            for hop in schedule.hops() {
                if let Some(i) = hop.incoming {
                    ranges.push((i.slots, i.slots + i.window * hop.chunk));
                }
                if let Some(o) = hop.outgoing {
                    let there = &all[o.to.index()];
                    let i = there.hops()[there.find(hop.path).unwrap()].incoming.unwrap();
                    prop_assert_eq!((o.tag, o.window, o.slots), (i.tag, i.window, i.slots), "both ends agree");
                    prop_assert_eq!(i.from, schedule.rank());
                }
            }
            ranges.sort_unstable();
            prop_assert!(ranges.windows(2).all(|w| w[0].1 <= w[1].0));
            prop_assert!(ranges.last().is_none_or(|r| r.1 <= schedule.slot_bytes()));
        }
    }
}

#[test]
fn several_exchanges_one_after_the_other() {
    // A fast rank may begin the next exchange while others are still in this one; nothing may mix.
    let paths: Vec<Path> = [[0, 1, 2], [1, 2, 0], [2, 0, 1]].iter().zip(0..).map(|(r, id)| path(id, r, 5000)).collect();
    let options = ScheduleOptions { chunk: ChunkRule::Fixed(100), budget: 1000, window: 4, ..Default::default() };
    std::thread::scope(|scope| {
        for mut end in mesh(3) {
            let paths = &paths;
            scope.spawn(move || {
                let rank = end.rank();
                let schedule = Schedule::new(rank, 3, paths, &options).unwrap();
                let from = Rank((rank.0 + 1) % 3);
                for round in 0..20u64 {
                    let send: Vec<u8> = (0..5000).map(|i| byte_of(rank, i + round)).collect();
                    let mut receive = vec![0; 5000];
                    let run = ExecuteOptions { give_up_after: Some(Duration::from_secs(20)), ..Default::default() };
                    execute(&mut end, &schedule, &run, &Memory::new(&send, &mut receive)).unwrap();
                    assert!(receive.iter().zip(0..).all(|(&b, i)| b == byte_of(from, i + round)), "round {round}");
                }
            });
        }
    });
}

#[test]
fn a_rank_that_never_comes_is_named() {
    let paths = [path(0, &[0, 1], 10)];
    let mut ends = mesh(2);
    let schedule = Schedule::new(Rank(1), 2, &paths, &ScheduleOptions::default()).unwrap();
    let run = ExecuteOptions { give_up_after: Some(Duration::from_millis(50)), ..Default::default() };
    let mut receive = vec![0; 10];
    let e = execute(&mut ends[1], &schedule, &run, &Memory::new(&[], &mut receive)).unwrap_err();
    assert!(e.to_string().contains("chunk 0 of 1 of path 0 from rank 0"), "{e}");
}

#[test]
fn buffers_that_are_too_small_are_refused_before_anything_moves() {
    let paths = [Path { source_offset: 3, ..path(0, &[0, 1], 10) }];
    let mut end = mesh(2).remove(0);
    let schedule = Schedule::new(Rank(0), 2, &paths, &ScheduleOptions::default()).unwrap();
    let e = execute(&mut end, &schedule, &ExecuteOptions::default(), &Memory::new(&[0; 12], &mut [])).unwrap_err();
    assert_eq!(e, TransportError::BufferTooSmall { which: "send", found: 12, needed: 13 });
}

struct OneLink {
    rate: [f64; 1],
}

impl LinkMap for OneLink {
    fn rates(&self) -> &[f64] {
        &self.rate
    }
    fn links(&self, _: Rank, _: Rank) -> &[u32] {
        &[0]
    }
}

#[test]
fn a_paced_link_takes_at_least_its_time() {
    // Two legs share one link of 1 MB/s: 2 x 20,000 bytes over it take 40 ms at least. Only a lower bound is
    // asserted: a busy machine makes it longer, nothing makes it shorter.
    let paths = [path(0, &[0, 1, 2], 20_000)];
    let options = ScheduleOptions { chunk: ChunkRule::Fixed(1000), ..Default::default() };
    let start = Instant::now();
    let outcomes =
        run(paced_mesh(3, Box::new(OneLink { rate: [1e6] })), &paths, &options, <(QueueOrder, FlowControl)>::default());
    assert!(start.elapsed() >= Duration::from_millis(40));
    verify(&paths, &outcomes);
}

#[test]
fn the_in_process_back_end_is_what_its_capabilities_say() {
    let paths = [path(0, &[0, 1], 100_000)];
    let mut ends = mesh(2);
    let capabilities = ends[0].capabilities();
    assert_eq!(capabilities.name, ends[0].name());
    assert_eq!(capabilities.send_completion, SendCompletion::Local);
    assert!(!capabilities.end_waits_for_all_ranks && !capabilities.flush_blocks);
    // No limit is known: options stay what they are.
    let options = ScheduleOptions::default().within(&capabilities);
    assert_eq!(options, ScheduleOptions::default());
    // Sends complete, and the exchange of rank 0 ends, though rank 1 has not begun.
    let send = vec![7; 100_000];
    let schedule = Schedule::new(Rank(0), 2, &paths, &options).unwrap();
    let memory = Memory::new(&send, &mut []);
    let mut running = Running::begin(&mut ends[0], &schedule, &ExecuteOptions::default(), &memory).unwrap();
    let mut rounds = 0;
    while running.advance(&mut ends[0], &memory).unwrap() != Progress::Done {
        rounds += 1;
        assert!(rounds < 10);
    }
    // What it sent was copied, so the buffer could be reused; it arrives in place, without slots at the destination.
    let schedule = Schedule::new(Rank(1), 2, &paths, &options).unwrap();
    assert!(capabilities.delivers_in_place && schedule.forward_bytes() == 0);
    let mut receive = vec![0; 100_000];
    execute(&mut ends[1], &schedule, &ExecuteOptions::default(), &Memory::new(&[], &mut receive)).unwrap();
    assert_eq!(receive, send);
}

#[test]
fn middleware_has_the_capabilities_of_what_it_wraps() {
    let end = mesh(1).remove(0);
    let inner: Capabilities = end.capabilities();
    let boxed: Box<dyn Transport> = Box::new(end);
    let delayed = Delayed::new(boxed, || 0);
    assert_eq!((delayed.capabilities(), delayed.name()), (inner, "in-process"));
}
