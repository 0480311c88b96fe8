//! What is measured beside the thesis's claims. Each study has its content, which documents keep, a function that runs it, and the
//! body of its page.

mod adapter_rivals;
pub mod adapters;
pub mod baselines;
pub mod booksim;
pub mod closed_loop;
pub mod closed_loop_figures;
pub mod closed_loop_simulated;
pub mod codes;
pub mod combined_simulated;
pub mod congestion;
pub mod cures;
pub mod direct;
pub mod executor;
pub mod io;
pub mod lab;
pub mod lab_jobs;
pub mod mira;
mod mpich;
pub mod orders;
pub mod predictions;
pub mod preload;
pub mod presets;
pub mod profiler;
pub mod profiles;
pub mod program_runs;
pub mod programs;
pub mod race;
pub mod ranks_per_host;
pub mod rivals;
pub mod scale;
pub mod simulator;
pub mod table_vii;
pub mod transports;
pub mod whole_machine;
