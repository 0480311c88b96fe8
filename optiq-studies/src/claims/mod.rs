//! The claims of the source documents: what they published, what comes out here, and whether that shows it again.
//!
//! A claim is an entry in [`list::CLAIMS`]: a function that fills a table ([`crate::findings`]) whose rows carry verdicts.
//! Published numbers are data (`published.rs`), so are the 91 cases (`thesis_cases.rs`).

mod aggregation;
mod aggregation_in_lab;
mod all_cases;
pub(crate) mod applications;
pub mod baselines;
mod classes_in_lab;
pub mod dragonfly_plus;
pub(crate) mod exchange;
mod fabrics;
mod facts;
mod gains;
mod heuristics;
mod interface;
pub mod interference;
pub mod list;
mod machine;
pub mod marks;
mod outlook;
pub mod page;
mod picture;
mod postcards;
mod probes;
mod profiler;
mod program;
mod scaling;
pub(crate) mod setting;
mod simulated;
mod table_vii;
pub mod thesis_cases;
