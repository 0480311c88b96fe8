//! Hosts: the processor, the protocols of messages, and the queues between memory and network.
//!
//! A processor does one thing at a time: what a message costs it ([`crate::model::HostModel`]) delays what comes after. A
//! message up to `eager_bytes` is sent at once; a larger one asks first, and its bytes follow when the answer is there. What
//! is sent waits in the queue of the channel that its route begins with, and where hosts are joined directly, of the link that
//! follows. Queues take turns, and in each of them destinations do, packet by packet; messages to one destination go in
//! order, as on a queue pair.

use crate::SimError;
use crate::adaptive::Way;
use crate::model::Model;
use crate::packet::{Kind, Label, NONE, Packet, Route};
use crate::program::{Command, Delivery, Host, Idle, Notice, Program};
use crate::shard::Shard;
use crate::time::{Rate, Time};
use optiq_net::random::SplitMix64;
use std::collections::{BTreeMap, VecDeque};

/// What a host is going to do at some time.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Start,
    Inject(Box<Outgoing>),
    Deliver(Delivery),
    Woken(u64),
    Sent(u64),
    /// Nothing: the place is free.
    Free,
}

/// A message on its way out.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    label: Label,
    route: Route,
    sent: u64,
    /// Tell the program when the last byte has left.
    tell: bool,
}

/// A channel out of a host's memory.
#[derive(Clone, Debug)]
struct Port {
    channel: u32,
    queues: Vec<Turns>,
    waiting: u32,
}

/// Messages in order to each destination, which take turns.
#[derive(Clone, Debug, Default)]
struct Turns {
    turns: VecDeque<u32>,
    to: BTreeMap<u32, VecDeque<Outgoing>>,
}

impl Turns {
    fn push(&mut self, message: Outgoing) {
        let dst = message.label.dst;
        let list = self.to.entry(dst).or_default();
        if list.is_empty() {
            self.turns.push_back(dst);
        }
        list.push_back(message);
    }

    /// The message whose turn it is.
    fn front(&mut self) -> Option<&mut Outgoing> {
        self.to.get_mut(self.turns.front()?)?.front_mut()
    }

    /// A packet of the message in front has gone, the last one or not.
    fn advance(&mut self, last: bool) {
        let Some(dst) = self.turns.pop_front() else { return };
        let Some(list) = self.to.get_mut(&dst) else { return };
        if last {
            list.pop_front();
        }
        if list.is_empty() {
            self.to.remove(&dst);
        } else {
            self.turns.push_back(dst);
        }
    }
}

struct State {
    program: Box<dyn Program>,
    random: SplitMix64,
    ports: Vec<Port>,
    busy_until: Time,
    next_message: u32,
    next_event: u32,
    actions: Vec<Action>,
    free_actions: Vec<u32>,
    /// Of messages of several packets, what has not arrived: by source and number.
    incoming: BTreeMap<(u32, u32), u64>,
    /// Messages that have asked, by number.
    asking: BTreeMap<u32, Outgoing>,
}

/// The hosts of a shard.
#[derive(Default)]
pub(crate) struct Hosts {
    states: Vec<Option<Box<State>>>,
    commands: Vec<Command>,
    pub(crate) failure: Option<SimError>,
}

impl Hosts {
    pub(crate) fn new(hosts: u32) -> Self {
        Self { states: (0..hosts).map(|_| None).collect(), commands: Vec::new(), failure: None }
    }

    /// Adds a host with the channels out of its memory, each with its number of queues.
    pub(crate) fn add(&mut self, host: u32, seed: u64, ports: &[(u32, u32)], program: Box<dyn Program>) {
        let ports = ports.iter().map(|&(channel, queues)| {
            let queues = (0..queues).map(|_| Turns::default()).collect();
            Port { channel, queues, waiting: 0 }
        });
        // The stream of a component: its number, spread by the seed's first word.
        let base = SplitMix64::new(seed).next_u64();
        let random = SplitMix64::new(base ^ SplitMix64::new(u64::from(host) + 1).next_u64());
        self.states[host as usize] = Some(Box::new(State {
            program,
            random,
            ports: ports.collect(),
            busy_until: 0,
            next_message: 0,
            next_event: 0,
            actions: Vec::new(),
            free_actions: Vec::new(),
            incoming: BTreeMap::new(),
            asking: BTreeMap::new(),
        }));
    }

    fn state(&mut self, host: u32) -> &mut State {
        // Only hosts of this shard are asked for, and these were added.
        self.states[host as usize].as_mut().expect("a host of another shard")
    }

    fn port(&mut self, host: u32, channel: u32) -> &mut Port {
        let ports = &mut self.state(host).ports;
        let at = ports.iter().position(|p| p.channel == channel).unwrap_or(0);
        &mut ports[at]
    }

    /// Keeps an action until its event comes: the event's number and payload.
    pub(crate) fn keep(&mut self, host: u32, action: Action) -> (u32, u32) {
        let state = self.state(host);
        let number = state.next_event;
        state.next_event = number.wrapping_add(1);
        let at = match state.free_actions.pop() {
            Some(at) => {
                state.actions[at as usize] = action;
                at
            }
            None => {
                state.actions.push(action);
                state.actions.len() as u32 - 1
            }
        };
        (number, at)
    }

    fn take_action(&mut self, host: u32, at: u32) -> Action {
        let state = self.state(host);
        state.free_actions.push(at);
        std::mem::replace(&mut state.actions[at as usize], Action::Free)
    }

    pub(crate) fn has_messages(&mut self, host: u32, channel: u32) -> bool {
        self.port(host, channel).waiting > 0
    }

    pub(crate) fn queues(&mut self, host: u32, channel: u32) -> u32 {
        self.port(host, channel).queues.len() as u32
    }

    /// The size on the wire of the next packet of a queue.
    pub(crate) fn next_packet(&mut self, host: u32, channel: u32, queue: u32, model: &Model) -> Option<u32> {
        let message = self.port(host, channel).queues[queue as usize].front()?;
        let payload = (message.label.bytes - message.sent).min(model.link.packet_bytes);
        // The model's check keeps both below 2^31; a packet without bytes still takes a moment.
        Some((payload + model.link.header_bytes).max(1) as u32)
    }

    /// The next packet of a queue, and what to tell the program when it has left.
    pub(crate) fn take_packet(
        &mut self,
        host: u32,
        channel: u32,
        queue: u32,
        bytes: u32,
        model: &Model,
        now: Time,
    ) -> (Packet, Option<u64>) {
        let port = self.port(host, channel);
        let queue = &mut port.queues[queue as usize];
        let message = queue.front().expect("a queue that was found to have a message");
        let payload = (message.label.bytes - message.sent).min(model.link.packet_bytes);
        message.sent += payload;
        let (label, last) = (message.label, message.sent == message.label.bytes);
        let left = (last && message.tell).then_some(label.token);
        let route = Route::clone(&message.route);
        queue.advance(last);
        port.waiting -= u32::from(last);
        let packet = Packet {
            label,
            route,
            hop: 0,
            vc: 0,
            bytes,
            payload: payload as u32,
            tail: 0,
            injected: now,
            next: NONE,
            out: 0,
            out_class: 0,
            way: Way::START,
        };
        (packet, left)
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
        match self.hosts.take_action(host, payload) {
            Action::Start => self.call(host, |program, context| program.start(context)),
            Action::Inject(message) => self.enqueue(host, *message),
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
        if to == host {
            let rate = self.model.host.copy_bytes_per_second;
            let copy = if rate > 0.0 { Rate::bytes_per_second(rate) } else { Rate::INFINITE };
            let over = self.occupy(host, copy.time(bytes));
            let delivery = Delivery { from: host, bytes, token, sent: self.now };
            self.schedule(host, over, Action::Deliver(delivery));
            if notice != Notice::None {
                self.schedule(host, over, Action::Sent(token));
            }
            return;
        }
        let kind = if notice == Notice::Received { Kind::Confirmed } else { Kind::Data };
        let tell = notice == Notice::Left;
        let Some(message) = self.message(host, to, kind, bytes, token, tell) else { return };
        if bytes > self.model.host.eager_bytes {
            let number = u64::from(message.label.message);
            self.hosts.state(host).asking.insert(message.label.message, message);
            self.control(host, to, Kind::Request, number, at);
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
        Some(Outgoing { label: Label { src, dst, message, kind, bytes, token, born }, route, sent: 0, tell })
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
            self.schedule(host, at, Action::Inject(Box::new(message)));
        } else {
            self.enqueue(host, message);
        }
    }

    /// A message waits for the network.
    fn enqueue(&mut self, host: u32, message: Outgoing) {
        let step = message.route[0];
        let queue = if self.fabric.direct { step.class() } else { 0 };
        let port = self.hosts.port(host, step.channel());
        port.waiting += 1;
        port.queues[queue as usize].push(message);
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
