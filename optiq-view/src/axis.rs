//! The one axis of all charts: where a value lies, at which values it has ticks, and how they are written.
//!
//! A linear axis maps `v` to `from + (v - low) / (high - low) (to - from)`, a logarithmic one to
//! `from + ln(v / low) / ln(high / low) (to - from)`, so that equal ratios are equally long. Values beyond an end lie on it.

use crate::table;

/// A labelled place on an axis.
pub type Tick = (f64, String);

/// How values are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Linear,
    Logarithmic,
}

/// An axis from `low` at the place `from` to `high` at the place `to`, in the units of the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    scale: Scale,
}

impl Axis {
    /// A linear axis; `low` is below `high`.
    pub fn linear((low, high): (f64, f64), (from, to): (f64, f64)) -> Self {
        Axis { low, high, from, to, scale: Scale::Linear }
    }

    /// A logarithmic axis; `low` is above zero and below `high`.
    pub fn logarithmic((low, high): (f64, f64), (from, to): (f64, f64)) -> Self {
        Axis { low, high, from, to, scale: Scale::Logarithmic }
    }

    /// The same axis at another place.
    pub fn between(self, from: f64, to: f64) -> Self {
        Axis { from, to, ..self }
    }

    /// The values at its ends.
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Where a value lies.
    pub fn at(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// About `count` round values: multiples of 1, 2 or 5 times a power of ten. On a logarithmic axis 1, 2 and 5 times each
    /// power of ten if at most `count` of them lie on the axis, and the powers of ten otherwise.
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        match self.scale {
            Scale::Linear => round_values(self.low, self.high, count),
            Scale::Logarithmic => {
                let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
                let steps = |steps: &'static [f64]| -> Vec<f64> {
                    let all = decades.clone().flat_map(|d| steps.iter().map(move |s| s * 10f64.powi(d)));
                    all.filter(|&v| v >= self.low && v <= self.high).collect()
                };
                let fine = steps(&[1.0, 2.0, 5.0]);
                if fine.len() <= count { fine } else { steps(&[1.0]) }
            }
        }
    }

    /// Whole powers of `base` on a logarithmic axis, thinned out to about a dozen.
    pub fn powers(&self, base: f64) -> Vec<f64> {
        let power = |v: f64| v.ln() / base.ln();
        let (first, last) = ((power(self.low) - 1e-9).ceil() as i32, (power(self.high) + 1e-9).floor() as i32);
        let every = ((last - first) / 12 + 1).max(1) as usize;
        (first..=last).step_by(every).map(|n| base.powi(n)).collect()
    }

    /// About `count` ticks of a linear axis of bytes, labelled in the unit that people are shown: round values in it, so multiples
    /// of a power of two where sizes have binary units.
    pub fn byte_ticks(&self, count: usize) -> Vec<Tick> {
        let values = match table::has_binary_units() {
            true => self.multiples_of_a_power_of_two(count),
            false => round_values(self.low, self.high, count),
        };
        values.into_iter().map(|v| (v, table::short_bytes(v))).collect()
    }

    fn multiples_of_a_power_of_two(&self, count: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / count as f64;
        if !(rough.is_finite() && rough > 0.0) {
            return Vec::new();
        }
        let step = 2f64.powi(rough.log2().ceil() as i32).max(1.0);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|i| i as f64 * step).take_while(|&v| v <= self.high).take(4 * count).collect()
    }

    /// About `count` ticks of a linear axis of seconds, in the unit that suits a length of `span` seconds.
    pub fn time_ticks_of(&self, span: f64, count: usize) -> (Vec<Tick>, &'static str) {
        let (factor, unit) = time_unit(span);
        let values = round_values(self.low * factor, self.high * factor, count);
        (values.into_iter().map(|v| (v / factor, number(v))).collect(), unit)
    }

    /// About `count` ticks of an axis of seconds, and the unit of all labels; on a logarithmic axis each label has its own,
    /// and none is returned.
    pub fn time_ticks(&self, count: usize) -> (Vec<Tick>, Option<&'static str>) {
        match self.scale {
            Scale::Linear => {
                let (ticks, unit) = self.time_ticks_of(self.high, count);
                (ticks, Some(unit))
            }
            Scale::Logarithmic => {
                let label = |t: f64| {
                    // A little more, as 1e-3 may be a little less than that.
                    let (factor, unit) = time_unit(t * 1.000_001);
                    (t, format!("{} {unit}", number(t * factor)))
                };
                (self.ticks(count).into_iter().map(label).collect(), None)
            }
        }
    }

    /// About `count` ticks, labelled by their values.
    pub fn number_ticks(&self, count: usize) -> Vec<Tick> {
        self.ticks(count).into_iter().map(|v| (v, number(v))).collect()
    }
}

/// About `count` round values from `low` to `high`: multiples of 1, 2 or 5 times a power of ten.
fn round_values(low: f64, high: f64, count: usize) -> Vec<f64> {
    let rough = (high - low) / count as f64;
    if !(rough.is_finite() && rough > 0.0) {
        return Vec::new();
    }
    let power = 10f64.powi(rough.log10().floor() as i32);
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|&s| s >= rough).unwrap_or(10.0 * power);
    let first = (low / step).ceil() as i64;
    (first..).map(|i| i as f64 * step).take_while(|&t| t <= high + 1e-9 * step).take(4 * count).collect()
}

/// At most three significant digits, without zeros at the end: `0.5`, `12.3`, `1000`.
pub fn number(v: f64) -> String {
    let decimals = if v == 0.0 { 0 } else { (2 - v.abs().log10().floor() as i32).clamp(0, 9) as usize };
    let text = format!("{v:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// The unit in which a time, in seconds, is best read, and how many of them a second has.
fn time_unit(seconds: f64) -> (f64, &'static str) {
    match seconds {
        s if s < 1e-3 => (1e6, "\u{b5}s"),
        s if s < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers() {
        assert_eq!(round_values(0.0, 1.0, 4), [0.0, 0.5, 1.0]);
        assert_eq!(round_values(9.3, 12.1, 4), [10.0, 11.0, 12.0]);
        assert!(round_values(1.0, 1.0, 4).is_empty() && round_values(0.0, f64::NAN, 4).is_empty());
        assert_eq!(
            ["0", "0.5", "12.3", "1000", "0.01"],
            [0.0, 0.5, 12.34, 1000.0, 0.01].map(number).each_ref().map(String::as_str)
        );
    }

    #[test]
    fn decades_are_as_wide_as_each_other() {
        let axis = Axis::logarithmic((1e-6, 1e-2), (0.0, 1.0));
        let places = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2].map(|t| axis.at(t));
        for (i, place) in places.iter().enumerate() {
            assert!((place - 0.25 * i as f64).abs() < 1e-9, "{places:?}");
        }
        let labels: Vec<String> = axis.time_ticks(6).0.into_iter().map(|t| t.1).collect();
        assert_eq!(labels, ["1 \u{b5}s", "10 \u{b5}s", "100 \u{b5}s", "1 ms", "10 ms"]);
    }

    #[test]
    fn values_lie_between_the_ends() {
        let axis = Axis::linear((0.0, 10.0), (200.0, 100.0));
        assert_eq!([-1.0, 0.0, 5.0, 10.0, 99.0].map(|v| axis.at(v)), [200.0, 200.0, 150.0, 100.0, 100.0]);
        assert_eq!(axis.between(0.0, 1.0).at(2.5), 0.25);
        // In milliseconds, whatever the axis counts in.
        let (ticks, unit) = Axis::linear((0.0, 0.02), (0.0, 1.0)).time_ticks(2);
        assert_eq!((ticks.len(), ticks[1].1.as_str(), unit), (3, "10", Some("ms")));
    }

    #[test]
    fn powers_of_two_are_thinned_out() {
        let bytes = Axis::linear((0.0, 5.0 * 1024.0), (0.0, 1.0));
        assert_eq!(bytes.multiples_of_a_power_of_two(8), [0.0, 1024.0, 2048.0, 3072.0, 4096.0, 5120.0]);
        let axis = Axis::logarithmic((0.4, 9.0), (0.0, 1.0));
        assert_eq!(axis.powers(2.0), [0.5, 1.0, 2.0, 4.0, 8.0]);
        assert!(Axis::logarithmic((1.0, 1e12), (0.0, 1.0)).powers(2.0).len() <= 14);
    }
}
