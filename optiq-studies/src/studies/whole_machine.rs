//! Mira whole: 49,152 nodes, 8 MiB for each pair, with the machine's packets of 512 bytes and with packets of 4,096, so that what larger
//! packets change is known where they are used at smaller scale.
//!
//! A run takes hours. So each keeps a checkpoint every ten minutes, in a folder of the target folder that is named by the commit; the study
//! goes on from there when it is started again at the same commit, and what a run found is kept beside it. Results are the same with
//! any number of interruptions (decision 020), and the page says how many there were.

use crate::claims::setting::{MESSAGE, with_planner};
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::workspace::Workspace;
use optiq_files::{input, output};
use optiq_net::Network;
use optiq_sim::simulated_exchange::method::{Executor, MpiAlgorithm, TransferMethod};
use optiq_sim::simulated_exchange::run::{ExchangeSetting, SimulatedRun};
use optiq_sim::{Checkpoints, Model, RunOptions};
use optiq_solver::demands::{self, Demand};
use optiq_solver::pipeline::{self, Planned};
use optiq_solver::planner::PlannerName;
use optiq_transport::ScheduleOptions;
use optiq_view::table;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Mira's 48 racks.
const TOPOLOGY: &str = "torus:8x12x16x16x2,capacity=1.8GB/s,routing=bgq";
const DEMANDS: &str = "pattern:disjoint";
/// The machine; its packets have 512 bytes.
const MODEL: &str = "bgq";
/// The other size of packets is this many times the machine's, with buffers for as many of them.
const TIMES: u64 = 8;
/// From one checkpoint to the next.
const EVERY: Duration = Duration::from_secs(600);
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
    packet_bytes: u64,
    seconds: f64,
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
    message_bytes: u64,
    nodes: usize,
    pairs: usize,
    /// Of the plan's congestion to the proved bound.
    plan_gap: f64,
    planning_seconds: f64,
    runs: Vec<WholeRun>,
}

/// What is kept of a run beside its checkpoint.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Kept {
    effort: Effort,
    /// When it has come to its end.
    found: Option<WholeRun>,
}

/// The files of one run.
struct Files {
    checkpoint: PathBuf,
    kept: PathBuf,
}

impl Files {
    fn of(folder: &Path, moved_by: MovedBy, packet_bytes: u64) -> Self {
        let name = match moved_by {
            MovedBy::Mpi => "mpi",
            MovedBy::Planned => "planned",
        };
        let file = |end: &str| folder.join(format!("{name}-{packet_bytes}.{end}"));
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

/// What all runs have in common.
struct Subject {
    net: Network,
    demands: Vec<Demand>,
    planned: Planned,
    folder: PathBuf,
}

impl Subject {
    /// One run, from its checkpoint if there is one; what it found before if it had come to its end.
    fn run(&self, moved_by: MovedBy, times: u64) -> Result<WholeRun, Failure> {
        let mut model = Model::read(MODEL)?;
        model.enlarge_packets(times);
        let files = Files::of(&self.folder, moved_by, model.link.packet_bytes);
        let mut before = files.read()?;
        if let Some(found) = before.found {
            log::info!("{}, packets of {} bytes: kept from before", moved_by.name(), found.packet_bytes);
            return Ok(found);
        }
        let resume = match files.checkpoint.is_file() {
            true => Some(optiq_sim::read_checkpoint(&files.checkpoint)?),
            false => None,
        };
        before.effort.resumed += u32::from(resume.is_some());
        let started = Instant::now();
        let kept = Mutex::new(before.clone());
        let elapsed = || before.effort.simulation_seconds + started.elapsed().as_secs_f64();
        let store = |bytes: &[u8]| {
            let mut kept = kept.lock().map_err(|e| e.to_string())?;
            kept.effort.checkpoints += 1;
            kept.effort.checkpoint_bytes = kept.effort.checkpoint_bytes.max(bytes.len() as u64);
            kept.effort.simulation_seconds = elapsed();
            keep(&files.checkpoint, bytes)?;
            files.write(&kept)
        };
        let options = RunOptions {
            threads: 1,
            seed: 1,
            checkpoints: Some(Checkpoints { every: Some(EVERY), keep: &store }),
            resume: resume.as_deref(),
            ..RunOptions::default()
        };
        let run = self.simulate(&model, moved_by, &options)?;
        let mut kept = kept.into_inner().map_err(|e| Failure::Work(e.to_string()))?;
        let found = WholeRun {
            moved_by,
            packet_bytes: model.link.packet_bytes,
            seconds: run.seconds(),
            link_bound_seconds: run.link_bound,
            packets: run.exchanged.outcome.packets,
            events: run.exchanged.outcome.events,
            effort: Effort { simulation_seconds: elapsed(), ..kept.effort },
        };
        kept.found = Some(found.clone());
        files.write(&kept).map_err(Failure::Work)?;
        // What it found is kept; the state on the way is gigabytes.
        let _ = fs::remove_file(&files.checkpoint);
        Ok(found)
    }

    fn simulate(&self, model: &Model, moved_by: MovedBy, options: &RunOptions<'_>) -> Result<SimulatedRun, Failure> {
        let executor = Executor::of(model);
        let setting = ExchangeSetting { network: &self.net, model, demands: &self.demands, executor };
        let method = match moved_by {
            MovedBy::Mpi => TransferMethod::Mpi(MpiAlgorithm::Linear),
            MovedBy::Planned => TransferMethod::Planned(Box::new(self.planned.clone()), ScheduleOptions::default()),
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
    let net = Network::from_spec(TOPOLOGY)?;
    let demands = demands::parse(DEMANDS, &net, MESSAGE)?;
    let start = Instant::now();
    let planned = pipeline::run(&net, &demands, &with_planner(PlannerName::Optimal))?;
    let planning_seconds = start.elapsed().as_secs_f64();
    log::info!("planned in {planning_seconds:.1} s; checkpoints are in {}", folder.display());
    let (nodes, pairs, plan_gap) = (net.hosts(), demands.len(), planned.plan.gap());
    let subject = Subject { net, demands, planned, folder };
    let mut runs = Vec::new();
    for times in [TIMES, 1] {
        // The two do not need each other, and each has one thread.
        let (mpi, planned) = thread::scope(|scope| {
            let mpi = scope.spawn(|| subject.run(MovedBy::Mpi, times));
            let planned = subject.run(MovedBy::Planned, times);
            (mpi.join(), planned)
        });
        runs.push(mpi.map_err(|_| Failure::Work("the simulation of MPI failed".into()))??);
        runs.push(planned?);
    }
    Ok(WholeMachineContent {
        topology: TOPOLOGY.into(),
        demands: DEMANDS.into(),
        message_bytes: MESSAGE,
        nodes,
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
    fn throughput(&self, run: &WholeRun) -> f64 {
        self.message_bytes as f64 * self.pairs as f64 / run.seconds
    }

    fn of(&self, moved_by: MovedBy, packet_bytes: u64) -> Option<&WholeRun> {
        self.runs.iter().find(|run| (run.moved_by, run.packet_bytes) == (moved_by, packet_bytes))
    }

    /// Times MPI with packets of this size.
    fn gain(&self, packet_bytes: u64) -> Option<f64> {
        let [mpi, planned] =
            [MovedBy::Mpi, MovedBy::Planned].map(|moved_by| self.of(moved_by, packet_bytes).map(|run| run.seconds));
        Some(mpi? / planned?)
    }

    /// How far large packets are from small ones, in per cent: throughput of MPI and of planned paths, and the gain.
    fn errors(&self) -> [Option<f64>; 3] {
        let sizes = self.runs.iter().map(|run| run.packet_bytes);
        let (Some(small), Some(large)) = (sizes.clone().min(), sizes.max()) else { return [None; 3] };
        let error = |of_large: Option<f64>, of_small: Option<f64>| Some((of_large? / of_small? - 1.0) * 100.0);
        let throughput = |moved_by, size| self.of(moved_by, size).map(|run| self.throughput(run));
        let [mpi, planned] = [MovedBy::Mpi, MovedBy::Planned]
            .map(|moved_by| error(throughput(moved_by, large), throughput(moved_by, small)));
        [mpi, planned, error(self.gain(large), self.gain(small))]
    }

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut table = TextTable::new(&[
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
            let gain = self.gain(run.packet_bytes).filter(|_| run.moved_by == MovedBy::Planned).unwrap_or(1.0);
            table.rows.push(vec![
                run.packet_bytes.to_string(),
                run.moved_by.name().into(),
                table::seconds(run.seconds),
                format!("{:.0}", self.throughput(run) / 1e9),
                table::percent(run.link_bound_seconds / run.seconds),
                format!("{gain:.2}"),
                run.packets.to_string(),
                run.events.to_string(),
                format!("{:.1}", run.effort.simulation_seconds / 60.0),
                run.effort.checkpoints.to_string(),
                format!("{:.0}", run.effort.checkpoint_bytes as f64 / 1e6),
                run.effort.resumed.to_string(),
            ]);
        }
        let [mpi, planned, gain] =
            self.errors().map(|error| error.map_or("-".to_owned(), |error| format!("{error:+.1} %")));
        let gap = table::percent(self.plan_gap);
        format!(
            "`{}`, {} nodes, {} of {} bytes for each of {} pairs, model `data/sim/{MODEL}.toml`. Planned in {:.1} s, gap to the proved \
             bound {gap}.\n\n{}\n\
             **What large packets change**, larger over smaller: throughput of MPI {mpi}, of planned paths {planned}, the gain {gain}. \
             Buffers hold as many packets of either size.\n\n\
             Each run is on one thread, two at a time; minutes are of a machine that did other work as well. Checkpoints come every {} \
             minutes; a run that was interrupted goes on from the last one, and its result is the same.\n",
            self.topology,
            self.nodes,
            self.demands,
            self.message_bytes,
            self.pairs,
            self.planning_seconds,
            table.markdown(),
            EVERY.as_secs() / 60,
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn run_of(moved_by: MovedBy, packet_bytes: u64, seconds: f64) -> WholeRun {
        WholeRun {
            moved_by,
            packet_bytes,
            seconds,
            link_bound_seconds: seconds / 2.0,
            packets: 1,
            events: 1,
            effort: Effort { simulation_seconds: 60.0, checkpoints: 1, checkpoint_bytes: 1, resumed: 0 },
        }
    }

    /// Large packets: MPI 10 for 8 s, planned 4 for 2 s, so throughputs -20 and -50 %, gains 2.5 for 4.
    #[test]
    fn errors_by_hand() {
        let runs = vec![
            run_of(MovedBy::Mpi, 4096, 10.0),
            run_of(MovedBy::Planned, 4096, 4.0),
            run_of(MovedBy::Mpi, 512, 8.0),
            run_of(MovedBy::Planned, 512, 2.0),
        ];
        let content = WholeMachineContent {
            topology: TOPOLOGY.into(),
            demands: DEMANDS.into(),
            message_bytes: 1,
            nodes: 4,
            pairs: 2,
            plan_gap: 0.01,
            planning_seconds: 1.0,
            runs,
        };
        let [mpi, planned, gain] = content.errors().map(Option::unwrap);
        assert!((mpi + 20.0).abs() < 1e-9 && (planned + 50.0).abs() < 1e-9 && (gain + 37.5).abs() < 1e-9);
        assert!(content.body().contains("the gain -37.5 %"));
    }

    /// A run that is ended on its way and started again finds the same as one in a piece, and once found it is not run again.
    #[test]
    fn a_run_goes_on_from_its_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let net = Network::from_spec("bgq:512").unwrap();
        let demands = demands::parse(DEMANDS, &net, 64 << 10).unwrap();
        let planned = pipeline::run(&net, &demands, &with_planner(PlannerName::Optimal)).unwrap();
        let subject = Subject { net, demands, planned, folder: folder.path().to_owned() };
        let whole = subject.run(MovedBy::Mpi, TIMES).unwrap();
        assert_eq!(subject.run(MovedBy::Mpi, TIMES).unwrap(), whole);
        let files = Files::of(&subject.folder, MovedBy::Mpi, whole.packet_bytes);
        fs::remove_file(&files.kept).unwrap();
        let mut model = Model::read(MODEL).unwrap();
        model.enlarge_packets(TIMES);
        let limits = optiq_sim::Limits { events: Some(whole.events / 2), ..optiq_sim::Limits::default() };
        let store = |bytes: &[u8]| keep(&files.checkpoint, bytes);
        let checkpoints = Some(Checkpoints { every: None, keep: &store });
        let options = RunOptions { threads: 1, seed: 1, limits, checkpoints, ..RunOptions::default() };
        assert!(!subject.simulate(&model, MovedBy::Mpi, &options).unwrap().finished());
        assert!(files.checkpoint.is_file());
        let found = subject.run(MovedBy::Mpi, TIMES).unwrap();
        assert_eq!((found.seconds, found.packets, found.effort.resumed), (whole.seconds, whole.packets, 1));
        assert!(!files.checkpoint.is_file());
    }
}
