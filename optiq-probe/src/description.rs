//! What probes send, to whom and when: the same for programs of the simulator and programs of MPI.
//!
//! Where the source's text and its pseudo-code differ, the text holds: CompressionB sends all messages of a round, sleeps once, and waits
//! for all of them; sleeps are times, as the published numbers of cycles are times at the clock of the published machine.

use crate::constants::{
    COMPRESSION_MESSAGE_BYTES, CYCLES_PER_NANOSECOND, IMPACT_INTERVAL_NANOSECONDS, IMPACT_MESSAGE_BYTES,
};
use crate::error::ProbeError;
use std::collections::BTreeMap;

/// ImpactB: a ping-pong between paired nodes, now and then; its sample is half of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImpactB {
    /// Bytes of a message, in both directions.
    pub message_bytes: u64,
    /// From the end of an exchange to the start of the next one.
    pub interval_nanoseconds: u64,
}

impl Default for ImpactB {
    fn default() -> Self {
        Self { message_bytes: IMPACT_MESSAGE_BYTES, interval_nanoseconds: IMPACT_INTERVAL_NANOSECONDS }
    }
}

/// CompressionB: each process sends to those on the nodes before its own in a ring, sleeps, waits for all messages, and begins again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressionB {
    /// To how many nodes a process sends: P.
    pub partners: u32,
    /// How many messages to each: M.
    pub messages: u32,
    /// Bytes of a message.
    pub message_bytes: u64,
    /// From the start of a round to the start of the next one, or longer if messages are not over by then: B, in time.
    pub sleep_nanoseconds: u64,
}

/// A link probe: messages from one host to another, along the one path between them, now and then; its sample is the time of a message in
/// that direction alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkProbe {
    /// Bytes of a message.
    pub message_bytes: u64,
    /// From the arrival of a message to the next one.
    pub interval_nanoseconds: u64,
}

impl Default for LinkProbe {
    fn default() -> Self {
        let ImpactB { message_bytes, interval_nanoseconds } = ImpactB::default();
        Self { message_bytes, interval_nanoseconds }
    }
}

impl CompressionB {
    /// With messages of the published size, and a sleep in cycles of the published machine.
    pub fn of_cycles(partners: u32, messages: u32, cycles: f64) -> Self {
        let sleep_nanoseconds = (cycles / CYCLES_PER_NANOSECOND).round() as u64;
        Self { partners, messages, message_bytes: COMPRESSION_MESSAGE_BYTES, sleep_nanoseconds }
    }

    /// All configurations with these partners, messages and sleeps in cycles of the published machine; the partners change fastest.
    pub fn all(partners: &[u32], messages: &[u32], cycles: &[f64]) -> Vec<Self> {
        let mut all = Vec::with_capacity(partners.len() * messages.len() * cycles.len());
        for &cycles in cycles {
            for &messages in messages {
                all.extend(partners.iter().map(|&partners| Self::of_cycles(partners, messages, cycles)));
            }
        }
        all
    }

    /// What a node with this number of such processes sends in a second at most, in bytes, if messages take no time.
    pub fn offered_bytes_per_second(&self, processes_per_node: u32) -> f64 {
        let round = u64::from(self.partners) * u64::from(self.messages) * u64::from(processes_per_node);
        round as f64 * self.message_bytes as f64 / (self.sleep_nanoseconds as f64 / 1e9)
    }

    /// A name: `P4 M10 B96154ns`.
    pub fn name(&self) -> String {
        format!("P{} M{} B{}ns", self.partners, self.messages, self.sleep_nanoseconds)
    }
}

/// Whom a process of ImpactB exchanges messages with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partner {
    /// Its rank.
    pub rank: u32,
    /// Whether this process begins, and times.
    pub begins: bool,
}

/// Ranks by node, nodes in the order in which they come first.
fn by_node(nodes: &[u32]) -> Vec<Vec<u32>> {
    let mut places: BTreeMap<u32, usize> = BTreeMap::new();
    let mut ranks: Vec<Vec<u32>> = Vec::new();
    for (rank, node) in (0..).zip(nodes) {
        let place = *places.entry(*node).or_insert_with(|| {
            ranks.push(Vec::new());
            ranks.len() - 1
        });
        ranks[place].push(rank);
    }
    ranks
}

/// The partner of each rank of ImpactB, from the node of each: the first node is paired with the second, the third with the fourth, and
/// of two such nodes the first rank with the first, the second with the second. The last of an odd number of nodes has none, and so has a
/// rank without a counterpart.
///
/// # Errors
/// [`ProbeError::Description`]: all ranks on one node, where no message would pass the network.
pub fn pair_up(nodes: &[u32]) -> Result<Vec<Option<Partner>>, ProbeError> {
    let by_node = by_node(nodes);
    if by_node.len() < 2 {
        let text = format!("found probes on {} node; at least two nodes are expected", by_node.len());
        return Err(ProbeError::Description(text));
    }
    let mut partners = vec![None; nodes.len()];
    for pair in by_node.chunks_exact(2) {
        for (&even, &odd) in pair[0].iter().zip(&pair[1]) {
            partners[even as usize] = Some(Partner { rank: odd, begins: true });
            partners[odd as usize] = Some(Partner { rank: even, begins: false });
        }
    }
    Ok(partners)
}

/// The rings of CompressionB: processes with the same place on their nodes are one ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rings {
    by_node: Vec<Vec<u32>>,
    /// Of each rank: its node's place, and its own on it.
    places: Vec<(usize, usize)>,
    partners: u32,
}

impl Rings {
    /// From the node of each rank.
    ///
    /// # Errors
    /// [`ProbeError::Description`]: nodes with different numbers of ranks; no more nodes than partners, so that a process would send to
    /// itself.
    pub fn new(nodes: &[u32], partners: u32) -> Result<Self, ProbeError> {
        let by_node = by_node(nodes);
        let wrong = |text: String| Err(ProbeError::Description(text));
        if by_node.len() <= partners as usize || partners == 0 {
            let found = format!("found {partners} partners on {} nodes", by_node.len());
            return wrong(format!("{found}; at least one and fewer than there are nodes are expected"));
        }
        if let Some(other) = by_node.iter().find(|ranks| ranks.len() != by_node[0].len()) {
            let found = format!("found nodes with {} and with {} ranks", by_node[0].len(), other.len());
            return wrong(format!("{found}; the same number on each is expected"));
        }
        let mut places = vec![(0, 0); nodes.len()];
        for (node, ranks) in by_node.iter().enumerate() {
            ranks.iter().enumerate().for_each(|(place, &rank)| places[rank as usize] = (node, place));
        }
        Ok(Self { by_node, places, partners })
    }

    /// To which ranks a rank sends: those on the nodes before its own, the nearest first. As many send to it.
    pub fn destinations(&self, rank: u32) -> impl Iterator<Item = u32> + '_ {
        let (node, place) = self.places[rank as usize];
        let nodes = self.by_node.len();
        (1..=self.partners as usize).map(move |by| self.by_node[(node + nodes - by) % nodes][place])
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.by_node.len()
    }

    /// To how many ranks each sends.
    pub fn partners(&self) -> u32 {
        self.partners
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nodes_are_paired_in_order() {
        // Two ranks on each of three nodes: 0 and 1 with 2 and 3; the third node has no partner.
        let found = pair_up(&[7, 7, 3, 3, 9, 9]).unwrap();
        let to = |rank, begins| Some(Partner { rank, begins });
        assert_eq!(found, [to(2, true), to(3, true), to(0, false), to(1, false), None, None]);
        let refused = pair_up(&[5, 5, 5]).unwrap_err().to_string();
        assert_eq!(refused, "found probes on 1 node; at least two nodes are expected");
    }

    #[test]
    fn rings_by_hand() {
        // Ranks by core on four nodes: 0, 2, 4, 6 are a ring. Rank 0 sends to the nodes before: 6, then 4.
        let rings = Rings::new(&[0, 0, 1, 1, 2, 2, 3, 3], 2).unwrap();
        assert_eq!(rings.destinations(0).collect::<Vec<_>>(), [6, 4]);
        assert_eq!(rings.destinations(5).collect::<Vec<_>>(), [3, 1]);
        let refused = |nodes: &[u32], partners| Rings::new(nodes, partners).unwrap_err().to_string();
        assert!(refused(&[0, 1], 2).starts_with("found 2 partners on 2 nodes"));
        assert!(refused(&[0, 1], 0).starts_with("found 0 partners"));
        assert!(refused(&[0, 0, 1], 1).contains("2 and with 1 ranks"));
    }

    #[test]
    fn forty_configurations_and_their_times() {
        let all = CompressionB::all(&[1, 4, 7, 14, 17], &[1, 10], &[2.5e4, 2.5e5, 2.5e6, 2.5e7]);
        assert_eq!(all.len(), 40);
        // 25,000 cycles at 2.6 GHz are 9,615 ns; 2 processes with 17 messages of 40 KiB in that time are 144.8 GB/s.
        assert_eq!(all[4].name(), "P17 M1 B9615ns");
        assert!((all[4].offered_bytes_per_second(2) / 1e9 - 144.84).abs() < 0.01);
        assert_eq!(all[39].sleep_nanoseconds, 9_615_385);
    }

    proptest! {
        #[test]
        fn as_many_come_as_go(nodes in 2..20u32, cores in 1..4u32, partners in 1..19u32) {
            prop_assume!(partners < nodes);
            let places: Vec<u32> = (0..nodes * cores).map(|rank| rank / cores).collect();
            let rings = Rings::new(&places, partners).unwrap();
            let mut received = vec![0; places.len()];
            for rank in 0..nodes * cores {
                for to in rings.destinations(rank) {
                    prop_assert!(places[to as usize] != places[rank as usize] && to % cores == rank % cores);
                    received[to as usize] += 1;
                }
            }
            prop_assert!(received.iter().all(|&count| count == partners));
        }
    }
}
