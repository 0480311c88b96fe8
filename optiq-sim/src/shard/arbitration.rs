//! Requests for channels, and which of them is granted.

use super::state::Shard;
use crate::engine::packet::Packet;
use crate::engine::store::NONE;
use crate::model::{Arbitration, Switching};
use crate::router::adaptive::router_view::RESERVED;
use crate::router::channels::{Buffer, Request};
use crate::time::Time;

impl Shard<'_> {
    /// The packet at the head of a buffer requests its next channel.
    pub(super) fn request(&mut self, channel: u32, vc: u32) {
        let head = self.buffers[vc as usize].head;
        let (out, class) = if self.adaptive.is_some() {
            self.decide(self.inputs[channel as usize].to, head)
        } else {
            let step = self.packets.get(head).step();
            (if step.any_lane() { self.idlest_lane(step.channel()) } else { step.channel() }, step.class())
        };
        let &Packet { tail, bytes, .. } = self.packets.get(head);
        let starts = match self.model.router.switching {
            Switching::CutThrough => tail.saturating_sub(self.wires[out as usize].rate.time(u64::from(bytes))),
            Switching::StoreAndForward => tail,
        };
        let buffer = &mut self.buffers[vc as usize];
        buffer.request = Request { starts, bytes, class };
        debug_assert_eq!(self.inputs[out as usize].from, self.inputs[channel as usize].to);
        let output = &mut self.outputs[out as usize];
        output.requests.words_mut()[buffer.bit as usize / 64] |= 1 << (buffer.bit % 64);
        output.waiting += 1;
        if let Some(demand) = self.demand.get_mut(out as usize) {
            *demand += 1;
        }
        self.touch_for(out, vc);
    }

    /// The request of an input for a channel is served.
    pub(super) fn withdraw(&mut self, channel: u32, bit: u32) {
        let output = &mut self.outputs[channel as usize];
        output.requests.words_mut()[bit as usize / 64] &= !(1 << (bit % 64));
        output.waiting -= 1;
        if let Some(demand) = self.demand.get_mut(channel as usize) {
            *demand -= 1;
        }
    }

    /// Of the lanes of a bundle the one with the fewest requests, of these the one that is free first.
    pub(super) fn idlest_lane(&self, first: u32) -> u32 {
        let link = self.fabric.link_of[first as usize];
        let lanes = (first..).take_while(|&c| self.fabric.link_of.get(c as usize).is_some_and(|&l| l == link));
        let best = lanes.min_by_key(|&c| (self.outputs[c as usize].waiting, self.outputs[c as usize].busy_until));
        best.unwrap_or(first)
    }

    /// Grants one of the requests for a channel, if there is one that can be, or sees to it that the channel wakes up when
    /// there is. The buffer that has just made a request, if it is known, is the only one more often than not.
    pub(super) fn grant(&mut self, channel: u32, asked: u32) {
        let output = &self.outputs[channel as usize];
        if output.waiting == 0 {
            return;
        }
        if output.busy_until > self.now {
            return self.wake(channel, output.busy_until);
        }
        if output.waiting == 1 && asked != NONE {
            return match self.ready(channel, asked) {
                (ready, lane) if ready <= self.now => self.send(channel, asked, lane),
                (Time::NEVER, _) => {}
                (ready, _) => self.wake(channel, ready),
            };
        }
        let (first_input, words) = (output.first_input, output.requests.words().len() as u32);
        let start = output.last + 1;
        let mut soonest = Time::NEVER;
        let mut oldest: Option<(Time, u32, u32, u32)> = None;
        // From the input after the one that was served last, around.
        let mut word = start / 64;
        for i in 0..=words {
            if word >= words {
                word = 0;
            }
            let mut set = self.outputs[channel as usize].requests.words()[word as usize];
            if i == 0 {
                set &= u64::MAX << (start % 64);
            } else if i == words {
                set &= !(u64::MAX << (start % 64));
            }
            while set != 0 {
                let bit = word * 64 + set.trailing_zeros();
                set &= set - 1;
                let vc = self.fabric.inputs[(first_input + bit) as usize];
                let (ready, lane) = self.ready(channel, vc);
                if ready > self.now {
                    soonest = soonest.min(ready);
                } else if self.model.router.arbitration == Arbitration::RoundRobin {
                    return self.send(channel, vc, lane);
                } else {
                    let head = self.buffers[vc as usize].head;
                    let packet = self.packets.get(head);
                    let key = (packet.injected, bit, vc, lane);
                    oldest = Some(oldest.map_or(key, |o| o.min(key)));
                }
            }
            word += 1;
        }
        match oldest {
            Some((_, _, vc, lane)) => self.send(channel, vc, lane),
            None if soonest < Time::NEVER => self.wake(channel, soonest),
            None => {}
        }
    }

    /// When the packet at the head of a buffer may leave by a channel, and by which of its virtual channels.
    pub(super) fn ready(&mut self, channel: u32, vc: u32) -> (Time, u32) {
        let output = &self.outputs[channel as usize];
        let (first_vc, stride) = (output.first_vc, u32::from(output.stride));
        let Buffer { request: Request { starts, bytes, class }, channel: input, .. } = self.buffers[vc as usize];
        let at = starts.max(self.inputs[input as usize].reading_until);
        if output.ejects() {
            return (at, first_vc);
        }
        if class & RESERVED != 0 {
            let lane = class & !RESERVED;
            debug_assert!(self.credits.free(lane, self.now) >= bytes, "room was reserved");
            return (at.max(self.credits.ready(lane, bytes, self.now).0), lane);
        }
        let lanes = self.fabric.lanes;
        let first = first_vc + class * lanes * stride;
        let mut best = (Time::NEVER, first);
        let mut most = 0;
        for lane in (0..lanes).map(|lane| first + lane * stride) {
            let (when, credits) = self.credits.ready(lane, bytes, self.now);
            // Of those that have space now, the one with the most.
            if when < best.0 || (when == best.0 && credits > most) {
                (best, most) = ((when, lane), credits);
            }
        }
        (at.max(best.0), best.1)
    }

    /// How many requests wait for a channel, where routers choose.
    #[inline]
    pub(super) fn demand(&self, channel: u32) -> u32 {
        self.demand[channel as usize]
    }

    /// Whether a channel is sending.
    pub(super) fn is_busy(&self, channel: u32) -> bool {
        self.outputs[channel as usize].busy_until > self.now
    }

    /// The packet at the head of buffer `vc` leaves by a channel into its virtual channel `lane`.
    pub(super) fn send(&mut self, channel: u32, vc: u32, lane: u32) {
        let Buffer { head, bit, channel: input, request: Request { class, bytes, .. }, .. } = self.buffers[vc as usize];
        self.withdraw(channel, bit);
        let output = &mut self.outputs[channel as usize];
        output.last = bit;
        let more = output.waiting > 0;
        let next = self.packets.get(head).next;
        if class & RESERVED != 0 {
            self.credits.release(lane, bytes);
        }
        let buffer = &mut self.buffers[vc as usize];
        buffer.head = next;
        if next == NONE {
            buffer.tail = NONE;
        }
        let to = self.transmit(channel, head, lane);
        let input = &mut self.inputs[input as usize];
        if !input.injects {
            let speedup = self.model.router.input_speedup;
            input.reading_until = self.now + if speedup == 1 { to } else { to.div_ceil(u64::from(speedup)) };
        }
        let latency = input.latency;
        self.give_back(vc, self.now + to + latency, bytes);
        if more {
            self.wake(channel, self.outputs[channel as usize].busy_until);
        }
        if next != NONE {
            self.freed.push(vc);
        }
    }

    /// A channel's requests, until when it is busy, and when it wakes up.
    #[cfg(test)]
    pub(super) fn channel_state(&self, channel: u32) -> (u32, Time, Time) {
        let output = &self.outputs[channel as usize];
        (output.waiting, output.busy_until, output.wake_at)
    }

    /// Whether the head of a buffer requests a channel.
    #[cfg(test)]
    pub(super) fn has_requested(&self, vc: u32, channel: u32) -> bool {
        let bit = self.buffers[vc as usize].bit;
        self.outputs[channel as usize].requests.words()[bit as usize / 64] >> (bit % 64) & 1 == 1
    }
}
