//! Where, when and with what a study was run: machine, versions, commit, date. No name of a host.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// From this load average on, a page says that its times are those of a busy machine.
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
    /// UTC, `2026-11-21 09:36 UTC`.
    pub date: String,
    /// What the machine calls its processor.
    pub processor: String,
    /// How many there are.
    pub processors: usize,
    /// Kernel and its version.
    pub system: String,
    /// Processes that wanted to run during the last minute, mean, before this one began: others share the processors.
    pub load_average: Option<f64>,
    /// Whether debug assertions are in this build: then times say little.
    pub debug_build: bool,
}

/// What a checkout says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkout {
    /// The commit, abbreviated.
    pub commit: String,
    /// Whether no file differed from the commit.
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
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let system = format!("{} {}", first("/proc/sys/kernel/ostype"), first("/proc/sys/kernel/osrelease"));
        Circumstances {
            optiq_version: env!("CARGO_PKG_VERSION").into(),
            optiq_build: option_env!("OPTIQ_BUILD").map(String::from),
            checkout: None,
            date: date(seconds),
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
            "Made on {}. Machine: {} cores ({}), {}, load average {} at the start{}. OPTIQ {}{}{}.",
            self.date,
            self.processors,
            self.processor,
            if self.system.is_empty() { "system unknown" } else { &self.system },
            self.load_average.map_or("unknown".into(), |load| format!("{load:.2}")),
            if is_busy { ", so other programs used the machine, which makes measured times longer" } else { "" },
            self.optiq_version,
            build.map_or(String::new(), |build| format!(" ({build})")),
            if self.debug_build { ", a debug build: its times say little" } else { "" }
        )
    }
}

/// Days since 1970-01-01 to year, month, day of the Gregorian calendar, by counting 400-year eras from 0000-03-01.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    // March is month 0.
    let month = (5 * in_year + 2) / 153;
    let of_month = in_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (400 * era + year + carry, month, of_month)
}

fn date(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / 86_400);
    let minutes = seconds % 86_400 / 60;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_said() {
        let with = |load| Circumstances { load_average: load, ..Circumstances::now() }.paragraph();
        assert!(with(Some(9.0)).contains("load average 9.00 at the start, so other programs used the machine"));
        assert!(with(Some(0.1)).contains("load average 0.10 at the start. OPTIQ"));
        assert!(with(None).contains("load average unknown at the start. OPTIQ"));
    }

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(951_868_800), "2000-03-01 00:00 UTC");
        assert_eq!(date(1_735_689_599), "2024-12-31 23:59 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
    }
}
