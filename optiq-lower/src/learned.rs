//! What was learned of an MPI library and of OPTIQ: how long each takes for which kind of demands, on which network.
//!
//! A session measures both sides by kind of demands ([`DemandKind`]), as a multiple of the link bound on the fabric's own routes:
//! `x = seconds / bound`, so that `1 / x` is the share of the bound that was reached. The file (`OPTIQ_LEARNED`) keeps this from one
//! run to the next, as FFTW keeps its wisdom; it is one JSON document:
//!
//! ```text
//!     {"format": "optiq-learned 1", "records": [{"network": "star:16", "ranks": 16, "mpi_library": "...", "paths": "direct",
//!       "demands": {"mean_bytes_from": 65536, "fan_out_from": 8, "fan_in_from": 8, "imbalance_from": 1, "is_even": true},
//!       "mpi_bounds": 1.78, "mpi_calls": 1, "optiq_bounds": 1.01, "optiq_calls": 9}]}
//! ```
//!
//! `flow_control` stands there where OPTIQ was fastest with another one than for long queues ([`FlowControl`]). `_from` are lower ends of ranges whose upper ends are four times as large for bytes, twice for the others.

use crate::ports::DemandKind;
use optiq_net::text_file;
use optiq_transport::FlowControl;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// The largest file that is read, in bytes: some 30,000 records.
const LARGEST_FILE: u64 = 16 << 20;
const FORMAT: &str = "optiq-learned 1";

/// Which way OPTIQ sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Paths {
    /// On the fabric's own routes, in an order of OPTIQ's.
    Direct,
    /// Through other hosts as well.
    Forwarded,
}

/// What a record is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// The network's specification, or that it was guessed, and of how many hosts.
    pub network: String,
    /// Ranks of the communicator.
    pub ranks: u32,
    /// What the MPI library says of itself, as [`crate::machine::one_line`] leaves it.
    pub mpi_library: String,
    /// Which way OPTIQ sends.
    pub paths: Paths,
    /// Which demands.
    pub kind: DemandKind,
}

/// What was measured, as multiples of the link bound on the fabric's own routes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// What MPI takes; `None` if it was not tried.
    pub mpi_bounds: Option<f64>,
    /// Calls that MPI served and that were measured.
    pub mpi_calls: u32,
    /// What OPTIQ takes; `None` if it was not tried.
    pub optiq_bounds: Option<f64>,
    /// Calls that OPTIQ served, with any flow control, and that were measured.
    pub optiq_calls: u32,
    /// The flow control with which OPTIQ takes that.
    pub flow_control: FlowControl,
}

/// All that was learned, see the top of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learned(pub BTreeMap<Subject, Times>);

/// The document of a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: String,
    records: Vec<Record>,
}

/// One entry of [`Learned`], as it is in files and in what commands print.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    network: String,
    ranks: u32,
    mpi_library: String,
    paths: Paths,
    demands: Demands,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mpi_bounds: Option<f64>,
    mpi_calls: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    optiq_bounds: Option<f64>,
    optiq_calls: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flow_control: Option<String>,
}

/// A [`DemandKind`] in numbers that a person can read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Demands {
    mean_bytes_from: u64,
    fan_out_from: u64,
    fan_in_from: u64,
    imbalance_from: u64,
    /// Files of earlier versions do not say.
    #[serde(default)]
    is_even: bool,
}

impl Learned {
    /// Reads a file; nothing if there is none, as before the first run.
    ///
    /// # Errors
    /// One sentence that names the file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = optiq_files::input::name(path);
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = text_file::read(path, LARGEST_FILE).map_err(|e| format!("{name}: {e}"))?;
        Self::parse(&text).map_err(|e| format!("{name}: {e}"))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// What was found, and what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let document: Document =
            serde_json::from_str(text).map_err(|e| format!("not what was learned by OPTIQ: {e}"))?;
        if document.format != FORMAT {
            let found = text_file::shorten(&document.format);
            return Err(format!("the format is \"{found}\"; \"{FORMAT}\" is expected"));
        }
        document.records.into_iter().map(Record::entry).collect::<Result<_, _>>().map(Self)
    }

    /// The text of a file.
    pub fn text(&self) -> String {
        let document = Document { format: FORMAT.into(), records: self.records() };
        // Strings, integers and numbers that are finite: nothing can fail.
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    }

    /// As files have it.
    pub fn records(&self) -> Vec<Record> {
        self.0.iter().map(|(subject, times)| Record::new(subject, times)).collect()
    }

    /// Adds these to a file, in place of what it had of the same subjects. The file is replaced as a whole.
    ///
    /// # Errors
    /// One sentence that names the file, which is as it was. One that cannot be read is not replaced.
    pub fn add_to(&self, path: &Path) -> Result<(), String> {
        let mut all = Self::read(path)?;
        all.0.extend(self.0.iter().map(|(subject, times)| (subject.clone(), *times)));
        let write =
            |file: &mut std::io::BufWriter<&std::fs::File>| std::io::Write::write_all(file, all.text().as_bytes());
        optiq_files::output::write(path, 0o644, write).map_err(|e| format!("{}: {e}", path.display()))
    }
}

impl Record {
    fn new(subject: &Subject, times: &Times) -> Self {
        let Subject { network, ranks, mpi_library, paths, kind } = subject.clone();
        let [mean_bytes_from, fan_out_from, fan_in_from, imbalance_from] = kind.lower_ends();
        let demands = Demands { mean_bytes_from, fan_out_from, fan_in_from, imbalance_from, is_even: kind.is_even };
        let Times { mpi_bounds, mpi_calls, optiq_bounds, optiq_calls, flow_control } = *times;
        // What is usual is not said.
        let flow_control = (flow_control != FlowControl::default()).then(|| flow_control.name().to_owned());
        Self {
            network,
            ranks,
            mpi_library,
            paths,
            demands,
            mpi_bounds,
            mpi_calls,
            optiq_bounds,
            optiq_calls,
            flow_control,
        }
    }

    fn entry(self) -> Result<(Subject, Times), String> {
        let Self { network, ranks, mpi_library, paths, demands, .. } = self;
        let Self { mpi_bounds, mpi_calls, optiq_bounds, optiq_calls, flow_control, .. } = self;
        for (name, value) in [("mpi_bounds", mpi_bounds), ("optiq_bounds", optiq_bounds)] {
            if let Some(value) = value.filter(|v| !(v.is_finite() && *v > 0.0)) {
                return Err(format!("{name} is {value}; a number above zero is expected"));
            }
        }
        let Demands { mean_bytes_from, fan_out_from, fan_in_from, imbalance_from, is_even } = demands;
        let ends = [mean_bytes_from, fan_out_from, fan_in_from, imbalance_from];
        let kind = DemandKind::of_lower_ends(ends, is_even).ok_or_else(|| {
            let found = if is_even { ", and even" } else { "" };
            format!("demands are {ends:?}{found}; a power of four, and three powers of two are expected, the last one 1 if even")
        })?;
        let subject = Subject { network, ranks, mpi_library, paths, kind };
        let flow_control = match &flow_control {
            None => FlowControl::default(),
            Some(name) => FlowControl::named(name).ok_or_else(|| {
                let names = FlowControl::ALL.map(FlowControl::name).join(", ");
                format!("flow_control is \"{}\"; one of {names} is expected", text_file::shorten(name))
            })?,
        };
        Ok((subject, Times { mpi_bounds, mpi_calls, optiq_bounds, optiq_calls, flow_control }))
    }
}

impl Times {
    /// Whether OPTIQ was found to be faster, by a factor of `min_gain` at least; `None` before both were measured.
    pub fn is_optiq_faster(&self, min_gain: f64) -> Option<bool> {
        Some(self.mpi_bounds? >= self.optiq_bounds? * min_gain)
    }
}

/// What share of the link bound each side reached, after how many calls.
impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |bounds: Option<f64>, calls: u32| match bounds {
            Some(bounds) => format!("{:.0} % in {calls} {}", 100.0 / bounds, if calls == 1 { "call" } else { "calls" }),
            None => "not tried".into(),
        };
        let (mpi, optiq) = (side(self.mpi_bounds, self.mpi_calls), side(self.optiq_bounds, self.optiq_calls));
        write!(f, "MPI {mpi}, OPTIQ {optiq}")?;
        match self.flow_control {
            FlowControl::LongQueues => Ok(()),
            FlowControl::SmallChunks => f.write_str(" (small chunks in no timetable)"),
            other => write!(f, " (flow control for {})", other.name().replace('-', " ")),
        }
    }
}

/// One line for each subject.
impl fmt::Display for Learned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(Subject { network, ranks, paths, kind, .. }, times)| {
            let paths = match paths {
                Paths::Direct => "direct",
                Paths::Forwarded => "forwarded",
            };
            let network = text_file::shorten(network);
            writeln!(f, "    {network}, {ranks} ranks, {paths}, {kind}: {times}")
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn learned(mpi_bounds: f64) -> Learned {
        let kind = DemandKind { size: 8, fan_out: 3, fan_in: 3, imbalance: 0, is_even: true };
        let (network, mpi_library) = ("star:16".to_owned(), "Open MPI".to_owned());
        let subject = Subject { network, ranks: 16, mpi_library, paths: Paths::Direct, kind };
        let times = Times { mpi_bounds: Some(mpi_bounds), mpi_calls: 1, ..Times::default() };
        Learned([(subject, times)].into())
    }

    #[test]
    fn a_file_is_read_as_it_was_written_and_kept_up() {
        let folder = std::env::temp_dir().join(format!("optiq-learned-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("learned.json");
        assert_eq!(Learned::read(&file), Ok(Learned::default()));
        learned(2.0).add_to(&file).unwrap();
        assert_eq!(Learned::read(&file), Ok(learned(2.0)));
        let mut other = learned(4.0);
        other.0 = other.0.into_iter().map(|(s, t)| (Subject { ranks: 8, ..s }, t)).collect();
        other.add_to(&file).unwrap();
        learned(1.25).add_to(&file).unwrap();
        let all = Learned::read(&file).unwrap();
        assert_eq!(all.0.values().map(|t| t.mpi_bounds.unwrap()).collect::<Vec<_>>(), [4.0, 1.25]);
        assert!(
            all.to_string().ends_with("from 1 times the mean, ports even: MPI 80 % in 1 call, OPTIQ not tried\n"),
            "{all}"
        );
        // What is not ours is not replaced.
        std::fs::write(&file, "my notes").unwrap();
        let error = learned(2.0).add_to(&file).unwrap_err();
        assert!(error.contains("learned.json: not what was learned by OPTIQ"), "{error}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "my notes");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let text = learned(2.0).text();
        for (from, to, said) in [
            ("learned 1", "learned 9", "the format is \"optiq-learned 9\""),
            ("2.0", "-2.0", "mpi_bounds is -2; a number above zero is expected"),
            ("65536", "65537", "demands are [65537, 8, 8, 1], and even; a power of four"),
            ("from\": 1,", "from\": 2,", "demands are [65536, 8, 8, 2], and even; a power of four"),
            ("\"ranks\"", "\"rank\"", "unknown field `rank`"),
            (
                "\"ranks\"",
                "\"flow_control\": \"slow\", \"ranks\"",
                "flow_control is \"slow\"; one of long-queues, small-chunks",
            ),
        ] {
            let error = Learned::parse(&text.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn faster_by_what_is_asked_for() {
        let times = |mpi, optiq| Times { mpi_bounds: mpi, optiq_bounds: optiq, ..Times::default() };
        assert_eq!(times(Some(2.0), None).is_optiq_faster(1.02), None);
        assert_eq!(times(Some(1.03), Some(1.0)).is_optiq_faster(1.02), Some(true));
        assert_eq!(times(Some(1.01), Some(1.0)).is_optiq_faster(1.02), Some(false));
    }
}
