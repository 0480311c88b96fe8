//! The seam for the preload library: pass a call on to the MPI library, or serve it.
//!
//! The library `liboptiq_pmpi.so` has nothing but entry points of the names that programs call; each comes here with its
//! arguments in C's terms and with `next`, which makes the very same call at whoever is behind: another preloaded library,
//! or MPI. What is passed on goes there untouched, on the program's own communicator, so that errors are MPI's own and come
//! through the program's own error handler. What OPTIQ does itself uses `PMPI_*`.
//!
//! # What is passed on
//!
//! Without a topology everything, and nothing is made or attached. With one, each communicator has a standing (module
//! `communicators`). Arguments that MPI surely refuses are passed on at once, at this rank alone, as MPI returns at once.
//! Everything else is agreed upon: whatever only one rank knows (a datatype with gaps, GPU memory) goes through the
//! session's reduction, and then all ranks pass the call on together. What goes on while the program does something else is
//! in module `nonblocking`.

mod communicators;
mod counts;
mod nonblocking;
mod streams;

use super::{arguments_signature, read};
use crate::config::{Config, Preload};
use crate::error::Error;
use crate::logger;
use crate::session::{Arguments, ByMpi, Local};
use communicators::{Known, Standing};
pub use counts::Function;
use counts::{FUNCTIONS, Way, count};
use optiq_lower::choices::Algorithm;
use optiq_lower::decide::Decision;
use optiq_net::Network;
pub use optiq_transport::mpi::ffi;
use optiq_transport::mpi::in_place;
use optiq_transport::mpi::{Library, handle_bits, is_committed, is_initialized, is_named};
pub use optiq_transport::mpi::{
    buffer_from_fortran, comm_from_fortran, info_from_fortran, request_from_fortran, request_to_fortran,
    type_from_fortran,
};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Which blocks a call moves.
pub enum Blocks {
    /// As `MPI_Alltoallv`: an element for each rank in every array.
    Each {
        /// Elements to send, and where they start.
        send: (*const c_int, *const c_int),
        /// Elements to receive, and where they start.
        receive: (*const c_int, *const c_int),
    },
    /// As `MPI_Alltoall`: elements to send to each rank, and to receive from each.
    Same {
        /// To send.
        send: c_int,
        /// To receive.
        receive: c_int,
    },
}

/// A call of the program, in C's terms.
pub struct Call {
    /// Which function.
    pub function: Function,
    /// The send buffer.
    pub send: *const c_void,
    /// Its datatype.
    pub send_type: ffi::MPI_Datatype,
    /// The receive buffer.
    pub receive: *mut c_void,
    /// Its datatype.
    pub receive_type: ffi::MPI_Datatype,
    /// What is moved.
    pub blocks: Blocks,
    /// The program's communicator.
    pub comm: ffi::MPI_Comm,
}

/// The state of the process: 0 undecided, 1 serving, 2 + a way: all calls are passed on.
static STATE: State = State {
    now: AtomicUsize::new(UNDECIDED),
    taken: AtomicUsize::new(0),
    passed: [const { AtomicU64::new(0) }; FUNCTIONS.len()],
};
const UNDECIDED: usize = 0;
const SERVING: usize = 1;
const PASSING: usize = 2;

/// All that a call touches that is passed on for good, in one line of the cache: where several ranks share a core, all of
/// it comes from memory at every call.
#[repr(align(64))]
struct State {
    now: AtomicUsize,
    /// The functions that are taken over, as bits; known when the state is.
    taken: AtomicUsize,
    /// How many calls went the way that `now` says, of each function.
    passed: [AtomicU64; FUNCTIONS.len()],
}

impl State {
    fn set(&self, now: usize) {
        let before = self.now.swap(now, Relaxed);
        if let Some(way) = before.checked_sub(PASSING).and_then(counts::way) {
            for (function, passed) in self.passed.iter().enumerate() {
                counts::add(function, way, passed.swap(0, Relaxed));
            }
        }
    }
}

thread_local! {
    /// Whether this thread is inside a call that came here: what MPI, a profiler behind us or an error handler calls
    /// meanwhile is part of it.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Passes everything on for good.
fn pass_all(way: Way) {
    STATE.set(PASSING + way as usize);
}

/// MPI is being finalised.
fn ended() {
    pass_all(Way::Outside);
}

/// A blocking call. Returns what the program is to be given: MPI's own code, wherever MPI serves the call.
///
/// # Safety
/// As for the MPI function; `next` must make the same call.
#[inline]
pub unsafe fn blocking(call: impl FnOnce() -> Call, function: Function, next: impl Fn() -> c_int) -> c_int {
    if !is_looked_at(function) {
        return next();
    }
    // SAFETY: passed on.
    unsafe { look(&call(), &next) }
}

/// Whether a call is passed on for good, which is counted then: the first thing that is asked of a call.
#[inline]
pub fn is_passed(function: Function) -> bool {
    let passed = STATE.now.load(Relaxed) >= PASSING;
    if passed {
        STATE.passed[function as usize].fetch_add(1, Relaxed);
    }
    passed
}

/// Whether a call is looked at: there are communicators then, and handles can be converted. One that is not is counted.
#[inline]
fn is_looked_at(function: Function) -> bool {
    match STATE.now.load(Relaxed) {
        SERVING => true,
        UNDECIDED => {
            let decided = catch_unwind(decide).unwrap_or(Err(Way::Failed));
            if let Err(way) = decided
                && !BUSY.get()
            {
                count(function, way);
            }
            decided.is_ok()
        }
        _ => !is_passed(function),
    }
}

/// Where the program keeps requests.
pub trait Place: Copy {
    /// One of them.
    ///
    /// # Safety
    /// There must be more than `at`.
    unsafe fn get(self, at: usize) -> ffi::MPI_Request;

    /// Writes the first one.
    ///
    /// # Safety
    /// There must be one.
    unsafe fn put(self, request: ffi::MPI_Request);
}

impl Place for *mut ffi::MPI_Request {
    unsafe fn get(self, at: usize) -> ffi::MPI_Request {
        // SAFETY: by this function's contract.
        unsafe { *self.add(at) }
    }

    unsafe fn put(self, request: ffi::MPI_Request) {
        // SAFETY: by this function's contract.
        unsafe { *self = request };
    }
}

/// A call that gives the program a request, as [`blocking`].
///
/// # Safety
/// As for the MPI function; `next` must make the same call.
#[inline]
pub unsafe fn begin<P: Place>(call: impl FnOnce() -> (Call, P), function: Function, next: impl Fn() -> c_int) -> c_int {
    if !is_looked_at(function) || BUSY.get() {
        return next();
    }
    let _busy = Busy::new();
    let (call, place) = call();
    // SAFETY: the program's place for its request.
    let mut put = |request| unsafe { place.put(request) };
    let begin = || match function {
        // SAFETY: passed on.
        Function::AlltoallvInit => unsafe { nonblocking::alltoallv_init(&call, &mut put) },
        // SAFETY: passed on.
        _ => unsafe { nonblocking::ialltoallv(&call, &mut put) },
    };
    match catch_unwind(AssertUnwindSafe(begin)).unwrap_or(Err(Way::Failed)) {
        Ok(code) => code,
        Err(way) => {
            count(function, way);
            next()
        }
    }
}

/// `MPI_Start` and `MPI_Startall`: the requests of ours among those that MPI has started are carried out.
///
/// # Safety
/// `requests` must give as many requests as it says.
#[inline]
pub unsafe fn start<P: Place>(requests: impl FnOnce() -> (c_int, P), next: impl FnOnce() -> c_int) -> c_int {
    let code = next();
    if nonblocking::has_persistent() && !BUSY.get() && code == ffi::MPI_SUCCESS as c_int {
        let (count, place) = requests();
        for at in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: by this function's contract.
            nonblocking::started(unsafe { place.get(at) });
        }
    }
    code
}

/// `MPI_Request_free`: a request of ours is forgotten.
///
/// # Safety
/// As [`start`].
#[inline]
pub unsafe fn free<P: Place>(requests: impl FnOnce() -> (c_int, P), next: impl FnOnce() -> c_int) -> c_int {
    if nonblocking::has_persistent() && !BUSY.get() {
        // SAFETY: by this function's contract.
        nonblocking::freed(unsafe { requests().1.get(0) });
    }
    next()
}

/// `MPI_Init` and `MPI_Init_thread`: what takes all ranks is made there, if it was asked for.
pub fn initialize(next: impl FnOnce() -> c_int) -> c_int {
    let code = next();
    if code == ffi::MPI_SUCCESS as c_int && !BUSY.get() && is_initialized() {
        let _busy = Busy::new();
        // What fails is missing later, and calls are passed on.
        let _ = catch_unwind(|| {
            // For others, nothing is made before the first call.
            if Config::read().config.preload.ialltoallv && decide().is_ok() {
                nonblocking::begun();
            }
        });
    }
    code
}

/// `MPI_Finalize`: ends what is under way, and makes the report first.
pub fn finalize(next: impl FnOnce() -> c_int) -> c_int {
    if !BUSY.get() {
        let _busy = Busy::new();
        if STATE.now.load(Relaxed) == SERVING && is_initialized() {
            let _ = catch_unwind(nonblocking::ending);
        }
        // A report that fails must not keep a program from ending.
        let _ = catch_unwind(counts::report);
    }
    next()
}

/// Marks this thread as busy for a while.
struct Busy;

impl Busy {
    fn new() -> Self {
        BUSY.set(true);
        Self
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.set(false);
    }
}

/// # Safety
/// As [`blocking`].
unsafe fn look(call: &Call, next: &dyn Fn() -> c_int) -> c_int {
    if BUSY.get() {
        return next();
    }
    let _busy = Busy::new();
    // A panic of ours before anything was agreed upon must not cost the program its call.
    // SAFETY: passed on.
    let known = catch_unwind(AssertUnwindSafe(|| unsafe { standing(call) })).unwrap_or(Err(Way::Failed));
    match known {
        Err(way) => {
            count(call.function, way);
            next()
        }
        // SAFETY: passed on.
        Ok(known) => unsafe { serve(call, known, next) },
    }
}

/// Who may serve a call: a communicator with a session, or the way of a call that is passed on. Everything that is decided
/// here is decided alike on all ranks that MPI would not have refused the call at once.
///
/// # Safety
/// As [`blocking`].
unsafe fn standing<'a>(call: &Call) -> Result<&'a Known, Way> {
    // SAFETY: passed on.
    let known = unsafe { usable(call)? };
    if let Some(quick) = known.quick() {
        // SAFETY: by this function's contract; the arguments are valid.
        let bytes = unsafe { bytes(call, known) };
        let aside = || match &*known.lock() {
            // SAFETY: as above.
            Standing::Serving(session) => session.is_known_aside(unsafe { signature(call, known) }),
            _ => false,
        };
        return if quick.skips(bytes, aside) { Err(Way::Unasked) } else { Ok(known) };
    }
    known.serves(call.comm).map(|()| known)
}

/// A communicator whose calls of this function are not passed on for good, if MPI does not refuse the call at once.
///
/// # Safety
/// As [`blocking`].
unsafe fn usable<'a>(call: &Call) -> Result<&'a Known, Way> {
    if STATE.taken.load(Relaxed) & (1 << call.function as usize) == 0 {
        return Err(Way::NotSwitchedOn);
    }
    // SAFETY: a constant.
    if call.comm == unsafe { ffi::RSMPI_COMM_NULL } {
        return Err(Way::Invalid);
    }
    // SAFETY: the program does not free the communicator during a call on it.
    let known = unsafe { communicators::known(call.comm) }.ok_or(Way::Invalid)?;
    if let Some(way) = known.plain() {
        return Err(way);
    }
    // SAFETY: by this function's contract.
    if !unsafe { is_valid(call, known) } {
        return Err(Way::Invalid);
    }
    Ok(known)
}

/// Reads the configuration, once: whether any call can be served at all.
fn decide() -> Result<(), Way> {
    static ONE: Mutex<()> = Mutex::new(());
    let _turn = ONE.lock();
    match STATE.now.load(Relaxed) {
        UNDECIDED => {}
        SERVING => return Ok(()),
        state => return Err(counts::way(state - PASSING).unwrap_or(Way::Failed)),
    }
    let decided = read_configuration();
    match decided {
        Ok(taken) => {
            STATE.taken.store(taken, Relaxed);
            STATE.set(SERVING);
            Ok(())
        }
        // MPI may be initialised later.
        Err(Way::Outside) => Err(Way::Outside),
        Err(way) => {
            pass_all(way);
            Err(way)
        }
    }
}

fn read_configuration() -> Result<usize, Way> {
    let read = Config::read();
    counts::remember(&read.config);
    if read.config.disable {
        return Err(Way::Disabled);
    }
    if !communicators::is_our_library() {
        logger::init("", read.config.log);
        logger::warn_once("liboptiq_pmpi.so was built with another MPI library than the program; it does nothing");
        return Err(Way::OtherLibrary);
    }
    if !is_initialized() {
        return Err(Way::Outside);
    }
    let mut rank = 0;
    // SAFETY: MPI is initialised.
    unsafe { ffi::PMPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut rank) };
    logger::init(&format!(" [rank {rank}]"), read.config.log);
    let warn = |text: &str| {
        if rank == 0 {
            logger::warn_once(text);
        }
    };
    read.warnings.iter().for_each(|warning| warn(warning));
    if let Some(error) = &read.error {
        warn(&format!("{error}; all calls go to plain MPI"));
        return Err(Way::Unusable);
    }
    let Some(topology) = read.config.topology.as_deref() else { return Err(Way::NoTopology) };
    if read.config.algorithm == Algorithm::Mpi {
        return Err(Way::NoTopology);
    }
    // Files may differ between ranks, so that only an agreement can refuse them; a specification does not.
    if !topology.starts_with("file:")
        && let Err(error) = Network::from_spec(topology)
    {
        warn(&format!("OPTIQ_TOPOLOGY: {error}; all calls go to plain MPI"));
        return Err(Way::Unusable);
    }
    let Preload { alltoallv, alltoall, ialltoallv } = read.config.preload;
    let bit = |on: bool, function: Function| usize::from(on) << function as usize;
    let taken = bit(alltoallv, Function::Alltoallv)
        | bit(alltoallv, Function::AlltoallvInit)
        | bit(alltoall, Function::Alltoall)
        | bit(ialltoallv, Function::Ialltoallv);
    communicators::open(read.config).map_err(|error| {
        logger::warn_once(&format!("{error}; all calls go to plain MPI"));
        Way::Failed
    })?;
    Ok(taken)
}

/// Whether there is nothing in the arguments that MPI refuses at once, before it speaks to other ranks.
///
/// # Safety
/// As [`blocking`].
unsafe fn is_valid(call: &Call, known: &Known) -> bool {
    let sends = call.send != in_place();
    let counted = match &call.blocks {
        Blocks::Each { send, receive } => {
            let is_good = |(counts, displacements): (*const c_int, *const c_int)| {
                !counts.is_null()
                    && !displacements.is_null()
                    // SAFETY: an array of as many ints as there are ranks.
                    && unsafe { std::slice::from_raw_parts(counts, known.ranks) }.iter().fold(0, |a, b| a | b) >= 0
            };
            is_good(*receive) && (!sends || is_good(*send))
        }
        Blocks::Same { send, receive } => *receive >= 0 && (!sends || *send >= 0),
    };
    let types = [(sends, call.send_type), (true, call.receive_type)];
    // MPICH refuses to receive into MPI_IN_PLACE only if there is something to receive.
    let refused = Library::CURRENT == Library::OpenMpi && call.receive.cast_const() == in_place();
    counted
        && !refused
        // SAFETY: passed on.
        && types.iter().zip(&known.named).all(|(&(used, t), seen)| !used || unsafe { is_good_type(t, seen, known) })
}

/// # Safety
/// As [`blocking`].
unsafe fn is_good_type(datatype: ffi::MPI_Datatype, seen: &AtomicUsize, known: &Known) -> bool {
    let handle = handle_bits(datatype);
    // No handle of MPI's own types is 0.
    if seen.load(Relaxed) == handle && handle != 0 {
        return true;
    }
    // SAFETY: a constant; whatever else it is, MPI says whether it can be sent.
    if datatype == unsafe { ffi::RSMPI_DATATYPE_NULL } || !is_committed(datatype, known.quiet()) {
        return false;
    }
    // SAFETY: MPI has accepted it.
    if unsafe { is_named(datatype) } {
        seen.store(handle, Relaxed);
    }
    true
}

/// The bytes that this rank sends or receives, whichever is more.
///
/// # Safety
/// As [`blocking`], with valid arguments.
unsafe fn bytes(call: &Call, known: &Known) -> u64 {
    let Some(quick) = known.quick() else { return 0 };
    // SAFETY: by this function's contract.
    unsafe {
        match &call.blocks {
            Blocks::Each { send, receive } => {
                let receive = (receive.0, call.receive_type);
                let send = if call.send == in_place() { receive } else { (send.0, call.send_type) };
                quick.bytes([send, receive]).unwrap_or(0)
            }
            Blocks::Same { receive, .. } => quick.bytes_of_each(*receive, call.receive_type),
        }
    }
}

/// # Safety
/// As [`blocking`], with valid arguments.
unsafe fn signature(call: &Call, known: &Known) -> u64 {
    let lists = Lists::new(call, known.ranks);
    // SAFETY: by this function's contract.
    lists.map_or(0, |lists| unsafe { arguments_signature(&lists.arguments(call), known.ranks) })
}

/// A call's counts and displacements as `MPI_Alltoallv` has them.
enum Lists {
    Given([*const c_int; 4]),
    Made([Vec<c_int>; 4]),
}

impl Lists {
    /// `None` if a displacement is beyond what `MPI_Alltoallv` counts to.
    fn new(call: &Call, ranks: usize) -> Option<Self> {
        match &call.blocks {
            Blocks::Each { send, receive } => Some(Self::Given([send.0, send.1, receive.0, receive.1])),
            Blocks::Same { send, receive } => {
                // In place, the send count is not significant.
                let send = if call.send == in_place() { receive } else { send };
                let starts = |count: c_int| {
                    (0..ranks).map(|r| c_int::try_from(r).ok()?.checked_mul(count)).collect::<Option<Vec<_>>>()
                };
                Some(Self::Made([vec![*send; ranks], starts(*send)?, vec![*receive; ranks], starts(*receive)?]))
            }
        }
    }

    fn arguments(&self, call: &Call) -> Arguments {
        let [a, b, c, d] = match self {
            Self::Given(lists) => *lists,
            Self::Made(lists) => lists.each_ref().map(|l| l.as_ptr()),
        };
        Arguments::new((call.send, a, b, call.send_type), (call.receive, c, d, call.receive_type))
    }
}

/// A call that the communicator's ranks agree on.
///
/// # Safety
/// As [`blocking`], with valid arguments.
unsafe fn serve(call: &Call, known: &Known, next: &dyn Fn() -> c_int) -> c_int {
    let code = Cell::new(None);
    let by_mpi = || {
        let returned = next();
        code.set(Some(returned));
        returned
    };
    let mut only_mpi = false;
    // SAFETY: passed on.
    let result = catch_unwind(AssertUnwindSafe(|| unsafe { agree(call, known, &by_mpi, &mut only_mpi) }));
    let (way, returned) = conclude(result, code.get(), only_mpi, next, |error| fail(call.comm, error));
    count(call.function, way);
    returned
}

/// Which way a call went that ranks agreed on, and MPI's code for it: `code` is that of plain MPI if the call went there.
fn conclude(
    result: std::thread::Result<Result<Decision, Error>>,
    code: Option<c_int>,
    only_mpi: bool,
    next: &dyn Fn() -> c_int,
    fail: impl FnOnce(Option<Error>) -> c_int,
) -> (Way, c_int) {
    match (result, code) {
        (Ok(Ok(_)), Some(code)) if only_mpi => (Way::OnlyMpi, code),
        (Ok(Ok(Decision::Multipath { .. })), Some(code)) => (Way::Measured, code),
        (Ok(_), Some(code)) => (Way::Decided, code),
        (Ok(Ok(_)), None) => (Way::Planned, ffi::MPI_SUCCESS as c_int),
        // All ranks have found together that it cannot be served: MPI says what it thinks of it.
        (Ok(Err(error)), None) if !matches!(error, Error::Transport(_)) => (Way::Disagreeing, next()),
        (failed, _) => (Way::Failed, fail(failed.map(Result::err).ok().flatten())),
    }
}

/// The call's blocks, or why only MPI can serve it.
///
/// # Safety
/// As [`blocking`], with valid arguments; `staged` must live as long as what is returned.
unsafe fn localize(call: &Call, arguments: Option<&Arguments>, known: &Known, staged: &mut Vec<u8>) -> Local {
    let read = match arguments {
        // MPI looks for equal buffers itself, or goes on as the program means it to.
        _ if call.send == call.receive.cast_const() => Ok(Local::OnlyMpi("both buffers are the same".into())),
        _ if call.receive.cast_const() == in_place() => {
            Ok(Local::OnlyMpi("MPI_IN_PLACE is to be received into".into()))
        }
        // SAFETY: by this function's contract.
        Some(arguments) => unsafe { read(arguments, known.ranks, known.budget(), staged) },
        None => Ok(Local::OnlyMpi("MPI_Alltoallv cannot count so far".into())),
    };
    // Whatever is wrong, MPI is to say it.
    read.unwrap_or_else(|error| Local::OnlyMpi(error.to_string()))
}

/// Agrees, and has the call served; what was decided for its demands.
///
/// # Safety
/// As [`blocking`], with valid arguments.
unsafe fn agree(
    call: &Call,
    known: &Known,
    by_mpi: &dyn Fn() -> c_int,
    only_mpi: &mut bool,
) -> Result<Decision, Error> {
    let standing = known.lock();
    let Standing::Serving(session) = &*standing else { return Err(Error::NotInitialized("the call")) };
    let mut staged = Vec::new();
    let lists = Lists::new(call, known.ranks);
    let arguments = lists.as_ref().map(|l| l.arguments(call));
    // SAFETY: by this function's contract; `staged` lives until the exchange is over.
    let local = unsafe { localize(call, arguments.as_ref(), known, &mut staged) };
    *only_mpi = matches!(local, Local::OnlyMpi(_));
    // SAFETY: as above.
    let signature = arguments.map_or(0, |a| unsafe { arguments_signature(&a, known.ranks) });
    // SAFETY: as above.
    unsafe { session.agreed(Ok(local), Some(ByMpi::Caller(by_mpi)), signature)? };
    Ok(session.planned())
}

/// What an MPI function does that fails on the way: the program's error handler is called.
fn fail(comm: ffi::MPI_Comm, error: Option<Error>) -> c_int {
    match error {
        Some(error) => log::error!("MPI_Alltoallv: {error}"),
        None => log::error!("MPI_Alltoallv: internal error in OPTIQ"),
    }
    let code = ffi::MPI_ERR_OTHER as c_int;
    // SAFETY: a communicator that MPI has accepted.
    unsafe { ffi::PMPI_Comm_call_errhandler(comm, code) };
    code
}
