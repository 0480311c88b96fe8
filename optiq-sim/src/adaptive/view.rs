//! What a router of the simulator sees: its own outputs, and random words of its own.

use super::{Choice, Eyes, Place};
use crate::fabric::WaysOut;
use crate::shard::Shard;
use optiq_net::random::SplitMix64;

/// In what a packet asks for: the rest is the virtual channel in which room is reserved.
pub(crate) const RESERVED: u32 = 1 << 31;

struct View<'a, 'n> {
    shard: &'a mut Shard<'n>,
    bytes: u32,
    /// A packet of the largest size, for each request that waits.
    packet: u64,
    /// The buffers of a class on a channel.
    buffer: u64,
    /// Virtual channels of a class.
    lanes: u32,
    /// The router's.
    ways_out: WaysOut,
    random: SplitMix64,
}

impl Eyes for View<'_, '_> {
    #[inline(always)]
    fn queue(&mut self, channel: u32, class: u32) -> u64 {
        let waits = u64::from(self.shard.demand(channel)) * self.packet;
        let Some(first_vc) = self.ways_out.first_vc(channel) else {
            // No credits; a channel that sends is behind one that does not.
            return waits + u64::from(self.shard.is_busy(channel));
        };
        let first = first_vc + class * self.lanes * self.ways_out.stride;
        let mut free = u64::from(self.shard.free(first));
        for lane in 1..self.lanes {
            free += u64::from(self.shard.free(first + lane * self.ways_out.stride));
        }
        waits + self.buffer - free
    }

    #[inline]
    fn room(&mut self, channel: u32, class: u32) -> Option<u32> {
        let first = self.shard.fabric.channels[channel as usize].class(class, self.lanes);
        let lanes = (0..self.lanes).map(|lane| first + lane * self.ways_out.stride);
        let best = lanes.map(|vc| (self.shard.unreserved(vc), vc)).max_by_key(|&(free, _)| free);
        best.filter(|&(free, _)| free >= self.bytes).map(|(_, vc)| vc)
    }

    fn random(&mut self, n: u32) -> u32 {
        self.random.below(u64::from(n)) as u32
    }
}

impl Shard<'_> {
    /// Where the packet `at`, at the head of a buffer of `router`, goes: the channel, and its class, or
    /// [`RESERVED`] and a virtual channel.
    pub(crate) fn decide(&mut self, router: u32, at: u32) -> (u32, u32) {
        let Some(adaptive) = self.adaptive else {
            // Routes of the fabric end at their destinations.
            debug_assert!(false, "a route that ends before its destination");
            return (self.fabric.injection(router), 0);
        };
        let packet = self.packets.get(at);
        let place = Place { at: router, first: packet.hop == 1, dst: packet.destination() };
        let (mut way, bytes) = (packet.way, packet.bytes);
        let random = packet.random();
        let detour = way.detour;
        let fabric = self.fabric;
        let (packet, buffer, lanes) = (adaptive.packet, adaptive.buffer, fabric.lanes);
        let ways_out = fabric.ways_out[router as usize];
        let mut view = View { shard: self, bytes, packet, buffer, lanes, ways_out, random };
        let Choice { channel, class, reserve } = adaptive.decide(fabric, place, &mut way, &mut view);
        self.counters.detours += u64::from(way.detour && !detour);
        self.packets.get_mut(at).way = way;
        match reserve {
            Some(vc) => {
                self.reserve(vc, bytes);
                (channel, RESERVED | vc)
            }
            None => (channel, class),
        }
    }
}
