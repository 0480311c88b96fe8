//! What the programs of an exchange report.

use crate::time::Time;
use optiq_transport::TransportError;
use parking_lot::Mutex;
use std::sync::Arc;

/// What programs report: when they were done, and the first thing that went wrong.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) done: Vec<Time>,
    pub(crate) failure: Option<TransportError>,
}

/// One report for all programs.
pub(crate) type SharedReport = Arc<Mutex<Report>>;
