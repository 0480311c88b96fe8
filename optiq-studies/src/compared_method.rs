//! What claims compare on the simulated machine: MPI and planners.

use optiq_solver::planner::PlannerName;
use std::fmt;

/// A method that is compared on the simulated machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedMethod {
    /// `MPI_Alltoallv`, all messages at once.
    Mpi,
    /// Planned paths.
    Planned(PlannerName),
}

impl ComparedMethod {
    /// As rows and pictures name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            ComparedMethod::Mpi => "MPI, all at once",
            ComparedMethod::Planned(planner) => planner.as_str(),
        }
    }
}

impl fmt::Display for ComparedMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
