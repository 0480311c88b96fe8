//! Reads and writes of a server that were started.

use super::view::FileHandle;
use optiq_lower::aggregation::Piece;
use optiq_transport::Backoff;
use optiq_transport::mpi::{Library, check, ffi};
use std::collections::VecDeque;
use std::ffi::c_int;

/// The direction of a collective access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileDirection {
    Write,
    Read,
}

/// Whether non-blocking accesses are used. In MPICH 4.0 one that fails never completes: its ROMIO goes on asking for what is
/// over, inside `MPI_Wait`; and `MPI_Request_get_status` makes no progress with files. There a server blocks in each access.
const ASYNCHRONOUS: bool = matches!(Library::CURRENT, Library::OpenMpi);

/// The most at a time: MPI libraries keep lists of them, and a file system gains nothing from more.
const AT_ONCE: usize = 64;

/// Accesses of one half of a server's memory, and the first that failed.
pub(super) struct Accesses {
    direction: FileDirection,
    pending: VecDeque<Access>,
    failure: Option<String>,
}

struct Access {
    request: ffi::MPI_Request,
    /// Where in the view, and how many bytes must be read or written.
    start: u64,
    bytes: u64,
    /// In elements.
    offset: ffi::MPI_Offset,
    file: FileHandle,
    memory: *mut u8,
}

impl Accesses {
    pub(super) fn new(direction: FileDirection) -> Self {
        Self { direction, pending: VecDeque::new(), failure: None }
    }

    /// Starts the access of a piece, whose bytes are at `memory`; where nothing else is to be done `meanwhile`, it is carried out: a
    /// blocking access needs no thread and no polling, which processors that are shared would have to find time for. Reads ask
    /// for whole elements, of which fewer may be there at the end of a file.
    ///
    /// # Safety
    /// An open file with a contiguous view of elements of `element` bytes; the memory is valid and untouched until
    /// [`Accesses::wait`], and holds the piece rounded up to whole elements.
    pub(super) unsafe fn start(
        &mut self,
        file: FileHandle,
        (piece, memory): (&Piece, *mut u8),
        element: u64,
        meanwhile: bool,
    ) {
        while self.pending.len() >= AT_ONCE {
            self.wait_for_first();
        }
        // Nothing more is written behind a failure: what is not acknowledged need not be there.
        if self.failure.is_some() {
            return;
        }
        let (start, bytes) = (piece.extent.start, piece.extent.bytes);
        let offset = (start / element) as ffi::MPI_Offset;
        // Halves are at most 1 GiB.
        let count = bytes.div_ceil(element).saturating_mul(element) as c_int;
        if !(ASYNCHRONOUS && meanwhile) {
            // SAFETY: by this function's contract.
            let (code, done) = unsafe { self.at_once(file, offset, memory, count) };
            self.ends(start, bytes, code, done);
            return;
        }
        // SAFETY: by this function's contract; the request is overwritten.
        let (code, call, request) = unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let byte = ffi::RSMPI_UINT8_T;
            match self.direction {
                FileDirection::Write => {
                    let code = ffi::PMPI_File_iwrite_at(file.0, offset, memory.cast(), count, byte, &mut request);
                    (code, "MPI_File_iwrite_at", request)
                }
                FileDirection::Read => {
                    let code = ffi::PMPI_File_iread_at(file.0, offset, memory.cast(), count, byte, &mut request);
                    (code, "MPI_File_iread_at", request)
                }
            }
        };
        match check(code, call) {
            Ok(()) => self.pending.push_back(Access { request, start, bytes, offset, file, memory }),
            Err(error) => self.fails(start, bytes, &error.to_string()),
        }
    }

    /// Waits for all that was started.
    ///
    /// # Errors
    /// Which bytes could not be read or written, and why; each failure is told once.
    pub(super) fn wait(&mut self) -> Result<(), Failure> {
        while !self.pending.is_empty() {
            self.wait_for_first();
        }
        self.failure.take().map_or(Ok(()), |text| Err(Failure(text)))
    }

    /// Not by `MPI_Wait`: where an access failed, that of Open MPI 4.1 looks for the error handler of a file that its OMPIO
    /// did not write into the request, and crashes. Looking at the status calls no error handler.
    fn wait_for_first(&mut self) {
        let Some(mut access) = self.pending.pop_front() else { return };
        // SAFETY: a plain C struct of integers, for which all zeros is a value.
        let mut status: ffi::MPI_Status = unsafe { std::mem::zeroed() };
        status.MPI_ERROR = ffi::MPI_SUCCESS as c_int;
        let code = look_until_complete(access.request, &mut status);
        let mut done: ffi::MPI_Count = 0;
        // SAFETY: as above. What has completed with an error is only freed.
        unsafe {
            ffi::PMPI_Get_elements_x(&status, ffi::RSMPI_UINT8_T, &mut done);
            if access.request != ffi::RSMPI_REQUEST_NULL {
                ffi::PMPI_Request_free(&mut access.request);
            }
        }
        let done = u64::try_from(done).unwrap_or(0);
        let Access { start, bytes, offset, file, memory, .. } = access;
        // OMPIO completes what failed without an error and without a byte; asked again, in a blocking call, it says why.
        let (code, done) = match self.direction {
            // SAFETY: by the contract of `start`, file and memory are valid until this has been waited for.
            FileDirection::Write if code == ffi::MPI_SUCCESS as c_int && done < bytes => unsafe {
                self.at_once(file, offset, memory, bytes as c_int)
            },
            _ => (code, done),
        };
        self.ends(start, bytes, code, done);
    }

    /// A blocking access: its code, and the bytes that it moved.
    ///
    /// # Safety
    /// As [`Accesses::start`].
    unsafe fn at_once(&self, file: FileHandle, offset: ffi::MPI_Offset, memory: *mut u8, count: c_int) -> (c_int, u64) {
        let mut done: ffi::MPI_Count = 0;
        // SAFETY: by this function's contract; a status of ours.
        let code = unsafe {
            let mut status: ffi::MPI_Status = std::mem::zeroed();
            let byte = ffi::RSMPI_UINT8_T;
            let code = match self.direction {
                FileDirection::Write => {
                    ffi::PMPI_File_write_at(file.0, offset, memory.cast(), count, byte, &mut status)
                }
                FileDirection::Read => ffi::PMPI_File_read_at(file.0, offset, memory.cast(), count, byte, &mut status),
            };
            ffi::PMPI_Get_elements_x(&status, byte, &mut done);
            code
        };
        (code, u64::try_from(done).unwrap_or(0))
    }

    /// Whether an access that is over did what it should have.
    fn ends(&mut self, start: u64, bytes: u64, code: c_int, done: u64) {
        match check(code, if self.direction == FileDirection::Write { "MPI's write" } else { "MPI's read" }) {
            Err(error) => self.fails(start, bytes, &error.to_string()),
            Ok(()) if done < bytes => self.fails(start, bytes, &format!("MPI moved only {done} of them")),
            Ok(()) => {}
        }
    }

    fn fails(&mut self, start: u64, bytes: u64, why: &str) {
        let verb = if self.direction == FileDirection::Write { "write" } else { "read" };
        self.failure
            .get_or_insert_with(|| format!("could not {verb} {bytes} bytes at byte {start} of the view: {why}"));
    }
}

/// Polls a request's status; the code with which it completed.
fn look_until_complete(request: ffi::MPI_Request, status: &mut ffi::MPI_Status) -> c_int {
    let success = ffi::MPI_SUCCESS as c_int;
    let mut backoff = Backoff::default();
    let mut complete = 0;
    loop {
        // SAFETY: an active request and a status of ours.
        let code = unsafe { ffi::PMPI_Request_get_status(request, &mut complete, status) };
        if code != success {
            return code;
        }
        if complete != 0 {
            return status.MPI_ERROR;
        }
        backoff.idle();
    }
}

impl Drop for Accesses {
    /// The memory is about to go.
    fn drop(&mut self) {
        while !self.pending.is_empty() {
            self.wait_for_first();
        }
    }
}

/// What a server could not do.
#[derive(Debug)]
pub(super) struct Failure(pub(super) String);
