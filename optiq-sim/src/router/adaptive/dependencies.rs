//! What depends on what under a routing, from every decision in every state that can be reached: the check of the argument that
//! the head of `adaptive/` makes.
//!
//! A packet that waits in one virtual channel for space in another makes the first depend on the second. Decisions are asked with
//! every answer that a router's view can give: queues empty or endless, space or none, every draw. A graph without a cycle
//! cannot deadlock (Dally and Seitz 1987).

use super::router_view::{Choice, Place, RouterView};
use super::{Adaptive, classes};
use crate::engine::packet::RouteState;
use crate::error::SimError;
use crate::model::Model;
use crate::router::fabric::Fabric;
use crate::router::policy::Policy;
use crate::router::routes::is_acyclic;
use optiq_net::{LinkId, Network, NodeId};
use std::collections::{BTreeSet, HashMap};

/// Larger networks have too many states.
const MOST_HOSTS: usize = 64;

/// What was found of a routing on a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependencies {
    /// How many pairs of virtual channels depend on each other.
    pub dependencies: usize,
    /// Whether they have no cycle.
    pub is_acyclic: bool,
    /// How many classes of virtual channels (virtual lanes) packets use.
    pub classes: u32,
}

/// Explores a routing that chooses hop by hop on a network of at most 64 hosts.
///
/// # Errors
/// [`SimError::Routing`]: a routing that does not fit, or is the fabric's own; a larger network; a path that never ends.
pub fn channel_dependencies(network: &Network, policy: Policy) -> Result<Dependencies, SimError> {
    explore(network, policy).map(|found| found.0)
}

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
pub(super) type Hops = HashMap<(u32, u32), (u32, u32)>;
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

    /// The fewest and the most hops to the destination.
    fn explore(&mut self, state: State) -> Result<(u32, u32), String> {
        if let Some(known) = self.seen.get(&state) {
            return known.ok_or_else(|| format!("packets may go in circles: {state:?}"));
        }
        self.seen.insert(state, None);
        let (mut fewest, mut most) = (u32::MAX, 0);
        let choices = self.choices(state);
        if !choices.iter().any(|(choice, _)| choice.reserve.is_none()) {
            return Err(format!("every choice needs a reservation: {state:?}"));
        }
        for (choice, route_state) in choices {
            let (f, m) = self.follow(state, choice, route_state)?;
            (fewest, most) = (fewest.min(f), most.max(m));
        }
        self.seen.insert(state, Some((fewest, most)));
        Ok((fewest, most))
    }

    /// One choice: what depends on it, and the hops from there.
    fn follow(&mut self, state: State, choice: Choice, route_state: RouteState) -> Result<(u32, u32), String> {
        let (at, _, dst, _, input) = state;
        let channel = self.fabric.channels[choice.channel as usize];
        let vc = channel.class(choice.class, 1);
        if channel.from != at || choice.class >= channel.vcs || choice.reserve.is_some_and(|reserved| reserved != vc) {
            return Err(format!("a choice that the router does not have: {state:?}, {choice:?}"));
        }
        if let (Some(input), None) = (input, choice.reserve) {
            self.after[input as usize].insert(vc);
        }
        self.classes_used.insert(choice.class);
        if channel.ejects {
            return if channel.to == dst {
                Ok((0, 0))
            } else {
                Err(format!("a packet for {dst} ends at {}", channel.to))
            };
        }
        let (f, m) = self.explore((channel.to, false, dst, route_state, Some(vc)))?;
        Ok((f + 1, m + 1))
    }
}

/// Explores everything: also per pair the fewest and the most hops between routers.
///
/// # Errors
/// As [`channel_dependencies`].
pub(super) fn explore(network: &Network, policy: Policy) -> Result<(Dependencies, Hops), SimError> {
    let told = |why: String| SimError::Routing(format!("routing {policy}: {why}"));
    if network.hosts() > MOST_HOSTS {
        return Err(told(format!("{} hosts have too many states; at most {MOST_HOSTS} are expected", network.hosts())));
    }
    let count = classes(network, policy)?.ok_or_else(|| told("its routes are those of the fabric".into()))?;
    let model = Model::default();
    let fabric = Fabric::new(network, &model, count);
    let adaptive = Adaptive::new(network, &fabric, &model, policy, 0)
        .ok_or_else(|| told("its routes are those of the fabric".into()))?;
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
        let found = explorer.explore((first, true, dst, RouteState::START, None)).map_err(told)?;
        hops.insert((src, dst), found);
    }
    let after: Vec<Vec<u32>> = explorer.after.iter().map(|row| row.iter().copied().collect()).collect();
    let found = Dependencies {
        dependencies: after.iter().map(Vec::len).sum(),
        is_acyclic: is_acyclic(&after),
        classes: explorer.classes_used.len() as u32,
    };
    Ok((found, hops))
}
