//! Who serves a call: whether it is passed on, and what the ranks of its communicator agree on.

use super::call::{Blocks, Call, Lists};
use super::communicators::{self, CommState, KnownComm};
use super::counts::{self, CallOutcome, Function, count};
use super::state::{BUSY, Busy, PASSING, SERVING, STATE, UNDECIDED, pass_all};
use crate::c_api::arguments::{arguments_signature, read};
use crate::config::{Config, Preload};
use crate::error::Error;
use crate::logger;
use crate::networks;
use crate::session::{Arguments, ByMpi, FastPath, Local, sides_of_each, sides_of_equal};
use optiq_lower::choices::Algorithm;
use optiq_lower::decide::Decision;
use optiq_net::spec::is_auto;
use optiq_transport::mpi::{
    Library, Sides, element_bytes, ffi, handle_bits, in_place, is_committed, is_initialized, is_named,
};
use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

/// Has a call served or passed on.
///
/// # Safety
/// As [`super::blocking`].
pub(super) unsafe fn look(call: &Call, next: &dyn Fn() -> c_int) -> c_int {
    if BUSY.get() {
        return next();
    }
    let _busy = Busy::new();
    // A panic of ours before anything was agreed upon must not cost the program its call.
    // SAFETY: passed on.
    let known = catch_unwind(AssertUnwindSafe(|| unsafe { serving_comm(call) })).unwrap_or(Err(CallOutcome::Failed));
    match known {
        Err(CallOutcome::Early) => {
            count(call.function, CallOutcome::Early);
            let start = Instant::now();
            let code = next();
            // SAFETY: the program does not free the communicator during a call on it.
            if let Some(known) = unsafe { communicators::known(call.comm) } {
                known.passed_early(start.elapsed());
            }
            code
        }
        // SAFETY: passed on.
        Err(CallOutcome::NoAgreement) => unsafe { without_agreement(call, next) },
        Err(reason) => {
            count(call.function, reason);
            next()
        }
        // SAFETY: passed on.
        Ok(known) => unsafe { serve(call, known, next) },
    }
}

/// A call that ranks do not agree on: MPI serves it, or messages of the ranks of a host are combined.
///
/// # Safety
/// As [`super::blocking`], with valid arguments.
unsafe fn without_agreement(call: &Call, next: &dyn Fn() -> c_int) -> c_int {
    // SAFETY: the program does not free the communicator during a call on it.
    let known = unsafe { communicators::known(call.comm) };
    let watched = known.filter(|known| known.fast_path().is_some_and(FastPath::is_watched));
    let Some(known) = watched else {
        count(call.function, CallOutcome::NoAgreement);
        return next();
    };
    let code = Cell::new(None);
    let by_mpi = || {
        let returned = next();
        code.set(Some(returned));
        returned
    };
    let served = catch_unwind(AssertUnwindSafe(|| {
        let state = known.lock();
        let CommState::Serving(session) = &*state else { return Err(Error::NotInitialized("the call")) };
        let mut lists = None;
        // SAFETY: by this function's contract; the lists live until the call is over.
        unsafe { session.unagreed_call(|| sides(call, known, &mut lists), by_mpi) }
    }));
    let (reason, code) = conclude_unagreed(served, code.get(), |error| fail(call, error));
    count(call.function, reason);
    code
}

/// Which way a call went without an agreement, and MPI's code for it: `code` is that of plain MPI if the call went there, as one of a row if
/// [`unagreed_call`](crate::Session::unagreed_call) says so.
pub(super) fn conclude_unagreed(
    result: std::thread::Result<Result<(c_int, bool), Error>>,
    code: Option<c_int>,
    fail: impl FnOnce(Option<Error>) -> c_int,
) -> (CallOutcome, c_int) {
    match (result, code) {
        (Ok(Ok((_, true))), Some(code)) => (CallOutcome::Measured, code),
        (_, Some(code)) => (CallOutcome::NoAgreement, code),
        (Ok(Ok((code, _))), None) => (CallOutcome::Combined, code),
        (failed, None) => (CallOutcome::Failed, fail(failed.map(Result::err).ok().flatten())),
    }
}

/// Both sides of a call, whose arrays may be in `lists`.
///
/// # Safety
/// As [`super::blocking`], with valid arguments.
unsafe fn sides<'a>(call: &Call, known: &'a KnownComm, lists: &mut Option<Lists<'a>>) -> Result<Sides, Error> {
    let ranks = known.ranks as u32;
    // SAFETY: passed on.
    unsafe {
        match call.blocks {
            Blocks::Each { .. } | Blocks::EachNeighbour { .. } | Blocks::SameForNeighbours { .. } => {
                *lists = lists_of(call, known);
                let lists = lists.as_ref().ok_or_else(|| Error::Argument(BEYOND.into()))?;
                sides_of_each(&lists.arguments(call), ranks)
            }
            Blocks::Same { send, receive } => {
                let send = (call.send, send, call.send_type);
                sides_of_equal(send, (call.receive, receive, call.receive_type), ranks)
            }
        }
    }
}

/// Why there are no lists.
const BEYOND: &str = "MPI_Alltoallv cannot count so far";

/// The lists of a call in the terms of `MPI_Alltoallv`.
///
/// # Safety
/// As [`super::blocking`], with valid arguments.
pub(super) unsafe fn lists_of<'a>(call: &Call, known: &'a KnownComm) -> Option<Lists<'a>> {
    let neighbours = call.blocks.among_neighbours().and_then(|_| known.neighbours(call.comm));
    // SAFETY: by this function's contract.
    unsafe { Lists::new(call, known.ranks, neighbours) }
}

/// Whether a call among neighbours can be served: asked once for a communicator, and the same on all ranks. Collective. Any other
/// call can.
pub(super) fn fits(call: &Call, known: &KnownComm) -> Result<(), CallOutcome> {
    if call.blocks.among_neighbours().is_none() {
        return Ok(());
    }
    let neighbours = known.neighbours(call.comm).ok_or(CallOutcome::Invalid)?;
    match neighbours.agree(call.comm) {
        Some(true) => Ok(()),
        Some(false) => Err(CallOutcome::Neighbours),
        None => Err(CallOutcome::Failed),
    }
}

/// Who may serve a call: a communicator with a session, or why the call is passed on. Everything that is decided
/// here is decided alike on all ranks that MPI would not have refused the call at once.
///
/// # Safety
/// As [`super::blocking`].
unsafe fn serving_comm<'a>(call: &Call) -> Result<&'a KnownComm, CallOutcome> {
    // SAFETY: passed on.
    let known = unsafe { usable(call)? };
    if let Some(fast_path) = known.fast_path() {
        fits(call, known)?;
        // SAFETY: by this function's contract; the arguments are valid.
        let bytes = unsafe { bytes(call, known) };
        let known_fallback = || match &*known.lock() {
            // SAFETY: as above.
            CommState::Serving(session) => session.is_known_fallback(unsafe { signature(call, known) }),
            _ => false,
        };
        return if fast_path.skips(bytes, known_fallback) { Err(CallOutcome::NoAgreement) } else { Ok(known) };
    }
    // SAFETY: as above.
    let common_block = unsafe { common_block(call) };
    known.serves(call.comm, common_block, || fits(call, known)).map(|()| known)
}

/// The bytes of every block of a call where all ranks have the same: MPI sees to that for `MPI_Alltoall`, whose counts and types
/// match. 0 for other calls.
///
/// # Safety
/// As [`super::blocking`], with valid arguments.
unsafe fn common_block(call: &Call) -> u64 {
    let Blocks::Same { receive, .. } = call.blocks else { return 0 };
    // SAFETY: a datatype that MPI has accepted.
    receive.max(0) as u64 * unsafe { element_bytes(call.receive_type) }
}

/// A communicator whose calls of this function are not passed on for good, if MPI does not refuse the call at once.
///
/// # Safety
/// As [`super::blocking`].
pub(super) unsafe fn usable<'a>(call: &Call) -> Result<&'a KnownComm, CallOutcome> {
    if STATE.taken.load(Relaxed) & (1 << call.function as usize) == 0 {
        return Err(CallOutcome::NotSwitchedOn);
    }
    // SAFETY: a constant.
    if call.comm == unsafe { ffi::RSMPI_COMM_NULL } {
        return Err(CallOutcome::Invalid);
    }
    // SAFETY: the program does not free the communicator during a call on it.
    let known = unsafe { communicators::known(call.comm) }.ok_or(CallOutcome::Invalid)?;
    if let Some(reason) = known.plain() {
        return Err(reason);
    }
    if call.blocks.among_neighbours().is_some() {
        // Without a topology MPI refuses the call, on all ranks.
        let neighbours = known.neighbours(call.comm).ok_or(CallOutcome::Invalid)?;
        if neighbours.are_unfit() {
            return Err(CallOutcome::Neighbours);
        }
    }
    // SAFETY: by this function's contract.
    if !unsafe { is_valid(call, known) } {
        return Err(CallOutcome::Invalid);
    }
    Ok(known)
}

/// Reads the configuration, once: whether any call can be served at all.
pub(super) fn decide() -> Result<(), CallOutcome> {
    static ONE: Mutex<()> = Mutex::new(());
    let _turn = ONE.lock();
    match STATE.now.load(Relaxed) {
        UNDECIDED => {}
        SERVING => return Ok(()),
        state => return Err(counts::reason(state - PASSING).unwrap_or(CallOutcome::Failed)),
    }
    let decided = read_configuration();
    match decided {
        Ok(taken) => {
            STATE.taken.store(taken, Relaxed);
            STATE.set(SERVING);
            Ok(())
        }
        // MPI may be initialised later.
        Err(CallOutcome::Outside) => Err(CallOutcome::Outside),
        Err(reason) => {
            pass_all(reason);
            Err(reason)
        }
    }
}

fn read_configuration() -> Result<usize, CallOutcome> {
    let read = Config::read();
    counts::remember(&read.config);
    if read.config.disable {
        return Err(CallOutcome::Disabled);
    }
    if !communicators::is_our_library() {
        logger::init("", read.config.log);
        logger::warn_once("liboptiq_pmpi.so was built with another MPI library than the program; it does nothing");
        return Err(CallOutcome::OtherLibrary);
    }
    if !is_initialized() {
        return Err(CallOutcome::Outside);
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
        counts::unusable(&error.to_string());
        return Err(CallOutcome::Unusable);
    }
    let Some(topology) = read.config.topology.as_deref() else { return Err(CallOutcome::NoTopology) };
    if read.config.algorithm == Algorithm::Mpi {
        return Err(CallOutcome::NoTopology);
    }
    // Files may differ between ranks, so that only an agreement can refuse them; a specification does not.
    // What is guessed is known when ranks have told each other their processors' names.
    if !is_auto(topology)
        && !networks::reads_files(topology)
        && let Err(error) = networks::network(topology, read.config.max_hosts)
    {
        warn(&format!("{error}; all calls go to plain MPI"));
        counts::unusable(&error);
        return Err(CallOutcome::Unusable);
    }
    let taken = taken(&read.config.preload);
    let (config, instead) = communicators::without_highs(read.config);
    if let Some(instead) = instead {
        warn(instead);
    }
    communicators::open(config).map_err(|error| {
        logger::warn_once(&format!("{error}; all calls go to plain MPI"));
        CallOutcome::Failed
    })?;
    Ok(taken)
}

/// The functions that are taken over, as bits.
fn taken(preload: &Preload) -> usize {
    let &Preload { alltoallv, alltoall, ialltoallv, neighbor_alltoallv, neighbor_alltoall, ineighbor_alltoallv } =
        preload;
    let functions = [
        (alltoallv, Function::Alltoallv),
        (alltoallv, Function::AlltoallvInit),
        (alltoall, Function::Alltoall),
        (ialltoallv, Function::Ialltoallv),
        (neighbor_alltoallv, Function::NeighborAlltoallv),
        (neighbor_alltoallv, Function::NeighborAlltoallvInit),
        (neighbor_alltoall, Function::NeighborAlltoall),
        (ineighbor_alltoallv, Function::IneighborAlltoallv),
    ];
    functions.into_iter().fold(0, |bits, (on, function)| bits | usize::from(on) << function as usize)
}

/// Whether there is nothing in the arguments that MPI refuses at once, before it speaks to other ranks.
///
/// # Safety
/// As [`super::blocking`].
unsafe fn is_valid(call: &Call, known: &KnownComm) -> bool {
    let in_place = in_place();
    // How many elements the arrays of both sides have, and whether MPI looks at what is sent and what is received.
    let (lengths, looks) = match call.blocks.among_neighbours() {
        Some(_) => {
            let Some(neighbours) = known.neighbours(call.comm) else { return false };
            (neighbours.blocks(), neighbours.blocks().map(|blocks| blocks > 0))
        }
        None => ([known.ranks; 2], [call.send != in_place, true]),
    };
    let is_good = |side: usize, (counts, displacements): (*const c_int, *const c_int)| {
        !looks[side]
            || (!counts.is_null()
                && !displacements.is_null()
                // SAFETY: an array of as many ints as there are blocks.
                && unsafe { std::slice::from_raw_parts(counts, lengths[side]) }.iter().fold(0, |a, b| a | b) >= 0)
    };
    let counted = match call.blocks {
        Blocks::Each { send, receive } | Blocks::EachNeighbour { send, receive } => {
            is_good(1, receive) && is_good(0, send)
        }
        Blocks::Same { send, receive } | Blocks::SameForNeighbours { send, receive } => {
            (!looks[1] || receive >= 0) && (!looks[0] || send >= 0)
        }
    };
    let into_place = call.receive.cast_const() == in_place;
    let refused = match call.blocks.among_neighbours() {
        // It has no meaning there.
        Some(_) => into_place || call.send == in_place,
        // MPICH refuses to receive into MPI_IN_PLACE only if there is something to receive.
        None => Library::CURRENT == Library::OpenMpi && into_place,
    };
    let types = [(looks[0], call.send_type), (looks[1], call.receive_type)];
    counted
        && !refused
        // SAFETY: passed on.
        && types.iter().zip(&known.named).all(|(&(used, t), seen)| !used || unsafe { is_good_type(t, seen, known) })
}

/// # Safety
/// As [`super::blocking`].
unsafe fn is_good_type(datatype: ffi::MPI_Datatype, seen: &AtomicUsize, known: &KnownComm) -> bool {
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
/// As [`super::blocking`], with valid arguments.
unsafe fn bytes(call: &Call, known: &KnownComm) -> u64 {
    let Some(fast_path) = known.fast_path() else { return 0 };
    // SAFETY: by this function's contract.
    unsafe {
        match &call.blocks {
            Blocks::Each { send, receive } => {
                let receive = (receive.0, call.receive_type);
                let send = if call.send == in_place() { receive } else { (send.0, call.send_type) };
                fast_path.bytes([send, receive]).unwrap_or(0)
            }
            Blocks::Same { receive, .. } => fast_path.bytes_of_each(*receive, call.receive_type),
            Blocks::EachNeighbour { .. } | Blocks::SameForNeighbours { .. } => {
                let sides = call.blocks.among_neighbours().zip(known.neighbours(call.comm));
                let [sent, received] = sides.map_or([0; 2], |(sides, neighbours)| neighbours.elements(sides));
                let sent = fast_path.bytes_of(sent, call.send_type);
                sent.max(fast_path.bytes_of(received, call.receive_type))
            }
        }
    }
}

/// # Safety
/// As [`super::blocking`], with valid arguments.
unsafe fn signature(call: &Call, known: &KnownComm) -> u64 {
    // SAFETY: by this function's contract.
    unsafe { lists_of(call, known).map_or(0, |lists| arguments_signature(&lists.arguments(call), known.ranks)) }
}

/// A call that the communicator's ranks agree on.
///
/// # Safety
/// As [`super::blocking`], with valid arguments.
unsafe fn serve(call: &Call, known: &KnownComm, next: &dyn Fn() -> c_int) -> c_int {
    let code = Cell::new(None);
    let by_mpi = || {
        let returned = next();
        code.set(Some(returned));
        returned
    };
    let mut only_mpi = false;
    // SAFETY: passed on.
    let result = catch_unwind(AssertUnwindSafe(|| unsafe { agree(call, known, &by_mpi, &mut only_mpi) }));
    let (reason, returned) = conclude(result, code.get(), only_mpi, next, |error| fail(call, error));
    count(call.function, reason);
    returned
}

/// Which way a call went that ranks agreed on, and MPI's code for it: `code` is that of plain MPI if the call went there.
pub(super) fn conclude(
    result: std::thread::Result<Result<Decision, Error>>,
    code: Option<c_int>,
    only_mpi: bool,
    next: &dyn Fn() -> c_int,
    fail: impl FnOnce(Option<Error>) -> c_int,
) -> (CallOutcome, c_int) {
    match (result, code) {
        (Ok(Ok(_)), Some(code)) if only_mpi => (CallOutcome::OnlyMpi, code),
        (Ok(Ok(Decision::Multipath { .. })), Some(code)) => (CallOutcome::Measured, code),
        (Ok(_), Some(code)) => (CallOutcome::Decided, code),
        (Ok(Ok(Decision::Combined { .. })), None) => (CallOutcome::Combined, ffi::MPI_SUCCESS as c_int),
        (Ok(Ok(_)), None) => (CallOutcome::Planned, ffi::MPI_SUCCESS as c_int),
        // All ranks have found together that it cannot be served: MPI says what it thinks of it.
        (Ok(Err(error)), None) if !matches!(error, Error::Transport(_)) => (CallOutcome::Disagreeing, next()),
        (failed, _) => (CallOutcome::Failed, fail(failed.map(Result::err).ok().flatten())),
    }
}

/// The call's blocks, or why only MPI can serve it.
///
/// # Safety
/// As [`super::blocking`], with valid arguments; `staged` must live as long as what is returned.
pub(super) unsafe fn localize(
    call: &Call,
    arguments: Option<&Arguments>,
    known: &KnownComm,
    staged: &mut Vec<u8>,
) -> Local {
    let is_among_neighbours = call.blocks.among_neighbours().is_some();
    let read = match arguments {
        // A rank without neighbours has no buffers.
        // SAFETY: by this function's contract.
        Some(arguments) if is_among_neighbours && unsafe { is_one_way(arguments, known.ranks) } => {
            // SAFETY: as above.
            unsafe { read(arguments, known.ranks, known.budget(), staged) }
        }
        // MPI looks for equal buffers itself, or goes on as the program means it to.
        _ if call.send == call.receive.cast_const() => Ok(Local::OnlyMpi("both buffers are the same".into())),
        _ if call.receive.cast_const() == in_place() => {
            Ok(Local::OnlyMpi("MPI_IN_PLACE is to be received into".into()))
        }
        // SAFETY: by this function's contract.
        Some(arguments) => unsafe { read(arguments, known.ranks, known.budget(), staged) },
        None => Ok(Local::OnlyMpi(BEYOND.into())),
    };
    // Whatever is wrong, MPI is to say it.
    read.unwrap_or_else(|error| Local::OnlyMpi(error.to_string()))
}

/// Whether nothing is sent, or nothing received.
///
/// # Safety
/// Arrays of `ranks` counts.
unsafe fn is_one_way(arguments: &Arguments, ranks: usize) -> bool {
    let lists = [arguments.send_counts, arguments.receive_counts];
    // SAFETY: by this function's contract.
    lists.iter().any(|&counts| unsafe { std::slice::from_raw_parts(counts, ranks) }.iter().all(|&count| count == 0))
}

/// Agrees, and has the call served; what was decided for its demands.
///
/// # Safety
/// As [`super::blocking`], with valid arguments.
unsafe fn agree(
    call: &Call,
    known: &KnownComm,
    by_mpi: &dyn Fn() -> c_int,
    only_mpi: &mut bool,
) -> Result<Decision, Error> {
    let state = known.lock();
    let CommState::Serving(session) = &*state else { return Err(Error::NotInitialized("the call")) };
    let mut staged = Vec::new();
    // SAFETY: by this function's contract.
    let lists = unsafe { lists_of(call, known) };
    let arguments = lists.as_ref().map(|l| l.arguments(call));
    // SAFETY: by this function's contract; `staged` lives until the exchange is over.
    let local = unsafe { localize(call, arguments.as_ref(), known, &mut staged) };
    *only_mpi = matches!(local, Local::OnlyMpi(_));
    // SAFETY: as above.
    let signature = arguments.map_or(0, |a| unsafe { arguments_signature(&a, known.ranks) });
    // SAFETY: as above.
    unsafe { session.agreed(Ok(local), Some(ByMpi::Caller(by_mpi, arguments)), signature)? };
    Ok(session.planned())
}

/// What a failing MPI function does: the program's error handler is called.
pub(super) fn fail(call: &Call, error: Option<Error>) -> c_int {
    let function = call.function.name();
    match error {
        Some(error) => log::error!("{function}: {error}"),
        None => log::error!("{function}: internal error in OPTIQ"),
    }
    let code = ffi::MPI_ERR_OTHER as c_int;
    // SAFETY: a communicator that MPI has accepted.
    unsafe { ffi::PMPI_Comm_call_errhandler(call.comm, code) };
    code
}
