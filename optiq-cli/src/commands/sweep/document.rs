//! The JSON documents of `optiq sweep`: of a run, and of all. Their keys are a contract with scripts.

use crate::commands::job_document::{PlacedJobDocument, SettingDocument};
use optiq_sim::jobs::allocation::Allocation;
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::run::{JobResult, JobResults};
use optiq_sim::jobs::statistics::{Estimate, JobStatistics};
use optiq_sim::jobs::sweep::identity::Machine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A run. It says nothing of lists, as runs are the same in all sweeps that have them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunDocument {
    #[serde(flatten)]
    pub setting: SettingDocument,
    /// Of all simulations of the run.
    pub packets: u64,
    pub events: u64,
    pub jobs: Vec<JobDocument>,
}

/// A job of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobDocument {
    #[serde(flatten)]
    pub placed: PlacedJobDocument,
    pub measured: bool,
    /// Of which simulation the figures are: `together`, or `alone` if there is no other.
    pub run: String,
    pub samples: usize,
    #[serde(flatten)]
    pub times: Option<Times>,
    #[serde(flatten)]
    pub slowdown: Option<SlowdownFigures>,
    /// The same figures of the job alone, where `run` is `together`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<Times>,
}

/// Of the samples.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Times {
    pub mean_seconds: f64,
    pub min_seconds: f64,
    pub q1_seconds: f64,
    pub median_seconds: f64,
    pub q3_seconds: f64,
    pub p99_seconds: f64,
    pub max_seconds: f64,
    /// At 95 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_interval_seconds: Option<[f64; 2]>,
}

/// Together over alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SlowdownFigures {
    pub slowdown_mean: f64,
    pub slowdown_median: f64,
    pub slowdown_p99: f64,
    /// At 95 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown_mean_interval: Option<[f64; 2]>,
}

fn interval(estimate: &Estimate) -> Option<[f64; 2]> {
    estimate.interval.map(|interval| [interval.low, interval.high])
}

impl Times {
    fn new(s: &JobStatistics) -> Self {
        Times {
            mean_seconds: s.mean.value,
            min_seconds: s.minimum,
            q1_seconds: s.first_quartile.value,
            median_seconds: s.median.value,
            q3_seconds: s.third_quartile.value,
            p99_seconds: s.p99.value,
            max_seconds: s.maximum,
            mean_interval_seconds: interval(&s.mean),
        }
    }
}

impl RunDocument {
    pub fn new(file: &JobFile, machine: &Machine, allocation: &Allocation, results: &JobResults) -> Self {
        let runs = || results.alone.iter().flatten().chain(&results.together);
        let job = |(number, result): (usize, &JobResult)| document_of_job(file, allocation, number, result);
        RunDocument {
            setting: SettingDocument::new(file, &machine.network, &machine.model),
            packets: runs().map(|run| run.packets).sum(),
            events: runs().map(|run| run.events).sum(),
            jobs: results.jobs.iter().enumerate().map(job).collect(),
        }
    }
}

fn document_of_job(file: &JobFile, allocation: &Allocation, number: usize, result: &JobResult) -> JobDocument {
    let [together, alone] =
        [&result.together, &result.alone].map(|run| run.as_ref().and_then(|r| result.statistics(r)));
    let run = if result.together.is_some() { "together" } else { "alone" };
    let shown = if result.together.is_some() { &together } else { &alone };
    let beside = alone.as_ref().filter(|_| result.together.is_some());
    JobDocument {
        placed: PlacedJobDocument::new(file, allocation, number),
        measured: file.jobs[number].is_measured,
        run: run.to_owned(),
        samples: shown.as_ref().map_or(0, |s| s.samples),
        times: shown.as_ref().map(Times::new),
        slowdown: result.slowdown().map(|s| SlowdownFigures {
            slowdown_mean: s.mean.value,
            slowdown_median: s.median.value,
            slowdown_p99: s.p99.value,
            slowdown_mean_interval: interval(&s.mean),
        }),
        alone: beside.map(Times::new),
    }
}

/// All runs, `sweep.json`.
#[derive(Debug, Serialize)]
pub struct SweepDocument {
    pub title: String,
    pub file: String,
    /// Where documents are.
    pub output: String,
    pub lists: Vec<ListDocument>,
    pub runs: u64,
    pub finished: u64,
    pub packets: u64,
    /// Those that are finished, in the order of the lists.
    pub results: Vec<ResultDocument>,
}

/// A list.
#[derive(Debug, Serialize)]
pub struct ListDocument {
    pub name: String,
    pub values: Vec<String>,
}

/// A run of a sweep.
#[derive(Debug, Serialize)]
pub struct ResultDocument {
    /// Its number, from 0 on.
    pub run: u64,
    /// By the lists' names.
    pub values: BTreeMap<String, String>,
    /// Its file, in the directory of the sweep.
    pub document: String,
    pub jobs: Vec<JobDocument>,
}

/// What is expected of a sweep.
#[derive(Debug, Serialize)]
pub struct PlanDocument {
    pub title: String,
    pub file: String,
    pub lists: Vec<ListDocument>,
    pub runs: u64,
    pub finished: u64,
    /// Of all that are not finished.
    pub expected_packets: f64,
    pub threads: usize,
    /// Of one thread, measured; left out if nothing is to be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_seconds: Option<f64>,
    /// How many runs the packets were counted of.
    pub counted_runs: usize,
}
