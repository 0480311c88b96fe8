//! Jobs on hosts that are known, simulated together: measured ones until they have their samples, others beside them as a load.
//!
//! Unlike in the runs of a job file, a rank of a measured job sends nothing more once its last operation has begun: what is
//! measured is a job of a fixed number of operations, as a study of baselines has it, with its end. A job that is left
//! out keeps the draws of those before it as they are: all draws of a job follow from its place in the list and its ranks.

use crate::error::SimError;
use crate::jobs::program_spec::ProgramSpec;
use crate::jobs::programs::build::{BuiltJob, build};
use crate::jobs::programs::samples::JobReport;
use crate::jobs::programs::setting::JobSetting;
use crate::model::Model;
use crate::nic::layout::{Layout, Process};
use crate::nic::program::Program;
use crate::options::RunOptions;
use crate::outcome::Outcome;
use crate::simulation::simulate_jobs;
use optiq_net::Network;
use optiq_net::random::SplitMix64;

/// A job and where it is.
#[derive(Clone, Debug)]
pub struct PlacedJob {
    /// What its ranks do.
    pub program: ProgramSpec,
    /// The host of each of its processes: ranks first, then servers.
    pub hosts: Vec<u32>,
    /// How many of them are servers.
    pub servers: u32,
    /// Whether the run ends when this job, and all others that are measured, have their samples. One that is not measured keeps
    /// going until then.
    pub is_measured: bool,
}

/// The seed of the programs of the job with this number: another one for each.
pub fn job_seed(seed: u64, job: u64) -> u64 {
    SplitMix64::new(SplitMix64::new(seed).next_u64() ^ job).next_u64()
}

/// What was found.
pub struct PlacedOutcome {
    /// Of the network, and of each job by its place in the list.
    pub outcome: Outcome,
    /// What each job has measured.
    pub reports: Vec<JobReport>,
}

/// Simulates jobs, at least one of them measured. All of [`RunOptions`] holds.
///
/// # Errors
/// [`SimError::Workload`]: a program that does not fit its ranks; all that [`simulate_jobs`] reports.
pub fn simulate_placed(
    network: &Network,
    model: &Model,
    jobs: &[PlacedJob],
    options: &RunOptions<'_>,
) -> Result<PlacedOutcome, SimError> {
    let build = |placed: &PlacedJob, setting: &JobSetting<'_>| build(&placed.program, setting);
    simulate_built((network, model), jobs, build, options)
}

/// The same with programs that `build` makes, where a job file could not say them.
pub(super) fn simulate_built(
    (network, model): (&Network, &Model),
    jobs: &[PlacedJob],
    build: impl Fn(&PlacedJob, &JobSetting<'_>) -> Result<BuiltJob, SimError>,
    options: &RunOptions<'_>,
) -> Result<PlacedOutcome, SimError> {
    let mut programs: Vec<Box<dyn Program>> = Vec::new();
    let mut processes: Vec<Process> = Vec::new();
    let mut reports = Vec::with_capacity(jobs.len());
    for (job, placed) in (0..).zip(jobs) {
        let setting = JobSetting {
            network,
            model,
            hosts: &placed.hosts,
            servers: placed.servers,
            first: programs.len() as u32,
            seed: job_seed(options.seed, job.into()),
            keep_going: !placed.is_measured,
            planning_network: None,
        };
        let built = build(placed, &setting)?;
        programs.extend(built.programs);
        processes.extend(placed.hosts.iter().map(|&host| Process { host, job }));
        reports.push(built.report);
    }
    let measured = (0..).zip(jobs).filter(|(_, job)| job.is_measured);
    let layout = measured.fold(Layout::new(processes), |layout, (job, _)| layout.measure(job));
    let outcome = simulate_jobs(network, model, &layout, programs, options);
    // What went wrong in a program says more than the deadlock that follows.
    if let Some(why) = reports.iter().find_map(JobReport::failure) {
        return Err(SimError::Workload(why));
    }
    Ok(PlacedOutcome { outcome: outcome?, reports })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::time::Time;

    fn job(program: &str, hosts: &[u32], is_measured: bool) -> PlacedJob {
        PlacedJob { program: program.parse().unwrap(), hosts: hosts.to_vec(), servers: 0, is_measured }
    }

    #[test]
    fn a_job_behind_another_changes_no_draw_of_the_one_before() {
        let network = Network::from_spec("star:8").unwrap();
        let model = Model::default();
        let target = job("uniform,message=4KB,interval=10us,samples=20,warmup=0", &[0, 1, 2, 3], true);
        // No link is shared on one switch, so that the target does the same to the picosecond.
        let load = job("uniform,message=64KB,interval=10us", &[4, 5, 6, 7], false);
        let run = |jobs: &[PlacedJob]| {
            let found = simulate_placed(&network, &model, jobs, &RunOptions::default()).unwrap();
            (found.reports[0].durations(), found.reports[0].complete())
        };
        let alone = run(std::slice::from_ref(&target));
        assert_eq!(alone.0.len(), 80);
        assert_eq!(alone, run(&[target, load]));
    }

    #[test]
    fn ranks_that_start_together_meet() {
        let network = Network::from_spec("star:3").unwrap();
        let model = Model::default();
        // Two ranks send to a third at once: the second message waits for the first on the one link that both need.
        let program = "incast,message=4096B,interval=1ms,samples=1,warmup=0,start=together";
        let jobs = [job(program, &[0, 1, 2], true)];
        let found = simulate_placed(&network, &model, &jobs, &RunOptions::default()).unwrap();
        let mut durations = found.reports[0].durations();
        durations.sort_unstable();
        let wire = Time::from_seconds(4096.0 / network.unit_capacity());
        let waited = durations[1] - durations[0];
        assert!(waited.as_picoseconds().abs_diff(wire.as_picoseconds()) <= 1, "{waited:?} {wire:?}");
    }
}
