//! Moves chunks along planned paths: a sans-IO scheduler, and the transports that carry what it decides.
//!
//! ```text
//!   [Path] list ──► Schedule (one rank's part, memory layout) ──► Scheduler ◄──events── Transport
//!                                                                  └──orders──────────►
//! ```
//!
//! This room speaks of ranks and bytes only. It does not know the network, and not how a plan was found: the
//! simulator drives the same [`Scheduler`] in virtual time, a test steps it by hand, and [`execute()`] drives it
//! over a real [`Transport`].
//!
//! # Calling order
//!
//! A driver repeats, until [`Scheduler::is_done`]:
//! 1. carry out every order of [`Scheduler::poll_post`], [`Scheduler::poll_transmit`] and [`Scheduler::poll_credit`];
//! 2. report what happened with [`Scheduler::handle_received`], [`Scheduler::handle_sent`] and
//!    [`Scheduler::handle_credit`].

mod chunk;
mod delay;
mod error;
mod execute;
mod inproc;
#[cfg(feature = "mpi")]
pub mod mpi;
mod path;
mod schedule;
mod scheduler;
#[cfg(test)]
mod scheduler_tests;
pub mod trace;
mod transport;

pub use chunk::{ChunkCost, ChunkRule, EAGER};
pub use delay::Delayed;
pub use error::TransportError;
pub use execute::{ExecuteOptions, Execution, Patience, Progress, Running, execute};
pub use inproc::{InProcess, LinkMap, mesh, paced_mesh};
pub use path::{Header, Path, PathId, Rank};
pub use schedule::{Hop, Incoming, Outgoing, PUTS_UNDER_WAY, Roles, Schedule, ScheduleOptions, Sink};
pub use scheduler::{Credit, Order, Post, Scheduler, Transmit};
pub use transport::{Event, Memory, Region, Transport};
