//! What a session holds, how it is made, and what can be asked of it.

use super::combined_state::Combining;
use super::fast_path::FastPath;
use super::i32_counts::I32Counts;
use super::outcome::Outcome;
use super::plans::{KnownFallbacks, Measured, Plans, Row};
use super::queue::Queue;
use super::setup::Fabric;
use crate::config::Config;
use crate::error::Error;
use optiq_lower::decide::Decision;
use optiq_lower::forecast::Forecast;
use optiq_lower::model::CostModel;
use optiq_lower::placement::Placement;
use optiq_net::Network;
use optiq_transport::mpi::{Communicator, Reduction, ffi};
use optiq_transport::{Execution, Rank};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// What the persistent parts of one communicator's exchanges are kept in. Not `Send`: MPI handles belong to the
/// thread level that the program asked MPI for.
pub struct Session {
    pub(super) comm: Rc<Communicator>,
    /// What agreements are made by.
    pub(super) reduction: Reduction,
    /// What plain MPI serves goes here: on `comm`, every message would be compared with the receives that the transport
    /// has posted. The same as `comm` where there is no transport, and where callers call plain MPI themselves.
    pub(super) plain: Rc<Communicator>,
    pub(super) config: Config,
    /// The network and the back end; or why every call goes to plain MPI.
    pub(super) fabric: Result<Fabric, String>,
    pub(super) plans: RefCell<Plans>,
    pub(super) last: RefCell<Last>,
    /// Whether calls may go unagreed at all.
    pub(super) forecasts: bool,
    pub(super) forecast: RefCell<Forecast>,
    /// When ranks last agreed.
    pub(super) agreed_at: Cell<Instant>,
    pub(super) fast_path: Arc<FastPath>,
    pub(super) known_fallbacks: RefCell<KnownFallbacks>,
    pub(super) measured: Cell<Option<Measured>>,
    /// The row of MPI's calls that goes on or was made since the last agreement.
    pub(super) row: Cell<Option<Row>>,
    /// What is said of calls that were not agreed upon.
    pub(super) unagreed_decision: Arc<Decision>,
    /// What a call of a row is told of.
    pub(super) row_decision: Arc<Decision>,
    pub(super) queue: RefCell<Queue>,
    /// The last error was found in a call that was not agreed upon.
    pub(super) refused: Cell<bool>,
    /// Combined messages, for calls that are not agreed upon.
    pub(super) combining: RefCell<Combining>,
    /// Copies of a call's counts and displacements as C has them.
    pub(super) i32_counts: RefCell<I32Counts>,
}

/// What can be asked about the last call.
pub(super) struct Last {
    pub(super) decision: Arc<Decision>,
    pub(super) planned: Option<Arc<Decision>>,
    pub(super) execution: Execution,
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

    /// A session on a private communicator, whose callers pass their own call of plain MPI each time
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
        let forecasts = config.may_fall_back() && !config.check;
        Ok(Self {
            reduction: Reduction::new(fabric.as_ref().is_ok_and(|f| f.patient))?,
            plans: RefCell::new(Plans::new(config.plans)),
            last: RefCell::new(Last { decision, planned: None, execution: Execution::default() }),
            forecasts,
            forecast: RefCell::new(Forecast::default()),
            agreed_at: Cell::new(Instant::now()),
            fast_path: Arc::new(FastPath::new(
                plain.raw(),
                comm.size() as usize,
                fabric.is_err(),
                fabric.as_ref().map_or(u64::MAX, Fabric::least_bytes),
            )),
            known_fallbacks: RefCell::default(),
            measured: Cell::new(None),
            row: Cell::new(None),
            unagreed_decision: Arc::new(Decision::Mpi { reason }),
            row_decision: Arc::new(Decision::Mpi {
                reason: "it is measured against planned paths, in calls that follow each other".into(),
            }),
            queue: RefCell::default(),
            refused: Cell::new(false),
            combining: RefCell::new(Combining::new(config.min_gain)),
            i32_counts: RefCell::default(),
            comm,
            plain,
            config,
            fabric,
        })
    }

    /// Whether the session holds memory that other ranks see, which takes a collective call to give back.
    pub(crate) fn shares_memory(&self) -> bool {
        self.combining.borrow().shares_memory()
            || self.fabric.as_ref().is_ok_and(|f| f.shared.is_some() || f.capabilities().drop_is_collective)
    }

    /// This process's rank in the communicator.
    pub fn rank(&self) -> Rank {
        self.comm.rank()
    }

    /// Number of ranks in the communicator.
    pub fn size(&self) -> u32 {
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
        let planned = self.last.borrow().planned.clone().filter(|_| !self.fast_path.was_last());
        planned.map_or_else(|| self.decision(), |planned| Decision::clone(&planned))
    }

    /// How many demand sets were planned, or found not to be worth it, so far; those that come again are not counted again
    /// as long as they are kept (`OPTIQ_PLANS`).
    pub fn plans_made(&self) -> u64 {
        self.plans.borrow().made()
    }

    pub(crate) fn decided(&self) -> Arc<Decision> {
        if self.fast_path.was_last() {
            Arc::clone(&self.unagreed_decision)
        } else {
            Arc::clone(&self.last.borrow().decision)
        }
    }

    /// The cost model's parameters; `None` if every call goes to plain MPI.
    pub fn cost_model(&self) -> Option<CostModel> {
        self.fabric.as_ref().ok().map(|f| f.model)
    }

    /// What a call looks at that goes to plain MPI without an agreement.
    pub(crate) fn fast_path(&self) -> &Arc<FastPath> {
        &self.fast_path
    }

    /// Whether arguments of this signature are known to go to plain MPI in spite of their size.
    pub(crate) fn is_known_fallback(&self, signature: u64) -> bool {
        self.known_fallbacks.borrow().contains(signature)
    }

    /// The line for a call that went to plain MPI without an agreement.
    pub(crate) fn log_unagreed(&self) {
        self.log(&self.unagreed_decision);
    }

    /// What the last call did at this rank beyond plain MPI; zeros if plain MPI served it.
    pub fn execution(&self) -> Execution {
        if self.fast_path.was_last() { Execution::default() } else { self.last.borrow().execution }
    }

    /// The transport in use: `mpi-two-sided`, `mpi-one-sided`, or `none` if every call goes to plain MPI.
    pub fn transport(&self) -> &'static str {
        self.fabric.as_ref().map_or("none", Fabric::transport_name)
    }

    /// What can be asked from now on about the last call.
    pub(super) fn remember(&self, outcome: Outcome) {
        let Outcome { decision, planned, execution } = outcome;
        self.fast_path.is_over();
        *self.last.borrow_mut() = Last { decision, planned, execution };
    }

    /// One line for a call. The decision is the same on all ranks: one of them at level info is enough.
    pub(super) fn log(&self, decision: &Decision) {
        let level = if self.rank() == Rank(0) { log::Level::Info } else { log::Level::Debug };
        log::log!(level, "alltoallv on {} ranks served by {decision}", self.size());
    }

    /// The communicator of its own exchanges and agreements.
    pub(crate) fn communicator(&self) -> &Communicator {
        &self.comm
    }

    /// What a host must send or receive, in bytes, so that more than plain MPI may pay; 0 if OPTIQ serves everything.
    pub(crate) fn least_bytes(&self) -> u64 {
        let least = self.fabric.as_ref().map_or(0, Fabric::least_bytes);
        if self.config.may_fall_back() { least } else { 0 }
    }

    pub(crate) fn budget(&self) -> u64 {
        self.config.budget
    }

    /// Whether all ranks of the call get an error together with this one.
    pub(crate) fn is_agreed(&self, error: &Error) -> bool {
        self.fabric.is_ok() && !self.refused.replace(false) && !matches!(error, Error::Transport(_))
    }

    pub(super) fn warn_on_rank_0(&self, text: &str) {
        if self.rank() == Rank(0) {
            log::warn!("{text}");
        }
    }
}
