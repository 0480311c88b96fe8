//! Requests for channels, and which of them is granted.
//!
//! # Who waits for ever, and who does not
//!
//! A request can be granted when the packet may leave, its input can be read, and a virtual channel of its class has credits
//! for it. Round robin and age look only at requests that can be granted *now*. Let inputs `A` and `B` ask one output for class 0,
//! whose credits come back one packet at a time, and `C` for class 1, which always has some. Whenever `A` is granted, `C` is
//! next, as `B` has no credits then; the search then begins behind `C`, and the next credit is `A`'s again. `B` loses
//! its turn for as long as the others have packets. The same happens to a large packet behind small ones, which use up credits
//! before there are enough for it.
//!
//! [`Arbitration::FirstCome`] keeps a line for each output and class, in the order in which packets came to the switch:
//!
//! ```text
//!     line of class k     = requests of class k by (time of the tail at this switch, input)
//!     may be granted      = the first of each line, if it can be granted now; of several the one that came first
//! ```
//!
//! A packet has only those in front of it that came before, finitely many, and nobody takes the credits that it waits for. So it
//! leaves as long as credits of its class come back, which freedom from deadlock promises. It waits for what its class waited
//! for anyway, so no dependency between channels is new. This is the order of CODES's switches: one list for each output
//! port and virtual channel, to which packets are appended as they come (`switch_packet_receive` of
//! `src/networks/model-net/fattree.c`, `router_packet_receive` of `dragonfly-plus.cxx`, github.com/codes-org/codes). BookSim
//! comes to the same by other means: a packet holds its virtual channel before it waits for credits (`router/pipeline.rs`,
//! stage 2). Decision 046.

use super::state::Shard;
use crate::engine::observer::Observation;
use crate::engine::packet::{CLASSES, Packet};
use crate::engine::store::NONE;
use crate::model::{Arbitration, Switching};
use crate::router::adaptive::router_view::RESERVED;
use crate::router::channels::{Buffer, Request};
use crate::time::Time;

/// Of requests in the order in which they came: which is granted, or when the first one can be.
struct FirstCome {
    /// (when the packet's tail was here, the input's bit, the buffer), and the virtual channel that it takes.
    best: Option<((Time, u32, u32), u32)>,
    soonest: Time,
}

impl FirstCome {
    fn add(&mut self, came: (Time, u32, u32), (ready, lane): (Time, u32), now: Time) {
        if ready > now {
            self.soonest = self.soonest.min(ready);
        } else if self.best.is_none_or(|(other, _)| came < other) {
            self.best = Some((came, lane));
        }
    }
}

impl<O: Observation> Shard<'_, O> {
    /// Where a packet that has come by a channel goes next: the channel, and the class of virtual channels or [`RESERVED`] and
    /// a virtual channel.
    #[inline(always)]
    pub(super) fn next_channel(&mut self, channel: u32, at: u32) -> (u32, u32) {
        if self.adaptive.is_some() {
            return self.decide(self.inputs[channel as usize].to, at);
        }
        let step = self.packets.get(at).step();
        (if step.any_lane() { self.idlest_lane(step.channel()) } else { step.channel() }, step.class())
    }

    /// The packet at the head of a buffer requests its next channel.
    pub(super) fn request(&mut self, channel: u32, vc: u32) {
        let head = self.buffers[vc as usize].head;
        let (out, class) = self.next_channel(channel, head);
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
            demand.requests += 1;
        }
        self.touch_for(out, vc);
    }

    /// The request of an input for a channel is served.
    pub(super) fn withdraw(&mut self, channel: u32, bit: u32) {
        let output = &mut self.outputs[channel as usize];
        output.requests.words_mut()[bit as usize / 64] &= !(1 << (bit % 64));
        output.waiting -= 1;
        if let Some(demand) = self.demand.get_mut(channel as usize) {
            demand.requests -= 1;
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
        if self.model.router.arbitration == Arbitration::FirstCome {
            return self.grant_first_come(channel);
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

    /// As [`Shard::grant`], for a channel that is free: in the order in which packets came to the switch (top of the file).
    fn grant_first_come(&mut self, channel: u32) {
        let output = &self.outputs[channel as usize];
        let (first_input, words, ejects) = (output.first_input, output.requests.words().len(), output.ejects());
        let mut first_in_line = [None; CLASSES as usize];
        let mut found = FirstCome { best: None, soonest: Time::NEVER };
        for word in 0..words {
            let mut set = self.outputs[channel as usize].requests.words()[word];
            while set != 0 {
                let bit = word as u32 * 64 + set.trailing_zeros();
                set &= set - 1;
                let vc = self.fabric.inputs[(first_input + bit) as usize];
                let &Buffer { head, request: Request { class, .. }, .. } = &self.buffers[vc as usize];
                let came = (self.packets.get(head).tail, bit, vc);
                match first_in_line.get_mut(class as usize) {
                    // Memory has no credits, and what has reserved some waits for none: no lines.
                    Some(first) if !ejects => {
                        *first = Some(first.map_or(came, |other: (Time, u32, u32)| other.min(came)))
                    }
                    _ => found.add(came, self.ready(channel, vc), self.now),
                }
            }
        }
        for came in first_in_line.into_iter().flatten() {
            found.add(came, self.ready(channel, came.2), self.now);
        }
        match found.best {
            Some(((_, _, vc), lane)) => self.send(channel, vc, lane),
            None if found.soonest < Time::NEVER => self.wake(channel, found.soonest),
            None => {}
        }
    }

    /// When the packet at the head of a buffer may leave by a channel, and by which of its virtual channels.
    #[inline(always)]
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
