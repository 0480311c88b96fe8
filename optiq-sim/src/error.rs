//! What can go wrong.

use crate::time::Time;

/// Why a simulation could not begin or continue.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// An invalid model; says which key, what was found and what is expected.
    #[error("{0}")]
    Model(String),
    /// A routing that does not fit the network.
    #[error("{0}")]
    Routing(String),
    /// A workload that does not fit the network.
    #[error("{0}")]
    Workload(String),
    /// A checkpoint that cannot be resumed from, or kept.
    #[error("{0}")]
    Checkpoint(String),
    /// A trace that cannot be read.
    #[error("{0}")]
    Trace(String),
    /// A plan that does not fit the demands.
    #[error("{0}")]
    Lowering(String),
    /// What planners report.
    #[error(transparent)]
    Plan(#[from] optiq_solver::PlanError),
    /// What the network's own routing reports.
    #[error(transparent)]
    Net(#[from] optiq_net::NetError),
    /// What the chunk scheduler reports.
    #[error(transparent)]
    Transport(#[from] optiq_transport::TransportError),
    /// Nothing can happen any more, but hosts still wait.
    #[error("deadlock after {:.9} s of simulated time: {what}", .time.seconds())]
    Deadlock {
        /// The time of the last event.
        time: Time,
        /// Who waits for whom.
        what: String,
    },
}
