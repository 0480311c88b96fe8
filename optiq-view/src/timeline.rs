//! The timeline of a traced run: one lane per rank, coloured by what its time went into, in a page that needs no script.
//!
//! The width is cut into columns. In a column of `w` nanoseconds in which a rank waited for `t` of them, `t / w` of the
//! lane's height is drawn as waiting, and so on; what is blank lies outside calls, or its records were dropped. Long gaps between
//! calls are folded (`folded.rs`). Below, each link between two ranks has a lane with the chunks on it (`flights.rs`).

use crate::flights::{self, Flight};
use crate::folded::FoldedTime;
use crate::page::{self, Drawn};
use crate::svg::{Anchor, Drawing};
use crate::table;
use maud::{Markup, html};
use optiq_measure::moment;
use optiq_trace::{Outcome, Rank, RankSummary, Run, Stretch};
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

/// A length of time.
fn nanoseconds(nanoseconds: u64) -> String {
    table::seconds(nanoseconds as f64 / 1e9)
}

/// What share of a time a part of it is.
fn share(part: u64, time: u64) -> String {
    table::percent(if time == 0 { 0.0 } else { part as f64 / time as f64 })
}

/// The page. `notes` and `waits` are sentences.
pub fn page(run: &Run, only: Option<u32>, notes: &[String], waits: &[String]) -> String {
    let ranks = run.rank_summaries(only);
    let calls = run.calls(only);
    let shown = only.map_or_else(|| table::count(calls.len(), "call"), |n| format!("call {n}"));
    let heading = format!("{} ranks, {shown}", run.ranks());
    let subtitle = format!("began on {}, over {}", began(run), run.transport());
    let flights = flights::flights(run, only);
    let mut notes: Vec<String> = notes.to_vec();
    if ranks.len() > MAX_LANES {
        notes.push(format!("the first {MAX_LANES} of {} ranks are drawn", ranks.len()));
    }
    if run.clock_error() > 0 {
        notes.push(format!("times of different ranks agree to {}", nanoseconds(run.clock_error())));
    }
    let body = html! {
        main {
            header {
                h1 #title { (heading) }
                p #subtitle { (subtitle) }
            }
            section.cards aria-label="Headline numbers" {
                @for (number, what) in headlines(run, only, &ranks) { (page::card(&number, what, None)) }
            }
            section aria-labelledby="timeline-heading" {
                h2 #timeline-heading { "What each rank's time went into" }
                div.legend {
                    div.roles {
                        @for (class, words) in CLASSES { span { span class={ "key " (class) } {} (words) } }
                    }
                }
                (svg(run, only, &ranks, &flights))
                @for note in &notes { p.note { (note) } }
            }
            @if let Some((lanes, drawn, all)) = link_lanes(run, only, &flights) {
                section aria-labelledby="flights-heading" {
                    h2 #flights-heading { "Chunks on each link" }
                    div.legend {
                        div.roles {
                            span { span.key.own {} "sent by their source" }
                            span { span.key.forwarding {} "forwarded" }
                        }
                    }
                    (lanes)
                    p.note {
                        "A lane is what one rank sent to another, on the same axis of time as above; a bar is a chunk from being sent to \
                         having arrived, also while it waits for the receiver to look."
                        @if drawn < all { " Drawn are the " (drawn) " of " (all) " links with the most bytes." }
                    }
                }
            }
            section aria-labelledby="ranks-heading" {
                h2 #ranks-heading { "By rank" }
                div.scroll { (rank_table(&ranks)) }
            }
            section aria-labelledby="calls-heading" {
                h2 #calls-heading { "Calls" }
                div.scroll { (call_table(run, only)) }
            }
            @if !waits.is_empty() {
                section aria-labelledby="waits-heading" {
                    h2 #waits-heading { "Longest waits" }
                    ul { @for wait in waits { li { (wait) } } }
                }
            }
            footer #footer { "Session " (format!("{:016x}", run.session())) ", as in the names of its files." }
        }
    };
    page::page(&format!("OPTIQ trace: {heading}"), Drawn::Already, include_str!("timeline.css"), body)
}

/// The numbers of the cards, and what they are.
fn headlines(run: &Run, only: Option<u32>, ranks: &[RankSummary]) -> [(String, &'static str); 4] {
    let sum = |f: fn(&RankSummary) -> u64| ranks.iter().map(f).fold(0, u64::saturating_add);
    let time = sum(|r| r.time);
    let longest = run.calls(only).iter().map(|c| c.end - c.start).max().unwrap_or(0);
    [
        (nanoseconds(longest), "the longest call, over all ranks"),
        (share(sum(|r| r.waiting), time), "of the ranks' time in calls waiting"),
        (share(sum(|r| r.forwarding), time), "forwarding"),
        (table::bytes(sum(|r| r.forwarded.1) as f64), "forwarded"),
    ]
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
fn lane(cells: &[Cell], width: f64, (left, top): (f64, f64), step: f64) -> String {
    let mut paths: [String; CLASSES.len()] = Default::default();
    // In tenths of a unit of the drawing, so that what looks the same is the same.
    let heights: Vec<[i64; CLASSES.len()]> =
        cells.iter().map(|c| c.map(|t| (t / width * LANE * 10.0).round() as i64)).collect();
    let mut i = 0;
    while i < heights.len() {
        let same = heights[i..].iter().take_while(|h| **h == heights[i]).count();
        let (x, wide) = (left + i as f64 * step, same as f64 * step);
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

/// The axis of time of all pictures.
fn time(run: &Run, only: Option<u32>) -> Option<FoldedTime> {
    let calls: Vec<(u64, u64)> = run.calls(only).iter().map(|c| (c.start, c.end)).collect();
    FoldedTime::of(&calls, (LEFT, WIDTH - RIGHT))
}

fn link_lanes(run: &Run, only: Option<u32>, flights: &[Flight]) -> Option<(Markup, usize, usize)> {
    flights::lanes(flights, &time(run, only)?, (WIDTH, LEFT, WIDTH - RIGHT))
}

fn svg(run: &Run, only: Option<u32>, ranks: &[RankSummary], flights: &[Flight]) -> Markup {
    let calls = run.calls(only);
    let Some(time) = time(run, only) else {
        return html! { p.note { "No call was recorded." } };
    };
    let lanes = ranks.len().min(MAX_LANES);
    let bottom = TOP + lanes as f64 * (LANE + GAP);
    let mut drawing = Drawing::default();
    let unit = times(&mut drawing, &time, bottom);
    let what = format!("{unit} since the start of the first call");
    drawing.words("", Anchor::Middle, ((LEFT + WIDTH - RIGHT) / 2.0, bottom + 36.0), &what);
    rank_lanes(&mut drawing, run, only, &ranks[..lanes], &time);
    let middle = |rank: Rank| {
        let lane = ranks[..lanes].iter().position(|r| r.rank == rank)?;
        Some(TOP + lane as f64 * (LANE + GAP) + LANE / 2.0)
    };
    let arrows = flights::arrows(&mut drawing, flights, &time, middle);
    for (at, lasted) in time.folds() {
        let zigzag = format!("M{:.1} {TOP}v{:.1}M{:.1} {TOP}v{:.1}", at - 4.0, bottom - TOP, at + 4.0, bottom - TOP);
        drawing.path("fold", &zigzag, Some(&format!("{lasted} between calls are not drawn")));
    }
    let mut labelled = f64::NEG_INFINITY;
    for call in calls.iter().take(MAX_CALLS) {
        let (from, to) = (time.at(call.start), time.at(call.end));
        drawing.path("call", &format!("M{from:.1} {TOP}v-6H{to:.1}v6"), None);
        let middle = (from + to) / 2.0;
        if middle - labelled > 46.0 {
            labelled = middle;
            drawing.words("soft", Anchor::Middle, (middle, 16.0), &format!("call {}", call.number));
        }
    }
    let label = format!("Timeline of {lanes} ranks over {}", nanoseconds(time.shown()));
    let folds = time.folds().count();
    html! {
        (drawing.finish("timeline", (WIDTH, bottom + 46.0), &label))
        @if folds > 0 {
            p.note { (table::count(folds, "gap")) " between calls, marked by double lines, " (if folds == 1 { "is" } else { "are" }) " not drawn." }
        }
        @if arrows > 0 {
            p.note {
                "Arrows are chunks from being sent to having arrived"
                @if arrows < flights.len() { ": the " (arrows) " slowest of " (flights.len()) "; --call shows those of one call" }
                "."
            }
        }
    }
}

/// A lane for each rank, coloured by what its time went into.
fn rank_lanes(drawing: &mut Drawing, run: &Run, only: Option<u32>, ranks: &[RankSummary], time: &FoldedTime) {
    let stretches = run.stretches(only);
    let all_columns = (MAX_CELLS / ranks.len().max(1)).clamp(50, MAX_COLUMNS) as f64;
    for (i, rank) in ranks.iter().enumerate() {
        let top = TOP + i as f64 * (LANE + GAP);
        let from = stretches.partition_point(|s| s.rank < rank.rank);
        let until = stretches.partition_point(|s| s.rank <= rank.rank);
        let tip = format!(
            "rank {}: waiting {}, copying {}, forwarding {}, own {}",
            rank.rank,
            share(rank.waiting, rank.time),
            share(rank.copying, rank.time),
            share(rank.forwarding, rank.time),
            share(rank.own, rank.time)
        );
        drawing.raw(&format!("<g class=\"rank\"><title>{tip}</title>"));
        drawing.rect("lane", (LEFT, top), (WIDTH - LEFT - RIGHT, LANE), None);
        for piece in time.pieces() {
            let wide = piece.right - piece.left;
            let columns = (all_columns * wide / (WIDTH - LEFT - RIGHT)).ceil().max(1.0) as usize;
            let width = (piece.end - piece.start).max(1) as f64 / columns as f64;
            let within = |s: &&Stretch| s.start < piece.end && s.start.saturating_add(s.duration) > piece.start;
            let here: Vec<Stretch> = stretches[from..until].iter().filter(within).copied().collect();
            let cells = cells(&here, piece.start as f64, width, columns);
            drawing.raw(&lane(&cells, width, (piece.left, top), wide / columns as f64));
        }
        drawing.words("", Anchor::End, (LEFT - 8.0, top + LANE / 2.0 + 4.0), &format!("rank {}", rank.rank));
        drawing.raw("</g>");
    }
}

/// Upright lines at round times, in the unit that suits all the time that is shown, which is returned.
fn times(drawing: &mut Drawing, time: &FoldedTime, bottom: f64) -> &'static str {
    let span = time.shown().max(1) as f64 / 1e9;
    let mut unit = "s";
    let mut free = f64::NEG_INFINITY;
    for piece in time.pieces() {
        let count = (10.0 * (piece.right - piece.left) / (WIDTH - LEFT - RIGHT)).max(1.0) as usize;
        let (ticks, named) = piece.axis().time_ticks_of(span, count);
        unit = named;
        for (time, label) in ticks {
            let at = piece.axis().at(time);
            drawing.line("grid", (at, TOP), (at, bottom + 4.0));
            if at > free {
                drawing.words("", Anchor::Middle, (at, bottom + 18.0), &label);
                free = at + 12.0 + 7.0 * label.len() as f64;
            }
        }
    }
    unit
}

/// When a session began, by which pages and texts name it.
pub fn began(run: &Run) -> String {
    date(run.wall())
}

/// A moment by the wall clock, from nanoseconds since 1970: `2026-11-23 04:49:48 UTC`.
fn date(nanoseconds: u64) -> String {
    moment::utc(nanoseconds / 1_000_000_000).replace('T', " ").replace('Z', " UTC")
}

fn rank_table(ranks: &[RankSummary]) -> Markup {
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
    table::markup(
        &heads,
        heads.len(),
        ranks.iter().map(|r| {
            let mut row = vec![r.rank.to_string(), nanoseconds(r.time)];
            row.extend([r.waiting, r.copying, r.forwarding, r.own, r.plain].map(|part| share(part, r.time)));
            row.extend([r.sent.1, r.forwarded.1, r.delivered.1].map(|b| table::bytes(b as f64)));
            row.push(r.dropped.to_string());
            row
        }),
    )
}

fn call_table(run: &Run, only: Option<u32>) -> Markup {
    let heads = ["call", "start", "time", "paths", "chunks", "bytes", "forwarded", "served by"];
    table::markup(
        &heads,
        7,
        run.calls(only).into_iter().take(MAX_CALLS).map(|c| {
            let failed = if c.outcome == Outcome::Failed { "failed: " } else { "" };
            vec![
                c.number.to_string(),
                nanoseconds(c.start),
                nanoseconds(c.end - c.start),
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
    fn sessions_are_named_by_when_they_began() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_795_409_388_000_000_000), "2026-11-23 04:49:48 UTC");
    }

    #[test]
    fn columns_that_look_the_same_are_one_shape() {
        let cell = [0.0, 0.0, 0.0, 0.0, 25.0];
        let drawn = lane(&[cell, cell, Cell::default(), cell], 25.0, (LEFT, 0.0), 10.0);
        let end = LEFT + 30.0;
        let expected = format!(
            "<path class=\"waiting\" d=\"M{LEFT:.2} 0.0h20.00v22.0h-20.00zM{end:.2} 0.0h10.00v22.0h-10.00z\"/>"
        );
        assert_eq!(drawn, expected);
    }
}
