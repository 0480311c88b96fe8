//! How far the ranks' clocks are apart, measured by round trips.
//!
//! Rank 0 only answers: each other rank in turn sends it a word and gets rank 0's clock back, a few times.
//! With `before` and `after` its own stamps around the quickest answer, rank 0 read its clock between the two, so that the
//! offset is known to half of that trip (Cristian, Probabilistic clock synchronization, Distributed Computing 3, 1989).

use super::comm::{Communicator, check};
use super::convert::c_rank;
use super::ffi;
use crate::constants::CLOCK_QUESTIONS;
use crate::error::TransportError;
use optiq_trace::Clock;
use optiq_trace::ids::Rank;
use std::os::raw::c_int;

impl Communicator {
    /// Begins a clock on every rank and finds how far it is from rank 0's; collective, and for rank 0 as long as all other
    /// ranks' messages together. Also gives a number that is the same on all ranks, and another one each time.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn align(&self) -> Result<(Clock, u64), TransportError> {
        let clock = Clock::start();
        // The number of the process tells sessions apart that begin in the same nanosecond.
        let mine = [clock.wall, clock.wall ^ (u64::from(std::process::id()) << 40)];
        let mut words = mine.map(u64::to_le_bytes).concat();
        self.broadcast(Rank(0), &mut words)?;
        let word = |i: usize| words.get(8 * i..8 * i + 8).and_then(|w| w.try_into().ok()).map_or(0, u64::from_le_bytes);
        let (wall, session) = (word(0), word(1));
        if self.rank() == Rank(0) {
            for rank in (1..self.size()).map(Rank) {
                for _ in 0..CLOCK_QUESTIONS {
                    self.receive_word(rank)?;
                    self.send_word(rank, clock.now())?;
                }
            }
            return Ok((clock, session));
        }
        let mut quickest = (0, 0, u64::MAX);
        for _ in 0..CLOCK_QUESTIONS {
            let before = clock.now();
            self.send_word(Rank(0), before)?;
            let there = self.receive_word(Rank(0))?;
            let after = clock.now();
            if after - before < quickest.2 - quickest.0 {
                quickest = (before, there, after);
            }
        }
        let (before, there, after) = quickest;
        Ok((clock.aligned(before, there, after, wall), session))
    }

    /// Back ends count their tags from 0, and may have receives from any source posted already.
    fn question_tag(&self) -> c_int {
        self.largest_tag() as c_int
    }

    fn send_word(&self, to: Rank, word: u64) -> Result<(), TransportError> {
        // SAFETY: one word, which MPI only reads, on a communicator of our own.
        let code = unsafe {
            ffi::PMPI_Send(
                (&raw const word).cast(),
                1,
                ffi::RSMPI_UINT64_T,
                c_rank(to),
                self.question_tag(),
                self.raw(),
            )
        };
        check(code, "MPI_Send")
    }

    fn receive_word(&self, from: Rank) -> Result<u64, TransportError> {
        let mut word = 0u64;
        // SAFETY: one word; the status is written by MPI and not read.
        let code = unsafe {
            let mut status = std::mem::zeroed();
            let (into, tag) = ((&raw mut word).cast(), self.question_tag());
            ffi::PMPI_Recv(into, 1, ffi::RSMPI_UINT64_T, c_rank(from), tag, self.raw(), &mut status)
        };
        check(code, "MPI_Recv")?;
        Ok(word)
    }
}
