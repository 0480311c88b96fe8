//! What all planners have in common.

use crate::error::PlanError;
use crate::planner::name::PlannerName;
use crate::problem::{Assignment, Problem};

/// Decides which bytes take which path. The same problem always gives the same assignment.
pub trait Planner: Send + Sync {
    /// Which planner it is.
    fn id(&self) -> PlannerName;

    /// Its name, as in [`PlannerName`].
    fn name(&self) -> &'static str {
        self.id().as_str()
    }

    /// Whether [`Planner::assign`] needs candidate paths in its problem.
    fn needs_candidates(&self) -> bool;

    /// Distributes every demand's bytes over paths.
    ///
    /// # Errors
    /// [`PlanError`], if there is no plan or the planner could not find it.
    fn assign(&self, problem: &Problem) -> Result<Assignment, PlanError>;
}
