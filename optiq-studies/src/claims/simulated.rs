//! O5, O12 and O13: what the thesis measured on Mira, in the packet-level simulator with the model of Blue Gene/Q.

use super::baselines;
use super::machine::{Machine, Measured, ORDER, STRONGEST_SETUP, Scale, TIMES_STRONGEST};
use super::setting::{MESSAGE, Partition, Setting, with_planner};
use crate::compared_method::ComparedMethod;
use crate::failure::Failure;
use crate::findings::{Cell, Column, Findings, Row, Verdict, column};
use crate::plot::{Plot, PlotKind};
use crate::published::PATTERNS;
use crate::repeated_calls::{Exchange, Seconds, serve};
use optiq_net::units;
use optiq_sim::Model;
use optiq_sim::simulated_exchange::method::{MpiAlgorithm, TransferMethod};
use optiq_solver::demands::{self, Demand};
use optiq_solver::pipeline::{self, Planned};
use optiq_solver::planner::PlannerName;
use optiq_transport::{ChunkRule, ScheduleOptions};
use std::borrow::Borrow;

const THROUGHPUTS: &[Column] = &[
    column("pattern", "pattern", 0),
    column("planner", "planner", 0),
    column("candidates", "candidate_method", 0),
    column("published, GB/s", "published_gigabytes_per_second", 2),
    column("simulated, GB/s", "gigabytes_per_second", 2),
    column("published times MPI", "published_times_mpi", 2),
    column("simulated times MPI", "times_mpi", 2),
    STRONGEST_SETUP,
    TIMES_STRONGEST,
    column("link bound, ms", "link_bound_milliseconds", 2),
    column("simulated, ms", "milliseconds", 2),
    column("share of the bound, %", "share_of_bound_percent", 1),
];

/// The planners of O5, worst first.
const COMPARED: [PlannerName; 4] =
    [PlannerName::Heuristic1, PlannerName::Heuristic2, PlannerName::LinearProgram, PlannerName::Optimal];

/// Ours may be behind the one that it follows by this, relatively, where candidates are this project's: all are close to the optimum there.
const CLOSE: f64 = 0.05;

/// O5: the order of throughputs, over the thesis's candidates and over this project's.
pub fn throughputs(setting: &Setting) -> Result<Findings, Failure> {
    let nodes = setting.published.table_vii.nodes;
    let partition = setting.partition(nodes)?;
    let ours = Machine::new(setting, Scale::FULL)?;
    let thesis = Machine::new(setting, Scale::FULL)?.with_thesis_candidates();
    let title = format!("Table VII: throughputs on {} nodes", partition.nodes);
    let categories = PATTERNS.iter().map(|p| (*p).to_owned()).collect();
    let mut plot = Plot::new(PlotKind::Bars, &title, "GB/s", "pattern", categories);
    let mut rows = Vec::new();
    for (p, pattern) in PATTERNS.into_iter().enumerate() {
        let demands = ours.scaled(setting.pattern(pattern, &partition.net)?);
        let what = format!("{pattern} on {} nodes", partition.nodes);
        let found = thesis.compare_with_strongest(&partition.net, &demands, &COMPARED[..3], &what)?;
        let strongest = found.first().and_then(|mpi| mpi.strongest);
        let mut again = ours.compare_planned(&partition.net, &demands, &COMPARED, found.first(), &what)?;
        again.iter_mut().for_each(|m| m.strongest = strongest);
        let judged = partition.published && ours.judged;
        let (first, mpi) = (order_rows(setting, p, "the thesis's", &found, (judged, ORDER)), found.first());
        let second =
            order_rows(setting, p, "ours", &mpi.into_iter().chain(&again).collect::<Vec<_>>(), (judged, CLOSE));
        // MPI has no candidates, and one row.
        rows.extend(first.into_iter().chain(second.into_iter().skip(1)));
        for m in &found {
            plot.set("published", m.method.as_str(), p, published_of(setting, m.method, p));
        }
        for m in mpi.into_iter().chain(&again) {
            plot.set("simulated", m.method.as_str(), p, m.gigabytes);
        }
    }
    let mut notes = vec![format!(
        "{} for each pair, model `data/sim/bgq.toml`: packets of {} bytes, 1.8 GB/s, forwarding with its overheads. The published \
         throughputs are of Mira; orders and ratios are compared. Every run moves every byte, and is exact: there is no noise. \
         Published for `optimal` are the values of the LP. The order is judged over the thesis's candidates, the 50 shortest paths of each \
         pair; over this project's, which bring all planners close to the optimum, each may be {:.0} % behind the one that it follows.",
        units::format_bytes(MESSAGE),
        Model::read("bgq")?.link.packet_bytes,
        CLOSE * 100.0
    )];
    notes.push(baselines::note(partition.net.hosts()));
    let demands = setting.pattern(PATTERNS[0], &partition.net)?;
    notes.extend(ours.note(&partition.net, &demands, PATTERNS[0])?);
    Ok(Findings::new(THROUGHPUTS, rows, notes).with_plot(plot))
}

/// The published throughput of a method in a pattern, GB/s.
fn published_of(setting: &Setting, method: ComparedMethod, pattern: usize) -> f64 {
    let vii = &setting.published.table_vii;
    match method {
        ComparedMethod::Mpi => vii.mpi.gigabytes_per_second[pattern],
        ComparedMethod::Planned(PlannerName::Heuristic1) => vii.heu1.gigabytes_per_second[pattern],
        ComparedMethod::Planned(PlannerName::Heuristic2) => vii.heu2.gigabytes_per_second[pattern],
        _ => vii.opt.gigabytes_per_second[pattern],
    }
}

/// Rows of O5, each judged against the one before it: `judged` says whether, and by how much it may be behind.
fn order_rows<M: Borrow<Measured>>(
    setting: &Setting,
    p: usize,
    candidates: &str,
    found: &[M],
    (judged, within): (bool, f64),
) -> Vec<Row> {
    let (pattern, mpi) = (PATTERNS[p], published_of(setting, ComparedMethod::Mpi, p));
    let mut before: Option<(ComparedMethod, f64)> = None;
    let mut rows = Vec::new();
    for m in found.iter().map(Borrow::borrow) {
        let (method, ours) = (m.method, m.gigabytes);
        let published = published_of(setting, method, p);
        let verdict = match before {
            // Two planners of the same rank: the thesis's LP, and ours.
            Some((other, rate)) if judged && method != ComparedMethod::Planned(PlannerName::Optimal) => {
                Verdict::of(ours >= rate * (1.0 - within), || {
                    format!(
                        "{pattern}, {candidates} candidates: {method} at {ours:.1} GB/s is behind {other} at {rate:.1} GB/s"
                    )
                })
            }
            _ => Verdict::NotJudged,
        };
        before = Some((method, ours));
        let [setup, times_strongest] = m.beside_the_strongest();
        let [bound, took, share] = m.beside_the_bound();
        let candidates = if method == ComparedMethod::Mpi { Cell::Nothing } else { candidates.into() };
        rows.push(Row::new(
            vec![
                pattern.into(),
                method.as_str().into(),
                candidates,
                published.into(),
                ours.into(),
                (published / mpi).into(),
                m.times_mpi.into(),
                setup,
                times_strongest,
                bound,
                took,
                share,
            ],
            verdict,
        ));
    }
    rows
}

/// What the figures of messages on 512 nodes have in common: a partition, the machine in full, and a table in the making.
struct Messages<'a> {
    setting: &'a Setting<'a>,
    partition: Partition,
    machine: Machine<'a>,
    rows: Vec<Row>,
}

impl<'a> Messages<'a> {
    /// On the partition of the figure, with its number of nodes.
    fn new(setting: &'a Setting<'a>, nodes: u32) -> Result<Self, Failure> {
        let machine = Machine::full(setting)?;
        Ok(Messages { setting, partition: setting.partition(nodes)?, machine, rows: Vec::new() })
    }

    fn plan(&self, pattern: &str, bytes: u64) -> Result<(Vec<Demand>, Planned), Failure> {
        let net = &self.partition.net;
        let demands = demands::parse(&format!("pattern:{pattern}"), net, bytes)?;
        match self.setting.plan(net, &demands, &with_planner(PlannerName::Optimal), None)? {
            Some(planned) => Ok((demands, planned)),
            None => Err(Failure::Work("planner optimal is in every build".into())),
        }
    }

    /// Seconds of one exchange.
    fn seconds(&self, demands: &[Demand], method: TransferMethod) -> Result<f64, Failure> {
        Ok(self.machine.run(&self.partition.net, demands, method)?.seconds())
    }

    /// A row, judged if the partition is the published one.
    fn row(&mut self, cells: Vec<Cell>, verdict: Verdict) {
        let verdict = if self.partition.published { verdict } else { Verdict::NotJudged };
        self.rows.push(Row::new(cells, verdict));
    }
}

const CHUNKS: &[Column] = &[
    column("pattern", "pattern", 0),
    column("message", "message", 0),
    column("published best", "published_best", 0),
    column("best fixed chunk", "best_chunk", 0),
    column("with it, ms", "best_milliseconds", 3),
    column("automatic, ms", "automatic_milliseconds", 3),
    column("automatic over best", "automatic_over_best", 3),
    column("the thesis's rule, ms", "thesis_milliseconds", 3),
];

/// How far the automatic chunk may be behind the best fixed one.
const CHUNK_WITHIN: f64 = 1.05;

/// The workload that the figure names, and the one that its text describes: the first 32 of 512 nodes send to the last 256.
const CHUNK_PATTERNS: [&str; 2] = ["subset", "disjoint"];

/// O12: the automatic chunk against fixed ones.
pub fn chunks(setting: &Setting) -> Result<Findings, Failure> {
    let figure = &setting.published.figure_13;
    let mut messages = Messages::new(setting, figure.nodes)?;
    let sizes = figure.message_bytes.iter().map(|&bytes| units::format_bytes(bytes)).collect();
    let title = format!("Figure 13, simulated: chunks of messages, {} nodes", messages.partition.nodes);
    let mut plot = Plot::new(PlotKind::Lines, &title, "time, in times of the best fixed chunk's", "message", sizes);
    for pattern in CHUNK_PATTERNS {
        for (i, (&bytes, published)) in figure.message_bytes.iter().zip(&figure.best_chunk).enumerate() {
            let found = by_chunk(&messages, pattern, bytes)?;
            let ratio = found.automatic / found.best;
            plot.set("", &format!("{pattern}, automatic chunk"), i, ratio);
            plot.set("", &format!("{pattern}, the thesis's rule"), i, found.thesis / found.best);
            let message = units::format_bytes(bytes);
            let verdict = Verdict::of(ratio <= CHUNK_WITHIN, || {
                format!("{pattern}, {message}: {ratio:.3} times the best fixed chunk's time")
            });
            let cells = vec![
                pattern.into(),
                message.into(),
                published.as_str().into(),
                units::format_bytes(found.best_chunk).into(),
                (found.best * 1e3).into(),
                (found.automatic * 1e3).into(),
                ratio.into(),
                (found.thesis * 1e3).into(),
            ];
            messages.row(cells, verdict);
        }
    }
    let notes = vec![
        "Plans of planner optimal; fixed chunks from 4 KiB to 1 MiB in powers of two, and no larger than the message."
            .into(),
        "The thesis calls the workload subset, and says that the first 32 of 512 nodes send to the last 256, which is what it calls \
         disjoint elsewhere: both are run, and judged."
            .into(),
    ];
    Ok(Findings::new(CHUNKS, messages.rows, notes).with_plot(plot))
}

/// Seconds of an exchange by the size of chunks.
struct ByChunk {
    best: f64,
    best_chunk: u64,
    automatic: f64,
    thesis: f64,
}

fn by_chunk(messages: &Messages<'_>, pattern: &str, bytes: u64) -> Result<ByChunk, Failure> {
    let (demands, planned) = messages.plan(pattern, bytes)?;
    let time = |chunk| -> Result<f64, Failure> {
        let options = ScheduleOptions { chunk, ..ScheduleOptions::default() };
        messages.seconds(&demands, TransferMethod::Planned(Box::new(planned.clone()), options))
    };
    let (mut best, mut best_chunk) = (f64::INFINITY, 0);
    // Twice the largest chunk that is no larger than the message is the message.
    for chunk in (0..9).map(|i| 4096u64 << i).filter(|&c| c < 2 * bytes) {
        let took = time(ChunkRule::Fixed(chunk))?;
        if took < best {
            (best, best_chunk) = (took, chunk);
        }
    }
    Ok(ByChunk { best, best_chunk, automatic: time(ChunkRule::Auto)?, thesis: time(ChunkRule::Thesis)? })
}

const SIZES: &[Column] = &[
    column("pattern", "pattern", 0),
    column("message", "message", 0),
    column("MPI, ms", "mpi_milliseconds", 4),
    column("planned paths, ms", "planned_milliseconds", 4),
    column("MPI over planned", "mpi_over_planned", 2),
    column("chosen", "chosen", 0),
    column("ours over MPI, throughput", "ours_over_mpi", 3),
    column("the same of the first call", "ours_over_mpi_first_call", 3),
    STRONGEST_SETUP,
    column("planned paths over the strongest MPI", "planned_over_strongest_mpi", 2),
];

/// Ours may be so much slower than MPI.
const NEVER_BELOW: f64 = 0.97;
/// How often the same exchange comes.
const CALLS: usize = 100;

/// O13: where planned paths begin to be faster, and what is chosen.
pub fn sizes(setting: &Setting) -> Result<Findings, Failure> {
    let figure = &setting.published.figure_14;
    let mut messages = Messages::new(setting, figure.nodes)?;
    let model = messages.machine.model().clone();
    let sizes = [10, 13, 15, 16, 17, 18, 19, 20, 21, 23].map(|shift| 1u64 << shift);
    let title = format!("Figure 14, simulated: planned paths by size of messages, {} nodes", messages.partition.nodes);
    let labels = sizes.iter().map(|&bytes| units::format_bytes(bytes)).collect();
    let mut plot = Plot::new(PlotKind::Lines, &title, "times as fast as MPI", "message", labels);
    let mut agreement_seconds = 0.0;
    for pattern in PATTERNS {
        for (i, bytes) in sizes.into_iter().enumerate() {
            let (demands, planned) = messages.plan(pattern, bytes)?;
            let direct = with_planner(PlannerName::Direct);
            let direct = pipeline::run(&messages.partition.net, &demands, &direct)?;
            let exchange = Exchange::new((&messages.partition.net, &model), &demands, &planned.plan, &direct.plan);
            let mpi = messages.seconds(&demands, TransferMethod::Mpi(MpiAlgorithm::Linear))?;
            let planned_by = |plan| TransferMethod::Planned(Box::new(plan), ScheduleOptions::default());
            let seconds = Seconds {
                mpi,
                direct: messages.seconds(&demands, planned_by(direct))?,
                planned: messages.seconds(&demands, planned_by(planned))?,
            };
            agreement_seconds = exchange.agreement_seconds;
            let paths = seconds.planned + agreement_seconds;
            let calls = serve(&exchange, seconds, CALLS);
            let ratio = mpi * CALLS as f64 / calls.iter().map(|call| call.seconds).sum::<f64>();
            let (first, server) = (mpi / calls[0].seconds, calls[CALLS - 1].server);
            let waiting = (&*format!("{pattern}, {}", units::format_bytes(bytes)), setting.progress);
            let strongest = baselines::strongest(&messages.partition.net, &model, &demands, mpi, waiting)?;
            plot.set("", pattern, i, mpi / paths);
            let message = units::format_bytes(bytes);
            let verdict = match ratio < NEVER_BELOW {
                true => Verdict::NotShown(format!("{pattern}, {message}: {ratio:.3} of MPI")),
                false => Verdict::of(bytes < figure.crossover_bytes || paths < mpi, || {
                    format!("{pattern}, {message}: planned paths are slower than MPI")
                }),
            };
            let cells = vec![
                pattern.into(),
                message.into(),
                (mpi * 1e3).into(),
                (paths * 1e3).into(),
                (mpi / paths).into(),
                server.name().into(),
                ratio.into(),
                first.into(),
                strongest.setup.to_string().into(),
                (strongest.seconds / paths).into(),
            ];
            messages.row(cells, verdict);
        }
    }
    let notes = vec![
        baselines::note(messages.partition.net.hosts()),
        format!(
            "Ours is what the same exchange takes in {CALLS} calls, each served as a session decides by then, by the same code: planned paths, \
             direct messages in OPTIQ's order, or MPI, with the agreements that are made, of {:.1} us each; chosen is what serves the last \
             one. Planned paths include an agreement. Until 01bb6e93, a ratio of 1 was written where MPI served.",
            agreement_seconds * 1e6
        ),
    ];
    Ok(Findings::new(SIZES, messages.rows, notes).with_plot(plot))
}
