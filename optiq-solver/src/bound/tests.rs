//! What needs the inside of this module: that cuts are what they say, and words for prices.
#![allow(clippy::unwrap_used)]

use super::cut::{Cut, SAME};
use super::*;
use optiq_net::{End, Geometry, Grid, NetworkBuilder, Routing};
use proptest::prelude::*;

fn net(spec: &str) -> Network {
    Network::from_spec(spec).unwrap()
}

/// A grid whose capacities differ from link to link, or else from dimension to dimension.
fn uneven(dims: &[u32], wrap: &[bool], seed: u64, links: bool) -> Network {
    let grid = Grid::new(dims.to_vec(), wrap.to_vec()).unwrap();
    let mut builder = NetworkBuilder::new();
    let hosts: Vec<End> = (0..grid.nodes()).map(|v| builder.host(format!("h{v}"))).collect();
    let mut random = optiq_net::random::SplitMix64::new(seed);
    for v in (0..grid.nodes() as u32).map(NodeId) {
        for d in 0..dims.len() {
            for up in [true, false] {
                if let Some(to) = grid.step(v, d, up) {
                    builder.link(
                        hosts[v.index()],
                        hosts[to.index()],
                        1,
                        1e6 * (1 + if links { random.below(9) } else { d as u64 }) as f64,
                    );
                }
            }
        }
    }
    builder.build("uneven", Geometry::Grid(grid), Routing::Shortest).unwrap()
}

/// Dimensions that are longer than the blocks of boxes, and of slabs, among them.
fn any_grid() -> impl Strategy<Value = Network> {
    let shapes: Vec<&[u32]> = vec![
        &[5],
        &[2],
        &[1, 7],
        &[3, 4],
        &[2, 2],
        &[4, 3, 2],
        &[2, 1, 3, 2],
        &[19, 3],
        &[33, 18],
        &[3, 1100],
        &[1025],
        &[2, 517],
    ];
    (prop::sample::select(shapes), any::<[bool; 4]>(), any::<u64>(), any::<bool>())
        .prop_map(|(dims, wrap, seed, links)| uneven(dims, &wrap[..dims.len()], seed, links))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the sums say of the best box or slab, going through all demands and links says, too. Half of the demands
    /// begin among few neighbours, so that boxes matter.
    #[test]
    fn regions_are_what_they_say(
        net in any_grid(),
        ends in prop::collection::vec((any::<u32>(), any::<u32>(), 1u64..1 << 40, any::<bool>()), 1..60),
    ) {
        let n = net.hosts() as u32;
        let demands: Vec<Demand> = ends
            .into_iter()
            .map(|(a, b, bytes, near)| Demand::new(NodeId(if near { a % n.min(9) } else { a % n }), NodeId(b % n), bytes))
            .filter(|d| d.src != d.dst)
            .collect();
        let grid = net.geometry().grid().unwrap();
        // Without egress and the like, which would nearly always be better where capacities are random.
        let best = grid::cuts(&net, grid, &demands);
        if let Cut::Box(region, verb) = &best.cut {
            let (bytes, capacity) = across(&net, &demands, &region.members(grid), *verb);
            let seconds = bytes as f64 / capacity;
            prop_assert!((best.seconds - seconds).abs() <= 1e-12 * seconds, "{region:?}: {} {seconds}", best.seconds);
        } else {
            prop_assert!(demands.is_empty(), "some slab parts any two hosts");
        }
        prop_assert!(lower_bound(&net, &demands).unwrap().seconds >= best.seconds * (1.0 - SAME));
    }

    /// The head of this module proves it, where slabs may end anywhere.
    #[test]
    fn slabs_are_never_below_the_volume(
        spec in prop::sample::select(vec!["torus:5", "torus:4x6", "mesh:3x4", "torus:2x2x3", "torus:3x5x2", "mesh:7"]),
        ends in prop::collection::vec((any::<u32>(), any::<u32>(), 1u64..1 << 40), 1..60),
    ) {
        let net = net(spec);
        let n = net.hosts() as u32;
        let demands = ends.into_iter().map(|(a, b, bytes)| Demand::new(NodeId(a % n), NodeId(b % n), bytes));
        let demands: Vec<Demand> = demands.filter(|d| d.src != d.dst).collect();
        let best = grid::cuts(&net, net.geometry().grid().unwrap(), &demands);
        let volume = volume(&net, &demands).unwrap() as f64 / capacity(&net, all(&net));
        prop_assert!(best.seconds >= volume * (1.0 - 1e-9), "{} {volume}", best.seconds);
    }
}

/// One search for each switch and not for each host finds the same distances.
#[test]
fn volume_of_switched_networks_and_graphs() {
    for spec in ["fattree:2x3x2:1x2x2", "dragonfly:p=2,a=3,h=1", "star:5", "torus:3x4"] {
        let net = net(spec);
        let demands = crate::demands::parse("pattern:alltoall", &net, 3).unwrap();
        let expected: u64 = demands.iter().map(|d| 3 * u64::from(net.distance(d.src, d.dst))).sum();
        assert_eq!(volume(&net, &demands).unwrap(), u128::from(expected), "{spec}");
    }
    // h2 has one link in, from h1; h0 has two.
    let mut b = NetworkBuilder::new();
    let [x, y, z] = ["h0", "h1", "h2"].map(|name| b.host(name));
    b.duplex(x, y, 1, 1e6);
    b.link(y, z, 1, 1e6);
    b.link(z, x, 1, 1e6);
    let net = b.build("graph", Geometry::General, Routing::Shortest).unwrap();
    let demands = [(0, 2, 5), (1, 2, 7), (2, 0, 11), (2, 1, 13)].map(|(a, b, n)| Demand::new(NodeId(a), NodeId(b), n));
    assert_eq!(volume(&net, &demands).unwrap(), 5 * 2 + 7 + 11 + 13 * 2);
}

/// Prices by what a link is.
fn priced(net: &Network, y: impl Fn(&optiq_net::Link) -> f64) -> Vec<f64> {
    net.links().iter().map(y).collect()
}

#[test]
fn words_for_prices() {
    let net = net("torus:4x4x2");
    let grid = net.geometry().grid().unwrap().clone();
    let two = [Demand::new(NodeId(0), NodeId(9), 1), Demand::new(NodeId(3), NodeId(9), 1)];
    // 64 links of A both ways with 1, 32 of B upwards with 1, 32 of C with 1/4: 64 + 32 + 8 = 104 on 128 links.
    let y = priced(&net, |l| {
        if grid.step(l.from, 0, true) == Some(l.to) || grid.step(l.from, 0, false) == Some(l.to) {
            1.0
        } else if grid.step(l.from, 2, true) == Some(l.to) {
            0.25
        } else {
            f64::from(grid.step(l.from, 1, true) == Some(l.to))
        }
    });
    assert_eq!(
        describe_prices(&net, &two, &y),
        "prices on 128 links: 62 % on dimension A, 31 % on direction B+, 8 % on dimension C"
    );
    // Around the sources, h0 and h3: five bundles each.
    let y = priced(&net, |l| f64::from(l.from.0 == 0 || l.from.0 == 3));
    assert_eq!(
        describe_prices(&net, &two, &y),
        "prices on 10 links: 40 % on dimension A, 40 % on dimension B, 20 % on dimension C; 100 % on links that leave \
         sources"
    );
    let y = priced(&net, |l| f64::from(u8::from(l.from == NodeId(0) && l.to == NodeId(1))));
    assert_eq!(describe_prices(&net, &two, &y), "prices on 1 link: 100 % on h0 -> h1");
    assert_eq!(describe_prices(&net, &two, &priced(&net, |_| 0.0)), "prices on no link");
}

#[test]
fn words_for_prices_on_switches() {
    let net = net("fattree:4x2:1x2");
    // Eight hosts; 2 switches below and 2 above, 4 cables: 8 links between them.
    let y = priced(&net, |l| match (net.is_host(l.from), net.is_host(l.to)) {
        (true, _) => 1.0,
        (false, true) => 0.0,
        (false, false) => 3.0,
    });
    let demands = crate::demands::parse("pattern:alltoall", &net, 1).unwrap();
    assert_eq!(
        describe_prices(&net, &demands, &y),
        "prices on 16 links: 75 % on links between switches, 25 % on links from hosts to switches"
    );
    let y = priced(&net, |l| f64::from(u8::from(l.to.index() < 4)));
    let one = [
        Demand::new(NodeId(7), NodeId(0), 1),
        Demand::new(NodeId(7), NodeId(1), 1),
        Demand::new(NodeId(5), NodeId(2), 1),
    ];
    assert_eq!(
        describe_prices(&net, &one, &y),
        "prices on 4 links: 100 % on links from switches to hosts; 75 % on links that enter destinations"
    );
}
