//! The I/O hosts of a network as a list; [`crate::io_hosts`] says what they are and who uses which.

use crate::ids::NodeId;

/// A host that is connected to the storage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IoHost {
    /// The host.
    pub host: NodeId,
    /// What its link to the storage carries, in bytes per second; `None` if unknown.
    pub storage: Option<f64>,
}

/// The I/O hosts of a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct IoHosts {
    /// Ascending by host.
    pub hosts: Vec<IoHost>,
    /// Blocks of this number of consecutive hosts use only the I/O hosts among them.
    pub block: Option<u32>,
}
