//! Moves data on supercomputers over many paths: what a program calls, from Rust and from C.
//!
//! ```text
//!   MPI ranks ──► Placement (rank -> host) ──► demands between hosts ──► Plan ──► paths of ranks ──► Transport
//! ```
//!
//! A [`Session`] belongs to one communicator. It plans an exchange once, keeps the plan, and either carries the
//! exchange out over several paths or hands it to `MPI_Alltoallv`; [`Session::decision`] says which, and why.
//! Without the `mpi` feature only what needs no MPI is compiled: the options, the errors and the types of `optiq-lower`.

#[cfg(feature = "mpi")]
mod blocks;
#[cfg(feature = "mpi")]
mod busy_links;
#[cfg(feature = "mpi")]
pub mod c_api;
mod config;
pub mod constants;
pub mod discovery;
mod error;
#[cfg(feature = "mpi")]
mod given_transport;
#[cfg(feature = "mpi")]
mod gpu;
pub mod io;
#[cfg(feature = "mpi")]
mod learned;
pub mod logger;
mod networks;
#[cfg(feature = "mpi")]
mod session;

pub use config::{
    Config, ConfigError, OPTIONS, OptionRecord, Origin, PlannerChoice, Preload, ProfileSignal, ProfileSource, Read,
    Scope, Setting, Settings,
};
pub use error::{Error, Status};
// What a Rust program needs beside the session, so that it depends on this crate only. Crates of this workspace import from
// optiq-lower.
#[cfg(feature = "mpi")]
pub use busy_links::BusyLink;
pub use optiq_lower::choices::{Algorithm, LegsChoice, TransportChoice};
pub use optiq_lower::decide::Decision;
pub use optiq_lower::model::{CostModel, Prediction};
pub use optiq_lower::placement::{Placement, PlacementRule, Provenance};
pub use optiq_lower::scores::{Rule, Scores};
pub use optiq_lower::transfers::{Transfer, TransferList, TransferPath};
pub use optiq_trace as trace;
#[cfg(feature = "mpi")]
pub use session::{Persistent, PriorityClass, Session};

/// Version as one number: major * 10000 + minor * 100 + patch.
pub const VERSION: i32 = 100;
