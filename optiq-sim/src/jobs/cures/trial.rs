//! Every remedy of [`remedies`] simulated: all jobs together with it, and each job alone with it.
//!
//! Runs that two remedies have in common are made once: what a remedy leaves as it is takes alone what it took alone before. All runs
//! are dealt out to threads. Those with OPTIQ's plan beside the others come last, as they need the runs in which the others
//! are watched ([`MeasuredLoad`]). Results do not depend on the number of threads.
//!
//! Figures of a job with a remedy:
//!
//! ```text
//!     slowdown  =  its time beside the others / its time alone, both with the remedy
//!     cycle     =  from the start of an operation to the start of the next one, on average, beside the others
//! ```
//!
//! What a remedy costs the job that it is applied to, or gains it, is its cycle over that as it is: the time of an operation does not
//! have what a throttle makes a client wait.

use super::exchange_bounds::ExchangeBounds;
use super::measured_load::MeasuredLoad;
use super::remedies::{Action, ExchangeMethod, Refused, Remedy, Selection, remedies};
use crate::error::SimError;
use crate::jobs::file::JobFile;
use crate::jobs::parallel::in_parallel;
use crate::jobs::run::{JobProgress, JobResult, JobRun, JobRunOptions, Jobs, Kind, RunOutcome, run_kind};
use crate::jobs::statistics::{JobStatistics, Slowdown};
use crate::jobs::throttle;
use crate::model::Model;
use crate::observers::series::Recording;
use optiq_net::Network;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// How to try.
#[derive(Clone, Copy, Default)]
pub struct TrialOptions<'a> {
    /// Threads; the results are the same with any number.
    pub threads: usize,
    /// Becomes true when all is to end. Runs that are not over are then left out.
    pub stop: Option<&'a AtomicBool>,
    /// Is told now and then how far all is, from any thread.
    pub progress: Option<&'a (dyn Fn(TrialProgress) + Sync)>,
}

/// How far all runs are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialProgress {
    /// Runs that are over.
    pub finished: usize,
    /// All runs.
    pub runs: usize,
    /// The part of all samples that is there, if every run had as many.
    pub part: f64,
}

/// What a job did with a remedy.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFigures {
    /// Alone.
    pub alone: JobStatistics,
    /// Beside the others.
    pub together: JobStatistics,
    /// Beside the others over alone.
    pub slowdown: Option<Slowdown>,
    /// From start to start beside the others, in seconds; `None` if no rank has two samples.
    pub cycle_seconds: Option<f64>,
}

/// A remedy that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// The remedy.
    pub remedy: Remedy,
    /// By job; `None` where a run was left out, or has no samples.
    pub jobs: Vec<Option<JobFigures>>,
}

/// All that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Trials {
    /// The jobs as they are first, then each remedy.
    pub tried: Vec<Tried>,
    /// What does not fit, or failed.
    pub refused: Vec<Refused>,
    /// For each job of which OPTIQ planned an exchange beside the others: what limits it.
    pub exchanges: Vec<ExchangeBounds>,
    /// Runs that are not over because the caller asked for an end.
    pub left_out: usize,
}

impl Trials {
    /// The figures of a job as it is.
    pub fn as_it_is(&self, job: usize) -> Option<&JobFigures> {
        self.tried.first()?.jobs.get(job)?.as_ref()
    }
}

impl JobFigures {
    /// The mean time of an operation beside the others over that of other figures.
    pub fn mean_over(&self, other: &JobFigures) -> f64 {
        self.together.mean.value / other.together.mean.value
    }

    /// The cycle over that of other figures.
    pub fn cycle_over(&self, other: &JobFigures) -> Option<f64> {
        Some(self.cycle_seconds? / other.cycle_seconds?)
    }
}

/// One run, for all remedies that have it.
#[derive(Clone, Copy)]
struct Task {
    remedy: usize,
    kind: Kind,
}

/// A run, and what each job in it did.
type Simulated = (RunOutcome, Vec<(usize, JobRun)>);

/// A run that is over: what each job in it did.
type Found = Result<Option<Vec<(usize, JobRun)>>, SimError>;

/// Tries all remedies that fit.
///
/// # Errors
/// As [`remedies`]; what fails with the jobs as they are. A remedy that fails is refused, and the others go on.
pub fn try_out(
    (file, network, model): (&JobFile, &Network, &Model),
    selection: &Selection<'_>,
    options: &TrialOptions<'_>,
) -> Result<Trials, SimError> {
    let (remedies, refused) = remedies(file, network, model, selection)?;
    let trial = Trial::new(&remedies, network, model, options);
    let watched: Vec<usize> = remedies.iter().filter_map(|remedy| beside(&remedy.action)).collect();
    let loads = trial.watch(&watched)?;
    let left: Vec<Option<Network>> = loads.iter().map(|load| Some(load.as_ref()?.left(network, model))).collect();
    let (now, later): (Vec<usize>, Vec<usize>) =
        (0..trial.tasks.len()).partition(|&task| beside(&remedies[trial.tasks[task].remedy].action).is_none());
    let mut found: Vec<Option<Found>> = trial.tasks.iter().map(|_| None).collect();
    for (tasks, left) in [(now, &[][..]), (later, &left[..])] {
        let networks = watched.iter().copied().zip(left.iter().map(Option::as_ref)).collect::<Vec<_>>();
        let threads = options.threads.max(1);
        let each = (threads / tasks.len().max(1)).max(1);
        let results = in_parallel(threads, tasks.len(), |at| trial.run(tasks[at], &networks, each));
        tasks.into_iter().zip(results).for_each(|(task, result)| found[task] = Some(result));
    }
    let mut exchanges = Vec::new();
    for ((&job, load), left) in watched.iter().zip(loads).zip(&left) {
        if let (Some(load), Some(left)) = (load, left) {
            exchanges.push(ExchangeBounds::of(&remedies[0], job, (network, model), (load, left))?);
        }
    }
    let left_out = trial.left_out(&found, watched.len() - exchanges.len());
    let (tried, failed) = trial.tried(found)?;
    Ok(Trials { tried, refused: refused.into_iter().chain(failed).collect(), exchanges, left_out })
}

/// The job that an action plans beside the others, if it does.
fn beside(action: &Action) -> Option<usize> {
    match action {
        Action::Exchange { job, method: ExchangeMethod::Beside } => Some(*job),
        _ => None,
    }
}

struct Trial<'a> {
    remedies: &'a [Remedy],
    network: &'a Network,
    model: &'a Model,
    options: &'a TrialOptions<'a>,
    tasks: Vec<Task>,
    /// By remedy: the task of all together, and of each job alone.
    of_remedies: Vec<(usize, Vec<usize>)>,
    /// By run, those that are watched first: the part of its samples.
    parts: Mutex<Vec<f64>>,
    watched: usize,
}

impl<'a> Trial<'a> {
    fn new(remedies: &'a [Remedy], network: &'a Network, model: &'a Model, options: &'a TrialOptions<'a>) -> Self {
        let mut tasks: Vec<Task> = Vec::new();
        let mut number = |remedy: usize, kind: Kind| {
            let same = |task: &Task| task.kind == kind && is_same(&remedies[task.remedy], &remedies[remedy], kind);
            tasks.iter().position(same).unwrap_or_else(|| {
                tasks.push(Task { remedy, kind });
                tasks.len() - 1
            })
        };
        // Long runs first.
        let together: Vec<usize> = (0..remedies.len()).map(|remedy| number(remedy, Kind::Together)).collect();
        let jobs = remedies.first().map_or(0, |remedy| remedy.file.jobs.len());
        let mut alone = |remedy: usize| (0..jobs).map(|job| number(remedy, Kind::Alone(job))).collect();
        let of_remedies = together.into_iter().enumerate().map(|(i, together)| (together, alone(i))).collect();
        let watched = remedies.iter().filter(|remedy| beside(&remedy.action).is_some()).count();
        let parts = Mutex::new(vec![0.0; watched + tasks.len()]);
        Self { remedies, network, model, options, tasks, of_remedies, parts, watched }
    }

    fn is_stopped(&self) -> bool {
        self.options.stop.is_some_and(|stop| stop.load(SeqCst))
    }

    /// Says how far the run of this number is.
    fn tell(&self, run: usize, part: f64) {
        let mut parts = self.parts.lock();
        parts[run] = part;
        if let Some(progress) = self.options.progress {
            // A run whose samples are there has yet to end; 2 is one that is over.
            let finished = parts.iter().filter(|&&part| part > 1.0).count();
            let sum: f64 = parts.iter().map(|part| part.min(1.0)).sum();
            progress(TrialProgress { finished, runs: parts.len(), part: sum / parts.len() as f64 });
        }
    }

    /// Simulates one run; `None` if it was not to end.
    fn simulate(
        &self,
        (remedy, kind): (usize, Kind),
        planning_networks: &[Option<&Network>],
        (run, threads, series): (usize, usize, Recording),
    ) -> Result<Option<Simulated>, SimError> {
        if self.is_stopped() {
            return Ok(None);
        }
        let Remedy { file, allocation, .. } = &self.remedies[remedy];
        let jobs = Jobs { file, network: self.network, model: self.model, allocation, planning_networks };
        self.tell(run, 0.0);
        let progress = |now: JobProgress| self.tell(run, now.part.min(1.0));
        let options =
            JobRunOptions { threads, series, stop: self.options.stop, progress: Some(&progress), ..Default::default() };
        let (outcome, of_jobs) = run_kind(&jobs, kind, &options)?;
        self.tell(run, 2.0);
        Ok(outcome.is_complete().then_some((outcome, of_jobs)))
    }

    /// What all jobs but each of these load links with, as they are.
    fn watch(&self, jobs: &[usize]) -> Result<Vec<Option<MeasuredLoad>>, SimError> {
        let threads = self.options.threads.max(1);
        let each = (threads / jobs.len().max(1)).max(1);
        let found = in_parallel(threads, jobs.len(), |at| {
            self.simulate((0, Kind::Without(jobs[at])), &[], (at, each, Recording::Links))
        });
        found.into_iter().map(|found| Ok(found?.map(|(outcome, jobs)| MeasuredLoad::of(&outcome, &jobs)))).collect()
    }

    /// The run of a task. `left` has the networks that are left for the jobs that are planned beside the others.
    fn run(&self, task: usize, left: &[(usize, Option<&Network>)], threads: usize) -> Found {
        let Task { remedy, kind } = self.tasks[task];
        let mut networks = Vec::new();
        if let Some(job) = beside(&self.remedies[remedy].action) {
            match left.iter().find(|entry| entry.0 == job) {
                Some((_, Some(left))) => {
                    networks.resize(job, None);
                    networks.push(Some(*left));
                }
                // The run in which the others were to be watched was left out.
                _ => return Ok(None),
            }
        }
        let run = (self.watched + task, threads, Recording::Nothing);
        Ok(self.simulate((remedy, kind), &networks, run)?.map(|(_, jobs)| jobs))
    }

    fn left_out(&self, found: &[Option<Found>], of_watched: usize) -> usize {
        of_watched + found.iter().filter(|found| matches!(found, None | Some(Ok(None)))).count()
    }

    /// By remedy what was found, and those that failed.
    fn tried(&self, found: Vec<Option<Found>>) -> Result<(Vec<Tried>, Vec<Refused>), SimError> {
        let (mut tried, mut refused) = (Vec::new(), Vec::new());
        for (number, (remedy, (together, alone))) in self.remedies.iter().zip(&self.of_remedies).enumerate() {
            let why = [together].into_iter().chain(alone).find_map(|&task| match &found[task] {
                Some(Err(why)) => Some(why),
                _ => None,
            });
            if let Some(why) = why {
                let why = why.to_string();
                if number == 0 {
                    return Err(SimError::Workload(why));
                }
                refused.push(Refused { action: remedy.action.clone(), why });
                continue;
            }
            let run = |task: usize, job: usize| -> Option<JobRun> {
                let runs = found[task].as_ref()?.as_ref().ok()?.as_ref()?;
                runs.iter().find(|(number, _)| *number == job).map(|(_, run)| run.clone())
            };
            let figures = |(job, &task): (usize, &usize)| figures(remedy, job, [run(task, job)?, run(*together, job)?]);
            tried.push(Tried { remedy: remedy.clone(), jobs: alone.iter().enumerate().map(figures).collect() });
        }
        Ok((tried, refused))
    }
}

fn figures(remedy: &Remedy, job: usize, [alone, together]: [JobRun; 2]) -> Option<JobFigures> {
    let program = &remedy.file.jobs[job].program;
    let cycle_seconds = throttle::observed(&together, program, None).map(|observed| observed.cycle_seconds);
    let nodes = remedy.allocation.jobs[job].nodes();
    let result = JobResult { alone: Some(alone), together: Some(together), nodes };
    let statistics = |run: &Option<JobRun>| result.statistics(run.as_ref()?);
    Some(JobFigures {
        alone: statistics(&result.alone)?,
        together: statistics(&result.together)?,
        slowdown: result.slowdown(),
        cycle_seconds,
    })
}

/// Whether a run is the same for two remedies.
fn is_same(a: &Remedy, b: &Remedy, kind: Kind) -> bool {
    let planned = |remedy: &Remedy| beside(&remedy.action);
    match kind {
        Kind::Alone(job) => {
            // Draws follow from seeds and numbers of processes, which no remedy changes.
            let in_both = |remedy: &Remedy| planned(remedy).filter(|&planned| planned == job);
            a.file.jobs[job].program == b.file.jobs[job].program
                && a.allocation.jobs[job] == b.allocation.jobs[job]
                && a.file.routing == b.file.routing
                && in_both(a) == in_both(b)
        }
        // What the file says of placements does not matter where hosts are the same.
        _ => {
            let programs = a.file.jobs.iter().zip(&b.file.jobs).all(|(a, b)| a.program == b.program);
            programs && a.allocation == b.allocation && a.file.routing == b.file.routing && planned(a) == planned(b)
        }
    }
}
