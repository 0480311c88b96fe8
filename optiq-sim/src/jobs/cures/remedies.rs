//! What can be done about jobs that slow each other: which remedies fit a job file, each as the file that it makes.
//!
//! - *placement* and *servers*: every rule that [`crate::jobs::adviser`] tries, with the file's seed. What lists hosts stays;
//! - *routing*: the strongest adaptive routing that the network can have, for all jobs;
//! - *throttle*: for each job with I/O servers the window of [`crate::jobs::throttle`], counted from completion and from start. From start it is
//!   longer by the response, so that both let clients ask as often;
//! - *exchange*: for each job that runs `alltoallv`: MPI's linear and pairwise algorithms, both with adaptive routing as well (for
//!   all jobs), OPTIQ's plan as if it were alone, and OPTIQ's plan on what the measured load of the other jobs leaves.

use crate::error::SimError;
use crate::jobs::adviser;
use crate::jobs::allocation::Allocation;
use crate::jobs::file::JobFile;
use crate::jobs::program_spec::{AllToAllVAlgorithm, ProgramKind, WindowFrom};
use crate::jobs::run::Jobs;
use crate::jobs::sites::Sites;
use crate::jobs::throttle::{self, Target};
use crate::model::Model;
use crate::router::policy::Policy;
use crate::time::Time;
use optiq_net::Network;
use optiq_net::units::format_picoseconds;
use std::fmt;
use std::str::FromStr;

/// Kinds of remedies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemedyKind {
    /// Other hosts for jobs.
    Placement,
    /// Other hosts for I/O servers.
    Servers,
    /// Another routing.
    Routing,
    /// A window between the requests of an I/O job.
    Throttle,
    /// Another algorithm of an `alltoallv`.
    Exchange,
}

impl RemedyKind {
    /// All, in the order in which they are tried.
    pub const ALL: [RemedyKind; 5] =
        [RemedyKind::Placement, RemedyKind::Servers, RemedyKind::Routing, RemedyKind::Throttle, RemedyKind::Exchange];

    /// As options and documents have it.
    pub fn name(self) -> &'static str {
        match self {
            RemedyKind::Placement => "placement",
            RemedyKind::Servers => "servers",
            RemedyKind::Routing => "routing",
            RemedyKind::Throttle => "throttle",
            RemedyKind::Exchange => "exchange",
        }
    }
}

impl fmt::Display for RemedyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RemedyKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        RemedyKind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let names = RemedyKind::ALL.map(RemedyKind::name).join(", ");
            format!("there is no kind of cure \"{}\"; one of {names} is expected", optiq_net::text_file::shorten(text))
        })
    }
}

/// How an `alltoallv` is carried out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExchangeMethod {
    /// An algorithm of MPI, with adaptive routing if one is named.
    Mpi(AllToAllVAlgorithm, Option<Policy>),
    /// OPTIQ, planned as if no other job were there.
    Alone,
    /// OPTIQ, planned beside the measured load of the other jobs.
    Beside,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Nothing: the file as it is.
    AsItIs,
    /// This placement for all jobs that list no hosts.
    Placement(String),
    /// This rule for all servers that are not listed.
    Servers(String),
    /// This routing.
    Routing(Policy),
    /// A window.
    Throttle {
        /// Of this job.
        job: usize,
        /// How long it is.
        window: Time,
        /// What it counts from.
        from: WindowFrom,
    },
    /// Another way to exchange.
    Exchange {
        /// Of this job.
        job: usize,
        /// How.
        method: ExchangeMethod,
    },
}

/// A remedy: what is done, and the jobs with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Remedy {
    /// What is done.
    pub action: Action,
    /// The jobs.
    pub file: JobFile,
    /// Where they are.
    pub allocation: Allocation,
}

/// A remedy that does not fit, or failed: what it was, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// What it was.
    pub action: Action,
    /// A sentence without a full stop.
    pub why: String,
}

impl Action {
    /// Its kind; `None` of the file as it is.
    pub fn kind(&self) -> Option<RemedyKind> {
        match self {
            Action::AsItIs => None,
            Action::Placement(_) => Some(RemedyKind::Placement),
            Action::Servers(_) => Some(RemedyKind::Servers),
            Action::Routing(_) => Some(RemedyKind::Routing),
            Action::Throttle { .. } => Some(RemedyKind::Throttle),
            Action::Exchange { .. } => Some(RemedyKind::Exchange),
        }
    }

    /// The job that it is about, if it is about one.
    pub fn job(&self) -> Option<usize> {
        match self {
            Action::Throttle { job, .. } | Action::Exchange { job, .. } => Some(*job),
            _ => None,
        }
    }

    /// In words, for tables; `name` is that of its job.
    pub fn words(&self, file: &JobFile) -> String {
        let name = self.job().and_then(|job| file.jobs.get(job)).map_or("", |job| &*job.name);
        match self {
            Action::AsItIs => "as it is".into(),
            Action::Placement(rule) => format!("placement {rule}"),
            Action::Servers(rule) => format!("servers {rule}"),
            Action::Routing(policy) => format!("routing {policy}"),
            Action::Throttle { window, from, .. } => {
                let from = if *from == WindowFrom::Start { "start" } else { "completion" };
                format!("{name}: window {} from {from}", format_picoseconds(window.as_picoseconds()))
            }
            Action::Exchange { method, .. } => format!("{name}: {method}"),
        }
    }
}

impl fmt::Display for ExchangeMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExchangeMethod::Mpi(algorithm, routing) => {
                let name = if *algorithm == AllToAllVAlgorithm::Pairwise { "pairwise" } else { "linear" };
                write!(f, "MPI {name}")?;
                routing.map_or(Ok(()), |policy| write!(f, ", {policy}"))
            }
            ExchangeMethod::Alone => f.write_str("OPTIQ, planned alone"),
            ExchangeMethod::Beside => f.write_str("OPTIQ, planned beside the others"),
        }
    }
}

/// What is tried.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection<'a> {
    /// These kinds; all if empty.
    pub kinds: &'a [RemedyKind],
    /// Throttles and exchanges of these jobs, by number; of all if empty.
    pub jobs: &'a [usize],
    /// What throttles are to reach.
    pub target: Target,
}

impl Selection<'_> {
    fn has(&self, kind: RemedyKind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }
}

/// The remedies that fit, the file as it is first, and those that do not.
///
/// # Errors
/// [`SimError::Workload`]: one job only, jobs that do not fit as the file places them, nothing to try.
pub fn remedies(
    file: &JobFile,
    network: &Network,
    model: &Model,
    selection: &Selection<'_>,
) -> Result<(Vec<Remedy>, Vec<Refused>), SimError> {
    let bad = |text: &str| Err(SimError::Workload(format!("job file {}: {text}", file.label())));
    if file.jobs.len() < 2 {
        return bad("it has one job, and no other slows it; at least two are expected");
    }
    let sites = Sites::new(network);
    let allocation = Allocation::on(file, network, &sites)?;
    let base = Remedy { action: Action::AsItIs, file: file.clone(), allocation };
    let mut found = Search { network, sites, base, remedies: Vec::new(), refused: Vec::new() };
    found.placements(selection);
    found.routing(selection);
    found.throttles(model, selection)?;
    found.exchanges(selection);
    let Search { base, remedies, refused, .. } = found;
    if remedies.is_empty() && refused.is_empty() {
        return bad(
            "no cure fits: jobs that list no hosts, I/O servers, adaptive routing or a job with alltoallv are expected",
        );
    }
    Ok(([base].into_iter().chain(remedies).collect(), refused))
}

struct Search<'a> {
    network: &'a Network,
    sites: Sites,
    base: Remedy,
    remedies: Vec<Remedy>,
    refused: Vec<Refused>,
}

impl Search<'_> {
    /// With other jobs in the same places.
    fn add(&mut self, action: Action, file: JobFile) {
        self.remedies.push(Remedy { action, file, allocation: self.base.allocation.clone() });
    }

    /// With jobs in other places, if that makes a difference and they fit.
    fn add_placed(&mut self, action: Action, file: JobFile) {
        if file == self.base.file {
            return;
        }
        match Allocation::on(&file, self.network, &self.sites) {
            Ok(allocation) => self.remedies.push(Remedy { action, file, allocation }),
            Err(why) => self.refused.push(Refused { action, why: why.to_string() }),
        }
    }

    fn placements(&mut self, selection: &Selection<'_>) {
        let file = self.base.file.clone();
        let seed = file.placement_seed;
        if selection.has(RemedyKind::Placement) {
            for rule in adviser::placements(&file, &self.sites) {
                let changed = adviser::with(&file, Some(&rule), None, seed);
                self.add_placed(Action::Placement(rule.to_string()), changed);
            }
        }
        if selection.has(RemedyKind::Servers) {
            for rule in adviser::server_placements(&file, &self.sites) {
                let changed = adviser::with(&file, None, Some(&rule), seed);
                self.add_placed(Action::Servers(rule.to_string()), changed);
            }
        }
    }

    /// The adaptive routing that the network can have, unless the file has it.
    fn adaptive(&self) -> Option<Policy> {
        Policy::adaptive_of(self.network).filter(|&policy| policy != self.base.file.routing)
    }

    fn routing(&mut self, selection: &Selection<'_>) {
        if let Some(policy) = self.adaptive().filter(|_| selection.has(RemedyKind::Routing)) {
            let mut file = self.base.file.clone();
            file.routing = policy;
            self.add(Action::Routing(policy), file);
        }
    }

    /// The jobs of a selection for which something holds.
    fn jobs(&self, selection: &Selection<'_>, holds: fn(&ProgramKind) -> bool) -> Vec<usize> {
        let jobs = &self.base.file.jobs;
        let is_selected = |job: &usize| selection.jobs.is_empty() || selection.jobs.contains(job);
        (0..jobs.len()).filter(is_selected).filter(|&job| holds(&jobs[job].program.kind)).collect()
    }

    fn throttles(&mut self, model: &Model, selection: &Selection<'_>) -> Result<(), SimError> {
        if !selection.has(RemedyKind::Throttle) {
            return Ok(());
        }
        for job in self.jobs(selection, |kind| matches!(kind, ProgramKind::Io(_))) {
            let Remedy { file, allocation, .. } = &self.base;
            let jobs = Jobs { file, network: self.network, model, allocation, planning_networks: &[] };
            let computed = throttle::compute(&jobs, job, selection.target)?;
            let windows =
                [(computed.window, WindowFrom::Completion), (computed.window_from_start(), WindowFrom::Start)];
            for (window, from) in windows {
                let action = Action::Throttle { job, window, from };
                if window == Time::ZERO {
                    let why = format!("the closed queue needs no window for {}", selection.target);
                    self.refused.push(Refused { action, why });
                    break;
                }
                let changed = throttle::with_window(&self.base.file, job, window, from);
                self.add(action, changed);
            }
        }
        Ok(())
    }

    fn exchanges(&mut self, selection: &Selection<'_>) {
        if !selection.has(RemedyKind::Exchange) {
            return;
        }
        let adaptive = self.adaptive();
        for job in self.jobs(selection, |kind| matches!(kind, ProgramKind::AllToAllV { .. })) {
            use AllToAllVAlgorithm::{Linear, Pairwise};
            let mut methods = vec![ExchangeMethod::Mpi(Linear, None), ExchangeMethod::Mpi(Pairwise, None)];
            for algorithm in [Linear, Pairwise] {
                methods.extend(adaptive.map(|policy| ExchangeMethod::Mpi(algorithm, Some(policy))));
            }
            methods.extend([ExchangeMethod::Alone, ExchangeMethod::Beside]);
            for method in methods {
                let changed = with_method(&self.base.file, job, method);
                self.add(Action::Exchange { job, method }, changed);
            }
        }
    }
}

/// The jobs with another way to exchange.
fn with_method(file: &JobFile, job: usize, method: ExchangeMethod) -> JobFile {
    let mut file = file.clone();
    let (wanted, routing) = match method {
        ExchangeMethod::Mpi(algorithm, routing) => (algorithm, routing),
        ExchangeMethod::Alone | ExchangeMethod::Beside => (AllToAllVAlgorithm::Optiq, None),
    };
    if let ProgramKind::AllToAllV { algorithm, .. } = &mut file.jobs[job].program.kind {
        *algorithm = wanted;
    }
    file.routing = routing.unwrap_or(file.routing);
    file
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const JOBS: &str = r#"
network = "fattree:4x4x3:1x4x2:1x1x2"
[[job]]
name = "exchange"
hosts = 12
program = "alltoallv,message=64KB,algorithm=linear"
[[job]]
name = "io"
hosts = 12
servers = "spread-target:6"
program = "io-write,request=1MB"
"#;

    fn words(text: &str, selection: &Selection<'_>) -> Result<(Vec<String>, Vec<String>), String> {
        let file = JobFile::parse(text, "j.toml").unwrap();
        let network = file.load_network().unwrap();
        let (found, refused) =
            remedies(&file, &network, &Model::for_network(&network), selection).map_err(|e| e.to_string())?;
        let refused = refused.iter().map(|r| format!("{}: {}", r.action.words(&file), r.why)).collect();
        Ok((found.iter().map(|r| r.action.words(&r.file)).collect(), refused))
    }

    #[test]
    fn every_kind_is_tried_and_what_is_as_it_is_is_not() {
        let (found, refused) = words(JOBS, &Selection::default()).unwrap();
        assert_eq!(
            found.iter().map(|words| words.split(" window").next().unwrap()).collect::<Vec<_>>(),
            [
                "as it is",
                "placement contiguous",
                "placement random-switch",
                "servers isolated-target:6:congruent",
                "servers isolated-target:6:adjacent",
                "servers isolated-target:6:random",
                "servers random-target:6",
                "routing adaptive-up",
                "io:",
                "io:",
                "exchange: MPI linear",
                "exchange: MPI pairwise",
                "exchange: MPI linear, adaptive-up",
                "exchange: MPI pairwise, adaptive-up",
                "exchange: OPTIQ, planned alone",
                "exchange: OPTIQ, planned beside the others",
            ]
        );
        assert_eq!(refused, Vec::<String>::new());
        let some = Selection { kinds: &[RemedyKind::Throttle], jobs: &[0], ..Selection::default() };
        assert!(words(JOBS, &some).unwrap_err().contains("no cure fits"));
    }

    #[test]
    fn what_does_not_fit_is_told() {
        // Isolated servers need leaves of their own, which 44 clients do not leave.
        let full = JOBS.replace("hosts = 12", "hosts = 21");
        let (found, refused) =
            words(&full, &Selection { kinds: &[RemedyKind::Servers], ..Selection::default() }).unwrap();
        assert!(found.len() > 1 || !refused.is_empty(), "{found:?} {refused:?}");
        let lazy = JOBS.replace("request=1MB", "request=1MB,think=1s");
        let only = Selection { kinds: &[RemedyKind::Throttle], ..Selection::default() };
        let (found, refused) = words(&lazy, &only).unwrap();
        assert_eq!((found.len(), refused.len()), (1, 1));
        assert!(refused[0].contains("needs no window"), "{refused:?}");
        let one = JOBS.split("[[job]]\nname = \"io\"").next().unwrap();
        assert!(words(one, &Selection::default()).unwrap_err().contains("it has one job"));
    }

    #[test]
    fn names_of_kinds_are_read_as_they_are_written() {
        for kind in RemedyKind::ALL {
            assert_eq!(kind.to_string().parse::<RemedyKind>(), Ok(kind));
        }
        assert!("magic".parse::<RemedyKind>().unwrap_err().contains("placement, servers, routing"));
    }
}
