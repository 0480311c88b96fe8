//! What was measured about collective file access: one document.

use crate::quartiles::Quartiles;
use optiq_view::table;
use serde::Serialize;

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct FileAccess {
    /// The network.
    pub topology: String,
    /// The hosts through which the file is reached.
    pub io_hosts: Vec<String>,
    /// MPI ranks.
    pub ranks: usize,
    /// Hosts with ranks.
    pub hosts: usize,
    /// Bytes of all ranks.
    pub total_bytes: u64,
    /// As asked for.
    pub least_bytes: u64,
    /// As asked for.
    pub most_bytes: u64,
    /// As asked for.
    pub seed: u64,
    /// Timed repetitions of each.
    pub repetitions: usize,
    /// The MPI library.
    pub mpi: String,
    /// OMPI_MCA_io, if it was set.
    pub io_component: Option<String>,
    /// OPTIQ_IO_BUDGET.
    pub io_budget_bytes: u64,
    /// The buffer that MPI's own aggregators are asked to have.
    pub collective_buffer_bytes: u64,
    /// The most buffer memory that OPTIQ's accesses had at any rank.
    pub peak_buffer_bytes: u64,
    /// The most resident memory of any rank, from /proc; with the program and the rank's own bytes.
    pub peak_resident_bytes: u64,
    /// How OPTIQ wrote.
    pub decision: String,
    /// Bytes for each I/O host by OPTIQ's rule.
    pub balanced_bytes: Vec<u64>,
    /// Bytes for each I/O host by the default rule.
    pub default_bytes: Vec<u64>,
    /// Each method.
    pub sides: Vec<FileSide>,
    /// Medians of the others over OPTIQ's.
    pub ratios: FileRatios,
    /// Every file was read back and every byte was right.
    pub verified: bool,
}

/// One method.
#[derive(Clone, Debug, Serialize)]
pub struct FileSide {
    /// What it is.
    pub name: &'static str,
    /// The timed repetitions, in order.
    pub seconds: Vec<f64>,
    /// Their median.
    pub median_seconds: f64,
    /// Their quartiles.
    #[serde(flatten)]
    pub quartiles: Quartiles,
    /// No execution on these routes is faster; none where the MPI library chooses who aggregates.
    pub link_bound_seconds: Option<f64>,
    /// All bytes over the median.
    pub bytes_per_second: f64,
}

/// Medians of the others over OPTIQ's.
#[derive(Clone, Debug, Serialize)]
pub struct FileRatios {
    /// Aggregation to the default I/O host by MPI_Alltoallv and a write there, both together.
    pub over_mpi_alltoallv_default: Option<f64>,
    /// The same with OPTIQ's assignment.
    pub over_mpi_alltoallv_balanced: Option<f64>,
    /// Writing.
    pub over_mpi_file_write_at_all: f64,
    /// Reading back.
    pub over_mpi_file_read_at_all: f64,
    /// Without writing.
    pub aggregation_over_mpi_alltoallv_default: Option<f64>,
    /// Without writing, with OPTIQ's assignment.
    pub aggregation_over_mpi_alltoallv_balanced: Option<f64>,
}

impl FileAccess {
    /// As text.
    pub fn text(&self) -> String {
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
        let mut rows = vec![["", "median (quartiles)", "link bound", "per second"].map(String::from).to_vec()];
        for side in &self.sides {
            let bound = side.link_bound_seconds.map_or(String::new(), table::seconds);
            let rate = table::bytes(side.bytes_per_second);
            rows.push(vec![side.name.replace('_', " "), side.quartiles.beside(side.median_seconds), bound, rate]);
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
