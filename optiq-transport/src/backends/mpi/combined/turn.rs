//! One call at one rank, as a state that is stepped.
//!
//! 1. It packs what it sends and says so; larger messages leave by themselves.
//! 2. When all ranks of the node have packed, it sends and receives the messages that it carries, each when the blocks are there.
//! 3. It copies what is for it into the receive buffer: from ranks of its node at once, from others as their blocks come.
//!
//! A rank that carries nothing and gets nothing leaves after step 1. It begins the next call when all have packed for this one.

use super::super::comm::{byte, check};
use super::super::ffi;
use super::super::requests::Requests;
use super::layout::Layout;
use super::node::{NO_TAG, Node, mark};
use super::side::{Side, Sides};
use crate::combining::{CombiningSchedule, pieces};
use crate::error::TransportError;
use optiq_trace::ids::Rank;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::atomic::Ordering::{AcqRel, Release};

/// Of messages that are sent by themselves.
const ALONE: c_int = 0;
/// The message of number `m` has the tag `m` more than this; modulo what every MPI library has, as messages between two ranks with
/// one tag keep their order.
const FIRST_TAG: c_int = 1;

/// A message that this rank carries: sends, and receives the one like it from behind.
struct Carried {
    number: usize,
    is_sent: bool,
    /// A receive has begun, or nothing is to be received.
    is_expected: bool,
    is_received: bool,
}

/// Where a message that arrives is put.
enum Arrival {
    /// A message by itself, in the receive buffer.
    Alone,
    /// The one block of a message, in its slot.
    Slot { number: usize, expected: u64 },
    /// A message with several blocks, with the sizes in front.
    Several { number: usize, buffer: Vec<u8> },
}

/// See the top of the file.
pub(super) struct Turn {
    c: Rc<Node>,
    /// What is sent between nodes in this call.
    schedule: Rc<CombiningSchedule>,
    /// Its number, from 1 on.
    call: u64,
    receive: Side,
    /// All ranks of the node have packed.
    is_packed: bool,
    /// This rank carries nothing and gets nothing from others of its node, so that it need not wait until they have packed.
    is_apart: bool,
    carried: Vec<Carried>,
    /// With the buffers that they are sent from.
    sends: Requests<Vec<u8>>,
    receives: Requests<Arrival>,
    /// Distances behind of nodes whose block was not copied yet.
    missing: Vec<u32>,
    /// Other nodes that this one has bytes for, or gets bytes from, whichever is more; counted at one rank of the node.
    partners: u32,
    /// What was found to be wrong with the sizes.
    wrong: Option<TransportError>,
}

impl Turn {
    /// Packs.
    ///
    /// # Safety
    /// As for `MPI_Alltoallv`; the turn must end before the buffers do.
    pub(super) unsafe fn begin(
        c: &Rc<Node>,
        schedule: &Rc<CombiningSchedule>,
        call: u64,
        Sides { send, receive, in_place }: Sides,
    ) -> Result<Self, TransportError> {
        let mut turn = Self {
            c: Rc::clone(c),
            schedule: Rc::clone(schedule),
            call,
            receive,
            is_packed: false,
            is_apart: c.is_no_carrier(schedule) && c.here().iter().all(|&rank| receive.bytes(rank) == 0),
            carried: Vec::new(),
            sends: Requests::default(),
            receives: Requests::default(),
            missing: Vec::new(),
            partners: 0,
            wrong: None,
        };
        // SAFETY: passed on.
        unsafe {
            if in_place {
                // What is sent by itself must leave the buffer before what arrives is put there.
                turn.send_alone_from_copies(&send)?;
                turn.receive_alone()?;
            } else {
                turn.receive_alone()?;
                turn.send_alone(&send)?;
            }
            turn.pack(&send)?;
        }
        Ok(turn)
    }

    /// # Safety
    /// As [`Turn::begin`].
    unsafe fn receive_alone(&mut self) -> Result<(), TransportError> {
        for rank in (0..self.c.comm.size()).map(Rank) {
            if self.receive.bytes(rank) > self.c.message_bytes {
                // SAFETY: a block of the receive buffer.
                let request = unsafe { self.receive.receive(rank, ALONE, &self.c.comm)? };
                self.receives.push(request, Arrival::Alone);
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`Turn::begin`].
    unsafe fn send_alone(&mut self, send: &Side) -> Result<(), TransportError> {
        let (me, ranks) = (self.c.comm.rank().0, self.c.comm.size());
        // Each rank begins with the one behind it, so that not all send to rank 0 first.
        for rank in (1..=ranks).map(|ahead| Rank((me + ahead) % ranks)) {
            if send.bytes(rank) > self.c.message_bytes {
                // SAFETY: a block of the send buffer.
                let request = unsafe { send.send(rank, ALONE, &self.c.comm)? };
                self.sends.push(request, Vec::new());
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`Turn::begin`].
    unsafe fn send_alone_from_copies(&mut self, send: &Side) -> Result<(), TransportError> {
        for rank in (0..self.c.comm.size()).map(Rank) {
            let bytes = send.bytes(rank);
            if bytes > self.c.message_bytes {
                let mut copy = vec![0; bytes as usize];
                // SAFETY: a block of the buffer, and as much room.
                unsafe { send.read(rank, bytes, copy.as_mut_ptr(), &self.c.comm)? };
                self.send_bytes(copy, rank, ALONE)?;
            }
        }
        Ok(())
    }

    /// Sends a buffer, which lives until it has left.
    fn send_bytes(&mut self, buffer: Vec<u8>, to: Rank, tag: c_int) -> Result<(), TransportError> {
        let comm = self.c.comm.raw();
        let count = c_int::try_from(buffer.len()).map_err(|_| TransportError::Unexpected {
            rank: self.c.comm.rank(),
            what: format!("a message of {} bytes, more than MPI counts", buffer.len()),
        })?;
        // SAFETY: a constant, overwritten; the buffer moves, what it holds does not, and it is dropped when the request is complete.
        let request = unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let from = buffer.as_ptr().cast();
            check(ffi::PMPI_Isend(from, count, byte(), to.0 as c_int, tag, comm, &mut request), "MPI_Isend")?;
            request
        };
        self.sends.push(request, buffer);
        Ok(())
    }

    /// Writes what this rank sends into its slice, by distance and rank, and what it expects; then tells its node.
    ///
    /// # Safety
    /// As [`Turn::begin`].
    unsafe fn pack(&mut self, send: &Side) -> Result<(), TransportError> {
        let c = Rc::clone(&self.c);
        let (layout, call, nodes) = (&c.layout, self.call, self.schedule.nodes);
        let (sizes, starts) = (layout.sizes(call, c.local), layout.starts(call, c.local));
        let (slice, expected) = (c.at(layout.slice(call, c.local)), layout.expected(call, c.local));
        let combined = |bytes: u64| if bytes > c.message_bytes { 0 } else { bytes };
        let (mut at, mut number) = (0u64, 0);
        for distance in 0..nodes {
            c.put_word(starts, distance as usize, at);
            for &rank in c.ahead(distance) {
                let bytes = combined(send.bytes(rank));
                // SAFETY: a slice has room for a message of this size to every rank.
                unsafe { send.read(rank, bytes, slice.add(at as usize), &c.comm)? };
                c.put_word(sizes, number, bytes);
                (at, number) = (at + bytes, number + 1);
            }
            let comes: u64 = c.behind(distance).iter().map(|&rank| combined(self.receive.bytes(rank))).sum();
            c.put_word(expected, distance as usize, comes);
            if comes > 0 && distance > 0 {
                self.missing.push(distance);
            }
        }
        c.put_word(starts, nodes as usize, at);
        let packed = c.counter(Layout::PACKED).fetch_add(1, AcqRel) + 1;
        if packed == c.all_packed(call) {
            c.bell().ring();
        }
        Ok(())
    }

    /// Does what can be done without waiting; whether there was anything.
    pub(super) fn step(&mut self) -> Result<bool, TransportError> {
        let mut moved = self.complete()?;
        if !self.is_packed {
            if !self.c.have_packed(self.call) {
                return Ok(moved);
            }
            self.is_packed = true;
            if self.c.local == 0 {
                self.partners = self.partners();
            }
            self.carry()?;
            self.copy_from_own_node()?;
            moved = true;
        }
        for at in 0..self.carried.len() {
            moved |= self.send_carried(at)?;
            moved |= self.expect_carried(at)?;
        }
        let waiting = self.missing.len();
        let mut missing = std::mem::take(&mut self.missing);
        let mut failed = Ok(());
        missing.retain(|&distance| {
            let there = self.c.has_come(self.call, distance, self.schedule.last_round(distance));
            if there && failed.is_ok() {
                failed = self.copy_from(distance);
            }
            !there
        });
        self.missing = missing;
        failed.map(|()| moved || self.missing.len() < waiting)
    }

    /// Whether nothing is left to do.
    pub(super) fn is_done(&self) -> bool {
        (self.is_packed || self.is_apart)
            && self.missing.is_empty()
            && self.sends.is_empty()
            && self.receives.is_empty()
            && self.carried.iter().all(|m| m.is_sent && m.is_received)
    }

    /// Whether only other ranks of the node can let it go on, which ring.
    pub(super) fn waits_for_its_node(&self) -> bool {
        let from_others = |m: &Carried| m.is_sent && !m.is_received;
        self.sends.is_empty() && self.receives.is_empty() && !self.carried.iter().any(from_others)
    }

    /// What was wrong with the sizes, if anything; the partners of the node, where they are counted.
    pub(super) fn verdict(self) -> Result<u32, TransportError> {
        self.wrong.map_or(Ok(self.partners), Err)
    }

    /// Counts other nodes with bytes for ranks of this one, and such for which ranks of this one have bytes; the larger number.
    fn partners(&self) -> u32 {
        let (c, here) = (Rc::clone(&self.c), self.c.here().len());
        let sends = |&distance: &usize| {
            let start = |local, number| c.word(c.layout.starts(self.call, local), number);
            (0..here).any(|local| start(local, distance + 1) > start(local, distance))
        };
        let receives = |&distance: &usize| self.expected_of_node(distance as u32) > 0;
        let others = 1..self.schedule.nodes as usize;
        others.clone().filter(sends).count().max(others.filter(receives).count()) as u32
    }

    /// Begins to carry: messages with one block, whose ends are known, at once.
    fn carry(&mut self) -> Result<(), TransportError> {
        let (c, here) = (Rc::clone(&self.c), self.c.here().len());
        for number in 0..self.schedule.messages.len() {
            if self.schedule.carrier(number, here) == c.local {
                self.carried.push(Carried { number, is_sent: false, is_expected: false, is_received: false });
            }
        }
        for at in 0..self.carried.len() {
            let number = self.carried[at].number;
            if self.schedule.is_straight(number) {
                self.expect_straight(at, number)?;
            }
        }
        Ok(())
    }

    /// The carrier of a message at the node this many ahead or behind, whose ranks these are.
    fn carrier(&self, number: usize, ranks: &[Rank]) -> Rank {
        ranks[self.schedule.carrier(number, ranks.len())]
    }

    fn tag(number: usize) -> c_int {
        FIRST_TAG + (number % (NO_TAG - FIRST_TAG) as usize) as c_int
    }

    /// Posts the receive of a message with one block, straight into its slot.
    fn expect_straight(&mut self, at: usize, number: usize) -> Result<(), TransportError> {
        let c = Rc::clone(&self.c);
        let ahead = self.schedule.messages[number].ahead;
        let expected = self.expected_of_node(ahead);
        self.carried[at].is_expected = true;
        if expected == 0 {
            self.carried[at].is_received = true;
            return Ok(());
        }
        let from = self.carrier(number, c.behind(ahead));
        let (slot, room) = (c.at(c.layout.slot(self.call, ahead)), c.layout.slot_bytes as c_int);
        // SAFETY: a constant, overwritten; a slot that only this rank writes, and that all ranks have left that used it in the call before
        // last.
        let request = unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let (source, tag) = (from.0 as c_int, Self::tag(number));
            let code = ffi::PMPI_Irecv(slot.cast(), room, byte(), source, tag, c.comm.raw(), &mut request);
            check(code, "MPI_Irecv")?;
            request
        };
        self.receives.push(request, Arrival::Slot { number, expected });
        Ok(())
    }

    /// What the ranks of the node expect from those of the node this many behind.
    fn expected_of_node(&self, distance: u32) -> u64 {
        let c = Rc::clone(&self.c);
        let of = |local| u64::from(c.word(c.layout.expected(self.call, local), distance as usize));
        (0..c.here().len()).map(of).sum()
    }

    /// Sends a message if its blocks are there.
    fn send_carried(&mut self, at: usize) -> Result<bool, TransportError> {
        let (c, number) = (Rc::clone(&self.c), self.carried[at].number);
        if self.carried[at].is_sent {
            return Ok(false);
        }
        let schedule = Rc::clone(&self.schedule);
        let message = &schedule.messages[number];
        let before = |&block: &u32| {
            self.schedule.round_before(number, block).is_none_or(|round| c.has_come(self.call, block, round))
        };
        if !message.blocks.iter().all(before) {
            return Ok(false);
        }
        self.carried[at].is_sent = true;
        let straight = self.schedule.is_straight(number);
        let header = if straight { 0 } else { 4 * message.blocks.len() };
        let mut buffer = vec![0; header];
        for (place, &block) in message.blocks.iter().enumerate() {
            let begin = buffer.len();
            match self.schedule.round_before(number, block) {
                None => self.append_own(block, &mut buffer),
                Some(_) => self.append_slot(block, &mut buffer),
            }
            let size = (buffer.len() - begin) as u32;
            if !straight {
                buffer[4 * place..4 * place + 4].copy_from_slice(&size.to_le_bytes());
            }
        }
        if straight && buffer.is_empty() {
            // The other end knows.
            return Ok(true);
        }
        let to = self.carrier(number, c.ahead(message.ahead));
        self.send_bytes(buffer, to, Self::tag(number))?;
        Ok(true)
    }

    /// The node's own block of a distance, out of the slices of its ranks.
    fn append_own(&self, distance: u32, buffer: &mut Vec<u8>) {
        let c = Rc::clone(&self.c);
        let (layout, call) = (&c.layout, self.call);
        let (senders, receivers) = (c.here().len(), c.ahead(distance).len());
        let first: usize = (0..distance).map(|d| c.ahead(d).len()).sum();
        let start = |local| u64::from(c.word(layout.starts(call, local), distance as usize));
        let mut next: Vec<u64> = (0..senders).map(|local| layout.slice(call, local) + start(local)).collect();
        for (receiver, sender) in pieces(senders, receivers) {
            let bytes = u64::from(c.word(layout.sizes(call, sender), first + receiver));
            if bytes > 0 {
                // SAFETY: a message in the slice of a rank that has packed.
                buffer.extend_from_slice(unsafe { std::slice::from_raw_parts(c.at(next[sender]), bytes as usize) });
                next[sender] += bytes;
            }
        }
    }

    /// A block that came before.
    fn append_slot(&self, distance: u32, buffer: &mut Vec<u8>) {
        let c = Rc::clone(&self.c);
        let bytes = c.word(c.layout.slot_size(self.call, 0), distance as usize) as usize;
        // SAFETY: a slot that was filled; only this rank writes it next.
        buffer
            .extend_from_slice(unsafe { std::slice::from_raw_parts(c.at(c.layout.slot(self.call, distance)), bytes) });
    }

    /// Looks whether a message with several blocks is there, once the slots that it fills are free.
    fn expect_carried(&mut self, at: usize) -> Result<bool, TransportError> {
        let (c, number) = (Rc::clone(&self.c), self.carried[at].number);
        if self.carried[at].is_expected || !self.carried[at].is_sent {
            return Ok(false);
        }
        let from = self.carrier(number, c.behind(self.schedule.messages[number].ahead));
        // SAFETY: out-parameters; a message that was found is received at once, into a buffer of its size, which lives until then.
        unsafe {
            let (mut found, mut message, mut status) = (0, std::mem::zeroed(), std::mem::zeroed());
            let (source, tag, comm) = (from.0 as c_int, Self::tag(number), c.comm.raw());
            check(ffi::PMPI_Improbe(source, tag, comm, &mut found, &mut message, &mut status), "MPI_Improbe")?;
            if found == 0 {
                return Ok(false);
            }
            let mut count = 0;
            check(ffi::PMPI_Get_count(&status, byte(), &mut count), "MPI_Get_count")?;
            let mut buffer = vec![0u8; count.max(0) as usize];
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let into = buffer.as_mut_ptr().cast();
            check(ffi::PMPI_Imrecv(into, count, byte(), &mut message, &mut request), "MPI_Imrecv")?;
            self.receives.push(request, Arrival::Several { number, buffer });
        }
        self.carried[at].is_expected = true;
        Ok(true)
    }

    /// What has been sent and received by now; whether there was anything.
    fn complete(&mut self) -> Result<bool, TransportError> {
        let mut moved = false;
        self.sends.test(|_, _| {
            moved = true;
            Ok(())
        })?;
        let mut arrived = Vec::new();
        self.receives.test(|status, arrival| {
            let mut count = 0;
            // SAFETY: a status that MPI has filled in.
            check(unsafe { ffi::PMPI_Get_count(status, byte(), &mut count) }, "MPI_Get_count")?;
            arrived.push((arrival, count.max(0) as u64));
            Ok(())
        })?;
        let any = !arrived.is_empty();
        let mut ring = false;
        for (arrival, count) in arrived {
            ring |= self.arrive(arrival, count);
        }
        if ring {
            self.c.bell().ring();
        }
        Ok(moved || any)
    }

    /// Something has come; whether others wait for it.
    fn arrive(&mut self, arrival: Arrival, count: u64) -> bool {
        let number = match arrival {
            Arrival::Alone => return false,
            Arrival::Slot { number, expected } => {
                let ahead = self.schedule.messages[number].ahead;
                if count != expected {
                    self.mismatch(ahead, count, expected);
                }
                self.put_block(ahead, number, count);
                number
            }
            Arrival::Several { number, buffer } => {
                self.unpack(number, &buffer);
                number
            }
        };
        if let Some(carried) = self.carried.iter_mut().find(|m| m.number == number) {
            carried.is_received = true;
        }
        // Others wait for the last one, mostly; where rounds follow, for each.
        self.schedule.rounds() > 1 || self.carried.iter().all(|m| m.is_received)
    }

    /// A slot holds a block of this many bytes.
    fn put_block(&self, distance: u32, number: usize, bytes: u64) {
        let c = Rc::clone(&self.c);
        c.put_word(c.layout.slot_size(self.call, 0), distance as usize, bytes);
        let mark = mark(self.call, self.schedule.messages[number].round);
        c.counter(c.layout.flag(distance)).store(mark, Release);
    }

    /// Puts the blocks of a message into their slots.
    fn unpack(&mut self, number: usize, buffer: &[u8]) {
        let c = Rc::clone(&self.c);
        let blocks = &self.schedule.messages[number].blocks;
        let (sizes, mut rest) = buffer.split_at((4 * blocks.len()).min(buffer.len()));
        let mut sizes = sizes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        for &block in blocks {
            let size = sizes.next().unwrap_or(0) as usize;
            let size = size.min(rest.len()).min(c.layout.slot_bytes as usize);
            let (mine, others) = rest.split_at(size);
            // SAFETY: a slot with room for as many bytes, which only this rank writes, after it has sent what was there.
            unsafe { std::ptr::copy_nonoverlapping(mine.as_ptr(), c.at(c.layout.slot(self.call, block)), size) };
            self.put_block(block, number, size as u64);
            rest = others;
        }
    }

    /// Remembers that a node sends other bytes than are expected.
    fn mismatch(&mut self, distance: u32, found: u64, expected: u64) {
        let c = Rc::clone(&self.c);
        let ranks: Vec<String> = c.behind(distance).iter().map(|r| r.0.to_string()).collect();
        let what = format!(
            "{found} bytes from ranks {} of one node in place of the {expected} that were expected: counts disagree",
            ranks.join(", ")
        );
        self.wrong.get_or_insert(TransportError::Unexpected { rank: c.comm.rank(), what });
    }

    /// Copies what ranks of the own node send.
    fn copy_from_own_node(&mut self) -> Result<(), TransportError> {
        let c = Rc::clone(&self.c);
        for (local, &rank) in c.here().iter().enumerate() {
            let sizes = c.layout.sizes(self.call, local);
            let sent = u64::from(c.word(sizes, c.local));
            let expected = self.combined(rank);
            if sent != expected {
                let what = format!("{sent} bytes from rank {rank} in place of {expected}: counts disagree");
                self.wrong.get_or_insert(TransportError::Unexpected { rank: c.comm.rank(), what });
                continue;
            }
            let before: u64 = (0..c.local).map(|number| u64::from(c.word(sizes, number))).sum();
            let from = c.at(c.layout.slice(self.call, local) + before);
            // SAFETY: a message in the slice of a rank that has packed.
            unsafe { self.receive.write(rank, expected, from, &c.comm)? };
        }
        Ok(())
    }

    /// What a rank sends to this one together with others, in bytes.
    fn combined(&self, rank: Rank) -> u64 {
        let bytes = self.receive.bytes(rank);
        if bytes > self.c.message_bytes { 0 } else { bytes }
    }

    /// Copies what the node this many behind sends, whose block has come.
    fn copy_from(&mut self, distance: u32) -> Result<(), TransportError> {
        let c = Rc::clone(&self.c);
        let found = u64::from(c.word(c.layout.slot_size(self.call, 0), distance as usize));
        let expected = self.expected_of_node(distance);
        if found != expected {
            self.mismatch(distance, found, expected);
            return Ok(());
        }
        let of = |local| u64::from(c.word(c.layout.expected(self.call, local), distance as usize));
        let mut at = c.layout.slot(self.call, distance) + (0..c.local).map(of).sum::<u64>();
        for &rank in c.behind(distance) {
            let bytes = self.combined(rank);
            // SAFETY: what came for this rank lies together, by sender; all sizes together are those of the block.
            unsafe { self.receive.write(rank, bytes, c.at(at), &c.comm)? };
            at += bytes;
        }
        Ok(())
    }
}
