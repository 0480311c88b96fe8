//! What the run of a simulation looks at between events: limits, requests to stop, progress, and checkpoints.

use super::limits::{End, Limits};
use super::persistence::Persistence;
use crate::constants::PICOSECONDS_A_SLICE;
use crate::error::SimError;
use crate::time::Time;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Looks after a simulation while it runs.
pub(crate) struct Watch<'a> {
    pub(crate) limits: Limits,
    /// Becomes true when the simulation is to end.
    pub(crate) stop: Option<&'a AtomicBool>,
    /// Is told simulated time and events.
    pub(crate) progress: Option<&'a (dyn Fn(Time, u64) + Sync)>,
    pub(crate) persistence: Option<&'a dyn Persistence>,
    /// The run ends when partitions await nothing any more ([`super::windows::Partition::awaited`]).
    pub(crate) until_done: bool,
    /// When the run began.
    pub(crate) start: Instant,
}

impl Watch<'_> {
    /// The time before which events are simulated.
    pub(crate) fn end_of_time(&self) -> Time {
        self.limits.time.unwrap_or(Time::NEVER - Time::PICOSECOND).saturating_add(Time::PICOSECOND)
    }

    /// The end of the slice of simulated time that a time is in. Whether all that is awaited is done is looked at only where no
    /// event of a slice is left, so that a run ends with the same events handled however many threads there are, and however
    /// often it was resumed. Without such an end, all of time is one slice.
    pub(crate) fn end_of_slice(&self, time: Time) -> Time {
        let slice = Time::picoseconds(PICOSECONDS_A_SLICE);
        if self.until_done { slice.saturating_mul((time / slice).saturating_add(1)) } else { Time::NEVER }
    }

    /// Whether the run is over before an event at `next`, the first one that is left, where `slice` ends the slice of the
    /// events before it, and `awaited` processes are not done.
    pub(crate) fn ends_before(&self, next: Option<Time>, slice: Time, awaited: u64) -> Option<End> {
        let all_done = self.until_done && awaited == 0;
        match next {
            None if all_done => Some(End::Measured),
            None => Some(End::Finished),
            Some(next) if all_done && next >= slice => Some(End::Measured),
            Some(next) if next >= self.end_of_time() => Some(End::TimeLimit),
            Some(_) => None,
        }
    }

    /// Hands a checkpoint out, if they are wanted.
    pub(crate) fn keep(&self, time: Time, partitions: Result<Vec<Vec<u8>>, String>) -> Result<(), SimError> {
        let Some(persistence) = self.persistence else { return Ok(()) };
        persistence.keep(time, partitions.map_err(SimError::Checkpoint)?)
    }

    /// Whether a checkpoint is due after `done` of them.
    pub(crate) fn is_due(&self, done: u32) -> bool {
        let every = self.persistence.and_then(Persistence::every);
        every.is_some_and(|every| self.start.elapsed() >= every.saturating_mul(done + 1))
    }

    /// How many checkpoints would have been due by now.
    pub(crate) fn due_by_now(&self) -> u32 {
        let every = self.persistence.and_then(Persistence::every).unwrap_or(Duration::MAX);
        (self.start.elapsed().as_nanos() / every.as_nanos().max(1)) as u32
    }

    /// Whether a limit is reached after `events` events, or the caller wants to stop.
    pub(crate) fn is_over(&self, events: u64) -> Option<End> {
        let Limits { events: most, wall, .. } = self.limits;
        if self.stop.is_some_and(|stop| stop.load(SeqCst)) {
            Some(End::Stopped)
        } else if most.is_some_and(|most| events >= most) {
            Some(End::EventLimit)
        } else if wall.is_some_and(|wall| self.start.elapsed() >= wall) {
            Some(End::WallLimit)
        } else {
            None
        }
    }
}
