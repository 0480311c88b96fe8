//! What a progress loop does while nothing moves.

use crate::constants::{BACKOFF_POLLS, BACKOFF_SHARED_MICROSECONDS, BACKOFF_SLEEP_MICROSECONDS};
use std::time::{Duration, Instant};

/// What a progress loop does while nothing moves.
///
/// Where a rank has a processor to itself it polls, because nothing answers sooner. Where it shares one, polling takes the
/// processor from ranks with work: a yield only moves a process to the end of its queue, where the operating system may
/// leave it for a whole time slice of another process. Which of the two holds is measured: a yield that takes long means
/// that another process ran. Then the rank sleeps for a moment, and wakes ahead of processes that compute.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    idle: u32,
    shared: bool,
}

const SHARED: Duration = Duration::from_micros(BACKOFF_SHARED_MICROSECONDS);
const SLEEP: Duration = Duration::from_micros(BACKOFF_SLEEP_MICROSECONDS);

/// Yields the processor; whether another process used it.
pub(crate) fn yield_processor() -> bool {
    let start = Instant::now();
    std::thread::yield_now();
    start.elapsed() > SHARED
}

impl Backoff {
    /// Something moved.
    pub fn moved(&mut self) {
        self.idle = 0;
    }

    /// Whether another process was found to use the processor.
    #[cfg(feature = "mpi")]
    pub(crate) fn shares_processor(&self) -> bool {
        self.shared && self.idle > BACKOFF_POLLS
    }

    /// Nothing moved: leaves the processor to others for a moment.
    pub fn idle(&mut self) {
        self.idle = self.idle.saturating_add(1);
        if self.shared && self.idle > BACKOFF_POLLS {
            std::thread::sleep(SLEEP);
            // From time to time it measures again.
            self.shared = !self.idle.is_multiple_of(4 * BACKOFF_POLLS);
        } else {
            self.shared = yield_processor();
        }
    }
}
