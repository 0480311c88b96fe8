//! The end of an exchange for which all ranks wait, since others may still put into, or get from, this rank's memory.

use super::comm::{Communicator, Pending};
use super::control::Control;
use crate::error::TransportError;

/// Barriers at the ends of exchanges. Ranks come to these at any time between their other collective calls, whose order must be the same
/// on all ranks of a communicator (MPI 4.0, section 6.14); so they have one of their own.
pub(super) struct Ending {
    comm: Communicator,
    /// Of the exchange that is ending.
    barrier: Option<Pending>,
}

impl Ending {
    /// On a duplicate of a communicator; collective.
    ///
    /// # Errors
    /// What MPI reports.
    pub(super) fn new(comm: &Communicator) -> Result<Self, TransportError> {
        // SAFETY: a valid communicator of ours.
        let comm = unsafe { Communicator::duplicate(comm.raw())? };
        Ok(Self { comm, barrier: None })
    }

    /// Whether all ranks have come to the end; this one comes to it once its control messages have left.
    ///
    /// # Errors
    /// What MPI reports.
    pub(super) fn advance(&mut self, control: &mut Control) -> Result<bool, TransportError> {
        let barrier = match self.barrier.take() {
            Some(barrier) => barrier,
            None => {
                // Not once others may have left the barrier: what arrives then is of the next exchange.
                control.poll(|_| ())?;
                if !control.is_quiet() {
                    return Ok(false);
                }
                self.comm.start_barrier()?
            }
        };
        self.barrier = barrier.test()?;
        Ok(self.barrier.is_none())
    }
}
