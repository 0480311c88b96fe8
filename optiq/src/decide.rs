//! Planned paths, or plain MPI: which one serves an exchange, and why.
//!
//! Forwarding costs a copy and a turn of somebody's progress loop per leg, and agreement costs a small collective.
//! So planned paths are used only where messages are long enough to hide that, and where the plan's congestion is
//! below that of the fabric's own routes by a margin. Measured crossovers come with calibration; until then the
//! two thresholds are options.

use crate::{Algorithm, Config};
use optiq_solver::{Demand, Plan};
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
    /// `MPI_Alltoallv`.
    Mpi {
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
            Decision::Direct { reason } => write!(f, "direct messages: {reason}"),
            Decision::Multipath { planner, paths, congestion_seconds, direct_congestion_seconds } => write!(
                f,
                "{paths} paths by planner {planner}: link bound {congestion_seconds:.6} s instead of {direct_congestion_seconds:.6} s on the fabric's own routes"
            ),
        }
    }
}

fn mpi(reason: String) -> Option<Decision> {
    Some(Decision::Mpi { reason })
}

/// Whether it is already clear from the demands that plain MPI should serve them.
pub fn decide_before_planning(demands: &[Demand], config: &Config) -> Option<Decision> {
    if config.algorithm == Algorithm::Mpi {
        return mpi("OPTIQ_ALGORITHM=mpi".into());
    }
    let Some(largest) = demands.iter().map(|d| d.bytes).max() else {
        return mpi("no bytes cross the network".into());
    };
    if config.algorithm == Algorithm::Auto && largest < config.min_bytes {
        return mpi(format!(
            "no host sends another more than {largest} bytes, which is below OPTIQ_MIN_BYTES ({})",
            config.min_bytes
        ));
    }
    None
}

/// Whether to use a plan.
pub fn decide(plan: &Plan, config: &Config) -> Decision {
    let gain = plan.direct_congestion_seconds / plan.congestion_seconds;
    if config.algorithm == Algorithm::Auto && gain < config.min_gain {
        return Decision::Mpi {
            reason: format!(
                "the plan's link bound is {gain:.2} times better than the fabric's own routes', which is below OPTIQ_MIN_GAIN ({})",
                config.min_gain
            ),
        };
    }
    Decision::Multipath {
        planner: plan.planner.clone(),
        paths: plan.flows.iter().map(Vec::len).sum(),
        congestion_seconds: plan.congestion_seconds,
        direct_congestion_seconds: plan.direct_congestion_seconds,
    }
}
