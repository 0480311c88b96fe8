//! From latencies of probes to the utilisation of output ports.

pub mod calibration;
pub mod estimate;
pub mod pollaczek_khinchine;
