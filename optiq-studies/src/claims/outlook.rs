//! O21: what the thesis leaves to later work, and this project has: priorities (7.2.3; simulated here, and in a lab by
//! `classes_in_lab`), a choice among solutions that are as good (7.2.1), and the time to solve at scale (7.2.4).

use super::applications::draw;
use super::classes_in_lab;
use super::facts::{COLUMNS, context, row};
use super::machine::{Machine, Scale};
use super::setting::{MESSAGE, Setting, with_planner};
use crate::failure::Failure;
use crate::findings::{Findings, Row, Verdict};
use crate::published::PATTERNS;
use optiq_net::{Network, units};
use optiq_sim::RunOptions;
use optiq_sim::simulated_exchange::method::{Executor, MpiAlgorithm, TransferMethod};
use optiq_sim::simulated_exchange::run::{ExchangeSetting, SimulatedRun};
use optiq_solver::demands::{self, Demand};
use optiq_solver::pipeline::{self, PlanOptions, Planned};
use optiq_solver::planner::PlannerName;
use optiq_solver::{Assignment, Flow, Problem, Report, Share};
use optiq_transport::ScheduleOptions;
use std::collections::BTreeSet;

/// Nodes, unless others are asked for.
const NODES: u32 = 512;
/// All bytes, in packets of 4 KiB.
const PACKETS: Scale = Scale { bytes: 1, packets: 8 };
/// Urgent messages beside a bulk of one pattern: the number of their pairs, the seed they are drawn with, and their sizes.
const URGENT_PAIRS: usize = 64;
const SEED: u64 = 1;
const URGENT_BYTES: [u64; 2] = [64 << 10, 1 << 20];
const URGENT: u8 = 1;
/// The bulk may take so much longer with classes than without.
const BULK: f64 = 1.1;
/// How much better congestion may be without the second goal, relatively: the planner's own tolerance.
const CONGESTION: f64 = 0.02;

/// O21.
pub(super) fn later_work(setting: &Setting) -> Result<Findings, Failure> {
    let partition = setting.partition(NODES)?;
    let machine = Machine::new(setting, PACKETS)?;
    let judged = partition.published && machine.judged;
    let mut rows = Vec::new();
    for pattern in PATTERNS {
        let bulk = machine.scaled(setting.pattern(pattern, &partition.net)?);
        let alone = timed(&machine, &partition.net, (&bulk, &bulk), optimal())?.seconds() * 1e3;
        rows.push(context(&format!("{pattern} alone"), "bulk alone", (alone, "ms")));
        for bytes in URGENT_BYTES {
            rows.extend(classes(setting, &machine, &partition.net, (pattern, &bulk), bytes)?);
        }
    }
    let mut lab_notes = Vec::new();
    if judged {
        let (lab_rows, notes) = classes_in_lab::in_lab(setting)?;
        rows.extend(lab_rows);
        lab_notes = notes;
    }
    for pattern in PATTERNS {
        rows.extend(among_solutions(setting, &machine, &partition.net, pattern)?);
    }
    if judged {
        rows.extend(couplings(setting, &machine)?);
        rows.extend(at_scale(setting)?);
    }
    if !judged {
        rows.iter_mut().for_each(|row| row.verdict = Verdict::NotJudged);
    }
    let mut notes = vec![
        format!(
            "Priorities (7.2.3), simulated on {} nodes: {URGENT_PAIRS} random pairs (seed {SEED}) of class {URGENT} beside a pattern with {} for each pair. \
             Paths are planned for all demands together; with classes urgent chunks go first at every rank. Routers know no class: chunks that are in the network \
             wait their turn. **Changed after a first run:** urgent demands had been planned first and the others around them, as for links that serve urgent bytes first; \
             urgent messages then ended later than without classes in 3 of 6 cases, at an eighth of the bytes.",
            partition.nodes,
            units::format_bytes(MESSAGE)
        ),
        "Several solutions (7.2.1): many plans have the same congestion. The second goal of planner `optimal` chooses among those within its slack the one \
         with fewer hosts that forward and fewer flows; without it, slack is 0."
            .to_owned(),
        "Time (7.2.4): Table XIII has the seconds of model and solution on the thesis's machine; ours are of this one, from demands to checked plan."
            .to_owned(),
    ];
    notes.splice(1..1, lab_notes);
    notes.extend(machine.note(&partition.net, &setting.pattern(PATTERNS[0], &partition.net)?, PATTERNS[0])?);
    Ok(Findings::new(COLUMNS, rows, notes))
}

/// Random pairs that the bulk does not have.
fn urgent_pairs(net: &Network, bulk: &[Demand], bytes: u64) -> Result<Vec<Demand>, Failure> {
    let taken: BTreeSet<_> = bulk.iter().map(|d| (d.src, d.dst)).collect();
    let drawn =
        demands::parse(&format!("pattern:random,count={},seed={SEED},class={URGENT}", 2 * URGENT_PAIRS), net, bytes)?;
    let mut seen = BTreeSet::new();
    let free = drawn.into_iter().filter(|d| !taken.contains(&(d.src, d.dst)) && seen.insert((d.src, d.dst)));
    Ok(free.take(URGENT_PAIRS).collect())
}

/// One exchange of `planned` demands, timed by the classes of `all`, which are the same pairs.
fn timed(
    machine: &Machine,
    network: &Network,
    (planned, all): (&[Demand], &[Demand]),
    method: TransferMethod,
) -> Result<SimulatedRun, Failure> {
    let model = machine.model();
    let setting = ExchangeSetting { network, model, demands: planned, executor: Executor::of(model) };
    let prepared = setting.prepare(method)?.timed_by_class(all);
    Ok(prepared.simulate(&RunOptions { threads: 1, seed: 1, ..RunOptions::default() })?)
}

fn optimal() -> TransferMethod {
    TransferMethod::PlanWith(Box::new(with_planner(PlannerName::Optimal)), ScheduleOptions::default())
}

/// Urgent messages alone, beside a bulk without classes, and with them.
fn classes(
    setting: &Setting,
    machine: &Machine,
    net: &Network,
    (pattern, bulk): (&str, &[Demand]),
    bytes: u64,
) -> Result<Vec<Row>, Failure> {
    let urgent = machine.scaled(urgent_pairs(net, bulk, bytes)?);
    let all: Vec<Demand> = bulk.iter().chain(&urgent).copied().collect();
    let as_one: Vec<Demand> = all.iter().map(|d| Demand { class: 0, ..*d }).collect();
    let case = format!("{} of class {URGENT} beside {pattern}", units::format_bytes(bytes));
    setting.progress.now(case.clone());
    let milliseconds = |run: &SimulatedRun, class: u8| run.class_seconds().get(&class).copied().unwrap_or(0.0) * 1e3;
    let alone = timed(machine, net, (&urgent, &urgent), optimal())?.seconds() * 1e3;
    let mpi = timed(machine, net, (&as_one, &all), TransferMethod::Mpi(MpiAlgorithm::Linear))?;
    let without = timed(machine, net, (&as_one, &all), optimal())?;
    let with = timed(machine, net, (&all, &all), optimal())?;
    let (before, after) = (milliseconds(&without, URGENT), milliseconds(&with, URGENT));
    let (bulk_before, bulk_after) = (milliseconds(&without, 0), milliseconds(&with, 0));
    let ms = |value: f64| (value, "ms");
    Ok(vec![
        context(&case, "urgent alone", ms(alone)),
        context(&case, "urgent beside it, MPI", ms(milliseconds(&mpi, URGENT))),
        context(&case, "urgent beside it, without classes", ms(before)),
        row(&case, "urgent beside it, with classes", ms(after), "less than without", {
            Verdict::of(after > 0.0 && after < before, || {
                format!("{case}: {after:.3} ms with classes, {before:.3} ms without")
            })
        }),
        context(&case, "bulk, without classes", ms(bulk_before)),
        row(&case, "bulk, with classes", ms(bulk_after), "at most 10 % more than without", {
            let late =
                || format!("{case}: the bulk takes {bulk_after:.3} ms with classes, {bulk_before:.3} ms without");
            Verdict::of(bulk_after <= bulk_before * BULK, late)
        }),
    ])
}

/// The plan with the second goal, and one of the same congestion without it.
fn among_solutions(setting: &Setting, machine: &Machine, net: &Network, pattern: &str) -> Result<Vec<Row>, Failure> {
    let demands = machine.scaled(setting.pattern(pattern, net)?);
    let case = format!("solutions for {pattern}");
    setting.progress.now(case.clone());
    let mut found = Vec::new();
    for options in
        [PlanOptions { slack: 0.0, ..with_planner(PlannerName::Optimal) }, with_planner(PlannerName::Optimal)]
    {
        let Some(planned) = setting.plan(net, &demands, &options, None)? else { return Ok(Vec::new()) };
        let (congestion, paths) = (planned.report.congestion_seconds * 1e3, planned.report.paths);
        let method = TransferMethod::Planned(Box::new(planned), ScheduleOptions::default());
        found.push((congestion, paths, machine.run(net, &demands, method)?.seconds() * 1e3));
    }
    let (any, chosen) = (found[0], found[1]);
    Ok(vec![
        context(&case, "link bound, any", (any.0, "ms")),
        row(&case, "link bound, chosen", (chosen.0, "ms"), "at most 2 % more", {
            Verdict::of(chosen.0 <= any.0 * (1.0 + CONGESTION), || {
                format!("{case}: {:.3} ms after {:.3} ms", chosen.0, any.0)
            })
        }),
        context(&case, "paths, any", (any.1 as f64, "paths")),
        context(&case, "paths, chosen", (chosen.1 as f64, "paths")),
        context(&case, "simulated, any", (any.2, "ms")),
        row(&case, "simulated, chosen", (chosen.2, "ms"), "less than any", {
            Verdict::of(chosen.2 < any.2, || {
                format!("{case}: {:.3} ms with the second goal, {:.3} ms without", chosen.2, any.2)
            })
        }),
    ])
}

/// All couplings of CESM at one time (6.5.1), planned together, and each as if it were alone.
fn couplings(setting: &Setting, machine: &Machine) -> Result<Vec<Row>, Failure> {
    let published = &setting.published.couplings;
    let net = setting.network(published.nodes)?;
    let case = "couplings of CESM at one time";
    setting.progress.now(case.to_owned());
    let mut all: Vec<Demand> = Vec::new();
    let mut apart: Vec<Vec<Share>> = Vec::new();
    for one in &published.coupling {
        let taken: BTreeSet<_> = all.iter().map(|d| (d.src, d.dst)).collect();
        let mut demands = machine.scaled(draw(setting, &net, one, 1)?);
        // A pair that two models have goes with the first.
        demands.retain(|d| !taken.contains(&(d.src, d.dst)));
        let Some(planned) = setting.plan(&net, &demands, &with_planner(PlannerName::Optimal), None)? else {
            return Ok(Vec::new());
        };
        let shares =
            |flows: &Vec<Flow>| flows.iter().map(|f| Share { links: f.links.clone(), bytes: f.bytes }).collect();
        apart.extend(planned.plan.flows.iter().map(shares));
        all.extend(&planned.plan.demands);
    }
    let problem = Problem::new(&net, &all, None)?;
    let assignment = Assignment { shares: apart, ..Assignment::default() };
    let apart = pipeline::finish(&problem, "apart", assignment)?;
    let Some(together) = setting.plan(&net, &all, &with_planner(PlannerName::Optimal), None)? else {
        return Ok(Vec::new());
    };
    let bounds = [apart.congestion_seconds * 1e3, together.plan.congestion_seconds * 1e3];
    let apart = Planned { report: Report::new(&apart, &net)?, plan: apart, ..together.clone() };
    let seconds = |planned: Planned| -> Result<f64, Failure> {
        let method = TransferMethod::Planned(Box::new(planned), ScheduleOptions::default());
        Ok(machine.run(&net, &all, method)?.seconds() * 1e3)
    };
    let (apart, together) = (seconds(apart)?, seconds(together)?);
    let mpi = machine.run(&net, &all, TransferMethod::Mpi(MpiAlgorithm::Linear))?.seconds() * 1e3;
    Ok(vec![
        context(case, "simulated, MPI", (mpi, "ms")),
        context(case, "link bound, planned apart", (bounds[0], "ms")),
        context(case, "link bound, planned together", (bounds[1], "ms")),
        context(case, "simulated, planned apart", (apart, "ms")),
        context(case, "simulated, planned together", (together, "ms")),
    ])
}

/// Seconds of plans at the size of Table XIII's largest ones and beyond.
fn at_scale(setting: &Setting) -> Result<Vec<Row>, Failure> {
    let xiii = &setting.published.table_xiii;
    let mut rows = Vec::new();
    for nodes in [xiii.nodes, 2 * xiii.nodes] {
        let net = setting.network(nodes)?;
        for (p, pattern) in PATTERNS.into_iter().enumerate() {
            let case = format!("plan for {pattern} on {nodes} nodes");
            setting.progress.now(case.clone());
            let demands = setting.pattern(pattern, &net)?;
            let Some((planned, seconds)) = setting.timed(&net, &demands, &with_planner(PlannerName::Optimal))? else {
                continue;
            };
            let theirs = xiii.whole(p);
            let asked = format!("below {theirs:.0} s, the LP at {} nodes with the most paths", xiii.nodes);
            let verdict =
                Verdict::of(seconds < theirs, || format!("{case}: {seconds:.2} s, and {theirs:.0} s were published"));
            rows.push(row(&case, "seconds, median", (seconds, "s"), &asked, verdict));
            let above = (planned.report.congestion_seconds / planned.report.bound_seconds - 1.0) * 100.0;
            rows.push(context(&case, "above the proved bound", (above, "%")));
        }
    }
    Ok(rows)
}
