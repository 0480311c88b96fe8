//! How much a network's users feel congestion that others make: the measurements of GPCNeT (S. Chunduri et al., "GPCNeT: Designing a
//! Benchmark Suite for Inducing and Measuring Contention in HPC Networks", SC 2019), simulated.
//!
//! Hosts are dealt out at random. One part, 80 % unless asked otherwise, makes congestion; the others are victims, which run a
//! latency, a bandwidth and a reduction test in a ring in random order: alone, and while each kind of congestor runs. The
//! *impact factor* is the time of an operation with the congestor over that without, at the mean and at the 99th percentile. A victim
//! that shares no link with a congestor has an impact of exactly 1 under deterministic routes, since its draws are the same.
//!
//! Congestors have the sizes of GPCNeT 1.3 (`INCAST_MSG_COUNT`, `BCAST_MSG_COUNT` and `A2A_MSG_COUNT` of `network_load_test.c` are 512 words
//! of 8 bytes), and as much in flight as one of its processes a host: `rma_incast_congestor` and `rma_bcast_congestor` of
//! `congestors.c` flush after each put and get.
//!
//! What differs from GPCNeT: all congestors of a run are of one kind, and one incast or broadcast has a single host at its hot
//! end (GPCNeT runs all kinds at once, each on a quarter of the congestors). A message of the two-sided incast waits for the one before, as
//! messages between a pair are confirmed in all loops of [`crate::jobs::programs`]; GPCNeT's `MPI_Send` returns before, where it is
//! eager. The bandwidth test has one message in flight to one neighbour in place of eight to both.
//!
//! Congestion saturates switches, so routers serve who came first ([`Arbitration::FirstCome`]), whatever the model says: with the
//! default a victim's packet may be overtaken for ever, and a run does not end (decision 046).

use crate::error::SimError;
use crate::jobs::parallel::in_parallel;
use crate::jobs::placed::{PlacedJob, simulate_placed};
use crate::jobs::placement::shuffle;
use crate::model::{Arbitration, Model};
use crate::options::RunOptions;
use crate::router::policy::Policy;
use optiq_measure::statistics::{mean, quantile};
use optiq_net::Network;
use optiq_net::random::SplitMix64;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// The part of hosts that are congestors, in GPCNeT.
pub const CONGESTOR_SHARE: f64 = 0.8;
/// Operations of each victim before those that are measured, while congestion builds up, unless another number is asked for.
pub const WARMUP: u32 = 10;
/// Between two operations of a victim.
const THINK: &str = "5us";
/// The size of a victim's message in the bandwidth test.
pub const BANDWIDTH_BYTES: u64 = 128 << 10;

/// What victims do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// Messages of 8 bytes in a random ring.
    Latency,
    /// Messages of 128 KiB in it.
    Bandwidth,
    /// A reduction of 8 bytes of all victims.
    AllReduce,
}

impl Victim {
    /// All, in the order of GPCNeT's table.
    pub const ALL: [Victim; 3] = [Victim::Latency, Victim::Bandwidth, Victim::AllReduce];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Victim::Latency => "random ring latency (8 B)",
            Victim::Bandwidth => "random ring bandwidth (128 KiB)",
            Victim::AllReduce => "allreduce (8 B)",
        }
    }

    /// For scripts.
    pub fn key(self) -> &'static str {
        match self {
            Victim::Latency => "latency",
            Victim::Bandwidth => "bandwidth",
            Victim::AllReduce => "allreduce",
        }
    }

    fn program(self, samples: u32, warmup: u32) -> String {
        let what = match self {
            Victim::Latency => "tornado,message=8B,shift=1".to_owned(),
            Victim::Bandwidth => format!("tornado,message={BANDWIDTH_BYTES}B,shift=1"),
            Victim::AllReduce => "allreduce,message=8B".to_owned(),
        };
        format!("{what},think={THINK},warmup={warmup},samples={samples}")
    }
}

/// What congestors do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestor {
    /// An exchange of 4 KiB between all pairs, in steps with one partner each.
    AllToAll,
    /// Messages of 4 KiB from all to one, each when the one before has arrived.
    TwoSidedIncast,
    /// Puts of 4 KiB from all to one, each when the one before is complete.
    PutIncast,
    /// Gets of 4 KiB by all from one, each when the one before is complete.
    GetBroadcast,
}

impl Congestor {
    /// All, in the order of GPCNeT's table.
    pub const ALL: [Congestor; 4] =
        [Congestor::AllToAll, Congestor::TwoSidedIncast, Congestor::PutIncast, Congestor::GetBroadcast];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Congestor::AllToAll => "alltoall",
            Congestor::TwoSidedIncast => "two-sided incast",
            Congestor::PutIncast => "put incast",
            Congestor::GetBroadcast => "get broadcast",
        }
    }

    /// For scripts.
    pub fn key(self) -> &'static str {
        match self {
            Congestor::AllToAll => "alltoall",
            Congestor::TwoSidedIncast => "two-sided-incast",
            Congestor::PutIncast => "put-incast",
            Congestor::GetBroadcast => "get-broadcast",
        }
    }

    fn job(self, hosts: &[u32]) -> Result<PlacedJob, SimError> {
        let (program, servers) = match self {
            Congestor::AllToAll => ("alltoall,message=4KiB,algorithm=pairwise", 0),
            Congestor::TwoSidedIncast => ("incast,message=4KiB", 0),
            Congestor::PutIncast => ("incast,message=4KiB,by=puts", 0),
            // The last host is the one from which all read.
            Congestor::GetBroadcast => ("io-read,request=4KiB", 1),
        };
        Ok(PlacedJob { program: program.parse()?, hosts: hosts.to_vec(), servers, is_measured: false })
    }
}

/// How to measure.
#[derive(Clone, Copy)]
pub struct CongestionOptions<'a> {
    /// The part of hosts that are congestors, above 0 and below 1.
    pub share: f64,
    /// Operations of each victim that are measured, at least 1.
    pub samples: u32,
    /// How many come before.
    pub warmup: u32,
    /// Of everything that is random.
    pub seed: u64,
    /// How packets are routed.
    pub routing: Policy,
    /// Runs at once; the results are the same with any number.
    pub threads: usize,
    /// Becomes true when all is to end: then the call fails.
    pub stop: Option<&'a AtomicBool>,
    /// Is told what is done now, from any thread: how many runs of how many.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
}

impl Default for CongestionOptions<'_> {
    fn default() -> Self {
        let (share, samples, warmup, seed, routing) = (CONGESTOR_SHARE, 30, WARMUP, 0, Policy::default());
        Self { share, samples, warmup, seed, routing, threads: 1, stop: None, progress: None }
    }
}

/// The times of a victim's operations, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperationTimes {
    /// The shortest.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The 99th percentile.
    pub p99: f64,
}

impl OperationTimes {
    /// Of operations, in seconds; `None` of none.
    pub fn of(seconds: &[f64]) -> Option<Self> {
        let at = |q| quantile(seconds, q);
        Some(Self { min: at(0.0)?, max: at(1.0)?, mean: mean(seconds)?, p99: at(0.99)? })
    }
}

/// A victim beside a congestor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Congested {
    /// Which congestor.
    pub congestor: Congestor,
    /// The victim's times.
    pub times: OperationTimes,
    /// Over those of the victim alone: of the mean, and of the 99th percentile.
    pub impact_mean: f64,
    /// See above.
    pub impact_p99: f64,
}

/// A victim alone and beside each congestor.
#[derive(Clone, Debug, PartialEq)]
pub struct VictimResult {
    /// Which one.
    pub victim: Victim,
    /// Alone.
    pub isolated: OperationTimes,
    /// In the order of [`Congestor::ALL`].
    pub congested: Vec<Congested>,
}

/// All that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct CongestionTable {
    /// How many hosts are victims.
    pub victims: usize,
    /// And how many congestors.
    pub congestors: usize,
    /// In the order of [`Victim::ALL`].
    pub results: Vec<VictimResult>,
}

/// Which hosts are victims and which congestors, both in random order.
fn deal(hosts: usize, share: f64, seed: u64) -> Result<(Vec<u32>, Vec<u32>), SimError> {
    let problem = |text: String| Err(SimError::Workload(format!("congestion: {text}")));
    if !(share > 0.0 && share < 1.0) {
        return problem(format!("a share of {share} for congestors; above 0 and below 1 is expected"));
    }
    if hosts < 5 {
        return problem(format!(
            "the network has {hosts} hosts; at least 5 are expected, two victims and three congestors"
        ));
    }
    let congestors = ((hosts as f64 * share).round() as usize).clamp(3, hosts - 2);
    let mut all: Vec<u32> = (0..hosts as u32).collect();
    let mut random = SplitMix64::new(seed);
    shuffle(&mut all, &mut random);
    let victims = all.split_off(congestors);
    Ok((victims, all))
}

/// A run of a table: a victim alone, or beside a congestor.
#[derive(Clone, Debug)]
pub struct CongestionRun {
    /// What is measured.
    pub victim: Victim,
    /// Beside what; `None` alone.
    pub congestor: Option<Congestor>,
    /// Its jobs: the victims, which are measured, and the congestors if there are some.
    pub jobs: Vec<PlacedJob>,
}

/// All runs of a table: who simulates or measures them gives their times in the same order.
#[derive(Clone, Debug)]
pub struct CongestionRuns {
    /// How many hosts are victims.
    pub victims: usize,
    /// And how many congestors.
    pub congestors: usize,
    /// First all victims alone, then beside each congestor.
    pub runs: Vec<CongestionRun>,
}

/// The runs of a table for a number of hosts; of the options share, samples and seed count.
///
/// # Errors
/// [`SimError::Workload`]: fewer than 5 hosts, a share out of range.
pub fn congestion_runs(hosts: usize, options: &CongestionOptions<'_>) -> Result<CongestionRuns, SimError> {
    let (victims, congestors) = deal(hosts, options.share, options.seed)?;
    let mut runs = Vec::new();
    for congestor in [None].into_iter().chain(Congestor::ALL.into_iter().map(Some)) {
        for victim in Victim::ALL {
            let program = victim.program(options.samples, options.warmup).parse()?;
            let mut jobs = vec![PlacedJob { program, hosts: victims.clone(), servers: 0, is_measured: true }];
            if let Some(kind) = congestor {
                jobs.push(kind.job(&congestors)?);
            }
            runs.push(CongestionRun { victim, congestor, jobs });
        }
    }
    Ok(CongestionRuns { victims: victims.len(), congestors: congestors.len(), runs })
}

impl CongestionRuns {
    /// The table, of the times of all runs in their order. Panics if there are fewer.
    pub fn table(&self, times: &[OperationTimes]) -> CongestionTable {
        let result = |(at, victim): (usize, Victim)| VictimResult {
            victim,
            isolated: times[at],
            congested: Congestor::ALL
                .into_iter()
                .zip(1..)
                .map(|(congestor, row)| {
                    let beside = times[row * Victim::ALL.len() + at];
                    let (impact_mean, impact_p99) = (beside.mean / times[at].mean, beside.p99 / times[at].p99);
                    Congested { congestor, times: beside, impact_mean, impact_p99 }
                })
                .collect(),
        };
        let results = Victim::ALL.into_iter().enumerate().map(result).collect();
        CongestionTable { victims: self.victims, congestors: self.congestors, results }
    }
}

/// Measures a network's congestion table: 15 runs, each of which ends when all victims have their samples.
///
/// # Errors
/// [`SimError::Workload`]: a network of fewer than 5 hosts, a share out of range, a stop; all that a simulation reports.
pub fn congestion(
    network: &Network,
    model: &Model,
    options: &CongestionOptions<'_>,
) -> Result<CongestionTable, SimError> {
    let planned = congestion_runs(network.hosts(), options)?;
    let runs = &planned.runs;
    let halt = AtomicBool::new(false);
    let mut model = model.clone();
    model.router.arbitration = Arbitration::FirstCome;
    let machine = Measured { network, model: &model, options, halt: &halt };
    let found = in_parallel(options.threads, runs.len(), |at| {
        if machine.is_stopped() {
            return None;
        }
        if let Some(progress) = options.progress {
            progress(at, runs.len());
        }
        let times = machine.run(&runs[at]);
        if times.is_err() {
            halt.store(true, SeqCst);
        }
        Some(times)
    });
    let mut times = Vec::with_capacity(runs.len());
    for found in found {
        times.push(found.unwrap_or_else(|| Err(SimError::Workload("congestion: stopped".into())))?);
    }
    Ok(planned.table(&times))
}

/// What all runs have in common.
#[derive(Clone, Copy)]
struct Measured<'a> {
    network: &'a Network,
    model: &'a Model,
    options: &'a CongestionOptions<'a>,
    /// Another run has failed, or the caller wants an end.
    halt: &'a AtomicBool,
}

impl Measured<'_> {
    fn is_stopped(&self) -> bool {
        if self.options.stop.is_some_and(|stop| stop.load(SeqCst)) {
            self.halt.store(true, SeqCst);
        }
        self.halt.load(SeqCst)
    }

    fn run(&self, run: &CongestionRun) -> Result<OperationTimes, SimError> {
        let tell = |_, _| {
            // This is called now and then, so here the caller's wish is passed on.
            self.is_stopped();
        };
        let options = RunOptions {
            threads: 1,
            seed: self.options.seed,
            routing: self.options.routing,
            stop: Some(self.halt),
            progress: Some(&tell),
            ..RunOptions::default()
        };
        let found = simulate_placed(self.network, self.model, &run.jobs, &options)?;
        let seconds: Vec<f64> = found.reports[0].durations().iter().map(|d| d.seconds()).collect();
        match found.reports[0].complete() {
            Some(_) => OperationTimes::of(&seconds)
                .ok_or_else(|| SimError::Workload(format!("congestion: {} has no samples", run.victim.name()))),
            None => Err(SimError::Workload("congestion: stopped".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn table(spec: &str, options: &CongestionOptions<'_>) -> CongestionTable {
        let network = Network::from_spec(spec).unwrap();
        let model = Model::for_network(&network);
        congestion(&network, &model, options).unwrap()
    }

    #[test]
    fn victims_that_share_no_link_feel_nothing() {
        // On one switch each host has links of its own, and victims send among themselves.
        let found = table("star:20", &CongestionOptions { samples: 5, ..CongestionOptions::default() });
        assert_eq!((found.victims, found.congestors, found.results.len()), (4, 16, 3));
        for result in &found.results {
            assert_eq!(result.congested.len(), 4);
            for congested in &result.congested {
                assert_eq!((congested.impact_mean, congested.impact_p99), (1.0, 1.0), "{congested:?}");
                assert_eq!(congested.times, result.isolated);
            }
        }
    }

    #[test]
    fn victims_behind_a_shared_link_feel_it_and_threads_make_no_difference() {
        // Two leaf switches with one link between them: whatever crosses it meets.
        let spec = "fattree:5x2:1x1";
        let options = CongestionOptions { samples: 5, share: 0.6, seed: 3, ..CongestionOptions::default() };
        let found = table(spec, &options);
        // A packet of a congestor waits behind what victims had in the buffers before it, 16 packets, and the next one of its rank
        // is sent when it has arrived: two at least pass in a victim's message of 32 packets. (By round robin it is the next but one,
        // and the impact was above 1.2.)
        let alltoall = found.results[1].congested[0];
        assert!(alltoall.impact_mean > 1.0 + 2.0 / 32.0, "{alltoall:?}");
        assert_eq!(found, table(spec, &CongestionOptions { threads: 3, ..options }));
    }

    #[test]
    fn every_host_is_dealt_once() {
        let (victims, congestors) = deal(100, 0.8, 7).unwrap();
        assert_eq!((victims.len(), congestors.len()), (20, 80));
        let mut all: Vec<u32> = victims.into_iter().chain(congestors).collect();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        assert_eq!(deal(5, 0.99, 1).map(|(v, c)| (v.len(), c.len())).unwrap(), (2, 3));
        for (hosts, share, why) in [(4, 0.8, "4 hosts"), (10, 1.0, "a share of 1"), (10, f64::NAN, "a share of NaN")] {
            assert!(deal(hosts, share, 1).unwrap_err().to_string().contains(why));
        }
    }
}
