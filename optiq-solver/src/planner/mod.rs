//! Planners: who decides which bytes take which candidate path. One file each.
//!
//! | name | method | source |
//! | --- | --- | --- |
//! | [`direct`] | the fabric's own route | what plain MPI does |
//! | [`heu1`] | paths under a limit of paths per link, equal shares | thesis 5.3.1 |
//! | [`heu2`] | chunk by chunk onto the least loaded path | thesis 5.3.2 |
//! | `lp` | the least congestion that the candidates allow, by linear programming | thesis 5.4 |
//! | [`optimal`] | the least congestion over every routing, by path equilibration, pricing and proof | Jayakrishnan et al. 1994; Ford and Fulkerson 1958; docs/decisions/010 |
//!
//! `adapters` is no planner of its own: `optimal` asks it first where hosts are the adapters of nodes.

mod adapters;
pub mod direct;
mod equilibrium;
pub mod heu1;
pub mod heu2;
mod interface;
mod leg_pricing;
#[cfg(feature = "highs")]
pub mod lp;
mod name;
pub mod optimal;
mod pricing;
mod round;
pub(crate) mod scale;
mod sparsify;
mod walks;

pub use interface::Planner;
pub use name::{NAMES, PlannerName};

use crate::constants::{HEU1_MAXLOAD, HEU2_CHUNK};
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
        PlannerOptions { maxload: HEU1_MAXLOAD, chunk: HEU2_CHUNK }
    }
}

impl PlannerOptions {
    fn check(&self) -> Result<(heu1::Heuristic1, heu2::Heuristic2), PlanError> {
        Ok((heu1::Heuristic1::new(self.maxload)?, heu2::Heuristic2::new(self.chunk)?))
    }
}

/// The planner called `name`: [`create`] for a name that is still text.
///
/// # Errors
/// [`PlanError::UnknownPlanner`], and as [`create`].
pub fn by_name(name: &str, options: &PlannerOptions) -> Result<Box<dyn Planner>, PlanError> {
    options.check()?;
    create(name.parse()?, options)
}

/// A planner with these parameters; those for `optimal` are its defaults.
///
/// # Errors
/// [`PlanError::LeftOut`] for one that needs a cargo feature that this build does not have; [`PlanError::ZeroMaxload`] and
/// [`PlanError::ZeroChunk`] for parameters that make no sense, whether or not this planner looks at them.
pub fn create(name: PlannerName, options: &PlannerOptions) -> Result<Box<dyn Planner>, PlanError> {
    let (heu1, heu2) = options.check()?;
    Ok(match name {
        PlannerName::Direct => Box::new(direct::Direct),
        PlannerName::Heuristic1 => Box::new(heu1),
        PlannerName::Heuristic2 => Box::new(heu2),
        PlannerName::Optimal => Box::new(optimal::Optimal::new(optimal::GAP, None)?),
        #[cfg(feature = "highs")]
        PlannerName::LinearProgram => Box::new(lp::LinearProgram::default()),
        #[cfg(not(feature = "highs"))]
        PlannerName::LinearProgram => return Err(PlanError::LeftOut { planner: name.as_str(), feature: "highs" }),
    })
}
