//! Where options are read, and which value counts: the program's over the environment's over the file's over the default.

use super::options::{OPTIONS, OptionRecord, PREFIX, Scope};
use super::values::Config;
#[cfg(feature = "mpi")]
use optiq_lower::choices::Algorithm;
use optiq_net::spec::is_auto;
use optiq_net::text_file;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The file for all users of a machine.
const SITE_FILE: &str = "/etc/optiq.conf";
/// A file of options is a page, not a book.
const LARGEST_FILE: u64 = 1 << 20;

/// An option whose value cannot be used, or a file of options that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// A value that does not parse.
    #[error("{subject} is \"{value}\"; {expected} is expected")]
    Value {
        /// The option, and the file and line where it stands in one.
        subject: String,
        /// What was found.
        value: String,
        /// What it takes.
        expected: String,
    },
    /// A file that cannot be read.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// A line that is not `KEY = value`.
    #[error("{path}:{line}: found \"{text}\"; KEY = value is expected")]
    Line {
        /// The file.
        path: String,
        /// Counted from 1.
        line: usize,
        /// What was found.
        text: String,
    },
    /// An option that does not exist.
    #[error("there is no option \"{0}\"{hint}", hint = hint(.0))]
    Unknown(String),
    /// An option that cannot be set where it was set.
    #[error("the option {name} cannot be set {place}")]
    Scope {
        /// The option.
        name: &'static str,
        /// Where it was set.
        place: &'static str,
    },
}

/// Where a value comes from. Later ones count more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The built-in default.
    Default,
    /// A line of a file.
    File {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// The environment.
    Environment,
    /// A call of the program.
    Program,
    /// An info key of a communicator.
    Info,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Environment => f.write_str("environment"),
            Origin::Program => f.write_str("program"),
            Origin::Info => f.write_str("info key of the communicator"),
        }
    }
}

/// The value of an option, and where it comes from.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The option.
    pub record: &'static OptionRecord,
    /// As it was written.
    pub value: String,
    /// Where it was written.
    pub origin: Origin,
}

impl Setting {
    /// Applies it to `config`.
    fn apply(&self, config: &mut Config) -> Result<(), ConfigError> {
        (self.record.set)(config, &self.value).map_err(|expected| {
            let subject = match &self.origin {
                Origin::File { .. } => format!("{}: {}", self.origin, self.record.key()),
                Origin::Info => format!("the info key optiq_{}", self.record.key()),
                _ => self.record.name.to_string(),
            };
            let expected = if expected.is_empty() { self.record.takes.to_string() } else { expected };
            ConfigError::Value { subject, value: self.value.clone(), expected }
        })
    }
}

/// What was read and set, not yet parsed: a value that is overruled need not be right.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// One per option that has a value.
    set: Vec<Setting>,
    error: Option<ConfigError>,
    warnings: Vec<String>,
}

/// A configuration as it was read: usable settings, and what was wrong with the rest.
#[derive(Clone, Debug)]
pub struct Read {
    /// The settings; options that do not parse keep their defaults.
    pub config: Config,
    /// The first option or file that cannot be used.
    pub error: Option<ConfigError>,
    /// Sentences about unknown names.
    pub warnings: Vec<String>,
}

impl Read {
    /// The settings, if all could be used.
    ///
    /// # Errors
    /// The first thing that cannot.
    pub fn usable(self) -> Result<Config, ConfigError> {
        self.error.map_or(Ok(self.config), Err)
    }

    /// The settings, with everything left to plain MPI if something cannot be used; and what that is. Whoever asks a session
    /// why MPI served a call is told of what was rejected, not of an `OPTIQ_ALGORITHM` that is not set.
    #[cfg(feature = "mpi")]
    pub(crate) fn or_plain_mpi(mut self) -> (Config, Option<ConfigError>) {
        if let Some(error) = &self.error {
            self.config.algorithm = Algorithm::Mpi;
            self.config.rejected = Some(error.to_string());
        }
        (self.config, self.error)
    }
}

impl Settings {
    /// What the files and the environment say.
    pub fn read() -> Self {
        // A value that is not UTF-8 parses as nothing; it must not go unnoticed.
        let text = |value: OsString| value.to_string_lossy().into_owned();
        let variables = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, text(v))));
        let mut settings = Self::default();
        match std::env::var_os("OPTIQ_CONF").map(text).filter(|v| !v.trim().is_empty()) {
            Some(file) if file == "none" => {}
            Some(file) => settings.add_file(Path::new(&file)),
            None => {
                let directory = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|d| d.is_absolute());
                let directory = directory.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".config")));
                let own = directory.map(|d| d.join("optiq").join("optiq.conf"));
                for file in [Some(PathBuf::from(SITE_FILE)), own].into_iter().flatten().filter(|f| f.exists()) {
                    settings.add_file(&file);
                }
            }
        }
        settings.add_environment(variables);
        settings
    }

    /// Settings from variables of an environment: (name, value) pairs. Names that do not start with `OPTIQ_` are passed
    /// over, empty values count as not set.
    pub fn from_variables(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut settings = Self::default();
        settings.add_environment(variables);
        settings
    }

    fn add_environment(&mut self, variables: impl IntoIterator<Item = (String, String)>) {
        let mut variables: Vec<_> = variables.into_iter().filter(|(name, _)| name.starts_with(PREFIX)).collect();
        // The environment has no order; messages should have one.
        variables.sort();
        for (name, value) in variables {
            match OPTIONS.iter().find(|o| o.name == name) {
                Some(_) if value.trim().is_empty() => {}
                // A network that a file describes is known, and need not be guessed: `optiq wrap` may run where the file is not.
                Some(record)
                    if record.name == "OPTIQ_TOPOLOGY"
                        && is_auto(&value)
                        && self.set.iter().any(|s| s.record.name == record.name) => {}
                Some(record) => self.put(record, &value, Origin::Environment),
                // Where OPTIQ is installed, for CMake's find_package.
                None if ["OPTIQ_ROOT", "OPTIQ_DIR", "OPTIQ_LAB_PROFILE"].contains(&name.as_str()) => {}
                None => {
                    self.warnings.push(format!("{name} is set, but OPTIQ has no such option{}", hint(&name)));
                }
            }
        }
    }

    fn add_file(&mut self, path: &Path) {
        match text_file::read(path, LARGEST_FILE) {
            Ok(text) => self.add_text(&text, path),
            Err(reason) => {
                let path = path.display().to_string();
                self.error.get_or_insert(ConfigError::File { path, reason });
            }
        }
    }

    /// The lines of an `optiq.conf`: `KEY = value`, comments after `#`, values in double quotes where they hold one. An empty
    /// value takes back what a file before said.
    pub fn add_text(&mut self, text: &str, path: &Path) {
        for (number, line) in text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || {
                let text: String = line.chars().take(80).collect();
                ConfigError::Line { path: path.display().to_string(), line: number, text }
            };
            let Some((key, value)) = line.split_once('=').and_then(|(k, v)| Some((k.trim(), unquoted(v.trim())?)))
            else {
                self.error.get_or_insert_with(wrong);
                continue;
            };
            match OptionRecord::find(key) {
                Some(record) if record.scope == Scope::Environment => {
                    let name = record.name;
                    self.error.get_or_insert(ConfigError::Scope { name, place: "in a file; it is a variable" });
                }
                Some(record) => self.put(record, value, Origin::File { path: path.into(), line: number }),
                None => self.warnings.push(format!(
                    "{}:{number}: there is no option \"{key}\"{}",
                    path.display(),
                    hint(key)
                )),
            }
        }
    }

    fn put(&mut self, record: &'static OptionRecord, value: &str, origin: Origin) {
        self.set.retain(|s| s.record.name != record.name);
        if !value.trim().is_empty() {
            self.set.push(Setting { record, value: value.trim().to_string(), origin });
        }
    }

    /// Sets an option over all that was read; an empty value takes back what was set or read.
    ///
    /// # Errors
    /// [`ConfigError`] if there is no such option, or it does not take the value, or cannot be set there; nothing is changed
    /// then.
    pub fn set(&mut self, name: &str, value: &str, origin: Origin) -> Result<(), ConfigError> {
        let record = OptionRecord::find(name).ok_or_else(|| ConfigError::Unknown(name.to_string()))?;
        let allowed = match origin {
            Origin::Info => record.scope == Scope::Communicator,
            _ => record.scope != Scope::Environment,
        };
        if !allowed {
            let place = if origin == Origin::Info { "for one communicator" } else { "by the program" };
            return Err(ConfigError::Scope { name: record.name, place });
        }
        let setting = Setting { record, value: value.trim().to_string(), origin };
        if !setting.value.is_empty() {
            setting.apply(&mut Config::default())?;
        }
        self.put(record, value, setting.origin);
        Ok(())
    }

    /// The value of every option and where it comes from, in the order of the documentation.
    pub fn all(&self) -> Vec<Setting> {
        let value = |record: &'static OptionRecord| {
            let set = self.set.iter().find(|s| s.record.name == record.name).cloned();
            let default = || Setting { record, value: record.default.to_string(), origin: Origin::Default };
            set.unwrap_or_else(default)
        };
        OPTIONS.iter().map(value).collect()
    }

    /// Parses what counts.
    pub fn resolve(&self) -> Read {
        let mut read = Read { config: Config::default(), error: self.error.clone(), warnings: self.warnings.clone() };
        // In the order of the documentation, not in that of the layers: the first error must not depend on them.
        for setting in self.all().iter().filter(|s| s.origin != Origin::Default) {
            if let Err(error) = setting.apply(&mut read.config) {
                read.error.get_or_insert(error);
            }
        }
        read
    }
}

/// The name that was probably meant, as the end of a sentence.
fn hint(name: &str) -> String {
    OptionRecord::nearest(name).map(|o| format!("; {} is the nearest", o.name)).unwrap_or_default()
}

/// A value without its quotes and without the comment behind it; none if a quote is missing, or text follows it.
fn unquoted(value: &str) -> Option<&str> {
    if let Some(rest) = value.strip_prefix('"') {
        let (inside, after) = rest.split_once('"')?;
        let after = after.trim();
        return (after.is_empty() || after.starts_with('#')).then_some(inside);
    }
    // Only behind a blank: a specification may hold the sign itself.
    let comment = value.find(" #").or_else(|| value.find("\t#"));
    let value = if value.starts_with('#') { "" } else { &value[..comment.unwrap_or(value.len())] };
    Some(value.trim())
}

impl Config {
    /// Reads `optiq.conf` and the `OPTIQ_*` variables of the environment: [`Settings::read`], resolved.
    pub fn read() -> Read {
        Settings::read().resolve()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use optiq_transport::ChunkRule;
    use proptest::prelude::*;

    fn variables(pairs: &[(&str, &str)]) -> Settings {
        Settings::from_variables(pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())))
    }

    fn read(pairs: &[(&str, &str)]) -> Read {
        variables(pairs).resolve()
    }

    fn file(text: &str) -> Settings {
        let mut settings = Settings::default();
        settings.add_text(text, Path::new("optiq.conf"));
        settings
    }

    #[test]
    fn the_documented_defaults_are_the_defaults() {
        let documented: Vec<_> = OPTIONS.iter().map(|o| (o.name, o.default)).collect();
        let read = read(&documented);
        assert_eq!((read.error, read.warnings), (None, vec![]));
        assert_eq!(read.config, Config::default());
    }

    #[test]
    fn every_option_refuses_nonsense_by_name() {
        // These name files or networks: that such a thing exists is looked for later.
        let any = [
            "OPTIQ_TOPOLOGY",
            "OPTIQ_TOPOLOGY_FILES",
            "OPTIQ_BACKGROUND",
            "OPTIQ_COUNTERS",
            "OPTIQ_BUSY_LINKS",
            "OPTIQ_CALIBRATION",
            "OPTIQ_TRACE",
            "OPTIQ_POSTCARDS",
            "OPTIQ_CONF",
            "OPTIQ_IO_HOSTS",
            "OPTIQ_LEARNED",
            "OPTIQ_PROFILE",
        ];
        for option in OPTIONS.iter().filter(|o| !any.contains(&o.name)) {
            let error = read(&[(option.name, "nonsense")]).error.unwrap().to_string();
            assert!(error.starts_with(option.name) && error.contains("\"nonsense\""), "{error}");
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
            ("OPTIQ_IO_BUDGET", "0"),
            ("OPTIQ_IO_TIMEOUT", "0"),
            ("OPTIQ_IO_TIMEOUT", "inf"),
            ("OPTIQ_TRACE_EVENTS", "15"),
            ("OPTIQ_TRACE_EVENTS", "16777217"),
            ("OPTIQ_POSTCARDS_EVERY", "0"),
            ("OPTIQ_POSTCARDS_EVERY", "4294967296"),
        ] {
            assert!(read(&[(name, bad)]).error.is_some(), "{name}={bad}");
        }
        let load = read(&[("OPTIQ_BACKGROUND", " load.txt ")]);
        assert_eq!(load.config.background.as_deref(), Some("load.txt"));
    }

    #[cfg(feature = "mpi")]
    #[test]
    fn plain_mpi_after_a_rejected_option_names_the_option() {
        let (config, error) = read(&[("OPTIQ_K", "0")]).or_plain_mpi();
        let said = "OPTIQ_K is \"0\"; a whole number of at least 1 is expected";
        assert_eq!((config.algorithm, config.rejected.as_deref()), (Algorithm::Mpi, Some(said)));
        assert_eq!(error.unwrap().to_string(), said);
        assert_eq!(read(&[("OPTIQ_ALGORITHM", "mpi")]).or_plain_mpi().0.rejected, None);
    }

    #[test]
    fn a_network_that_a_file_describes_is_not_guessed() {
        let topology = |file: &str, variable: &str| {
            let mut settings = Settings::default();
            settings.add_text(file, Path::new("optiq.conf"));
            settings.add_environment([("OPTIQ_TOPOLOGY".to_string(), variable.to_string())]);
            settings.resolve().usable().unwrap().topology.unwrap()
        };
        assert_eq!(topology("topology = torus:4x4", "auto"), "torus:4x4");
        assert_eq!(topology("topology = torus:4x4", "star:16"), "star:16");
        assert_eq!(topology("k = 7", "auto"), "auto");
    }

    #[test]
    fn unknown_names_are_told_with_the_nearest() {
        let read = read(&[
            ("OPTIQ_TOPOLGY", "torus:4x4"),
            ("HOME", "x"),
            ("OPTIQ_ROOT", "/x"),
            ("OPTIQ_K", "7"),
            ("OPTIQ_CHUNK", "16K"),
        ]);
        assert_eq!(
            read.warnings,
            ["OPTIQ_TOPOLGY is set, but OPTIQ has no such option; OPTIQ_TOPOLOGY is the nearest"]
        );
        assert_eq!((read.config.k, read.config.chunk), (7, ChunkRule::Fixed(16 << 10)));
        let warnings = file("k = 3\nbugdet = 1M\nzzzzzzzz = 1").resolve().warnings;
        assert_eq!(warnings[0], "optiq.conf:2: there is no option \"bugdet\"; OPTIQ_BUDGET is the nearest");
        assert_eq!(warnings[1], "optiq.conf:3: there is no option \"zzzzzzzz\"");
    }

    #[test]
    fn a_file_is_read_line_by_line() {
        let text =
            "# a comment\n\n  Topology=torus:4x4  # here\nOPTIQ_K = \"9\" # there\nscores = 0-64KiB=mpi\nwindow =\n";
        let read = file(text).resolve();
        assert_eq!((read.error, read.warnings), (None, vec![]));
        assert_eq!((read.config.topology.as_deref(), read.config.k), (Some("torus:4x4"), 9));
        assert_eq!((read.config.scores.0.len(), read.config.window), (1, Config::default().window));
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, expected) in [
            ("k = 4\nnonsense", "optiq.conf:2: found \"nonsense\"; KEY = value is expected"),
            ("k = \"4", "optiq.conf:1: found \"k = \"4\"; KEY = value is expected"),
            ("\n\nk = many", "optiq.conf:3: k is \"many\"; a whole number of at least 1 is expected"),
            ("conf = x", "the option OPTIQ_CONF cannot be set in a file; it is a variable"),
        ] {
            assert_eq!(file(text).resolve().error.unwrap().to_string(), expected);
        }
    }

    #[test]
    fn what_is_nearer_to_the_call_counts() {
        let mut settings = file("k = 1\nwindow = 1\nbudget = 1M\nplans = none");
        settings.add_environment([("OPTIQ_WINDOW".into(), "2".into()), ("OPTIQ_BUDGET".into(), "2M".into())]);
        settings.set("budget", "3M", Origin::Program).unwrap();
        settings.set("OPTIQ_PLANS", "4", Origin::Info).unwrap();
        let Read { config, error, .. } = settings.resolve();
        // What was wrong in the file is overruled.
        assert_eq!(error, None);
        assert_eq!((config.k, config.window, config.budget, config.plans), (1, 2, 3 << 20, 4));
        let origin = |name| settings.all().into_iter().find(|s| s.record.name == name).unwrap().origin.to_string();
        assert_eq!(origin("OPTIQ_K"), "optiq.conf:1");
        assert_eq!(origin("OPTIQ_WINDOW"), "environment");
        assert_eq!(origin("OPTIQ_BUDGET"), "program");
        assert_eq!(origin("OPTIQ_ORDER"), "default");
    }

    #[test]
    fn a_program_learns_at_once_what_is_wrong() {
        let mut settings = Settings::default();
        let error = settings.set("kk", "1", Origin::Program).unwrap_err().to_string();
        assert_eq!(error, "there is no option \"kk\"; OPTIQ_K is the nearest");
        let error = settings.set("k", "x", Origin::Info).unwrap_err().to_string();
        assert_eq!(error, "the info key optiq_k is \"x\"; a whole number of at least 1 is expected");
        let error = settings.set("log", "info", Origin::Info).unwrap_err().to_string();
        assert_eq!(error, "the option OPTIQ_LOG cannot be set for one communicator");
        assert!(settings.set("conf", "x", Origin::Program).is_err());
        assert!(settings.all().iter().all(|s| s.origin == Origin::Default));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(\\PC|\n|=|#|\"|k){0,200}") {
            file(&text).resolve();
        }
    }
}
