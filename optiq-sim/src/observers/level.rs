//! How many bytes wait at one place, over time.

use crate::time::Time;
use bincode::{Decode, Encode};

/// What a number of bytes that wait for a time add to a sum of bytes times picoseconds.
#[inline]
fn byte_picoseconds(bytes: u64, time: Time) -> u128 {
    u128::from(bytes) * u128::from(time.as_picoseconds())
}

/// What waits at one place. As changes are many, the interval at hand is kept apart, and most changes need no more.
#[derive(Clone, Debug, Default, Decode, Encode)]
pub(super) struct Level {
    /// What waits, and since when.
    now: u64,
    pub(super) since: Time,
    /// The end of the interval at hand; zero if there is none yet.
    until: Time,
    /// In it: the most bytes, and bytes that wait times picoseconds.
    highest: u64,
    sum: u128,
    /// Per interval, of those that are over and not empty.
    waited: Vec<u128>,
    pub(super) most: Vec<u64>,
}

impl Level {
    /// `bytes` bytes more, or fewer; intervals are long enough for that time.
    pub(super) fn change(&mut self, interval: Time, time: Time, bytes: i64) {
        if time < self.until {
            self.sum += byte_picoseconds(self.now, time - self.since);
        } else {
            self.advance(interval, time);
        }
        self.now = self.now.saturating_add_signed(bytes);
        self.since = time;
        self.highest = self.highest.max(self.now);
    }

    /// To the interval of a time that is not in the one at hand.
    fn advance(&mut self, interval: Time, time: Time) {
        let at = time / interval;
        if self.until > Time::ZERO {
            self.sum += byte_picoseconds(self.now, self.until - self.since);
            self.keep(interval);
        }
        if self.now > 0 {
            for between in self.until / interval..at {
                self.set(between as usize, byte_picoseconds(self.now, interval), self.now);
            }
        }
        let begun = time - interval * at;
        self.until = time - begun + interval;
        self.sum = byte_picoseconds(self.now, begun);
        self.highest = if begun > Time::ZERO { self.now } else { 0 };
    }

    /// Puts the interval at hand with the others.
    fn keep(&mut self, interval: Time) {
        if self.highest > 0 {
            self.set((self.until / interval) as usize - 1, self.sum, self.highest);
        }
    }

    fn set(&mut self, at: usize, waited: u128, most: u64) {
        if self.waited.len() <= at {
            self.waited.resize(at + 1, 0);
            self.most.resize(at + 1, 0);
        }
        (self.waited[at], self.most[at]) = (waited, most);
    }

    /// Intervals are twice as long.
    pub(super) fn halve(&mut self, interval: Time) {
        if self.until == Time::ZERO {
            return;
        }
        self.keep(interval);
        halve(&mut self.waited, 1, |a, b| a + b);
        halve(&mut self.most, 1, u64::max);
        let at = (self.until / interval - 1) / 2;
        self.until = interval * ((at + 1) * 2);
        self.sum = self.waited.get(at as usize).copied().unwrap_or(0);
        self.highest = self.most.get(at as usize).copied().unwrap_or(0);
    }

    /// Whether it can be a level of a recording that ends at `limit`: what was read from a file may be anything.
    pub(super) fn is_sound(&self, interval: Time, limit: Time) -> bool {
        let cells = limit / interval;
        let times = self.until <= limit && self.since <= self.until && self.until.is_multiple_of(interval);
        times && self.waited.len() == self.most.len() && self.waited.len() as u64 <= cells
    }

    /// The end of the recording, at a time not before the last change.
    pub(super) fn end(&mut self, interval: Time, time: Time) {
        self.change(interval, time, 0);
        self.keep(interval);
    }

    /// Whether anything ever waited.
    pub(super) fn is_used(&self) -> bool {
        !self.most.is_empty()
    }

    /// Means over each interval of a run.
    pub(super) fn means(&self, interval: Time, intervals: usize, end: Time) -> impl Iterator<Item = u64> + '_ {
        (0..intervals).map(move |at| {
            // The last interval is as long as it is.
            let width = interval.min(end.saturating_sub(interval * at as u64)).max(Time::PICOSECOND);
            let waited = self.waited.get(at).copied().unwrap_or(0);
            (waited / u128::from(width.as_picoseconds())) as u64
        })
    }
}

/// Makes one of each pair of rows.
pub(super) fn halve<T: Copy + Default>(cells: &mut Vec<T>, row: usize, one: impl Fn(T, T) -> T) {
    let rows = (cells.len() / row.max(1)).div_ceil(2);
    for to in 0..rows {
        for i in 0..row {
            let second = cells.get((2 * to + 1) * row + i).copied().unwrap_or_default();
            cells[to * row + i] = one(cells[2 * to * row + i], second);
        }
    }
    cells.truncate(rows * row);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: Time = Time::picoseconds(1_000_000);

    #[test]
    fn what_waits_is_a_mean_over_the_interval() {
        let mut level = Level::default();
        // 100 bytes from 0.5 to 2.25 microseconds, 50 more from 1 to 2.
        for (quarter, bytes) in [(2, 100), (4, 50), (8, -50), (9, -100)] {
            level.change(MICROSECOND, MICROSECOND * quarter / 4, bytes);
        }
        let open = level.clone();
        level.end(MICROSECOND, level.since);
        assert_eq!(level.means(MICROSECOND, 4, MICROSECOND * 3).collect::<Vec<_>>(), [50, 150, 25, 0]);
        assert_eq!((level.now, level.since, &level.most[..]), (0, MICROSECOND * 9 / 4, &[100, 150, 100][..]));
        // A run that ends with the last change has a last interval of a quarter.
        assert_eq!(level.means(MICROSECOND, 3, level.since).collect::<Vec<_>>(), [50, 150, 100]);
        // Twice as long intervals, whether it is over or goes on: 40 bytes from 2.5 to 7 microseconds.
        level.halve(MICROSECOND);
        assert_eq!(level.means(MICROSECOND * 2, 2, MICROSECOND * 4).collect::<Vec<_>>(), [100, 12]);
        assert_eq!(level.most, [150, 100]);
        for early in [true, false] {
            let mut level = open.clone();
            for (quarter, bytes) in [(10, 40), (28, -40)] {
                if early == (bytes > 0) {
                    level.halve(MICROSECOND);
                }
                let interval = if early || bytes < 0 { MICROSECOND * 2 } else { MICROSECOND };
                level.change(interval, MICROSECOND * quarter / 4, bytes);
            }
            level.end(MICROSECOND * 2, MICROSECOND * 7);
            // (25 + 60) / 2; 40 throughout; 40 for half of the last one, which is half as long.
            assert_eq!(level.means(MICROSECOND * 2, 4, MICROSECOND * 7).collect::<Vec<_>>(), [100, 42, 40, 40]);
            assert_eq!(level.most, [150, 100, 40, 40]);
        }
    }
}
