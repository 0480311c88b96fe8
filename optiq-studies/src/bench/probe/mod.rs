//! Probes and proxies with real messages, as every rank runs them under `mpirun`: `optiq probe`.

mod nodes;
mod noise;
pub mod run;
