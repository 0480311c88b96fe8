//! Who advances what was started: the calls that test and wait, on any communicator, and a thread while the program computes (`OPTIQ_PROGRESS=1`).
//!
//! Ranks may wait for the exchanges of two communicators in different orders. Each has to forward for the other one then, in the
//! exchange that it does not wait for; so who tests or waits for one advances those of all communicators.
//!
//! The thread is there only where MPI was initialised with `MPI_THREAD_MULTIPLE`, as it calls MPI. It takes a session's lock only when
//! it is free, so it never makes a call wait for longer than one step, and it sleeps while no exchange is active.

use super::sessions::Shared;
use crate::constants::PROGRESS_PAUSE_SECONDS;
use optiq_transport::mpi::{ffi, is_initialized};
use parking_lot::{Condvar, Mutex};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

struct State {
    /// Whether the option asks for a thread and MPI allows one.
    wanted: bool,
    /// Sessions of which something was started.
    watched: Vec<Weak<Shared>>,
    thread: Option<JoinHandle<()>>,
    stop: bool,
}

static STATE: Mutex<State> = Mutex::new(State { wanted: false, watched: Vec::new(), thread: None, stop: false });
static WORK: Condvar = Condvar::new();

/// Notes whether there is to be a thread; warns if MPI does not allow it.
pub(super) fn configure(asked: bool) {
    let mut level = 0;
    // SAFETY: an out-parameter; MPI is initialised.
    let known = unsafe { ffi::PMPI_Query_thread(&mut level) } == ffi::MPI_SUCCESS as i32;
    let allowed = known && level >= ffi::MPI_THREAD_MULTIPLE as i32;
    if asked && !allowed {
        log::warn!(
            "OPTIQ_PROGRESS=1 needs MPI_THREAD_MULTIPLE, which MPI was not initialised with; no thread is started"
        );
    }
    STATE.lock().wanted = asked && allowed;
}

/// Something of this session was started.
pub(super) fn watch(session: &Arc<Shared>) {
    let mut state = STATE.lock();
    state.watched.retain(|w| w.strong_count() > 0);
    if !state.watched.iter().any(|w| w.as_ptr() == Arc::as_ptr(session)) {
        state.watched.push(Arc::downgrade(session));
    }
    if !state.wanted {
        return;
    }
    if state.thread.is_none() {
        state.stop = false;
        state.thread = thread::Builder::new().name("optiq-progress".into()).spawn(run).ok();
    }
    WORK.notify_one();
}

/// One step of what other sessions than this one have started, where no other call is in them.
pub(super) fn advance_others(session: &Arc<Shared>) {
    let others: Vec<Arc<Shared>> = {
        let state = STATE.lock();
        if state.watched.len() < 2 {
            return;
        }
        // An Arc that is dropped last would free a session, which must not happen under this lock.
        state.watched.iter().filter(|w| w.as_ptr() != Arc::as_ptr(session)).filter_map(Weak::upgrade).collect()
    };
    for other in others {
        if let Some(session) = other.try_lock() {
            session.advance();
        }
    }
}

/// Ends the thread, before MPI is finalised.
pub(super) fn stop() {
    let thread = {
        let mut state = STATE.lock();
        state.stop = true;
        state.watched.clear();
        state.thread.take()
    };
    WORK.notify_one();
    if let Some(thread) = thread {
        // It cannot panic; if it did, there is nothing to be done about it here.
        let _ = thread.join();
    }
}

fn run() {
    loop {
        let mut state = STATE.lock();
        if state.stop || !is_initialized() {
            return;
        }
        let sessions: Vec<Arc<Shared>> = state.watched.iter().filter_map(Weak::upgrade).collect();
        let busy = |s: &Arc<Shared>| s.try_lock().is_none_or(|session| session.has_started());
        if !sessions.iter().any(busy) {
            // An Arc that is dropped last would free a session, which must not happen under this lock.
            drop(sessions);
            WORK.wait(&mut state);
            continue;
        }
        drop(state);
        let moved = sessions.iter().any(|s| s.try_lock().is_some_and(|session| session.advance()));
        if !moved {
            thread::sleep(Duration::from_secs_f64(PROGRESS_PAUSE_SECONDS));
        }
    }
}
