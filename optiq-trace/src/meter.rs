//! A stopwatch for what a transport does inside its calls.

use std::time::{Duration, Instant};

/// How long a transport copies, and waits for other ranks inside calls. It measures only while a trace asks for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    on: bool,
    copied: Duration,
    blocked: Duration,
}

impl Meter {
    /// Does a copy.
    #[inline]
    pub fn copy<R>(&mut self, copy: impl FnOnce() -> R) -> R {
        Self::timed(self.on, &mut self.copied, copy)
    }

    /// Makes a call that returns when another rank has answered.
    #[inline]
    pub fn block<R>(&mut self, call: impl FnOnce() -> R) -> R {
        Self::timed(self.on, &mut self.blocked, call)
    }

    #[inline]
    fn timed<R>(on: bool, sum: &mut Duration, work: impl FnOnce() -> R) -> R {
        if !on {
            return work();
        }
        let start = Instant::now();
        let result = work();
        *sum += start.elapsed();
        result
    }

    /// Begins to measure.
    pub fn switch_on(&mut self) {
        self.on = true;
    }

    /// Nanoseconds of copying and of waiting since the last call of this function.
    pub fn take(&mut self) -> (u64, u64) {
        let nanos = |sum: &mut Duration| std::mem::take(sum).as_nanos() as u64;
        (nanos(&mut self.copied), nanos(&mut self.blocked))
    }
}
