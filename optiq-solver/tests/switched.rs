//! Planning on networks with switches, where software chooses intermediate hosts and rails only: answers by hand.
// Helpers outside of #[test] functions unwrap, too.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use optiq_net::{LinkId, Network, NodeId};
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::verdict::verdict;
use optiq_solver::{CandidateMethod, Candidates, Demand, Plan, demands, legs};
use proptest::prelude::*;
use std::collections::BTreeSet;

const MIB: u64 = 1 << 20;

/// A network, its demands in MiB, and the MiB on the worst unit link.
struct Case {
    what: &'static str,
    spec: &'static str,
    demands: &'static [(u32, u32, u64)],
    direct: f64,
    /// What software can reach: planners `lp` and `optimal`.
    best: f64,
    heu1: f64,
    heu2: f64,
    forwards: bool,
}

const CASES: [Case; 7] = [
    Case {
        // Three groups of four hosts, one cable between any two. Four demands share the cable from group 0 to group 1;
        // two cables leave group 0, and all else is wider: over hosts of group 2, half of it goes round.
        what: "one group of a dragonfly to one other",
        spec: "dragonfly:p=2,a=2,h=1",
        demands: &[(0, 4, 64), (1, 5, 64), (2, 6, 64), (3, 7, 64)],
        direct: 256.0,
        best: 128.0,
        // Equal shares of the direct route and detours by group 2: four of five parts go round for some pairs.
        heu1: 220.0,
        heu2: 128.0,
        forwards: true,
    },
    Case {
        // Full bisection, and d-mod-k sends a shift over links of its own: every host's one link is the limit.
        what: "a shift on a non-blocking tree",
        spec: "fattree:k=4",
        demands: &[(0, 5, 8), (1, 6, 8), (2, 7, 8), (3, 8, 8), (4, 9, 8), (5, 10, 8), (6, 11, 8), (7, 12, 8)],
        direct: 8.0,
        best: 8.0,
        heu1: 16.0,
        heu2: 8.0,
        forwards: false,
    },
    Case {
        // Three leaves of two hosts under two roots. Hosts 2 and 4 are even: d-mod-k sends both messages from leaf 0 to
        // root 0, over one link. Over host 5 beside host 4 (or 3 beside 2) the other root is used, and each host's
        // one link is the limit.
        what: "a collision of d-mod-k on a non-blocking tree",
        spec: "fattree:2x3:1x2",
        demands: &[(0, 2, 64), (1, 4, 64)],
        direct: 128.0,
        best: 64.0,
        heu1: 96.0,
        heu2: 64.0,
        forwards: true,
    },
    Case {
        // Four hosts on each of two leaves, and two links up from each: 2:1. Everything is for even hosts and takes root
        // 0. The leaf has two links out: half over hosts 5 and 7.
        what: "even destinations on a 2:1 tree",
        spec: "fattree:4x2:1x2",
        demands: &[(0, 4, 64), (1, 6, 64), (2, 4, 64), (3, 6, 64)],
        direct: 256.0,
        best: 128.0,
        heu1: 180.0,
        heu2: 128.0,
        forwards: true,
    },
    Case {
        // The same tree with as many odd destinations as even ones: both links up carry two messages, and no detour adds
        // a third link.
        what: "all destinations on a 2:1 tree",
        spec: "fattree:4x2:1x2",
        demands: &[(0, 4, 64), (1, 5, 64), (2, 6, 64), (3, 7, 64)],
        direct: 128.0,
        best: 128.0,
        heu1: 128.0,
        heu2: 128.0,
        forwards: false,
    },
    Case {
        // Two links leave host 0 and two enter host 2, in two planes. The fabric takes plane 2 mod 2 = 0.
        what: "one message on two rails",
        spec: "fattree:2x2:1x2,rails=2",
        demands: &[(0, 2, 64)],
        direct: 64.0,
        best: 32.0,
        // Two direct routes and two detours, of which three leave by one port.
        heu1: 48.0,
        heu2: 32.0,
        forwards: false,
    },
    Case {
        // Everybody's two links out and in are the limit; the fabric uses one of them.
        what: "a shift on two rails",
        spec: "fattree:2x2:1x2,rails=2",
        demands: &[(0, 2, 64), (1, 3, 64), (2, 0, 64), (3, 1, 64)],
        direct: 64.0,
        best: 32.0,
        // Equal shares over the direct routes and as many detours.
        heu1: 64.0,
        heu2: 32.0,
        forwards: false,
    },
];

impl Case {
    fn demands(&self) -> Vec<Demand> {
        self.demands.iter().map(|&(src, dst, mib)| demand(src, dst, mib * MIB)).collect()
    }
}

#[test]
fn hand_solved_cases_with_every_planner() {
    for case in &CASES {
        let (net, demands) = (net(case.spec), case.demands());
        for planner in planners() {
            let planned = pipeline::run(&net, &demands, &options(planner)).unwrap();
            planned.plan.check(&net).unwrap();
            let found = planned.report.bytes_per_link_max / MIB as f64;
            println!("{}, {planner}: {found}, {} forwarders", case.what, planned.report.forwarders);
            // What software can reach is reached; what it cannot is not.
            let most = match planner {
                "direct" => case.direct,
                "heu1" => case.heu1,
                "heu2" => case.heu2 * 1.01,
                _ => case.best * 1.01,
            };
            assert!((case.best - 1e-4..=most + 1e-4).contains(&found), "{}, {planner}: {found} MiB", case.what);
            let bound = planned.plan.bound_seconds * net.unit_capacity() / MIB as f64;
            assert!(bound <= case.best + 1e-6, "{}, {planner}: bound {bound}", case.what);
            assert_eq!(planned.plan.direct_congestion_seconds * net.unit_capacity(), case.direct * MIB as f64);
            if matches!(planner, "lp" | "optimal" | "heu2") && case.forwards {
                assert!(planned.report.forwarders > 0, "{}, {planner}", case.what);
            }
        }
    }
}

/// Whether every flow is the fabric's own route in one leg.
fn is_direct(net: &Network, plan: &Plan) -> bool {
    plan.demands.iter().zip(&plan.flows).all(|(d, flows)| {
        let mut own = Vec::new();
        net.route(d.src, d.dst, &mut own).unwrap();
        flows.len() == 1 && flows[0].links == own && flows[0].stops == [d.src, d.dst]
    })
}

#[test]
fn a_non_blocking_tree_is_left_alone() {
    for (spec, pattern) in [("fattree:k=4", "pattern:alltoall"), ("fattree:2x3:1x2", "pattern:alltoall")] {
        let net = net(spec);
        let demands = demands::parse(pattern, &net, MIB).unwrap();
        let planned = plan(&net, &demands, "optimal");
        assert!(is_direct(&net, &planned.plan), "{spec}");
        let verdict = verdict(&planned.plan, None, &planned.report.gain).unwrap();
        assert!(verdict.direct_suffices);
        assert_eq!(verdict.text, "the network's own routes reach the limit; forwarding cannot help");
    }
    let case = &CASES[1];
    let net = net(case.spec);
    let planned = plan(&net, &case.demands(), "optimal");
    assert!(is_direct(&net, &planned.plan), "{:?}", planned.plan.flows);
}

/// Two rails: nothing is forwarded, so forwarding gains nothing; an MPI library that stripes does as well.
#[test]
fn a_second_rail_is_not_called_forwarding() {
    let net = net("fattree:2x2:1x2,rails=2");
    let demands = demands::parse("pattern:alltoall", &net, MIB).unwrap();
    let planned = plan(&net, &demands, "optimal");
    let report = &planned.report;
    assert_eq!((report.forwarded_bytes, report.forwarders), (0, 0));
    assert!(report.further_rails_bytes > 0 && report.improvement > 1.9, "{report:?}");
    let striped = report.striped_congestion_seconds.unwrap();
    assert!(striped <= report.congestion_seconds * 1.01 && striped < 0.51 * report.direct_congestion_seconds);
    let text = planned.verdict.unwrap().text;
    assert!(text.starts_with("sending over further rails gains") && !text.contains("forwarding"), "{text}");
    assert!(text.contains("stripes messages across all rails"), "{text}");
}

#[test]
fn a_path_over_a_host_may_cross_its_switch_twice_but_no_link() {
    // Leaves 6, 7, 8 and roots 9, 10. From 0 over 5 to 4: switch 8 is passed twice.
    let net = net("fattree:2x3:1x2");
    let path = |nodes: &[u32]| -> Vec<LinkId> {
        nodes.windows(2).map(|w| net.link_between(NodeId(w[0]), NodeId(w[1])).unwrap()).collect()
    };
    let over = path(&[0, 6, 10, 8, 5, 8, 4]);
    assert_eq!(legs::repeated(&net, &over), None);
    assert_eq!(legs::stops(&net, &over), Some(vec![NodeId(0), NodeId(5), NodeId(4)]));
    assert_eq!(legs::repeated(&net, &path(&[0, 6, 1, 6, 0])), Some(NodeId(0)));
    assert_eq!(legs::repeated(&net, &path(&[0, 6, 9, 6, 9, 8, 4])), Some(NodeId(6)));
    assert_eq!(legs::repeated(&net, &[]), None);

    let planned = plan(&net, &[demand(0, 4, 10)], "direct");
    let with = |links: Vec<LinkId>, stops: &[u32]| {
        let mut plan = planned.plan.clone();
        plan.flows[0][0].links = links;
        plan.flows[0][0].stops = stops.iter().map(|&v| NodeId(v)).collect();
        plan.congestion_seconds = 10.0 / 1e9;
        plan.check(&net)
    };
    assert_eq!(with(over.clone(), &[0, 5, 4]), Ok(()));
    let why = |r: Result<(), String>| r.unwrap_err();
    assert_eq!(
        why(with(path(&[0, 6, 10, 8, 5, 8, 5, 8, 4]), &[0, 5, 4])),
        "a flow of demand 0 passes a host or a link twice"
    );
    assert_eq!(why(with(path(&[0, 6, 9, 6, 9, 8, 4]), &[0, 4])), "a flow of demand 0 passes a host or a link twice");
    // Over root 9 to host 5 is not what the fabric does.
    assert!(why(with(path(&[0, 6, 9, 8, 5, 8, 4]), &[0, 5, 4])).contains("own routes between its stops"));
}

#[test]
fn a_leg_begins_with_any_rail() {
    let net = net("fattree:2x2:1x2,rails=2");
    let path = |nodes: &[u32]| -> Vec<LinkId> {
        nodes.windows(2).map(|w| net.link_between(NodeId(w[0]), NodeId(w[1])).unwrap()).collect()
    };
    // The fabric's own is plane 0 (leaves 4 and 5, roots 6 and 7); plane 1 has leaves 8 and 9, roots 10 and 11.
    for (nodes, stops) in [
        (&[0, 4, 6, 5, 2][..], Some(vec![0, 2])),
        (&[0, 8, 10, 9, 2], Some(vec![0, 2])),
        (&[0, 8, 11, 9, 3, 5, 2], Some(vec![0, 3, 2])),
        (&[0, 8, 11, 9, 2], None),
    ] {
        let found = legs::stops(&net, &path(nodes));
        assert_eq!(found.map(|s| s.iter().map(|v| v.0).collect::<Vec<_>>()), stops, "{nodes:?}");
    }
    assert!(legs::check(&net, &path(&[0, 8, 10, 9, 2]), &[NodeId(0), NodeId(2)]));
}

#[test]
fn rails_of_a_network_from_a_file() {
    // Three hosts with a port to each of two switches. Shortest paths take s0; software can take s1, too.
    let text = r#"
        [hosts]
        names = ["a", "b", "c"]
        [switches]
        count = 2
        [[links]]
        from = "s0"
        to = ["a", "b", "c"]
        [[links]]
        from = "s1"
        to = ["a", "b", "c"]
    "#;
    let net = Network::from_toml(text, "rails").unwrap();
    for planner in planners() {
        let planned = plan(&net, &[demand(0, 1, 64 * MIB)], planner);
        let expected = if planner == "direct" { 64.0 } else { 32.0 };
        assert!((planned.report.bytes_per_link_max / MIB as f64 - expected).abs() < 0.01 * expected, "{planner}");
        assert_eq!(planned.report.forwarders, 0);
    }
}

/// The links between groups of a dragonfly whose groups have `switches` switches each.
fn globals(net: &Network, path: &[LinkId], switches: u32) -> Vec<(u32, u32)> {
    let hosts = net.hosts() as u32;
    let ends = path.iter().map(|&l| net.link(l)).filter(|l| l.from.0 >= hosts && l.to.0 >= hosts);
    let groups = ends.map(|l| ((l.from.0 - hosts) / switches, (l.to.0 - hosts) / switches));
    groups.filter(|(a, b)| a != b).collect()
}

#[test]
fn detours_are_spread() {
    // Nine groups of four switches, one cable between any two: seven other groups to go round by.
    let net = net("dragonfly:p=2,a=4,h=2");
    let pairs: Vec<Demand> = (0..8).map(|i| demand(i, 8 + i, 1)).collect();
    for (k, groups) in [(8, 4), (12, 5), (30, 7)] {
        let candidates = Candidates::generate(&net, &pairs, k, CandidateMethod::Auto).unwrap();
        assert_eq!(candidates.method(), CandidateMethod::Via);
        let mut first_detours = BTreeSet::new();
        for d in 0..pairs.len() {
            let first: BTreeSet<_> = candidates.paths(d).skip(1).map(|p| globals(&net, p, 4)[0]).collect();
            let round: usize = first.iter().filter(|(_, to)| *to > 1).count();
            assert!(round >= groups, "k = {k}: pair {d} goes round by {first:?}");
            first_detours.insert(candidates.paths(d).nth(1).map(<[LinkId]>::to_vec).unwrap());
        }
        // Not all pairs begin with the same.
        assert_eq!(first_detours.len(), 8);
    }
    // On a tree of full bisection: over all nine core switches above a destination's ports.
    let tree = common::net("fattree:k=6");
    let candidates = Candidates::generate(&tree, &[demand(0, 40, 1)], 20, CandidateMethod::Via).unwrap();
    let cores: BTreeSet<u32> = candidates.paths(0).flatten().map(|&l| tree.link(l).to.0).filter(|&v| v >= 90).collect();
    assert_eq!(tree.vertices() - 9, 90);
    assert!(cores.len() >= 7, "{cores:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn via_is_sound(
        spec in prop::sample::select(vec![
            "fattree:k=4", "fattree:2x3:1x2,rails=2", "fattree:2x2x2:2x1x2,routing=smodk", "fattree:2x2x3:1x2x1,rails=3",
            "dragonfly:p=2,a=3,h=1", "dragonfly+:p=2,l=2,s=2,h=1", "star:5", "dragonfly:p=1,a=4,h=2,routing=shortest",
            "torus:4x4", "mesh:5",
        ]),
        pairs in prop::collection::vec((0u32..1000, 0u32..1000), 1..8),
        k in 1usize..30,
    ) {
        let net = net(spec);
        let n = net.hosts() as u32;
        let demands: Vec<Demand> =
            pairs.iter().map(|&(a, b)| demand(a % n, b % n, 1)).filter(|d| d.src != d.dst).collect();
        let candidates = Candidates::generate(&net, &demands, k, CandidateMethod::Via).unwrap();
        for (i, d) in demands.iter().enumerate() {
            let paths: Vec<&[LinkId]> = candidates.paths(i).collect();
            prop_assert!((1..=k).contains(&paths.len()));
            prop_assert_eq!(paths.iter().collect::<BTreeSet<_>>().len(), paths.len());
            let mut own = Vec::new();
            net.route(d.src, d.dst, &mut own).unwrap();
            prop_assert_eq!(paths[0], own.as_slice());
            let rails = if net.chooses_port(d.src) { net.out_links(d.src).count() } else { 1 };
            for (p, path) in paths.iter().enumerate() {
                prop_assert_eq!(legs::repeated(&net, path), None);
                let stops = legs::stops(&net, path).unwrap();
                let most = if p < rails { 2 } else { 3 };
                prop_assert!(stops.len() <= most);
                prop_assert!(legs::check(&net, path, &stops));
            }
            // The same alone, and written to a file.
            let alone = Candidates::generate(&net, &[*d], k, CandidateMethod::Via).unwrap();
            prop_assert!(candidates.paths(i).eq(alone.paths(0)));
        }
        let mut text = Vec::new();
        optiq_solver::candidates::file::write_to(&mut text, &net, &candidates).unwrap();
        let read = optiq_solver::candidates::file::read_from("p", text.as_slice(), &net).unwrap();
        let read = read.for_demands(&net, &demands).unwrap();
        for i in 0..demands.len() {
            prop_assert!(candidates.paths(i).eq(read.paths(i)));
        }
    }
}

#[test]
fn yen_is_still_there_on_switched_networks() {
    let net = net("fattree:2x3:1x2");
    let options = PlanOptions { method: CandidateMethod::Yen, ..options("heu2") };
    let planned = pipeline::run(&net, &[demand(0, 4, MIB)], &options).unwrap();
    assert_eq!(planned.report.hops_max, 4);
    assert_eq!("via".parse::<CandidateMethod>(), Ok(CandidateMethod::Via));
    assert_eq!(CandidateMethod::Via.to_string(), "via");
}
