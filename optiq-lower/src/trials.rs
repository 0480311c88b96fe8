//! Who serves a call: measured times of MPI and of planned paths under each flow control, which overrule the cost model's
//! prediction.
//!
//! Times are multiples of the link bound on the fabric's own routes, so that demand sets of one kind can share what was measured. All
//! are maxima over all ranks that every rank was told, so all ranks choose alike.
//!
//! Where the plan forwards, or sends large messages directly on routes that are known, planned paths come first. Another side has its first trial as soon as
//! the side that serves may have lost as much, against something that takes no longer than the plan's link bound, as the trial is
//! taken to cost: whoever rents skis until the rent adds up to the price never pays more than twice what was necessary (A. Karlin,
//! M. Manasse, L. Rudolph and D. Sleator, "Competitive Snoopy Caching", Algorithmica 3, 1988). With `t` the times of the
//! `n` uses of the side that serves, `x` their average and `b` the bound,
//!
//! ```text
//!     prices of all first trials so far, this one included  <=  sum t - n b,      price = p x
//! ```
//!
//! where `p` is 1/2 for flow control, since the same plan with other flow control does not take longer by more than that where
//! nothing is wrong with either; for MPI it is 1 where the plan forwards, as MPI may take any time then, and [`DIRECT_MPI_PRICE`]
//! where MPI takes the same routes. Where uses are clearly faster than `b`, the rates that it was computed from are not those of the links
//! ([`REFUTED_SHARE`]; anything faster for MPI where it takes the same routes, as its trial costs little there), and `b` is taken for 0. Where nothing seems to be lost, a trial waits until a whole use is a hundredth of the time in
//! calls ([`TRIAL_PART`]). Flow control is tried before MPI where the plan forwards and is far from its bound ([`LONG_QUEUES_SHARE`]), after
//! it otherwise. Times are those that uses really took, outliers included: where packets are lost, one use in two takes several
//! times as long as the other, and no average that outliers hardly change says so soon. Where small messages go directly, or routers
//! choose, plain MPI comes first, then the schedule has a trial, unless MPI leaves too little of the link bound. From then on the fastest
//! serves. The others get further trials whenever all of these together take no more than a hundredth of the time in calls
//! ([`TRIAL_PART`]).
//!
//! Where other paths were predicted to gain too little, MPI and direct messages are measured, and the prediction for the other paths is
//! kept: once the faster of both takes `min_gain` times as long as that, the other paths are planned after all
//! ([`Trials::loses_to`]), and given up again if two uses show that the prediction was wrong ([`Trials::is_behind`]).
//!
//! Single calls do not show what calls cost that follow each other. Where both are known, what calls in a row take decides whether ranks go on to
//! agree (`calls_in_a_row.rs`). In a call that they have agreed on all begin together, MPI as well, and what single calls took decides who
//! serves it, unless planned paths are faster in a row.

use crate::calls_in_a_row::CallsInARow;
use crate::constants::{
    DIRECT_FIRST_BYTES, DIRECT_MPI_PRICE, FIRST_DIRECT_TRIAL, FIRST_TRIAL, FLOW_CONTROL_PRICE, LONG_QUEUES_SHARE,
    REFUTED_SHARE, SHORT_QUEUES_SHARE, TRIAL_PART,
};
use crate::learned::Times;
use crate::moving_average::RobustMovingAverage;
use crate::ports::DemandKind;
use optiq_solver::Plan;
use optiq_transport::FlowControl;
use std::fmt;

/// Link bounds of a demand set, in seconds: no execution is faster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkBounds {
    /// On the planned paths.
    pub planned: f64,
    /// On the fabric's own routes; above zero.
    pub direct: f64,
}

impl LinkBounds {
    /// Those of the demands of a plan.
    pub fn of(plan: &Plan) -> Self {
        Self { planned: plan.congestion_seconds, direct: plan.direct_congestion_seconds.max(f64::MIN_POSITIVE) }
    }

    /// That of the planned paths, as a multiple of that of the fabric's own routes.
    fn relative(self) -> f64 {
        self.planned / self.direct
    }

    /// Whether the plan gains nothing over the fabric's own routes, so that MPI sends the same bytes over the same links.
    fn are_those_of_mpi(self) -> bool {
        self.relative() >= 1.0
    }
}

impl Default for LinkBounds {
    fn default() -> Self {
        Self { planned: 1.0, direct: 1.0 }
    }
}

/// Who serves a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The planned paths, with this flow control.
    Planned(FlowControl),
    /// `MPI_Alltoallv`.
    Plain,
}

impl Side {
    /// Planned paths as the options say.
    pub const PLANNED: Self = Self::Planned(FlowControl::LongQueues);

    /// Who serves direct messages of this kind first; `flow_control` is that of OPTIQ's side. Where routers choose paths, that is MPI: all of its
    /// messages at once leave them the most to choose from, and OPTIQ's order is for routes that are known.
    pub fn first_of_direct(kind: DemandKind, flow_control: FlowControl, routers_choose: bool) -> Self {
        if kind.lower_ends()[0] >= DIRECT_FIRST_BYTES && !routers_choose {
            Self::Planned(flow_control)
        } else {
            Self::Plain
        }
    }

    /// What a first trial is taken to cost, as a multiple of what the side that serves takes.
    fn price(self, bounds: LinkBounds) -> f64 {
        match self {
            Side::Planned(_) => FLOW_CONTROL_PRICE,
            Side::Plain if bounds.are_those_of_mpi() => DIRECT_MPI_PRICE,
            Side::Plain => 1.0,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct FirstTrial {
    side: Side,
    /// What the side that serves takes.
    seconds: f64,
    price: f64,
}

impl FirstTrial {
    /// What there is to be taken off the price, now that it has taken this long.
    fn refund(self, seconds: f64) -> f64 {
        self.price - (seconds - self.seconds).clamp(0.0, self.price)
    }
}

/// See the top of the file.
#[derive(Clone, Copy, Debug)]
pub struct Trials {
    first: Side,
    /// The flow control that is tried, if it is.
    flow_controls: &'static [FlowControl],
    uses: u32,
    /// By [`FlowControl::index`].
    planned: [RobustMovingAverage; FlowControl::ALL.len()],
    plain: RobustMovingAverage,
    /// The sum of all uses.
    spent: f64,
    /// What first trials were taken to cost, or did cost where that was less.
    prices: f64,
    /// The first trial that was not measured yet.
    trial: Option<FirstTrial>,
    /// What further trials took longer than the fastest side would have.
    trials_cost: f64,
    /// What calls take that follow each other.
    in_a_row: CallsInARow,
}

impl Default for Trials {
    fn default() -> Self {
        Self::beginning_with(Side::PLANNED)
    }
}

impl Trials {
    /// Nothing is measured; `first` serves the first uses.
    pub fn beginning_with(first: Side) -> Self {
        let (planned, plain) = Default::default();
        let (uses, spent, prices, trials_cost) = Default::default();
        let in_a_row = CallsInARow::default();
        Self { first, flow_controls: &[], uses, planned, plain, spent, prices, trial: None, trials_cost, in_a_row }
    }

    /// Trials in which these have their turn too.
    #[must_use]
    pub fn with_flow_controls(self, flow_controls: &'static [FlowControl]) -> Self {
        Self { flow_controls, ..self }
    }

    /// The same with what `other` trials of the same demands measured of MPI, whose link bound on the fabric's own routes is `scale` times that of these.
    #[must_use]
    pub fn with_mpi_of(self, other: &Trials, scale: f64) -> Self {
        Self { plain: other.plain.scaled(scale), ..self }
    }

    /// The same from the beginning, with the flow control that was best, as the load of links has changed. What MPI took is kept: it makes a first trial
    /// needless, and further ones will say what MPI takes now.
    #[must_use]
    pub fn anew(self) -> Self {
        let first = match self.first {
            Side::Planned(_) => Side::Planned(self.flow_control()),
            Side::Plain => Side::Plain,
        };
        Self::beginning_with(first).with_flow_controls(self.flow_controls).with_mpi_of(&self, 1.0)
    }

    /// Trials that go on from what an earlier run measured. With both sides known, there is no first trial; with one, the other one has
    /// it as if this run had measured that; with none, they begin with `first`.
    pub fn known(times: &Times, first: Side) -> Self {
        let planned = Side::Planned(times.flow_control);
        let (first, uses) = match (times.optiq_bounds, times.mpi_bounds) {
            (Some(_), Some(_)) => (planned, FIRST_TRIAL + 1),
            (Some(_), None) => (planned, FIRST_TRIAL),
            (None, Some(_)) => (Side::Plain, FIRST_DIRECT_TRIAL),
            (None, None) => (first, 0),
        };
        let mut trials = Self { uses, ..Self::beginning_with(first) };
        trials.plain = RobustMovingAverage::known(times.mpi_bounds, times.mpi_calls);
        trials.planned[times.flow_control.index()] = RobustMovingAverage::known(times.optiq_bounds, times.optiq_calls);
        trials
    }

    /// What was measured by now; the time of planned paths is that with the flow control that is fastest, calls are those with any.
    pub fn times(&self) -> Times {
        let flow_control = self.flow_control();
        let optiq_calls = self.planned.iter().fold(0, |calls: u32, average| calls.saturating_add(average.times));
        Times {
            mpi_bounds: self.plain.seconds,
            mpi_calls: self.plain.times,
            optiq_bounds: self.planned[flow_control.index()].seconds,
            optiq_calls,
            flow_control,
        }
    }

    fn average(&self, side: Side) -> &RobustMovingAverage {
        match side {
            Side::Planned(flow_control) => &self.planned[flow_control.index()],
            Side::Plain => &self.plain,
        }
    }

    /// The flow control with which planned paths are fastest, as far as known.
    pub fn flow_control(&self) -> FlowControl {
        let known = |f: &FlowControl| Some((self.planned[f.index()].seconds?, *f));
        let fastest = FlowControl::ALL.iter().filter_map(known).min_by(|a, b| a.0.total_cmp(&b.0));
        match (fastest, self.first) {
            (Some((_, flow_control)), _) | (None, Side::Planned(flow_control)) => flow_control,
            (None, Side::Plain) => FlowControl::default(),
        }
    }

    /// The flow control that was found to be faster than another one.
    pub fn proven_flow_control(&self) -> Option<FlowControl> {
        let measured = self.planned.iter().filter(|average| average.seconds.is_some()).count();
        (measured > 1).then(|| self.flow_control())
    }

    /// The fastest side where calls follow each other, as far as known. Planned paths must be `min_gain` times faster.
    pub fn best(&self, min_gain: f64) -> Side {
        self.faster(|planned, plain| self.in_a_row.plain_is_faster(min_gain).unwrap_or(plain < planned * min_gain))
    }

    /// The fastest side for a call that ranks have agreed on. What it costs that they begin together is spent then, and MPI does without
    /// only in calls without an agreement.
    fn best_agreed(&self, min_gain: f64) -> Side {
        let may_be_plain = self.in_a_row.plain_is_faster(min_gain).unwrap_or(true);
        self.faster(|planned, plain| may_be_plain && plain < planned * min_gain)
    }

    /// MPI where both sides are measured and `plain_is_faster` says so of their times; else planned paths, or what comes first.
    fn faster(&self, plain_is_faster: impl FnOnce(f64, f64) -> bool) -> Side {
        let planned = Side::Planned(self.flow_control());
        match (self.average(planned).seconds, self.plain.seconds) {
            (Some(seconds), Some(plain)) if plain_is_faster(seconds, plain) => Side::Plain,
            (Some(_), _) => planned,
            (None, _) => self.first,
        }
    }

    /// What the fastest side takes, as far as known, as a multiple of the link bound on the fabric's own routes; none before two uses of
    /// it, as the first one may have opened connections.
    pub fn best_multiple(&self, min_gain: f64) -> Option<f64> {
        let average = self.average(self.best_agreed(min_gain));
        average.seconds.filter(|_| average.times >= 2)
    }

    /// Whether the fastest side, of those measured and MPI among them, takes `min_gain` times as long as other paths are predicted to.
    pub fn loses_to(&self, min_gain: f64, predicted_multiple: f64) -> bool {
        self.plain.seconds.is_some()
            && self.best_multiple(min_gain).is_some_and(|best| predicted_multiple * min_gain < best)
    }

    /// Whether even the fastest side is slower than that of `before`, which these have replaced.
    pub fn is_behind(&self, min_gain: f64, before: &Trials) -> bool {
        let measured = |trials: &Trials| trials.average(trials.best_agreed(min_gain)).seconds;
        let planned = self.average(Side::Planned(self.flow_control()));
        planned.times >= 2 && measured(self).zip(measured(before)).is_some_and(|(now, then)| then * min_gain < now)
    }

    /// Whether plain MPI serves for a long time to come.
    pub fn is_settled_on_plain(&self, min_gain: f64, bounds: LinkBounds) -> bool {
        self.best(min_gain) == Side::Plain
            && (!self.has_room(min_gain, bounds) || self.untried(bounds).all(|side| side == Side::Plain))
    }

    /// Whether planned paths could be faster than plain MPI if they took no longer than their link bound.
    fn has_room(&self, min_gain: f64, bounds: LinkBounds) -> bool {
        self.plain.seconds.is_none_or(|plain| bounds.relative() * min_gain < plain)
    }

    /// Sides that were never measured, and may be tried, in the order of their trials: from the most to the least in flight, or where
    /// packets must have been lost, the other way round; MPI last, or first where no queue seems to be too short, or where it takes the same routes and so
    /// costs less to try.
    fn untried(&self, bounds: LinkBounds) -> impl Iterator<Item = Side> {
        let fastest = self.flow_control();
        let known = self.planned[fastest.index()].seconds;
        let reached = known.map_or(0.0, |seconds| bounds.relative() / seconds);
        let mut order = FlowControl::ALL;
        if known.is_some() && reached < SHORT_QUEUES_SHARE {
            order.reverse();
        }
        let wanted =
            move |f: &FlowControl| if known.is_some() { self.flow_controls.contains(f) } else { *f == fastest };
        let planned = order.into_iter().filter(wanted).map(Side::Planned);
        let mpi_first = (reached >= LONG_QUEUES_SHARE || bounds.are_those_of_mpi()).then_some(Side::Plain);
        let order = mpi_first.into_iter().chain(planned).chain([Side::Plain]);
        order.filter(|side| self.average(*side).seconds.is_none())
    }

    /// What the side that serves has lost, at most, against another one that takes no longer than the plan's link bound; or no time at all,
    /// where uses show that links are faster than they were said to be.
    fn regret(&self, best: Side, other: Side, bounds: LinkBounds) -> f64 {
        let &RobustMovingAverage { sum, times, seconds, .. } = self.average(best);
        let bound = bounds.relative();
        let refuted_share = if other == Side::Plain && bounds.are_those_of_mpi() { 1.0 } else { REFUTED_SHARE };
        let is_refuted = seconds.is_some_and(|seconds| bound > seconds * refuted_share);
        sum - if is_refuted { 0.0 } else { f64::from(times) * bound }
    }

    /// Who serves the next use.
    pub fn next(&mut self, min_gain: f64, bounds: LinkBounds) -> Side {
        let best = self.best_agreed(min_gain);
        let uses = self.uses;
        self.uses = self.uses.saturating_add(1);
        let first_trial = match self.first {
            Side::Planned(_) => FIRST_TRIAL,
            Side::Plain => FIRST_DIRECT_TRIAL,
        };
        if uses < first_trial {
            // Also where MPI's time is known from before: one use may have opened connections.
            return self.first;
        }
        let Some(seconds) = self.average(best).seconds else { return best };
        let room = self.has_room(min_gain, bounds);
        let untried = self.untried(bounds).find(|side| *side == Side::Plain || room);
        let planned_known = self.planned.iter().any(|average| average.seconds.is_some());
        match untried {
            // There was no first trial; plans have one at once or not at all, as what they gain is not known before.
            Some(side @ Side::Planned(_)) if !planned_known => return if uses == first_trial { side } else { best },
            Some(side) => {
                let price = side.price(bounds) * seconds;
                let affordable = self.prices + price <= self.regret(best, side, bounds);
                if affordable || self.prices + seconds <= TRIAL_PART * self.spent {
                    self.prices += price;
                    self.trial = Some(FirstTrial { side, seconds, price });
                    return side;
                }
            }
            None => {}
        }
        self.further_trial(best, seconds, room).unwrap_or(best)
    }

    /// Whether MPI is to have a row of calls in place of planned paths, which are to serve this use and have served some in a row.
    pub fn begins_row(&mut self, min_gain: f64) -> bool {
        let planned = self.average(Side::Planned(self.flow_control())).seconds;
        let Some((planned, plain)) = planned.zip(self.plain.seconds) else { return false };
        self.best_agreed(min_gain) != Side::Plain && self.in_a_row.begin(plain - planned, self.spent)
    }

    /// What this rank took for a use of planned paths, from its begin at this rank, agreement and waiting included, as a multiple of the link bound on
    /// the fabric's own routes; nothing if that says nothing. To be called before [`Trials::record`]. With the last call of a row it gives the mean of the row at this rank.
    pub fn own_use_in_a_row(&mut self, multiple: Option<f64>) -> Option<f64> {
        self.in_a_row.own(multiple)
    }

    /// What a call of one side took where calls of it follow each other, agreement and waiting included, as a multiple of the link bound on the
    /// fabric's own routes: the greatest of all ranks' means of a row.
    pub fn record_in_a_row(&mut self, side: Side, multiple: f64) {
        match side {
            Side::Planned(_) => self.in_a_row.planned(multiple),
            Side::Plain => self.in_a_row.plain(multiple),
        }
    }

    /// Another side that was measured before, the one with the fewest uses first, if its trial is paid for.
    fn further_trial(&mut self, best: Side, seconds: f64, room: bool) -> Option<Side> {
        let flow_controls = FlowControl::ALL.into_iter().map(Side::Planned).filter(|_| room || best != Side::Plain);
        let sides = flow_controls.chain([Side::Plain]).filter(|side| *side != best);
        let known = sides.filter_map(|side| Some((side, (self.average(side).seconds? - seconds).abs())));
        let paid = known.filter(|(_, longer)| self.trials_cost + longer <= TRIAL_PART * self.spent);
        let (side, longer) = paid.min_by_key(|(side, _)| self.average(*side).times)?;
        self.trials_cost += longer;
        Some(side)
    }

    /// What a use took, as a multiple of the link bound on the fabric's own routes.
    pub fn record(&mut self, side: Side, multiple: f64) {
        self.spent += multiple;
        if let Some(trial) = self.trial.take_if(|trial| trial.side == side) {
            self.prices -= trial.refund(multiple);
        }
        match side {
            Side::Planned(flow_control) => {
                self.planned[flow_control.index()].add(multiple);
                self.in_a_row.goes_on();
            }
            Side::Plain => {
                self.plain.add(multiple);
                self.in_a_row.is_broken();
            }
        }
    }
}

/// The times on which the choice rests.
impl fmt::Display for Trials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |average: RobustMovingAverage| average.seconds.map_or("not measured".into(), |m| format!("{m:.3}"));
        let planned = self.planned.map(time).join(", ");
        let (plain, uses) = (time(self.plain), self.uses);
        write!(
            f,
            "times the link bound of the fabric's own routes: OPTIQ (long queues, small chunks, medium, short, shortest queues) {planned}; MPI {plain}; after {uses} \
             uses"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_tried_and_the_faster_one_serves() {
        let serve = |planned: f64, plain: f64, uses: usize| {
            let mut trials = Trials::default();
            let mut run = || {
                let side = trials.next(1.05, LinkBounds { planned: 0.5, direct: 1.0 });
                trials.record(side, if side == Side::PLANNED { planned } else { plain });
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
        let planned: Vec<usize> = (0..190).filter(|&i| slower[i] == Side::PLANNED).collect();
        assert_eq!(planned, [0, 1, 98]);
        // A little faster is not enough; trials that cost little may be frequent.
        let close = serve(1.0, 1.04, 50);
        assert!(close.iter().filter(|side| **side == Side::PLANNED).count() <= 50 / 3, "{close:?}");
    }

    /// On one machine links have the rate of a network that is not there: all sides are faster than the bound, MPI most of all.
    #[test]
    fn mpi_has_its_trial_at_once_where_links_are_faster_than_they_were_said_to_be() {
        let served_by_plain = |planned: f64, plain: f64| {
            let mut trials = Trials::default().with_flow_controls(&FlowControl::QUEUES);
            let mut run = || {
                let side = trials.next(1.02, LinkBounds::default());
                trials.record(side, if side == Side::Plain { plain } else { planned });
                side == Side::Plain
            };
            (0..30).map(|_| run()).collect::<Vec<_>>()
        };
        let slower = served_by_plain(0.66, 0.4);
        assert_eq!(slower.iter().position(|plain| *plain), Some(2));
        assert!(slower[3..].iter().all(|plain| *plain), "{slower:?}");
        // At the bound nothing seems to be lost.
        assert!(!served_by_plain(1.0, 0.9).contains(&true));
    }

    /// A token bucket lets the first bytes pass at once, so that a call of a few milliseconds takes less than its link bound.
    #[test]
    fn mpi_has_its_trial_at_once_where_direct_messages_beat_their_bound() {
        let first = |planned: f64, took: f64| {
            let time = |side| if side == Side::Plain { 0.85 } else { took };
            let (served, best) = sides(Side::PLANNED, LinkBounds { planned, direct: 1.0 }, 40, time);
            (served.iter().position(|side| *side == Side::Plain), best)
        };
        assert_eq!(first(1.0, 0.98), (Some(2), Side::Plain));
        // Other flow control would move the same bytes over the same links.
        let slower = |side| if side == Side::Plain { 1.1 } else { 0.98 };
        let (served, _) = sides(Side::PLANNED, LinkBounds::default(), 40, slower);
        assert_eq!(
            served.iter().filter(|side| !matches!(**side, Side::Plain | Side::PLANNED)).count(),
            0,
            "{served:?}"
        );
        // Calls of a plan that forwards may overlap, and MPI is dearer to try.
        assert_eq!(first(0.96, 0.95), (None, Side::PLANNED));
    }

    /// MPI takes 1.8 where all ranks begin together, and 1.0 in a row; planned paths take 1.3 in both. Calls without an agreement are MPI's, and what is
    /// agreed on for another look is not.
    #[test]
    fn calls_that_are_agreed_on_are_decided_by_calls_that_were() {
        let bounds = LinkBounds::default();
        let mut trials = Trials::default();
        for _ in 0..12 {
            let side = trials.next(1.05, bounds);
            trials.record(side, if side == Side::Plain { 1.8 } else { 1.3 });
        }
        trials.record_in_a_row(Side::PLANNED, 1.3);
        assert_eq!((trials.best(1.05), trials.is_settled_on_plain(1.05, bounds)), (Side::PLANNED, false));
        trials.record_in_a_row(Side::Plain, 1.0);
        assert_eq!((trials.best(1.05), trials.is_settled_on_plain(1.05, bounds)), (Side::Plain, true));
        assert_eq!(trials.next(1.05, bounds), Side::PLANNED);
        assert_eq!(trials.best_multiple(1.05), Some(1.3));
        // MPI is slower in a row, whatever it takes alone.
        let mut trials = Trials::default();
        trials.record(Side::PLANNED, 1.3);
        trials.record(Side::Plain, 1.2);
        trials.record_in_a_row(Side::PLANNED, 1.3);
        trials.record_in_a_row(Side::Plain, 1.6);
        assert_eq!((trials.best(1.05), trials.best_agreed(1.05)), (Side::PLANNED, Side::PLANNED));
    }

    #[test]
    fn direct_messages_are_tried_where_mpi_leaves_room() {
        let serve = |direct: f64, plain: f64| {
            let bounds = LinkBounds { planned: 1.0, direct: 1.0 };
            let mut trials = Trials::beginning_with(Side::Plain);
            let mut run = || {
                let side = trials.next(1.02, bounds);
                trials.record(side, if side == Side::PLANNED { direct } else { plain });
                (side == Side::PLANNED, trials.is_settled_on_plain(1.02, bounds))
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
            let mut trials = Trials::beginning_with(Side::PLANNED);
            let mut run = || {
                let side = trials.next(1.02, bounds);
                trials.record(side, if side == Side::PLANNED { planned } else { 3.0 });
                side == Side::Plain
            };
            (0..250).filter(|_| run()).collect::<Vec<_>>()
        };
        let direct = LinkBounds { planned: 1.0, direct: 1.0 };
        // By hand: a trial is taken to cost 1, a hundredth of 100 uses. The next one would cost 2: 197 uses and the trial took 200.
        assert_eq!(plain(1.0, direct), [100, 198]);
        // Six uses may have lost 6 x 0.06, of which 0.3 x 1.06 is what a trial is taken to cost.
        assert_eq!(plain(1.06, direct)[0], 6);
        // Half the bound of the fabric's own routes, but above the plan's: fabrics that route adaptively may do better.
        assert_eq!(plain(0.75, LinkBounds { planned: 0.5, direct: 1.0 })[0], 3);
        assert_eq!(plain(3.0, direct)[0], 2);
    }

    #[test]
    fn what_an_earlier_run_measured_needs_no_trial() {
        let bounds = LinkBounds { planned: 1.0, direct: 1.0 };
        let serve = |mpi_bounds: Option<f64>, optiq_bounds: Option<f64>| {
            let flow_control = FlowControl::default();
            let times = Times { mpi_bounds, mpi_calls: 9, optiq_bounds, optiq_calls: 9, flow_control };
            let mut trials = Trials::known(&times, Side::Plain);
            let mut run = || {
                let side = trials.next(1.02, bounds);
                trials.record(side, if side == Side::PLANNED { 1.02 } else { 1.7 });
                side == Side::PLANNED
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

    /// MPI takes 1.5 and direct messages 1.4 of the bound: paths that were predicted to take 1.3 are planned, and given up if they take
    /// more than 1.4 themselves.
    #[test]
    fn other_paths_get_their_turn_when_all_else_is_slower() {
        let (direct, flow_control) = (Side::PLANNED, FlowControl::default());
        let mut before = Trials::beginning_with(Side::Plain);
        before.record(Side::Plain, 1.5);
        assert!(!before.loses_to(1.05, 0.1), "one use may have opened connections");
        before.record(direct, 1.4);
        before.record(direct, 1.4);
        assert!(before.loses_to(1.05, 1.3) && !before.loses_to(1.05, 1.35) && !before.loses_to(1.05, f64::INFINITY));
        let with = |planned: f64| {
            let mut trials = Trials::beginning_with(Side::Planned(flow_control)).with_mpi_of(&before, 1.0);
            assert!(!trials.is_behind(1.05, &before), "nothing is measured");
            trials.record(direct, 9.0);
            assert!(!trials.is_behind(1.05, &before), "one use may have opened connections");
            trials.record(direct, planned);
            (trials.is_behind(1.05, &before), trials.best(1.05))
        };
        assert_eq!(with(1.3), (false, direct));
        assert_eq!(with(1.42), (false, direct), "as fast as what it has replaced");
        assert_eq!(
            with(1.45),
            (true, Side::Plain),
            "less than 1.05 times as fast as MPI, which is slower than direct messages"
        );
        assert_eq!(with(1.6), (true, Side::Plain));
        let mut only_direct = Trials::default();
        (0..3).for_each(|_| only_direct.record(direct, 9.0));
        assert!(!only_direct.loses_to(1.05, 1.0), "MPI was not measured");
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

    /// Uses of each side in turn, where each takes as long as `time` says; and who is fastest in the end.
    fn sides(first: Side, bounds: LinkBounds, uses: usize, time: impl Fn(Side) -> f64) -> (Vec<Side>, Side) {
        let mut trials = Trials::beginning_with(first).with_flow_controls(&FlowControl::QUEUES);
        let mut run = || {
            let side = trials.next(1.02, bounds);
            trials.record(side, time(side));
            side
        };
        ((0..uses).map(|_| run()).collect(), trials.best(1.02))
    }

    #[test]
    fn flow_control_is_tried_where_the_plan_is_far_from_its_bound() {
        use FlowControl::{LongQueues, MediumQueues, ShortQueues, ShortestQueues, SmallChunks};
        let time = |side| match side {
            Side::Planned(LongQueues | SmallChunks) => 0.95,
            Side::Planned(MediumQueues) => 0.9,
            Side::Planned(ShortQueues) => 0.55,
            Side::Planned(ShortestQueues) => 0.7,
            Side::Plain => 1.5,
        };
        // By hand: two uses of 0.95 may have lost 0.9, which pays for half of 0.95. Then medium queues are best, the trial cost
        // nothing, and they lose 0.4 in each use; two pay for the 0.45 that the next trial is taken to cost.
        let (served, best) = sides(Side::PLANNED, LinkBounds { planned: 0.5, direct: 1.0 }, 6, time);
        let expected = [LongQueues, LongQueues, MediumQueues, MediumQueues, ShortQueues, ShortQueues];
        assert_eq!(served, expected.map(Side::Planned));
        assert_eq!(best, Side::Planned(ShortQueues));
        // Close to the bound nothing is tried for long.
        let (served, _) = sides(Side::PLANNED, LinkBounds { planned: 0.93, direct: 1.0 }, 23, |_| 0.95);
        assert!(served.iter().all(|side| *side == Side::PLANNED), "{served:?}");
        // At less than half of the bound, packets were lost: least in flight first.
        let far = |side| if side == Side::Planned(ShortestQueues) { 1.1 } else { 9.0 };
        let (served, best) = sides(Side::PLANNED, LinkBounds { planned: 0.99, direct: 1.0 }, 6, far);
        assert_eq!(served[..2], [Side::PLANNED; 2]);
        assert_eq!((&served[2..], best), (&[Side::Planned(ShortestQueues); 4][..], Side::Planned(ShortestQueues)));
        // On the same routes MPI costs less to try.
        let (served, best) = sides(Side::PLANNED, LinkBounds { planned: 1.0, direct: 1.0 }, 6, far);
        assert_eq!(served[2..4], [Side::Plain, Side::Planned(ShortestQueues)]);
        assert_eq!(best, Side::Planned(ShortestQueues));
    }

    /// Where packets are lost, uses take about one bound or several, and no flow control helps: MPI has its trial all the same, and serves.
    #[test]
    fn lost_packets_do_not_keep_mpi_from_its_trial() {
        let planned = [2.9, 2.8, 6.3, 1.05, 3.8, 4.3, 4.9, 5.3];
        let at = std::cell::Cell::new(0);
        let time = |side| {
            at.set(at.get() + 1);
            if side == Side::Plain { 2.2 } else { planned[(at.get() - 1) % planned.len()] }
        };
        let (served, best) = sides(Side::PLANNED, LinkBounds { planned: 1.0, direct: 1.0 }, 16, time);
        let first = served.iter().position(|side| *side == Side::Plain);
        assert!(first.is_some_and(|first| first <= 8), "{served:?}");
        assert_eq!(best, Side::Plain, "{served:?}");
    }

    /// A matrix as skewed as that of `data/cases/log-normal-16.txt`: the plan takes 1.13 bounds on a fat tree, MPI 1.06.
    #[test]
    fn mpi_is_tried_before_flow_control_where_the_plan_is_near_its_bound() {
        let bounds = LinkBounds { planned: 1.0, direct: 1.0 };
        let time = |side| if side == Side::Plain { 1.06 } else { 1.13 };
        let (served, best) = sides(Side::PLANNED, bounds, 12, time);
        // By hand: three uses may have lost 0.39, and a trial is taken to cost 0.34.
        assert_eq!(served.iter().position(|side| *side == Side::Plain), Some(3));
        assert_eq!(best, Side::Plain);
        assert!(served[3..].iter().filter(|side| **side != Side::Plain).count() <= 1, "{served:?}");
        // Farther from it, flow control of a plan that forwards comes first.
        let forwards = LinkBounds { planned: 0.99, direct: 1.0 };
        let (served, _) = sides(Side::PLANNED, forwards, 12, |side| if side == Side::Plain { 1.2 } else { 1.3 });
        assert_eq!(served.iter().find(|side| **side != Side::PLANNED), Some(&Side::Planned(FlowControl::MediumQueues)));
    }

    /// Calls at the start of a program may take ten times as long as later ones; a trial that was faster is no debt of theirs.
    #[test]
    fn a_slow_start_does_not_put_off_later_trials() {
        let at = std::cell::Cell::new(0);
        let time = |_| {
            at.set(at.get() + 1);
            if at.get() <= 2 { 30.0 } else { 3.0 }
        };
        // By hand: two uses of 30 pay for MPI's trial. It takes 3, and loses 2 a use; half of 3 is affordable at once, and again as the next
        // one cost nothing.
        let (served, _) = sides(Side::PLANNED, LinkBounds { planned: 1.0, direct: 1.0 }, 6, time);
        let last = Side::Planned(FlowControl::MediumQueues);
        assert_eq!((served[2], served[5]), (Side::Plain, last), "{served:?}");
    }

    #[test]
    fn flow_control_that_is_no_better_costs_little() {
        let bounds = LinkBounds { planned: 1.0, direct: 1.0 };
        let time = |side| match side {
            Side::PLANNED => 1.25,
            Side::Planned(_) => 1.6,
            Side::Plain => 1.8,
        };
        let (served, best) = sides(Side::PLANNED, bounds, 400, time);
        let others = served.iter().filter(|side| **side != Side::PLANNED).count();
        assert_eq!(best, Side::PLANNED);
        // Four first trials, and further ones, of 0.35 at least, for a hundredth of some 400 x 1.25.
        assert!((5..=4 + 15).contains(&others), "{others}");
        let lost: f64 = served.iter().map(|&side| time(side) - 1.25).sum();
        assert!(lost < 3.0 * 0.35 + 0.55 + 0.01 * 1.02 * 500.0, "{lost}");
    }

    #[test]
    fn mpi_far_from_the_bound_is_left_when_small_chunks_are_found_to_be_faster() {
        let bounds = LinkBounds { planned: 1.0, direct: 1.0 };
        let time = |side| match side {
            Side::Planned(FlowControl::ShortestQueues) => 1.02,
            Side::Planned(_) => 13.0,
            Side::Plain => 10.0,
        };
        let (served, best) = sides(Side::Plain, bounds, 8, time);
        assert_eq!(served[..2], [Side::Plain, Side::PLANNED]);
        assert_eq!(best, Side::Planned(FlowControl::ShortestQueues), "{served:?}");
    }

    #[test]
    fn trials_that_begin_anew_know_the_flow_control_and_what_mpi_took() {
        let mut trials = Trials::default().with_flow_controls(&FlowControl::QUEUES);
        trials.record(Side::PLANNED, 9.0);
        trials.record(Side::Planned(FlowControl::ShortQueues), 2.0);
        trials.record(Side::Plain, 1.0);
        assert_eq!(trials.best(1.02), Side::Plain);
        let mut again = trials.anew();
        assert_eq!(again.next(1.02, LinkBounds::default()), Side::Planned(FlowControl::ShortQueues));
        assert_eq!((again.times().mpi_bounds, again.times().optiq_bounds), (Some(1.0), None));
        let elsewhere = Trials::default().with_mpi_of(&trials, 0.5);
        assert_eq!((elsewhere.times().mpi_bounds, elsewhere.times().mpi_calls), (Some(0.5), 1));
        assert_eq!(Trials::beginning_with(Side::Plain).anew().best(1.02), Side::Plain);
    }

    /// MPI takes three times as long as planned paths, which take twice their bound. Each of 20 changes of the load would cost a trial of MPI.
    #[test]
    fn trials_that_begin_anew_try_mpi_once() {
        let mut trials = Trials::default();
        let mut by_mpi = 0;
        for call in 0..200 {
            if call % 10 == 9 {
                trials = trials.anew();
            }
            let side = trials.next(1.02, LinkBounds { planned: 0.5, direct: 1.0 });
            by_mpi += usize::from(side == Side::Plain);
            trials.record(side, if side == Side::Plain { 3.0 } else { 1.0 });
        }
        assert_eq!(by_mpi, 1);
    }

    #[test]
    fn what_is_known_has_its_flow_control() {
        let mut trials =
            Trials::beginning_with(Side::Planned(FlowControl::ShortQueues)).with_flow_controls(&FlowControl::QUEUES);
        assert_eq!(trials.next(1.02, LinkBounds::default()), Side::Planned(FlowControl::ShortQueues));
        trials.record(Side::Planned(FlowControl::ShortQueues), 1.1);
        assert_eq!(trials.proven_flow_control(), None);
        let times = trials.times();
        assert_eq!((times.flow_control, times.optiq_bounds), (FlowControl::ShortQueues, Some(1.1)));
        let mut again = Trials::known(&times, Side::Plain);
        assert_eq!(again.next(1.02, LinkBounds::default()), Side::Planned(FlowControl::ShortQueues));
        again.record(Side::PLANNED, 1.0);
        assert_eq!(again.proven_flow_control(), Some(FlowControl::LongQueues));
    }
}
