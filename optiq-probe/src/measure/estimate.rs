//! Utilisations with confidence intervals, of a switch as a whole and of each output port.
//!
//! Latencies of probes that follow each other resemble each other, as the queue that they meet is the same; so samples in the order of
//! time are put into batches, whose means are nearly independent, and the interval is that of the mean of batches
//! ([`optiq_measure::statistics::mean_interval`]; A. Law and D. Kelton, "Simulation Modeling and Analysis", section 9.5.3). A calibration
//! is monotone, so the ends of an interval of latency are those of one of utilisation.

use super::calibration::Calibration;
use crate::constants::BATCHES;
use optiq_measure::statistics::{Interval, mean, mean_interval};
use std::collections::BTreeMap;

/// A utilisation, or another amount, and the interval that covers it at 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// `None` where there are too few samples.
    pub interval: Option<Interval>,
}

/// The mean latency of samples in the order of time, in their unit; `None` without samples.
pub fn mean_latency(samples: &[f64]) -> Option<Estimate> {
    let value = mean(samples)?;
    // Sizes differ by one sample at most, so that none weighs more than others.
    let place = |batch: usize| batch * samples.len() / BATCHES;
    let interval = if samples.len() < BATCHES {
        None
    } else {
        let means: Vec<f64> = (0..BATCHES).filter_map(|i| mean(&samples[place(i)..place(i + 1)])).collect();
        mean_interval(&means)
    };
    Some(Estimate { value, interval })
}

/// The utilisation from latencies of probes in the order of time, in seconds; `None` without samples.
pub fn utilisation(calibration: &Calibration, samples: &[f64]) -> Option<Estimate> {
    let Estimate { value, interval } = mean_latency(samples)?;
    let of = |seconds| calibration.utilisation(seconds);
    Some(Estimate {
        value: of(value),
        interval: interval.map(|Interval { low, high }| Interval { low: of(low), high: of(high) }),
    })
}

/// The utilisation of each output port, from latencies in one direction: (port, seconds), in the order of time.
pub fn by_port(calibration: &Calibration, samples: &[(u32, f64)]) -> BTreeMap<u32, Estimate> {
    let mut ports: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    samples.iter().for_each(|&(port, seconds)| ports.entry(port).or_default().push(seconds));
    ports.into_iter().filter_map(|(port, seconds)| Some((port, utilisation(calibration, &seconds)?))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::measure::calibration::KnownLoad;
    use crate::measure::pollaczek_khinchine::Service;
    use optiq_net::random::SplitMix64;

    /// Latencies that probes see at a queue with Poisson arrivals (Lindley's recursion): each probe comes at random, long after the last
    /// one, waits for the work that it finds, and is served `own` seconds behind a fixed latency.
    fn synthetic(seed: u64, rho: f64, services: [f64; 2], probes: usize) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        let mut uniform = move || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mean_service = (services[0] + services[1]) / 2.0;
        let (mut work, mut latencies) = (0.0_f64, Vec::with_capacity(probes));
        for _ in 0..probes {
            // The probe comes after about 30 arrivals, at a moment of its own.
            let mut until = 60.0 * mean_service * uniform() / rho;
            loop {
                let gap = -(1.0 - uniform()).ln() * mean_service / rho;
                if gap >= until {
                    work = (work - until).max(0.0);
                    break;
                }
                until -= gap;
                work = (work - gap).max(0.0) + services[usize::from(uniform() < 0.5)];
            }
            latencies.push(FIXED + work);
        }
        latencies
    }

    const FIXED: f64 = 1.25e-6;

    #[test]
    fn parameters_of_a_synthetic_queue_are_covered() {
        // Deterministic service, and one of 0.4 or 1.6 us: squared coefficients of variation 0 and 0.36.
        let (mut covered, mut all) = (0, 0);
        for services in [[1e-6, 1e-6], [0.4e-6, 1.6e-6]] {
            let variance = ((services[1] - services[0]) / 2.0_f64).powi(2);
            let service = Service { mean_seconds: 1e-6, variance };
            let known = [0.25, 0.5, 0.75].map(|utilisation| KnownLoad {
                utilisation,
                mean_seconds: FIXED - 1e-6 + service.mean_time(utilisation),
            });
            let switch = Calibration::fit(FIXED, &known).unwrap();
            for (seed, rho) in (1..).zip([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]) {
                let found = utilisation(&switch, &synthetic(seed, rho, services, 20_000)).unwrap();
                let Interval { low, high } = found.interval.unwrap();
                assert!((found.value - rho).abs() < 0.02, "{rho}: {found:?}");
                all += 1;
                covered += usize::from(low <= rho && rho <= high);
            }
        }
        // 18 intervals at 95 %: fewer than 15 are covered once in 500 times.
        assert!(covered >= 15, "{covered} of {all}");
    }

    #[test]
    fn the_calibration_itself_is_found_from_samples() {
        let services = [0.5e-6, 1.5e-6];
        let at = |seed, utilisation| KnownLoad {
            utilisation,
            mean_seconds: mean(&synthetic(seed, utilisation, services, 40_000)).unwrap(),
        };
        let switch = Calibration::fit(FIXED, &[at(1, 0.3), at(2, 0.6), at(3, 0.85)]).unwrap();
        // E[S^2] / (2 E[S]) = (0.25 + 2.25) / 2 / 2 us = 0.625 us.
        assert!((switch.residual_seconds / 0.625e-6 - 1.0).abs() < 0.1, "{switch:?}");
        assert!((switch.queue_seconds / 0.625e-6 - 1.0).abs() < 0.1, "{switch:?}");
    }

    #[test]
    fn an_interval_is_around_the_mean_whatever_is_left_over() {
        // 30 samples, of which the last eleven are ten times as long: 10 batches of one sample and 10 of two.
        let samples: Vec<f64> = (0..30).map(|i| if i < 19 { 1.0 } else { 10.0 }).collect();
        let Estimate { value, interval } = mean_latency(&samples).unwrap();
        assert!((value - 4.3).abs() < 1e-12);
        assert!(interval.is_some_and(|i| i.low < value && value < i.high && i.high < 7.0), "{interval:?}");
    }

    #[test]
    fn ports_are_told_apart() {
        let switch = Calibration { fixed_seconds: 1.0, residual_seconds: 1.0, queue_seconds: 1.0 };
        // Waits of 1 and 3: rho / (1 - rho) = 1 and 3.
        let samples: Vec<(u32, f64)> = (0..200).map(|i| if i % 2 == 0 { (0, 2.0) } else { (7, 4.0) }).collect();
        let found = by_port(&switch, &samples);
        let values: Vec<_> = found.iter().map(|(&port, estimate)| (port, estimate.value)).collect();
        assert_eq!(values, [(0, 0.5), (7, 0.75)]);
        assert!(found.values().all(|e| e.interval == Some(Interval { low: e.value, high: e.value })));
        assert_eq!((utilisation(&switch, &[]), utilisation(&switch, &[2.0; 5]).unwrap().interval), (None, None));
    }
}
