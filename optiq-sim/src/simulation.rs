//! A simulation from its parts to its results.

use crate::checkpoint::{self, CheckpointWriter, Saved};
use crate::engine::limits::End;
use crate::engine::observer::{Observation, Observed, Unobserved};
use crate::engine::persistence::Persistence;
use crate::engine::statistics::Counters;
use crate::engine::watch::Watch;
use crate::engine::windows::{Partition, parallel, serial};
use crate::error::SimError;
use crate::model::Model;
use crate::nic::hosts::{Hosts, MemoryQueues};
use crate::nic::layout::Layout;
use crate::nic::program::{Idle, Program};
use crate::observers::jobs::JobRecorder;
use crate::observers::postcards::PostcardRecorder;
use crate::observers::recorder::Recorder;
use crate::observers::run_observer::RunObserver;
use crate::observers::series::Series;
use crate::options::RunOptions;
use crate::outcome::{JobOutcome, Outcome};
use crate::router::adaptive::{self, Adaptive};
use crate::router::fabric::Fabric;
use crate::router::policy::Policy;
use crate::router::routes::Routes;
use crate::shard::partition::{lookahead, partition};
use crate::shard::state::{Machine, Shard};
use crate::time::Time;
use optiq_net::fingerprint::{Fingerprint, Hasher};
use optiq_net::{LinkId, Network};
use std::time::Instant;

/// Simulates `programs`, one for each of the first hosts, on a network: one job, with process `i` on host `i`.
///
/// # Errors
/// A model, a routing or a workload that does not fit the network; a halt with hosts that still wait.
pub fn simulate(
    network: &Network,
    model: &Model,
    mut programs: Vec<Box<dyn Program>>,
    options: &RunOptions<'_>,
) -> Result<Outcome, SimError> {
    let hosts = network.hosts();
    if programs.len() > hosts {
        return Err(SimError::Workload(format!("{} programs for {hosts} hosts", programs.len())));
    }
    programs.resize_with(hosts, || Box::new(Idle));
    simulate_jobs(network, model, &Layout::one_job(hosts as u32), programs, options)
}

/// Simulates `programs`, one for each process of a layout, on a network.
///
/// A job meets the same chances, whatever other jobs do: the random numbers of a process follow from the seed and its number. So
/// what a job takes alone is found with [`Idle`] in place of the programs of all others.
///
/// # Errors
/// A model, a routing, a layout or a workload that does not fit the network; a halt with processes that still wait.
pub fn simulate_jobs(
    network: &Network,
    model: &Model,
    layout: &Layout,
    programs: Vec<Box<dyn Program>>,
    options: &RunOptions<'_>,
) -> Result<Outcome, SimError> {
    let options = &RunOptions { routing: options.routing.on(network), ..*options };
    let (routes, fabric) = fabric_of(network, model, options.routing)?;
    let adaptive = Adaptive::new(network, &fabric, model, options.routing, options.seed);
    layout.check(fabric.hosts, programs.len())?;
    let identity = identity(network, model, layout, options);
    if options.postcards.is_some() && (options.resume.is_some() || options.checkpoints.is_some()) {
        let text = "postcards cannot be saved in a checkpoint; a simulation with one of them is expected";
        return Err(SimError::Checkpoint(text.into()));
    }
    let resumed = options.resume.map(|bytes| checkpoint::read(identity, bytes)).transpose()?;
    let threads = resumed.as_ref().map_or(options.threads, |saved| saved.shards.len());
    let (shards, owner, lookahead) = divide(network, &fabric, threads);
    let memory_queues = MemoryQueues::new(&fabric);
    let links = network.links().len();
    let sizes = (links, memory_queues.len(), layout.jobs());
    let observe = |_| RunObserver::new(&fabric, model, sizes, (options.series, options.postcards));
    let mut observers: Vec<Option<RunObserver<'_>>> = (0..shards).map(observe).collect();
    let resumes = resumed.is_some();
    let run_all = || {
        let (owner, adaptive) = (&owner, adaptive.as_ref());
        let machine = Machine { fabric: &fabric, routes: &routes, adaptive, model, layout, owner, shards };
        let hosts = place(&machine, options.seed, programs);
        let of = (network, lookahead, identity);
        let watched: Vec<Observed<'_>> = observers.iter_mut().flatten().map(|observer| Observed(observer)).collect();
        let found = if watched.is_empty() {
            run_parts(&machine, hosts, std::iter::repeat_with(|| Unobserved), resumed, of, options)?
        } else {
            run_parts(&machine, hosts, watched, resumed, of, options)?
        };
        let (mut series, mut jobs, mut postcards) = (Vec::new(), Vec::new(), Vec::new());
        for parts in observers.into_iter().flatten().map(RunObserver::into_parts) {
            series.extend(parts.0);
            jobs.extend(parts.1);
            postcards.extend(parts.2);
        }
        let series = Recorder::merge(series, &fabric, &memory_queues, network, found.time);
        let jobs = JobRecorder::merge(jobs, &fabric, links);
        let postcards = PostcardRecorder::merge(postcards, network, layout);
        Ok(Outcome { postcards, ..found.outcome(jobs, series) })
    };
    if resumes { checkpoint::contain(run_all) } else { run_all() }
}

/// The routes and the fabric of a network.
fn fabric_of<'n>(network: &'n Network, model: &Model, routing: Policy) -> Result<(Routes<'n>, Fabric), SimError> {
    model.check().map_err(SimError::Model)?;
    let classes = adaptive::classes(network, routing)?;
    if model.router.pipeline.is_some() && routing == Policy::MinimalAdaptive {
        let text = "routing minimal-adaptive reserves room in buffers, which routers with a pipeline do not know";
        return Err(SimError::Routing(text.into()));
    }
    let mut routes =
        if classes.is_some() { Routes::first_steps(network) } else { Routes::new(network, &model.router)? };
    let fabric = Fabric::new(network, model, classes.unwrap_or(routes.classes().count()));
    routes.find_first(&fabric);
    Ok((routes, fabric))
}

/// Which shard has which vertex, how many shards there are, and the lookahead between them.
fn divide(network: &Network, fabric: &Fabric, threads: usize) -> (usize, Vec<u8>, Time) {
    let wanted = threads.clamp(1, 64).min(fabric.hosts as usize);
    let split = |shards: usize| {
        let owner = partition(network, fabric, shards);
        let lookahead = lookahead(network, fabric, &owner);
        (shards, owner, lookahead)
    };
    // Shards without a lookahead cannot be simulated in parallel.
    let (shards, owner, lookahead) = match split(wanted) {
        (_, _, Time::ZERO) => split(1),
        parts => parts,
    };
    let picoseconds = lookahead.as_picoseconds();
    log::debug!("{threads} threads wanted, {shards} used; lookahead between them {picoseconds} ps");
    (shards, owner, lookahead)
}

/// The hosts of each shard, with their processes and the program of each.
fn place(machine: &Machine<'_>, seed: u64, programs: Vec<Box<dyn Program>>) -> Vec<Hosts> {
    let processes = machine.layout.processes();
    let mut hosts: Vec<Hosts> = (0..machine.shards).map(|_| Hosts::new(machine.fabric, processes)).collect();
    for ((&process, number), program) in processes.iter().zip(0..).zip(programs) {
        hosts[usize::from(machine.owner[process.host as usize])].add(number, process, seed, program);
    }
    hosts
}

/// Simulates all shards, each with its hosts and its observer.
///
/// # Errors
/// As [`begin`] and [`run`].
fn run_parts<O: Observation>(
    machine: &Machine<'_>,
    hosts: Vec<Hosts>,
    observers: impl IntoIterator<Item = O>,
    resumed: Option<Saved>,
    (network, lookahead, identity): (&Network, Time, Fingerprint),
    options: &RunOptions<'_>,
) -> Result<Found, SimError> {
    let parts = hosts.into_iter().zip(observers).zip(0..);
    let mut parts: Vec<_> = parts.map(|((hosts, observer), me)| Shard::new(*machine, me, hosts, observer)).collect();
    begin(&mut parts, resumed)?;
    let (end, wall_seconds) = run(&mut parts, lookahead, (machine.layout, identity), options)?;
    Ok(Found { end, wall_seconds, ..Found::of(parts, network, machine) })
}

/// The shards begin, or resume.
fn begin<O: Observation>(parts: &mut [Shard<'_, O>], resumed: Option<Saved>) -> Result<(), SimError> {
    let Some(saved) = resumed else {
        parts.iter_mut().for_each(Shard::start);
        return Ok(());
    };
    let damaged = |e: String| SimError::Checkpoint(format!("the checkpoint does not fit this simulation: {e}"));
    if saved.shards.len() != parts.len() {
        return Err(damaged(format!("it is of {} threads", saved.shards.len())));
    }
    parts.iter_mut().zip(&saved.shards).try_for_each(|(part, bytes)| part.restore(bytes)).map_err(damaged)
}

/// Runs the shards; why they ended, and the seconds that they took.
///
/// # Errors
/// What went wrong in a shard or with a checkpoint; a deadlock.
fn run<O: Observation>(
    parts: &mut [Shard<'_, O>],
    lookahead: Time,
    (layout, identity): (&Layout, Fingerprint),
    options: &RunOptions<'_>,
) -> Result<(End, f64), SimError> {
    let start = Instant::now();
    let writer = options.checkpoints.map(|checkpoints| CheckpointWriter { checkpoints, of: identity });
    let watch = Watch {
        limits: options.limits,
        stop: options.stop,
        progress: options.progress,
        persistence: writer.as_ref().map(|writer| writer as &dyn Persistence),
        until_done: layout.has_measured(),
        start,
    };
    let end = match &mut *parts {
        [part] => serial(part, &watch),
        parts => parallel(parts, lookahead, &watch),
    };
    let wall_seconds = start.elapsed().as_secs_f64();
    if let Some(failure) = parts.iter_mut().find_map(Shard::take_failure) {
        return Err(failure);
    }
    match end {
        End::Finished => check_all_done(parts, layout)?,
        End::Measured => {}
        _ if options.checkpoints.is_some() => {
            let now = parts.iter().map(Shard::now).max().unwrap_or(Time::ZERO);
            watch.keep(now, parts.iter().map(Shard::save).collect())?;
        }
        _ => {}
    }
    Ok((end, wall_seconds))
}

/// Whether all programs have ended and all packets have arrived when no event is left.
fn check_all_done<O: Observation>(parts: &mut [Shard<'_, O>], layout: &Layout) -> Result<(), SimError> {
    let waiting: Vec<String> = parts.iter_mut().flat_map(|p| p.hosts().waiting(layout)).collect();
    let stuck: usize = parts.iter().map(Shard::packets_in_flight).sum();
    if stuck == 0 && waiting.is_empty() {
        return Ok(());
    }
    let time = parts.iter().map(|p| p.counters().last).max().unwrap_or(Time::ZERO);
    Err(SimError::Deadlock { time, what: deadlock(stuck, &waiting) })
}

/// Who waits for whom: packets that are stuck, and hosts.
fn deadlock(stuck: usize, waiting: &[String]) -> String {
    let few = waiting.iter().take(4).cloned().collect::<Vec<_>>().join("; ");
    let more = if waiting.len() > 4 { format!("; and {} more", waiting.len() - 4) } else { String::new() };
    match (stuck, waiting.is_empty()) {
        (0, _) => format!("{few}{more}"),
        (_, true) => format!("{stuck} packets wait for each other"),
        _ => format!("{stuck} packets wait for each other; {few}{more}"),
    }
}

/// What is left of the shards at the end.
struct Found {
    end: End,
    time: Time,
    wall_seconds: f64,
    counters: Counters,
    programs: Vec<Box<dyn Program>>,
    link_bytes: Vec<u64>,
    link_busy: Vec<Time>,
    /// Per job, when its last process was done, if all were.
    done: Vec<Option<Time>>,
}

impl Found {
    fn of<O: Observation>(mut parts: Vec<Shard<'_, O>>, network: &Network, machine: &Machine<'_>) -> Self {
        let mut counters = Counters::new();
        parts.iter().for_each(|part| counters.add(part.counters()));
        let mut done = vec![None; machine.layout.jobs()];
        for (job, time) in parts.iter_mut().flat_map(|part| part.hosts().done()) {
            let latest: &mut Option<Time> = &mut done[usize::from(job)];
            *latest = Some(latest.map_or(time, |latest| latest.max(time)));
        }
        let done = done.into_iter().map(|time| time.filter(|&time| time < Time::NEVER)).collect();
        let mut programs: Vec<(u32, Box<dyn Program>)> = Vec::new();
        parts.iter_mut().for_each(|part| programs.extend(part.hosts().programs()));
        programs.sort_by_key(|program| program.0);
        let mut traffic = vec![(0, Time::ZERO); network.links().len()];
        for part in &parts {
            for (link, (bytes, busy)) in machine.fabric.link_of.iter().zip(part.traffic()) {
                if let Some(LinkId(link)) = link {
                    let sums = &mut traffic[*link as usize];
                    *sums = (sums.0 + bytes, sums.1 + busy);
                }
            }
        }
        let (link_bytes, link_busy) = traffic.into_iter().unzip();
        Self {
            end: End::Finished,
            time: counters.last,
            wall_seconds: 0.0,
            programs: programs.into_iter().map(|program| program.1).collect(),
            counters,
            link_bytes,
            link_busy,
            done,
        }
    }

    /// With the counters and links of each job, if there are several.
    fn outcome(self, mut jobs: Vec<(Counters, Vec<u64>)>, series: Option<Series>) -> Outcome {
        let Self { end, time, wall_seconds, counters, programs, link_bytes, link_busy, done } = self;
        if jobs.is_empty() {
            jobs.push((counters.clone(), link_bytes.clone()));
        }
        let jobs = jobs.into_iter().zip(done).map(|((counters, links), done)| JobOutcome::new(counters, links, done));
        Outcome {
            end,
            time,
            events: counters.events,
            wakes: counters.wakes,
            packets: counters.packets,
            message_latency_mean: counters.mean_message_latency(),
            jobs: jobs.collect(),
            messages: counters.messages,
            detours: counters.detours,
            payload_bytes: counters.payload,
            link_bytes,
            link_busy,
            series,
            postcards: None,
            packet_latency: counters.packet_latency,
            message_latency: counters.message_latency,
            programs,
            wall_seconds,
        }
    }
}

/// The fingerprint of a simulation in its checkpoints.
fn identity(network: &Network, model: &Model, layout: &Layout, options: &RunOptions<'_>) -> Fingerprint {
    let mut hasher = Hasher::new("optiq simulation 1");
    hasher.bytes(&network.fingerprint().0.to_le_bytes());
    // All of its fields; figures are written so that they can be read again.
    hasher.bytes(format!("{model:?} {}", options.routing).as_bytes());
    hasher.bytes(&options.workload.to_le_bytes());
    hasher.u64(options.seed);
    hasher.u64(options.series as u64);
    hasher.u64(layout.processes().len() as u64);
    layout.hash(&mut hasher);
    hasher.finish()
}
