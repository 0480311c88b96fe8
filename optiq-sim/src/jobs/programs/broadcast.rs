//! A broadcast that is repeated: from rank 0 to all, itself or by a binomial tree.
//!
//! In the tree the parent of rank `r` is `r` without its lowest bit that is set, as in MPICH. A rank confirms to its parent
//! when its children have confirmed; rank 0 starts the next broadcast when all have. Tokens say when rank 0 started, so that
//! each rank knows how long the message took to it.

use super::member::Member;
use super::pacing::{Clock, Wake};
use super::samples::Recorder;
use crate::nic::program::{Delivery, Host, Notice, Program};
use crate::time::Time;
use optiq_trace::codec;
use std::panic::Location;

/// The children of a rank, the one with the largest subtree first. Linear: all others are rank 0's.
pub(super) fn children(rank: u32, ranks: u32, tree: bool) -> Vec<u32> {
    if !tree {
        return if rank == 0 { (1..ranks).collect() } else { Vec::new() };
    }
    let bits = if rank == 0 { u32::BITS } else { rank.trailing_zeros() };
    let further = (0..bits).rev().map(|bit| u64::from(rank) + (1u64 << bit));
    further.filter(|&child| child < u64::from(ranks)).map(|child| child as u32).collect()
}

/// The parent of a rank that is not rank 0.
fn parent(rank: u32, tree: bool) -> u32 {
    if tree { rank & (rank - 1) } else { 0 }
}

/// A rank of a broadcast.
pub(super) struct Broadcast {
    pub(super) member: Member,
    pub(super) children: Vec<u32>,
    pub(super) tree: bool,
    pub(super) bytes: u64,
    pub(super) control: u64,
    pub(super) clock: Clock,
    pub(super) recorder: Recorder,
    pub(super) keep_going: bool,
    /// Broadcasts before the first that is measured.
    pub(super) skip: u64,
    /// How many broadcasts rank 0 makes; more if it keeps going.
    pub(super) operations: u64,
    /// How many have begun here.
    pub(super) begun: u64,
    /// When rank 0 started the last one.
    pub(super) started: Time,
    /// How many children have not confirmed it.
    pub(super) missing: u32,
}

impl Broadcast {
    fn begin(&mut self, host: &mut Host<'_>, started: Time) {
        if self.member.rank == 0 && self.skip > 0 && self.begun == self.skip {
            host.warm_up(false);
        }
        self.begun += 1;
        self.started = started;
        self.missing = self.children.len() as u32;
        for &child in &self.children {
            self.member.send(host, child, self.bytes, started.as_picoseconds() << 1, Notice::None);
        }
        self.confirmed(host);
    }

    /// If nothing is missing any more, it goes on.
    fn confirmed(&mut self, host: &mut Host<'_>) {
        if self.missing > 0 {
            return;
        }
        if self.member.rank > 0 {
            let to = parent(self.member.rank, self.tree);
            self.member.send(host, to, self.control, 1, Notice::None);
        } else if self.keep_going || self.begun < self.operations {
            self.clock.wait(host, self.started, Wake(0));
        }
    }
}

impl Program for Broadcast {
    fn start(&mut self, host: &mut Host<'_>) {
        self.recorder.start(host);
        if self.member.rank == 0 && self.member.ranks > 1 {
            self.clock.wait_until(host, Time::ZERO, Wake(0));
        }
    }

    fn woken(&mut self, host: &mut Host<'_>, token: u64) {
        if self.clock.woken(host, token) {
            self.begin(host, host.now());
        }
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        if delivery.token & 1 == 1 {
            self.missing -= 1;
            self.confirmed(host);
        } else {
            let started = Time::picoseconds(delivery.token >> 1);
            self.recorder.record(host, started, host.now() - started);
            self.begin(host, started);
        }
    }

    fn waits_for(&self) -> Option<String> {
        let Self { missing, .. } = self;
        (*missing > 0).then(|| format!("rank {} waits for confirmations of {missing} ranks", self.member.rank))
    }

    fn receives_in(&self) -> Option<&'static Location<'static>> {
        Some(Location::caller())
    }

    fn save(&self) -> Option<Vec<u8>> {
        let Self { begun, started, missing, .. } = self;
        Some(codec::encode(&(self.clock.save(), self.recorder.save(), begun, started, missing)))
    }

    fn restore(&mut self, _: u32, state: &[u8]) -> Result<(), String> {
        let (clock, recorder, begun, started, missing) = codec::decode(state)?;
        if missing as usize > self.children.len() {
            return Err("a broadcast of other ranks".into());
        }
        self.clock.restore(clock);
        self.recorder.restore(recorder)?;
        (self.begun, self.started, self.missing) = (begun, started, missing);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_span_all_ranks() {
        assert_eq!(children(0, 6, true), [4, 2, 1]);
        assert_eq!(children(4, 6, true), [5]);
        assert_eq!(children(0, 4, false), [1, 2, 3]);
        for ranks in [1, 2, 7, 64, 100] {
            for tree in [false, true] {
                let mut reached = vec![0];
                for rank in 0..ranks {
                    for child in children(rank, ranks, tree) {
                        assert_eq!(parent(child, tree), rank);
                        reached.push(child);
                    }
                }
                reached.sort_unstable();
                assert_eq!(reached, (0..ranks).collect::<Vec<_>>());
            }
        }
    }
}
