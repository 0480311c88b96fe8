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
//! and two sides differ in `max_r t_r` by what they differ in `T`, whatever the program computes. That holds of means over several calls, not of the
//! greatest time of each: where `c_r` varies from call to call, another rank waits longest each time. So MPI has a row of [`ROW_CALLS`] calls without an
//! agreement, as it would serve them, each rank takes the mean of those after the first, and the greatest mean is compared with that of as many planned calls
//! that follow each other, agreement included.
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
    /// What calls of this row took at this rank together, and how many they are: all that ranks differ in here. Nothing is decided by it before all
    /// were told the greatest mean.
    own: (f64, u64),
    /// What rows have taken longer than planned calls would have.
    cost: f64,
}

impl CallsInARow {
    /// What a planned call took at this rank, from its begin there, its agreement included; nothing if that says nothing. With the last
    /// call of a row, the mean of those after the first, if all of them have a time. To be called before [`CallsInARow::goes_on`].
    pub(crate) fn own(&mut self, time: Option<f64>) -> Option<f64> {
        // The first one behind a call of MPI waits for ranks that are not done with that.
        let place = self.since % ROW_CALLS;
        let (sum, times) = if place == 0 { (0.0, 0) } else { self.own };
        let counted = time.filter(|_| place > 0);
        self.own = (sum + counted.unwrap_or(0.0), times + u64::from(counted.is_some()));
        let (sum, times) = self.own;
        (times == ROW_CALLS - 1).then(|| sum / times as f64)
    }

    /// A planned call more.
    pub(crate) fn goes_on(&mut self) {
        self.since += 1;
    }

    /// The planned calls of a row took so long on average.
    pub(crate) fn planned(&mut self, time: f64) {
        self.planned.add(time);
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

    /// What a call of MPI takes, if that is known.
    pub(crate) fn plain_time(&self) -> Option<f64> {
        self.plain.seconds
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

    /// Planned calls of one rank, that take this long.
    fn add(rows: &mut CallsInARow, times: &[f64]) {
        for &time in times {
            let mean = rows.own(Some(time));
            rows.goes_on();
            mean.into_iter().for_each(|mean| rows.planned(mean));
        }
    }

    /// Planned calls of 1.0, some in a row.
    fn planned(calls: u64) -> CallsInARow {
        let mut rows = CallsInARow::default();
        add(&mut rows, &vec![1.0; calls as usize]);
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
        add(&mut rows, &[1.0; ROW_CALLS as usize]);
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
        add(&mut rows, &[&[9.0][..], &[1.0; ROW_CALLS as usize - 1]].concat());
        rows.is_broken();
        add(&mut rows, &[9.0]);
        rows.plain(1.5);
        assert_eq!(rows.plain_is_faster(1.0), Some(false));
    }

    /// A call that says nothing, or a call of MPI: no mean of this row.
    #[test]
    fn a_row_with_a_gap_has_no_mean() {
        let mean = |gap: usize| {
            let mut rows = CallsInARow::default();
            let means = (0..ROW_CALLS as usize).map(|i| {
                let mean = rows.own((i != gap).then_some(1.0 + i as f64));
                rows.goes_on();
                mean
            });
            means.collect::<Vec<_>>()
        };
        assert!(mean(3).iter().all(Option::is_none));
        // By hand: 2 to 8, and the first call says nothing anyway.
        assert_eq!(mean(0).last(), Some(&Some(5.0)));
        let mut rows = CallsInARow::default();
        (0..ROW_CALLS - 1).for_each(|_| rows.goes_on());
        rows.is_broken();
        assert_eq!(rows.own(Some(1.0)), None);
    }

    /// Two ranks on one processor take turns: one waits 1.0 for the other, and the other way round in the next call. Each call has a rank that takes
    /// 2.0; of seven calls a rank waits in four at most, and MPI, which takes 1.7 on average, is slower than 11/7.
    #[test]
    fn ranks_that_wait_in_turn_are_not_counted_as_one_that_always_waits() {
        let mut ranks = [CallsInARow::default(); 2];
        for call in 0..ROW_CALLS + 1 {
            let took = |rank: u64| if (call + rank).is_multiple_of(2) { 1.0 } else { 2.0 };
            let means = [0, 1].map(|rank| ranks[rank].own(Some(took(rank as u64))));
            ranks.iter_mut().for_each(CallsInARow::goes_on);
            if let [Some(a), Some(b)] = means {
                ranks.iter_mut().for_each(|rank| rank.planned(a.max(b)));
            }
        }
        ranks.iter_mut().for_each(|rank| rank.plain(1.7));
        assert_eq!(ranks.map(|rank| rank.plain_is_faster(1.02)), [Some(false); 2]);
    }
}
