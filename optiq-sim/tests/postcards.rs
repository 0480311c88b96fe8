//! Postcards of simulated networks, joined without anything that the whole system knows, against what was true.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use optiq_net::Network;
use optiq_sim::model::Grants;
use optiq_sim::time::Time;
use optiq_sim::workload::synthetic::{Gaps, Open, Pattern, Sizes};
use optiq_sim::{
    Delivery, Host, Model, Notice, Outcome, Policy, PostcardOptions, Postcards, Program, RunOptions, simulate,
};
use optiq_trace::postcards::{Clocks, Component, GapPlace, Joined, Operation, Path, Postcard, decode, encode, join};
use std::collections::{BTreeMap, BTreeSet};

const MICROSECOND: Time = Time::picoseconds(1_000_000);

fn every(one_in: u32) -> PostcardOptions {
    PostcardOptions { one_in, seed: 5, ..PostcardOptions::default() }
}

struct Case {
    spec: &'static str,
    routing: Policy,
}

const CASES: &[Case] = &[
    Case { spec: "star:6", routing: Policy::Fabric },
    Case { spec: "fattree:k=4", routing: Policy::Fabric },
    Case { spec: "torus:4x4", routing: Policy::Fabric },
    Case { spec: "dragonfly:p=2,a=4,h=2", routing: Policy::Ugal },
    Case { spec: "dragonfly+:p=2,l=2,s=2,h=1,g=3", routing: Policy::Fabric },
];

fn uniform(hosts: u32, messages: u64, bytes: u64) -> Vec<Box<dyn Program>> {
    let (pattern, gaps) = (Pattern::Uniform, Gaps::Poisson(MICROSECOND * 2));
    let open = Open { pattern, gaps, sizes: Sizes::Either(64, bytes), messages, hosts };
    (0..hosts).map(|_| Box::new(open.clone()) as Box<dyn Program>).collect()
}

fn run(case: &Case, threads: usize, postcards: Option<PostcardOptions>, messages: u64) -> Outcome {
    let network = Network::from_spec(case.spec).unwrap();
    let mut model = Model::for_topology(case.spec);
    model.host.eager_bytes = 10_000;
    let options = RunOptions { threads, seed: 3, routing: case.routing, postcards, ..RunOptions::default() };
    simulate(&network, &model, uniform(network.hosts() as u32, messages, 20_000), &options).unwrap()
}

fn joined(postcards: &Postcards) -> (Joined, Clocks) {
    let clocks = Clocks::estimate(&postcards.collection);
    (join(&postcards.collection, &clocks), clocks)
}

/// What a path's postcards truly are of: at adapters and switches.
fn truths(postcards: &Postcards, path: &Path) -> BTreeSet<u64> {
    path.hops.iter().map(|hop| postcards.truth[hop.component.index()][hop.postcard]).collect()
}

/// By packet, how many postcards of adapters and switches were collected.
fn collected(postcards: &Postcards) -> BTreeMap<u64, usize> {
    let mut counts = BTreeMap::new();
    for (log, truth) in postcards.collection.components.iter().zip(&postcards.truth) {
        for (postcard, &of) in log.postcards.iter().zip(truth) {
            if !matches!(postcard, Postcard::Issued { .. } | Postcard::Received { .. }) {
                *counts.entry(of).or_default() += 1;
            }
        }
    }
    counts
}

/// Which part of the packets has all its postcards in one path with no others.
fn part_joined(postcards: &Postcards, joined: &Joined) -> f64 {
    let all = collected(postcards);
    let whole = joined.paths.iter().filter(|path| {
        let truths = truths(postcards, path);
        truths.len() == 1 && truths.first().and_then(|of| all.get(of)) == Some(&path.hops.len())
    });
    whole.count() as f64 / all.len() as f64
}

#[test]
fn every_intact_path_is_joined_whatever_the_clocks_show() {
    for case in CASES {
        let outcome = run(case, 1, Some(every(2)), 300);
        let postcards = outcome.postcards.unwrap();
        let (joined, clocks) = joined(&postcards);
        let spec = case.spec;
        assert_eq!((postcards.collection.overwritten(), postcards.lost), (0, 0), "{spec}");
        assert!(postcards.marked > 100, "{spec}: {}", postcards.marked);
        let broken: Vec<&Path> = joined.paths.iter().filter(|path| !path.is_intact()).collect();
        assert!(broken.is_empty(), "{spec}: {broken:?}");
        assert_eq!(joined.paths.len(), collected(&postcards).len(), "{spec}");
        for path in &joined.paths {
            assert!(path.is_intact(), "{spec}: {path:?}");
            assert_eq!(truths(&postcards, path).len(), 1, "{spec}");
            assert_eq!(path.issued.is_some(), path.operation != Some(Operation::Grant), "{spec}: {path:?}");
            assert_eq!(path.received.is_some(), path.operation == Some(Operation::Data), "{spec}: {path:?}");
            let (first, last) = (path.hops[0].component, path.hops[path.hops.len() - 1].component);
            assert_eq!((first, last), (path.packet.source, path.packet.destination));
            // Nothing leaves before it has come, by clocks that are a millisecond apart.
            let times = path.hops.iter().flat_map(|hop| [hop.arrived_ns, hop.left_ns]).collect::<Vec<_>>();
            assert!(times.is_sorted_by(|a, b| *b > a - 10.0), "{spec}: {times:?}");
        }
        assert!(clocks.residual_ns < 5.0, "{spec}: {}", clocks.residual_ns);
        assert_eq!(joined.unused, 0, "{spec}");
        let data = joined.paths.iter().filter(|path| path.operation == Some(Operation::Data));
        assert_eq!(data.count() as u64, postcards.marked, "{spec}");
    }
}

#[test]
fn postcards_change_nothing_and_are_the_same_on_any_number_of_threads() {
    for case in CASES {
        let without = run(case, 1, None, 100);
        let with = |threads| {
            let outcome = run(case, threads, Some(every(3)), 100);
            assert_eq!(outcome.fingerprint(), without.fingerprint(), "{}", case.spec);
            outcome.postcards.unwrap()
        };
        let one = with(1);
        for threads in [2, 3] {
            let more = with(threads);
            assert_eq!(more.collection, one.collection, "{} on {threads} threads", case.spec);
            assert_eq!(more.truth, one.truth);
        }
        assert_eq!(decode(&encode(&one.collection)).unwrap(), one.collection);
    }
}

#[test]
fn lost_postcards_leave_gaps_that_are_named() {
    for case in CASES {
        let options = PostcardOptions { lost: 0.1, ..every(2) };
        let postcards = run(case, 1, Some(options), 400).postcards.unwrap();
        let (joined, _) = joined(&postcards);
        let spec = case.spec;
        assert!(postcards.lost > 50, "{spec}: {}", postcards.lost);
        let part = part_joined(&postcards, &joined);
        assert!(part >= 0.99, "{spec}: {part}");
        for path in &joined.paths {
            // A wrong join is flagged.
            assert!(truths(&postcards, path).len() == 1 || !path.is_intact(), "{spec}: {path:?}");
        }
        let gaps: usize = joined.paths.iter().map(|path| path.gaps.len()).sum();
        let missing = postcards.lost as usize;
        assert!(gaps > 0 && gaps <= missing, "{spec}: {gaps} of {missing}");
    }
}

/// Four tags for all packets of a source, and 10 % lost: what cannot be told apart is said to be ambiguous.
#[test]
fn repeated_tags_are_told_apart_by_time_or_flagged() {
    for case in CASES {
        let options = PostcardOptions { tags: 4, ..every(1) };
        let postcards = run(case, 1, Some(options), 200).postcards.unwrap();
        let (whole, _) = joined(&postcards);
        let wrong = |joined: &Joined, postcards: &Postcards| {
            let wrong = joined.paths.iter().filter(|path| truths(postcards, path).len() > 1);
            wrong.filter(|path| path.is_intact()).count()
        };
        assert_eq!(wrong(&whole, &postcards), 0, "{}", case.spec);
        let part = part_joined(&postcards, &whole);
        assert!(part >= 0.99, "{}: {part}", case.spec);
        let options = PostcardOptions { lost: 0.1, ..options };
        let postcards = run(case, 1, Some(options), 200).postcards.unwrap();
        let (joined, _) = joined(&postcards);
        assert_eq!(wrong(&joined, &postcards), 0, "{}", case.spec);
    }
}

/// Rings of four postcards that are emptied once in 10 us: the oldest are written over, and nothing waits for them.
#[test]
fn what_is_written_over_is_counted() {
    let case = &CASES[1];
    let all = run(case, 1, Some(every(1)), 100);
    let options = PostcardOptions { buffer_bytes: 160, drain_bytes_per_second: 4e6, ..every(1) };
    let some = run(case, 1, Some(options), 100);
    assert_eq!(all.fingerprint(), some.fingerprint());
    let (all, some) = (all.postcards.unwrap(), some.postcards.unwrap());
    let overwritten = some.collection.overwritten();
    assert!(overwritten > 100, "{overwritten}");
    assert_eq!(some.collection.postcards() as u64 + overwritten, all.collection.postcards() as u64);
    let (joined, _) = joined(&some);
    assert!(joined.paths.iter().any(|path| !path.gaps.is_empty()));
}

struct Sender(u64);

impl Program for Sender {
    fn start(&mut self, host: &mut Host<'_>) {
        if host.number() > 0 {
            host.send(0, self.0, 0, Notice::None);
        }
    }

    fn received(&mut self, _: &mut Host<'_>, _: Delivery) {}
}

/// One message of one packet over one switch, by hand: 10 ns on each wire, 100 ns in the switch, 4096 B at 1 GB/s.
#[test]
fn a_path_by_hand() {
    let network = Network::from_spec("star:2,capacity=1GB/s").unwrap();
    let programs = || (0..2).map(|_| Box::new(Sender(4096)) as Box<dyn Program>).collect();
    let options = RunOptions { postcards: Some(PostcardOptions { drift: 0.0, ..every(1) }), ..RunOptions::default() };
    let outcome = simulate(&network, &Model::default(), programs(), &options).unwrap();
    let postcards = outcome.postcards.unwrap();
    // Adapters h0 and h1, the switch's router is vertex 2 behind two hosts' vertices; packets go one way only, so wires seem to
    // take no time.
    let (joined, _) = joined(&postcards);
    let [path] = &joined.paths[..] else { panic!("{joined:?}") };
    let components: Vec<Component> = path.hops.iter().map(|hop| hop.component).collect();
    assert_eq!(components, [Component(1), Component(4), Component(0)]);
    let switch = &path.hops[1];
    assert!((switch.left_ns - switch.arrived_ns - 100.0).abs() <= 1.0, "{switch:?}");
    let last = &path.hops[2];
    assert!((last.left_ns - last.arrived_ns - 4096.0).abs() <= 1.0, "{last:?}");
    let issued = path.issued.unwrap();
    let line = &postcards.collection.contexts[issued.context as usize];
    assert!(line.file.ends_with("tests/postcards.rs") && line.line > 0, "{line:?}");
    assert!(path.gaps.is_empty() && !path.is_ambiguous);
    assert_eq!(postcards.collection.name(Component(4)), network.name(optiq_net::NodeId(2)));
}

/// Everybody sends a large message to one host: pulled one at a time, they arrive one after the other; granted at once, all share the
/// link and arrive together at the end.
#[test]
fn receivers_that_pull_one_message_at_a_time() {
    let network = Network::from_spec("star:9,capacity=1GB/s").unwrap();
    let time = |grants: Grants| {
        let mut model = Model::default();
        model.host.eager_bytes = 1000;
        model.host.grants = grants;
        let programs = (0..9).map(|_| Box::new(Sender(1_000_000)) as Box<dyn Program>).collect();
        let postcards = Some(every(1));
        let outcome = simulate(&network, &model, programs, &RunOptions { postcards, ..RunOptions::default() }).unwrap();
        let (joined, _) = joined(&outcome.postcards.unwrap());
        let data = joined.paths.into_iter().filter(|path| path.operation == Some(Operation::Data));
        let mut done: Vec<f64> = data.map(|path| path.hops[path.hops.len() - 1].left_ns).collect();
        done.sort_by(f64::total_cmp);
        assert_eq!(done.len(), 8);
        (done, outcome.time)
    };
    let (pulled, last) = time(Grants::OneByOne);
    // 1 ms each.
    let apart = |list: &[f64]| list.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>();
    assert!(apart(&pulled).iter().all(|&ns| (1e6..1.05e6).contains(&ns)), "{pulled:?}");
    let (shared, shared_last) = time(Grants::AtOnce);
    assert!(apart(&shared).iter().all(|&ns| ns < 0.1e6), "{shared:?}");
    // Whoever shares a link needs as long as whoever takes turns, but for the wait for each grant.
    assert!(last > shared_last && last < shared_last + MICROSECOND * 400, "{last:?} {shared_last:?}");
}

#[test]
fn pieces_say_where_they_begin_and_end() {
    let case = &CASES[1];
    let mut postcards = run(case, 1, Some(every(1)), 20).postcards.unwrap();
    let (before, _) = joined(&postcards);
    let path = before.paths.iter().find(|path| path.hops.len() == 7).unwrap();
    // Without its first, fourth and last postcard.
    let mut gone = [path.hops[0], path.hops[3], path.hops[6]].map(|hop| (hop.component, hop.postcard));
    gone.sort_by_key(|(_, postcard)| std::cmp::Reverse(*postcard));
    for (component, postcard) in gone {
        postcards.collection.components[component.index()].postcards.remove(postcard);
        postcards.truth[component.index()].remove(postcard);
    }
    let (after, _) = joined(&postcards);
    let same = after.paths.iter().find(|p| p.packet == path.packet && p.hops[0].component == path.hops[1].component);
    let same = same.unwrap();
    let middle = path.hops[3].component;
    let gaps: Vec<(GapPlace, Component, Component)> = same.gaps.iter().map(|g| (g.place, g.first, g.last)).collect();
    let (source, destination) = (path.packet.source, path.packet.destination);
    let expected = [
        (GapPlace::Beginning, source, source),
        (GapPlace::After(1), middle, middle),
        (GapPlace::After(3), destination, destination),
    ];
    assert_eq!(gaps, expected);
}
