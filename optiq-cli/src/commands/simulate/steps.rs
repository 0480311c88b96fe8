//! How far a comparison is, and when it is expected to end.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Runs of which some are over.
pub struct Steps {
    started: Instant,
    all: AtomicUsize,
    done: AtomicUsize,
}

impl Steps {
    /// As many runs as this, from now on.
    pub fn of(all: usize) -> Self {
        Steps { started: Instant::now(), all: AtomicUsize::new(all), done: AtomicUsize::new(0) }
    }

    /// One run is over.
    pub fn over(&self) {
        self.done.fetch_add(1, Relaxed);
    }

    /// One run will not be made.
    pub fn leave_out(&self) {
        self.all.fetch_sub(1, Relaxed);
    }

    /// `run 3 of 7, about 40 s to go in all`, or nothing if there is one run; `left` is what the present run still needs.
    pub fn words(&self, left: Duration) -> String {
        let (all, done) = (self.all.load(Relaxed), self.done.load(Relaxed));
        if all < 2 {
            return String::new();
        }
        // The present one and those before it are taken to be like those that follow.
        let elapsed = self.started.elapsed() + left;
        let following = all.saturating_sub(done + 1);
        let rest = left + elapsed.mul_f64(following as f64 / (done + 1) as f64);
        format!("run {} of {all}, about {:.0} s to go in all: ", done + 1, rest.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_takes_as_long_as_what_was() {
        let steps = Steps::of(4);
        assert_eq!(steps.words(Duration::from_secs(10)), "run 1 of 4, about 40 s to go in all: ");
        steps.over();
        steps.leave_out();
        assert_eq!(steps.words(Duration::from_secs(10)), "run 2 of 3, about 15 s to go in all: ");
        assert_eq!(Steps::of(1).words(Duration::ZERO), "");
    }
}
