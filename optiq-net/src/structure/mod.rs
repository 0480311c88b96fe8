//! What a network is built like, from its connections alone: levels of switches, rails, groups.
//!
//! Nothing is taken from names, from the order of vertices, or from how the network was made, so that a fabric that was
//! imported and the same one from a specification have one structure. Links count in either direction, and parallel ones
//! once.
//!
//! `adjacency` is what all of it is computed from; `levels` says how far switches are from hosts; `rails` which planes of switches are joined only at hosts; `groups`
//! which switches of a dragonfly are joined densely.

mod adjacency;
mod groups;
mod levels;
mod rails;
mod whole;

pub use adjacency::{Adjacency, parts};
pub(crate) use levels::with_siblings;
pub use whole::{Arrangement, Structure, levels};

#[cfg(test)]
mod tests;
