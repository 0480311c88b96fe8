//! When the trace of a rank began, and how far its clock is from rank 0's.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A rank's clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Instant,
    /// Nanoseconds since 1970 at the trace's beginning on this rank, by this host's wall clock.
    pub wall: u64,
    /// What must be added to this rank's time stamps to have rank 0's, in nanoseconds.
    pub offset: i64,
    /// How wrong `offset` may be, in nanoseconds.
    pub error: u64,
}

impl Clock {
    /// Begins now, as if this were rank 0.
    pub fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
        Self::at(Instant::now(), wall)
    }

    /// Begins at a moment that several threads share, so that their stamps are on one clock.
    pub fn at(epoch: Instant, wall: u64) -> Self {
        Self { epoch, wall, offset: 0, error: 0 }
    }

    /// Nanoseconds since the beginning.
    #[inline]
    pub fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// The same clock, once messages to and fro have shown how far it is from rank 0's.
    ///
    /// `before` and `after` are this rank's stamps around the quickest question to rank 0, `there` rank 0's stamp
    /// between them, `wall` the beginning by rank 0's wall clock. The true offset lies within
    /// `[there - after, there - before]`. Its middle is taken, unless the two wall clocks give an offset that lies
    /// within, too: then the hosts' wall clocks are at least as good as the messages, and the same if there is one host.
    pub fn aligned(self, before: u64, there: u64, after: u64, wall: u64) -> Self {
        let [least, most] = [after, before].map(|t| there.cast_signed().wrapping_sub(t.cast_signed()));
        let by_wall = self.wall.cast_signed().wrapping_sub(wall.cast_signed());
        let trip = after.saturating_sub(before);
        if (least..=most).contains(&by_wall) {
            return Self { offset: by_wall, error: trip, ..self };
        }
        Self { offset: least.wrapping_add((trip / 2).cast_signed()), error: trip / 2, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_quickest_question_unless_wall_clocks_agree() {
        let clock = Clock::at(Instant::now(), 10_000);
        // Asked at 100, answered at 140, rank 0 read 5,000 between: the offset lies in [4860, 4900].
        let aligned = clock.aligned(100, 5_000, 140, 0);
        assert_eq!((aligned.offset, aligned.error), (4_880, 20));
        // Rank 0 began 4,870 ns earlier by the wall clock: that is within.
        let aligned = clock.aligned(100, 5_000, 140, 10_000 - 4_870);
        assert_eq!((aligned.offset, aligned.error), (4_870, 40));
        // A clock that is ahead: negative offsets.
        let aligned = clock.aligned(9_000, 100, 9_010, 0);
        assert_eq!((aligned.offset, aligned.error), (-8_905, 5));
    }
}
