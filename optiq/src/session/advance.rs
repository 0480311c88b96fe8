//! Progress of what was started.
//!
//! One exchange of each channel moves at a time (`channels.rs`), the most urgent first: it sends as if it were alone, and the others put
//! no new chunks on the way to ranks that it has chunks in flight to. What is in flight, and what arrives, goes on for all. Which ones may
//! move, and why none waits for ever, is said in `queue.rs`.

use super::plans::Staged;
use super::queue::{Phase, Started, Step};
use super::setup::Fabric;
use super::state::Session;
use crate::error::Error;
use optiq_transport::{Backoff, ExecuteOptions, Memory, Progress, Rank, Running, Schedule, Transport, TransportError};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Session {
    /// Completes everything that was started; a blocking exchange must not overtake it.
    pub(crate) fn finish_started(&self) {
        let mut backoff = Backoff::default();
        while self.has_started() {
            if self.advance() {
                backoff.moved();
            } else {
                backoff.idle();
            }
        }
        self.fast_path.set_started(false);
    }

    /// Forgets what was started and cancels what the transports have in flight. Ranks no longer agree then, and the
    /// session must not be used any more.
    pub(crate) fn abandon_started(&self) {
        if let Ok(fabric) = &self.fabric
            && self.has_started()
        {
            fabric.channels.borrow_mut().abandon();
            self.queue.borrow_mut().clear();
            if let Some(combined) = &mut self.combining.borrow_mut().combined {
                combined.abandon();
            }
        }
    }

    /// Whether something that was started is not complete.
    pub(crate) fn has_started(&self) -> bool {
        !self.queue.borrow().is_empty() || self.combining.borrow().has_started()
    }

    /// Makes progress with what was started, without waiting; whether anything moved.
    pub(crate) fn advance(&self) -> bool {
        let Ok(fabric) = &self.fabric else { return false };
        let mut moved = self.fast_path.has_started() && self.combining.borrow_mut().advance();
        loop {
            let movable = self.queue.borrow().movable(self.slot_budget(fabric));
            let had_company = movable.numbers().len() > 1;
            let mut again = false;
            for &number in movable.numbers() {
                again |= self.advance_one(fabric, number, had_company);
            }
            if !again {
                return moved;
            }
            moved = true;
        }
    }

    /// What the slots of all exchanges that move may take together, in bytes.
    fn slot_budget(&self, fabric: &Fabric) -> u64 {
        let staging = fabric.shared.as_ref().is_some_and(|shared| shared.borrow().bytes() > 0);
        // The other half is for the staging areas.
        if staging { self.config.budget / 2 } else { self.config.budget }
    }

    /// Makes one step of an exchange; whether anything moved.
    fn advance_one(&self, fabric: &Fabric, number: u64, had_company: bool) -> bool {
        let mut queue = self.queue.borrow_mut();
        let channels = &mut *fabric.channels.borrow_mut();
        let claimed = if had_company { queue.claimed_above(number) } else { BTreeSet::new() };
        let moving = queue.moving();
        let Some(started) = queue.get_mut(number) else { return false };
        started.had_company |= had_company;
        let channel = started.priority.channel;
        if matches!(started.phase, Phase::New) {
            channels.make_room(channel, started.slot_bytes, |other| moving[other], self.slot_budget(fabric));
        }
        match self.step(fabric, channels.transport(channel), started, &claimed) {
            Ok(Step::Idle) => return false,
            Ok(Step::Moved) => {}
            Ok(Step::Done(execution)) => queue.finish(number, Ok(execution)),
            Err(error) => queue.finish(number, Err(error)),
        }
        true
    }

    /// The next thing that one exchange can do without waiting.
    fn step(
        &self,
        fabric: &Fabric,
        transport: &mut dyn Transport,
        started: &mut Started,
        claimed: &BTreeSet<Rank>,
    ) -> Result<Step, Error> {
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
                let may_send = |to| !claimed.contains(&to);
                let progress = running.advance_beside(transport, &started.memory, may_send)?;
                if progress == Progress::Done {
                    if let Some(load) = &fabric.load {
                        // Legs that other exchanges of the program's were on as well say nothing of the load of others.
                        load.moved(if started.had_company { Vec::new() } else { running.leg_times() });
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
