//! What a session keeps for combined messages.

use super::small_calls::SmallCalls;
use crate::error::Error;
use optiq_lower::decide::Decision;
use optiq_transport::TransportError;
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

    /// What is done with combined messages, which there must be.
    ///
    /// # Errors
    /// [`Error::Argument`] if there are none; those of `work`.
    pub(super) fn with_combined<T>(
        &mut self,
        work: impl FnOnce(&mut Combined) -> Result<T, TransportError>,
    ) -> Result<T, Error> {
        let combined = self.combined.as_mut().ok_or_else(|| Error::Argument("no combined messages".into()))?;
        Ok(work(combined)?)
    }

    /// Makes progress with what was started, without waiting; whether anything moved.
    pub(super) fn advance(&mut self) -> bool {
        self.combined.as_mut().is_some_and(Combined::advance)
    }

    /// Whether something that was started is not complete.
    pub(super) fn has_started(&self) -> bool {
        self.combined.as_ref().is_some_and(Combined::has_started)
    }

    /// Whether it holds memory that other ranks see.
    pub(super) fn shares_memory(&self) -> bool {
        self.combined.is_some()
    }
}
