//! What of a probe's latency is fixed and what is queueing, from the switch itself: at no load and at known loads.
//!
//! ```text
//!     W(rho)  =  fixed  +  residual rho  +  queue rho^2 / (1 - rho)
//! ```
//!
//! A probe that comes at random finds the server busy with probability `rho` and waits for what is left of that service; it also waits for
//! those that queue before it. In M/G/1 both coefficients are `E[S^2] / (2 E[S])`, the mean of a residual life, and their sum is
//! `E[S^2] rho / (2 E[S] (1 - rho))`, Pollaczek and Khinchine's wait. On a real path a probe passes more than one queue, some of which
//! serve several processes in turn, so that there a probe waits for a residual service but not for a queue: two coefficients, fitted. The
//! fixed part is the mean at no load, the service of the probe itself included; the service of what queues is in the coefficients.
//!
//! They are fitted by least squares with both at least zero, weighted by `(1 - rho)^2`, which turns an error of latency into one of
//! utilisation (`d W / d rho` grows as `1 / (1 - rho)^2`). Inverting is a quadratic equation, of which one root is from 0 to 1.

use crate::error::ProbeError;
use serde::{Deserialize, Serialize};

/// A mean latency at a utilisation that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownLoad {
    /// From above 0 to below 1, as counted at the ports.
    pub utilisation: f64,
    /// The mean latency of probes, in seconds.
    pub mean_seconds: f64,
}

/// See the top of the file; all in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Latency at no load.
    pub fixed_seconds: f64,
    /// Of `rho`.
    pub residual_seconds: f64,
    /// Of `rho^2 / (1 - rho)`.
    pub queue_seconds: f64,
}

impl Calibration {
    /// Fits a switch, from the mean latency at no load, in seconds, and at known loads.
    ///
    /// # Errors
    /// [`ProbeError::Measurement`]: no known load; one that is not above 0 and below capacity; latencies that are no positive numbers or
    /// do not grow with load.
    pub fn fit(idle_seconds: f64, known: &[KnownLoad]) -> Result<Self, ProbeError> {
        let wrong = |text: String| Err(ProbeError::Measurement(text));
        if !(idle_seconds > 0.0 && idle_seconds.is_finite()) {
            return wrong(format!("found an idle latency of {idle_seconds} s; one above zero is expected"));
        }
        if let Some(load) = known.iter().find(|load| !(load.utilisation > 0.0 && load.utilisation < 1.0)) {
            return wrong(format!(
                "found a known load of {} of capacity; above 0 and below 1 is expected",
                load.utilisation
            ));
        }
        if let Some(load) = known.iter().find(|load| !(load.mean_seconds > 0.0 && load.mean_seconds.is_finite())) {
            return wrong(format!("found a latency of {} s; one above zero is expected", load.mean_seconds));
        }
        // Sums of the normal equations.
        let [mut aa, mut ab, mut bb, mut ay, mut by] = [0.0; 5];
        for &KnownLoad { utilisation: rho, mean_seconds } in known {
            let weight = (1.0 - rho).powi(2);
            let [a, b, y] = [rho, rho * rho / (1.0 - rho), mean_seconds - idle_seconds].map(|v| v * weight);
            (aa, ab, bb, ay, by) = (aa + a * a, ab + a * b, bb + b * b, ay + a * y, by + b * y);
        }
        let determinant = aa * bb - ab * ab;
        let both = (determinant > 1e-9 * aa * bb)
            .then(|| [(ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant]);
        let [residual_seconds, queue_seconds] = match both {
            Some(found) if found.iter().all(|&v| v >= 0.0) => found,
            // One coefficient: with several loads the other one is 0 at the least; with a single load both are alike, as in M/G/1.
            Some([residual, _]) if residual < 0.0 => [0.0, (by / bb).max(0.0)],
            Some(_) => [(ay / aa).max(0.0), 0.0],
            None => {
                let sum = aa + 2.0 * ab + bb;
                [if sum > 0.0 { ((ay + by) / sum).max(0.0) } else { 0.0 }; 2]
            }
        };
        if residual_seconds + queue_seconds <= 0.0 {
            return wrong(format!(
                "latencies at {} known loads are no longer than the idle latency of {idle_seconds} s; longer ones are expected",
                known.len()
            ));
        }
        Ok(Self { fixed_seconds: idle_seconds, residual_seconds, queue_seconds })
    }

    /// The mean latency at a utilisation from 0 to below 1, in seconds.
    pub fn latency(&self, utilisation: f64) -> f64 {
        let Self { fixed_seconds, residual_seconds, queue_seconds } = *self;
        fixed_seconds + residual_seconds * utilisation + queue_seconds * utilisation.powi(2) / (1.0 - utilisation)
    }

    /// The utilisation at which probes have this mean latency, in seconds: from 0, for all that is no longer than at no load, to 1.
    pub fn utilisation(&self, mean_seconds: f64) -> f64 {
        let wait = mean_seconds - self.fixed_seconds;
        if wait.is_nan() || wait <= 0.0 {
            return 0.0;
        }
        // wait (1 - x) = a x (1 - x) + b x^2, so (b - a) x^2 + (a + wait) x - wait = 0.
        let (a, b) = (self.residual_seconds, self.queue_seconds);
        let (square, linear) = (b - a, a + wait);
        // This form of the root does not lose digits where the square is small.
        let root = 2.0 * wait / (linear + (linear * linear + 4.0 * square * wait).max(0.0).sqrt());
        root.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::measure::pollaczek_khinchine::Service;
    use proptest::prelude::*;

    #[test]
    fn mg1_has_the_mean_residual_life_twice() {
        // Service 1 us with a squared coefficient of variation of 1, 0.25 us before it: residual life 1 us, idle 1.25 us.
        let service = Service { mean_seconds: 1e-6, variance: 1e-12 };
        let at = |utilisation| KnownLoad { utilisation, mean_seconds: 0.25e-6 + service.mean_time(utilisation) };
        let found = Calibration::fit(1.25e-6, &[at(0.3), at(0.6), at(0.8)]).unwrap();
        assert!((found.residual_seconds - 1e-6).abs() < 1e-15 && (found.queue_seconds - 1e-6).abs() < 1e-15);
        // One known load is enough where both are alike.
        let one = Calibration::fit(1.25e-6, &[at(0.5)]).unwrap();
        assert!((one.residual_seconds - 1e-6).abs() < 1e-15 && one.residual_seconds == one.queue_seconds);
        // W = 0.25 + 2 us at half: by hand.
        assert!((found.latency(0.5) - 2.25e-6).abs() < 1e-15 && (found.utilisation(2.25e-6) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn what_no_queue_explains_is_refused() {
        let refused = |idle, known: &[(f64, f64)]| {
            let known: Vec<_> =
                known.iter().map(|&(utilisation, mean_seconds)| KnownLoad { utilisation, mean_seconds }).collect();
            Calibration::fit(idle, &known).unwrap_err().to_string()
        };
        assert!(refused(1e-6, &[(1.2, 2e-6)]).starts_with("found a known load of 1.2 of capacity"));
        assert!(refused(1e-6, &[(0.5, 0.9e-6)]).contains("no longer than the idle latency"));
        assert!(refused(1e-6, &[]).contains("0 known loads"));
        assert!(refused(0.0, &[]).contains("idle latency of 0 s"));
        assert!(refused(1e-6, &[(0.5, f64::NAN)]).contains("NaN"));
    }

    proptest! {
        #[test]
        fn utilisation_inverts_latency(rho in 0.0..0.995f64, a in 0.0..1e-5f64, b in 1e-9..1e-5f64) {
            let switch = Calibration { fixed_seconds: 1e-6, residual_seconds: a, queue_seconds: b };
            let found = switch.utilisation(switch.latency(rho));
            prop_assert!((found - rho).abs() < 1e-5, "{} {}", found, rho);
        }

        #[test]
        fn it_grows_with_latency_and_stays_within_bounds(w in 0.0..1e-2f64, more in 0.0..1e-2f64, a in 0.0..1e-5f64, b in 1e-9..1e-5f64) {
            let switch = Calibration { fixed_seconds: 1e-6, residual_seconds: a, queue_seconds: b };
            let (low, high) = (switch.utilisation(w), switch.utilisation(w + more));
            prop_assert!((0.0..=1.0).contains(&low) && low <= high && high <= 1.0);
        }

        #[test]
        fn coefficients_come_back(a in 1e-8..1e-5f64, b in 1e-8..1e-5f64) {
            let switch = Calibration { fixed_seconds: 1e-6, residual_seconds: a, queue_seconds: b };
            let known: Vec<_> = [0.2, 0.5, 0.7, 0.9].map(|utilisation| KnownLoad { utilisation, mean_seconds: switch.latency(utilisation) }).into();
            let found = Calibration::fit(1e-6, &known).unwrap();
            prop_assert!((found.residual_seconds / a - 1.0).abs() < 1e-5 && (found.queue_seconds / b - 1.0).abs() < 1e-5);
        }
    }
}
