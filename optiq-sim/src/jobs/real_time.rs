//! A process of a job in real time: the same program that is simulated, driven by a clock and by messages that really arrive.
//!
//! Nothing here sends or waits. The caller says what has happened and what time it is, and is given the messages to send:
//!
//! ```text
//!     messages that arrived ──►┌─────────────────┐──► messages to send
//!     messages that have left ►│ RealTimeProcess │──► whether it is done
//!     the time ───────────────►└─────────────────┘──► when to come back
//! ```
//!
//! As in the simulator a process has a core of its own. Work that a program orders is time in which nothing else of this process
//! happens: it is waited for, not computed, so that ranks that share the real processors do not take them from each other. What
//! messages cost a simulated processor ([`crate::model::HostModel`]) is left out, since here they cost what they cost.

use crate::nic::hosts::random_stream;
use crate::nic::layout::Process;
use crate::nic::program::{Command, Delivery, Host, Notice, Program};
use crate::time::Time;
use optiq_net::random::SplitMix64;
use std::collections::BTreeMap;

/// A message that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealTimeSend {
    /// The process that it is for.
    pub to: u32,
    /// Its size.
    pub bytes: u64,
    /// What the receiver sees.
    pub token: u64,
    /// When [`RealTimeProcess::sent`] is to be called.
    pub notice: Notice,
    /// When the program ordered it: what the receiver is told.
    pub ordered: Time,
}

/// What is to come at some time.
enum Pending {
    Woken(u64),
    Delivered(Delivery),
    Sends(RealTimeSend),
}

/// See the top of the file.
pub struct RealTimeProcess {
    number: u32,
    place: Process,
    program: Box<dyn Program>,
    random: SplitMix64,
    commands: Vec<Command>,
    busy_until: Time,
    /// By time, and what was ordered first comes first.
    pending: BTreeMap<(Time, u64), Pending>,
    ordered: u64,
    is_done: bool,
}

impl RealTimeProcess {
    /// A program on the process of that number, which runs there.
    pub fn new(number: u32, place: Process, seed: u64, program: Box<dyn Program>) -> Self {
        Self {
            number,
            place,
            program,
            random: random_stream(seed, number),
            commands: Vec::new(),
            busy_until: Time::ZERO,
            pending: BTreeMap::new(),
            ordered: 0,
            is_done: false,
        }
    }

    /// Begins; `sends` gets what is to be sent, here and below.
    pub fn start(&mut self, now: Time, sends: &mut Vec<RealTimeSend>) {
        self.call(now, sends, |program, host| program.start(host));
    }

    /// A message has arrived. The program gets it when the work that it has ordered is over.
    pub fn received(&mut self, now: Time, delivery: Delivery, sends: &mut Vec<RealTimeSend>) {
        if self.busy_until > now {
            self.later(self.busy_until, Pending::Delivered(delivery));
        } else {
            self.call(now, sends, |program, host| program.received(host, delivery));
        }
    }

    /// A message is over, in the sense of its [`Notice`].
    pub fn sent(&mut self, now: Time, token: u64, sends: &mut Vec<RealTimeSend>) {
        self.call(now, sends, |program, host| program.sent(host, token));
    }

    /// Does what is due; whether anything was.
    pub fn advance(&mut self, now: Time, sends: &mut Vec<RealTimeSend>) -> bool {
        let mut moved = false;
        while let Some(entry) = self.pending.first_entry().filter(|entry| entry.key().0 <= now) {
            moved = true;
            match entry.remove() {
                Pending::Woken(token) => self.call(now, sends, |program, host| program.woken(host, token)),
                Pending::Delivered(delivery) => self.received(now, delivery, sends),
                Pending::Sends(send) => sends.push(send),
            }
        }
        moved
    }

    /// When something is due next, if something is.
    pub fn next(&self) -> Option<Time> {
        self.pending.first_key_value().map(|(&(time, _), _)| time)
    }

    /// Whether it has all its samples.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    fn later(&mut self, at: Time, what: Pending) {
        self.ordered += 1;
        self.pending.insert((at, self.ordered), what);
    }

    fn call(&mut self, now: Time, sends: &mut Vec<RealTimeSend>, f: impl FnOnce(&mut dyn Program, &mut Host<'_>)) {
        let mut commands = std::mem::take(&mut self.commands);
        let (number, place) = (self.number, self.place);
        let mut host = Host { number, place, now, random: &mut self.random, commands: &mut commands };
        f(&mut *self.program, &mut host);
        for command in commands.drain(..) {
            match command {
                Command::Send { to, bytes, token, notice, line: _ } => {
                    let send = RealTimeSend { to, bytes, token, notice, ordered: now };
                    if self.busy_until > now {
                        self.later(self.busy_until, Pending::Sends(send));
                    } else {
                        sends.push(send);
                    }
                }
                Command::Wake { at, token } => self.later(at.max(now), Pending::Woken(token)),
                Command::Work { time, token } => {
                    self.busy_until = self.busy_until.max(now).saturating_add(time);
                    if let Some(token) = token {
                        self.later(self.busy_until, Pending::Woken(token));
                    }
                }
                // Nothing is counted here but what programs record themselves.
                Command::WarmUp(_) => {}
                Command::Done => self.is_done = true,
            }
        }
        self.commands = commands;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::jobs::programs::build::{BuiltJob, build};
    use crate::jobs::programs::samples::JobReport;
    use crate::jobs::programs::setting::JobSetting;
    use crate::model::Model;
    use optiq_net::Network;
    use proptest::prelude::*;

    const MS: Time = Time::picoseconds(1_000_000_000);

    fn job(program: &str, hosts: &[u32], servers: u32, keep_going: bool) -> BuiltJob {
        let (network, model) = (Network::from_spec("star:8").unwrap(), Model::default());
        let setting = JobSetting {
            network: &network,
            model: &model,
            hosts,
            servers,
            first: 0,
            seed: 7,
            keep_going,
            planning_network: None,
        };
        build(&program.parse().unwrap(), &setting).unwrap()
    }

    /// Processes on a network on which every message takes 1 ms from the order to the receiver.
    struct Wires {
        processes: Vec<RealTimeProcess>,
        /// By arrival and number: from whom.
        wires: BTreeMap<(Time, u64), (u32, RealTimeSend)>,
        count: u64,
        bytes: u64,
    }

    impl Wires {
        fn call(&mut self, of: u32, now: Time, f: impl FnOnce(&mut RealTimeProcess, &mut Vec<RealTimeSend>)) {
            let mut sends = Vec::new();
            f(&mut self.processes[of as usize], &mut sends);
            for send in sends {
                self.count += 1;
                self.bytes += send.bytes;
                self.wires.insert((now + MS, self.count), (of, send));
            }
        }

        /// Until all are done, or nothing is to come; when that is.
        fn run(built: Vec<Box<dyn Program>>) -> (Self, Time) {
            let process = |(n, program)| RealTimeProcess::new(n, Process { host: n, job: 0 }, 7, program);
            let processes: Vec<RealTimeProcess> = (0..).zip(built).map(process).collect();
            let all = processes.len() as u32;
            let mut this = Self { processes, wires: BTreeMap::new(), count: 0, bytes: 0 };
            (0..all).for_each(|n| this.call(n, Time::ZERO, |process, sends| process.start(Time::ZERO, sends)));
            let mut now = Time::ZERO;
            while !this.processes.iter().all(RealTimeProcess::is_done) {
                let due = this.processes.iter().filter_map(RealTimeProcess::next);
                let Some(next) = due.chain(this.wires.keys().map(|key| key.0)).min() else { break };
                now = next;
                for n in 0..all {
                    this.call(n, now, |process, sends| _ = process.advance(now, sends));
                }
                while let Some(entry) = this.wires.first_entry().filter(|entry| entry.key().0 <= now) {
                    let (from, RealTimeSend { to, bytes, token, notice, ordered }) = entry.remove();
                    let delivery = Delivery { from, bytes, token, sent: ordered };
                    this.call(to, now, |process, sends| process.received(now, delivery, sends));
                    if notice != Notice::None {
                        this.call(from, now, |process, sends| process.sent(now, token, sends));
                    }
                }
            }
            (this, now)
        }
    }

    fn milliseconds(built: &JobReport) -> Vec<u64> {
        built.durations().iter().map(|&duration| duration / MS).collect()
    }

    #[test]
    fn samples_are_what_the_wires_take() {
        // (program, processes, servers, milliseconds of a sample)
        for (program, processes, servers, expected) in [
            ("pairs,message=1KB,samples=3,warmup=1", 4, 0, 1),
            ("alltoall,message=1KB,samples=3", 4, 0, 1),
            // One partner after the other.
            ("alltoall,message=1KB,algorithm=pairwise,samples=3,warmup=2", 4, 0, 3),
            // Data and reply, and 5 ms of the server between them.
            ("io-write,request=1KB,service=5ms,samples=3", 2, 1, 7),
        ] {
            let hosts: Vec<u32> = (0..processes).collect();
            let built = job(program, &hosts, servers, false);
            let report = built.report.clone();
            let (wires, _) = Wires::run(built.programs);
            assert!(wires.processes.iter().all(RealTimeProcess::is_done), "{program}");
            let found = milliseconds(&report);
            assert_eq!(found, vec![expected; 3 * (processes - servers) as usize], "{program}");
        }
    }

    #[test]
    fn work_delays_what_comes_after_it() {
        // Each operation of a pair waits for 4 ms of work, and for its message.
        let built = job("pairs,message=1KB,compute=4ms,samples=2,warmup=0", &[0, 1], 0, false);
        let report = built.report.clone();
        let (_, end) = Wires::run(built.programs);
        assert_eq!(report.samples(), 4);
        let starts: Vec<u64> = report.rank(0).samples.iter().map(|sample| sample.start / MS).collect();
        // Start at 4; the message is there at 5, but its receiver may be at work until 8, and so may be the sender.
        assert_eq!(starts[0], 4);
        assert!(starts[1] >= 10 && end >= MS * 11, "{starts:?} {end:?}");
    }

    proptest! {
        /// Whatever the ranks do, the bytes are those of the operations: nothing is lost and nothing comes twice.
        #[test]
        fn every_operation_is_made(ranks in 2u32..7, samples in 1u32..5, bytes in 1u64..5000, think in 0u64..4) {
            let hosts: Vec<u32> = (0..ranks).collect();
            let text = format!("alltoall,message={bytes}B,think={think}ms,samples={samples},warmup=0");
            let (wires, _) = Wires::run(job(&text, &hosts, 0, false).programs);
            let all = u64::from(samples) * u64::from(ranks) * u64::from(ranks - 1);
            prop_assert_eq!(wires.count, all);
            prop_assert_eq!(wires.bytes, all * bytes);
        }
    }
}
