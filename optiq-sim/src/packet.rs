//! Messages and packets, and the store of packets under way.

use crate::adaptive::Way;
use crate::time::Time;
use std::sync::Arc;

/// A route that was chosen before the packet left: a [`Step`] for each channel. If it ends before the destination, routers
/// decide ([`crate::adaptive`]).
pub(crate) type Route = Arc<[Step]>;

/// A channel to take, and the class of virtual channels on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step(u32);

const CHANNEL_BITS: u32 = 26;

impl Step {
    /// Of parallel lanes that nothing tells apart, `channel` is the first, and the least busy one is taken.
    pub(crate) fn new(channel: u32, class: u32, lanes: bool) -> Self {
        debug_assert!(channel < 1 << CHANNEL_BITS && class < 32);
        Step(channel | class << CHANNEL_BITS | u32::from(lanes) << 31)
    }

    pub(crate) fn channel(self) -> u32 {
        self.0 & ((1 << CHANNEL_BITS) - 1)
    }

    pub(crate) fn class(self) -> u32 {
        self.0 >> CHANNEL_BITS & 31
    }

    pub(crate) fn any_lane(self) -> bool {
        self.0 >> 31 == 1
    }
}

/// What a message is, to the hosts at its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The program's bytes.
    Data,
    /// As [`Kind::Data`]; the receiver confirms it.
    Confirmed,
    /// Asks whether a large message may come.
    Request,
    /// It may.
    Grant,
    /// A message has arrived.
    Confirmation,
}

/// What all packets of a message have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    /// Its number at its source.
    pub(crate) message: u32,
    pub(crate) kind: Kind,
    /// Its size; that of a request is [`crate::model::HostModel::control_bytes`].
    pub(crate) bytes: u64,
    /// What the program calls it.
    pub(crate) token: u64,
    /// When the program sent it.
    pub(crate) born: Time,
}

/// A packet. It is in the input buffer of a virtual channel, or on the way to it.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) label: Label,
    pub(crate) route: Route,
    /// Of the route's steps, the next one to take.
    pub(crate) hop: u16,
    /// The virtual channel that it is in, or enters next.
    pub(crate) vc: u32,
    /// Bytes on the wire, with the header.
    pub(crate) bytes: u32,
    /// Of the message.
    pub(crate) payload: u32,
    /// When its tail may leave the router that it is in.
    pub(crate) tail: Time,
    /// When its first bit left the host.
    pub(crate) injected: Time,
    /// The next one in the buffer.
    pub(crate) next: u32,
    /// Where it wants to go, once it is at the head of its buffer.
    pub(crate) out: u32,
    /// The class, or [`crate::adaptive::RESERVED`] and a virtual channel.
    pub(crate) out_class: u32,
    /// What adaptive routing remembers.
    pub(crate) way: Way,
}

/// No packet.
pub(crate) const NONE: u32 = u32::MAX;

/// Packets under way, by number.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    all: Vec<Packet>,
    free: Vec<u32>,
}

impl Packets {
    pub(crate) fn add(&mut self, packet: Packet) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.all[at as usize] = packet;
                at
            }
            None => {
                self.all.push(packet);
                self.all.len() as u32 - 1
            }
        }
    }

    /// The number may be used again; what it stood for is still there until then.
    pub(crate) fn remove(&mut self, at: u32) {
        self.free.push(at);
    }

    #[inline]
    pub(crate) fn get(&self, at: u32) -> &Packet {
        &self.all[at as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: u32) -> &mut Packet {
        &mut self.all[at as usize]
    }

    pub(crate) fn under_way(&self) -> usize {
        self.all.len() - self.free.len()
    }
}
