//! What `optiq cures` prints for people, and what its page has in its tables.

use super::found::Found;
use optiq_sim::jobs::cures::exchange_bounds::{ExchangeBounds, LinkTimes};
use optiq_sim::jobs::cures::trial::JobFigures;
use optiq_view::table;
use std::fmt::Write;

/// A row of names, then one for each cure and job.
pub fn rows(found: &Found<'_>) -> Vec<Vec<String>> {
    let heads = ["cure", "job", "mean", "median", "99 %", "slowdown", "mean, over as it is", "cycle, over as it is"];
    let mut rows = vec![heads.map(String::from).to_vec()];
    for tried in &found.trials.tried {
        for (number, (job, entry)) in tried.jobs.iter().zip(&found.file.jobs).enumerate() {
            // A cure is named once.
            let name = if number == 0 { tried.remedy.action.words(found.file) } else { String::new() };
            let mut row = vec![name, entry.name.clone()];
            row.extend(match job {
                Some(figures) => cells(figures, found.trials.as_it_is(number)),
                None => vec!["-".to_owned(); 6],
            });
            rows.push(row);
        }
    }
    rows
}

fn cells(figures: &JobFigures, base: Option<&JobFigures>) -> Vec<String> {
    let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"));
    let together = &figures.together;
    let times = [together.mean.value, together.median.value, together.p99.value].map(table::seconds);
    let slowdown = ratio(figures.slowdown.as_ref().map(|slowdown| slowdown.mean.value));
    let over = base.map(|base| figures.mean_over(base));
    let cycle = base.and_then(|base| figures.cycle_over(base));
    times.into_iter().chain([slowdown, ratio(over), ratio(cycle)]).collect()
}

/// What limits an exchange: a title, and a table.
pub fn limits(found: &Found<'_>, exchange: &ExchangeBounds) -> (String, Vec<Vec<String>>) {
    let ExchangeBounds { job, load, busiest, whole, left } = exchange;
    let mut title = format!(
        "{} beside the load of the others, measured for {}",
        found.file.jobs[*job].name,
        table::seconds((load.end - load.from).seconds())
    );
    if let Some((link, share)) = busiest.first() {
        let ends = found.network.link(*link);
        let [from, to] = [ends.from, ends.to].map(|end| found.network.name(end));
        let _ = write!(title, "; they have {} of link {from} -> {to}", table::percent(*share));
    }
    let line = |name: &str, of: fn(&LinkTimes) -> f64| {
        vec![name.to_owned(), table::seconds(of(whole)), table::seconds(of(left))]
    };
    let rows = vec![
        vec!["most loaded link".to_owned(), "without the others".into(), "on what they leave".into()],
        line("the bound of every routing", |t| t.bound_seconds),
        line("the fabric's own routes (MPI)", |t| t.fabric_seconds),
        line("OPTIQ, planned alone", |t| t.alone_seconds),
        line("OPTIQ, planned beside the others", |t| t.beside_seconds),
    ];
    (title, rows)
}

/// What was not tried, and what is missing, a sentence each; without a full stop.
pub fn notes(found: &Found<'_>) -> Vec<String> {
    let refused = found.trials.refused.iter();
    let mut notes: Vec<String> =
        refused.map(|refused| format!("not tried: {}: {}", refused.action.words(found.file), refused.why)).collect();
    if found.trials.left_out > 0 {
        notes.push(format!("{} not over (interrupted)", table::count(found.trials.left_out, "run")));
    }
    notes
}

/// On what, and how.
pub fn subtitle(found: &Found<'_>) -> String {
    format!(
        "{} on {}; model {}; routing {}; seed {}, of placements {}",
        table::count(found.file.jobs.len(), "job"),
        found.network.spec(),
        found.model.title,
        found.file.routing,
        found.file.seed,
        found.file.placement_seed
    )
}

pub fn text(found: &Found<'_>) -> String {
    let mut out = format!("{}: {}\n\n", found.file.title, subtitle(found));
    out += &table::aligned(&rows(found), |column| column > 1);
    for exchange in &found.trials.exchanges {
        let (title, rows) = limits(found, exchange);
        // Writing to a string does not fail.
        let _ = write!(out, "\n{title}\n{}", table::table(&rows));
    }
    for note in notes(found) {
        let _ = write!(out, "\n{note}");
    }
    if out.ends_with('\n') { out } else { out + "\n" }
}
