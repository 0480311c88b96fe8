//! What can go wrong, and the numbers by which C and Fortran know it.

use crate::config::ConfigError;
use optiq_lower::LowerError;
use optiq_net::NetError;
use optiq_solver::PlanError;
use optiq_transport::{Rank, TransportError};
use thiserror::Error;

/// Status codes of the C interface. 0 is success; a code is never given another meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Status {
    /// Everything went well.
    Success = 0,
    /// `optiq_init` has not been called, or `optiq_finalize` has.
    NotInitialized = 1,
    /// An argument is NULL, negative, or otherwise impossible.
    Argument = 2,
    /// What one rank sends is not what another expects; no data was moved.
    Counts = 3,
    /// An option does not parse, or the topology does not fit (only with `OPTIQ_STRICT=1`).
    Config = 4,
    /// No plan could be made (only with `OPTIQ_STRICT=1`).
    Plan = 5,
    /// The exchange failed on the way; the receive buffer is unspecified.
    Transport = 6,
    /// The MPI library reported an error.
    Mpi = 7,
    /// A defect in OPTIQ, caught before it could take the program down.
    Internal = 8,
}

impl Status {
    /// All codes, ascending.
    pub const ALL: [Status; 9] = [
        Status::Success,
        Status::NotInitialized,
        Status::Argument,
        Status::Counts,
        Status::Config,
        Status::Plan,
        Status::Transport,
        Status::Mpi,
        Status::Internal,
    ];

    /// One line for people.
    pub fn describe(self) -> &'static str {
        match self {
            Status::Success => "success",
            Status::NotInitialized => "OPTIQ is not initialised (call optiq_init first, and not after optiq_finalize)",
            Status::Argument => "an argument is invalid",
            Status::Counts => "send and receive counts disagree between ranks; no data was moved",
            Status::Config => "the configuration is invalid",
            Status::Plan => "no plan could be made",
            Status::Transport => "the exchange failed; the receive buffer's contents are unspecified",
            Status::Mpi => "the MPI library reported an error",
            Status::Internal => "internal error in OPTIQ",
        }
    }
}

/// Why a call failed.
#[derive(Debug, Error)]
pub enum Error {
    /// `optiq_init` has not been called, or `optiq_finalize` has.
    #[error("{0} was called before optiq_init or after optiq_finalize")]
    NotInitialized(&'static str),
    /// An argument is impossible.
    #[error("{0}")]
    Argument(String),
    /// Another rank's argument is impossible.
    #[error("rank {0} passed an invalid argument; no data was moved")]
    ArgumentElsewhere(Rank),
    /// What is sent is not what is expected.
    #[error("rank {rank} expects {expected} bytes from rank {from}, which sends {sent}; no data was moved")]
    Counts {
        /// The rank that receives.
        rank: Rank,
        /// The rank that sends.
        from: Rank,
        /// Bytes by the receive count.
        expected: u64,
        /// Bytes by the send count.
        sent: u64,
    },
    /// Another rank found that what is sent to it is not what it expects.
    #[error("rank {0} expects other byte counts than are sent to it; no data was moved")]
    CountsElsewhere(Rank),
    /// An option does not parse.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The topology cannot be read.
    #[error(transparent)]
    Net(#[from] NetError),
    /// Ranks and topology do not fit, or ranks disagree about it.
    #[error("{0}")]
    Setup(String),
    /// No plan could be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A plan that was received does not fit.
    #[error("the plan that rank 0 sent out cannot be used: {0}")]
    BadPlan(String),
    /// A collective file access failed; all ranks get the same.
    #[error("{text}")]
    File {
        /// The code for C.
        status: Status,
        /// Which rank could not do what, and why.
        text: String,
    },
    /// The exchange failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

impl Error {
    /// The code that the C interface returns for this error.
    pub fn status(&self) -> Status {
        match self {
            Error::NotInitialized(_) => Status::NotInitialized,
            Error::Argument(_) | Error::ArgumentElsewhere(_) => Status::Argument,
            Error::Counts { .. } | Error::CountsElsewhere(_) => Status::Counts,
            Error::Config(_) | Error::Net(_) | Error::Setup(_) => Status::Config,
            Error::Plan(_) | Error::BadPlan(_) => Status::Plan,
            Error::File { status, .. } => *status,
            Error::Transport(TransportError::Mpi { .. }) => Status::Mpi,
            Error::Transport(_) => Status::Transport,
        }
    }
}

impl From<LowerError> for Error {
    fn from(error: LowerError) -> Self {
        match error {
            LowerError::Argument(text) => Error::Argument(text),
            LowerError::Net(error) => Error::Net(error),
            LowerError::Plan(error) => Error::Plan(error),
            LowerError::BadPlan(text) => Error::BadPlan(text),
        }
    }
}
