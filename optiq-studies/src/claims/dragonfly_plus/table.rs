//! The table of the claims about means and their ratios.

use crate::findings::{Cell, Column, Row, Verdict, column};

/// Of K2 to K6.
pub(super) const COLUMNS: &[Column] = &[
    column("case", "case", 0),
    column("messages a rank", "messages_per_rank", 0),
    column("published, us", "published_microseconds", 2),
    column("simulated, us", "microseconds", 2),
    column("published ratio", "published_ratio", 2),
    column("simulated ratio", "ratio", 2),
    column("asked for", "asked", 0),
];

/// A mean.
pub(super) fn mean(case: String, messages: u64, published: Option<f64>, ours: f64, verdict: Verdict) -> Row {
    let published = published.filter(|&value| value > 0.0);
    let asked = if verdict == Verdict::NotJudged { Cell::Nothing } else { "above the row before".into() };
    Row::new(
        vec![case.into(), messages.into(), published.into(), ours.into(), Cell::Nothing, Cell::Nothing, asked],
        verdict,
    )
}

/// A ratio, judged by whether it is in a range. `None`: context.
pub(super) fn ratio(case: String, messages: u64, published: Option<f64>, ours: f64, asked: Option<[f64; 2]>) -> Row {
    let verdict = asked.map_or(Verdict::NotJudged, |[least, most]| {
        Verdict::of((least..=most).contains(&ours), || {
            format!("{case}: {ours:.2} is not within {}", range(least, most))
        })
    });
    let words = asked.map_or(Cell::Nothing, |[least, most]| range(least, most).into());
    let cells = vec![case.into(), messages.into(), Cell::Nothing, Cell::Nothing, published.into(), ours.into(), words];
    Row::new(cells, verdict)
}

fn range(least: f64, most: f64) -> String {
    match (least, most) {
        (_, f64::INFINITY) => format!("at least {least:.2}"),
        (0.0, _) => format!("at most {most:.2}"),
        _ => format!("{least:.2} to {most:.2}"),
    }
}

/// Within a factor of a value.
pub(super) fn within(value: f64, factor: f64) -> [f64; 2] {
    [value / factor, value * factor]
}

/// The same table of runs that are smaller than the claim's own: nothing is judged.
pub(super) fn judged_if(judged: bool, mut rows: Vec<Row>) -> Vec<Row> {
    if !judged {
        rows.iter_mut().for_each(|row| row.verdict = Verdict::NotJudged);
    }
    rows
}
