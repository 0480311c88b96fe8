//! Curves over time, or over lengths of time, as an SVG within a page, whose light or dark colours it follows.
//!
//! Panels stand side by side and share their vertical axis, which begins at 0. Each value holds until the next one, so
//! curves are stairs. A curve has the colour of its number, as its [`key`] has it.

use crate::axis::{number, path, stairs, ticks, time_unit};
use crate::colours::{self, SERIES};
use crate::page::escape;
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
        ".curves { display: block; width: 100%; height: auto; }\n\
         .curves text { font: 12px system-ui, sans-serif; fill: var(--ink); }\n\
         .curves .strong { font-weight: 600; }\n.curves .soft { fill: var(--soft); }\n\
         .curves .grid { stroke: var(--edge); }\n.curves .axis { stroke: var(--soft); }\n\
         .curve, .key-line path { fill: none; stroke-width: 2; stroke-linejoin: round; }\n\
         .key-line { width: 28px; height: 10px; }\n.again { stroke-dasharray: 6 3; }\n",
    );
    for i in 0..SERIES.len() {
        // Writing to a string does not fail.
        let _ = writeln!(text, ".c{i} {{ stroke: var(--c{i}); }}");
    }
    text
}

/// The classes of a curve.
fn class(number: usize) -> String {
    format!("c{}{}", number % SERIES.len(), if number < SERIES.len() { "" } else { " again" })
}

/// A sample of a curve, for a legend.
pub fn key(number: usize) -> String {
    format!("<svg class=\"key-line\" viewBox=\"0 0 28 10\"><path class=\"{}\" d=\"M0 5H28\"/></svg>", class(number))
}

/// Where times lie.
struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Axis {
    /// 0 to 1.
    fn place(&self, time: f64) -> f64 {
        match self.logarithmic {
            true => (time.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => time / self.high,
        }
        .clamp(0.0, 1.0)
    }

    /// Times with their labels, not more than fit a width, and the unit, if it is the same for all of them.
    fn ticks(&self, width: f64) -> (Vec<(f64, String)>, String) {
        let most = (width / APART).max(2.0);
        if !self.logarithmic {
            let (factor, unit) = time_unit(self.high);
            let at = ticks(0.0, self.high * factor, most as usize);
            return (at.into_iter().map(|t| (t / factor, number(t))).collect(), format!(", {unit}"));
        }
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        for steps in [&[1.0, 2.0, 5.0][..], &[1.0]] {
            let all = decades.clone().flat_map(|d| steps.iter().map(move |s| s * 10f64.powi(d)));
            let inside: Vec<f64> = all.filter(|&t| t >= self.low && t <= self.high).collect();
            if inside.len() as f64 <= most || steps.len() == 1 {
                // Ten decades at 64 pixels have room.
                let label = |t: f64| {
                    // A little more, as 1e-3 may be a little less than that.
                    let (factor, unit) = time_unit(t * 1.000_001);
                    (t, format!("{} {unit}", number(t * factor)))
                };
                return (inside.into_iter().map(label).collect(), String::new());
            }
        }
        (Vec::new(), String::new())
    }
}

impl Curves {
    /// The picture, or `None` if there is no point to be drawn.
    pub fn svg(&self) -> Option<String> {
        let curves = || self.panels.iter().flat_map(|p| &p.curves);
        let points = || curves().flat_map(|c| &c.points).filter(|p| p.0.is_finite() && p.1.is_finite());
        points().next()?;
        let high = self.high.unwrap_or_else(|| points().map(|p| p.1).fold(0.0, f64::max) * 1.05);
        let high = if high > 0.0 { high } else { 1.0 };
        let last = curves().map(|c| c.end).chain(points().map(|p| p.0)).fold(0.0, f64::max);
        let least = points().map(|p| p.0).filter(|&t| t > 0.0).fold(f64::INFINITY, f64::min).min(last);
        // Air on both sides, which also keeps the ends apart.
        let axis = match self.logarithmic {
            true => Axis { low: least.max(1e-12) / 1.1, high: last.max(1e-12) * 1.1, logarithmic: true },
            false => Axis { low: 0.0, high: if last > 0.0 { last } else { 1e-12 }, logarithmic: false },
        };
        let count = self.panels.len() as f64;
        let wide = (WIDTH - LEFT - RIGHT - GAP * (count - 1.0)) / count;
        let y = |v: f64| BOTTOM - (v / high).clamp(0.0, 1.0) * (BOTTOM - TOP);
        let (times, unit) = axis.ticks(wide);
        let mut text = format!("<text class=\"soft\" x=\"4\" y=\"14\">{}</text>", escape(&self.vertical));
        for (p, panel) in self.panels.iter().enumerate() {
            let left = LEFT + p as f64 * (wide + GAP);
            let (right, middle) = (left + wide, left + wide / 2.0);
            let _ = write!(
                text,
                "<text class=\"strong\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                TOP - 14.0,
                escape(&panel.title)
            );
            for v in ticks(0.0, high, 5) {
                let at = y(v);
                let _ = write!(text, r#"<path class="grid" d="M{left:.1} {at:.1}H{right:.1}"/>"#);
                let (x, at) = (left - 8.0, at + 4.0);
                let _ = write!(text, r#"<text x="{x:.1}" y="{at:.1}" text-anchor="end">{}</text>"#, number(v));
            }
            for (t, label) in &times {
                let x = left + axis.place(*t) * wide;
                let _ = write!(text, r#"<path class="axis" d="M{x:.1} {BOTTOM}v5"/>"#);
                let at = BOTTOM + 20.0;
                let _ = write!(text, r#"<text x="{x:.1}" y="{at}" text-anchor="middle">{label}</text>"#);
            }
            let _ = write!(
                text,
                "<text class=\"soft\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}{unit}</text>",
                BOTTOM + 40.0,
                escape(&self.horizontal)
            );
            for curve in &panel.curves {
                let at = |p: &(f64, f64)| (left + axis.place(p.0) * wide, y(p.1));
                let seen = thinned(&curve.points, at);
                if seen.is_empty() {
                    continue;
                }
                let end = left + axis.place(curve.end) * wide;
                let _ = write!(
                    text,
                    "<path class=\"curve {}\" d=\"M{}\"><title>{}</title></path>",
                    class(curve.number),
                    path(&stairs(&seen, |p| *p, end)),
                    escape(&curve.name)
                );
            }
            let _ = write!(text, r#"<path class="axis" d="M{left:.1} {BOTTOM}H{right:.1}"/>"#);
        }
        Some(format!(
            "<svg class=\"curves\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">{text}</svg>",
            escape(&self.label)
        ))
    }
}

/// Points in the picture, without those that nobody could tell from the one before.
fn thinned(points: &[(f64, f64)], at: impl Fn(&(f64, f64)) -> (f64, f64)) -> Vec<(f64, f64)> {
    let mut seen: Vec<(f64, f64)> = Vec::new();
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
        let svg = curves(false, vec![(0.0, 5.0), (1.0, 10.0)], 2.0).svg().unwrap();
        let (middle, right) = ((LEFT + WIDTH - RIGHT) / 2.0, WIDTH - RIGHT);
        let half = (TOP + BOTTOM) / 2.0;
        let d = format!("d=\"M{LEFT:.1} {half:.1}L{middle:.1} {half:.1}L{middle:.1} {TOP:.1}L{right:.1} {TOP:.1}\"");
        assert!(svg.contains(&d), "{d} in {svg}");
        assert!(svg.contains("curve c1 again") && svg.contains("a &lt; b") && svg.contains("time, s"));
    }

    #[test]
    fn decades_are_as_wide_as_each_other() {
        let axis = Axis { low: 1e-6, high: 1e-2, logarithmic: true };
        let places = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2].map(|t| axis.place(t));
        for (i, place) in places.iter().enumerate() {
            assert!((place - 0.25 * i as f64).abs() < 1e-9, "{places:?}");
        }
        let labels: Vec<String> = axis.ticks(400.0).0.into_iter().map(|t| t.1).collect();
        assert_eq!(labels, ["1 \u{b5}s", "10 \u{b5}s", "100 \u{b5}s", "1 ms", "10 ms"]);
    }

    #[test]
    fn odd_points() {
        assert!(curves(true, Vec::new(), 1.0).svg().is_none());
        for points in [vec![(0.0, 0.0)], vec![(1e-6, 1.0); 3], vec![(f64::NAN, 1.0), (0.0, f64::INFINITY), (0.0, 1.0)]]
        {
            for logarithmic in [false, true] {
                let svg = curves(logarithmic, points.clone(), 0.0).svg().unwrap();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
        let many: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i), f64::from(i) / 1e4)).collect();
        assert!(curves(false, many, 1e5).svg().unwrap().len() < 100_000);
    }
}
