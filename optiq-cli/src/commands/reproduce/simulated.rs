//! O5, O12 and O13: what the thesis measured on Mira, in the packet-level simulator with the model of Blue Gene/Q.

use super::findings::{Column, Findings, Row, Verdict, column};
use super::published::PATTERNS;
use super::setting::{MESSAGE, Setting, with_planner};
use crate::commands::simulate::Mpi;
use crate::commands::simulate::checkpoint::Files;
use crate::commands::simulate::run::{Run, Runner, Way};
use crate::failure::Failure;
use optiq::{Config, CostModel, Decision, decide};
use optiq_net::{Network, units};
use optiq_sim::{Limits, Model, Policy};
use optiq_solver::demands::{self, Demand};
use optiq_solver::pipeline::Planned;
use optiq_transport::{ChunkRule, ScheduleOptions};
use std::sync::atomic::AtomicBool;

/// Nobody stops a claim's run but by ending the command.
static STOP: AtomicBool = AtomicBool::new(false);

/// By so much, relatively, a throughput may be below the one that it is to be above: runs are exact, orders of a percent not.
const ORDER: f64 = 0.01;

fn simulate(setting: &Setting, net: &Network, demands: &[Demand], way: Way) -> Result<Run, Failure> {
    let model = Model::read("bgq")?;
    let limits = Limits::default();
    let (threads, seed, routing, stop) = (1, 1, Policy::Fabric, &STOP);
    Runner {
        net,
        model: &model,
        demands,
        limits,
        threads,
        seed,
        routing,
        stop,
        progress: setting.progress,
        checkpoints: &Files::NONE,
    }
    .run(way)
}

/// Bytes of all demands over the time of a run, in GB/s (decimal).
fn gigabytes(run: &Run, demands: &[Demand]) -> f64 {
    demands.iter().map(|d| d.bytes as f64).sum::<f64>() / run.seconds() / 1e9
}

fn percent_of_bound(run: &Run) -> f64 {
    run.link_bound / run.seconds() * 100.0
}

const THROUGHPUTS: &[Column] = &[
    column("pattern", "pattern", 0),
    column("planner", "planner", 0),
    column("published, GB/s", "published_gigabytes_per_second", 2),
    column("simulated, GB/s", "gigabytes_per_second", 2),
    column("published times MPI", "published_times_mpi", 2),
    column("simulated times MPI", "times_mpi", 2),
    column("link bound, ms", "link_bound_milliseconds", 2),
    column("simulated, ms", "milliseconds", 2),
    column("share of the bound, %", "share_of_bound_percent", 1),
];

/// O5: the order of throughputs.
pub fn throughputs(setting: &Setting) -> Result<Findings, Failure> {
    let vii = &setting.published.table_vii;
    let partition = setting.partition(vii.nodes)?;
    let net = &partition.net;
    let mut rows = Vec::new();
    for (p, pattern) in PATTERNS.into_iter().enumerate() {
        let demands = setting.pattern(pattern, net)?;
        let published = [
            ("MPI, all at once", vii.mpi.gigabytes_per_second[p]),
            ("heu1", vii.heu1.gigabytes_per_second[p]),
            ("heu2", vii.heu2.gigabytes_per_second[p]),
            ("lp", vii.opt.gigabytes_per_second[p]),
            ("optimal", vii.opt.gigabytes_per_second[p]),
        ];
        let (mut before, mut mpi) = (None, None);
        for (name, published) in published {
            let way = if name.starts_with("MPI") {
                Way::Mpi(Mpi::Linear)
            } else {
                setting.progress.now(format!("{pattern} on {} nodes: planning with {name}", partition.nodes));
                let Some(planned) = setting.plan(net, &demands, &with_planner(name), None)? else { continue };
                Way::Planned(Box::new(planned), ScheduleOptions::default())
            };
            let run = simulate(setting, net, &demands, way)?;
            let ours = gigabytes(&run, &demands);
            let base = *mpi.get_or_insert((published, ours));
            let verdict = match before {
                _ if !partition.published => Verdict::NotJudged,
                None => Verdict::NotJudged,
                // Two planners of the same rank: the thesis's LP, and ours.
                Some(_) if name == "optimal" => Verdict::NotJudged,
                Some((other, rate)) => Verdict::of(ours >= rate * (1.0 - ORDER), || {
                    format!("{pattern}: {name} at {ours:.1} GB/s is behind {other} at {rate:.1} GB/s")
                }),
            };
            before = Some((name, ours));
            rows.push(Row::new(
                vec![
                    pattern.into(),
                    name.into(),
                    published.into(),
                    ours.into(),
                    (published / base.0).into(),
                    (ours / base.1).into(),
                    (run.link_bound * 1e3).into(),
                    (run.seconds() * 1e3).into(),
                    percent_of_bound(&run).into(),
                ],
                verdict,
            ));
        }
    }
    let notes = vec![format!(
        "{} for each pair, model `data/sim/bgq.toml`: packets of 512 bytes, 1.8 GB/s, forwarding with its overheads. The published \
         throughputs are of Mira; orders and ratios are compared. Every run moves every byte, and is exact: there is no noise.",
        units::format_bytes(MESSAGE)
    )];
    Ok(Findings { columns: THROUGHPUTS, rows, notes, totals: Vec::new(), seen: None })
}

/// Figures 13 and 14 are of 512 nodes.
const NODES: u32 = 512;

fn plan(setting: &Setting, net: &Network, pattern: &str, bytes: u64) -> Result<(Vec<Demand>, Planned), Failure> {
    let demands = demands::parse(&format!("pattern:{pattern}"), net, bytes)?;
    match setting.plan(net, &demands, &with_planner("optimal"), None)? {
        Some(planned) => Ok((demands, planned)),
        None => Err(Failure::Work("planner optimal is in every build".into())),
    }
}

const CHUNKS: &[Column] = &[
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

/// O12: the automatic chunk against fixed ones.
pub fn chunks(setting: &Setting) -> Result<Findings, Failure> {
    let partition = setting.partition(NODES)?;
    let net = &partition.net;
    let mut rows = Vec::new();
    for (kib, published) in [
        (8u64, "whole"),
        (32, "16KiB"),
        (64, "32KiB"),
        (128, "32KiB"),
        (512, "64KiB"),
        (2048, "64KiB"),
        (8192, "64KiB"),
    ] {
        let (demands, planned) = plan(setting, net, "subset", kib << 10)?;
        let time = |chunk| -> Result<f64, Failure> {
            let options = ScheduleOptions { chunk, ..ScheduleOptions::default() };
            Ok(simulate(setting, net, &demands, Way::Planned(Box::new(planned.clone()), options))?.seconds() * 1e3)
        };
        let mut best = (f64::INFINITY, 0);
        // Twice the largest chunk that is no larger than the message is the message.
        for chunk in (0..9).map(|i| 4096u64 << i).filter(|&c| c < 2 * (kib << 10)) {
            let took = time(ChunkRule::Fixed(chunk))?;
            if took < best.0 {
                best = (took, chunk);
            }
        }
        let (automatic, thesis) = (time(ChunkRule::Auto)?, time(ChunkRule::Thesis)?);
        let ratio = automatic / best.0;
        let message = units::format_bytes(kib << 10);
        let verdict = match partition.published {
            true => Verdict::of(ratio <= CHUNK_WITHIN, || {
                format!("{message}: {ratio:.3} times the best fixed chunk's time")
            }),
            false => Verdict::NotJudged,
        };
        rows.push(Row::new(
            vec![
                message.into(),
                published.into(),
                units::format_bytes(best.1).into(),
                best.0.into(),
                automatic.into(),
                ratio.into(),
                thesis.into(),
            ],
            verdict,
        ));
    }
    let notes = vec![
        "Plans of planner optimal; fixed chunks from 4 KiB to 1 MiB in powers of two, and no larger than the message."
            .into(),
    ];
    Ok(Findings { columns: CHUNKS, rows, notes, totals: Vec::new(), seen: None })
}

const SIZES: &[Column] = &[
    column("pattern", "pattern", 0),
    column("message", "message", 0),
    column("MPI, ms", "mpi_milliseconds", 4),
    column("planned paths, ms", "planned_milliseconds", 4),
    column("MPI over planned", "mpi_over_planned", 2),
    column("chosen", "chosen", 0),
    column("ours over MPI, throughput", "ours_over_mpi", 3),
];

/// Ours may be so much slower than MPI.
const NEVER_BELOW: f64 = 0.97;
/// From here on planned paths must be faster.
const CROSSOVER: u64 = 128 << 10;

/// O13: where planned paths begin to be faster, and what is chosen.
pub fn sizes(setting: &Setting) -> Result<Findings, Failure> {
    let partition = setting.partition(NODES)?;
    let net = &partition.net;
    let model = Model::read("bgq")?;
    let cost = cost_model(&model, net);
    let mut rows = Vec::new();
    for pattern in PATTERNS {
        for shift in [10, 13, 15, 16, 17, 18, 19, 20, 21, 23] {
            let bytes = 1u64 << shift;
            let (demands, planned) = plan(setting, net, pattern, bytes)?;
            let config = Config::default();
            let chosen = decide(&planned.plan, net, &config, &cost);
            let mpi = simulate(setting, net, &demands, Way::Mpi(Mpi::Linear))?.seconds();
            let way = Way::Planned(Box::new(planned), ScheduleOptions::default());
            let paths = simulate(setting, net, &demands, way)?.seconds() + cost.agreement_seconds;
            let by_mpi = matches!(chosen, Decision::Mpi { .. });
            // Calls that were found to be MPI's are left to it without an agreement from the second one on.
            let ratio = if by_mpi { 1.0 } else { mpi / paths };
            let message = units::format_bytes(bytes);
            let verdict = match partition.published {
                false => Verdict::NotJudged,
                true if ratio < NEVER_BELOW => Verdict::NotShown(format!("{pattern}, {message}: {ratio:.3} of MPI")),
                true => Verdict::of(bytes < CROSSOVER || paths < mpi, || {
                    format!("{pattern}, {message}: planned paths are slower than MPI")
                }),
            };
            rows.push(Row::new(
                vec![
                    pattern.into(),
                    message.into(),
                    (mpi * 1e3).into(),
                    (paths * 1e3).into(),
                    (mpi / paths).into(),
                    if by_mpi { "MPI" } else { "planned paths" }.into(),
                    ratio.into(),
                ],
                verdict,
            ));
        }
    }
    let notes = vec![format!(
        "Planned paths include an agreement of {:.1} us. What is chosen is what the cost model says with the parameters of the \
         simulated machine; in a session, measured times overrule it from the third call on.",
        cost.agreement_seconds * 1e6
    )];
    Ok(Findings { columns: SIZES, rows, notes, totals: Vec::new(), seen: None })
}

/// What a session would calibrate on the simulated machine: a short message, and a reduction of all ranks by recursive
/// doubling.
fn cost_model(model: &Model, net: &Network) -> CostModel {
    let hop = model.link.local_latency_picoseconds + model.router.delay_picoseconds;
    let host = model.host.send_overhead_picoseconds + model.host.receive_overhead_picoseconds;
    let hops = net.geometry().grid().map_or(1, |grid| grid.diameter()) / 2;
    let latency = (u64::from(hops) * hop + host) as f64 / 1e12;
    let steps = net.hosts().next_power_of_two().trailing_zeros();
    CostModel {
        agreement_seconds: f64::from(steps) * latency,
        latency_seconds: latency,
        chunk_seconds: host as f64 / 1e12,
        ..CostModel::default()
    }
}
