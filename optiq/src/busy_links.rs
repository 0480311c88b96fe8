//! Which links are taken for busy, and since when, for reports.

use parking_lot::Mutex;
use serde::Serialize;
use std::fmt::{self, Write};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A link that is taken for busy, as `OPTIQ_BACKGROUND=measure` found it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BusyLink {
    /// The vertex that sends.
    pub from: String,
    /// The vertex that receives.
    pub to: String,
    /// The share of its capacity that is left.
    pub share_left: f64,
    /// How long ago it was found to be busy, in seconds.
    pub seconds_ago: f64,
}

impl fmt::Display for BusyLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, share_left, seconds_ago } = self;
        write!(f, "{from} -> {to}, {:.0} % left since {seconds_ago:.1} s", 100.0 * share_left)
    }
}

/// The last change of plans in this process.
struct Last {
    when: Instant,
    changes: u32,
    busy: Vec<BusyLink>,
}

static LAST: Mutex<Option<Last>> = Mutex::new(None);

/// A plan took over for what is left beside these.
pub(crate) fn keep(busy: Vec<BusyLink>) {
    let mut last = LAST.lock();
    let changes = last.as_ref().map_or(0, |last| last.changes) + 1;
    *last = Some(Last { when: Instant::now(), changes, busy });
}

/// The lines of a report; empty if no plan ever took over.
pub(crate) fn lines() -> String {
    LAST.lock().as_ref().map_or_else(String::new, |last| {
        let since = last.when.elapsed().as_secs_f64();
        text(last.changes, since, &last.busy)
    })
}

fn text(changes: u32, since: f64, busy: &[BusyLink]) -> String {
    let times = if changes == 1 { "once".to_owned() } else { format!("{changes} times") };
    let mut text = format!("  load: plans followed the load of links {times}, the last time {since:.1} s ago; ");
    match busy.len() {
        0 => text.push_str("no link is taken for busy\n"),
        n => {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{n} are taken for busy:");
        }
    }
    for link in busy {
        let _ = writeln!(text, "    {}", BusyLink { seconds_ago: link.seconds_ago + since, ..link.clone() });
    }
    text
}

/// The time of day, in UTC as RFC 3339 has it, some seconds ago.
pub(crate) fn time(seconds_ago: f64) -> String {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    utc((since_1970 - seconds_ago).max(0.0) as u64)
}

/// Days to a date as in the Gregorian calendar before and after its beginning (H. Hinnant, "chrono-compatible low-level date algorithms",
/// `civil_from_days`): years begin in March, so that a leap day is the last of its year.
fn utc(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * era + year + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_which_and_since_when() {
        let busy = BusyLink { from: "h0".into(), to: "h1".into(), share_left: 0.25, seconds_ago: 1.0 };
        let said = text(2, 3.0, &[busy]);
        assert_eq!(
            said,
            "  load: plans followed the load of links 2 times, the last time 3.0 s ago; 1 are taken for busy:\n    h0 -> h1, 25 % left \
             since 4.0 s\n"
        );
        assert!(text(1, 3.0, &[]).ends_with("once, the last time 3.0 s ago; no link is taken for busy\n"));
    }
    /// As `date -u -d @SECONDS` has them.
    #[test]
    fn times_of_day() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc(1_795_564_800), "2026-11-25T00:00:00Z");
        assert_eq!(utc(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
