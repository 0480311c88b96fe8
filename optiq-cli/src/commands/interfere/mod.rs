//! `optiq interfere`.

mod document;
mod found;
mod text;

use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use clap::Args;
use document::InterfereDocument;
use found::Found;
use optiq_sim::jobs::adviser;
use optiq_sim::jobs::allocation::Allocation;
use optiq_sim::jobs::certificate::Certificate;
use optiq_sim::jobs::file::JobFile;
use std::path::PathBuf;
use std::process::ExitCode;

/// Say from the routes alone which links jobs share, how much of their traffic passes these, and which jobs cannot slow
/// each other; with --advise, which placement keeps them apart best
///
/// Nothing is simulated. That two jobs share no host and no link, and so cannot slow each other, is a certificate under the
/// fabric's own routes; where routers choose, or directions around rings are drawn, everything is an estimate. The exit status
/// is 0; with --check it is 1 unless all pairs of jobs are certified.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq interfere --jobs jobs.toml
  optiq interfere --jobs jobs.toml --advise --seeds 8 --json
  optiq interfere --jobs jobs.toml --check && echo 'these jobs cannot slow each other'

A job file:
  network = \"fattree:brown1296\"
  [[job]]
  name = \"solver\"
  hosts = 612
  placement = \"random-switch\"
  program = \"pairs,message=4MB,think=500us,jitter=5%\"
  [[job]]
  name = \"checkpoint\"
  hosts = 612
  placement = \"random-switch\"
  servers = \"isolated-target:72:congruent\"
  program = \"io-write,request=4MB,window=2ms\"")]
pub struct Arguments {
    /// The job file; - is standard input
    #[arg(long, value_name = "FILE")]
    jobs: PathBuf,
    /// Look for the placement of jobs and I/O servers with which they meet least
    #[arg(long)]
    advise: bool,
    /// With --advise, how many seeds of random placements are tried, from the file's on
    #[arg(long, value_name = "NUMBER", default_value_t = 4, requires = "advise",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(adviser::MAX_SEEDS)))]
    seeds: u32,
    /// How many shared links of each pair of jobs, and how many placements, are listed
    #[arg(long, value_name = "NUMBER", default_value_t = 8)]
    most: usize,
    /// End with status 1 unless no two jobs can slow each other
    #[arg(long)]
    check: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let progress = Progress::start("reading the job file");
        let file = JobFile::read(&self.jobs)?;
        progress.now("building the network");
        let network = file.load_network()?;
        let model = file.load_model(&network)?;
        let allocation = Allocation::new(&file, &network)?;
        progress.now("following the routes of all jobs");
        let pair = |i, n| progress.now(format!("pair {} of {n}", i + 1));
        let certificate = Certificate::new(&file, &network, &model, &allocation, pair)?;
        let advice = self.advise.then(|| {
            adviser::advise(&file, &network, &model, self.seeds, |i, n| {
                progress.now(format!("placement {} of {n}", i + 1));
                true
            })
        });
        let advice = advice.transpose()?;
        drop(progress);
        let found = Found {
            file: &file,
            network: &network,
            model: &model,
            allocation: &allocation,
            certificate: &certificate,
            advice: advice.as_ref(),
            most: self.most,
        };
        match self.json {
            true => output::print_json(Schema::Interfere, &InterfereDocument::new(&found))?,
            false => output::print(&text::text(&found))?,
        }
        let fails = self.check && !certificate.is_certified();
        Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}
