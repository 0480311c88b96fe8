//! Several exchanges at one time, each on a transport of its own, the most urgent first: every byte arrives, and none waits for ever, even
//! where ranks wait for one exchange before they start the next one.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use optiq_trace::Meter;
use optiq_transport::{
    Capabilities, ChunkRule, Credit, Event, ExecuteOptions, InProcess, Memory, Path, PathId, Post, Progress, Rank,
    Running, Schedule, ScheduleOptions, SendCompletion, Transmit, Transport, TransportError, mesh,
};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Receives that were posted: (receiver, path, sequence).
type Posted = Rc<RefCell<BTreeSet<(Rank, PathId, u64)>>>;

/// A transport whose sends are complete when the receiver has posted the receive, as those of `MPI_Issend`.
struct Synchronous {
    inner: InProcess,
    posted: Posted,
    /// Receivers of what was sent and is not complete, in order.
    sent: Vec<(Rank, PathId, u64)>,
}

impl Transport for Synchronous {
    fn capabilities(&self) -> Capabilities {
        Capabilities { send_completion: SendCompletion::Matched, ..self.inner.capabilities() }
    }

    fn begin(&mut self, schedule: &Schedule) -> Result<(), TransportError> {
        self.inner.begin(schedule)
    }

    fn post(&mut self, memory: &Memory<'_>, post: &Post) -> Result<(), TransportError> {
        self.posted.borrow_mut().insert((self.inner.rank(), post.header.path, post.header.sequence));
        self.inner.post(memory, post)
    }

    fn send(&mut self, memory: &Memory<'_>, transmit: &Transmit) -> Result<(), TransportError> {
        self.sent.push((transmit.to, transmit.header.path, transmit.header.sequence));
        self.inner.send(memory, transmit)
    }

    fn credit(&mut self, credit: &Credit) -> Result<(), TransportError> {
        self.inner.credit(credit)
    }

    fn poll(&mut self, memory: &Memory<'_>, events: &mut Vec<Event>) -> Result<(), TransportError> {
        let mut all = Vec::new();
        self.inner.poll(memory, &mut all)?;
        events.extend(all.into_iter().filter(|event| !matches!(event, Event::Sent { .. })));
        let posted = self.posted.borrow();
        self.sent.retain(|&(to, path, sequence)| {
            let matched = posted.contains(&(to, path, sequence));
            if matched {
                events.push(Event::Sent { path, sequence });
            }
            !matched
        });
        Ok(())
    }

    fn end(&mut self) -> Result<bool, TransportError> {
        self.inner.end()
    }

    fn abandon(&mut self) {
        self.inner.abandon();
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        self.inner.meter()
    }
}

/// One exchange at one rank.
struct Part {
    transport: Synchronous,
    schedule: Schedule,
    memory: Memory<'static>,
    receive: Vec<u8>,
    _send: Vec<u8>,
    running: Option<Running<Schedule>>,
    done: bool,
}

fn byte_of(exchange: usize, source: Rank, offset: u64) -> u8 {
    (exchange as u64 * 89 + u64::from(source.0) * 131 + offset * 7) as u8
}

impl Part {
    fn new(exchange: usize, inner: InProcess, posted: &Posted, paths: &[Path], options: &ScheduleOptions) -> Self {
        let rank = inner.rank();
        let schedule = Schedule::new(rank, RANKS, paths, options).unwrap();
        let send: Vec<u8> = (0..schedule.send_bytes()).map(|i| byte_of(exchange, rank, i)).collect();
        let mut receive = vec![0xee; schedule.receive_bytes() as usize];
        // SAFETY: both vectors live as long as the part and are not touched until it is done.
        let memory =
            unsafe { Memory::from_raw(send.as_ptr(), send.len() as u64, receive.as_mut_ptr(), receive.len() as u64) };
        let transport = Synchronous { inner, posted: Rc::clone(posted), sent: Vec::new() };
        Self { transport, schedule, memory, receive, _send: send, running: None, done: false }
    }

    fn start(&mut self) {
        let options = ExecuteOptions { sends_in_flight: 3, ..ExecuteOptions::default() };
        self.running =
            Some(Running::begin(&mut self.transport, self.schedule.clone(), &options, &self.memory).unwrap());
    }

    /// Advances it, leaving alone what more urgent ones have claimed.
    fn advance(&mut self, claimed: &BTreeSet<Rank>) {
        let Some(running) = self.running.as_mut().filter(|_| !self.done) else { return };
        let before = self.transport.sent.len();
        let may_send = |to| !claimed.contains(&to);
        self.done = running.advance_beside(&mut self.transport, &self.memory, may_send).unwrap() == Progress::Done;
        let fresh = self.transport.sent.get(before..).unwrap_or_default();
        assert!(fresh.iter().all(|(to, ..)| !claimed.contains(to)), "a chunk to a rank that is claimed");
    }
}

const RANKS: u32 = 4;

/// Random paths; receive offsets do not overlap.
fn paths() -> impl Strategy<Value = Vec<Path>> {
    let ranks = Just((0..RANKS).map(Rank).collect::<Vec<_>>()).prop_shuffle();
    let one = (ranks, 2..=RANKS as usize, 1u64..1500);
    proptest::collection::vec(one, 1..8).prop_map(|list| {
        let mut end = [0u64; RANKS as usize];
        let path = |(id, (mut chain, length, bytes)): (u32, (Vec<Rank>, usize, u64))| {
            chain.truncate(length);
            let last = &mut end[chain[length - 1].index()];
            let destination_offset = *last;
            *last += bytes;
            let (id, source_offset) = (PathId(id), 5);
            Path { id, ranks: chain, bytes, source_offset, destination_offset, starts_at: None, class: 0 }
        };
        (0..).zip(list).map(path).collect()
    })
}

fn verify(exchange: usize, paths: &[Path], ranks: &[Vec<Part>]) {
    for path in paths {
        let received = &ranks[path.destination().index()][exchange].receive;
        let expected = (0..path.bytes).map(|i| byte_of(exchange, path.source(), path.source_offset + i));
        let found = &received[path.destination_offset as usize..][..path.bytes as usize];
        assert!(found.iter().copied().eq(expected), "path {} of exchange {exchange}", path.id);
    }
}

/// The parts of all ranks, by rank and exchange.
fn parts(exchanges: &[Vec<Path>], options: &ScheduleOptions) -> Vec<Vec<Part>> {
    let mut ranks: Vec<Vec<Part>> = (0..RANKS).map(|_| Vec::new()).collect();
    for (number, paths) in exchanges.iter().enumerate() {
        let posted = Posted::default();
        for (rank, end) in ranks.iter_mut().zip(mesh(RANKS)) {
            rank.push(Part::new(number, end, &posted, paths, options));
        }
    }
    ranks
}

/// Advances what a rank has started, the most urgent first.
fn advance(parts: &mut [Part], classes: &[u8]) {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(classes[i]));
    for i in order {
        let more_urgent = parts.iter().zip(classes).filter(|(part, class)| **class > classes[i] && !part.done);
        let claimed: BTreeSet<Rank> =
            more_urgent.filter_map(|(part, _)| part.running.as_ref()).flat_map(Running::claimed).collect();
        parts[i].advance(&claimed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn none_waits_for_ever_and_every_byte_arrives(
        exchanges in proptest::collection::vec(paths(), 3),
        classes in Just(vec![0u8, 9, 200]).prop_shuffle(),
        chunk in 1u64..600,
        window in 1u64..4,
        in_flight_limit in prop_oneof![Just(0u64), 1u64..2000],
        // Of each rank and exchange: whether it waits for the ones before.
        waits in proptest::collection::vec(any::<bool>(), RANKS as usize * 3),
        turns in proptest::collection::vec(0..RANKS as usize, 1..60),
    ) {
        let options = ScheduleOptions { chunk: ChunkRule::Fixed(chunk), window, in_flight_limit, ..ScheduleOptions::default() };
        let mut ranks = parts(&exchanges, &options);
        let mut left = 400_000;
        for turn in turns.iter().copied().chain(0..RANKS as usize).cycle() {
            let rank = &mut ranks[turn];
            // One start at a turn.
            if let Some(next) = rank.iter().position(|part| part.running.is_none())
                && (!waits[turn * 3 + next] || rank[..next].iter().all(|part| part.done))
            {
                rank[next].start();
            }
            advance(rank, &classes);
            if ranks.iter().flatten().all(|part| part.done) {
                break;
            }
            left -= 1;
            prop_assert!(left > 0, "some exchange waits for ever");
        }
        exchanges.iter().enumerate().for_each(|(number, paths)| verify(number, paths, &ranks));
    }
}

/// A bulk of 200 chunks that a rank forwards, and ten urgent chunks by the same ranks that are started once it is on its way.
#[test]
fn what_is_urgent_overtakes_at_every_rank() {
    let path = |bytes| {
        let ranks = [0, 1, 2].map(Rank).to_vec();
        vec![Path { id: PathId(0), ranks, bytes, source_offset: 0, destination_offset: 0, starts_at: None, class: 0 }]
    };
    let options = ScheduleOptions { chunk: ChunkRule::Fixed(10), in_flight_limit: 20, ..ScheduleOptions::default() };
    let exchanges = [path(2000), path(100)];
    for (classes, overtakes) in [([0, 1], true), ([1, 0], false)] {
        let mut ranks = parts(&exchanges, &options);
        for turn in 0..10_000 {
            for rank in &mut ranks {
                match turn {
                    0 => rank[0].start(),
                    10 => rank[1].start(),
                    _ => {}
                }
                advance(rank, &classes);
            }
            if ranks[2][1].done {
                break;
            }
        }
        assert!(ranks[2][1].done);
        let arrived = |part: &Part| part.running.as_ref().unwrap().execution().chunks_delivered;
        let bulk = arrived(&ranks[2][0]);
        assert_eq!(bulk < 60, overtakes, "{bulk} chunks of the bulk have arrived before the last of the other");
    }
}
