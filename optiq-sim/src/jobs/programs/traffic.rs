//! Which ranks of a job can ever send to each other, and how much, before anything is simulated.

use super::alltoallv;
use super::broadcast;
use super::build::{Traffic, rank_hosts, traffic_of};
use super::destinations::Rule;
use super::grid;
use super::open_loop::OpenRule;
use super::phases::Exchange;
use super::setting::JobSetting;
use crate::error::SimError;
use crate::jobs::program_spec::{AllToAllVAlgorithm, IoSpec, ProgramKind, ProgramSpec};
use crate::workload::goal::schedule::{Goal, OperationKind};
use optiq_probe::description;
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes from each of some ranks to each of others, a rank to itself left out. Servers are ranks behind all others.
#[derive(Clone, Debug, PartialEq)]
pub struct Flows {
    /// Who sends.
    pub sources: Range<u32>,
    /// Who receives.
    pub destinations: Range<u32>,
    /// Of each pair, for one operation of each rank, on average; small messages of the protocols included. May be zero, of
    /// messages without bytes.
    pub bytes: f64,
}

/// All pairs of ranks that can ever send to each other. Requests, grants and confirmations are among them: each leads back
/// from a receiver to a sender. Where any pair may talk, that is one entry. An entry may repeat pairs of another one: then
/// bytes add up.
///
/// # Errors
/// As [`super::build::build`].
pub fn traffic(spec: &ProgramSpec, setting: &JobSetting<'_>) -> Result<Vec<Flows>, SimError> {
    setting.check(spec)?;
    let mut list = List { flows: Vec::new(), control: setting.model.host.control_bytes as f64 };
    let ranks = setting.ranks();
    let by_rendezvous = |bytes: u64| bytes > setting.model.host.eager_bytes;
    match traffic_of(spec, setting)? {
        Traffic::Closed { rule, bytes, puts } => list.rule(&rule, ranks, bytes, true, !puts && by_rendezvous(bytes)),
        Traffic::Open(OpenRule::Message(rule), bytes, _) => list.rule(&rule, ranks, bytes, false, by_rendezvous(bytes)),
        Traffic::Open(OpenRule::Stencil(dims), bytes, _) => list.stencil(dims, bytes, by_rendezvous(bytes)),
        Traffic::Phases(exchange) => match &spec.kind {
            ProgramKind::Stencil { message, dims } => {
                list.stencil(dims.unwrap_or_else(|| grid::dims(ranks)), *message, by_rendezvous(*message));
            }
            ProgramKind::AllToAll { message, .. } => list.all(ranks, *message as f64, by_rendezvous(*message)),
            ProgramKind::SampleSort { total } => {
                // Samples and splitters go between rank 0 and all others.
                let mut sends = Vec::new();
                for phase in 0..exchange.phases() - 1 {
                    for rank in 0..ranks {
                        sends.clear();
                        exchange.phase(rank, phase, &mut sends);
                        sends.iter().for_each(|&(to, bytes)| list.pair(rank, to, bytes as f64, by_rendezvous(bytes)));
                    }
                }
                list.all(ranks, *total as f64 / f64::from(ranks), by_rendezvous(total / u64::from(ranks)));
            }
            ProgramKind::AllToAllV { message, demands, algorithm } => {
                for (from, to, bytes) in alltoallv::rank_demands(demands, ranks, *message)? {
                    list.pair(from, to, bytes as f64, by_rendezvous(bytes));
                }
                if *algorithm == AllToAllVAlgorithm::Pairwise {
                    // Messages without bytes, in each step.
                    list.add(0..ranks, 0..ranks, 0.0);
                }
            }
            ProgramKind::Compression { .. } | ProgramKind::Steps { .. } => {
                list.phases(&*exchange, ranks, by_rendezvous)
            }
            _ => {}
        },
        Traffic::Other => match &spec.kind {
            ProgramKind::Impact { message } => list.impact(setting, *message, by_rendezvous(*message))?,
            ProgramKind::Broadcast { message, tree } => {
                for rank in 0..ranks {
                    for child in broadcast::children(rank, ranks, *tree) {
                        list.pair(rank, child, *message as f64, by_rendezvous(*message));
                        list.add(child..child + 1, rank..rank + 1, list.control);
                    }
                }
            }
            ProgramKind::AllToAllV { message, demands, .. } => {
                let demands = alltoallv::rank_demands(demands, ranks, *message)?;
                for path in alltoallv::plan(&demands, setting)?.paths {
                    for hop in path.ranks.windows(2).filter(|hop| hop[0] != hop[1]) {
                        // Credits, confirmations and announcements, of each of which there is at least one.
                        list.pair(hop[0].0, hop[1].0, path.bytes as f64, true);
                    }
                }
                list.barrier(ranks);
            }
            ProgramKind::Goal { file } => {
                list.goal(&Goal::read(file)?, by_rendezvous);
                list.barrier(ranks);
            }
            ProgramKind::Io(io) => list.io(*io, ranks, setting.servers),
            _ => {}
        },
    }
    Ok(list.flows)
}

struct List {
    flows: Vec<Flows>,
    /// The size of a message of the protocol.
    control: f64,
}

impl List {
    fn add(&mut self, sources: Range<u32>, destinations: Range<u32>, bytes: f64) {
        self.flows.push(Flows { sources, destinations, bytes });
    }

    /// One message, and what the rendezvous adds to both directions.
    fn pair(&mut self, from: u32, to: u32, bytes: f64, rendezvous: bool) {
        let request = if rendezvous { self.control } else { 0.0 };
        self.add(from..from + 1, to..to + 1, bytes + request);
        if rendezvous {
            self.add(to..to + 1, from..from + 1, self.control);
        }
    }

    /// All messages of all phases.
    fn phases(&mut self, exchange: &dyn Exchange, ranks: u32, by_rendezvous: impl Fn(u64) -> bool) {
        // Bytes of each pair, and whether any of its messages is large.
        let mut sums: BTreeMap<(u32, u32), (f64, bool)> = BTreeMap::new();
        let mut sends = Vec::new();
        for (phase, rank) in (0..exchange.phases()).flat_map(|phase| (0..ranks).map(move |rank| (phase, rank))) {
            sends.clear();
            exchange.phase(rank, phase, &mut sends);
            for &(to, bytes) in &sends {
                let sum = sums.entry((rank, to)).or_default();
                *sum = (sum.0 + bytes as f64, sum.1 || by_rendezvous(bytes));
            }
        }
        sums.into_iter().for_each(|((from, to), (bytes, rendezvous))| self.pair(from, to, bytes, rendezvous));
    }

    fn impact(&mut self, setting: &JobSetting<'_>, bytes: u64, rendezvous: bool) -> Result<(), SimError> {
        let partners = description::pair_up(rank_hosts(setting));
        let partners = partners.map_err(|e| SimError::Workload(format!("impact: {e}")))?;
        for (rank, partner) in (0..).zip(partners) {
            if let Some(partner) = partner {
                self.pair(rank, partner.rank, bytes as f64, rendezvous);
            }
        }
        Ok(())
    }

    /// Any to any.
    fn all(&mut self, ranks: u32, bytes: f64, rendezvous: bool) {
        let back = if rendezvous { 2.0 * self.control } else { 0.0 };
        self.add(0..ranks, 0..ranks, bytes + back);
    }

    fn rule(&mut self, rule: &Rule, ranks: u32, bytes: u64, confirmed: bool, rendezvous: bool) {
        let bytes = bytes as f64;
        let confirmation = if confirmed { self.control } else { 0.0 };
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        match rule {
            Rule::Uniform => {
                let part = f64::from(ranks.max(2) - 1);
                let back = if rendezvous { 2.0 * self.control } else { 0.0 };
                return self.add(0..ranks, 0..ranks, (bytes + back + confirmation) / part);
            }
            Rule::Partners(partners) => pairs.extend((0..).zip(partners.iter().copied())),
            Rule::Shift(by) => {
                let to = |rank: u32| ((u64::from(rank) + u64::from(*by)) % u64::from(ranks)) as u32;
                pairs.extend((0..ranks).map(|rank| (rank, to(rank))));
            }
            Rule::One(root) => pairs.extend((0..ranks).filter(|rank| rank != root).map(|rank| (rank, *root))),
        }
        for (from, to) in pairs {
            self.pair(from, to, bytes, rendezvous);
            if confirmed {
                self.add(to..to + 1, from..from + 1, confirmation);
            }
        }
    }

    fn stencil(&mut self, dims: [u32; 3], bytes: u64, rendezvous: bool) {
        for rank in 0..dims.iter().product() {
            for to in grid::neighbours(rank, dims) {
                self.pair(rank, to, bytes as f64, rendezvous);
            }
        }
    }

    /// The messages without bytes between operations.
    fn barrier(&mut self, ranks: u32) {
        for step in (0..u32::BITS).take_while(|&step| 1u64 << step < u64::from(ranks)) {
            for rank in 0..ranks {
                let to = ((u64::from(rank) + (1 << step)) % u64::from(ranks)) as u32;
                self.add(rank..rank + 1, to..to + 1, 0.0);
            }
        }
    }

    fn goal(&mut self, goal: &Goal, by_rendezvous: impl Fn(u64) -> bool) {
        for rank in 0..goal.ranks() {
            for operation in goal.operations(rank) {
                if let OperationKind::Send { to, bytes, .. } = operation.kind
                    && to != rank
                {
                    self.pair(rank, to, bytes as f64, by_rendezvous(bytes));
                }
            }
        }
    }

    fn io(&mut self, io: IoSpec, ranks: u32, servers: u32) {
        let (clients, servers) = (0..ranks, ranks..ranks + servers);
        let count = f64::from(servers.end - servers.start);
        let data = io.request as f64 / count;
        // Requests and replies; grants and the rendezvous are a few more of the same size, and lead where these do.
        let control = self.control * f64::from(io.stripes) / count;
        let (up, down) = if io.is_read { (control, data) } else { (data, control) };
        self.add(clients.clone(), servers.clone(), up);
        self.add(servers, clients, down);
    }
}
