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

    /// Largest packet on the fabric of profile `kernel`.
    pub(crate) const KERNEL_MTU: u32 = 1500, "B", "lab.kernel.mtu",
        Chosen { reason: "Ethernet's, and so the kernel's where no administrator has set another" };

    /// What a link carries in this time waits for it before packets are dropped, in profile `kernel`.
    pub(crate) const KERNEL_QUEUE: f64 = 0.018, "s", "lab.kernel.queue",
        Chosen { reason: "the queue with which plans reached 60 to 78 % of their bound under the kernel's own TCP (issue 18)" };

    /// Length of a link's queue in profile `shallow`.
    pub(crate) const SHALLOW_QUEUE: u32 = 32_000, "B", "lab.shallow.queue",
        Chosen { reason: "what is left of a switch's shared buffer for one port when all are busy" };

    /// What a link carries in this time waits for it before packets are dropped, in profile `deep`.
    pub(crate) const DEEP_QUEUE: f64 = 0.100, "s", "lab.deep.queue",
        Chosen { reason: "the usual buffer of routers that never want to drop: a long round trip" };

    /// The part of its packets that a link loses in profile `lossy`.
    pub(crate) const LOSS: f64 = 0.001, "1", "lab.lossy.loss",
        Chosen { reason: "a bad cable or optic that still passes its error checks (issue 18)" };

    /// A train of packets that TCP hands over in one piece is at most this part of a queue; tuned queues need no limit.
    pub(crate) const TRAIN_PART: u32 = 4, "1", "lab.train_part",
        Chosen { reason: "a queue drops a train as one, and must hold several" };

    /// The processes of a slow host run for half of this time, and are stopped for the other half.
    pub(crate) const SLOW_PERIOD: f64 = 0.020, "s", "lab.slow_host.period",
        Chosen { reason: "several turns of the scheduler's, and far below the least timeout of TCP (200 ms)" };
}
