//! Routers with a clock ([`crate::model::Pipeline`]): the input-queued virtual-channel router of Dally and Towles's book,
//! modelled like BookSim's `iq` router.
//!
//! # Steps
//!
//! A packet at the head of its input buffer, once all of the one before it has left, goes through these stages, each a step
//! of the router's clock:
//!
//! 1. routing, if it takes steps;
//! 2. allocation of a virtual channel of the next buffer, of those of its class that no packet holds. The space in
//!    that buffer does not matter. Into memory they are needed as well: those of the class that the packet has by then, and
//!    any where hosts are joined directly;
//! 3. allocation of the switch, if the buffer has space. An input and an output take part in one packet at a time. The virtual
//!    channel is free for others again when the tail has passed;
//! 4. the switch, into a queue of no limit at the output.
//!
//! Stages 2 and 3 are repeated until they succeed. So packets in one buffer follow each other no closer than stages 1 to 3,
//! and so do packets that take one virtual channel. In the default model (`grant` in `shard/arbitration.rs`) they follow each
//! other without a gap, and an output with anything to send never waits.
//!
//! Allocation is for all inputs and outputs of a router at once, in two round robin arbitrations, whose pointers move on where
//! both agree; a router tries once a step. What is unmatched then waits for the next one.
//!
//! # Time
//!
//! Links run in cycles of `speedup` steps. A flit that is granted the switch in a step is through it at the end of the next
//! one, and on the link in the cycle that ends then: the link's time for a flit is that of the last step in the switch. So
//! BookSim counts, too. Packets of several flits keep a switch until their tail is through; BookSim arbitrates for each flit.

use crate::engine::store::NONE;
use crate::model::{Allocator, Model};
use crate::router::fabric::Fabric;
use crate::time::Time;
use bincode::{Decode, Encode};
use optiq_trace::codec;

/// A buffer's place in the pipeline.
#[derive(Clone, Copy, Debug, Decode, Encode)]
pub(crate) struct Stage {
    /// When all of the packet before has left.
    pub(crate) free_at: Time,
    /// When the packet at the head may request a virtual channel; never, if it was not looked at.
    pub(crate) requests_at: Time,
    /// The virtual channel that it holds, and since when.
    pub(crate) lane: u32,
    pub(crate) since: Time,
}

/// The state of all routers with a clock.
#[derive(Clone, Debug)]
pub(crate) struct Pipelines {
    pub(crate) cycle: Time,
    pub(crate) step: Time,
    /// Per router: its outputs, and when it last made a step.
    pub(crate) outputs: Vec<Vec<u32>>,
    pub(crate) stepped: Vec<Time>,
    /// Per virtual channel, as an input buffer.
    pub(crate) stages: Vec<Stage>,
    /// Per virtual channel, as the next buffer: from when on it can be held.
    pub(crate) held_until: Vec<Time>,
    /// Per input and per output, until when the switch is in use. An input is a channel, or, with its number behind those of all channels,
    /// a virtual channel out of memory that is an input of its own.
    pub(crate) read_until: Vec<Time>,
    pub(crate) switch_until: Vec<Time>,
    pub(crate) channels: ArbiterPointers,
    pub(crate) switch: ArbiterPointers,
    /// Per input: the round robin pointer over its buffers that request the same output.
    pub(crate) buffer_pointer: Vec<u32>,
    /// Of the router at hand: requests for virtual channels as (buffer, virtual channel), and for the switch as (input, output),
    /// with the buffer.
    pub(crate) requests: Vec<(u32, u32)>,
    pub(crate) crossings: Vec<(u32, u32, u32)>,
}

/// Pointers of the arbiters on both sides.
#[derive(Clone, Debug, Decode, Encode)]
pub(crate) struct ArbiterPointers {
    of_input: Vec<u32>,
    of_output: Vec<u32>,
}

/// The order in which an arbiter serves requests: from a pointer on, around.
pub(crate) fn round_robin_order(pointer: u32, requesting: u32) -> (bool, u32) {
    (requesting < pointer, requesting)
}

impl ArbiterPointers {
    fn new(inputs: usize, outputs: usize) -> Self {
        Self { of_input: vec![0; inputs], of_output: vec![0; outputs] }
    }

    /// Of requests as pairs of (input, output), leaves those that are matched.
    pub(crate) fn allocate(&mut self, allocator: Allocator, pairs: &mut Vec<(u32, u32)>) {
        let (of_input, of_output) = (&mut self.of_input, &mut self.of_output);
        match allocator {
            Allocator::SeparableInputFirst => {
                pairs.sort_unstable_by_key(|&(i, o)| (i, round_robin_order(of_input[i as usize], o)));
                pairs.dedup_by_key(|p| p.0);
                pairs.sort_unstable_by_key(|&(i, o)| (o, round_robin_order(of_output[o as usize], i)));
                pairs.dedup_by_key(|p| p.1);
            }
            Allocator::Islip => {
                pairs.sort_unstable_by_key(|&(i, o)| (o, round_robin_order(of_output[o as usize], i)));
                pairs.dedup_by_key(|p| p.1);
                pairs.sort_unstable_by_key(|&(i, o)| (i, round_robin_order(of_input[i as usize], o)));
                pairs.dedup_by_key(|p| p.0);
            }
        }
        for &mut (i, o) in pairs {
            of_input[i as usize] = o + 1;
            of_output[o as usize] = i + 1;
        }
    }
}

impl Pipelines {
    pub(crate) fn new(fabric: &Fabric, model: &Model) -> Option<Self> {
        let pipeline = model.router.pipeline.as_ref()?;
        let (channels, vcs) = (fabric.channels.len(), fabric.channel_of_vc.len());
        let inputs = if fabric.queue_per_link { channels + vcs } else { channels };
        let mut outputs = vec![Vec::new(); fabric.vertices as usize];
        for (i, channel) in fabric.channels.iter().enumerate().filter(|(_, c)| !c.injects) {
            outputs[channel.from as usize].push(i as u32);
        }
        let cycle = Time::picoseconds(pipeline.cycle_picoseconds);
        let stage = Stage { free_at: Time::ZERO, requests_at: Time::NEVER, lane: NONE, since: Time::ZERO };
        Some(Self {
            cycle,
            step: cycle / u64::from(pipeline.speedup),
            outputs,
            stepped: vec![Time::NEVER; fabric.vertices as usize],
            stages: vec![stage; vcs],
            held_until: vec![Time::ZERO; vcs],
            read_until: vec![Time::ZERO; inputs],
            switch_until: vec![Time::ZERO; channels],
            channels: ArbiterPointers::new(vcs, vcs),
            switch: ArbiterPointers::new(inputs, channels),
            buffer_pointer: vec![0; inputs],
            requests: Vec::new(),
            crossings: Vec::new(),
        })
    }

    /// The input of a virtual channel.
    #[inline]
    pub(crate) fn input_of(fabric: &Fabric, vc: u32) -> u32 {
        let channel = fabric.channel_of_vc[vc as usize];
        let is_own = fabric.queue_per_link && fabric.channels[channel as usize].injects;
        if is_own { fabric.channels.len() as u32 + vc } else { channel }
    }

    /// For a checkpoint.
    pub(crate) fn save(&self) -> Vec<u8> {
        let Self { stepped, stages, held_until, read_until, switch_until, channels, switch, buffer_pointer, .. } = self;
        let times = (stepped, stages, held_until, read_until, switch_until);
        codec::encode(&(times, (channels, switch, buffer_pointer)))
    }

    /// What [`Pipelines::save`] has written.
    pub(crate) fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let (times, turns) = codec::decode(state)?;
        (self.stepped, self.stages, self.held_until, self.read_until, self.switch_until) = times;
        (self.channels, self.switch, self.buffer_pointer) = turns;
        Ok(())
    }
}
