//! What can go wrong with a trace.

use std::path::PathBuf;
use thiserror::Error;

/// Why a trace cannot be written or read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// The operating system refused.
    #[error("{path}: {what}: {error}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What it said.
        error: String,
    },
    /// Not a trace, or a damaged one.
    #[error("{path} is no trace that can be read: {what}", path = path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        what: String,
    },
    /// Not a rank's profile, or a damaged one.
    #[error("{path} is no profile that can be read: {what}", path = path.display())]
    Profile {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        what: String,
    },
    /// Files that do not belong together.
    #[error("{0}")]
    Set(String),
}
