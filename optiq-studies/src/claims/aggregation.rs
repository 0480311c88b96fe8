//! O19: what HACC I/O writes, gathered at bridge nodes (thesis 6.5.3), simulated and in a lab (`aggregation_in_lab`).
//!
//! The thesis does not say which nodes are whose bridge node's. Each goes to the nearest here, and where several are as near the rule
//! decides; so other rules stand beside it, to see what rests on it.

use super::aggregation_in_lab;
use super::baselines::{self, Strongest};
use super::machine::{Machine, Measured, STRONGEST_SETUP, Scale, TIMES_STRONGEST};
use super::setting::Setting;
use crate::compared_method::ComparedMethod;
use crate::failure::Failure;
use crate::findings::{Cell, Column, Findings, Row, Verdict, column};
use crate::plot::{Plot, PlotKind};
use optiq::io::{Assignment, Extent, Servers, assign};
use optiq_lower::placement::Placement;
use optiq_net::random::SplitMix64;
use optiq_net::{Network, units};
use optiq_solver::Demand;
use optiq_solver::demands;
use optiq_solver::planner::PlannerName;

/// All bytes of HACC I/O, in packets of 4 KiB. With fewer bytes the executor comes closer to its link bound.
const AGGREGATED: Scale = Scale { bytes: 1, packets: 8 };

/// Of the hosts that choose at random.
const SEED: u64 = 19;

const AGGREGATION: &[Column] = &[
    column("nodes", "nodes", 0),
    column("cores", "cores", 0),
    column("assignment", "assignment", 0),
    column("planner", "planner", 0),
    column("most hosts of an I/O host", "hosts_of_io_host_max", 0),
    column("GB/s", "gigabytes_per_second", 2),
    column("times MPI", "times_mpi", 2),
    STRONGEST_SETUP,
    TIMES_STRONGEST,
    column("link bound, ms", "link_bound_milliseconds", 2),
    column("ms", "milliseconds", 2),
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

/// Which I/O host a host takes where several are as near.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ties {
    /// The one of the lowest number.
    First,
    /// One at random.
    Random,
}

impl Ties {
    fn name(self) -> &'static str {
        match self {
            Ties::First => "default, ties to the first",
            Ties::Random => "default, ties at random",
        }
    }

    /// Demands to default I/O hosts, with this rule in place of [`Network::default_io_host`]'s.
    fn apply(self, net: &Network, demands: &[Demand]) -> Vec<Demand> {
        let nearest = net.nearest_io_hosts();
        let mut random = SplitMix64::new(SEED);
        let choose = |d: &Demand| {
            let nearest = &nearest[d.src.index()];
            let number = match self {
                Ties::First => 0,
                Ties::Random => random.below(nearest.len() as u64) as usize,
            };
            Demand { dst: nearest[number], ..*d }
        };
        demands.iter().map(choose).collect()
    }
}

/// How one assignment of hosts to I/O hosts did.
#[derive(Clone)]
struct Assigned {
    assignment: &'static str,
    /// The most hosts of an I/O host.
    hosts_most: u64,
    measured: Measured,
}

impl Assigned {
    /// A row without its verdict.
    fn cells(&self, net: &Network, cores_per_node: usize) -> Vec<Cell> {
        let m = &self.measured;
        let [setup, times_strongest] = m.beside_the_strongest();
        let [bound, took, share] = m.beside_the_bound();
        vec![
            net.hosts().into(),
            (net.hosts() * cores_per_node).into(),
            self.assignment.into(),
            m.method.as_str().into(),
            self.hosts_most.into(),
            m.gigabytes.into(),
            m.times_mpi.into(),
            setup,
            times_strongest,
            bound,
            took,
            share,
            (m.times_mpi / m.share_of_bound).into(),
        ]
    }
}

/// The thesis's rule.
const DEFAULT: &str = "default";
/// Equal parts of the file for all I/O hosts.
const BALANCED: &str = "balanced";

/// The thesis's assignment with MPI and both planners, this project's with planner `optimal`, against MPI with the thesis's, and the
/// thesis's with other rules for ties.
fn assignments(machine: &Machine, net: &Network, demands: &str) -> Result<Vec<Assigned>, Failure> {
    let full = demands::parse(demands, net, 0)?;
    let by_default = machine.scaled(full);
    let what = format!("HACC I/O on {} nodes", net.hosts());
    let planners = [PlannerName::Heuristic2, PlannerName::Optimal];
    let compare = |assignment, demands: &[Demand]| -> Result<Vec<Assigned>, Failure> {
        let hosts_most = most_received(net, demands);
        let measured = machine.compare_with_strongest(net, demands, &planners, &format!("{what}, {assignment}"))?;
        Ok(measured.into_iter().map(|measured| Assigned { assignment, hosts_most, measured }).collect())
    };
    let default = compare(DEFAULT, &by_default)?;
    let mut found = default.clone();
    for ties in [Ties::First, Ties::Random] {
        let demands = ties.apply(net, &by_default);
        if demands == by_default {
            // No host has a choice: the same exchange, which need not be simulated again.
            found.extend(default.iter().map(|one| Assigned { assignment: ties.name(), ..one.clone() }));
        } else {
            found.extend(compare(ties.name(), &demands)?);
        }
    }
    // The I/O hosts' own bytes, which demands do not contain, are of the mean size here.
    let mean = by_default.iter().map(|d| d.bytes).sum::<u64>() / by_default.len().max(1) as u64;
    let mut bytes = vec![mean; net.hosts()];
    by_default.iter().for_each(|d| bytes[d.src.index()] = d.bytes);
    let demands = balanced(net, &bytes)?;
    let hosts_most = most_received(net, &demands);
    if let Some(m) = machine.compare(net, &demands, &[PlannerName::Optimal], &what)?.pop() {
        // Against MPI to the default I/O hosts, as the others; by throughput, as not all bytes need the network in both assignments.
        let mpi = &default[0].measured;
        let times_mpi = m.gigabytes / mpi.gigabytes;
        let seconds = m.gigabytes * m.seconds / mpi.strongest_gigabytes();
        let strongest = mpi.strongest.map(|strongest| Strongest { seconds, ..strongest });
        found.push(Assigned { assignment: BALANCED, hosts_most, measured: Measured { times_mpi, strongest, ..m } });
    }
    Ok(found)
}

/// What the lab adds; a row that says why where there is none.
fn lab_rows(setting: &Setting, least: f64) -> Result<(Vec<Row>, Option<String>), Failure> {
    Ok(match aggregation_in_lab::in_lab(setting, least)? {
        Ok((rows, note)) => (rows, Some(note)),
        Err(why) => {
            let mut cells = vec![Cell::Nothing; AGGREGATION.len()];
            cells[2] = "in the lab".into();
            (vec![Row::new(cells, Verdict::NotShown(format!("HACC I/O in the lab: not run: {why}")))], None)
        }
    })
}

/// O19: HACC I/O.
pub fn claim(setting: &Setting) -> Result<Findings, Failure> {
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
        for one in &found {
            let Assigned { assignment, measured: m, .. } = one;
            // The thesis's method, and this project's.
            let is_published = *assignment == DEFAULT && m.method == ComparedMethod::Planned(PlannerName::Heuristic2);
            let judged = machine.judged && (is_published || *assignment == BALANCED);
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
            match *assignment {
                DEFAULT => plot.set("", m.method.as_str(), place, m.gigabytes),
                BALANCED => plot.set("", &format!("{}, {assignment}", m.method), place, m.gigabytes),
                _ => {}
            }
            rows.push(Row::new(one.cells(net, hacc.cores_per_node), verdict));
        }
    }
    let mut notes = Vec::new();
    // The whole claim alone is worth a lab.
    if machine.judged && setting.nodes.is_none() {
        let (in_lab, note) = lab_rows(setting, least)?;
        rows.extend(in_lab);
        notes.extend(note);
    }
    notes.push(baselines::note(nets.iter().map(Network::hosts).max().unwrap_or(0)));
    if let Some(net) = nets.first() {
        let what = format!("HACC I/O on {} nodes", net.hosts());
        notes.extend(machine.note(net, &demands::parse(&hacc.demands, net, 0)?, &what)?);
    }
    notes.push(format!(
        "Demands `{}`: each node's {} go to its default I/O host, as in the thesis, whose planner is heuristic 2. The thesis does \
         not say which nodes of 128 are the bridge nodes, nor which nodes are whose; hosts 0 and 64 are taken, the nearer one for each \
         node, and nodes that are as near to both alternate, so that each has 64. Rows with `ties` have another rule for these, beside MPI with the \
         same: the one of the lower number, or one at random (seed {SEED}). `balanced` is the assignment of `optiq_file_write_at_all`: equal \
         parts of the file for all I/O hosts. Links to the storage, 2 GB/s each, are no part of the aggregation. The last column is \
         what no execution of the plan can exceed, and with planner `optimal` no other plan by more than 1 %: where it is too low, \
         the assignment is the limit. The topologies are in `data/published.toml`.",
        hacc.demands,
        units::format_bytes_rounded_binary(8.0 * 750e3)
    ));
    notes.push(
        "Measured on a real network with other sizes and with files: [io.md](io.md), made by `cargo xtask results --only io`.".into(),
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

    #[test]
    fn ties_are_broken_by_the_rule() {
        // Hosts 1 and 3 are as near to 0 as to 2.
        let net = Network::from_spec("torus:4,io=0+2").unwrap();
        let demands: Vec<Demand> = [(1, 0), (3, 2)].map(|(from, to)| Demand::new(NodeId(from), NodeId(to), 5)).into();
        let to = |demands: Vec<Demand>| demands.iter().map(|d| d.dst.0).collect::<Vec<_>>();
        assert_eq!(to(Ties::First.apply(&net, &demands)), [0, 0]);
        assert!(to(Ties::Random.apply(&net, &demands)).iter().all(|io| [0, 2].contains(io)));
        // Host 1 of a ring of eight is nearer to 0 than to 4, whatever the rule.
        let net = Network::from_spec("torus:8,io=0+4").unwrap();
        let demands = [Demand::new(NodeId(1), NodeId(0), 5)];
        assert_eq!(to(Ties::Random.apply(&net, &demands)), [0]);
    }
}
