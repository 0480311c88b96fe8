//! The flow model against what can be computed by hand, against the definition of max-min fairness, against figures that
//! SimGrid publishes, and against the packet simulator.
#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_net::random::SplitMix64;
use optiq_net::{End, Geometry, LinkId, Network, NetworkBuilder, Routing};
use optiq_sim::flow;
use optiq_sim::flow::flows::{Finished, Flow, Limits};
use optiq_sim::workload::exchange::{Method, exchange};
use optiq_sim::workload::message::Message;
use optiq_sim::{Model, RunOptions, SimError};
use proptest::prelude::*;

const GB: f64 = 1e9;

/// Hosts in a row with links of these capacities to the right, and back.
fn line(capacities: &[f64]) -> Network {
    let mut builder = NetworkBuilder::new();
    let hosts: Vec<End> = (0..=capacities.len()).map(|i| builder.host(format!("h{i}"))).collect();
    for (pair, &capacity) in hosts.windows(2).zip(capacities) {
        builder.duplex(pair[0], pair[1], 1, capacity);
    }
    builder.build("line", Geometry::General, Routing::Shortest).unwrap()
}

fn run(network: &Network, flows: &[Flow]) -> Finished {
    flow::run::run(network, flows, &Limits::default()).unwrap()
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= 1e-6 * e.abs().max(1e-300), "flow {i}: {f}, {e} is expected (all: {found:?})");
    }
}

fn refused(network: &Network, flow: Flow) -> String {
    match flow::run::run(network, &[flow], &Limits::default()) {
        Err(error @ SimError::Workload(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_flows_share_a_link_and_one_leaves() {
    let network = line(&[GB]);
    // Half each until the small one is through at 2 s; then 1 GB of the large one is left, at full speed.
    let done = run(&network, &[Flow::new(0, 1, 1_000_000_000), Flow::new(0, 1, 2_000_000_000)]);
    close(&done.finish, &[2.0, 3.0]);
    close(&[done.makespan], &[3.0]);
    let link = network.link_between(optiq_net::NodeId(0), optiq_net::NodeId(1)).unwrap();
    assert_eq!(done.link_bytes[link.index()], 3_000_000_000);
    assert_eq!(done.link_bytes.iter().sum::<u64>(), 3_000_000_000);
    // The second one begins after half a second and has a latency of a quarter: from 0.75 s on they share. The first has
    // 0.25 GB left, which takes 0.5 s; the second then has 0.75 GB left.
    let late = Flow { start: 0.5, latency: 0.25, ..Flow::new(0, 1, 1_000_000_000) };
    close(&run(&network, &[Flow::new(0, 1, 1_000_000_000), late]).finish, &[1.25, 2.0]);
}

#[test]
fn a_long_flow_on_a_line_with_three_short_ones() {
    // Every link carries two flows, half each: 1 GB takes 2 s for all. A long one of 2 GB then has 1 GB left, alone.
    let short = [Flow::new(0, 1, 1_000_000_000), Flow::new(1, 2, 1_000_000_000), Flow::new(2, 3, 1_000_000_000)];
    let all = |long| [&[Flow::new(0, 3, long)], &short[..]].concat();
    close(&run(&line(&[GB; 3]), &all(1_000_000_000)).finish, &[2.0; 4]);
    close(&run(&line(&[GB; 3]), &all(2_000_000_000)).finish, &[3.0, 2.0, 2.0, 2.0]);
    // Links of 1, 2 and 4 GB/s: the first one gives the long flow 0.5 GB/s; what is left is for the others.
    let network = line(&[GB, 2.0 * GB, 4.0 * GB]);
    let rates = flow::run::rates(&network, &all(1), &Limits::default()).unwrap();
    close(&rates, &[0.5 * GB, 0.5 * GB, 1.5 * GB, 3.5 * GB]);
    close(&run(&network, &all(1_000_000_000)).finish, &[2.0, 2.0, 1.0 / 1.5, 1.0 / 3.5]);
}

#[test]
fn parking_lot() {
    // Everyone drives to the last host; the last link is shared by all of them, and nothing else limits.
    let network = line(&[GB; 4]);
    let flows: Vec<Flow> = (0..4).map(|i| Flow::new(i, 4, 1_000_000_000 * u64::from(i + 1))).collect();
    // A quarter each until 4 s; a third until 7 s; a half until 9 s; then alone until 10 s.
    close(&run(&network, &flows).finish, &[4.0, 7.0, 9.0, 10.0]);
    // A narrow first link: what its flow cannot use is for the others.
    let network = line(&[0.1 * GB, GB, GB, GB]);
    close(&flow::run::rates(&network, &flows, &Limits::default()).unwrap(), &[0.1 * GB, 0.3 * GB, 0.3 * GB, 0.3 * GB]);
}

#[test]
fn caps_leave_room_for_others() {
    let network = line(&[GB]);
    let capped = Flow { cap: Some(0.2 * GB), ..Flow::new(0, 1, 1_000_000_000) };
    // 0.2 and 0.8 GB/s; after 2.5 s the first still has its cap.
    close(&run(&network, &[capped.clone(), Flow::new(0, 1, 2_000_000_000)]).finish, &[5.0, 2.5]);
    // A cap above the share is none.
    let high = Flow { cap: Some(0.7 * GB), ..Flow::new(0, 1, 700_000_000) };
    close(&run(&network, &[high, Flow::new(0, 1, 700_000_000)]).finish, &[1.4, 1.4]);
    // To itself there is no link: the cap alone counts, or nothing.
    let own = Flow { cap: Some(2.0 * GB), ..Flow::new(1, 1, 1_000_000_000) };
    let free = Flow { start: 3.0, ..Flow::new(0, 0, 1_000_000_000) };
    close(&run(&network, &[own, free, Flow { latency: 0.5, ..Flow::new(0, 1, 0) }]).finish, &[0.5, 3.0, 0.5]);
}

#[test]
fn explicit_links_and_limits_of_hosts() {
    let network = Network::from_spec("torus:4,capacity=1GB/s").unwrap();
    let link = |a, b| network.link_between(optiq_net::NodeId(a), optiq_net::NodeId(b)).unwrap();
    let round = |flow: Flow| Flow { links: Some(vec![link(0, 3), link(3, 2)]), ..flow };
    let flows = [Flow { links: Some(vec![link(0, 1), link(1, 2)]), ..Flow::new(0, 2, 1_000_000_000) }, {
        round(Flow::new(0, 2, 1_000_000_000))
    }];
    close(&run(&network, &flows).finish, &[1.0, 1.0]);
    // From memory with 1.5 GB/s: three quarters each.
    let limits = Limits { injection: 1.5 * GB, ..Limits::default() };
    close(&flow::run::run(&network, &flows, &limits).unwrap().finish, &[4.0 / 3.0; 2]);
    let limits = Limits { efficiency: 0.5, ejection: 0.8 * GB, ..Limits::default() };
    close(&flow::run::run(&network, &flows, &limits).unwrap().finish, &[2.5; 2]);
    // A link that is taken twice carries everything twice.
    let again = vec![link(0, 1), link(1, 0), link(0, 1)];
    let done = run(&network, &[Flow { links: Some(again), ..Flow::new(0, 1, 1_000_000_000) }]);
    close(&done.finish, &[2.0]);
    assert_eq!(done.link_bytes[link(0, 1).index()], 2_000_000_000);
}

#[test]
fn mistakes_are_told() {
    let network = line(&[GB; 2]);
    let flow = Flow::new(0, 1, 1);
    assert!(refused(&network, Flow::new(0, 3, 1)).contains("host 0 to host 3; there are 3 hosts"));
    assert!(refused(&network, Flow { start: f64::NAN, ..flow.clone() }).contains("flow 0: a start of NaN seconds"));
    assert!(refused(&network, Flow { latency: -1.0, ..flow.clone() }).contains("a latency of -1 seconds"));
    assert!(refused(&network, Flow { cap: Some(0.0), ..flow.clone() }).contains("a cap of 0 bytes per second"));
    assert!(refused(&network, Flow { links: Some(vec![LinkId(9)]), ..flow.clone() }).contains("link 9; there are 4"));
    assert!(refused(&network, Flow { links: Some(vec![LinkId(3)]), ..flow.clone() }).contains("begins at h2"));
    assert!(refused(&network, Flow { links: Some(vec![]), ..flow.clone() }).contains("end at h0; h1 is expected"));
    let limits = Limits { efficiency: 0.0, ..Limits::default() };
    assert!(
        flow::run::run(&network, std::slice::from_ref(&flow), &limits)
            .unwrap_err()
            .to_string()
            .contains("efficiency of 0")
    );
    let limits = Limits { injection: f64::INFINITY, ..Limits::default() };
    assert!(flow::run::run(&network, &[flow], &limits).is_err());
}

/// What SimGrid's own tests print for its flow model (the files that end in .tesh in its repository, below teshsuite/).
#[test]
fn simgrid_publishes_the_same_times() {
    // models/cm02-tcpgamma: 10^10 bytes over one link of 10^10 bytes/s. TCP's window limits the rate to gamma / (2 latency);
    // latency, gamma and the printed seconds.
    let gamma: f64 = 4_194_304.0;
    let published: [(f64, f64, f64); 5] = [
        (0.0, gamma, 1.000000),
        (1e-5, gamma, 1.000010),
        (1e-3, gamma, 4.769372),
        (0.1, gamma, 476.937158),
        (1e-3, 0.0, 1.001000),
    ];
    let network = line(&[1e10]);
    for (latency, gamma, seconds) in published {
        let cap = Some(gamma / (2.0 * latency)).filter(|c| c.is_finite() && *c > 0.0);
        let done = run(&network, &[Flow { latency, cap, ..Flow::new(0, 1, 10_000_000_000) }]);
        assert!((done.makespan - seconds).abs() < 1e-6, "{latency}: {}", done.makespan);
    }
    // models/cm02-set-lat-bw, the first pair of messages: two flows of 1,000 bytes over a dog bone whose middle link has
    // 1,000 bytes/s and the others 10^9; "Elapsed 2.000000" for both.
    let mut builder = NetworkBuilder::new();
    let hosts: Vec<End> = ["S1", "S2", "C1", "C2"].map(|name| builder.host(name)).to_vec();
    let [left, right] = ["R1", "R2"].map(|name| builder.switch(name));
    for (host, switch) in [(0, left), (1, left), (2, right), (3, right)] {
        builder.duplex(hosts[host], switch, 1, 1e9);
    }
    builder.duplex(left, right, 1, 1e3);
    let network = builder.build("dogbone", Geometry::General, Routing::Shortest).unwrap();
    let flow = |from, to| Flow { latency: 2e-9, ..Flow::new(from, to, 1000) };
    let done = run(&network, &[flow(0, 2), flow(1, 3)]);
    assert!(done.finish.iter().all(|f| (f - 2.0).abs() < 1e-6), "{:?}", done.finish);
    // simdag/comm-p2p-latency-2 on platform_2p_1switch: twice a byte over links of 1 byte/s with 0.5, 1 and 0.5 s of
    // latency; the middle one has 2 bytes/s for each flow. "4".
    let flow = Flow { latency: 2.0, cap: Some(2.0), ..Flow::new(0, 1, 1) };
    close(&[run(&line(&[1.0]), &[flow.clone(), flow]).makespan], &[4.0]);
}

/// Rates are what the definition says: no link over capacity, and every flow is at its cap or has a full link on which none
/// is faster.
fn check_fair(network: &Network, flows: &[Flow], rates: &[(usize, f64)], routes: &[Vec<LinkId>]) {
    let mut used = vec![0.0; network.links().len()];
    let mut fastest = vec![0.0f64; network.links().len()];
    for &(f, rate) in rates {
        assert!(rate > 0.0, "flow {f} stands still");
        for link in &routes[f] {
            used[link.index()] += rate;
            fastest[link.index()] = fastest[link.index()].max(rate);
        }
    }
    for (link, used) in network.links().iter().zip(&used) {
        assert!(*used <= link.capacity * (1.0 + 1e-9), "{used} on a link of {}", link.capacity);
    }
    for &(f, rate) in rates {
        let at_cap = flows[f].cap.is_some_and(|cap| rate >= cap * (1.0 - 1e-9));
        let is_bottleneck = |l: &LinkId| {
            let capacity = network.link(*l).capacity;
            used[l.index()] >= capacity * (1.0 - 1e-7) && rate >= fastest[l.index()] * (1.0 - 1e-7)
        };
        assert!(at_cap || routes[f].iter().any(is_bottleneck), "flow {f} at {rate} could be faster");
        assert!(flows[f].cap.is_none_or(|cap| rate <= cap * (1.0 + 1e-12)));
    }
}

/// Random flows on a network whose links have different capacities, with their routes.
fn random_case(seed: u64, count: usize) -> (Network, Vec<Flow>, Vec<Vec<LinkId>>) {
    let mut random = SplitMix64::new(seed);
    let shape = ["torus:4x3", "fattree:k=4", "dragonfly:p=2,a=3,h=1", "mesh:7"][random.below(4) as usize];
    let model = Network::from_spec(shape).unwrap();
    // The same graph with capacities of its own.
    let mut builder = NetworkBuilder::new();
    let hosts = model.hosts();
    let ends: Vec<End> = (0..model.vertices())
        .map(|v| if v < hosts { builder.host(format!("h{v}")) } else { builder.switch(format!("s{v}")) })
        .collect();
    for link in model.links() {
        let capacity = 1e6 * (1 + random.below(5)) as f64;
        builder.link(ends[link.from.index()], ends[link.to.index()], 1, capacity);
    }
    let network = builder.build("random", Geometry::General, Routing::Shortest).unwrap();
    let mut routes = Vec::new();
    let flows = (0..count)
        .map(|_| {
            let source = random.below(hosts as u64) as u32;
            let destination = (source + 1 + random.below(hosts as u64 - 1) as u32) % hosts as u32;
            let mut route = Vec::new();
            network.route(optiq_net::NodeId(source), optiq_net::NodeId(destination), &mut route).unwrap();
            routes.push(route);
            let bytes = 1 + random.below(3_000_000);
            let start = random.below(8) as f64 * 0.25;
            let cap = (random.below(3) == 0).then(|| 1e5 * (1 + random.below(20)) as f64);
            Flow { start, cap, ..Flow::new(source, destination, bytes) }
        })
        .collect();
    (network, flows, routes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// At every event, what was computed from what has changed is fair, and is what a computation from nothing gives; and
    /// the bytes that moved are those that there were.
    #[test]
    fn rates_are_fair_and_bytes_are_kept(seed: u64, count in 1usize..60) {
        let (network, flows, routes) = random_case(seed, count);
        let mut moved = vec![0.0; flows.len()];
        let mut last: (f64, Vec<(usize, f64)>) = (0.0, Vec::new());
        let mut ended = Vec::new();
        let mut observe = |now: f64, rates: &[(usize, f64)]| {
            check_fair(&network, &flows, rates, &routes);
            let active: Vec<Flow> = rates.iter().map(|r| flows[r.0].clone()).collect();
            let anew = flow::run::rates(&network, &active, &Limits::default()).unwrap();
            for (&(f, rate), anew) in rates.iter().zip(anew) {
                assert!((rate - anew).abs() <= 1e-7 * anew, "flow {f}: {rate}, from nothing {anew}");
            }
            for &(f, rate) in &last.1 {
                moved[f] += rate * (now - last.0);
            }
            last = (now, rates.to_vec());
            ended.push(now);
        };
        let done = flow::run::run_observed(&network, &flows, &Limits::default(), &mut observe).unwrap();
        prop_assert!(last.1.is_empty());
        for (flow, moved) in flows.iter().zip(&moved) {
            prop_assert!((moved - flow.bytes as f64).abs() <= 1e-6 * flow.bytes as f64 + 1e-6, "{moved} of {}", flow.bytes);
        }
        let load: u64 = flows.iter().zip(&routes).map(|(f, r)| f.bytes * r.len() as u64).sum();
        prop_assert_eq!(done.link_bytes.iter().sum::<u64>(), load);
        for (flow, finish) in flows.iter().zip(&done.finish) {
            prop_assert!(*finish > flow.start && *finish <= done.makespan);
        }
        // No execution is faster than the most loaded link.
        let busiest = network.links().iter().zip(&done.link_bytes).map(|(l, &b)| b as f64 / l.capacity).fold(0.0, f64::max);
        prop_assert!(done.makespan >= busiest * (1.0 - 1e-9));
        prop_assert_eq!(done, flow::run::run(&network, &flows, &Limits::default()).unwrap());
    }
}

#[test]
fn tens_of_thousands_of_flows_are_quick() {
    let network = Network::from_spec("torus:8x8x8,capacity=2GB/s").unwrap();
    let mut random = SplitMix64::new(5);
    let flows: Vec<Flow> = (0..20_000)
        .map(|_| {
            let [a, b] = [random.below(512), random.below(512)].map(|h| h as u32);
            Flow { start: random.below(1000) as f64 * 1e-5, ..Flow::new(a, b, 1000 + random.below(200_000)) }
        })
        .collect();
    let begin = std::time::Instant::now();
    let done = run(&network, &flows);
    let seconds = begin.elapsed().as_secs_f64();
    println!("20,000 flows on 512 hosts: {} updates in {seconds:.2} s", done.updates);
    assert!(done.finish.iter().zip(&flows).all(|(f, flow)| *f >= flow.start));
}

/// Packets in large buffers behave as a fluid, where fair arbitration of packets is fair to flows too.
#[test]
fn packets_agree_with_fluids() {
    const MB: u64 = 1_000_000;
    let message = |source, destination, bytes| Message { source, destination, bytes, class: 0 };
    let every = |hosts: u32, by: &[u32], bytes| -> Vec<Message> {
        by.iter().flat_map(|by| (0..hosts).map(move |h| message(h, (h + by) % hosts, bytes))).collect()
    };
    let all: Vec<u32> = (1..16).collect();
    // Where packets to one link wait behind others in a buffer (all-to-all: the only buffer of an input has packets to
    // everywhere), links idle that a fluid would use: there the fluid is a lower bound and the difference is larger.
    let cases = [
        ("star:8,capacity=1GB/s", (1..8).map(|h| message(h, 0, 4 * MB)).collect::<Vec<_>>(), 0.01),
        ("star:4,capacity=1GB/s", vec![message(0, 1, 8 * MB), message(0, 2, 4 * MB), message(3, 2, 8 * MB)], 0.01),
        ("mesh:4,capacity=1GB/s", vec![message(0, 3, 4 * MB), message(1, 3, 4 * MB), message(2, 3, 4 * MB)], 0.01),
        ("torus:8,capacity=1GB/s", every(8, &[3], 4 * MB), 0.01),
        ("torus:4x4,capacity=1GB/s", every(16, &[5], 4 * MB), 0.01),
        ("torus:4x4,capacity=1GB/s", every(16, &all, MB), 0.2),
        ("fattree:k=4,capacity=1GB/s", every(16, &[4], 4 * MB), 0.05),
        ("fattree:k=4,capacity=1GB/s", every(16, &all, MB), 0.05),
        ("dragonfly:p=2,a=4,h=2,capacity=1GB/s", every(72, &[8], 2 * MB), 0.05),
    ];
    let mut model = Model::default();
    model.link.packet_bytes = 2048;
    model.router.buffer_bytes = 64 << 20;
    for (spec, messages, tolerance) in cases {
        let network = Network::from_spec(spec).unwrap();
        let fluid = flow::exchange::exchange(&network, &model, &messages).unwrap();
        let packets = exchange(&network, &model, &messages, &Method::Linear, &RunOptions::default()).unwrap();
        let packets_seconds = packets.time().seconds();
        let off = fluid.makespan / packets_seconds - 1.0;
        println!("{spec}, {} messages: {packets_seconds:.6} s, fluid {:+.2} %", messages.len(), off * 100.0);
        assert_eq!(fluid.link_bytes, packets.outcome.link_bytes, "{spec}");
        assert!(off < 0.01, "{spec}: the fluid is slower");
        assert!(off.abs() < tolerance, "{spec}: packets {packets_seconds} s, fluid {} s", fluid.makespan);
    }
}

/// Models of machines too: headers, overheads of processors, questions before large messages and the memory of hosts count in
/// both. A fluid waits for its whole latency before it meets others, and a short message takes both links of a pair on Blue
/// Gene/Q's length-2 dimension: where messages are short, the two are further apart.
#[test]
fn packets_of_presets_agree_with_fluids() {
    let shift = |hosts: u32, by: u32, bytes| -> Vec<Message> {
        (0..hosts).map(|h| Message { source: h, destination: (h + by) % hosts, bytes, class: 0 }).collect()
    };
    let one = |to, bytes| vec![Message { source: 0, destination: to, bytes, class: 0 }];
    let bgq = "torus:2x2x2x2x2,capacity=2GB/s";
    let fat_tree = "fattree:6x6x4:1x6x2:1x1x3,capacity=12.5GB/s";
    let plus = "dragonfly+:p=2,l=4,s=4,h=4,terminal=17GB/s,local=5.6GB/s,global=4.7GB/s";
    let edison = "dragonfly:p=2,a=4,h=2,capacity=5GB/s";
    let cases = [
        ("bgq", bgq, shift(32, 5, 4 << 20), 0.001),
        ("bgq", "torus:4x4x2x2x2,capacity=2GB/s", shift(128, 37, 1 << 20), 0.001),
        ("fattree-12.5", fat_tree, shift(144, 36, 4 << 20), 0.001),
        ("dragonfly+3456", plus, shift(136, 8, 1 << 20), 0.001),
        ("edison", edison, shift(72, 8, 1 << 20), 0.001),
        // Alone, to the picosecond.
        ("edison", edison, one(1, 64), 1e-9),
        ("edison", edison, one(30, 1 << 16), 1e-9),
        ("fattree-12.5", fat_tree, one(100, 512), 1e-9),
        ("fattree-12.5", fat_tree, one(100, 1 << 16), 1e-9),
        // Short.
        ("bgq", bgq, shift(32, 1, 512), 0.25),
        ("edison", edison, shift(72, 1, 4096), 0.25),
    ];
    for (preset, spec, messages, tolerance) in cases {
        let network = Network::from_spec(spec).unwrap();
        let model = Model::read(preset).unwrap();
        let fluid = flow::exchange::exchange(&network, &model, &messages).unwrap();
        let packets = exchange(&network, &model, &messages, &Method::Linear, &RunOptions::default()).unwrap();
        let packets_seconds = packets.time().seconds();
        let off = fluid.makespan / packets_seconds - 1.0;
        println!("{spec}, {} messages: {packets_seconds:.9} s, fluid {:+.2} %", messages.len(), off * 100.0);
        assert!(off.abs() < tolerance, "{spec}: packets {packets_seconds} s, fluid {} s", fluid.makespan);
    }
}
