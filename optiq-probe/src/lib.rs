//! How busy is a switch, and who slows whom: active measurement (M. Casas and G. Bronevetsky, "Prediction of the Impact of Network
//! Switch Utilization on Application Performance via Active Measurement").
//!
//! - [`description`]: what probes send to whom and when, for whatever runs them: programs of the simulator, programs of MPI;
//! - [`measure`]: from latencies of probes to the utilisation of a switch's output ports;
//! - [`predict`]: from what applications do to probes, and what a load does to applications, to what applications do to each
//!   other. No I/O but the table's file, no clocks, no random numbers.

pub mod constants;
pub mod description;
mod error;
pub mod measure;
pub mod predict;

pub use error::ProbeError;
