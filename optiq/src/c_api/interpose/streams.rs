//! Exchanges that go on while the program does something else: a stream of them, and the thread that carries it.
//!
//! The program's request is one of MPI's own: a receive of nothing from this very process. The thread of a stream carries its
//! exchanges out one after the other, by a session on a private communicator of its own, and completes each request by a
//! message to its own rank. So whatever the program does with the request is MPI's business, from any language.
//! These messages go over private communicators of several ranks: MPICH 4.0 loses some of those on communicators of one rank
//! when two threads use it at once.
//! A failed exchange sends a byte where none is expected: the program's `MPI_Wait` finds out and says so.
//!
//! No stream waits for another one, nor for a call of the program that is not on its communicator, and no lock is held in a
//! call that waits for other ranks: a stream only ever waits for the same stream on other ranks.

use super::counts::{CallOutcome, Function};
use crate::error::Error;
use crate::session::{FallbackArgs, Local, Operation, Session};
use optiq_lower::decide::Decision;
use optiq_transport::mpi::{Communicator, ffi, is_initialized};
use parking_lot::Mutex;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

/// Streams with a session at a time in one process.
const MOST_STREAMS: usize = 64;

/// For what is made by rank 0's planner; the main thread usually has as much.
const STACK_BYTES: usize = 8 << 20;

/// What one thread hands to another: MPI handles and addresses, which have no thread affinity under `MPI_THREAD_MULTIPLE`.
pub(super) struct SendPtr<T>(T);
// SAFETY: there is a stream only under `MPI_THREAD_MULTIPLE`, where handles may be used by any thread; the buffers are left
// to MPI, and so to us, until the request is complete.
unsafe impl<T> Send for SendPtr<T> {}

impl<T> SendPtr<T> {
    pub(super) fn new(value: T) -> Self {
        Self(value)
    }

    pub(super) fn take(self) -> T {
        self.0
    }
}

/// Where requests are completed: private communicators, on which every rank sends to itself alone.
pub(super) struct CompletionComms {
    /// A failed exchange is an error code.
    returning: Communicator,
    /// A failed exchange ends the task, as the program's communicator has it.
    fatal: Communicator,
    /// This process's rank on both.
    me: c_int,
    tags: AtomicUsize,
}
// SAFETY: MPI handles and numbers.
unsafe impl Send for CompletionComms {}
// SAFETY: as above; what changes is atomic.
unsafe impl Sync for CompletionComms {}

static COMPLETION_COMMS: Mutex<Option<Arc<CompletionComms>>> = Mutex::new(None);

/// How a request of the program is completed.
#[derive(Clone)]
pub(super) struct Completion {
    own: Arc<CompletionComms>,
    comm: ffi::MPI_Comm,
    tag: c_int,
}

impl Completion {
    /// For a request on `comm`, whose error handler decides what a failure does; local.
    pub(super) fn new(comm: ffi::MPI_Comm) -> Result<Self, Error> {
        let own = COMPLETION_COMMS.lock().clone().ok_or(Error::NotInitialized("what completes requests"))?;
        // SAFETY: constants, and a communicator that MPI has accepted; our reference to the handler is given up.
        let returns = unsafe {
            let mut handler = ffi::RSMPI_ERRORS_RETURN;
            let code = ffi::PMPI_Comm_get_errhandler(comm, &mut handler);
            let returns = handler != ffi::RSMPI_ERRORS_ARE_FATAL;
            if code == ffi::MPI_SUCCESS as c_int {
                ffi::PMPI_Errhandler_free(&mut handler);
            }
            returns
        };
        let used = if returns { &own.returning } else { &own.fatal };
        let tag = own.tags.fetch_add(1, Relaxed) % (used.largest_tag() as usize + 1);
        let (comm, tag) = (used.raw(), tag as c_int);
        Ok(Self { own, comm, tag })
    }

    /// The program's request: active, or persistent and to be started.
    pub(super) fn request(&self, persistent: bool) -> Result<ffi::MPI_Request, Error> {
        // SAFETY: nothing is received into nothing, from this very process; the request is overwritten.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let (nothing, kind) = (std::ptr::null_mut(), ffi::RSMPI_UINT8_T);
            let make = if persistent { ffi::PMPI_Recv_init } else { ffi::PMPI_Irecv };
            let code = make(nothing, 0, kind, self.own.me, self.tag, self.comm, &mut request);
            optiq_transport::mpi::check(code, "MPI_Irecv")?;
            Ok(request)
        }
    }

    /// Completes it.
    fn complete(&self, well: bool) {
        static BYTE: u8 = 0;
        // SAFETY: a byte that lives for ever. If the program has cancelled its request, the message is never received, so that
        // OPTIQ must not wait for it.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let (kind, bytes) = (ffi::RSMPI_UINT8_T, c_int::from(!well));
            let (byte, me) = ((&raw const BYTE).cast(), self.own.me);
            let code = ffi::PMPI_Isend(byte, bytes, kind, me, self.tag, self.comm, &mut request);
            if code == ffi::MPI_SUCCESS as c_int && request != ffi::RSMPI_REQUEST_NULL {
                ffi::PMPI_Request_free(&mut request);
            }
        }
    }
}

/// Whether requests can be completed.
pub(super) fn can_complete() -> bool {
    COMPLETION_COMMS.lock().is_some()
}

/// Makes what completes requests, in place of what there is; collective. Active requests keep what they have.
///
/// # Safety
/// `comm` must be an intra-communicator of at least two ranks that MPI has accepted.
pub(super) unsafe fn complete_on(comm: ffi::MPI_Comm) -> Result<(), Error> {
    // SAFETY: by this function's contract; then communicators of ours.
    let own = unsafe {
        let (returning, fatal) = (Communicator::beside(comm), Communicator::beside(comm));
        let (returning, fatal) = (returning?, fatal?);
        let code = ffi::PMPI_Comm_set_errhandler(fatal.raw(), ffi::RSMPI_ERRORS_ARE_FATAL);
        optiq_transport::mpi::check(code, "MPI_Comm_set_errhandler")?;
        CompletionComms { me: returning.rank().0 as c_int, returning, fatal, tags: AtomicUsize::new(0) }
    };
    *COMPLETION_COMMS.lock() = Some(Arc::new(own));
    Ok(())
}

/// An exchange that was started.
pub(super) struct Exchange {
    pub(super) function: Function,
    /// The blocks, as they were read when the program called.
    pub(super) local: Local,
    /// The blocks that are sent, if they are replaced by what arrives: `local` points to them.
    pub(super) _staged: Vec<u8>,
    pub(super) kept: FallbackArgs,
    pub(super) signature: u64,
    pub(super) completion: Completion,
}

/// What a stream is told to do.
pub(super) enum StreamTask {
    /// To carry out an exchange.
    Exchange(Box<SendPtr<Exchange>>),
    /// To plan one; the answer says how this stream is to carry it, or nothing if plain MPI is to.
    Plan(Box<SendPtr<(Function, Local, FallbackArgs)>>, Sender<Result<Option<CallOutcome>, ()>>),
    /// To carry out what was planned last.
    Start(Completion),
}
// SAFETY: as for `SendPtr`.
unsafe impl Send for Completion {}

/// A thread that does its tasks in order, until all that is left of it is in its hands.
pub(super) struct Stream(Mutex<Option<Sender<StreamTask>>>);

static STREAMS: Mutex<Vec<Weak<Stream>>> = Mutex::new(Vec::new());
static THREADS: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Whether another stream with a session may be made.
pub(super) fn has_room() -> bool {
    LIVE.load(Relaxed) < MOST_STREAMS
}

impl Stream {
    /// Starts the thread; local.
    pub(super) fn spawn(run: impl FnOnce(Receiver<StreamTask>) + Send + 'static) -> std::io::Result<Arc<Self>> {
        let (sender, receiver) = channel();
        let thread = std::thread::Builder::new().name("optiq-stream".into()).stack_size(STACK_BYTES);
        let thread = without_signals(|| {
            thread.spawn(move || {
                // What panics has completed nothing: the program would wait for ever.
                if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(receiver))).is_err() {
                    log::error!("internal error in OPTIQ: an exchange that was started cannot be completed");
                    // SAFETY: the other ranks wait inside MPI for this one.
                    unsafe { ffi::PMPI_Abort(ffi::RSMPI_COMM_WORLD, 1) };
                }
                LIVE.fetch_sub(1, Relaxed);
            })
        })?;
        LIVE.fetch_add(1, Relaxed);
        let mut threads = THREADS.lock();
        threads.retain(|t| !t.is_finished());
        threads.push(thread);
        let stream = Arc::new(Self(Mutex::new(Some(sender))));
        let mut streams = STREAMS.lock();
        streams.retain(|s| s.strong_count() > 0);
        streams.push(Arc::downgrade(&stream));
        Ok(stream)
    }

    /// Adds a task; false if MPI is being finalised, which a correct program has not begun.
    pub(super) fn add(&self, task: StreamTask) -> bool {
        self.0.lock().as_ref().is_some_and(|sender| sender.send(task).is_ok())
    }
}

/// Ends all streams, before MPI is finalised: what was started is carried out, and sessions are given back. Collective, as
/// finalising is; each stream waits for itself alone.
pub(super) fn end() {
    for stream in STREAMS.lock().drain(..).filter_map(|s| s.upgrade()) {
        stream.0.lock().take();
    }
    let threads = std::mem::take(&mut *THREADS.lock());
    for thread in threads {
        // It does not panic.
        let _ = thread.join();
    }
    let own = COMPLETION_COMMS.lock().take();
    if is_initialized() {
        drop(own);
    }
}

/// Leaves all streams as they are, where MPI is being finalised already and it is too late to end them.
pub(super) fn leave() {
    for stream in STREAMS.lock().drain(..).filter_map(|s| s.upgrade()) {
        // A thread whose tasks never end does nothing any more.
        std::mem::forget(stream.0.lock().take());
    }
    std::mem::forget(COMPLETION_COMMS.lock().take());
}

/// A thread inherits the signals that are blocked: ours must not run the program's handlers.
pub(super) fn without_signals<T>(make: impl FnOnce() -> T) -> T {
    // SAFETY: sets of this function's own; the mask is put back.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let made = make();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        made
    }
}

/// How OPTIQ carries an exchange; nothing if plain MPI does.
fn carried(operation: &Operation) -> Option<CallOutcome> {
    match **operation.decision() {
        _ if operation.is_plain() => None,
        Decision::Combined { .. } => Some(CallOutcome::Combined),
        _ => Some(CallOutcome::Planned),
    }
}

/// The thread of the persistent exchanges that a session carries, one after the other in the program's time.
pub(super) fn persistent(session: &Session, tasks: Receiver<StreamTask>) {
    // With the function that planned it: one after the other may plan with a stream.
    let mut planned: Option<(Function, Operation)> = None;
    for task in tasks {
        match task {
            StreamTask::Plan(arguments, answer) => {
                let (function, local, kept) = arguments.take();
                let made = session.init(Ok(local), Some(kept), 0);
                // The receiver may have gone.
                let _ = answer.send(made.as_ref().map(carried).map_err(|_| ()));
                planned = made.ok().filter(|operation| !operation.is_plain()).map(|operation| (function, operation));
            }
            StreamTask::Start(completion) => {
                let done = planned.as_mut().is_some_and(|(function, operation)| {
                    // SAFETY: the program keeps its buffers until the request is complete.
                    let started = unsafe { session.start(operation) };
                    let done = started.and_then(|()| session.wait(operation));
                    done.inspect_err(|e| log::error!("MPI_Start of {}: {e}", function.name())).is_ok()
                });
                completion.complete(done);
            }
            // There are none.
            StreamTask::Exchange(exchange) => exchange.take().completion.complete(false),
        }
    }
}

/// The thread of the exchanges that a communicator's ranks start without blocking. `serve` carries one out.
pub(super) fn in_order(tasks: Receiver<StreamTask>, serve: impl Fn(&mut Exchange) -> bool) {
    for task in tasks {
        if let StreamTask::Exchange(exchange) = task {
            let mut exchange = exchange.take();
            let well = serve(&mut exchange);
            let completion = exchange.completion.clone();
            // Datatypes are given back before the program can finalise MPI.
            drop(exchange);
            completion.complete(well);
        }
    }
}
