//! How a planner approached the optimum.

use serde::Serialize;

/// What was known at a moment of the search, for a picture of the gap over time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// Since the planner began.
    pub seconds: f64,
    /// Of the plan at that moment.
    pub congestion_seconds: f64,
    /// Proved by that moment.
    pub bound_seconds: f64,
}
