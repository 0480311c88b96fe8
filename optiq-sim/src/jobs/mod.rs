//! Jobs that share a network: which hosts they get, and whether they can slow each other down.

pub mod placement;
pub mod sites;
