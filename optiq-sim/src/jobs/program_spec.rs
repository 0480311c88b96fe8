//! What the ranks of a job do, as text and checked: `pairs,message=4MB,think=500us,jitter=5%`.
//!
//! [`crate::jobs::program_grammar`] is the table of names and keys. Sizes, rates and times are written as
//! [`optiq_net::units`] reads them, parts as `5%` or `0.05`.

use crate::error::SimError;
use crate::jobs::program_grammar::{PROGRAMS, keys_of};
use crate::time::Time;
use optiq_net::text_file::shorten;
use optiq_net::units::{format_bytes, format_picoseconds, format_rate, parse_bytes, parse_picoseconds, parse_rate};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The most samples of a rank, and operations before them.
pub const MAX_SAMPLES: u32 = 1 << 20;
/// The most bytes of a message, a request or a total.
const MAX_BYTES: u64 = 1 << 48;
/// The longest time that can be given.
const MAX_TIME: Time = Time::picoseconds(100_000 * Time::SECOND.as_picoseconds());
/// The most bytes of a specification.
const MAX_TEXT: usize = 8192;
/// The most servers of a request, open requests of a client, partners and messages of a round.
const MAX_STRIPES: u64 = 4096;
const MILLION: u32 = 1_000_000;

/// A program of a job, checked as far as that is possible without its ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramSpec {
    /// What its ranks do.
    pub kind: ProgramKind,
    /// How many operations of each rank are measured, at least 1.
    pub samples: u32,
    /// How many come before.
    pub warmup: u32,
    /// When operations start.
    pub pace: Pace,
}

/// What ranks do. Sizes in bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum ProgramKind {
    /// An open loop of messages.
    Open {
        /// The size of a message.
        message: u64,
        /// How often.
        rate: OpenRate,
        /// Whether intervals are exponentially distributed, in place of all alike.
        poisson: bool,
        /// The distance of the destination; `None` for one that is drawn each time.
        shift: Option<u32>,
    },
    /// To a partner.
    Pairs {
        /// The size of a message.
        message: u64,
    },
    /// To a rank that is drawn each time.
    Uniform {
        /// The size of a message.
        message: u64,
    },
    /// To the rank at a distance.
    Tornado {
        /// The size of a message.
        message: u64,
        /// The distance; `None` for half of the ranks.
        shift: Option<u32>,
    },
    /// To the neighbours in a 3-D grid.
    Stencil {
        /// The size of a message to one neighbour.
        message: u64,
        /// The lengths of the grid; `None` for [`crate::jobs::programs::grid::dims`].
        dims: Option<[u32; 3]>,
    },
    /// From rank 0 to all.
    Broadcast {
        /// The size of a message.
        message: u64,
        /// By a binomial tree in place of rank 0 alone.
        tree: bool,
    },
    /// From all to all.
    AllToAll {
        /// The size of a message.
        message: u64,
        /// In steps with one partner each, in place of all at once.
        pairwise: bool,
    },
    /// A reduction of which all have the result.
    AllReduce {
        /// The size of what is reduced.
        message: u64,
    },
    /// An exchange of demands.
    AllToAllV {
        /// Bytes of a pattern's demand.
        message: u64,
        /// The demands, as [`optiq_solver::demands::parse`] reads them.
        demands: String,
        /// Who carries them out.
        algorithm: AllToAllVAlgorithm,
    },
    /// A sort.
    SampleSort {
        /// What each rank has.
        total: u64,
    },
    /// A schedule in a file.
    Goal {
        /// Its path.
        file: PathBuf,
    },
    /// Requests to servers.
    Io(IoSpec),
    /// From all to one.
    Incast {
        /// The size of a message.
        message: u64,
        /// The rank to which all send.
        root: u32,
        /// By puts, which cost the root's processor nothing, in place of messages.
        puts: bool,
    },
    /// ImpactB: a ping-pong between paired hosts ([`optiq_probe::description::ImpactB`]).
    Impact {
        /// The size of a message.
        message: u64,
    },
    /// CompressionB: rounds of messages to hosts before one's own ([`optiq_probe::description::CompressionB`]).
    Compression {
        /// The size of a message.
        message: u64,
        /// To how many hosts.
        partners: u32,
        /// How many messages to each.
        messages: u32,
    },
    /// Exchanges with computing between them, in a file.
    Steps {
        /// Its path.
        file: PathBuf,
    },
    /// Nothing.
    Idle,
}

/// How often an open loop sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OpenRate {
    /// Once in this time, on average.
    Interval(Time),
    /// So many bytes per second, above zero.
    BytesPerSecond(f64),
    /// So many millionths of the capacity of the host's slowest link, above zero.
    LoadMillionths(u32),
}

/// Who carries out an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllToAllVAlgorithm {
    /// OPTIQ: a plan, and the chunk scheduler.
    Optiq,
    /// MPI, all messages at once.
    Linear,
    /// MPI, in steps with one partner each.
    Pairwise,
}

/// Requests of clients to servers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IoSpec {
    /// Whether servers send the bytes, in place of clients.
    pub is_read: bool,
    /// The size of a request.
    pub request: u64,
    /// What a client moves in all, if that is given: the number of requests follows from it, and the last one may be smaller.
    pub total: Option<u64>,
    /// Over how many servers a request is spread, at least 1.
    pub stripes: u32,
    /// How many requests a client has open, at least 1.
    pub depth: u32,
    /// How long a server takes for what it gets of a request, besides its bytes.
    pub service: Time,
    /// Bytes per second that a server stores or loads; `None` for no limit.
    pub server_rate: Option<f64>,
    /// Bytes of requests that a server holds; `None` for no limit.
    pub server_memory: Option<u64>,
}

/// When operations start: `max(completion + think, window's base + window)`, then the processor computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// From completion to start.
    pub think: Time,
    /// Think times, windows and intervals differ by up to this part of them, in millionths.
    pub jitter_millionths: u32,
    /// How long the processor is busy before an operation.
    pub compute: Time,
    /// The throttle's window.
    pub window: Time,
    /// What the window counts from.
    pub window_from: WindowFrom,
    /// From start to start, whether or not messages have arrived: an open loop.
    pub interval: Option<Time>,
    /// Whether all ranks of a loop of messages start at once, in place of anywhere in their first interval or think time.
    pub starts_together: bool,
}

/// What a throttle's window counts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowFrom {
    /// The start of the last operation.
    #[default]
    Start,
    /// Its completion.
    Completion,
}

impl ProgramSpec {
    /// Reads a specification.
    ///
    /// # Errors
    /// [`SimError::Workload`] with one sentence that has the specification, what was found and what is expected.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        parse(text).map_err(|problem| SimError::Workload(format!("program \"{}\": {problem}", shorten(text))))
    }

    /// The program's name.
    pub fn name(&self) -> &'static str {
        match &self.kind {
            ProgramKind::Open { .. } => "open",
            ProgramKind::Pairs { .. } => "pairs",
            ProgramKind::Uniform { .. } => "uniform",
            ProgramKind::Tornado { .. } => "tornado",
            ProgramKind::Stencil { .. } => "stencil",
            ProgramKind::Broadcast { .. } => "broadcast",
            ProgramKind::AllToAll { .. } => "alltoall",
            ProgramKind::AllReduce { .. } => "allreduce",
            ProgramKind::AllToAllV { .. } => "alltoallv",
            ProgramKind::SampleSort { .. } => "samplesort",
            ProgramKind::Goal { .. } => "goal",
            ProgramKind::Io(io) if io.is_read => "io-read",
            ProgramKind::Io(_) => "io-write",
            ProgramKind::Incast { .. } => "incast",
            ProgramKind::Impact { .. } => "impact",
            ProgramKind::Compression { .. } => "compression",
            ProgramKind::Steps { .. } => "steps",
            ProgramKind::Idle => "idle",
        }
    }

    /// Whether the job needs servers, as only io-write and io-read do; others take none.
    pub fn needs_servers(&self) -> bool {
        matches!(self.kind, ProgramKind::Io(_))
    }

    /// Whether nothing is ever sent.
    pub fn is_idle(&self) -> bool {
        self.kind == ProgramKind::Idle
    }

    /// Operations of each rank, or client: those before the samples, and the samples.
    pub fn operations(&self) -> u64 {
        u64::from(self.warmup) + u64::from(self.samples)
    }

    /// The same program with other numbers of samples and of operations before them, as a job file or an option may say; also
    /// where `total=` gave a number of requests.
    ///
    /// # Errors
    /// As [`ProgramSpec::parse`], for numbers out of range.
    pub fn with_samples(mut self, samples: u32, warmup: u32) -> Result<Self, SimError> {
        if samples == 0 || samples.max(warmup) > MAX_SAMPLES {
            let found = format!("found {samples} samples after {warmup} operations");
            return Err(SimError::Workload(format!("program \"{self}\": {found}; 1 to {MAX_SAMPLES} are expected")));
        }
        if let ProgramKind::Io(io) = &mut self.kind {
            io.total = None;
        }
        (self.samples, self.warmup) = (samples, warmup);
        Ok(self)
    }
}

impl FromStr for ProgramSpec {
    type Err = SimError;

    fn from_str(text: &str) -> Result<Self, SimError> {
        Self::parse(text)
    }
}

/// The keys that were given, each at most once.
struct Keys<'a> {
    program: &'a str,
    given: Vec<(&'a str, &'a str)>,
}

impl<'a> Keys<'a> {
    fn read(text: &'a str) -> Result<Self, String> {
        if text.len() > MAX_TEXT {
            return Err(format!("found {} bytes; at most {MAX_TEXT} are expected", text.len()));
        }
        let mut parts = text.split(',').map(str::trim);
        let program = parts.next().unwrap_or_default();
        if !PROGRAMS.iter().any(|p| p.name == program) {
            let names: Vec<&str> = PROGRAMS.iter().map(|p| p.name).collect();
            return Err(format!("\"{}\" is no program; the programs are {}", shorten(program), names.join(", ")));
        }
        let mut given: Vec<(&str, &str)> = Vec::new();
        for part in parts {
            let pair = part.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
            let (key, value) = pair.ok_or_else(|| format!("\"{}\" is not of the form KEY=VALUE", shorten(part)))?;
            if !keys_of(program).any(|entry| entry.key == key) {
                let keys: Vec<&str> = keys_of(program).map(|entry| entry.key).collect();
                let expected =
                    if keys.is_empty() { "it has none".into() } else { format!("its keys are {}", keys.join(", ")) };
                return Err(format!("{program} has no key \"{}\"; {expected}", shorten(key)));
            }
            if given.iter().any(|(other, _)| *other == key) {
                return Err(format!("\"{key}\" is given twice"));
            }
            given.push((key, value));
        }
        Ok(Self { program, given })
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.given.iter().find(|(other, _)| *other == key).map(|(_, value)| *value)
    }

    fn optional<T>(&self, key: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
        self.get(key)
            .map(|value| read(value).map_err(|problem| format!("{key}={}: {problem}", shorten(value))))
            .transpose()
    }

    fn or<T>(&self, key: &str, default: T, read: impl Fn(&str) -> Result<T, String>) -> Result<T, String> {
        Ok(self.optional(key, read)?.unwrap_or(default))
    }

    fn needed<T>(&self, key: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<T, String> {
        self.optional(key, read)?.ok_or_else(|| format!("{} needs {key}=", self.program))
    }

    /// At most one of these keys may be given.
    fn exclusive(&self, keys: &[&str]) -> Result<(), String> {
        let given: Vec<&str> = keys.iter().copied().filter(|key| self.get(key).is_some()).collect();
        if given.len() > 1 { Err(format!("{} exclude each other", given.join(" and "))) } else { Ok(()) }
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text).map_err(|e| e.to_string())?;
    match bytes {
        1..=MAX_BYTES => Ok(bytes),
        _ => Err(format!("1 to {} bytes are expected", format_bytes(MAX_BYTES))),
    }
}

fn time(text: &str) -> Result<Time, String> {
    let time = Time::picoseconds(parse_picoseconds(text).map_err(|e| e.to_string())?);
    if time <= MAX_TIME { Ok(time) } else { Err(format!("at most {} are expected", show(MAX_TIME))) }
}

fn time_above_zero(text: &str) -> Result<Time, String> {
    Some(time(text)?).filter(|time| *time > Time::ZERO).ok_or_else(|| "a time above zero is expected".into())
}

fn rate(text: &str) -> Result<f64, String> {
    parse_rate(text).map_err(|e| e.to_string())
}

/// `5%` or `0.05`, in millionths.
fn millionths(text: &str, most: u32) -> Result<u32, String> {
    let (number, factor) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 1e4),
        None => (text, 1e6),
    };
    let part = number.parse::<f64>().ok().map(|n| (n * factor).round());
    let part = part.filter(|n| (0.0..=f64::from(most)).contains(n));
    part.map(|n| n as u32).ok_or_else(|| format!("a part from 0 to {} is expected, such as 5% or 0.05", percent(most)))
}

fn whole(text: &str, least: u64, most: u64) -> Result<u32, String> {
    let number = text.parse::<u64>().ok().filter(|n| (least..=most).contains(n)).and_then(|n| u32::try_from(n).ok());
    number.ok_or_else(|| format!("a whole number from {least} to {most} is expected"))
}

fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("a path is expected".into()) } else { Ok(text.into()) }
}

fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let expected = || words.iter().map(|w| w.0).collect::<Vec<_>>().join(" or ");
    words.iter().find(|w| w.0 == text).map(|w| w.1).ok_or_else(|| format!("{} is expected", expected()))
}

fn dims(text: &str) -> Result<[u32; 3], String> {
    let expected = || "three lengths are expected, such as 4x4x2, with a product of at most 2^24".to_owned();
    let lengths: Vec<u32> =
        text.split('x').map(|l| whole(l, 1, 1 << 24).map_err(|_| expected())).collect::<Result<_, _>>()?;
    let dims: [u32; 3] = lengths.try_into().map_err(|_| expected())?;
    let product: u128 = dims.iter().map(|&length| u128::from(length)).product();
    if product <= 1 << 24 { Ok(dims) } else { Err(expected()) }
}

fn parse(text: &str) -> Result<ProgramSpec, String> {
    let keys = Keys::read(text)?;
    let kind = kind(&keys)?;
    let pace = pace(&keys)?;
    let (samples, warmup) = sampling(&keys, &kind)?;
    Ok(ProgramSpec { kind, samples, warmup, pace })
}

fn kind(keys: &Keys<'_>) -> Result<ProgramKind, String> {
    let message = || keys.needed("message", bytes);
    let linear = [("linear", false), ("pairwise", true)];
    let shift = || keys.optional("shift", |text| whole(text, 1, u64::from(u32::MAX)));
    Ok(match keys.program {
        "open" => open(keys, shift()?)?,
        "pairs" => ProgramKind::Pairs { message: message()? },
        "uniform" => ProgramKind::Uniform { message: message()? },
        "tornado" => ProgramKind::Tornado { message: message()?, shift: shift()? },
        "stencil" => ProgramKind::Stencil { message: message()?, dims: keys.optional("dims", dims)? },
        "broadcast" => {
            let tree = keys.or("algorithm", false, |text| word(text, &[("linear", false), ("tree", true)]))?;
            ProgramKind::Broadcast { message: message()?, tree }
        }
        "alltoall" => {
            let pairwise = keys.or("algorithm", false, |text| word(text, &linear))?;
            ProgramKind::AllToAll { message: message()?, pairwise }
        }
        "allreduce" => ProgramKind::AllReduce { message: message()? },
        "alltoallv" => alltoallv(keys)?,
        "samplesort" => ProgramKind::SampleSort { total: keys.needed("total", bytes)? },
        "goal" => ProgramKind::Goal { file: keys.needed("file", path)? },
        "steps" => ProgramKind::Steps { file: keys.needed("file", path)? },
        "impact" => ProgramKind::Impact { message: message()? },
        "compression" => ProgramKind::Compression {
            message: message()?,
            partners: keys.or("partners", 1, |text| whole(text, 1, MAX_STRIPES))?,
            messages: keys.or("messages", 1, |text| whole(text, 1, MAX_STRIPES))?,
        },
        "io-write" | "io-read" => ProgramKind::Io(io(keys)?),
        "incast" => {
            let root = keys.or("root", 0, |text| whole(text, 0, u64::from(u32::MAX)))?;
            keys.exclusive(&["interval", "by"])?;
            let puts = keys.or("by", false, |text| word(text, &[("messages", false), ("puts", true)]))?;
            ProgramKind::Incast { message: message()?, root, puts }
        }
        // The table of programs has no other.
        _ => ProgramKind::Idle,
    })
}

fn open(keys: &Keys<'_>, shift: Option<u32>) -> Result<ProgramKind, String> {
    keys.exclusive(&["interval", "rate", "load"])?;
    let positive = |part: u32| if part > 0 { Ok(part) } else { Err("a load above zero is expected".to_owned()) };
    let rate = if let Some(interval) = keys.optional("interval", time_above_zero)? {
        OpenRate::Interval(interval)
    } else if let Some(rate) = keys.optional("rate", rate)? {
        OpenRate::BytesPerSecond(rate)
    } else if let Some(load) = keys.optional("load", |text| millionths(text, 100 * MILLION).and_then(positive))? {
        OpenRate::LoadMillionths(load)
    } else {
        return Err("open needs one of interval=, rate= and load=; without any it would send without end".into());
    };
    let poisson = keys.or("gaps", true, |text| word(text, &[("poisson", true), ("fixed", false)]))?;
    Ok(ProgramKind::Open { message: keys.needed("message", bytes)?, rate, poisson, shift })
}

fn alltoallv(keys: &Keys<'_>) -> Result<ProgramKind, String> {
    let algorithms = [
        ("optiq", AllToAllVAlgorithm::Optiq),
        ("linear", AllToAllVAlgorithm::Linear),
        ("pairwise", AllToAllVAlgorithm::Pairwise),
    ];
    let algorithm = keys.or("algorithm", AllToAllVAlgorithm::Optiq, |text| word(text, &algorithms))?;
    let demands = |text: &str| {
        if text.is_empty() || text == "-" || text == "file:-" {
            return Err("a pattern or file:PATH is expected".to_owned());
        }
        let has_form = text.starts_with("file:") || text.starts_with("pattern:");
        let pattern = text.strip_prefix("pattern:").unwrap_or(text).replace(';', ",");
        Ok(if has_form && text.starts_with("file:") { text.to_owned() } else { format!("pattern:{pattern}") })
    };
    let demands = keys.or("demands", "pattern:alltoall".to_owned(), demands)?;
    Ok(ProgramKind::AllToAllV { message: keys.needed("message", bytes)?, demands, algorithm })
}

fn io(keys: &Keys<'_>) -> Result<IoSpec, String> {
    keys.exclusive(&["total", "samples"])?;
    let io = IoSpec {
        is_read: keys.program == "io-read",
        request: keys.needed("request", bytes)?,
        total: keys.optional("total", bytes)?,
        stripes: keys.or("stripes", 1, |text| whole(text, 1, MAX_STRIPES))?,
        depth: keys.or("depth", 1, |text| whole(text, 1, MAX_STRIPES))?,
        service: keys.or("service", Time::ZERO, time)?,
        server_rate: keys.optional("server-rate", rate)?,
        server_memory: keys.optional("server-memory", bytes)?,
    };
    let part = io.request.div_ceil(u64::from(io.stripes));
    match io.server_memory {
        Some(memory) if memory < part => {
            let (memory, part) = (format_bytes(memory), format_bytes(part));
            Err(format!("server-memory={memory} is less than the {part} that a server gets of a request"))
        }
        _ => Ok(io),
    }
}

fn pace(keys: &Keys<'_>) -> Result<Pace, String> {
    let is_open = keys.program == "open";
    let interval = if is_open { None } else { keys.optional("interval", time_above_zero)? };
    if interval.is_some() {
        keys.exclusive(&["interval", "think"])?;
        keys.exclusive(&["interval", "window"])?;
        keys.exclusive(&["interval", "compute"])?;
    }
    if keys.get("window-from").is_some() && keys.get("window").is_none() {
        return Err("window-from needs window=".into());
    }
    let from = [("start", WindowFrom::Start), ("completion", WindowFrom::Completion)];
    Ok(Pace {
        think: keys.or("think", Time::ZERO, time)?,
        jitter_millionths: keys.or("jitter", 0, |text| millionths(text, MILLION))?,
        compute: keys.or("compute", Time::ZERO, time)?,
        window: keys.or("window", Time::ZERO, time)?,
        window_from: keys.or("window-from", WindowFrom::Start, |text| word(text, &from))?,
        interval,
        starts_together: keys.or("start", false, |text| word(text, &[("random", false), ("together", true)]))?,
    })
}

/// Samples and the operations before them.
fn sampling(keys: &Keys<'_>, kind: &ProgramKind) -> Result<(u32, u32), String> {
    let is_short = matches!(kind, ProgramKind::Goal { .. } | ProgramKind::Io(IoSpec { total: Some(_), .. }));
    let warmup = keys.or("warmup", if is_short { 0 } else { 3 }, |text| whole(text, 0, MAX_SAMPLES.into()))?;
    if let ProgramKind::Io(IoSpec { request, total: Some(total), .. }) = kind {
        let requests = total.div_ceil(*request);
        let left = requests.checked_sub(u64::from(warmup)).filter(|&left| left > 0).ok_or_else(|| {
            format!("total= makes {requests} requests, all of them among the {warmup} of warmup=; more are expected")
        })?;
        let samples = u32::try_from(left).ok().filter(|&samples| samples <= MAX_SAMPLES);
        return Ok((
            samples.ok_or_else(|| format!("total= makes {requests} requests; at most {MAX_SAMPLES} are expected"))?,
            warmup,
        ));
    }
    let default = if matches!(kind, ProgramKind::Goal { .. }) { 1 } else { 30 };
    Ok((keys.or("samples", default, |text| whole(text, 1, MAX_SAMPLES.into()))?, warmup))
}

fn show(time: Time) -> String {
    format_picoseconds(time.as_picoseconds())
}

/// Millionths as a percentage, exactly.
fn percent(millionths: u32) -> String {
    let text = format!("{}.{:04}", millionths / 10_000, millionths % 10_000);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A specification that [`ProgramSpec::parse`] reads back as the same program.
impl fmt::Display for ProgramSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.kind.write_keys(f)?;
        if self.is_idle() {
            return Ok(());
        }
        let has_total = matches!(self.kind, ProgramKind::Io(IoSpec { total: Some(_), .. }));
        if !has_total {
            write!(f, ",samples={}", self.samples)?;
        }
        write!(f, ",warmup={}", self.warmup)?;
        self.pace.write_keys(f)
    }
}

impl Pace {
    fn write_keys(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { think, jitter_millionths, compute, window, window_from, interval, starts_together } = *self;
        for (key, time) in [("think", think), ("compute", compute), ("window", window)] {
            if time > Time::ZERO {
                write!(f, ",{key}={}", show(time))?;
            }
        }
        if let Some(interval) = interval {
            write!(f, ",interval={}", show(interval))?;
        }
        if jitter_millionths > 0 {
            write!(f, ",jitter={}", percent(jitter_millionths))?;
        }
        if window_from == WindowFrom::Completion {
            let window = if window == Time::ZERO { ",window=0" } else { "" };
            write!(f, "{window},window-from=completion")?;
        }
        if starts_together { f.write_str(",start=together") } else { Ok(()) }
    }
}

impl ProgramKind {
    fn write_keys(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramKind::Open { message, rate, poisson, shift } => {
                write!(f, ",message={}", format_bytes(*message))?;
                match *rate {
                    OpenRate::Interval(time) => write!(f, ",interval={}", show(time)),
                    OpenRate::BytesPerSecond(rate) => write!(f, ",rate={}", format_rate(rate)),
                    OpenRate::LoadMillionths(part) => write!(f, ",load={}", percent(part)),
                }?;
                write_shift(f, *shift)?;
                if *poisson { Ok(()) } else { f.write_str(",gaps=fixed") }
            }
            ProgramKind::Pairs { message }
            | ProgramKind::Uniform { message }
            | ProgramKind::Impact { message }
            | ProgramKind::AllReduce { message } => write!(f, ",message={}", format_bytes(*message)),
            ProgramKind::Compression { message, partners, messages } => {
                write!(f, ",message={},partners={partners},messages={messages}", format_bytes(*message))
            }
            ProgramKind::Tornado { message, shift } => {
                write!(f, ",message={}", format_bytes(*message))?;
                write_shift(f, *shift)
            }
            ProgramKind::Stencil { message, dims } => {
                write!(f, ",message={}", format_bytes(*message))?;
                dims.map_or(Ok(()), |[a, b, c]| write!(f, ",dims={a}x{b}x{c}"))
            }
            ProgramKind::Broadcast { message, tree } => {
                let algorithm = if *tree { "tree" } else { "linear" };
                write!(f, ",message={},algorithm={algorithm}", format_bytes(*message))
            }
            ProgramKind::AllToAll { message, pairwise } => {
                let algorithm = if *pairwise { "pairwise" } else { "linear" };
                write!(f, ",message={},algorithm={algorithm}", format_bytes(*message))
            }
            ProgramKind::AllToAllV { message, demands, algorithm } => {
                let name = match algorithm {
                    AllToAllVAlgorithm::Optiq => "optiq",
                    AllToAllVAlgorithm::Linear => "linear",
                    AllToAllVAlgorithm::Pairwise => "pairwise",
                };
                let demands = demands.replace(',', ";");
                let demands = demands.strip_prefix("pattern:").unwrap_or(&demands);
                write!(f, ",message={},demands={demands},algorithm={name}", format_bytes(*message))
            }
            ProgramKind::SampleSort { total } => write!(f, ",total={}", format_bytes(*total)),
            ProgramKind::Goal { file } | ProgramKind::Steps { file } => write!(f, ",file={}", file.display()),
            ProgramKind::Io(io) => io.write_keys(f),
            ProgramKind::Incast { message, root, puts } => {
                let by = if *puts { ",by=puts" } else { "" };
                write!(f, ",message={},root={root}{by}", format_bytes(*message))
            }
            ProgramKind::Idle => Ok(()),
        }
    }
}

impl IoSpec {
    fn write_keys(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request, total, stripes, depth, service, server_rate, server_memory, .. } = self;
        write!(f, ",request={},stripes={stripes},depth={depth}", format_bytes(*request))?;
        if let Some(total) = total {
            write!(f, ",total={}", format_bytes(*total))?;
        }
        if *service > Time::ZERO {
            write!(f, ",service={}", show(*service))?;
        }
        if let Some(rate) = server_rate {
            write!(f, ",server-rate={}", format_rate(*rate))?;
        }
        server_memory.map_or(Ok(()), |memory| write!(f, ",server-memory={}", format_bytes(memory)))
    }
}

fn write_shift(f: &mut fmt::Formatter<'_>, shift: Option<u32>) -> fmt::Result {
    shift.map_or(Ok(()), |shift| write!(f, ",shift={shift}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::jobs::program_grammar::KEYS;
    use proptest::prelude::*;

    #[test]
    fn the_two_of_the_job_file() {
        let pairs = ProgramSpec::parse("pairs,message=4MB,think=500us,jitter=5%").unwrap();
        let pace = Pace { think: Time::picoseconds(500_000_000), jitter_millionths: 50_000, ..Pace::default() };
        let expected = ProgramSpec { kind: ProgramKind::Pairs { message: 4_000_000 }, samples: 30, warmup: 3, pace };
        assert_eq!(pairs, expected);
        let write = ProgramSpec::parse("io-write,request=4MB,total=4.3GB,think=0,window=2ms").unwrap();
        assert_eq!((write.samples, write.warmup), (1075, 0));
        assert_eq!((write.pace.window, write.pace.window_from), (Time::picoseconds(2_000_000_000), WindowFrom::Start));
        assert!(write.needs_servers() && !pairs.needs_servers());
    }

    #[test]
    fn what_is_wrong_is_said_in_one_sentence() {
        for (text, expected) in [
            ("", "\"\" is no program"),
            ("pair,message=4MB", "\"pair\" is no program; the programs are open, pairs"),
            ("pairs", "pairs needs message="),
            ("pairs,message=4MB,message=1", "\"message\" is given twice"),
            ("pairs,message", "\"message\" is not of the form KEY=VALUE"),
            ("pairs,message=4MB,root=1", "pairs has no key \"root\"; its keys are message, samples"),
            ("idle,message=4MB", "idle has no key \"message\"; it has none"),
            ("pairs,message=0", "message=0: 1 to 256TiB bytes are expected"),
            ("pairs,message=4MB,think=5", "the unit is missing"),
            ("pairs,message=4MB,jitter=101%", "jitter=101%: a part from 0 to 100% is expected"),
            ("pairs,message=4MB,jitter=nan", "a part from 0 to 100% is expected"),
            ("pairs,message=4MB,samples=0", "a whole number from 1 to 1048576 is expected"),
            ("pairs,message=4MB,window-from=start", "window-from needs window="),
            ("pairs,message=4MB,interval=1us,think=1us", "interval and think exclude each other"),
            ("pairs,message=4MB,interval=0", "a time above zero is expected"),
            ("open,message=4KB", "open needs one of interval=, rate= and load="),
            ("open,message=4KB,load=0", "a load above zero is expected"),
            ("open,message=4KB,load=1,rate=1GB/s", "rate and load exclude each other"),
            ("stencil,message=1,dims=4x4", "three lengths are expected"),
            ("stencil,message=1,dims=4x4x16777216", "three lengths are expected"),
            ("broadcast,message=1,algorithm=pairwise", "linear or tree is expected"),
            ("io-write,request=4MB,total=4GB,samples=5", "total and samples exclude each other"),
            ("io-write,request=4MB,total=4MB,warmup=1", "all of them among the 1 of warmup="),
            ("io-write,request=1,total=4GB", "total= makes 4000000000 requests"),
            ("io-write,request=4MB,server-memory=1MB", "server-memory=1MB is less than the 4MB"),
            ("io-read,total=4MB", "io-read needs request="),
            ("alltoallv,message=1,demands=-", "a pattern or file:PATH is expected"),
            ("goal,file=", "a path is expected"),
        ] {
            let error = ProgramSpec::parse(text).unwrap_err().to_string();
            assert!(error.starts_with("program \"") && error.contains(expected), "{text}: {error}");
        }
    }

    /// Values that many keys take, and some that none does.
    const VALUES: &[&str] = &[
        "4MB",
        "7",
        "1",
        "3us",
        "12.5%",
        "1GB/s",
        "completion",
        "fixed",
        "tree",
        "pairwise",
        "2x3x4",
        "together",
        "x",
        "0",
    ];

    proptest! {
        #[test]
        fn programs_are_read_back(
            name in proptest::sample::select(PROGRAMS.iter().map(|p| p.name).collect::<Vec<_>>()),
            keys in proptest::collection::vec((0..KEYS.len(), 0..VALUES.len()), 0..9),
        ) {
            let mut text = name.to_owned();
            for (key, value) in keys {
                text += &format!(",{}={}", KEYS[key].key, VALUES[value]);
            }
            if let Ok(spec) = ProgramSpec::parse(&text) {
                prop_assert_eq!(ProgramSpec::parse(&spec.to_string()).unwrap(), spec);
            }
        }

        #[test]
        fn nothing_panics(text in "\\PC{0,80}", name in "[a-z-]{0,10}", keys in "[a-z-]{0,8}=[0-9.%xA-Zs/]{0,6}") {
            let _ = ProgramSpec::parse(&text);
            let _ = ProgramSpec::parse(&format!("{name},{keys}"));
        }
    }

    #[test]
    fn every_example_is_read_back() {
        for entry in PROGRAMS {
            let spec = ProgramSpec::parse(entry.example).unwrap();
            assert_eq!(ProgramSpec::parse(&spec.to_string()).unwrap(), spec, "{spec}");
            assert_eq!(spec.clone().with_samples(7, 2).map(|s| (s.samples, s.warmup)).unwrap(), (7, 2));
        }
    }
}
