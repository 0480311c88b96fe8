//! What the machine adds to a latency, and when that makes measurements worthless.
//!
//! A message that has arrived waits until its process looks for it: for the scheduler, for other processes on the same processor, for
//! interrupts. That wait is seen without any network: a process that sleeps for a time `t` is awake after `t + d`. The smallest `d` is
//! what the timer costs always, as the smallest latency is what the path costs always; what varies above both can be compared:
//!
//! ```text
//!     queueing  =  mean latency - smallest latency        (or less the fixed part, where the probe is calibrated)
//!     noise     =  mean d - smallest d
//! ```
//!
//! Where ranks share processors, a message waits not only for a wake-up but also for what others do with the processor, of which sleeps see a
//! part: there the queueing must be [`SHARED_FACTOR`] times the noise. Where the noise is as large as the queueing, latencies tell of the scheduler and not of the switch (T. Hoefler, T. Schneider and
//! A. Lumsdaine, "Characterizing the Influence of System Noise on Large-Scale Applications by Simulation", SC 2010, has the effect).

use crate::constants::SHARED_FACTOR;
use serde::{Deserialize, Serialize};

/// How much later than asked sleeps ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WakeUps {
    /// Sleeps.
    pub count: u64,
    /// The mean delay, in seconds.
    pub mean_seconds: f64,
    /// The smallest delay, in seconds.
    pub least_seconds: f64,
    /// The largest delay, in seconds.
    pub most_seconds: f64,
}

impl WakeUps {
    /// One more sleep, that ended this much later than asked.
    pub fn add(&mut self, delay_seconds: f64) {
        let first = self.count == 0;
        self.count += 1;
        self.mean_seconds += (delay_seconds - self.mean_seconds) / self.count as f64;
        self.least_seconds = if first { delay_seconds } else { self.least_seconds.min(delay_seconds) };
        self.most_seconds = self.most_seconds.max(delay_seconds);
    }

    /// What varies: the mean above the smallest, in seconds; 0 without sleeps.
    pub fn noise_seconds(&self) -> f64 {
        (self.mean_seconds - self.least_seconds).max(0.0)
    }

    /// Those of all processes: each process counts the same.
    pub fn of_all(all: &[WakeUps]) -> WakeUps {
        let some: Vec<&WakeUps> = all.iter().filter(|w| w.count > 0).collect();
        if some.is_empty() {
            return WakeUps::default();
        }
        let mean = |of: fn(&WakeUps) -> f64| some.iter().map(|w| of(w)).sum::<f64>() / some.len() as f64;
        WakeUps {
            count: some.iter().map(|w| w.count).sum(),
            mean_seconds: mean(|w| w.mean_seconds),
            least_seconds: mean(|w| w.least_seconds),
            most_seconds: some.iter().map(|w| w.most_seconds).fold(0.0, f64::max),
        }
    }
}

/// What was found of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// The smallest step of the clock that was seen, the largest of all ranks, in seconds.
    pub timer_seconds: f64,
    /// Sleeps of all ranks at once, before anything was sent.
    pub before: WakeUps,
    /// Sleeps between messages, while probes ran.
    pub during: WakeUps,
    /// Whether a machine has more ranks than processors.
    pub shares_processors: bool,
}

impl Noise {
    /// What varies in a wake-up, before or during the run, whichever is more, in seconds.
    pub fn seconds(&self) -> f64 {
        self.before.noise_seconds().max(self.during.noise_seconds()).max(self.timer_seconds)
    }

    /// Why latencies with this queueing say nothing, if they do.
    pub fn drowns(&self, queueing_seconds: f64) -> Option<String> {
        let noise = self.seconds();
        let (factor, asked) = match self.shares_processors {
            true => {
                (SHARED_FACTOR, format!("; with ranks that share processors {SHARED_FACTOR} times that is expected"))
            }
            false => (1.0, String::new()),
        };
        (queueing_seconds.is_nan() || queueing_seconds <= factor * noise).then(|| {
            let found = format!("latencies are {} above the smallest on average", micro(queueing_seconds));
            format!("{found}, and the scheduler's noise is {}{asked}", micro(noise))
        })
    }

    /// Why a time that is waited for is not kept, if it is not.
    pub fn blurs(&self, what: &str, asked_seconds: f64) -> Option<String> {
        let noise = self.seconds();
        (asked_seconds > 0.0 && asked_seconds <= noise).then(|| {
            let [asked, noise] = [asked_seconds, noise].map(micro);
            format!("{what} of {asked} is asked for, and the scheduler's noise is {noise}")
        })
    }
}

/// `12.3 us`.
fn micro(seconds: f64) -> String {
    format!("{:.1} us", seconds * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(delays: &[f64], shares_processors: bool) -> Noise {
        let mut before = WakeUps::default();
        delays.iter().for_each(|&d| before.add(d));
        Noise { timer_seconds: 1e-7, before, during: WakeUps::default(), shares_processors }
    }

    #[test]
    fn noise_is_the_mean_above_the_smallest() {
        // 50, 60 and 100 us: the mean is 70, which is 20 above the smallest.
        let found = noise(&[50e-6, 60e-6, 100e-6], false);
        assert!((found.seconds() - 20e-6).abs() < 1e-12 && (found.before.most_seconds - 100e-6).abs() < 1e-12);
        let other = noise(&[10e-6, 50e-6], false);
        let all = WakeUps::of_all(&[found.before, other.before, WakeUps::default()]);
        // Means 70 and 30, smallest 50 and 10.
        assert_eq!(all.count, 5);
        assert!((all.mean_seconds - 50e-6).abs() < 1e-12 && (all.least_seconds - 30e-6).abs() < 1e-12);
        assert_eq!(WakeUps::of_all(&[]).noise_seconds(), 0.0);
    }

    #[test]
    fn what_is_below_the_noise_is_worthless() {
        let quiet = noise(&[50e-6, 60e-6, 100e-6], false);
        assert_eq!(quiet.drowns(21e-6), None);
        let said = quiet.drowns(19e-6).unwrap_or_default();
        assert_eq!(said, "latencies are 19.0 us above the smallest on average, and the scheduler's noise is 20.0 us");
        assert!(
            noise(&[0.0, 1.0], true).drowns(1e-3).is_some_and(|said| said.contains("with ranks that share processors"))
        );
        assert!(quiet.drowns(f64::NAN).is_some());
        // The noise during the run counts as well, and a clock with long steps.
        let mut during = WakeUps::default();
        [0.0, 1e-3].iter().for_each(|&d| during.add(d));
        assert!(Noise { during, ..quiet }.drowns(21e-6).is_some());
        assert!(Noise { timer_seconds: 1e-3, ..quiet }.drowns(21e-6).is_some());
        assert_eq!(
            quiet.blurs("a sleep", 9.6e-6).unwrap_or_default(),
            "a sleep of 9.6 us is asked for, and the scheduler's noise is 20.0 us"
        );
        assert_eq!((quiet.blurs("a sleep", 96e-6), quiet.blurs("a sleep", 0.0)), (None, None));
    }
}
