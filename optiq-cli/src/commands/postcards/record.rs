//! `optiq postcards record`.

use crate::arguments::fraction;
use crate::commands::simulate::interrupt;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use crate::target::Target;
use clap::Args;
use optiq_net::units::{format_bytes, parse_bytes, parse_picoseconds, parse_rate};
use optiq_sim::jobs::allocation::Allocation;
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::run::{JobProgress, JobRunOptions, Jobs, Kind, run_kind};
use optiq_sim::{PostcardOptions, Postcards};
use optiq_trace::postcards::{POSTCARD_BYTES, encode};
use optiq_view::table;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

/// Simulate the jobs of a file, all together, and keep the postcards of marked packets
///
/// Postcards change nothing of what is simulated. Clocks, losses and marks follow from the job file's seed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq postcards record --jobs jobs.toml --output run.postcards
  optiq postcards record --jobs jobs.toml --one-in 1 --skew 0 --output run.postcards
  optiq postcards record --jobs jobs.toml --lost 10% --json --output run.postcards")]
pub struct Arguments {
    /// The job file; - is standard input
    #[arg(long, value_name = "FILE")]
    jobs: PathBuf,
    /// Where the postcards go; - is standard output
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// One command in this many is marked
    #[arg(long, value_name = "N", default_value_t = PostcardOptions::default().one_in, value_parser = clap::value_parser!(u32).range(1..))]
    one_in: u32,
    /// How far from true time the clock of a component may be, such as 1ms
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = parse_picoseconds)]
    skew: u64,
    /// The part of the postcards that is lost on the way to the file, such as 10% or 0.1
    #[arg(long, value_name = "PART", default_value = "0", value_parser = part)]
    lost: f64,
    /// The buffer of each component, in bytes
    #[arg(long, value_name = "SIZE", default_value = "2KiB", value_parser = parse_bytes)]
    buffer: u64,
    /// How fast a buffer is emptied
    #[arg(long, value_name = "RATE", default_value = "1Gbit/s", value_parser = parse_rate)]
    drain: f64,
    /// How many different tags a source's packets have, one after the other
    #[arg(long, value_name = "N", default_value_t = PostcardOptions::default().tags, value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    tags: u32,
    /// Have the ranks of measured jobs end after their samples, as for `optiq simulate`
    #[arg(long)]
    finite: bool,
    /// Simulate with this seed in place of the file's
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Threads of the simulator [default: all processors]; results are the same with any number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: Option<u8>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn part(text: &str) -> Result<f64, String> {
    let part = fraction(text).filter(|part| (0.0..1.0).contains(part));
    part.ok_or_else(|| "a part from 0 to below 1 is expected, such as 10% or 0.1".into())
}

#[derive(Serialize)]
struct RecordedDocument<'a> {
    title: &'a str,
    topology: &'a str,
    marked_commands: u64,
    postcards: u64,
    overwritten_postcards: u64,
    lost_postcards: u64,
    simulated_seconds: f64,
    wall_seconds: f64,
    file_bytes: u64,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        if (self.buffer as usize) < POSTCARD_BYTES {
            return Err(Failure::Input(format!(
                "--buffer: found {}; a postcard takes {POSTCARD_BYTES} bytes, so at least these are expected",
                format_bytes(self.buffer)
            )));
        }
        let target = Target::new(&self.output)?;
        let progress = Progress::start("reading the job file");
        let mut file = JobFile::read(&self.jobs)?;
        file.seed = self.seed.unwrap_or(file.seed);
        progress.now("building the network");
        let network = file.load_network()?;
        let model = file.load_model(&network)?;
        let allocation = Allocation::new(&file, &network)?;
        let jobs =
            Jobs { file: &file, network: &network, model: &model, allocation: &allocation, planning_networks: &[] };
        let tell = |now: JobProgress| progress.now(format!("simulating: {} of all samples", table::percent(now.part)));
        let options = JobRunOptions {
            threads: self.threads.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from),
            postcards: Some(PostcardOptions {
                one_in: self.one_in,
                skew_nanoseconds: self.skew / 1000,
                buffer_bytes: usize::try_from(self.buffer).unwrap_or(usize::MAX),
                drain_bytes_per_second: self.drain,
                lost: self.lost,
                tags: self.tags,
                seed: file.seed,
                ..PostcardOptions::default()
            }),
            is_finite: self.finite,
            stop: Some(interrupt::watch()?),
            progress: Some(&tell),
            ..JobRunOptions::default()
        };
        let (run, _) = run_kind(&jobs, Kind::Together, &options)?;
        let Postcards { collection, lost, marked, .. } = run.postcards.as_ref().cloned().unwrap_or_default();
        let bytes = encode(&collection);
        target.write(|out| out.write_all(&bytes))?;
        drop(progress);
        let document = RecordedDocument {
            title: &file.title,
            topology: network.spec(),
            marked_commands: marked,
            postcards: collection.postcards() as u64,
            overwritten_postcards: collection.overwritten(),
            lost_postcards: lost,
            simulated_seconds: run.time.seconds(),
            wall_seconds: run.wall_seconds,
            file_bytes: bytes.len() as u64,
        };
        match self.json {
            true => output::print_json(Schema::PostcardsRecord, &document)?,
            false if self.output.as_os_str() == "-" => {}
            false => output::print(&format!(
                "{}: {} of {} marked, {} kept ({}), {} written over, {} lost; {} simulated in {}\n",
                file.title,
                table::count(marked as usize, "command"),
                table::percent(1.0 / f64::from(self.one_in)),
                table::count(collection.postcards(), "postcard"),
                table::bytes(bytes.len() as f64),
                collection.overwritten(),
                lost,
                table::seconds(run.time.seconds()),
                table::seconds(run.wall_seconds)
            ))?,
        }
        Ok(if run.is_complete() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
