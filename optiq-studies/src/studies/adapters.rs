//! Nodes of several adapters: messages as they come, spread as others do it, and planned; in labs of four nodes with four adapters, and simulated with 64
//! nodes of eight.
//!
//! In labs `MPI_Alltoallv` and `optiq_alltoallv` run in turn, as in [`direct`]. In the simulator every way to
//! choose adapters is carried out by the same executor on the same links; `adapter_rivals.rs` has the others.

use super::adapter_rivals::{Spreading, spread};
use super::direct::{self, DirectContent};
use super::lab;
use super::scale::routings;
use crate::claims::setting::with_planner;
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::measurement_cases::{CaseRole, MeasurementCase, Platform};
use crate::selection::Selection;
use crate::workspace::Workspace;
use optiq_lower::choices::DirectOrder;
use optiq_measure::statistics::geometric_mean;
use optiq_net::Network;
use optiq_net::units::format_bytes_rounded;
use optiq_sim::simulated_exchange::method::{Executor, MpiAlgorithm, TransferMethod};
use optiq_sim::simulated_exchange::run::ExchangeSetting;
use optiq_sim::{Model, RunOptions};
use optiq_solver::demands::{Demand, by_pair};
use optiq_solver::pipeline::{self, Planned};
use optiq_solver::planner::PlannerName;
use optiq_transport::ScheduleOptions;
use optiq_view::table::{percent, seconds};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// The machine: InfiniBand-like, 12.5 GB/s an adapter.
const MODEL: &str = "fattree-12.5";
/// What issue 22 asks for: times the direct messages, and of the bound.
const TARGET_RATIO: f64 = 1.5;
const TARGET_SHARE: f64 = 1.0 / 1.1;

/// By which adapters messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AdapterChoice {
    /// Their own, as MPI's linear algorithm sends them.
    MpiLinear,
    /// Their own, as MPI's pairwise algorithm does.
    MpiPairwise,
    /// Their own, in stages of one partner each: the executor's timetable.
    Stages,
    /// As NCCL's PXN.
    RailMatched,
    /// Whole messages, the largest first.
    LongestFirst,
    /// By multiplicative weights.
    Weights,
    /// By OPTIQ's plan.
    Planned,
}

impl AdapterChoice {
    const ALL: [AdapterChoice; 7] = [
        AdapterChoice::MpiLinear,
        AdapterChoice::MpiPairwise,
        AdapterChoice::Stages,
        AdapterChoice::RailMatched,
        AdapterChoice::LongestFirst,
        AdapterChoice::Weights,
        AdapterChoice::Planned,
    ];

    fn name(self) -> &'static str {
        match self {
            AdapterChoice::MpiLinear => "own adapters, MPI linear",
            AdapterChoice::MpiPairwise => "own adapters, MPI pairwise",
            AdapterChoice::Stages => "own adapters, one-to-one stages",
            AdapterChoice::RailMatched => "rail-matched (PXN)",
            AdapterChoice::LongestFirst => "longest first",
            AdapterChoice::Weights => "multiplicative weights",
            AdapterChoice::Planned => "OPTIQ",
        }
    }

    fn is_direct(self) -> bool {
        matches!(self, AdapterChoice::MpiLinear | AdapterChoice::MpiPairwise | AdapterChoice::Stages)
    }

    /// The plan that it carries out; `None` for MPI.
    fn plan(self, network: &Network, demands: &[Demand]) -> Result<Option<Planned>, Failure> {
        let by_planner = |planner| pipeline::run(network, demands, &with_planner(planner)).map_err(Failure::from);
        Ok(Some(match self {
            AdapterChoice::MpiLinear | AdapterChoice::MpiPairwise => return Ok(None),
            AdapterChoice::Stages => by_planner(PlannerName::Direct)?,
            AdapterChoice::RailMatched => spread(network, demands, Spreading::RailMatched)?,
            AdapterChoice::LongestFirst => spread(network, demands, Spreading::LongestFirst)?,
            AdapterChoice::Weights => spread(network, demands, Spreading::Weights)?,
            AdapterChoice::Planned => by_planner(PlannerName::Optimal)?,
        }))
    }
}

/// One way, simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdapterRun {
    choice: AdapterChoice,
    /// Of its paths.
    link_bound_seconds: f64,
    /// Through the memory of nodes; counted at every adapter that forwards.
    forwarded_bytes: u64,
    /// By routing, as `--routing` takes it: when the last host was done.
    seconds: Vec<(String, f64)>,
}

/// All ways of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdapterCase {
    case: MeasurementCase,
    role: CaseRole,
    messages: usize,
    bytes: u64,
    /// No way is faster.
    bound_seconds: f64,
    runs: Vec<AdapterRun>,
}

/// What was measured and simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdaptersContent {
    lab: DirectContent,
    model: String,
    simulated: Vec<AdapterCase>,
}

/// The names that `--cases` takes.
///
/// # Errors
/// As [`crate::measurement_cases::groups`].
pub fn case_names() -> Result<Vec<String>, Failure> {
    let mut groups = lab::groups_on(Platform::Adapters)?;
    groups.extend(lab::groups_on(Platform::AdaptersSimulated)?);
    Ok(groups.into_iter().map(|group| group.name).collect())
}

/// Measures and simulates the selected groups.
///
/// # Errors
/// [`Failure::Work`] if a lab cannot be brought up or a program in it fails; what planners and the simulator report.
pub fn run(workspace: &Workspace, repetitions: u32, selection: &Selection) -> Result<AdaptersContent, Failure> {
    let lab = direct::run(workspace, Platform::Adapters, repetitions, selection)?;
    let mut simulated = Vec::new();
    let groups = lab::groups_on(Platform::AdaptersSimulated)?;
    for group in groups.into_iter().filter(|group| selection.includes(&group.name)) {
        for case in group.cases {
            eprintln!("    {} {}", case.topology, case.demands);
            simulated.push(simulate(workspace, case, group.role)?);
        }
    }
    Ok(AdaptersContent { lab, model: MODEL.into(), simulated })
}

fn simulate(workspace: &Workspace, case: MeasurementCase, role: CaseRole) -> Result<AdapterCase, Failure> {
    let model = Model::read(MODEL)?;
    let (network, demands) = case.read(&workspace.path(""))?;
    let demands = by_pair(demands);
    let bound_seconds = optiq_solver::bound::lower_bound(&network, &demands)?.seconds;
    let runs = AdapterChoice::ALL.map(|choice| run_choice(choice, &network, &model, &demands));
    Ok(AdapterCase {
        case,
        role,
        messages: demands.len(),
        bytes: demands.iter().map(|d| d.bytes).sum(),
        bound_seconds,
        runs: runs.into_iter().collect::<Result<_, _>>()?,
    })
}

fn run_choice(
    choice: AdapterChoice,
    network: &Network,
    model: &Model,
    demands: &[Demand],
) -> Result<AdapterRun, Failure> {
    let planned = choice.plan(network, demands)?;
    let forwarded_bytes = planned.as_ref().map_or(0, |planned| planned.report.forwarded_bytes);
    let executor = match choice {
        AdapterChoice::Stages => Executor { direct_order: DirectOrder::Timetable, ..Executor::of(model) },
        _ => Executor::of(model),
    };
    let method = || match &planned {
        Some(planned) => TransferMethod::Planned(Box::new(planned.clone()), ScheduleOptions::default()),
        None if choice == AdapterChoice::MpiPairwise => TransferMethod::Mpi(MpiAlgorithm::Pairwise),
        None => TransferMethod::Mpi(MpiAlgorithm::Linear),
    };
    let (mut link_bound_seconds, mut seconds) = (0.0, Vec::new());
    for routing in routings(network) {
        let prepared = ExchangeSetting { network, model, demands, executor }.prepare(method())?;
        link_bound_seconds = prepared.link_bound();
        let found = prepared.simulate(&RunOptions { threads: 1, seed: 1, routing, ..RunOptions::default() })?;
        seconds.push((routing.to_string(), found.seconds()));
    }
    Ok(AdapterRun { choice, link_bound_seconds, forwarded_bytes, seconds })
}

impl AdapterRun {
    /// On the routing that is best for it.
    fn best_seconds(&self) -> f64 {
        self.seconds.iter().map(|run| run.1).fold(f64::INFINITY, f64::min)
    }
}

impl AdapterCase {
    /// The fastest of some ways, each on its best routing.
    fn best(&self, of: impl Fn(AdapterChoice) -> bool) -> f64 {
        self.runs.iter().filter(|run| of(run.choice)).map(AdapterRun::best_seconds).fold(f64::INFINITY, f64::min)
    }

    fn optiq(&self) -> f64 {
        self.best(|choice| choice == AdapterChoice::Planned)
    }

    fn over_direct(&self) -> f64 {
        self.best(AdapterChoice::is_direct) / self.optiq()
    }

    fn over_rivals(&self) -> f64 {
        self.best(|choice| choice != AdapterChoice::Planned) / self.optiq()
    }

    fn table(&self) -> String {
        let mut header = vec!["adapters<", "through memory", "link bound"];
        header.extend(self.runs.first().into_iter().flat_map(|run| &run.seconds).map(|run| run.0.as_str()));
        header.push("over own adapters");
        let mut table = TextTable::new(&header);
        let direct = self.best(AdapterChoice::is_direct);
        for run in &self.runs {
            let mut row = vec![
                run.choice.name().to_owned(),
                format_bytes_rounded(run.forwarded_bytes as f64),
                format!(
                    "{} ({})",
                    seconds(run.link_bound_seconds),
                    percent(self.bound_seconds / run.link_bound_seconds)
                ),
            ];
            let times = run.seconds.iter().map(|(_, time)| time);
            row.extend(times.map(|&time| format!("{} ({})", seconds(time), percent(self.bound_seconds / time))));
            row.push(format!("{:.2} x", direct / run.best_seconds()));
            table.rows.push(row);
        }
        let topology = self.case.topology.replace(",capacity=12.5GB/s", "");
        let demands = self.case.demands.trim_start_matches("file:data/cases/");
        format!(
            "\n### `{topology}`, {demands} ({})\n\n{} messages, {}; no way is below {}.\n\n{}",
            self.role,
            self.messages,
            format_bytes_rounded(self.bytes as f64),
            seconds(self.bound_seconds),
            table.markdown()
        )
    }
}

impl AdaptersContent {
    /// Of the page.
    pub const TITLE: &'static str =
        "Nodes of several adapters: own adapters, others' ways to spread messages, and plans";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = format!(
            "Adapters are hosts (`nodes=`), rank r owns adapter r, and adapters of a node are joined by its memory. Demands are skewed: the largest sender, or receiver, has about \
             twice the mean (`data/cases/adapters-*.txt`). Asked for: {TARGET_RATIO} x direct messages, and within a tenth of the bound.\n\n\
             ## In labs\n\n\
             Four nodes of four adapters with {}, memory of 800 Mbit/s, one rank to an adapter; `optiq bench alltoallv --cases FILE --repetitions {}`. MPI as it comes and \
             OPTIQ, by itself, in turn in one job; MPI's pairwise algorithm by the same command right after it. The bound is that of the planned paths; in brackets each one's share of its own bound.\n",
            self.lab.rate, self.lab.repetitions
        );
        page.push_str(&self.lab_verdict());
        page.push_str(&self.lab.tables("###"));
        let _ = write!(
            page,
            "\n## Simulated\n\n64 nodes of eight adapters of 12.5 GB/s, memory of 100 GB/s, model `{}`, one simulation each. What others do is written from their papers \
             (`optiq-studies/src/studies/adapter_rivals.rs`) and carried out by OPTIQ's executor, so that only the choice of adapters differs; one-to-one stages are the executor's \
             timetable. In brackets the share of the bound that no way beats. The fastest direct messages, on their best routing, are 1.00 x. On a single switch, and where leaves hold whole nodes, \
             matching rails saves no hop, as it does where every rail has leaves of its own.\n",
            self.model
        );
        page.push_str(&self.simulated_verdict());
        self.simulated.iter().for_each(|case| page.push_str(&case.table()));
        page
    }

    fn lab_verdict(&self) -> String {
        let held_out = self.lab.held_out();
        let over: Vec<f64> = held_out.iter().map(|case| case.over_best()).collect();
        let share: Vec<f64> = held_out.iter().map(|case| case.share_of_bound()).collect();
        verdict(direct::best_of(&held_out), &over, &share)
    }

    fn simulated_verdict(&self) -> String {
        let held_out: Vec<&AdapterCase> = self.simulated.iter().filter(|case| case.role == CaseRole::HeldOut).collect();
        let over: Vec<f64> = held_out.iter().map(|case| case.over_direct()).collect();
        let share: Vec<f64> = held_out.iter().map(|case| case.bound_seconds / case.optiq()).collect();
        let rivals: Vec<f64> = held_out.iter().map(|case| case.over_rivals()).collect();
        let Some(mean) = geometric_mean(&rivals) else { return String::new() };
        let least = rivals.iter().copied().fold(f64::INFINITY, f64::min);
        let text = verdict("the fastest direct messages", &over, &share);
        format!("{text}Over the best of all other ways it is {mean:.3} x as fast (the least {least:.2} x).\n")
    }
}

/// Geometric means over held-out cases, and how many reach what is asked for; nothing without cases.
fn verdict(direct: &str, over: &[f64], share: &[f64]) -> String {
    let (Some(mean), Some(mean_share)) = (geometric_mean(over), geometric_mean(share)) else { return String::new() };
    let least = |list: &[f64]| list.iter().copied().fold(f64::INFINITY, f64::min);
    let reached = |list: &[f64], target: f64| list.iter().filter(|&&value| value >= target).count();
    format!(
        "\n{} held-out cases: OPTIQ is {mean:.3} x as fast as {direct} (the least {:.2} x; {TARGET_RATIO} or more in {}), and reaches {} of its bound (the least {}; within a tenth of \
         it in {}).\n",
        over.len(),
        least(over),
        reached(over, TARGET_RATIO),
        percent(mean_share),
        percent(least(share)),
        reached(share, TARGET_SHARE),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_the_others_stands_beside_the_plan() {
        let run = |(choice, seconds): (AdapterChoice, f64)| AdapterRun {
            choice,
            link_bound_seconds: seconds / 1.1,
            forwarded_bytes: 0,
            seconds: vec![("fabric".into(), seconds), ("adaptive-up".into(), seconds * 0.5)],
        };
        let times = [4.0, 3.0, 2.0, 5.0, 1.5, 1.2, 1.0];
        let case = AdapterCase {
            case: MeasurementCase {
                topology: "star:512".into(),
                demands: "file:data/cases/x.txt".into(),
                message: None,
            },
            role: CaseRole::HeldOut,
            messages: 7,
            bytes: 1_000_000,
            bound_seconds: 0.48,
            runs: AdapterChoice::ALL.into_iter().zip(times).map(run).collect(),
        };
        // By hand, on the better routing: 1.0 over 0.5, 0.6 over 0.5, 0.48 of 0.5.
        assert_eq!((case.over_direct(), case.over_rivals()), (2.0, 1.2));
        let lab = DirectContent { rate: "r".into(), repetitions: 1, benches: Vec::new() };
        let page = AdaptersContent { lab, model: MODEL.into(), simulated: vec![case] }.body();
        let said = "1 held-out cases: OPTIQ is 2.000 x as fast as the fastest direct messages (the least 2.00 x; 1.5 or more in 1), \
                    and reaches 96.0 % of its bound (the least 96.0 %; within a tenth of it in 1).";
        assert!(page.contains(said) && page.contains("it is 1.200 x as fast (the least 1.20 x)"), "{page}");
    }
}
