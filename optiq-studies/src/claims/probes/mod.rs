//! Claims C1 to C6: how busy a switch is, and who slows whom (document 004), simulated on 18 nodes of one switch.

mod campaign;
pub(super) mod prediction;
mod system;
pub(super) mod utilisation;
