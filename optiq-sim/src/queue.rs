//! The event queue: a calendar of buckets (R. Brown, "Calendar Queues: A Fast O(1) Priority Queue Implementation for the
//! Simulation Event Set Problem", CACM 31(10), 1988), of which only the one at hand is sorted.
//!
//! Events come out in the order of (time, key), and no two have the same; so the order does not depend on the width of the
//! buckets, which follows the density of events.

use crate::time::Time;
use bincode::{Decode, Encode};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens: when, at which component (its number and, below 2^32, what there), and a value for whoever
/// handles it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub(crate) struct Event {
    pub(crate) time: Time,
    pub(crate) key: u64,
    pub(crate) payload: u32,
}

/// Asks the processor to fetch the first cache line of a thing.
#[inline]
pub(crate) fn prefetch<T>(thing: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the address is that of a reference, and fetching a line changes nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(thing).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = thing;
}

const BUCKETS: usize = 4096;
const MASK: u64 = BUCKETS as u64 - 1;
/// Events of a bucket, on average, between which the width stays.
const FEWEST: usize = 4;
const MOST: usize = 24;

/// See the top of the file.
#[derive(Debug)]
pub(crate) struct Queue {
    /// A bucket is 2^shift picoseconds wide.
    shift: u32,
    /// The number of the bucket at hand.
    now: u64,
    /// Its events, the next one last.
    current: Vec<Event>,
    /// Its events that came after it was sorted.
    late: BinaryHeap<Reverse<Event>>,
    /// Those of the buckets behind it, each at its number modulo `BUCKETS`.
    ring: Vec<Vec<Event>>,
    /// Bit `b` of word `w`: bucket 64 w + b of the ring has events.
    used: Vec<u64>,
    in_ring: usize,
    /// Events behind the ring.
    far: BinaryHeap<Reverse<Event>>,
    /// Memory of buckets that are empty, the last one used first: a bucket of its own would be out of the caches each time.
    spare: Vec<Vec<Event>>,
    /// Buckets and events since the width was last looked at.
    buckets_done: usize,
    events_done: usize,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            shift: 14,
            now: 0,
            current: Vec::new(),
            late: BinaryHeap::new(),
            ring: vec![Vec::new(); BUCKETS],
            used: vec![0; BUCKETS / 64],
            in_ring: 0,
            far: BinaryHeap::new(),
            spare: Vec::new(),
            buckets_done: 0,
            events_done: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.current.len() + self.late.len() + self.in_ring + self.far.len()
    }

    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        let bucket = event.time >> self.shift;
        if bucket <= self.now {
            self.late.push(Reverse(event));
        } else if bucket - self.now < BUCKETS as u64 {
            self.put((bucket & MASK) as usize, event);
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// All events, in no order.
    pub(crate) fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let waiting = self.late.iter().chain(self.far.iter()).map(|Reverse(event)| event);
        waiting.chain(&self.current).chain(self.ring.iter().flatten()).copied()
    }

    /// Into a bucket of the ring.
    #[inline]
    fn put(&mut self, at: usize, event: Event) {
        let (word, bit) = (&mut self.used[at / 64], 1 << (at % 64));
        if *word & bit == 0 {
            *word |= bit;
            self.ring[at] = self.spare.pop().unwrap_or_default();
        }
        self.ring[at].push(event);
        self.in_ring += 1;
    }

    /// Of the events of the bucket at hand, the one behind the next `n`, if there are so many.
    #[inline]
    pub(crate) fn ahead(&self, n: usize) -> Option<&Event> {
        let at = self.current.len().checked_sub(n + 1)?;
        self.current.get(at)
    }

    /// When the next event is.
    pub(crate) fn next_time(&mut self) -> Option<Time> {
        self.settle().then(|| match (self.current.last(), self.late.peek()) {
            (Some(a), Some(Reverse(b))) => a.min(b).time,
            (Some(event), None) | (None, Some(Reverse(event))) => event.time,
            (None, None) => Time::MAX,
        })
    }

    /// The next event, if it is before `end`.
    #[inline]
    pub(crate) fn pop_before(&mut self, end: Time) -> Option<Event> {
        if !self.settle() {
            return None;
        }
        let late = match (self.current.last(), self.late.peek()) {
            (Some(a), Some(Reverse(b))) => b < a,
            (a, _) => a.is_none(),
        };
        let time = if late { self.late.peek().map(|Reverse(e)| e.time) } else { self.current.last().map(|e| e.time) };
        if time.is_none_or(|time| time >= end) {
            return None;
        }
        self.events_done += 1;
        if late { self.late.pop().map(|Reverse(event)| event) } else { self.current.pop() }
    }

    /// Goes on to the next bucket that has events if the one at hand has none left; whether there are any.
    #[inline]
    fn settle(&mut self) -> bool {
        if !self.current.is_empty() || !self.late.is_empty() {
            return true;
        }
        self.advance()
    }

    fn advance(&mut self) -> bool {
        self.buckets_done += 1;
        if self.buckets_done >= 1024 {
            self.tune();
        }
        if self.in_ring == 0 {
            let Some(Reverse(first)) = self.far.peek() else { return false };
            self.now = first.time >> self.shift;
        } else {
            self.now += self.to_next_used();
        }
        while let Some(Reverse(event)) = self.far.peek().copied()
            && (event.time >> self.shift) - self.now < BUCKETS as u64
        {
            self.far.pop();
            self.put(((event.time >> self.shift) & MASK) as usize, event);
        }
        let at = (self.now & MASK) as usize;
        self.used[at / 64] &= !(1 << (at % 64));
        let bucket = std::mem::take(&mut self.ring[at]);
        self.spare.push(std::mem::replace(&mut self.current, bucket));
        self.in_ring -= self.current.len();
        // No two have the same time and key.
        self.current.sort_unstable_by_key(|e| Reverse(u128::from(e.time) << 64 | u128::from(e.key)));
        true
    }

    /// How many buckets on the next one with events is; there is one.
    fn to_next_used(&self) -> u64 {
        let start = ((self.now + 1) & MASK) as usize;
        let words = self.used.len();
        let mut word = self.used[start / 64] & (u64::MAX << (start % 64));
        for i in 0..=words {
            if word != 0 {
                let found = (start / 64 + i) % words * 64 + word.trailing_zeros() as usize;
                return ((found as u64).wrapping_sub(start as u64) & MASK) + 1;
            }
            word = self.used[(start / 64 + i + 1) % words];
        }
        1
    }

    /// Makes buckets wider or narrower if they hold too few or too many events.
    fn tune(&mut self) {
        let (buckets, events) = (self.buckets_done, self.events_done);
        (self.buckets_done, self.events_done) = (0, 0);
        let shift = match events / buckets {
            ..FEWEST => self.shift + 1,
            FEWEST..MOST => return,
            _ => self.shift.saturating_sub(1),
        };
        if shift == self.shift || shift > 40 {
            return;
        }
        // The bucket at hand is empty: everything is later than it.
        let mut all: Vec<Event> = self.ring.iter_mut().flat_map(std::mem::take).collect();
        all.extend(self.far.drain().map(|Reverse(event)| event));
        self.used.fill(0);
        self.in_ring = 0;
        let first = all.iter().map(|e| e.time).min().unwrap_or(0);
        self.shift = shift;
        // One before the first, so that all are behind the bucket at hand.
        self.now = (first >> shift).saturating_sub(1);
        for event in all {
            self.push(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use optiq_net::random::SplitMix64;
    use proptest::prelude::*;

    /// Against a heap: the same events in the same order, whatever their distances.
    fn agrees(seed: u64, spread: u32, rounds: usize) {
        let mut random = SplitMix64::new(seed);
        let (mut queue, mut heap) = (Queue::new(), BinaryHeap::new());
        let mut now = 0;
        for key in 0..rounds as u64 {
            for copy in 0..random.below(3) {
                let bits = random.below(u64::from(spread));
                let time = now + random.below(1 << bits);
                let event = Event { time, key: key * 3 + copy, payload: key as u32 };
                queue.push(event);
                heap.push(Reverse(event));
            }
            assert_eq!(queue.len(), heap.len());
            if random.below(2) == 0 {
                let end = now + random.below(1 << spread);
                let expected = heap.peek().map(|Reverse(e)| *e).filter(|e| e.time < end);
                assert_eq!(queue.pop_before(end), expected);
                if let Some(event) = expected {
                    heap.pop();
                    now = event.time;
                }
            }
        }
        while let Some(Reverse(event)) = heap.pop() {
            assert_eq!(queue.next_time(), Some(event.time));
            assert_eq!(queue.pop_before(Time::MAX), Some(event));
        }
        assert_eq!(queue.pop_before(Time::MAX), None);
    }

    #[test]
    fn long_runs_change_the_width() {
        agrees(1, 20, 60_000);
        agrees(2, 40, 60_000);
        agrees(3, 4, 20_000);
    }

    proptest! {
        #[test]
        fn events_come_in_order(seed: u64, spread in 1u32..45) {
            agrees(seed, spread, 300);
        }
    }
}
