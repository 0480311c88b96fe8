//! What a call did.

use optiq_lower::decide::Decision;
use optiq_transport::Execution;
use std::sync::Arc;

/// What a call did.
pub(super) struct Outcome {
    /// What served it.
    pub(super) decision: Arc<Decision>,
    /// What was decided for its demands, if that is something else.
    pub(super) planned: Option<Arc<Decision>>,
    pub(super) execution: Execution,
}
