//! `MPI_Ialltoallv` and `MPI_Alltoallv_init`, carried by streams (module `streams`).
//!
//! # `MPI_Ialltoallv`
//!
//! The call is local. So ranks cannot agree in it on anything but its place among the collectives of the program's
//! communicator: the first one on a communicator starts a small exchange of its own there, without waiting for it, and the
//! stream makes its private communicator with what comes out: of the group alone, on a duplicate of `MPI_COMM_WORLD` that was made in
//! `MPI_Init_thread`, so that the program's communicator is not touched beside the program's own collectives, and may be
//! freed. Where it is not to be had, the stream does with point-to-point messages on the duplicate.
//!
//! # `MPI_Alltoallv_init`
//!
//! Ranks may start persistent exchanges in different orders (MPI 4.0, section 6.13). So each has a stream of its own, which the
//! next one takes over when it is freed. The call may wait for others: all agree in it, and what neither planned paths nor combined messages
//! serve is MPI's from the start.

use super::call::Call;
use super::communicators::{KnownComm, all_min};
use super::counts::{CallOutcome, Function, count};
use super::neighbours::Neighbours;
use super::serve::{conclude, conclude_unagreed, fail, fits, lists_of, localize, usable};
use super::started::Slot;
use super::state::{SERVING, STATE};
use super::streams::{self, Completion, Exchange, SendPtr, Stream, StreamTask};
use crate::c_api::arguments::arguments_signature;
use crate::config::Config;
use crate::error::Error;
use crate::session::{ByMpi, FallbackArgs, Local, Session, sides_of_each};
use optiq_transport::Backoff;
use optiq_transport::mpi::{Communicator, check, ffi, in_place, quietly};
use parking_lot::Mutex;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};

/// Persistent exchanges of a communicator at a time.
const SLOTS: usize = 8;

const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;

/// A duplicate of `MPI_COMM_WORLD`.
struct Base {
    comm: Communicator,
    proposals: AtomicI64,
}
// SAFETY: an MPI handle and numbers.
unsafe impl Send for Base {}
// SAFETY: as above; what changes is atomic.
unsafe impl Sync for Base {}

static BASE: Mutex<Option<Arc<Base>>> = Mutex::new(None);

/// A persistent request of the program.
struct Persistent {
    request: ffi::MPI_Request,
    completion: Completion,
    slot: Arc<Slot>,
}
// SAFETY: an opaque value; only MPI interprets it.
unsafe impl Send for Persistent {}

static PERSISTENT: Mutex<Vec<Persistent>> = Mutex::new(Vec::new());
static PERSISTENT_COUNT: AtomicUsize = AtomicUsize::new(0);

fn has_threads() -> bool {
    let mut level = 0;
    // SAFETY: an out-parameter; MPI is initialised.
    unsafe { ffi::PMPI_Query_thread(&mut level) == SUCCESS && level >= ffi::MPI_THREAD_MULTIPLE as c_int }
}

/// MPI was just initialised, on all ranks: makes what `MPI_Ialltoallv` needs, if it is to be served.
pub(super) fn begun() {
    let started = 1 << Function::Ialltoallv as usize | 1 << Function::IneighborAlltoallv as usize;
    if STATE.now.load(Relaxed) != SERVING || STATE.taken.load(Relaxed) & started == 0 {
        return;
    }
    // SAFETY: MPI is initialised, and all ranks are here.
    let comm = unsafe { Communicator::beside(ffi::RSMPI_COMM_WORLD) };
    let Ok(comm) = comm else { return };
    let all = |yes: bool| {
        let mut all = [i64::from(yes)];
        comm.all_min(&mut all).is_ok() && all[0] == 1
    };
    // SAFETY: a communicator of ours; what is only on some ranks is used on none.
    if comm.size() > 1 && all(has_threads()) && all(unsafe { streams::complete_on(comm.raw()) }.is_ok()) {
        *BASE.lock() = Some(Arc::new(Base { comm, proposals: AtomicI64::new(0) }));
    }
}

/// MPI is about to be finalised.
pub(super) fn ending() {
    PERSISTENT.lock().clear();
    streams::end();
    let base = BASE.lock().take();
    drop(base);
}

/// `MPI_Ialltoallv` and `MPI_Ineighbor_alltoallv`: what the program is to be given, with its request in `place`.
///
/// # Safety
/// As for the MPI function.
pub(super) unsafe fn ialltoallv(call: &Call, place: &mut dyn FnMut(ffi::MPI_Request)) -> Result<c_int, CallOutcome> {
    // SAFETY: passed on.
    let known = unsafe { usable(call)? };
    // The call waits for no other rank. So who has neighbours that others must tell of is served only after a call that could ask.
    if call.blocks.among_neighbours().is_some() && !known.neighbours(call.comm).is_some_and(Neighbours::are_fit) {
        return Err(CallOutcome::Neighbours);
    }
    let Some(base) = BASE.lock().clone() else { return Err(CallOutcome::NoThreads) };
    let mut stream = known.started.stream.lock();
    let stream = match &*stream {
        Some(stream) => Arc::clone(stream),
        None => match found(call.comm, known.ranks, base, known.config()) {
            Ok(made) => Arc::clone(stream.insert(made)),
            Err(error) => return Ok(fail(call, Some(error))),
        },
    };
    // SAFETY: by this function's contract.
    let started = unsafe { start(call, known, &stream, place) };
    Ok(started.map_or_else(|error| fail(call, Some(error)), |()| SUCCESS))
}

/// # Safety
/// As for the MPI function.
unsafe fn start(
    call: &Call,
    known: &KnownComm,
    stream: &Stream,
    place: &mut dyn FnMut(ffi::MPI_Request),
) -> Result<(), Error> {
    // SAFETY: by this function's contract.
    let lists = unsafe { lists_of(call, known) }.ok_or(Error::NotInitialized("the call"))?;
    let arguments = lists.arguments(call);
    let mut staged = Vec::new();
    // SAFETY: by this function's contract; what is staged goes along with the exchange.
    let (local, kept, signature) = unsafe {
        let local = localize(call, Some(&arguments), known, &mut staged);
        (local, FallbackArgs::new(&arguments, known.ranks)?, arguments_signature(&arguments, known.ranks))
    };
    let completion = Completion::new(call.comm)?;
    let request = completion.request(false)?;
    place(request);
    let exchange = Exchange { function: call.function, local, _staged: staged, kept, signature, completion };
    if stream.add(StreamTask::Exchange(Box::new(SendPtr::new(exchange)))) {
        Ok(())
    } else {
        Err(Error::NotInitialized("it"))
    }
}

/// What a stream begins with.
struct Founding {
    base: Arc<Base>,
    group: ffi::MPI_Group,
    agreement: ffi::MPI_Request,
    offers: Offers,
    config: Config,
}

/// Two words from every rank to every rank: whether it has room for a session, and a tag that no other rank proposes. In one
/// round, by `MPI_Ialltoallv`: the program may free the communicator at once, and Open MPI 4.1 does not survive that in
/// collectives of several rounds.
struct Offers {
    send: [i64; 2],
    received: Vec<i64>,
    counts: Vec<c_int>,
    zeros: Vec<c_int>,
    starts: Vec<c_int>,
}

impl Offers {
    fn new(send: [i64; 2], ranks: usize) -> Self {
        let starts = (0..ranks as c_int).map(|r| 2 * r).collect();
        Self { send, received: vec![0; 2 * ranks], counts: vec![2; ranks], zeros: vec![0; ranks], starts }
    }

    /// The smallest of both words.
    fn agreed(&self) -> [i64; 2] {
        self.received.chunks_exact(2).fold(self.send, |[a, b], word| [a.min(word[0]), b.min(word[1])])
    }
}

/// Begins a stream on the program's communicator, without waiting for other ranks.
fn found(comm: ffi::MPI_Comm, ranks_here: usize, base: Arc<Base>, config: &Config) -> Result<Arc<Stream>, Error> {
    // Unlike any other rank's.
    let (ranks, me) = (i64::from(base.comm.size()), i64::from(base.comm.rank().0));
    let tag = (base.proposals.fetch_add(1, Relaxed) * ranks + me) % (i64::from(base.comm.largest_tag()) + 1);
    let mut config = config.clone();
    // What cannot be used goes to plain MPI: the exchange was started.
    config.strict = false;
    // SAFETY: constants, overwritten.
    let (agreement, group) = unsafe { (ffi::RSMPI_REQUEST_NULL, ffi::RSMPI_GROUP_NULL) };
    let offers = Offers::new([i64::from(streams::has_room()), tag], ranks_here);
    // What MPI reads and writes meanwhile must stay where it is.
    let mut founding = Box::new(Founding { base, group, agreement, offers, config });
    // SAFETY: a communicator that MPI has accepted; buffers and arrays stay until the exchange is complete.
    unsafe {
        check(ffi::PMPI_Comm_group(comm, &mut founding.group), "MPI_Comm_group")?;
        let Founding { agreement, offers: o, .. } = &mut *founding;
        let (send, receive, kind) = (o.send.as_ptr().cast(), o.received.as_mut_ptr().cast(), ffi::RSMPI_INT64_T);
        let (counts, zeros, starts) = (o.counts.as_ptr(), o.zeros.as_ptr(), o.starts.as_ptr());
        let code = quietly(comm, || {
            ffi::PMPI_Ialltoallv(send, counts, zeros, kind, receive, counts, starts, kind, comm, agreement)
        })?;
        check(code, "MPI_Ialltoallv")?;
    }
    let founding = SendPtr::new(founding);
    Stream::spawn(move |tasks| carry(founding.take(), tasks)).map_err(|e| Error::Setup(format!("no thread: {e}")))
}

/// The thread of a communicator's `MPI_Ialltoallv` and `MPI_Ineighbor_alltoallv`.
fn carry(mut founding: Box<Founding>, tasks: Receiver<StreamTask>) {
    let mut backoff = Backoff::default();
    let mut done = 0;
    while done == 0 {
        // SAFETY: a request of ours; the status is written by MPI and not read.
        let code = unsafe {
            let mut status = std::mem::zeroed();
            ffi::PMPI_Test(&mut founding.agreement, &mut done, &mut status)
        };
        if code != SUCCESS {
            break;
        }
        if done == 0 {
            backoff.idle();
        }
    }
    let Founding { base, mut group, offers, config, .. } = *founding;
    let [room, tag] = offers.agreed();
    let tag = tag as c_int;
    // SAFETY: a group of ours.
    let private = (room == 1).then(|| unsafe { base.comm.of_group(group, tag) }.ok()).flatten().map(Rc::new);
    let session = private.and_then(|private| {
        let made = Session::over(Rc::clone(&private), config);
        let mut all = [i64::from(made.is_ok())];
        let agreed = private.all_min(&mut all).is_ok() && all[0] == 1;
        made.ok().filter(|_| agreed)
    });
    match &session {
        Some(session) => streams::in_order(tasks, |exchange| serve(session, exchange)),
        None => {
            let direct = Direct::new(&base.comm, group, tag);
            streams::in_order(tasks, |exchange| {
                count(exchange.function, CallOutcome::Refused);
                // SAFETY: the program keeps its buffers until the request is complete.
                let done = unsafe { direct.exchange(&exchange.kept) };
                done.inspect_err(|e| log::error!("{}: {e}", exchange.function.name())).is_ok()
            });
        }
    }
    // SAFETY: ours.
    unsafe { ffi::PMPI_Group_free(&mut group) };
}

fn serve(session: &Session, exchange: &mut Exchange) -> bool {
    let code = Cell::new(None);
    let arguments = exchange.kept.arguments();
    let comm = session.communicator().raw();
    // SAFETY: what the program has called with; the private communicator has the same ranks.
    let plain = || unsafe { arguments.call(comm) };
    let by_mpi = || {
        let returned = plain();
        code.set(Some(returned));
        returned
    };
    let function = exchange.function;
    let failed = |error: Option<Error>| {
        let why = error.map_or("internal error in OPTIQ".into(), |e| e.to_string());
        log::error!("{}: {why}", function.name());
        ffi::MPI_ERR_OTHER as c_int
    };
    let fast_path = session.fast_path();
    // SAFETY: arrays of as many ints as there are ranks, and datatypes that MPI has accepted.
    let bytes = unsafe { arguments.bytes(fast_path) };
    if fast_path.skips(bytes.unwrap_or(0), || session.is_known_fallback(exchange.signature)) {
        // SAFETY: the program keeps its buffers until the request is complete.
        let sides = || unsafe { sides_of_each(&arguments, session.size()) };
        let (reason, code) = if fast_path.is_watched() {
            // SAFETY: as above.
            let unagreed = || unsafe { session.unagreed_call(sides, by_mpi) };
            conclude_unagreed(catch_unwind(AssertUnwindSafe(unagreed)), code.get(), failed)
        } else {
            (CallOutcome::NoAgreement, plain())
        };
        count(function, reason);
        return code == SUCCESS;
    }
    let nothing = Local::OnlyMpi(String::new());
    let local = std::mem::replace(&mut exchange.local, nothing);
    let only_mpi = matches!(local, Local::OnlyMpi(_));
    let caller = ByMpi::Caller(&by_mpi, Some(arguments));
    // SAFETY: the program keeps its buffers until the request is complete; what is staged lives as long as the exchange.
    let agree = || unsafe { session.agreed(Ok(local), Some(caller), exchange.signature) };
    let result = catch_unwind(AssertUnwindSafe(agree)).map(|r| r.map(|()| session.planned()));
    let (reason, code) = conclude(result, code.get(), only_mpi, &plain, failed);
    // The session was made before it was known whether it can plan.
    count(function, if session.network().is_none() { CallOutcome::Unusable } else { reason });
    code == SUCCESS
}

/// Exchanges by plain messages, for a stream that has no communicator: in order, with a tag that no other stream has.
struct Direct<'a> {
    comm: &'a Communicator,
    /// The ranks on `comm`.
    ranks: Vec<c_int>,
    me: usize,
    tag: c_int,
}

impl<'a> Direct<'a> {
    fn new(comm: &'a Communicator, group: ffi::MPI_Group, tag: c_int) -> Self {
        let (mut size, mut me) = (0, 0);
        // SAFETY: groups of ours; arrays of `size` ints.
        let ranks = unsafe {
            let mut all = ffi::RSMPI_GROUP_NULL;
            ffi::PMPI_Group_size(group, &mut size);
            ffi::PMPI_Group_rank(group, &mut me);
            let here: Vec<c_int> = (0..size).collect();
            let mut ranks = vec![0; here.len()];
            ffi::PMPI_Comm_group(comm.raw(), &mut all);
            ffi::PMPI_Group_translate_ranks(group, size, here.as_ptr(), all, ranks.as_mut_ptr());
            ffi::PMPI_Group_free(&mut all);
            ranks
        };
        Self { comm, ranks, me: me.max(0) as usize, tag }
    }

    /// # Safety
    /// As for `MPI_Alltoallv`.
    unsafe fn exchange(&self, kept: &FallbackArgs) -> Result<(), Error> {
        let a = kept.arguments();
        let (comm, tag, n) = (self.comm.raw(), self.tag, self.ranks.len());
        // SAFETY: arrays of as many ints as there are ranks, datatypes that MPI has accepted, and the program's buffers.
        unsafe {
            let list = |array: *const c_int| std::slice::from_raw_parts(array, n);
            let extent = |datatype| {
                let (mut lower, mut extent) = (0, 0);
                check(ffi::PMPI_Type_get_extent(datatype, &mut lower, &mut extent), "MPI_Type_get_extent")?;
                Ok::<ffi::MPI_Aint, Error>(extent)
            };
            let at = |base: *const c_void, displacement: c_int, extent: ffi::MPI_Aint| {
                #[allow(
                    clippy::useless_conversion,
                    clippy::unnecessary_fallible_conversions,
                    reason = "MPI_Aint is isize in one MPI library and i64 in another"
                )]
                let bytes = isize::try_from(extent).unwrap_or_default() * displacement as isize;
                base.cast::<u8>().wrapping_offset(bytes).cast::<c_void>().cast_mut()
            };
            let (counts, starts, wide) =
                (list(a.receive_counts), list(a.receive_displacements), extent(a.receive_type)?);
            let into = |r: usize| at(a.receive.cast_const(), starts[r], wide);
            if a.send == in_place() {
                // Pairs in the order of the lower rank, then of the higher one: ranks do not wait in a circle.
                for pair in (0..n).flat_map(|i| (i + 1..n).map(move |j| [i, j])).filter(|p| p.contains(&self.me)) {
                    let other = if pair[0] == self.me { pair[1] } else { pair[0] };
                    let (rank, kind) = (self.ranks[other], a.receive_type);
                    let mut status = std::mem::zeroed();
                    let code = ffi::PMPI_Sendrecv_replace(
                        into(other),
                        counts[other],
                        kind,
                        rank,
                        tag,
                        rank,
                        tag,
                        comm,
                        &mut status,
                    );
                    check(code, "MPI_Sendrecv_replace")?;
                }
                return Ok(());
            }
            let mut requests = vec![ffi::RSMPI_REQUEST_NULL; 2 * n];
            let (receives, sends) = requests.split_at_mut(n);
            let (sent, from, sent_wide) = (list(a.send_counts), list(a.send_displacements), extent(a.send_type)?);
            for (r, request) in receives.iter_mut().enumerate() {
                let code = ffi::PMPI_Irecv(into(r), counts[r], a.receive_type, self.ranks[r], tag, comm, request);
                check(code, "MPI_Irecv")?;
            }
            for (r, request) in sends.iter_mut().enumerate() {
                let block = at(a.send, from[r], sent_wide);
                let code = ffi::PMPI_Isend(block, sent[r], a.send_type, self.ranks[r], tag, comm, request);
                check(code, "MPI_Isend")?;
            }
            let mut statuses: Vec<ffi::MPI_Status> = vec![std::mem::zeroed(); 2 * n];
            let code = ffi::PMPI_Waitall(2 * n as c_int, requests.as_mut_ptr(), statuses.as_mut_ptr());
            Ok(check(code, "MPI_Waitall")?)
        }
    }
}

/// `MPI_Alltoallv_init` and `MPI_Neighbor_alltoallv_init`, as [`ialltoallv`]; collective.
///
/// # Safety
/// As for the MPI function.
pub(super) unsafe fn alltoallv_init(
    call: &Call,
    place: &mut dyn FnMut(ffi::MPI_Request),
) -> Result<c_int, CallOutcome> {
    // SAFETY: passed on.
    let known = unsafe { usable(call)? };
    fits(call, known)?;
    let mut slots = known.started.slots.lock();
    let settings = known.config().agreed_settings().max(i64::MIN + 1);
    let mut words = [0; 5 + SLOTS];
    words[..5].copy_from_slice(&[
        i64::from(has_threads()),
        i64::from(streams::has_room() && slots.len() < SLOTS),
        settings,
        -settings,
        i64::from(streams::can_complete()),
    ]);
    for (word, slot) in words[5..].iter_mut().zip(&*slots) {
        *word = i64::from(!slot.taken.load(Relaxed));
    }
    let words = all_min(call.comm, words).ok_or(CallOutcome::Failed)?;
    let [threads, room, settings, minus_settings, completing] = [words[0], words[1], words[2], words[3], words[4]];
    if threads != 1 {
        return Err(CallOutcome::NoThreads);
    }
    if settings != -minus_settings {
        return Err(CallOutcome::Unusable);
    }
    if completing != 1 {
        // SAFETY: a communicator that MPI has accepted, of several ranks.
        let made = unsafe { streams::complete_on(call.comm) }.is_ok();
        if all_min(call.comm, [i64::from(made)]) != Some([1]) {
            return Err(CallOutcome::Refused);
        }
    }
    let slot = match words[5..].iter().position(|&free| free == 1) {
        Some(at) => Arc::clone(&slots[at]),
        None if room == 1 => {
            let made = Arc::new(slot(call, known.config())?);
            slots.push(Arc::clone(&made));
            made
        }
        None => return Err(CallOutcome::Refused),
    };
    drop(slots);
    // SAFETY: by this function's contract.
    let lists = unsafe { lists_of(call, known) }.ok_or(CallOutcome::Failed)?;
    let arguments = lists.arguments(call);
    // SAFETY: by this function's contract. What is sent in place changes between starts: MPI's business.
    let (local, kept) = unsafe {
        let local = match call.send == in_place() {
            true => Local::OnlyMpi("MPI_IN_PLACE in an exchange that is started".into()),
            false => localize(call, Some(&arguments), known, &mut Vec::new()),
        };
        (local, FallbackArgs::new(&arguments, known.ranks).map_err(|_| CallOutcome::Failed)?)
    };
    let only_mpi = matches!(local, Local::OnlyMpi(_));
    let (sender, answer) = channel();
    slot.stream.add(StreamTask::Plan(Box::new(SendPtr::new((call.function, local, kept))), sender));
    let carried = match answer.recv() {
        Ok(Ok(Some(carried))) => carried,
        Ok(Ok(None)) if only_mpi => return Err(CallOutcome::OnlyMpi),
        Ok(Ok(None)) => return Err(CallOutcome::Persistent),
        Ok(Err(())) => return Err(CallOutcome::Disagreeing),
        Err(_) => return Err(CallOutcome::Failed),
    };
    let made = Completion::new(call.comm).and_then(|completion| Ok((completion.request(true)?, completion)));
    let (request, completion) = match made {
        Ok(made) => made,
        Err(error) => return Ok(fail(call, Some(error))),
    };
    slot.taken.store(true, Relaxed);
    let mut all = PERSISTENT.lock();
    all.push(Persistent { request, completion, slot });
    PERSISTENT_COUNT.store(all.len(), Relaxed);
    drop(all);
    place(request);
    count(call.function, carried);
    Ok(SUCCESS)
}

/// A stream with a session, on all ranks or on none; collective.
fn slot(call: &Call, config: &Config) -> Result<Slot, CallOutcome> {
    let comm = call.comm;
    // SAFETY: an intra-communicator that MPI has accepted.
    let private = unsafe { Communicator::beside(comm) }.ok();
    if all_min(comm, [i64::from(private.is_some())]) != Some([1]) {
        return Err(CallOutcome::Refused);
    }
    let (sender, answer) = channel();
    let handed = SendPtr::new((private, config.clone()));
    let stream = Stream::spawn(move |tasks| {
        let (private, config) = handed.take();
        let session = private.map(|private| Session::on(private, config));
        let session = match session {
            Some(Ok(Ok(session))) => session,
            _ => return,
        };
        // The one who asks waits for the answer.
        let _ = sender.send(());
        streams::persistent(&session, tasks);
    });
    // Without a thread this rank cannot take part in making the session: a machine at its limits, which ends the program.
    let stream = stream.inspect_err(|e| {
        log::error!("{}: no thread: {e}", call.function.name());
        // SAFETY: a communicator that MPI has accepted.
        unsafe { ffi::PMPI_Abort(comm, 1) };
    });
    let made = stream.ok().filter(|_| answer.recv().is_ok());
    match (all_min(comm, [i64::from(made.is_some())]), made) {
        (Some([1]), Some(stream)) => Ok(Slot { stream, taken: AtomicBool::new(false) }),
        _ => Err(CallOutcome::Unusable),
    }
}

/// Whether there may be persistent requests of ours.
#[inline]
pub(super) fn has_persistent() -> bool {
    PERSISTENT_COUNT.load(Relaxed) != 0
}

/// The program has started a request.
pub(super) fn started(request: ffi::MPI_Request) {
    let found = {
        let all = PERSISTENT.lock();
        all.iter().find(|p| p.request == request).map(|p| (p.completion.clone(), Arc::clone(&p.slot)))
    };
    if let Some((completion, slot)) = found {
        slot.stream.add(StreamTask::Start(completion));
    }
}

/// The program frees a request.
pub(super) fn freed(request: ffi::MPI_Request) {
    let mut all = PERSISTENT.lock();
    let found = all.iter().position(|p| p.request == request).map(|at| all.swap_remove(at));
    PERSISTENT_COUNT.store(all.len(), Relaxed);
    drop(all);
    if let Some(persistent) = found {
        persistent.slot.taken.store(false, Relaxed);
    }
}
