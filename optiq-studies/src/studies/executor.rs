//! Planned paths on a simulated machine: what puts reach of the link bound with relays as planned and at every host, the constants
//! that training cases give, and how good the choice between the two is on held-out cases.
//!
//! The cost model ([`optiq_lower::relays`]) says of a run with link bound `C`
//!
//! ```text
//!     T  =  max(C / p, W)  +  F            (W: chunks at the busiest host, F: paths fill)
//! ```
//!
//! so that a run of time `T` has the link efficiency `p = C / (T - F)`, unless hosts are busier than links. A constant is the median
//! over the training cases with `W < C <= T - F`. The part of the busiest leg's bytes that is in flight is the one of [`PARTS`] with
//! the least geometric mean of `T / C` with relays at every host.

use crate::claims::setting::with_planner;
use crate::closeness::{Closeness, WITHIN, percent_off};
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::measurement_cases::{self, CaseGroup, CaseRole, MeasurementCase, Platform};
use crate::selection::Selection;
use crate::workspace::Workspace;
use optiq_lower::choices::LegsChoice;
use optiq_measure::statistics::{geometric_mean, median};
use optiq_net::Network;
use optiq_sim::constants::{PUT_PLANNED_LINK_EFFICIENCY, PUT_STORE_AND_FORWARD_LINK_EFFICIENCY};
use optiq_sim::model::Carry;
use optiq_sim::simulated_exchange::method::{Executor, TransferMethod};
use optiq_sim::simulated_exchange::run::{ExchangeSetting, PreparedExchange};
use optiq_sim::{Model, RunOptions};
use optiq_solver::demands::{Demand, by_pair};
use optiq_solver::pipeline::{self, Planned};
use optiq_solver::planner::PlannerName;
use optiq_transport::{PUTS_IN_FLIGHT_PART, ScheduleOptions};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// The parts of the busiest leg's bytes that are tried on training cases.
pub const PARTS: [u64; 5] = [10, 20, 40, 80, 160];
/// How far a constant of the program may be from the one that training cases give: constants have two decimals.
const ROUNDED: f64 = 0.0051;

/// Where chunks are relayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relays {
    /// At the forwarders of the plan.
    AsPlanned,
    /// At every host on a path.
    AtEveryHost,
}

impl Relays {
    const ALL: [Relays; 2] = [Relays::AsPlanned, Relays::AtEveryHost];

    fn legs(self) -> LegsChoice {
        match self {
            Relays::AsPlanned => LegsChoice::Planned,
            Relays::AtEveryHost => LegsChoice::Hops,
        }
    }
}

/// One simulated exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutorRun {
    relays: Relays,
    in_flight_part: u64,
    seconds: f64,
    /// By the formula, with the constants of the program that ran.
    predicted_seconds: f64,
    /// Of it, the chunks at the busiest host.
    work_seconds: f64,
    /// Of it, until paths are full.
    fill_seconds: f64,
    packets: u64,
    simulation_seconds: f64,
}

/// The runs of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutorCase {
    case: MeasurementCase,
    role: CaseRole,
    link_bound_seconds: f64,
    /// What the cost model chooses.
    chosen: Relays,
    runs: Vec<ExecutorRun>,
}

/// What was simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutorContent {
    /// The constants of the program that ran.
    used: ExecutorConstants,
    cases: Vec<ExecutorCase>,
}

/// The constants of how planned paths are carried out by puts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutorConstants {
    /// One in this number of the busiest leg's bytes is in flight.
    pub in_flight_part: u64,
    /// Part of the link bound that is reached with relays as planned.
    pub planned_link_efficiency: f64,
    /// The same with relays at every host.
    pub store_and_forward_link_efficiency: f64,
}

impl ExecutorConstants {
    /// Those of this program.
    pub fn of_this_program() -> Self {
        ExecutorConstants {
            in_flight_part: PUTS_IN_FLIGHT_PART,
            planned_link_efficiency: PUT_PLANNED_LINK_EFFICIENCY,
            store_and_forward_link_efficiency: PUT_STORE_AND_FORWARD_LINK_EFFICIENCY,
        }
    }

    /// Whether they are the same, rounded to two decimals.
    pub fn agrees_with(&self, other: &ExecutorConstants) -> bool {
        let close = |a: f64, b: f64| (a - b).abs() <= ROUNDED;
        self.in_flight_part == other.in_flight_part
            && close(self.planned_link_efficiency, other.planned_link_efficiency)
            && close(self.store_and_forward_link_efficiency, other.store_and_forward_link_efficiency)
    }
}

/// The names that `--cases` takes.
///
/// # Errors
/// As [`measurement_cases::groups`].
pub fn case_names() -> Result<Vec<String>, Failure> {
    Ok(groups()?.into_iter().map(|group| group.name).collect())
}

fn groups() -> Result<Vec<CaseGroup>, Failure> {
    let mut groups = measurement_cases::groups()?;
    groups.retain(|group| group.platform == Platform::Simulator);
    Ok(groups)
}

/// Simulates the selected cases on the model of Blue Gene/Q. All of them take about half an hour.
///
/// # Errors
/// What planners and the simulator report.
pub fn run(workspace: &Workspace, selection: &Selection) -> Result<ExecutorContent, Failure> {
    let model = Model::read("bgq")?;
    let mut cases = Vec::new();
    for group in groups()?.into_iter().filter(|group| selection.includes(&group.name)) {
        let parts = match group.role {
            CaseRole::Training => &PARTS[..],
            CaseRole::HeldOut => &[PUTS_IN_FLIGHT_PART],
        };
        for case in group.cases {
            eprintln!("    {} {} {}", case.topology, case.demands, case.message.as_deref().unwrap_or_default());
            let (network, demands) = case.read(&workspace.path(""))?;
            let demands = by_pair(demands);
            let planned = pipeline::run(&network, &demands, &with_planner(PlannerName::Optimal))?;
            let subject = Subject { model: &model, network: &network, demands: &demands, planned: &planned };
            let mut runs = Vec::new();
            for &part in parts {
                for relays in Relays::ALL {
                    runs.push(subject.run(relays, part)?);
                }
            }
            cases.push(ExecutorCase {
                chosen: subject.chosen()?,
                link_bound_seconds: planned.report.congestion_seconds,
                case,
                role: group.role,
                runs,
            });
        }
    }
    Ok(ExecutorContent { used: ExecutorConstants::of_this_program(), cases })
}

/// An exchange, before it is said how paths are carried out.
struct Subject<'a> {
    model: &'a Model,
    network: &'a Network,
    demands: &'a [Demand],
    planned: &'a Planned,
}

impl<'a> Subject<'a> {
    fn prepare(&self, legs: LegsChoice, in_flight_part: u64) -> Result<PreparedExchange<'a>, Failure> {
        let Self { model, network, demands, planned } = *self;
        let executor = Executor { legs, carry: Carry::OneSided, in_flight_part, ..Executor::of(model) };
        let method = TransferMethod::Planned(Box::new(planned.clone()), ScheduleOptions::default());
        Ok(ExchangeSetting { network, model, demands, executor }.prepare(method)?)
    }

    fn chosen(&self) -> Result<Relays, Failure> {
        match self.prepare(LegsChoice::Auto, PUTS_IN_FLIGHT_PART)?.executor().map(|e| e.legs) {
            Some(LegsChoice::Hops) => Ok(Relays::AtEveryHost),
            Some(LegsChoice::Planned) => Ok(Relays::AsPlanned),
            Some(LegsChoice::Auto) | None => Err(Failure::Work("nothing was chosen for planned paths".into())),
        }
    }

    fn run(&self, relays: Relays, in_flight_part: u64) -> Result<ExecutorRun, Failure> {
        let prepared = self.prepare(relays.legs(), in_flight_part)?;
        let predicted =
            prepared.predicted().ok_or_else(|| Failure::Work("no time is predicted for planned paths".into()))?;
        let started = Instant::now();
        let found = prepared.simulate(&RunOptions { threads: 1, seed: 1, ..RunOptions::default() })?;
        Ok(ExecutorRun {
            relays,
            in_flight_part,
            seconds: found.seconds(),
            predicted_seconds: predicted.seconds(),
            work_seconds: predicted.work_seconds,
            fill_seconds: predicted.fill_seconds,
            packets: found.exchanged.outcome.packets,
            simulation_seconds: started.elapsed().as_secs_f64(),
        })
    }
}

impl ExecutorRun {
    /// The link efficiency that the formula needs to give the time of this run; nothing where hosts are busier than links, or the
    /// paths would have taken longer to fill than everything took.
    fn link_efficiency(&self, link_bound_seconds: f64) -> Option<f64> {
        let links_seconds = self.seconds - self.fill_seconds;
        let by_links = self.work_seconds < link_bound_seconds && link_bound_seconds <= links_seconds;
        by_links.then(|| link_bound_seconds / links_seconds)
    }

    fn is_close(&self) -> bool {
        Closeness::is_close(percent_off(self.predicted_seconds, self.seconds))
    }
}

impl ExecutorCase {
    fn run(&self, relays: Relays, in_flight_part: u64) -> Option<&ExecutorRun> {
        self.runs.iter().find(|run| run.relays == relays && run.in_flight_part == in_flight_part)
    }

    /// How many times as long as the faster relays the chosen ones take.
    fn regret(&self, in_flight_part: u64) -> Option<f64> {
        let seconds = |relays| self.run(relays, in_flight_part).map(|run| run.seconds);
        let fastest = Relays::ALL.into_iter().filter_map(seconds).fold(f64::INFINITY, f64::min);
        seconds(self.chosen).map(|chosen| chosen / fastest)
    }
}

impl ExecutorContent {
    /// Of the page.
    pub const TITLE: &'static str = "Planned paths on a simulated machine";

    /// What the training cases give; nothing without such.
    pub fn fitted(&self) -> Option<ExecutorConstants> {
        let of_part = |part: u64| self.mean_time(Relays::AtEveryHost, part).map(|mean| (part, mean));
        let (in_flight_part, _) = PARTS.into_iter().filter_map(of_part).min_by(|a, b| a.1.total_cmp(&b.1))?;
        let efficiency = |relays| median(&self.efficiencies(relays, in_flight_part));
        Some(ExecutorConstants {
            in_flight_part,
            planned_link_efficiency: efficiency(Relays::AsPlanned)?,
            store_and_forward_link_efficiency: efficiency(Relays::AtEveryHost)?,
        })
    }

    /// The link bounds and runs of training cases.
    fn training(&self, relays: Relays, part: u64) -> impl Iterator<Item = (f64, &ExecutorRun)> {
        let cases = self.cases.iter().filter(|case| case.role == CaseRole::Training);
        cases.filter_map(move |case| case.run(relays, part).map(|run| (case.link_bound_seconds, run)))
    }

    fn efficiencies(&self, relays: Relays, part: u64) -> Vec<f64> {
        self.training(relays, part).filter_map(|(bound, run)| run.link_efficiency(bound)).collect()
    }

    /// The geometric mean of times over link bounds.
    fn mean_time(&self, relays: Relays, part: u64) -> Option<f64> {
        let times: Vec<f64> = self.training(relays, part).map(|(bound, run)| run.seconds / bound).collect();
        geometric_mean(&times)
    }

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let agreement = match self.fitted() {
            Some(fitted) if fitted.agrees_with(&self.used) => "are those of the training cases",
            _ => "are not those of the training cases",
        };
        let mut page = format!(
            "`optiq simulate --model bgq --transport one-sided`, planner optimal: chunks are put from rank to rank, with the overheads of \
             forwarding, and relayed where the plan says so (`--legs planned`) or at every host (`--legs hops`). The cost model \
             predicts both times and chooses (`--legs auto`); why relays at every host help: `docs/executor.md`. Its constants \
             {agreement} of `data/cases.toml` alone (decision 024).\n",
        );
        page.push_str(&self.judged());
        page.push_str(&self.table(CaseRole::HeldOut, "Held-out cases"));
        page.push_str(&self.constants());
        page.push_str(&self.table(CaseRole::Training, "Training cases"));
        page
    }

    fn judged(&self) -> String {
        let held_out = || self.cases.iter().filter(|case| case.role == CaseRole::HeldOut);
        let regrets: Vec<f64> = held_out().filter_map(|case| case.regret(self.used.in_flight_part)).collect();
        if regrets.is_empty() {
            return "\nNo held-out cases were simulated.\n".into();
        }
        let right = regrets.iter().filter(|&&regret| regret <= 1.0).count();
        let most = regrets.iter().fold(1.0f64, |a, &b| a.max(b));
        let runs = || held_out().flat_map(|case| &case.runs);
        format!(
            "\nOf {} held-out cases the faster relays are chosen in {right}; the chosen ones take at most {:.1} % longer. {} of {} \
             predicted times are within {WITHIN} %.\n",
            regrets.len(),
            (most - 1.0) * 100.0,
            runs().filter(|run| run.is_close()).count(),
            runs().count()
        )
    }

    fn constants(&self) -> String {
        let Some(fitted) = self.fitted() else { return "\nNo training cases were simulated.\n".into() };
        let mut parts = TextTable::new(&["one in", "mean of time over bound, as planned", "at every host"]);
        for part in PARTS {
            let mean = |relays| self.mean_time(relays, part).map_or(String::new(), |mean| format!("{mean:.3}"));
            parts.rows.push(vec![part.to_string(), mean(Relays::AsPlanned), mean(Relays::AtEveryHost)]);
        }
        let mut constants = TextTable::new(&["constant<", "of the training cases", "of the program that ran"]);
        let mut row = |name: &str, fitted: f64, used: f64, digits: usize| {
            constants.rows.push(vec![format!("`{name}`"), format!("{fitted:.digits$}"), format!("{used:.digits$}")]);
        };
        let used = self.used;
        row("transport.puts_in_flight_part", fitted.in_flight_part as f64, used.in_flight_part as f64, 0);
        let (of_fitted, of_used) = (fitted.planned_link_efficiency, used.planned_link_efficiency);
        row("sim.put_planned_link_efficiency", of_fitted, of_used, 3);
        let (of_fitted, of_used) = (fitted.store_and_forward_link_efficiency, used.store_and_forward_link_efficiency);
        row("sim.put_store_and_forward_link_efficiency", of_fitted, of_used, 3);
        let [planned, hops] = Relays::ALL.map(|relays| self.efficiencies(relays, fitted.in_flight_part).len());
        format!(
            "\n## Constants\n\nAt most the N-th part of the busiest leg's bytes is in flight. The N that makes relays at every host \
             fastest, by the geometric mean of times over link bounds:\n\n{}\nLink efficiencies are medians over the training cases in which links \
             are busier than hosts: {planned} of {} as planned, {hops} at every host.\n\n{}",
            parts.markdown(),
            self.training(Relays::AsPlanned, fitted.in_flight_part).count(),
            constants.markdown()
        )
    }

    fn table(&self, role: CaseRole, title: &str) -> String {
        let mut table = TextTable::new(&[
            "network<",
            "demands<",
            "message<",
            "link bound, ms",
            "as planned, ms",
            "predicted",
            "share of the bound, %",
            "at every host, ms",
            "predicted",
            "share of the bound, %",
            "chosen<",
            "simulated in, s",
        ]);
        for case in self.cases.iter().filter(|case| case.role == role) {
            let mut row = vec![
                format!("`{}`", case.case.topology),
                case.case.demands.trim_start_matches("pattern:").to_owned(),
                case.case.message.clone().unwrap_or_default(),
                format!("{:.3}", case.link_bound_seconds * 1e3),
            ];
            let mut simulated = 0.0;
            for relays in Relays::ALL {
                let Some(run) = case.run(relays, self.used.in_flight_part) else {
                    row.extend([String::new(), String::new(), String::new()]);
                    continue;
                };
                simulated += run.simulation_seconds;
                row.push(format!("{:.3}", run.seconds * 1e3));
                row.push(format!("{:.3}", run.predicted_seconds * 1e3));
                row.push(format!("{:.1}", case.link_bound_seconds / run.seconds * 100.0));
            }
            let chosen = match case.chosen {
                Relays::AsPlanned => "as planned",
                Relays::AtEveryHost => "at every host",
            };
            row.extend([chosen.to_owned(), format!("{simulated:.1}")]);
            table.rows.push(row);
        }
        if table.rows.is_empty() {
            return String::new();
        }
        format!("\n## {title}\n\n{}", table.markdown())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use Relays::{AsPlanned, AtEveryHost};

    fn case(role: CaseRole, bound: f64, runs: &[(Relays, u64, f64)]) -> ExecutorCase {
        let run = |&(relays, in_flight_part, seconds): &(Relays, u64, f64)| ExecutorRun {
            relays,
            in_flight_part,
            seconds,
            predicted_seconds: 2.0,
            work_seconds: 0.5,
            fill_seconds: 1.0,
            packets: 1,
            simulation_seconds: 0.5,
        };
        let case = MeasurementCase { topology: "torus:4".into(), demands: "pattern:disjoint".into(), message: None };
        ExecutorCase {
            case,
            role,
            link_bound_seconds: bound,
            chosen: AtEveryHost,
            runs: runs.iter().map(run).collect(),
        }
    }

    #[test]
    fn constants_by_hand() {
        // Relays at every host take 3 and 5 s of bounds of 1 and 2 s with a 20th in flight, 4 and 5 s with a 40th.
        let runs = [(AsPlanned, 20, 5.0), (AtEveryHost, 20, 3.0), (AsPlanned, 40, 3.0), (AtEveryHost, 40, 4.0)];
        let more = [(AsPlanned, 20, 9.0), (AtEveryHost, 20, 5.0), (AsPlanned, 40, 3.0), (AtEveryHost, 40, 5.0)];
        let used = ExecutorConstants {
            in_flight_part: 40,
            planned_link_efficiency: 0.25,
            store_and_forward_link_efficiency: 0.5,
        };
        let cases = vec![
            case(CaseRole::Training, 1.0, &runs),
            case(CaseRole::Training, 2.0, &more),
            case(CaseRole::HeldOut, 1.0, &[(AsPlanned, 40, 2.0), (AtEveryHost, 40, 3.0)]),
        ];
        let content = ExecutorContent { used, cases };
        // 1 / (5 - 1) and 2 / (9 - 1); 1 / (3 - 1) and 2 / (5 - 1).
        assert_eq!(content.fitted(), Some(ExecutorConstants { in_flight_part: 20, ..used }));
        let page = content.body();
        assert!(page.contains("are not those of the training cases"), "{page}");
        let judged =
            "Of 1 held-out cases the faster relays are chosen in 0; the chosen ones take at most 50.0 % longer. 1 of 2";
        assert!(page.contains(judged), "{page}");
        assert!(page.contains("links are busier than hosts: 2 of 2 as planned, 2 at every host."), "{page}");
    }

    #[test]
    fn an_efficiency_is_known_where_links_are_busiest() {
        let run = |seconds| case(CaseRole::Training, 1.0, &[(AsPlanned, 40, seconds)]).runs[0].clone();
        assert_eq!(run(5.0).link_efficiency(1.0), Some(0.25));
        // Half a second of work is more than a link bound of 0.4 s; 1.5 s less 1 s to fill are less than one of 0.6 s.
        assert_eq!((run(5.0).link_efficiency(0.4), run(1.5).link_efficiency(0.6)), (None, None));
    }
}
