//! One call: agree, plan if need be, and move the bytes.

use super::agree::{Agreement, Offer};
use super::arguments::{ByMpi, Local};
use super::channels::Priority;
use super::outcome::Outcome;
use super::planning::{LATER, PLANNED, TRIED};
use super::plans::{Cause, Entry, Measured, Row, Staged};
use super::setup::Fabric;
use super::state::Session;
use crate::blocks::Blocks;
use crate::config::Config;
use crate::constants::EXCHANGES_AT_ONCE;
use crate::error::Error;
use optiq_lower::constants::ROW_CALLS;
use optiq_lower::decide::{Decision, multipath};
use optiq_lower::forecast::CallClass;
use optiq_lower::gather::{Gathered, gather, pays};
use optiq_lower::learned::Paths;
use optiq_lower::lower::{Message, lower, lower_by_timetable, merge};
use optiq_lower::ports::PortLoads;
use optiq_lower::relays::RelayPolicy;
use optiq_lower::timetable;
use optiq_lower::trials::{LinkBounds, Side};
use optiq_solver::{Demand, Plan};
use optiq_transport::{Execution, Grants, Rank, Schedule, ScheduleOptions};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// What is known of demands that were agreed upon.
enum Found {
    /// What serves them.
    Entry(Rc<Entry>),
    /// They are to be planned.
    Plan(Cause),
}

/// What was made for demands.
pub(super) struct Made {
    pub(super) entry: Entry,
    /// The plan, if it forwards and was not carried over.
    plan: Option<Plan>,
    /// The number of the plan that it was carried over from.
    base: Option<u64>,
}

impl From<Entry> for Made {
    /// Without planned paths.
    fn from(entry: Entry) -> Self {
        Self { entry, plan: None, base: None }
    }
}

/// One rank's part of an exchange.
struct Part {
    schedule: Schedule,
    /// Its copies, if messages are packed in memory that a host's ranks share.
    staged: Option<Arc<Staged>>,
    /// Whether messages go by a timetable; the same on all ranks.
    in_time: bool,
}

/// What ranks bring to an agreement beside their blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Whether `MPI_Alltoallv` can count so far.
    pub(super) countable: bool,
    /// Of the arguments; see [`super::arguments::signature`].
    pub(super) signature: u64,
    /// Whether the demands are known to come again.
    pub(super) repeated: bool,
    /// The priority class, which must be the same on all ranks.
    pub(super) class: u8,
}

impl Session {
    /// # Safety
    /// As [`Session::exchange`].
    pub(super) unsafe fn serve(
        &self,
        local: Result<Local, Error>,
        arguments: Option<ByMpi<'_>>,
        signature: u64,
    ) -> Result<Outcome, Error> {
        let Ok(fabric) = &self.fabric else {
            // Plain MPI for good: nothing to agree on, except that our own argument checks come first.
            // SAFETY: passed on.
            return unsafe { self.without_fabric(local, arguments) };
        };
        // Other ranks may wait for what was started, and need this rank's part in it, before they come to agree.
        self.finish_started();
        let (begun, plans_made) = (Instant::now(), self.plans_made());
        let (agreement, entry) = {
            let terms = Terms { countable: arguments.is_some(), signature, repeated: false, class: 0 };
            self.prepare(fabric, local.as_ref(), terms)?
        };
        let local = local?;
        let (Local::Bytes(send, receive), Some(entry)) = (&local, entry) else {
            let reason = match local {
                Local::OnlyMpi(reason) => reason,
                Local::Bytes(..) if agreement.servable => self.too_little(&agreement),
                Local::Bytes(..) => "another rank has arguments that only MPI can serve".into(),
            };
            if !agreement.countable {
                let text = "some rank has arguments that only MPI can serve, another one counts beyond 2^31 - 1";
                return Err(Error::Argument(text.into()));
            }
            if agreement.servable {
                // SAFETY: passed on.
                return unsafe { self.agreed_small_call(arguments, Arc::new(Decision::Mpi { reason })) };
            }
            // SAFETY: passed on.
            return unsafe { self.hand_over(arguments, Arc::new(Decision::Mpi { reason })) };
        };
        let is_planned = entry.schedule.is_some();
        let served = is_planned.then(|| self.server(&entry, agreement.countable, agreement.news.insist));
        let Some((side, begins_row)) = served else {
            let start = Instant::now();
            // SAFETY: passed on.
            let outcome = unsafe { self.agreed_small_call(arguments, Arc::clone(&entry.decision)) };
            if let Some(load) = &fabric.load {
                load.passed_on(Some(start.elapsed().as_secs_f64()));
            }
            return outcome;
        };
        let schedule = match side {
            Side::Plain => None,
            Side::Planned(flow_control) => entry.schedule_with(flow_control),
        };
        let start = Instant::now();
        let outcome = match schedule {
            // SAFETY: passed on.
            Some(schedule) => unsafe { self.execute(&entry, &schedule, send, receive) },
            None => {
                let reason = "it is measured against planned paths, or was found to be faster".into();
                // SAFETY: passed on.
                let outcome = unsafe { self.hand_over(arguments, Arc::new(Decision::Mpi { reason })) };
                outcome.map(|o| Outcome { planned: Some(Arc::clone(&entry.decision)), ..o })
            }
        }?;
        let seconds = start.elapsed().as_secs_f64();
        if let Some(load) = &fabric.load {
            load.served((&fabric.placement, self.rank()), &entry, (side, seconds), agreement.key);
        }
        let is_new = self.plans_made() != plans_made;
        let whole_seconds = (!is_new).then(|| begun.elapsed().as_secs_f64());
        // Demands that are others each time are prepared each time.
        let preparation = if is_new && side != Side::Plain { entry.preparation_seconds } else { 0.0 };
        let seconds = seconds + preparation;
        self.measured.set(Some(Measured { entry, side, seconds, whole_seconds }));
        if begins_row {
            self.begin_row(signature);
        }
        Ok(outcome)
    }

    /// Has MPI serve the next calls without an agreement, as the first of their row; they are timed.
    fn begin_row(&self, signature: u64) {
        let calls = ROW_CALLS - 1;
        let is_new = self.known_fallbacks.borrow_mut().add(signature);
        self.row.set(Some(Row { left: calls, seconds: 0.0, signature: is_new.then_some(signature) }));
        self.forecast.borrow_mut().row(calls);
        self.fast_path.allow(calls, calls);
    }

    /// Agrees, and finds or makes a plan; collective. No entry if plain MPI serves the call whatever a plan would be.
    pub(super) fn prepare(
        &self,
        fabric: &Fabric,
        local: Result<&Local, &Error>,
        Terms { countable, signature, repeated, class }: Terms,
    ) -> Result<(Agreement, Option<Rc<Entry>>), Error> {
        let blocks = match local {
            Ok(Local::Bytes(send, receive)) => Some((send, receive)),
            _ => None,
        };
        let mut agreement = self.agree(&Offer { failed: local.is_err(), blocks, countable, class, repeated })?;
        self.follow_load(fabric, agreement.news)?;
        agreement.key = fabric.key_on_left(agreement.key).of_class(class);
        if let Some(rank) = agreement.failed {
            self.learn(&agreement, CallClass::Fallback, false, 0.0)?;
            // A rank's own error says more.
            return if local.is_err() { Ok((agreement, None)) } else { Err(Error::ArgumentElsewhere(rank)) };
        }
        let (least, greatest) = agreement.classes;
        if least != greatest {
            self.learn(&agreement, CallClass::Fallback, false, 0.0)?;
            let text = format!(
                "the priority class is not the same on all ranks: {least} is the least, {greatest} the greatest"
            );
            return Err(Error::Argument(text));
        }
        let (Some((send, receive)), true) = (blocks, agreement.servable) else {
            self.learn(&agreement, CallClass::Fallback, false, 0.0)?;
            return Ok((agreement, None));
        };
        if self.config.check {
            self.compare_counts(send, receive)?;
        }
        if self.falls_back(fabric, &agreement, (send, receive), repeated)? {
            if agreement.host_bytes >= fabric.least_bytes() {
                self.known_fallbacks.borrow_mut().add(signature);
            }
            self.learn(&agreement, CallClass::Fallback, false, 0.0)?;
            return Ok((agreement, None));
        }
        let (planning_seconds, entry) = match self.found(&agreement, repeated) {
            Found::Entry(entry) => (0.0, entry),
            Found::Plan(cause) => {
                let made = self.plan(fabric, &agreement, send, receive, cause)?;
                (made.planning_seconds, made)
            }
        };
        // Where plain MPI was found to be faster, it needs no agreement until planned paths are due for another trial.
        let tried = self.config.may_fall_back() && agreement.countable;
        let is_settled = entry.trials.get().is_settled_on_plain(self.config.min_gain, entry.bounds);
        // Where load is followed, rank 0 may have news before any call.
        let planned = entry.schedule.is_some() && (fabric.load.is_some() || !(tried && is_settled));
        let class = if planned { CallClass::Planned } else { CallClass::Fallback };
        // What is agreed on now and then, where MPI is settled on, is slower than without an agreement.
        let excess_seconds = if is_settled { entry.agreed_excess(self.config.min_gain) } else { 0.0 };
        if class == CallClass::Fallback && !entry.later {
            self.known_fallbacks.borrow_mut().add(signature);
        }
        self.learn(&agreement, class, entry.later, planning_seconds + excess_seconds)?;
        Ok((agreement, Some(entry)))
    }

    /// What there is for the demands that were agreed upon; the same on all ranks, as measured times are. `repeated` as in
    /// [`Session::prepare`].
    fn found(&self, agreement: &Agreement, repeated: bool) -> Found {
        let (mut plans, min_gain) = (self.plans.borrow_mut(), self.config.min_gain);
        let Some(mut entry) = plans.take(agreement.key) else {
            return Found::Plan(if repeated { Cause::Repeated } else { Cause::New });
        };
        if let Some(before) = entry.worse_than(min_gain) {
            if self.rank() == Rank(0) {
                log::debug!("planned paths take longer than was predicted: {}", entry.trials.get());
            }
            before.predicted_seconds.set(f64::INFINITY);
            entry = plans.put(agreement.key, Rc::clone(before));
        }
        // Where OPTIQ must serve, nothing else is measured, and nothing to be slower than.
        let may_choose = self.config.may_fall_back() && agreement.countable;
        match entry.slower_than_predicted(min_gain).filter(|_| may_choose) {
            _ if entry.later => Found::Plan(Cause::Repeated),
            Some(seconds) => Found::Plan(Cause::Slower { entry, seconds }),
            None => Found::Entry(entry),
        }
    }

    /// Whether the exchange is too small to pay for a look at its demands; collective. A started one, which is `repeated`, agrees once for many
    /// starts, so that it need not win that back: it is planned unless combined messages serve it.
    fn falls_back(
        &self,
        fabric: &Fabric,
        agreement: &Agreement,
        blocks: (&Blocks, &Blocks),
        repeated: bool,
    ) -> Result<bool, Error> {
        let may = self.config.may_fall_back() && agreement.countable;
        if !may || agreement.host_bytes >= self.least_planned_bytes(fabric, agreement) {
            return Ok(false);
        }
        let is_due = repeated && agreement.host_bytes >= fabric.least_bytes();
        Ok(!is_due || self.combined_for_started(fabric, agreement, blocks)?.is_some())
    }

    pub(super) fn too_little(&self, agreement: &Agreement) -> String {
        format!("no host sends or receives more than {} bytes, too few to win back an agreement", agreement.host_bytes)
    }

    /// Who serves a planned demand set this time, and whether MPI has a row of calls from this one on; the same on all ranks. `insist` on
    /// planned paths, as rank 0 has asked all to.
    fn server(&self, entry: &Entry, countable: bool, insist: bool) -> (Side, bool) {
        if !self.config.may_fall_back() || !countable || insist {
            return (Side::Planned(entry.trials.get().flow_control()), false);
        }
        // Where load is followed, rank 0 may have news before any call.
        let follows_load = self.fabric.as_ref().is_ok_and(|fabric| fabric.load.is_some());
        let may_be_row = self.forecasts && !follows_load && self.fast_path.is_used_up();
        let (side, begins_row) = entry.next(self.config.min_gain, may_be_row);
        if self.rank() == Rank(0) {
            let row = if begins_row { ", in a row" } else { "" };
            log::debug!("served by {side:?}{row}, as measured: {}", entry.trials.get());
        }
        (side, begins_row)
    }

    /// # Safety
    /// As [`Session::exchange`].
    unsafe fn without_fabric(
        &self,
        local: Result<Local, Error>,
        arguments: Option<ByMpi<'_>>,
    ) -> Result<Outcome, Error> {
        let reason = self.fabric.as_ref().err().cloned().unwrap_or_default();
        local?;
        if arguments.is_none() {
            return Err(Error::Argument(
                "counts beyond 2^31 - 1 elements need OPTIQ_TOPOLOGY: MPI_Alltoallv cannot count so far".into(),
            ));
        }
        // SAFETY: passed on.
        unsafe { self.hand_over(arguments, Arc::new(Decision::Mpi { reason })) }
    }

    /// Whether every rank expects what is sent to it; collective.
    fn compare_counts(&self, send: &Blocks, receive: &Blocks) -> Result<(), Error> {
        let sent = self.comm.all_to_all(&send.bytes)?;
        let pairs = (0..).map(Rank).zip(receive.bytes.iter().zip(&sent));
        let mut wrong = pairs.filter(|(_, (expected, sent))| expected != sent);
        self.settle_counts(wrong.next().map(|(from, (&expected, &sent))| (from, expected, sent)))
    }

    /// The same error or none on all ranks, from each rank's (sender, expected bytes, sent bytes).
    fn settle_counts(&self, mismatch: Option<(Rank, u64, u64)>) -> Result<(), Error> {
        let me = self.rank();
        let mut counts = [if mismatch.is_some() { -i64::from(me.0) - 1 } else { 0 }];
        self.comm.all_min(&mut counts)?;
        match mismatch {
            Some((from, expected, sent)) => Err(Error::Counts { rank: me, from, expected, sent }),
            None if counts[0] < 0 => Err(Error::CountsElsewhere(Rank((-counts[0] - 1) as u32))),
            None => Ok(()),
        }
    }

    /// Makes a plan for a demand set that is not in the ranks' caches, or was not worth a plan when it was seen first;
    /// collective.
    fn plan(
        &self,
        fabric: &Fabric,
        agreement: &Agreement,
        send: &Blocks,
        receive: &Blocks,
        cause: Cause,
    ) -> Result<Rc<Entry>, Error> {
        let begun = Instant::now();
        let countable = agreement.countable;
        let messages = self.gather(&send.bytes, agreement.classes.0)?;
        let me = self.rank();
        self.settle_counts((0..self.size()).map(Rank).find_map(|from| {
            let sent = sent(&messages, from, me);
            let expected = receive.bytes[from.index()];
            (sent != expected).then_some((from, expected, sent))
        }))?;
        // A rank to itself is a copy, not a message.
        let messages: Vec<Message> = messages.into_iter().filter(|m| m.source != m.destination).collect();
        let beyond = (!countable).then_some(", but counts are beyond 2^31 - 1 elements");
        let make = |demands: &[Demand]| match fabric.prepared(agreement.key) {
            Some(plan) => Ok(plan),
            None => self.plan_on_rank_0(fabric, demands, &cause),
        };
        let made = self.entry(fabric, &messages, send, receive, beyond, make);
        let entry = match self.usable(made)? {
            Ok(Made { mut entry, plan, base }) => {
                if let Some(plan) = plan {
                    let plan = (me == Rank(0)).then_some(plan);
                    self.plans.borrow_mut().keep_base(plan, &entry.trials);
                }
                if let Some(number) = base {
                    self.plans.borrow_mut().use_base(number);
                    entry.preparation_seconds = begun.elapsed().as_secs_f64();
                }
                if let Some(before) = fabric.before_load(agreement.key).filter(|_| entry.forwards()) {
                    entry.set_mpi_of(&before);
                }
                entry.in_place_of(&cause)
            }
            Err(error) if self.config.strict || !countable => return Err(error),
            Err(error) => {
                if let Cause::Slower { entry: before, .. } = cause {
                    self.warn_on_rank_0(&format!("{error}; what served these demands before goes on to"));
                    before.predicted_seconds.set(f64::INFINITY);
                    return Ok(self.plans.borrow_mut().put(agreement.key, before));
                }
                self.warn_on_rank_0(&format!("{error}; these demands go to plain MPI"));
                Entry::new(Decision::Mpi { reason: error.to_string() }, None)
            }
        };
        Ok(self.plans.borrow_mut().add(agreement.key, entry))
    }

    /// Everybody's messages, which are all of this class, ascending by (source, destination).
    fn gather(&self, bytes: &[u64], class: u8) -> Result<Vec<Message>, Error> {
        let row: Vec<u64> =
            bytes.iter().enumerate().filter(|(_, b)| **b > 0).flat_map(|(to, &b)| [to as u64, b]).collect();
        let (lengths, words) = self.comm.all_gather(&row)?;
        let sources = (0..).map(Rank).zip(&lengths).flat_map(|(rank, &n)| std::iter::repeat_n(rank, n / 2));
        let message = |(source, pair): (Rank, &[u64])| {
            let destination = Rank(pair[0] as u32);
            Message { source, destination, bytes: pair[1], class }
        };
        Ok(sources.zip(words.chunks_exact(2)).map(message).collect())
    }

    /// What all ranks could make, or an error on all; collective. The outer error is MPI's.
    pub(super) fn usable<T>(&self, made: Result<T, Error>) -> Result<Result<T, Error>, Error> {
        let mut usable = [i64::from(made.is_ok())];
        self.comm.all_min(&mut usable)?;
        let elsewhere = || Error::BadPlan("another rank could not use it".into());
        Ok(made.and_then(|made| if usable[0] == 1 { Ok(made) } else { Err(elsewhere()) }))
    }

    /// Lets rank 0 decide, by `make` ([`Session::plan_on_rank_0`]), and makes this rank's schedule; collective. What it
    /// decides for plain MPI goes there, unless OPTIQ is `obliged` to move it, with words that are added to the reason.
    pub(super) fn entry(
        &self,
        fabric: &Fabric,
        messages: &[Message],
        send: &Blocks,
        receive: &Blocks,
        obliged: Option<&str>,
        make: impl FnOnce(&[Demand]) -> Result<Vec<u8>, Error>,
    ) -> Result<Made, Error> {
        let demands = merge(messages, &fabric.placement).map_err(Error::BadPlan);
        let mut sent_out = Vec::new();
        let mut failure = None;
        if self.rank() == Rank(0) {
            match demands.and_then(|d| make(&d)) {
                Ok(bytes) => sent_out = bytes,
                Err(error) => failure = Some(error),
            }
        }
        self.comm.broadcast(Rank(0), &mut sent_out)?;
        if let Some(error) = failure {
            return Err(error);
        }
        let none = || Error::BadPlan("rank 0 could not make one".into());
        let (seconds, rest) = sent_out.split_first_chunk::<8>().ok_or_else(none)?;
        let (&tag, rest) = rest.split_first().ok_or_else(none)?;
        let planning_seconds = f64::from_le_bytes(*seconds);
        let reason = || String::from_utf8_lossy(rest).into_owned();
        let (word, decision, plan) = match tag {
            PLANNED | TRIED => {
                let (word, plan) = rest.split_first_chunk::<8>().ok_or_else(none)?;
                let plan = Plan::from_bytes(plan, &fabric.left()).map_err(|e| Error::BadPlan(e.to_string()))?;
                (*word, multipath(&plan), Some(plan))
            }
            _ => match obliged {
                None => {
                    let entry = Entry::new(Decision::Mpi { reason: reason() }, None);
                    return Ok(Entry { later: tag == LATER, planning_seconds, ..entry }.into());
                }
                Some(words) => ([0; 8], Decision::Direct { reason: reason() + words }, None),
            },
        };
        let Part { schedule, staged, in_time } = self.schedule(fabric, messages, plan.as_ref(), send, receive)?;
        let entry = Entry { planning_seconds, staged, ..Entry::new(decision, Some(schedule)) };
        let Some(plan) = plan else { return Ok(entry.into()) };
        let demands = if self.rank() == Rank(0) && fabric.load.is_some() { plan.demands.clone() } else { Vec::new() };
        let bounds = LinkBounds::of(&plan, fabric.usual_agreement_seconds);
        let loads = PortLoads::new(&plan.demands);
        let kind = loads.kind();
        let (predicted_seconds, base) = match tag {
            TRIED => (f64::from_le_bytes(word), None),
            _ => (f64::INFINITY, Some(u64::from_le_bytes(word)).filter(|&base| base > 0)),
        };
        let small_chunks = in_time && timetable::may_lose_to_small_chunks(&loads, self.config.direct_order);
        let (paths, trials) = match tag {
            TRIED => (Paths::Direct, fabric.learning.direct(kind, small_chunks)),
            _ => {
                let known = base.and_then(|number| self.plans.borrow().trials_of_base(number));
                let anew = || Rc::new(Cell::new(fabric.learning.planned(kind, small_chunks)));
                (Paths::Forwarded, known.unwrap_or_else(anew))
            }
        };
        if tag == TRIED && self.rank() == Rank(0) {
            log::debug!("direct messages, {kind}: {}", trials.get());
        }
        let predicted_seconds = Cell::new(predicted_seconds);
        let entry = Entry { bounds, trials, kind: Some((paths, kind)), demands, predicted_seconds, ..entry };
        let plan = (paths == Paths::Forwarded && base.is_none()).then_some(plan);
        Ok(Made { entry, plan, base })
    }

    /// This rank's part of a plan, or of direct messages without one; collective.
    fn schedule(
        &self,
        fabric: &Fabric,
        messages: &[Message],
        plan: Option<&Plan>,
        send: &Blocks,
        receive: &Blocks,
    ) -> Result<Part, Error> {
        let me = self.rank();
        let mut paths = lower(plan, messages, &fabric.placement).map_err(Error::BadPlan)?;
        let Config { chunk, budget, window, .. } = self.config;
        let small_chunk = timetable::small_chunk(&fabric.left());
        // What is urgent is to find memory beside what moves already.
        let is_urgent = messages.iter().any(|m| m.class > 0);
        let budget = if is_urgent { budget / EXCHANGES_AT_ONCE as u64 } else { budget };
        let mut options = ScheduleOptions { chunk, budget, window, small_chunk, ..ScheduleOptions::default() }
            .within(&fabric.capabilities());
        let gathered = match plan {
            // Packed messages wait for each other, at barriers of their hosts.
            Some(plan) if !is_urgent => self.gathered(fabric, plan, messages, paths.len())?,
            _ => None,
        };
        // Packed messages are few and go as fast as they can.
        let direct = plan.filter(|_| gathered.is_none());
        let timetable = direct.and_then(|plan| timetable::of_plan(&fabric.left(), plan, self.config.direct_order));
        if let Some(timetable) = &timetable {
            paths = lower_by_timetable(timetable, messages, &fabric.placement).map_err(Error::BadPlan)?;
        }
        options.grants =
            direct.map_or(Grants::Never, |plan| timetable::grants(plan, self.config.direct_order, timetable.is_some()));
        let staged = match gathered {
            Some(gathered) => {
                if me == Rank(0) {
                    let (flows, pieces) = (gathered.paths.len(), paths.len());
                    log::debug!("messages are packed in shared memory: {flows} paths instead of {pieces}");
                }
                let staged = Staged::new(&gathered, me, send, receive);
                paths = gathered.paths;
                // The other half is for the staging areas.
                options.budget /= 2;
                Some(Arc::new(staged))
            }
            None => {
                for path in &mut paths {
                    // Only the ends know where their blocks are, and only they need to.
                    if path.source() == me {
                        path.source_offset += send.offsets[path.destination().index()];
                    }
                    if path.destination() == me {
                        path.destination_offset += receive.offsets[path.source().index()];
                    }
                }
                None
            }
        };
        if let Some(plan) = plan.filter(|_| timetable.is_none()) {
            let Fabric { placement, model, .. } = fabric;
            let (network, congestion_seconds) = (&*fabric.left(), plan.congestion_seconds);
            let policy = RelayPolicy { network, placement, model, chunk, congestion_seconds };
            (_, options.chunk) = policy.apply(&mut paths, self.config.legs)?;
        }
        let schedule = Schedule::new(me, self.size(), &paths, &options)?;
        Ok(Part { schedule, staged, in_time: timetable.is_some() })
    }

    /// The exchange through memory that the ranks of a host share, if that pays and half of all budgets of a host hold
    /// two of its staging areas; collective over the host's ranks.
    fn gathered(
        &self,
        fabric: &Fabric,
        plan: &Plan,
        messages: &[Message],
        pieces: usize,
    ) -> Result<Option<Gathered>, Error> {
        let Some(memory) = fabric.shared.as_ref().filter(|_| pays(plan, pieces)) else { return Ok(None) };
        let gathered = gather(plan, messages, &fabric.placement).map_err(Error::BadPlan)?;
        let bytes = 2 * (gathered.outgoing_bytes + gathered.incoming_bytes);
        let ranks = (0..self.size()).map(Rank).map(|r| fabric.placement.ranks(fabric.placement.host(r)).len() as u64);
        let available = self.config.budget / 2 * ranks.min().unwrap_or(0);
        if bytes > available {
            log::debug!(
                "no gathering in shared memory: {bytes} bytes are needed, and half of the budgets is {available}"
            );
            return Ok(None);
        }
        // Started exchanges use the memory that is about to be replaced.
        self.finish_started();
        memory.borrow_mut().reserve(bytes)?;
        Ok(Some(gathered))
    }

    /// Moves the bytes along planned paths, after everything that was started before.
    ///
    /// # Safety
    /// As [`Session::exchange`].
    pub(super) unsafe fn execute(
        &self,
        entry: &Entry,
        schedule: &Arc<Schedule>,
        send: &Blocks,
        receive: &Blocks,
    ) -> Result<Outcome, Error> {
        // SAFETY: the caller's buffers are valid for the call and do not overlap, as for MPI_Alltoallv.
        let number = unsafe {
            self.enqueue(Priority::default(), &entry.decision, schedule, entry.staged.as_ref(), (send, receive))
        };
        self.queue.borrow_mut().await_outcome(number);
        self.finish_started();
        let execution = self.queue.borrow_mut().outcome(number)?;
        Ok(Outcome { decision: Arc::clone(&entry.decision), planned: None, execution })
    }

    /// What a rank sends to itself.
    ///
    /// # Safety
    /// As [`Session::exchange`].
    pub(super) unsafe fn copy_own(&self, send: &Blocks, receive: &Blocks) {
        let me = self.rank().index();
        let own = send.bytes[me];
        if own > 0 {
            // SAFETY: the caller's blocks are valid, and of the same length by the agreement on counts.
            self.traced_copy(|| unsafe {
                let from = send.base.add(send.offsets[me] as usize);
                let into = receive.base.add(receive.offsets[me] as usize);
                std::ptr::copy(from, into, own as usize);
            });
        }
    }

    /// Falls back to the MPI library.
    ///
    /// # Safety
    /// As [`Session::exchange`].
    pub(super) unsafe fn hand_over(
        &self,
        arguments: Option<ByMpi<'_>>,
        decision: Arc<Decision>,
    ) -> Result<Outcome, Error> {
        // Agreed upon before: plain MPI is chosen only where all ranks can count so far.
        let Some(a) = arguments else {
            return Err(Error::Argument("counts are beyond 2^31 - 1, further than MPI_Alltoallv can count".into()));
        };
        // SAFETY: the caller's arguments, on our duplicate of the caller's communicator.
        self.traced_plain(&decision, || unsafe { a.hand_over(self.plain.raw()) })?;
        Ok(Outcome { decision, planned: None, execution: Execution::default() })
    }
}

/// Bytes from one rank to another; messages are ascending by (source, destination).
fn sent(messages: &[Message], from: Rank, to: Rank) -> u64 {
    let found = messages.binary_search_by_key(&(from, to), |m| (m.source, m.destination));
    found.map_or(0, |i| messages[i].bytes)
}
