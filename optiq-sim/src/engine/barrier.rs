//! The barrier at which the threads of a simulation wait for each other.

use crate::constants::SPINS;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// Where threads meet once in some microseconds: they spin for a while before they yield their processors.
pub(crate) struct Barrier {
    threads: usize,
    spins: u32,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
}

/// A thread that takes part. If it panics, the others need not wait for it.
pub(crate) struct Member<'a>(pub(crate) &'a Barrier);

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Release);
        }
    }
}

impl Barrier {
    pub(crate) fn new(threads: usize) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let spins = if threads <= processors { SPINS } else { 0 };
        Self {
            threads,
            spins,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits for all others; whether all are there. The last one runs `by_last` before any other continues.
    #[must_use]
    pub(crate) fn wait(&self, by_last: impl FnOnce()) -> bool {
        let round = self.round.load(Acquire);
        if self.arrived.fetch_add(1, AcqRel) + 1 == self.threads {
            by_last();
            self.arrived.store(0, Relaxed);
            self.round.fetch_add(1, AcqRel);
            return true;
        }
        let mut spins = 0;
        while self.round.load(Acquire) == round {
            if self.broken.load(Acquire) {
                return false;
            }
            spins = u32::saturating_add(spins, 1);
            if spins < self.spins { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn a_thread_that_panics_is_not_waited_for() {
        let barrier = Barrier::new(2);
        let ended = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let _member = Member(&barrier);
                panic!("on purpose");
            });
            (barrier.wait(|| {}), other.join().is_err())
        });
        assert_eq!(ended, (false, true));
    }

    #[test]
    fn all_threads_leave_a_round_together() {
        let (barrier, sum) = (Barrier::new(3), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 1..=2000 {
                        sum.fetch_add(1, Relaxed);
                        assert!(barrier.wait(|| assert_eq!(sum.load(Relaxed), 3 * round)));
                    }
                });
            }
        });
    }
}
