//! Traces of exchanges: when each chunk was sent, received and passed on, and what each rank's time went into.
//!
//! A middleware of the transport (`optiq_transport::backends::tracing`) drives a [`Tracer`] with every order that the progress
//! loop gives and every event that it gets back, so neither the loop nor the scheduler knows of it, and a session that does
//! not trace does not pay for it. This crate knows chunks, ranks and paths by their numbers only. It does not know how bytes
//! move.
//!
//! The tracer writes [`Record`]s into a ring that is allocated once. During an exchange it allocates nothing and writes no
//! file. Between two exchanges the ring goes to the rank's file when half of it is full, and all of it at the end. If a ring
//! overflows, it drops its oldest records and counts them. The sums of a call ([`Call`]) do not depend on the ring and stay
//! exact.
//!
//! ```text
//!   Tracer ──► file of one rank (encode) ──► RankTrace (decode) ──► Run: all ranks on one clock (merge) ──► perfetto
//! ```
//!
//! Beside traces there are profiles, which only count: module [`profile`].
//!
//! # Where the time goes
//!
//! The time line of a call is cut at polls and sends. Every nanosecond from the call's start to its end is in exactly
//! one of:
//!
//! ```text
//!   waiting     from the start of a poll that returned nothing to the start of the next one that returned something,
//!               whatever lies between (yields, sleeps, for a started exchange also what the program does itself); and
//!               inside a poll, calls that return when another rank has answered (MPI_Win_flush), measured there
//!   copying     memory copies of our own, measured where they are made (Meter, Tracer::copy)
//!   forwarding  sending chunks of others, and their part of polls: a poll that returned n events, f of them about
//!               chunks of others, is forwarding for f/n of its time, less its copies
//!   own         the rest: sending and receiving this rank's own chunks, their part of polls, scheduling
//!   plain       inside MPI_Alltoallv, for a call that plain MPI serves
//! ```
//!
//! So `waiting + copying + forwarding + own + plain = end - start`, which a test checks.
//!
//! # Time stamps
//!
//! Nanoseconds of a monotonic clock since the trace's beginning on this rank ([`Clock`]), one reading before each poll,
//! one after each poll that returned something, one before each send. A chunk is stamped as sent before the send begins and
//! as received after the poll returned, so that on one clock no chunk arrives before it leaves.

mod clock;
pub mod codec;
mod decode;
mod encode;
mod error;
mod event;
mod folder;
mod format;
pub mod ids;
mod merge;
mod meter;
mod options;
pub mod perfetto;
pub mod postcards;
pub mod profile;
mod protobuf;
mod rank_trace;
mod record;
mod recorder;
mod ring;
mod summary;
mod tracer;

pub use clock::Clock;
pub use error::TraceError;
pub use event::{ChunkEvent, SentChunk, SentCredit};
pub use ids::{NO_PEER, PathId, Rank};
pub use merge::Run;
pub use meter::Meter;
pub use options::{DEFAULT_EVENTS, EVENTS, EXTENSION, TraceOptions};
pub use rank_trace::{Leg, RankTrace, Table};
pub use record::{Call, EventKind, Outcome, Record};
pub use summary::{CallSummary, ChunkKey, Journey, PairPath, RankSummary, SlowestLeg, Step, Stretch, WaitSummary};
pub use tracer::Tracer;
