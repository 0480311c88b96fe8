//! Which links are taken for busy, and since when, for reports.

use optiq_measure::moment;
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

/// The time of day some seconds ago, as [`moment::utc`] writes it.
pub(crate) fn time(seconds_ago: f64) -> String {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    moment::utc((since_1970 - seconds_ago).max(0.0) as u64)
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
}
