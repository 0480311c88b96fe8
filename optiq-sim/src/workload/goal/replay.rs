//! A schedule in the simulator: rank `r` on host `r`.
//!
//! An operation begins when its dependencies are met and, unless it is a receive, when its processor is free,
//! which does one after the other in the order in which they became ready (then in that of the file). A calculation ends
//! when the processor has spent its time. A send ends when its last byte has left memory; above the model's `eager_bytes`
//! it sends a request, and its bytes follow when a receive for it has begun, as in MPI's rendezvous, so that two ranks that
//! both send before they receive come to a halt here too. A receive ends when its message has arrived and been dealt with.
//!
//! Processor 0 is the host's processor in the model: the overheads of all messages are spent there, and what arrives while
//! it calculates waits. Other processors only calculate. Which interface a message takes is up to the network.

use super::matching::{Arrival, Matching};
use super::schedule::{Goal, OperationKind};
use crate::engine::limits::End;
use crate::error::SimError;
use crate::model::Model;
use crate::nic::program::{Delivery, Host, Notice, Program};
use crate::options::RunOptions;
use crate::outcome::Outcome;
use crate::simulation::simulate;
use crate::time::Time;
use bincode::{Decode, Encode};
use optiq_net::Network;
use optiq_trace::codec;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

/// What a schedule took.
pub struct Replayed {
    /// When each rank's last operation ended: [`Time::ZERO`] without operations; of those so far, if a limit came first.
    pub finish: Vec<Time>,
    /// Messages that no receive has taken, if the schedule came to its end.
    pub unreceived: Vec<Unreceived>,
    /// All that the simulation found. Its messages and bytes include the questions and answers of large messages.
    pub outcome: Outcome,
}

impl Replayed {
    /// When all ranks were done.
    pub fn time(&self) -> Time {
        self.finish.iter().copied().max().unwrap_or(Time::ZERO)
    }

    /// Whether it came to its end.
    pub fn finished(&self) -> bool {
        self.outcome.end == End::Finished
    }
}

/// A message that was sent and that no rank has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreceived {
    /// The rank that sent it.
    pub source: u32,
    /// The line of the send.
    pub line: u32,
    /// The rank to which it was sent.
    pub destination: u32,
    /// Its size.
    pub bytes: u64,
    /// Its tag.
    pub tag: u32,
}

impl fmt::Display for Unreceived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, line, destination, bytes, tag } = self;
        write!(f, "rank {source} line {line}: rank {destination} has no receive for {bytes} bytes with tag {tag}")
    }
}

/// Simulates a schedule.
///
/// # Errors
/// As [`simulate`]; a network with fewer hosts than the schedule has ranks; a message that is larger than what is received;
/// [`SimError::Deadlock`] with who waits for whom.
pub fn replay(network: &Network, model: &Model, goal: &Goal, options: &RunOptions<'_>) -> Result<Replayed, SimError> {
    if goal.ranks() as usize > network.hosts() {
        let text = format!("a schedule of {} ranks; the network has {} hosts", goal.ranks(), network.hosts());
        return Err(SimError::Workload(text));
    }
    model.check().map_err(SimError::Model)?;
    let states: Vec<Arc<Mutex<State>>> =
        (0..goal.ranks()).map(|rank| Arc::new(Mutex::new(State::new(goal, rank, model)))).collect();
    let programs = states.iter().map(|state| Box::new(Replay(Arc::clone(state))) as Box<dyn Program>).collect();
    // The rendezvous of large messages is here, where it is known which receive they are for.
    let mut model = model.clone();
    model.host.eager_bytes = u64::MAX;
    let options = RunOptions { workload: options.fingerprint_of(goal), ..*options };
    let outcome = simulate(network, &model, programs, &options);
    if let Some(failure) = states.iter().find_map(|state| state.lock().failure.take()) {
        // It says more than the deadlock does.
        return Err(SimError::Trace(failure));
    }
    let outcome = outcome?;
    let finish = states.iter().map(|state| state.lock().ended).collect();
    let mut unreceived = Vec::new();
    if outcome.end == End::Finished {
        states.iter().for_each(|state| state.lock().left_over(&mut unreceived));
    }
    Ok(Replayed { finish, unreceived, outcome })
}

/// The kinds of messages between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageKind {
    /// All of it.
    Eager,
    /// Requests permission for a large message.
    Request,
    /// Grants it.
    Grant,
    /// The bytes of a message that was granted.
    Bulk,
}

/// Tokens: what it is, its number among those of its source with its tag, and the sender's operation. Numbers are below
/// [`super::schedule::MAX_OPERATIONS`].
fn token(what: MessageKind, number: u32, operation: u32) -> u64 {
    (what as u64) << 62 | u64::from(number) << 32 | u64::from(operation)
}

fn parts(token: u64) -> (MessageKind, u32, u32) {
    let what = match token >> 62 {
        0 => MessageKind::Eager,
        1 => MessageKind::Request,
        2 => MessageKind::Grant,
        _ => MessageKind::Bulk,
    };
    (what, (token >> 32) as u32 & 0x3fff_ffff, token as u32)
}

/// A token of [`Program::woken`] that is no operation: the processor has sent what it was to send.
const FREE: u64 = u64::MAX;
/// No calculation ends later than this: 53 days. Sums of times then stay far below 2^64.
const LATEST: Time = Time::picoseconds(1 << 62);

/// What runs on one processor of a rank.
#[derive(Default, Encode, Decode)]
struct Cpu {
    is_busy: bool,
    ready: VecDeque<u32>,
}

struct State {
    goal: Goal,
    rank: u32,
    eager_bytes: u64,
    control_bytes: u64,
    /// Per operation, how many dependencies are not met.
    waits: Vec<u32>,
    left: usize,
    /// Operations whose dependencies are met, before they have been looked at.
    ready: VecDeque<u32>,
    cpus: BTreeMap<u8, Cpu>,
    /// How many messages were sent to a rank with a tag.
    sent: BTreeMap<(u32, u32), u32>,
    /// Sends that wait for a grant.
    requested: BTreeSet<u32>,
    matching: Matching,
    /// Receives whose messages were granted, by source and its operation.
    granted: BTreeMap<(u32, u32), u32>,
    ended: Time,
    failure: Option<String>,
}

impl State {
    fn new(goal: &Goal, rank: u32, model: &Model) -> Self {
        let waits = goal.ranks[rank as usize].waits();
        Self {
            rank,
            eager_bytes: model.host.eager_bytes,
            control_bytes: model.host.control_bytes,
            left: waits.len(),
            ready: (0..waits.len() as u32).filter(|&i| waits[i as usize] == 0).collect(),
            waits,
            cpus: BTreeMap::new(),
            sent: BTreeMap::new(),
            requested: BTreeSet::new(),
            matching: Matching::new(goal.operations(rank).iter().map(|o| o.kind)),
            granted: BTreeMap::new(),
            ended: Time::ZERO,
            failure: None,
            goal: goal.clone(),
        }
    }

    /// Does all that can be done now.
    fn drive(&mut self, host: &mut Host<'_>) {
        // A trace that has gone wrong does nothing more.
        while self.failure.is_none() {
            if let Some(operation) = self.ready.pop_front() {
                let found = self.goal.operations(self.rank)[operation as usize];
                match found.kind {
                    OperationKind::Recv { from, tag, .. } => {
                        self.begun(operation);
                        if let Some(arrival) = self.matching.post(operation, from, tag) {
                            self.matched(host, operation, arrival);
                        }
                    }
                    _ => self.cpus.entry(found.cpu).or_default().ready.push_back(operation),
                }
                continue;
            }
            let mut free = self.cpus.iter_mut().filter(|(_, cpu)| !cpu.is_busy);
            let Some((cpu, operation)) = free.find_map(|(&n, cpu)| Some((n, cpu.ready.pop_front()?))) else { return };
            self.begin(host, cpu, operation);
        }
    }

    /// A send or a calculation has its processor.
    fn begin(&mut self, host: &mut Host<'_>, cpu: u8, operation: u32) {
        self.begun(operation);
        let mut busy = cpu == 0;
        match self.goal.operations(self.rank)[operation as usize].kind {
            OperationKind::Calc { nanoseconds } => {
                let time = Time::picoseconds(nanoseconds.saturating_mul(1000));
                if host.now().saturating_add(time) > LATEST {
                    let Self { rank, .. } = self;
                    let line = self.goal.operations(*rank)[operation as usize].line;
                    let text = format!("rank {rank} line {line}: found a calculation of {nanoseconds} ns");
                    self.failure = Some(format!(
                        "{text}; an end before {} s of simulated time is expected",
                        LATEST / Time::SECOND
                    ));
                    return;
                }
                busy = true;
                match cpu {
                    0 => host.work_then(time, u64::from(operation)),
                    _ => host.wake_at(host.now() + time, u64::from(operation)),
                }
            }
            OperationKind::Send { to, bytes, tag } => {
                let number = self.sent.entry((to, tag)).or_default();
                if bytes > self.eager_bytes {
                    self.requested.insert(operation);
                    host.send(to, self.control_bytes, token(MessageKind::Request, *number, operation), Notice::None);
                } else {
                    host.send(to, bytes, token(MessageKind::Eager, *number, operation), Notice::Left);
                }
                *number += 1;
                if busy {
                    host.work_then(Time::ZERO, FREE);
                }
            }
            OperationKind::Recv { .. } => {}
        }
        self.cpus.entry(cpu).or_default().is_busy = busy;
    }

    fn begun(&mut self, operation: u32) {
        self.release(operation, true);
    }

    fn end(&mut self, host: &Host<'_>, operation: u32) {
        self.left -= 1;
        self.ended = host.now();
        self.release(operation, false);
    }

    /// What waited for an operation's start, or its end, need not any more.
    fn release(&mut self, operation: u32, is_start: bool) {
        for edge in self.goal.ranks[self.rank as usize].edges_on(operation).iter().filter(|e| e.is_start == is_start) {
            let waits = &mut self.waits[edge.operation as usize];
            *waits -= 1;
            if *waits == 0 {
                self.ready.push_back(edge.operation);
            }
        }
    }

    /// A receive and a message, or its question, have found each other.
    fn matched(&mut self, host: &mut Host<'_>, operation: u32, arrival: Arrival) {
        let receive = self.goal.operations(self.rank)[operation as usize];
        if let OperationKind::Recv { bytes, .. } = receive.kind
            && arrival.bytes > bytes
        {
            let (rank, line, source) = (self.rank, receive.line, arrival.source);
            let sender = self.goal.operations(source)[arrival.operation as usize].line;
            let found = format!("found {} bytes from rank {source} (line {sender})", arrival.bytes);
            let text = format!("rank {rank} line {line}: {found}; a message of at most {bytes} bytes is expected");
            self.failure.get_or_insert(text);
        } else if arrival.is_request {
            self.granted.insert((arrival.source, arrival.operation), operation);
            let answer = token(MessageKind::Grant, 0, arrival.operation);
            host.send(arrival.source, self.control_bytes, answer, Notice::None);
        } else {
            self.end(host, operation);
        }
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        let (what, number, operation) = parts(delivery.token);
        let source = delivery.from;
        match what {
            MessageKind::Eager | MessageKind::Request => {
                let sender = self.goal.operations(source)[operation as usize];
                if let OperationKind::Send { tag, bytes, .. } = sender.kind {
                    let is_request = what == MessageKind::Request;
                    let mut matches = Vec::new();
                    self.matching.arrive(Arrival { source, tag, number, bytes, operation, is_request }, &mut matches);
                    for (operation, arrival) in matches {
                        self.matched(host, operation, arrival);
                    }
                }
            }
            MessageKind::Grant => {
                self.requested.remove(&operation);
                if let OperationKind::Send { to, bytes, .. } = self.goal.operations(self.rank)[operation as usize].kind
                {
                    host.send(to, bytes, token(MessageKind::Bulk, 0, operation), Notice::Left);
                }
            }
            MessageKind::Bulk => {
                if let Some(receive) = self.granted.remove(&(source, operation)) {
                    self.end(host, receive);
                }
            }
        }
        self.drive(host);
    }

    fn waits_for(&self) -> Option<String> {
        if self.left == 0 {
            return None;
        }
        let operations = self.goal.operations(self.rank);
        let or_any = |number: Option<u32>| number.map_or("any".into(), |n| n.to_string());
        let receives = self.matching.waiting().into_iter().chain(self.granted.values().copied());
        let list: Vec<String> = receives
            .chain(self.requested.iter().copied())
            .map(|i| {
                let line = operations[i as usize].line;
                let what = match operations[i as usize].kind {
                    OperationKind::Recv { from, bytes, tag } => {
                        format!("a message of {bytes} bytes from rank {}, tag {}", or_any(from), or_any(tag))
                    }
                    OperationKind::Send { to, bytes, tag } => format!("rank {to} to receive {bytes} bytes, tag {tag}"),
                    OperationKind::Calc { .. } => "a processor".into(),
                };
                format!("{what} (rank {} line {line})", self.rank)
            })
            .collect();
        match &list[..] {
            [] => Some(format!("{} operations to begin (rank {})", self.left, self.rank)),
            [one] => Some(one.clone()),
            [one, two] => Some(format!("{one} and {two}")),
            [one, two, ..] => Some(format!("{one}, {two} and {} more", list.len() - 2)),
        }
    }

    fn left_over(&self, list: &mut Vec<Unreceived>) {
        let before = list.len();
        list.extend(self.matching.left_over().map(|a| Unreceived {
            source: a.source,
            line: self.goal.operations(a.source)[a.operation as usize].line,
            destination: self.rank,
            bytes: a.bytes,
            tag: a.tag,
        }));
        list[before..].sort_by_key(|u| (u.source, u.line));
    }
}

/// A rank. Its state is looked at when the simulation is over.
pub(crate) struct Replay(Arc<Mutex<State>>);

impl Replay {
    /// A rank of a schedule among other jobs. The simulated host's own rendezvous carries its large messages: it does not
    /// wait for a receive.
    pub(crate) fn among_jobs(goal: &Goal, rank: u32, model: &Model) -> Self {
        let state = State { eager_bytes: u64::MAX, ..State::new(goal, rank, model) };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Whether all operations have ended.
    pub(crate) fn is_done(&self) -> bool {
        self.0.lock().left == 0
    }

    /// What is wrong with the schedule, once.
    pub(crate) fn take_failure(&self) -> Option<String> {
        self.0.lock().failure.take()
    }
}

impl Program for Replay {
    fn start(&mut self, host: &mut Host<'_>) {
        self.0.lock().drive(host);
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        self.0.lock().received(host, delivery);
    }

    fn sent(&mut self, host: &mut Host<'_>, token: u64) {
        let mut state = self.0.lock();
        let (_, _, operation) = parts(token);
        state.end(host, operation);
        state.drive(host);
    }

    fn woken(&mut self, host: &mut Host<'_>, token: u64) {
        let mut state = self.0.lock();
        let cpu = match token {
            FREE => 0,
            operation => {
                let operation = operation as u32;
                let cpu = state.goal.operations(state.rank)[operation as usize].cpu;
                state.end(host, operation);
                cpu
            }
        };
        state.cpus.entry(cpu).or_default().is_busy = false;
        state.drive(host);
    }

    fn waits_for(&self) -> Option<String> {
        self.0.lock().waits_for()
    }

    fn save(&self) -> Option<Vec<u8>> {
        let State { waits, left, ready, cpus, sent, requested, matching, granted, ended, failure, .. } =
            &*self.0.lock();
        Some(codec::encode(&((waits, left, ready, cpus, sent), (requested, matching, granted, ended, failure))))
    }

    fn restore(&mut self, _: u32, state: &[u8]) -> Result<(), String> {
        let (a, b) = codec::decode(state)?;
        let mut s = self.0.lock();
        let s = &mut *s;
        (s.waits, s.left, s.ready, s.cpus, s.sent) = a;
        (s.requested, s.matching, s.granted, s.ended, s.failure) = b;
        Ok(())
    }
}
