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
}

/// Zahavi 2011: under d-mod-k a shift of all hosts loads no cable of a full tree more than once.
#[test]
fn shifts_are_free_of_contention_under_d_mod_k() {
    for (spec, shifts) in [("fattree:brown1296", vec![1, 17, 18, 324, 500, 1295]), ("fattree:k=6", (1..54).collect())] {
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

/// Kang et al. 2019, section 3 and formulas (1) to (3).
#[test]
fn dragonfly_plus_as_published() {
    let net = network("dragonfly+:3456");
    assert_eq!((net.hosts(), net.vertices() - net.hosts()), (3456, 9 * 48));
    // Three switch hops and the two links of the hosts.
    assert_eq!(net.diameter(), 3 + 2);
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
