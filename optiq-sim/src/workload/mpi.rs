//! Exchanges by MPI's own algorithms.

use super::message::Message;
use super::report::{ClassArrivals, SharedReport};
use crate::nic::program::{Delivery, Host, Notice, Program};
use crate::time::Time;
use optiq_trace::codec;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a host sends: how far on, and how many bytes; to itself last, as a copy.
type Sends = Vec<(u32, u64)>;

/// The token of the first bytes of a message whose rest goes later.
const FIRST_BYTES: u64 = 1;

/// What each host sends, and how many messages it receives.
fn sends(hosts: u32, messages: &[Message]) -> impl Iterator<Item = (Sends, u64)> {
    let mut sends: Vec<Sends> = vec![Vec::new(); hosts as usize];
    let mut expected = vec![0; hosts as usize];
    for m in messages.iter().filter(|m| m.bytes > 0) {
        sends[m.source as usize].push(((m.destination + hosts - m.source) % hosts, m.bytes));
        expected[m.destination as usize] += 1;
    }
    for list in &mut sends {
        list.sort_by_key(|s| s.0);
    }
    sends.into_iter().zip(expected)
}

/// A program for each host: all messages at once. Of those that two hosts send each other, `both_ways` bytes go both ways at a time.
pub(super) fn all_at_once(
    hosts: u32,
    messages: &[Message],
    both_ways: Option<u64>,
    report: &SharedReport,
) -> Vec<Box<dyn Program>> {
    let both_ways = both_ways.unwrap_or(u64::MAX);
    let mut large_from = vec![BTreeSet::new(); hosts as usize];
    for m in messages.iter().filter(|m| m.bytes > both_ways) {
        large_from[m.destination as usize].insert(m.source);
    }
    let parts = sends(hosts, messages).zip(large_from).zip(ClassArrivals::of_messages(hosts, messages));
    let make = |(((sends, missing), large_from), arrivals): (((Sends, u64), BTreeSet<u32>), ClassArrivals)| {
        let (unsent, waiting, over, report) = (sends.len() as u64, BTreeMap::new(), Time::ZERO, Arc::clone(report));
        let program =
            AllAtOnce { hosts, both_ways, large_from, missing, unsent, sends, waiting, over, arrivals, report };
        Box::new(program) as Box<dyn Program>
    };
    parts.map(make).collect()
}

/// A program for each host: by steps of pairs.
pub(super) fn pairwise(hosts: u32, messages: &[Message], report: &SharedReport) -> Vec<Box<dyn Program>> {
    let make = |((sends, _), arrivals): ((Sends, u64), ClassArrivals)| -> Box<dyn Program> {
        let (early, over, report) = (BTreeSet::new(), None, Arc::clone(report));
        Box::new(Steps { hosts, sends, step: 0, open: 0, early, over, arrivals, report })
    };
    sends(hosts, messages).zip(ClassArrivals::of_messages(hosts, messages)).map(make).collect()
}

/// A rank of `Method::Linear`.
struct AllAtOnce {
    hosts: u32,
    /// See [`crate::model::HostModel::both_ways_bytes`].
    both_ways: u64,
    /// Who sends this rank more than that.
    large_from: BTreeSet<u32>,
    sends: Sends,
    missing: u64,
    unsent: u64,
    /// For each rank that sends this one a large message, what goes to it when that has arrived.
    waiting: BTreeMap<u32, Vec<u64>>,
    /// When it was done.
    over: Time,
    arrivals: ClassArrivals,
    report: SharedReport,
}

impl AllAtOnce {
    fn look(&mut self, host: &Host<'_>) {
        if self.missing == 0 && self.unsent == 0 {
            self.over = host.now();
            self.report.lock().done[host.number() as usize] = host.now();
        }
    }
}

impl Program for AllAtOnce {
    fn start(&mut self, host: &mut Host<'_>) {
        for &(by, bytes) in &self.sends {
            let to = (host.number() + by) % self.hosts;
            if bytes > self.both_ways && host.number() > to && self.large_from.contains(&to) {
                host.send(to, self.both_ways, FIRST_BYTES, Notice::Left);
                self.waiting.entry(to).or_default().push(bytes - self.both_ways);
            } else {
                host.send(to, bytes, 0, Notice::Left);
            }
        }
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        if delivery.token == FIRST_BYTES {
            return;
        }
        if delivery.bytes > self.both_ways {
            for rest in self.waiting.remove(&delivery.from).into_iter().flatten() {
                host.send(delivery.from, rest, 0, Notice::Left);
            }
        }
        self.arrivals.arrived(delivery.from, host.now(), &self.report);
        self.missing -= 1;
        self.look(host);
    }

    fn sent(&mut self, host: &mut Host<'_>, token: u64) {
        if token != FIRST_BYTES {
            self.unsent -= 1;
            self.look(host);
        }
    }

    fn waits_for(&self) -> Option<String> {
        let Self { missing, unsent, .. } = self;
        (missing + unsent > 0).then(|| format!("{missing} messages to arrive and {unsent} to leave"))
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(codec::encode(&(self.missing, self.unsent, &self.waiting, self.over, self.arrivals.save())))
    }

    fn restore(&mut self, host: u32, state: &[u8]) -> Result<(), String> {
        let classes;
        (self.missing, self.unsent, self.waiting, self.over, classes) = codec::decode(state)?;
        self.arrivals.restore(classes, &self.report);
        self.report.lock().done[host as usize] = self.over;
        Ok(())
    }
}

/// A rank of `Method::Pairwise`.
struct Steps {
    hosts: u32,
    sends: Vec<(u32, u64)>,
    step: u32,
    /// What the step still waits for.
    open: u32,
    /// Messages of later steps that are there, by step.
    early: BTreeSet<u32>,
    /// When it was done.
    over: Option<Time>,
    arrivals: ClassArrivals,
    report: SharedReport,
}

impl Steps {
    fn next(&mut self, host: &mut Host<'_>) {
        while self.open == 0 && self.over.is_none() {
            self.step += 1;
            if self.step >= self.hosts {
                self.over = Some(host.now());
                self.report.lock().done[host.number() as usize] = host.now();
                return;
            }
            let found = self.sends.binary_search_by_key(&self.step, |s| s.0);
            let bytes = found.map_or(0, |i| self.sends[i].1);
            self.open = 1 + u32::from(!self.early.remove(&self.step));
            host.send((host.number() + self.step) % self.hosts, bytes, u64::from(self.step), Notice::Left);
        }
    }
}

impl Program for Steps {
    fn start(&mut self, host: &mut Host<'_>) {
        self.next(host);
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        if delivery.bytes > 0 {
            self.arrivals.arrived(delivery.from, host.now(), &self.report);
        }
        let step = delivery.token as u32;
        if step == self.step {
            self.open -= 1;
            self.next(host);
        } else {
            self.early.insert(step);
        }
    }

    fn sent(&mut self, host: &mut Host<'_>, _: u64) {
        self.open -= 1;
        self.next(host);
    }

    fn waits_for(&self) -> Option<String> {
        self.over.is_none().then(|| format!("step {} of {}", self.step, self.hosts - 1))
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(codec::encode(&(self.step, self.open, &self.early, self.over, self.arrivals.save())))
    }

    fn restore(&mut self, host: u32, state: &[u8]) -> Result<(), String> {
        let classes;
        (self.step, self.open, self.early, self.over, classes) = codec::decode(state)?;
        self.arrivals.restore(classes, &self.report);
        self.report.lock().done[host as usize] = self.over.unwrap_or(Time::ZERO);
        Ok(())
    }
}
