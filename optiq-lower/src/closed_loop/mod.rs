//! What is left of each link while a program runs, learned from its own exchanges and from port counters, and when another plan is worth it.
//!
//! ```text
//!   times of legs ──► estimate: which links were slow, and how much they gave ──► steering: what is taken for left of each link
//!   port counters ──► counters: what others sent over each link ────────────────►
//! ```
//!
//! Everything is a function of its arguments. Who measures, tells the other ranks and makes the plan is in `optiq/src/session/load.rs`; decisions
//! 060 and 061.

pub mod counters;
pub mod estimate;
pub mod pace;
mod quiet;
pub mod steering;

#[cfg(test)]
mod patterns_tests;
#[cfg(test)]
mod tests;
