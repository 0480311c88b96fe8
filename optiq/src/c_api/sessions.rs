//! All sessions of a process, each attached to its communicator as an MPI attribute.
//!
//! The delete callback of the attribute frees the session when the user frees the communicator. A second attribute,
//! on `MPI_COMM_SELF`, is deleted by MPI at the very start of `MPI_Finalize` (MPI 4.0, 11.2.4) and ends OPTIQ if
//! the program forgot to.

use crate::config::ConfigError;
use crate::config::{Config, Origin, Settings};
use crate::error::Error;
use crate::session::Quick;
use crate::session::Session;
use optiq_transport::TransportError;
use optiq_transport::mpi::{check, ffi, info_entries, is_initialized, quietly};
use parking_lot::{Mutex, MutexGuard};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A session that may be reached from any thread, one at a time.
pub(super) struct Shared {
    session: Mutex<Session>,
    quick: Arc<Quick>,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Session> {
        self.session.lock()
    }

    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, Session>> {
        self.session.try_lock()
    }

    #[inline]
    pub(super) fn quick(&self) -> &Quick {
        &self.quick
    }
}

// SAFETY: a session is reached only under its mutex, and the program must have asked MPI for a thread level that
// allows calls from several threads if it makes them. What it holds has no thread affinity of its own.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// A communicator handle, for looking its session up again.
#[derive(Clone, Copy)]
struct Handle(ffi::MPI_Comm);

// SAFETY: an opaque value; only MPI interprets it.
unsafe impl Send for Handle {}

/// What exists between `optiq_init` and `optiq_finalize`.
struct Open {
    /// For communicators that are used from now on.
    settings: Settings,
    started_mpi: bool,
    /// Attribute keys of sessions, of options of a communicator that has none yet, and of the finalise hook.
    session_key: c_int,
    options_key: c_int,
    finalize_key: c_int,
    /// Communicators with a session, in the order of their first use, which is the same on all ranks.
    communicators: Vec<Handle>,
}

static OPEN: Mutex<Option<Open>> = Mutex::new(None);

/// Counts what makes looked-up sessions invalid: one was freed, or OPTIQ was ended.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// What a thread used last. Without a destructor, so that a look at it is a few instructions.
#[derive(Clone, Copy)]
struct Latest {
    comm: ffi::MPI_Comm,
    session: *const Shared,
    generation: u64,
}

thread_local! {
    static LATEST: Cell<Option<Latest>> = const { Cell::new(None) };
}

impl Latest {
    #[inline]
    fn is_valid(&self) -> bool {
        self.generation == GENERATION.load(Ordering::Acquire)
    }
}

/// The process's sessions.
pub(super) struct Sessions;

impl Sessions {
    /// Changes the settings for communicators that are used from now on; false if there is nothing open.
    pub(super) fn change(change: impl FnOnce(&mut Settings) -> Result<(), Error>) -> Option<Result<(), Error>> {
        OPEN.lock().as_mut().map(|open| change(&mut open.settings))
    }

    /// The settings for communicators that are used from now on.
    pub(super) fn settings() -> Option<Settings> {
        OPEN.lock().as_ref().map(|open| open.settings.clone())
    }

    pub(super) fn open(settings: Settings, started_mpi: bool) -> Result<(), Error> {
        let mut open = OPEN.lock();
        if open.is_some() {
            return Err(Error::Argument("optiq_init was called twice".into()));
        }
        let (mut session_key, mut options_key, mut finalize_key) = (0, 0, 0);
        let nothing = std::ptr::null_mut();
        // SAFETY: MPI is initialised; the callbacks have the signatures that MPI asks for.
        unsafe {
            let code = ffi::PMPI_Comm_create_keyval(Some(copy_nothing), Some(free_session), &mut session_key, nothing);
            check(code, "MPI_Comm_create_keyval")?;
            let code = ffi::PMPI_Comm_create_keyval(Some(copy_nothing), Some(free_options), &mut options_key, nothing);
            check(code, "MPI_Comm_create_keyval")?;
            let code = ffi::PMPI_Comm_create_keyval(Some(copy_nothing), Some(at_finalize), &mut finalize_key, nothing);
            check(code, "MPI_Comm_create_keyval")?;
            check(ffi::PMPI_Comm_set_attr(ffi::RSMPI_COMM_SELF, finalize_key, nothing), "MPI_Comm_set_attr")?;
        }
        *open = Some(Open { settings, started_mpi, session_key, options_key, finalize_key, communicators: Vec::new() });
        Ok(())
    }

    /// Frees all sessions; whether MPI is to be finalised as well.
    pub(super) fn close() -> Result<bool, Error> {
        let Some(open) = OPEN.lock().take() else { return Err(Error::NotInitialized("optiq_finalize")) };
        if is_initialized() { close(open, true) } else { Ok(false) }
    }

    /// The session of `comm` if this thread has used it last: without a lock, for calls that take a microsecond.
    ///
    /// # Safety
    /// The reference is valid until the communicator is freed or OPTIQ ended, which must not happen during a call.
    #[inline]
    pub(super) unsafe fn latest<'a>(comm: ffi::MPI_Comm) -> Option<&'a Shared> {
        let latest = LATEST.get().filter(|l| l.comm == comm && l.is_valid())?;
        // SAFETY: the communicator's attribute keeps the session, and the generation would have changed with it.
        Some(unsafe { &*latest.session })
    }

    /// The session that this thread used last, if it is still there.
    pub(super) fn of_this_thread<'a>() -> Option<&'a Shared> {
        // SAFETY: as above.
        LATEST.get().filter(Latest::is_valid).map(|l| unsafe { &*l.session })
    }

    /// Whether this is between `optiq_init` and `optiq_finalize`.
    pub(super) fn must_be_open(function: &'static str) -> Result<(), Error> {
        keys(function).map(drop)
    }

    /// The configuration between `optiq_init` and `optiq_finalize`, for what belongs to no communicator of the program's.
    pub(super) fn config(function: &'static str) -> Result<Config, Error> {
        Self::must_be_open(function)?;
        let settings = Self::settings().ok_or(Error::NotInitialized(function))?;
        // `optiq_init` has told what is wrong.
        Ok(settings.resolve().or_plain_mpi().0)
    }

    /// As [`Sessions::get`], of an intra-communicator.
    pub(super) fn intra(comm: ffi::MPI_Comm, function: &'static str) -> Result<Arc<Shared>, Error> {
        let inter = || Error::Argument("the communicator is an inter-communicator".into());
        Self::get(comm, function)?.ok_or_else(inter)
    }

    /// The session of `comm`, which is made on first use (collectively); `None` for an inter-communicator, which
    /// OPTIQ does not serve.
    pub(super) fn get(comm: ffi::MPI_Comm, function: &'static str) -> Result<Option<Arc<Shared>>, Error> {
        // SAFETY: the communicator is in use, so it is not being freed.
        if let Some(latest) = unsafe { Self::latest(comm) } {
            // SAFETY: it lives in the `Arc` that the communicator's attribute keeps.
            return Ok(Some(unsafe {
                Arc::increment_strong_count(latest);
                Arc::from_raw(latest)
            }));
        }
        let (key, _) = keys(function)?;
        if comm == null_communicator() {
            return Err(Error::Argument("the communicator is MPI_COMM_NULL".into()));
        }
        let generation = GENERATION.load(Ordering::Acquire);
        let session = match attached(comm, key)? {
            Some(session) => Some(session),
            None => attach(comm, key, function)?,
        };
        if let Some(session) = &session {
            LATEST.set(Some(Latest { comm, session: Arc::as_ptr(session), generation }));
        }
        Ok(session)
    }
}

/// The attribute keys of sessions and of options, between `optiq_init` and `optiq_finalize`.
fn keys(function: &'static str) -> Result<(c_int, c_int), Error> {
    match &*OPEN.lock() {
        Some(open) if is_initialized() => Ok((open.session_key, open.options_key)),
        _ => Err(Error::NotInitialized(function)),
    }
}

/// Sets options for one communicator, which must not have been used.
pub(super) fn set_for(comm: ffi::MPI_Comm, entries: &[(String, String)], function: &'static str) -> Result<(), Error> {
    let (session_key, options_key) = keys(function)?;
    if comm == null_communicator() {
        return Err(Error::Argument("the communicator is MPI_COMM_NULL".into()));
    }
    if attached(comm, session_key)?.is_some() {
        let text = format!("{function} came after the communicator's first use; options are set before it");
        return Err(Error::Argument(text));
    }
    let mut all = options_of(comm, options_key)?;
    for (name, value) in entries {
        // Finds out now what is wrong with it.
        Settings::default().set(name, value, Origin::Info)?;
        all.push((name.clone(), value.clone()));
    }
    let pointer = Box::into_raw(Box::new(all)).cast::<c_void>();
    // SAFETY: a valid communicator by the caller's word; `free_options` frees what stood there before, and this one.
    Ok(check(unsafe { ffi::PMPI_Comm_set_attr(comm, options_key, pointer) }, "MPI_Comm_set_attr")?)
}

/// What was set for a communicator by `set_for`.
fn options_of(comm: ffi::MPI_Comm, key: c_int) -> Result<Vec<(String, String)>, Error> {
    let mut value: *const Vec<(String, String)> = std::ptr::null();
    let mut found = 0;
    // SAFETY: a valid communicator by the callers' word; the attribute is a pointer that `set_for` made.
    unsafe {
        let slot = (&raw mut value).cast::<c_void>();
        check(ffi::PMPI_Comm_get_attr(comm, key, slot, &mut found), "MPI_Comm_get_attr")?;
        Ok(if found == 0 { Vec::new() } else { value.as_ref().cloned().unwrap_or_default() })
    }
}

/// The configuration of a communicator: the process's, what the MPI library keeps as info keys `optiq_*` (Open MPI does
/// if the communicator was made by `MPI_Comm_dup_with_info`), and what `set_for` was told.
fn configuration(comm: ffi::MPI_Comm, function: &'static str) -> Result<Config, Error> {
    let (_, options_key) = keys(function)?;
    let mut settings = Sessions::settings().ok_or(Error::NotInitialized(function))?;
    // `optiq_init` has told it.
    let known = settings.resolve().error;
    let wrong = take_info(&mut settings, &info_keys(comm)?);
    for (name, value) in options_of(comm, options_key)? {
        settings.set(&name, &value, Origin::Info)?;
    }
    let mut read = settings.resolve();
    read.error = wrong.or(read.error);
    let (config, error) = read.or_plain_mpi();
    if let Some(error) = error {
        if config.strict {
            return Err(error.into());
        }
        let mut rank = 0;
        // SAFETY: a valid communicator by the caller's word.
        check(unsafe { ffi::PMPI_Comm_rank(comm, &mut rank) }, "MPI_Comm_rank")?;
        if rank == 0 && known.as_ref() != Some(&error) {
            log::warn!("{error}; all calls on this communicator go to plain MPI");
        }
    }
    Ok(config)
}

/// The info keys `optiq_*` that the MPI library keeps with a communicator.
pub(super) fn info_keys(comm: ffi::MPI_Comm) -> Result<Vec<(String, String)>, TransportError> {
    Ok(info_entries(comm)?.into_iter().filter(|(name, _)| name.starts_with("optiq_")).collect())
}

/// Takes info keys; returns the first that cannot be used.
pub(super) fn take_info(settings: &mut Settings, keys: &[(String, String)]) -> Option<ConfigError> {
    keys.iter().fold(None, |wrong, (name, value)| {
        let taken = settings.set(name, value, Origin::Info);
        wrong.or(taken.err())
    })
}

fn null_communicator() -> ffi::MPI_Comm {
    // SAFETY: a constant.
    unsafe { ffi::RSMPI_COMM_NULL }
}

fn attached(comm: ffi::MPI_Comm, key: c_int) -> Result<Option<Arc<Shared>>, Error> {
    /// Threads that put handlers aside at the same time would put each other's back.
    static HANDLERS: Mutex<()> = Mutex::new(());
    let mut value: *const Shared = std::ptr::null();
    let mut found = 0;
    // SAFETY: a valid communicator by the caller's word; the attribute is a pointer that `attach` made.
    unsafe {
        let slot = (&raw mut value).cast::<c_void>();
        // A handle that is none must not end the job: MPI speaks of it to the handlers of these two.
        let (world, own) = (ffi::RSMPI_COMM_WORLD, ffi::RSMPI_COMM_SELF);
        let ask = || ffi::PMPI_Comm_get_attr(comm, key, slot, &mut found);
        let turn = HANDLERS.lock();
        let code = quietly(world, || quietly(own, ask).unwrap_or(ffi::MPI_ERR_OTHER as c_int))?;
        drop(turn);
        if code != ffi::MPI_SUCCESS as c_int {
            return Err(Error::Argument("the communicator is none: it was freed, or never made".into()));
        }
        if found == 0 || value.is_null() {
            return Ok(None);
        }
        // The attribute keeps its own reference.
        Arc::increment_strong_count(value);
        Ok(Some(Arc::from_raw(value)))
    }
}

fn attach(comm: ffi::MPI_Comm, key: c_int, function: &'static str) -> Result<Option<Arc<Shared>>, Error> {
    let mut inter = 0;
    // SAFETY: a valid communicator by the caller's word.
    check(unsafe { ffi::PMPI_Comm_test_inter(comm, &mut inter) }, "MPI_Comm_test_inter")?;
    if inter != 0 {
        return Ok(None);
    }
    let config = configuration(comm, function)?;
    // SAFETY: valid, an intra-communicator, and the session is dropped by `free_session` or `close`.
    let session = unsafe { Session::new(comm, config)? };
    let quick = Arc::clone(session.quick());
    let session = Arc::new(Shared { session: Mutex::new(session), quick });
    let pointer = Arc::into_raw(Arc::clone(&session)).cast_mut().cast::<c_void>();
    // SAFETY: as above.
    check(unsafe { ffi::PMPI_Comm_set_attr(comm, key, pointer) }, "MPI_Comm_set_attr")?;
    if let Some(open) = &mut *OPEN.lock() {
        open.communicators.push(Handle(comm));
    }
    Ok(Some(session))
}

/// Deletes all attributes, which frees the sessions.
fn close(open: Open, and_hook: bool) -> Result<bool, Error> {
    GENERATION.fetch_add(1, Ordering::AcqRel);
    super::progress::stop();
    super::requests::forget();
    super::io::forget();
    super::schedule::forget();
    super::topology::forget();
    let Open { started_mpi, mut session_key, mut options_key, mut finalize_key, communicators, .. } = open;
    for Handle(comm) in communicators {
        // SAFETY: the user has not freed it, or `free_session` would have taken it off the list.
        check(unsafe { ffi::PMPI_Comm_delete_attr(comm, session_key) }, "MPI_Comm_delete_attr")?;
    }
    // SAFETY: keys of ours. Inside MPI_Finalize the hook is being deleted by MPI itself.
    unsafe {
        if and_hook {
            check(ffi::PMPI_Comm_delete_attr(ffi::RSMPI_COMM_SELF, finalize_key), "MPI_Comm_delete_attr")?;
        }
        check(ffi::PMPI_Comm_free_keyval(&mut finalize_key), "MPI_Comm_free_keyval")?;
        check(ffi::PMPI_Comm_free_keyval(&mut options_key), "MPI_Comm_free_keyval")?;
        check(ffi::PMPI_Comm_free_keyval(&mut session_key), "MPI_Comm_free_keyval")?;
    }
    Ok(started_mpi)
}

/// Attributes are not inherited by duplicates: they get a session of their own.
pub(super) unsafe extern "C" fn copy_nothing(
    _: ffi::MPI_Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI's out-parameter.
    unsafe { *flag = 0 };
    ffi::MPI_SUCCESS as c_int
}

unsafe extern "C" fn free_session(comm: ffi::MPI_Comm, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
    GENERATION.fetch_add(1, Ordering::AcqRel);
    if let Some(open) = &mut *OPEN.lock() {
        open.communicators.retain(|h| h.0 != comm);
    }
    // SAFETY: the reference that `attach` gave to MPI.
    drop(unsafe { Arc::from_raw(value.cast_const().cast::<Shared>()) });
    ffi::MPI_SUCCESS as c_int
}

unsafe extern "C" fn free_options(_: ffi::MPI_Comm, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
    // SAFETY: the box that `set_for` gave to MPI.
    drop(unsafe { Box::from_raw(value.cast::<Vec<(String, String)>>()) });
    ffi::MPI_SUCCESS as c_int
}

unsafe extern "C" fn at_finalize(_: ffi::MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    // `optiq_finalize` has emptied it already, unless the program forgot to call it.
    let open = OPEN.lock().take();
    if let Some(open) = open
        && let Err(error) = close(open, false)
    {
        log::warn!("while MPI was finalised: {error}");
    }
    ffi::MPI_SUCCESS as c_int
}
