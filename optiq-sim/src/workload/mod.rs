//! What runs on simulated machines: exchanges, replayed schedules, synthetic traffic.

pub(crate) mod chunks;
pub mod exchange;
pub mod goal;
pub mod message;
mod mpi;
pub(crate) mod report;
pub mod synthetic;
pub mod window;
