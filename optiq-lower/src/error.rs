//! What can go wrong with transfers.

use optiq_net::NetError;
use optiq_solver::PlanError;
use thiserror::Error;

/// Why a list of transfers cannot be read, written or planned.
#[derive(Debug, Error)]
pub enum LowerError {
    /// An argument is impossible, or a file is wrong; one sentence.
    #[error("{0}")]
    Argument(String),
    /// The network cannot route what it must.
    #[error(transparent)]
    Net(#[from] NetError),
    /// No plan could be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A plan does not fit the messages that it was made for.
    #[error("the plan that rank 0 sent out cannot be used: {0}")]
    BadPlan(String),
}
