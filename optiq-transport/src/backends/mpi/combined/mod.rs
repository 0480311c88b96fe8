//! `MPI_Alltoallv` with the messages of a node's ranks combined: gathered in memory that they share, carried between nodes by some of
//! them as a [`CombiningSchedule`] says, and handed out where they arrive.
//!
//! Ranks need no agreement before a call, whatever its sizes: what a rank sends, it writes into shared memory with the sizes; what it
//! receives, it knows, and tells the other ranks of its node there as well. So a carrier knows both ends of every message whose block
//! comes straight from its own node, and nothing is sent where there is nothing; messages that carry blocks on have
//! their sizes in front. A message between two ranks of more than [`CombinedOptions::message_bytes`] is sent by itself, which both ends
//! know from its size alone.
//!
//! A byte is copied four times on its way, besides what MPI copies: into the slice of its rank, into the message, out of the message's
//! place in shared memory, where MPI receives it, into the receive buffer; and twice more at each node that only passes it on. Ranks
//! of a node wait for each other twice: until all have packed, and until what they receive has come.

mod bell;
mod call;
mod layout;
mod node;
mod side;
mod turn;

pub use call::Combined;
pub use node::CombinedOptions;
pub use side::{Side, Sides};
