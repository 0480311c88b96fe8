//! Rows of colours over time, as an SVG within a page that needs no script.
//!
//! The colours are those of the picture of a plan (`page.js`).

use crate::axis::Axis;
use crate::colours;
use crate::svg::{Anchor, Drawing};
use maud::{Markup, html};
use std::fmt::Write;

/// Shades of the scale; nothing at all has none.
pub(crate) const SHADES: usize = 20;

const WIDTH: f64 = 580.0;
const RIGHT: f64 = 10.0;
const ROW: f64 = 11.0;
/// Few rows are higher.
const HIGHEST: f64 = 18.0;
/// Of a label; the rest is left to its title.
const MOST_CHARACTERS: usize = 24;
const CHARACTER: f64 = 5.8;

/// One row.
pub struct Row {
    /// What stands before it.
    pub label: String,
    /// What a reader sees who points at it.
    pub tip: String,
    /// Per interval: 0 is nothing, 1 the end of the scale.
    pub cells: Vec<f64>,
}

/// Rows with the same intervals.
pub struct Heat {
    /// A sentence that stands in for the picture where there is none.
    pub label: String,
    /// From above.
    pub rows: Vec<Row>,
    /// How long an interval is, in seconds.
    pub interval: f64,
    /// When the last one ends, which may be shorter, in seconds.
    pub end: f64,
}

/// The shades, for the page's style sheet.
pub fn style() -> String {
    let mut text = colours::amounts(SHADES);
    text.push_str(
        ".heat .name { font-size: 10px; }\n.heat .sheet { fill: var(--idle); opacity: 0.45; }\n\
         .heat .row { fill: transparent; }\n.heat .row:hover { stroke: var(--ink); }\n\
         .heat .cells path { fill: none; stroke-width: 1; shape-rendering: crispEdges; }\n",
    );
    for shade in 1..=SHADES {
        // Writing to a string does not fail.
        let _ = writeln!(text, ".h{shade} {{ stroke: var(--h{shade}); }}");
    }
    text
}

/// The scale, from nothing to `high`; `what` is what it is of. Plain text.
pub fn legend(what: &str, half: &str, high: &str) -> Markup {
    let stops: Vec<String> = (1..=SHADES).map(|shade| format!("var(--h{shade})")).collect();
    let bar = format!("background:linear-gradient(to right,{})", stops.join(","));
    html! {
        div.scale {
            div { (what) }
            div.bar style=(bar) {}
            div.ticks { span { "0" } span { (half) } span { (high) } }
        }
    }
}

/// The shade of a cell: 0 is none.
pub(crate) fn shade(cell: f64) -> usize {
    if cell > 0.0 { ((cell * SHADES as f64).ceil() as usize).clamp(1, SHADES) } else { 0 }
}

impl Heat {
    /// The picture.
    pub fn svg(&self) -> Markup {
        let shown: Vec<String> = self.rows.iter().map(|row| shortened(&row.label)).collect();
        let longest = shown.iter().map(|label| label.chars().count()).max().unwrap_or(0) as f64;
        let left = longest * CHARACTER + 10.0;
        let wide = WIDTH - left - RIGHT;
        let count = self.rows.len() as f64;
        let high = (160.0 / count).clamp(ROW, HIGHEST);
        let bottom = 4.0 + count * high;
        let mut drawing = Drawing::default();
        drawing.rect("sheet", (left, 4.0), (wide, count * high), None);
        drawing.raw(&self.cells((left, wide), high));
        for (r, (row, label)) in self.rows.iter().zip(&shown).enumerate() {
            let top = 4.0 + r as f64 * high;
            drawing.rect("row", (left, top), (wide, high), Some(&row.tip));
            drawing.words("name", Anchor::End, (left - 6.0, top + high / 2.0 + 3.5), label);
        }
        let x = Axis::linear((0.0, self.end), (left, left + wide));
        let (ticks, unit) = x.time_ticks(5);
        // The last one may stand at the very edge.
        drawing.ticks(&x, &ticks, bottom, WIDTH - 2.0 * RIGHT);
        let what = format!("time since the start, {}", unit.unwrap_or_default());
        drawing.words("soft", Anchor::Middle, (left + wide / 2.0, bottom + 38.0), &what);
        drawing.finish("heat", (WIDTH, bottom + 44.0), &self.label)
    }

    /// The cells, one path for each shade, in units of an interval and a row.
    fn cells(&self, (left, wide): (f64, f64), high: f64) -> String {
        let columns = self.end / self.interval;
        let mut paths = vec![String::new(); SHADES + 1];
        for (r, row) in self.rows.iter().enumerate() {
            let shades: Vec<usize> = row.cells.iter().map(|&cell| shade(cell)).collect();
            let mut at = 0;
            for same in shades.chunk_by(|a, b| a == b) {
                let until = ((at + same.len()) as f64).min(columns);
                if same[0] > 0 && until > at as f64 {
                    let until = format!("{:.3}", until - at as f64);
                    let wide = until.trim_end_matches('0').trim_end_matches('.');
                    // Writing to a string does not fail.
                    let _ = write!(paths[same[0]], "M{at} {r}.5h{wide}");
                }
                at += same.len();
            }
        }
        let scale = format!("translate({left:.1} 4) scale({:.5} {high:.3})", wide / columns);
        let mut drawing = Drawing::default();
        drawing.raw(&format!("<g class=\"cells\" transform=\"{scale}\">"));
        for (shade, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            drawing.path(&format!("h{shade}"), path, None);
        }
        drawing.raw("</g>");
        drawing.into_text()
    }
}

/// The beginning of a label that is too long.
fn shortened(label: &str) -> String {
    match label.chars().count() {
        n if n > MOST_CHARACTERS => label.chars().take(MOST_CHARACTERS - 1).chain(['\u{2026}']).collect(),
        _ => label.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_lie_where_they_belong() {
        let row = |cells: &[f64]| Row { label: "a \u{2192} b".into(), tip: "<t>".into(), cells: cells.to_vec() };
        let rows = vec![row(&[0.0, 1.0, 1.0, 0.5]), row(&[2.0, 0.0, 0.0, 0.001])];
        // The last of four intervals is half as long.
        let svg = Heat { label: "l".into(), rows, interval: 2.0, end: 7.0 }.svg().into_string();
        assert!(svg.contains(r#"class="h20" d="M1 0.5h2M0 1.5h1""#), "{svg}");
        assert!(svg.contains(r#"class="h10" d="M3 0.5h0.5""#) && svg.contains(r#"class="h1" d="M3 1.5h0.5""#), "{svg}");
        assert!(svg.contains("&lt;t&gt;") && !svg.contains("NaN"));
    }

    #[test]
    fn long_names_are_cut() {
        let name = "x".repeat(80);
        assert_eq!(shortened(&name).chars().count(), MOST_CHARACTERS);
        assert_eq!(shortened("h0"), "h0");
    }
}
