//! `optiq lab`: a real network on this machine, for real programs.

#[cfg(feature = "mpi")]
mod congestion;
mod job_argument;
#[cfg(feature = "mpi")]
mod jobs;
#[cfg(feature = "mpi")]
mod jobs_document;
mod load;
#[cfg(feature = "mpi")]
mod real_jobs;
mod taps;
mod which;

use crate::arguments::duration;
use crate::arguments::specification;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use clap::{Args, Subcommand};
use job_argument::JobArgument;
use optiq_lab::{
    End, Lab, LabError, LabJob, LabLink, LinkRate, MpiFlavour, Outcome, Profile, Rate, RunOptions, Status, Stream,
    UpOptions, network_as_given, network_at,
};
use optiq_net::units::parse_bytes;
use optiq_view::table;
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use which::Which;

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
    #[cfg(feature = "mpi")]
    Jobs(jobs::JobsOf),
    #[cfg(feature = "mpi")]
    Congestion(congestion::CongestionOf),
    Exec(Exec),
    Rate(RateOf),
    Load(load::Load),
    Counters(load::Counters),
    Cut(Cut),
    Restore(Restore),
    Status(StatusOf),
    Down(Down),
}

/// Bring up a lab: a namespace for each host and router, a veth pair for each link. Says what one stream reaches over a
/// shortest and a longest route. Root is not needed where the system permits user namespaces
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq lab up --topology star:4 --rate 50Mbit/s
  optiq lab down
  optiq lab up --topology fattree:2x2:1x2 --link-rate 's0:*=20Mbit/s' --no-calibration
  optiq lab down
  optiq lab up --topology torus:2x2 --profile shallow
  optiq lab down")]
struct Up {
    /// The network, such as torus:4x4, fattree:k=4, dragonfly:p=1,a=2,h=1 or star:8; a file says its capacities itself
    /// [default: OPTIQ_TOPOLOGY]
    #[arg(long, value_name = "SPEC")]
    topology: Option<String>,
    /// The speed of every link, such as 100Mbit/s or 12.5MB/s [default: as the topology says, or
    /// 100Mbit/s]
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// Another speed for one link, in this direction, below --rate; * stands for any vertex; may be given several times,
    /// and the last prevails. Programs in the lab learn it from OPTIQ_BACKGROUND
    #[arg(long = "link-rate", value_name = "FROM:TO=RATE")]
    link_rates: Vec<LinkRate>,
    #[arg(long, value_name = "PROFILE", default_value_t, help = profile_help())]
    profile: Profile,
    /// Do not measure what the links carry
    #[arg(long)]
    no_calibration: bool,
    /// Take the lab down automatically after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    lifetime: Option<Duration>,
    #[command(flatten)]
    which: Which,
}

/// The help of `--profile`: every profile in a few words.
fn profile_help() -> String {
    let each: Vec<String> = Profile::ALL.iter().map(|p| format!("{p} ({})", p.description())).collect();
    format!(
        "What kind of network it is, with any --rate and --link-rate: {}. Programs in the lab find the name in {}",
        each.join("; "),
        optiq_lab::PROFILE_VARIABLE
    )
}

/// Run an MPI program on the lab's hosts; what follows `--` is the program. Its exit status is passed on (124 if its
/// time was up). Or run several at once, each given as a --job; if one fails, all are ended
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq lab up --topology star:4
  optiq lab run --ranks 2 --timeout 60 -- hostname
  optiq lab run --job 'a@h[0-1]=hostname' --job 'b@h[2-3]=hostname'
  optiq lab run --taps taps --timeout 60 -- hostname
  optiq lab down

Every line that a job prints begins with its name. Options hold for each job: --ranks-per-host 2 gives each of its hosts two ranks.")]
struct Run {
    /// Ranks on each host
    #[arg(long, value_name = "N", default_value_t = 1)]
    ranks_per_host: usize,
    /// Ranks in all [default: as many as there are places]
    #[arg(long, value_name = "N")]
    ranks: Option<usize>,
    /// End the program after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    timeout: Option<Duration>,
    /// The MPI library whose launcher starts the program: openmpi or mpich [default: the one that the program is linked
    /// with]
    #[arg(long, value_name = "LIBRARY")]
    mpi: Option<MpiFlavour>,
    /// A further argument for mpirun; may be given several times
    #[arg(long = "mpirun-argument", value_name = "ARGUMENT", allow_hyphen_values = true)]
    launcher: Vec<OsString>,
    /// A program that runs beside others on these hosts, such as 'a@h[0-3]=./program argument'; given once for each
    #[arg(long = "job", value_name = "NAME@HOSTS=COMMAND")]
    jobs: Vec<JobArgument>,
    /// Hosts may be in several jobs
    #[arg(long)]
    shared_hosts: bool,
    /// Follow single bytes of all TCP streams through hosts and switches, as the kernel sees them, and write postcards of
    /// them into this directory, for optiq postcards join; made if it is not there
    #[arg(long, value_name = "DIR")]
    taps: Option<PathBuf>,
    /// With --taps: the distance of two followed bytes of a stream; a power of two
    #[arg(long, value_name = "SIZE", default_value = "64KiB", requires = "taps", value_parser = power_of_two)]
    tap_every: u32,
    #[command(flatten)]
    which: Which,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "jobs", conflicts_with = "jobs", value_name = "PROGRAM")]
    program: Vec<OsString>,
}

fn power_of_two(text: &str) -> Result<u32, String> {
    let size = parse_bytes(text).ok().and_then(|bytes| u32::try_from(bytes).ok()).filter(|n| n.is_power_of_two());
    size.ok_or_else(|| "a power of two from 1B to 2GiB is expected, such as 64KiB".into())
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
    /// End the command after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    which: Which,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    program: Vec<OsString>,
}

/// Which link of the lab.
#[derive(Debug, Args)]
struct Link {
    /// The vertex that sends: a host such as h0, or a switch such as s0
    from: String,
    /// Its neighbour
    to: String,
    /// The link in the other direction as well
    #[arg(long)]
    both: bool,
    #[command(flatten)]
    which: Which,
}

/// Change the speed of a link while the lab is up, and while programs run in it. Programs are not told
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq lab up --topology torus:2x2
  optiq lab rate h0 h1 10Mbit/s --both
  optiq lab down")]
struct RateOf {
    #[command(flatten)]
    link: Link,
    /// Its new speed, such as 10Mbit/s
    rate: Rate,
}

/// Cut a link while the lab is up: all that is sent over it is lost, without a notice
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq lab up --topology torus:2x2
  optiq lab cut h0 h1 --both
  optiq lab restore h0 h1 --both
  optiq lab down")]
struct Cut {
    #[command(flatten)]
    link: Link,
}

/// Restore a link that was cut, with the speed that it had
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq lab up --topology star:2
  optiq lab cut h0 s0
  optiq lab restore h0 s0
  optiq lab down")]
struct Restore {
    #[command(flatten)]
    link: Link,
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

#[derive(Serialize)]
struct LabsDocument {
    labs: Vec<LabDocument>,
}

#[derive(Serialize)]
struct LabDocument {
    name: String,
    topology: String,
    profile: Profile,
    #[serde(skip_serializing_if = "Option::is_none")]
    slow_host: Option<String>,
    hosts: Vec<HostDocument>,
    namespaces: usize,
    links: Vec<LinkDocument>,
    age_seconds: u64,
    process: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration: Option<Vec<StreamDocument>>,
}

/// What one stream reaches alone.
#[derive(Serialize)]
struct StreamDocument {
    from: String,
    to: String,
    links: usize,
    capacity_bytes_per_second: f64,
    bytes_per_second: f64,
    share: f64,
}

#[derive(Serialize)]
struct LinksDocument {
    links: Vec<LinkDocument>,
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
struct OutcomesDocument {
    /// That of the first job that failed by itself; 0 if none has.
    status: i32,
    jobs: Vec<JobOutcomeDocument>,
}

#[derive(Serialize)]
struct JobOutcomeDocument {
    name: String,
    #[serde(flatten)]
    outcome: OutcomeDocument,
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
            #[cfg(feature = "mpi")]
            Action::Jobs(jobs) => jobs.run(),
            #[cfg(feature = "mpi")]
            Action::Congestion(congestion) => congestion.run(),
            Action::Exec(exec) => exec.run(),
            Action::Rate(rate) => rate.run(),
            Action::Load(load) => load.run(),
            Action::Counters(counters) => counters.run(),
            Action::Cut(cut) => cut.link.change(|lab, from, to| lab.cut(from, to)),
            Action::Restore(restore) => restore.link.change(|lab, from, to| lab.restore(from, to)),
            Action::Status(status) => status.run(),
            Action::Down(down) => down.run(),
        }
    }
}

impl Up {
    fn run(self) -> Result<ExitCode, Failure> {
        let topology = specification(self.topology.as_deref(), "--topology SPEC")?;
        let progress = Progress::start(format!("bringing up {topology}"));
        let network = match self.rate {
            Some(rate) => network_at(&topology, rate)?,
            None => network_as_given(&topology, Rate::from_bits(100e6)?)?,
        };
        let options = UpOptions {
            name: self.which.name,
            lifetime: self.lifetime,
            profile: self.profile,
            link_rates: self.link_rates,
            ..UpOptions::default()
        };
        let lab = Lab::up(&network, &options)?;
        let status = lab.status()?;
        progress.now("measuring what the links carry");
        let streams = if self.no_calibration { None } else { calibrate(&lab) };
        drop(progress);
        if self.which.json {
            let calibration = streams.map(|s| s.into_iter().map(StreamDocument::from).collect());
            output::print_json(Schema::Lab, &LabDocument { calibration, ..LabDocument::new(status) })?;
        } else {
            let streams: String = streams.iter().flatten().map(stream_line).collect();
            output::print(&(line(&status) + &streams))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// How long each stream is counted.
const CALIBRATION: Duration = Duration::from_millis(500);

/// What the links carry. A lab that cannot be measured, for instance because its links are too slow for a stream to get
/// going in this time, is up all the same.
fn calibrate(lab: &Lab) -> Option<Vec<Stream>> {
    lab.calibrate(CALIBRATION).inspect_err(|e| log::warn!("the lab is up, but was not calibrated: {e}")).ok()
}

impl RateOf {
    fn run(self) -> Result<ExitCode, Failure> {
        let rate = self.rate;
        self.link.change(|lab, from, to| lab.set_rate(from, to, rate))
    }
}

impl Link {
    /// Changes the link, or both, and says what has become of them.
    fn change(self, change: impl Fn(&Lab, &str, &str) -> Result<(), LabError>) -> Result<ExitCode, Failure> {
        let lab = Lab::open(&self.which.name, None)?;
        let (from, to) = (self.from.as_str(), self.to.as_str());
        let mut ends = vec![(from, to)];
        ends.extend(self.both.then_some((to, from)));
        // A link without its opposite is refused before anything has changed.
        let found = |status: &Status| -> Result<Vec<LabLink>, LabError> {
            ends.iter().map(|&(from, to)| status.link(from, to).cloned()).collect()
        };
        found(&lab.status()?)?;
        for (from, to) in &ends {
            change(&lab, from, to)?;
        }
        let links = found(&lab.status()?)?;
        if self.which.json {
            output::print_json(
                Schema::LabLinks,
                &LinksDocument { links: links.iter().map(LinkDocument::new).collect() },
            )?;
        } else {
            output::print(&links.iter().map(link_line).collect::<String>())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Run {
    fn run(self) -> Result<ExitCode, Failure> {
        if self.shared_hosts && self.jobs.is_empty() {
            return Err(Failure::Input("--shared-hosts is about several jobs; --job is expected for each".into()));
        }
        let lab = Lab::open(&self.which.name, None)?;
        let options = RunOptions {
            ranks: self.ranks,
            ranks_per_host: self.ranks_per_host,
            flavour: self.mpi,
            launcher_args: self.launcher,
            timeout: self.timeout,
            capture: self.which.json,
        };
        let file = self.taps.as_deref().map(taps::prepare).transpose()?;
        let every = self.tap_every;
        let tap = file.as_ref().map(|_| lab.tap(every)).transpose()?;
        // What the taps saw is kept however the run ends.
        let ended = match self.jobs.is_empty() {
            true => {
                let outcome = lab.run(&self.program, &options);
                outcome.map_err(Failure::from).and_then(|outcome| pass_on(outcome, self.timeout, self.which.json))
            }
            false => {
                let jobs: Vec<LabJob> = self.jobs.into_iter().map(|JobArgument(job)| job).collect();
                run_several(&lab, &jobs, &options, self.shared_hosts)
            }
        };
        if let Some((tap, file)) = tap.zip(file) {
            taps::keep(tap.finish(), every, &file)?;
        }
        ended
    }
}

/// Runs jobs at once, and says how they ended. The exit status is that of the first one that was not ended because of another.
fn run_several(lab: &Lab, jobs: &[LabJob], options: &RunOptions, may_share: bool) -> Result<ExitCode, Failure> {
    let outcomes = lab.run_jobs(jobs, options, may_share, |_| Ok::<(), Failure>(()))?;
    let is_end = |o: &&Outcome| !matches!(o.end, End::Interrupted(_)) && o.status != 0;
    let failed = outcomes.iter().find(is_end).or(outcomes.iter().find(|o| o.status != 0));
    let status = failed.map_or(0, |o| o.status);
    if options.capture {
        let each = jobs.iter().zip(&outcomes);
        let jobs = each.map(|(job, o)| JobOutcomeDocument { name: job.name.clone(), outcome: OutcomeDocument::new(o) });
        output::print_json(Schema::LabOutcomes, &OutcomesDocument { status, jobs: jobs.collect() })?;
    } else {
        for (job, outcome) in jobs.iter().zip(&outcomes) {
            let limit = options.timeout.map_or(0.0, |t| t.as_secs_f64());
            match outcome.end {
                End::Exited if outcome.status == 0 => {}
                End::Exited => eprintln!("optiq: job {} ended with status {}", job.name, outcome.status),
                End::TimedOut => {
                    eprintln!("optiq: job {} was ended, as its {} were up", job.name, table::seconds(limit))
                }
                End::Interrupted(signal) => eprintln!("optiq: job {} was ended by signal {signal}", job.name),
                End::LabGone => return Err(LabError::State("the lab was taken down while the jobs ran".into()).into()),
            }
        }
    }
    Ok(ExitCode::from(u8::try_from(status).unwrap_or(1)))
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
            output::print_json(
                Schema::LabList,
                &LabsDocument { labs: labs.into_iter().map(LabDocument::new).collect() },
            )?;
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
            output::print_json(Schema::LabDown, &DownDocument { name, was_up })?;
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
        output::print_json(Schema::LabOutcome, &OutcomeDocument::new(&outcome))?;
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

impl OutcomeDocument {
    fn new(outcome: &Outcome) -> Self {
        OutcomeDocument {
            end: outcome.end,
            status: outcome.status,
            seconds: outcome.seconds,
            stdout: String::from_utf8_lossy(&outcome.stdout).into_owned(),
        }
    }
}

impl LabDocument {
    fn new(status: Status) -> Self {
        let host = |h: &optiq_lab::Host| HostDocument {
            name: h.name.clone(),
            fabric_address: h.fabric.to_string(),
            management_address: h.management.to_string(),
        };
        LabDocument {
            hosts: status.hosts.iter().map(host).collect(),
            links: status.links.iter().map(LinkDocument::new).collect(),
            namespaces: status.namespaces,
            age_seconds: status.age_seconds,
            process: i64::from(status.holder.pid),
            name: status.name,
            topology: status.topology,
            profile: status.profile,
            slow_host: status.slow_host,
            calibration: None,
        }
    }
}

impl LinkDocument {
    fn new(l: &LabLink) -> Self {
        LinkDocument { from: l.from.clone(), to: l.to.clone(), rate_bytes_per_second: l.rate.bytes(), cut: l.cut }
    }
}

impl From<Stream> for StreamDocument {
    fn from(s: Stream) -> Self {
        StreamDocument {
            from: s.from,
            to: s.to,
            links: s.links,
            capacity_bytes_per_second: s.capacity,
            bytes_per_second: s.bytes_per_second,
            share: s.share,
        }
    }
}

/// What one stream reached, in one line.
fn stream_line(s: &Stream) -> String {
    // A capacity that was a link's is one again.
    let rate = Rate::from_bits(s.capacity * 8.0).map_or_else(|_| String::new(), |rate| format!(" of {rate}"));
    format!("{} -> {} over {}: {}{rate}\n", s.from, s.to, table::count(s.links, "link"), table::percent(s.share))
}

/// A link in one line.
fn link_line(l: &LabLink) -> String {
    format!("link {} -> {}: {}{}\n", l.from, l.to, l.rate, if l.cut { ", cut" } else { "" })
}

/// A lab in one line.
fn line(status: &Status) -> String {
    let cut = status.links.iter().filter(|l| l.cut).count();
    let cut = if cut > 0 { format!(" ({cut} cut)") } else { String::new() };
    let slow = status.slow_host.as_ref().map_or(String::new(), |host| format!(" ({host} runs half of the time)"));
    format!(
        "lab {}: {}, profile {}{slow}, {}, {}{cut}, up for {} s\n",
        status.name,
        status.topology,
        status.profile,
        table::count(status.hosts.len(), "host"),
        table::count(status.links.len(), "link"),
        status.age_seconds
    )
}
