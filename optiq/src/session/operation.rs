//! Exchanges that are planned once and started many times, without blocking (in the manner of MPI 4.0, 6.12 and 6.13).
//!
//! What was started is carried out in the order of the starts, which MPI requires to be the same on all ranks; one
//! exchange of a session moves at a time. Progress is made inside OPTIQ's own calls, and by the progress thread if there
//! is one (`OPTIQ_PROGRESS`): a rank that started an exchange and then blocks in another MPI call forwards nothing
//! meanwhile.

use super::arguments::Local;
use super::fallback_args::FallbackArgs;
use super::plans::{Entry, Staged};
use super::queue::{Phase, Started, Step};
use super::setup::Fabric;
use super::state::Session;
use crate::blocks::Blocks;
use crate::error::Error;
use optiq_lower::decide::Decision;
use optiq_lower::trials::Side;
use optiq_transport::mpi::{check, ffi};
use optiq_transport::{Backoff, ExecuteOptions, Execution, Memory, Progress, Running, Schedule, TransportError};
use std::rc::Rc;
use std::sync::Arc;

enum ExchangeMethod {
    Plain(FallbackArgs),
    Planned { schedule: Arc<Schedule>, staged: Option<Arc<Staged>>, send: Blocks, receive: Blocks },
}

enum OperationState {
    Idle,
    Plain(ffi::MPI_Request),
    /// The number of the start.
    Started(u64),
}

/// An exchange that can be started; see [`Session::init`].
pub(crate) struct Operation {
    method: ExchangeMethod,
    decision: Arc<Decision>,
    state: OperationState,
}

impl Operation {
    /// Whether it was started and is not known to be complete.
    pub(crate) fn is_active(&self) -> bool {
        !matches!(self.state, OperationState::Idle)
    }

    /// Whether it goes along planned paths.
    pub(crate) fn is_planned(&self) -> bool {
        matches!(self.method, ExchangeMethod::Planned { .. })
    }

    /// What serves it, and why.
    pub(crate) fn decision(&self) -> &Arc<Decision> {
        &self.decision
    }

    /// The same exchange between other buffers, in which blocks of the same sizes lie in the same way; it must not be
    /// active. Where there are no blocks, a buffer may be NULL.
    pub(crate) fn rebase(&mut self, send: *mut u8, receive: *mut u8) {
        match &mut self.method {
            ExchangeMethod::Plain(kept) => (kept.send, kept.receive) = (send.cast_const().cast(), receive.cast()),
            ExchangeMethod::Planned { send: from, receive: into, .. } => (from.base, into.base) = (send, receive),
        }
    }
}

impl Session {
    /// Plans an exchange that will be started many times; collective. `kept` is needed for what plain MPI will serve.
    pub(crate) fn init(&self, local: Result<Local, Error>, kept: Option<FallbackArgs>) -> Result<Operation, Error> {
        let countable = kept.is_some();
        let plain = |decision: Arc<Decision>| {
            let missing = || Error::Argument("counts are beyond 2^31 - 1, further than MPI_Alltoallv can count".into());
            Ok(Operation {
                method: ExchangeMethod::Plain(kept.ok_or_else(missing)?),
                decision,
                state: OperationState::Idle,
            })
        };
        let Ok(fabric) = &self.fabric else {
            local?;
            let reason = self.fabric.as_ref().err().cloned().unwrap_or_default();
            return plain(Arc::new(Decision::Mpi { reason }));
        };
        let (agreement, entry) = self.prepare(fabric, local.as_ref(), countable, 0, true)?;
        let reason = match (local?, entry) {
            (Local::Bytes(send, receive), Some(entry)) => return self.along_plan(&entry, send, receive, plain),
            (Local::OnlyMpi(reason), _) => reason,
            (Local::Bytes(..), None) if agreement.servable => self.too_little(&agreement),
            (Local::Bytes(..), None) => "another rank has arguments that only MPI can serve".into(),
        };
        plain(Arc::new(Decision::Mpi { reason }))
    }

    fn along_plan(
        &self,
        entry: &Rc<Entry>,
        send: Blocks,
        receive: Blocks,
        plain: impl FnOnce(Arc<Decision>) -> Result<Operation, Error>,
    ) -> Result<Operation, Error> {
        let decision = Arc::clone(&entry.decision);
        // What was measured by now is the same on all ranks; later it may not be, as caches differ.
        let schedule = match entry.trials.get().best(self.config.min_gain) {
            Side::Planned(flow_control) => entry.schedule_with(flow_control),
            Side::Plain => None,
        };
        match schedule {
            Some(schedule) => {
                let staged = entry.staged.clone();
                Ok(Operation {
                    method: ExchangeMethod::Planned { schedule, staged, send, receive },
                    decision,
                    state: OperationState::Idle,
                })
            }
            None => plain(decision),
        }
    }

    /// Starts it; returns at once.
    ///
    /// # Errors
    /// [`Error::Argument`] if it is active; what MPI reports.
    ///
    /// # Safety
    /// The buffers that it was made with must be valid, and untouched by others, until it is complete.
    pub(crate) unsafe fn start(&self, operation: &mut Operation) -> Result<(), Error> {
        if operation.is_active() {
            return Err(Error::Argument("the exchange was started before and is not complete".into()));
        }
        operation.state = match &operation.method {
            ExchangeMethod::Plain(kept) => OperationState::Plain(kept.start(self.plain.raw())?),
            ExchangeMethod::Planned { schedule, staged, send, receive } => {
                // SAFETY: the caller's buffers are valid by this function's contract.
                OperationState::Started(unsafe {
                    self.enqueue(&operation.decision, schedule, staged.as_ref(), send, receive)
                })
            }
        };
        self.advance();
        Ok(())
    }

    /// Puts an exchange behind those that were started before; returns its number.
    ///
    /// # Safety
    /// The buffers must be valid, and untouched by others, until it is complete.
    pub(super) unsafe fn enqueue(
        &self,
        decision: &Arc<Decision>,
        schedule: &Arc<Schedule>,
        staged: Option<&Arc<Staged>>,
        send: &Blocks,
        receive: &Blocks,
    ) -> u64 {
        // SAFETY: the caller's buffers are valid by this function's contract.
        let memory = unsafe {
            self.copy_own(send, receive);
            Memory::from_raw(send.base, send.extent, receive.base, receive.extent)
        };
        let mut queue = self.queue.borrow_mut();
        queue.waiting.push_back(Started {
            decision: Arc::clone(decision),
            schedule: Arc::clone(schedule),
            staged: staged.map(Arc::clone),
            send: send.base,
            receive: receive.base,
            memory,
            area: std::ptr::null_mut(),
            phase: Phase::New,
        });
        queue.first + queue.waiting.len() as u64 - 1
    }

    /// What the exchange of this number did, which was the last one to complete.
    pub(super) fn outcome(&self, number: u64) -> Result<Execution, Error> {
        let mut queue = self.queue.borrow_mut();
        match queue.failed.iter().position(|f| f.0 == number) {
            Some(at) => Err(queue.failed.swap_remove(at).1),
            None => Ok(queue.execution),
        }
    }

    /// Makes progress; whether the operation is complete, as it is if it was never started.
    ///
    /// # Errors
    /// Why it failed.
    pub(crate) fn test(&self, operation: &mut Operation) -> Result<bool, Error> {
        self.advance();
        let done = match &mut operation.state {
            OperationState::Idle => true,
            OperationState::Plain(request) => {
                let mut done = 0;
                // SAFETY: an active request; the status is written by MPI and not read.
                let code = unsafe {
                    let mut status = std::mem::zeroed();
                    ffi::PMPI_Test(request, &mut done, &mut status)
                };
                let result = check(code, "MPI_Ialltoallv");
                if result.is_err() {
                    operation.state = OperationState::Idle;
                }
                result?;
                done != 0
            }
            OperationState::Started(number) => {
                let number = *number;
                let mut queue = self.queue.borrow_mut();
                if let Some(at) = queue.failed.iter().position(|f| f.0 == number) {
                    operation.state = OperationState::Idle;
                    return Err(queue.failed.swap_remove(at).1);
                }
                number < queue.first
            }
        };
        if done {
            operation.state = OperationState::Idle;
        }
        Ok(done)
    }

    /// Waits until it is complete.
    ///
    /// # Errors
    /// Why it failed.
    pub(crate) fn wait(&self, operation: &mut Operation) -> Result<(), Error> {
        let mut backoff = Backoff::default();
        while !self.test(operation)? {
            backoff.idle();
        }
        Ok(())
    }

    /// Completes everything that was started; a blocking exchange must not overtake it.
    pub(super) fn finish_started(&self) {
        let mut backoff = Backoff::default();
        while self.has_started() {
            if self.advance() {
                backoff.moved();
            } else {
                backoff.idle();
            }
        }
    }

    /// Forgets what was started and cancels what the transport has in flight. Ranks no longer agree then, and the
    /// session must not be used any more.
    pub(crate) fn abandon_started(&self) {
        if let Ok(fabric) = &self.fabric
            && self.has_started()
        {
            fabric.transport.borrow_mut().abandon();
            self.queue.borrow_mut().waiting.clear();
        }
    }

    /// Whether something that was started is not complete.
    pub(crate) fn has_started(&self) -> bool {
        !self.queue.borrow().waiting.is_empty()
    }

    /// Makes progress with what was started, without waiting; whether anything moved.
    pub(crate) fn advance(&self) -> bool {
        let Ok(fabric) = &self.fabric else { return false };
        let mut queue = self.queue.borrow_mut();
        let mut moved = false;
        while let Some(started) = queue.waiting.front_mut() {
            match self.step(fabric, started) {
                Ok(Step::Idle) => return moved,
                Ok(Step::Moved) => moved = true,
                Ok(Step::Done(execution)) => {
                    queue.execution = execution;
                    queue.pop(None);
                }
                Err(error) => queue.pop(Some(error)),
            }
        }
        moved
    }

    /// The next thing that one exchange can do without waiting.
    fn step(&self, fabric: &Fabric, started: &mut Started) -> Result<Step, Error> {
        let transport = &mut **fabric.transport.borrow_mut();
        let leg_times = fabric.load.is_some();
        let options = ExecuteOptions { order: self.config.order, leg_times, ..ExecuteOptions::default() };
        let mut begin = |schedule: &Arc<Schedule>, memory: &Memory<'_>| {
            let running = Running::begin(transport, Arc::clone(schedule), &options, memory)?;
            Ok::<_, TransportError>(Phase::Moving(Box::new(running)))
        };
        match std::mem::replace(&mut started.phase, Phase::New) {
            Phase::New => {
                if let Some(tracer) = &fabric.tracer {
                    tracer.open(&started.decision);
                }
                started.phase = match (&started.staged, &fabric.shared) {
                    (Some(staged), Some(shared)) => {
                        let shared = shared.borrow();
                        started.area = fabric.next_area(&shared);
                        // SAFETY: the area is as large as `staged` says, no other rank uses these parts of it, and the
                        // caller's buffers are valid.
                        self.traced_copy(|| started.memory = unsafe { copy_in(staged, started.area, started.send) });
                        Phase::Gathering(shared.start_barrier()?)
                    }
                    _ => begin(&started.schedule, &started.memory)?,
                };
            }
            Phase::Gathering(barrier) => match barrier.test()? {
                Some(barrier) => {
                    started.phase = Phase::Gathering(barrier);
                    return Ok(Step::Idle);
                }
                None => started.phase = begin(&started.schedule, &started.memory)?,
            },
            Phase::Moving(mut running) => {
                let progress = running.advance(transport, &started.memory)?;
                if progress == Progress::Done {
                    if let Some(load) = &fabric.load {
                        load.moved(running.leg_times());
                    }
                    let Some(shared) = fabric.shared.as_ref().filter(|_| started.staged.is_some()) else {
                        return Ok(Step::Done(running.execution()));
                    };
                    started.phase = Phase::Scattering(shared.borrow().start_barrier()?, running.execution());
                } else {
                    started.phase = Phase::Moving(running);
                    return Ok(if progress == Progress::Idle { Step::Idle } else { Step::Moved });
                }
            }
            Phase::Scattering(barrier, execution) => match barrier.test()? {
                Some(barrier) => {
                    started.phase = Phase::Scattering(barrier, execution);
                    return Ok(Step::Idle);
                }
                None => {
                    if let Some(staged) = &started.staged {
                        // SAFETY: as above; all ranks of the host are through with the area.
                        self.traced_copy(|| unsafe { copy_out(staged, started.area, started.receive) });
                    }
                    return Ok(Step::Done(execution));
                }
            },
        }
        Ok(Step::Moved)
    }
}

/// Copies this rank's messages to the outgoing area; returns what the transport then reads and writes.
///
/// # Safety
/// Valid pointers to as many bytes as `staged` says; no other rank writes to these parts of the area.
unsafe fn copy_in(staged: &Staged, area: *mut u8, send: *const u8) -> Memory<'static> {
    for &(from, into, bytes) in &staged.gather {
        // SAFETY: by this function's contract.
        unsafe { std::ptr::copy_nonoverlapping(send.add(from as usize), area.add(into as usize), bytes as usize) };
    }
    // SAFETY: by this function's contract; carriers use different parts of both areas.
    unsafe {
        let incoming = area.add(staged.outgoing_bytes as usize);
        Memory::from_raw(area, staged.outgoing_bytes, incoming, staged.incoming_bytes)
    }
}

/// Copies what arrived for this rank to its receive buffer.
///
/// # Safety
/// Valid pointers to as many bytes as `staged` says; no rank writes to the area.
unsafe fn copy_out(staged: &Staged, area: *mut u8, receive: *mut u8) {
    // SAFETY: by this function's contract.
    unsafe {
        let incoming = area.add(staged.outgoing_bytes as usize);
        for (source, copies) in [(incoming, &staged.scatter), (area, &staged.local)] {
            for &(into, from, bytes) in copies {
                let (from, into) = (source.add(from as usize), receive.add(into as usize));
                std::ptr::copy_nonoverlapping(from, into, bytes as usize);
            }
        }
    }
}
