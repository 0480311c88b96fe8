//! Packets on channels, and where they arrive.

use super::state::{ARRIVAL, Remote, Shard, SwitchDesign};
use crate::engine::observer::{MarkedEvent, Observation};
use crate::engine::packet::{Message, Packet, PacketKind};
use crate::engine::queue::Event;
use crate::engine::store::NONE;
use crate::model::Switching;
use crate::time::Time;

impl<O: Observation> Shard<'_, O> {
    /// Puts a packet on a channel, now; how long that takes.
    pub(super) fn transmit(&mut self, channel: u32, at: u32, lane: u32) -> Time {
        self.transmit_from(self.now, channel, at, lane)
    }

    /// As [`Shard::transmit`], from a time on that is not before now.
    pub(super) fn transmit_from(&mut self, start: Time, channel: u32, at: u32, lane: u32) -> Time {
        if !self.outputs[channel as usize].ejects() {
            self.credits.spend(lane, self.packets.get(at).bytes);
        }
        self.put_on_wire(start, channel, at, lane)
    }

    /// As [`Shard::transmit_from`], of a packet that has its credits.
    #[inline(always)]
    pub(super) fn put_on_wire(&mut self, start: Time, channel: u32, at: u32, lane: u32) -> Time {
        let output = &self.outputs[channel as usize];
        let (ejects, to) = (output.ejects(), output.to);
        let wire = &mut self.wires[channel as usize];
        // At least a picosecond, so that no two packets arrive at one time.
        let packet = self.packets.get_mut(at);
        let (bytes, job, mark) = (packet.bytes, packet.job, packet.mark);
        let takes = wire.rate.time(u64::from(bytes)).max(Time::PICOSECOND);
        wire.bytes += u64::from(bytes);
        wire.busy += takes;
        packet.vc = lane;
        packet.next = NONE;
        if packet.advance() && self.adaptive.is_none() {
            packet.follow(&self.messages.get(packet.message).route);
        }
        let head = start + wire.latency;
        let time = if ejects {
            head + takes
        } else {
            let delay = Time::picoseconds(self.model.router.delay_picoseconds);
            packet.tail = head + takes + delay;
            match self.model.router.switching {
                Switching::CutThrough => head + delay,
                Switching::StoreAndForward => packet.tail,
            }
        };
        self.outputs[channel as usize].busy_until = start + takes;
        if let Some(observer) = self.observer.observer() {
            observer.sent(channel, start, bytes, job);
            if mark > 0 {
                let label = &self.messages.get(self.packets.get(at).message).label;
                observer.marked(MarkedEvent::Left { slot: at, label, mark, channel }, start);
            }
        }
        if self.owns(to) {
            self.queue.push(Event { time, key: u64::from(channel) << 32 | ARRIVAL, payload: at });
        } else {
            let packet = self.packets.get(at).clone();
            self.packets.remove(at);
            let message = Message { uses: 1, ..self.messages.get(packet.message).clone() };
            self.release(packet.message);
            let owner = usize::from(self.owner[to as usize]);
            self.outboxes[owner].push(Remote::Arrival { time, channel, packet: Box::new((packet, message)) });
        }
        takes
    }

    /// A packet is at the end of a channel: in a buffer, from where it may leave, or in memory.
    pub(super) fn arrive(&mut self, channel: u32, at: u32) {
        if self.inputs[channel as usize].ejects {
            return self.arrive_in_memory(channel, at);
        }
        if self.design == SwitchDesign::OutputQueues {
            return self.line_up(channel, at);
        }
        let &Packet { vc, bytes, mark, .. } = self.packets.get(at);
        let waiting_bytes = if O::ON && mark > 0 { self.bytes_in(vc) } else { 0 };
        if let Some(observer) = self.observer.observer() {
            if mark > 0 {
                observer.marked(MarkedEvent::Arrived { slot: at, vc, bytes, waiting_bytes }, self.now);
            }
            observer.buffer_changed(vc, self.now, i64::from(bytes));
        }
        let buffer = &mut self.buffers[vc as usize];
        if buffer.head == NONE {
            (buffer.head, buffer.tail) = (at, at);
            self.request(channel, vc);
        } else {
            let last = std::mem::replace(&mut buffer.tail, at);
            self.packets.get_mut(last).next = at;
        }
    }

    /// What waits in the buffer of a virtual channel.
    fn bytes_in(&self, vc: u32) -> u32 {
        let next = |at: &u32| Some(self.packets.get(*at).next).filter(|&next| next != NONE);
        let first = Some(self.buffers[vc as usize].head).filter(|&head| head != NONE);
        std::iter::successors(first, next).map(|at| self.packets.get(at).bytes).sum()
    }

    pub(super) fn arrive_in_memory(&mut self, channel: u32, at: u32) {
        let &Packet { message, bytes, injected, mark, .. } = self.packets.get(at);
        self.packets.remove(at);
        let label = self.messages.get(message).label;
        self.release(message);
        let payload = u64::from(bytes).saturating_sub(self.model.link.header_bytes).min(label.bytes);
        let of_program = matches!(label.kind, PacketKind::Data | PacketKind::Confirmed | PacketKind::Put);
        let delivered = if of_program { payload } else { 0 };
        let latency = (!label.warms_up).then_some(self.now - injected);
        self.counters.delivered(delivered, latency);
        if let Some(observer) = self.observer.observer() {
            observer.delivered(label.job, self.now, delivered, latency);
            if mark > 0 {
                observer.marked(MarkedEvent::Reached { label: &label, mark, channel, bytes }, self.now);
            }
        }
        if self.hosts.is_complete(&label, payload) {
            self.message_complete(label);
        }
    }

    /// One use of a message less.
    pub(super) fn release(&mut self, message: u32) {
        let uses = &mut self.messages.get_mut(message).uses;
        *uses -= 1;
        if *uses == 0 {
            self.messages.remove(message);
        }
    }
}
