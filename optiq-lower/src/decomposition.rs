//! Exact timetables: a matrix of demands as a sum of stages, in each of which every port serves at most one other.
//!
//! Let `B` be the matrix of bytes, host by host, and `D` its largest row or column sum. Bytes that do not exist are added until every row
//! and column has the sum `D`. Then `B / D` is doubly stochastic, and so a sum of permutations with weights (Birkhoff and von Neumann):
//!
//! ```text
//!     B  =  sum over stages k of  d_k P_k,      sum over k of d_k  =  D,      at most n^2 - 2n + 2 stages.
//! ```
//!
//! A stage of `d_k` bytes is a perfect matching on pairs with at least as many bytes left, and ends when the first of its pairs has none. Long
//! stages come first: of pairs with at least `t` bytes, and where these have no perfect matching, `t` is halved (`BigSlice` in H. Liu, M. K.
//! Mukerjee, C. Li et al., "Scheduling Techniques for Hybrid Circuit/Packet Networks", CoNEXT 2015). Matchings are found by augmenting
//! paths (H. W. Kuhn, "The Hungarian Method for the Assignment Problem", 1955), from what the last stage left of its own: no library's
//! matching begins with one that is nearly perfect.

use crate::ports::PortLoads;
use crate::timetable::{Timetable, Turn, extend, host_numbers};
use optiq_solver::Demand;
use std::collections::BTreeMap;

/// Pairs of hosts by the bytes that are left of them.
struct Matrix {
    hosts: usize,
    /// Row by row, with those that were added.
    bytes: Vec<u64>,
    /// By receiver: the sender of this stage.
    sender_of: Vec<Option<usize>>,
}

impl Matrix {
    /// Bytes of demands, and added ones so that all rows and columns have the sum `sum`.
    fn new(hosts: usize, demands: impl Iterator<Item = (usize, usize, u64)>, sum: u64) -> Self {
        let mut bytes = vec![0; hosts * hosts];
        let (mut rows, mut columns) = (vec![sum; hosts], vec![sum; hosts]);
        for (s, d, b) in demands {
            bytes[s * hosts + d] += b;
            rows[s] -= b;
            columns[d] -= b;
        }
        let (mut s, mut d) = (0, 0);
        while s < hosts && d < hosts {
            let added = rows[s].min(columns[d]);
            bytes[s * hosts + d] += added;
            rows[s] -= added;
            columns[d] -= added;
            if rows[s] == 0 {
                s += 1;
            } else {
                d += 1;
            }
        }
        Self { hosts, bytes, sender_of: vec![None; hosts] }
    }

    /// Makes the matching one of pairs with at least `least` bytes, and perfect if it can be.
    fn rematch(&mut self, least: u64) -> bool {
        let Self { hosts, bytes, sender_of } = self;
        let mut is_matched = vec![false; *hosts];
        for (d, sender) in sender_of.iter_mut().enumerate() {
            *sender = sender.filter(|s| bytes[s * *hosts + d] >= least);
            if let Some(s) = *sender {
                is_matched[s] = true;
            }
        }
        (0..*hosts).filter(|&s| !is_matched[s]).all(|s| self.augment(s, least, &mut vec![false; self.hosts]))
    }

    /// Finds a receiver for `s`, and others for those that it takes one from.
    fn augment(&mut self, s: usize, least: u64, seen: &mut [bool]) -> bool {
        for d in 0..self.hosts {
            if seen[d] || self.bytes[s * self.hosts + d] < least {
                continue;
            }
            seen[d] = true;
            if self.sender_of[d].is_none_or(|other| self.augment(other, least, seen)) {
                self.sender_of[d] = Some(s);
                return true;
            }
        }
        false
    }
}

impl Timetable {
    /// The timetable by stages, which ends at its bound; for demands between different hosts, one for each pair.
    pub fn by_stages(demands: &[Demand]) -> Self {
        let loads = PortLoads::new(demands);
        let bound = loads.busiest();
        let number = host_numbers(&loads);
        let pairs: Vec<(usize, usize)> = demands.iter().map(|d| (number[&d.src], number[&d.dst])).collect();
        let n = number.len();
        let demand_of: BTreeMap<(usize, usize), usize> = pairs.iter().copied().zip(0..).collect();
        let mut matrix = Matrix::new(n, pairs.iter().zip(demands).map(|(&(s, d), demand)| (s, d, demand.bytes)), bound);
        let mut left: Vec<u64> = demands.iter().map(|d| d.bytes).collect();
        let mut turns: Vec<Vec<Turn>> = vec![Vec::new(); demands.len()];
        let (mut now, mut least) = (0, bound.checked_ilog2().map_or(1, |exponent| 1 << exponent));
        while now < bound {
            if !matrix.rematch(least) {
                // With 1 there is a perfect matching, as all sums are the same.
                least = (least / 2).max(1);
                continue;
            }
            let matched: Vec<(usize, usize)> =
                matrix.sender_of.iter().enumerate().filter_map(|(d, s)| Some(((*s)?, d))).collect();
            let stage = matched.iter().map(|(s, d)| matrix.bytes[s * n + d]).min().unwrap_or(bound - now);
            for (s, d) in matched {
                matrix.bytes[s * n + d] -= stage;
                let Some(&i) = demand_of.get(&(s, d)) else { continue };
                let bytes = stage.min(left[i]);
                left[i] -= bytes;
                extend(&mut turns[i], now, bytes);
            }
            now += stage;
        }
        Self { turns, ends_at: bound, bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timetable::tests::{check, demands};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn two_stages_by_hand() {
        // Host s sends 3 bytes to the next and 1 to the one after it, so that D = 4: a stage of 3 bytes, and one of 1.
        let list = demands(3, |s, d| if (s + 1) % 3 == d { 3 } else { 1 });
        let found = Timetable::by_stages(&list);
        check(&list, &found);
        assert_eq!((found.ends_at, found.bound), (4, 4));
        for (d, turns) in list.iter().zip(&found.turns) {
            let starts_at = if d.bytes == 3 { 0 } else { 3 };
            assert_eq!(*turns, [Turn { starts_at, bytes: d.bytes }]);
        }
    }

    #[test]
    fn one_busy_receiver_is_busy_all_the_time() {
        // By hand: host 0 receives 6, 5 and 4 bytes, which take 15 in any order; 1 sends 2 more to 2.
        let bytes = |s, d| match (s, d) {
            (1, 0) => 6,
            (2, 0) => 5,
            (3, 0) => 4,
            (1, 2) => 2,
            _ => 0,
        };
        let list = demands(4, bytes);
        let found = Timetable::by_stages(&list);
        check(&list, &found);
        assert_eq!(found.ends_at, 15);
        assert!(Timetable::by_stages(&[]).turns.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn stages_are_few_and_end_at_the_bound(n in 2u32..12, sizes in proptest::collection::vec(prop_oneof![Just(0u64), 1u64..5000], 144)) {
            let list = demands(n, |s, d| sizes[(s * n + d) as usize]);
            let found = Timetable::by_stages(&list);
            check(&list, &found);
            prop_assert_eq!(found.ends_at, found.bound);
            let starts: BTreeSet<u64> = found.turns.iter().flatten().map(|turn| turn.starts_at).collect();
            // Each stage ends one entry of the matrix, of which the added ones are fewer than 2 n.
            prop_assert!(starts.len() <= list.len() + 2 * n as usize);
        }
    }
}
