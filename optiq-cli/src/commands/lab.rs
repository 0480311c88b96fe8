//! `optiq lab`: a real network on this machine, for real programs.

use crate::failure::Failure;
use crate::progress::Progress;
use crate::{output, table};
use clap::{Args, Subcommand};
use optiq_lab::{End, Lab, LabError, MpiFlavour, Outcome, Rate, RunOptions, Status, UpOptions, network_at};
use optiq_net::Network;
use serde::Serialize;
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

/// Bring up a real network on this machine (network namespaces, shaped links), and run MPI programs in it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq lab up --topology torus:4x4 --rate 100Mbit/s
  optiq lab run --ranks-per-host 1 -- hostname
  optiq lab down")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Up(Up),
    Run(Run),
    Exec(Exec),
    Status(StatusOf),
    Down(Down),
}

/// Which lab.
#[derive(Debug, Args)]
struct Which {
    /// The lab's name, where there are several
    #[arg(long, default_value = Lab::DEFAULT_NAME)]
    name: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Bring up a lab: a namespace for each host and router, a veth pair for each link. Root is not needed where the system
/// permits user namespaces
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  optiq lab up --topology star:4 --rate 50Mbit/s\n  optiq lab down")]
struct Up {
    /// The network, such as torus:4x4 or star:8; a file: says its capacities itself
    #[arg(long, value_name = "SPEC")]
    topology: String,
    /// The speed of every link, such as 100Mbit/s or 12.5MB/s [default: 100Mbit/s, or as the file says]
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// Take the lab down by itself after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    lifetime: Option<Duration>,
    #[command(flatten)]
    which: Which,
}

/// Run an MPI program on the lab's hosts; what follows `--` is the program. Its exit status is passed on (124 if its
/// time was up)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq lab up --topology star:2
  optiq lab run --ranks 2 --timeout 60 -- hostname
  optiq lab down")]
struct Run {
    /// Ranks on each host
    #[arg(long, value_name = "N", default_value_t = 1)]
    ranks_per_host: usize,
    /// Ranks in all [default: as many as there are places]
    #[arg(long, value_name = "N")]
    ranks: Option<usize>,
    /// End the program after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// The MPI library whose launcher starts the program: openmpi or mpich [default: the one that the program is linked
    /// with]
    #[arg(long, value_name = "LIBRARY")]
    mpi: Option<MpiFlavour>,
    /// A further argument for mpirun; may be given several times
    #[arg(long = "mpirun-argument", value_name = "ARGUMENT", allow_hyphen_values = true)]
    launcher: Vec<OsString>,
    #[command(flatten)]
    which: Which,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Run a plain command on one host of the lab. Its exit status is passed on
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq lab up --topology star:2
  optiq lab exec h1 -- hostname
  optiq lab down")]
struct Exec {
    /// The host
    host: String,
    /// End the command after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    #[command(flatten)]
    which: Which,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    program: Vec<OsString>,
}

/// Show the labs that are up
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  optiq lab status\n  optiq lab status --json")]
struct StatusOf {
    /// Only the lab of this name, which must be up
    #[arg(long)]
    name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Take a lab down, with every program in it
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  optiq lab up --topology star:2\n  optiq lab down")]
struct Down {
    #[command(flatten)]
    which: Which,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let expected = || "a number of seconds above zero is expected".to_owned();
    let seconds: f64 = text.parse().map_err(|_| expected())?;
    Duration::try_from_secs_f64(seconds).ok().filter(|d| !d.is_zero()).ok_or_else(expected)
}

#[derive(Serialize)]
struct LabsDocument {
    labs: Vec<LabDocument>,
}

#[derive(Serialize)]
struct LabDocument {
    name: String,
    topology: String,
    hosts: Vec<HostDocument>,
    namespaces: usize,
    links: Vec<LinkDocument>,
    age_seconds: u64,
    process: i64,
}

#[derive(Serialize)]
struct HostDocument {
    name: String,
    fabric_address: String,
    management_address: String,
}

#[derive(Serialize)]
struct LinkDocument {
    from: String,
    to: String,
    rate_bytes_per_second: f64,
    cut: bool,
}

#[derive(Serialize)]
struct OutcomeDocument {
    end: End,
    status: i32,
    seconds: f64,
    stdout: String,
}

#[derive(Serialize)]
struct DownDocument {
    name: String,
    was_up: bool,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        match self.action {
            Action::Up(up) => up.run(),
            Action::Run(run) => run.run(),
            Action::Exec(exec) => exec.run(),
            Action::Status(status) => status.run(),
            Action::Down(down) => down.run(),
        }
    }
}

impl Up {
    fn run(self) -> Result<ExitCode, Failure> {
        let progress = Progress::start(format!("bringing up {}", self.topology));
        let network = match self.rate {
            None if self.topology.trim().starts_with("file:") => Network::from_spec(&self.topology)?,
            rate => network_at(&self.topology, rate.map_or_else(|| Rate::from_bits(100e6), Ok)?)?,
        };
        let options = UpOptions { name: self.which.name, lifetime: self.lifetime, ..UpOptions::default() };
        let status = Lab::up(&network, &options)?.status()?;
        drop(progress);
        if self.which.json {
            output::print_json(&LabDocument::new(status))?;
        } else {
            output::print(&line(&status))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Run {
    fn run(self) -> Result<ExitCode, Failure> {
        let lab = Lab::open(&self.which.name, None)?;
        let outcome = lab.run(
            &self.program,
            &RunOptions {
                ranks: self.ranks,
                ranks_per_host: self.ranks_per_host,
                flavour: self.mpi,
                launcher_args: self.launcher,
                timeout: self.timeout,
                capture: self.which.json,
            },
        )?;
        pass_on(outcome, self.timeout, self.which.json)
    }
}

impl Exec {
    fn run(self) -> Result<ExitCode, Failure> {
        let lab = Lab::open(&self.which.name, None)?;
        let outcome = lab.exec(&self.host, &self.program, self.timeout, self.which.json)?;
        pass_on(outcome, self.timeout, self.which.json)
    }
}

impl StatusOf {
    fn run(self) -> Result<ExitCode, Failure> {
        let labs = match &self.name {
            Some(name) => vec![Lab::open(name, None)?.status()?],
            None => optiq_lab::list(None)?,
        };
        if self.json {
            output::print_json(&LabsDocument { labs: labs.into_iter().map(LabDocument::new).collect() })?;
        } else if labs.is_empty() {
            output::print("no lab is up\n")?;
        } else {
            output::print(&labs.iter().map(line).collect::<String>())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Down {
    fn run(self) -> Result<ExitCode, Failure> {
        let name = self.which.name;
        let was_up = Lab::find(&name, None)?.down()?;
        if self.which.json {
            output::print_json(&DownDocument { name, was_up })?;
        } else if was_up {
            output::print(&format!("lab {name} is down\n"))?;
        } else {
            output::print(&format!("lab {name} had ended; what it left is removed\n"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Passes on how a program ended.
fn pass_on(outcome: Outcome, timeout: Option<Duration>, json: bool) -> Result<ExitCode, Failure> {
    if json {
        output::print_json(&OutcomeDocument {
            end: outcome.end,
            status: outcome.status,
            seconds: outcome.seconds,
            stdout: String::from_utf8_lossy(&outcome.stdout).into_owned(),
        })?;
    } else {
        let limit = timeout.map_or(0.0, |t| t.as_secs_f64());
        match outcome.end {
            End::Exited => {}
            End::TimedOut => eprintln!("optiq: the program was ended, as its {} were up", table::seconds(limit)),
            End::Interrupted(signal) => eprintln!("optiq: the program was ended by signal {signal}"),
            End::LabGone => return Err(LabError::State("the lab was taken down while the program ran".into()).into()),
        }
    }
    Ok(ExitCode::from(u8::try_from(outcome.status).unwrap_or(1)))
}

impl LabDocument {
    fn new(status: Status) -> Self {
        let host = |h: &optiq_lab::Host| HostDocument {
            name: h.name.clone(),
            fabric_address: h.fabric.to_string(),
            management_address: h.management.to_string(),
        };
        let link = |l: &optiq_lab::LabLink| LinkDocument {
            from: l.from.clone(),
            to: l.to.clone(),
            rate_bytes_per_second: l.rate.bytes(),
            cut: l.cut,
        };
        LabDocument {
            hosts: status.hosts.iter().map(host).collect(),
            links: status.links.iter().map(link).collect(),
            namespaces: status.namespaces,
            age_seconds: status.age_seconds,
            process: i64::from(status.holder.pid),
            name: status.name,
            topology: status.topology,
        }
    }
}

/// A lab in one line.
fn line(status: &Status) -> String {
    let cut = status.links.iter().filter(|l| l.cut).count();
    let cut = if cut > 0 { format!(" ({cut} cut)") } else { String::new() };
    format!(
        "lab {}: {}, {}, {}{cut}, up for {} s\n",
        status.name,
        status.topology,
        table::count(status.hosts.len(), "host"),
        table::count(status.links.len(), "link"),
        status.age_seconds
    )
}
