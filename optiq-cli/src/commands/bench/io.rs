//! `optiq bench io`: all ranks' bytes to one file through the I/O hosts, as HACC writes its checkpoints (thesis 6.5.3).

use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::ranks;
use clap::Args;
use optiq_net::units;
use optiq_studies::bench::io::measure::{self, Request};
use std::path::PathBuf;

/// Collective file access: OPTIQ against MPI_Alltoallv to each host's default I/O host with a write there, and against
/// MPI_File_write_at_all; also without writing, and reading back. Started on every rank by mpirun; OPTIQ_TOPOLOGY names a
/// network with I/O hosts
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq bench io --help

On 2 ranks of this machine, which stand for the hosts of a small network:
  OPTIQ_TOPOLOGY=star:2,io=0 OPTIQ_PLACEMENT=rank mpirun -n 2 optiq bench io
As in the thesis, 8 ranks on each host of a lab, with the MPI library's ROMIO for files:
  optiq lab up --topology torus:4x4,io=0+10
  OMPI_MCA_io=romio321 optiq lab run --ranks-per-host 8 --mpirun-argument=-x --mpirun-argument=OMPI_MCA_io -- \\
    optiq bench io
  optiq lab down

Which component for files Open MPI uses is chosen when a program starts: run it once for each.")]
pub struct Io {
    /// The fewest bytes of a rank
    #[arg(long, value_name = "SIZE", default_value = "700KB", value_parser = units::parse_bytes)]
    least: u64,
    /// The most bytes of a rank; the number in between is random
    #[arg(long, value_name = "SIZE", default_value = "800KB", value_parser = units::parse_bytes)]
    most: u64,
    /// For the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Timed repetitions of each
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repetitions: u32,
    /// Where files are written, and removed afterwards; all ranks must see it [default: rank 0's directory for temporary
    /// files]
    #[arg(long, value_name = "DIRECTORY")]
    folder: Option<PathBuf>,
    /// Move data over planned paths even where OPTIQ would leave it to plain MPI
    #[arg(long)]
    force: bool,
    /// Leave out the exchanges without a file and those by MPI_Alltoallv, which need memory for all bytes at the I/O hosts
    #[arg(long)]
    files_only: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Io {
    pub fn run(self) -> Result<(), Failure> {
        if self.least > self.most {
            return Err(Failure::Input(format!(
                "--least is {} bytes and --most {}; the first must not be larger",
                self.least, self.most
            )));
        }
        let json = self.json;
        let request = Request {
            least: self.least,
            most: self.most,
            seed: self.seed,
            repetitions: self.repetitions,
            folder: self.folder,
            force: self.force,
            files_only: self.files_only,
        };
        ranks::run_on_several(
            |world| {
                let progress = ranks::progress(world, "measuring");
                measure::measure(world, &request, &|doing| progress.now(doing))
            },
            |document| match json {
                true => output::print_json(Schema::BenchIo, &document),
                false => output::print(&document.text()),
            },
        )
    }
}
