//! Dragonflies: Valiant's randomised routing, UGAL-L and progressive adaptive routing.
//!
//! All three follow J. Kim, W. Dally, S. Scott, D. Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008.
//!
//! - **Valiant** (L. Valiant, "A Scheme for Fast Parallel Communication", SIAM J. Comput. 11(2), 1982): a packet for another
//!   group first goes through a random group that is neither its own nor the destination's. What is drawn is one of the
//!   group's global cables, each that leads elsewhere as likely. Local, global, local, global, local: five hops at most.
//! - **UGAL-L** (A. Singh, "Load-Balanced Routing in Interconnection Networks", Stanford 2005): the source's router draws as
//!   Valiant does and goes minimally if `q_m H_m <= q_n H_n`, with the queues of the outputs by which either path begins and
//!   the hops that either has from there.
//! - **PAR** (N. Jiang, J. Kim, W. Dally, "Indirect Adaptive Routing on Large Scale Interconnection Networks", ISCA 2009): a
//!   packet that goes minimally is weighed again by the next router of its source's group, which may know better about
//!   the global cable; once it has left the minimal path it does not come back. Six hops at most.
//!
//! Credits in flight count as a queue, so that the queue of a port that has just sent a packet looks longer than one at
//! rest. Two packets on the minimal path therefore do not count, as other simulators also favour it (30 flits in
//! BookSim 2). On 1,056 hosts at half load of uniform traffic this leaves 4 % of packets to detours of UGAL-L where there were
//! 27 %, and costs adversarial traffic a twentieth of its throughput.
//!
//! Packets within a group go minimally. Which of several cables the minimal path takes: see `Network`'s own routing.
//!
//! Classes: on global channels the global channels behind (0, 1), on local ones likewise (0, 1, 2); with PAR, which may take
//! two local channels in the source's group, the second one has a class of its own: local 0, 1, then global 0, local 2,
//! global 1, local 3. On every path these are passed in this order, each at most once, so no cycle is possible.

use super::ports::{channels_between, channels_of, groups, homes, minimal};
use super::router_view::{Choice, Place, RouterView};
use crate::constants::UGAL_BIAS_PACKETS;
use crate::engine::packet::RouteState;
use crate::router::fabric::Fabric;
use crate::router::policy::Policy;
use optiq_net::{Class, LinkId, Network, NodeId, Shape};

pub(crate) struct Dragonfly<'n> {
    network: &'n Network,
    shape: Shape,
    policy: Policy,
    group: Vec<u32>,
    home: Vec<u32>,
    /// Per group, the global channels that leave it, by the group that they lead to: equally many to each other group.
    cables: Vec<Vec<u32>>,
    /// Bytes of a queue on the minimal path that do not count.
    bias: u64,
}

impl<'n> Dragonfly<'n> {
    /// `packet`: the largest packet, on the wire.
    pub(crate) fn new(network: &'n Network, fabric: &Fabric, shape: Shape, policy: Policy, packet: u64) -> Self {
        let group = groups(network, &shape);
        let mut cables = vec![Vec::new(); group.iter().max().map_or(0, |&last| last as usize + 1)];
        for link in (0..network.links().len() as u32).map(LinkId) {
            if network.class(link) == Class::Global {
                let from = group[network.link(link).from.index()];
                cables[from as usize].extend(channels_of(network, fabric, link));
            }
        }
        for list in &mut cables {
            list.sort_by_key(|&c| (group[fabric.channels[c as usize].to as usize], c));
        }
        Self { home: homes(network), network, shape, policy, group, cables, bias: UGAL_BIAS_PACKETS * packet }
    }

    /// Hops between switches on the minimal path from a router to a host.
    fn hops(&self, mut at: u32, dst: u32) -> u64 {
        let mut hops = 0;
        while at != self.home[dst as usize] && hops < 3 {
            at = self.shape.next(NodeId(at), NodeId(dst)).map_or(at, |v| v.0);
            hops += 1;
        }
        hops
    }

    /// A random cable that leads neither to the group of `dst` nor within the own one; none if there are only two groups.
    fn draw(&self, at: u32, dst: u32, view: &mut impl RouterView) -> Option<u32> {
        let (here, there) = (self.group[at as usize], self.group[dst as usize]);
        let cables = &self.cables[here as usize];
        let per_group = cables.len() / (self.cables.len() - 1).max(1);
        let others = cables.len() - per_group;
        if others == 0 {
            return None;
        }
        let drawn = view.random(others as u32) as usize;
        // Those to the destination's group are left out.
        let left_out = per_group * (there - u32::from(there > here)) as usize;
        Some(cables[if drawn < left_out { drawn } else { drawn + per_group }])
    }

    fn local_class(&self, state: &RouteState) -> u32 {
        match self.policy {
            Policy::Par if state.globals == 0 => u32::from(state.locals).min(1),
            Policy::Par => u32::from(state.globals) + 1,
            _ => u32::from(state.globals),
        }
    }

    /// The output towards the global channel `via`, which may be that itself, and its class.
    fn towards(&self, fabric: &Fabric, at: u32, via: u32, state: &RouteState) -> (u32, u32) {
        match fabric.channels[via as usize].from {
            from if from == at => (via, u32::from(state.globals)),
            from => (channels_between(self.network, fabric, at, from).start, self.local_class(state)),
        }
    }

    pub(crate) fn decide(
        &self,
        fabric: &Fabric,
        place: Place,
        state: &mut RouteState,
        view: &mut impl RouterView,
    ) -> Choice {
        let Place { at, first, dst } = place;
        if at == self.home[dst as usize] {
            let channels = channels_between(self.network, fabric, at, dst);
            return Choice::new(view.least(channels.clone(), 0).map_or(channels.start, |best| best.0), 0);
        }
        if state.via == RouteState::NO_VIA {
            let channels = minimal(self.network, fabric, &self.shape, at, dst);
            let crosses = self.group[at as usize] != self.group[fabric.channels[channels.start as usize].to as usize];
            let class = if crosses { u32::from(state.globals) } else { self.local_class(state) };
            let (channel, queue) = view.least(channels.clone(), class).unwrap_or((channels.start, 0));
            // Whether the path may still be changed: by the source's router, and with PAR by the next one of its group.
            let open = self.group[at as usize] != self.group[dst as usize]
                && state.globals == 0
                && !state.detour
                && (first || self.policy == Policy::Par);
            let other = if open { self.draw(at, dst, view) } else { None };
            let leaves = other.filter(|&via| {
                if self.policy == Policy::Valiant {
                    return true;
                }
                let (out, class) = self.towards(fabric, at, via, state);
                let cable = fabric.channels[via as usize];
                let hops = u64::from(cable.from != at) + 1 + self.hops(cable.to, dst);
                let other_queue = view.queue(out, class);
                queue.saturating_sub(self.bias) * self.hops(at, dst) > other_queue * hops
            });
            match leaves {
                Some(via) => (state.via, state.detour) = (via, true),
                None => {
                    if crosses {
                        state.global()
                    } else {
                        state.local()
                    }
                    return Choice::new(channel, class);
                }
            }
        }
        let (channel, class) = self.towards(fabric, at, state.via, state);
        if channel == state.via {
            state.via = RouteState::NO_VIA;
            state.global();
        } else {
            state.local();
        }
        Choice::new(channel, class)
    }
}
