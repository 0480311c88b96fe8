//! Chunks carried by functions that a program gives: any library that sends messages between ranks (thesis 4.2.4: "allows users to
//! use or develop different communication libraries").
//!
//! The functions know messages with a tag, as MPI does: between two ranks, messages with the same tag arrive in the order in which
//! they were sent. A receive for each chunk is started ahead, straight into its final place. A credit is a message of eight bytes,
//! the number of chunks in the sender's byte order, with the path's tag and [`CREDIT_TAG`]: one receive for credits is open for
//! each path that is sent on, until all of its credits have come ([`crate::Scheduler`] says how many those are), so that no
//! operation is left at the end.
//!
//! What the functions report is not trusted: a status that is not 0, a completion that is neither 0 nor 1, and a chunk of another
//! size are errors that name the function.

use crate::capabilities::{Capabilities, SendCompletion};
use crate::error::TransportError;
use crate::hop::Hop;
use crate::in_order::InOrder;
use crate::memory::Memory;
use crate::protocol::{Credit, Event, Post, Transmit};
use crate::schedule::Schedule;
use crate::transport::Transport;
use optiq_trace::ids::{PathId, Rank};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

/// Set in the tags of credits; tags of chunks are below.
pub const CREDIT_TAG: u32 = 1 << 31;

/// Functions that carry messages, and what they are called with.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    /// A name for logs and results.
    pub name: &'static str,
    /// The largest message, in bytes; `None` if there is no limit.
    pub largest_bytes: Option<u64>,
    /// Is the first argument of each function.
    pub connection: *mut c_void,
    /// Starts to send `bytes` bytes at `data` to a rank, and gives a number for the operation.
    pub send: unsafe extern "C" fn(*mut c_void, c_int, u32, *const c_void, u64, *mut u64) -> c_int,
    /// Starts to receive a message of at most `bytes` bytes from a rank, and gives a number for the operation.
    pub receive: unsafe extern "C" fn(*mut c_void, c_int, u32, *mut c_void, u64, *mut u64) -> c_int,
    /// Whether an operation is complete (1) or not (0), without waiting, and the bytes of the message that it received. A complete
    /// operation is not asked for again.
    pub test: unsafe extern "C" fn(*mut c_void, u64, *mut c_int, *mut u64) -> c_int,
    /// Gives an operation up: afterwards it touches no memory.
    pub cancel: unsafe extern "C" fn(*mut c_void, u64) -> c_int,
    /// Ends the connection, once.
    pub disconnect: unsafe extern "C" fn(*mut c_void) -> c_int,
}

/// What an operation is for.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    Send { path: PathId, sequence: u64 },
    Receive { path: PathId, sequence: u64, bytes: u64 },
    SendCredit,
    ReceiveCredit { path: PathId },
}

/// A started operation; `number` holds the bytes of a credit, in place until it is complete.
#[derive(Debug)]
struct Operation {
    id: u64,
    purpose: Purpose,
    number: Option<Box<u64>>,
}

/// A path that this rank sends on: where its credits come from.
#[derive(Clone, Copy, Debug)]
struct Credited {
    from: Rank,
    tag: u32,
    /// Credits that have not come.
    left: u64,
}

/// The back end.
#[derive(Debug)]
pub struct ByFunctions {
    functions: Functions,
    rank: Rank,
    slots: Vec<u8>,
    operations: Vec<Operation>,
    received: InOrder,
    sent: InOrder,
    credited: BTreeMap<PathId, Credited>,
    /// Tags of the paths that this rank receives on.
    tags: BTreeMap<PathId, u32>,
}

impl ByFunctions {
    /// On a connection that `functions` have.
    ///
    /// # Safety
    /// The functions must do what their descriptions say, on this connection, for as long as it is not dropped, and on this thread
    /// or any other that the program calls OPTIQ from.
    pub unsafe fn new(functions: Functions, rank: Rank) -> Self {
        Self {
            functions,
            rank,
            slots: Vec::new(),
            operations: Vec::new(),
            received: InOrder::default(),
            sent: InOrder::default(),
            credited: BTreeMap::new(),
            tags: BTreeMap::new(),
        }
    }

    fn failed(&self, call: &'static str, problem: String) -> TransportError {
        TransportError::Functions { name: self.functions.name, call, problem }
    }

    fn check(&self, call: &'static str, status: c_int) -> Result<(), TransportError> {
        if status == 0 { Ok(()) } else { Err(self.failed(call, format!("returned {status}"))) }
    }

    /// # Safety
    /// `data` must be valid for reading `bytes` bytes until the operation is complete.
    unsafe fn start_send(&self, to: Rank, tag: u32, data: *const u8, bytes: u64) -> Result<u64, TransportError> {
        let Functions { connection, send, .. } = self.functions;
        let mut id = 0;
        // SAFETY: by this function's contract, and that of `new`.
        let status = unsafe { send(connection, to.0 as c_int, tag, data.cast(), bytes, &mut id) };
        self.check("send", status).map(|()| id)
    }

    /// # Safety
    /// `data` must be valid for writing `bytes` bytes until the operation is complete.
    unsafe fn start_receive(&self, from: Rank, tag: u32, data: *mut u8, bytes: u64) -> Result<u64, TransportError> {
        let Functions { connection, receive, .. } = self.functions;
        let mut id = 0;
        // SAFETY: by this function's contract, and that of `new`.
        let status = unsafe { receive(connection, from.0 as c_int, tag, data.cast(), bytes, &mut id) };
        self.check("receive", status).map(|()| id)
    }

    /// Waits for the next credits of a path.
    fn expect_credit(&mut self, path: PathId, from: Rank, tag: u32) -> Result<(), TransportError> {
        let mut number = Box::new(0u64);
        // SAFETY: the operation keeps the number until it is complete.
        let id =
            unsafe { self.start_receive(from, tag | CREDIT_TAG, (&raw mut *number).cast(), size_of::<u64>() as u64)? };
        self.operations.push(Operation { id, purpose: Purpose::ReceiveCredit { path }, number: Some(number) });
        Ok(())
    }

    /// Whether an operation is complete, and the bytes that it received.
    fn test(&self, id: u64) -> Result<Option<u64>, TransportError> {
        let Functions { connection, test, .. } = self.functions;
        let (mut complete, mut bytes) = (0, 0);
        // SAFETY: by the contract of `new`.
        let status = unsafe { test(connection, id, &mut complete, &mut bytes) };
        self.check("test", status)?;
        match complete {
            0 => Ok(None),
            1 => Ok(Some(bytes)),
            other => Err(self.failed("test", format!("says {other} of operation {id}, where 0 or 1 is expected"))),
        }
    }

    fn expect_bytes(&self, what: &str, found: u64, expected: u64) -> Result<(), TransportError> {
        let problem = || format!("says that {what} has {found} bytes, where {expected} were sent");
        if found == expected { Ok(()) } else { Err(self.failed("test", problem())) }
    }

    /// What a complete operation means.
    fn complete(&mut self, operation: Operation, bytes: u64, events: &mut Vec<Event>) -> Result<(), TransportError> {
        match operation.purpose {
            Purpose::SendCredit => {}
            Purpose::Send { path, sequence } => {
                events.extend(self.sent.due(path, sequence).map(|sequence| Event::Sent { path, sequence }));
            }
            Purpose::Receive { path, sequence, bytes: expected } => {
                self.expect_bytes(&format!("chunk {sequence} of path {path}"), bytes, expected)?;
                events.extend(self.received.due(path, sequence).map(|sequence| Event::Received { path, sequence }));
            }
            Purpose::ReceiveCredit { path } => {
                self.expect_bytes(&format!("a credit for path {path}"), bytes, size_of::<u64>() as u64)?;
                let chunks = operation.number.map_or(0, |number| *number);
                let credited = self.credited.get_mut(&path).filter(|c| chunks > 0 && chunks <= c.left);
                let Some(credited) = credited else {
                    let what = format!("{chunks} credits for path {path}");
                    return Err(TransportError::Unexpected { rank: self.rank, what });
                };
                credited.left -= chunks;
                let Credited { from, tag, left } = *credited;
                events.push(Event::Credit { path, chunks });
                if left > 0 {
                    self.expect_credit(path, from, tag)?;
                }
            }
        }
        Ok(())
    }

    /// Looks at all operations once.
    fn progress(&mut self, events: &mut Vec<Event>) -> Result<(), TransportError> {
        let mut i = 0;
        while i < self.operations.len() {
            match self.test(self.operations[i].id)? {
                Some(bytes) => {
                    let operation = self.operations.swap_remove(i);
                    self.complete(operation, bytes, events)?;
                }
                None => i += 1,
            }
        }
        Ok(())
    }
}

/// The credits that the sender of a path waits for.
fn credits(hop: &Hop) -> u64 {
    hop.outgoing.map_or(0, |outgoing| hop.chunks().saturating_sub(hop.unasked(outgoing.window)))
}

impl Transport for ByFunctions {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: self.functions.name,
            largest_eager_bytes: None,
            largest_chunk_bytes: self.functions.largest_bytes,
            delivers_in_place: true,
            send_completion: SendCompletion::Local,
            flush_blocks: false,
            end_waits_for_all_ranks: false,
            puts_need_target_progress: None,
            drop_is_collective: false,
            largest_bytes_in_flight: None,
        }
    }

    fn begin(&mut self, schedule: &Schedule) -> Result<(), TransportError> {
        let needed = schedule.forward_bytes() as usize;
        if self.slots.len() < needed {
            self.slots.resize(needed, 0);
        }
        self.received.clear();
        self.sent.clear();
        self.credited.clear();
        self.tags = schedule.hops().iter().filter_map(|hop| Some((hop.path, hop.incoming?.tag))).collect();
        for hop in schedule.hops().iter().filter(|hop| credits(hop) > 0) {
            if let Some(outgoing) = hop.outgoing {
                let (from, tag) = (outgoing.to, outgoing.tag);
                self.credited.insert(hop.path, Credited { from, tag, left: credits(hop) });
                self.expect_credit(hop.path, from, tag)?;
            }
        }
        Ok(())
    }

    fn post(&mut self, memory: &Memory<'_>, post: &Post) -> Result<(), TransportError> {
        let (path, sequence, bytes) = (post.header.path, post.header.sequence, post.header.bytes);
        // SAFETY: `execute` has checked the memory for this schedule and keeps it alive and untouched until the receive is
        // complete or abandoned; `begin` has sized the slots.
        let id = unsafe {
            let (address, _) = memory.address(post.into, self.slots.as_mut_ptr());
            self.start_receive(post.from, post.tag, address, bytes)?
        };
        self.operations.push(Operation { id, purpose: Purpose::Receive { path, sequence, bytes }, number: None });
        Ok(())
    }

    fn send(&mut self, memory: &Memory<'_>, transmit: &Transmit) -> Result<(), TransportError> {
        let (path, sequence, bytes) = (transmit.header.path, transmit.header.sequence, transmit.header.bytes);
        // SAFETY: as in `post`; the scheduler frees a slot only after the send is complete.
        let id = unsafe {
            let (address, _) = memory.address(transmit.data, self.slots.as_mut_ptr());
            self.start_send(transmit.to, transmit.tag, address, bytes)?
        };
        self.operations.push(Operation { id, purpose: Purpose::Send { path, sequence }, number: None });
        Ok(())
    }

    fn credit(&mut self, credit: &Credit) -> Result<(), TransportError> {
        let Some(&tag) = self.tags.get(&credit.path) else {
            let what = format!("a credit to give for path {}", credit.path);
            return Err(TransportError::Unexpected { rank: self.rank, what });
        };
        let number = Box::new(credit.chunks);
        // SAFETY: the operation keeps the number until it is complete.
        let id = unsafe {
            self.start_send(credit.to, tag | CREDIT_TAG, (&raw const *number).cast(), size_of::<u64>() as u64)?
        };
        self.operations.push(Operation { id, purpose: Purpose::SendCredit, number: Some(number) });
        Ok(())
    }

    fn poll(&mut self, _: &Memory<'_>, events: &mut Vec<Event>) -> Result<(), TransportError> {
        self.progress(events)
    }

    fn end(&mut self) -> Result<bool, TransportError> {
        // The scheduler is done: all chunks have come and gone. Credits may still be on their way out.
        self.progress(&mut Vec::new())?;
        Ok(self.operations.is_empty())
    }

    fn abandon(&mut self) {
        let Functions { connection, cancel, name, .. } = self.functions;
        for operation in self.operations.drain(..) {
            // SAFETY: by the contract of `new`.
            let status = unsafe { cancel(connection, operation.id) };
            if status != 0 {
                log::warn!(
                    "the transport {name}: cancel returned {status}; what operation {} writes to is kept",
                    operation.id
                );
                // It may still be written to.
                operation.number.map(Box::leak);
            }
        }
    }
}

impl Drop for ByFunctions {
    fn drop(&mut self) {
        self.abandon();
        let Functions { connection, disconnect, name, .. } = self.functions;
        // SAFETY: by the contract of `new`; this is the only call.
        let status = unsafe { disconnect(connection) };
        if status != 0 {
            log::warn!("the transport {name}: disconnect returned {status}");
        }
    }
}
