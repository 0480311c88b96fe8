//! Postcards: what the components of a network say of marked packets, and whole paths from that.
//!
//! The software at a source marks one command in N; the adapter marks one packet of it; every component that such a packet
//! passes writes a [`Postcard`] with its own clock into a small buffer, from where it is collected (A. Yoga and M. Chabbi,
//! "Path-synchronous Performance Monitoring in HPC Interconnection Networks with Source-code Attribution", sections 3 and 4;
//! the fields are those of In-band Network Telemetry in postcard mode, P4.org Applications Working Group, INT 2.1, where they
//! mean the same: `ingress_timestamp` is `arrived`, `egress_timestamp` is `left`, `queue_occupancy` is `waiting_bytes`).
//!
//! Nothing that is joined here is known to the whole system: a packet has its source, its destination and a tag that its source
//! uses again and again; clocks differ; postcards are lost on their way or overwritten before they are collected. So
//! [`Clocks`] are estimated from the postcards themselves, then [`join`] makes [`Path`]s, names what is missing in them, and
//! says of which it cannot be sure.
//!
//! In real runs the ranks of OPTIQ write them of their own chunks: a chunk is the packet, a relay passes it on as a switch does, and
//! the program's line is a call stack of return addresses until somebody names it ([`RankRecorder`], [`Gathered`]).
//!
//! ```text
//!   Collection ──► Clocks (clocks.rs) ──► Joined: paths, gaps, ambiguities (join.rs)
//!       ▲
//!     file (file.rs), or a simulation, or Gathered (collect.rs) ◄── files of ranks (rank_file.rs) ◄── RankRecorder (recorder.rs)
//! ```

mod call_sites;
mod call_stack;
mod clocks;
mod collect;
mod file;
mod join;
pub mod perfetto;
mod rank_file;
mod record;
mod recorder;
mod through;

pub use call_sites::CallSites;
pub use call_stack::{CallStack, Frame, MOST_FRAMES};
pub use clocks::{ClockEstimate, Clocks};
pub use collect::Gathered;
pub use file::{EXTENSION, decode, encode, read, write};
pub use join::{Gap, GapPlace, Hop, Joined, Path, ProcessorEnd, join};
pub use rank_file::{RankHead, RankPostcards, decode_rank};
pub use record::{
    Collection, Component, ComponentKind, ComponentLog, Context, MAX_TAG, Operation, POSTCARD_BYTES, Packet, Postcard,
};
pub use recorder::{DEFAULT_EVERY, RankOptions, RankRecorder};
pub use through::{Leg, legs};
