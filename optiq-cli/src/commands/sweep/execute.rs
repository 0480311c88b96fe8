//! Makes the runs of a sweep that have no document, several at once.

use super::document::RunDocument;
use super::share::Share;
use super::store::Store;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use optiq_sim::SimError;
use optiq_sim::jobs::allocation::Allocation;
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::run::{JobRunOptions, Jobs, Which, run_jobs};
use optiq_sim::jobs::sweep::file::Sweep;
use optiq_sim::jobs::sweep::identity::{self, Machine};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often this process looks for documents of others.
const LOOK: Duration = Duration::from_millis(200);
/// How long it waits for the next one at least.
const PATIENCE: Duration = Duration::from_secs(10);

/// A sweep, and who makes it where.
pub struct Execution<'a> {
    pub sweep: &'a Sweep,
    pub which: Which,
    pub share: Share,
    pub store: &'a Store,
    /// Becomes true when the user wants to end it.
    pub stop: &'static AtomicBool,
}

/// Why no more runs were begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// There are no more.
    Whole,
    /// The user wanted it.
    Interrupted,
}

/// What this process did.
pub struct Made {
    pub ended: Ended,
    /// Runs that were made.
    pub made: u64,
    /// Runs that were there.
    pub kept: u64,
    /// How many failed, and the first of them: its number and why.
    pub failed: u64,
    pub first_failure: Option<(u64, String)>,
    pub longest: Duration,
}

impl Made {
    /// # Errors
    /// [`Failure::Work`] if runs are missing by this process's doing.
    pub fn verdict(&self, sweep: &Sweep, (finished, runs): (u64, u64)) -> Result<(), Failure> {
        if let Some((run, why)) = &self.first_failure {
            let words =
                Some(sweep.words(*run)).filter(|w| !w.is_empty()).map_or_else(String::new, |w| format!(" ({w})"));
            let text = format!("{} of {runs} runs failed, the first of them run {run}{words}: {why}", self.failed);
            return Err(Failure::Work(text));
        }
        if self.ended == Ended::Interrupted {
            let text = format!(
                "ended before all runs were made; {finished} of {runs} are finished, and the next start goes on"
            );
            return Err(Failure::Work(text));
        }
        Ok(())
    }
}

/// What the threads have in common.
struct Shared {
    next: AtomicU64,
    halt: AtomicBool,
    started: Instant,
    /// Runs that are not begun, at most.
    mine: u64,
    tally: Mutex<Tally>,
}

#[derive(Default)]
struct Tally {
    made: u64,
    kept: u64,
    failed: u64,
    first_failure: Option<(u64, String)>,
    longest: Duration,
    /// What ends all: a document that cannot be written.
    broken: Option<Failure>,
}

impl Shared {
    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Execution<'_> {
    /// The runs of this process, as many at once as there are threads.
    ///
    /// # Errors
    /// A document that cannot be written; everything that was finished is kept.
    pub fn run(&self, threads: usize, progress: &Progress) -> Result<Made, Failure> {
        let runs = self.sweep.runs();
        let mine = runs / self.share.size + u64::from(runs % self.share.size > self.share.rank);
        let shared = Shared {
            next: AtomicU64::new(0),
            halt: AtomicBool::new(false),
            started: Instant::now(),
            mine,
            tally: Mutex::default(),
        };
        let workers = u64::try_from(threads).unwrap_or(1).clamp(1, mine.max(1));
        thread::scope(|scope| {
            for _ in 1..workers {
                scope.spawn(|| self.work(&shared, progress));
            }
            self.work(&shared, progress);
        });
        let tally = shared.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Tally { made, kept, failed, first_failure, longest, broken } = tally;
        match broken {
            Some(failure) => Err(failure),
            None => {
                let ended = if self.stop.load(SeqCst) { Ended::Interrupted } else { Ended::Whole };
                Ok(Made { ended, made, kept, failed, first_failure, longest })
            }
        }
    }

    /// Takes runs until none is left.
    fn work(&self, shared: &Shared, progress: &Progress) {
        let mut machine = None;
        loop {
            let run = shared.next.fetch_add(1, SeqCst);
            if run >= self.sweep.runs() || shared.halt.load(SeqCst) || self.stop.load(SeqCst) {
                return;
            }
            if !self.share.has(run) {
                continue;
            }
            let begun = Instant::now();
            let made = self.make(run, &mut machine);
            let mut tally = shared.tally();
            match made {
                Ok(None) => return,
                Ok(Some(true)) => {
                    tally.made += 1;
                    tally.longest = tally.longest.max(begun.elapsed());
                }
                Ok(Some(false)) => tally.kept += 1,
                Err(RunFailure::OfRun(why)) => {
                    tally.failed += 1;
                    // The first one in the order of runs, whichever thread met one first.
                    if tally.first_failure.as_ref().is_none_or(|(first, _)| run < *first) {
                        tally.first_failure = Some((run, why.to_string()));
                    }
                }
                Err(RunFailure::OfAll(why)) => {
                    tally.broken.get_or_insert(why);
                    shared.halt.store(true, SeqCst);
                }
            }
            progress.now(words(&tally, shared));
        }
    }

    /// Makes a run unless it is there: whether it was made; `None` if it was ended.
    fn make(&self, run: u64, at_hand: &mut Option<Machine>) -> Result<Option<bool>, RunFailure> {
        let (file, machine, name) = self.identify(run, at_hand)?;
        if self.store.has(&name) {
            return Ok(Some(false));
        }
        let allocation = Allocation::new(&file, &machine.network)?;
        let jobs = Jobs {
            file: &file,
            network: &machine.network,
            model: &machine.model,
            allocation: &allocation,
            planning_networks: &[],
        };
        let options =
            JobRunOptions { which: self.which, threads: 1, stop: Some(self.stop), ..JobRunOptions::default() };
        let results = run_jobs(&jobs, &options)?;
        if !results.is_complete() {
            return Ok(None);
        }
        let document = RunDocument::new(&file, &machine, &allocation, &results);
        let text = output::json(Schema::SweepRun, &document).map_err(RunFailure::OfAll)?;
        self.store.write(&name, &text).map_err(RunFailure::OfAll)?;
        Ok(Some(true))
    }

    /// The job file of a run, its machine, and the name of its document.
    ///
    /// # Errors
    /// What is wrong with the run.
    pub fn identify(&self, run: u64, at_hand: &mut Option<Machine>) -> Result<(JobFile, Machine, String), SimError> {
        identify(self.sweep, self.which, run, at_hand)
    }

    /// Waits until all runs have documents, or none has come for twice as long as the longest run here took: then a rank may have
    /// died, and what is missing is left to the next start.
    ///
    /// # Errors
    /// As [`Execution::identify`].
    pub fn wait_for_others(&self, made: &Made, progress: &Progress) -> Result<(), Failure> {
        let patience = PATIENCE.max(made.longest * 2);
        let (mut run, mut last, mut at_hand) = (0, Instant::now(), None);
        while run < self.sweep.runs() && last.elapsed() < patience && !self.stop.load(SeqCst) {
            let others = !self.share.has(run);
            let there = match self.identify(run, &mut at_hand) {
                Ok((.., name)) => self.store.has(&name),
                // Its own rank says what is wrong with it.
                Err(_) => true,
            };
            if !others || there {
                (run, last) = (run + 1, Instant::now());
                continue;
            }
            progress.now(format!("waiting for run {run} of {} by another rank", self.sweep.runs()));
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// See [`Execution::identify`].
pub fn identify(
    sweep: &Sweep,
    which: Which,
    run: u64,
    at_hand: &mut Option<Machine>,
) -> Result<(JobFile, Machine, String), SimError> {
    let file = sweep.job_file(run)?;
    let machine = Machine::of(&file, at_hand.as_ref())?;
    let name = Store::name(identity::fingerprint(&file, &machine, which)?);
    *at_hand = Some(machine.clone());
    Ok((file, machine, name))
}

/// Whether a failure is of one run, so that others go on, or of all.
enum RunFailure {
    OfRun(SimError),
    OfAll(Failure),
}

impl From<SimError> for RunFailure {
    fn from(e: SimError) -> Self {
        RunFailure::OfRun(e)
    }
}

/// `12 of 48 runs; about 40 s to go`.
fn words(tally: &Tally, shared: &Shared) -> String {
    let done = tally.made + tally.kept + tally.failed;
    let left = shared.mine.saturating_sub(done);
    let each = shared.started.elapsed().as_secs_f64() / tally.made.max(1) as f64;
    let end = if tally.made > 0 { format!("; about {:.0} s to go", each * left as f64) } else { String::new() };
    format!("{done} of {} runs{end}", shared.mine)
}
