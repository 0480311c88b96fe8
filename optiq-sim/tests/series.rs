//! What links carry and what waits in queues over time: against values derived by hand, and against itself.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use optiq_net::{LinkId, Network};
use optiq_sim::time::Time;
use optiq_sim::workload::synthetic::{Gaps, Open, Pattern, Sizes};
use optiq_sim::{
    Checkpoints, End, Limits, Model, Outcome, Program, QueueKind, QueueSeries, Recording, RunOptions, Series, simulate,
};
use std::sync::Mutex;
use support::One;

const MICROSECOND: Time = Time::picoseconds(1_000_000);

/// Packets of 1000 bytes, a microsecond each at 1 GB/s; a microsecond from router to router.
fn model() -> Model {
    let mut model = Model::default();
    model.link.packet_bytes = 1000;
    model.link.header_bytes = 0;
    model.link.terminal_latency_picoseconds = 1_000_000;
    model.link.local_latency_picoseconds = 1_000_000;
    model.router.delay_picoseconds = 0;
    model.router.buffer_bytes = 8000;
    model
}

fn messages(spec: &str, model: &Model, all: &[(u32, u64)], series: Recording) -> (Network, Outcome) {
    let network = Network::from_spec(spec).unwrap();
    let programs = all.iter().map(|&(to, bytes)| Box::new(One { to, bytes }) as Box<dyn Program>).collect();
    let outcome = simulate(&network, model, programs, &RunOptions { series, ..RunOptions::default() }).unwrap();
    (network, outcome)
}

/// A queue's kind, where it begins and ends, its lane, its number, what waits in each microsecond, and the most in each.
type Told = (QueueKind, u32, Option<u32>, u32, u32, Vec<u64>, Vec<u64>);

fn told(network: &Network, queue: &QueueSeries) -> Told {
    let QueueSeries { kind, from, link, lane, virtual_channel, waiting_bytes, waiting_most } = queue.clone();
    (kind, from.0, link.map(|l| network.link(l).to.0), lane, virtual_channel, waiting_bytes, waiting_most)
}

fn link(network: &Network, from: u32, to: u32) -> usize {
    network.links().iter().position(|l| (l.from.0, l.to.0) == (from, to)).unwrap()
}

/// Two hosts send two packets each to a third one. Each of them takes the emptier of two virtual channels: the first one
/// virtual channel 0, the second one virtual channel 1. Packets are at the switch after 1 and 2 microseconds, and leave it
/// one by one from 1 on. Of those that ask it takes the first input after the one before, around: host 1's at 1 and at 2, as
/// they come, then host 0's at 3 and at 4, of which the first has waited since 1 and the second since 2.
#[test]
fn each_virtual_channel_has_a_queue() {
    let mut model = model();
    model.router.lanes = 2;
    let all = [(2, 2000), (2, 2000)];
    let (network, outcome) = messages("star:3", &model, &all, Recording::Queues);
    // The last packet leaves at 4, and is there two latencies and a microsecond on the wire later.
    assert_eq!(outcome.time, MICROSECOND * 6);
    let series = outcome.series.unwrap();
    assert_eq!(series.interval, MICROSECOND);
    let (switch, none) = (3, vec![0; 7]);
    let at = |at: &[usize]| (0..7).map(|i| if at.contains(&i) { 1000 } else { 0 }).collect::<Vec<u64>>();
    let expected = vec![
        // What leaves at the end of an interval is not in the next one.
        (QueueKind::Input, 0, Some(switch), 0, 0, at(&[1, 2]), at(&[1, 2])),
        (QueueKind::Input, 0, Some(switch), 0, 1, at(&[2, 3]), at(&[2, 3])),
        (QueueKind::Input, 1, Some(switch), 0, 0, none.clone(), at(&[1])),
        (QueueKind::Input, 1, Some(switch), 0, 1, none.clone(), at(&[2])),
        // One of two packets waits in memory for as long as the other takes.
        (QueueKind::Memory, 0, Some(switch), 0, 0, at(&[0]), vec![2000, 0, 0, 0, 0, 0, 0]),
        (QueueKind::Memory, 1, Some(switch), 0, 0, at(&[0]), vec![2000, 0, 0, 0, 0, 0, 0]),
    ];
    assert_eq!(
        series.queues.as_ref().unwrap().iter().map(|queue| told(&network, queue)).collect::<Vec<Told>>(),
        expected
    );
    let (first, second) = (link(&network, 0, switch), link(&network, 1, switch));
    let row = |of: usize| series.waiting_bytes.iter().map(|row| row[of]).collect::<Vec<_>>();
    assert_eq!((row(first), series.waiting_most[first]), (vec![0, 1000, 2000, 1000, 0, 0, 0], 2000));
    // Host 1's first packet has left when its second one comes.
    assert_eq!((row(second), series.waiting_most[second]), (none, 1000));
    // Without queues the rest is the same.
    let (_, links) = messages("star:3", &model, &all, Recording::Links);
    assert_eq!(links.series, Some(Series { queues: None, ..series }));
    assert_eq!(messages("star:3", &model, &all, Recording::Nothing).1.series, None);
}

/// Host 0 puts a packet into its router each half microsecond. Two lanes lead to host 1: the first packet takes lane 0, the
/// second one lane 1, which is idle. Their heads are there after 1 and 1.5 microseconds. The first one goes on at once, the
/// second one when that is over, at 2: there are never two.
#[test]
fn each_lane_has_a_queue_and_the_link_its_own_maximum() {
    let mut model = model();
    model.host.injection_bytes_per_second = 2e9;
    model.host.ejection_bytes_per_second = 1e9;
    let (network, outcome) = messages("torus:2", &model, &[(1, 2000)], Recording::Queues);
    assert_eq!(outcome.time, MICROSECOND * 3);
    let series = outcome.series.unwrap();
    let expected = vec![
        (QueueKind::Input, 0, Some(1), 0, 0, vec![0; 4], vec![0, 1000, 0, 0]),
        (QueueKind::Input, 0, Some(1), 1, 0, vec![0, 500, 0, 0], vec![0, 1000, 0, 0]),
        // Each packet goes on as its head comes.
        (QueueKind::Injection, 0, Some(1), 0, 0, vec![0; 4], vec![1000, 0, 0, 0]),
        (QueueKind::Memory, 0, Some(1), 0, 0, vec![500, 0, 0, 0], vec![2000, 0, 0, 0]),
    ];
    assert_eq!(
        series.queues.as_ref().unwrap().iter().map(|queue| told(&network, queue)).collect::<Vec<Told>>(),
        expected
    );
    let there = link(&network, 0, 1);
    assert_eq!(network.link(LinkId(there as u32)).lanes, 2);
    assert_eq!(series.waiting_most[there], 1000);
    assert_eq!(series.waiting_bytes.iter().map(|row| row[there]).collect::<Vec<_>>(), [0, 500, 0, 0]);
}

/// A run that a limit has ended between two events.
#[test]
fn runs_that_were_ended_have_series() {
    let mut model = model();
    model.router.lanes = 2;
    let network = Network::from_spec("star:3").unwrap();
    for quarter in 0..=24 {
        let one = |to, bytes| Box::new(One { to, bytes }) as Box<dyn Program>;
        let limits = Limits { time: Some(MICROSECOND * quarter / 4), ..Limits::default() };
        let options = RunOptions { series: Recording::Queues, limits, ..RunOptions::default() };
        let part = simulate(&network, &model, vec![one(2, 2000), one(2, 2000)], &options).unwrap();
        let series = part.series.unwrap();
        for queue in &series.queues.unwrap() {
            let mut pairs = queue.waiting_bytes.iter().zip(&queue.waiting_most);
            assert!(pairs.all(|(mean, most)| mean <= most), "{queue:?}");
        }
    }
}

/// What happened over time adds up, and is the same on any number of threads and with checkpoints.
#[test]
fn series_add_up_and_go_on() {
    // A dragonfly, and a torus with links of two lanes.
    for (spec, gap, kinds) in
        [("dragonfly:p=2,a=4,h=2,capacity=5GB/s", 10_000_000, 2), ("torus:4x2x2,capacity=2GB/s", 8_000_000, 3)]
    {
        adds_up_and_goes_on(spec, gap, kinds);
    }
}

fn adds_up_and_goes_on(spec: &str, gap: u64, kinds: usize) {
    let (network, model) = (Network::from_spec(spec).unwrap(), Model::for_topology(spec));
    let hosts = network.hosts() as u32;
    let run = |options: RunOptions<'_>| {
        let (gaps, sizes) = (Gaps::Poisson(Time::picoseconds(gap)), Sizes::Either(3000, 20_000));
        let open = Open { pattern: Pattern::Uniform, gaps, sizes, messages: 40, hosts };
        let programs = (0..hosts).map(|_| Box::new(open.clone()) as Box<dyn Program>).collect();
        simulate(&network, &model, programs, &RunOptions { series: Recording::Queues, ..options }).unwrap()
    };
    let whole = run(RunOptions::default());
    let series = whole.series.clone().unwrap();
    // 0.2 ms and more, in intervals of a power of two microseconds.
    assert!((128..=256).contains(&series.bytes.len()), "{} intervals", series.bytes.len());
    assert!((series.interval / MICROSECOND).is_power_of_two() && series.interval % MICROSECOND == Time::ZERO);
    for (link, &bytes) in whole.link_bytes.iter().enumerate() {
        assert_eq!(series.bytes.iter().map(|row| row[link]).sum::<u64>(), bytes, "link {link}");
        let most = series.waiting_bytes.iter().map(|row| row[link]).max().unwrap();
        assert!(most <= series.waiting_most[link], "link {link}");
    }
    // What waits at a link's end is what waits in its buffers, but for means that are rounded down. The most is at least the
    // most of each of them, and at most the most of all of them together, which on some links is more.
    let (mut rest, mut sums) = (series.waiting_bytes.clone(), vec![0; network.links().len()]);
    let queues = series.queues.as_ref().unwrap();
    for queue in queues.iter().filter(|queue| queue.kind == QueueKind::Input) {
        let link = queue.link.unwrap().index();
        assert_eq!(network.links()[link].from, queue.from);
        assert!(queue.most() <= series.waiting_most[link]);
        sums[link] += queue.most();
        for (row, mean) in rest.iter_mut().zip(&queue.waiting_bytes) {
            row[link] -= mean;
        }
    }
    assert!(rest.iter().flatten().all(|&rest| rest <= 8), "{rest:?}");
    assert!(sums.iter().zip(&series.waiting_most).all(|(sum, most)| most <= sum));
    assert!(sums != series.waiting_most && series.waiting_most.iter().any(|&most| most > 0));
    let mut found: Vec<QueueKind> = queues.iter().map(|queue| queue.kind).collect();
    assert!(found.is_sorted());
    found.dedup();
    assert_eq!(found.len(), kinds);
    // Every host sends something.
    let mut senders: Vec<_> = queues.iter().filter(|q| q.kind == QueueKind::Memory).map(|q| q.from.0).collect();
    senders.dedup();
    assert_eq!(senders, (0..hosts).collect::<Vec<_>>());
    assert_eq!(run(RunOptions { threads: 3, ..RunOptions::default() }).series, Some(series.clone()));
    for threads in [1, 2] {
        let kept = Mutex::new(Vec::new());
        let keep = |bytes: &[u8]| {
            *kept.lock().unwrap() = bytes.to_vec();
            Ok(())
        };
        let limits = Limits { events: Some(whole.events / 2), ..Limits::default() };
        let checkpoints = Some(Checkpoints { every: None, keep: &keep });
        let first = run(RunOptions { limits, checkpoints, threads, ..RunOptions::default() });
        assert_eq!(first.end, End::EventLimit);
        let half = kept.lock().unwrap().clone();
        let resumed = run(RunOptions { resume: Some(&half), ..RunOptions::default() });
        assert_eq!(resumed.series.as_ref(), Some(&series), "{spec}, {threads} threads");
        assert_eq!(resumed.fingerprint(), whole.fingerprint());
    }
}
