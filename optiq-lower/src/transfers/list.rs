//! Lists of transfers: what they hold, and what can be asked without a network.

use crate::error::LowerError;
use crate::lower::Message;
use crate::placement::Placement;
use optiq_net::fingerprint::Hasher;
use optiq_net::{Fingerprint, Network, NodeId};
use optiq_solver::Demand;
use optiq_transport::Rank;
use std::collections::{BTreeMap, BTreeSet};

/// A path of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferPath {
    /// The vertices of the network from the source's host to the destination's.
    pub vertices: Vec<NodeId>,
    /// Its share of the transfer's bytes; on all paths of a transfer or on none.
    pub bytes: Option<u64>,
}

/// Bytes from one rank to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The rank that has the bytes.
    pub source: Rank,
    /// The rank that needs them.
    pub destination: Rank,
    /// How many.
    pub bytes: u64,
    /// Their priority class; higher ones are more urgent (thesis 7.2.3).
    pub class: u8,
    /// The paths that they take; none: whatever a planner finds, or the fabric's own route beside transfers that have paths.
    pub paths: Vec<TransferPath>,
    /// Where it stands in its file; 0 if in none.
    pub(super) line: usize,
}

/// A list of transfers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferList {
    /// The specification of the network that the paths were found on.
    pub(super) topology: Option<String>,
    /// Its fingerprint; there if any transfer has a path.
    pub(super) network: Option<Fingerprint>,
    pub(super) list: Vec<Transfer>,
    pairs: BTreeSet<(Rank, Rank)>,
    /// What messages call it: the file's name.
    pub(super) name: String,
}

/// The most transfers, and the most vertices on all their paths together, that a list may hold.
const MAX_TRANSFERS: usize = 1 << 22;
pub(super) const MAX_VERTICES: usize = 1 << 28;

impl TransferList {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// The transfers, in their order.
    pub fn list(&self) -> &[Transfer] {
        &self.list
    }

    /// The specification of the network that the paths were found on, if the file told it.
    pub fn topology(&self) -> Option<&str> {
        self.topology.as_deref()
    }

    /// One more than the highest rank that is named.
    pub fn ranks(&self) -> u32 {
        self.list.iter().map(|j| j.source.max(j.destination).0.saturating_add(1)).max().unwrap_or(0)
    }

    /// Adds a transfer without paths; its index.
    ///
    /// # Errors
    /// [`LowerError::Argument`] if the pair has a transfer, or the list is full.
    pub fn add(&mut self, source: Rank, destination: Rank, bytes: u64) -> Result<usize, LowerError> {
        self.push(source, destination, bytes, 0).map_err(LowerError::Argument)
    }

    pub(super) fn push(&mut self, source: Rank, destination: Rank, bytes: u64, line: usize) -> Result<usize, String> {
        if self.list.len() >= MAX_TRANSFERS {
            return Err(format!("there are more than {MAX_TRANSFERS} jobs"));
        }
        if source.max(destination) == Rank(u32::MAX) {
            return Err(format!("the job from {source} to {destination} names a rank beyond 2^32 - 2"));
        }
        if !self.pairs.insert((source, destination)) {
            return Err(format!("the job from rank {source} to rank {destination} is given twice"));
        }
        self.list.push(Transfer { source, destination, bytes, class: 0, paths: Vec::new(), line });
        Ok(self.list.len() - 1)
    }

    /// Sets the bytes of a transfer.
    ///
    /// # Errors
    /// [`LowerError::Argument`] if there is no such transfer.
    pub fn set_bytes(&mut self, transfer: usize, bytes: u64) -> Result<(), LowerError> {
        self.get_mut(transfer)?.bytes = bytes;
        Ok(())
    }

    /// Sets the priority class of a transfer: chunks of higher ones go first at every rank (thesis 7.2.3). It is 0 until it is
    /// set.
    ///
    /// # Errors
    /// [`LowerError::Argument`] if there is no such transfer.
    pub fn set_class(&mut self, transfer: usize, class: u8) -> Result<(), LowerError> {
        self.get_mut(transfer)?.class = class;
        Ok(())
    }

    fn get_mut(&mut self, transfer: usize) -> Result<&mut Transfer, LowerError> {
        let transfers = self.list.len();
        let none = || LowerError::Argument(format!("there is no job {transfer}; there are {transfers}"));
        self.list.get_mut(transfer).ok_or_else(none)
    }

    /// A number for everything but the sizes: the pairs, their classes and their paths.
    pub fn shape(&self) -> u64 {
        let mut h = Hasher::new("optiq jobs 1");
        h.u64(self.list.len() as u64);
        for transfer in &self.list {
            h.u64(u64::from(transfer.source.0) << 32 | u64::from(transfer.destination.0));
            h.u64(u64::from(transfer.class) << 32 | transfer.paths.len() as u64);
            for path in &transfer.paths {
                h.u64(path.bytes.map_or(u64::MAX, |b| b));
                h.u64(path.vertices.len() as u64);
                path.vertices.iter().for_each(|v| h.u64(u64::from(v.0)));
            }
        }
        h.finish().0 as u64
    }

    /// Whether any transfer has a path.
    pub fn has_paths(&self) -> bool {
        self.list.iter().any(|j| !j.paths.is_empty())
    }

    /// Whether all ranks that are named are there.
    ///
    /// # Errors
    /// [`LowerError::Argument`], naming the file and line.
    pub fn check_ranks(&self, ranks: u32) -> Result<(), LowerError> {
        let Some(transfer) = self.list.iter().find(|j| j.source.0 >= ranks || j.destination.0 >= ranks) else {
            return Ok(());
        };
        let wrong = transfer.source.max(transfer.destination);
        Err(self.wrong(transfer, &format!("there is no rank {wrong}; there are {ranks} ranks")))
    }

    /// An error about a transfer.
    pub(super) fn wrong(&self, transfer: &Transfer, problem: &str) -> LowerError {
        let place = if transfer.line > 0 { format!("{}:{}: ", self.name, transfer.line) } else { String::new() };
        LowerError::Argument(format!(
            "{place}the job from rank {} to rank {}: {problem}",
            transfer.source, transfer.destination
        ))
    }

    pub(super) fn belongs_to(&mut self, net: &Network) {
        self.topology = Some(net.spec().to_string());
        self.network = Some(net.fingerprint());
    }

    /// The bytes of all transfers.
    pub fn bytes(&self) -> Vec<u64> {
        self.list.iter().map(|j| j.bytes).collect()
    }

    /// The transfers as messages of these sizes, ascending by (source, destination), without those of a rank to itself or of 0 bytes.
    pub fn messages(&self, bytes: &[u64]) -> Vec<Message> {
        let message = |(j, &bytes): (&Transfer, &u64)| {
            let Transfer { source, destination, class, .. } = *j;
            Message { source, destination, bytes, class }
        };
        let mut messages: Vec<Message> = self.list.iter().zip(bytes).map(message).collect();
        messages.retain(|m| m.bytes > 0 && m.source != m.destination);
        messages.sort_unstable();
        messages
    }

    pub(super) fn demands(&self, placement: &Placement, bytes: impl Fn(&Transfer) -> u64) -> Vec<Demand> {
        let mut sums: BTreeMap<(NodeId, NodeId), u64> = BTreeMap::new();
        for transfer in &self.list {
            let (src, dst) = (placement.host(transfer.source), placement.host(transfer.destination));
            if src != dst {
                let sum = sums.entry((src, dst)).or_default();
                *sum = sum.saturating_add(bytes(transfer));
            }
        }
        sums.into_iter().map(|((src, dst), bytes)| Demand::new(src, dst, bytes)).collect()
    }
}
