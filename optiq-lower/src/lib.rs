//! From a plan between hosts to paths between ranks, without MPI.
//!
//! ```text
//!   messages between ranks ──► Placement ──► demands between hosts ──► (a planner) ──► Plan ──► paths of ranks
//! ```
//!
//! - [`placement`]: which host a rank is on; [`guessed_network`]: the network that is assumed where none is described.
//! - [`lower`]: messages of ranks to demands of hosts, and a plan back to paths of ranks; [`gather`]: the same with small
//!   messages packed in memory that the ranks of a host share; [`relays`]: at which hosts on the path chunks are stored and
//!   forwarded.
//! - [`combining`]: in which rounds the messages of the ranks of a host travel together, where they are too small for plans.
//! - [`model`]: what planned paths and plain MPI will take; [`scores`]: what a user wants instead of that; [`decide`]: which of
//!   both serves an exchange; [`transport_rule`]: which MPI calls carry chunks.
//! - [`forecast`]: whether ranks need to agree before the next call; [`trials`]: whether MPI or planned paths were found to be faster.
//! - [`machine`]: the record of a measured machine, from which the model's parameters come, and its file.
//! - [`closed_loop`]: what is left of each link while a program runs, and when another plan is worth it.
//! - [`learned`]: how fast MPI and OPTIQ were found to be for which kind of demands, and its file.
//! - [`transfers`]: lists of transfers between ranks, with paths that are found beforehand, and their files.
//! - [`aggregation`]: which bytes of a file go to which I/O host, in which rounds.
//! - [`constants`]: the tuned constants of all of these, with their provenance.
//! - [`legs`]: the links under each pair of ranks, for the transport between threads.
//!
//! Everything here is a function of its arguments and of what it was told before, without clocks, threads or messages:
//! all ranks that call it with the same arguments get the same.

pub mod aggregation;
mod calls_in_a_row;
pub mod choices;
pub mod closed_loop;
pub mod combining;
pub mod constants;
pub mod decide;
mod decomposition;
mod error;
pub mod forecast;
pub mod gather;
pub mod guessed_network;
pub mod learned;
pub mod legs;
pub mod link_traffic;
pub mod lower;
pub mod machine;
pub mod model;
mod moving_average;
pub mod placement;
pub mod ports;
pub mod relays;
pub mod scores;
pub mod timetable;
pub mod transfers;
pub mod transport_rule;
pub mod trials;

pub use error::LowerError;
