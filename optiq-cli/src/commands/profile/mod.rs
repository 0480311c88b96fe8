//! `optiq profile`: who sends what to whom.

mod document;
mod lines;
mod show;

use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::preload::{Launch, add_options, checked};
use clap::{Args, Subcommand, ValueEnum};
use optiq_trace::profile::rank_file::RankProfile;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub use show::complete;

/// Run an MPI program and count what each rank sends to each other one
///
/// Counts by region of the code, and inside collectives too. Sets LD_PRELOAD and becomes the command, as optiq wrap does, in front of a
/// program or of its launcher; but no call is taken over.
/// Open MPI 4 or later counts the messages (its component pml_monitoring, part of a stock build); with other MPI libraries the arguments of
/// point-to-point and one-sided calls are counted, which leaves out what collectives send. Each rank writes one file
/// at MPI_Finalize. Regions are marked by MPI_Pcontrol(1, "name") and MPI_Pcontrol(-1, "name"), or by optiq_region_begin and
/// optiq_region_end. To profile a program while its exchanges go over planned paths: optiq wrap --profile DIR.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  optiq profile -- mpirun -n 16 ./app input.nml
  optiq profile --output run1 --signal usr1 -- mpirun -n 16 ./app
  mpirun -n 16 optiq profile --output run2 -- ./app
  optiq profile --call-sites --output run3 -- mpirun -n 16 ./app
  optiq profile show run1
  optiq profile show run1 --region solve --csv > solve.csv

optiq traffic puts a profile on the links of a network."
)]
pub struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    run: RunArguments,
}

#[derive(Debug, Subcommand)]
enum What {
    Show(show::Arguments),
}

/// The signals upon which a profile may be written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Signal {
    Usr1,
    Usr2,
}

impl Signal {
    fn option(self) -> &'static str {
        match self {
            Signal::Usr1 => "USR1",
            Signal::Usr2 => "USR2",
        }
    }
}

/// Who counts messages.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Counter {
    /// Open MPI's monitoring component, inside collectives too
    Monitoring,
    /// The arguments of point-to-point and one-sided calls, and OPTIQ's own transports
    Calls,
}

impl Counter {
    fn option(self) -> &'static str {
        match self {
            Counter::Monitoring => "monitoring",
            Counter::Calls => "calls",
        }
    }
}

#[derive(Debug, Args)]
struct RunArguments {
    /// The directory for the files, one of each rank; made if it is not there
    #[arg(long, value_name = "DIR", default_value = "optiq-profile")]
    output: PathBuf,
    /// Also write when the ranks get this signal, as of then; mpirun hands it on to them
    #[arg(long, value_name = "SIGNAL")]
    signal: Option<Signal>,
    /// Also count by the line of the program that called MPI, which costs a few microseconds for each call that sends; lines need
    /// debug information (-g) when the profile is shown
    #[arg(long)]
    call_sites: bool,
    /// Who counts messages [default: Open MPI where it is the library, else calls]
    #[arg(long, value_name = "SOURCE")]
    source: Option<Counter>,
    /// The preload library [default: liboptiq_pmpi.so beside this program, or in ../lib or ../lib64 from there]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Any other option, such as OPTIQ_LOG=info; may be given several times
    #[arg(long = "option", value_name = "NAME=VALUE")]
    options: Vec<String>,
    /// Print what would be run and set as one JSON document, and run nothing
    #[arg(long)]
    json: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        match self.what {
            Some(What::Show(arguments)) => arguments.run(),
            None => self.run.run(),
        }
    }
}

impl RunArguments {
    /// Becomes the command.
    fn run(self) -> Result<ExitCode, Failure> {
        let launch = Launch::new(self.library.as_deref(), self.variables()?, &self.command)?;
        if launch.has_launcher() {
            refuse_old_files(&self.output)?;
        }
        if self.json {
            output::print_json(Schema::ProfileRun, &launch)?;
            return Ok(ExitCode::SUCCESS);
        }
        launch.run("there will be no profile; link it dynamically")
    }

    fn variables(&self) -> Result<BTreeMap<String, String>, Failure> {
        let output = std::path::absolute(&self.output)
            .map_err(|e| Failure::Input(format!("--output {} cannot be used: {e}", self.output.display())))?;
        let output = output.into_os_string().into_string().map_err(|found| {
            Failure::Input(format!("--output is {found:?}, which is not UTF-8; the path of a directory is expected"))
        })?;
        let mut set = BTreeMap::from([
            ("OPTIQ_PROFILE".to_string(), output),
            // A network may be given for other reasons, and no call is to be taken over.
            ("OPTIQ_ALGORITHM".to_string(), "mpi".to_string()),
        ]);
        if let Some(signal) = self.signal {
            set.insert("OPTIQ_PROFILE_SIGNAL".into(), signal.option().into());
        }
        if self.call_sites {
            set.insert("OPTIQ_PROFILE_CALL_SITES".into(), "1".into());
        }
        if let Some(source) = self.source {
            set.insert("OPTIQ_PROFILE_SOURCE".into(), source.option().into());
        }
        add_options(&self.options, &mut set)?;
        checked(&set)?;
        Ok(set)
    }
}

/// Files of another run must not be taken for this one's. In front of each rank nobody can tell: others may have ended.
fn refuse_old_files(folder: &Path) -> Result<(), Failure> {
    let old = std::fs::read_dir(folder).into_iter().flatten().flatten().find(|e| RankProfile::is_named(&e.path()));
    match old {
        Some(file) => Err(Failure::Input(format!(
            "--output {} holds the profile of another run ({}); a new or empty directory is expected",
            folder.display(),
            file.file_name().to_string_lossy()
        ))),
        None => Ok(()),
    }
}
