//! Every decision in every state that can be reached: what depends on what, and how long paths can be.

use super::classes;
use super::dependencies::{Hops, explore as explore_network};
use crate::router::policy::Policy;
use optiq_net::{Network, NodeId};

/// Explores everything; whether the dependencies have no cycle, the classes used, and per pair the fewest and the most
/// hops between routers.
fn explore(spec: &str, policy: Policy) -> (bool, usize, Hops) {
    let (found, hops) = explore_network(&Network::from_spec(spec).unwrap(), policy).unwrap();
    (found.is_acyclic, found.classes as usize, hops)
}

#[test]
fn minimal_routings_are_minimal_and_have_no_cycle() {
    let cases = [
        ("torus:8", Policy::MinimalAdaptive, 3),
        ("torus:5x4", Policy::MinimalAdaptive, 3),
        ("torus:3x3x2", Policy::MinimalAdaptive, 3),
        ("torus:4x2x4", Policy::MinimalAdaptive, 3),
        ("torus:2x2x2", Policy::MinimalAdaptive, 2),
        ("mesh:4x5", Policy::MinimalAdaptive, 2),
        ("mesh:3x3x3", Policy::MinimalAdaptive, 2),
        ("fattree:k=4", Policy::RandomUp, 1),
        ("fattree:k=4", Policy::AdaptiveUp, 1),
        ("fattree:3x3x2:1x3x2:1x1x2", Policy::RandomUp, 1),
        ("fattree:3x3x2:1x3x2:1x1x2,rails=2", Policy::AdaptiveUp, 1),
        ("fattree:2x3:2x2,routing=shortest", Policy::AdaptiveUp, 1),
    ];
    for (spec, policy, classes) in cases {
        let (acyclic, used, hops) = explore(spec, policy);
        assert!(acyclic, "{policy} on {spec}");
        assert_eq!(used, classes, "{policy} on {spec}");
        let network = Network::from_spec(spec).unwrap();
        let terminals = if network.hosts() == network.vertices() { 0 } else { 2 };
        for ((src, dst), (fewest, most)) in hops {
            let distance = network.distance(NodeId(src), NodeId(dst)) - terminals;
            assert_eq!((fewest, most), (distance, distance), "{policy} on {spec}: {src} to {dst}");
        }
    }
}

#[test]
fn ways_of_dragonflies_are_as_long_as_the_papers_say_and_have_no_cycle() {
    let fpar = Policy::Fpar { threshold: 0.5 };
    // The most hops between switches: over all pairs in different groups, and over all in the same one.
    let cases = [
        ("dragonfly:p=1,a=4,h=2", Policy::Valiant, 5, 1),
        ("dragonfly:p=2,a=3,h=1", Policy::Ugal, 5, 1),
        ("dragonfly:p=1,a=4,h=2", Policy::Ugal, 5, 1),
        ("dragonfly:p=1,a=4,h=2", Policy::Par, 6, 1),
        // Several cables between two groups, parallel ones among them: every router has one to every other group, so
        // that of the last two local hops minimal routing needs only one.
        ("dragonfly:p=1,a=3,h=3,g=4", Policy::Valiant, 4, 1),
        ("dragonfly:p=1,a=2,h=4,g=3", Policy::Par, 5, 1),
        ("dragonfly:p=1,a=4,h=2,g=5", Policy::Par, 6, 1),
        ("dragonfly:p=1,a=2,h=2,g=2", Policy::Valiant, 2, 1),
        // The wiring of Kang et al., and others: spines with no cable to the destination's group.
        ("dragonfly+:p=1,l=2,s=2,h=2,g=3", fpar, 6, 2),
        ("dragonfly+:p=1,l=3,s=2,h=4,g=3", fpar, 6, 2),
        ("dragonfly+:p=1,l=2,s=2,h=2,g=5", fpar, 6, 2),
        ("dragonfly+:p=1,l=2,s=3,h=1", fpar, 6, 2),
        ("dragonfly+:p=2,l=2,s=2,h=1,g=2", fpar, 3, 2),
    ];
    for (spec, policy, apart, together) in cases {
        let (acyclic, _, hops) = explore(spec, policy);
        assert!(acyclic, "{policy} on {spec}");
        let network = Network::from_spec(spec).unwrap();
        let shape = network.switched_shape().unwrap();
        let mut longest = [0, 0];
        for ((src, dst), (fewest, most)) in hops {
            let same = shape.group(NodeId(src)) == shape.group(NodeId(dst));
            let mut minimal = Vec::new();
            network.route(NodeId(src), NodeId(dst), &mut minimal).unwrap();
            if policy != Policy::Valiant {
                assert!(fewest as usize <= minimal.len() - 2 && fewest <= 3, "{policy} on {spec}: {src} to {dst}");
            }
            longest[usize::from(same)] = longest[usize::from(same)].max(most);
        }
        assert_eq!(longest, [apart, together], "{policy} on {spec}");
    }
}

#[test]
fn what_does_not_fit_is_told() {
    let cases = [
        ("torus:4x4", Policy::Fpar { threshold: 0.5 }, "routing fpar needs a Dragonfly+; torus:4x4"),
        ("dragonfly:p=1,a=2,h=1", Policy::Fpar { threshold: 0.5 }, "needs a Dragonfly+"),
        ("dragonfly+:p=1,l=2,s=2,h=1", Policy::Ugal, "routing ugal needs a dragonfly; dragonfly+:"),
        ("fattree:k=4", Policy::MinimalAdaptive, "routing adaptive needs a torus or mesh; fattree:"),
        ("star:4", Policy::RandomUp, "routing random-up needs a fat tree; star:4"),
        ("dragonfly+:p=1,l=2,s=2,h=1", Policy::Fpar { threshold: 7.0 }, "the threshold of routing fpar is 7;"),
    ];
    for (spec, policy, expected) in cases {
        let text = classes(&Network::from_spec(spec).unwrap(), policy).unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(classes(&Network::from_spec("star:4").unwrap(), Policy::Fabric).unwrap(), None);
}
