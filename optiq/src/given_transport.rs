//! A transport that the program gives as functions (thesis 4.2.4), for the sessions of communicators that are used from then on.

use crate::error::Error;
use crate::logger;
use optiq_transport::mpi::{Communicator, ffi};
use optiq_transport::{ByFunctions, Functions, Rank, Transport};
use parking_lot::Mutex;
use std::ffi::{c_int, c_void};

/// Connects the ranks of a communicator: a context, the communicator, and the place for the connection.
pub(crate) type Connect = unsafe extern "C" fn(*mut c_void, ffi::MPI_Comm, *mut *mut c_void) -> c_int;

/// The functions, and what makes a connection that they are called with.
#[derive(Clone, Copy)]
pub(crate) struct GivenTransport {
    pub(crate) connect: Connect,
    pub(crate) context: *mut c_void,
    /// Whose connection is not there yet.
    pub(crate) functions: Functions,
}

// SAFETY: the context is the program's, which must have asked MPI for a thread level that allows calls from several threads if it
// makes them.
unsafe impl Send for GivenTransport {}

static GIVEN: Mutex<Option<GivenTransport>> = Mutex::new(None);

/// Takes a transport for sessions that are still to come, or none.
pub(crate) fn give(transport: Option<GivenTransport>) {
    *GIVEN.lock() = transport;
}

/// A number for the transport that is given, which must be the same on all ranks: they connect together.
pub(crate) fn number() -> i64 {
    GIVEN.lock().map_or(0, |given| xxhash_rust::xxh3::xxh3_64(given.functions.name.as_bytes()) as i64)
}

/// The transport that is given, connected; collective if one is. `None` if none is given, or if it cannot be connected on some rank
/// and OPTIQ need not insist on it (`strict`).
pub(crate) fn connected(comm: &Communicator, strict: bool) -> Result<Option<Box<dyn Transport>>, Error> {
    let Some(given) = *GIVEN.lock() else { return Ok(None) };
    let GivenTransport { connect, context, functions } = given;
    let mut connection = std::ptr::null_mut();
    // SAFETY: by the contract of `optiq_set_transport`.
    let status = unsafe { connect(context, comm.raw(), &mut connection) };
    let transport = (status == 0).then(|| {
        // SAFETY: by the contract of `optiq_set_transport`; this is the functions' own connection.
        unsafe { ByFunctions::new(Functions { connection, ..functions }, comm.rank()) }
    });
    let mut all = [i64::from(status == 0)];
    comm.all_min(&mut all)?;
    if all == [1] {
        return Ok(transport.map(|t| Box::new(t) as Box<dyn Transport>));
    }
    let whose = if status == 0 { "of another rank ".to_owned() } else { format!("returned {status} and ") };
    let sentence = format!("the transport {}: connect {whose}failed", functions.name);
    if strict {
        return Err(Error::Setup(sentence));
    }
    if status != 0 || comm.rank() == Rank(0) {
        logger::warn_once(&format!("{sentence}; chunks travel by MPI"));
    }
    Ok(None)
}
