//! A closed loop of messages: `pairs`, `uniform`, `tornado` and `incast`.
//!
//! ```text
//!     sender    start ──────► message ──────► receiver     sample: from start to here
//!               next  ◄────── confirmation ◄─ (32 bytes)   the think time counts from here
//! ```
//!
//! The confirmation's token says how long the message took, so the sender has the sample without that of the way back. A put is
//! confirmed by the receiver's network interface, without its program; its sample is until then, as that of a put with a flush.

use super::destinations::Destinations;
use super::member::Member;
use super::pacing::{Clock, Wake};
use super::samples::Recorder;
use crate::nic::program::{Delivery, Host, Notice, Program};
use crate::time::Time;
use optiq_trace::codec;
use std::panic::Location;

/// A token with it is a confirmation; the rest is how long the message took.
const CONFIRMATION: u64 = 1 << 63;

/// A receiver's answer to a message of a closed loop; nothing to a confirmation.
pub(super) fn confirm(member: &Member, host: &mut Host<'_>, delivery: &Delivery, control: u64) {
    if delivery.token & CONFIRMATION == 0 {
        let took = (host.now() - delivery.sent).as_picoseconds();
        member.send(host, member.source(delivery), control, CONFIRMATION | took, Notice::None);
    }
}

/// A rank that sends one message after the other, and confirms those of others.
pub(super) struct MessageLoop {
    pub(super) member: Member,
    pub(super) destinations: Destinations,
    pub(super) bytes: u64,
    /// Whether it puts in place of sending messages.
    pub(super) puts: bool,
    pub(super) control: u64,
    pub(super) clock: Clock,
    pub(super) recorder: Recorder,
    pub(super) keep_going: bool,
    /// When its message was sent.
    pub(super) started: Time,
    /// Whether a message is not confirmed yet.
    pub(super) is_open: bool,
}

impl MessageLoop {
    fn send(&mut self, host: &mut Host<'_>) {
        if let Some(to) = self.destinations.next() {
            self.started = host.now();
            self.is_open = true;
            let notice = if self.puts { Notice::Put } else { Notice::None };
            self.member.send(host, to, self.bytes, 0, notice);
        }
    }

    /// Its message is confirmed; how long it took.
    fn complete(&mut self, host: &mut Host<'_>, took: Time) {
        self.is_open = false;
        self.recorder.record(host, self.started, took);
        if self.keep_going || !self.recorder.is_complete() {
            self.clock.wait(host, self.started, Wake(0));
        }
    }
}

impl Program for MessageLoop {
    fn start(&mut self, host: &mut Host<'_>) {
        self.recorder.start(host);
        let first = self.clock.first();
        self.clock.wait_until(host, first, Wake(0));
    }

    fn woken(&mut self, host: &mut Host<'_>, token: u64) {
        if self.clock.woken(host, token) {
            self.send(host);
        }
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        confirm(&self.member, host, &delivery, self.control);
        if delivery.token & CONFIRMATION != 0 {
            self.complete(host, Time::picoseconds(delivery.token & !CONFIRMATION));
        }
    }

    fn sent(&mut self, host: &mut Host<'_>, _: u64) {
        self.complete(host, host.now() - self.started);
    }

    fn receives_in(&self) -> Option<&'static Location<'static>> {
        Some(Location::caller())
    }

    fn waits_for(&self) -> Option<String> {
        self.is_open.then(|| format!("rank {} waits for the confirmation of its message", self.member.rank))
    }

    fn save(&self) -> Option<Vec<u8>> {
        let (destinations, clock) = (self.destinations.save(), self.clock.save());
        Some(codec::encode(&(destinations, clock, self.recorder.save(), self.started, self.is_open)))
    }

    fn restore(&mut self, _: u32, state: &[u8]) -> Result<(), String> {
        let (destinations, clock, recorder, started, is_open) = codec::decode(state)?;
        self.destinations.restore(destinations);
        self.clock.restore(clock);
        self.recorder.restore(recorder)?;
        (self.started, self.is_open) = (started, is_open);
        Ok(())
    }
}
