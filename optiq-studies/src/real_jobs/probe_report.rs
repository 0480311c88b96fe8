//! What a probe with real messages found: the document of `optiq probe impact`, `compression`, `link` and `proxy`.

use super::samples::RealJobDocument;
use optiq_measure::statistics::{Summary, quantile};
use optiq_probe::description::pair_up;
use optiq_probe::measure::calibration::Calibration;
use optiq_probe::measure::estimate::{Estimate, mean_latency, utilisation};
use optiq_probe::measure::noise::{Noise, WakeUps};
use serde::{Deserialize, Serialize};

/// Latencies, or times of operations, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// How many.
    pub samples: usize,
    /// Their mean.
    pub mean_seconds: f64,
    /// The interval that covers it at 95 %, where there are enough.
    pub mean_low_seconds: Option<f64>,
    /// See above.
    pub mean_high_seconds: Option<f64>,
    /// The smallest.
    pub least_seconds: f64,
    /// The median.
    pub median_seconds: f64,
    /// 99 % are below.
    pub p99_seconds: f64,
    /// The largest.
    pub most_seconds: f64,
}

impl Times {
    /// Of samples in the order of time; `None` without any.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let Estimate { value, interval } = mean_latency(samples)?;
        let Summary { minimum, median, maximum, .. } = Summary::of(samples)?;
        Some(Self {
            samples: samples.len(),
            mean_seconds: value,
            mean_low_seconds: interval.map(|i| i.low),
            mean_high_seconds: interval.map(|i| i.high),
            least_seconds: minimum,
            median_seconds: median,
            p99_seconds: quantile(samples, 0.99)?,
            most_seconds: maximum,
        })
    }
}

/// What one pair of nodes measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairTimes {
    /// The node that begins.
    pub from: String,
    /// The other one.
    pub to: String,
    /// Latencies.
    #[serde(flatten)]
    pub times: Times,
}

/// A utilisation from 0 to 1, and the interval that covers it at 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Utilisation {
    /// The estimate.
    pub share: f64,
    /// Its interval, where there are enough samples.
    pub low_share: Option<f64>,
    /// See above.
    pub high_share: Option<f64>,
}

/// What is sent besides what is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// What a node sends at most, if messages take no time.
    pub offered_bytes_per_second: f64,
    /// What it sent on average.
    pub sent_bytes_per_second: f64,
}

/// See the top of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeReport {
    /// `impact`, `compression`, `link`, or the name of a proxy.
    pub probe: String,
    /// What ranks did, as a job file has it.
    pub program: String,
    /// Ranks.
    pub ranks: u32,
    /// Nodes.
    pub nodes: u32,
    /// Of all draws.
    pub seed: u64,
    /// How long it ran.
    pub seconds: f64,
    /// Of what is measured, over all ranks.
    #[serde(flatten)]
    pub times: Times,
    /// Of each pair, or of the one path.
    pub pairs: Vec<PairTimes>,
    /// Of CompressionB.
    pub load: Option<Load>,
    /// Of timer and scheduler.
    pub noise: Noise,
    /// The mean latency above the smallest, or above the calibrated one at no load; of probes alone.
    pub queueing_seconds: Option<f64>,
    /// The utilisation that latencies tell, where the probe is calibrated.
    pub utilisation: Option<Utilisation>,
    /// Whether the numbers say nothing of the network.
    pub is_worthless: bool,
    /// Why.
    pub worthless_because: Vec<String>,
}

/// What is reported on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reported {
    /// ImpactB.
    Impact,
    /// CompressionB: what a node offers in bytes per second, and its sleep.
    Compression {
        /// What a node offers.
        bytes_per_second: f64,
        /// From round to round.
        sleep_seconds: f64,
    },
    /// A link probe: the first process sends to the second.
    Link,
    /// A proxy: its shortest computing.
    Proxy {
        /// In seconds; 0 if it computes nothing.
        computing_seconds: f64,
    },
}

/// All samples in the order of time.
fn in_order<'a>(document: &'a RealJobDocument, which: impl Fn(usize) -> bool + 'a) -> Vec<f64> {
    let of = |(_, process): (usize, &'a super::samples::ProcessSamples)| {
        process.start_seconds.iter().copied().zip(process.duration_seconds.iter().copied())
    };
    let mut samples: Vec<(f64, f64)> =
        document.processes.iter().enumerate().filter(|(rank, _)| which(*rank)).flat_map(of).collect();
    samples.sort_by(|a, b| a.0.total_cmp(&b.0));
    samples.into_iter().map(|sample| sample.1).collect()
}

impl ProbeReport {
    /// From what all processes measured; `hosts` has the node of each, and `noise` what was measured before.
    ///
    /// # Errors
    /// A sentence, if nothing was measured.
    pub fn new(
        name: &str,
        what: Reported,
        document: &RealJobDocument,
        hosts: &[u32],
        noise: Noise,
        calibration: Option<&Calibration>,
    ) -> Result<Self, String> {
        let samples = in_order(document, |_| true);
        let times = Times::of(&samples).ok_or("the probe ended without samples")?;
        let during: Vec<WakeUps> = document.processes.iter().map(|process| process.wake_ups).collect();
        let noise = Noise { during: WakeUps::of_all(&during), ..noise };
        let is_latency = matches!(what, Reported::Impact | Reported::Link);
        let base = calibration.map_or(times.least_seconds, |c| c.fixed_seconds);
        let queueing = is_latency.then_some(times.mean_seconds - base);
        let reasons: Vec<String> = match what {
            Reported::Impact | Reported::Link => {
                queueing.and_then(|queueing| noise.drowns(queueing)).into_iter().collect()
            }
            Reported::Compression { sleep_seconds, .. } => noise.blurs("a sleep", sleep_seconds).into_iter().collect(),
            Reported::Proxy { computing_seconds } => noise.blurs("computing", computing_seconds).into_iter().collect(),
        };
        let found = calibration.filter(|_| is_latency).and_then(|calibration| utilisation(calibration, &samples));
        let mut nodes = hosts.to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        Ok(Self {
            probe: name.to_owned(),
            program: document.program.clone(),
            ranks: document.ranks,
            nodes: nodes.len() as u32,
            seed: document.seed,
            seconds: document.seconds,
            times,
            pairs: pairs(what, document, hosts),
            load: load(what, document, nodes.len()),
            noise,
            queueing_seconds: queueing,
            utilisation: found.map(|Estimate { value, interval }| Utilisation {
                share: value,
                low_share: interval.map(|i| i.low),
                high_share: interval.map(|i| i.high),
            }),
            is_worthless: !reasons.is_empty(),
            worthless_because: reasons,
        })
    }
}

fn pairs(what: Reported, document: &RealJobDocument, hosts: &[u32]) -> Vec<PairTimes> {
    let host = |rank: usize| document.processes[rank].host.clone();
    let between = |from: usize, to: usize, samples: &[f64]| {
        Times::of(samples).map(|times| PairTimes { from: host(from), to: host(to), times })
    };
    match what {
        Reported::Link => between(0, 1, &in_order(document, |rank| rank == 0)).into_iter().collect(),
        // Ranks of the same two nodes are one pair.
        Reported::Impact => {
            let partners = pair_up(hosts).unwrap_or_default();
            let begins = |rank: usize| partners.get(rank).copied().flatten().filter(|partner| partner.begins);
            let firsts = (0..hosts.len())
                .filter(|&rank| begins(rank).is_some() && hosts[..rank].iter().all(|h| *h != hosts[rank]));
            firsts
                .filter_map(|first| {
                    let to = begins(first)?.rank as usize;
                    between(first, to, &in_order(document, |rank| hosts[rank] == hosts[first]))
                })
                .collect()
        }
        Reported::Compression { .. } | Reported::Proxy { .. } => Vec::new(),
    }
}

fn load(what: Reported, document: &RealJobDocument, nodes: usize) -> Option<Load> {
    let Reported::Compression { bytes_per_second: offered_bytes_per_second, .. } = what else { return None };
    let sent_bytes_per_second = document.message_bytes as f64 / document.seconds / nodes as f64;
    Some(Load { offered_bytes_per_second, sent_bytes_per_second })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::super::samples::ProcessSamples;
    use super::*;

    fn process(host: &str, samples: &[(f64, f64)], late: f64) -> ProcessSamples {
        let mut wake_ups = WakeUps::default();
        [0.0, late].iter().for_each(|&d| wake_ups.add(d));
        ProcessSamples {
            host: host.into(),
            complete: true,
            start_seconds: samples.iter().map(|s| s.0).collect(),
            duration_seconds: samples.iter().map(|s| s.1).collect(),
            wake_ups,
        }
    }

    /// Two ranks on h0 with samples of 10 and 30 us, and of 20 us; one on h1.
    fn document(late: f64) -> RealJobDocument {
        RealJobDocument {
            program: "impact,message=1KiB".into(),
            topology: "star:2".into(),
            seed: 1,
            ranks: 4,
            servers: 0,
            messages: 6,
            message_bytes: 6144,
            seconds: 2.0,
            processes: vec![
                process("h0", &[(0.0, 10e-6), (1.0, 30e-6)], late),
                process("h0", &[(0.5, 20e-6)], late),
                process("h1", &[], late),
                process("h1", &[], late),
            ],
        }
    }

    fn quiet() -> Noise {
        Noise { timer_seconds: 1e-9, before: WakeUps::default(), during: WakeUps::default(), shares_processors: false }
    }

    #[test]
    fn latencies_by_hand() {
        let switch = Calibration { fixed_seconds: 10e-6, residual_seconds: 10e-6, queue_seconds: 10e-6 };
        let found =
            ProbeReport::new("impact", Reported::Impact, &document(2e-6), &[0, 0, 1, 1], quiet(), Some(&switch))
                .unwrap();
        assert_eq!((found.times.samples, found.nodes, found.pairs.len()), (3, 2, 1));
        assert_eq!(
            (found.pairs[0].from.as_str(), found.pairs[0].to.as_str(), found.pairs[0].times.samples),
            ("h0", "h1", 3)
        );
        // The mean is 20 us: 10 of queueing, rho / (1 - rho) = 1. Half of 2 us is noise.
        assert!((found.queueing_seconds.unwrap() - 10e-6).abs() < 1e-12);
        assert!((found.utilisation.unwrap().share - 0.5).abs() < 1e-9);
        assert!((found.noise.seconds() - 1e-6).abs() < 1e-12 && !found.is_worthless);
    }

    #[test]
    fn noise_makes_it_worthless_and_is_named() {
        let noisy =
            ProbeReport::new("impact", Reported::Impact, &document(80e-6), &[0, 0, 1, 1], quiet(), None).unwrap();
        assert!(
            noisy.is_worthless && noisy.worthless_because[0].contains("the scheduler's noise is 40.0 us"),
            "{noisy:?}"
        );
        let what = Reported::Compression { bytes_per_second: 5000.0, sleep_seconds: 9e-6 };
        let found = ProbeReport::new("compression", what, &document(80e-6), &[0, 0, 1, 1], quiet(), None).unwrap();
        assert!(found.worthless_because[0].starts_with("a sleep of 9.0 us is asked for"));
        // 6,144 bytes in 2 s of two nodes.
        assert_eq!(found.load, Some(Load { offered_bytes_per_second: 5000.0, sent_bytes_per_second: 1536.0 }));
        assert_eq!((found.queueing_seconds, found.pairs.len()), (None, 0));
        let empty = RealJobDocument { processes: vec![process("h0", &[], 0.0)], ..document(0.0) };
        assert!(
            ProbeReport::new("proxy", Reported::Proxy { computing_seconds: 0.0 }, &empty, &[0], quiet(), None).is_err()
        );
    }
}
