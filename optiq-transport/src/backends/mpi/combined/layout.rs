//! Where what is in the memory of a node that its ranks share.
//!
//! Everything but counters is there twice: calls use the halves in turn, so that a rank that is ahead writes nothing that others
//! still read. All have left the call before last, since all have packed for the last one.

/// What each part begins at a multiple of, in bytes: a line of the caches, so that ranks do not write to each other's.
const LINE: u64 = 64;

/// Where what is, in bytes from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    nodes: u64,
    ranks: u64,
    ranks_here: u64,
    /// Room for a block of two nodes.
    pub(super) slot_bytes: u64,
    /// Room for what a rank sends.
    slice_bytes: u64,
    half_bytes: u64,
}

fn lines(bytes: u64) -> u64 {
    bytes.next_multiple_of(LINE)
}

impl Layout {
    /// Counter of ranks that have packed.
    pub(super) const PACKED: u64 = 0;
    /// What is changed to wake ranks that sleep.
    pub(super) const BELL: u64 = LINE;
    /// How many ranks sleep.
    pub(super) const SLEEPERS: u64 = 2 * LINE;
    const FLAGS: u64 = 3 * LINE;

    /// For one of the nodes with these numbers of ranks, and messages of up to `message_bytes`.
    pub(super) fn new(ranks_of: &[usize], node: usize, message_bytes: u64) -> Self {
        let most = ranks_of.iter().copied().max().unwrap_or(0) as u64;
        let ranks: u64 = ranks_of.iter().map(|&n| n as u64).sum();
        let (nodes, ranks_here) = (ranks_of.len() as u64, ranks_of[node] as u64);
        let slot_bytes = lines(most * most * message_bytes);
        let slice_bytes = lines(ranks * message_bytes);
        let mut layout = Self { nodes, ranks, ranks_here, slot_bytes, slice_bytes, half_bytes: 0 };
        layout.half_bytes = layout.slots(0) + nodes * slot_bytes - layout.half(0);
        layout
    }

    /// The most bytes of a message that may be combined, at most `asked`: a power of two for which every node's memory is at most
    /// `budget` bytes for each of its ranks, and no message between nodes as long as MPI counts. None if that is below `least`.
    pub(super) fn message_bytes(ranks_of: &[usize], budget: u64, asked: u64, least: u64) -> Option<u64> {
        let most = ranks_of.iter().copied().max()? as u64;
        let fits = |bytes: u64| {
            let longest = ranks_of.len() as u64 * (most * most * bytes + 4);
            let node = |(node, &ranks): (usize, &usize)| {
                Self::new(ranks_of, node, bytes).bytes() <= budget.saturating_mul(ranks as u64)
            };
            longest < 1 << 31 && ranks_of.iter().enumerate().all(node)
        };
        let sizes = (0..32).map(|k| 1u64 << k).take_while(|&size| size <= asked);
        sizes.filter(|&size| size >= least && fits(size)).max()
    }

    /// All of it.
    pub(super) fn bytes(&self) -> u64 {
        self.half(0) + 2 * self.half_bytes
    }

    /// Bytes at the start that must be zero before the first call.
    pub(super) fn counters(&self) -> u64 {
        self.half(0)
    }

    /// How far the block of a distance has come.
    pub(super) fn flag(&self, distance: u32) -> u64 {
        Self::FLAGS + 8 * u64::from(distance)
    }

    fn half(&self, call: u64) -> u64 {
        Self::FLAGS + lines(8 * self.nodes) + call % 2 * self.half_bytes
    }

    /// Bytes of the block of a distance (`u32`).
    pub(super) fn slot_size(&self, call: u64, distance: u32) -> u64 {
        self.half(call) + 4 * u64::from(distance)
    }

    /// Bytes that a rank of the node sends to each other one, in the order of its slice (`u32`).
    pub(super) fn sizes(&self, call: u64, local: usize) -> u64 {
        self.half(call) + lines(4 * self.nodes) + local as u64 * lines(4 * self.ranks)
    }

    /// Where in a rank's slice the messages to the node of each distance begin, and their end (`u32`).
    pub(super) fn starts(&self, call: u64, local: usize) -> u64 {
        self.sizes(call, self.ranks_here as usize) + local as u64 * lines(4 * (self.nodes + 1))
    }

    /// Bytes that a rank receives from the node of each distance behind (`u32`).
    pub(super) fn expected(&self, call: u64, local: usize) -> u64 {
        self.starts(call, self.ranks_here as usize) + local as u64 * lines(4 * self.nodes)
    }

    /// What a rank sends, by distance and rank.
    pub(super) fn slice(&self, call: u64, local: usize) -> u64 {
        self.expected(call, self.ranks_here as usize) + local as u64 * self.slice_bytes
    }

    /// The block of a distance that came from another node.
    pub(super) fn slot(&self, call: u64, distance: u32) -> u64 {
        self.slots(call) + u64::from(distance) * self.slot_bytes
    }

    fn slots(&self, call: u64) -> u64 {
        self.slice(call, self.ranks_here as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_one_behind_the_other_on_lines() {
        let ranks_of = [3, 1, 2];
        let layout = Layout::new(&ranks_of, 2, 100);
        // 3 lines of counters and one of flags; 1 line of slot sizes, 2 x 1 of sizes, starts and sums, 2 x 10 of slices (6 x 100
        // bytes), 3 x 15 of slots (9 x 100 bytes).
        assert_eq!(layout.counters(), 4 * 64);
        let line = |at: u64| at / 64 - 4;
        assert!([layout.slot(0, 2), layout.slice(1, 1), layout.expected(0, 1)].iter().all(|at| at % 64 == 0));
        assert_eq!((line(layout.slot_size(0, 0)), line(layout.sizes(0, 0)), line(layout.sizes(0, 1))), (0, 1, 2));
        assert_eq!((line(layout.starts(0, 0)), line(layout.expected(0, 0)), line(layout.slice(0, 0))), (3, 5, 7));
        assert_eq!((line(layout.slice(0, 1)), line(layout.slot(0, 0)), line(layout.slot(0, 1))), (17, 27, 42));
        assert_eq!((line(layout.slot_size(1, 0)), layout.bytes() / 64), (72, 4 + 2 * 72));
        assert_eq!(layout.slot(2, 1), layout.slot(0, 1));
    }

    #[test]
    fn messages_fit_the_budget_or_none_are_combined() {
        let ranks_of = [8; 4];
        let found = Layout::message_bytes(&ranks_of, 1 << 20, 4096, 8).unwrap();
        let bytes = |size| Layout::new(&ranks_of, 0, size).bytes();
        assert!(bytes(found) <= 8 << 20 && (found == 4096 || bytes(2 * found) > 8 << 20));
        assert_eq!(Layout::message_bytes(&ranks_of, 64 << 20, 1000, 8), Some(512));
        assert_eq!(Layout::message_bytes(&ranks_of, 1000, 4096, 8), None);
        // 128 nodes with 96 ranks, 32 MiB of each: a node's memory stays below 3 GiB.
        let large = Layout::message_bytes(&[96; 128], 32 << 20, 4096, 8).unwrap();
        assert!(large >= 256 && Layout::new(&[96; 128], 0, large).bytes() <= 3 << 30);
        // A node with one rank among large ones has little memory of its own.
        assert!(Layout::message_bytes(&[96, 1], 1 << 20, 4096, 8) < Layout::message_bytes(&[96, 96], 1 << 20, 4096, 8));
    }
}
