//! A program that ends, again and again: `alltoallv` by OPTIQ and `goal`.
//!
//! Between two operations ranks wait for each other in a dissemination barrier (D. Hensgen, R. Finkel and U. Manber, "Two
//! Algorithms for Barrier Synchronization", Int. J. Parallel Programming 17, 1988): in step `i` rank `r` tells rank
//! `r + 2^i`, and waits for rank `r - 2^i`. OPTIQ's ranks agree before each exchange as well. The barrier is no part of an
//! operation's time. A program within sees ranks in place of processes; some bits of its tokens, which it leaves zero, say
//! to which operation they belong. What arrives for the next operation is kept until that begins; what a finished one left
//! on its way is dropped.

use super::member::Member;
use super::pacing::{Clock, Wake};
use super::samples::{JobReport, Recorder};
use crate::nic::program::{Command, Delivery, Host, Notice, Program};
use crate::time::Time;
use optiq_net::random::SplitMix64;
use optiq_trace::codec;
use std::collections::BTreeSet;

/// What a rank runs once for each operation.
pub(in crate::jobs) trait Once: Send {
    /// Makes it new.
    fn renew(&mut self);
    /// What runs.
    fn program(&mut self) -> &mut dyn Program;
    /// The same, to be looked at.
    fn as_program(&self) -> &dyn Program;
    /// Whether it has ended.
    fn is_done(&self) -> bool;
    /// After a restored state: whether it had ended.
    fn set_done(&mut self, is_done: bool);
    /// What went wrong, once.
    fn take_failure(&mut self) -> Option<String>;
    /// Where in its tokens 8 bits are zero.
    fn free_bits(&self) -> u32;
}

/// Operations have numbers modulo this; the tag is that of barriers.
const BARRIER: u64 = 255;
/// Token of `woken` of this program; those of the one within are other numbers.
const NEXT: u64 = 1 << 62;

/// Where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
enum Stage {
    /// It waits for the start of an operation.
    Pause,
    /// In an operation.
    Operation,
    /// In this step of a barrier.
    Barrier(u32),
    /// At its end.
    Over,
}

/// A rank.
pub(super) struct Repeated {
    member: Member,
    once: Box<dyn Once>,
    clock: Clock,
    recorder: Recorder,
    report: JobReport,
    keep_going: bool,
    stage: Stage,
    operation: u64,
    started: Time,
    /// Messages of the next operation: who sent them, bytes, token, when.
    early: Vec<Delivery>,
    /// Barriers' steps that others have told: operation and step.
    told: BTreeSet<(u64, u32)>,
    commands: Vec<Command>,
    random: SplitMix64,
}

impl Repeated {
    pub(super) fn new(
        member: Member,
        once: Box<dyn Once>,
        clock: Clock,
        recorder: Recorder,
        (report, keep_going, seed): (JobReport, bool, u64),
    ) -> Self {
        Self {
            member,
            once,
            clock,
            recorder,
            report,
            keep_going,
            stage: Stage::Pause,
            operation: 0,
            started: Time::ZERO,
            early: Vec::new(),
            told: BTreeSet::new(),
            commands: Vec::new(),
            random: super::member::stream(seed, member.rank, super::member::Stream::Destinations),
        }
    }

    fn tag(&self) -> u64 {
        self.operation % BARRIER
    }

    fn tagged(&self, token: u64, tag: u64) -> u64 {
        token | tag << self.once.free_bits()
    }

    /// The tag of a token, and the rest of it.
    fn untagged(&self, token: u64) -> (u64, u64) {
        let mask = 0xff << self.once.free_bits();
        ((token & mask) >> self.once.free_bits(), token & !mask)
    }

    /// Whether a message is of the operation that this rank begins next.
    fn belongs_to_next(&self, tag: u64) -> bool {
        match self.stage {
            Stage::Pause => tag == self.tag(),
            Stage::Barrier(_) => tag == (self.operation + 1) % BARRIER,
            Stage::Operation | Stage::Over => false,
        }
    }

    /// Calls the program within, and passes on what it says.
    fn call(&mut self, host: &mut Host<'_>, function: impl FnOnce(&mut dyn Program, &mut Host<'_>)) {
        let mut commands = std::mem::take(&mut self.commands);
        {
            let random = &mut self.random;
            let mut inner =
                Host { number: self.member.rank, place: host.place, now: host.now(), random, commands: &mut commands };
            function(self.once.program(), &mut inner);
        }
        for command in commands.drain(..) {
            match command {
                Command::Send { to, bytes, token, notice, line } => {
                    let (to, token) = (self.member.first + to, self.tagged(token, self.tag()));
                    host.order(Command::Send { to, bytes, token, notice, line });
                }
                // What runs within neither warms up nor is done: this program says so.
                Command::WarmUp(_) | Command::Done => {}
                Command::Wake { at, token } => host.wake_at(at, token),
                Command::Work { time, token: Some(token) } => host.work_then(time, token),
                Command::Work { time, token: None } => host.work(time),
            }
        }
        self.commands = commands;
        if let Some(failure) = self.once.take_failure() {
            self.report.fail(failure);
        }
        if self.stage == Stage::Operation && self.once.is_done() {
            self.complete(host);
        }
    }

    fn begin(&mut self, host: &mut Host<'_>) {
        self.once.renew();
        self.stage = Stage::Operation;
        self.started = host.now();
        self.call(host, |program, host| program.start(host));
        for delivery in std::mem::take(&mut self.early) {
            self.call(host, |program, host| program.received(host, delivery));
        }
    }

    fn complete(&mut self, host: &mut Host<'_>) {
        self.recorder.record(host, self.started, host.now() - self.started);
        if self.recorder.is_complete() && !self.keep_going {
            self.stage = Stage::Over;
        } else {
            self.stage = Stage::Barrier(0);
            self.tell(host, 0);
            self.barrier(host);
        }
    }

    fn tell(&self, host: &mut Host<'_>, step: u32) {
        let Member { rank, ranks, .. } = self.member;
        if 1u64 << step < u64::from(ranks) {
            let to = ((u64::from(rank) + (1 << step)) % u64::from(ranks)) as u32;
            // Six bits for the step, 14 for the operation: ranks are at most one barrier apart.
            let token = u64::from(step) | (self.operation & 0x3fff) << 6;
            self.member.send(host, to, 0, self.tagged(token, BARRIER), Notice::None);
        }
    }

    /// Goes on in the barrier as far as others have told.
    fn barrier(&mut self, host: &mut Host<'_>) {
        while let Stage::Barrier(step) = self.stage {
            if 1u64 << step >= u64::from(self.member.ranks) {
                self.operation += 1;
                self.stage = Stage::Pause;
                self.clock.wait(host, self.started, Wake(NEXT >> 1));
            } else if self.told.remove(&(self.operation & 0x3fff, step)) {
                self.stage = Stage::Barrier(step + 1);
                self.tell(host, step + 1);
            } else {
                return;
            }
        }
    }
}

impl Program for Repeated {
    fn start(&mut self, host: &mut Host<'_>) {
        self.recorder.start(host);
        self.clock.wait_until(host, Time::ZERO, Wake(NEXT >> 1));
    }

    fn woken(&mut self, host: &mut Host<'_>, token: u64) {
        if token & !1 == NEXT {
            if self.clock.woken(host, token) {
                self.begin(host);
            }
        } else if self.stage == Stage::Operation {
            self.call(host, |program, host| program.woken(host, token));
        }
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        let (tag, token) = self.untagged(delivery.token);
        let delivery = Delivery { from: self.member.source(&delivery), token, ..delivery };
        if tag == BARRIER {
            self.told.insert((token >> 6, token as u32 & 63));
            self.barrier(host);
        } else if tag == self.tag() && self.stage == Stage::Operation {
            self.call(host, |program, host| program.received(host, delivery));
        } else if self.belongs_to_next(tag) {
            self.early.push(delivery);
        }
    }

    fn sent(&mut self, host: &mut Host<'_>, token: u64) {
        let (tag, token) = self.untagged(token);
        if tag == self.tag() && self.stage == Stage::Operation {
            self.call(host, |program, host| program.sent(host, token));
        }
    }

    fn waits_for(&self) -> Option<String> {
        match self.stage {
            Stage::Operation => self.once.as_program().waits_for(),
            Stage::Barrier(step) => Some(format!("rank {} waits in step {step} of a barrier", self.member.rank)),
            Stage::Pause | Stage::Over => None,
        }
    }

    fn save(&self) -> Option<Vec<u8>> {
        let Self { stage, operation, started, early, told, .. } = self;
        let program = (self.once.as_program().save()?, self.once.is_done());
        let place = (stage, operation, started, early, told);
        Some(codec::encode(&(self.clock.save(), self.recorder.save(), self.random.state(), program, place)))
    }

    fn restore(&mut self, _: u32, state: &[u8]) -> Result<(), String> {
        let (clock, recorder, random, program, place) = codec::decode(state)?;
        let (program, is_done): (Vec<u8>, bool) = program;
        self.clock.restore(clock);
        self.recorder.restore(recorder)?;
        self.random = SplitMix64::new(random);
        self.once.program().restore(self.member.rank, &program)?;
        self.once.set_done(is_done);
        (self.stage, self.operation, self.started, self.early, self.told) = place;
        Ok(())
    }
}
