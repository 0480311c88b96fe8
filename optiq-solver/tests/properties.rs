//! What holds for every plan of every planner.
// Helpers outside of #[test] functions unwrap, too.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use optiq_net::{End, Geometry, LinkId, Network, NetworkBuilder, Routing};
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::{CandidateMethod, Candidates, Demand};
use proptest::prelude::*;

/// Grids, a switch, or a random connected graph with uneven capacities.
fn any_network() -> impl Strategy<Value = Network> {
    let specs = ["torus:4x4", "mesh:3x3", "torus:2x2x2", "torus:5", "star:5", "torus:3x4x2", "mesh:6"];
    let graphs = (3u32..9).prop_flat_map(|n| {
        prop::collection::btree_map((0..n, 0..n), 1u32..50, 0..20).prop_map(move |chords| {
            let mut b = NetworkBuilder::new();
            let hosts: Vec<End> = (0..n).map(|i| b.host(format!("n{i}"))).collect();
            for i in 0..n {
                b.duplex(hosts[i as usize], hosts[((i + 1) % n) as usize], 1, 1e6);
            }
            for ((from, to), tenths) in chords {
                if from != to {
                    b.link(hosts[from as usize], hosts[to as usize], 1 + tenths % 3, f64::from(tenths) * 1e5);
                }
            }
            b.build("random", Geometry::General, Routing::Shortest).unwrap()
        })
    });
    prop_oneof![prop::sample::select(specs.to_vec()).prop_map(net), graphs]
}

fn any_demands() -> impl Strategy<Value = Vec<(u32, u32, u64)>> {
    let bytes = prop_oneof![Just(0), 1u64..100, 1u64..10_000_000, 1u64 << 40..1 << 41];
    prop::collection::vec((any::<u32>(), any::<u32>(), bytes), 0..12)
}

fn on(net: &Network, demands: &[(u32, u32, u64)]) -> Vec<Demand> {
    let n = net.hosts() as u32;
    let demands = demands.iter().map(|&(a, b, bytes)| demand(a % n, b % n, bytes));
    demands.filter(|d| d.src != d.dst).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn plans_are_sound(net in any_network(), demands in any_demands(), k in 1usize..20, diverse: bool) {
        let demands = on(&net, &demands);
        let method = if diverse { CandidateMethod::Diverse } else { CandidateMethod::Yen };
        let candidates = Candidates::generate(&net, &demands, k, method).unwrap();
        let mut direct = f64::NAN;
        for planner in planners() {
            let options = PlanOptions { k: Some(k), method, chunk: 1 << 28, ..options(planner) };
            let planned = pipeline::run(&net, &demands, &options).unwrap();
            let plan = &planned.plan;
            // Bytes are conserved, paths are chains of links and of legs, figures are those of the flows.
            plan.check(&net).unwrap();
            prop_assert!(plan.congestion_seconds >= plan.bound_seconds);
            prop_assert_eq!(planned.report.load.bytes.iter().map(|&b| u128::from(b)).sum::<u128>(),
                plan.flows.iter().flatten().map(|f| u128::from(f.bytes) * f.links.len() as u128).sum::<u128>());
            for (d, flows) in plan.flows.iter().enumerate() {
                let offered: Vec<&[LinkId]> = candidates.paths(d).collect();
                // `optimal` finds further paths.
                for f in flows.iter().filter(|_| planner != "optimal") {
                    prop_assert!(offered.contains(&f.links.as_slice()), "{} invented a path", planner);
                }
            }
            match planner {
                "direct" => direct = plan.congestion_seconds,
                // The fabric's own routes are among the candidates.
                "lp" => prop_assert!(plan.congestion_seconds <= direct * 1.0016 + 1e-5),
                _ => {}
            }
            prop_assert_eq!(plan.direct_congestion_seconds, direct);
            let again = pipeline::run(&net, &demands, &options).unwrap().plan.to_bytes().unwrap();
            prop_assert_eq!(plan.to_bytes().unwrap(), again);
        }
    }

    #[test]
    fn candidates_from_a_file_give_the_same_plan(demands in any_demands(), k in 1usize..9) {
        let net = net("torus:4x4");
        let demands = on(&net, &demands);
        let candidates = Candidates::generate(&net, &demands, k, CandidateMethod::Auto).unwrap();
        let mut text = Vec::new();
        optiq_solver::candidates::file::write_to(&mut text, &net, &candidates).unwrap();
        let read = optiq_solver::candidates::file::read_from("p", text.as_slice(), &net).unwrap();
        let options = PlanOptions { k: Some(k), chunk: 1 << 28, ..options("heu2") };
        let searched = pipeline::run(&net, &demands, &options).unwrap().plan;
        prop_assert_eq!(pipeline::run_with(&net, &demands, &options, Some(&read)).unwrap().plan, searched);
    }
}

/// No planner beats the linear program over the same candidates, beyond the 0.15 % of its price and rounding.
#[test]
#[cfg(feature = "highs")]
fn the_linear_program_is_the_least() {
    for spec in ["torus:4x4", "torus:3x3x3", "mesh:4x4", "torus:2x4x4"] {
        let net = net(spec);
        for pattern in ["pattern:disjoint", "pattern:overlap", "pattern:random,count=40,min=1KiB,max=1MiB"] {
            let demands = optiq_solver::demands::parse(pattern, &net, 1 << 20).unwrap();
            let least = plan(&net, &demands, "lp").plan.congestion_seconds;
            for planner in ["direct", "heu1", "heu2"] {
                let other = plan(&net, &demands, planner).plan.congestion_seconds;
                assert!(least <= other * 1.0016, "{spec} {pattern} {planner}: {least} {other}");
            }
        }
    }
}
