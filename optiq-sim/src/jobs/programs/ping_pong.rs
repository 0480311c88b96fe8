//! ImpactB: one of two paired ranks sends a message, the other one sends one of the same size back, and the sample is half of the round
//! trip. The think time counts from its end.

use super::member::Member;
use super::pacing::{Clock, Wake};
use super::samples::Recorder;
use crate::nic::program::{Delivery, Host, Notice, Program};
use crate::time::Time;
use optiq_probe::description::Partner;
use optiq_trace::codec;
use std::panic::Location;

/// Tokens: the way out, and the way back.
const PING: u64 = 0;
const PONG: u64 = 1;

/// A rank; one without a partner does nothing.
pub(super) struct PingPong {
    pub(super) member: Member,
    pub(super) partner: Option<Partner>,
    pub(super) bytes: u64,
    pub(super) clock: Clock,
    pub(super) recorder: Recorder,
    pub(super) keep_going: bool,
    /// When its message was sent.
    pub(super) started: Time,
    /// Whether the answer is not there yet.
    pub(super) is_open: bool,
}

impl PingPong {
    fn begins(&self) -> bool {
        self.partner.is_some_and(|partner| partner.begins)
    }

    fn send(&self, host: &mut Host<'_>, token: u64) {
        if let Some(partner) = self.partner {
            self.member.send(host, partner.rank, self.bytes, token, Notice::None);
        }
    }
}

impl Program for PingPong {
    fn start(&mut self, host: &mut Host<'_>) {
        self.recorder.start(host);
        if self.begins() {
            let first = self.clock.first();
            self.clock.wait_until(host, first, Wake(0));
        }
    }

    fn woken(&mut self, host: &mut Host<'_>, token: u64) {
        if self.clock.woken(host, token) {
            (self.started, self.is_open) = (host.now(), true);
            self.send(host, PING);
        }
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        if delivery.token == PING {
            self.send(host, PONG);
        } else {
            self.is_open = false;
            let half = Time::picoseconds((host.now() - self.started).as_picoseconds() / 2);
            self.recorder.record(host, self.started, half);
            if self.keep_going || !self.recorder.is_complete() {
                self.clock.wait(host, self.started, Wake(0));
            }
        }
    }

    fn receives_in(&self) -> Option<&'static Location<'static>> {
        Some(Location::caller())
    }

    fn waits_for(&self) -> Option<String> {
        self.is_open.then(|| format!("rank {} waits for the answer to its message", self.member.rank))
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(codec::encode(&(self.clock.save(), self.recorder.save(), self.started, self.is_open)))
    }

    fn restore(&mut self, _: u32, state: &[u8]) -> Result<(), String> {
        let (clock, recorder, started, is_open) = codec::decode(state)?;
        self.clock.restore(clock);
        self.recorder.restore(recorder)?;
        (self.started, self.is_open) = (started, is_open);
        Ok(())
    }
}
