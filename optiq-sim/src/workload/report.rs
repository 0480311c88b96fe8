//! What the programs of an exchange report.

use super::message::Message;
use crate::time::Time;
use optiq_transport::{LegTime, Rank, TransportError};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What programs report: when they were done, when the bytes of each priority class had arrived, how long the legs of each rank were busy if
/// that was wanted, and the first thing that went wrong.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) done: Vec<Time>,
    pub(crate) class_done: BTreeMap<u8, Time>,
    pub(crate) legs: BTreeMap<Rank, Vec<LegTime>>,
    pub(crate) failure: Option<TransportError>,
}

/// One report for all programs.
pub(crate) type SharedReport = Arc<Mutex<Report>>;

/// The priority classes of what arrives at a rank, and when the last of each did. It knows no class where all messages of an
/// exchange have the same, and costs nothing then.
#[derive(Clone, Default)]
pub(crate) struct ClassArrivals {
    /// By source; of several messages of a pair the most urgent class.
    class_of: BTreeMap<u32, u8>,
    last: BTreeMap<u8, Time>,
}

impl ClassArrivals {
    /// For each of `hosts` ranks.
    pub(crate) fn of_messages(hosts: u32, messages: &[Message]) -> Vec<Self> {
        let mut all = vec![Self::default(); hosts as usize];
        if messages.windows(2).any(|pair| pair[0].class != pair[1].class) {
            for m in messages.iter().filter(|m| m.bytes > 0) {
                let class = all[m.destination as usize].class_of.entry(m.source).or_default();
                *class = m.class.max(*class);
            }
        }
        all
    }

    /// Whether there is anything to know of what arrives.
    pub(crate) fn is_watching(&self) -> bool {
        !self.class_of.is_empty()
    }

    /// Bytes of `source` have arrived.
    pub(crate) fn arrived(&mut self, source: u32, now: Time, report: &SharedReport) {
        if let Some(&class) = self.class_of.get(&source) {
            self.last.insert(class, now);
            self.tell(report);
        }
    }

    /// The state, for a checkpoint.
    pub(crate) fn save(&self) -> &BTreeMap<u8, Time> {
        &self.last
    }

    /// Takes over a state.
    pub(crate) fn restore(&mut self, last: BTreeMap<u8, Time>, report: &SharedReport) {
        self.last = last;
        self.tell(report);
    }

    fn tell(&self, report: &SharedReport) {
        let mut report = report.lock();
        for (&class, &time) in &self.last {
            let latest = report.class_done.entry(class).or_default();
            *latest = time.max(*latest);
        }
    }
}
