//! Packets out of hosts' memory.

use super::state::{Shard, SwitchDesign};
use crate::engine::observer::Observation;
use crate::engine::packet::Packet;
use crate::nic::hosts::Action;
use crate::router::channels::Output;
use crate::time::Time;

impl<O: Observation> Shard<'_, O> {
    /// A host puts the next packet on a channel, if it may.
    pub(super) fn inject(&mut self, channel: u32) {
        let &Output { busy_until, last, waiting, .. } = &self.outputs[channel as usize];
        if waiting == 0 {
            return;
        }
        if busy_until > self.now {
            return self.wake(channel, busy_until);
        }
        let info = &self.fabric.channels[channel as usize];
        let mut soonest = Time::NEVER;
        let queues = self.hosts.queues(channel);
        let first_queue = queues.start;
        let queues = queues.len() as u32;
        let mut order: Vec<u32> = Vec::new();
        if queues > 1 && self.layout.has_classes() {
            // Queues with more urgent packets before the others, in turn among themselves.
            order.extend((1..=queues).map(|i| (last + i) % queues));
            order.sort_by_key(|&queue| u8::MAX - self.hosts.next_class(first_queue + queue, self.layout));
        }
        for i in 1..=queues {
            let queue = order.get(i as usize - 1).copied().unwrap_or((last + i) % queues);
            let Some(bytes) = self.hosts.next_packet(first_queue + queue, self.model) else { continue };
            let class = if self.fabric.queue_per_link { queue } else { 0 };
            let (when, vc) = if info.ejects {
                (self.now, info.first_vc)
            } else if self.fabric.queue_per_link {
                let vc = info.class(class, 1);
                (self.credits.ready(vc, bytes, self.now).0, vc)
            } else {
                let lanes = if self.design == SwitchDesign::Clocked { info.vcs } else { self.fabric.lanes };
                let best = (0..lanes)
                    .map(|lane| info.class(lane, 1))
                    .map(|vc| (self.credits.ready(vc, bytes, self.now), vc))
                    .min_by_key(|((when, now), vc)| (*when, u32::MAX - now, *vc));
                best.map_or((Time::NEVER, info.first_vc), |((when, _), vc)| (when, vc))
            };
            if when > self.now {
                soonest = soonest.min(when);
                continue;
            }
            self.outputs[channel as usize].last = queue;
            let (message, left) = self.hosts.take_packet(first_queue + queue, self.model, self.layout);
            if let Some(observer) = self.observer.observer() {
                let all = self.messages.get(message).label.bytes;
                let payload = u64::from(bytes).saturating_sub(self.model.link.header_bytes).min(all);
                observer.memory_queue_changed(first_queue + queue, self.now, -payload.cast_signed());
            }
            self.outputs[channel as usize].waiting -= u32::from(left.is_some());
            let at = self.packet(message, bytes, left.is_some());
            if let Some(observer) = self.observer.observer() {
                let label = &self.messages.get(message).label;
                self.packets.get_mut(at).mark = observer.injected(label, channel, self.now, left.is_some());
            }
            let tell = (left == Some(true)).then(|| self.messages.get(message).label);
            let takes = self.transmit(channel, at, vc);
            if let Some(label) = tell {
                self.schedule(label.from, self.now + takes, Action::Sent(label.token));
            }
            if self.outputs[channel as usize].waiting > 0 {
                self.wake(channel, self.now + takes);
            }
            return;
        }
        if soonest < Time::NEVER {
            self.wake(channel, soonest);
        }
    }

    /// A packet of a message that leaves its host; the message's last one, or not.
    pub(super) fn packet(&mut self, message: u32, bytes: u32, last: bool) -> u32 {
        let now = self.now;
        let from = self.messages.get_mut(message);
        let mut packet = Packet::new(message, bytes, from.label.job, now);
        from.uses += u32::from(!last);
        match self.adaptive {
            Some(adaptive) => packet.route_adaptively(&from.label, adaptive.seed()),
            None => packet.follow(&from.route),
        }
        self.packets.add(packet)
    }
}
