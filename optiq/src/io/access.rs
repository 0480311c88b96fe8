//! The rounds of one access: data moves over planned paths while servers read or write.
//!
//! Each round is one exchange of the session, in which every rank takes part. Rounds come in batches: before one, a reduction
//! tells all of any failure so far, and all its exchanges are planned, so that ranks agree on nothing while data moves.
//! (Ranks that wait in a reduction take processors from those that still forward.) A rank that fails goes on to the next
//! reduction instead of leaving, and all leave there. What a server waits for between two exchanges is only its own file
//! access.

use super::file_session::FileSession;
use super::requests::{Accesses, Failure, FileDirection};
use super::view::FileHandle;
use crate::blocks::Blocks;
use crate::constants::FILE_BATCH_ROUNDS;
use crate::error::{Error, Status};
use crate::session::{Arguments, FallbackArgs, Local, Operation};
use optiq_lower::aggregation::{Extent, Rounds, Server};
use optiq_lower::decide::Decision;
use optiq_transport::Rank;
use optiq_transport::mpi::ffi;
use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::Arc;

/// What all ranks have agreed to do.
pub(super) struct Plan<'a> {
    pub(super) direction: FileDirection,
    pub(super) file: FileHandle,
    pub(super) rounds: &'a Rounds,
    pub(super) servers: &'a [Server],
    /// Of the view.
    pub(super) element: u64,
    pub(super) displacement: i64,
    /// This rank's bytes: where in the view, and where in memory.
    pub(super) mine: Extent,
    pub(super) buffer: *mut u8,
}

/// A server's two halves.
struct Halves {
    server: usize,
    base: *mut u8,
    bytes: u64,
    accesses: [Accesses; 2],
}

impl FileSession {
    /// Carries all rounds out; collective. Returns how the bytes were moved in the last one.
    ///
    /// # Safety
    /// The file is open with the view that `plan` says, and this rank's memory valid for the whole call.
    pub(super) unsafe fn carry_out(&self, plan: &Plan<'_>) -> Result<Option<Arc<Decision>>, Error> {
        let me = self.comm().rank();
        let count = plan.rounds.count();
        let server = plan.servers.iter().position(|s| s.rank == me);
        let bytes = server.map_or(0, |s| plan.rounds.largest(s));
        // A read asks for whole elements.
        let bytes = bytes.div_ceil(plan.element).saturating_mul(plan.element);
        let mut failed: Result<(), Error> = Ok(());
        let mut memory = self.memory();
        let base = memory.take(bytes.saturating_mul(count.min(2)))?;
        let mut halves = server.map(|server| Halves {
            server,
            base,
            bytes,
            accesses: [Accesses::new(plan.direction), Accesses::new(plan.direction)],
        });
        let mut operations = Operations::default();
        if let Some(h) = halves.as_mut().filter(|_| plan.direction == FileDirection::Read && count > 0) {
            // SAFETY: by this function's contract; the halves live until the end of this function.
            unsafe { h.start(plan, 0) };
        }
        for round in 0..count {
            if let Some(h) = &mut halves {
                // Of a write: the one before last, whose half is needed now. Of a read: this one.
                failed = failed.and(h.wait(plan, round, me));
            }
            if round % FILE_BATCH_ROUNDS == 0 {
                // With a time limit also at first: what plans a batch does not look at the clock.
                if round > 0 || self.limit().is_some() {
                    self.settle(std::mem::replace(&mut failed, Ok(())))?;
                }
                // What fails here fails on all ranks.
                self.prepare(plan, halves.as_ref(), round, &mut operations)?;
            }
            if self.is_broken() {
                return failed.map(|()| None);
            }
            if let Some(h) = halves.as_mut().filter(|_| plan.direction == FileDirection::Read && round + 1 < count) {
                // SAFETY: as above; the exchange before has sent what was in that half.
                unsafe { h.start(plan, round + 1) };
            }
            // SAFETY: as above.
            let moved = unsafe { self.exchange(plan, halves.as_ref(), round, &mut operations) };
            failed = failed.and(moved);
            if let Some(h) = halves.as_mut().filter(|_| plan.direction == FileDirection::Write && failed.is_ok()) {
                // SAFETY: as above; all has arrived.
                unsafe { h.start(plan, round) };
            }
        }
        if let Some(h) = &mut halves {
            failed = failed.and(h.wait(plan, 0, me)).and(h.wait(plan, 1, me));
        }
        self.settle(failed)?;
        Ok(operations.latest.map(|o| Arc::clone(o.decision())))
    }

    /// Plans the rounds of a batch; collective.
    fn prepare(
        &self,
        plan: &Plan<'_>,
        halves: Option<&Halves>,
        first: u64,
        operations: &mut Operations,
    ) -> Result<(), Error> {
        for round in (first..plan.rounds.count()).take(FILE_BATCH_ROUNDS as usize) {
            // All ranks know which rounds repeat the one before: there is nothing to agree upon.
            if !plan.rounds.repeats(round) {
                let [from, into] = self.sides(plan, halves, round)?;
                operations.ahead.push_back((round, self.plan(from, into)?));
            }
        }
        Ok(())
    }

    /// One round: every rank's bytes to the servers, or from them.
    ///
    /// # Safety
    /// As [`FileSession::carry_out`].
    unsafe fn exchange(
        &self,
        plan: &Plan<'_>,
        halves: Option<&Halves>,
        round: u64,
        operations: &mut Operations,
    ) -> Result<(), Error> {
        if operations.ahead.front().is_some_and(|&(of, _)| of == round) {
            operations.latest = operations.ahead.pop_front().map(|(_, operation)| operation);
        } else if let Some(latest) = &mut operations.latest {
            let [from, into] = self.sides(plan, halves, round)?;
            latest.rebase(from.base, into.base);
        }
        let operation = operations.latest.as_mut().ok_or(Error::NotInitialized("a round"))?;
        let session = self.session();
        // SAFETY: both sides lie in memory that is valid for the call, and do not overlap; it is complete, or given up,
        // before this function returns.
        unsafe { session.start(operation)? };
        let late = |seconds| format!("a round took longer than {seconds} s (OPTIQ_IO_TIMEOUT)");
        match self.limit() {
            None => session.wait(operation),
            Some(_) => self.until(late, || session.test(operation)),
        }
    }

    /// What this rank sends in a round, and what it receives.
    fn sides(&self, plan: &Plan<'_>, halves: Option<&Halves>, round: u64) -> Result<[Blocks; 2], Error> {
        let ranks = self.comm().size() as usize;
        let me = self.comm().rank();
        // Between this rank's own memory and the servers.
        let mut outer = Side::new(ranks, plan.buffer);
        for (number, server) in plan.servers.iter().enumerate() {
            if let Some(extent) = plan.rounds.of_rank(number, round, me) {
                outer.set(server.rank, extent.bytes, extent.start - plan.mine.start);
            }
        }
        // Between this server's half and all ranks.
        let mut inner = Side::new(ranks, halves.map_or(std::ptr::null_mut(), |h| h.half(round)));
        if let Some(h) = halves {
            for message in plan.rounds.messages(h.server, round) {
                inner.set(message.rank, message.extent.bytes, message.at);
            }
        }
        let (send, receive) = match plan.direction {
            FileDirection::Write => (outer, inner),
            FileDirection::Read => (inner, outer),
        };
        Ok([send.blocks("send")?, receive.blocks("receive")?])
    }

    /// Plans a round; collective.
    fn plan(&self, from: Blocks, into: Blocks) -> Result<Operation, Error> {
        let to_c_ints = |list: &[u64]| list.iter().map(|&x| c_int::try_from(x).ok()).collect::<Option<Vec<_>>>();
        let lists = [&from.bytes, &from.offsets, &into.bytes, &into.offsets];
        let kept = match lists.map(|list| to_c_ints(list)) {
            [Some(a), Some(b), Some(c), Some(d)] => {
                // SAFETY: constants of the library.
                let byte = unsafe { ffi::RSMPI_UINT8_T };
                let sent = (from.base.cast_const().cast(), a.as_ptr(), b.as_ptr(), byte);
                let arguments = Arguments::new(sent, (into.base.cast(), c.as_ptr(), d.as_ptr(), byte));
                // SAFETY: arrays with as many elements as there are ranks; a valid datatype.
                Some(unsafe { FallbackArgs::new(&arguments, from.bytes.len()) }?)
            }
            // Farther than MPI_Alltoallv can count: planned or direct messages, which can.
            _ => None,
        };
        self.session().init(Ok(Local::Bytes(from, into)), kept, 0)
    }
}

/// What rounds are carried out by.
#[derive(Default)]
struct Operations {
    /// Of the latest round.
    latest: Option<Operation>,
    /// Of rounds to come that do not repeat the one before.
    ahead: VecDeque<(u64, Operation)>,
}

impl Halves {
    fn half(&self, round: u64) -> *mut u8 {
        self.base.wrapping_add(((round % 2) * self.bytes) as usize)
    }

    /// Starts to read or write a round's pieces.
    ///
    /// # Safety
    /// As [`FileSession::carry_out`]; the round's half is not in use.
    unsafe fn start(&mut self, plan: &Plan<'_>, round: u64) {
        let half = self.half(round);
        // Nothing is moved before the first round is read, nor after the last one has arrived.
        let meanwhile = match plan.direction {
            FileDirection::Write => round + 1 < plan.rounds.count(),
            FileDirection::Read => round > 0,
        };
        for piece in plan.rounds.pieces(self.server, round) {
            let memory = half.wrapping_add(piece.at as usize);
            let accesses = &mut self.accesses[(round % 2) as usize];
            // SAFETY: by this function's contract; pieces lie in the half, rounded up to whole elements, as only the last
            // bytes of a file are no whole element.
            unsafe { accesses.start(plan.file, (&piece, memory), plan.element, meanwhile) };
        }
    }

    /// Waits for what uses the half of a round.
    fn wait(&mut self, plan: &Plan<'_>, round: u64, me: Rank) -> Result<(), Error> {
        let result = self.accesses[(round % 2) as usize].wait();
        result.map_err(|Failure(why)| {
            let shift = match plan.displacement {
                0 => String::new(),
                bytes => format!(" (whose displacement is {bytes})"),
            };
            let text = format!("rank {me}, which serves I/O host {}, {why}{shift}", plan.servers[self.server].host.0);
            Error::File { status: Status::Mpi, text }
        })
    }
}

/// One side of a round: a block for each rank.
struct Side {
    base: *mut u8,
    bytes: Vec<i64>,
    offsets: Vec<i64>,
}

impl Side {
    fn new(ranks: usize, base: *mut u8) -> Self {
        Self { base, bytes: vec![0; ranks], offsets: vec![0; ranks] }
    }

    fn set(&mut self, rank: Rank, bytes: u64, offset: u64) {
        // Extents are below 2^63.
        (self.bytes[rank.index()], self.offsets[rank.index()]) = (bytes as i64, offset as i64);
    }

    fn blocks(&self, what: &str) -> Result<Blocks, Error> {
        let mut blocks = Blocks::new(what, self.base, &self.bytes, &self.offsets, 1)?;
        if blocks.extent == 0 {
            // The address of nothing is arbitrary, and may be the very value of MPI_IN_PLACE.
            blocks.base = std::ptr::null_mut();
        }
        Ok(blocks)
    }
}
