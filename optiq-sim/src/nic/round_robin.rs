//! The queue of messages between a host's memory and a channel: round robin over destinations, packet by packet; messages
//! to one destination in order, as on a queue pair.

use bincode::{Decode, Encode};
use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};

/// A message that leaves its host.
#[derive(Clone, Copy, Debug, Encode, Decode)]
pub(crate) struct OutgoingMessage {
    /// In the shard's store.
    pub(crate) message: u32,
    pub(crate) dst: u32,
    pub(crate) bytes: u64,
    pub(crate) sent: u64,
    /// Tell the program, with this token, when the last byte has left.
    pub(crate) tell: Option<u64>,
}

/// Messages in order to each destination; destinations round robin.
#[derive(Clone, Debug, Default, Encode, Decode)]
pub(crate) struct DestinationRoundRobin {
    /// The first message to each destination, in the order in which they send.
    first: VecDeque<OutgoingMessage>,
    /// Per destination that has one: those behind it. Empty while there is one message only, as it is in most hosts most of
    /// the time.
    behind: BTreeMap<u32, VecDeque<OutgoingMessage>>,
}

impl DestinationRoundRobin {
    /// Adds a message behind those to its destination.
    pub(crate) fn push(&mut self, message: OutgoingMessage) {
        if self.behind.is_empty() {
            let Some(only) = self.first.front() else { return self.first.push_back(message) };
            self.behind.insert(only.dst, VecDeque::new());
        }
        match self.behind.entry(message.dst) {
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

    /// As [`DestinationRoundRobin::front`], to look at.
    #[inline]
    pub(crate) fn peek(&self) -> Option<&OutgoingMessage> {
        self.first.front()
    }

    /// A packet of the message in front has left, the last one or not.
    pub(crate) fn advance(&mut self, last: bool) {
        let Some(message) = self.first.pop_front() else { return };
        let next = match last {
            true => self.behind.get_mut(&message.dst).and_then(VecDeque::pop_front),
            false => Some(message),
        };
        match next {
            Some(next) => self.first.push_back(next),
            None => drop(self.behind.remove(&message.dst)),
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
        fn destinations_take_turns(steps in prop::collection::vec(prop::option::of((0u32..4, 1u64..4)), 0..60)) {
            let mut turns = DestinationRoundRobin::default();
            // Destinations in round robin order, each with the (number, packets left) of its messages.
            let mut model: VecDeque<(u32, VecDeque<(u32, u64)>)> = VecDeque::new();
            for (number, step) in (0..).zip(steps) {
                if let Some((dst, bytes)) = step {
                    turns.push(OutgoingMessage { message: number, dst, bytes, sent: 0, tell: None });
                    match model.iter_mut().find(|(to, _)| *to == dst) {
                        Some((_, messages)) => messages.push_back((number, bytes)),
                        None => model.push_back((dst, VecDeque::from([(number, bytes)]))),
                    }
                    continue;
                }
                let expected = model.pop_front().map(|(dst, mut messages)| {
                    messages[0].1 -= 1;
                    let (message, left) = messages[0];
                    if left == 0 {
                        messages.pop_front();
                    }
                    if !messages.is_empty() {
                        model.push_back((dst, messages));
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
