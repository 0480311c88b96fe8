//! The constants of the planners that were tuned or chosen, with what they rest on.
//!
//! Most were tried by hand when a planner was written, on Blue Gene/Q shapes with the thesis's patterns, and no command shows
//! the trials again; these say that they are chosen. All decide which plan is found, so a change of any changes plans.

use optiq_measure::constant::Provenance::{Chosen, Derived, Published};
use optiq_measure::constant::{Constant, Provenance};

/// Gap between congestion and bound at which optimal ends; a smaller one takes longer.
pub(crate) const GAP: Constant = Constant {
    name: "optimal.gap",
    value: 0.01,
    unit: "1",
    provenance: Chosen { reason: "1 %: the uncertainty of measured times is larger; the user can set another (--gap)" },
    meaning: "Gap between congestion and bound at which optimal ends; a smaller one takes longer.",
};

/// Congestion above the bound that may be spent on forwarding fewer bytes.
pub(crate) const SLACK: Constant = Constant {
    name: "optimal.slack",
    value: GAP.value,
    unit: "1",
    provenance: Chosen {
        reason: "equal to the gap, as both count from the bound (docs/decisions/011); the user can set another (--slack)",
    },
    meaning: "Congestion above the bound that may be spent on forwarding fewer bytes.",
};

/// Part of the gap that is left to rounding and to the second goal; more makes the search longer and forwards less.
pub(crate) const SPARE_GAP: Constant = Constant {
    name: "optimal.spare_gap",
    value: 0.2,
    unit: "1",
    provenance: Chosen {
        reason: "the search closes 80 % of the gap and leaves the rest to the second goal (docs/decisions/011)",
    },
    meaning: "Part of the gap that is left to rounding and to the second goal; more makes the search longer and forwards less.",
};

/// Rounds at most; what is found by then is the plan.
pub(crate) const ROUNDS_MOST: usize = 200;

/// Sweeps of a round at most; more settle a round better before prices prove a bound.
pub(crate) const SWEEPS_MOST: usize = 30;

/// Sweeps of a round at least; fewer could end a round on prices that are still moving.
pub(crate) const SWEEPS_LEAST: usize = 5;

/// One sweep in this many looks at all columns, the others at those with bytes and the cheapest; fewer full sweeps are faster and find new columns later.
pub(crate) const FULL_SWEEP_EVERY: usize = 15;

/// The first power of the potential is 2 to this; a lower one begins with a larger smoothing gap.
pub(crate) const FIRST_POWER: u32 = 3;

/// The last power of the potential is 2 to this; a higher one converges more slowly.
pub(crate) const LAST_POWER: u32 = 10;

/// A round ends when its reduced-cost excess is below this part of the gap; a smaller one needs more sweeps.
pub(crate) const TOLERANCE: Constant = Constant {
    name: "optimal.tolerance",
    value: 0.05,
    unit: "1",
    provenance: Chosen { reason: "as optimal.sweeps_most" },
    meaning: "A round ends when its reduced-cost excess is below this part of the gap; a smaller one needs more sweeps.",
};

/// Columns without bytes are forgotten above this multiple of the price of the cheapest of their demand; a smaller one is faster and has to find more columns again.
pub(crate) const KEEP_COLUMNS: Constant = Constant {
    name: "optimal.keep_columns",
    value: 1.2,
    unit: "1",
    provenance: Chosen { reason: "as optimal.sweeps_most" },
    meaning: "Columns without bytes are forgotten above this multiple of the price of the cheapest of their demand; a smaller one is faster and has to find more columns again.",
};

/// What remains on a column below this part of what the slowest link carries in the reference time moves away.
pub(crate) const DROP_THRESHOLD: Constant = Constant {
    name: "optimal.drop_threshold",
    value: 1e-5,
    unit: "1",
    provenance: Chosen { reason: "too little to be worth a flow" },
    meaning: "What remains on a column below this part of what the slowest link carries in the reference time moves away.",
};

/// Drop threshold of the first two sweeps as part of a demand, while the first, many columns thin out.
pub(crate) const THIN_FIRST_SWEEPS: Constant = Constant {
    name: "optimal.thin_first_sweeps",
    value: 0.02,
    unit: "1",
    provenance: Chosen { reason: "as optimal.sweeps_most" },
    meaning: "Drop threshold of the first two sweeps as part of a demand, while the first, many columns thin out.",
};

/// Drop threshold of the rest of the first two rounds as part of a demand.
pub(crate) const THIN_FIRST_ROUNDS: Constant = Constant {
    name: "optimal.thin_first_rounds",
    value: 0.01,
    unit: "1",
    provenance: Chosen { reason: "as optimal.sweeps_most" },
    meaning: "Drop threshold of the rest of the first two rounds as part of a demand.",
};

/// How much dearer a visit to a link is in pricing than in a sweep; decides how often prices are asked for a bound.
pub(crate) const PRICING_VISIT: Constant = Constant {
    name: "optimal.pricing_visit",
    value: 3.0,
    unit: "1",
    provenance: Chosen {
        reason: "a visit by Dijkstra's algorithm beside one by a sweep, about; seen in profiles, no command shows it again",
    },
    meaning: "How much dearer a visit to a link is in pricing than in a sweep; decides how often prices are asked for a bound.",
};

/// After this many rounds without pricing there is one in any case.
pub(crate) const UNPRICED_ROUNDS: usize = 8;

/// Pricing that takes at most this many visits to links is always worth it.
pub(crate) const ALWAYS_WORTH: Constant = Constant {
    name: "optimal.always_worth",
    value: 5e7,
    unit: "visits",
    provenance: Chosen { reason: "about a tenth of a second" },
    meaning: "Pricing that takes at most this many visits to links is always worth it.",
};

/// Links of columns beyond which a problem on a grid is large: it begins with few columns and finds others as walks.
pub(crate) const LARGE_COLUMNS: Constant = Constant {
    name: "optimal.large_columns",
    value: 5e7,
    unit: "links",
    provenance: Chosen { reason: "some 300 MB of columns, and about a second for a look at all of them" },
    meaning: "Links of columns beyond which a problem on a grid is large: it begins with few columns and finds others as walks.",
};

/// As optimal.work_most, for large problems.
pub(crate) const WORK_MOST_LARGE: Constant = Constant {
    name: "optimal.work_most_large",
    value: 1e10,
    unit: "visits",
    provenance: Chosen { reason: "about a minute" },
    meaning: "As optimal.work_most, for large problems.",
};

/// Look-ups for walks with forced hops, in one pricing, at most; beyond it fewer hops are forced.
pub(crate) const FORCED_HOPS_WORK: Constant = Constant {
    name: "optimal.forced_hops_work",
    value: 4e8,
    unit: "look-ups",
    provenance: Chosen { reason: "about a second" },
    meaning: "Look-ups for walks with forced hops, in one pricing, at most; beyond it fewer hops are forced.",
};

/// Sweeps of a round on large problems, where walks are cheap to find, at most.
pub(crate) const SWEEPS_MOST_LARGE: usize = 8;

/// Sweeps of the second goal for each power on large problems.
pub(crate) const FORWARDING_SWEEPS_LARGE: usize = 6;

/// Seconds for each link of a demand's own route from demands to a checked plan, on one processor.
pub(crate) const SECONDS_PER_FLOW_LINK: Constant = Constant {
    name: "estimate.seconds_per_flow_link",
    value: 1.5e-7,
    unit: "s",
    provenance: Chosen { reason: "an order of magnitude, not calibrated; only what is announced depends on it" },
    meaning: "Seconds for each link of a demand's own route from demands to a checked plan, on one processor.",
};

/// Seconds for each link of a candidate path until the first sweep is done, on one processor.
pub(crate) const SECONDS_PER_COLUMN_LINK: Constant = Constant {
    name: "estimate.seconds_per_column_link",
    value: 3e-8,
    unit: "s",
    provenance: Chosen { reason: "an order of magnitude, not calibrated; only what is announced depends on it" },
    meaning: "Seconds for each link of a candidate path until the first sweep is done, on one processor.",
};

/// Visits to links at most; the method has stalled then.
pub(crate) const WORK_MOST: Constant = Constant {
    name: "optimal.work_most",
    value: 4e9,
    unit: "visits",
    provenance: Chosen { reason: "about twenty seconds" },
    meaning: "Visits to links at most; the method has stalled then.",
};

/// The first power of the second goal.
pub(crate) const FORWARDING_POWER_FIRST: u32 = 4;

/// The last power of the second goal.
pub(crate) const FORWARDING_POWER_LAST: u32 = 9;

/// Sweeps of the second goal for each power; small problems have more.
pub(crate) const FORWARDING_SWEEPS: usize = 16;

/// Sweeps of the second goal after a time limit has passed.
pub(crate) const FORWARDING_SWEEPS_LEAST: usize = 4;

/// Sweeps of the second goal for each power on small problems.
pub(crate) const FORWARDING_SWEEPS_MOST: usize = 200;

/// Visits to links for which small problems have more sweeps.
pub(crate) const FORWARDING_WORK: Constant = Constant {
    name: "forwarding.work",
    value: 3e6,
    unit: "visits",
    provenance: Chosen { reason: "some milliseconds" },
    meaning: "Visits to links for which small problems have more sweeps.",
};

/// From this power on small flows move onto others.
pub(crate) const MERGE_FROM_POWER: u32 = 6;

/// Flows below this part of their demand move onto others where these have capacity left; a larger one has fewer flows and more forwarding.
pub(crate) const MERGE_PART: Constant = Constant {
    name: "forwarding.merge_part",
    value: 0.1,
    unit: "1",
    provenance: Chosen {
        reason: "tried on Blue Gene/Q shapes: 15 % fewer flows for 2 % more forwarded bytes; no command shows it again",
    },
    meaning: "Flows below this part of their demand move onto others where these have capacity left; a larger one has fewer flows and more forwarding.",
};

/// Price of a forwarder relative to that of a link at its limit; a higher one forwards less and converges more slowly.
pub(crate) const FORWARD_PRICE: Constant = Constant {
    name: "forwarding.price",
    value: 0.2,
    unit: "1",
    provenance: Chosen { reason: "as optimal.sweeps_most" },
    meaning: "Price of a forwarder relative to that of a link at its limit; a higher one forwards less and converges more slowly.",
};

/// Part of the limit that is left to rounding to whole bytes.
pub(crate) const WHOLE_BYTES: Constant = Constant {
    name: "forwarding.whole_bytes",
    value: 2e-5,
    unit: "1",
    provenance: Chosen { reason: "rounding to whole bytes stays below it for demands of some hundred KiB" },
    meaning: "Part of the limit that is left to rounding to whole bytes.",
};

/// As optimal.drop_threshold, for the second goal.
pub(crate) const DROP_THRESHOLD_FORWARDING: Constant = Constant {
    name: "forwarding.drop_threshold",
    value: 1e-2,
    unit: "1",
    provenance: Chosen { reason: "as optimal.sweeps_most" },
    meaning: "As optimal.drop_threshold, for the second goal.",
};

/// Bytes leave columns that are dearer than the cheapest by at least this part of what the dearest is; a smaller one moves more bytes in a sweep, and back again.
pub(crate) const SELECTIVE: Constant = Constant {
    name: "equilibrium.selective",
    value: 0.5,
    unit: "1",
    provenance: Chosen { reason: "as optimal.sweeps_most" },
    meaning: "Bytes leave columns that are dearer than the cheapest by at least this part of what the dearest is; a smaller one moves more bytes in a sweep, and back again.",
};

/// How much dearer, relatively, the dearest column must be before bytes move.
pub(crate) const DEARER: Constant = Constant {
    name: "equilibrium.dearer",
    value: 1e-9,
    unit: "1",
    provenance: Chosen { reason: "far above the rounding of prices" },
    meaning: "How much dearer, relatively, the dearest column must be before bytes move.",
};

/// Visits to links for leaving out flows; more leave fewer flows.
pub(crate) const SPARSIFY_WORK: Constant = Constant {
    name: "sparsify.work",
    value: 2e6,
    unit: "visits",
    provenance: Chosen { reason: "some milliseconds" },
    meaning: "Visits to links for leaving out flows; more leave fewer flows.",
};

/// Equal parts into which whole demands are cut at most.
pub(crate) const PARTS_MOST: usize = 2;

/// The first power for whole demands.
pub(crate) const PARTS_POWER_FIRST: u32 = 3;

/// The last power for whole demands.
pub(crate) const PARTS_POWER_LAST: u32 = 6;

/// Sweeps over whole demands for each power.
pub(crate) const PARTS_SWEEPS: usize = 6;

/// A part moves if it gains this, relatively.
pub(crate) const PART_GAIN: Constant = Constant {
    name: "sparsify.part_gain",
    value: 1e-9,
    unit: "1",
    provenance: Chosen { reason: "far above the rounding of potentials" },
    meaning: "A part moves if it gains this, relatively.",
};

/// The first power for repairs.
pub(crate) const REPAIR_POWER_FIRST: u32 = 4;

/// The last power for repairs.
pub(crate) const REPAIR_POWER_LAST: u32 = 9;

/// Sweeps of a repair for each power.
pub(crate) const REPAIR_SWEEPS: usize = 8;

/// More forwarded bytes, relatively, that fewer flows may cost.
pub(crate) const SPARSIFY_FORWARDED: Constant = Constant {
    name: "sparsify.forwarded",
    value: 0.05,
    unit: "1",
    provenance: Chosen { reason: "a flow costs messages and slots whatever it carries" },
    meaning: "More forwarded bytes, relatively, that fewer flows may cost.",
};

/// Part of a demand, in sum over its paths, that may be taken for noise of the interior-point method.
pub(crate) const LP_DROP_THRESHOLD: Constant = Constant {
    name: "lp.drop_threshold",
    value: 5e-4,
    unit: "1",
    provenance: Chosen { reason: "docs/decisions/008" },
    meaning: "Part of a demand, in sum over its paths, that may be taken for noise of the interior-point method.",
};

/// The prices of all legs together, relative to a lower bound on the congestion, and so what they can raise the congestion by.
pub(crate) const LP_LEG_PRICE: Constant = Constant {
    name: "lp.leg_price",
    value: 1e-3,
    unit: "1",
    provenance: Chosen { reason: "docs/decisions/008: about 2 flows for each pair in place of 50" },
    meaning: "The prices of all legs together, relative to a lower bound on the congestion, and so what they can raise the congestion by.",
};

/// Bisection beside a base load ends when its bounds are this close, relatively.
pub(crate) const LP_CLOSE: Constant = Constant {
    name: "lp.close",
    value: GAP.value / 2.0,
    unit: "1",
    provenance: Derived { from: "half of optimal.gap" },
    meaning: "Bisection beside a base load ends when its bounds are this close, relatively.",
};

/// Programs of a bisection at most.
pub(crate) const LP_PROGRAMS: usize = 12;

/// Paths that a physical link may carry, to begin with.
pub(crate) const HEU1_MAXLOAD: u32 = 16;

/// Bytes that are assigned at a time.
pub(crate) const HEU2_CHUNK: u64 = 65_536;

/// Candidate paths for a demand, unless the planner is optimal.
pub(crate) const K: usize = 50;

/// Candidate paths for a demand at least, for optimal.
pub(crate) const K_LEAST: usize = 12;

/// Candidate paths for a demand at most, for optimal.
pub(crate) const K_MOST: usize = 150;

/// Candidate paths of all demands together, for optimal.
pub(crate) const CANDIDATE_PATHS: usize = 300_000;

/// The same on large problems.
pub(crate) const CANDIDATE_PATHS_LARGE: usize = 3_000_000;

/// Candidate paths for a demand at least, on large problems.
pub(crate) const K_LEAST_LARGE: usize = 2;

/// The same where few hosts send or receive.
pub(crate) const CANDIDATE_PATHS_CONCENTRATED: usize = 2_000_000;

/// One host in this many sends or receives at most where demands are concentrated.
pub(crate) const CONCENTRATED_PART: usize = 8;

/// Templates for the same distances; with fewer, load gathers on the ports that come first.
pub(crate) const VARIANTS: u64 = 4;

/// How much longer than the shortest path a candidate may be.
pub(crate) const MAX_DETOUR: u32 = 4;

/// Trials for each path that goes through an intermediate host.
pub(crate) const VIA_TRIALS_PER_PATH: usize = 2;

/// Trials beyond those for each path.
pub(crate) const VIA_MORE_TRIALS: usize = 24;

/// A list of intermediate hosts is left after this many trials in a row that gave nothing new.
pub(crate) const VIA_FRUITLESS: u32 = 4;

/// Figures that differ by less are taken to be equal in what is said.
pub(crate) const VERDICT_CLOSE: Constant = Constant {
    name: "verdict.close",
    value: GAP.value,
    unit: "1",
    provenance: Derived { from: "optimal.gap: closer than that is not proved" },
    meaning: "Figures that differ by less are taken to be equal in what is said.",
};

/// A record of a constant that code needs as a whole number.
const fn whole(
    name: &'static str,
    value: u64,
    unit: &'static str,
    provenance: Provenance,
    meaning: &'static str,
) -> Constant {
    Constant { name, value: value as f64, unit, provenance, meaning }
}

/// All constants of this crate.
pub const CONSTANTS: &[Constant] = &[
    GAP,
    SLACK,
    SPARE_GAP,
    whole(
        "optimal.rounds_most",
        ROUNDS_MOST as u64,
        "rounds",
        Chosen { reason: "far above the 4 to 10 rounds that are needed (docs/decisions/010)" },
        "Rounds at most; what is found by then is the plan.",
    ),
    whole(
        "optimal.sweeps_most",
        SWEEPS_MOST as u64,
        "sweeps",
        Chosen {
            reason: "tried with the others of this list when equilibration took the place of PDHG (docs/decisions/010); no command shows it again",
        },
        "Sweeps of a round at most; more settle a round better before prices prove a bound.",
    ),
    whole(
        "optimal.sweeps_least",
        SWEEPS_LEAST as u64,
        "sweeps",
        Chosen { reason: "as optimal.sweeps_most" },
        "Sweeps of a round at least; fewer could end a round on prices that are still moving.",
    ),
    whole(
        "optimal.full_sweep_every",
        FULL_SWEEP_EVERY as u64,
        "sweeps",
        Chosen { reason: "as optimal.sweeps_most" },
        "One sweep in this many looks at all columns, the others at those with bytes and the cheapest; fewer full sweeps are faster and find new columns later.",
    ),
    whole(
        "optimal.first_power",
        FIRST_POWER as u64,
        "doublings",
        Chosen { reason: "p = 8 converges fast; docs/decisions/010" },
        "The first power of the potential is 2 to this; a lower one begins with a larger smoothing gap.",
    ),
    whole(
        "optimal.last_power",
        LAST_POWER as u64,
        "doublings",
        Chosen { reason: "p = 1,024: its smoothing gap is below 1 % whatever the network" },
        "The last power of the potential is 2 to this; a higher one converges more slowly.",
    ),
    TOLERANCE,
    KEEP_COLUMNS,
    DROP_THRESHOLD,
    THIN_FIRST_SWEEPS,
    THIN_FIRST_ROUNDS,
    PRICING_VISIT,
    whole(
        "optimal.unpriced_rounds",
        UNPRICED_ROUNDS as u64,
        "rounds",
        Chosen { reason: "as optimal.sweeps_most" },
        "After this many rounds without pricing there is one in any case.",
    ),
    ALWAYS_WORTH,
    WORK_MOST,
    LARGE_COLUMNS,
    SECONDS_PER_FLOW_LINK,
    SECONDS_PER_COLUMN_LINK,
    WORK_MOST_LARGE,
    FORCED_HOPS_WORK,
    whole(
        "optimal.sweeps_most_large",
        SWEEPS_MOST_LARGE as u64,
        "sweeps",
        Chosen { reason: "walks cost no more than a sweep, so that they are asked for more often" },
        "Sweeps of a round on large problems, where walks are cheap to find, at most.",
    ),
    whole(
        "forwarding.sweeps_large",
        FORWARDING_SWEEPS_LARGE as u64,
        "sweeps",
        Chosen { reason: "a sweep takes some tenths of a second there" },
        "Sweeps of the second goal for each power on large problems.",
    ),
    whole(
        "forwarding.first_power",
        FORWARDING_POWER_FIRST as u64,
        "doublings",
        Chosen { reason: "as optimal.sweeps_most" },
        "The first power of the second goal.",
    ),
    whole(
        "forwarding.last_power",
        FORWARDING_POWER_LAST as u64,
        "doublings",
        Chosen { reason: "as optimal.sweeps_most" },
        "The last power of the second goal.",
    ),
    whole(
        "forwarding.sweeps",
        FORWARDING_SWEEPS as u64,
        "sweeps",
        Chosen { reason: "as optimal.sweeps_most" },
        "Sweeps of the second goal for each power; small problems have more.",
    ),
    whole(
        "forwarding.sweeps_least",
        FORWARDING_SWEEPS_LEAST as u64,
        "sweeps",
        Chosen { reason: "enough that a time limit still saves some forwarding" },
        "Sweeps of the second goal after a time limit has passed.",
    ),
    whole(
        "forwarding.sweeps_most",
        FORWARDING_SWEEPS_MOST as u64,
        "sweeps",
        Chosen { reason: "as optimal.sweeps_most" },
        "Sweeps of the second goal for each power on small problems.",
    ),
    FORWARDING_WORK,
    whole(
        "forwarding.merge_from_power",
        MERGE_FROM_POWER as u64,
        "doublings",
        Chosen { reason: "as forwarding.merge_part" },
        "From this power on small flows move onto others.",
    ),
    MERGE_PART,
    FORWARD_PRICE,
    WHOLE_BYTES,
    DROP_THRESHOLD_FORWARDING,
    SELECTIVE,
    DEARER,
    SPARSIFY_WORK,
    whole(
        "sparsify.parts_most",
        PARTS_MOST as u64,
        "parts",
        Chosen { reason: "as optimal.sweeps_most" },
        "Equal parts into which whole demands are cut at most.",
    ),
    whole(
        "sparsify.parts_first_power",
        PARTS_POWER_FIRST as u64,
        "doublings",
        Chosen { reason: "as optimal.first_power" },
        "The first power for whole demands.",
    ),
    whole(
        "sparsify.parts_last_power",
        PARTS_POWER_LAST as u64,
        "doublings",
        Chosen { reason: "as optimal.sweeps_most" },
        "The last power for whole demands.",
    ),
    whole(
        "sparsify.parts_sweeps",
        PARTS_SWEEPS as u64,
        "sweeps",
        Chosen { reason: "as optimal.sweeps_most" },
        "Sweeps over whole demands for each power.",
    ),
    PART_GAIN,
    whole(
        "sparsify.repair_first_power",
        REPAIR_POWER_FIRST as u64,
        "doublings",
        Chosen { reason: "as forwarding.first_power" },
        "The first power for repairs.",
    ),
    whole(
        "sparsify.repair_last_power",
        REPAIR_POWER_LAST as u64,
        "doublings",
        Chosen { reason: "as forwarding.last_power" },
        "The last power for repairs.",
    ),
    whole(
        "sparsify.repair_sweeps",
        REPAIR_SWEEPS as u64,
        "sweeps",
        Chosen { reason: "as optimal.sweeps_most" },
        "Sweeps of a repair for each power.",
    ),
    SPARSIFY_FORWARDED,
    LP_DROP_THRESHOLD,
    LP_LEG_PRICE,
    LP_CLOSE,
    whole(
        "lp.programs",
        LP_PROGRAMS as u64,
        "programs",
        Chosen { reason: "4,096 times closer than at first" },
        "Programs of a bisection at most.",
    ),
    whole(
        "heu1.maxload",
        HEU1_MAXLOAD as u64,
        "paths",
        Published { source: "thesis 6.4.4, the experiments of heuristic 1" },
        "Paths that a physical link may carry, to begin with.",
    ),
    whole(
        "heu2.chunk",
        HEU2_CHUNK,
        "B",
        Published { source: "thesis 6.4.4, the experiments of heuristic 2" },
        "Bytes that are assigned at a time.",
    ),
    whole(
        "candidates.k",
        K as u64,
        "paths",
        Published { source: "thesis 6.4.4: k = 50" },
        "Candidate paths for a demand, unless the planner is optimal.",
    ),
    whole(
        "candidates.k_least",
        K_LEAST as u64,
        "paths",
        Chosen { reason: "10 to 20 port-pair-diverse paths reach the optimum on Blue Gene/Q shapes" },
        "Candidate paths for a demand at least, for optimal.",
    ),
    whole(
        "candidates.k_most",
        K_MOST as u64,
        "paths",
        Chosen { reason: "as candidates.paths" },
        "Candidate paths for a demand at most, for optimal.",
    ),
    whole(
        "candidates.paths",
        CANDIDATE_PATHS as u64,
        "paths",
        Chosen {
            reason: "what searching and the first sweeps take some tenths of a second for; optimal finds what is missing by pricing",
        },
        "Candidate paths of all demands together, for optimal.",
    ),
    whole(
        "candidates.paths_large",
        CANDIDATE_PATHS_LARGE as u64,
        "paths",
        Chosen { reason: "some 300 MB of columns; walks are found as they are needed" },
        "Candidate paths of all demands together, for optimal, on large problems.",
    ),
    whole(
        "candidates.k_least_large",
        K_LEAST_LARGE as u64,
        "paths",
        Chosen { reason: "as candidates.paths_large" },
        "Candidate paths for a demand at least, for optimal, on large problems.",
    ),
    whole(
        "candidates.paths_concentrated",
        CANDIDATE_PATHS_CONCENTRATED as u64,
        "paths",
        Chosen { reason: "cuts around few senders take more paths to fill" },
        "The same where few hosts send or receive.",
    ),
    whole(
        "candidates.concentrated_part",
        CONCENTRATED_PART as u64,
        "1",
        Chosen { reason: "where an eighth of the hosts or fewer send, the cuts around these bind" },
        "One host in this many sends or receives at most where demands are concentrated.",
    ),
    whole(
        "candidates.variants",
        VARIANTS,
        "templates",
        Chosen {
            reason: "among 1, 2, 4 and 8 on bgq:512, bgq:1024 and bgq:2048 (disjoint, overlap, subset, 1,000 random pairs; k = 50): best for heuristic 1 in nine of twelve; no command shows it again",
        },
        "Templates for the same distances; with fewer, load gathers on the ports that come first.",
    ),
    whole(
        "candidates.max_detour",
        MAX_DETOUR as u64,
        "hops",
        Derived { from: "2 for a first hop that leads away from the destination and 2 for a last one" },
        "How much longer than the shortest path a candidate may be.",
    ),
    whole(
        "candidates.via_trials_per_path",
        VIA_TRIALS_PER_PATH as u64,
        "trials",
        Chosen { reason: "as candidates.via_more_trials" },
        "Trials for each path that goes through an intermediate host.",
    ),
    whole(
        "candidates.via_more_trials",
        VIA_MORE_TRIALS as u64,
        "trials",
        Chosen { reason: "enough to find k paths nearly always; not measured" },
        "Trials beyond those for each path.",
    ),
    whole(
        "candidates.via_fruitless",
        VIA_FRUITLESS as u64,
        "trials",
        Chosen { reason: "as candidates.via_more_trials" },
        "A list of intermediate hosts is left after this many trials in a row that gave nothing new.",
    ),
    VERDICT_CLOSE,
];
