//! B16, B17 and B18: what placements and a throttle change (document 000, chapter 6).
//!
//! The document's two measurements (section 6.4) are made of each placement: 4 MiB of I/O after 128 ms beside 4 MiB of MPI after 500 us, and 4 KiB of MPI after
//! 500 us beside a checkpoint, which is 4 MiB of I/O without an interval.

use super::system::{IO, LARGE, Load, MODEL, MPI, Observed, Setup, interval, never_full, sampling, us};
use crate::claims::setting::Setting;
use crate::failure::Failure;
use crate::findings::{Cell, Column, Findings, Row, Verdict, column};
use optiq_net::NodeId;
use optiq_sim::Model;
use optiq_sim::jobs::allocation::JobHosts;
use optiq_sim::jobs::closed_queue::{ClosedQueue, Service};
use optiq_sim::jobs::sharing::MUCH;
use optiq_sim::jobs::statistics::Slowdown;
use std::collections::BTreeSet;

/// Samples of each node, and what comes before, of I/O: clients begin anywhere in their first interval.
const RARE: (u32, u32) = (2, 0);
/// The interval of that I/O.
const PAUSE: &str = "128ms";
/// Of MPI beside a checkpoint.
const SMALL: (u32, u32) = (30, 10);

/// Both measurements of a placement.
struct Placed {
    /// I/O beside MPI, and MPI beside a checkpoint.
    io: Observed,
    mpi: Observed,
    /// The parts of MPI's and of I/O's bytes on links with much of the other job, by routes alone.
    shared: [f64; 2],
}

impl Placed {
    fn measure(setting: &Setting, model: &Model, placement: &'static str, servers: &str) -> Result<Self, Failure> {
        let published = &setting.published.interference;
        let base = Setup { placement, servers: servers.into(), ..Setup::new(published) };
        setting.progress.now(format!("{placement}, {servers}: I/O beside MPI"));
        let io = Load::io("4MiB", PAUSE).measured(RARE.0, RARE.1);
        let first = base.clone().with_packets(LARGE).with_io(io).with_mpi(Load::mpi("4MiB", "500us"));
        let certificate = first.certificate(model)?;
        let pair = certificate.pairs.first().ok_or_else(|| Failure::Work("one job only".into()))?;
        let [io_shared, mpi_shared] = pair.sharing.parts_much();
        let io = first.run(model)?;
        setting.progress.now(format!("{placement}, {servers}: MPI beside a checkpoint"));
        let mpi = Load::mpi("4KiB", "500us").measured(SMALL.0, SMALL.1);
        let mpi = base.with_io(checkpoint("")).with_mpi(mpi).run(model)?;
        Ok(Placed { io, mpi, shared: [mpi_shared, io_shared] })
    }

    fn slowdowns(&self) -> Result<[Slowdown; 2], Failure> {
        Ok([self.io.slowdown(IO)?, self.mpi.slowdown(MPI)?])
    }

    /// Alone, beside the other, slowdown, interval: of I/O, then of MPI.
    fn cells(&self) -> Result<Vec<Cell>, Failure> {
        let mut cells = Vec::new();
        for (seen, job) in [(&self.io, IO), (&self.mpi, MPI)] {
            let slower = seen.slowdown(job)?.mean;
            cells.extend([us(&seen.alone(job)?.mean).into(), us(&seen.together(job)?.mean).into()]);
            cells.extend([slower.value.into(), interval(&slower)]);
        }
        Ok(cells)
    }

    fn packets(&self) -> u64 {
        self.io.packets + self.mpi.packets
    }
}

/// 4 MiB requests without an interval; `throttle` has keys of a window, each with a comma before it.
fn checkpoint(throttle: &str) -> Load {
    Load::new(format!("io-write,request=4MiB,think=0,jitter=5%{throttle}"))
}

const PLACEMENTS: &[Column] = &[
    column("placement", "placement", 0),
    column("I/O leaf switches", "io_leaves", 0),
    column("I/O alone, us", "io_alone_mean_microseconds", 1),
    column("beside MPI, us", "io_together_mean_microseconds", 1),
    column("slowdown", "io_slowdown_mean", 3),
    column("95 %", "io_slowdown_mean_interval", 0),
    column("MPI alone, us", "mpi_alone_mean_microseconds", 2),
    column("beside a checkpoint, us", "mpi_together_mean_microseconds", 2),
    column("MPI's slowdown", "mpi_slowdown_mean", 3),
    column("MPI, 95 %", "mpi_slowdown_mean_interval", 0),
    column("I/O's bytes that meet MPI, %", "io_bytes_shared_percent", 4),
    column("MPI's that meet I/O, %", "mpi_bytes_shared_percent", 4),
];

/// B16: job placements, and where I/O's leaf switches are.
pub fn placements(setting: &Setting) -> Result<Findings, Failure> {
    let published = &setting.published.interference;
    let model = Model::read(MODEL)?;
    let most = published.b16.slowdown_percent_max;
    let (mut rows, mut packets) = (Vec::new(), 0);
    for (placement, leaves) in [
        ("random-switch", "congruent"),
        ("random-switch", "adjacent"),
        ("random-switch", "random"),
        ("random-node", "congruent"),
    ] {
        let seen =
            Placed::measure(setting, &model, placement, &format!("isolated-target:{}:{leaves}", published.servers))?;
        packets += seen.packets();
        let mut cells: Vec<Cell> = vec![placement.into(), leaves.into()];
        cells.extend(seen.cells()?);
        cells.extend([seen.shared[1] * 100.0, seen.shared[0] * 100.0].map(Cell::from));
        let slower = seen.slowdowns()?.map(|s| (s.mean.value - 1.0) * 100.0);
        let verdict = match (placement, leaves) {
            ("random-switch", "congruent") => separated(slower, seen.shared, most),
            _ => Verdict::NotJudged,
        };
        rows.push(Row::new(cells, verdict));
    }
    let [io, mpi] = published.b16.random_node_percent;
    let notes = vec![
        format!(
            "Published: random-switch about no slowdown, random-node {io} % for I/O and {mpi} % for MPI. The document does not say on which leaf switches I/O \
             is; under its routing that decides what is shared, so congruent ones (the same place in each pod) are judged, and all are shown. Band: below {most} % \
             for both jobs, and below 1 % of the bytes of each on links with much of the other by the tables alone (`optiq interfere`, decision 036): confirmations of 32 \
             bytes are always among them. A first run asked for no bytes at all, and such confirmations alone made it not shown."
        ),
        how_placed(),
        sampling("Each placement is one draw.", packets),
    ];
    Ok(Findings::new(PLACEMENTS, rows, notes))
}

/// How much of what was published is simulated of a placement.
fn how_placed() -> String {
    format!(
        "I/O of 4 MiB after {PAUSE} has {} samples of each node, without a warm-up, in packets of 32 KiB in place of 4 KiB (b10.md has what that changes); MPI of 4 KiB has {}, in packets of 4 KiB.",
        RARE.0, SMALL.0
    )
}

/// Whether two jobs are kept apart, by slowdowns in per cent and by the routes alone.
fn separated([io, mpi]: [f64; 2], shared: [f64; 2], most: f64) -> Verdict {
    // Confirmations of 32 bytes lead back from every receiver; they are far below this part, and so is a flow of data above it.
    let certified = shared.iter().all(|&part| part < MUCH);
    Verdict::of(io < most && mpi < most && certified, || {
        let tables = if certified {
            "and the tables say that they share confirmations at most"
        } else {
            "and the tables say that they share links for data"
        };
        format!("I/O is {io:.1} % slower, MPI {mpi:.1} %, {tables}")
    })
}

const SERVERS: &[Column] = &[
    column("servers", "servers", 0),
    column("I/O alone, us", "io_alone_mean_microseconds", 1),
    column("beside MPI, us", "io_together_mean_microseconds", 1),
    column("slowdown", "io_slowdown_mean", 3),
    column("95 %", "io_slowdown_mean_interval", 0),
    column("MPI alone, us", "mpi_alone_mean_microseconds", 2),
    column("beside a checkpoint, us", "mpi_together_mean_microseconds", 2),
    column("MPI's slowdown", "mpi_slowdown_mean", 3),
    column("MPI, 95 %", "mpi_slowdown_mean_interval", 0),
    column("level-2 switches downward", "level_2_switches_downward", 0),
    column("published", "published_level_2_switches_downward", 0),
];

/// B17: where I/O servers are.
pub fn servers(setting: &Setting) -> Result<Findings, Failure> {
    let published = &setting.published.interference;
    let model = Model::read(MODEL)?;
    let (mut rows, mut packets, mut times) = (Vec::new(), 0, Vec::new());
    let count = published.servers;
    let rules = ["spread-target:{}", "isolated-target:{}:congruent", "random-target:{}"];
    let rules = rules.map(|rule| rule.replace("{}", &count.to_string()));
    for rule in &rules {
        let seen = Placed::measure(setting, &model, "random-node", rule)?;
        packets += seen.packets();
        times.push([us(&seen.io.together(IO)?.mean), us(&seen.mpi.together(MPI)?.mean)]);
        let base = Setup::new(published).with_io(checkpoint("").measured(1, 0));
        let (network, allocation) = Setup { servers: rule.clone(), ..base }.io_hosts(&model)?;
        let used = allocation.jobs.first().map_or(Ok(0), |job| downward_switches(&network, job))?;
        let is_spread = rule.starts_with("spread");
        let mut cells: Vec<Cell> = vec![rule.as_str().into()];
        cells.extend(seen.cells()?);
        cells.push(used.into());
        cells.push(if is_spread { published.b17.level_2_switches.into() } else { Cell::Nothing });
        let exact = used == published.b17.level_2_switches;
        let verdict = if is_spread { Verdict::of(exact, || format!("{used} switches")) } else { Verdict::NotJudged };
        rows.push(Row::new(cells, verdict));
    }
    best_of_all(&mut rows, &times);
    let notes = vec![
        "Judged: with spread-target both jobs take less time beside the other one than with either of the other placements, and exactly 4 of the 72 level-2 switches \
         carry data down to servers, counted over the routes of all clients to all servers."
            .into(),
        how_placed(),
        sampling("Each placement is one draw.", packets),
    ];
    Ok(Findings::new(SERVERS, rows, notes))
}

/// Judges the first row, the others being what it is to be better than.
fn best_of_all(rows: &mut [Row], times: &[[f64; 2]]) {
    let (Some(row), Some((first, others))) = (rows.first_mut(), times.split_first()) else { return };
    let worse = |job: usize| others.iter().any(|other| other[job] <= first[job]);
    let losers: Vec<&str> =
        [("I/O", 0), ("MPI", 1)].into_iter().filter(|(_, job)| worse(*job)).map(|(name, _)| name).collect();
    if let (Verdict::Shown, false) = (&row.verdict, losers.is_empty()) {
        row.verdict = Verdict::NotShown(format!("{} is faster with another placement", losers.join(" and ")));
    }
}

/// How many level-2 switches have a channel down to a leaf switch on the way of a client's data to a server.
fn downward_switches(network: &optiq_net::Network, job: &JobHosts) -> Result<usize, Failure> {
    let shape = network.switched_shape().ok_or_else(|| Failure::Work("a network of switches is expected".into()))?;
    let (mut used, mut route) = (BTreeSet::<NodeId>::new(), Vec::new());
    for &client in &job.hosts {
        for &server in &job.servers {
            network.route(client, server, &mut route)?;
            let links = route.iter().map(|&id| network.link(id));
            used.extend(links.filter(|l| shape.level(l.from) == 2 && shape.level(l.to) == 1).map(|l| l.from));
        }
    }
    Ok(used.len())
}

const THROTTLE: &[Column] = &[
    column("window", "window", 0),
    column("counts from", "window_from", 0),
    column("4.3 GB take, s", "checkpoint_seconds", 3),
    column("more, %", "cost_percent", 1),
    column("closed queue, %", "closed_queue_cost_percent", 1),
    column("published, %", "published_cost_percent", 1),
    column("MPI, us", "mpi_mean_microseconds", 2),
    column("MPI is faster", "mpi_times_faster", 2),
    column("published at least", "published_mpi_times_faster", 1),
];

/// A window as text, where it counts from, its keys in a program, and its seconds where it is one from completion to start.
type Window = (&'static str, &'static str, &'static str, f64);

const WINDOWS: [Window; 3] = [
    ("none", "", "", 0.0),
    ("2 ms", "start to start", ",window=2ms", 0.0),
    ("2 ms", "completion to start", ",window=2ms,window-from=completion", 2e-3),
];
/// Of the checkpoint, samples of each node, and what comes before.
const OF_CHECKPOINT: (u32, u32) = (8, 3);

/// B18: a throttle, with both readings of its window; besides, what it costs where buffers never fill.
pub fn throttle(setting: &Setting) -> Result<Findings, Failure> {
    let published = &setting.published.interference;
    let model = Model::read(MODEL)?;
    let roomy = never_full(&model);
    let (mut rows, mut packets, mut free) = (Vec::new(), 0, None);
    let requests = published.b18.total_bytes / f64::from(4u32 << 20);
    let of_io = OF_CHECKPOINT;
    let runs = WINDOWS.map(|window| (window, &model)).into_iter();
    for ((window, from, keys, seconds), of_run) in runs.chain([(WINDOWS[0], &roomy), (WINDOWS[2], &roomy)]) {
        let is_roomy = of_run != &model;
        let buffers = if is_roomy { ", buffers that never fill" } else { "" };
        setting.progress.now(format!("a checkpoint with window {window} {from}{buffers}"));
        if keys.is_empty() {
            free = None;
        }
        let io = checkpoint(keys).measured(of_io.0, of_io.1);
        let mpi = Load::mpi("4KiB", "500us").measured(SMALL.0, SMALL.1);
        let base = Setup::new(published);
        let seen = base.with_io(io).with_mpi(mpi).run_together(of_run)?;
        packets += seen.packets;
        let (cycle, mpi) = (seen.cycle_seconds(IO)?, us(&seen.together(MPI)?.mean));
        let (cycle_free, mpi_free) = *free.get_or_insert((cycle, mpi));
        let (cost, faster) = ((cycle / cycle_free - 1.0) * 100.0, mpi_free / mpi);
        let theory = (queue(setting).cost_of_window(seconds) - 1.0) * 100.0;
        let judged = seconds > 0.0 && !is_roomy;
        let verdict = if judged { throttled(setting, cost, faster) } else { Verdict::NotJudged };
        let mut cells: Vec<Cell> = vec![format!("{window}{buffers}").into(), from.into()];
        cells.extend([cycle * requests, cost, theory].map(Cell::from));
        cells.push(if judged { published.b18.cost_percent.into() } else { Cell::Nothing });
        cells.extend([mpi.into(), faster.into()]);
        cells.push(if judged { published.b18.mpi_times_faster.into() } else { Cell::Nothing });
        rows.push(Row::new(cells, verdict));
    }
    let notes = vec![
        format!(
            "The text defines the window from start to start, with which 2 ms change nothing, as a request takes longer than that already; from completion to \
             start is judged: a cost within a third of {} %, and MPI at least {} times as fast as without a throttle. Elsewhere the text has a cost of {} %.",
            published.b18.cost_percent_asked, published.b18.mpi_times_faster, published.b18.cost_percent_text
        ),
        "With buffers that never fill, which no example of CODES has, there is no back-pressure, and the queues are those of the servers alone: the last two rows say how \
         much of the difference to the closed queue that is (as in b10.md). Where a request waits for others in the network too, it takes longer without a \
         window, and a pause of 2 ms is less of that."
            .into(),
        format!(
            "4.3 GB a client are {requests:.0} requests of 4 MiB, of which {} after {} were simulated; their mean time from start to start stands for all.",
            of_io.0, of_io.1
        ),
        sampling(
            &format!("MPI has {} samples of each node. Packets are of 4 KiB, as the machine's.", SMALL.0),
            packets,
        ),
    ];
    Ok(Findings::new(THROTTLE, rows, notes))
}

fn queue(setting: &Setting) -> ClosedQueue {
    let published = &setting.published.interference;
    ClosedQueue {
        clients: f64::from(published.clients) / f64::from(published.servers),
        servers: 1,
        think_seconds: 0.0,
        service_seconds: f64::from(4u32 << 20) / published.link_bytes_per_second,
        service: Service::Shared,
    }
}

fn throttled(setting: &Setting, cost: f64, faster: f64) -> Verdict {
    let asked = &setting.published.interference.b18;
    let near = (cost / asked.cost_percent_asked - 1.0).abs() <= asked.within_part;
    Verdict::of(near && faster >= asked.mpi_times_faster, || {
        format!("the checkpoint takes {cost:.1} % longer, and MPI is {faster:.2} times as fast")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::progress::Progress;
    use crate::published::Published;

    #[test]
    fn four_of_72_level_2_switches_lead_down_to_spread_servers() {
        let published = Published::load().unwrap().interference;
        let model = Model::read(MODEL).unwrap();
        for (rule, expected) in [("spread-target:72", 4), ("isolated-target:72:congruent", 72)] {
            let base = Setup::new(&published).with_io(checkpoint("").measured(1, 0));
            let (network, allocation) = Setup { servers: rule.into(), ..base }.io_hosts(&model).unwrap();
            assert_eq!(downward_switches(&network, &allocation.jobs[0]).unwrap(), expected, "{rule}");
        }
    }

    #[test]
    fn the_best_must_be_best_for_both() {
        let row = |verdict| Row::new(Vec::new(), verdict);
        let judged = |times: &[[f64; 2]]| {
            let mut rows = vec![row(Verdict::Shown), row(Verdict::NotJudged), row(Verdict::NotJudged)];
            best_of_all(&mut rows, times);
            rows[0].verdict.sentence()
        };
        assert_eq!(judged(&[[1.0, 1.0], [2.0, 2.0], [1.5, 3.0]]), "shown");
        assert_eq!(judged(&[[1.0, 2.0], [2.0, 2.0], [1.5, 3.0]]), "not shown: MPI is faster with another placement");
    }

    #[test]
    fn both_slowdowns_and_the_tables_must_agree() {
        assert_eq!(separated([2.9, 0.0], [32.0 / 4e6, 0.0], 3.0), Verdict::Shown);
        assert!(matches!(separated([3.0, 0.0], [0.0; 2], 3.0), Verdict::NotShown(_)));
        assert!(matches!(separated([0.0, 0.0], [0.1, 0.0], 3.0), Verdict::NotShown(_)));
    }

    /// 24 hosts on leaves of two: eight clients of three servers and as many of MPI.
    fn small() -> Published {
        let mut published = Published::load().unwrap();
        published.interference.network = "fattree:2x3x4:1x2x3,capacity=12.5GB/s".into();
        (published.interference.clients, published.interference.servers) = (8, 3);
        published
    }

    /// What must hold whatever the figures are: no message is faster than a wire, and clients that are always at one of three links have a third of
    /// eight before them.
    #[test]
    fn a_small_system_runs() {
        let model = Model::read(MODEL).unwrap();
        let base = Setup { servers: "spread-target:3".into(), ..Setup::new(&small().interference) };
        let io = checkpoint("").measured(10, 3);
        let mpi = Load::mpi("4KiB", "20us").measured(10, 3);
        let seen = base.with_io(io).with_mpi(mpi).run(&model).unwrap();
        let cycle = seen.cycle_seconds(IO).unwrap();
        let least = f64::from(4u32 << 20) / 12.5e9 * 8.0 / 3.0;
        assert!(cycle >= least * 0.999 && cycle < least * 3.0, "{cycle} {least}");
        assert!(us(&seen.alone(MPI).unwrap().mean) > 4096.0 / 12.5e3);
        assert_eq!(seen.alone(MPI).unwrap().samples, 80);
    }

    /// A whole claim in small: a throttle with both readings of its window. From start to start 2 ms are longer than any request here takes, so both cost, and
    /// from completion to start more: at least the window and the wire.
    #[test]
    fn a_small_throttle_runs() {
        let published = small();
        let progress = Progress::new(&|_| ());
        let setting = Setting {
            published: &published,
            nodes: None,
            repetitions: 1,
            scale: None,
            packets: None,
            cases: &[],
            progress: &progress,
        };
        let found = throttle(&setting).unwrap();
        let number = |row: usize, column: usize| match &found.rows[row].cells[column] {
            Cell::Number(n) => *n,
            other => panic!("{other:?}"),
        };
        let requests = published.interference.b18.total_bytes / f64::from(4u32 << 20);
        assert_eq!(found.rows.len(), 5);
        assert!(number(1, 3) > 0.0 && number(2, 3) > number(1, 3), "{}", found.text());
        assert!(number(2, 2) > requests * (2e-3 * 0.95 + f64::from(4u32 << 20) / 12.5e9), "{}", found.text());
        assert!(found.rows[0].verdict == Verdict::NotJudged && found.columns.len() == found.rows[2].cells.len());
    }
}
