//! Shapes of SVG, and what all charts have alike: lines across at labelled values, ticks below, curves of steps.
//!
//! Text is escaped here, so that callers pass words as they are.

use crate::axis::{Axis, Tick};
use crate::page::escape;
use maud::{Markup, PreEscaped};
use std::fmt::Write;

/// A corner, in the units of the drawing.
pub type Point = (f64, f64);

/// Which end of the words lies at their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// They begin there.
    Start,
    /// Their middle is there.
    Middle,
    /// They end there.
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// Words of at most so many characters: of longer ones the beginning, and an ellipsis.
pub fn shortened(words: &str, most: usize) -> String {
    match words.chars().count() {
        n if n > most => words.chars().take(most.saturating_sub(1)).chain(['\u{2026}']).collect(),
        _ => words.to_owned(),
    }
}

/// Shapes in the order in which they were added; later ones lie above. Writing to a string does not fail.
#[derive(Default)]
pub struct Drawing {
    text: String,
}

/// A shape's title, which a reader sees who points at it.
fn closed(text: &mut String, element: &str, title: Option<&str>) {
    let _ = match title {
        Some(title) => writeln!(text, "><title>{}</title></{element}>", escape(title)),
        None => writeln!(text, "/>"),
    };
}

impl Drawing {
    /// Markup as it is.
    pub fn raw(&mut self, markup: &str) {
        self.text.push_str(markup);
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, (x1, y1): Point, (x2, y2): Point) {
        let _ = writeln!(self.text, r#"<line class="{class}" x1="{x1:.1}" x2="{x2:.1}" y1="{y1:.1}" y2="{y2:.1}"/>"#);
    }

    /// A shape from path data.
    pub fn path(&mut self, class: &str, data: &str, title: Option<&str>) {
        let _ = write!(self.text, r#"<path class="{class}" d="{data}""#);
        closed(&mut self.text, "path", title);
    }

    /// A rectangle with its upper left corner at `x`, `y`.
    pub fn rect(&mut self, class: &str, (x, y): Point, (wide, high): (f64, f64), title: Option<&str>) {
        let _ =
            write!(self.text, r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{wide:.1}" height="{high:.1}""#);
        closed(&mut self.text, "rect", title);
    }

    /// A point of a curve.
    pub fn circle(&mut self, class: &str, (x, y): Point, title: Option<&str>) {
        let _ = write!(self.text, r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="4""#);
        closed(&mut self.text, "circle", title);
    }

    /// Words; no class if it is empty.
    pub fn words(&mut self, class: &str, anchor: Anchor, (x, y): Point, words: &str) {
        let class = if class.is_empty() { String::new() } else { format!(r#" class="{class}""#) };
        let (anchor, words) = (anchor.name(), escape(words));
        let _ = writeln!(self.text, r#"<text{class} x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{words}</text>"#);
    }

    /// Words that rise from left to right and end at their place.
    pub fn rising_words(&mut self, (x, y): Point, words: &str) {
        let words = escape(words);
        let place = format!("translate({x:.1} {y:.1}) rotate(-45)");
        let _ = writeln!(self.text, r#"<text text-anchor="end" transform="{place}">{words}</text>"#);
    }

    /// Lines across from `left` to `right` at the ticks of an upright axis, each with its label before it, if it is not empty.
    pub fn levels(&mut self, axis: &Axis, ticks: &[Tick], (left, right): (f64, f64)) {
        for (value, label) in ticks {
            let y = axis.at(*value);
            self.line("grid", (left, y), (right, y));
            if !label.is_empty() {
                self.words("", Anchor::End, (left - 8.0, y + 4.0), label);
            }
        }
    }

    /// Ticks of a level axis below `bottom`, each with its label; words beyond `last` end at their tick, so that they stay
    /// in the drawing.
    pub fn ticks(&mut self, axis: &Axis, ticks: &[Tick], bottom: f64, last: f64) {
        for (value, label) in ticks {
            let x = axis.at(*value);
            self.line("tick", (x, bottom), (x, bottom + 5.0));
            let anchor = if x > last { Anchor::End } else { Anchor::Middle };
            self.words("", anchor, (x, bottom + 20.0), label);
        }
    }

    /// The drawing of the class `class` as a part of a page, its shapes in a group of the class `chart`; `label` is a sentence that stands in for it.
    pub fn finish(self, class: &str, (wide, high): (f64, f64), label: &str) -> Markup {
        PreEscaped(format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {wide} {high:.0}\" role=\"img\" aria-label=\"{}\"><g class=\"chart\">\n{}</g></svg>",
            escape(label),
            self.text
        ))
    }

    /// The shapes alone.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// The corners of stairs through `at` of every item, which holds until the next one; the last one to `end` on the right.
pub fn stairs<T>(items: &[T], at: impl Fn(&T) -> Point, end: f64) -> Vec<Point> {
    let mut corners: Vec<Point> = Vec::with_capacity(2 * items.len() + 1);
    for item in items {
        let (x, y) = at(item);
        if let Some(&(_, before)) = corners.last() {
            corners.push((x, before));
        }
        corners.push((x, y));
    }
    if let Some(&(_, y)) = corners.last() {
        corners.push((end, y));
    }
    corners
}

/// Corners as path data has them, after its first `M`.
pub fn through<'a>(corners: impl IntoIterator<Item = &'a Point>) -> String {
    corners.into_iter().map(|p| format!("{:.1} {:.1}", p.0, p.1)).collect::<Vec<_>>().join("L")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stairs_hold_until_the_next_step() {
        let corners = stairs(&[(0.0, 3.0, 1.0), (1.0, 2.0, 1.0)], |m| (m.0, m.1), 4.0);
        assert_eq!(corners, [(0.0, 3.0), (1.0, 3.0), (1.0, 2.0), (4.0, 2.0)]);
        assert_eq!(through(&corners[..2]), "0.0 3.0L1.0 3.0");
    }

    #[test]
    fn words_and_titles_are_escaped() {
        let mut drawing = Drawing::default();
        drawing.words("", Anchor::End, (1.0, 2.0), "a < b");
        drawing.circle("c0", (1.0, 2.0), Some("<t>"));
        let markup = drawing.finish("x", (10.0, 20.0), "\"l\"").into_string();
        assert!(
            markup.starts_with("<svg class=\"x\" viewBox=\"0 0 10 20\" role=\"img\" aria-label=\"&quot;l&quot;\">")
        );
        assert!(markup.contains("<text x=\"1.0\" y=\"2.0\" text-anchor=\"end\">a &lt; b</text>"), "{markup}");
        assert!(markup.contains("r=\"4\"><title>&lt;t&gt;</title></circle>"), "{markup}");
    }
}
