//! What a probe found, for people.

use optiq_studies::real_jobs::probe_report::{ProbeReport, Times};
use optiq_view::table::{self, count, percent, seconds};

fn times(name: &str, times: &Times) -> Vec<String> {
    let interval = match (times.mean_low_seconds, times.mean_high_seconds) {
        (Some(low), Some(high)) => format!("{} to {}", seconds(low), seconds(high)),
        _ => "-".into(),
    };
    let Times { mean_seconds, least_seconds, median_seconds, p99_seconds, .. } = *times;
    let mut row = vec![name.to_owned(), times.samples.to_string(), seconds(mean_seconds), interval];
    row.extend([least_seconds, median_seconds, p99_seconds].map(seconds));
    row
}

/// A table and sentences.
pub fn text(report: &ProbeReport) -> String {
    let ProbeReport { noise, .. } = report;
    let mut rows = vec![["", "samples", "mean", "95 %", "least", "median", "99 %"].map(String::from).to_vec()];
    if report.pairs.len() > 1 {
        rows.extend(report.pairs.iter().map(|pair| times(&format!("{} - {}", pair.from, pair.to), &pair.times)));
    }
    let all = match report.pairs.as_slice() {
        [only] => format!("{} - {}", only.from, only.to),
        _ => "all".into(),
    };
    rows.push(times(&all, &report.times));
    let mut out = format!(
        "{}: {} on {}, {}\n\n{}\n",
        report.probe,
        count(report.ranks as usize, "rank"),
        count(report.nodes as usize, "node"),
        seconds(report.seconds),
        table::table(&rows)
    );
    out += &format!(
        "Noise: the clock's steps are {}; sleeps end {} late before and {} while it ran, of which {} and {} vary{}\n",
        seconds(noise.timer_seconds),
        seconds(noise.before.mean_seconds),
        seconds(noise.during.mean_seconds),
        seconds(noise.before.noise_seconds()),
        seconds(noise.during.noise_seconds()),
        if noise.shares_processors { "; ranks share processors" } else { "" }
    );
    if let Some(queueing) = report.queueing_seconds {
        out += &format!("Queueing: {}\n", seconds(queueing));
    }
    if let Some(found) = &report.utilisation {
        let interval = found.low_share.zip(found.high_share);
        let interval =
            interval.map_or(String::new(), |(low, high)| format!(" ({} to {})", percent(low), percent(high)));
        out += &format!("Utilisation: {}{interval}\n", percent(found.share));
    }
    if let Some(load) = &report.load {
        let rate = |bytes: f64| format!("{:.3} MB/s", bytes / 1e6);
        let [offered, sent] = [load.offered_bytes_per_second, load.sent_bytes_per_second].map(rate);
        out += &format!("Load: a node offers {offered} and sent {sent}\n");
    }
    for reason in &report.worthless_because {
        out += &format!("These numbers are worthless: {reason}\n");
    }
    out
}
