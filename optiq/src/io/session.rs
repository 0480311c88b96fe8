//! The collective calls on a file, and what is kept between them.
//!
//! A session belongs to the processes that opened a file, in their order, and serves any file that they open: nothing in it
//! depends on the handle, which it sees only during a call. So a handle's value may be used again for another file.

use super::access::Plan;
use super::agree::{Conclusion, Offer, State, conclude};
use super::file_session::{FileSession, half};
use super::requests::FileDirection;
use super::view::FileHandle;
use super::view::{self, View};
use crate::error::{Error, Status};
use optiq_lower::aggregation::assign::{Extent, assign, in_order, overlap};
use optiq_lower::aggregation::rounds::Rounds;
use optiq_lower::decide::Decision;
use optiq_transport::Rank;
use optiq_transport::mpi::{check, ffi};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// What an access did.
#[derive(Clone, Debug)]
pub struct FileTransfer {
    /// Bytes that this rank wrote, or that were there to be read.
    pub bytes: u64,
    /// What served it, and why.
    pub decision: Arc<Decision>,
}

/// A rank's access, in MPI's terms.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) direction: FileDirection,
    pub(crate) file: FileHandle,
    pub(crate) offset: ffi::MPI_Offset,
    /// Of a write, it is only read.
    pub(crate) buffer: *mut c_void,
    pub(crate) count: c_int,
    pub(crate) datatype: ffi::MPI_Datatype,
    pub(crate) status: *mut ffi::MPI_Status,
}

impl FileSession {
    /// As `MPI_File_write_at_all` (MPI 4.0, section 14.4.2): writes `count` elements from `buffer` at `offset`, which
    /// counts elements of the view. Collective over the processes that opened the file, which must be those of the session.
    ///
    /// # Errors
    /// [`Error::Argument`] if a rank's arguments are wrong, [`Error::File`] if a server could not write, or ranks were not
    /// there in time: on all ranks. What earlier calls wrote is in the file; of this call, any part may be.
    ///
    /// # Safety
    /// As for `MPI_File_write_at_all`: an open file, a buffer that holds what count and datatype say, a status that is
    /// `MPI_STATUS_IGNORE`, NULL or valid for writing.
    pub unsafe fn write_at_all(
        &self,
        file: FileHandle,
        offset: ffi::MPI_Offset,
        buffer: *const c_void,
        count: c_int,
        datatype: ffi::MPI_Datatype,
        status: *mut ffi::MPI_Status,
    ) -> Result<FileTransfer, Error> {
        let buffer = buffer.cast_mut();
        // SAFETY: passed on; the buffer is only read.
        unsafe { self.access(Call { direction: FileDirection::Write, file, offset, buffer, count, datatype, status }) }
    }

    /// As `MPI_File_read_at_all` (MPI 4.0, section 14.4.2): reads into `buffer`; fewer elements, or none, where the file
    /// ends. Otherwise as [`FileSession::write_at_all`].
    ///
    /// # Errors
    /// As [`FileSession::write_at_all`]; the buffer's contents are unspecified then.
    ///
    /// # Safety
    /// As for `MPI_File_read_at_all`.
    pub unsafe fn read_at_all(
        &self,
        file: FileHandle,
        offset: ffi::MPI_Offset,
        buffer: *mut c_void,
        count: c_int,
        datatype: ffi::MPI_Datatype,
        status: *mut ffi::MPI_Status,
    ) -> Result<FileTransfer, Error> {
        // SAFETY: passed on.
        unsafe { self.access(Call { direction: FileDirection::Read, file, offset, buffer, count, datatype, status }) }
    }

    /// # Safety
    /// As [`FileSession::write_at_all`].
    pub(crate) unsafe fn access(&self, call: Call) -> Result<FileTransfer, Error> {
        if let Some(why) = &*self.broken.borrow() {
            let text = format!("an earlier access by these ranks was given up: {why}");
            return Err(Error::File { status: Status::Transport, text });
        }
        let servers = match &self.servers {
            Ok(servers) => servers,
            // The same on all ranks.
            // SAFETY: passed on.
            Err(reason) => return unsafe { self.hand_over(&call, reason.clone()) },
        };
        // SAFETY: by this function's contract.
        let (mine, error) = match unsafe { self.read(&call) } {
            Ok(offer) => (offer, None),
            Err(error) => (self.offer(&call, State::Wrong), Some(error)),
        };
        let offers = self.gather(&mine)?;
        match conclude(&offers) {
            // A rank's own error has more to say.
            Conclusion::Wrong(rank) => return Err(error.unwrap_or(Error::ArgumentElsewhere(rank))),
            // SAFETY: passed on.
            Conclusion::OnlyMpi(reason) => return unsafe { self.hand_over(&call, reason) },
            Conclusion::Serve => {}
        }
        let view = View { displacement: mine.displacement, element: mine.element };
        let mut extents: Vec<Extent> = offers.iter().map(|o| o.extent).collect();
        if call.direction == FileDirection::Read {
            // As far as the file goes when rank 0 looked.
            let end = offers[0].size;
            for extent in &mut extents {
                extent.bytes = extent.bytes.min(end.saturating_sub(extent.start));
            }
        } else if let Some((a, b)) = overlap(&in_order(&extents)) {
            // What is written then is not defined, but MPI's to decide.
            // SAFETY: passed on.
            return unsafe { self.hand_over(&call, format!("ranks {a} and {b} write to the same bytes")) };
        }
        let placement = self.session.placement().ok_or(Error::NotInitialized("a file access"))?;
        let shares = assign(servers, placement, &extents, self.assignment, view.element);
        let least = self.session.least_bytes();
        let busiest = shares.iter().map(|s| s.iter().map(|s| s.extent.bytes).sum::<u64>()).max().unwrap_or(0);
        if busiest > 0 && busiest < least {
            let reason = format!("no I/O host gets more than {busiest} bytes, too few to win back an agreement");
            // SAFETY: passed on.
            return unsafe { self.hand_over(&call, reason) };
        }
        let half = half(self.budget);
        let Some(rounds) = Rounds::new(&shares, view.element, half, |rank| placement.host(rank)) else {
            let reason = format!("half of OPTIQ_IO_BUDGET does not hold one element of {} bytes", view.element);
            // SAFETY: passed on.
            return unsafe { self.hand_over(&call, reason) };
        };
        let rounds = rounds.at_once(servers.list(), 2 * half, self.session.agreement_seconds());
        let mine = extents[self.comm().rank().index()];
        let plan = Plan {
            direction: call.direction,
            file: call.file,
            rounds: &rounds,
            servers: servers.list(),
            element: view.element,
            displacement: view.displacement,
            mine,
            buffer: call.buffer.cast(),
        };
        // SAFETY: by this function's contract; the view is what was read.
        let moved = unsafe { self.carry_out(&plan)? };
        // SAFETY: by this function's contract.
        unsafe { view::set_status(call.status, mine.bytes)? };
        let decision = Decision::Aggregation {
            io_hosts: servers.list().len(),
            rounds: rounds.count(),
            moved: moved.map_or("nothing was to be moved".into(), |d| d.to_string()),
        };
        Ok(self.done(&call, mine.bytes, decision))
    }

    /// What this rank brings to the call.
    ///
    /// # Safety
    /// As [`FileSession::access`].
    unsafe fn read(&self, call: &Call) -> Result<Offer, Error> {
        let mut offer = self.offer(call, State::Fine);
        // SAFETY: by this function's contract.
        let (one_way, memory) = unsafe {
            let one_way = call.file.is_one_way()?;
            (one_way, view::memory(call.buffer, call.count, call.datatype)?)
        };
        if call.offset < 0 {
            return Err(Error::Argument(format!("the offset is {}; it must not be negative", call.offset)));
        }
        match (call.direction, one_way) {
            (FileDirection::Read, (true, _)) => {
                return Err(Error::Argument("the file was opened with MPI_MODE_WRONLY and cannot be read".into()));
            }
            (FileDirection::Write, (_, true)) => {
                return Err(Error::Argument("the file was opened with MPI_MODE_RDONLY and cannot be written".into()));
            }
            _ => {}
        }
        // SAFETY: by this function's contract.
        let view = match unsafe { call.file.view()? } {
            Ok(view) => view,
            Err(reason) => return Ok(Offer { state: State::OnlyMpi(reason), ..offer }),
        };
        let bytes = match memory {
            Ok(bytes) => bytes,
            Err(reason) => return Ok(Offer { state: State::OnlyMpi(reason), ..offer }),
        };
        if bytes % view.element != 0 {
            return Ok(Offer { state: State::OnlyMpi(view::Reason::PartialElement), ..offer });
        }
        offer.extent = Extent { start: view::start(call.offset, bytes, view)?, bytes };
        (offer.element, offer.displacement) = (view.element, view.displacement);
        if call.direction == FileDirection::Read && self.comm().rank() == Rank(0) {
            // SAFETY: by this function's contract.
            offer.size = unsafe { call.file.bytes_behind(view.displacement)? };
        }
        Ok(offer)
    }

    fn offer(&self, call: &Call, state: State) -> Offer {
        let settings = self.settings | u64::from(call.direction == FileDirection::Read);
        Offer { state, extent: Extent::default(), element: 1, displacement: 0, size: 0, settings }
    }

    /// Lets the MPI library do it.
    ///
    /// # Safety
    /// As [`FileSession::access`].
    unsafe fn hand_over(&self, call: &Call, reason: String) -> Result<FileTransfer, Error> {
        // SAFETY: passed on.
        let name = unsafe { call.hand_over()? };
        Ok(self.done(call, 0, Decision::MpiFile { call: name, reason }))
    }

    fn done(&self, call: &Call, bytes: u64, decision: Decision) -> FileTransfer {
        let level = if self.session.rank() == Rank(0) { log::Level::Info } else { log::Level::Debug };
        let what = if call.direction == FileDirection::Write { "write_at_all" } else { "read_at_all" };
        log::log!(level, "{what} on {} ranks served by {decision}", self.session.size());
        FileTransfer { bytes, decision: Arc::new(decision) }
    }
}

impl Call {
    /// # Safety
    /// As [`FileSession::access`].
    unsafe fn hand_over(&self) -> Result<&'static str, Error> {
        let Call { file, offset, buffer, count, datatype, status, .. } = *self;
        // SAFETY: a constant; MPI libraries differ in whether they take NULL for it.
        let status = if status.is_null() { unsafe { ffi::RSMPI_STATUS_IGNORE } } else { status };
        // SAFETY: passed on.
        unsafe {
            match self.direction {
                FileDirection::Write => {
                    let code = ffi::PMPI_File_write_at_all(file.0, offset, buffer, count, datatype, status);
                    check(code, "MPI_File_write_at_all")?;
                    Ok("MPI_File_write_at_all")
                }
                FileDirection::Read => {
                    let code = ffi::PMPI_File_read_at_all(file.0, offset, buffer, count, datatype, status);
                    check(code, "MPI_File_read_at_all")?;
                    Ok("MPI_File_read_at_all")
                }
            }
        }
    }
}

/// A file access that MPI serves without a session: for files whose processes cannot have one.
///
/// # Safety
/// As [`FileSession::write_at_all`] and [`FileSession::read_at_all`].
pub(crate) unsafe fn without_session(call: &Call, reason: String) -> Result<Decision, Error> {
    // SAFETY: passed on.
    let call = unsafe { call.hand_over()? };
    Ok(Decision::MpiFile { call, reason })
}
