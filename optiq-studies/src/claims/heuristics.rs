//! O14 and O15: heuristic 1 by maxload (Tables X and XI), and how long the planners take (Tables XI, XIII and XIV,
//! section 6.4.4.12).

use super::setting::{Setting, with_planner, worst_megabytes};
use crate::failure::Failure;
use crate::findings::{Cell, Column, Findings, Row, Verdict, column};
use crate::published::PATTERNS;
use optiq_measure::statistics::Summary;
use optiq_solver::pipeline::{K, PlanOptions};
use optiq_solver::planner::PlannerName;
use optiq_solver::{CandidateMethod, Candidates};

/// How many times faster than published: heuristic 1, heuristic 2, the LP.
const FASTER: [f64; 3] = [20.0, 20.0, 500.0];

const BY_MAXLOAD: &[Column] = &[
    column("pattern", "pattern", 0),
    column("candidates", "candidate_method", 0),
    column("MB at 1", "megabytes_per_link_max_at_maxload_1", 2),
    column("2", "megabytes_per_link_max_at_maxload_2", 2),
    column("4", "megabytes_per_link_max_at_maxload_4", 2),
    column("8", "megabytes_per_link_max_at_maxload_8", 2),
    column("16", "megabytes_per_link_max_at_maxload_16", 2),
    column("32", "megabytes_per_link_max_at_maxload_32", 2),
    column("best maxload, published", "published_best_maxload", 0),
    column("ours", "best_maxload", 0),
];

/// O14: where heuristic 1 is best.
pub fn maxload(setting: &Setting) -> Result<Findings, Failure> {
    let published = &setting.published.table_x;
    let partition = setting.partition(published.nodes)?;
    let net = &partition.net;
    let region = format!("{} to {}", published.best[0], published.best[1]);
    let (mut rows, mut bests) = (Vec::new(), Vec::new());
    for pattern in PATTERNS {
        let demands = setting.pattern(pattern, net)?;
        for (method, what) in [(CandidateMethod::Yen, "shortest"), (CandidateMethod::Diverse, "diverse")] {
            setting.progress.now(format!("{pattern}: heuristic 1 on {what} paths"));
            let candidates = Candidates::generate(net, &demands, K, method)?;
            let mut loads = Vec::new();
            for maxload in published.maxload {
                let options = PlanOptions { maxload, method, ..with_planner(PlannerName::Heuristic1) };
                if let Some(planned) = setting.plan(net, &demands, &options, Some(&candidates))? {
                    loads.push((worst_megabytes(&planned), maxload));
                }
            }
            let best = loads.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |l| l.1);
            bests.push(format!("{best} ({pattern}, {what})"));
            let verdict = match partition.published {
                true => Verdict::of((published.best[0]..=published.best[1]).contains(&best), || {
                    format!("the worst link is lightest at maxload {best}")
                }),
                false => Verdict::NotJudged,
            };
            let mut cells: Vec<Cell> = vec![pattern.into(), what.into()];
            cells.extend(loads.iter().map(|l| Cell::Number(l.0)));
            cells.extend([region.as_str().into(), u64::from(best).into()]);
            rows.push(Row::new(cells, verdict));
        }
    }
    let list = |p: usize| {
        let numbers: Vec<String> = published.gigabytes_per_second[p].iter().map(|n| n.to_string()).collect();
        format!("{} {}", PATTERNS[p], numbers.join(" "))
    };
    Ok(Findings {
        columns: BY_MAXLOAD.into(),
        totals: Vec::new(),
        plot: None,
        seen: Some(format!("the worst link is lightest at a maxload of {}", bests.join(", "))),
        rows,
        notes: vec![
            format!(
                "Published throughputs, GB/s, at the same values of maxload: {}; {}; {}.",
                list(0),
                list(1),
                list(2)
            ),
            format!(
                "{K} candidates for each pair: the shortest as published, and this project's. A throughput follows the \
                 worst link, so the lightest is the best; of equal ones the lower maxload."
            ),
        ],
    })
}

const TIMES: &[Column] = &[
    column("planner", "planner", 0),
    column("what", "what", 0),
    column("nodes", "nodes", 0),
    column("published, s", "published_seconds", 3),
    column("ours, s", "seconds", 4),
    column("times faster", "times_faster", 0),
    column("asked for", "times_faster_asked", 0),
];

/// A row of O15.
struct TimeRow {
    planner: PlannerName,
    what: String,
    nodes: u32,
    /// Published seconds.
    theirs: Option<f64>,
    /// Seconds.
    ours: f64,
    /// How many times faster is asked for.
    asked: f64,
    judged: bool,
}

impl TimeRow {
    fn row(self) -> Row {
        let TimeRow { planner, what, nodes, theirs, ours, asked, judged } = self;
        let faster = theirs.map(|theirs| theirs / ours);
        let verdict = match faster.filter(|_| judged) {
            Some(faster) => Verdict::of(faster >= asked, || format!("{planner}, {what}: {faster:.1} times")),
            None => Verdict::NotJudged,
        };
        let asked = faster.map(|_| asked);
        let cells = vec![
            planner.as_str().into(),
            what.into(),
            u64::from(nodes).into(),
            theirs.into(),
            ours.into(),
            faster.into(),
            asked.into(),
        ];
        Row::new(cells, verdict)
    }
}

/// O15: how long plans take.
pub fn times(setting: &Setting) -> Result<Findings, Failure> {
    let published = setting.published;
    let mut rows = Vec::new();
    // Heuristic 1 at 1,024 nodes and maxload 16, the planner's default.
    let at_16 = published.table_xi.maxload.iter().position(|&m| m == 16).unwrap_or(0);
    let (xi, xiii) = (published.table_xi.nodes, published.table_xiii.nodes);
    rows.extend(pattern_times(setting, PlannerName::Heuristic1, "Table XI", xi, FASTER[0], |p| {
        published.table_xi.seconds[p][at_16]
    })?);
    rows.extend(pattern_times(setting, PlannerName::Optimal, "Table XIII", xiii, FASTER[2], |p| {
        published.table_xiii.whole(p)
    })?);
    rows.extend(case_times(setting)?);
    let note = format!(
        "Ours from the demands to the checked plan, candidate paths included. Single patterns: medians of {}; of the 91 \
         cases each runs once. Published for the optimization: model and solution (50 shortest paths for each pair; \
         SNOPT, the faster of the two, in Table XIV). The thesis says of heuristic 1 in the 91 cases: \"within a few seconds, \
         sometimes less than 1 second\", which is no number to judge by.",
        setting.repetitions
    );
    Ok(Findings::new(TIMES, rows, vec![note]))
}

/// One planner on the three patterns; `theirs` gives the published seconds of a pattern.
fn pattern_times(
    setting: &Setting,
    planner: PlannerName,
    table: &str,
    nodes: u32,
    asked: f64,
    theirs: impl Fn(usize) -> f64,
) -> Result<Vec<Row>, Failure> {
    let partition = setting.partition(nodes)?;
    let mut rows = Vec::new();
    for (p, pattern) in PATTERNS.into_iter().enumerate() {
        setting.progress.now(format!("{pattern} on {} nodes with {planner}", partition.nodes));
        let demands = setting.pattern(pattern, &partition.net)?;
        if let Some((_, ours)) = setting.timed(&partition.net, &demands, &with_planner(planner))? {
            let (what, theirs) = (format!("{pattern}, {table}"), Some(theirs(p)));
            let (nodes, judged) = (partition.nodes, partition.published);
            rows.push(TimeRow { planner, what, nodes, theirs, ours, asked, judged }.row());
        }
    }
    Ok(rows)
}

/// Figure 16: three planners on the 91 cases.
fn case_times(setting: &Setting) -> Result<Vec<Row>, Failure> {
    let published = setting.published;
    let all = setting.partition(published.heuristic2.nodes)?;
    let mut rows = Vec::new();
    for planner in [PlannerName::Heuristic1, PlannerName::Heuristic2, PlannerName::Optimal] {
        let mut seconds = Vec::with_capacity(setting.cases.len());
        for (i, case) in setting.cases.iter().enumerate() {
            let progress = format!("case {} of {} with {planner}: {}", i + 1, setting.cases.len(), case.id);
            setting.progress.now(progress);
            let demands = case.demands(all.net.hosts())?;
            if let Some(planned) = setting.plan(&all.net, &demands, &with_planner(planner), None)? {
                seconds.push(planned.timings.total_seconds);
            }
        }
        let Some(summary) = Summary::of(&seconds) else { continue };
        let judged = all.published && summary.count == 91;
        let mut add = |which: &str, theirs: Option<f64>, ours: f64, asked: f64| {
            let (what, nodes) = (format!("{} cases, {which}", summary.count), all.nodes);
            rows.push(TimeRow { planner, what, nodes, theirs, ours, asked, judged }.row());
        };
        let [from, to] = published.heuristic2.seconds;
        let theirs = |value: f64| (planner == PlannerName::Heuristic2).then_some(value);
        add("fastest", theirs(from), summary.minimum, FASTER[1]);
        add("median", None, summary.median, 0.0);
        add("slowest", theirs(to), summary.maximum, FASTER[1]);
        let total = (planner == PlannerName::Optimal).then_some(published.table_xiv.snopt_seconds);
        let which = if total.is_some() { "sum, Table XIV" } else { "sum" };
        add(which, total, seconds.iter().sum(), FASTER[2]);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::Published;

    #[test]
    fn columns_are_the_published_maxloads() {
        let keys: Vec<String> = Published::load()
            .unwrap()
            .table_x
            .maxload
            .iter()
            .map(|m| format!("megabytes_per_link_max_at_maxload_{m}"))
            .collect();
        assert!(BY_MAXLOAD[2..8].iter().map(|c| &*c.key).eq(keys.iter().map(String::as_str)));
    }
}
