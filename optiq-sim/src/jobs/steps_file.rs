//! Files of steps: the communication of an application, with what it computes between.
//!
//! ```toml
//! title = "FFTW, two transforms of 2000 x 2000"
//! ranks = 144                                   # of which this is the communication; a job has as many
//! processes = 8                                 # on each host, for who runs it; what is simulated follows from the job
//!
//! [[step]]
//! compute = "760us"                             # of each rank, before the exchange; 0 if it is left out
//! exchange = "alltoall,message=3086B"           # a stencil, alltoall, allreduce, alltoallv (not by OPTIQ) or samplesort
//!
//! [[step]]
//! times = 10                                    # this step so often; 1 if it is left out
//! compute = "1.2ms"
//! ```
//!
//! An operation of the program `steps` is all steps once.

use crate::error::SimError;
use crate::jobs::program_spec::{AllToAllVAlgorithm, Pace, ProgramKind, ProgramSpec};
use crate::time::Time;
use optiq_files::input;
use optiq_net::text_file::{self, line_at, shorten};
use optiq_net::units::{format_picoseconds, parse_picoseconds};
use serde::Deserialize;
use std::fmt::Write;
use std::path::Path;
use toml::Spanned;

/// The largest file.
const MAX_BYTES: u64 = 256 << 10;
/// The most steps, repetitions counted.
const MAX_STEPS: usize = 1 << 16;
/// The longest that a step computes.
const MAX_COMPUTE: Time = Time::picoseconds(1000 * Time::SECOND.as_picoseconds());

/// A step, repetitions counted one by one.
#[derive(Clone, Debug, PartialEq)]
pub struct FileStep {
    /// Before the exchange.
    pub compute: Time,
    /// One that goes in phases; `None` for computing alone.
    pub exchange: Option<ProgramSpec>,
}

/// See the top of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct StepsFile {
    /// A name for people.
    pub title: String,
    /// How many ranks.
    pub ranks: u32,
    /// How many on each host.
    pub processes: u32,
    /// At least one.
    pub steps: Vec<FileStep>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    #[serde(default)]
    title: String,
    ranks: Spanned<u32>,
    processes: Option<Spanned<u32>>,
    #[serde(default)]
    step: Vec<StepForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepForm {
    times: Option<Spanned<u32>>,
    compute: Option<Spanned<String>>,
    exchange: Option<Spanned<String>>,
}

impl StepsFile {
    /// Reads a file.
    ///
    /// # Errors
    /// [`SimError::Workload`] with a sentence that names file and line, what was found and what is expected.
    pub fn read(path: &Path) -> Result<Self, SimError> {
        let label = input::name(path);
        let text = text_file::read(path, MAX_BYTES);
        let text = text.map_err(|why| SimError::Workload(format!("file of steps {label}: {why}")))?;
        Self::parse(&text, &label)
    }

    /// Reads the text of a file that messages call `label`.
    ///
    /// # Errors
    /// As [`StepsFile::read`].
    pub fn parse(text: &str, label: &str) -> Result<Self, SimError> {
        let error = |offset: usize, why: &str| {
            let line = line_at(text, offset);
            // Some messages repeat what the file says, however long that is.
            let why: String = why.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(400).collect();
            SimError::Workload(format!("file of steps {label}, line {line}: {why}"))
        };
        let form: Form = toml::from_str(text).map_err(|e| error(e.span().map_or(0, |span| span.start), e.message()))?;
        let count = |value: Option<&Spanned<u32>>, key: &str, most: u32| match value {
            None => Ok(1),
            Some(value) if (1..=most).contains(value.get_ref()) => Ok(*value.get_ref()),
            Some(value) => {
                let why = format!("{key} is {}; 1 to {most} is expected", value.get_ref());
                Err(error(value.span().start, &why))
            }
        };
        let ranks = count(Some(&form.ranks), "ranks", 1 << 24)?;
        let processes = count(form.processes.as_ref(), "processes", 4096)?;
        let mut steps = Vec::new();
        for step in &form.step {
            let times = count(step.times.as_ref(), "times", MAX_STEPS as u32)?;
            let compute = step.compute.as_ref().map_or(Ok(Time::ZERO), |value| {
                compute(value.get_ref()).map_err(|why| error(value.span().start, &format!("compute: {why}")))
            })?;
            let exchange = step
                .exchange
                .as_ref()
                .map(|value| exchange(value.get_ref()).map_err(|why| error(value.span().start, &why)));
            let file_step = FileStep { compute, exchange: exchange.transpose()? };
            steps.extend(std::iter::repeat_n(file_step, times as usize));
            if steps.len() > MAX_STEPS {
                return Err(error(0, &format!("found more than {MAX_STEPS} steps; at most {MAX_STEPS} are expected")));
            }
        }
        if steps.is_empty() || steps.iter().all(|step| step.compute == Time::ZERO && step.exchange.is_none()) {
            return Err(error(0, "found nothing to do; a [[step]] with compute or exchange is expected"));
        }
        Ok(Self { title: form.title, ranks, processes, steps })
    }

    /// The same application on another number of ranks and slower links, with the work and the bytes of a rank as they are: a stencil
    /// keeps its faces, on the grid of those ranks whose lengths differ least; in an exchange of all with all a rank has as many bytes
    /// for fewer partners, so messages grow by `ranks - 1` over the new number less one; sums keep their size. Computing takes `stretch`
    /// times as long: with links that are slower by as much, both keep their shares.
    ///
    /// # Errors
    /// [`SimError::Workload`] for fewer than 2 ranks, a stretch that is no number from 1 to a million, a step that computes too long then,
    /// and exchanges whose sizes do not follow from the number of ranks (alltoallv, samplesort).
    pub fn scaled(&self, ranks: u32, stretch: f64) -> Result<Self, SimError> {
        let wrong = |text: String| Err(SimError::Workload(format!("{}: {text}", self.title)));
        if ranks < 2 {
            return wrong(format!("found {ranks} ranks; at least 2 are expected"));
        }
        if !(1.0..=1e6).contains(&stretch) {
            return wrong(format!("found computing stretched {stretch} times; 1 to 1,000,000 is expected"));
        }
        let mut scaled = Self { ranks, processes: 1, ..self.clone() };
        for step in &mut scaled.steps {
            // To whole nanoseconds, so that a time has a short text.
            let nanoseconds = (step.compute.as_picoseconds() as f64 * stretch / 1e3).round();
            step.compute = Time::picoseconds(nanoseconds as u64 * 1000);
            if step.compute > MAX_COMPUTE {
                return wrong(format!(
                    "a step computes for {:.0} s then; at most 1000 s are expected",
                    nanoseconds / 1e9
                ));
            }
            match step.exchange.as_mut().map(|spec| &mut spec.kind) {
                None | Some(ProgramKind::AllReduce { .. }) => {}
                Some(_) if ranks == self.ranks => {}
                Some(ProgramKind::Stencil { dims, .. }) => *dims = None,
                Some(ProgramKind::AllToAll { message, .. }) => {
                    *message = (*message * u64::from(self.ranks.max(2) - 1)).div_ceil(u64::from(ranks - 1));
                }
                Some(_) => {
                    return wrong(format!("its sizes on {ranks} ranks are not known; {} are expected", self.ranks));
                }
            }
        }
        Ok(scaled)
    }

    /// The text of its file, without comments.
    pub fn text(&self) -> String {
        let title = self.title.escape_default();
        let mut text = format!("title = \"{title}\"\nranks = {}\nprocesses = {}\n", self.ranks, self.processes);
        for same in self.steps.chunk_by(|a, b| a == b) {
            let _ = write!(text, "\n[[step]]\ntimes = {}\n", same.len());
            if same[0].compute > Time::ZERO {
                let _ = writeln!(text, "compute = \"{}\"", format_picoseconds(same[0].compute.as_picoseconds()));
            }
            if let Some(spec) = &same[0].exchange {
                let _ = writeln!(text, "exchange = \"{}\"", spec.to_string().escape_default());
            }
        }
        text
    }
}

fn compute(text: &str) -> Result<Time, String> {
    let time = Time::picoseconds(parse_picoseconds(text).map_err(|e| e.to_string())?);
    if time <= MAX_COMPUTE { Ok(time) } else { Err("at most 1000 s are expected".into()) }
}

/// Whether a program's operations are exchanges in phases.
fn is_in_phases(spec: &ProgramSpec) -> bool {
    match spec.kind {
        ProgramKind::Stencil { .. } => spec.pace.interval.is_none(),
        ProgramKind::AllToAllV { algorithm, .. } => algorithm != AllToAllVAlgorithm::Optiq,
        ProgramKind::AllToAll { .. } | ProgramKind::AllReduce { .. } | ProgramKind::SampleSort { .. } => true,
        _ => false,
    }
}

/// A program that is an exchange in phases, without a pace of its own.
fn exchange(text: &str) -> Result<ProgramSpec, String> {
    let spec = ProgramSpec::parse(text).map_err(|e| e.to_string())?;
    if !is_in_phases(&spec) {
        return Err(format!("\"{}\" is no exchange in phases, such as stencil or alltoall", shorten(text)));
    }
    if spec.pace != Pace::default() {
        return Err(format!("\"{}\" has times of its own; compute of the step is expected", shorten(text)));
    }
    Ok(spec)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_example_is_read() {
        let example: String = include_str!("steps_file.rs")
            .lines()
            .skip_while(|line| !line.contains("```toml"))
            .skip(1)
            .take_while(|line| !line.contains("```"))
            .map(|line| line.trim_start_matches("//!").to_owned() + "\n")
            .collect();
        let found = StepsFile::parse(&example, "example").unwrap();
        assert_eq!((found.ranks, found.processes, found.steps.len()), (144, 8, 11));
        assert_eq!(found.steps[0].compute, Time::picoseconds(760_000_000));
        assert!(found.steps[10].exchange.is_none());
    }

    const FILE: &str = "title = \"a\"\nranks = 144\nprocesses = 8\n[[step]]\ntimes = 2\ncompute = \"760us\"\nexchange = \"alltoall,message=3086B\"\n\
                        [[step]]\nexchange = \"stencil,message=12KiB,dims=6x6x4\"\n[[step]]\nexchange = \"allreduce,message=8B\"\n[[step]]\ncompute = \"1ms\"\n";

    #[test]
    fn what_is_written_is_read() {
        let file = StepsFile::parse(FILE, "a").unwrap();
        assert_eq!(StepsFile::parse(&file.text(), "b").unwrap(), file);
        let scaled = file.scaled(16, 200.0).unwrap();
        assert_eq!(StepsFile::parse(&scaled.text(), "b").unwrap(), scaled);
    }

    #[test]
    fn a_rank_keeps_its_bytes_and_its_work() {
        let file = StepsFile::parse(FILE, "a").unwrap();
        let scaled = file.scaled(16, 200.0).unwrap();
        let exchange = |at: usize| scaled.steps[at].exchange.as_ref().map(ToString::to_string).unwrap();
        assert_eq!((scaled.ranks, scaled.processes, scaled.steps.len()), (16, 1, 5));
        // 760 us 200 times; 143 messages of 3,086 B are 441,298 B, and 15 of 29,420 B as many but for the last byte.
        assert_eq!(scaled.steps[0].compute, Time::picoseconds(152_000_000_000));
        assert!(exchange(0).contains("message=29420B"), "{}", exchange(0));
        assert!(exchange(2).contains("message=12KiB") && !exchange(2).contains("dims"), "{}", exchange(2));
        assert!(exchange(3).contains("message=8B"), "{}", exchange(3));
        assert_eq!(file.scaled(144, 1.0).unwrap().steps, file.steps);
        let refused = |file: &StepsFile, ranks, stretch| file.scaled(ranks, stretch).unwrap_err().to_string();
        assert_eq!(refused(&file, 1, 1.0), "a: found 1 ranks; at least 2 are expected");
        assert!(refused(&file, 4, f64::NAN).contains("stretched NaN times"));
        assert!(
            refused(&StepsFile::parse("ranks = 2\n[[step]]\ncompute = \"2s\"", "a").unwrap(), 4, 1e3)
                .contains("computes for 2000 s")
        );
        let sort = StepsFile::parse("ranks = 4\n[[step]]\nexchange = \"samplesort,total=1MB\"", "a").unwrap();
        assert!(refused(&sort, 8, 1.0).contains("its sizes on 8 ranks are not known"));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, expected) in [
            ("ranks = 4", "line 1: found nothing to do"),
            ("ranks = 0", "line 1: ranks is 0; 1 to 16777216 is expected"),
            ("ranks = 4\n[[step]]\ncompute = \"5\"", "line 3: compute: "),
            (
                "ranks = 4\n[[step]]\nexchange = \"pairs,message=1\"",
                "line 3: \"pairs,message=1\" is no exchange in phases",
            ),
            ("ranks = 4\n[[step]]\nexchange = \"alltoall,message=1,think=1us\"", "has times of its own"),
            ("ranks = 4\n[[step]]\nexchange = \"alltoall\"", "alltoall needs message="),
            ("ranks = 4\n[[step]]\ntimes = 0", "line 3: times is 0"),
            ("ranks = 4\nrank = 3", "line 2: unknown field `rank`"),
        ] {
            let error = StepsFile::parse(text, "a").unwrap_err().to_string();
            assert!(error.starts_with("file of steps a, line ") && error.contains(expected), "{text}: {error}");
        }
    }
}
