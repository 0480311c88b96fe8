//! Slots for packets, messages and actions, referred to by number.

use bincode::{Decode, Encode};

/// No packet.
pub(crate) const NONE: u32 = u32::MAX;

/// Items by number, with numbers that are used again.
#[derive(Debug, Encode, Decode)]
pub(crate) struct Store<T> {
    all: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Store { all: Vec::new(), free: Vec::new() }
    }
}

impl<T> Store<T> {
    pub(crate) fn add(&mut self, thing: T) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.all[at as usize] = thing;
                at
            }
            None => {
                self.all.push(thing);
                self.all.len() as u32 - 1
            }
        }
    }

    /// The number may be used again; what it stood for is still there until then.
    #[inline]
    pub(crate) fn remove(&mut self, at: u32) {
        self.free.push(at);
    }

    #[inline]
    pub(crate) fn get(&self, at: u32) -> &T {
        &self.all[at as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: u32) -> &mut T {
        &mut self.all[at as usize]
    }

    /// The slot of an item, used or not, for [`crate::engine::prefetch::prefetch`].
    #[inline]
    pub(crate) fn peek(&self, at: u32) -> Option<&T> {
        self.all.get(at as usize)
    }

    /// Whether the numbers that are free are numbers of slots, each given once: what was read from a file may be anything.
    pub(crate) fn is_sound(&self) -> bool {
        let mut seen = vec![false; self.all.len()];
        self.free.iter().all(|&at| seen.get_mut(at as usize).is_some_and(|seen| !std::mem::replace(seen, true)))
    }

    pub(crate) fn in_use(&self) -> usize {
        self.all.len() - self.free.len()
    }
}
