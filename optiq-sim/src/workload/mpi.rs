//! Exchanges by MPI's own algorithms.

use super::message::Message;
use super::report::{ClassArrivals, SharedReport};
use crate::nic::program::{Delivery, Host, Notice, Program};
use crate::time::Time;
use optiq_trace::codec;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A program for each host: by steps of pairs, or all messages at once.
pub(super) fn programs(
    hosts: u32,
    messages: &[Message],
    pairwise: bool,
    report: &SharedReport,
) -> Vec<Box<dyn Program>> {
    let mut sends: Vec<Vec<(u32, u64)>> = vec![Vec::new(); hosts as usize];
    let mut expected = vec![0; hosts as usize];
    for m in messages.iter().filter(|m| m.bytes > 0) {
        sends[m.source as usize].push(((m.destination + hosts - m.source) % hosts, m.bytes));
        expected[m.destination as usize] += 1;
    }
    let make = |((mut sends, missing), arrivals): ((Vec<(u32, u64)>, u64), ClassArrivals)| -> Box<dyn Program> {
        // To itself last, as a copy; the others by how far on they are.
        sends.sort_by_key(|s| s.0);
        let report = Arc::clone(report);
        match pairwise {
            true => {
                let (early, over) = (BTreeSet::new(), None);
                Box::new(Steps { hosts, sends, step: 0, open: 0, early, over, arrivals, report })
            }
            false => {
                let (unsent, over) = (sends.len() as u64, Time::ZERO);
                Box::new(AllAtOnce { hosts, missing, unsent, sends, over, arrivals, report })
            }
        }
    };
    sends.into_iter().zip(expected).zip(ClassArrivals::of_messages(hosts, messages)).map(make).collect()
}

/// A rank of `Method::Linear`.
struct AllAtOnce {
    hosts: u32,
    /// How far on, and how many bytes.
    sends: Vec<(u32, u64)>,
    missing: u64,
    unsent: u64,
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
            host.send((host.number() + by) % self.hosts, bytes, 0, Notice::Left);
        }
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        self.arrivals.arrived(delivery.from, host.now(), &self.report);
        self.missing -= 1;
        self.look(host);
    }

    fn sent(&mut self, host: &mut Host<'_>, _: u64) {
        self.unsent -= 1;
        self.look(host);
    }

    fn waits_for(&self) -> Option<String> {
        let Self { missing, unsent, .. } = self;
        (missing + unsent > 0).then(|| format!("{missing} messages to arrive and {unsent} to leave"))
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(codec::encode(&(self.missing, self.unsent, self.over, self.arrivals.save())))
    }

    fn restore(&mut self, host: u32, state: &[u8]) -> Result<(), String> {
        let classes;
        (self.missing, self.unsent, self.over, classes) = codec::decode(state)?;
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
