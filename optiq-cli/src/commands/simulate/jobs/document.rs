//! The JSON document of `optiq simulate --jobs`. Its keys are a contract with scripts.

use super::figures::{BusyLink, Found, busy_links};
use crate::commands::job_document::{JobFileDocument, PlacedJobDocument};
use crate::commands::simulate::document::end_of;
use optiq_sim::jobs::run::{JobRun, RunOutcome};
use optiq_sim::jobs::statistics::{Estimate, JobStatistics, Slowdown};
use serde::Serialize;

#[derive(Serialize)]
pub struct JobsDocument<'a> {
    #[serde(flatten)]
    file: JobFileDocument<'a>,
    /// Whether ranks ended after their samples.
    finite: bool,
    /// Whether all runs that were wanted have measured all samples of their measured jobs.
    complete: bool,
    jobs: Vec<JobDocument>,
    runs: Vec<RunDocument<'a>>,
    /// The busiest ones of the run of all jobs.
    links: Vec<LinkDocument<'a>>,
    links_used: usize,
    links_shared: usize,
    /// Of all that was simulated: the same on any number of threads.
    outcome_fingerprint: String,
}

#[derive(Serialize)]
struct JobDocument {
    #[serde(flatten)]
    placed: PlacedJobDocument,
    measured: bool,
    /// Of which run the figures are: `together`, or `alone` if only that was wanted.
    run: &'static str,
    #[serde(flatten)]
    figures: FiguresDocument,
    #[serde(flatten)]
    slowdown: Option<SlowdownDocument>,
    /// The same figures of the job alone, where `run` is `together`.
    #[serde(skip_serializing_if = "Option::is_none")]
    alone: Option<FiguresDocument>,
}

/// Without samples only their number.
#[derive(Serialize, Default)]
struct FiguresDocument {
    samples: usize,
    /// Whether all ranks have all samples.
    complete: bool,
    packets: u64,
    payload_bytes: u64,
    #[serde(flatten)]
    times: Option<Times>,
}

/// What operations took.
#[derive(Serialize)]
pub struct Times {
    nodes: usize,
    mean_seconds: f64,
    min_seconds: f64,
    q1_seconds: f64,
    median_seconds: f64,
    q3_seconds: f64,
    p99_seconds: f64,
    max_seconds: f64,
    #[serde(flatten)]
    intervals: Option<TimeIntervals>,
}

/// At 95 %.
#[derive(Serialize)]
struct TimeIntervals {
    mean_interval_seconds: [f64; 2],
    q1_interval_seconds: [f64; 2],
    median_interval_seconds: [f64; 2],
    q3_interval_seconds: [f64; 2],
    p99_interval_seconds: [f64; 2],
}

/// How many times as long they took beside others as alone.
#[derive(Serialize)]
pub struct SlowdownDocument {
    slowdown_mean: f64,
    slowdown_median: f64,
    slowdown_p99: f64,
    #[serde(flatten)]
    intervals: Option<SlowdownIntervals>,
}

#[derive(Serialize)]
struct SlowdownIntervals {
    slowdown_mean_interval: [f64; 2],
    slowdown_median_interval: [f64; 2],
    slowdown_p99_interval: [f64; 2],
}

#[derive(Serialize)]
struct RunDocument<'a> {
    /// `together` or `alone`.
    run: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<&'a str>,
    end: &'static str,
    complete: bool,
    seconds: f64,
    packets: u64,
    events: u64,
    simulation_seconds: f64,
}

#[derive(Serialize)]
struct LinkDocument<'a> {
    from: &'a str,
    to: &'a str,
    busy_share: f64,
    total_bytes: u64,
    /// In the order of the jobs.
    job_bytes: Vec<u64>,
}

fn interval(estimate: &Estimate) -> Option<[f64; 2]> {
    estimate.interval.map(|interval| [interval.low, interval.high])
}

impl FiguresDocument {
    fn new(run: &JobRun, statistics: Option<&JobStatistics>) -> Self {
        Self {
            samples: statistics.map_or(0, |s| s.samples),
            complete: run.complete.is_some(),
            packets: run.outcome.packets,
            payload_bytes: run.outcome.payload_bytes,
            times: statistics.map(Times::new),
        }
    }
}

impl Times {
    /// Mean, quartiles with the median between them, and the 99 % quantile.
    #[cfg(feature = "mpi")]
    pub fn seconds(&self) -> [f64; 5] {
        [self.mean_seconds, self.q1_seconds, self.median_seconds, self.q3_seconds, self.p99_seconds]
    }

    pub fn new(s: &JobStatistics) -> Self {
        let intervals = || {
            Some(TimeIntervals {
                mean_interval_seconds: interval(&s.mean)?,
                q1_interval_seconds: interval(&s.first_quartile)?,
                median_interval_seconds: interval(&s.median)?,
                q3_interval_seconds: interval(&s.third_quartile)?,
                p99_interval_seconds: interval(&s.p99)?,
            })
        };
        Self {
            nodes: s.nodes,
            mean_seconds: s.mean.value,
            min_seconds: s.minimum,
            q1_seconds: s.first_quartile.value,
            median_seconds: s.median.value,
            q3_seconds: s.third_quartile.value,
            p99_seconds: s.p99.value,
            max_seconds: s.maximum,
            intervals: intervals(),
        }
    }
}

impl SlowdownDocument {
    /// Of the mean.
    #[cfg(feature = "mpi")]
    pub fn mean(&self) -> f64 {
        self.slowdown_mean
    }

    pub fn new(s: &Slowdown) -> Self {
        let intervals = || {
            Some(SlowdownIntervals {
                slowdown_mean_interval: interval(&s.mean)?,
                slowdown_median_interval: interval(&s.median)?,
                slowdown_p99_interval: interval(&s.p99)?,
            })
        };
        Self {
            slowdown_mean: s.mean.value,
            slowdown_median: s.median.value,
            slowdown_p99: s.p99.value,
            intervals: intervals(),
        }
    }
}

impl<'a> JobsDocument<'a> {
    pub fn new(found: &Found<'a>) -> Self {
        let &Found { file, network, model, results, most, .. } = found;
        let links = busy_links(found);
        let name = |job: usize| file.jobs[job].name.as_str();
        let together = results.together.iter().map(|run| document_of_run("together", None, run));
        let alone = results.alone.iter().enumerate();
        let alone = alone.filter_map(|(job, run)| Some(document_of_run("alone", Some(name(job)), run.as_ref()?)));
        Self {
            file: JobFileDocument::new(file, network, model),
            finite: found.finite,
            complete: results.is_complete(),
            jobs: (0..file.jobs.len()).map(|job| document_of_job(found, job)).collect(),
            runs: together.chain(alone).collect(),
            links_used: links.len(),
            links_shared: links.iter().filter(|link| link.is_shared()).count(),
            links: links.into_iter().take(most).map(|link| document_of_link(found, link)).collect(),
            outcome_fingerprint: results.fingerprint().to_string(),
        }
    }
}

fn document_of_job(found: &Found<'_>, job: usize) -> JobDocument {
    let (result, figures) = (&found.results.jobs[job], &found.figures[job]);
    let alone = result.alone.as_ref().map(|run| FiguresDocument::new(run, figures.alone.as_ref()));
    let together = result.together.as_ref().map(|run| FiguresDocument::new(run, figures.together.as_ref()));
    let (run, shown, alone) = match together {
        Some(together) => ("together", together, alone),
        None => ("alone", alone.unwrap_or_default(), None),
    };
    JobDocument {
        placed: PlacedJobDocument::new(found.file, found.allocation, job),
        measured: found.file.jobs[job].is_measured,
        run,
        figures: shown,
        slowdown: figures.slowdown.as_ref().map(SlowdownDocument::new),
        alone,
    }
}

fn document_of_run<'a>(run: &'static str, job: Option<&'a str>, outcome: &RunOutcome) -> RunDocument<'a> {
    RunDocument {
        run,
        job,
        end: end_of(outcome.end),
        complete: outcome.is_complete(),
        seconds: outcome.time.seconds(),
        packets: outcome.packets,
        events: outcome.events,
        simulation_seconds: outcome.wall_seconds,
    }
}

fn document_of_link<'a>(found: &Found<'a>, link: BusyLink) -> LinkDocument<'a> {
    let ends = found.network.link(link.link);
    LinkDocument {
        from: found.network.name(ends.from),
        to: found.network.name(ends.to),
        busy_share: link.share,
        total_bytes: link.bytes,
        job_bytes: link.of_jobs,
    }
}
