#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;
use crate::builder::{End, NetworkBuilder};
use crate::geometry::Geometry;
use crate::network::Network;
use crate::routing::Routing;

fn of(spec: &str) -> Structure {
    Structure::of(&Network::from_spec(spec).unwrap())
}

/// A network of (host or switch, host or switch) cables; names that begin with `h` are hosts.
fn built(cables: &[(&str, &str)]) -> (Network, Structure) {
    let mut builder = NetworkBuilder::new();
    let mut ends: std::collections::BTreeMap<String, End> = Default::default();
    let mut end = |builder: &mut NetworkBuilder, name: &str| {
        *ends.entry(name.to_owned()).or_insert_with(|| match name.starts_with('h') {
            true => builder.host(name),
            false => builder.switch(name),
        })
    };
    for (a, b) in cables {
        let (a, b) = (end(&mut builder, a), end(&mut builder, b));
        builder.duplex(a, b, 1, 1e9);
    }
    let network = builder.build("test", Geometry::General, Routing::Shortest).unwrap();
    let structure = Structure::of(&network);
    (network, structure)
}

fn level(network: &Network, structure: &Structure, name: &str) -> u32 {
    structure.levels[network.resolve(name).unwrap().index()].unwrap()
}

#[test]
fn trees_have_their_levels() {
    // 4 hosts on each of 4 leaves, 2 spines: 16 hosts, 4 switches on level 1, 2 on level 2.
    let two = of("fattree:4x4:1x2");
    let count = |s: &Structure, level| s.levels.iter().filter(|l| **l == Some(level)).count();
    assert_eq!((two.arrangement, two.top, two.rails), (Arrangement::Tree, 2, 1));
    assert_eq!([0, 1, 2].map(|l| count(&two, l)), [16, 4, 2]);
    // k=4: 16 hosts, 8 leaves and 8 middle switches in 4 pods, 4 cores.
    let three = of("fattree:k=4");
    assert_eq!((three.arrangement, three.top, three.unpopulated_leaves), (Arrangement::Tree, 3, 0));
    assert_eq!([0, 1, 2, 3].map(|l| count(&three, l)), [16, 8, 8, 4]);
    // Parallel cables change nothing.
    assert_eq!(of("fattree:4x4:1x2:1x3").levels, two.levels);
    assert_eq!((of("star:4").arrangement, of("star:4").top), (Arrangement::Tree, 1));
    assert_eq!((of("torus:4x4").arrangement, of("torus:4x4").top), (Arrangement::Other, 0));
}

#[test]
fn a_leaf_without_hosts_is_no_spine() {
    let mut cables = vec![("h0", "l0"), ("h1", "l0"), ("h2", "l1"), ("h3", "l1")];
    cables.extend(["l0", "l1", "empty"].iter().flat_map(|l| ["s0", "s1", "s2"].map(|s| (*l, s))));
    let (net, structure) = built(&cables);
    let of = |name| level(&net, &structure, name);
    assert_eq!([of("l0"), of("empty"), of("s0"), of("s2")], [1, 1, 2, 2]);
    assert_eq!((structure.top, structure.unpopulated_leaves, structure.arrangement), (2, 1, Arrangement::Tree));
    // The same with a cable that is missing.
    cables.retain(|c| *c != ("empty", "s2"));
    let (net, structure) = built(&cables);
    assert_eq!((level(&net, &structure, "empty"), structure.top), (1, 2));
    // A switch above two spines of several is a third level.
    let mut cables = vec![("h0", "l0"), ("h1", "l1")];
    cables.extend(["l0", "l1"].iter().flat_map(|l| ["s0", "s1", "s2", "s3"].map(|s| (*l, s))));
    cables.extend([("s0", "top"), ("s1", "top")]);
    let (net, structure) = built(&cables);
    assert_eq!(level(&net, &structure, "top"), 3);
}

#[test]
fn a_pod_without_hosts_is_a_pod() {
    let mut cables = vec![("h0", "a-l0"), ("h1", "a-l1"), ("h2", "b-l0"), ("h3", "b-l1")];
    let pods: Vec<[String; 4]> =
        ["a", "b", "c"].iter().map(|p| ["l0", "l1", "m0", "m1"].map(|n| format!("{p}-{n}"))).collect();
    for [l0, l1, m0, m1] in &pods {
        cables.extend([(l0, m0), (l0, m1), (l1, m0), (l1, m1)].map(|(a, b)| (a.as_str(), b.as_str())));
        cables.extend([(m0.as_str(), "c0"), (m0, "c1"), (m1, "c2"), (m1, "c3")]);
    }
    let (net, structure) = built(&cables);
    let of = |name| level(&net, &structure, name);
    assert_eq!([of("a-m0"), of("c0"), of("c-m0"), of("c-m1"), of("c-l0"), of("c-l1")], [2, 3, 2, 2, 1, 1]);
    assert_eq!((structure.arrangement, structure.unpopulated_leaves), (Arrangement::Tree, 2));
}

#[test]
fn one_pod_with_hosts_does_not_turn_the_tree_over() {
    let mut cables = vec![("h0", "a-l0"), ("h1", "a-l1")];
    let pods: Vec<[String; 4]> =
        ["a", "b"].iter().map(|p| ["l0", "l1", "m0", "m1"].map(|n| format!("{p}-{n}"))).collect();
    for [l0, l1, m0, m1] in &pods {
        cables.extend([(l0, m0), (l0, m1), (l1, m0), (l1, m1)].map(|(a, b)| (a.as_str(), b.as_str())));
        cables.extend([(m0.as_str(), "c0"), (m0, "c1"), (m1, "c2"), (m1, "c3")]);
    }
    let (net, structure) = built(&cables);
    let of = |name| level(&net, &structure, name);
    assert_eq!([of("a-l0"), of("a-m0"), of("c0"), of("b-m0"), of("b-l0")], [1, 2, 3, 2, 1]);
}

#[test]
fn rails_are_told_by_removing_hosts() {
    // Two planes of 2 leaves and 1 spine each.
    let two = of("fattree:4x2:1x1,rails=2");
    assert_eq!((two.rails, two.arrangement, two.top), (2, Arrangement::Tree, 2));
    let of_rail = |r| two.rail.iter().filter(|rail| **rail == Some(r)).count();
    assert_eq!([of_rail(0), of_rail(1)], [3, 3]);
    // Two fabrics with one host that is in both are no rails.
    let (_, apart) = built(&[("h0", "a"), ("h1", "a"), ("h2", "a"), ("h2", "b"), ("h3", "b"), ("h4", "b")]);
    assert_eq!(apart.rails, 1);
    // A host with two cables into one plane has one rail.
    let (_, one) = built(&[("h0", "a"), ("h0", "b"), ("a", "s"), ("b", "s")]);
    assert_eq!(one.rails, 1);
}

#[test]
fn groups_come_from_connections() {
    // Numbered group after group, which the search does not know.
    for (spec, groups, switches) in [("dragonfly:p=2,a=4,h=2", 9, 4), ("dragonfly:p=2,a=6,h=3,g=7", 7, 6)]
        .into_iter()
        .chain([("dragonfly+:p=2,l=2,s=2,h=2", 5, 4), ("dragonfly+:p=2,l=4,s=4,h=2,g=3", 3, 8)])
    {
        let net = Network::from_spec(spec).unwrap();
        let found = Structure::of(&net);
        assert_eq!((found.arrangement, found.groups), (Arrangement::Groups, groups), "{spec}");
        for (v, group) in found.group.iter().enumerate().skip(net.hosts()) {
            assert_eq!(*group, Some(((v - net.hosts()) / switches) as u32), "{spec}: {v}");
        }
    }
    // A ring of switches has no groups.
    let ring: Vec<(String, String)> = (0..6).map(|i| (format!("s{i}"), format!("s{}", (i + 1) % 6))).collect();
    let hosts: Vec<(String, String)> = (0..6).map(|i| (format!("h{i}"), format!("s{i}"))).collect();
    let cables: Vec<(&str, &str)> = ring.iter().chain(&hosts).map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(built(&cables).1.arrangement, Arrangement::Other);
}
