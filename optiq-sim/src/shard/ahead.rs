//! Asks for memory before it is needed. A simulation of thousands of hosts does not fit into the caches next to a processor,
//! and what an event needs is spread over it; but the next events are known, and fetching does not make a difference to
//! anything but time.
//!
//! What one look finds says where the next one has to be: an arrival's packet has its buffer, the buffer's head is a packet.
//! So each event is looked at three times.

use super::{ARRIVAL, Shard};
use crate::queue::{Event, prefetch};

/// So many events ahead.
const FAR: usize = 16;
const MIDDLE: usize = 10;
const NEAR: usize = 5;

impl Shard<'_> {
    #[inline]
    pub(super) fn look_ahead(&self) {
        if let Some(event) = self.queue.ahead(FAR) {
            self.look_far(event);
        }
        if let Some(event) = self.queue.ahead(MIDDLE) {
            self.look_closer(event);
        }
        if let Some(event) = self.queue.ahead(NEAR) {
            self.look_near(event);
        }
    }

    /// The component itself, and a packet that arrives.
    #[inline]
    fn look_far(&self, Event { key, payload, .. }: Event) {
        let component = (key >> 32) as usize;
        if component >= self.inputs.len() {
            self.hosts.look_ahead((component - self.inputs.len()) as u32, payload);
        } else if key as u32 == ARRIVAL as u32 {
            prefetch(&self.inputs[component]);
            self.packets.peek(payload).map(prefetch);
        } else {
            prefetch(&self.outputs[component]);
        }
    }

    /// Where a packet arrives and what it may ask for; or what is sent when a channel wakes up.
    #[inline]
    fn look_closer(&self, Event { key, payload, .. }: Event) {
        let component = (key >> 32) as usize;
        let Some(input) = self.inputs.get(component) else {
            let host = (component - self.inputs.len()) as u32;
            let channel = self.fabric.first_injection(host);
            prefetch(&self.outputs[channel as usize]);
            return self.hosts.look_closer(host, channel);
        };
        if key as u32 != ARRIVAL as u32 {
            prefetch(&self.wires[component]);
            if self.outputs[component].injects() {
                return self.hosts.look_at_queue(component as u32);
            }
            self.first_asking(component).and_then(|vc| self.buffers.get(vc)).map(prefetch);
            return;
        }
        let Some(packet) = self.packets.peek(payload) else { return };
        if input.ejects {
            if let Some(message) = self.messages.peek(packet.message) {
                prefetch(&message.label);
                prefetch(&message.uses);
            }
            return self.hosts.look_ahead(input.to, u32::MAX);
        }
        self.buffers.get(packet.vc as usize).map(prefetch);
        self.credits.get(packet.vc as usize).map(prefetch);
        let Some(adaptive) = self.adaptive else {
            if packet.needs_route() {
                self.messages.peek(packet.message).map(|message| &message.route).map(prefetch);
            }
            let out = packet.step().channel() as usize;
            self.outputs.get(out).map(prefetch);
            self.wires.get(out).map(prefetch);
            return;
        };
        let ways_out = &self.fabric.ways_out[input.to as usize];
        let class = packet.way.lane() * self.fabric.lanes * ways_out.stride;
        adaptive.likely(input.to, packet.destination(), |channels| {
            // As many as are in a cache line.
            for channel in channels.clone().step_by(4) {
                if let Some(vc) = ways_out.first_vc(channel) {
                    self.credits.get((vc + class) as usize).map(prefetch);
                }
            }
            for channel in channels.clone().step_by(16) {
                self.demand.get(channel as usize).map(prefetch);
            }
            // Of many, one would be needed.
            if channels.len() <= 2 {
                for channel in channels {
                    self.outputs.get(channel as usize).map(prefetch);
                    self.wires.get(channel as usize).map(prefetch);
                }
            }
        });
    }

    /// What sending a packet needs besides.
    #[inline]
    fn look_near(&self, Event { key, payload, .. }: Event) {
        let component = (key >> 32) as usize;
        let Some(input) = self.inputs.get(component) else { return };
        let (out, class) = if key as u32 != ARRIVAL as u32 {
            if self.outputs[component].injects() {
                let message = self.hosts.next_message(component as u32).and_then(|at| self.messages.peek(at));
                message.map(|message| &message.route).map(prefetch);
            }
            let Some(vc) = self.first_asking(component) else { return };
            let Some(buffer) = self.buffers.get(vc) else { return };
            self.packets.peek(buffer.head).map(prefetch);
            self.inputs.get(buffer.channel as usize).map(prefetch);
            self.credits.get(vc).map(prefetch);
            (component, buffer.asks.class)
        } else if !input.ejects
            && self.adaptive.is_none()
            && let Some(packet) = self.packets.peek(payload)
        {
            (packet.step().channel() as usize, packet.step().class())
        } else {
            return;
        };
        if let Some(output) = self.outputs.get(out) {
            let vc = u64::from(output.first_vc) + u64::from(class) * u64::from(output.stride);
            self.credits.get(vc as usize).map(prefetch);
        }
    }

    /// The buffer whose turn it is, nearly always, to ask for a channel.
    #[inline]
    fn first_asking(&self, channel: usize) -> Option<usize> {
        let output = &self.outputs[channel];
        if output.injects() || output.waiting == 0 {
            return None;
        }
        let words = output.requests.words();
        let (word, bit) = (output.last as usize / 64, output.last % 64);
        let after = words.get(word).map_or(0, |w| w & !1 << bit);
        let bit = match after {
            0 => {
                let word = words.iter().position(|&w| w != 0)?;
                word as u32 * 64 + words[word].trailing_zeros()
            }
            after => word as u32 * 64 + after.trailing_zeros(),
        };
        self.fabric.inputs.get((output.first_input + bit) as usize).map(|&vc| vc as usize)
    }
}
