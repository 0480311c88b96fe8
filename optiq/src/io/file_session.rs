//! What a file session holds, and how it is made.

use crate::config::Config;
use crate::error::Error;
use crate::session::Session;
use optiq_lower::aggregation::assign::Assignment;
use optiq_lower::aggregation::rounds::MAX_HALF_BYTES;
use optiq_lower::aggregation::servers::Servers;
use optiq_lower::decide::Decision;
use optiq_transport::Rank;
use optiq_transport::mpi::{Communicator, ffi};
use std::cell::{Cell, RefCell, RefMut};
use std::time::Duration;

/// Collective file access of one group of processes. Not `Send`, like the [`Session`] in it.
pub struct FileSession {
    pub(super) session: Session,
    /// Or why MPI serves all accesses.
    pub(super) servers: Result<Servers, String>,
    pub(super) budget: u64,
    pub(super) assignment: Assignment,
    pub(super) limit: Option<Duration>,
    pub(super) settings: u64,
    pub(super) memory: RefCell<Buffer>,
    /// Why it can be used no more: ranks left each other.
    pub(super) broken: RefCell<Option<String>>,
    pub(super) peak_buffer_bytes: Cell<u64>,
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
            if session.rank() == Rank(0) {
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
}

/// Half of a budget.
pub(super) fn half(budget: u64) -> u64 {
    (budget / 2).min(MAX_HALF_BYTES)
}

/// Memory for both halves, kept from access to access, and not touched before it is used.
#[derive(Default)]
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    /// Of `bytes` bytes, which the system need not have before they are touched.
    fn new(bytes: u64) -> Result<Self, Error> {
        let mut buffer = Vec::new();
        let none = |_| Error::Setup(format!("there is no memory for the {bytes} bytes of OPTIQ_IO_BUDGET"));
        buffer.try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX)).map_err(none)?;
        Ok(Self(buffer))
    }
}

/// The memory, while an access uses it.
pub(super) struct Reserved<'a> {
    buffer: RefMut<'a, Buffer>,
    peak: &'a Cell<u64>,
}

impl Reserved<'_> {
    /// `bytes` bytes, which are within the budget.
    pub(super) fn take(&mut self, bytes: u64) -> Result<*mut u8, Error> {
        let there = self.buffer.0.capacity() as u64;
        if bytes > there {
            return Err(Error::Setup(format!("an access needs {bytes} bytes of memory, but the budget is {there}")));
        }
        self.peak.set(self.peak.get().max(bytes));
        Ok(self.buffer.0.as_mut_ptr())
    }
}
