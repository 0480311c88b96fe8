//! What a progress loop does while nothing moves.

use std::time::{Duration, Instant};

/// What a progress loop does while nothing moves.
///
/// Where a rank has a processor to itself it polls, for nothing answers sooner. Where it shares one, polling takes the
/// processor from the ranks that have something to do: a yield only moves a process to the end of its queue, where the
/// scheduler may leave it for a whole time slice of somebody else. Which of the two holds is measured: a yield that
/// takes long means that somebody else ran. Then it sleeps a little, and wakes ahead of those who compute.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    idle: u32,
    shared: bool,
}

/// Polls in vain before it looks whether it shares its processor.
const POLLS: u32 = 4;
/// A yield that nobody else makes use of is over much sooner.
const SHARED: Duration = Duration::from_micros(10);
/// Longer than a round over all ranks takes, shorter than a chunk takes on a fast network with shared processors.
const NAP: Duration = Duration::from_micros(100);

impl Backoff {
    /// Something moved.
    pub fn moved(&mut self) {
        self.idle = 0;
    }

    /// Nothing moved: lets others have the processor for a moment.
    pub fn idle(&mut self) {
        self.idle = self.idle.saturating_add(1);
        if self.shared && self.idle > POLLS {
            std::thread::sleep(NAP);
            // Look again, now and then.
            self.shared = !self.idle.is_multiple_of(4 * POLLS);
        } else {
            let start = Instant::now();
            std::thread::yield_now();
            self.shared = start.elapsed() > SHARED;
        }
    }
}
