//! How a planner closes its gap: congestion and bound over time, and the proved gap between them.
//!
//! Both curves are stairs, as what was found holds until something better is. The gap has a logarithmic axis, as first-order
//! methods converge linearly; a gap of 0 lies on the axis.

use crate::axis::{Axis, Tick, number};
use crate::svg::{Anchor, Drawing, stairs, through};
use maud::Markup;

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

/// Curves whose congestion and bound change by less than this part of them are flat.
const VISIBLE: f64 = 0.01;

/// The chart, or `None` where it would show nothing: without a moment that can be drawn (times from 0 on, congestion and
/// bound finite, congestion above zero), or with curves that are flat, or that lie in a corner because all moments are at the end.
/// `goal` is the gap that was asked for (0.01 is 1 %).
pub fn chart(moments: &[Moment], goal: f64) -> Option<Markup> {
    let moments = thinned(moments).filter(|moments| closes(moments, goal))?;
    let (first, last) = (*moments.first()?, *moments.last()?);
    let end = moments.iter().map(|m| m.0).fold(0.0, f64::max).max(1e-6);
    let x = Axis::linear((0.0, end), (LEFT, WIDTH - RIGHT));
    let mut drawing = Drawing::default();
    congestion_and_bound(&mut drawing, &moments, &x, end);
    proved_gap(&mut drawing, &moments, &x, end, goal);
    drawing.ticks(&x, &x.number_ticks(8), LOWER.1, f64::INFINITY);
    drawing.words("", Anchor::Middle, ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8.0), "seconds since the start");
    let sentence = format!(
        "From {} to {} seconds the gap falls to {} %.",
        number(first.0),
        number(last.0),
        if last.2 > 0.0 { number(gap(&last) * 100.0) } else { "unknown".into() }
    );
    Some(drawing.finish("gap", (WIDTH, HEIGHT), &sentence))
}

/// The style sheet of the chart.
pub const STYLE: &str = "\
.gap path { fill: none; stroke-width: 2; stroke-linejoin: round; }
.gap .plan { stroke: var(--plan); }
.gap .bound { stroke: var(--direct); stroke-dasharray: 6 3; }
.gap .between { fill: var(--plan); fill-opacity: .1; stroke: none; }
.gap .goal { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 3 3; }
";

/// The moments that can be drawn, evenly thinned out, with the last one.
fn thinned(moments: &[Moment]) -> Option<Vec<Moment>> {
    let drawn =
        |m: &&Moment| m.0.is_finite() && m.0 >= 0.0 && m.1.is_finite() && m.1 > 0.0 && m.2.is_finite() && m.2 >= 0.0;
    let all: Vec<Moment> = moments.iter().filter(drawn).copied().collect();
    let last = *all.last()?;
    let step = all.len().div_ceil(MAX_MOMENTS);
    let mut thinned: Vec<Moment> = all.into_iter().step_by(step).collect();
    if thinned.last() != Some(&last) {
        thinned.push(last);
    }
    Some(thinned)
}

/// The moments of a chart take at least this part of its axis of time.
const SPAN: f64 = 0.05;
/// Planning that is done within this time, in seconds, needs no chart of how it went.
const SHORT: f64 = 0.1;

/// Whether something is to be seen: the gap was not as small as asked for from the beginning, and a curve rises or falls.
fn closes(moments: &[Moment], goal: f64) -> bool {
    let (first, last) = moments.iter().fold((f64::INFINITY, 0.0f64), |(a, b), m| (a.min(m.0), b.max(m.0)));
    if last < SHORT || last - first < SPAN * last {
        return false;
    }
    let range = |of: fn(&Moment) -> f64| {
        let (low, high) =
            moments.iter().map(of).fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
        high - low
    };
    let high = moments.iter().map(|m| m.1).fold(0.0, f64::max);
    moments.iter().any(|m| gap(m) > goal) && range(|m| m.1).max(range(|m| m.2)) > VISIBLE * high
}

/// The upper chart.
fn congestion_and_bound(drawing: &mut Drawing, moments: &[Moment], x: &Axis, end: f64) {
    let high = moments.iter().map(|m| m.1).fold(0.0, f64::max);
    let low = moments.iter().map(|m| m.2).fold(f64::INFINITY, f64::min).min(high);
    // Some air above and below, also where both are the same.
    let air = (0.08 * (high - low)).max(0.01 * high);
    let (low, high) = ((low - air).max(0.0), high + air);
    let y = Axis::linear((low, high), (UPPER.1, UPPER.0));
    let (levels, unit) = y.time_ticks_of(high, 4);
    drawing.levels(&y, &levels, (LEFT, WIDTH - RIGHT));
    let congestion = stairs(moments, |m| (x.at(m.0), y.at(m.1)), x.at(end));
    let bound = stairs(moments, |m| (x.at(m.0), y.at(m.2)), x.at(end));
    let between = format!("M{}L{}Z", through(&congestion), through(bound.iter().rev()));
    drawing.path("between", &between, None);
    drawing.path("plan", &format!("M{}", through(&congestion)), None);
    drawing.path("bound", &format!("M{}", through(&bound)), None);
    let what = format!("congestion of the plan, and the bound on every routing, {unit}");
    drawing.words("", Anchor::Start, (LEFT, 14.0), &what);
    key(drawing, "plan", WIDTH - 300.0, "congestion");
    key(drawing, "bound", WIDTH - 150.0, "bound");
}

/// The lower chart.
fn proved_gap(drawing: &mut Drawing, moments: &[Moment], x: &Axis, end: f64, goal: f64) {
    let finite = || moments.iter().map(gap).filter(|g| g.is_finite());
    let most = finite().fold(goal, f64::max).max(1e-9).log10().ceil() as i32;
    let least = finite().filter(|&g| g > 0.0).fold(goal, f64::min).max(1e-9).log10().floor() as i32;
    let least = least.clamp(most - DECADES, most - 1);
    let y = Axis::logarithmic((10f64.powi(least), 10f64.powi(most)), (LOWER.1, LOWER.0));
    let level = |decade: i32| (10f64.powi(decade), format!("{} %", number(10f64.powi(decade) * 100.0)));
    let levels: Vec<Tick> = (least..=most).map(level).collect();
    drawing.levels(&y, &levels, (LEFT, WIDTH - RIGHT));
    let goal_at = y.at(goal);
    drawing.line("goal", (LEFT, goal_at), (WIDTH - RIGHT, goal_at));
    let asked = format!("asked for: {} %", number(goal * 100.0));
    drawing.words("", Anchor::End, (WIDTH - RIGHT - 4.0, goal_at - 5.0), &asked);
    let proved: Vec<Moment> = moments.iter().filter(|m| m.2 > 0.0).copied().collect();
    if !proved.is_empty() {
        let corners = stairs(&proved, |m| (x.at(m.0), y.at(gap(m))), x.at(end));
        drawing.path("plan", &format!("M{}", through(&corners)), None);
    }
    drawing.words("", Anchor::Start, (LEFT, LOWER.0 - 18.0), "proved gap");
}

/// How far the congestion may lie above the optimum; infinite without a bound.
fn gap(m: &Moment) -> f64 {
    if m.2 > 0.0 { (m.1 / m.2 - 1.0).max(0.0) } else { f64::INFINITY }
}

/// A sample of a line with its name.
fn key(drawing: &mut Drawing, class: &str, x: f64, name: &str) {
    drawing.path(class, &format!("M{x} 10L{} 10", x + 30.0), None);
    drawing.words("", Anchor::Start, (x + 38.0, 14.0), name);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart_text(moments: &[Moment], goal: f64) -> Option<String> {
        chart(moments, goal).map(Markup::into_string)
    }

    #[test]
    fn points_lie_where_they_belong() {
        // 2 ms above a bound of 1 ms at 0 s, equal to it at 1 s: gaps 100 % and 0.
        let chart = chart_text(&[(0.0, 2e-3, 1e-3), (1.0, 1e-3, 1e-3)], 0.01).unwrap();
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
        assert_eq!(chart_text(&[], 0.01), None);
        assert_eq!(chart_text(&[(f64::NAN, 1.0, 1.0), (0.0, 0.0, 0.0), (1.0, f64::INFINITY, 1.0)], 0.01), None);
        // A gap that closes at once, or that is small already, is no news.
        for flat in [
            vec![(0.0, 1.0, 1.0)],
            vec![(0.0, 1.0, 0.9), (1.0, 0.999, 0.9)],
            vec![(0.0, 1.0, 0.995), (1.0, 0.9, 0.9)],
            vec![(0.97, 2.0, 1.0), (1.0, 1.0, 1.0)],
            vec![(0.0, 2.0, 1.0), (0.05, 1.0, 1.0)],
        ] {
            assert_eq!(chart_text(&flat, 0.01), None, "{flat:?}");
        }
        for trace in [vec![(0.0, 1.0, 0.0), (1.0, 1.0, 0.5)], vec![(4.0, 1e-9, 1e-12), (5.0, 1e-9, 9e-10)]] {
            let chart = chart_text(&trace, 0.01).unwrap();
            assert!(!chart.contains("NaN") && !chart.contains("inf"), "{chart}");
        }
        let long: Vec<Moment> = (0..100_000).map(|i| (f64::from(i), 2.0 - f64::from(i) * 1e-5, 1.0)).collect();
        assert!(chart_text(&long, 0.01).unwrap().len() < 200_000);
    }
}
