//! What a router of the simulator sees: its own outputs, and random words of its own.

use super::{Choice, Eyes, Place};
use crate::packet::Packet;
use crate::shard::Shard;
use optiq_net::random::SplitMix64;

/// In [`Packet::out_class`]: the rest is the virtual channel in which room is reserved.
pub(crate) const RESERVED: u32 = 1 << 31;

struct View<'a, 'n> {
    shard: &'a mut Shard<'n>,
    bytes: u32,
    /// A packet of the largest size, for each request that waits.
    packet: u64,
    /// The buffers of a class on a channel.
    buffer: u64,
    random: SplitMix64,
}

impl Eyes for View<'_, '_> {
    fn queue(&mut self, channel: u32, class: u32) -> u64 {
        let info = self.shard.fabric.channels[channel as usize];
        let (waiting, busy_until) = self.shard.demand(channel);
        let waits = u64::from(waiting) * self.packet;
        if info.ejects {
            // No credits; a channel that sends is behind one that does not.
            return waits + u64::from(busy_until > self.shard.now);
        }
        let lanes = self.shard.fabric.lanes;
        let first = info.first_vc + class * lanes;
        let free: u64 = (first..first + lanes).map(|vc| u64::from(self.shard.free(vc))).sum();
        waits + self.buffer - free
    }

    fn room(&mut self, channel: u32, class: u32) -> Option<u32> {
        let lanes = self.shard.fabric.lanes;
        let first = self.shard.fabric.channels[channel as usize].first_vc + class * lanes;
        let best = (first..first + lanes).map(|vc| (self.shard.unreserved(vc), vc)).max_by_key(|&(free, _)| free);
        best.filter(|&(free, _)| free >= self.bytes).map(|(_, vc)| vc)
    }

    fn random(&mut self, n: u32) -> u32 {
        self.random.below(u64::from(n)) as u32
    }
}

/// The random words of a packet at a hop: a hash of the seed, the packet's message, the time at which it left memory, which
/// tells the packets of a message apart, and the hop.
fn words(seed: u64, packet: &Packet) -> SplitMix64 {
    let message = u64::from(packet.label.src) << 32 | u64::from(packet.label.message);
    let mut hash = seed;
    for word in [message, packet.injected, u64::from(packet.hop)] {
        hash = SplitMix64::new(hash ^ word).next_u64();
    }
    SplitMix64::new(hash)
}

impl Shard<'_> {
    /// Where the packet `at`, at the head of a buffer of `router`, goes: the channel, and its class as in
    /// [`Packet::out_class`].
    pub(crate) fn decide(&mut self, router: u32, at: u32) -> (u32, u32) {
        let Some(adaptive) = self.adaptive else {
            // Routes of the fabric end at their destinations.
            debug_assert!(false, "a route that ends before its destination");
            return (self.fabric.injection(router), 0);
        };
        let packet = self.packets.get(at);
        let place = Place { at: router, first: packet.hop == 1, dst: packet.label.dst };
        let (mut way, bytes) = (packet.way, packet.bytes);
        let random = words(adaptive.seed, packet);
        let detour = way.detour;
        let fabric = self.fabric;
        let mut view = View { shard: self, bytes, packet: adaptive.packet, buffer: adaptive.buffer, random };
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
