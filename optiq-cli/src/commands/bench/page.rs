//! The picture of many comparisons: one self-contained HTML page with the ratio against bytes per pair, and the table.
//!
//! Each demand set with each planner is a line. Both axes are logarithmic, so that twice as fast and half as fast lie
//! equally far from 1. Dashed, in the same colour, is the ratio that the two link bounds allow.

use super::document::{Outcome, Suite};
use optiq_view::page::{self, Drawn, escape};
use std::fmt::Write;
use std::io;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 430.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = HEIGHT - 46.0;

/// Colours of lines that can be told apart on white and on black, also by colour-blind people (Okabe and Ito), in turn.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8a8a00"];

/// Cases of one line.
struct Line<'a> {
    name: String,
    /// Bytes per pair, and the case.
    points: Vec<(f64, &'a Outcome)>,
}

/// The page.
///
/// # Errors
/// If the data cannot be serialised, which only a number that is none could bring about.
pub fn page(suite: &Suite) -> io::Result<String> {
    // In a script block only "</" and "<!--" are special; escaping "<" leaves neither.
    let data = serde_json::to_string(suite)?.replace('<', "\\u003c");
    let title = escape(&format!("{}: optiq_alltoallv beside MPI_Alltoallv", suite.topology));
    let note = suite.note.as_ref().map_or(String::new(), |note| format!(" {}", escape(note)));
    let subtitle = format!(
        "{}, medians of {}, every byte of the first and last call of each {}.{note}",
        optiq_view::table::count(suite.ranks, "rank"),
        optiq_view::table::count(suite.repetitions, "repetition"),
        if suite.verified { "right" } else { "WRONG" },
    );
    let cards = cards(suite);
    let lines = lines(suite);
    let (legend, chart, table) = (legend(&lines), chart(&lines), table(suite));
    let footer = format!("optiq {}", env!("CARGO_PKG_VERSION"));
    let parts = [
        ("{{heading}}", title.as_str()),
        ("{{subtitle}}", subtitle.as_str()),
        ("{{cards}}", cards.as_str()),
        ("{{legend}}", legend.as_str()),
        ("{{chart}}", chart.as_str()),
        ("{{table}}", table.as_str()),
        ("{{footer}}", footer.as_str()),
        ("{{data}}", data.as_str()),
    ];
    Ok(page::page(&title, Drawn::Already, include_str!("page.css"), include_str!("page.html"), &parts))
}

fn cards(suite: &Suite) -> String {
    let card = |value: f64, what: &str, more: &str| {
        let (what, more) = (escape(what), escape(more));
        format!(
            "<div class=\"card\"><b>{value:.2}&times;</b><div class=\"what\">{what}</div><div class=\"more\">{more}</div></div>"
        )
    };
    let many = format!("of {}", optiq_view::table::count(suite.cases.len(), "case"));
    let mean = card(suite.geometric_mean_ratio, "as fast as MPI, geometric mean", &many);
    let worst = suite.worst.as_ref().map_or(String::new(), |w| card(w.ratio, "in the worst case", &w.case));
    mean + &worst
}

fn lines(suite: &Suite) -> Vec<Line<'_>> {
    let mut lines: Vec<Line> = Vec::new();
    let planners = suite.several_planners();
    for case in &suite.cases {
        let c = &case.comparison;
        let name = c.demands.strip_prefix("pattern:").unwrap_or(&c.demands);
        let name = if planners { format!("{name} ({})", case.planner) } else { name.to_owned() };
        // A demand set may have sizes of its own.
        let bytes = c.total_bytes as f64 / c.pairs.max(1) as f64;
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push((bytes, case)),
            None => lines.push(Line { name, points: vec![(bytes, case)] }),
        }
    }
    lines.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    lines
}

fn colour(line: usize) -> &'static str {
    COLOURS[line % COLOURS.len()]
}

/// What points and keys are filled with: where colours come round again, they are hollow.
fn filling(line: usize) -> &'static str {
    if (line / COLOURS.len()).is_multiple_of(2) { colour(line) } else { "var(--paper)" }
}

fn legend(lines: &[Line]) -> String {
    let key = |(i, line): (usize, &Line)| {
        let name = escape(&line.name);
        format!(
            "<span><span class=\"key\" style=\"background:{};border:2px solid {}\"></span>{name}</span>",
            filling(i),
            colour(i)
        )
    };
    let keys: String = lines.iter().enumerate().map(key).collect();
    format!("{keys}<span>dashed: what the link bounds allow</span>")
}

/// An axis that is logarithmic from `low` to `high`.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let part = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// `step` to whole powers within the axis, thinned out to about a dozen.
    fn ticks(&self, step: f64) -> Vec<f64> {
        let power = |v: f64| v.ln() / step.ln();
        let (first, last) = ((power(self.low) - 1e-9).ceil() as i32, (power(self.high) + 1e-9).floor() as i32);
        let every = ((last - first) / 12 + 1).max(1) as usize;
        (first..=last).step_by(every).map(|n| step.powi(n)).collect()
    }
}

fn chart(lines: &[Line]) -> String {
    let drawn = |v: &f64| v.is_finite() && *v > 0.0;
    let points = || lines.iter().flat_map(|line| &line.points);
    let ratios = || points().flat_map(|(_, case)| [case.comparison.ratio, case.bound_ratio()]).filter(drawn);
    let sizes = || points().map(|point| point.0).filter(drawn);
    if sizes().next().is_none() {
        return "<p class=\"note\">No bytes cross the network in any case.</p>".into();
    }
    // Some air around, also where all are the same.
    let low = ratios().fold(1.0, f64::min) / 1.15;
    let high = ratios().fold(1.0, f64::max) * 1.15;
    let y = Axis { low: low.min(0.8), high: high.max(1.25), from: BOTTOM, to: TOP };
    let (low, high) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    let x = Axis { low: low / 1.4, high: high * 1.4, from: LEFT, to: WIDTH - RIGHT };
    let mut svg = String::new();
    // Writing to a string does not fail.
    let levels: Vec<f64> = if y.high / y.low < 6.0 {
        [0.25, 0.5, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0]
            .into_iter()
            .filter(|v| *v >= y.low && *v <= y.high)
            .collect()
    } else {
        y.ticks(2.0)
    };
    for level in levels {
        let at = y.at(level);
        let class = if level == 1.0 { "one" } else { "grid" };
        let _ = write!(
            svg,
            "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{level}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0
        );
    }
    let mut ticks = x.ticks(4.0);
    if ticks.len() < 2 {
        ticks = vec![low, high];
        ticks.dedup();
    }
    for size in ticks {
        let (at, label) = (x.at(size), optiq_view::table::bytes(size));
        let _ = write!(
            svg,
            "<line class=\"tick\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{BOTTOM}\" y2=\"{}\"/>\
             <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            BOTTOM + 5.0,
            BOTTOM + 20.0,
            label.replace(".00 ", " ")
        );
    }
    let _ = write!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">bytes per pair of hosts</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 6.0
    );
    for (i, line) in lines.iter().enumerate() {
        let path = |of: &dyn Fn(&Outcome) -> f64| {
            let at = line.points.iter().map(|(bytes, case)| (*bytes, of(case))).filter(|(b, r)| drawn(b) && drawn(r));
            at.map(|(b, r)| format!("{:.1} {:.1}", x.at(b), y.at(r))).collect::<Vec<_>>().join("L")
        };
        for (class, path) in [("allowed", path(&Outcome::bound_ratio)), ("found", path(&|c| c.comparison.ratio))] {
            if path.contains('L') {
                let _ = write!(svg, "<path class=\"{class}\" stroke=\"{}\" d=\"M{path}\"/>", colour(i));
            } else if class == "allowed" && !path.is_empty() {
                // One case alone: a short dash.
                let _ = write!(svg, "<path class=\"allowed\" stroke=\"{}\" d=\"M{path}m-9 0h18\"/>", colour(i));
            }
        }
        for (bytes, case) in line.points.iter().filter(|(b, case)| drawn(b) && drawn(&case.comparison.ratio)) {
            let c = &case.comparison;
            let _ = write!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"{}\" stroke=\"{}\"><title>{}: {:.2} times as fast, {:.2} by the bounds; {}</title></circle>",
                x.at(*bytes),
                y.at(c.ratio),
                filling(i),
                colour(i),
                escape(&case.case),
                c.ratio,
                case.bound_ratio(),
                escape(&c.decision)
            );
        }
    }
    let label = "Ratio of the times of MPI_Alltoallv and optiq_alltoallv against bytes per pair";
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{label}\"><style>{STYLE}</style>{svg}</svg>"
    )
}

const STYLE: &str = "\
#chart text{font:12px system-ui,sans-serif;fill:var(--ink)}\
#chart svg{display:block;width:100%;height:auto}\
#chart path{fill:none;stroke-width:2;stroke-linejoin:round}\
#chart circle{stroke-width:1.6}\
#chart .allowed{stroke-width:1.3;stroke-dasharray:5 4}\
#chart .grid{stroke:var(--edge)}\
#chart .one{stroke:var(--ink);stroke-width:1.5}\
#chart .tick{stroke:var(--soft)}";

fn table(suite: &Suite) -> String {
    let cells = |tag: &str, cells: &[String]| -> String {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
    };
    let mut head = Outcome::heads().map(String::from).to_vec();
    // The whole decision has room here.
    head.push("why".into());
    let row = |case: &Outcome| {
        let mut row = case.cells();
        row.push(case.comparison.decision.clone());
        format!("<tr>{}</tr>\n", cells("td", &row))
    };
    let rows: String = suite.cases.iter().map(row).collect();
    format!("<table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>", cells("th", &head))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::super::document::tests::{outcome, suite};
    use super::*;

    #[test]
    fn everything_is_on_the_page() {
        let page = page(&suite()).unwrap();
        assert!(!page.contains("{{") && !page.contains("NaN") && !page.contains("http"), "{page}");
        // A point and a row for each case, a line for disjoint, and for what its bounds allow.
        assert_eq!((page.matches("<circle").count(), page.matches("<tr>").count()), (3, 4));
        assert_eq!((page.matches("class=\"found\"").count(), page.matches("class=\"allowed\"").count()), (1, 2));
        assert!(page.contains("25 paths by planner &lt;optimal&gt;") && !page.contains("<optimal>"), "{page}");
        assert!(page.contains("<b>2.00&times;</b>") && page.contains("<b>0.50&times;</b>"));
        let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
        let read: Suite = serde_json::from_str(data).unwrap();
        assert_eq!(read.cases.len(), 3);
    }

    /// Ratios 1/2 and 8 and air of 15 % around them; 1 KB and 64 KB and a factor of 1.4.
    #[test]
    fn points_lie_where_they_belong() {
        let suite = suite();
        let chart = chart(&lines(&suite));
        let y = BOTTOM + (1.15f64).ln() / (8.0 * 1.15 * 1.15 / 0.5f64).ln() * (TOP - BOTTOM);
        let x = LEFT + 1.4f64.ln() / (64.0 * 1.4 * 1.4f64).ln() * (WIDTH - RIGHT - LEFT);
        assert!(chart.contains(&format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\"")), "{x} {y} {chart}");
        assert!(chart.contains("class=\"one\""));
    }

    #[test]
    fn odd_suites() {
        let none = outcome("pattern:disjoint", 0, "auto", 1.0, 1.0, (0.0, 0.0));
        let suite = |cases| Suite::new(("star:2".into(), Some("a <note>".into())), 2, false, 1, cases);
        assert!(page(&suite(vec![none])).unwrap().contains("No bytes cross"));
        assert!(page(&suite(Vec::new())).is_ok_and(|page| page.contains("a &lt;note&gt;")));
        let one = outcome("file:<x>", 5, "auto", 1.0, 1.0, (1.0, 1.0));
        let page = page(&suite(vec![one])).unwrap();
        assert!(page.contains("file:&lt;x&gt;") && !page.contains("<x>") && !page.contains("NaN"), "{page}");
    }
}
