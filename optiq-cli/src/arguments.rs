//! Arguments that several commands share.

use crate::failure::Failure;
use crate::progress::Progress;
use clap::Args;
use optiq_net::{Network, units};
use optiq_solver::demands::{self, Demand};
use optiq_solver::pipeline::PlanOptions;
use optiq_solver::{CandidateMethod, PlannerOptions};
use serde::Serialize;
use std::path::PathBuf;

/// Which network.
#[derive(Debug, Args)]
pub struct Topology {
    /// The network: torus:4x4, mesh:4x4, bgq:1024, star:16 or file:net.toml, with options such as
    /// ,capacity=100Mbit/s,routing=longest
    #[arg(long, value_name = "SPEC")]
    pub topology: String,
}

impl Topology {
    /// Makes the network.
    pub fn load(&self, progress: &Progress) -> Result<Network, Failure> {
        progress.now(format!("reading {}", self.topology));
        Ok(Network::from_spec(&self.topology)?)
    }
}

/// How long a message is unless the demands say it.
pub const MESSAGE: &str = "8MiB";

/// Which bytes go where.
#[derive(Debug, Args)]
pub struct Demands {
    /// pattern:disjoint, overlap, subset, alltoall or random (with ,KEY=VALUE: sources, destinations; count, seed, min,
    /// max), or file:PATH with a line SRC DST BYTES for each demand
    #[arg(long, value_name = "DEMANDS")]
    pub demands: String,
    /// Bytes of each demand of a pattern
    #[arg(long, value_name = "SIZE", default_value = MESSAGE, value_parser = units::parse_bytes, allow_hyphen_values = true)]
    pub message: u64,
}

impl Demands {
    /// Reads or makes the demands.
    pub fn load(&self, net: &Network, progress: &Progress) -> Result<Vec<Demand>, Failure> {
        progress.now(format!("reading {}", self.demands));
        Ok(demands::parse(&self.demands, net, self.message)?)
    }
}

/// Which candidate paths.
#[derive(Debug, Args)]
pub struct Search {
    /// Candidate paths for each pair, at most
    #[arg(long, default_value_t = 50, allow_hyphen_values = true)]
    pub k: usize,
    /// How they are found: yen (the k shortest), diverse (through all pairs of ports), via (direct or through one other
    /// host), or auto (diverse where hosts are joined directly, via with switches)
    #[arg(long, value_name = "METHOD", default_value = "auto")]
    pub method: CandidateMethod,
}

/// Which planner.
#[derive(Debug, Args)]
pub struct Planning {
    #[command(flatten)]
    pub search: Search,
    /// direct (the network's own routes), heu1 (equal shares), heu2 (chunk by chunk), lp (linear program) or optimal
    /// (first-order method, within 1 % of every routing)
    #[arg(long, value_name = "NAME", default_value = "heu2")]
    pub planner: String,
    /// heu1: paths that a link may carry, to begin with
    #[arg(long, value_name = "PATHS", default_value_t = PlannerOptions::default().maxload)]
    pub maxload: u32,
    /// heu2: bytes that are assigned at a time
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = units::parse_bytes, allow_hyphen_values = true)]
    pub chunk: u64,
    /// Take the candidate paths from a path file (`optiq paths --output`) instead of searching them
    #[arg(long, value_name = "FILE")]
    pub paths: Option<PathBuf>,
}

impl Planning {
    /// The solver's options for `planner`.
    pub fn options(&self, planner: &str) -> PlanOptions {
        PlanOptions {
            planner: planner.to_owned(),
            k: self.search.k,
            method: self.search.method,
            maxload: self.maxload,
            chunk: self.chunk,
            candidate_file: self.paths.clone(),
            ..PlanOptions::default()
        }
    }
}

/// What the figures of a JSON document belong to.
#[derive(Clone, Debug, Serialize)]
pub struct Context {
    /// Canonical specification.
    pub topology: String,
    pub network_fingerprint: String,
    /// As given.
    pub demands: String,
    pub demands_fingerprint: String,
    /// All demands together.
    pub demand_bytes: u64,
}

impl Context {
    pub fn new(net: &Network, text: &str, demands: &[Demand]) -> Self {
        Context {
            topology: net.spec().to_owned(),
            network_fingerprint: net.fingerprint().to_string(),
            demands: text.to_owned(),
            demands_fingerprint: demands::fingerprint(demands).to_string(),
            demand_bytes: demands.iter().fold(0u64, |sum, d| sum.saturating_add(d.bytes)),
        }
    }
}
