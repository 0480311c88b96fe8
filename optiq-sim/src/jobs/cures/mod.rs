//! What helps jobs that slow each other, each remedy tried in simulation, with the same seed.

pub mod exchange_bounds;
pub mod measured_load;
pub mod remedies;
pub mod trial;
