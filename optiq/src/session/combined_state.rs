//! What a session keeps for combined messages.

use super::small_calls::SmallCalls;
use optiq_lower::decide::Decision;
use optiq_transport::mpi::Combined;
use std::sync::Arc;

/// What a session keeps for combined messages.
pub(super) struct Combining {
    pub(super) calls: SmallCalls,
    /// Once it was worth having.
    pub(super) combined: Option<Combined>,
    /// Whether it was found to be worth having, and was had or not.
    pub(super) is_settled: bool,
    pub(super) radix: u32,
    pub(super) decision: Arc<Decision>,
    pub(super) measured_decision: Arc<Decision>,
}

impl Combining {
    pub(super) fn new(min_gain: f64) -> Self {
        let mpi = |reason: &str| Arc::new(Decision::Mpi { reason: reason.into() });
        Self {
            calls: SmallCalls::new(min_gain),
            combined: None,
            is_settled: false,
            radix: 0,
            decision: mpi("no call yet"),
            measured_decision: mpi("it is measured against combined messages, or was found to be faster"),
        }
    }

    /// Whether it holds memory that other ranks see.
    pub(super) fn shares_memory(&self) -> bool {
        self.combined.is_some()
    }
}
