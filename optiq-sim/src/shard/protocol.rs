//! What hosts do: the calls of programs, the protocols of messages, and the processor's time.

use super::state::Shard;
use crate::engine::packet::{Label, Message, PacketKind, Route};
use crate::engine::queue::Event;
use crate::error::SimError;
use crate::nic::hosts::Action;
use crate::nic::program::{Command, Delivery, Host, Idle, Notice, Program};
use crate::nic::round_robin::OutgoingMessage;
use crate::time::{Rate, Time};

impl Shard<'_> {
    /// All hosts begin.
    pub(crate) fn start(&mut self) {
        for host in 0..self.fabric.hosts {
            if self.owns(host) {
                self.schedule(host, Time::ZERO, Action::Start);
            }
        }
    }

    /// An event of a host's own has come.
    pub(super) fn act(&mut self, host: u32, payload: u32) {
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
    pub(super) fn call(&mut self, host: u32, function: impl FnOnce(&mut dyn Program, &mut Host<'_>)) {
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
    pub(super) fn occupy(&mut self, host: u32, time: Time) -> Time {
        let now = self.now;
        let state = self.hosts.state(host);
        // A file may have longer times than 64 bits hold.
        state.busy_until = state.busy_until.max(now).saturating_add(time);
        state.busy_until
    }

    /// A program sends a message.
    pub(super) fn post(&mut self, host: u32, to: u32, bytes: u64, token: u64, notice: Notice) {
        if to >= self.fabric.hosts {
            let text = format!("host {host} sends to host {to}, but there are {} hosts", self.fabric.hosts);
            self.failure.get_or_insert(SimError::Workload(text));
            return;
        }
        let at = self.occupy(host, Time::picoseconds(self.model.host.send_overhead_picoseconds));
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
            Notice::Put => PacketKind::Put,
            Notice::Received => PacketKind::Confirmed,
            Notice::None | Notice::Left => PacketKind::Data,
        };
        let tell = notice == Notice::Left;
        let Some(message) = self.message(host, to, kind, bytes, token, tell) else { return };
        if bytes > self.model.host.eager_bytes && kind != PacketKind::Put {
            let number = self.messages.get(message.message).label.message;
            self.hosts.state(host).requested.insert(number, message);
            self.control(host, to, PacketKind::Request, number.into(), at);
        } else {
            self.inject_at(host, at, message);
        }
    }

    pub(super) fn message(
        &mut self,
        src: u32,
        dst: u32,
        kind: PacketKind,
        bytes: u64,
        token: u64,
        tell: bool,
    ) -> Option<OutgoingMessage> {
        let Some(route) = self.route(src, dst) else {
            let text = format!("the fabric has no route from host {src} to host {dst}");
            self.failure.get_or_insert(SimError::Routing(text));
            return None;
        };
        let born = self.now;
        let state = self.hosts.state(src);
        let message = state.next_message;
        state.next_message = message.wrapping_add(1);
        let label = Label { src, dst, message, kind, bytes, token, born };
        let message = self.messages.add(Message { label, route, uses: 1 });
        Some(OutgoingMessage { message, dst, bytes, sent: 0, tell: tell.then_some(token) })
    }

    /// A message of the protocol.
    pub(super) fn control(&mut self, host: u32, to: u32, kind: PacketKind, token: u64, at: Time) {
        let bytes = self.model.host.control_bytes;
        if let Some(message) = self.message(host, to, kind, bytes, token, false) {
            self.inject_at(host, at, message);
        }
    }

    pub(super) fn inject_at(&mut self, host: u32, at: Time, message: OutgoingMessage) {
        if at > self.now {
            self.schedule(host, at, Action::Inject(message));
        } else {
            self.enqueue(message);
        }
    }

    /// A message waits for the network.
    pub(super) fn enqueue(&mut self, message: OutgoingMessage) {
        let step = self.messages.get(message.message).route.steps()[0];
        let queue = if self.fabric.queue_per_link { step.class() } else { 0 };
        let queue = self.hosts.queues(step.channel()).start + queue;
        if let Some(observer) = &mut self.observer {
            observer.memory_queue_changed(queue, self.now, i64::try_from(message.bytes).unwrap_or(i64::MAX));
        }
        self.hosts.enqueue(queue, message);
        self.outputs[step.channel() as usize].waiting += 1;
        self.touch(step.channel());
    }

    /// The last packet of a message has arrived in a host's memory.
    pub(super) fn message_complete(&mut self, host: u32, label: Label) {
        let overhead = Time::picoseconds(self.model.host.receive_overhead_picoseconds);
        match label.kind {
            PacketKind::Data | PacketKind::Confirmed => {
                let at = self.occupy(host, overhead);
                self.counters.message(at - label.born);
                let delivery = Delivery { from: label.src, bytes: label.bytes, token: label.token, sent: label.born };
                if label.kind == PacketKind::Confirmed {
                    self.control(host, label.src, PacketKind::Confirmation, label.token, at);
                }
                if at > self.now {
                    self.schedule(host, at, Action::Deliver(delivery));
                } else {
                    self.call(host, |program, context| program.received(context, delivery));
                }
            }
            PacketKind::Put => {
                self.counters.message(self.now - label.born);
                self.control(host, label.src, PacketKind::Confirmation, label.token, self.now);
            }
            PacketKind::Request => {
                let at = self.occupy(host, overhead);
                self.control(host, label.src, PacketKind::Grant, label.token, at);
            }
            PacketKind::Grant => {
                let at = self.occupy(host, overhead);
                // The message that was granted.
                if let Some(message) = self.hosts.state(host).requested.remove(&(label.token as u32)) {
                    self.inject_at(host, at, message);
                }
            }
            PacketKind::Confirmation => self.call(host, |program, context| program.sent(context, label.token)),
        }
    }

    /// An event of a host's own.
    pub(super) fn schedule(&mut self, host: u32, time: Time, action: Action) {
        let (number, payload) = self.hosts.keep_action(host, action);
        let component = u64::from(self.fabric.channels.len() as u32 + host);
        self.queue.push(Event { time, key: component << 32 | u64::from(number), payload });
    }

    /// The route of a message; `None` if the network has none.
    pub(super) fn route(&mut self, src: u32, dst: u32) -> Option<Route> {
        let draws = if self.routes.draws_ties() { self.hosts.random_draw(src) } else { 0 };
        self.routes.route(self.fabric, (src, dst), draws, &mut self.scratch).ok()
    }
}
