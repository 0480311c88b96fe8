//! What can go wrong between a demand list and a plan. Every message is one sentence that names the demand, file or
//! option, what was found and what was expected.

use optiq_net::NetError;
use thiserror::Error;

/// Why demands could not be read from a pattern or a file.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum DemandError {
    /// The text is neither `pattern:...` nor `file:...`.
    #[error("demands \"{0}\" are not understood; expected pattern:NAME[,KEY=VALUE...] or file:PATH")]
    Form(String),
    /// A pattern's name, key or value is wrong, or the pattern does not fit the network.
    #[error("demand pattern \"{pattern}\": {problem}")]
    Pattern {
        /// The pattern as it was given, without `pattern:`.
        pattern: String,
        /// What is wrong with it, as the rest of the sentence.
        problem: String,
    },
    /// The demand file cannot be read.
    #[error("demand file {path} cannot be read: {problem}")]
    Io {
        /// The file.
        path: String,
        /// The operating system's words.
        problem: String,
    },
    /// A line of the demand file is wrong.
    #[error("{path}:{line}: {problem}")]
    Line {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What was found and what was expected.
        problem: String,
    },
}

/// Why a path file could not be read or written.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PathFileError {
    /// The file cannot be opened, read or written.
    #[error("path file {path}: {problem}")]
    Io {
        /// The file.
        path: String,
        /// The operating system's words.
        problem: String,
    },
    /// The file was made for another network.
    #[error("{path} holds paths of network {found}, but the network given is {expected}")]
    OtherNetwork {
        /// The file.
        path: String,
        /// The fingerprint in the file.
        found: String,
        /// The fingerprint of the network given.
        expected: String,
    },
    /// A line is wrong.
    #[error("{path}:{line}: {problem}")]
    Line {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What was found and what was expected.
        problem: String,
    },
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PlanError {
    /// A demand's destination cannot be reached from its source.
    #[error("there is no path from {from} to {to}, which demand {demand} needs")]
    Unconnected {
        /// Index of the demand.
        demand: usize,
        /// Name of its source.
        from: String,
        /// Name of its destination.
        to: String,
    },
    /// A demand names a vertex that is not a host of the network.
    #[error("demand {demand} names host {node}, but the network's hosts are numbered 0 to {last}")]
    NoSuchHost {
        /// Index of the demand.
        demand: usize,
        /// The number it names.
        node: u32,
        /// The last host's number.
        last: u32,
    },
    /// A demand's source is its destination.
    #[error("demand {demand} is from {name} to itself; only bytes between different hosts can be planned")]
    SelfDemand {
        /// Index of the demand.
        demand: usize,
        /// Name of the host.
        name: String,
    },
    /// The demands' bytes do not fit 64 bits when summed.
    #[error("the demands up to demand {demand} (from {from} to {to}) sum to more bytes than 64 bits hold")]
    Overflow {
        /// Index of the demand at which the sum overflows.
        demand: usize,
        /// Name of its source.
        from: String,
        /// Name of its destination.
        to: String,
    },
    /// `k` outside of its range.
    #[error("k is {found}; from 1 to {max} candidate paths per demand can be asked for")]
    K {
        /// The value given.
        found: usize,
        /// The largest value allowed ([`crate::candidates::MAX_K`]).
        max: usize,
    },
    /// `maxload` is 0.
    #[error("maxload is 0; heuristic 1 needs room for at least 1 path on every link")]
    ZeroMaxload,
    /// `chunk` is 0.
    #[error("chunk is 0; heuristic 2 needs chunks of at least 1 byte")]
    ZeroChunk,
    /// A base load that is not one of the network's links.
    #[error("the base load has entries for {found} links, but the network has {expected}")]
    Base {
        /// Entries there are.
        found: usize,
        /// Links there are.
        expected: usize,
    },
    /// A link's base load and the demands do not fit 64 bits when summed.
    #[error("the base load of link {from} -> {to} and the demands sum to more bytes than 64 bits hold")]
    BaseOverflow {
        /// Name of the vertex that sends.
        from: String,
        /// Name of the vertex that receives.
        to: String,
    },
    /// A gap that cannot be reached.
    #[error("the gap is {0}; planner optimal needs one above 0, such as 0.01 for 1 %")]
    Gap(f64),
    /// A slack that means nothing.
    #[error("the slack is {0}; a finite number of at least 0 is expected, such as 0.01 for 1 %")]
    Slack(f64),
    /// A time limit of 0.
    #[error("the time limit is 0; planner optimal needs one above 0, or none")]
    TimeLimit,
    /// No planner has this name.
    #[error("there is no planner \"{name}\"; the planners are {known}")]
    UnknownPlanner {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The planner exists but was left out of this build.
    #[error("planner {planner} is not in this build; build with the cargo feature `{feature}` to have it")]
    LeftOut {
        /// The planner.
        planner: &'static str,
        /// The cargo feature that brings it.
        feature: &'static str,
    },
    /// No candidate method has this name.
    #[error("there is no candidate method \"{0}\"; the methods are auto, diverse, priced, via and yen")]
    UnknownMethod(String),
    /// Paths are to be priced, and there is no plan to price them for.
    #[error("candidate method priced makes a plan of all demands to find paths, and is not for pairs alone")]
    PricedWithoutPlan,
    /// The planner was called without candidates.
    #[error("planner {0} chooses among candidate paths, but none were given")]
    NoCandidates(&'static str),
    /// The candidates were made for another network.
    #[error("the candidate paths belong to network {found}, but the network given is {expected}")]
    OtherNetwork {
        /// Fingerprint in the candidates.
        found: String,
        /// Fingerprint of the network given.
        expected: String,
    },
    /// The candidates say nothing about a demand's pair.
    #[error("the candidate paths hold none from {from} to {to}, which demand {demand} needs")]
    Uncovered {
        /// Index of the demand.
        demand: usize,
        /// Name of its source.
        from: String,
        /// Name of its destination.
        to: String,
    },
    /// No path is left whose forwarders all have a process. Never where routes are fixed: the fabric's own needs no forwarder.
    #[error(
        "no candidate path from {from} to {to}, which demand {demand} needs, has a process on every host that it passes; where routers choose the \
         routes, planned paths need that"
    )]
    NoForwarder {
        /// Index of the demand.
        demand: usize,
        /// Name of its source.
        from: String,
        /// Name of its destination.
        to: String,
    },
    /// More candidate paths than are kept.
    #[error("{demands} demands with up to {k} candidate paths each make more than {max} paths; lower k")]
    TooManyPaths {
        /// Number of demands.
        demands: usize,
        /// The `k` asked for.
        k: usize,
        /// [`crate::candidates::MAX_PATHS`].
        max: usize,
    },
    /// More memory than there is.
    #[error(
        "planning {demands} demands with up to {k} candidate paths each takes about {:.1} GB of memory, but {:.1} GB are left; \
         fewer demands or a lower k take less",
        *needed as f64 / 1e9,
        *available as f64 / 1e9
    )]
    Memory {
        /// Number of demands.
        demands: usize,
        /// Candidate paths for each, at most.
        k: usize,
        /// Bytes that it takes, about.
        needed: u64,
        /// Bytes that are left.
        available: u64,
    },
    /// So many demands that planning takes minutes, and no time limit is set.
    #[error(
        "{demands} demands take minutes to plan; without a time limit, planner optimal takes {most} at most (planner direct \
         takes any number)"
    )]
    TooManyDemands {
        /// Number of demands.
        demands: usize,
        /// `plan.demands_most` of [`crate::constants`].
        most: usize,
    },
    /// A planner gave a flow that the network cannot carry, or lost bytes. A defect of the planner.
    #[error("planner {planner} made a plan that does not hold: {problem}")]
    Unsound {
        /// The planner.
        planner: &'static str,
        /// What does not hold.
        problem: String,
    },
    /// The linear program was not solved to optimality.
    #[error("HiGHS did not solve the linear program: {0}")]
    Solver(String),
    /// A path file that does not serve.
    #[error(transparent)]
    PathFile(#[from] PathFileError),
    /// The network itself refused.
    #[error(transparent)]
    Net(#[from] NetError),
}

impl PlanError {
    /// The same error with the demand's index in a longer list, where the `i`-th of the list it was found in is the
    /// `members[i]`-th.
    pub(crate) fn renumbered(mut self, members: &[usize]) -> Self {
        match &mut self {
            PlanError::Unconnected { demand, .. }
            | PlanError::NoSuchHost { demand, .. }
            | PlanError::SelfDemand { demand, .. }
            | PlanError::Overflow { demand, .. }
            | PlanError::NoForwarder { demand, .. }
            | PlanError::Uncovered { demand, .. } => *demand = members.get(*demand).copied().unwrap_or(*demand),
            _ => {}
        }
        self
    }
}
