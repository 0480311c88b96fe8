//! Several MPI programs at once on hosts of one lab: each with a launcher, a process namespace and a directory of its own.

use crate::error::LabError;
use crate::forwarding::Forwarding;
use crate::lab::Lab;
use crate::mpi::Placement;
use crate::run::{Outcome, RunOptions, StartedRun, Streams, SupervisedRun};
use crate::supervise::End;
use std::ffi::OsString;
use std::sync::mpsc::channel;
use std::thread;

/// A program among others.
#[derive(Clone, Debug, PartialEq)]
pub struct LabJob {
    /// Its name: what its lines begin with.
    pub name: String,
    /// Its hosts by name. With [`RunOptions::ranks_per_host`] ranks on each; or, if [`LabJob::one_rank_each`] is set, one rank for
    /// each name, of which some may be the same.
    pub hosts: Vec<String>,
    /// Whether a host has as many ranks as it is named.
    pub one_rank_each: bool,
    /// The program and its arguments.
    pub program: Vec<OsString>,
}

impl Lab {
    /// Runs MPI programs at once, each as [`Lab::run`] does, on its own hosts; returns when all have ended. If one fails, all others
    /// are ended; `options` holds for each of them. The caller's signals end all. `meanwhile` is called as soon as all are started,
    /// and its error ends them as well.
    ///
    /// Hosts may be in several jobs only if `may_share` is set.
    ///
    /// # Errors
    /// As [`Lab::run`]; [`LabError::Argument`] for no job, names that are used twice, hosts that the lab does not have or that several
    /// jobs would share. What `meanwhile` returns.
    pub fn run_jobs<E: From<LabError>>(
        &self,
        jobs: &[LabJob],
        options: &RunOptions,
        may_share: bool,
        meanwhile: impl FnOnce(&dyn Fn() -> bool) -> Result<(), E>,
    ) -> Result<Vec<Outcome>, E> {
        let blueprint = self.state()?.blueprint;
        let placements = placements(jobs, options, may_share, &|name| blueprint.host(name))?;
        let forwarding = Forwarding::start()?;
        let mut runs: Vec<StartedRun<'_>> = Vec::new();
        for (job, placement) in jobs.iter().zip(&placements) {
            let started = || -> Result<StartedRun<'_>, LabError> {
                let run_dir = self.run_dir()?;
                let launch = self.launch(&blueprint, &run_dir, placement, &job.program, options)?;
                let prefix = (jobs.len() > 1).then(|| format!("{}: ", job.name));
                let streams = Streams { capture: options.capture, filter: true, prefix };
                let timeout = options.timeout;
                self.start_supervised(
                    SupervisedRun { namespace: 0, launch: &launch, run_dir, timeout, streams },
                    &forwarding,
                )
            };
            match started() {
                Ok(run) => runs.push(run),
                Err(e) => {
                    forwarding.end_all();
                    runs.into_iter().for_each(|run| _ = run.finish());
                    return Err(e.into());
                }
            }
        }
        watch(runs, &forwarding, meanwhile)
    }
}

/// Waits for all runs, and ends them when one has failed.
fn watch<E: From<LabError>>(
    runs: Vec<StartedRun<'_>>,
    forwarding: &Forwarding,
    meanwhile: impl FnOnce(&dyn Fn() -> bool) -> Result<(), E>,
) -> Result<Vec<Outcome>, E> {
    let count = runs.len();
    let (told, tells) = channel();
    thread::scope(|scope| {
        for (job, run) in runs.into_iter().enumerate() {
            let told = told.clone();
            scope.spawn(move || {
                let outcome = run.finish();
                if !matches!(&outcome, Ok(Outcome { end: End::Exited, status: 0, .. })) {
                    forwarding.end_all();
                }
                // The receiver lives as long as this scope.
                let _ = told.send((job, outcome));
            });
        }
        drop(told);
        let mut outcomes: Vec<Option<Result<Outcome, LabError>>> = (0..count).map(|_| None).collect();
        let arrived = std::cell::RefCell::new(Vec::new());
        let is_over = || {
            arrived.borrow_mut().extend(tells.try_iter());
            !arrived.borrow().is_empty()
        };
        let result = meanwhile(&is_over);
        if result.is_err() {
            forwarding.end_all();
        }
        for (job, outcome) in arrived.into_inner().into_iter().chain(tells) {
            outcomes[job] = Some(outcome);
        }
        // What could not be run at all says more than what followed from it.
        let outcomes: Result<Vec<Outcome>, LabError> = outcomes.into_iter().flatten().collect();
        let outcomes = outcomes?;
        result?;
        Ok(outcomes)
    })
}

/// Where the ranks of all jobs are.
fn placements(
    jobs: &[LabJob],
    options: &RunOptions,
    may_share: bool,
    host: &dyn Fn(&str) -> Result<usize, LabError>,
) -> Result<Vec<Placement>, LabError> {
    let bad = |text: String| Err(LabError::Argument(text));
    if jobs.is_empty() {
        return bad("there is no job to run; at least one is expected".into());
    }
    let mut taken: Vec<(usize, &str)> = Vec::new();
    let mut all: Vec<Placement> = Vec::new();
    for (number, job) in jobs.iter().enumerate() {
        let name = &job.name;
        if jobs[..number].iter().any(|other| other.name == *name) {
            return bad(format!("there are two jobs {name}; a name of its own is expected for each"));
        }
        let named: Result<Vec<usize>, LabError> = job.hosts.iter().map(|h| host(h)).collect();
        let named = named.map_err(|e| LabError::Argument(format!("job {name}: {e}")))?;
        let placement = if job.one_rank_each {
            Placement::each(&named)
        } else {
            if let Some(at) = (0..named.len()).find(|&at| named[..at].contains(&named[at])) {
                return bad(format!(
                    "job {name}: host {} is named twice; --ranks-per-host says how many ranks it has",
                    job.hosts[at]
                ));
            }
            Placement::on(&named, options.ranks, options.ranks_per_host).map_err(|why| {
                let most = named.len() * options.ranks_per_host;
                LabError::Argument(format!(
                    "job {name}: {why} fit its {} hosts; 1 to {most} ranks are expected",
                    named.len()
                ))
            })?
        };
        for &(index, _) in &placement.places {
            if let Some((_, other)) = taken.iter().find(|(of, _)| *of == index && !may_share) {
                let shown = job.hosts.iter().zip(&named).find(|(_, at)| **at == index).map_or("", |(host, _)| host);
                return bad(format!(
                    "host {shown} is in the jobs {other} and {name}; hosts of their own are expected, or --shared-hosts"
                ));
            }
            taken.push((index, name));
        }
        all.push(placement);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn job(name: &str, hosts: &str, one_rank_each: bool) -> LabJob {
        let hosts = hosts.split_whitespace().map(String::from).collect();
        LabJob { name: name.into(), hosts, one_rank_each, program: vec!["true".into()] }
    }

    fn place(jobs: &[LabJob], options: &RunOptions, may_share: bool) -> Result<Vec<Placement>, String> {
        let host = |name: &str| {
            let number = name.strip_prefix('h').and_then(|n| n.parse().ok()).filter(|&n: &usize| n < 8);
            number.ok_or_else(|| LabError::Argument(format!("there is no host {name}")))
        };
        placements(jobs, options, may_share, &host).map_err(|e| e.to_string())
    }

    #[test]
    fn jobs_have_hosts_of_their_own() {
        let options = RunOptions::default();
        let jobs = [job("a", "h3 h1", false), job("b", "h2", false)];
        let found = place(&jobs, &options, false).unwrap();
        assert_eq!(found[0].places, [(3, 1), (1, 1)]);
        let two = RunOptions { ranks_per_host: 2, ..RunOptions::default() };
        assert_eq!(place(&jobs, &two, false).unwrap()[1].ranks, 2);
        let shared = [job("a", "h3 h1", false), job("b", "h1 h1", true)];
        let error = place(&shared, &options, false).unwrap_err();
        assert_eq!(error, "host h1 is in the jobs a and b; hosts of their own are expected, or --shared-hosts");
        assert_eq!(place(&shared, &options, true).unwrap()[1].places, [(1, 2)]);
    }

    #[test]
    fn what_does_not_fit_is_a_sentence() {
        let options = RunOptions { ranks: Some(3), ..RunOptions::default() };
        for (jobs, expected) in [
            (vec![], "there is no job to run; at least one is expected"),
            (
                vec![job("a", "h1", true), job("a", "h2", true)],
                "there are two jobs a; a name of its own is expected for each",
            ),
            (vec![job("a", "h9", true)], "job a: there is no host h9"),
            (
                vec![job("a", "h1 h1", false)],
                "job a: host h1 is named twice; --ranks-per-host says how many ranks it has",
            ),
            (
                vec![job("a", "h1 h2", false)],
                "job a: 3 ranks with 1 per host do not fit its 2 hosts; 1 to 2 ranks are expected",
            ),
        ] {
            assert_eq!(place(&jobs, &options, false).unwrap_err(), expected);
        }
    }
}
