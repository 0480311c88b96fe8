//! Hosts: the processor, the protocols of messages, and the queues between memory and network.
//!
//! A processor does one thing at a time: what a message costs it ([`crate::model::HostModel`]) delays what comes after. A
//! message up to `eager_bytes` is sent eagerly; a larger one by rendezvous: its bytes follow when the receiver has granted a
//! request. What is sent waits in the queue of the channel that its route begins with, and where hosts are joined directly, of
//! the link that follows. Queues are served round robin, and so are the destinations in each of them, packet by packet;
//! messages to one destination go in order, as on a queue pair. `shard/protocol.rs` has the protocols.

use super::program::{Command, Delivery, Program};
use super::round_robin::{DestinationRoundRobin, OutgoingMessage};
use crate::engine::packet::Label;
use crate::engine::prefetch::prefetch;
use crate::engine::store::Store;
use crate::model::Model;
use crate::router::fabric::Fabric;
use crate::time::Time;
use bincode::{Decode, Encode};
use optiq_net::random::SplitMix64;
use optiq_transport::codec;
use std::collections::BTreeMap;
use std::ops::Range;

/// What a host is going to do at some time.
#[derive(Clone, Debug, Encode, Decode)]
pub(crate) enum Action {
    Start,
    Inject(OutgoingMessage),
    Deliver(Delivery),
    Woken(u64),
    Sent(u64),
    /// Nothing: the place is free.
    Free,
}

/// A host. What every message needs comes first.
#[repr(C, align(64))]
pub(crate) struct HostState {
    pub(crate) busy_until: Time,
    pub(crate) next_message: u32,
    next_event: u32,
    pub(crate) random: SplitMix64,
    pub(crate) program: Box<dyn Program>,
    /// Of messages of several packets, what has not arrived: by source and number.
    incoming: BTreeMap<(u32, u32), u64>,
    /// Messages that wait for a grant, by number.
    pub(crate) requested: BTreeMap<u32, OutgoingMessage>,
}

/// The hosts of a shard.
pub(crate) struct Hosts {
    states: Vec<Option<Box<HostState>>>,
    layout: MemoryQueues,
    queues: Vec<DestinationRoundRobin>,
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
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let layout = MemoryQueues::new(fabric);
        Self {
            states: (0..fabric.hosts).map(|_| None).collect(),
            queues: vec![DestinationRoundRobin::default(); layout.len()],
            layout,
            actions: Store::default(),
            commands: Vec::new(),
        }
    }

    /// Adds a host.
    pub(crate) fn add(&mut self, host: u32, seed: u64, program: Box<dyn Program>) {
        // The stream of a component: its number, spread by the seed's first word.
        let base = SplitMix64::new(seed).next_u64();
        let random = SplitMix64::new(base ^ SplitMix64::new(u64::from(host) + 1).next_u64());
        self.states[host as usize] = Some(Box::new(HostState {
            program,
            random,
            busy_until: Time::ZERO,
            next_message: 0,
            next_event: 0,
            incoming: BTreeMap::new(),
            requested: BTreeMap::new(),
        }));
    }

    #[inline]
    pub(crate) fn state(&mut self, host: u32) -> &mut HostState {
        // Only hosts of this shard get here, and these were added.
        self.states[host as usize].as_mut().expect("a host of another shard")
    }

    /// Prefetches a host and its action.
    #[inline]
    pub(crate) fn prefetch_host(&self, host: u32, action: u32) {
        self.actions.peek(action).map(prefetch);
        if let Some(Some(state)) = self.states.get(host as usize) {
            prefetch(&**state);
        }
    }

    /// Prefetches the program of a host that is in the cache, and the queue of a channel.
    #[inline]
    pub(crate) fn prefetch_program(&self, host: u32, channel: u32) {
        if let Some(Some(state)) = self.states.get(host as usize) {
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
    fn first_queue_of(&self, channel: u32) -> Option<&DestinationRoundRobin> {
        self.queues.get(self.layout.first_of(channel)? as usize)
    }

    /// Puts a message into a queue.
    pub(crate) fn enqueue(&mut self, queue: u32, message: OutgoingMessage) {
        self.queues[queue as usize].push(message);
    }

    /// A random draw of a host's.
    pub(crate) fn random_draw(&mut self, host: u32) -> u64 {
        self.state(host).random.next_u64()
    }

    /// Keeps an action until its event comes; returns the event's number and payload.
    pub(crate) fn keep_action(&mut self, host: u32, action: Action) -> (u32, u32) {
        let state = self.state(host);
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
        self.layout.of(channel)
    }

    /// The size on the wire of the next packet of a queue.
    pub(crate) fn next_packet(&mut self, queue: u32, model: &Model) -> Option<u32> {
        let message = self.queues[queue as usize].front()?;
        let payload = (message.bytes - message.sent).min(model.link.packet_bytes);
        // The model's check keeps both below 2^31; a packet without bytes still takes a moment.
        Some((payload + model.link.header_bytes).max(1) as u32)
    }

    /// The message of the next packet of a queue, and if it is its last one, what to tell the program when it has left.
    pub(crate) fn take_packet(&mut self, queue: u32, model: &Model) -> (u32, Option<Option<u64>>) {
        let queue = &mut self.queues[queue as usize];
        let message = queue.front().expect("a queue that was found to have a message");
        message.sent += (message.bytes - message.sent).min(model.link.packet_bytes);
        let &mut OutgoingMessage { message, bytes, sent, tell, .. } = message;
        let last = sent == bytes;
        queue.advance(last);
        (message, last.then_some(tell))
    }

    /// Whether a message has arrived with this packet.
    pub(crate) fn is_complete(&mut self, host: u32, label: &Label, payload: u64) -> bool {
        if payload == label.bytes {
            return true;
        }
        let key = (label.src, label.message);
        let incoming = &mut self.state(host).incoming;
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
        for (host, state) in self.states.iter().enumerate() {
            let Some(state) = state else { continue };
            let program = state.program.save();
            let program = program.ok_or_else(|| format!("the program on host {host} cannot be saved"))?;
            let HostState { busy_until, next_message, next_event, random, incoming, requested, .. } = &**state;
            let numbers = (host as u32, *busy_until, *next_message, *next_event, random.state());
            states.push((numbers, incoming, requested, program));
        }
        Ok(codec::encode(&(states, &self.queues, &self.actions)))
    }

    /// Goes on from what [`Hosts::save`] has written.
    ///
    /// # Errors
    /// A sentence, if it was not of such hosts.
    pub(crate) fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        type Host = ((u32, Time, u32, u32, u64), BTreeMap<(u32, u32), u64>, BTreeMap<u32, OutgoingMessage>, Vec<u8>);
        let (hosts, queues, actions): (Vec<Host>, Vec<DestinationRoundRobin>, Store<Action>) = codec::decode(state)?;
        if queues.len() != self.queues.len() || hosts.len() != self.states.iter().flatten().count() {
            return Err("other hosts".into());
        }
        if !actions.is_sound() {
            return Err("actions that are in no slot".into());
        }
        (self.queues, self.actions) = (queues, actions);
        for ((host, busy_until, next_message, next_event, random), incoming, requested, program) in hosts {
            let place = self.states.get_mut(host as usize).and_then(Option::as_mut).ok_or("other hosts")?;
            place.program.restore(host, &program)?;
            place.random = SplitMix64::new(random);
            (place.busy_until, place.next_message, place.next_event) = (busy_until, next_message, next_event);
            (place.incoming, place.requested) = (incoming, requested);
        }
        Ok(())
    }

    /// What each host still waits for.
    pub(crate) fn waiting(&self) -> Vec<String> {
        let mut list = Vec::new();
        for (host, state) in self.states.iter().enumerate() {
            if let Some(what) = state.as_ref().and_then(|s| s.program.waits_for()) {
                list.push(format!("host {host} waits for {what}"));
            }
        }
        list
    }

    pub(crate) fn programs(&mut self) -> impl Iterator<Item = (u32, Box<dyn Program>)> + '_ {
        self.states.iter_mut().enumerate().filter_map(|(host, state)| Some((host as u32, state.take()?.program)))
    }
}
