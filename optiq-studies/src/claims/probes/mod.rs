//! Claims C1 to C6: how busy a switch is, and who slows whom (document 004), simulated on 18 nodes of one switch, and
//! C1 and C2 in a lab of 16 hosts.

mod campaign;
mod lab;
pub(super) mod prediction;
mod system;
pub(super) mod utilisation;
