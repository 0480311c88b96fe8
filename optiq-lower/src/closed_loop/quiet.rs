//! How late things are while all is quiet, and so from when on they are late for a reason.
//!
//! How much longer than expected a leg or a call takes where nothing is wrong differs from machine to machine: a third where sixteen ranks share two
//! processors, a few parts in a hundred in a simulator. So the largest of what quiet times were over what was expected counts, and fades; [`ABOVE_QUIET`]
//! times that is late, at least [`LEAST_LATE`] and at most [`LATE`], which holds until [`QUIET_EXCHANGES`] are known.

use crate::constants::{ABOVE_QUIET, EFFICIENCY_DECAY, LATE, LEAST_LATE, QUIET_EXCHANGES};

/// See the top of the file. What follows from it is the same for all who have seen the same times.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quiet {
    /// The largest of late, fading.
    most: f64,
    seen: u32,
}

impl Quiet {
    /// While all was quiet, something took `times` what was expected.
    pub(super) fn saw(&mut self, times: f64) {
        self.most = times.max(self.most * EFFICIENCY_DECAY);
        self.seen = self.seen.saturating_add(1);
    }

    /// The factor of what is expected above which something is late.
    pub(super) fn late(&self) -> f64 {
        if self.seen < QUIET_EXCHANGES { LATE } else { (self.most * ABOVE_QUIET).clamp(LEAST_LATE, LATE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_late_follows_from_what_is_not() {
        let mut quiet = Quiet::default();
        assert_eq!(quiet.late(), LATE);
        (0..QUIET_EXCHANGES).for_each(|_| quiet.saw(1.02));
        assert_eq!(quiet.late(), LEAST_LATE);
        quiet.saw(1.25);
        assert!((quiet.late() - 1.25 * ABOVE_QUIET).abs() < 1e-12);
        // It fades, but is never more than if nothing were known.
        quiet.saw(1.0);
        assert!((quiet.late() - 1.25 * EFFICIENCY_DECAY * ABOVE_QUIET).abs() < 1e-12);
        quiet.saw(7.0);
        assert_eq!(quiet.late(), LATE);
    }
}
