//! Job files: the jobs that share a network, in TOML.
//!
//! ```toml
//! network = "fattree:brown1296"
//!
//! [[job]]
//! name = "solver"
//! hosts = 612
//! placement = "random-node"
//! program = "pairs,message=4MB,think=500us,jitter=5%"
//!
//! [[job]]
//! name = "checkpoint"
//! hosts = 612
//! servers = "spread-target:72"
//! program = "io-write,request=4MB,total=4.3GB,think=0,window=2ms"
//! ```
//!
//! [`KEYS`] is the table of keys. What can be checked without the network is checked here; whether jobs fit,
//! [`crate::jobs::allocation`] says. Paths in a job file are relative to the working directory, as on a command line.

use crate::error::SimError;
use crate::jobs::placed::job_seed;
use crate::jobs::placement::{Placement, ServerPlacement};
use crate::jobs::program_spec::ProgramSpec;
use crate::model::Model;
use crate::nic::layout::MAX_JOBS;
use crate::router::policy::Policy;
use optiq_files::input;
use optiq_net::Network;
use optiq_net::text_file::{self, line_at, shorten};
use serde::Deserialize;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// The largest job file.
pub(crate) const MAX_BYTES: u64 = 256 << 10;
/// The longest name of a job, in bytes.
const MAX_NAME: usize = 64;
/// Cores of a host unless the file says otherwise.
pub const DEFAULT_CORES: u32 = 64;
/// The most cores of a host, and processes of a job on one.
const MAX_CORES: u32 = 4096;

/// A key of job files, for help and the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyEntry {
    /// Where it stands: empty for the top of the file, `job` for a job.
    pub table: &'static str,
    /// The key.
    pub key: &'static str,
    /// What it means, a sentence or a part of one without a full stop.
    pub meaning: &'static str,
    /// What holds where it is not given.
    pub default: &'static str,
}

const fn key(table: &'static str, key: &'static str, meaning: &'static str, default: &'static str) -> KeyEntry {
    KeyEntry { table, key, meaning, default }
}

/// The keys of job files.
pub const KEYS: &[KeyEntry] = &[
    key("", "title", "a name for people", "the file's name"),
    key("", "network", "the topology, as --topology has it", "must be given"),
    key("", "model", "the model of the machine: a preset or a file", "the preset that fits the network"),
    key("", "routing", "how packets are routed, as optiq simulate --routing has it", "fabric"),
    key("", "seed", "of everything that is random: placements, partners, jitter", "0"),
    key("", "placement_seed", "of placements alone", "seed"),
    key("", "cores", "cores of each host; every process has one to itself", "64"),
    key(
        "",
        "samples",
        "how many operations of each rank are measured, of jobs that do not say otherwise",
        "what the program says",
    ),
    key("", "warmup", "how many come before", "what the program says"),
    key("job", "name", "the job's name", "must be given"),
    key("job", "program", "what its ranks do", "must be given"),
    key("job", "hosts", "on how many hosts they are", "all that placement lists"),
    key("job", "placement", "which hosts these are", "random-node"),
    key("job", "processes", "ranks on each host", "1"),
    key("job", "servers", "where its I/O servers are, one process each", "none"),
    key("job", "exclusive", "whether no other job may be on its hosts", "true"),
    key(
        "job",
        "measured",
        "whether the run goes on until this job has its samples; a job that is not measured keeps going until the others have theirs",
        "true",
    ),
    key(
        "job",
        "class",
        "its priority class, 0 to 255: where several jobs are on a host, packets of higher ones leave it first",
        "0",
    ),
    key("job", "samples", "as above, for this job", "as above"),
    key("job", "warmup", "as above, for this job", "as above"),
];

/// The form of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    title: Option<String>,
    network: String,
    model: Option<String>,
    routing: Option<Spanned<String>>,
    #[serde(default)]
    seed: u64,
    placement_seed: Option<u64>,
    cores: Option<Spanned<u32>>,
    samples: Option<u32>,
    warmup: Option<u32>,
    #[serde(default)]
    job: Vec<Spanned<JobForm>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobForm {
    name: Spanned<String>,
    program: Spanned<String>,
    hosts: Option<Spanned<u32>>,
    placement: Option<Spanned<String>>,
    processes: Option<Spanned<u32>>,
    servers: Option<Spanned<String>>,
    exclusive: Option<bool>,
    measured: Option<bool>,
    class: Option<Spanned<u32>>,
    samples: Option<Spanned<u32>>,
    warmup: Option<Spanned<u32>>,
}

/// A job file that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    /// Its name, for messages.
    label: String,
    /// A name for people.
    pub title: String,
    /// The topology's specification.
    pub network: String,
    /// The preset or file of the model, if one is named.
    pub model: Option<String>,
    /// How packets are routed.
    pub routing: Policy,
    /// Of everything that is random but placements.
    pub seed: u64,
    /// Of placements.
    pub placement_seed: u64,
    /// Cores of a host.
    pub cores: u32,
    /// The jobs; at least one.
    pub jobs: Vec<JobEntry>,
}

/// A job of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct JobEntry {
    /// Its name.
    pub name: String,
    /// What its ranks do.
    pub program: ProgramSpec,
    /// On how many hosts they are; `None`: on all that the placement lists.
    pub hosts: Option<u32>,
    /// Which hosts these are.
    pub placement: Placement,
    /// Ranks on each of them.
    pub processes: u32,
    /// Where its servers are.
    pub servers: Option<ServerPlacement>,
    /// Whether no other job may be on its hosts.
    pub is_exclusive: bool,
    /// Whether the run goes on until it has its samples.
    pub is_measured: bool,
    /// Its priority class; higher ones are more urgent.
    pub class: u8,
    /// The line where it begins.
    line: usize,
}

impl JobFile {
    /// Reads a job file.
    ///
    /// # Errors
    /// [`SimError::Workload`] with a sentence that names file and line, what was found and what is expected.
    pub fn read(path: &Path) -> Result<Self, SimError> {
        let label = input::name(path);
        let text =
            text_file::read(path, MAX_BYTES).map_err(|why| SimError::Workload(format!("job file {label}: {why}")))?;
        Self::parse(&text, &label)
    }

    /// Reads the text of a job file that messages call `label`.
    ///
    /// # Errors
    /// As [`JobFile::read`].
    pub fn parse(text: &str, label: &str) -> Result<Self, SimError> {
        Reader { text, label, line_of: &|offset| line_at(text, offset) }.read()
    }

    /// As [`JobFile::parse`], of a text that was made from another one: `line_of` is the line there for an offset here.
    pub(crate) fn parse_made(text: &str, label: &str, line_of: &dyn Fn(usize) -> usize) -> Result<Self, SimError> {
        Reader { text, label, line_of }.read()
    }

    /// How messages call it.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The network that it names.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn load_network(&self) -> Result<Network, SimError> {
        let network = Network::from_spec(&self.network);
        network.map_err(|e| SimError::Workload(format!("job file {}: {e}", self.label)))
    }

    /// The model of a machine with that network.
    ///
    /// # Errors
    /// What is wrong with it; a model for links of another rate.
    pub fn load_model(&self, network: &Network) -> Result<Model, SimError> {
        let Some(name) = &self.model else { return Ok(Model::for_network(network)) };
        let told = |why: String| SimError::Model(format!("job file {}: {why}", self.label));
        let model = Model::read(name).map_err(|e| told(e.to_string()))?;
        model.check_rate(network).map_err(told)?;
        Ok(model)
    }

    /// The seed of a job's programs: another one for each.
    pub fn job_seed(&self, job: usize) -> u64 {
        job_seed(self.seed, job as u64)
    }

    /// An error of a job.
    pub fn error(&self, job: usize, why: &str) -> SimError {
        let (line, name) = self.jobs.get(job).map_or((1, ""), |job| (job.line, &job.name));
        SimError::Workload(format!("job file {}, line {line}: job {name}: {why}", self.label))
    }
}

struct Reader<'a> {
    text: &'a str,
    label: &'a str,
    line_of: &'a dyn Fn(usize) -> usize,
}

impl Reader<'_> {
    fn line(&self, span: &Range<usize>) -> usize {
        (self.line_of)(span.start)
    }

    fn error(&self, span: Range<usize>, why: impl AsRef<str>) -> SimError {
        // Some messages repeat what the file says, however long that is.
        let why: String = why.as_ref().split_whitespace().collect::<Vec<_>>().join(" ").chars().take(400).collect();
        SimError::Workload(format!("job file {}, line {}: {why}", self.label, self.line(&span)))
    }

    /// A whole number of at least `least` and at most `most`, or the default.
    fn number(
        &self,
        value: Option<&Spanned<u32>>,
        key: &str,
        (least, most): (u32, u32),
        default: u32,
    ) -> Result<u32, SimError> {
        let Some(value) = value else { return Ok(default) };
        match *value.get_ref() {
            n if (least..=most).contains(&n) => Ok(n),
            n => Err(self.error(value.span(), format!("{key} is {n}; {least} to {most} is expected"))),
        }
    }

    fn read(&self) -> Result<JobFile, SimError> {
        if self.text.len() as u64 > MAX_BYTES {
            return Err(self.error(0..0, format!("it is larger than {} KiB", MAX_BYTES >> 10)));
        }
        let form: FileForm =
            toml::from_str(self.text).map_err(|e| self.error(e.span().unwrap_or(0..0), e.message()))?;
        let routing = match &form.routing {
            None => Policy::Fabric,
            Some(name) => name.get_ref().parse().map_err(|e: SimError| self.error(name.span(), e.to_string()))?,
        };
        let cores = self.number(form.cores.as_ref(), "cores", (1, MAX_CORES), DEFAULT_CORES)?;
        match form.job.len() {
            0 => return Err(self.error(0..0, "it has no [[job]]; at least one is expected")),
            n if n > usize::from(MAX_JOBS) => {
                return Err(self.error(form.job[usize::from(MAX_JOBS)].span(), format!("more than {MAX_JOBS} jobs")));
            }
            _ => {}
        }
        let mut jobs: Vec<JobEntry> = Vec::new();
        for job in &form.job {
            let entry = self.job(job, &form, cores)?;
            if jobs.iter().any(|other| other.name == entry.name) {
                return Err(self.error(job.get_ref().name.span(), format!("there are two jobs {}", entry.name)));
            }
            jobs.push(entry);
        }
        if !jobs.iter().any(|job| job.is_measured) {
            return Err(self.error(
                0..0,
                "no job is measured, so that the run would never end; measured = true is expected in one",
            ));
        }
        let FileForm { title, network, model, seed, placement_seed, .. } = form;
        let placement_seed = placement_seed.unwrap_or(seed);
        let title = title.unwrap_or_else(|| self.label.to_owned());
        Ok(JobFile { label: self.label.to_owned(), title, network, model, routing, seed, placement_seed, cores, jobs })
    }

    fn job(&self, spanned: &Spanned<JobForm>, file: &FileForm, cores: u32) -> Result<JobEntry, SimError> {
        let form = spanned.get_ref();
        let name = form.name.get_ref().trim();
        if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
            let why = format!(
                "the name \"{}\"; 1 to {MAX_NAME} bytes without control characters are expected",
                shorten(name)
            );
            return Err(self.error(form.name.span(), why));
        }
        let bad = |span: Range<usize>, why: &str| self.error(span, format!("job {name}: {why}"));
        let processes = self.number(form.processes.as_ref(), "processes", (1, MAX_CORES), 1)?;
        if let (true, Some(given)) = (processes > cores, &form.processes) {
            return Err(bad(given.span(), &format!("{processes} processes on hosts of {cores} cores")));
        }
        let program = self.program(form, file)?;
        let placement = match &form.placement {
            None => Placement::RandomNode,
            Some(rule) => Placement::parse(rule.get_ref()).map_err(|why| bad(rule.span(), &why))?,
        };
        let servers = match &form.servers {
            None => None,
            Some(rule) => {
                Some((ServerPlacement::parse(rule.get_ref()).map_err(|why| bad(rule.span(), &why))?, rule.span()))
            }
        };
        match &servers {
            None if program.needs_servers() => {
                let why = format!("{} needs servers, such as servers = \"spread-target:4\"", program.name());
                return Err(bad(form.program.span(), &why));
            }
            Some((_, span)) if !program.needs_servers() => {
                let why = format!("{} has no use for servers; only io-write and io-read have", program.name());
                return Err(bad(span.clone(), &why));
            }
            _ => {}
        }
        let hosts = match &form.hosts {
            Some(hosts) if *hosts.get_ref() == 0 && servers.is_some() => {
                return Err(bad(hosts.span(), "servers without clients: hosts is 0; at least 1 is expected"));
            }
            Some(hosts) if *hosts.get_ref() == 0 => {
                return Err(bad(hosts.span(), "hosts is 0; at least 1 is expected"));
            }
            Some(hosts) => Some(*hosts.get_ref()),
            None if placement.has_own_count() => None,
            None => return Err(bad(spanned.span(), &format!("hosts = NUMBER is missing, which {placement} needs"))),
        };
        Ok(JobEntry {
            name: name.to_owned(),
            program,
            hosts,
            placement,
            processes,
            servers: servers.map(|s| s.0),
            is_exclusive: form.exclusive.unwrap_or(true),
            is_measured: form.measured.unwrap_or(true),
            class: self.number(form.class.as_ref(), "class", (0, 255), 0)? as u8,
            line: self.line(&spanned.span()),
        })
    }

    /// The program, with the numbers of samples that the file gives.
    fn program(&self, form: &JobForm, file: &FileForm) -> Result<ProgramSpec, SimError> {
        let (name, text) = (form.name.get_ref(), &form.program);
        let bad = |span: Range<usize>, why: &str| self.error(span, format!("job {name}: {why}"));
        let program = ProgramSpec::parse(text.get_ref()).map_err(|e| bad(text.span(), &e.to_string()))?;
        if program.is_idle() {
            return Err(bad(text.span(), "it sends nothing"));
        }
        // What the job itself says comes before what the file says for all; both come before the program's default.
        let given = |key: &str| text.get_ref().split(',').any(|part| part.trim_start().starts_with(key));
        let of_file = |value: Option<u32>, key: &str| value.filter(|_| !given(key));
        let samples = form.samples.as_ref().map(|s| *s.get_ref()).or(of_file(file.samples, "samples"));
        let warmup = form.warmup.as_ref().map(|s| *s.get_ref()).or(of_file(file.warmup, "warmup"));
        if samples.is_none() && warmup.is_none() {
            return Ok(program);
        }
        let (samples, warmup) = (samples.unwrap_or(program.samples), warmup.unwrap_or(program.warmup));
        let span = form.samples.as_ref().or(form.warmup.as_ref()).map_or(text.span(), Spanned::span);
        program.with_samples(samples, warmup).map_err(|e| bad(span, &e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    const EXAMPLE: &str = r#"
network = "fattree:brown1296"
[[job]]
name = "solver"
hosts = 612
placement = "random-node"
program = "pairs,message=4MB,think=500us,jitter=5%"
[[job]]
name = "checkpoint"
hosts = 612
servers = "spread-target:72"
program = "io-write,request=4MB,total=4.3GB,think=0,window=2ms"
"#;

    #[test]
    fn the_example_of_the_issue() {
        let file = JobFile::parse(EXAMPLE, "a.toml").unwrap();
        assert_eq!((file.cores, file.seed, file.routing, &*file.title), (64, 0, Policy::Fabric, "a.toml"));
        let [solver, checkpoint] = &file.jobs[..] else { panic!("two jobs") };
        assert_eq!((solver.hosts, &solver.placement, solver.processes), (Some(612), &Placement::RandomNode, 1));
        assert_eq!((solver.is_exclusive, solver.is_measured, &solver.servers), (true, true, &None));
        assert_eq!(checkpoint.servers, Some(ServerPlacement::Spread(72)));
        assert_eq!((solver.line, checkpoint.line), (3, 8));
        let network = file.load_network().unwrap();
        assert_eq!((network.hosts(), &*file.load_model(&network).unwrap().title), (1296, "fat tree, 12.5 GB/s"));
    }

    #[test]
    fn samples_of_job_before_program_before_file() {
        let text = |top: &str, program: &str, job: &str| {
            format!("network = \"star:4\"\n{top}\n[[job]]\nname = \"a\"\nhosts = 2\nprogram = \"{program}\"\n{job}")
        };
        let samples = |top, program, job| {
            let file = JobFile::parse(&text(top, program, job), "a").unwrap();
            (file.jobs[0].program.samples, file.jobs[0].program.warmup)
        };
        assert_eq!(samples("", "pairs,message=4KB", ""), (30, 3));
        assert_eq!(samples("samples = 5\nwarmup = 0", "pairs,message=4KB", ""), (5, 0));
        assert_eq!(samples("samples = 5", "pairs,message=4KB,samples=7", ""), (7, 3));
        assert_eq!(samples("samples = 5", "pairs,message=4KB,samples=7", "samples = 9\nwarmup = 1"), (9, 1));
    }

    #[test]
    fn every_key_is_in_the_table() {
        for (table, text) in [("", "nothing = 1\nnetwork = \"a\""), ("job", "network = \"a\"\n[[job]]\nnothing = 1")] {
            let why = JobFile::parse(text, "a").unwrap_err().to_string();
            let expected: Vec<&str> = why.split('`').skip(3).step_by(2).collect();
            let keys: Vec<&str> = KEYS.iter().filter(|k| k.table == table).map(|k| k.key).collect();
            assert!(keys.iter().all(|key| expected.contains(key)), "{why}");
            assert_eq!(expected.iter().filter(|key| **key != "job").count(), keys.len(), "{why}");
        }
    }

    #[test]
    fn refusals_name_file_and_line() {
        let job = |keys: &str| format!("network = \"star:4\"\n[[job]]\nname = \"a\"\nhosts = 2\n{keys}");
        let pairs = "program = \"pairs,message=4KB\"\n";
        for (text, line, expected) in [
            ("network = \"star:4\"".to_owned(), 1, "no [[job]]"),
            ("network = 4".to_owned(), 1, "invalid type"),
            ("[[job]]\nname = \"a\"".to_owned(), 1, "missing field"),
            (job("program = \"idle\""), 5, "job a: it sends nothing"),
            (job("program = \"pairs\""), 5, "pairs needs message="),
            (job(&format!("{pairs}class = 256")), 6, "class is 256; 0 to 255 is expected"),
            (job("program = \"walk\""), 5, "\"walk\" is no program"),
            (job("program = \"io-write,request=4MB\""), 5, "io-write needs servers"),
            (job(&format!("{pairs}servers = \"spread-target:1\"")), 6, "pairs has no use for servers"),
            (job(&format!("{pairs}placement = \"near\"")), 6, "there is no placement \"near\""),
            (job(&format!("{pairs}processes = 65")), 6, "65 processes on hosts of 64 cores"),
            (job(&format!("{pairs}processes = 0")), 6, "processes is 0"),
            (job(&format!("{pairs}samples = 0")), 6, "found 0 samples"),
            (job(&format!("{pairs}measured = false")), 1, "no job is measured"),
            (job(&format!("{pairs}size = 4")), 6, "unknown field `size`"),
            (job(pairs).replace("hosts = 2\n", ""), 2, "hosts = NUMBER is missing"),
            (job(pairs).replace("hosts = 2", "hosts = 0"), 4, "hosts is 0"),
            (job(pairs).replace("\"a\"", "\" \""), 3, "the name \"\""),
            (job(pairs) + &job(pairs)[19..], 7, "there are two jobs a"),
            (job(pairs).replace("network", "routing = \"none\"\nnetwork"), 1, "there is no routing \"none\""),
            (job(pairs).replace("network", "cores = 0\nnetwork"), 1, "cores is 0"),
            (
                job("servers = \"spread-target:2\"\nprogram = \"io-read,request=1MB\"")
                    .replace("hosts = 2", "hosts = 0"),
                4,
                "servers without clients",
            ),
            (job("program = \"open,message=4KB\""), 5, "open"),
            (job("program = \"pairs,message=4KB,interval=0\""), 5, "interval"),
        ] {
            let why = JobFile::parse(&text, "j.toml").expect_err(&text).to_string();
            let place = format!("job file j.toml, line {line}: ");
            assert!(why.starts_with(&place) && why.contains(expected) && !why.contains('\n'), "{text}\n{why}");
        }
    }

    proptest! {
        #[test]
        fn mutated_files_do_not_panic(cut in 0usize..600, with in "\\PC{0,4}", length in 0usize..6) {
            let mut text = EXAMPLE.to_owned();
            let start = (0..=cut.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap();
            let end = (start..=(start + length).min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap();
            text.replace_range(start..end, &with);
            if let Err(e) = JobFile::parse(&text, "a") {
                prop_assert!(!e.to_string().contains('\n'));
            }
        }
    }
}
