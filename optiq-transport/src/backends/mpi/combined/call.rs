//! Calls one after the other, and the waiting in them.
//!
//! Calls of a rank move one at a time, in the order in which they begin, which is the same on all ranks: the memory of a node has two
//! halves, and what a rank packs is for the ranks that have packed as often. A call that blocks is waited for at once; one that was started
//! goes on whenever the rank says so ([`Combined::advance`]).

use super::super::comm::Communicator;
use super::node::{CombinedOptions, Node};
use super::side::Sides;
use super::turn::Turn;
use crate::backoff::Backoff;
use crate::combining::CombiningSchedule;
use crate::error::TransportError;
use optiq_trace::ids::Rank;
use std::collections::VecDeque;
use std::rc::Rc;

/// Combined messages on a communicator. See the top of the module.
pub struct Combined {
    node: Rc<Node>,
    schedule: Rc<CombiningSchedule>,
    /// Calls that have begun at this rank, those that wait for their turn included.
    begun: u64,
    /// Calls that were started and are not complete, in order.
    started: VecDeque<Started>,
    /// Started calls that have failed, by number.
    failed: Vec<(u64, TransportError)>,
    /// Calls since [`Combined::take_partners`], and the partners of this rank's node in them.
    counted: u64,
    partners: u64,
    /// Why no further call can be served.
    broken: Option<TransportError>,
}

/// A call that was started.
struct Started {
    number: u64,
    sides: Sides,
    schedule: Rc<CombiningSchedule>,
    /// Once it is its turn.
    turn: Option<Turn>,
}

/// What a step has done.
struct Stepped {
    is_done: bool,
    moved: bool,
    /// Only ranks of the same node can let it go on.
    waits_for_its_node: bool,
}

impl Combined {
    /// On a duplicate of a communicator whose ranks are on the nodes `ranks`, all of them in one list each, ascending;
    /// collective. The inner error says why it cannot be had, on all ranks alike: no memory that the ranks of a node share, or too
    /// little of it.
    ///
    /// # Errors
    /// What MPI reports.
    ///
    /// # Panics
    /// If a rank is on no node.
    pub fn new(
        comm: &Communicator,
        ranks: Vec<Vec<Rank>>,
        schedule: CombiningSchedule,
        options: CombinedOptions,
    ) -> Result<Result<Self, String>, TransportError> {
        Ok(Node::new(comm, ranks, options)?.map(|node| Self {
            node: Rc::new(node),
            schedule: Rc::new(schedule),
            begun: 0,
            started: VecDeque::new(),
            failed: Vec::new(),
            counted: 0,
            partners: 0,
            broken: None,
        }))
    }

    /// Has later calls follow another schedule; the same on all ranks, between the same calls.
    pub fn follow(&mut self, schedule: CombiningSchedule) {
        self.schedule = Rc::new(schedule);
    }

    /// What is sent between nodes.
    pub fn schedule(&self) -> &CombiningSchedule {
        &self.schedule
    }

    /// The largest message between two ranks that is combined with others, in bytes.
    pub fn message_bytes(&self) -> u64 {
        self.node.message_bytes
    }

    /// The memory of this rank's node, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.node.layout.bytes()
    }

    /// How many other nodes this rank's node had bytes for, or got bytes from, whichever is more: the mean of the calls since this was asked
    /// last, rounded; none without a call. Known at one rank of the node; 0 at the others.
    pub fn take_partners(&mut self) -> Option<u32> {
        let (calls, partners) = (std::mem::take(&mut self.counted), std::mem::take(&mut self.partners));
        (calls > 0).then(|| ((partners + calls / 2) / calls) as u32)
    }

    /// As `MPI_Alltoallv`, after all that was started before; collective.
    ///
    /// # Errors
    /// What MPI reports, and [`TransportError::Unexpected`] at a rank to which other bytes were sent than it expects.
    ///
    /// # Safety
    /// As for `MPI_Alltoallv`.
    pub unsafe fn exchange(&mut self, sides: Sides) -> Result<(), TransportError> {
        // SAFETY: passed on; the call is complete before this function returns, or nothing refers to the buffers any more.
        let number = unsafe { self.start(sides)? };
        let bell = self.node.bell();
        let mut backoff = Backoff::default();
        loop {
            let rung = bell.rung();
            let Stepped { moved, waits_for_its_node, .. } = self.step();
            if self.has_ended(number)? {
                return Ok(());
            }
            if moved {
                backoff.moved();
            } else if backoff.shares_processor() && waits_for_its_node {
                bell.sleep(rung);
                self.node.progress();
            } else {
                backoff.idle();
            }
        }
    }

    /// Starts a call as [`Combined::exchange`] makes it; its number. Collective in the sense of MPI: all ranks start and make calls in the same
    /// order.
    ///
    /// # Errors
    /// Why no further call can be served.
    ///
    /// # Safety
    /// As for `MPI_Ialltoallv`: buffers, counts and datatypes must stay as they are until [`Combined::has_ended`].
    pub unsafe fn start(&mut self, sides: Sides) -> Result<u64, TransportError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        self.begun += 1;
        let schedule = Rc::clone(&self.schedule);
        self.started.push_back(Started { number: self.begun, sides, schedule, turn: None });
        Ok(self.begun)
    }

    /// Whether something that was started is not complete.
    pub fn has_started(&self) -> bool {
        !self.started.is_empty()
    }

    /// Makes progress with what was started, without waiting; whether anything moved.
    pub fn advance(&mut self) -> bool {
        let mut moved = false;
        while !self.started.is_empty() {
            let stepped = self.step();
            moved |= stepped.moved;
            if !stepped.is_done {
                break;
            }
        }
        moved
    }

    /// Whether the call of this number is complete.
    ///
    /// # Errors
    /// Why it failed.
    pub fn has_ended(&mut self, number: u64) -> Result<bool, TransportError> {
        match self.failed.iter().position(|f| f.0 == number) {
            Some(at) => Err(self.failed.swap_remove(at).1),
            None => Ok(self.started.front().is_none_or(|first| first.number > number)),
        }
    }

    /// Forgets what was started. No further call can be served.
    pub fn abandon(&mut self) {
        let rank = self.node.comm.rank();
        self.broken.get_or_insert(TransportError::Unexpected { rank, what: "exchanges were abandoned".into() });
        self.started.clear();
    }

    /// Makes a step of the call whose turn it is.
    fn step(&mut self) -> Stepped {
        let nothing = Stepped { is_done: false, moved: false, waits_for_its_node: true };
        let Some(Started { number, sides, schedule, turn }) = self.started.front_mut() else { return nothing };
        let stepped = match turn {
            Some(turn) => turn.step(),
            // A rank that had nothing to wait for has left the last call before others of the node packed for it. They use the other half of
            // the memory, and counts of packed ranks are those of one call.
            None if !self.node.have_packed(*number - 1) => return nothing,
            // SAFETY: by the contract of `start`; the turn ends before its buffers may change.
            None => unsafe { Turn::begin(&self.node, schedule, *number, *sides) }.map(|begun| {
                *turn = Some(begun);
                true
            }),
        };
        let ended = match (stepped, &*turn) {
            (Err(error), _) => Some(Err(error)),
            (Ok(moved), Some(turn)) if !turn.is_done() => {
                return Stepped { is_done: false, moved, waits_for_its_node: turn.waits_for_its_node() };
            }
            (Ok(_), _) => None,
        };
        let number = *number;
        let last = self.started.pop_front().and_then(|started| started.turn);
        match ended.unwrap_or_else(|| last.map_or(Ok(0), Turn::verdict)) {
            Ok(partners) => {
                self.counted += 1;
                self.partners += u64::from(partners);
            }
            Err(error) => {
                self.counted += 1;
                if matches!(error, TransportError::Mpi { .. }) {
                    // The other ranks of the node wait for what this one does not do any more.
                    self.broken = Some(error.clone());
                    self.failed.extend(self.started.drain(..).map(|started| (started.number, error.clone())));
                }
                self.failed.push((number, error));
            }
        }
        Stepped { is_done: true, moved: true, waits_for_its_node: false }
    }
}
