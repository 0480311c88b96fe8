//! `optiq bench`: measurements under `mpirun`.

pub mod measure;

use crate::failure::Failure;
use crate::{output, table};
use clap::{Args, Subcommand};
use measure::{Comparison, Request, Side};
use optiq_net::units::parse_bytes;
use std::process::ExitCode;

/// Measure under mpirun: plain MPI and OPTIQ in turn in one job, every byte checked
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq bench alltoallv --help

A job of 16 ranks in the lab:
  optiq lab up --topology torus:4x4
  optiq lab run -- optiq bench alltoallv --demands pattern:disjoint --message 4MB
  optiq lab down")]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Alltoallv(Alltoallv),
}

/// MPI_Alltoallv against optiq_alltoallv. Started on every rank by mpirun; OPTIQ_TOPOLOGY names the network, which
/// `optiq lab run` sees to
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq bench alltoallv --help

On 4 ranks of this machine, which stand for the hosts of a small torus:
  OPTIQ_TOPOLOGY=torus:2x2 OPTIQ_PLACEMENT=rank mpirun -n 4 optiq bench alltoallv --message 1MiB")]
pub struct Alltoallv {
    /// Which host sends what to which: a pattern or a file, as for optiq plan
    #[arg(long, value_name = "DEMANDS", default_value = "pattern:disjoint")]
    demands: String,
    /// Bytes per pair of a pattern
    #[arg(long, value_name = "SIZE", default_value = "4MB", value_parser = parse_bytes, allow_hyphen_values = true)]
    message: u64,
    /// Timed repetitions of each
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repetitions: u32,
    /// The planner [default: as OPTIQ chooses]
    #[arg(long, value_name = "NAME")]
    planner: Option<String>,
    /// Use the plan even where OPTIQ would leave the exchange to plain MPI
    #[arg(long)]
    force: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let What::Alltoallv(a) = self.what;
        let request = Request {
            demands: a.demands,
            message_bytes: a.message,
            repetitions: a.repetitions as usize,
            planner: a.planner,
            force: a.force,
        };
        if let Some(comparison) = measure::run(&request).map_err(Failure::Work)? {
            if a.json { output::print_json(&comparison)? } else { output::print(&text(&comparison))? }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The comparison for people.
pub fn text(c: &Comparison) -> String {
    let row = |name: &str, side: &Side, ratio: String| {
        vec![
            name.to_string(),
            table::seconds(side.median_seconds),
            table::seconds(side.link_bound_seconds),
            table::percent(side.share_of_bound),
            ratio,
            table::seconds(side.first_seconds),
        ]
    };
    let head = ["", "median", "link bound", "share of bound", "speed-up", "first call"].map(String::from).to_vec();
    format!(
        "{} on {}, {} ranks, {} repetitions, {} over the network\n\n{}\nOPTIQ: {} ({})\n{}\n",
        c.demands,
        c.topology,
        c.ranks,
        c.mpi.seconds.len(),
        table::bytes(c.total_bytes as f64),
        table::table(&[
            head,
            row("MPI_Alltoallv", &c.mpi, "1.00 x".into()),
            row("optiq_alltoallv", &c.optiq, format!("{:.2} x", c.ratio)),
        ]),
        c.decision,
        c.transport,
        if c.verified { "every byte of every repetition is right" } else { "WRONG BYTES" },
    )
}
