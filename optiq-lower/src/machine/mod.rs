//! The record of a measured machine: the cost model's parameters, and where, when and on which cases they were measured.
//!
//! A record is a calibration file (`OPTIQ_CALIBRATION`): lines `name = value` with the parameters of [`CostModel`], and, where
//! `optiq calibrate` wrote it, lines `measured_name = "text"`. `#` begins a comment.
//!
//! ```text
//!     planned_link_efficiency = 0.81
//!     measured_at = "2026-11-22T21:40:11Z"
//!     measured_planned_link_efficiency = "median 0.81, quartiles 0.78 to 0.84, 21 samples"
//! ```
//!
//! Times depend on the hosts and their MPI library; link efficiencies depend on the network as well. So a session on another
//! network, or with another MPI library, takes the times of a record and not its link efficiencies
//! ([`MachineRecord::model_on`]). A file without `measured_` lines does not say where it is from, and is used as it is.

use crate::model::{CostModel, Parameter};
use optiq_measure::moment;
use optiq_net::fingerprint::Fingerprint;
use optiq_net::text_file::{self, shorten};
use std::fmt;
use std::path::Path;

/// The largest calibration file that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 20;

/// The longest text of a `measured_` line, in characters. MPI libraries describe themselves in up to 8,192; the beginning tells
/// them apart.
const LONGEST_TEXT: usize = 1000;

/// How names of lines begin that say where a record is from.
const PREFIX: &str = "measured_";

/// The cost model of a machine, and where it is from.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineRecord {
    /// Parameters; defaults where the file names none.
    pub model: CostModel,
    /// Where and when they were measured, if the file says so.
    pub measurement: Option<Measurement>,
}

/// Where, when and on what a machine was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The command that measured it. `measured_command` in files, and so on.
    pub command: String,
    /// When it began: UTC, as [`moment::utc`] writes it.
    pub at: String,
    /// OPTIQ's version.
    pub version: String,
    /// What the MPI library says of itself, as [`one_line`] leaves it.
    pub mpi_library: String,
    /// MPI ranks.
    pub ranks: u32,
    /// Hosts that they ran on, told apart by the processors' names.
    pub hosts: u32,
    /// The network's specification.
    pub topology: String,
    /// The network's fingerprint, without background load.
    pub network: Fingerprint,
    /// What carried the chunks of planned paths.
    pub transport: String,
    /// The training cases of the link efficiencies.
    pub cases: String,
    /// What was measured of each parameter, in the order of [`Parameter::ALL`].
    pub samples: [Option<Samples>; Parameter::ALL.len()],
}

/// A sample of measured values: how many, their median and their quartiles, in the unit of the parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Samples {
    /// How many values, at least 1.
    pub count: u64,
    /// A quarter of the values are below.
    pub first_quartile: f64,
    /// Half of the values are below.
    pub median: f64,
    /// Three quarters of the values are below.
    pub third_quartile: f64,
}

impl Samples {
    /// As [`Samples`] is printed.
    fn parse(text: &str) -> Option<Self> {
        let (median, rest) = text.strip_prefix("median ")?.split_once(", quartiles ")?;
        let (first, rest) = rest.split_once(" to ")?;
        let (third, count) = rest.strip_suffix(" samples")?.split_once(", ")?;
        let number = |text: &str| text.parse().ok().filter(|v: &f64| v.is_finite() && *v > 0.0);
        let (first_quartile, median, third_quartile) = (number(first)?, number(median)?, number(third)?);
        let count = count.parse().ok().filter(|&count: &u64| count > 0)?;
        let ordered = first_quartile <= median && median <= third_quartile;
        ordered.then_some(Samples { count, first_quartile, median, third_quartile })
    }
}

impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Samples { count, first_quartile, median, third_quartile } = self;
        write!(f, "median {median:e}, quartiles {first_quartile:e} to {third_quartile:e}, {count} samples")
    }
}

/// Text as a `measured_` line can hold it: control characters and runs of spaces become one space, double quotes become single
/// ones, and the end is cut off beyond the longest text.
pub fn one_line(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words = clean.split_whitespace().collect::<Vec<_>>().join(" ").replace('"', "'");
    words.chars().take(LONGEST_TEXT).collect::<String>().trim_end().to_owned()
}

impl MachineRecord {
    /// Reads a calibration file.
    ///
    /// # Errors
    /// One sentence that names the file and the line.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = optiq_files::input::name(path);
        let text = text_file::read(path, LARGEST_FILE).map_err(|e| format!("calibration file {name}: {e}"))?;
        Self::parse(&text, &name)
    }

    /// Reads the text of a calibration file; `name` is for messages.
    ///
    /// # Errors
    /// As [`MachineRecord::read`].
    pub fn parse(text: &str, name: &str) -> Result<Self, String> {
        let (mut model, mut lines) = (CostModel::default(), MeasuredLines::default());
        for (number, line) in text.lines().enumerate() {
            let read = match line.trim_start().strip_prefix(PREFIX) {
                Some(rest) => lines.take(rest),
                None => take_parameter(&mut model, line),
            };
            read.map_err(|what| format!("calibration file {name}:{}: {what}", number + 1))?;
        }
        let measurement = lines.measurement().map_err(|what| format!("calibration file {name}: {what}"))?;
        Ok(Self { model, measurement })
    }

    /// The cost model for a session on a network, and with an MPI library if one is known. If the record was measured elsewhere,
    /// link efficiencies are the defaults, and a sentence says so.
    pub fn model_on(&self, network: Fingerprint, mpi_library: Option<&str>) -> (CostModel, Option<String>) {
        let Some(measured) = &self.measurement else { return (self.model, None) };
        let mut differences = Vec::new();
        if measured.network != network {
            let topology = shorten(&measured.topology);
            differences.push(format!("on another network ({topology}, {}, not {network})", measured.network));
        }
        if let Some(library) = mpi_library.map(one_line).filter(|library| *library != measured.mpi_library) {
            let theirs = shorten(&measured.mpi_library);
            differences.push(format!("with another MPI library ({theirs}, not {})", shorten(&library)));
        }
        if differences.is_empty() {
            return (self.model, None);
        }
        let default = CostModel::default();
        let model = CostModel {
            planned_link_efficiency: default.planned_link_efficiency,
            store_and_forward_link_efficiency: default.store_and_forward_link_efficiency,
            mpi_link_efficiency: default.mpi_link_efficiency,
            ..self.model
        };
        let note = format!(
            "it was measured {}: agreement_seconds, latency_seconds and chunk_seconds are used; planned_link_efficiency, \
             store_and_forward_link_efficiency and mpi_link_efficiency are not, and the defaults {}, {} and {} take their place",
            differences.join(" and "),
            model.planned_link_efficiency,
            model.store_and_forward_link_efficiency,
            model.mpi_link_efficiency
        );
        (model, Some(note))
    }
}

/// A line with a parameter, or without anything but a comment.
fn take_parameter(model: &mut CostModel, line: &str) -> Result<(), String> {
    let line = line.split('#').next().unwrap_or_default().trim();
    if line.is_empty() {
        return Ok(());
    }
    let expected = || format!("\"{}\" is found; a line such as latency_seconds = 1e-4 is expected", shorten(line));
    let (name, value) = line.split_once('=').ok_or_else(expected)?;
    let value: f64 = value.trim().parse().map_err(|_| expected())?;
    let name = name.trim();
    let parameter = Parameter::by_name(name).ok_or_else(|| format!("there is no parameter \"{}\"", shorten(name)))?;
    model.set(parameter, value)
}

/// The texts of a measurement, in the order of files.
const TEXTS: [&str; 10] =
    ["command", "at", "version", "mpi_library", "ranks", "hosts", "topology", "network", "transport", "cases"];

/// What was read of the `measured_` lines so far.
#[derive(Default)]
struct MeasuredLines {
    texts: [Option<String>; TEXTS.len()],
    samples: [Option<Samples>; Parameter::ALL.len()],
}

impl MeasuredLines {
    /// A line, less the prefix of its name.
    fn take(&mut self, line: &str) -> Result<(), String> {
        let (name, text) = line.split_once('=').ok_or("a line such as measured_ranks = \"16\" is expected")?;
        let name = name.trim();
        let missing = || format!("there is no parameter \"{PREFIX}{}\"", shorten(name));
        let text = quoted(text).map_err(|what| format!("{PREFIX}{}: {what}", shorten(name)))?;
        let twice = format!("{PREFIX}{name} stands in the file twice");
        if let Some(i) = TEXTS.iter().position(|&n| n == name) {
            return match self.texts[i].replace(text) {
                Some(_) => Err(twice),
                None => Ok(()),
            };
        }
        let parameter = Parameter::by_name(name).ok_or_else(missing)? as usize;
        let samples = Samples::parse(&text).ok_or_else(|| {
            let found = shorten(&text);
            format!("{PREFIX}{name} is \"{found}\"; text such as \"median 1e-4, quartiles 9e-5 to 2e-4, 7 samples\" is expected")
        })?;
        match self.samples[parameter].replace(samples) {
            Some(_) => Err(twice),
            None => Ok(()),
        }
    }

    /// All together; nothing if there was no line.
    fn measurement(self) -> Result<Option<Measurement>, String> {
        let Self { texts, samples } = self;
        if texts.iter().all(Option::is_none) && samples.iter().all(Option::is_none) {
            return Ok(None);
        }
        if let Some(i) = texts.iter().position(Option::is_none) {
            return Err(format!("{PREFIX}{} is missing; a file has all lines {PREFIX}... or none", TEXTS[i]));
        }
        let [command, at, version, mpi_library, ranks, hosts, topology, network, transport, cases] =
            texts.map(Option::unwrap_or_default);
        let number = |name: &str, text: &str| {
            let wrong = || format!("{PREFIX}{name} is \"{}\"; a number from 1 on is expected", shorten(text));
            text.parse().ok().filter(|&n: &u32| n > 0).ok_or_else(wrong)
        };
        if !moment::is_utc(&at) {
            return Err(format!("{PREFIX}at is \"{}\"; a time such as 2026-11-22T21:40:11Z is expected", shorten(&at)));
        }
        let network = Fingerprint::try_from(network).map_err(|e| format!("{PREFIX}network: {}", shorten(&e)))?;
        let (ranks, hosts) = (number("ranks", &ranks)?, number("hosts", &hosts)?);
        Ok(Some(Measurement {
            command,
            at,
            version,
            mpi_library,
            ranks,
            hosts,
            topology,
            network,
            transport,
            cases,
            samples,
        }))
    }
}

/// The text between double quotes, after which only a comment may follow; as [`one_line`] leaves it.
fn quoted(value: &str) -> Result<String, String> {
    let expected = || format!("found {}; text in double quotes is expected", shorten(value.trim()));
    let (text, rest) = value.trim().strip_prefix('"').and_then(|v| v.split_once('"')).ok_or_else(expected)?;
    let rest = rest.trim_start();
    if !rest.is_empty() && !rest.starts_with('#') {
        return Err(expected());
    }
    if let Some(c) = text.chars().find(|c| c.is_control()) {
        return Err(format!("found the control character U+{:04X}; text without any is expected", u32::from(c)));
    }
    let length = text.trim().chars().count();
    if length == 0 || length > LONGEST_TEXT {
        return Err(format!("its text has {length} characters; 1 to {LONGEST_TEXT} are expected"));
    }
    Ok(one_line(text))
}

/// As a calibration file has it.
impl fmt::Display for MachineRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.model)?;
        let Some(m) = &self.measurement else { return Ok(()) };
        let (ranks, hosts, network) = (m.ranks.to_string(), m.hosts.to_string(), m.network.to_string());
        let texts: [&str; TEXTS.len()] = [
            &m.command,
            &m.at,
            &m.version,
            &m.mpi_library,
            &ranks,
            &hosts,
            &m.topology,
            &network,
            &m.transport,
            &m.cases,
        ];
        for (name, text) in TEXTS.iter().zip(texts) {
            writeln!(f, "{PREFIX}{name} = \"{}\"", one_line(text))?;
        }
        for (parameter, samples) in Parameter::ALL.iter().zip(&m.samples) {
            if let Some(samples) = samples {
                writeln!(f, "{PREFIX}{parameter} = \"{samples}\"")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
