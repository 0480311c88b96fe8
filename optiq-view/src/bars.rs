//! Level bars, one below the other, of packed parts, as an SVG within a page that needs no script.

use crate::axis::Axis;
use crate::colours::SERIES;
use crate::svg::{Anchor, Drawing, shortened};
use maud::Markup;
use std::fmt::Write;

const WIDTH: f64 = 1180.0;
const ROW: f64 = 26.0;
const BAR: f64 = 16.0;
const TOP: f64 = 10.0;
const CHARACTER: f64 = 6.8;
/// Of a label, and of what stands behind a bar.
const MOST_CHARACTERS: usize = 40;

/// What bars measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Seconds.
    Time,
    /// Bytes.
    Bytes,
    /// A number of something.
    Count,
}

/// One bar.
pub struct Bar {
    /// What stands before it.
    pub name: String,
    /// Which colour it has, of those of [`crate::curves`].
    pub number: usize,
    /// Its parts from the left; the first is full, the second pale, the third only a dashed border.
    pub parts: Vec<f64>,
    /// Where a line crosses it: the least that it could be.
    pub least: Option<f64>,
    /// What stands behind it.
    pub words: String,
    /// What a reader sees who points at it.
    pub tip: String,
}

/// Bars on one axis.
pub struct Bars {
    /// A sentence that stands in for the picture where there is none.
    pub label: String,
    /// What the axis shows, without its unit.
    pub horizontal: String,
    /// What is measured.
    pub measure: Measure,
    /// From above.
    pub bars: Vec<Bar>,
    /// A line across all bars, with its words: what none can be below.
    pub bound: Option<(f64, String)>,
}

/// What bars look like, for the page's style sheet, which has the colours of [`crate::curves::style`].
pub fn style() -> String {
    let mut text = String::from(
        ".bars { display: block; width: 100%; height: auto; }\n\
         .bars text { paint-order: stroke; stroke: var(--panel); stroke-width: 3px; }\n\
         .bar { stroke-width: 1; print-color-adjust: exact; -webkit-print-color-adjust: exact; }\n\
         .bar.p1 { fill-opacity: .35; }\n.bar.p2 { fill-opacity: 0; stroke-dasharray: 3 2; }\n\
         .least { stroke: var(--ink); stroke-width: 3; }\n\
         .bars .bound { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 5 4; }\n",
    );
    for i in 0..SERIES.len() {
        // Writing to a string does not fail.
        let _ = writeln!(text, ".b{i} {{ fill: var(--c{i}); stroke: var(--c{i}); }}");
    }
    text
}

/// A length that can be drawn.
fn drawn(v: f64) -> f64 {
    if v.is_finite() { v.max(0.0) } else { 0.0 }
}

impl Bar {
    fn length(&self) -> f64 {
        self.parts.iter().copied().map(drawn).sum()
    }
}

impl Bars {
    /// The picture, or `None` if no bar is longer than nothing.
    pub fn svg(&self) -> Option<Markup> {
        let bound = self.bound.as_ref().map(|(bound, _)| drawn(*bound));
        let least = self.bars.iter().filter_map(|bar| bar.least).map(drawn);
        let high = self.bars.iter().map(Bar::length).chain(least).chain(bound).fold(0.0, f64::max);
        if high <= 0.0 {
            return None;
        }
        let longest = |words: &dyn Fn(&Bar) -> &str| {
            let lengths = self.bars.iter().map(|bar| words(bar).chars().count().min(MOST_CHARACTERS));
            lengths.max().unwrap_or(0) as f64 * CHARACTER
        };
        let (left, right) = (longest(&|bar| &bar.name) + 14.0, WIDTH - longest(&|bar| &bar.words) - 16.0);
        let top = if bound.is_some() { TOP + 20.0 } else { TOP };
        let bottom = top + self.bars.len() as f64 * ROW;
        let x = Axis::linear((0.0, high), (left, right));
        let mut drawing = Drawing::default();
        let (ticks, unit) = self.ticks(&x);
        for (value, _) in &ticks {
            drawing.line("grid", (x.at(*value), top - 4.0), (x.at(*value), bottom));
        }
        drawing.ticks(&x, &ticks, bottom, f64::INFINITY);
        let what = if unit.is_empty() { self.horizontal.clone() } else { format!("{}, {unit}", self.horizontal) };
        drawing.words("soft", Anchor::Middle, ((left + right) / 2.0, bottom + 40.0), &what);
        for (i, bar) in self.bars.iter().enumerate() {
            bar.draw(&mut drawing, &x, top + i as f64 * ROW);
        }
        if let Some((bound, words)) = &self.bound {
            let at = x.at(*bound);
            drawing.line("bound", (at, top - 8.0), (at, bottom));
            let anchor = if at > (left + right) / 2.0 { Anchor::End } else { Anchor::Start };
            drawing.words("", anchor, (at, top - 13.0), words);
        }
        Some(drawing.finish("bars", (WIDTH, bottom + 48.0), &self.label))
    }

    fn ticks(&self, x: &Axis) -> (Vec<crate::axis::Tick>, &'static str) {
        match self.measure {
            Measure::Time => x.time_ticks_of(x.ends().1, 8),
            Measure::Count => (x.number_ticks(8), ""),
            Measure::Bytes => (x.byte_ticks(8), ""),
        }
    }
}

impl Bar {
    fn draw(&self, drawing: &mut Drawing, x: &Axis, top: f64) {
        let (upper, middle) = (top + (ROW - BAR) / 2.0, top + ROW / 2.0 + 4.0);
        drawing.words("", Anchor::End, (x.at(0.0) - 8.0, middle), &shortened(&self.name, MOST_CHARACTERS));
        let mut from = 0.0;
        for (part, length) in self.parts.iter().copied().map(drawn).enumerate() {
            if length > 0.0 {
                let class = format!("bar b{} p{part}", self.number % SERIES.len());
                let wide = x.at(from + length) - x.at(from);
                drawing.rect(&class, (x.at(from), upper), (wide, BAR), Some(&self.tip));
            }
            from += length;
        }
        if let Some(least) = self.least {
            let at = x.at(drawn(least));
            drawing.line("least", (at, upper - 4.0), (at, upper + BAR + 4.0));
        }
        let end = from.max(self.least.map_or(0.0, drawn));
        drawing.words("", Anchor::Start, (x.at(end) + 8.0, middle), &shortened(&self.words, MOST_CHARACTERS));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn bars(parts: Vec<f64>) -> Bars {
        let bar = Bar { name: "a".into(), number: 8, parts, least: Some(2.0), words: "<w>".into(), tip: "<t>".into() };
        Bars {
            label: "l".into(),
            horizontal: "time".into(),
            measure: Measure::Time,
            bars: vec![bar],
            bound: Some((1.0, "no <run>".into())),
        }
    }

    #[test]
    fn parts_are_as_long_as_they_say_and_packed() {
        let svg = bars(vec![3.0, 1.0]).svg().unwrap().into_string();
        let (left, right) = (CHARACTER + 14.0, WIDTH - 3.0 * CHARACTER - 16.0);
        let wide = right - left;
        let first = format!("class=\"bar b1 p0\" x=\"{left:.1}\" y=\"35.0\" width=\"{:.1}\"", 0.75 * wide);
        let second =
            format!("class=\"bar b1 p1\" x=\"{:.1}\" y=\"35.0\" width=\"{:.1}\"", left + 0.75 * wide, wide / 4.0);
        assert!(svg.contains(&first) && svg.contains(&second), "{first} {second} {svg}");
        let bound = format!("class=\"bound\" x1=\"{:.1}\"", left + 0.25 * wide);
        assert!(svg.contains(&bound) && svg.contains("&lt;w&gt;") && svg.contains("no &lt;run&gt;"), "{svg}");
        assert!(svg.contains("time, s") && !svg.contains("<w>"));
    }

    #[test]
    fn odd_lengths() {
        let none = Bars { bound: None, bars: Vec::new(), ..bars(Vec::new()) };
        assert!(none.svg().is_none());
        for part in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            let svg = bars(vec![part, 1.0]).svg().unwrap().into_string();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
