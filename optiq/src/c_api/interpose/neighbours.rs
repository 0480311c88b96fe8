//! The neighbours of a communicator with a topology, and exchanges with them as exchanges with all ranks.
//!
//! # The mapping
//!
//! `MPI_Neighbor_alltoallv` (MPI 3.1, section 7.6.3) at rank `r` sends block `k`, of `c_k` elements at `b_k`, to its destination `d_k`, and
//! receives block `l` from its source `s_l`. The lists are those of `MPI_Dist_graph_neighbors` or `MPI_Graph_neighbors`; in a Cartesian
//! topology they are the lower and the upper neighbour in each dimension, `MPI_PROC_NULL` where it ends, in both lists. That is
//! `MPI_Alltoallv` with `C[d_k] = c_k` and `B[d_k] = b_k`, and `C[p] = 0` for every other rank `p`, if
//!
//! - no rank is in a list twice, as both are where a periodic dimension has one or two ranks;
//! - `d` is among the destinations of `r` exactly if `r` is among the sources of `d`.
//!
//! The first is a rank's own business. Of the second all ranks learn by a sum: with a hash `h` of pairs of ranks, and lists that are sets,
//! `sum_r (sum_k h(r, d_k) - sum_l h(s_l, r)) = 0` modulo `2^64` if the lists agree, and else with a probability of `2^-64`. In a Cartesian topology
//! and in a graph every rank knows all lists, so that it asks no other; in a distributed graph one reduction tells, once.

use optiq_transport::mpi::{ffi, in_place, quietly};
use parking_lot::{Mutex, MutexGuard};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// What is known of a communicator's neighbours: values of its verdict.
const UNKNOWN: u8 = 0;
const FIT: u8 = 1;
const UNFIT: u8 = 2;

/// The array of one side in the program's terms: which rank each block is for, and who has none.
#[derive(Debug, Default)]
struct Peers {
    /// Blocks, with those of `MPI_PROC_NULL`.
    blocks: usize,
    /// The block and the rank of each neighbour.
    ranks: Vec<(usize, usize)>,
}

impl Peers {
    /// Reads a list; `None` if it has something other than ranks and `MPI_PROC_NULL`, or a rank twice.
    fn new(list: &[c_int], ranks: usize, proc_null: c_int) -> Option<Self> {
        let mut is_there = vec![false; ranks];
        let mut peers = Self { blocks: list.len(), ranks: Vec::with_capacity(list.len()) };
        for (block, &peer) in list.iter().enumerate().filter(|&(_, &peer)| peer != proc_null) {
            let peer = usize::try_from(peer).ok()?;
            if std::mem::replace(is_there.get_mut(peer)?, true) {
                return None;
            }
            peers.ranks.push((block, peer));
        }
        Some(peers)
    }

    /// Puts a number of each block where its rank is.
    fn expand(&self, block: impl Fn(usize) -> c_int, into: &mut [c_int]) {
        for &(at, rank) in &self.ranks {
            into[rank] = block(at);
        }
    }
}

/// Counts and displacements as `MPI_Alltoallv` has them: of what is sent, then of what is received.
pub(super) type Expanded = [Vec<c_int>; 4];

/// One side of a call among neighbours.
#[derive(Clone, Copy)]
pub(super) enum SideBlocks {
    /// Counts and displacements, an element for each neighbour.
    Each(*const c_int, *const c_int),
    /// As many elements for each, one block behind the other.
    Same(c_int),
}

/// The neighbours of a communicator, as this rank has them.
pub(super) struct Neighbours {
    destinations: Peers,
    sources: Peers,
    ranks: usize,
    /// Whether this rank's own lists have one to one what `MPI_Alltoallv` has.
    is_own_fit: bool,
    /// What this rank adds to the sum that is 0 if lists agree.
    difference: u64,
    /// Whether calls can be served: the same on all ranks.
    verdict: AtomicU8,
    /// Zeros except for neighbours, for whom every call writes: none before the first call.
    expanded: Mutex<Expanded>,
}

impl Neighbours {
    /// Of a communicator that MPI has accepted; `None` if it has no topology. Local.
    pub(super) fn of(comm: ffi::MPI_Comm, ranks: usize) -> Option<Self> {
        let (mut kind, mut me) = (0, 0);
        // SAFETY: out-parameters; constants of the library that is linked.
        let (proc_null, cartesian, graph, distributed) = unsafe {
            ffi::PMPI_Topo_test(comm, &mut kind);
            ffi::PMPI_Comm_rank(comm, &mut me);
            (ffi::RSMPI_PROC_NULL, ffi::RSMPI_CART, ffi::RSMPI_GRAPH, ffi::RSMPI_DIST_GRAPH)
        };
        let me = usize::try_from(me).ok()?;
        // SAFETY: a communicator with this topology.
        unsafe {
            if kind == cartesian {
                let list = cartesian_neighbours(comm, proc_null);
                Some(Self::new([&list, &list], ranks, me, proc_null, Some(true)))
            } else if kind == graph {
                let lists: Vec<_> = (0..ranks).map(|rank| graph_neighbours(comm, rank)).collect();
                Some(Self::new([&lists[me], &lists[me]], ranks, me, proc_null, Some(is_symmetric(&lists, proc_null))))
            } else if kind == distributed {
                let [destinations, sources] = distributed_neighbours(comm);
                Some(Self::new([&destinations, &sources], ranks, me, proc_null, None))
            } else {
                None
            }
        }
    }

    /// Of the lists of destinations and of sources; `fits` if all ranks' lists are known.
    fn new(lists: [&[c_int]; 2], ranks: usize, me: usize, proc_null: c_int, fits: Option<bool>) -> Self {
        let [destinations, sources] = lists.map(|list| Peers::new(list, ranks, proc_null));
        let is_own_fit = destinations.is_some() && sources.is_some();
        let verdict = match fits {
            Some(fits) if fits && is_own_fit => FIT,
            Some(_) => UNFIT,
            None => UNKNOWN,
        };
        let or_none = |peers: Option<Peers>, list: &[c_int]| {
            peers.filter(|_| is_own_fit).unwrap_or(Peers { blocks: list.len(), ranks: Vec::new() })
        };
        let (destinations, sources) = (or_none(destinations, lists[0]), or_none(sources, lists[1]));
        let out = destinations.ranks.iter().fold(0u64, |sum, p| sum.wrapping_add(hash(me, p.1)));
        let difference = sources.ranks.iter().fold(out, |sum, p| sum.wrapping_sub(hash(p.1, me)));
        let verdict = AtomicU8::new(verdict);
        Self { destinations, sources, ranks, is_own_fit, difference, verdict, expanded: Mutex::default() }
    }

    /// Blocks that are sent, and blocks that are received, those of `MPI_PROC_NULL` among them.
    pub(super) fn blocks(&self) -> [usize; 2] {
        [self.destinations.blocks, self.sources.blocks]
    }

    /// Whether it is known that calls can be served.
    pub(super) fn are_fit(&self) -> bool {
        self.verdict.load(Relaxed) == FIT
    }

    /// Whether it is known that they cannot.
    pub(super) fn are_unfit(&self) -> bool {
        self.verdict.load(Relaxed) == UNFIT
    }

    /// Whether calls can be served: the same on all ranks. Collective, if it is not known; `None` if MPI fails.
    pub(super) fn agree(&self, comm: ffi::MPI_Comm) -> Option<bool> {
        if self.verdict.load(Relaxed) == UNKNOWN {
            let [unfit, difference] = all_sum(comm, [u64::from(!self.is_own_fit), self.difference])?;
            self.verdict.store(if unfit == 0 && difference == 0 { FIT } else { UNFIT }, Relaxed);
        }
        Some(self.are_fit())
    }

    /// Elements that are sent, and elements that are received.
    ///
    /// # Safety
    /// Arrays of as many elements as there are blocks.
    pub(super) unsafe fn elements(&self, sides: [SideBlocks; 2]) -> [u64; 2] {
        let both = [(&self.destinations, sides[0]), (&self.sources, sides[1])];
        both.map(|(peers, side)| {
            let count = |block: usize| match side {
                // SAFETY: by this function's contract.
                SideBlocks::Each(counts, _) => unsafe { *counts.add(block) },
                SideBlocks::Same(count) => count,
            };
            peers.ranks.iter().map(|&(block, _)| count(block).max(0) as u64).sum()
        })
    }

    /// The arrays of a call in the terms of `MPI_Alltoallv`, which stay as they are until the guard is gone. `None` if a displacement is
    /// beyond what it counts to.
    ///
    /// # Safety
    /// Arrays of as many elements as there are blocks.
    pub(super) unsafe fn expand(&self, sides: [SideBlocks; 2]) -> Option<MutexGuard<'_, Expanded>> {
        let mut expanded = self.expanded.lock();
        expanded.iter_mut().for_each(|list| list.resize(self.ranks, 0));
        let both = [(&self.destinations, sides[0]), (&self.sources, sides[1])];
        for ((peers, side), lists) in both.into_iter().zip(expanded.chunks_exact_mut(2)) {
            match side {
                SideBlocks::Each(counts, displacements) => {
                    // SAFETY: by this function's contract.
                    peers.expand(|block| unsafe { *counts.add(block) }, &mut lists[0]);
                    // SAFETY: as above.
                    peers.expand(|block| unsafe { *displacements.add(block) }, &mut lists[1]);
                }
                SideBlocks::Same(count) => {
                    let last = c_int::try_from(peers.blocks.saturating_sub(1)).ok()?;
                    last.checked_mul(count)?;
                    peers.expand(|_| count, &mut lists[0]);
                    peers.expand(|block| block as c_int * count, &mut lists[1]);
                }
            }
        }
        Some(expanded)
    }
}

/// A number for a pair of ranks: from, to.
fn hash(from: usize, to: usize) -> u64 {
    let [from, to] = [from, to].map(|rank| (rank as u64).to_le_bytes());
    xxhash_rust::xxh3::xxh3_64(&[from, to].concat())
}

/// Whether every rank is among its neighbours' neighbours, and none twice, where all ranks' lists are known.
fn is_symmetric(lists: &[Vec<c_int>], proc_null: c_int) -> bool {
    let mut difference = 0u64;
    for (rank, list) in lists.iter().enumerate() {
        let Some(peers) = Peers::new(list, lists.len(), proc_null) else { return false };
        for &(_, peer) in &peers.ranks {
            difference = difference.wrapping_add(hash(rank, peer)).wrapping_sub(hash(peer, rank));
        }
    }
    difference == 0
}

/// # Safety
/// A communicator with a Cartesian topology.
unsafe fn cartesian_neighbours(comm: ffi::MPI_Comm, proc_null: c_int) -> Vec<c_int> {
    let mut dimensions: c_int = 0;
    // SAFETY: an out-parameter; by this function's contract.
    unsafe { ffi::PMPI_Cartdim_get(comm, &mut dimensions) };
    let mut list = vec![proc_null; 2 * dimensions.max(0) as usize];
    for (dimension, pair) in list.chunks_exact_mut(2).enumerate() {
        let (lower, upper) = pair.split_at_mut(1);
        // SAFETY: as above.
        unsafe { ffi::PMPI_Cart_shift(comm, dimension as c_int, 1, lower.as_mut_ptr(), upper.as_mut_ptr()) };
    }
    list
}

/// # Safety
/// A communicator with a graph, of more than `rank` ranks.
unsafe fn graph_neighbours(comm: ffi::MPI_Comm, rank: usize) -> Vec<c_int> {
    let mut degree: c_int = 0;
    // SAFETY: an out-parameter, and an array of the length that MPI has said; by this function's contract.
    unsafe {
        ffi::PMPI_Graph_neighbors_count(comm, rank as c_int, &mut degree);
        let mut list = vec![0; degree.max(0) as usize];
        ffi::PMPI_Graph_neighbors(comm, rank as c_int, list.len() as c_int, list.as_mut_ptr());
        list
    }
}

/// Destinations and sources.
///
/// # Safety
/// A communicator with a distributed graph.
unsafe fn distributed_neighbours(comm: ffi::MPI_Comm) -> [Vec<c_int>; 2] {
    let (mut sources, mut destinations, mut weighted): (c_int, c_int, c_int) = (0, 0, 0);
    // SAFETY: out-parameters, and arrays of the lengths that MPI has said; by this function's contract.
    unsafe {
        ffi::PMPI_Dist_graph_neighbors_count(comm, &mut sources, &mut destinations, &mut weighted);
        let [mut from, mut from_weights, mut to, mut to_weights] =
            [sources, sources, destinations, destinations].map(|length| vec![0; length.max(0) as usize]);
        ffi::PMPI_Dist_graph_neighbors(
            comm,
            sources,
            from.as_mut_ptr(),
            from_weights.as_mut_ptr(),
            destinations,
            to.as_mut_ptr(),
            to_weights.as_mut_ptr(),
        );
        [to, from]
    }
}

/// The sums over all ranks, modulo 2^64, on the program's communicator; `None` if MPI fails.
fn all_sum<const N: usize>(comm: ffi::MPI_Comm, mut words: [u64; N]) -> Option<[u64; N]> {
    // SAFETY: a valid communicator; as many words as there are.
    let code = unsafe {
        let (kind, sum) = (ffi::RSMPI_UINT64_T, ffi::RSMPI_SUM);
        let into = words.as_mut_ptr().cast::<c_void>();
        quietly(comm, || ffi::PMPI_Allreduce(in_place(), into, N as c_int, kind, sum, comm))
    };
    code.is_ok_and(|code| code == ffi::MPI_SUCCESS as c_int).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROC_NULL: c_int = -2;

    fn distributed(destinations: &[c_int], sources: &[c_int], ranks: usize, me: usize) -> Neighbours {
        Neighbours::new([destinations, sources], ranks, me, PROC_NULL, None)
    }

    #[test]
    fn blocks_are_put_where_their_ranks_are() {
        // Rank 1 of 5: sends to 4, MPI_PROC_NULL and 0, and receives from 3.
        let n = distributed(&[4, PROC_NULL, 0], &[3], 5, 1);
        assert_eq!(n.blocks(), [3, 1]);
        let (counts, displacements, received, into) = ([7, 100, 2], [10, 1000, 3], [5], [6]);
        let each = [
            SideBlocks::Each(counts.as_ptr(), displacements.as_ptr()),
            SideBlocks::Each(received.as_ptr(), into.as_ptr()),
        ];
        // SAFETY: arrays of three and of one.
        unsafe {
            assert_eq!(n.elements(each), [9, 5]);
            let all = n.expand(each).unwrap();
            assert_eq!(all[0], [2, 0, 0, 0, 7]);
            assert_eq!(all[1], [3, 0, 0, 0, 10]);
            assert_eq!(all[2], [0, 0, 0, 5, 0]);
            assert_eq!(all[3], [0, 0, 0, 6, 0]);
        }
        // Nothing of the call before is left over. MPI_PROC_NULL has its place in the buffer.
        let same = [SideBlocks::Same(11), SideBlocks::Same(4)];
        // SAFETY: no arrays.
        unsafe {
            assert_eq!(n.elements(same), [22, 4]);
            let all = n.expand(same).unwrap();
            assert_eq!(all[0], [11, 0, 0, 0, 11]);
            assert_eq!(all[1], [22, 0, 0, 0, 0]);
            assert_eq!((&all[2][..], &all[3][..]), (&[0, 0, 0, 4, 0][..], &[0; 5][..]));
            drop(all);
            assert!(n.expand([SideBlocks::Same(c_int::MAX / 2 + 1), SideBlocks::Same(0)]).is_none());
        }
    }

    #[test]
    fn a_rank_without_neighbours_reads_no_arrays() {
        let n = distributed(&[], &[], 3, 0);
        let nothing = SideBlocks::Each(std::ptr::null(), std::ptr::null());
        // SAFETY: there are no blocks.
        unsafe {
            assert_eq!(n.elements([nothing; 2]), [0, 0]);
            assert!(n.expand([nothing; 2]).unwrap().iter().all(|list| list == &[0, 0, 0]));
        }
    }

    /// What the reduction of [`Neighbours::agree`] finds.
    fn sums(all: &[Neighbours]) -> [u64; 2] {
        let unfit = all.iter().map(|n| u64::from(!n.is_own_fit)).sum();
        [unfit, all.iter().fold(0u64, |sum, n| sum.wrapping_add(n.difference))]
    }

    #[test]
    fn lists_agree_if_every_destination_has_its_source() {
        // 0 -> 1, 0 -> 2, 1 -> 2, 2 -> 2.
        let good = [([1, 2].to_vec(), vec![]), (vec![2], vec![0]), (vec![2], vec![1, 0, 2])];
        let of = |lists: &[(Vec<c_int>, Vec<c_int>)]| {
            let of_rank = |(rank, (to, from)): (usize, &(Vec<c_int>, Vec<c_int>))| distributed(to, from, 3, rank);
            lists.iter().enumerate().map(of_rank).collect::<Vec<_>>()
        };
        assert_eq!(sums(&of(&good)), [0, 0]);
        let mut wrong = good.clone();
        wrong[2].1.pop();
        assert_ne!(sums(&of(&wrong))[1], 0, "2 does not expect what it sends itself");
        // As many destinations as sources, of other pairs.
        let mut wrong = good.clone();
        (wrong[1].0, wrong[1].1) = (vec![0], vec![0]);
        assert_ne!(sums(&of(&wrong))[1], 0);
        let mut twice = good.clone();
        twice[0].0 = vec![1, 2, 1];
        assert_eq!(sums(&of(&twice))[0], 1, "one rank knows");
        let mut beyond = good;
        beyond[0].0 = vec![1, 3];
        assert_eq!(sums(&of(&beyond))[0], 1);
    }

    #[test]
    fn what_every_rank_knows_needs_no_agreement() {
        let cartesian = |list: &[c_int]| Neighbours::new([list, list], 6, 0, PROC_NULL, Some(true));
        // Rank 0 of 2 x 3, without and with periods: the first dimension has two ranks.
        assert!(cartesian(&[PROC_NULL, 3, PROC_NULL, 1]).are_fit());
        assert!(cartesian(&[PROC_NULL, 3, 2, 1]).are_fit());
        let twice = cartesian(&[3, 3, 2, 1]);
        assert!(twice.are_unfit() && twice.blocks() == [4, 4]);
        assert!(is_symmetric(&[vec![1, 2], vec![0], vec![0]], PROC_NULL));
        assert!(!is_symmetric(&[vec![1, 2], vec![0], vec![]], PROC_NULL));
        assert!(!is_symmetric(&[vec![1, 1], vec![0, 0], vec![]], PROC_NULL));
        assert!(!is_symmetric(&[vec![1], vec![2], vec![0]], PROC_NULL), "a ring in one direction");
    }
}
