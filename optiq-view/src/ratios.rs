//! The page of many comparisons with MPI: how many times as fast OPTIQ is against bytes per pair, and the table.
//!
//! Each demand set with each planner is a line. Both axes are logarithmic, so that twice as fast and half as fast lie
//! equally far from 1. Dashed, in the same colour, is the ratio that the two link bounds allow.

use crate::axis::{Axis, Tick};
use crate::colours::{self, SERIES};
use crate::page::{self, Drawn, card};
use crate::svg::{Anchor, Drawing, through};
use crate::table;
use maud::{Markup, html};
use optiq_net::units;
use serde::Serialize;
use std::io;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 430.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = HEIGHT - 46.0;
/// Two labelled sizes are at least this far apart.
const SIZES_APART: f64 = 66.0;
/// Half the width of the ends of an error bar.
const CAP: f64 = 4.0;

/// One case.
pub struct Point {
    /// Bytes per pair of hosts.
    pub bytes: f64,
    /// The time of MPI over that of OPTIQ.
    pub ratio: f64,
    /// What it would be if both ran at their link bounds.
    pub bound_ratio: f64,
    /// MPI served both sides, so that the ratio says nothing.
    pub is_served_by_mpi: bool,
    /// How far the ratio spreads over the repetitions: below and above it.
    pub range: Option<(f64, f64)>,
    /// Its name.
    pub case: String,
    /// What served OPTIQ, and why.
    pub decision: String,
}

impl Point {
    /// Whether it has a place on both axes with this ratio.
    fn drawn(&self, ratio: f64) -> bool {
        [self.bytes, ratio].iter().all(|v| v.is_finite() && *v > 0.0)
    }

    /// All that is drawn of it.
    fn ratios(&self) -> impl Iterator<Item = f64> {
        let ends = self.range.map(|(low, high)| [low, high]).into_iter().flatten();
        [self.ratio, self.bound_ratio].into_iter().chain(ends)
    }
}

/// Cases of one line.
pub struct Line {
    /// Their demand set, with the planner where they differ in it.
    pub name: String,
    /// By rising bytes.
    pub points: Vec<Point>,
}

/// A headline number: a ratio, what it is, and more about it.
pub type Headline = (f64, &'static str, String);

/// What the page shows.
pub struct Ratios<'a, D> {
    /// The heading, which is the page's title as well.
    pub heading: String,
    /// What was measured, how often, and whether all bytes were right.
    pub subtitle: String,
    /// The numbers of the cards.
    pub headlines: Vec<Headline>,
    /// The curves.
    pub lines: Vec<Line>,
    /// The names of the columns of the table.
    pub heads: Vec<&'a str>,
    /// The cases.
    pub rows: Vec<Vec<String>>,
    /// The document that is embedded in the page.
    pub data: &'a D,
}

impl<D: Serialize> Ratios<'_, D> {
    /// The page.
    ///
    /// # Errors
    /// If the data cannot be serialised, which only a number that is not finite could bring about.
    pub fn page(&self) -> io::Result<String> {
        let body = html! {
            main {
                header {
                    h1 { (self.heading) }
                    p #subtitle { (self.subtitle) }
                }
                section.cards aria-label="Headline numbers" {
                    @for (ratio, what, more) in &self.headlines { (card(&format!("{ratio:.2}\u{d7}"), what, Some(more))) }
                }
                section aria-labelledby="chart-heading" {
                    h2 #chart-heading { "How many times as fast as MPI_Alltoallv" }
                    div.legend { (legend(&self.lines)) }
                    div #chart { (chart(&self.lines)) }
                }
                section aria-labelledby="table-heading" {
                    h2 #table-heading { "Every case" }
                    div.scroll #cases { (table::markup(&self.heads, self.heads.len(), self.rows.iter().cloned())) }
                    p.note {
                        "A bound is bytes over capacity of the most loaded link, on the network's own routes for MPI and on \
                         what served OPTIQ; a share is that bound over the median."
                    }
                }
                footer #footer { "optiq " (env!("CARGO_PKG_VERSION")) }
            }
            (page::data(self.data)?)
        };
        let style = colours::series() + include_str!("ratios.css");
        Ok(page::page(&self.heading, Drawn::Already, &style, body))
    }
}

/// The colour of a line, by its number.
fn colour(line: usize) -> String {
    format!("var(--c{})", line % SERIES.len())
}

/// What points and keys are filled with: where colours come round again, they are hollow.
fn filling(line: usize) -> String {
    if (line / SERIES.len()).is_multiple_of(2) { colour(line) } else { "var(--paper)".into() }
}

fn legend(lines: &[Line]) -> Markup {
    let style = |i: usize| format!("background:{};border:2px solid {}", filling(i), colour(i));
    html! {
        @for (i, line) in lines.iter().enumerate() { span { span.key style=(style(i)) {} (line.name) } }
        span { "dashed: what the link bounds allow" }
        @if lines.iter().flat_map(|line| &line.points).any(|point| point.is_served_by_mpi) {
            span { "pale points: MPI served both sides" }
        }
        @if lines.iter().flat_map(|line| &line.points).any(|point| point.range.is_some()) {
            span { "upright: MPI's first quartile over OPTIQ's third, to MPI's third over OPTIQ's first" }
        }
    }
}

fn chart(lines: &[Line]) -> Markup {
    let Some((x, y)) = axes(lines) else {
        return html! { p.note { "No bytes cross the network in any case." } };
    };
    let mut drawing = Drawing::default();
    drawing.levels(&y, &levels(&y), (LEFT, WIDTH - RIGHT));
    let one = y.at(1.0);
    drawing.line("one", (LEFT, one), (WIDTH - RIGHT, one));
    drawing.ticks(&x, &sizes(&x, lines), BOTTOM, f64::INFINITY);
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    drawing.words("", Anchor::Middle, (middle, HEIGHT - 6.0), "bytes per pair of hosts");
    for (i, line) in lines.iter().enumerate() {
        let style = format!("--line:{};--point:{}", colour(i), filling(i));
        drawing.raw(&format!("<g style=\"{style}\">"));
        draw(&mut drawing, line, &x, &y);
        drawing.raw("</g>");
    }
    let label = "Ratio of the times of MPI_Alltoallv and optiq_alltoallv against bytes per pair";
    drawing.finish("ratios", (WIDTH, HEIGHT), label)
}

/// The axes of bytes and of ratios; `None` if no case has bytes.
fn axes(lines: &[Line]) -> Option<(Axis, Axis)> {
    let drawn = |v: &f64| v.is_finite() && *v > 0.0;
    let points = || lines.iter().flat_map(|line| &line.points);
    let sizes = || points().map(|point| point.bytes).filter(drawn);
    let ratios = || points().flat_map(Point::ratios).filter(drawn);
    sizes().next()?;
    // Some air around, also where all are the same.
    let low = (ratios().fold(1.0, f64::min) / 1.15).min(0.8);
    let high = (ratios().fold(1.0, f64::max) * 1.15).max(1.25);
    let y = Axis::logarithmic((low, high), (BOTTOM, TOP));
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    let x = Axis::logarithmic((least / 1.4, most * 1.4), (LEFT, WIDTH - RIGHT));
    Some((x, y))
}

/// The ratios at which lines go across: powers of two, or closer ones on a short axis.
fn levels(y: &Axis) -> Vec<Tick> {
    const CLOSE: [f64; 11] = [0.25, 0.5, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0];
    let (low, high) = y.ends();
    let values = match high / low < 6.0 {
        true => CLOSE.into_iter().filter(|v| (low..=high).contains(v)).collect(),
        false => y.powers(2.0),
    };
    // A power of two below a quarter has more digits than there is space for beside the axis.
    let label = |v: f64| if v < 0.25 { format!("1/{}", 1.0 / v) } else { v.to_string() };
    values.into_iter().map(|v| (v, label(v))).collect()
}

/// The sizes below the axis, written as in the names of cases: those of the points, without such as would touch the one before.
fn sizes(x: &Axis, lines: &[Line]) -> Vec<Tick> {
    let points = lines.iter().flat_map(|line| &line.points).map(|p| p.bytes);
    let mut sizes: Vec<f64> = points.filter(|b| b.is_finite() && *b > 0.0).collect();
    sizes.sort_by(f64::total_cmp);
    let mut ticks: Vec<Tick> = Vec::new();
    for size in sizes {
        if ticks.last().is_none_or(|(before, _)| x.at(size) - x.at(*before) >= SIZES_APART) {
            ticks.push((size, units::format_bytes(size.round() as u64)));
        }
    }
    ticks
}

/// One line: what the bounds allow, what was found, and its points.
fn draw(drawing: &mut Drawing, line: &Line, x: &Axis, y: &Axis) {
    let path = |of: &dyn Fn(&Point) -> f64| {
        let drawn = line.points.iter().filter(|point| point.drawn(of(point)));
        let corners: Vec<(f64, f64)> = drawn.map(|point| (x.at(point.bytes), y.at(of(point)))).collect();
        (corners.len(), through(&corners))
    };
    match path(&|point| point.bound_ratio) {
        (0, _) => {}
        // One case alone: a short dash.
        (1, place) => drawing.path("allowed", &format!("M{place}m-9 0h18"), None),
        (_, corners) => drawing.path("allowed", &format!("M{corners}"), None),
    }
    if let (2.., corners) = path(&|point| point.ratio) {
        drawing.path("found", &format!("M{corners}"), None);
    }
    for point in line.points.iter().filter(|point| point.drawn(point.ratio)) {
        let Point { case, ratio, bound_ratio, decision, .. } = point;
        let mut tip = format!("{case}: {ratio:.2} times as fast");
        if let Some((low, high)) = point.range.filter(|&(low, high)| point.drawn(low) && point.drawn(high)) {
            tip.push_str(&format!(" ({low:.2} to {high:.2})"));
            let (at, low, high) = (x.at(point.bytes), y.at(low), y.at(high));
            let (left, wide) = (at - CAP, 2.0 * CAP);
            let bar = format!("M{left:.1} {low:.1}h{wide}M{left:.1} {high:.1}h{wide}M{at:.1} {low:.1}V{high:.1}");
            drawing.path("spread", &bar, None);
        }
        tip.push_str(&format!(", {bound_ratio:.2} by the bounds; {decision}"));
        let class = if point.is_served_by_mpi { "found unserved" } else { "found" };
        drawing.circle(class, (x.at(point.bytes), y.at(*ratio)), Some(&tip));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn point(case: &str, bytes: f64, ratio: f64, bound_ratio: f64) -> Point {
        Point {
            bytes,
            ratio,
            bound_ratio,
            is_served_by_mpi: false,
            range: Some((ratio / 1.5, ratio * 1.25)),
            case: case.into(),
            decision: "25 paths by planner <optimal>".into(),
        }
    }

    fn line(name: &str, points: Vec<Point>) -> Line {
        Line { name: name.into(), points }
    }

    fn page_of(lines: Vec<Line>) -> String {
        let rows = lines.iter().flat_map(|l| &l.points).map(|p| vec![p.case.clone(), p.decision.clone()]).collect();
        let headlines =
            vec![(2.0, "as fast as MPI", "of 3 cases".to_string()), (0.5, "in the worst case", "<x>".into())];
        let (heading, subtitle) = ("h <note>".to_string(), "s".to_string());
        Ratios { heading, subtitle, headlines, lines, heads: vec!["case", "why"], rows, data: &vec![1, 2, 3] }
            .page()
            .unwrap()
    }

    fn three() -> Vec<Line> {
        let disjoint = vec![point("disjoint, 1KB", 1e3, 2.0, 2.0), point("disjoint, 64KB", 64e3, 8.0, 5.0)];
        vec![line("disjoint", disjoint), line("alltoall", vec![point("alltoall, 1KB", 1e3, 0.5, 1.0)])]
    }

    #[test]
    fn everything_is_on_the_page() {
        let page = page_of(three());
        assert!(!page.contains("{{") && !page.contains("NaN") && !page.contains("http"), "{page}");
        // A point and a row for each case, a line for disjoint, and for what its bounds allow.
        assert_eq!((page.matches("<circle").count(), page.matches("<tr>").count()), (3, 4));
        assert_eq!((page.matches("path class=\"found\"").count(), page.matches("class=\"allowed\"").count()), (1, 2));
        assert!(page.contains("25 paths by planner &lt;optimal&gt;") && !page.contains("<optimal>"), "{page}");
        assert!(page.contains("<b>2.00\u{d7}</b>") && page.contains("<b>0.50\u{d7}</b>"));
        assert!(page.contains("id=\"data\">[1,2,3]</script>"));
    }

    /// Ratios 1/2 and 8 with what they spread, from 1/3 to 10, and air of 15 % around them; 1 KB and 64 KB and a factor of 1.4.
    #[test]
    fn points_lie_where_they_belong() {
        let chart = chart(&three()).into_string();
        let place = |ratio: f64| BOTTOM + (ratio * 3.0 * 1.15).ln() / (30.0f64 * 1.15 * 1.15).ln() * (TOP - BOTTOM);
        let y = place(0.5);
        let x = LEFT + 1.4f64.ln() / (64.0 * 1.4 * 1.4f64).ln() * (WIDTH - RIGHT - LEFT);
        assert!(chart.contains(&format!("<circle class=\"found\" cx=\"{x:.1}\" cy=\"{y:.1}\"")), "{x} {y} {chart}");
        assert!(chart.contains("class=\"one\""));
        let bar = format!("M{x:.1} {:.1}V{:.1}\"/>", place(0.5 / 1.5), place(0.625));
        assert!(chart.contains(&bar), "{bar} {chart}");
        // Ticks are where points are.
        assert!(chart.contains(">1kB</text>") && chart.contains(">64kB</text>"), "{chart}");
        assert_eq!(chart.matches("class=\"tick\"").count(), 2);
    }

    #[test]
    fn odd_cases() {
        let page = page_of(vec![line("disjoint", vec![point("disjoint, 0B", 0.0, 1.0, f64::NAN)])]);
        assert!(page.contains("No bytes cross"));
        assert!(page_of(Vec::new()).contains("h &lt;note&gt;"));
        let page = page_of(vec![line("file:<x>", vec![point("file:<x>", 5.0, 1.0, 1.0)])]);
        assert!(page.contains("file:&lt;x&gt;") && !page.contains("<x>") && !page.contains("NaN"), "{page}");
    }
}
