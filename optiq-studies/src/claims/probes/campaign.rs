//! The runs that predictions are made of: calibration of the probe, training, and the pairs that are predicted.

use super::system::{BIN_SECONDS, Impact, System, Timed};
use crate::failure::Failure;
use optiq_probe::description::CompressionB;
use optiq_probe::measure::calibration::{Calibration, KnownLoad};
use optiq_probe::measure::estimate::{self, Estimate};
use optiq_probe::measure::pollaczek_khinchine::Service;
use optiq_probe::predict::table::{Application, Configuration, TrainingTable};

/// Loads at which the probe is calibrated: parts of what links carry.
const KNOWN: [f64; 4] = [0.25, 0.5, 0.7, 0.85];

/// What is known of the probe on this switch.
pub(super) struct Calibrated {
    pub idle: Impact,
    pub calibration: Calibration,
    /// What the source takes for service: the smallest latency on the idle switch, and the variance there.
    pub printed: Service,
    pub events: u64,
}

impl Calibrated {
    /// Fits the probe, at no load and at known loads.
    pub fn new(system: &System) -> Result<Self, Failure> {
        let mut impacts = system.all("the probe at no load and at known loads", 1 + KNOWN.len(), |number| {
            let load = number.checked_sub(1).map(|i| system.known(KNOWN[i])).transpose()?;
            system.impact(load.as_ref(), 100 + number as u64)
        })?;
        let events = impacts.iter().map(|impact| impact.events).sum();
        let known: Vec<KnownLoad> = impacts[1..]
            .iter()
            .map(|impact| KnownLoad { utilisation: impact.truth[0], mean_seconds: impact.mean_seconds() })
            .collect();
        let idle = impacts.swap_remove(0);
        let calibration = Calibration::fit(idle.mean_seconds(), &known).map_err(told)?;
        let latencies = idle.latencies();
        let smallest = latencies.iter().copied().fold(f64::INFINITY, f64::min);
        let deviation = idle.perturbation()?.deviation_seconds;
        let printed = Service { mean_seconds: smallest, variance: deviation * deviation };
        Ok(Self { idle, calibration, printed, events })
    }

    /// The utilisation that a probe's latencies tell; 0 without any.
    pub fn estimate(&self, impact: &Impact) -> Estimate {
        let found = estimate::utilisation(&self.calibration, &impact.latencies());
        found.unwrap_or(Estimate { value: 0.0, interval: None })
    }

    pub fn sentence(&self) -> String {
        let Calibration { fixed_seconds, residual_seconds, queue_seconds } = self.calibration;
        format!(
            "The probe: {:.3} us at no load, and {:.3} us times rho and {:.3} us times rho^2 / (1 - rho) of waiting, fitted at known loads of {} % \
             (Poisson arrivals of single packets, counted at the ports). By the printed formula the service is {:.3} us, with a deviation of \
             {:.3} us.",
            fixed_seconds * 1e6,
            residual_seconds * 1e6,
            queue_seconds * 1e6,
            KNOWN.map(|part| format!("{:.0}", part * 100.0)).join(", "),
            self.printed.mean_seconds * 1e6,
            self.printed.variance.sqrt() * 1e6,
        )
    }
}

/// A sentence of the probes.
pub(super) fn told(e: optiq_probe::ProbeError) -> Failure {
    Failure::Work(e.to_string())
}

/// ImpactB beside each of some configurations.
pub(super) fn configurations(system: &System, all: &[CompressionB]) -> Result<Vec<Impact>, Failure> {
    system.all("ImpactB beside CompressionB", all.len(), |number| {
        system.impact(Some(&system.compression(&all[number])), 200 + number as u64)
    })
}

/// ImpactB beside each application.
pub(super) fn beside_applications(system: &System) -> Result<Vec<Impact>, Failure> {
    system.all("ImpactB beside applications", system.published.applications.len(), |number| {
        system.impact(Some(system.application(number)), 300 + number as u64)
    })
}

/// How long each application takes alone.
pub(super) fn applications_alone(system: &System) -> Result<Vec<Timed>, Failure> {
    system.all("applications alone", system.published.applications.len(), |number| system.alone(number))
}

/// A training table, what it cost, and what applications take alone.
pub(super) struct Trained {
    pub table: TrainingTable,
    pub alone: Vec<Timed>,
    /// The true utilisation by each configuration, and by each application.
    pub truth: [Vec<f64>; 2],
    /// Of CompressionB alone, and of each application.
    pub events: (u64, Vec<u64>),
    /// Runs of each application.
    pub runs: Vec<usize>,
}

impl Trained {
    /// Trains with some configurations.
    pub fn new(system: &System, calibrated: &Calibrated, all: &[CompressionB]) -> Result<Self, Failure> {
        let names = &system.published.applications;
        let beside = configurations(system, all)?;
        let impacts = beside_applications(system)?;
        let alone = applications_alone(system)?;
        let timed = system.all("applications beside CompressionB", names.len() * all.len(), |number| {
            let (application, configuration) = (number / all.len(), number % all.len());
            let load = system.compression(&all[configuration]);
            system.timed(application, Some(&load), alone[application].operations)
        })?;
        let truth = [&beside, &impacts].map(|list| list.iter().map(|impact| impact.truth[0]).collect());
        let mut applications = Vec::with_capacity(names.len());
        let (mut events, mut runs) = (Vec::new(), Vec::new());
        for (number, name) in names.iter().enumerate() {
            let of_it = &timed[number * all.len()..(number + 1) * all.len()];
            let (impact, alone) = (&impacts[number], &alone[number]);
            events.push(impact.events + alone.events + of_it.iter().map(|run| run.events).sum::<u64>());
            runs.push(1 + alone.runs + of_it.iter().map(|run| run.runs).sum::<usize>());
            applications.push(Application {
                name: name.clone(),
                impact: impact.perturbation()?,
                slowdowns: of_it.iter().map(|run| run.seconds / alone.seconds - 1.0).collect(),
                phases: impact.phases(),
            });
        }
        let configuration = |(configuration, impact): (&CompressionB, &Impact)| {
            Ok(Configuration { name: configuration.name(), impact: impact.perturbation()? })
        };
        let table = TrainingTable {
            title: "18 nodes of one switch, simulated".into(),
            bin_seconds: BIN_SECONDS,
            calibration: calibrated.calibration,
            configurations: all.iter().zip(&beside).map(configuration).collect::<Result<_, Failure>>()?,
            applications,
        };
        table.check().map_err(told)?;
        let of_compression = beside.iter().map(|impact| impact.events).sum();
        Ok(Self { table, alone, truth, events: (of_compression, events), runs })
    }
}

/// How much slower each application is beside each, rows the victims.
pub(super) fn pairs(system: &System, alone: &[Timed]) -> Result<Vec<Vec<f64>>, Failure> {
    let count = alone.len();
    let found = system.all("pairs of applications", count * count, |number| {
        let (victim, aggressor) = (number / count, number % count);
        let beside = system.timed(victim, Some(system.application(aggressor)), alone[victim].operations)?;
        Ok(beside.seconds / alone[victim].seconds - 1.0)
    })?;
    Ok(found.chunks(count).map(<[f64]>::to_vec).collect())
}
