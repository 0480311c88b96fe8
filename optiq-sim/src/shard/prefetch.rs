//! Prefetches what the next events need. A simulation of thousands of hosts does not fit into the caches next to a processor,
//! and the memory that an event needs is spread over it; but the next events are known, and prefetching changes nothing but
//! time.
//!
//! What one stage finds says where the next one has to look: an arrival's packet names its buffer, the buffer's head is a
//! packet. So each event is prefetched in three stages.

use super::state::{ARRIVAL, Shard};
use crate::constants::{PREFETCH_STAGE_1, PREFETCH_STAGE_2, PREFETCH_STAGE_3};
use crate::engine::observer::Observation;
use crate::engine::prefetch::prefetch;
use crate::engine::queue::Event;

impl<O: Observation> Shard<'_, O> {
    #[inline]
    pub(super) fn prefetch_for_next(&self) {
        if let Some(event) = self.queue.ahead(PREFETCH_STAGE_1) {
            self.prefetch_stage_1(event);
        }
        if let Some(event) = self.queue.ahead(PREFETCH_STAGE_2) {
            self.prefetch_stage_2(event);
        }
        if let Some(event) = self.queue.ahead(PREFETCH_STAGE_3) {
            self.prefetch_stage_3(event);
        }
    }

    /// The component itself, and a packet that arrives.
    #[inline]
    fn prefetch_stage_1(&self, Event { key, payload, .. }: Event) {
        let component = (key >> 32) as usize;
        if component >= self.inputs.len() {
            self.hosts.prefetch_process((component - self.inputs.len()) as u32, payload);
        } else if key as u32 == ARRIVAL as u32 {
            prefetch(&self.inputs[component]);
            self.packets.peek(payload).map(prefetch);
        } else {
            prefetch(&self.outputs[component]);
        }
    }

    /// Where a packet arrives and what it may request; or what is sent when a channel wakes up.
    #[inline]
    fn prefetch_stage_2(&self, Event { key, payload, .. }: Event) {
        let component = (key >> 32) as usize;
        let Some(input) = self.inputs.get(component) else {
            let process = (component - self.inputs.len()) as u32;
            let Some(place) = self.layout.processes().get(process as usize) else { return };
            let channel = self.fabric.first_injection(place.host);
            prefetch(&self.outputs[channel as usize]);
            return self.hosts.prefetch_program(process, channel);
        };
        if key as u32 != ARRIVAL as u32 {
            prefetch(&self.wires[component]);
            if self.outputs[component].injects() {
                return self.hosts.prefetch_queue(component as u32);
            }
            self.first_request(component).and_then(|vc| self.buffers.get(vc)).map(prefetch);
            return;
        }
        let Some(packet) = self.packets.peek(payload) else { return };
        if input.ejects {
            if let Some(message) = self.messages.peek(packet.message) {
                prefetch(&message.label);
                prefetch(&message.uses);
            }
            return self.hosts.prefetch_host(input.to);
        }
        self.buffers.get(packet.vc as usize).map(prefetch);
        self.credits.place(packet.vc as usize).map(prefetch);
        let Some(adaptive) = self.adaptive else {
            if packet.needs_route() {
                self.messages.peek(packet.message).map(|message| &message.route).map(prefetch);
            }
            let out = packet.step().channel() as usize;
            self.outputs.get(out).map(prefetch);
            self.wires.get(out).map(prefetch);
            return;
        };
        let router_outputs = &self.fabric.router_outputs[input.to as usize];
        let class = packet.state.lane() * self.fabric.lanes * router_outputs.stride;
        adaptive.likely(input.to, packet.destination(), |channels| {
            // As many as are in a cache line.
            for channel in channels.clone().step_by(4) {
                if let Some(vc) = router_outputs.first_vc(channel) {
                    self.credits.place((vc + class) as usize).map(prefetch);
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
    fn prefetch_stage_3(&self, Event { key, payload, .. }: Event) {
        let component = (key >> 32) as usize;
        let Some(input) = self.inputs.get(component) else { return };
        let (out, class) = if key as u32 != ARRIVAL as u32 {
            if self.outputs[component].injects() {
                let message = self.hosts.next_message(component as u32).and_then(|at| self.messages.peek(at));
                message.map(|message| &message.route).map(prefetch);
            }
            let Some(vc) = self.first_request(component) else { return };
            let Some(buffer) = self.buffers.get(vc) else { return };
            self.packets.peek(buffer.head).map(prefetch);
            self.inputs.get(buffer.channel as usize).map(prefetch);
            self.credits.place(vc).map(prefetch);
            (component, buffer.request.class)
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
            self.credits.place(vc as usize).map(prefetch);
        }
    }

    /// The buffer whose request for a channel is granted next, nearly always.
    #[inline]
    fn first_request(&self, channel: usize) -> Option<usize> {
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
