//! Messages and packets in flight.
//!
//! What every hop needs of a packet is in one cache line ([`Packet`]); what only its source and destination need is in its
//! message ([`Message`]), which all of its packets share. At millions of events a second a simulator waits for memory more than
//! for anything else.

use crate::engine::store::NONE;
use crate::time::Time;
use bincode::{Decode, Encode};
use optiq_net::random::SplitMix64;

/// A channel to take, and the class of virtual channels on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Step(u32);

const CHANNEL_BITS: u32 = 26;
/// More classes than a [`Step`] can have there are not.
pub(crate) const CLASSES: u32 = 32;

impl Step {
    /// With `lanes`, `channel` is the first of several parallel lanes, of which the least busy one is taken.
    pub(crate) fn new(channel: u32, class: u32, lanes: bool) -> Self {
        debug_assert!(channel < 1 << CHANNEL_BITS && class < CLASSES);
        Step(channel | class << CHANNEL_BITS | u32::from(lanes) << 31)
    }

    pub(crate) fn channel(self) -> u32 {
        self.0 & ((1 << CHANNEL_BITS) - 1)
    }

    pub(crate) fn class(self) -> u32 {
        self.0 >> CHANNEL_BITS & (CLASSES - 1)
    }

    pub(crate) fn any_lane(self) -> bool {
        self.0 >> 31 == 1
    }

    /// As one number, for [`Step::from_bits`].
    pub(crate) fn to_bits(self) -> u32 {
        self.0
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        Step(bits)
    }
}

/// Steps of a route that are kept without memory of their own.
const SHORT: usize = 13;

/// A route that was chosen before the packet left: a [`Step`] for each channel. If it ends before the destination, routers
/// decide ([`crate::router::adaptive`]).
#[derive(Clone, Debug, Encode, Decode)]
pub(crate) enum Route {
    Short { steps: [Step; SHORT], len: u8 },
    Long(Box<[Step]>),
}

impl Route {
    pub(crate) fn new(steps: &[Step]) -> Self {
        if steps.len() > SHORT {
            return Route::Long(steps.into());
        }
        let mut short = [Step::default(); SHORT];
        short[..steps.len()].copy_from_slice(steps);
        Route::Short { steps: short, len: steps.len() as u8 }
    }

    pub(crate) fn steps(&self) -> &[Step] {
        match self {
            Route::Short { steps, len } => &steps[..usize::from(*len)],
            Route::Long(steps) => steps,
        }
    }
}

/// What a message and its packets carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum PacketKind {
    /// The program's bytes.
    Data,
    /// As [`PacketKind::Data`]; the receiver confirms it.
    Confirmed,
    /// The program's bytes, into memory that the receiver has promised: its processor has nothing to do with them.
    Put,
    /// Requests permission for a large message (rendezvous).
    Request,
    /// Grants it.
    Grant,
    /// A message has arrived.
    Confirmation,
}

/// The envelope of a message.
#[derive(Clone, Copy, Debug, Encode, Decode)]
pub(crate) struct Label {
    /// The hosts, between which it is routed.
    pub(crate) src: u32,
    pub(crate) dst: u32,
    /// The processes.
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Its number at the process that it is from.
    pub(crate) message: u32,
    /// The job of that process.
    pub(crate) job: u16,
    pub(crate) kind: PacketKind,
    /// It is part of a warm-up: its latency is in no histogram.
    pub(crate) warms_up: bool,
    /// Components write postcards of one of its packets.
    pub(crate) marked: bool,
    /// Its size; that of a request is [`crate::model::HostModel::control_bytes`].
    pub(crate) bytes: u64,
    /// What the program calls it.
    pub(crate) token: u64,
    /// When the program sent it.
    pub(crate) born: Time,
}

/// What all packets of a message have in common: in one cache line what is needed at its source, in another one what is said
/// of it.
#[derive(Clone, Debug, Encode, Decode)]
#[repr(C, align(64))]
pub(crate) struct Message {
    pub(crate) route: Route,
    /// Packets in flight, and one more until the source has sent all.
    pub(crate) uses: u32,
    pub(crate) label: Label,
}

/// What a packet remembers under adaptive routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub(crate) struct RouteState {
    /// The global channel that it has to take before it goes on minimally; [`RouteState::NO_VIA`] if there is none.
    pub(crate) via: u32,
    /// Global channels that it has taken.
    pub(crate) globals: u8,
    /// Local channels that it has taken since the last global one.
    pub(crate) locals: u8,
    /// The virtual lane of a Dragonfly+.
    pub(crate) lane: u8,
    /// It has left the minimal paths.
    pub(crate) detour: bool,
}

impl RouteState {
    pub(crate) const NO_VIA: u32 = u32::MAX;
    pub(crate) const START: RouteState =
        RouteState { via: RouteState::NO_VIA, globals: 0, locals: 0, lane: 0, detour: false };

    /// The virtual lane of a Dragonfly+, 0 elsewhere.
    pub(crate) fn lane(&self) -> u32 {
        self.lane.into()
    }

    /// It takes a local channel.
    pub(crate) fn local(&mut self) {
        self.locals = self.locals.saturating_add(1);
    }

    /// It takes a global channel.
    pub(crate) fn global(&mut self) {
        self.globals = self.globals.saturating_add(1);
        self.locals = 0;
    }
}

/// Steps of the route that a packet has with it.
const AHEAD: usize = 4;

/// A packet, in the input buffer of a virtual channel or on the link to it.
#[derive(Clone, Debug, Encode, Decode)]
#[repr(align(64))]
pub(crate) struct Packet {
    /// When its tail may leave the router that it is in.
    pub(crate) tail: Time,
    /// When its first bit left the host.
    pub(crate) injected: Time,
    /// The next one in the buffer.
    pub(crate) next: u32,
    /// The virtual channel that it is in, or enters next.
    pub(crate) vc: u32,
    /// Bytes on the wire, with the header.
    pub(crate) bytes: u32,
    /// The [`Message`].
    pub(crate) message: u32,
    /// On a route: its steps from the last multiple of [`AHEAD`] on. Where routers decide: the destination, and a hash that
    /// tells the packet from all others.
    ahead: [u32; AHEAD],
    /// What adaptive routing remembers.
    pub(crate) state: RouteState,
    /// Of the route's steps, the next one to take.
    pub(crate) hop: u16,
    /// As in its [`Label`].
    pub(crate) job: u16,
    /// Beyond its tag by one, if components write postcards of it; 0 if not.
    pub(crate) mark: u32,
}

impl Packet {
    /// A packet of a message that leaves its host.
    pub(crate) fn new(message: u32, bytes: u32, job: u16, now: Time) -> Self {
        Packet {
            tail: Time::ZERO,
            injected: now,
            next: NONE,
            vc: 0,
            bytes,
            message,
            ahead: [0; AHEAD],
            state: RouteState::START,
            hop: 0,
            job,
            mark: 0,
        }
    }

    /// It follows its message's route.
    pub(crate) fn follow(&mut self, route: &Route) {
        let at = usize::from(self.hop) / AHEAD * AHEAD;
        let steps = route.steps();
        for (place, step) in self.ahead.iter_mut().zip(&steps[at.min(steps.len())..]) {
            *place = step.0;
        }
    }

    /// The routers decide; `seed` is that of their random draws.
    pub(crate) fn route_adaptively(&mut self, label: &Label, seed: u64) {
        let mut hash = seed;
        for word in [u64::from(label.from) << 32 | u64::from(label.message), self.injected.as_picoseconds()] {
            hash = SplitMix64::new(hash ^ word).next_u64();
        }
        self.ahead = [label.dst, 0, hash as u32, (hash >> 32) as u32];
    }

    /// The next step of the route that it follows.
    #[inline]
    pub(crate) fn step(&self) -> Step {
        Step(self.ahead[usize::from(self.hop) % AHEAD])
    }

    /// It has taken a step; whether it needs more of its route.
    #[inline]
    pub(crate) fn advance(&mut self) -> bool {
        self.hop += 1;
        usize::from(self.hop).is_multiple_of(AHEAD)
    }

    /// Whether it needs more of its route after the next step.
    #[inline]
    pub(crate) fn needs_route(&self) -> bool {
        usize::from(self.hop) % AHEAD == AHEAD - 1
    }

    /// The destination of a packet that is routed adaptively.
    pub(crate) fn destination(&self) -> u32 {
        self.ahead[0]
    }

    /// Its random draws at this hop: a hash of the seed, the message, the time at which it left memory, which tells the
    /// packets of a message apart, and the hop.
    pub(crate) fn random(&self) -> SplitMix64 {
        let hash = u64::from(self.ahead[2]) | u64::from(self.ahead[3]) << 32;
        SplitMix64::new(SplitMix64::new(hash ^ u64::from(self.hop)).next_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_needs_one_cache_line() {
        assert_eq!(size_of::<Packet>(), 64);
        assert_eq!((size_of::<Message>(), std::mem::offset_of!(Message, label)), (128, 64));
    }

    #[test]
    fn packets_follow_routes_of_any_length() {
        for len in [1, 3, 4, 5, 13, 14, 40] {
            let steps: Vec<Step> = (0..len).map(|i| Step::new(100 + i, i % 4, i % 2 == 1)).collect();
            let route = Route::new(&steps);
            assert_eq!(route.steps(), steps);
            let mut packet = Packet::new(0, 64, 0, Time::ZERO);
            packet.follow(&route);
            for (i, step) in steps.iter().enumerate() {
                assert_eq!((packet.step(), usize::from(packet.hop)), (*step, i));
                if packet.advance() {
                    packet.follow(&route);
                }
            }
        }
    }
}
