//! Operations in phases: in each a rank sends some messages and waits until they have left and those for it have arrived.
//!
//! `stencil`, `compression` and `alltoall` with all messages at once have one phase, `steps` has those of all its exchanges, `alltoall` in steps has one for each partner, `samplesort`
//! three. Ranks are not held together: one may be in the next phase, or operation, when others are not. A message carries the
//! number of its operation and phase; what comes early is counted until it is needed. A rank that needs a message from each
//! other one can be ahead by one phase only, and none is ahead further than its partners let it, so these counts are few.

use super::member::Member;
use super::pacing::{Clock, Wake};
use super::samples::Recorder;
use crate::nic::program::{Delivery, Host, Notice, Program};
use crate::time::Time;
use optiq_trace::codec;
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::Arc;

/// What ranks send to whom in each phase.
pub(super) trait Exchange: Send + Sync {
    /// How many phases an operation has, at least 1; the same for all ranks.
    fn phases(&self) -> u32;
    /// Adds what a rank sends in a phase, (rank, bytes), to `sends`; returns how many messages it receives.
    fn phase(&self, rank: u32, phase: u32, sends: &mut Vec<(u32, u64)>) -> u32;
    /// How long a rank's processor is busy before it enters a phase, besides jitter.
    fn computing(&self, _phase: u32) -> Time {
        Time::ZERO
    }
}

/// What wakes a rank: an operation starts.
const START: Wake = Wake(0);
/// The processor is ready for the phase `at`.
const COMPUTED: Wake = Wake(1);

/// A rank.
pub(super) struct Phased {
    member: Member,
    exchange: Arc<dyn Exchange>,
    clock: Clock,
    recorder: Recorder,
    keep_going: bool,
    /// Of operation and phase: `operation * phases + phase`; of the next one while it waits for its start.
    at: u64,
    /// Whether it is in that phase, and not still to compute or to start.
    is_active: bool,
    started: Time,
    unsent: u32,
    missing: i64,
    /// Messages of later phases that are there.
    early: BTreeMap<u64, u32>,
    sends: Vec<(u32, u64)>,
    /// Before the first operation.
    delay: Time,
}

impl Phased {
    pub(super) fn new(
        member: Member,
        exchange: Arc<dyn Exchange>,
        clock: Clock,
        recorder: Recorder,
        keep_going: bool,
    ) -> Self {
        let (early, mut sends) = (BTreeMap::new(), Vec::new());
        let (at, started) = (0, Time::ZERO);
        let mut moves = |phase| exchange.phase(member.rank, phase, &mut sends) > 0 || !sends.is_empty();
        // Who neither sends nor receives would go on for ever at one moment of simulated time.
        let keep_going = keep_going && (0..exchange.phases()).any(&mut moves);
        Self {
            member,
            exchange,
            clock,
            recorder,
            keep_going,
            at,
            is_active: false,
            started,
            unsent: 0,
            missing: 0,
            early,
            sends,
            delay: Time::ZERO,
        }
    }

    /// The first operation comes later by this.
    pub(super) fn delayed(self, delay: Time) -> Self {
        Self { delay, ..self }
    }

    fn begin(&mut self, host: &mut Host<'_>) {
        self.started = host.now();
        if self.is_ready(host) {
            self.enter(host);
            self.advance(host);
        }
    }

    /// Whether the phase `at` can be entered. If not, the processor computes first.
    fn is_ready(&mut self, host: &mut Host<'_>) -> bool {
        let computing = self.exchange.computing((self.at % u64::from(self.exchange.phases())) as u32);
        if computing > Time::ZERO {
            let computing = self.clock.jittered(computing);
            host.work_then(computing, COMPUTED.start());
        }
        computing == Time::ZERO
    }

    /// Enters the phase `at`.
    fn enter(&mut self, host: &mut Host<'_>) {
        let phase = (self.at % u64::from(self.exchange.phases())) as u32;
        self.sends.clear();
        let receives = self.exchange.phase(self.member.rank, phase, &mut self.sends);
        self.missing = i64::from(receives) - i64::from(self.early.remove(&self.at).unwrap_or(0));
        self.unsent = self.sends.len() as u32;
        self.is_active = true;
        for &(to, bytes) in &self.sends {
            self.member.send(host, to, bytes, self.at, Notice::Left);
        }
    }

    /// Goes on as long as nothing is missing.
    fn advance(&mut self, host: &mut Host<'_>) {
        while self.is_active && self.unsent == 0 && self.missing <= 0 {
            self.at += 1;
            self.is_active = false;
            if !self.at.is_multiple_of(u64::from(self.exchange.phases())) {
                if self.is_ready(host) {
                    self.enter(host);
                }
                continue;
            }
            self.recorder.record(host, self.started, host.now() - self.started);
            if self.keep_going || !self.recorder.is_complete() {
                self.clock.wait(host, self.started, START);
            }
        }
    }
}

impl Program for Phased {
    fn start(&mut self, host: &mut Host<'_>) {
        self.recorder.start(host);
        let first = self.clock.first() + self.delay;
        self.clock.wait_until(host, first, START);
    }

    fn woken(&mut self, host: &mut Host<'_>, token: u64) {
        if Wake::of(token) == COMPUTED {
            self.enter(host);
            self.advance(host);
        } else if self.clock.woken(host, token) {
            self.begin(host);
        }
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        if self.is_active && delivery.token == self.at {
            self.missing -= 1;
            self.advance(host);
        } else {
            *self.early.entry(delivery.token).or_default() += 1;
        }
    }

    fn sent(&mut self, host: &mut Host<'_>, _: u64) {
        self.unsent -= 1;
        self.advance(host);
    }

    fn waits_for(&self) -> Option<String> {
        let Self { unsent, missing, .. } = self;
        let rank = self.member.rank;
        let text = || format!("rank {rank} waits for {missing} messages to arrive and {unsent} to leave");
        self.is_active.then(text)
    }

    fn receives_in(&self) -> Option<&'static Location<'static>> {
        Some(Location::caller())
    }

    fn save(&self) -> Option<Vec<u8>> {
        let Self { at, is_active, started, unsent, missing, early, .. } = self;
        let place = (at, is_active, started, unsent, missing, early);
        Some(codec::encode(&(self.clock.save(), self.recorder.save(), place)))
    }

    fn restore(&mut self, _: u32, state: &[u8]) -> Result<(), String> {
        let (clock, recorder, place) = codec::decode(state)?;
        self.clock.restore(clock);
        self.recorder.restore(recorder)?;
        (self.at, self.is_active, self.started, self.unsent, self.missing, self.early) = place;
        Ok(())
    }
}
