//! `optiq congestion`: how much users of a network feel congestion that others make. The work is in `optiq_sim::jobs::congestion`.

use super::simulate::interrupt;
use crate::arguments::Topology;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use clap::Args;
use optiq_net::Network;
use optiq_sim::jobs::congestion::{
    BANDWIDTH_BYTES, CONGESTOR_SHARE, CongestionOptions, CongestionTable, OperationTimes, Victim, congestion,
};
use optiq_sim::{Model, Policy};
use optiq_view::table;
use serde::Serialize;
use std::process::ExitCode;

/// Simulate how much a network's users feel congestion that others make: tables like those of GPCNeT
///
/// A random part of the hosts makes congestion: an alltoall, an incast by messages, an incast by puts, a broadcast by gets. The
/// others are victims and measure latency and bandwidth in a random ring and an allreduce: alone, and beside each kind of
/// congestor. The impact factor is the time with the congestor over that without.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq congestion --topology fattree:k=4
  optiq congestion --topology dragonfly+:p=2,l=4,s=4,h=2,g=3 --routing fpar --json

What is simulated, and how that differs from GPCNeT, is in the book's chapter on jobs. Times are of the simulated machine (--model).
optiq lab congestion measures the same in a lab.")]
pub struct Arguments {
    #[command(flatten)]
    topology: Topology,
    /// The machine: a preset or a TOML file; auto is the preset that fits the topology
    #[arg(long, value_name = "NAME", default_value = "auto")]
    model: String,
    /// How routers choose, as optiq simulate --routing has it [default: fabric]
    #[arg(long, value_name = "NAME")]
    routing: Option<Policy>,
    #[command(flatten)]
    victims: VictimArguments,
    /// Simulations at once; the results are the same with any number
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: u8,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Who is a victim, and what is measured of one.
#[derive(Clone, Copy, Debug, Args)]
pub struct VictimArguments {
    /// The part of hosts that are congestors
    #[arg(long, value_name = "PART", default_value_t = CONGESTOR_SHARE, allow_hyphen_values = true)]
    pub share: f64,
    /// How many operations of each victim are measured
    #[arg(long, value_name = "NUMBER", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub samples: u32,
    /// Of everything that is random
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub seed: u64,
}

impl VictimArguments {
    /// What is asked for; all else is as it is without options.
    pub fn options(&self) -> CongestionOptions<'static> {
        let &Self { share, samples, seed } = self;
        CongestionOptions { share, samples, seed, ..CongestionOptions::default() }
    }
}

/// The document. Its keys are a contract with scripts.
#[derive(Serialize)]
struct CongestionDocument<'a> {
    topology: &'a str,
    network_fingerprint: String,
    model: &'a str,
    routing: String,
    seed: u64,
    hosts: usize,
    victim_hosts: usize,
    congestor_hosts: usize,
    samples_per_victim: u32,
    victims: Vec<VictimDocument>,
}

#[derive(Serialize)]
struct VictimDocument {
    victim: &'static str,
    isolated: TimesDocument,
    congested: Vec<CongestedDocument>,
}

#[derive(Serialize)]
struct TimesDocument {
    min_seconds: f64,
    mean_seconds: f64,
    p99_seconds: f64,
    max_seconds: f64,
    /// Of the bandwidth test: its bytes over the mean time.
    #[serde(skip_serializing_if = "Option::is_none")]
    bandwidth_bytes_per_second: Option<f64>,
}

#[derive(Serialize)]
struct CongestedDocument {
    congestor: &'static str,
    #[serde(flatten)]
    times: TimesDocument,
    impact_mean: f64,
    impact_p99: f64,
}

fn bandwidth(victim: Victim, times: &OperationTimes) -> Option<f64> {
    (victim == Victim::Bandwidth).then(|| BANDWIDTH_BYTES as f64 / times.mean)
}

impl TimesDocument {
    fn new(victim: Victim, times: &OperationTimes) -> Self {
        let OperationTimes { min, max, mean, p99 } = *times;
        Self {
            min_seconds: min,
            mean_seconds: mean,
            p99_seconds: p99,
            max_seconds: max,
            bandwidth_bytes_per_second: bandwidth(victim, times),
        }
    }
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let progress = Progress::start("");
        let network = self.topology.load(&progress)?;
        let model = match self.model.as_str() {
            "auto" => Model::for_network(&network),
            name => Model::read(name)?,
        };
        model.check_rate(&network).map_err(|why| {
            Failure::Input(format!("{why}; a capacity= in the topology or another --model is expected"))
        })?;
        let stop = interrupt::watch()?;
        let found = {
            let tell = |at: usize, all: usize| progress.now(format!("simulation {} of {all}", at + 1));
            let options = CongestionOptions {
                routing: self.routing.unwrap_or_default(),
                threads: usize::from(self.threads),
                stop: Some(stop),
                progress: Some(&tell),
                ..self.victims.options()
            };
            congestion(&network, &model, &options)?
        };
        drop(progress);
        let about = About {
            network: &network,
            model: &model.title,
            routing: self.routing.unwrap_or_default().to_string(),
            seed: self.victims.seed,
            samples: self.victims.samples,
        };
        show(&about, &found, self.json)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// What a table is of.
pub struct About<'a> {
    pub network: &'a Network,
    /// Of the simulated machine, or what was measured.
    pub model: &'a str,
    pub routing: String,
    pub seed: u64,
    pub samples: u32,
}

/// Prints a table.
pub fn show(about: &About<'_>, found: &CongestionTable, json: bool) -> Result<(), Failure> {
    match json {
        true => output::print_json(Schema::Congestion, &document(about, found)),
        false => output::print(&text(about, found)),
    }
}

fn document<'a>(about: &About<'a>, found: &CongestionTable) -> CongestionDocument<'a> {
    let victims = found.results.iter().map(|result| VictimDocument {
        victim: result.victim.key(),
        isolated: TimesDocument::new(result.victim, &result.isolated),
        congested: result
            .congested
            .iter()
            .map(|congested| CongestedDocument {
                congestor: congested.congestor.key(),
                times: TimesDocument::new(result.victim, &congested.times),
                impact_mean: congested.impact_mean,
                impact_p99: congested.impact_p99,
            })
            .collect(),
    });
    CongestionDocument {
        topology: about.network.spec(),
        network_fingerprint: about.network.fingerprint().to_string(),
        model: about.model,
        routing: about.routing.clone(),
        seed: about.seed,
        hosts: about.network.hosts(),
        victim_hosts: found.victims,
        congestor_hosts: found.congestors,
        samples_per_victim: about.samples,
        victims: victims.collect(),
    }
}

fn text(about: &About<'_>, found: &CongestionTable) -> String {
    let CongestionTable { victims, congestors, results } = found;
    let (spec, title, routing) = (about.network.spec(), about.model, &about.routing);
    let mut out = format!(
        "{spec}: {victims} victims and {congestors} congestors at random, model {title}, routing {routing}\n\nIsolated\n"
    );
    let head = ["test", "min, us", "max, us", "mean, us", "99 %, us", "MB/s a rank"].map(String::from).to_vec();
    let cells = |name: String, victim: Victim, times: &OperationTimes| {
        let us = [times.min, times.max, times.mean, times.p99].map(|seconds| format!("{:.2}", seconds * 1e6));
        let rate = bandwidth(victim, times).map_or_else(|| "-".to_owned(), |rate| format!("{:.0}", rate / 1e6));
        [name].into_iter().chain(us).chain([rate]).collect::<Vec<String>>()
    };
    let mut rows = vec![head.clone()];
    rows.extend(results.iter().map(|r| cells(r.victim.name().into(), r.victim, &r.isolated)));
    out += &table::list(&rows);
    let congestors = results.first().map_or(&[][..], |result| &result.congested);
    for (at, kind) in congestors.iter().map(|congested| congested.congestor).enumerate() {
        out += &format!("\nBeside {}\n", kind.name());
        let mut rows = vec![head.iter().cloned().chain(["impact, mean", "impact, 99 %"].map(String::from)).collect()];
        for result in results {
            let congested = &result.congested[at];
            let impact = [congested.impact_mean, congested.impact_p99].map(|impact| format!("{impact:.2}"));
            let row = cells(result.victim.name().into(), result.victim, &congested.times);
            rows.push(row.into_iter().chain(impact).collect());
        }
        out += &table::list(&rows);
    }
    out
}
