//! Sweep files: job files in which values may be lists. The runs are the product of the lists.
//!
//! ```toml
//! network = "fattree:4x4x3:1x4x2:1x1x2"
//! [[job]]
//! name = "solver"
//! hosts = 20
//! placement = ["random-node", "random-switch"]
//! program = "pairs,message=256KB,think=500us,jitter=5%"
//! [[job]]
//! name = "checkpoint"
//! hosts = 16
//! servers = "spread-target:8"
//! program = "io-write,request=1MB"
//!
//! [sweep]
//! "job.checkpoint.program.think" = ["0", "1ms", "2ms"]
//! seed = [1, 2, 3]
//! ```
//!
//! A list stands in place of a value, or in the table `[sweep]` under the value's path: `KEY` for a key above the first job,
//! `job.NAME.KEY` for one of a job, and `job.NAME.program.KEY` for a key within a program. No key of a job file takes a list
//! itself, so that a list is never anything else. The last list varies fastest, in the order of the file. Runs are made one by one
//! when they are asked for: nothing is as large as their number.
//!
//! A run is a job file again, made of the text by replacing the lists, and read by [`JobFile`]; what is wrong with it is told
//! with the line of the sweep file.

use super::axis::Axis;
use super::template::{Edit, Made};
use crate::error::SimError;
use crate::jobs::file::{JobFile, MAX_BYTES};
use optiq_files::input;
use optiq_net::text_file::{self, line_at, shorten};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The most runs of a sweep.
pub const MAX_RUNS: u64 = 10_000_000;

/// A sweep file that was read.
#[derive(Clone, Debug)]
pub struct Sweep {
    label: String,
    text: String,
    axes: Vec<Axis>,
    /// Per axis: its values as TOML, and where it begins.
    sources: Vec<(Vec<String>, usize)>,
    /// By place.
    slots: Vec<Slot>,
    /// The table `[sweep]`.
    cut: Option<Range<usize>>,
    runs: u64,
}

/// A value of the job file that differs from run to run.
#[derive(Clone, Debug)]
struct Slot {
    /// Where it stands; empty: it is not in the file, and its line is put in here.
    place: Range<usize>,
    /// Its key.
    key: String,
    /// The value that the file has, if that is a text.
    base: Option<String>,
    /// The axis of the whole value.
    whole: Option<usize>,
    /// The axes of keys in a program.
    keys: Vec<(String, usize)>,
}

impl Sweep {
    /// Reads a sweep file; a job file without lists is a sweep of one run.
    ///
    /// # Errors
    /// [`SimError::Workload`] with a sentence that names file and line, what was found and what is expected; more than
    /// [`MAX_RUNS`] runs. Every value of every list is tried once.
    pub fn read(path: &Path) -> Result<Self, SimError> {
        let label = input::name(path);
        let text =
            text_file::read(path, MAX_BYTES).map_err(|why| SimError::Workload(format!("job file {label}: {why}")))?;
        Self::parse(&text, &label)
    }

    /// Reads the text of a sweep file that messages call `label`.
    ///
    /// # Errors
    /// As [`Sweep::read`].
    pub fn parse(text: &str, label: &str) -> Result<Self, SimError> {
        let mut reader = Reader { text, label, axes: Vec::new(), sources: Vec::new(), slots: Vec::new() };
        if text.len() as u64 > MAX_BYTES {
            return Err(reader.error(0, format!("it is larger than {} KiB", MAX_BYTES >> 10)));
        }
        let document =
            DeTable::parse(text).map_err(|e| reader.error(e.span().map_or(0, |span| span.start), e.message()))?;
        let cut = reader.read(document.get_ref())?;
        let sweep = reader.finish(cut)?;
        sweep.try_values()?;
        Ok(sweep)
    }

    /// How messages call it.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What is swept, in the order of the file.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// How many runs there are, at most [`MAX_RUNS`].
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Which value of each axis a run has; runs are numbered from 0 on, and the last axis varies fastest.
    pub fn choices(&self, run: u64) -> Vec<usize> {
        let mut rest = run;
        let mut choices: Vec<usize> = (self.axes.iter().rev())
            .map(|axis| {
                let count = axis.values.len() as u64;
                let choice = (rest % count) as usize;
                rest /= count;
                choice
            })
            .collect();
        choices.reverse();
        choices
    }

    /// A run in words: `job.solver.placement=random-node, seed=2`; empty if nothing is swept.
    pub fn words(&self, run: u64) -> String {
        let pairs = self.axes.iter().zip(self.choices(run));
        pairs.map(|(axis, choice)| format!("{}={}", axis.name, axis.values[choice])).collect::<Vec<_>>().join(", ")
    }

    /// The job file of a run.
    ///
    /// # Errors
    /// What is wrong with this combination of values, with the line of the sweep file.
    pub fn job_file(&self, run: u64) -> Result<JobFile, SimError> {
        let made = self.made(&self.choices(run));
        JobFile::parse_made(&made.text, &self.label, &|offset| made.line(offset))
    }

    fn made(&self, choices: &[usize]) -> Made<'_> {
        let mut edits: Vec<Edit> = self.slots.iter().map(|slot| self.edit(slot, choices)).collect();
        edits.extend(self.cut.clone().map(|place| Edit { origin: place.start, place, with: String::new() }));
        edits.sort_by_key(|edit| edit.place.start);
        Made::new(&self.text, edits)
    }

    fn edit(&self, slot: &Slot, choices: &[usize]) -> Edit {
        let chosen = |axis: usize| (&self.sources[axis].0[choices[axis]], &self.axes[axis].values[choices[axis]]);
        let origin = slot.whole.iter().chain(slot.keys.iter().map(|(_, axis)| axis)).max();
        let origin = origin.map_or(slot.place.start, |&axis| self.sources[axis].1);
        let value = if slot.keys.is_empty() {
            slot.whole.map(|axis| chosen(axis).0.clone()).unwrap_or_default()
        } else {
            let base = slot.whole.map(|axis| chosen(axis).1).or(slot.base.as_ref());
            let with = |program: String, (key, axis): &(String, usize)| with_key(&program, key, chosen(*axis).1);
            let program = slot.keys.iter().fold(base.cloned().unwrap_or_default(), with);
            toml::Value::String(program).to_string()
        };
        let with = if slot.place.is_empty() { format!("{} = {value}\n", slot.key) } else { value };
        Edit { place: slot.place.clone(), with, origin }
    }

    /// Tries every value of every list, with the first ones of the others.
    fn try_values(&self) -> Result<(), SimError> {
        let mut choices = vec![0; self.axes.len()];
        for axis in 0..self.axes.len() {
            for choice in 0..self.axes[axis].values.len() {
                choices[axis] = choice;
                self.parse_choices(&choices)?;
            }
            choices[axis] = 0;
        }
        self.parse_choices(&choices)
    }

    fn parse_choices(&self, choices: &[usize]) -> Result<(), SimError> {
        let made = self.made(choices);
        JobFile::parse_made(&made.text, &self.label, &|offset| made.line(offset)).map(drop)
    }
}

/// A program with another value of a key, or with the key behind all others.
fn with_key(program: &str, key: &str, value: &str) -> String {
    let is_key = |part: &str| part.split_once('=').is_some_and(|(name, _)| name.trim() == key);
    let new = format!("{key}={value}");
    let mut found = false;
    let mut parts: Vec<&str> = Vec::new();
    for part in program.split(',') {
        let here = is_key(part);
        found |= here;
        parts.push(if here { &new } else { part });
    }
    if !found {
        parts.push(&new);
    }
    parts.join(",")
}

struct Reader<'a> {
    text: &'a str,
    label: &'a str,
    axes: Vec<Axis>,
    sources: Vec<(Vec<String>, usize)>,
    slots: Vec<Slot>,
}

/// A job as it stands in the file.
struct Job<'a> {
    name: String,
    table: &'a DeTable<'a>,
}

/// A value that is a list, with its key.
struct List<'a> {
    name: String,
    start: usize,
    values: &'a DeArray<'a>,
}

impl<'a> Reader<'a> {
    fn error(&self, offset: usize, why: impl AsRef<str>) -> SimError {
        let why: String = why.as_ref().split_whitespace().collect::<Vec<_>>().join(" ").chars().take(400).collect();
        SimError::Workload(format!("job file {}, line {}: {why}", self.label, line_at(self.text, offset)))
    }

    /// Finds lists and what they replace; returns where the table `[sweep]` is.
    fn read(&mut self, root: &DeTable<'_>) -> Result<Option<Range<usize>>, SimError> {
        let jobs = self.jobs(root)?;
        // What stands in place of a value, and what [sweep] has, in the order of the file.
        let mut lists = Vec::new();
        for (key, value) in root {
            if let (false, Some(values)) = (matches!(&**key.get_ref(), "job" | "sweep"), value.get_ref().as_array()) {
                lists.push(List { name: key.get_ref().to_string(), start: value.span().start, values });
            }
        }
        for job in &jobs {
            for (key, value) in job.table {
                if let Some(values) = value.get_ref().as_array() {
                    let name = format!("job.{}.{}", job.name, key.get_ref());
                    lists.push(List { name, start: value.span().start, values });
                }
            }
        }
        let cut = self.sweep_table(root, &mut lists)?;
        lists.sort_by_key(|list| list.start);
        for list in lists {
            self.list(list, root, &jobs)?;
        }
        self.slots.sort_by_key(|slot| slot.place.start);
        Ok(cut)
    }

    fn jobs<'t>(&self, root: &'t DeTable<'t>) -> Result<Vec<Job<'t>>, SimError> {
        let Some(array) = root.get("job").and_then(|job| job.get_ref().as_array()) else { return Ok(Vec::new()) };
        let mut jobs = Vec::new();
        for job in array.iter() {
            let Some(table) = job.get_ref().as_table() else { continue };
            let name = table.get("name").and_then(|name| name.get_ref().as_str()).unwrap_or_default();
            jobs.push(Job { name: name.trim().to_owned(), table });
        }
        Ok(jobs)
    }

    /// Adds the lists of `[sweep]`; where it stands, from its head to the end of its last value.
    fn sweep_table<'t>(
        &self,
        root: &'t DeTable<'t>,
        lists: &mut Vec<List<'t>>,
    ) -> Result<Option<Range<usize>>, SimError> {
        let Some((key, value)) = root.get_key_value("sweep") else { return Ok(None) };
        let start = self.line_start(key.span().start);
        let head = self.text[start..key.span().start].trim();
        let Some(table) = value.get_ref().as_table().filter(|_| head == "[") else {
            return Err(
                self.error(key.span().start, "sweep is a table of lists; [sweep] on a line of its own is expected")
            );
        };
        let mut end = self.text[key.span().end..].find(']').map_or(key.span().end, |at| key.span().end + at + 1);
        for (name, value) in table {
            let Some(values) = value.get_ref().as_array() else {
                let why = format!(
                    "{} is {}; a list is expected, under the path of a value in quotation marks, such as \"job.NAME.program.think\"",
                    shorten(name.get_ref()),
                    value.get_ref().type_str()
                );
                return Err(self.error(name.span().start, why));
            };
            end = end.max(value.span().end);
            lists.push(List { name: name.get_ref().to_string(), start: name.span().start, values });
        }
        Ok(Some(start..end))
    }

    fn line_start(&self, offset: usize) -> usize {
        self.text[..offset].rfind('\n').map_or(0, |at| at + 1)
    }

    /// An axis, and what it replaces.
    fn list(&mut self, list: List<'_>, root: &DeTable<'_>, jobs: &[Job<'_>]) -> Result<(), SimError> {
        let axis = self.axes.len();
        let bad = |reader: &Self, why: String| Err(reader.error(list.start, format!("{}: {why}", shorten(&list.name))));
        let (job, key, inner) = match list.name.strip_prefix("job.") {
            None => (None, &*list.name, None),
            Some(rest) => {
                // Names may have dots themselves: the longest one that fits is meant.
                let fits = jobs.iter().filter_map(|job| Some((job, rest.strip_prefix(&*job.name)?.strip_prefix('.')?)));
                let Some((job, key)) = fits.max_by_key(|(job, _)| job.name.len()) else {
                    let names: Vec<&str> = jobs.iter().map(|job| &*job.name).collect();
                    let names = names.join(", ");
                    return bad(
                        self,
                        format!("no job of that name; job.NAME.KEY is expected, and the jobs are {names}"),
                    );
                };
                match key.strip_prefix("program.") {
                    Some(inner) => (Some(job), "program", Some(inner)),
                    None => (Some(job), key, None),
                }
            }
        };
        let is_word =
            |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
        if !is_word(key) || inner.is_some_and(|inner| !is_word(inner)) {
            return bad(self, "KEY, job.NAME.KEY or job.NAME.program.KEY is expected".into());
        }
        if matches!(key, "name" | "title" | "job" | "sweep") {
            return bad(self, format!("{key} is the same in all runs; it cannot be a list"));
        }
        self.axis(&list, inner.is_some())?;
        let table = job.map_or(root, |job| job.table);
        let slot = self.slot(job, table, key, list.start)?;
        match inner {
            None if self.slots[slot].whole.is_some() => {
                return bad(self, "it is swept twice; one list is expected".into());
            }
            None => self.slots[slot].whole = Some(axis),
            Some(inner) if self.slots[slot].keys.iter().any(|(other, _)| other == inner) => {
                return bad(self, "it is swept twice; one list is expected".into());
            }
            Some(inner) => self.slots[slot].keys.push((inner.to_owned(), axis)),
        }
        Ok(())
    }

    /// Reads the values of a list.
    fn axis(&mut self, list: &List<'_>, in_program: bool) -> Result<(), SimError> {
        let bad = |offset: usize, why: String| Err(self.error(offset, format!("{}: {why}", shorten(&list.name))));
        let (mut values, mut sources) = (Vec::<String>::new(), Vec::new());
        for value in list.values.iter() {
            let (span, value) = (value.span(), value.get_ref());
            let source = &self.text[span.clone()];
            let words = match value {
                DeValue::String(text) => text.to_string(),
                DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => source.to_owned(),
                other => {
                    return bad(span.start, format!("a list has {}; texts and numbers are expected", other.type_str()));
                }
            };
            if in_program && (words.contains(',') || words.chars().any(char::is_control)) {
                return bad(span.start, format!("\"{}\" is no value of one key of a program", shorten(&words)));
            }
            if values.contains(&words) {
                return bad(span.start, format!("{} is there twice", shorten(&words)));
            }
            values.push(words);
            sources.push(source.to_owned());
        }
        if values.is_empty() {
            return bad(list.start, "the list is empty; at least one value is expected".into());
        }
        self.axes.push(Axis { name: list.name.clone(), values });
        self.sources.push((sources, list.start));
        Ok(())
    }

    /// The slot of a value, made if there is none.
    fn slot(&mut self, job: Option<&Job<'_>>, table: &DeTable<'_>, key: &str, at: usize) -> Result<usize, SimError> {
        let value: Option<&Spanned<DeValue<'_>>> = table.get(key);
        let (place, base) = match (value, job) {
            (Some(value), _) => (value.span(), value.get_ref().as_str().map(str::to_owned)),
            (None, None) => (0..0, None),
            (None, Some(job)) => {
                let name = table.get_key_value("name").map_or(0, |(name, _)| name.span().start);
                let start = self.line_start(name);
                if !self.text[start..name].trim().is_empty() {
                    let why =
                        format!("job {} is in one line and has no {key} to be replaced; one is expected", job.name);
                    return Err(self.error(at, why));
                }
                (start..start, None)
            }
        };
        if let Some(slot) = self.slots.iter().position(|slot| slot.place == place && slot.key == key) {
            return Ok(slot);
        }
        self.slots.push(Slot { place, key: key.to_owned(), base, whole: None, keys: Vec::new() });
        Ok(self.slots.len() - 1)
    }

    fn finish(self, cut: Option<Range<usize>>) -> Result<Sweep, SimError> {
        let product = self.axes.iter().try_fold(1u128, |product, axis| product.checked_mul(axis.values.len() as u128));
        let runs = product.and_then(|n| u64::try_from(n).ok()).filter(|&runs| runs <= MAX_RUNS);
        let Some(runs) = runs else {
            let lengths: Vec<String> = self.axes.iter().map(|axis| axis.values.len().to_string()).collect();
            let product = product.map_or_else(|| "more than 10^38".to_owned(), |n| n.to_string());
            let why =
                format!("its lists make {} = {product} runs; at most {MAX_RUNS} are expected", lengths.join(" x "));
            return Err(self.error(self.sources.first().map_or(0, |source| source.1), why));
        };
        let Self { text, label, axes, sources, slots, .. } = self;
        Ok(Sweep { label: label.to_owned(), text: text.to_owned(), axes, sources, slots, cut, runs })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    const EXAMPLE: &str = r#"# a sweep
network = "star:16"
[[job]]
name = "a.b"
hosts = 4
placement = [
  "contiguous",  # near
  "random-node",
]
program = "pairs,message=4KB,think=500us"

[sweep]  # the rest
"job.a.b.program.think" = ["0", "1ms", "2ms"]
seed = [1, 2]
"job.io.samples" = [3]
# behind

[[job]]
name = "io"
hosts = 2
servers = "spread-target:2"
program = "io-write,request=1MB"
"#;

    #[test]
    fn runs_are_the_product_and_the_last_list_varies_fastest() {
        let sweep = Sweep::parse(EXAMPLE, "s.toml").unwrap();
        let names: Vec<&str> = sweep.axes().iter().map(|axis| &*axis.name).collect();
        assert_eq!(names, ["job.a.b.placement", "job.a.b.program.think", "seed", "job.io.samples"]);
        assert_eq!(sweep.runs(), 12);
        assert_eq!(sweep.choices(0), [0, 0, 0, 0]);
        assert_eq!(sweep.choices(7), [1, 0, 1, 0]);
        assert_eq!(
            sweep.words(9),
            "job.a.b.placement=random-node, job.a.b.program.think=1ms, seed=2, job.io.samples=3"
        );
        let run = sweep.job_file(9).unwrap();
        assert_eq!((run.seed, run.jobs[0].placement.to_string()), (2, "random-node".into()));
        assert_eq!(run.jobs[0].program.pace.think.as_picoseconds(), 1_000_000_000);
        assert_eq!((run.jobs[1].program.samples, run.jobs[1].hosts), (3, Some(2)));
        // What is not swept is as in the job file.
        assert_eq!(sweep.job_file(0).unwrap().jobs[1].program, run.jobs[1].program);
        let plain =
            Sweep::parse("network = \"star:2\"\n[[job]]\nname='a'\nhosts=2\nprogram='pairs,message=1B'", "p").unwrap();
        assert_eq!((plain.runs(), plain.words(0)), (1, String::new()));
    }

    /// Every run is what somebody would write by hand.
    #[test]
    fn a_run_is_the_job_file_written_by_hand() {
        let sweep = Sweep::parse(EXAMPLE, "s.toml").unwrap();
        let by_hand = "network = \"star:16\"\nseed = 1\n[[job]]\nname = \"a.b\"\nhosts = 4\nplacement = \"contiguous\"\n\
                       program = \"pairs,message=4KB,think=2ms\"\n[[job]]\nname = \"io\"\nhosts = 2\nservers = \"spread-target:2\"\n\
                       samples = 3\nprogram = \"io-write,request=1MB\"\n";
        let hand = JobFile::parse(by_hand, "s.toml").unwrap();
        let run = sweep.job_file(4).unwrap();
        assert_eq!((run.seed, run.network, run.jobs.len()), (hand.seed, hand.network, hand.jobs.len()));
        for (a, b) in run.jobs.iter().zip(&hand.jobs) {
            assert_eq!(
                (&a.program, &a.placement, a.hosts, &a.servers),
                (&b.program, &b.placement, b.hosts, &b.servers)
            );
        }
    }

    #[test]
    fn mistakes_are_told_with_the_line_of_the_sweep_file() {
        let with = |old: &str, new: &str| {
            assert!(EXAMPLE.contains(old), "{old}");
            EXAMPLE.replace(old, new)
        };
        for (text, line, expected) in [
            (with("seed = [1, 2]", "seed = [1, 1]"), 14, "seed: 1 is there twice"),
            (with("seed = [1, 2]", "seed = []"), 14, "the list is empty"),
            (with("seed = [1, 2]", "seed = 1"), 14, "seed is integer; a list is expected"),
            (with("seed = [1, 2]", "seed = [1, [2]]"), 14, "a list has array"),
            (with("seed = [1, 2]", "title = ['a']"), 14, "title is the same in all runs"),
            (with("seed = [1, 2]", "\"job.c.hosts\" = [1]"), 14, "the jobs are a.b, io"),
            (with("seed = [1, 2]", "\"job.io.\" = [1]"), 14, "job.NAME.program.KEY is expected"),
            (with("seed = [1, 2]", "sid = [1, 2]"), 14, "unknown field `sid`"),
            (with("seed = [1, 2]", "\"job.io.program.think\" = [\"1ms,depth=2\"]"), 14, "is no value of one key"),
            (with("seed = [1, 2]", "\"job.a.b.placement\" = [\"contiguous\"]"), 14, "it is swept twice"),
            (with("\"2ms\"]", "\"2 parsecs\"]"), 13, "think=2 parsecs"),
            (with("\"random-node\",", "\"random-mode\","), 6, "random-mode"),
            (with("hosts = 2", "hosts = \"2\""), 20, "invalid type"),
            (with("[sweep]  # the rest", "[sweep.x]"), 12, "a list is expected"),
            (with("request=1MB", "request"), 22, "is not of the form KEY=VALUE"),
        ] {
            let why = Sweep::parse(&text, "s.toml").expect_err(&text).to_string();
            let place = format!("job file s.toml, line {line}: ");
            assert!(why.starts_with(&place) && why.contains(expected) && !why.contains('\n'), "{text}\n{why}");
        }
    }

    #[test]
    fn many_runs_are_counted_and_never_listed() {
        let list = |n: u64| format!("{:?}", (0..n).collect::<Vec<_>>());
        let with = |a: u64, b: u64| {
            let lists = format!("seed = {}\nplacement_seed = {}", list(a), list(b));
            Sweep::parse(&EXAMPLE.replace("seed = [1, 2]", &lists), "s.toml")
        };
        let sweep = with(1000, 1000).unwrap();
        assert_eq!(sweep.runs(), 6_000_000);
        assert_eq!(sweep.job_file(5_999_999).unwrap().placement_seed, 999);
        let why = with(2000, 1000).unwrap_err().to_string();
        assert!(why.contains("2 x 3 x 2000 x 1000 x 1 = 12000000 runs; at most 10000000 are expected"), "{why}");
    }

    #[test]
    fn keys_of_programs() {
        assert_eq!(with_key("pairs,message=4KB, think = 1us", "think", "0"), "pairs,message=4KB,think=0");
        assert_eq!(with_key("idle", "x", "1"), "idle,x=1");
    }

    proptest! {
        #[test]
        fn mutated_files_do_not_panic(cut in 0usize..500, with in "\\PC{0,4}", length in 0usize..6) {
            let mut text = EXAMPLE.to_owned();
            let start = (0..=cut.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap();
            let end = (start..=(start + length).min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap();
            text.replace_range(start..end, &with);
            match Sweep::parse(&text, "s") {
                Ok(sweep) => prop_assert!(sweep.job_file(sweep.runs() - 1).is_ok() || sweep.axes().len() > 1),
                Err(e) => prop_assert!(!e.to_string().contains('\n')),
            }
        }
    }
}
