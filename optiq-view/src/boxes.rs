//! Box plots, one below the other on one axis of times, as an SVG within a page that needs no script.
//!
//! A box goes from the lower to the upper quartile, with a thick line at the median and a dot at the mean; whiskers go to the
//! smallest and the largest value, and the small line across the upper one is at 99 %.

use crate::axis::Axis;
use crate::colours::SERIES;
use crate::svg::{Anchor, Drawing, shortened};
use crate::table;
use maud::Markup;
use std::fmt::Write;

const WIDTH: f64 = 1180.0;
const ROW: f64 = 34.0;
const BOX: f64 = 18.0;
const TOP: f64 = 10.0;
const RIGHT: f64 = 24.0;
const CHARACTER: f64 = 6.8;
/// Of a label: the longest one has its room, but boxes have half of the picture. What is left out, who points at the box sees.
const MOST_CHARACTERS: usize = ((WIDTH / 2.0 - BESIDE_LABELS) / CHARACTER) as usize;
/// Before and behind labels, together.
const BESIDE_LABELS: f64 = 16.0;
/// Beyond this ratio of the largest value to the smallest lower quartile the axis is logarithmic.
const WIDE: f64 = 20.0;

/// One box; all in seconds.
pub struct TimeBox {
    /// What stands before it.
    pub name: String,
    /// Which colour it has, of those of [`crate::curves`].
    pub number: usize,
    /// The smallest value.
    pub minimum: f64,
    /// The lower quartile, the median and the upper one.
    pub quartiles: [f64; 3],
    /// 99 % are below.
    pub p99: f64,
    /// The largest value.
    pub maximum: f64,
    /// The mean.
    pub mean: f64,
}

/// Boxes on one axis.
pub struct Boxes {
    /// A sentence that stands in for the picture where there is none.
    pub label: String,
    /// What the axis shows, without its unit.
    pub horizontal: String,
    /// From above.
    pub boxes: Vec<TimeBox>,
}

/// What boxes look like, for the page's style sheet, which has the colours of [`crate::curves::style`].
pub fn style() -> String {
    let mut text = String::from(
        ".boxes { display: block; width: 100%; height: auto; }\n\
         .box { stroke-width: 1.5; print-color-adjust: exact; -webkit-print-color-adjust: exact; }\n\
         .whisker { stroke: var(--ink); stroke-width: 1.2; }\n\
         .median { stroke: var(--ink); stroke-width: 3; }\n\
         .mean { fill: var(--paper); stroke: var(--ink); stroke-width: 1.5; }\n",
    );
    for i in 0..SERIES.len() {
        // Writing to a string does not fail.
        let _ = writeln!(text, ".x{i} {{ fill: var(--c{i}); stroke: var(--c{i}); }}");
    }
    text
}

impl TimeBox {
    fn values(&self) -> [f64; 7] {
        let [low, median, high] = self.quartiles;
        [self.minimum, low, median, high, self.p99, self.maximum, self.mean]
    }

    fn is_drawable(&self) -> bool {
        self.values().into_iter().all(|v| v.is_finite() && v >= 0.0)
    }

    fn tip(&self) -> String {
        let [low, median, high] = self.quartiles.map(table::seconds);
        let [least, p99, most, mean] = [self.minimum, self.p99, self.maximum, self.mean].map(table::seconds);
        format!("{}: mean {mean}, quartiles {low}, {median}, {high}, 99 % {p99}, from {least} to {most}", self.name)
    }

    fn draw(&self, drawing: &mut Drawing, x: &Axis, top: f64) {
        let (upper, middle, lower) = (top + (ROW - BOX) / 2.0, top + ROW / 2.0, top + (ROW + BOX) / 2.0);
        let name = shortened(&self.name, MOST_CHARACTERS);
        drawing.words("", Anchor::End, (x.at(x.ends().0) - BESIDE_LABELS / 2.0, middle + 4.0), &name);
        let [low, median, high] = self.quartiles.map(|v| x.at(v));
        let [least, p99, most, mean] = [self.minimum, self.p99, self.maximum, self.mean].map(|v| x.at(v));
        drawing.line("whisker", (least, middle), (low, middle));
        drawing.line("whisker", (high, middle), (most, middle));
        for (at, half) in [(least, 6.0), (p99, 3.0), (most, 6.0)] {
            drawing.line("whisker", (at, middle - half), (at, middle + half));
        }
        let class = format!("box x{}", self.number % SERIES.len());
        // Where all values are alike there is still something to see.
        drawing.rect(&class, (low - 1.0, upper), (high - low + 2.0, BOX), Some(&self.tip()));
        drawing.line("median", (median, upper - 4.0), (median, lower + 4.0));
        drawing.circle("mean", (mean, middle), Some(&self.tip()));
    }
}

impl Boxes {
    /// The picture, or `None` if there is no box to be drawn.
    pub fn svg(&self) -> Option<Markup> {
        let boxes: Vec<&TimeBox> = self.boxes.iter().filter(|b| b.is_drawable()).collect();
        let high = boxes.iter().flat_map(|b| b.values()).fold(0.0, f64::max);
        if high <= 0.0 {
            return None;
        }
        let longest = boxes.iter().map(|b| b.name.chars().count().min(MOST_CHARACTERS)).max().unwrap_or(0);
        let (left, right) = (longest as f64 * CHARACTER + BESIDE_LABELS, WIDTH - RIGHT);
        let least = boxes.iter().flat_map(|b| b.values()).fold(f64::INFINITY, f64::min);
        let quartile = boxes.iter().map(|b| b.quartiles[0]).fold(f64::INFINITY, f64::min);
        let x = match least > 0.0 && high > WIDE * quartile {
            true => Axis::logarithmic((least / 1.1, high * 1.1), (left, right)),
            false => Axis::linear((0.0, high * 1.03), (left, right)),
        };
        let bottom = TOP + boxes.len() as f64 * ROW;
        let mut drawing = Drawing::default();
        let (ticks, unit) = x.time_ticks(10);
        for (value, _) in &ticks {
            drawing.line("grid", (x.at(*value), TOP - 4.0), (x.at(*value), bottom));
        }
        drawing.ticks(&x, &ticks, bottom, f64::INFINITY);
        let what = unit.map_or_else(|| self.horizontal.clone(), |unit| format!("{}, {unit}", self.horizontal));
        drawing.words("soft", Anchor::Middle, ((left + right) / 2.0, bottom + 40.0), &what);
        for (i, b) in boxes.iter().enumerate() {
            b.draw(&mut drawing, &x, TOP + i as f64 * ROW);
        }
        Some(drawing.finish("boxes", (WIDTH, bottom + 48.0), &self.label))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn boxes(values: [f64; 7]) -> Boxes {
        let [minimum, low, median, high, p99, maximum, mean] = values;
        let quartiles = [low, median, high];
        let one = TimeBox { name: "<a>".into(), number: 8, minimum, quartiles, p99, maximum, mean };
        Boxes { label: "l".into(), horizontal: "time".into(), boxes: vec![one] }
    }

    #[test]
    fn a_box_lies_between_its_quartiles() {
        let svg = boxes([1.0, 2.0, 3.0, 5.0, 9.0, 10.0, 4.0]).svg().unwrap().into_string();
        let (left, right) = (3.0 * CHARACTER + 16.0, WIDTH - RIGHT);
        let at = |v: f64| left + v / 10.3 * (right - left);
        let expected =
            format!("class=\"box x1\" x=\"{:.1}\" y=\"18.0\" width=\"{:.1}\"", at(2.0) - 1.0, at(5.0) - at(2.0) + 2.0);
        assert!(svg.contains(&expected), "{expected} {svg}");
        assert!(svg.contains(&format!("class=\"median\" x1=\"{:.1}\"", at(3.0))) && svg.contains("time, s"), "{svg}");
        assert!(svg.contains("&lt;a&gt;") && !svg.contains("<a>"));
    }

    #[test]
    fn the_longest_label_has_its_room() {
        let named = |name: &str| {
            let mut boxes = boxes([1.0; 7]);
            boxes.boxes[0].name = name.into();
            boxes.svg().unwrap().into_string()
        };
        let label = "solver: OPTIQ's plan beside the measured load of the others";
        let (svg, left) = (named(label), label.len() as f64 * CHARACTER + BESIDE_LABELS);
        assert!(svg.contains(&format!(">{label}</text>")), "{svg}");
        assert!(svg.contains(&format!("x=\"{:.1}\"", left - BESIDE_LABELS / 2.0)), "{svg}");
        // Half of the picture is for boxes: the rest of a longer one is in the box's title.
        let long = "m".repeat(200);
        let svg = named(&long);
        assert!(svg.contains(&format!(">{}\u{2026}</text>", &long[..MOST_CHARACTERS - 1])), "{svg}");
        assert!(svg.contains(&format!("<title>{long}: mean")), "{svg}");
        assert!((80..100).contains(&MOST_CHARACTERS));
    }

    #[test]
    fn odd_values() {
        assert!(boxes([f64::NAN; 7]).svg().is_none() && boxes([0.0; 7]).svg().is_none());
        // A long tail is shown on a logarithmic axis, which has no zero; an exact zero makes it linear.
        let logarithmic = boxes([1e-6, 1e-6, 1e-6, 1e-6, 1e-3, 1e-3, 1e-5]).svg().unwrap().into_string();
        assert!(logarithmic.contains("1 ms") && !logarithmic.contains("time, "), "{logarithmic}");
        assert!(boxes([0.0, 1e-6, 1e-6, 1e-6, 1e-3, 1e-3, 1e-5]).svg().unwrap().into_string().contains("time, "));
    }
}
