//! What many measured values are summed up as.

/// The middle value, or the mean of the two middle ones; 0 if there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    match n {
        0 => 0.0,
        _ if n % 2 == 1 => sorted[n / 2],
        _ => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The `n`-th root of the product of `n` values above zero; not a number if there are none.
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "benchmarks need MPI"))]
pub fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::{geometric_mean, median};

    #[test]
    fn geometric_means() {
        assert!((geometric_mean(&[1.0, 4.0, 16.0]) - 4.0).abs() < 1e-12);
        assert!((geometric_mean(&[0.5, 2.0]) - 1.0).abs() < 1e-12);
        assert!(geometric_mean(&[]).is_nan());
    }

    #[test]
    fn medians() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0]), median(&[])), (2.0, 2.5, 0.0));
    }
}
