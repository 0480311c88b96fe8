//! How far two clocks are apart, by messages to and fro, and whether they kept pace.
//!
//! A rank reads its clock at `before`, asks rank 0, which answers with its own clock, `there`, and reads its clock at `after`. What must
//! be added to its clock to have rank 0's lies within
//!
//! ```text
//!     [ there - after,  there - before ]
//! ```
//!
//! whatever each way took (D. Mills, "Internet time synchronization: the network time protocol", IEEE Transactions on Communications
//! 39, 1991). Several questions leave the interval that all have in common; its middle is taken. Samples in one direction are
//! differences of two clocks, so at the end the clocks of the run are compared in the same manner: they may have drifted apart by what
//! quartz does, and if they are further apart than that, a clock has jumped and the samples are refused.

use crate::error::ProbeError;

/// The part by which two clocks may drift apart, the larger part of what data sheets of quartz oscillators allow (100 ppm each).
const DRIFT: f64 = 200e-6;

/// What must be added to a clock to have rank 0's, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset {
    /// Added to the other clock.
    pub nanoseconds: i64,
    /// How wrong that may be.
    pub error: u64,
}

impl Offset {
    /// From answers as `[before, there, after]`, in nanoseconds; without any nothing is known.
    pub fn of(answers: impl IntoIterator<Item = [u64; 3]>) -> Offset {
        let (mut least, mut most) = (i64::MIN, i64::MAX);
        for [before, there, after] in answers {
            least = least.max(there.cast_signed().wrapping_sub(after.cast_signed()));
            most = most.min(there.cast_signed().wrapping_sub(before.cast_signed()));
        }
        if least == i64::MIN {
            return Offset { nanoseconds: 0, error: u64::MAX / 4 };
        }
        // Clocks that drift while they are asked leave nothing in common: what is between both ends then.
        let (least, most) = (least.min(most), least.max(most));
        let half = most.wrapping_sub(least) / 2;
        Offset { nanoseconds: least.wrapping_add(half), error: half.unsigned_abs() }
    }

    /// Whether two clocks that were set alike by this offset kept pace: how far they were apart at the end, these seconds later.
    ///
    /// # Errors
    /// [`ProbeError::Measurement`], if they did not.
    pub fn kept_pace(self, end: Offset, seconds: f64) -> Result<(), ProbeError> {
        let apart = end.nanoseconds.unsigned_abs() as f64;
        let allowed = (self.error + end.error) as f64 + DRIFT * seconds * 1e9;
        if apart <= allowed {
            return Ok(());
        }
        Err(ProbeError::Measurement(format!(
            "this rank's clock and rank 0's are {:.3} ms apart after {seconds:.1} s, so one of them has jumped; at most {:.3} ms is expected, \
             as samples in one direction are differences of two clocks",
            apart / 1e6,
            allowed / 1e6
        )))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn offsets_by_hand() {
        // Asked at 100, answered at 5,000 of the other clock, at 140: within [4860, 4900]. At 200, 5,105, 220: [4885, 4905]. Both: [4885, 4900].
        assert_eq!(Offset::of([[100, 5000, 140], [200, 5105, 220]]), Offset { nanoseconds: 4892, error: 7 });
        assert_eq!(Offset::of([]).nanoseconds, 0);
        // A clock that is ahead.
        assert_eq!(Offset::of([[9000, 100, 9010]]), Offset { nanoseconds: -8905, error: 5 });
    }

    #[test]
    fn a_clock_that_jumps_is_found() {
        let at = |nanoseconds, error| Offset { nanoseconds, error };
        // 20 us of error in all and 2 ms of drift in 10 s.
        assert_eq!(at(0, 10_000).kept_pace(at(2_020_000, 10_000), 10.0), Ok(()));
        let said = at(0, 10_000).kept_pace(at(-3_000_000, 10_000), 10.0).unwrap_err().to_string();
        assert!(said.starts_with("this rank's clock and rank 0's are 3.000 ms apart after 10.0 s"), "{said}");
        assert!(said.contains("at most 2.020 ms is expected"), "{said}");
    }

    proptest! {
        #[test]
        fn the_true_offset_is_within_the_error(
            ahead in -1_000_000_000i64..1_000_000_000, ways in prop::collection::vec((1u64..100_000, 1u64..100_000), 1..20),
        ) {
            let mut now = 10_000_000_000u64;
            let answers: Vec<[u64; 3]> = ways.iter().map(|&(out, back)| {
                let before = now;
                let there = (before + out).wrapping_add_signed(ahead);
                now = before + out + back;
                [before, there, now]
            }).collect();
            let found = Offset::of(answers);
            prop_assert!((found.nanoseconds - ahead).unsigned_abs() <= found.error + 1, "{:?}", found);
        }
    }
}
