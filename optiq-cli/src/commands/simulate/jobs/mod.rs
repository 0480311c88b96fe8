//! `optiq simulate --jobs`: jobs that share a network, each alone and all together.

pub mod document;
mod figures;
pub mod report;
mod text;

use super::interrupt;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use crate::target::Target;
use clap::ValueEnum;
use document::JobsDocument;
use figures::{Figures, Found};
use optiq_sim::jobs::allocation::Allocation;
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::run::{self, JobProgress, JobRunOptions, Jobs, Kind, Which};
use optiq_sim::{Limits, Recording};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// Which of the runs are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Only {
    /// Each job alone
    Alone,
    /// All jobs together
    Together,
}

impl Only {
    /// Both, if nothing is left out.
    pub fn which(only: Option<Only>) -> Which {
        match only {
            None => Which::Both,
            Some(Only::Alone) => Which::Alone,
            Some(Only::Together) => Which::Together,
        }
    }
}

/// What the command was asked.
pub struct Asked<'a> {
    pub file: &'a Path,
    pub only: Option<Only>,
    /// `None` for what the file says.
    pub seed: Option<u64>,
    /// `None` for as many as the machine has processors.
    pub threads: Option<u8>,
    pub limits: Limits,
    /// How many links are listed.
    pub most: usize,
    pub report: Option<&'a Target>,
    pub finite: bool,
    pub json: bool,
}

/// Simulates the jobs of a file, and shows what they take.
pub fn run(asked: &Asked<'_>) -> Result<ExitCode, Failure> {
    let progress = Progress::start("reading the job file");
    let mut file = JobFile::read(asked.file)?;
    file.seed = asked.seed.unwrap_or(file.seed);
    progress.now("building the network");
    let network = file.load_network()?;
    let model = file.load_model(&network)?;
    let allocation = Allocation::new(&file, &network)?;
    let jobs = Jobs { file: &file, network: &network, model: &model, allocation: &allocation, planning_networks: &[] };
    let steps = RunSteps::new(&file);
    let tell = |now: JobProgress| progress.now(steps.words(&now));
    let threads = asked.threads.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from);
    let options = JobRunOptions {
        which: Only::which(asked.only),
        threads,
        limits: asked.limits,
        series: if asked.report.is_some() { Recording::Links } else { Recording::Nothing },
        stop: Some(interrupt::watch()?),
        progress: Some(&tell),
        is_finite: asked.finite,
        ..JobRunOptions::default()
    };
    progress.now("building the jobs' programs");
    let results = run::run_jobs(&jobs, &options)?;
    progress.now("summing up");
    let figures: Vec<Figures> = results.jobs.iter().map(Figures::of).collect();
    let found = Found {
        file: &file,
        network: &network,
        model: &model,
        allocation: &allocation,
        results: &results,
        figures: &figures,
        most: asked.most,
        finite: asked.finite,
    };
    if let Some(target) = asked.report {
        target.write(|out| out.write_all(report::page(&found).as_bytes()))?;
    }
    drop(progress);
    match asked.json {
        true => output::print_json(Schema::SimulateJobs, &JobsDocument::new(&found))?,
        false => output::print(&text::text(&found))?,
    }
    // Half a result is none to build upon.
    Ok(if results.is_complete() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How far the runs are, and when they are expected to end.
struct RunSteps<'a> {
    file: &'a JobFile,
    started: Instant,
    /// Of the runs that have begun, by number.
    parts: Mutex<Vec<(Kind, f64)>>,
}

impl<'a> RunSteps<'a> {
    fn new(file: &'a JobFile) -> Self {
        RunSteps { file, started: Instant::now(), parts: Mutex::new(Vec::new()) }
    }

    /// `2 of 3 runs: together 45 %, solver alone 80 %; about 12 s to go`.
    fn words(&self, now: &JobProgress) -> String {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        match parts.iter_mut().find(|(kind, _)| *kind == now.kind) {
            Some(part) => part.1 = now.part,
            None => parts.push((now.kind, now.part)),
        }
        let done: f64 = parts.iter().map(|part| part.1).sum::<f64>() / now.runs as f64;
        let left = self.started.elapsed().as_secs_f64() * (1.0 - done) / done.max(1e-3);
        let begun: Vec<String> = parts.iter().filter(|part| part.1 < 1.0).map(|part| self.part(*part)).collect();
        let rest = if done > 0.02 { format!("; about {left:.0} s to go") } else { String::new() };
        format!("{} of {} runs: {}{rest}", parts.len(), now.runs, begun.join(", "))
    }

    fn part(&self, (kind, part): (Kind, f64)) -> String {
        let name = match kind {
            Kind::Together => "together".to_owned(),
            Kind::Alone(job) => format!("{} alone", self.file.jobs[job].name),
            Kind::Without(job) => format!("all but {}", self.file.jobs[job].name),
        };
        format!("{name} {:.0} %", part * 100.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use optiq_sim::time::Time;

    #[test]
    fn runs_that_are_over_are_not_named() {
        let text = "network = \"star:4\"\n[[job]]\nname = \"a\"\nhosts = 2\nprogram = \"pairs,message=1KB\"\n";
        let file = JobFile::parse(text, "j").unwrap();
        let steps = RunSteps::new(&file);
        let now = |kind, part| JobProgress { kind, number: 0, runs: 2, now: Time::ZERO, events: 0, part };
        assert_eq!(steps.words(&now(Kind::Together, 0.01)), "1 of 2 runs: together 1 %");
        steps.words(&now(Kind::Together, 1.0));
        let words = steps.words(&now(Kind::Alone(0), 0.25));
        assert!(words.starts_with("2 of 2 runs: a alone 25 %; about "), "{words}");
    }
}
