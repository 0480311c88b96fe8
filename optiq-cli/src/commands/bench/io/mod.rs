//! `optiq bench io`: all ranks' bytes to one file through the I/O hosts, as HACC writes its checkpoints (thesis 6.5.3).

mod file;
mod measure;

use crate::failure::Failure;
use crate::output;
use clap::Args;
use optiq_net::units;
use optiq_view::table;
use serde::Serialize;
use std::path::PathBuf;

/// Collective file access: OPTIQ against MPI_Alltoallv to each host's default I/O host with a write there, and against
/// MPI_File_write_at_all; also without writing, and reading back. Started on every rank by mpirun; OPTIQ_TOPOLOGY names a
/// network with I/O hosts
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq bench io --help

On 4 ranks of this machine, which stand for the hosts of a small torus:
  OPTIQ_TOPOLOGY=torus:2x2,io=0+3 OPTIQ_PLACEMENT=rank mpirun -n 4 optiq bench io
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
        measure::run(&self, |document| match self.json {
            true => output::print_json(document),
            false => output::print(&document.text()),
        })
    }
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// The network.
    pub topology: String,
    pub io_hosts: Vec<String>,
    pub ranks: usize,
    pub hosts: usize,
    pub total_bytes: u64,
    pub least_bytes: u64,
    pub most_bytes: u64,
    pub seed: u64,
    pub repetitions: usize,
    /// The MPI library.
    pub mpi: String,
    /// OMPI_MCA_io, if it was set.
    pub io_component: Option<String>,
    pub io_budget_bytes: u64,
    /// The most buffer memory that OPTIQ's accesses had at any rank.
    pub peak_buffer_bytes: u64,
    /// The most resident memory of any rank, from /proc; with the program and the rank's own bytes.
    pub peak_resident_bytes: u64,
    /// How OPTIQ wrote.
    pub decision: String,
    /// Bytes for each I/O host, by both rules.
    pub balanced_bytes: Vec<u64>,
    pub default_bytes: Vec<u64>,
    pub sides: Vec<Side>,
    pub ratios: Ratios,
    /// Every file was read back and every byte was right.
    pub verified: bool,
}

/// One way of doing it.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    pub name: &'static str,
    pub seconds: Vec<f64>,
    pub median_seconds: f64,
    /// No execution on these routes is faster; none where the MPI library chooses who aggregates.
    pub link_bound_seconds: Option<f64>,
    pub bytes_per_second: f64,
}

/// Medians of the others over OPTIQ's.
#[derive(Clone, Debug, Serialize)]
pub struct Ratios {
    /// Aggregation to the default I/O host by MPI_Alltoallv and a write there, end to end.
    pub over_mpi_alltoallv_default: Option<f64>,
    /// The same with OPTIQ's assignment.
    pub over_mpi_alltoallv_balanced: Option<f64>,
    pub over_mpi_file_write_at_all: f64,
    pub over_mpi_file_read_at_all: f64,
    /// Without writing.
    pub aggregation_over_mpi_alltoallv_default: Option<f64>,
    pub aggregation_over_mpi_alltoallv_balanced: Option<f64>,
}

impl Document {
    fn text(&self) -> String {
        let component = self.io_component.as_ref().map_or(String::new(), |c| format!(", files by {c}"));
        let of = |bytes: &[u64]| {
            let pairs = self.io_hosts.iter().zip(bytes);
            pairs.map(|(host, &b)| format!("{host} {}", table::bytes(b as f64))).collect::<Vec<_>>().join(", ")
        };
        let mut text = format!(
            "{}: {} ranks on {} hosts, {} to {} each, {} in all{component}\nbalanced: {}; by default: {}\n{}\n\
             buffers of {} at most at an I/O host; OPTIQ_IO_BUDGET is {}\n\n",
            self.topology,
            self.ranks,
            self.hosts,
            table::bytes(self.least_bytes as f64),
            table::bytes(self.most_bytes as f64),
            table::bytes(self.total_bytes as f64),
            of(&self.balanced_bytes),
            of(&self.default_bytes),
            self.decision,
            table::bytes(self.peak_buffer_bytes as f64),
            table::bytes(self.io_budget_bytes as f64)
        );
        let mut rows = vec![["", "median", "link bound", "per second"].map(String::from).to_vec()];
        for side in &self.sides {
            let bound = side.link_bound_seconds.map_or(String::new(), table::seconds);
            let rate = table::bytes(side.bytes_per_second);
            rows.push(vec![side.name.replace('_', " "), table::seconds(side.median_seconds), bound, rate]);
        }
        text += &table::table(&rows);
        let r = &self.ratios;
        let mut line = |what: &str, ratio: Option<f64>| {
            if let Some(ratio) = ratio {
                text.push_str(&format!("{ratio:.2} times as fast as {what}\n"));
            }
        };
        line("MPI_Alltoallv to the default I/O hosts and a write there", r.over_mpi_alltoallv_default);
        line("MPI_Alltoallv with the balanced assignment and a write there", r.over_mpi_alltoallv_balanced);
        line("MPI_File_write_at_all", Some(r.over_mpi_file_write_at_all));
        line("MPI_File_read_at_all", Some(r.over_mpi_file_read_at_all));
        line("MPI_Alltoallv to the default I/O hosts, without writing", r.aggregation_over_mpi_alltoallv_default);
        line("MPI_Alltoallv with the balanced assignment, without writing", r.aggregation_over_mpi_alltoallv_balanced);
        text
    }
}
