//! A moving average of times.

use crate::constants::{AVERAGE_WEIGHT, OUTLIER};

/// A moving average of times that follows a fabric that changes, and in which a single outlier counts little: with `m` the
/// average and `x` a new time, `m + (min(x, 1.5 m) - m) / 4`; before that the smaller of the first two times. The limit doubles with
/// every outlier that follows another one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RobustMovingAverage {
    pub(crate) seconds: Option<f64>,
    pub(crate) times: u32,
    /// Of all times, as they were; the second one counts twice if the first, which may have opened connections, was longer.
    pub(crate) sum: f64,
    /// Times beyond the limit since the last one that was not.
    outliers: i32,
}

impl RobustMovingAverage {
    pub(crate) fn known(seconds: Option<f64>, times: u32) -> Self {
        Self { seconds, times, sum: seconds.unwrap_or_default() * f64::from(times), outliers: 0 }
    }

    pub(crate) fn scaled(self, scale: f64) -> Self {
        Self { seconds: self.seconds.map(|seconds| seconds * scale), sum: self.sum * scale, ..self }
    }

    pub(crate) fn add(&mut self, seconds: f64) {
        self.sum = if self.times == 1 && seconds < self.sum { 2.0 * seconds } else { self.sum + seconds };
        let limit = self.seconds.map_or(f64::INFINITY, |known| OUTLIER * known);
        let reached = limit * 2f64.powi(self.outliers);
        self.outliers = if seconds > limit { self.outliers.saturating_add(1) } else { 0 };
        self.seconds = Some(match (self.seconds, self.times) {
            (None, _) => seconds,
            // The first use may have opened connections.
            (Some(first), ..2) => first.min(seconds),
            (Some(known), _) => known + (seconds.min(reached) - known) / AVERAGE_WEIGHT,
        });
        self.times = self.times.saturating_add(1);
    }
}
