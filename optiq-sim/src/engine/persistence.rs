//! How the engine hands out its state. What becomes of it, and when, is decided elsewhere.

use crate::error::SimError;
use crate::time::Time;
use std::time::Duration;

/// Takes the state of a simulation from time to time.
pub(crate) trait Persistence: Sync {
    /// How long the simulation runs between two checkpoints; `None` if one is wanted only where it ends early.
    fn every(&self) -> Option<Duration>;

    /// Takes a checkpoint: the state of all partitions at a time.
    ///
    /// # Errors
    /// [`SimError::Checkpoint`] if it cannot be kept; the simulation then ends.
    fn keep(&self, time: Time, partitions: Vec<Vec<u8>>) -> Result<(), SimError>;
}
