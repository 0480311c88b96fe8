//! Curves over time, or over lengths of time, as an SVG within a page, whose light or dark colours it follows.
//!
//! Panels stand side by side and share their vertical axis, which begins at 0. Each value holds until the next one, so
//! curves are stairs. A curve has the colour of its number, as its [`key`] has it.

use crate::axis::Axis;
use crate::colours::{self, SERIES};
use crate::svg::{Anchor, Drawing, Point, stairs, through};
use maud::{Markup, html};
use std::fmt::Write;

/// One curve.
pub struct Curve {
    /// Which colour it has; beyond the last one, colours come again with dashes.
    pub number: usize,
    /// What a reader sees who points at it.
    pub name: String,
    /// Seconds, rising, and what holds from then on.
    pub points: Vec<(f64, f64)>,
    /// Until when the last value holds, in seconds.
    pub end: f64,
}

/// Curves with the same axes.
pub struct Panel {
    /// What stands above them; may be empty.
    pub title: String,
    /// Later ones lie above earlier ones.
    pub curves: Vec<Curve>,
}

/// A picture of curves.
pub struct Curves {
    /// A sentence that stands in for the picture where there is none.
    pub label: String,
    /// What the vertical axis shows, with its unit; plain text.
    pub vertical: String,
    /// What the horizontal axis shows, without its unit.
    pub horizontal: String,
    /// Whether the horizontal axis is logarithmic; times that are 0 lie at its left end then.
    pub logarithmic: bool,
    /// Where the vertical axis ends; `None` is a little above the highest value.
    pub high: Option<f64>,
    /// At least one.
    pub panels: Vec<Panel>,
}

const WIDTH: f64 = 1180.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 14.0;
const GAP: f64 = 40.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 276.0;
const HEIGHT: f64 = 322.0;
/// Two ticks of a time axis are at least so far apart.
const APART: f64 = 64.0;

/// What curves look like, for the page's style sheet.
pub fn style() -> String {
    let mut text = colours::series();
    text.push_str(
        ".curve, .key-line path { fill: none; stroke-width: 2; stroke-linejoin: round; }\n\
         .key-line { width: 28px; height: 10px; }\n",
    );
    for i in 0..SERIES.len() {
        // Writing to a string does not fail.
        let _ = writeln!(text, ".c{i} {{ stroke: var(--c{i}); }}");
    }
    // A second sign beside the colour, where curves cross and thin lines show little of theirs.
    text.push_str(
        ".c4 { stroke-dasharray: 10 3; }\n.c5 { stroke-dasharray: 4 2; }\n.c6 { stroke-dasharray: 12 3 2 3; }\n",
    );
    text.push_str(".again { stroke-dasharray: 6 3; }\n");
    text
}

/// The classes of a curve.
fn class(number: usize) -> String {
    format!("c{}{}", number % SERIES.len(), if number < SERIES.len() { "" } else { " again" })
}

/// A sample of a curve, for a legend.
pub fn key(number: usize) -> Markup {
    html! { svg.key-line viewBox="0 0 28 10" { path class=(class(number)) d="M0 5H28" {} } }
}

impl Curves {
    /// The picture, or `None` if there is no point to be drawn.
    pub fn svg(&self) -> Option<Markup> {
        self.points().next()?;
        let high = self.high.unwrap_or_else(|| self.points().map(|p| p.1).fold(0.0, f64::max) * 1.05);
        let y = Axis::linear((0.0, if high > 0.0 { high } else { 1.0 }), (BOTTOM, TOP));
        let count = self.panels.len() as f64;
        let wide = (WIDTH - LEFT - RIGHT - GAP * (count - 1.0)) / count;
        let mut drawing = Drawing::default();
        drawing.words("soft", Anchor::Start, (4.0, 14.0), &self.vertical);
        for (p, panel) in self.panels.iter().enumerate() {
            let left = LEFT + p as f64 * (wide + GAP);
            self.panel(&mut drawing, panel, &y, (left, left + wide));
        }
        Some(drawing.finish("curves", (WIDTH, HEIGHT), &self.label))
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        let curves = self.panels.iter().flat_map(|p| &p.curves);
        curves.flat_map(|c| &c.points).filter(|p| p.0.is_finite() && p.1.is_finite())
    }

    /// The axis of times, which all panels share.
    fn times(&self) -> Axis {
        let ends = self.panels.iter().flat_map(|p| &p.curves).map(|c| c.end);
        let last = ends.chain(self.points().map(|p| p.0)).fold(0.0, f64::max);
        let least = self.points().map(|p| p.0).filter(|&t| t > 0.0).fold(f64::INFINITY, f64::min).min(last);
        // Air on both sides, which also keeps the ends apart.
        match self.logarithmic {
            true => Axis::logarithmic((least.max(1e-12) / 1.1, last.max(1e-12) * 1.1), (0.0, 1.0)),
            false => Axis::linear((0.0, if last > 0.0 { last } else { 1e-12 }), (0.0, 1.0)),
        }
    }

    /// Draws a panel between two places.
    fn panel(&self, drawing: &mut Drawing, panel: &Panel, y: &Axis, (left, right): (f64, f64)) {
        let middle = (left + right) / 2.0;
        let x = self.times().between(left, right);
        let (times, unit) = x.time_ticks(((right - left) / APART).max(2.0) as usize);
        drawing.words("strong", Anchor::Middle, (middle, TOP - 14.0), &panel.title);
        drawing.levels(y, &y.number_ticks(5), (left, right));
        drawing.ticks(&x, &times, BOTTOM, f64::INFINITY);
        let horizontal = match unit {
            Some(unit) => format!("{}, {unit}", self.horizontal),
            None => self.horizontal.clone(),
        };
        drawing.words("soft", Anchor::Middle, (middle, BOTTOM + 40.0), &horizontal);
        for curve in &panel.curves {
            let seen = thinned(&curve.points, |p| (x.at(p.0), y.at(p.1)));
            if !seen.is_empty() {
                let corners = stairs(&seen, |p| *p, x.at(curve.end));
                let class = format!("curve {}", class(curve.number));
                drawing.path(&class, &format!("M{}", through(&corners)), Some(&curve.name));
            }
        }
        drawing.line("axis", (left, BOTTOM), (right, BOTTOM));
    }
}

/// Places of points, without those that lie within half a pixel of the one before.
fn thinned(points: &[Point], at: impl Fn(&Point) -> Point) -> Vec<Point> {
    let mut seen: Vec<Point> = Vec::new();
    for (i, point) in points.iter().enumerate().filter(|(_, p)| p.0.is_finite() && p.1.is_finite()) {
        let (x, y) = at(point);
        let apart = |&(before, above): &(f64, f64)| (x - before).abs() >= 0.4 || (y - above).abs() >= 0.4;
        if i + 1 == points.len() || seen.last().is_none_or(apart) {
            seen.push((x, y));
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(logarithmic: bool, points: Vec<(f64, f64)>, end: f64) -> Curves {
        let curve = Curve { number: SERIES.len() + 1, name: "a < b".into(), points, end };
        Curves {
            label: "l".into(),
            vertical: "GB/s".into(),
            horizontal: "time".into(),
            logarithmic,
            high: Some(10.0),
            panels: vec![Panel { title: "t".into(), curves: vec![curve] }],
        }
    }

    #[test]
    fn values_hold_until_the_next_one() {
        let svg = curves(false, vec![(0.0, 5.0), (1.0, 10.0)], 2.0).svg().unwrap().into_string();
        let (middle, right) = ((LEFT + WIDTH - RIGHT) / 2.0, WIDTH - RIGHT);
        let half = (TOP + BOTTOM) / 2.0;
        let d = format!("d=\"M{LEFT:.1} {half:.1}L{middle:.1} {half:.1}L{middle:.1} {TOP:.1}L{right:.1} {TOP:.1}\"");
        assert!(svg.contains(&d), "{d} in {svg}");
        assert!(svg.contains("curve c1 again") && svg.contains("a &lt; b") && svg.contains("time, s"));
    }

    #[test]
    fn odd_points() {
        assert!(curves(true, Vec::new(), 1.0).svg().is_none());
        for points in [vec![(0.0, 0.0)], vec![(1e-6, 1.0); 3], vec![(f64::NAN, 1.0), (0.0, f64::INFINITY), (0.0, 1.0)]]
        {
            for logarithmic in [false, true] {
                let svg = curves(logarithmic, points.clone(), 0.0).svg().unwrap().into_string();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
        let many: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i), f64::from(i) / 1e4)).collect();
        assert!(curves(false, many, 1e5).svg().unwrap().into_string().len() < 100_000);
    }
}
