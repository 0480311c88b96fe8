//! `optiq calibrate`: measures a machine, and writes its record.

mod document;

use crate::arguments::specification;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use crate::ranks;
use crate::target::Target;
use clap::Args;
use document::CalibrationDocument;
use mpi::traits::Communicator;
use optiq::Config;
use optiq_net::Network;
use optiq_net::spec::is_auto;
use optiq_studies::bench::calibration::measure::{Calibration, CalibrationRequest, guessed_network, measure};
use optiq_studies::bench::cases as request;
use std::path::PathBuf;
use std::process::ExitCode;

/// Measure a machine under mpirun, and write its record: the parameters of the cost model, with where, when and on which cases
/// they were measured. OPTIQ_CALIBRATION names such a file
#[derive(Debug, Args)]
#[command(after_help = "\
What is measured:
  agreement_seconds                  a reduction of a few words over all ranks
  latency_seconds                    the agreement, divided by the messages that follow one another in it
  chunk_seconds                      what a rank needs to handle a chunk: an exchange of many small ones
  mpi_link_efficiency                the part of the link bound that MPI_Alltoallv reaches
  planned_link_efficiency            the part that planned paths reach
  store_and_forward_link_efficiency  the part that planned paths reach with relays at every host on the way

Examples:
  mpirun -n 16 optiq calibrate --topology torus:4x4 --output machine.calibration
  OPTIQ_CALIBRATION=machine.calibration mpirun -n 16 program
  mpirun -n 16 optiq calibrate --topology auto --output switch.calibration

On 4 ranks of this machine, to try it (these are not the efficiencies of links; Open MPI wants the first variable where there are
fewer cores):
  export OMPI_MCA_rmaps_base_oversubscribe=1
  OPTIQ_PLACEMENT=rank:1 mpirun -n 4 optiq calibrate --topology torus:2x2 --output try.cal

In the lab, which sets OPTIQ_TOPOLOGY:
  optiq lab up --topology torus:4x4
  optiq lab run -- optiq calibrate --output lab.calibration
  optiq lab down

Cases on which predictions will be judged must not be in --cases.")]
pub struct Arguments {
    /// The network: torus:4x4, mesh:4x4, bgq:1024, star:16 or file:net.toml, with the rate of its links, such as
    /// ,capacity=100Mbit/s; or auto: one switch between the hosts, and the rate is measured, for sessions with
    /// OPTIQ_TOPOLOGY=auto [default: OPTIQ_TOPOLOGY]
    #[arg(long, value_name = "SPEC")]
    topology: Option<String>,
    /// The file to write; - is standard output
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// The exchanges on which link efficiencies are measured: training, which is the patterns disjoint, overlap and subset with
    /// sizes that follow from what was measured before; or a file of cases as for optiq bench
    #[arg(long, value_name = "FILE|training", default_value = "training")]
    cases: String,
    /// Timed repetitions of each exchange
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repetitions: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        // What is wrong with the arguments is said once, before MPI begins.
        let network = self.network()?;
        let listed = match self.cases.as_str() {
            "training" => None,
            name => Some(request::cases(name).map_err(Failure::Input)?),
        };
        ranks::run(
            |world| {
                let request = CalibrationRequest {
                    network: network.clone().map_or_else(|| guessed_network(world), Ok)?,
                    listed: listed.clone(),
                    cases_name: self.cases.clone(),
                    repetitions: self.repetitions as usize,
                    command: command(),
                };
                let root = world.rank() == 0;
                let target = match root {
                    true => Some(Target::new(&self.output).map_err(|e| e.sentence().to_owned())?),
                    false => None,
                };
                let progress = root.then(|| Progress::start("measuring"));
                let say = |doing: String| progress.iter().for_each(|p| p.now(doing.clone()));
                Ok(measure(world, &request, &say)?.zip(target))
            },
            |(calibration, target)| finish(&calibration, &target, self.json),
        )?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Arguments {
    /// Of `--topology`, or of the configuration as a program would have it; nothing if it is to be guessed under MPI.
    fn network(&self) -> Result<Option<Network>, Failure> {
        Config::read().usable().map_err(|error| Failure::Input(error.to_string()))?;
        let spec = specification(self.topology.as_deref(), "--topology SPEC")?;
        if is_auto(&spec) {
            return Ok(None);
        }
        let named = if self.topology.is_some() { "--topology" } else { "OPTIQ_TOPOLOGY" };
        Network::from_spec(&spec).map(Some).map_err(|e| Failure::Input(format!("{named}: {e}")))
    }
}

/// The command as it was given, for the record.
fn command() -> String {
    let arguments = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once("optiq".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// Writes the record, and prints what was measured.
fn finish(calibration: &Calibration, target: &Target, json: bool) -> Result<(), Failure> {
    let notes: String = calibration.notes.iter().map(|note| format!("# {note}\n")).collect();
    let text = format!("# The record of a machine, written by optiq calibrate.\n{notes}{}", calibration.record());
    target.write(|out| out.write_all(text.as_bytes()))?;
    let document = CalibrationDocument::new(calibration, target.path());
    if json { output::print_json(Schema::Calibrate, &document) } else { output::print(&document.text()) }
}
