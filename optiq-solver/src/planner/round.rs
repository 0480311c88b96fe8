//! Whole bytes from fractions.

/// Splits `total` in proportion to `weights` into whole numbers that sum to `total` exactly (largest remainder;
/// among equal remainders the earlier index first). Weights that are not positive and finite count as 0; if no
/// weight counts, the first takes everything. Empty for no weights.
pub(super) fn largest_remainder(total: u64, weights: &[f64]) -> Vec<u64> {
    let weight = |&w: &f64| if w.is_finite() && w > 0.0 { w } else { 0.0 };
    let sum: f64 = weights.iter().map(weight).sum();
    let mut parts = vec![0u64; weights.len()];
    if parts.is_empty() {
        return parts;
    }
    if !(sum.is_finite() && sum > 0.0) {
        parts[0] = total;
        return parts;
    }
    let mut left = total;
    let mut remainders: Vec<(f64, usize)> = Vec::with_capacity(weights.len());
    for (i, w) in weights.iter().enumerate() {
        let exact = total as f64 * (weight(w) / sum);
        // Beyond 2^53 bytes the product is not exact to the byte, hence the bound by what is left.
        parts[i] = (exact.floor() as u64).min(left);
        left -= parts[i];
        remainders.push((exact - exact.floor(), i));
    }
    remainders.retain(|&(_, i)| weight(&weights[i]) > 0.0);
    remainders.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let places = remainders.len() as u64;
    for (rank, &(_, i)) in (0u64..).zip(&remainders) {
        parts[i] += left / places + u64::from(rank < left % places);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::largest_remainder;
    use proptest::prelude::*;

    #[test]
    fn hand_made() {
        assert_eq!(largest_remainder(10, &[1.0, 1.0, 1.0]), [4, 3, 3]);
        assert_eq!(largest_remainder(7, &[0.5, 0.25, 0.25]), [3, 2, 2]);
        assert_eq!(largest_remainder(5, &[0.0, 2.0]), [0, 5]);
        assert_eq!(largest_remainder(1, &[1.0, 3.0]), [0, 1]);
        assert_eq!(largest_remainder(3, &[0.0, f64::NAN]), [3, 0]);
        assert_eq!(largest_remainder(3, &[]), [0u64; 0]);
        assert_eq!(largest_remainder(u64::MAX, &[1.0]), [u64::MAX]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(total: u64, weights in prop::collection::vec(0.0f64..1e9, 1..20)) {
            let parts = largest_remainder(total, &weights);
            prop_assert_eq!(parts.iter().map(|&p| u128::from(p)).sum::<u128>(), u128::from(total));
            if weights.iter().any(|&w| w > 0.0) {
                for (p, w) in parts.iter().zip(&weights) {
                    prop_assert!(*w > 0.0 || *p == 0);
                }
            }
        }

        #[test]
        fn no_share_is_a_byte_or_more_off(total in 0u64..1 << 40, weights in prop::collection::vec(0.1f64..10.0, 1..20)) {
            let sum: f64 = weights.iter().sum();
            for (p, w) in largest_remainder(total, &weights).iter().zip(&weights) {
                prop_assert!((*p as f64 - total as f64 * w / sum).abs() < 1.001);
            }
        }
    }
}
