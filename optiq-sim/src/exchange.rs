//! Exchanges between ranks: the chunk scheduler of optiq-transport, unchanged, and MPI's own algorithms beside it.
//!
//! One rank runs on each host, with the host's number. A chunk is a message whose receiver confirms it, as an MPI send in
//! synchronous mode, so that what is under way is known; a credit is a message of control size.

use crate::SimError;
use crate::checkpoint;
pub use crate::model::Carry;
use crate::model::Model;
use crate::program::{Delivery, Host, Notice, Program};
use crate::simulation::{End, Outcome, RunOptions, simulate};
use crate::time::{Rate, Time};
use bincode::{Decode, Encode};
use optiq_net::Network;
use optiq_transport::{Order, Path, PathId, Schedule, ScheduleOptions, Scheduler, TransportError};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Bytes from one host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its source.
    pub source: u32,
    /// Its destination.
    pub destination: u32,
    /// Its size.
    pub bytes: u64,
}

/// How an exchange is carried out.
#[derive(Clone, Debug)]
pub enum Method {
    /// Along paths of hosts, by the chunk scheduler.
    Paths {
        /// The paths.
        paths: Vec<Path>,
        /// Chunks, windows, budget.
        options: ScheduleOptions,
        /// Which of a host's queues goes first.
        order: Order,
        /// How chunks travel.
        carry: Carry,
    },
    /// All messages at once, to the next host first: Open MPI's `basic_linear`, and what Blue Gene/Q does.
    Linear,
    /// In as many steps as there are hosts; in step `i` each sends to the `i`-th after it, receives from the `i`-th before it
    /// and waits for both, also where there are no bytes: `pairwise` of Open MPI and MPICH.
    Pairwise,
}

/// What an exchange took.
pub struct Exchanged {
    /// When each host was done.
    pub done: Vec<Time>,
    /// All that the simulation found.
    pub outcome: Outcome,
}

impl Exchanged {
    /// When all hosts were done.
    pub fn time(&self) -> Time {
        self.done.iter().copied().max().unwrap_or(0)
    }
}

/// What programs report: when they were done, and the first thing that went wrong.
#[derive(Default)]
struct Report {
    done: Vec<Time>,
    failure: Option<TransportError>,
}

type Shared = Arc<Mutex<Report>>;

/// Simulates an exchange.
///
/// # Errors
/// As [`simulate`]; what the chunk scheduler reports; messages between hosts that are not there.
pub fn exchange(
    network: &Network,
    model: &Model,
    messages: &[Message],
    method: &Method,
    options: &RunOptions<'_>,
) -> Result<Exchanged, SimError> {
    let hosts = network.hosts() as u32;
    if let Some(m) = messages.iter().find(|m| m.source.max(m.destination) >= hosts) {
        let text = format!("a message from host {} to host {}; there are {hosts} hosts", m.source, m.destination);
        return Err(SimError::Workload(text));
    }
    let report: Shared = Arc::new(Mutex::new(Report { done: vec![0; hosts as usize], failure: None }));
    let programs = match method {
        Method::Paths { paths, options, order, carry } => {
            chunked(hosts, model, paths, options, (*order, *carry), &report)?
        }
        Method::Linear | Method::Pairwise => plain(hosts, messages, *method == Method::Pairwise, &report),
    };
    let options = RunOptions { workload: checkpoint::workload(options, &(method, messages)), ..*options };
    let outcome = simulate(network, model, programs, &options);
    let Report { done, failure } = std::mem::take(&mut *report.lock());
    match failure {
        // It has more to say than that nothing goes on.
        Some(failure) => Err(failure.into()),
        None => Ok(Exchanged { done, outcome: outcome? }),
    }
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Exchanged {
    /// Whether it came to its end.
    pub fn finished(&self) -> bool {
        self.outcome.end == End::Finished
    }
}

fn chunked(
    hosts: u32,
    model: &Model,
    paths: &[Path],
    options: &ScheduleOptions,
    (order, carry): (Order, Carry),
    report: &Shared,
) -> Result<Vec<Box<dyn Program>>, SimError> {
    let schedules = Schedule::all(hosts, paths, options)?;
    let forward = model.host.forward_overhead_picoseconds;
    let copies = model.host.copies_forwarded && model.host.copy_bytes_per_second > 0.0;
    let copy = if copies { Rate::bytes_per_second(model.host.copy_bytes_per_second) } else { Rate::INFINITE };
    let control = model.host.control_bytes;
    let make = |schedule: Schedule| -> Box<dyn Program> {
        let schedule = Arc::new(schedule);
        Box::new(Chunks {
            scheduler: Scheduler::new(Arc::clone(&schedule), order),
            schedule,
            arrived: InOrder::default(),
            confirmed: InOrder::default(),
            forward,
            copy,
            control,
            carry,
            over: None,
            report: Arc::clone(report),
        })
    };
    Ok(schedules.into_iter().map(make).collect())
}

/// The chunks of each path in order, as MPI has messages: a short one that needs not ask may overtake a longer one, and under
/// adaptive routing anything may.
#[derive(Default, Encode, Decode)]
struct InOrder {
    early: BTreeSet<(PathId, u64)>,
    next: BTreeMap<PathId, u64>,
}

impl InOrder {
    /// The chunks that are due when this one is there.
    fn due(&mut self, path: PathId, sequence: u64) -> Range<u64> {
        self.early.insert((path, sequence));
        let next = self.next.entry(path).or_default();
        let first = *next;
        while self.early.remove(&(path, *next)) {
            *next += 1;
        }
        first..*next
    }
}

/// A rank with a chunk scheduler.
struct Chunks {
    schedule: Arc<Schedule>,
    scheduler: Scheduler<Arc<Schedule>>,
    arrived: InOrder,
    confirmed: InOrder,
    forward: Time,
    copy: Rate,
    control: u64,
    carry: Carry,
    /// When it was done.
    over: Option<Time>,
    report: Shared,
}

/// Tokens: the path, a number of up to 31 bits, and whether it is a credit.
fn token(path: PathId, number: u64, credit: bool) -> u64 {
    u64::from(path) << 32 | (number & 0x7fff_ffff) << 1 | u64::from(credit)
}

fn parts(token: u64) -> (PathId, u64, bool) {
    ((token >> 32) as PathId, token >> 1 & 0x7fff_ffff, token & 1 == 1)
}

impl Chunks {
    /// As `Running::step` does over a real transport.
    fn drive(&mut self, host: &mut Host<'_>) {
        while self.scheduler.poll_post().is_some() {}
        while let Some(credit) = self.scheduler.poll_credit() {
            host.send(credit.to, self.control, token(credit.path, credit.chunks, true), Notice::None);
        }
        while let Some(transmit) = self.scheduler.poll_transmit() {
            let header = transmit.header;
            if header.source != host.number() {
                host.work(self.forward + self.copy.time(header.bytes));
            }
            let notice = if self.carry == Carry::OneSided { Notice::Put } else { Notice::Received };
            host.send(transmit.to, header.bytes, token(header.path, header.sequence, false), notice);
        }
        if self.scheduler.is_done() && self.over.is_none() {
            self.over = Some(host.now());
            self.report.lock().done[host.number() as usize] = host.now();
        }
    }

    fn check(&self, result: Result<(), TransportError>) {
        if let Err(error) = result {
            self.report.lock().failure.get_or_insert(error);
        }
    }
}

impl Program for Chunks {
    fn start(&mut self, host: &mut Host<'_>) {
        self.drive(host);
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        let (path, number, credit) = parts(delivery.token);
        if credit {
            let result = self.scheduler.handle_credit(path, number);
            self.check(result);
        } else {
            for sequence in self.arrived.due(path, number) {
                let result = self.scheduler.handle_received(path, sequence);
                self.check(result);
            }
        }
        self.drive(host);
    }

    fn sent(&mut self, host: &mut Host<'_>, what: u64) {
        let (path, number, _) = parts(what);
        for sequence in self.confirmed.due(path, number) {
            let result = self.scheduler.handle_sent(path, sequence);
            self.check(result);
            let hop = self.schedule.find(path).map(|i| self.schedule.hops()[i]);
            if let (Carry::OneSided, Some(to)) = (self.carry, hop.and_then(|hop| hop.outgoing)) {
                // It is there.
                host.send(to.to, self.control, token(path, sequence, false), Notice::None);
            }
        }
        self.drive(host);
    }

    fn waits_for(&self) -> Option<String> {
        (self.over.is_none() && !self.schedule.hops().is_empty()).then(|| self.scheduler.waiting_for())
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(checkpoint::encode(&(self.scheduler.save(), &self.arrived, &self.confirmed, self.over)))
    }

    fn restore(&mut self, host: u32, state: &[u8]) -> Result<(), String> {
        let (scheduler, arrived, confirmed, over): (Vec<u8>, _, _, _) = checkpoint::decode(state)?;
        self.scheduler.restore(&scheduler).map_err(|e| e.to_string())?;
        (self.arrived, self.confirmed, self.over) = (arrived, confirmed, over);
        self.report.lock().done[host as usize] = over.unwrap_or(0);
        Ok(())
    }
}

fn plain(hosts: u32, messages: &[Message], pairwise: bool, report: &Shared) -> Vec<Box<dyn Program>> {
    let mut sends: Vec<Vec<(u32, u64)>> = vec![Vec::new(); hosts as usize];
    let mut expected = vec![0; hosts as usize];
    for m in messages.iter().filter(|m| m.bytes > 0) {
        sends[m.source as usize].push(((m.destination + hosts - m.source) % hosts, m.bytes));
        expected[m.destination as usize] += 1;
    }
    let make = |(mut sends, missing): (Vec<(u32, u64)>, u64)| -> Box<dyn Program> {
        // To itself last, as a copy; the others by how far on they are.
        sends.sort_by_key(|s| s.0);
        let report = Arc::clone(report);
        match pairwise {
            true => Box::new(Steps { hosts, sends, step: 0, open: 0, early: BTreeSet::new(), over: None, report }),
            false => Box::new(AllAtOnce { hosts, missing, unsent: sends.len() as u64, sends, over: 0, report }),
        }
    };
    sends.into_iter().zip(expected).map(make).collect()
}

/// A rank of [`Method::Linear`].
struct AllAtOnce {
    hosts: u32,
    /// How far on, and how many bytes.
    sends: Vec<(u32, u64)>,
    missing: u64,
    unsent: u64,
    /// When it was done.
    over: Time,
    report: Shared,
}

impl AllAtOnce {
    fn look(&mut self, host: &Host<'_>) {
        if self.missing == 0 && self.unsent == 0 {
            self.over = host.now();
            self.report.lock().done[host.number() as usize] = host.now();
        }
    }
}

impl Program for AllAtOnce {
    fn start(&mut self, host: &mut Host<'_>) {
        for &(by, bytes) in &self.sends {
            host.send((host.number() + by) % self.hosts, bytes, 0, Notice::Left);
        }
    }

    fn received(&mut self, host: &mut Host<'_>, _: Delivery) {
        self.missing -= 1;
        self.look(host);
    }

    fn sent(&mut self, host: &mut Host<'_>, _: u64) {
        self.unsent -= 1;
        self.look(host);
    }

    fn waits_for(&self) -> Option<String> {
        let Self { missing, unsent, .. } = self;
        (missing + unsent > 0).then(|| format!("{missing} messages to arrive and {unsent} to leave"))
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(checkpoint::encode(&(self.missing, self.unsent, self.over)))
    }

    fn restore(&mut self, host: u32, state: &[u8]) -> Result<(), String> {
        (self.missing, self.unsent, self.over) = checkpoint::decode(state)?;
        self.report.lock().done[host as usize] = self.over;
        Ok(())
    }
}

/// A rank of [`Method::Pairwise`].
struct Steps {
    hosts: u32,
    sends: Vec<(u32, u64)>,
    step: u32,
    /// What the step still waits for.
    open: u32,
    /// Messages of later steps that are there, by step.
    early: BTreeSet<u32>,
    /// When it was done.
    over: Option<Time>,
    report: Shared,
}

impl Steps {
    fn next(&mut self, host: &mut Host<'_>) {
        while self.open == 0 && self.over.is_none() {
            self.step += 1;
            if self.step >= self.hosts {
                self.over = Some(host.now());
                self.report.lock().done[host.number() as usize] = host.now();
                return;
            }
            let found = self.sends.binary_search_by_key(&self.step, |s| s.0);
            let bytes = found.map_or(0, |i| self.sends[i].1);
            self.open = 1 + u32::from(!self.early.remove(&self.step));
            host.send((host.number() + self.step) % self.hosts, bytes, u64::from(self.step), Notice::Left);
        }
    }
}

impl Program for Steps {
    fn start(&mut self, host: &mut Host<'_>) {
        self.next(host);
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        let step = delivery.token as u32;
        if step == self.step {
            self.open -= 1;
            self.next(host);
        } else {
            self.early.insert(step);
        }
    }

    fn sent(&mut self, host: &mut Host<'_>, _: u64) {
        self.open -= 1;
        self.next(host);
    }

    fn waits_for(&self) -> Option<String> {
        self.over.is_none().then(|| format!("step {} of {}", self.step, self.hosts - 1))
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(checkpoint::encode(&(self.step, self.open, &self.early, self.over)))
    }

    fn restore(&mut self, host: u32, state: &[u8]) -> Result<(), String> {
        (self.step, self.open, self.early, self.over) = checkpoint::decode(state)?;
        self.report.lock().done[host as usize] = self.over.unwrap_or(0);
        Ok(())
    }
}
