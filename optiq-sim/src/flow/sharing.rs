//! Max-min fair rates of a set of flows that changes: the mathematics is at the top of [`crate::flow`].

use crate::constants::FLOW_LEVEL_TOLERANCE;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A number that is never NaN, in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Key(pub(super) f64);

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
pub(super) struct Sharing {
    capacity: Vec<f64>,
    /// Flow `f` takes `links_of[first[f]..first[f + 1]]`; a resource that it takes twice is there twice.
    links_of: Vec<u32>,
    first: Vec<usize>,
    pub(super) caps: Vec<f64>,
    /// Infinite before the first computation after a flow was added.
    pub(super) rates: Vec<f64>,
    /// Per resource, the active flows.
    pub(super) members: Vec<Vec<u32>>,
    /// Resources whose members have changed since the last computation, and the lowest level at which that can matter.
    changed: Vec<u32>,
    level: f64,
    arrived: Vec<u32>,
    /// The flows that the present computation may change, with their rates from before.
    pub(super) region: Vec<(u32, f64)>,
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
    pub(super) fn new(capacity: Vec<f64>, links_of: Vec<u32>, first: Vec<usize>, caps: Vec<f64>) -> Self {
        let (flows, resources) = (caps.len(), capacity.len());
        Self {
            links_of,
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

    pub(super) fn range(&self, flow: usize) -> std::ops::Range<usize> {
        self.first[flow]..self.first[flow + 1]
    }

    pub(super) fn add(&mut self, flow: usize) {
        self.rates[flow] = f64::INFINITY;
        if self.range(flow).is_empty() {
            self.rates[flow] = self.caps[flow];
            return;
        }
        for &resource in &self.links_of[self.first[flow]..self.first[flow + 1]] {
            self.members[resource as usize].push(flow as u32);
            self.changed.push(resource);
        }
        self.arrived.push(flow as u32);
    }

    pub(super) fn remove(&mut self, flow: usize) {
        self.level = self.level.min(self.rates[flow]);
        for &resource in &self.links_of[self.first[flow]..self.first[flow + 1]] {
            let members = &mut self.members[resource as usize];
            if let Some(at) = members.iter().position(|&m| m == flow as u32) {
                members.remove(at);
            }
            self.changed.push(resource);
        }
    }

    /// Computes what has changed; `region` then has the flows concerned, each with its rate from before.
    pub(super) fn solve(&mut self) {
        for flow in std::mem::take(&mut self.arrived) {
            // All of them are members by now, so this is a bound whatever the order in which they came.
            let least =
                |level: f64, &r: &u32| level.min(self.capacity[r as usize] / self.members[r as usize].len() as f64);
            let level = self.links_of[self.range(flow as usize)].iter().fold(self.caps[flow as usize], least);
            self.level = self.level.min(level);
        }
        let level = std::mem::replace(&mut self.level, f64::INFINITY) * (1.0 - FLOW_LEVEL_TOLERANCE);
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
                for &other in &self.links_of[self.first[f]..self.first[f + 1]] {
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
        for &resource in &self.links_of[self.first[flow as usize]..self.first[flow as usize + 1]] {
            let left = &mut self.left[resource as usize];
            *left = (*left - rate).max(0.0);
            self.open[resource as usize] -= 1;
        }
    }
}
