//! `OPTIQ_TRACE`: what a session tells its tracer beside the transport's events.

use super::state::Session;
use optiq_lower::decide::Decision;
use optiq_trace::Tracer;

impl Session {
    fn tracer(&self) -> Option<&Tracer> {
        self.fabric.as_ref().ok()?.tracer.as_ref()
    }

    /// Does a copy of a call's bytes.
    pub(super) fn traced_copy(&self, copy: impl FnOnce()) {
        match self.tracer() {
            Some(tracer) => tracer.copy(copy),
            None => copy(),
        }
    }

    /// Has plain MPI serve a call that was agreed upon.
    pub(super) fn traced_plain<R>(&self, decision: &Decision, serve: impl FnOnce() -> R) -> R {
        match self.tracer() {
            Some(tracer) => tracer.plain(decision, serve),
            None => serve(),
        }
    }
}
