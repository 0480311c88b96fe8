//! Jobs that share a network: what their ranks do, how that is written, and what is measured.

pub mod closed_queue;
pub mod program_grammar;
pub mod program_spec;
pub mod programs;
