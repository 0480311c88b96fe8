//! A communicator's session: its network, its plans, and the exchange itself.
//!
//! # How ranks agree
//!
//! Every call begins with one reduction of four words: the worst local status, whether everybody's arguments are
//! of a kind that can be served, and whether everybody finds the same plan in its cache. Only if not, the counts
//! are gathered, rank 0 plans and sends the plan out, and a second reduction makes sure that all can use it. So
//! no rank ever takes another way than the others, whatever its arguments.

mod exchange;
mod plans;
mod setup;

use crate::blocks::Blocks;
use crate::{Config, Decision, Error, Placement};
use exchange::Outcome;
use optiq_net::Network;
use optiq_transport::mpi::{Communicator, check, ffi};
use optiq_transport::{Execution, Rank, TransportError};
use plans::Plans;
use setup::Fabric;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

/// What the persistent parts of one communicator's exchanges are kept in. Not `Send`: MPI handles belong to the
/// thread level that the program asked MPI for.
pub struct Session {
    comm: Rc<Communicator>,
    config: Config,
    /// The network and the back end; or why every call goes to plain MPI.
    fabric: Result<Fabric, String>,
    plans: RefCell<Plans>,
    last: RefCell<Last>,
}

/// What can be asked about the last call.
struct Last {
    decision: Decision,
    execution: Execution,
}

/// `MPI_Alltoallv`'s arguments in C terms, for handing over.
pub(crate) struct Arguments {
    pub(crate) send: *const c_void,
    pub(crate) send_counts: *const c_int,
    pub(crate) send_displacements: *const c_int,
    pub(crate) send_type: ffi::MPI_Datatype,
    pub(crate) receive: *mut c_void,
    pub(crate) receive_counts: *const c_int,
    pub(crate) receive_displacements: *const c_int,
    pub(crate) receive_type: ffi::MPI_Datatype,
}

impl Arguments {
    /// Lets the MPI library do it.
    ///
    /// # Safety
    /// As for `MPI_Alltoallv`.
    pub(crate) unsafe fn hand_over(&self, comm: ffi::MPI_Comm) -> Result<(), TransportError> {
        // SAFETY: the caller's arguments, passed on.
        let code = unsafe {
            ffi::PMPI_Alltoallv(
                self.send,
                self.send_counts,
                self.send_displacements,
                self.send_type,
                self.receive,
                self.receive_counts,
                self.receive_displacements,
                self.receive_type,
                comm,
            )
        };
        check(code, "MPI_Alltoallv")
    }
}

/// Local view of a call after its arguments were read.
pub(crate) enum Local {
    /// Runs of bytes on both sides.
    Bytes(Blocks, Blocks),
    /// Something that only MPI can move; with the reason.
    OnlyMpi(String),
}

impl Session {
    /// A session on a duplicate of `comm`; collective over it. With a configuration that cannot be used, calls go
    /// to plain MPI after one warning on rank 0, unless the configuration is strict.
    ///
    /// # Errors
    /// What MPI reports; with [`Config::strict`], a topology that cannot be read or does not fit the ranks.
    ///
    /// # Safety
    /// `comm` must be a valid intra-communicator, MPI must be initialised, and the session must be dropped before
    /// MPI is finalised.
    pub unsafe fn new(comm: ffi::MPI_Comm, config: Config) -> Result<Self, Error> {
        // SAFETY: by this function's contract.
        let comm = Rc::new(unsafe { Communicator::duplicate(comm)? });
        let fabric = Fabric::new(&comm, &config)?;
        let reason = fabric.as_ref().err().cloned().unwrap_or_else(|| "no call yet".into());
        let last = Last { decision: Decision::Mpi { reason }, execution: Execution::default() };
        let plans = RefCell::new(Plans::new(config.plans));
        Ok(Self { comm, config, fabric, plans, last: RefCell::new(last) })
    }

    /// This process's rank in the communicator.
    pub fn rank(&self) -> Rank {
        self.comm.rank()
    }

    /// Number of ranks in the communicator.
    pub fn size(&self) -> Rank {
        self.comm.size()
    }

    /// The network that the session plans on; `None` if every call goes to plain MPI.
    pub fn network(&self) -> Option<&Network> {
        self.fabric.as_ref().ok().map(|f| &f.network)
    }

    /// Which host each rank is on; `None` if every call goes to plain MPI.
    pub fn placement(&self) -> Option<&Placement> {
        self.fabric.as_ref().ok().map(|f| &f.placement)
    }

    /// What served the last call, and why.
    pub fn decision(&self) -> Decision {
        self.last.borrow().decision.clone()
    }

    /// What the last call did at this rank beyond plain MPI; zeros if plain MPI served it.
    pub fn execution(&self) -> Execution {
        self.last.borrow().execution
    }

    /// The transport in use: `mpi-two-sided`, `mpi-one-sided`, or `none` if every call goes to plain MPI.
    pub fn transport(&self) -> &'static str {
        self.fabric.as_ref().map_or("none", Fabric::transport_name)
    }

    /// Moves `send_counts[r]` elements from `send[send_displacements[r]..]` to rank `r`, and receives
    /// `receive_counts[r]` elements from it into `receive[receive_displacements[r]..]`; as `MPI_Alltoallv`, with
    /// 64-bit counts. Collective: every rank of the communicator must call it, and every rank gets an error if one
    /// does before data moves.
    ///
    /// # Errors
    /// [`Error::Argument`] for arrays that are not as long as there are ranks or reach beyond a buffer,
    /// [`Error::Counts`] if send and receive counts disagree, and what can fail on the way.
    pub fn alltoallv<T: mpi::traits::Equivalence>(
        &self,
        send: &[T],
        send_counts: &[usize],
        send_displacements: &[usize],
        receive: &mut [T],
        receive_counts: &[usize],
        receive_displacements: &[usize],
    ) -> Result<(), Error> {
        let size = size_of::<T>() as u64;
        let side = |what: &str, base: *mut u8, length: usize, counts: &[usize], displacements: &[usize]| {
            let ranks = self.size() as usize;
            if counts.len() != ranks || displacements.len() != ranks {
                return Err(Error::Argument(format!(
                    "there are {} {what} counts and {} displacements for {ranks} ranks",
                    counts.len(),
                    displacements.len()
                )));
            }
            let ends = counts.iter().zip(displacements).filter(|(c, _)| **c > 0).map(|(c, d)| c.checked_add(*d));
            if ends.clone().any(|end| end.is_none_or(|e| e > length)) {
                return Err(Error::Argument(format!("the {what} counts reach beyond the buffer's {length} elements")));
            }
            let wide = |list: &[usize]| list.iter().map(|&x| x as i64).collect::<Vec<_>>();
            // An empty block may have any displacement; it is not used.
            let used: Vec<usize> = counts.iter().zip(displacements).map(|(&c, &d)| if c > 0 { d } else { 0 }).collect();
            Blocks::new(what, base, &wide(counts), &wide(&used), size)
        };
        let from = side("send", send.as_ptr().cast_mut().cast(), send.len(), send_counts, send_displacements);
        let into = side("receive", receive.as_mut_ptr().cast(), receive.len(), receive_counts, receive_displacements);
        let local = from.and_then(|f| Ok(Local::Bytes(f, into?)));
        // An empty slice's address is arbitrary and, for bytes, the very value of MPI_IN_PLACE in Open MPI.
        let from_address = if send.is_empty() { std::ptr::null() } else { send.as_ptr().cast() };
        let into_address = if receive.is_empty() { std::ptr::null_mut() } else { receive.as_mut_ptr().cast() };
        // The counts again as C has them, should plain MPI serve the call.
        let narrow = |list: &[usize]| list.iter().map(|&x| c_int::try_from(x).ok()).collect::<Option<Vec<_>>>();
        let [a, b, c, d] = [send_counts, send_displacements, receive_counts, receive_displacements].map(narrow);
        let equivalent = T::equivalent_datatype();
        let datatype = mpi::raw::AsRaw::as_raw(&equivalent);
        let arguments = match (&a, &b, &c, &d) {
            (Some(a), Some(b), Some(c), Some(d)) => Some(Arguments {
                send: from_address,
                send_counts: a.as_ptr(),
                send_displacements: b.as_ptr(),
                send_type: datatype,
                receive: into_address,
                receive_counts: c.as_ptr(),
                receive_displacements: d.as_ptr(),
                receive_type: datatype,
            }),
            _ => None,
        };
        // SAFETY: the slices are borrowed for the whole call and were checked against counts and displacements.
        unsafe { self.exchange(local, arguments) }
    }

    /// The collective part of a call.
    ///
    /// # Safety
    /// What `local` and `arguments` point to must be valid for the whole call, as for `MPI_Alltoallv`.
    pub(crate) unsafe fn exchange(
        &self,
        local: Result<Local, Error>,
        arguments: Option<Arguments>,
    ) -> Result<(), Error> {
        // SAFETY: passed on.
        let Outcome { decision, execution } = unsafe { self.serve(local, arguments)? };
        // The decision is the same on all ranks: one line is enough.
        let level = if self.rank() == 0 { log::Level::Info } else { log::Level::Debug };
        log::log!(level, "alltoallv on {} ranks served by {decision}", self.size());
        *self.last.borrow_mut() = Last { decision, execution };
        Ok(())
    }

    pub(crate) fn budget(&self) -> u64 {
        self.config.budget
    }

    /// Whether all ranks of the call get an error together with this one.
    pub(crate) fn is_agreed(&self, error: &Error) -> bool {
        self.fabric.is_ok() && !matches!(error, Error::Transport(_))
    }

    fn warn_on_rank_0(&self, text: &str) {
        if self.rank() == 0 {
            log::warn!("{text}");
        }
    }
}
