//! The queue M/G/1 as the source has it: equations (1) to (3) of Casas and Bronevetsky, section 4.2.
//!
//! ```text
//!     W       =  (rho + lambda mu Var(S)) / (2 (mu - lambda))  +  1 / mu                                  (1), (2)
//!     lambda  =  (2 - 2 W mu) / (-2 W + 2/mu - mu Var(S) - 1/mu),      rho = lambda / mu                   (3)
//! ```
//!
//! (1) is the formula of Pollaczek and Khinchine: `W` is the mean time of a packet in the queue, its own service `S` with mean `1/mu`
//! included; `lambda` is the rate of arrivals. The source takes the latency of a packet on an idle switch for `1/mu`. Whatever of it is
//! not service but fixed (cables, the pipeline of the switch, processors) then counts as service, and utilisations come out too high at low
//! loads; [`super::calibration`] tells both apart.

use crate::error::ProbeError;

/// Times of service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    /// `1/mu`, in seconds, above zero.
    pub mean_seconds: f64,
    /// `Var(S)`, in square seconds.
    pub variance: f64,
}

impl Service {
    /// `W` of (1), in seconds, at a utilisation from 0 to below 1.
    pub fn mean_time(&self, utilisation: f64) -> f64 {
        let mu = 1.0 / self.mean_seconds;
        let lambda = utilisation * mu;
        (utilisation + lambda * mu * self.variance) / (2.0 * (mu - lambda)) + self.mean_seconds
    }

    /// The utilisation that (3) gives for a mean time in seconds, as printed: 0 at `1/mu`, towards 1 for long times, and below zero, which
    /// is no utilisation, for times below `1/mu`.
    ///
    /// # Errors
    /// [`ProbeError::Measurement`] of times that are no numbers or not positive.
    pub fn utilisation(&self, mean_time_seconds: f64) -> Result<f64, ProbeError> {
        let (w, s) = (mean_time_seconds, self.mean_seconds);
        if !(w > 0.0 && s > 0.0 && self.variance >= 0.0 && w.is_finite() && s.is_finite()) {
            let text = format!("found a mean time of {w} s and a service of {s} s; times above zero are expected");
            return Err(ProbeError::Measurement(text));
        }
        let mu = 1.0 / s;
        let lambda = (2.0 - 2.0 * w * mu) / (-2.0 * w + 2.0 / mu - mu * self.variance - 1.0 / mu);
        Ok(lambda / mu)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        // 1/mu = 1.25 us and W = 2.5 us. M/D/1: W mu = 1 + rho / (2 (1 - rho)) = 2, rho = 2/3. M/M/1, Var = 1.5625 us^2:
        // W mu = 1 / (1 - rho) = 2, rho = 1/2.
        let of = |variance: f64| Service { mean_seconds: 1.25e-6, variance }.utilisation(2.5e-6).unwrap();
        assert!((of(0.0) - 2.0 / 3.0).abs() < 1e-12);
        assert!((of(1.5625e-12) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn an_idle_switch_has_a_quarter_by_the_printed_formula() {
        // The source's smallest latency is 1 us, its idle mean 1.25 us: 2 * 0.25 / (2 * 0.25 + 1 + c) with c^2 from 0 to 1 is 1/3 to 1/5.
        let of = |variance: f64| Service { mean_seconds: 1e-6, variance }.utilisation(1.25e-6).unwrap();
        assert!((of(0.0) - 1.0 / 3.0).abs() < 1e-12 && (of(1e-12) - 0.2).abs() < 1e-12);
        assert!(of(0.4e-12) > 0.26, "{}", of(0.4e-12));
        assert!(Service { mean_seconds: 0.0, variance: 0.0 }.utilisation(1.0).is_err());
    }

    proptest! {
        #[test]
        fn three_inverts_one(rho in 0.0..0.99f64, mean in 1e-7..1e-3f64, squared_variation in 0.0..5.0f64) {
            let service = Service { mean_seconds: mean, variance: squared_variation * mean * mean };
            let found = service.utilisation(service.mean_time(rho)).unwrap();
            prop_assert!((found - rho).abs() < 1e-9, "{} {}", found, rho);
        }
    }
}
