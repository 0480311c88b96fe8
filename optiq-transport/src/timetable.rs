//! In step with a timetable: who sends to whom when, without clocks, barriers or messages of its own.
//!
//! A *timetable* gives direct paths a start, counted in bytes that a port has carried by then. At each rank the paths that it
//! sends follow each other, and so do those that it receives: chunk `k` of a path that starts at `s` leaves from
//! `s + k c` to `s + (k + 1) c`, with chunks of `c` bytes. Let `e` be the end of the oldest chunk that a rank has not yet
//! sent and seen confirmed, or not yet received. It may send a chunk that starts at `t` if
//!
//! ```text
//!     t  <  e + ahead
//! ```
//!
//! So a rank that is ahead waits for those whose bytes it was to have by then, which are the ranks that it would disturb: where
//! several ranks send to one port at the same time, its queue grows until packets are lost. `MPI_Sendrecv` in a ring of pairs
//! does the same for messages of one size (pairwise exchange; R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of
//! Collective Communication Operations in MPICH", IJHPCA 19(1), 2005, 3.4); here sizes may differ, several chunks may be on the
//! way, and a rank that has nothing to receive at a time does not wait.
//!
//! Nothing deadlocks: paths of a timetable do not overlap at their sender or at their receiver ([`check`]), so a chunk waits only
//! for chunks that end before it starts. The chunk with the earliest end among those that
//! are not done waits for none of the timetable, and once sent it arrives, since its receiver has posted the receive
//! (`schedule.rs`). Paths without a start wait for nothing here, and nothing here waits for them.

use crate::error::TransportError;
use crate::hop::Hop;
use crate::path::Path;
use optiq_trace::ids::{PathId, Rank};

/// Whether the timetable of these paths can be kept: only direct paths are in it, and a rank neither sends nor receives two of them
/// at one time.
///
/// # Errors
/// [`TransportError::BadPath`].
pub(crate) fn check(paths: &[&Path]) -> Result<(), TransportError> {
    let bad = |path: PathId, what: String| Err(TransportError::BadPath { path, what });
    let mut stretches: Vec<(bool, Rank, u64, u64, PathId)> = Vec::new();
    for path in paths {
        let Some(start) = path.starts_at else { continue };
        let Some(end) = start.checked_add(path.bytes).filter(|_| path.ranks.len() == 2) else {
            return bad(
                path.id,
                "has a start in a timetable, where only direct paths have one, below byte 2^64".into(),
            );
        };
        stretches
            .extend([(false, path.source(), start, end, path.id), (true, path.destination(), start, end, path.id)]);
    }
    stretches.sort_unstable();
    match stretches.windows(2).find(|w| (w[0].0, w[0].1) == (w[1].0, w[1].1) && w[1].2 < w[0].3) {
        Some(w) => bad(w[1].4, format!("overlaps path {} in the timetable of rank {}", w[0].4, w[0].1)),
        None => Ok(()),
    }
}

/// One side of a rank: what it sends by the timetable, or what it receives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    /// Hops, ascending by start.
    hops: Vec<usize>,
    /// The number in `hops` of the first that is not done. It only saves looking at the ones before it again.
    oldest: usize,
}

impl Side {
    pub(crate) fn new(hops: &[Hop], belongs: impl Fn(&Hop) -> bool) -> Self {
        let timed = hops.iter().enumerate().filter(|(_, hop)| hop.starts_at.is_some() && belongs(hop));
        let mut order: Vec<(Option<u64>, usize)> = timed.map(|(i, hop)| (hop.starts_at, i)).collect();
        order.sort_unstable();
        Self { hops: order.into_iter().map(|(_, i)| i).collect(), oldest: 0 }
    }

    /// The hop whose turn it is, and whether it has one; hops of which all chunks are `done` are passed.
    pub(crate) fn turn(&mut self, hops: &[Hop], done: impl Fn(usize) -> u64) -> Option<usize> {
        while let Some(&i) = self.hops.get(self.oldest) {
            if done(i) < hops[i].chunks() {
                return Some(i);
            }
            self.oldest += 1;
        }
        None
    }
}

/// The start of a chunk, in bytes; `None` for a path without a place in the timetable.
pub(crate) fn start_of(hop: &Hop, sequence: u64) -> Option<u64> {
    hop.starts_at.map(|start| start.saturating_add(sequence.saturating_mul(hop.chunk)))
}

/// The end of a chunk, in bytes.
pub(crate) fn end_of(hop: &Hop, sequence: u64) -> u64 {
    start_of(hop, sequence).unwrap_or(0).saturating_add(hop.chunk)
}

#[cfg(test)]
mod tests {
    use crate::path::Path;
    use crate::schedule::Schedule;
    use crate::schedule_options::ScheduleOptions;
    use crate::scheduler::{QueueOrder, Scheduler};
    use crate::{ChunkRule, PathId, Rank};

    fn path(id: u32, ranks: &[u32], bytes: u64, starts_at: Option<u64>) -> Path {
        let ranks = ranks.iter().map(|&r| Rank(r)).collect();
        Path { id: PathId(id), ranks, bytes, source_offset: 0, destination_offset: 0, starts_at, class: 0 }
    }

    fn options(ahead: u64) -> ScheduleOptions {
        ScheduleOptions { chunk: ChunkRule::Fixed(100), ahead, ..ScheduleOptions::default() }
    }

    /// The paths whose chunks leave now.
    fn leaving(scheduler: &mut Scheduler<Schedule>) -> Vec<(u32, u64)> {
        std::iter::from_fn(|| scheduler.poll_transmit()).map(|t| (t.header.path.0, t.header.sequence)).collect()
    }

    #[test]
    fn a_rank_waits_for_what_it_was_to_have_by_then() {
        // Rank 0 sends 200 bytes to 1, then 100 to 2; 2 sends it 100 in the first half of that time.
        let paths = [path(0, &[0, 1], 200, Some(0)), path(1, &[0, 2], 100, Some(200)), path(2, &[2, 0], 100, Some(0))];
        let at =
            |ahead| Scheduler::new(Schedule::new(Rank(0), 3, &paths, &options(ahead)).unwrap(), QueueOrder::default());
        // By hand: the oldest chunk ends at 100, so what starts below 100 + ahead may go.
        assert_eq!(leaving(&mut at(0)), [(0, 0)]);
        assert_eq!(leaving(&mut at(1)), [(0, 0), (0, 1)]);
        assert_eq!(leaving(&mut at(101)), [(0, 0), (0, 1), (1, 0)]);
        let mut scheduler = at(0);
        while scheduler.poll_post().is_some() {}
        leaving(&mut scheduler);
        scheduler.handle_sent(PathId(0), 0).unwrap();
        assert_eq!(leaving(&mut scheduler), [], "2's chunk is not here");
        scheduler.handle_received(PathId(2), 0).unwrap();
        assert_eq!(leaving(&mut scheduler), [(0, 1)]);
        scheduler.handle_sent(PathId(0), 1).unwrap();
        assert_eq!(leaving(&mut scheduler), [(1, 0)], "nothing more is to come");
    }

    #[test]
    fn a_timetable_in_which_a_rank_does_two_things_at_once_is_refused() {
        let error = |paths: &[Path]| Schedule::new(Rank(0), 3, paths, &options(0)).unwrap_err().to_string();
        let senders = error(&[path(0, &[0, 1], 100, Some(0)), path(4, &[0, 2], 100, Some(99))]);
        assert!(
            senders.contains("path 4") && senders.contains("overlaps path 0 in the timetable of rank 0"),
            "{senders}"
        );
        let receivers = error(&[path(0, &[0, 2], 100, Some(0)), path(4, &[1, 2], 100, Some(0))]);
        assert!(receivers.contains("timetable of rank 2"), "{receivers}");
        let forwarded = error(&[path(0, &[0, 1, 2], 100, Some(0))]);
        assert!(forwarded.contains("only direct paths"), "{forwarded}");
    }
}
