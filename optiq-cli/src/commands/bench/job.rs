//! `optiq bench job`: a program of a job file with real messages.

use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::ranks;
use clap::Args;
use optiq_net::Network;
use optiq_sim::jobs::program_spec::ProgramSpec;
use optiq_sim::jobs::statistics::NodeSamples;
use optiq_studies::bench::job::run::{self, Request};
use optiq_studies::real_jobs::check_program;
use optiq_studies::real_jobs::control::Control;
use optiq_studies::real_jobs::samples::RealJobDocument;
use optiq_view::table;
use std::path::PathBuf;

/// Run a program of a job file with real messages, and say how long its operations take. Started on every rank by mpirun;
/// OPTIQ_TOPOLOGY names the network, which `optiq lab run` sees to
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq bench job --help

Four ranks of this machine that exchange 1 MB:
  mpirun -n 4 optiq bench job --program alltoall,message=1MB,samples=10
On the hosts of a lab, the last two of which are I/O servers:
  optiq lab up --topology star:8
  optiq lab run -- optiq bench job --program io-write,request=1MB,samples=5 --servers 2
  optiq lab down

Programs are those of job files (optiq simulate --jobs), with the same random choices. `optiq lab jobs` runs those of a job file
beside each other.")]
pub struct Job {
    /// What ranks do, as a job file has it: pairs,message=1MB,think=10ms
    #[arg(long, value_name = "PROGRAM")]
    program: String,
    /// The host of each process, ranks first, separated by commas [default: process r is MPI rank r, wherever that is]
    #[arg(long, value_name = "HOSTS", value_delimiter = ',')]
    hosts: Vec<String>,
    /// How many of the processes, the last ones, are servers of io-write or io-read
    #[arg(long, value_name = "N", default_value_t = 0)]
    servers: u32,
    /// Of everything that is random
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
    /// The directory of what has started the job and decides when it begins and ends
    #[arg(long, value_name = "DIRECTORY", hide = true)]
    control: Option<PathBuf>,
    /// Print one JSON document, with all samples
    #[arg(long)]
    json: bool,
}

impl Job {
    pub fn run(self) -> Result<(), Failure> {
        let program = ProgramSpec::parse(&self.program)?;
        check_program(&program).map_err(Failure::Input)?;
        let topology = optiq::Config::read().config.topology;
        let network = topology.map(|topology| Network::from_spec(&topology)).transpose()?;
        let request = Request {
            program,
            hosts: (!self.hosts.is_empty()).then_some(self.hosts),
            servers: self.servers,
            seed: self.seed,
            control: self.control.as_deref().map(Control::open).transpose()?,
        };
        ranks::run(
            |world| run::run(world, network.as_ref(), &request),
            |document| match self.json {
                true => output::print_json(Schema::BenchJob, &document),
                false => output::print(&text(&document)),
            },
        )
    }
}

fn text(document: &RealJobDocument) -> String {
    let ranks = document.ranks();
    let found = NodeSamples::new((0..).zip(&ranks)).statistics();
    let mut out = format!(
        "{}: {} on {}, {} in {}\n",
        document.program,
        table::count(document.ranks as usize, "rank"),
        document.topology,
        table::count(document.messages as usize, "message"),
        table::seconds(document.seconds)
    );
    if let Some(s) = found {
        let [q1, median, q3, p99] =
            [s.first_quartile, s.median, s.third_quartile, s.p99].map(|e| table::seconds(e.value));
        let mean = table::seconds(s.mean.value);
        out += &format!(
            "{}: mean {mean}, quartiles {q1}, {median}, {q3}, 99 % {p99}\n",
            table::count(s.samples, "sample")
        );
    }
    out
}
