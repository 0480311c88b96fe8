//! O18 and O19: the demands of two applications (thesis 6.5), generated to the published counts and sizes, and simulated.

use super::baselines;
use super::machine::{Machine, Measured, Scale};
use super::setting::Setting;
use crate::compared_method::ComparedMethod;
use crate::failure::Failure;
use crate::findings::{Column, Findings, Row, Verdict, column};
use crate::plot::{Plot, PlotKind};
use crate::published::{Coupling, Couplings};
use optiq::io::{Assignment, Extent, Servers, assign};
use optiq_lower::placement::Placement;
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

/// All bytes of HACC I/O, in packets of 4 KiB. With fewer bytes the executor comes closer to its link bound.
const AGGREGATED: Scale = Scale { bytes: 1, packets: 8 };

const AGGREGATION: &[Column] = &[
    column("nodes", "nodes", 0),
    column("cores", "cores", 0),
    column("assignment", "assignment", 0),
    column("planner", "planner", 0),
    column("most hosts of an I/O host", "hosts_of_io_host_max", 0),
    column("simulated, GB/s", "gigabytes_per_second", 2),
    column("times MPI", "times_mpi", 2),
    column("link bound, ms", "link_bound_milliseconds", 2),
    column("simulated, ms", "milliseconds", 2),
    column("share of the bound, %", "share_of_bound_percent", 1),
    column("times MPI at the bound", "times_mpi_at_bound", 2),
];

/// What hosts have, cut into ranges of a file of equal parts for all I/O hosts, as `optiq_file_write_at_all` does it.
fn balanced(net: &Network, bytes: &[u64]) -> Result<Vec<Demand>, Failure> {
    let placement = Placement::by_rank(net, net.hosts(), 1).map_err(Failure::Input)?;
    let servers = Servers::new(net, &placement).map_err(Failure::Input)?;
    let mut start = 0;
    let mut extents = Vec::with_capacity(bytes.len());
    for &bytes in bytes {
        extents.push(Extent { start, bytes });
        start += bytes;
    }
    let shares = assign(&servers, &placement, &extents, Assignment::Balanced, 1);
    let mut demands = Vec::new();
    for (server, shares) in servers.list().iter().zip(shares) {
        let from = shares.iter().map(|share| (placement.host(share.rank), share.extent.bytes));
        demands.extend(
            from.filter(|&(host, bytes)| host != server.host && bytes > 0)
                .map(|(host, bytes)| Demand::new(host, server.host, bytes)),
        );
    }
    Ok(demands)
}

/// The most demands that one host receives.
fn most_received(net: &Network, demands: &[Demand]) -> u64 {
    let mut count = vec![0u64; net.hosts()];
    demands.iter().for_each(|d| count[d.dst.index()] += 1);
    count.into_iter().max().unwrap_or(0)
}

/// How one assignment of hosts to I/O hosts did.
struct Assigned {
    assignment: Assignment,
    /// The most hosts of an I/O host.
    hosts_most: u64,
    measured: Measured,
}

fn name(assignment: Assignment) -> &'static str {
    match assignment {
        Assignment::Default => "default",
        Assignment::Balanced => "balanced",
    }
}

/// The thesis's assignment with MPI and both planners, and this project's with planner `optimal`, against MPI with the thesis's.
fn assignments(machine: &Machine, net: &Network, demands: &str) -> Result<Vec<Assigned>, Failure> {
    let full = demands::parse(demands, net, 0)?;
    let by_default = machine.scaled(full);
    let what = format!("HACC I/O on {} nodes", net.hosts());
    let mut found: Vec<Assigned> = Vec::new();
    let hosts_most = most_received(net, &by_default);
    for measured in machine.compare(net, &by_default, &[PlannerName::Heuristic2, PlannerName::Optimal], &what)? {
        found.push(Assigned { assignment: Assignment::Default, hosts_most, measured });
    }
    // The I/O hosts' own bytes, which demands do not contain, are of the mean size here.
    let mean = by_default.iter().map(|d| d.bytes).sum::<u64>() / by_default.len().max(1) as u64;
    let mut bytes = vec![mean; net.hosts()];
    by_default.iter().for_each(|d| bytes[d.src.index()] = d.bytes);
    let demands = balanced(net, &bytes)?;
    let hosts_most = most_received(net, &demands);
    if let Some(m) = machine.compare(net, &demands, &[PlannerName::Optimal], &what)?.pop() {
        // Against MPI to the default I/O hosts, as the others.
        let times_mpi = m.gigabytes / found[0].measured.gigabytes;
        found.push(Assigned { assignment: Assignment::Balanced, hosts_most, measured: Measured { times_mpi, ..m } });
    }
    Ok(found)
}

/// O19: HACC I/O.
pub fn aggregation(setting: &Setting) -> Result<Findings, Failure> {
    let hacc = &setting.published.hacc;
    let machine = Machine::new(setting, AGGREGATED)?;
    let mut nets = Vec::new();
    for spec in &hacc.topologies {
        let net = Network::from_spec(spec)?;
        if setting.nodes.is_none_or(|only| only as usize == net.hosts()) {
            nets.push(net);
        }
    }
    let least = hacc.times_mpi[0];
    let cores = |net: &Network| net.hosts() * hacc.cores_per_node;
    let title = "Figure 19, simulated: HACC I/O gathered at bridge nodes";
    let categories = nets.iter().map(|net| cores(net).to_string()).collect();
    let mut plot = Plot::new(PlotKind::Lines, title, "GB/s", "cores", categories);
    let mut rows = Vec::new();
    for (place, net) in nets.iter().enumerate() {
        let found = assignments(&machine, net, &hacc.demands)?;
        for Assigned { assignment, hosts_most, measured: m } in found {
            let is_balanced = assignment == Assignment::Balanced;
            let assignment = name(assignment);
            // The thesis's method, and this project's.
            let judged =
                machine.judged && (m.method == ComparedMethod::Planned(PlannerName::Heuristic2) || is_balanced);
            let verdict = match judged {
                true => Verdict::of(m.times_mpi >= least, || {
                    format!(
                        "{} cores: {}, {assignment}, is {:.2} times as fast as MPI",
                        cores(net),
                        m.method,
                        m.times_mpi
                    )
                }),
                false => Verdict::NotJudged,
            };
            let name = if is_balanced { format!("{}, {assignment}", m.method) } else { m.method.to_string() };
            plot.set("", &name, place, m.gigabytes);
            let cells = vec![
                net.hosts().into(),
                cores(net).into(),
                assignment.into(),
                m.method.as_str().into(),
                hosts_most.into(),
                m.gigabytes.into(),
                m.times_mpi.into(),
                (m.share_of_bound * m.seconds * 1e3).into(),
                (m.seconds * 1e3).into(),
                (m.share_of_bound * 100.0).into(),
                (m.times_mpi / m.share_of_bound).into(),
            ];
            rows.push(Row::new(cells, verdict));
        }
    }
    let mut notes = Vec::new();
    if let Some(net) = nets.first() {
        let what = format!("HACC I/O on {} nodes", net.hosts());
        notes.extend(machine.note(net, &demands::parse(&hacc.demands, net, 0)?, &what)?);
    }
    notes.push(format!(
        "Demands `{}`: each node's {} go to its default I/O host, as in the thesis, whose planner is heuristic 2. The thesis does \
         not say which nodes of 128 are the bridge nodes, nor which nodes are whose; hosts 0 and 64 are taken, the nearer one for each \
         node, and nodes that are as near to both alternate, so that each has 64. `balanced` is the assignment of `optiq_file_write_at_all`: equal \
         parts of the file for all I/O hosts. Links to the storage, 2 GB/s each, are no part of the aggregation. The last column is \
         what no execution of the plan can exceed, and with planner `optimal` no other plan by more than 1 %: where it is too low, \
         the assignment is the limit. The topologies are in `data/published.toml`.",
        hacc.demands,
        units::format_bytes_rounded_binary(8.0 * 750e3)
    ));
    notes.push(
        "Measured on a real network, with and without writing: [io.md](io.md), made by `cargo xtask results --only io`.".into(),
    );
    Ok(Findings::new(AGGREGATION, rows, notes).with_plot(plot))
}

#[cfg(test)]
mod tests {
    use super::*;
    use optiq_net::NodeId;

    #[test]
    fn balanced_demands_are_all_bytes_but_those_that_are_there_already() {
        let net = Network::from_spec("torus:4x4,io=0+10").unwrap();
        let demands = balanced(&net, &[10; 16]).unwrap();
        // 80 bytes for each I/O host, 8 hosts' worth; its own 10 of them need no network.
        for io in [NodeId(0), NodeId(10)] {
            assert_eq!(demands.iter().filter(|d| d.dst == io).map(|d| d.bytes).sum::<u64>(), 70);
        }
        assert_eq!(most_received(&net, &demands), 7);
    }
}
