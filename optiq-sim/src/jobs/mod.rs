//! Jobs that share a network: what their ranks do and how that is written, which hosts they get, and whether they can slow
//! each other down.

pub mod adviser;
pub mod allocation;
pub mod certificate;
pub mod closed_loop;
pub mod closed_queue;
pub mod congestion;
pub mod cures;
pub mod file;
pub mod link_use;
pub mod parallel;
pub(crate) mod physical_links;
pub mod placed;
pub mod placement;
pub mod probes;
pub mod program_grammar;
pub mod program_spec;
pub mod programs;
pub mod real_time;
pub mod run;
pub mod sharing;
mod shortest_paths;
pub mod sites;
pub mod statistics;
pub mod steps_file;
pub mod sweep;
pub mod throttle;
