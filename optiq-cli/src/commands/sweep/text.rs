//! What `optiq sweep` prints for people.

use super::document::SweepDocument;
use super::execute::Made;
use optiq_sim::jobs::sweep::file::Sweep;
use optiq_view::table;
use std::fmt::Write;

/// The heads of a table of runs, and its rows.
pub fn rows(sweep: &Sweep, found: &SweepDocument) -> (Vec<String>, Vec<Vec<String>>) {
    let mut heads: Vec<String> = sweep.axes().iter().map(|axis| axis.name.clone()).collect();
    if heads.is_empty() {
        heads.push("run".into());
    }
    let jobs = found.results.first().map_or(&[][..], |result| &result.jobs);
    for job in jobs {
        heads.extend([format!("{} mean", job.placed.name), "99 %".into(), "slowdown".into()]);
    }
    let rows = found.results.iter().map(|result| {
        let mut row: Vec<String> = sweep.axes().iter().map(|axis| result.values[&axis.name].clone()).collect();
        if row.is_empty() {
            row.push(result.run.to_string());
        }
        for job in &result.jobs {
            let time = |of: fn(&super::document::Times) -> f64| {
                job.times.as_ref().map_or_else(dash, |t| table::seconds(of(t)))
            };
            let slowdown = job.slowdown.as_ref().map_or_else(dash, |s| format!("{:.3}", s.slowdown_mean));
            row.extend([time(|t| t.mean_seconds), time(|t| t.p99_seconds), slowdown]);
        }
        row
    });
    (heads, rows.collect())
}

fn dash() -> String {
    "-".to_owned()
}

pub fn text(sweep: &Sweep, found: &SweepDocument, made: &Made, most: usize) -> String {
    let runs = table::count(found.runs as usize, "run");
    let mut out = format!(
        "{}: {runs}, {} finished; {} made now, {} there before\n\n",
        found.title, found.finished, made.made, made.kept
    );
    let (heads, rows) = rows(sweep, found);
    let more = rows.len().saturating_sub(most);
    let shown: Vec<Vec<String>> = std::iter::once(heads).chain(rows.into_iter().take(most)).collect();
    let swept = sweep.axes().len().max(1);
    out += &table::aligned(&shown, |column| column >= swept);
    if more > 0 {
        // Writing to a string does not fail.
        let _ = writeln!(out, "and {more} more");
    }
    let _ = writeln!(out, "\nresults: {0}/sweep.json, {0}/index.html", found.output);
    out
}
