//! How large a network may be.

/// The most hosts, and the most vertices, that a network may have.
pub const MAX_HOSTS: usize = 1 << 22;

/// The most directed links (bundles) that a network may have.
pub const MAX_LINKS: usize = 1 << 24;

/// Capacity in bytes per second of a physical link for which nobody gives one.
pub(crate) const DEFAULT_CAPACITY: f64 = 1e9;
