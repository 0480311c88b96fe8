//! Programs that jobs run in these tests.

use optiq_sim::time::Time;
use optiq_sim::{Delivery, Host, Notice, Program};
use optiq_trace::codec;
use std::sync::{Arc, Mutex};

/// A closed loop: a rank of a job sends to another one at random, waits until that is confirmed, thinks, and sends again. With
/// its samples it is done, and keeps going.
#[derive(Clone)]
pub struct Closed {
    /// The job's processes: the first one, and how many.
    pub first: u32,
    pub ranks: u32,
    pub bytes: u64,
    pub think: Time,
    /// Messages that do not count, and those that do.
    pub warm_up: u64,
    pub samples: u64,
    pub sent: u64,
}

impl Closed {
    fn next(&mut self, host: &mut Host<'_>) {
        if self.sent == 0 && self.warm_up > 0 {
            host.warm_up(true);
        }
        if self.sent == self.warm_up {
            host.warm_up(false);
        }
        let me = host.number() - self.first;
        let other = host.random().below(u64::from(self.ranks) - 1) as u32;
        let to = self.first + other + u32::from(other >= me);
        host.send(to, self.bytes, self.sent, Notice::Received);
    }
}

impl Program for Closed {
    fn start(&mut self, host: &mut Host<'_>) {
        self.next(host);
    }

    fn received(&mut self, _: &mut Host<'_>, _: Delivery) {}

    fn sent(&mut self, host: &mut Host<'_>, _: u64) {
        self.sent += 1;
        if self.sent == self.warm_up + self.samples {
            host.done();
        }
        let jitter = Time::picoseconds(host.random().below(self.think.as_picoseconds().max(1)));
        let next = host.now() + self.think + jitter;
        host.wake_at(next, 0);
    }

    fn woken(&mut self, host: &mut Host<'_>, _: u64) {
        self.next(host);
    }

    fn waits_for(&self) -> Option<String> {
        Some("a confirmation".into())
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(codec::encode(&self.sent))
    }

    fn restore(&mut self, _: u32, state: &[u8]) -> Result<(), String> {
        self.sent = codec::decode(state)?;
        Ok(())
    }
}

/// An open loop without an end: a message after each gap, to the next rank of its job.
#[derive(Clone)]
pub struct Stream {
    pub first: u32,
    pub ranks: u32,
    pub bytes: u64,
    pub gap: Time,
}

impl Program for Stream {
    fn start(&mut self, host: &mut Host<'_>) {
        self.woken(host, 0);
    }

    fn received(&mut self, _: &mut Host<'_>, _: Delivery) {}

    fn woken(&mut self, host: &mut Host<'_>, _: u64) {
        let to = self.first + (host.number() - self.first + 1) % self.ranks;
        host.send(to, self.bytes, 0, Notice::None);
        let next = host.now() + self.gap;
        host.wake_at(next, 0);
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(Vec::new())
    }

    fn restore(&mut self, _: u32, _: &[u8]) -> Result<(), String> {
        Ok(())
    }
}

/// When something happened at a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It received a message from a process.
    From(u32),
    /// A message of its own was over.
    Over,
}

pub type Log = Arc<Mutex<Vec<(u32, Seen, u64)>>>;

/// Works for a time, then sends its messages: to whom, bytes and how it learns of their end.
pub struct Script {
    pub work: Time,
    pub messages: Vec<(u32, u64, Notice)>,
    /// Process, what, when in nanoseconds.
    pub log: Log,
}

impl Script {
    fn note(&self, host: &Host<'_>, what: Seen) {
        self.log.lock().unwrap().push((host.number(), what, host.now().as_picoseconds() / 1000));
    }
}

impl Program for Script {
    fn start(&mut self, host: &mut Host<'_>) {
        host.work(self.work);
        for &(to, bytes, notice) in &self.messages {
            host.send(to, bytes, 0, notice);
        }
        host.done();
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        self.note(host, Seen::From(delivery.from));
    }

    fn sent(&mut self, host: &mut Host<'_>, _: u64) {
        self.note(host, Seen::Over);
    }
}
