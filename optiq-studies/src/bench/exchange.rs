//! Buffers and counts of one rank, and whether what arrived is right.

use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use optiq_lower::placement::Placement;
use optiq_solver::Demand;
use optiq_transport::Rank;

/// After how many bytes the contents of buffers repeat; a prime, so that chunks do not.
const PERIOD: usize = 251;

/// Buffers and counts of one rank; one byte per element.
pub struct Exchange {
    pub send: Vec<u8>,
    pub send_counts: Vec<usize>,
    pub send_displacements: Vec<usize>,
    pub receive: Vec<u8>,
    pub receive_counts: Vec<usize>,
    pub receive_displacements: Vec<usize>,
    /// Per sender, the displacement in its send buffer of what it sends to this rank.
    theirs: Vec<usize>,
}

/// Two periods of what `source` sends: the byte at `offset` is that at `offset % PERIOD`.
fn contents(source: Rank) -> [u8; 2 * PERIOD] {
    std::array::from_fn(|i| (source.index().wrapping_mul(131).wrapping_add(i.wrapping_mul(7)) % PERIOD) as u8)
}

/// `parts` numbers that sum to `bytes` and differ by 1 at most; the larger first.
fn evenly(bytes: usize, parts: usize) -> impl Iterator<Item = usize> {
    let (least, more) = (bytes / parts, bytes % parts);
    (0..parts).map(move |i| least + usize::from(i < more))
}

/// For rank `rank`: bytes to and from every rank. Demands between hosts are carried by the first rank of each, or else
/// spread evenly over all pairs of their ranks.
///
/// # Errors
/// A sentence for a host without ranks.
pub fn counts(
    demands: &[Demand],
    placement: &Placement,
    rank: Rank,
    all_ranks: bool,
) -> Result<(Vec<usize>, Vec<usize>), String> {
    let ranks = placement.len();
    let (mut send_counts, mut receive_counts) = (vec![0; ranks], vec![0; ranks]);
    for demand in demands {
        let on = |host| {
            let ranks = placement.ranks(host);
            let none = || format!("no rank runs on host {}, which the demands name", host.0);
            let used = if all_ranks { ranks } else { ranks.get(..1).unwrap_or_default() };
            if used.is_empty() { Err(none()) } else { Ok(used) }
        };
        let (from, to) = (on(demand.src)?, on(demand.dst)?);
        let bytes = usize::try_from(demand.bytes).map_err(|_| too_large())?;
        let pairs = from.iter().flat_map(|src| to.iter().map(move |dst| (*src, *dst)));
        for ((src, dst), bytes) in pairs.zip(evenly(bytes, from.len() * to.len())) {
            if rank == src {
                send_counts[dst.index()] += bytes;
            }
            if rank == dst {
                receive_counts[src.index()] += bytes;
            }
        }
    }
    for list in [&send_counts, &receive_counts] {
        list.iter()
            .try_fold(0usize, |sum, &c| sum.checked_add(c))
            .filter(|&sum| sum <= i32::MAX as usize)
            .ok_or_else(too_large)?;
    }
    Ok((send_counts, receive_counts))
}

pub fn too_large() -> String {
    "MPI_Alltoallv counts to 2^31 - 1 bytes per buffer; choose a smaller message".into()
}

impl Exchange {
    /// Buffers for [`counts`] at this rank of the job; collective.
    pub fn in_job(world: &SimpleCommunicator, counts: (Vec<usize>, Vec<usize>)) -> Self {
        Self::new(counts, Rank(world.rank() as u32), |mine| {
            let mut theirs = vec![0i64; mine.len()];
            world.all_to_all_into(mine, &mut theirs[..]);
            theirs
        })
    }

    /// Buffers for [`counts`]; `swap` gives every rank one number of this one's and returns those for this one.
    pub fn new(
        (send_counts, receive_counts): (Vec<usize>, Vec<usize>),
        rank: Rank,
        swap: impl FnOnce(&[i64]) -> Vec<i64>,
    ) -> Self {
        let displacements = |counts: &[usize]| {
            counts
                .iter()
                .scan(0, |next, &c| {
                    let at = *next;
                    *next += c;
                    Some(at)
                })
                .collect::<Vec<usize>>()
        };
        let (send_displacements, receive_displacements) = (displacements(&send_counts), displacements(&receive_counts));
        // One byte more than is used: an empty vector's address is the value of MPI_IN_PLACE in Open MPI.
        let pattern = contents(rank);
        let send: Vec<u8> =
            pattern[..PERIOD].iter().copied().cycle().take(send_counts.iter().sum::<usize>() + 1).collect();
        let receive = vec![0; receive_counts.iter().sum::<usize>() + 1];
        let theirs = swap(&send_displacements.iter().map(|&d| d as i64).collect::<Vec<_>>());
        let theirs = theirs.into_iter().map(|d| d as usize).collect();
        Self { send, send_counts, send_displacements, receive, receive_counts, receive_displacements, theirs }
    }

    /// Whether every byte is what its sender's buffer holds.
    pub fn is_right(&self) -> bool {
        (0..self.receive_counts.len()).all(|source| {
            let (at, count) = (self.receive_displacements[source], self.receive_counts[source]);
            let pattern = contents(Rank(source as u32));
            let first = self.theirs[source] % PERIOD;
            let expected = &pattern[first..first + PERIOD];
            self.receive[at..at + count].chunks(PERIOD).all(|chunk| chunk == &expected[..chunk.len()])
        })
    }

    /// Overwrites what was received.
    pub fn clear(&mut self) {
        self.receive.fill(u8::MAX);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use optiq_lower::placement::PlacementRule;
    use optiq_net::{Network, NodeId};

    fn placement(per_host: u32) -> Placement {
        let net = Network::from_spec("star:3").unwrap();
        let names = vec![String::new(); 3 * per_host as usize];
        Placement::new(&net, &names, &PlacementRule::Ranks { per_host }).unwrap()
    }

    #[test]
    fn demands_are_spread_over_all_pairs_of_ranks() {
        let demands = [Demand::new(NodeId(0), NodeId(2), 10), Demand::new(NodeId(1), NodeId(2), 4)];
        // 10 bytes over the 4 pairs of ranks 0, 1 with 4, 5: 3, 3, 2, 2. 4 bytes over those of 2, 3: 1 each.
        let placement = placement(2);
        let of = |rank, all| counts(&demands, &placement, Rank(rank), all).unwrap();
        assert_eq!(of(0, true).0, [0, 0, 0, 0, 3, 3]);
        assert_eq!(of(1, true).0, [0, 0, 0, 0, 2, 2]);
        assert_eq!(of(4, true).1, [3, 2, 1, 1, 0, 0]);
        assert_eq!(of(4, false).1, [10, 0, 4, 0, 0, 0]);
        assert_eq!(of(5, false).1, [0; 6]);
    }

    #[test]
    fn too_many_bytes_are_refused() {
        let demands = [Demand::new(NodeId(0), NodeId(1), 1 << 31)];
        assert!(counts(&demands, &placement(1), Rank(0), false).unwrap_err().contains("2^31"));
        assert!(counts(&demands, &placement(1), Rank(2), false).is_ok());
    }

    #[test]
    fn a_wrong_byte_is_seen() {
        let mut exchange = Exchange::new((vec![700, 0], vec![0, 600]), Rank(0), |_| vec![0, 300]);
        assert!(!exchange.is_right());
        // In the send buffer of rank 1, the bytes for rank 0 begin at 300.
        let theirs = contents(Rank(1));
        (0..600).for_each(|i| exchange.receive[i] = theirs[(300 + i) % PERIOD]);
        assert!(exchange.is_right());
        exchange.receive[599] ^= 1;
        assert!(!exchange.is_right());
        exchange.clear();
        assert!(exchange.receive.iter().all(|&b| b == u8::MAX));
        // 252 and 508 bytes on, the pattern is another.
        assert_eq!((exchange.send[252], exchange.send[251]), (7, 0));
    }
}
