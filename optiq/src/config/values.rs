//! The values of all options of a session.

use optiq_lower::aggregation::assign::Assignment;
use optiq_lower::choices::{Algorithm, Combine, DirectOrder, LegsChoice, TransportChoice};
use optiq_lower::decide::DecisionOptions;
use optiq_lower::placement::PlacementRule;
use optiq_lower::scores::Scores;
#[cfg(feature = "mpi")]
use optiq_net::spec::{AUTO, is_auto};
use optiq_solver::PlanError;
use optiq_solver::planner::PlannerName;
use optiq_transport::{ChunkRule, QueueOrder};
use std::fmt;
use std::str::FromStr;

/// Which planner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannerChoice {
    /// By the size of the problem.
    Auto,
    /// The one of this name.
    Named(PlannerName),
}

impl FromStr for PlannerChoice {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        match text {
            "auto" => Ok(PlannerChoice::Auto),
            name => name.parse().map(PlannerChoice::Named),
        }
    }
}

impl fmt::Display for PlannerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlannerChoice::Auto => f.pad("auto"),
            PlannerChoice::Named(name) => name.fmt(f),
        }
    }
}

/// In place of a file of background load: it is measured.
pub const MEASURE: &str = "measure";

/// All settings of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// `OPTIQ_TOPOLOGY`.
    pub topology: Option<String>,
    /// `OPTIQ_BACKGROUND`.
    pub background: Option<String>,
    /// `OPTIQ_COUNTERS`.
    pub counters: Option<String>,
    /// `OPTIQ_BUSY_LINKS`.
    pub busy_links: Option<String>,
    /// `OPTIQ_MAX_HOSTS`.
    pub max_hosts: usize,
    /// Files with the network, which `OPTIQ_TOPOLOGY=auto` looks at; `+` stands between several.
    pub topology_files: Option<String>,
    /// `OPTIQ_PLACEMENT`.
    pub placement: PlacementRule,
    /// `OPTIQ_ALGORITHM`.
    pub algorithm: Algorithm,
    /// `OPTIQ_PLANNER`.
    pub planner: PlannerChoice,
    /// `OPTIQ_K`.
    pub k: usize,
    /// `OPTIQ_TRANSPORT`.
    pub transport: TransportChoice,
    /// `OPTIQ_LEGS`.
    pub legs: LegsChoice,
    /// `OPTIQ_DIRECT_ORDER`.
    pub direct_order: DirectOrder,
    /// `OPTIQ_COMBINE`.
    pub combine: Combine,
    /// `OPTIQ_CHUNK`.
    pub chunk: ChunkRule,
    /// `OPTIQ_WINDOW`.
    pub window: u64,
    /// `OPTIQ_BUDGET`.
    pub budget: u64,
    /// `OPTIQ_ORDER`.
    pub order: QueueOrder,
    /// `OPTIQ_SCORES`.
    pub scores: Scores,
    /// `OPTIQ_CALIBRATION`.
    pub calibration: Option<String>,
    /// `OPTIQ_MIN_BYTES`.
    pub min_bytes: Option<u64>,
    /// `OPTIQ_MIN_GAIN`.
    pub min_gain: f64,
    /// `OPTIQ_PLANS`.
    pub plans: usize,
    /// `OPTIQ_CHECK`.
    pub check: bool,
    /// `OPTIQ_PROGRESS`.
    pub progress: bool,
    /// `OPTIQ_STRICT`.
    pub strict: bool,
    /// `OPTIQ_IO_BUDGET`.
    pub io_budget: u64,
    /// `OPTIQ_IO_ASSIGNMENT`.
    pub io_assignment: Assignment,
    /// `OPTIQ_IO_HOSTS`.
    pub io_hosts: Option<String>,
    /// `OPTIQ_IO_TIMEOUT`, in seconds.
    pub io_timeout: Option<f64>,
    /// `OPTIQ_TRACE`.
    pub trace: Option<String>,
    /// `OPTIQ_TRACE_EVENTS`.
    pub trace_events: usize,
    /// `OPTIQ_POSTCARDS`.
    pub postcards: Option<String>,
    /// `OPTIQ_POSTCARDS_EVERY`.
    pub postcards_every: u32,
    /// `OPTIQ_DISABLE`.
    pub disable: bool,
    /// `OPTIQ_PRELOAD`.
    pub preload: Preload,
    /// `OPTIQ_REPORT`.
    pub report: bool,
    /// `OPTIQ_LEARNED`.
    pub learned: Option<String>,
    /// `OPTIQ_PROFILE`.
    pub profile: Option<String>,
    /// `OPTIQ_PROFILE_SIGNAL`.
    pub profile_signal: Option<ProfileSignal>,
    /// `OPTIQ_PROFILE_CALL_SITES`.
    pub profile_call_sites: bool,
    /// `OPTIQ_PROFILE_SOURCE`.
    pub profile_source: ProfileSource,
    /// `OPTIQ_LOG`.
    pub log: log::LevelFilter,
    /// The option or file of options that was rejected, and why, in a sentence; everything is left to plain MPI then.
    pub rejected: Option<String>,
}

/// Who counts messages for a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileSource {
    /// The MPI library where it can, else calls.
    Auto,
    /// The MPI library.
    Monitoring,
    /// The arguments of calls.
    Calls,
}

impl FromStr for ProfileSource {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "auto" => Ok(ProfileSource::Auto),
            "monitoring" => Ok(ProfileSource::Monitoring),
            "calls" => Ok(ProfileSource::Calls),
            _ => Err(()),
        }
    }
}

/// A signal upon which a profile is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileSignal {
    /// `SIGUSR1`.
    Usr1,
    /// `SIGUSR2`.
    Usr2,
}

impl FromStr for ProfileSignal {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "USR1" => Ok(ProfileSignal::Usr1),
            "USR2" => Ok(ProfileSignal::Usr2),
            _ => Err(()),
        }
    }
}

/// The MPI functions that the preload library takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preload {
    /// `MPI_Alltoallv`.
    pub alltoallv: bool,
    /// `MPI_Alltoall`.
    pub alltoall: bool,
    /// `MPI_Ialltoallv`.
    pub ialltoallv: bool,
    /// `MPI_Neighbor_alltoallv`.
    pub neighbor_alltoallv: bool,
    /// `MPI_Neighbor_alltoall`.
    pub neighbor_alltoall: bool,
    /// `MPI_Ineighbor_alltoallv`.
    pub ineighbor_alltoallv: bool,
}

impl Default for Preload {
    fn default() -> Self {
        Self { alltoallv: true, ..Self::NONE }
    }
}

impl Preload {
    const NONE: Self = Self {
        alltoallv: false,
        alltoall: false,
        ialltoallv: false,
        neighbor_alltoallv: false,
        neighbor_alltoall: false,
        ineighbor_alltoallv: false,
    };

    /// Whether there are functions among them that threads carry.
    pub fn starts(&self) -> bool {
        self.ialltoallv || self.ineighbor_alltoallv
    }
}

impl FromStr for Preload {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let mut on = Self::NONE;
        for name in text.split(',') {
            let function = match name.trim() {
                "alltoallv" => &mut on.alltoallv,
                "alltoall" => &mut on.alltoall,
                "ialltoallv" => &mut on.ialltoallv,
                "neighbor_alltoallv" => &mut on.neighbor_alltoallv,
                "neighbor_alltoall" => &mut on.neighbor_alltoall,
                "ineighbor_alltoallv" => &mut on.ineighbor_alltoallv,
                _ => return Err(()),
            };
            *function = true;
        }
        Ok(on)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            topology: None,
            background: None,
            counters: None,
            busy_links: None,
            max_hosts: 131_072,
            topology_files: None,
            placement: PlacementRule::Auto,
            algorithm: Algorithm::Auto,
            planner: PlannerChoice::Auto,
            k: 20,
            transport: TransportChoice::Auto,
            legs: LegsChoice::Auto,
            direct_order: DirectOrder::Auto,
            combine: Combine::default(),
            chunk: ChunkRule::Auto,
            window: 32,
            budget: 64 << 20,
            order: QueueOrder::Proportional,
            scores: Scores::default(),
            calibration: None,
            min_bytes: None,
            min_gain: 1.02,
            check: false,
            progress: false,
            plans: 16,
            strict: false,
            io_budget: 64 << 20,
            io_assignment: Assignment::Balanced,
            io_hosts: None,
            io_timeout: None,
            trace: None,
            trace_events: optiq_trace::DEFAULT_EVENTS,
            postcards: None,
            postcards_every: optiq_trace::postcards::DEFAULT_EVERY,
            disable: false,
            preload: Preload::default(),
            report: false,
            learned: None,
            profile: None,
            profile_signal: None,
            profile_call_sites: false,
            profile_source: ProfileSource::Auto,
            log: log::LevelFilter::Warn,
            rejected: None,
        }
    }
}

impl Config {
    /// A number for the settings that decide which collective calls a rank makes; ranks with different ones would wait
    /// for each other without end. The rest may differ, or its result is compared, as the network is.
    #[cfg(feature = "mpi")]
    pub(crate) fn agreed_settings(&self) -> i64 {
        let Config { calibration, topology, learned, .. } = self;
        let local = Config {
            // The rate of a network that is guessed is measured together.
            topology: topology.clone().filter(|spec| is_auto(spec)).map(|_| AUTO.into()),
            // What is in them is compared.
            topology_files: None,
            background: self.background.clone().filter(|_| self.measures_background()),
            calibration: calibration.as_ref().map(|_| String::new()),
            progress: false,
            trace: None,
            trace_events: 0,
            postcards: None,
            postcards_every: 0,
            disable: false,
            report: false,
            learned: learned.as_ref().map(|_| String::new()),
            profile: None,
            profile_signal: None,
            profile_call_sites: false,
            profile_source: ProfileSource::Auto,
            log: log::LevelFilter::Off,
            rejected: None,
            ..self.clone()
        };
        xxhash_rust::xxh3::xxh3_64(format!("{local:?}").as_bytes()) as i64
    }

    /// Whether what others use of the links is measured: `OPTIQ_BACKGROUND=measure`.
    pub fn measures_background(&self) -> bool {
        self.background.as_deref() == Some(MEASURE)
    }

    /// The file that says what others use of the links.
    pub fn background_file(&self) -> Option<&str> {
        self.background.as_deref().filter(|_| !self.measures_background())
    }

    /// What the decision between planned paths and plain MPI depends on.
    pub fn decision_options(&self) -> DecisionOptions<'_> {
        let Config { algorithm, scores, min_bytes, min_gain, chunk, .. } = self;
        DecisionOptions { algorithm: *algorithm, scores, min_bytes: *min_bytes, min_gain: *min_gain, chunk: *chunk }
    }

    /// Whether OPTIQ is free to choose plain MPI for exchanges of any size.
    #[cfg(feature = "mpi")]
    pub(crate) fn may_fall_back(&self) -> bool {
        self.algorithm == Algorithm::Auto && !self.scores.force()
    }
}
