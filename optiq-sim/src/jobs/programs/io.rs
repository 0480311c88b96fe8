//! Requests of clients to servers: `io-write` and `io-read`.
//!
//! ```text
//!     write    client ── data ──────────► server: serves it, one request at a time
//!              client ◄─ reply ────────── server
//!     read     client ── request ───────► server: serves it
//!              client ◄─ data ─────────── server
//! ```
//!
//! A client takes the servers in turn, the first one at random, as Lustre's clients do. A request is cut into as many parts as
//! it has stripes, for as many servers. Where servers have a bounded memory, a write is announced by a request first, and
//! the server grants requests in the order of their arrival as soon as they fit; a read occupies the server's memory until
//! its data has left.

use super::member::{Member, Stream, stream};
use super::pacing::{Clock, Wake};
use super::samples::Recorder;
use crate::jobs::program_spec::IoSpec;
use crate::nic::program::{Delivery, Host, Notice, Program};
use crate::time::{Rate, Time};
use bincode::{Decode, Encode};
use optiq_trace::codec;
use std::collections::VecDeque;
use std::panic::Location;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// From a client: asks for memory, or for bytes. From a server: grants memory.
    Request,
    Data,
    /// From a server: the bytes are stored.
    Reply,
}

/// Bits of a token for the number of bytes, which is at most 2^48, and above them for the client's loop, below 2^12.
const BYTES: u32 = 49;
const LOOPS: u32 = 13;

fn token(kind: Kind, number: u32, bytes: u64) -> u64 {
    (kind as u64) << (BYTES + LOOPS) | u64::from(number) << BYTES | bytes
}

fn parts(token: u64) -> (Kind, u32, u64) {
    let kind = match token >> (BYTES + LOOPS) {
        0 => Kind::Request,
        1 => Kind::Data,
        _ => Kind::Reply,
    };
    (kind, (token >> BYTES) as u32 & ((1 << LOOPS) - 1), token & ((1 << BYTES) - 1))
}

/// How a request is cut: the sizes of its parts, those of whole bytes more first.
pub(super) fn stripes(request: u64, stripes: u32) -> impl Iterator<Item = u64> {
    let stripes = u64::from(stripes);
    (0..stripes).map(move |i| request / stripes + u64::from(i < request % stripes)).filter(|&bytes| bytes > 0)
}

/// One of a client's loops.
#[derive(Clone, Debug, Default, Encode, Decode)]
struct OneLoop {
    started: Time,
    /// Parts of its request that are not over.
    open: u32,
}

/// A client.
pub(super) struct Client {
    member: Member,
    spec: IoSpec,
    servers: u32,
    control: u64,
    clock: Clock,
    recorder: Recorder,
    keep_going: bool,
    operations: u64,
    loops: Vec<OneLoop>,
    next_server: u32,
    issued: u64,
}

impl Client {
    pub(super) fn new(
        (member, seed): (Member, u64),
        (spec, servers, control): (IoSpec, u32, u64),
        clock: Clock,
        recorder: Recorder,
        (operations, keep_going): (u64, bool),
    ) -> Self {
        let next_server = stream(seed, member.rank, Stream::Destinations).below(servers.into()) as u32;
        let loops = vec![OneLoop::default(); spec.depth as usize];
        Self { member, spec, servers, control, clock, recorder, keep_going, operations, loops, next_server, issued: 0 }
    }

    /// The size of the next request: the last one of a total has what is left.
    fn size(&self) -> u64 {
        let before = self.issued.saturating_mul(self.spec.request);
        match self.spec.total {
            Some(total) if before < total => self.spec.request.min(total - before),
            _ => self.spec.request,
        }
    }

    fn request(&mut self, host: &mut Host<'_>, number: u32) {
        if !self.keep_going && self.issued >= self.operations {
            return;
        }
        let size = self.size();
        self.issued += 1;
        let mut open = 0;
        for bytes in stripes(size, self.spec.stripes) {
            let server = self.member.ranks + self.next_server;
            self.next_server = (self.next_server + 1) % self.servers;
            open += 1;
            if self.spec.is_read || self.spec.server_memory.is_some() {
                self.member.send(host, server, self.control, token(Kind::Request, number, bytes), Notice::None);
            } else {
                self.member.send(host, server, bytes, token(Kind::Data, number, bytes), Notice::None);
            }
        }
        self.loops[number as usize] = OneLoop { started: host.now(), open };
    }
}

impl Program for Client {
    fn start(&mut self, host: &mut Host<'_>) {
        self.recorder.start(host);
        for number in 0..self.spec.depth {
            let first = self.clock.first();
            self.clock.wait_until(host, first, Wake(number.into()));
        }
    }

    fn woken(&mut self, host: &mut Host<'_>, token: u64) {
        if self.clock.woken(host, token) {
            self.request(host, Wake::of(token).0 as u32);
        }
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        let (kind, number, bytes) = parts(delivery.token);
        if kind == Kind::Request {
            let server = self.member.source(&delivery);
            self.member.send(host, server, bytes, token(Kind::Data, number, bytes), Notice::None);
            return;
        }
        let Some(one) = self.loops.get_mut(number as usize) else { return };
        one.open -= 1;
        let started = one.started;
        if one.open == 0 {
            self.recorder.record(host, started, host.now() - started);
            if self.keep_going || self.issued < self.operations {
                self.clock.wait(host, started, Wake(number.into()));
            }
        }
    }

    fn waits_for(&self) -> Option<String> {
        let open: u32 = self.loops.iter().map(|one| one.open).sum();
        (open > 0).then(|| format!("client {} waits for {open} answers of servers", self.member.rank))
    }

    fn receives_in(&self) -> Option<&'static Location<'static>> {
        Some(Location::caller())
    }

    fn save(&self) -> Option<Vec<u8>> {
        let Self { loops, next_server, issued, .. } = self;
        Some(codec::encode(&(self.clock.save(), self.recorder.save(), loops, next_server, issued)))
    }

    fn restore(&mut self, _: u32, state: &[u8]) -> Result<(), String> {
        let (clock, recorder, loops, next_server, issued): (_, _, Vec<OneLoop>, u32, u64) = codec::decode(state)?;
        if loops.len() != self.loops.len() || next_server >= self.servers {
            return Err("another client".into());
        }
        self.clock.restore(clock);
        self.recorder.restore(recorder)?;
        (self.loops, self.next_server, self.issued) = (loops, next_server, issued);
        Ok(())
    }
}

/// A part of a request at a server: its client, the client's loop, its bytes.
#[derive(Clone, Copy, Debug, Encode, Decode)]
struct Part {
    client: u32,
    number: u32,
    bytes: u64,
}

/// A server.
pub(super) struct Server {
    member: Member,
    spec: IoSpec,
    control: u64,
    rate: Rate,
    recorder: Recorder,
    memory_used: u64,
    /// What has asked for memory and does not fit.
    waiting: VecDeque<Part>,
    /// What is to be served; the first one is being served.
    queue: VecDeque<Part>,
    /// The most bytes that were in its memory.
    most: u64,
}

impl Server {
    pub(super) fn new(member: Member, spec: IoSpec, control: u64, recorder: Recorder) -> Self {
        let rate = spec.server_rate.map_or(Rate::INFINITE, Rate::bytes_per_second);
        let (waiting, queue) = (VecDeque::new(), VecDeque::new());
        Self { member, spec, control, rate, recorder, memory_used: 0, waiting, queue, most: 0 }
    }

    /// Lets in what fits, in the order of arrival.
    fn admit(&mut self, host: &mut Host<'_>) {
        let memory = self.spec.server_memory.unwrap_or(u64::MAX);
        while let Some(part) = self.waiting.front().copied().filter(|part| part.bytes <= memory - self.memory_used) {
            self.waiting.pop_front();
            self.memory_used += part.bytes;
            self.most = self.most.max(self.memory_used);
            if self.spec.is_read {
                self.serve(host, part);
            } else {
                let grant = token(Kind::Request, part.number, part.bytes);
                self.member.send(host, part.client, self.control, grant, Notice::None);
            }
        }
    }

    fn serve(&mut self, host: &mut Host<'_>, part: Part) {
        self.queue.push_back(part);
        if self.queue.len() == 1 {
            self.begin(host);
        }
    }

    /// Begins with the first one of the queue. A server's disk works beside its processor.
    fn begin(&mut self, host: &mut Host<'_>) {
        if let Some(part) = self.queue.front() {
            let time = self.spec.service.saturating_add(self.rate.time(part.bytes));
            host.wake_at(host.now().saturating_add(time), 0);
        }
    }

    /// A part has left the memory.
    fn release(&mut self, host: &mut Host<'_>, bytes: u64) {
        self.memory_used = self.memory_used.saturating_sub(bytes);
        self.admit(host);
    }
}

impl Program for Server {
    fn start(&mut self, host: &mut Host<'_>) {
        self.recorder.start(host);
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        let (kind, number, bytes) = parts(delivery.token);
        let part = Part { client: self.member.source(&delivery), number, bytes };
        match kind {
            Kind::Request => {
                self.waiting.push_back(part);
                self.admit(host);
            }
            Kind::Data | Kind::Reply => self.serve(host, part),
        }
    }

    fn woken(&mut self, host: &mut Host<'_>, _: u64) {
        let Some(part) = self.queue.pop_front() else { return };
        if self.spec.is_read {
            let data = token(Kind::Data, part.number, part.bytes);
            self.member.send(host, part.client, part.bytes, data, Notice::Left);
        } else {
            let reply = token(Kind::Reply, part.number, part.bytes);
            self.member.send(host, part.client, self.control, reply, Notice::None);
            self.release(host, part.bytes);
        }
        self.begin(host);
    }

    fn sent(&mut self, host: &mut Host<'_>, token: u64) {
        let (_, _, bytes) = parts(token);
        self.release(host, bytes);
    }

    fn receives_in(&self) -> Option<&'static Location<'static>> {
        Some(Location::caller())
    }

    fn save(&self) -> Option<Vec<u8>> {
        let Self { memory_used, waiting, queue, most, .. } = self;
        Some(codec::encode(&(self.recorder.save(), memory_used, waiting, queue, most)))
    }

    fn restore(&mut self, _: u32, state: &[u8]) -> Result<(), String> {
        let (recorder, memory_used, waiting, queue, most) = codec::decode(state)?;
        if self.spec.server_memory.is_some_and(|memory| memory_used > memory) {
            return Err("a server with more memory".into());
        }
        self.recorder.restore(recorder)?;
        (self.memory_used, self.waiting, self.queue, self.most) = (memory_used, waiting, queue, most);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_stripes_hold_what_they_are_given() {
        for kind in [Kind::Request, Kind::Data, Kind::Reply] {
            for (number, bytes) in [(0, 0), (4095, 1 << 48), (7, 4_000_000)] {
                assert_eq!(parts(token(kind, number, bytes)), (kind, number, bytes));
            }
        }
        assert_eq!(stripes(10, 4).collect::<Vec<_>>(), [3, 3, 2, 2]);
        assert_eq!(stripes(2, 4).collect::<Vec<_>>(), [1, 1]);
    }
}
