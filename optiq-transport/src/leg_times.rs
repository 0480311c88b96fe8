//! How long each leg of this rank was busy: something was in flight on it.
//!
//! The time in which a leg has nothing in flight, since its chunks have not arrived or its receiver has no slot, is not counted: a leg behind a
//! slow one, or before one, does not look slow. Times are from any origin, so that a simulator's clock serves as well.

use optiq_trace::ids::Rank;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a leg did in an exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LegTime {
    /// The receiver.
    pub to: Rank,
    /// Bytes that were sent and confirmed.
    pub bytes: u64,
    /// How long something was in flight, in seconds.
    pub seconds: f64,
}

#[derive(Clone, Copy, Debug)]
struct Leg {
    bytes: u64,
    seconds: f64,
    in_flight: u64,
    since: Duration,
}

/// See the top of the file.
#[derive(Clone, Debug, Default)]
pub struct LegTimes(BTreeMap<Rank, Leg>);

impl LegTimes {
    /// A chunk was handed over to the leg to this receiver.
    pub fn sent(&mut self, to: Rank, now: Duration) {
        let leg = self.0.entry(to).or_insert(Leg { bytes: 0, seconds: 0.0, in_flight: 0, since: now });
        if leg.in_flight == 0 {
            leg.since = now;
        }
        leg.in_flight += 1;
    }

    /// A chunk of `bytes` bytes is through.
    pub fn confirmed(&mut self, to: Rank, bytes: u64, now: Duration) {
        let Some(leg) = self.0.get_mut(&to) else { return };
        leg.bytes += bytes;
        leg.in_flight = leg.in_flight.saturating_sub(1);
        if leg.in_flight == 0 {
            leg.seconds += now.saturating_sub(leg.since).as_secs_f64();
        }
    }

    /// All legs, ascending by receiver.
    pub fn all(&self) -> Vec<LegTime> {
        self.0.iter().map(|(&to, leg)| LegTime { to, bytes: leg.bytes, seconds: leg.seconds }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_with_something_in_flight_counts() {
        let at = Duration::from_millis;
        let mut times = LegTimes::default();
        // Two chunks overlap for 1 to 4 ms; 6 ms without; then one for 2 ms. Another leg for 5 ms.
        times.sent(Rank(3), at(1));
        times.sent(Rank(3), at(2));
        times.sent(Rank(1), at(2));
        times.confirmed(Rank(3), 10, at(3));
        times.confirmed(Rank(3), 10, at(4));
        times.confirmed(Rank(1), 7, at(7));
        times.sent(Rank(3), at(10));
        times.confirmed(Rank(3), 5, at(12));
        times.confirmed(Rank(9), 5, at(12));
        let all = times.all();
        assert_eq!(all.iter().map(|leg| (leg.to, leg.bytes)).collect::<Vec<_>>(), [(Rank(1), 7), (Rank(3), 25)]);
        assert!((all[0].seconds - 5e-3).abs() < 1e-9 && (all[1].seconds - 5e-3).abs() < 1e-9);
    }
}
