//! A part of the network and its events: all that one thread simulates.
//!
//! # A packet's way
//!
//! A packet in an input buffer asks for an output channel once it is at the head. A channel that is free grants one of the
//! requests whose packet may leave by then, whose input can be read, and for which the buffer at the other end has credits.
//! The packet's head is at the next router one latency later, and may leave it one router delay after that, but not so early
//! that its tail would be late: with `T` the time at which the tail may leave and `s` the time that the next channel takes to
//! send the packet, not before `T - s`. Its credits return one latency after its tail has left.
//!
//! One event a hop would do where nothing is in the way: the arrival. A channel that has requests and cannot grant one wakes
//! up at the first time at which it could; nothing else is an event. Credits are not: they wait, with their time, at the
//! channel that they are for.
//!
//! At one time all arrivals come first, then channels grant in the order of their numbers, then what has come to the head of
//! a buffer asks, and so on, so that no order of events favours an input. Where routers choose ([`crate::adaptive`]), they do
//! so when a packet asks, and see no more than what their own outputs are at that moment.
//!
//! # Determinism
//!
//! Events are ordered by (time, component, number). A component's events are numbered by itself, or there is only one of a
//! kind at a time: arrivals on one channel never coincide. So the order is the same however components are spread over
//! shards, and shards only tell each other what happens at least one latency later (`parts::lookahead`).

mod ahead;
mod channels;
mod credits;
mod pipeline;

use crate::adaptive::{Adaptive, RESERVED};
use crate::checkpoint;
use crate::fabric::Fabric;
use crate::host::{Action, Hosts};
use crate::model::{Arbitration, Model, Switching};
use crate::packet::{Kind, Message, NONE, Packet, Route, Store};
use crate::queue::{Event, Queue};
use crate::routes::{Routes, Scratch};
use crate::series::Recorder;
use crate::statistics::Counters;
use crate::time::{NEVER, Time};
use channels::{Asks, Buffer, Input, Output, Wire};
use credits::{Credits, MORE};
use std::collections::VecDeque;

/// Below 2^32 of an event's key: what happens at a channel.
const ARRIVAL: u64 = 0;
const WAKE: u64 = 1;

/// What another shard must know.
#[derive(Debug)]
pub(crate) enum Remote {
    Arrival { time: Time, channel: u32, packet: Box<(Packet, Message)> },
    Credit { time: Time, vc: u32, bytes: u32 },
}

/// See the top of the file.
pub(crate) struct Shard<'n> {
    pub(crate) fabric: &'n Fabric,
    pub(crate) routes: &'n Routes<'n>,
    /// Decides where routes end before the destination.
    pub(crate) adaptive: Option<&'n Adaptive<'n>>,
    pub(crate) model: &'n Model,
    /// Per vertex, its shard.
    owner: &'n [u8],
    me: u8,
    pub(crate) queue: Queue,
    pub(crate) packets: Store<Packet>,
    pub(crate) messages: Store<Message>,
    /// Per channel, what it is to those who look at it.
    pub(crate) outputs: Vec<Output>,
    wires: Vec<Wire>,
    inputs: Vec<Input>,
    /// Per channel: its requests, once more, for routers that choose. Empty without adaptive routing.
    demand: Vec<u32>,
    buffers: Vec<Buffer>,
    credits: Vec<Credits>,
    /// Per virtual channel: credits on their way back behind the first ones, by time.
    returns: Vec<VecDeque<(Time, u32)>>,
    /// Per virtual channel: credits that packets which ask for it hold already. Empty without adaptive routing.
    reserved: Vec<u32>,
    /// Channels on which something may be granted, each once, and below 2^32 the buffer that asks, if one has just asked.
    touched: Vec<u64>,
    /// Buffers with another packet at the head.
    freed: Vec<u32>,
    pub(crate) hosts: Hosts,
    pub(crate) scratch: Scratch,
    pub(crate) counters: Counters,
    /// What happens over time, if somebody wants to know.
    pub(crate) series: Option<Box<Recorder>>,
    /// Routers with a clock, if the model has such.
    pipelines: Option<Box<pipeline::Pipelines>>,
    /// For each shard, what it must know.
    pub(crate) outboxes: Vec<Vec<Remote>>,
    pub(crate) now: Time,
}

impl<'n> Shard<'n> {
    pub(crate) fn new(
        fabric: &'n Fabric,
        (routes, adaptive): (&'n Routes<'n>, Option<&'n Adaptive<'n>>),
        model: &'n Model,
        owner: &'n [u8],
        (me, shards): (u8, usize),
        hosts: Hosts,
    ) -> Self {
        let channels = fabric.channels.len();
        let credits = model.router.buffer_bytes.min(u64::from(MORE - 1)) as u32;
        let buffer = |(&bit, &channel)| Buffer { asks: Asks::default(), head: NONE, tail: NONE, bit, channel };
        Self {
            fabric,
            routes,
            adaptive,
            model,
            owner,
            me,
            queue: Queue::new(),
            packets: Store::default(),
            messages: Store::default(),
            outputs: fabric.channels.iter().map(|c| Output::new(fabric, c)).collect(),
            wires: fabric.channels.iter().map(Wire::new).collect(),
            inputs: fabric.channels.iter().map(Input::new).collect(),
            demand: vec![0; if adaptive.is_some() { channels } else { 0 }],
            buffers: fabric.bit_of_vc.iter().zip(&fabric.channel_of_vc).map(buffer).collect(),
            credits: vec![Credits::new(credits); fabric.channel_of_vc.len()],
            returns: vec![VecDeque::new(); fabric.channel_of_vc.len()],
            reserved: vec![0; if adaptive.is_some() { fabric.channel_of_vc.len() } else { 0 }],
            touched: Vec::new(),
            freed: Vec::new(),
            hosts,
            scratch: Scratch::default(),
            counters: Counters::new(),
            series: None,
            pipelines: pipeline::Pipelines::new(fabric, model).map(Box::new),
            outboxes: (0..shards).map(|_| Vec::new()).collect(),
            now: 0,
        }
    }

    #[inline]
    pub(crate) fn owns(&self, vertex: u32) -> bool {
        self.outboxes.len() == 1 || self.owner[vertex as usize] == self.me
    }

    /// What was put on each channel, and for how long it was busy.
    pub(crate) fn traffic(&self) -> impl Iterator<Item = (u64, Time)> + '_ {
        self.wires.iter().map(Wire::traffic)
    }

    /// Takes what another shard has sent.
    pub(crate) fn take(&mut self, remote: Remote) {
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

    /// All that it is between two events, but for what it was made from. Nothing is on its way to another shard then, and no
    /// channel is to be looked at.
    ///
    /// # Errors
    /// A program that cannot say what it remembers.
    pub(crate) fn save(&self) -> Result<Vec<u8>, String> {
        let events: Vec<Event> = self.queue.events().collect();
        let channels = channels::save(self);
        let buffers = (&self.buffers, &self.credits, &self.returns, &self.reserved);
        let packets = (&self.packets, &self.messages);
        let pipelines = self.pipelines.as_ref().map(|p| p.save());
        let series = self.series.as_ref().map(|s| s.save());
        let others = (self.hosts.save()?, self.counters.save(), self.now, (pipelines, series));
        Ok(checkpoint::encode(&(events, channels, buffers, packets, others)))
    }

    /// Goes on from what [`Shard::save`] has written.
    ///
    /// # Errors
    /// A sentence, if it was not of such a shard.
    pub(crate) fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        type Buffers = (Vec<Buffer>, Vec<Credits>, Vec<VecDeque<(Time, u32)>>, Vec<u32>);
        type Others = (Vec<u8>, Vec<u8>, Time, (Option<Vec<u8>>, Option<Vec<u8>>));
        type State = (Vec<Event>, channels::Saved, Buffers, (Store<Packet>, Store<Message>), Others);
        let (events, channels, buffers, packets, others): State = checkpoint::decode(state)?;
        let (hosts, counters, now, (pipelines, series)) = others;
        if channels.len() != self.outputs.len() || buffers.0.len() != self.buffers.len() {
            return Err("another network".into());
        }
        channels::restore(self, channels);
        (self.buffers, self.credits, self.returns, self.reserved) = buffers;
        (self.packets, self.messages) = packets;
        self.hosts.restore(&hosts)?;
        self.counters = Counters::restore(&counters)?;
        self.now = now;
        if let (Some(to), Some(from)) = (&mut self.pipelines, pipelines) {
            to.restore(&from)?;
        }
        self.series = series.map(|bytes| checkpoint::decode(&bytes)).transpose()?.map(Box::new);
        self.queue = Queue::new();
        events.into_iter().for_each(|event| self.queue.push(event));
        Ok(())
    }

    /// All events before `end`, but no more than `most`; how many they were.
    pub(crate) fn run(&mut self, end: Time, most: u64) -> u64 {
        let before = self.counters.events;
        while self.counters.events - before < most
            && let Some(event) = self.queue.pop_before(end)
        {
            self.now = event.time;
            self.look_ahead();
            self.handle(event);
            // All that happens at this time, before anything is granted.
            while let Some(event) = self.queue.pop_before(self.now + 1) {
                self.look_ahead();
                self.handle(event);
            }
            self.grant_touched();
            #[cfg(test)]
            self.check_wakes();
        }
        self.counters.events - before
    }

    fn handle(&mut self, event: Event) {
        let component = (event.key >> 32) as u32;
        if (component as usize) < self.fabric.channels.len() {
            if event.key & u64::from(u32::MAX) == WAKE {
                let output = &mut self.outputs[component as usize];
                if output.wake_at == event.time {
                    self.counters.wakes += 1;
                    output.wake_at = NEVER;
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

    /// Something may be granted on this channel now.
    #[inline]
    pub(crate) fn touch(&mut self, channel: u32) {
        self.touch_for(channel, NONE);
    }

    /// As [`Shard::touch`], as a buffer asks.
    #[inline]
    fn touch_for(&mut self, channel: u32, vc: u32) {
        let output = &mut self.outputs[channel as usize];
        if !output.touched {
            output.touched = true;
            self.touched.push(u64::from(channel) << 32 | u64::from(vc));
        }
    }

    /// Channels by number, in rounds: what is at the head of a buffer after a round takes part in the next one. So a channel
    /// that is looked at without need, which may depend on the number of threads, sees nothing that it would not see later.
    fn grant_touched(&mut self) {
        let mut from = 0;
        while from < self.touched.len() {
            let to = self.touched.len();
            self.touched[from..to].sort_unstable();
            for i in from..to {
                let (channel, vc) = ((self.touched[i] >> 32) as u32, self.touched[i] as u32);
                self.outputs[channel as usize].touched = false;
                if self.outputs[channel as usize].injects() {
                    self.inject(channel);
                } else if self.pipelines.is_some() {
                    self.step(channel);
                } else {
                    self.grant(channel, vc);
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

    #[inline]
    fn wake(&mut self, channel: u32, at: Time) {
        let output = &mut self.outputs[channel as usize];
        if at < output.wake_at {
            output.wake_at = at;
            self.queue.push(Event { time: at, key: u64::from(channel) << 32 | WAKE, payload: 0 });
        }
    }

    /// A packet is at the end of a channel: in a buffer, from where it may leave, or in memory.
    fn arrive(&mut self, channel: u32, at: u32) {
        if self.inputs[channel as usize].ejects {
            return self.arrive_in_memory(channel, at);
        }
        let &Packet { vc, bytes, .. } = self.packets.get(at);
        if let Some(series) = &mut self.series {
            series.waits(self.fabric, vc, self.now, i64::from(bytes));
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

    fn arrive_in_memory(&mut self, channel: u32, at: u32) {
        let &Packet { message, bytes, injected, .. } = self.packets.get(at);
        self.packets.remove(at);
        let label = self.messages.get(message).label;
        self.release(message);
        let payload = u64::from(bytes).saturating_sub(self.model.link.header_bytes).min(label.bytes);
        let of_program = matches!(label.kind, Kind::Data | Kind::Confirmed | Kind::Put);
        self.counters.delivered(if of_program { payload } else { 0 }, self.now - injected);
        let host = self.inputs[channel as usize].to;
        if self.hosts.is_complete(host, &label, payload) {
            self.message_complete(host, label);
        }
    }

    /// One use of a message less.
    pub(crate) fn release(&mut self, message: u32) {
        let uses = &mut self.messages.get_mut(message).uses;
        *uses -= 1;
        if *uses == 0 {
            self.messages.remove(message);
        }
    }

    /// The packet at the head of a buffer asks for its next channel.
    fn request(&mut self, channel: u32, vc: u32) {
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
        buffer.asks = Asks { starts, bytes, class };
        debug_assert_eq!(self.inputs[out as usize].from, self.inputs[channel as usize].to);
        let output = &mut self.outputs[out as usize];
        output.requests.words_mut()[buffer.bit as usize / 64] |= 1 << (buffer.bit % 64);
        output.waiting += 1;
        if let Some(demand) = self.demand.get_mut(out as usize) {
            *demand += 1;
        }
        self.touch_for(out, vc);
    }

    /// What an input has asked of a channel is done.
    fn withdraw(&mut self, channel: u32, bit: u32) {
        let output = &mut self.outputs[channel as usize];
        output.requests.words_mut()[bit as usize / 64] &= !(1 << (bit % 64));
        output.waiting -= 1;
        if let Some(demand) = self.demand.get_mut(channel as usize) {
            *demand -= 1;
        }
    }

    /// Of the lanes of a bundle the one with the fewest requests, of these the one that is free first.
    fn idlest_lane(&self, first: u32) -> u32 {
        let link = self.fabric.link_of[first as usize];
        let lanes = (first..).take_while(|&c| self.fabric.link_of.get(c as usize).is_some_and(|&l| l == link));
        let best = lanes.min_by_key(|&c| (self.outputs[c as usize].waiting, self.outputs[c as usize].busy_until));
        best.unwrap_or(first)
    }

    /// Grants one of the requests for a channel, if there is one that can be, or sees to it that the channel wakes up when
    /// there is. The buffer that has just asked, if it is known, is the only one more often than not.
    fn grant(&mut self, channel: u32, asked: u32) {
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
                (NEVER, _) => {}
                (ready, _) => self.wake(channel, ready),
            };
        }
        let (first_input, words) = (output.first_input, output.requests.words().len() as u32);
        let start = output.last + 1;
        let mut soonest = NEVER;
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
            None if soonest < NEVER => self.wake(channel, soonest),
            None => {}
        }
    }

    /// When the packet at the head of a buffer may leave by a channel, and by which of its virtual channels.
    pub(crate) fn ready(&mut self, channel: u32, vc: u32) -> (Time, u32) {
        let output = &self.outputs[channel as usize];
        let (first_vc, stride) = (output.first_vc, u32::from(output.stride));
        let Buffer { asks: Asks { starts, bytes, class }, channel: input, .. } = self.buffers[vc as usize];
        let at = starts.max(self.inputs[input as usize].reading_until);
        if output.ejects() {
            return (at, first_vc);
        }
        if class & RESERVED != 0 {
            let lane = class & !RESERVED;
            debug_assert!(self.free(lane) >= bytes, "room was reserved");
            return (at.max(self.credits(lane, bytes).0), lane);
        }
        let lanes = self.fabric.lanes;
        let first = first_vc + class * lanes * stride;
        let mut best = (NEVER, first);
        let mut most = 0;
        for lane in (0..lanes).map(|lane| first + lane * stride) {
            let (when, credits) = self.credits(lane, bytes);
            // Of those that have room now, the one with the most.
            if when < best.0 || (when == best.0 && credits > most) {
                (best, most) = ((when, lane), credits);
            }
        }
        (at.max(best.0), best.1)
    }

    /// How many requests wait for a channel, where routers choose.
    #[inline]
    pub(crate) fn demand(&self, channel: u32) -> u32 {
        self.demand[channel as usize]
    }

    /// Whether a channel is sending.
    pub(crate) fn is_busy(&self, channel: u32) -> bool {
        self.outputs[channel as usize].busy_until > self.now
    }

    /// The packet at the head of buffer `vc` leaves by a channel into its virtual channel `lane`.
    fn send(&mut self, channel: u32, vc: u32, lane: u32) {
        let Buffer { head, bit, channel: input, asks: Asks { class, bytes, .. }, .. } = self.buffers[vc as usize];
        self.withdraw(channel, bit);
        let output = &mut self.outputs[channel as usize];
        output.last = bit;
        let more = output.waiting > 0;
        let next = self.packets.get(head).next;
        if class & RESERVED != 0 {
            self.reserved[lane as usize] -= bytes;
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

    /// Puts a packet on a channel, now; how long that takes.
    pub(crate) fn transmit(&mut self, channel: u32, at: u32, lane: u32) -> Time {
        self.transmit_from(self.now, channel, at, lane)
    }

    /// As [`Shard::transmit`], from a time on that is not before now.
    fn transmit_from(&mut self, start: Time, channel: u32, at: u32, lane: u32) -> Time {
        let output = &self.outputs[channel as usize];
        let (ejects, to) = (output.ejects(), output.to);
        let wire = &mut self.wires[channel as usize];
        // At least a picosecond, so that no two packets arrive at one time.
        let packet = self.packets.get_mut(at);
        let bytes = packet.bytes;
        let takes = wire.rate.time(u64::from(bytes)).max(1);
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
            self.credits[lane as usize].spend(bytes);
            packet.tail = head + takes + self.model.router.delay_picoseconds;
            match self.model.router.switching {
                Switching::CutThrough => head + self.model.router.delay_picoseconds,
                Switching::StoreAndForward => packet.tail,
            }
        };
        self.outputs[channel as usize].busy_until = start + takes;
        if let Some(series) = &mut self.series {
            series.sent(self.fabric, channel, start, bytes);
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

    /// A host puts the next packet on a channel, if it may.
    fn inject(&mut self, channel: u32) {
        let &Output { busy_until, last, waiting, .. } = &self.outputs[channel as usize];
        if waiting == 0 {
            return;
        }
        if busy_until > self.now {
            return self.wake(channel, busy_until);
        }
        let info = &self.fabric.channels[channel as usize];
        let host = info.from;
        let mut soonest = NEVER;
        let queues = self.hosts.queues(channel);
        let first_queue = queues.start;
        let queues = queues.len() as u32;
        for i in 1..=queues {
            let queue = (last + i) % queues;
            let Some(bytes) = self.hosts.next_packet(first_queue + queue, self.model) else { continue };
            let class = if self.fabric.queue_per_link { queue } else { 0 };
            let (when, vc) = if info.ejects {
                (self.now, info.first_vc)
            } else if self.fabric.queue_per_link {
                let vc = info.class(class, 1);
                (self.credits(vc, bytes).0, vc)
            } else {
                let lanes = if self.pipelines.is_some() { info.vcs } else { self.fabric.lanes };
                let best = (0..lanes)
                    .map(|lane| info.class(lane, 1))
                    .map(|vc| (self.credits(vc, bytes), vc))
                    .min_by_key(|((when, now), vc)| (*when, u32::MAX - now, *vc));
                best.map_or((NEVER, info.first_vc), |((when, _), vc)| (when, vc))
            };
            if when > self.now {
                soonest = soonest.min(when);
                continue;
            }
            self.outputs[channel as usize].last = queue;
            let (message, left) = self.hosts.take_packet(first_queue + queue, self.model);
            if let Some(series) = &mut self.series {
                let all = self.messages.get(message).label.bytes;
                let payload = u64::from(bytes).saturating_sub(self.model.link.header_bytes).min(all);
                series.queued(first_queue + queue, self.now, -payload.cast_signed());
            }
            self.outputs[channel as usize].waiting -= u32::from(left.is_some());
            let at = self.packet(message, bytes, left.is_some());
            let left = left.flatten();
            let takes = self.transmit(channel, at, vc);
            if let Some(token) = left {
                self.schedule(host, self.now + takes, Action::Sent(token));
            }
            if self.outputs[channel as usize].waiting > 0 {
                self.wake(channel, self.now + takes);
            }
            return;
        }
        if soonest < NEVER {
            self.wake(channel, soonest);
        }
    }

    /// A packet of a message that leaves its host; the message's last one, or not.
    fn packet(&mut self, message: u32, bytes: u32, last: bool) -> u32 {
        let mut packet = Packet::new(message, bytes, self.now);
        let from = self.messages.get_mut(message);
        from.uses += u32::from(!last);
        match self.adaptive {
            Some(adaptive) => packet.wander(&from.label, adaptive.seed()),
            None => packet.follow(&from.route),
        }
        self.packets.add(packet)
    }

    /// A channel's requests, until when it is busy, and when it wakes up.
    #[cfg(test)]
    pub(crate) fn state(&self, channel: u32) -> (u32, Time, Time) {
        let output = &self.outputs[channel as usize];
        (output.waiting, output.busy_until, output.wake_at)
    }

    /// Whether the head of a buffer asks for a channel.
    #[cfg(test)]
    pub(crate) fn asks(&self, vc: u32, channel: u32) -> bool {
        let bit = self.buffers[vc as usize].bit;
        self.outputs[channel as usize].requests.words()[bit as usize / 64] >> (bit % 64) & 1 == 1
    }

    /// An event of a host's own.
    pub(crate) fn schedule(&mut self, host: u32, time: Time, action: Action) {
        let (number, payload) = self.hosts.keep(host, action);
        let component = u64::from(self.fabric.channels.len() as u32 + host);
        self.queue.push(Event { time, key: component << 32 | u64::from(number), payload });
    }

    /// The route of a message; none if the network has none, which is told when the simulator is made.
    pub(crate) fn route(&mut self, src: u32, dst: u32) -> Option<Route> {
        let coins = if self.routes.tosses() { self.hosts.coins(src) } else { 0 };
        self.routes.route(self.fabric, (src, dst), coins, &mut self.scratch).ok()
    }
}
