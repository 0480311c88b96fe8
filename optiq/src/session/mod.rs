//! A communicator's session: its network, its plans, and the exchange itself.
//!
//! # How ranks agree
//!
//! A call either takes the fast path to plain MPI, or begins with one reduction (module `agree`): the worst local status,
//! whether the arguments of all ranks can be served, how many bytes there are, and a key for the blocks of all ranks, under
//! which the plan is kept. [`optiq_lower::forecast`] chooses between the two, only from earlier agreements, and so alike on all ranks.
//! Only if there is no plan, the counts are gathered, rank 0 plans and broadcasts the plan, and a second reduction makes sure
//! that all ranks can use it. So all ranks always do the same, whatever their arguments.
//!
//! # Predicted, then measured
//!
//! The cost model decides about demands that were never seen. How long calls take travels with later agreements, and
//! after a trial of each the fastest of plain MPI and planned paths with each flow control serves it
//! ([`optiq_lower::trials`]).
//!
//! With `OPTIQ_BACKGROUND=measure`, what others leave of each link is measured as well, and plans follow it (module `load`).

mod advance;
mod agree;
mod arguments;
mod calibration;
mod call_stack;
mod calls;
mod channels;
mod combined_state;
mod combining;
mod exchange;
mod fallback_args;
mod fast_path;
mod follow;
mod guess;
mod i32_counts;
mod job_surroundings;
mod learning;
mod link_probes;
mod load;
mod operation;
mod outcome;
mod pair_rates;
mod parts;
mod persistent;
mod planning;
mod plans;
mod queue;
mod setup;
mod sides;
mod small_calls;
mod started_small;
mod state;
mod tracing;
mod transfers;

pub(crate) use arguments::{Arguments, ByMpi, Local, signature};
pub(crate) use fallback_args::FallbackArgs;
pub(crate) use fast_path::FastPath;
pub(crate) use operation::Operation;
pub use persistent::{Persistent, PriorityClass};
pub(crate) use sides::{sides_of_each, sides_of_equal};
pub use state::Session;
pub(crate) use transfers::packed_addresses;
