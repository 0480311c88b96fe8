//! A shard: a part of the machine with its events, which one thread simulates.
//!
//! # The path of a packet
//!
//! A packet at the head of an input buffer requests an output channel. A channel that is free grants one of the requests
//! whose packet may leave by then, whose input can be read, and for which the buffer at the other end has credits.
//! The packet's head is at the next router one latency later, and may leave it one router delay after that, but not so early
//! that its tail would be late: with `T` the time at which the tail may leave and `s` the time that the next channel takes to
//! send the packet, not before `T - s`. Its credits return one latency after its tail has left.
//!
//! Without contention a hop is one event: the arrival. A channel that has requests and cannot grant one wakes up at the first
//! time at which it could; nothing else is an event. Credits are not: they wait, with their time, at the channel that they are
//! for.
//!
//! At one time all arrivals come first, then channels grant in the order of their numbers, then packets that have come to the
//! head of a buffer request a channel, and so on, so that no order of events favours an input. Where routers choose
//! ([`crate::router::adaptive`]), they do so when a packet requests a channel, and see only their own outputs at that moment.
//!
//! # Determinism
//!
//! Events are ordered by (time, component, number). A component's events are numbered by itself, or there is only one of a
//! kind at a time: arrivals on one channel never coincide. So the order is the same however components are spread over
//! shards, and shards only tell each other what happens at least one latency later ([`super::partition::lookahead`]).

use crate::engine::observer::Observation;
use crate::engine::packet::{Message, Packet};
use crate::engine::queue::{Event, Queue};
use crate::engine::statistics::Counters;
use crate::engine::store::{NONE, Store};
use crate::error::SimError;
use crate::model::Model;
use crate::nic::hosts::Hosts;
use crate::nic::layout::Layout;
use crate::router::adaptive::Adaptive;
use crate::router::channels::{self, Buffer, Demand, Input, Output, Request, SavedChannels, Wire};
use crate::router::credits::{ChannelCredits, Credits};
use crate::router::fabric::Fabric;
use crate::router::output_queues::OutputQueues;
use crate::router::pipeline::Pipelines;
use crate::router::routes::{Routes, Scratch};
use crate::time::Time;
use optiq_trace::codec;
use std::collections::VecDeque;

/// Below 2^32 of an event's key: what happens at a channel.
pub(super) const ARRIVAL: u64 = 0;
pub(super) const WAKE: u64 = 1;

/// Where packets wait in the switches of a model, and who decides which of them goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SwitchDesign {
    /// In buffers at inputs, with an arbiter for each channel.
    InputQueues,
    /// In queues at outputs ([`OutputQueues`]).
    OutputQueues,
    /// In buffers at inputs, in steps of a clock ([`Pipelines`]).
    Clocked,
}

/// What another shard must know.
#[derive(Debug)]
pub(crate) enum Remote {
    Arrival { time: Time, channel: u32, packet: Box<(Packet, Message)> },
    Credit { time: Time, vc: u32, bytes: u32 },
}

/// No simulation comes so far: 53 days, a quarter of what its clock can count.
const FAR: Time = Time::picoseconds(1 << 62);

/// See the top of the file.
pub(crate) struct Shard<'n, O> {
    pub(super) fabric: &'n Fabric,
    pub(super) routes: &'n Routes<'n>,
    /// Decides where routes end before the destination.
    pub(super) adaptive: Option<&'n Adaptive<'n>>,
    pub(super) model: &'n Model,
    /// Where processes run.
    pub(super) layout: &'n Layout,
    /// Per vertex, its shard.
    pub(super) owner: &'n [u8],
    me: u8,
    pub(super) queue: Queue,
    pub(super) packets: Store<Packet>,
    pub(super) messages: Store<Message>,
    /// Per channel, its sending end.
    pub(super) outputs: Vec<Output>,
    pub(super) wires: Vec<Wire>,
    pub(super) inputs: Vec<Input>,
    /// Per channel: its requests, once more, and its buffer, for routers that choose. Empty without adaptive routing.
    pub(super) demand: Vec<Demand>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) credits: Credits,
    /// Channels on which something may be granted, each once, and below 2^32 the buffer that requests it, if one has just
    /// done so.
    pub(super) touched: Vec<u64>,
    /// Buffers with another packet at the head.
    pub(super) freed: Vec<u32>,
    pub(super) hosts: Hosts,
    pub(super) scratch: Scratch,
    pub(super) counters: Counters,
    /// How many of its processes have to be done before the run ends.
    pub(super) awaited: u64,
    /// Records what happens over time, if that is wanted.
    pub(super) observer: O,
    pub(super) design: SwitchDesign,
    /// Routers with a clock, if the model has such.
    pub(super) pipelines: Option<Box<Pipelines>>,
    /// What waits at outputs, if the model has switches where packets do.
    pub(super) output_queues: Option<Box<OutputQueues>>,
    /// For each shard, what it must know.
    pub(super) outboxes: Vec<Vec<Remote>>,
    pub(super) now: Time,
    /// The first thing that went wrong.
    pub(super) failure: Option<SimError>,
}

/// The parts of a shard's state: events; channels; buffers and credits; packets and messages; hosts, counters, time, routers
/// with a clock, queues at outputs and the observer.
type SavedShard = (Vec<Event>, SavedChannels, SavedBuffers, (Store<Packet>, Store<Message>), SavedOthers);
type SavedBuffers = (Vec<Buffer>, Vec<ChannelCredits>, Vec<VecDeque<(Time, u32)>>, Vec<u32>);
type SavedOthers = (Vec<u8>, Vec<u8>, Time, (Option<Vec<u8>>, Option<OutputQueues>, Option<Vec<u8>>));

/// What all shards of a simulation share.
#[derive(Clone, Copy)]
pub(crate) struct Machine<'n> {
    pub(crate) fabric: &'n Fabric,
    pub(crate) routes: &'n Routes<'n>,
    pub(crate) adaptive: Option<&'n Adaptive<'n>>,
    pub(crate) model: &'n Model,
    pub(crate) layout: &'n Layout,
    /// Per vertex, its shard.
    pub(crate) owner: &'n [u8],
    /// How many shards there are.
    pub(crate) shards: usize,
}

impl<'n, O: Observation> Shard<'n, O> {
    /// The shard with number `me`.
    pub(crate) fn new(machine: Machine<'n>, me: u8, hosts: Hosts, observer: O) -> Self {
        let Machine { fabric, routes, adaptive, model, layout, owner, shards } = machine;
        let buffers = fabric.channel_of_vc.iter().map(|&channel| fabric.channels[channel as usize].buffer);
        let pipelines = Pipelines::new(fabric, model).map(Box::new);
        let output_queues = OutputQueues::new(fabric, &model.router).map(Box::new);
        let buffer = |(&bit, &channel)| Buffer { request: Request::default(), head: NONE, tail: NONE, bit, channel };
        Self {
            fabric,
            routes,
            adaptive,
            model,
            layout,
            owner,
            me,
            queue: Queue::new(),
            packets: Store::default(),
            messages: Store::default(),
            outputs: fabric.channels.iter().map(|c| Output::new(fabric, c)).collect(),
            wires: fabric.channels.iter().map(Wire::new).collect(),
            inputs: fabric.channels.iter().map(Input::new).collect(),
            demand: fabric.channels.iter().filter(|_| adaptive.is_some()).map(Demand::new).collect(),
            buffers: fabric.bit_of_vc.iter().zip(&fabric.channel_of_vc).map(buffer).collect(),
            credits: Credits::new(buffers, adaptive.is_some()),
            touched: Vec::new(),
            freed: Vec::new(),
            awaited: hosts.awaited(layout),
            hosts,
            scratch: Scratch::default(),
            counters: Counters::new(),
            observer,
            design: match (&pipelines, &output_queues) {
                (Some(_), _) => SwitchDesign::Clocked,
                (None, Some(_)) => SwitchDesign::OutputQueues,
                (None, None) => SwitchDesign::InputQueues,
            },
            pipelines,
            output_queues,
            outboxes: (0..shards).map(|_| Vec::new()).collect(),
            now: Time::ZERO,
            failure: None,
        }
    }

    /// What it has counted.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Packets that have not arrived.
    pub(crate) fn packets_in_flight(&self) -> usize {
        self.packets.in_use()
    }

    /// Its hosts.
    pub(crate) fn hosts(&mut self) -> &mut Hosts {
        &mut self.hosts
    }

    /// The first thing that went wrong, if anything did.
    pub(crate) fn take_failure(&mut self) -> Option<SimError> {
        self.failure.take()
    }

    #[inline]
    pub(super) fn owns(&self, vertex: u32) -> bool {
        self.outboxes.len() == 1 || self.owner[vertex as usize] == self.me
    }

    /// What was put on each channel, and for how long it was busy.
    pub(crate) fn traffic(&self) -> impl Iterator<Item = (u64, Time)> + '_ {
        self.wires.iter().map(Wire::traffic)
    }

    /// Goes on from what [`crate::engine::windows::Partition::save`] has written.
    ///
    /// # Errors
    /// A sentence, if it is not the state of such a shard.
    pub(crate) fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let (events, channels, buffers, (packets, messages), others): SavedShard = codec::decode(state)?;
        let (buffers, credits, returns, reserved) = buffers;
        let (hosts, counters, now, (pipelines, queues, observer)) = others;
        if channels.len() != self.outputs.len() || buffers.len() != self.buffers.len() {
            return Err("another network".into());
        }
        if !packets.is_sound() || !messages.is_sound() {
            return Err("packets or messages that are in no slot".into());
        }
        let counters = Counters::restore(&counters)?;
        if now.max(counters.last) > FAR || events.iter().any(|event| event.time < now || event.time > FAR) {
            return Err("events before its own time, or beyond the end of time".into());
        }
        channels::restore(&mut self.outputs, &mut self.wires, &mut self.inputs, channels);
        self.demand.iter_mut().zip(&self.outputs).for_each(|(demand, output)| demand.requests = output.waiting);
        self.buffers = buffers;
        self.credits.restore((credits, returns, reserved));
        (self.packets, self.messages) = (packets, messages);
        self.hosts.restore(&hosts)?;
        self.awaited = self.hosts.awaited(self.layout);
        self.counters = counters;
        self.now = now;
        if let (Some(to), Some(from)) = (&mut self.pipelines, pipelines) {
            to.restore(&from)?;
        }
        if let (Some(to), Some(from)) = (&mut self.output_queues, queues) {
            if !from.fits(to) {
                return Err("queues of another network".into());
            }
            self.demand
                .iter_mut()
                .zip(from.in_line(self.fabric, &self.packets))
                .for_each(|(demand, line)| demand.requests = line);
            **to = from;
        }
        if let (Some(to), Some(from)) = (self.observer.observer(), observer) {
            to.restore(&from)?;
        }
        self.queue = Queue::new();
        events.into_iter().for_each(|event| self.queue.push(event));
        Ok(())
    }

    /// Its state between two events, without what it was made from. No message to another shard is in flight then, and no
    /// channel is to be looked at.
    ///
    /// # Errors
    /// A program that cannot be saved.
    pub(super) fn state(&self) -> Result<Vec<u8>, String> {
        let events: Vec<Event> = self.queue.events().collect();
        let channels = channels::save(&self.outputs, &self.wires, &self.inputs);
        let (credits, returns, reserved) = self.credits.save();
        let buffers = (&self.buffers, credits, returns, reserved);
        let packets = (&self.packets, &self.messages);
        let pipelines = self.pipelines.as_ref().map(|p| p.save());
        let observer = self.observer.kept().map(|o| o.save());
        let others = (self.hosts.save()?, self.counters.save(), self.now, (pipelines, &self.output_queues, observer));
        Ok(codec::encode(&(events, channels, buffers, packets, others)))
    }

    /// Something may be granted on this channel now.
    #[inline]
    pub(super) fn touch(&mut self, channel: u32) {
        self.touch_for(channel, NONE);
    }

    /// As [`Shard::touch`], as a buffer requests it.
    #[inline]
    pub(super) fn touch_for(&mut self, channel: u32, vc: u32) {
        let output = &mut self.outputs[channel as usize];
        if !output.touched {
            output.touched = true;
            self.touched.push(u64::from(channel) << 32 | u64::from(vc));
        }
    }

    #[inline]
    pub(super) fn wake(&mut self, channel: u32, at: Time) {
        let output = &mut self.outputs[channel as usize];
        if at < output.wake_at {
            output.wake_at = at;
            self.queue.push(Event { time: at, key: u64::from(channel) << 32 | WAKE, payload: 0 });
        }
    }
}
