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
//! `n` uses of the side that serves, `x` their average and `b` the bound, and the agreement where the other side is planned paths,
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
//! choose, plain MPI comes first, then the schedule has a trial, unless MPI leaves too little of the link bound; in that case MPI serves without
//! agreements, and the schedule has its trial when what MPI leaves has paid for one as above (decision 093). From then on the fastest
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

#[cfg(test)]
mod tests;

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
    /// What a planned call takes beyond, in which ranks agree.
    pub agreement: f64,
}

impl LinkBounds {
    /// Those of the demands of a plan, where an agreement takes this long.
    pub fn of(plan: &Plan, agreement: f64) -> Self {
        let direct = plan.direct_congestion_seconds.max(f64::MIN_POSITIVE);
        Self { planned: plan.congestion_seconds, direct, agreement }
    }

    /// That of the planned paths, as a multiple of that of the fabric's own routes.
    fn relative(self) -> f64 {
        self.planned / self.direct
    }

    /// The least that a call of this side can take, as such a multiple, where it is as fast as the planned paths' links.
    fn least_of(self, side: Side) -> f64 {
        match side {
            Side::Planned(_) => self.relative() + self.agreement / self.direct,
            Side::Plain => self.relative(),
        }
    }

    /// Whether the plan gains nothing over the fabric's own routes, so that MPI sends the same bytes over the same links.
    fn are_those_of_mpi(self) -> bool {
        self.relative() >= 1.0
    }
}

impl Default for LinkBounds {
    fn default() -> Self {
        Self { planned: 1.0, direct: 1.0, agreement: 0.0 }
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

    /// The number of the use, from 0, at which another side than the first one may serve.
    fn first_trial(&self) -> u32 {
        match self.first {
            Side::Planned(_) => FIRST_TRIAL,
            Side::Plain => FIRST_DIRECT_TRIAL,
        }
    }

    fn planned_known(&self) -> bool {
        self.planned.iter().any(|average| average.seconds.is_some())
    }

    /// Whether plain MPI serves for a long time to come. Where it has left no room for planned paths at their first trial, it does until what it leaves in
    /// calls that ranks agree on has paid for one: in those it takes longer than in others, in which no rank waits for the last one to begin.
    pub fn is_settled_on_plain(&self, min_gain: f64, bounds: LinkBounds) -> bool {
        let was_passed_over = self.uses > self.first_trial() && !self.planned_known();
        self.best(min_gain) == Side::Plain
            && (was_passed_over
                || !self.has_room(min_gain, bounds)
                || self.untried(bounds).all(|side| side == Side::Plain))
    }

    /// Whether planned paths could be faster than plain MPI if they took no longer than their link bound and the agreement.
    fn has_room(&self, min_gain: f64, bounds: LinkBounds) -> bool {
        self.plain.seconds.is_none_or(|plain| bounds.least_of(Side::PLANNED) * min_gain < plain)
    }

    /// What a call that ranks agree on takes longer, served by the fastest side, than one of MPI in a row, as far as known.
    pub fn agreed_excess(&self, min_gain: f64) -> Option<f64> {
        let agreed = self.average(self.best_agreed(min_gain)).seconds?;
        Some((agreed - self.in_a_row.plain_time()?).max(0.0))
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
        let refuted_share = if other == Side::Plain && bounds.are_those_of_mpi() { 1.0 } else { REFUTED_SHARE };
        let is_refuted = seconds.is_some_and(|seconds| bounds.least_of(best) > seconds * refuted_share);
        sum - if is_refuted { 0.0 } else { f64::from(times) * bounds.least_of(other) }
    }

    /// Who serves the next use.
    pub fn next(&mut self, min_gain: f64, bounds: LinkBounds) -> Side {
        let best = self.best_agreed(min_gain);
        let (uses, first_trial) = (self.uses, self.first_trial());
        self.uses = self.uses.saturating_add(1);
        if uses < first_trial {
            // Also where MPI's time is known from before: one use may have opened connections.
            return self.first;
        }
        let Some(seconds) = self.average(best).seconds else { return best };
        let room = self.has_room(min_gain, bounds);
        let untried = self.untried(bounds).find(|side| *side == Side::Plain || room);
        match untried {
            // At once, as the third equal call is to take the faster side.
            Some(side @ Side::Planned(_)) if uses == first_trial && !self.planned_known() => return side,
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
