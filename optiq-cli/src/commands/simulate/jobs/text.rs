//! What `optiq simulate --jobs` prints for people.

use super::figures::{Found, busy_links};
use crate::commands::simulate::document::end_of;
use optiq_sim::jobs::run::{JobRun, RunOutcome};
use optiq_sim::jobs::statistics::{Estimate, JobStatistics};
use optiq_view::table;
use std::fmt::Write;

/// A row of names, then one for each job and run: what the page shows as well.
pub fn rows(found: &Found<'_>) -> Vec<Vec<String>> {
    let head = ["job", "run", "samples", "mean", "q1", "median", "q3", "99 %", "max"];
    let slower = ["slowdown: mean", "median", "99 %"];
    let is_compared = found.figures.iter().any(|figures| figures.slowdown.is_some());
    let heads = head.iter().chain(slower.iter().filter(|_| is_compared));
    let mut rows = vec![heads.map(ToString::to_string).collect::<Vec<_>>()];
    let columns = rows[0].len();
    for ((entry, result), figures) in found.file.jobs.iter().zip(&found.results.jobs).zip(found.figures) {
        let mut row = |name: &str, run: &Option<JobRun>, statistics: &Option<JobStatistics>| {
            let Some(run) = run else { return };
            let mut row = vec![entry.name.clone(), name.to_owned()];
            row.extend(of_run(run, statistics.as_ref()));
            if let (true, Some(s)) = (name == "together", &figures.slowdown) {
                row.extend([s.mean, s.median, s.p99].iter().map(ratio));
            }
            row.resize(columns, String::new());
            rows.push(row);
        };
        row("alone", &result.alone, &figures.alone);
        row("together", &result.together, &figures.together);
    }
    rows
}

fn of_run(run: &JobRun, statistics: Option<&JobStatistics>) -> Vec<String> {
    let Some(s) = statistics else { return vec!["0".into()] };
    let samples = if run.complete.is_some() { s.samples.to_string() } else { format!("{} (partial)", s.samples) };
    let times = [s.mean.value, s.first_quartile.value, s.median.value, s.third_quartile.value, s.p99.value, s.maximum];
    std::iter::once(samples).chain(times.map(table::seconds)).collect()
}

/// `1.93 [1.90, 1.97]`.
pub fn ratio(estimate: &Estimate) -> String {
    match estimate.interval {
        Some(interval) => format!("{:.2} [{:.2}, {:.2}]", estimate.value, interval.low, interval.high),
        None => format!("{:.2}", estimate.value),
    }
}

/// What was not measured, a sentence each; without a full stop.
pub fn notes(found: &Found<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if found.results.left_out > 0 {
        notes.push(format!("{} not begun (interrupted)", table::count(found.results.left_out, "run")));
    }
    let name = |job: usize| format!("{} alone", found.file.jobs[job].name);
    let alone = found.results.alone.iter().enumerate().map(|(job, run)| (name(job), run));
    for (name, run) in std::iter::once(("together".to_owned(), &found.results.together)).chain(alone) {
        if let Some(run) = run.as_ref().filter(|run| !run.is_complete()) {
            notes.push(format!(
                "{name}: ended before all samples were there ({}); its figures are partial",
                end_of(run.end)
            ));
        }
    }
    for (entry, result) in found.file.jobs.iter().zip(&found.results.jobs) {
        let ended = found.results.together.as_ref().is_some_and(RunOutcome::is_complete);
        if ended && result.together.as_ref().is_some_and(|run| run.complete.is_none()) {
            let name = &entry.name;
            notes.push(format!(
                "{name} is not measured and had not all of its samples when the others had theirs; its slowdown is of what it had done in both runs"
            ));
        }
    }
    notes
}

pub fn text(found: &Found<'_>) -> String {
    let &Found { file, network, model, .. } = found;
    let jobs = table::count(file.jobs.len(), "job");
    let mut out = format!(
        "{}: {jobs} on {}; model {}; routing {}; seed {}{}\n\n",
        file.title,
        network.spec(),
        model.title,
        file.routing,
        file.seed,
        if found.finite { "; ranks end after their samples" } else { "" }
    );
    out += &table::aligned(&rows(found), |column| column > 1);
    if found.figures.iter().any(|f| f.slowdown.is_some_and(|s| s.mean.interval.is_some())) {
        out += "intervals at 95 %, by nodes of the same jobs: other seeds and placements may differ by more\n";
    }
    out += &links(found);
    for note in notes(found) {
        let _ = writeln!(out, "{note}");
    }
    out
}

fn links(found: &Found<'_>) -> String {
    let links = busy_links(found);
    if links.is_empty() || found.most == 0 {
        return String::new();
    }
    let shared = links.iter().filter(|link| link.is_shared()).count();
    let mut rows = vec![vec!["busiest links".to_owned(), "busy".into()]];
    rows[0].extend(found.file.jobs.iter().map(|job| job.name.clone()));
    for link in links.iter().take(found.most) {
        let ends = found.network.link(link.link);
        let name = format!("{} -> {}", found.network.name(ends.from), found.network.name(ends.to));
        let mut row = vec![name, table::percent(link.share)];
        row.extend(link.of_jobs.iter().map(|&bytes| table::bytes(bytes as f64)));
        rows.push(row);
    }
    format!("\n{}{} of {} have bytes of several jobs\n", table::table(&rows), shared, table::count(links.len(), "link"))
}
