//! The tuned constants of this crate.
//!
//! Most were chosen when the decision that they belong to was written, and have not been swept; they say so.

use optiq_measure::constant::{Constant, Provenance};

/// All of them.
pub const CONSTANTS: &[Constant] = &[
    AGREEMENT_SECONDS,
    LATENCY_SECONDS,
    CHUNK_SECONDS,
    PLANNED_LINK_EFFICIENCY,
    STORE_AND_FORWARD_LINK_EFFICIENCY,
    MPI_LINK_EFFICIENCY,
    AGREEMENTS_SAVED,
    LEAST_PLANNING_SECONDS,
    WORTH,
    QUEUED_CHUNKS,
    SMALL_PIECE_BYTES,
    PIECES_PER_FLOW,
    LARGE_SLICE_BYTES,
    BORDER_SNAP,
];

/// [`crate::model::CostModel::agreement_seconds`] before it is measured.
pub const AGREEMENT_SECONDS: Constant = Constant {
    name: "lower.agreement_seconds",
    value: 1e-3,
    unit: "s",
    provenance: Provenance::Derived { from: "10 messages of 100 us: a reduction over 32 ranks and its broadcast" },
    meaning: "What an agreement of all ranks costs where nothing was measured; a session measures its own when it begins.",
};

/// [`crate::model::CostModel::latency_seconds`] before it is measured.
pub const LATENCY_SECONDS: Constant = Constant {
    name: "lower.latency_seconds",
    value: 1e-4,
    unit: "s",
    provenance: Provenance::Chosen { reason: "the order of a message over TCP on a cluster" },
    meaning: "What a short message costs where nothing was measured; a session measures its own when it begins.",
};

/// [`crate::model::CostModel::chunk_seconds`] where no calibration file says it.
pub const CHUNK_SECONDS: Constant = Constant {
    name: "lower.chunk_seconds",
    value: 20e-6,
    unit: "s",
    provenance: Provenance::Chosen {
        reason: "the order of a receive, a send and a progress turn over TCP; no run on record",
    },
    meaning: "A rank's work for a chunk; larger makes plans with many small chunks look slow.",
};

/// [`crate::model::CostModel::planned_link_efficiency`] where no calibration file says it.
pub const PLANNED_LINK_EFFICIENCY: Constant = Constant {
    name: "lower.planned_link_efficiency",
    value: 0.85,
    unit: "1",
    provenance: Provenance::Chosen {
        reason: "below what planned paths reached in the lab's torus with tuned TCP; 0.53 to 0.78 with the kernel's own \
                 settings, so that trials overrule it (decision 013)",
    },
    meaning: "Part of the link bound that planned paths reach; larger hands fewer exchanges to plain MPI.",
};

/// [`crate::model::CostModel::store_and_forward_link_efficiency`] where no calibration file says it.
pub const STORE_AND_FORWARD_LINK_EFFICIENCY: Constant = Constant {
    name: "lower.store_and_forward_link_efficiency",
    value: PLANNED_LINK_EFFICIENCY.value,
    unit: "1",
    provenance: Provenance::Derived {
        from: "equal to lower.planned_link_efficiency: without a calibration file, relays at every host are not assumed to \
               gain anything (decision 022)",
    },
    meaning: "Part of the link bound that paths reach with relays at every host; above the planned one, relays are considered.",
};

/// [`crate::model::CostModel::mpi_link_efficiency`] where no calibration file says it.
pub const MPI_LINK_EFFICIENCY: Constant = Constant {
    name: "lower.mpi_link_efficiency",
    value: 0.98,
    unit: "1",
    provenance: Provenance::Chosen {
        reason: "the most that MPI_Alltoallv reached in the lab's torus with tuned TCP, 0.54 on one switch; on the safe side, \
                 as trials can only correct a plan that was made (decision 013)",
    },
    meaning: "Part of the link bound that MPI_Alltoallv reaches; smaller makes plans for more exchanges.",
};

/// Agreements that a link bound on the fabric's own routes must be worth.
pub const AGREEMENTS_SAVED: Constant = Constant {
    name: "lower.agreements_saved",
    value: 2.0,
    unit: "1",
    provenance: Provenance::Derived {
        from: "a plan with half the congestion saves half of the time, which must pay one agreement",
    },
    meaning: "Exchanges whose link bound is below this many agreements go to plain MPI; smaller plans for shorter ones.",
};

/// What rank 0 may spend on a plan at least.
pub const LEAST_PLANNING_SECONDS: Constant = Constant {
    name: "lower.least_planning_seconds",
    value: 0.015,
    unit: "s",
    provenance: Provenance::Chosen { reason: "enough for a plan of 16 hosts; not swept" },
    meaning: "The least time limit of the planner; larger gives better plans to short exchanges, which wait for them.",
};

/// How much longer than planning an exchange must take to be planned at its first use.
pub const WORTH: Constant = Constant {
    name: "lower.worth",
    value: 4.0,
    unit: "1",
    provenance: Provenance::Chosen { reason: "planning takes a quarter of the exchange at most; not swept" },
    meaning: "Demands whose link bound is below this many least planning times are planned when they come again, not at once.",
};

/// Chunks that a chunk waits for at a relay, itself included.
pub const QUEUED_CHUNKS: Constant = Constant {
    name: "lower.queued_chunks",
    value: 2.0,
    unit: "1",
    provenance: Provenance::Chosen { reason: "about the chunks in flight on a leg; not swept" },
    meaning: "Chunks in a relay's queue while paths fill; larger makes relays at every host look slower.",
};

/// As [`SMALL_PIECE_BYTES`].
pub(crate) const SMALL: u64 = 32 << 10;

/// Pieces below this are packed.
pub const SMALL_PIECE_BYTES: Constant = Constant {
    name: "lower.small_piece_bytes",
    value: SMALL as f64,
    unit: "B",
    provenance: Provenance::Chosen {
        reason: "the overhead of two chunks is more than a copy of this size (decision 014); not swept",
    },
    meaning: "Messages are packed in shared memory where pieces are smaller on average; larger copies more.",
};

/// As [`PIECES_PER_FLOW`].
pub(crate) const PIECES: usize = 2;

/// Pieces per flow above which messages are packed.
pub const PIECES_PER_FLOW: Constant = Constant {
    name: "lower.pieces_per_flow",
    value: PIECES as f64,
    unit: "1",
    provenance: Provenance::Chosen {
        reason: "two copies and two barriers must replace more than as many chunks (decision 014)",
    },
    meaning: "Messages are packed where cutting would make more paths than this for each flow of the plan.",
};

/// As [`LARGE_SLICE_BYTES`].
pub(crate) const LARGE_SLICE: u64 = 1 << 20;

/// Slices of a file access are not made smaller.
pub const LARGE_SLICE_BYTES: Constant = Constant {
    name: "lower.large_slice_bytes",
    value: LARGE_SLICE as f64,
    unit: "B",
    provenance: Provenance::Chosen { reason: "what parallel file systems take in one request at most" },
    meaning: "The average size of a write to the file below which ranks share a lane; smaller makes more writes.",
};

/// As [`BORDER_SNAP`].
pub(crate) const SNAP: u128 = 16;

/// How close a cut must be to a border to be moved there.
pub const BORDER_SNAP: Constant = Constant {
    name: "lower.border_snap",
    value: SNAP as f64,
    unit: "1",
    provenance: Provenance::Chosen { reason: "at most a sixteenth more load on a server; not swept" },
    meaning: "A cut between I/O hosts moves to the border of a rank's bytes within one part in this of either range.",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_values_positive() {
        let names: std::collections::BTreeSet<_> = CONSTANTS.iter().map(|c| c.name).collect();
        assert_eq!(names.len(), CONSTANTS.len());
        assert!(CONSTANTS.iter().all(|c| c.value > 0.0 && c.name.starts_with("lower.") && !c.meaning.is_empty()));
    }
}
