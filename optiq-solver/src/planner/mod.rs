//! Planners: who decides which bytes take which candidate path. One file each.
//!
//! | name | method | source |
//! | --- | --- | --- |
//! | [`direct`] | the fabric's own route | what plain MPI does |
//! | [`heu1`] | paths under a limit of paths per link, equal shares | thesis 5.3.1 |
//! | [`heu2`] | chunk by chunk onto the least loaded path | thesis 5.3.2 |
//! | `lp` | the least congestion that the candidates allow, by linear programming | thesis 5.4 |
//! | [`optimal`] | the least congestion over every routing, by a first-order method, pricing and proof | Applegate et al. 2021 |

pub mod direct;
mod equilibrium;
mod fewer;
pub mod heu1;
pub mod heu2;
mod interface;
mod leg_pricing;
#[cfg(feature = "highs")]
pub mod lp;
pub mod optimal;
mod pricing;
mod round;

pub use interface::Planner;

use crate::error::PlanError;

/// The planners' parameters. Each planner takes those it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannerOptions {
    /// `heu1`: how many paths a physical link may carry, to begin with. Default 16, as published.
    pub maxload: u32,
    /// `heu2`: bytes that are assigned at a time. Default 64 KiB, as published.
    pub chunk: u64,
}

impl Default for PlannerOptions {
    fn default() -> Self {
        PlannerOptions { maxload: 16, chunk: 64 << 10 }
    }
}

/// The names that [`by_name`] knows, whether or not this build has them all.
pub const NAMES: [&str; 5] = ["direct", "heu1", "heu2", "lp", "optimal"];

/// The planner called `name`.
///
/// # Errors
/// [`PlanError::UnknownPlanner`]; [`PlanError::LeftOut`] for one that needs a cargo feature that this build does
/// not have; [`PlanError::ZeroMaxload`] and [`PlanError::ZeroChunk`] for parameters that make no sense.
pub fn by_name(name: &str, options: &PlannerOptions) -> Result<Box<dyn Planner>, PlanError> {
    // A parameter that makes no sense is refused whether or not this planner looks at it.
    let (heu1, heu2) = (heu1::Heuristic1::new(options.maxload)?, heu2::Heuristic2::new(options.chunk)?);
    Ok(match name {
        "direct" => Box::new(direct::Direct),
        "heu1" => Box::new(heu1),
        "heu2" => Box::new(heu2),
        "optimal" => Box::new(optimal::Optimal::new(optimal::GAP, None)?),
        #[cfg(feature = "highs")]
        "lp" => Box::new(lp::LinearProgram::default()),
        #[cfg(not(feature = "highs"))]
        "lp" => return Err(PlanError::LeftOut { planner: "lp", feature: "highs" }),
        other => return Err(PlanError::UnknownPlanner { name: other.to_owned(), known: NAMES.join(", ") }),
    })
}
