//! The queue of messages between a host's memory and a channel: round robin over queue pairs, packet by packet; messages of
//! one pair in order. There is a queue pair for each two processes that talk to each other, so that a process does not wait
//! behind what another one on its host has for the same destination.

use bincode::{Decode, Encode};
use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};

/// A message that leaves its host.
#[derive(Clone, Copy, Debug, Encode, Decode)]
pub(crate) struct OutgoingMessage {
    /// In the shard's store.
    pub(crate) message: u32,
    /// Processes.
    pub(crate) src: u32,
    pub(crate) dst: u32,
    /// Tell the program when the last byte has left.
    pub(crate) tell: bool,
    pub(crate) bytes: u64,
    pub(crate) sent: u64,
}

/// A queue pair: the process that sends, and the one that receives.
type Pair = (u32, u32);

impl OutgoingMessage {
    fn pair(&self) -> Pair {
        (self.src, self.dst)
    }
}

/// Messages in order on each queue pair; pairs round robin.
#[derive(Clone, Debug, Default, Encode, Decode)]
pub(crate) struct PairRoundRobin {
    /// The first message of each pair, in the order in which they send.
    first: VecDeque<OutgoingMessage>,
    /// Per pair that has one: those behind it. Empty while there is one message only, as it is in most hosts most of
    /// the time.
    behind: BTreeMap<Pair, VecDeque<OutgoingMessage>>,
}

impl PairRoundRobin {
    /// Adds a message behind those of its pair.
    pub(crate) fn push(&mut self, message: OutgoingMessage) {
        if self.behind.is_empty() {
            let Some(only) = self.first.front() else { return self.first.push_back(message) };
            self.behind.insert(only.pair(), VecDeque::new());
        }
        match self.behind.entry(message.pair()) {
            Entry::Occupied(mut list) => list.get_mut().push_back(message),
            Entry::Vacant(place) => {
                place.insert(VecDeque::new());
                self.first.push_back(message);
            }
        }
    }

    /// The message of which the next packet is.
    pub(crate) fn front(&mut self) -> Option<&mut OutgoingMessage> {
        self.first.front_mut()
    }

    /// As [`PairRoundRobin::front`], to look at.
    #[inline]
    pub(crate) fn peek(&self) -> Option<&OutgoingMessage> {
        self.first.front()
    }

    /// A packet of the message in front has left, the last one or not.
    pub(crate) fn advance(&mut self, last: bool) {
        let Some(message) = self.first.pop_front() else { return };
        let next = match last {
            true => self.behind.get_mut(&message.pair()).and_then(VecDeque::pop_front),
            false => Some(message),
        };
        match next {
            Some(next) => self.first.push_back(next),
            None => drop(self.behind.remove(&message.pair())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a model of the sentence at the top of the file.
        #[test]
        fn pairs_take_turns(steps in prop::collection::vec(prop::option::of(((0u32..2, 0u32..3), 1u64..4)), 0..60)) {
            let mut turns = PairRoundRobin::default();
            // Pairs in round robin order, each with the (number, packets left) of its messages.
            let mut model: VecDeque<(Pair, VecDeque<(u32, u64)>)> = VecDeque::new();
            for (number, step) in (0..).zip(steps) {
                if let Some(((src, dst), bytes)) = step {
                    turns.push(OutgoingMessage { message: number, src, dst, tell: false, bytes, sent: 0 });
                    match model.iter_mut().find(|(pair, _)| *pair == (src, dst)) {
                        Some((_, messages)) => messages.push_back((number, bytes)),
                        None => model.push_back(((src, dst), VecDeque::from([(number, bytes)]))),
                    }
                    continue;
                }
                let expected = model.pop_front().map(|(pair, mut messages)| {
                    messages[0].1 -= 1;
                    let (message, left) = messages[0];
                    if left == 0 {
                        messages.pop_front();
                    }
                    if !messages.is_empty() {
                        model.push_back((pair, messages));
                    }
                    (message, left == 0)
                });
                let found = turns.front().map(|message| {
                    message.sent += 1;
                    (message.message, message.sent == message.bytes)
                });
                prop_assert_eq!(found, expected);
                if let Some((_, last)) = found {
                    turns.advance(last);
                }
            }
        }
    }
}
