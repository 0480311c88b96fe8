//! A part of the simulated machine, which one thread simulates: routers, hosts and their events.

mod arbitration;
mod credits;
mod injection;
mod output_queues;
pub(crate) mod partition;
mod pipeline;
mod prefetch;
mod protocol;
mod run;
pub(crate) mod state;
mod transmit;
mod view;
#[cfg(test)]
mod wake_tests;
