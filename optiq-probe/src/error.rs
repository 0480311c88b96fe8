//! What can go wrong.

/// Why a probe, an estimate or a prediction cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// Probes that do not fit the nodes they are to run on.
    #[error("{0}")]
    Description(String),
    /// Latencies that no queue explains.
    #[error("{0}")]
    Measurement(String),
    /// A training table that is not one; says where, what was found and what is expected.
    #[error("{0}")]
    Table(String),
    /// A pair with an application that the table does not have.
    #[error("{0}")]
    Pair(String),
}
