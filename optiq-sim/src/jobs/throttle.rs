//! The window of a throttle, computed from the closed queue of clients and servers, and verified by simulation.
//!
//! A client of `io-write` or `io-read` asks again when a request is over: a *closed queue* ([`ClosedQueue`]) of
//!
//! ```text
//!     N = clients x open requests x stripes      M = servers      Z = think time
//!     S = max(link, server),   link   = part of a request / what the server's slowest link carries of payload,
//!                              server = service time + part / the server's own rate
//! ```
//!
//! Where the link is what limits, it serves all requests at once; a server serves one at a time. A window from completion to start
//! makes `Z` longer. Which window, depends on what is wanted:
//!
//! - *threshold*: the congestion threshold `Z* = (N / M - 1) S`, above which clients in step do not wait for each other;
//! - *utilisation=U*: servers are busy for a part `U` of the time;
//! - *slowdown=F*: another job's message on a server's link takes at most `F` times as long. A link that is busy with others for a part
//!   `U` of the time and is shared fairly stretches what passes it by `1 / (1 - U)` (processor sharing, L. Kleinrock, "Queueing Systems",
//!   volume 2, 1976, section 4.4), so `U = 1 - 1 / F`.
//!
//! None of this knows routes: two jobs that share links elsewhere, or none, are slowed otherwise. So what was computed is simulated,
//! without a window and with it.

use crate::error::SimError;
use crate::jobs::allocation::{Allocation, JobHosts};
use crate::jobs::closed_queue::{ClosedQueue, QueueFigures, Service};
use crate::jobs::file::JobFile;
use crate::jobs::program_spec::{IoSpec, ProgramKind, ProgramSpec, WindowFrom};
use crate::jobs::programs::samples::RankSamples;
use crate::jobs::run::{JobResults, JobRun, JobRunOptions, Jobs, Which, run_jobs};
use crate::jobs::statistics::{self, Slowdown};
use crate::model::Model;
use crate::time::Time;
use optiq_net::{Network, NodeId};
use std::fmt;
use std::str::FromStr;

/// What a window is to reach.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Target {
    /// Clients in step do not wait for each other.
    #[default]
    Threshold,
    /// Servers are busy for this part of the time at most.
    Utilisation(f64),
    /// Messages of others on a server's link take at most this number of times as long.
    Slowdown(f64),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| match text.trim().strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|n| n / 100.0),
            None => text.trim().parse::<f64>().ok(),
        };
        let expected =
            || "threshold, utilisation=PART (above 0, at most 1) or slowdown=FACTOR (above 1) is expected".to_owned();
        match text.trim().split_once('=') {
            None if text.trim() == "threshold" => Ok(Target::Threshold),
            Some(("utilisation", part)) => {
                number(part).filter(|u| *u > 0.0 && *u <= 1.0).map(Target::Utilisation).ok_or_else(expected)
            }
            Some(("slowdown", factor)) => {
                number(factor).filter(|f| *f > 1.0 && f.is_finite()).map(Target::Slowdown).ok_or_else(expected)
            }
            _ => Err(expected()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Threshold => f.write_str("threshold"),
            Target::Utilisation(part) => write!(f, "utilisation={part}"),
            Target::Slowdown(factor) => write!(f, "slowdown={factor}"),
        }
    }
}

/// What the closed queue says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throttle {
    /// The job that is throttled, by number.
    pub job: usize,
    /// What was asked for.
    pub target: Target,
    /// Its queue without a window.
    pub queue: ClosedQueue,
    /// The window, from completion to start. Zero: none is needed.
    pub window: Time,
    /// Without a window.
    pub without: QueueFigures,
    /// With it.
    pub with: QueueFigures,
}

impl Throttle {
    /// By how much a client's cycle is longer with the window: 1.1 for a tenth.
    pub fn cost(&self) -> f64 {
        self.queue.cost_of_window(self.window.seconds())
    }

    /// The window from start to start with which clients ask as often: longer by the response, as the queue has it with the window.
    pub fn window_from_start(&self) -> Time {
        match self.window {
            Time::ZERO => Time::ZERO,
            window => window + whole_nanoseconds(self.with.response_seconds),
        }
    }
}

/// Which job is to be throttled: the one of this name, or the only one with servers.
///
/// # Errors
/// [`SimError::Workload`]: there is none, or several, or it has no servers.
pub fn job_of(file: &JobFile, name: Option<&str>) -> Result<usize, SimError> {
    let servers: Vec<usize> = (0..file.jobs.len()).filter(|&job| file.jobs[job].program.needs_servers()).collect();
    let names = || servers.iter().map(|&job| &*file.jobs[job].name).collect::<Vec<_>>().join(", ");
    let bad = |text: String| Err(SimError::Workload(format!("job file {}: {text}", file.label())));
    match (name, &servers[..]) {
        (_, []) => bad("no job has I/O servers; one of io-write or io-read is expected".into()),
        (None, [job]) => Ok(*job),
        (None, _) => bad(format!("several jobs have I/O servers: {}; --job with one of them is expected", names())),
        (Some(name), _) => match servers.iter().find(|&&job| file.jobs[job].name == name) {
            Some(job) => Ok(*job),
            None => bad(format!("there is no job \"{name}\" with I/O servers; those are {}", names())),
        },
    }
}

/// The closed queue of a job with servers, and the window that reaches a target.
///
/// # Errors
/// [`SimError::Workload`]: the job has no servers.
pub fn compute(jobs: &Jobs<'_>, job: usize, target: Target) -> Result<Throttle, SimError> {
    let entry = &jobs.file.jobs[job];
    let ProgramKind::Io(io) = &entry.program.kind else {
        return Err(jobs.file.error(job, "it has no I/O servers to be throttled for"));
    };
    let hosts = &jobs.allocation.jobs[job];
    let (service_seconds, service) = service(io, hosts, jobs.network, jobs.model);
    let queue = ClosedQueue {
        clients: f64::from(hosts.ranks()) * f64::from(io.depth) * f64::from(io.stripes),
        servers: hosts.servers.len() as u32,
        think_seconds: entry.program.pace.think.seconds(),
        service_seconds,
        service,
    };
    let window = match target {
        Target::Threshold => queue.threshold_seconds(),
        Target::Utilisation(part) => queue.window_for_utilisation(part).unwrap_or(0.0),
        Target::Slowdown(factor) => queue.window_for_utilisation(1.0 - 1.0 / factor).unwrap_or(0.0),
    };
    // Think times are waited for anyway.
    let window = whole_nanoseconds(if window <= queue.think_seconds { 0.0 } else { window });
    let (without, with) = (queue.figures(), queue.throttled(window.seconds()).figures());
    Ok(Throttle { job, target, queue, window, without, with })
}

/// Rounded up, but not for what arithmetic has added.
fn whole_nanoseconds(seconds: f64) -> Time {
    Time::picoseconds((seconds * 1e9 - 1e-3).ceil() as u64 * 1000)
}

/// What a server needs for its part of a request, and how it serves several.
fn service(io: &IoSpec, hosts: &JobHosts, network: &Network, model: &Model) -> (f64, Service) {
    let part = io.request.div_ceil(u64::from(io.stripes)) as f64;
    let payload = model.link.packet_bytes as f64 / (model.link.packet_bytes + model.link.header_bytes) as f64;
    let carried = |host: NodeId| -> f64 {
        // Writes come in, reads go out; a host with several links uses all of them.
        let sum: f64 = match io.is_read {
            true => network.out_links(host).map(|link| network.link(link).capacity).sum(),
            false => network.in_links(host).iter().map(|&link| network.link(link).capacity).sum(),
        };
        let own = if io.is_read { model.host.injection_bytes_per_second } else { model.host.ejection_bytes_per_second };
        let own = if own > 0.0 { own } else { f64::INFINITY };
        (sum * model.link.efficiency * payload).min(own)
    };
    let slowest = hosts.servers.iter().map(|&host| carried(host)).fold(f64::INFINITY, f64::min);
    let link = part / slowest;
    let server = io.service.seconds() + io.server_rate.map_or(0.0, |rate| part / rate);
    if server > link { (server, Service::Deterministic) } else { (link, Service::Shared) }
}

/// The same jobs with another window of a job; zero for none.
pub fn with_window(file: &JobFile, job: usize, window: Time, from: WindowFrom) -> JobFile {
    let mut file = file.clone();
    let pace = &mut file.jobs[job].program.pace;
    pace.window = window;
    pace.window_from = if window > Time::ZERO { from } else { WindowFrom::Start };
    file
}

/// What a simulation found of a job, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// How long an operation takes, beside the other jobs.
    pub mean_seconds: f64,
    /// From the start of an operation to the start of the next one of the same client, or rank.
    pub cycle_seconds: f64,
    /// Beside the others over alone; `None` where a run was cut short, and of a single job.
    pub slowdown: Option<Slowdown>,
}

/// What simulations found: per job, without the window and with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// Without; `None` for a job without samples.
    pub without: Vec<Option<Observed>>,
    /// With. Slowdowns are over the job alone without a window.
    pub with: Vec<Option<Observed>>,
}

/// Simulates the jobs without the window and with it. `None` if it was stopped.
///
/// # Errors
/// As [`run_jobs`].
pub fn verify(jobs: &Jobs<'_>, throttle: &Throttle, options: &JobRunOptions<'_>) -> Result<Option<Verified>, SimError> {
    let files = [Time::ZERO, throttle.window]
        .map(|window| with_window(jobs.file, throttle.job, window, WindowFrom::Completion));
    let run = |file, which| run_jobs(&Jobs { file, ..*jobs }, &JobRunOptions { which, ..*options });
    let without = run(&files[0], Which::Both)?;
    if !without.is_complete() {
        return Ok(None);
    }
    let with = run(&files[1], Which::Together)?;
    if !with.is_complete() {
        return Ok(None);
    }
    let observe = |results: &JobResults| -> Vec<Option<Observed>> {
        let each = results.jobs.iter().zip(&without.jobs).zip(&jobs.file.jobs);
        each.map(|((job, base), entry)| {
            let (together, alone) = (job.together.as_ref()?, base.alone.as_ref());
            let slowdown = alone.and_then(|alone| statistics::slowdown(&job.nodes, &alone.ranks, &together.ranks));
            observed(together, &entry.program, slowdown)
        })
        .collect()
    };
    Ok(Some(Verified { without: observe(&without), with: observe(&with) }))
}

/// What a run says of a job with this program; `None` if no rank has two samples.
pub(super) fn observed(run: &JobRun, program: &ProgramSpec, slowdown: Option<Slowdown>) -> Option<Observed> {
    let depth = match &program.kind {
        ProgramKind::Io(io) => io.depth,
        _ => 1,
    };
    let durations = run.ranks.iter().flat_map(|rank| &rank.samples).map(|sample| sample.duration.seconds());
    let (count, sum) = durations.fold((0u64, 0.0), |(count, sum), seconds| (count + 1, sum + seconds));
    let cycle_seconds = cycle(&run.ranks)? * f64::from(depth);
    Some(Observed { mean_seconds: sum / count as f64, cycle_seconds, slowdown })
}

/// The mean time from start to start, over all ranks; `None` if no rank has two samples.
fn cycle(ranks: &[RankSamples]) -> Option<f64> {
    let (mut steps, mut sum) = (0usize, 0.0);
    for rank in ranks {
        let starts = || rank.samples.iter().map(|sample| sample.start);
        if let (Some(first), Some(last), 2..) = (starts().min(), starts().max(), rank.samples.len()) {
            steps += rank.samples.len() - 1;
            sum += (last - first).seconds();
        }
    }
    (steps > 0).then(|| sum / steps as f64)
}

/// A throttle and all that it needs, for commands: computed, and verified where that is wanted.
///
/// # Errors
/// As [`compute`] and [`verify`].
pub fn throttle(
    (file, network, model): (&JobFile, &Network, &Model),
    (job, target): (usize, Target),
    verification: Option<&JobRunOptions<'_>>,
) -> Result<(Throttle, Option<Verified>), SimError> {
    let allocation = Allocation::new(file, network)?;
    let jobs = Jobs { file, network, model, allocation: &allocation, planning_networks: &[] };
    let throttle = compute(&jobs, job, target)?;
    let verified = match verification {
        Some(options) => verify(&jobs, &throttle, options)?,
        None => None,
    };
    Ok((throttle, verified))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Eight clients write to one server whose link carries 12.5 GB/s; 4 MB take 320 us, headers left out.
    fn file(think: &str) -> JobFile {
        let text = format!(
            "network = \"star:16,capacity=12.5GB/s\"\nseed = 5\n[[job]]\nname = \"io\"\nhosts = 8\nplacement = \"contiguous\"\n\
             servers = \"hosts:15\"\nprogram = \"io-write,request=4MB,think={think},jitter=5%,samples=12\"\n\
             [[job]]\nname = \"mpi\"\nhosts = 4\nplacement = \"contiguous\"\n\
             program = \"pairs,message=100KB,think=50us,samples=12\"\n"
        );
        JobFile::parse(&text, "t.toml").unwrap()
    }

    fn model(network: &Network) -> Model {
        let mut model = Model::for_network(network);
        model.link.header_bytes = 0;
        model.link.efficiency = 1.0;
        model.host.injection_bytes_per_second = 1e15;
        model.host.ejection_bytes_per_second = 1e15;
        model
    }

    fn of(file: &JobFile, target: &str) -> Throttle {
        let network = file.load_network().unwrap();
        let job = job_of(file, None).unwrap();
        throttle((file, &network, &model(&network)), (job, target.parse().unwrap()), None).unwrap().0
    }

    #[test]
    fn windows_by_hand() {
        let free = file("0");
        let found = of(&free, "threshold");
        // (8 - 1) 320 us, in whole nanoseconds.
        assert_eq!(found.window, Time::picoseconds(2_240_000_000));
        assert_eq!((found.queue.clients, found.queue.servers, found.queue.service), (8.0, 1, Service::Shared));
        assert!((found.without.response_seconds - 8.0 * 320e-6).abs() < 1e-9, "{found:?}");
        // A slowdown of 2 leaves half of the link.
        let half = of(&free, "slowdown=2");
        assert_eq!(half.window, of(&free, "utilisation=50%").window);
        assert!((half.with.utilisation - 0.5).abs() < 1e-4 && half.cost() > 1.9, "{half:?}");
        // Who thinks for longer needs no window.
        assert_eq!(of(&file("10ms"), "threshold").window, Time::ZERO);
        assert_eq!(of(&file("10ms"), "threshold").cost(), 1.0);
    }

    #[test]
    fn a_server_that_is_slower_than_its_link_serves_one_at_a_time() {
        let text = "network = \"star:16,capacity=12.5GB/s\"\n[[job]]\nname = \"io\"\nhosts = 6\nservers = \"spread-target:2\"\n\
                    program = \"io-read,request=4MB,stripes=2,depth=3,service=1ms,server-rate=2GB/s\"\n";
        let file = JobFile::parse(text, "t.toml").unwrap();
        let found = of(&file, "threshold");
        assert_eq!((found.queue.clients, found.queue.servers, found.queue.service), (36.0, 2, Service::Deterministic));
        assert!((found.queue.service_seconds - 2e-3).abs() < 1e-12);
        assert_eq!(found.window, Time::picoseconds(34_000_000_000));
    }

    /// The simulated generator is held against the closed queue within a tenth.
    #[test]
    fn simulations_agree_with_the_queue() {
        let file = file("0");
        let network = file.load_network().unwrap();
        let model = model(&network);
        let options = JobRunOptions { threads: 1, ..JobRunOptions::default() };
        let target = Target::Utilisation(0.5);
        let (throttle, verified) = throttle((&file, &network, &model), (0, target), Some(&options)).unwrap();
        let Verified { without, with } = verified.unwrap();
        let [before, after] = [without[0].unwrap(), with[0].unwrap()];
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 0.1;
        assert!(close(before.mean_seconds, throttle.without.response_seconds), "{before:?} {throttle:?}");
        assert!(
            close(after.cycle_seconds / before.cycle_seconds, throttle.cost()),
            "{before:?} {after:?} {throttle:?}"
        );
        assert!(after.cycle_seconds > 1.5 * before.cycle_seconds);
        // On separate links of a switch the other job does not notice.
        assert!(with[1].unwrap().slowdown.is_some_and(|s| (s.mean.value - 1.0).abs() < 1e-9));
    }

    #[test]
    fn targets_and_jobs_that_are_not_there() {
        for text in ["threshold", "utilisation=0.8", "slowdown=1.25"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for text in ["", "slow", "slowdown=1", "slowdown=x", "utilisation=0", "utilisation=120%", "slowdown=inf"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
        let free = file("0");
        assert!(job_of(&free, Some("mpi")).unwrap_err().to_string().contains("those are io"));
        let mut none = free.clone();
        none.jobs.remove(0);
        assert!(job_of(&none, None).unwrap_err().to_string().contains("no job has I/O servers"));
        let mut two = free;
        two.jobs[1] = two.jobs[0].clone();
        assert!(job_of(&two, None).unwrap_err().to_string().contains("--job with one of them"));
    }
}
