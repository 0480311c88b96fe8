//! The tuned constants of the runtime.

use optiq_measure::constant::Provenance::{Chosen, Derived};
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

    /// Plans of a session that may be carried over to demands that are nearly the same; more serve programs with more exchanges in turn.
    pub(crate) const CARRIED_PLANS: usize = 4, "1", "optiq.carried_plans",
        Chosen { reason: "forward and backward, of two arrays; not swept" };

    /// The most paths of one of them, on rank 0.
    pub(crate) const CARRIED_PATHS: usize = 1 << 16, "1", "optiq.carried_paths",
        Derived { from: "some ten megabytes, with a few links and hosts of 8 and 4 bytes a path" };

    /// Started exchanges of a session that may move at one time, each of a class of its own; more serve more classes, and divide the
    /// budget of buffer memory further.
    pub(crate) const EXCHANGES_AT_ONCE: usize = 4, "1", "optiq.exchanges_at_once",
        Chosen { reason: "a bulk and three levels of urgency; not swept" };

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
        Chosen { reason: "calls of different sizes are averaged together, so that more than lower.outlier is usual; not swept" };

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
