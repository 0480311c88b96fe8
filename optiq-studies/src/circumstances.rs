//! Results pages: a claim's findings in Markdown, with where, when and how they were found.

use super::Claim;
use super::findings::Findings;
use serde::Serialize;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where and when.
#[derive(Clone, Debug, Serialize)]
pub struct Circumstances {
    pub optiq_version: &'static str,
    /// Revision and compiler, where whoever built it said so (`cargo xtask results` does).
    pub optiq_build: Option<&'static str>,
    /// UTC, `2026-11-21 09:36 UTC`.
    pub date: String,
    /// What the machine calls its processor.
    pub processor: String,
    pub processors: usize,
    /// Kernel and its version.
    pub system: String,
    /// Processes that wanted to run during the last minute, mean, before this one began: others share the processors.
    pub load_average: Option<f64>,
    /// Whether debug assertions are in this build: then times say little.
    pub debug_build: bool,
}

impl Circumstances {
    pub fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let first = |path: &str| read(path).lines().next().unwrap_or_default().trim().to_owned();
        let model = read("/proc/cpuinfo").lines().find_map(|line| {
            line.strip_prefix("model name").map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned())
        });
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let system = format!("{} {}", first("/proc/sys/kernel/ostype"), first("/proc/sys/kernel/osrelease"));
        Circumstances {
            optiq_version: env!("CARGO_PKG_VERSION"),
            optiq_build: option_env!("OPTIQ_BUILD"),
            date: date(seconds),
            processor: model.unwrap_or_else(|| "unknown".into()),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            system: system.trim().to_owned(),
            load_average: first("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok()),
            debug_build: cfg!(debug_assertions),
        }
    }

    fn paragraph(&self) -> String {
        format!(
            "Made on {}. Machine: {} cores ({}), {}, load average {} at the start. OPTIQ {}{}{}.",
            self.date,
            self.processors,
            self.processor,
            if self.system.is_empty() { "system unknown" } else { &self.system },
            self.load_average.map_or("unknown".into(), |load| format!("{load:.2}")),
            self.optiq_version,
            self.optiq_build.map_or(String::new(), |build| format!(" ({build})")),
            if self.debug_build { ", a debug build: its times say little" } else { "" }
        )
    }
}

/// The page of a claim. `command` is what made it; `picture` is the name of a file beside it.
pub fn markdown(
    claim: &Claim,
    findings: &Findings,
    command: &str,
    circumstances: &Circumstances,
    picture: Option<&str>,
) -> String {
    let picture = match (picture, &findings.chart) {
        (Some(file), Some(chart)) => format!("![{}]({file})\n\n", chart.title),
        _ => String::new(),
    };
    format!(
        "# {}: {}\n\n{} Shown when: {}.\n\nVerdict: **{}**.\n\n{} Made by `{command}`.\n\n{picture}{}",
        claim.id,
        claim.title,
        claim.statement,
        claim.shown_when,
        findings.verdict().sentence(),
        circumstances.paragraph(),
        findings.markdown()
    )
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
    fn dates() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(951_868_800), "2000-03-01 00:00 UTC");
        assert_eq!(date(1_735_689_599), "2024-12-31 23:59 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
    }
}
