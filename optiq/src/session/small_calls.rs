//! Who serves calls that ranks do not agree on: plain MPI, or messages of a node's ranks combined.
//!
//! Such a call may have any sizes, and every rank knows its own only. So ranks do not choose by sizes, but by what both ways took,
//! on average over the same mix of calls: the way of each call that is measured follows from its number by a hash, so that no
//! period of the program meets one way only. Times are summed up at every rank; their maxima over all ranks travel with the next
//! agreement, after which all ranks choose alike.
//!
//! The first calls of each way open connections and are not counted. When both have [`FIRST_SMALL_USES`] that are, or
//! [`CLEAR_SMALL_USES`] that differ by [`CLEAR_SMALL_RATIO`], the faster one serves; combined messages must be `OPTIQ_MIN_GAIN` times
//! as fast as MPI. They come first, as they are made only where they are predicted to be faster. What few calls have said is made
//! sure by pairs of calls later, which are the rarer, the more the ways differ. From then on the other way gets a pair of further trials whenever what they take longer is at most
//! a hundredth of the time in calls ([`TRIAL_PART`]). Calls that ranks agree to leave to MPI take part: they are divided as the others, and
//! count for MPI where combined messages do not exist yet or cannot serve them.
//!
//! Combined messages have two forms: in rounds, and straight from node to node, which leaves out nodes without bytes. Which one is
//! used follows from what all ranks know of the calls before ([`Form`]). Each has times of its own, so that MPI is measured against the one
//! that is in use. A form that comes into use for the first time takes the place of the other one where that was faster than
//! MPI; where it was not, a few calls are divided.

use crate::constants::{
    CLEAR_SMALL_RATIO, CLEAR_SMALL_USES, FIRST_SMALL_USES, SMALL_OUTLIER, SMALL_TRIAL_CALLS, SURER_SMALL_CALLS,
    UNCOUNTED_SMALL_USES,
};
use optiq_lower::constants::TRIAL_PART;
use std::fmt;

/// Who serves a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// `MPI_Alltoallv`.
    Mpi,
    /// Combined messages.
    Combined,
}

/// Who may serve calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Served {
    ByMpi,
    ByTheFaster,
    Combined,
}

/// How combined messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Through other nodes, in several rounds.
    Rounds,
    /// In one round.
    Straight,
}

/// What was measured of a way.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    /// All of them.
    made: u64,
    /// Counted since the last agreement, and what they took at this rank.
    since: u32,
    since_seconds: f64,
    /// What all ranks know: the average of one, of this many.
    seconds: f64,
    counted: f64,
}

/// See the top of the file.
#[derive(Debug)]
pub(super) struct SmallCalls {
    served: Served,
    /// How many times faster combined messages must be.
    min_gain: f64,
    /// Calls so far.
    number: u64,
    /// The form of combined messages.
    form: Form,
    /// Of MPI, and of combined messages of each form.
    uses: [Uses; 3],
    /// Calls from here on that are divided between both ways.
    divided: u64,
    /// These are too few for both.
    is_short: bool,
    /// The number of the call from which on calls are divided again, if the faster way is not known for sure.
    surer_at: Option<u64>,
    /// What trials may take longer.
    credit: f64,
}

impl SmallCalls {
    pub(super) fn new(min_gain: f64) -> Self {
        Self {
            served: Served::ByMpi,
            min_gain,
            number: 0,
            form: Form::Rounds,
            uses: Default::default(),
            divided: 0,
            is_short: false,
            surer_at: None,
            credit: 0.0,
        }
    }

    /// From now on calls are served like this.
    pub(super) fn serve(&mut self, served: Served) {
        self.served = served;
    }

    /// From now on combined messages have this form; the same on all ranks, right after [`SmallCalls::learn`].
    pub(super) fn follow(&mut self, form: Form) {
        self.form = form;
    }

    /// The number of a way's uses: of combined messages, those of the form in use.
    fn at(&self, way: Way) -> usize {
        match (way, self.form) {
            (Way::Mpi, _) => 0,
            (Way::Combined, Form::Rounds) => 1,
            (Way::Combined, Form::Straight) => 2,
        }
    }

    /// Uses of MPI and of combined messages.
    fn both(&self) -> [Uses; 2] {
        [Way::Mpi, Way::Combined].map(|way| self.uses[self.at(way)])
    }

    /// Uses of MPI and of combined messages of the form that is not in use.
    fn others(&self) -> [Uses; 2] {
        let other = match self.form {
            Form::Rounds => 2,
            Form::Straight => 1,
        };
        [self.uses[0], self.uses[other]]
    }

    pub(super) fn served(&self) -> Served {
        self.served
    }

    /// Who serves the next call; the same on all ranks.
    pub(super) fn next(&mut self) -> Way {
        self.number += 1;
        let way = match self.served {
            Served::ByMpi => Way::Mpi,
            Served::Combined => Way::Combined,
            Served::ByTheFaster if self.divided > 0 => {
                self.divided -= 1;
                let first = UNCOUNTED_SMALL_USES + CLEAR_SMALL_USES as u64;
                let is_first = self.is_short && self.uses[self.at(Way::Combined)].made < first;
                if is_first || self.has_enough_of_mpi() { Way::Combined } else { self.by_lot() }
            }
            Served::ByTheFaster => self.best(),
        };
        let at = self.at(way);
        self.uses[at].made += 1;
        way
    }

    /// Whether MPI has served as many calls, while it is not known which way is faster, as the next agreement needs to tell: the rest is left to
    /// combined messages, which are predicted to be faster. Numbers of calls are the same on all ranks, times are not.
    fn has_enough_of_mpi(&self) -> bool {
        let Uses { counted, since, .. } = self.uses[0];
        let needed = if counted < CLEAR_SMALL_USES { CLEAR_SMALL_USES } else { FIRST_SMALL_USES };
        !self.is_known() && counted + f64::from(since) >= needed
    }

    /// Every second call on average, and no more than two of one way in a row, so that few calls suffice for both.
    fn by_lot(&self) -> Way {
        let pair = (self.number / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63;
        if (self.number ^ pair) & 1 == 0 { Way::Combined } else { Way::Mpi }
    }

    /// A call of this way took so long at this rank.
    pub(super) fn record(&mut self, way: Way, seconds: f64) {
        // Both ways serve the same mix of calls: what is usual for one of them is no outlier of the other.
        let usual = self.both().map(|uses| uses.seconds).into_iter().fold(0.0, f64::max);
        let at = self.at(way);
        let uses = &mut self.uses[at];
        if self.served == Served::ByTheFaster && uses.made > UNCOUNTED_SMALL_USES {
            let longest = if uses.counted >= FIRST_SMALL_USES { SMALL_OUTLIER * usual } else { f64::INFINITY };
            uses.since += 1;
            uses.since_seconds += seconds.min(longest);
        }
    }

    /// A call that was made to be measured took so long at this rank.
    pub(super) fn tried(&mut self, way: Way, seconds: f64) {
        let at = self.at(way);
        self.uses[at].made += 1;
        self.record(way, seconds);
    }

    /// MPI has served a call that ranks agreed on, in so long at this rank.
    pub(super) fn agreed(&mut self, seconds: f64) {
        self.tried(Way::Mpi, seconds);
    }

    /// What calls of both ways took at this rank since the last agreement, in seconds.
    pub(super) fn since(&self) -> [f64; 2] {
        self.both().map(|uses| uses.since_seconds)
    }

    /// The maxima of that over all ranks.
    pub(super) fn learn(&mut self, seconds: [f64; 2]) {
        let ways = [Way::Mpi, Way::Combined].map(|way| self.at(way));
        for (at, seconds) in ways.into_iter().zip(seconds) {
            let uses = &mut self.uses[at];
            if uses.since > 0 {
                let new = f64::from(uses.since);
                // What is long ago counts less.
                let old = uses.counted.min(8.0 * FIRST_SMALL_USES);
                uses.seconds = (uses.seconds * old + seconds) / (old + new);
                uses.counted = old + new;
            }
            (uses.since, uses.since_seconds) = (0, 0.0);
        }
    }

    /// Counted calls of the way that has fewer.
    fn counted(&self) -> f64 {
        let [mpi, combined] = self.both();
        mpi.counted.min(combined.counted)
    }

    /// Whether both ways were measured often enough.
    pub(super) fn is_known(&self) -> bool {
        are_known(&self.both())
    }

    /// Whether combined messages of the other form were measured often enough, and were faster than MPI.
    fn other_form_gains(&self) -> Option<bool> {
        let uses = self.others();
        are_known(&uses).then(|| self.gains(&uses))
    }

    fn gains(&self, [mpi, combined]: &[Uses; 2]) -> bool {
        combined.seconds * self.min_gain <= mpi.seconds
    }

    /// The faster way, as far as it is known.
    pub(super) fn best(&self) -> Way {
        let gains = if self.is_known() { self.gains(&self.both()) } else { self.other_form_gains() == Some(true) };
        if gains { Way::Combined } else { Way::Mpi }
    }

    /// `calls` calls follow without an agreement: how many of them, from the first one, are to ask who serves them; the others go to MPI.
    pub(super) fn window(&mut self, calls: u64) -> u64 {
        match self.served {
            Served::ByMpi => return 0,
            Served::Combined => return calls,
            Served::ByTheFaster => {}
        }
        if !self.is_known() {
            match self.other_form_gains() {
                // All of them measure the form in use.
                Some(true) if self.both()[1].counted < FIRST_SMALL_USES => {
                    self.divided = 0;
                    return calls;
                }
                Some(false) => {
                    self.is_short = false;
                    self.divided = calls.min(2 * (UNCOUNTED_SMALL_USES + FIRST_SMALL_USES as u64));
                    return self.divided;
                }
                _ => {}
            }
            self.divided = calls;
            self.is_short = (calls as f64) < FIRST_SMALL_USES;
            return calls;
        }
        let best = self.best();
        let [mpi, combined] = self.both().map(|uses| uses.seconds);
        let [best_seconds, other] = match best {
            Way::Mpi => [mpi, combined],
            Way::Combined => [combined, mpi],
        };
        // Two pairs, of which the other way has one each.
        let cost = 2.0 * (other - best_seconds).max(0.0);
        self.credit += TRIAL_PART * calls as f64 * best_seconds;
        if self.divided == 0 {
            // What few calls said may have been chance, and is made sure: soon at first, then in an eighth of the time at most.
            let first = self.number + SURER_SMALL_CALLS;
            let is_unsure = self.counted() < FIRST_SMALL_USES && self.number >= *self.surer_at.get_or_insert(first);
            if self.credit >= cost || is_unsure {
                (self.credit, self.divided) = (0.0, SMALL_TRIAL_CALLS);
                let longer = (other - best_seconds) / best_seconds.max(f64::MIN_POSITIVE);
                let calls = SURER_SMALL_CALLS.saturating_mul(longer.max(1.0) as u64);
                self.surer_at = Some(self.number.saturating_add(calls));
            }
        }
        if best == Way::Combined { calls } else { self.divided.min(calls) }
    }
}

/// Whether MPI and combined messages were measured often enough.
fn are_known([mpi, combined]: &[Uses; 2]) -> bool {
    let is_clear = mpi.seconds.max(combined.seconds) >= CLEAR_SMALL_RATIO * mpi.seconds.min(combined.seconds);
    mpi.counted.min(combined.counted) >= if is_clear { CLEAR_SMALL_USES } else { FIRST_SMALL_USES }
}

/// The times on which the choice rests.
impl fmt::Display for SmallCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [mpi, combined] = self.both();
        write!(
            f,
            "MPI {:.3e} s in {:.0} calls, combined messages {:.3e} s in {:.0}",
            mpi.seconds, mpi.counted, combined.seconds, combined.counted
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Serves `windows` windows of 32 calls that take what `seconds` says of the way and the call; the ways.
    fn run(calls: &mut SmallCalls, windows: usize, seconds: impl Fn(Way, usize) -> f64) -> Vec<Way> {
        let mut ways = Vec::new();
        for _ in 0..windows {
            calls.learn(calls.since());
            let watched = calls.window(32);
            for call in 0..32 {
                let way = if call < watched { calls.next() } else { Way::Mpi };
                if call < watched {
                    calls.record(way, seconds(way, ways.len()));
                }
                ways.push(way);
            }
        }
        ways
    }

    fn measured() -> SmallCalls {
        let mut calls = SmallCalls::new(1.02);
        calls.serve(Served::ByTheFaster);
        calls
    }

    fn share(ways: &[Way]) -> f64 {
        ways.iter().filter(|way| **way == Way::Combined).count() as f64 / ways.len() as f64
    }

    #[test]
    fn the_faster_way_serves_and_the_other_one_has_few_trials() {
        let faster = |way| move |w, _| if w == way { 1e-4 } else { 1e-3 };
        let ways = run(&mut measured(), 100, faster(Way::Combined));
        assert!(share(&ways[320..]) > 0.98 && share(&ways[320..]) < 1.0, "{}", share(&ways[320..]));
        let ways = run(&mut measured(), 100, faster(Way::Mpi));
        assert!(share(&ways[320..]) < 0.005 && share(&ways[320..]) > 0.0, "{}", share(&ways[320..]));
        let (mut calls, mut mpi) = (measured(), SmallCalls::new(1.02));
        assert!(share(&run(&mut calls, 10, |_, _| 1e-4)) < 0.4, "no gain");
        assert_eq!(share(&run(&mut mpi, 10, |_, _| 1.0)), 0.0);
    }

    #[test]
    fn a_clear_difference_is_known_after_four_calls_beside_those_that_ranks_agree_on() {
        let mut calls = measured();
        // The first ones open connections.
        calls.agreed(1.0);
        calls.agreed(1.0);
        let mut ways = Vec::new();
        // Windows as those of `Forecast`, an agreement before each.
        for window in [1, 3, 7] {
            calls.learn(calls.since());
            calls.agreed(1e-3);
            let watched = calls.window(window);
            for _ in 0..watched {
                let way = calls.next();
                calls.record(way, if way == Way::Combined { 1e-4 } else { 1e-3 });
                ways.push(way);
            }
        }
        assert_eq!(ways, [Way::Combined; 11]);
        assert!(calls.is_known());
        // Two pairs make sure after some calls; as the difference is large, the next ones come late.
        for _ in 0..8 {
            calls.learn(calls.since());
            for _ in 0..calls.window(15) {
                let way = calls.next();
                calls.record(way, if way == Way::Combined { 1e-4 } else { 1e-3 });
                ways.push(way);
            }
        }
        assert_eq!(ways.iter().filter(|way| **way == Way::Mpi).count(), 2);
    }

    /// Calls of ten windows in which combined messages have this form.
    fn in_form(calls: &mut SmallCalls, form: Form, combined: f64) -> Vec<Way> {
        calls.learn(calls.since());
        calls.follow(form);
        run(calls, 10, |way, _| if way == Way::Combined { combined } else { 1e-3 })
    }

    #[test]
    fn each_form_of_combined_messages_has_times_of_its_own() {
        let mut calls = measured();
        in_form(&mut calls, Form::Rounds, 3e-4);
        // One that comes in place of one that gains serves at once, and is left if it does not gain.
        assert_eq!(share(&in_form(&mut calls, Form::Straight, 1e-4)[..32]), 1.0);
        let ways = in_form(&mut calls, Form::Rounds, 3e-4);
        assert!(share(&ways) > 0.95, "what was known is not known any more: {}", share(&ways));
        let mut calls = measured();
        in_form(&mut calls, Form::Rounds, 3e-4);
        let ways = in_form(&mut calls, Form::Straight, 1.5e-3);
        assert!(share(&ways[128..]) < 0.2, "{}", share(&ways[128..]));
        // In place of one that does not gain, it is tried.
        let mut calls = measured();
        in_form(&mut calls, Form::Rounds, 2e-3);
        let ways = in_form(&mut calls, Form::Straight, 1e-4);
        assert!(share(&ways[..32]) < 0.5 && share(&ways[32..]) > 0.9, "{} {}", share(&ways[..32]), share(&ways[32..]));
    }

    /// Slow calls are all agreed on, and asked about one by one.
    #[test]
    fn slow_calls_are_divided_as_well() {
        for (fast, slow) in [(Way::Combined, Way::Mpi), (Way::Mpi, Way::Combined)] {
            let (mut calls, mut ways) = (measured(), Vec::new());
            for _ in 0..200 {
                calls.learn(calls.since());
                calls.window(1);
                let way = calls.next();
                calls.record(way, if way == fast { 1e-2 } else { 1e-1 });
                ways.push(way);
            }
            let slower = |ways: &[Way]| ways.iter().filter(|way| **way == slow).count();
            assert!(slower(&ways[12..40]) <= 6, "{ways:?}");
            // Each trial is paid for by a hundred times its loss.
            assert!(slower(&ways[80..]) <= 2 && slower(&ways) > 2, "{ways:?}");
        }
    }

    #[test]
    fn calls_that_differ_in_a_period_do_not_deceive_it() {
        for period in 2..9 {
            // Combined messages take twice as long, but one call in a period takes a hundred times as long as the others.
            let long = |call: usize| if call % period == 1 { 1e-2 } else { 1e-4 };
            let ways = run(&mut measured(), 60, |way, call| long(call) * if way == Way::Combined { 2.0 } else { 1.0 });
            assert!(share(&ways[960..]) < 0.2, "period {period}: {}", share(&ways[960..]));
        }
    }

    /// Ten times as long: a hundred times would count as [`SMALL_OUTLIER`] averages at most, and takes longer to be found.
    #[test]
    fn nor_in_windows_that_grow_as_they_do() {
        for period in 2..9 {
            let long = |call: usize| if call % period == 1 { 1e-3 } else { 1e-4 };
            let (mut calls, mut ways) = (measured(), Vec::new());
            for window in [1, 3, 7, 15, 31, 63, 127].into_iter().chain([255; 40]) {
                calls.learn(calls.since());
                calls.agreed(long(ways.len()));
                ways.push(Way::Mpi);
                let watched = calls.window(window);
                for call in 0..window {
                    let way = if call < watched { calls.next() } else { Way::Mpi };
                    if call < watched {
                        calls.record(way, long(ways.len()) * if way == Way::Combined { 2.0 } else { 1.0 });
                    }
                    ways.push(way);
                }
            }
            assert!(share(&ways[5000..]) < 0.2, "period {period}: {}, {calls}", share(&ways[5000..]));
        }
    }

    #[test]
    fn what_changes_is_noticed_and_connections_do_not_count() {
        let mut calls = measured();
        let made = [Cell::new(0), Cell::new(0)];
        let cold = |way, _| {
            let made = &made[way as usize];
            made.set(made.get() + 1);
            let seconds = 1e-4 * if way == Way::Combined { 1.0 } else { 3.0 };
            if made.get() <= UNCOUNTED_SMALL_USES { 1.0 } else { seconds }
        };
        assert!(share(&run(&mut calls, 10, cold)[96..]) > 0.9);
        let ways = run(&mut calls, 200, |way, _| if way == Way::Combined { 3e-4 } else { 1e-4 });
        assert!(share(&ways[3200..]) < 0.1, "{}: {calls}", share(&ways[3200..]));
    }
}
