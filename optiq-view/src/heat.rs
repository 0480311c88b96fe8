//! Rows of colours over time, as an SVG within a page that needs no script.
//!
//! The colours are those of the picture of a plan (`page.js`): viridis, turned so that much stands out from the paper.

use crate::axis::{number, ticks, time_unit};
use crate::page::escape;
use std::fmt::Write;

const VIRIDIS: [[f64; 3]; 10] = [
    [68.0, 1.0, 84.0],
    [72.0, 40.0, 120.0],
    [62.0, 73.0, 137.0],
    [49.0, 104.0, 142.0],
    [38.0, 130.0, 142.0],
    [31.0, 158.0, 137.0],
    [53.0, 183.0, 121.0],
    [110.0, 206.0, 88.0],
    [181.0, 222.0, 43.0],
    [253.0, 231.0, 37.0],
];
/// Shades of the scale; nothing at all has none.
const SHADES: usize = 20;

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
    let (mut light, mut dark) = (String::new(), String::new());
    for shade in 1..=SHADES {
        let share = shade as f64 / SHADES as f64;
        for (text, place) in [(&mut light, 0.92 * (1.0 - share)), (&mut dark, 0.25 + 0.75 * share)] {
            let place = place * (VIRIDIS.len() - 1) as f64;
            let low = (place as usize).min(VIRIDIS.len() - 2);
            let mixed =
                |i: usize| (VIRIDIS[low][i] + (VIRIDIS[low + 1][i] - VIRIDIS[low][i]) * (place - low as f64)).round();
            // Writing to a string does not fail.
            let _ = write!(text, "--h{shade}:rgb({} {} {});", mixed(0), mixed(1), mixed(2));
        }
    }
    let mut text = format!(
        ":root{{{light}}}\n@media (prefers-color-scheme: dark) {{ :root{{{dark}}} }}\n@media print {{ :root{{{light}}} }}\n\
         .heat text {{ font: 12px system-ui, sans-serif; fill: var(--ink); }}\n.heat .name {{ font-size: 10px; }}\n\
         .heat .soft {{ fill: var(--soft); }}\n.heat .axis {{ stroke: var(--soft); }}\n\
         .heat .sheet {{ fill: var(--idle); opacity: 0.45; }}\n.heat .row {{ fill: transparent; }}\n\
         .heat .row:hover {{ stroke: var(--ink); }}\n\
         .heat .cells path {{ fill: none; stroke-width: 1; shape-rendering: crispEdges; }}\n"
    );
    for shade in 1..=SHADES {
        let _ = writeln!(text, ".h{shade} {{ stroke: var(--h{shade}); }}");
    }
    text
}

/// The scale, from nothing to `high`; `what` is what it is of. Plain text.
pub fn legend(what: &str, half: &str, high: &str) -> String {
    let stops: Vec<String> = (1..=SHADES).map(|shade| format!("var(--h{shade})")).collect();
    format!(
        "<div class=\"scale\"><div>{}</div><div class=\"bar\" style=\"background:linear-gradient(to right,{})\"></div>\
         <div class=\"ticks\"><span>0</span><span>{}</span><span>{}</span></div></div>",
        escape(what),
        stops.join(","),
        escape(half),
        escape(high)
    )
}

/// The shade of a cell: 0 is none.
fn shade(cell: f64) -> usize {
    if cell > 0.0 { ((cell * SHADES as f64).ceil() as usize).clamp(1, SHADES) } else { 0 }
}

impl Heat {
    /// The picture.
    pub fn svg(&self) -> String {
        let columns = self.end / self.interval;
        let shown: Vec<String> = self.rows.iter().map(|row| shortened(&row.label)).collect();
        let longest = shown.iter().map(|label| label.chars().count()).max().unwrap_or(0) as f64;
        let left = longest * CHARACTER + 10.0;
        let wide = WIDTH - left - RIGHT;
        let count = self.rows.len() as f64;
        let high = (160.0 / count).clamp(ROW, HIGHEST);
        let bottom = 4.0 + count * high;
        let mut paths = vec![String::new(); SHADES + 1];
        let mut names = String::new();
        for (r, row) in self.rows.iter().enumerate() {
            let shades: Vec<usize> = row.cells.iter().map(|&cell| shade(cell)).collect();
            let mut at = 0;
            for same in shades.chunk_by(|a, b| a == b) {
                let until = ((at + same.len()) as f64).min(columns);
                if same[0] > 0 && until > at as f64 {
                    let until = format!("{:.3}", until - at as f64);
                    let wide = until.trim_end_matches('0').trim_end_matches('.');
                    let _ = write!(paths[same[0]], "M{at} {r}.5h{wide}");
                }
                at += same.len();
            }
            let top = 4.0 + r as f64 * high;
            let _ = write!(
                names,
                "<rect class=\"row\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\"><title>{}</title>\
                 </rect><text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                escape(&row.tip),
                left - 6.0,
                top + high / 2.0 + 3.5,
                escape(&shown[r])
            );
        }
        let mut text = format!(
            "<rect class=\"sheet\" x=\"{left:.1}\" y=\"4\" width=\"{wide:.1}\" height=\"{:.1}\"/>\
             <g class=\"cells\" transform=\"translate({left:.1} 4) scale({:.5} {high:.3})\">",
            count * high,
            wide / columns
        );
        for (shade, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            let _ = write!(text, "<path class=\"h{shade}\" d=\"{path}\"/>");
        }
        text.push_str("</g>");
        text.push_str(&names);
        let (factor, unit) = time_unit(self.end);
        for t in ticks(0.0, self.end * factor, 5) {
            let x = left + t / (self.end * factor) * wide;
            let _ = write!(text, r#"<path class="axis" d="M{x:.1} {bottom:.1}v5"/>"#);
            // The last one may stand at the very edge.
            let anchor = if x > WIDTH - 2.0 * RIGHT { "end" } else { "middle" };
            let at = bottom + 19.0;
            let _ = write!(text, r#"<text x="{x:.1}" y="{at:.1}" text-anchor="{anchor}">{}</text>"#, number(t));
        }
        let (middle, height) = (left + wide / 2.0, bottom + 44.0);
        let _ = write!(
            text,
            r#"<text class="soft" x="{middle:.1}" y="{:.1}" text-anchor="middle">time since the start, {unit}</text>"#,
            bottom + 37.0
        );
        format!(
            "<svg class=\"heat\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{}\">{text}</svg>",
            escape(&self.label)
        )
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
        let svg = Heat { label: "l".into(), rows, interval: 2.0, end: 7.0 }.svg();
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
