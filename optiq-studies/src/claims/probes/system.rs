//! The simulated switch of document 004, what runs on it, and one run of it.
//!
//! A probe's interval is 200 us in place of 100 ms: packets cost as much to simulate as they cost a switch, and between two probes
//! the loads send as they do. What probes send then is 0.2 % of a link.

use super::super::setting::Setting;
use crate::failure::Failure;
use crate::proxies::PROXIES;
use crate::published_probes::PublishedProbes;
use optiq_measure::statistics::mean;
use optiq_net::Network;
use optiq_probe::constants::JITTER_MILLIONTHS;
use optiq_probe::description::{CompressionB, ImpactB};
use optiq_probe::predict::table::{Perturbation, Phase};
use optiq_sim::jobs::parallel::in_parallel;
use optiq_sim::jobs::placed::{PlacedJob, PlacedOutcome, simulate_placed};
use optiq_sim::jobs::probes;
use optiq_sim::jobs::program_spec::{ProgramKind, ProgramSpec};
use optiq_sim::jobs::steps_file::StepsFile;
use optiq_sim::{End, Model, RunOptions};
use std::thread::available_parallelism;

/// The preset of the machine.
pub(super) const MODEL: &str = "cab18";
/// From the end of a simulated ping-pong to the next one.
pub(super) const INTERVAL_NANOSECONDS: u64 = 200_000;
/// Samples of each pair: 24 ms, twice the longest iteration of a proxy.
const SAMPLES: u32 = 120;
/// Samples of each pair where the question is whether a mean has shifted at all.
pub(super) const MANY_SAMPLES: u32 = 4 * SAMPLES;
/// An application is timed for this long, by as many operations as that takes, one at least; more are not worth what they cost to simulate.
const TIMED_SECONDS: f64 = 8e-3;
/// The most operations that are timed.
const MOST_OPERATIONS: u32 = 3;
/// The time over which latencies are averaged for a phase of an application.
const PHASE_SECONDS: f64 = 500e-6;
/// Bins of the histograms: 0.1 us up to 100 us, and one for all beyond.
pub(super) const BIN_SECONDS: f64 = 1e-7;
const BINS: usize = 1001;
/// Of all runs.
const SEED: u64 = 4;

/// A job that runs beside something.
#[derive(Clone)]
pub(super) struct Load {
    pub program: ProgramSpec,
    pub hosts: Vec<u32>,
}

/// What ImpactB measured, and the truth.
pub(super) struct Impact {
    /// Latencies in the order of time, with when they were measured; seconds.
    pub samples: Vec<(f64, f64)>,
    /// The utilisation of the switch's output ports, counted there: the mean over all, and the largest.
    pub truth: [f64; 2],
    /// Events of the simulation.
    pub events: u64,
}

impl Impact {
    pub fn latencies(&self) -> Vec<f64> {
        self.samples.iter().map(|s| s.1).collect()
    }

    pub fn mean_seconds(&self) -> f64 {
        mean(&self.latencies()).unwrap_or(0.0)
    }

    pub fn perturbation(&self) -> Result<Perturbation, Failure> {
        let found = Perturbation::of(&self.latencies(), BIN_SECONDS, BINS);
        found.ok_or_else(|| Failure::Work("no latencies of probes".into()))
    }

    /// Windows of time with the mean in each, those with the same share.
    pub fn phases(&self) -> Vec<Phase> {
        let window = |sample: &(f64, f64)| (sample.0 / PHASE_SECONDS) as u64;
        let windows: Vec<f64> = self
            .samples
            .chunk_by(|a, b| window(a) == window(b))
            .filter_map(|chunk| mean(&chunk.iter().map(|s| s.1).collect::<Vec<_>>()))
            .collect();
        let share = 1.0 / windows.len() as f64;
        windows.into_iter().map(|mean_seconds| Phase { share, mean_seconds }).collect()
    }
}

/// What an application took.
#[derive(Clone, Copy)]
pub(super) struct Timed {
    /// The mean of an operation over all ranks, in seconds.
    pub seconds: f64,
    pub operations: u32,
    /// Of how many simulations, and their events.
    pub runs: usize,
    pub events: u64,
}

/// See the top of the file.
pub(super) struct System<'a> {
    pub setting: &'a Setting<'a>,
    pub published: &'a PublishedProbes,
    network: Network,
    model: Model,
    applications: Vec<Load>,
    /// Of each pair of probes.
    samples: u32,
    // The proxies' files; gone with this.
    _folder: tempfile::TempDir,
}

impl<'a> System<'a> {
    /// # Errors
    /// [`Failure::Work`] if the proxies cannot be written to a temporary folder.
    pub fn new(setting: &'a Setting<'a>) -> Result<Self, Failure> {
        let published = &setting.published.probes;
        let model = Model::read(MODEL)?;
        let capacity = model.link.rates_bytes_per_second.first().copied().unwrap_or_default();
        let network = Network::from_spec(&format!("star:{},capacity={capacity}B/s", published.nodes))?;
        let told = |e: std::io::Error| Failure::Work(format!("the proxies cannot be written: {e}"));
        let folder = tempfile::tempdir().map_err(told)?;
        let mut applications = Vec::new();
        for proxy in PROXIES {
            let file = folder.path().join(proxy.file);
            std::fs::write(&file, proxy.text()).map_err(told)?;
            let StepsFile { ranks, processes, .. } = proxy.steps()?;
            let mut program: ProgramSpec = "steps,file=x,samples=1,warmup=1".parse()?;
            program.kind = ProgramKind::Steps { file };
            program.pace.jitter_millionths = JITTER_MILLIONTHS;
            applications.push(Load { program, hosts: per_node(ranks / processes, processes) });
        }
        Ok(Self { setting, published, network, model, applications, samples: SAMPLES, _folder: folder })
    }

    /// The same system whose probes have this many samples a pair.
    pub fn with_samples(self, samples: u32) -> Self {
        Self { samples, ..self }
    }

    pub fn application(&self, number: usize) -> &Load {
        &self.applications[number]
    }

    /// CompressionB on all nodes.
    pub fn compression(&self, configuration: &CompressionB) -> Load {
        let hosts = per_node(self.published.nodes, self.published.probes_per_node);
        Load { program: probes::compression(configuration, 1), hosts }
    }

    /// Packets that come at random, on average this part of what each link carries.
    pub fn known(&self, part: f64) -> Result<Load, Failure> {
        let bytes = self.model.link.packet_bytes;
        let program = format!("open,message={bytes}B,load={:.4}%,samples=1,warmup=0", part * 100.0).parse()?;
        Ok(Load { program, hosts: per_node(self.published.nodes, 1) })
    }

    /// ImpactB on all nodes.
    pub fn probes(&self) -> Load {
        let probe = ImpactB { interval_nanoseconds: INTERVAL_NANOSECONDS, ..ImpactB::default() };
        let hosts = per_node(self.published.nodes, self.published.probes_per_node);
        Load { program: probes::impact(&probe, self.samples, JITTER_MILLIONTHS), hosts }
    }

    /// ImpactB beside a load.
    pub fn impact(&self, beside: Option<&Load>, seed: u64) -> Result<Impact, Failure> {
        let probes = self.probes();
        let found = self.run(&probes, beside, seed)?;
        let report = &found.reports[0];
        let mut samples: Vec<(f64, f64)> = (0..probes.hosts.len() as u32)
            .flat_map(|rank| report.rank(rank).samples)
            .map(|sample| (sample.start.seconds(), sample.duration.seconds()))
            .collect();
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        let time = found.outcome.time.seconds();
        let links = self.network.links().iter().zip(&found.outcome.link_busy);
        let ports: Vec<f64> =
            links.filter(|(link, _)| self.network.is_host(link.to)).map(|(_, busy)| busy.seconds() / time).collect();
        let truth = [mean(&ports).unwrap_or(0.0), ports.iter().copied().fold(0.0, f64::max)];
        Ok(Impact { samples, truth, events: found.outcome.events })
    }

    /// How long an application takes alone.
    pub fn alone(&self, application: usize) -> Result<Timed, Failure> {
        let first = self.timed(application, None, 1)?;
        let operations = (TIMED_SECONDS / first.seconds).ceil().clamp(1.0, MOST_OPERATIONS.into()) as u32;
        let found = self.timed(application, None, operations)?;
        Ok(Timed { runs: 2, events: first.events + found.events, ..found })
    }

    /// How long it takes beside a load, for this number of operations after one that does not count.
    pub fn timed(&self, application: usize, beside: Option<&Load>, operations: u32) -> Result<Timed, Failure> {
        let Load { program, hosts } = self.application(application).clone();
        let program = program.with_samples(operations, 1)?;
        let found = self.run(&Load { program, hosts }, beside, SEED)?;
        let durations: Vec<f64> = found.reports[0].durations().iter().map(|time| time.seconds()).collect();
        let seconds = mean(&durations).ok_or_else(|| Failure::Work("no operations of an application".into()))?;
        Ok(Timed { seconds, operations, runs: 1, events: found.outcome.events })
    }

    fn run(&self, measured: &Load, beside: Option<&Load>, seed: u64) -> Result<PlacedOutcome, Failure> {
        let job = |load: &Load, is_measured| PlacedJob {
            program: load.program.clone(),
            hosts: load.hosts.clone(),
            servers: 0,
            is_measured,
        };
        let jobs: Vec<PlacedJob> =
            std::iter::once(job(measured, true)).chain(beside.map(|load| job(load, false))).collect();
        let options = RunOptions { threads: 1, seed, ..RunOptions::default() };
        let found = simulate_placed(&self.network, &self.model, &jobs, &options)?;
        if found.outcome.end != End::Measured {
            return Err(Failure::Work("a simulation ended before its job had its samples".into()));
        }
        Ok(found)
    }

    /// Runs that do not depend on each other, on all processors.
    pub fn all<R: Send>(
        &self,
        what: &str,
        count: usize,
        run: impl Fn(usize) -> Result<R, Failure> + Sync,
    ) -> Result<Vec<R>, Failure> {
        self.setting.progress.now(format!("{count} runs: {what}"));
        let threads = available_parallelism().map_or(1, usize::from);
        in_parallel(threads, count, run).into_iter().collect()
    }

    /// What pages say of the machine.
    pub fn note(&self) -> String {
        format!(
            "{} hosts of one switch, links of {:.1} GB/s in each direction, model {MODEL} (data/sim/{MODEL}.toml): the overhead of hosts was fitted on the idle latency of \
             {} us and on nothing else. Applications are proxies (data/jobs/proxies), 144 ranks on 18 hosts, Lulesh 64 on 16; their computing \
             differs by up to {:.0} %. Probes come each {:.1} ms in place of 100 ms, {} times a pair. An application is timed for {:.0} ms, by one to \
             {MOST_OPERATIONS} operations after one that does not count. Machine, proxies and these numbers, {MANY_SAMPLES} samples excepted, were set before any two jobs were simulated together.",
            self.published.nodes,
            self.model.link.rates_bytes_per_second.first().copied().unwrap_or_default() / 1e9,
            self.published.idle_latency_microseconds,
            f64::from(JITTER_MILLIONTHS) / 1e4,
            INTERVAL_NANOSECONDS as f64 / 1e6,
            self.samples,
            TIMED_SECONDS * 1e3,
        )
    }
}

/// Hosts of a job with ranks on the first nodes, the same number on each.
fn per_node(nodes: u32, ranks: u32) -> Vec<u32> {
    (0..nodes * ranks).map(|rank| rank / ranks).collect()
}
