//! The tuned constants of the runtime.

use optiq_measure::constant::{Constant, Provenance};

/// All of them.
pub const CONSTANTS: &[Constant] = &[
    PLANNING_PART,
    MOST_PLANNING_SECONDS,
    MAXIMUM_SAMPLING_INTERVAL,
    AGREEMENT_SPACING,
    SAMPLING_CALLS,
    UNPLANNED_CALLS,
    WATCH_CALLS_FIRST,
    WATCH_CALLS_MOST,
    VAIN_MISPREDICTIONS,
    FIRST_TRIAL,
    SECOND_TRIAL,
    TRIAL_FACTOR,
    OUTLIER,
    AVERAGE_WEIGHT,
    CALIBRATION_REDUCTIONS,
    FILE_BATCH_ROUNDS,
    PROGRESS_PAUSE,
    EARLY_CALLS_PASSED,
];

/// How long rank 0 may improve a plan, as a part of the link bound on the fabric's own routes.
pub const PLANNING_PART: Constant = Constant {
    name: "optiq.planning_part",
    value: 0.1,
    unit: "1",
    provenance: Provenance::Chosen {
        reason: "planning pays for itself at the first use if it gains a tenth; not swept",
    },
    meaning: "The planner's time limit as a part of what the fabric's own routes need; larger plans better and makes ranks wait.",
};

/// The longest time limit of the planner.
pub const MOST_PLANNING_SECONDS: Constant = Constant {
    name: "optiq.most_planning_seconds",
    value: 1.0,
    unit: "s",
    provenance: Provenance::Chosen { reason: "ranks that wait longer look hung; not swept" },
    meaning: "The planner's time limit is never longer.",
};

/// The longest time without an agreement.
pub const MAXIMUM_SAMPLING_INTERVAL: Constant = Constant {
    name: "optiq.maximum_sampling_interval",
    value: 0.5,
    unit: "s",
    provenance: Provenance::Chosen { reason: "a user does not notice half a second of unplanned calls; not swept" },
    meaning: "Where calls are long, ranks agree at least this often; larger notices large calls later.",
};

/// Agreement times between two agreements in vain.
pub const AGREEMENT_SPACING: Constant = Constant {
    name: "optiq.agreement_spacing",
    value: 200.0,
    unit: "1",
    provenance: Provenance::Derived {
        from: "half a percent of the time, as an agreement takes longer than calibrated where ranks are late",
    },
    meaning: "Agreements and plans in vain take one part in this of the time at most; larger notices large calls later.",
};

/// As [`SAMPLING_CALLS`].
pub(crate) const MAXIMUM_SPACING: u64 = 256;

/// The most calls from one agreement to the next.
pub const SAMPLING_CALLS: Constant = Constant {
    name: "optiq.sampling_calls",
    value: MAXIMUM_SPACING as f64,
    unit: "1",
    provenance: Provenance::Chosen {
        reason: "a reduction in 256 calls of a microsecond is below the noise (decision 012); not swept",
    },
    meaning: "Where calls are short, ranks agree at least once in this many; larger notices large calls later.",
};

/// As [`UNPLANNED_CALLS`].
pub(crate) const UNPLANNED_BEFORE_SKIPPING: u32 = 3;

/// Agreed calls in a row that are not planned, before some are skipped.
pub const UNPLANNED_CALLS: Constant = Constant {
    name: "optiq.unplanned_calls",
    value: UNPLANNED_BEFORE_SKIPPING as f64,
    unit: "1",
    provenance: Provenance::Chosen { reason: "one or two small calls often begin a program; not swept" },
    meaning: "Agreed calls in a row that are not planned, before agreements become rare.",
};

/// As [`WATCH_CALLS_FIRST`] and [`WATCH_CALLS_MOST`].
pub(crate) const WATCH_CALLS: std::ops::RangeInclusive<u32> = 8..=32;

/// Calls that are agreed upon after a first misprediction.
pub const WATCH_CALLS_FIRST: Constant = Constant {
    name: "optiq.watch_calls_first",
    value: *WATCH_CALLS.start() as f64,
    unit: "1",
    provenance: Provenance::Derived { from: "enough to see a period of 4 twice" },
    meaning: "Calls that ranks agree on after a misprediction; doubled by each further one.",
};

/// Calls that are agreed upon after a misprediction, at most.
pub const WATCH_CALLS_MOST: Constant = Constant {
    name: "optiq.watch_calls_most",
    value: *WATCH_CALLS.end() as f64,
    unit: "1",
    provenance: Provenance::Derived { from: "enough to see a period of 16 twice" },
    meaning: "The most calls that ranks agree on after a misprediction.",
};

/// As [`VAIN_MISPREDICTIONS`].
pub(crate) const MISPREDICTIONS_IN_VAIN: u32 = 3;

/// Mispredictions in vain until they are ignored.
pub const VAIN_MISPREDICTIONS: Constant = Constant {
    name: "optiq.vain_mispredictions",
    value: MISPREDICTIONS_IN_VAIN as f64,
    unit: "1",
    provenance: Provenance::Chosen {
        reason: "large calls that plain MPI serves anyway must not cost agreements for ever; not swept",
    },
    meaning: "After this many mispredictions whose calls were not planned, further ones are ignored until one is planned.",
};

/// As [`FIRST_TRIAL`], [`SECOND_TRIAL`] and [`TRIAL_FACTOR`].
pub(crate) const TRIALS: (u32, u32, u32) = (2, 9, 8);

/// Uses of a plan before plain MPI is tried.
pub const FIRST_TRIAL: Constant = Constant {
    name: "optiq.first_trial",
    value: TRIALS.0 as f64,
    unit: "1",
    provenance: Provenance::Derived {
        from: "the first use may open connections, the second is the first fair measurement",
    },
    meaning: "The number of the use of a plan, from 0, that plain MPI serves for the first time.",
};

/// The use at which the slower side is tried again.
pub const SECOND_TRIAL: Constant = Constant {
    name: "optiq.second_trial",
    value: TRIALS.1 as f64,
    unit: "1",
    provenance: Provenance::Chosen {
        reason: "one of the first ten calls is slower than it could be (decision 013); not swept",
    },
    meaning: "The number of the use of a plan, from 0, at which the slower side is tried again.",
};

/// From one trial of the slower side to the next.
pub const TRIAL_FACTOR: Constant = Constant {
    name: "optiq.trial_factor",
    value: TRIALS.2 as f64,
    unit: "1",
    provenance: Provenance::Chosen {
        reason: "trials become rare fast enough to cost nothing in the long run (decision 013); not swept",
    },
    meaning: "Further trials of the slower side come after this many times as many uses; smaller follows a fabric that changes.",
};

/// How much a single measurement may exceed the average.
pub const OUTLIER: Constant = Constant {
    name: "optiq.outlier",
    value: 1.5,
    unit: "1",
    provenance: Provenance::Chosen { reason: "a descheduled rank makes a call ten times longer; not swept" },
    meaning: "A call counts as this many times the moving average at most; larger lets single slow calls change sides.",
};

/// Inverse weight of a new measurement in the moving average.
pub const AVERAGE_WEIGHT: Constant = Constant {
    name: "optiq.average_weight",
    value: 4.0,
    unit: "1",
    provenance: Provenance::Chosen { reason: "four calls outweigh the past; not swept" },
    meaning: "A new time enters the moving average with one part in this; larger is slower to follow a change.",
};

/// As [`CALIBRATION_REDUCTIONS`].
pub(crate) const TIMED_REDUCTIONS: usize = 5;

/// Reductions that are timed when a session begins.
pub const CALIBRATION_REDUCTIONS: Constant = Constant {
    name: "optiq.calibration_reductions",
    value: TIMED_REDUCTIONS as f64,
    unit: "1",
    provenance: Provenance::Chosen {
        reason: "the smallest of a few is stable; a communicator's first use must stay short",
    },
    meaning: "Reductions that are timed when a session begins, after as many to warm up; the shortest counts.",
};

/// As [`FILE_BATCH_ROUNDS`].
pub(crate) const FILE_BATCH: u64 = 8;

/// Rounds of a file access between two agreements.
pub const FILE_BATCH_ROUNDS: Constant = Constant {
    name: "optiq.file_batch_rounds",
    value: FILE_BATCH as f64,
    unit: "1",
    provenance: Provenance::Chosen {
        reason: "ranks that wait in a reduction take processors from forwarders; not swept",
    },
    meaning: "Rounds of a file access from one agreement to the next; larger reports a failure later.",
};

/// As [`PROGRESS_PAUSE`].
pub(crate) const PAUSE_MICROSECONDS: u64 = 50;

/// What the progress thread sleeps when nothing moves.
pub const PROGRESS_PAUSE: Constant = Constant {
    name: "optiq.progress_pause",
    value: PAUSE_MICROSECONDS as f64 * 1e-6,
    unit: "s",
    provenance: Provenance::Chosen { reason: "below the time of a chunk over TCP, above that of a wake-up; not swept" },
    meaning: "The progress thread's pause where nothing moves; smaller takes the processor from the program.",
};

/// As [`EARLY_CALLS_PASSED`].
pub(crate) const EARLY_CALLS: u32 = 2;

/// Calls on a communicator before it gets a session under `liboptiq_pmpi.so`.
pub const EARLY_CALLS_PASSED: Constant = Constant {
    name: "optiq.early_calls",
    value: EARLY_CALLS as f64,
    unit: "1",
    provenance: Provenance::Chosen { reason: "many communicators live for one call; not swept" },
    meaning: "First calls on a communicator that are passed on before its ranks make a session.",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_values_positive() {
        let names: std::collections::BTreeSet<_> = CONSTANTS.iter().map(|c| c.name).collect();
        assert_eq!(names.len(), CONSTANTS.len());
        assert!(CONSTANTS.iter().all(|c| c.value > 0.0 && c.name.starts_with("optiq.") && !c.meaning.is_empty()));
    }
}
