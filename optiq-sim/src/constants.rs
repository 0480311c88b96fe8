//! The tuned constants of the simulator: values for the code, and records that say what they rest on.
//!
//! Where a record says that the values that were tried were not kept, the measurement should be made again, on training cases.
//! Limits of formats and numbers that follow from a data structure stand where they are used.

use optiq_measure::constant::{Constant, Provenance};

/// Buckets of the event queue. With fewer, more events wait in a heap; with more, the array of buckets leaves the caches.
pub const BUCKETS: usize = 4096;
/// Mean events of a bucket below which buckets of the event queue become wider. With fewer, prefetching finds no event far enough ahead.
pub const FEWEST_IN_BUCKET: usize = 96;
/// Mean events of a bucket above which buckets of the event queue become narrower. With more, sorting takes longer and more events come late.
pub const MOST_IN_BUCKET: usize = 384;
/// Buckets become wider only if at most one event in this number came after its bucket was sorted. With a smaller number widths change to and fro.
pub const LATE_TO_WIDEN: usize = 16;
/// Buckets become narrower if more than one event in this number came after its bucket was sorted. Late events wait in a heap, which takes longer.
pub const LATE_TO_NARROW: usize = 4;
/// Buckets with fewer events are sorted by insertion only. A larger number makes sorting them take longer.
pub const FEWEST_TO_SPREAD: usize = 12;
/// Where this number of events or more are in one part of a bucket, it is sorted by comparison, as insertion takes time that grows with the square.
pub const MOST_TO_INSERT: u32 = 32;
/// Events ahead at which the first stage of prefetching looks. Too near, and memory comes too late; too far, and it has left the caches again.
pub const PREFETCH_STAGE_1: usize = 16;
/// Events ahead of the second stage of prefetching; see `sim.prefetch_stage_1`.
pub const PREFETCH_STAGE_2: usize = 10;
/// Events ahead of the third stage of prefetching; see `sim.prefetch_stage_1`.
pub const PREFETCH_STAGE_3: usize = 5;
/// How often a thread looks for the others at a barrier before it yields its processor. With fewer, threads meet by way of the kernel; with more, they take processor time from others.
pub const SPINS: u32 = 2_000;
/// Events between two looks at clocks and limits on one thread.
pub const EVENTS_A_LOOK: u64 = 1 << 16;
/// Windows between two looks at clocks and limits on several threads.
pub const WINDOWS_A_LOOK: u64 = 64;
/// Windows between two reports of progress on several threads.
pub const WINDOWS_A_REPORT: u64 = 1024;
/// The most intervals of a recorded series.
pub const MOST_INTERVALS: usize = 256;
/// The most intervals of a recorded series of the largest networks.
pub const LEAST_INTERVALS: usize = 16;
/// Cells of all series of a run together, where that leaves `sim.series_least_intervals`.
pub const MOST_CELLS: usize = 1 << 23;
/// Packets of the queue on the minimal path that UGAL and PAR do not count. With 0, credits in flight look like a queue and detours take a quarter of uniform traffic; larger ones cost adversarial traffic throughput.
pub const UGAL_BIAS_PACKETS: u64 = 2;
/// Exchanges with more messages are not computed by the flow model besides, as that would take more than about a second.
pub const FLOW_MODEL_MESSAGES: usize = 10_000;

/// Share of the link bound that puts reach on the model bgq with chunks that are forwarded where the plan says so. A smaller value makes relays at every host be chosen for shorter messages.
pub const PUT_PLANNED_LINK_EFFICIENCY: Constant = Constant {
    name: "sim.put_planned_link_efficiency",
    value: 0.72,
    unit: "1",
    provenance: Provenance::Measured {
        command: "cargo xtask results --only executor",
        date: "2026-11-23",
        cases: "executor-shapes (torus:8x8x8 and torus:4x4x4x4x4, 3 MiB; decision 024)",
    },
    meaning: "Share of the link bound that puts reach on the model bgq with chunks that are forwarded where the plan says so. A smaller value makes relays at every host be chosen for shorter messages.",
};
/// Share of the link bound that puts reach on the model bgq with relays at every host. A larger value makes these be chosen for shorter messages.
pub const PUT_STORE_AND_FORWARD_LINK_EFFICIENCY: Constant = Constant {
    name: "sim.put_store_and_forward_link_efficiency",
    value: 0.93,
    unit: "1",
    provenance: Provenance::Measured {
        command: "cargo xtask results --only executor",
        date: "2026-11-23",
        cases: "executor-shapes (torus:8x8x8 and torus:4x4x4x4x4, 3 MiB; decision 024)",
    },
    meaning: "Share of the link bound that puts reach on the model bgq with relays at every host. A larger value makes these be chosen for shorter messages.",
};
/// Rates of the flow model that differ by less, relatively, are one level.
pub const FLOW_LEVEL_TOLERANCE: Constant = Constant {
    name: "sim.flow_level_tolerance",
    value: 1e-9,
    unit: "1",
    provenance: Provenance::Derived {
        from: "well above the rounding of sums of a million rates in 53 bits, and well below any difference that a result shows",
    },
    meaning: "Rates of the flow model that differ by less, relatively, are one level.",
};
/// Flows of the flow model that end this close to each other, relatively, end together.
pub const FLOW_MOMENT_TOLERANCE: Constant = Constant {
    name: "sim.flow_moment_tolerance",
    value: 1e-12,
    unit: "1",
    provenance: Provenance::Derived {
        from: "well above the rounding of one division in 53 bits, and well below any difference that a result shows",
    },
    meaning: "Flows of the flow model that end this close to each other, relatively, end together.",
};

/// All of them.
pub const CONSTANTS: &[Constant] = &[
    PUT_PLANNED_LINK_EFFICIENCY,
    PUT_STORE_AND_FORWARD_LINK_EFFICIENCY,
    FLOW_LEVEL_TOLERANCE,
    FLOW_MOMENT_TOLERANCE,
    Constant {
        name: "sim.queue_buckets",
        value: BUCKETS as f64,
        unit: "1",
        provenance: Provenance::Chosen { reason: "a power of two that was not tried against others" },
        meaning: "Buckets of the event queue. With fewer, more events wait in a heap; with more, the array of buckets leaves the caches.",
    },
    Constant {
        name: "sim.queue_fewest_in_bucket",
        value: FEWEST_IN_BUCKET as f64,
        unit: "1",
        provenance: Provenance::Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        },
        meaning: "Mean events of a bucket below which buckets of the event queue become wider. With fewer, prefetching finds no event far enough ahead.",
    },
    Constant {
        name: "sim.queue_most_in_bucket",
        value: MOST_IN_BUCKET as f64,
        unit: "1",
        provenance: Provenance::Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        },
        meaning: "Mean events of a bucket above which buckets of the event queue become narrower. With more, sorting takes longer and more events come late.",
    },
    Constant {
        name: "sim.queue_late_to_widen",
        value: LATE_TO_WIDEN as f64,
        unit: "1",
        provenance: Provenance::Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        },
        meaning: "Buckets become wider only if at most one event in this number came after its bucket was sorted. With a smaller number widths change to and fro.",
    },
    Constant {
        name: "sim.queue_late_to_narrow",
        value: LATE_TO_NARROW as f64,
        unit: "1",
        provenance: Provenance::Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        },
        meaning: "Buckets become narrower if more than one event in this number came after its bucket was sorted. Late events wait in a heap, which takes longer.",
    },
    Constant {
        name: "sim.queue_fewest_to_spread",
        value: FEWEST_TO_SPREAD as f64,
        unit: "1",
        provenance: Provenance::Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        },
        meaning: "Buckets with fewer events are sorted by insertion only. A larger number makes sorting them take longer.",
    },
    Constant {
        name: "sim.queue_most_to_insert",
        value: MOST_TO_INSERT as f64,
        unit: "1",
        provenance: Provenance::Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        },
        meaning: "Where this number of events or more are in one part of a bucket, it is sorted by comparison, as insertion takes time that grows with the square.",
    },
    Constant {
        name: "sim.prefetch_stage_1",
        value: PREFETCH_STAGE_1 as f64,
        unit: "1",
        provenance: Provenance::Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        },
        meaning: "Events ahead at which the first stage of prefetching looks. Too near, and memory comes too late; too far, and it has left the caches again.",
    },
    Constant {
        name: "sim.prefetch_stage_2",
        value: PREFETCH_STAGE_2 as f64,
        unit: "1",
        provenance: Provenance::Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        },
        meaning: "Events ahead of the second stage of prefetching; see `sim.prefetch_stage_1`.",
    },
    Constant {
        name: "sim.prefetch_stage_3",
        value: PREFETCH_STAGE_3 as f64,
        unit: "1",
        provenance: Provenance::Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        },
        meaning: "Events ahead of the third stage of prefetching; see `sim.prefetch_stage_1`.",
    },
    Constant {
        name: "sim.barrier_spins",
        value: SPINS as f64,
        unit: "1",
        provenance: Provenance::Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        },
        meaning: "How often a thread looks for the others at a barrier before it yields its processor. With fewer, threads meet by way of the kernel; with more, they take processor time from others.",
    },
    Constant {
        name: "sim.events_a_look",
        value: EVENTS_A_LOOK as f64,
        unit: "1",
        provenance: Provenance::Chosen { reason: "about a hundredth of a second, so that Ctrl-C is not noticed late" },
        meaning: "Events between two looks at clocks and limits on one thread.",
    },
    Constant {
        name: "sim.windows_a_look",
        value: WINDOWS_A_LOOK as f64,
        unit: "1",
        provenance: Provenance::Chosen { reason: "windows take microseconds, and a look at the clock a part of one" },
        meaning: "Windows between two looks at clocks and limits on several threads.",
    },
    Constant {
        name: "sim.windows_a_report",
        value: WINDOWS_A_REPORT as f64,
        unit: "1",
        provenance: Provenance::Chosen { reason: "several times a second" },
        meaning: "Windows between two reports of progress on several threads.",
    },
    Constant {
        name: "sim.series_most_intervals",
        value: MOST_INTERVALS as f64,
        unit: "1",
        provenance: Provenance::Chosen { reason: "a picture has no more columns" },
        meaning: "The most intervals of a recorded series.",
    },
    Constant {
        name: "sim.series_least_intervals",
        value: LEAST_INTERVALS as f64,
        unit: "1",
        provenance: Provenance::Chosen { reason: "fewer do not show a course" },
        meaning: "The most intervals of a recorded series of the largest networks.",
    },
    Constant {
        name: "sim.series_most_cells",
        value: MOST_CELLS as f64,
        unit: "1",
        provenance: Provenance::Chosen { reason: "some hundred megabytes" },
        meaning: "Cells of all series of a run together, where that leaves `sim.series_least_intervals`.",
    },
    Constant {
        name: "sim.ugal_bias_packets",
        value: UGAL_BIAS_PACKETS as f64,
        unit: "1",
        provenance: Provenance::Measured {
            command: "a program with synthetic traffic on dragonfly:p=4,a=8,h=4 at half load, as in optiq-sim/tests/adaptive.rs; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        },
        meaning: "Packets of the queue on the minimal path that UGAL and PAR do not count. With 0, credits in flight look like a queue and detours take a quarter of uniform traffic; larger ones cost adversarial traffic throughput.",
    },
    Constant {
        name: "sim.flow_model_messages",
        value: FLOW_MODEL_MESSAGES as f64,
        unit: "1",
        provenance: Provenance::Measured {
            command: "optiq simulate --topology bgq:512 --mpi linear; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        },
        meaning: "Exchanges with more messages are not computed by the flow model besides, as that would take more than about a second.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_names_of_their_own() {
        let names: std::collections::BTreeSet<&str> = CONSTANTS.iter().map(|c| c.name).collect();
        assert_eq!(names.len(), CONSTANTS.len());
        assert!(names.iter().all(|name| name.starts_with("sim.")));
    }
}
