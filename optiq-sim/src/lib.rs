//! A packet-level discrete-event simulator of interconnects.
//!
//! It knows networks (optiq-net) and the chunk scheduler (optiq-transport), which runs in it unchanged, and nothing of MPI.
//!
//! ```text
//!   Network + Model ──► Fabric (channels, virtual channels) ──► Shard (events, buffers, credits) ◄── Program (one a host)
//! ```
//!
//! [`workload::goal`] reads schedules of real programs and runs them as such programs. [`flow`] is a second model, of flows that share
//! links fairly in place of packets: less exact and much faster.

mod checkpoint;
pub mod constants;
mod engine;
mod error;
pub mod flow;
pub mod model;
mod nic;
mod observers;
mod options;
mod outcome;
mod router;
mod shard;
mod simulation;
pub mod time;
pub mod workload;

pub use checkpoint::Checkpoints;
pub use engine::limits::{End, Limits};
pub use error::SimError;
pub use model::Model;
pub use nic::program::{Delivery, Host, Idle, Notice, Program};
pub use observers::series::{QueueKind, QueueSeries, Recording, Series};
pub use options::RunOptions;
pub use outcome::Outcome;
pub use router::policy::Policy;
pub use simulation::simulate;
