//! From a job file to what its jobs take: each of them alone, and all of them together.
//!
//! A job alone is simulated with the same processes on the same hosts, while all other processes do nothing: then every
//! random number is the same as beside the others, and whatever differs is their doing. Unless jobs are to be finite, all ranks go on
//! after their samples until the run ends, so that the load does not sink while the last ranks of a job still measure. A run ends when
//! all jobs that it measures have their samples: together those that the file says, alone the job itself.
//!
//! Runs depend on nothing but the jobs. They are dealt out to threads, and what is found is the same for any number of them.

use crate::engine::limits::{End, Limits};
use crate::error::SimError;
use crate::jobs::allocation::Allocation;
use crate::jobs::file::JobFile;
use crate::jobs::parallel::in_parallel;
use crate::jobs::programs::build::build;
use crate::jobs::programs::samples::{JobReport, RankSamples};
use crate::jobs::programs::setting::JobSetting;
use crate::jobs::statistics::{self, JobStatistics, NodeSamples, Slowdown};
use crate::model::Model;
use crate::nic::layout::{Layout, Process};
use crate::nic::program::{Idle, Program};
use crate::observers::postcards::{PostcardOptions, Postcards};
use crate::observers::series::{Recording, Series};
use crate::options::RunOptions;
use crate::outcome::{JobOutcome, Outcome};
use crate::simulation::simulate_jobs;
use crate::time::Time;
use optiq_net::Network;
use optiq_net::fingerprint::{Fingerprint, Hasher};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// The jobs, where they are, and the machine.
#[derive(Clone, Copy)]
pub struct Jobs<'a> {
    /// The jobs; random numbers follow from its seed.
    pub file: &'a JobFile,
    /// Their network.
    pub network: &'a Network,
    /// The machine's parameters.
    pub model: &'a Model,
    /// Where the jobs are.
    pub allocation: &'a Allocation,
    /// By job: the network as the planner of its `alltoallv` sees it, for example with the load of other jobs; nothing for the
    /// network itself. May be shorter than there are jobs.
    pub planning_networks: &'a [Option<&'a Network>],
}

/// Which runs are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// Each job alone, and all together: only then there are slowdowns.
    #[default]
    Both,
    /// Each job alone.
    Alone,
    /// All together.
    Together,
}

/// One of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The job of this number alone.
    Alone(usize),
    /// All but the job of this number, to see what they load links with. If none of them is measured, all are.
    Without(usize),
    /// All together.
    Together,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobProgress {
    /// Which run.
    pub kind: Kind,
    /// Its number among all, in the order in which they begin.
    pub number: usize,
    /// How many there are.
    pub runs: usize,
    /// Simulated time.
    pub now: Time,
    /// Events so far.
    pub events: u64,
    /// The part of its samples that the slowest of its measured jobs has.
    pub part: f64,
}

/// How to run.
#[derive(Clone, Copy, Default)]
pub struct JobRunOptions<'a> {
    /// Which runs are wanted.
    pub which: Which,
    /// Threads, at least one; the results are the same with any number. Where there are more than runs, a run has several.
    pub threads: usize,
    /// Of each run.
    pub limits: Limits,
    /// What is recorded over time.
    pub series: Recording,
    /// How postcards of marked packets are written, if they are wanted.
    pub postcards: Option<PostcardOptions>,
    /// Whether the ranks of measured jobs end after their samples, as a job of a fixed number of operations does; otherwise they go on until
    /// all measured jobs have theirs. Late samples then meet an emptier network, and a job that is over early slows no other
    /// any more.
    pub is_finite: bool,
    /// Becomes true when all is to end. Runs that have not begun are then left out.
    pub stop: Option<&'a AtomicBool>,
    /// Is told now and then how far a run is, from any thread.
    pub progress: Option<&'a (dyn Fn(JobProgress) + Sync)>,
}

/// What a job has measured in a run.
#[derive(Clone, Debug)]
pub struct JobRun {
    /// The samples of its ranks, without servers, in the order of [`crate::jobs::allocation::JobHosts::of_processes`].
    pub ranks: Vec<RankSamples>,
    /// What the network has carried for it.
    pub outcome: JobOutcome,
    /// When the last rank had all of its samples; `None` if one has not: the run has met a limit, or the job is not measured
    /// and was slower than those that are.
    pub complete: Option<Time>,
}

/// A run, without what belongs to one job only.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// Why it ended: [`End::Measured`] if all is as it should be.
    pub end: End,
    /// The time of the last event.
    pub time: Time,
    /// Events.
    pub events: u64,
    /// Packets that arrived.
    pub packets: u64,
    /// Bytes on each link of the network, headers included; parallel ones together.
    pub link_bytes: Vec<u64>,
    /// For how long each link was busy; parallel ones together.
    pub link_busy: Vec<Time>,
    /// What happened over time, if it was wanted. Its jobs are by number in a run of all together; alone, the job itself is
    /// the first one, and nothing belongs to a second one. Without entries for jobs if the file has only one.
    pub series: Option<Series>,
    /// Postcards of marked packets, if they were wanted.
    pub postcards: Option<Postcards>,
    /// What the simulation itself took, in seconds.
    pub wall_seconds: f64,
}

/// A job alone and beside the others; what was not wanted, or not begun, is `None`.
#[derive(Clone, Debug)]
pub struct JobResult {
    /// Alone.
    pub alone: Option<JobRun>,
    /// Beside all others.
    pub together: Option<JobRun>,
    /// By rank: its node, counted from 0 among the job's.
    pub nodes: Vec<u32>,
}

/// All that was found.
#[derive(Clone, Debug)]
pub struct JobResults {
    /// By job.
    pub jobs: Vec<JobResult>,
    /// By job, the run of it alone.
    pub alone: Vec<Option<RunOutcome>>,
    /// The run of all.
    pub together: Option<RunOutcome>,
    /// How many runs had not begun when the caller asked to stop.
    pub left_out: usize,
}

impl RunOutcome {
    /// Whether all samples of all of its measured jobs are there.
    pub fn is_complete(&self) -> bool {
        self.end == End::Measured
    }
}

impl JobResult {
    /// What a run of this job says; `None` without samples.
    pub fn statistics(&self, run: &JobRun) -> Option<JobStatistics> {
        NodeSamples::new(self.nodes.iter().copied().zip(&run.ranks)).statistics()
    }

    /// How much slower it is beside the others: `None` if it was not simulated both alone and together, or has no samples.
    pub fn slowdown(&self) -> Option<Slowdown> {
        statistics::slowdown(&self.nodes, &self.alone.as_ref()?.ranks, &self.together.as_ref()?.ranks)
    }
}

impl JobResults {
    /// Whether every run that was wanted has measured what it was to measure.
    pub fn is_complete(&self) -> bool {
        let mut runs = self.alone.iter().flatten().chain(&self.together);
        self.left_out == 0 && runs.all(RunOutcome::is_complete)
    }

    /// The fingerprint of all samples, and of all that was simulated: the same on every machine, with any number of threads.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = Hasher::new("optiq job results 1");
        for run in self.jobs.iter().flat_map(|job| [&job.alone, &job.together]).flatten() {
            hasher.bytes(&run.outcome.fingerprint().0.to_le_bytes());
            for rank in &run.ranks {
                hasher.u64(rank.samples.len() as u64);
                for sample in &rank.samples {
                    hasher.u64(sample.start.as_picoseconds());
                    hasher.u64(sample.duration.as_picoseconds());
                }
            }
        }
        hasher.finish()
    }
}

/// Simulates jobs.
///
/// # Errors
/// [`SimError::Workload`] that names file and job: a program that does not fit its ranks, or fails; all that
/// [`simulate_jobs`] reports. One that fails ends all others.
pub fn run_jobs(jobs: &Jobs<'_>, options: &JobRunOptions<'_>) -> Result<JobResults, SimError> {
    let kinds = kinds(jobs.file.jobs.len(), options.which);
    let threads = options.threads.max(1);
    let runner = Runner::new(jobs, options, (threads / kinds.len()).max(1), kinds);
    let found = in_parallel(threads, runner.kinds.len(), |number| runner.take(number));
    Ok(runner.results(found.into_iter().map(Option::transpose).collect::<Result<Vec<_>, _>>()?))
}

/// Simulates one run, with all threads: what belongs to no job, and of each job in it its number and what it measured. Which runs
/// the options want does not matter.
///
/// # Errors
/// As [`run_jobs`].
pub fn run_kind(
    jobs: &Jobs<'_>,
    kind: Kind,
    options: &JobRunOptions<'_>,
) -> Result<(RunOutcome, Vec<(usize, JobRun)>), SimError> {
    let runner = Runner::new(jobs, options, options.threads.max(1), vec![kind]);
    let (run, of_jobs) = runner.run(kind, 0)?;
    let numbers = (0..jobs.file.jobs.len()).filter(|&job| kind.has(job));
    Ok((run, numbers.zip(of_jobs).collect()))
}

/// The runs, the longest first. With a single job both kinds are the same run.
fn kinds(jobs: usize, which: Which) -> Vec<Kind> {
    let together = (which != Which::Alone && jobs > 1 || which == Which::Together).then_some(Kind::Together);
    let alone = (0..jobs).map(Kind::Alone).filter(|_| which != Which::Together);
    together.into_iter().chain(alone).collect()
}

impl Kind {
    /// Whether a job is in such a run.
    fn has(self, job: usize) -> bool {
        match self {
            Kind::Alone(alone) => job == alone,
            Kind::Without(left_out) => job != left_out,
            Kind::Together => true,
        }
    }
}

type Found = Result<(RunOutcome, Vec<JobRun>), SimError>;

struct Runner<'a> {
    jobs: Jobs<'a>,
    options: JobRunOptions<'a>,
    /// Per job, the host of each process.
    hosts: Vec<Vec<u32>>,
    /// Of each run.
    threads: usize,
    /// What runs look at for whether they shall end: the caller wants to, or another run has failed.
    halt: AtomicBool,
    kinds: Vec<Kind>,
}

/// The programs of a run by process, and what each job in it measures, by its number.
type Prepared = (Vec<Box<dyn Program>>, Vec<(usize, JobReport)>);

impl<'a> Runner<'a> {
    fn new(jobs: &Jobs<'a>, options: &JobRunOptions<'a>, threads: usize, kinds: Vec<Kind>) -> Self {
        Runner {
            jobs: *jobs,
            options: *options,
            hosts: jobs.allocation.jobs.iter().map(|job| job.of_processes().map(|host| host.0).collect()).collect(),
            threads,
            halt: AtomicBool::new(false),
            kinds,
        }
    }

    fn is_stopped(&self) -> bool {
        if self.options.stop.is_some_and(|stop| stop.load(SeqCst)) {
            self.halt.store(true, SeqCst);
        }
        self.halt.load(SeqCst)
    }

    /// The run of this number, unless all is to end.
    fn take(&self, number: usize) -> Option<Found> {
        if self.is_stopped() {
            return None;
        }
        let result = self.run(self.kinds[number], number);
        if result.is_err() {
            self.halt.store(true, SeqCst);
        }
        Some(result)
    }

    /// Whether a run goes on until this job has its samples.
    fn is_measured(&self, kind: Kind, job: usize) -> bool {
        let jobs = &self.jobs.file.jobs;
        let others = || (0..jobs.len()).any(|other| kind.has(other) && jobs[other].is_measured);
        match kind {
            Kind::Alone(_) => true,
            Kind::Together => jobs[job].is_measured,
            Kind::Without(_) => jobs[job].is_measured || !others(),
        }
    }

    /// The programs of a run, and what its jobs measure.
    fn programs(&self, kind: Kind) -> Result<Prepared, SimError> {
        let Jobs { file, network, model, allocation, planning_networks } = self.jobs;
        let mut programs: Vec<Box<dyn Program>> = Vec::new();
        let mut reports = Vec::new();
        for (job, hosts) in self.hosts.iter().enumerate() {
            if !kind.has(job) {
                programs.extend(hosts.iter().map(|_| Box::new(Idle) as Box<dyn Program>));
                continue;
            }
            let setting = JobSetting {
                network,
                model,
                hosts,
                servers: allocation.jobs[job].servers.len() as u32,
                first: programs.len() as u32,
                seed: file.job_seed(job),
                // What keeps going beside others is measured alone.
                keep_going: !(self.options.is_finite && self.is_measured(kind, job)),
                planning_network: planning_networks.get(job).copied().flatten(),
            };
            let built = build(&file.jobs[job].program, &setting).map_err(|e| file.error(job, &e.to_string()))?;
            programs.extend(built.programs);
            reports.push((job, built.report));
        }
        Ok((programs, reports))
    }

    /// Alone, a job is the first one, and all that is idle another. Jobs that are left out of other runs keep their numbers.
    fn layout(&self, kind: Kind) -> Layout {
        let Jobs { file, allocation, .. } = self.jobs;
        if kind == Kind::Together {
            return allocation.layout(file);
        }
        let number = |job: usize| match kind {
            Kind::Alone(alone) => u16::from(job != alone),
            // Fits: files have fewer jobs.
            _ => job as u16,
        };
        let of_job = |(job, hosts): (usize, &Vec<u32>)| {
            let job = number(job);
            hosts.iter().map(move |&host| Process { host, job }).collect::<Vec<_>>()
        };
        let layout = Layout::new(self.hosts.iter().enumerate().flat_map(of_job).collect());
        let measured = (0..file.jobs.len()).filter(|&job| kind.has(job) && self.is_measured(kind, job));
        let layout = measured.fold(layout, |layout, job| layout.measure(number(job)));
        // Beside one job nothing is urgent, and jobs that are left out send nothing.
        let present = (0..file.jobs.len()).filter(|&job| kind.has(job));
        present.fold(layout, |layout, job| layout.with_class(number(job), file.jobs[job].class))
    }

    fn run(&self, kind: Kind, number: usize) -> Found {
        let (programs, reports) = self.programs(kind)?;
        let layout = self.layout(kind);
        let tell = |now: Time, events: u64| {
            // This is what is called now and then, so here the caller's wish is passed on.
            self.is_stopped();
            if let Some(progress) = self.options.progress {
                let part = self.part(kind, &reports);
                progress(JobProgress { kind, number, runs: self.kinds.len(), now, events, part });
            }
        };
        let options = RunOptions {
            limits: self.options.limits,
            threads: self.threads,
            seed: self.jobs.file.seed,
            routing: self.jobs.file.routing,
            stop: Some(&self.halt),
            progress: Some(&tell),
            series: self.options.series,
            postcards: self.options.postcards,
            ..RunOptions::default()
        };
        let Jobs { network, model, file, .. } = self.jobs;
        let outcome = simulate_jobs(network, model, &layout, programs, &options);
        // What went wrong in a program says more than the deadlock that follows.
        if let Some((job, why)) = reports.iter().find_map(|(job, report)| Some((*job, report.failure()?))) {
            return Err(file.error(job, &why));
        }
        Ok(self.measured(kind, outcome?, &reports))
    }

    /// See [`JobProgress::part`].
    fn part(&self, kind: Kind, reports: &[(usize, JobReport)]) -> f64 {
        let Jobs { file, allocation, .. } = self.jobs;
        let measured = reports.iter().filter(|(job, _)| self.is_measured(kind, *job));
        let of_job = |(job, report): &(usize, JobReport)| {
            let ranks = allocation.jobs[*job].ranks();
            let wanted = f64::from(ranks) * f64::from(file.jobs[*job].program.samples);
            report.samples() as f64 / wanted.max(1.0)
        };
        measured.map(of_job).fold(1.0, f64::min)
    }

    fn measured(&self, kind: Kind, outcome: Outcome, reports: &[(usize, JobReport)]) -> (RunOutcome, Vec<JobRun>) {
        let run = RunOutcome {
            end: outcome.end,
            time: outcome.time,
            events: outcome.events,
            packets: outcome.packets,
            link_bytes: outcome.link_bytes,
            link_busy: outcome.link_busy,
            series: outcome.series,
            postcards: outcome.postcards,
            wall_seconds: outcome.wall_seconds,
        };
        // Alone the job comes first, and the one behind it is nothing.
        let of_job = |(at, _): &(usize, JobOutcome)| matches!(kind, Kind::Alone(_)) || kind.has(*at);
        let outcomes = outcome.jobs.into_iter().enumerate().filter(of_job).map(|(_, outcome)| outcome);
        let jobs = reports.iter().zip(outcomes).map(|((job, report), outcome)| {
            let ranks = self.jobs.allocation.jobs[*job].ranks();
            JobRun { ranks: (0..ranks).map(|r| report.rank(r)).collect(), complete: report.complete(), outcome }
        });
        (run, jobs.collect())
    }

    /// By job, from what was found by run.
    fn results(&self, found: Vec<Option<(RunOutcome, Vec<JobRun>)>>) -> JobResults {
        let Jobs { file, allocation, .. } = self.jobs;
        let count = file.jobs.len();
        let nothing = |job: usize| JobResult { alone: None, together: None, nodes: allocation.jobs[job].nodes() };
        let jobs = (0..count).map(nothing).collect();
        let left_out = found.iter().filter(|found| found.is_none()).count();
        let mut results = JobResults { jobs, alone: vec![None; count], together: None, left_out };
        for (kind, found) in self.kinds.iter().zip(found) {
            let Some((run, mut of_jobs)) = found else { continue };
            match *kind {
                Kind::Alone(job) => (results.jobs[job].alone, results.alone[job]) = (of_jobs.pop(), Some(run)),
                // Is asked for by itself.
                Kind::Without(_) => {}
                Kind::Together => {
                    results.together = Some(run);
                    let jobs = results.jobs.iter_mut().zip(of_jobs);
                    jobs.for_each(|(job, of_job)| job.together = Some(of_job));
                }
            }
        }
        if let (Which::Both, 1) = (self.options.which, count) {
            results.together = results.alone[0].clone();
            results.jobs[0].together = results.jobs[0].alone.clone();
        }
        results
    }
}
