//! The tuned constants of `optiq calibrate`.

use optiq_measure::constant::{Constant, Provenance};

/// All of them.
pub const CONSTANTS: &[Constant] =
    &[CALIBRATION_BOUND, CALIBRATION_HOST_BYTES, CALIBRATION_SAMPLES, CALIBRATION_BATCH, CALIBRATION_CHUNK_PART];

/// How long the link bound of a training case is, in agreements and in times to fill one leg.
pub const CALIBRATION_BOUND: Constant = Constant {
    name: "studies.calibration_bound",
    value: 50.0,
    unit: "1",
    provenance: Provenance::Derived {
        from: "an agreement, and a chunk on the first leg, are 2 % of the link bound each",
    },
    meaning: "The link bound of a training case, in agreements or times of the largest chunk on a link; smaller counts more of \
              these as lost efficiency, larger measures longer.",
};

/// Bytes of a host in a training case, at most.
pub const CALIBRATION_HOST_BYTES: Constant = Constant {
    name: "studies.calibration_host_bytes",
    value: 268_435_456.0,
    unit: "bytes",
    provenance: Provenance::Chosen { reason: "send and receive buffers then fit into half a GiB; not swept" },
    meaning: "What a host sends or receives in a training case at most; with less, link bounds on fast networks are short.",
};

/// Times that an agreement is measured.
pub const CALIBRATION_SAMPLES: Constant = Constant {
    name: "studies.calibration_samples",
    value: 21.0,
    unit: "1",
    provenance: Provenance::Chosen { reason: "enough for quartiles; not swept" },
    meaning: "Samples of agreement, latency and chunk time; more take longer and leave less to chance.",
};

/// Agreements of a sample.
pub const CALIBRATION_BATCH: Constant = Constant {
    name: "studies.calibration_batch",
    value: 20.0,
    unit: "1",
    provenance: Provenance::Chosen { reason: "long against the barrier that begins a sample; not swept" },
    meaning: "Agreements of a sample, one after the other, or times that an exchange of small chunks is longer than one; with \
              fewer, clocks and barriers count.",
};

/// Which part of the latency a chunk may take on a link where the work for chunks is measured.
pub const CALIBRATION_CHUNK_PART: Constant = Constant {
    name: "studies.calibration_chunk_part",
    value: 0.01,
    unit: "1",
    provenance: Provenance::Derived { from: "the link is idle while ranks work for chunks" },
    meaning: "The time of such a chunk on a link, as a part of the latency; larger measures the link instead of the ranks.",
};

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
