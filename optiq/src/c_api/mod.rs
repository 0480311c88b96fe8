//! The C interface. Declared in `optiq/include/optiq.h`, which is generated from this folder.
//!
//! Every function returns a status code, catches panics, and leaves a sentence for [`optiq_last_message`]. A
//! session is attached to each communicator on its first use, as an MPI attribute, so that it lives exactly as long
//! as the communicator does.

// The header has the functions in the order of these groups.
mod library;

mod alltoallv;

mod message;

mod arguments;
mod calls;
// For the Fortran module, not for C programs.
/// cbindgen:ignore
mod fortran;
mod handles;
pub mod interpose;
mod io;
mod jobs;
mod progress;
mod regions;
mod requests;
mod schedule;
mod sessions;
mod settings;
mod threads;
mod topology;
mod transports;

pub use alltoallv::*;
pub use io::*;
pub use jobs::*;
pub use library::*;
pub use message::*;
pub use regions::*;
pub use requests::*;
pub use schedule::*;
pub use settings::*;
pub use topology::*;
pub use transports::*;
