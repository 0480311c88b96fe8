//! The options: one record each, which feeds the environment, the documentation and `optiq info -c`.
//!
//! Sizes accept `64K`, `1MiB`, `8 MB` (see [`optiq_net::units`]); switches accept 0 and 1.

use crate::{PlacementRule, Scores};
use optiq_net::units::parse_bytes;
use optiq_transport::{ChunkRule, Order};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// One option: its name in the environment, what it takes, its default, and what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionRecord {
    /// Name of the environment variable.
    pub name: &'static str,
    /// What it takes, for people.
    pub takes: &'static str,
    /// The default, as it would be written.
    pub default: &'static str,
    /// One sentence.
    pub doc: &'static str,
}

/// All options, in the order in which they are documented.
pub const OPTIONS: &[OptionRecord] = &[
    OptionRecord {
        name: "OPTIQ_TOPOLOGY",
        takes: "topology specification",
        default: "",
        doc: "The network, as `torus:4x4`, `bgq:1024`, `star:16` or `file:net.toml`; without it every call goes to plain MPI.",
    },
    OptionRecord {
        name: "OPTIQ_BACKGROUND",
        takes: "file",
        default: "",
        doc: "What others use of the links: a file with a line `FROM TO USED` for each, USED a rate or a share such as `50%`, `*` for any end; plans use what is left.",
    },
    OptionRecord {
        name: "OPTIQ_PLACEMENT",
        takes: "auto | names | rank:K",
        default: "auto",
        doc: "Which host a rank is on: by the processor's name, or K ranks to a host in rank order; auto takes names where all are known to the topology, and otherwise numbers distinct processors in rank order.",
    },
    OptionRecord {
        name: "OPTIQ_ALGORITHM",
        takes: "auto | multipath | mpi",
        default: "auto",
        doc: "Whether to move data over planned paths always, never, or where that is predicted to pay.",
    },
    OptionRecord {
        name: "OPTIQ_PLANNER",
        takes: "auto | direct | heu1 | heu2 | lp | optimal",
        default: "auto",
        doc: "The planner; auto is optimal, with a time limit of 1 s.",
    },
    OptionRecord { name: "OPTIQ_K", takes: "number", default: "20", doc: "Candidate paths per pair of hosts." },
    OptionRecord {
        name: "OPTIQ_TRANSPORT",
        takes: "auto | two-sided | one-sided",
        default: "auto",
        doc: "The MPI calls that carry chunks; auto follows the rule for the MPI library (`optiq info`), and one-sided falls back to two-sided where windows cannot be had.",
    },
    OptionRecord {
        name: "OPTIQ_CHUNK",
        takes: "auto | thesis | size",
        default: "auto",
        doc: "Size of the pieces in which a path's bytes travel; auto is the optimum of the pipeline that the path is, and never more than MPI sends at once; thesis is its rule, 64 KiB for large messages.",
    },
    OptionRecord {
        name: "OPTIQ_WINDOW",
        takes: "number",
        default: "32",
        doc: "Chunks per path that a rank has room for.",
    },
    OptionRecord {
        name: "OPTIQ_BUDGET",
        takes: "size",
        default: "64MiB",
        doc: "Buffer memory per rank beyond the user's own buffers.",
    },
    OptionRecord {
        name: "OPTIQ_ORDER",
        takes: "proportional | forward-first | local-first | round-robin",
        default: "proportional",
        doc: "Whether chunks of others or a rank's own leave first.",
    },
    OptionRecord {
        name: "OPTIQ_SCORES",
        takes: "list of BYTES-BYTES[@HOSTS-HOSTS]=auto|multipath|mpi",
        default: "",
        doc: "With OPTIQ_ALGORITHM=auto: what serves exchanges by the size of the largest demand and the number of hosts, such as `0-64KiB=mpi,1MiB-inf@2-512=multipath`; the first rule that fits counts, and the cost model decides the rest.",
    },
    OptionRecord {
        name: "OPTIQ_CALIBRATION",
        takes: "file",
        default: "",
        doc: "The cost model's parameters, as `optiq info --scores` prints them; without it they are measured when a communicator is first used.",
    },
    OptionRecord {
        name: "OPTIQ_MIN_BYTES",
        takes: "size",
        default: "",
        doc: "With OPTIQ_ALGORITHM=auto: exchanges in which no host sends another one more than this go to plain MPI; by default the cost model decides.",
    },
    OptionRecord {
        name: "OPTIQ_MIN_GAIN",
        takes: "number",
        default: "1.05",
        doc: "With OPTIQ_ALGORITHM=auto: how many times faster than plain MPI the cost model must predict a plan to be.",
    },
    OptionRecord {
        name: "OPTIQ_CHECK",
        takes: "0 | 1",
        default: "0",
        doc: "Compare all send and receive counts before every exchange, and name the ranks that disagree.",
    },
    OptionRecord {
        name: "OPTIQ_PROGRESS",
        takes: "0 | 1",
        default: "0",
        doc: "A thread that advances exchanges that were started; needs MPI_THREAD_MULTIPLE.",
    },
    OptionRecord {
        name: "OPTIQ_PLANS",
        takes: "number",
        default: "16",
        doc: "Plans kept per communicator; the one that was not used for longest makes room.",
    },
    OptionRecord {
        name: "OPTIQ_STRICT",
        takes: "0 | 1",
        default: "0",
        doc: "Return an error for a wrong configuration instead of falling back to plain MPI with a warning.",
    },
    OptionRecord {
        name: "OPTIQ_TRACE",
        takes: "directory",
        default: "",
        doc: "Where each rank writes when it sent, received and forwarded which chunk, for `optiq trace`; made if it is not there.",
    },
    OptionRecord {
        name: "OPTIQ_TRACE_EVENTS",
        takes: "number",
        default: "65536",
        doc: "With OPTIQ_TRACE: records of 48 bytes that a rank keeps in memory, from 16 to 16777216; beyond that the oldest of an exchange give way and are counted.",
    },
    OptionRecord {
        name: "OPTIQ_LOG",
        takes: "off | error | warn | info | debug | trace",
        default: "warn",
        doc: "What is logged to standard error; info says for every call what served it and why.",
    },
];

/// An option whose value cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name} is \"{value}\"; {expected} is expected")]
pub struct ConfigError {
    /// The option.
    pub name: &'static str,
    /// What was found.
    pub value: String,
    /// What it takes.
    pub expected: String,
}

/// Whether to use planned paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Where it is predicted to pay.
    Auto,
    /// Always.
    Multipath,
    /// Never.
    Mpi,
}

impl FromStr for Algorithm {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "auto" => Ok(Algorithm::Auto),
            "multipath" => Ok(Algorithm::Multipath),
            "mpi" => Ok(Algorithm::Mpi),
            _ => Err(()),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Algorithm::Auto => "auto",
            Algorithm::Multipath => "multipath",
            Algorithm::Mpi => "mpi",
        })
    }
}

/// Which planner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannerChoice {
    /// By the size of the problem.
    Auto,
    /// The one of this name.
    Named(String),
}

/// Which MPI calls carry chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportChoice {
    /// The one that is faster as far as known.
    Auto,
    /// `MPI_Isend` and `MPI_Irecv`.
    TwoSided,
    /// `MPI_Put`.
    OneSided,
}

impl fmt::Display for TransportChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TransportChoice::Auto => "auto",
            TransportChoice::TwoSided => "two-sided",
            TransportChoice::OneSided => "one-sided",
        })
    }
}

/// All settings of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// `OPTIQ_TOPOLOGY`.
    pub topology: Option<String>,
    /// `OPTIQ_BACKGROUND`.
    pub background: Option<String>,
    /// `OPTIQ_PLACEMENT`.
    pub placement: PlacementRule,
    /// `OPTIQ_ALGORITHM`.
    pub algorithm: Algorithm,
    /// `OPTIQ_PLANNER`.
    pub planner: PlannerChoice,
    /// `OPTIQ_K`.
    pub k: usize,
    /// `OPTIQ_TRANSPORT`.
    pub transport: TransportChoice,
    /// `OPTIQ_CHUNK`.
    pub chunk: ChunkRule,
    /// `OPTIQ_WINDOW`.
    pub window: u64,
    /// `OPTIQ_BUDGET`.
    pub budget: u64,
    /// `OPTIQ_ORDER`.
    pub order: Order,
    /// `OPTIQ_SCORES`.
    pub scores: Scores,
    /// `OPTIQ_CALIBRATION`.
    pub calibration: Option<String>,
    /// `OPTIQ_MIN_BYTES`.
    pub min_bytes: Option<u64>,
    /// `OPTIQ_MIN_GAIN`.
    pub min_gain: f64,
    /// `OPTIQ_PLANS`.
    pub plans: usize,
    /// `OPTIQ_CHECK`.
    pub check: bool,
    /// `OPTIQ_PROGRESS`.
    pub progress: bool,
    /// `OPTIQ_STRICT`.
    pub strict: bool,
    /// `OPTIQ_TRACE`.
    pub trace: Option<String>,
    /// `OPTIQ_TRACE_EVENTS`.
    pub trace_events: usize,
    /// `OPTIQ_LOG`.
    pub log: log::LevelFilter,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            topology: None,
            background: None,
            placement: PlacementRule::Auto,
            algorithm: Algorithm::Auto,
            planner: PlannerChoice::Auto,
            k: 20,
            transport: TransportChoice::Auto,
            chunk: ChunkRule::Auto,
            window: 32,
            budget: 64 << 20,
            order: Order::Proportional,
            scores: Scores::default(),
            calibration: None,
            min_bytes: None,
            min_gain: 1.05,
            check: false,
            progress: false,
            plans: 16,
            strict: false,
            trace: None,
            trace_events: optiq_transport::trace::DEFAULT_EVENTS,
            log: log::LevelFilter::Warn,
        }
    }
}

/// A configuration as it was read: usable settings, and what was wrong with the rest.
#[derive(Clone, Debug)]
pub struct Read {
    /// The settings; options that do not parse keep their defaults.
    pub config: Config,
    /// The first option that does not parse.
    pub error: Option<ConfigError>,
    /// Names that start with `OPTIQ_` and that nobody knows.
    pub unknown: Vec<String>,
}

impl Config {
    /// A number for the settings that decide which collective calls a rank makes; ranks with different ones would wait
    /// for each other for ever. The rest may differ, or is compared by what comes of it, as the network is.
    #[cfg(feature = "mpi")]
    pub(crate) fn agreed_settings(&self) -> i64 {
        let Config { calibration, .. } = self;
        let local = Config {
            topology: None,
            background: None,
            calibration: calibration.as_ref().map(|_| String::new()),
            progress: false,
            trace: None,
            trace_events: 0,
            log: log::LevelFilter::Off,
            ..self.clone()
        };
        xxhash_rust::xxh3::xxh3_64(format!("{local:?}").as_bytes()) as i64
    }

    /// Whether OPTIQ is free to choose plain MPI for exchanges of any size.
    #[cfg(feature = "mpi")]
    pub(crate) fn may_stand_aside(&self) -> bool {
        self.algorithm == Algorithm::Auto && !self.scores.force()
    }

    /// Reads the `OPTIQ_*` variables of the environment.
    pub fn from_env() -> Read {
        Self::from_pairs(std::env::vars_os().filter_map(|(k, v)| {
            // A value that is not UTF-8 parses as nothing; it must not go unnoticed.
            Some((k.into_string().ok()?, v.to_string_lossy().into_owned()))
        }))
    }

    /// Reads options from (name, value) pairs; names that do not start with `OPTIQ_` are passed over, empty values
    /// count as not set.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Read {
        let mut read = Read { config: Config::default(), error: None, unknown: Vec::new() };
        let mut pairs: Vec<_> = pairs.into_iter().filter(|(name, _)| name.starts_with("OPTIQ_")).collect();
        // The environment has no order; messages should have one.
        pairs.sort();
        for (name, value) in pairs {
            let Some(record) = OPTIONS.iter().find(|o| o.name == name) else {
                read.unknown.push(name);
                continue;
            };
            let value = value.trim();
            if value.is_empty() {
                continue;
            }
            if let Err(expected) = read.config.set(record.name, value) {
                let expected = if expected.is_empty() { record.takes.to_string() } else { expected };
                read.error.get_or_insert(ConfigError { name: record.name, value: value.to_string(), expected });
            }
        }
        read
    }

    /// Sets one option. The error says what is expected, where the record's own words do not say it better.
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        fn number<T: std::str::FromStr + PartialOrd>(value: &str, least: T, what: &str) -> Result<T, String> {
            value.parse().ok().filter(|n| *n >= least).ok_or_else(|| what.to_string())
        }
        let plain = String::new;
        match name {
            "OPTIQ_TOPOLOGY" => self.topology = Some(value.to_string()),
            "OPTIQ_BACKGROUND" => self.background = Some(value.to_string()),
            "OPTIQ_PLACEMENT" => self.placement = value.parse().map_err(|()| plain())?,
            "OPTIQ_ALGORITHM" => self.algorithm = value.parse().map_err(|()| plain())?,
            "OPTIQ_PLANNER" => {
                self.planner = match value {
                    "auto" => PlannerChoice::Auto,
                    "direct" | "heu1" | "heu2" | "lp" | "optimal" => PlannerChoice::Named(value.to_string()),
                    _ => return Err(plain()),
                }
            }
            "OPTIQ_K" => self.k = number(value, 1, "a whole number of at least 1")?,
            "OPTIQ_TRANSPORT" => {
                self.transport = match value {
                    "auto" => TransportChoice::Auto,
                    "two-sided" => TransportChoice::TwoSided,
                    "one-sided" => TransportChoice::OneSided,
                    _ => return Err(plain()),
                }
            }
            "OPTIQ_CHUNK" if value == "auto" => self.chunk = ChunkRule::Auto,
            "OPTIQ_CHUNK" if value == "thesis" => self.chunk = ChunkRule::Thesis,
            "OPTIQ_CHUNK" => {
                let size = parse_bytes(value).map_err(|_| "auto, or a size such as 64KiB,".to_string())?;
                if !(1..=1 << 30).contains(&size) {
                    return Err("a size between 1 and 1GiB".into());
                }
                self.chunk = ChunkRule::Fixed(size);
            }
            "OPTIQ_WINDOW" => self.window = number(value, 1, "a whole number of at least 1")?,
            "OPTIQ_BUDGET" => self.budget = size(value)?,
            "OPTIQ_ORDER" => {
                self.order = match value {
                    "forward-first" => Order::ForwardFirst,
                    "local-first" => Order::LocalFirst,
                    "round-robin" => Order::RoundRobin,
                    "proportional" => Order::Proportional,
                    _ => return Err(plain()),
                }
            }
            "OPTIQ_MIN_BYTES" => {
                self.min_bytes = Some(parse_bytes(value).map_err(|_| "a size such as 128KiB".to_string())?)
            }
            "OPTIQ_MIN_GAIN" => {
                let gain: f64 = number(value, 0.0, "a number of at least 0")?;
                self.min_gain = Some(gain).filter(|g| g.is_finite()).ok_or("a number of at least 0")?;
            }
            "OPTIQ_PLANS" => self.plans = number(value, 1, "a whole number of at least 1")?,
            "OPTIQ_STRICT" => self.strict = switch(value)?,
            "OPTIQ_CHECK" => self.check = switch(value)?,
            "OPTIQ_PROGRESS" => self.progress = switch(value)?,
            "OPTIQ_CALIBRATION" => self.calibration = Some(value.to_string()),
            "OPTIQ_SCORES" => {
                self.scores = value.parse().map_err(|rule| {
                    format!("a list of rules such as 0-64KiB=mpi or 1MiB-inf@2-512=multipath, not \"{rule}\",")
                })?
            }
            "OPTIQ_TRACE" => self.trace = Some(value.to_string()),
            "OPTIQ_TRACE_EVENTS" => {
                let events = value.parse().ok().filter(|n| optiq_transport::trace::EVENTS.contains(n));
                self.trace_events = events.ok_or("a whole number from 16 to 16777216")?;
            }
            "OPTIQ_LOG" => self.log = value.parse().map_err(|_| plain())?,
            _ => {}
        }
        Ok(())
    }
}

fn switch(value: &str) -> Result<bool, String> {
    match value {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(String::new()),
    }
}

fn size(value: &str) -> Result<u64, String> {
    let expected = || "a size above zero, such as 64MiB,".to_string();
    parse_bytes(value).ok().filter(|&b| b > 0).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Read {
        Config::from_pairs(pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())))
    }

    #[test]
    fn the_documented_defaults_are_the_defaults() {
        let documented = OPTIONS.iter().map(|o| (o.name.to_string(), o.default.to_string()));
        let read = Config::from_pairs(documented);
        assert_eq!((read.error, read.unknown), (None, vec![]));
        assert_eq!(read.config, Config::default());
    }

    #[test]
    fn every_option_refuses_nonsense_by_name() {
        let any = ["OPTIQ_TOPOLOGY", "OPTIQ_BACKGROUND", "OPTIQ_CALIBRATION", "OPTIQ_TRACE"];
        for option in OPTIONS.iter().filter(|o| !any.contains(&o.name)) {
            let error = read(&[(option.name, "nonsense")]).error.unwrap();
            assert_eq!(error.name, option.name);
            assert!(error.to_string().contains("\"nonsense\""), "{error}");
        }
    }

    #[test]
    fn edges() {
        for (name, bad) in [
            ("OPTIQ_K", "0"),
            ("OPTIQ_K", "-1"),
            ("OPTIQ_WINDOW", "0"),
            ("OPTIQ_BUDGET", "0"),
            ("OPTIQ_CHUNK", "0"),
            ("OPTIQ_CHUNK", "2GiB"),
            ("OPTIQ_MIN_GAIN", "NaN"),
            ("OPTIQ_MIN_GAIN", "inf"),
            ("OPTIQ_STRICT", "yes"),
            ("OPTIQ_PLACEMENT", "rank:0"),
            ("OPTIQ_TRACE_EVENTS", "15"),
            ("OPTIQ_TRACE_EVENTS", "16777217"),
        ] {
            assert!(read(&[(name, bad)]).error.is_some(), "{name}={bad}");
        }
        let read = read(&[("OPTIQ_TOPOLGY", "torus:4x4"), ("HOME", "x"), ("OPTIQ_K", "7"), ("OPTIQ_CHUNK", "16K")]);
        assert_eq!(read.unknown, ["OPTIQ_TOPOLGY"]);
        assert_eq!((read.config.k, read.config.chunk), (7, ChunkRule::Fixed(16 << 10)));
        let load = Config::from_pairs([("OPTIQ_BACKGROUND".to_string(), " load.txt ".to_string())]);
        assert_eq!(load.config.background.as_deref(), Some("load.txt"));
    }
}
