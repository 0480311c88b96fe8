//! The port table against coordinates, and routes as runs of ports.
// Helpers outside of #[test] functions unwrap, too.
#![allow(clippy::unwrap_used)]

use optiq_net::{DimensionOrder, Exit, Network, NodeId, Routing, Ties};

fn net(spec: &str) -> Network {
    Network::from_spec(spec).unwrap()
}

#[test]
fn ports_lead_where_coordinates_say() {
    for spec in ["torus:4x3", "mesh:4x3", "torus:2x5x1", "bgq:512", "mesh:7"] {
        let net = net(spec);
        let (ports, grid) = (net.ports().unwrap(), net.geometry().grid().unwrap());
        assert_eq!(ports.per_vertex(), 2 * grid.dims().len());
        for v in (0..net.vertices() as u32).map(NodeId) {
            for port in 0..ports.per_vertex() {
                let to = grid.step(v, port / 2, port % 2 == 0);
                let expected = to.map(|to| Exit { link: net.link_between(v, to).unwrap(), to });
                assert_eq!(ports.exit(v, port), expected, "{spec} {v:?} {port}");
                if let Some(Exit { link, .. }) = expected {
                    // In a ring of two both ports are one link, which counts as the port up.
                    let up = grid.dims()[port / 2] == 2 && grid.wrap()[port / 2];
                    assert_eq!(usize::from(ports.of_link(link)), if up { port & !1 } else { port });
                }
            }
            assert_eq!(ports.exit(v, ports.per_vertex()), None);
        }
        assert_eq!(ports.exit(NodeId(net.vertices() as u32), 0), None);
    }
    assert!(net("star:4").ports().is_none());
}

#[test]
fn every_route_is_one_reach_and_ties_are_the_routings_own() {
    for ties in [Ties::Positive, Ties::SumParity, Ties::OwnParity, Ties::FirstSumThenOwn] {
        let routing = Routing::DimensionOrder(DimensionOrder::new(vec![2, 0, 1], ties).unwrap());
        let net = net("torus:4x3x2").with_routing(routing).unwrap();
        let ports = net.ports().unwrap();
        let order = ports.order().unwrap();
        for (src, dst) in (0..24u32).flat_map(|a| (0..24u32).map(move |b| (a, b))) {
            let mut route = Vec::new();
            net.route(NodeId(src), NodeId(dst), &mut route).unwrap();
            let taken: Vec<u8> = route.iter().map(|&l| ports.of_link(l)).collect();
            assert_eq!(order.reach(NodeId(src), taken.iter().copied()), route.len());
            // A tie in the first dimension, 0 to 2 in a ring of four, taken the other way is no route after one step.
            if src / 6 != dst / 6 && taken.iter().filter(|&&p| p < 2).count() == 2 {
                let other: Vec<u8> = taken.iter().map(|&p| if p < 2 { 1 - p } else { p }).collect();
                let first = other.iter().position(|&p| p < 2).unwrap();
                assert_eq!(order.reach(NodeId(src), other), first + 1);
            }
        }
    }
    for spec in ["torus:4x4,routing=zone0", "torus:4x4,routing=zone1"] {
        assert!(net(spec).ports().unwrap().order().is_none(), "routes of {spec} are random");
    }
    // Another routing, another order: nothing is kept that no longer holds.
    let one = net("torus:4x4");
    let before = (one.fingerprint(), one.ports().unwrap().order().unwrap().dims().to_vec());
    let swapped = DimensionOrder::new(vec![1, 0], Ties::Positive).unwrap();
    let other = one.with_routing(Routing::DimensionOrder(swapped)).unwrap();
    assert_ne!((other.fingerprint(), other.ports().unwrap().order().unwrap().dims().to_vec()), before);
    assert_eq!(other.ports().unwrap().order().unwrap().dims(), [1, 0]);
}
