//! The timeline of a traced run: one lane per rank, coloured by what its time went into, in a page that needs no script.
//!
//! The width is cut into columns. In a column of `w` nanoseconds in which a rank waited for `t` of them, `t / w` of the
//! lane's height is drawn as waiting, and so on; what is left blank lies outside calls, or its records were dropped.

use crate::axis::{number, ticks, time_unit};
use crate::page::{self, Drawn, escape};
use crate::table;
use optiq::trace::{Outcome, RankSummary, Run, Stretch};
use std::fmt::Write;

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 30.0;
const LANE: f64 = 22.0;
const GAP: f64 = 5.0;
/// More lanes than these are not drawn.
const MAX_LANES: usize = 256;
/// Columns of all lanes together, and of one lane at most.
const MAX_CELLS: usize = 60_000;
const MAX_COLUMNS: usize = 1100;
/// More calls than these are not marked, nor listed.
const MAX_CALLS: usize = 200;

/// What time goes into, from the bottom of a lane to its top; with its words.
const CLASSES: [(&str, &str); 5] = [
    ("own", "own chunks, scheduling"),
    ("forwarding", "forwarding"),
    ("copying", "copying"),
    ("plain", "in plain MPI"),
    ("waiting", "waiting"),
];

/// The page. `notes` and `waits` are sentences.
pub fn page(run: &Run, only: Option<u32>, notes: &[String], waits: &[String]) -> String {
    let ranks = run.rank_summaries(only);
    let calls = run.calls(only);
    let sum = |f: fn(&RankSummary) -> u64| ranks.iter().map(f).fold(0, u64::saturating_add);
    let time = sum(|r| r.time);
    let part = |part: u64| table::percent(if time == 0 { 0.0 } else { part as f64 / time as f64 });
    let shown = only.map_or_else(|| table::count(calls.len(), "call"), |n| format!("call {n}"));
    let heading = format!("{} ranks, {shown}", run.ranks());
    let subtitle = format!("session {:016x} over {}", run.session(), escape(run.transport()));
    let mut cards = String::new();
    let longest = calls.iter().map(|c| c.end - c.start).max().unwrap_or(0);
    for (value, what) in [
        (table::seconds(longest as f64 / 1e9), "the longest call, over all ranks"),
        (part(sum(|r| r.waiting)), "of the ranks' time in calls waiting"),
        (part(sum(|r| r.forwarding)), "forwarding"),
        (table::bytes(sum(|r| r.forwarded.1) as f64), "forwarded"),
    ] {
        let _ = write!(cards, "<div class=\"card\"><b>{value}</b><span class=\"what\">{what}</span></div>");
    }
    let mut legend = String::from("<div class=\"roles\">");
    for (class, words) in CLASSES {
        let _ = write!(legend, "<span><span class=\"key {class}\"></span>{words}</span>");
    }
    legend.push_str("</div>");
    let mut said: Vec<String> = notes.to_vec();
    if ranks.len() > MAX_LANES {
        said.push(format!("the first {MAX_LANES} of {} ranks are drawn", ranks.len()));
    }
    if run.clock_error() > 0 {
        let error = table::seconds(run.clock_error() as f64 / 1e9);
        said.push(format!("times of different ranks agree to {error}"));
    }
    let notes: String = said.iter().map(|n| format!("<p class=\"note\">{}</p>", escape(n))).collect();
    let items: String = waits.iter().map(|w| format!("<li>{}</li>", escape(w))).collect();
    let waits = if waits.is_empty() {
        String::new()
    } else {
        let heading = "<h2 id=\"waits-heading\">Longest waits</h2>";
        format!("<section aria-labelledby=\"waits-heading\">{heading}<ul>{items}</ul></section>")
    };
    let (timeline, rank_table, call_table) = (svg(run, only, &ranks), rank_table(&ranks), call_table(run, only));
    let title = format!("OPTIQ trace: {heading}");
    let parts = [
        ("{{heading}}", heading.as_str()),
        ("{{subtitle}}", &subtitle),
        ("{{cards}}", &cards),
        ("{{legend}}", &legend),
        ("{{timeline}}", &timeline),
        ("{{notes}}", &notes),
        ("{{ranks}}", &rank_table),
        ("{{calls}}", &call_table),
        ("{{waits}}", &waits),
    ];
    page::page(&title, Drawn::Already, include_str!("timeline.css"), include_str!("timeline.html"), &parts)
}

/// Nanoseconds of each class in a column.
type Cell = [f64; CLASSES.len()];

/// Spreads stretches over columns of `width` nanoseconds, from `start` on.
fn cells(stretches: &[Stretch], start: f64, width: f64, columns: usize) -> Vec<Cell> {
    let mut cells = vec![Cell::default(); columns];
    for s in stretches.iter().filter(|s| s.duration > 0) {
        let (from, to) = (s.start as f64 - start, s.start as f64 - start + s.duration as f64);
        let busy = s.duration - s.waiting.min(s.duration);
        let own = busy.saturating_sub(s.forwarding).saturating_sub(s.copying).saturating_sub(s.plain);
        let parts = [own, s.forwarding, s.copying, s.plain, s.waiting].map(|p| p as f64 / s.duration as f64);
        let first = (from / width).max(0.0) as usize;
        let last = ((to / width).max(0.0) as usize).min(columns.saturating_sub(1));
        for (i, cell) in cells.iter_mut().enumerate().take(last + 1).skip(first) {
            let (left, right) = (i as f64 * width, (i + 1) as f64 * width);
            let inside = (to.min(right) - from.max(left)).max(0.0);
            for (sum, part) in cell.iter_mut().zip(parts) {
                *sum += inside * part;
            }
        }
    }
    cells
}

/// A lane's shapes: one path per class; columns that look the same are drawn as one.
fn lane(cells: &[Cell], width: f64, top: f64, step: f64) -> String {
    let mut paths: [String; CLASSES.len()] = Default::default();
    // In tenths of a unit of the drawing, so that what looks the same is the same.
    let heights: Vec<[i64; CLASSES.len()]> =
        cells.iter().map(|c| c.map(|t| (t / width * LANE * 10.0).round() as i64)).collect();
    let mut i = 0;
    while i < heights.len() {
        let same = heights[i..].iter().take_while(|h| **h == heights[i]).count();
        let (x, wide) = (LEFT + i as f64 * step, same as f64 * step);
        let mut y = top + LANE;
        for (path, &height) in paths.iter_mut().zip(&heights[i]) {
            if height > 0 {
                let height = height as f64 / 10.0;
                y -= height;
                let _ = write!(path, "M{x:.2} {y:.1}h{wide:.2}v{height:.1}h-{wide:.2}z");
            }
        }
        i += same;
    }
    let drawn = CLASSES.iter().zip(&paths).filter(|(_, path)| !path.is_empty());
    drawn.map(|((class, _), path)| format!("<path class=\"{class}\" d=\"{path}\"/>")).collect()
}

fn svg(run: &Run, only: Option<u32>, ranks: &[RankSummary]) -> String {
    let calls = run.calls(only);
    let (Some(start), Some(end)) = (calls.iter().map(|c| c.start).min(), calls.iter().map(|c| c.end).max()) else {
        return "<p class=\"note\">No call was recorded.</p>".into();
    };
    let lanes = ranks.len().min(MAX_LANES);
    let columns = (MAX_CELLS / lanes.max(1)).clamp(50, MAX_COLUMNS);
    let span = (end - start).max(1) as f64;
    let (width, step) = (span / columns as f64, (WIDTH - LEFT - RIGHT) / columns as f64);
    let bottom = TOP + lanes as f64 * (LANE + GAP);
    let x = |t: f64| LEFT + t / span * (WIDTH - LEFT - RIGHT);
    let mut text = String::new();
    let (factor, unit) = time_unit(span / 1e9);
    let (low, high) = (start as f64 / 1e9 * factor, end as f64 / 1e9 * factor);
    for t in ticks(low, high, 8) {
        let at = x(t / factor * 1e9 - start as f64);
        let _ = write!(text, r#"<line class="grid" x1="{at:.1}" x2="{at:.1}" y1="{TOP}" y2="{:.1}"/>"#, bottom + 4.0);
        let label = number(t);
        let _ = write!(text, r#"<text x="{at:.1}" y="{:.1}" text-anchor="middle">{label}</text>"#, bottom + 18.0);
    }
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    let what = format!("{unit} since the start of the first call");
    let _ = write!(text, r#"<text x="{middle:.1}" y="{:.1}" text-anchor="middle">{what}</text>"#, bottom + 36.0);
    let all = run.stretches(only);
    for (i, rank) in ranks.iter().take(lanes).enumerate() {
        let top = TOP + i as f64 * (LANE + GAP);
        let from = all.partition_point(|s| s.rank < rank.rank);
        let until = all.partition_point(|s| s.rank <= rank.rank);
        let cells = cells(&all[from..until], start as f64, width, columns);
        let part = |part: u64| table::percent(if rank.time == 0 { 0.0 } else { part as f64 / rank.time as f64 });
        let tip = format!(
            "rank {}: waiting {}, copying {}, forwarding {}, own {}",
            rank.rank,
            part(rank.waiting),
            part(rank.copying),
            part(rank.forwarding),
            part(rank.own)
        );
        let _ = write!(text, r#"<g class="rank"><title>{tip}</title>"#);
        let wide = WIDTH - LEFT - RIGHT;
        let _ = write!(text, r#"<rect class="lane" x="{LEFT}" y="{top:.1}" width="{wide}" height="{LANE}"/>"#);
        text.push_str(&lane(&cells, width, top, step));
        let at = top + LANE / 2.0 + 4.0;
        let _ =
            write!(text, r#"<text x="{:.1}" y="{at:.1}" text-anchor="end">rank {}</text></g>"#, LEFT - 8.0, rank.rank);
    }
    let mut labelled = f64::NEG_INFINITY;
    for call in calls.iter().take(MAX_CALLS) {
        let (from, to) = (x((call.start - start) as f64), x((call.end - start) as f64));
        let _ = write!(text, r#"<path class="call" d="M{from:.1} {TOP}v-6H{to:.1}v6"/>"#);
        let middle = (from + to) / 2.0;
        if middle - labelled > 46.0 {
            labelled = middle;
            let label = format!("call {}", call.number);
            let _ = write!(text, r#"<text class="soft" x="{middle:.1}" y="16" text-anchor="middle">{label}</text>"#);
        }
    }
    let height = bottom + 46.0;
    let label = format!("Timeline of {lanes} ranks over {}", table::seconds(span / 1e9));
    format!(r#"<svg class="timeline" viewBox="0 0 {WIDTH} {height:.0}" role="img" aria-label="{label}">{text}</svg>"#)
}

/// A table; from column `words_from` on, cells are words that may be broken. Plain text.
pub fn rows(heads: &[&str], words_from: usize, rows: impl Iterator<Item = Vec<String>>) -> String {
    let class = |i: usize| if i >= words_from { " class=\"words\"" } else { "" };
    let mut text = String::from("<table><thead><tr>");
    for (i, head) in heads.iter().enumerate() {
        let _ = write!(text, "<th scope=\"col\"{}>{}</th>", class(i), escape(head));
    }
    text.push_str("</tr></thead><tbody>");
    for row in rows {
        text.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            let _ = write!(text, "<td{}>{}</td>", class(i), escape(cell));
        }
        text.push_str("</tr>");
    }
    text + "</tbody></table>"
}

fn rank_table(ranks: &[RankSummary]) -> String {
    let heads = [
        "rank",
        "in calls",
        "waiting",
        "copying",
        "forwarding",
        "own",
        "plain MPI",
        "sent",
        "forwarded",
        "received",
        "dropped records",
    ];
    rows(
        &heads,
        heads.len(),
        ranks.iter().map(|r| {
            let mut row = vec![r.rank.to_string(), table::seconds(r.time as f64 / 1e9)];
            let part = |part: u64| table::percent(if r.time == 0 { 0.0 } else { part as f64 / r.time as f64 });
            row.extend([r.waiting, r.copying, r.forwarding, r.own, r.plain].map(part));
            row.extend([r.sent.1, r.forwarded.1, r.delivered.1].map(|b| table::bytes(b as f64)));
            row.push(r.dropped.to_string());
            row
        }),
    )
}

fn call_table(run: &Run, only: Option<u32>) -> String {
    let heads = ["call", "start", "time", "paths", "chunks", "bytes", "forwarded", "served by"];
    rows(
        &heads,
        7,
        run.calls(only).into_iter().take(MAX_CALLS).map(|c| {
            let failed = if c.outcome == Outcome::Failed { "failed: " } else { "" };
            vec![
                c.number.to_string(),
                table::seconds(c.start as f64 / 1e9),
                table::seconds((c.end - c.start) as f64 / 1e9),
                c.paths.to_string(),
                c.chunks.to_string(),
                table::bytes(c.bytes as f64),
                table::bytes(c.forwarded_bytes as f64),
                format!("{failed}{}", c.served_by),
            ]
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_spread_over_columns() {
        // 100 ns in 4 columns: 30 ns waiting from 10 on, then 40 ns of which a quarter each is forwarding and copying.
        let waiting = Stretch { start: 10, duration: 30, waiting: 30, ..Stretch::default() };
        let working = Stretch { start: 40, duration: 40, forwarding: 10, copying: 10, ..Stretch::default() };
        let cells = cells(&[waiting, working], 0.0, 25.0, 4);
        assert_eq!(cells[0], [0.0, 0.0, 0.0, 0.0, 15.0]);
        assert_eq!(cells[1], [5.0, 2.5, 2.5, 0.0, 15.0]);
        assert_eq!(cells[2], [12.5, 6.25, 6.25, 0.0, 0.0]);
        assert_eq!(cells[3], [2.5, 1.25, 1.25, 0.0, 0.0]);
    }

    #[test]
    fn columns_that_look_the_same_are_one_shape() {
        let cell = [0.0, 0.0, 0.0, 0.0, 25.0];
        let drawn = lane(&[cell, cell, Cell::default(), cell], 25.0, 0.0, 10.0);
        let end = LEFT + 30.0;
        let expected = format!(
            "<path class=\"waiting\" d=\"M{LEFT:.2} 0.0h20.00v22.0h-20.00zM{end:.2} 0.0h10.00v22.0h-10.00z\"/>"
        );
        assert_eq!(drawn, expected);
    }
}
