//! Jobs with real messages on hosts of a lab, beside each other: `optiq bench job` for each, started and ended together.

use crate::failure::Failure;
use optiq_lab::{End, Lab, LabJob, Outcome, RunOptions, Traffic};
use optiq_sim::jobs::program_spec::ProgramSpec;
use optiq_studies::real_jobs::control::{Control, POLL, wall_nanoseconds};
use optiq_studies::real_jobs::samples::RealJobDocument;
use optiq_view::table;
use std::cell::Cell;
use std::ffi::OsString;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// From the order to begin until jobs begin: longer than the order takes on a busy machine.
const LEAD: Duration = Duration::from_millis(200);
/// The most processes of all jobs of a run: each is an MPI rank on this machine.
pub const MOST_PROCESSES: usize = 512;

/// A job and where it is.
#[derive(Clone, Debug)]
pub struct RealJob {
    pub name: String,
    pub program: ProgramSpec,
    /// The host of each process, ranks first.
    pub hosts: Vec<String>,
    pub servers: usize,
    pub seed: u64,
    /// Whether the run goes on until it has its samples.
    pub is_measured: bool,
}

/// What the links of a lab carried while jobs ran, as their ports count.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// In the order of the lab's links.
    pub links: Vec<Traffic>,
    /// For how long.
    pub seconds: f64,
}

impl Counted {
    /// The difference of two readings.
    fn between(first: &(Instant, Vec<Traffic>), last: &(Instant, Vec<Traffic>)) -> Self {
        let links = first.1.iter().zip(&last.1).map(|(a, b)| Traffic {
            bytes: b.bytes.saturating_sub(a.bytes),
            packets: b.packets.saturating_sub(a.packets),
            dropped: b.dropped.saturating_sub(a.dropped),
        });
        Self { links: links.collect(), seconds: last.0.saturating_duration_since(first.0).as_secs_f64() }
    }

    /// Adds what another run carried.
    pub fn add(&mut self, other: &Counted) {
        self.links.resize(self.links.len().max(other.links.len()), Traffic::default());
        for (link, more) in self.links.iter_mut().zip(&other.links) {
            link.bytes += more.bytes;
            link.packets += more.packets;
            link.dropped += more.dropped;
        }
        self.seconds += other.seconds;
    }
}

/// The counters of a lab, and when they were read: the middle of the time that takes.
fn read_counters(lab: &Lab) -> Result<(Instant, Vec<Traffic>), Failure> {
    let asked = Instant::now();
    let links = lab.counters()?;
    Ok((asked + asked.elapsed() / 2, links))
}

/// Runs jobs at once, until those that are measured have their samples; what each has measured.
///
/// # Errors
/// [`Failure::Work`] if a job fails, or the time is up; [`Failure::Input`] for what the lab cannot have.
pub fn run(lab: &Lab, jobs: &[RealJob], timeout: Duration) -> Result<Vec<RealJobDocument>, Failure> {
    run_counted(lab, jobs, timeout).map(|found| found.0)
}

/// As [`run`], with what the links carried from the common start to the end.
///
/// # Errors
/// As [`run`].
pub fn run_counted(lab: &Lab, jobs: &[RealJob], timeout: Duration) -> Result<(Vec<RealJobDocument>, Counted), Failure> {
    let processes: usize = jobs.iter().map(|job| job.hosts.len()).sum();
    if processes > MOST_PROCESSES {
        let text = format!("{processes} processes of all jobs; at most {MOST_PROCESSES} are expected in a lab");
        return Err(Failure::Input(text));
    }
    let dir = tempfile::tempdir().map_err(|e| Failure::Work(format!("cannot make a directory for the jobs: {e}")))?;
    let control = |at: usize| Control::create(&dir.path().join(at.to_string()));
    let controls = (0..jobs.len()).map(control).collect::<Result<Vec<_>, _>>()?;
    let binary = std::env::current_exe().map_err(|e| Failure::Work(format!("cannot find this program: {e}")))?;
    let lab_jobs: Vec<LabJob> =
        jobs.iter().zip(&controls).map(|(job, control)| lab_job(job, &binary, control.dir())).collect();
    let options = RunOptions { timeout: Some(timeout), capture: true, ..RunOptions::default() };
    let counted = Cell::new(Counted::default());
    let outcomes =
        lab.run_jobs(&lab_jobs, &options, true, |is_over| lead(lab, (jobs, &controls), is_over, &counted))?;
    // One that failed by itself says more than those that were ended because of it.
    let mut ended: Vec<(&RealJob, &Outcome)> = jobs.iter().zip(&outcomes).collect();
    ended.sort_by_key(|(_, outcome)| matches!(outcome.end, End::Interrupted(_)));
    ended.iter().try_for_each(|(job, outcome)| check(&job.name, outcome, timeout))?;
    let documents: Result<Vec<_>, Failure> =
        outcomes.iter().map(|outcome| Ok(RealJobDocument::parse(&outcome.stdout)?)).collect();
    Ok((documents?, counted.into_inner()))
}

fn lab_job(job: &RealJob, binary: &Path, control: &Path) -> LabJob {
    let words = ["bench", "job", "--json", "--program", &job.program.to_string(), "--hosts", &job.hosts.join(",")]
        .map(OsString::from);
    let numbers = ["--servers".into(), job.servers.to_string().into(), "--seed".into(), job.seed.to_string().into()];
    let program = std::iter::once(binary.into()).chain(words).chain(numbers);
    let program = program.chain(["--control".into(), control.into()]).collect();
    LabJob { name: job.name.clone(), hosts: job.hosts.clone(), one_rank_each: true, program }
}

/// Begins all when all are there, and ends them when those that are measured are done. Returns when a run is over before that.
fn lead(
    lab: &Lab,
    (jobs, controls): (&[RealJob], &[Control]),
    is_over: &dyn Fn() -> bool,
    counted: &Cell<Counted>,
) -> Result<(), Failure> {
    let wait = |what: &dyn Fn(&RealJob, &Control) -> bool| loop {
        if is_over() {
            return false;
        }
        if jobs.iter().zip(controls).all(|(job, control)| what(job, control)) {
            return true;
        }
        sleep(POLL);
    };
    if !wait(&|_, control| control.is_ready()) {
        return Ok(());
    }
    let at = wall_nanoseconds() + LEAD.as_nanos() as u64;
    controls.iter().try_for_each(|control| control.say_go(at))?;
    sleep(Duration::from_nanos(at.saturating_sub(wall_nanoseconds())));
    let first = read_counters(lab)?;
    if wait(&|job, control| !job.is_measured || control.is_done()) {
        counted.set(Counted::between(&first, &read_counters(lab)?));
        controls.iter().try_for_each(Control::say_end)?;
    }
    Ok(())
}

/// What is wrong with how a job has ended, if anything is.
fn check(name: &str, outcome: &Outcome, timeout: Duration) -> Result<(), Failure> {
    let text = match outcome.end {
        End::Exited if outcome.status == 0 => return Ok(()),
        End::Exited => format!("job {name} ended with status {}", outcome.status),
        End::TimedOut => format!("job {name} was ended, as its {} were up", table::seconds(timeout.as_secs_f64())),
        End::Interrupted(signal) => {
            format!("job {name} was ended by signal {signal}, as another one failed or somebody asked for it")
        }
        End::LabGone => "the lab was taken down while the jobs ran".into(),
    };
    Err(Failure::Work(text))
}
