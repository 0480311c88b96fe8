//! Messages of programs over MPI: who is which process, what a message begins with, and which are under way.
//!
//! A message is as long as the program says, but at least [`HEADER`] bytes, in which it carries what the receiving program is told.
//! A program that wants to know when a message was received is told by a message back, as the simulator does it: MPI's own
//! synchronous sends are over when the receiver has begun to receive.

use optiq_sim::jobs::real_time::RealTimeSend;
use optiq_sim::time::Time;
use optiq_sim::{Delivery, Notice};
use optiq_transport::Rank;
use optiq_transport::mpi::{Communicator, Message};

/// Bytes at the beginning of every message.
pub const HEADER: usize = 32;
/// The most bytes of a message: MPI counts to 2 GiB.
pub const MAX_MESSAGE: u64 = 1 << 30;
/// Buffers that are kept to be used again.
const MOST_KEPT: usize = 64;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of a program.
    Data,
    /// Of a program that is told when it was received.
    Confirmed,
    /// As `Confirmed`, and the receiving program is told nothing.
    Put,
    /// That a message was received.
    Confirmation,
    /// Opens a connection.
    Hello,
    /// From the first process to all: when they begin.
    Go,
    /// To the first process: this one has its samples.
    Done,
    /// From the first process to all: it is over.
    End,
}

const KINDS: [Kind; 8] =
    [Kind::Data, Kind::Confirmed, Kind::Put, Kind::Confirmation, Kind::Hello, Kind::Go, Kind::Done, Kind::End];

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub kind: Kind,
    /// The process that sends.
    pub from: u32,
    pub token: u64,
    /// As the program has it, which can be less than what is sent.
    pub bytes: u64,
    /// Picoseconds since the start; of `Go`, nanoseconds since 1970.
    pub time: u64,
}

impl Head {
    fn write(&self, into: &mut [u8]) {
        let words = [u64::from(self.from) << 8 | self.kind as u64, self.token, self.bytes, self.time];
        for (bytes, word) in into.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    fn read(from: &[u8]) -> Option<Self> {
        let word = |i: usize| Some(u64::from_le_bytes(from.get(8 * i..8 * i + 8)?.try_into().ok()?));
        let first = word(0)?;
        let kind = *KINDS.get((first & 0xff) as usize)?;
        Some(Self { kind, from: (first >> 8) as u32, token: word(1)?, bytes: word(2)?, time: word(3)? })
    }

    /// Whether it counts as a message of the program.
    fn is_of_program(&self) -> bool {
        matches!(self.kind, Kind::Data | Kind::Confirmed | Kind::Put | Kind::Confirmation)
    }

    /// What the program is told of it.
    pub fn delivery(&self, now: Time) -> Delivery {
        // Clocks of different machines may differ.
        let sent = Time::picoseconds(self.time).min(now);
        Delivery { from: self.from, bytes: self.bytes, token: self.token, sent }
    }
}

/// A message of ours that is under way.
struct Outgoing {
    message: Message,
    /// What the program is told when it has left.
    left: Option<u64>,
}

/// All messages of this process.
pub struct Messages<'a> {
    comm: &'a Communicator,
    /// By process.
    ranks: Vec<Rank>,
    process: u32,
    outgoing: Vec<Outgoing>,
    incoming: Vec<Message>,
    free: Vec<Vec<u8>>,
    /// By process: messages of programs to it, and from it.
    pub sent: Vec<u64>,
    pub received: Vec<u64>,
    pub bytes_sent: u64,
}

fn words(e: impl ToString) -> String {
    e.to_string()
}

impl<'a> Messages<'a> {
    /// Of the process that this rank is; `ranks` has the rank of every process.
    pub fn new(comm: &'a Communicator, ranks: Vec<Rank>, process: u32) -> Self {
        let count = ranks.len();
        Self {
            comm,
            ranks,
            process,
            outgoing: Vec::new(),
            incoming: Vec::new(),
            free: Vec::new(),
            sent: vec![0; count],
            received: vec![0; count],
            bytes_sent: 0,
        }
    }

    /// Begins to send what a program has ordered.
    pub fn post(&mut self, send: &RealTimeSend) -> Result<(), String> {
        let RealTimeSend { to, bytes, token, notice, ordered } = *send;
        if to as usize >= self.ranks.len() {
            return Err(format!("the program sends to process {to}; there are {}", self.ranks.len()));
        }
        if bytes > MAX_MESSAGE {
            return Err(format!("a message of {bytes} bytes; at most {MAX_MESSAGE} can be sent with MPI"));
        }
        let kind = match notice {
            Notice::None | Notice::Left => Kind::Data,
            Notice::Received => Kind::Confirmed,
            Notice::Put => Kind::Put,
        };
        let left = (notice == Notice::Left).then_some(token);
        let head = Head { kind, from: self.process, token, bytes, time: ordered.as_picoseconds() };
        self.bytes_sent += bytes;
        self.send(to, &head, left)
    }

    /// Begins to send a message without bytes of a program's.
    pub fn say(&mut self, to: u32, kind: Kind, token: u64, time: u64) -> Result<(), String> {
        self.send(to, &Head { kind, from: self.process, token, bytes: 0, time }, None)
    }

    fn send(&mut self, to: u32, head: &Head, left: Option<u64>) -> Result<(), String> {
        let bytes = (head.bytes as usize).max(HEADER);
        let mut memory = self.memory(bytes);
        head.write(&mut memory[..HEADER]);
        self.sent[to as usize] += u64::from(head.is_of_program());
        let message = self.comm.start_send(memory, bytes, self.ranks[to as usize]).map_err(words)?;
        self.outgoing.push(Outgoing { message, left });
        Ok(())
    }

    /// Memory of at least this size: the smallest that is free.
    fn memory(&mut self, bytes: usize) -> Vec<u8> {
        take(&mut self.free, bytes)
    }

    fn keep(&mut self, memory: Vec<u8>) {
        if self.free.len() < MOST_KEPT {
            self.free.push(memory);
        }
    }

    /// Begins to receive what has been announced; whether anything has.
    pub fn announced(&mut self) -> Result<bool, String> {
        let before = self.incoming.len();
        let free = &mut self.free;
        while let Some((_, message)) = self.comm.receive_any(|bytes| take(free, bytes)).map_err(words)? {
            self.incoming.push(message);
        }
        Ok(self.incoming.len() > before)
    }

    /// The messages that have arrived since the last call.
    pub fn arrived(&mut self, into: &mut Vec<Head>) -> Result<(), String> {
        let mut at = 0;
        while at < self.incoming.len() {
            let Some((memory, bytes)) = self.incoming[at].test().map_err(words)? else {
                at += 1;
                continue;
            };
            // In order, as messages of one process follow each other.
            self.incoming.remove(at);
            let head = Head::read(&memory[..bytes.min(memory.len())]).ok_or("a message that is not of this program")?;
            self.keep(memory);
            if head.is_of_program() {
                let from = self.received.get_mut(head.from as usize);
                *from.ok_or("a message from an unknown process")? += 1;
            }
            into.push(head);
        }
        Ok(())
    }

    /// The tokens of messages that have left since the last call, of which the program is told; whether any has left.
    pub fn left(&mut self, into: &mut Vec<u64>) -> Result<bool, String> {
        let before = self.outgoing.len();
        let mut at = 0;
        while at < self.outgoing.len() {
            let Some((memory, _)) = self.outgoing[at].message.test().map_err(words)? else {
                at += 1;
                continue;
            };
            into.extend(self.outgoing.remove(at).left);
            self.keep(memory);
        }
        Ok(self.outgoing.len() < before)
    }

    /// Whether nothing is under way as far as this process knows, when it expects this number of messages from each.
    pub fn is_quiet(&self, expected: &[u64]) -> bool {
        self.outgoing.is_empty() && self.incoming.is_empty() && self.received == expected
    }

    /// This process.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// The rank of every process.
    pub fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    /// How many processes there are.
    pub fn processes(&self) -> u32 {
        self.ranks.len() as u32
    }
}

fn take(free: &mut Vec<Vec<u8>>, bytes: usize) -> Vec<u8> {
    let fits = free.iter().enumerate().filter(|(_, memory)| memory.len() >= bytes);
    match fits.min_by_key(|(_, memory)| memory.len()).map(|(at, _)| at) {
        Some(at) => free.swap_remove(at),
        None => vec![0; bytes],
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn heads_are_read_as_they_were_written() {
        for kind in KINDS {
            let head = Head { kind, from: 70_000, token: u64::MAX - 1, bytes: 5, time: 1 << 60 };
            let mut bytes = [0; HEADER];
            head.write(&mut bytes);
            assert_eq!(Head::read(&bytes), Some(head));
            assert_eq!(Head::read(&bytes[..HEADER - 1]), None);
        }
        assert_eq!(Head::read(&[0xff; HEADER]), None);
    }

    #[test]
    fn nothing_is_received_before_it_was_sent() {
        let head = Head { kind: Kind::Data, from: 0, token: 0, bytes: 1, time: 500 };
        assert_eq!(head.delivery(Time::picoseconds(400)).sent, Time::picoseconds(400));
        assert_eq!(head.delivery(Time::picoseconds(600)).sent, Time::picoseconds(500));
    }

    #[test]
    fn memory_is_used_again() {
        let mut free = vec![vec![0; 100], vec![0; 40]];
        assert_eq!(take(&mut free, 32).len(), 40);
        assert_eq!(take(&mut free, 200).len(), 200);
        assert_eq!(take(&mut free, 1).len(), 100);
        assert!(free.is_empty());
    }
}
