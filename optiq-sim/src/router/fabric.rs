//! The network as the simulator sees it: channels and their virtual channels.
//!
//! Every lane of every link is a channel. Where hosts are joined directly, each has a router of its own, with one more
//! channel from the host's memory into it and one back; where they hang on switches, the terminal links are these.
//!
//! Channels are numbered link by link, lane by lane, then injection and ejection. The virtual channels of all channels are
//! numbered through; that of a channel's input buffer, of its credits and of its statistics is the same number. The first
//! virtual channels of all channels out of a router follow each other, then the second ones, and so on: a router that chooses
//! looks at the credits of one class of many outputs, and finds them in few cache lines.

use crate::model::Model;
use crate::time::{Rate, Time};
use optiq_net::{LinkId, Network, NodeId};
use std::ops::Range;

/// A channel: a wire in one direction, with the input buffers at its end.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Channel {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) rate: Rate,
    /// From the head at one end to the head at the other.
    pub(crate) latency: Time,
    /// The input buffer of each virtual channel, in bytes.
    pub(crate) buffer: u64,
    /// Begins in a host's memory.
    pub(crate) injects: bool,
    /// Ends in a host's memory.
    pub(crate) ejects: bool,
    /// Its virtual channels: `vcs` of them, from the first one on in steps of `stride`.
    pub(crate) first_vc: u32,
    pub(crate) vcs: u32,
    pub(crate) stride: u32,
}

impl Channel {
    /// The first of the virtual channels of a class, each of which has `lanes`.
    pub(crate) fn class(&self, class: u32, lanes: u32) -> u32 {
        self.first_vc + class * lanes * self.stride
    }
}

/// See the top of the file.
#[derive(Debug)]
pub(crate) struct Fabric {
    pub(crate) hosts: u32,
    pub(crate) vertices: u32,
    pub(crate) channels: Vec<Channel>,
    /// Per channel, [`Channel::to`]: routers that choose look at many.
    pub(crate) ends: Vec<u32>,
    /// Per link: its first channel. Without parallel lanes that is the link's number.
    first_channel: Vec<u32>,
    pub(crate) one_lane: bool,
    /// The link of a channel; none for injection and ejection.
    pub(crate) link_of: Vec<Option<LinkId>>,
    /// Per virtual channel: its channel.
    pub(crate) channel_of_vc: Vec<u32>,
    /// Per virtual channel: its number among those that enter the same router.
    pub(crate) bit_of_vc: Vec<u32>,
    /// Per router: where its virtual channels begin in `inputs`.
    pub(crate) first_input: Vec<u32>,
    /// The virtual channels that enter each router, by bit.
    pub(crate) inputs: Vec<u32>,
    /// Hosts have routers of their own.
    pub(crate) direct: bool,
    /// Hosts have a queue for each link that leaves them, each with a virtual channel of its own into the router.
    pub(crate) queue_per_link: bool,
    /// Virtual channels of a class.
    pub(crate) lanes: u32,
    /// Per host, its first channel out of memory.
    injections: Vec<u32>,
    /// Links into memory have all classes.
    pub(crate) classes_into_memory: bool,
    /// Per router.
    pub(crate) router_outputs: Vec<RouterOutputs>,
}

/// A router's channels to other routers. They are numbered one after the other, as links are sorted by their ends, and
/// hosts come first; so a virtual channel is found without looking at the channel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RouterOutputs {
    first: u32,
    channels: u32,
    first_vc: u32,
    /// From a channel's first virtual channel to the next channel's.
    step: u32,
    /// As in [`Channel`].
    pub(crate) stride: u32,
}

impl RouterOutputs {
    fn add(&mut self, i: u32, channel: &Channel) {
        if self.channels == 0 {
            let step = if channel.stride == 1 { channel.vcs } else { 1 };
            *self = Self { first: i, channels: 0, first_vc: channel.first_vc, step, stride: channel.stride };
        }
        self.channels += 1;
        debug_assert_eq!(self.first_vc(i), Some(channel.first_vc), "numbered one after the other");
    }

    /// The first virtual channel of the first of several channels of a router's, if all lead to other routers, and the virtual
    /// channels of one class follow each other.
    #[inline]
    pub(crate) fn side_by_side(&self, channels: &Range<u32>) -> Option<u32> {
        let end = channels.end.wrapping_sub(self.first);
        (self.step == 1 && end <= self.channels).then(|| self.first_vc(channels.start)).flatten()
    }

    /// The first virtual channel of a router's channel, if that leads to another router.
    #[inline]
    pub(crate) fn first_vc(&self, channel: u32) -> Option<u32> {
        let i = channel.wrapping_sub(self.first);
        (i < self.channels).then(|| self.first_vc + i * self.step)
    }
}

/// Numbers virtual channels as said at the top of the file, but those of routers with a pipeline, which look at all of one
/// channel, channel by channel.
fn number_virtual_channels(channels: &mut [Channel], clocked: bool) {
    let alike = |a: &Channel, b: &Channel| {
        !clocked && (a.from, a.injects, a.ejects, a.vcs) == (b.from, b.injects, b.ejects, b.vcs)
    };
    let mut first = 0;
    for outputs in channels.chunk_by_mut(alike) {
        // A shard keeps the stride in 16 bits.
        let stride = if outputs.len() > usize::from(u16::MAX) { 1 } else { outputs.len() as u32 };
        for (channel, i) in outputs.iter_mut().zip(0..) {
            let at = if stride == 1 { i * channel.vcs } else { i };
            (channel.first_vc, channel.stride) = (first + at, stride);
        }
        first += outputs.len() as u32 * outputs[0].vcs;
    }
}

/// The channels of all links, the link of each, and for each link its first channel.
fn link_channels(network: &Network, model: &Model, classes: u32) -> (Vec<Channel>, Vec<Option<LinkId>>, Vec<u32>) {
    let hosts = network.hosts() as u32;
    let direct = network.hosts() == network.vertices();
    let clocked = model.router.pipeline.is_some();
    let (mut channels, mut link_of, mut first_channel) = (Vec::new(), Vec::new(), Vec::new());
    for (link, id) in network.links().iter().zip((0..).map(LinkId)) {
        first_channel.push(channels.len() as u32);
        let (injects, ejects) = (!direct && link.from.0 < hosts, !direct && link.to.0 < hosts);
        let channel = Channel {
            from: link.from.0,
            to: link.to.0,
            rate: Rate::bytes_per_second(link.capacity / f64::from(link.lanes) * model.link.efficiency),
            latency: model.link.latency(network.class(id)),
            buffer: model.router.buffer(network.class(id)),
            injects,
            ejects,
            first_vc: 0,
            vcs: if ejects && !clocked { 1 } else { classes * model.router.lanes },
            stride: 1,
        };
        for _ in 0..link.lanes {
            channels.push(channel);
            link_of.push(Some(id));
        }
    }
    (channels, link_of, first_channel)
}

/// The channels between hosts' memory and their routers, where hosts are joined directly: out of memory, then into it.
fn memory_channels(network: &Network, model: &Model, classes: u32) -> Vec<Channel> {
    let host = &model.host;
    let rate = |r: f64| if r > 0.0 { Rate::bytes_per_second(r) } else { Rate::INFINITE };
    let (out, into) = (rate(host.injection_bytes_per_second), rate(host.ejection_bytes_per_second));
    let channel = |h: u32, injects: bool| Channel {
        from: h,
        to: h,
        rate: if injects { out } else { into },
        latency: Time::picoseconds(host.memory_latency_picoseconds),
        buffer: model.router.buffer_bytes,
        injects,
        ejects: !injects,
        first_vc: 0,
        vcs: if injects && model.has_queue_per_link() {
            // One injection queue for each link that leaves, so that messages by one do not wait for another's.
            (network.out_range(NodeId(h)).len() as u32).max(1)
        } else if model.router.pipeline.is_some() {
            classes * model.router.lanes
        } else {
            1
        },
        stride: 1,
    };
    let hosts = 0..network.hosts() as u32;
    hosts.clone().map(|h| channel(h, true)).chain(hosts.map(|h| channel(h, false))).collect()
}

impl Fabric {
    pub(crate) fn new(network: &Network, model: &Model, classes: u32) -> Self {
        let (hosts, vertices) = (network.hosts() as u32, network.vertices() as u32);
        let direct = network.hosts() == network.vertices();
        // Routers with a pipeline have all virtual channels everywhere, also towards memory.
        let clocked = model.router.pipeline.is_some();
        let (mut channels, mut link_of, first_channel) = link_channels(network, model, classes);
        if direct {
            channels.extend(memory_channels(network, model, classes));
            link_of.resize(channels.len(), None);
        }
        number_virtual_channels(&mut channels, clocked);
        let mut router_outputs = vec![RouterOutputs::default(); vertices as usize];
        for (channel, i) in channels.iter().zip(0..).filter(|(c, _)| !c.injects && !c.ejects) {
            router_outputs[channel.from as usize].add(i, channel);
        }
        let mut fabric = Self {
            hosts,
            vertices,
            ends: channels.iter().map(|c| c.to).collect(),
            channels,
            first_channel,
            one_lane: network.links().iter().all(|link| link.lanes == 1),
            link_of,
            channel_of_vc: Vec::new(),
            bit_of_vc: Vec::new(),
            first_input: vec![0; vertices as usize + 1],
            inputs: Vec::new(),
            direct,
            queue_per_link: direct && model.has_queue_per_link(),
            lanes: model.router.lanes,
            injections: vec![0; hosts as usize],
            classes_into_memory: clocked,
            router_outputs,
        };
        fabric.number_inputs();
        for (i, channel) in fabric.channels.iter().enumerate().rev().filter(|(_, c)| c.injects) {
            fabric.injections[channel.from as usize] = i as u32;
        }
        fabric
    }

    fn number_inputs(&mut self) {
        let mut of_router: Vec<Vec<u32>> = vec![Vec::new(); self.vertices as usize];
        let vcs = self.channels.iter().map(|c| c.vcs as usize).sum();
        self.channel_of_vc = vec![0; vcs];
        self.bit_of_vc = vec![0; vcs];
        for (i, channel) in self.channels.iter().enumerate() {
            let row = &mut of_router[channel.to as usize];
            for k in 0..channel.vcs {
                let vc = channel.first_vc + k * channel.stride;
                self.channel_of_vc[vc as usize] = i as u32;
                self.bit_of_vc[vc as usize] = row.len() as u32;
                if !channel.ejects {
                    row.push(vc);
                }
            }
        }
        for (router, row) in of_router.iter().enumerate() {
            self.inputs.extend(row);
            self.first_input[router + 1] = self.inputs.len() as u32;
        }
    }

    /// Words of a bit set over a router's virtual channels.
    pub(crate) fn words_of(&self, router: u32) -> u32 {
        let inputs = self.first_input[router as usize + 1] - self.first_input[router as usize];
        inputs.div_ceil(64)
    }

    /// The first channel of a link.
    pub(crate) fn channel(&self, link: LinkId) -> u32 {
        if self.one_lane { link.0 } else { self.first_channel[link.index()] }
    }

    /// The first channel out of a host's memory.
    pub(crate) fn first_injection(&self, host: u32) -> u32 {
        self.injections[host as usize]
    }

    /// The channel from a host's memory into its router, where hosts are joined directly.
    pub(crate) fn injection(&self, host: u32) -> u32 {
        self.channels.len() as u32 - 2 * self.hosts + host
    }

    /// And back.
    pub(crate) fn ejection(&self, host: u32) -> u32 {
        self.channels.len() as u32 - self.hosts + host
    }
}
