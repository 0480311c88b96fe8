//! What a shard knows of channels and buffers: what is needed at the same time is in the same cache line. At millions of
//! events a second the simulator waits for memory more than for anything else.

use super::Shard;
use crate::fabric::{Channel, Fabric};
use crate::time::{NEVER, Rate, Time};
use bincode::{Decode, Encode};

/// Which inputs ask for a channel: a bit for each. Those of nearly all routers need no memory of their own.
#[derive(Clone, Debug, Encode, Decode)]
pub(crate) enum Requests {
    Few([u64; 2]),
    Many(Box<[u64]>),
}

impl Requests {
    fn new(words: usize) -> Self {
        if words <= 2 { Requests::Few([0; 2]) } else { Requests::Many(vec![0; words].into()) }
    }

    #[inline]
    pub(super) fn words(&self) -> &[u64] {
        match self {
            Requests::Few(words) => words,
            Requests::Many(words) => words,
        }
    }

    #[inline]
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        match self {
            Requests::Few(words) => words,
            Requests::Many(words) => words,
        }
    }
}

/// A channel, at its sending end: all that decides whether it sends.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Output {
    pub(super) busy_until: Time,
    /// When it wakes up.
    pub(super) wake_at: Time,
    pub(super) requests: Requests,
    /// How many they are, or messages at a host.
    pub(crate) waiting: u32,
    /// The input that was served last.
    pub(super) last: u32,
    /// As in [`Fabric`]: where the inputs of its router begin.
    pub(super) first_input: u32,
    /// As in [`Channel`].
    pub(super) first_vc: u32,
    pub(super) to: u32,
    pub(super) stride: u16,
    /// On the list of those that are looked at.
    pub(super) touched: bool,
    /// Where it begins and ends: [`INJECTS`], [`EJECTS`].
    ends: u8,
}

/// In a host's memory.
const INJECTS: u8 = 1;
const EJECTS: u8 = 2;

impl Output {
    pub(super) fn new(fabric: &Fabric, channel: &Channel) -> Self {
        let &Channel { from, to, injects, ejects, first_vc, stride, .. } = channel;
        Self {
            busy_until: 0,
            wake_at: NEVER,
            requests: Requests::new(fabric.words_of(from) as usize),
            waiting: 0,
            last: 0,
            first_input: fabric.first_input[from as usize],
            first_vc,
            to,
            stride: stride as u16,
            touched: false,
            ends: if injects { INJECTS } else { 0 } | if ejects { EJECTS } else { 0 },
        }
    }

    #[inline]
    pub(super) fn injects(&self) -> bool {
        self.ends & INJECTS != 0
    }

    #[inline]
    pub(super) fn ejects(&self) -> bool {
        self.ends & EJECTS != 0
    }
}

/// A channel, to a packet that is sent.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(super) struct Wire {
    pub(super) rate: Rate,
    pub(super) latency: Time,
    /// What was put on it, and for how long it was busy.
    pub(super) bytes: u64,
    pub(super) busy: Time,
}

impl Wire {
    pub(super) fn new(channel: &Channel) -> Self {
        Self { rate: channel.rate, latency: channel.latency, bytes: 0, busy: 0 }
    }

    /// What was put on it, and for how long it was busy.
    pub(super) fn traffic(&self) -> (u64, Time) {
        (self.bytes, self.busy)
    }
}

/// A channel, at its receiving end.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(super) struct Input {
    /// Until when its buffers cannot be read.
    pub(super) reading_until: Time,
    /// As in [`Channel`].
    pub(super) latency: Time,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) injects: bool,
    pub(super) ejects: bool,
}

impl Input {
    pub(super) fn new(channel: &Channel) -> Self {
        let &Channel { latency, from, to, injects, ejects, .. } = channel;
        Self { reading_until: 0, latency, from, to, injects, ejects }
    }
}

/// A virtual channel at its end: the buffer.
#[derive(Clone, Copy, Debug, Encode, Decode)]
#[repr(align(32))]
pub(super) struct Buffer {
    /// Of the packet at the head, once it asks.
    pub(super) asks: Asks,
    /// Packets.
    pub(super) head: u32,
    pub(super) tail: u32,
    /// As in [`Fabric`].
    pub(super) bit: u32,
    pub(super) channel: u32,
}

/// What a packet asks for.
#[derive(Clone, Copy, Debug, Default, Encode, Decode)]
pub(super) struct Asks {
    /// Not to be sent before, or its tail would be late.
    pub(super) starts: Time,
    pub(super) bytes: u32,
    /// The class, or [`crate::adaptive::RESERVED`] and a virtual channel.
    pub(super) class: u32,
}

/// What changes of a channel: when it is busy until and wakes up; its requests, how many they are and who was served last;
/// what was put on it; and until when it is read.
pub(super) type Saved = Vec<((Time, Time), (Requests, u32, u32), (u64, Time), Time)>;

/// All channels, for a checkpoint.
pub(super) fn save(shard: &Shard<'_>) -> Saved {
    let ends = shard.outputs.iter().zip(&shard.wires).zip(&shard.inputs);
    let save = |((output, wire), input): ((&Output, &Wire), &Input)| {
        let &Output { busy_until, wake_at, waiting, last, .. } = output;
        ((busy_until, wake_at), (output.requests.clone(), waiting, last), wire.traffic(), input.reading_until)
    };
    ends.map(save).collect()
}

/// What [`save`] has written, of as many channels.
pub(super) fn restore(shard: &mut Shard<'_>, saved: Saved) {
    for (i, (times, requests, traffic, reading_until)) in saved.into_iter().enumerate() {
        let output = &mut shard.outputs[i];
        (output.busy_until, output.wake_at) = times;
        (output.requests, output.waiting, output.last) = requests;
        if let Some(demand) = shard.demand.get_mut(i) {
            *demand = output.waiting;
        }
        (shard.wires[i].bytes, shard.wires[i].busy) = traffic;
        shard.inputs[i].reading_until = reading_until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_at_once_is_in_one_cache_line() {
        assert_eq!((size_of::<Output>(), size_of::<Wire>()), (64, 32));
        assert_eq!((size_of::<Input>(), size_of::<Buffer>()), (32, 32));
    }
}
