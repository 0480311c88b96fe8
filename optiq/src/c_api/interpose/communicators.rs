//! What is known of each communicator of the program, attached to it as an MPI attribute.
//!
//! A communicator begins as one whose calls are passed on and counted, which is the same on all ranks. When there were
//! enough of them, its ranks agree, by reductions on the program's own communicator, whether all of them can have a
//! session and whether it pays, make it on a private communicator, and agree again. So a duplicate that cannot be had, or a
//! configuration that differs, only means that calls are passed on.
//!
//! Where the network is to be guessed and all ranks of `MPI_COMM_WORLD` were found on one host, no other communicator needs
//! to ask (decision 087). All ranks know it from the same call on, because calls that wait for each other come in one order on
//! all ranks, unless several threads make them.
//!
//! The delete callback of the attribute ends the session when the program frees the communicator. MPI may call it late
//! (MPICH: when the last pending operation has ended), so that what would wait for other ranks there, giving back memory that
//! they share, is left to `MPI_Finalize`, and done in an order that is the same on all ranks.

use super::counts::{self, CallOutcome};
use super::neighbours::Neighbours;
use super::started::Started;
use super::{state, streams};
use crate::c_api::sessions::{copy_nothing, info_keys, take_info};
use crate::config::{Config, PlannerChoice, Settings};
use crate::constants::{EARLY_CALLS_PASSED, SETUP_PART, SETUP_REDUCTIONS};
use crate::error::Error;
use crate::logger;
use crate::session::{FastPath, Session};
use optiq_lower::choices::Algorithm;
use optiq_lower::placement::PlacementRule;
use optiq_net::spec::is_auto;
use optiq_solver::planner::PlannerName;
use optiq_transport::EAGER;
use optiq_transport::mpi::{Communicator, Library, check, ffi, in_place, is_initialized, quietly};
use parking_lot::{Mutex, MutexGuard};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Sessions at a time in one process: communicators are a resource that programs need themselves (MPICH has about 2,000).
const MOST_SESSIONS: usize = 64;

/// Where a communicator stands.
pub(super) enum CommState {
    /// All its calls are passed on.
    Plain,
    /// How many calls were passed on.
    Waiting(u32),
    Serving(Box<Session>),
}

/// What is known of a communicator.
pub(super) struct KnownComm {
    state: Mutex<CommState>,
    /// 0, or 1 + the [`CallOutcome`] of all calls: readable without the lock.
    plain: AtomicUsize,
    fast_path: OnceLock<Arc<FastPath>>,
    pub(super) ranks: usize,
    /// Calls that are passed on first: the same number on all ranks, whatever info keys a rank has.
    early: u32,
    /// What this rank spent in them, in nanoseconds.
    early_nanos: AtomicU64,
    /// The datatypes that were seen last and are MPI's own, so that they need no second look.
    pub(super) named: [AtomicUsize; 2],
    config: Arc<Config>,
    quiet: Arc<Quiet>,
    /// Its neighbours, if it has a topology: read at the first call among them.
    neighbours: OnceLock<Option<Neighbours>>,
    /// What goes on while the program does something else.
    pub(super) started: Started,
}

// SAFETY: a session is reached only under its mutex; what it holds has no thread affinity, and calls on one communicator
// come one after the other (MPI demands it), from threads that the program's thread level allows.
unsafe impl Send for KnownComm {}
// SAFETY: as above.
unsafe impl Sync for KnownComm {}

/// A private communicator of this process alone, whose errors are returned.
pub(super) struct Quiet(pub(super) Communicator);
// SAFETY: an MPI handle and numbers.
unsafe impl Send for Quiet {}
// SAFETY: as above.
unsafe impl Sync for Quiet {}

/// A session with its place in the order in which all ranks give sessions up.
struct Retired {
    order: i64,
    session: Box<Session>,
}
// SAFETY: as for `KnownComm`.
unsafe impl Send for Retired {}

#[derive(Clone, Copy)]
struct Handle(ffi::MPI_Comm);
// SAFETY: an opaque value; only MPI interprets it.
unsafe impl Send for Handle {}

/// What exists from the first call that may be served until `MPI_Finalize`.
struct Open {
    config: Arc<Config>,
    /// Whether the network is to be guessed from the names of processors, and one thread at a time calls MPI.
    guesses: bool,
    /// Whether all ranks of `MPI_COMM_WORLD` guess, and are on one host.
    is_on_one_host: bool,
    quiet: Arc<Quiet>,
    key: c_int,
    finalize_key: c_int,
    world_rank: c_int,
    world_ranks: c_int,
    /// Communicators with something attached, and the order of those that have a session.
    attached: Vec<(Handle, Option<i64>)>,
    retired: Vec<Retired>,
    /// How often ranks began to agree on a session.
    looks: i64,
    /// How many of these agreements go on.
    looking: usize,
}

static OPEN: Mutex<Option<Open>> = Mutex::new(None);

/// Counts what makes looked-up pointers invalid.
static GENERATION: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Copy)]
struct Latest {
    comm: ffi::MPI_Comm,
    known: *const KnownComm,
    generation: u64,
}

thread_local! {
    /// What this thread used last. No destructor: cheap to read.
    static LATEST: Cell<Option<Latest>> = const { Cell::new(None) };
}

/// Begins to look at communicators. Nothing happens if that was begun before.
pub(super) fn open(config: Config) -> Result<(), Error> {
    let mut open = OPEN.lock();
    if open.is_some() {
        return Ok(());
    }
    let (mut key, mut finalize_key, mut world_rank, mut world_ranks, mut level) = (0, 0, 0, 0, 0);
    let nothing = std::ptr::null_mut();
    // SAFETY: MPI is initialised; the callbacks have the signatures that MPI asks for.
    unsafe {
        check(ffi::PMPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut world_rank), "MPI_Comm_rank")?;
        check(ffi::PMPI_Comm_size(ffi::RSMPI_COMM_WORLD, &mut world_ranks), "MPI_Comm_size")?;
        check(ffi::PMPI_Query_thread(&mut level), "MPI_Query_thread")?;
        let quiet = Arc::new(Quiet(Communicator::beside(ffi::RSMPI_COMM_SELF)?));
        let code = ffi::PMPI_Comm_create_keyval(Some(copy_nothing), Some(freed), &mut key, nothing);
        check(code, "MPI_Comm_create_keyval")?;
        let code = ffi::PMPI_Comm_create_keyval(Some(copy_nothing), Some(at_finalize), &mut finalize_key, nothing);
        check(code, "MPI_Comm_create_keyval")?;
        check(ffi::PMPI_Comm_set_attr(ffi::RSMPI_COMM_SELF, finalize_key, nothing), "MPI_Comm_set_attr")?;
        *open = Some(Open {
            guesses: is_guessed(&config) && level != ffi::MPI_THREAD_MULTIPLE as c_int,
            is_on_one_host: false,
            config: Arc::new(config),
            quiet,
            key,
            finalize_key,
            world_rank,
            world_ranks,
            attached: Vec::new(),
            retired: Vec::new(),
            looks: 0,
            looking: 0,
        });
    }
    Ok(())
}

/// What is known of a communicator; if this is the first call on it, what can be told at once. `None` if MPI refuses the
/// handle, or is being finalised.
///
/// # Safety
/// The reference is valid until the communicator is freed, which must not happen during a call on it.
#[inline]
pub(super) unsafe fn known<'a>(comm: ffi::MPI_Comm) -> Option<&'a KnownComm> {
    let generation = GENERATION.load(Ordering::Acquire);
    let latest = LATEST.get().filter(|l| l.comm == comm && l.generation == generation);
    let known = match latest {
        Some(latest) => latest.known,
        None => {
            let known = look_up(comm)?;
            LATEST.set(Some(Latest { comm, known, generation }));
            known
        }
    };
    // SAFETY: the attribute keeps it.
    Some(unsafe { &*known })
}

fn look_up(comm: ffi::MPI_Comm) -> Option<*const KnownComm> {
    let (key, config, quiet) = {
        let open = OPEN.lock();
        let open = open.as_ref()?;
        (open.key, Arc::clone(&open.config), Arc::clone(&open.quiet))
    };
    let mut value: *const KnownComm = std::ptr::null();
    let mut found = 0;
    // SAFETY: out-parameters; a handle that is none is refused by MPI.
    let code = unsafe { ffi::PMPI_Comm_get_attr(comm, key, (&raw mut value).cast(), &mut found) };
    if code != ffi::MPI_SUCCESS as c_int {
        return None;
    }
    if found != 0 && !value.is_null() {
        return Some(value);
    }
    let (mut inter, mut ranks) = (0, 0);
    // SAFETY: a communicator that MPI has just accepted.
    unsafe {
        ffi::PMPI_Comm_test_inter(comm, &mut inter);
        ffi::PMPI_Comm_size(comm, &mut ranks);
    }
    let why = match (inter, ranks) {
        (0, 0 | 1) => Some(CallOutcome::OneRank),
        (0, _) => (!is_within_world(comm, ranks)).then_some(CallOutcome::Foreign),
        _ => Some(CallOutcome::Inter),
    };
    let early = if config.algorithm == Algorithm::Multipath { 0 } else { EARLY_CALLS_PASSED };
    let config = if why.is_none() { configuration(comm, config) } else { config };
    let known = KnownComm {
        state: Mutex::new(if why.is_some() { CommState::Plain } else { CommState::Waiting(0) }),
        plain: AtomicUsize::new(why.map_or(0, |w| w as usize + 1)),
        fast_path: OnceLock::new(),
        ranks: ranks as usize,
        early,
        early_nanos: AtomicU64::new(0),
        named: Default::default(),
        config,
        quiet,
        neighbours: OnceLock::new(),
        started: Started::default(),
    };
    let pointer = Arc::into_raw(Arc::new(known));
    // SAFETY: as above; `freed` takes the reference back.
    let code = unsafe { ffi::PMPI_Comm_set_attr(comm, key, pointer.cast_mut().cast()) };
    if code != ffi::MPI_SUCCESS as c_int {
        // SAFETY: the reference that MPI did not take.
        drop(unsafe { Arc::from_raw(pointer) });
        return None;
    }
    if let Some(open) = &mut *OPEN.lock() {
        open.attached.push((Handle(comm), None));
    }
    Some(pointer)
}

/// The process's configuration, and what info keys of the communicator say.
fn configuration(comm: ffi::MPI_Comm, config: Arc<Config>) -> Arc<Config> {
    let Ok(keys) = info_keys(comm) else { return config };
    if keys.is_empty() {
        return config;
    }
    let mut settings = Settings::read();
    let wrong = take_info(&mut settings, &keys);
    let mut read = settings.resolve();
    read.error = wrong.or(read.error);
    let (own, error) = read.or_plain_mpi();
    if let Some(error) = error {
        logger::warn_once(&format!("{error}; all calls on this communicator go to plain MPI"));
        counts::unusable(&error.to_string());
    }
    let (own, instead) = without_highs(own);
    if let Some(instead) = instead {
        logger::warn_once(instead);
    }
    Arc::new(own)
}

/// HiGHS is not in the preload library (decision 037): where its planner is asked for, `optimal` plans, and this says so. The same on
/// all ranks.
pub(super) fn without_highs(mut config: Config) -> (Config, Option<&'static str>) {
    if config.planner != PlannerChoice::Named(PlannerName::LinearProgram) {
        return (config, None);
    }
    config.planner = PlannerChoice::Named(PlannerName::Optimal);
    (config, Some("OPTIQ_PLANNER is \"lp\", which liboptiq_pmpi.so does not have; the planner is optimal"))
}

/// Whether all ranks are of this process's `MPI_COMM_WORLD`: programs that were started or joined later may be without
/// OPTIQ, or with another configuration. The same on all ranks.
fn is_within_world(comm: ffi::MPI_Comm, ranks: c_int) -> bool {
    let ours: Vec<c_int> = (0..ranks).collect();
    let mut theirs = vec![-1; ours.len()];
    // SAFETY: valid communicators; arrays of `ranks` ints; groups of ours.
    unsafe {
        let (mut group, mut world) = (ffi::RSMPI_GROUP_NULL, ffi::RSMPI_GROUP_NULL);
        ffi::PMPI_Comm_group(comm, &mut group);
        ffi::PMPI_Comm_group(ffi::RSMPI_COMM_WORLD, &mut world);
        let code = ffi::PMPI_Group_translate_ranks(group, ranks, ours.as_ptr(), world, theirs.as_mut_ptr());
        ffi::PMPI_Group_free(&mut group);
        ffi::PMPI_Group_free(&mut world);
        // MPI_UNDEFINED is negative.
        code == ffi::MPI_SUCCESS as c_int && theirs.iter().all(|&r| r >= 0)
    }
}

impl KnownComm {
    /// The reason of all calls, if they are passed on for good.
    #[inline]
    pub(super) fn plain(&self) -> Option<CallOutcome> {
        match self.plain.load(Ordering::Relaxed) {
            0 => None,
            reason => counts::reason(reason - 1),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, CommState> {
        self.state.lock()
    }

    /// What a call looks at that goes to plain MPI without an agreement; none before there is a session.
    #[inline]
    pub(super) fn fast_path(&self) -> Option<&FastPath> {
        self.fast_path.get().map(Arc::as_ref)
    }

    /// A communicator of this process, whose errors are returned.
    pub(super) fn quiet(&self) -> &Communicator {
        &self.quiet.0
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn budget(&self) -> u64 {
        self.config.budget
    }

    /// The neighbours of this communicator, which must be `comm`; `None` if it has no topology. Local.
    pub(super) fn neighbours(&self, comm: ffi::MPI_Comm) -> Option<&Neighbours> {
        self.neighbours.get_or_init(|| Neighbours::of(comm, self.ranks)).as_ref()
    }

    /// One more call, of valid arguments: whether there is a session to serve it; made if it is time, and if `may` allows it, which
    /// all ranks come to alike. Collective. `common_block` is the size of all blocks of all ranks where that is the same, in bytes, or 0.
    pub(super) fn serves(
        &self,
        comm: ffi::MPI_Comm,
        common_block: u64,
        may: impl FnOnce() -> Result<(), CallOutcome>,
    ) -> Result<(), CallOutcome> {
        let mut state = self.lock();
        let calls = match &mut *state {
            CommState::Serving(_) => return Ok(()),
            CommState::Plain => return Err(self.plain().unwrap_or(CallOutcome::Failed)),
            CommState::Waiting(calls) => calls,
        };
        let is_due = self.early == 0 || is_looked_at(*calls, self.early, common_block);
        match if is_due { self.look(comm, may) } else { Look::Early } {
            Look::Early => {
                *calls += 1;
                Err(CallOutcome::Early)
            }
            Look::Unfit(reason) => Err(reason),
            Look::Never(reason) => {
                *state = CommState::Plain;
                self.plain.store(reason as usize + 1, Ordering::Relaxed);
                Err(reason)
            }
            Look::Made(session) => {
                // Set once: a communicator has one session at most.
                let _ = self.fast_path.set(Arc::clone(session.fast_path()));
                *state = CommState::Serving(session);
                Ok(())
            }
        }
    }

    /// Agrees whether there is to be a session now, and makes it. Collective, and the same on all ranks.
    fn look(&self, comm: ffi::MPI_Comm, may: impl FnOnce() -> Result<(), CallOutcome>) -> Look {
        let Some(turn) = Turn::begin() else { return Look::Never(CallOutcome::Outside) };
        if turn.is_on_one_host {
            self.leave_keys_unread(comm, &turn);
            return Look::Never(CallOutcome::OneHost);
        }
        let agreed = match self.agree(comm, &turn) {
            Ok(agreed) => agreed,
            Err(reason) => return Look::Never(reason),
        };
        if self.early > 0 && !agreed.pays(comm) {
            return Look::Early;
        }
        if let Err(reason) = may() {
            return Look::Unfit(reason);
        }
        match make(comm, &self.config, &agreed) {
            Ok(session) => {
                turn.made(comm, agreed.order);
                Look::Made(session)
            }
            Err(reason) => Look::Never(reason),
        }
    }

    /// What the ranks can have, or why it is not a session. One reduction.
    fn agree(&self, comm: ffi::MPI_Comm, turn: &Turn) -> Result<Agreed, CallOutcome> {
        let settings = self.config.agreed_settings().max(i64::MIN + 1);
        let spent = self.early_nanos.load(Ordering::Relaxed).min(i64::MAX as u64) as i64;
        let place = place();
        let start = Instant::now();
        let own = [place, -place, turn.guess, settings, -settings, turn.has_room, turn.proposed, -spent];
        let [place, minus_place, guess, settings, minus_settings, has_room, order, minus_spent] =
            all_min(comm, own).ok_or(CallOutcome::Failed)?;
        let reduction = start.elapsed();
        let is_one_place = place == -minus_place;
        if is_one_place && guess == 1 {
            turn.found_on_one_host(self.ranks);
            self.leave_keys_unread(comm, turn);
            return Err(CallOutcome::OneHost);
        }
        if settings != -minus_settings {
            return Err(CallOutcome::Unusable);
        }
        if self.config.algorithm == Algorithm::Mpi {
            let is_rejected = self.config.rejected.is_some();
            return Err(if is_rejected { CallOutcome::Unusable } else { CallOutcome::NoTopology });
        }
        // Settings are the same, so all have it guessed or none.
        if is_one_place && is_guessed(&self.config) {
            return Err(CallOutcome::OneHost);
        }
        Ok(Agreed { has_room: has_room == 1, order, spent_nanos: -minus_spent, reduction })
    }

    /// Says so, if this communicator has info keys of OPTIQ's that are of no use.
    fn leave_keys_unread(&self, comm: ffi::MPI_Comm, turn: &Turn) {
        let mut rank = 0;
        // SAFETY: a communicator that MPI has accepted.
        unsafe { ffi::PMPI_Comm_rank(comm, &mut rank) };
        if rank == 0 && !Arc::ptr_eq(&self.config, &turn.config) {
            logger::warn_once(
                "all ranks of a communicator are on one host, and OPTIQ_TOPOLOGY is \"auto\", so that all its calls go to plain \
                 MPI and its info keys optiq_* are not used; a network in OPTIQ_TOPOLOGY would be",
            );
        }
    }

    /// A call was passed on early and took this long.
    pub(super) fn passed_early(&self, took: Duration) {
        self.early_nanos.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
    }
}

/// What came of a look at a communicator.
enum Look {
    /// It is too early for a session.
    Early,
    /// This call cannot be served.
    Unfit(CallOutcome),
    /// All further calls are passed on.
    Never(CallOutcome),
    Made(Box<Session>),
}

/// This process's part in an agreement on a session.
struct Turn {
    config: Arc<Config>,
    is_on_one_host: bool,
    /// 1 if the network is to be guessed from the names of processors, or 0.
    guess: i64,
    /// 1 if one more session is allowed here, or 0.
    has_room: i64,
    /// Unlike any other rank's, and any other turn's: its own rank in the lower half.
    proposed: i64,
}

impl Turn {
    /// `None` once `MPI_Finalize` has begun.
    fn begin() -> Option<Self> {
        let mut open = OPEN.lock();
        let open = open.as_mut()?;
        let live = open.attached.iter().filter(|a| a.1.is_some()).count() + open.retired.len() + open.looking;
        open.looking += 1;
        open.looks += 1;
        Some(Self {
            config: Arc::clone(&open.config),
            is_on_one_host: open.is_on_one_host,
            guess: i64::from(open.guesses),
            has_room: i64::from(live < MOST_SESSIONS),
            proposed: open.looks << 32 | i64::from(open.world_rank),
        })
    }

    /// A communicator of `ranks` ranks, all of which guess, is on one host.
    fn found_on_one_host(&self, ranks: usize) {
        if let Some(open) = &mut *OPEN.lock() {
            open.is_on_one_host |= ranks as c_int == open.world_ranks;
        }
    }

    /// The communicator has a session, which comes at this place in the order of all.
    fn made(&self, comm: ffi::MPI_Comm, order: i64) {
        if let Some(open) = &mut *OPEN.lock()
            && let Some(entry) = open.attached.iter_mut().find(|a| a.0.0 == comm)
        {
            entry.1 = Some(order);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(open) = &mut *OPEN.lock() {
            open.looking -= 1;
        }
    }
}

/// What all ranks of a communicator have agreed on.
struct Agreed {
    /// Whether one more session is allowed on all of them.
    has_room: bool,
    /// The smallest proposal: it orders the session among all others, on all ranks alike.
    order: i64,
    /// The most that any of them spent in early calls, in nanoseconds.
    spent_nanos: i64,
    /// How long the agreement took here.
    reduction: Duration,
}

impl Agreed {
    /// Whether the calls so far took long enough that a session pays if as many follow; a program that ends soon must not pay for
    /// being watched. Collective, and the same on all ranks.
    fn pays(&self, comm: ffi::MPI_Comm) -> bool {
        // The rank that came last did not wait.
        let own = self.reduction.as_nanos().min(i64::MAX as u128) as i64;
        let Some([reduction]) = all_min(comm, [own]) else { return true };
        self.spent_nanos as f64 * SETUP_PART >= SETUP_REDUCTIONS * reduction as f64
    }
}

/// Whether ranks look, after as many calls, what these took ([`KnownComm::pays`]): after 2, 8, 32 ... with 2 `early` ones; after the
/// first one, too, where the next has large blocks, for programs that make few calls, and long ones.
fn is_looked_at(calls: u32, early: u32, common_block: u64) -> bool {
    let looks = calls / early;
    let is_due = calls == early * looks && looks.is_power_of_two() && looks.trailing_zeros().is_multiple_of(2);
    is_due || (calls == 1 && common_block >= EAGER)
}

/// The minima over all ranks, on the program's communicator; `None` if MPI fails.
pub(super) fn all_min<const N: usize>(comm: ffi::MPI_Comm, mut words: [i64; N]) -> Option<[i64; N]> {
    // SAFETY: a valid communicator; as many words as there are.
    let code = unsafe {
        let (kind, min) = (ffi::RSMPI_INT64_T, ffi::RSMPI_MIN);
        let into = words.as_mut_ptr().cast::<c_void>();
        quietly(comm, || ffi::PMPI_Allreduce(in_place(), into, N as c_int, kind, min, comm))
    };
    code.is_ok_and(|code| code == ffi::MPI_SUCCESS as c_int).then_some(words)
}

/// A session for a communicator, on all of its ranks or on none; collective.
fn make(comm: ffi::MPI_Comm, config: &Config, agreed: &Agreed) -> Result<Box<Session>, CallOutcome> {
    if !agreed.has_room {
        return Err(CallOutcome::Refused);
    }
    // SAFETY: an intra-communicator that MPI has accepted.
    let private = unsafe { Communicator::beside(comm) }.ok();
    if all_min(comm, [i64::from(private.is_some())]) != Some([1]) {
        return Err(CallOutcome::Refused);
    }
    let session = private.map(|private| Session::on(private, config.clone()));
    let session = match session {
        Some(Ok(Ok(session))) => Some(Box::new(session)),
        Some(Err(error)) => {
            logger::warn_once(&format!("{error}; calls go to plain MPI"));
            None
        }
        _ => None,
    };
    match (all_min(comm, [i64::from(session.is_some())]), session) {
        (Some([1]), Some(session)) => Ok(session),
        _ => Err(CallOutcome::Unusable),
    }
}

/// A number for the name of this rank's processor, so that one reduction tells whether all ranks have the same.
fn place() -> i64 {
    // SAFETY: a constant of the library that is linked.
    let longest = unsafe { ffi::RSMPI_MAX_PROCESSOR_NAME }.max(0) as usize;
    let (mut name, mut length) = (vec![0u8; longest + 1], 0);
    // SAFETY: a buffer of the size that the standard asks for.
    unsafe { ffi::PMPI_Get_processor_name(name.as_mut_ptr().cast(), &mut length) };
    name.truncate(length.max(0) as usize);
    (xxhash_rust::xxh3::xxh3_64(&name) as i64).max(i64::MIN + 1)
}

/// Whether the network is to be guessed, and hosts are told apart by the names of processors.
fn is_guessed(config: &Config) -> bool {
    let is_by_name = matches!(config.placement, PlacementRule::Auto | PlacementRule::Names);
    is_by_name && config.topology.as_deref().is_some_and(is_auto)
}

/// The program frees a communicator.
unsafe extern "C" fn freed(comm: ffi::MPI_Comm, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
    GENERATION.fetch_add(1, Ordering::AcqRel);
    // SAFETY: the reference that `look_up` gave to MPI.
    let known = unsafe { Arc::from_raw(value.cast_const().cast::<KnownComm>()) };
    let state = std::mem::replace(&mut *known.lock(), CommState::Plain);
    let mut ended = None;
    if let Some(open) = &mut *OPEN.lock() {
        let order = open.attached.iter().position(|a| a.0.0 == comm).and_then(|at| open.attached.swap_remove(at).1);
        if let CommState::Serving(session) = state {
            if session.shares_memory() {
                // Unordered ones last; they cannot be, for what serves was made here.
                open.retired.push(Retired { order: order.unwrap_or(i64::MAX), session });
            } else {
                ended = Some(session);
            }
        }
    }
    // Not under the lock: MPI may call back.
    drop(ended);
    ffi::MPI_SUCCESS as c_int
}

/// `MPI_Finalize` has begun.
unsafe extern "C" fn at_finalize(_: ffi::MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    state::ended();
    state::flush();
    counts::report_own();
    // Ended before, unless MPI_Finalize went past us.
    streams::leave();
    let Some(open) = OPEN.lock().take() else { return ffi::MPI_SUCCESS as c_int };
    let Open { mut key, mut finalize_key, mut attached, mut retired, quiet, .. } = open;
    GENERATION.fetch_add(1, Ordering::AcqRel);
    if !is_initialized() {
        return ffi::MPI_SUCCESS as c_int;
    }
    for (Handle(comm), order) in attached.drain(..) {
        let mut value: *const KnownComm = std::ptr::null();
        let mut found = 0;
        // SAFETY: a communicator that was not freed, or `freed` would have taken it off the list. Our reference to what is
        // attached keeps it beyond the deletion.
        unsafe {
            ffi::PMPI_Comm_get_attr(comm, key, (&raw mut value).cast(), &mut found);
            if found != 0 && !value.is_null() {
                let state = std::mem::replace(&mut *(*value).lock(), CommState::Plain);
                if let (CommState::Serving(session), Some(order)) = (state, order) {
                    retired.push(Retired { order, session });
                }
                ffi::PMPI_Comm_delete_attr(comm, key);
            }
        }
    }
    // Giving back shared memory waits for the other ranks: in the same order everywhere, or ranks would wait in a circle.
    retired.sort_by_key(|r| r.order);
    for Retired { session, .. } in retired {
        drop(session);
    }
    drop(quiet);
    // SAFETY: keys of ours.
    unsafe {
        ffi::PMPI_Comm_free_keyval(&mut finalize_key);
        ffi::PMPI_Comm_free_keyval(&mut key);
    }
    ffi::MPI_SUCCESS as c_int
}

/// Whether the MPI library that this process runs with is the one that this was built with.
pub(super) fn is_our_library() -> bool {
    let mut text = [0u8; ffi::MPI_MAX_LIBRARY_VERSION_STRING as usize + 1];
    let mut length = 0;
    // SAFETY: a buffer of the size that the standard asks for; may be called at any time.
    unsafe { ffi::PMPI_Get_library_version(text.as_mut_ptr().cast(), &mut length) };
    let text = String::from_utf8_lossy(&text[..(length.max(0) as usize).min(text.len())]);
    match Library::CURRENT {
        Library::OpenMpi => text.contains("Open MPI"),
        Library::Mpich => !text.contains("Open MPI"),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_looked_at, without_highs};
    use crate::config::{PlannerChoice, Settings};
    use optiq_solver::planner::PlannerName;

    #[test]
    fn the_planner_that_is_left_out_is_replaced_and_no_other() {
        for (asked, planner, said) in [("lp", PlannerName::Optimal, true), ("heu1", PlannerName::Heuristic1, false)] {
            let variables = [("OPTIQ_PLANNER".to_string(), asked.to_string())];
            let (config, instead) = without_highs(Settings::from_variables(variables).resolve().config);
            assert_eq!((config.planner, instead.is_some()), (PlannerChoice::Named(planner), said));
        }
        let (config, instead) = without_highs(Settings::default().resolve().config);
        assert_eq!((config.planner, instead), (PlannerChoice::Auto, None));
    }

    #[test]
    fn looked_at_seldom_and_early_before_large_calls() {
        let looks = |block| (0..200).filter(|&calls| is_looked_at(calls, 2, block)).collect::<Vec<_>>();
        assert_eq!(looks(0), [2, 8, 32, 128]);
        assert_eq!(looks(1 << 20), [1, 2, 8, 32, 128]);
    }
}
