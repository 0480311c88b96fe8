//! Mira whole: 49,152 nodes, 8 MiB and 256 KiB for each pair, with the machine's packets of 512 bytes and with packets of 4,096, so that
//! what larger packets change is known where they are used at smaller scale.
//!
//! A run takes hours. So each keeps a checkpoint every five minutes, in a folder of the target folder that is named by the commit; the study
//! goes on from there when it is started again at the same commit, and what a run found is kept beside it. Results are the same with
//! any number of interruptions (decision 020), and the page says how many there were.
//!
//! No exchange is faster than its link bound; so what was simulated by the first checkpoint says how long a run takes at least. One that
//! takes longer than `LONGEST` is left out, and its row says how long it would have taken: 8 MiB along planned paths with packets of 512
//! bytes are 6 thousand million packets to forward, and the same with 256 KiB stands beside it.

use crate::claims::setting::{MESSAGE, with_planner};
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::workspace::Workspace;
use optiq_files::{input, output};
use optiq_net::Network;
use optiq_sim::jobs::parallel::in_parallel;
use optiq_sim::simulated_exchange::method::{Executor, MpiAlgorithm, TransferMethod};
use optiq_sim::simulated_exchange::run::{ExchangeSetting, SimulatedRun};
use optiq_sim::{Checkpoints, Limits, Model, RunOptions};
use optiq_solver::demands::{self, Demand};
use optiq_solver::pipeline::{self, Planned};
use optiq_solver::planner::PlannerName;
use optiq_transport::ScheduleOptions;
use optiq_view::table;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Mira's 48 racks.
const TOPOLOGY: &str = "torus:8x12x16x16x2,capacity=1.8GB/s,routing=bgq";
const DEMANDS: &str = "pattern:disjoint";
/// The machine; its packets have 512 bytes.
const MODEL: &str = "bgq";
/// The other size of packets is this many times the machine's, with buffers for as many of them.
const TIMES: u64 = 8;
/// Of each pair, in bytes.
const MESSAGES: [u64; 2] = [MESSAGE, MESSAGE / 32];
/// Runs that are simulated at one time, each on a thread; a state is gigabytes.
const AT_A_TIME: usize = 2;
/// From one checkpoint to the next.
const EVERY: Duration = Duration::from_secs(300);
/// A run of which the first checkpoint says that it takes longer is left out.
const LONGEST: Duration = Duration::from_secs(3 * 3600);
/// The largest file with what a run found, in bytes.
const MOST: u64 = 1 << 16;

/// Who moves the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MovedBy {
    /// MPI, all messages at once.
    Mpi,
    /// OPTIQ, along planned paths.
    Planned,
}

impl MovedBy {
    fn name(self) -> &'static str {
        match self {
            MovedBy::Mpi => "MPI, all at once",
            MovedBy::Planned => "planned paths",
        }
    }
}

/// What a simulation took, in all starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    simulation_seconds: f64,
    checkpoints: u32,
    /// Of the largest one.
    checkpoint_bytes: u64,
    /// How often it went on from one.
    resumed: u32,
}

/// What one simulation found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WholeRun {
    moved_by: MovedBy,
    message_bytes: u64,
    packet_bytes: u64,
    /// What the exchange takes; nothing of a run that was left out.
    seconds: Option<f64>,
    /// How long the simulation of one that was left out would have taken at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    needed_seconds: Option<f64>,
    link_bound_seconds: f64,
    packets: u64,
    events: u64,
    effort: Effort,
}

/// What was simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WholeMachineContent {
    topology: String,
    demands: String,
    nodes: usize,
    pairs: usize,
    /// Of the plan's congestion to the proved bound, and what it took.
    plan_gap: f64,
    planning_seconds: f64,
    runs: Vec<WholeRun>,
}

/// What is kept of a run beside its checkpoint.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Kept {
    effort: Effort,
    /// When it has come to its end, or was left out.
    found: Option<WholeRun>,
}

/// The files of one run.
struct Files {
    checkpoint: PathBuf,
    kept: PathBuf,
}

impl Files {
    fn of(folder: &Path, case: Case, packet_bytes: u64) -> Self {
        let name = match case.moved_by {
            MovedBy::Mpi => "mpi",
            MovedBy::Planned => "planned",
        };
        let file = |end: &str| folder.join(format!("{name}-{}-{packet_bytes}.{end}", case.message_bytes));
        Files { checkpoint: file("checkpoint"), kept: file("json") }
    }

    /// What is kept; nothing if nothing is.
    fn read(&self) -> Result<Kept, Failure> {
        if !self.kept.is_file() {
            return Ok(Kept::default());
        }
        let damaged = |why: String| Failure::Work(format!("{}: {why}", self.kept.display()));
        let text = input::read(&self.kept, MOST).map_err(|e| damaged(e.to_string()))?;
        serde_json::from_slice(&text).map_err(|e| damaged(e.to_string()))
    }

    fn write(&self, kept: &Kept) -> Result<(), String> {
        let text = serde_json::to_vec_pretty(kept).map_err(|e| e.to_string())?;
        keep(&self.kept, &text)
    }
}

/// Puts bytes in place of a file, whole or not at all.
fn keep(path: &Path, bytes: &[u8]) -> Result<(), String> {
    use std::io::Write;
    output::write(path, 0o644, |file| file.write_all(bytes)).map_err(|e| format!("{}: {e}", path.display()))
}

/// One of the runs.
#[derive(Clone, Copy, Debug)]
struct Case {
    moved_by: MovedBy,
    message_bytes: u64,
    /// How much larger packets are than the machine's.
    times: u64,
}

/// Those that take longest first, as two run at one time, but the one that is likely to be left out at the end.
fn cases() -> [Case; 8] {
    let case = |(message_bytes, moved_by, times)| Case { moved_by, message_bytes, times };
    let [long, short] = MESSAGES;
    [
        (long, MovedBy::Mpi, 1),
        (long, MovedBy::Planned, TIMES),
        (short, MovedBy::Planned, 1),
        (long, MovedBy::Mpi, TIMES),
        (short, MovedBy::Mpi, 1),
        (short, MovedBy::Planned, TIMES),
        (short, MovedBy::Mpi, TIMES),
        (long, MovedBy::Planned, 1),
    ]
    .map(case)
}

/// Messages of one size, and where they go.
struct Load {
    message_bytes: u64,
    demands: Vec<Demand>,
    planned: Planned,
}

/// What all runs have in common.
struct Subject {
    net: Network,
    loads: Vec<Load>,
    folder: PathBuf,
}

impl Subject {
    fn new(topology: &str, messages: &[u64], folder: &Path) -> Result<Self, Failure> {
        let net = Network::from_spec(topology)?;
        let load = |&message_bytes: &u64| {
            let demands = demands::parse(DEMANDS, &net, message_bytes)?;
            let planned = pipeline::run(&net, &demands, &with_planner(PlannerName::Optimal))?;
            Ok(Load { message_bytes, demands, planned })
        };
        let loads = messages.iter().map(load).collect::<Result<_, Failure>>()?;
        Ok(Subject { net, loads, folder: folder.to_owned() })
    }

    /// One run, from its checkpoint if there is one; what it found before if it had come to its end.
    fn run(&self, case: Case) -> Result<WholeRun, Failure> {
        let mut model = Model::read(MODEL)?;
        model.enlarge_packets(case.times);
        let packet_bytes = model.link.packet_bytes;
        let files = Files::of(&self.folder, case, packet_bytes);
        let name = format!("{}, {} bytes, packets of {packet_bytes}", case.moved_by.name(), case.message_bytes);
        loop {
            let Kept { effort, found } = files.read()?;
            if let Some(found) = found {
                log::info!("{name}: known");
                return Ok(found);
            }
            let started = effort == Effort::default();
            log::info!("{name}: {}", if started { "begins" } else { "goes on" });
            let (run, effort) = self.go_on(&model, case, (&files, effort), started.then_some(EVERY))?;
            // At the rate so far the link bound alone takes this long.
            let needed = effort.simulation_seconds * run.link_bound / run.seconds();
            let is_left_out = !run.finished() && needed > LONGEST.as_secs_f64();
            if !run.finished() && !is_left_out {
                continue;
            }
            let found = WholeRun {
                moved_by: case.moved_by,
                message_bytes: case.message_bytes,
                packet_bytes,
                seconds: (!is_left_out).then(|| run.seconds()),
                needed_seconds: is_left_out.then_some(needed),
                link_bound_seconds: run.link_bound,
                packets: run.exchanged.outcome.packets,
                events: run.exchanged.outcome.events,
                effort,
            };
            files.write(&Kept { effort, found: Some(found) }).map_err(Failure::Work)?;
            // What it found is kept; the state on the way is gigabytes.
            let _ = fs::remove_file(&files.checkpoint);
        }
    }

    /// To the end, or for a while; with what it took in all starts, of which `effort` is what the earlier ones took.
    fn go_on(
        &self,
        model: &Model,
        case: Case,
        (files, mut effort): (&Files, Effort),
        wall: Option<Duration>,
    ) -> Result<(SimulatedRun, Effort), Failure> {
        let resume = match files.checkpoint.is_file() {
            true => Some(optiq_sim::read_checkpoint(&files.checkpoint)?),
            false => None,
        };
        effort.resumed += u32::from(resume.is_some());
        let (started, before) = (Instant::now(), effort.simulation_seconds);
        let effort = Mutex::new(effort);
        let elapsed = || before + started.elapsed().as_secs_f64();
        let store = |bytes: &[u8]| {
            let mut effort = effort.lock().map_err(|e| e.to_string())?;
            effort.checkpoints += 1;
            effort.checkpoint_bytes = effort.checkpoint_bytes.max(bytes.len() as u64);
            effort.simulation_seconds = elapsed();
            keep(&files.checkpoint, bytes)?;
            files.write(&Kept { effort: *effort, found: None })
        };
        let options = RunOptions {
            threads: 1,
            seed: 1,
            limits: Limits { wall, ..Limits::default() },
            checkpoints: Some(Checkpoints { every: Some(EVERY), keep: &store }),
            resume: resume.as_deref(),
            ..RunOptions::default()
        };
        let run = self.simulate(model, case, &options)?;
        let effort = *effort.lock().map_err(|e| Failure::Work(e.to_string()))?;
        Ok((run, Effort { simulation_seconds: elapsed(), ..effort }))
    }

    fn simulate(&self, model: &Model, case: Case, options: &RunOptions<'_>) -> Result<SimulatedRun, Failure> {
        let load = self.loads.iter().find(|load| load.message_bytes == case.message_bytes);
        let load = load.ok_or_else(|| Failure::Work(format!("no messages of {} bytes", case.message_bytes)))?;
        let executor = Executor::of(model);
        let setting = ExchangeSetting { network: &self.net, model, demands: &load.demands, executor };
        let method = match case.moved_by {
            MovedBy::Mpi => TransferMethod::Mpi(MpiAlgorithm::Linear),
            MovedBy::Planned => TransferMethod::Planned(Box::new(load.planned.clone()), ScheduleOptions::default()),
        };
        Ok(setting.prepare(method)?.simulate(options)?)
    }
}

/// Simulates for hours on two processors, from the checkpoints of an earlier start at the same commit if there are any.
///
/// # Errors
/// What planner and simulator report, and files that cannot be written.
pub fn run(workspace: &Workspace, commit: &str) -> Result<WholeMachineContent, Failure> {
    let folder = workspace.scratch(&format!("whole-machine/{commit}"));
    fs::create_dir_all(&folder).map_err(|e| Failure::Work(format!("{}: {e}", folder.display())))?;
    let start = Instant::now();
    let subject = Subject::new(TOPOLOGY, &MESSAGES, &folder)?;
    let planning_seconds = start.elapsed().as_secs_f64() / MESSAGES.len() as f64;
    log::info!("planned in {planning_seconds:.1} s; checkpoints are in {}", folder.display());
    // They do not need each other, and each has one thread.
    let cases = cases();
    let runs = in_parallel(AT_A_TIME, cases.len(), |number| subject.run(cases[number]));
    let mut runs = runs.into_iter().collect::<Result<Vec<_>, _>>()?;
    runs.sort_by_key(|run| (run.message_bytes, run.packet_bytes, run.moved_by == MovedBy::Planned));
    let plan = subject.loads.first().map(|load| (load.demands.len(), load.planned.plan.gap()));
    let (pairs, plan_gap) = plan.unwrap_or_default();
    Ok(WholeMachineContent {
        topology: TOPOLOGY.into(),
        demands: DEMANDS.into(),
        nodes: subject.net.hosts(),
        pairs,
        plan_gap,
        planning_seconds,
        runs,
    })
}

impl WholeMachineContent {
    /// Of the page.
    pub const TITLE: &'static str = "Mira whole, packet by packet";

    /// Bytes a second of a run.
    fn throughput(&self, run: &WholeRun) -> Option<f64> {
        Some(run.message_bytes as f64 * self.pairs as f64 / run.seconds?)
    }

    /// How long a run's exchange takes.
    fn seconds(&self, moved_by: MovedBy, message_bytes: u64, packet_bytes: u64) -> Option<f64> {
        let wanted = (moved_by, message_bytes, packet_bytes);
        self.runs.iter().find(|run| (run.moved_by, run.message_bytes, run.packet_bytes) == wanted)?.seconds
    }

    /// Times MPI with messages and packets of these sizes.
    fn gain(&self, message_bytes: u64, packet_bytes: u64) -> Option<f64> {
        let [mpi, planned] =
            [MovedBy::Mpi, MovedBy::Planned].map(|moved_by| self.seconds(moved_by, message_bytes, packet_bytes));
        Some(mpi? / planned?)
    }

    /// How far large packets are from small ones with messages of a size, in per cent: throughput of MPI and of planned paths, and the
    /// gain.
    fn errors(&self, message_bytes: u64) -> [Option<f64>; 3] {
        let sizes = self.runs.iter().map(|run| run.packet_bytes);
        let (Some(small), Some(large)) = (sizes.clone().min(), sizes.max()) else { return [None; 3] };
        let error = |of_large: Option<f64>, of_small: Option<f64>| Some((of_large? / of_small? - 1.0) * 100.0);
        let [mpi, planned] = [MovedBy::Mpi, MovedBy::Planned].map(|moved_by| {
            let seconds = |size| self.seconds(moved_by, message_bytes, size);
            error(seconds(small), seconds(large))
        });
        [mpi, planned, error(self.gain(message_bytes, large), self.gain(message_bytes, small))]
    }

    /// What large packets change, a line for each size of messages.
    fn errors_table(&self) -> TextTable {
        let mut table =
            TextTable::new(&["message, bytes", "throughput of MPI, %", "of planned paths, %", "times MPI, %"]);
        for message_bytes in MESSAGES {
            let errors =
                self.errors(message_bytes).map(|error| error.map_or("-".to_owned(), |error| format!("{error:+.1}")));
            let mut row = vec![message_bytes.to_string()];
            row.extend(errors);
            table.rows.push(row);
        }
        table
    }

    /// What runs say that were left out.
    fn left_out(&self) -> String {
        let hours = |run: &WholeRun| {
            run.needed_seconds.map(|seconds| {
                format!(
                    "**Left out:** {}, {} bytes, packets of {}: by what its first {} minutes simulated, it would take at least {:.1} hours \
                     (at most {} are spent on a run).\n\n",
                    run.moved_by.name(),
                    run.message_bytes,
                    run.packet_bytes,
                    EVERY.as_secs() / 60,
                    seconds / 3600.0,
                    LONGEST.as_secs() / 3600,
                )
            })
        };
        self.runs.iter().filter_map(hours).collect()
    }

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut table = TextTable::new(&[
            "message, bytes",
            "packets, bytes",
            "moved by<",
            "takes",
            "GB/s",
            "share of its link bound",
            "times MPI",
            "packets",
            "events",
            "simulated in, minutes",
            "checkpoints",
            "largest, MB",
            "resumed",
        ]);
        for run in &self.runs {
            let gain = match run.moved_by {
                MovedBy::Mpi => Some(1.0),
                MovedBy::Planned => self.gain(run.message_bytes, run.packet_bytes),
            };
            let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
            table.rows.push(vec![
                run.message_bytes.to_string(),
                run.packet_bytes.to_string(),
                run.moved_by.name().into(),
                or_dash(run.seconds.map(table::seconds)),
                or_dash(self.throughput(run).map(|rate| format!("{:.0}", rate / 1e9))),
                or_dash(run.seconds.map(|seconds| table::percent(run.link_bound_seconds / seconds))),
                or_dash(gain.map(|gain| format!("{gain:.2}"))),
                run.packets.to_string(),
                run.events.to_string(),
                format!("{:.1}", run.effort.simulation_seconds / 60.0),
                run.effort.checkpoints.to_string(),
                format!("{:.0}", run.effort.checkpoint_bytes as f64 / 1e6),
                run.effort.resumed.to_string(),
            ]);
        }
        format!(
            "`{}`, {} nodes, {}, {} pairs, model `data/sim/{MODEL}.toml`. Planned in {:.1} s, gap to the proved bound {}.\n\n{}\n{}\
             ## What large packets change\n\nLarger packets over smaller ones. Buffers hold as many packets of either size.\n\n{}\n\
             Each run is on one thread, two at a time; minutes are of a machine that did other work as well. Checkpoints come every {} \
             minutes; a run that was interrupted goes on from the last one, as each does once after the first, and its result is the same.\n",
            self.topology,
            self.nodes,
            self.demands,
            self.pairs,
            self.planning_seconds,
            table::percent(self.plan_gap),
            table.markdown(),
            self.left_out(),
            self.errors_table().markdown(),
            EVERY.as_secs() / 60,
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn run_of(moved_by: MovedBy, packet_bytes: u64, seconds: Option<f64>) -> WholeRun {
        WholeRun {
            moved_by,
            message_bytes: MESSAGE,
            packet_bytes,
            seconds,
            needed_seconds: if seconds.is_none() { Some(9000.0) } else { None },
            link_bound_seconds: 1.0,
            packets: 1,
            events: 1,
            effort: Effort { simulation_seconds: 60.0, checkpoints: 1, checkpoint_bytes: 1, resumed: 0 },
        }
    }

    fn content(runs: Vec<WholeRun>) -> WholeMachineContent {
        WholeMachineContent {
            topology: TOPOLOGY.into(),
            demands: DEMANDS.into(),
            nodes: 4,
            pairs: 2,
            plan_gap: 0.01,
            planning_seconds: 1.0,
            runs,
        }
    }

    /// Large packets: MPI 10 for 8 s, planned 4 for 2 s, so throughputs -20 and -50 %, gains 2.5 for 4.
    #[test]
    fn errors_by_hand() {
        let mut runs = vec![
            run_of(MovedBy::Mpi, 4096, Some(10.0)),
            run_of(MovedBy::Planned, 4096, Some(4.0)),
            run_of(MovedBy::Mpi, 512, Some(8.0)),
            run_of(MovedBy::Planned, 512, Some(2.0)),
        ];
        let all = content(runs.clone());
        let [mpi, planned, gain] = all.errors(MESSAGE).map(Option::unwrap);
        assert!((mpi + 20.0).abs() < 1e-9 && (planned + 50.0).abs() < 1e-9 && (gain + 37.5).abs() < 1e-9);
        assert!(all.body().contains(&format!("| {MESSAGE} | -20.0 | -50.0 | -37.5 |")), "{}", all.body());
        // Nothing is said of what was left out but how long it would take.
        runs[3] = run_of(MovedBy::Planned, 512, None);
        let content = content(runs);
        assert!(matches!(content.errors(MESSAGE), [Some(_), None, None]));
        assert!(content.body().contains("at least 2.5 hours"));
    }

    /// Each of the two sizes of messages and packets, moved by each of the two.
    #[test]
    fn cases_are_all_different() {
        let all: std::collections::BTreeSet<_> =
            cases().iter().map(|case| (case.message_bytes, case.times, case.moved_by.name())).collect();
        assert_eq!(all.len(), 8);
    }

    /// A run that is ended on its way and started again finds the same as one in a piece, and once found it is not run again.
    #[test]
    fn a_run_goes_on_from_its_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let subject = Subject::new("bgq:512", &[64 << 10], folder.path()).unwrap();
        let case = Case { moved_by: MovedBy::Mpi, message_bytes: 64 << 10, times: TIMES };
        let whole = subject.run(case).unwrap();
        assert_eq!(subject.run(case).unwrap(), whole);
        let files = Files::of(&subject.folder, case, whole.packet_bytes);
        fs::remove_file(&files.kept).unwrap();
        let mut model = Model::read(MODEL).unwrap();
        model.enlarge_packets(TIMES);
        let limits = Limits { events: Some(whole.events / 2), ..Limits::default() };
        let store = |bytes: &[u8]| keep(&files.checkpoint, bytes);
        let checkpoints = Some(Checkpoints { every: None, keep: &store });
        let options = RunOptions { threads: 1, seed: 1, limits, checkpoints, ..RunOptions::default() };
        assert!(!subject.simulate(&model, case, &options).unwrap().finished());
        assert!(files.checkpoint.is_file());
        let found = subject.run(case).unwrap();
        assert_eq!((found.seconds, found.packets, found.effort.resumed), (whole.seconds, whole.packets, 1));
        assert!(!files.checkpoint.is_file());
    }
}
