//! Published claims shown again, races against other systems, and the pages with their results.

#[cfg(feature = "mpi")]
pub mod bench;
