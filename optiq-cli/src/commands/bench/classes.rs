//! `optiq bench classes`: an urgent exchange beside a bulk.

use crate::arguments::duration;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::ranks;
use clap::Args;
use optiq_net::units::parse_bytes;
use optiq_studies::bench::classes::{self, ClassTimes, Request};
use std::time::Duration;

/// An urgent exchange that is started while a bulk moves: what both take alone, by MPI_Ialltoallv, without priority classes and with them, in
/// turn. Started on every rank by mpirun; OPTIQ_TOPOLOGY names the network, which `optiq lab run` sees to
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq bench classes --help

In the lab:
  optiq lab up --topology torus:4x4
  optiq lab run -- optiq bench classes --bulk-message 4MB --message 64KiB
  optiq lab down")]
pub struct Classes {
    /// The bulk: a pattern or a file, as for optiq plan
    #[arg(long, value_name = "DEMANDS", default_value = "pattern:disjoint")]
    bulk: String,
    /// Bytes for each pair of the bulk's pattern
    #[arg(long, value_name = "SIZE", default_value = "4MB", value_parser = size)]
    bulk_message: u64,
    /// The urgent exchange: a pattern or a file
    #[arg(long, value_name = "DEMANDS", default_value = "pattern:random,count=8")]
    urgent: String,
    /// Bytes for each pair of its pattern
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = size)]
    message: u64,
    /// Its priority class
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    class: u8,
    /// How long after the bulk it is started, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "0.02", value_parser = duration)]
    after: Duration,
    /// Timed repetitions of each
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repetitions: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn size(text: &str) -> Result<u64, String> {
    parse_bytes(text).map_err(|e| e.to_string())
}

impl Classes {
    pub fn run(self) -> Result<(), Failure> {
        let request = Request {
            bulk: (self.bulk, self.bulk_message),
            urgent: (self.urgent, self.message),
            class: self.class,
            after: self.after,
            repetitions: self.repetitions as usize,
        };
        let json = self.json;
        let show = |times: ClassTimes| match json {
            true => output::print_json(Schema::BenchClasses, &times),
            false => output::print(&times.text()),
        };
        ranks::run_on_several(|world| classes::measure(world, &request), show)
    }
}
