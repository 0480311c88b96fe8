//! Ticks of axes, numbers beside them, and curves of steps.

/// The corners of stairs through `at` of every moment, to `end` on the right.
pub fn stairs<T>(moments: &[T], at: impl Fn(&T) -> (f64, f64), end: f64) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::with_capacity(2 * moments.len() + 1);
    for m in moments {
        let (x, y) = at(m);
        if let Some(&(_, before)) = corners.last() {
            corners.push((x, before));
        }
        corners.push((x, y));
    }
    if let Some(&(_, y)) = corners.last() {
        corners.push((end, y));
    }
    corners
}

/// A corner as a path has it.
pub fn point(p: &(f64, f64)) -> String {
    format!("{:.1} {:.1}", p.0, p.1)
}

/// Corners as a path has them, after its first `M`.
pub fn path(corners: &[(f64, f64)]) -> String {
    corners.iter().map(point).collect::<Vec<_>>().join("L")
}

/// About `count` round numbers from `low` to `high`: multiples of 1, 2 or 5 times a power of ten.
pub fn ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
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
pub fn time_unit(seconds: f64) -> (f64, &'static str) {
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
    fn stairs_hold_until_the_next_step() {
        let corners = stairs(&[(0.0, 3.0, 1.0), (1.0, 2.0, 1.0)], |m| (m.0, m.1), 4.0);
        assert_eq!(corners, [(0.0, 3.0), (1.0, 3.0), (1.0, 2.0), (4.0, 2.0)]);
    }

    #[test]
    fn round_numbers() {
        assert_eq!(ticks(0.0, 1.0, 4), [0.0, 0.5, 1.0]);
        assert_eq!(ticks(9.3, 12.1, 4), [10.0, 11.0, 12.0]);
        assert!(ticks(1.0, 1.0, 4).is_empty() && ticks(0.0, f64::NAN, 4).is_empty());
        assert_eq!(
            ["0", "0.5", "12.3", "1000", "0.01"],
            [0.0, 0.5, 12.34, 1000.0, 0.01].map(number).each_ref().map(String::as_str)
        );
    }
}
