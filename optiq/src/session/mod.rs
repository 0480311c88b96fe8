//! A communicator's session: its network, its plans, and the exchange itself.
//!
//! # How ranks agree
//!
//! A call is either left to plain MPI without a word, or begins with one reduction (module `agree`): the worst local
//! status, whether everybody's arguments are of a kind that can be served, how many bytes there are, and a key that
//! stands for everybody's blocks, under which the plan is kept. Which of the two it is, the `forecast` says, from nothing but earlier
//! agreements, and so alike on all ranks. Only if there is no plan, the counts are gathered, rank 0 plans and sends
//! the plan out, and a second reduction makes sure that all can use it. So no rank ever takes another way than the
//! others, whatever its arguments.
//!
//! # Predicted, then measured
//!
//! The cost model decides about demands that were never seen. How long calls take travels with later agreements, and
//! from the third use of a plan on the faster of planned paths and plain MPI serves it (`Trials` in module `plans`).

mod agree;
mod exchange;
mod forecast;
mod jobs;
mod narrow;
mod operation;
mod persistent;
mod plans;
mod quick;
mod setup;
mod tracing;

use crate::blocks::Blocks;
use crate::config::Config;
use crate::error::Error;
use agree::Measured;
use exchange::Outcome;
use forecast::Forecast;
pub(crate) use jobs::end_to_end;
use narrow::Narrow;
use operation::Queue;
pub(crate) use operation::{Kept, Operation};
use optiq_lower::decide::Decision;
use optiq_lower::model::CostModel;
use optiq_lower::placement::Placement;
use optiq_net::Network;
use optiq_transport::mpi::{Communicator, Reduction, check, ffi};
use optiq_transport::{Execution, Rank, TransportError};
pub use persistent::Persistent;
use plans::{KnownAside, Plans};
pub(crate) use quick::Quick;
use setup::Fabric;
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// What the persistent parts of one communicator's exchanges are kept in. Not `Send`: MPI handles belong to the
/// thread level that the program asked MPI for.
pub struct Session {
    comm: Rc<Communicator>,
    /// What agreements are made by.
    reduction: Reduction,
    /// What plain MPI serves goes here: on `comm`, every message would be compared with the receives that the transport
    /// has posted. The same as `comm` where there is no transport, and where callers bring their own way to plain MPI.
    plain: Rc<Communicator>,
    config: Config,
    /// The network and the back end; or why every call goes to plain MPI.
    fabric: Result<Fabric, String>,
    plans: RefCell<Plans>,
    last: RefCell<Last>,
    /// Whether calls may go unagreed at all.
    forecasts: bool,
    forecast: RefCell<Forecast>,
    /// When ranks last agreed.
    agreed_at: Cell<Instant>,
    quick: Arc<Quick>,
    aside: RefCell<KnownAside>,
    measured: Cell<Option<Measured>>,
    /// What is said of calls that were not agreed upon.
    unasked: Arc<Decision>,
    queue: RefCell<Queue>,
    /// The last error was found in a call that was not agreed upon.
    refused: Cell<bool>,
    /// Copies of a call's counts and displacements as C has them.
    narrow: RefCell<Narrow>,
}

/// What can be asked about the last call.
struct Last {
    decision: Arc<Decision>,
    planned: Option<Arc<Decision>>,
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

/// A buffer of C's with its counts, displacements and datatype.
pub(crate) type Side<B> = (B, *const c_int, *const c_int, ffi::MPI_Datatype);

impl Arguments {
    /// What is sent, and what is received.
    pub(crate) fn new(send: Side<*const c_void>, receive: Side<*mut c_void>) -> Self {
        let (send, send_counts, send_displacements, send_type) = send;
        let (receive, receive_counts, receive_displacements, receive_type) = receive;
        Self {
            send,
            send_counts,
            send_displacements,
            send_type,
            receive,
            receive_counts,
            receive_displacements,
            receive_type,
        }
    }

    /// Lets the MPI library do it.
    ///
    /// # Safety
    /// As for `MPI_Alltoallv`.
    pub(crate) unsafe fn hand_over(&self, comm: ffi::MPI_Comm) -> Result<(), TransportError> {
        // SAFETY: passed on.
        check(unsafe { self.call(comm) }, "MPI_Alltoallv")
    }

    /// The same, with MPI's own code.
    ///
    /// # Safety
    /// As for `MPI_Alltoallv`.
    #[inline]
    pub(crate) unsafe fn call(&self, comm: ffi::MPI_Comm) -> c_int {
        // SAFETY: the caller's arguments, passed on.
        unsafe {
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
        }
    }
}

/// How plain MPI serves a call, if it is to.
pub(crate) enum ByMpi<'a> {
    /// With these arguments, on a duplicate of the communicator.
    Arguments(Arguments),
    /// The caller does it, on the program's own communicator, and keeps MPI's code, which is returned here as well.
    Caller(&'a dyn Fn() -> c_int),
}

impl ByMpi<'_> {
    /// # Safety
    /// As for `MPI_Alltoallv`.
    unsafe fn hand_over(&self, comm: ffi::MPI_Comm) -> Result<(), TransportError> {
        match self {
            // SAFETY: passed on.
            ByMpi::Arguments(arguments) => unsafe { arguments.hand_over(comm) },
            ByMpi::Caller(call) => check(call(), "MPI_Alltoallv"),
        }
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
        let private = Rc::new(unsafe { Communicator::duplicate(comm)? });
        let fabric = Fabric::new(&private, &config)?;
        let plain = match &fabric {
            // SAFETY: as above.
            Ok(_) => Rc::new(unsafe { Communicator::duplicate(comm)? }),
            Err(_) => Rc::clone(&private),
        };
        Self::with(private, plain, fabric, config)
    }

    /// A session on a private communicator, whose callers bring their own way to plain MPI with every call
    /// ([`ByMpi::Caller`]); collective. The inner error says why every call would go there.
    ///
    /// # Errors
    /// As for [`Session::new`].
    pub(crate) fn on(comm: Communicator, config: Config) -> Result<Result<Self, String>, Error> {
        let comm = Rc::new(comm);
        let fabric = Fabric::new(&comm, &config)?;
        match fabric {
            Ok(fabric) => Self::with(Rc::clone(&comm), comm, Ok(fabric), config).map(Ok),
            Err(reason) => Ok(Err(reason)),
        }
    }

    /// A session on a private communicator that always serves, by plain MPI on the same communicator where it must;
    /// collective.
    ///
    /// # Errors
    /// As for [`Session::new`].
    pub(crate) fn over(comm: Rc<Communicator>, config: Config) -> Result<Self, Error> {
        let fabric = Fabric::new(&comm, &config)?;
        Self::with(Rc::clone(&comm), comm, fabric, config)
    }

    fn with(
        comm: Rc<Communicator>,
        plain: Rc<Communicator>,
        fabric: Result<Fabric, String>,
        config: Config,
    ) -> Result<Self, Error> {
        let reason = fabric.as_ref().err().cloned().unwrap_or_else(|| "no call yet".into());
        let decision = Arc::new(Decision::Mpi { reason });
        let reason = match &fabric {
            Ok(_) => "earlier calls had too little to move to win back an agreement".into(),
            Err(reason) => reason.clone(),
        };
        let forecasts = config.may_stand_aside() && !config.check;
        Ok(Self {
            reduction: Reduction::new()?,
            plans: RefCell::new(Plans::new(config.plans)),
            last: RefCell::new(Last { decision, planned: None, execution: Execution::default() }),
            forecasts,
            forecast: RefCell::new(Forecast::new()),
            agreed_at: Cell::new(Instant::now()),
            quick: Arc::new(Quick::new(
                plain.raw(),
                comm.size() as usize,
                fabric.is_err(),
                fabric.as_ref().map_or(u64::MAX, Fabric::least_bytes),
            )),
            aside: RefCell::default(),
            measured: Cell::new(None),
            unasked: Arc::new(Decision::Mpi { reason }),
            queue: RefCell::default(),
            refused: Cell::new(false),
            narrow: RefCell::default(),
            comm,
            plain,
            config,
            fabric,
        })
    }

    /// Whether the session holds memory that other ranks see, which takes a collective call to give back.
    pub(crate) fn shares_memory(&self) -> bool {
        self.fabric.as_ref().is_ok_and(|f| f.shared.is_some() || f.transport_name() == "mpi-one-sided")
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
        self.fabric.as_ref().ok().map(|f| &*f.network)
    }

    /// Network and placement to keep; or why every call goes to plain MPI.
    pub(crate) fn shared_network(&self) -> Result<(Arc<Network>, Placement), String> {
        self.fabric.as_ref().map(|f| (Arc::clone(&f.network), f.placement.clone())).map_err(Clone::clone)
    }

    /// Which host each rank is on; `None` if every call goes to plain MPI.
    pub fn placement(&self) -> Option<&Placement> {
        self.fabric.as_ref().ok().map(|f| &f.placement)
    }

    /// What served the last call, and why.
    pub fn decision(&self) -> Decision {
        Decision::clone(&self.decided())
    }

    /// What was decided for the last call's demands: as [`Session::decision`], unless plain MPI served them to be
    /// measured, or was found to be faster.
    pub fn planned(&self) -> Decision {
        let planned = self.last.borrow().planned.clone().filter(|_| !self.quick.was_last());
        planned.map_or_else(|| self.decision(), |planned| Decision::clone(&planned))
    }

    /// How many demand sets were planned, or found not to be worth it, so far; those that come again are not counted again
    /// as long as they are kept (`OPTIQ_PLANS`).
    pub fn plans_made(&self) -> u64 {
        self.plans.borrow().made()
    }

    pub(crate) fn decided(&self) -> Arc<Decision> {
        if self.quick.was_last() { Arc::clone(&self.unasked) } else { Arc::clone(&self.last.borrow().decision) }
    }

    /// The cost model's parameters; `None` if every call goes to plain MPI.
    pub fn cost_model(&self) -> Option<CostModel> {
        self.fabric.as_ref().ok().map(|f| f.model)
    }

    /// What a call looks at that goes to plain MPI without an agreement.
    pub(crate) fn quick(&self) -> &Arc<Quick> {
        &self.quick
    }

    /// Whether arguments of this signature are known to go to plain MPI in spite of their size.
    pub(crate) fn is_known_aside(&self, signature: u64) -> bool {
        self.aside.borrow().contains(signature)
    }

    /// The line for a call that went to plain MPI without an agreement.
    pub(crate) fn log_unasked(&self) {
        self.log(&self.unasked);
    }

    /// What the last call did at this rank beyond plain MPI; zeros if plain MPI served it.
    pub fn execution(&self) -> Execution {
        if self.quick.was_last() { Execution::default() } else { self.last.borrow().execution }
    }

    /// The transport in use: `mpi-two-sided`, `mpi-one-sided`, or `none` if every call goes to plain MPI.
    pub fn transport(&self) -> &'static str {
        self.fabric.as_ref().map_or("none", Fabric::transport_name)
    }

    /// Moves `send_counts[r]` elements from `send[send_displacements[r]..]` to rank `r`, and receives
    /// `receive_counts[r]` elements from it into `receive[receive_displacements[r]..]`; as `MPI_Alltoallv`, with
    /// 64-bit counts. Collective: every rank of the communicator must call it.
    ///
    /// In a call that ranks agree on, every rank gets an error if one does before data moves. In one that goes to plain
    /// MPI without an agreement (docs/decisions/012) an error is the rank's own, as in MPI, and the others wait for it;
    /// counts beyond 2^31 - 1 elements then end the job. With `OPTIQ_CHECK=1` ranks agree on every call.
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
        let equivalent = T::equivalent_datatype();
        let datatype = mpi::raw::AsRaw::as_raw(&equivalent);
        let ranks = self.quick.ranks();
        let mut narrow = self.narrow.borrow_mut();
        let sent = narrow.copy(ranks, 0, send_counts, send_displacements, send.len());
        let received = narrow.copy(ranks, 1, receive_counts, receive_displacements, receive.len());
        let lists = narrow.lists();
        // An empty slice's address is arbitrary and, for bytes, the very value of MPI_IN_PLACE in Open MPI.
        let from_address = if send.is_empty() { std::ptr::null() } else { send.as_ptr().cast() };
        let into_address = if receive.is_empty() { std::ptr::null_mut() } else { receive.as_mut_ptr().cast() };
        let arguments = (sent.countable && received.countable).then(|| Arguments {
            send: from_address,
            send_counts: lists[0].as_ptr(),
            send_displacements: lists[1].as_ptr(),
            send_type: datatype,
            receive: into_address,
            receive_counts: lists[2].as_ptr(),
            receive_displacements: lists[3].as_ptr(),
            receive_type: datatype,
        });
        let size = size_of::<T>() as u64;
        if let Some(arguments) = &arguments
            && sent.fit
            && received.fit
        {
            let bytes = sent.elements.max(received.elements).saturating_mul(size);
            if self.quick.skips(bytes, || self.is_known_aside(signature([lists[0], lists[2]], size))) {
                if log::max_level() >= log::LevelFilter::Info {
                    self.log_unasked();
                }
                // SAFETY: the slices are borrowed for the whole call and were checked against counts and displacements.
                let code = unsafe { arguments.call(self.quick.comm()) };
                return if code == ffi::MPI_SUCCESS as c_int { Ok(()) } else { Ok(check(code, "MPI_Alltoallv")?) };
            }
        }
        let from = self.side("send", send.as_ptr().cast_mut(), send.len(), send_counts, send_displacements);
        let into = self.side("receive", receive.as_mut_ptr(), receive.len(), receive_counts, receive_displacements);
        let local = from.and_then(|f| Ok(Local::Bytes(f, into?)));
        let signature = signature([lists[0], lists[2]], size);
        // SAFETY: the slices are borrowed for the whole call and were checked against counts and displacements.
        unsafe { self.exchange(local, arguments, signature) }
    }

    /// One side of a call, checked.
    fn side<T>(
        &self,
        what: &str,
        base: *mut T,
        length: usize,
        counts: &[usize],
        displacements: &[usize],
    ) -> Result<Blocks, Error> {
        let ranks = self.size() as usize;
        if counts.len() != ranks || displacements.len() != ranks {
            return Err(Error::Argument(format!(
                "there are {} {what} counts and {} displacements for {ranks} ranks",
                counts.len(),
                displacements.len()
            )));
        }
        if first_beyond(length, counts, displacements).is_some() {
            return Err(Error::Argument(format!("the {what} counts reach beyond the buffer's {length} elements")));
        }
        let wide = |list: &[usize]| list.iter().map(|&x| x as i64).collect::<Vec<_>>();
        // An empty block may have any displacement; it is not used.
        let used: Vec<usize> = counts.iter().zip(displacements).map(|(&c, &d)| if c > 0 { d } else { 0 }).collect();
        Blocks::new(what, base.cast(), &wide(counts), &wide(&used), size_of::<T>() as u64)
    }

    /// The collective part of a call.
    ///
    /// # Safety
    /// What `local` and `arguments` point to must be valid for the whole call, as for `MPI_Alltoallv`.
    pub(crate) unsafe fn exchange(
        &self,
        local: Result<Local, Error>,
        arguments: Option<Arguments>,
        signature: u64,
    ) -> Result<(), Error> {
        if self.quick.skips(0, || true) {
            // Nobody else knows of this call: it cannot be refused together.
            // SAFETY: passed on.
            return unsafe { self.unagreed(local, arguments) };
        }
        // SAFETY: passed on.
        unsafe { self.agreed(local, arguments.map(ByMpi::Arguments), signature) }
    }

    /// A call that all ranks agree on.
    ///
    /// # Safety
    /// As [`Session::exchange`].
    pub(crate) unsafe fn agreed(
        &self,
        local: Result<Local, Error>,
        by_mpi: Option<ByMpi<'_>>,
        signature: u64,
    ) -> Result<(), Error> {
        // SAFETY: passed on.
        let outcome = unsafe { self.serve(local, by_mpi, signature)? };
        self.log(&outcome.decision);
        self.remember(outcome);
        Ok(())
    }

    /// What can be asked from now on about the last call.
    fn remember(&self, outcome: Outcome) {
        let Outcome { decision, planned, execution } = outcome;
        self.quick.is_over();
        *self.last.borrow_mut() = Last { decision, planned, execution };
    }

    /// One line for a call. The decision is the same on all ranks: one of them at level info is enough.
    fn log(&self, decision: &Decision) {
        let level = if self.rank() == 0 { log::Level::Info } else { log::Level::Debug };
        log::log!(level, "alltoallv on {} ranks served by {decision}", self.size());
    }

    /// A call that others leave to plain MPI, and whose arguments are wrong or too large for it.
    ///
    /// # Safety
    /// As [`Session::exchange`].
    unsafe fn unagreed(&self, local: Result<Local, Error>, arguments: Option<Arguments>) -> Result<(), Error> {
        self.refused.set(true);
        local?;
        let Some(arguments) = arguments else {
            let text = "counts beyond 2^31 - 1 elements came after exchanges so small that ranks do not agree on each; \
                        set OPTIQ_CHECK=1 for programs that do this";
            log::error!("{text}");
            // SAFETY: the others wait inside MPI for this rank; there is no other way to tell them.
            unsafe { ffi::PMPI_Abort(self.comm.raw(), 1) };
            return Err(Error::Argument(text.into()));
        };
        // SAFETY: passed on.
        Ok(unsafe { arguments.hand_over(self.plain.raw()) }?)
    }

    /// The communicator of its own exchanges and agreements.
    pub(crate) fn communicator(&self) -> &Communicator {
        &self.comm
    }

    /// What a host must send or receive, in bytes, so that more than plain MPI may pay; 0 if OPTIQ serves everything.
    pub(crate) fn least_bytes(&self) -> u64 {
        let least = self.fabric.as_ref().map_or(0, Fabric::least_bytes);
        if self.config.may_stand_aside() { least } else { 0 }
    }

    pub(crate) fn budget(&self) -> u64 {
        self.config.budget
    }

    /// Whether all ranks of the call get an error together with this one.
    pub(crate) fn is_agreed(&self, error: &Error) -> bool {
        self.fabric.is_ok() && !self.refused.replace(false) && !matches!(error, Error::Transport(_))
    }

    fn warn_on_rank_0(&self, text: &str) {
        if self.rank() == 0 {
            log::warn!("{text}");
        }
    }
}

/// The first block that reaches beyond a buffer of `length` elements.
fn first_beyond(length: usize, counts: &[usize], displacements: &[usize]) -> Option<usize> {
    let beyond = |(&c, &d): (&usize, &usize)| c > 0 && c.checked_add(d).is_none_or(|end| end > length);
    counts.iter().zip(displacements).position(beyond)
}

/// Tells a rank's counts from others.
pub(crate) fn signature(counts: [&[c_int]; 2], size: u64) -> u64 {
    let mut hasher = xxhash_rust::xxh3::Xxh3::with_seed(size);
    for list in counts {
        for count in list {
            hasher.update(&count.to_le_bytes());
        }
    }
    hasher.digest()
}
