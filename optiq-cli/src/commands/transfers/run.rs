//! `optiq transfers run`: executes a job file under `mpirun`, and looks at every byte.

use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::ranks;
use clap::Args;
use mpi::topology::SimpleCommunicator;
use mpi::traits::AsRaw;
use optiq::{Config, Session};
use optiq_lower::LowerError;
use optiq_lower::transfers::TransferList;
use optiq_measure::statistics::median;
use optiq_net::units;
use optiq_studies::bench::timing;
use optiq_transport::Rank;
use optiq_view::table;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Execute a job file under mpirun, every byte checked. Without OPTIQ_TOPOLOGY the file's own network is used
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq transfers run --help

On 16 ranks of this machine:
  mpirun -n 16 optiq transfers run to_bridges.jobs --datasize 1MiB --json")]
pub struct Arguments {
    /// The job file
    file: PathBuf,
    /// Bytes of every transfer in place of those in the file
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes, allow_hyphen_values = true)]
    datasize: Option<u64>,
    /// Timed repetitions, after one that is not counted
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repetitions: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct TransfersRunDocument {
    file: String,
    topology: Option<String>,
    ranks: u32,
    transfers: usize,
    bytes: u64,
    served_by: String,
    transport: String,
    seconds: Vec<f64>,
    median_seconds: f64,
    bytes_per_second: f64,
    /// What the links need at least on the paths that were taken.
    link_bound_seconds: Option<f64>,
    verified: bool,
}

/// A byte of a transfer: its position and the transfer say which.
fn contents(transfer: usize, i: u64) -> u8 {
    (i.wrapping_mul(7).wrapping_add(i / 251).wrapping_add(transfer as u64 * 31)) as u8
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        ranks::run(
            |world| self.execute(world),
            |document| {
                if self.json {
                    output::print_json(Schema::TransfersRun, &document)
                } else {
                    output::print(&document.text())
                }
            },
        )?;
        Ok(ExitCode::SUCCESS)
    }

    fn execute(&self, world: &SimpleCommunicator) -> Result<Option<TransfersRunDocument>, String> {
        let words = |e: LowerError| e.to_string();
        let mut transfers = TransferList::read(&self.file).map_err(words)?;
        let mut config = Config::read().usable().map_err(|error| error.to_string())?;
        config.strict = true;
        config.topology = config.topology.or_else(|| transfers.topology().map(str::to_owned));
        // SAFETY: a valid communicator, and the session is dropped before MPI is finalised.
        let session = unsafe { Session::new(world.as_raw(), config) }.map_err(|e| e.to_string())?;
        let (rank, size) = (session.rank(), session.size());
        transfers.check_ranks(size).map_err(words)?;
        for transfer in 0..transfers.list().len() {
            transfers.set_bytes(transfer, self.datasize.unwrap_or(transfers.list()[transfer].bytes)).map_err(words)?;
        }
        let (mut send, mut expected) = (Vec::new(), Vec::new());
        for (number, transfer) in transfers.list().iter().enumerate() {
            for (end, buffer) in [(transfer.source, &mut send), (transfer.destination, &mut expected)] {
                if end == rank {
                    buffer.extend((0..transfer.bytes).map(|i| contents(number, i)));
                }
            }
        }
        let mut receive = vec![0u8; expected.len()];
        let mut seconds = Vec::new();
        for repetition in 0..=self.repetitions {
            receive.fill(0);
            let execute = || session.execute_transfers(&transfers, &send, &mut receive).map_err(|e| e.to_string());
            let longest = timing::seconds(world, execute)?;
            if receive != expected {
                return Err(format!("wrong bytes arrived at rank {rank}"));
            }
            if repetition > 0 {
                seconds.push(longest);
            }
        }
        if rank != Rank(0) {
            return Ok(None);
        }
        let bytes = transfers.list().iter().fold(0u64, |sum, j| sum.saturating_add(j.bytes));
        let median_seconds = median(&seconds).unwrap_or(0.0);
        let decision = session.decision();
        let link_bound_seconds = match &decision {
            optiq::Decision::Multipath { congestion_seconds, .. } => Some(*congestion_seconds),
            _ => None,
        };
        Ok(Some(TransfersRunDocument {
            file: self.file.display().to_string(),
            topology: session.network().map(|n| n.spec().to_string()),
            ranks: size,
            transfers: transfers.list().len(),
            bytes,
            served_by: decision.to_string(),
            transport: session.transport().to_string(),
            bytes_per_second: bytes as f64 / median_seconds,
            seconds,
            median_seconds,
            link_bound_seconds,
            verified: true,
        }))
    }
}

impl TransfersRunDocument {
    fn text(&self) -> String {
        let line = |label: &str, value: String| vec![label.to_owned(), value];
        let bound = self.link_bound_seconds.map_or("-".into(), |bound| {
            format!("{} ({})", table::seconds(bound), table::percent(bound / self.median_seconds))
        });
        table::list(&[
            line(
                "transfers",
                format!("{} between {} ranks, {}", self.transfers, self.ranks, table::bytes(self.bytes as f64)),
            ),
            line("network", self.topology.clone().unwrap_or_else(|| "none".into())),
            line("served by", self.served_by.clone()),
            line("median time", table::seconds(self.median_seconds)),
            line("throughput", format!("{}/s", table::bytes(self.bytes_per_second))),
            line("link bound", bound),
            line("bytes", "all are right".into()),
        ])
    }
}
