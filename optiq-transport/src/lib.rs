//! Moves chunks along planned paths: a sans-IO scheduler, and the transports that carry what it decides.
//!
//! ```text
//!   [Path] list ──► Schedule (one rank's part, memory layout) ──► Scheduler ◄──events── Transport
//!                                                                  └──orders──────────►
//! ```
//!
//! This crate knows ranks and bytes only. It knows neither the network nor how a plan was found: the
//! simulator drives the same [`Scheduler`] in virtual time, a test steps it by hand, and [`execute()`] drives it
//! over a real [`Transport`].
//!
//! # Calling order
//!
//! A driver repeats, until [`Scheduler::is_done`]:
//! 1. carry out every order of [`Scheduler::poll_post`], [`Scheduler::poll_transmit`] and [`Scheduler::poll_credit`];
//! 2. report what happened with [`Scheduler::handle_received`], [`Scheduler::handle_sent`] and
//!    [`Scheduler::handle_credit`].

pub mod backends;
mod backoff;
mod capabilities;
mod chunk;
pub mod combining;
pub mod constants;
mod error;
mod execute;
mod flow_control;
mod grants;
mod hop;
mod in_flight;
pub mod in_order;
mod leg_times;
mod memory;
mod neighbours;
mod path;
mod protocol;
mod schedule;
mod schedule_options;
mod scheduler;
mod timetable;
mod transport;

pub use backends::fault_injection::Delayed;
pub use backends::functions::{ByFunctions, Functions};
pub use backends::in_process::{InProcess, LinkMap, mesh, paced_mesh};
#[cfg(feature = "mpi")]
pub use backends::mpi;
pub use backends::postcards::Marked;
pub use backends::tracing::Traced;
pub use backoff::Backoff;
pub use capabilities::{Capabilities, SendCompletion};
pub use chunk::{ChunkCost, ChunkRule};
pub use constants::{EAGER, PUTS_IN_FLIGHT_PART};
pub use error::TransportError;
pub use execute::{ExecuteOptions, Execution, Progress, Running, execute};
pub use flow_control::FlowControl;
pub use hop::{Granted, Hop, Incoming, Outgoing, Roles, Sink};
pub use leg_times::{LegTime, LegTimes};
pub use memory::Memory;
pub use optiq_trace::ids::{PathId, Rank};
pub use path::{Header, Path};
pub use protocol::{Credit, Event, Post, Region, Transmit};
pub use schedule::Schedule;
pub use schedule_options::{Grants, ScheduleOptions};
pub use scheduler::{QueueOrder, Scheduler};
pub use transport::Transport;
