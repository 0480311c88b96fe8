//! How credits return: from the buffer that a packet leaves to the router at the beginning of the channel.

use super::state::{Remote, Shard, SwitchDesign};
use crate::engine::observer::Observation;
use crate::router::channels::Output;
use crate::time::Time;

impl<O: Observation> Shard<'_, O> {
    /// A packet leaves a buffer: its credits come back, at a time, to the router at the beginning of the channel.
    pub(super) fn give_back(&mut self, vc: u32, time: Time, bytes: u32) {
        let channel = self.buffers[vc as usize].channel;
        if let Some(observer) = self.observer.observer() {
            observer.buffer_changed(vc, self.now, -i64::from(bytes));
        }
        let from = self.inputs[channel as usize].from;
        if self.owns(from) {
            self.credit(vc, time, bytes);
        } else {
            self.outboxes[usize::from(self.owner[from as usize])].push(Remote::Credit { time, vc, bytes });
        }
    }

    /// Credits for a channel of this shard come back at a time.
    pub(super) fn credit(&mut self, vc: u32, time: Time, bytes: u32) {
        if self.credits.come_back(vc, time, bytes, self.now) {
            let channel = self.buffers[vc as usize].channel;
            let &Output { waiting, busy_until, .. } = &self.outputs[channel as usize];
            if waiting > 0 {
                // A packet gets in the queue of a channel that is busy, but not on the wire.
                let could = if self.design == SwitchDesign::OutputQueues { Time::ZERO } else { busy_until };
                self.wake(channel, time.max(self.now + Time::PICOSECOND).max(could));
            }
        }
    }
}
