//! Schedules and their transport, step by step (thesis Table IV); `optiq_execute_jobs` does all of it at once.

use super::handles::{Handles, Kind, place};
use super::jobs::{JOBS, JobList, Listed, execute};
use super::sessions::Sessions;
use super::topology::{Known, TOPOLOGIES, Topology};
use super::{ffi, guard};
use crate::error::Error;
use optiq_solver::pipeline::PlanOptions;
use parking_lot::Mutex;
use std::ffi::c_int;
use std::sync::Arc;

/// Which jobs take which paths, and what that means for the links. 0 is none.
pub type ScheduleHandle = u64;

/// What moves the bytes of a communicator. 0 is none.
pub type TransportHandle = u64;

struct Scheduled {
    known: Known,
    jobs: Option<Arc<Mutex<Listed>>>,
    congestion_seconds: f64,
    bound_seconds: f64,
}

/// A communicator that the program must keep.
struct Mover(ffi::MPI_Comm);

// SAFETY: an opaque value; only MPI interprets it.
unsafe impl Send for Mover {}

static SCHEDULES: Handles<Scheduled> = Handles::new(Kind::Schedule);
static TRANSPORTS: Handles<Mover> = Handles::new(Kind::Transport);

/// Drops what the program forgot to free.
pub(super) fn forget() {
    SCHEDULES.forget();
    TRANSPORTS.forget();
    JOBS.forget();
}

/// An empty schedule for the ranks of a topology, which may be freed afterwards. Local. Since 0.1.
///
/// Returns 0 or a status code, and in `schedule` a handle that `optiq_schedule_finalize` frees (0 after an error).
///
/// # Safety
/// `schedule` must be NULL or valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_schedule_init(topology: Topology, schedule: *mut ScheduleHandle) -> c_int {
    guard(|| {
        // SAFETY: by this function's contract.
        unsafe { place(schedule, "schedule")? };
        let known = TOPOLOGIES.get(topology, "optiq_schedule_init")?.lock().clone();
        let scheduled = Scheduled { known, jobs: None, congestion_seconds: 0.0, bound_seconds: 0.0 };
        // SAFETY: `place` has written there.
        unsafe { SCHEDULES.hold(scheduled, schedule) };
        Ok(())
    })
}

/// Frees a schedule and sets the handle to 0; its jobs stay. Local. Since 0.1.
///
/// Returns 0 or a status code.
///
/// # Safety
/// `schedule` must be NULL or valid for reading and writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_schedule_finalize(schedule: *mut ScheduleHandle) -> c_int {
    // SAFETY: by this function's contract.
    guard(|| unsafe { SCHEDULES.free(schedule, "optiq_schedule_finalize") })
}

/// Schedules jobs: jobs without paths get planned ones, those with paths keep them. The schedule refers to the jobs, which
/// must not be freed before it was executed; their sizes must be known here. Local; the same on every rank that has the same
/// jobs. Since 0.1.
///
/// Returns 0 or a status code.
#[unsafe(no_mangle)]
pub extern "C" fn optiq_schedule_create_schedule(schedule: ScheduleHandle, jobs: JobList) -> c_int {
    guard(|| {
        let scheduled = SCHEDULES.get(schedule, "optiq_schedule_create_schedule")?;
        let jobs = JOBS.get(jobs, "optiq_schedule_create_schedule")?;
        let mut scheduled = scheduled.lock();
        {
            let mut listed = jobs.lock();
            let Known { network, placement, .. } = &scheduled.known;
            let mut list = listed.list.clone();
            list.check_ranks(placement.len() as u32)?;
            let options = PlanOptions::default();
            if !list.has_paths() {
                list.search(network, placement, &options)?;
            }
            let plan = list.plan(network, placement, &list.messages(&list.bytes()), &options)?;
            listed.list = list;
            (scheduled.congestion_seconds, scheduled.bound_seconds) = (plan.congestion_seconds, plan.bound_seconds);
        }
        scheduled.jobs = Some(jobs);
        Ok(())
    })
}

/// What the links say of a schedule, in seconds: no execution of it is faster than `congestion_seconds`, and none of any
/// schedule for these jobs is faster than `bound_seconds`. Places may be NULL. Since 0.1.
///
/// Returns 0 or a status code. Thread-safe.
///
/// # Safety
/// Places must be NULL or valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_schedule_get_times(
    schedule: ScheduleHandle,
    congestion_seconds: *mut f64,
    bound_seconds: *mut f64,
) -> c_int {
    guard(|| {
        let scheduled = SCHEDULES.get(schedule, "optiq_schedule_get_times")?;
        let scheduled = scheduled.lock();
        if scheduled.jobs.is_none() {
            return Err(Error::Argument("the schedule is empty; optiq_schedule_create_schedule comes first".into()));
        }
        // SAFETY: by this function's contract.
        unsafe {
            congestion_seconds.as_mut().into_iter().for_each(|p| *p = scheduled.congestion_seconds);
            bound_seconds.as_mut().into_iter().for_each(|p| *p = scheduled.bound_seconds);
        }
        Ok(())
    })
}

/// What moves the bytes of a communicator, which must not be freed before it. Collective over `comm`. Since 0.1.
///
/// Returns 0 or a status code, and in `transport` a handle that `optiq_transport_finalize` frees (0 after an error).
///
/// # Safety
/// A valid communicator; `transport` must be NULL or valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_transport_init(comm: ffi::MPI_Comm, transport: *mut TransportHandle) -> c_int {
    guard(|| {
        // SAFETY: by this function's contract.
        unsafe { place(transport, "transport")? };
        Sessions::intra(comm, "optiq_transport_init")?;
        // SAFETY: `place` has written there.
        unsafe { TRANSPORTS.hold(Mover(comm), transport) };
        Ok(())
    })
}

/// Executes a schedule: moves the bytes of its jobs. Collective over the transport's communicator. Since 0.1.
///
/// Returns 0 or a status code, as `optiq_execute_jobs`.
///
/// # Safety
/// The transport's communicator must be valid, and the buffers of the jobs for their bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_transport_execute(transport: TransportHandle, schedule: ScheduleHandle) -> c_int {
    guard(|| {
        let function = "optiq_transport_execute";
        let comm = TRANSPORTS.get(transport, function)?.lock().0;
        let jobs = SCHEDULES.get(schedule, function).map(|scheduled| scheduled.lock().jobs.clone());
        let empty = || Error::Argument("the schedule is empty; optiq_schedule_create_schedule comes first".into());
        // SAFETY: by this function's contract.
        unsafe { execute(|_| jobs?.ok_or_else(empty), comm, function) }
    })
}

/// Frees a transport and sets the handle to 0. Local. Since 0.1.
///
/// Returns 0 or a status code.
///
/// # Safety
/// `transport` must be NULL or valid for reading and writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_transport_finalize(transport: *mut TransportHandle) -> c_int {
    // SAFETY: by this function's contract.
    guard(|| unsafe { TRANSPORTS.free(transport, "optiq_transport_finalize") })
}
