//! Conservative parallel simulation in windows of time.
//!
//! K. M. Chandy and J. Misra, "Distributed Simulation: A Case Study in Design and Verification of Distributed Programs", IEEE
//! TSE SE-5(5), 1979, with windows as in synchronous schemes. What happens in one partition has an effect in another one at
//! the earliest one *lookahead* later, the shortest latency of a link between them. With `t` the time of the first event of
//! all partitions, each thread can therefore simulate its own up to `t + lookahead` without hearing of the others. Then all
//! exchange what the others must know, and the next window begins.

use super::barrier::{Barrier, Member};
use super::limits::End;
use super::watch::Watch;
use crate::constants::{EVENTS_A_LOOK, WINDOWS_A_LOOK, WINDOWS_A_REPORT};
use crate::error::SimError;
use crate::time::Time;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

/// A part of the simulated machine with its events: all that one thread simulates.
pub(crate) trait Partition: Send {
    /// What another partition must know.
    type Remote: Send;

    /// The time of the last event.
    fn now(&self) -> Time;

    /// When the next event is; `None` if there is none.
    fn next_time(&mut self) -> Option<Time>;

    /// How many events were handled.
    fn events(&self) -> u64;

    /// How much in it has to be done before the run ends, if that is what ends it.
    fn awaited(&self) -> u64;

    /// Handles all events before `end`, but no more than about `most`; returns how many they were.
    fn run(&mut self, end: Time, most: u64) -> u64;

    /// Whether something went wrong; the simulation then ends.
    fn has_failed(&self) -> bool;

    /// Something went wrong. The first error is kept.
    fn fail(&mut self, error: SimError);

    /// Per partition, what it must know.
    fn outboxes(&mut self) -> &mut [Vec<Self::Remote>];

    /// Takes what another partition has sent.
    fn receive(&mut self, remote: Self::Remote);

    /// Its state, for a checkpoint.
    ///
    /// # Errors
    /// A sentence, if something in it cannot be saved.
    fn save(&self) -> Result<Vec<u8>, String>;
}

/// Simulates one partition on this thread.
pub(crate) fn serial<P: Partition>(partition: &mut P, watch: &Watch<'_>) -> End {
    let mut kept = 0;
    let mut slice = watch.end_of_slice(partition.now());
    loop {
        let left = watch
            .limits
            .events
            .map_or(EVENTS_A_LOOK, |most| most.saturating_sub(partition.events()).clamp(1, EVENTS_A_LOOK));
        if let Some(end) = run_slices(partition, watch, &mut slice, left) {
            return end;
        }
        if let Some(progress) = watch.progress {
            progress(partition.now(), partition.events());
        }
        if let Some(end) = watch.is_over(partition.events()) {
            return end;
        }
        if watch.is_due(kept) {
            if let Err(error) = watch.keep(partition.now(), partition.save().map(|state| vec![state])) {
                partition.fail(error);
                return End::Stopped;
            }
            kept = watch.due_by_now();
        }
    }
}

/// Simulates slices, up to about `most` events; `slice` is the end of the one at hand. The end, if there was nothing to do.
fn run_slices<P: Partition>(partition: &mut P, watch: &Watch<'_>, slice: &mut Time, most: u64) -> Option<End> {
    let last = watch.end_of_time();
    let mut done = 0;
    while done < most {
        let events = partition.run(last.min(*slice), most - done);
        if partition.has_failed() {
            return Some(End::Stopped);
        }
        done += events;
        if done >= most {
            break;
        }
        let next = partition.next_time();
        match watch.ends_before(next, *slice, partition.awaited()) {
            // Whoever watches is told of the last events first.
            Some(_) if done > 0 => break,
            Some(end) => return Some(end),
            None => *slice = watch.end_of_slice(next.unwrap_or(Time::NEVER)),
        }
    }
    None
}

/// What the threads of a simulation share.
struct Shared<R> {
    barrier: Barrier,
    /// Per partition: when its next event is, in picoseconds, as atomics hold no times.
    next: Vec<AtomicU64>,
    events: Vec<AtomicU64>,
    awaited: Vec<AtomicU64>,
    /// The end of the slice at hand, in picoseconds.
    slice: AtomicU64,
    /// From partition to partition.
    mail: Vec<Mutex<Vec<R>>>,
    failed: AtomicBool,
    failure: Mutex<Option<SimError>>,
    end: Mutex<Option<End>>,
    /// Whether all are to save their states now, how many checkpoints were made, and the states.
    saving: AtomicBool,
    kept: AtomicU32,
    saved: Mutex<Vec<Result<Vec<u8>, String>>>,
}

impl<R> Shared<R> {
    fn new(partitions: usize, slice: Time) -> Self {
        let words = || (0..partitions).map(|_| AtomicU64::new(0)).collect();
        Self {
            barrier: Barrier::new(partitions),
            next: words(),
            events: words(),
            awaited: words(),
            slice: AtomicU64::new(slice.as_picoseconds()),
            mail: (0..partitions * partitions).map(|_| Mutex::new(Vec::new())).collect(),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            end: Mutex::new(None),
            saving: AtomicBool::new(false),
            kept: AtomicU32::new(0),
            saved: Mutex::new(vec![Ok(Vec::new()); partitions]),
        }
    }

    /// When the first event of all partitions is.
    fn next(&self) -> Time {
        self.next.iter().map(|n| Time::picoseconds(n.load(SeqCst))).min().unwrap_or(Time::NEVER)
    }

    /// The end of the slice at hand.
    fn slice(&self) -> Time {
        Time::picoseconds(self.slice.load(SeqCst))
    }

    /// What one thread does for all before a window: decides whether the simulation ends, or makes a checkpoint first.
    fn decide(&self, watch: &Watch<'_>, round: u64) {
        let next = self.next();
        let sum = |of: &[AtomicU64]| of.iter().map(|n| n.load(SeqCst)).sum();
        let events = sum(&self.events);
        let end = if self.failed.load(SeqCst) {
            Some(End::Stopped)
        } else {
            let first = (next < Time::NEVER).then_some(next);
            watch.ends_before(first, self.slice(), sum(&self.awaited)).or_else(|| {
                // Looking at the clock in each window would take too long.
                let looks = round.is_multiple_of(WINDOWS_A_LOOK) || watch.limits.events.is_some();
                if looks { watch.is_over(events) } else { None }
            })
        };
        if next >= self.slice() {
            self.slice.store(watch.end_of_slice(next).as_picoseconds(), SeqCst);
        }
        if let (Some(progress), true) = (watch.progress, round.is_multiple_of(WINDOWS_A_REPORT)) {
            progress(next, events);
        }
        let due = end.is_none() && round.is_multiple_of(WINDOWS_A_LOOK) && watch.is_due(self.kept.load(SeqCst));
        self.saving.store(due, SeqCst);
        if let Ok(mut place) = self.end.lock() {
            *place = end;
        }
    }

    /// What one thread does for all when the states of all partitions are there.
    fn keep(&self, watch: &Watch<'_>, time: Time) {
        let states = self.saved.lock().map_or_else(
            |_| Err("a thread has failed".into()),
            |mut saved| saved.iter_mut().map(|state| std::mem::replace(state, Ok(Vec::new()))).collect(),
        );
        let kept = watch.keep(time, states);
        self.kept.store(watch.due_by_now(), SeqCst);
        if let (Err(error), Ok(mut place)) = (kept, self.failure.lock()) {
            *place = Some(error);
            self.failed.store(true, SeqCst);
        }
    }
}

/// Simulates each partition on a thread of its own.
pub(crate) fn parallel<P: Partition>(partitions: &mut [P], lookahead: Time, watch: &Watch<'_>) -> End {
    let now = partitions.iter().map(Partition::now).max().unwrap_or(Time::ZERO);
    let shared = Shared::new(partitions.len(), watch.end_of_slice(now));
    std::thread::scope(|scope| {
        for (me, partition) in partitions.iter_mut().enumerate() {
            let shared = &shared;
            scope.spawn(move || run_windows(partition, me, lookahead, watch, shared));
        }
    });
    if let (Ok(Some(failure)), Some(partition)) = (shared.failure.into_inner(), partitions.first_mut()) {
        partition.fail(failure);
    }
    let end = shared.end.lock().map_or(None, |end| *end);
    end.unwrap_or(End::Finished)
}

/// The windows of one thread.
fn run_windows<P: Partition>(
    partition: &mut P,
    me: usize,
    lookahead: Time,
    watch: &Watch<'_>,
    shared: &Shared<P::Remote>,
) {
    let partitions = shared.next.len();
    let last = watch.end_of_time();
    let mut round = 0u64;
    let _member = Member(&shared.barrier);
    loop {
        shared.next[me].store(partition.next_time().unwrap_or(Time::NEVER).as_picoseconds(), SeqCst);
        shared.events[me].store(partition.events(), SeqCst);
        shared.awaited[me].store(partition.awaited(), SeqCst);
        if partition.has_failed() {
            shared.failed.store(true, SeqCst);
        }
        let all = shared.barrier.wait(|| shared.decide(watch, round));
        if !all || shared.end.lock().map_or(true, |end| end.is_some()) {
            return;
        }
        let next = shared.next();
        if shared.saving.load(SeqCst) {
            let state = partition.save();
            if let Ok(mut saved) = shared.saved.lock() {
                saved[me] = state;
            }
            if !shared.barrier.wait(|| shared.keep(watch, next)) {
                return;
            }
            continue;
        }
        partition.run(next.saturating_add(lookahead).min(last).min(shared.slice()), u64::MAX);
        for (to, outbox) in partition.outboxes().iter_mut().enumerate() {
            if !outbox.is_empty()
                && let Ok(mut mail) = shared.mail[me * partitions + to].lock()
            {
                std::mem::swap(&mut *mail, outbox);
            }
        }
        if !shared.barrier.wait(|| {}) {
            return;
        }
        for from in 0..partitions {
            let mail = shared.mail[from * partitions + me].lock();
            let mut mail = mail.map_or_else(|_| Vec::new(), |mut mail| std::mem::take(&mut *mail));
            mail.drain(..).for_each(|remote| partition.receive(remote));
        }
        round += 1;
    }
}
