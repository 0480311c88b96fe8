//! The simulated system of document 003: target, background, placements, and how far runs are smaller than the published ones.
//!
//! All ranks of the target send their first message at the same time and then one each interval, as those of CODES's synthetic
//! workloads do (docs/results/codes.md): messages come in bursts. That is no detail. With random starts the mean of 4 MB messages each
//! 4 ms would be that of one message on an idle network; published is what a burst of all takes.
//!
//! The background sends from host `k` of a group to host `k` of the next one and of the one after it: to both each interval, or to one of
//! them in turn, at half the rate each ([`Partners`]). With 48 hosts a group and 48 cables between two groups the first reading loads these
//! by the percentage that is called TGLL (section 3.2), the second one by half of it.

use super::super::setting::Setting;
use crate::failure::Failure;
use crate::published_dragonfly_plus::{DragonflyPlus, MessageSize};
use optiq_net::random::SplitMix64;
use optiq_net::{Network, NodeId};
use optiq_sim::jobs::placed::{PlacedJob, PlacedOutcome, simulate_placed};
use optiq_sim::jobs::placement::shuffle;
use optiq_sim::time::Time;
use optiq_sim::{Model, Policy, RunOptions};

/// Ranks of the target.
pub(super) const RANKS: usize = 2304;
/// Groups of the background; the target has the others under contiguous placement.
const BACKGROUND_GROUPS: u32 = 3;
/// Hosts of the background on each leaf switch of its groups.
pub(super) const PER_LEAF: u32 = 2;
/// The same where the broadcast's text has three more.
pub(super) const PER_LEAF_OF_BROADCAST: u32 = 5;
/// The seed of placements and runs.
const SEED: u64 = 1;
/// The preset of the machine.
pub(super) const MODEL: &str = "kang3456";

/// Where the target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// In groups 3 to 8.
    Contiguous,
    /// On random hosts, 29.6 % of them in groups 0 to 2.
    Random,
}

impl Placement {
    pub(super) const ALL: [Placement; 2] = [Placement::Contiguous, Placement::Random];

    pub(super) fn name(self) -> &'static str {
        match self {
            Placement::Contiguous => "contiguous",
            Placement::Random => "random",
        }
    }
}

/// What the target's ranks do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    Uniform,
    Stencil,
    Tornado,
}

/// To whom a host of the background sends each interval: the text allows both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Partners {
    /// To one of its two partners, in turn.
    InTurn,
    /// To both.
    Both,
}

impl Partners {
    pub(super) const ALL: [Partners; 2] = [Partners::InTurn, Partners::Both];

    pub(super) fn name(self) -> &'static str {
        match self {
            Partners::InTurn => "one partner in turn",
            Partners::Both => "both partners",
        }
    }
}

/// A background.
#[derive(Clone, Copy, Debug)]
pub(super) struct Background {
    /// The size of a message, and the time from one to the next.
    pub bytes: u64,
    pub interval_nanoseconds: u64,
    /// Hosts on each leaf switch.
    pub per_leaf: u32,
    /// To whom they send.
    pub partners: Partners,
}

impl Background {
    /// One of Table 1, by the number of its load: 50, 90 and 130 %.
    pub(super) fn of(size: &MessageSize, load: usize, partners: Partners) -> Self {
        let (bytes, interval_nanoseconds) = (size.background_bytes[load], size.background_interval_nanoseconds);
        Self { bytes, interval_nanoseconds, per_leaf: PER_LEAF, partners }
    }
}

/// Messages of each rank, and times of the 4 KB packets in a packet, for each size of messages.
pub(super) const SCALES: [(u64, u64); 3] = [(140, 1), (30, 4), (6, 8)];

/// See the top of the file.
pub(super) struct System<'a> {
    setting: &'a Setting<'a>,
    pub published: &'a DragonflyPlus,
    pub network: Network,
    pub model: Model,
    contiguous: Vec<u32>,
    random: Vec<u32>,
    /// Whether runs are no smaller than the claims' own.
    pub judged: bool,
}

impl<'a> System<'a> {
    /// # Errors
    /// None but for data that cannot be read.
    pub(super) fn new(setting: &'a Setting<'a>) -> Result<Self, Failure> {
        let published = &setting.published.dragonfly_plus;
        let network = Network::from_spec(&published.topology)?;
        let hosts = network.hosts() as u32;
        let per_group = hosts / published.groups;
        let first = per_group * BACKGROUND_GROUPS;
        let mut system = System {
            setting,
            published,
            model: Model::read(MODEL)?,
            contiguous: (first..hosts).collect(),
            random: Vec::new(),
            judged: setting.scale.unwrap_or(1) == 1 && setting.packets.unwrap_or(1) == 1,
            network,
        };
        system.random = system.draw(first, hosts);
        Ok(system)
    }

    /// Random hosts, with the published share in the background's groups, none of them on a host of the largest background.
    fn draw(&self, first: u32, hosts: u32) -> Vec<u32> {
        let mut random = SplitMix64::new(SEED);
        let inside = (self.published.random_share_in_background * RANKS as f64).round() as usize;
        let in_leaf = self.in_leaf();
        let mut free: Vec<u32> = (0..first).filter(|h| h % in_leaf >= PER_LEAF_OF_BROADCAST).collect();
        shuffle(&mut free, &mut random);
        free.truncate(inside);
        let mut others: Vec<u32> = (first..hosts).collect();
        shuffle(&mut others, &mut random);
        others.truncate(RANKS - inside);
        free.extend(others);
        shuffle(&mut free, &mut random);
        free
    }

    /// Hosts of a leaf switch.
    fn in_leaf(&self) -> u32 {
        let hosts = self.network.hosts() as u32;
        let leaf = |h: u32| self.network.out_links(NodeId(h)).next().map(|l| self.network.link(l).to);
        (1..hosts).find(|&h| leaf(h) != leaf(0)).unwrap_or(hosts)
    }

    /// The group of a host.
    pub(super) fn group(&self, host: u32) -> u32 {
        host / (self.network.hosts() as u32 / self.published.groups)
    }

    /// The hosts of the target's ranks.
    pub(super) fn hosts(&self, placement: Placement) -> &[u32] {
        match placement {
            Placement::Contiguous => &self.contiguous,
            Placement::Random => &self.random,
        }
    }

    /// With rank 0 on the first of the target's hosts for which `is_wanted` holds, which changes places with it.
    pub(super) fn with_root(&self, placement: Placement, is_wanted: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut hosts = self.hosts(placement).to_vec();
        if let Some(at) = hosts.iter().position(|&h| is_wanted(h)) {
            hosts.swap(0, at);
        }
        hosts
    }

    /// Whether a host is in the background's groups.
    pub(super) fn is_inside(&self, host: u32) -> bool {
        self.group(host) < BACKGROUND_GROUPS
    }

    /// Messages of each rank in runs with messages of this size, by its number.
    pub(super) fn messages(&self, size: usize) -> u64 {
        self.scaled(SCALES[size].0)
    }

    /// A number of messages of each rank, divided as was asked.
    pub(super) fn scaled(&self, messages: u64) -> u64 {
        (messages / self.setting.scale.unwrap_or(1)).max(1)
    }

    /// The two jobs of a background.
    fn background(&self, background: Background) -> Result<Vec<PlacedJob>, Failure> {
        let (in_leaf, first) = (self.in_leaf(), self.contiguous[0]);
        let hosts: Vec<u32> = (0..first).filter(|h| h % in_leaf < background.per_leaf).collect();
        let in_group = hosts.len() / BACKGROUND_GROUPS as usize;
        let Background { bytes, interval_nanoseconds, .. } = background;
        let job = |by: usize| {
            // In turn: two shifts at half the rate each.
            let times = if background.partners == Partners::InTurn { 2 } else { 1 };
            let (shift, interval) = (by * in_group, times * interval_nanoseconds);
            let text = format!("tornado,message={bytes}B,shift={shift},interval={interval}ns");
            Ok(PlacedJob { program: text.parse()?, hosts: hosts.clone(), servers: 0, is_measured: false })
        };
        [1, 2].map(job).into_iter().collect()
    }

    /// Runs a target, which is job 0, beside a background or alone.
    ///
    /// # Errors
    /// As the simulator has them.
    pub(super) fn run(
        &self,
        program: &str,
        hosts: &[u32],
        background: Option<Background>,
        packets: u64,
    ) -> Result<PlacedOutcome, Failure> {
        self.setting.progress.now(program.split(",samples").next().unwrap_or(program));
        let factor = packets * self.setting.packets.unwrap_or(1);
        let mut model = self.model.clone();
        model.enlarge_packets(factor);
        model.check().map_err(|e| Failure::Input(format!("--packets {factor}: {e}")))?;
        let target = PlacedJob { program: program.parse()?, hosts: hosts.to_vec(), servers: 0, is_measured: true };
        let mut jobs = vec![target];
        if let Some(background) = background {
            jobs.extend(self.background(background)?);
        }
        let routing = Policy::Fpar { threshold: Policy::FPAR_THRESHOLD };
        let options = RunOptions { threads: 1, seed: SEED, routing, ..RunOptions::default() };
        Ok(simulate_placed(&self.network, &model, &jobs, &options)?)
    }

    /// The mean latency of the target's messages, in microseconds.
    ///
    /// # Errors
    /// As the simulator has them.
    pub(super) fn mean(
        &self,
        (pattern, placement): (Pattern, Placement),
        (size, interval): (usize, usize),
        messages: u64,
        background: Option<Background>,
    ) -> Result<f64, Failure> {
        let MessageSize { bytes, intervals_nanoseconds, .. } = &self.published.size[size];
        let pattern = match pattern {
            Pattern::Uniform => "uniform".to_owned(),
            Pattern::Stencil => "stencil".to_owned(),
            // One group's hosts.
            Pattern::Tornado => format!("tornado,shift={}", self.network.hosts() as u32 / self.published.groups),
        };
        let interval = intervals_nanoseconds[interval];
        let program =
            format!("{pattern},message={bytes}B,interval={interval}ns,start=together,warmup=0,samples={messages}");
        let found = self.run(&program, self.hosts(placement), background, SCALES[size].1)?;
        Ok(mean_microseconds(found.reports[0].durations()))
    }

    /// What all pages say of the runs.
    pub(super) fn note(&self) -> String {
        let [(n0, _), (n1, p1), (n2, p2)] = SCALES;
        format!(
            "Runs: {n0} messages a rank of 4 KB, {n1} of 512 KB, {n2} of 4 MB, all of them measured, then nothing more; how many the \
             source sends is not published. Packets carry 4,096 bytes; where messages have 512 KB {p1} times, 4 MB {p2} times as \
             many, with buffers that are as much larger. All ranks start together and send once each interval. Backgrounds: {PER_LEAF} \
             hosts on each leaf switch of groups 0 to 2 with a message each 1, 10 and 100 us for the three sizes (Table 1), from random \
             starts, to both partners of a host unless a row says in turn (decision 043). Routing: FPAR, threshold 50 %, two virtual lanes. Model \
             `data/sim/{MODEL}.toml`. The reading of the background was chosen after K6 and K7 had been run with the other one (decision 043), before K3 and K5."
        )
    }
}

/// The mean of durations, in microseconds.
pub(super) fn mean_microseconds(durations: Vec<Time>) -> f64 {
    let sum: f64 = durations.iter().map(|d| d.seconds()).sum();
    sum * 1e6 / durations.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Progress;
    use crate::published::Published;

    #[test]
    fn placements_are_as_the_text_has_them() {
        let published = Published::load().unwrap();
        let progress = Progress::new(&|_| {});
        let setting = Setting {
            published: &published,
            nodes: None,
            repetitions: 1,
            scale: Some(264),
            packets: None,
            cases: &[],
            progress: &progress,
        };
        let system = System::new(&setting).unwrap();
        assert_eq!((system.in_leaf(), system.judged, system.messages(0)), (16, false, 1));
        let contiguous = system.hosts(Placement::Contiguous);
        assert_eq!((contiguous.len(), contiguous[0], system.group(contiguous[0])), (RANKS, 1152, 3));
        let mut random = system.hosts(Placement::Random).to_vec();
        let inside = random.iter().filter(|&&h| system.is_inside(h)).count();
        assert_eq!((random.len(), inside), (RANKS, 682));
        random.sort_unstable();
        random.dedup();
        assert_eq!(random.len(), RANKS);
        let load = system.background(Background::of(&system.published.size[0], 2, Partners::InTurn)).unwrap();
        assert_eq!((load.len(), load[0].hosts.len(), load[0].hosts[48]), (2, 144, 384));
        assert!(load[0].hosts.iter().all(|h| !random.contains(h)));
        let root = system.with_root(Placement::Random, |h| !system.is_inside(h))[0];
        assert!(!system.is_inside(root));
        // One message of each rank, all at once: some three microseconds.
        let mean = system.mean((Pattern::Uniform, Placement::Random), (0, 0), 1, None).unwrap();
        assert!((1.5..5.0).contains(&mean), "{mean}");
    }
}
