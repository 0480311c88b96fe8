//! Which message goes to which receive.
//!
//! MPI's rule: of the messages from one rank that a receive could take, it takes the one that was sent first, and of the
//! receives that could take a message the one that was posted first gets it. Where every receive names its source and its
//! tag, that is: the n-th message of a source with a tag goes to the n-th receive for them, in whatever order they arrive
//! and are posted. With receives from any source or with any tag it depends on what has arrived; then messages of a source
//! with a tag are looked at in the order in which they were sent. (Those with different tags are looked at in the order
//! in which they arrive, also by receives of any tag.)

use super::schedule::OperationKind;
use bincode::{Decode, Encode};
use std::collections::BTreeMap;

/// A message, or the request of a large one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct Arrival {
    pub(super) source: u32,
    pub(super) tag: u32,
    /// Which of the messages of the source with the tag it is, from 0.
    pub(super) number: u32,
    pub(super) bytes: u64,
    /// The operation that sends it.
    pub(super) operation: u32,
    pub(super) is_request: bool,
}

/// A receive that was posted.
#[derive(Clone, Copy, Debug, Encode, Decode)]
struct Posted {
    operation: u32,
    from: Option<u32>,
    tag: Option<u32>,
}

impl Posted {
    fn takes(&self, arrival: &Arrival) -> bool {
        self.from.is_none_or(|from| from == arrival.source) && self.tag.is_none_or(|tag| tag == arrival.tag)
    }
}

/// Messages of one source with one tag.
#[derive(Debug, Default, Encode, Decode)]
struct Stream {
    /// How many receives were posted, or how many messages were looked at where any receive is for any.
    next: u32,
    receives: BTreeMap<u32, u32>,
    arrivals: BTreeMap<u32, Arrival>,
}

/// Receives and messages that have not found each other.
#[derive(Debug, Default, Encode, Decode)]
pub(super) struct Matching {
    /// Some receive is from any rank or with any tag.
    any: bool,
    streams: BTreeMap<(u32, u32), Stream>,
    /// In the order in which they were posted, or looked at; only if `any`.
    posted: Vec<Posted>,
    arrived: Vec<Arrival>,
}

impl Matching {
    /// For the receives among these operations.
    pub(super) fn new(kinds: impl Iterator<Item = OperationKind>) -> Self {
        let mut kinds = kinds;
        let any =
            kinds.any(|k| matches!(k, OperationKind::Recv { from: None, .. } | OperationKind::Recv { tag: None, .. }));
        Self { any, ..Self::default() }
    }

    /// A receive begins: its message, if that has arrived.
    pub(super) fn post(&mut self, operation: u32, from: Option<u32>, tag: Option<u32>) -> Option<Arrival> {
        if let (false, Some(from), Some(tag)) = (self.any, from, tag) {
            let stream = self.streams.entry((from, tag)).or_default();
            let number = stream.next;
            stream.next += 1;
            let arrival = stream.arrivals.remove(&number);
            if arrival.is_none() {
                stream.receives.insert(number, operation);
            }
            return arrival;
        }
        let receive = Posted { operation, from, tag };
        match self.arrived.iter().position(|a| receive.takes(a)) {
            Some(at) => Some(self.arrived.remove(at)),
            None => {
                self.posted.push(receive);
                None
            }
        }
    }

    /// A message has arrived: receives with their messages.
    pub(super) fn arrive(&mut self, arrival: Arrival, matches: &mut Vec<(u32, Arrival)>) {
        let stream = self.streams.entry((arrival.source, arrival.tag)).or_default();
        if !self.any {
            match stream.receives.remove(&arrival.number) {
                Some(operation) => matches.push((operation, arrival)),
                None => {
                    stream.arrivals.insert(arrival.number, arrival);
                }
            }
            return;
        }
        stream.arrivals.insert(arrival.number, arrival);
        while let Some(arrival) = stream.arrivals.remove(&stream.next) {
            stream.next += 1;
            match self.posted.iter().position(|p| p.takes(&arrival)) {
                Some(at) => matches.push((self.posted.remove(at).operation, arrival)),
                None => self.arrived.push(arrival),
            }
        }
    }

    /// Receives that have got nothing, in the order of their numbers.
    pub(super) fn waiting(&self) -> Vec<u32> {
        let of_streams = self.streams.values().flat_map(|s| s.receives.values().copied());
        let mut list: Vec<u32> = of_streams.chain(self.posted.iter().map(|p| p.operation)).collect();
        list.sort_unstable();
        list
    }

    /// Messages that nothing has received.
    pub(super) fn left_over(&self) -> impl Iterator<Item = &Arrival> {
        self.streams.values().flat_map(|s| s.arrivals.values()).chain(&self.arrived)
    }
}
