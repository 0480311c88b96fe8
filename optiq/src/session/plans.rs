//! The plan cache of a communicator.

use crate::Decision;
use optiq_transport::Schedule;
use std::rc::Rc;

/// What was decided for a demand set, as one rank needs it.
pub(super) struct Entry {
    pub(super) decision: Decision,
    /// This rank's part; offsets count from the start of each message, see [`super::exchange`]. `None` if plain
    /// MPI serves the demand set.
    pub(super) schedule: Option<Schedule>,
}

/// This rank's share of a demand set: bytes to and from every rank. All ranks' shares together are the demand set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) send: Vec<u64>,
    pub(super) receive: Vec<u64>,
    pub(super) send_offsets: Vec<u64>,
    pub(super) receive_offsets: Vec<u64>,
}

/// A bounded cache with the least recently used entry making room.
///
/// Entries get their numbers in the same order on all ranks, because adding one is collective; so equal numbers
/// mean the same plan. What is evicted may differ between ranks; then they do not agree on a number, and plan again.
pub(super) struct Plans {
    limit: usize,
    next: i64,
    /// Most recently used last.
    entries: Vec<(i64, Key, Rc<Entry>)>,
}

impl Plans {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), next: 1, entries: Vec::new() }
    }

    /// The number of the entry for this key, or 0.
    pub(super) fn find(&self, key: &Key) -> i64 {
        self.entries.iter().find(|e| e.1 == *key).map_or(0, |e| e.0)
    }

    /// The entry of this number, which becomes the most recently used.
    pub(super) fn take(&mut self, number: i64) -> Option<Rc<Entry>> {
        let at = self.entries.iter().position(|e| e.0 == number)?;
        let found = self.entries.remove(at);
        let entry = Rc::clone(&found.2);
        self.entries.push(found);
        Some(entry)
    }

    /// Adds an entry under the next number.
    pub(super) fn add(&mut self, key: Key, entry: Entry) -> Rc<Entry> {
        // The same key can be there under a number that another rank has evicted.
        self.entries.retain(|e| e.1 != key);
        if self.entries.len() >= self.limit {
            self.entries.remove(0);
        }
        let entry = Rc::new(entry);
        self.entries.push((self.next, key, Rc::clone(&entry)));
        self.next += 1;
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u64) -> Key {
        Key { send: vec![n], receive: vec![n], send_offsets: vec![0], receive_offsets: vec![0] }
    }

    fn entry() -> Entry {
        Entry { decision: Decision::Mpi { reason: String::new() }, schedule: None }
    }

    #[test]
    fn the_least_recently_used_makes_room() {
        let mut plans = Plans::new(2);
        plans.add(key(1), entry());
        plans.add(key(2), entry());
        assert!(plans.take(plans.find(&key(1))).is_some());
        plans.add(key(3), entry());
        assert_eq!([1, 2, 3].map(|n| plans.find(&key(n))), [1, 0, 3]);
        plans.add(key(1), entry());
        assert_eq!(plans.find(&key(1)), 4, "a new number, as on the rank that had lost it");
        assert!(plans.take(7).is_none());
    }
}
