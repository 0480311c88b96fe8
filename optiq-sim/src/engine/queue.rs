//! The event queue: a calendar of buckets (R. Brown, "Calendar Queues: A Fast O(1) Priority Queue Implementation for the
//! Simulation Event Set Problem", CACM 31(10), 1988), of which only the one at hand is sorted.
//!
//! Events come out in the order of (time, key), and no two have the same; so the order does not depend on the width of the
//! buckets, which follows the density of events. Buckets are wide enough that memory for the next events can be prefetched, and
//! so narrow that few events come after their bucket was sorted.

use crate::constants::{
    BUCKETS, FEWEST_IN_BUCKET, FEWEST_TO_SPREAD, LATE_TO_NARROW, LATE_TO_WIDEN, MOST_IN_BUCKET, MOST_TO_INSERT,
};
use crate::time::Time;
use bincode::{Decode, Encode};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event: its time, its component (the number and, below 2^32, what happens there), and a value for the handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub(crate) struct Event {
    pub(crate) time: Time,
    pub(crate) key: u64,
    pub(crate) payload: u32,
}

const MASK: u64 = BUCKETS as u64 - 1;
/// The widest buckets.
const WIDEST: u32 = 31;

/// The number of the bucket that a time is in, where buckets are 2^shift picoseconds wide.
#[inline]
fn bucket_of(time: Time, shift: u32) -> u64 {
    time.as_picoseconds() >> shift
}

/// When a bucket starts.
#[inline]
fn start_of(bucket: u64, shift: u32) -> Time {
    Time::picoseconds(bucket << shift)
}

/// An event in a bucket: from the highest bit on its time since the bucket's start, key and payload. So they are compared
/// and moved as one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Packed(u128);

impl Packed {
    #[inline]
    fn new(event: Event, shift: u32) -> Self {
        let since = event.time.as_picoseconds() & ((1 << shift) - 1);
        Packed(u128::from(since) << 96 | u128::from(event.key) << 32 | u128::from(event.payload))
    }

    /// The event, in a bucket that starts at a time.
    #[inline]
    fn event(self, start: Time) -> Event {
        let since = Time::picoseconds((self.0 >> 96) as u64);
        Event { time: start + since, key: (self.0 >> 32) as u64, payload: self.0 as u32 }
    }
}

/// See the top of the file.
#[derive(Debug)]
pub(crate) struct Queue {
    /// A bucket is 2^shift picoseconds wide.
    shift: u32,
    /// The number of the bucket at hand.
    now: u64,
    /// Its events in order, those before `done` were handled.
    current: Vec<Packed>,
    done: usize,
    /// Its events that came after it was sorted.
    late: BinaryHeap<Reverse<Event>>,
    /// Those of the buckets behind it, each at its number modulo `BUCKETS`.
    ring: Vec<Vec<Packed>>,
    /// Bit `b` of word `w`: bucket 64 w + b of the ring has events.
    used: Vec<u64>,
    in_ring: usize,
    /// Events behind the ring.
    far: BinaryHeap<Reverse<Event>>,
    /// Memory of buckets that are empty, the last one used first: a bucket of its own would be out of the caches each time.
    spare: Vec<Vec<Packed>>,
    /// For [`sort`].
    spread: Vec<Packed>,
    /// Buckets and events since the width was last looked at, and how many of these came late.
    buckets_done: usize,
    events_done: usize,
    came_late: usize,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            shift: 14,
            now: 0,
            current: Vec::new(),
            done: 0,
            late: BinaryHeap::new(),
            ring: vec![Vec::new(); BUCKETS],
            used: vec![0; BUCKETS / 64],
            in_ring: 0,
            far: BinaryHeap::new(),
            spare: Vec::new(),
            spread: Vec::new(),
            buckets_done: 0,
            events_done: 0,
            came_late: 0,
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.current.len() - self.done + self.late.len() + self.in_ring + self.far.len()
    }

    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        let bucket = bucket_of(event.time, self.shift);
        if bucket <= self.now {
            self.came_late += 1;
            self.late.push(Reverse(event));
        } else if bucket - self.now < BUCKETS as u64 {
            self.put((bucket & MASK) as usize, event);
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// All events, in no order.
    pub(crate) fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let waiting = self.late.iter().chain(self.far.iter()).map(|Reverse(event)| *event);
        let start = start_of(self.now, self.shift);
        let current = self.current[self.done..].iter().map(move |packed| packed.event(start));
        waiting.chain(current).chain(self.in_buckets())
    }

    /// Those of the ring.
    fn in_buckets(&self) -> impl Iterator<Item = Event> + '_ {
        self.ring.iter().zip(0u64..).flat_map(|(bucket, at)| {
            let start = start_of(self.now + (at.wrapping_sub(self.now) & MASK), self.shift);
            bucket.iter().map(move |packed| packed.event(start))
        })
    }

    /// Into a bucket of the ring.
    #[inline]
    fn put(&mut self, at: usize, event: Event) {
        let (word, bit) = (&mut self.used[at / 64], 1 << (at % 64));
        if *word & bit == 0 {
            *word |= bit;
            self.ring[at] = self.spare.pop().unwrap_or_default();
        }
        self.ring[at].push(Packed::new(event, self.shift));
        self.in_ring += 1;
    }

    /// The event of the bucket at hand that comes after the next `n`, if there is one.
    #[inline]
    pub(crate) fn ahead(&self, n: usize) -> Option<Event> {
        // Its time is of no interest.
        self.current.get(self.done + n).map(|packed| packed.event(Time::ZERO))
    }

    /// The first of the bucket at hand, but for those that came late.
    #[inline]
    fn first(&self) -> Option<Event> {
        self.current.get(self.done).map(|packed| packed.event(start_of(self.now, self.shift)))
    }

    /// When the next event is.
    pub(crate) fn next_time(&mut self) -> Option<Time> {
        self.settle().then(|| match (self.first(), self.late.peek()) {
            (Some(a), Some(Reverse(b))) => a.min(*b).time,
            (Some(event), None) | (None, Some(&Reverse(event))) => event.time,
            (None, None) => Time::NEVER,
        })
    }

    /// The next event, if it is before `end`.
    #[inline]
    pub(crate) fn pop_before(&mut self, end: Time) -> Option<Event> {
        if !self.settle() {
            return None;
        }
        let first = self.first();
        if let Some(&Reverse(late)) = self.late.peek()
            && first.is_none_or(|first| late < first)
        {
            if late.time >= end {
                return None;
            }
            self.events_done += 1;
            self.late.pop();
            return Some(late);
        }
        let event = first.filter(|event| event.time < end)?;
        self.events_done += 1;
        self.done += 1;
        Some(event)
    }

    /// Goes on to the next bucket that has events if the one at hand has none left; whether there are any.
    #[inline]
    fn settle(&mut self) -> bool {
        if self.done < self.current.len() || !self.late.is_empty() {
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
            self.now = bucket_of(first.time, self.shift);
        } else {
            self.now += self.to_next_used();
        }
        while let Some(Reverse(event)) = self.far.peek().copied()
            && bucket_of(event.time, self.shift) - self.now < BUCKETS as u64
        {
            self.far.pop();
            self.put((bucket_of(event.time, self.shift) & MASK) as usize, event);
        }
        let at = (self.now & MASK) as usize;
        self.used[at / 64] &= !(1 << (at % 64));
        let mut used = std::mem::replace(&mut self.current, std::mem::take(&mut self.ring[at]));
        used.clear();
        self.spare.push(used);
        self.done = 0;
        self.in_ring -= self.current.len();
        sort(&mut self.current, self.shift, &mut self.spread);
        true
    }

    /// The distance in buckets to the next one with events; there is one.
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

    /// Makes buckets wider or narrower if they hold too few or too many events, or too many came late.
    fn tune(&mut self) {
        let (buckets, events, late) = (self.buckets_done, self.events_done, self.came_late);
        (self.buckets_done, self.events_done, self.came_late) = (0, 0, 0);
        let each = events / buckets;
        let shift = if each > MOST_IN_BUCKET || (late * LATE_TO_NARROW > events && each > 1) {
            self.shift.saturating_sub(1)
        } else if each < FEWEST_IN_BUCKET && late * LATE_TO_WIDEN <= events {
            (self.shift + 1).min(WIDEST)
        } else {
            return;
        };
        if shift == self.shift {
            return;
        }
        // The bucket at hand is empty: everything is later than it.
        let mut all: Vec<Event> = self.in_buckets().collect();
        self.ring.iter_mut().for_each(Vec::clear);
        all.extend(self.far.drain().map(|Reverse(event)| event));
        self.used.fill(0);
        self.in_ring = 0;
        let first = all.iter().map(|e| e.time).min().unwrap_or(Time::ZERO);
        self.shift = shift;
        // One before the first, so that all are behind the bucket at hand.
        self.now = bucket_of(first, shift).saturating_sub(1);
        for event in all {
            self.push(event);
        }
    }
}

/// Sorts the events of a bucket that is 2^shift picoseconds wide. Their times are spread over it: by the highest bits of these
/// they come nearly to their places, in time that does not grow with their number.
fn sort(events: &mut Vec<Packed>, shift: u32, spread: &mut Vec<Packed>) {
    const BITS: u32 = 6;
    let narrow = shift.saturating_sub(BITS);
    if events.len() < FEWEST_TO_SPREAD {
        return insert(events);
    }
    // In which part of the bucket an event is; less than 2^BITS.
    let part = |event: &Packed| ((event.0 >> (96 + narrow)) as usize) & ((1 << BITS) - 1);
    let mut places = [0u32; 1 << BITS];
    events.iter().for_each(|event| places[part(event)] += 1);
    let mut sum = 0;
    for place in &mut places {
        sum += std::mem::replace(place, sum);
    }
    // All of it is written over.
    spread.resize(events.len(), Packed(0));
    let mut crowded = 0;
    for event in events.iter() {
        let place = &mut places[part(event)];
        spread[*place as usize] = *event;
        *place += 1;
    }
    let mut last = 0;
    for place in places {
        crowded = crowded.max(place - last);
        last = place;
    }
    std::mem::swap(events, spread);
    // Many at nearly one time are a case of their own.
    if crowded < MOST_TO_INSERT { insert(events) } else { events.sort_unstable() }
}

/// Insertion sort: for few, or for those that are nearly in order.
fn insert(events: &mut [Packed]) {
    for i in 1..events.len() {
        let event = events[i];
        let mut at = i;
        while at > 0 && event < events[at - 1] {
            events[at] = events[at - 1];
            at -= 1;
        }
        events[at] = event;
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
        let mut now = Time::ZERO;
        for key in 0..rounds as u64 {
            for copy in 0..random.below(3) {
                let bits = random.below(u64::from(spread));
                let time = now + Time::picoseconds(random.below(1 << bits));
                let event = Event { time, key: key * 3 + copy, payload: key as u32 };
                queue.push(event);
                heap.push(Reverse(event));
            }
            assert_eq!(queue.len(), heap.len());
            if random.below(2) == 0 {
                let end = now + Time::picoseconds(random.below(1 << spread));
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
            assert_eq!(queue.pop_before(Time::NEVER), Some(event));
        }
        assert_eq!(queue.pop_before(Time::NEVER), None);
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
