//! Charts of results pages: values over categories as grouped bars or lines, as an SVG file of its own.
//!
//! Panels stand side by side and share their categories and their vertical axis, which begins at 0, so that heights can be
//! compared across them. The file has its own background, and follows the light or dark colours that its reader prefers.

use crate::axis::{Axis, number};
use crate::colours::{EDGE, INK, PAPER, SERIES, SOFT};
use crate::page::escape;
use crate::svg::{Anchor, Drawing, Point, through};
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

/// What shows a page scales wider pictures down, words and all.
const WIDTH: f64 = 900.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
/// Between two panels.
const GAP: f64 = 20.0;
/// Where the legend begins.
const LEGEND_LEFT: f64 = 16.0;
/// From one row of the legend to the next.
const LEGEND_ROW: f64 = 18.0;
/// Top and bottom of the panels, below a legend of one row.
const TOP: f64 = 92.0;
const BOTTOM: f64 = 340.0;
/// What a character of 12 pixels takes, at most, on average.
const CHARACTER: f64 = 6.6;
/// Part of a category's width that its bars take.
const FILLED: f64 = 0.78;

/// Where a panel lies, and how wide a category is.
struct Place {
    left: f64,
    right: f64,
    step: f64,
    /// The axis of values, which all panels share.
    y: Axis,
}

impl Place {
    /// The middle of a category.
    fn middle(&self, category: usize) -> f64 {
        self.left + (category as f64 + 0.5) * self.step
    }
}

impl Chart {
    /// The file. Values that are not finite or below 0 are left out.
    pub fn svg(&self) -> String {
        let names = self.names();
        let y = self.values();
        let count = self.panels.len().max(1) as f64;
        let wide = (WIDTH - LEFT - RIGHT - GAP * (count - 1.0)) / count;
        let step = wide / self.categories.len().max(1) as f64;
        let longest = self.categories.iter().map(|c| c.chars().count()).max().unwrap_or(0) as f64;
        // Labels that would touch each other are turned.
        let turned = longest * CHARACTER > step - 4.0;
        let below = if turned { longest * CHARACTER * 0.7 + 12.0 } else { 20.0 };
        let (legend, more_rows) = legend(&names);
        let mut drawing = Drawing::default();
        drawing.words("soft", Anchor::Start, (LEGEND_LEFT, 70.0), &self.vertical);
        for (p, panel) in self.panels.iter().enumerate() {
            let left = LEFT + p as f64 * (wide + GAP);
            let place = Place { left, right: left + wide, step, y };
            self.frame(&mut drawing, panel, &place, p == 0, turned);
            for (i, series) in panel.series.iter().enumerate() {
                let colour = names.iter().position(|n| *n == series.name).unwrap_or(0);
                match self.kind {
                    ChartKind::Bars => self.bars(&mut drawing, series, (i, panel.series.len()), colour, &place),
                    ChartKind::Lines => self.lines(&mut drawing, series, colour, &place),
                }
            }
            drawing.line("axis", (place.left, BOTTOM), (place.right, BOTTOM));
        }
        let middle = (LEFT + WIDTH - RIGHT) / 2.0;
        drawing.words("soft", Anchor::Middle, (middle, BOTTOM + below + 22.0), &self.horizontal);
        let panels = match more_rows > 0.0 {
            true => format!("<g transform=\"translate(0 {more_rows})\">\n{}</g>\n", drawing.into_text()),
            false => drawing.into_text(),
        };
        let height = BOTTOM + below + 34.0 + more_rows;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
             height=\"{height:.0}\" role=\"img\" aria-label=\"{0}\">\n<style>{1}</style>\n\
             <rect class=\"back\" width=\"{WIDTH}\" height=\"{height:.0}\"/>\n\
             <text class=\"title\" x=\"16\" y=\"24\">{0}</text>\n{2}{panels}</svg>\n",
            escape(&self.title),
            style(names.len()),
            legend.into_text()
        )
    }

    /// The axis of values, from 0 to a little above the highest one.
    fn values(&self) -> Axis {
        let all = self.panels.iter().flat_map(|p| &p.series).flat_map(|s| &s.values);
        let high = all.filter_map(drawn).fold(0.0, f64::max);
        Axis::linear((0.0, if high > 0.0 { high * 1.05 } else { 1.0 }), (BOTTOM, TOP))
    }

    /// Title, lines across and names of categories; the first panel has the numbers of all of them.
    fn frame(&self, drawing: &mut Drawing, panel: &Panel, place: &Place, first: bool, turned: bool) {
        if !panel.title.is_empty() {
            let middle = (place.left + place.right) / 2.0;
            drawing.words("strong", Anchor::Middle, (middle, TOP - 10.0), &panel.title);
        }
        let mut levels = place.y.number_ticks(6);
        if !first {
            levels.iter_mut().for_each(|(_, label)| label.clear());
        }
        drawing.levels(&place.y, &levels, (place.left, place.right));
        for (c, category) in self.categories.iter().enumerate() {
            let (x, below) = (place.middle(c), BOTTOM + 17.0);
            match turned {
                true => drawing.rising_words((x + 4.0, below - 3.0), category),
                false => drawing.words("", Anchor::Middle, (x, below), category),
            }
        }
    }

    /// The bars of one of several series.
    fn bars(&self, drawing: &mut Drawing, series: &Series, (i, of): (usize, usize), colour: usize, place: &Place) {
        let bar = place.step * FILLED / of as f64;
        for (c, v) in series.values.iter().take(self.categories.len()).enumerate() {
            let Some(v) = drawn(v) else { continue };
            let (x, top) = (place.middle(c) - place.step * FILLED / 2.0 + i as f64 * bar, place.y.at(v));
            let size = ((bar - 1.0).max(1.0), BOTTOM - top);
            drawing.rect(&format!("s{colour}"), (x, top), size, Some(&self.tip(series, c, v)));
        }
    }

    /// The points of a series, and the lines between them; a gap begins a new line.
    fn lines(&self, drawing: &mut Drawing, series: &Series, colour: usize, place: &Place) {
        let values: Vec<Option<f64>> = series.values.iter().take(self.categories.len()).map(drawn).collect();
        let at = |(c, v): (usize, &Option<f64>)| v.map(|v| (place.middle(c), place.y.at(v)));
        let points: Vec<Option<Point>> = values.iter().enumerate().map(at).collect();
        for run in points.split(Option::is_none).filter(|run| run.len() > 1) {
            drawing.path(&format!("l{colour}"), &format!("M{}", through(run.iter().flatten())), None);
        }
        for (c, (point, v)) in points.iter().zip(&values).enumerate() {
            if let (Some(point), Some(v)) = (point, v) {
                drawing.circle(&format!("s{colour}"), *point, Some(&self.tip(series, c, *v)));
            }
        }
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
    fn tip(&self, series: &Series, category: usize, value: f64) -> String {
        format!("{}, {}: {}", series.name, self.categories[category], number(value))
    }
}

/// The names of series with their colours, in rows that are no wider than the picture, and how much higher than one row they are.
fn legend(names: &[&str]) -> (Drawing, f64) {
    let mut drawing = Drawing::default();
    let (mut at, mut more_rows) = (LEGEND_LEFT, 0.0);
    for (s, name) in names.iter().enumerate() {
        let wide = 20.0 + name.chars().count() as f64 * CHARACTER;
        if at > LEGEND_LEFT && at + wide > WIDTH - RIGHT {
            at = LEGEND_LEFT;
            more_rows += LEGEND_ROW;
        }
        drawing.rect(&format!("s{s}"), (at, 38.0 + more_rows), (14.0, 10.0), None);
        drawing.words("", Anchor::Start, (at + 20.0, 47.0 + more_rows), name);
        at += wide + 24.0;
    }
    (drawing, more_rows)
}

/// A value that can be drawn.
fn drawn(v: &Option<f64>) -> Option<f64> {
    v.filter(|v| v.is_finite() && *v >= 0.0)
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
        let (day, night) = SERIES[s % SERIES.len()];
        for (style, colour, paper) in [(&mut light, day, PAPER.0), (&mut dark, night, PAPER.1)] {
            // Names beyond the number of colours share them, and are told apart by hollow marks and dashed lines.
            let _ = match s < SERIES.len() {
                true => write!(style, ".s{s}{{fill:{colour}}}.l{s}{{stroke:{colour}}}"),
                false => write!(
                    style,
                    ".s{s}{{fill:{paper};stroke:{colour};stroke-width:1.6}}.l{s}{{stroke:{colour};stroke-dasharray:6 4}}"
                ),
            };
        }
    }
    format!(
        "text{{font:12px system-ui,sans-serif}}.title{{font-size:15px;font-weight:600}}.strong{{font-weight:600}}\
         path{{fill:none;stroke-width:2.2;stroke-linejoin:round}}{light}\
         @media(prefers-color-scheme:dark){{{dark}}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_that_share_a_colour_are_drawn_in_two_ways() {
        let styles = style(SERIES.len() + 1);
        let of = |s: usize| styles.split(&format!(".l{s}{{")).nth(1).unwrap().split('}').next().unwrap().to_owned();
        assert_eq!(of(SERIES.len()), format!("{};stroke-dasharray:6 4", of(0)));
    }

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
    fn a_legend_that_is_too_wide_has_rows() {
        let names: Vec<String> = (0..12).map(|i| format!("a name of some length {i}")).collect();
        let mut chart = chart(ChartKind::Lines, Vec::new());
        let named = |name: &String| Series { name: name.clone(), values: vec![Some(1.0); 3] };
        chart.panels[0].series = names.iter().map(named).collect();
        let svg = chart.svg();
        let number = |rest: &str| rest.split('"').next().and_then(|text| text.parse::<f64>().ok()).unwrap();
        for name in &names {
            let at = svg.find(&format!(">{name}</text>")).unwrap();
            let begin = svg[..at].rfind("<text x=\"").unwrap() + "<text x=\"".len();
            assert!(number(&svg[begin..]) + name.len() as f64 * CHARACTER <= WIDTH, "{name}");
        }
        // Two more rows, by which the panels begin lower.
        assert!(svg.contains("<g transform=\"translate(0 36)\">") && svg.contains("height=\"430\""), "{svg}");
        chart.panels[0].series.truncate(2);
        let svg = chart.svg();
        assert!(!svg.contains("<g") && svg.contains("width=\"900\" height=\"394\""), "{svg}");
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
