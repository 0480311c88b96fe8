//! Exchanges that are planned once and started many times, without blocking (in the manner of MPI 4.0, 6.12 and 6.13).
//!
//! Exchanges of one priority class move one at a time, in the order of the starts, which MPI requires to be the same on all
//! ranks. Those of different classes move at one time, the most urgent first (module `advance`). Progress is made inside
//! OPTIQ's own calls, and by the progress thread if there is one (`OPTIQ_PROGRESS`): a rank that started an exchange and then
//! blocks in another MPI call forwards nothing meanwhile.

use super::arguments::Local;
use super::channels::Priority;
use super::exchange::Terms;
use super::fallback_args::FallbackArgs;
use super::plans::{Entry, Staged};
use super::queue::{Phase, Started};
use super::state::Session;
use crate::blocks::Blocks;
use crate::error::Error;
use optiq_lower::decide::Decision;
use optiq_lower::trials::Side;
use optiq_transport::mpi::{check, ffi};
use optiq_transport::{Backoff, Memory, Schedule};
use std::sync::Arc;

enum ExchangeMethod {
    Plain(FallbackArgs),
    Combined(FallbackArgs),
    Planned { priority: Priority, schedule: Arc<Schedule>, staged: Option<Arc<Staged>>, send: Blocks, receive: Blocks },
}

enum OperationState {
    Idle,
    Plain(ffi::MPI_Request),
    /// The number of the start.
    Started(u64),
    /// The number among combined messages.
    Combined(u64),
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

    /// Whether plain MPI carries it.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.method, ExchangeMethod::Plain(_))
    }

    /// What serves it, and why.
    pub(crate) fn decision(&self) -> &Arc<Decision> {
        &self.decision
    }

    /// The same exchange between other buffers, in which blocks of the same sizes lie in the same way; it must not be
    /// active. Where there are no blocks, a buffer may be NULL.
    pub(crate) fn rebase(&mut self, send: *mut u8, receive: *mut u8) {
        match &mut self.method {
            ExchangeMethod::Plain(kept) | ExchangeMethod::Combined(kept) => {
                (kept.send, kept.receive) = (send.cast_const().cast(), receive.cast())
            }
            ExchangeMethod::Planned { send: from, receive: into, .. } => (from.base, into.base) = (send, receive),
        }
    }
}

impl Session {
    /// Plans an exchange of a priority class that will be started many times; collective. `kept` is needed for what plain MPI will
    /// serve, where the class has no effect.
    pub(crate) fn init(
        &self,
        local: Result<Local, Error>,
        kept: Option<FallbackArgs>,
        class: u8,
    ) -> Result<Operation, Error> {
        let countable = kept.is_some();
        let of_kept = |method: fn(FallbackArgs) -> ExchangeMethod, decision: Arc<Decision>| {
            let missing = || Error::Argument("counts are beyond 2^31 - 1, further than MPI_Alltoallv can count".into());
            Ok(Operation { method: method(kept.ok_or_else(missing)?), decision, state: OperationState::Idle })
        };
        let Ok(fabric) = &self.fabric else {
            local?;
            let reason = self.fabric.as_ref().err().cloned().unwrap_or_default();
            return of_kept(ExchangeMethod::Plain, Arc::new(Decision::Mpi { reason }));
        };
        let terms = Terms { countable, signature: 0, repeated: true, class };
        let (agreement, entry) = self.prepare(fabric, local.as_ref(), terms)?;
        let mpi = |reason| Arc::new(Decision::Mpi { reason });
        let (decision, blocks) = match (local?, entry) {
            (Local::Bytes(send, receive), Some(entry)) => match self.planned_schedule(&entry) {
                Some(schedule) => {
                    let priority = fabric.channels.borrow_mut().of_class(class, &self.comm)?;
                    let staged = entry.staged.clone();
                    return Ok(Operation {
                        method: ExchangeMethod::Planned { priority, schedule, staged, send, receive },
                        decision: Arc::clone(&entry.decision),
                        state: OperationState::Idle,
                    });
                }
                None => (Arc::clone(&entry.decision), entry.schedule.is_none().then_some((send, receive))),
            },
            (Local::OnlyMpi(reason), _) => (mpi(reason), None),
            (Local::Bytes(send, receive), None) if agreement.servable => {
                (mpi(self.too_little(&agreement)), Some((send, receive)))
            }
            (Local::Bytes(..), None) => (mpi("another rank has arguments that only MPI can serve".into()), None),
        };
        let combined = match &blocks {
            Some((send, receive)) if agreement.countable => {
                self.combined_for_started(fabric, &agreement, (send, receive))?
            }
            _ => None,
        };
        match combined {
            Some(decision) => of_kept(ExchangeMethod::Combined, decision),
            None => of_kept(ExchangeMethod::Plain, decision),
        }
    }

    /// The schedule of started exchanges; `None` where plain MPI serves them. What was measured by now is the same on all ranks; later
    /// it may not be, as caches differ.
    fn planned_schedule(&self, entry: &Entry) -> Option<Arc<Schedule>> {
        match entry.trials.get().best(self.config.min_gain) {
            Side::Planned(flow_control) => entry.schedule_with(flow_control),
            Side::Plain => None,
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
            // SAFETY: by this function's contract; the operation keeps the arguments as long as it is active.
            ExchangeMethod::Combined(kept) => OperationState::Combined(unsafe { self.start_combined(kept)? }),
            ExchangeMethod::Planned { priority, schedule, staged, send, receive } => {
                // SAFETY: the caller's buffers are valid by this function's contract.
                OperationState::Started(unsafe {
                    self.enqueue(*priority, &operation.decision, schedule, staged.as_ref(), (send, receive))
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
        priority: Priority,
        decision: &Arc<Decision>,
        schedule: &Arc<Schedule>,
        staged: Option<&Arc<Staged>>,
        (send, receive): (&Blocks, &Blocks),
    ) -> u64 {
        // SAFETY: the caller's buffers are valid by this function's contract.
        let memory = unsafe {
            self.copy_own(send, receive);
            Memory::from_raw(send.base, send.extent, receive.base, receive.extent)
        };
        let in_place = self.fabric.as_ref().is_ok_and(|fabric| fabric.capabilities().delivers_in_place);
        let slot_bytes = if in_place { schedule.forward_bytes() } else { schedule.slot_bytes() };
        self.fast_path.set_started(true);
        self.queue.borrow_mut().push(Started {
            slot_bytes,
            priority,
            decision: Arc::clone(decision),
            schedule: Arc::clone(schedule),
            staged: staged.map(Arc::clone),
            send: send.base,
            receive: receive.base,
            memory,
            area: std::ptr::null_mut(),
            phase: Phase::New,
            had_company: false,
            number: 0,
        })
    }

    /// Makes progress; whether the operation is complete, as it is if it was never started.
    ///
    /// # Errors
    /// Why it failed.
    pub(crate) fn test(&self, operation: &mut Operation) -> Result<bool, Error> {
        self.advance();
        let ended = match &mut operation.state {
            OperationState::Idle => Ok(true),
            OperationState::Plain(request) => {
                let mut done = 0;
                // SAFETY: an active request; the status is written by MPI and not read.
                let code = unsafe {
                    let mut status = std::mem::zeroed();
                    ffi::PMPI_Test(request, &mut done, &mut status)
                };
                check(code, "MPI_Ialltoallv").map(|()| done != 0).map_err(Error::from)
            }
            OperationState::Started(number) => self.queue.borrow_mut().has_ended(*number),
            OperationState::Combined(number) => {
                self.combining.borrow_mut().with_combined(|combined| combined.has_ended(*number))
            }
        };
        // Also what failed is over.
        if !matches!(ended, Ok(false)) {
            operation.state = OperationState::Idle;
        }
        ended
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
}
