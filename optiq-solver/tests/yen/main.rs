//! Yen's algorithm with postponed searches against the same with every cell searched at once: the same paths in the
//! same order, whatever the network.
// Helpers outside of #[test] functions unwrap, too.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod reference;

use common::{graph, net, random_graph};
use optiq_net::{LinkId, Network, NodeId};
use optiq_solver::candidates::yen::{Query, Yen};
use optiq_solver::legs;
use proptest::prelude::*;
use reference::Eager;

/// Both implementations' working space: used for many pairs, as the solver does.
struct Both<'n> {
    net: &'n Network,
    postponed: Yen<'n>,
    eager: Eager<'n>,
}

impl<'n> Both<'n> {
    fn new(net: &'n Network) -> Self {
        Both { net, postponed: Yen::new(net), eager: Eager::new(net) }
    }

    /// The paths, after checking that both find them, offering the same ones to `accept` in the same order.
    fn paths(
        &mut self,
        (src, dst): (u32, u32),
        (k, max_hops, rotation): (usize, u32, u32),
        accept: impl Fn(&[LinkId]) -> bool,
    ) -> Vec<Vec<LinkId>> {
        let (src, dst) = (NodeId(src), NodeId(dst));
        let distance = self.net.distances_to(dst);
        let query = Query { src, dst, distance: &distance, k, max_hops, rotation };
        let (mut offered, mut expected) = (Vec::new(), Vec::new());
        let keep = |offers: &mut Vec<Vec<LinkId>>, path: &[LinkId]| {
            offers.push(path.to_vec());
            accept(path)
        };
        let paths = self.postponed.paths(query, |path| keep(&mut offered, path));
        assert_eq!(paths, self.eager.paths(query, |path| keep(&mut expected, path)));
        assert_eq!(offered, expected);
        paths
    }
}

/// Rings with a few chords: long detours, and prefixes that are in the way.
fn ring_with_chords() -> impl Strategy<Value = Network> {
    (8u32..40).prop_flat_map(|n| {
        prop::collection::btree_set((0..n, 1..n), 0..20).prop_map(move |chords| {
            let around = (0..n).flat_map(|a| [(a, (a + 1) % n, 1.0), ((a + 1) % n, a, 1.0)]);
            let chords = chords.iter().map(|&(a, by)| (a, (a + by) % n, 1.0));
            graph(n as usize, &around.chain(chords).collect::<Vec<_>>())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn same_paths_on_any_graph(
        net in random_graph(2..24), k in 0usize..80, max in 1u32..30, rotation: u32, refuse in 0usize..4,
    ) {
        let mut both = Both::new(&net);
        let last = net.vertices() as u32 - 1;
        for dst in [1, last] {
            // A refusal that depends on the path only, as that of paths without legs.
            let accept = |path: &[LinkId]| refuse == 0 || path.iter().map(|l| l.index()).sum::<usize>() % (refuse + 1) != 0;
            both.paths((0, dst), (k, max, rotation), accept);
        }
    }

    #[test]
    fn same_paths_around_rings(net in ring_with_chords(), k in 1usize..80, dst in 1u32..8, rotation: u32) {
        let paths = Both::new(&net).paths((0, dst), (k, u32::MAX, rotation), |_| true);
        prop_assert!(!paths.is_empty());
    }

    #[test]
    fn same_paths_on_topologies(
        spec in prop::sample::select(vec![
            "torus:4x4", "torus:5x3x4", "mesh:4x5", "torus:2x2x2x2", "torus:9", "torus:64", "mesh:16x2", "bgq:512", "star:6", "fattree:k=4",
            "fattree:4x4x2:1x2x4", "dragonfly:p=2,a=4,h=2", "dragonfly+:p=2,l=2,s=2,h=2,g=4",
        ]),
        pairs in prop::collection::vec((0u32..10_000, 0u32..10_000), 1..5),
        k in 1usize..120,
        slack in 0u32..4,
    ) {
        let net = net(spec);
        let hosts = net.hosts() as u32;
        let mut both = Both::new(&net);
        for (src, dst) in pairs.into_iter().map(|(a, b)| (a % hosts, b % hosts)).filter(|(a, b)| a != b) {
            let max = net.distance(NodeId(src), NodeId(dst)) + slack;
            let accept = |path: &[LinkId]| legs::stops(&net, path).is_some();
            let paths = both.paths((src, dst), (k, max, src + dst), accept);
            prop_assert!(paths.iter().all(|path| path.len() as u32 <= max));
        }
    }
}

/// By hand: on a ring of six with a chord 0 -> 3, from 0 to 3.
#[test]
fn order_by_hand() {
    let mut links: Vec<(u32, u32, f64)> = (0..6).flat_map(|a| [(a, (a + 1) % 6, 1.0), ((a + 1) % 6, a, 1.0)]).collect();
    links.push((0, 3, 1.0));
    let net = graph(6, &links);
    let nodes = |path: &Vec<LinkId>| legs::nodes(&net, path).unwrap().iter().map(|v| v.0).collect::<Vec<_>>();
    let mut both = Both::new(&net);
    // The chord; then the cell "not by the chord", whose first port leads to 1 and, turned by two, to 5.
    let found: Vec<_> = both.paths((0, 3), (9, 9, 0), |_| true).iter().map(nodes).collect();
    assert_eq!(found, [vec![0, 3], vec![0, 1, 2, 3], vec![0, 5, 4, 3]]);
    let found: Vec<_> = both.paths((0, 3), (9, 9, 2), |_| true).iter().map(nodes).collect();
    assert_eq!(found, [vec![0, 3], vec![0, 5, 4, 3], vec![0, 1, 2, 3]]);
    // Longest and most paths allowed, and offers that are all refused.
    assert_eq!(both.paths((0, 3), (9, 2, 0), |_| true).len(), 1);
    assert_eq!(both.paths((0, 3), (2, 9, 0), |_| true).len(), 2);
    assert!(both.paths((0, 3), (9, 9, 0), |_| false).is_empty());
}

/// A refusing `accept` is asked `16 k + 256` times and no more.
#[test]
fn offers_end() {
    let net = net("torus:8x8");
    let distance = net.distances_to(NodeId(27));
    let query = Query { src: NodeId(0), dst: NodeId(27), distance: &distance, k: 3, max_hops: 63, rotation: 0 };
    let mut offers = 0;
    let paths = Yen::new(&net).paths(query, |_| {
        offers += 1;
        false
    });
    assert!(paths.is_empty());
    assert_eq!(offers, 16 * 3 + 256);
}
