//! The training table: what is measured of applications and of CompressionB, each for itself, and its file.
//!
//! ```toml
//! title = "18 nodes of one switch"
//! bin_seconds = 1e-7                                  # the width of the histograms' bins, the first one from 0
//!
//! [calibration]                                       # of ImpactB on this switch, as optiq_probe::measure fits it
//! fixed_seconds = 1.25e-6
//! residual_seconds = 8e-7
//! queue_seconds = 8e-7
//!
//! [[configuration]]                                   # CompressionB in one configuration
//! name = "P4 M1 B96154ns"
//! impact = { mean_seconds = 2e-6, deviation_seconds = 1e-6, counts = [0, 3, 9, 4] }     # ImpactB beside it
//!
//! [[application]]
//! name = "FFTW"
//! impact = { mean_seconds = 3e-6, deviation_seconds = 2e-6, counts = [0, 1, 9, 6] }     # ImpactB beside it
//! slowdowns = [0.1]                                   # beside each configuration, in their order: (time beside - time alone) / time alone
//! phases = [{ share = 1.0, mean_seconds = 3e-6 }]     # parts of its time with the mean of probes in each; may be left out
//! ```
//!
//! For `n` applications and `k` configurations that are `n (k + 1)` runs with an application and `k` without: the cost is linear in `n`,
//! while there are `n^2` pairs.

use crate::error::ProbeError;
use crate::measure::calibration::Calibration;
use optiq_net::text_file::{self, line_at, shorten};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// The largest file of a table.
const MAX_BYTES: u64 = 16 << 20;
/// The most bins of a histogram.
const MAX_BINS: usize = 1 << 16;

/// Latencies of ImpactB beside something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Perturbation {
    /// The mean.
    pub mean_seconds: f64,
    /// The standard deviation.
    pub deviation_seconds: f64,
    /// How many are in each bin; the last one has all beyond it.
    pub counts: Vec<u64>,
}

/// A part of an application's time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Which part of the time, above 0; those of an application sum to 1.
    pub share: f64,
    /// The mean latency of ImpactB in it.
    pub mean_seconds: f64,
}

/// CompressionB in one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// Its name.
    pub name: String,
    /// ImpactB beside it.
    pub impact: Perturbation,
}

/// An application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// Its name.
    pub name: String,
    /// ImpactB beside it.
    pub impact: Perturbation,
    /// How much slower it is beside each configuration, 0.5 for one and a half times as long. May be below zero by noise.
    pub slowdowns: Vec<f64>,
    /// Its phases, if they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
}

/// See the top of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingTable {
    /// A name for people.
    #[serde(default)]
    pub title: String,
    /// The width of the bins of all histograms.
    pub bin_seconds: f64,
    /// What latencies of ImpactB say of utilisation.
    pub calibration: Calibration,
    /// CompressionB in its configurations, at least one.
    #[serde(rename = "configuration", default)]
    pub configurations: Vec<Configuration>,
    /// The applications.
    #[serde(rename = "application", default)]
    pub applications: Vec<Application>,
}

impl Perturbation {
    /// From latencies in seconds, with bins of a width; `None` without latencies.
    pub fn of(latencies: &[f64], bin_seconds: f64, bins: usize) -> Option<Self> {
        let mean_seconds = optiq_measure::statistics::mean(latencies)?;
        let squares = latencies.iter().map(|l| (l - mean_seconds).powi(2)).sum::<f64>();
        let mut counts = vec![0; bins.max(1)];
        for latency in latencies {
            counts[((latency / bin_seconds) as usize).min(bins.max(1) - 1)] += 1;
        }
        Some(Self { mean_seconds, deviation_seconds: (squares / latencies.len() as f64).sqrt(), counts })
    }

    fn check(&self, of: &str) -> Result<(), ProbeError> {
        let Self { mean_seconds: mean, deviation_seconds: deviation, counts } = self;
        if !(*mean > 0.0 && mean.is_finite() && *deviation >= 0.0 && deviation.is_finite()) {
            let found = format!("{of}: found latencies of {mean} s with a deviation of {deviation} s");
            return Err(ProbeError::Table(format!("{found}; a mean above zero and a deviation are expected")));
        }
        if counts.len() > MAX_BINS || counts.iter().all(|&count| count == 0) {
            let found = format!("{of}: found a histogram of {} bins", counts.len());
            return Err(ProbeError::Table(format!(
                "{found}; 1 to {MAX_BINS} bins with latencies in them are expected"
            )));
        }
        Ok(())
    }
}

impl TrainingTable {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ProbeError::Table`] with one sentence that names the file, what was found and what is expected.
    pub fn read(path: &Path) -> Result<Self, ProbeError> {
        let name = path.display();
        let text = text_file::read(path, MAX_BYTES).map_err(|e| ProbeError::Table(format!("{name}: {e}")))?;
        Self::parse(&text).map_err(|e| ProbeError::Table(format!("{name}: {e}")))
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// As [`TrainingTable::read`], without the name.
    pub fn parse(text: &str) -> Result<Self, ProbeError> {
        let table: Self = toml::from_str(text).map_err(|e| {
            let line = e.span().map_or(1, |span| line_at(text, span.start));
            ProbeError::Table(format!("line {line}: {}", e.message()))
        })?;
        table.check()?;
        Ok(table)
    }

    /// The text of its file.
    pub fn text(&self) -> String {
        // A table of numbers and names always has a text.
        toml::to_string(self).unwrap_or_default()
    }

    /// Whether everything fits together.
    ///
    /// # Errors
    /// [`ProbeError::Table`] with one sentence.
    pub fn check(&self) -> Result<(), ProbeError> {
        let wrong = |text: String| Err(ProbeError::Table(text));
        let Calibration { fixed_seconds, residual_seconds, queue_seconds } = self.calibration;
        let latencies = [fixed_seconds, residual_seconds, queue_seconds];
        if latencies.iter().any(|v| !v.is_finite() || *v < 0.0) || residual_seconds + queue_seconds == 0.0 {
            return wrong(
                "calibration: times that are not below zero, one of the last two above it, are expected".into(),
            );
        }
        if !(self.bin_seconds > 0.0 && self.bin_seconds.is_finite()) {
            return wrong(format!("found bin_seconds = {}; a time above zero is expected", self.bin_seconds));
        }
        if self.configurations.is_empty() {
            return wrong("found no configuration; at least one is expected".into());
        }
        let mut names = BTreeSet::new();
        let configurations = self.configurations.iter().map(|c| (&c.name, &c.impact));
        for (name, impact) in configurations.chain(self.applications.iter().map(|a| (&a.name, &a.impact))) {
            if !names.insert(name.as_str()) {
                return wrong(format!("\"{}\" is there twice; each name once is expected", shorten(name)));
            }
            impact.check(&shorten(name))?;
        }
        self.applications.iter().try_for_each(|application| self.check_application(application))
    }

    fn check_application(&self, application: &Application) -> Result<(), ProbeError> {
        let Application { name, slowdowns, phases, .. } = application;
        let wrong = |text: String| Err(ProbeError::Table(format!("{}: {text}", shorten(name))));
        if slowdowns.len() != self.configurations.len() {
            let (found, expected) = (slowdowns.len(), self.configurations.len());
            return wrong(format!("found {found} slowdowns; {expected}, one for each configuration, are expected"));
        }
        if let Some(slowdown) = slowdowns.iter().find(|s| !(s.is_finite() && **s > -1.0)) {
            return wrong(format!("found a slowdown of {slowdown}; numbers above -1 are expected"));
        }
        let shares: f64 = phases.iter().map(|phase| phase.share).sum();
        let each = |phase: &Phase| phase.share > 0.0 && phase.mean_seconds > 0.0 && phase.mean_seconds.is_finite();
        let are_shares = phases.iter().all(each) && (shares - 1.0).abs() < 1e-6;
        if !phases.is_empty() && !are_shares {
            return wrong(format!(
                "found phases with shares of {shares} in all; shares above 0 of 1 in all, with a mean above 0 each, are expected"
            ));
        }
        Ok(())
    }

    /// An application by its name.
    ///
    /// # Errors
    /// [`ProbeError::Pair`] that names the applications that there are.
    pub fn application(&self, name: &str) -> Result<&Application, ProbeError> {
        self.applications.iter().find(|a| a.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.applications.iter().map(|a| a.name.as_str()).collect();
            let found = format!("the table has no application \"{}\"", shorten(name));
            ProbeError::Pair(format!("{found}; one of {} is expected", names.join(", ")))
        })
    }

    /// The utilisation of each configuration.
    pub fn utilisations(&self) -> Vec<f64> {
        self.configurations.iter().map(|c| self.calibration.utilisation(c.impact.mean_seconds)).collect()
    }

    /// How many runs made the table: with an application, and of CompressionB alone.
    pub fn runs(&self) -> [usize; 2] {
        [self.applications.len() * (self.configurations.len() + 1), self.configurations.len()]
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// A switch of which `rho / (1 - rho)` is the wait in microseconds, with these utilisations and slowdowns of one application, and
    /// applications that load it by these parts.
    pub fn table(configurations: &[(f64, f64)], loads: &[(&str, f64)]) -> TrainingTable {
        let calibration = Calibration { fixed_seconds: 1e-6, residual_seconds: 1e-6, queue_seconds: 1e-6 };
        let impact = |load: f64| {
            let latency = calibration.latency(load);
            Perturbation::of(&[latency * 0.9, latency * 1.1], 1e-7, 64).unwrap()
        };
        let slowdowns: Vec<f64> = configurations.iter().map(|c| c.1).collect();
        TrainingTable {
            title: String::new(),
            bin_seconds: 1e-7,
            calibration,
            configurations: configurations
                .iter()
                .enumerate()
                .map(|(i, c)| Configuration { name: format!("C{i}"), impact: impact(c.0) })
                .collect(),
            applications: loads
                .iter()
                .map(|&(name, load)| Application {
                    name: name.into(),
                    impact: impact(load),
                    slowdowns: slowdowns.clone(),
                    phases: Vec::new(),
                })
                .collect(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut table = table(&[(0.2, 0.1), (0.5, 0.4)], &[("FFTW", 0.3), ("MCB", 0.1)]);
        table.applications[0].phases =
            vec![Phase { share: 0.25, mean_seconds: 2e-6 }, Phase { share: 0.75, mean_seconds: 1e-6 }];
        assert_eq!(TrainingTable::parse(&table.text()).unwrap(), table);
        // Two applications and two configurations: 2 (2 + 1) runs, and 2 of CompressionB alone.
        assert_eq!(table.runs(), [6, 2]);
        let example: String = include_str!("table.rs")
            .lines()
            .skip_while(|line| !line.contains("```toml"))
            .skip(1)
            .take_while(|line| !line.contains("```"))
            .map(|line| line.trim_start_matches("//!").to_owned() + "\n")
            .collect();
        assert_eq!(TrainingTable::parse(&example).unwrap().applications[0].name, "FFTW");
    }

    #[test]
    fn tables_that_are_none_are_refused() {
        let good = table(&[(0.2, 0.1), (0.5, 0.4)], &[("FFTW", 0.3)]);
        let refused = |change: &dyn Fn(&mut TrainingTable)| {
            let mut table = good.clone();
            change(&mut table);
            table.check().unwrap_err().to_string()
        };
        let found = refused(&|t| t.applications[0].slowdowns.truncate(1));
        assert_eq!(found, "FFTW: found 1 slowdowns; 2, one for each configuration, are expected");
        assert!(refused(&|t| t.configurations.clear()).contains("no configuration"));
        assert!(refused(&|t| t.configurations[1].name = "C0".into()).contains("\"C0\" is there twice"));
        assert!(refused(&|t| t.applications[0].slowdowns[0] = f64::NAN).contains("NaN"));
        assert!(refused(&|t| t.applications[0].impact.counts.fill(0)).contains("histogram of 64 bins"));
        assert!(refused(&|t| t.configurations[0].impact.mean_seconds = 0.0).contains("latencies of 0 s"));
        assert!(refused(&|t| t.calibration.queue_seconds = -1.0).contains("calibration"));
        assert!(
            refused(&|t| t.applications[0].phases = vec![Phase { share: 0.5, mean_seconds: 1.0 }])
                .contains("0.5 in all")
        );
        let unread = TrainingTable::parse("bin_seconds = 1\nbins = 3\n").unwrap_err().to_string();
        assert!(unread.starts_with("line 2: unknown field `bins`"), "{unread}");
        let missing = good.application("AMG").unwrap_err().to_string();
        assert_eq!(missing, "the table has no application \"AMG\"; one of FFTW is expected");
    }
}
