//! Direct messages at scale: what the executor's orders of sending reach on simulated networks of up to 1,296 hosts, beside MPI's
//! two algorithms, each with the fabric's own routes and, on fat trees and a Dragonfly+, with adaptive ones.
//!
//! Nobody forwards here, so all have the same bytes on the same hosts' ports; with the fabric's own routes on the same links, too.
//! What differs is who sends to whom when. Labs of 16 hosts say how that does over TCP, where ports that two senders share lose packets
//! (`direct`); a fabric with credits loses none, and two messages to one host make others wait that share a queue with them.

use super::lab;
use crate::claims::setting::with_planner;
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::measurement_cases::{CaseRole, MeasurementCase, Platform};
use crate::selection::Selection;
use crate::workspace::Workspace;
use optiq_lower::choices::DirectOrder;
use optiq_lower::timetable;
use optiq_measure::statistics::geometric_mean;
use optiq_net::Network;
use optiq_sim::jobs::parallel::in_parallel;
use optiq_sim::simulated_exchange::method::{Executor, MpiAlgorithm, TransferMethod};
use optiq_sim::simulated_exchange::run::ExchangeSetting;
use optiq_sim::{Model, Policy, RunOptions};
use optiq_solver::demands::{Demand, by_pair};
use optiq_solver::pipeline::{self, Planned};
use optiq_solver::planner::PlannerName;
use optiq_transport::ScheduleOptions;
use optiq_view::table::{percent, seconds};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::thread;
use std::time::Instant;

/// The machine: InfiniBand-like, 12.5 GB/s.
const MODEL: &str = "fattree-12.5";

/// How packets find their way: as the fabric says, and adaptively where the network has several ways.
pub(super) fn routings(network: &Network) -> Vec<Policy> {
    [Policy::Fabric].into_iter().chain(Policy::adaptive_of(network)).collect()
}

/// Who sends to whom when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendOrder {
    /// MPI, all messages at once.
    Linear,
    /// MPI, a step for each distance between ranks.
    Pairwise,
    /// OPTIQ's executor, bytes in flight in proportion.
    Proportion,
    /// OPTIQ's executor, by a timetable.
    Timetable,
    /// OPTIQ's executor, by a timetable of shifts.
    Shifts,
    /// OPTIQ's executor, by a timetable of pairs of hosts.
    Xor,
    /// OPTIQ's executor, by an exact decomposition into one-to-one stages.
    Stages,
    /// OPTIQ's executor, when receivers grant it.
    Credits,
}

impl SendOrder {
    const ALL: [SendOrder; 8] = [
        SendOrder::Linear,
        SendOrder::Pairwise,
        SendOrder::Proportion,
        SendOrder::Timetable,
        SendOrder::Shifts,
        SendOrder::Xor,
        SendOrder::Stages,
        SendOrder::Credits,
    ];

    fn name(self) -> &'static str {
        match self {
            SendOrder::Linear => "MPI linear",
            SendOrder::Pairwise => "MPI pairwise",
            SendOrder::Proportion => "OPTIQ proportion",
            SendOrder::Timetable => "OPTIQ timetable",
            SendOrder::Shifts => "OPTIQ shifts",
            SendOrder::Xor => "OPTIQ xor",
            SendOrder::Stages => "OPTIQ stages",
            SendOrder::Credits => "OPTIQ credits",
        }
    }

    /// The executor's; none of MPI's algorithms.
    fn direct_order(self) -> Option<DirectOrder> {
        match self {
            SendOrder::Linear | SendOrder::Pairwise => None,
            SendOrder::Proportion => Some(DirectOrder::Proportion),
            SendOrder::Timetable => Some(DirectOrder::Timetable),
            SendOrder::Shifts => Some(DirectOrder::Shifts),
            SendOrder::Xor => Some(DirectOrder::Xor),
            SendOrder::Stages => Some(DirectOrder::Stages),
            SendOrder::Credits => Some(DirectOrder::Credits),
        }
    }

    fn of_executor(order: DirectOrder) -> Self {
        if order == DirectOrder::Timetable { SendOrder::Timetable } else { SendOrder::Proportion }
    }
}

/// One simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleRun {
    order: SendOrder,
    /// As `--routing` takes it.
    routing: String,
    /// When the last host was done.
    seconds: f64,
    packets: u64,
    /// How long the simulation took.
    simulation_seconds: f64,
}

/// All orders of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleCase {
    case: MeasurementCase,
    role: CaseRole,
    hosts: usize,
    messages: usize,
    bytes: u64,
    /// What the most loaded link needs with the fabric's own routes.
    link_bound_seconds: f64,
    /// Of OPTIQ's two, the one that it takes by itself.
    taken: SendOrder,
    runs: Vec<ScaleRun>,
}

/// What was simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleContent {
    model: String,
    cases: Vec<ScaleCase>,
}

/// The names that `--cases` takes.
///
/// # Errors
/// As [`crate::measurement_cases::groups`].
pub fn case_names() -> Result<Vec<String>, Failure> {
    Ok(lab::groups_on(Platform::Scale)?.into_iter().map(|group| group.name).collect())
}

/// Simulates the selected cases.
///
/// # Errors
/// What planners and the simulator report.
pub fn run(workspace: &Workspace, selection: &Selection) -> Result<ScaleContent, Failure> {
    let model = Model::read(MODEL)?;
    let mut cases = Vec::new();
    for group in lab::groups_on(Platform::Scale)?.into_iter().filter(|group| selection.includes(&group.name)) {
        for case in group.cases {
            eprintln!("    {} {} {}", case.topology, case.demands, case.message.as_deref().unwrap_or_default());
            let (network, demands) = case.read(&workspace.path(""))?;
            let demands = by_pair(demands);
            let planned = pipeline::run(&network, &demands, &with_planner(PlannerName::Direct))?;
            let subject = Subject { model: &model, network: &network, demands: &demands, planned: &planned };
            let runs = subject.runs()?;
            cases.push(ScaleCase {
                case,
                role: group.role,
                hosts: network.hosts(),
                messages: demands.len(),
                bytes: demands.iter().map(|d| d.bytes).sum(),
                link_bound_seconds: planned.report.congestion_seconds,
                taken: SendOrder::of_executor(timetable::order(&network, &demands, DirectOrder::Auto)),
                runs,
            });
        }
    }
    Ok(ScaleContent { model: MODEL.into(), cases })
}

/// An exchange without an order.
struct Subject<'a> {
    model: &'a Model,
    network: &'a Network,
    demands: &'a [Demand],
    planned: &'a Planned,
}

impl Subject<'_> {
    /// Every order with every routing, as many at a time as there are processors. What is too large to be decomposed has no stages.
    fn runs(&self) -> Result<Vec<ScaleRun>, Failure> {
        let can_run = |order: &SendOrder| *order != SendOrder::Stages || timetable::can_be_decomposed(self.demands);
        let orders = || SendOrder::ALL.into_iter().filter(can_run);
        let all: Vec<(SendOrder, Policy)> = routings(self.network)
            .into_iter()
            .flat_map(|routing| orders().map(move |order| (order, routing)))
            .collect();
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let run = |at: usize| all.get(at).map(|&(order, routing)| self.run(order, routing));
        in_parallel(threads, all.len(), run).into_iter().flatten().collect()
    }

    fn run(&self, order: SendOrder, routing: Policy) -> Result<ScaleRun, Failure> {
        let Self { model, network, demands, planned } = *self;
        let (method, executor) = match order.direct_order() {
            Some(direct_order) => (
                TransferMethod::Planned(Box::new(planned.clone()), ScheduleOptions::default()),
                Executor { direct_order, ..Executor::of(model) },
            ),
            None => {
                let algorithm = if order == SendOrder::Linear { MpiAlgorithm::Linear } else { MpiAlgorithm::Pairwise };
                (TransferMethod::Mpi(algorithm), Executor::of(model))
            }
        };
        let prepared = ExchangeSetting { network, model, demands, executor }.prepare(method)?;
        let started = Instant::now();
        let found = prepared.simulate(&RunOptions { threads: 1, seed: 1, routing, ..RunOptions::default() })?;
        Ok(ScaleRun {
            order,
            routing: routing.to_string(),
            seconds: found.seconds(),
            packets: found.exchanged.outcome.packets,
            simulation_seconds: started.elapsed().as_secs_f64(),
        })
    }
}

impl ScaleCase {
    fn seconds(&self, order: SendOrder, routing: &str) -> Option<f64> {
        self.runs.iter().find(|run| run.order == order && run.routing == routing).map(|run| run.seconds)
    }

    /// The time of the faster algorithm of MPI over that of OPTIQ's fastest order, and over the one that it takes.
    fn over_mpi(&self, routing: &str) -> Option<[f64; 2]> {
        let time = |order| self.seconds(order, routing);
        let mpi = time(SendOrder::Linear)?.min(time(SendOrder::Pairwise)?);
        let of_executor = SendOrder::ALL.into_iter().filter(|order| order.direct_order().is_some());
        let best = of_executor.filter_map(time).fold(f64::INFINITY, f64::min);
        Some([mpi / best, mpi / time(self.taken)?])
    }

    fn name(&self) -> String {
        let demands = self.case.demands.trim_start_matches("pattern:");
        self.case.message.as_ref().map_or_else(|| demands.to_owned(), |message| format!("{demands}, {message}"))
    }
}

impl ScaleContent {
    /// Of the page.
    pub const TITLE: &'static str = "Direct messages on simulated networks of up to 1,296 hosts";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = format!(
            "`optiq simulate --model {} --planner direct`, with `--direct-order` and with `--mpi`: nobody forwards, and what differs is who \
             sends to whom when. MPI's linear algorithm sends all messages at once, its pairwise one in a step for each distance between \
             ranks. Of OPTIQ's orders, the timetable is one of shifts, or of what list scheduling finds where that ends earlier; `docs/executor.md` has the others. Exact stages of more than some \
             7,000 messages would take too long. In brackets the share of the link bound with the fabric's own routes, which adaptive ones can beat. \"Taken\" is the \
             order that OPTIQ takes by itself before it has measured anything; where MPI is then found to be faster, calls go to MPI. The \
             fabric has credits and loses no packet; what TCP makes of the same orders is on the page `direct`.\n",
            self.model
        );
        for (role, title) in [(CaseRole::HeldOut, "Held-out cases"), (CaseRole::Training, "Training cases")] {
            let cases: Vec<&ScaleCase> = self.cases.iter().filter(|case| case.role == role).collect();
            if cases.is_empty() {
                continue;
            }
            let _ = write!(page, "\n## {title}\n");
            for routing in self.routings() {
                let has_run = |case: &&ScaleCase| case.runs.iter().any(|run| run.routing == routing);
                let cases: Vec<&ScaleCase> = cases.iter().copied().filter(has_run).collect();
                if cases.is_empty() {
                    continue;
                }
                let _ = write!(page, "\n### Routing `{routing}`\n\n{}", summary(&cases, routing));
                let _ = write!(page, "\n{}", table(&cases, routing).markdown());
            }
        }
        let runs = || self.cases.iter().flat_map(|case| &case.runs);
        let (packets, time) = runs().fold((0, 0.0), |(p, t), run| (p + run.packets, t + run.simulation_seconds));
        let _ = write!(
            page,
            "\n{} simulations, {:.0} million packets, in {time:.0} s.\n",
            runs().count(),
            packets as f64 / 1e6
        );
        page
    }
}

impl ScaleContent {
    /// The names of the routings, in the order in which they were simulated first.
    fn routings(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for run in self.cases.iter().flat_map(|case| &case.runs) {
            if !names.contains(&run.routing.as_str()) {
                names.push(&run.routing);
            }
        }
        names
    }
}

fn summary(cases: &[&ScaleCase], routing: &str) -> String {
    let ratios: Vec<[f64; 2]> = cases.iter().filter_map(|case| case.over_mpi(routing)).collect();
    let mean = |which: usize| geometric_mean(&ratios.iter().map(|pair| pair[which]).collect::<Vec<f64>>());
    let least = |which: usize| ratios.iter().map(|pair| pair[which]).fold(f64::INFINITY, f64::min);
    match (mean(0), mean(1)) {
        (Some(best), Some(taken)) => format!(
            "{} cases: over the faster of MPI's two, OPTIQ's fastest order is {best:.3} x as fast (geometric mean; the least {:.2} x), the \
             one that it takes {taken:.3} x (the least {:.2} x).\n",
            ratios.len(),
            least(0),
            least(1)
        ),
        _ => String::new(),
    }
}

fn table(cases: &[&ScaleCase], routing: &str) -> TextTable {
    let mut header = vec!["network<", "case<", "messages", "bound"];
    // Documents from before 2026-11-29 have two orders of OPTIQ's.
    let has_run = |order: &SendOrder| cases.iter().any(|case| case.seconds(*order, routing).is_some());
    let orders = || SendOrder::ALL.into_iter().filter(has_run);
    header.extend(orders().map(SendOrder::name));
    header.extend(["taken<", "over MPI, fastest", "taken"]);
    let mut table = TextTable::new(&header);
    for case in cases {
        let mut row = vec![
            format!("`{}`", case.case.topology.replace(",capacity=12.5GB/s", "")),
            case.name(),
            case.messages.to_string(),
            seconds(case.link_bound_seconds),
        ];
        row.extend(orders().map(|order| match case.seconds(order, routing) {
            Some(time) => format!("{} ({})", seconds(time), percent(case.link_bound_seconds / time)),
            None => "-".into(),
        }));
        row.push(case.taken.name().trim_start_matches("OPTIQ ").to_owned());
        match case.over_mpi(routing) {
            Some(ratios) => row.extend(ratios.map(|ratio| format!("{ratio:.2} x"))),
            None => row.extend(["-".to_owned(), "-".to_owned()]),
        }
        table.rows.push(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faster_of_either_side_counts_and_what_is_taken_stands_beside_it() {
        let run = |order, seconds| ScaleRun {
            order,
            routing: "fabric".into(),
            seconds,
            packets: 500_000,
            simulation_seconds: 1.0,
        };
        let mut case = ScaleCase {
            case: MeasurementCase {
                topology: "fattree:k=8,capacity=12.5GB/s".into(),
                demands: "pattern:alltoall".into(),
                message: Some("64kB".into()),
            },
            role: CaseRole::HeldOut,
            hosts: 128,
            messages: 16_256,
            bytes: 1_040_384_000,
            link_bound_seconds: 0.6e-3,
            taken: SendOrder::Timetable,
            runs: SendOrder::ALL.into_iter().zip([0.8e-3, 1.2e-3, 1e-3, 1.6e-3]).map(|(o, s)| run(o, s)).collect(),
        };
        // By hand: 0.8 over 1.0, and over 1.6; the bound of 0.6 is 75 % of 0.8.
        let page = ScaleContent { model: MODEL.into(), cases: vec![case.clone()] }.body();
        assert!(page.contains("| 0.80 x | 0.50 x |") && page.contains("800 us (75.0 %)"), "{page}");
        assert!(page.contains("4 simulations, 2 million packets, in 4 s."), "{page}");
        assert!(page.contains("### Routing `fabric`") && !page.contains("adaptive-up"), "{page}");
        assert!(!page.contains("OPTIQ credits"), "a document with two orders");
        // 0.8 over 0.64; what is taken stays the timetable.
        case.runs.push(run(SendOrder::Credits, 0.64e-3));
        let page = ScaleContent { model: MODEL.into(), cases: vec![case] }.body();
        assert!(page.contains("| 1.25 x | 0.50 x |") && page.contains("OPTIQ timetable | OPTIQ credits |"), "{page}");
    }
}
