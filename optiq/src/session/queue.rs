//! Exchanges that were started and are not complete, and which of them may move.
//!
//! # Why none waits for ever
//!
//! An exchange waits to begin for exchanges that were started before it, never for later ones: for those of its channel, and for slot
//! memory ([`Queue::movable`]). Once it has begun, it leaves to more urgent ones only ranks that have begun these too
//! (`optiq_transport::Running::claimed`). So of all exchanges that are not complete, the one that was started first can always go on at
//! every rank that has started it, and ranks start them in the same order.

use super::channels::Priority;
use super::plans::Staged;
use crate::constants::EXCHANGES_AT_ONCE;
use crate::error::Error;
use optiq_lower::decide::Decision;
use optiq_transport::mpi::Pending;
use optiq_transport::{Execution, Memory, Rank, Running, Schedule};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// What was started and is not complete, in order.
#[derive(Default)]
pub(super) struct Queue {
    /// The number of the next start.
    next: u64,
    waiting: VecDeque<Started>,
    failed: Vec<(u64, Error)>,
    /// The exchange that a call waits for, and what it did.
    awaited: Option<(u64, Execution)>,
}

/// An exchange that was started.
pub(super) struct Started {
    pub(super) priority: Priority,
    pub(super) decision: Arc<Decision>,
    pub(super) schedule: Arc<Schedule>,
    pub(super) staged: Option<Arc<Staged>>,
    pub(super) send: *const u8,
    pub(super) receive: *mut u8,
    /// What the transport reads and writes: the user's buffers, or the host's staging areas.
    pub(super) memory: Memory<'static>,
    /// The staging areas, from the start of a gathered exchange on.
    pub(super) area: *mut u8,
    pub(super) phase: Phase,
    /// Slot memory that it takes, in bytes.
    pub(super) slot_bytes: u64,
    /// Whether another exchange has moved beside it.
    pub(super) had_company: bool,
    /// By [`Queue::push`].
    pub(super) number: u64,
}

/// What a step of an exchange did.
pub(super) enum Step {
    Idle,
    Moved,
    Done(Execution),
}

/// How far an exchange is. Those that are not gathered go straight to `Moving`.
pub(super) enum Phase {
    New,
    /// This rank's messages are in the outgoing area; the other ranks' may not be.
    Gathering(Pending),
    Moving(Box<Running<Arc<Schedule>>>),
    /// All that this rank carries is in the incoming area; what others carry may not be.
    Scattering(Pending, Execution),
}

/// Numbers of exchanges that may move; by [`Queue::movable`].
pub(super) enum Movable {
    One(u64),
    Several(Vec<u64>),
}

impl Movable {
    pub(super) fn numbers(&self) -> &[u64] {
        match self {
            Movable::One(number) => std::slice::from_ref(number),
            Movable::Several(numbers) => numbers,
        }
    }
}

impl Queue {
    /// Puts an exchange behind the others; returns its number.
    pub(super) fn push(&mut self, started: Started) -> u64 {
        let number = self.next;
        self.next += 1;
        self.waiting.push_back(Started { number, ..started });
        number
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Keeps what the exchange of this number will have done, for [`Queue::outcome`].
    pub(super) fn await_outcome(&mut self, number: u64) {
        self.awaited = Some((number, Execution::default()));
    }

    /// What the exchange of this number did, which is complete and was awaited.
    pub(super) fn outcome(&mut self, number: u64) -> Result<Execution, Error> {
        let awaited = self.awaited.take();
        self.has_ended(number).map(|_| awaited.map_or_else(Execution::default, |(_, execution)| execution))
    }

    /// Whether the exchange of this number has ended.
    ///
    /// # Errors
    /// Why it failed.
    pub(super) fn has_ended(&mut self, number: u64) -> Result<bool, Error> {
        match self.failed.iter().position(|f| f.0 == number) {
            Some(at) => Err(self.failed.swap_remove(at).1),
            None => Ok(self.find(number).is_none()),
        }
    }

    /// Numbers of the exchanges that may move now, the most urgent first: of each channel the one that was started first, as long as
    /// the slots of these and of all that were started before them fit in `budget` together. Channels keep the slots of their largest
    /// exchange, so all that wait on a channel count once.
    pub(super) fn movable(&self, budget: u64) -> Movable {
        // Nearly always, and asked in every turn of a progress loop.
        if let (1, Some(only)) = (self.waiting.len(), self.waiting.front()) {
            return Movable::One(only.number);
        }
        let started = self.waiting.iter().map(|s| (s.priority, s.slot_bytes));
        let mut numbers: Vec<(u8, u64)> = within(started, budget)
            .into_iter()
            .map(|i| (self.waiting[i].priority.class, self.waiting[i].number))
            .collect();
        numbers.sort_by_key(|&(class, _)| std::cmp::Reverse(class));
        Movable::Several(numbers.into_iter().map(|(_, number)| number).collect())
    }

    /// The exchange of this number.
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Started> {
        self.find(number).map(|i| &mut self.waiting[i])
    }

    /// The ranks that exchanges more urgent than that of this number have claimed.
    pub(super) fn claimed_above(&self, number: u64) -> BTreeSet<Rank> {
        let Some(this) = self.find(number).map(|i| &self.waiting[i]) else { return BTreeSet::new() };
        let urgent = self.waiting.iter().filter(|other| other.priority.class > this.priority.class);
        let moving = urgent.filter_map(|other| match &other.phase {
            Phase::Moving(running) => Some(running),
            _ => None,
        });
        moving.flat_map(|running| running.claimed()).collect()
    }

    /// By channel, whether an exchange moves there.
    pub(super) fn moving(&self) -> [bool; EXCHANGES_AT_ONCE] {
        let mut moving = [false; EXCHANGES_AT_ONCE];
        self.waiting.iter().filter(|s| !matches!(s.phase, Phase::New)).for_each(|s| moving[s.priority.channel] = true);
        moving
    }

    /// Removes the exchange of this number, with what it did or why it failed.
    pub(super) fn finish(&mut self, number: u64, result: Result<Execution, Error>) {
        if let Some(at) = self.find(number) {
            self.waiting.remove(at);
        }
        match (result, &mut self.awaited) {
            (Err(error), _) => self.failed.push((number, error)),
            (Ok(execution), Some((awaited, kept))) if *awaited == number => *kept = execution,
            (Ok(_), _) => {}
        }
    }

    fn find(&self, number: u64) -> Option<usize> {
        self.waiting.binary_search_by_key(&number, |s| s.number).ok()
    }
}

/// See [`Queue::movable`]: indices of exchanges, from their slots in bytes in the order of the starts. The first may always move.
fn within(started: impl Iterator<Item = (Priority, u64)>, budget: u64) -> Vec<usize> {
    let mut slots = [None; EXCHANGES_AT_ONCE];
    let mut found = Vec::new();
    for (i, (Priority { channel, .. }, bytes)) in started.enumerate() {
        let before = slots[channel];
        slots[channel] = Some(bytes.max(before.unwrap_or(0)));
        if i > 0 && slots.iter().flatten().sum::<u64>() > budget {
            // Later ones wait as well, even if they are smaller: what is before them must not come to wait for them.
            break;
        }
        if before.is_none() {
            found.push(i);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each_channel_moves_as_far_as_memory_goes() {
        let within = |list: &[(usize, u64)], budget| {
            within(list.iter().map(|&(channel, bytes)| (Priority { class: 0, channel }, bytes)), budget)
        };
        assert_eq!(within(&[(0, 50), (0, 60), (1, 40), (2, 0), (1, 40)], 100), [0, 2, 3]);
        // The second of channel 0 needs memory before the one that was started after it.
        assert_eq!(within(&[(0, 50), (0, 61), (1, 40), (2, 0)], 100), [0]);
        assert_eq!(within(&[(0, 500), (1, 0)], 100), [0]);
        assert_eq!(within(&[(2, 500)], 100), [0]);
        assert!(within(&[], 100).is_empty());
    }

    #[test]
    fn an_exchange_that_may_move_still_may_when_an_earlier_one_is_complete() {
        let mut random = optiq_net::random::SplitMix64::new(5);
        for _ in 0..500 {
            let list: Vec<(Priority, u64)> =
                (0..6).map(|_| (Priority { class: 0, channel: random.below(4) as usize }, random.below(60))).collect();
            let may = within(list.iter().copied(), 100);
            for &done in &may {
                let rest: Vec<_> = list.iter().enumerate().filter(|(i, _)| *i != done).map(|(_, s)| *s).collect();
                let then = within(rest.into_iter(), 100);
                let still = may.iter().filter(|i| **i != done).map(|&i| i - usize::from(i > done));
                assert!(still.into_iter().all(|i| then.contains(&i)), "{list:?}, {may:?}, without {done}: {then:?}");
            }
        }
    }
}
