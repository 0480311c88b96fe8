//! Every picture of OPTIQ: one axis, one palette, one table, one template of a page.
//!
//! The crate draws plain data: numbers, names and series that its callers computed, and networks and plans as
//! `optiq-net` and `optiq-solver` have them. It knows no command line, runs nothing, and writes no files.
//!
//! ```text
//!   colours   axis ── svg ──┬── chart        results pages: bars and lines over categories, an SVG file
//!      │                    ├── curves, heat values over time, rows of colours ── report: the page of simulated runs
//!      │                    ├── bars         level bars of times, bytes and numbers; sketch: a network as it is
//!      └── page ── table    ├── gap          how a planner closed its gap ── plan: the page of a plan
//!                           ├── explanation  the page of `optiq explain`; network: that of `optiq topology`
//!                           ├── boxes        box plots; stacks: bars of parts of several owners ── jobs, cures: pages of jobs
//!                           ├── ratios       the page of many comparisons with MPI
//!                           ├── fabric       a fabric with what its links carry: page, SVG
//!                           └── timeline     the page of a traced run
//! ```

pub mod axis;
pub mod bars;
pub mod boxes;
pub mod chart;
pub mod colours;
pub mod context;
pub mod cures;
pub mod curves;
pub mod explanation;
pub mod fabric;
mod flights;
mod folded;
mod gap;
pub mod heat;
pub mod jobs;
mod layers;
mod layout;
pub mod lines;
mod maps;
mod matrices;
pub mod network;
pub mod page;
pub mod plan;
pub mod png;
pub mod postcards;
pub mod ratios;
pub mod report;
mod sketch;
pub mod slowdowns;
pub mod stacks;
mod svg;
pub mod sweep;
pub mod table;
pub mod timeline;
