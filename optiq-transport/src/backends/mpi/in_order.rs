//! MPI completes requests in any order; the scheduler wants each path's chunks in sequence.

use optiq_trace::ids::PathId;
use std::collections::{BTreeMap, BTreeSet};

/// Holds completions back until all earlier ones of the same path are there.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    /// Per path: the next number to release, and those that came too early.
    paths: BTreeMap<PathId, (u64, BTreeSet<u64>)>,
}

impl InOrder {
    pub(super) fn clear(&mut self) {
        self.paths.clear();
    }

    /// Takes a completion and calls `release` for every chunk of the path whose turn has come.
    pub(super) fn complete(&mut self, path: PathId, sequence: u64, mut release: impl FnMut(u64)) {
        let (next, early) = self.paths.entry(path).or_default();
        if sequence != *next {
            early.insert(sequence);
            return;
        }
        release(sequence);
        *next += 1;
        while early.remove(next) {
            release(*next);
            *next += 1;
        }
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
            order.complete(path, sequence, |s| seen.push((path, s)));
        }
        assert_eq!(seen, [(9, 0), (7, 0), (7, 1), (7, 2), (7, 3)]);
    }
}
