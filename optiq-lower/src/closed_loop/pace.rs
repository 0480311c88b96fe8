//! How often exchanges are looked at: so rarely that all looks together take a small part of the time, and at once after one that was slow.
//!
//! With `g` the time that a look takes (a gathering of all ranks' legs) and `t` that of a call, one look in `g / (p t)` calls takes the part `p` of
//! the time ([`LOOK_PART`]). A call that was late beside those before (`quiet.rs`) is looked at at once, and every one after it
//! until all is sure; then the new time is what is expected. The first call of a plan is not looked at: it may open connections.
//!
//! Whether a call was late follows from times that all ranks were told, so that every rank knows without a word that there will be a look; the rest
//! is for rank 0 to decide.

use super::quiet::Quiet;
use crate::constants::{CONFIRMATIONS, LOOK_PART, PACE_WEIGHT};

/// See the top of the file.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// Of a look: a moving average.
    look_seconds: f64,
    /// Of a call: the shortest of late.
    expected_seconds: f64,
    quiet: Quiet,
    /// Calls since the last look.
    calls: u32,
    /// Looks that are due at once.
    urgent: u32,
    /// Calls in a row that were slow.
    slow: u32,
    /// The first call of the plan is over.
    is_warm: bool,
}

impl Pace {
    /// A call on planned paths took this long on the slowest rank. Whether it is to be looked at because it was late: the same on all ranks that
    /// were told the same times and take overs.
    pub fn call(&mut self, seconds: f64) -> bool {
        if !self.is_warm {
            self.is_warm = true;
            return false;
        }
        self.calls = self.calls.saturating_add(1);
        if self.expected_seconds <= 0.0 || seconds < self.expected_seconds {
            self.expected_seconds = seconds;
            self.slow = 0;
            return false;
        }
        if seconds <= self.quiet.late() * self.expected_seconds {
            self.quiet.saw(seconds / self.expected_seconds);
            self.expected_seconds += (seconds - self.expected_seconds) / PACE_WEIGHT;
            self.slow = 0;
            return false;
        }
        self.slow += 1;
        if self.slow > 2 * CONFIRMATIONS {
            // It is what is normal now.
            (self.expected_seconds, self.slow, self.urgent) = (seconds, 0, 0);
        }
        self.slow > 0
    }

    /// Another plan serves: other times are expected.
    pub fn restart(&mut self) {
        *self = Self { look_seconds: self.look_seconds, quiet: self.quiet, urgent: 1, ..Self::default() };
    }

    /// The last look has to be confirmed.
    pub fn hurry(&mut self) {
        self.urgent = self.urgent.max(1);
    }

    /// Whether the last call is to be looked at, late or not.
    pub fn is_due(&self) -> bool {
        self.is_warm && (self.urgent > 0 || (self.calls > 0 && f64::from(self.calls) >= self.interval()))
    }

    /// Calls from one look to the next.
    fn interval(&self) -> f64 {
        self.look_seconds / (LOOK_PART * self.expected_seconds.max(f64::MIN_POSITIVE))
    }

    /// A look took this long.
    pub fn looked(&mut self, seconds: f64) {
        self.look_seconds += (seconds - self.look_seconds) / if self.look_seconds > 0.0 { PACE_WEIGHT } else { 1.0 };
        (self.calls, self.urgent) = (0, self.urgent.saturating_sub(1));
    }
}
