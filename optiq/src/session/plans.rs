//! The plan cache of a communicator.

use crate::blocks::Blocks;
use crate::constants::{AVERAGE_WEIGHT, FIRST_DIRECT_TRIAL, FIRST_TRIAL, OUTLIER, TRIAL_PART};
use optiq_lower::decide::Decision;
use optiq_lower::gather::{Gathered, Place};
use optiq_lower::learned::{Paths, Times};
use optiq_lower::ports::DemandKind;
use optiq_net::Fingerprint;
use optiq_net::fingerprint::Hasher;
use optiq_transport::{Rank, Schedule};
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// What was decided for a demand set, as one rank needs it.
pub(super) struct Entry {
    pub(super) decision: Arc<Decision>,
    /// This rank's part. `None` if plain MPI serves the demand set.
    pub(super) schedule: Option<Arc<Schedule>>,
    /// What this rank copies to and from memory that its host's ranks share; `None` if it sends from its own.
    pub(super) staged: Option<Arc<Staged>>,
    /// Make a plan when the same demands come again.
    pub(super) later: bool,
    /// What making it took on rank 0; the same number on all ranks.
    pub(super) planning_seconds: f64,
    /// The link bounds, in seconds.
    pub(super) bounds: LinkBounds,
    /// Shared by all demand sets of a kind where messages go directly.
    pub(super) trials: Rc<Cell<Trials>>,
    /// Which way the schedule sends which kind of demands, where it has a plan.
    pub(super) kind: Option<(Paths, DemandKind)>,
}

/// Link bounds of a demand set, in seconds: no execution is faster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinkBounds {
    /// On the planned paths.
    pub(super) planned: f64,
    /// On the fabric's own routes; above zero.
    pub(super) direct: f64,
}

impl Default for LinkBounds {
    fn default() -> Self {
        Self { planned: 1.0, direct: 1.0 }
    }
}

impl Entry {
    /// Who serves the next use, see [`Trials`].
    pub(super) fn next(&self, min_gain: f64) -> Side {
        let mut trials = self.trials.get();
        let side = trials.next(min_gain, self.bounds);
        self.trials.set(trials);
        side
    }

    /// What a use took, in seconds.
    pub(super) fn record(&self, side: Side, seconds: f64) {
        let mut trials = self.trials.get();
        trials.record(side, seconds / self.bounds.direct);
        self.trials.set(trials);
    }

    pub(super) fn new(decision: Decision, schedule: Option<Schedule>) -> Self {
        let (decision, schedule) = (Arc::new(decision), schedule.map(Arc::new));
        Self {
            decision,
            schedule,
            staged: None,
            later: false,
            planning_seconds: 0.0,
            bounds: LinkBounds::default(),
            trials: Rc::default(),
            kind: None,
        }
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

/// Who serves a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The planned paths.
    Planned,
    /// `MPI_Alltoallv`.
    Plain,
}

/// Measured times of both sides, which overrule the cost model's prediction. Times are multiples of the link bound on the
/// fabric's own routes, so that demand sets of one kind can share what was measured.
///
/// Where the plan forwards, or sends large messages directly, planned paths come first. Plain MPI has its trial as soon as the plan may
/// have lost as much against something that takes no longer than the link bound as the trial is taken to cost, once more the
/// plan's time: whoever rents skis until the rent adds up to the price never pays more than twice what was necessary (A. Karlin,
/// M. Manasse, L. Rudolph and D. Sleator, "Competitive Snoopy Caching", Algorithmica 3, 1988). Where small messages go directly, plain
/// MPI comes first, then the schedule has a trial, unless MPI leaves too little of the link bound. From then on the faster one
/// serves. The other one gets another trial whenever all further trials together, this one included, take no more than a hundredth of
/// the time in calls ([`TRIAL_PART`]). All times are maxima over all ranks that every rank was told, so all ranks choose alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trials {
    first: Side,
    uses: u32,
    planned: RobustMovingAverage,
    plain: RobustMovingAverage,
    /// The sum of all uses.
    spent: f64,
    /// What further trials took longer than the faster side would have.
    trials_cost: f64,
}

impl Default for Trials {
    fn default() -> Self {
        Self::beginning_with(Side::Planned)
    }
}

impl Trials {
    pub(super) fn beginning_with(first: Side) -> Self {
        let (planned, plain) = Default::default();
        Self { first, uses: 0, planned, plain, spent: 0.0, trials_cost: 0.0 }
    }

    /// Trials that go on from what an earlier run measured. With both sides known, there is no first trial; with one, the other one has
    /// it as if this run had measured that; with none, they begin with `first`.
    pub(super) fn known(times: &Times, first: Side) -> Self {
        let planned = RobustMovingAverage { seconds: times.optiq_bounds, times: times.optiq_calls };
        let plain = RobustMovingAverage { seconds: times.mpi_bounds, times: times.mpi_calls };
        let (first, uses) = match (times.optiq_bounds, times.mpi_bounds) {
            (Some(_), Some(_)) => (Side::Planned, FIRST_TRIAL + 1),
            (Some(_), None) => (Side::Planned, FIRST_TRIAL),
            (None, Some(_)) => (Side::Plain, FIRST_DIRECT_TRIAL),
            (None, None) => (first, 0),
        };
        Self { uses, planned, plain, ..Self::beginning_with(first) }
    }

    /// What was measured by now.
    pub(super) fn times(&self) -> Times {
        Times {
            mpi_bounds: self.plain.seconds,
            mpi_calls: self.plain.times,
            optiq_bounds: self.planned.seconds,
            optiq_calls: self.planned.times,
        }
    }

    /// The faster one, as far as known. Planned paths must be `min_gain` times faster.
    pub(super) fn best(&self, min_gain: f64) -> Side {
        match (self.planned.seconds, self.plain.seconds) {
            (Some(planned), Some(plain)) if plain < planned * min_gain => Side::Plain,
            (Some(_), _) => Side::Planned,
            (None, _) => self.first,
        }
    }

    /// Whether plain MPI serves for a long time to come.
    pub(super) fn is_settled_on_plain(&self, min_gain: f64, bounds: LinkBounds) -> bool {
        match (self.best(min_gain), self.planned.seconds) {
            (Side::Planned, _) => false,
            (Side::Plain, Some(_)) => true,
            (Side::Plain, None) => !self.has_room(min_gain, bounds),
        }
    }

    /// Whether planned paths could be faster than plain MPI if they took no longer than their link bound.
    fn has_room(&self, min_gain: f64, bounds: LinkBounds) -> bool {
        self.plain.seconds.is_none_or(|plain| bounds.planned / bounds.direct * min_gain < plain)
    }

    /// What planned paths have lost, at most, against whatever takes no longer than their link bound.
    fn regret(&self, bounds: LinkBounds) -> f64 {
        let bound = bounds.planned / bounds.direct;
        self.planned.seconds.map_or(0.0, |planned| f64::from(self.planned.times) * (planned - bound))
    }

    /// Who serves the next use.
    pub(super) fn next(&mut self, min_gain: f64, bounds: LinkBounds) -> Side {
        let best = self.best(min_gain);
        let other = match best {
            Side::Planned => Side::Plain,
            Side::Plain => Side::Planned,
        };
        let uses = self.uses;
        self.uses = self.uses.saturating_add(1);
        let first_trial = match self.first {
            Side::Planned => FIRST_TRIAL,
            Side::Plain => FIRST_DIRECT_TRIAL,
        };
        let can_win = other == Side::Plain || self.has_room(min_gain, bounds);
        if uses < first_trial || !can_win {
            return best;
        }
        let longer = match (self.planned.seconds, self.plain.seconds) {
            (Some(planned), Some(plain)) => (planned - plain).abs(),
            (Some(planned), None) if planned <= self.regret(bounds).max(TRIAL_PART * self.spent) => return other,
            // There was no first trial; plans have one at once or not at all, as what they gain is not known before.
            (None, _) if uses == first_trial => return other,
            _ => return best,
        };
        let cost = self.trials_cost + longer;
        if cost > TRIAL_PART * self.spent {
            return best;
        }
        self.trials_cost = cost;
        other
    }

    /// What a use took, as a multiple of the link bound on the fabric's own routes.
    pub(super) fn record(&mut self, side: Side, multiple: f64) {
        self.spent += multiple;
        match side {
            Side::Planned => self.planned.add(multiple),
            Side::Plain => self.plain.add(multiple),
        }
    }
}

/// The times on which the choice rests.
impl fmt::Display for Trials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |average: RobustMovingAverage| average.seconds.map_or("not measured".into(), |m| format!("{m:.3}"));
        let (planned, plain, uses) = (time(self.planned), time(self.plain), self.uses);
        write!(f, "times the link bound of the fabric's own routes: OPTIQ {planned}, MPI {plain}, after {uses} uses")
    }
}

/// A moving average of times that follows a fabric that changes, and in which a single outlier counts little: with `m` the
/// average and `x` a new time, `m + (min(x, 1.5 m) - m) / 4`; before that the smaller of the first two times.
#[derive(Clone, Copy, Debug, Default)]
struct RobustMovingAverage {
    seconds: Option<f64>,
    times: u32,
}

impl RobustMovingAverage {
    fn add(&mut self, seconds: f64) {
        self.seconds = Some(match (self.seconds, self.times) {
            (None, _) => seconds,
            // The first use may have opened connections.
            (Some(first), ..2) => first.min(seconds),
            (Some(known), _) => known + (seconds.min(OUTLIER * known) - known) / AVERAGE_WEIGHT,
        });
        self.times = self.times.saturating_add(1);
    }
}

/// A call that was measured: its plan, who served it, and how long it took at this rank.
pub(super) struct Measured {
    pub(super) entry: Rc<Entry>,
    pub(super) side: Side,
    pub(super) seconds: f64,
}

/// A demand set and where the blocks of all ranks are: the sum of all ranks' shares, each a fingerprint of the rank's own
/// blocks, in two halves modulo 2^64.
///
/// No rank knows all blocks, and a rank's own do not tell demand sets from each other in which it has the same ones, such
/// as none. The sum does, and adding it up needs no message beyond those of the agreement. 128 bits: two of a billion
/// demand sets have the same one with a probability of 10^-21.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Key(pub(super) [u64; 2]);

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

    pub(super) fn add(&mut self, signature: u64) {
        if !self.contains(signature) {
            self.signatures[self.next] = signature;
            self.next = (self.next + 1) % self.signatures.len();
        }
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
}

impl Plans {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), made: 0, entries: Vec::new() }
    }

    /// The entry of this key, which becomes the most recently used.
    pub(super) fn take(&mut self, key: Key) -> Option<Rc<Entry>> {
        let at = self.entries.iter().position(|e| e.0 == key)?;
        let found = self.entries.remove(at);
        let entry = Rc::clone(&found.1);
        self.entries.push(found);
        Some(entry)
    }

    /// How many were added.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// Adds an entry, in place of the one that has this key.
    pub(super) fn add(&mut self, key: Key, entry: Entry) -> Rc<Entry> {
        self.entries.retain(|e| e.0 != key);
        if self.entries.len() >= self.limit {
            self.entries.remove(0);
        }
        let entry = Rc::new(entry);
        self.entries.push((key, Rc::clone(&entry)));
        self.made += 1;
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
    fn both_sides_are_tried_and_the_faster_one_serves() {
        let serve = |planned: f64, plain: f64, uses: usize| {
            let mut trials = Trials::default();
            let mut run = || {
                let side = trials.next(1.05, LinkBounds { planned: 0.5, direct: 1.0 });
                trials.record(side, if side == Side::Planned { planned } else { plain });
                side
            };
            (0..uses).map(|_| run()).collect::<Vec<_>>()
        };
        // By hand: a trial costs 1.0, a hundredth of what 100 fast uses take. 100 uses, of which the third takes 2.0, have taken
        // 101; 99 have taken 100.
        let faster = serve(1.0, 2.0, 400);
        let plain: Vec<usize> = (0..400).filter(|&i| faster[i] == Side::Plain).collect();
        assert_eq!(plain, [2, 99, 198, 297, 396]);
        let slower = serve(2.0, 1.0, 190);
        let planned: Vec<usize> = (0..190).filter(|&i| slower[i] == Side::Planned).collect();
        assert_eq!(planned, [0, 1, 98]);
        // A little faster is not enough; trials that cost little may be frequent.
        let close = serve(1.0, 1.04, 50);
        assert!(close.iter().filter(|side| **side == Side::Planned).count() <= 50 / 3, "{close:?}");
    }

    #[test]
    fn direct_messages_are_tried_where_mpi_leaves_room() {
        let serve = |direct: f64, plain: f64| {
            let bounds = LinkBounds { planned: 1.0, direct: 1.0 };
            let mut trials = Trials::beginning_with(Side::Plain);
            let mut run = || {
                let side = trials.next(1.02, bounds);
                trials.record(side, if side == Side::Planned { direct } else { plain });
                (side == Side::Planned, trials.is_settled_on_plain(1.02, bounds))
            };
            (0..12).map(|_| run()).collect::<Vec<_>>()
        };
        let planned = |list: &[(bool, bool)]| (0..list.len()).filter(|&i| list[i].0).collect::<Vec<_>>();
        // From the third use on the faster one.
        let faster = serve(1.02, 1.7);
        assert_eq!(planned(&faster), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        assert!(faster.iter().all(|(_, settled)| !settled));
        let slower = serve(3.0, 1.7);
        assert_eq!(planned(&slower), [1]);
        assert_eq!(slower.iter().position(|(_, settled)| *settled), Some(1));
        // MPI is within 2 % of the bound: there is nothing to try.
        let close = serve(1.0, 1.01);
        assert_eq!((planned(&close), close[0].1), (vec![], true));
    }

    #[test]
    fn mpi_has_its_trial_when_the_plan_may_have_lost_as_much() {
        let plain = |planned: f64, bounds: LinkBounds| {
            let mut trials = Trials::beginning_with(Side::Planned);
            let mut run = || {
                let side = trials.next(1.02, bounds);
                trials.record(side, if side == Side::Planned { planned } else { 3.0 });
                side == Side::Plain
            };
            (0..250).filter(|_| run()).collect::<Vec<_>>()
        };
        let direct = LinkBounds { planned: 1.0, direct: 1.0 };
        // By hand: a trial is taken to cost 1, a hundredth of 100 uses. The next one would cost 2: 197 uses and the trial took 200.
        assert_eq!(plain(1.0, direct), [100, 198]);
        // Six uses may have lost 6 x 0.2, what a trial is taken to cost.
        assert_eq!(plain(1.21, direct)[0], 6);
        // Half the bound of the fabric's own routes, but above the plan's: fabrics that route adaptively may do better.
        assert_eq!(plain(0.75, LinkBounds { planned: 0.5, direct: 1.0 })[0], 3);
        assert_eq!(plain(3.0, direct)[0], 2);
    }

    #[test]
    fn what_an_earlier_run_measured_needs_no_trial() {
        let bounds = LinkBounds { planned: 1.0, direct: 1.0 };
        let serve = |mpi_bounds: Option<f64>, optiq_bounds: Option<f64>| {
            let mut trials =
                Trials::known(&Times { mpi_bounds, mpi_calls: 9, optiq_bounds, optiq_calls: 9 }, Side::Plain);
            let mut run = || {
                let side = trials.next(1.02, bounds);
                trials.record(side, if side == Side::Planned { 1.02 } else { 1.7 });
                side == Side::Planned
            };
            (0..4).map(|_| run()).collect::<Vec<_>>()
        };
        assert_eq!(serve(Some(1.7), Some(1.02)), [true; 4]);
        assert_eq!(serve(Some(1.7), Some(3.0))[..2], [false; 2]);
        assert_eq!(serve(Some(1.7), None), [true; 4]);
        assert_eq!(serve(Some(1.01), None), [false; 4]);
        assert_eq!(serve(None, None), [false, true, true, true]);
        // MPI was never tried: nine calls may have lost more than a trial costs, or less.
        assert_eq!(serve(None, Some(1.2)), [false, true, true, true]);
        assert_eq!(serve(None, Some(1.02)), [true; 4]);
    }

    #[test]
    fn an_outlier_counts_little_and_a_lasting_change_counts() {
        let average = |list: &[f64]| {
            let mut average = RobustMovingAverage::default();
            list.iter().for_each(|&s| average.add(s));
            average.seconds.unwrap()
        };
        assert_eq!(average(&[9.0, 2.0]), 2.0);
        // A tenfold time counts as 3: 2 + (3 - 2) / 4; then (2 - 2.25) / 4 less.
        assert_eq!(average(&[9.0, 2.0, 20.0]), 2.25);
        assert_eq!(average(&[9.0, 2.0, 20.0, 2.0]), 2.1875);
        assert!((average(&[&[2.0; 3][..], &[4.0; 30][..]].concat()) - 4.0).abs() < 0.01);
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
    }
}
