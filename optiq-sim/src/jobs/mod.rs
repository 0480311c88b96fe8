//! Jobs that share a network: what their ranks do, how that is written, and what is measured.

pub mod program_grammar;
pub mod program_spec;
