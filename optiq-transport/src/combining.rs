//! What nodes send each other where the messages of their ranks travel together, and how a block of them is laid out.
//!
//! The *block* of two nodes is all that the ranks of the one send to those of the other. A node keeps its blocks by distance: block
//! `j` is for the node `j` ahead, counted around the circle of all nodes. A message takes the blocks of some distances a fixed number
//! of nodes ahead, where they go on or stay; how they are chosen, `optiq_lower::combining` says. All nodes send the same messages, so
//! that this is the schedule of every one of them.

/// A message from every node to the one that is `ahead` of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMessage {
    /// Messages of one round do not wait for each other.
    pub round: u32,
    /// How many nodes ahead it goes, from 1 to the number of nodes less 1.
    pub ahead: u32,
    /// The distances whose blocks it takes, ascending.
    pub blocks: Vec<u32>,
}

/// See the top of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CombiningSchedule {
    /// Number of nodes.
    pub nodes: u32,
    /// Ranks of a node that carry messages, at least 1; nodes with fewer ranks have that many carriers.
    pub carriers: u32,
    /// In the order of rounds.
    pub messages: Vec<NodeMessage>,
    /// The messages that take the block of each distance, by number, in the order of their rounds; none for distance 0.
    moves: Vec<Vec<u32>>,
}

impl CombiningSchedule {
    /// Of messages in the order of rounds.
    ///
    /// # Errors
    /// A sentence if a block would not get to the node that it is for.
    pub fn new(nodes: u32, carriers: u32, messages: Vec<NodeMessage>) -> Result<Self, String> {
        let mut moves = vec![Vec::new(); nodes as usize];
        let mut gone = vec![0u32; nodes as usize];
        let mut last_round = vec![None; nodes as usize];
        for (number, message) in (0..).zip(&messages) {
            for &block in &message.blocks {
                let distance = block as usize;
                if block == 0 || block >= nodes {
                    return Err(format!("message {number} takes block {block}, and there are {nodes} nodes"));
                }
                if last_round[distance] >= Some(message.round) {
                    return Err(format!("message {number} takes block {block} in the round in which another one does"));
                }
                last_round[distance] = Some(message.round);
                gone[distance] += message.ahead;
                moves[distance].push(number);
            }
        }
        match (0..).zip(&gone).find(|(distance, gone)| distance != *gone) {
            Some((distance, gone)) => Err(format!("block {distance} is taken {gone} nodes ahead")),
            None => Ok(Self { nodes, carriers: carriers.max(1), messages, moves }),
        }
    }

    /// Which of a node's `ranks` ranks carries a message.
    pub fn carrier(&self, message: usize, ranks: usize) -> usize {
        message % ranks.min(self.carriers as usize).max(1)
    }

    /// Number of rounds.
    pub fn rounds(&self) -> u32 {
        self.messages.last().map_or(0, |m| m.round + 1)
    }

    /// The round in which a block arrives where it is for.
    pub fn last_round(&self, block: u32) -> u32 {
        self.moves[block as usize].last().map_or(0, |&m| self.messages[m as usize].round)
    }

    /// The round in which a block came to the node from which a message takes it; none if it is the node's own.
    pub fn round_before(&self, message: usize, block: u32) -> Option<u32> {
        let moves = &self.moves[block as usize];
        let at = moves.iter().position(|&m| m as usize == message)?;
        let before = moves.get(at.checked_sub(1)?)?;
        Some(self.messages[*before as usize].round)
    }

    /// Whether a message takes one block only, which goes from the node whose it is to the node that it is for, so that its size is
    /// known at both ends.
    pub fn is_straight(&self, message: usize) -> bool {
        let message = &self.messages[message];
        matches!(message.blocks[..], [block] if block == message.ahead)
    }
}

/// The node `distance` ahead of `node` in a circle of `nodes`.
pub fn ahead(nodes: u32, node: u32, distance: u32) -> u32 {
    (node + distance) % nodes
}

/// The node `distance` behind `node` in a circle of `nodes`, of which there are more.
pub fn behind(nodes: u32, node: u32, distance: u32) -> u32 {
    (node + nodes - distance) % nodes
}

/// The pieces of a block from a node with `senders` ranks to one with `receivers`, in order: (receiver, sender), each counted within its
/// node. All that a receiver gets lies together.
pub fn pieces(senders: usize, receivers: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..receivers).flat_map(move |receiver| (0..senders).map(move |sender| (receiver, sender)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(round: u32, ahead: u32, blocks: &[u32]) -> NodeMessage {
        NodeMessage { round, ahead, blocks: blocks.to_vec() }
    }

    #[test]
    fn four_nodes_in_two_rounds() {
        let schedule = CombiningSchedule::new(4, 2, vec![message(0, 1, &[1, 3]), message(1, 2, &[2, 3])]).unwrap();
        assert_eq!((schedule.rounds(), schedule.last_round(1), schedule.last_round(3)), (2, 0, 1));
        assert_eq!(
            (schedule.round_before(0, 3), schedule.round_before(1, 3), schedule.round_before(1, 2)),
            (None, Some(0), None)
        );
        assert!(!schedule.is_straight(0));
        assert_eq!((ahead(4, 3, 2), behind(4, 1, 2)), (1, 3));
        assert_eq!((schedule.carrier(1, 8), schedule.carrier(1, 1), schedule.carrier(2, 8)), (1, 0, 0));
    }

    #[test]
    fn blocks_that_do_not_get_there_are_refused() {
        let refused = |messages| CombiningSchedule::new(3, 1, messages).unwrap_err();
        assert_eq!(refused(vec![message(0, 1, &[1])]), "block 2 is taken 0 nodes ahead");
        assert!(refused(vec![message(0, 1, &[3])]).contains("there are 3 nodes"));
        assert!(refused(vec![message(0, 1, &[1, 2]), message(0, 1, &[2])]).contains("in the round in which"));
    }
}
