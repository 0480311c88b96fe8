//! GOAL schedules: their text, and how long they take where that can be computed by hand.
#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_net::Network;
use optiq_net::random::SplitMix64;
use optiq_sim::time::Time;
use optiq_sim::workload::goal::replay::{Replayed, replay};
use optiq_sim::workload::goal::schedule::{Goal, OperationKind};
use optiq_sim::{Limits, Model, RunOptions, SimError};
use proptest::prelude::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Links of 10 ns and 1 ns a byte, routers of 50 ns, 300 ns to send and 400 ns to receive.
fn model() -> Model {
    let mut model = Model::default();
    model.link.terminal_latency_picoseconds = 10_000;
    model.router.delay_picoseconds = 50_000;
    model.host.send_overhead_picoseconds = SEND;
    model.host.receive_overhead_picoseconds = RECEIVE;
    model
}

const SEND: u64 = 300_000;
const RECEIVE: u64 = 400_000;

/// From one memory to another, through a switch.
fn wire(bytes: u64) -> u64 {
    2 * 10_000 + 50_000 + bytes * 1000
}

fn run_on(spec: &str, model: &Model, text: &str) -> Result<Replayed, SimError> {
    replay(&Network::from_spec(spec).unwrap(), model, &Goal::parse(text).unwrap(), &RunOptions::default())
}

/// On two hosts and a switch.
fn times(model: &Model, first: &str, second: &str) -> Vec<u64> {
    let done = run_on("star:2", model, &two(first, second)).unwrap();
    assert!(done.finished() && done.unreceived.is_empty());
    picoseconds(&done)
}

/// When each rank was done.
fn picoseconds(done: &Replayed) -> Vec<u64> {
    done.finish.iter().map(|time| time.as_picoseconds()).collect()
}

fn two(first: &str, second: &str) -> String {
    format!("num_ranks 2\nrank 0 {{\n{first}\n}}\nrank 1 {{\n{second}\n}}\n")
}

fn failure(model: &Model, first: &str, second: &str) -> SimError {
    match run_on("star:2", model, &two(first, second)) {
        Err(error) => error,
        Ok(done) => panic!("it ended at {:?}", done.finish),
    }
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/goal").join(name)
}

#[test]
fn text_is_read() {
    let text = "\n// A comment.\nnum_ranks 3 /* another\n one */ rank 1 {\r\nl1: send 8b to 0 tag 5 cpu 0 nic 2\n
        l2: recv 16 b from -1 tag -1; l3 : calc 100 cpu 3; calc 7; l2 requires l1; l3 irequires l2 }
        rank 0\n{ recv 8b from 1 nic 1 tag 5 }";
    let goal = Goal::parse(text).unwrap();
    assert_eq!((goal.ranks(), goal.len(), goal.dependencies(), goal.is_empty()), (3, 5, 2, false));
    let one = goal.operations(1);
    assert_eq!((one[0].kind, one[0].nic, one[0].line), (OperationKind::Send { to: 0, bytes: 8, tag: 5 }, 2, 5));
    assert_eq!((one[1].kind, one[1].line), (OperationKind::Recv { from: None, bytes: 16, tag: None }, 7));
    assert_eq!((one[2].kind, one[2].cpu), (OperationKind::Calc { nanoseconds: 100 }, 3));
    assert_eq!(goal.operations(0)[0].kind, OperationKind::Recv { from: Some(1), bytes: 8, tag: Some(5) });
    assert!(goal.operations(2).is_empty() && goal.operations(9).is_empty());
    // Without a tag it is 0.
    let goal = Goal::parse("num_ranks 1 rank 0 { send 1b to 0 }").unwrap();
    assert_eq!(goal.operations(0)[0].kind, OperationKind::Send { to: 0, bytes: 1, tag: 0 });
    // As the format's own tools write it.
    let goal = Goal::parse(
        "num_ranks 2\n\nrank 0 {\nl1: send 8b to 1 tag 42001\n}\n\nrank 1 {\nl4: recv 8b from 0 tag 42001\n}\n",
    );
    assert_eq!(goal.unwrap().len(), 2);
}

#[test]
fn mistakes_are_told() {
    let body = |text: &str| format!("num_ranks 2\nrank 0 {{\n{text}\n}}\n");
    let cases = [
        (String::new(), "line 1: found the end of the text; \"num_ranks\" is expected"),
        ("num_ranks 0".into(), "line 1: found 0 ranks; at least 1"),
        ("num_ranks 9999999999".into(), "found 9999999999; a number of ranks of at most 1048576 is expected"),
        ("num_ranks 2\nrang 0 {}".into(), "line 2: found \"rang\"; \"rank\" is expected"),
        ("num_ranks 2\nrank 2 {}".into(), "line 2: found rank 2; one below 2 is expected"),
        ("num_ranks 2\nrank 0 {}\nrank 0 {}".into(), "line 3: found rank 0 a second time"),
        ("num_ranks 2\nrank 0 (".into(), "line 2: found '('; \"{\" is expected"),
        ("num_ranks 2\nrank 0 {\n".into(), "line 3: found the end of the text; \"send\", \"recv\", \"calc\", a label"),
        (body("/* no end"), "line 3: found a comment without an end"),
        (body("put 8b to 1"), "line 3: found \"8\"; \":\", \"requires\" or \"irequires\" after a label is expected"),
        (body("l: put 8b to 1"), "line 3: found \"put\"; \"send\", \"recv\" or \"calc\" is expected"),
        (body("send 8 to 1"), "line 3: found \"to\"; \"b\" is expected"),
        (body("send 8b from 1"), "line 3: found \"from\"; \"to\" is expected"),
        (body("send 8b to -1"), "found \"-1\"; the number of a rank is expected"),
        (body("send 8b to 1 tag -1"), "found \"-1\"; a tag is expected"),
        (body("recv 8b to 1"), "found \"to\"; \"from\" is expected"),
        (body("recv 8b from 7"), "line 3: found rank 7; one below 2 is expected"),
        (body("send 8b to 1 tag"), "line 3: found the end of the line; a tag is expected"),
        (body("send 8b to 1 tag 4294967295"), "found 4294967295; a tag of at most 4294967294 is expected"),
        (body("send 8b to 1 tag 1 tag 2"), "found \"tag\"; \"tag\", \"cpu\" or \"nic\", each at most once"),
        (body("calc 5 tag 1"), "found \"tag\""),
        (body("calc 5 cpu 256"), "found 256; the number of a cpu of at most 255 is expected"),
        (body("calc -5"), "line 3: found '-'; a number of nanoseconds is expected"),
        (body("calc 99999999999999999999"), "found 99999999999999999999; a number of nanoseconds of at most"),
        (body("calc 5\na: calc 1\na: calc 2"), "line 5: found label \"a\", which line 4 has too"),
        (body("a: calc 1\na requires b"), "line 4: found \"b\"; the label of an operation of rank 0 is expected"),
        (body("a: calc 1\nb irequires a"), "line 4: found \"b\"; the label"),
        (body("a: calc 1\na requires send"), "line 4: found \"send\"; the label of an operation is expected"),
        (body("a: calc 1\na requires a"), "line 3: found an operation that waits for itself"),
        (
            body("x: calc 1\na: calc 1\nb: calc 1\nx requires a\na requires b\nb irequires a"),
            "found an operation that waits for itself, by a cycle",
        ),
        (body("calc 1 calc 2"), "line 3: found \"calc\""),
        (body("calc 1 ü"), "found 'ü'"),
    ];
    for (text, expected) in cases {
        let found = Goal::parse(&text).unwrap_err().to_string();
        assert!(found.contains(expected), "{text:?}: {found}; {expected:?} is expected");
    }
    let found = Goal::read(Path::new("no such file")).unwrap_err().to_string();
    assert!(found.starts_with("GOAL schedule no such file: "), "{found}");
    let found = Goal::read(&data("../sim/bgq.toml")).unwrap_err().to_string();
    assert!(found.contains("bgq.toml:1: found '#'; \"num_ranks\" is expected"), "{found}");
}

#[test]
fn operations_take_the_sum_of_their_parts() {
    let model = model();
    // The send ends when 8 bytes have left; the receive when the receiver's processor has dealt with them.
    let ping = times(
        &model,
        "a: send 8b to 1 tag 5; b: calc 100; b requires a",
        "a: recv 8b from 0 tag 5; b: calc 50; b requires a",
    );
    assert_eq!(ping, [SEND + 8_000 + 100_000, SEND + wire(8) + RECEIVE + 50_000]);
    // The second send waits for the processor; the second message for the receiver's.
    let both = times(&model, "send 8b to 1 tag 1; send 8b to 1 tag 2", "recv 8b from 0 tag 2; recv 8b from 0 tag 1");
    assert_eq!(both, [2 * SEND + 8_000, SEND + wire(8) + 2 * RECEIVE]);
    // There and back.
    let pong = times(
        &model,
        "a: send 100b to 1; b: recv 100b from 1; b requires a",
        "a: recv 100b from 0; b: send 100b to 0; b requires a",
    );
    let there = SEND + wire(100) + RECEIVE;
    assert_eq!(pong, [2 * there, there + SEND + 100_000]);
    // A processor that calculates deals with a message later; another processor does not delay it.
    assert_eq!(times(&model, "send 8b to 1", "calc 2000; recv 8b from 0")[1], 2_000_000 + RECEIVE);
    assert_eq!(times(&model, "send 8b to 1", "calc 600 cpu 1; recv 8b from 0")[1], SEND + wire(8) + RECEIVE);
    // Start after the start, start after the end; on one processor one after the other.
    let one = |text| times(&model, text, "")[0];
    assert_eq!(one("a: calc 1000; b: calc 10 cpu 1; b irequires a"), 1_000_000);
    assert_eq!(one("a: calc 1000; b: calc 10 cpu 1; b requires a"), 1_010_000);
    assert_eq!(one("a: calc 1000; b: calc 10; b irequires a"), 1_010_000);
    assert_eq!(one("a: calc 1000; b: calc 0; c: calc 5 cpu 2; c irequires b; b irequires a"), 1_005_000);
    // To itself, without a limit on copies.
    assert_eq!(one("send 5b to 0 tag 3; recv 5b from 0 tag 3"), SEND);
}

#[test]
fn large_messages_wait_for_their_receives() {
    let mut model = model();
    model.host.eager_bytes = 999;
    // The question, the answer, the bytes.
    let trip = SEND + wire(32) + RECEIVE;
    let done = times(&model, "send 1000b to 1", "recv 1000b from 0");
    assert_eq!(done, [2 * trip + SEND + 1_000_000, 2 * trip + SEND + wire(1000) + RECEIVE]);
    // The question is there long before the receive.
    let done = times(&model, "send 1000b to 1", "a: calc 5000 cpu 1; b: recv 1000b from 0; b requires a");
    assert_eq!(done, [5_000_000 + trip + SEND + 1_000_000, 5_000_000 + trip + SEND + wire(1000) + RECEIVE]);
    // A small message overtakes the bytes of a large one, but not its place: the receives have just enough room.
    let done = times(
        &model,
        "send 1000b to 1 tag 7; send 8b to 1 tag 7",
        "a: recv 1000b from 0 tag 7; b: recv 8b from 0 tag 7; b requires a",
    );
    assert!(done[1] > 3_000_000);
    let done = times(&model, "send 1000b to 1; send 8b to 1", "recv 1000b from -1; recv 8b from 0 tag -1");
    assert!(done[1] > 3_000_000);
    // Both send before they receive: that is a deadlock of large messages only.
    let head_on =
        |bytes: u32| [1, 0].map(|to| format!("a: send {bytes}b to {to}; b: recv {bytes}b from {to}; b requires a"));
    let [first, second] = head_on(999);
    times(&model, &first, &second);
    let [first, second] = head_on(1000);
    let text = failure(&model, &first, &second).to_string();
    assert!(text.contains("host 0 waits for rank 1 to receive 1000 bytes, tag 0 (rank 0 line 3)"), "{text}");
    assert!(text.contains("host 1 waits for rank 0 to receive 1000 bytes, tag 0 (rank 1 line 6)"), "{text}");
}

#[test]
fn messages_are_matched_in_order() {
    let model = model();
    // The receives have room for one of the two only.
    times(&model, "send 8b to 1 tag 1; send 16b to 1 tag 1", "recv 8b from 0 tag 1; recv 16b from 0 tag 1");
    times(&model, "send 8b to 1 tag 1; send 16b to 1 tag 2", "recv 16b from 0 tag 2; recv 8b from 0 tag -1");
    times(
        &model,
        "send 8b to 1 tag 1; send 16b to 1 tag 2",
        "a: calc 9000; b: recv 8b from -1 tag -1; c: recv 16b from 0 tag 2; b requires a; c requires b",
    );
    let error =
        failure(&model, "send 16b to 1 tag 1; send 8b to 1 tag 1", "recv 8b from 0 tag 1; recv 16b from 0 tag 1");
    assert!(matches!(error, SimError::Trace(_)));
    let text = error.to_string();
    let expected = "rank 1 line 6: found 16 bytes from rank 0 (line 3); a message of at most 8 bytes is expected";
    assert_eq!(text, expected);
}

#[test]
fn deadlocks_and_what_is_left_over_are_told() {
    let model = model();
    let wait = |other: u32| {
        format!("a: recv 8b from {other} tag {other}\nb: send 8b to {other} tag {}\nb requires a", 1 - other)
    };
    let error = failure(&model, &wait(1), &wait(0));
    assert!(matches!(error, SimError::Deadlock { time: Time::ZERO, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("host 0 waits for a message of 8 bytes from rank 1, tag 1 (rank 0 line 3)"), "{text}");
    assert!(text.contains("host 1 waits for a message of 8 bytes from rank 0, tag 0 (rank 1 line 8)"), "{text}");
    // A tag that no rank sends: the receive waits, and no receive matches the message.
    let text =
        failure(&model, "send 8b to 1 tag 1", "recv 8b from 0 tag 2; recv 8b from -1 tag 3; recv 9b from 0 tag 4")
            .to_string();
    assert!(text.contains("from rank 0, tag 2 (rank 1 line 6), a message of 8 bytes from rank any, tag 3"), "{text}");
    assert!(text.contains("and 1 more"), "{text}");
    let done = run_on("star:2", &model, &two("send 8b to 1 tag 1", "calc 10")).unwrap();
    let told = "rank 0 line 3: rank 1 has no receive for 8 bytes with tag 1";
    assert_eq!(done.unreceived.iter().map(ToString::to_string).collect::<Vec<_>>(), [told]);
    let text = match run_on("star:2", &model, "num_ranks 3") {
        Err(error) => error.to_string(),
        Ok(_) => panic!("three ranks on two hosts"),
    };
    assert_eq!(text, "a schedule of 3 ranks; the network has 2 hosts");
    let text = failure(&model, "calc 9999999999999999", "").to_string();
    assert!(
        text.contains("rank 0 line 3: found a calculation of 9999999999999999 ns; an end before 4611686 s"),
        "{text}"
    );
}

#[test]
fn a_ring_completes_as_computed() {
    let goal = Goal::read(&data("ring-allreduce-16.goal")).unwrap();
    assert_eq!((goal.ranks(), goal.len()), (16, 16 * (30 + 30 + 15)));
    let mut model = model();
    model.host.send_overhead_picoseconds = 0;
    model.host.receive_overhead_picoseconds = 0;
    let network = Network::from_spec("star:16").unwrap();
    let run = |model: &Model, threads| {
        replay(&network, model, &goal, &RunOptions { threads, ..RunOptions::default() }).unwrap()
    };
    let done = run(&model, 1);
    // Everybody sends to the next one at the same time, over links of their own; in the first half sums are computed.
    assert_eq!(picoseconds(&done), [30 * wire(65_536) + 15 * 6_554_000; 16]);
    assert_eq!(done.outcome.payload_bytes, 16 * 30 * 65_536);
    assert!(done.finished() && done.unreceived.is_empty());
    // With questions and answers: two trips more at each step.
    model.host.eager_bytes = 1 << 15;
    let asking = run(&model, 1);
    assert_eq!(picoseconds(&asking), [30 * (wire(65_536) + 2 * wire(32)) + 15 * 6_554_000; 16]);
    let other = run(&model, 4);
    assert_eq!((other.finish, other.outcome.events), (asking.finish, asking.outcome.events));
}

#[test]
fn a_halo_exchange_hides_behind_its_interior() {
    let goal = Goal::read(&data("halo-8.goal")).unwrap();
    assert_eq!((goal.ranks(), goal.len()), (8, 8 * 3 * 8));
    let mut model = model();
    model.host.send_overhead_picoseconds = 0;
    model.host.receive_overhead_picoseconds = 0;
    let run = |spec: &str, model: &Model| {
        replay(&Network::from_spec(spec).unwrap(), model, &goal, &RunOptions::default()).unwrap()
    };
    // 56 KiB arrive in less than the 100 us of the interior; then the border's 20 us.
    assert_eq!(picoseconds(&run("star:8", &model)), [3 * 120_000_000; 8]);
    assert_eq!(picoseconds(&run("torus:2x2x2", &model)), [3 * 120_000_000; 8]);
    // On links of a tenth of the speed the faces take 573 us, which the first step's are all on one link for.
    let slow = picoseconds(&run("star:8,capacity=100MB/s", &model));
    assert!(slow.iter().all(|&t| t > 3 * (573_440_000 + 20_000_000)), "{slow:?}");
    // What processors do for six messages a step comes on top of it.
    model.host.send_overhead_picoseconds = SEND;
    model.host.receive_overhead_picoseconds = RECEIVE;
    assert_eq!(picoseconds(&run("star:8", &model)), [3 * (120_000_000 + 3 * SEND + 3 * RECEIVE); 8]);
}

/// A schedule that completes: messages in one order for all ranks, each with a tag of its own, and what a rank does only
/// waits for what it does earlier.
fn random_goal(seed: u64) -> String {
    let mut random = SplitMix64::new(seed);
    let ranks = 2 + random.below(6);
    let mut lists: Vec<Vec<String>> = vec![Vec::new(); ranks as usize];
    let mut dependencies: Vec<String> = vec![String::new(); ranks as usize];
    for tag in 0..random.below(40) {
        let source = random.below(ranks);
        let destination = (source + 1 + random.below(ranks - 1)) % ranks;
        let bytes = random.below(20_000);
        lists[source as usize].push(format!("send {bytes}b to {destination} tag {tag}"));
        lists[destination as usize].push(format!("recv {bytes}b from {source} tag {tag}"));
        let (nanoseconds, cpu) = (random.below(5000), random.below(3));
        lists[random.below(ranks) as usize].push(format!("calc {nanoseconds} cpu {cpu}"));
    }
    let mut text = format!("num_ranks {ranks}\n");
    for (rank, list) in lists.iter().enumerate() {
        writeln!(text, "rank {rank} {{").unwrap();
        for (i, operation) in list.iter().enumerate() {
            writeln!(text, "l{i}: {operation}").unwrap();
            if i > 0 && random.below(2) == 0 {
                let how = if random.below(3) == 0 { "irequires" } else { "requires" };
                writeln!(dependencies[rank], "l{i} {how} l{}", random.below(i as u64)).unwrap();
            }
        }
        writeln!(text, "{}}}", dependencies[rank]).unwrap();
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn schedules_survive_their_text_and_complete(seed: u64, eager in 0u64..20_000) {
        let goal = Goal::parse(&random_goal(seed)).unwrap();
        let text = goal.to_string();
        let again = Goal::parse(&text).unwrap();
        prop_assert_eq!(again.to_string(), text);
        prop_assert_eq!(again.dependencies(), goal.dependencies());
        for rank in 0..goal.ranks() {
            let kinds = |g: &Goal| g.operations(rank).iter().map(|o| (o.kind, o.cpu, o.nic)).collect::<Vec<_>>();
            prop_assert_eq!(kinds(&goal), kinds(&again));
        }
        let network = Network::from_spec("fattree:k=4").unwrap();
        let mut model = model();
        model.host.eager_bytes = eager;
        let run = |threads| replay(&network, &model, &goal, &RunOptions { threads, ..RunOptions::default() }).unwrap();
        let (one, three) = (run(1), run(3));
        prop_assert!(one.finished() && one.unreceived.is_empty());
        prop_assert_eq!(&one.finish, &three.finish);
        prop_assert_eq!(one.outcome.events, three.outcome.events);
        prop_assert!(one.time() <= one.outcome.time);
    }

    /// Any text is either refused with a reason, or can be run, up to a limit.
    #[test]
    fn no_text_brings_it_down(seed: u64, changes in 1usize..8) {
        let mut bytes = random_goal(seed).into_bytes();
        let mut random = SplitMix64::new(seed ^ 0x5bd1);
        let pieces = [
            "{", "}", ":", ";", "\n", "-1", "99999999999999999999", "18446744073709551615", "4294967295", "send", "recv ", "calc ",
            " requires ", "irequires", "/*", "*/", "//", "0", "l1", "num_ranks ", "rank ", "b", "tag -1", "ä", "\u{0}", " cpu 9",
        ];
        // Half of them stay texts of the right form: digits and lines change.
        let gentle = random.below(2) == 0;
        for _ in 0..changes {
            let at = random.below(bytes.len() as u64 + 1) as usize;
            match random.below(4) {
                0 | 1 if gentle => {
                    let digits: Vec<usize> = (12..bytes.len()).filter(|&i| bytes[i].is_ascii_digit()).collect();
                    if !digits.is_empty() {
                        bytes[digits[random.below(digits.len() as u64) as usize]] = b'0' + random.below(10) as u8;
                    }
                }
                how if gentle => {
                    let mut lines: Vec<Vec<u8>> = bytes.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
                    let line = lines.remove(random.below(lines.len() as u64) as usize);
                    if how == 2 {
                        lines.insert(random.below(lines.len() as u64 + 1) as usize, line);
                    }
                    bytes = lines.join(&b'\n');
                }
                0 if at < bytes.len() => { bytes.remove(at); }
                1 if at < bytes.len() => bytes[at] = random.below(256) as u8,
                2 => bytes.truncate(at),
                _ => {
                    let piece = pieces[random.below(pieces.len() as u64) as usize];
                    bytes.splice(at..at, piece.bytes());
                }
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(goal) = Goal::parse(&text) && goal.ranks() <= 16 {
            let limits = Limits { events: Some(20_000), ..Limits::default() };
            let network = Network::from_spec("star:16").unwrap();
            let _ = replay(&network, &model(), &goal, &RunOptions { limits, ..RunOptions::default() });
        }
    }
}
