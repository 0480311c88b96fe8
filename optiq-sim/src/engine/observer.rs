//! What the engine tells those who record a simulation over time.
//!
//! The engine has an `Option` of an observer, and tests it where something happens that an observer may want to know. Without
//! an observer that test is all that recording costs.

use crate::time::Time;

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

    /// Its state, for a checkpoint.
    fn save(&self) -> Vec<u8>;

    /// Goes on from what [`Observer::save`] has written.
    ///
    /// # Errors
    /// A sentence, if it is not the state of such an observer.
    fn restore(&mut self, state: &[u8]) -> Result<(), String>;
}
