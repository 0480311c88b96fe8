//! `optiq wrap`: runs a program under the preload library.

use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::preload::{Launch, add_options, checked};
use clap::Args;
use optiq::Settings;
use optiq_net::spec::{AUTO, is_auto};
use optiq_net::{NetError, Network};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run a program with MPI_Alltoallv taken over, without changing it
///
/// Sets LD_PRELOAD and the OPTIQ_* options and becomes the command: its exit status and signals are its own. Works in front
/// of a program (mpirun -n 4 optiq wrap -- ./app) and in front of a launcher (optiq wrap -- mpirun -n 4 ./app), which is told
/// to hand the variables on to all ranks. Other preloaded libraries stay; OPTIQ comes first, and passes on to them what it
/// does not serve. Where no network is given by argument, environment or optiq.conf, OPTIQ_TOPOLOGY=auto is set: every processor
/// name is a host, one switch joins them, and ranks measure the rate of its links. The status is 127 if the command is not found, and 126 if it cannot be executed. Nothing can be preloaded
/// into a statically linked program: it runs as it is, and a line on standard error says so.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq wrap --report -- mpirun -n 16 ./app input.nml
  optiq wrap --topology torus:4x4 --report -- mpirun -n 16 ./app input.nml
  mpirun -n 16 optiq wrap --topology net.toml -- ./app input.nml
  optiq wrap --topology torus:4x4 --take alltoallv,alltoall --json -- ./app")]
pub struct Arguments {
    /// The preload library [default: liboptiq_pmpi.so beside this program, or in ../lib or ../lib64 from there]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The network, as in OPTIQ_TOPOLOGY; auto guesses it when the program runs, one switch between the hosts [default: what
    /// OPTIQ_TOPOLOGY or optiq.conf says, else auto]
    #[arg(long, value_name = "SPEC")]
    topology: Option<String>,
    /// Which host each rank is on, as in OPTIQ_PLACEMENT: auto, names, rank:K or file:FILE
    #[arg(long, value_name = "RULE")]
    placement: Option<String>,
    /// Whether to use planned paths, as in OPTIQ_ALGORITHM: auto, multipath or mpi
    #[arg(long, value_name = "NAME")]
    algorithm: Option<String>,
    /// The functions to take over, as in OPTIQ_PRELOAD: a list of alltoallv, alltoall, ialltoallv, neighbor_alltoallv,
    /// neighbor_alltoall, ineighbor_alltoallv
    #[arg(long, value_name = "LIST")]
    take: Option<String>,
    /// Have each rank write what it sends to whom into this directory as well, as in OPTIQ_PROFILE; see optiq profile
    #[arg(long, value_name = "DIR")]
    profile: Option<String>,
    /// Any other option, such as OPTIQ_BUDGET=128MiB; may be given several times
    #[arg(long = "option", value_name = "NAME=VALUE")]
    options: Vec<String>,
    /// Have rank 0 say at the end how many calls were served, and why others were not
    #[arg(long)]
    report: bool,
    /// Print what would be run and set as one JSON document, and run nothing
    #[arg(long)]
    json: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What a program calls that nothing can be preloaded into.
const INSTEAD: &str = "link it dynamically, or have it call optiq_alltoallv";

impl Arguments {
    /// Becomes the command.
    pub fn run(self) -> Result<ExitCode, Failure> {
        let launch = Launch::new(self.library.as_deref(), self.variables()?, &self.command)?;
        if self.json {
            output::print_json(Schema::Wrap, &launch)?;
            return Ok(ExitCode::SUCCESS);
        }
        launch.run(INSTEAD)
    }

    /// The options that were given as arguments, checked.
    fn variables(&self) -> Result<BTreeMap<String, String>, Failure> {
        let mut set = BTreeMap::new();
        for (name, value) in [
            ("OPTIQ_TOPOLOGY", &self.topology),
            ("OPTIQ_PLACEMENT", &self.placement),
            ("OPTIQ_ALGORITHM", &self.algorithm),
            ("OPTIQ_PRELOAD", &self.take),
            ("OPTIQ_PROFILE", &self.profile),
        ] {
            if let Some(value) = value {
                set.insert(name.to_string(), value.clone());
            }
        }
        if self.report {
            set.insert("OPTIQ_REPORT".into(), "1".into());
        }
        add_options(&self.options, &mut set)?;
        let read = checked(&set)?;
        let given = read.config.topology.as_deref();
        if given.is_none() && Settings::read().resolve().config.topology.is_none() {
            set.insert("OPTIQ_TOPOLOGY".into(), AUTO.into());
        }
        if let Some(spec) = self.topology.as_deref().filter(|spec| !is_auto(spec)) {
            // Here it is one sentence; in the ranks it would be a warning and a run without OPTIQ.
            Network::from_spec_within(spec, read.config.max_hosts).map_err(|error| match error {
                NetError::TooLarge { .. } => Failure::Input(format!("{error}; OPTIQ_MAX_HOSTS raises the limit")),
                other => other.into(),
            })?;
        }
        Ok(set)
    }
}
