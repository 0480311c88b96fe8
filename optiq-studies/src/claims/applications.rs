//! O18: the couplings of CESM (thesis 6.5), generated to the published counts and sizes, and simulated.

use super::baselines;
use super::machine::{Machine, Measured, Scale};
use super::setting::Setting;
use crate::compared_method::ComparedMethod;
use crate::failure::Failure;
use crate::findings::{Column, Findings, Row, Verdict, column};
use crate::plot::{Plot, PlotKind};
use crate::published::{Coupling, Couplings};
use optiq_net::{Network, units};
use optiq_solver::Demand;
use optiq_solver::demands;
use optiq_solver::planner::PlannerName;

/// All bytes of couplings, in packets of 4 KiB.
const COUPLED: Scale = Scale { bytes: 1, packets: 8 };

/// Generated couplings of each kind.
const DRAWS: u32 = 3;

const COUPLINGS: &[Column] = &[
    column("coupling", "coupling", 0),
    column("planner", "planner", 0),
    column("pairs of nodes", "demands", 0),
    column("published, GB/s", "published_gigabytes_per_second", 2),
    column("simulated, GB/s", "gigabytes_per_second", 2),
    column("published gain, %", "published_gain_percent", 1),
    column("simulated gain, %", "gain_percent", 1),
    column("of the draws, least", "gain_percent_min", 1),
    column("most", "gain_percent_max", 1),
    column("over the strongest MPI, %", "gain_over_strongest_percent", 1),
    column("paths", "paths", 0),
    column("of a pair, most", "paths_per_pair_max", 0),
    column("mean", "paths_per_pair_mean", 2),
    column("share of the bound, %", "share_of_bound_percent", 1),
];

const PAIRS_OF_ATMOSPHERE: &str =
    "Table XVI gives 2,911 paths of MPI for CPL-ATM, which Table XV has for the land; the pairs are those of Table XV.";

/// The specification of one draw's demands.
pub(crate) fn coupling(all: &Couplings, one: &Coupling, seed: u32) -> String {
    // Ranges of ranks to ranges of nodes.
    let nodes = |[first, last]: [u32; 2]| format!("{}-{}", first / all.ranks, last / all.ranks);
    format!(
        "pattern:coupling,from={},to={},pairs={},messages={},ranks={},points={},seed={seed}",
        nodes(all.coupler),
        nodes(one.ranks),
        one.node_pairs,
        one.rank_pairs,
        all.ranks,
        all.points
    )
}

/// One draw of a coupling's demands on a network.
pub(super) fn draw(setting: &Setting, net: &Network, one: &Coupling, seed: u32) -> Result<Vec<Demand>, Failure> {
    let all = &setting.published.couplings;
    Ok(demands::parse(&coupling(all, one, seed), net, all.point_bytes)?)
}

/// O18: the couplings of CESM.
pub fn couplings(setting: &Setting) -> Result<Findings, Failure> {
    let published = &setting.published.couplings;
    let partition = setting.partition(published.nodes)?;
    let net = partition.net;
    let machine = Machine::new(setting, COUPLED)?;
    let judged = partition.published && machine.judged;
    let draw = |one: &Coupling, seed| draw(setting, &net, one, seed);
    let title = format!("Table XVI: couplings of CESM on {} nodes", partition.nodes);
    let categories = published.coupling.iter().map(|c| c.name.clone()).collect();
    let mut plot = Plot::new(PlotKind::Bars, &title, "GB/s", "coupling", categories);
    let mut rows = Vec::new();
    for (place, one) in published.coupling.iter().enumerate() {
        let mut draws: Vec<Vec<Measured>> = Vec::new();
        for seed in 1..=DRAWS {
            let demands = machine.scaled(draw(one, seed)?);
            draws.push(machine.compare_with_strongest(
                &net,
                &demands,
                &[PlannerName::Heuristic2, PlannerName::Optimal],
                &format!("{}, draw {seed}", one.name),
            )?);
        }
        let count = draws.len() as f64;
        let mpi = draws.iter().map(|d| d[0].gigabytes).sum::<f64>() / count;
        let strongest = draws.iter().map(|d| d[0].strongest_gigabytes()).sum::<f64>() / count;
        for i in 0..draws[0].len() {
            let each = || draws.iter().map(|d| &d[i]);
            let mean = |of: fn(&Measured) -> f64| each().map(of).sum::<f64>() / count;
            let method = draws[0][i].method;
            let theirs = match method {
                ComparedMethod::Mpi => one.gigabytes_per_second[0],
                ComparedMethod::Planned(PlannerName::Heuristic2) => one.gigabytes_per_second[1],
                _ => one.gigabytes_per_second[2],
            };
            let ours = mean(|m| m.gigabytes);
            let gain = |rate: f64, base: f64| (rate / base - 1.0) * 100.0;
            let (wanted, found) = (gain(theirs, one.gigabytes_per_second[0]), gain(ours, mpi));
            let gains = || each().map(|m| (m.times_mpi - 1.0) * 100.0);
            let verdict = match method {
                ComparedMethod::Mpi => Verdict::NotJudged,
                _ if !judged => Verdict::NotJudged,
                _ => Verdict::of(found >= wanted, || format!("{}: {method} gains {found:.1} %", one.name)),
            };
            plot.set("published", method.as_str(), place, theirs);
            plot.set("simulated", method.as_str(), place, ours);
            let cells = vec![
                one.name.as_str().into(),
                method.as_str().into(),
                one.node_pairs.into(),
                theirs.into(),
                ours.into(),
                wanted.into(),
                found.into(),
                gains().fold(f64::INFINITY, f64::min).into(),
                gains().fold(f64::NEG_INFINITY, f64::max).into(),
                gain(ours, strongest).into(),
                mean(|m| m.paths as f64).round().into(),
                each().map(|m| m.paths_per_pair_max).max().unwrap_or(0).into(),
                mean(|m| m.paths_per_pair_mean).into(),
                (mean(|m| m.share_of_bound) * 100.0).into(),
            ];
            rows.push(Row::new(cells, verdict));
        }
    }
    let mut notes = Vec::new();
    if let Some(smallest) = published.coupling.iter().min_by_key(|c| c.node_pairs) {
        notes.extend(machine.note(&net, &draw(smallest, 1)?, &format!("{}, draw 1", smallest.name))?);
        notes.push(format!(
            "Demands, for example: `--demands {} --message {}`. The counts of Table XV: from the coupler's nodes to the model's, \
             as many pairs of nodes as there, each choice equally likely (\"random-like\", thesis 6.5); as many pairs of ranks, at least one \
             for each pair of nodes and at most one for each pair of their ranks; 1 to {} points for a pair of ranks, equally likely. \
             What goes between the same nodes is one demand. Figures are means over {DRAWS} draws (`seed=`), and maxima of them \
             for the most paths of a pair. CESM's own pairs are not published: they need not be spread as evenly.",
            coupling(published, smallest, 1),
            units::format_bytes(published.point_bytes),
            published.points
        ));
    }
    notes.push(baselines::note(net.hosts()));
    notes.push(PAIRS_OF_ATMOSPHERE.into());
    Ok(Findings::new(COUPLINGS, rows, notes).with_plot(plot))
}
