//! Switches whose packets wait at their outputs ([`Queues::Outputs`](crate::model::Queues)).
//!
//! With queues at inputs a packet that cannot leave holds all back that came behind it, wherever these go, and an output
//! serves inputs, not packets: a packet alone at its input is served next, however many wait at others. Here, as a packet
//! comes to a switch it is told its output, and is put in line there:
//!
//! ```text
//!     line of (output o, virtual channel v)   packets for v in the order in which they came
//!     queue of output o                       packets that hold credits of their virtual channel, in the order in which they got them
//!
//!     a packet at the head of its line gets credits as soon as the buffer at the other end of o has space for it;
//!     then the buffer that it came into is free again, and its credits return;
//!     o sends its queue, one packet after the other
//! ```
//!
//! So the buffer of a virtual channel holds what is in the queue of its output, what is on the wire, and what waits in lines
//! of the next switch. It is CODES's switch (`switch_packet_receive`, `switch_packet_send` and `switch_buf_update` of
//! `src/networks/model-net/fattree.c`, and the same of routers in `dragonfly-plus.cxx`, github.com/codes-org/codes; there
//! `queued_msgs` are the lines, `pending_msgs` the queues, `vc_occupancy` the credits), with three differences: a credit takes
//! its link's latency to return, there that of its own few bytes; packets of two virtual channels of an output are sent in the
//! order in which they got credits, in dragonflies there those of the lower one first; and hosts serve their messages in turn.
//!
//! Memory has no credits elsewhere, as it takes what arrives. Here it has: a switch would otherwise swallow what an incast sends.
//! They return when a packet is there.
//!
//! *No deadlock is new.* A packet in a line holds space in the buffer that it came into and waits for space in one other, as
//! at the head of an input; a packet in a queue waits for nothing. What has reserved space does not stand in line.

use super::state::Shard;
use crate::engine::observer::{MarkedEvent, Observation};
use crate::engine::packet::Packet;
use crate::engine::store::NONE;
use crate::model::Switching;
use crate::router::adaptive::router_view::RESERVED;
use crate::router::channels::Output;
use crate::router::output_queues::OutputQueues;
use crate::time::Time;

impl<O: Observation> Shard<'_, O> {
    /// A packet has come to a switch by a channel: it gets in line at its output.
    pub(super) fn line_up(&mut self, channel: u32, at: u32) {
        let &Packet { vc, bytes, mark, .. } = self.packets.get(at);
        let (out, class) = self.next_channel(channel, at);
        let output = &mut self.outputs[out as usize];
        let reserved = class & RESERVED != 0;
        let to = match (reserved, output.ejects()) {
            (true, _) => class & !RESERVED,
            (false, true) => output.first_vc,
            (false, false) => output.first_vc + class * u32::from(output.stride),
        };
        output.waiting += 1;
        if let Some(demand) = self.demand.get_mut(out as usize) {
            demand.requests += 1;
        }
        let Some(OutputQueues { lines, queues }) = self.output_queues.as_deref_mut() else { return };
        if let Some(observer) = self.observer.observer() {
            if mark > 0 {
                let waiting_bytes = lines[to as usize].bytes(&self.packets) + queues[out as usize].bytes(&self.packets);
                observer.marked(MarkedEvent::Arrived { slot: at, vc, bytes, waiting_bytes }, self.now);
            }
            observer.buffer_changed(vc, self.now, i64::from(bytes));
        }
        if reserved {
            self.credits.release(to, bytes);
            self.move_to_queue(out, to, at);
        } else {
            lines[to as usize].push(at, &mut self.packets);
        }
        self.touch(out);
    }

    /// A packet gets credits of the next virtual channel, and gives back those of the one that it came by.
    fn move_to_queue(&mut self, channel: u32, to: u32, at: u32) {
        let packet = self.packets.get_mut(at);
        let (from, bytes, tail) = (std::mem::replace(&mut packet.vc, to), packet.bytes, packet.tail);
        self.credits.spend(to, bytes);
        // Its tail may still be on the wire.
        let arrived = self.now.max(tail.saturating_sub(Time::picoseconds(self.model.router.delay_picoseconds)));
        let latency = self.inputs[self.buffers[from as usize].channel as usize].latency;
        self.give_back(from, arrived + latency, bytes);
        // Routers that choose see it in the credits now.
        if let Some(demand) = self.demand.get_mut(channel as usize) {
            demand.requests -= 1;
        }
        if let Some(queues) = &mut self.output_queues {
            queues.queues[channel as usize].push(at, &mut self.packets);
        }
    }

    /// What waits at a channel moves on: packets of its lines into its queue, and the first of that onto the wire. If one has to
    /// wait for a time that is known, the channel wakes up then.
    pub(super) fn move_on(&mut self, channel: u32) {
        let &Output { first_vc, stride, busy_until, .. } = &self.outputs[channel as usize];
        let mut soonest = Time::NEVER;
        for to in (0..self.fabric.channels[channel as usize].vcs).map(|class| first_vc + class * u32::from(stride)) {
            while let Some(at) = self.output_queues.as_ref().map(|q| q.lines[to as usize].head).filter(|&at| at != NONE)
            {
                let (when, _) = self.credits.ready(to, self.packets.get(at).bytes, self.now);
                if when > self.now {
                    soonest = soonest.min(when);
                    break;
                }
                if let Some(queues) = &mut self.output_queues {
                    queues.lines[to as usize].pop(&self.packets);
                }
                self.move_to_queue(channel, to, at);
            }
        }
        let first = self.output_queues.as_ref().map_or(NONE, |q| q.queues[channel as usize].head);
        if first != NONE {
            let &Packet { tail, bytes, vc, .. } = self.packets.get(first);
            let starts = match self.model.router.switching {
                Switching::CutThrough => tail.saturating_sub(self.wires[channel as usize].rate.time(u64::from(bytes))),
                Switching::StoreAndForward => tail,
            };
            let ready = starts.max(busy_until);
            if ready > self.now {
                soonest = soonest.min(ready);
            } else {
                soonest = soonest.min(self.send_first(channel, first, vc, bytes));
            }
        }
        if soonest < Time::NEVER {
            self.wake(channel, soonest);
        }
    }

    /// Puts the first packet of a channel's queue on the wire; when the next one can be, if there is one.
    fn send_first(&mut self, channel: u32, at: u32, vc: u32, bytes: u32) -> Time {
        let output = &mut self.outputs[channel as usize];
        let ejects = output.ejects();
        output.waiting -= 1;
        let Some(queues) = &mut self.output_queues else { return Time::NEVER };
        queues.queues[channel as usize].pop(&self.packets);
        let more = queues.queues[channel as usize].head != NONE;
        let takes = self.put_on_wire(self.now, channel, at, vc);
        if ejects {
            self.credit(vc, self.now + self.wires[channel as usize].latency + takes, bytes);
        }
        if more { self.now + takes } else { Time::NEVER }
    }
}

#[cfg(test)]
impl<O: Observation> Shard<'_, O> {
    /// As [`Shard::check_wakes`], which calls it.
    pub(super) fn check_outputs_wake(&mut self) {
        for channel in 0..self.fabric.channels.len() as u32 {
            let (waiting, busy_until, wake_at) = self.channel_state(channel);
            let info = self.fabric.channels[channel as usize];
            if info.injects || waiting == 0 {
                continue;
            }
            let mut soonest = Time::NEVER;
            for to in (0..info.vcs).map(|class| info.class(class, 1)) {
                let head = self.output_queues.as_ref().unwrap().lines[to as usize].head;
                if head != NONE {
                    soonest = soonest.min(self.credits.ready(to, self.packets.get(head).bytes, self.now).0);
                }
            }
            assert!(soonest > self.now, "channel {channel} at {:?}: a line could move on", self.now);
            let first = self.output_queues.as_ref().unwrap().queues[channel as usize].head;
            if first != NONE {
                let &Packet { tail, bytes, .. } = self.packets.get(first);
                let takes = self.wires[channel as usize].rate.time(u64::from(bytes));
                let cut_through = self.model.router.switching == Switching::CutThrough;
                let starts = if cut_through { tail.saturating_sub(takes) } else { tail }.max(busy_until);
                assert!(starts > self.now, "channel {channel} at {:?}: its queue could move on", self.now);
                soonest = soonest.min(starts);
            }
            assert!(wake_at <= soonest, "channel {channel} at {:?}: {soonest:?}, wakes up at {wake_at:?}", self.now);
        }
    }
}
