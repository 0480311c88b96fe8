//! Exchanges between ranks: the chunk scheduler of optiq-transport, unchanged, and MPI's own algorithms beside it.
//!
//! One rank runs on each host, with the host's number. A chunk is a message whose receiver confirms it, as an MPI send in
//! synchronous mode, so that the bytes in flight are known; a credit is a message of control size.

use super::message::Message;
use super::report::{ClassArrivals, Report, SharedReport};
use super::{chunks, mpi};
use crate::engine::limits::End;
use crate::error::SimError;
use crate::model::{Carry, Model};
use crate::options::RunOptions;
use crate::outcome::Outcome;
use crate::simulation::simulate;
use crate::time::Time;
use optiq_net::Network;
use optiq_transport::{Path, QueueOrder, ScheduleOptions};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// How an exchange is carried out.
#[derive(Clone)]
pub enum Method {
    /// Along paths of hosts, by the chunk scheduler.
    Paths {
        /// The paths.
        paths: Vec<Path>,
        /// Chunks, windows, budget.
        options: ScheduleOptions,
        /// Which of a host's queues goes first.
        order: QueueOrder,
        /// How chunks travel.
        carry: Carry,
    },
    /// All messages at once, to the next host first: Open MPI's `basic_linear`, and what Blue Gene/Q does. See also
    /// [`HostModel::both_ways_bytes`](crate::model::HostModel::both_ways_bytes).
    Linear,
    /// In as many steps as there are hosts; in step `i` each sends to the `i`-th after it, receives from the `i`-th before it
    /// and waits for both, also where there are no bytes: `pairwise` of Open MPI and MPICH.
    Pairwise,
}

/// What an exchange took.
pub struct Exchanged {
    /// When each host was done.
    pub done: Vec<Time>,
    /// When the last byte of each priority class had arrived, if there is more than one.
    pub class_done: BTreeMap<u8, Time>,
    /// All that the simulation found.
    pub outcome: Outcome,
}

impl Exchanged {
    /// When all hosts were done.
    pub fn time(&self) -> Time {
        self.done.iter().copied().max().unwrap_or(Time::ZERO)
    }
}

/// Simulates an exchange.
///
/// # Errors
/// As [`simulate`]; what the chunk scheduler reports; messages between hosts that do not exist.
pub fn exchange(
    network: &Network,
    model: &Model,
    messages: &[Message],
    method: &Method,
    options: &RunOptions<'_>,
) -> Result<Exchanged, SimError> {
    let hosts = network.hosts() as u32;
    if let Some(m) = messages.iter().find(|m| m.source.max(m.destination) >= hosts) {
        let text = format!("a message from host {} to host {}; there are {hosts} hosts", m.source, m.destination);
        return Err(SimError::Workload(text));
    }
    let report: SharedReport =
        Arc::new(Mutex::new(Report { done: vec![Time::ZERO; hosts as usize], ..Report::default() }));
    let programs = match method {
        Method::Paths { paths, options, order, carry } => {
            let arrivals = ClassArrivals::of_messages(hosts, messages);
            chunks::programs(hosts, model, paths, options, (*order, *carry), (arrivals, &report))?
        }
        Method::Linear => mpi::all_at_once(hosts, messages, model.host.both_ways_bytes, &report),
        Method::Pairwise => mpi::pairwise(hosts, messages, &report),
    };
    let options = RunOptions { workload: options.fingerprint_of(&(method, messages)), ..*options };
    let outcome = simulate(network, model, programs, &options);
    let Report { done, class_done, failure, .. } = std::mem::take(&mut *report.lock());
    match failure {
        // It says more than the deadlock does.
        Some(failure) => Err(failure.into()),
        None => Ok(Exchanged { done, class_done, outcome: outcome? }),
    }
}

/// As it would be derived, but with bare numbers for paths and ranks: checkpoints have a fingerprint of this text, and those that
/// were made before paths and ranks had types are still of the same exchange.
impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Paths { paths, options, order, carry } => {
                let paths: Vec<BarePath<'_>> = paths.iter().map(BarePath).collect();
                let mut all = f.debug_struct("Paths");
                all.field("paths", &paths)
                    .field("options", options)
                    .field("order", order)
                    .field("carry", carry)
                    .finish()
            }
            Method::Linear => f.write_str("Linear"),
            Method::Pairwise => f.write_str("Pairwise"),
        }
    }
}

/// A path in that text.
struct BarePath<'a>(&'a Path);

impl fmt::Debug for BarePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Path { id, ranks, bytes, source_offset, destination_offset, starts_at, class } = self.0;
        let ranks: Vec<u32> = ranks.iter().map(|rank| rank.0).collect();
        let mut path = f.debug_struct("Path");
        path.field("id", &id.0).field("ranks", &ranks).field("bytes", bytes);
        path.field("source_offset", source_offset).field("destination_offset", destination_offset);
        if let Some(start) = starts_at {
            path.field("starts_at", start);
        }
        if *class > 0 {
            path.field("class", class);
        }
        path.finish()
    }
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Exchanged {
    /// Whether it finished.
    pub fn finished(&self) -> bool {
        self.outcome.end == End::Finished
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use optiq_transport::{PathId, Rank};

    #[test]
    fn what_checkpoints_are_compared_by_has_bare_numbers() {
        let ranks = vec![Rank(0), Rank(2)];
        let path =
            Path { id: PathId(3), ranks, bytes: 5, source_offset: 7, destination_offset: 0, starts_at: None, class: 0 };
        let (options, order) = (ScheduleOptions::default(), QueueOrder::default());
        let method = Method::Paths { paths: vec![path], options, order, carry: Carry::OneSided };
        let path = "Path { id: 3, ranks: [0, 2], bytes: 5, source_offset: 7, destination_offset: 0 }";
        let expected = format!("Paths {{ paths: [{path}], options: {options:?}, order: {order:?}, carry: OneSided }}");
        assert_eq!(format!("{method:?}"), expected);
        assert_eq!(format!("{:?} {:?}", Method::Linear, Method::Pairwise), "Linear Pairwise");
    }
}
