//! The tuned constants of `optiq calibrate`.

use optiq_measure::constant::Provenance::{Chosen, Derived};
use optiq_measure::constants;

constants! {
    /// All of them.
    pub const CONSTANTS;

    /// The link bound of a training case, in agreements or times of the largest chunk on a link; smaller counts more of these
    /// as lost efficiency, larger measures longer.
    pub const CALIBRATION_BOUND: f64 = 50.0, "1", "studies.calibration_bound",
        Derived { from: "an agreement, and a chunk on the first leg, are 2 % of the link bound each" };

    /// What a host sends or receives in a training case at most; with less, link bounds on fast networks are short.
    pub const CALIBRATION_HOST_BYTES: f64 = 268_435_456.0, "bytes", "studies.calibration_host_bytes",
        Chosen { reason: "send and receive buffers then fit into half a GiB; not swept" };

    /// Samples of agreement, latency and chunk time; more take longer and leave less to chance.
    pub const CALIBRATION_SAMPLES: usize = 21, "1", "studies.calibration_samples",
        Chosen { reason: "enough for quartiles; not swept" };

    /// Agreements of a sample, one after the other, or times that an exchange of small chunks is longer than one; with fewer,
    /// clocks and barriers count.
    pub const CALIBRATION_BATCH: f64 = 20.0, "1", "studies.calibration_batch",
        Chosen { reason: "long against the barrier that begins a sample; not swept" };

    /// The time of such a chunk on a link, as a part of the latency; larger measures the link instead of the ranks.
    pub const CALIBRATION_CHUNK_PART: f64 = 0.01, "1", "studies.calibration_chunk_part",
        Derived { from: "the link is idle while ranks work for chunks" };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_values_positive() {
        let names: std::collections::BTreeSet<_> = CONSTANTS.iter().map(|c| c.name).collect();
        assert_eq!(names.len(), CONSTANTS.len());
        assert!(CONSTANTS.iter().all(|c| c.value > 0.0 && c.name.starts_with("studies.") && !c.meaning.is_empty()));
    }
}
