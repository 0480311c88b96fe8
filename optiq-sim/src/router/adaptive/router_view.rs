//! What a decision is about, what the router sees, and what comes out.

use std::ops::Range;

/// Marks what a packet requests: the other bits are the virtual channel in which space is reserved.
pub(crate) const RESERVED: u32 = 1 << 31;

/// Where a packet is and where it goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The router that decides.
    pub(crate) at: u32,
    /// The packet has come from its host, not from another router.
    pub(crate) first: bool,
    /// The host that it is for.
    pub(crate) dst: u32,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) channel: u32,
    pub(crate) class: u32,
    /// The virtual channel of the class in which space is to be reserved.
    pub(crate) reserve: Option<u32>,
}

impl Choice {
    #[inline]
    pub(super) fn new(channel: u32, class: u32) -> Self {
        Choice { channel, class, reserve: None }
    }
}

/// What a router sees when it decides about a packet.
pub(crate) trait RouterView {
    /// Bytes ahead of a packet that requests a class of an output: in the buffer behind it or in flight to it, and an estimate
    /// of what waits for the output.
    fn queue(&mut self, channel: u32, class: u32) -> u64;

    /// A virtual channel of a class whose buffer has unreserved space for the packet.
    fn space(&mut self, channel: u32, class: u32) -> Option<u32>;

    /// A number below `n`, each as likely.
    fn random(&mut self, n: u32) -> u32;

    /// Of several outputs one with the shortest queue, each of these as likely, and the queue.
    #[inline]
    fn least(&mut self, channels: impl Iterator<Item = u32>, class: u32) -> Option<(u32, u64)> {
        let mut shortest = Shortest::default();
        for channel in channels {
            let queue = self.queue(channel, class);
            shortest.add(channel, queue, |n| self.random(n));
        }
        shortest.found()
    }

    /// As [`RouterView::least`], of outputs that are numbered one after the other.
    #[inline]
    fn least_in(&mut self, channels: Range<u32>, class: u32) -> Option<(u32, u64)> {
        self.least(channels, class)
    }
}

/// The shortest of several queues, of several alike a random one.
#[derive(Debug)]
pub(crate) struct Shortest {
    channel: u32,
    queue: u64,
    /// How many are as short; 0 before the first.
    alike: u32,
}

impl Default for Shortest {
    fn default() -> Self {
        Self { channel: 0, queue: u64::MAX, alike: 0 }
    }
}

impl Shortest {
    /// Looks at one more; `draw` gives a number below another one.
    #[inline(always)]
    pub(crate) fn add(&mut self, channel: u32, queue: u64, draw: impl FnOnce(u32) -> u32) {
        if queue > self.queue {
            return;
        }
        self.alike = if queue < self.queue { 1 } else { self.alike + 1 };
        self.queue = queue;
        // The k-th of several alike replaces what was there with probability 1 / k.
        if self.alike == 1 || draw(self.alike) == 0 {
            self.channel = channel;
        }
    }

    /// The output and its queue; `None` if there was none.
    #[inline]
    pub(crate) fn found(self) -> Option<(u32, u64)> {
        (self.alike > 0).then_some((self.channel, self.queue))
    }
}
