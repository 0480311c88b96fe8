//! The machine that the thesis measured on, as far as its tables tell: a few parameters fitted on Table VII alone, and the errors on
//! all other tables with throughputs.
//!
//! What is simulated is the thesis's own system: its candidates (the 50 shortest paths), its planners, its rule for chunks, and
//! forwarding at every host (thesis 4.3). With `o` our throughput of an entry of Table VII and `p` the published one, the loss is
//!
//! ```text
//!     L = mean over entries of ln^2 (o / p)
//! ```
//!
//! In three steps, each over a small grid with the best of the one before: virtual channels and buffers on the entries of MPI, which
//! forwards nothing; the rate at which forwarders copy on those of planned paths; what a forwarder does for a chunk on the same. Nothing
//! else is fitted, and nothing of Tables VI, IX, XII and XVI is looked at before the fit is done. The document of the page keeps the result.

use crate::claims::applications::coupling;
use crate::claims::setting::{MESSAGE, with_planner};
use crate::claims::thesis_cases;
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::progress::Progress;
use crate::published::{PATTERNS, Published};
use optiq_lower::choices::LegsChoice;
use optiq_measure::statistics::median;
use optiq_net::{Network, units};
use optiq_sim::simulated_exchange::method::{Executor, MpiAlgorithm, TransferMethod};
use optiq_sim::simulated_exchange::run::ExchangeSetting;
use optiq_sim::{Model, RunOptions};
use optiq_solver::CandidateMethod;
use optiq_solver::demands::{self, Demand};
use optiq_solver::pipeline::{self, K, PlanOptions, Planned};
use optiq_solver::planner::PlannerName;
use optiq_transport::{ChunkRule, ScheduleOptions};
use serde::{Deserialize, Serialize};

/// What the fit begins from.
const BASE: &str = "bgq";

const LANES: [u32; 3] = [1, 2, 4];
/// Of a virtual channel, in packets.
const BUFFER_PACKETS: [u64; 3] = [4, 16, 64];
/// How fast forwarders copy, in bytes a second; 0 is no copy.
const COPIES: [f64; 7] = [0.0, 16e9, 8e9, 4e9, 3e9, 2e9, 1e9];
/// What a forwarder does for a chunk, in picoseconds.
const FORWARDS: [u64; 4] = [200_000, 2_000_000, 10_000_000, 30_000_000];

/// Runs of the fit and of the tables have a fourth of the bytes, in packets that are eight times as large, as buffers are: seconds in
/// place of minutes, and what that changes stands on the page.
const BYTES: u64 = 4;
const PACKETS: u64 = 8;

/// The median errors that are asked for, in per cent.
const ASKED_MPI: f64 = 15.0;
const ASKED_PLANNED: f64 = 20.0;

/// Above this error, in per cent, only directions and orders are judged.
pub const DIRECTION_ONLY: f64 = 25.0;

/// The planners of Table VII: its optimization is the LP over the 50 shortest paths.
const PLANNERS: [PlannerName; 3] = [PlannerName::LinearProgram, PlannerName::Heuristic2, PlannerName::Heuristic1];

/// Every how many of the 91 cases one is run for Table VI, and on which partitions: larger ones take longer than all other tables.
const TABLE_VI: [(u32, usize); 2] = [(512, 13), (1024, 13)];

/// A candidate of the fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitCandidate {
    /// Which of the three steps it belongs to.
    step: String,
    lanes: u32,
    buffer_bytes: u64,
    copy_bytes_per_second: f64,
    forward_overhead_picoseconds: u64,
    loss: f64,
}

/// An entry of a published table beside ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableEntry {
    table: String,
    row: String,
    method: String,
    published: f64,
    ours: f64,
    /// Of MPI: what the link bound of the fabric's own routes allows, in GB/s; the mean over draws. Documents of before 2026-11-30 have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bound: Option<f64>,
}

impl TableEntry {
    /// How far ours is from the published value, in per cent of it.
    pub fn error_percent(&self) -> f64 {
        (self.ours / self.published - 1.0) * 100.0
    }

    fn log_error(&self) -> f64 {
        (self.ours / self.published).ln()
    }
}

/// What was fitted, and how well it predicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MiraContent {
    candidates: Vec<FitCandidate>,
    /// The best parameters, as a model file has them.
    best: String,
    /// Table VII with them.
    fitted: Vec<TableEntry>,
    /// The other tables with them.
    held_out: Vec<TableEntry>,
    /// The first entry of Table VII in full.
    full: TableEntry,
}

/// The parameters that are fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Parameters {
    lanes: u32,
    buffer_packets: u64,
    copy: f64,
    forward: u64,
}

impl Parameters {
    /// Those of the thesis's machine before anything is fitted.
    fn first() -> Self {
        Parameters { lanes: LANES[0], buffer_packets: BUFFER_PACKETS[1], copy: COPIES[0], forward: FORWARDS[0] }
    }

    fn model(self) -> Result<Model, Failure> {
        let mut model = Model::read(BASE)?;
        model.router.lanes = self.lanes;
        model.router.buffer_bytes = self.buffer_packets * model.link.packet_bytes;
        (model.host.copy_bytes_per_second, model.host.copies_forwarded) = (self.copy, self.copy > 0.0);
        model.host.forward_overhead_picoseconds = self.forward;
        Ok(model)
    }
}

/// GB/s of an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Throughput {
    simulated: f64,
    /// If its most loaded link never rested.
    bound: f64,
}

/// A model with larger packets.
fn scaled(mut model: Model) -> Model {
    model.enlarge_packets(PACKETS);
    model
}

/// The plan of one of the thesis's planners over its own candidates.
fn plan(net: &Network, demands: &[Demand], planner: PlannerName, k: usize) -> Result<Planned, Failure> {
    let options = PlanOptions { k: Some(k), method: CandidateMethod::Yen, ..with_planner(planner) };
    Ok(pipeline::run(net, demands, &options)?)
}

/// Simulates an exchange as the thesis's system moves it; by MPI without a plan.
fn throughput(
    net: &Network,
    model: &Model,
    demands: &[Demand],
    planned: Option<&Planned>,
) -> Result<Throughput, Failure> {
    let executor = Executor { legs: LegsChoice::Hops, ..Executor::of(model) };
    let method = match planned {
        None => TransferMethod::Mpi(MpiAlgorithm::Linear),
        Some(planned) => {
            let options = ScheduleOptions { chunk: ChunkRule::Thesis, ..ScheduleOptions::default() };
            TransferMethod::Planned(Box::new(planned.clone()), options)
        }
    };
    let prepared = ExchangeSetting { network: net, model, demands, executor }.prepare(method)?;
    let run = prepared.simulate(&RunOptions { threads: 1, seed: 1, ..RunOptions::default() })?;
    let gigabytes = demands.iter().map(|d| d.bytes as f64).sum::<f64>() / 1e9;
    Ok(Throughput { simulated: gigabytes / run.seconds(), bound: gigabytes / run.link_bound })
}

fn fewer_bytes(mut demands: Vec<Demand>) -> Vec<Demand> {
    demands.iter_mut().for_each(|d| d.bytes = d.bytes.div_ceil(BYTES));
    demands
}

/// Table VII, planned once: a row for each pattern and method.
struct TableVii {
    net: Network,
    rows: Vec<(String, Vec<Demand>, Option<Planned>, f64)>,
}

impl TableVii {
    fn new(published: &Published, progress: &Progress) -> Result<Self, Failure> {
        let vii = &published.table_vii;
        let net = Network::from_spec(&format!("bgq:{}", vii.nodes))?;
        let mut rows = Vec::new();
        for (p, pattern) in PATTERNS.into_iter().enumerate() {
            let demands = fewer_bytes(demands::parse(&format!("pattern:{pattern}"), &net, MESSAGE)?);
            rows.push((pattern.to_owned(), demands.clone(), None, vii.mpi.gigabytes_per_second[p]));
            for planner in PLANNERS {
                progress.now(format!("planning {pattern} with {planner}"));
                let published = match planner {
                    PlannerName::Heuristic1 => vii.heu1.gigabytes_per_second[p],
                    PlannerName::Heuristic2 => vii.heu2.gigabytes_per_second[p],
                    _ => vii.opt.gigabytes_per_second[p],
                };
                let planned = plan(&net, &demands, planner, K)?;
                rows.push((pattern.to_owned(), demands.clone(), Some(planned), published));
            }
        }
        Ok(TableVii { net, rows })
    }

    /// The entries on a model: of MPI, of planned paths, or all.
    fn entries(&self, model: &Model, wanted: impl Fn(bool) -> bool) -> Result<Vec<TableEntry>, Failure> {
        let model = scaled(model.clone());
        let mut entries = Vec::new();
        for (pattern, demands, planned, published) in self.rows.iter().filter(|row| wanted(row.2.is_some())) {
            let found = throughput(&self.net, &model, demands, planned.as_ref())?;
            entries.push(TableEntry {
                table: "VII".into(),
                row: pattern.clone(),
                method: planned.as_ref().map_or("MPI".into(), |planned| planned.plan.planner.clone()),
                published: *published,
                ours: found.simulated,
                bound: planned.is_none().then_some(found.bound),
            });
        }
        Ok(entries)
    }
}

/// The loss at the top of the file.
fn loss(entries: &[TableEntry]) -> f64 {
    entries.iter().map(|e| e.log_error().powi(2)).sum::<f64>() / entries.len().max(1) as f64
}

/// Fits the parameters on Table VII, for some minutes: all candidates in the order of the steps, and the best parameters.
fn fit_on(table: &TableVii, progress: &Progress) -> Result<(Vec<FitCandidate>, Parameters), Failure> {
    let mut best = Parameters::first();
    let mut candidates = Vec::new();
    let buffers = LANES.iter().flat_map(|&lanes| {
        BUFFER_PACKETS.map(|buffer_packets| Parameters { lanes, buffer_packets, ..Parameters::first() })
    });
    let first: Vec<Parameters> = buffers.collect();
    let steps: [(&str, bool); 3] = [("channels and buffers", false), ("copies", true), ("overhead", true)];
    for (number, (step, planned)) in steps.into_iter().enumerate() {
        let tried = match number {
            0 => first.clone(),
            1 => COPIES.map(|copy| Parameters { copy, ..best }).to_vec(),
            _ => FORWARDS.map(|forward| Parameters { forward, ..best }).to_vec(),
        };
        let mut least = f64::INFINITY;
        for parameters in tried {
            progress.now(format!("{step}: {parameters:?}"));
            let model = parameters.model()?;
            let loss = loss(&table.entries(&model, |is_planned| is_planned == planned)?);
            candidates.push(FitCandidate {
                step: step.into(),
                lanes: parameters.lanes,
                buffer_bytes: model.router.buffer_bytes,
                copy_bytes_per_second: parameters.copy,
                forward_overhead_picoseconds: parameters.forward,
                loss,
            });
            if loss < least {
                (least, best) = (loss, parameters);
            }
        }
    }
    Ok((candidates, best))
}

/// Fits the parameters and says the loss of each candidate and what the model file has to say.
///
/// # Errors
/// What planners and the simulator report.
pub fn fit(progress: &Progress) -> Result<String, Failure> {
    let published = Published::load()?;
    let (candidates, best) = fit_on(&TableVii::new(&published, progress)?, progress)?;
    Ok(format!("{}\nbest: {}\n", candidate_table(&candidates).markdown(), said(&best.model()?)))
}

/// The fitted parameters, as a model file has them.
fn said(model: &Model) -> String {
    let (router, host) = (&model.router, &model.host);
    format!(
        "router.lanes = {}, router.buffer_bytes = {}, host.copy_bytes_per_second = {:e}, host.copies_forwarded = {}, \
         host.forward_overhead_picoseconds = {}",
        router.lanes,
        router.buffer_bytes,
        host.copy_bytes_per_second,
        host.copies_forwarded,
        host.forward_overhead_picoseconds
    )
}

/// Fits again, and predicts the other tables with the preset, for some minutes each.
///
/// # Errors
/// What planners and the simulator report.
pub fn run(progress: &Progress) -> Result<MiraContent, Failure> {
    let published = Published::load()?;
    let table = TableVii::new(&published, progress)?;
    let (candidates, best) = fit_on(&table, progress)?;
    let model = best.model()?;
    let fitted = table.entries(&model, |_| true)?;
    progress.now("Table VII in full: disjoint, MPI".to_owned());
    let demands = demands::parse(&format!("pattern:{}", PATTERNS[0]), &table.net, MESSAGE)?;
    let ours = throughput(&table.net, &model, &demands, None)?.simulated;
    let full = TableEntry { ours, ..fitted[0].clone() };
    let mut held_out = table_ix(&published, &model, progress)?;
    held_out.extend(table_xii(&published, &model, progress)?);
    held_out.extend(table_xvi(&published, &model, progress)?);
    held_out.extend(table_vi(&published, &model, progress)?);
    Ok(MiraContent { candidates, best: said(&model), fitted, held_out, full })
}

/// The throughput of MPI, then of each planner, over `k` shortest paths.
fn methods(
    net: &Network,
    model: &Model,
    demands: &[Demand],
    (planners, k): (&[PlannerName], usize),
) -> Result<Vec<Throughput>, Failure> {
    let mut found = vec![throughput(net, model, demands, None)?];
    for &planner in planners {
        found.push(throughput(net, model, demands, Some(&plan(net, demands, planner, k)?))?);
    }
    Ok(found)
}

fn case(id: &str, net: &Network) -> Result<Vec<Demand>, Failure> {
    let cases = thesis_cases::built_in()?;
    let case = cases.iter().find(|case| case.id == id);
    let case = case.ok_or_else(|| Failure::Work(format!("data/thesis91.toml has no case \"{id}\"")))?;
    Ok(fewer_bytes(case.demands(net.hosts())?))
}

/// Random pairings: means over the draws.
fn table_ix(published: &Published, model: &Model, progress: &Progress) -> Result<Vec<TableEntry>, Failure> {
    let (ix, model) = (&published.table_ix, scaled(model.clone()));
    let net = Network::from_spec(&format!("bgq:{}", ix.nodes))?;
    let mut entries = Vec::new();
    for (p, pattern) in PATTERNS.into_iter().enumerate() {
        let (mut sums, mut bound) = ([0.0; 4], 0.0);
        for draw in 1..=ix.draws {
            progress.now(format!("Table IX: {pattern}, draw {draw}"));
            let demands = case(&format!("random-{pattern}-16-{draw}"), &net)?;
            let found = methods(&net, &model, &demands, (&PLANNERS, K))?;
            bound += found[0].bound / f64::from(ix.draws);
            sums.iter_mut().zip(found).for_each(|(sum, one)| *sum += one.simulated / f64::from(ix.draws));
        }
        let asked = [("MPI", ix.mpi[p]), ("lp", ix.opt[p]), ("heu2", ix.heu2[p]), ("heu1", ix.heu1[p])];
        entries.extend(asked.into_iter().zip(sums).map(|((method, published), ours)| TableEntry {
            table: "IX".into(),
            row: pattern.into(),
            method: method.into(),
            published,
            ours,
            bound: (method == "MPI").then_some(bound),
        }));
    }
    Ok(entries)
}

/// The LP by the number of shortest paths.
fn table_xii(published: &Published, model: &Model, progress: &Progress) -> Result<Vec<TableEntry>, Failure> {
    let (xii, model) = (&published.table_xii, scaled(model.clone()));
    let net = Network::from_spec(&format!("bgq:{}", xii.nodes))?;
    let mut entries = Vec::new();
    for (p, pattern) in PATTERNS.into_iter().enumerate() {
        let demands = fewer_bytes(demands::parse(&format!("pattern:{pattern}"), &net, MESSAGE)?);
        let entry = |method: String, published, ours| TableEntry {
            table: "XII".into(),
            row: pattern.into(),
            method,
            published,
            ours,
            bound: None,
        };
        let mpi = throughput(&net, &model, &demands, None)?;
        entries.push(TableEntry { bound: Some(mpi.bound), ..entry("MPI".into(), xii.mpi[p], mpi.simulated) });
        for (i, k) in xii.k.into_iter().enumerate() {
            progress.now(format!("Table XII: {pattern}, k = {k}"));
            let planned = plan(&net, &demands, PlannerName::LinearProgram, k)?;
            let ours = throughput(&net, &model, &demands, Some(&planned))?.simulated;
            entries.push(entry(format!("lp, k = {k}"), xii.gigabytes_per_second[p][i], ours));
        }
    }
    Ok(entries)
}

/// Couplings of CESM, one draw each, with all of their bytes.
fn table_xvi(published: &Published, model: &Model, progress: &Progress) -> Result<Vec<TableEntry>, Failure> {
    let (all, model) = (&published.couplings, scaled(model.clone()));
    let net = Network::from_spec(&format!("bgq:{}", all.nodes))?;
    let mut entries = Vec::new();
    for one in &all.coupling {
        progress.now(format!("Table XVI: {}", one.name));
        let demands = demands::parse(&coupling(all, one, 1), &net, all.point_bytes)?;
        let planners = [PlannerName::Heuristic2, PlannerName::LinearProgram];
        let found = methods(&net, &model, &demands, (&planners, K))?;
        let rows = ["MPI", "heu2", "lp"].into_iter().zip(one.gigabytes_per_second).zip(found);
        entries.extend(rows.map(|((method, published), found)| TableEntry {
            table: "XVI".into(),
            row: one.name.clone(),
            method: method.into(),
            published,
            ours: found.simulated,
            bound: (method == "MPI").then_some(found.bound),
        }));
    }
    Ok(entries)
}

/// Mean gains over the 91 cases, in per cent over MPI.
fn table_vi(published: &Published, model: &Model, progress: &Progress) -> Result<Vec<TableEntry>, Failure> {
    let (vi, model) = (&published.table_vi, scaled(model.clone()));
    let cases = thesis_cases::built_in()?;
    let mut entries = Vec::new();
    for (nodes, step) in TABLE_VI {
        let Some(place) = vi.nodes.iter().position(|&n| n == nodes) else { continue };
        let net = Network::from_spec(&format!("bgq:{nodes}"))?;
        let mut gains = [0.0; 3];
        let sample: Vec<_> = cases.iter().step_by(step).collect();
        for case in &sample {
            progress.now(format!("Table VI: {} on {nodes} nodes", case.id));
            let demands = fewer_bytes(case.demands(net.hosts())?);
            let found = methods(&net, &model, &demands, (&PLANNERS, K))?;
            gains.iter_mut().zip(&found[1..]).for_each(|(sum, planned)| {
                *sum += (planned.simulated / found[0].simulated - 1.0) * 100.0 / sample.len() as f64;
            });
        }
        let asked = [vi.optimization_percent, vi.heuristic2_percent, vi.heuristic1_percent].map(|row| row[place]);
        let rows = ["lp", "heu2", "heu1"].into_iter().zip(asked).zip(gains);
        entries.extend(rows.map(|((method, published), ours)| TableEntry {
            table: "VI, mean gain in %".into(),
            row: format!("{nodes} nodes, {} cases", sample.len()),
            method: method.into(),
            published,
            ours,
            bound: None,
        }));
    }
    Ok(entries)
}

fn candidate_table(candidates: &[FitCandidate]) -> TextTable {
    let mut table =
        TextTable::new(&["step<", "lanes", "buffer, bytes", "copies, GB/s", "for a forwarded chunk, us", "loss"]);
    for c in candidates {
        let copies = match c.copy_bytes_per_second {
            0.0 => "none".to_owned(),
            rate => format!("{:.0}", rate / 1e9),
        };
        table.rows.push(vec![
            c.step.clone(),
            c.lanes.to_string(),
            c.buffer_bytes.to_string(),
            copies,
            format!("{:.1}", c.forward_overhead_picoseconds as f64 / 1e6),
            format!("{:.4}", c.loss),
        ]);
    }
    table
}

fn entry_table(entries: &[TableEntry]) -> TextTable {
    let mut table = TextTable::new(&["table<", "row<", "method<", "published", "ours", "error, %"]);
    for e in entries {
        table.rows.push(vec![
            e.table.clone(),
            e.row.clone(),
            e.method.clone(),
            format!("{:.2}", e.published),
            format!("{:.2}", e.ours),
            format!("{:+.1}", e.error_percent()),
        ]);
    }
    table
}

impl MiraContent {
    /// Of the page.
    pub const TITLE: &'static str = "Mira, fitted on one table and held against the others";

    /// The median error of held-out throughputs, in per cent without sign: of MPI, and of planned paths.
    pub fn held_out_errors(&self) -> [Option<f64>; 2] {
        [true, false].map(|mpi| {
            let throughputs =
                self.held_out.iter().filter(|e| (e.method == "MPI") == mpi && !e.table.starts_with("VI,"));
            median(&throughputs.map(|e| e.error_percent().abs()).collect::<Vec<f64>>())
        })
    }

    /// Whether the errors are too large for throughputs to be compared as numbers.
    pub fn is_direction_only(&self) -> bool {
        self.held_out_errors().iter().flatten().any(|&error| error > DIRECTION_ONLY)
    }

    /// How much of the link bound MPI reaches, as published and ours, and what that says of the error; nothing of documents without bounds.
    fn shares(&self) -> String {
        let mpi: Vec<_> = self.fitted.iter().chain(&self.held_out).filter_map(|e| Some((e, e.bound?))).collect();
        if mpi.is_empty() {
            return String::new();
        }
        let mut table =
            TextTable::new(&["table<", "row<", "at the link bound, GB/s", "published, % of it", "ours, % of it"]);
        for (entry, bound) in &mpi {
            table.rows.push(vec![
                entry.table.clone(),
                entry.row.clone(),
                format!("{bound:.2}"),
                format!("{:.0}", entry.published / bound * 100.0),
                format!("{:.0}", entry.ours / bound * 100.0),
            ]);
        }
        let beyond = mpi.iter().filter(|(entry, bound)| entry.published > *bound).count();
        let within = || mpi.iter().filter(|(entry, bound)| entry.published <= *bound);
        let held_out = within().filter(|(entry, _)| entry.table != "VII");
        let error = median(&held_out.map(|(entry, _)| entry.error_percent().abs()).collect::<Vec<_>>());
        let share = |fitted: bool| {
            let shares =
                within().filter(|(entry, _)| (entry.table == "VII") == fitted).map(|(e, bound)| e.published / bound);
            median(&shares.collect::<Vec<_>>())
        };
        let unlike = share(true).zip(share(false)).map_or(String::new(), |(fitted, held_out)| {
            format!(
                " The published tables do not reach the same share of it: {:.0} % by the median in Table VII and {:.0} % in the others, so that a \
                 model that is right about Table VII, and that the pattern does not change, is {:.0} % off in the others.",
                fitted * 100.0,
                held_out * 100.0,
                (fitted / held_out - 1.0).abs() * 100.0,
            )
        });
        format!(
            "## How much of its link bound MPI reaches\n\n\
             The bound is that of the fabric's deterministic routes, which put on the worst link of Table VII what is published (O1). {} \
             above it, which no model with these routes predicts; over the others that are held out, the median error of MPI is {}.{unlike}\n\n{}\n",
            units::format_count(beyond, "published throughput is", "published throughputs are"),
            error.map_or("-".to_owned(), |error| format!("{error:.1} %")),
            table.markdown(),
        )
    }

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let errors = self.held_out_errors();
        let errors_said = errors.map(|error| error.map_or("-".to_owned(), |error| format!("{error:.1} %")));
        let verdict = match self.is_direction_only() {
            false => "Throughputs on this model may be compared with published ones.".to_owned(),
            true => format!(
                "More than {DIRECTION_ONLY} %: claims that rest on throughputs of a simulated Blue Gene/Q are judged by direction, order and \
                 ratio only, and the list of results says \"direction only\" beside them."
            ),
        };
        format!(
            "The thesis's own system, simulated: its 50 shortest paths for each pair, its planners, its rule for chunks, forwarding at every \
             host. Four parameters of the machine are fitted on the throughputs of Table VII, and on nothing else \
             (`optiq-studies fit-bgq`): {}. Bytes are divided by {BYTES}, packets {PACKETS} times as \
             large.\n\n\
             Median error of held-out throughputs: MPI {} (asked at most {ASKED_MPI} %), planned paths {} (asked at most {ASKED_PLANNED} %). {verdict}\n\n{}\
             ## Held out\n\n{}\n\
             Table VIII and Figures 8 to 14 have no throughputs in the text of the thesis. Table VI is its mean gain over 91 cases; here over \
             a sample of them, on two of its four partitions.\n\n\
             ## Table VII, on which the parameters are fitted\n\n{}\n\
             In full, {} by MPI has {:.2} GB/s.\n\n\
             ## The fit\n\nThe loss is the mean of the squared logarithms of ours over published: of the entries of MPI in the first step, of \
             those of planned paths in the others. Each step begins from the best candidate of the one before.\n\n{}",
            self.best,
            errors_said[0],
            errors_said[1],
            self.shares(),
            entry_table(&self.held_out).markdown(),
            entry_table(&self.fitted).markdown(),
            self.full.row,
            self.full.ours,
            candidate_table(&self.candidates).markdown(),
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn entry(method: &str, table: &str, published: f64, ours: f64) -> TableEntry {
        TableEntry { table: table.into(), row: "r".into(), method: method.into(), published, ours, bound: None }
    }

    /// Twice and half as much: ln 2 squared each.
    #[test]
    fn the_loss_by_hand() {
        let entries = [entry("MPI", "VII", 1.0, 2.0), entry("lp", "VII", 4.0, 2.0)];
        assert!((loss(&entries) - 2f64.ln().powi(2)).abs() < 1e-12);
        assert_eq!(entries[0].error_percent(), 100.0);
    }

    #[test]
    fn errors_are_of_throughputs_apart() {
        let held_out = vec![
            entry("MPI", "IX", 10.0, 9.0),
            entry("lp", "IX", 10.0, 15.0),
            entry("lp", "VI, mean gain in %", 10.0, 100.0),
        ];
        let full = entry("MPI", "VII", 1.0, 1.0);
        let content = MiraContent { candidates: Vec::new(), best: String::new(), fitted: Vec::new(), held_out, full };
        let [mpi, planned] = content.held_out_errors().map(Option::unwrap);
        assert!((mpi - 10.0).abs() < 1e-9 && (planned - 50.0).abs() < 1e-9);
        assert!(content.body().contains("direction only"));
    }

    /// A row above its bound is left out of the median: 10 and 20 % are left, of Tables IX and XVI.
    #[test]
    fn what_no_link_can_carry_is_named() {
        let of_mpi = |table: &str, published, ours, bound| TableEntry {
            bound: Some(bound),
            ..entry("MPI", table, published, ours)
        };
        let held_out =
            vec![of_mpi("IX", 10.0, 9.0, 12.0), of_mpi("XVI", 10.0, 8.0, 10.0), of_mpi("XII", 111.0, 45.0, 66.0)];
        let full = entry("MPI", "VII", 1.0, 1.0);
        let fitted = vec![of_mpi("VII", 10.0, 1.0, 20.0)];
        let page = MiraContent { candidates: Vec::new(), best: String::new(), fitted, held_out, full }.body();
        assert!(page.contains("1 published throughput is above it") && page.contains("MPI is 15.0 %"), "{page}");
        assert!(page.contains("| XII | r | 66.00 | 168 | 68 |"), "{page}");
        // 10 of 20; 10 of 12 and 10 of 10, the median of which is 92 %.
        assert!(page.contains("50 % by the median in Table VII and 92 % in the others"), "{page}");
        assert!(page.contains("is 45 % off in the others"), "{page}");
    }

    /// The preset has what the page of the fit found, and all else of what that began from.
    #[test]
    fn the_preset_is_what_was_found() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/results/data/mira.json");
        let (page, preset) = (std::fs::read_to_string(page).unwrap(), Model::read("mira").unwrap());
        assert!(page.contains(&format!("\"best\": \"{}\"", said(&preset))), "{}", said(&preset));
        let mut base = Model::read(BASE).unwrap();
        (base.title, base.router.lanes, base.router.buffer_bytes) =
            (preset.title.clone(), preset.router.lanes, preset.router.buffer_bytes);
        let (from, into) = (&preset.host, &mut base.host);
        into.copy_bytes_per_second = from.copy_bytes_per_second;
        into.copies_forwarded = from.copies_forwarded;
        into.forward_overhead_picoseconds = from.forward_overhead_picoseconds;
        assert_eq!(base, preset);
    }

    /// What the fit begins from is one of its candidates.
    #[test]
    fn the_base_is_a_candidate() {
        let base = Model::read(BASE).unwrap();
        assert_eq!(Parameters::first().model().unwrap(), base);
        assert!(said(&base).starts_with("router.lanes = 1, router.buffer_bytes = 8192, "));
    }
}
