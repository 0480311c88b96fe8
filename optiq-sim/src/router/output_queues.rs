//! What waits at outputs of switches; how it gets there and on: `shard/output_queues.rs`.

use crate::engine::packet::Packet;
use crate::engine::store::{NONE, Store};
use crate::model::{Queues, RouterModel};
use crate::router::fabric::Fabric;
use bincode::{Decode, Encode};

/// Packets, linked by [`Packet::next`].
#[derive(Clone, Copy, Debug, Encode, Decode)]
pub(crate) struct List {
    pub(crate) head: u32,
    tail: u32,
}

impl List {
    const EMPTY: List = List { head: NONE, tail: NONE };

    pub(crate) fn push(&mut self, at: u32, packets: &mut Store<Packet>) {
        packets.get_mut(at).next = NONE;
        match std::mem::replace(&mut self.tail, at) {
            NONE => self.head = at,
            last => packets.get_mut(last).next = at,
        }
    }

    pub(crate) fn pop(&mut self, packets: &Store<Packet>) {
        self.head = packets.get(self.head).next;
        if self.head == NONE {
            self.tail = NONE;
        }
    }

    fn packets<'p>(&self, packets: &'p Store<Packet>) -> impl Iterator<Item = &'p Packet> + use<'p> {
        let packet = move |at: u32| (at != NONE).then(|| packets.get(at));
        std::iter::successors(packet(self.head), move |last| packet(last.next))
    }

    pub(crate) fn bytes(&self, packets: &Store<Packet>) -> u32 {
        self.packets(packets).map(|packet| packet.bytes).sum()
    }
}

/// Of all outputs.
#[derive(Clone, Debug, Encode, Decode)]
pub(crate) struct OutputQueues {
    /// Per virtual channel.
    pub(crate) lines: Vec<List>,
    /// Per channel.
    pub(crate) queues: Vec<List>,
}

impl OutputQueues {
    /// If the model has such switches.
    pub(crate) fn new(fabric: &Fabric, model: &RouterModel) -> Option<Self> {
        let [lines, queues] = [fabric.channel_of_vc.len(), fabric.channels.len()].map(|n| vec![List::EMPTY; n]);
        (model.queues == Queues::Outputs).then_some(Self { lines, queues })
    }

    /// Of as many channels as another one.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        (self.lines.len(), self.queues.len()) == (other.lines.len(), other.queues.len())
    }

    /// Per channel, how many packets are in its lines.
    pub(crate) fn in_line(&self, fabric: &Fabric, packets: &Store<Packet>) -> impl Iterator<Item = u32> {
        let count = |vc: u32| self.lines[vc as usize].packets(packets).count() as u32;
        fabric.channels.iter().map(move |channel| (0..channel.vcs).map(|class| count(channel.class(class, 1))).sum())
    }
}
