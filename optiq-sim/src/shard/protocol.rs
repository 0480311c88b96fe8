//! What processes do: the calls of programs, the protocols of messages, and the processor's time.

use super::state::Shard;
use crate::engine::observer::{MarkedEvent, Observation};
use crate::engine::packet::{Label, Message, PacketKind, Route};
use crate::engine::queue::Event;
use crate::error::SimError;
use crate::model::Grants;
use crate::nic::hosts::{Action, ProcessState};
use crate::nic::layout::Process;
use crate::nic::program::{Command, Delivery, Host, Notice, Program};
use crate::nic::round_robin::OutgoingMessage;
use crate::time::{Rate, Time};
use std::panic::Location;

impl<O: Observation> Shard<'_, O> {
    /// All processes begin.
    pub(crate) fn start(&mut self) {
        for (process, number) in self.layout.processes().iter().zip(0..) {
            if self.owns(process.host) {
                self.schedule(number, Time::ZERO, Action::Start);
            }
        }
    }

    /// An event of a process's own has come.
    pub(super) fn act(&mut self, process: u32, payload: u32) {
        match self.hosts.take_action(payload) {
            Action::Start => self.call(process, |program, context| program.start(context)),
            Action::Inject(message) => self.enqueue(message),
            Action::Deliver(delivery) => self.deliver(process, self.now, delivery),
            Action::Copied(delivery) => {
                let at = self.occupy(process, Time::ZERO);
                self.deliver(process, at, delivery);
            }
            Action::Woken(token) => self.call(process, |program, context| program.woken(context, token)),
            Action::Sent(token) => self.call(process, |program, context| program.sent(context, token)),
            Action::Free => {}
        }
    }

    /// Calls a process's program, and carries out what it says.
    pub(super) fn call(&mut self, process: u32, function: impl FnOnce(&mut dyn Program, &mut Host<'_>)) {
        let mut commands = std::mem::take(&mut self.hosts.commands);
        let now = self.now;
        let state = self.hosts.state(process);
        let ProcessState { program, random, place, .. } = state;
        function(&mut **program, &mut Host { number: process, place: *place, now, random, commands: &mut commands });
        for command in commands.drain(..) {
            match command {
                Command::Send { to, bytes, token, notice, line } => {
                    self.post(process, to, (bytes, token), notice, line);
                }
                Command::Wake { at, token } => self.schedule(process, at.max(now), Action::Woken(token)),
                Command::Work { time, token } => {
                    let over = self.occupy(process, time);
                    if let Some(token) = token {
                        self.schedule(process, over, Action::Woken(token));
                    }
                }
                Command::WarmUp(warms_up) => self.hosts.state(process).warms_up = warms_up,
                Command::Done => self.done(process),
            }
        }
        self.hosts.commands = commands;
    }

    /// A process has all its samples.
    fn done(&mut self, process: u32) {
        let state = self.hosts.state(process);
        if state.done == Time::NEVER {
            state.done = self.now;
            self.awaited -= u64::from(self.layout.is_measured(state.place.job));
        }
    }

    /// A message reaches a program at a time that is not before now.
    fn deliver(&mut self, process: u32, at: Time, delivery: Delivery) {
        if at > self.now {
            self.schedule(process, at, Action::Deliver(delivery));
        } else {
            self.call(process, |program, context| program.received(context, delivery));
        }
    }

    /// Keeps a processor busy; until when.
    pub(super) fn occupy(&mut self, process: u32, time: Time) -> Time {
        let now = self.now;
        let state = self.hosts.state(process);
        // A file may have longer times than 64 bits hold.
        state.busy_until = state.busy_until.max(now).saturating_add(time);
        state.busy_until
    }

    /// A program sends a message.
    pub(super) fn post(
        &mut self,
        process: u32,
        to: u32,
        (bytes, token): (u64, u64),
        notice: Notice,
        line: &'static Location<'static>,
    ) {
        let Some(&Process { host: destination, .. }) = self.layout.processes().get(to as usize) else {
            return self.no_such_process(process, to);
        };
        let at = self.occupy(process, Time::picoseconds(self.model.host.send_overhead_picoseconds));
        let source = self.hosts.state(process).place.host;
        if source == destination && !self.model.host.loopback_by_router {
            return self.copy(process, to, bytes, token, notice);
        }
        let kind = match notice {
            Notice::Put => PacketKind::Put,
            Notice::Received => PacketKind::Confirmed,
            Notice::None | Notice::Left => PacketKind::Data,
        };
        let tell = notice == Notice::Left;
        let Some(message) = self.message(process, to, kind, bytes, token, tell) else { return };
        self.tell_marked(message.message, |label| MarkedEvent::Issued { label, line });
        if bytes > self.model.host.eager_bytes && kind != PacketKind::Put {
            let number = self.messages.get(message.message).label.message;
            self.hosts.state(process).requested.insert(number, message);
            self.control(process, to, PacketKind::Request, number.into(), at);
        } else {
            self.inject_at(process, at, message);
        }
    }

    fn no_such_process(&mut self, process: u32, to: u32) {
        let (name, count) = (self.layout.name(process), self.layout.processes().len());
        let text = match self.layout.is_by_host() {
            true => format!("{name} sends to host {to}, but there are {count} hosts"),
            false => format!("{name} sends to process {to}, but there are {count} processes"),
        };
        self.failure.get_or_insert(SimError::Workload(text));
    }

    /// A message to the same process or another one on its host: the sender's processor copies it. Another process has it when
    /// its own processor is free.
    fn copy(&mut self, process: u32, to: u32, bytes: u64, token: u64, notice: Notice) {
        let rate = self.model.host.copy_bytes_per_second;
        let copy = if rate > 0.0 { Rate::bytes_per_second(rate) } else { Rate::INFINITE };
        let over = self.occupy(process, copy.time(bytes));
        let delivery = Delivery { from: process, bytes, token, sent: self.now };
        if notice != Notice::Put {
            let action = if to == process { Action::Deliver(delivery) } else { Action::Copied(delivery) };
            self.schedule(to, over, action);
        }
        if notice != Notice::None {
            self.schedule(process, over, Action::Sent(token));
        }
    }

    pub(super) fn message(
        &mut self,
        from: u32,
        to: u32,
        kind: PacketKind,
        bytes: u64,
        token: u64,
        tell: bool,
    ) -> Option<OutgoingMessage> {
        let dst = self.layout.processes()[to as usize].host;
        let src = self.hosts.state(from).place.host;
        let Some(route) = self.route(from, (src, dst)) else {
            let text = format!("the fabric has no route from host {src} to host {dst}");
            self.failure.get_or_insert(SimError::Routing(text));
            return None;
        };
        let born = self.now;
        let state = self.hosts.state(from);
        let message = state.next_message;
        state.next_message = message.wrapping_add(1);
        let (job, warms_up) = (state.place.job, state.warms_up);
        let marked = false;
        let mut label = Label { src, dst, from, to, message, job, kind, warms_up, marked, bytes, token, born };
        label.marked = self.observer.observer().is_some_and(|observer| observer.marks(&label));
        let message = self.messages.add(Message { label, route, uses: 1 });
        Some(OutgoingMessage { message, src: from, dst: to, tell, bytes, sent: 0 })
    }

    /// Tells the observer what happens to a message at its source, if it is marked.
    fn tell_marked<'a>(&'a mut self, message: u32, event: impl FnOnce(&'a Label) -> MarkedEvent<'a>) {
        let Self { messages, observer, now, .. } = self;
        let Some(observer) = observer.observer() else { return };
        let label = &messages.get(message).label;
        if label.marked {
            observer.marked(event(label), *now);
        }
    }

    /// A message of the protocol.
    pub(super) fn control(&mut self, process: u32, to: u32, kind: PacketKind, token: u64, at: Time) {
        let bytes = self.model.host.control_bytes;
        if let Some(message) = self.message(process, to, kind, bytes, token, false) {
            self.inject_at(process, at, message);
        }
    }

    pub(super) fn inject_at(&mut self, process: u32, at: Time, message: OutgoingMessage) {
        if at > self.now {
            self.schedule(process, at, Action::Inject(message));
        } else {
            self.enqueue(message);
        }
    }

    /// A message waits for the network.
    pub(super) fn enqueue(&mut self, message: OutgoingMessage) {
        let step = self.messages.get(message.message).route.steps()[0];
        let queue = if self.fabric.queue_per_link { step.class() } else { 0 };
        let queue = self.hosts.queues(step.channel()).start + queue;
        if let Some(observer) = self.observer.observer() {
            observer.memory_queue_changed(queue, self.now, i64::try_from(message.bytes).unwrap_or(i64::MAX));
        }
        self.tell_marked(message.message, |label| MarkedEvent::Queued { label });
        self.hosts.enqueue(queue, message, self.layout);
        self.outputs[step.channel() as usize].waiting += 1;
        self.touch(step.channel());
    }

    /// The last packet of a message has arrived in a host's memory.
    pub(super) fn message_complete(&mut self, label: Label) {
        let (process, sender) = (label.to, label.from);
        let overhead = Time::picoseconds(self.model.host.receive_overhead_picoseconds);
        if let (true, Some(observer)) = (label.marked, self.observer.observer()) {
            observer.marked(MarkedEvent::Complete { label: &label }, self.now);
        }
        match label.kind {
            PacketKind::Data | PacketKind::Confirmed => {
                let at = self.occupy(process, overhead);
                self.count_message(&label, at);
                if let (true, Some(observer)) = (label.marked, self.observer.observer()) {
                    let line = self.hosts.state(process).program.receives_in();
                    observer.marked(MarkedEvent::Taken { label: &label, line }, at);
                }
                let delivery = Delivery { from: sender, bytes: label.bytes, token: label.token, sent: label.born };
                if label.kind == PacketKind::Confirmed {
                    self.control(process, sender, PacketKind::Confirmation, label.token, at);
                }
                if label.bytes > self.model.host.eager_bytes {
                    self.grant_next(process, at);
                }
                self.deliver(process, at, delivery);
            }
            PacketKind::Put => {
                self.count_message(&label, self.now);
                self.control(process, sender, PacketKind::Confirmation, label.token, self.now);
            }
            PacketKind::Request => {
                let at = self.occupy(process, overhead);
                let one_by_one = self.model.host.grants == Grants::OneByOne;
                let state = self.hosts.state(process);
                if one_by_one && std::mem::replace(&mut state.pulls, true) {
                    state.asked.insert((sender, label.token));
                } else {
                    self.control(process, sender, PacketKind::Grant, label.token, at);
                }
            }
            PacketKind::Grant => {
                let at = self.occupy(process, overhead);
                // The message that was granted.
                if let Some(message) = self.hosts.state(process).requested.remove(&(label.token as u32)) {
                    self.inject_at(process, at, message);
                }
            }
            PacketKind::Confirmation => self.call(process, |program, context| program.sent(context, label.token)),
        }
    }

    /// A large message has arrived: a process that pulls one at a time grants the next one of the next sender that has asked.
    fn grant_next(&mut self, process: u32, at: Time) {
        let state = self.hosts.state(process);
        let behind = state.asked.range((state.turn, 0)..).next();
        let next = behind.or_else(|| state.asked.first()).copied();
        state.pulls = next.is_some();
        if let Some((sender, message)) = next {
            state.asked.remove(&(sender, message));
            state.turn = sender.saturating_add(1);
            self.control(process, sender, PacketKind::Grant, message, at);
        }
    }

    /// A message was received at a time.
    fn count_message(&mut self, label: &Label, at: Time) {
        let latency = (!label.warms_up).then_some(at - label.born);
        self.counters.message(latency);
        if let Some(observer) = self.observer.observer() {
            observer.received(label.job, latency);
        }
    }

    /// An event of a process's own.
    pub(super) fn schedule(&mut self, process: u32, time: Time, action: Action) {
        let (number, payload) = self.hosts.keep_action(process, action);
        let component = u64::from(self.fabric.channels.len() as u32 + process);
        self.queue.push(Event { time, key: component << 32 | u64::from(number), payload });
    }

    /// The route of a process's message between two hosts; `None` if the network has none.
    pub(super) fn route(&mut self, process: u32, hosts: (u32, u32)) -> Option<Route> {
        let draws = if self.routes.draws_ties() { self.hosts.random_draw(process) } else { 0 };
        self.routes.route(self.fabric, hosts, draws, &mut self.scratch).ok()
    }
}
