//! Medians, quantiles and confidence intervals of a sample.
//!
//! With `x_(1) <= ... <= x_(n)` the sorted sample:
//!
//! ```text
//!     quantile(q)  =  x_(h) + (h - floor h) (x_(h+1) - x_(h)),   h = floor of 1 + (n - 1) q
//!     P(x_(i) <= median < x_(n+1-i))  >=  1 - 2 sum_{k<i} C(n, k) / 2^n
//! ```
//!
//! The first line is type 7 of R. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50,
//! 1996: linear between the two neighbours, as numpy and R do by default. The second is the distribution-free interval of the
//! median by order statistics (H. David and H. Nagaraja, "Order Statistics", 3rd edition, section 7.1). Times on a shared
//! machine have long tails, so nothing here assumes a normal distribution, except [`mean_interval`], which is for samples that
//! are means of many.

/// What a sample is summed up as; all in the unit of the sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many values.
    pub count: usize,
    /// The smallest value.
    pub minimum: f64,
    /// A quarter of the values are below.
    pub first_quartile: f64,
    /// Half of the values are below.
    pub median: f64,
    /// Three quarters of the values are below.
    pub third_quartile: f64,
    /// The largest value.
    pub maximum: f64,
    /// The arithmetic mean.
    pub mean: f64,
}

impl Summary {
    /// Of at least one value; `None` of an empty sample, or if a value is not a number.
    pub fn of(values: &[f64]) -> Option<Summary> {
        let sorted = sorted(values)?;
        Some(Summary {
            count: sorted.len(),
            minimum: sorted[0],
            first_quartile: at(&sorted, 0.25),
            median: at(&sorted, 0.5),
            third_quartile: at(&sorted, 0.75),
            maximum: sorted[sorted.len() - 1],
            mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
        })
    }
}

/// An interval that covers the true value with the asked confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|v| v.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

/// The quantile of a sorted sample that is not empty.
fn at(sorted: &[f64], q: f64) -> f64 {
    let position = (sorted.len() - 1) as f64 * q.clamp(0.0, 1.0);
    let (below, part) = (position.floor(), position.fract());
    let low = sorted[below as usize];
    // An infinite neighbour must not turn an exact hit into NaN.
    if part == 0.0 { low } else { low + part * (sorted[below as usize + 1] - low) }
}

/// The `q`-quantile, `q` from 0 to 1; `None` of an empty sample, or if a value is not a number.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    Some(at(&sorted(values)?, q))
}

/// The middle value, or the mean of the two middle ones; `None` of an empty sample, or if a value is not a number.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The arithmetic mean; `None` of an empty sample.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The `n`-th root of the product of `n` values; `None` of an empty sample, or if a value is not above zero.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let positive = !values.is_empty() && values.iter().all(|&v| v > 0.0);
    positive.then(|| (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// The narrowest interval between two order statistics of the same rank from either end that covers the median with at least
/// this confidence, whatever the distribution; `None` where the sample is too small for that (at 95 %, below six values), or a
/// value is not a number.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let sorted = sorted(values)?;
    let n = sorted.len();
    // P(fewer than i values are below the median), i = 1, 2, ...; in logarithms, as 2^-n underflows from 1,075 values on.
    let mut term = -(n as f64) * std::f64::consts::LN_2;
    let (mut tail, mut found) = (term.exp(), None);
    for i in 1..=n.div_ceil(2) {
        if 1.0 - 2.0 * tail < confidence {
            break;
        }
        found = Some(Interval { low: sorted[i - 1], high: sorted[n - i] });
        term += ((n - i + 1) as f64 / i as f64).ln();
        tail += term.exp();
    }
    found
}

/// The interval of the mean at 95 % by Student's distribution with `n - 1` degrees of freedom; `None` below two values.
///
/// The values must be independent and about normally distributed, as means of batches are.
pub fn mean_interval(values: &[f64]) -> Option<Interval> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let mean = mean(values)?;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    let half = student_975(n - 1) * (variance / n as f64).sqrt();
    Some(Interval { low: mean - half, high: mean + half })
}

/// The 97.5 % quantile of Student's distribution; up to 10 degrees from tables, beyond by the Cornish-Fisher expansion
/// (M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions", 26.7.5), which is right to four digits there.
fn student_975(degrees: usize) -> f64 {
    const TABLE: [f64; 10] =
        [12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004, 2.262_157, 2.228_139];
    if let Some(&value) = degrees.checked_sub(1).and_then(|i| TABLE.get(i)) {
        return value;
    }
    let (z, v) = (1.959_963_985_f64, degrees as f64);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / v + second / v.powi(2) + third / v.powi(3)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn medians_and_quartiles_by_hand() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0]), median(&[])), (Some(2.0), Some(2.5), None));
        // numpy.percentile([1, 2, 3, 4], [25, 50, 75]) is [1.75, 2.5, 3.25].
        let s = Summary::of(&[4.0, 3.0, 2.0, 1.0]).unwrap();
        assert_eq!((s.first_quartile, s.median, s.third_quartile), (1.75, 2.5, 3.25));
        assert_eq!((s.count, s.minimum, s.maximum, s.mean), (4, 1.0, 4.0, 2.5));
        assert_eq!(quantile(&[1.0, f64::NAN], 0.5), None);
        assert_eq!(median(&[1.0, 2.0, f64::INFINITY]), Some(2.0));
    }

    #[test]
    fn geometric_means() {
        assert!((geometric_mean(&[1.0, 4.0, 16.0]).unwrap() - 4.0).abs() < 1e-12);
        assert!((geometric_mean(&[0.5, 2.0]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!((geometric_mean(&[]), geometric_mean(&[1.0, 0.0])), (None, None));
    }

    #[test]
    fn intervals_of_medians_by_binomials() {
        // 1 - 2 / 2^6 = 96.9 %, while 1 - 2 / 2^5 = 93.8 %.
        let six = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0];
        assert_eq!(median_interval(&six, 0.95), Some(Interval { low: 1.0, high: 6.0 }));
        assert_eq!(median_interval(&six[..5], 0.95), None);
        // Ten values: the second and the ninth, 1 - 2 (1 + 10) / 1,024 = 97.9 %; the third would leave 89 %.
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(median_interval(&ten, 0.95), Some(Interval { low: 2.0, high: 9.0 }));
        // 100 values: the 40th and the 61st, as in every table of the binomial distribution.
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(median_interval(&hundred, 0.95), Some(Interval { low: 40.0, high: 61.0 }));
        assert!(median_interval(&vec![1.0; 5000], 0.99).is_some());
    }

    #[test]
    fn intervals_of_means_by_hand() {
        // Mean 3, variance 2.5, n = 5: 3 +- 2.776 sqrt(0.5).
        let found = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((found.high - 3.0 - 2.776_445 * 0.5_f64.sqrt()).abs() < 1e-9);
        assert!((found.low + found.high - 6.0).abs() < 1e-12);
        // Tables: 11 degrees 2.2010, 30 degrees 2.0423, 120 degrees 1.9799.
        for (degrees, table) in [(11, 2.200_985), (30, 2.042_272), (120, 1.979_930)] {
            assert!((student_975(degrees) - table).abs() < 1e-3, "{degrees}: {}", student_975(degrees));
        }
        assert_eq!(mean_interval(&[1.0]), None);
    }

    proptest! {
        #[test]
        fn quantiles_grow_and_stay_within(values in prop::collection::vec(-1e9..1e9f64, 1..50), a in 0.0..=1.0f64, b in 0.0..=1.0f64) {
            let s = Summary::of(&values).unwrap();
            let (low, high) = (quantile(&values, a.min(b)).unwrap(), quantile(&values, a.max(b)).unwrap());
            prop_assert!(s.minimum <= low && low <= high && high <= s.maximum);
            if let Some(i) = median_interval(&values, 0.95) {
                prop_assert!(i.low <= s.median && s.median <= i.high);
            }
        }
    }
}
