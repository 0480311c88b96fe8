//! The noise of timer and scheduler ([`optiq_probe::measure::noise`]), measured by all ranks at once.

use optiq_probe::measure::noise::WakeUps;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Sleeps of a rank, and how long each is: as ranks sleep between messages.
const SLEEPS: usize = 200;
const NAP: Duration = Duration::from_micros(50);
/// Readings of the clock.
const READINGS: usize = 2000;

/// The smallest step of this rank's clock that two readings in turn show, in seconds.
pub(super) fn timer_seconds() -> f64 {
    let steps = (0..READINGS).filter_map(|_| {
        let first = Instant::now();
        Some(first.elapsed()).filter(|step| !step.is_zero())
    });
    steps.min().map_or(0.0, |step| step.as_secs_f64())
}

/// How late this rank wakes up.
pub(super) fn wake_ups() -> WakeUps {
    let mut found = WakeUps::default();
    for _ in 0..SLEEPS {
        let asleep = Instant::now();
        sleep(NAP);
        found.add(asleep.elapsed().saturating_sub(NAP).as_secs_f64());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_some() {
        let found = wake_ups();
        assert_eq!(found.count, SLEEPS as u64);
        assert!(found.least_seconds <= found.mean_seconds && found.mean_seconds <= found.most_seconds);
        assert!(timer_seconds() < found.most_seconds + 1e-3);
    }
}
