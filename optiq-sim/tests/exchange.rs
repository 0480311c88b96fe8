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

/// Hosts 0 and 1 send each other 8 MB at 1 GB/s, 0 sends 2 MB to 2: both ways at a time takes 10 ms. Where only 1 MB goes both ways, host 1
/// sends the 7 MB that are left once 0's 8 MB are there: 17 ms.
#[test]
fn directions_of_a_pair_follow_each_other_where_the_model_says_so() {
    let network = Network::from_spec("star:3,capacity=1GB/s").unwrap();
    let message = |source, destination, bytes| Message { source, destination, bytes, class: 0 };
    let messages = [message(0, 1, 8 * MB), message(1, 0, 8 * MB), message(0, 2, 2 * MB)];
    let run = |both_ways_bytes: Option<u64>, messages: &[Message]| {
        let mut model = model();
        model.host.both_ways_bytes = both_ways_bytes;
        let done = exchange(&network, &model, messages, &Method::Linear, &RunOptions::default()).unwrap();
        assert!(done.finished());
        assert_eq!(done.outcome.payload_bytes, messages.iter().map(|m| m.bytes).sum::<u64>());
        done.done.iter().map(|t| t.seconds() * 1e3).collect::<Vec<f64>>()
    };
    let (free, bound) = (run(None, &messages), run(Some(MB), &messages));
    let near = |times: &[f64], expected: [f64; 3]| {
        assert!(times.iter().zip(expected).all(|(t, e)| (0.99..1.03).contains(&(t / e))), "{times:?} {expected:?}");
    };
    // Host 0's messages take turns: the shorter one has left after twice its time.
    near(&free, [10.0, 10.0, 4.0]);
    near(&bound, [17.0, 17.0, 4.0]);
    // One way alone, or few bytes the other way, are no pair that waits.
    for messages in [&messages[1..], &[message(0, 1, MB), message(1, 0, 8 * MB)]] {
        assert_eq!(run(Some(MB), messages), run(None, messages));
    }
}
