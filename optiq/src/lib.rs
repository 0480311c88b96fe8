//! Moves data on supercomputers over many paths: what a program calls, from Rust and from C.
//!
//! ```text
//!   MPI ranks ──► Placement (rank -> host) ──► demands between hosts ──► Plan ──► paths of ranks ──► Transport
//! ```
//!
//! A [`Session`] belongs to one communicator. It plans an exchange once, keeps the plan, and either carries the
//! exchange out over several paths or hands it to `MPI_Alltoallv`; [`Session::decision`] says which, and why.
//! Without the `mpi` feature only the parts that need no MPI are there: [`Config`], [`Placement`], [`lower()`] and [`Legs`].

#[cfg(feature = "mpi")]
mod blocks;
#[cfg(feature = "mpi")]
pub mod c_api;
mod config;
mod decide;
mod error;
mod gather;
#[cfg(feature = "mpi")]
mod gpu;
pub mod io;
mod jobs;
mod legs;
pub mod logger;
mod lower;
mod model;
mod placement;
mod scores;
#[cfg(feature = "mpi")]
mod session;
mod stops;
mod transport_rule;

pub use config::{
    Algorithm, Config, ConfigError, LegsChoice, OPTIONS, OptionRecord, Origin, PlannerChoice, Preload, Read, Scope,
    Setting, Settings, TransportChoice,
};
pub use decide::{Before, Decision, LEAST_PLANNING_SECONDS, decide, decide_before_planning, score};
pub use error::{Error, Status};
pub use gather::{Gathered, Place, gather, pays};
pub use jobs::{Job, JobPath, Jobs};
pub use legs::Legs;
pub use lower::{Message, lower, merge};
pub use model::{CostModel, Prediction};
pub use optiq_trace as trace;
pub use placement::{Placement, PlacementRule};
pub use scores::{Rule, Scores};
#[cfg(feature = "mpi")]
pub use session::{Persistent, Session};
pub use stops::{Stopping, stop_at_every_host};
pub use transport_rule::{TRANSPORT_RULES, TransportRule, transport_rule};

/// Version as one number: major * 10000 + minor * 100 + patch.
pub const VERSION: i32 = 100;
