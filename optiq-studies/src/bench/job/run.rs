//! The loop of a process: what its program orders becomes messages, and messages become what it is told.
//!
//! The programs are those of the simulator, with the same draws ([`optiq_sim::jobs::real_time`]). Ranks that have their samples
//! go on until the job ends: by itself when all have theirs, or when what has started it says so
//! ([`crate::real_jobs::control`]). Then no program is asked any more, and what is under way is received, so that nothing is left.
//!
//! A process that has nothing to do sleeps for a moment: where ranks share processors, those that poll take them from the kernel,
//! which moves the bytes. How late it wakes up is kept: latencies have that in them as well.

use super::clocks;
use super::messages::{Head, Kind, Messages};
use super::places::Places;
use crate::real_jobs::check_program;
use crate::real_jobs::control::{Control, POLL, wall_nanoseconds};
use crate::real_jobs::samples::{ProcessSamples, RealJobDocument};
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use optiq_net::{Network, NodeId};
use optiq_probe::measure::clocks::Offset;
use optiq_probe::measure::noise::WakeUps;
use optiq_sim::jobs::program_spec::{ProgramKind, ProgramSpec};
use optiq_sim::jobs::programs::build::build;
use optiq_sim::jobs::programs::samples::{JobReport, RankSamples, Sample};
use optiq_sim::jobs::programs::setting::JobSetting;
use optiq_sim::jobs::real_time::{RealTimeProcess, RealTimeSend};
use optiq_sim::time::Time;
use optiq_sim::{Model, Process};
use optiq_transport::Rank;
use optiq_transport::mpi::Communicator;
use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

/// Polls without anything new before a process sleeps, and for how long.
const POLLS: u32 = 4;
const NAP: Duration = Duration::from_micros(50);
/// A start that is further away than this by a rank's clock is none: the clocks are wrong.
const FARTHEST_START: u64 = 60_000_000_000;
/// From the decision to begin until a job begins that has no other starter.
const LEAD: Duration = Duration::from_millis(50);

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Request {
    /// What ranks do.
    pub program: ProgramSpec,
    /// The host of each process, ranks first; `None` for wherever they are.
    pub hosts: Option<Vec<String>>,
    /// How many of the processes are servers.
    pub servers: u32,
    /// Of all draws.
    pub seed: u64,
    /// What has started the job, if that decides on begin and end.
    pub control: Option<Control>,
}

/// Time since the start of the job, which is before it if nothing has begun.
struct Clock {
    start: Instant,
}

impl Clock {
    /// From nanoseconds since 1970 by the clock that all ranks have in common.
    ///
    /// # Errors
    /// A sentence, if that is not near.
    fn at(nanoseconds: u64, offset: Offset) -> Result<Self, String> {
        let (now, wall) = (Instant::now(), common_nanoseconds(offset));
        if nanoseconds.abs_diff(wall) > FARTHEST_START {
            let apart = nanoseconds.abs_diff(wall) as f64 / 1e9;
            let limit = FARTHEST_START as f64 / 1e9;
            return Err(format!(
                "the job begins {apart:.0} s from now by this rank's clock; clocks within {limit:.0} s of each other are expected"
            ));
        }
        let ahead = Duration::from_nanos(nanoseconds.saturating_sub(wall));
        let behind = Duration::from_nanos(wall.saturating_sub(nanoseconds));
        Ok(Self { start: (now + ahead).checked_sub(behind).unwrap_or(now) })
    }

    fn now(&self) -> Time {
        let since = Instant::now().saturating_duration_since(self.start);
        Time::picoseconds(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000))
    }
}

/// Nanoseconds since 1970 by rank 0's clock.
fn common_nanoseconds(offset: Offset) -> u64 {
    wall_nanoseconds().wrapping_add_signed(offset.nanoseconds)
}

/// Whether samples are differences of two ranks' clocks.
fn compares_clocks(program: &ProgramSpec) -> bool {
    match program.kind {
        ProgramKind::Open { .. }
        | ProgramKind::Pairs { .. }
        | ProgramKind::Uniform { .. }
        | ProgramKind::Tornado { .. }
        | ProgramKind::Broadcast { .. }
        | ProgramKind::Incast { puts: false, .. } => true,
        ProgramKind::Stencil { .. } => program.pace.interval.is_some(),
        _ => false,
    }
}

/// Runs a job; collective over the world. Rank 0 has the document.
///
/// # Errors
/// One sentence, in which ranks may differ: the job must be ended then.
pub fn run(
    world: &SimpleCommunicator,
    network: Option<&Network>,
    request: &Request,
) -> Result<Option<RealJobDocument>, String> {
    check_program(&request.program)?;
    // SAFETY: a valid communicator; the duplicate is dropped before MPI is finalised.
    let comm = unsafe { Communicator::duplicate(world.as_raw()) }.map_err(|e| e.to_string())?;
    let star;
    let network = match network {
        Some(network) => network,
        None => {
            star = Network::from_spec(&format!("star:{}", comm.size())).map_err(|e| e.to_string())?;
            &star
        }
    };
    let places = places(&comm, network, request)?;
    run_at(&comm, network, &places, request)
}

/// Runs a job whose processes are there; collective over the communicator, whose rank 0 has the document.
///
/// # Errors
/// As [`run`].
pub fn run_at(
    comm: &Communicator,
    network: &Network,
    places: &Places,
    request: &Request,
) -> Result<Option<RealJobDocument>, String> {
    let model = Model::for_network(network);
    let setting = JobSetting {
        network,
        model: &model,
        hosts: &places.hosts,
        servers: request.servers,
        first: 0,
        seed: request.seed,
        keep_going: true,
        planning_network: None,
    };
    let mut built = build(&request.program, &setting).map_err(|e| e.to_string())?;
    let me = places.ranks.iter().position(|&rank| rank == comm.rank().0).ok_or("a rank that is no process")?;
    let program = built.programs.swap_remove(me);
    let place = Process { host: places.hosts[me], job: 0 };
    let ranks = places.ranks.iter().map(|&rank| Rank(rank)).collect();
    // What has started the job runs all of it on one machine, whose clock it is.
    let offset = match request.control {
        None => clocks::against_first(comm, &wall_nanoseconds)?,
        Some(_) => Offset::default(),
    };
    let mut job = RealJob {
        process: RealTimeProcess::new(me as u32, place, request.seed, program),
        messages: Messages::new(comm, ranks, me as u32),
        report: built.report,
        control: request.control.as_ref().filter(|_| me == 0),
        clock: Clock { start: Instant::now() },
        offset,
        go: None,
        early: Vec::new(),
        done: 0,
        has_said_done: false,
        is_ended: false,
        looked: Instant::now(),
        sends: Vec::new(),
        wake_ups: WakeUps::default(),
    };
    job.connect()?;
    job.begin()?;
    let seconds = job.go_on()?;
    job.drain(comm)?;
    if request.control.is_none() {
        let clock = job.clock.start;
        let end = clocks::against_first(comm, &|| clock.elapsed().as_nanos() as u64)?;
        if compares_clocks(&request.program) {
            offset.kept_pace(end, seconds).map_err(|e| e.to_string())?;
        }
    }
    document(comm, (network, places), request, &job, seconds)
}

/// Where processes are; collective.
fn places(comm: &Communicator, network: &Network, request: &Request) -> Result<Places, String> {
    let name = comm.processor_name().map_err(|e| e.to_string())?;
    let mine = network.host(&name).map_or(u64::MAX, |host| u64::from(host.0));
    let all = comm.all_gather_equal(&[mine]).map_err(|e| e.to_string())?;
    let found: Vec<Option<NodeId>> = all.into_iter().map(|host| u32::try_from(host).ok().map(NodeId)).collect();
    Places::new(network, request.hosts.as_deref(), &found)
}

struct RealJob<'a> {
    process: RealTimeProcess,
    messages: Messages<'a>,
    report: JobReport,
    /// Of the first process.
    control: Option<&'a Control>,
    clock: Clock,
    /// From this machine's clock to the one that all have in common.
    offset: Offset,
    /// When the job begins, once the first process has said so.
    go: Option<u64>,
    /// What has come before this process began.
    early: Vec<Head>,
    /// Processes that are done, as far as the first process knows.
    done: u32,
    has_said_done: bool,
    is_ended: bool,
    /// When the first process last looked at the files of its control.
    looked: Instant,
    sends: Vec<RealTimeSend>,
    wake_ups: WakeUps,
}

impl RealJob<'_> {
    fn is_first(&self) -> bool {
        self.messages.process() == 0
    }

    /// Opens a connection to every other process, so that no operation pays for one.
    fn connect(&mut self) -> Result<(), String> {
        let (all, me) = (self.messages.processes(), self.messages.process());
        let mut missing = all - 1;
        for step in 1..all {
            self.messages.say((me + step) % all, Kind::Hello, 0, 0)?;
            // One after the other, or a large job would have all its connections opened at once.
            while missing > all - 1 - step {
                missing -= self.greetings()?;
                if missing > all - 1 - step {
                    sleep(NAP);
                }
            }
        }
        Ok(())
    }

    /// How many connections have been opened to this process since the last call. What others have sent is kept.
    fn greetings(&mut self) -> Result<u32, String> {
        let mut heads = Vec::new();
        self.receive(&mut heads)?;
        let hellos = heads.iter().filter(|head| head.kind == Kind::Hello).count() as u32;
        self.go = self.go.or(heads.iter().find(|head| head.kind == Kind::Go).map(|head| head.time));
        // A rank that begins earlier than this one may have sent.
        self.early.extend(heads.into_iter().filter(|head| !matches!(head.kind, Kind::Hello | Kind::Go)));
        Ok(hellos)
    }

    fn receive(&mut self, heads: &mut Vec<Head>) -> Result<(), String> {
        self.messages.announced()?;
        self.messages.arrived(heads)?;
        self.messages.left(&mut Vec::new())?;
        Ok(())
    }

    /// Agrees on when the job begins, and waits for it.
    fn begin(&mut self) -> Result<(), String> {
        let at = if self.is_first() {
            let at = self.decided_start()?;
            (1..self.messages.processes()).try_for_each(|to| self.messages.say(to, Kind::Go, 0, at))?;
            at
        } else {
            loop {
                if let Some(at) = self.go {
                    break at;
                }
                self.greetings()?;
                sleep(POLL);
            }
        };
        self.clock = Clock::at(at, self.offset)?;
        while Instant::now() < self.clock.start {
            self.greetings()?;
            let rest = self.clock.start.saturating_duration_since(Instant::now());
            sleep(rest.min(Duration::from_millis(1)));
        }
        Ok(())
    }

    fn decided_start(&self) -> Result<u64, String> {
        let Some(control) = self.control else { return Ok(common_nanoseconds(self.offset) + LEAD.as_nanos() as u64) };
        control.say_ready().map_err(|e| e.to_string())?;
        loop {
            if let Some(at) = control.go().map_err(|e| e.to_string())? {
                return Ok(at);
            }
            sleep(POLL);
        }
    }

    /// Until the job ends; how long that was, in seconds.
    fn go_on(&mut self) -> Result<f64, String> {
        let mut sends = std::mem::take(&mut self.sends);
        self.process.start(self.clock.now(), &mut sends);
        let mut idle = 0;
        while !self.is_ended {
            let now = self.clock.now();
            let mut moved = self.process.advance(now, &mut sends);
            moved |= !sends.is_empty();
            for send in sends.drain(..) {
                self.messages.post(&send)?;
            }
            moved |= self.exchange(&mut sends)?;
            if let Some(why) = self.report.failure() {
                return Err(why);
            }
            self.tell()?;
            if moved || !sends.is_empty() {
                idle = 0;
            } else {
                idle += 1;
                self.rest(idle);
            }
        }
        Ok(self.clock.now().seconds())
    }

    /// Tells the program what has arrived and what has left; whether anything has.
    fn exchange(&mut self, sends: &mut Vec<RealTimeSend>) -> Result<bool, String> {
        let (mut heads, mut left) = (std::mem::take(&mut self.early), Vec::new());
        let mut moved = self.messages.announced()?;
        self.messages.arrived(&mut heads)?;
        moved |= !heads.is_empty();
        for head in heads {
            let now = self.clock.now();
            match head.kind {
                Kind::Data | Kind::Confirmed | Kind::Put => {
                    if head.kind != Kind::Data {
                        self.messages.say(head.from, Kind::Confirmation, head.token, now.as_picoseconds())?;
                    }
                    if head.kind != Kind::Put {
                        self.process.received(now, head.delivery(now), sends);
                    }
                }
                Kind::Confirmation => self.process.sent(now, head.token, sends),
                Kind::Done => self.done += 1,
                Kind::End => self.is_ended = true,
                Kind::Hello | Kind::Go => {}
            }
        }
        moved |= self.messages.left(&mut left)?;
        for token in left {
            self.process.sent(self.clock.now(), token, sends);
        }
        Ok(moved)
    }

    /// Says that this process is done, and ends the job if all are, or if what has started it says so.
    fn tell(&mut self) -> Result<(), String> {
        if self.process.is_done() && !self.has_said_done {
            self.has_said_done = true;
            if self.is_first() {
                self.done += 1;
            } else {
                self.messages.say(0, Kind::Done, 0, 0)?;
            }
        }
        if !self.is_first() || self.is_ended {
            return Ok(());
        }
        let all_done = self.done == self.messages.processes();
        let end = match self.control {
            None => all_done,
            Some(_) if self.looked.elapsed() < POLL => false,
            Some(control) => {
                self.looked = Instant::now();
                if all_done && !control.is_done() {
                    control.say_done().map_err(|e| e.to_string())?;
                }
                control.is_ended()
            }
        };
        if end {
            self.is_ended = true;
            (1..self.messages.processes()).try_for_each(|to| self.messages.say(to, Kind::End, 0, 0))?;
        }
        Ok(())
    }

    /// Leaves the processor to others, for long enough but not beyond what is due.
    fn rest(&mut self, idle: u32) {
        if idle <= POLLS {
            return yield_now();
        }
        let due = self.process.next().map(|next| next.saturating_sub(self.clock.now()));
        let due = due.map_or(NAP, |due| Duration::from_nanos(due.as_picoseconds() / 1000));
        let (nap, asleep) = (due.min(NAP), Instant::now());
        sleep(nap);
        if nap > Duration::ZERO {
            self.wake_ups.add(asleep.elapsed().saturating_sub(nap).as_secs_f64());
        }
    }

    /// Receives what is under way.
    fn drain(&mut self, comm: &Communicator) -> Result<(), String> {
        let mut by_rank = vec![0; self.messages.processes() as usize];
        for (&rank, &sent) in self.messages.ranks().iter().zip(&self.messages.sent) {
            by_rank[rank.0 as usize] = sent;
        }
        // What is under way cannot be received meanwhile, and need not be: MPI's own messages pass it.
        let words = comm.all_to_all(&by_rank).map_err(|e| e.to_string())?;
        let expected: Vec<u64> = self.messages.ranks().iter().map(|rank| words[rank.0 as usize]).collect();
        while !self.messages.is_quiet(&expected) {
            self.receive(&mut Vec::new())?;
            sleep(NAP);
        }
        comm.barrier().map_err(|e| e.to_string())
    }
}

/// What all processes have measured; collective, and rank 0 has it.
fn document(
    comm: &Communicator,
    (network, places): (&Network, &Places),
    request: &Request,
    job: &RealJob<'_>,
    seconds: f64,
) -> Result<Option<RealJobDocument>, String> {
    let mine = job.report.rank(job.messages.process());
    let mut words = vec![job.messages.sent.iter().sum(), job.messages.bytes_sent];
    words.push(mine.complete.map_or(u64::MAX, Time::as_picoseconds));
    let late = &job.wake_ups;
    words.push(late.count);
    words.extend([late.mean_seconds, late.least_seconds, late.most_seconds].map(f64::to_bits));
    words.extend(mine.samples.iter().flat_map(|s| [s.start.as_picoseconds(), s.duration.as_picoseconds()]));
    let (counts, all) = comm.all_gather(&words).map_err(|e| e.to_string())?;
    if comm.rank().0 != 0 {
        return Ok(None);
    }
    let mut rest = all.as_slice();
    let of_rank: Vec<&[u64]> = counts
        .iter()
        .map(|&count| {
            let (these, others) = rest.split_at(count);
            rest = others;
            these
        })
        .collect();
    let mut document = RealJobDocument {
        program: request.program.to_string(),
        topology: network.spec().to_owned(),
        seed: request.seed,
        ranks: places.hosts.len() as u32 - request.servers,
        servers: request.servers,
        messages: 0,
        message_bytes: 0,
        seconds,
        processes: Vec::new(),
    };
    for (&rank, &host) in places.ranks.iter().zip(&places.hosts) {
        let [messages, bytes, complete, count, mean, least, most, samples @ ..] = of_rank[rank as usize] else {
            return Err(format!("rank {rank} has said nothing of what it has measured"));
        };
        document.messages += messages;
        document.message_bytes += bytes;
        let time = |word: u64| Time::picoseconds(word);
        let sample = |pair: &[u64]| Sample { start: time(pair[0]), duration: time(pair[1]) };
        let complete = (*complete != u64::MAX).then(|| time(*complete));
        let samples = RankSamples { samples: samples.chunks_exact(2).map(sample).collect(), complete };
        let [mean_seconds, least_seconds, most_seconds] = [mean, least, most].map(|&bits| f64::from_bits(bits));
        let wake_ups = WakeUps { count: *count, mean_seconds, least_seconds, most_seconds };
        document.processes.push(ProcessSamples::new(network.name(NodeId(host)), &samples, wake_ups));
    }
    Ok(Some(document))
}
