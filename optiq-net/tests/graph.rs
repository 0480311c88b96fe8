//! petgraph as an independent oracle for distances, on grids and on random graphs.
#![allow(clippy::unwrap_used)]

use optiq_net::graph::{from_petgraph, to_petgraph};
use optiq_net::{End, Geometry, NetError, Network, NetworkBuilder, NodeId, Routing};
use petgraph::algo::dijkstra;
use petgraph::graph::NodeIndex;
use petgraph::visit::Reversed;
use proptest::prelude::*;

/// Distances, diameter and neighbours of `network` are those that petgraph finds.
fn check(network: &Network) -> Result<(), TestCaseError> {
    let graph = to_petgraph(network);
    let mut diameter = 0;
    for dst in (0..network.vertices() as u32).map(NodeId) {
        let oracle = dijkstra(Reversed(&graph), dst.0.into(), None, |_| 1u32);
        let distances = network.distances_to(dst);
        for v in (0..network.vertices() as u32).map(NodeId) {
            let expected = oracle.get(&NodeIndex::from(v.0)).copied().unwrap_or(u32::MAX);
            prop_assert_eq!(distances[v.index()], expected);
            prop_assert_eq!(network.distance(v, dst), expected);
            if expected != u32::MAX && network.is_host(v) && network.is_host(dst) {
                diameter = diameter.max(expected);
            }
            let routed = network.route(v, dst, &mut Vec::new());
            if expected == u32::MAX {
                prop_assert!(matches!(routed, Err(NetError::Unreachable { .. })), "{:?}", routed);
            }
        }
        let mut neighbours: Vec<u32> = graph.neighbors(dst.0.into()).map(|v| v.index() as u32).collect();
        neighbours.sort();
        prop_assert_eq!(network.neighbours(dst).map(|v| v.0).collect::<Vec<_>>(), neighbours);
    }
    prop_assert_eq!(network.diameter(), diameter);
    let back = from_petgraph(&graph, network.spec()).unwrap();
    prop_assert_eq!(back.links(), network.links());
    prop_assert_eq!(back.hosts(), network.hosts());
    Ok(())
}

#[test]
fn grids_and_stars() {
    for spec in ["torus:4x3x2", "mesh:3x4", "torus:5x4,wrap=10", "torus:1x7", "mesh:1", "star:6", "bgq:512"] {
        let network = Network::from_spec(spec).unwrap();
        if network.hosts() <= 100 {
            check(&network).unwrap();
        } else {
            let oracle = dijkstra(Reversed(&to_petgraph(&network)), 77.into(), None, |_| 1u32);
            let distances = network.distances_to(NodeId(77));
            assert!((0..512u32).all(|v| oracle[&NodeIndex::from(v)] == distances[v as usize]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn random_graphs(hosts in 1u32..8, switches in 0u32..5, links in prop::collection::vec((0u32..12, 0u32..12, 1u32..3), 0..30)) {
        let mut b = NetworkBuilder::new();
        for i in 0..hosts {
            b.host(format!("h{i}"));
        }
        for i in 0..switches {
            b.switch(format!("s{i}"));
        }
        let end = |v: u32| if v % (hosts + switches) < hosts { End::Host(v % (hosts + switches)) } else { End::Switch(v % (hosts + switches) - hosts) };
        for (x, y, lanes) in links {
            if end(x) != end(y) {
                b.link(end(x), end(y), lanes, 1e9);
            }
        }
        let network = b.build("random", Geometry::General, Routing::Shortest).unwrap();
        check(&network)?;
        // Without switches every vertex forwards, and shortest routes are as long as the distance.
        if switches == 0 {
            for (a, z) in (0..hosts).flat_map(|a| (0..hosts).map(move |z| (NodeId(a), NodeId(z)))) {
                let mut route = Vec::new();
                if network.route(a, z, &mut route).is_ok() {
                    prop_assert_eq!(route.len() as u32, network.distance(a, z));
                }
            }
        }
    }
}
