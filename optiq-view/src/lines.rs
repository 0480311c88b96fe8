//! Figures over a swept value: points joined by lines, with how far they spread, as an SVG within a page that needs no script.
//!
//! Panels stand side by side on the same values; each has a vertical axis of its own, which begins at 0.

use crate::axis::{Axis, Tick};
use crate::colours::SERIES;
use crate::svg::{Anchor, Drawing, through};
use maud::Markup;

const WIDTH: f64 = 1180.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 24.0;
const GAP: f64 = 76.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 276.0;
const HEIGHT: f64 = 322.0;
const CHARACTER: f64 = 6.8;
/// Half the width of the ends of an error bar.
const CAP: f64 = 4.0;
/// From this ratio of the largest to the smallest value on, values lie by their logarithms.
const WIDE: f64 = 20.0;

/// One point.
pub struct Point {
    /// Which of the values it belongs to.
    pub value: usize,
    /// Its height.
    pub y: f64,
    /// How far it spreads: from below to above it.
    pub range: Option<(f64, f64)>,
    /// What a reader sees who points at it.
    pub tip: String,
}

/// Points that are joined.
pub struct Line {
    /// Which colour it has, of those of [`crate::curves`].
    pub number: usize,
    /// By rising value.
    pub points: Vec<Point>,
}

/// What a panel's vertical axis shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Height {
    /// Seconds.
    Time,
    /// A ratio, of which 1 is marked.
    Ratio,
}

/// One of the pictures side by side.
pub struct Panel {
    /// What stands above it, without a unit.
    pub title: String,
    /// What its heights are.
    pub height: Height,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// A picture.
pub struct Lines {
    /// A sentence that stands in for the picture where there is none.
    pub label: String,
    /// What the values are.
    pub horizontal: String,
    /// The values in words, and as amounts; without amounts they lie at equal distances.
    pub values: Vec<(String, Option<f64>)>,
    /// At least one.
    pub panels: Vec<Panel>,
}

/// What lines look like, for the page's style sheet, which has the colours of [`crate::curves::style`].
pub fn style() -> String {
    let mut text = String::from(
        ".lines { display: block; width: 100%; height: auto; }\n.lines .curve { stroke-width: 2; }\n\
         .lines .spread { fill: none; stroke-width: 1.2; }\n.lines circle { stroke-width: 1.5; }\n\
         .lines .one { stroke: var(--ink); stroke-dasharray: 5 4; }\n",
    );
    for i in 0..SERIES.len() {
        text.push_str(&format!(".lines .f{i} {{ fill: var(--c{i}); stroke: var(--c{i}); }}\n"));
    }
    text.push_str(".lines .hollow { fill: var(--paper); }\n");
    text
}

fn is_drawn(point: &Point) -> bool {
    point.y.is_finite() && point.y >= 0.0
}

impl Lines {
    /// The picture, or `None` if there is no point to be drawn.
    pub fn svg(&self) -> Option<Markup> {
        let any = self.panels.iter().flat_map(|p| &p.lines).flat_map(|l| &l.points).any(is_drawn);
        if !any {
            return None;
        }
        let count = self.panels.len() as f64;
        let wide = (WIDTH - LEFT - RIGHT - GAP * (count - 1.0)) / count;
        let mut drawing = Drawing::default();
        for (i, panel) in self.panels.iter().enumerate() {
            let left = LEFT + i as f64 * (wide + GAP);
            self.panel(&mut drawing, panel, (left, left + wide));
        }
        Some(drawing.finish("lines", (WIDTH, HEIGHT), &self.label))
    }

    /// Where each value lies between two places, with some air at both ends.
    fn places(&self, (left, right): (f64, f64)) -> Vec<f64> {
        let (left, right) = (left + 24.0, right - 24.0);
        let amounts: Option<Vec<f64>> =
            self.values.iter().map(|(_, amount)| amount.filter(|a| a.is_finite())).collect();
        let by_number = || (0..self.values.len()).map(|i| i as f64).collect();
        let amounts: Vec<f64> = amounts.unwrap_or_else(by_number);
        let (low, high) = amounts.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
        if low >= high {
            return vec![(left + right) / 2.0; amounts.len()];
        }
        let axis = match low > 0.0 && high / low >= WIDE {
            true => Axis::logarithmic((low, high), (left, right)),
            false => Axis::linear((low, high), (left, right)),
        };
        amounts.into_iter().map(|amount| axis.at(amount)).collect()
    }

    fn panel(&self, drawing: &mut Drawing, panel: &Panel, (left, right): (f64, f64)) {
        let points = || panel.lines.iter().flat_map(|line| &line.points).filter(|p| is_drawn(p));
        let tops = points().flat_map(|p| [p.y, p.range.map_or(0.0, |r| r.1)]).filter(|v| v.is_finite());
        let least = if panel.height == Height::Ratio { 1.0 } else { 0.0 };
        let high = tops.fold(least, f64::max) * 1.08;
        let y = Axis::linear((0.0, if high > 0.0 { high } else { 1.0 }), (BOTTOM, TOP));
        let (ticks, title) = match panel.height {
            Height::Ratio => (y.number_ticks(5), panel.title.clone()),
            Height::Time => {
                let (ticks, unit) = y.time_ticks(5);
                (ticks, format!("{}, {}", panel.title, unit.unwrap_or_default()))
            }
        };
        drawing.levels(&y, &ticks, (left, right));
        if panel.height == Height::Ratio {
            drawing.line("one", (left, y.at(1.0)), (right, y.at(1.0)));
        }
        let places = self.places((left, right));
        self.values_below(drawing, &places);
        drawing.words("strong", Anchor::Middle, ((left + right) / 2.0, TOP - 14.0), &title);
        drawing.words("soft", Anchor::Middle, ((left + right) / 2.0, BOTTOM + 40.0), &self.horizontal);
        for line in &panel.lines {
            draw(drawing, line, &places, &y);
        }
        drawing.line("axis", (left, BOTTOM), (right, BOTTOM));
    }

    /// The values at their places, without those that would touch the one before.
    fn values_below(&self, drawing: &mut Drawing, places: &[f64]) {
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by(|&a, &b| places[a].total_cmp(&places[b]));
        let mut end = f64::NEG_INFINITY;
        for i in order {
            let words: String = self.values[i].0.chars().take(24).collect();
            let half = words.chars().count() as f64 * CHARACTER / 2.0;
            let tick: Tick = (places[i], if places[i] - half > end { words } else { String::new() });
            if !tick.1.is_empty() {
                end = places[i] + half + 4.0;
            }
            drawing.line("tick", (tick.0, BOTTOM), (tick.0, BOTTOM + 5.0));
            drawing.words("", Anchor::Middle, (tick.0, BOTTOM + 20.0), &tick.1);
        }
    }
}

fn draw(drawing: &mut Drawing, line: &Line, places: &[f64], y: &Axis) {
    let mut seen: Vec<(f64, &Point)> =
        (line.points.iter()).filter(|p| is_drawn(p)).filter_map(|p| Some((*places.get(p.value)?, p))).collect();
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (number, again) = (line.number % SERIES.len(), line.number >= SERIES.len());
    let class = format!("c{number}{}", if again { " again" } else { "" });
    if seen.len() > 1 {
        let corners: Vec<(f64, f64)> = seen.iter().map(|(x, p)| (*x, y.at(p.y))).collect();
        drawing.path(&format!("curve {class}"), &format!("M{}", through(&corners)), None);
    }
    for (x, point) in seen {
        if let Some((low, high)) = point.range.filter(|(low, high)| high > low && high.is_finite()) {
            let (left, wide, low, high) = (x - CAP, 2.0 * CAP, y.at(low), y.at(high));
            let bar = format!("M{left:.1} {low:.1}h{wide}M{left:.1} {high:.1}h{wide}M{x:.1} {low:.1}V{high:.1}");
            drawing.path(&format!("spread c{number}"), &bar, None);
        }
        let class = if again { format!("f{number} hollow") } else { format!("f{number}") };
        drawing.circle(&class, (x, y.at(point.y)), Some(&point.tip));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn lines(values: &[(&str, Option<f64>)], heights: &[f64]) -> Lines {
        let point = |(value, &y): (usize, &f64)| Point { value, y, range: Some((y / 2.0, y * 2.0)), tip: "<t>".into() };
        let line = Line { number: 8, points: heights.iter().enumerate().map(point).collect() };
        Lines {
            label: "l".into(),
            horizontal: "think".into(),
            values: values.iter().map(|&(words, amount)| (words.to_owned(), amount)).collect(),
            panels: vec![Panel { title: "t".into(), height: Height::Ratio, lines: vec![line] }],
        }
    }

    #[test]
    fn points_lie_where_their_values_are() {
        let picture = lines(&[("0", Some(0.0)), ("1ms", Some(1.0)), ("4ms", Some(4.0))], &[1.0, 2.0, 4.0]);
        let svg = picture.svg().unwrap().into_string();
        let x = |v: f64| LEFT + 24.0 + v / 4.0 * (WIDTH - RIGHT - LEFT - 48.0);
        let y = |v: f64| BOTTOM - v / 8.64 * (BOTTOM - TOP);
        for (value, height) in [(0.0, 1.0), (1.0, 2.0), (4.0, 4.0)] {
            let circle = format!("<circle class=\"f1 hollow\" cx=\"{:.1}\" cy=\"{:.1}\"", x(value), y(height));
            assert!(svg.contains(&circle), "{circle} {svg}");
        }
        assert!(svg.contains("class=\"one\"") && svg.contains("&lt;t&gt;") && svg.contains(">4ms</text>"), "{svg}");
    }

    #[test]
    fn words_lie_at_equal_distances_and_odd_points_are_left_out() {
        let picture = lines(&[("a", None), ("b", None), ("c", None)], &[1.0, f64::NAN, 2.0]);
        let places = picture.places((0.0, 148.0));
        assert_eq!(places, [24.0, 74.0, 124.0]);
        let svg = picture.svg().unwrap().into_string();
        assert!(svg.matches("<circle").count() == 2 && !svg.contains("NaN"), "{svg}");
        assert!(lines(&[("a", None)], &[f64::NAN]).svg().is_none());
        assert!(lines(&[("a", Some(5.0))], &[1.0]).svg().is_some());
        // Powers of ten are as far from each other.
        let wide = lines(&[("1", Some(1.0)), ("10", Some(10.0)), ("100", Some(100.0))], &[1.0; 3]);
        assert!((wide.places((0.0, 148.0))[1] - 74.0).abs() < 1e-9);
    }
}
