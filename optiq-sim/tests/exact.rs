//! Against what is known exactly: sums of parts, queueing theory, and itself on more threads.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use optiq_net::Network;
use optiq_sim::model::Switching;
use optiq_sim::time::Time;
use optiq_sim::workload::synthetic::{Gaps, Open, Pattern, Sizes};
use optiq_sim::{Delivery, End, Host, Idle, Limits, Model, Outcome, Program, RunOptions, SimError, simulate};
use support::One;

/// Host 0 sends one message to another host; how many picoseconds that takes.
fn one(spec: &str, model: &Model, to: u32, bytes: u64) -> u64 {
    let network = Network::from_spec(spec).unwrap();
    let outcome = simulate(&network, model, vec![Box::new(One { to, bytes })], &RunOptions::default()).unwrap();
    assert_eq!((outcome.messages, outcome.payload_bytes, outcome.end), (1, bytes, End::Finished));
    outcome.time.as_picoseconds()
}

/// Without contention, a message takes the sum of its parts, to the picosecond.
#[test]
fn zero_load_latency_is_the_sum_of_its_parts() {
    let mut model = Model::default();
    model.link.packet_bytes = 1000;
    model.link.header_bytes = 24;
    model.link.terminal_latency_picoseconds = 11_001;
    model.link.local_latency_picoseconds = 20_003;
    model.link.global_latency_picoseconds = 90_007;
    model.router.delay_picoseconds = 70_011;
    model.router.buffer_bytes = 16 << 10;
    // 1 ns a byte on all links.
    let (t, l, g, r, packet) = (11_001, 20_003, 90_007, 70_011, 1_024_000);
    let cases = [
        // Two terminal links and a switch; cut through, so one time on the wire; three packets follow each other.
        ("star:4", 1, 1000, 2 * t + r + packet),
        ("star:4", 1, 3000, 2 * t + r + 3 * packet),
        ("star:4", 1, 2500, 2 * t + r + 2 * packet + 524_000),
        ("star:4", 1, 0, 2 * t + r + 24_000),
        // 2 + 4 + 2 hosts of a fat tree: 6 links, 5 switches.
        ("fattree:k=4", 15, 1000, 2 * t + 4 * l + 5 * r + packet),
        // Router, global link, router.
        ("dragonfly:p=1,a=2,h=1", 5, 1000, 0),
        // Three rings; the host's router and each one on the path have a delay; memory is at no distance, and without a
        // limit it takes a picosecond.
        ("torus:4x4x4", 0b01_01_01, 1000, 3 * l + 4 * r + packet + 1),
        ("torus:4", 2, 2000, 2 * l + 3 * r + 2 * packet + 1),
    ];
    for (spec, to, bytes, expected) in cases {
        let expected = match expected {
            0 => {
                // Whatever way minimal routing takes there.
                let network = Network::from_spec(spec).unwrap();
                let mut route = Vec::new();
                network.route(optiq_net::NodeId(0), optiq_net::NodeId(to), &mut route).unwrap();
                let local = route.len() as u64 - 3;
                2 * t + local * l + g + (local + 2) * r + packet
            }
            known => known,
        };
        assert_eq!(one(spec, &model, to, bytes), expected, "{spec}");
    }
    // Store and forward: the whole packet on each of three links.
    model.router.switching = Switching::StoreAndForward;
    assert_eq!(one("fattree:k=4", &model, 1, 1000), 2 * t + r + 2 * packet);
    // A faster link after a slower one must not run dry: its tail leaves when the slow one's has arrived.
    model.router.switching = Switching::CutThrough;
    let fast = one("dragonfly:p=1,a=2,h=1,terminal=500MB/s,local=2GB/s,global=2GB/s", &model, 1, 1000);
    let (slow, quick) = (2 * packet, packet / 2);
    assert_eq!(fast, t + (r + slow - quick) + l + r + slow + t);
}

/// Overheads and the rendezvous protocol add up as well.
#[test]
fn protocols_are_the_sum_of_their_parts() {
    let mut model = Model::default();
    model.link.terminal_latency_picoseconds = 10_000;
    model.router.delay_picoseconds = 50_000;
    model.host.send_overhead_picoseconds = 300_000;
    model.host.receive_overhead_picoseconds = 400_000;
    model.host.control_bytes = 32;
    let wire = |bytes: u64| 2 * 10_000 + 50_000 + bytes * 1000;
    assert_eq!(one("star:2", &model, 1, 1000), 300_000 + wire(1000) + 400_000);
    model.host.eager_bytes = 999;
    // The request, the answer, the bytes.
    assert_eq!(one("star:2", &model, 1, 1000), 300_000 + 2 * (wire(32) + 400_000) + wire(1000) + 400_000);
}

/// Mean waiting time of a single server and its 99 % confidence interval, from independent runs.
fn waiting(load: f64, sizes: Sizes, mean_bytes: f64) -> (f64, f64) {
    let mut model = Model::default();
    // A message is a packet.
    model.link.packet_bytes = 1 << 20;
    model.router.buffer_bytes = 1 << 30;
    let network = Network::from_spec("star:2").unwrap();
    let (runs, messages) = (20, 15_000);
    // 1 ns a byte.
    let gap = Time::picoseconds((mean_bytes * 1000.0 / load) as u64);
    let overhead = (2 * model.link.terminal_latency_picoseconds + model.router.delay_picoseconds) as f64;
    let means: Vec<f64> = (0..runs)
        .map(|seed| {
            let open = Open { pattern: Pattern::Shift(1), gaps: Gaps::Poisson(gap), sizes, messages, hosts: 2 };
            let programs: Vec<Box<dyn Program>> = vec![Box::new(open), Box::new(Idle)];
            let o = simulate(&network, &model, programs, &RunOptions { seed, ..RunOptions::default() }).unwrap();
            assert_eq!(o.messages, messages);
            // A histogram is right to a thousandth; what is left of it are the waits.
            o.message_latency_mean - overhead - o.payload_bytes as f64 / messages as f64 * 1000.0
        })
        .collect();
    let mean = means.iter().sum::<f64>() / runs as f64;
    let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (runs as f64 - 1.0);
    // Student's t, 19 degrees of freedom, 99 %.
    (mean, 2.861 * (variance / runs as f64).sqrt())
}

/// Pollaczek and Khinchine: W = rho s (1 + cv^2) / (2 (1 - rho)).
#[test]
fn single_servers_wait_as_queueing_theory_says() {
    let bytes = 1000;
    let cases = [
        ("M/D/1", Sizes::Fixed(bytes), 1000.0, 0.0),
        ("M/M/1", Sizes::Exponential(bytes), 1000.0, 1.0),
        // 200 or 1,800 bytes: a variance of 800 squared.
        ("M/G/1", Sizes::Either(200, 1800), 1000.0, 0.64),
    ];
    for (name, sizes, mean, squared_cv) in cases {
        for load in [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95] {
            let (found, interval) = waiting(load, sizes, mean);
            let exact = load * mean * 1000.0 * (1.0 + squared_cv) / (2.0 * (1.0 - load));
            assert!(
                (found - exact).abs() <= interval,
                "{name} at {load}: {found} +- {interval} ps, exactly {exact} ps"
            );
        }
    }
}

fn uniform(spec: &str, model: &Model, threads: usize, messages: u64, gap: u64) -> Outcome {
    let network = Network::from_spec(spec).unwrap();
    let hosts = network.hosts() as u32;
    let sizes = Sizes::Either(3000, 20_000);
    let gaps = Gaps::Poisson(Time::picoseconds(gap));
    let open = Open { pattern: Pattern::Uniform, gaps, sizes, messages, hosts };
    let programs = (0..hosts).map(|_| Box::new(open.clone()) as Box<dyn Program>).collect();
    let outcome =
        simulate(&network, model, programs, &RunOptions { threads, seed: gap, ..RunOptions::default() }).unwrap();
    assert_eq!((outcome.messages, outcome.end), (messages * u64::from(hosts), End::Finished), "{spec}");
    outcome
}

/// The same bits on any number of threads, on a network of each preset.
#[test]
fn threads_make_no_difference() {
    let cases = [
        ("bgq", "torus:4x2x2x4x2,capacity=2GB/s"),
        ("fattree-12.5", "fattree:6x6x4:1x6x2:1x1x3,capacity=12.5GB/s"),
        ("dragonfly+3456", "dragonfly+:p=2,l=4,s=4,h=4,terminal=17GB/s,local=5.6GB/s,global=4.7GB/s"),
        ("edison", "dragonfly:p=2,a=4,h=2,capacity=5GB/s"),
    ];
    for (preset, spec) in cases {
        let model = Model::read(preset).unwrap();
        // Half empty, and overloaded.
        for gap in [20_000_000, 2_000_000] {
            let alone = uniform(spec, &model, 1, 20, gap).fingerprint();
            for threads in [2, 3] {
                let other = uniform(spec, &model, threads, 20, gap).fingerprint();
                assert_eq!(other, alone, "{spec} on {threads} threads");
            }
        }
    }
}

/// Far beyond what the networks carry, with buffers of a packet or two, everything arrives.
#[test]
fn nothing_deadlocks_under_overload() {
    let mut model = Model::default();
    model.link.packet_bytes = 1024;
    model.router.buffer_bytes = 1024;
    for spec in [
        "torus:5x5",
        "torus:8",
        "torus:3x3x2,routing=zone1",
        "mesh:4x4",
        "fattree:k=4",
        "dragonfly:p=2,a=4,h=2",
        "dragonfly+:p=2,l=2,s=2,h=2",
        "torus:6,routing=shortest",
    ] {
        uniform(spec, &model, 1, 20, 1000);
    }
}

#[test]
fn limits_end_a_run_with_what_there_is() {
    let network = Network::from_spec("star:4").unwrap();
    let run = |limits: Limits| {
        let open = Open {
            pattern: Pattern::Uniform,
            gaps: Gaps::Fixed(Time::picoseconds(1_000_000)),
            sizes: Sizes::Fixed(100),
            messages: 1_000_000_000,
            hosts: 4,
        };
        let programs = (0..4).map(|_| Box::new(open.clone()) as Box<dyn Program>).collect();
        simulate(&network, &Model::default(), programs, &RunOptions { limits, ..RunOptions::default() }).unwrap()
    };
    let limit = Time::picoseconds(50_000_000);
    let o = run(Limits { time: Some(limit), ..Limits::default() });
    assert_eq!(o.end, End::TimeLimit);
    assert!(o.time <= limit && o.messages > 150, "{:?} {}", o.time, o.messages);
    let o = run(Limits { events: Some(1000), ..Limits::default() });
    assert!(o.end == End::EventLimit && (1000..1010).contains(&o.events), "{}", o.events);
    let o = run(Limits { wall: Some(std::time::Duration::from_millis(20)), ..Limits::default() });
    assert_eq!(o.end, End::WallLimit);
}

/// Waits for a message that never comes.
struct Waits;

impl Program for Waits {
    fn start(&mut self, _: &mut Host<'_>) {}
    fn received(&mut self, _: &mut Host<'_>, _: Delivery) {}
    fn waits_for(&self) -> Option<String> {
        Some("a message from host 1".into())
    }
}

#[test]
fn a_halt_says_who_waits_for_what() {
    let network = Network::from_spec("star:2").unwrap();
    let halted = simulate(&network, &Model::default(), vec![Box::new(Waits)], &RunOptions::default());
    let text = match halted {
        Err(error @ SimError::Deadlock { .. }) => error.to_string(),
        _ => panic!("no deadlock"),
    };
    assert!(text.contains("host 0 waits for a message from host 1"), "{text}");
}
