//! Receiver-driven credits: a rank that receives says which of its senders may hand over how much.
//!
//! Let rank `r` receive `b_r` bytes of the paths that receivers grant, let `M` be the bytes of the busiest link or rank and `W` the in-flight
//! limit. With `g_p` the bytes of path `p` that its sender may send and that are not here yet, `r` grants the next chunk, of `c` bytes, if
//!
//! ```text
//!     sum over the paths p that end here of g_p  +  c  <=  W b_r / M,        or nothing is to come,
//! ```
//!
//! to the path that is furthest behind its share, and of several to the next sender before the receiver. However many ranks send to one, no
//! more than about `W` bytes wait for its port. The part `b_r / M` is that of `in_flight.rs`: a rank that receives little does not hurry, and leaves
//! its senders to those that receive much; and ranks that are known to share the busiest link have `W` together.
//!
//! The same holds for a sender, with the bytes that it sends, all receivers together: fifteen receivers that each grant it a chunk would fill
//! the queue of its own port.
//!
//! The first chunks of paths need no grant as long as they fit the limit together, from the next sender before the receiver on, or each message
//! would wait for a round trip before anything moves: those are the "unscheduled" bytes of B. Montazeri, Y. Li, M. Alizadeh and J. Ousterhout,
//! "Homa: A Receiver-Driven Low-Latency Transport Protocol Using Network Priorities", SIGCOMM 2018, whose grants these are. Its receivers
//! prefer the message with the fewest bytes left, for the mean time of messages; an exchange ends with its last byte, so that shares count here.
//!
//! Granted chunks have slots at the receiver as all others do (`schedule.rs`), and both sides always let one chunk go, so that nothing deadlocks:
//! what was granted is sent in the end, arrives, and makes room for the next grant. Decision 094 has the measurements.

use crate::hop::{Granted, Hop};
use crate::path::Path;
use bincode::{Decode, Encode};
use optiq_trace::ids::{PathId, Rank};
use std::collections::{BTreeMap, BTreeSet};

/// Of each path that may be granted: its place at its receiver. `paths` are those of all ranks, ascending by their id.
pub(crate) fn places<'p>(paths: impl Iterator<Item = &'p Path>, ranks: u32) -> BTreeMap<PathId, Granted> {
    let mut order: Vec<(Rank, u32, PathId, u64)> = paths
        .filter(|path| path.legs() == 1)
        .map(|p| (p.destination(), before(p.destination(), p.source(), ranks), p.id, p.bytes))
        .collect();
    order.sort_unstable();
    let mut places = BTreeMap::new();
    for list in order.chunk_by(|a, b| a.0 == b.0) {
        let received = list.iter().fold(0, |sum: u64, &(.., bytes)| sum.saturating_add(bytes));
        places
            .extend(list.iter().zip(0..).map(|(&(.., id, _), place)| (id, Granted { place, received, unasked: None })));
    }
    places
}

/// How far a sender is before a receiver.
fn before(receiver: Rank, sender: Rank, ranks: u32) -> u32 {
    (receiver.0 + ranks - sender.0) % ranks
}

/// What one rank has granted.
#[derive(Debug, Default)]
pub(crate) struct Granting {
    /// `W` of this rank as a receiver and as a sender.
    limits: (u64, u64),
    /// This rank's number, and how many there are.
    rank: (Rank, u32),
    state: GrantingState,
}

/// What changes in the course of an exchange.
#[derive(Debug, Default, Decode, Encode)]
pub(crate) struct GrantingState {
    /// Bytes that senders may send and that are not here.
    expected: u64,
    /// Paths of which a chunk may be granted: how far behind, how far before this rank, which row and how many bytes.
    waiting: BTreeSet<(u64, u32, usize, u64)>,
    /// Bytes of granted paths that this rank has sent and that are not confirmed.
    sent: u64,
}

impl Granting {
    /// Nothing is granted; the first chunks that need no grant are to come. Of `rank` of `ranks`, with its rows and the limit of one that
    /// sends, or receives, a number of granted bytes.
    pub(crate) fn new((rank, ranks): (Rank, u32), hops: &[Hop], limit: impl Fn(u64) -> u64) -> Self {
        let granted = || hops.iter().filter(|hop| hop.is_granted());
        // At most one chunk of each.
        let first = granted().filter(|hop| hop.incoming.is_some() && hop.unasked(0) > 0).map(|hop| hop.chunk_bytes(0));
        let state = GrantingState { expected: first.fold(0, u64::saturating_add), ..GrantingState::default() };
        let bytes = |here: fn(&Hop) -> bool| {
            granted().filter(|hop| here(hop)).fold(0, |sum: u64, hop| sum.saturating_add(hop.bytes))
        };
        let limits = (limit(bytes(|hop| hop.incoming.is_some())), limit(bytes(|hop| hop.outgoing.is_some())));
        Self { limits, rank: (rank, ranks), state }
    }

    /// A chunk of `bytes` of the path in row `i` may be granted when its turn comes, the earlier the smaller `behind` is; again changes
    /// nothing.
    pub(crate) fn offer(&mut self, i: usize, hop: &Hop, (behind, bytes): (u64, u64)) {
        let (rank, ranks) = self.rank;
        self.state.waiting.insert((behind, before(rank, hop.source, ranks), i, bytes));
    }

    /// The row of the path of which a chunk is granted now.
    pub(crate) fn poll(&mut self) -> Option<usize> {
        let &(.., i, bytes) = self.state.waiting.first()?;
        let expected = self.state.expected.saturating_add(bytes);
        if self.state.expected > 0 && expected > self.limits.0 {
            return None;
        }
        self.state.waiting.pop_first();
        self.state.expected = expected;
        Some(i)
    }

    /// A chunk of a granted path is here.
    pub(crate) fn received(&mut self, bytes: u64) {
        self.state.expected -= bytes;
    }

    /// Whether this rank may send a chunk of a granted path.
    pub(crate) fn may_send(&self, bytes: u64) -> bool {
        self.state.sent == 0 || self.state.sent.saturating_add(bytes) <= self.limits.1
    }

    /// A chunk of a granted path leaves.
    pub(crate) fn sends(&mut self, bytes: u64) {
        self.state.sent += bytes;
    }

    /// A chunk of a granted path that this rank sent is confirmed.
    pub(crate) fn confirmed(&mut self, bytes: u64) {
        self.state.sent -= bytes;
    }

    pub(crate) fn state(&self) -> &GrantingState {
        &self.state
    }

    pub(crate) fn restore(&mut self, state: GrantingState) {
        self.state = state;
    }

    #[cfg(test)]
    pub(crate) fn expected_and_sent(&self) -> (u64, u64) {
        (self.state.expected, self.state.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::Granting;
    use crate::chunk::ChunkRule;
    use crate::hop::Granted;
    use crate::path::Path;
    use crate::schedule::Schedule;
    use crate::schedule_options::{Grants, ScheduleOptions};
    use crate::scheduler::{QueueOrder, Scheduler};
    use optiq_trace::ids::{PathId, Rank};

    fn path(id: u32, ranks: &[u32], bytes: u64, starts_at: Option<u64>) -> Path {
        let ranks = ranks.iter().map(|&r| Rank(r)).collect();
        let destination_offset = u64::from(id) * 1000;
        Path { id: PathId(id), ranks, bytes, source_offset: 0, destination_offset, starts_at, class: 0 }
    }

    fn options() -> ScheduleOptions {
        ScheduleOptions {
            chunk: ChunkRule::Fixed(100),
            grants: Grants::Always,
            in_flight_limit: 250,
            ..ScheduleOptions::default()
        }
    }

    fn credits(scheduler: &mut Scheduler<Schedule>) -> Vec<u32> {
        let found = std::iter::from_fn(|| scheduler.poll_credit()).map(|c| (c.path.0, c.chunks)).collect::<Vec<_>>();
        assert!(found.iter().all(|&(_, chunks)| chunks == 1));
        scheduler.check_invariants();
        found.into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn a_receiver_grants_to_who_is_furthest_behind_within_one_limit() {
        // Rank 2 receives 400, 200 and 50 bytes from 0, 1 and 3, in chunks of 100, and of 50 from 3. Rank 1 is the next before it, then 0:
        // two chunks of 100 fit 250, and so do three of 50, so that 250 bytes come unasked.
        let paths = [path(0, &[0, 2], 400, None), path(1, &[1, 2], 200, None), path(2, &[3, 2], 50, None)];
        let mut receiver =
            Scheduler::new(Schedule::new(Rank(2), 4, &paths, &options()).unwrap(), QueueOrder::default());
        while receiver.poll_post().is_some() {}
        assert!(credits(&mut receiver).is_empty(), "250 bytes are to come");
        receiver.handle_received(PathId(2), 0).unwrap();
        assert!(credits(&mut receiver).is_empty(), "200 are, and 100 more would be 300");
        receiver.handle_received(PathId(1), 0).unwrap();
        assert_eq!(credits(&mut receiver), [0], "a quarter of path 0 is granted, half of path 1");
        receiver.handle_received(PathId(0), 0).unwrap();
        assert_eq!(credits(&mut receiver), [1], "half of either: rank 1 is the next before 2");
        receiver.handle_received(PathId(0), 1).unwrap();
        receiver.handle_received(PathId(1), 1).unwrap();
        assert_eq!(credits(&mut receiver), [0, 0], "nothing else is to come");
        receiver.handle_received(PathId(0), 2).unwrap();
        receiver.handle_received(PathId(0), 3).unwrap();
        assert!(credits(&mut receiver).is_empty() && receiver.is_done());
    }

    #[test]
    fn no_more_begins_unasked_than_fits_the_limit() {
        // Five ranks send to rank 2, the fourth of which would have the fourth chunk of 100 in 350 bytes.
        let paths: Vec<Path> =
            [3, 4, 5, 0, 1].iter().zip(0..).map(|(&from, id)| path(id, &[from, 2], 400, None)).collect();
        let begin = |schedule: &Schedule| schedule.hops().iter().map(|hop| hop.unasked(9)).collect::<Vec<u64>>();
        let schedule =
            Schedule::new(Rank(2), 6, &paths, &ScheduleOptions { in_flight_limit: 350, ..options() }).unwrap();
        // By hand: 1, 0, 5 are the next before rank 2.
        assert_eq!(begin(&schedule), [0, 0, 1, 1, 1]);
        assert_eq!(Granting::new((Rank(2), 6), schedule.hops(), |bytes| bytes).expected_and_sent(), (300, 0));
        let of_one = Granted { place: 4, received: 0, unasked: None };
        let begins = [(500, 100), (499, 100), (200, 40)].map(|(limit, chunk)| of_one.within(limit, chunk).unasked);
        assert_eq!(begins, [Some(1), Some(0), Some(1)]);
        assert_eq!(Granted { place: 0, received: 0, unasked: None }.within(0, 100).unasked, Some(1), "one always does");
    }

    #[test]
    fn a_sender_sends_what_may_come_unasked_and_what_is_granted() {
        let paths = [path(0, &[0, 1], 300, None), path(1, &[0, 2, 1], 300, None), path(2, &[0, 3], 300, Some(0))];
        let options = ScheduleOptions { in_flight_limit: 300, ahead: 300, ..options() };
        let mut sender = Scheduler::new(Schedule::new(Rank(0), 4, &paths, &options).unwrap(), QueueOrder::default());
        let sent = |scheduler: &mut Scheduler<Schedule>| {
            let mut list: Vec<u32> =
                std::iter::from_fn(|| scheduler.poll_transmit()).map(|t| t.header.path.0).collect();
            list.sort_unstable();
            list
        };
        assert_eq!(sent(&mut sender), [0, 1, 1, 1, 2, 2, 2], "forwarded and timed paths are as ever");
        sender.handle_credit(PathId(0), 1).unwrap();
        // By hand: of 900 bytes that it sends 300 are granted ones, so that 100 of 300 may be in flight.
        assert_eq!(sent(&mut sender), [0; 0]);
        sender.handle_sent(PathId(0), 0).unwrap();
        assert_eq!(sent(&mut sender), [0]);
        let unexpected = sender.handle_credit(PathId(0), 2).unwrap_err().to_string();
        assert!(unexpected.contains("2 credits for path 0"), "{unexpected}");
        sender.check_invariants();
    }

    #[test]
    fn ranks_that_receive_little_grant_little() {
        // Rank 3 receives 900 bytes and 4 receives 300: of 600 bytes in flight the one has all, and the other a third.
        let paths = [path(0, &[0, 3], 900, None), path(1, &[1, 4], 300, None)];
        let options = ScheduleOptions { in_flight_limit: 600, ..options() };
        let granted = |rank: u32| {
            let schedule = Schedule::new(Rank(rank), 5, &paths, &options).unwrap();
            credits(&mut Scheduler::new(schedule, QueueOrder::default())).len()
        };
        // One chunk of each is unasked.
        assert_eq!([granted(3), granted(4)], [5, 1]);
        // On a link that carries 1,800 bytes, the ranks behind it have that together.
        let options = ScheduleOptions { busiest: 1800, ..options };
        let schedule = Schedule::new(Rank(3), 5, &paths, &options).unwrap();
        assert_eq!(credits(&mut Scheduler::new(schedule, QueueOrder::default())), [0, 0]);
    }

    #[test]
    fn no_more_is_in_flight_to_all_receivers_together_than_to_one() {
        // Five receivers, each of which takes a chunk of 100 unasked; 250 bytes hold two.
        let paths: Vec<Path> = (0..5).map(|id| path(id, &[0, id + 1], 100, None)).collect();
        let mut sender = Scheduler::new(Schedule::new(Rank(0), 6, &paths, &options()).unwrap(), QueueOrder::default());
        let leaving = |sender: &mut Scheduler<Schedule>| {
            let list: Vec<u32> = std::iter::from_fn(|| sender.poll_transmit()).map(|t| t.header.path.0).collect();
            sender.check_invariants();
            list
        };
        assert_eq!(leaving(&mut sender), [0, 1]);
        sender.handle_sent(PathId(1), 0).unwrap();
        assert_eq!(leaving(&mut sender), [2]);
        sender.handle_sent(PathId(0), 0).unwrap();
        sender.handle_sent(PathId(2), 0).unwrap();
        assert_eq!(leaving(&mut sender), [3, 4]);
    }
}
