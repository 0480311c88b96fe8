//! The constants of the planners that were tuned or chosen, with what they rest on.
//!
//! Most were tried by hand when a planner was written, on Blue Gene/Q shapes with the thesis's patterns, and no command shows
//! the trials again; these say that they are chosen. All decide which plan is found, so a change of any changes plans.

use optiq_measure::constant::Provenance::{Chosen, Derived, Published};
use optiq_measure::constants;

constants! {
    /// All constants of this crate.
    pub const CONSTANTS;

    /// Gap between congestion and bound at which optimal ends; a smaller one takes longer.
    pub(crate) const GAP: f64 = 0.01, "1", "optimal.gap",
        Chosen { reason: "1 %: the uncertainty of measured times is larger; the user can set another (--gap)" };

    /// Congestion above the bound that may be spent on forwarding fewer bytes.
    pub(crate) const SLACK: f64 = GAP, "1", "optimal.slack",
        Chosen {
            reason: "equal to the gap, as both count from the bound (docs/decisions/011); the user can set another \
             (--slack)",
        };

    /// Part of the gap that is left to rounding and to the second goal; more makes the search longer and forwards less.
    pub(crate) const SPARE_GAP: f64 = 0.2, "1", "optimal.spare_gap",
        Chosen { reason: "the search closes 80 % of the gap and leaves the rest to the second goal (docs/decisions/011)" };

    /// Rounds at most; what is found by then is the plan.
    pub(crate) const ROUNDS_MOST: usize = 200, "rounds", "optimal.rounds_most",
        Chosen { reason: "far above the 4 to 10 rounds that are needed (docs/decisions/010)" };

    /// Sweeps of a round at most; more settle a round better before prices prove a bound.
    pub(crate) const SWEEPS_MOST: usize = 30, "sweeps", "optimal.sweeps_most",
        Chosen {
            reason: "tried with the others of this list when equilibration took the place of PDHG (docs/decisions/010); no \
             command shows it again",
        };

    /// Sweeps of a round at least; fewer could end a round on prices that are still moving.
    pub(crate) const SWEEPS_LEAST: usize = 5, "sweeps", "optimal.sweeps_least",
        Chosen { reason: "as optimal.sweeps_most" };

    /// One sweep in this many looks at all columns, the others at those with bytes and the cheapest; fewer full sweeps are
    /// faster and find new columns later.
    pub(crate) const FULL_SWEEP_EVERY: usize = 15, "sweeps", "optimal.full_sweep_every",
        Chosen { reason: "as optimal.sweeps_most" };

    /// The first power of the potential is 2 to this; a lower one begins with a larger smoothing gap.
    pub(crate) const FIRST_POWER: u32 = 3, "doublings", "optimal.first_power",
        Chosen { reason: "p = 8 converges fast; docs/decisions/010" };

    /// The last power of the potential is 2 to this; a higher one converges more slowly.
    pub(crate) const LAST_POWER: u32 = 10, "doublings", "optimal.last_power",
        Chosen { reason: "p = 1,024: its smoothing gap is below 1 % whatever the network" };

    /// A round ends when its reduced-cost excess is below this part of the gap; a smaller one needs more sweeps.
    pub(crate) const TOLERANCE: f64 = 0.05, "1", "optimal.tolerance",
        Chosen { reason: "as optimal.sweeps_most" };

    /// Columns without bytes are forgotten above this multiple of the price of the cheapest of their demand; a smaller one is
    /// faster and has to find more columns again.
    pub(crate) const KEEP_COLUMNS: f64 = 1.2, "1", "optimal.keep_columns",
        Chosen { reason: "as optimal.sweeps_most" };

    /// What remains on a column below this part of what the slowest link carries in the reference time moves away.
    pub(crate) const DROP_THRESHOLD: f64 = 1e-5, "1", "optimal.drop_threshold",
        Chosen { reason: "too little to be worth a flow" };

    /// Drop threshold of the first two sweeps as part of a demand, while the first, many columns thin out.
    pub(crate) const THIN_FIRST_SWEEPS: f64 = 0.02, "1", "optimal.thin_first_sweeps",
        Chosen { reason: "as optimal.sweeps_most" };

    /// Drop threshold of the rest of the first two rounds as part of a demand.
    pub(crate) const THIN_FIRST_ROUNDS: f64 = 0.01, "1", "optimal.thin_first_rounds",
        Chosen { reason: "as optimal.sweeps_most" };

    /// How much dearer a visit to a link is in pricing than in a sweep; decides how often prices are asked for a bound.
    pub(crate) const PRICING_VISIT: f64 = 3.0, "1", "optimal.pricing_visit",
        Chosen {
            reason: "a visit by Dijkstra's algorithm beside one by a sweep, about; seen in profiles, no command shows it \
             again",
        };

    /// After this many rounds without pricing there is one in any case.
    pub(crate) const UNPRICED_ROUNDS: usize = 8, "rounds", "optimal.unpriced_rounds",
        Chosen { reason: "as optimal.sweeps_most" };

    /// Pricing that takes at most this many visits to links is always worth it.
    pub(crate) const ALWAYS_WORTH: f64 = 5e7, "visits", "optimal.always_worth",
        Chosen { reason: "about a tenth of a second" };

    /// Visits to links at most; the method has stalled then.
    pub(crate) const WORK_MOST: f64 = 4e9, "visits", "optimal.work_most",
        Chosen { reason: "about twenty seconds" };

    /// Links of columns beyond which a problem on a grid is large: it begins with few columns and finds others as walks.
    pub(crate) const LARGE_COLUMNS: f64 = 5e7, "links", "optimal.large_columns",
        Chosen { reason: "some 300 MB of columns, and about a second for a look at all of them" };

    /// Seconds for each link of a demand's own route from demands to a checked plan, on one processor.
    pub(crate) const SECONDS_PER_FLOW_LINK: f64 = 1.5e-7, "s", "estimate.seconds_per_flow_link",
        Chosen { reason: "an order of magnitude, not calibrated; only what is announced depends on it" };

    /// Seconds for each link of a candidate path until the first sweep is done, on one processor.
    pub(crate) const SECONDS_PER_COLUMN_LINK: f64 = 3e-8, "s", "estimate.seconds_per_column_link",
        Chosen { reason: "an order of magnitude, not calibrated; only what is announced depends on it" };

    /// Look-ups for walks with forced hops, in one pricing, at most; beyond it fewer hops are forced.
    pub(crate) const FORCED_HOPS_WORK: f64 = 4e8, "look-ups", "optimal.forced_hops_work",
        Chosen { reason: "about a second" };

    /// Sweeps of a round on large problems, where walks are cheap to find, at most.
    pub(crate) const SWEEPS_MOST_LARGE: usize = 8, "sweeps", "optimal.sweeps_most_large",
        Chosen { reason: "walks cost no more than a sweep, so that they are asked for more often" };

    /// Sweeps of the second goal for each power on large problems.
    pub(crate) const FORWARDING_SWEEPS_LARGE: usize = 6, "sweeps", "forwarding.sweeps_large",
        Chosen { reason: "a sweep takes some tenths of a second there" };

    /// The first power of the second goal.
    pub(crate) const FORWARDING_POWER_FIRST: u32 = 4, "doublings", "forwarding.first_power",
        Chosen { reason: "as optimal.sweeps_most" };

    /// The last power of the second goal.
    pub(crate) const FORWARDING_POWER_LAST: u32 = 9, "doublings", "forwarding.last_power",
        Chosen { reason: "as optimal.sweeps_most" };

    /// Sweeps of the second goal for each power; small problems have more.
    pub(crate) const FORWARDING_SWEEPS: usize = 16, "sweeps", "forwarding.sweeps",
        Chosen { reason: "as optimal.sweeps_most" };

    /// Sweeps of the second goal after a time limit has passed.
    pub(crate) const FORWARDING_SWEEPS_LEAST: usize = 4, "sweeps", "forwarding.sweeps_least",
        Chosen { reason: "enough that a time limit still saves some forwarding" };

    /// Sweeps of the second goal for each power on small problems.
    pub(crate) const FORWARDING_SWEEPS_MOST: usize = 200, "sweeps", "forwarding.sweeps_most",
        Chosen { reason: "as optimal.sweeps_most" };

    /// Visits to links for which small problems have more sweeps.
    pub(crate) const FORWARDING_WORK: f64 = 3e6, "visits", "forwarding.work",
        Chosen { reason: "some milliseconds" };

    /// From this power on small flows move onto others.
    pub(crate) const MERGE_FROM_POWER: u32 = 6, "doublings", "forwarding.merge_from_power",
        Chosen { reason: "as forwarding.merge_part" };

    /// Flows below this part of their demand move onto others where these have capacity left; a larger one has fewer flows
    /// and more forwarding.
    pub(crate) const MERGE_PART: f64 = 0.1, "1", "forwarding.merge_part",
        Chosen {
            reason: "tried on Blue Gene/Q shapes: 15 % fewer flows for 2 % more forwarded bytes; no command shows it again",
        };

    /// Price of a forwarder relative to that of a link at its limit; a higher one forwards less and converges more slowly.
    pub(crate) const FORWARD_PRICE: f64 = 0.2, "1", "forwarding.price",
        Chosen { reason: "as optimal.sweeps_most" };

    /// Part of the limit that is left to rounding to whole bytes.
    pub(crate) const WHOLE_BYTES: f64 = 2e-5, "1", "forwarding.whole_bytes",
        Chosen { reason: "rounding to whole bytes stays below it for demands of some hundred KiB" };

    /// As optimal.drop_threshold, for the second goal.
    pub(crate) const DROP_THRESHOLD_FORWARDING: f64 = 1e-2, "1", "forwarding.drop_threshold",
        Chosen { reason: "as optimal.sweeps_most" };

    /// Bytes leave columns that are dearer than the cheapest by at least this part of what the dearest is; a smaller one
    /// moves more bytes in a sweep, and back again.
    pub(crate) const SELECTIVE: f64 = 0.5, "1", "equilibrium.selective",
        Chosen { reason: "as optimal.sweeps_most" };

    /// How much dearer, relatively, the dearest column must be before bytes move.
    pub(crate) const DEARER: f64 = 1e-9, "1", "equilibrium.dearer",
        Chosen { reason: "far above the rounding of prices" };

    /// Visits to links for leaving out flows; more leave fewer flows.
    pub(crate) const SPARSIFY_WORK: f64 = 2e6, "visits", "sparsify.work",
        Chosen { reason: "some milliseconds" };

    /// Equal parts into which whole demands are cut at most.
    pub(crate) const PARTS_MOST: usize = 2, "parts", "sparsify.parts_most",
        Chosen { reason: "as optimal.sweeps_most" };

    /// The first power for whole demands.
    pub(crate) const PARTS_POWER_FIRST: u32 = 3, "doublings", "sparsify.parts_first_power",
        Chosen { reason: "as optimal.first_power" };

    /// The last power for whole demands.
    pub(crate) const PARTS_POWER_LAST: u32 = 6, "doublings", "sparsify.parts_last_power",
        Chosen { reason: "as optimal.sweeps_most" };

    /// Sweeps over whole demands for each power.
    pub(crate) const PARTS_SWEEPS: usize = 6, "sweeps", "sparsify.parts_sweeps",
        Chosen { reason: "as optimal.sweeps_most" };

    /// A part moves if it gains this, relatively.
    pub(crate) const PART_GAIN: f64 = 1e-9, "1", "sparsify.part_gain",
        Chosen { reason: "far above the rounding of potentials" };

    /// The first power for repairs.
    pub(crate) const REPAIR_POWER_FIRST: u32 = 4, "doublings", "sparsify.repair_first_power",
        Chosen { reason: "as forwarding.first_power" };

    /// The last power for repairs.
    pub(crate) const REPAIR_POWER_LAST: u32 = 9, "doublings", "sparsify.repair_last_power",
        Chosen { reason: "as forwarding.last_power" };

    /// Sweeps of a repair for each power.
    pub(crate) const REPAIR_SWEEPS: usize = 8, "sweeps", "sparsify.repair_sweeps",
        Chosen { reason: "as optimal.sweeps_most" };

    /// More forwarded bytes, relatively, that fewer flows may cost.
    pub(crate) const SPARSIFY_FORWARDED: f64 = 0.05, "1", "sparsify.forwarded",
        Chosen { reason: "a flow costs messages and slots whatever it carries" };

    /// Part of a demand, in sum over its paths, that may be taken for noise of the interior-point method.
    pub(crate) const LP_DROP_THRESHOLD: f64 = 5e-4, "1", "lp.drop_threshold",
        Chosen { reason: "docs/decisions/008" };

    /// The prices of all legs together, relative to a lower bound on the congestion, and so what they can raise the
    /// congestion by.
    pub(crate) const LP_LEG_PRICE: f64 = 1e-3, "1", "lp.leg_price",
        Chosen { reason: "docs/decisions/008: about 2 flows for each pair in place of 50" };

    /// Bisection beside a base load ends when its bounds are this close, relatively.
    pub(crate) const LP_CLOSE: f64 = GAP / 2.0, "1", "lp.close",
        Derived { from: "half of optimal.gap" };

    /// Programs of a bisection at most.
    pub(crate) const LP_PROGRAMS: usize = 12, "programs", "lp.programs",
        Chosen { reason: "4,096 times closer than at first" };

    /// Paths that a physical link may carry, to begin with.
    pub(crate) const HEU1_MAXLOAD: u32 = 16, "paths", "heu1.maxload",
        Published { source: "thesis 6.4.4, the experiments of heuristic 1" };

    /// Bytes that are assigned at a time.
    pub(crate) const HEU2_CHUNK: u64 = 65_536, "B", "heu2.chunk",
        Published { source: "thesis 6.4.4, the experiments of heuristic 2" };

    /// Candidate paths for a demand, unless the planner is optimal.
    pub(crate) const K: usize = 50, "paths", "candidates.k",
        Published { source: "thesis 6.4.4: k = 50" };

    /// Candidate paths for a demand at least, for optimal.
    pub(crate) const K_LEAST: usize = 12, "paths", "candidates.k_least",
        Chosen { reason: "10 to 20 port-pair-diverse paths reach the optimum on Blue Gene/Q shapes" };

    /// Candidate paths for a demand at most, for optimal.
    pub(crate) const K_MOST: usize = 150, "paths", "candidates.k_most",
        Chosen { reason: "as candidates.paths" };

    /// Candidate paths of all demands, in sum, for optimal.
    pub(crate) const CANDIDATE_PATHS: usize = 300_000, "paths", "candidates.paths",
        Chosen {
            reason: "what searching and the first sweeps take some tenths of a second for; optimal finds what is missing by \
             pricing",
        };

    /// Candidate paths of all demands, in sum, for optimal, on large problems.
    pub(crate) const CANDIDATE_PATHS_LARGE: usize = 3_000_000, "paths", "candidates.paths_large",
        Chosen { reason: "some 300 MB of columns; walks are found as they are needed" };

    /// Candidate paths for a demand at least, for optimal, on large problems.
    pub(crate) const K_LEAST_LARGE: usize = 2, "paths", "candidates.k_least_large",
        Chosen { reason: "as candidates.paths_large" };

    /// The same where few hosts send or receive.
    pub(crate) const CANDIDATE_PATHS_CONCENTRATED: usize = 2_000_000, "paths", "candidates.paths_concentrated",
        Chosen { reason: "cuts around few senders take more paths to fill" };

    /// One host in this many sends or receives at most where demands are concentrated.
    pub(crate) const CONCENTRATED_PART: usize = 8, "1", "candidates.concentrated_part",
        Chosen { reason: "where an eighth of the hosts or fewer send, the cuts around these bind" };

    /// Templates for the same distances; with fewer, load gathers on the ports that come first.
    pub(crate) const VARIANTS: u64 = 4, "templates", "candidates.variants",
        Chosen {
            reason: "among 1, 2, 4 and 8 on bgq:512, bgq:1024 and bgq:2048 (disjoint, overlap, subset, 1,000 random pairs; k \
             = 50): best for heuristic 1 in nine of twelve; no command shows it again",
        };

    /// How much longer than the shortest path a candidate may be.
    pub(crate) const MAX_DETOUR: u32 = 4, "hops", "candidates.max_detour",
        Derived { from: "2 for a first hop that leads away from the destination and 2 for a last one" };

    /// Trials for each path that goes through an intermediate host.
    pub(crate) const VIA_TRIALS_PER_PATH: usize = 2, "trials", "candidates.via_trials_per_path",
        Chosen { reason: "as candidates.via_more_trials" };

    /// Trials beyond those for each path.
    pub(crate) const VIA_MORE_TRIALS: usize = 24, "trials", "candidates.via_more_trials",
        Chosen { reason: "enough to find k paths nearly always; not measured" };

    /// A list of intermediate hosts is left after this many trials in a row that gave nothing new.
    pub(crate) const VIA_FRUITLESS: u32 = 4, "trials", "candidates.via_fruitless",
        Chosen { reason: "as candidates.via_more_trials" };

    /// Demands that optimal plans without a time limit, at most; more take minutes, so they are planned only where it is said
    /// how long that may take.
    pub(crate) const DEMANDS_MOST: usize = 8_000_000, "demands", "plan.demands_most",
        Chosen {
            reason: "4.2 million take 21 s and 2.4 GB on two processors (torus:8x8x8x4, all-to-all), 16.8 million over three \
             minutes and 9.6 GB (torus:8x8x8x8)",
        };

    /// Figures that differ by less are taken to be equal in what is said.
    pub(crate) const VERDICT_CLOSE: f64 = GAP, "1", "verdict.close",
        Derived { from: "optimal.gap: closer than that is not proved" };
}
