//! Exchanges by the chunk scheduler of optiq-transport, unchanged.
//!
//! A chunk is a message whose receiver confirms it, as an MPI send in synchronous mode, so that the bytes in flight are known;
//! a credit is a message of control size.

use super::report::{ClassArrivals, SharedReport};
use crate::error::SimError;
use crate::model::{Carry, Model};
use crate::nic::program::{Delivery, Host, Notice, Program};
use crate::time::{Rate, Time};
use optiq_trace::codec;
use optiq_transport::in_order::InOrder;
use optiq_transport::{LegTimes, Path, PathId, QueueOrder, Rank, Schedule, ScheduleOptions, Scheduler, TransportError};
use std::sync::Arc;
use std::time::Duration;

/// A program for each host, for an exchange along paths.
pub(super) fn programs(
    hosts: u32,
    model: &Model,
    paths: &[Path],
    options: &ScheduleOptions,
    (order, carry): (QueueOrder, Carry),
    (arrivals, report): (Vec<ClassArrivals>, &SharedReport),
) -> Result<Vec<Box<dyn Program>>, SimError> {
    let schedules = Schedule::all(hosts, paths, options)?;
    let costs = ChunkCosts::new(model, order, carry);
    let made = schedules.into_iter().zip(arrivals);
    Ok(made.map(|(schedule, arrivals)| costs.program(Arc::new(schedule), arrivals, report)).collect())
}

/// What chunks cost a rank, and how they travel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkCosts {
    forward: Time,
    copy: Rate,
    control: u64,
    order: QueueOrder,
    carry: Carry,
    leg_times: bool,
}

impl ChunkCosts {
    pub(crate) fn new(model: &Model, order: QueueOrder, carry: Carry) -> Self {
        Self {
            forward: Time::picoseconds(model.host.forward_overhead_picoseconds),
            copy: model.host.forwarded_copies().map_or(Rate::INFINITE, Rate::bytes_per_second),
            control: model.host.control_bytes,
            order,
            carry,
            leg_times: false,
        }
    }

    /// Ranks report how long each of their legs was busy, when they are done.
    pub(crate) fn with_leg_times(self) -> Self {
        Self { leg_times: true, ..self }
    }

    /// The program of a rank; it runs on the host with the rank's number and reports when it is done.
    pub(crate) fn program(
        &self,
        schedule: Arc<Schedule>,
        arrivals: ClassArrivals,
        report: &SharedReport,
    ) -> Box<dyn Program> {
        let Self { forward, copy, control, order, carry, leg_times } = *self;
        Box::new(Chunks {
            scheduler: Scheduler::new(Arc::clone(&schedule), order),
            schedule,
            arrived: InOrder::default(),
            confirmed: InOrder::default(),
            forward,
            copy,
            control,
            carry,
            leg_times: leg_times.then(LegTimes::default),
            over: None,
            arrivals,
            report: Arc::clone(report),
        })
    }
}

/// A rank with a chunk scheduler.
struct Chunks {
    schedule: Arc<Schedule>,
    scheduler: Scheduler<Arc<Schedule>>,
    arrived: InOrder,
    confirmed: InOrder,
    forward: Time,
    copy: Rate,
    control: u64,
    carry: Carry,
    /// No part of checkpoints: who wants them runs to the end.
    leg_times: Option<LegTimes>,
    /// When it was done.
    over: Option<Time>,
    arrivals: ClassArrivals,
    report: SharedReport,
}

/// Tokens: the path, a number of up to 31 bits, and whether it is a credit.
fn token(path: PathId, number: u64, credit: bool) -> u64 {
    u64::from(path.0) << 32 | (number & 0x7fff_ffff) << 1 | u64::from(credit)
}

fn parts(token: u64) -> (PathId, u64, bool) {
    (PathId((token >> 32) as u32), token >> 1 & 0x7fff_ffff, token & 1 == 1)
}

/// Simulated time as legs are timed in it.
fn since_start(host: &Host<'_>) -> Duration {
    Duration::from_nanos(host.now().as_picoseconds() / 1000)
}

impl Chunks {
    /// As `Running::step` does over a real transport. Rank `r` is on host `r`.
    fn drive(&mut self, host: &mut Host<'_>) {
        while self.scheduler.poll_post().is_some() {}
        while let Some(credit) = self.scheduler.poll_credit() {
            host.send(credit.to.0, self.control, token(credit.path, credit.chunks, true), Notice::None);
        }
        while let Some(transmit) = self.scheduler.poll_transmit() {
            let header = transmit.header;
            if header.source.0 != host.number() {
                host.work(self.forward + self.copy.time(header.bytes));
            }
            if let Some(times) = &mut self.leg_times {
                times.sent(transmit.to, since_start(host));
            }
            let notice = if self.carry == Carry::OneSided { Notice::Put } else { Notice::Received };
            host.send(transmit.to.0, header.bytes, token(header.path, header.sequence, false), notice);
        }
        if self.scheduler.is_done() && self.over.is_none() {
            self.over = Some(host.now());
            let mut report = self.report.lock();
            report.done[host.number() as usize] = host.now();
            if let Some(times) = &self.leg_times {
                report.legs.insert(Rank(host.number()), times.all());
            }
        }
    }

    fn check(&self, result: Result<(), TransportError>) {
        if let Err(error) = result {
            self.report.lock().failure.get_or_insert(error);
        }
    }
}

impl Program for Chunks {
    fn start(&mut self, host: &mut Host<'_>) {
        self.drive(host);
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        let (path, number, credit) = parts(delivery.token);
        if credit {
            let result = self.scheduler.handle_credit(path, number);
            self.check(result);
        } else {
            for sequence in self.arrived.due(path, number) {
                let result = self.scheduler.handle_received(path, sequence);
                self.check(result);
            }
            if self.arrivals.is_watching() {
                let hop = self.schedule.find(path).map(|i| self.schedule.hops()[i]);
                if let Some(hop) = hop.filter(|hop| hop.outgoing.is_none()) {
                    self.arrivals.arrived(hop.source.0, host.now(), &self.report);
                }
            }
        }
        self.drive(host);
    }

    fn sent(&mut self, host: &mut Host<'_>, what: u64) {
        let (path, number, _) = parts(what);
        for sequence in self.confirmed.due(path, number) {
            let result = self.scheduler.handle_sent(path, sequence);
            self.check(result);
            let hop = self.schedule.find(path).map(|i| self.schedule.hops()[i]);
            let Some((hop, to)) = hop.and_then(|hop| Some((hop, hop.outgoing?))) else { continue };
            if let Some(times) = &mut self.leg_times {
                times.confirmed(to.to, hop.chunk_bytes(sequence), since_start(host));
            }
            if self.carry == Carry::OneSided {
                // The chunk is in memory.
                host.send(to.to.0, self.control, token(path, sequence, false), Notice::None);
            }
        }
        self.drive(host);
    }

    fn waits_for(&self) -> Option<String> {
        (self.over.is_none() && !self.schedule.hops().is_empty()).then(|| self.scheduler.waiting_for())
    }

    fn save(&self) -> Option<Vec<u8>> {
        let Self { arrived, confirmed, over, arrivals, .. } = self;
        Some(codec::encode(&(self.scheduler.save(), arrived, confirmed, over, arrivals.save())))
    }

    fn restore(&mut self, host: u32, state: &[u8]) -> Result<(), String> {
        let (scheduler, arrived, confirmed, over, classes): (Vec<u8>, _, _, _, _) = codec::decode(state)?;
        self.scheduler.restore(&scheduler).map_err(|e| e.to_string())?;
        (self.arrived, self.confirmed, self.over) = (arrived, confirmed, over);
        self.arrivals.restore(classes, &self.report);
        self.report.lock().done[host as usize] = over.unwrap_or(Time::ZERO);
        Ok(())
    }
}
