//! Why a study did not come to its end: one sentence, and whose fault it is.

use optiq_net::NetError;
use optiq_sim::SimError;
use optiq_solver::{DemandError, PlanError};
use std::fmt;

/// Why a study did not do what it was asked to.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// What the user gave is wrong: an argument, a file, a place to write to.
    Input(String),
    /// The work itself failed.
    Work(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(sentence) | Failure::Work(sentence) => f.write_str(sentence),
        }
    }
}

impl std::error::Error for Failure {}

impl From<NetError> for Failure {
    fn from(e: NetError) -> Self {
        Failure::Input(e.to_string())
    }
}

impl From<DemandError> for Failure {
    fn from(e: DemandError) -> Self {
        Failure::Input(e.to_string())
    }
}

impl From<PlanError> for Failure {
    fn from(e: PlanError) -> Self {
        match e {
            PlanError::Unsound { .. } | PlanError::Solver(_) => Failure::Work(e.to_string()),
            _ => Failure::Input(e.to_string()),
        }
    }
}

impl From<SimError> for Failure {
    fn from(e: SimError) -> Self {
        match e {
            SimError::Plan(e) => e.into(),
            SimError::Deadlock { .. } | SimError::Transport(_) | SimError::Lowering(_) => Failure::Work(e.to_string()),
            _ => Failure::Input(e.to_string()),
        }
    }
}
