//! The 91 cases, planned one by one: the gap that each plan proves, and how much lighter it is than the fabric's own
//! routes.

use super::setting::{Setting, bound_megabytes, with_planner, worst_megabytes};
use crate::failure::Failure;
use crate::findings::{Column, Findings, Row, Verdict, column};
use optiq_net::Network;
use optiq_solver::Demand;
use optiq_solver::planner::PlannerName;

/// The partition of Figure 7 and Table XIV.
pub const NODES: u32 = 2048;

/// The gap that each plan must prove.
const GAP: f64 = 0.01;

/// In how many seconds all of them must be planned at 2,048 nodes.
const SECONDS: f64 = 60.0;

const CASES: &[Column] = &[
    column("case", "case", 0),
    column("section", "section", 0),
    column("demands", "demands", 0),
    column("congestion, ms", "congestion_milliseconds", 3),
    column("worst link, MB", "megabytes_per_link_max", 2),
    column("no routing below, MB", "bound_megabytes_per_link_max", 2),
    column("gap, %", "gap_percent", 2),
    column("direct, ms", "direct_congestion_milliseconds", 3),
    column("times lighter", "improvement", 2),
    column("adaptive, ms", "adaptive_congestion_milliseconds", 3),
    column("times lighter", "improvement_over_adaptive", 2),
    column("seconds", "seconds", 3),
];

/// Seconds of the worst link where routers choose, by an estimate.
fn adaptive_seconds(net: &Network, demands: &[Demand]) -> Result<f64, Failure> {
    let load = net.spread_load(demands.iter().map(|d| (d.src, d.dst, d.bytes)))?;
    Ok(load.statistics(net).congestion_seconds)
}

/// What is said of it; `times` is the mean of how much lighter plans are.
fn about_adaptive(times: f64) -> String {
    format!(
        "Direct is on the fabric's deterministic routes. Adaptive is an estimate of what minimal adaptive routes put on the worst link \
         (`optiq-net/src/routes/spread.rs`): over it the worst link is {times:.2} times lighter on average."
    )
}

/// Plans all cases with `planner`.
pub fn run(setting: &Setting, planner: PlannerName) -> Result<Findings, Failure> {
    let partition = setting.partition(NODES)?;
    let net = &partition.net;
    let mut rows = Vec::with_capacity(setting.cases.len());
    let (mut seconds, mut improvements, mut worst_gap, mut proved) = (0.0, 0.0, 0.0f64, 0);
    let mut over_adaptive = 0.0;
    for (i, case) in setting.cases.iter().enumerate() {
        setting.progress.now(format!(
            "case {} of {} on {} nodes with {planner}: {}",
            i + 1,
            setting.cases.len(),
            partition.nodes,
            case.id
        ));
        let demands = case.demands(net.hosts())?;
        let Some(planned) = setting.plan(net, &demands, &with_planner(planner), None)? else {
            return Err(Failure::Input(format!("planner {planner} is not in this build")));
        };
        let report = &planned.report;
        let adaptive = adaptive_seconds(net, &demands)?;
        over_adaptive += adaptive / report.congestion_seconds;
        seconds += planned.timings.total_seconds;
        improvements += report.improvement;
        worst_gap = worst_gap.max(report.gap);
        proved += usize::from(report.gap <= GAP);
        rows.push(Row::new(
            vec![
                case.id.as_str().into(),
                case.section.as_str().into(),
                demands.len().into(),
                (report.congestion_seconds * 1e3).into(),
                worst_megabytes(&planned).into(),
                bound_megabytes(&planned, net).into(),
                (report.gap * 100.0).into(),
                (report.direct_congestion_seconds * 1e3).into(),
                report.improvement.into(),
                (adaptive * 1e3).into(),
                (adaptive / report.congestion_seconds).into(),
                planned.timings.total_seconds.into(),
            ],
            Verdict::of(report.gap <= GAP, || format!("gap {:.4} %", report.gap * 100.0)),
        ));
    }
    let number = rows.len();
    let mean = improvements / number.max(1) as f64;
    let total = format!(
        "{number} cases on {} nodes with {planner}: {proved} with a proved gap of at most {:.0} %, the largest gap {:.2} %; \
         the worst link is {mean:.2} times lighter than on the fabric's own routes, on average; {seconds:.2} s in all, \
         candidate paths, proofs and checks included.",
        partition.nodes,
        GAP * 100.0,
        worst_gap * 100.0,
    );
    let xiv = &setting.published.table_xiv;
    let mut totals = vec![
        ("cases".to_owned(), number.into()),
        ("cases_within_gap".to_owned(), proved.into()),
        ("gap_percent_max".to_owned(), (worst_gap * 100.0).into()),
        ("improvement_mean".to_owned(), mean.into()),
        ("improvement_over_adaptive_mean".to_owned(), (over_adaptive / number.max(1) as f64).into()),
        ("seconds".to_owned(), seconds.into()),
    ];
    let mut notes = vec![total, about_adaptive(over_adaptive / number.max(1) as f64)];
    if partition.nodes == xiv.nodes && number == 91 {
        totals.push(("published_seconds".to_owned(), xiv.snopt_seconds.into()));
        notes.push(format!(
            "The thesis needed {:.1} s for its 91 cases at {} nodes, model and solution (Table XIV, SNOPT): {:.0} times as \
             long. This project asks for {SECONDS:.0} s.",
            xiv.snopt_seconds,
            xiv.nodes,
            xiv.snopt_seconds / seconds
        ));
    }
    let seen = format!("{proved} of {number} within {:.0} %, the largest gap {:.2} %", GAP * 100.0, worst_gap * 100.0);
    Ok(Findings { totals, seen: Some(seen), ..Findings::new(CASES, rows, notes) })
}
