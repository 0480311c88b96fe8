//! Hosts: programs, the processor, and the queues between memory and network.

pub(crate) mod hosts;
pub(crate) mod layout;
pub(crate) mod program;
pub(crate) mod round_robin;
