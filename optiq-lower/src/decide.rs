//! Planned paths or plain MPI: which one serves an exchange, and why.
//!
//! Rank 0 decides, by the user's options, the score map, the cost model and the plan; all ranks follow its decision. With `D` the
//! link bound on the fabric's own routes and `a` the time of an agreement, in this order:
//!
//! 1. The algorithm that an option or a score map asks for.
//! 2. Plain MPI if every host sends another less than `OPTIQ_MIN_BYTES`, or if `D < 2 a`.
//! 3. Plain MPI this time if `D` is short beside planning and the demands are new; they are planned when they come again.
//! 4. After planning: the plan if the cost model predicts a gain of `OPTIQ_MIN_GAIN` ([`crate::model`]). If not, other paths gain
//!    little, and [`Decision::Mpi`] says so; a session then measures direct paths in an order of its own against plain MPI
//!    (`optiq::session`, decisions 025 and 030), since the model does not know what MPI leaves of the link bound. Where both are
//!    slower than was predicted of the plan, it is used after all ([`beats`], decision 077).

use crate::choices::Algorithm;
use crate::constants::{AGREEMENTS_SAVED, LEAST_PLANNING_SECONDS, WORTH};
use crate::model::{CostModel, Prediction};
use crate::scores::Scores;
use optiq_net::Network;
use optiq_solver::planner::PlannerName;
use optiq_solver::{Demand, Plan};
use optiq_transport::ChunkRule;
use std::collections::BTreeSet;
use std::fmt;

/// What served, or will serve, an exchange.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Planned paths.
    Multipath {
        /// The planner's name.
        planner: String,
        /// Paths between hosts.
        paths: usize,
        /// Link bound of the plan, in seconds.
        congestion_seconds: f64,
        /// Link bound of the fabric's own routes, in seconds.
        direct_congestion_seconds: f64,
    },
    /// Messages of the ranks of a host, combined ([`crate::combining`]).
    Combined {
        /// Hosts with ranks.
        hosts: u32,
        /// The radix of their numbers.
        radix: u32,
        /// Messages that each host sends.
        messages: usize,
        /// Rounds in which it sends them.
        rounds: u32,
    },
    /// `MPI_Alltoallv`.
    Mpi {
        /// Why, in words.
        reason: String,
    },
    /// A file access through the I/O hosts.
    Aggregation {
        /// I/O hosts that serve.
        io_hosts: usize,
        /// Rounds within the memory budget.
        rounds: u64,
        /// What moved the bytes in the last round, in words.
        moved: String,
    },
    /// A file access by the MPI library.
    MpiFile {
        /// Its function.
        call: &'static str,
        /// Why, in words.
        reason: String,
    },
    /// Straight from rank to rank with 64-bit sizes, because `MPI_Alltoallv` cannot count so far.
    Direct {
        /// Why, in words.
        reason: String,
    },
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Decision::Mpi { reason } => write!(f, "MPI_Alltoallv: {reason}"),
            Decision::Combined { hosts, radix, messages, rounds } => {
                let [m, r] = [*messages, *rounds as usize].map(|n| if n == 1 { "" } else { "s" });
                write!(
                    f,
                    "combined messages of the ranks of {hosts} hosts: each host sends at most {messages} message{m} in {rounds} round{r} (radix \
                     {radix})"
                )
            }
            Decision::Aggregation { io_hosts, rounds, moved } => {
                let s = if *rounds == 1 { "" } else { "s" };
                write!(f, "aggregation at {io_hosts} I/O hosts in {rounds} round{s}; bytes moved by {moved}")
            }
            Decision::MpiFile { call, reason } => write!(f, "{call}: {reason}"),
            Decision::Direct { reason } => write!(f, "direct messages: {reason}"),
            Decision::Multipath { planner, paths, congestion_seconds, .. }
                if matches!(planner.parse(), Ok(PlannerName::Direct)) =>
            {
                write!(f, "{paths} direct paths in OPTIQ's order: link bound {congestion_seconds:.6} s")
            }
            Decision::Multipath { planner, paths, congestion_seconds, direct_congestion_seconds } => write!(
                f,
                "{paths} paths by planner {planner}: link bound {congestion_seconds:.6} s instead of {direct_congestion_seconds:.6} s on the fabric's own routes"
            ),
        }
    }
}

/// What the decision depends on, apart from plan and cost model.
#[derive(Clone, Copy, Debug)]
pub struct DecisionOptions<'a> {
    /// What the user asks for; [`Algorithm::Auto`] leaves it to score map and cost model.
    pub algorithm: Algorithm,
    /// What the user asks for by size and number of hosts.
    pub scores: &'a Scores,
    /// Exchanges in which every host sends another fewer bytes than this go to plain MPI.
    pub min_bytes: Option<u64>,
    /// How many times faster than plain MPI planned paths must be predicted to be.
    pub min_gain: f64,
    /// Sizes of chunks.
    pub chunk: ChunkRule,
}

/// What is decided before a plan is made.
#[derive(Clone, Debug, PartialEq)]
pub enum BeforePlanning {
    /// Make a plan, and ask again.
    Plan,
    /// Fall back to plain MPI; with the reason.
    Fallback(String),
    /// Plain MPI now, a plan when these demands come again; with the reason.
    Later(String),
}

/// What the options or the score map ask for; [`Algorithm::Auto`] if nothing.
fn asked(demands: &[Demand], options: &DecisionOptions<'_>) -> Algorithm {
    if options.algorithm != Algorithm::Auto {
        return options.algorithm;
    }
    let hosts: BTreeSet<u32> = demands.iter().flat_map(|d| [d.src.0, d.dst.0]).collect();
    let largest = demands.iter().map(|d| d.bytes).max().unwrap_or(0);
    options.scores.algorithm(largest, hosts.len() as u64)
}

/// Whether demands should be planned at all. `direct` is their link bound on the fabric's own routes, in seconds; `again` says
/// that they were seen before.
pub fn decide_before_planning(
    demands: &[Demand],
    direct: f64,
    options: &DecisionOptions<'_>,
    model: &CostModel,
    again: bool,
) -> BeforePlanning {
    let Some(largest) = demands.iter().map(|d| d.bytes).max() else {
        return BeforePlanning::Fallback("no bytes cross the network".into());
    };
    match asked(demands, options) {
        Algorithm::Mpi if options.algorithm == Algorithm::Mpi => {
            return BeforePlanning::Fallback("OPTIQ_ALGORITHM=mpi".into());
        }
        Algorithm::Mpi => return BeforePlanning::Fallback("OPTIQ_SCORES gives it these sizes".into()),
        Algorithm::Multipath => return BeforePlanning::Plan,
        Algorithm::Auto => {}
    }
    if let Some(least) = options.min_bytes.filter(|&least| largest < least) {
        return BeforePlanning::Fallback(format!(
            "no host sends another more than {largest} bytes, which is below OPTIQ_MIN_BYTES ({least})"
        ));
    }
    if too_short(direct, model) {
        return BeforePlanning::Fallback(format!(
            "its link bound is {direct:.6} s, which is too short to win back an agreement of {:.6} s",
            model.agreement_seconds
        ));
    }
    if !again && direct < WORTH * LEAST_PLANNING_SECONDS {
        return BeforePlanning::Later(format!(
            "its link bound is {direct:.6} s, too short for planning; a plan is made if the same demands come again"
        ));
    }
    BeforePlanning::Plan
}

/// What serves a plan's demands, by the options, the score map and the cost model, and the prediction for both ways; never
/// [`Algorithm::Auto`]. `scale` multiplies all bytes of the plan.
pub fn score(
    plan: &Plan,
    network: &Network,
    options: &DecisionOptions<'_>,
    model: &CostModel,
    scale: f64,
) -> (Algorithm, Prediction) {
    let scaled = |d: &Demand| Demand { bytes: (d.bytes as f64 * scale).ceil() as u64, ..*d };
    let demands: Vec<Demand> = plan.demands.iter().map(scaled).collect();
    let predicted = model.predict(plan, network.unit_capacity(), options.chunk, scale);
    let algorithm = match asked(&demands, options) {
        Algorithm::Auto if demands.iter().all(|d| d.bytes < options.min_bytes.unwrap_or(0)) => Algorithm::Mpi,
        Algorithm::Auto if too_short(plan.direct_congestion_seconds * scale, model) => Algorithm::Mpi,
        Algorithm::Auto if predicted.gain() < options.min_gain => Algorithm::Mpi,
        Algorithm::Auto => Algorithm::Multipath,
        asked => asked,
    };
    (algorithm, predicted)
}

/// Whether an exchange with this link bound, in seconds, is too short to pay for an agreement.
fn too_short(direct_seconds: f64, model: &CostModel) -> bool {
    direct_seconds < AGREEMENTS_SAVED * model.agreement_seconds
}

/// Whether to use a plan: [`Decision::Multipath`], or [`Decision::Mpi`] with the prediction as the reason.
pub fn decide(plan: &Plan, network: &Network, options: &DecisionOptions<'_>, model: &CostModel) -> Decision {
    let (algorithm, predicted) = score(plan, network, options, model, 1.0);
    log::debug!(
        "{algorithm}: predicted {:.6} s over planned paths, {:.6} s by MPI, gain {:.3}, at least {} asked for; link bounds \
         {:.6} and {:.6} s",
        predicted.planned_seconds,
        predicted.plain_seconds,
        predicted.gain(),
        options.min_gain,
        plan.congestion_seconds,
        plan.direct_congestion_seconds
    );
    if algorithm == Algorithm::Mpi {
        return Decision::Mpi {
            reason: format!(
                "planned paths would take {:.6} s instead of {:.6} s, which is less than OPTIQ_MIN_GAIN ({}) times faster \
                 (link bounds {:.6} and {:.6} s)",
                predicted.planned_seconds,
                predicted.plain_seconds,
                options.min_gain,
                plan.congestion_seconds,
                plan.direct_congestion_seconds
            ),
        };
    }
    multipath(plan)
}

/// What planned paths are predicted to take, in seconds with the agreement; infinite if no link carries less than on the fabric's own routes.
pub fn predicted_seconds(plan: &Plan, network: &Network, options: &DecisionOptions<'_>, model: &CostModel) -> f64 {
    if plan.congestion_seconds >= plan.direct_congestion_seconds {
        return f64::INFINITY;
    }
    model.predict(plan, network.unit_capacity(), options.chunk, 1.0).planned_seconds
}

/// Whether planned paths are predicted to gain [`DecisionOptions::min_gain`] over what was measured to take `seconds`.
pub fn beats(plan: &Plan, network: &Network, options: &DecisionOptions<'_>, model: &CostModel, seconds: f64) -> bool {
    predicted_seconds(plan, network, options, model) * options.min_gain < seconds
}

/// The decision to use a plan.
pub fn multipath(plan: &Plan) -> Decision {
    Decision::Multipath {
        planner: plan.planner.clone(),
        paths: plan.flows.iter().map(Vec::len).sum(),
        congestion_seconds: plan.congestion_seconds,
        direct_congestion_seconds: plan.direct_congestion_seconds,
    }
}
