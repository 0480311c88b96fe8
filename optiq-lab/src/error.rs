//! What can go wrong with a lab.

use std::io;
use thiserror::Error;

/// Why a lab could not be made, used or taken down. Every message is one sentence that names what was found and
/// what was expected.
#[derive(Debug, Error)]
pub enum LabError {
    /// The network cannot be had as namespaces, or something about it is asked that it does not have.
    #[error("{0}")]
    Topology(String),
    /// An argument that does not fit: a name, a rate, a number of ranks.
    #[error("{0}")]
    Argument(String),
    /// The machine lacks a right or a program; the message says which, and what to do.
    #[error("{0}")]
    Missing(String),
    /// The state of a lab on disk: none, already there, damaged, in use, or not ours.
    #[error("{0}")]
    State(String),
    /// The kernel, `ip`, `tc` or a helper process refused something.
    #[error("{0}")]
    Refused(String),
    /// An operation on a file or a process failed.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was being done, with the path.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
}

impl LabError {
    /// For `map_err`: wraps a system error with what was being done.
    pub(crate) fn io<E: Into<io::Error>>(doing: impl Into<String>) -> impl FnOnce(E) -> LabError {
        let doing = doing.into();
        move |source| LabError::Io { doing, source: source.into() }
    }
}

impl From<optiq_net::NetError> for LabError {
    fn from(e: optiq_net::NetError) -> Self {
        LabError::Topology(e.to_string())
    }
}
