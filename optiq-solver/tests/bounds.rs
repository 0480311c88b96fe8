//! Lower bounds: hand-derived cuts, all sets of tiny networks, and plans.
// Helpers outside of #[test] functions unwrap, too.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use optiq_net::{Background, End, Geometry, Grid, LinkId, Network, NetworkBuilder, NodeId, Routing};
use optiq_solver::bound::lower_bound;
use optiq_solver::{Demand, demands, pipeline};
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

/// All hosts send and receive at least one byte, so that there is no cut around all sources or destinations: each one to
/// the next in number, the last to the one before it.
fn with_whispers(net: &Network, demands: &[(u32, u32, u64)]) -> Vec<Demand> {
    let last = net.hosts() as u32 - 1;
    let whispers =
        (0..=last).flat_map(|v| [(v, if v == last { v - 1 } else { v + 1 }, 1), ((v + 1) % (last + 1), v, 1)]);
    demands.iter().copied().chain(whispers).map(|(a, b, bytes)| demand(a, b, bytes)).collect()
}

/// The bound is `mib` MiB per 1 GB/s, but for the whispers, and has these words.
fn assert_bound(net: &Network, demands: &[Demand], mib: f64, binding: &str) {
    let bound = lower_bound(net, demands).unwrap();
    let found = bound.seconds * 1e9 / MIB as f64;
    assert_eq!(bound.binding, binding, "{found}");
    assert!((found - mib).abs() < 1e-4, "{found} instead of {mib}");
}

/// The 8 nodes of A = 0..1 send 4 MiB each to the other half: 32 MiB over 4 rings times 2 ends.
#[test]
fn half_against_half() {
    let net = net("torus:4x4");
    let demands: Vec<_> = (0..8).map(|v| (v, v + 8, 4 * MIB)).collect();
    let demands = with_whispers(&net, &demands);
    assert_bound(&net, &demands, 4.0, "the 8 links that leave the slab A = 0..1 (8 nodes)");
}

/// The four nodes in a corner send 2 MiB each along A and along B: 16 MiB over the 4 links that leave the corner. The
/// slabs A = 0..1 and B = 0..1 are left by 8 MiB over 4 links.
#[test]
fn a_corner() {
    let net = net("mesh:4x4");
    let demands: Vec<_> = [0, 1, 4, 5].into_iter().flat_map(|v| [(v, v + 8, 2 * MIB), (v, v + 2, 2 * MIB)]).collect();
    let demands = with_whispers(&net, &demands);
    assert_bound(&net, &demands, 4.0, "the 4 links that leave the box A = 0..1, B = 0..1 (4 nodes)");
    // The other way round they enter it.
    let back: Vec<Demand> = demands.iter().map(|d| Demand::new(d.dst, d.src, d.bytes)).collect();
    assert_bound(&net, &back, 4.0, "the 4 links that enter the box A = 0..1, B = 0..1 (4 nodes)");
}

/// Eight nodes of a cube send 6 MiB each to the opposite cube: 48 MiB over 8 x 3 links. A slab, or a box that is full in
/// one dimension, is left by the same bytes over 32 links.
#[test]
fn a_box_in_all_dimensions() {
    let net = net("torus:4x4x4");
    let cube = [0, 1, 4, 5, 16, 17, 20, 21];
    let demands: Vec<_> = cube.into_iter().map(|v| (v, v + 42, 6 * MIB)).collect();
    let demands = with_whispers(&net, &demands);
    assert_bound(&net, &demands, 2.0, "the 24 links that leave the box A = 0..1, B = 0..1, C = 0..1 (8 nodes)");
}

/// On a 4x2 mesh the 4 nodes of A = 0..1 send 3 MiB each to A = 2..3: 12 MiB over 2 links, which leave from one side
/// only. With half of one of the links in use by others, 12 MiB over 1.5 GB/s.
#[test]
fn slab_of_a_mesh_and_uneven_capacities() {
    let mesh = net("mesh:4x2");
    let demands: Vec<_> = (0..4).map(|v| (v, v + 4, 3 * MIB)).collect();
    let demands = with_whispers(&mesh, &demands);
    let words = "the 2 links that leave the slab A = 0..1 (4 nodes)";
    assert_bound(&mesh, &demands, 6.0, words);
    let used = Background::parse("h2 h4 50%", "load").unwrap();
    assert_bound(&mesh.with_background(&used).unwrap(), &demands, 8.0, words);
    // 16 nodes with C = 0 send 4 MiB each to C = 1, over two links each.
    let pairs = net("torus:4x4x2");
    let demands: Vec<_> = (0..32).step_by(2).map(|v| (v, v + 1, 4 * MIB)).collect();
    let demands = with_whispers(&pairs, &demands);
    assert_bound(&pairs, &demands, 2.0, "the 32 links that leave the slab C = 0 (16 nodes)");
}

/// Three neighbours on a ring, on both sides of its end, send 2 MiB each to 4, 2 and 6: 6 MiB over 2 links.
#[test]
fn round_the_end_of_a_ring() {
    let net = net("torus:8");
    let demands = with_whispers(&net, &[(7, 4, 2 * MIB), (0, 2, 2 * MIB), (1, 6, 2 * MIB)]);
    assert_bound(&net, &demands, 3.0, "the 2 links that leave the slab A = 7,0..1 (3 nodes)");
}

/// Two hosts below one switch send 4 MiB each to those below the other: 8 MiB over one cable.
#[test]
fn below_a_switch() {
    let net = net("fattree:2x2:1x1");
    let demands = with_whispers(&net, &[(0, 2, 4 * MIB), (1, 3, 4 * MIB)]);
    let switch = net.name(NodeId(4));
    let words = format!("the 1 link that leaves the group of 2 hosts (h0 to h1) and 1 switch ({switch})");
    assert_bound(&net, &demands, 8.0, &words);
}

/// The 8 hosts of a group send 1 MiB each to another group: 8 MiB over the group's 4 global cables. One switch with
/// its two hosts is left by 2 MiB over 4 cables.
#[test]
fn group_of_a_dragonfly() {
    let net = net("dragonfly:p=2,a=4,h=1");
    let demands: Vec<_> = (0..8).map(|v| (v, v + 8, MIB)).collect();
    let demands = with_whispers(&net, &demands);
    let bound = lower_bound(&net, &demands).unwrap();
    assert!(bound.binding.starts_with("the 4 links that leave the group of 8 hosts (h0 to h7) and 4 switches ("));
    assert!((bound.seconds * 1e9 / MIB as f64 - 2.0).abs() < 1e-4, "{bound:?}");
}

/// Likewise on a Dragonfly+ with 2 leaf and 2 spine switches and as many hosts and global cables on each.
#[test]
fn group_of_a_dragonfly_plus() {
    let net = net("dragonfly+:p=4,l=2,s=2,h=2");
    let demands: Vec<_> = (0..8).map(|v| (v, v + 8, MIB)).collect();
    let demands = with_whispers(&net, &demands);
    let bound = lower_bound(&net, &demands).unwrap();
    // A leaf switch is left by 4 MiB over 2 cables, the group by 8 MiB over 4: the first is found first.
    assert!(bound.binding.starts_with("the 2 links that leave the group of 4 hosts (h0 to h3) and 1 switch ("));
    assert!((bound.seconds * 1e9 / MIB as f64 - 2.0).abs() < 1e-4, "{bound:?}");
    let narrow = common::net("dragonfly+:p=4,l=2,s=2,h=2,global=500MB/s");
    let bound = lower_bound(&narrow, &demands).unwrap();
    assert!(bound.binding.starts_with("the 4 links that leave the group of 8 hosts (h0 to h7) and 4 switches ("));
    assert!((bound.seconds * 1e9 / MIB as f64 - 4.0).abs() < 1e-4, "{bound:?}");
}

/// Two clusters of hosts with fast links, joined by two slow ones each way.
#[test]
fn joined_by_slow_links() {
    let mut links = Vec::new();
    for first in [0, 4] {
        for i in 0..4 {
            let (a, b) = (first + i, first + (i + 1) % 4);
            links.extend([(a, b, 1e10), (b, a, 1e10)]);
        }
    }
    links.extend([(0, 4, 1e9), (4, 0, 1e9), (2, 6, 1e9), (6, 2, 1e9)]);
    let net = graph(8, &links);
    let demands = with_whispers(&net, &[(1, 5, 3 * MIB), (3, 7, MIB)]);
    assert_bound(&net, &demands, 2.0, "the 2 links that leave the group of 4 hosts (h0 to h3)");
}

/// Everybody to everybody: all links are full, and that is what is said.
#[test]
fn all_to_all_fills_all_links() {
    let net = net("torus:4x4");
    let demands = demands::parse("pattern:alltoall", &net, MIB).unwrap();
    // Each of 16 nodes sends 32 hops, over 4 links each.
    assert_bound(&net, &demands, 8.0, "all 64 links together, with every byte on a shortest path");
}

/// Everything that a set of vertices proves, by the definition.
fn of_set(net: &Network, demands: &[Demand], inside: impl Fn(NodeId) -> bool) -> f64 {
    let side = |leave: bool| {
        let crosses = |from: NodeId, to: NodeId| inside(from) == leave && inside(to) != leave;
        let bytes: u64 = demands.iter().filter(|d| crosses(d.src, d.dst)).map(|d| d.bytes).sum();
        let capacity: f64 = net.links().iter().filter(|l| crosses(l.from, l.to)).map(|l| l.capacity).sum();
        if bytes > 0 { bytes as f64 / capacity } else { 0.0 }
    };
    side(true).max(side(false))
}

fn of_any_set(net: &Network, demands: &[Demand]) -> f64 {
    (1u32..(1 << net.vertices()) - 1).map(|set| of_set(net, demands, |v| set >> v.0 & 1 == 1)).fold(0.0, f64::max)
}

fn volume(net: &Network, demands: &[Demand]) -> f64 {
    let hops: u128 = demands.iter().map(|d| u128::from(d.bytes) * u128::from(net.distance(d.src, d.dst))).sum();
    hops as f64 / net.links().iter().map(|l| l.capacity).sum::<f64>()
}

/// The largest bound of all boxes of a grid.
fn of_any_box(net: &Network, demands: &[Demand]) -> f64 {
    let grid = net.geometry().grid().unwrap();
    let intervals = |d: usize| -> Vec<Vec<u32>> {
        let length = grid.dims()[d];
        let at = |start: u32, n: u32| (start..start + n).map(|c| c % length).collect();
        let fits = |start: u32, n: u32| grid.wrap()[d] || start + n <= length;
        (0..length).flat_map(|s| (1..=length).filter(move |&n| fits(s, n)).map(move |n| at(s, n))).collect()
    };
    let mut boxes: Vec<Vec<Vec<u32>>> = vec![Vec::new()];
    for d in 0..grid.dims().len() {
        boxes = boxes.iter().flat_map(|b| intervals(d).into_iter().map(|i| [b.clone(), vec![i]].concat())).collect();
    }
    let inside = |b: &[Vec<u32>], v: NodeId| b.iter().enumerate().all(|(d, i)| i.contains(&grid.coordinate(v, d)));
    boxes.iter().map(|b| of_set(net, demands, |v| inside(b, v))).fold(0.0, f64::max)
}

/// A grid with capacities that differ from link to link.
fn uneven(dims: &[u32], wrap: &[bool], tenths: &[u32]) -> Network {
    let grid = Grid::new(dims.to_vec(), wrap.to_vec()).unwrap();
    let mut builder = NetworkBuilder::new();
    let hosts: Vec<End> = (0..grid.nodes()).map(|v| builder.host(format!("h{v}"))).collect();
    let mut capacity = tenths.iter().cycle();
    for v in (0..grid.nodes() as u32).map(NodeId) {
        for (d, up) in (0..dims.len()).flat_map(|d| [(d, true), (d, false)]) {
            if let Some(to) = grid.step(v, d, up) {
                let tenths = capacity.next().copied().unwrap_or(10);
                builder.link(hosts[v.index()], hosts[to.index()], 1, f64::from(tenths) * 1e5);
            }
        }
    }
    builder.build("uneven", Geometry::Grid(grid), Routing::Shortest).unwrap()
}

fn any_grid(shapes: Vec<&'static [u32]>) -> impl Strategy<Value = Network> {
    let even = prop_oneof![Just(vec![10u32]), prop::collection::vec(1u32..30, 1..40)];
    (prop::sample::select(shapes), any::<[bool; 3]>(), even)
        .prop_map(|(dims, wrap, tenths)| uneven(dims, &wrap[..dims.len()], &tenths))
}

/// A connected graph of hosts, or of hosts and switches.
fn any_graph() -> impl Strategy<Value = Network> {
    (3u32..8, prop::collection::btree_map((0u32..8, 0u32..8), 1u32..4, 0..20), any::<bool>()).prop_map(
        |(n, chords, switches)| {
            let mut b = NetworkBuilder::new();
            let vertices: Vec<End> = (0..n)
                .map(|i| if switches && i >= 3 { b.switch(format!("s{i}")) } else { b.host(format!("h{i}")) })
                .collect();
            for i in 0..n {
                b.duplex(vertices[i as usize], vertices[((i + 1) % n) as usize], 1, 1e6);
            }
            for ((from, to), rate) in chords.into_iter().filter(|&((a, b), _)| a != b && a < n && b < n) {
                b.link(vertices[from as usize], vertices[to as usize], 1, f64::from(rate) * 1e6);
            }
            b.build("graph", Geometry::General, Routing::Shortest).unwrap()
        },
    )
}

fn any_demands() -> impl Strategy<Value = Vec<(u32, u32, u64)>> {
    let bytes = prop_oneof![Just(0), 1u64..100, 1u64..10_000_000, 1u64 << 40..1 << 41];
    prop::collection::vec((any::<u32>(), any::<u32>(), bytes), 0..14)
}

fn on(net: &Network, demands: &[(u32, u32, u64)]) -> Vec<Demand> {
    let n = net.hosts() as u32;
    demands.iter().map(|&(a, b, bytes)| demand(a % n, b % n, bytes)).filter(|d| d.src != d.dst).collect()
}

/// Equal but for rounding.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.max(b)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    /// On a line and on a ring a set proves no more than the best of the intervals that it consists of, and all intervals
    /// are tried.
    #[test]
    fn in_one_dimension_no_set_is_better(net in any_grid(vec![&[2], &[3], &[6], &[9]]), demands in any_demands()) {
        let demands = on(&net, &demands);
        let bound = lower_bound(&net, &demands).unwrap().seconds;
        let any = of_any_set(&net, &demands).max(volume(&net, &demands));
        prop_assert!(close(bound, any), "{} {}", bound, any);
    }

    /// Every box of two dimensions is tried, and what is found is no more than some set or the volume proves.
    #[test]
    fn in_two_dimensions_no_box_is_better(
        net in any_grid(vec![&[2, 2], &[3, 3], &[2, 4], &[1, 5], &[3, 4]]),
        demands in any_demands(),
    ) {
        let demands = on(&net, &demands);
        let bound = lower_bound(&net, &demands).unwrap().seconds;
        prop_assert!(bound >= of_any_box(&net, &demands) * (1.0 - 1e-9));
        prop_assert!(bound <= of_any_set(&net, &demands).max(volume(&net, &demands)) * (1.0 + 1e-9));
    }

    #[test]
    fn some_set_or_the_volume_proves_it(
        net in prop_oneof![any_grid(vec![&[2, 2, 2], &[2, 3, 2], &[2, 1, 4]]), any_graph()],
        demands in any_demands(),
    ) {
        let demands = on(&net, &demands);
        let bound = lower_bound(&net, &demands).unwrap().seconds;
        prop_assert!(bound <= of_any_set(&net, &demands).max(volume(&net, &demands)) * (1.0 + 1e-9));
        for v in (0..net.hosts() as u32).map(NodeId) {
            prop_assert!(bound >= of_set(&net, &demands, |w| w == v) * (1.0 - 1e-9));
        }
    }

    /// A plan's own bound is cut off at its congestion, so the bound is taken from where it is made.
    #[test]
    fn no_plan_is_below_it(
        net in prop_oneof![
            any_grid(vec![&[4, 4], &[3, 3, 2], &[18, 2], &[7]]),
            any_graph(),
            prop::sample::select(vec!["fattree:2x2:1x2", "dragonfly:p=1,a=3,h=1", "star:5"]).prop_map(net),
        ],
        demands in any_demands(),
    ) {
        let demands = on(&net, &demands);
        let bound = lower_bound(&net, &demands).unwrap().seconds;
        // On other graphs `optimal` may have to try for long before it knows that the gap does not close.
        let grid = net.geometry().grid().is_some();
        for planner in ["direct", "heu2", "optimal"].into_iter().filter(|&p| p != "optimal" || grid) {
            let options = pipeline::PlanOptions { gap: 0.05, chunk: 1 << 28, ..options(planner) };
            let plan = pipeline::run(&net, &demands, &options).unwrap().plan;
            // From the flows, not from the plan's own figures.
            let mut loads = vec![0u64; net.links().len()];
            for flow in plan.flows.iter().flatten() {
                flow.links.iter().for_each(|&LinkId(l)| loads[l as usize] += flow.bytes);
            }
            let congestion = net.links().iter().zip(loads).map(|(l, b)| b as f64 / l.capacity).fold(0.0, f64::max);
            prop_assert!(bound <= congestion * (1.0 + 1e-9), "{}: {} {}", planner, bound, congestion);
        }
    }
}
