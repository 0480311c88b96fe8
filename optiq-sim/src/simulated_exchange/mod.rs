//! A simulated exchange in one call: demands, a planner or an algorithm of MPI, a network and a model in; times, loads, the link
//! bound and series out.
//!
//! ```text
//!   demands ──► (planner) ──► Plan ──► paths of ranks ──► relays, chunk size ──► chunk scheduler in the simulator ──► SimulatedRun
//! ```
//!
//! One rank runs on each host. What a session of the library would measure about its machine, [`cost::cost_model`] computes
//! from the model of the simulated one.

pub mod cost;
pub mod method;
pub mod run;
