//! Planners on networks small enough to be solved by hand, and what they refuse.
// Helpers outside of #[test] functions unwrap, too.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use optiq_net::NodeId;
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::{CandidateMethod, PlanError, Planner, PlannerName, Problem, planner};

/// A network, its demands, and the bytes on the worst unit link that each planner must reach.
struct Case {
    what: &'static str,
    net: optiq_net::Network,
    demands: Vec<optiq_solver::Demand>,
    direct: f64,
    heu1: f64,
    heu2: f64,
    lp: f64,
    bound: f64,
    binding: &'static str,
}

const MIB: u64 = 1 << 20;
const M: f64 = MIB as f64;

#[allow(clippy::too_many_lines, reason = "a table")]
fn cases() -> Vec<Case> {
    vec![
        Case {
            // Both ways round are two hops; half the bytes each.
            what: "opposite corners of a ring of four",
            net: net("torus:4"),
            demands: vec![demand(0, 2, 8 * MIB)],
            direct: 8.0 * M,
            heu1: 4.0 * M,
            heu2: 4.0 * M,
            lp: 4.0 * M,
            bound: 4.0 * M,
            binding: "the 2 links that leave",
        },
        Case {
            // A 2x2 mesh has two paths between opposite corners. Each node has two links: egress is the bound.
            what: "diagonal of a square",
            net: net("mesh:2x2"),
            demands: vec![demand(0, 3, 6 * MIB)],
            direct: 6.0 * M,
            heu1: 3.0 * M,
            heu2: 3.0 * M,
            lp: 3.0 * M,
            bound: 3.0 * M,
            binding: "the 2 links that leave",
        },
        Case {
            // In a 2x2 torus each neighbour is joined by two physical links (one bundle): half on each of two bundles,
            // a quarter on each link.
            what: "diagonal of a 2x2 torus",
            net: net("torus:2x2"),
            demands: vec![demand(0, 3, 8 * MIB)],
            direct: 4.0 * M,
            heu1: 2.0 * M,
            heu2: 2.0 * M,
            lp: 2.0 * M,
            bound: 2.0 * M,
            binding: "the 4 links that leave",
        },
        Case {
            // Three hosts on one switch: nothing to choose, and the link into host 1 takes both messages.
            what: "two into one through a switch",
            net: net("star:4"),
            demands: vec![demand(0, 1, 3 * MIB), demand(2, 1, 2 * MIB)],
            direct: 5.0 * M,
            heu1: 5.0 * M,
            heu2: 5.0 * M,
            lp: 5.0 * M,
            bound: 5.0 * M,
            binding: "the 1 link that enters",
        },
        Case {
            // Full triangle, 3 MiB from 0 to 1: the direct link and the way over 2 take half each.
            what: "triangle",
            net: graph(3, &[(0, 1, 1e6), (1, 2, 1e6), (2, 0, 1e6), (1, 0, 1e6), (2, 1, 1e6), (0, 2, 1e6)]),
            demands: vec![demand(0, 1, 3 * MIB)],
            direct: 3.0 * M,
            heu1: 1.5 * M,
            heu2: 1.5 * M,
            lp: 1.5 * M,
            bound: 1.5 * M,
            binding: "the 2 links that leave h0",
        },
        Case {
            // The same with a link from 0 to 1 that is twice as fast as the others: 2 MiB over it and 1 MiB over 2 is
            // 1 MiB per unit of capacity on each. Heuristic 1 does not look at capacities: 1.5 MiB on the unit links.
            what: "triangle with one fast side",
            net: graph(3, &[(0, 1, 2e6), (1, 2, 1e6), (2, 0, 1e6), (1, 0, 1e6), (2, 1, 1e6), (0, 2, 1e6)]),
            demands: vec![demand(0, 1, 3 * MIB)],
            direct: 1.5 * M,
            heu1: 1.5 * M,
            heu2: 1.0 * M,
            lp: 1.0 * M,
            bound: 1.0 * M,
            binding: "the 2 links that leave h0",
        },
        Case {
            // A line has one path between any two. Hosts 0 and 1 are the sources, and 4 MiB leave them over the one
            // link in the middle.
            what: "line",
            net: net("mesh:4"),
            demands: vec![demand(0, 3, 3 * MIB), demand(1, 2, MIB)],
            direct: 4.0 * M,
            heu1: 4.0 * M,
            heu2: 4.0 * M,
            lp: 4.0 * M,
            bound: 4.0 * M,
            binding: "the 1 link that leaves the 2 sources (h0 to h1)",
        },
        Case {
            // Everybody sends 1 MiB to everybody on a directed ring of three: 1 + 2 hops from each of three hosts over
            // three links, 3 MiB on each, however it is planned; the volume proves it.
            what: "directed ring",
            net: graph(3, &[(0, 1, 1e6), (1, 2, 1e6), (2, 0, 1e6)]),
            demands: (0..3).flat_map(|s| (1..3).map(move |o| demand(s, (s + o) % 3, MIB))).collect(),
            direct: 3.0 * M,
            heu1: 3.0 * M,
            heu2: 3.0 * M,
            lp: 3.0 * M,
            bound: 3.0 * M,
            binding: "all 3 links together",
        },
    ]
}

#[test]
fn hand_solved_cases() {
    for case in cases() {
        let unit = case.net.unit_capacity();
        for planner in planners() {
            // The diameter of a triangle is 1, beyond which Yen's paths are cut off; the other method does not mind.
            let options = PlanOptions { method: CandidateMethod::Diverse, ..options(planner) };
            let planned = pipeline::run(&case.net, &case.demands, &options).unwrap();
            let expected = match planner {
                "direct" => case.direct,
                "heu1" => case.heu1,
                "heu2" => case.heu2,
                _ => case.lp,
            };
            let found = planned.report.bytes_per_link_max;
            let tolerance = if planner == "optimal" { 0.01 * expected } else { 2.0 };
            assert!((found - expected).abs() <= tolerance, "{}, {planner}: {found} instead of {expected}", case.what);
            let bound = planned.plan.bound_seconds * unit;
            assert!((bound - case.bound).abs() <= 1.0, "{}, {planner}: bound {bound}", case.what);
            assert!(planned.plan.binding.starts_with(case.binding), "{}: {}", case.what, planned.plan.binding);
            assert_eq!(planned.plan.direct_congestion_seconds, case.direct / unit, "{}", case.what);
            planned.plan.check(&case.net).unwrap();
        }
    }
}

#[test]
fn report_of_a_plan_that_forwards() {
    // Ring of four, 0 to 2: upwards is the fabric's own route (one leg); downwards, 0 3 2, is forwarded by 3.
    let net = net("torus:4");
    let planned = plan(&net, &[demand(0, 2, 8 * MIB)], "heu2");
    let r = &planned.report;
    assert_eq!((r.hosts, r.links, r.demand_count, r.paths), (4, 8, 1, 2));
    assert_eq!((r.paths_per_demand_max, r.paths_per_demand_mean), (2, 2.0));
    assert_eq!((r.paths_per_link_max, r.paths_per_link_mean), (1, 1.0));
    assert_eq!((r.bytes_per_link_max, r.bytes_per_link_mean), (4.0 * M, 4.0 * M));
    assert_eq!((r.forwarders, r.forwarded_bytes), (1, 4 * MIB));
    assert_eq!((r.hops_max, r.hops_mean), (2, 2.0));
    assert_eq!((r.improvement, r.gap), (2.0, 0.0));
    let stops: Vec<Vec<NodeId>> = planned.plan.flows[0].iter().map(|f| f.stops.clone()).collect();
    assert!(stops.contains(&vec![NodeId(0), NodeId(2)]));
    assert!(stops.contains(&vec![NodeId(0), NodeId(3), NodeId(2)]));
    assert_eq!(r.load.bytes.iter().sum::<u64>(), 16 * MIB);
    assert_eq!(r.direct_load.bytes.iter().sum::<u64>(), 16 * MIB);
}

#[test]
fn heuristic_1_raises_maxload_until_every_pair_has_a_path() {
    // Five messages over the one link of a line; with maxload 2 the last ones wait for maxload 5.
    let net = net("mesh:2");
    let demands = vec![demand(0, 1, 10); 5];
    let options = PlanOptions { maxload: 2, ..options("heu1") };
    let planned = pipeline::run(&net, &demands, &options).unwrap();
    assert_eq!(planned.report.paths, 5);
    assert_eq!(planned.report.paths_per_link_max, 5);
    // A ring of four with maxload 1 and two equal demands that want the same ways round in the same order.
    let net = common::net("torus:4");
    let demands = vec![demand(0, 2, 9), demand(0, 2, 9)];
    let options = PlanOptions { maxload: 1, ..common::options("heu1") };
    let planned = pipeline::run(&net, &demands, &options).unwrap();
    // The second one is refused what the first has just taken, twice, and gets both in the second round.
    assert_eq!(planned.report.paths_per_link_max, 2);
    assert_eq!(planned.report.paths, 4);
}

#[test]
fn hosts_that_may_not_forward_do_not() {
    // Ring of four, 0 to 2: the way that is not the fabric's own needs host 3.
    let net = net("torus:4");
    let demands = [demand(0, 2, 8)];
    for (allowed, flows) in [(vec![true, true, true, false], 1), (vec![true, false, true, true], 2)] {
        let options = PlanOptions { forwarders: Some(allowed), ..options("heu2") };
        let options = PlanOptions { chunk: 1, ..options };
        assert_eq!(pipeline::run(&net, &demands, &options).unwrap().report.paths, flows);
    }
}

#[test]
fn odd_bytes_are_kept() {
    let net = net("torus:4");
    for planner in planners() {
        let planned = plan(&net, &[demand(0, 2, 7), demand(1, 3, 0), demand(2, 0, 1)], planner);
        let sums: Vec<u64> = planned.plan.flows.iter().map(|f| f.iter().map(|f| f.bytes).sum()).collect();
        assert_eq!(sums, [7, 0, 1], "{planner}");
        assert!(planned.plan.flows[1].is_empty());
    }
}

#[test]
fn nothing_to_do_is_a_plan() {
    let net = net("torus:4x4");
    for planner in planners() {
        for demands in [vec![], vec![demand(1, 2, 0)]] {
            let planned = plan(&net, &demands, planner);
            assert_eq!(planned.report.paths, 0);
            assert_eq!((planned.report.gap, planned.report.improvement), (0.0, 1.0));
            assert_eq!(planned.plan.congestion_seconds, 0.0);
        }
    }
}

#[test]
fn huge_messages_do_not_take_for_ever() {
    let net = net("torus:4");
    for planner in planners() {
        let planned = plan(&net, &[demand(0, 2, 1 << 60), demand(1, 3, 1 << 60)], planner);
        assert_eq!(planned.report.hops_max, 2, "{planner}");
    }
}

#[test]
fn what_is_refused_and_how() {
    let net = net("torus:4");
    let one = [demand(0, 2, 5)];
    let with = |f: &dyn Fn(&mut PlanOptions)| {
        let mut o = options("heu2");
        f(&mut o);
        refused(&net, &one, &o).to_string()
    };
    // Candidates where nothing is said: 300,000 in all for `optimal`, 12 to 150 for a demand; more from few sources;
    // else as published.
    let grid = common::net("torus:16x16");
    let from = |sources: u32, n: u32| (0..n).map(|i| demand(i % sources, 128 + i % 64, 1)).collect::<Vec<_>>();
    let automatic = |planner: &str, demands: &[optiq_solver::Demand]| options(planner).k_for(&grid, demands);
    assert_eq!([0, 2_000, 4_000, 25_001].map(|n| automatic("optimal", &from(64, n))), [150, 150, 75, 12]);
    assert_eq!([25_000, 100_000].map(|n| automatic("optimal", &from(32, n))), [80, 20]);
    let given = PlanOptions { k: Some(7), ..options("optimal") };
    assert_eq!((automatic("heu2", &from(64, 9)), given.k_for(&grid, &from(64, 9))), (50, 7));
    assert_eq!(with(&|o| o.k = Some(0)), "k is 0; from 1 to 10000 candidate paths per demand can be asked for");
    assert_eq!(with(&|o| o.chunk = 0), "chunk is 0; heuristic 2 needs chunks of at least 1 byte");
    assert_eq!(
        with(&|o| {
            o.planner = PlannerName::Heuristic1;
            o.maxload = 0;
        }),
        "maxload is 0; heuristic 1 needs room for at least 1 path on every link"
    );
    assert_eq!(
        "best".parse::<PlannerName>().unwrap_err().to_string(),
        "there is no planner \"best\"; the planners are direct, heu1, heu2, lp, optimal"
    );
    for slack in [-0.01, f64::NAN, f64::INFINITY] {
        assert_eq!(
            with(&|o| o.slack = slack),
            format!("the slack is {slack}; a finite number of at least 0 is expected, such as 0.01 for 1 %")
        );
    }
    assert!(with(&|o| o.candidate_file = Some("no/such/file".into())).starts_with("path file no/such/file: "));
    for planner in planners() {
        let o = options(planner);
        assert_eq!(
            refused(&net, &[demand(0, 9, 5)], &o).to_string(),
            "demand 0 names host 9, but the network's hosts are numbered 0 to 3"
        );
        assert!(matches!(refused(&net, &[demand(1, 1, 5)], &o), PlanError::SelfDemand { demand: 0, .. }));
        let overflow = [demand(0, 1, u64::MAX), demand(1, 2, 1)];
        assert!(matches!(refused(&net, &overflow, &o), PlanError::Overflow { demand: 1, .. }));
        let one_way = graph(3, &[(0, 1, 1.0), (1, 2, 1.0)]);
        assert_eq!(
            refused(&one_way, &[demand(0, 2, 1), demand(2, 0, 1)], &o).to_string(),
            "there is no path from h2 to h0, which demand 1 needs"
        );
    }
    assert!(matches!("fast".parse::<CandidateMethod>(), Err(PlanError::UnknownMethod(_))));
    let problem = Problem::new(&net, &one, None).unwrap();
    let heu2 = planner::by_name("heu2", &Default::default()).unwrap();
    assert_eq!(heu2.assign(&problem), Err(PlanError::NoCandidates("heu2")));
}

#[test]
#[cfg(not(feature = "highs"))]
fn the_planner_left_out_says_how_to_get_it() {
    let e = planner::by_name("lp", &Default::default()).err().unwrap();
    assert_eq!(e.to_string(), "planner lp is not in this build; build with the cargo feature `highs` to have it");
}

#[test]
fn planners_are_object_safe_and_named() {
    let all: Vec<Box<dyn Planner>> =
        planners().into_iter().map(|n| planner::by_name(n, &Default::default()).unwrap()).collect();
    assert_eq!(all.iter().map(|p| p.name()).collect::<Vec<_>>(), planners());
    assert!(!all[0].needs_candidates() && all[1].needs_candidates());
}

/// Without a time limit, what would take minutes is refused at once.
#[test]
fn too_many_demands_are_refused_at_once() {
    let many = vec![demand(0, 2, 1); 8_000_001];
    assert_eq!(
        refused(&net("torus:4"), &many, &options("optimal")).to_string(),
        "8000001 demands take minutes to plan; without a time limit, planner optimal takes 8000000 at most (planner direct \
         takes any number)"
    );
}

/// Where routers choose, software controls a path hop by hop: every plan relays at every host, for each planner, and the direct load that
/// it is compared with is that of routers that choose.
#[test]
fn plans_for_adaptive_routers_relay_at_every_host() {
    let net = net("torus:4x4x2,routing=adaptive");
    let demands = [demand(0, 26, 4 << 20), demand(0, 13, 1 << 20), demand(3, 26, 1 << 20)];
    for name in planners() {
        let planned = pipeline::run(&net, &demands, &options(name)).unwrap();
        planned.plan.check(&net).unwrap();
        let flows = || planned.plan.flows.iter().flatten();
        assert!(flows().all(|f| f.stops.len() == f.links.len() + 1), "{name}");
        let spread = net.spread_load(demands.iter().map(|d| (d.src, d.dst, d.bytes))).unwrap();
        assert_eq!(planned.report.direct_load, spread, "{name}");
    }
    // Processes at both ends alone, which are no neighbours.
    let forwarders = (0..32).map(|host| host == 0 || host == 5).collect();
    let only_ends = PlanOptions { forwarders: Some(forwarders), ..options("heu2") };
    let refused = pipeline::run(&net, &[demand(0, 5, 8)], &only_ends).unwrap_err().to_string();
    assert!(refused.contains("which demand 0 needs, has a process on every host that it passes"), "{refused}");
    // The same demands where a route is a leg: planner direct has one for each demand.
    let fixed = self::net("torus:4x4x2");
    let planned = pipeline::run(&fixed, &demands, &options("direct")).unwrap();
    assert!(planned.plan.flows.iter().flatten().all(|f| f.stops.len() == 2));
}
