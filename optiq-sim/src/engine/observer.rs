//! What the engine tells those who record a simulation over time.
//!
//! The engine is compiled twice: for simulations that somebody records ([`Observed`]), and for those that nobody does
//! ([`Unobserved`]). In these nothing is left of what observers are told, not even the question whether there is one.

use crate::engine::packet::Label;
use crate::time::Time;
use std::panic::Location;

/// What happens to marked messages, and to their marked packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MarkedEvent<'a> {
    /// A program handed it to its adapter, in this line.
    Issued { label: &'a Label, line: &'static Location<'static> },
    /// It waits in its adapter.
    Queued { label: &'a Label },
    /// The packet is in the input buffer of a virtual channel, from where it may leave. `slot` is its number in this partition as long
    /// as it is in that buffer; so many bytes are before it there.
    Arrived { slot: u32, vc: u32, bytes: u32, waiting_bytes: u32 },
    /// The packet begins to leave memory or a router by a channel.
    Left { slot: u32, label: &'a Label, mark: u32, channel: u32 },
    /// The packet has left a channel into memory.
    Reached { label: &'a Label, mark: u32, channel: u32, bytes: u32 },
    /// All packets of the message are in memory.
    Complete { label: &'a Label },
    /// A program has the message, in a line of it, if that is known.
    Taken { label: &'a Label, line: Option<&'static Location<'static>> },
}

/// Whether a simulation has observers.
pub(crate) trait Observation: Send {
    /// It has.
    const ON: bool;

    /// A partition's observer, to be told what happens.
    fn observer(&mut self) -> Option<&mut dyn Observer>;

    /// The observer, for a checkpoint.
    fn kept(&self) -> Option<&dyn Observer>;
}

/// Nobody records.
pub(crate) struct Unobserved;

impl Observation for Unobserved {
    const ON: bool = false;

    #[inline(always)]
    fn observer(&mut self) -> Option<&mut dyn Observer> {
        None
    }

    fn kept(&self) -> Option<&dyn Observer> {
        None
    }
}

/// This observer records.
pub(crate) struct Observed<'n>(pub(crate) &'n mut dyn Observer);

impl Observation for Observed<'_> {
    const ON: bool = true;

    #[inline]
    fn observer(&mut self) -> Option<&mut dyn Observer> {
        Some(&mut *self.0)
    }

    fn kept(&self) -> Option<&dyn Observer> {
        Some(&*self.0)
    }
}

/// Records what happens over time in one partition. An observer must not change what happens.
pub(crate) trait Observer: Send {
    /// A job's packet of `bytes` bytes on the wire begins to leave by a channel.
    fn sent(&mut self, channel: u32, time: Time, bytes: u32, job: u16);

    /// A job's packet has arrived in memory, with this number of its program's bytes. It has no latency in a warm-up.
    fn delivered(&mut self, job: u16, time: Time, payload: u64, latency: Option<Time>);

    /// A job's message was received. It has no latency in a warm-up.
    fn received(&mut self, job: u16, latency: Option<Time>);

    /// A job's packet has left its minimal paths.
    fn detoured(&mut self, job: u16);

    /// `bytes` more, or fewer, wait in the buffer of a virtual channel.
    fn buffer_changed(&mut self, vc: u32, time: Time, bytes: i64);

    /// `bytes` more, or fewer, wait in a queue in a host's memory.
    fn memory_queue_changed(&mut self, queue: u32, time: Time, bytes: i64);

    /// Whether one packet of a message is to be marked, so that components write postcards of it.
    fn marks(&mut self, _label: &Label) -> bool {
        false
    }

    /// A packet begins to leave memory by a channel; the last one of its message, or not. Gives its
    /// [mark](crate::engine::packet::Packet::mark).
    fn injected(&mut self, _label: &Label, _channel: u32, _time: Time, _last: bool) -> u32 {
        0
    }

    /// Something has happened to a marked message or packet.
    fn marked(&mut self, _event: MarkedEvent<'_>, _time: Time) {}

    /// Its state, for a checkpoint.
    fn save(&self) -> Vec<u8>;

    /// Goes on from what [`Observer::save`] has written.
    ///
    /// # Errors
    /// A sentence, if it is not the state of such an observer.
    fn restore(&mut self, state: &[u8]) -> Result<(), String>;
}
