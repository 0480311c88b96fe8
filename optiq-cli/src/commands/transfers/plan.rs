//! `optiq transfers plan`.

use super::refused::refused;
use crate::arguments::{MESSAGE, Planning, Topology};
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use crate::target::Target;
use clap::Args;
use optiq_lower::placement::Placement;
use optiq_lower::transfers::TransferList;
use optiq_net::{Network, NodeId, units};
use optiq_solver::demands;
use optiq_transport::Rank;
use optiq_view::table;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Find paths for transfers, and write a job file: text, or JSON if its name ends with .json
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq transfers plan --topology torus:4x4 --to 0,10 --bytes 750KB --output to_bridges.jobs
  optiq transfers plan --topology bgq:512 --ranks-per-host 2 --demands pattern:disjoint --output d.json --json")]
pub struct Arguments {
    #[command(flatten)]
    topology: Topology,
    /// Ranks on each host, in rank order, as with OPTIQ_PLACEMENT=rank:K
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    ranks_per_host: u32,
    /// The transfers: pattern:NAME or file:PATH, as for optiq plan; the first rank of each host has them
    #[arg(long, value_name = "DEMANDS", required_unless_present = "to")]
    demands: Option<String>,
    /// Every rank has a transfer to the nearest of these ranks, such as the bridge nodes' first; the less busy one of several
    #[arg(long, value_name = "RANKS", value_delimiter = ',', conflicts_with = "demands")]
    to: Vec<u32>,
    /// Bytes of each transfer, with --to or a pattern
    #[arg(long, value_name = "SIZE", default_value = MESSAGE, value_parser = units::parse_bytes, allow_hyphen_values = true)]
    bytes: u64,
    #[command(flatten)]
    planning: Planning,
    /// The job file to write; - is standard output
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Print one JSON document about it
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct TransfersPlanDocument {
    output: String,
    topology: String,
    ranks: usize,
    transfers: usize,
    paths: usize,
    bytes: u64,
    planner: String,
    congestion_seconds: f64,
    direct_congestion_seconds: f64,
    bound_seconds: f64,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let target = Target::new(&self.output)?;
        let progress = Progress::start("planning");
        let net = self.topology.load(&progress)?;
        let placement = Placement::by_rank(&net, net.hosts() * self.ranks_per_host as usize, self.ranks_per_host)
            .map_err(Failure::Input)?;
        let mut transfers = self.transfers(&net, &placement)?;
        progress.now(format!("{} transfers", transfers.list().len()));
        let options = self.planning.options(self.planning.planner());
        let figures = transfers.search(&net, &placement, &options).map_err(refused)?;
        drop(progress);
        let json = self.output.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
        let text = if json { transfers.to_json().map_err(refused)? + "\n" } else { transfers.to_text() };
        target.write(|out| out.write_all(text.as_bytes()))?;
        let document = TransfersPlanDocument {
            output: self.output.display().to_string(),
            topology: net.spec().to_string(),
            ranks: placement.len(),
            transfers: transfers.list().len(),
            paths: transfers.list().iter().map(|j| j.paths.len()).sum(),
            bytes: transfers.list().iter().fold(0, |sum, j| sum.saturating_add(j.bytes)),
            planner: figures.planner,
            congestion_seconds: figures.congestion_seconds,
            direct_congestion_seconds: figures.direct_congestion_seconds,
            bound_seconds: figures.bound_seconds,
        };
        if self.json {
            output::print_json(Schema::TransfersPlan, &document)?;
        } else {
            output::print(&document.text())?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn transfers(&self, net: &Network, placement: &Placement) -> Result<TransferList, Failure> {
        let mut transfers = TransferList::new();
        if let Some(text) = &self.demands {
            for demand in demands::parse(text, net, self.bytes)? {
                let first = |host: NodeId| placement.ranks(host).first().copied().unwrap_or_default();
                transfers.add(first(demand.src), first(demand.dst), demand.bytes).map_err(refused)?;
            }
            return Ok(transfers);
        }
        let ranks = placement.len() as u32;
        let to: Vec<Rank> = self.to.iter().copied().map(Rank).collect();
        if let Some(wrong) = to.iter().find(|r| r.0 >= ranks) {
            return Err(Failure::Input(format!("--to names rank {wrong}; there are {ranks} ranks")));
        }
        let mut busy = vec![0u64; self.to.len()];
        for rank in (0..ranks).map(Rank) {
            let mut nearest = None;
            for (i, &to) in to.iter().enumerate() {
                let mut route = Vec::new();
                net.route(placement.host(rank), placement.host(to), &mut route)?;
                let key = (route.len(), busy[i], i);
                nearest = Some(nearest.map_or(key, |best: (usize, u64, usize)| best.min(key)));
            }
            if let Some((_, _, i)) = nearest {
                busy[i] += 1;
                transfers.add(rank, to[i], self.bytes).map_err(refused)?;
            }
        }
        Ok(transfers)
    }
}

impl TransfersPlanDocument {
    fn text(&self) -> String {
        let line = |label: &str, value: String| vec![label.to_owned(), value];
        let times = |seconds: f64| {
            let direct = self.direct_congestion_seconds;
            let share =
                if seconds > 0.0 { format!(" ({:.2} x lighter than direct)", direct / seconds) } else { String::new() };
            table::seconds(seconds) + &share
        };
        table::list(&[
            line("job file", self.output.clone()),
            line("network", self.topology.clone()),
            line(
                "transfers",
                format!("{} between {} ranks, {}", self.transfers, self.ranks, table::bytes(self.bytes as f64)),
            ),
            line("paths", format!("{} by planner {}", self.paths, self.planner)),
            line("link bound", times(self.congestion_seconds)),
            line("of any routing", table::seconds(self.bound_seconds)),
        ])
    }
}
