//! `optiq probe impact`, `compression`, `link` and `proxy`: real messages under `mpirun`.

use super::report;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::ranks;
use clap::Args;
use optiq_net::units::{parse_bytes, parse_picoseconds};
use optiq_probe::constants::COMPRESSION_MESSAGE_BYTES;
use optiq_probe::description::{CompressionB, ImpactB, LinkProbe};
use optiq_probe::measure::calibration::Calibration;
use optiq_probe::predict::table::TrainingTable;
use optiq_studies::bench::probe::run::{self, ProbeKind, ProbeRequest};
use optiq_studies::proxies;
use std::cell::Cell;
use std::path::PathBuf;
use std::process::ExitCode;

/// The longest interval or sleep, in nanoseconds.
const MOST_NANOSECONDS: u64 = 1000 * 1_000_000_000;
/// Bytes of a message: what MPI's counters of one message hold, and a head.
const MOST_BYTES: u64 = 1 << 30;

/// A time with its unit, in nanoseconds.
fn nanoseconds(text: &str) -> Result<u64, String> {
    let time = parse_picoseconds(text).map_err(|e| e.to_string())? / 1000;
    if (1..=MOST_NANOSECONDS).contains(&time) { Ok(time) } else { Err("1ns to 1000s is expected".into()) }
}

fn message(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text).map_err(|e| e.to_string())?;
    if (1..=MOST_BYTES).contains(&bytes) { Ok(bytes) } else { Err("1 byte to 1 GiB is expected".into()) }
}

/// What all of them take.
#[derive(Debug, Args)]
struct Common {
    /// Of everything that is random
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
    /// End with status 3 if the numbers are worthless
    #[arg(long)]
    strict: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// What probes take that measure latencies.
#[derive(Debug, Args)]
struct Probing {
    /// Bytes of a message
    #[arg(long, value_name = "SIZE", default_value = "1KiB", value_parser = message)]
    message: u64,
    /// From the end of an exchange to the next one; they differ by up to 5 %
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = nanoseconds)]
    interval: u64,
    /// Samples of each pair
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    samples: u32,
    /// A training table (optiq probe predict), whose calibration says what latencies tell of the utilisation
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

/// Measure how long small messages wait in a switch: nodes are paired and exchange 1 KiB now and then, and a sample is half of a
/// round trip. Started on every rank by mpirun
///
/// Nodes are told apart by the names of their processors, or by OPTIQ_TOPOLOGY and OPTIQ_PLACEMENT. The noise of timer and scheduler
/// is measured first and while the probe runs; where it is as large as what messages wait, the command says that its numbers are worthless.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq probe impact --help

In a lab of four hosts:
  optiq lab up --topology star:4
  optiq lab run -- optiq probe impact --interval 20ms
  optiq lab down")]
pub struct Impact {
    #[command(flatten)]
    probing: Probing,
    #[command(flatten)]
    common: Common,
}

/// Take capacity of a switch away: each rank sends messages to those on the nodes before its own, sleeps, waits for all of them, and begins
/// again. Started on every rank by mpirun
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq probe compression --help

In a lab of four hosts, 41 KB to two of them each 100 ms, 30 times:
  optiq lab up --topology star:4
  optiq lab run -- optiq probe compression --partners 2 --sleep 100ms --samples 30
  optiq lab down")]
pub struct Compression {
    /// To how many nodes a rank sends: P
    #[arg(long, value_name = "P", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    partners: u32,
    /// Messages to each: M
    #[arg(long, value_name = "M", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    messages: u32,
    /// From the start of a round to the next one, or longer if messages take longer: B, in time
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = nanoseconds)]
    sleep: u64,
    /// Bytes of a message
    #[arg(long, value_name = "SIZE", default_value_t = COMPRESSION_MESSAGE_BYTES, value_parser = message)]
    message: u64,
    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    samples: u32,
    #[command(flatten)]
    common: Common,
}

/// Measure how long small messages take along one path, in one direction: the first rank on a node sends to the first rank on another.
/// Started on every rank by mpirun; other ranks do nothing
///
/// A sample is a difference of two clocks. They are set by messages to and fro before, and compared after: if one has jumped, that is said
/// and there is no result.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq probe link --help

In a lab of four hosts, from h0 to h3:
  optiq lab up --topology star:4
  optiq lab run -- optiq probe link --from h0 --to h3 --interval 20ms
  optiq lab down")]
pub struct Link {
    /// The node that sends [default: that of rank 0]
    #[arg(long, value_name = "NODE", requires = "to")]
    from: Option<String>,
    /// The node that receives [default: the first other one]
    #[arg(long, value_name = "NODE", requires = "from")]
    to: Option<String>,
    #[command(flatten)]
    probing: Probing,
    #[command(flatten)]
    common: Common,
}

/// Run the communication of an application, computing included, with real messages: the same steps that the simulator runs. Started on
/// every rank by mpirun
///
/// The steps are of 144 or 64 ranks; on another number a rank keeps its work and its bytes. Computing is waited for, so that ranks that
/// share processors do not take them from each other.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq probe proxy --help

In a lab of four hosts, whose links are 200 times slower than those that the applications ran on:
  optiq lab up --topology star:4
  optiq lab run -- optiq probe proxy FFTW --stretch 200
  optiq lab down")]
pub struct Proxy {
    /// FFTW, Lulesh, MCB, MILC, VPFFT or AMG
    #[arg(value_name = "NAME")]
    name: String,
    /// How many times as long computing takes
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, allow_hyphen_values = true)]
    stretch: f64,
    /// Operations, after one that does not count
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    samples: u32,
    #[command(flatten)]
    common: Common,
}

impl Probing {
    fn calibration(&self) -> Result<Option<Calibration>, Failure> {
        let read = |path: &PathBuf| TrainingTable::read(path).map(|table| table.calibration);
        self.table.as_ref().map(read).transpose().map_err(|e| Failure::Input(e.to_string()))
    }
}

impl Impact {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let Probing { message: message_bytes, interval: interval_nanoseconds, samples, .. } = self.probing;
        let kind = ProbeKind::Impact(ImpactB { message_bytes, interval_nanoseconds });
        let calibration = self.probing.calibration()?;
        run(&ProbeRequest { kind, samples, seed: self.common.seed, calibration }, &self.common)
    }
}

impl Compression {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let Compression { partners, messages, sleep: sleep_nanoseconds, message: message_bytes, samples, common } =
            self;
        let kind = ProbeKind::Compression(CompressionB { partners, messages, message_bytes, sleep_nanoseconds });
        run(&ProbeRequest { kind, samples, seed: common.seed, calibration: None }, &common)
    }
}

impl Link {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let Probing { message: message_bytes, interval: interval_nanoseconds, samples, .. } = self.probing;
        let calibration = self.probing.calibration()?;
        let ends = self.from.zip(self.to).map(|(from, to)| [from, to]);
        let kind = ProbeKind::Link(LinkProbe { message_bytes, interval_nanoseconds }, ends);
        run(&ProbeRequest { kind, samples, seed: self.common.seed, calibration }, &self.common)
    }
}

impl Proxy {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let proxy = proxies::Proxy::named(&self.name)?;
        if !(1.0..=1e6).contains(&self.stretch) {
            return Err(Failure::Input(format!("--stretch is {}; 1 to 1,000,000 is expected", self.stretch)));
        }
        let kind = ProbeKind::Proxy(proxy, self.stretch);
        run(&ProbeRequest { kind, samples: self.samples, seed: self.common.seed, calibration: None }, &self.common)
    }
}

/// The exit status of numbers that say nothing, where that is asked for.
const WORTHLESS: u8 = 3;

fn run(request: &ProbeRequest, common: &Common) -> Result<ExitCode, Failure> {
    let config = optiq::Config::read().config;
    let worthless = Cell::new(false);
    ranks::run(
        |world| run::run(world, &config, request),
        |found| {
            worthless.set(found.is_worthless);
            match common.json {
                true => output::print_json(Schema::ProbeRun, &found),
                false => output::print(&report::text(&found)),
            }
        },
    )?;
    Ok(if common.strict && worthless.get() { ExitCode::from(WORTHLESS) } else { ExitCode::SUCCESS })
}
