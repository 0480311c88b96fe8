//! What a router of a shard sees when it decides: its own outputs, and random words of its own.

use super::state::Shard;
use crate::router::adaptive::Adaptive;
use crate::router::adaptive::router_view::{Choice, Place, RESERVED, RouterView};
use crate::router::fabric::RouterOutputs;
use optiq_net::random::SplitMix64;

struct ShardView<'a, 'n> {
    shard: &'a mut Shard<'n>,
    bytes: u32,
    /// A packet of the largest size, for each request that waits.
    packet: u64,
    adaptive: &'a Adaptive<'n>,
    /// Virtual channels of a class.
    lanes: u32,
    /// The router's.
    router_outputs: RouterOutputs,
    random: SplitMix64,
}

impl RouterView for ShardView<'_, '_> {
    #[inline(always)]
    fn queue(&mut self, channel: u32, class: u32) -> u64 {
        let waits = u64::from(self.shard.demand(channel)) * self.packet;
        let Some(first_vc) = self.router_outputs.first_vc(channel) else {
            // No credits; a channel that sends is behind one that does not.
            return waits + u64::from(self.shard.is_busy(channel));
        };
        let first = first_vc + class * self.lanes * self.router_outputs.stride;
        let mut free = u64::from(self.shard.credits.free(first, self.shard.now));
        for lane in 1..self.lanes {
            free += u64::from(self.shard.credits.free(first + lane * self.router_outputs.stride, self.shard.now));
        }
        waits + self.adaptive.buffer_bytes(channel) - free
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
}

impl Shard<'_> {
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
        let mut view = ShardView { shard: self, bytes, packet, adaptive, lanes, router_outputs, random };
        let Choice { channel, class, reserve } = adaptive.decide(fabric, place, &mut state, &mut view);
        let packet = self.packets.get_mut(at);
        packet.state = state;
        if state.detour && !detour {
            self.counters.detours += 1;
            if let Some(observer) = &mut self.observer {
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
