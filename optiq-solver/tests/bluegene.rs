//! The published case: Blue Gene/Q partitions, patterns of thesis 6.4.4.2, 8 MiB for each pair, k = 50 (table VII).
// Helpers outside of #[test] functions unwrap, too.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use optiq_solver::demands;
use optiq_solver::pipeline::Planned;

fn run(spec: &str, pattern: &str, planner: &str) -> Planned {
    let net = net(spec);
    let demands = demands::parse(&format!("pattern:{pattern}"), &net, 8 << 20).unwrap();
    plan(&net, &demands, planner)
}

/// Bytes per link and path counts of the fabric's own routes: the table's MPI row for `disjoint`.
#[test]
fn direct_reproduces_the_mpi_row() {
    let r = run("bgq:1024", "disjoint", "direct").report;
    assert_eq!((r.hosts, r.links, r.demand_count, r.paths), (1024, 10_240, 512, 512));
    assert_eq!(r.paths_per_link_max, 16);
    assert_eq!(r.bytes_per_link_max, 134_217_728.0);
    assert!((r.paths_per_link_mean - 3.07).abs() < 0.005, "{}", r.paths_per_link_mean);
    for pattern in ["overlap", "subset"] {
        let r = run("bgq:1024", pattern, "direct").report;
        assert_eq!((r.paths_per_link_max, r.bytes_per_link_max), (16, 134_217_728.0));
    }
}

#[test]
fn heuristics_are_better_than_published() {
    for (pattern, heu1, heu2) in
        [("disjoint", 63.04e6, 24.31e6), ("overlap", 38.66e6, 22.21e6), ("subset", 45.08e6, 21.75e6)]
    {
        let found = run("bgq:1024", pattern, "heu1").report.bytes_per_link_max;
        assert!(found <= heu1, "heu1, {pattern}: {found}");
        let found = run("bgq:1024", pattern, "heu2").report.bytes_per_link_max;
        assert!(found <= heu2, "heu2, {pattern}: {found}");
    }
}

/// 16 MiB a link is the optimum over all routings, by a cut around the sources; about two flows for each pair.
#[test]
#[cfg(feature = "highs")]
fn the_linear_program_reaches_the_optimum_over_all_routings() {
    let r = run("bgq:512", "disjoint", "lp").report;
    let optimum = f64::from(16 << 20);
    assert!((optimum - 1.0..optimum * 1.0001).contains(&r.bytes_per_link_max), "{}", r.bytes_per_link_max);
    assert!(r.paths <= 3 * r.demand_count, "{} flows", r.paths);
    // The plan carries its own proof: 32 sources fill a sub-torus with four links out of each.
    assert!(r.gap < 1e-4, "{}", r.gap);
    assert_eq!(r.binding, "the 128 links that leave the 32 sources (h0 to h31)");
}
