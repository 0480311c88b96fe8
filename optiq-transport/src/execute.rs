//! The progress loop: drives a scheduler over a transport until its part of the exchange is done.

use crate::backoff::Backoff;
use crate::capabilities::{Capabilities, SendCompletion};
use crate::constants::{SENDS_IN_FLIGHT, STALL_NOTICE_SECONDS};
use crate::error::TransportError;
use crate::leg_times::{LegTime, LegTimes};
use crate::memory::Memory;
use crate::neighbours::Neighbours;
use crate::protocol::Event;
use crate::schedule::Schedule;
use crate::scheduler::{QueueOrder, Scheduler};
use crate::transport::Transport;
use optiq_trace::ids::Rank;
use std::borrow::Borrow;
use std::time::{Duration, Instant};

/// How to run an exchange; ranks may differ in these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecuteOptions {
    /// Which queue goes first.
    pub order: QueueOrder,
    /// How many sends may be in flight at one time. A send that is handed over cannot be overtaken any more, so a
    /// smaller number gives the order policy more to decide, a larger one keeps more links busy.
    pub sends_in_flight: usize,
    /// Give up after this long without any progress; `None` waits for ever, as MPI does.
    pub give_up_after: Option<Duration>,
    /// Measure how long each leg is busy ([`Running::leg_times`]); a look at the clock for each chunk and confirmation.
    pub leg_times: bool,
}

impl Default for ExecuteOptions {
    fn default() -> Self {
        Self { order: QueueOrder::default(), sends_in_flight: SENDS_IN_FLIGHT, give_up_after: None, leg_times: false }
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

/// How long nothing may move before a line in the log says what is missing.
const STALL_NOTICE: Duration = Duration::from_secs(STALL_NOTICE_SECONDS);

/// What [`Running::advance`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Something moved.
    Moved,
    /// Nothing moved: other ranks must act first.
    Idle,
    /// This rank's part is done.
    Done,
}

/// This rank's part of an exchange that has begun. It must be advanced with the transport and the memory with which it was
/// begun until it is done or has failed; one transport carries one exchange at a time. Exchanges on several transports may be advanced in
/// turn, by [`Running::advance_beside`] so that the most urgent goes first.
#[derive(Debug)]
pub struct Running<S> {
    schedule: S,
    scheduler: Scheduler<S>,
    options: ExecuteOptions,
    execution: Execution,
    events: Vec<Event>,
    in_flight: usize,
    neighbours: Neighbours,
    /// Whether a confirmed send shows that the receiver has begun.
    matched: bool,
    began: Instant,
    leg_times: Option<LegTimes>,
    /// Since when nothing has moved, and whether that was said.
    idle: Option<(Instant, bool)>,
}

impl<S: Borrow<Schedule> + Clone> Running<S> {
    /// Begins an exchange.
    ///
    /// # Errors
    /// [`TransportError::BufferTooSmall`]; what the transport reports.
    pub fn begin<T: Transport + ?Sized>(
        transport: &mut T,
        schedule: S,
        options: &ExecuteOptions,
        memory: &Memory<'_>,
    ) -> Result<Self, TransportError> {
        memory.check(schedule.borrow())?;
        transport.begin(schedule.borrow())?;
        log_begin(&transport.capabilities(), schedule.borrow(), options);
        let scheduler = Scheduler::new(schedule.clone(), options.order);
        let (options, execution, events) = (*options, Execution::default(), Vec::new());
        // Where a send is confirmed by this rank alone, it says nothing of the leg.
        let completion = transport.capabilities().send_completion;
        let leg_times = (options.leg_times && completion.is_confirmed_by_target()).then(LegTimes::default);
        // A put is complete in the receiver's memory, whatever the receiver does.
        let matched = completion == SendCompletion::Matched;
        Ok(Self {
            schedule,
            scheduler,
            options,
            execution,
            events,
            in_flight: 0,
            neighbours: Neighbours::default(),
            matched,
            began: Instant::now(),
            leg_times,
            idle: None,
        })
    }

    /// Does what can be done without waiting.
    ///
    /// # Errors
    /// [`TransportError::Stalled`] after [`ExecuteOptions::give_up_after`]; what the transport reports. The exchange
    /// is abandoned then, and the receive buffer's contents are unspecified.
    pub fn advance<T: Transport + ?Sized>(
        &mut self,
        transport: &mut T,
        memory: &Memory<'_>,
    ) -> Result<Progress, TransportError> {
        self.advance_beside(transport, memory, |_| true)
    }

    /// The same beside more urgent exchanges on other transports: no new chunks go to ranks that `may_send` does not allow, which are
    /// those that the others have claimed ([`Running::claimed`]). What is in flight goes on.
    ///
    /// # Errors
    /// As [`Running::advance`].
    pub fn advance_beside<T: Transport + ?Sized>(
        &mut self,
        transport: &mut T,
        memory: &Memory<'_>,
        may_send: impl Fn(Rank) -> bool,
    ) -> Result<Progress, TransportError> {
        let result = self.step(transport, memory, may_send);
        if result.is_err() {
            transport.abandon();
        }
        result
    }

    /// What it did at this rank so far.
    pub fn execution(&self) -> Execution {
        Execution { peak_slot_bytes: self.scheduler.peak_slot_bytes(), ..self.execution }
    }

    /// Ranks that have begun this exchange and to which it has chunks in flight, ascending. They take these whatever else they wait for,
    /// so less urgent exchanges can leave such a rank to this one and none waits for ever.
    pub fn claimed(&self) -> impl Iterator<Item = Rank> {
        self.neighbours.claimed()
    }

    /// How long each leg of this rank was busy so far; none unless [`ExecuteOptions::leg_times`] is set
    /// and the target confirms sends ([`crate::SendCompletion`]).
    pub fn leg_times(&self) -> Vec<LegTime> {
        self.leg_times.as_ref().map_or_else(Vec::new, LegTimes::all)
    }

    fn step<T: Transport + ?Sized>(
        &mut self,
        transport: &mut T,
        memory: &Memory<'_>,
        may_send: impl Fn(Rank) -> bool,
    ) -> Result<Progress, TransportError> {
        self.submit(transport, memory, &may_send)?;
        if self.scheduler.is_done() {
            return Ok(if transport.end()? { Progress::Done } else { Progress::Idle });
        }
        transport.poll(memory, &mut self.events)?;
        if self.events.is_empty() {
            self.stall()?;
            return Ok(Progress::Idle);
        }
        self.idle = None;
        let mut events = std::mem::take(&mut self.events);
        let handled = events.drain(..).try_for_each(|event| self.handle(event));
        // Kept for its memory.
        self.events = events;
        handled?;
        // At once: where several exchanges move, others must see which ranks this one has chunks for.
        self.submit(transport, memory, &may_send)?;
        Ok(Progress::Moved)
    }

    /// Hands over to the transport what may be posted, credited and sent now.
    fn submit<T: Transport + ?Sized>(
        &mut self,
        transport: &mut T,
        memory: &Memory<'_>,
        may_send: &impl Fn(Rank) -> bool,
    ) -> Result<(), TransportError> {
        let me = self.schedule.borrow().rank();
        while let Some(post) = self.scheduler.poll_post() {
            transport.post(memory, &post)?;
        }
        while let Some(credit) = self.scheduler.poll_credit() {
            transport.credit(&credit)?;
        }
        while self.in_flight < self.options.sends_in_flight.max(1)
            && let Some(transmit) = self.scheduler.poll_transmit_to(may_send)
        {
            if let Some(times) = &mut self.leg_times {
                times.sent(transmit.to, self.began.elapsed());
            }
            transport.send(memory, &transmit)?;
            self.in_flight += 1;
            self.neighbours.sent(transmit.to);
            if transmit.header.source == me {
                self.execution.chunks_sent += 1;
            } else {
                self.execution.chunks_forwarded += 1;
                self.execution.bytes_forwarded += transmit.header.bytes;
            }
        }
        Ok(())
    }

    fn handle(&mut self, event: Event) -> Result<(), TransportError> {
        let (Event::Received { path, .. } | Event::Sent { path, .. } | Event::Credit { path, .. }) = event;
        let hop = self.schedule.borrow().find(path).map(|i| self.schedule.borrow().hops()[i]);
        let (incoming, outgoing) = hop.map_or((None, None), |hop| (hop.incoming, hop.outgoing));
        match event {
            Event::Received { sequence, .. } => {
                self.scheduler.handle_received(path, sequence)?;
                incoming.into_iter().for_each(|incoming| self.neighbours.heard_from(incoming.from));
                self.execution.chunks_delivered += u64::from(outgoing.is_none());
            }
            Event::Sent { sequence, .. } => {
                self.in_flight -= 1;
                if let Some((hop, outgoing)) = hop.zip(outgoing) {
                    self.neighbours.confirmed(outgoing.to, self.matched);
                    if let Some(times) = &mut self.leg_times {
                        times.confirmed(outgoing.to, hop.chunk_bytes(sequence), self.began.elapsed());
                    }
                }
                self.scheduler.handle_sent(path, sequence)?;
            }
            Event::Credit { chunks, .. } => {
                self.scheduler.handle_credit(path, chunks)?;
                outgoing.into_iter().for_each(|outgoing| self.neighbours.heard_from(outgoing.to));
            }
        }
        Ok(())
    }

    /// Nothing happened: after a while, warns of what is missing, or gives up.
    fn stall(&mut self) -> Result<(), TransportError> {
        let (since, noticed) = *self.idle.get_or_insert_with(|| (Instant::now(), false));
        let waited = since.elapsed();
        let rank = self.schedule.borrow().rank();
        if self.options.give_up_after.is_some_and(|limit| waited >= limit) {
            let waiting_for = self.scheduler.waiting_for();
            let (in_flight, seconds) = (self.in_flight, waited.as_secs());
            log::warn!(
                "rank {rank} gives up after {seconds} s: {in_flight} sends are in flight; it waits for {waiting_for}"
            );
            return Err(TransportError::Stalled { rank, seconds: waited.as_secs(), waiting_for });
        }
        if waited >= STALL_NOTICE && !noticed {
            let what = self.scheduler.waiting_for();
            log::warn!("rank {rank}: nothing has moved for {} s; waiting for {what}", waited.as_secs());
            self.idle = Some((since, true));
        }
        Ok(())
    }
}

/// What the exchange is carried out with, in one line of the log.
fn log_begin(capabilities: &Capabilities, schedule: &Schedule, options: &ExecuteOptions) {
    log::debug!(
        "rank {}: exchange on {} paths over {}, order {:?}, at most {} sends in flight; a send is confirmed at {:?} completion{}; \
         slots of {} bytes",
        schedule.rank(),
        schedule.hops().len(),
        capabilities.name,
        options.order,
        options.sends_in_flight.max(1),
        capabilities.send_completion,
        if capabilities.send_completion.is_confirmed_by_target() {
            ""
        } else {
            ", so in-flight limits do not bound the network's queues"
        },
        if capabilities.delivers_in_place { schedule.forward_bytes() } else { schedule.slot_bytes() },
    );
}

/// Carries out this rank's part of an exchange; returns when every byte that it sends, forwards and receives is
/// in its place.
///
/// # Errors
/// As [`Running::begin`], before anything moves, and [`Running::advance`].
pub fn execute<T: Transport + ?Sized>(
    transport: &mut T,
    schedule: &Schedule,
    options: &ExecuteOptions,
    memory: &Memory<'_>,
) -> Result<Execution, TransportError> {
    let mut running = Running::begin(transport, schedule, options, memory)?;
    let mut backoff = Backoff::default();
    loop {
        match running.advance(transport, memory)? {
            Progress::Moved => backoff.moved(),
            Progress::Idle => backoff.idle(),
            Progress::Done => return Ok(running.execution()),
        }
    }
}
