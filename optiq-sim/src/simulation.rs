//! A simulation from its parts to its results.

use crate::checkpoint::{self, CheckpointWriter, Saved};
use crate::engine::limits::End;
use crate::engine::persistence::Persistence;
use crate::engine::statistics::Counters;
use crate::engine::watch::Watch;
use crate::engine::windows::{Partition, parallel, serial};
use crate::error::SimError;
use crate::model::Model;
use crate::nic::hosts::{Hosts, MemoryQueues};
use crate::nic::program::{Idle, Program};
use crate::observers::recorder::{Recorder, SeriesObserver};
use crate::observers::series::Series;
use crate::options::RunOptions;
use crate::outcome::Outcome;
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

/// Simulates `programs`, one for each of the first hosts, on a network.
///
/// # Errors
/// A model, a routing or a workload that does not fit the network; a halt with hosts that still wait.
pub fn simulate(
    network: &Network,
    model: &Model,
    programs: Vec<Box<dyn Program>>,
    options: &RunOptions<'_>,
) -> Result<Outcome, SimError> {
    let (routes, fabric) = fabric_of(network, model, options.routing)?;
    let adaptive = Adaptive::new(network, &fabric, model, options.routing, options.seed);
    if programs.len() > fabric.hosts as usize {
        let text = format!("{} programs for {} hosts", programs.len(), fabric.hosts);
        return Err(SimError::Workload(text));
    }
    let identity = identity(network, model, programs.len(), options);
    let resumed = options.resume.map(|bytes| checkpoint::read(identity, bytes)).transpose()?;
    let threads = resumed.as_ref().map_or(options.threads, |saved| saved.shards.len());
    let (shards, owner, lookahead) = divide(network, &fabric, threads);
    let memory_queues = MemoryQueues::new(&fabric);
    let observe = |_| SeriesObserver::new(&fabric, network.links().len(), memory_queues.len(), options.series);
    let mut observers: Vec<Option<SeriesObserver<'_>>> = (0..shards).map(observe).collect();
    let resumes = resumed.is_some();
    let run_all = || {
        let machine =
            Machine { fabric: &fabric, routes: &routes, adaptive: adaptive.as_ref(), model, owner: &owner, shards };
        let hosts = place(&fabric, (&owner, shards), options.seed, programs);
        let mut parts = Vec::with_capacity(shards);
        for ((hosts, observer), me) in hosts.into_iter().zip(&mut observers).zip(0..) {
            parts.push(Shard::new(machine, me, hosts, observer.as_mut().map(|observer| observer as _)));
        }
        begin(&mut parts, resumed)?;
        let (end, wall_seconds) = run(&mut parts, lookahead, identity, options)?;
        let found = Found { end, wall_seconds, ..Found::of(parts, network, &fabric) };
        let recorders: Vec<Recorder> = observers.into_iter().flatten().map(SeriesObserver::into_recorder).collect();
        let series = Recorder::merge(recorders, &fabric, &memory_queues, network, found.time);
        Ok(found.outcome(series))
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

/// The hosts of each shard, each with its program.
fn place(fabric: &Fabric, (owner, shards): (&[u8], usize), seed: u64, programs: Vec<Box<dyn Program>>) -> Vec<Hosts> {
    let mut hosts: Vec<Hosts> = (0..shards).map(|_| Hosts::new(fabric)).collect();
    let mut programs = programs.into_iter();
    for host in 0..fabric.hosts {
        let program = programs.next().unwrap_or_else(|| Box::new(Idle));
        hosts[usize::from(owner[host as usize])].add(host, seed, program);
    }
    hosts
}

/// The shards begin, or resume.
fn begin(parts: &mut [Shard<'_>], resumed: Option<Saved>) -> Result<(), SimError> {
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
fn run(
    parts: &mut [Shard<'_>],
    lookahead: Time,
    identity: Fingerprint,
    options: &RunOptions<'_>,
) -> Result<(End, f64), SimError> {
    let start = Instant::now();
    let writer = options.checkpoints.map(|checkpoints| CheckpointWriter { checkpoints, of: identity });
    let watch = Watch {
        limits: options.limits,
        stop: options.stop,
        progress: options.progress,
        persistence: writer.as_ref().map(|writer| writer as &dyn Persistence),
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
    if end == End::Finished {
        check_all_done(parts)?;
    } else if options.checkpoints.is_some() {
        watch
            .keep(parts.iter().map(Shard::now).max().unwrap_or(Time::ZERO), parts.iter().map(Shard::save).collect())?;
    }
    Ok((end, wall_seconds))
}

/// Whether all programs have ended and all packets have arrived when no event is left.
fn check_all_done(parts: &mut [Shard<'_>]) -> Result<(), SimError> {
    let waiting: Vec<String> = parts.iter_mut().flat_map(|p| p.hosts().waiting()).collect();
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
}

impl Found {
    fn of(mut parts: Vec<Shard<'_>>, network: &Network, fabric: &Fabric) -> Self {
        let mut counters = Counters::new();
        parts.iter().for_each(|part| counters.add(part.counters()));
        let mut programs: Vec<(u32, Box<dyn Program>)> = Vec::new();
        parts.iter_mut().for_each(|part| programs.extend(part.hosts().programs()));
        programs.sort_by_key(|program| program.0);
        let mut traffic = vec![(0, Time::ZERO); network.links().len()];
        for part in &parts {
            for (link, (bytes, busy)) in fabric.link_of.iter().zip(part.traffic()) {
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
        }
    }

    fn outcome(self, series: Option<Series>) -> Outcome {
        let Self { end, time, wall_seconds, counters, programs, link_bytes, link_busy } = self;
        Outcome {
            end,
            time,
            events: counters.events,
            wakes: counters.wakes,
            packets: counters.packets,
            message_latency_mean: counters.latency_sum as f64 / counters.messages.max(1) as f64,
            messages: counters.messages,
            detours: counters.detours,
            payload_bytes: counters.payload,
            link_bytes,
            link_busy,
            series,
            packet_latency: counters.packet_latency,
            message_latency: counters.message_latency,
            programs,
            wall_seconds,
        }
    }
}

/// The fingerprint of a simulation in its checkpoints.
fn identity(network: &Network, model: &Model, programs: usize, options: &RunOptions<'_>) -> Fingerprint {
    let mut hasher = Hasher::new("optiq simulation 1");
    hasher.bytes(&network.fingerprint().0.to_le_bytes());
    // All of its fields; figures are written so that they can be read again.
    hasher.bytes(format!("{model:?} {}", options.routing).as_bytes());
    hasher.bytes(&options.workload.to_le_bytes());
    hasher.u64(options.seed);
    hasher.u64(options.series as u64);
    hasher.u64(programs as u64);
    hasher.finish()
}
