//! A packet-level discrete-event simulator of interconnects.
//!
//! [`simulate`] runs a program on each host of a network (optiq-net), [`simulate_jobs`] several jobs, with any number of
//! processes on a host. The chunk scheduler (optiq-transport) is such a program,
//! unchanged. [`simulated_exchange`] plans (optiq-solver), lowers (optiq-lower) and simulates an exchange in one call. Nothing
//! here knows MPI.
//!
//! ```text
//!   Network + Model ──► Fabric (channels, virtual channels) ──► Shard (events, buffers, credits) ◄── Program (one a process)
//! ```
//!
//! [`workload::goal`] reads schedules of real programs and runs them as such programs. [`flow`] is a second model, of flows
//! that share links fairly in place of packets: less exact and much faster.

mod checkpoint;
pub mod constants;
mod engine;
mod error;
pub mod flow;
pub mod jobs;
pub mod model;
mod nic;
mod observers;
mod options;
mod outcome;
mod router;
mod shard;
pub mod simulated_exchange;
mod simulation;
pub mod time;
pub mod workload;

pub use checkpoint::{Checkpoints, read_checkpoint, seal_checkpoint};
pub use engine::limits::{End, Limits};
pub use error::SimError;
pub use model::Model;
pub use nic::layout::{Layout, MAX_JOBS, Process};
pub use nic::program::{Delivery, Host, Idle, Notice, Program};
pub use observers::postcards::{PostcardOptions, Postcards};
pub use observers::series::{JobSeries, QueueKind, QueueSeries, Recording, Series};
pub use options::RunOptions;
pub use outcome::{JobOutcome, Outcome};
pub use router::adaptive::dependencies::{Dependencies, channel_dependencies};
pub use router::policy::Policy;
pub use simulation::{simulate, simulate_jobs};
