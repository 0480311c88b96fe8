//! Why a subcommand ended early, and the exit status that says so to scripts.

use std::fmt;
use std::process::ExitCode;

/// The ways in which a subcommand fails.
#[derive(Debug)]
pub enum Failure {
    /// The command line does not say what to do; status 2.
    Usage(String),
    /// The machine lacks something that xtask may not install; status 2.
    Missing(String),
    /// Something that was started did not succeed; status 1.
    Failed(String),
    /// A program to which the whole command was handed over ended with this status, and said why.
    Forwarded(u8),
}

/// What subcommands return.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// The exit status.
    pub fn status(&self) -> ExitCode {
        match self {
            Failure::Usage(_) | Failure::Missing(_) => ExitCode::from(2),
            Failure::Failed(_) => ExitCode::from(1),
            Failure::Forwarded(status) => ExitCode::from(*status),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(text) | Failure::Missing(text) | Failure::Failed(text) => f.write_str(text),
            Failure::Forwarded(status) => write!(f, "it ended with status {status}"),
        }
    }
}
