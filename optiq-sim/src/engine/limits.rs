//! When a simulation ends.

use crate::time::Time;
use std::time::Duration;

/// Where a simulation ends although more could happen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Simulated time.
    pub time: Option<Time>,
    /// Events.
    pub events: Option<u64>,
    /// Wall-clock time of the simulation.
    pub wall: Option<Duration>,
}

/// Why a simulation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// No event is left.
    Finished,
    /// All processes of all measured jobs were done ([`crate::Host::done`]).
    Measured,
    /// The limit on simulated time.
    TimeLimit,
    /// The limit on events.
    EventLimit,
    /// The limit on wall-clock time.
    WallLimit,
    /// The caller asked for it.
    Stopped,
}
