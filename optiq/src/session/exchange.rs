//! One call: agree, plan if need be, and move the bytes.

use super::plans::{Entry, Key};
use super::setup::Fabric;
use super::{Arguments, Local, Session};
use crate::blocks::Blocks;
use crate::{Config, Decision, Error, Message, PlannerChoice, decide, decide_before_planning, lower, merge};
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::plan;
use optiq_solver::{Demand, Plan};
use optiq_transport::{ExecuteOptions, Execution, Memory, Rank, Schedule, ScheduleOptions, execute};
use std::rc::Rc;

/// What a call did.
pub(super) struct Outcome {
    pub(super) decision: Decision,
    pub(super) execution: Execution,
}

/// How long rank 0 may improve a plan while all wait: this part of what the fabric's own routes need at least, in seconds
/// within these limits. Its plan is everybody's, so that it may depend on its clock.
const PLANNING: f64 = 0.1;
const PLANNING_SECONDS: std::ops::Range<f64> = 0.015..1.0;

impl Session {
    /// # Safety
    /// As [`Session::exchange`].
    pub(super) unsafe fn serve(
        &self,
        local: Result<Local, Error>,
        arguments: Option<Arguments>,
    ) -> Result<Outcome, Error> {
        let Ok(fabric) = &self.fabric else {
            // Plain MPI for good: nothing to agree on, except that our own argument checks come first.
            // SAFETY: passed on.
            return unsafe { self.without_fabric(local, arguments) };
        };
        let key = match &local {
            Ok(Local::Bytes(send, receive)) => Some(Key {
                send: send.bytes.clone(),
                receive: receive.bytes.clone(),
                send_offsets: send.offsets.clone(),
                receive_offsets: receive.offsets.clone(),
            }),
            _ => None,
        };
        let cached = key.as_ref().map_or(0, |k| self.plans.borrow().find(k));
        let countable = i64::from(arguments.is_some());
        // Ranks with an argument error report -(rank + 1): the minimum names one of them.
        let status = if local.is_err() { -i64::from(self.rank()) - 1 } else { 0 };
        let mut agreed = [status, i64::from(key.is_some()), cached, -cached, countable];
        self.comm.all_min(&mut agreed)?;
        let local = local?;
        if agreed[0] < 0 {
            return Err(Error::ArgumentElsewhere((-agreed[0] - 1) as Rank));
        }
        let (Local::Bytes(send, receive), Some(key), true) = (&local, key, agreed[1] == 1) else {
            let reason = match local {
                Local::OnlyMpi(reason) => reason,
                Local::Bytes(..) => "another rank has arguments that only MPI can serve".into(),
            };
            if agreed[4] == 0 {
                let text = "some rank has arguments that only MPI can serve, another one counts beyond 2^31 - 1";
                return Err(Error::Argument(text.into()));
            }
            // SAFETY: passed on.
            return unsafe { self.hand_over(arguments, Decision::Mpi { reason }) };
        };
        let hit = agreed[2] > 0 && agreed[2] == -agreed[3];
        let entry = if hit { self.plans.borrow_mut().take(agreed[2]) } else { None };
        let entry = match entry {
            Some(entry) => entry,
            None => self.plan(fabric, key, send, receive, agreed[4] == 1)?,
        };
        match &entry.schedule {
            // SAFETY: passed on.
            None => unsafe { self.hand_over(arguments, entry.decision.clone()) },
            // SAFETY: passed on.
            Some(schedule) => unsafe { self.execute(fabric, &entry, schedule, send, receive) },
        }
    }

    /// # Safety
    /// As [`Session::exchange`].
    unsafe fn without_fabric(
        &self,
        local: Result<Local, Error>,
        arguments: Option<Arguments>,
    ) -> Result<Outcome, Error> {
        let reason = self.fabric.as_ref().err().cloned().unwrap_or_default();
        local?;
        if arguments.is_none() {
            return Err(Error::Argument(
                "counts beyond 2^31 - 1 elements need OPTIQ_TOPOLOGY: MPI_Alltoallv cannot count so far".into(),
            ));
        }
        // SAFETY: passed on.
        unsafe { self.hand_over(arguments, Decision::Mpi { reason }) }
    }

    /// Makes a plan for a demand set that is not in everybody's cache; collective.
    fn plan(
        &self,
        fabric: &Fabric,
        key: Key,
        send: &Blocks,
        receive: &Blocks,
        countable: bool,
    ) -> Result<Rc<Entry>, Error> {
        let messages = self.gather(&send.bytes)?;
        let me = self.rank();
        let mismatch = (0..self.size()).find_map(|from| {
            let sent = sent(&messages, from, me);
            let expected = receive.bytes[from as usize];
            (sent != expected).then_some(Error::Counts { rank: me, from, expected, sent })
        });
        let mut counts = [if mismatch.is_some() { -i64::from(me) - 1 } else { 0 }];
        self.comm.all_min(&mut counts)?;
        if let Some(error) = mismatch {
            return Err(error);
        }
        if counts[0] < 0 {
            return Err(Error::CountsElsewhere((-counts[0] - 1) as Rank));
        }
        // A rank to itself is a copy, not a message.
        let messages: Vec<Message> = messages.into_iter().filter(|m| m.source != m.destination).collect();
        let made = self.entry(fabric, &messages, send, receive, countable);
        let mut usable = [i64::from(made.is_ok())];
        self.comm.all_min(&mut usable)?;
        let elsewhere = || Error::BadPlan("another rank could not use it".into());
        let made = made.and_then(|entry| if usable[0] == 1 { Ok(entry) } else { Err(elsewhere()) });
        let entry = match made {
            Ok(entry) => entry,
            Err(error) if self.config.strict || !countable => return Err(error),
            Err(error) => {
                self.warn_on_rank_0(&format!("{error}; these demands go to plain MPI"));
                Entry { decision: Decision::Mpi { reason: error.to_string() }, schedule: None }
            }
        };
        Ok(self.plans.borrow_mut().add(key, entry))
    }

    /// Everybody's messages, ascending by (source, destination).
    fn gather(&self, bytes: &[u64]) -> Result<Vec<Message>, Error> {
        let row: Vec<u64> =
            bytes.iter().enumerate().filter(|(_, b)| **b > 0).flat_map(|(to, &b)| [to as u64, b]).collect();
        let (lengths, words) = self.comm.all_gather(&row)?;
        let sources = lengths.iter().enumerate().flat_map(|(rank, &n)| std::iter::repeat_n(rank as Rank, n / 2));
        let message = |(source, pair): (Rank, &[u64])| Message { source, destination: pair[0] as Rank, bytes: pair[1] };
        Ok(sources.zip(words.chunks_exact(2)).map(message).collect())
    }

    /// Decides, on rank 0, and makes this rank's schedule; collective.
    fn entry(
        &self,
        fabric: &Fabric,
        messages: &[Message],
        send: &Blocks,
        receive: &Blocks,
        countable: bool,
    ) -> Result<Entry, Error> {
        let demands = merge(messages, &fabric.placement).map_err(Error::BadPlan);
        let mut sent_out = Vec::new();
        let mut failure = None;
        if self.rank() == 0 {
            match demands.and_then(|d| self.plan_on_rank_0(fabric, &d)) {
                Ok(bytes) => sent_out = bytes,
                Err(error) => failure = Some(error),
            }
        }
        self.comm.broadcast(0, &mut sent_out)?;
        if let Some(error) = failure {
            return Err(error);
        }
        let (decision, plan) = self.read(fabric, &sent_out, countable)?;
        if matches!(decision, Decision::Mpi { .. }) {
            return Ok(Entry { decision, schedule: None });
        }
        let mut paths = lower(plan.as_ref(), messages, &fabric.placement).map_err(Error::BadPlan)?;
        let me = self.rank();
        for path in &mut paths {
            // Only the ends know where their blocks are, and only they need to.
            if path.source() == me {
                path.source_offset += send.offsets[path.destination() as usize];
            }
            if path.destination() == me {
                path.destination_offset += receive.offsets[path.source() as usize];
            }
        }
        let Config { chunk, budget, window, .. } = self.config;
        let options = ScheduleOptions { chunk, budget, window, ..ScheduleOptions::default() };
        let schedule = Schedule::new(me, self.size(), &paths, &options)?;
        Ok(Entry { decision, schedule: Some(schedule) })
    }

    /// What rank 0 sends out: a tag byte, then the reason for plain MPI or the plan.
    fn plan_on_rank_0(&self, fabric: &Fabric, demands: &[Demand]) -> Result<Vec<u8>, Error> {
        let tagged = |tag: u8, rest: &[u8]| [&[tag], rest].concat();
        if let Some(Decision::Mpi { reason }) = decide_before_planning(demands, &self.config) {
            return Ok(tagged(PLAIN_MPI, reason.as_bytes()));
        }
        let options = self.plan_options(fabric, demands);
        let planned = pipeline::run(&fabric.network, demands, &options)?;
        match decide(&planned.plan, &self.config) {
            Decision::Mpi { reason } => Ok(tagged(PLAIN_MPI, reason.as_bytes())),
            _ => {
                let bytes = planned.plan.to_bytes().map_err(|e| Error::BadPlan(e.to_string()))?;
                Ok(tagged(PLANNED, &bytes))
            }
        }
    }

    fn plan_options(&self, fabric: &Fabric, demands: &[Demand]) -> PlanOptions {
        let planner = match &self.config.planner {
            PlannerChoice::Named(name) => name.clone(),
            PlannerChoice::Auto => "optimal".into(),
        };
        // A host without a rank has nobody to forward.
        let forwarders = Some(fabric.placement.can_forward());
        // Heuristic 2 splits in units of its chunk: fine enough for the largest demand, never absurdly small.
        let largest = demands.iter().map(|d| d.bytes).max().unwrap_or(0);
        let chunk = (largest / 32).clamp(1 << 10, 64 << 10);
        let routes = demands.iter().map(|d| (d.src, d.dst, d.bytes));
        let direct = fabric.network.route_load(routes).map_or(0.0, |load| plan::congestion(&fabric.network, &load));
        let limit = (PLANNING * direct).clamp(PLANNING_SECONDS.start, PLANNING_SECONDS.end);
        let time_limit = Some(std::time::Duration::from_secs_f64(limit));
        PlanOptions { planner, k: Some(self.config.k), chunk, forwarders, time_limit, ..PlanOptions::default() }
    }

    fn read(&self, fabric: &Fabric, sent_out: &[u8], countable: bool) -> Result<(Decision, Option<Plan>), Error> {
        match sent_out.split_first() {
            Some((&PLAIN_MPI, reason)) => {
                let reason = String::from_utf8_lossy(reason).into_owned();
                let too_large = "counts are beyond 2^31 - 1 elements";
                Ok(if countable {
                    (Decision::Mpi { reason }, None)
                } else {
                    (Decision::Direct { reason: format!("{reason}, but {too_large}") }, None)
                })
            }
            Some((&PLANNED, bytes)) => {
                let plan = Plan::from_bytes(bytes, &fabric.network).map_err(|e| Error::BadPlan(e.to_string()))?;
                Ok((decide(&plan, &self.config), Some(plan)))
            }
            _ => Err(Error::BadPlan("rank 0 could not make one".into())),
        }
    }

    /// Moves the bytes along planned paths.
    ///
    /// # Safety
    /// As [`Session::exchange`].
    unsafe fn execute(
        &self,
        fabric: &Fabric,
        entry: &Entry,
        schedule: &Schedule,
        send: &Blocks,
        receive: &Blocks,
    ) -> Result<Outcome, Error> {
        let me = self.rank() as usize;
        let own = send.bytes[me];
        if own > 0 {
            // SAFETY: the caller's blocks are valid, and of the same length by the agreement on counts.
            unsafe {
                let from = send.base.add(send.offsets[me] as usize);
                let into = receive.base.add(receive.offsets[me] as usize);
                std::ptr::copy(from, into, own as usize);
            }
        }
        let options = ExecuteOptions { order: self.config.order, ..ExecuteOptions::default() };
        // SAFETY: the caller's buffers are valid for the call and do not overlap, as for MPI_Alltoallv.
        let memory = unsafe { Memory::from_raw(send.base, send.extent, receive.base, receive.extent) };
        let mut transport = fabric.transport.borrow_mut();
        let execution = execute(&mut **transport, schedule, &options, &memory)?;
        Ok(Outcome { decision: entry.decision.clone(), execution })
    }

    /// Lets the MPI library do it.
    ///
    /// # Safety
    /// As [`Session::exchange`].
    unsafe fn hand_over(&self, arguments: Option<Arguments>, decision: Decision) -> Result<Outcome, Error> {
        // Agreed upon before: whoever decides for plain MPI knows that all ranks can count so far.
        let Some(a) = arguments else {
            return Err(Error::Argument("counts are beyond 2^31 - 1, further than MPI_Alltoallv can count".into()));
        };
        // SAFETY: the caller's arguments, on our duplicate of the caller's communicator.
        unsafe { a.hand_over(self.comm.raw()) }?;
        Ok(Outcome { decision, execution: Execution::default() })
    }
}

const PLAIN_MPI: u8 = 0;
const PLANNED: u8 = 1;

/// Bytes from one rank to another; messages are ascending by (source, destination).
fn sent(messages: &[Message], from: Rank, to: Rank) -> u64 {
    let found = messages.binary_search_by_key(&(from, to), |m| (m.source, m.destination));
    found.map_or(0, |i| messages[i].bytes)
}
