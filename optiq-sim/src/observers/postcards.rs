//! Postcards of marked packets, as the hardware of a network would write them (Yoga and Chabbi, sections 3 and 4).
//!
//! One command in N is marked, by a hash of the seed, the process and the command's number, so that marking draws no random
//! number that the simulation would miss; and one packet of it, likewise. What a large message needs first, its request and its
//! grant, is marked with it. Each component writes into a ring of its own, which a drainer empties at the speed of the
//! management network; what is written while the ring is full replaces the oldest postcard, and is counted. Nothing waits for
//! a postcard: an observer changes nothing.
//!
//! Every component has a clock of its own, with an offset and a rate from the seed, that shows whole nanoseconds. What is
//! collected has no number that the whole system would know. Beside it, for tests alone, stands which packet each postcard is
//! truly of.

use crate::engine::observer::MarkedEvent;
use crate::engine::packet::{Label, PacketKind};
use crate::model::{Model, Switching};
use crate::nic::layout::Layout;
use crate::router::fabric::Fabric;
use crate::time::Time;
use optiq_net::random::SplitMix64;
use optiq_net::{Network, NodeId};
use optiq_trace::postcards::{
    Collection, Component, ComponentKind, ComponentLog, Context, Operation, POSTCARD_BYTES, Packet, Postcard,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::panic::Location;

/// How postcards are written and collected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PostcardOptions {
    /// One command in this many is marked; at least 1.
    pub one_in: u32,
    /// How far from true time a component's clock may be, in nanoseconds.
    pub skew_nanoseconds: u64,
    /// How much faster or slower than true time it may run, as a part of 1.
    pub drift: f64,
    /// The ring of each component, in bytes; at least one postcard.
    pub buffer_bytes: usize,
    /// How fast it is emptied, in bytes per second.
    pub drain_bytes_per_second: f64,
    /// Which part of the postcards is lost on the way to who collects them.
    pub lost: f64,
    /// How many different tags a source's packets have, one after the other; at least 1.
    pub tags: u32,
    /// The seed of clocks, losses and marks.
    pub seed: u64,
}

impl Default for PostcardOptions {
    /// As published: one command in 100, rings of 2 KB, a management network of 1 Gbit/s. Clocks within a millisecond and ten
    /// millionths of their rate, as the Network Time Protocol and crystal oscillators keep them.
    fn default() -> Self {
        Self {
            one_in: 100,
            skew_nanoseconds: 1_000_000,
            drift: 1e-5,
            buffer_bytes: 2048,
            drain_bytes_per_second: 125e6,
            lost: 0.0,
            tags: 1 << 16,
            seed: 0,
        }
    }
}

/// What was collected.
#[derive(Clone, Debug, Default)]
pub struct Postcards {
    /// All that any component or tool may know.
    pub collection: Collection,
    /// For tests: by component and postcard, which packet it is of.
    pub truth: Vec<Vec<u64>>,
    /// Postcards that were lost on their way.
    pub lost: u64,
    /// Commands that were marked.
    pub marked: u64,
}

/// A marked message at its source.
#[derive(Clone, Debug)]
struct Leaving {
    seen: Time,
    /// Packets to leave before the marked one.
    before: u64,
    /// The marked packet's tag, its channel and when it left.
    marked: Option<(u16, u32, Time)>,
}

/// A marked packet in a router: by which channel it came, when its head arrived, and what waited before it.
#[derive(Clone, Copy, Debug)]
struct InRouter {
    channel: u32,
    arrived: Time,
    waiting_bytes: u32,
}

/// What one component has in its ring, and what was collected of it.
#[derive(Debug, Default)]
struct Ring {
    waiting: VecDeque<(Postcard, u64)>,
    /// Up to when the drainer was busy.
    drained_until: Time,
    collected: Vec<(Postcard, u64)>,
    overwritten: u64,
}

/// Whose message it is: the process and the number of the command that it is for, and what it does for that.
type MessageKey = (u32, u32, Operation);

/// What one shard knows.
pub(crate) struct PostcardRecorder<'n> {
    options: PostcardOptions,
    fabric: &'n Fabric,
    model: &'n Model,
    rings: BTreeMap<u32, Ring>,
    contexts: Vec<&'static Location<'static>>,
    /// By file and line, its place in `contexts`, from 1 on.
    context_of: HashMap<(&'static str, u32), u32>,
    /// Per adapter: its packets so far.
    packets: Vec<u32>,
    leaving: HashMap<MessageKey, Leaving>,
    /// By slot.
    in_router: HashMap<u32, InRouter>,
    /// Marked packets in memory whose messages are not complete: the rest of their postcards.
    in_memory: HashMap<MessageKey, (Packet, Component, Time)>,
    commands: u64,
}

/// No line is known.
const UNKNOWN: Context = Context { file: String::new(), line: 0, function: String::new() };

/// The message of a program for which a message is, if it is for one.
fn message_key(label: &Label) -> Option<MessageKey> {
    match label.kind {
        PacketKind::Data | PacketKind::Confirmed | PacketKind::Put => {
            Some((label.from, label.message, Operation::Data))
        }
        PacketKind::Request => Some((label.from, label.token as u32, Operation::Request)),
        PacketKind::Grant => Some((label.to, label.token as u32, Operation::Grant)),
        PacketKind::Confirmation => None,
    }
}

fn hash(words: &[u64]) -> u64 {
    words.iter().fold(0, |hash, word| SplitMix64::new(hash ^ word).next_u64())
}

/// A number in 0..1.
fn fraction(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1u64 << 53) as f64
}

impl<'n> PostcardRecorder<'n> {
    pub(crate) fn new(fabric: &'n Fabric, model: &'n Model, options: PostcardOptions) -> Self {
        Self {
            options,
            fabric,
            model,
            rings: BTreeMap::new(),
            contexts: Vec::new(),
            context_of: HashMap::new(),
            packets: vec![0; fabric.hosts as usize],
            leaving: HashMap::new(),
            in_router: HashMap::new(),
            in_memory: HashMap::new(),
            commands: 0,
        }
    }

    /// The component of a host's adapter.
    fn adapter(host: u32) -> Component {
        Component(host)
    }

    /// That of a vertex's router.
    fn router(&self, vertex: u32) -> Component {
        Component(self.fabric.hosts + vertex)
    }

    fn processor(&self, process: u32) -> Component {
        Component(self.fabric.hosts + self.fabric.vertices + process)
    }

    /// The component at the beginning of a channel.
    fn begin(&self, channel: u32) -> Component {
        let info = &self.fabric.channels[channel as usize];
        if info.injects { Self::adapter(info.from) } else { self.router(info.from) }
    }

    /// That at its end.
    fn end(&self, channel: u32) -> Component {
        let info = &self.fabric.channels[channel as usize];
        if info.ejects { Self::adapter(info.to) } else { self.router(info.to) }
    }

    /// Whether a message is for a marked command.
    pub(crate) fn marks(&self, label: &Label) -> bool {
        let Some((process, command, _)) = message_key(label) else { return false };
        let word = u64::from(process) << 32 | u64::from(command);
        hash(&[self.options.seed, 1, word]).is_multiple_of(u64::from(self.options.one_in.max(1)))
    }

    /// What a component's clock shows, in nanoseconds.
    fn clock(&self, component: Component, time: Time) -> u64 {
        let word = hash(&[self.options.seed, 2, component.0.into()]);
        let skew = self.options.skew_nanoseconds;
        // From nothing to twice the skew: clocks show no times before their beginning.
        let offset = if skew == 0 { 0 } else { word % (2 * skew + 1) };
        let drift = self.options.drift * (2.0 * fraction(hash(&[word])) - 1.0);
        let picoseconds = time.as_picoseconds();
        let gained = (picoseconds as f64 * drift) as i64;
        offset + picoseconds.saturating_add_signed(gained) / 1000
    }

    fn context(&mut self, line: Option<&'static Location<'static>>) -> u32 {
        let Some(line) = line else { return 0 };
        let key = (line.file(), line.line());
        if let Some(&known) = self.context_of.get(&key) {
            return known;
        }
        self.contexts.push(line);
        let number = self.contexts.len() as u32;
        self.context_of.insert(key, number);
        number
    }

    /// A component writes a postcard; what the drainer had time for is collected before.
    fn write(&mut self, component: Component, time: Time, key: MessageKey, postcard: Postcard) {
        let takes = Time::from_seconds(POSTCARD_BYTES as f64 / self.options.drain_bytes_per_second);
        let room = (self.options.buffer_bytes / POSTCARD_BYTES).max(1);
        let ring = self.rings.entry(component.0).or_default();
        while let Some(oldest) = ring.waiting.front().copied()
            && ring.drained_until + takes <= time
        {
            ring.collected.push(oldest);
            ring.waiting.pop_front();
            ring.drained_until += takes;
        }
        if ring.waiting.is_empty() {
            ring.drained_until = time;
        }
        if ring.waiting.len() == room {
            ring.waiting.pop_front();
            ring.overwritten += 1;
        }
        let (process, command, operation) = key;
        let truth = hash(&[u64::from(process) << 32 | u64::from(command), operation as u64]);
        ring.waiting.push_back((postcard, truth));
    }

    fn packet(label: &Label, mark: u32) -> Packet {
        let tag = (mark - 1) as u16;
        Packet { source: Self::adapter(label.src), destination: Self::adapter(label.dst), tag }
    }

    /// The number of a command at its adapter: processes of one host have numbers of their own.
    fn command((process, command, _): MessageKey) -> u32 {
        hash(&[process.into(), command.into()]) as u32
    }

    /// What happens to a marked message or packet.
    pub(crate) fn marked(&mut self, event: MarkedEvent<'_>, time: Time) {
        match event {
            MarkedEvent::Issued { label, line } => self.issued(label, line, time),
            MarkedEvent::Queued { label } => self.queued(label, time),
            MarkedEvent::Arrived { slot, vc, bytes, waiting_bytes } => {
                self.arrived(slot, vc, (bytes, waiting_bytes), time);
            }
            MarkedEvent::Left { slot, label, mark, channel } => self.left(slot, label, mark, channel, time),
            MarkedEvent::Reached { label, mark, channel, bytes } => self.reached(label, mark, (channel, bytes), time),
            MarkedEvent::Complete { label } => self.complete(label, time),
            MarkedEvent::Taken { label, line } => self.taken(label, line, time),
        }
    }

    /// The number that an adapter gives to what has arrived.
    fn arrival((process, command, operation): MessageKey) -> u32 {
        hash(&[process.into(), command.into(), operation as u64 + 1]) as u32
    }

    fn issued(&mut self, label: &Label, line: &'static Location<'static>, time: Time) {
        let Some(key) = message_key(label) else { return };
        self.commands += 1;
        let (me, destination) = (self.processor(label.from), self.processor(label.to));
        let context = self.context(Some(line));
        let at = self.clock(me, time);
        self.write(me, time, key, Postcard::Issued { context, command: Self::command(key), destination, at });
    }

    fn queued(&mut self, label: &Label, time: Time) {
        let Some(key) = message_key(label) else { return };
        let payload = self.model.link.packet_bytes.saturating_sub(self.model.link.header_bytes).max(1);
        let packets = label.bytes.div_ceil(payload).max(1);
        let before = hash(&[self.options.seed, 3, key.0.into(), key.1.into()]) % packets;
        self.leaving.insert(key, Leaving { seen: time, before, marked: None });
    }

    pub(crate) fn injected(&mut self, label: &Label, channel: u32, time: Time, last: bool) -> u32 {
        let count = &mut self.packets[label.src as usize];
        let tag = (*count % self.options.tags.clamp(1, 1 << 16)) as u16;
        *count = count.wrapping_add(1);
        if !label.marked {
            return 0;
        }
        let Some(key) = message_key(label) else { return 0 };
        let Some(leaving) = self.leaving.get_mut(&key) else { return 0 };
        let mut mark = 0;
        if leaving.marked.is_none() && (leaving.before == 0 || last) {
            leaving.marked = Some((tag, channel, time));
            mark = u32::from(tag) + 1;
        }
        leaving.before = leaving.before.saturating_sub(1);
        if last && let Some(Leaving { seen, marked: Some((tag, channel, left)), .. }) = self.leaving.remove(&key) {
            let me = Self::adapter(label.src);
            let at = |time: Time| self.clock(me, time);
            let postcard = Postcard::Injected {
                command: Self::command(key),
                operation: key.2,
                packet: Self::packet(label, u32::from(tag) + 1),
                next: self.end(channel),
                seen: at(seen),
                left: at(left),
                last_left: at(time),
            };
            self.write(me, time, key, postcard);
        }
        mark
    }

    /// How long a packet's head was there before it could leave or its tail had arrived.
    fn since_its_head(&self, channel: u32, bytes: u32) -> Time {
        self.fabric.channels[channel as usize].rate.time(bytes.into()).max(Time::PICOSECOND)
    }

    fn arrived(&mut self, slot: u32, vc: u32, (bytes, waiting_bytes): (u32, u32), time: Time) {
        let channel = self.fabric.channel_of_vc[vc as usize];
        let delay = Time::picoseconds(self.model.router.delay_picoseconds);
        let before = match self.model.router.switching {
            Switching::CutThrough => delay,
            Switching::StoreAndForward => delay + self.since_its_head(channel, bytes),
        };
        self.in_router.insert(slot, InRouter { channel, arrived: time.saturating_sub(before), waiting_bytes });
    }

    fn left(&mut self, slot: u32, label: &Label, mark: u32, channel: u32, time: Time) {
        // None for a packet that leaves memory.
        let Some(InRouter { channel: input, arrived, waiting_bytes }) = self.in_router.remove(&slot) else { return };
        let Some(key) = message_key(label) else { return };
        let me = self.begin(channel);
        let postcard = Postcard::Forwarded {
            packet: Self::packet(label, mark),
            previous: self.begin(input),
            next: self.end(channel),
            arrived: self.clock(me, arrived),
            left: self.clock(me, time),
            waiting_bytes,
        };
        self.write(me, time, key, postcard);
    }

    fn reached(&mut self, label: &Label, mark: u32, (channel, bytes): (u32, u32), time: Time) {
        let Some(key) = message_key(label) else { return };
        let arrived = time.saturating_sub(self.since_its_head(channel, bytes));
        self.in_memory.insert(key, (Self::packet(label, mark), self.begin(channel), arrived));
    }

    fn complete(&mut self, label: &Label, time: Time) {
        let Some(key) = message_key(label) else { return };
        let Some((packet, previous, arrived)) = self.in_memory.remove(&key) else { return };
        let me = Self::adapter(label.dst);
        let command = Self::arrival(key);
        let (arrived, complete) = (self.clock(me, arrived), self.clock(me, time));
        self.write(me, time, key, Postcard::Arrived { packet, previous, command, arrived, complete });
    }

    fn taken(&mut self, label: &Label, line: Option<&'static Location<'static>>, time: Time) {
        let Some(key) = message_key(label) else { return };
        let (me, source) = (self.processor(label.to), self.processor(label.from));
        let context = self.context(line);
        let at = self.clock(me, time);
        self.write(me, time, key, Postcard::Received { context, command: Self::arrival(key), source, at });
    }

    /// What was collected of all shards, after the drainers have emptied every ring.
    pub(crate) fn merge(all: Vec<Self>, network: &Network, layout: &Layout) -> Option<Postcards> {
        let (fabric, options) = all.first().map(|recorder| (recorder.fabric, recorder.options))?;
        let log = |name: String, kind| ComponentLog { name, kind, overwritten: 0, postcards: Vec::new() };
        let vertices = || (0..fabric.vertices).map(NodeId);
        let adapters = vertices().take(fabric.hosts as usize);
        let mut components: Vec<ComponentLog> = adapters
            .map(|v| log(format!("{} adapter", network.name(v)), ComponentKind::Adapter))
            .chain(vertices().map(|v| log(network.name(v).to_owned(), ComponentKind::Switch)))
            .collect();
        components.extend(layout.processes().iter().zip(0..).map(|(process, number)| {
            let adapter = Self::adapter(process.host);
            log(format!("process {number}"), ComponentKind::Processor { adapter })
        }));
        // In order, so that their numbers are the same on any number of threads.
        let mut contexts: BTreeSet<Context> = all.iter().flat_map(|r| &r.contexts).map(|line| context(line)).collect();
        contexts.insert(UNKNOWN);
        let contexts: Vec<Context> = contexts.into_iter().collect();
        let number_of = |line: &Location<'_>| contexts.binary_search(&context(line)).unwrap_or(0) as u32;
        let mut found = Postcards { truth: vec![Vec::new(); components.len()], ..Postcards::default() };
        for recorder in all {
            let numbers: Vec<u32> =
                std::iter::once(0).chain(recorder.contexts.iter().map(|line| number_of(line))).collect();
            found.marked += recorder.commands;
            for (number, ring) in recorder.rings {
                let log = &mut components[number as usize];
                log.overwritten = ring.overwritten;
                for ((mut postcard, truth), at) in ring.collected.into_iter().chain(ring.waiting).zip(0u64..) {
                    if fraction(hash(&[options.seed, 4, number.into(), at])) < options.lost {
                        found.lost += 1;
                        continue;
                    }
                    if let Postcard::Issued { context, .. } | Postcard::Received { context, .. } = &mut postcard {
                        *context = numbers[*context as usize];
                    }
                    log.postcards.push(postcard);
                    found.truth[number as usize].push(truth);
                }
            }
        }
        found.collection = Collection { contexts, components };
        Some(found)
    }
}

fn context(line: &Location<'_>) -> Context {
    Context { file: line.file().into(), line: line.line(), function: String::new() }
}
