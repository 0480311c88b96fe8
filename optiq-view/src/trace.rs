//! How a first-order method closes its gap: congestion and bound over time, and the gap between them, as an SVG within a
//! page, whose light or dark colours it follows.
//!
//! Both curves are stairs, as what was found holds until something better is. The gap has a logarithmic axis, as such
//! methods converge linearly; a gap of 0 lies on the axis.

use crate::axis::{number, path, point, stairs, ticks, time_unit};
use std::fmt::Write;

/// Seconds since the start, and the best congestion and the best bound by then, in seconds.
pub type Moment = (f64, f64, f64);

/// More moments than these are thinned out, evenly.
const MAX_MOMENTS: usize = 1000;

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 16.0;
/// Top and bottom of the two charts.
const UPPER: (f64, f64) = (34.0, 224.0);
const LOWER: (f64, f64) = (268.0, 408.0);
const HEIGHT: f64 = 456.0;

/// Decades of the gap's axis, at most; smaller gaps lie on it.
const DECADES: i32 = 4;

/// The chart, or `None` without a moment that can be drawn (times from 0 on, congestion and bound finite, congestion
/// above zero). `goal` is the gap that was asked for (0.01 is 1 %).
pub fn svg(moments: &[Moment], goal: f64) -> Option<String> {
    let drawn =
        |m: &&Moment| m.0.is_finite() && m.0 >= 0.0 && m.1.is_finite() && m.1 > 0.0 && m.2.is_finite() && m.2 >= 0.0;
    let all: Vec<Moment> = moments.iter().filter(drawn).copied().collect();
    let last = *all.last()?;
    let step = all.len().div_ceil(MAX_MOMENTS);
    let mut moments: Vec<Moment> = all.into_iter().step_by(step).collect();
    if moments.last() != Some(&last) {
        moments.push(last);
    }
    let end = moments.iter().map(|m| m.0).fold(0.0, f64::max).max(1e-6);
    let x = |t: f64| LEFT + t / end * (WIDTH - LEFT - RIGHT);
    let mut chart = Chart { text: String::new() };

    // Congestion and bound.
    let high = moments.iter().map(|m| m.1).fold(0.0, f64::max);
    let low = moments.iter().map(|m| m.2).fold(f64::INFINITY, f64::min).min(high);
    // Some air above and below, also where both are the same.
    let air = (0.08 * (high - low)).max(0.01 * high);
    let (low, high) = ((low - air).max(0.0), high + air);
    let y = |v: f64| UPPER.1 - (v - low) / (high - low) * (UPPER.1 - UPPER.0);
    let (factor, unit) = time_unit(high);
    for v in ticks(low * factor, high * factor, 4) {
        chart.level(y(v / factor), &number(v));
    }
    let congestion = stairs(&moments, |m| (x(m.0), y(m.1)), x(end));
    let bound = stairs(&moments, |m| (x(m.0), y(m.2)), x(end));
    let back: Vec<String> = bound.iter().rev().map(point).collect();
    chart.shape("between", &format!("M{}L{}Z", path(&congestion), back.join("L")));
    chart.shape("plan", &format!("M{}", path(&congestion)));
    chart.shape("bound", &format!("M{}", path(&bound)));
    chart.words("start", LEFT, 14.0, &format!("congestion of the plan, and the bound on every routing, {unit}"));
    chart.key("plan", WIDTH - 300.0, "congestion");
    chart.key("bound", WIDTH - 150.0, "bound");

    // The gap.
    let gap = |m: &Moment| if m.2 > 0.0 { (m.1 / m.2 - 1.0).max(0.0) } else { f64::INFINITY };
    let finite = || moments.iter().map(gap).filter(|g| g.is_finite());
    let most = finite().fold(goal, f64::max).max(1e-9).log10().ceil() as i32;
    let least = finite().filter(|&g| g > 0.0).fold(goal, f64::min).max(1e-9).log10().floor() as i32;
    let least = least.clamp(most - DECADES, most - 1);
    let y = |g: f64| {
        let place = (g.max(1e-12).log10() - f64::from(least)) / f64::from(most - least);
        LOWER.1 - place.clamp(0.0, 1.0) * (LOWER.1 - LOWER.0)
    };
    for decade in least..=most {
        let g = 10f64.powi(decade);
        chart.level(y(g), &format!("{} %", number(g * 100.0)));
    }
    let goal_at = y(goal);
    chart.shape("goal", &format!("M{LEFT} {goal_at:.1}L{} {goal_at:.1}", WIDTH - RIGHT));
    chart.words("end", WIDTH - RIGHT - 4.0, goal_at - 5.0, &format!("asked for: {} %", number(goal * 100.0)));
    let proved: Vec<Moment> = moments.iter().filter(|m| m.2 > 0.0).copied().collect();
    if !proved.is_empty() {
        chart.shape("plan", &format!("M{}", path(&stairs(&proved, |m| (x(m.0), y(gap(m))), x(end)))));
    }
    chart.words("start", LEFT, LOWER.0 - 18.0, "proved gap");

    for t in ticks(0.0, end, 8) {
        let at = x(t);
        let _ = write!(
            chart.text,
            r#"<line class="tick" x1="{at:.1}" x2="{at:.1}" y1="{}" y2="{}"/>"#,
            LOWER.1,
            LOWER.1 + 5.0
        );
        chart.words("middle", at, LOWER.1 + 20.0, &number(t));
    }
    chart.words("middle", (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8.0, "seconds since the start");
    let sentence = format!(
        "From {} to {} seconds the gap falls to {} %.",
        number(moments[0].0),
        number(last.0),
        if last.2 > 0.0 { number(gap(&last) * 100.0) } else { "unknown".into() }
    );
    Some(format!(
        "<svg class=\"trace\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{sentence}\">\
         <style>{STYLE}</style>{}</svg>",
        chart.text
    ))
}

/// Colours of the page, or of their own where the chart stands alone.
const STYLE: &str = "\
.trace text{font:12px system-ui,sans-serif;fill:var(--ink,#1b1f24)}\
.trace path{fill:none;stroke-width:2;stroke-linejoin:round}\
.trace .plan{stroke:var(--plan,#0067a8)}\
.trace .bound{stroke:var(--direct,#c04a00);stroke-dasharray:6 3}\
.trace .between{fill:var(--plan,#0067a8);fill-opacity:.1;stroke:none}\
.trace .goal{stroke:var(--ink,#1b1f24);stroke-width:1;stroke-dasharray:3 3}\
.trace .grid{stroke:var(--edge,#d9dde3)}\
.trace .tick{stroke:var(--soft,#59636e)}";

/// SVG in the making. Writing to a string does not fail.
struct Chart {
    text: String,
}

impl Chart {
    fn shape(&mut self, class: &str, path: &str) {
        let _ = write!(self.text, r#"<path class="{class}" d="{path}"/>"#);
    }

    fn words(&mut self, anchor: &str, x: f64, y: f64, words: &str) {
        let _ = write!(self.text, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{words}</text>"#);
    }

    /// A line across with its value.
    fn level(&mut self, y: f64, label: &str) {
        let _ = write!(self.text, r#"<line class="grid" x1="{LEFT}" x2="{}" y1="{y:.1}" y2="{y:.1}"/>"#, WIDTH - RIGHT);
        self.words("end", LEFT - 8.0, y + 4.0, label);
    }

    /// A sample of a line with its name.
    fn key(&mut self, class: &str, x: f64, name: &str) {
        self.shape(class, &format!("M{x} 10L{} 10", x + 30.0));
        self.words("start", x + 38.0, 14.0, name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_where_they_belong() {
        // 2 ms above a bound of 1 ms at 0 s, equal to it at 1 s: gaps 100 % and 0.
        let chart = svg(&[(0.0, 2e-3, 1e-3), (1.0, 1e-3, 1e-3)], 0.01).unwrap();
        // Air of 8 % of 1 ms: the axis runs from 0.92 to 2.08 ms; 2 ms lies 0.08 / 1.16 below its top.
        let y = 34.0 + 190.0 * 0.08 / 1.16;
        assert!(chart.contains(&format!(r#"<path class="plan" d="M78.0 {y:.1}L984.0 {y:.1}L984.0 "#)), "{chart}");
        // 100 % at the top of the lower chart, 0 on its axis; the goal, 1 %, is the axis here.
        assert!(chart.contains(r#"<path class="plan" d="M78.0 268.0L984.0 268.0L984.0 408.0"#), "{chart}");
        assert!(chart.contains("the gap falls to 0 %."), "{chart}");
        assert!(!chart.contains("NaN") && !chart.contains("inf") && !chart.contains("http"));
    }

    #[test]
    fn odd_traces() {
        assert_eq!(svg(&[], 0.01), None);
        assert_eq!(svg(&[(f64::NAN, 1.0, 1.0), (0.0, 0.0, 0.0), (1.0, f64::INFINITY, 1.0)], 0.01), None);
        for trace in [vec![(0.0, 1.0, 0.0)], vec![(0.0, 1.0, 1.0)], vec![(5.0, 1e-9, 1e-12), (5.0, 1e-9, 9e-10)]] {
            let chart = svg(&trace, 0.01).unwrap();
            assert!(!chart.contains("NaN") && !chart.contains("inf"), "{chart}");
        }
        let long: Vec<Moment> = (0..100_000).map(|i| (f64::from(i), 2.0 - f64::from(i) * 1e-5, 1.0)).collect();
        assert!(svg(&long, 0.01).unwrap().len() < 200_000);
    }
}
