//! The tuned constants of the runtime.

use optiq_measure::constant::Provenance::{Chosen, Derived, Measured};
use optiq_measure::constants;

constants! {
    /// All of them.
    pub const CONSTANTS;

    /// The planner's time limit as a part of what the fabric's own routes need; larger plans better and makes ranks wait.
    pub const PLANNING_PART: f64 = 0.1, "1", "optiq.planning_part",
        Chosen { reason: "planning pays for itself at the first use if it gains a tenth; not swept" };

    /// The planner's time limit is never longer.
    pub const MOST_PLANNING_SECONDS: f64 = 1.0, "s", "optiq.most_planning_seconds",
        Chosen { reason: "ranks that wait longer look hung; not swept" };

    /// Where calls are long, ranks agree at least this often; larger notices large calls later.
    pub const MAXIMUM_SAMPLING_INTERVAL: f64 = 0.5, "s", "optiq.maximum_sampling_interval",
        Chosen { reason: "a user does not notice half a second of unplanned calls; not swept" };

    /// Agreements and plans in vain take one part in this of the time at most; larger notices large calls later.
    pub const AGREEMENT_SPACING: f64 = 200.0, "1", "optiq.agreement_spacing",
        Derived { from: "half a percent of the time, as an agreement takes longer than calibrated where ranks are late" };

    /// Where calls are short, ranks agree at least once in this many; larger notices large calls later.
    pub(crate) const SAMPLING_CALLS: u64 = 256, "1", "optiq.sampling_calls",
        Chosen { reason: "a reduction in 256 calls of a microsecond is below the noise (decision 012); not swept" };

    /// Agreed calls in a row that are not planned, before agreements become rare.
    pub(crate) const UNPLANNED_CALLS: u32 = 3, "1", "optiq.unplanned_calls",
        Chosen { reason: "one or two small calls often begin a program; not swept" };

    /// Calls that ranks agree on after a misprediction; doubled by each further one.
    pub(crate) const WATCH_CALLS_FIRST: u32 = 8, "1", "optiq.watch_calls_first",
        Derived { from: "enough to see a period of 4 twice" };

    /// The most calls that ranks agree on after a misprediction.
    pub(crate) const WATCH_CALLS_MOST: u32 = 32, "1", "optiq.watch_calls_most",
        Derived { from: "enough to see a period of 16 twice" };

    /// After this many mispredictions whose calls were not planned, further ones are ignored until one is planned.
    pub(crate) const VAIN_MISPREDICTIONS: u32 = 3, "1", "optiq.vain_mispredictions",
        Chosen { reason: "large calls that plain MPI serves anyway must not cost agreements for ever; not swept" };

    /// The number of the use of a plan, from 0, that plain MPI serves for the first time at the earliest.
    pub(crate) const FIRST_TRIAL: u32 = 2, "1", "optiq.first_trial",
        Derived { from: "the first use may open connections, the second is the first fair measurement" };

    /// The number of the use, from 0, at which a schedule of direct messages is tried after plain MPI.
    pub(crate) const FIRST_DIRECT_TRIAL: u32 = 1, "1", "optiq.first_direct_trial",
        Derived { from: "plain MPI has opened the connections, and the third equal call is to take the faster side" };

    /// Direct messages of at least this mean size begin with OPTIQ, smaller ones with plain MPI.
    pub(crate) const DIRECT_FIRST_BYTES: u64 = 16 << 10, "B", "optiq.direct_first",
        Measured {
            command: "cargo xtask results --only direct",
            date: "2026-11-23",
            cases: "direct-alltoall",
        };

    /// What the first trial of other flow control is taken to cost, as a multiple of what the plan takes; larger tries it later.
    pub(crate) const FLOW_CONTROL_PRICE: f64 = 0.5, "1", "optiq.flow_control_price",
        Chosen { reason: "the same plan in smaller chunks is taken to need half as long again at most; neither measured nor swept" };

    /// What MPI's first trial is taken to cost where the plan does not forward, as a multiple of what the plan takes; larger tries it later.
    pub(crate) const DIRECT_MPI_PRICE: f64 = 0.3, "1", "optiq.direct_mpi_price",
        Chosen { reason: "MPI took 1.28 times as long over all training cases of page direct at 814737e (1.8 in uniform all-to-all); not swept" };

    /// From this share of the plan's link bound on, MPI is tried before other flow control.
    pub(crate) const LONG_QUEUES_SHARE: f64 = 0.85, "1", "optiq.long_queues_share",
        Chosen { reason: "other flow control gained where planned paths reached 8 to 87 % (decision 039); not swept" };

    /// Below this share of the plan's link bound, the flow control with least in flight is tried before that with
    /// a medium amount.
    pub(crate) const SHORT_QUEUES_SHARE: f64 = 0.5, "1", "optiq.short_queues_share",
        Chosen { reason: "where queues are a little too short, planned paths keep more than half; time-outs take most of a call" };

    /// Trials of the slower side, after the first one, take this part of the time in calls at most; smaller follows a fabric that
    /// changes more slowly.
    pub(crate) const TRIAL_PART: f64 = 0.01, "1", "optiq.trial_part",
        Chosen { reason: "below what a call differs from the next; what trials may cost by issue 18" };

    /// The largest message between two ranks of different hosts that is combined with others; larger copies more, smaller sends more
    /// messages.
    pub(crate) const COMBINED_MESSAGE_BYTES: u64 = 4 << 10, "B", "optiq.combined_message",
        Chosen { reason: "a message costs what the copies of some ten kB cost; not swept" };

    /// Calls of plain MPI and of combined messages each that are measured before the faster one serves; larger chooses later, smaller
    /// after chance.
    pub(crate) const FIRST_SMALL_USES: f64 = 8.0, "1", "optiq.first_small_uses",
        Chosen { reason: "an average of eight small calls differs by less than what combining gains; not swept" };

    /// As many suffice where one way takes `optiq.clear_small_ratio` times as long as the other.
    pub(crate) const CLEAR_SMALL_USES: f64 = 2.0, "1", "optiq.clear_small_uses",
        Chosen { reason: "one call may be late by chance, two that both take twice as long hardly; further trials find out; not swept" };

    /// How many times as long a way must take, on average, that is found to be slower by few calls; larger is surer, and later.
    pub(crate) const CLEAR_SMALL_RATIO: f64 = 2.0, "1", "optiq.clear_small_ratio",
        Chosen { reason: "calls of one kind vary by half on a machine whose processors are shared; not swept" };

    /// The first calls of each that are not counted.
    pub(crate) const UNCOUNTED_SMALL_USES: u64 = 2, "1", "optiq.uncounted_small_uses",
        Derived { from: "the first call opens connections, and ranks may be late for the second" };

    /// Calls among which both ways are tried again, once one is known to be faster.
    pub(crate) const SMALL_TRIAL_CALLS: u64 = 4, "1", "optiq.small_trial_calls",
        Derived { from: "two pairs, so that each way has two whatever the lot says" };

    /// Calls until the first such trial, and from one to the next, while it is not sure which way is faster: for each time that the slower
    /// way takes longer by what the faster one takes. Larger is sure later.
    pub(crate) const SURER_SMALL_CALLS: u64 = 16, "1", "optiq.surer_small_calls",
        Derived { from: "two of 16 calls take the slower way, which takes an eighth of the time at most" };

    /// A small call counts as this many times the average at most; larger lets single slow calls change who serves.
    pub(crate) const SMALL_OUTLIER: f64 = 4.0, "1", "optiq.small_outlier",
        Chosen { reason: "calls of different sizes are averaged together, so that more than optiq.outlier is usual; not swept" };

    /// A call counts as this many times the moving average at most; larger lets single slow calls change sides.
    pub const OUTLIER: f64 = 1.5, "1", "optiq.outlier",
        Chosen { reason: "a descheduled rank makes a call ten times longer; not swept" };

    /// A new time enters the moving average with one part in this; larger is slower to follow a change.
    pub const AVERAGE_WEIGHT: f64 = 4.0, "1", "optiq.average_weight",
        Chosen { reason: "four calls outweigh the past; not swept" };

    /// Reductions that are timed when a session begins, after as many to warm up; the shortest counts.
    pub(crate) const CALIBRATION_REDUCTIONS: usize = 5, "1", "optiq.calibration_reductions",
        Chosen { reason: "the smallest of a few is stable; a communicator's first use must stay short" };

    /// No further reduction is timed after this; ranks that spin on fewer cores than they need take tens of milliseconds for each.
    pub(crate) const MOST_CALIBRATION_SECONDS: f64 = 0.05, "s", "optiq.most_calibration_seconds",
        Chosen { reason: "a tenth of what a communicator's first use may take where ranks spin; not swept" };

    /// Rounds of a file access from one agreement to the next; larger reports a failure later.
    pub(crate) const FILE_BATCH_ROUNDS: u64 = 8, "1", "optiq.file_batch_rounds",
        Chosen { reason: "ranks that wait in a reduction take processors from forwarders; not swept" };

    /// The progress thread's pause where nothing moves; smaller takes the processor from the program.
    pub(crate) const PROGRESS_PAUSE_SECONDS: f64 = 50e-6, "s", "optiq.progress_pause",
        Chosen { reason: "below the time of a chunk over TCP, above that of a wake-up; not swept" };

    /// What a session costs to make, in reductions over its ranks; larger makes sessions later.
    pub(crate) const SETUP_REDUCTIONS: f64 = 20.0, "1", "optiq.setup_reductions",
        Derived { from: "the collective calls in Fabric::new and agree_and_make, ten of them the calibration's" };

    /// A session is made on a program's communicator when it costs at most this part of what calls took so far; larger makes
    /// sessions sooner, and programs slower that end soon after.
    pub(crate) const SETUP_PART: f64 = 0.05, "1", "optiq.setup_part",
        Chosen {
            reason: "NAS FT class S (0.16 s, star:16 in the lab) took 0.19 s with a session from the second call on; IS class A has \
             one after its first large call; not swept",
        };

    /// How long a rank sleeps between looks while others measure the rate of a guessed network's links.
    pub(crate) const MEASURING_PAUSE_SECONDS: f64 = 200e-6, "s", "optiq.measuring_pause",
        Chosen { reason: "a hundredth of what is measured, and a processor that is free for it; not swept" };

    /// First calls on a communicator that are passed on before its ranks make a session.
    pub(crate) const EARLY_CALLS_PASSED: u32 = 2, "1", "optiq.early_calls",
        Chosen { reason: "many communicators live for one call; not swept" };
}

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
