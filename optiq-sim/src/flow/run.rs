//! Flows from their starts to their ends.

use super::flows::{Finished, Flow, Limits, Observer, check};
use super::sharing::{Key, Sharing};
use crate::constants::FLOW_MOMENT_TOLERANCE;
use crate::error::SimError;
use optiq_net::{LinkLoad, Network, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Runs flows to their ends.
///
/// # Errors
/// [`SimError::Workload`] for an invalid flow: hosts or links that do not exist, links that do not lead from its
/// source to its destination, times or caps that are not valid numbers; [`SimError::Net`] where the fabric has no route.
pub fn run(network: &Network, flows: &[Flow], limits: &Limits) -> Result<Finished, SimError> {
    Run::new(network, flows, limits)?.finish(None)
}

/// As [`run`]; the observer gets all rates whenever they change.
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

/// The max-min fair rate of each flow, in bytes per second, if all are active: infinite where nothing limits it.
///
/// # Errors
/// As [`run`].
pub fn rates(network: &Network, flows: &[Flow], limits: &Limits) -> Result<Vec<f64>, SimError> {
    let Run { mut sharing, .. } = Run::new(network, flows, limits)?;
    (0..flows.len()).for_each(|flow| sharing.add(flow));
    sharing.solve();
    Ok(sharing.rates)
}

/// The state of a run.
struct Run {
    sharing: Sharing,
    /// When the bytes of flows begin to move, in order.
    starts: Vec<(Key, u32)>,
    /// Per flow, bytes that were left at some time.
    left: Vec<(f64, f64)>,
    /// Predictions: a flow's rate may have changed since; `version` tells.
    ends: BinaryHeap<Reverse<(Key, u32, u32)>>,
    version: Vec<u32>,
    active: usize,
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
        let (mut links_of, mut first, mut caps) = (Vec::new(), vec![0], Vec::new());
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
            links_of.extend(route.iter().map(|l| l.0));
            if flow.source != flow.destination {
                let memory = [(injection, links + flow.source), (ejection, links + hosts + flow.destination)];
                links_of.extend(memory.iter().filter(|m| m.0 > 0.0).map(|m| m.1));
            }
            first.push(links_of.len());
            caps.push(flow.cap.unwrap_or(f64::INFINITY));
            starts.push((Key(flow.start + flow.latency), number as u32));
        }
        starts.sort_unstable();
        let left = flows.iter().map(|f| (f.bytes as f64, 0.0)).collect();
        let done = Finished { finish: vec![0.0; flows.len()], link_bytes: load.bytes, ..Finished::default() };
        Ok(Self {
            sharing: Sharing::new(capacity, links_of, first, caps),
            starts,
            left,
            ends: BinaryHeap::new(),
            version: vec![0; flows.len()],
            active: 0,
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
                && at <= now * (1.0 + FLOW_MOMENT_TOLERANCE)
            {
                self.ends.pop();
                if self.version[flow as usize] == version {
                    self.version[flow as usize] += 1;
                    self.active -= 1;
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
        if bytes == 0.0 || self.sharing.range(flow).is_empty() {
            // A cap is finite and above zero, or infinite.
            self.done.finish[flow] = now + bytes / self.sharing.caps[flow];
            return;
        }
        self.left[flow].1 = now;
        self.active += 1;
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
        if self.ends.len() > 4 * self.active + 1024 {
            let version = &self.version;
            self.ends.retain(|Reverse((_, flow, v))| version[*flow as usize] == *v);
        }
    }
}
