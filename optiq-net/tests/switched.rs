//! Fat trees and dragonflies: sizes, wiring, routes derived by hand, and what the papers say of them.
#![allow(clippy::unwrap_used)]

use optiq_net::{NetError, Network, NodeId, Routing};
use std::collections::BTreeMap;

fn network(spec: &str) -> Network {
    Network::from_spec(spec).unwrap()
}

/// The vertices on the fabric's route, both ends included.
fn route(network: &Network, src: u32, dst: u32) -> Vec<u32> {
    let mut links = Vec::new();
    network.route(NodeId(src), NodeId(dst), &mut links).unwrap();
    let mut vertices = vec![src];
    for id in links {
        assert_eq!(network.link(id).from.0, *vertices.last().unwrap());
        vertices.push(network.link(id).to.0);
    }
    vertices
}

fn hosts(network: &Network) -> impl Iterator<Item = u32> + use<> {
    0..network.hosts() as u32
}

/// All pairs of hosts are joined by simple routes through switches, as long as `hops` allows; distances are those of
/// a breadth-first search; from every switch every host is reached.
fn check(spec: &str, shortest: bool, diameter: u32) {
    let net = network(spec);
    assert_eq!(net.diameter(), diameter, "{spec}");
    for dst in hosts(&net) {
        let searched = net.distances_to(NodeId(dst));
        for src in 0..net.vertices() as u32 {
            let vertices = route(&net, src, dst);
            assert_eq!(*vertices.last().unwrap(), dst);
            assert_eq!(net.distance(NodeId(src), NodeId(dst)), searched[src as usize], "{spec} {src} {dst}");
            if src < net.hosts() as u32 {
                let hops = vertices.len() as u32 - 1;
                assert!(hops >= searched[src as usize]);
                assert!(!shortest || hops == searched[src as usize], "{spec} {src} {dst}");
                assert!(vertices[1..].iter().rev().skip(1).all(|&v| !net.is_host(NodeId(v))));
            }
            // The rest of a destination-based route is the route from where it starts.
            if net.routing().is_destination_based() && vertices.len() > 1 {
                assert_eq!(route(&net, vertices[1], dst), vertices[1..], "{spec} {src} {dst}");
            }
        }
    }
}

#[test]
fn all_pairs_are_reached_in_the_hops_of_the_papers() {
    check("fattree:2x2:1x2", true, 4);
    check("fattree:3x2x2:2x1x3:1x2x1", true, 6);
    check("fattree:3x2x2:1x2x3,routing=smodk", true, 6);
    check("fattree:k=4", true, 6);
    check("fattree:4x1:1x2", true, 2);
    check("dragonfly:p=2,a=4,h=2", false, 5);
    check("dragonfly:p=1,a=4,h=3,g=5", false, 5);
    check("dragonfly:p=2,a=3,h=2,g=2", false, 4);
    check("dragonfly:p=2,a=3,h=2,g=1", true, 3);
    check("dragonfly+:p=2,l=2,s=2,h=2", true, 5);
    check("dragonfly+:p=2,l=3,s=4,h=4,g=3", true, 5);
    check("dragonfly+:p=1,l=3,s=4,h=3,g=3", true, 5);
    check("dragonfly+:p=2,l=2,s=2,h=2,g=1", true, 4);
}

#[test]
fn a_tree_of_four_hosts_by_hand() {
    // Hosts 0 to 3; leaves 4 and 5; roots 6 and 7. Leaf -> root: host number mod 2.
    let net = network("fattree:2x2:1x2");
    assert_eq!(net.vertices(), 8);
    assert_eq!(route(&net, 0, 1), [0, 4, 1]);
    assert_eq!(route(&net, 0, 2), [0, 4, 6, 5, 2]);
    assert_eq!(route(&net, 0, 3), [0, 4, 7, 5, 3]);
    assert_eq!(route(&net, 3, 0), [3, 5, 6, 4, 0]);
    let source = network("fattree:2x2:1x2,routing=smodk");
    assert_eq!(route(&source, 0, 3), [0, 4, 6, 5, 3], "the source is even");
    assert_eq!(route(&source, 3, 0), [3, 5, 7, 4, 0], "the source is odd");
    assert!(net.routing().is_destination_based() && !source.routing().is_destination_based());
    let plain = network("fattree:2x2:1x2,routing=shortest");
    let prints = [&net, &source, &plain].map(|n| n.fingerprint());
    assert!(prints[0] != prints[1] && prints[1] != prints[2] && prints[0] != prints[2]);
    // A closed form of one network does not fit another.
    let stolen = network("fattree:k=4").with_routing(net.routing().clone());
    assert!(matches!(stolen, Err(NetError::Routing(_))));
    match net.routing() {
        Routing::Table(hops) => {
            assert_eq!(net.link(hops.next_hop(&net, NodeId(4), NodeId(3)).unwrap()).to, NodeId(7));
            assert_eq!(hops.next_hop(&net, NodeId(3), NodeId(3)), None);
            assert_eq!(hops.describe(), "d-mod-k");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_tree_of_1296_nodes_is_made_of_36_port_switches() {
    let net = network("fattree:brown1296");
    assert_eq!((net.hosts(), net.vertices() - net.hosts()), (1296, 72 + 72 + 36));
    for v in net.hosts() as u32..net.vertices() as u32 {
        assert_eq!(net.out_links(NodeId(v)).map(|l| net.link(l).lanes).sum::<u32>(), 36);
    }
    assert!(net.links().iter().all(|l| l.capacity == 12.5e9 * f64::from(l.lanes)));
    assert_eq!((net.diameter(), net.distance(NodeId(0), NodeId(1295))), (6, 6));
    // Brown, section 4.2: 36 / 2 * 72 * 3 = 3,888 cables, each two links; 72 leaves.
    assert_eq!(net.physical_links(), 2 * 3888);
    let is_leaf = |v: u32| net.neighbours(NodeId(v)).any(|w| net.is_host(w));
    assert_eq!((1296..net.vertices() as u32).filter(|&v| is_leaf(v)).count(), 72);
    // Full bisection: as many cables go up from the leaves, and from the level above them, as hosts there are.
    let lanes = |from: std::ops::Range<u32>, to: std::ops::Range<u32>| -> u32 {
        let inside = |l: &&optiq_net::Link| from.contains(&l.from.0) && to.contains(&l.to.0);
        net.links().iter().filter(inside).map(|l| l.lanes).sum()
    };
    assert_eq!((lanes(1296..1368, 1368..1440), lanes(1368..1440, 1440..1476)), (1296, 1296));
}

/// Zahavi 2011: under d-mod-k a shift of all hosts loads no cable of a full tree more than once.
#[test]
fn shifts_are_free_of_contention_under_d_mod_k_and_s_mod_k() {
    // s-mod-k is the same turned round: a shift by -n in the other direction.
    for (spec, shifts) in [
        ("fattree:brown1296", (1..1296).step_by(5).collect::<Vec<u32>>()),
        ("fattree:brown1296,routing=smodk", (1..1296).step_by(7).collect()),
        ("fattree:k=6", (1..54).collect()),
        ("fattree:k=6,routing=smodk", (1..54).collect()),
    ] {
        let net = network(spec);
        for shift in shifts {
            let mut load = vec![0u32; net.links().len()];
            let n = net.hosts() as u32;
            for src in hosts(&net) {
                let mut links = Vec::new();
                net.route(NodeId(src), NodeId((src + shift) % n), &mut links).unwrap();
                links.iter().for_each(|l| load[l.index()] += 1);
            }
            assert!(net.links().iter().zip(&load).all(|(l, &load)| load <= l.lanes), "{spec} shift {shift}");
        }
    }
}

/// Cables between each two groups of `switches` switches each, over `groups` groups.
fn between_groups(net: &Network, switches: u32) -> BTreeMap<(u32, u32), u32> {
    let hosts = net.hosts() as u32;
    let mut cables = BTreeMap::new();
    for l in net.links().iter().filter(|l| l.from.0 >= hosts && l.to.0 >= hosts) {
        let (i, j) = ((l.from.0 - hosts) / switches, (l.to.0 - hosts) / switches);
        if i != j {
            *cables.entry((i, j)).or_default() += l.lanes;
        }
    }
    cables
}

#[test]
fn every_two_groups_have_equally_many_cables() {
    // Groups, switches per group, cables between two groups: floor(ports of a group / (groups - 1)).
    let cases = [
        ("dragonfly:p=4,a=8,h=4", 33, 8, 1),
        ("dragonfly:p=1,a=4,h=3,g=5", 5, 4, 3),
        ("dragonfly:p=1,a=4,h=3,g=6", 6, 4, 2),
        ("dragonfly+:p=2,l=2,s=2,h=2", 5, 4, 1),
        ("dragonfly+:p=1,l=3,s=4,h=3,g=3", 3, 7, 6),
        ("dragonfly+:3456", 9, 48, 48),
        ("dragonfly:5586", 57, 14, 1),
    ];
    for (spec, groups, switches, cables) in cases {
        let found = between_groups(&network(spec), switches);
        assert_eq!(found.len() as u32, groups * (groups - 1), "{spec}");
        assert!(found.values().all(|&c| c == cables), "{spec}: {found:?}");
    }
}

#[test]
fn a_dragonfly_goes_local_global_local() {
    // Three groups of two routers, one host and one global port each: port r of group i leads to group i + 1 + r.
    // Hosts 0 to 5, routers 6 to 11. Group 0's router 6 leads to group 1, there to port 1: router 9.
    let net = network("dragonfly:p=1,a=2,h=1");
    assert_eq!(route(&net, 0, 3), [0, 6, 9, 3]);
    assert_eq!(route(&net, 0, 2), [0, 6, 9, 8, 2]);
    assert_eq!(route(&net, 1, 2), [1, 7, 6, 9, 8, 2]);
    assert_eq!(route(&net, 1, 4), [1, 7, 10, 4]);
}

/// Kang et al. 2019, section 2.1 and formulas (1) to (3).
#[test]
fn dragonfly_plus_as_published() {
    let net = network("dragonfly+:3456");
    assert_eq!((net.hosts(), net.vertices() - net.hosts()), (3456, 9 * 48));
    // Three switch hops and the two links of the hosts.
    assert_eq!(net.diameter(), 3 + 2);
    // "48-radix routers": leaves have 16 + 24 ports in use, spines 24 + 16, and eight of each router stay free.
    for v in 3456..net.vertices() as u32 {
        assert_eq!(net.out_links(NodeId(v)).map(|l| net.link(l).lanes).sum::<u32>(), 40);
    }
    // "each spine router has 2 global links connecting to any other group".
    for spine in (3456..net.vertices() as u32).filter(|v| (v - 3456) % 48 >= 24) {
        let mut to = BTreeMap::new();
        for l in net.out_links(NodeId(spine)) {
            let w = net.link(l).to.0;
            *to.entry((w - 3456) / 48).or_insert(0) += net.link(l).lanes;
        }
        assert_eq!(to.remove(&((spine - 3456) / 48)), Some(24), "leaves of its own group");
        assert!(to.len() == 8 && to.values().all(|&lanes| lanes == 2), "{to:?}");
    }
    let gib = f64::from(1 << 30);
    let (leaf, spine) = (NodeId(3456), NodeId(3456 + 24));
    assert_eq!(net.link(net.link_between(NodeId(0), leaf).unwrap()).capacity, 16.0 * gib);
    assert_eq!(net.link(net.link_between(leaf, spine).unwrap()).capacity, 5.25 * gib);
    // Linear wiring: spine 23 of group 0 is joined to spines 23 and 0 of group 1.
    for k in [23, 0] {
        let link = net.link_between(NodeId(spine.0 + 23), NodeId(spine.0 + 48 + k)).unwrap();
        assert_eq!((net.link(link).lanes, net.link(link).capacity), (1, 4.37 * gib));
    }
    assert_eq!(net.link_between(NodeId(spine.0 + 23), NodeId(spine.0 + 48 + 1)), None);
    // Every host of group 0 sends to every host of group 1: each of the 48 cables serves 8 of 384 destinations.
    let mut load: BTreeMap<u32, u32> = BTreeMap::new();
    for dst in 384..768 {
        let vertices = route(&net, dst % 100, dst);
        assert_eq!(vertices.len(), 6);
        let cable = net.link_between(NodeId(vertices[2]), NodeId(vertices[3])).unwrap();
        *load.entry(cable.0).or_default() += 1;
    }
    assert_eq!((load.len(), load.values().max()), (48, Some(&8)));

    // Formula (1), r/2 of everything, and (2), r/4 hosts, r/2 + 1 routers and r/4 global links.
    for r in [4u64, 8] {
        let plus = network(&format!("dragonfly+:p={0},l={0},s={0},h={0}", r / 2)).hosts() as u64;
        assert_eq!(plus, (r / 2) * (r / 2) * ((r / 2) * (r / 2) + 1));
        let flat = network(&format!("dragonfly:p={0},a={1},h={0}", r / 4, r / 2 + 1)).hosts() as u64;
        assert_eq!(flat, (r / 4) * (r / 2 + 1) * ((r / 4) * (r / 2 + 1) + 1));
    }
}

/// As [`route`], sent by the port that leads to `switch`.
fn by_port(net: &Network, src: u32, switch: u32, dst: u32) -> Vec<u32> {
    let port = net.link_between(NodeId(src), NodeId(switch)).unwrap();
    let mut links = Vec::new();
    net.route_by_port(port, NodeId(dst), &mut links).unwrap();
    std::iter::once(src).chain(links.iter().map(|&l| net.link(l).to.0)).collect()
}

#[test]
fn two_rails_by_hand() {
    // Hosts 0 to 3; plane 0: leaves 4 and 5, roots 6 and 7; plane 1: leaves 8 and 9, roots 10 and 11. The destination
    // mod 2 names both the plane and the root.
    let net = network("fattree:2x2:1x2,rails=2");
    assert_eq!((net.hosts(), net.vertices(), net.diameter()), (4, 12, 4));
    assert_eq!(route(&net, 0, 2), [0, 4, 6, 5, 2]);
    assert_eq!(route(&net, 0, 3), [0, 8, 11, 9, 3]);
    assert_eq!(route(&net, 0, 1), [0, 8, 1]);
    assert_eq!(by_port(&net, 0, 8, 2), [0, 8, 10, 9, 2]);
    assert_eq!(by_port(&net, 0, 4, 3), [0, 4, 7, 5, 3]);
    let source = network("fattree:2x2:1x2,rails=2,routing=smodk");
    assert_eq!(route(&source, 1, 2), [1, 8, 11, 9, 2], "the source is odd");
    assert_eq!(by_port(&source, 1, 4, 2), [1, 4, 7, 5, 2], "the other plane, and still the odd source's root");
    assert!(hosts(&net).all(|h| net.chooses_port(NodeId(h))));
    assert!((4..12).all(|v| !net.chooses_port(NodeId(v))));
    let prints =
        ["fattree:2x2:1x2", "fattree:2x2:1x2,rails=2", "fattree:2x2:1x2,rails=3"].map(|s| network(s).fingerprint());
    assert!(prints[0] != prints[1] && prints[1] != prints[2]);
    check("fattree:2x2:1x2,rails=2", true, 4);
    check("fattree:3x2x2:2x1x3:1x2x1,rails=3", true, 6);
    check("fattree:2x2:1x2,rails=2,routing=smodk", true, 4);
}

/// Hosts 0 to 3 and switches 4 and 5, one for each rail. Host 2 lacks adapter 0, so that what goes there by rail 0 takes rail 1.
#[test]
fn an_adapter_is_slow_and_one_is_missing() {
    let net = network("star:4,rails=2,capacity=8B/s,adapters=1@50%+2.0@none");
    assert_eq!((net.hosts(), net.vertices(), net.diameter()), (4, 6, 2));
    assert_eq!(route(&net, 0, 1), [0, 5, 1]);
    assert_eq!(route(&net, 1, 0), [1, 4, 0]);
    assert_eq!(route(&net, 0, 2), [0, 5, 2], "rail 0 does not lead to host 2");
    assert_eq!(route(&net, 2, 0), [2, 5, 0]);
    assert_eq!(by_port(&net, 0, 5, 1), [0, 5, 1]);
    let to_missing = net.link_between(NodeId(0), NodeId(4)).unwrap();
    let refused = net.route_by_port(to_missing, NodeId(2), &mut Vec::new());
    assert!(matches!(refused, Err(NetError::Unreachable { .. })), "{refused:?}");
    let rate = |from: u32, to: u32| net.link_between(NodeId(from), NodeId(to)).map(|l| net.link(l).capacity);
    assert_eq!(
        [rate(0, 4), rate(0, 5), rate(5, 0), rate(2, 4), rate(2, 5)],
        [Some(8.0), Some(4.0), Some(4.0), None, Some(4.0)]
    );
    let shape = net.switched_shape().unwrap();
    assert_eq!((shape.rails(), shape.rail(NodeId(5)), shape.rail(NodeId(0))), (2, Some(1), None));
    assert!(!shape.has_adapter(NodeId(2), 0) && shape.has_adapter(NodeId(2), 1) && !shape.has_adapter(NodeId(2), 2));
    assert!(!shape.covers(NodeId(4), NodeId(2)) && shape.next(NodeId(4), NodeId(2)).is_none());
    let prints =
        ["star:4,rails=2", "star:4,rails=2,adapters=1@50%", "star:4,rails=2,adapters=2.0@none", "fattree:4:1,rails=2"]
            .map(|s| network(s).fingerprint());
    assert!(prints[0] != prints[1] && prints[1] != prints[2] && prints[0] != prints[2]);
    assert_eq!(prints[0], prints[3]);
    // Every pair has a route of two links, by whatever rule.
    for spec in ["star:5,rails=3,adapters=0.0@none+1-2.1@none", "star:5,rails=2,routing=shortest,adapters=2.0@none"] {
        let net = network(spec);
        for (src, dst) in
            hosts(&net).flat_map(|src| hosts(&net).map(move |dst| (src, dst))).filter(|(src, dst)| src != dst)
        {
            assert_eq!(route(&net, src, dst).len(), 3, "{spec}: {src} to {dst}");
        }
    }
}

/// Hosts 0 to 3 are the adapters of two nodes; switch 4, memories 5 and 6.
#[test]
fn adapters_of_nodes_by_hand() {
    let net = network("star:4,nodes=2@8GB/s");
    assert_eq!((net.hosts(), net.vertices(), net.diameter()), (4, 7, 2));
    assert_eq!((route(&net, 0, 1), route(&net, 0, 2)), (vec![0, 5, 1], vec![0, 4, 2]));
    assert_eq!([0, 3, 6].map(|v| net.name(NodeId(v))), ["h0-0", "h1-1", "m1"]);
    let memory = net.link_between(NodeId(3), NodeId(6)).unwrap();
    assert_eq!(net.link(memory).capacity, 8e9);
    assert!(net.route_by_port(memory, NodeId(0), &mut Vec::new()).is_err(), "memory leads to no other node");
    assert_eq!(by_port(&net, 0, 4, 1), [0, 4, 1], "and software may use the fabric within one");
    let shape = net.switched_shape().unwrap();
    assert_eq!((shape.adapters_per_node(), shape.memory(NodeId(2))), (Some(2), Some(NodeId(6))));
    for spec in ["fattree:2x2x2:1x2x1,nodes=4@4GB/s", "dragonfly+:p=2,l=3,s=2,h=2,g=4,nodes=2@4GB/s,adapters=1.0@50%"] {
        let (net, plain) = (network(spec), network(spec.split(",nodes").next().unwrap()));
        let size = net.switched_shape().unwrap().adapters_per_node().unwrap();
        for (src, dst) in
            hosts(&net).flat_map(|src| hosts(&net).map(move |dst| (src, dst))).filter(|(src, dst)| src != dst)
        {
            let found = route(&net, src, dst);
            assert_eq!(net.distance(NodeId(src), NodeId(dst)), found.len() as u32 - 1, "{spec}: {src} to {dst}");
            assert!(
                src / size == dst / size && found.len() == 3 || found == route(&plain, src, dst),
                "{spec}: {found:?}"
            );
        }
    }
}

/// A dragonfly of two rails is two dragonflies that meet at hosts.
#[test]
fn rails_of_dragonflies() {
    for spec in ["dragonfly:p=2,a=3,h=2,g=4", "dragonfly+:p=2,l=3,s=2,h=2,g=4"] {
        let (one, two) = (network(spec), network(&format!("{spec},rails=2")));
        let (hosts, switches) = (one.hosts() as u32, (one.vertices() - one.hosts()) as u32);
        assert_eq!((two.hosts(), two.vertices()), (one.hosts(), one.vertices() + switches as usize));
        assert_eq!((two.links().len(), two.diameter()), (2 * one.links().len(), one.diameter()));
        for (src, dst) in [(0, 1), (0, hosts - 1), (hosts - 2, 3), (5, hosts / 2)] {
            let moved = |v: u32| if v < hosts { v } else { v + dst % 2 * switches };
            let expected: Vec<u32> = route(&one, src, dst).into_iter().map(moved).collect();
            assert_eq!(route(&two, src, dst), expected, "{spec}: {src} to {dst}");
            let other: Vec<u32> = route(&one, src, dst)
                .into_iter()
                .map(|v| if v < hosts { v } else { v + (1 - dst % 2) * switches })
                .collect();
            assert_eq!(by_port(&two, src, other[1], dst), other);
        }
        check(&format!("{spec},rails=2"), true, one.diameter());
    }
}

/// Zahavi's argument holds in every plane, whatever planes the packets are sent into: here each into one that its
/// source and the shift name.
#[test]
fn shifts_are_free_of_contention_on_any_rails() {
    for spec in ["fattree:k=6,rails=2", "fattree:k=4,rails=3,routing=smodk"] {
        let net = network(spec);
        let n = net.hosts() as u32;
        for shift in 1..n {
            let mut load = vec![0u32; net.links().len()];
            for src in hosts(&net) {
                let port = net.out_links(NodeId(src)).nth(((src / 3 + shift) % 2) as usize).unwrap();
                let mut links = Vec::new();
                net.route_by_port(port, NodeId((src + shift) % n), &mut links).unwrap();
                links.iter().for_each(|l| load[l.index()] += 1);
            }
            assert!(net.links().iter().zip(&load).all(|(l, &load)| load <= l.lanes), "{spec} shift {shift}");
        }
    }
}

#[test]
fn ports_are_chosen_only_where_software_can() {
    // On a torus the host's router chooses; on a star there is one port.
    let (torus, star) = (network("torus:4x4"), network("star:3"));
    assert!(!torus.chooses_port(NodeId(0)) && !star.chooses_port(NodeId(0)));
    let mut links = vec![];
    let (own, other) =
        (torus.link_between(NodeId(0), NodeId(4)).unwrap(), torus.link_between(NodeId(0), NodeId(1)).unwrap());
    torus.route_by_port(own, NodeId(5), &mut links).unwrap();
    assert_eq!(links.len(), 2);
    assert!(matches!(torus.route_by_port(other, NodeId(5), &mut links), Err(NetError::Unreachable { .. })));
    assert_eq!(links.len(), 2, "left as it was");
    assert!(matches!(star.route_by_port(own, NodeId(3), &mut links), Err(NetError::Unknown { .. })));
    for (spec, why) in [
        ("fattree:2x2:1x2,rails=0", "whole number above zero"),
        ("fattree:2x2:1x2,rails=65", "65 rails; 1 to 64 are expected"),
        ("star:4,rails=65", "65 rails; 1 to 64 are expected"),
        ("torus:4,rails=2", "there is no option \"rails\""),
        ("star:4,rails=2,wrap=1", "there is no option \"wrap\""),
        ("star:4,rails=2,adapters=2@50%", "adapter 2 of hosts with 2; 0 to 1 are expected"),
        ("star:4,rails=2,adapters=4.0@none", "hosts of 0 to 3 are expected"),
        ("star:4,rails=2,adapters=0-1.0@none+1.1@none", "host 1 is left without an adapter"),
        ("star:4,rails=2,adapters=0.0@none+3.1@none", "hosts 0 and 3 have no rail in common"),
        ("dragonfly:p=1,a=2,h=1,rails=2,adapters=1@0%", "above 0%"),
        ("star:8,nodes=3@1GB/s", "8 hosts as nodes of 3 adapters"),
        ("star:8,nodes=1@1GB/s", "a number above 1"),
        ("star:8,nodes=4", "ADAPTERS@RATE"),
        ("star:8,nodes=4@1GB/s,rails=2", "rails= and nodes= are both given"),
        ("star:8,nodes=4@1GB/s,routing=shortest", "another routing is expected"),
    ] {
        let error = Network::from_spec(spec).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
