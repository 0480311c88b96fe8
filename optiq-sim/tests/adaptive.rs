//! Adaptive routing in whole simulations: nothing deadlocks, threads make no difference, and it does what it is for.
#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_net::{Class, LinkId, Network};
use optiq_sim::model::{Arbitration, Queues, Switching};
use optiq_sim::time::Time;
use optiq_sim::workload::synthetic::{Gaps, Open, Pattern, Sizes};
use optiq_sim::{End, Model, Outcome, Policy, Program, RunOptions, simulate};

const FPAR: Policy = Policy::Fpar { threshold: Policy::FPAR_THRESHOLD };

/// A routing on each kind of network that it is for.
const CASES: [(&str, Policy); 12] = [
    ("torus:8", Policy::MinimalAdaptive),
    ("torus:5x4x2", Policy::MinimalAdaptive),
    ("torus:4x2x2x4x2", Policy::MinimalAdaptive),
    ("mesh:5x5", Policy::MinimalAdaptive),
    ("fattree:k=4", Policy::RandomUp),
    ("fattree:6x6x4:1x6x2:1x1x3", Policy::AdaptiveUp),
    ("fattree:3x3x2:1x3x2:1x1x2,rails=2", Policy::AdaptiveUp),
    ("dragonfly:p=2,a=4,h=2", Policy::Valiant),
    ("dragonfly:p=2,a=4,h=2", Policy::Ugal),
    ("dragonfly:p=2,a=4,h=2", Policy::Par),
    ("dragonfly+:p=2,l=4,s=4,h=4,g=5", FPAR),
    ("dragonfly+:p=2,l=2,s=2,h=2", FPAR),
];

fn run(spec: &str, model: &Model, open: Open, options: &RunOptions<'_>) -> Outcome {
    let network = Network::from_spec(spec).unwrap();
    let hosts = network.hosts() as u32;
    let open = Open { hosts, ..open };
    let programs = (0..hosts).map(|_| Box::new(open.clone()) as Box<dyn Program>).collect();
    let outcome = simulate(&network, model, programs, options).unwrap_or_else(|e| panic!("{spec}: {e}"));
    let messages = open.messages * u64::from(hosts);
    assert_eq!((outcome.messages, outcome.end), (messages, End::Finished), "{spec}");
    outcome
}

fn open(pattern: Pattern, bytes: u64, gap: u64, messages: u64) -> Open {
    Open { pattern, gaps: Gaps::Poisson(Time::picoseconds(gap)), sizes: Sizes::Fixed(bytes), messages, hosts: 0 }
}

/// Far beyond what the networks carry, with buffers of one packet or two, and lanes or not.
#[test]
fn nothing_deadlocks_under_overload() {
    let first_come = Arbitration::FirstCome;
    let others = [(1, 1, Arbitration::RoundRobin), (2, 1, Arbitration::RoundRobin), (1, 3, Arbitration::RoundRobin)];
    for (packets, lanes, arbitration) in others.into_iter().chain([(1, 1, first_come), (2, 3, first_come)]) {
        let mut model = Model::default();
        model.router.arbitration = arbitration;
        model.link.packet_bytes = 1024;
        model.router.buffer_bytes = packets * 1024;
        model.router.lanes = lanes;
        model.router.local_buffer_bytes = (lanes == 3).then_some(1024);
        for (spec, routing) in CASES {
            for pattern in [Pattern::Uniform, Pattern::Shift(7)] {
                let options = RunOptions { routing, seed: packets, ..RunOptions::default() };
                let traffic = Open { sizes: Sizes::Either(700, 20_000), ..open(pattern, 0, 1000, 20) };
                run(spec, &model, traffic, &options);
            }
        }
    }
}

#[test]
fn threads_make_no_difference() {
    for (spec, routing) in CASES {
        let mut model = Model::for_topology(spec);
        model.router.buffer_bytes = 2 * (model.link.packet_bytes + model.link.header_bytes);
        for (gap, arbitration, queues) in [
            (20_000_000, Arbitration::RoundRobin, Queues::Inputs),
            (1_000_000, Arbitration::RoundRobin, Queues::Outputs),
            (1_000_000, Arbitration::Age, Queues::Inputs),
            (1_000_000, Arbitration::FirstCome, Queues::Inputs),
        ] {
            (model.router.arbitration, model.router.queues) = (arbitration, queues);
            if gap == 1_000_000 {
                // Everything that also makes a difference to who goes first.
                model.router.lanes = if queues == Queues::Outputs { 1 } else { 2 };
                model.router.switching = Switching::StoreAndForward;
                model.host.eager_bytes = 10_000;
            }
            let same = |threads| {
                let traffic = Open { sizes: Sizes::Either(3000, 20_000), ..open(Pattern::Uniform, 0, gap, 12) };
                let options = RunOptions { routing, threads, seed: gap, ..RunOptions::default() };
                run(spec, &model, traffic, &options).fingerprint()
            };
            let alone = same(1);
            for threads in [2, 3] {
                assert!(same(threads) == alone, "{routing} on {spec}, {threads} threads, gap {gap}");
            }
        }
    }
}

/// Buffers within groups may have a size of their own: the others' makes no difference, a smaller one does, with the fabric's own routes
/// as with adaptive ones.
#[test]
fn buffers_within_groups_may_be_smaller() {
    for (spec, routing) in CASES.into_iter().chain([("dragonfly:p=2,a=4,h=2", Policy::Fabric)]) {
        let found = |local_buffer_bytes: Option<u64>| {
            let mut model = Model::default();
            model.router.local_buffer_bytes = local_buffer_bytes;
            let options = RunOptions { routing, seed: 3, ..RunOptions::default() };
            run(spec, &model, open(Pattern::Uniform, 20_000, 1000, 12), &options).fingerprint()
        };
        assert!(found(None) == found(Some(65_536)), "{routing} on {spec}");
        assert!(found(None) != found(Some(4096)), "{routing} on {spec}");
    }
}

/// Other seeds make other choices, the same seed the same ones.
#[test]
fn seeds_decide() {
    let links = |seed| {
        let options = RunOptions { routing: Policy::RandomUp, seed, ..RunOptions::default() };
        let traffic = Open { gaps: Gaps::Fixed(Time::picoseconds(1000)), ..open(Pattern::Shift(5), 40_000, 0, 3) };
        run("fattree:k=4", &Model::default(), traffic, &options).link_bytes
    };
    assert!(links(1) == links(1) && links(1) != links(2));
}

/// How long all of group i takes to send to group i + 1.
fn adversarial(spec: &str, model: &Model, per_group: u32, routing: Policy) -> f64 {
    let traffic = open(Pattern::Shift(per_group), model.link.packet_bytes, 1000, 200);
    let o = run(spec, model, traffic, &RunOptions { routing, seed: 5, ..RunOptions::default() });
    o.time.seconds()
}

/// Where minimal routing has one cable between two groups for all of their hosts, adaptive routing uses all the others.
#[test]
fn adversarial_traffic_is_spread_over_other_groups() {
    let spec = "dragonfly:p=3,a=6,h=3,capacity=5GB/s";
    let model = Model::for_topology(spec);
    let minimal = adversarial(spec, &model, 18, Policy::Fabric);
    for (routing, least) in [(Policy::Valiant, 4.0), (Policy::Ugal, 4.0), (Policy::Par, 4.0)] {
        let gain = minimal / adversarial(spec, &model, 18, routing);
        println!("{routing} on {spec}: {gain:.2} times as fast as minimal");
        assert!(gain >= least, "{routing}: {gain}");
    }
    let spec = "dragonfly+:p=4,l=4,s=4,h=4,terminal=17GB/s,local=5.6GB/s,global=4.7GB/s";
    let model = Model::for_topology(spec);
    let minimal = adversarial(spec, &model, 16, Policy::Fabric);
    let gain = minimal / adversarial(spec, &model, 16, FPAR);
    println!("{FPAR} on {spec}: {gain:.2} times as fast as minimal");
    assert!(gain >= 4.0, "{gain}");
}

/// Bytes on global links.
fn global_bytes(spec: &str, o: &Outcome) -> u64 {
    let network = Network::from_spec(spec).unwrap();
    (0..network.links().len() as u32)
        .filter(|&l| network.class(LinkId(l)) == Class::Global)
        .map(|l| o.link_bytes[l as usize])
        .sum()
}

/// At low load no packet leaves the minimal paths. At a high one the fewer do the higher the threshold is; with a threshold
/// of 0 no packet does, as no score is below it.
#[test]
fn fpar_leaves_minimal_paths_only_above_the_threshold() {
    let spec = "dragonfly+:p=4,l=4,s=4,h=4,g=9,terminal=17GB/s,local=5.6GB/s,global=4.7GB/s";
    let model = Model::for_topology(spec);
    let go = |routing, gap| {
        let traffic = open(Pattern::Shift(16), 4096, gap, 50);
        run(spec, &model, traffic, &RunOptions { routing, seed: 3, ..RunOptions::default() })
    };
    // A packet takes 0.9 us on a global cable; hosts of a group send one each 10 us on average over two cables.
    let slow = 160_000_000;
    let (fabric, low) = (go(Policy::Fabric, slow), go(FPAR, slow));
    assert_eq!(low.detours, 0);
    assert_eq!(global_bytes(spec, &low), global_bytes(spec, &fabric));
    assert_eq!(global_bytes(spec, &low), low.payload_bytes);
    // Each packet that leaves them takes one more global cable.
    let fast = 4_000_000;
    let detours = [0.0, 0.25, 0.5, 0.75, 1.0].map(|threshold| {
        let o = go(Policy::Fpar { threshold }, fast);
        assert_eq!(global_bytes(spec, &o), o.payload_bytes + 4096 * o.detours);
        o.detours
    });
    println!("detours of {} packets by threshold: {detours:?}", 50 * 144);
    assert!(detours[0] == 0 && detours[4] > 0, "{detours:?}");
    assert!(detours[1..].windows(2).all(|pair| pair[0] > pair[1]), "{detours:?}");
}

/// On benign traffic UGAL and PAR stay with what is shorter; Valiant never does.
#[test]
fn ugal_is_minimal_at_low_load() {
    let spec = "dragonfly:p=2,a=4,h=2,capacity=5GB/s";
    let model = Model::for_topology(spec);
    let share = |routing, load: f64| {
        let gap = model.link.packet_bytes as f64 / 5e9 / load * 1e12;
        let traffic = open(Pattern::Uniform, model.link.packet_bytes, gap as u64, 200);
        let o = run(spec, &model, traffic, &RunOptions { routing, ..RunOptions::default() });
        o.detours as f64 / o.packets as f64
    };
    for routing in [Policy::Ugal, Policy::Par] {
        let shares = [0.001, 0.1, 0.3, 0.9].map(|load| share(routing, load));
        println!("{routing}: detours at loads of 0.001, 0.1, 0.3 and 0.9: {shares:?}");
        assert!(shares[0] == 0.0 && shares[1] < 0.01 && shares[2] < 0.1, "{routing}: {shares:?}");
        assert!(shares[3] > shares[2], "{routing}: {shares:?}");
    }
    // All but those of 7 in 71 destinations that are in the same group.
    assert!((share(Policy::Valiant, 0.1) - 64.0 / 71.0).abs() < 0.01);
}

/// What dimension order sends over few links gains from a choice; what d-mod-k spreads evenly loses little.
#[test]
fn adaptive_routing_spreads_what_the_fabric_does_not() {
    let time = |spec: &str, by, routing| {
        let traffic = open(Pattern::Shift(by), 4096, 1000, 100);
        run(spec, &Model::default(), traffic, &RunOptions { routing, seed: 2, ..RunOptions::default() }).time.seconds()
    };
    // Three rows and three columns further on: dimension order uses one way of twenty.
    let gain = time("torus:8x8", 27, Policy::Fabric) / time("torus:8x8", 27, Policy::MinimalAdaptive);
    println!("adaptive on torus:8x8, shift by 27: {gain:.2} times as fast");
    assert!(gain > 1.1, "{gain}");
    // A shift, for which d-mod-k has no contention: a choice by queues does as well, one at random does not.
    let gain = time("fattree:8x8:1x8", 8, Policy::AdaptiveUp) / time("fattree:8x8:1x8", 8, Policy::Fabric);
    println!("adaptive-up on fattree:8x8:1x8, shift by 8: {gain:.2} of d-mod-k's time, which has no contention");
    assert!(gain < 1.3, "{gain}");
    let random = time("fattree:8x8:1x8", 8, Policy::RandomUp) / time("fattree:8x8:1x8", 8, Policy::Fabric);
    println!("random-up: {random:.2}");
    assert!(random > gain, "{random} {gain}");
}

/// A network whose own routing is adaptive is simulated with it, to the bit as if it were asked for.
#[test]
fn the_fabric_s_own_routing_may_be_adaptive() {
    let traffic = || open(Pattern::Shift(5), 4096, 1000, 20);
    let own = run("torus:4x4,routing=adaptive", &Model::default(), traffic(), &RunOptions::default());
    let options = RunOptions { routing: Policy::MinimalAdaptive, ..RunOptions::default() };
    let asked = run("torus:4x4", &Model::default(), traffic(), &options);
    let fixed = run("torus:4x4", &Model::default(), traffic(), &RunOptions::default());
    assert_eq!(own.link_bytes, asked.link_bytes);
    assert_eq!(own.time, asked.time);
    assert_ne!(own.link_bytes, fixed.link_bytes);
}
