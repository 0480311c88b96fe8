//! What runs on simulated machines: exchanges, replayed schedules, synthetic traffic.

mod chunks;
pub mod exchange;
pub mod goal;
pub mod message;
mod mpi;
mod report;
pub mod synthetic;
pub mod window;
