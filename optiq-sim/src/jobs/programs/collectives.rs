//! What ranks send to whom in the phases of `stencil`, `alltoall`, `allreduce`, `alltoallv` by MPI's algorithms, and `samplesort`.
//!
//! `allreduce` is recursive doubling as R. Thakur, R. Rabenseifner and W. Gropp have it ("Optimization of Collective Communication
//! Operations in MPICH", IJHPCA 19, 2005, section 4.5): of `p` ranks, `2^k` the largest power of two that is no more, the even ones of
//! the first `2 (p - 2^k)` give what they have to their odd neighbours; in `k` steps those that are left exchange with the one whose
//! number, counted among them, differs in one bit; then the odd ones give the result back.
//!
//! `samplesort` is H. Shi and J. Schaeffer's ("Parallel sorting by regular sampling", J. Parallel and Distributed Computing 14, 1992) with
//! random samples of uniformly distributed keys: each rank sends `s` samples to rank 0, which takes every `s`-th of the
//! `p s` sorted samples as a splitter. The parts of keys between splitters are sums of `s` of the `p s` spaces between
//! order statistics of uniform draws, whose joint distribution is that of sums of `s` exponential draws over the sum of
//! all (L. Devroye, "Non-Uniform Random Variate Generation", 1986, V.3): the same draws for all ranks, since splitters are.

use super::grid;
use super::member::{Stream, stream};
use super::phases::Exchange;
use crate::workload::synthetic::minus_log;

/// To all neighbours in a grid.
pub(super) struct Stencil {
    pub(super) dims: [u32; 3],
    pub(super) bytes: u64,
}

impl Exchange for Stencil {
    fn phases(&self) -> u32 {
        1
    }

    fn phase(&self, rank: u32, _: u32, sends: &mut Vec<(u32, u64)>) -> u32 {
        let neighbours = grid::neighbours(rank, self.dims);
        sends.extend(neighbours.iter().map(|&to| (to, self.bytes)));
        neighbours.len() as u32
    }
}

/// The same to all others, those after the sender first.
pub(super) struct AllToAll {
    pub(super) ranks: u32,
    pub(super) bytes: u64,
    pub(super) pairwise: bool,
}

/// The rank at a distance, around the ring of all.
fn after(rank: u32, by: u32, ranks: u32) -> u32 {
    ((u64::from(rank) + u64::from(by)) % u64::from(ranks)) as u32
}

impl Exchange for AllToAll {
    fn phases(&self) -> u32 {
        if self.pairwise { (self.ranks - 1).max(1) } else { 1 }
    }

    fn phase(&self, rank: u32, phase: u32, sends: &mut Vec<(u32, u64)>) -> u32 {
        let Self { ranks, bytes, pairwise } = *self;
        let steps = match pairwise {
            true => phase + 1..(phase + 2).min(ranks),
            false => 1..ranks,
        };
        sends.extend(steps.clone().map(|step| (after(rank, step, ranks), bytes)));
        steps.len() as u32
    }
}

/// Recursive doubling.
pub(super) struct AllReduce {
    pub(super) ranks: u32,
    pub(super) bytes: u64,
}

impl AllReduce {
    /// How many steps the doubling has, and how many ranks are more than a power of two.
    fn shape(&self) -> (u32, u32) {
        let steps = self.ranks.max(1).ilog2();
        (steps, self.ranks.saturating_sub(1 << steps))
    }

    /// The partner of a rank in a step of the doubling; `None` for one that waits for the result.
    fn partner(rank: u32, step: u32, extra: u32) -> Option<u32> {
        let number = match rank {
            _ if rank >= 2 * extra => rank - extra,
            _ if rank % 2 == 1 => rank / 2,
            _ => return None,
        };
        let other = number ^ 1 << step;
        Some(if other < extra { 2 * other + 1 } else { other + extra })
    }
}

impl Exchange for AllReduce {
    fn phases(&self) -> u32 {
        self.shape().0 + 2
    }

    fn phase(&self, rank: u32, phase: u32, sends: &mut Vec<(u32, u64)>) -> u32 {
        let (steps, extra) = self.shape();
        let partner = match phase.checked_sub(1) {
            Some(step) if step < steps => {
                let Some(partner) = Self::partner(rank, step, extra) else { return 0 };
                sends.push((partner, self.bytes));
                return 1;
            }
            // Before and after the doubling: with the neighbour in the pair.
            _ if rank < 2 * extra => rank ^ 1,
            _ => return 0,
        };
        let gives = rank.is_multiple_of(2) == (phase == 0);
        if gives {
            sends.push((partner, self.bytes));
        }
        u32::from(!gives)
    }
}

/// Each demand, with MPI's algorithms for an alltoallv.
pub(super) struct Demands {
    ranks: u32,
    pairwise: bool,
    /// Per rank, by distance of the destination.
    sends: Vec<Vec<(u32, u64)>>,
    /// Per rank, the distances of those that send to it.
    receives: Vec<Vec<u32>>,
}

impl Demands {
    /// Of (source, destination, bytes), each pair once.
    pub(super) fn new(ranks: u32, demands: &[(u32, u32, u64)], pairwise: bool) -> Self {
        let mut all = Self {
            ranks,
            pairwise,
            sends: vec![Vec::new(); ranks as usize],
            receives: vec![Vec::new(); ranks as usize],
        };
        for &(from, to, bytes) in demands.iter().filter(|(from, to, bytes)| from != to && *bytes > 0) {
            let by = (to + ranks - from) % ranks;
            all.sends[from as usize].push((by, bytes));
            all.receives[to as usize].push(by);
        }
        all.sends.iter_mut().for_each(|list| list.sort_unstable());
        all.receives.iter_mut().for_each(|list| list.sort_unstable());
        all
    }
}

impl Exchange for Demands {
    fn phases(&self) -> u32 {
        if self.pairwise { (self.ranks - 1).max(1) } else { 1 }
    }

    fn phase(&self, rank: u32, phase: u32, sends: &mut Vec<(u32, u64)>) -> u32 {
        let (from, to) = (&self.sends[rank as usize], &self.receives[rank as usize]);
        if !self.pairwise {
            sends.extend(from.iter().map(|&(by, bytes)| (after(rank, by, self.ranks), bytes)));
            return to.len() as u32;
        }
        // Where there are no bytes, MPI's algorithm sends an empty message.
        let step = phase + 1;
        if step >= self.ranks {
            return 0;
        }
        let bytes = from.binary_search_by_key(&step, |send| send.0).map_or(0, |at| from[at].1);
        sends.push((after(rank, step, self.ranks), bytes));
        1
    }
}

/// How many samples each rank sends.
const OVERSAMPLING: u64 = 32;
/// The size of a key.
const KEY_BYTES: u64 = 8;

/// Samples to rank 0, splitters to all, buckets to their ranks.
pub(super) struct SampleSort {
    /// Per rank, what each other one sends to it.
    buckets: Vec<u64>,
}

impl SampleSort {
    /// Of ranks with `total` bytes each.
    pub(super) fn new(ranks: u32, total: u64, seed: u64) -> Self {
        let mut random = stream(seed, 0, Stream::Job);
        // Below 32 times 45 times 2^32 each.
        let parts: Vec<u64> =
            (0..ranks).map(|_| (0..OVERSAMPLING).map(|_| minus_log(random.next_u64())).sum()).collect();
        let all: u128 = parts.iter().map(|&part| u128::from(part)).sum();
        let bucket = |&part: &u64| (u128::from(total) * u128::from(part) / all.max(1)) as u64;
        Self { buckets: parts.iter().map(bucket).collect() }
    }
}

impl Exchange for SampleSort {
    fn phases(&self) -> u32 {
        3
    }

    fn phase(&self, rank: u32, phase: u32, sends: &mut Vec<(u32, u64)>) -> u32 {
        let ranks = self.buckets.len() as u32;
        match (phase, rank) {
            (0, 0) => ranks - 1,
            (0, _) => {
                sends.push((0, OVERSAMPLING * KEY_BYTES));
                0
            }
            (1, 0) => {
                sends.extend((1..ranks).map(|to| (to, u64::from(ranks - 1) * KEY_BYTES)));
                0
            }
            (1, _) => 1,
            _ => {
                let others = (1..ranks).map(|by| after(rank, by, ranks));
                sends.extend(others.map(|to| (to, self.buckets[to as usize])));
                ranks - 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who sends how much to whom in all phases; in each a rank receives as many messages as are sent to it.
    fn totals(exchange: &dyn Exchange, ranks: u32) -> Vec<(u32, u32, u64)> {
        let mut all = Vec::new();
        for phase in 0..exchange.phases() {
            let mut arriving = vec![0; ranks as usize];
            let mut expected = Vec::new();
            for rank in 0..ranks {
                let mut sends = Vec::new();
                expected.push(exchange.phase(rank, phase, &mut sends));
                for (to, bytes) in sends {
                    assert_ne!(to, rank);
                    arriving[to as usize] += 1;
                    all.push((rank, to, bytes));
                }
            }
            assert_eq!(arriving, expected, "phase {phase}");
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn all_messages_are_expected_where_they_go() {
        for ranks in [1, 2, 5, 8] {
            let pairs = u64::from(ranks) * u64::from(ranks - 1);
            for pairwise in [false, true] {
                let all = totals(&AllToAll { ranks, bytes: 7, pairwise }, ranks);
                assert_eq!(all.len() as u64, pairs);
                let given = [(0, ranks - 1, 5), (ranks / 2, 0, 9)].map(|(a, b, n)| (a, b, if a == b { 0 } else { n }));
                let mut sent = totals(&Demands::new(ranks, &given, pairwise), ranks);
                sent.retain(|message| message.2 > 0);
                let mut expected: Vec<_> = given.into_iter().filter(|message| message.2 > 0).collect();
                expected.sort_unstable();
                assert_eq!(sent, expected);
            }
        }
        assert_eq!(totals(&Stencil { dims: [2, 2, 2], bytes: 1 }, 8).len(), 24);
        assert_eq!(totals(&Stencil { dims: [3, 3, 3], bytes: 1 }, 27).len(), 27 * 6);
    }

    #[test]
    fn after_a_reduction_every_rank_knows_of_all_others() {
        for ranks in 1..=33 {
            let exchange = AllReduce { ranks, bytes: 8 };
            totals(&exchange, ranks);
            let mut known: Vec<u64> = (0..ranks).map(|rank| 1 << rank).collect();
            for phase in 0..exchange.phases() {
                let before = known.clone();
                for rank in 0..ranks {
                    let mut sends = Vec::new();
                    exchange.phase(rank, phase, &mut sends);
                    sends.iter().for_each(|&(to, _)| known[to as usize] |= before[rank as usize]);
                }
            }
            assert_eq!(known, vec![(1 << ranks) - 1; ranks as usize], "{ranks} ranks");
        }
        // Of 6 ranks two pairs fold, so that ranks 1, 3, 4 and 5 are numbers 0 to 3 of the doubling.
        let mut sends = Vec::new();
        let received: Vec<u32> =
            (0..4).map(|phase| AllReduce { ranks: 6, bytes: 8 }.phase(1, phase, &mut sends)).collect();
        assert_eq!((received, sends), (vec![1, 1, 1, 0], vec![(3, 8), (4, 8), (0, 8)]));
    }

    #[test]
    fn buckets_are_all_that_a_rank_has_and_differ_as_order_statistics() {
        let (ranks, total) = (1000, 1 << 30);
        let sort = SampleSort::new(ranks, total, 7);
        let all: u64 = sort.buckets.iter().sum();
        assert!(total - all < u64::from(ranks));
        let mean = total as f64 / f64::from(ranks);
        let variance = sort.buckets.iter().map(|&b| (b as f64 / mean - 1.0).powi(2)).sum::<f64>() / f64::from(ranks);
        // The squared coefficient of variation of a sum of s exponential draws is 1/s.
        assert!((variance * OVERSAMPLING as f64 - 1.0).abs() < 0.2, "{variance}");
        totals(&SampleSort::new(6, total, 1), 6);
    }
}
