//! What a router of a shard sees when it decides: its own outputs, and random words of its own.

use super::state::Shard;
use crate::engine::observer::Observation;
use crate::router::adaptive::router_view::{Choice, Place, RESERVED, RouterView, Shortest};
use crate::router::channels::Demand;
use crate::router::fabric::RouterOutputs;
use optiq_net::random::SplitMix64;
use std::ops::Range;

struct ShardView<'a, 'n, O> {
    shard: &'a mut Shard<'n, O>,
    bytes: u32,
    /// A packet of the largest size, for each request that waits.
    packet: u64,
    /// Virtual channels of a class.
    lanes: u32,
    /// The router's.
    router_outputs: RouterOutputs,
    random: SplitMix64,
}

impl<O: Observation> RouterView for ShardView<'_, '_, O> {
    #[inline(always)]
    fn queue(&mut self, channel: u32, class: u32) -> u64 {
        let Demand { requests, buffer } = self.shard.demand[channel as usize];
        let waits = u64::from(requests) * self.packet;
        let Some(first_vc) = self.router_outputs.first_vc(channel) else {
            // No credits; a channel that sends is behind one that does not.
            return waits + u64::from(self.shard.is_busy(channel));
        };
        let first = first_vc + class * self.lanes * self.router_outputs.stride;
        let mut free = u64::from(self.shard.credits.free(first, self.shard.now));
        for lane in 1..self.lanes {
            free += u64::from(self.shard.credits.free(first + lane * self.router_outputs.stride, self.shard.now));
        }
        waits + u64::from(buffer) * u64::from(self.lanes) - free
    }

    #[inline]
    fn space(&mut self, channel: u32, class: u32) -> Option<u32> {
        let first = self.shard.fabric.channels[channel as usize].class(class, self.lanes);
        // A loop: whether adapters of iterators are inlined here depends on how the compiler divides the crate.
        let mut best = None;
        for lane in 0..self.lanes {
            let vc = first + lane * self.router_outputs.stride;
            let free = self.shard.credits.unreserved(vc, self.shard.now);
            if best.is_none_or(|(most, _)| free >= most) {
                best = Some((free, vc));
            }
        }
        best.filter(|&(free, _)| free >= self.bytes).map(|(_, vc)| vc)
    }

    #[inline]
    fn random(&mut self, n: u32) -> u32 {
        self.random.below(u64::from(n)) as u32
    }

    #[inline]
    fn least_in(&mut self, channels: Range<u32>, class: u32) -> Option<(u32, u64)> {
        let side_by_side = self.router_outputs.side_by_side(&channels).filter(|_| self.lanes == 1);
        let Some(first_vc) = side_by_side else { return self.least(channels, class) };
        let Shard { demand, credits, now, .. } = &mut *self.shard;
        let demand = &demand[channels.start as usize..channels.end as usize];
        let virtual_channels = first_vc + class * self.router_outputs.stride..;
        let mut shortest = Shortest::default();
        for ((channel, &Demand { requests, buffer }), vc) in channels.zip(demand).zip(virtual_channels) {
            let queue = u64::from(requests) * self.packet + u64::from(buffer - credits.free(vc, *now));
            shortest.add(channel, queue, |n| self.random.below(u64::from(n)) as u32);
        }
        shortest.found()
    }
}

impl<O: Observation> Shard<'_, O> {
    /// Where the packet `at`, at the head of a buffer of `router`, goes: the channel, and its class, or
    /// [`RESERVED`] and a virtual channel.
    #[inline]
    pub(super) fn decide(&mut self, router: u32, at: u32) -> (u32, u32) {
        let Some(adaptive) = self.adaptive else {
            // Routes of the fabric end at their destinations.
            debug_assert!(false, "a route that ends before its destination");
            return (self.fabric.injection(router), 0);
        };
        let packet = self.packets.get(at);
        let place = Place { at: router, first: packet.hop == 1, dst: packet.destination() };
        let (mut state, bytes) = (packet.state, packet.bytes);
        let random = packet.random();
        let detour = state.detour;
        let fabric = self.fabric;
        let (packet, lanes) = (adaptive.packet_bytes(), fabric.lanes);
        let router_outputs = fabric.router_outputs[router as usize];
        let mut view = ShardView { shard: self, bytes, packet, lanes, router_outputs, random };
        let Choice { channel, class, reserve } = adaptive.decide(fabric, place, &mut state, &mut view);
        let packet = self.packets.get_mut(at);
        packet.state = state;
        if state.detour && !detour {
            self.counters.detours += 1;
            if let Some(observer) = self.observer.observer() {
                observer.detoured(packet.job);
            }
        }
        match reserve {
            Some(vc) => {
                self.credits.reserve(vc, bytes);
                (channel, RESERVED | vc)
            }
            None => (channel, class),
        }
    }
}
