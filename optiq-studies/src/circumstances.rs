//! Where, when and with what a study was run: machine, versions, commit, date. No name of a host.

use optiq_measure::moment;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;

/// From this load average on, a page says what is in it: programs are built just before they are measured.
const BUSY: f64 = 0.5;

/// Where and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Circumstances {
    /// The version of the crates.
    pub optiq_version: String,
    /// Revision and compiler, where the environment variable `OPTIQ_BUILD` had them when this was compiled.
    pub optiq_build: Option<String>,
    /// The commit and the programs of the run, where a checkout is known.
    #[serde(flatten, skip_serializing_if = "Option::is_none", default)]
    pub checkout: Option<Checkout>,
    /// As [`moment::utc`] has it.
    pub date: String,
    /// What the machine calls its processor.
    pub processor: String,
    /// How many there are.
    pub processors: usize,
    /// Kernel and its version.
    pub system: String,
    /// Processes that wanted to run during the last minute, mean, before this one began: with the build of what is run.
    pub load_average: Option<f64>,
    /// Whether debug assertions are in this build: then times say little.
    pub debug_build: bool,
}

/// What a checkout says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkout {
    /// The commit, abbreviated.
    pub commit: String,
    /// Whether no file differed from the commit, but for the pages themselves: a study refuses to begin otherwise.
    pub tree_clean: bool,
    /// The compiler.
    pub rustc: String,
    /// The MPI library's launcher, if there is one.
    pub mpirun: Option<String>,
}

impl fmt::Display for Checkout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tree = if self.tree_clean { "clean" } else { "with changes" };
        write!(f, "commit {}, {tree}; {}", self.commit, self.rustc)?;
        self.mpirun.as_ref().map_or(Ok(()), |mpirun| write!(f, "; {mpirun}"))
    }
}

impl Circumstances {
    /// Of this process; without a checkout.
    pub fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let first = |path: &str| read(path).lines().next().unwrap_or_default().trim().to_owned();
        let model = read("/proc/cpuinfo").lines().find_map(|line| {
            line.strip_prefix("model name").map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned())
        });
        let system = format!("{} {}", first("/proc/sys/kernel/ostype"), first("/proc/sys/kernel/osrelease"));
        Circumstances {
            optiq_version: env!("CARGO_PKG_VERSION").into(),
            optiq_build: option_env!("OPTIQ_BUILD").map(String::from),
            checkout: None,
            date: moment::utc_now(),
            processor: model.unwrap_or_else(|| "unknown".into()),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            system: system.trim().to_owned(),
            load_average: first("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok()),
            debug_build: cfg!(debug_assertions),
        }
    }

    /// For pages.
    pub fn paragraph(&self) -> String {
        let build = self.checkout.as_ref().map(Checkout::to_string).or_else(|| self.optiq_build.clone());
        let is_busy = self.load_average.is_some_and(|load| load >= BUSY);
        format!(
            "Made on {}. Machine: {} core{} ({}), {}, load average {} at the start{}. OPTIQ {}{}{}.",
            self.date,
            self.processors,
            if self.processors == 1 { "" } else { "s" },
            self.processor,
            if self.system.is_empty() { "system unknown" } else { &self.system },
            self.load_average.map_or("unknown".into(), |load| format!("{load:.2}")),
            if is_busy { ", the build before this run included" } else { "" },
            self.optiq_version,
            build.map_or(String::new(), |build| format!(" ({build})")),
            if self.debug_build { ", a debug build: its times say little" } else { "" }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_load_is_made_of_is_said() {
        let with = |load| Circumstances { load_average: load, ..Circumstances::now() }.paragraph();
        assert!(with(Some(9.0)).contains("load average 9.00 at the start, the build before this run included. OPTIQ"));
        assert!(with(Some(0.1)).contains("load average 0.10 at the start. OPTIQ"));
        assert!(with(None).contains("load average unknown at the start. OPTIQ"));
    }
}
