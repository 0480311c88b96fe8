//! Hosts: the processor, the protocols of messages, and the queues between memory and network.
//!
//! Each process ([`super::layout`]) has a processor of its own, a core of its host; the queues are the host's. A processor does
//! one thing at a time: what a message costs it ([`crate::model::HostModel`]) delays what comes after. A
//! message up to `eager_bytes` is sent eagerly; a larger one by rendezvous: its bytes follow when the receiver has granted a
//! request. What is sent waits in the queue of the channel that its route begins with, and where hosts are joined directly, of
//! the link that follows. Queues are served round robin, and so are the pairs of processes in each of them, packet by packet;
//! messages from one process to another go in order, as on a queue pair. `shard/protocol.rs` has the protocols.

use super::layout::{Layout, Process};
use super::program::{Command, Delivery, Program};
use super::round_robin::{OutgoingMessage, PairRoundRobin};
use crate::engine::packet::Label;
use crate::engine::prefetch::prefetch;
use crate::engine::store::Store;
use crate::model::Model;
use crate::router::fabric::Fabric;
use crate::time::Time;
use bincode::{Decode, Encode};
use optiq_net::random::SplitMix64;
use optiq_trace::codec;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What a process is going to do at some time.
#[derive(Clone, Debug, Encode, Decode)]
pub(crate) enum Action {
    Start,
    Inject(OutgoingMessage),
    Deliver(Delivery),
    /// As `Deliver`, when the processor is free: another process of the host has made a copy.
    Copied(Delivery),
    Woken(u64),
    Sent(u64),
    /// Nothing: the place is free.
    Free,
}

/// A process. What every message needs comes first.
#[repr(C, align(64))]
pub(crate) struct ProcessState {
    pub(crate) busy_until: Time,
    pub(crate) next_message: u32,
    next_event: u32,
    pub(crate) random: SplitMix64,
    pub(crate) program: Box<dyn Program>,
    pub(crate) place: Process,
    /// What it sends is part of a warm-up.
    pub(crate) warms_up: bool,
    /// When it first said that it was done; [`Time::NEVER`] if it has not.
    pub(crate) done: Time,
    /// Of messages of several packets, what has not arrived: by the process that sent them and number.
    incoming: BTreeMap<(u32, u32), u64>,
    /// Messages that wait for a grant, by number.
    pub(crate) requested: BTreeMap<u32, OutgoingMessage>,
    /// Who grants one by one: the message that was granted last has not arrived.
    pub(crate) pulls: bool,
    /// And from which process on the next one is taken that has asked.
    pub(crate) turn: u32,
    /// And what is to be granted next: the process that asks, and the number of its message.
    pub(crate) asked: BTreeSet<(u32, u64)>,
}

/// The hosts of a shard, with their processes.
pub(crate) struct Hosts {
    /// By the process's number.
    states: Vec<Option<Box<ProcessState>>>,
    /// Per host, its first process: which one a packet is for is in its message, too late for prefetching.
    first_process: Vec<u32>,
    memory_queues: MemoryQueues,
    queues: Vec<PairRoundRobin>,
    actions: Store<Action>,
    /// Orders of the program that is called, kept to be used again.
    pub(crate) commands: Vec<Command>,
}

/// Which queues there are in hosts' memory. All hosts have the same ones in all shards.
#[derive(Clone, Debug)]
pub(crate) struct MemoryQueues {
    /// Per channel: its first queue, if it leaves a host's memory.
    first: Vec<u32>,
}

impl MemoryQueues {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let mut queues = 0;
        let mut first = Vec::with_capacity(fabric.channels.len() + 1);
        for channel in &fabric.channels {
            first.push(queues);
            queues += if !channel.injects {
                0
            } else if fabric.queue_per_link {
                channel.vcs
            } else {
                1
            };
        }
        first.push(queues);
        Self { first }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.first.last().map_or(0, |&queues| queues as usize)
    }

    /// Those of a channel.
    #[inline]
    pub(crate) fn of(&self, channel: u32) -> Range<u32> {
        self.first[channel as usize]..self.first[channel as usize + 1]
    }

    /// The first one of a channel.
    #[inline]
    fn first_of(&self, channel: u32) -> Option<u32> {
        self.first.get(channel as usize).copied()
    }
}

impl Hosts {
    pub(crate) fn new(fabric: &Fabric, processes: &[Process]) -> Self {
        let queues = MemoryQueues::new(fabric);
        let mut first_process = vec![u32::MAX; fabric.hosts as usize];
        for (process, number) in processes.iter().zip(0..) {
            let first: &mut u32 = &mut first_process[process.host as usize];
            *first = number.min(*first);
        }
        Self {
            states: processes.iter().map(|_| None).collect(),
            first_process,
            queues: vec![PairRoundRobin::default(); queues.len()],
            memory_queues: queues,
            actions: Store::default(),
            commands: Vec::new(),
        }
    }

    /// Adds a process.
    pub(crate) fn add(&mut self, process: u32, place: Process, seed: u64, program: Box<dyn Program>) {
        let random = random_stream(seed, process);
        self.states[process as usize] = Some(Box::new(ProcessState {
            program,
            place,
            warms_up: false,
            done: Time::NEVER,
            random,
            busy_until: Time::ZERO,
            next_message: 0,
            next_event: 0,
            incoming: BTreeMap::new(),
            requested: BTreeMap::new(),
            pulls: false,
            turn: 0,
            asked: BTreeSet::new(),
        }));
    }

    #[inline]
    pub(crate) fn state(&mut self, process: u32) -> &mut ProcessState {
        // Only processes of this shard get here, and these were added.
        self.states[process as usize].as_mut().expect("a process of another shard")
    }

    /// Prefetches the process that a host has, or the first of several.
    #[inline]
    pub(crate) fn prefetch_host(&self, host: u32) {
        if let Some(&process) = self.first_process.get(host as usize) {
            self.prefetch_process(process, u32::MAX);
        }
    }

    /// Prefetches a process and its action.
    #[inline]
    pub(crate) fn prefetch_process(&self, process: u32, action: u32) {
        self.actions.peek(action).map(prefetch);
        if let Some(Some(state)) = self.states.get(process as usize) {
            prefetch(&**state);
        }
    }

    /// Prefetches the program of a process that is in the cache, and the queue of a channel.
    #[inline]
    pub(crate) fn prefetch_program(&self, process: u32, channel: u32) {
        if let Some(Some(state)) = self.states.get(process as usize) {
            prefetch(&*state.program);
        }
        self.prefetch_queue(channel);
    }

    /// Prefetches a channel's first queue.
    #[inline]
    pub(crate) fn prefetch_queue(&self, channel: u32) {
        self.first_queue_of(channel).map(prefetch);
    }

    /// The next message in a channel's first queue.
    #[inline]
    pub(crate) fn next_message(&self, channel: u32) -> Option<u32> {
        Some(self.first_queue_of(channel)?.peek()?.message)
    }

    #[inline]
    fn first_queue_of(&self, channel: u32) -> Option<&PairRoundRobin> {
        self.queues.get(self.memory_queues.first_of(channel)? as usize)
    }

    /// The priority class of the next packet of a queue; 0 if it has none.
    #[inline]
    pub(crate) fn next_class(&self, queue: u32, layout: &Layout) -> u8 {
        self.queues[queue as usize].peek().map_or(0, |message| layout.class_of(message.src))
    }

    /// Puts a message into a queue.
    pub(crate) fn enqueue(&mut self, queue: u32, message: OutgoingMessage, layout: &Layout) {
        self.queues[queue as usize].push(message, |process| layout.class_of(process));
    }

    /// A random draw of a process's.
    pub(crate) fn random_draw(&mut self, process: u32) -> u64 {
        self.state(process).random.next_u64()
    }

    /// Keeps an action until its event comes; returns the event's number and payload.
    pub(crate) fn keep_action(&mut self, process: u32, action: Action) -> (u32, u32) {
        let state = self.state(process);
        let number = state.next_event;
        state.next_event = number.wrapping_add(1);
        (number, self.actions.add(action))
    }

    pub(crate) fn take_action(&mut self, at: u32) -> Action {
        self.actions.remove(at);
        std::mem::replace(self.actions.get_mut(at), Action::Free)
    }

    /// The queues of a channel.
    #[inline]
    pub(crate) fn queues(&self, channel: u32) -> Range<u32> {
        self.memory_queues.of(channel)
    }

    /// The size on the wire of the next packet of a queue.
    pub(crate) fn next_packet(&mut self, queue: u32, model: &Model) -> Option<u32> {
        let message = self.queues[queue as usize].front()?;
        let payload = (message.bytes - message.sent).min(model.link.packet_bytes);
        // The model's check keeps both below 2^31; a packet without bytes still takes a moment.
        Some((payload + model.link.header_bytes).max(1) as u32)
    }

    /// The message of the next packet of a queue, and if it is its last one, whether to tell the program when it has left.
    pub(crate) fn take_packet(&mut self, queue: u32, model: &Model, layout: &Layout) -> (u32, Option<bool>) {
        let queue = &mut self.queues[queue as usize];
        let message = queue.front().expect("a queue that was found to have a message");
        message.sent += (message.bytes - message.sent).min(model.link.packet_bytes);
        let &mut OutgoingMessage { message, bytes, sent, tell, .. } = message;
        let last = sent == bytes;
        queue.advance(last, |process| layout.class_of(process));
        (message, last.then_some(tell))
    }

    /// Whether a message has arrived with this packet.
    pub(crate) fn is_complete(&mut self, label: &Label, payload: u64) -> bool {
        if payload == label.bytes {
            return true;
        }
        let key = (label.from, label.message);
        let incoming = &mut self.state(label.to).incoming;
        let missing = incoming.entry(key).or_insert(label.bytes);
        *missing -= payload;
        let complete = *missing == 0;
        if complete {
            incoming.remove(&key);
        }
        complete
    }

    /// For a checkpoint.
    ///
    /// # Errors
    /// A program that cannot be saved.
    pub(crate) fn save(&self) -> Result<Vec<u8>, String> {
        let mut states = Vec::new();
        for (number, state) in self.states.iter().enumerate() {
            let Some(state) = state else { continue };
            let program = state.program.save();
            let host = state.place.host;
            let program = program.ok_or_else(|| format!("the program on host {host} cannot be saved"))?;
            let ProcessState { busy_until, next_message, next_event, random, incoming, requested, .. } = &**state;
            let pulled = (state.pulls, state.turn, &state.asked);
            let numbers = (number as u32, *busy_until, *next_message, *next_event, random.state());
            states.push((numbers, (state.warms_up, state.done), (incoming, requested, pulled), program));
        }
        Ok(codec::encode(&(states, &self.queues, &self.actions)))
    }

    /// Goes on from what [`Hosts::save`] has written.
    ///
    /// # Errors
    /// A sentence, if it was not of such hosts.
    pub(crate) fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        type Pulled = (bool, u32, BTreeSet<(u32, u64)>);
        type Waiting = (BTreeMap<(u32, u32), u64>, BTreeMap<u32, OutgoingMessage>, Pulled);
        type State = ((u32, Time, u32, u32, u64), (bool, Time), Waiting, Vec<u8>);
        let (states, queues, actions): (Vec<State>, Vec<PairRoundRobin>, Store<Action>) = codec::decode(state)?;
        if queues.len() != self.queues.len() || states.len() != self.states.iter().flatten().count() {
            return Err("other hosts".into());
        }
        if !actions.is_sound() {
            return Err("actions that are in no slot".into());
        }
        (self.queues, self.actions) = (queues, actions);
        for ((number, busy_until, next_message, next_event, random), (warms_up, done), waiting, program) in states {
            let place = self.states.get_mut(number as usize).and_then(Option::as_mut).ok_or("other hosts")?;
            place.program.restore(number, &program)?;
            place.random = SplitMix64::new(random);
            (place.busy_until, place.next_message, place.next_event) = (busy_until, next_message, next_event);
            (place.warms_up, place.done) = (warms_up, done);
            (place.incoming, place.requested, (place.pulls, place.turn, place.asked)) = waiting;
        }
        Ok(())
    }

    /// What each process still waits for. Where the end of the run is that measured jobs are done, the processes of others, and
    /// those that are done, may wait for more of what is over.
    pub(crate) fn waiting(&self, layout: &Layout) -> Vec<String> {
        let mut list = Vec::new();
        for (process, number) in self.states.iter().zip(0..) {
            let Some(state) = process else { continue };
            if layout.has_measured() && !is_awaited(state, layout) {
                continue;
            }
            if let Some(what) = state.program.waits_for() {
                list.push(format!("{} waits for {what}", layout.name(number)));
            }
        }
        list
    }

    /// How many processes of measured jobs are not done.
    pub(crate) fn awaited(&self, layout: &Layout) -> u64 {
        self.states.iter().flatten().filter(|state| is_awaited(state, layout)).count() as u64
    }

    /// Of each process, its job and when it was done.
    pub(crate) fn done(&self) -> impl Iterator<Item = (u16, Time)> + '_ {
        self.states.iter().flatten().map(|state| (state.place.job, state.done))
    }

    pub(crate) fn programs(&mut self) -> impl Iterator<Item = (u32, Box<dyn Program>)> + '_ {
        self.states.iter_mut().zip(0..).filter_map(|(state, number)| Some((number, state.take()?.program)))
    }
}

/// The random numbers of a component: its number, spread by the seed's first word.
pub(crate) fn random_stream(seed: u64, process: u32) -> SplitMix64 {
    let base = SplitMix64::new(seed).next_u64();
    SplitMix64::new(base ^ SplitMix64::new(u64::from(process) + 1).next_u64())
}

/// Whether a process is of a measured job and not done.
fn is_awaited(state: &ProcessState, layout: &Layout) -> bool {
    state.done == Time::NEVER && layout.is_measured(state.place.job)
}
