//! `optiq lab congestion`: the table of `optiq congestion`, measured in a lab with real messages.

use super::real_jobs::{self, RealJob};
use crate::arguments::duration;
use crate::commands::congestion::{About, VictimArguments, show};
use crate::failure::Failure;
use crate::progress::Progress;
use clap::Args;
use optiq_lab::Lab;
use optiq_net::{Network, NodeId};
use optiq_sim::jobs::congestion::{CongestionRun, OperationTimes, congestion_runs};
use optiq_sim::jobs::placed::{PlacedJob, job_seed};
use std::process::ExitCode;
use std::time::Duration;

/// Measure how much users of the lab feel congestion that others make: the tables of optiq congestion, with real MPI messages
///
/// A random part of the hosts makes congestion, the others are victims, with the programs and the random choices of optiq congestion.
/// Where many hosts share the machine's processors, victims wait for these as well: compare with the victims alone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq lab congestion --help

In a lab of eight hosts:
  optiq lab up --topology star:8
  optiq lab congestion --samples 10
  optiq lab down")]
pub struct CongestionOf {
    /// The lab's name, where there are several
    #[arg(long, default_value = Lab::DEFAULT_NAME)]
    name: String,
    #[command(flatten)]
    victims: VictimArguments,
    /// The longest time that one of the 15 runs may take, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = duration, default_value = "300")]
    timeout: Duration,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl CongestionOf {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let lab = Lab::open(&self.name, None)?;
        let status = lab.status()?;
        let network = Network::from_spec(&status.topology)?;
        let planned = congestion_runs(network.hosts(), &self.victims.options())?;
        let progress = Progress::start("");
        let mut times = Vec::new();
        for (at, run) in planned.runs.iter().enumerate() {
            progress.now(format!("run {} of {}: {}", at + 1, planned.runs.len(), words(run)));
            times.push(self.measure(&lab, &network, run)?);
        }
        drop(progress);
        let model = format!("measured in a lab, profile {}", status.profile);
        let routing = optiq_sim::Policy::default().to_string();
        let VictimArguments { seed, samples, .. } = self.victims;
        let about = About { network: &network, model: &model, routing, seed, samples };
        show(&about, &planned.table(&times), self.json)?;
        Ok(ExitCode::SUCCESS)
    }

    fn measure(&self, lab: &Lab, network: &Network, run: &CongestionRun) -> Result<OperationTimes, Failure> {
        let names = ["victims", "congestors"];
        let job = |(at, placed): (usize, &PlacedJob)| RealJob {
            name: names[at.min(1)].to_owned(),
            program: placed.program.clone(),
            hosts: placed.hosts.iter().map(|&host| network.name(NodeId(host)).to_owned()).collect(),
            servers: placed.servers as usize,
            seed: job_seed(self.victims.seed, at as u64),
            is_measured: placed.is_measured,
        };
        let jobs: Vec<RealJob> = run.jobs.iter().enumerate().map(job).collect();
        let found = real_jobs::run(lab, &jobs, self.timeout)?;
        let seconds: Vec<f64> = found[0].processes.iter().flat_map(|p| p.duration_seconds.iter().copied()).collect();
        OperationTimes::of(&seconds).ok_or_else(|| Failure::Work(format!("{} has no samples", run.victim.name())))
    }
}

/// `random ring latency (8 B) beside alltoall`.
fn words(run: &CongestionRun) -> String {
    let beside = run.congestor.map_or_else(|| "alone".to_owned(), |congestor| format!("beside {}", congestor.name()));
    format!("{} {beside}", run.victim.name())
}
