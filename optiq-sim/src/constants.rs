//! The tuned constants of the simulator: values for the code, and records that say what they rest on.
//!
//! Where a record says that the values that were tried were not kept, the measurement should be made again, on training cases.
//! Limits of formats and numbers that follow from a data structure stand where they are used.

use optiq_measure::constant::Provenance::{Chosen, Derived, Measured};
use optiq_measure::constants;

constants! {
    /// All of them.
    pub const CONSTANTS;

    /// Share of the link bound that puts reach on the model bgq with chunks that are forwarded where the plan says so. A
    /// smaller value makes relays at every host be chosen for shorter messages.
    pub const PUT_PLANNED_LINK_EFFICIENCY: f64 = 0.72, "1", "sim.put_planned_link_efficiency",
        Measured {
            command: "cargo xtask results --only executor",
            date: "2026-11-23",
            cases: "executor-shapes (torus:8x8x8 and torus:4x4x4x4x4, 3 MiB; decision 024)",
        };

    /// Share of the link bound that puts reach on the model bgq with relays at every host. A larger value makes these be
    /// chosen for shorter messages.
    pub const PUT_STORE_AND_FORWARD_LINK_EFFICIENCY: f64 = 0.88, "1", "sim.put_store_and_forward_link_efficiency",
        Measured {
            command: "cargo xtask results --only executor, and optiq simulate --model bgq --legs hops --plan-only on executor-fill",
            date: "2026-11-25",
            cases: "executor-shapes, executor-fill (torus:8x8x8 and torus:4x4x4x4x4, 256 KiB to 3 MiB; decision 024)",
        };

    /// The part of a link's capacity that a plan beside the measured load of other jobs may use however full the link is. With a
    /// larger value plans take more of what others fill; with a smaller one they leave it.
    pub const BACKGROUND_LEAST_LEFT: f64 = 0.1, "1", "sim.background_least_left",
        Chosen {
            reason: "routers serve who asks in turn, so that a link that others fill is never closed; a tenth leaves it to them                      wherever there is another way",
        };

    /// Rates of the flow model that differ by less, relatively, are one level.
    pub const FLOW_LEVEL_TOLERANCE: f64 = 1e-9, "1", "sim.flow_level_tolerance",
        Derived {
            from: "well above the rounding of sums of a million rates in 53 bits, and well below any difference that a \
             result shows",
        };

    /// Flows of the flow model that end this close to each other, relatively, end together.
    pub const FLOW_MOMENT_TOLERANCE: f64 = 1e-12, "1", "sim.flow_moment_tolerance",
        Derived {
            from: "well above the rounding of one division in 53 bits, and well below any difference that a result shows",
        };

    /// Buckets of the event queue. With fewer, more events wait in a heap; with more, the array of buckets leaves the caches.
    pub const BUCKETS: usize = 4096, "1", "sim.queue_buckets",
        Chosen { reason: "a power of two that was not tried against others" };

    /// Mean events of a bucket below which buckets of the event queue become wider. With fewer, prefetching finds no event
    /// far enough ahead.
    pub const FEWEST_IN_BUCKET: usize = 96, "1", "sim.queue_fewest_in_bucket",
        Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        };

    /// Mean events of a bucket above which buckets of the event queue become narrower. With more, sorting takes longer and
    /// more events come late.
    pub const MOST_IN_BUCKET: usize = 384, "1", "sim.queue_most_in_bucket",
        Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        };

    /// Buckets become wider only if at most one event in this number came after its bucket was sorted. With a smaller number
    /// widths change to and fro.
    pub const LATE_TO_WIDEN: usize = 16, "1", "sim.queue_late_to_widen",
        Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        };

    /// Buckets become narrower if more than one event in this number came after its bucket was sorted. Late events wait in a
    /// heap, which takes longer.
    pub const LATE_TO_NARROW: usize = 4, "1", "sim.queue_late_to_narrow",
        Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        };

    /// Buckets with fewer events are sorted by insertion only. A larger number makes sorting them take longer.
    pub const FEWEST_TO_SPREAD: usize = 12, "1", "sim.queue_fewest_to_spread",
        Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        };

    /// Where this number of events or more are in one part of a bucket, it is sorted by comparison, as insertion takes time
    /// that grows with the square.
    pub const MOST_TO_INSERT: u32 = 32, "1", "sim.queue_most_to_insert",
        Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        };

    /// The most routes between switches and hosts that are kept when they were found; a network with more keeps none. A route takes
    /// 32 bytes.
    pub const MOST_CACHED_ROUTES: usize = 1 << 17, "1", "sim.most_cached_routes",
        Chosen {
            reason: "4 MiB, about what a core has of the caches: a route that comes from memory is not faster than a search",
        };

    /// Events ahead at which the first stage of prefetching looks. Too near, and memory comes too late; too far, and it has
    /// left the caches again.
    pub const PREFETCH_STAGE_1: usize = 16, "1", "sim.prefetch_stage_1",
        Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        };

    /// Events ahead of the second stage of prefetching; see `sim.prefetch_stage_1`.
    pub const PREFETCH_STAGE_2: usize = 10, "1", "sim.prefetch_stage_2",
        Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        };

    /// Events ahead of the third stage of prefetching; see `sim.prefetch_stage_1`.
    pub const PREFETCH_STAGE_3: usize = 5, "1", "sim.prefetch_stage_3",
        Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        };

    /// How often a thread looks for the others at a barrier before it yields its processor. With fewer, threads meet by way
    /// of the kernel; with more, they take processor time from others.
    pub const SPINS: u32 = 2_000, "1", "sim.barrier_spins",
        Measured {
            command: "cargo bench -p optiq-sim --bench speed; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        };

    /// Events between two looks at clocks and limits on one thread.
    pub const EVENTS_A_LOOK: u64 = 1 << 16, "1", "sim.events_a_look",
        Chosen { reason: "about a hundredth of a second, so that Ctrl-C is not noticed late" };

    /// Windows between two looks at clocks and limits on several threads.
    pub const WINDOWS_A_LOOK: u64 = 64, "1", "sim.windows_a_look",
        Chosen { reason: "windows take microseconds, and a look at the clock a part of one" };

    /// Windows between two reports of progress on several threads.
    pub const WINDOWS_A_REPORT: u64 = 1024, "1", "sim.windows_a_report",
        Chosen { reason: "several times a second" };

    /// Picoseconds of simulated time between two looks at whether all measured jobs are done. With fewer, threads meet more
    /// often; with more, a run goes on for longer than it has to.
    pub const PICOSECONDS_A_SLICE: u64 = 10_000_000, "ps", "sim.picoseconds_a_slice",
        Chosen { reason: "a hundred windows of links of 100 ns, and a small part of the run of any job that is measured" };

    /// The most intervals of a recorded series.
    pub const MOST_INTERVALS: usize = 256, "1", "sim.series_most_intervals",
        Chosen { reason: "a picture has no more columns" };

    /// The most intervals of a recorded series of the largest networks.
    pub const LEAST_INTERVALS: usize = 16, "1", "sim.series_least_intervals",
        Chosen { reason: "fewer do not show a course" };

    /// Cells of all series of a run together, where that leaves `sim.series_least_intervals`.
    pub const MOST_CELLS: usize = 1 << 23, "1", "sim.series_most_cells",
        Chosen { reason: "some hundred megabytes" };

    /// Packets of the queue on the minimal path that UGAL and PAR do not count. With 0, credits in flight look like a queue
    /// and detours take a quarter of uniform traffic; larger ones cost adversarial traffic throughput.
    pub const UGAL_BIAS_PACKETS: u64 = 2, "1", "sim.ugal_bias_packets",
        Measured {
            command: "a program with synthetic traffic on dragonfly:p=4,a=8,h=4 at half load, as in \
             optiq-sim/tests/adaptive.rs; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        };

    /// Exchanges with more messages are not computed by the flow model besides, as that would take more than about a second.
    pub const FLOW_MODEL_MESSAGES: usize = 10_000, "1", "sim.flow_model_messages",
        Measured {
            command: "optiq simulate --topology bgq:512 --mpi linear; the values that were tried were not kept",
            date: "2026-11-22",
            cases: "before cases were divided",
        };
}

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
