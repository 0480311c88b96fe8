//! A probe or a proxy on all ranks: agreed on, noise measured, run by the loop of `optiq bench job`, reported.

use super::nodes::{Nodes, share_processors};
use super::noise;
use crate::bench::job::places::Places;
use crate::bench::job::run::{Request, run_at};
use crate::proxies::Proxy;
use crate::real_jobs::probe_report::{ProbeReport, Reported};
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use optiq::Config;
use optiq_probe::constants::JITTER_MILLIONTHS;
use optiq_probe::description::{CompressionB, ImpactB, LinkProbe, Rings, pair_up};
use optiq_probe::measure::calibration::Calibration;
use optiq_probe::measure::noise::{Noise, WakeUps};
use optiq_sim::jobs::probes;
use optiq_sim::jobs::program_spec::{ProgramKind, ProgramSpec};
use optiq_sim::time::Time;
use optiq_transport::Rank;
use optiq_transport::mpi::Communicator;

/// What is to be run.
#[derive(Clone, Debug)]
pub enum ProbeKind {
    /// A ping-pong between paired nodes.
    Impact(ImpactB),
    /// A load.
    Compression(CompressionB),
    /// Messages from one node to another; without names from the first to the next one.
    Link(LinkProbe, Option<[String; 2]>),
    /// The communication of an application, computing this many times as long.
    Proxy(&'static Proxy, f64),
}

/// What is to be run, and how.
#[derive(Clone, Debug)]
pub struct ProbeRequest {
    /// See there.
    pub kind: ProbeKind,
    /// Samples: of each pair, rounds, operations.
    pub samples: u32,
    /// Of all draws.
    pub seed: u64,
    /// Of the probe on this switch, if there is one.
    pub calibration: Option<Calibration>,
}

impl ProbeRequest {
    /// What all ranks must have alike.
    fn text(&self) -> String {
        let ProbeRequest { kind, samples, seed, .. } = self;
        match kind {
            ProbeKind::Link(probe, ends) => format!("{samples} samples of {probe:?} {ends:?}, seed {seed}"),
            ProbeKind::Proxy(proxy, stretch) => {
                format!("{samples} operations of {}, stretched {stretch} times, seed {seed}", proxy.name)
            }
            ProbeKind::Impact(probe) => format!("{samples} samples of {probe:?}, seed {seed}"),
            ProbeKind::Compression(probe) => format!("{samples} rounds of {probe:?}, seed {seed}"),
        }
    }
}

/// Runs it; collective over the world. One rank has the report.
///
/// # Errors
/// One sentence, in which ranks may differ: the job must be ended then.
pub fn run(world: &SimpleCommunicator, config: &Config, request: &ProbeRequest) -> Result<Option<ProbeReport>, String> {
    // SAFETY: a valid communicator; the duplicate is dropped before MPI is finalised.
    let comm = unsafe { Communicator::duplicate(world.as_raw()) }.map_err(|e| e.to_string())?;
    agree(&comm, request)?;
    let nodes = Nodes::find(&comm, config)?;
    let noise = measure_noise(&comm)?;
    match &request.kind {
        ProbeKind::Link(probe, ends) => link(&comm, &nodes, request, probe, ends.as_ref(), noise),
        _ => on_all(&comm, &nodes, request, noise),
    }
}

/// All ranks must measure the same.
fn agree(comm: &Communicator, request: &ProbeRequest) -> Result<(), String> {
    let all = comm.all_texts(&request.text()).map_err(|e| e.to_string())?;
    match (0..).zip(&all).find(|(_, text)| **text != all[0]) {
        None => Ok(()),
        Some((rank, other)) => Err(format!(
            "ranks measure different things: rank 0 {}, and rank {rank} {other}; the same arguments on all ranks are expected",
            all[0]
        )),
    }
}

/// Of timer and scheduler, by all ranks at once; collective.
fn measure_noise(comm: &Communicator) -> Result<Noise, String> {
    let told = |e: optiq_transport::TransportError| e.to_string();
    comm.barrier().map_err(told)?;
    let (timer, mine) = (noise::timer_seconds(), noise::wake_ups());
    let figures = [timer, mine.mean_seconds, mine.least_seconds, mine.most_seconds].map(f64::to_bits);
    let words = comm.all_gather_equal(&figures).map_err(told)?;
    let all: Vec<[f64; 4]> =
        words.chunks_exact(4).map(|words| [words[0], words[1], words[2], words[3]].map(f64::from_bits)).collect();
    let of = |&[_, mean_seconds, least_seconds, most_seconds]: &[f64; 4]| WakeUps {
        count: mine.count,
        mean_seconds,
        least_seconds,
        most_seconds,
    };
    Ok(Noise {
        timer_seconds: all.iter().map(|figures| figures[0]).fold(0.0, f64::max),
        before: WakeUps::of_all(&all.iter().map(of).collect::<Vec<_>>()),
        during: WakeUps::default(),
        shares_processors: share_processors(comm)?,
    })
}

/// A job of these ranks.
fn job(program: ProgramSpec, seed: u64) -> Request {
    Request { program, hosts: None, servers: 0, seed, control: None }
}

fn on_all(
    comm: &Communicator,
    nodes: &Nodes,
    request: &ProbeRequest,
    noise: Noise,
) -> Result<Option<ProbeReport>, String> {
    let hosts = &nodes.hosts;
    let places = Places { hosts: hosts.clone(), ranks: (0..comm.size()).collect() };
    // A proxy's file, for as long as it is read.
    let folder = tempfile::tempdir().map_err(|e| format!("a temporary directory cannot be made: {e}"))?;
    let (name, program, what) = match &request.kind {
        ProbeKind::Compression(configuration) => {
            let rings = Rings::new(hosts, configuration.partners).map_err(|e| e.to_string())?;
            let per_node = hosts.len() as u32 / rings.nodes() as u32;
            let bytes_per_second = configuration.offered_bytes_per_second(per_node);
            let sleep_seconds = configuration.sleep_nanoseconds as f64 / 1e9;
            let what = Reported::Compression { bytes_per_second, sleep_seconds };
            ("compression", probes::compression(configuration, request.samples), what)
        }
        ProbeKind::Proxy(proxy, stretch) => {
            let steps = proxy.steps().and_then(|steps| Ok(steps.scaled(comm.size(), *stretch)?));
            let steps = steps.map_err(|e| e.to_string())?;
            let file = folder.path().join(proxy.file);
            std::fs::write(&file, steps.text()).map_err(|e| format!("{} cannot be written: {e}", proxy.file))?;
            let computing = steps.steps.iter().map(|step| step.compute).filter(|time| *time > Time::ZERO).min();
            let mut program: ProgramSpec =
                "steps,file=x,warmup=1".parse().map_err(|e: optiq_sim::SimError| e.to_string())?;
            program.kind = ProgramKind::Steps { file };
            program.samples = request.samples;
            program.pace.jitter_millionths = JITTER_MILLIONTHS;
            (proxy.name, program, Reported::Proxy { computing_seconds: computing.map_or(0.0, Time::seconds) })
        }
        ProbeKind::Impact(probe) => {
            pair_up(hosts).map_err(|e| e.to_string())?;
            ("impact", probes::impact(probe, request.samples, JITTER_MILLIONTHS), Reported::Impact)
        }
        ProbeKind::Link(..) => return Err("a link probe is of two ranks".into()),
    };
    let found = run_at(comm, &nodes.network, &places, &job(program, request.seed))?;
    let Some(mut document) = found else { return Ok(None) };
    if let ProbeKind::Proxy(proxy, stretch) = &request.kind {
        document.program = format!("{} on {} ranks, computing stretched {stretch} times", proxy.file, comm.size());
    }
    ProbeReport::new(name, what, &document, hosts, noise, request.calibration.as_ref()).map(Some)
}

fn link(
    comm: &Communicator,
    nodes: &Nodes,
    request: &ProbeRequest,
    probe: &LinkProbe,
    ends: Option<&[String; 2]>,
    noise: Noise,
) -> Result<Option<ProbeReport>, String> {
    let [from, to] = match ends {
        Some([from, to]) => [nodes.first_rank(from)?, nodes.first_rank(to)?],
        None => {
            let next = nodes.hosts.iter().position(|host| *host != nodes.hosts[0]);
            [0, next.map_or(0, |rank| rank as u32)]
        }
    };
    if nodes.hosts[from as usize] == nodes.hosts[to as usize] {
        let name = nodes.name(from as usize);
        return Err(format!("found a path from {name} to {name}; two nodes are expected"));
    }
    let Rank(me) = comm.rank();
    let is_of_path = [from, to].contains(&me);
    let both = comm.split(u32::from(is_of_path)).map_err(|e| e.to_string())?;
    if !is_of_path {
        return Ok(None);
    }
    let hosts = vec![nodes.hosts[from as usize], nodes.hosts[to as usize]];
    let ranks = if from < to { vec![0, 1] } else { vec![1, 0] };
    let program = probes::link(probe, request.samples, JITTER_MILLIONTHS);
    let places = Places { hosts: hosts.clone(), ranks };
    let found = run_at(&both, &nodes.network, &places, &job(program, request.seed))?;
    let report =
        |document| ProbeReport::new("link", Reported::Link, &document, &hosts, noise, request.calibration.as_ref());
    found.map(report).transpose()
}
