//! Lists of jobs, from files or made by the program, and their execution (thesis Tables IV and V).

use super::arguments::class_of;
use super::calls;
use super::handles::{HandleKind, Handles, place, write};
use super::message::{guard, report};
use super::sessions::Sessions;
use super::settings::string;
use crate::error::Error;
use crate::session::Session;
use crate::session::packed_addresses;
use optiq_lower::transfers::{Transfer, TransferList};
use optiq_transport::Rank;
use optiq_transport::mpi::ffi;
use parking_lot::Mutex;
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::Arc;

/// A list of jobs: bytes from one rank to another, with the paths that they take. 0 is none.
pub type JobList = u64;

/// A list with its buffers.
pub(super) struct Listed {
    pub(super) list: TransferList,
    /// By job: where its bytes are at the source, and where they go at the destination.
    buffers: Vec<(*const c_void, *mut c_void)>,
    /// Where what arrives goes if a job says nothing itself.
    receive: (*mut c_void, u64),
    /// What arrived at the last execution.
    received: u64,
}

// SAFETY: addresses of the program's, which are used in its calls only.
unsafe impl Send for Listed {}

pub(super) static JOBS: Handles<Listed> = Handles::new(HandleKind::Jobs);

impl Listed {
    fn new(list: TransferList) -> Self {
        Self { list, buffers: Vec::new(), receive: (std::ptr::null_mut(), 0), received: 0 }
    }

    fn checked(&self, job: i64) -> Result<usize, Error> {
        let count = self.list.list().len();
        let none = || Error::Argument(format!("there is no job {job}; there are {count}"));
        usize::try_from(job).ok().filter(|&j| j < count).ok_or_else(none)
    }

    fn buffer(&self, job: usize) -> (*const c_void, *mut c_void) {
        self.buffers.get(job).copied().unwrap_or((std::ptr::null(), std::ptr::null_mut()))
    }

    /// # Safety
    /// The buffers must be valid for the jobs that start and end here.
    unsafe fn execute(&mut self, session: &Session, comm: ffi::MPI_Comm, function: &'static str) -> Result<(), Error> {
        let me = session.rank();
        let (list, (buffer, length)) = (&self.list, self.receive);
        let from = (0..list.list().len()).map(|i| self.buffer(i).0.cast::<u8>()).collect();
        let places = |bytes: &[u64]| {
            let own: Vec<*mut u8> = (0..bytes.len()).map(|i| self.buffer(i).1.cast::<u8>()).collect();
            // Only those without a place of their own share the buffer.
            let shared: Vec<u64> = bytes.iter().zip(&own).map(|(&b, o)| if o.is_null() { b } else { 0 }).collect();
            let in_turn = if buffer.is_null() {
                vec![std::ptr::null_mut(); own.len()]
            } else {
                packed_addresses(list, me, &shared, buffer.cast(), length)?
            };
            Ok(own.into_iter().zip(in_turn).map(|(own, shared)| if own.is_null() { shared } else { own }).collect())
        };
        // SAFETY: by this function's contract.
        let bytes = unsafe { session.execute_transfers_at(list, Ok(from), &places) };
        // What is found before data moves, all ranks are told.
        let told = |e| if matches!(e, Error::Transport(_)) { report(session, comm, function, e) } else { e };
        let bytes = bytes.map_err(told)?;
        let arrived = list.list().iter().zip(&bytes).filter(|(j, _)| j.destination == me).map(|(_, &b)| b);
        self.received = arrived.fold(0, u64::saturating_add);
        calls::record("lists of transfers", &session.decided());
        Ok(())
    }
}

fn size(bytes: i64) -> Result<u64, Error> {
    u64::try_from(bytes).map_err(|_| Error::Argument(format!("{bytes} bytes are given; they must not be negative")))
}

fn rank(value: c_int) -> Result<Rank, Error> {
    u32::try_from(value).map(Rank).map_err(|_| Error::Argument(format!("the rank {value} is negative")))
}

/// An empty list of jobs. Local. Since 0.1.
///
/// Returns 0 or a status code, and in `jobs` a handle that `optiq_jobs_free` frees (0 after an error).
///
/// # Safety
/// `jobs` must be NULL or valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_jobs_create(jobs: *mut JobList) -> c_int {
    guard(|| {
        // SAFETY: by this function's contract; `place` has written there.
        unsafe {
            place(jobs, "jobs")?;
            Sessions::must_be_open("optiq_jobs_create")?;
            JOBS.hold(Listed::new(TransferList::new()), jobs);
        }
        Ok(())
    })
}

/// Reads a job file: pairs of ranks, their bytes, and the paths that were found for them beforehand. Local; every rank of a
/// communicator reads the same file. Since 0.1.
///
/// Returns 0 or a status code, and in `jobs` a handle that `optiq_jobs_free` frees (0 after an error).
///
/// # Safety
/// `jobs` must be NULL or valid for writing, `pathfile` NULL or a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_job_read_jobs_from_file(jobs: *mut JobList, pathfile: *const c_char) -> c_int {
    guard(|| {
        // SAFETY: by this function's contract; `place` has written there.
        unsafe {
            place(jobs, "jobs")?;
            Sessions::must_be_open("optiq_job_read_jobs_from_file")?;
            let file = string(pathfile, "the name of the job file")?;
            JOBS.hold(Listed::new(TransferList::read(Path::new(&file))?), jobs);
        }
        Ok(())
    })
}

/// Writes a job file, as JSON if its name ends with `.json`. Local: one rank is enough. Since 0.1.
///
/// Returns 0 or a status code; a file that exists is replaced when the new one is complete.
///
/// # Safety
/// `pathfile` must be NULL or a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_jobs_write(jobs: JobList, pathfile: *const c_char) -> c_int {
    guard(|| {
        // SAFETY: by this function's contract.
        let file = unsafe { string(pathfile, "the name of the job file")? };
        Ok(JOBS.get(jobs, "optiq_jobs_write")?.lock().list.write(Path::new(&file))?)
    })
}

/// Frees a list of jobs and sets the handle to 0; buffers are the program's. Local. Since 0.1.
///
/// Returns 0 or a status code.
///
/// # Safety
/// `jobs` must be NULL or valid for reading and writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_jobs_free(jobs: *mut JobList) -> c_int {
    // SAFETY: by this function's contract.
    guard(|| unsafe { JOBS.free(jobs, "optiq_jobs_free") })
}

/// Adds a job behind the others; a pair of ranks has at most one. All ranks add the same jobs. Local. Since 0.1.
///
/// Returns 0 or a status code.
#[unsafe(no_mangle)]
pub extern "C" fn optiq_jobs_add(jobs: JobList, source: c_int, destination: c_int, bytes: i64) -> c_int {
    guard(|| {
        let jobs = JOBS.get(jobs, "optiq_jobs_add")?;
        let added = jobs.lock().list.add(rank(source)?, rank(destination)?, size(bytes)?);
        Ok(added.map(|_| ())?)
    })
}

/// The number of jobs. Since 0.1.
///
/// Returns 0 or a status code. Thread-safe.
///
/// # Safety
/// `count` must be NULL or valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_jobs_get_count(jobs: JobList, count: *mut i64) -> c_int {
    guard(|| {
        let jobs = JOBS.get(jobs, "optiq_jobs_get_count")?;
        let number = jobs.lock().list.list().len() as i64;
        // SAFETY: by this function's contract.
        unsafe { write(count, number, "the number of jobs") }
    })
}

/// A job: the rank that sends, the rank that receives, its bytes, and the number of its paths. Places may be NULL. Since 0.1.
///
/// Returns 0 or a status code. Thread-safe.
///
/// # Safety
/// Places must be NULL or valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_jobs_get(
    jobs: JobList,
    job: i64,
    source: *mut c_int,
    destination: *mut c_int,
    bytes: *mut i64,
    paths: *mut c_int,
) -> c_int {
    guard(|| {
        let jobs = JOBS.get(jobs, "optiq_jobs_get")?;
        let jobs = jobs.lock();
        let found = &jobs.list.list()[jobs.checked(job)?];
        // SAFETY: by this function's contract.
        unsafe {
            source.as_mut().into_iter().for_each(|p| *p = found.source.0 as c_int);
            destination.as_mut().into_iter().for_each(|p| *p = found.destination.0 as c_int);
            bytes.as_mut().into_iter().for_each(|p| *p = found.bytes as i64);
            paths.as_mut().into_iter().for_each(|p| *p = found.paths.len() as c_int);
        }
        Ok(())
    })
}

/// Sets the bytes of a job. Only what its source says counts when it is executed; paths keep their proportions. Local.
/// Since 0.1.
///
/// Returns 0 or a status code.
#[unsafe(no_mangle)]
pub extern "C" fn optiq_jobs_set_demand(jobs: JobList, job: i64, bytes: i64) -> c_int {
    guard(|| {
        let jobs = JOBS.get(jobs, "optiq_jobs_set_demand")?;
        let mut jobs = jobs.lock();
        let job = jobs.checked(job)?;
        Ok(jobs.list.set_bytes(job, size(bytes)?)?)
    })
}

/// Sets the priority class of a job, from 0 (as it comes) to 255 (most urgent). Chunks of more urgent jobs go first at every rank;
/// paths are planned for all jobs together. All ranks set the same. Local. Since 0.1.
///
/// Returns 0 or a status code.
#[unsafe(no_mangle)]
pub extern "C" fn optiq_jobs_set_class(jobs: JobList, job: i64, priority_class: c_int) -> c_int {
    guard(|| {
        let jobs = JOBS.get(jobs, "optiq_jobs_set_class")?;
        let mut jobs = jobs.lock();
        let job = jobs.checked(job)?;
        Ok(jobs.list.set_class(job, class_of(priority_class)?)?)
    })
}

/// The priority class of a job. Since 0.1.
///
/// Returns 0 or a status code. Thread-safe.
///
/// # Safety
/// `priority_class` must be NULL or valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_jobs_get_class(jobs: JobList, job: i64, priority_class: *mut c_int) -> c_int {
    guard(|| {
        let jobs = JOBS.get(jobs, "optiq_jobs_get_class")?;
        let jobs = jobs.lock();
        let class = c_int::from(jobs.list.list()[jobs.checked(job)?].class);
        // SAFETY: by this function's contract.
        unsafe { write(priority_class, class, "the class of the job") }
    })
}

/// Sets where a job's bytes are, which matters at its source, and where they go, which matters at its destination; either may
/// be NULL elsewhere. Without a place of their own, bytes go where `optiq_jobs_set_receive_buffer` says. Both stay the
/// program's, and must stay valid until the jobs were executed. Local. Since 0.1.
///
/// Returns 0 or a status code.
#[unsafe(no_mangle)]
pub extern "C" fn optiq_jobs_set_buffers(
    jobs: JobList,
    job: i64,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
) -> c_int {
    guard(|| {
        let jobs = JOBS.get(jobs, "optiq_jobs_set_buffers")?;
        let mut jobs = jobs.lock();
        let job = jobs.checked(job)?;
        if jobs.buffers.len() <= job {
            jobs.buffers.resize(job + 1, (std::ptr::null(), std::ptr::null_mut()));
        }
        jobs.buffers[job] = (sendbuf, recvbuf);
        Ok(())
    })
}

/// Sets one buffer of `bytes` bytes for everything that arrives here, one job after the other in the order of the list. It
/// stays the program's. Local. Since 0.1.
///
/// Returns 0 or a status code.
#[unsafe(no_mangle)]
pub extern "C" fn optiq_jobs_set_receive_buffer(jobs: JobList, recvbuf: *mut c_void, bytes: i64) -> c_int {
    guard(|| {
        let jobs = JOBS.get(jobs, "optiq_jobs_set_receive_buffer")?;
        jobs.lock().receive = (recvbuf, size(bytes)?);
        Ok(())
    })
}

/// The bytes that arrived here when the jobs were executed last. Since 0.1.
///
/// Returns 0 or a status code. Thread-safe.
///
/// # Safety
/// `bytes` must be NULL or valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_jobs_get_received(jobs: JobList, bytes: *mut i64) -> c_int {
    guard(|| {
        let jobs = JOBS.get(jobs, "optiq_jobs_get_received")?;
        let received = jobs.lock().received as i64;
        // SAFETY: by this function's contract.
        unsafe { write(bytes, received, "the bytes that arrived") }
    })
}

/// Executes jobs: moves the bytes of every job from its source to its destination, along the paths that the jobs have, or
/// along planned ones. Collective over `comm`; every rank has the same jobs. Since 0.1.
///
/// Returns 0 or a status code, the same kind on every rank if something is found to be wrong before data moves.
///
/// # Safety
/// A valid communicator; the buffers of the jobs must be valid for their bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_execute_jobs(jobs: JobList, comm: ffi::MPI_Comm) -> c_int {
    guard(|| {
        let function = "optiq_execute_jobs";
        // SAFETY: by this function's contract.
        unsafe { execute(|_| JOBS.get(jobs, function), comm, function) }
    })
}

/// Reads a job file and executes it. Every job has `datasize` bytes, or those of the file if that is 0. Those that start
/// here take their bytes from `sendbuf`, one job after the other in the order of the file; those that end here go to
/// `recvbuf`, of `recvbytes` bytes, in the same way. Collective over `comm`. Since 0.1.
///
/// Returns 0 or a status code, the same kind on every rank if something is found to be wrong before data moves.
///
/// # Safety
/// A valid communicator; `jobfile` must be NULL or a string that ends with a zero byte, `sendbuf` valid for the bytes that
/// start here, `recvbuf` for `recvbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_execute_jobs_from_file(
    jobfile: *const c_char,
    datasize: i64,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvbytes: i64,
    comm: ffi::MPI_Comm,
) -> c_int {
    let function = "optiq_execute_jobs_from_file";
    guard(|| {
        // SAFETY: by this function's contract.
        let listed = |me| unsafe { listed(jobfile, datasize, sendbuf, recvbuf, recvbytes, me) };
        // SAFETY: by this function's contract.
        unsafe { execute(|me| listed(me).map(|l| Arc::new(Mutex::new(l))), comm, function) }
    })
}

/// Executes the jobs that `find` gives, if it gives some on every rank: one that has none must not leave the others waiting.
/// `find` is told this rank's number.
///
/// # Safety
/// As for [`optiq_execute_jobs`].
pub(super) unsafe fn execute(
    find: impl FnOnce(Rank) -> Result<Arc<Mutex<Listed>>, Error>,
    comm: ffi::MPI_Comm,
    function: &'static str,
) -> Result<(), Error> {
    let session = Sessions::intra(comm, function)?;
    let session = session.lock();
    let jobs = find(session.rank());
    session.settle(&jobs)?;
    // SAFETY: by this function's contract.
    unsafe { jobs?.lock().execute(&session, comm, function) }
}

/// # Safety
/// As for [`optiq_execute_jobs_from_file`].
unsafe fn listed(
    jobfile: *const c_char,
    datasize: i64,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvbytes: i64,
    me: Rank,
) -> Result<Listed, Error> {
    // SAFETY: by this function's contract.
    let file = unsafe { string(jobfile, "the name of the job file")? };
    let mut listed = Listed::new(TransferList::read(Path::new(&file))?);
    listed.receive = (recvbuf, size(recvbytes)?);
    let mut offset = 0u64;
    for job in 0..listed.list.list().len() {
        if datasize != 0 {
            listed.list.set_bytes(job, size(datasize)?)?;
        }
        let Transfer { source, bytes, .. } = listed.list.list()[job];
        let own = source == me && !sendbuf.is_null();
        let from = if own { sendbuf.wrapping_byte_add(offset as usize) } else { std::ptr::null() };
        listed.buffers.push((from, std::ptr::null_mut()));
        offset = offset.saturating_add(if own { bytes } else { 0 });
    }
    Ok(listed)
}
