//! The tuned constants of probes: values for the code, and records that say what they rest on.

use optiq_measure::constant::Provenance::{Chosen, Published};
use optiq_measure::constants;

constants! {
    /// All of them.
    pub const CONSTANTS;

    /// Bytes of a message of ImpactB; more than a packet would not be the latency of one.
    pub const IMPACT_MESSAGE_BYTES: u64 = 1024, "bytes", "probe.impact_message_bytes",
        Published { source: "Casas and Bronevetsky, section 3.1" };

    /// From the end of a ping-pong of ImpactB to the start of the next one; a shorter one loads the switch, a longer one has fewer samples.
    pub const IMPACT_INTERVAL_NANOSECONDS: u64 = 100_000_000, "ns", "probe.impact_interval",
        Published { source: "Casas and Bronevetsky, section 3.1: 100 ms" };

    /// By what part the intervals of probes differ, in millionths; without it they stay in step with what they measure.
    pub const JITTER_MILLIONTHS: u32 = 50_000, "1e-6", "probe.interval_jitter",
        Chosen { reason: "far less than an interval, and over 20 probes a whole one; the source says nothing of it" };

    /// Bytes of a message of CompressionB.
    pub const COMPRESSION_MESSAGE_BYTES: u64 = 40_960, "bytes", "probe.compression_message_bytes",
        Published { source: "Casas and Bronevetsky, section 3.2: 40 KB" };

    /// Cycles of the published machine's clock in a nanosecond: what its sleeps are counted in.
    pub const CYCLES_PER_NANOSECOND: f64 = 2.6, "1/ns", "probe.cycles_per_nanosecond",
        Published { source: "Casas and Bronevetsky, section 2: Xeon E5-2670 of 2.6 GHz" };

    /// Where ranks share processors, latencies must be above the smallest by this many times the noise of wake-ups; with less, they tell of the
    /// processes that had the processor.
    pub const SHARED_FACTOR: f64 = 10.0, "1", "probe.shared_factor",
        Chosen { reason: "two ranks with shared memory and no switch on two busy processors were 2.4 and 7.8 times the noise above it (2026-11-25)" };

    /// Batches into which latencies are put for a confidence interval; with fewer the interval is wider than it has to be, with more
    /// the means of neighbouring batches resemble each other.
    pub const BATCHES: usize = 20, "1", "probe.batches",
        Chosen { reason: "10 to 30 are usual (Law and Kelton, Simulation Modeling and Analysis, section 9.5.3); not swept" };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_names_of_their_own() {
        let names: std::collections::BTreeSet<&str> = CONSTANTS.iter().map(|c| c.name).collect();
        assert_eq!(names.len(), CONSTANTS.len());
        assert!(CONSTANTS.iter().all(|c| c.value > 0.0 && c.name.starts_with("probe.")));
    }
}
