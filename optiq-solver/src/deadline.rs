//! Until when planning may take, and what it does not begin any more.
//!
//! A limit is to hold for everything from candidate paths to the checked plan, to within a tenth or two seconds. Work that
//! improves a plan ends at the limit, or earlier where what must follow (cutting into legs, sums, checks) is known to take
//! longer than the tolerance. Work without which there is no plan is cut short when the limit and half of the tolerance
//! have passed.

use std::time::{Duration, Instant};

/// What a limit may be passed by: this part of it, or this many seconds if that is more.
const TOLERANCE_PART: f64 = 0.1;
const TOLERANCE_SECONDS: f64 = 2.0;

/// When planning should end; never, without a limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deadline(Option<Moments>);

#[derive(Clone, Copy, Debug)]
struct Moments {
    /// When work that improves a plan ends.
    stop: Instant,
    /// When work without which there is no plan is cut short.
    overdue: Instant,
}

impl Deadline {
    /// No limit.
    pub const NEVER: Deadline = Deadline(None);

    /// A limit that begins to count at `start`; none if it is `None`, or longer than a clock counts.
    pub fn new(start: Instant, limit: Option<Duration>) -> Self {
        let moments = |limit: Duration| {
            let tolerance = (limit.as_secs_f64() * TOLERANCE_PART).max(TOLERANCE_SECONDS);
            let stop = start.checked_add(limit)?;
            Some(Moments { stop, overdue: stop.checked_add(Duration::try_from_secs_f64(tolerance / 2.0).ok()?)? })
        };
        Deadline(limit.and_then(moments))
    }

    /// Whether there is a limit at all.
    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }

    /// Whether work that improves a plan should end.
    pub fn stop(&self) -> bool {
        self.0.is_some_and(|moments| Instant::now() >= moments.stop)
    }

    /// Whether even work without which there is no plan should be cut short.
    pub fn overdue(&self) -> bool {
        self.0.is_some_and(|moments| Instant::now() >= moments.overdue)
    }

    /// Whether something that takes `seconds` still fits in before work is cut short.
    pub fn allows(&self, seconds: f64) -> bool {
        self.seconds_left().is_none_or(|left| seconds < left)
    }

    /// Seconds until work is cut short; `None` without a limit.
    fn seconds_left(&self) -> Option<f64> {
        self.0.map(|moments| moments.overdue.saturating_duration_since(Instant::now()).as_secs_f64())
    }

    /// The same, with the part `part` (0 to 1) of the time until work is cut short kept for what must follow.
    pub fn keeping(self, part: f64) -> Self {
        self.reserving(part * self.seconds_left().unwrap_or(0.0))
    }

    /// The same, with `seconds` kept for what must follow beyond what the tolerance allows.
    pub fn reserving(self, seconds: f64) -> Self {
        let earlier = |moments: Moments| {
            let reserve = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
            let latest = moments.overdue.checked_sub(reserve).unwrap_or_else(Instant::now);
            Moments { stop: moments.stop.min(latest), ..moments }
        };
        Deadline(self.0.map(earlier))
    }

    /// One of several stages, which takes `part` (0 to 1) of the time that is left.
    pub fn part(self, part: f64) -> Self {
        let now = Instant::now();
        let until = |end: Instant| now + end.saturating_duration_since(now).mul_f64(part.clamp(0.0, 1.0));
        Deadline(self.0.map(|moments| Moments { stop: until(moments.stop), overdue: until(moments.overdue) }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// 60 s may become 66, so that what cannot be left out is cut short at 63; 1 s may become 3, and is cut short at 2.
    #[test]
    fn tolerance_is_a_tenth_or_two_seconds() {
        let start = Instant::now();
        for (limit, overdue) in [(60 * SECOND, 63 * SECOND), (SECOND, 2 * SECOND)] {
            let moments = Deadline::new(start, Some(limit)).0.unwrap();
            assert_eq!((moments.stop - start, moments.overdue - start), (limit, overdue));
        }
        assert!(!Deadline::new(start, None).is_set() && !Deadline::NEVER.stop());
        assert!(!Deadline::new(start, Some(Duration::MAX)).overdue());
    }

    /// Of 63 s the last 10 are kept: work ends after 53. A reserve within the tolerance changes nothing.
    #[test]
    fn what_must_follow_is_kept() {
        let start = Instant::now();
        let deadline = Deadline::new(start, Some(60 * SECOND));
        assert_eq!(deadline.reserving(10.0).0.unwrap().stop - start, 53 * SECOND);
        assert_eq!(deadline.reserving(2.0).0.unwrap().stop - start, 60 * SECOND);
        assert!(deadline.reserving(1e9).stop());
        // A tenth of 63 s is 6.3 s; a short limit has a second for that anyway.
        let stop = deadline.keeping(0.1).0.unwrap().stop - start;
        assert!(stop >= 56 * SECOND && stop <= 57 * SECOND, "{stop:?}");
        let short = Deadline::new(start, Some(SECOND / 10));
        assert_eq!(short.keeping(0.3).0.unwrap().stop - start, SECOND / 10);
        assert!(deadline.allows(50.0) && !deadline.allows(64.0) && Deadline::NEVER.allows(1e9));
        let half = deadline.part(0.5).0.unwrap();
        assert!(half.stop - start >= 30 * SECOND && half.stop - start < 31 * SECOND);
    }

    #[test]
    fn a_limit_that_has_passed() {
        let deadline = Deadline::new(Instant::now(), Some(Duration::from_nanos(1)));
        std::thread::sleep(Duration::from_millis(1));
        // Two seconds are allowed beyond, one of them before work is cut short.
        assert!(deadline.stop() && !deadline.overdue());
    }
}
