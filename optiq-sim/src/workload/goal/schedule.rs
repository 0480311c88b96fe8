//! GOAL schedules in memory, and their text form.

use std::fmt;
use std::sync::Arc;

/// The most ranks of a schedule.
pub const MAX_RANKS: u32 = 1 << 20;
/// The most operations of all ranks together.
pub const MAX_OPERATIONS: usize = 1 << 24;
/// The most dependencies of all ranks together.
pub const MAX_DEPENDENCIES: usize = 1 << 25;
/// The most bytes of a file.
pub const MAX_FILE_BYTES: u64 = 512 << 20;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Sends a message.
    Send {
        /// The rank that receives it.
        to: u32,
        /// Its size.
        bytes: u64,
        /// What its receiver knows it by.
        tag: u32,
    },
    /// Receives a message.
    Recv {
        /// The rank that sends it; none for any.
        from: Option<u32>,
        /// The most that it may have.
        bytes: u64,
        /// Its tag; none for any.
        tag: Option<u32>,
    },
    /// Keeps a processor busy.
    Calc {
        /// For so long.
        nanoseconds: u64,
    },
}

/// An operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub kind: OperationKind,
    /// On which of the rank's processors.
    pub cpu: u8,
    /// By which of its network interfaces.
    pub nic: u8,
    /// The line on which it is, from 1.
    pub line: u32,
}

/// An operation waits for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    /// The one that is waited for.
    pub(super) on: u32,
    /// The one that waits.
    pub(super) operation: u32,
    /// Only until it has begun (`irequires`).
    pub(super) is_start: bool,
}

/// The operations of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rank {
    pub(super) operations: Vec<Operation>,
    /// In order.
    pub(super) edges: Vec<Edge>,
    /// `edges[first[i]..first[i + 1]]` are those on operation `i`.
    pub(super) first: Vec<u32>,
}

impl Rank {
    /// `edges` without what is given twice.
    pub(super) fn new(operations: Vec<Operation>, mut edges: Vec<Edge>) -> Self {
        edges.sort_unstable();
        edges.dedup();
        let mut first = vec![0; operations.len() + 1];
        edges.iter().for_each(|e| first[e.on as usize + 1] += 1);
        (0..operations.len()).for_each(|i| first[i + 1] += first[i]);
        Self { operations, edges, first }
    }

    pub(super) fn edges_on(&self, operation: u32) -> &[Edge] {
        &self.edges[self.first[operation as usize] as usize..self.first[operation as usize + 1] as usize]
    }

    /// How many dependencies each operation has.
    pub(super) fn waits(&self) -> Vec<u32> {
        let mut waits = vec![0; self.operations.len()];
        self.edges.iter().for_each(|e| waits[e.operation as usize] += 1);
        waits
    }

    /// An operation that waits for itself, if there is one.
    pub(super) fn cycle(&self) -> Option<u32> {
        let mut waits = self.waits();
        let mut free: Vec<u32> = (0..waits.len() as u32).filter(|&i| waits[i as usize] == 0).collect();
        while let Some(operation) = free.pop() {
            for edge in self.edges_on(operation) {
                waits[edge.operation as usize] -= 1;
                if waits[edge.operation as usize] == 0 {
                    free.push(edge.operation);
                }
            }
        }
        let first = (0..waits.len() as u32).find(|&i| waits[i as usize] > 0)?;
        // That one need not be in a cycle, but what it waits for is stuck too: going back as many steps as there are
        // operations ends in a cycle.
        let mut before = vec![first; waits.len()];
        let stuck = |i: u32| waits[i as usize] > 0;
        self.edges.iter().filter(|e| stuck(e.on)).for_each(|e| before[e.operation as usize] = e.on);
        Some((0..waits.len()).fold(first, |at, _| before[at as usize]))
    }
}

/// A schedule; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    pub(super) ranks: Arc<Vec<Rank>>,
}

impl Goal {
    /// A schedule of these ranks.
    pub(super) fn new(ranks: Vec<Rank>) -> Self {
        Self { ranks: Arc::new(ranks) }
    }

    /// How many ranks it has.
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// The operations of a rank, in the order of the file; empty for a rank beyond [`Self::ranks`].
    pub fn operations(&self, rank: u32) -> &[Operation] {
        self.ranks.get(rank as usize).map_or(&[], |r| &r.operations)
    }

    /// How many operations all ranks have.
    pub fn len(&self) -> usize {
        self.ranks.iter().map(|r| r.operations.len()).sum()
    }

    /// Whether nothing happens.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many dependencies all ranks have.
    pub fn dependencies(&self) -> usize {
        self.ranks.iter().map(|r| r.edges.len()).sum()
    }
}

/// The text form, which [`Goal::parse`] reads.
impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "num_ranks {}", self.ranks())?;
        for (number, rank) in self.ranks.iter().enumerate() {
            writeln!(f, "\nrank {number} {{")?;
            for (i, operation) in rank.operations.iter().enumerate() {
                writeln!(f, "l{}: {operation}", i + 1)?;
            }
            for edge in &rank.edges {
                let word = if edge.is_start { "irequires" } else { "requires" };
                writeln!(f, "l{} {word} l{}", edge.operation + 1, edge.on + 1)?;
            }
            writeln!(f, "}}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_any = |number: Option<u32>| number.map_or("-1".into(), |n| n.to_string());
        match self.kind {
            OperationKind::Send { to, bytes, tag } => write!(f, "send {bytes}b to {to} tag {tag}")?,
            OperationKind::Recv { from, bytes, tag } => {
                write!(f, "recv {bytes}b from {} tag {}", or_any(from), or_any(tag))?;
            }
            OperationKind::Calc { nanoseconds } => write!(f, "calc {nanoseconds}")?,
        }
        if self.cpu > 0 {
            write!(f, " cpu {}", self.cpu)?;
        }
        if self.nic > 0 {
            write!(f, " nic {}", self.nic)?;
        }
        Ok(())
    }
}
