//! The chunk scheduler in virtual time: everything arrives, and as fast as the paths allow.
#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_net::Network;
use optiq_sim::model::Carry;
use optiq_sim::time::Time;
use optiq_sim::workload::exchange::{Method, exchange};
use optiq_sim::workload::message::Message;
use optiq_sim::{Model, RunOptions};
use optiq_transport::{Path, PathId, QueueOrder, Rank, ScheduleOptions};

const MB: u64 = 1_000_000;

fn model() -> Model {
    let mut model = Model::default();
    model.link.local_latency_picoseconds = 40_000;
    model.host.send_overhead_picoseconds = 500_000;
    model.host.receive_overhead_picoseconds = 500_000;
    model
}

fn path(id: u32, ranks: &[u32], bytes: u64, offset: u64) -> Path {
    let ranks = ranks.iter().copied().map(Rank).collect();
    Path { id: PathId(id), ranks, bytes, source_offset: offset, destination_offset: offset, starts_at: None, class: 0 }
}

fn paths(paths: Vec<Path>) -> Method {
    Method::Paths { paths, options: ScheduleOptions::default(), order: QueueOrder::default(), carry: Carry::default() }
}

/// Two ways around a ring of four at 1 GB/s: half of 8 MB on each takes 4 ms, the one way takes 8.
#[test]
fn two_ways_are_twice_as_fast() {
    let network = Network::from_spec("torus:4,capacity=1GB/s").unwrap();
    let messages = [Message { source: 0, destination: 2, bytes: 8 * MB, class: 0 }];
    let method = paths(vec![path(0, &[0, 1, 2], 4 * MB, 0), path(1, &[0, 3, 2], 4 * MB, 4 * MB)]);
    let options = RunOptions::default();
    let two = exchange(&network, &model(), &messages, &method, &options).unwrap();
    // Both legs, and credits of 32 bytes, fewer than chunks.
    let credits = two.outcome.payload_bytes - 2 * (8 * MB);
    assert!(credits.is_multiple_of(32) && credits < 32 * two.outcome.messages, "{credits}");
    let share = 0.004 / two.time().seconds();
    assert!((0.93..1.0).contains(&share), "{share}");
    let one = exchange(&network, &model(), &messages, &Method::Linear, &options).unwrap();
    assert_eq!(one.outcome.payload_bytes, 8 * MB);
    let share = 0.008 / one.time().seconds();
    assert!((0.99..1.0).contains(&share), "{share}");
}

/// Puts need no request and are confirmed on arrival: the overheads of two messages a chunk in place of four.
#[test]
fn puts_need_no_questions() {
    let network = Network::from_spec("torus:4,capacity=1GB/s").unwrap();
    let mut model = model();
    model.host.eager_bytes = 2048;
    model.host.send_overhead_picoseconds = 20_000_000;
    model.host.receive_overhead_picoseconds = 20_000_000;
    let messages = [Message { source: 0, destination: 2, bytes: 8 * MB, class: 0 }];
    let run = |carry| {
        let paths = vec![path(0, &[0, 1, 2], 4 * MB, 0), path(1, &[0, 3, 2], 4 * MB, 4 * MB)];
        let method = Method::Paths { paths, options: ScheduleOptions::default(), order: QueueOrder::default(), carry };
        let done = exchange(&network, &model, &messages, &method, &RunOptions::default()).unwrap();
        assert!(done.finished());
        // All chunks on both legs, and short messages.
        assert!(done.outcome.payload_bytes >= 16 * MB && done.outcome.payload_bytes < 16 * MB + 100_000);
        done.time()
    };
    let (two, one) = (run(Carry::TwoSided), run(Carry::OneSided));
    assert!(one < two, "{one:?} {two:?}");
}

#[test]
fn plain_algorithms_deliver_everything_also_to_oneself() {
    let network = Network::from_spec("fattree:k=4").unwrap();
    let all = (0..16).flat_map(|s| (0..16).map(move |d| (s, d)));
    let messages: Vec<Message> = all
        .map(|(source, destination)| Message { source, destination, bytes: u64::from(source * destination), class: 0 })
        .collect();
    let bytes: u64 = messages.iter().filter(|m| m.source != m.destination).map(|m| m.bytes).sum();
    for method in [Method::Linear, Method::Pairwise] {
        let done = exchange(&network, &model(), &messages, &method, &RunOptions::default()).unwrap();
        assert!(done.finished() && done.done.iter().skip(1).all(|&t| t > Time::ZERO));
        assert_eq!(done.outcome.payload_bytes, bytes);
    }
}

#[test]
fn threads_make_no_difference_to_an_exchange() {
    let network = Network::from_spec("torus:3x3,capacity=2GB/s").unwrap();
    let messages = [
        Message { source: 0, destination: 4, bytes: 3 * MB, class: 0 },
        Message { source: 1, destination: 8, bytes: MB, class: 0 },
    ];
    let method = paths(vec![
        path(0, &[0, 1, 4], MB, 0),
        path(1, &[0, 3, 4], 2 * MB, MB),
        path(2, &[1, 2, 8], MB / 2, 0),
        path(3, &[1, 7, 8], MB / 2, MB / 2),
    ]);
    let run = |threads| {
        let done = exchange(&network, &model(), &messages, &method, &RunOptions { threads, ..RunOptions::default() });
        let done = done.unwrap();
        (done.done, done.outcome.events, done.outcome.link_bytes)
    };
    assert_eq!(run(1), run(2));
    assert_eq!(run(1), run(4));
}

#[test]
fn unknown_hosts_are_refused() {
    let network = Network::from_spec("star:4").unwrap();
    let messages = [Message { source: 0, destination: 4, bytes: 1, class: 0 }];
    let text = match exchange(&network, &model(), &messages, &Method::Linear, &RunOptions::default()) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("host 4 of 4 was accepted"),
    };
    assert!(text.contains("to host 4; there are 4 hosts"), "{text}");
}
