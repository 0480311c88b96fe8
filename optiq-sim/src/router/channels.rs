//! What a shard knows of channels and buffers: what is needed at the same time is in the same cache line. At millions of
//! events a second the simulator waits for memory more than for anything else.

use crate::router::fabric::{Channel, Fabric};
use crate::time::{Rate, Time};
use bincode::{Decode, Encode};

/// Which inputs request a channel: a bit for each. Those of nearly all routers need no memory of their own.
#[derive(Clone, Debug, Encode, Decode)]
pub(crate) enum RequestSet {
    Few([u64; 2]),
    Many(Box<[u64]>),
}

impl RequestSet {
    fn new(words: usize) -> Self {
        if words <= 2 { RequestSet::Few([0; 2]) } else { RequestSet::Many(vec![0; words].into()) }
    }

    #[inline]
    pub(crate) fn words(&self) -> &[u64] {
        match self {
            RequestSet::Few(words) => words,
            RequestSet::Many(words) => words,
        }
    }

    #[inline]
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        match self {
            RequestSet::Few(words) => words,
            RequestSet::Many(words) => words,
        }
    }
}

/// A channel, at its sending end: all that decides whether it sends.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Output {
    pub(crate) busy_until: Time,
    /// When it wakes up.
    pub(crate) wake_at: Time,
    pub(crate) requests: RequestSet,
    /// How many they are, or messages at a host.
    pub(crate) waiting: u32,
    /// The input that was served last.
    pub(crate) last: u32,
    /// As in [`Fabric`]: where the inputs of its router begin.
    pub(crate) first_input: u32,
    /// As in [`Channel`].
    pub(crate) first_vc: u32,
    pub(crate) to: u32,
    pub(crate) stride: u16,
    /// On the list of those that are looked at.
    pub(crate) touched: bool,
    /// Where it begins and ends: [`INJECTS`], [`EJECTS`].
    ends: u8,
}

/// In a host's memory.
const INJECTS: u8 = 1;
const EJECTS: u8 = 2;

impl Output {
    pub(crate) fn new(fabric: &Fabric, channel: &Channel) -> Self {
        let &Channel { from, to, injects, ejects, first_vc, stride, .. } = channel;
        Self {
            busy_until: Time::ZERO,
            wake_at: Time::NEVER,
            requests: RequestSet::new(fabric.words_of(from) as usize),
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
    pub(crate) fn injects(&self) -> bool {
        self.ends & INJECTS != 0
    }

    #[inline]
    pub(crate) fn ejects(&self) -> bool {
        self.ends & EJECTS != 0
    }
}

/// A channel, to a packet that is sent.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(crate) struct Wire {
    pub(crate) rate: Rate,
    pub(crate) latency: Time,
    /// What was put on it, and for how long it was busy.
    pub(crate) bytes: u64,
    pub(crate) busy: Time,
}

impl Wire {
    pub(crate) fn new(channel: &Channel) -> Self {
        Self { rate: channel.rate, latency: channel.latency, bytes: 0, busy: Time::ZERO }
    }

    /// What was put on it, and for how long it was busy.
    pub(crate) fn traffic(&self) -> (u64, Time) {
        (self.bytes, self.busy)
    }
}

/// A channel, at its receiving end.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(crate) struct Input {
    /// Until when its buffers cannot be read.
    pub(crate) reading_until: Time,
    /// As in [`Channel`].
    pub(crate) latency: Time,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) injects: bool,
    pub(crate) ejects: bool,
}

impl Input {
    pub(crate) fn new(channel: &Channel) -> Self {
        let &Channel { latency, from, to, injects, ejects, .. } = channel;
        Self { reading_until: Time::ZERO, latency, from, to, injects, ejects }
    }
}

/// What a router that chooses sees of one of its channels besides the credits. Routers look at many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// As [`Output::waiting`].
    pub(crate) requests: u32,
    /// The buffer of each virtual channel at the other end, in bytes.
    pub(crate) buffer: u32,
}

impl Demand {
    pub(crate) fn new(channel: &Channel) -> Self {
        Self { requests: 0, buffer: u32::try_from(channel.buffer).unwrap_or(u32::MAX) }
    }
}

/// A virtual channel at its end: the buffer.
#[derive(Clone, Copy, Debug, Encode, Decode)]
#[repr(align(32))]
pub(crate) struct Buffer {
    /// Of the packet at the head, once it has one.
    pub(crate) request: Request,
    /// Packets.
    pub(crate) head: u32,
    pub(crate) tail: u32,
    /// As in [`Fabric`].
    pub(crate) bit: u32,
    pub(crate) channel: u32,
}

/// What a packet requests.
#[derive(Clone, Copy, Debug, Default, Encode, Decode)]
pub(crate) struct Request {
    /// The packet must not start before, or its tail would be late.
    pub(crate) starts: Time,
    pub(crate) bytes: u32,
    /// The class, or [`crate::router::adaptive::router_view::RESERVED`] and a virtual channel.
    pub(crate) class: u32,
}

/// What changes of a channel: when it is busy until and wakes up; its requests, how many they are and who was served last;
/// what was put on it; and until when it is read.
pub(crate) type SavedChannels = Vec<((Time, Time), (RequestSet, u32, u32), (u64, Time), Time)>;

/// All channels, for a checkpoint.
pub(crate) fn save(outputs: &[Output], wires: &[Wire], inputs: &[Input]) -> SavedChannels {
    let ends = outputs.iter().zip(wires).zip(inputs);
    let save = |((output, wire), input): ((&Output, &Wire), &Input)| {
        let &Output { busy_until, wake_at, waiting, last, .. } = output;
        ((busy_until, wake_at), (output.requests.clone(), waiting, last), wire.traffic(), input.reading_until)
    };
    ends.map(save).collect()
}

/// What [`save`] has written, of as many channels.
pub(crate) fn restore(outputs: &mut [Output], wires: &mut [Wire], inputs: &mut [Input], saved: SavedChannels) {
    let ends = outputs.iter_mut().zip(wires).zip(inputs);
    for (((output, wire), input), (times, requests, traffic, reading_until)) in ends.zip(saved) {
        (output.busy_until, output.wake_at) = times;
        (output.requests, output.waiting, output.last) = requests;
        (wire.bytes, wire.busy) = traffic;
        input.reading_until = reading_until;
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
