//! A machine measured under `mpirun`: what `optiq calibrate` runs on every rank.

mod link_efficiencies;
pub mod measure;
mod times;
mod training;
