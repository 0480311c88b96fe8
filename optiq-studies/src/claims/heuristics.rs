//! O14 and O15: heuristic 1 by maxload (Tables X and XI), and how long the planners take (Tables XI, XIII and XIV,
//! section 6.4.4.12).

use super::machine::{Machine, ORDER, Scale};
use super::setting::{Partition, Setting, with_planner, worst_megabytes};
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
    column("GB/s at 1", "gigabytes_per_second_at_maxload_1", 1),
    column("2", "gigabytes_per_second_at_maxload_2", 1),
    column("4", "gigabytes_per_second_at_maxload_4", 1),
    column("8", "gigabytes_per_second_at_maxload_8", 1),
    column("16", "gigabytes_per_second_at_maxload_16", 1),
    column("32", "gigabytes_per_second_at_maxload_32", 1),
    column("best maxload, published", "published_best_maxload", 0),
    column("ours", "best_maxload", 0),
];

/// All bytes, in packets of 4 KiB.
const THROUGHPUT: Scale = Scale { bytes: 1, packets: 8 };

/// O14: where heuristic 1 is best, by simulated throughput.
pub fn maxload(setting: &Setting) -> Result<Findings, Failure> {
    let published = &setting.published.table_x;
    let partition = setting.partition(published.nodes)?;
    let machine = Machine::new(setting, THROUGHPUT)?;
    let judged = partition.published && machine.judged;
    let region = format!("{} to {}", published.best[0], published.best[1]);
    let (mut rows, mut bests) = (Vec::new(), Vec::new());
    for pattern in PATTERNS {
        for (method, what) in [(CandidateMethod::Yen, "shortest"), (CandidateMethod::Diverse, "diverse")] {
            let found = by_maxload(setting, &machine, &partition, (pattern, method))?;
            let throughput = |m: &ByMaxload| m.gigabytes;
            let best =
                found.iter().max_by(|a, b| throughput(a).total_cmp(&throughput(b)).then(b.maxload.cmp(&a.maxload)));
            let best = best.map_or((0, 0.0), |m| (m.maxload, m.gigabytes));
            bests.push(format!("{} ({pattern}, {what})", best.0));
            // Within a percent, runs are equal.
            let inside = found.iter().filter(|m| (published.best[0]..=published.best[1]).contains(&m.maxload));
            let holds = inside.map(throughput).fold(0.0, f64::max) >= best.1 * (1.0 - ORDER);
            let verdict = match judged && method == CandidateMethod::Yen {
                true => Verdict::of(holds, || format!("{pattern}: {:.1} GB/s at maxload {}", best.1, best.0)),
                false => Verdict::NotJudged,
            };
            let mut cells: Vec<Cell> = vec![pattern.into(), what.into()];
            cells.extend(found.iter().map(|m| Cell::Number(m.megabytes)));
            cells.extend(found.iter().map(|m| Cell::Number(m.gigabytes)));
            cells.extend([region.as_str().into(), u64::from(best.0).into()]);
            rows.push(Row::new(cells, verdict));
        }
    }
    let list = |p: usize| {
        let numbers: Vec<String> = published.gigabytes_per_second[p].iter().map(|n| n.to_string()).collect();
        format!("{} {}", PATTERNS[p], numbers.join(" "))
    };
    let mut notes = vec![
        format!("Published throughputs, GB/s, at the same values of maxload: {}; {}; {}.", list(0), list(1), list(2)),
        format!(
            "{K} candidates for each pair: the shortest as published, by which the claim is judged, and this project's. The best maxload \
             is that of the highest simulated throughput; the region is the published one if its best is within {:.0} % of that.",
            ORDER * 100.0
        ),
    ];
    let demands = setting.pattern(PATTERNS[0], &partition.net)?;
    notes.extend(machine.note(&partition.net, &demands, PATTERNS[0])?);
    let seen = Some(format!("throughput is highest at a maxload of {}", bests.join(", ")));
    Ok(Findings { seen, ..Findings::new(BY_MAXLOAD, rows, notes) })
}

/// Heuristic 1 with one maxload.
struct ByMaxload {
    maxload: u32,
    /// On the worst link.
    megabytes: f64,
    /// Simulated, a second.
    gigabytes: f64,
}

fn by_maxload(
    setting: &Setting,
    machine: &Machine,
    Partition { net, .. }: &Partition,
    (pattern, method): (&str, CandidateMethod),
) -> Result<Vec<ByMaxload>, Failure> {
    let demands = machine.scaled(setting.pattern(pattern, net)?);
    let candidates = Candidates::generate(net, &demands, K, method)?;
    let mut found = Vec::new();
    for maxload in setting.published.table_x.maxload {
        setting.progress.now(format!("{pattern}: heuristic 1 on {method} paths, maxload {maxload}"));
        let options = PlanOptions { maxload, method, ..with_planner(PlannerName::Heuristic1) };
        let Some(planned) = setting.plan(net, &demands, &options, Some(&candidates))? else { continue };
        let megabytes = worst_megabytes(&planned);
        found.push(ByMaxload { maxload, megabytes, gigabytes: machine.throughput(net, &demands, planned)? });
    }
    Ok(found)
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
