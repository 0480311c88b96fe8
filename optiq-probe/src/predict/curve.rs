//! A slowdown as a function of utilisation: points joined by lines, and the monotone one that is closest to them.
//!
//! The monotone curve is isotonic regression: of all non-decreasing sequences the one with the least sum of squared distances from
//! the points, by pooling neighbours that violate the order (M. Ayer, H. Brunk, G. Ewing, W. Reid and E. Silverman, "An empirical
//! distribution function for sampling with incomplete information", Annals of Mathematical Statistics 26, 1955).

/// Points in the order of their utilisations, each once.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// Of (utilisation, slowdown), at least one; points of one utilisation become their mean.
    pub fn new(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut sorted: Vec<(f64, f64)> = points.into_iter().collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let points = sorted
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| (same[0].0, same.iter().map(|p| p.1).sum::<f64>() / same.len() as f64))
            .collect();
        Self { points }
    }

    /// The closest curve that nowhere falls.
    #[must_use]
    pub fn monotone(&self) -> Self {
        // Pools: sum and number of their points.
        let mut pools: Vec<(f64, usize)> = Vec::with_capacity(self.points.len());
        for &(_, value) in &self.points {
            let mut last = (value, 1);
            while let Some(&(sum, count)) = pools.last()
                && sum / count as f64 >= last.0 / last.1 as f64
            {
                pools.pop();
                last = (last.0 + sum, last.1 + count);
            }
            pools.push(last);
        }
        let values = pools.iter().flat_map(|&(sum, count)| std::iter::repeat_n(sum / count as f64, count));
        Self { points: self.points.iter().map(|p| p.0).zip(values).collect() }
    }

    /// The slowdown at a utilisation: between two points linear, beyond the ends as at the ends; 0 without points.
    pub fn at(&self, utilisation: f64) -> f64 {
        let after = self.points.partition_point(|p| p.0 < utilisation);
        match (after.checked_sub(1).map(|i| self.points[i]), self.points.get(after)) {
            (Some((x0, y0)), Some(&(x1, y1))) => y0 + (y1 - y0) * (utilisation - x0) / (x1 - x0),
            (Some((_, y)), None) | (None, Some(&(_, y))) => y,
            (None, None) => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let curve = Curve::new([(0.5, 0.4), (0.1, 0.0), (0.3, 0.1), (0.3, 0.3)]);
        assert_eq!([0.0, 0.1, 0.9].map(|u| curve.at(u)), [0.0, 0.0, 0.4]);
        assert!((curve.at(0.2) - 0.1).abs() < 1e-12 && (curve.at(0.4) - 0.3).abs() < 1e-12);
        // 1, 3, 2, 2, 5: the three in the middle become their mean, 7/3.
        let found = Curve::new((0..).map(f64::from).zip([1.0, 3.0, 2.0, 2.0, 5.0])).monotone();
        let middle = 7.0 / 3.0;
        assert!(found.points.iter().zip([1.0, middle, middle, middle, 5.0]).all(|(p, e)| (p.1 - e).abs() < 1e-12));
    }

    proptest! {
        #[test]
        fn monotone_curves_grow_stay_within_and_keep_the_mean(
            points in prop::collection::vec((0.0..1.0f64, -0.1..3.0f64), 1..30), a in 0.0..1.0f64, b in 0.0..1.0f64,
        ) {
            let curve = Curve::new(points.iter().copied());
            let found = curve.monotone();
            let (least, most) = points.iter().fold((f64::MAX, f64::MIN), |(l, m), p| (l.min(p.1), m.max(p.1)));
            let (low, high) = (found.at(a.min(b)), found.at(a.max(b)));
            prop_assert!(low <= high + 1e-12 && low >= least - 1e-12 && high <= most + 1e-12);
            let sum = |c: &Curve| c.points.iter().map(|p| p.1).sum::<f64>();
            prop_assert!((sum(&curve) - sum(&found)).abs() < 1e-9);
        }
    }
}
