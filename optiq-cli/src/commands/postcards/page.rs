//! The page of `optiq postcards join --report`.

use super::summary::{Summary, operation};
use optiq_trace::postcards::{Component, GapPlace, Operation, Path};
use optiq_view::bars::{Bar, Bars, Measure};
use optiq_view::heat::{Heat, Row};
use optiq_view::postcards::PostcardsPage;
use optiq_view::table;
use std::collections::BTreeMap;

/// Cells of a row, and rows, of the picture of senders; more senders share a row.
const CELLS: usize = 240;
const ROWS: usize = 128;

fn seconds(ns: f64) -> String {
    table::seconds(ns / 1e9)
}

pub fn page(summary: &Summary<'_>, files: &str) -> String {
    let joined = summary.joined;
    let name = |component: Component| summary.collection.name(component);
    let mut notes = summary.notes.clone();
    if summary.parts() > 1 {
        notes.push(format!(
            "Clocks fall into {} parts that no packet joined: times of different parts cannot be compared.",
            summary.parts()
        ));
    }
    if summary.with_gaps() > 0 || summary.ambiguous() > 0 {
        let (gaps, unsure) = (summary.with_gaps(), summary.ambiguous());
        notes.push(format!("{gaps} paths have gaps, {unsure} are ambiguous."));
    }
    let bar = |name: String, ns: f64, words: String, tip: String| Bar {
        name,
        number: 0,
        parts: vec![ns / 1e9],
        least: None,
        words,
        tip,
    };
    let components = summary.components.iter().map(|(component, stay)| {
        let words = format!("{}, {} packets, longest {}", seconds(stay.total_ns), stay.packets, seconds(stay.most_ns));
        bar(name(*component).into(), stay.total_ns, words.clone(), words)
    });
    let mut lines = vec![["line", "paths", "mean", "longest"].map(String::from).to_vec()];
    lines.extend(summary.lines.iter().map(|(context, stay)| {
        vec![summary.line(*context), stay.packets.to_string(), seconds(stay.mean_ns()), seconds(stay.most_ns)]
    }));
    let bars = |label: String, bars: Vec<Bar>| Bars {
        label,
        horizontal: "time there".into(),
        measure: Measure::Time,
        bars,
        bound: None,
    };
    let ways = summary.slowest.iter().map(|&i| {
        let title = title(summary, &joined.paths[i]);
        let hops = hops(summary, &joined.paths[i]).into_iter();
        let hops = hops.map(|(name, ns, words)| bar(name, ns, words.clone(), words)).collect();
        (title.clone(), bars(title, hops))
    });
    PostcardsPage {
        heading: "Paths of marked packets".into(),
        subtitle: format!(
            "{files}: {} of {}, clocks up to {} apart, known within {}",
            table::count(summary.collection.postcards(), "postcard"),
            table::count(summary.collection.components.len(), "component"),
            seconds(summary.skew_ns()),
            seconds(summary.clocks.residual_ns)
        ),
        notes,
        cards: vec![
            (joined.paths.len().to_string(), "paths".into()),
            (summary.intact().to_string(), "intact".into()),
            (summary.with_gaps().to_string(), "with gaps".into()),
            (summary.ambiguous().to_string(), "ambiguous".into()),
            (summary.collection.overwritten().to_string(), "postcards written over".into()),
        ],
        senders: senders(summary),
        components: bars("time by component".into(), components.collect()),
        lines,
        ways: ways.collect(),
    }
    .page()
}

fn title(summary: &Summary<'_>, path: &Path) -> String {
    let name = |component: Component| summary.collection.name(component);
    let line = path.issued.map_or_else(String::new, |issued| format!(", sent by {}", summary.line(issued.context)));
    let ends = (name(path.packet.source), name(path.packet.destination));
    format!("{} to {}: {} in {}{line}", ends.0, ends.1, operation(path), seconds(path.duration_ns()))
}

/// The components of a path with the time there; a gap has no time.
fn hops(summary: &Summary<'_>, path: &Path) -> Vec<(String, f64, String)> {
    let name = |component: Component| summary.collection.name(component);
    let gap = |place: GapPlace| {
        let gap = path.gaps.iter().find(|gap| gap.place == place)?;
        let which = if gap.first == gap.last {
            name(gap.first).to_owned()
        } else {
            format!("{} ... {}", name(gap.first), name(gap.last))
        };
        Some((which, 0.0, "no postcard".to_owned()))
    };
    let mut hops: Vec<_> = gap(GapPlace::Beginning).into_iter().collect();
    for (i, hop) in path.hops.iter().enumerate() {
        let stay = hop.left_ns - hop.arrived_ns;
        let waited = hop.waiting_bytes.map_or_else(String::new, |b| format!(", {} before it", table::bytes(b.into())));
        hops.push((name(hop.component).to_owned(), stay.max(0.0), format!("{}{waited}", seconds(stay))));
        hops.extend(gap(GapPlace::After(i)));
    }
    hops
}

/// Senders over time, with the middle and the end of the scale.
fn senders(summary: &Summary<'_>) -> Option<(Heat, [String; 2])> {
    let data = summary.joined.paths.iter().filter(|path| path.operation == Some(Operation::Data));
    let starts: Vec<(Component, f64, f64)> = data
        .filter_map(|path| {
            let from = path.issued.map_or(path.packet.source, |issued| issued.processor);
            Some((from, path.hops.first()?.arrived_ns, path.duration_ns()))
        })
        .collect();
    let begin = starts.iter().map(|s| s.1).fold(f64::INFINITY, f64::min);
    let end = starts.iter().map(|s| s.1).fold(f64::NEG_INFINITY, f64::max) + 1.0;
    let longest = starts.iter().map(|s| s.2).fold(0.0, f64::max);
    if starts.is_empty() || longest <= 0.0 {
        return None;
    }
    let mut from: Vec<Component> = starts.iter().map(|s| s.0).collect();
    from.sort_unstable();
    from.dedup();
    let together = from.len().div_ceil(ROWS);
    let row_of: BTreeMap<Component, usize> = from.iter().enumerate().map(|(i, c)| (*c, i / together)).collect();
    let mut cells = vec![vec![0.0f64; CELLS]; from.len().div_ceil(together)];
    for (sender, at, took) in &starts {
        let column = ((at - begin) / (end - begin) * CELLS as f64) as usize;
        let cell = &mut cells[row_of[sender]][column.min(CELLS - 1)];
        *cell = cell.max(took / longest);
    }
    let name = |component: Component| summary.collection.name(component).to_owned();
    let rows = from.chunks(together).zip(cells).map(|(senders, cells)| {
        let label = match senders {
            [one] => name(*one),
            [first, .., last] => format!("{} to {}", name(*first), name(*last)),
            [] => String::new(),
        };
        let slowest = cells.iter().copied().fold(0.0, f64::max) * longest;
        Row { tip: format!("{label}: up to {}", seconds(slowest)), label, cells }
    });
    let span = (end - begin) / 1e9;
    let label = "senders over time".into();
    let heat = Heat { label, rows: rows.collect(), interval: span / CELLS as f64, end: span };
    Some((heat, [seconds(longest / 2.0), seconds(longest)]))
}
