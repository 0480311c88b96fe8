//! Every decision in every state that can be reached: what depends on what, and how long paths can be.

use super::router_view::{Choice, Place, RouterView};
use super::{Adaptive, classes};
use crate::engine::packet::RouteState;
use crate::model::Model;
use crate::router::fabric::Fabric;
use crate::router::policy::Policy;
use crate::router::routes::is_acyclic;
use optiq_net::{LinkId, Network, NodeId};
use std::collections::{BTreeSet, HashMap};

/// Answers every question in every way, one after the other: queues are empty or endless, there is space or not.
#[derive(Default)]
struct Oracle {
    /// Answers so far, each with the number of possible ones.
    script: Vec<(u32, u32)>,
    at: usize,
    /// Per channel, its first virtual channel and the step to the next one.
    vcs: Vec<(u32, u32)>,
}

impl Oracle {
    fn branch(&mut self, ways: u32) -> u32 {
        if self.at == self.script.len() {
            self.script.push((0, ways));
        }
        self.at += 1;
        self.script[self.at - 1].0
    }

    /// Goes to the next combination of answers; false if there is none.
    fn advance(&mut self) -> bool {
        self.at = 0;
        while let Some((answer, ways)) = self.script.pop() {
            if answer + 1 < ways {
                self.script.push((answer + 1, ways));
                return true;
            }
        }
        false
    }
}

impl RouterView for Oracle {
    fn queue(&mut self, _: u32, _: u32) -> u64 {
        u64::from(self.branch(2)) << 40
    }

    fn space(&mut self, channel: u32, class: u32) -> Option<u32> {
        let (first, stride) = self.vcs[channel as usize];
        let vc = first + class * stride;
        (self.branch(2) == 1).then_some(vc)
    }

    fn random(&mut self, n: u32) -> u32 {
        self.branch(n)
    }

    fn least(&mut self, channels: impl Iterator<Item = u32>, _: u32) -> Option<(u32, u64)> {
        let all: Vec<u32> = channels.collect();
        if all.is_empty() {
            return None;
        }
        let answer = self.branch(2 * all.len() as u32);
        Some((all[answer as usize / 2], u64::from(answer % 2) << 40))
    }
}

/// Per source and destination, hops between routers: the fewest and the most.
type Hops = HashMap<(u32, u32), (u32, u32)>;
type State = (u32, bool, u32, RouteState, Option<u32>);

struct Explorer<'n> {
    fabric: &'n Fabric,
    adaptive: &'n Adaptive<'n>,
    oracle: Oracle,
    /// Per state, hops between routers to the destination: the fewest and the most. `None` while it is looked at.
    seen: HashMap<State, Option<(u32, u32)>>,
    /// Dependencies between virtual channels.
    after: Vec<BTreeSet<u32>>,
    classes_used: BTreeSet<u32>,
}

impl Explorer<'_> {
    fn choices(&mut self, (at, first, dst, route_state, _): State) -> Vec<(Choice, RouteState)> {
        let mut all = Vec::new();
        loop {
            let mut route_state = route_state;
            let choice =
                self.adaptive.decide(self.fabric, Place { at, first, dst }, &mut route_state, &mut self.oracle);
            if !all.contains(&(choice, route_state)) {
                all.push((choice, route_state));
            }
            if !self.oracle.advance() {
                return all;
            }
        }
    }

    fn explore(&mut self, state: State) -> (u32, u32) {
        if let Some(known) = self.seen.get(&state) {
            return known.unwrap_or_else(|| panic!("packets may go in circles: {state:?}"));
        }
        self.seen.insert(state, None);
        let (at, _, dst, _, input) = state;
        let (mut fewest, mut most) = (u32::MAX, 0);
        let choices = self.choices(state);
        // There is always a choice that needs no reservation.
        assert!(choices.iter().any(|(choice, _)| choice.reserve.is_none()));
        for (choice, route_state) in choices {
            let channel = self.fabric.channels[choice.channel as usize];
            assert_eq!(channel.from, at);
            let vc = channel.class(choice.class, 1);
            assert!(choice.class < channel.vcs && choice.reserve.is_none_or(|reserved| reserved == vc));
            if let (Some(input), None) = (input, choice.reserve) {
                self.after[input as usize].insert(vc);
            }
            self.classes_used.insert(choice.class);
            let (f, m) = if channel.ejects {
                assert_eq!(channel.to, dst);
                (0, 0)
            } else {
                let (f, m) = self.explore((channel.to, false, dst, route_state, Some(vc)));
                (f + 1, m + 1)
            };
            (fewest, most) = (fewest.min(f), most.max(m));
        }
        self.seen.insert(state, Some((fewest, most)));
        (fewest, most)
    }
}

/// Explores everything; whether the dependencies have no cycle, the classes used, and per pair the fewest and the most
/// hops between routers.
fn explore(spec: &str, policy: Policy) -> (bool, usize, Hops) {
    let network = Network::from_spec(spec).unwrap();
    let model = Model::default();
    let count = classes(&network, policy).unwrap().unwrap();
    let fabric = Fabric::new(&network, &model, count);
    let adaptive = Adaptive::new(&network, &fabric, &model, policy, 0).unwrap();
    let vcs = fabric.channels.iter().map(|c| (c.first_vc, c.stride)).collect();
    let mut explorer = Explorer {
        fabric: &fabric,
        adaptive: &adaptive,
        oracle: Oracle { vcs, ..Oracle::default() },
        seen: HashMap::new(),
        after: vec![BTreeSet::new(); fabric.channel_of_vc.len()],
        classes_used: BTreeSet::new(),
    };
    let mut hops = HashMap::new();
    for (src, dst) in (0..fabric.hosts).flat_map(|s| (0..fabric.hosts).map(move |d| (s, d))).filter(|(s, d)| s != d) {
        let first = if fabric.direct { src } else { network.link(LinkId(network.out_range(NodeId(src)).start)).to.0 };
        hops.insert((src, dst), explorer.explore((first, true, dst, RouteState::START, None)));
    }
    let after: Vec<Vec<u32>> = explorer.after.iter().map(|row| row.iter().copied().collect()).collect();
    (is_acyclic(&after), explorer.classes_used.len(), hops)
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
