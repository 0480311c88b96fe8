//! The plan cache of a communicator.

use crate::blocks::Blocks;
use crate::constants::{CARRIED_PATHS, CARRIED_PLANS};
use optiq_lower::decide::Decision;
use optiq_lower::gather::{Gathered, Place};
use optiq_lower::learned::Paths;
use optiq_lower::ports::DemandKind;
use optiq_lower::trials::{LinkBounds, Side, Trials};
use optiq_net::Fingerprint;
use optiq_net::fingerprint::Hasher;
use optiq_solver::{Demand, Plan};
use optiq_transport::{FlowControl, Rank, Schedule};
use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;

/// Why demands are planned.
pub(super) enum Cause {
    /// They were never seen.
    New,
    /// They are known to come again.
    Repeated,
    /// What serves them was measured to take `seconds`, longer than other paths were predicted to.
    Slower { entry: Rc<Entry>, seconds: f64 },
}

/// What was decided for a demand set, as one rank needs it.
pub(super) struct Entry {
    pub(super) decision: Arc<Decision>,
    /// This rank's part. `None` if plain MPI serves the demand set.
    pub(super) schedule: Option<Arc<Schedule>>,
    /// The same with other flow control, by [`FlowControl::index`], made when it is used first.
    pub(super) other_schedules: [OnceCell<Arc<Schedule>>; FlowControl::ALL.len()],
    /// What this rank copies to and from memory that its host's ranks share; `None` if it sends from its own.
    pub(super) staged: Option<Arc<Staged>>,
    /// Make a plan when the same demands come again.
    pub(super) later: bool,
    /// What making it took on rank 0; the same number on all ranks.
    pub(super) planning_seconds: f64,
    /// What making it took at this rank, where its plan was carried over; 0 where it was not.
    pub(super) preparation_seconds: f64,
    /// The link bounds, in seconds.
    pub(super) bounds: LinkBounds,
    /// Shared by all demand sets of a kind where messages go directly.
    pub(super) trials: Rc<Cell<Trials>>,
    /// Which way the schedule sends which kind of demands, where it has a plan.
    pub(super) kind: Option<(Paths, DemandKind)>,
    /// What it is a plan for; on rank 0, where load is followed.
    pub(super) demands: Vec<Demand>,
    /// What other paths would take that were predicted to gain too little, in seconds with the agreement; infinite where there are
    /// none, or where the prediction was found to be wrong.
    pub(super) predicted_seconds: Cell<f64>,
    /// What served these demands before MPI was found to be slower than was predicted of this plan.
    pub(super) replaced: Option<Rc<Entry>>,
}

impl Entry {
    /// Who serves the next use, see [`Trials`], and whether it begins a row of MPI's if there `may_be_row`.
    pub(super) fn next(&self, min_gain: f64, may_be_row: bool) -> (Side, bool) {
        let mut trials = self.trials.get();
        let side = trials.next(min_gain, self.bounds);
        let begins_row = may_be_row && side != Side::Plain && trials.begins_row(min_gain);
        self.trials.set(trials);
        (if begins_row { Side::Plain } else { side }, begins_row)
    }

    /// See [`Trials::own_use_in_a_row`]; in seconds.
    pub(super) fn own_use_in_a_row(&self, seconds: Option<f64>) -> Option<f64> {
        let mut trials = self.trials.get();
        let mean = trials.own_use_in_a_row(seconds.map(|seconds| seconds / self.bounds.direct));
        self.trials.set(trials);
        mean.map(|mean| mean * self.bounds.direct)
    }

    /// What a row of calls of this side took, in seconds; see [`Trials::record_in_a_row`].
    pub(super) fn record_in_a_row(&self, side: Side, seconds: f64) {
        let mut trials = self.trials.get();
        trials.record_in_a_row(side, seconds / self.bounds.direct);
        self.trials.set(trials);
    }

    /// What a call that ranks agree on takes longer than one of MPI in a row, in seconds; 0 where that is not known.
    pub(super) fn agreed_excess(&self, min_gain: f64) -> f64 {
        self.trials.get().agreed_excess(min_gain).unwrap_or_default() * self.bounds.direct
    }

    /// What a use took, in seconds.
    pub(super) fn record(&self, side: Side, seconds: f64) {
        let mut trials = self.trials.get();
        trials.record(side, seconds / self.bounds.direct);
        self.trials.set(trials);
    }

    /// This rank's part with this flow control; `None` if plain MPI serves the demand set.
    pub(super) fn schedule_with(&self, flow_control: FlowControl) -> Option<Arc<Schedule>> {
        let schedule = self.schedule.as_ref()?;
        if flow_control == FlowControl::default() {
            return Some(Arc::clone(schedule));
        }
        let made = || Arc::new(schedule.with_flow_control(flow_control));
        Some(Arc::clone(self.other_schedules[flow_control.index()].get_or_init(made)))
    }

    pub(super) fn new(decision: Decision, schedule: Option<Schedule>) -> Self {
        let (decision, schedule) = (Arc::new(decision), schedule.map(Arc::new));
        Self {
            decision,
            schedule,
            other_schedules: Default::default(),
            staged: None,
            later: false,
            planning_seconds: 0.0,
            preparation_seconds: 0.0,
            bounds: LinkBounds::default(),
            trials: Rc::default(),
            kind: None,
            demands: Vec::new(),
            predicted_seconds: Cell::new(f64::INFINITY),
            replaced: None,
        }
    }

    /// This entry where `cause` is why it was made. Planned paths that are there because what served before is slower are measured
    /// against that.
    pub(super) fn in_place_of(mut self, cause: &Cause) -> Self {
        if let Cause::Slower { entry: before, .. } = cause {
            // Once is enough.
            self.predicted_seconds.set(f64::INFINITY);
            if self.forwards() {
                self.set_mpi_of(before);
                self.replaced = Some(Rc::clone(before));
            }
        }
        self
    }

    /// Whether planned paths forward, so that its trials are its own.
    pub(super) fn forwards(&self) -> bool {
        matches!(self.kind, Some((Paths::Forwarded, _)))
    }

    /// Has the trials of a plan that forwards begin with what those of the same demands measured of MPI.
    pub(super) fn set_mpi_of(&self, before: &Entry) {
        let scale = before.bounds.direct / self.bounds.direct;
        self.trials.set(self.trials.get().with_mpi_of(&before.trials.get(), scale));
    }

    /// What the fastest side takes by now, in seconds, if other paths are predicted to take less.
    pub(super) fn slower_than_predicted(&self, min_gain: f64) -> Option<f64> {
        let (trials, direct) = (self.trials.get(), self.bounds.direct);
        let loses = trials.loses_to(min_gain, self.predicted_seconds.get() / direct);
        trials.best_multiple(min_gain).filter(|_| loses).map(|multiple| multiple * direct)
    }

    /// What it has replaced, if that was faster.
    pub(super) fn worse_than(&self, min_gain: f64) -> Option<&Rc<Entry>> {
        let behind = |before: &&Rc<Entry>| self.trials.get().is_behind(min_gain, &before.trials.get());
        self.replaced.as_ref().filter(behind)
    }
}

/// This rank's copies in a gathered exchange ([`optiq_lower::gather::gather`]), as (offset in the user's buffer, offset in the
/// area, bytes). Each area is as large as any host needs it.
pub(super) struct Staged {
    pub(super) outgoing_bytes: u64,
    pub(super) incoming_bytes: u64,
    /// From the send buffer to the outgoing area.
    pub(super) gather: Vec<(u64, u64, u64)>,
    /// From the incoming area to the receive buffer.
    pub(super) scatter: Vec<(u64, u64, u64)>,
    /// From the outgoing area to the receive buffer: messages that stay on the host.
    pub(super) local: Vec<(u64, u64, u64)>,
}

impl Staged {
    pub(super) fn new(g: &Gathered, me: Rank, send: &Blocks, receive: &Blocks) -> Self {
        let (mut gather, mut scatter, mut local) = (Vec::new(), Vec::new(), Vec::new());
        for Place { message: m, outgoing, incoming } in &g.places {
            if m.source == me {
                gather.push((send.offsets[m.destination.index()], *outgoing, m.bytes));
            }
            if m.destination == me {
                let into = receive.offsets[m.source.index()];
                match incoming {
                    Some(incoming) => scatter.push((into, *incoming, m.bytes)),
                    None => local.push((into, *outgoing, m.bytes)),
                }
            }
        }
        let &Gathered { outgoing_bytes, incoming_bytes, .. } = g;
        Self { outgoing_bytes, incoming_bytes, gather, scatter, local }
    }
}

/// A call that was measured: its plan, who served it, and how long it took at this rank.
pub(super) struct Measured {
    pub(super) entry: Rc<Entry>,
    pub(super) side: Side,
    pub(super) seconds: f64,
    /// With the agreement before it, where nothing was planned in it.
    pub(super) whole_seconds: Option<f64>,
}

/// Calls of MPI in a row without an agreement, of demands that planned paths serve, at this rank.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) left: u64,
    pub(super) seconds: f64,
    /// What was added to the [`KnownFallbacks`] for it.
    pub(super) signature: Option<u64>,
}

/// A demand set and where the blocks of all ranks are: the sum of all ranks' shares, each a fingerprint of the rank's own
/// blocks, in two halves modulo 2^64.
///
/// No rank knows all blocks, and a rank's own do not tell demand sets from each other in which it has the same ones, such
/// as none. The sum does, and adding it up needs no message beyond those of the agreement. 128 bits: two of a billion
/// demand sets have the same one with a probability of 10^-21.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Key(pub(super) [u64; 2]);

/// Odd, so that classes come to different words: 2^64 over the golden ratio.
const CLASS_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Key {
    /// The share of `rank`. `paths` tells demands whose paths were given from those that may go any way (0).
    pub(super) fn share(rank: Rank, paths: u64, send: &Blocks, receive: &Blocks) -> Self {
        let mut hasher = Hasher::new("optiq exchange 1");
        hasher.u64(u64::from(rank.0));
        hasher.u64(paths);
        for list in [&send.bytes, &send.offsets, &receive.bytes, &receive.offsets] {
            list.iter().for_each(|&word| hasher.u64(word));
        }
        let Fingerprint(share) = hasher.finish();
        Self([share as u64, (share >> 64) as u64])
    }

    /// The key of the same demand set in a priority class, other than 0: it has a plan of its own, in which nothing is packed.
    pub(super) fn of_class(self, class: u8) -> Self {
        let [low, high] = self.0;
        Self([low, high ^ (u64::from(class)).wrapping_mul(CLASS_STEP)])
    }

    /// The key of the same demand set on a network of this fingerprint, other than the one that a session began with.
    pub(super) fn on(self, Fingerprint(network): Fingerprint) -> Self {
        let [low, high] = self.0;
        Self([low ^ network as u64, high ^ (network >> 64) as u64])
    }
}

/// Signatures of this rank's arguments in large calls that ranks agreed to leave to plain MPI: when they come again, that is no
/// misprediction. The latest ones are kept.
#[derive(Debug, Default)]
pub(super) struct KnownFallbacks {
    signatures: [u64; 32],
    next: usize,
}

impl KnownFallbacks {
    pub(super) fn contains(&self, signature: u64) -> bool {
        self.signatures.contains(&signature)
    }

    /// Whether it is new.
    pub(super) fn add(&mut self, signature: u64) -> bool {
        let is_new = !self.contains(signature);
        if is_new {
            self.signatures[self.next] = signature;
            self.next = (self.next + 1) % self.signatures.len();
        }
        is_new
    }

    pub(super) fn remove(&mut self, signature: u64) {
        self.signatures.iter_mut().filter(|known| **known == signature).for_each(|known| *known = 0);
    }
}

/// A bounded cache with the least recently used entry making room.
///
/// All that is done with it is collective, and keys are the same on all ranks; so their caches have the same entries.
pub(super) struct Plans {
    limit: usize,
    made: u64,
    /// Most recently used last.
    entries: Vec<(Key, Rc<Entry>)>,
    /// The same, of plans that may be carried over.
    bases: Vec<Base>,
}

/// A plan that may be carried over to demands that are nearly the same.
struct Base {
    /// Above zero, and the same on all ranks.
    number: u64,
    /// On rank 0.
    plan: Option<Arc<Plan>>,
    /// Those of its demands, in which all that it is carried over to take part.
    trials: Rc<Cell<Trials>>,
}

impl Plans {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), made: 0, entries: Vec::new(), bases: Vec::new() }
    }

    /// The entry of this key, which becomes the most recently used.
    pub(super) fn take(&mut self, key: Key) -> Option<Rc<Entry>> {
        let at = self.entries.iter().position(|e| e.0 == key)?;
        let found = self.entries.remove(at);
        let entry = Rc::clone(&found.1);
        self.entries.push(found);
        Some(entry)
    }

    /// Forgets all times of planned paths, which were measured beside another load, and what was planned beside it.
    pub(super) fn begin_trials_anew(&mut self) {
        self.bases.clear();
        self.entries.iter().for_each(|(_, entry)| entry.trials.set(entry.trials.get().anew()));
    }

    /// A plan may be carried over from now on, which was made as the next one to be added; it is given on rank 0.
    pub(super) fn keep_base(&mut self, plan: Option<Plan>, trials: &Rc<Cell<Trials>>) {
        if self.bases.len() == CARRIED_PLANS {
            self.bases.remove(0);
        }
        let few = |plan: &Plan| plan.flows.iter().map(Vec::len).sum::<usize>() <= CARRIED_PATHS;
        let plan = plan.filter(few).map(Arc::new);
        self.bases.push(Base { number: self.made + 1, plan, trials: Rc::clone(trials) });
    }

    /// On rank 0, the plans that may be carried over, with their numbers.
    pub(super) fn bases(&self) -> Vec<(u64, Arc<Plan>)> {
        self.bases.iter().filter_map(|base| Some((base.number, Arc::clone(base.plan.as_ref()?)))).collect()
    }

    /// The trials of the base of this number.
    pub(super) fn trials_of_base(&self, number: u64) -> Option<Rc<Cell<Trials>>> {
        self.bases.iter().find(|base| base.number == number).map(|base| Rc::clone(&base.trials))
    }

    /// The base of this number becomes the most recently used, once all ranks could carry its plan over.
    pub(super) fn use_base(&mut self, number: u64) {
        self.bases.sort_by_key(|base| base.number == number);
    }

    /// How many were added.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// Adds an entry, in place of the one that has this key.
    pub(super) fn add(&mut self, key: Key, entry: Entry) -> Rc<Entry> {
        self.made += 1;
        self.put(key, Rc::new(entry))
    }

    /// The same with an entry that was made before.
    pub(super) fn put(&mut self, key: Key, entry: Rc<Entry>) -> Rc<Entry> {
        self.entries.retain(|e| e.0 != key);
        if self.entries.len() >= self.limit {
            self.entries.remove(0);
        }
        self.entries.push((key, Rc::clone(&entry)));
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry::new(Decision::Mpi { reason: String::new() }, None)
    }

    #[test]
    fn the_least_recently_used_makes_room() {
        let mut plans = Plans::new(2);
        let key = |n| Key([n, 0]);
        let has = |plans: &Plans| [1, 2, 3].map(|n| plans.entries.iter().any(|e| e.0 == key(n)));
        plans.add(key(1), entry());
        plans.add(key(2), entry());
        assert!(plans.take(key(1)).is_some());
        plans.add(key(3), entry());
        assert_eq!(has(&plans), [true, false, true]);
        plans.add(key(3), entry());
        assert_eq!((has(&plans), plans.made()), ([true, false, true], 4), "one entry of a key");
        assert!(plans.take(key(7)).is_none());
    }

    #[test]
    fn the_base_that_was_used_last_is_kept_longest() {
        let mut plans = Plans::new(9);
        let trials: Vec<_> = (0..CARRIED_PLANS + 1).map(|_| Rc::<Cell<Trials>>::default()).collect();
        for own in &trials[..CARRIED_PLANS] {
            plans.keep_base(None, own);
            plans.add(Key([plans.made(), 1]), entry());
        }
        plans.use_base(1);
        plans.keep_base(None, &trials[CARRIED_PLANS]);
        assert!(plans.trials_of_base(1).is_some_and(|own| Rc::ptr_eq(&own, &trials[0])));
        assert!(plans.trials_of_base(2).is_none() && plans.trials_of_base(3).is_some());
        assert!(plans.bases().is_empty(), "no rank but 0 has plans");
        plans.begin_trials_anew();
        assert!(plans.trials_of_base(1).is_none(), "beside another load");
    }

    /// The key of one message among three ranks, of which the others have nothing.
    fn one_message(source: u32, destination: u32, length: u64, offset: u64, paths: u64) -> Key {
        let mut sums = [0u64; 2];
        for rank in 0..3 {
            let mut sides = [(source, destination), (destination, source)].map(|(here, there)| {
                let mut blocks = Blocks::scattered(&[], 3);
                if rank == here {
                    blocks.bytes[there as usize] = length;
                    blocks.offsets[there as usize] = offset;
                }
                blocks
            });
            let [send, receive] = &mut sides;
            let share = Key::share(Rank(rank), paths, send, receive);
            sums.iter_mut().zip(share.0).for_each(|(sum, word)| *sum = sum.wrapping_add(word));
        }
        Key(sums)
    }

    #[test]
    fn everything_that_a_plan_depends_on_is_in_the_key() {
        let keys = [
            one_message(0, 1, 9, 0, 0),
            one_message(1, 0, 9, 0, 0),
            one_message(1, 2, 9, 0, 0),
            one_message(0, 1, 8, 0, 0),
            one_message(0, 1, 9, 1, 0),
            one_message(0, 1, 9, 0, 1),
        ];
        for (i, key) in keys.iter().enumerate() {
            assert_eq!(keys.iter().position(|k| k == key), Some(i));
        }
        assert_eq!(one_message(0, 1, 9, 0, 0), keys[0]);
        let classes: Vec<Key> = (0..=255).map(|class| keys[0].of_class(class)).collect();
        assert!(classes.iter().enumerate().all(|(i, key)| classes.iter().position(|k| k == key) == Some(i)));
        assert_eq!(classes[0], keys[0]);
    }
}
