//! From latencies of probes to the utilisation of output ports.

pub mod calibration;
pub mod clocks;
pub mod estimate;
pub mod noise;
pub mod pollaczek_khinchine;
