//! The collective calls on a file, and what is kept between them.
//!
//! A session belongs to the processes that opened a file, in their order, and serves any file that they open: nothing in it
//! depends on the handle, which it sees only during a call. So a handle's value may be used again for another file.

use super::access::Plan;
use super::agree::{Conclusion, Offer, State, conclude};
use super::requests::Way;
use super::view::FileHandle;
use super::view::{self, View};
use crate::config::Config;
use crate::error::{Error, Status};
use crate::session::Session;
use optiq_lower::aggregation::assign::{Assignment, Extent, assign, in_order, overlap};
use optiq_lower::aggregation::rounds::{MAX_HALF_BYTES, Rounds};
use optiq_lower::aggregation::servers::Servers;
use optiq_lower::decide::Decision;
use optiq_transport::mpi::{Communicator, check, ffi};
use std::cell::{Cell, RefCell, RefMut};
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

/// Collective file access of one group of processes. Not `Send`, like the [`Session`] in it.
pub struct FileSession {
    session: Session,
    /// Or why MPI serves all accesses.
    servers: Result<Servers, String>,
    budget: u64,
    assignment: Assignment,
    limit: Option<Duration>,
    settings: u64,
    memory: RefCell<Buffer>,
    /// Why it can be used no more: ranks left each other.
    broken: RefCell<Option<String>>,
    peak_buffer_bytes: Cell<u64>,
}

/// What an access did.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Bytes that this rank wrote, or that were there to be read.
    pub bytes: u64,
    /// What served it, and why.
    pub decision: Arc<Decision>,
}

/// A rank's access, in MPI's terms.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) way: Way,
    pub(crate) file: FileHandle,
    pub(crate) offset: ffi::MPI_Offset,
    /// Of a write, it is only read.
    pub(crate) buffer: *mut c_void,
    pub(crate) count: c_int,
    pub(crate) datatype: ffi::MPI_Datatype,
    pub(crate) status: *mut ffi::MPI_Status,
}

impl FileSession {
    /// A session of the processes of `comm`, in the order in which they opened their files; collective over it.
    ///
    /// # Errors
    /// As [`Session::new`]; with [`Config::strict`], `OPTIQ_IO_HOSTS` that are not there.
    ///
    /// # Safety
    /// As [`Session::new`].
    pub unsafe fn new(comm: ffi::MPI_Comm, config: Config) -> Result<Self, Error> {
        let (budget, assignment) = (config.io_budget, config.io_assignment);
        let limit = config.io_timeout.map(Duration::from_secs_f64);
        let (hosts, strict) = (config.io_hosts.clone(), config.strict);
        // SAFETY: by this function's contract.
        let session = unsafe { Session::new(comm, config)? };
        let servers = match (session.network(), session.placement()) {
            (Some(network), Some(placement)) => match &hosts {
                None => Servers::new(network, placement),
                Some(list) => {
                    let marked = network.parse_io_hosts(list).and_then(|io| network.clone().with_io_hosts(&io));
                    let marked = marked.map_err(|e| format!("OPTIQ_IO_HOSTS: {e}"));
                    marked.and_then(|network| Servers::new(&network, placement))
                }
            },
            // The same for files as for messages.
            _ => Err(match session.decision() {
                Decision::Mpi { reason } => reason,
                other => other.to_string(),
            }),
        };
        if let Err(reason) = &servers
            && hosts.is_some()
            && session.network().is_some()
        {
            if strict {
                return Err(Error::Setup(reason.clone()));
            }
            if session.rank() == 0 {
                log::warn!("{reason}; file accesses go to plain MPI");
            }
        }
        // Now, when all ranks can still agree on what to do without.
        let serves = servers.as_ref().is_ok_and(|s| s.list().iter().any(|s| s.rank == session.rank()));
        let memory = Buffer::new(if serves { 2 * half(budget) } else { 0 });
        let mut enough = [i64::from(memory.is_ok())];
        session.communicator().all_min(&mut enough)?;
        let (memory, servers) = match memory {
            Ok(memory) if enough[0] == 1 => (memory, servers),
            Ok(_) => (Buffer::default(), Err("an I/O host has no memory for OPTIQ_IO_BUDGET".into())),
            Err(error) => (Buffer::default(), Err(error.to_string())),
        };
        // The network itself was compared when the session was made, but I/O hosts are no part of its fingerprint.
        let list = servers.as_ref().map(|s| format!("{:?}", s.list())).unwrap_or_default();
        let settings = xxhash_rust::xxh3::xxh3_64(list.as_bytes()) & !1;
        Ok(Self {
            session,
            servers,
            budget,
            assignment,
            limit,
            settings,
            memory: RefCell::new(memory),
            broken: RefCell::default(),
            peak_buffer_bytes: Cell::new(0),
        })
    }

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
    ) -> Result<Transfer, Error> {
        let buffer = buffer.cast_mut();
        // SAFETY: passed on; the buffer is only read.
        unsafe { self.access(Call { way: Way::Write, file, offset, buffer, count, datatype, status }) }
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
    ) -> Result<Transfer, Error> {
        // SAFETY: passed on.
        unsafe { self.access(Call { way: Way::Read, file, offset, buffer, count, datatype, status }) }
    }

    /// The servers; `None` if MPI serves all accesses.
    pub fn servers(&self) -> Option<&Servers> {
        self.servers.as_ref().ok()
    }

    /// The session that moves the bytes.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The most memory that accesses had at this rank, in bytes: both halves. At most `OPTIQ_IO_BUDGET`, and 0 at ranks
    /// that are no servers.
    pub fn peak_buffer_bytes(&self) -> u64 {
        self.peak_buffer_bytes.get()
    }

    pub(super) fn comm(&self) -> &Communicator {
        self.session.communicator()
    }

    pub(super) fn limit(&self) -> Option<Duration> {
        self.limit
    }

    pub(super) fn memory(&self) -> Reserved<'_> {
        Reserved { buffer: self.memory.borrow_mut(), peak: &self.peak_buffer_bytes }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken.borrow().is_some()
    }

    /// Ranks are no longer together: nothing collective can be done with them.
    pub(super) fn give_up(&self, error: &Error) {
        self.session.abandon_started();
        *self.broken.borrow_mut() = Some(error.to_string());
    }

    /// # Safety
    /// As [`FileSession::write_at_all`].
    pub(crate) unsafe fn access(&self, call: Call) -> Result<Transfer, Error> {
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
        if call.way == Way::Read {
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
        let mine = extents[self.comm().rank() as usize];
        let plan = Plan {
            way: call.way,
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
        match (call.way, one_way) {
            (Way::Read, (true, _)) => {
                return Err(Error::Argument("the file was opened with MPI_MODE_WRONLY and cannot be read".into()));
            }
            (Way::Write, (_, true)) => {
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
        if call.way == Way::Read && self.comm().rank() == 0 {
            // SAFETY: by this function's contract.
            offer.size = unsafe { call.file.bytes_behind(view.displacement)? };
        }
        Ok(offer)
    }

    fn offer(&self, call: &Call, state: State) -> Offer {
        let settings = self.settings | u64::from(call.way == Way::Read);
        Offer { state, extent: Extent::default(), element: 1, displacement: 0, size: 0, settings }
    }

    /// Lets the MPI library do it.
    ///
    /// # Safety
    /// As [`FileSession::access`].
    unsafe fn hand_over(&self, call: &Call, reason: String) -> Result<Transfer, Error> {
        // SAFETY: passed on.
        let name = unsafe { call.hand_over()? };
        Ok(self.done(call, 0, Decision::MpiFile { call: name, reason }))
    }

    fn done(&self, call: &Call, bytes: u64, decision: Decision) -> Transfer {
        let level = if self.session.rank() == 0 { log::Level::Info } else { log::Level::Debug };
        let what = if call.way == Way::Write { "write_at_all" } else { "read_at_all" };
        log::log!(level, "{what} on {} ranks served by {decision}", self.session.size());
        Transfer { bytes, decision: Arc::new(decision) }
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
            match self.way {
                Way::Write => {
                    let code = ffi::PMPI_File_write_at_all(file.0, offset, buffer, count, datatype, status);
                    check(code, "MPI_File_write_at_all")?;
                    Ok("MPI_File_write_at_all")
                }
                Way::Read => {
                    let code = ffi::PMPI_File_read_at_all(file.0, offset, buffer, count, datatype, status);
                    check(code, "MPI_File_read_at_all")?;
                    Ok("MPI_File_read_at_all")
                }
            }
        }
    }
}

/// Half of a budget.
fn half(budget: u64) -> u64 {
    (budget / 2).min(MAX_HALF_BYTES)
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

/// Memory for both halves, kept from access to access, and not touched before it is used.
#[derive(Default)]
struct Buffer(Vec<u8>);

impl Buffer {
    /// Of so many bytes, which the system need not have before they are touched.
    fn new(bytes: u64) -> Result<Self, Error> {
        let mut buffer = Vec::new();
        let none = |_| Error::Setup(format!("there is no memory for the {bytes} bytes of OPTIQ_IO_BUDGET"));
        buffer.try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX)).map_err(none)?;
        Ok(Self(buffer))
    }
}

/// It, while an access uses it.
pub(super) struct Reserved<'a> {
    buffer: RefMut<'a, Buffer>,
    peak: &'a Cell<u64>,
}

impl Reserved<'_> {
    /// So many bytes, which are within the budget.
    pub(super) fn take(&mut self, bytes: u64) -> Result<*mut u8, Error> {
        let there = self.buffer.0.capacity() as u64;
        if bytes > there {
            return Err(Error::Setup(format!("an access needs {bytes} bytes of memory, but the budget is {there}")));
        }
        self.peak.set(self.peak.get().max(bytes));
        Ok(self.buffer.0.as_mut_ptr())
    }
}
