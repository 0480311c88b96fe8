//! Candidate paths, planners, bounds and plan files.
//!
//! Which bytes go where ([`demands`]) and what the network looks like ([`optiq_net`]) become a [`Plan`]: for every
//! demand, paths with bytes, such that the most loaded link is as light as possible. Paths are chains of *legs*, which
//! the fabric carries by its own routes; the hosts between legs forward ([`legs`]).
//!
//! ```
//! use optiq_net::Network;
//! use optiq_solver::{demands, pipeline};
//!
//! let net = Network::from_spec("torus:4x4")?;
//! let demands = demands::parse("pattern:disjoint", &net, 1 << 20)?;
//! let planned = pipeline::run(&net, &demands, &pipeline::PlanOptions::default())?;
//! assert!(planned.plan.congestion_seconds < planned.plan.direct_congestion_seconds);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate does not depend on MPI, and no wall clock enters its results: the same inputs give the same plan on every
//! rank and machine.

pub mod bound;
pub mod candidates;
mod carried;
mod checks;
pub mod constants;
mod deadline;
pub mod demands;
mod error;
mod estimate;
mod leg_table;
pub mod legs;
mod memory;
mod parallel;
pub mod pipeline;
pub mod plan;
pub mod planner;
mod priced;
mod problem;
mod progress;
pub mod report;
pub mod striping;
pub mod verdict;

pub use candidates::{CandidateMethod, Candidates};
pub use carried::carry_over;
pub use demands::Demand;
pub use error::{DemandError, PathFileError, PlanError};
pub use plan::classes::ClassFigures;
pub use plan::codec::CodecError;
pub use plan::{Flow, PLAN_VERSION, Plan};
pub use planner::{Planner, PlannerName, PlannerOptions};
pub use problem::{Assignment, Problem, Share};
pub use report::Report;
