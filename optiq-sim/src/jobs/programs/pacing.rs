//! When the next operation of a rank starts.

use super::member::{Stream, stream};
use crate::jobs::program_spec::{Pace, WindowFrom};
use crate::nic::program::Host;
use crate::time::Time;
use optiq_net::random::SplitMix64;

/// The clock of a loop: its think times, with jitter, the throttle's window, and what the processor computes.
pub(super) struct Clock {
    pace: Pace,
    random: SplitMix64,
}

/// A time that differs by up to a part of it, in millionths, each length as likely.
pub(super) fn jittered(time: Time, millionths: u32, random: &mut SplitMix64) -> Time {
    let span = (u128::from(time.as_picoseconds()) * u128::from(millionths) / 1_000_000) as u64;
    if span == 0 {
        return time;
    }
    Time::picoseconds(time.as_picoseconds() - span + random.up_to(2 * span))
}

impl Clock {
    pub(super) fn new(pace: Pace, seed: u64, rank: u32) -> Self {
        Self { pace, random: stream(seed, rank, Stream::Times) }
    }

    /// When a rank starts at first: anywhere in one think time, so that ranks are not in step; where operations are of all
    /// ranks together, that does not matter.
    pub(super) fn first(&mut self) -> Time {
        if self.pace.starts_together {
            return Time::ZERO;
        }
        let think = self.pace.think.max(Time::PICOSECOND).as_picoseconds();
        Time::picoseconds(self.random.below(think))
    }

    /// When the next operation may start, after one that started and is completed now.
    fn next(&mut self, started: Time, completed: Time) -> Time {
        let [think, window] = [self.pace.think, self.pace.window]
            .map(|time| jittered(time, self.pace.jitter_millionths, &mut self.random));
        let base = match self.pace.window_from {
            WindowFrom::Start => started,
            WindowFrom::Completion => completed,
        };
        let throttled = if self.pace.window > Time::ZERO { base.saturating_add(window) } else { Time::ZERO };
        completed.saturating_add(think).max(throttled)
    }

    /// A time with the jitter of this loop.
    pub(super) fn jittered(&mut self, time: Time) -> Time {
        jittered(time, self.pace.jitter_millionths, &mut self.random)
    }

    /// Orders a call of `woken(token)` when the next operation starts, after one that started then and is completed now.
    pub(super) fn wait(&mut self, host: &mut Host<'_>, started: Time, token: Wake) {
        let next = self.next(started, host.now());
        self.wait_until(host, next, token);
    }

    /// Orders a call of `woken(token)` at this time and after the processor's work.
    pub(super) fn wait_until(&self, host: &mut Host<'_>, at: Time, token: Wake) {
        if self.pace.compute == Time::ZERO {
            host.wake_at(at, token.start());
        } else if at > host.now() {
            host.wake_at(at, token.compute());
        } else {
            host.work_then(self.pace.compute, token.start());
        }
    }

    /// A time has come: whether the operation starts now. If not, the processor computes first.
    pub(super) fn woken(&self, host: &mut Host<'_>, token: u64) -> bool {
        if token & 1 == 1 {
            host.work_then(self.pace.compute, token & !1);
        }
        token & 1 == 0
    }

    pub(super) fn save(&self) -> u64 {
        self.random.state()
    }

    pub(super) fn restore(&mut self, state: u64) {
        self.random = SplitMix64::new(state);
    }
}

/// What is to start: a number below 2^63. Tokens of `woken` have it, and whether the processor is to compute first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Wake(pub(super) u64);

impl Wake {
    /// What a token is about.
    pub(super) fn of(token: u64) -> Self {
        Self(token >> 1)
    }

    /// The token of its start.
    pub(super) fn start(self) -> u64 {
        self.0 << 1
    }

    fn compute(self) -> u64 {
        self.0 << 1 | 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Time = Time::picoseconds(1_000_000_000);

    #[test]
    fn windows_count_from_where_they_say() {
        let next = |pace: Pace, started: u64, completed: u64| {
            Clock::new(pace, 1, 0).next(MS * started, MS * completed).as_picoseconds() as f64 / 1e9
        };
        let pace = Pace { window: MS * 2, ..Pace::default() };
        // An operation of 3 ms has used up its window of 2 ms; one of 1 ms waits for what is left of it.
        assert_eq!([next(pace, 5, 8), next(pace, 5, 6)], [8.0, 7.0]);
        let pace = Pace { window_from: WindowFrom::Completion, ..pace };
        assert_eq!([next(pace, 5, 8), next(pace, 5, 6)], [10.0, 8.0]);
        // The longer one of window and think time.
        let pace = Pace { think: MS * 3, ..pace };
        assert_eq!(next(pace, 5, 6), 9.0);
    }

    #[test]
    fn jitter_reaches_both_ends_and_keeps_the_mean() {
        let mut random = SplitMix64::new(1);
        let times: Vec<u64> =
            (0..20_000).map(|_| jittered(Time::picoseconds(1000), 50_000, &mut random).as_picoseconds()).collect();
        assert_eq!((times.iter().min(), times.iter().max()), (Some(&950), Some(&1050)));
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
        assert!((mean - 1000.0).abs() < 1.0, "{mean}");
        assert_eq!(jittered(MS, 0, &mut random), MS);
    }
}
