//! Routers with a clock ([`crate::model::Pipeline`]): the input-queued virtual-channel router of Dally and Towles's book, in
//! the way of BookSim's `iq` router.
//!
//! # Steps
//!
//! A packet at the head of its input buffer, once all of the one before it has left, goes through these stages, each a step
//! of the router's clock:
//!
//! 1. routing, if it takes steps;
//! 2. allocation of a virtual channel of the next buffer, of those of its class that no packet holds. Whether that buffer has
//!    room is not asked. Into memory they are needed as well: those of the class that the packet has by then, and any where
//!    hosts are joined directly;
//! 3. allocation of the switch, if the buffer has room. An input and an output take part in one packet at a time. The virtual
//!    channel is free for others again when the tail has passed;
//! 4. the switch, into a queue of no limit at the output.
//!
//! Stages 2 and 3 are repeated until they succeed. So packets in one buffer follow each other no closer than stages 1 to 3,
//! and so do packets that take one virtual channel. In the default model ([`Shard::grant`]) they follow each other without a
//! gap, and an output with anything to send never waits.
//!
//! Allocation is for all inputs and outputs of a router at once, in two arbitrations by turns, whose pointers move on where
//! both agree; a router tries once a step. What is unmatched then waits for the next one.
//!
//! # Time
//!
//! Links run in cycles of `speedup` steps. A flit that is granted the switch in a step is through it at the end of the next
//! one, and on the link in the cycle that ends then: the link's time for a flit is that of the last step in the switch. So
//! BookSim counts, too. Packets of several flits keep a switch until their tail is through; BookSim arbitrates for each flit.

use super::Shard;
use super::channels::Asks;
use crate::checkpoint;
use crate::fabric::Fabric;
use crate::model::{Allocator, Model};
use crate::packet::NONE;
use crate::time::{NEVER, Time};
use bincode::{Decode, Encode};

/// A buffer's place in the pipeline.
#[derive(Clone, Copy, Debug, Decode, Encode)]
struct Stage {
    /// When all of the packet before has left.
    free_at: Time,
    /// From when on the packet at the head may ask for a virtual channel; never, if it was not looked at.
    asks_at: Time,
    /// The virtual channel that it holds, and since when.
    lane: u32,
    since: Time,
}

/// The state of all routers with a clock.
#[derive(Clone, Debug)]
pub(super) struct Pipelines {
    cycle: Time,
    step: Time,
    /// Per router: its outputs, and when it last made a step.
    outputs: Vec<Vec<u32>>,
    stepped: Vec<Time>,
    /// Per virtual channel, as an input buffer.
    stages: Vec<Stage>,
    /// Per virtual channel, as the next buffer: from when on it can be held.
    held_until: Vec<Time>,
    /// Per channel, as an input and as an output: until when the switch is in use.
    read_until: Vec<Time>,
    switch_until: Vec<Time>,
    channels: Turns,
    switch: Turns,
    /// Per input channel: whose turn it is of its buffers that ask for the same output.
    buffer_turn: Vec<u32>,
    /// Of the router at hand: what asks for virtual channels as (buffer, virtual channel), and for the switch as (input,
    /// output), with the buffer.
    asks: Vec<(u32, u32)>,
    crossings: Vec<(u32, u32, u32)>,
}

/// Pointers of the arbiters on both sides.
#[derive(Clone, Debug, Decode, Encode)]
struct Turns {
    of_input: Vec<u32>,
    of_output: Vec<u32>,
}

/// Of several that ask, the first one from a pointer on, around.
fn turn(pointer: u32, asking: u32) -> (bool, u32) {
    (asking < pointer, asking)
}

impl Turns {
    fn new(inputs: usize, outputs: usize) -> Self {
        Self { of_input: vec![0; inputs], of_output: vec![0; outputs] }
    }

    /// Of pairs of (input, output) that ask for each other, leaves those that are matched.
    fn allocate(&mut self, allocator: Allocator, pairs: &mut Vec<(u32, u32)>) {
        let (of_input, of_output) = (&mut self.of_input, &mut self.of_output);
        match allocator {
            Allocator::SeparableInputFirst => {
                pairs.sort_unstable_by_key(|&(i, o)| (i, turn(of_input[i as usize], o)));
                pairs.dedup_by_key(|p| p.0);
                pairs.sort_unstable_by_key(|&(i, o)| (o, turn(of_output[o as usize], i)));
                pairs.dedup_by_key(|p| p.1);
            }
            Allocator::Islip => {
                pairs.sort_unstable_by_key(|&(i, o)| (o, turn(of_output[o as usize], i)));
                pairs.dedup_by_key(|p| p.1);
                pairs.sort_unstable_by_key(|&(i, o)| (i, turn(of_input[i as usize], o)));
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
    pub(super) fn new(fabric: &Fabric, model: &Model) -> Option<Self> {
        let pipeline = model.router.pipeline.as_ref()?;
        let (channels, vcs) = (fabric.channels.len(), fabric.channel_of_vc.len());
        let mut outputs = vec![Vec::new(); fabric.vertices as usize];
        for (i, channel) in fabric.channels.iter().enumerate().filter(|(_, c)| !c.injects) {
            outputs[channel.from as usize].push(i as u32);
        }
        Some(Self {
            cycle: pipeline.cycle_picoseconds,
            step: pipeline.cycle_picoseconds / u64::from(pipeline.speedup),
            outputs,
            stepped: vec![NEVER; fabric.vertices as usize],
            stages: vec![Stage { free_at: 0, asks_at: NEVER, lane: NONE, since: 0 }; vcs],
            held_until: vec![0; vcs],
            read_until: vec![0; channels],
            switch_until: vec![0; channels],
            channels: Turns::new(vcs, vcs),
            switch: Turns::new(channels, channels),
            buffer_turn: vec![0; channels],
            asks: Vec::new(),
            crossings: Vec::new(),
        })
    }

    /// For a checkpoint.
    pub(super) fn save(&self) -> Vec<u8> {
        let Self { stepped, stages, held_until, read_until, switch_until, channels, switch, buffer_turn, .. } = self;
        let times = (stepped, stages, held_until, read_until, switch_until);
        checkpoint::encode(&(times, (channels, switch, buffer_turn)))
    }

    /// What [`Pipelines::save`] has written.
    pub(super) fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let (times, turns) = checkpoint::decode(state)?;
        (self.stepped, self.stages, self.held_until, self.read_until, self.switch_until) = times;
        (self.channels, self.switch, self.buffer_turn) = turns;
        Ok(())
    }
}

impl Shard<'_> {
    /// The router at the beginning of a channel makes a step, unless it has made one at this time already, or it is not the
    /// time for one; and it makes another one as long as something waits there.
    pub(super) fn step(&mut self, channel: u32) {
        let Some(mut p) = self.pipelines.take() else { return };
        let Some(model) = &self.model.router.pipeline else { return };
        let router = self.fabric.channels[channel as usize].from;
        let now = self.now;
        if now.is_multiple_of(p.step) && p.stepped[router as usize] != now {
            p.stepped[router as usize] = now;
            self.step_router(&mut p, router, model.allocator, u64::from(model.routing_steps));
        }
        let outputs = &p.outputs[router as usize];
        if outputs.iter().any(|&o| self.outputs[o as usize].waiting > 0) {
            // One wake-up for all of them.
            self.wake(outputs[0], (now / p.step + 1) * p.step);
        }
        self.pipelines = Some(p);
    }

    fn step_router(&mut self, p: &mut Pipelines, router: u32, allocator: Allocator, routing: u64) {
        let now = self.now;
        let first_input = self.fabric.first_input[router as usize];
        let words = self.fabric.words_of(router);
        p.asks.clear();
        p.crossings.clear();
        for i in 0..p.outputs[router as usize].len() {
            let output = p.outputs[router as usize][i];
            if self.outputs[output as usize].waiting == 0 {
                continue;
            }
            let info = self.fabric.channels[output as usize];
            for word in 0..words {
                let mut set = self.outputs[output as usize].requests.words()[word as usize];
                while set != 0 {
                    let vc = self.fabric.inputs[(first_input + word * 64 + set.trailing_zeros()) as usize];
                    set &= set - 1;
                    let stage = &mut p.stages[vc as usize];
                    if stage.asks_at == NEVER {
                        stage.asks_at = stage.free_at.max(now) + routing * p.step;
                    }
                    let Asks { bytes, class, .. } = self.buffers[vc as usize].asks;
                    if stage.lane == NONE {
                        if stage.asks_at > now {
                            continue;
                        }
                        let lanes = if info.ejects && self.fabric.direct {
                            info.first_vc..info.first_vc + info.vcs
                        } else {
                            let first = info.class(class, self.fabric.lanes);
                            first..first + self.fabric.lanes
                        };
                        p.asks.extend(lanes.filter(|&l| p.held_until[l as usize] <= now).map(|lane| (vc, lane)));
                    } else if stage.since < now {
                        let (lane, input) = (stage.lane, self.fabric.channel_of_vc[vc as usize]);
                        let free = p.read_until[input as usize] <= now && p.switch_until[output as usize] <= now;
                        if free && (info.ejects || self.free(lane) >= bytes) {
                            p.crossings.push((input, output, vc));
                        }
                    }
                }
            }
        }
        p.channels.allocate(allocator, &mut p.asks);
        for &(vc, lane) in &p.asks {
            let stage = &mut p.stages[vc as usize];
            (stage.lane, stage.since) = (lane, now);
            p.held_until[lane as usize] = NEVER;
        }
        // Of the buffers of an input that ask for one output, one takes part.
        p.crossings.sort_unstable_by_key(|&(i, o, vc)| (i, o, turn(p.buffer_turn[i as usize], vc)));
        p.crossings.dedup_by_key(|c| (c.0, c.1));
        p.asks.clear();
        p.asks.extend(p.crossings.iter().map(|c| (c.0, c.1)));
        p.switch.allocate(allocator, &mut p.asks);
        for i in 0..p.asks.len() {
            let (input, output) = p.asks[i];
            let Ok(at) = p.crossings.binary_search_by_key(&(input, output), |c| (c.0, c.1)) else { continue };
            let vc = p.crossings[at].2;
            p.buffer_turn[input as usize] = vc + 1;
            self.cross(p, input, output, vc);
        }
    }

    /// The packet at the head of a buffer crosses the switch.
    fn cross(&mut self, p: &mut Pipelines, input: u32, output: u32, vc: u32) {
        let now = self.now;
        let head = self.buffers[vc as usize].head;
        let lane = p.stages[vc as usize].lane;
        self.withdraw(output, self.buffers[vc as usize].bit);
        let packet = self.packets.get(head);
        let (next, bytes, tail) = (packet.next, packet.bytes, packet.tail);
        let buffer = &mut self.buffers[vc as usize];
        buffer.head = next;
        if next == NONE {
            buffer.tail = NONE;
        }
        let (from, to) = (self.fabric.channels[input as usize], self.fabric.channels[output as usize]);
        let takes = to.rate.time(u64::from(bytes)) * p.step / p.cycle;
        // The step in which the tail is read: not before it has arrived, a cycle before it could leave.
        let last = (now + takes.saturating_sub(p.step)).max(tail.saturating_sub(p.cycle));
        p.read_until[input as usize] = now + takes.max(p.step);
        p.switch_until[output as usize] = now + takes.max(p.step);
        p.held_until[lane as usize] = last + p.step;
        p.stages[vc as usize] = Stage { free_at: last + p.step, asks_at: NEVER, lane: NONE, since: 0 };
        let through = (now + 2 * p.step).next_multiple_of(p.cycle).max(p.cycle);
        let start = (through - p.cycle).max(now).max(self.outputs[output as usize].busy_until);
        self.transmit_from(start, output, head, lane);
        let delay = self.model.router.pipeline.as_ref().map_or(0, |m| m.credit_delay_picoseconds);
        self.give_back(vc, last / p.cycle * p.cycle + p.cycle + from.latency + delay, bytes);
        if next != NONE {
            self.freed.push(vc);
        }
    }
}
