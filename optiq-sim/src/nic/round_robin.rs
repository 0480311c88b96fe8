//! The queue of messages between a host's memory and a channel: round robin over queue pairs, packet by packet; messages of
//! one pair in order. There is a queue pair for each two processes that talk to each other, so that a process does not wait
//! behind what another one on its host has for the same destination. Pairs of a higher priority class come before all pairs of lower ones
//! (thesis 7.2.3), and take turns among themselves.

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
    /// The first message of each pair, in the order in which they send: classes descend.
    first: VecDeque<OutgoingMessage>,
    /// Per pair that has one: those behind it. Empty while there is one message only, as it is in most hosts most of
    /// the time.
    behind: BTreeMap<Pair, VecDeque<OutgoingMessage>>,
}

impl PairRoundRobin {
    /// Adds a message behind those of its pair; `class_of` has the priority class of what a process sends, always the same.
    pub(crate) fn push(&mut self, message: OutgoingMessage, class_of: impl Fn(u32) -> u8) {
        if self.behind.is_empty() {
            let Some(only) = self.first.front() else { return self.first.push_back(message) };
            self.behind.insert(only.pair(), VecDeque::new());
        }
        match self.behind.entry(message.pair()) {
            Entry::Occupied(mut list) => list.get_mut().push_back(message),
            Entry::Vacant(place) => {
                place.insert(VecDeque::new());
                self.line_up(message, class_of);
            }
        }
    }

    /// Puts the first message of a pair behind those of its class.
    fn line_up(&mut self, message: OutgoingMessage, class_of: impl Fn(u32) -> u8) {
        let class = class_of(message.src);
        // Nearly always all are of one class.
        let after = self.first.iter().rev().take_while(|other| class_of(other.src) < class).count();
        if after == 0 {
            self.first.push_back(message);
        } else {
            self.first.insert(self.first.len() - after, message);
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
    pub(crate) fn advance(&mut self, last: bool, class_of: impl Fn(u32) -> u8) {
        let Some(message) = self.first.pop_front() else { return };
        let next = match last {
            true => self.behind.get_mut(&message.pair()).and_then(VecDeque::pop_front),
            false => Some(message),
        };
        match next {
            Some(next) => self.line_up(next, class_of),
            None => drop(self.behind.remove(&message.pair())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a model of the sentences at the top of the file; messages of source 1 are urgent where `urgent` says so.
        #[test]
        fn pairs_take_turns(steps in prop::collection::vec(prop::option::of(((0u32..2, 0u32..3), 1u64..4)), 0..60), urgent in 0u8..2) {
            let class = |src: u32| if src == 1 { urgent } else { 0 };
            let mut turns = PairRoundRobin::default();
            // Pairs in round robin order, each with the (number, packets left) of its messages.
            let mut model: VecDeque<(Pair, VecDeque<(u32, u64)>)> = VecDeque::new();
            for (number, step) in (0..).zip(steps) {
                if let Some(((src, dst), bytes)) = step {
                    turns.push(OutgoingMessage { message: number, src, dst, tell: false, bytes, sent: 0 }, class);
                    match model.iter_mut().find(|(pair, _)| *pair == (src, dst)) {
                        Some((_, messages)) => messages.push_back((number, bytes)),
                        None => model.push_back(((src, dst), VecDeque::from([(number, bytes)]))),
                    }
                    continue;
                }
                let most = model.iter().map(|(pair, _)| class(pair.0)).max();
                let at = model.iter().position(|(pair, _)| Some(class(pair.0)) == most);
                let expected = at.and_then(|at| model.remove(at)).map(|(pair, mut messages)| {
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
                    turns.advance(last, class);
                }
            }
        }
    }
}
