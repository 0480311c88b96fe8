//! The constants of the lab that were tuned or chosen, with what they rest on.

use optiq_measure::constant::Constant;
use optiq_measure::constant::Provenance;

/// Largest packet on the fabric, in bytes.
pub(crate) const MTU: u32 = 9000;

/// Bytes that a link may send at once after a pause.
pub(crate) const BURST: u32 = 32 << 10;

/// Length of a queue, in TCP buffers.
pub(crate) const QUEUE_BUFFERS: u32 = 16;

/// Smallest TCP buffer, in bytes.
pub(crate) const BUFFER_LEAST: u32 = 128 << 10;

/// Largest TCP buffer, in bytes.
pub(crate) const BUFFER_MOST: u32 = 4 << 20;

/// Size of a TCP buffer.
pub(crate) const BUFFER_SECONDS: Constant = Constant {
    name: "lab.buffer_seconds",
    value: 0.020,
    unit: "s",
    provenance: Provenance::Chosen {
        reason: "a receiver that waits for its turn on a shared processor must not leave links idle",
    },
    meaning: "What the slowest link carries in this time is TCP's send and receive buffer; a smaller one leaves links idle.",
};

/// A constant that code needs as a whole number, as a record.
const fn whole(
    name: &'static str,
    value: u32,
    unit: &'static str,
    reason: &'static str,
    meaning: &'static str,
) -> Constant {
    Constant { name, value: value as f64, unit, provenance: Provenance::Chosen { reason }, meaning }
}

/// All constants of this crate.
pub const CONSTANTS: &[Constant] = &[
    BUFFER_SECONDS,
    whole(
        "lab.mtu",
        MTU,
        "B",
        "the usual size of jumbo frames",
        "Largest packet on the fabric; smaller ones cost more processor time.",
    ),
    whole(
        "lab.burst",
        BURST,
        "B",
        "the first lab that worked had it",
        "Bytes that a link sends at once after a pause, or 4 ms of its rate if that is more.",
    ),
    whole(
        "lab.queue_buffers",
        QUEUE_BUFFERS,
        "buffers",
        "a queue holds the windows of many streams, so that nothing is lost in ordinary use",
        "Length of a link's queue; a shorter one drops packets.",
    ),
    whole(
        "lab.buffer_least",
        BUFFER_LEAST,
        "B",
        "several packets of the largest size",
        "Smallest TCP buffer, whatever the rate.",
    ),
    whole(
        "lab.buffer_most",
        BUFFER_MOST,
        "B",
        "within the usual limits of the kernel",
        "Largest TCP buffer, whatever the rate.",
    ),
];
