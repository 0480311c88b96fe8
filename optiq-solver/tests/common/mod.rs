//! What several test files need.
#![allow(dead_code, missing_docs, clippy::unwrap_used)]

use optiq_net::{End, Geometry, Network, NetworkBuilder, NodeId, Routing};
use optiq_solver::pipeline::{self, PlanOptions, Planned};
use optiq_solver::{Demand, PlanError, planner};
use proptest::prelude::*;

/// Every planner of this build.
pub fn planners() -> Vec<&'static str> {
    planner::NAMES.into_iter().filter(|&n| n != "lp" || cfg!(feature = "highs")).collect()
}

pub fn net(spec: &str) -> Network {
    Network::from_spec(spec).unwrap()
}

pub fn demand(src: u32, dst: u32, bytes: u64) -> Demand {
    Demand::new(NodeId(src), NodeId(dst), bytes)
}

pub fn options(planner: &str) -> PlanOptions {
    PlanOptions { planner: planner.parse().unwrap(), ..PlanOptions::default() }
}

pub fn plan(net: &Network, demands: &[Demand], planner: &str) -> Planned {
    pipeline::run(net, demands, &options(planner)).unwrap()
}

pub fn refused(net: &Network, demands: &[Demand], options: &PlanOptions) -> PlanError {
    pipeline::run(net, demands, options).unwrap_err()
}

/// A network of hosts `h0, h1, ...` with directed links (from, to, capacity), routed on shortest paths.
pub fn graph(hosts: usize, links: &[(u32, u32, f64)]) -> Network {
    let mut builder = NetworkBuilder::new();
    let ends: Vec<End> = (0..hosts).map(|i| builder.host(format!("h{i}"))).collect();
    for &(from, to, capacity) in links {
        builder.link(ends[from as usize], ends[to as usize], 1, capacity);
    }
    builder.build("test graph", Geometry::General, Routing::Shortest).unwrap()
}

/// Directed graphs with that number of hosts and any density, some without a way out or in.
pub fn random_graph(hosts: std::ops::Range<usize>) -> impl Strategy<Value = Network> {
    hosts.prop_flat_map(|n| {
        let link = (0..n as u32, 0..n as u32).prop_filter("loop", |(a, b)| a != b);
        prop::collection::btree_set(link, 1..(n * n / 2).max(2))
            .prop_map(move |links| graph(n, &links.iter().map(|&(a, b)| (a, b, 1.0)).collect::<Vec<_>>()))
    })
}
