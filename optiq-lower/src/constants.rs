//! The tuned constants of this crate.
//!
//! Most were chosen when the decision that they belong to was written, and have not been swept; they say so.

use optiq_measure::constant::Provenance::{Chosen, Derived, Measured};
use optiq_measure::constants;

constants! {
    /// All of them.
    pub const CONSTANTS;

    // `CostModel::agreement_seconds` before it is measured.
    /// What an agreement of all ranks costs where nothing was measured; a session measures its own when it begins.
    pub const AGREEMENT_SECONDS: f64 = 1e-3, "s", "lower.agreement_seconds",
        Derived { from: "10 messages of 100 us: a reduction over 32 ranks and its broadcast" };

    // `CostModel::latency_seconds` before it is measured.
    /// What a short message costs where nothing was measured; a session measures its own when it begins.
    pub const LATENCY_SECONDS: f64 = 1e-4, "s", "lower.latency_seconds",
        Chosen { reason: "the order of a message over TCP on a cluster" };

    // `CostModel::chunk_seconds` where no calibration file says it.
    /// A rank's work for a chunk; larger makes plans with many small chunks look slow.
    pub const CHUNK_SECONDS: f64 = 20e-6, "s", "lower.chunk_seconds",
        Chosen { reason: "the order of a receive, a send and a progress turn over TCP; no run on record" };

    // `CostModel::planned_link_efficiency` where no calibration file says it.
    /// Part of the link bound that planned paths reach; larger hands fewer exchanges to plain MPI.
    pub const PLANNED_LINK_EFFICIENCY: f64 = 0.85, "1", "lower.planned_link_efficiency",
        Chosen {
            reason: "below what planned paths reached in the lab's torus with tuned TCP; 0.53 to 0.78 with the kernel's own \
             settings, so that trials overrule it (decision 013)",
        };

    // `CostModel::store_and_forward_link_efficiency` where no calibration file says it.
    /// Part of the link bound that paths reach with relays at every host; above the planned one, relays are considered.
    pub const STORE_AND_FORWARD_LINK_EFFICIENCY: f64 = PLANNED_LINK_EFFICIENCY, "1", "lower.store_and_forward_link_efficiency",
        Derived {
            from: "equal to lower.planned_link_efficiency: without a calibration file, relays at every host are not assumed \
             to gain anything (decision 022)",
        };

    // `CostModel::mpi_link_efficiency` where no calibration file says it.
    /// Part of the link bound that MPI_Alltoallv reaches; smaller makes plans for more exchanges.
    pub const MPI_LINK_EFFICIENCY: f64 = 0.98, "1", "lower.mpi_link_efficiency",
        Chosen {
            reason: "the most that MPI_Alltoallv reached in the lab's torus with tuned TCP, 0.54 on one switch; on the safe \
             side, as trials can only correct a plan that was made (decision 013)",
        };

    /// Exchanges whose link bound is below this many agreements go to plain MPI; smaller plans for shorter ones.
    pub const AGREEMENTS_SAVED: f64 = 2.0, "1", "lower.agreements_saved",
        Derived { from: "a plan with half the congestion saves half of the time, which must pay one agreement" };

    /// The least time limit of the planner; larger gives better plans to short exchanges, which wait for them.
    pub const LEAST_PLANNING_SECONDS: f64 = 0.015, "s", "lower.least_planning_seconds",
        Chosen { reason: "enough for a plan of 16 hosts; not swept" };

    /// Demands whose link bound is below this many least planning times are planned when they come again, not at once.
    pub const WORTH: f64 = 4.0, "1", "lower.worth",
        Chosen { reason: "planning takes a quarter of the exchange at most; not swept" };

    /// Direct messages go by a timetable where the ports' mean load is at least this part of the busiest one's; smaller takes the
    /// timetable for demands in which ranks are often idle, and delays spread.
    pub const BALANCED_PART: f64 = 0.9, "1", "lower.balanced_part",
        Chosen { reason: "alltoall has 1; not swept between it and the random pairs of direct-random, which have 0.8 and less" };

    /// Messages of a timetable are uneven where the ports' mean load is below this part of the busiest one's, and they are larger than
    /// `lower.most_timed_chunks`; smaller keeps the timetable where ranks meet at ports although it keeps them apart.
    pub const EVEN_PART: f64 = 0.99, "1", "lower.even_part",
        Measured {
            command: "optiq bench alltoallv --force --repetitions 5, in the lab star:16, all-to-all in which receivers differ by 0, 1, 3 and \
             10 % (parts of 1, 0.99, 0.98 and 0.94), with OPTIQ_DIRECT_ORDER=timetable and with =proportion, OPTIQ_CHUNK=16kB: of 520 kB, 98, 95, 87, \
             86 % of the bound and 95, 96, 97, 97; of 1 MB, 1, 3 and 10 %: 94, 91, 88 and 97, 97, 97; of 256 kB: 98, 94, 94 and 96, 96, 96; of 128 kB, \
             3 and 10 %: 98, 99 and 96, 97",
            date: "2026-11-28",
            cases: "direct-uneven (520 kB and 1 MB; the files of the other sizes were made the same way and not kept)",
        };

    /// Chunks of the largest size in a message that a timetable suits although sizes differ; more keeps it for larger messages.
    pub const MOST_TIMED_CHUNKS: u64 = 2, "1", "lower.most_timed_chunks",
        Measured {
            command: "as for lower.even_part: 128 kB are two chunks, 256 kB four",
            date: "2026-11-28",
            cases: "direct-uneven (other sizes of the same kind, not kept)",
        };

    /// How long a small chunk takes on its link at least; smaller has links of 10 Gbit/s wait for ranks, larger takes large chunks where
    /// small ones do.
    pub const SMALL_CHUNK_SECONDS: f64 = 26e-6, "s", "lower.small_chunk_seconds",
        Chosen {
            reason: "32 kB at 1,250 MB/s, where optiq bench alltoallv --force --demands pattern:alltoall --message 256kB,4MB --repetitions 15 between \
             two ranks reached 99 to 102 % of the bound on 2026-11-28 with OPTIQ_CHUNK=64kB and 32kB (OPTIQ_DIRECT_ORDER=proportion), and 67 to 70 % \
             with 16kB; at 125 MB/s 98 to 101 % with all three. No group has these cases",
        };

    /// Networks whose slowest link is at least this fast are taken to hold packets back by credits, and messages go all at once
    /// there; smaller takes Ethernet for one of them, where ports that are sent too much lose packets.
    pub const CREDITED_BYTES_PER_SECOND: f64 = 1.5e9, "B/s", "lower.credited_bytes_per_second",
        Chosen {
            reason: "between 10 Gbit/s, up to which most networks are Ethernet, and Blue Gene/Q's 1.8 GB/s and InfiniBand's 20 Gbit/s; \
             a network does not say what it does, and nothing between 12.5 MB/s and 12.5 GB/s was tried (decision 038)",
        };

    /// Looks of a list scheduler at demands, above which direct messages go by shifts; larger lets every rank compute for longer.
    pub const MOST_STEPS: u64 = 50_000_000, "1", "lower.most_steps",
        Chosen { reason: "a tenth of a second or two; 256 hosts with one chunk for each other need 17 million; not swept" };

    /// Chunks in a relay's queue while paths fill; larger makes relays at every host look slower.
    pub const QUEUED_CHUNKS: f64 = 1.0, "1", "lower.queued_chunks",
        Measured {
            command: "optiq simulate --model bgq --legs hops --plan-only; with 2 chunks, relays at every host are predicted to take 20 to 70 % \
                      longer than they do at 256 KiB",
            date: "2026-11-25",
            cases: "executor-shapes, executor-fill (torus:8x8x8 and torus:4x4x4x4x4, 256 KiB to 3 MiB)",
        };

    /// Messages are packed in shared memory where pieces are smaller on average; larger copies more.
    pub(crate) const SMALL_PIECE_BYTES: u64 = 32 << 10, "B", "lower.small_piece_bytes",
        Chosen { reason: "the overhead of two chunks is more than a copy of this size (decision 014); not swept" };

    /// Messages are packed where cutting would make more paths than this for each flow of the plan.
    pub(crate) const PIECES_PER_FLOW: usize = 2, "1", "lower.pieces_per_flow",
        Chosen { reason: "two copies and two barriers must replace more than as many chunks (decision 014)" };

    /// The average size of a write to the file below which ranks share a lane; smaller makes more writes.
    pub(crate) const LARGE_SLICE_BYTES: u64 = 1 << 20, "B", "lower.large_slice_bytes",
        Chosen { reason: "what parallel file systems take in one request at most" };

    /// The first messages by which the rate of a guessed network's links is measured; larger takes longer on slow links.
    pub const PROBE_FIRST_BYTES: u64 = 16 << 10, "B", "lower.probe_first_bytes",
        Chosen { reason: "1.3 ms at 100 Mbit/s, so that twelve fit the time; not swept" };

    /// The largest such message; larger takes more memory of the two ranks.
    pub const PROBE_LARGEST_BYTES: u64 = 4 << 20, "B", "lower.probe_largest_bytes",
        Derived { from: "at 200 Gbit/s 0.17 ms, a hundred times a message's latency" };

    /// How often the largest is sent at most; more takes longer on fast links.
    pub const PROBE_REPETITIONS: u64 = 8, "1", "lower.probe_repetitions",
        Derived { from: "the half that counts has some of them" };

    /// Such messages on their way at a time; more overshoots the time on slow links.
    pub const PROBE_IN_FLIGHT: usize = 2, "1", "lower.probe_in_flight",
        Derived { from: "one is on the link while the other is answered" };

    /// Messages double while more than this number of them would fit the time; larger makes them longer.
    pub const PROBE_STEADY: f64 = 40.0, "1", "lower.probe_steady",
        Chosen { reason: "a dozen in the half that counts, each far longer than a message's latency; not swept" };

    /// The time for the messages of a pair; there are two turns, all pairs at once and one alone. Larger measures more of them.
    pub const PROBE_SECONDS: f64 = 0.016, "s", "lower.probe_seconds",
        Derived { from: "the set-up of a session is to take 0.1 s at 16 ranks; two turns are less than half of that" };

    /// In percent of what one pair reaches alone: pairs that reach less on average when all send at once share links. Larger
    /// takes a busy machine for another network.
    pub const SHARED_RATE: u64 = 75, "%", "lower.shared_rate",
        Chosen { reason: "five runs in the lab's torus:4x4 reached 62 to 73 %, seven in star:16 88 to 100 %; not swept" };

    /// A cut between I/O hosts moves to the border of a rank's bytes within one part in this of either range.
    pub(crate) const BORDER_SNAP: u128 = 16, "1", "lower.border_snap",
        Chosen { reason: "at most a sixteenth more load on a server; not swept" };

    // The closed loop (`OPTIQ_BACKGROUND=measure`).
    /// A leg that takes this many times the planned link bound is late, whatever quiet exchanges say; larger notices only heavier load at first.
    pub const LATE: f64 = 1.5, "1", "lower.late",
        Chosen { reason: "legs of plans with 15 paths and more differ by 1.3 without a load in the lab, half a link makes 2 of them: seen on the training cases of the closed-loop study, not swept" };

    /// The same at least, however alike the legs of quiet exchanges are; smaller makes plans anew for lighter loads.
    pub const LEAST_LATE: f64 = 1.2, "1", "lower.least_late",
        Derived { from: "a share that differs by less than lower.share_change from all of a link is none: 1 / 0.85, rounded up" };

    /// A leg is late that takes this many times what the latest one of quiet exchanges took; larger notices only heavier load.
    pub const ABOVE_QUIET: f64 = 1.1, "1", "lower.above_quiet",
        Derived { from: "lower.replan_gain: what is later by less is not worth another plan" };

    /// This number of quiet exchanges says how late legs are by themselves; before, lower.late holds. Larger learns later.
    pub const QUIET_EXCHANGES: u32 = 4, "1", "lower.quiet_exchanges",
        Chosen { reason: "twice lower.confirmations; not swept" };

    /// The part of a link's bytes on legs that exonerate it if they are fast; larger asks more legs.
    pub const QUANTILE: f64 = 0.3, "1", "lower.leg_quantile",
        Chosen { reason: "a short leg over a full link may be done before the others: one with 0.23 of the bytes was, on the training cases of the closed-loop study; not swept" };

    /// A leg is late only if it took this part of the time of the one that took longest; smaller blames links for legs that a slower one
    /// held up.
    pub const COMPARABLE: f64 = 0.4, "1", "lower.comparable_part",
        Chosen { reason: "legs behind a very late one get their chunks one by one and looked late, on the training cases of the closed-loop study; not swept" };

    /// A link that explains this part of the late bytes that another one explains is as good; smaller blames links that were in doubt
    /// before more often, although others explain more.
    pub const AS_GOOD: f64 = 0.9, "1", "lower.as_good_part",
        Chosen { reason: "links in a row carry nearly the same legs, and which one explains a little more is chance; not swept" };

    /// A link's share must be this far from what was taken for left; larger follows only larger changes.
    pub const CHANGE: f64 = 0.15, "1", "lower.share_change",
        Chosen { reason: "above what the estimates of one link differ by from call to call; not swept" };

    /// Exchanges in a row that must say so; larger is slower and surer.
    pub const CONFIRMATIONS: u32 = 2, "1", "lower.confirmations",
        Derived { from: "one exchange with a rank that was descheduled must change nothing" };

    /// Shares are whole multiples of this; larger finds plans again in the cache more often.
    pub const STEP: f64 = 0.05, "1", "lower.share_step",
        Derived { from: "a third of lower.share_change" };

    /// The least share that is taken for left; smaller keeps off busy links more strictly.
    pub const LEAST_SHARE: f64 = 0.1, "1", "lower.least_share",
        Derived { from: "a fair share beside nine others; what is left of a link cannot be told any more where nothing is sent over it" };

    /// After this number of exchanges without evidence, a busy link is taken for free again; larger finds out later that a load has ended.
    pub const ASK_AGAIN: u64 = 16, "1", "lower.ask_again",
        Chosen { reason: "an exchange or two on a busy link in 16; doubled while it is in vain; not swept" };

    /// What `lower.ask_again` is doubled at most, in times; larger finds out later that a load has ended of which it was asked in vain.
    pub const MOST_DOUBLINGS: u32 = 6, "1", "lower.most_doublings",
        Chosen { reason: "64 times as rare; questions in vain take a vanishing part of the time long before; not swept" };

    /// A question was in vain if the link is found to be busy within this many exchanges; larger takes loads that come back for loads that
    /// never ended, and asks about them more rarely.
    pub const SOON: u64 = 8, "1", "lower.soon_exchanges",
        Chosen { reason: "a load that never ended is found again after lower.confirmations exchanges on the link, with room for its plan to be made; not swept" };

    /// A link that reaches this part of its capacity or more is taken for free again; smaller forgets light loads.
    pub const FREE: f64 = 0.8, "1", "lower.free_share",
        Chosen { reason: "estimates of a link without a load stay above it, as they differ by less than lower.share_change from call to call; not swept" };

    /// A link that was planned to be busy for this part of the exchange or longer gives evidence of what is left of it; smaller takes
    /// short legs for evidence.
    pub const EVIDENCE: f64 = 0.2, "1", "lower.evidence_part",
        Chosen { reason: "a link that is busy for less carries few chunks of ours, whose times say little; not swept" };

    /// What is left of the known efficiency after every exchange that reaches less; smaller forgets it sooner, and then takes a load on
    /// all links for a slow machine.
    pub const EFFICIENCY_DECAY: f64 = 0.97, "1", "lower.efficiency_decay",
        Chosen { reason: "an eighth less after four exchanges, in which a load is found, and half after 23, so that a machine that became slower is not taken for loaded for ever; not swept" };

    /// A call or look enters the moving average of its times with one part in this; larger is slower to follow a change.
    pub const PACE_WEIGHT: f64 = 4.0, "1", "lower.pace_weight",
        Chosen { reason: "four calls outweigh the past, as for optiq.average_weight; not swept" };

    /// What looking at exchanges takes of the time at most, and what probes of links do; smaller notices a load later.
    pub const LOOK_PART: f64 = 0.005, "1", "lower.look_part",
        Derived { from: "half of the hundredth that issue 21 allows" };

    /// How long pairs send in a turn of a link probe; larger is surer, and rarer, as probes take a fixed part of the time.
    pub const LINK_PROBE_SECONDS: f64 = 0.008, "s", "lower.link_probe_seconds",
        Derived { from: "half of lower.probe_seconds: there are two turns" };

    /// Another plan must have this many times less congestion on what is left; larger plans anew more rarely.
    pub const REPLAN_GAIN: f64 = 1.1, "1", "lower.replan_gain",
        Chosen { reason: "below it, what estimates are wrong by decides; not swept" };

    /// Another plan that has no more congestion must have this many times fewer bytes on detours; larger keeps detours that are needless.
    pub const REPLAN_DETOURS: f64 = 2.0, "1", "lower.replan_detours",
        Chosen { reason: "where a load has moved, the plan for it had 4 times fewer; plans for one load as it varies differed 1.3 times (closed-loop-fattree, seed 2); not swept" };

    /// Where calls are long, ranks agree at least this often; larger notices large calls later.
    pub const MAXIMUM_SAMPLING_INTERVAL: f64 = 0.5, "s", "lower.maximum_sampling_interval",
        Chosen { reason: "a user does not notice half a second of unplanned calls; not swept" };

    /// Agreements and plans in vain take one part in this of the time at most; larger notices large calls later.
    pub const AGREEMENT_SPACING: f64 = 200.0, "1", "lower.agreement_spacing",
        Derived { from: "half a percent of the time, as an agreement takes longer than calibrated where ranks are late" };

    /// Where calls are short, ranks agree at least once in this many; larger notices large calls later.
    pub const SAMPLING_CALLS: u64 = 256, "1", "lower.sampling_calls",
        Chosen { reason: "a reduction in 256 calls of a microsecond is below the noise (decision 012); not swept" };

    /// Agreed calls in a row that are not planned, before agreements become rare.
    pub const UNPLANNED_CALLS: u32 = 3, "1", "lower.unplanned_calls",
        Chosen { reason: "one or two small calls often begin a program; not swept" };

    /// Calls that ranks agree on after a misprediction; doubled by each further one.
    pub const WATCH_CALLS_FIRST: u32 = 8, "1", "lower.watch_calls_first",
        Derived { from: "enough to see a period of 4 twice" };

    /// The most calls that ranks agree on after a misprediction.
    pub const WATCH_CALLS_MOST: u32 = 32, "1", "lower.watch_calls_most",
        Derived { from: "enough to see a period of 16 twice" };

    /// After this many mispredictions whose calls were not planned, further ones are ignored until one is planned.
    pub const VAIN_MISPREDICTIONS: u32 = 3, "1", "lower.vain_mispredictions",
        Chosen { reason: "large calls that plain MPI serves anyway must not cost agreements for ever; not swept" };

    /// The number of the use of a plan, from 0, that plain MPI serves for the first time at the earliest.
    pub const FIRST_TRIAL: u32 = 2, "1", "lower.first_trial",
        Derived { from: "the first use may open connections, the second is the first fair measurement" };

    /// The number of the use, from 0, at which a schedule of direct messages is tried after plain MPI.
    pub const FIRST_DIRECT_TRIAL: u32 = 1, "1", "lower.first_direct_trial",
        Derived { from: "plain MPI has opened the connections, and the third equal call is to take the faster side" };

    /// Direct messages of at least this mean size begin with OPTIQ, smaller ones with plain MPI.
    pub const DIRECT_FIRST_BYTES: u64 = 16 << 10, "B", "lower.direct_first",
        Measured {
            command: "cargo xtask results --only direct",
            date: "2026-11-23",
            cases: "direct-alltoall",
        };

    /// What the first trial of other flow control is taken to cost, as a multiple of what the plan takes; larger tries it later.
    pub const FLOW_CONTROL_PRICE: f64 = 0.5, "1", "lower.flow_control_price",
        Chosen { reason: "the same plan in smaller chunks is taken to need half as long again at most; neither measured nor swept" };

    /// What MPI's first trial is taken to cost where the plan does not forward, as a multiple of what the plan takes; larger tries it later.
    pub const DIRECT_MPI_PRICE: f64 = 0.3, "1", "lower.direct_mpi_price",
        Chosen { reason: "MPI took 1.28 times as long over all training cases of page direct at 814737e (1.8 in uniform all-to-all); not swept" };

    /// From this share of the plan's link bound on, MPI is tried before other flow control.
    pub const LONG_QUEUES_SHARE: f64 = 0.85, "1", "lower.long_queues_share",
        Chosen { reason: "other flow control gained where planned paths reached 8 to 87 % (decision 039); not swept" };

    /// Above this share of the link bound links have other rates than they were said to have; smaller takes calls that overlap for a proof. MPI's first
    /// trial does not ask for so much where it takes the same routes.
    pub const REFUTED_SHARE: f64 = 1.25, "1", "lower.refuted_share",
        Chosen {
            reason: "short calls in the lab overlap, and reach up to 110 % of the bound; over shared memory, where star:4 stands for no network, direct \
             messages of 4 MB reached 150 %, and MPI 250 %, so that MPI was first tried in the 23rd call"
        };

    /// Below this share of the plan's link bound, the flow control with least in flight is tried before that with
    /// a medium amount.
    pub const SHORT_QUEUES_SHARE: f64 = 0.5, "1", "lower.short_queues_share",
        Chosen { reason: "where queues are a little too short, planned paths keep more than half; time-outs take most of a call" };

    /// Trials of the slower side, after the first one, take this part of the time in calls at most; smaller follows a fabric that
    /// changes more slowly.
    pub const TRIAL_PART: f64 = 0.01, "1", "lower.trial_part",
        Chosen { reason: "below what a call differs from the next; what trials may cost by issue 18" };

    /// Calls of MPI in a row whose mean says what it takes where calls follow each other, and planned calls in a row before them; larger is surer and dearer.
    pub const ROW_CALLS: u64 = 8, "1", "lower.row_calls",
        Chosen { reason: "the first call behind an agreement is an eighth of what is measured; not swept" };

    /// The first such row may take this part of the time in calls so far; larger finds out sooner, and may lose more.
    pub const FIRST_ROW_PART: f64 = 0.1, "1", "lower.first_row_part",
        Chosen { reason: "a row that takes twice as long comes after 80 calls; not swept" };

    /// A call counts as this many times the moving average at most; larger lets single slow calls change sides.
    pub const OUTLIER: f64 = 1.5, "1", "lower.outlier",
        Chosen { reason: "a descheduled rank makes a call ten times longer; not swept" };

    /// A new time enters the moving average with one part in this; larger is slower to follow a change.
    pub const AVERAGE_WEIGHT: f64 = 4.0, "1", "lower.average_weight",
        Chosen { reason: "four calls outweigh the past; not swept" };
}

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
