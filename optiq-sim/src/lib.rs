//! A packet-level discrete-event simulator of interconnects.
//!
//! It knows networks (optiq-net) and the chunk scheduler (optiq-transport), which runs in it unchanged, and nothing of MPI or
//! of how plans are found.
//!
//! ```text
//!   Network + Model ──► Fabric (channels, virtual channels) ──► Shard (events, buffers, credits) ◄── Program (one a host)
//! ```
//!
//! [`goal`] reads schedules of real programs and runs them as such programs. [`flow`] is a second model beside it all, of
//! fluids in place of packets: rougher and much faster.

mod adaptive;
mod checkpoint;
mod error;
pub mod exchange;
mod fabric;
pub mod flow;
pub mod goal;
mod host;
pub mod model;
mod packet;
mod parts;
mod policy;
mod program;
mod queue;
mod routes;
mod series;
mod shard;
#[cfg(test)]
mod shard_tests;
mod simulation;
mod statistics;
pub mod time;
pub mod workload;

pub use checkpoint::Checkpoints;
pub use error::SimError;
pub use model::Model;
pub use policy::Policy;
pub use program::{Delivery, Host, Idle, Notice, Program};
pub use series::{QueueKind, QueueSeries, Recording, Series};
pub use simulation::{End, Limits, Outcome, RunOptions, simulate};
