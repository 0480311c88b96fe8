//! Messages of the ranks of a node that travel together: in which rounds, and what that takes.
//!
//! The `n^2` messages from a node with `n` ranks to another one are one *block*. With `N` nodes in a circle, block `j` of a node is for
//! the node `j` ahead, and `j` has digits in the radix `r`:
//!
//! ```text
//!   j = d_0 + d_1 r + d_2 r^2 + ...,    0 <= d_k < r
//! ```
//!
//! In round `k`, a node sends one message for each digit `z` from 1 to `r - 1`: `z r^k` nodes ahead, with all blocks that it has at
//! that time whose `k`-th digit is `z`. What arrives takes the places of what left. A block has then gone `sum d_k r^k = j` nodes. This
//! is Bruck's index algorithm with any radix (J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal and D. Weathersby, "Efficient Algorithms
//! for All-to-All Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997), between nodes in place of ranks
//! and with blocks of unequal sizes, as in TuNA (K. Fan, J. Domke, S. Ba and S. Kumar, "Configurable Non-uniform All-to-all
//! Algorithms", arXiv:2411.02581; HPDC 2025). Radix 2 takes `log2 N` rounds, in each of which half of all bytes travel; radix
//! `N` takes one round, and every byte travels once.
//!
//! # What it takes
//!
//! With `l` the latency of a message, `c` a rank's work for one, `B` the bytes that a node sends, `s` what a byte takes through
//! memory and on the node's link, and `w` ranks that carry the messages of a node,
//!
//! ```text
//!   T(r) = sum over rounds ( l + ceil(M_k / w) 2 c + s B F_k / (N - 1) )
//! ```
//!
//! for `M_k` messages with `F_k` blocks in round `k`. The radix with the least `T` is taken, the larger one of equals: it has fewer
//! rounds, and copies less.
//!
//! A message whose one block goes straight to the node that it is for is left out where the block is empty, as both nodes know. A
//! message with several blocks is always sent: other nodes' bytes may be in it. So where a node has bytes for `p` nodes only, no more
//! than `p` straight messages of a round count in `M_k`, and radix `N` takes one round of `p` messages.

use crate::model::CostModel;
use optiq_transport::combining::{CombiningSchedule, NodeMessage};

/// The messages between `nodes` nodes with this radix, from 2 on (lower ones count as 2), each node with up to `carriers` ranks that
/// carry them.
///
/// # Errors
/// Never for what this module makes; a sentence from [`CombiningSchedule::new`], which checks it.
pub fn schedule(nodes: u32, radix: u32, carriers: u32) -> Result<CombiningSchedule, String> {
    let radix = u64::from(radix.max(2));
    let mut messages = Vec::new();
    let mut step = 1u64;
    for round in 0.. {
        if step >= u64::from(nodes) {
            break;
        }
        for digit in 1..radix {
            let ahead = digit * step;
            if ahead >= u64::from(nodes) {
                break;
            }
            let blocks = (1..nodes).filter(|&j| u64::from(j) / step % radix == digit).collect();
            messages.push(NodeMessage { round, ahead: ahead as u32, blocks });
        }
        step *= radix;
    }
    CombiningSchedule::new(nodes, carriers, messages)
}

/// What a node has for others in a call, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeTraffic {
    /// Bytes that it sends to other nodes, or receives.
    pub bytes: u64,
    /// How many other nodes it has bytes for, or gets bytes from.
    pub partners: u32,
}

/// What decides about the radix.
#[derive(Clone, Copy, Debug)]
pub struct CombiningCosts {
    /// Of a message between nodes, in seconds (`l` above).
    pub latency_seconds: f64,
    /// A rank's work for a message that it sends or receives (`c`).
    pub message_seconds: f64,
    /// Of a byte, on the link of a node (`s`).
    pub byte_seconds: f64,
}

impl CombiningCosts {
    /// By a session's cost model, on links of `capacity` bytes per second.
    pub fn new(model: &CostModel, capacity: f64) -> Self {
        Self {
            latency_seconds: model.latency_seconds,
            message_seconds: model.chunk_seconds,
            byte_seconds: 1.0 / (capacity * model.mpi_link_efficiency),
        }
    }

    /// `T` above, in seconds, of nodes with this traffic.
    pub fn seconds(&self, schedule: &CombiningSchedule, traffic: NodeTraffic) -> f64 {
        let block = traffic.bytes as f64 / f64::from(schedule.nodes.saturating_sub(1).max(1));
        let round = |number: u32| {
            let (mut straight, mut others, mut blocks) = (0u32, 0, 0);
            for (at, message) in schedule.messages.iter().enumerate().filter(|(_, m)| m.round == number) {
                *(if schedule.is_straight(at) { &mut straight } else { &mut others }) += 1;
                blocks += message.blocks.len();
            }
            let turns = f64::from((others + straight.min(traffic.partners)).div_ceil(schedule.carriers));
            self.latency_seconds + 2.0 * turns * self.message_seconds + self.byte_seconds * block * blocks as f64
        };
        (0..schedule.rounds()).map(round).sum()
    }

    /// What `MPI_Alltoallv` takes where every rank sends a message to each of `others` ranks on other nodes, in seconds: a latency, the
    /// rank's work for messages that it sends and receives, and the node's link.
    pub fn plain_seconds(&self, others: u32, bytes: u64) -> f64 {
        self.latency_seconds + 2.0 * f64::from(others) * self.message_seconds + self.byte_seconds * bytes as f64
    }

    /// The radix that takes least, for nodes with this traffic, and what it takes, in seconds.
    ///
    /// # Errors
    /// As [`schedule`].
    pub fn best_radix(&self, nodes: u32, carriers: u32, traffic: NodeTraffic) -> Result<(u32, f64), String> {
        let nodes = nodes.max(2);
        let mut best = (nodes, self.seconds(&schedule(nodes, nodes, carriers)?, traffic));
        // Few radices differ in their rounds or messages by much: powers of two, and the square root.
        let root = f64::from(nodes).sqrt().ceil() as u32;
        let powers = (1..32).map(|k| 1u32 << k).take_while(|&radix| radix < nodes);
        for radix in powers.chain([root]).filter(|&radix| radix >= 2) {
            let seconds = self.seconds(&schedule(nodes, radix, carriers)?, traffic);
            if (seconds, best.0) < (best.1, radix) {
                best = (radix, seconds);
            }
        }
        Ok(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use optiq_transport::combining::{ahead, behind, pieces};
    use proptest::prelude::*;

    #[test]
    fn eight_nodes_by_hand() {
        let messages = |radix| {
            let schedule = schedule(8, radix, 1).unwrap();
            schedule.messages.iter().map(|m| (m.round, m.ahead, m.blocks.clone())).collect::<Vec<_>>()
        };
        assert_eq!(messages(2), [(0, 1, vec![1, 3, 5, 7]), (1, 2, vec![2, 3, 6, 7]), (2, 4, vec![4, 5, 6, 7])]);
        // 7 = 1 + 2 x 3: one node ahead in round 0, six in round 1.
        assert_eq!(messages(3), [(0, 1, vec![1, 4, 7]), (0, 2, vec![2, 5]), (1, 3, vec![3, 4, 5]), (1, 6, vec![6, 7])]);
        assert_eq!(messages(8), (1..8).map(|j| (0, j, vec![j])).collect::<Vec<_>>());
        assert!((0..7).all(|m| schedule(8, 8, 1).unwrap().is_straight(m)));
        assert!(schedule(1, 2, 1).unwrap().messages.is_empty());
    }

    #[test]
    fn the_radix_by_hand() {
        // Four nodes, 300 bytes each, 0.01 s a byte on the link. Radix 4: one round, 3 messages, 3 blocks of 100 bytes: l + 6 c + 3 s.
        // Radix 2: two rounds of one message with two blocks: 2 l + 4 c + 4 s.
        let costs =
            |latency_seconds, message_seconds| CombiningCosts { latency_seconds, message_seconds, byte_seconds: 0.01 };
        let close = |found: (u32, f64), radix, seconds: f64| found.0 == radix && (found.1 - seconds).abs() < 1e-9;
        let all = NodeTraffic { bytes: 300, partners: 3 };
        assert!(close(costs(1.0, 0.1).best_radix(4, 1, all).unwrap(), 4, 1.0 + 0.6 + 3.0));
        assert!(close(costs(1.0, 2.0).best_radix(4, 1, all).unwrap(), 2, 2.0 + 8.0 + 4.0));
        // Three ranks carry a message each at the same time.
        assert!(close(costs(1.0, 2.0).best_radix(4, 3, all).unwrap(), 4, 1.0 + 4.0 + 3.0));
        // Bytes for one node: radix 2 has a message in each of two rounds all the same, radix 4 one message in one round.
        let one = NodeTraffic { partners: 1, ..all };
        assert!(close(costs(1.0, 2.0).best_radix(4, 1, one).unwrap(), 4, 1.0 + 4.0 + 3.0));
        let none = NodeTraffic { bytes: 0, partners: 0 };
        assert!(close(costs(1.0, 2.0).best_radix(4, 1, none).unwrap(), 4, 1.0));
    }

    /// Carries bytes as nodes do: what every rank of every node gets, by sender.
    fn carry(schedule: &CombiningSchedule, ranks: &[usize], sent: &[Vec<Vec<u8>>]) -> Vec<Vec<Vec<u8>>> {
        let first: Vec<usize> = ranks.iter().scan(0, |next, n| Some(std::mem::replace(next, *next + n))).collect();
        let nodes = schedule.nodes;
        let block = |from: u32, to: u32| {
            let (a, b) = (from as usize, to as usize);
            pieces(ranks[a], ranks[b]).flat_map(|(d, s)| sent[first[a] + s][first[b] + d].clone()).collect::<Vec<u8>>()
        };
        let mut held: Vec<Vec<Vec<u8>>> =
            (0..nodes).map(|v| (0..nodes).map(|j| block(v, ahead(nodes, v, j))).collect()).collect();
        for round in 0..schedule.rounds() {
            let before = held.clone();
            for message in schedule.messages.iter().filter(|m| m.round == round) {
                for node in 0..nodes {
                    let into = ahead(nodes, node, message.ahead);
                    for &j in &message.blocks {
                        held[into as usize][j as usize].clone_from(&before[node as usize][j as usize]);
                    }
                }
            }
        }
        let all: usize = ranks.iter().sum();
        let mut received = vec![vec![Vec::new(); all]; all];
        for node in 0..nodes {
            for j in 0..nodes {
                let from = behind(nodes, node, j) as usize;
                let mut rest = &held[node as usize][j as usize][..];
                for (d, s) in pieces(ranks[from], ranks[node as usize]) {
                    let (sender, receiver) = (first[from] + s, first[node as usize] + d);
                    let (mine, others) = rest.split_at(sent[sender][receiver].len());
                    received[receiver][sender].extend_from_slice(mine);
                    rest = others;
                }
                assert!(rest.is_empty(), "bytes that nothing was sent for");
            }
        }
        received
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn every_byte_arrives_exactly_once(
            ranks in proptest::collection::vec(1usize..5, 1..12),
            radix in 2u32..14,
            carriers in 1u32..6,
            seed in any::<u64>(),
        ) {
            let schedule = schedule(ranks.len() as u32, radix, carriers).unwrap();
            let all: usize = ranks.iter().sum();
            let mut random = optiq_net::random::SplitMix64::new(seed);
            let mut message = || (0..random.below(4) * random.below(9)).map(|_| random.next_u64() as u8).collect::<Vec<u8>>();
            let sent: Vec<Vec<Vec<u8>>> = (0..all).map(|_| (0..all).map(|_| message()).collect()).collect();
            let received = carry(&schedule, &ranks, &sent);
            for (sender, list) in sent.iter().enumerate() {
                for (receiver, bytes) in list.iter().enumerate() {
                    prop_assert_eq!(bytes, &received[receiver][sender]);
                }
            }
            // All messages have a carrier at every node, whatever its number of ranks.
            for (number, _) in schedule.messages.iter().enumerate() {
                prop_assert!(ranks.iter().all(|&n| schedule.carrier(number, n) < n));
            }
        }

        #[test]
        fn no_radix_takes_less_than_the_best(nodes in 2u32..40, carriers in 1u32..9, bytes in 0u64..1_000_000, partners in 0u32..40, c in 1e-7f64..1e-3) {
            let traffic = NodeTraffic { bytes, partners };
            let costs = CombiningCosts { latency_seconds: 1e-4, message_seconds: c, byte_seconds: 1e-9 };
            let (_, best) = costs.best_radix(nodes, carriers, traffic).unwrap();
            for radix in (1..6).map(|k| 1u32 << k).chain([nodes]) {
                prop_assert!(costs.seconds(&schedule(nodes, radix, carriers).unwrap(), traffic) >= best - 1e-12);
            }
        }
    }
}
