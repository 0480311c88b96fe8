//! The calibration as every rank runs it: times first, then the sizes of the training cases, which follow from them, then link
//! efficiencies.

use super::link_efficiencies::{LinkEfficiencySamples, measure_link_efficiencies};
use super::times::{agreement_samples, chunk_samples, latency_messages};
use super::training;
use crate::bench::cases::Case;
use crate::bench::session;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator as _;
use optiq::Config;
use optiq_lower::choices::Algorithm;
use optiq_lower::decide::Decision;
use optiq_lower::machine::{MachineRecord, Measurement, Samples, one_line};
use optiq_lower::model::{CostModel, Parameter};
use optiq_lower::placement::{Placement, PlacementRule};
use optiq_measure::moment;
use optiq_measure::statistics::Summary;
use optiq_net::fingerprint::Hasher;
use optiq_net::spec::AUTO;
use optiq_net::{Network, NodeId};
use optiq_transport::mpi::Communicator;
use std::collections::BTreeSet;

/// What to measure.
pub struct CalibrationRequest {
    /// Without background load.
    pub network: Network,
    /// The cases of a file; the training cases if there is none.
    pub listed: Option<Vec<Case>>,
    /// As asked for.
    pub cases_name: String,
    /// Timed repetitions of each exchange.
    pub repetitions: usize,
    /// The command, for the record.
    pub command: String,
}

/// What was measured.
pub struct Calibration {
    /// The parameters, as the record has them.
    pub model: CostModel,
    /// Where, when and on what they were measured.
    pub measurement: Measurement,
    /// What must be known to judge the record; sentences.
    pub notes: Vec<String>,
}

impl Calibration {
    /// As it is written.
    pub fn record(&self) -> MachineRecord {
        MachineRecord { model: self.model, measurement: Some(self.measurement.clone()) }
    }
}

/// Measures; collective over the world. Only rank 0 returns the result, and tells `progress` what it does.
///
/// # Errors
/// One sentence, in which ranks may differ: the job must be ended then.
pub fn measure(
    world: &SimpleCommunicator,
    request: &CalibrationRequest,
    progress: &dyn Fn(String),
) -> Result<Option<Calibration>, String> {
    let at = moment::utc_now();
    if world.size() < 2 {
        return Err("1 rank is found; mpirun with at least 2 ranks, on 2 hosts, is expected".into());
    }
    // SAFETY: a valid communicator, and the duplicate is dropped before MPI is finalised.
    let comm = unsafe { Communicator::duplicate(world.as_raw()) }.map_err(|e| e.to_string())?;
    let hosts = hosts(&comm)?;
    let config = configuration(request)?;
    let mut notes = Vec::new();
    if hosts == 1 {
        if !matches!(config.placement, PlacementRule::Ranks { .. }) {
            return Err("all ranks run on one host; ranks on at least 2 hosts are expected, or OPTIQ_PLACEMENT=rank:1 to try it".into());
        }
        notes.push(
            "All ranks ran on one host: planned_link_efficiency, store_and_forward_link_efficiency and mpi_link_efficiency are \
             not efficiencies of links."
                .into(),
        );
    }
    let (placement, transport) = placement(world, &config, request)?;
    progress("an agreement".into());
    let agreements = agreement_samples(world, &comm)?;
    let agreement = summary(&agreements)?.median;
    let messages = latency_messages(comm.size());
    let latencies: Vec<f64> = agreements.iter().map(|a| a / messages).collect();
    let latency = agreement / messages;
    progress("the work for a chunk".into());
    let chunks = chunk_samples(world, &config, &request.network, &placement, (agreement, latency))?;
    let cases = match &request.listed {
        Some(cases) => cases.clone(),
        None => training::cases(&request.network, agreement, latency, &mut notes)?,
    };
    let cases_text = training::names(&request.cases_name, &cases);
    if world.rank() == 0 {
        log::debug!("agreement {agreement:.6} s, latency {latency:.6} s; cases of {cases_text}");
    }
    let Some(shares) = measure_link_efficiencies(world, &config, &cases, request.repetitions, progress)? else {
        return Ok(None);
    };
    let mpi_library = one_line(&comm.library_version().map_err(|e| e.to_string())?);
    let measurement = Measurement {
        command: request.command.clone(),
        at,
        version: env!("CARGO_PKG_VERSION").into(),
        mpi_library: if mpi_library.is_empty() { "unknown".into() } else { mpi_library },
        ranks: world.size() as u32,
        hosts,
        topology: request.network.spec().into(),
        network: request.network.fingerprint(),
        transport,
        cases: cases_text,
        samples: [None; Parameter::ALL.len()],
    };
    summed_up([&agreements, &latencies, &chunks], &shares, measurement, notes).map(Some)
}

/// The network that a session of this configuration guesses (`OPTIQ_TOPOLOGY=auto`), with the rate that it measures; collective.
///
/// # Errors
/// Why there is none: ranks that are all on one host, or a configuration that cannot be used.
pub fn guessed_network(world: &SimpleCommunicator) -> Result<Network, String> {
    let config = Config::read().usable().map_err(|e| e.to_string())?;
    let config = Config {
        topology: Some(AUTO.into()),
        calibration: None,
        algorithm: Algorithm::Multipath,
        trace: None,
        ..config
    };
    let session = session::open(world, config)?;
    session.network().cloned().ok_or_else(|| match session.decision() {
        Decision::Mpi { reason } => reason,
        other => other.to_string(),
    })
}

/// The environment's configuration, for this network and without what would decide in place of the measurement.
fn configuration(request: &CalibrationRequest) -> Result<Config, String> {
    let config = Config::read().usable().map_err(|e| e.to_string())?;
    Ok(Config {
        topology: Some(request.network.spec().into()),
        algorithm: Algorithm::Multipath,
        calibration: None,
        trace: None,
        strict: true,
        disable: false,
        ..config
    })
}

/// How many hosts the ranks run on, told apart by the names of their processors; collective.
fn hosts(comm: &Communicator) -> Result<u32, String> {
    let name = comm.processor_name().map_err(|e| e.to_string())?;
    let mut hasher = Hasher::new("processor name");
    hasher.bytes(name.as_bytes());
    let all = comm.all_gather_equal(&[hasher.finish().0 as u64]).map_err(|e| e.to_string())?;
    Ok(all.into_iter().collect::<BTreeSet<u64>>().len() as u32)
}

/// Where ranks are in the network, and the name of the transport; collective.
fn placement(
    world: &SimpleCommunicator,
    config: &Config,
    request: &CalibrationRequest,
) -> Result<(Placement, String), String> {
    let session = session::open(world, config.clone())?;
    let placement = session.placement().cloned().ok_or("the network of --topology cannot be used here")?;
    let network = &request.network;
    let used = (0..network.hosts() as u32).filter(|&h| !placement.ranks(NodeId(h)).is_empty()).count();
    if used < network.hosts() && request.listed.is_none() {
        return Err(format!(
            "the topology {} has {} hosts, and ranks run on {used} of them; a rank on every host is expected",
            network.spec(),
            network.hosts()
        ));
    }
    if used < 2 {
        return Err(format!("ranks run on {used} host of the topology {}; at least 2 are expected", network.spec()));
    }
    Ok((placement, session.transport().to_string()))
}

fn summary(samples: &[f64]) -> Result<Summary, String> {
    Summary::of(samples).ok_or_else(|| "a measured value is not a number".to_string())
}

/// Four significant digits: more say nothing.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Medians, with what they were taken from. A part of the link bound above 1 is written as 1, with a note.
fn summed_up(
    times: [&[f64]; 3],
    shares: &LinkEfficiencySamples,
    mut measurement: Measurement,
    mut notes: Vec<String>,
) -> Result<Calibration, String> {
    let [agreements, latencies, chunks] = times;
    let samples = [agreements, latencies, chunks, &shares.planned, &shares.store_and_forward, &shares.mpi];
    let mut model = CostModel::default();
    for (i, (parameter, values)) in Parameter::ALL.into_iter().zip(samples).enumerate() {
        let Summary { count, first_quartile, median, third_quartile, .. } = summary(values)?;
        let [first_quartile, median, third_quartile] = [first_quartile, median, third_quartile].map(rounded);
        let mut value = median;
        if parameter.is_link_efficiency() && value > 1.0 {
            notes.push(format!(
                "{parameter} was measured as {value:.3}, and 1 is written: links are faster than the topology says."
            ));
            value = 1.0;
        }
        log::debug!("{parameter} = {value:e}: median of {count}, quartiles {first_quartile:e} to {third_quartile:e}");
        model.set(parameter, value)?;
        measurement.samples[i] = Some(Samples { count: count as u64, first_quartile, median, third_quartile });
    }
    Ok(Calibration { model, measurement, notes })
}
