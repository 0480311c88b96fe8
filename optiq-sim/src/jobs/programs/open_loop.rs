//! An open loop of messages: at its own pace, whether or not they arrive.
//!
//! Receivers have the samples. How many of the messages that count each will get is known before: who sends to whom is drawn
//! from streams of their own ([`expected`]), so a rank knows when it has all, and no message is needed to tell it.

use super::destinations::{Destinations, Rule};
use super::grid;
use super::member::{Member, Stream, stream};
use super::pacing::jittered;
use super::samples::Recorder;
use crate::nic::program::{Delivery, Host, Notice, Program};
use crate::time::Time;
use crate::workload::synthetic::exponential;
use optiq_net::random::SplitMix64;
use optiq_trace::codec;
use std::panic::Location;

/// To whom each round of messages goes.
pub(super) enum Targets {
    /// To one rank.
    One(Destinations),
    /// To each of these.
    All(Vec<u32>),
}

/// The rule of a job of open loops.
#[derive(Clone, Debug)]
pub(super) enum OpenRule {
    /// One message a round.
    Message(Rule),
    /// One to each neighbour in a grid.
    Stencil([u32; 3]),
}

impl OpenRule {
    /// The targets of a rank.
    pub(super) fn targets(&self, rank: u32, ranks: u32, seed: u64) -> Targets {
        match self {
            OpenRule::Message(rule) => Targets::One(Destinations::new(rule.clone(), rank, ranks, seed)),
            OpenRule::Stencil(dims) => Targets::All(grid::neighbours(rank, *dims)),
        }
    }
}

/// How many messages that count each rank will receive, of rounds `skip` to `skip + samples - 1` of all ranks.
pub(super) fn expected(rule: &OpenRule, ranks: u32, seed: u64, skip: u64, samples: u64) -> Vec<u64> {
    let mut expected = vec![0; ranks as usize];
    for rank in 0..ranks {
        match rule.targets(rank, ranks, seed) {
            Targets::All(all) => all.iter().for_each(|&to| expected[to as usize] += samples),
            Targets::One(mut one) => {
                for round in 0..skip + samples {
                    if let Some(to) = one.next().filter(|_| round >= skip) {
                        expected[to as usize] += 1;
                    }
                }
            }
        }
    }
    expected
}

/// When rounds start.
#[derive(Clone, Copy)]
pub(super) struct Intervals {
    /// From start to start, on average.
    pub(super) mean: Time,
    /// Exponentially distributed, or all alike but for the jitter.
    pub(super) poisson: bool,
    pub(super) jitter_millionths: u32,
    /// Whether all ranks start at once.
    pub(super) together: bool,
}

impl Intervals {
    /// When the first round starts.
    fn first(&self, random: &mut SplitMix64) -> Time {
        match self.poisson {
            _ if self.together => Time::ZERO,
            true => self.next(random),
            false => Time::picoseconds(random.below(self.mean.as_picoseconds())),
        }
    }

    fn next(&self, random: &mut SplitMix64) -> Time {
        match self.poisson {
            true => Time::picoseconds(exponential(self.mean.as_picoseconds(), random)),
            false => jittered(self.mean, self.jitter_millionths, random),
        }
    }
}

/// A rank of an open loop.
pub(super) struct OpenLoop {
    member: Member,
    targets: Targets,
    bytes: u64,
    intervals: Intervals,
    random: SplitMix64,
    recorder: Recorder,
    /// Which rounds count.
    skip: u64,
    last: u64,
    keep_going: bool,
    /// The next one.
    round: u64,
}

impl OpenLoop {
    /// `recorder` is for the messages that count and that this rank receives.
    pub(super) fn new(
        (member, seed): (Member, u64),
        targets: Targets,
        (bytes, intervals): (u64, Intervals),
        recorder: Recorder,
        (skip, samples, keep_going): (u64, u64, bool),
    ) -> Self {
        let random = stream(seed, member.rank, Stream::Times);
        let last = skip + samples;
        Self { member, targets, bytes, intervals, random, recorder, skip, last, keep_going, round: 0 }
    }
}

impl Program for OpenLoop {
    fn start(&mut self, host: &mut Host<'_>) {
        self.recorder.start(host);
        if self.skip > 0 {
            host.warm_up(true);
        }
        let first = self.intervals.first(&mut self.random);
        host.wake_at(first, 0);
    }

    fn woken(&mut self, host: &mut Host<'_>, _: u64) {
        if self.skip > 0 && self.round == self.skip {
            host.warm_up(false);
        }
        match &mut self.targets {
            Targets::One(one) => {
                if let Some(to) = one.next() {
                    self.member.send(host, to, self.bytes, self.round, Notice::None);
                }
            }
            Targets::All(all) => {
                for &to in &*all {
                    self.member.send(host, to, self.bytes, self.round, Notice::None);
                }
            }
        }
        self.round += 1;
        if self.keep_going || self.round < self.last {
            let next = host.now() + self.intervals.next(&mut self.random);
            host.wake_at(next, 0);
        }
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        if (self.skip..self.last).contains(&delivery.token) {
            self.recorder.record(host, delivery.sent, host.now() - delivery.sent);
        }
    }

    fn receives_in(&self) -> Option<&'static Location<'static>> {
        Some(Location::caller())
    }

    fn save(&self) -> Option<Vec<u8>> {
        let targets = if let Targets::One(one) = &self.targets { one.save() } else { 0 };
        Some(codec::encode(&(targets, self.random.state(), self.recorder.save(), self.round)))
    }

    fn restore(&mut self, _: u32, state: &[u8]) -> Result<(), String> {
        let (targets, random, recorder, round) = codec::decode(state)?;
        if let Targets::One(one) = &mut self.targets {
            one.restore(targets);
        }
        self.random = SplitMix64::new(random);
        self.recorder.restore(recorder)?;
        self.round = round;
        Ok(())
    }
}
