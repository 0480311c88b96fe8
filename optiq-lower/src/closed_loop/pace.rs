//! How often exchanges are looked at: so rarely that all looks together take a small part of the time, and at once after one that was slow.
//!
//! With `g` the time that a look takes (a gathering of all ranks' legs) and `t` that of a call, one look in `g / (p t)` calls takes the part `p` of
//! the time ([`LOOK_PART`]). After a call that took [`LATE`] times what calls took before, the next one is looked at, and as many after it
//! as it takes to be sure; then the new time is what is expected. The first call of a plan is not looked at: it may open connections.

use crate::constants::{CONFIRMATIONS, LATE, LOOK_PART};

/// See the top of the file.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// Of a look: a moving average.
    look_seconds: f64,
    /// Of a call: the shortest of late.
    expected_seconds: f64,
    /// Calls since the last look.
    calls: u32,
    /// Looks that are due at once.
    urgent: u32,
    /// Calls in a row that were slow.
    slow: u32,
    /// The first call of the plan is over.
    is_warm: bool,
}

/// A moving average's weight of a new value, one part in this.
const WEIGHT: f64 = 4.0;

impl Pace {
    /// A call on planned paths took this long on the slowest rank.
    pub fn call(&mut self, seconds: f64) {
        if !self.is_warm {
            self.is_warm = true;
            return;
        }
        self.calls = self.calls.saturating_add(1);
        if self.expected_seconds <= 0.0 || seconds < self.expected_seconds {
            self.expected_seconds = seconds;
            self.slow = 0;
            return;
        }
        if seconds <= LATE * self.expected_seconds {
            self.expected_seconds += (seconds - self.expected_seconds) / WEIGHT;
            self.slow = 0;
            return;
        }
        self.slow += 1;
        self.urgent = self.urgent.max(1);
        if self.slow > 2 * CONFIRMATIONS {
            // It is what is normal now.
            (self.expected_seconds, self.slow, self.urgent) = (seconds, 0, 0);
        }
    }

    /// Another plan serves: other times are expected.
    pub fn restart(&mut self) {
        *self = Self { look_seconds: self.look_seconds, urgent: 1, ..Self::default() };
    }

    /// The last look has to be confirmed.
    pub fn hurry(&mut self) {
        self.urgent = self.urgent.max(1);
    }

    /// Whether the last call is to be looked at.
    pub fn is_due(&self) -> bool {
        self.calls > 0 && (self.urgent > 0 || f64::from(self.calls) >= self.interval())
    }

    /// Calls from one look to the next.
    fn interval(&self) -> f64 {
        self.look_seconds / (LOOK_PART * self.expected_seconds.max(f64::MIN_POSITIVE))
    }

    /// A look took this long.
    pub fn looked(&mut self, seconds: f64) {
        self.look_seconds += (seconds - self.look_seconds) / if self.look_seconds > 0.0 { WEIGHT } else { 1.0 };
        (self.calls, self.urgent) = (0, self.urgent.saturating_sub(1));
    }
}
