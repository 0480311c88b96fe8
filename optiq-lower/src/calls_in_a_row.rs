//! What calls take that follow each other, which single calls do not show.
//!
//! A call that ranks agree on begins at about the same time at all of them, and MPI that is measured in it is measured alone. In a program whose
//! calls follow each other, ranks that are done with a call of MPI run ahead into the next one, so that a call costs less than it takes alone; a
//! planned call costs its agreement as well, each time. With `c_r` what rank `r` computes between calls, and `t_r` what it spends in one,
//! waiting for other ranks included, all ranks go on at one pace
//!
//! ```text
//!     T = c_r + t_r   for each r,   so that   max_r t_r = T - min_r c_r
//! ```
//!
//! and two sides differ in `max_r t_r` by what they differ in `T`, whatever the program computes. So MPI has a row of [`ROW_CALLS`] calls without an
//! agreement, as it would serve them, and their mean is compared with that of planned calls that follow each other, agreement included.
//! A row comes when as many planned calls have followed each other, and when what it is likely to cost is at most [`FIRST_ROW_PART`] of the time in
//! calls for the first one, [`TRIAL_PART`] for later ones.

use crate::constants::{FIRST_ROW_PART, ROW_CALLS, TRIAL_PART};
use crate::moving_average::RobustMovingAverage;

/// See the top of the file. Times are in any unit, the same for all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallsInARow {
    planned: RobustMovingAverage,
    plain: RobustMovingAverage,
    /// Planned calls since one of MPI.
    since: u64,
    /// What rows have taken longer than planned calls would have.
    cost: f64,
}

impl CallsInARow {
    /// A planned call took so long, from its begin at a rank, its agreement included.
    pub(crate) fn planned(&mut self, time: f64) {
        // The first one behind a call of MPI waits for ranks that are not done with that.
        if self.since > 0 {
            self.planned.add(time);
        }
        self.since += 1;
    }

    /// A call of MPI has come between.
    pub(crate) fn is_broken(&mut self) {
        self.since = 0;
    }

    /// The calls of a row took so long on average.
    pub(crate) fn plain(&mut self, time: f64) {
        self.plain.add(time);
        self.since = 0;
        self.cost += ROW_CALLS as f64 * (time - self.planned.seconds.unwrap_or(time)).max(0.0);
    }

    /// Whether MPI is to have a row now, where a single call of it takes `longer` than a planned one, and calls took `spent` so far.
    pub(crate) fn begin(&mut self, longer: f64, spent: f64) -> bool {
        let Some(planned) = self.planned.seconds.filter(|_| self.since >= ROW_CALLS) else { return false };
        let (longer, part) = match self.plain.seconds {
            Some(plain) => (plain - planned, TRIAL_PART),
            None => (longer, FIRST_ROW_PART),
        };
        self.cost + ROW_CALLS as f64 * longer.max(0.0) <= part * spent
    }

    /// Whether MPI is faster than planned paths, which must be `min_gain` times as fast; none if that is not known.
    pub(crate) fn plain_is_faster(&self, min_gain: f64) -> Option<bool> {
        let (planned, plain) = self.planned.seconds.zip(self.plain.seconds)?;
        Some(plain < planned * min_gain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Planned calls of 1.0, some in a row.
    fn planned(calls: u64) -> CallsInARow {
        let mut rows = CallsInARow::default();
        (0..calls).for_each(|_| rows.planned(1.0));
        rows
    }

    #[test]
    fn a_row_waits_for_calls_in_a_row_and_for_what_it_may_cost() {
        assert!(!planned(ROW_CALLS - 1).begin(-0.5, 100.0));
        assert!(planned(ROW_CALLS).begin(-0.5, 0.0), "nothing to lose");
        let mut broken = planned(ROW_CALLS);
        broken.is_broken();
        assert!(!broken.begin(-0.5, 100.0));
        // Half as long again, for eight calls: 4.0 are a tenth of 40.
        assert!(!planned(20).begin(0.5, 39.0) && planned(20).begin(0.5, 41.0));
        let mut rows = planned(20);
        rows.plain(1.5);
        (0..ROW_CALLS).for_each(|_| rows.planned(1.0));
        // What it cost and what it will cost, 8.0, are a hundredth of 800.
        assert!(!rows.begin(0.0, 799.0) && rows.begin(0.0, 801.0));
    }

    #[test]
    fn the_side_with_the_shorter_calls_in_a_row_is_faster() {
        let mut rows = planned(20);
        assert_eq!(rows.plain_is_faster(1.02), None);
        rows.plain(0.7);
        assert_eq!(rows.plain_is_faster(1.02), Some(true));
        let mut rows = planned(20);
        rows.plain(1.1);
        assert_eq!(rows.plain_is_faster(1.02), Some(false));
    }

    #[test]
    fn the_first_planned_call_behind_one_of_mpi_does_not_count() {
        let mut rows = CallsInARow::default();
        rows.planned(9.0);
        (0..ROW_CALLS).for_each(|_| rows.planned(1.0));
        rows.is_broken();
        rows.planned(9.0);
        rows.plain(1.5);
        assert_eq!(rows.plain_is_faster(1.0), Some(false));
    }
}
