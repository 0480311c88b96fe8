//! Whether ranks need to agree before the next call.
//!
//! An agreement costs a blocking reduction, which a call of one byte notices and a call of a megabyte does not. A call
//! without one goes to plain MPI, which is right whatever the arguments are; so not agreeing can cost speed, never data.
//! The forecast must be the same on all ranks, and therefore knows nothing but what was agreed upon before: what the
//! earlier agreed calls turned out to be, and, reduced over all ranks with each agreement, how much time passes between
//! calls and whether the forecast was wrong for any rank: a *misprediction*, large messages in a call without an agreement.
//!
//! - After three agreed calls in a row that were not planned, agreements become rare: after 2, 4, 8 ... calls, until
//!   there are [`SAMPLING_CALLS`] from one to the next; but often enough that at most [`MAXIMUM_SAMPLING_INTERVAL`] passes
//!   between two, and rarely enough that agreements in vain, and planning in vain, stay below a hundredth of the time.
//! - Where calls repeat in a period, as those of a time step do, only those are agreed upon that are expected to be
//!   planned.
//! - After a misprediction, all are agreed upon for a while, and for longer after every further one, until a period is seen.
//! - After a call whose plan was put off until its demands come again, the next one is agreed upon; but where demands
//!   never come again, no more than a longest period of them.

use crate::constants::{
    AGREEMENT_SPACING, MAXIMUM_SAMPLING_INTERVAL, SAMPLING_CALLS, UNPLANNED_CALLS, VAIN_MISPREDICTIONS,
    WATCH_CALLS_FIRST, WATCH_CALLS_MOST,
};

/// What a call turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallClass {
    /// Plain MPI served it, agreed upon or not.
    Fallback,
    /// Planned paths served it, or could have.
    Planned,
}

/// The longest period that is looked for: half of what is remembered.
const LONGEST_PERIOD: u32 = u128::BITS / 2;

/// What an agreement told all ranks.
#[derive(Clone, Copy, Debug)]
pub struct Agreed {
    /// What the call turned out to be.
    pub class: CallClass,
    /// Whether a rank had large messages in a call that was not agreed upon.
    pub misprediction: bool,
    /// Whether a plan will be made if the same demands come at once again.
    pub later: bool,
    /// Longest time per call over all ranks since the last agreement, work of the program between calls included.
    pub seconds_per_call: f64,
    /// What this call took that another one of its class would take in vain: planning, and what it took longer than without an agreement.
    pub vain_seconds: f64,
    /// What an agreement takes.
    pub agreement_seconds: f64,
}

/// See the top of the file.
#[derive(Debug)]
pub struct Forecast {
    /// The latest calls, the last one in bit 0: whether they were planned. A call that was never made was not.
    history: u128,
    /// Calls that were made, as far as they are remembered.
    calls: u32,
    /// Calls from one agreement to the next.
    spacing: u64,
    /// Agreed calls since one was planned.
    unplanned: u32,
    /// Calls that still are agreed upon after a misprediction, and how many will be after the next one.
    watch_calls: u32,
    next_watch: u32,
    in_vain: u32,
    /// Plans that were put off since one was made.
    postponed: u32,
}

impl Default for Forecast {
    fn default() -> Self {
        Self {
            history: 0,
            calls: 0,
            spacing: 1,
            unplanned: 0,
            watch_calls: 0,
            next_watch: WATCH_CALLS_FIRST,
            in_vain: 0,
            postponed: 0,
        }
    }
}

impl Forecast {
    /// What an agreement has told; the same on all ranks. Returns how many calls go to plain MPI before the next one.
    pub fn learn(&mut self, agreed: Agreed) -> u64 {
        self.remember(1);
        self.history |= u128::from(agreed.class == CallClass::Planned);
        if agreed.class == CallClass::Planned {
            (self.unplanned, self.in_vain, self.postponed, self.spacing) = (0, 0, 0, 1);
        } else {
            self.unplanned += 1;
        }
        if agreed.misprediction && self.in_vain < VAIN_MISPREDICTIONS {
            self.in_vain += u32::from(agreed.class == CallClass::Fallback);
            self.watch_calls = self.next_watch;
            self.next_watch = (2 * self.next_watch).min(WATCH_CALLS_MOST);
        }
        if agreed.later && self.postponed < LONGEST_PERIOD {
            self.postponed += 1;
            return 0;
        }
        if self.watch_calls > 0 {
            self.watch_calls -= 1;
            return 0;
        }
        let mut skip = 0;
        if let Some(period) = self.period() {
            skip = u64::from((self.history << (u128::BITS - period)).leading_zeros());
        } else if self.is_unplanned() {
            skip = self.rarer(&agreed);
        }
        self.remember(skip);
        skip
    }

    /// Whether the latest agreed calls were not planned, and more are expected that are not.
    pub fn is_unplanned(&self) -> bool {
        self.unplanned >= UNPLANNED_CALLS
    }

    fn rarer(&mut self, agreed: &Agreed) -> u64 {
        let calls = |seconds: f64| (seconds / agreed.seconds_per_call.max(1e-9)).min(1e6) as u64;
        let paid = calls(AGREEMENT_SPACING * agreed.agreement_seconds);
        let widest = SAMPLING_CALLS.min(calls(MAXIMUM_SAMPLING_INTERVAL).max(paid)).max(1);
        if self.spacing >= widest {
            self.next_watch = WATCH_CALLS_FIRST;
        }
        // In steps, so that large calls among the first ones are noticed soon.
        self.spacing = (2 * self.spacing).min(widest);
        self.spacing.max(calls(AGREEMENT_SPACING * agreed.vain_seconds)) - 1
    }

    /// As many calls of the kind of the last one, which was planned, go to plain MPI without an agreement before the next one.
    pub fn row(&mut self, calls: u64) {
        for _ in 0..calls {
            self.remember(1);
            self.history |= 1;
        }
    }

    /// Adds calls that were not planned.
    fn remember(&mut self, calls: u64) {
        let calls = calls.min(u128::BITS.into()) as u32;
        self.history = self.history.checked_shl(calls).unwrap_or(0);
        self.calls = (self.calls + calls).min(u128::BITS);
    }

    /// The shortest period in which the latest calls, at least one of them planned, have come twice.
    fn period(&self) -> Option<u32> {
        let differs = |p: u32| self.history ^ (self.history >> p);
        let latest = |p: u32| (1 << p) - 1;
        // No period is shorter than the time since the last planned call.
        let shortest = self.history.trailing_zeros() + 1;
        (shortest..=LONGEST_PERIOD.min(self.calls / 2)).find(|&p| differs(p) & latest(p) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreed(class: CallClass) -> Agreed {
        Agreed {
            class,
            misprediction: false,
            later: false,
            seconds_per_call: 1e-5,
            vain_seconds: 0.0,
            agreement_seconds: 0.0,
        }
    }

    /// Numbers of the calls, of `n`, that were agreed upon, where `class` says what each would turn out to be.
    fn run(n: usize, class: impl Fn(usize) -> CallClass) -> Vec<usize> {
        let mut forecast = Forecast::default();
        let (mut misprediction, mut skip) = (false, 0);
        let mut asked = Vec::new();
        for i in 0..n {
            if skip > 0 {
                skip -= 1;
                misprediction |= class(i) == CallClass::Planned;
            } else {
                asked.push(i);
                skip = forecast.learn(Agreed { misprediction, ..agreed(class(i)) });
                misprediction = false;
            }
        }
        asked
    }

    #[test]
    fn small_calls_are_asked_about_ever_more_rarely() {
        let asked = run(3000, |_| CallClass::Fallback);
        assert_eq!(asked[..8], [0, 1, 2, 4, 8, 16, 32, 64]);
        assert!(asked.windows(2).skip(10).all(|w| w[1] - w[0] == 256));
    }

    #[test]
    fn a_row_of_planned_calls_for_mpi_is_no_period() {
        let mut forecast = Forecast::default();
        for _ in 0..20 {
            for _ in 0..8 {
                assert_eq!(forecast.learn(agreed(CallClass::Planned)), 0);
            }
            forecast.row(7);
        }
    }

    #[test]
    fn planned_calls_are_always_asked_about() {
        assert_eq!(run(100, |_| CallClass::Planned).len(), 100);
    }

    #[test]
    fn a_change_to_large_calls_is_noticed_and_kept() {
        let asked = run(1000, |i| if i < 500 { CallClass::Fallback } else { CallClass::Planned });
        let first = asked.iter().position(|&i| i >= 500).unwrap();
        assert!(asked[first] < 500 + 256);
        assert!(asked[first..].windows(2).all(|w| w[1] == w[0] + 1));
    }

    #[test]
    fn a_change_to_small_calls_is_noticed_soon() {
        let asked = run(1000, |i| if i < 500 { CallClass::Planned } else { CallClass::Fallback });
        let after: Vec<_> = asked.iter().filter(|&&i| i >= 500).map(|i| i - 500).collect();
        assert_eq!(after[..8], [0, 1, 2, 4, 8, 16, 32, 64]);
    }

    #[test]
    fn in_a_period_only_what_will_be_planned_is_asked_about() {
        // One of ten calls is large, as in a time step.
        let asked = run(2000, |i| if i % 10 == 7 { CallClass::Planned } else { CallClass::Fallback });
        let late: Vec<_> = asked.iter().filter(|&&i| i >= 1000).collect();
        assert_eq!(late.len(), 100);
        assert!(late.iter().all(|&&i| i % 10 == 7));
    }

    #[test]
    fn what_changes_is_learned_again() {
        let asked = run(3000, |i| {
            let planned = if i < 1500 { i % 10 == 7 } else { i % 7 == 3 };
            if planned { CallClass::Planned } else { CallClass::Fallback }
        });
        let planned = asked.iter().filter(|&&i| i >= 2500 && i % 7 == 3).count();
        assert!(planned >= 70, "{planned} of 71 to 72");
    }

    #[test]
    fn long_calls_are_asked_about_often_and_planning_in_vain_seldom() {
        let mut forecast = Forecast::default();
        for _ in 0..20 {
            forecast.learn(Agreed { seconds_per_call: 0.05, ..agreed(CallClass::Fallback) });
        }
        let slow = Agreed { seconds_per_call: 0.05, ..agreed(CallClass::Fallback) };
        assert_eq!(forecast.learn(slow), 9);
        assert_eq!(forecast.learn(Agreed { vain_seconds: 0.01, ..slow }), 39);
    }

    #[test]
    fn agreements_in_vain_take_little_of_the_time() {
        let mut forecast = Forecast::default();
        let costly = Agreed { seconds_per_call: 2e-3, agreement_seconds: 1e-3, ..agreed(CallClass::Fallback) };
        let skips: Vec<u64> = (0..12).map(|_| forecast.learn(costly)).collect();
        // Three to be sure, then half as often each time, until an agreement of 1 ms stands beside 250 calls of 2 ms, which
        // is 0.5 s.
        assert_eq!(skips, [0, 0, 1, 3, 7, 15, 31, 63, 127, 249, 249, 249]);
        // Long calls: 0.5 s are only 5 of them, but an agreement of 10 ms is worth 20.
        let long = Agreed { seconds_per_call: 0.1, agreement_seconds: 10e-3, ..costly };
        assert_eq!(forecast.learn(long), 19);
        // Never more than SAMPLING_CALLS, however short calls are.
        let short = Agreed { seconds_per_call: 1e-6, ..costly };
        assert_eq!([(); 5].map(|()| forecast.learn(short)), [39, 79, 159, 255, 255]);
    }

    #[test]
    fn what_will_be_planned_when_it_comes_again_is_waited_for_but_not_for_ever() {
        let mut forecast = Forecast::default();
        let later = Agreed { later: true, ..agreed(CallClass::Fallback) };
        assert!((0..LONGEST_PERIOD).all(|_| forecast.learn(later) == 0));
        assert!(forecast.learn(later) > 0);
        forecast.learn(agreed(CallClass::Planned));
        assert_eq!(forecast.learn(later), 0);
    }

    #[test]
    fn mispredictions_in_vain_are_forgotten() {
        let mut forecast = Forecast::default();
        let (mut asked, mut calls) = (0, 0);
        while calls < 10_000 {
            asked += 1;
            calls += 1 + forecast.learn(Agreed { misprediction: true, ..agreed(CallClass::Fallback) });
        }
        assert!(asked < 10_000 / 256 + 60, "{asked}");
    }
}
