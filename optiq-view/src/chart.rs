//! Charts of results pages: values over categories as grouped bars or lines, as an SVG file of its own.
//!
//! Panels stand side by side and share their categories and their vertical axis, which begins at 0, so that heights can be
//! compared across them. The file has its own background, and follows the light or dark colours that its reader prefers.

use crate::axis::{number, ticks};
use crate::colours::{EDGE, INK, PAPER, SERIES, SOFT};
use crate::page::escape as escaped;
use std::fmt::Write;

/// How values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartKind {
    /// Bars side by side, for categories without an order of their own.
    Bars,
    /// Points joined by lines, for categories that are amounts.
    Lines,
}

/// The values of one name, one for each category.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Series of the same name have the same colour in all panels.
    pub name: String,
    /// `None` leaves a gap.
    pub values: Vec<Option<f64>>,
}

/// One of the charts side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What stands above it; may be empty.
    pub title: String,
    /// What it shows.
    pub series: Vec<Series>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// A sentence, which also stands in for the picture where there is none.
    pub title: String,
    /// What the vertical axis shows, with its unit.
    pub vertical: String,
    /// What the categories are.
    pub horizontal: String,
    /// Bars or lines.
    pub kind: ChartKind,
    /// The names of the categories, from left to right.
    pub categories: Vec<String>,
    /// At least one.
    pub panels: Vec<Panel>,
}

const WIDTH: f64 = 960.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
/// Between two panels.
const GAP: f64 = 20.0;
/// Top and bottom of the panels.
const TOP: f64 = 92.0;
const BOTTOM: f64 = 340.0;
/// What a character of 12 pixels takes, at most, on average.
const CHARACTER: f64 = 6.6;
/// Part of a category's width that its bars take.
const FILLED: f64 = 0.78;

impl Chart {
    /// The file. Values that are not finite or below 0 are left out.
    pub fn svg(&self) -> String {
        let names = self.names();
        let drawn = |v: &Option<f64>| v.filter(|v| v.is_finite() && *v >= 0.0);
        let all = self.panels.iter().flat_map(|p| &p.series).flat_map(|s| &s.values);
        let high = all.filter_map(drawn).fold(0.0, f64::max);
        let high = if high > 0.0 { high * 1.05 } else { 1.0 };
        let y = |v: f64| BOTTOM - v / high * (BOTTOM - TOP);
        let count = self.panels.len().max(1) as f64;
        let wide = (WIDTH - LEFT - RIGHT - GAP * (count - 1.0)) / count;
        let step = wide / self.categories.len().max(1) as f64;
        let longest = self.categories.iter().map(|c| c.chars().count()).max().unwrap_or(0) as f64;
        // Labels that would touch each other are turned.
        let turned = longest * CHARACTER > step - 4.0;
        let below = if turned { longest * CHARACTER * 0.7 + 12.0 } else { 20.0 };
        let height = BOTTOM + below + 34.0;
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
             height=\"{height:.0}\" role=\"img\" aria-label=\"{0}\">\n<style>{1}</style>\n\
             <rect class=\"back\" width=\"{WIDTH}\" height=\"{height:.0}\"/>\n\
             <text class=\"title\" x=\"16\" y=\"24\">{0}</text>\n",
            escaped(&self.title),
            style(names.len())
        );
        let mut at = 16.0;
        for (s, name) in names.iter().enumerate() {
            let _ = writeln!(
                text,
                "<rect class=\"s{s}\" x=\"{at:.1}\" y=\"38\" width=\"14\" height=\"10\"/>\
                 <text x=\"{:.1}\" y=\"47\">{}</text>",
                at + 20.0,
                escaped(name)
            );
            at += 44.0 + name.chars().count() as f64 * CHARACTER;
        }
        let _ = writeln!(text, "<text class=\"soft\" x=\"16\" y=\"70\">{}</text>", escaped(&self.vertical));
        for (p, panel) in self.panels.iter().enumerate() {
            let left = LEFT + p as f64 * (wide + GAP);
            if !panel.title.is_empty() {
                let middle = left + wide / 2.0;
                let _ = writeln!(
                    text,
                    "<text class=\"middle strong\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text>",
                    TOP - 10.0,
                    escaped(&panel.title)
                );
            }
            for v in ticks(0.0, high, 6) {
                let (at, right) = (y(v), left + wide);
                let _ = writeln!(
                    text,
                    "<line class=\"grid\" x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>"
                );
                if p == 0 {
                    let (x, at) = (left - 8.0, at + 4.0);
                    let _ = writeln!(text, "<text class=\"end\" x=\"{x:.1}\" y=\"{at:.1}\">{}</text>", number(v));
                }
            }
            for (c, category) in self.categories.iter().enumerate() {
                let x = left + (c as f64 + 0.5) * step;
                let below = BOTTOM + 17.0;
                let place = match turned {
                    true => {
                        format!("class=\"end\" transform=\"translate({:.1} {:.1}) rotate(-45)\"", x + 4.0, below - 3.0)
                    }
                    false => format!("class=\"middle\" x=\"{x:.1}\" y=\"{below:.1}\""),
                };
                let _ = writeln!(text, "<text {place}>{}</text>", escaped(category));
            }
            let colour = |series: &Series| names.iter().position(|n| *n == series.name).unwrap_or(0);
            for (i, series) in panel.series.iter().enumerate() {
                let points: Vec<Option<(f64, f64, f64)>> = (0..self.categories.len())
                    .map(|c| {
                        let v = drawn(series.values.get(c)?)?;
                        Some((left + (c as f64 + 0.5) * step, y(v), v))
                    })
                    .collect();
                let class = colour(series);
                match self.kind {
                    ChartKind::Bars => {
                        let bar = step * FILLED / panel.series.len() as f64;
                        for (c, point) in points.iter().enumerate() {
                            let Some((x, top, v)) = point else { continue };
                            let x = x - step * FILLED / 2.0 + i as f64 * bar;
                            let _ = writeln!(
                                text,
                                "<rect class=\"s{class}\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" \
                                 height=\"{:.1}\"><title>{}</title></rect>",
                                (bar - 1.0).max(1.0),
                                BOTTOM - top,
                                self.told(series, c, *v)
                            );
                        }
                    }
                    ChartKind::Lines => {
                        // A gap begins a new line.
                        for run in points.split(Option::is_none).filter(|run| run.len() > 1) {
                            let run: Vec<String> =
                                run.iter().flatten().map(|(x, y, _)| format!("{x:.1} {y:.1}")).collect();
                            let _ = writeln!(text, "<path class=\"l{class}\" d=\"M{}\"/>", run.join("L"));
                        }
                        for (c, point) in points.iter().enumerate() {
                            let Some((x, y, v)) = point else { continue };
                            let _ = writeln!(
                                text,
                                "<circle class=\"s{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{}</title></circle>",
                                self.told(series, c, *v)
                            );
                        }
                    }
                }
            }
            let _ = writeln!(
                text,
                "<line class=\"axis\" x1=\"{left:.1}\" x2=\"{:.1}\" y1=\"{BOTTOM}\" y2=\"{BOTTOM}\"/>",
                left + wide
            );
        }
        let (middle, at) = ((LEFT + WIDTH - RIGHT) / 2.0, height - 12.0);
        let _ = write!(
            text,
            "<text class=\"middle soft\" x=\"{middle:.1}\" y=\"{at:.1}\">{}</text>\n</svg>\n",
            escaped(&self.horizontal)
        );
        text
    }

    /// Names of series, in the order in which they first come.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for series in self.panels.iter().flat_map(|p| &p.series) {
            if !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        names
    }

    /// What a reader sees who points at a value.
    fn told(&self, series: &Series, category: usize, value: f64) -> String {
        escaped(&format!("{}, {}: {}", series.name, self.categories[category], number(value)))
    }
}

fn style(series: usize) -> String {
    let mut light = String::new();
    let mut dark = String::new();
    // Colours as they are: who shows a file of its own may not know variables.
    let parts = [("text{fill:", INK), (".soft{fill:", SOFT), (".back{fill:", PAPER), (".grid{stroke:", EDGE)];
    for (rule, (day, night)) in parts.into_iter().chain([(".axis{stroke:", SOFT)]) {
        for (style, colour) in [(&mut light, day), (&mut dark, night)] {
            let _ = write!(style, "{rule}{colour}}}");
        }
    }
    for s in 0..series {
        // More names than colours would share some; no page has so many.
        let (day, night) = SERIES[s % SERIES.len()];
        for (style, colour) in [(&mut light, day), (&mut dark, night)] {
            let _ = write!(style, ".s{s}{{fill:{colour}}}.l{s}{{stroke:{colour}}}");
        }
    }
    format!(
        "text{{font:12px system-ui,sans-serif}}.title{{font-size:15px;font-weight:600}}.strong{{font-weight:600}}\
         .middle{{text-anchor:middle}}.end{{text-anchor:end}}path{{fill:none;stroke-width:2.2;stroke-linejoin:round}}{light}\
         @media(prefers-color-scheme:dark){{{dark}}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(kind: ChartKind, values: Vec<Option<f64>>) -> Chart {
        Chart {
            title: "a < b".into(),
            vertical: "GB/s".into(),
            horizontal: "nodes".into(),
            kind,
            categories: vec!["512".into(), "1,024".into(), "2,048".into()],
            panels: vec![Panel { title: "subset".into(), series: vec![Series { name: "MPI & co".into(), values }] }],
        }
    }

    #[test]
    fn the_highest_bar_is_as_high_as_its_value_says() {
        let svg = chart(ChartKind::Bars, vec![Some(10.0), Some(20.0), None]).svg();
        let heights: Vec<f64> = svg
            .match_indices("height=\"")
            .filter(|(i, _)| svg[..*i].rfind('<').is_some_and(|open| svg[open..].starts_with("<rect class=\"s0\" x")))
            .filter_map(|(i, found)| svg[i + found.len()..].split('"').next()?.parse().ok())
            .collect();
        // The legend's sample, then two bars: the third value is missing.
        assert_eq!(heights.len(), 3, "{svg}");
        assert!((heights[2] / heights[1] - 2.0).abs() < 0.01, "{heights:?}");
        assert!((heights[2] - (BOTTOM - TOP) / 1.05).abs() < 0.1, "{heights:?}");
        assert!(svg.contains("<title>MPI &amp; co, 1,024: 20</title>") && svg.contains("a &lt; b"));
    }

    #[test]
    fn a_gap_parts_a_line() {
        let count = |values| chart(ChartKind::Lines, values).svg().matches("<path").count();
        assert_eq!(count(vec![Some(1.0), Some(2.0), Some(1.5)]), 1);
        assert_eq!(count(vec![Some(1.0), None, Some(1.5)]), 0);
        let svg = chart(ChartKind::Lines, vec![Some(1.0), None, Some(f64::NAN)]).svg();
        assert_eq!((svg.matches("<circle").count(), svg.contains("NaN")), (1, false));
    }

    #[test]
    fn nothing_is_fetched_and_long_labels_are_turned() {
        let mut chart = chart(ChartKind::Bars, vec![None; 3]);
        assert!(!chart.svg().contains("rotate"));
        chart.categories[0] = "a".repeat(60);
        let svg = chart.svg();
        assert!(svg.contains("rotate(-45)"));
        assert_eq!(svg.matches("http").count(), 1, "only the name space: {svg}");
    }
}
