//! Chunks of a path in sequence, which is how the scheduler wants them: MPI completes requests in any order, a short eager message
//! may overtake a longer one, and under adaptive routing anything may.

use bincode::{Decode, Encode};
use optiq_trace::ids::PathId;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Holds chunks back until all earlier ones of the same path are there.
#[derive(Debug, Default, Encode, Decode)]
pub struct InOrder {
    /// For the number of each path: the next chunk to release, and those that came too early.
    paths: BTreeMap<u32, (u64, BTreeSet<u64>)>,
}

impl InOrder {
    /// Forgets everything, for another exchange.
    pub fn clear(&mut self) {
        self.paths.clear();
    }

    /// Takes a chunk; the chunks of the path whose turn has come, which may be none.
    pub fn due(&mut self, path: PathId, sequence: u64) -> Range<u64> {
        let (next, early) = self.paths.entry(path.0).or_default();
        let first = *next;
        if sequence != first {
            early.insert(sequence);
            return first..first;
        }
        *next += 1;
        while early.remove(next) {
            *next += 1;
        }
        first..*next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_in_sequence_per_path() {
        let mut order = InOrder::default();
        let mut seen = Vec::new();
        for (path, sequence) in [(7, 1), (9, 0), (7, 0), (7, 3), (7, 2)] {
            seen.extend(order.due(PathId(path), sequence).map(|s| (path, s)));
        }
        assert_eq!(seen, [(9, 0), (7, 0), (7, 1), (7, 2), (7, 3)]);
    }
}
