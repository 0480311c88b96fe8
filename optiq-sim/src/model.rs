//! The parameters of a simulated machine, with their units, and where the values of the presets come from.
//!
//! A model is a TOML file; `data/sim/*.toml` are the presets, which say for every value where it is from. Keys that are left
//! out have the defaults of [`Model::default`].

use crate::error::SimError;
use crate::time::Time;
use optiq_net::units::format_rate;
use optiq_net::{Class, Network};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// See the top of the file. All times in picoseconds, all rates in bytes per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Model {
    /// A name for people.
    pub title: String,
    /// Packets and links.
    pub link: LinkModel,
    /// Routers.
    pub router: RouterModel,
    /// Hosts.
    pub host: HostModel,
}

/// Packets, and what carries them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkModel {
    /// The most bytes of a message in one packet.
    pub packet_bytes: u64,
    /// The size of its header.
    pub header_bytes: u64,
    /// The latency of a link between a host and its switch.
    pub terminal_latency_picoseconds: u64,
    /// Between two switches of a group or a fat tree; between two hosts that are joined directly.
    pub local_latency_picoseconds: u64,
    /// Between two groups of a dragonfly.
    pub global_latency_picoseconds: u64,
    /// The rates of physical links for which the model was made, in bytes per second; none if it is for any. The slowest link
    /// of a network must have one of them ([`Model::check_rate`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rates_bytes_per_second: Vec<f64>,
    /// The part of a link's capacity that packets get, for networks whose protocols take the rest: 0.9 on Blue Gene/Q.
    pub efficiency: f64,
}

/// How a router arbitrates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// Inputs in round robin order.
    #[default]
    RoundRobin,
    /// The packet that was injected first.
    Age,
    /// The packet that came to the switch first; it waits for space in the next buffer in front of all that need the same
    /// class of virtual channels, so that none waits for ever however full the network is.
    FirstCome,
}

/// Where packets wait in a switch for what is in front of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Queues {
    /// In the buffer that they came into, one behind the other wherever they go.
    #[default]
    Inputs,
    /// At their outputs, in the order in which they came, as in CODES (`optiq-sim/src/shard/output_queues.rs`).
    Outputs,
}

/// When a router sends a packet on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switching {
    /// As soon as its head has arrived (virtual cut-through; Kermani and Kleinrock 1979), if its tail follows in time.
    #[default]
    CutThrough,
    /// When all of it has arrived.
    StoreAndForward,
}

/// Which class of virtual channels a packet has in a ring, of the two that keep it free of deadlock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dateline {
    /// Class 1 from the link that wraps around on (Dally and Seitz 1987).
    #[default]
    AtTheWrap,
    /// Class 1 in all of a ring in which it wraps around, as in BookSim's `dim_order`.
    FromTheStart,
}

/// In which direction packets go round a ring when both are equally short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// As the fabric's routing says.
    #[default]
    Fabric,
    /// Each message by a random draw, where the fabric's routing is in order of dimensions.
    Random,
}

/// How requests of inputs for outputs are matched, in one iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Allocator {
    /// Each output grants an input, each input accepts one of its grants (iSLIP, McKeown 1999, one iteration).
    #[default]
    Islip,
    /// Each input chooses an output, each output one of these inputs.
    SeparableInputFirst,
}

/// Routers with a clock, whose pipeline is that of an input-queued virtual-channel router (W. Dally and B. Towles,
/// "Principles and Practices of Interconnection Networks", 2004, chapters 16, 17 and 19), as BookSim's `iq` router has it.
/// `optiq-sim/src/router/pipeline.rs` says what happens when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pipeline {
    /// How long a link takes for a flit. A clock step is this, divided by `speedup`.
    pub cycle_picoseconds: u64,
    /// How many times as fast as links routers run, with queues of no limit at their outputs.
    pub speedup: u32,
    /// Steps from when a packet is at the head of its buffer until it may request a virtual channel: 0 where its route was
    /// looked up in the router before.
    pub routing_steps: u32,
    /// The delay of a credit besides the latency of its link.
    pub credit_delay_picoseconds: u64,
    /// Where hosts are joined directly, whether memory has a queue and an input of the router for each link that leaves it, as without a
    /// clock. BookSim's terminals have one input, through which as many bytes cross as through that of a link.
    pub memory_input_per_link: bool,
    /// For virtual channels and for the switch.
    pub allocator: Allocator,
}

impl Default for Pipeline {
    fn default() -> Self {
        Self {
            cycle_picoseconds: 1000,
            speedup: 1,
            routing_steps: 0,
            credit_delay_picoseconds: 0,
            memory_input_per_link: false,
            allocator: Allocator::default(),
        }
    }
}

/// What a router does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RouterModel {
    /// From the arrival of a packet's head until it may leave.
    pub delay_picoseconds: u64,
    /// The input buffer of each virtual channel; a packet must fit.
    pub buffer_bytes: u64,
    /// The same at the end of links between two switches of a group or of a fat tree, or two hosts that are joined directly, if it is another
    /// one there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_buffer_bytes: Option<u64>,
    /// Virtual channels in place of each one that the routing needs.
    pub lanes: u32,
    /// How many times as fast as a link an input can be read.
    pub input_speedup: u32,
    /// Which of several inputs goes first.
    pub arbitration: Arbitration,
    /// Where packets wait; at outputs `input_speedup` and `arbitration` have no effect.
    pub queues: Queues,
    /// When packets leave.
    pub switching: Switching,
    /// How classes are used in rings.
    pub dateline: Dateline,
    /// The direction round rings where both are equally short.
    pub ties: Ties,
    /// With a clock, and the stages of a pipeline; then `input_speedup`, `arbitration` and `switching` have no effect, and
    /// `delay` is at least a cycle, in which the first flit arrives. `None`: packets leave as soon as they can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Pipeline>,
}

/// What carries the chunks of an exchange from rank to rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carry {
    /// Messages, by rendezvous where they are large, as by `MPI_Isend` and `MPI_Irecv`.
    #[default]
    TwoSided,
    /// Puts into slots that the scheduler's credits promise, each followed by a short message when it has arrived: what the
    /// thesis does by `PAMI_Put` and `PAMI_Send_immediate` (4.3), and the one-sided transport by `MPI_Put`.
    OneSided,
}

impl Carry {
    /// As in model files.
    pub fn name(self) -> &'static str {
        match self {
            Carry::TwoSided => "two-sided",
            Carry::OneSided => "one-sided",
        }
    }
}

/// When a receiver grants requests of large messages (rendezvous).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grants {
    /// Each as soon as its processor has seen it: the messages share the receiver's link.
    #[default]
    AtOnce,
    /// The next one when the message before has arrived: receivers pull one message at a time, of one sender after the other in the order of
    /// their numbers, as a program does that receives from each in turn.
    OneByOne,
}

/// What a host does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostModel {
    /// From memory into the network, where hosts are joined directly; 0 is no limit. Elsewhere the terminal link limits.
    pub injection_bytes_per_second: f64,
    /// And back.
    pub ejection_bytes_per_second: f64,
    /// The latency between memory and router, where hosts are joined directly.
    pub memory_latency_picoseconds: u64,
    /// Whether what a host sends to itself goes to its router and back, in place of a copy.
    pub loopback_by_router: bool,
    /// What the processor does for a message that it sends.
    pub send_overhead_picoseconds: u64,
    /// And for one that it receives.
    pub receive_overhead_picoseconds: u64,
    /// What it does besides for a piece that it forwards.
    pub forward_overhead_picoseconds: u64,
    /// How fast it copies; 0 is no limit. What is forwarded is received into memory and sent from there, without a copy,
    /// unless `copies_forwarded` says otherwise.
    pub copy_bytes_per_second: f64,
    /// Whether forwarders copy what they forward.
    pub copies_forwarded: bool,
    /// Messages above this size are sent by rendezvous: a request to the receiver first.
    pub eager_bytes: u64,
    /// When these are granted.
    pub grants: Grants,
    /// How many bytes of two messages that processes send each other go both ways at a time where MPI sends all messages at once: the rest
    /// of the higher process's message goes when the lower one's has arrived. Nothing for all of them. Open MPI's TCP component asks for
    /// what follows the first 192 KiB on the connection that carries the other message, behind its bytes (decisions 088 and 090).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub both_ways_bytes: Option<u64>,
    /// What carries chunks along planned paths unless a caller says otherwise.
    pub chunks_by: Carry,
    /// The size of that request, of its grant, and of confirmations.
    pub control_bytes: u64,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            title: "default".into(),
            link: LinkModel::default(),
            router: RouterModel::default(),
            host: HostModel::default(),
        }
    }
}

impl RouterModel {
    /// The buffer of a virtual channel at the end of a link of a class.
    pub fn buffer(&self, class: Class) -> u64 {
        self.local_buffer_bytes.filter(|_| class == Class::Local).unwrap_or(self.buffer_bytes)
    }
}

impl HostModel {
    /// How fast forwarders copy what they forward, in bytes per second; nothing where they do not, or without limit.
    pub fn forwarded_copies(&self) -> Option<f64> {
        Some(self.copy_bytes_per_second).filter(|&rate| self.copies_forwarded && rate > 0.0)
    }
}

impl LinkModel {
    /// The latency of a link of a class.
    pub fn latency(&self, class: Class) -> Time {
        Time::picoseconds(match class {
            Class::Terminal => self.terminal_latency_picoseconds,
            Class::Local => self.local_latency_picoseconds,
            Class::Global => self.global_latency_picoseconds,
        })
    }
}

impl Default for LinkModel {
    fn default() -> Self {
        Self {
            packet_bytes: 4096,
            header_bytes: 0,
            terminal_latency_picoseconds: 10_000,
            local_latency_picoseconds: 10_000,
            global_latency_picoseconds: 100_000,
            rates_bytes_per_second: Vec::new(),
            efficiency: 1.0,
        }
    }
}

impl Default for RouterModel {
    fn default() -> Self {
        Self {
            delay_picoseconds: 100_000,
            buffer_bytes: 65_536,
            local_buffer_bytes: None,
            lanes: 1,
            input_speedup: 2,
            arbitration: Arbitration::default(),
            queues: Queues::default(),
            switching: Switching::default(),
            dateline: Dateline::default(),
            ties: Ties::default(),
            pipeline: None,
        }
    }
}

impl Default for HostModel {
    fn default() -> Self {
        Self {
            injection_bytes_per_second: 0.0,
            ejection_bytes_per_second: 0.0,
            memory_latency_picoseconds: 0,
            loopback_by_router: false,
            send_overhead_picoseconds: 0,
            receive_overhead_picoseconds: 0,
            forward_overhead_picoseconds: 0,
            copy_bytes_per_second: 0.0,
            copies_forwarded: false,
            eager_bytes: u64::MAX >> 1,
            grants: Grants::default(),
            both_ways_bytes: None,
            chunks_by: Carry::default(),
            control_bytes: 32,
        }
    }
}

/// The presets by name, with their files.
const PRESETS: &[(&str, &str)] = &[
    ("bgq", include_str!("../../data/sim/bgq.toml")),
    ("bgq-pipeline", include_str!("../../data/sim/bgq-pipeline.toml")),
    ("mira", include_str!("../../data/sim/mira.toml")),
    ("fattree-12.5", include_str!("../../data/sim/fattree-12.5.toml")),
    ("brown1296", include_str!("../../data/sim/brown1296.toml")),
    ("dragonfly+3456", include_str!("../../data/sim/dragonfly+3456.toml")),
    ("kang3456", include_str!("../../data/sim/kang3456.toml")),
    ("edison", include_str!("../../data/sim/edison.toml")),
    ("cab18", include_str!("../../data/sim/cab18.toml")),
    ("lab", include_str!("../../data/sim/lab.toml")),
    ("lab-jobs", include_str!("../../data/sim/lab-jobs.toml")),
];

impl Model {
    /// The names of the presets.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|p| p.0)
    }

    /// A preset by its name, or else the file of that name.
    ///
    /// # Errors
    /// A sentence that names the file and what is wrong in it.
    pub fn read(name: &str) -> Result<Self, SimError> {
        let preset = PRESETS.iter().find(|p| p.0 == name);
        let (what, text) = match preset {
            Some((name, text)) => (format!("model {name}"), (*text).to_owned()),
            None => {
                let presets = Self::presets().collect::<Vec<_>>().join(", ");
                let text = optiq_net::text_file::read(Path::new(name), 1 << 20)
                    .map_err(|e| format!("model file {name}: {e}; a file or one of the presets {presets} is expected"))
                    .map_err(SimError::Model)?;
                (format!("model file {name}"), text)
            }
        };
        let model: Self = toml::from_str(&text).map_err(|e| SimError::Model(format!("{what}: {e}")))?;
        model.check().map_err(|why| SimError::Model(format!("{what}: {why}")))?;
        Ok(model)
    }

    /// The preset for a topology's specification, or the default model.
    pub fn for_topology(spec: &str) -> Self {
        let name = match spec.split([':', ',']).next() {
            Some("bgq") => "bgq",
            Some("fattree") => "fattree-12.5",
            Some("dragonfly+") => "dragonfly+3456",
            Some("dragonfly") => "edison",
            // Five dimensions of which the last is two long: a partition of Blue Gene/Q by its shape.
            Some("torus") if spec.split(',').next().is_some_and(|s| s.matches('x').count() == 4) => "bgq",
            _ => {
                log::debug!("no preset fits topology {spec}: the default model");
                return Self::default();
            }
        };
        log::debug!("model {name} fits topology {spec}");
        Self::read(name).unwrap_or_default()
    }

    /// The preset that fits a network and the rate of its links, or the default model.
    pub fn for_network(network: &Network) -> Self {
        let model = Self::for_topology(network.spec());
        match model.check_rate(network) {
            Ok(()) => model,
            Err(why) => {
                log::debug!("{why}: the default model");
                Self::default()
            }
        }
    }

    /// Whether memory has a queue for each link that leaves its host, where hosts are joined directly.
    pub(crate) fn has_queue_per_link(&self) -> bool {
        self.router.pipeline.as_ref().is_none_or(|pipeline| pipeline.memory_input_per_link)
    }

    /// Makes packets a number of times as large, and buffers with them, so that these hold as many packets as before: a simulation with
    /// fewer events, whose packets share links more coarsely.
    pub fn enlarge_packets(&mut self, times: u64) {
        let buffers = [&mut self.link.packet_bytes, &mut self.router.buffer_bytes];
        for size in buffers.into_iter().chain(&mut self.router.local_buffer_bytes) {
            *size = size.saturating_mul(times);
        }
    }

    /// Checks that the model is for links of the network's rate.
    ///
    /// # Errors
    /// A sentence that names both rates.
    pub fn check_rate(&self, network: &Network) -> Result<(), String> {
        let (rates, unit) = (&self.link.rates_bytes_per_second, network.unit_capacity());
        if rates.is_empty() || unit == 0.0 || rates.iter().any(|rate| (rate / unit - 1.0).abs() < 1e-3) {
            return Ok(());
        }
        let rates = rates.iter().map(|&rate| format_rate(rate)).collect::<Vec<_>>().join(" or ");
        Err(format!(
            "the model {} is for links of {rates}, but those of {} have {}",
            self.title,
            network.spec(),
            format_rate(unit)
        ))
    }

    /// Checks all values.
    ///
    /// # Errors
    /// A sentence that names the key, its value, and what is expected.
    pub fn check(&self) -> Result<(), String> {
        let Self { link, router, host, .. } = self;
        let positive = [
            ("link.packet_bytes", link.packet_bytes),
            ("router.buffer_bytes", router.buffer_bytes),
            ("router.local_buffer_bytes", router.local_buffer_bytes.unwrap_or(1)),
            ("router.lanes", u64::from(router.lanes)),
            ("router.input_speedup", u64::from(router.input_speedup)),
            ("host.control_bytes", host.control_bytes),
            ("host.both_ways_bytes", host.both_ways_bytes.unwrap_or(1)),
        ];
        if let Some((key, _)) = positive.iter().find(|p| p.1 == 0) {
            return Err(format!("{key} is 0; at least 1 is expected"));
        }
        let largest = link.packet_bytes.saturating_add(link.header_bytes);
        if largest > u64::from(u32::MAX / 2) {
            return Err(format!("link.packet_bytes with its header is {largest}; at most 2^31 - 1 is expected"));
        }
        let buffers = [("buffer_bytes", Some(router.buffer_bytes)), ("local_buffer_bytes", router.local_buffer_bytes)];
        if let Some((key, buffer)) = buffers.iter().find_map(|&(key, size)| Some((key, size.filter(|&b| b < largest)?)))
        {
            return Err(format!("router.{key} is {buffer}, too small for a packet of {largest} bytes"));
        }
        if router.lanes > 64 {
            return Err(format!("router.lanes is {}; at most 64 is expected", router.lanes));
        }
        if !(link.efficiency > 0.0 && link.efficiency <= 1.0) {
            return Err(format!("link.efficiency is {}; above 0 and at most 1 is expected", link.efficiency));
        }
        let rates = [
            ("host.injection_bytes_per_second", host.injection_bytes_per_second),
            ("host.ejection_bytes_per_second", host.ejection_bytes_per_second),
            ("host.copy_bytes_per_second", host.copy_bytes_per_second),
        ];
        if let Some((key, rate)) = rates.iter().find(|r| !(r.1.is_finite() && r.1 >= 0.0)) {
            return Err(format!("{key} is {rate}; a rate, or 0 for no limit, is expected"));
        }
        if let Some(rate) = link.rates_bytes_per_second.iter().find(|r| !(r.is_finite() && **r > 0.0)) {
            return Err(format!("link.rates_bytes_per_second has {rate}; rates above zero are expected"));
        }
        let times = [
            link.terminal_latency_picoseconds,
            link.local_latency_picoseconds,
            link.global_latency_picoseconds,
            router.delay_picoseconds,
            host.memory_latency_picoseconds,
            host.send_overhead_picoseconds,
            host.receive_overhead_picoseconds,
            host.forward_overhead_picoseconds,
        ];
        if let Some(time) = times.iter().find(|&&t| Time::picoseconds(t) > Time::SECOND) {
            return Err(format!("a latency, delay or overhead is {time} ps; at most a second (10^12 ps) is expected"));
        }
        if router.queues == Queues::Outputs && (router.lanes > 1 || router.pipeline.is_some()) {
            return Err(
                "router.queues is \"outputs\" with router.lanes above 1 or router.pipeline; neither is expected".into(),
            );
        }
        router.pipeline.as_ref().map_or(Ok(()), |pipeline| pipeline.check(router.delay_picoseconds))
    }
}

impl Pipeline {
    fn check(&self, delay: u64) -> Result<(), String> {
        let &Self { cycle_picoseconds: cycle, speedup, routing_steps: steps, .. } = self;
        if cycle == 0 || Time::picoseconds(cycle) > Time::SECOND {
            return Err(format!("router.pipeline.cycle_picoseconds is {cycle}; 1 ps to a second is expected"));
        }
        if speedup == 0 || !cycle.is_multiple_of(u64::from(speedup)) {
            let text = "at least 1, and a divisor of router.pipeline.cycle_picoseconds, is expected";
            return Err(format!("router.pipeline.speedup is {speedup}; {text}"));
        }
        if steps > 1000 || Time::picoseconds(self.credit_delay_picoseconds) > Time::SECOND {
            return Err("router.pipeline has more than 1000 routing_steps, or a credit delay above a second".into());
        }
        if delay < cycle {
            let text = "with router.pipeline at least a cycle, in which a flit arrives, is expected";
            return Err(format!("router.delay_picoseconds is {delay}; {text}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_can_be_read() {
        for name in Model::presets() {
            Model::read(name).unwrap();
        }
        assert_eq!(Model::for_topology("bgq:1024").title, Model::read("bgq").unwrap().title);
        let unknown = Model::read("mirra").unwrap_err().to_string();
        assert!(unknown.starts_with("model file mirra: ") && unknown.contains("one of the presets bgq"), "{unknown}");
    }

    #[test]
    fn a_model_is_for_links_of_its_rate() {
        let network = |spec: &str| Network::from_spec(spec).unwrap();
        let (slow, fast) = (network("fattree:k=4"), network("fattree:k=4,capacity=12.5GB/s"));
        let model = Model::read("fattree-12.5").unwrap();
        assert_eq!(model.check_rate(&fast), Ok(()));
        assert_eq!(
            model.check_rate(&slow).unwrap_err(),
            "the model fat tree, 12.5 GB/s is for links of 12.5GB/s, but those of fattree:2x2x4:1x2x2 have 1GB/s"
        );
        assert_eq!((Model::for_network(&fast).title, Model::for_network(&slow).title), (model.title, "default".into()));
        assert_eq!(Model::default().check_rate(&slow), Ok(()));
        let written = toml::from_str::<Model>("[link]\nrates_bytes_per_second = [-1.0]").unwrap().check();
        assert!(written.unwrap_err().contains("rates_bytes_per_second has -1"));
    }

    #[test]
    fn buffers_follow_classes_and_packets() {
        let mut model = Model::default();
        model.router.local_buffer_bytes = Some(8192);
        assert_eq!(
            [Class::Terminal, Class::Local, Class::Global].map(|c| model.router.buffer(c)),
            [65_536, 8192, 65_536]
        );
        model.enlarge_packets(4);
        let RouterModel { buffer_bytes, local_buffer_bytes, .. } = model.router;
        assert_eq!((model.link.packet_bytes, buffer_bytes, local_buffer_bytes), (16_384, 262_144, Some(32_768)));
    }

    #[test]
    fn mistakes_are_told() {
        let wrong = |text: &str| {
            let model: Result<Model, _> = toml::from_str(text);
            model.map_err(|e| e.to_string()).and_then(|m| m.check()).unwrap_err()
        };
        assert!(wrong("[router]\nbuffer_bytes = 100").contains("too small for a packet of 4096 bytes"));
        assert!(wrong("[router]\nlocal_buffer_bytes = 100").contains("router.local_buffer_bytes is 100, too small"));
        assert!(wrong("[router]\nlocal_buffer_bytes = 0").contains("router.local_buffer_bytes is 0"));
        assert!(wrong("[link]\npacket_bytes = 0").contains("link.packet_bytes is 0"));
        assert!(wrong("[link]\nefficiency = 0").contains("link.efficiency is 0"));
        assert!(wrong("[host]\nsped = 0").contains("sped"));
        assert!(wrong("[host]\nboth_ways_bytes = 0").contains("host.both_ways_bytes is 0; at least 1"));
        assert!(wrong("[router.pipeline]\nspeedup = 3").contains("router.pipeline.speedup is 3"));
        assert!(wrong("[router.pipeline]\ncycle_picoseconds = 0").contains("cycle_picoseconds is 0"));
        assert!(wrong("[router]\ndelay_picoseconds = 9\n[router.pipeline]").contains("delay_picoseconds is 9"));
        assert!(wrong("[host]\ncopy_bytes_per_second = -1").contains("copy_bytes_per_second is -1"));
    }
}
