//! The ring of records.

use crate::record::Record;

/// A ring that drops its oldest record when it is full.
#[derive(Debug)]
pub(crate) struct Ring {
    records: Vec<Record>,
    pub(crate) capacity: usize,
    /// The oldest one, once the ring is full.
    oldest: usize,
}

impl Ring {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { records: Vec::with_capacity(capacity), capacity, oldest: 0 }
    }

    /// Adds a record; returns the one that it dropped.
    #[inline]
    pub(crate) fn push(&mut self, record: Record) -> Option<Record> {
        if self.records.len() < self.capacity {
            self.records.push(record);
            return None;
        }
        let gone = std::mem::replace(&mut self.records[self.oldest], record);
        self.oldest = (self.oldest + 1) % self.capacity;
        Some(gone)
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// All records, oldest first.
    pub(crate) fn in_order(&mut self) -> &[Record] {
        self.records.rotate_left(self.oldest);
        self.oldest = 0;
        &self.records
    }

    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.oldest = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{NO_PEER, PathId};
    use crate::record::EventKind;

    fn numbered(time: u64) -> Record {
        let (kind, cause, peer) = (EventKind::Sent, None, NO_PEER);
        let path = PathId::default();
        Record { time, duration: 0, sequence: 0, bytes: 0, call: 0, path, peer, kind, cause }
    }

    #[test]
    fn the_oldest_record_is_dropped() {
        let mut ring = Ring::new(3);
        let gone: Vec<Option<u64>> = (0..5).map(|t| ring.push(numbered(t)).map(|r| r.time)).collect();
        assert_eq!(gone, [None, None, None, Some(0), Some(1)]);
        assert_eq!(ring.in_order().iter().map(|r| r.time).collect::<Vec<_>>(), [2, 3, 4]);
        // A ring that was read goes on in order.
        assert_eq!(ring.push(numbered(5)).map(|r| r.time), Some(2));
        assert_eq!(ring.in_order().iter().map(|r| r.time).collect::<Vec<_>>(), [3, 4, 5]);
        ring.clear();
        assert_eq!((ring.push(numbered(6)), ring.len()), (None, 1));
    }

    #[test]
    fn a_ring_is_allocated_once() {
        let mut ring = Ring::new(100);
        let place = ring.records.as_ptr();
        for t in 0..1000 {
            ring.push(numbered(t));
        }
        assert_eq!((ring.records.as_ptr(), ring.len()), (place, 100));
    }
}
