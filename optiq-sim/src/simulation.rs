//! A simulation from its parts to its results.
//!
//! Two threads each have a part of the network (conservative parallel simulation; K. M. Chandy and J. Misra, "Distributed
//! Simulation", IEEE TSE SE-5(5), 1979, with windows as in synchronous schemes): what happens in one part is felt in the other
//! at the earliest one link latency later, so both simulate a window of that length, tell each other what they must know,
//! and go on with the next window, which begins where the first of both has something to do.

use crate::SimError;
use crate::adaptive::{self, Adaptive};
use crate::checkpoint::{self, Checkpoints, Saved};
use crate::fabric::Fabric;
use crate::host::Hosts;
use crate::model::Model;
use crate::parts::{Barrier, Part, lookahead, partition};
use crate::policy::Policy;
use crate::program::{Idle, Program};
use crate::routes::Routes;
use crate::series::{Recorder, Recording, Series};
use crate::shard::{Remote, Shard};
use crate::statistics::Counters;
use crate::time::{NEVER, Time};
use hdrhistogram::Histogram;
use optiq_net::fingerprint::{Fingerprint, Hasher};
use optiq_net::{LinkId, Network};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Where a simulation ends even if it could go on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Simulated time.
    pub time: Option<Time>,
    /// Events.
    pub events: Option<u64>,
    /// The time that the simulation itself takes.
    pub wall: Option<Duration>,
}

/// Why a simulation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There is nothing left to happen.
    Finished,
    /// The limit on simulated time.
    TimeLimit,
    /// The limit on events.
    EventLimit,
    /// The limit on the time that it takes.
    WallLimit,
    /// Somebody asked for it.
    Stopped,
}

/// How to run.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'a> {
    /// See [`Limits`].
    pub limits: Limits,
    /// Threads; the results are the same with any number.
    pub threads: usize,
    /// The seed of all random numbers.
    pub seed: u64,
    /// How packets find their way.
    pub routing: Policy,
    /// Becomes true when the simulation is to end.
    pub stop: Option<&'a AtomicBool>,
    /// Is told simulated time and events now and then.
    pub progress: Option<&'a (dyn Fn(Time, u64) + Sync)>,
    /// What of [`Outcome::series`] is wanted. It takes time and memory.
    pub series: Recording,
    /// When checkpoints are made.
    pub checkpoints: Option<Checkpoints<'a>>,
    /// A checkpoint to go on from, of the same network, model, routing, seed and workload. The number of threads is its own.
    pub resume: Option<&'a [u8]>,
    /// What stands for the programs in a checkpoint, so that others do not go on from it.
    pub workload: u128,
}

/// What a simulation found.
pub struct Outcome {
    /// Why it ended; unless [`End::Finished`], everything else is about the part before.
    pub end: End,
    /// When the last thing happened.
    pub time: Time,
    /// Arrivals of packets, and what hosts did.
    pub events: u64,
    /// Times that a channel looked whether it could send: no part of the results, as threads may make a difference.
    pub wakes: u64,
    /// Packets that arrived in memory.
    pub packets: u64,
    /// Messages that arrived.
    pub messages: u64,
    /// Packets that the routing has sent off their minimal paths: none by the fabric's own routes.
    pub detours: u64,
    /// Bytes of the messages among them: without headers, and without what the protocol says.
    pub payload_bytes: u64,
    /// From the first bit out of the source's memory to the last one in the destination's, in picoseconds.
    pub packet_latency: Histogram<u64>,
    /// From the order to send until the receiver's processor has dealt with it, in picoseconds.
    pub message_latency: Histogram<u64>,
    /// Its mean, exactly.
    pub message_latency_mean: f64,
    /// Bytes on each link of the network, headers included; parallel ones together.
    pub link_bytes: Vec<u64>,
    /// For how long each link was busy, in picoseconds; parallel ones together.
    pub link_busy: Vec<Time>,
    /// What happened over time, if it was asked for.
    pub series: Option<Series>,
    /// The programs, as they ended.
    pub programs: Vec<Box<dyn Program>>,
    /// What the simulation itself took, in seconds.
    pub wall_seconds: f64,
}

impl Outcome {
    /// Of all that was simulated, and of nothing that may be different next time: the same whatever machine it ran on, on
    /// however many threads, and with however many checkpoints.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = Hasher::new("optiq outcome 1");
        for word in [self.time, self.events, self.packets, self.messages, self.detours, self.payload_bytes] {
            hasher.u64(word);
        }
        hasher.u64(self.message_latency_mean.to_bits());
        for histogram in [&self.packet_latency, &self.message_latency] {
            for cell in histogram.iter_recorded() {
                hasher.u64(cell.value_iterated_to());
                hasher.u64(cell.count_at_value());
            }
        }
        self.link_bytes.iter().chain(&self.link_busy).for_each(|&word| hasher.u64(word));
        hasher.finish()
    }
}

/// How many events are handled between looks at clocks.
const BATCH: u64 = 1 << 16;

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
    model.check().map_err(SimError::Model)?;
    let classes = adaptive::classes(network, options.routing)?;
    if model.router.pipeline.is_some() && options.routing == Policy::MinimalAdaptive {
        let text = "routing minimal-adaptive reserves room in buffers, which routers with a pipeline do not know";
        return Err(SimError::Routing(text.into()));
    }
    let mut routes =
        if classes.is_some() { Routes::first_steps(network) } else { Routes::new(network, &model.router)? };
    let fabric = Fabric::new(network, model, classes.unwrap_or(routes.classes().count()));
    routes.find_first(&fabric);
    let adaptive = Adaptive::new(network, &fabric, model, options.routing, options.seed);
    if programs.len() > fabric.hosts as usize {
        let text = format!("{} programs for {} hosts", programs.len(), fabric.hosts);
        return Err(SimError::Workload(text));
    }
    let identity = identity(network, model, programs.len(), options);
    let resumed = options.resume.map(|bytes| checkpoint::read(identity, bytes)).transpose()?;
    let threads = resumed.as_ref().map_or(options.threads, |saved| saved.shards.len());
    let wanted = threads.clamp(1, 64).min(fabric.hosts as usize);
    let split = |shards: usize| {
        let owner = partition(network, &fabric, shards);
        let lookahead = lookahead(network, &fabric, &owner);
        (shards, owner, lookahead)
    };
    // What is felt at once cannot be simulated apart.
    let (shards, owner, lookahead) = match split(wanted) {
        (_, _, 0) => split(1),
        parts => parts,
    };
    let mut hosts: Vec<Hosts> = (0..shards).map(|_| Hosts::new(&fabric)).collect();
    let mut programs = programs.into_iter();
    for host in 0..fabric.hosts {
        let program = programs.next().unwrap_or_else(|| Box::new(Idle));
        hosts[usize::from(owner[host as usize])].add(host, options.seed, program);
    }
    let ways = (&routes, adaptive.as_ref());
    let make = |(i, hosts): (usize, Hosts)| Shard::new(&fabric, ways, model, &owner, (i as u8, shards), hosts);
    let mut parts: Vec<Shard<'_>> = hosts.into_iter().enumerate().map(make).collect();
    for part in &mut parts {
        let (links, queues) = (network.links().len(), part.hosts.all_queues());
        part.series = Recorder::new(&fabric, links, queues, options.series).map(Box::new);
    }
    match resumed {
        None => parts.iter_mut().for_each(Shard::start),
        Some(saved) => {
            let damaged = |e: String| SimError::Checkpoint(format!("the checkpoint does not fit this simulation: {e}"));
            if saved.shards.len() != parts.len() {
                return Err(damaged(format!("it is of {} threads", saved.shards.len())));
            }
            parts.iter_mut().zip(&saved.shards).try_for_each(|(part, bytes)| part.restore(bytes)).map_err(damaged)?;
        }
    }
    let start = Instant::now();
    let watch = Watch { options, start, identity };
    let end = match &mut parts[..] {
        [part] => alone(part, &watch),
        parts => together(parts, lookahead, &watch),
    };
    let wall_seconds = start.elapsed().as_secs_f64();
    if let Some(failure) = parts.iter_mut().find_map(|p| p.hosts.failure.take()) {
        return Err(failure);
    }
    if end != End::Finished && options.checkpoints.is_some() {
        watch.keep(parts.iter().map(Shard::save).collect(), parts.iter().map(|p| p.now).max().unwrap_or(0))?;
    }
    let time = parts.iter().map(|p| p.counters.last).max().unwrap_or(0);
    if end == End::Finished {
        let waiting: Vec<String> = parts.iter().flat_map(|p| p.hosts.waiting()).collect();
        let stuck: usize = parts.iter().map(|p| p.packets.under_way()).sum();
        if stuck > 0 || !waiting.is_empty() {
            return Err(SimError::Deadlock { time, what: halted(stuck, &waiting) });
        }
    }
    let mut counters = Counters::new();
    parts.iter().for_each(|p| counters.add(&p.counters));
    let mut list: Vec<(u32, Box<dyn Program>)> = parts.iter_mut().flat_map(|p| p.hosts.programs()).collect();
    list.sort_by_key(|p| p.0);
    let mut traffic = vec![(0, 0); network.links().len()];
    for part in &parts {
        for (link, (bytes, busy)) in fabric.link_of.iter().zip(part.traffic()) {
            if let Some(LinkId(link)) = link {
                let sums = &mut traffic[*link as usize];
                *sums = (sums.0 + bytes, sums.1 + busy);
            }
        }
    }
    let recorders: Vec<Recorder> = parts.iter_mut().filter_map(|p| p.series.take()).map(|r| *r).collect();
    let series = parts.first().and_then(|p| Recorder::merge(recorders, &fabric, &p.hosts, network, time));
    let (link_bytes, link_busy) = traffic.into_iter().unzip();
    Ok(Outcome {
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
        programs: list.into_iter().map(|p| p.1).collect(),
        wall_seconds,
    })
}

fn halted(stuck: usize, waiting: &[String]) -> String {
    let few = waiting.iter().take(4).cloned().collect::<Vec<_>>().join("; ");
    let more = if waiting.len() > 4 { format!("; and {} more", waiting.len() - 4) } else { String::new() };
    match (stuck, waiting.is_empty()) {
        (0, _) => format!("{few}{more}"),
        (_, true) => format!("{stuck} packets wait for each other"),
        _ => format!("{stuck} packets wait for each other; {few}{more}"),
    }
}

/// What stands for a simulation in its checkpoints.
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

/// Looks after a simulation while it runs.
struct Watch<'a> {
    options: &'a RunOptions<'a>,
    start: Instant,
    identity: Fingerprint,
}

impl Watch<'_> {
    /// Hands a checkpoint out.
    fn keep(&self, shards: Result<Vec<Vec<u8>>, String>, time: Time) -> Result<(), SimError> {
        let Some(checkpoints) = &self.options.checkpoints else { return Ok(()) };
        let saved = Saved { time, shards: shards.map_err(SimError::Checkpoint)? };
        (checkpoints.keep)(&checkpoint::write(self.identity, &saved)).map_err(SimError::Checkpoint)
    }

    /// Whether a checkpoint is due; `done` were.
    fn is_due(&self, done: u32) -> bool {
        let every = self.options.checkpoints.and_then(|c| c.every);
        every.is_some_and(|every| self.start.elapsed() >= every.saturating_mul(done + 1))
    }

    /// Checkpoints that would have been due by now.
    fn done(&self) -> u32 {
        let every = self.options.checkpoints.and_then(|c| c.every).unwrap_or(Duration::MAX);
        (self.start.elapsed().as_nanos() / every.as_nanos().max(1)) as u32
    }

    /// Whether a limit is reached; `wall` is looked at between batches only.
    fn over(&self, events: u64) -> Option<End> {
        let Limits { events: most, wall, .. } = self.options.limits;
        if self.options.stop.is_some_and(|stop| stop.load(SeqCst)) {
            Some(End::Stopped)
        } else if most.is_some_and(|most| events >= most) {
            Some(End::EventLimit)
        } else if wall.is_some_and(|wall| self.start.elapsed() >= wall) {
            Some(End::WallLimit)
        } else {
            None
        }
    }
}

fn alone(part: &mut Shard<'_>, watch: &Watch<'_>) -> End {
    let options = watch.options;
    let mut kept = 0;
    let last = options.limits.time.unwrap_or(NEVER - 1).saturating_add(1);
    loop {
        let left =
            options.limits.events.map_or(BATCH, |most| most.saturating_sub(part.counters.events).clamp(1, BATCH));
        let done = part.run(last, left);
        if part.hosts.failure.is_some() {
            return End::Stopped;
        }
        if done == 0 {
            return if part.queue.len() == 0 { End::Finished } else { End::TimeLimit };
        }
        if let Some(progress) = options.progress {
            progress(part.now, part.counters.events);
        }
        if let Some(end) = watch.over(part.counters.events) {
            return end;
        }
        if watch.is_due(kept) {
            if let Err(error) = watch.keep(part.save().map(|shard| vec![shard]), part.now) {
                part.hosts.failure.get_or_insert(error);
                return End::Stopped;
            }
            kept = watch.done();
        }
    }
}

/// What the threads of a simulation share.
struct Shared {
    barrier: Barrier,
    /// Per shard: when its next event is.
    next: Vec<AtomicU64>,
    events: Vec<AtomicU64>,
    /// From shard to shard.
    mail: Vec<Mutex<Vec<Remote>>>,
    failed: AtomicBool,
    failure: Mutex<Option<SimError>>,
    end: Mutex<Option<End>>,
    /// A checkpoint is to be made, how many were, and of what.
    saving: AtomicBool,
    kept: AtomicU32,
    saved: Mutex<Vec<Result<Vec<u8>, String>>>,
}

fn together(parts: &mut [Shard<'_>], lookahead: Time, watch: &Watch<'_>) -> End {
    let shards = parts.len();
    let word = |_| AtomicU64::new(0);
    let shared = Shared {
        barrier: Barrier::new(shards),
        next: (0..shards).map(word).collect(),
        events: (0..shards).map(word).collect(),
        mail: (0..shards * shards).map(|_| Mutex::new(Vec::new())).collect(),
        failed: AtomicBool::new(false),
        failure: Mutex::new(None),
        end: Mutex::new(None),
        saving: AtomicBool::new(false),
        kept: AtomicU32::new(0),
        saved: Mutex::new(vec![Ok(Vec::new()); shards]),
    };
    std::thread::scope(|scope| {
        for (me, part) in parts.iter_mut().enumerate() {
            let shared = &shared;
            scope.spawn(move || windows(part, me, shards, lookahead, watch, shared));
        }
    });
    if let (Ok(failure), Some(part)) = (shared.failure.into_inner(), parts.first_mut()) {
        part.hosts.failure = part.hosts.failure.take().or(failure);
    }
    let end = shared.end.lock().map_or(None, |end| *end);
    end.unwrap_or(End::Finished)
}

/// One thread's windows.
fn windows(part: &mut Shard<'_>, me: usize, shards: usize, lookahead: Time, watch: &Watch<'_>, shared: &Shared) {
    let options = watch.options;
    let last = options.limits.time.unwrap_or(NEVER - 1).saturating_add(1);
    let mut round = 0u64;
    let _part = Part(&shared.barrier);
    loop {
        shared.next[me].store(part.queue.next_time().unwrap_or(NEVER), SeqCst);
        shared.events[me].store(part.counters.events, SeqCst);
        if part.hosts.failure.is_some() {
            shared.failed.store(true, SeqCst);
        }
        let all = shared.barrier.wait(|| {
            let next = shared.next.iter().map(|n| n.load(SeqCst)).min().unwrap_or(NEVER);
            let events = shared.events.iter().map(|n| n.load(SeqCst)).sum();
            let end = match next {
                _ if shared.failed.load(SeqCst) => Some(End::Stopped),
                NEVER => Some(End::Finished),
                next if next >= last => Some(End::TimeLimit),
                // A look at the clock is not needed at each window.
                _ if round.is_multiple_of(64) || options.limits.events.is_some() => watch.over(events),
                _ => None,
            };
            if let (Some(progress), true) = (options.progress, round.is_multiple_of(1024)) {
                progress(next, events);
            }
            let due = end.is_none() && round.is_multiple_of(64) && watch.is_due(shared.kept.load(SeqCst));
            shared.saving.store(due, SeqCst);
            if let Ok(mut place) = shared.end.lock() {
                *place = end;
            }
        });
        if !all || shared.end.lock().map_or(true, |end| end.is_some()) {
            return;
        }
        let next = shared.next.iter().map(|n| n.load(SeqCst)).min().unwrap_or(NEVER);
        if shared.saving.load(SeqCst) {
            let state = part.save();
            if let Ok(mut saved) = shared.saved.lock() {
                saved[me] = state;
            }
            let all = shared.barrier.wait(|| {
                let shards = shared.saved.lock().map_or_else(
                    |_| Err("a thread has failed".into()),
                    |mut saved| saved.iter_mut().map(|state| std::mem::replace(state, Ok(Vec::new()))).collect(),
                );
                let kept = watch.keep(shards, next);
                shared.kept.store(watch.done(), SeqCst);
                if let (Err(error), Ok(mut place)) = (kept, shared.failure.lock()) {
                    *place = Some(error);
                    shared.failed.store(true, SeqCst);
                }
            });
            if !all {
                return;
            }
            continue;
        }
        part.run(next.saturating_add(lookahead).min(last), u64::MAX);
        for (to, outbox) in part.outboxes.iter_mut().enumerate() {
            if !outbox.is_empty()
                && let Ok(mut mail) = shared.mail[me * shards + to].lock()
            {
                std::mem::swap(&mut *mail, outbox);
            }
        }
        if !shared.barrier.wait(|| {}) {
            return;
        }
        for from in 0..shards {
            let mut mail =
                shared.mail[from * shards + me].lock().map_or_else(|_| Vec::new(), |mut m| std::mem::take(&mut *m));
            mail.drain(..).for_each(|remote| part.take(remote));
        }
        round += 1;
    }
}
