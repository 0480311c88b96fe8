//! `OPTIQ_TRACE`: a session whose transport is watched.

use super::Session;
use crate::config::Config;
use crate::error::Error;
use optiq_lower::decide::Decision;
use optiq_transport::Transport;
use optiq_transport::mpi::Communicator;
use optiq_transport::trace::{TraceOptions, Traced, Tracer};
use std::path::PathBuf;

/// Wraps the transport if the configuration asks for a trace, as `all` ranks or none must; collective. A rank that
/// cannot write says so and goes on without.
pub(super) fn watch(
    comm: &Communicator,
    config: &Config,
    all: bool,
    transport: Box<dyn Transport>,
) -> Result<(Box<dyn Transport>, Option<Tracer>), Error> {
    let Some(directory) = config.trace.as_ref().filter(|_| all) else {
        return Ok((transport, None));
    };
    let (clock, session) = comm.align()?;
    let (directory, events) = (PathBuf::from(directory), config.trace_events);
    let options = TraceOptions { directory, events, session, rank: comm.rank(), ranks: comm.size(), clock };
    match Tracer::create(&options, transport.name()) {
        Ok(tracer) => Ok((Box::new(Traced::new(transport, tracer.clone())), Some(tracer))),
        Err(error) => {
            log::warn!("rank {} is not traced: OPTIQ_TRACE: {error}", comm.rank());
            Ok((transport, None))
        }
    }
}

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
