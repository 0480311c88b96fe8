//! Hosts: the processor, the protocols of messages, and the queues between memory and network.
//!
//! A processor does one thing at a time: what a message costs it ([`crate::model::HostModel`]) delays what comes after. A
//! message up to `eager_bytes` is sent at once; a larger one asks first, and its bytes follow when the answer is there. What
//! is sent waits in the queue of the channel that its route begins with, and where hosts are joined directly, of the link that
//! follows. Queues take turns, and in each of them destinations do, packet by packet; messages to one destination go in
//! order, as on a queue pair.

use crate::SimError;
use crate::checkpoint;
use crate::fabric::Fabric;
use crate::model::Model;
use crate::packet::{Kind, Label, Message, Store};
use crate::program::{Command, Delivery, Host, Idle, Notice, Program};
use crate::queue::prefetch;
use crate::shard::Shard;
use crate::time::{Rate, Time};
use bincode::{Decode, Encode};
use optiq_net::random::SplitMix64;
use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};
use std::ops::Range;

/// What a host is going to do at some time.
#[derive(Clone, Debug, Encode, Decode)]
pub(crate) enum Action {
    Start,
    Inject(Outgoing),
    Deliver(Delivery),
    Woken(u64),
    Sent(u64),
    /// Nothing: the place is free.
    Free,
}

/// A message on its way out.
#[derive(Clone, Copy, Debug, Encode, Decode)]
pub(crate) struct Outgoing {
    /// In the shard's store.
    message: u32,
    dst: u32,
    bytes: u64,
    sent: u64,
    /// Tell the program, with this token, when the last byte has left.
    tell: Option<u64>,
}

/// Messages in order to each destination, which take turns.
#[derive(Clone, Debug, Default, Encode, Decode)]
struct Turns {
    /// The first message to each destination.
    turns: VecDeque<Outgoing>,
    /// Per destination that has one: those behind it. Empty while there is one message only, as it is in most hosts most of
    /// the time.
    behind: BTreeMap<u32, VecDeque<Outgoing>>,
}

impl Turns {
    fn push(&mut self, message: Outgoing) {
        if self.behind.is_empty() {
            let Some(only) = self.turns.front() else { return self.turns.push_back(message) };
            self.behind.insert(only.dst, VecDeque::new());
        }
        match self.behind.entry(message.dst) {
            Entry::Occupied(mut list) => list.get_mut().push_back(message),
            Entry::Vacant(place) => {
                place.insert(VecDeque::new());
                self.turns.push_back(message);
            }
        }
    }

    /// The message whose turn it is.
    fn front(&mut self) -> Option<&mut Outgoing> {
        self.turns.front_mut()
    }

    /// A packet of the message in front has gone, the last one or not.
    fn advance(&mut self, last: bool) {
        let Some(message) = self.turns.pop_front() else { return };
        let next = match last {
            true => self.behind.get_mut(&message.dst).and_then(VecDeque::pop_front),
            false => Some(message),
        };
        match next {
            Some(next) => self.turns.push_back(next),
            None => drop(self.behind.remove(&message.dst)),
        }
    }
}

/// A host. What every message needs comes first.
#[repr(C, align(64))]
struct State {
    busy_until: Time,
    next_message: u32,
    next_event: u32,
    random: SplitMix64,
    program: Box<dyn Program>,
    /// Of messages of several packets, what has not arrived: by source and number.
    incoming: BTreeMap<(u32, u32), u64>,
    /// Messages that have asked, by number.
    asking: BTreeMap<u32, Outgoing>,
}

/// The hosts of a shard.
pub(crate) struct Hosts {
    states: Vec<Option<Box<State>>>,
    /// Per channel: its first queue, if it leaves a host's memory.
    first_queue: Vec<u32>,
    queues: Vec<Turns>,
    actions: Store<Action>,
    commands: Vec<Command>,
    pub(crate) failure: Option<SimError>,
}

impl Hosts {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let mut queues = 0;
        let mut first_queue = Vec::with_capacity(fabric.channels.len() + 1);
        for channel in &fabric.channels {
            first_queue.push(queues);
            queues += if !channel.injects {
                0
            } else if fabric.queue_per_link {
                channel.vcs
            } else {
                1
            };
        }
        first_queue.push(queues);
        Self {
            states: (0..fabric.hosts).map(|_| None).collect(),
            first_queue,
            queues: vec![Turns::default(); queues as usize],
            actions: Store::default(),
            commands: Vec::new(),
            failure: None,
        }
    }

    /// Adds a host.
    pub(crate) fn add(&mut self, host: u32, seed: u64, program: Box<dyn Program>) {
        // The stream of a component: its number, spread by the seed's first word.
        let base = SplitMix64::new(seed).next_u64();
        let random = SplitMix64::new(base ^ SplitMix64::new(u64::from(host) + 1).next_u64());
        self.states[host as usize] = Some(Box::new(State {
            program,
            random,
            busy_until: 0,
            next_message: 0,
            next_event: 0,
            incoming: BTreeMap::new(),
            asking: BTreeMap::new(),
        }));
    }

    #[inline]
    fn state(&mut self, host: u32) -> &mut State {
        // Only hosts of this shard are asked for, and these were added.
        self.states[host as usize].as_mut().expect("a host of another shard")
    }

    /// Asks for the memory that an event of a host needs.
    #[inline]
    pub(crate) fn look_ahead(&self, host: u32, action: u32) {
        self.actions.peek(action).map(prefetch);
        if let Some(Some(state)) = self.states.get(host as usize) {
            prefetch(&**state);
        }
    }

    /// As [`Hosts::look_ahead`], when the host itself is there: its program, and the queue of a channel.
    #[inline]
    pub(crate) fn look_closer(&self, host: u32, channel: u32) {
        if let Some(Some(state)) = self.states.get(host as usize) {
            prefetch(&*state.program);
        }
        self.look_at_queue(channel);
    }

    /// Asks for the memory of a channel's first queue.
    #[inline]
    pub(crate) fn look_at_queue(&self, channel: u32) {
        self.first_queue_of(channel).map(prefetch);
    }

    /// The next message in a channel's first queue.
    #[inline]
    pub(crate) fn next_message(&self, channel: u32) -> Option<u32> {
        Some(self.first_queue_of(channel)?.turns.front()?.message)
    }

    #[inline]
    fn first_queue_of(&self, channel: u32) -> Option<&Turns> {
        self.queues.get(*self.first_queue.get(channel as usize)? as usize)
    }

    /// A random word of a host's.
    pub(crate) fn coins(&mut self, host: u32) -> u64 {
        self.state(host).random.next_u64()
    }

    /// Keeps an action until its event comes: the event's number and payload.
    pub(crate) fn keep(&mut self, host: u32, action: Action) -> (u32, u32) {
        let state = self.state(host);
        let number = state.next_event;
        state.next_event = number.wrapping_add(1);
        (number, self.actions.add(action))
    }

    fn take_action(&mut self, at: u32) -> Action {
        self.actions.remove(at);
        std::mem::replace(self.actions.get_mut(at), Action::Free)
    }

    /// The queues of a channel.
    pub(crate) fn queues(&self, channel: u32) -> Range<u32> {
        self.first_queue[channel as usize]..self.first_queue[channel as usize + 1]
    }

    /// How many queues there are, also those of other shards' hosts.
    pub(crate) fn all_queues(&self) -> usize {
        self.queues.len()
    }

    /// The size on the wire of the next packet of a queue.
    pub(crate) fn next_packet(&mut self, queue: u32, model: &Model) -> Option<u32> {
        let message = self.queues[queue as usize].front()?;
        let payload = (message.bytes - message.sent).min(model.link.packet_bytes);
        // The model's check keeps both below 2^31; a packet without bytes still takes a moment.
        Some((payload + model.link.header_bytes).max(1) as u32)
    }

    /// The message of the next packet of a queue, and if it is its last one, what to tell the program when it has left.
    pub(crate) fn take_packet(&mut self, queue: u32, model: &Model) -> (u32, Option<Option<u64>>) {
        let queue = &mut self.queues[queue as usize];
        let message = queue.front().expect("a queue that was found to have a message");
        message.sent += (message.bytes - message.sent).min(model.link.packet_bytes);
        let &mut Outgoing { message, bytes, sent, tell, .. } = message;
        let last = sent == bytes;
        queue.advance(last);
        (message, last.then_some(tell))
    }

    /// Whether a message has arrived with this packet.
    pub(crate) fn is_complete(&mut self, host: u32, label: &Label, payload: u64) -> bool {
        if payload == label.bytes {
            return true;
        }
        let key = (label.src, label.message);
        let incoming = &mut self.state(host).incoming;
        let missing = incoming.entry(key).or_insert(label.bytes);
        *missing -= payload;
        let complete = *missing == 0;
        if complete {
            incoming.remove(&key);
        }
        complete
    }

    /// For a checkpoint.
    ///
    /// # Errors
    /// A program that cannot say what it remembers.
    pub(crate) fn save(&self) -> Result<Vec<u8>, String> {
        let mut states = Vec::new();
        for (host, state) in self.states.iter().enumerate() {
            let Some(state) = state else { continue };
            let program = state.program.save();
            let program = program.ok_or_else(|| format!("the program on host {host} cannot be saved"))?;
            let State { busy_until, next_message, next_event, random, incoming, asking, .. } = &**state;
            let numbers = (host as u32, *busy_until, *next_message, *next_event, random.state());
            states.push((numbers, incoming, asking, program));
        }
        Ok(checkpoint::encode(&(states, &self.queues, &self.actions)))
    }

    /// Goes on from what [`Hosts::save`] has written.
    ///
    /// # Errors
    /// A sentence, if it was not of such hosts.
    pub(crate) fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        type Host = ((u32, Time, u32, u32, u64), BTreeMap<(u32, u32), u64>, BTreeMap<u32, Outgoing>, Vec<u8>);
        let (hosts, queues, actions): (Vec<Host>, Vec<Turns>, Store<Action>) = checkpoint::decode(state)?;
        if queues.len() != self.queues.len() || hosts.len() != self.states.iter().flatten().count() {
            return Err("other hosts".into());
        }
        (self.queues, self.actions) = (queues, actions);
        for ((host, busy_until, next_message, next_event, random), incoming, asking, program) in hosts {
            let place = self.states.get_mut(host as usize).and_then(Option::as_mut).ok_or("other hosts")?;
            place.program.restore(host, &program)?;
            place.random = SplitMix64::new(random);
            (place.busy_until, place.next_message, place.next_event) = (busy_until, next_message, next_event);
            (place.incoming, place.asking) = (incoming, asking);
        }
        Ok(())
    }

    /// What hosts still wait for, the first few.
    pub(crate) fn waiting(&self) -> Vec<String> {
        let mut list = Vec::new();
        for (host, state) in self.states.iter().enumerate() {
            if let Some(what) = state.as_ref().and_then(|s| s.program.waits_for()) {
                list.push(format!("host {host} waits for {what}"));
            }
        }
        list
    }

    pub(crate) fn programs(&mut self) -> impl Iterator<Item = (u32, Box<dyn Program>)> + '_ {
        self.states.iter_mut().enumerate().filter_map(|(host, state)| Some((host as u32, state.take()?.program)))
    }
}

impl Shard<'_> {
    /// All hosts begin.
    pub(crate) fn start(&mut self) {
        for host in 0..self.fabric.hosts {
            if self.owns(host) {
                self.schedule(host, 0, Action::Start);
            }
        }
    }

    /// An event of a host's own has come.
    pub(crate) fn act(&mut self, host: u32, payload: u32) {
        match self.hosts.take_action(payload) {
            Action::Start => self.call(host, |program, context| program.start(context)),
            Action::Inject(message) => self.enqueue(message),
            Action::Deliver(delivery) => self.call(host, |program, context| program.received(context, delivery)),
            Action::Woken(token) => self.call(host, |program, context| program.woken(context, token)),
            Action::Sent(token) => self.call(host, |program, context| program.sent(context, token)),
            Action::Free => {}
        }
    }

    /// Calls a host's program, and carries out what it says.
    fn call(&mut self, host: u32, function: impl FnOnce(&mut dyn Program, &mut Host<'_>)) {
        let mut commands = std::mem::take(&mut self.hosts.commands);
        let now = self.now;
        let state = self.hosts.state(host);
        let mut program = std::mem::replace(&mut state.program, Box::new(Idle));
        let mut context = Host { number: host, now, random: &mut state.random, commands: &mut commands };
        function(&mut *program, &mut context);
        state.program = program;
        for command in commands.drain(..) {
            match command {
                Command::Send { to, bytes, token, notice } => self.post(host, to, bytes, token, notice),
                Command::Wake { at, token } => self.schedule(host, at.max(now), Action::Woken(token)),
                Command::Work { time, token } => {
                    let over = self.occupy(host, time);
                    if let Some(token) = token {
                        self.schedule(host, over, Action::Woken(token));
                    }
                }
            }
        }
        self.hosts.commands = commands;
    }

    /// Keeps a processor busy; until when.
    fn occupy(&mut self, host: u32, time: Time) -> Time {
        let now = self.now;
        let state = self.hosts.state(host);
        // A file may ask for more than there is time.
        state.busy_until = state.busy_until.max(now).saturating_add(time);
        state.busy_until
    }

    /// A program sends a message.
    fn post(&mut self, host: u32, to: u32, bytes: u64, token: u64, notice: Notice) {
        if to >= self.fabric.hosts {
            let text = format!("host {host} sends to host {to}, but there are {} hosts", self.fabric.hosts);
            self.hosts.failure.get_or_insert(SimError::Workload(text));
            return;
        }
        let at = self.occupy(host, self.model.host.send_overhead_picoseconds);
        if to == host && !self.model.host.loopback_by_router {
            let rate = self.model.host.copy_bytes_per_second;
            let copy = if rate > 0.0 { Rate::bytes_per_second(rate) } else { Rate::INFINITE };
            let over = self.occupy(host, copy.time(bytes));
            let delivery = Delivery { from: host, bytes, token, sent: self.now };
            if notice != Notice::Put {
                self.schedule(host, over, Action::Deliver(delivery));
            }
            if notice != Notice::None {
                self.schedule(host, over, Action::Sent(token));
            }
            return;
        }
        let kind = match notice {
            Notice::Put => Kind::Put,
            Notice::Received => Kind::Confirmed,
            Notice::None | Notice::Left => Kind::Data,
        };
        let tell = notice == Notice::Left;
        let Some(message) = self.message(host, to, kind, bytes, token, tell) else { return };
        if bytes > self.model.host.eager_bytes && kind != Kind::Put {
            let number = self.messages.get(message.message).label.message;
            self.hosts.state(host).asking.insert(number, message);
            self.control(host, to, Kind::Request, number.into(), at);
        } else {
            self.inject_at(host, at, message);
        }
    }

    fn message(&mut self, src: u32, dst: u32, kind: Kind, bytes: u64, token: u64, tell: bool) -> Option<Outgoing> {
        let Some(route) = self.route(src, dst) else {
            let text = format!("the fabric has no route from host {src} to host {dst}");
            self.hosts.failure.get_or_insert(SimError::Routing(text));
            return None;
        };
        let born = self.now;
        let state = self.hosts.state(src);
        let message = state.next_message;
        state.next_message = message.wrapping_add(1);
        let label = Label { src, dst, message, kind, bytes, token, born };
        let message = self.messages.add(Message { label, route, uses: 1 });
        Some(Outgoing { message, dst, bytes, sent: 0, tell: tell.then_some(token) })
    }

    /// A message of the protocol.
    fn control(&mut self, host: u32, to: u32, kind: Kind, token: u64, at: Time) {
        let bytes = self.model.host.control_bytes;
        if let Some(message) = self.message(host, to, kind, bytes, token, false) {
            self.inject_at(host, at, message);
        }
    }

    fn inject_at(&mut self, host: u32, at: Time, message: Outgoing) {
        if at > self.now {
            self.schedule(host, at, Action::Inject(message));
        } else {
            self.enqueue(message);
        }
    }

    /// A message waits for the network.
    fn enqueue(&mut self, message: Outgoing) {
        let step = self.messages.get(message.message).route.steps()[0];
        let queue = if self.fabric.queue_per_link { step.class() } else { 0 };
        let queue = self.hosts.queues(step.channel()).start + queue;
        if let Some(series) = &mut self.series {
            series.queued(queue, self.now, i64::try_from(message.bytes).unwrap_or(i64::MAX));
        }
        self.hosts.queues[queue as usize].push(message);
        self.outputs[step.channel() as usize].waiting += 1;
        self.touch(step.channel());
    }

    /// The last packet of a message has arrived in a host's memory.
    pub(crate) fn message_complete(&mut self, host: u32, label: Label) {
        let overhead = self.model.host.receive_overhead_picoseconds;
        match label.kind {
            Kind::Data | Kind::Confirmed => {
                let at = self.occupy(host, overhead);
                self.counters.message(at - label.born);
                let delivery = Delivery { from: label.src, bytes: label.bytes, token: label.token, sent: label.born };
                if label.kind == Kind::Confirmed {
                    self.control(host, label.src, Kind::Confirmation, label.token, at);
                }
                if at > self.now {
                    self.schedule(host, at, Action::Deliver(delivery));
                } else {
                    self.call(host, |program, context| program.received(context, delivery));
                }
            }
            Kind::Put => {
                self.counters.message(self.now - label.born);
                self.control(host, label.src, Kind::Confirmation, label.token, self.now);
            }
            Kind::Request => {
                let at = self.occupy(host, overhead);
                self.control(host, label.src, Kind::Grant, label.token, at);
            }
            Kind::Grant => {
                let at = self.occupy(host, overhead);
                // What was asked for.
                if let Some(message) = self.hosts.state(host).asking.remove(&(label.token as u32)) {
                    self.inject_at(host, at, message);
                }
            }
            Kind::Confirmation => self.call(host, |program, context| program.sent(context, label.token)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the sentence at the top of the file: destinations take turns, packet by packet, and the messages to one
        /// destination go in order.
        #[test]
        fn destinations_take_turns(steps in prop::collection::vec(prop::option::of((0u32..4, 1u64..4)), 0..60)) {
            let mut turns = Turns::default();
            // Destinations in the order of their turns, each with the (number, packets left) of its messages.
            let mut model: VecDeque<(u32, VecDeque<(u32, u64)>)> = VecDeque::new();
            for (number, step) in (0..).zip(steps) {
                if let Some((dst, bytes)) = step {
                    turns.push(Outgoing { message: number, dst, bytes, sent: 0, tell: None });
                    match model.iter_mut().find(|(to, _)| *to == dst) {
                        Some((_, messages)) => messages.push_back((number, bytes)),
                        None => model.push_back((dst, VecDeque::from([(number, bytes)]))),
                    }
                    continue;
                }
                let expected = model.pop_front().map(|(dst, mut messages)| {
                    messages[0].1 -= 1;
                    let (message, left) = messages[0];
                    if left == 0 {
                        messages.pop_front();
                    }
                    if !messages.is_empty() {
                        model.push_back((dst, messages));
                    }
                    (message, left == 0)
                });
                let found = turns.front().map(|message| {
                    message.sent += 1;
                    (message.message, message.sent == message.bytes)
                });
                prop_assert_eq!(found, expected);
                if let Some((_, last)) = found {
                    turns.advance(last);
                }
            }
        }
    }
}
