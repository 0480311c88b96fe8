//! The progress loop: drives a scheduler over a transport until its part of the exchange is done.

use crate::{Memory, Order, Schedule, Scheduler, Transport, TransportError};
use std::time::{Duration, Instant};

/// How to run an exchange; ranks may differ in these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecuteOptions {
    /// Which queue goes first.
    pub order: Order,
    /// How many sends may be under way at one time. A send that is handed over cannot be overtaken any more, so a
    /// smaller number gives the order policy more to decide, a larger one keeps more links busy.
    pub sends_in_flight: usize,
    /// Give up after this long without any progress; `None` waits for ever, as MPI does.
    pub give_up_after: Option<Duration>,
}

impl Default for ExecuteOptions {
    fn default() -> Self {
        Self { order: Order::default(), sends_in_flight: 64, give_up_after: None }
    }
}

/// What an exchange did at this rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// Chunks sent as the source.
    pub chunks_sent: u64,
    /// Chunks passed on for others.
    pub chunks_forwarded: u64,
    /// Chunks that ended here.
    pub chunks_delivered: u64,
    /// Bytes passed on for others.
    pub bytes_forwarded: u64,
    /// The most bytes that sat in forward slots at one time.
    pub peak_slot_bytes: u64,
}

/// How long nothing may move before a line in the log says who is waited for.
const STALL_NOTICE: Duration = Duration::from_secs(10);

/// Carries out this rank's part of an exchange; returns when every byte that it sends, forwards and receives is
/// where it belongs.
///
/// # Errors
/// [`TransportError::BufferTooSmall`] before anything moves; [`TransportError::Stalled`] after
/// [`ExecuteOptions::give_up_after`]; what the transport reports. After an error the receive buffer's contents are
/// unspecified.
pub fn execute<T: Transport + ?Sized>(
    transport: &mut T,
    schedule: &Schedule,
    options: &ExecuteOptions,
    memory: &Memory<'_>,
) -> Result<Execution, TransportError> {
    memory.check(schedule)?;
    transport.begin(schedule)?;
    let result = progress(transport, schedule, options, memory);
    match &result {
        Ok(_) => transport.end()?,
        Err(_) => transport.abandon(),
    }
    result
}

fn progress<T: Transport + ?Sized>(
    transport: &mut T,
    schedule: &Schedule,
    options: &ExecuteOptions,
    memory: &Memory<'_>,
) -> Result<Execution, TransportError> {
    let mut scheduler = Scheduler::new(schedule, options.order);
    let mut execution = Execution::default();
    let mut events = Vec::new();
    let mut in_flight = 0;
    let mut idle: Option<(Instant, bool)> = None;
    while !scheduler.is_done() {
        while let Some(post) = scheduler.poll_post() {
            transport.post(memory, &post)?;
        }
        while let Some(credit) = scheduler.poll_credit() {
            transport.credit(&credit)?;
        }
        while in_flight < options.sends_in_flight.max(1)
            && let Some(transmit) = scheduler.poll_transmit()
        {
            transport.send(memory, &transmit)?;
            in_flight += 1;
            if transmit.header.source == schedule.rank() {
                execution.chunks_sent += 1;
            } else {
                execution.chunks_forwarded += 1;
                execution.bytes_forwarded += transmit.header.bytes;
            }
        }
        transport.poll(memory, &mut events)?;
        if events.is_empty() {
            idle = wait(&scheduler, schedule, options, idle)?;
            continue;
        }
        idle = None;
        for event in events.drain(..) {
            match event {
                crate::Event::Received { path, sequence } => {
                    scheduler.handle_received(path, sequence)?;
                    let ends_here = schedule.find(path).is_some_and(|i| schedule.hops()[i].outgoing.is_none());
                    execution.chunks_delivered += u64::from(ends_here);
                }
                crate::Event::Sent { path, sequence } => {
                    in_flight -= 1;
                    scheduler.handle_sent(path, sequence)?;
                }
                crate::Event::Credit { path, chunks } => scheduler.handle_credit(path, chunks)?,
            }
        }
    }
    execution.peak_slot_bytes = scheduler.peak_slot_bytes();
    Ok(execution)
}

/// Nothing happened: let others run, and after a while say, or report, what is missing.
fn wait(
    scheduler: &Scheduler<'_>,
    schedule: &Schedule,
    options: &ExecuteOptions,
    idle: Option<(Instant, bool)>,
) -> Result<Option<(Instant, bool)>, TransportError> {
    std::thread::yield_now();
    let (since, noticed) = idle.unwrap_or_else(|| (Instant::now(), false));
    let waited = since.elapsed();
    if options.give_up_after.is_some_and(|limit| waited >= limit) {
        return Err(TransportError::Stalled {
            rank: schedule.rank(),
            seconds: waited.as_secs(),
            waiting_for: scheduler.waiting_for(),
        });
    }
    if waited >= STALL_NOTICE && !noticed {
        let (rank, what) = (schedule.rank(), scheduler.waiting_for());
        log::warn!("rank {rank}: nothing has moved for {} s; waiting for {what}", waited.as_secs());
        return Ok(Some((since, true)));
    }
    Ok(Some((since, noticed)))
}
