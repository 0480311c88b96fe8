//! What was measured, and how sure that is: statistics of repeated measurements, the provenance of tuned constants, and dates.
//!
//! The lowest crate of the workspace. All medians, quantiles and confidence intervals of OPTIQ are computed here, so that two
//! pages cannot differ in what they call a median; all numbers that were tuned say here which command measured them, when, and
//! on which training cases.

pub mod constant;
pub mod moment;
pub mod statistics;
