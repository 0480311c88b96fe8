//! O7 to O11: throughputs as nodes, sizes, distances, destinations and pairings vary (thesis 6.4.4.2 to 6.4.4.6), simulated.
//!
//! All of these are among the 91 cases, and are found there by their names.

use super::baselines;
use super::machine::{Machine, Measured, ORDER, PLANNERS, STRONGEST_SETUP, Scale, TIMES_STRONGEST};
use super::setting::Setting;
use super::thesis_cases::{self, Case};
use crate::compared_method::ComparedMethod;
use crate::failure::Failure;
use crate::findings::{Cell, Column, Findings, Row, Verdict, column};
use crate::plot::{Plot, PlotKind};
use crate::published::{PATTERNS, Positions};
use optiq_net::Network;
use optiq_solver::Demand;
use optiq_solver::pipeline::K;
use optiq_solver::planner::PlannerName;

/// A sixteenth of the published bytes in packets of 4 KiB: within minutes, and each page says what that changes.
pub const SCALE: Scale = Scale { bytes: 16, packets: 8 };

/// All bytes where throughputs at different distances are compared: latencies must not matter.
const ALL_BYTES: Scale = Scale { bytes: 1, packets: 8 };

/// The partition of the one case that is run both scaled and in full.
pub const CHECKED: u32 = 512;

/// One family of cases on the simulated machine.
struct Family<'a> {
    setting: &'a Setting<'a>,
    machine: Machine<'a>,
    cases: Vec<Case>,
    rows: Vec<Row>,
    /// Of the largest partition that was simulated.
    most_hosts: usize,
}

impl<'a> Family<'a> {
    fn new(setting: &'a Setting<'a>, scale: Scale) -> Result<Self, Failure> {
        let machine = Machine::new(setting, scale)?;
        Ok(Family { setting, machine, cases: thesis_cases::built_in()?, rows: Vec::new(), most_hosts: 0 })
    }

    fn full(&self, id: &str, net: &Network) -> Result<Vec<Demand>, Failure> {
        let case = self.cases.iter().find(|case| case.id == id);
        let case = case.ok_or_else(|| Failure::Work(format!("data/thesis91.toml has no case \"{id}\"")))?;
        Ok(case.demands(net.hosts())?)
    }

    fn compare(&mut self, id: &str, net: &Network) -> Result<(Vec<Demand>, Vec<Measured>), Failure> {
        let demands = self.machine.scaled(self.full(id, net)?);
        let what = format!("case {id} on {} nodes", net.hosts());
        self.most_hosts = self.most_hosts.max(net.hosts());
        let found = self.machine.compare_with_strongest(net, &demands, &PLANNERS, &what)?;
        Ok((demands, found))
    }

    fn row(&mut self, cells: Vec<Cell>, verdict: Verdict) {
        self.rows.push(Row::new(cells, verdict));
    }

    /// The table, the picture, and first of the notes what is scaled, tried on `id`.
    fn findings(
        self,
        columns: &'static [Column],
        plot: Plot,
        id: &str,
        mut notes: Vec<String>,
    ) -> Result<Findings, Failure> {
        let net = self.setting.network(CHECKED)?;
        let what = format!("case {id} on {CHECKED} nodes");
        let scaled = self.machine.note(&net, &self.full(id, &net)?, &what)?;
        notes.splice(0..0, scaled);
        notes.push(baselines::note(self.most_hosts));
        Ok(Findings::new(columns, self.rows, notes).with_plot(plot))
    }
}

/// What is said of all of them.
fn about() -> String {
    "Model `data/sim/bgq.toml`. The cases are those of `data/thesis91.toml`. Planner `optimal` stands for the thesis's \
     optimization: it solves the same problem, without the limit to 50 paths for each pair. Runs are exact: there is no noise."
        .into()
}

fn percent(share: f64) -> Cell {
    (share * 100.0).into()
}

const BY_NODES: &[Column] = &[
    column("pattern", "pattern", 0),
    column("nodes", "nodes", 0),
    column("planner", "planner", 0),
    column("simulated, GB/s", "gigabytes_per_second", 1),
    column("times MPI", "times_mpi", 2),
    STRONGEST_SETUP,
    TIMES_STRONGEST,
    column("of the gain on the fewest nodes, %", "of_first_percent", 1),
    column("share of the bound, %", "share_of_bound_percent", 1),
];

/// A gain holds if so much of what it is on the fewest nodes is left on more.
const HOLDS: f64 = 0.9;

/// O7 and O8: a case of each pattern on all partitions. `id` makes its name of the pattern's.
fn by_nodes(setting: &Setting, title: &str, id: impl Fn(&str) -> String) -> Result<Findings, Failure> {
    let mut family = Family::new(setting, SCALE)?;
    let partitions: Vec<u32> = match setting.nodes {
        Some(nodes) => vec![nodes],
        None => setting.published.table_vi.nodes.to_vec(),
    };
    let judged = family.machine.judged && partitions.len() > 1;
    let categories = partitions.iter().map(u32::to_string).collect();
    let mut plot = Plot::new(PlotKind::Lines, title, "times as fast as MPI", "nodes", categories);
    for pattern in PATTERNS {
        let mut first: Vec<f64> = Vec::new();
        for (i, &nodes) in partitions.iter().enumerate() {
            let net = setting.network(nodes)?;
            let (_, found) = family.compare(&id(pattern), &net)?;
            if i == 0 {
                first = found.iter().map(|m| m.times_mpi).collect();
            }
            for (m, first) in found.iter().zip(&first) {
                let left = m.times_mpi / first;
                let verdict = match m.method {
                    _ if !judged => Verdict::NotJudged,
                    ComparedMethod::Mpi => Verdict::NotJudged,
                    method => Verdict::of(m.times_mpi > 1.0 && left >= HOLDS, || {
                        format!("{pattern}, {nodes} nodes: {method} is {:.2} times as fast as MPI", m.times_mpi)
                    }),
                };
                plot.set(pattern, m.method.as_str(), i, m.times_mpi);
                let [setup, times_strongest] = m.beside_the_strongest();
                let cells = vec![
                    pattern.into(),
                    u64::from(nodes).into(),
                    m.method.as_str().into(),
                    m.gigabytes.into(),
                    m.times_mpi.into(),
                    setup,
                    times_strongest,
                    percent(left),
                    percent(m.share_of_bound),
                ];
                family.row(cells, verdict);
            }
        }
    }
    let notes = vec![format!(
        "{} The figure's values are not in the text of the thesis. A gain holds here if a planner is faster than MPI, and \
         if at least {:.0} % of how many times as fast it is on the fewest nodes is left.",
        about(),
        HOLDS * 100.0
    )];
    family.findings(BY_NODES, plot, &id(PATTERNS[0]), notes)
}

/// O7: as nodes grow.
pub fn nodes(setting: &Setting) -> Result<Findings, Failure> {
    by_nodes(setting, "Figure 8, simulated: gain over MPI by nodes", |pattern| format!("scaling-{pattern}-16"))
}

/// O8: as nodes grow, with random sizes.
pub fn sizes(setting: &Setting) -> Result<Findings, Failure> {
    by_nodes(setting, "Figure 10, simulated: gain over MPI by nodes, with random sizes", |pattern| {
        format!("sizes-{pattern}-16-1")
    })
}

const BY_DISTANCE: &[Column] = &[
    column("pattern", "pattern", 0),
    column("position", "position", 0),
    column("planner", "planner", 0),
    column("candidates", "candidate_method", 0),
    column("published distance, most", "published_distance_max", 0),
    column("ours", "distance_max", 0),
    column("published, mean", "published_distance_mean", 2),
    column("ours", "distance_mean", 2),
    column("published paths", "published_paths", 0),
    column("ours", "paths", 0),
    column("simulated, GB/s", "gigabytes_per_second", 1),
    column("times MPI", "times_mpi", 2),
    STRONGEST_SETUP,
    TIMES_STRONGEST,
    column("at its link bound, GB/s", "bound_gigabytes_per_second", 1),
    column("share of the bound, %", "share_of_bound_percent", 1),
];

/// The thesis's planners, over its own candidates.
const THESIS_PLANNERS: [PlannerName; 3] =
    [PlannerName::Heuristic1, PlannerName::Heuristic2, PlannerName::LinearProgram];

/// What was measured where destinations are at one position.
struct Position {
    hops: Hops,
    /// MPI, and planners over this project's candidates.
    ours: Vec<Measured>,
    /// Planners over the thesis's candidates; only in the pattern that is judged.
    thesis: Vec<Measured>,
}

/// O9: as destinations are farther away.
pub fn distances(setting: &Setting) -> Result<Findings, Failure> {
    let viii = &setting.published.table_viii;
    let partition = setting.partition(viii.nodes)?;
    let mut family = Family::new(setting, ALL_BYTES)?;
    let thesis = Machine::new(setting, ALL_BYTES)?.with_thesis_candidates();
    let judged = partition.published && family.machine.judged;
    let positions = 1..=viii.disjoint.distance_max.len();
    let title = format!("Figure 11, simulated: destinations farther and farther away, {} nodes", partition.nodes);
    let categories = positions.clone().map(|position| position.to_string()).collect();
    let mut plot = Plot::new(PlotKind::Lines, &title, "GB/s", "position of the destinations", categories);
    // How much the plans that are judged could carry at the nearest position and at the farthest.
    let mut limits: Vec<(ComparedMethod, f64, f64)> = Vec::new();
    for (pattern, published) in PATTERNS.into_iter().zip([&viii.disjoint, &viii.overlap, &viii.subset]) {
        let mut found: Vec<Position> = Vec::new();
        for position in positions.clone() {
            let id = format!("distance-{pattern}-{position}");
            let (demands, ours) = family.compare(&id, &partition.net)?;
            let over_thesis = match pattern == PATTERNS[0] {
                true => {
                    let what = format!("case {id} over the thesis's candidates");
                    thesis.compare_planned(&partition.net, &demands, &THESIS_PLANNERS, ours.first(), &what)?
                }
                false => Vec::new(),
            };
            found.push(Position { hops: Hops::of(&partition.net, &demands), ours, thesis: over_thesis });
        }
        for (i, position) in found.iter().enumerate() {
            for m in &position.ours {
                let cells = distance_cells(pattern, i, OURS, published, &position.hops, m);
                family.row(cells, Verdict::NotJudged);
                plot.set(pattern, m.method.as_str(), i, m.gigabytes);
            }
            for (p, m) in position.thesis.iter().enumerate() {
                let verdict = if judged { rises(pattern, &found, i, p) } else { Verdict::NotJudged };
                family.row(distance_cells(pattern, i, THESIS, published, &position.hops, m), verdict);
                plot.set(pattern, &format!("{}, {THESIS} candidates", m.method), i, m.gigabytes);
            }
        }
        // Of equally far ones the first.
        let by_mean = |a: &usize, b: &usize| found[*a].hops.mean.total_cmp(&found[*b].hops.mean);
        let nearest = (0..found.len()).min_by(by_mean).unwrap_or(0);
        let farthest = (0..found.len()).rev().max_by(by_mean).unwrap_or(0);
        let pairs = found[nearest].thesis.iter().zip(&found[farthest].thesis);
        limits.extend(pairs.map(|(near, far)| (far.method, at_bound(near), at_bound(far))));
    }
    let notes = distance_notes(setting, &partition.net, &limits);
    family.findings(BY_DISTANCE, plot, &format!("distance-{}-1", PATTERNS[0]), notes)
}

/// Whose candidates a plan has.
const OURS: &str = "ours";
const THESIS: &str = "the thesis's";

/// GB/s at the link bound.
fn at_bound(m: &Measured) -> f64 {
    m.gigabytes / m.share_of_bound
}

/// Whether the planner at this place is as fast at a position as wherever destinations are nearer, and faster than where they are nearest; not judged
/// where none are nearer.
fn rises(pattern: &str, found: &[Position], i: usize, planner: usize) -> Verdict {
    let here = &found[i];
    let gigabytes = |position: &Position| position.thesis[planner].gigabytes;
    let nearer = || found.iter().filter(|other| other.hops.mean < here.hops.mean);
    let fastest = nearer().max_by(|a, b| gigabytes(a).total_cmp(&gigabytes(b)));
    let nearest = nearer().min_by(|a, b| a.hops.mean.total_cmp(&b.hops.mean));
    let Some((fastest, nearest)) = fastest.zip(nearest) else { return Verdict::NotJudged };
    let (m, before) = (&here.thesis[planner], gigabytes(fastest));
    let rises = m.gigabytes >= before * (1.0 - ORDER) && m.gigabytes > gigabytes(nearest) * (1.0 + ORDER);
    Verdict::of(rises, || {
        format!(
            "{pattern}: {} at {:.1} GB/s at {:.2} hops, and at {before:.1} GB/s at {:.2}",
            m.method, m.gigabytes, here.hops.mean, fastest.hops.mean
        )
    })
}

/// A row of O9; MPI has no candidates.
fn distance_cells(
    pattern: &str,
    i: usize,
    candidates: &str,
    published: &Positions,
    hops: &Hops,
    m: &Measured,
) -> Vec<Cell> {
    let [setup, times_strongest] = m.beside_the_strongest();
    let is_mpi = m.method == ComparedMethod::Mpi;
    vec![
        pattern.into(),
        (i + 1).into(),
        m.method.as_str().into(),
        if is_mpi { Cell::Nothing } else { candidates.into() },
        published.distance_max[i].into(),
        u64::from(hops.most).into(),
        published.distance_mean[i].into(),
        hops.mean.into(),
        published.paths(m.method).map(|paths| paths[i] as f64).into(),
        m.paths.into(),
        m.gigabytes.into(),
        m.times_mpi.into(),
        setup,
        times_strongest,
        at_bound(m).into(),
        percent(m.share_of_bound),
    ]
}

/// What is said of distances; `limits` are the throughputs that the judged plans' link bounds allow, nearest and farthest.
fn distance_notes(setting: &Setting, net: &Network, limits: &[(ComparedMethod, f64, f64)]) -> Vec<String> {
    let viii = &setting.published.table_viii;
    let limits: Vec<String> =
        limits.iter().map(|(method, near, far)| format!("{near:.0} and {far:.0} GB/s for {method}")).collect();
    let grid = net.geometry().grid();
    let longest = [&viii.disjoint, &viii.overlap, &viii.subset].iter().flat_map(|p| p.distance_max).max();
    vec![
        format!(
            "{} The thesis says of disjoint that all planners' throughputs rise with distance; its positions for overlap and \
             subset are not given, those here are this project's. Distances are hops of the pairs that communicate; on a ring the \
             last position is nearer than the one before. Judged are plans over the thesis's candidates, the {K} shortest paths of each pair, in \
             disjoint: at each position they must be as fast as at all of a smaller mean distance, and faster than at the nearest. **Changed after a failure:** until 3ccf8c7b \
             only the nearest position and the farthest were compared, and plans over this project's candidates, of which heuristic 1 was \
             slower where destinations are farthest (393.4 GB/s) than where they are nearest (427.4); they stand beside.",
            about()
        ),
        format!(
            "Farther destinations help a planner where they give it more paths. What the link bounds of the plans that are judged allow, \
             nearest and farthest: {}. This project's candidates have many ways round already where destinations are near; where the bound \
             does not grow, longer paths only cost forwarders time.",
            limits.join(", ")
        ),
        format!(
            "This partition's diameter is {} hops; the table has distances of up to {}: the thesis's partition was joined in \
             another way, or its hops are counted otherwise.",
            grid.map_or(0, |grid| grid.diameter()),
            longest.unwrap_or(0)
        ),
    ]
}

/// Hops of the pairs that communicate.
struct Hops {
    most: u32,
    mean: f64,
}

impl Hops {
    fn of(net: &Network, demands: &[Demand]) -> Self {
        let hops = || demands.iter().map(|d| net.distance(d.src, d.dst));
        let mean = hops().map(f64::from).sum::<f64>() / demands.len().max(1) as f64;
        Hops { most: hops().max().unwrap_or(0), mean }
    }
}

const BY_DESTINATIONS: &[Column] = &[
    column("pattern", "pattern", 0),
    column("destinations of a source", "destinations", 0),
    column("planner", "planner", 0),
    column("simulated, GB/s", "gigabytes_per_second", 1),
    column("times MPI", "times_mpi", 2),
    STRONGEST_SETUP,
    TIMES_STRONGEST,
    column("share of the bound, %", "share_of_bound_percent", 1),
];

/// O10: as each source has more destinations.
pub fn destinations(setting: &Setting) -> Result<Findings, Failure> {
    let figure = &setting.published.figure_12;
    let partition = setting.partition(figure.nodes)?;
    let mut family = Family::new(setting, SCALE)?;
    let judged = partition.published && family.machine.judged;
    // Cases are named after the part of the nodes that sends.
    let part = figure.nodes / figure.sources;
    let title = format!("Figure 12, simulated: {} of {} nodes send", partition.nodes / part, partition.nodes);
    let categories = figure.destinations.iter().map(u32::to_string).collect();
    let mut plot = Plot::new(PlotKind::Lines, &title, "times as fast as MPI", "destinations of a source", categories);
    for pattern in PATTERNS {
        for (i, &each) in figure.destinations.iter().enumerate() {
            let (_, found) = family.compare(&format!("ratio-{pattern}-{part}-{each}"), &partition.net)?;
            for m in found {
                let verdict = match m.method {
                    ComparedMethod::Mpi => Verdict::NotJudged,
                    _ if !judged => Verdict::NotJudged,
                    method => Verdict::of(m.times_mpi >= figure.times_mpi, || {
                        format!("{pattern}, {each} destinations: {method} is {:.2} times as fast as MPI", m.times_mpi)
                    }),
                };
                plot.set(pattern, m.method.as_str(), i, m.times_mpi);
                let [setup, times_strongest] = m.beside_the_strongest();
                let cells = vec![
                    pattern.into(),
                    u64::from(each).into(),
                    m.method.as_str().into(),
                    m.gigabytes.into(),
                    m.times_mpi.into(),
                    setup,
                    times_strongest,
                    percent(m.share_of_bound),
                ];
                family.row(cells, verdict);
            }
        }
    }
    let id = format!("ratio-{}-{part}-{}", PATTERNS[0], figure.destinations[0]);
    let notes = vec![format!("{} The figure's values are not in the text of the thesis.", about())];
    family.findings(BY_DESTINATIONS, plot, &id, notes)
}

const BY_PAIRING: &[Column] = &[
    column("pattern", "pattern", 0),
    column("planner", "planner", 0),
    column("published mean, GB/s", "published_gigabytes_per_second", 2),
    column("simulated mean, GB/s", "gigabytes_per_second", 2),
    column("published times MPI", "published_times_mpi", 2),
    column("simulated times MPI", "times_mpi", 2),
    TIMES_STRONGEST,
    column("of the draws, least", "times_mpi_min", 2),
    column("most", "times_mpi_max", 2),
];

/// O11: random pairings.
pub fn pairings(setting: &Setting) -> Result<Findings, Failure> {
    let ix = &setting.published.table_ix;
    let partition = setting.partition(ix.nodes)?;
    let mut family = Family::new(setting, SCALE)?;
    let judged = partition.published && family.machine.judged;
    let title = format!("Table IX, random pairings on {} nodes, mean of {} draws", partition.nodes, ix.draws);
    let categories = PATTERNS.iter().map(|p| (*p).to_owned()).collect();
    let mut plot = Plot::new(PlotKind::Bars, &title, "GB/s", "pattern", categories);
    for (p, pattern) in PATTERNS.into_iter().enumerate() {
        let mut draws: Vec<Vec<Measured>> = Vec::new();
        for draw in 1..=ix.draws {
            draws.push(family.compare(&format!("random-{pattern}-16-{draw}"), &partition.net)?.1);
        }
        let mean = |i: usize| draws.iter().map(|d| d[i].gigabytes).sum::<f64>() / draws.len() as f64;
        for i in 0..draws[0].len() {
            let method = draws[0][i].method;
            let (published, base, ours) = (ix.of(method)[p], ix.mpi[p], mean(i));
            let times = ours / mean(0);
            // The mean throughput of the strongest MPI of each draw.
            let strongest = draws.iter().map(|d| d[0].strongest_gigabytes()).sum::<f64>() / draws.len() as f64;
            let each = || draws.iter().map(|d| d[i].times_mpi);
            let verdict = match method {
                ComparedMethod::Planned(PlannerName::Heuristic2 | PlannerName::Optimal) if judged => {
                    Verdict::of(times >= ix.times_mpi, || {
                        format!("{pattern}: {method} is {times:.2} times as fast as MPI on average")
                    })
                }
                _ => Verdict::NotJudged,
            };
            plot.set("published", method.as_str(), p, published);
            plot.set("simulated", method.as_str(), p, ours);
            let cells = vec![
                pattern.into(),
                method.as_str().into(),
                published.into(),
                ours.into(),
                (published / base).into(),
                times.into(),
                (ours / strongest).into(),
                each().fold(f64::INFINITY, f64::min).into(),
                each().fold(0.0, f64::max).into(),
            ];
            family.row(cells, verdict);
        }
    }
    let notes = vec![format!(
        "{} Means of throughputs over {} draws of the pairing, as in the table; draws of this project's own, as the thesis does not \
         list its.",
        about(),
        ix.draws
    )];
    family.findings(BY_PAIRING, plot, &format!("random-{}-16-1", PATTERNS[0]), notes)
}
