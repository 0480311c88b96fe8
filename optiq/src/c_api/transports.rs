//! Transports of the program's own (thesis 4.2.4).

use super::message::guard;
use super::sessions::Sessions;
use super::settings::string;
use crate::error::Error;
use crate::given_transport::{Connect, GivenTransport, give};
use optiq_transport::Functions;
use optiq_transport::mpi::ffi;
use std::ffi::{c_char, c_int, c_void};

/// Functions that carry messages between the ranks of a communicator, in place of MPI. Each returns 0, or another number if it
/// fails, which ends the exchange with an error. Messages from one rank to another with the same tag arrive in the order in which
/// they were sent; tags have 32 bits. Nothing may wait for other ranks but `connect`.
#[repr(C)]
pub struct TransportFunctions {
    /// A name for logs and results; copied.
    pub name: *const c_char,
    /// The first argument of `connect`.
    pub context: *mut c_void,
    /// The largest message in bytes; 0 if there is no limit.
    pub largest_bytes: u64,
    /// Connects the ranks of `comm`, which is OPTIQ's own and stays valid until `disconnect`; collective. Gives what the other
    /// functions are called with.
    pub connect:
        Option<unsafe extern "C" fn(context: *mut c_void, comm: ffi::MPI_Comm, connection: *mut *mut c_void) -> c_int>,
    /// Starts to send `bytes` bytes at `data` to rank `to`, and gives a number for the operation.
    pub send: Option<
        unsafe extern "C" fn(
            connection: *mut c_void,
            to: c_int,
            tag: u32,
            data: *const c_void,
            bytes: u64,
            operation: *mut u64,
        ) -> c_int,
    >,
    /// Starts to receive the next message with this tag from rank `from`, of `bytes` bytes, to `data`, and gives a number for the
    /// operation.
    pub receive: Option<
        unsafe extern "C" fn(
            connection: *mut c_void,
            from: c_int,
            tag: u32,
            data: *mut c_void,
            bytes: u64,
            operation: *mut u64,
        ) -> c_int,
    >,
    /// Sets `complete` to 1 or 0, and `bytes`, of a receive that is complete, to the size of the message. A send is complete when
    /// its data may be used again. Operations that are complete are not asked for again.
    pub test: Option<
        unsafe extern "C" fn(connection: *mut c_void, operation: u64, complete: *mut c_int, bytes: *mut u64) -> c_int,
    >,
    /// Gives an operation up after an error: afterwards it touches no memory.
    pub cancel: Option<unsafe extern "C" fn(connection: *mut c_void, operation: u64) -> c_int>,
    /// Ends a connection, at different times on different ranks.
    pub disconnect: Option<unsafe extern "C" fn(connection: *mut c_void) -> c_int>,
}

/// Has chunks carried by functions of the program's, for communicators whose first use is still to come, and credits and everything
/// else that an exchange needs; OPTIQ still plans, agrees and falls back with MPI. `functions` is copied; NULL takes MPI again. To
/// be called alike on all ranks, after `optiq_init`. Where ranks cannot connect, chunks travel by MPI, or, with the option
/// `strict`, calls fail. Since 0.1.
///
/// Returns 0 or a status code. Not thread-safe.
///
/// # Safety
/// `functions` must be NULL or valid for reading, with a name that ends with a zero byte and functions that do what is said of
/// them until the last communicator is freed that they are used for, or OPTIQ ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_set_transport(functions: *const TransportFunctions) -> c_int {
    guard(|| {
        Sessions::must_be_open("optiq_set_transport")?;
        // SAFETY: by this function's contract.
        let Some(given) = (unsafe { functions.as_ref() }) else {
            give(None);
            return Ok(());
        };
        // SAFETY: by this function's contract.
        let name = unsafe { string(given.name, "the name of the transport")? };
        if name.is_empty() {
            return Err(Error::Argument("the name of the transport is empty".into()));
        }
        let lacks = |function: &str| Error::Argument(format!("the transport {name} has no function {function}"));
        let connect: Connect = given.connect.ok_or_else(|| lacks("connect"))?;
        let functions = Functions {
            largest_bytes: Some(given.largest_bytes).filter(|&bytes| bytes > 0),
            connection: std::ptr::null_mut(),
            send: given.send.ok_or_else(|| lacks("send"))?,
            receive: given.receive.ok_or_else(|| lacks("receive"))?,
            test: given.test.ok_or_else(|| lacks("test"))?,
            cancel: given.cancel.ok_or_else(|| lacks("cancel"))?,
            disconnect: given.disconnect.ok_or_else(|| lacks("disconnect"))?,
            // Sessions and their errors may outlive any list of transports; programs give few.
            name: Box::leak(name.into_boxed_str()),
        };
        give(Some(GivenTransport { connect, context: given.context, functions }));
        Ok(())
    })
}
