//! The loop over events.

use super::state::{ARRIVAL, Remote, Shard, SwitchDesign, WAKE};
use crate::engine::observer::Observation;
use crate::engine::queue::Event;
use crate::engine::windows::Partition;
use crate::error::SimError;
use crate::time::Time;

impl<O: Observation> Partition for Shard<'_, O> {
    type Remote = Remote;

    fn now(&self) -> Time {
        self.now
    }

    fn next_time(&mut self) -> Option<Time> {
        self.queue.next_time()
    }

    fn events(&self) -> u64 {
        self.counters.events
    }

    fn awaited(&self) -> u64 {
        self.awaited
    }

    fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    fn fail(&mut self, error: SimError) {
        self.failure.get_or_insert(error);
    }

    fn outboxes(&mut self) -> &mut [Vec<Remote>] {
        &mut self.outboxes
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        self.state()
    }

    fn receive(&mut self, remote: Remote) {
        match remote {
            Remote::Arrival { time, channel, packet } => {
                let (mut packet, message) = *packet;
                packet.message = self.messages.add(message);
                let payload = self.packets.add(packet);
                self.queue.push(Event { time, key: u64::from(channel) << 32 | ARRIVAL, payload });
            }
            Remote::Credit { time, vc, bytes } => self.credit(vc, time, bytes),
        }
    }

    fn run(&mut self, end: Time, most: u64) -> u64 {
        let before = self.counters.events;
        while self.counters.events - before < most
            && let Some(event) = self.queue.pop_before(end)
        {
            self.now = event.time;
            self.prefetch_for_next();
            self.handle(event);
            // All that happens at this time, before anything is granted.
            while let Some(event) = self.queue.pop_before(self.now + Time::PICOSECOND) {
                self.prefetch_for_next();
                self.handle(event);
            }
            self.grant_touched();
            #[cfg(test)]
            self.check_wakes();
        }
        self.counters.events - before
    }
}

impl<O: Observation> Shard<'_, O> {
    fn handle(&mut self, event: Event) {
        let component = (event.key >> 32) as u32;
        if (component as usize) < self.fabric.channels.len() {
            if event.key & u64::from(u32::MAX) == WAKE {
                let output = &mut self.outputs[component as usize];
                if output.wake_at == event.time {
                    self.counters.wakes += 1;
                    output.wake_at = Time::NEVER;
                    self.touch(component);
                }
            } else {
                self.counters.event(event.time);
                self.arrive(component, event.payload);
            }
        } else {
            self.counters.event(event.time);
            self.act(component - self.fabric.channels.len() as u32, event.payload);
        }
    }

    /// Channels by number, in rounds: a packet that comes to the head of a buffer in a round takes part in the next one. So a
    /// channel that is looked at without need, which may depend on the number of threads, sees nothing that it would not see
    /// later.
    #[inline(always)]
    fn grant_touched(&mut self) {
        let mut from = 0;
        while from < self.touched.len() {
            let to = self.touched.len();
            self.touched[from..to].sort_unstable();
            for i in from..to {
                let (channel, vc) = ((self.touched[i] >> 32) as u32, self.touched[i] as u32);
                let output = &mut self.outputs[channel as usize];
                output.touched = false;
                match self.design {
                    _ if output.injects() => self.inject(channel),
                    SwitchDesign::InputQueues => self.grant(channel, vc),
                    SwitchDesign::OutputQueues => self.move_on(channel),
                    SwitchDesign::Clocked => self.step(channel),
                }
            }
            from = to;
            for i in 0..self.freed.len() {
                let vc = self.freed[i];
                self.request(self.buffers[vc as usize].channel, vc);
            }
            self.freed.clear();
        }
        self.touched.clear();
    }
}
