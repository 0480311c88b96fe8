//! Plans around known background load.
// Helpers outside of #[test] functions unwrap, too.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use optiq_net::{Background, Network, NodeId};
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::{CandidateMethod, CodecError, Plan};

const MIB: u64 = 1 << 20;

/// Two ways from h0 to h3, through h1 and through h2; every link carries a MiB in a second.
fn two_ways() -> Network {
    let second = MIB as f64;
    graph(4, &[(0, 1, second), (1, 3, second), (0, 2, second), (2, 3, second)])
}

fn beside(net: Network, text: &str) -> Network {
    net.with_background(&Background::parse(text, "load.txt").unwrap()).unwrap()
}

#[test]
fn a_half_used_way_gets_half() {
    // With x MiB through h1, where half is left, and 6 - x through h2: max(2 x, 6 - x) is least for x = 2, and 4 s.
    // What leaves h0 proves it: 6 MiB over 1.5 MiB/s.
    for used in ["h0 h1 50%", "h1 h3 0.5MiB/s", "h0 h1 50%\n1 * 524288"] {
        let net = beside(two_ways(), used);
        for planner in planners().into_iter().filter(|p| ["heu2", "lp", "optimal"].contains(p)) {
            let chunk = PlanOptions { method: CandidateMethod::Diverse, chunk: MIB / 64, ..options(planner) };
            let planned = pipeline::run(&net, &[demand(0, 3, 6 * MIB)], &chunk).unwrap();
            let last = net.link_between(NodeId(1), NodeId(3)).unwrap();
            let flows = planned.plan.flows[0].iter();
            let half: u64 = flows.filter(|f| f.links.contains(&last)).map(|f| f.bytes).sum();
            // A third of 6 MiB. The gap of `optimal`, 1 % of 4 MiB, is 2 % of 2 MiB.
            assert!(half.abs_diff(2 * MIB) <= 2 * MIB / 50, "{planner}, {used}: {half} bytes");
            assert!((planned.plan.congestion_seconds - 4.0).abs() <= 0.04, "{planner}, {used}");
            // Per link as it is without the load: 4 s of a MiB/s.
            assert!((planned.report.bytes_per_link_max / MIB as f64 - 4.0).abs() <= 0.04, "{planner}, {used}");
        }
    }
    let unused = pipeline::run(&two_ways(), &[demand(0, 3, 6 * MIB)], &options("heu2")).unwrap();
    assert_eq!(unused.plan.congestion_seconds, 3.0);
}

#[test]
fn plans_are_not_mixed_up() {
    let demands = [demand(0, 3, 6 * MIB)];
    let plan = pipeline::run(&two_ways(), &demands, &options("heu2")).unwrap().plan.to_bytes().unwrap();
    assert!(Plan::from_bytes(&plan, &two_ways()).is_ok());
    let other = Plan::from_bytes(&plan, &beside(two_ways(), "h0 h1 50%"));
    assert!(matches!(other, Err(CodecError::OtherNetwork { .. })), "{other:?}");
}
