//! The tuned constants of the simulator.

/// Events ahead of the one at hand at which each stage of prefetching looks.
pub(crate) const PREFETCH_STAGE_1: usize = 16;
pub(crate) const PREFETCH_STAGE_2: usize = 10;
pub(crate) const PREFETCH_STAGE_3: usize = 5;
