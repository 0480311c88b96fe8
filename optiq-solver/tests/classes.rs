//! Classes of urgency (thesis 7.2.3): the urgent are planned as if they were alone, the others around them.
// Helpers outside of #[test] functions unwrap, too.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use optiq_net::{LinkLoad, Network, NodeId};
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::planner::PlannerName;
use optiq_solver::{CandidateMethod, Candidates, Demand, Plan, PlanError, Problem, demands};
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

fn class(class: u8, demand: Demand) -> Demand {
    Demand { class, ..demand }
}

/// The planners that look at the base load: `direct` has no choice, and `optimal` is tested with its own tests.
fn avoiding() -> Vec<&'static str> {
    planners().into_iter().filter(|p| !["direct", "optimal"].contains(p)).collect()
}

/// Ways from h0 to h4 through h1, h2 and, if there are three, h3; and h5, from which all ways lead through h1. Every
/// link carries a MiB in a second.
fn ways(three: bool) -> Network {
    let second = MIB as f64;
    let mut links = vec![(0, 1, second), (1, 4, second), (0, 2, second), (2, 4, second), (5, 1, second)];
    if three {
        links.extend([(0, 3, second), (3, 4, second)]);
    } else {
        links.push((3, 4, second));
    }
    graph(6, &links)
}

/// The plan of `demands`, with chunks and candidates that suit small graphs.
fn planned(net: &Network, demands: &[Demand], planner: &str) -> pipeline::Planned {
    let options = PlanOptions { method: CandidateMethod::Diverse, chunk: MIB / 16, maxload: 1, ..options(planner) };
    let planned = pipeline::run(net, demands, &options).unwrap();
    planned.plan.check(net).unwrap();
    planned
}

/// Bytes of the second demand that enter h4 from h1, h2 and h3.
fn through(net: &Network, planned: &pipeline::Planned) -> [u64; 3] {
    [1, 2, 3].map(|host| {
        let last = net.link_between(NodeId(host), NodeId(4));
        let flows = planned.plan.flows[1].iter().filter(|f| f.links.last().copied() == last);
        flows.map(|f| f.bytes).sum()
    })
}

#[test]
fn bulk_keeps_off_what_urgent_uses() {
    // 4 MiB are on h1 -> h4 before 4 MiB can choose: all of them through h2 wait for 4 s; any through h1, for more.
    // Heuristic 1 has room for one path on a link, which is taken.
    let net = ways(false);
    let (urgent, bulk) = (class(1, demand(5, 4, 4 * MIB)), demand(0, 4, 4 * MIB));
    for planner in avoiding() {
        let both = planned(&net, &[urgent, bulk], planner);
        let [h1, h2, _] = through(&net, &both);
        // Of the linear program 0.15 % may stay: price and tolerance.
        assert!(h1 <= 4 * MIB / 500 && h1 + h2 == 4 * MIB, "{planner}: {h1} {h2}");
        assert_eq!(both.report.classes[0].congestion_seconds, 4.0, "{planner}");
    }
}

#[test]
fn bulk_fills_up_to_the_level_of_the_urgent() {
    // 4 MiB are on h1 -> h4; of 8 MiB, 2 through h1 and 6 through h2 make 6 on both. Heuristic 1 counts paths: with
    // room for one on a link, nothing more goes through h1.
    let net = ways(false);
    let demands = [class(9, demand(5, 4, 4 * MIB)), class(3, demand(0, 4, 8 * MIB))];
    for planner in avoiding() {
        let both = planned(&net, &demands, planner);
        let expected = if planner == "heu1" { [0, 8 * MIB] } else { [2 * MIB, 6 * MIB] };
        let found = through(&net, &both);
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.abs_diff(expected) <= 8 * MIB / 500, "{planner}: {found} instead of {expected}");
        }
        let figures = &both.report.classes;
        assert_eq!(
            figures.iter().map(|c| (c.class, c.demands, c.bytes)).collect::<Vec<_>>(),
            [(9, 1, 4 * MIB), (3, 1, 8 * MIB)]
        );
        let last = if planner == "heu1" { 8.0 } else { 6.0 };
        assert!((figures[1].congestion_seconds - last).abs() < 0.02, "{planner}: {figures:?}");
        // The fabric's own route of the bulk is one of the two ways: beside the urgent or not.
        let direct = if both.report.direct_load.bytes.contains(&(12 * MIB)) { 12.0 } else { 8.0 };
        assert_eq!(figures[1].direct_congestion_seconds, direct);
        assert_eq!(figures[0].direct_congestion_seconds, 4.0);
    }
}

#[test]
fn a_heavy_base_load_does_not_excuse_the_rest() {
    // 16 MiB of urgent bytes on h1 -> h4 are more than all others together, which have 2 MiB and two ways beside it: a
    // MiB on each. A program that looked at the most loaded link of all would find nothing to choose.
    let net = ways(true);
    let demands = [class(1, demand(5, 4, 16 * MIB)), demand(0, 4, 2 * MIB)];
    for planner in avoiding().into_iter().filter(|p| *p != "heu1") {
        let both = planned(&net, &demands, planner);
        let expected = [0, MIB, MIB];
        for (found, expected) in through(&net, &both).iter().zip(expected) {
            assert!(found.abs_diff(expected) <= 2 * MIB / 100, "{planner}: {found} instead of {expected}");
        }
        assert!((both.report.classes[1].congestion_seconds - 1.0).abs() < 0.02, "{planner}");
        assert_eq!(both.plan.congestion_seconds, 16.0);
    }
}

#[test]
fn heuristic_1_skips_limits_at_which_nothing_fits() {
    // A line has one path, and ten million others are on it.
    let net = net("mesh:2");
    let demands = [demand(0, 1, 10)];
    let candidates = Candidates::generate(&net, &demands, 4, CandidateMethod::Auto).unwrap();
    let base = LinkLoad { bytes: vec![0; 2], paths: vec![10_000_000; 2] };
    let problem = Problem::new(&net, &demands, Some(&candidates)).unwrap().with_base(&base).unwrap();
    let heu1 = optiq_solver::planner::by_name("heu1", &Default::default()).unwrap();
    assert_eq!(heu1.assign(&problem).unwrap().shares[0].len(), 1);
}

#[test]
fn a_base_load_must_fit() {
    let net = net("torus:4");
    let demands = [demand(0, 2, 5)];
    let problem = Problem::new(&net, &demands, None).unwrap();
    assert_eq!((problem.base(), problem.base_paths()), (None, None));
    let short = LinkLoad { bytes: vec![0; 7], paths: vec![0; 7] };
    assert_eq!(
        problem.with_base(&short).unwrap_err().to_string(),
        "the base load has entries for 7 links, but the network has 8"
    );
    let mut full = LinkLoad::empty(&net);
    full.bytes[0] = u64::MAX - 4;
    assert_eq!(
        problem.with_base(&full).unwrap_err().to_string(),
        "the base load of link h0 -> h1 and the demands sum to more bytes than 64 bits hold"
    );
    full.bytes[0] -= 1;
    assert_eq!(problem.with_base(&full).unwrap().base(), Some(full.bytes.as_slice()));
}

#[test]
fn errors_name_the_demand_of_the_whole_list() {
    let one_way = graph(3, &[(0, 1, 1.0), (1, 2, 1.0)]);
    let list = [class(1, demand(0, 1, 1)), demand(0, 2, 1), class(1, demand(1, 2, 1)), class(7, demand(2, 0, 1))];
    for planner in planners() {
        assert_eq!(
            refused(&one_way, &list, &options(planner)).to_string(),
            "there is no path from h2 to h0, which demand 3 needs"
        );
        let to_itself = [class(1, demand(0, 1, 1)), demand(0, 2, 1), class(1, demand(1, 1, 1))];
        let error = refused(&one_way, &to_itself, &options(planner));
        assert!(matches!(error, PlanError::SelfDemand { demand: 2, .. }), "{error}");
    }
    let net = net("torus:4");
    let candidates = Candidates::generate(&net, &[demand(0, 1, 1)], 3, CandidateMethod::Auto).unwrap();
    let list = [demand(0, 1, 1), class(2, demand(0, 1, 5)), class(2, demand(0, 3, 1))];
    let error = pipeline::run_with(&net, &list, &options("heu2"), Some(&candidates)).unwrap_err();
    assert_eq!(error.to_string(), "the candidate paths hold none from h0 to h3, which demand 2 needs");
}

#[test]
fn candidates_at_hand_serve_all_classes() {
    let net = net("torus:4x4");
    let demands = demands::parse("pattern:random,count=30,classes=3", &net, 1 << 16).unwrap();
    let candidates = Candidates::generate(&net, &demands, 50, CandidateMethod::Auto).unwrap();
    for planner in planners() {
        let searched = plan(&net, &demands, planner).plan;
        let given = pipeline::run_with(&net, &demands, &options(planner), Some(&candidates)).unwrap().plan;
        assert_eq!(searched, given, "{planner}");
    }
}

#[test]
fn a_single_class_is_planned_as_ever_whatever_its_number() {
    let net = net("torus:4x4");
    let plain = demands::parse("pattern:overlap", &net, 1 << 20).unwrap();
    let urgent: Vec<Demand> = plain.iter().map(|&d| class(200, d)).collect();
    for planner in planners() {
        let (plain, urgent) = (plan(&net, &plain, planner), plan(&net, &urgent, planner));
        assert_eq!(plain.plan.flows, urgent.plan.flows, "{planner}");
        assert_eq!(urgent.report.classes.len(), 1);
        assert_eq!(urgent.report.classes[0].class, 200);
        assert_eq!(urgent.report.classes[0].congestion_seconds, urgent.plan.congestion_seconds);
        assert_eq!(urgent.report.classes[0].direct_congestion_seconds, urgent.plan.direct_congestion_seconds);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// What is urgent has the same flows and is done at the same time, bit by bit, with and without the rest.
    #[test]
    fn the_urgent_do_not_notice_the_rest(
        spec in prop::sample::select(vec!["torus:4x4", "mesh:3x3", "torus:2x3x2", "star:5"]),
        seed in 0u64..1000,
        count in 1usize..25,
    ) {
        let net = net(spec);
        let pattern = format!("pattern:random,count={count},seed={seed},min=1,max=1MiB,classes=3");
        let all = demands::parse(&pattern, &net, 1).unwrap();
        for planner in planners() {
            let together = plan(&net, &all, planner);
            together.plan.check(&net).unwrap();
            let figures = &together.report.classes;
            for lowest in figures.iter().map(|c| c.class) {
                let places: Vec<usize> = (0..all.len()).filter(|&i| all[i].class >= lowest).collect();
                let upper: Vec<Demand> = places.iter().map(|&i| all[i]).collect();
                let alone = plan(&net, &upper, planner);
                for (flows, &i) in alone.plan.flows.iter().zip(&places) {
                    prop_assert_eq!(flows, &together.plan.flows[i], "{}", planner);
                }
                let same: Vec<_> = figures.iter().filter(|c| c.class >= lowest).collect();
                prop_assert_eq!(alone.report.classes.iter().collect::<Vec<_>>(), same, "{}", planner);
            }
            // The last class to be done is done when the most loaded link is.
            let last = figures.iter().map(|c| c.congestion_seconds).fold(0.0, f64::max);
            prop_assert_eq!(last, together.plan.congestion_seconds);
            let last = figures.iter().map(|c| c.direct_congestion_seconds).fold(0.0, f64::max);
            prop_assert_eq!(last, together.plan.direct_congestion_seconds);
            prop_assert!(together.plan.bound_seconds <= together.plan.congestion_seconds);
            prop_assert_eq!(figures.iter().map(|c| c.bytes).sum::<u64>(), all.iter().map(|d| d.bytes).sum::<u64>());
        }
    }
}

/// Paths are those of the same demands without classes, and the plan is one of the demands with theirs.
#[test]
fn together_classes_change_no_path() {
    let net = Network::from_spec("torus:4x4").unwrap();
    let demands = demands::parse("pattern:random,count=30,classes=3", &net, 1 << 16).unwrap();
    let as_one: Vec<Demand> = demands.iter().map(|d| Demand { class: 0, ..*d }).collect();
    for planner in [PlannerName::Heuristic2, PlannerName::Optimal] {
        let options = PlanOptions { planner, together: true, ..PlanOptions::default() };
        let together = pipeline::run(&net, &demands, &options).unwrap();
        let plain = pipeline::run(&net, &as_one, &options).unwrap();
        assert_eq!(together.plan.flows, plain.plan.flows, "{planner}");
        assert_eq!(together.plan.demands, demands, "{planner}");
        assert_eq!(together.report.classes.len(), 3, "{planner}");
        // As it is sent to all ranks.
        let read = Plan::from_bytes(&together.plan.to_bytes().unwrap(), &net).unwrap();
        assert_eq!(read.demands, demands, "{planner}");
    }
}
