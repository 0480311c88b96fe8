//! Planner `optimal`: certified against the bound, hand-solved cases and the linear program.
// Helpers outside of #[test] functions unwrap, too.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use optiq_net::NodeId;
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::{Demand, PlanError, demands};
use proptest::prelude::*;
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// `optimal` with `k` candidates.
fn with_k(k: usize) -> PlanOptions {
    PlanOptions { k: Some(k), ..options("optimal") }
}

/// Corner to corner of a 3x3 torus there are four link-disjoint paths. One candidate is the fabric's own route; the
/// three others have to be found by their prices.
#[test]
fn pricing_finds_what_the_candidates_lack() {
    let net = net("torus:3x3");
    let demands = [demand(0, 4, 12 * MIB)];
    let planned = pipeline::run(&net, &demands, &with_k(1)).unwrap();
    let heu2 = pipeline::run(&net, &demands, &PlanOptions { k: Some(1), ..options("heu2") }).unwrap();
    assert_eq!(heu2.report.bytes_per_link_max, 12.0 * MIB as f64);
    assert!(planned.report.bytes_per_link_max <= 3.0 * 1.01 * MIB as f64, "{}", planned.report.bytes_per_link_max);
    assert!(planned.report.paths >= 4 && planned.report.gap <= 0.01);
}

/// Where hosts may not forward, the paths through them are not taken, though prices ask for them.
#[test]
fn priced_paths_respect_who_may_forward() {
    let net = net("torus:3x3");
    let demands = [demand(0, 4, 12 * MIB)];
    for (allowed, least) in [(vec![false; 9], 12.0), (vec![true; 9], 3.0)] {
        let options = PlanOptions { forwarders: Some(allowed.clone()), ..with_k(1) };
        let planned = pipeline::run(&net, &demands, &options).unwrap();
        let found = planned.report.bytes_per_link_max / MIB as f64;
        assert!((least..=least * 1.01).contains(&found), "{found}");
        for flow in &planned.plan.flows[0] {
            assert!(flow.stops[1..flow.stops.len() - 1].iter().all(|s| allowed[s.index()]));
        }
        // The bound is over every routing, also those that these hosts cannot make.
        assert!((planned.plan.bound_seconds * net.unit_capacity() / MIB as f64 - 3.0).abs() < 1e-3);
    }
}

/// Demands of 3 and 1 MiB from one group of hosts to the other cross the one link between them: no cut around a host or
/// around all sources or destinations sees it, the prices do.
#[test]
fn prices_prove_what_the_cuts_do_not() {
    // Two rings of four hosts, joined by one link each way; 0 and 1 send to 5 and 6, 4 sends to 0.
    let mut links = Vec::new();
    for first in [0, 4] {
        for (a, b) in (0..4).map(|i| (first + i, first + (i + 1) % 4)) {
            links.extend([(a, b, 1e6), (b, a, 1e6)]);
        }
    }
    links.extend([(3, 4, 1e6), (4, 3, 1e6)]);
    let net = graph(8, &links);
    let demands = [demand(0, 5, 3 * MIB), demand(1, 6, MIB), demand(4, 0, MIB)];
    let options = PlanOptions { method: optiq_solver::CandidateMethod::Diverse, ..options("optimal") };
    let planned = pipeline::run(&net, &demands, &options).unwrap();
    let cut = optiq_solver::bound::lower_bound(&net, &demands).unwrap();
    let middle = 4.0 * MIB as f64 / 1e6;
    assert!(cut.seconds < 0.7 * middle, "{cut:?}");
    assert!(planned.plan.congestion_seconds >= middle && planned.report.gap <= 0.01);
    assert!(planned.plan.bound_seconds <= middle);
    assert!(planned.plan.binding.starts_with("prices on "), "{}", planned.plan.binding);
}

/// On a switch, prices ask for nothing that software could do.
#[test]
fn switched_networks_keep_their_candidates() {
    let net = net("star:5");
    let demands = demands::parse("pattern:alltoall", &net, MIB).unwrap();
    let planned = pipeline::run(&net, &demands, &options("optimal")).unwrap();
    assert_eq!(planned.plan.congestion_seconds, planned.plan.direct_congestion_seconds);
    assert!(planned.report.gap < 1e-9);
}

#[test]
fn the_published_case_is_proved_to_one_percent() {
    let net = net("bgq:512");
    for pattern in ["disjoint", "overlap", "subset"] {
        let demands = demands::parse(&format!("pattern:{pattern}"), &net, 8 * MIB).unwrap();
        let planned = pipeline::run(&net, &demands, &with_k(20)).unwrap();
        assert!(planned.report.gap <= 0.01, "{pattern}: {}", planned.report.gap);
        planned.plan.check(&net).unwrap();
    }
}

#[test]
fn a_time_limit_gives_a_plan_with_its_true_gap() {
    let net = net("torus:4x4x4");
    let demands = demands::parse("pattern:random,count=60,min=1KiB,max=1MiB", &net, MIB).unwrap();
    let options = PlanOptions { time_limit: Some(Duration::from_nanos(1)), ..with_k(4) };
    let planned = pipeline::run(&net, &demands, &options).unwrap();
    planned.plan.check(&net).unwrap();
    let cut = optiq_solver::bound::lower_bound(&net, &demands).unwrap();
    assert!(planned.plan.bound_seconds >= cut.seconds);
}

#[test]
fn what_is_refused() {
    let net = net("torus:4");
    let demands = [demand(0, 2, 5)];
    for gap in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let e = refused(&net, &demands, &PlanOptions { gap, ..with_k(2) });
        assert!(e.to_string().starts_with("the gap is "), "{e}");
    }
    let e = refused(&net, &demands, &PlanOptions { time_limit: Some(Duration::ZERO), ..with_k(2) });
    assert_eq!(e, PlanError::TimeLimit);
}

fn any_demands() -> impl Strategy<Value = Vec<(u32, u32, u64)>> {
    prop::collection::vec((any::<u32>(), any::<u32>(), MIB..64 * MIB), 1..12)
}

fn on(hosts: usize, demands: &[(u32, u32, u64)]) -> Vec<Demand> {
    let n = hosts as u32;
    let demands = demands.iter().map(|&(a, b, bytes)| Demand::new(NodeId(a % n), NodeId(b % n), bytes));
    demands.filter(|d| d.src != d.dst).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// On grids every path can be executed, so the proof always closes, from whatever candidates.
    #[test]
    fn one_percent_from_the_bound_on_grids(
        spec in prop::sample::select(vec!["torus:4x4", "mesh:3x3", "torus:2x2x2", "torus:5", "torus:3x4x2", "mesh:6"]),
        demands in any_demands(),
        k in 1usize..6,
    ) {
        let net = net(spec);
        let demands = on(net.hosts(), &demands);
        let planned = pipeline::run(&net, &demands, &with_k(k)).unwrap();
        planned.plan.check(&net).unwrap();
        prop_assert!(planned.report.gap <= 0.0101, "{}", planned.report.gap);
        prop_assert!(planned.plan.bound_seconds <= planned.plan.congestion_seconds);
        let again = pipeline::run(&net, &demands, &with_k(k)).unwrap();
        prop_assert_eq!(&planned.plan, &again.plan);
    }

    /// The linear program is optimal over the candidates, `optimal` over all paths: it is at most 1 % above it, and its
    /// bound holds for the linear program's plan, too.
    #[test]
    #[cfg(feature = "highs")]
    fn agrees_with_the_linear_program(
        spec in prop::sample::select(vec!["torus:4x4", "mesh:3x3", "torus:5", "torus:2x3x2"]),
        demands in any_demands(),
    ) {
        let net = net(spec);
        let demands = on(net.hosts(), &demands);
        let optimal = pipeline::run(&net, &demands, &with_k(20)).unwrap().plan;
        let lp = pipeline::run(&net, &demands, &PlanOptions { k: Some(20), ..options("lp") }).unwrap().plan;
        prop_assert!(optimal.congestion_seconds <= lp.congestion_seconds * 1.0101);
        prop_assert!(optimal.bound_seconds <= lp.congestion_seconds * (1.0 + 1e-9));
    }
}

/// More slack never forwards more, and buys congestion up to the slack over the bound.
#[test]
fn slack_is_spent_on_forwarding_less() {
    let net = net("torus:4x4x4");
    let demands = demands::parse("pattern:disjoint", &net, 8 * MIB).unwrap();
    let with = |slack: f64| pipeline::run(&net, &demands, &PlanOptions { slack, ..options("optimal") }).unwrap().report;
    let reports = [0.0, 0.01, 0.1, 0.5, 10.0].map(with);
    for (report, slack) in reports.iter().zip([0.0, 0.01, 0.1, 0.5, 10.0]) {
        let most = report.bound_seconds * (1.0 + f64::max(slack, 0.01));
        assert!(report.congestion_seconds <= most, "slack {slack}: {} above {most}", report.congestion_seconds);
    }
    for two in reports.windows(2) {
        assert!(
            two[1].forwarded_bytes <= two[0].forwarded_bytes,
            "{} then {}",
            two[0].forwarded_bytes,
            two[1].forwarded_bytes
        );
    }
    // Ten times the bound is more than the fabric's own routes need.
    assert_eq!(reports[4].forwarded_bytes, 0);
    assert!(reports[0].forwarded_bytes > 0);
}

/// Too large for all cheapest paths: 4,096 senders on 65,536 hosts. Host (0, b, c, d) sends to (8, b, c, d), half round ring A.
/// The 4,096 senders fill the slab A = 0, which 8,192 links leave, so that no link of them can carry less than half a
/// demand. Half of each demand up its ring and half of it down is just that, and the other links of the rings carry the same. The
/// fabric's own routes put a whole demand on each link that they take.
#[test]
fn large_grids_are_planned_by_walks() {
    let net = net("torus:16x16x16x16");
    let demands = demands::parse("pattern:disjoint,destinations=1", &net, MIB).unwrap();
    let planned = pipeline::run(&net, &demands, &PlanOptions::default()).unwrap();
    let (bytes, capacity) = (MIB as f64, net.unit_capacity());
    assert!((planned.plan.bound_seconds / (bytes / 2.0 / capacity) - 1.0).abs() < 1e-9);
    assert!((planned.plan.direct_congestion_seconds / (bytes / capacity) - 1.0).abs() < 1e-9);
    assert!(planned.report.gap <= 0.01, "{}", planned.report.gap);
    planned.plan.check(&net).unwrap();
}

/// On a torus without a side that sends less, all-to-all is best on the fabric's own routes, and the volume proves it: no
/// candidates are searched.
#[test]
fn even_demands_need_no_candidates() {
    let net = net("torus:5x5x5");
    let demands = demands::parse("pattern:alltoall", &net, MIB).unwrap();
    let planned = pipeline::run(&net, &demands, &PlanOptions::default()).unwrap();
    assert_eq!(planned.timings.candidates_seconds, 0.0);
    // On a ring of 5 every host is 1, 1, 2, 2 hops from the others: 6 x 25 x 125 demands' links in each dimension, and 250
    // links in it.
    let bound = 6.0 * 25.0 * 125.0 * MIB as f64 / 250.0 / net.unit_capacity();
    assert!((planned.plan.bound_seconds / bound - 1.0).abs() < 1e-9);
    assert!((planned.plan.congestion_seconds / bound - 1.0).abs() < 1e-9);
}
