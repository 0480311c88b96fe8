//! The programs of jobs: one state machine for each rank, and for each server.
//!
//! A job's processes are numbered without a gap: process `first + r` is rank `r`. Clients are ranks 0 to `c - 1`; the servers
//! of io-write and io-read, if there are any, follow. All draws come from streams of the job's seed and the rank, so a job
//! does the same beside other jobs as alone.

pub(in crate::jobs) mod alltoallv;
mod broadcast;
pub mod build;
mod collectives;
mod destinations;
pub mod grid;
mod io;
mod member;
mod message_loop;
mod open_loop;
mod pacing;
mod phases;
mod ping_pong;
mod repeated;
pub mod samples;
pub mod setting;
mod silent;
mod steps;
pub mod traffic;
