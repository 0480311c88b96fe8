//! Claims K1 to K8: Y. Kang et al., "Modeling and Analysis of Application Interference on Dragonfly+", SIGSIM-PADS 2019: a target job
//! beside a background on 3,456 hosts. `system.rs` has what all of them run.

mod broadcast;
pub mod fit;
mod interference;
mod routing;
mod structure;
mod system;
mod table;

pub(super) use broadcast::{arrival, latency as broadcast_latency};
pub(super) use interference::{baselines, stencil_and_tornado, tornado_beside, uniform_beside};
pub(super) use routing::progressive;
pub(super) use structure::structure;
