//! Routes derived by hand, and properties of all routes.
#![allow(clippy::unwrap_used)]

use optiq_net::{DimensionOrder, End, Geometry, Grid, NetError, Network, NetworkBuilder, NextHops, NodeId, Routing};
use optiq_net::{Ties, Zone};
use proptest::prelude::*;

/// The vertices that the fabric's route passes, both ends included.
fn route(network: &Network, src: u32, dst: u32) -> Vec<u32> {
    let mut links = Vec::new();
    network.route(NodeId(src), NodeId(dst), &mut links).unwrap();
    let mut vertices = vec![src];
    for id in links {
        let link = network.link(id);
        assert_eq!(link.from.0, *vertices.last().unwrap(), "links of a route follow each other");
        vertices.push(link.to.0);
    }
    assert_eq!(*vertices.last().unwrap(), dst);
    vertices
}

fn ring_with(ties: Ties) -> Network {
    let order = DimensionOrder::new(vec![0], ties).unwrap();
    Network::from_spec("torus:4").unwrap().with_routing(Routing::DimensionOrder(order)).unwrap()
}

#[test]
fn dimension_order_on_a_small_torus() {
    // 4x4, row-major: vertex 4a + b is (a, b).
    let torus = Network::from_spec("torus:4x4").unwrap();
    assert_eq!(route(&torus, 0, 5), [0, 4, 5], "first dimension first");
    assert_eq!(route(&torus, 0, 15), [0, 12, 15], "both round the back");
    assert_eq!(route(&torus, 5, 5), [5]);
    assert_eq!(route(&torus, 0, 10), [0, 4, 8, 9, 10], "ties upwards");
    assert_eq!(route(&torus, 10, 0), [10, 14, 2, 3, 0], "ties upwards over the edge");
    let mesh = Network::from_spec("mesh:4x4").unwrap();
    assert_eq!(route(&mesh, 0, 15), [0, 4, 8, 12, 13, 14, 15], "no way round the back");
}

#[test]
fn the_longest_dimension_goes_first() {
    // 2x6: vertex 6a + b is (a, b).
    let torus = Network::from_spec("torus:2x6,routing=longest").unwrap();
    assert_eq!(route(&torus, 0, 8), [0, 1, 2, 8]);
    assert_eq!(route(&Network::from_spec("torus:2x6").unwrap(), 0, 8), [0, 6, 7, 8]);
    let shape = |spec: &str| match Network::from_spec(spec).unwrap().routing() {
        Routing::DimensionOrder(order) => order.order().to_vec(),
        other => panic!("{other:?}"),
    };
    assert_eq!(shape("torus:4x8x4x2,routing=longest"), [1, 0, 2, 3]);
    assert_eq!(shape("bgq:512"), [1, 2, 3, 0, 4]);
    assert_eq!(shape("bgq:1024"), [3, 1, 2, 0, 4]);
    assert_eq!(shape("bgq:2048"), [3, 1, 2, 0, 4]);
    assert_eq!(shape("bgq:4096"), [3, 2, 1, 0, 4]);
}

#[test]
fn ties_on_a_ring() {
    assert_eq!(route(&ring_with(Ties::Positive), 1, 3), [1, 2, 3]);
    assert_eq!(route(&ring_with(Ties::OwnParity), 1, 3), [1, 0, 3], "odd goes down");
    assert_eq!(route(&ring_with(Ties::OwnParity), 2, 0), [2, 3, 0], "even goes up");
    assert_eq!(route(&ring_with(Ties::SumParity), 1, 3), [1, 0, 3]);
    assert_eq!(route(&ring_with(Ties::Positive), 0, 3), [0, 3], "not a tie");

    // (1, 1) to (3, 3) on 4x4: the sum is even, both coordinates are odd.
    let torus = |ties| {
        let order = DimensionOrder::new(vec![0, 1], ties).unwrap();
        Network::from_spec("torus:4x4").unwrap().with_routing(Routing::DimensionOrder(order)).unwrap()
    };
    assert_eq!(route(&torus(Ties::SumParity), 5, 15), [5, 9, 13, 14, 15]);
    assert_eq!(route(&torus(Ties::OwnParity), 5, 15), [5, 1, 13, 12, 15]);
    assert_eq!(route(&torus(Ties::FirstSumThenOwn), 5, 15), [5, 9, 13, 12, 15]);
}

#[test]
fn two_links_join_the_nodes_of_a_ring_of_two() {
    let network = Network::from_spec("bgq:512").unwrap();
    let (a, e) = (network.resolve("0,0,0,0,0").unwrap(), network.resolve("(0,0,0,0,1)").unwrap());
    let link = network.link(network.link_between(a, e).unwrap());
    assert_eq!((link.lanes, link.capacity), (2, 3.6e9));
    assert_eq!(network.links().len(), 512 * 9);
    assert_eq!(network.physical_links(), 512 * 10);
    assert_eq!(network.unit_capacity(), 1.8e9);
    let mesh = Network::from_spec("mesh:2x1").unwrap();
    assert_eq!((mesh.links().len(), mesh.physical_links()), (2, 2));
    assert_eq!(Network::from_spec("torus:1x1").unwrap().links().len(), 0);
}

#[test]
fn the_presets_have_the_shapes_of_mira() {
    for (nodes, diameter) in [(512, 9), (1024, 11), (2048, 15), (4096, 17)] {
        let network = Network::from_spec(&format!("bgq:{nodes}")).unwrap();
        assert_eq!((network.hosts(), network.vertices(), network.diameter()), (nodes, nodes, diameter));
    }
}

#[test]
fn zones() {
    let network = |zone: u8, seed: u64| {
        let zone = Zone::new(zone, seed).unwrap();
        Network::from_spec("torus:3x3x6").unwrap().with_routing(Routing::Zone(zone)).unwrap()
    };
    // (0,0,0) to (1,1,1), vertex 18a + 6b + c. The longest dimension is the last one.
    assert_eq!(route(&network(2, 0), 0, 25), [0, 1, 19, 25], "zone 2: C A B");
    assert_eq!(route(&network(3, 0), 0, 25), [0, 1, 7, 25], "zone 3: C B A");
    let seeds = 0..64u64;
    let mut zone0: Vec<_> = seeds.clone().map(|s| route(&network(0, s), 0, 25)).collect();
    zone0.sort();
    zone0.dedup();
    assert_eq!(zone0, [vec![0, 1, 7, 25], vec![0, 1, 19, 25]], "zone 0: C first, then A B or B A");
    let mut zone1: Vec<_> = seeds.map(|s| route(&network(1, s), 0, 25)).collect();
    zone1.sort();
    zone1.dedup();
    assert_eq!(zone1.len(), 6, "zone 1: every order of three dimensions");
    assert_eq!(route(&network(1, 9), 0, 25), route(&network(1, 9), 0, 25));
    assert!(matches!(Zone::new(4, 0), Err(NetError::Routing(_))));
}

#[test]
fn which_routings_forwarding_tables_can_express() {
    let based = |spec: &str| Network::from_spec(spec).unwrap().routing().is_destination_based();
    assert!(based("torus:4x4") && based("torus:4x8,routing=longest") && based("star:3"));
    assert!(!based("bgq:512") && !based("torus:4x4,routing=zone2"));
}

#[test]
fn a_star_routes_through_its_switch() {
    let star = Network::from_spec("star:5,capacity=100Mbit/s").unwrap();
    assert_eq!(route(&star, 1, 4), [1, 5, 4]);
    assert_eq!((star.hosts(), star.vertices(), star.links().len(), star.diameter()), (5, 6, 10, 2));
    assert_eq!(star.unit_capacity(), 12.5e6);
    assert_eq!(star.name(NodeId(5)), "s0");
}

#[test]
fn shortest_routes_take_the_smallest_link_and_do_not_pass_hosts_beside_switches() {
    // Two hosts, each on both of two switches that are not joined: h0 - s0 - h1, and s0 to s1 only through a host.
    let mut b = NetworkBuilder::new();
    let hosts = [b.host("h0"), b.host("h1"), b.host("h2")];
    let switches = [b.switch("s0"), b.switch("s1")];
    for s in switches {
        b.duplex(hosts[0], s, 1, 1.0);
        b.duplex(hosts[1], s, 1, 1.0);
    }
    b.duplex(hosts[2], switches[1], 1, 1.0);
    let network = b.build("test", Geometry::General, Routing::Shortest).unwrap();
    assert_eq!(route(&network, 0, 1), [0, 3, 1], "over s0 although s1 is as near");
    assert_eq!(route(&network, 0, 2), [0, 4, 2]);
    assert_eq!(network.distance(NodeId(3), NodeId(4)), 2, "a distance is one of the graph");
    let mut links = vec![];
    let error = network.route(NodeId(3), NodeId(4), &mut links).unwrap_err();
    assert_eq!(error.to_string(), "there is no route from s0 to s1");
    assert!(links.is_empty());
    assert!(matches!(network.route(NodeId(0), NodeId(99), &mut links), Err(NetError::Unknown { .. })));
}

#[test]
fn tables_route_as_they_say_and_loops_are_named() {
    let ring = || Network::from_spec("torus:5").unwrap();
    let up = NextHops::new(&ring(), |at, _| Some(NodeId((at.0 + 1) % 5))).unwrap();
    let network = ring().with_routing(Routing::Table(up.clone())).unwrap();
    assert_eq!(route(&network, 3, 2), [3, 4, 0, 1, 2]);
    assert_ne!(network.fingerprint(), ring().fingerprint());
    assert!(matches!(
        Network::from_spec("torus:6").unwrap().with_routing(Routing::Table(up)),
        Err(NetError::Routing(_))
    ));

    // Towards h0: 1 and 2 send to each other.
    let error = NextHops::new(&ring(), |at, dst| {
        Some(NodeId(if dst.0 != 0 { (at.0 + 1) % 5 } else { [0, 2, 1, 4, 0][at.index()] }))
    });
    assert_eq!(error.unwrap_err().to_string(), "the next hops towards h0 form a loop: h1 -> h2 -> h1");
    let error = NextHops::new(&ring(), |_, _| Some(NodeId(3)));
    assert!(error.unwrap_err().to_string().contains("not a neighbour"));
    let partial =
        NextHops::new(&ring(), |at, dst| (dst.0 == 1).then_some(NodeId(at.0.wrapping_sub(1) % 5)).filter(|_| at.0 > 1));
    let network = ring().with_routing(Routing::Table(partial.unwrap())).unwrap();
    assert_eq!(route(&network, 4, 1), [4, 3, 2, 1]);
    assert!(matches!(network.route(NodeId(0), NodeId(1), &mut vec![]), Err(NetError::Unreachable { .. })));
}

#[test]
fn load_of_routes() {
    let ring = Network::from_spec("torus:4,capacity=10B/s").unwrap();
    let demands = [(0, 1, 30), (0, 2, 50), (3, 3, 99), (2, 1, 0)].map(|(s, d, b)| (NodeId(s), NodeId(d), b));
    let load = ring.route_load(demands).unwrap();
    let on = |a, b| ring.link_between(NodeId(a), NodeId(b)).unwrap().index();
    assert_eq!((load.bytes[on(0, 1)], load.paths[on(0, 1)]), (80, 2));
    assert_eq!((load.bytes[on(1, 2)], load.paths[on(1, 2)]), (50, 1));
    assert_eq!(load.bytes.iter().sum::<u64>(), 130);
    let s = load.statistics(&ring);
    assert_eq!((s.congestion_seconds, s.bytes_per_link_max, s.bytes_per_link_mean), (8.0, 80.0, 65.0));
    assert_eq!((s.paths_per_link_max, s.paths_per_link_mean, s.links_used), (2, 1.5, 2));

    // Three routes over a bundle of two lanes: at most two on a lane, both lanes in use, bytes shared evenly.
    let pair = Network::from_spec("torus:2,capacity=10B/s").unwrap();
    let s = pair.route_load([(NodeId(0), NodeId(1), 20); 3]).unwrap().statistics(&pair);
    assert_eq!((s.congestion_seconds, s.bytes_per_link_max), (3.0, 30.0));
    assert_eq!((s.paths_per_link_max, s.paths_per_link_mean, s.links_used), (2, 1.5, 2));

    let error = ring.route_load([(NodeId(0), NodeId(1), u64::MAX), (NodeId(0), NodeId(1), 1)]).unwrap_err();
    assert_eq!(error.to_string(), "the bytes on link h0 -> h1 add up to more than 2^64 - 1");
    assert!(ring.route_load([(NodeId(0), NodeId(4), 1)]).is_err());
}

#[test]
fn builders_refuse_what_cannot_be() {
    let grid = || Geometry::Grid(Grid::new(vec![3], vec![true]).unwrap());
    let build = |geometry, links: &[(u32, u32)], lanes, capacity| {
        let mut b = NetworkBuilder::new();
        for i in 0..3 {
            b.host(format!("h{i}"));
        }
        for &(x, y) in links {
            b.duplex(End::Host(x), End::Host(y), lanes, capacity);
        }
        b.build("test", geometry, Routing::Shortest)
    };
    assert!(build(grid(), &[(0, 1), (1, 2), (2, 0)], 1, 1.0).is_ok());
    assert!(build(grid(), &[(0, 1), (1, 2)], 1, 1.0).is_err(), "a link of the grid is missing");
    assert!(build(Geometry::General, &[(0, 7)], 1, 1.0).is_err(), "a host that was never added");
    assert!(build(Geometry::General, &[(1, 1)], 1, 1.0).is_err());
    assert!(build(Geometry::General, &[(0, 1)], 0, 1.0).is_err());
    for capacity in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = build(Geometry::General, &[(0, 1)], 1, capacity).unwrap_err();
        let expected = format!("link h0 -> h1 has capacity {capacity}; bytes per second above zero are needed");
        assert_eq!(error, NetError::Invalid(expected));
    }
    assert!(build(Geometry::General, &[(0, 1), (0, 1)], u32::MAX, 1.0).is_err(), "more lanes than can be counted");
    assert!(NetworkBuilder::new().build("test", Geometry::General, Routing::Shortest).is_err());
    let general = build(Geometry::General, &[(0, 1)], 1, 1.0).unwrap();
    let order = DimensionOrder::new(vec![0], Ties::Positive).unwrap();
    assert!(matches!(general.with_routing(Routing::DimensionOrder(order)), Err(NetError::Routing(_))));
    assert!(DimensionOrder::new(vec![0, 2], Ties::Positive).is_err());
    assert!(DimensionOrder::new(vec![], Ties::Positive).is_err());
}

/// Grids of up to four dimensions and a few hundred vertices.
fn grids() -> impl Strategy<Value = String> {
    prop::collection::vec((1u32..6, any::<bool>()), 1..5).prop_map(|dims| {
        let lengths: Vec<String> = dims.iter().map(|(d, _)| d.to_string()).collect();
        let flags: String = dims.iter().map(|(_, w)| if *w { '1' } else { '0' }).collect();
        format!("torus:{},wrap={flags}", lengths.join("x"))
    })
}

fn routings() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["dor", "longest", "bgq", "zone0", "zone1", "zone2", "zone3", "adaptive", "shortest"])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn routes_on_grids_are_minimal_and_arrive(spec in grids(), routing in routings(), picks: [u32; 6]) {
        let network = Network::from_spec(&format!("{spec},routing={routing}")).unwrap();
        let n = network.hosts() as u32;
        for pair in picks.chunks(2) {
            let (a, b) = (pair[0] % n, pair[1] % n);
            let vertices = route(&network, a, b);
            // As long as the distance, so no vertex comes twice.
            prop_assert_eq!(vertices.len() as u32 - 1, network.distance(NodeId(a), NodeId(b)));
            prop_assert_eq!(network.distance(NodeId(a), NodeId(b)), network.distance(NodeId(b), NodeId(a)));
            prop_assert_eq!(route(&network, a, b), vertices, "the same again");
        }
    }

    #[test]
    fn coordinates_round_trip_and_offsets_add_up(spec in grids(), picks: [u32; 2]) {
        let network = Network::from_spec(&spec).unwrap();
        let grid = network.geometry().grid().unwrap();
        let [a, b] = picks.map(|p| NodeId(p % network.hosts() as u32));
        let (ca, cb) = (grid.coordinates(a), grid.coordinates(b));
        prop_assert_eq!(grid.node_at(&ca), Some(a));
        let text = ca.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        if ca.len() > 1 {
            prop_assert_eq!(network.resolve(&text), Ok(a));
        }
        prop_assert_eq!(network.resolve(&format!("({text})")), Ok(a));
        for (d, o) in grid.offsets(a, b).enumerate() {
            let length = i64::from(grid.dims()[d]);
            prop_assert_eq!((i64::from(ca[d]) + o - i64::from(cb[d])).rem_euclid(length), 0);
            let minimal = if grid.wrap()[d] { 2 * o <= length && 2 * o > -length } else { o.abs() < length };
            prop_assert!(minimal, "{} in a length of {}", o, length);
        }
        prop_assert!(grid.distance(a, b) <= network.diameter());
        prop_assert_eq!(network.links().len(), grid.bundles());
    }

    #[test]
    fn destination_based_routings_agree_with_themselves_on_the_way(spec in grids(), routing in routings(), picks: [u32; 2]) {
        let network = Network::from_spec(&format!("{spec},routing={routing}")).unwrap();
        prop_assume!(network.routing().is_destination_based());
        let n = network.hosts() as u32;
        let vertices = route(&network, picks[0] % n, picks[1] % n);
        for i in 0..vertices.len() {
            prop_assert_eq!(&route(&network, vertices[i], picks[1] % n)[..], &vertices[i..]);
        }
    }
}
