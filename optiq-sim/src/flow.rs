//! A second, faster model: messages as fluids that share links fairly, without packets, buffers or virtual channels.
//!
//! # The mathematics
//!
//! Each flow `f` takes a fixed set of links and has a rate `x(f)`, perhaps with a cap. Rates are *max-min fair*: they fit,
//! `sum of x(f) over the flows on l <= capacity(l)`, and no rate can grow unless one that is not larger shrinks. There is
//! exactly one such allocation, and it is the one in which every flow is at its cap or has a *bottleneck*: a link that is
//! full and on which no other flow is faster. Progressive filling finds it (D. Bertsekas and R. Gallager, "Data Networks",
//! 2nd edition, Prentice Hall 1992, section 6.5.2): all rates grow alike; where a link is full its flows stop, where a cap
//! is reached that flow does; the others go on. The next link that fills up is the one with the smallest
//! `(capacity left) / (flows that still grow)`, which never becomes smaller, so that a heap with late corrections does.
//!
//! Between two events (a flow begins or ends) rates are constant. Only what an event can change is computed again. Filling
//! goes the same way with and without a flow up to the level at which that flow stops, so **flows slower than it keep their
//! rates**; of the others only those change that are connected to it through links that they share. A flow that ends had
//! its level; one that begins will be at least as fast as `capacity / flows` on the worst of its links, or its cap.
//!
//! This is what SimGrid's LV08 model does without its correction factors (P. Velho and A. Legrand, "Accuracy Study and
//! Improvement of Network Simulation in the SimGrid Framework", SIMUTools 2009): a latency, then bytes at a fair rate.
//! Parallel links of one pair are one link with the summed capacity, as everywhere in optiq-net.
//!
//! An event costs as many steps as the flows concerned have links, and a logarithm: where all flows are connected the whole
//! run is quadratic in their number. 30,000 flows on a torus of 512 hosts take about a second, 100,000 some minutes.
//!
//! Rates and times are floating-point numbers; everything happens in an order of times and numbers of flows, so the same
//! input gives the same bits.

use crate::constants::{FLOW_LEVEL_TOLERANCE, FLOW_MOMENT_TOLERANCE};
use crate::error::SimError;
use crate::model::Model;
use crate::time::seconds;
use crate::workload::message::Message;
use optiq_net::{Class, LinkId, LinkLoad, Network, NodeId};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Bytes on their way from a host to another one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// The host that sends.
    pub source: u32,
    /// The host that receives.
    pub destination: u32,
    /// How much.
    pub bytes: u64,
    /// When it is sent, in seconds.
    pub start: f64,
    /// From then until its bytes begin to use links, in seconds.
    pub latency: f64,
    /// The most bytes per second that it takes, if less than what links give.
    pub cap: Option<f64>,
    /// Its way; the fabric's own route if it is not given.
    pub links: Option<Vec<LinkId>>,
}

impl Flow {
    /// A flow that begins at once, on the fabric's own route.
    pub fn new(source: u32, destination: u32, bytes: u64) -> Self {
        Self { source, destination, bytes, ..Self::default() }
    }
}

/// What limits flows besides the links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The part of each link's capacity that is there for the bytes of flows, above 0 and at most 1.
    pub efficiency: f64,
    /// What a host sends to all others together, in bytes per second; 0 is no limit.
    pub injection: f64,
    /// What a host receives from all others together, in bytes per second; 0 is no limit.
    pub ejection: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { efficiency: 1.0, injection: 0.0, ejection: 0.0 }
    }
}

impl Limits {
    /// Those of a packet model on a network: headers count as a loss of capacity, and memory limits hosts that are joined
    /// directly.
    pub fn of(model: &Model, network: &Network) -> Self {
        let (packet, header) = (model.link.packet_bytes as f64, model.link.header_bytes as f64);
        let memory = if is_direct(network) { 1.0 } else { 0.0 };
        let part = packet / (packet + header);
        Self {
            efficiency: model.link.efficiency * part,
            injection: memory * model.host.injection_bytes_per_second * part,
            ejection: memory * model.host.ejection_bytes_per_second * part,
        }
    }
}

/// What became of flows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finished {
    /// When each flow ended, in seconds.
    pub finish: Vec<f64>,
    /// When the last one did.
    pub makespan: f64,
    /// Bytes of flows on each link of the network.
    pub link_bytes: Vec<u64>,
    /// How many times rates were computed.
    pub updates: u64,
}

/// Who is told, after each change, the time and the rate of each flow under way, in bytes per second.
pub type Observer<'a> = &'a mut dyn FnMut(f64, &[(usize, f64)]);

/// Runs flows to their ends.
///
/// # Errors
/// [`SimError::Workload`] for a flow that cannot be: hosts or links that are not there, links that are no way from its
/// source to its destination, times or caps that are no such; [`SimError::Net`] where the fabric has no route.
pub fn run(network: &Network, flows: &[Flow], limits: &Limits) -> Result<Finished, SimError> {
    Run::new(network, flows, limits)?.finish(None)
}

/// As [`run`], with somebody who is told all rates whenever they change.
///
/// # Errors
/// As [`run`].
pub fn run_observed(
    network: &Network,
    flows: &[Flow],
    limits: &Limits,
    observer: Observer<'_>,
) -> Result<Finished, SimError> {
    Run::new(network, flows, limits)?.finish(Some(observer))
}

/// The max-min fair rate of each flow, in bytes per second, if all are under way: infinite where nothing limits it.
///
/// # Errors
/// As [`run`].
pub fn rates(network: &Network, flows: &[Flow], limits: &Limits) -> Result<Vec<f64>, SimError> {
    let Run { mut sharing, .. } = Run::new(network, flows, limits)?;
    (0..flows.len()).for_each(|flow| sharing.add(flow));
    sharing.solve();
    Ok(sharing.rates)
}

/// All messages at once, as [`crate::workload::exchange::Method::Linear`] sends them: the time that the packet simulator should find
/// too, if large messages and fair routers make packets behave as fluids.
///
/// A message has the latency of its route, of what processors do for it, and of asking first where it is larger than
/// `eager_bytes`. That a processor is busy with one message when the next comes is known of sends only. All of the latency
/// comes before the bytes meet those of others, so that this is a model for messages which take longer than their latency.
///
/// # Errors
/// As [`run`]; a model that cannot be.
pub fn exchange(network: &Network, model: &Model, messages: &[Message]) -> Result<Finished, SimError> {
    model.check().map_err(SimError::Model)?;
    let limits = Limits::of(model, network);
    let hosts = network.hosts() as u32;
    if let Some(m) = messages.iter().find(|m| m.source.max(m.destination) >= hosts) {
        return Err(stranger("message", m.source, m.destination, hosts));
    }
    // To the next host first, to itself last, as there.
    let mut order: Vec<usize> = (0..messages.len()).filter(|&i| messages[i].bytes > 0).collect();
    let distance = |m: &Message| match (m.destination + hosts - m.source) % hosts {
        0 => hosts,
        by => by,
    };
    order.sort_by_key(|&i| distance(&messages[i]));
    let mut flows: Vec<Flow> = messages.iter().map(|m| Flow::new(m.source, m.destination, 0)).collect();
    let mut sent = vec![0u64; network.hosts()];
    let mut route = Vec::new();
    for i in order {
        let Message { source, destination, bytes } = messages[i];
        let flow = &mut flows[i];
        sent[source as usize] += 1;
        flow.start = seconds(sent[source as usize] * model.host.send_overhead_picoseconds);
        flow.bytes = bytes;
        if source == destination {
            flow.cap = Some(model.host.copy_bytes_per_second).filter(|&rate| rate > 0.0);
            continue;
        }
        route.clear();
        network.route(NodeId(source), NodeId(destination), &mut route)?;
        let routers = if is_direct(network) { route.len() + 1 } else { route.len().saturating_sub(1) };
        let wire: u64 = route.iter().map(|&link| link_latency(network, model, link)).sum();
        let trip = seconds(wire + routers as u64 * model.router.delay_picoseconds);
        let dealt = seconds(model.host.receive_overhead_picoseconds);
        flow.latency = trip + dealt;
        if bytes > model.host.eager_bytes {
            let slowest = route.iter().map(|&l| network.link(l).capacity).fold(f64::INFINITY, f64::min);
            flow.latency += 2.0 * (trip + dealt + model.host.control_bytes as f64 / (slowest * limits.efficiency));
        }
        flow.links = Some(std::mem::take(&mut route));
    }
    run(network, &flows, &limits)
}

fn is_direct(network: &Network) -> bool {
    network.hosts() == network.vertices()
}

fn link_latency(network: &Network, model: &Model, link: LinkId) -> u64 {
    match network.class(link) {
        Class::Terminal => model.link.terminal_latency_picoseconds,
        Class::Local => model.link.local_latency_picoseconds,
        Class::Global => model.link.global_latency_picoseconds,
    }
}

fn stranger(what: &str, source: u32, destination: u32, hosts: u32) -> SimError {
    SimError::Workload(format!("a {what} from host {source} to host {destination}; there are {hosts} hosts"))
}

/// A number that is never NaN, in order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Key(f64);

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Max-min fair rates of a set of flows that changes. A *resource* is a link, or a host's memory in one direction.
struct Sharing {
    capacity: Vec<f64>,
    /// Flow `f` takes `ways[first[f]..first[f + 1]]`; a resource that it takes twice is there twice.
    ways: Vec<u32>,
    first: Vec<usize>,
    caps: Vec<f64>,
    /// Infinite before the first computation after a flow was added.
    rates: Vec<f64>,
    /// Per resource, the flows under way.
    members: Vec<Vec<u32>>,
    /// Resources whose members have changed since the last computation, and the lowest level at which that can matter.
    changed: Vec<u32>,
    level: f64,
    arrived: Vec<u32>,
    /// What the computation under way may change, with the rates from before.
    region: Vec<(u32, f64)>,
    resources: Vec<u32>,
    in_region: Vec<bool>,
    is_seen: Vec<bool>,
    grows: Vec<bool>,
    /// Per resource of the region: capacity left, and how many of its flows still grow.
    left: Vec<f64>,
    open: Vec<u32>,
    heap: BinaryHeap<Reverse<(Key, u32)>>,
    capped: Vec<(Key, u32)>,
}

impl Sharing {
    fn new(capacity: Vec<f64>, ways: Vec<u32>, first: Vec<usize>, caps: Vec<f64>) -> Self {
        let (flows, resources) = (caps.len(), capacity.len());
        Self {
            ways,
            first,
            caps,
            rates: vec![f64::INFINITY; flows],
            members: vec![Vec::new(); resources],
            changed: Vec::new(),
            level: f64::INFINITY,
            arrived: Vec::new(),
            region: Vec::new(),
            resources: Vec::new(),
            in_region: vec![false; flows],
            is_seen: vec![false; resources],
            grows: vec![false; flows],
            left: vec![0.0; resources],
            open: vec![0; resources],
            heap: BinaryHeap::new(),
            capped: Vec::new(),
            capacity,
        }
    }

    fn way(&self, flow: usize) -> std::ops::Range<usize> {
        self.first[flow]..self.first[flow + 1]
    }

    fn add(&mut self, flow: usize) {
        self.rates[flow] = f64::INFINITY;
        if self.way(flow).is_empty() {
            self.rates[flow] = self.caps[flow];
            return;
        }
        for &resource in &self.ways[self.first[flow]..self.first[flow + 1]] {
            self.members[resource as usize].push(flow as u32);
            self.changed.push(resource);
        }
        self.arrived.push(flow as u32);
    }

    fn remove(&mut self, flow: usize) {
        self.level = self.level.min(self.rates[flow]);
        for &resource in &self.ways[self.first[flow]..self.first[flow + 1]] {
            let members = &mut self.members[resource as usize];
            if let Some(at) = members.iter().position(|&m| m == flow as u32) {
                members.remove(at);
            }
            self.changed.push(resource);
        }
    }

    /// Computes what has changed; `region` then has the flows concerned, each with its rate from before.
    fn solve(&mut self) {
        for flow in std::mem::take(&mut self.arrived) {
            // All of them are members by now, so this is a bound whatever the order in which they came.
            let least =
                |level: f64, &r: &u32| level.min(self.capacity[r as usize] / self.members[r as usize].len() as f64);
            let level = self.ways[self.way(flow as usize)].iter().fold(self.caps[flow as usize], least);
            self.level = self.level.min(level);
        }
        let level = std::mem::replace(&mut self.level, f64::INFINITY) * (1.0 - FLOW_LEVEL_TOLERANCE.value);
        self.find_region(level);
        self.fill(level);
    }

    /// The flows at or above a level that are connected to what has changed.
    fn find_region(&mut self, level: f64) {
        self.region.clear();
        self.resources.clear();
        for resource in self.changed.drain(..) {
            if !std::mem::replace(&mut self.is_seen[resource as usize], true) {
                self.resources.push(resource);
            }
        }
        let mut next = 0;
        while let Some(&resource) = self.resources.get(next) {
            next += 1;
            let mut left = self.capacity[resource as usize];
            let mut open = 0;
            for &flow in &self.members[resource as usize] {
                let f = flow as usize;
                if self.rates[f] < level {
                    left -= self.rates[f];
                    continue;
                }
                open += 1;
                if std::mem::replace(&mut self.in_region[f], true) {
                    continue;
                }
                self.region.push((flow, self.rates[f]));
                for &other in &self.ways[self.first[f]..self.first[f + 1]] {
                    if !std::mem::replace(&mut self.is_seen[other as usize], true) {
                        self.resources.push(other);
                    }
                }
            }
            self.left[resource as usize] = left;
            self.open[resource as usize] = open;
        }
        for &resource in &self.resources {
            self.is_seen[resource as usize] = false;
        }
        for &(flow, _) in &self.region {
            self.in_region[flow as usize] = false;
            self.grows[flow as usize] = true;
        }
    }

    /// Progressive filling from a level up.
    fn fill(&mut self, mut level: f64) {
        if !level.is_finite() {
            level = 0.0;
        }
        self.heap.clear();
        self.capped.clear();
        for &resource in self.resources.iter().filter(|&&r| self.open[r as usize] > 0) {
            self.heap.push(Reverse((Key(self.share(resource)), resource)));
        }
        for &(flow, _) in self.region.iter().filter(|r| self.caps[r.0 as usize].is_finite()) {
            self.capped.push((Key(self.caps[flow as usize]), flow));
        }
        self.capped.sort_unstable();
        let mut next_cap = 0;
        while let Some(Reverse((Key(was), resource))) = self.heap.pop() {
            if self.open[resource as usize] == 0 {
                continue;
            }
            let share = self.share(resource);
            if share > was {
                self.heap.push(Reverse((Key(share), resource)));
                continue;
            }
            if let Some(&(Key(cap), flow)) = self.capped.get(next_cap)
                && cap <= share
            {
                next_cap += 1;
                if self.grows[flow as usize] {
                    self.stop(flow, cap);
                }
                self.heap.push(Reverse((Key(was), resource)));
                continue;
            }
            // Levels never fall; where rounding says so it is wrong, and a rate of 0 would never end.
            level = level.max(share);
            let members = std::mem::take(&mut self.members[resource as usize]);
            for &flow in &members {
                if self.grows[flow as usize] {
                    self.stop(flow, level.min(self.caps[flow as usize]));
                }
            }
            self.members[resource as usize] = members;
        }
    }

    fn share(&self, resource: u32) -> f64 {
        self.left[resource as usize] / f64::from(self.open[resource as usize])
    }

    /// A flow has its rate.
    fn stop(&mut self, flow: u32, rate: f64) {
        self.grows[flow as usize] = false;
        self.rates[flow as usize] = rate;
        for &resource in &self.ways[self.first[flow as usize]..self.first[flow as usize + 1]] {
            let left = &mut self.left[resource as usize];
            *left = (*left - rate).max(0.0);
            self.open[resource as usize] -= 1;
        }
    }
}

/// Flows on their way.
struct Run {
    sharing: Sharing,
    /// When the bytes of flows begin to move, in order.
    starts: Vec<(Key, u32)>,
    /// Per flow, bytes that were left at some time.
    left: Vec<(f64, f64)>,
    /// Predictions: a flow's rate may have changed since; `version` tells.
    ends: BinaryHeap<Reverse<(Key, u32, u32)>>,
    version: Vec<u32>,
    under_way: usize,
    done: Finished,
}

impl Run {
    fn new(network: &Network, flows: &[Flow], limits: &Limits) -> Result<Self, SimError> {
        let Limits { efficiency, injection, ejection } = *limits;
        if !(efficiency > 0.0 && efficiency <= 1.0) {
            let text = format!("an efficiency of {efficiency}; above 0 and at most 1 is expected");
            return Err(SimError::Workload(text));
        }
        if let Some(rate) = [injection, ejection].into_iter().find(|r| !(r.is_finite() && *r >= 0.0)) {
            let text = format!("a limit of {rate} bytes per second for hosts; a rate, or 0 for none, is expected");
            return Err(SimError::Workload(text));
        }
        if flows.len() >= u32::MAX as usize {
            return Err(SimError::Workload(format!("{} flows; fewer than 2^32 - 1 are supported", flows.len())));
        }
        let hosts = network.hosts() as u32;
        let links = network.links().len() as u32;
        let mut capacity: Vec<f64> = network.links().iter().map(|l| l.capacity * efficiency).collect();
        for rate in [injection, ejection] {
            capacity.extend((0..hosts).map(|_| if rate > 0.0 { rate } else { f64::INFINITY }));
        }
        let mut load = LinkLoad::empty(network);
        let (mut ways, mut first, mut caps) = (Vec::new(), vec![0], Vec::new());
        let mut starts = Vec::with_capacity(flows.len());
        let mut route = Vec::new();
        for (number, flow) in flows.iter().enumerate() {
            check(network, number, flow)?;
            route.clear();
            match &flow.links {
                Some(links) => route.extend(links),
                None => network.route(NodeId(flow.source), NodeId(flow.destination), &mut route)?,
            }
            load.add(network, &route, flow.bytes)?;
            ways.extend(route.iter().map(|l| l.0));
            if flow.source != flow.destination {
                let memory = [(injection, links + flow.source), (ejection, links + hosts + flow.destination)];
                ways.extend(memory.iter().filter(|m| m.0 > 0.0).map(|m| m.1));
            }
            first.push(ways.len());
            caps.push(flow.cap.unwrap_or(f64::INFINITY));
            starts.push((Key(flow.start + flow.latency), number as u32));
        }
        starts.sort_unstable();
        let left = flows.iter().map(|f| (f.bytes as f64, 0.0)).collect();
        let done = Finished { finish: vec![0.0; flows.len()], link_bytes: load.bytes, ..Finished::default() };
        Ok(Self {
            sharing: Sharing::new(capacity, ways, first, caps),
            starts,
            left,
            ends: BinaryHeap::new(),
            version: vec![0; flows.len()],
            under_way: 0,
            done,
        })
    }

    fn finish(mut self, mut observer: Option<Observer<'_>>) -> Result<Finished, SimError> {
        let starts = std::mem::take(&mut self.starts);
        let mut next = 0;
        loop {
            while let Some(&Reverse((_, flow, version))) = self.ends.peek()
                && self.version[flow as usize] != version
            {
                self.ends.pop();
            }
            let start = starts.get(next).map_or(f64::INFINITY, |s| s.0.0);
            let end = self.ends.peek().map_or(f64::INFINITY, |e| e.0.0.0);
            let now = start.min(end);
            if !now.is_finite() {
                break;
            }
            while let Some(&Reverse((Key(at), flow, version))) = self.ends.peek()
                && at <= now * (1.0 + FLOW_MOMENT_TOLERANCE.value)
            {
                self.ends.pop();
                if self.version[flow as usize] == version {
                    self.version[flow as usize] += 1;
                    self.under_way -= 1;
                    self.done.finish[flow as usize] = at;
                    self.sharing.remove(flow as usize);
                }
            }
            while let Some(&(Key(at), flow)) = starts.get(next)
                && at <= now
            {
                next += 1;
                self.begin(at, flow as usize);
            }
            self.update(now);
            if let Some(observer) = &mut observer {
                let mut list: Vec<(usize, f64)> = self
                    .sharing
                    .members
                    .iter()
                    .flatten()
                    .map(|&f| (f as usize, self.sharing.rates[f as usize]))
                    .collect();
                list.sort_unstable_by_key(|l| l.0);
                list.dedup_by_key(|l| l.0);
                observer(now, &list);
            }
        }
        self.done.makespan = self.done.finish.iter().copied().fold(0.0, f64::max);
        Ok(self.done)
    }

    fn begin(&mut self, now: f64, flow: usize) {
        let bytes = self.left[flow].0;
        if bytes == 0.0 || self.sharing.way(flow).is_empty() {
            // A cap is finite and above zero, or infinite.
            self.done.finish[flow] = now + bytes / self.sharing.caps[flow];
            return;
        }
        self.left[flow].1 = now;
        self.under_way += 1;
        self.sharing.add(flow);
    }

    /// Rates have changed: so have ends.
    fn update(&mut self, now: f64) {
        self.sharing.solve();
        self.done.updates += 1;
        for i in 0..self.sharing.region.len() {
            let (flow, before) = self.sharing.region[i];
            let f = flow as usize;
            let rate = self.sharing.rates[f];
            if rate == before {
                continue;
            }
            let (left, since) = self.left[f];
            // Before its first rate nothing has moved.
            let moved = if before.is_finite() { before * (now - since) } else { 0.0 };
            let left = (left - moved).max(0.0);
            self.left[f] = (left, now);
            self.version[f] += 1;
            self.ends.push(Reverse((Key(now + left / rate), flow, self.version[f])));
        }
        // Predictions that are out of date must not pile up.
        if self.ends.len() > 4 * self.under_way + 1024 {
            let version = &self.version;
            self.ends.retain(|Reverse((_, flow, v))| version[*flow as usize] == *v);
        }
    }
}

/// Whether a flow can be.
fn check(network: &Network, number: usize, flow: &Flow) -> Result<(), SimError> {
    let hosts = network.hosts() as u32;
    if flow.source.max(flow.destination) >= hosts {
        return Err(stranger("flow", flow.source, flow.destination, hosts));
    }
    let wrong = |text: String| Err(SimError::Workload(format!("flow {number}: {text}")));
    for (what, time) in [("start", flow.start), ("latency", flow.latency)] {
        if !(time.is_finite() && time >= 0.0) {
            return wrong(format!("a {what} of {time} seconds; a number from 0 on is expected"));
        }
    }
    if let Some(cap) = flow.cap
        && !(cap.is_finite() && cap > 0.0)
    {
        return wrong(format!("a cap of {cap} bytes per second; a number above 0 is expected"));
    }
    let Some(links) = &flow.links else { return Ok(()) };
    let mut at = NodeId(flow.source);
    for &link in links {
        if link.index() >= network.links().len() {
            return wrong(format!("link {}; there are {} links", link.0, network.links().len()));
        }
        let link = network.link(link);
        if link.from != at {
            let (found, expected) = (network.name(link.from), network.name(at));
            return wrong(format!("a link that begins at {found}; one that begins at {expected} is expected"));
        }
        at = link.to;
    }
    if at != NodeId(flow.destination) {
        let (found, expected) = (network.name(at), network.name(NodeId(flow.destination)));
        return wrong(format!("links that end at {found}; {expected} is expected"));
    }
    Ok(())
}
