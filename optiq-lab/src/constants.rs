//! The constants of the lab that were tuned or chosen, with what they rest on.

use optiq_measure::constant::Provenance::Chosen;
use optiq_measure::constants;

constants! {
    /// All constants of this crate.
    pub const CONSTANTS;

    /// What the slowest link carries in this time is TCP's send and receive buffer; a smaller one leaves links idle.
    pub(crate) const BUFFER_SECONDS: f64 = 0.020, "s", "lab.buffer_seconds",
        Chosen { reason: "a receiver that waits for its turn on a shared processor must not leave links idle" };

    /// Largest packet on the fabric; smaller ones cost more processor time.
    pub(crate) const MTU: u32 = 9000, "B", "lab.mtu",
        Chosen { reason: "the usual size of jumbo frames" };

    /// Bytes that a link sends at once after a pause, or 4 ms of its rate if that is more.
    pub(crate) const BURST: u32 = 32 << 10, "B", "lab.burst",
        Chosen { reason: "the first lab that worked had it" };

    /// Length of a link's queue; a shorter one drops packets.
    pub(crate) const QUEUE_BUFFERS: u32 = 16, "buffers", "lab.queue_buffers",
        Chosen { reason: "a queue holds the windows of many streams, so that nothing is lost in ordinary use" };

    /// Smallest TCP buffer, whatever the rate.
    pub(crate) const BUFFER_LEAST: u32 = 128 << 10, "B", "lab.buffer_least",
        Chosen { reason: "several packets of the largest size" };

    /// Largest TCP buffer, whatever the rate.
    pub(crate) const BUFFER_MOST: u32 = 4 << 20, "B", "lab.buffer_most",
        Chosen { reason: "within the usual limits of the kernel" };
}
