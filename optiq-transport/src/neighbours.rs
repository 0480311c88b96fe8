//! The ranks that an exchange sends to: what is in flight to each, and which are known to have begun the exchange.
//!
//! Where several exchanges move at one time, a less urgent one leaves those ranks alone to which a more urgent one has chunks in flight
//! ([`Neighbours::claimed`]). Only ranks count that have begun the more urgent one. They take what was sent to them whatever else they
//! do, so that the wait is short. A rank that has not begun may first wait for the less urgent exchange, as programs may (MPI 4.0,
//! section 6.12: operations of one communicator are started in the same order, and may be completed in any).

use optiq_trace::ids::Rank;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default)]
struct Neighbour {
    /// Chunks that were sent and are not confirmed.
    in_flight: u64,
    /// Whether it has begun the exchange.
    has_begun: bool,
}

/// See the top of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Neighbours(BTreeMap<Rank, Neighbour>);

impl Neighbours {
    /// A chunk was handed over to the transport.
    pub(crate) fn sent(&mut self, to: Rank) {
        self.0.entry(to).or_default().in_flight += 1;
    }

    /// A chunk's sending is complete; `matched` if that takes a receive at the other end.
    pub(crate) fn confirmed(&mut self, to: Rank, matched: bool) {
        let neighbour = self.0.entry(to).or_default();
        neighbour.in_flight = neighbour.in_flight.saturating_sub(1);
        neighbour.has_begun |= matched;
    }

    /// Something has come from a rank, which has begun then.
    pub(crate) fn heard_from(&mut self, rank: Rank) {
        self.0.entry(rank).or_default().has_begun = true;
    }

    /// Ranks that have begun and to which chunks are in flight, ascending.
    pub(crate) fn claimed(&self) -> impl Iterator<Item = Rank> {
        self.0.iter().filter(|(_, n)| n.has_begun && n.in_flight > 0).map(|(&rank, _)| rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_claimed_once_they_have_begun_and_while_chunks_are_in_flight() {
        let claimed = |n: &Neighbours| n.claimed().map(|rank| rank.0).collect::<Vec<_>>();
        let mut neighbours = Neighbours::default();
        [2, 1, 1, 3].into_iter().for_each(|to| neighbours.sent(Rank(to)));
        assert!(claimed(&neighbours).is_empty(), "nobody is known to have begun");
        neighbours.heard_from(Rank(3));
        neighbours.confirmed(Rank(2), true);
        neighbours.confirmed(Rank(1), true);
        assert_eq!(claimed(&neighbours), [1, 3]);
        neighbours.confirmed(Rank(1), true);
        neighbours.confirmed(Rank(3), false);
        assert!(claimed(&neighbours).is_empty());
        neighbours.sent(Rank(2));
        assert_eq!(claimed(&neighbours), [2]);
        // Where a confirmation says nothing of the other end.
        neighbours.sent(Rank(4));
        neighbours.confirmed(Rank(4), false);
        neighbours.sent(Rank(4));
        assert_eq!(claimed(&neighbours), [2]);
    }
}
