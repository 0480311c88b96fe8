//! `optiq transfers show`.

use super::refused::refused;
use crate::failure::Failure;
use crate::output::{self, Schema};
use clap::Args;
use optiq_lower::transfers::{Transfer, TransferList};
use optiq_transport::Rank;
use optiq_view::table;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what a job file holds
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq transfers show to_bridges.jobs
  optiq transfers show to_bridges.jobs --rank 3 --json")]
pub struct Arguments {
    /// The job file, or - for standard input
    file: PathBuf,
    /// Only transfers that begin or end at this rank
    #[arg(long, value_name = "RANK")]
    rank: Option<u32>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct TransfersShowDocument {
    topology: Option<String>,
    ranks_at_least: u32,
    bytes: u64,
    transfers: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    source_rank: u32,
    destination_rank: u32,
    bytes: u64,
    paths: usize,
    hops_max: usize,
    /// Of the path with most of the bytes; none if paths have no shares.
    largest_path_bytes: Option<u64>,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let transfers = TransferList::read(&self.file).map_err(refused)?;
        let rank = self.rank.map(Rank);
        let wanted = |j: &&Transfer| rank.is_none_or(|r| j.source == r || j.destination == r);
        let shown: Vec<Shown> = transfers.list().iter().filter(wanted).map(shown).collect();
        let bytes = shown.iter().fold(0u64, |sum, t| sum.saturating_add(t.bytes));
        let topology = transfers.topology().map(str::to_owned);
        let document = TransfersShowDocument { topology, ranks_at_least: transfers.ranks(), bytes, transfers: shown };
        if self.json {
            output::print_json(Schema::TransfersShow, &document)?;
        } else {
            output::print(&document.text())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn shown(transfer: &Transfer) -> Shown {
    Shown {
        source_rank: transfer.source.0,
        destination_rank: transfer.destination.0,
        bytes: transfer.bytes,
        paths: transfer.paths.len(),
        hops_max: transfer.paths.iter().map(|p| p.vertices.len() - 1).max().unwrap_or(0),
        largest_path_bytes: transfer.paths.iter().filter_map(|p| p.bytes).max(),
    }
}

impl TransfersShowDocument {
    fn text(&self) -> String {
        let mut rows = vec![["from", "to", "bytes", "paths", "hops", "most on one"].map(str::to_owned).to_vec()];
        rows.extend(self.transfers.iter().map(|j| {
            let largest = j.largest_path_bytes.map_or("-".into(), |b| table::bytes(b as f64));
            let size = table::bytes(j.bytes as f64);
            [
                j.source_rank.to_string(),
                j.destination_rank.to_string(),
                size,
                j.paths.to_string(),
                j.hops_max.to_string(),
                largest,
            ]
            .to_vec()
        }));
        let network = self.topology.as_deref().unwrap_or("no network is named");
        let transfers = table::count(self.transfers.len(), "transfer");
        format!("{}\n{transfers}, {}; {network}\n", table::table(&rows), table::bytes(self.bytes as f64))
    }
}
