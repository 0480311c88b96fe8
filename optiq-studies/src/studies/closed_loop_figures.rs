//! What series of calls beside a load that comes, moves and goes say of a closed loop, measured in a lab or simulated: the targets of issue 21, tables, and
//! each call in a picture.

use crate::markdown::TextTable;
use crate::plot::{Plot, PlotKind};
use optiq_measure::statistics::{geometric_mean, median, quantile};
use optiq_view::table::seconds;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A call, as far as pages show what `optiq bench calls` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCall {
    /// Until the last rank has returned.
    pub seconds: f64,
    /// `MPI`, or how many paths.
    pub served_by: String,
}

/// A link that was taken for busy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundLink {
    /// The vertex that sends.
    pub from: String,
    /// The vertex that receives.
    pub to: String,
    /// The share of its capacity that is left.
    pub share_left: f64,
}

/// The calls of a phase, and the links that were taken for busy at its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredPhase {
    /// In order.
    pub calls: Vec<MeasuredCall>,
    /// Ascending.
    pub busy_links: Vec<FoundLink>,
}

/// What serves a series of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// `MPI_Alltoallv` as it is.
    Mpi,
    /// With the linear algorithm of Open MPI.
    MpiLinear,
    /// With the pairwise algorithm of Open MPI.
    MpiPairwise,
    /// A plan for idle links.
    Unaware,
    /// A plan for each phase's load, which a file says.
    Knows,
    /// `OPTIQ_BACKGROUND=measure`.
    Loop,
    /// The same with port counters of all links (`OPTIQ_COUNTERS`).
    Counters,
}

/// In the order of tables.
pub(super) const SIDES: [Side; 7] =
    [Side::Mpi, Side::MpiLinear, Side::MpiPairwise, Side::Unaware, Side::Knows, Side::Loop, Side::Counters];

impl Side {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Side::Mpi => "MPI",
            Side::MpiLinear => "MPI, linear",
            Side::MpiPairwise => "MPI, pairwise",
            Side::Unaware => "plan without knowledge",
            Side::Knows => "plan that knows",
            Side::Loop => "closed loop",
            Side::Counters => "closed loop, counters",
        }
    }

    /// Whether plain MPI serves it.
    pub fn is_mpi(self) -> bool {
        matches!(self, Side::Mpi | Side::MpiLinear | Side::MpiPairwise)
    }
}

/// What the links carry in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPhase {
    /// For people.
    pub name: String,
    /// Ends of the links that are loaded.
    pub loaded: Vec<(String, String)>,
    /// Link bound of the plan for idle links beside this load, in seconds.
    pub unaware_bound_seconds: f64,
    /// That of a plan that knows the load.
    pub knows_bound_seconds: f64,
    /// That of the fabric's own routes.
    pub direct_bound_seconds: f64,
}

/// A series of calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideSeries {
    /// What served it.
    pub side: Side,
    /// By phase.
    pub phases: Vec<MeasuredPhase>,
}

/// A pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClosedLoopCase {
    /// Its name.
    pub pattern: String,
    /// The network.
    #[serde(default)]
    pub topology: String,
    /// No constant was chosen on it.
    #[serde(default)]
    pub held_out: bool,
    /// Without load, with load, with other load, without.
    pub phases: Vec<LoadPhase>,
    /// In the order in which they ran.
    pub series: Vec<SideSeries>,
}

impl ClosedLoopCase {
    /// The times of a side's calls in a phase, of all repetitions, from call `from` on.
    fn times(&self, side: Side, phase: usize, from: usize) -> Vec<f64> {
        let series = self.series.iter().filter(|s| s.side == side);
        // Sides that learn nothing may have fewer calls.
        let skip = |p: &MeasuredPhase| if p.calls.len() > from { from } else { 0 };
        let phases = series.filter_map(|s| s.phases.get(phase));
        phases.flat_map(|p| p.calls.iter().skip(skip(p)).map(|c| c.seconds)).collect()
    }

    fn median(&self, side: Side, phase: usize, from: usize) -> Option<f64> {
        median(&self.times(side, phase, from))
    }

    /// The best of plain MPI's algorithms.
    pub(super) fn best_mpi(&self, phase: usize, from: usize) -> Option<(Side, f64)> {
        let known = SIDES.into_iter().filter(|s| s.is_mpi()).filter_map(|s| Some((s, self.median(s, phase, from)?)));
        known.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The median over repetitions of each call of a phase.
    fn by_call(&self, side: Side, phase: usize) -> Vec<f64> {
        let series: Vec<&SideSeries> = self.series.iter().filter(|s| s.side == side).collect();
        let calls = series.iter().filter_map(|s| s.phases.get(phase)).map(|p| p.calls.len()).min().unwrap_or(0);
        let of = |call: usize| {
            let times: Vec<f64> =
                series.iter().filter_map(|s| Some(s.phases.get(phase)?.calls.get(call)?.seconds)).collect();
            median(&times)
        };
        (0..calls).filter_map(of).collect()
    }

    /// After how many calls of a phase a loop stays within [`NEAR`] of what the plan that knows takes; by medians over repetitions.
    pub(super) fn recovered(&self, of: Side, phase: usize, settled: usize) -> Option<usize> {
        let limit = NEAR * self.median(Side::Knows, phase, settled)?;
        let calls = self.by_call(of, phase);
        // One late call in the rest is not a plan that was lost.
        (0..calls.len().saturating_sub(2)).find(|&i| {
            let rest = &calls[i..];
            calls[i] <= limit && rest.iter().filter(|&&t| t > limit).count() * 4 <= rest.len()
        })
    }
}

/// A call counts as recovered within this of the plan that knows.
const NEAR: f64 = 1.15;

/// The targets of issue 21.
const OF_KNOWS: f64 = 1.1;
const OF_UNAWARE: f64 = 1.3;
const OF_MPI: f64 = 0.97;
const COST: f64 = 1.01;
const RECOVERED: usize = 10;

/// Cases, how many calls a phase has, and from which on they count.
#[derive(Clone, Copy)]
pub struct Figures<'a> {
    /// The cases.
    pub cases: &'a [ClosedLoopCase],
    /// Calls in each phase of the loop.
    pub calls: usize,
    /// Calls before are left out.
    pub settled: usize,
    /// The loop whose targets are judged.
    pub judged: Side,
}

impl Figures<'_> {
    /// The four targets, met or not, by pattern and phase.
    pub fn targets(&self) -> String {
        let mut table = TextTable::new(&[
            "pattern<",
            "phase<",
            "closed loop : plan that knows (at most 1.10)",
            "plan without : closed loop (at least 1.30)",
            "best MPI : closed loop (at least 0.97)",
            "recovered after calls (at most 10)",
            "met<",
        ]);
        // Of training cases, of held-out ones.
        let (mut met, mut asked) = ([0; 2], [0; 2]);
        // Phases with a load, and those in which knowing it would gain too little.
        let (mut loaded, mut idle) = (0, 0);
        for case in self.cases {
            for (phase, load) in case.phases.iter().enumerate() {
                let of = |side| case.median(side, phase, self.settled);
                let (Some(own), Some(knows), Some(unaware), Some((best, mpi))) =
                    (of(self.judged), of(Side::Knows), of(Side::Unaware), case.best_mpi(phase, self.settled))
                else {
                    continue;
                };
                let recovered = case.recovered(self.judged, phase, self.settled);
                let is_loaded = !load.loaded.is_empty();
                loaded += usize::from(is_loaded);
                idle += usize::from(is_loaded && unaware < OF_UNAWARE * knows);
                let checks = [
                    own <= OF_KNOWS * knows,
                    !is_loaded || unaware >= OF_UNAWARE * own,
                    mpi >= OF_MPI * own,
                    phase == 0 || recovered.is_some_and(|calls| calls <= RECOVERED),
                ];
                let good = checks.iter().filter(|c| **c).count();
                met[usize::from(case.held_out)] += good;
                asked[usize::from(case.held_out)] += checks.len();
                table.rows.push(vec![
                    case.pattern.clone(),
                    load.name.clone(),
                    format!("{:.2}", own / knows),
                    format!("{:.2}", unaware / own),
                    format!("{:.2} ({})", mpi / own, best.name()),
                    recovered.map_or("never".into(), |calls| calls.to_string()),
                    if good == checks.len() { "yes".into() } else { format!("{good} of {}", checks.len()) },
                ]);
            }
        }
        let cost = self.cost();
        let cost = cost.map_or(String::new(), |cost| {
            let verdict = if cost <= COST { "met" } else { "not met" };
            format!(
                "Without load, before any came, calls of the closed loop took {cost:.3} times what those of the plan without knowledge took \
                 (geometric mean over patterns; at most 1.01 was asked for: {verdict}).\n"
            )
        });
        let count = |i: usize, cases: &str| {
            if asked[i] > 0 {
                format!("**{} of {} targets are met on {cases} cases.** ", met[i], asked[i])
            } else {
                String::new()
            }
        };
        let idle = format!(
            "In {idle} of {loaded} phases with a load the plan that knows is itself less than 1.30 times as fast as the plan without knowledge, so that nothing \
             could meet that target.\n"
        );
        format!("{}{}{cost}{idle}\n{}", count(0, "training"), count(1, "held-out"), table.markdown())
    }

    /// What the loop costs where there is nothing to follow.
    fn cost(&self) -> Option<f64> {
        let ratio = |case: &ClosedLoopCase| {
            let of = |side| case.median(side, 0, self.calls / 4);
            Some(of(self.judged)? / of(Side::Unaware)?)
        };
        geometric_mean(&self.cases.iter().filter_map(ratio).collect::<Vec<_>>())
    }

    /// Medians and quartiles of a case, by phase and side.
    pub fn table(&self, case: &ClosedLoopCase) -> String {
        let mut table = TextTable::new(&["phase<", "side<", "median", "quartiles<", "link bound"]);
        for (phase, load) in case.phases.iter().enumerate() {
            for side in SIDES {
                let times = case.times(side, phase, self.settled);
                let Some(middle) = median(&times) else { continue };
                let quartiles = quantile(&times, 0.25).zip(quantile(&times, 0.75));
                let bound = match side {
                    Side::Unaware => load.unaware_bound_seconds,
                    Side::Knows | Side::Loop | Side::Counters => load.knows_bound_seconds,
                    _ => load.direct_bound_seconds,
                };
                table.rows.push(vec![
                    load.name.clone(),
                    side.name().into(),
                    seconds(middle),
                    quartiles.map_or(String::new(), |(q1, q3)| format!("{} to {}", seconds(q1), seconds(q3))),
                    seconds(bound),
                ]);
            }
        }
        table.markdown()
    }

    /// Which links were loaded, and which the loop took for busy in the end of each phase.
    pub fn told(&self, case: &ClosedLoopCase) -> String {
        let mut text = String::from("\n");
        for (phase, load) in case.phases.iter().enumerate() {
            let truth: Vec<String> = load.loaded.iter().map(|(from, to)| format!("{from} -> {to}")).collect();
            let of_loop = case.series.iter().filter(|s| s.side == self.judged).filter_map(|s| s.phases.get(phase));
            let found: Vec<String> = of_loop
                .map(|p| {
                    let links = p
                        .busy_links
                        .iter()
                        .map(|b| format!("{} -> {} ({:.0} % left)", b.from, b.to, 100.0 * b.share_left));
                    let links: Vec<String> = links.collect();
                    if links.is_empty() { "none".into() } else { links.join(", ") }
                })
                .collect();
            let truth = if truth.is_empty() { "none".into() } else { truth.join(", ") };
            let _ =
                writeln!(text, "- {}: loaded: {truth}. Taken for busy at its end: {}.", load.name, found.join("; "));
        }
        text
    }

    /// Each call, in the order of time, by medians over repetitions.
    pub fn plot(&self) -> Plot {
        let phases = self.cases.first().map_or(0, |case| case.phases.len());
        // More labels than these would overlap.
        let label = |n: usize| if n % self.calls == 1 { n.to_string() } else { String::new() };
        let numbers = (1..=phases * self.calls).map(label).collect();
        let title =
            "Time of each call: load comes after the first quarter, moves after the second, goes after the third";
        let mut plot = Plot::new(PlotKind::Lines, title, "seconds", "call", numbers);
        for case in self.cases {
            for side in SIDES.into_iter().filter(|side| *side != Side::MpiPairwise) {
                // Open MPI's own choice stands for both of its algorithms.
                if side == Side::MpiLinear && case.median(Side::Mpi, 0, 0).is_some() {
                    continue;
                }
                for phase in 0..phases {
                    let times = case.by_call(side, phase);
                    let Some(middle) = median(&times) else { continue };
                    for call in 0..self.calls {
                        let time = times.get(call).copied().unwrap_or(middle);
                        plot.set(&case.pattern, side.name(), phase * self.calls + call, time);
                    }
                }
            }
        }
        plot
    }
}
