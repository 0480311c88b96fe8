//! Credits: what a router knows of the space in the buffers behind its channels.
//!
//! Credits that come back are no events (decision 020). They wait, with their time, at the virtual channel that they are for,
//! and are counted when a router asks for them.

use crate::time::Time;
use bincode::{Decode, Encode};
use std::collections::VecDeque;

/// The credits of one virtual channel, at its beginning. Four of them fit into a cache line, as routers that choose look at
/// many.
#[derive(Clone, Copy, Debug, Encode, Decode)]
#[repr(align(16))]
pub(crate) struct ChannelCredits {
    /// When the first ones that are on their way back arrive; never if there are none.
    at: Time,
    now: u32,
    /// The first ones on their way back, and [`WANTED`] and [`MORE`].
    returning: u32,
}

/// The channel has waited for credits: those that come back may make it wake up.
const WANTED: u32 = 1 << 31;
/// There are more behind the first ones.
const MORE: u32 = 1 << 30;

impl ChannelCredits {
    #[inline]
    fn first(&self) -> u32 {
        self.returning & !(WANTED | MORE)
    }

    #[inline]
    fn set_first(&mut self, at: Time, bytes: u32) {
        self.at = at;
        self.returning = self.returning & (WANTED | MORE) | bytes;
    }
}

/// The credits of all virtual channels.
#[derive(Debug)]
pub(crate) struct Credits {
    channels: Vec<ChannelCredits>,
    /// Per virtual channel: credits on their way back behind the first ones, by time.
    returns: Vec<VecDeque<(Time, u32)>>,
    /// Per virtual channel: credits that packets with a request for it hold already. Empty without adaptive routing.
    reserved: Vec<u32>,
}

/// All that changes of [`Credits`], for a checkpoint.
pub(crate) type SavedCredits = (Vec<ChannelCredits>, Vec<VecDeque<(Time, u32)>>, Vec<u32>);

impl Credits {
    /// For virtual channels with buffers of these sizes, in bytes.
    pub(crate) fn new(buffers: impl Iterator<Item = u64>, is_adaptive: bool) -> Self {
        let full = |bytes: u64| {
            let now = bytes.min(u64::from(MORE - 1)) as u32;
            ChannelCredits { at: Time::NEVER, now, returning: 0 }
        };
        let channels: Vec<ChannelCredits> = buffers.map(full).collect();
        let virtual_channels = channels.len();
        Self {
            channels,
            returns: vec![VecDeque::new(); virtual_channels],
            reserved: vec![0; if is_adaptive { virtual_channels } else { 0 }],
        }
    }

    /// The credits of a virtual channel, for [`crate::engine::prefetch::prefetch`].
    #[inline]
    pub(crate) fn place(&self, vc: usize) -> Option<&ChannelCredits> {
        self.channels.get(vc)
    }

    /// A packet of `bytes` bytes leaves.
    #[inline]
    pub(crate) fn spend(&mut self, vc: u32, bytes: u32) {
        self.channels[vc as usize].now -= bytes;
    }

    /// When a virtual channel has credits for `bytes` bytes, and how many it has now.
    #[inline]
    pub(crate) fn ready(&mut self, vc: u32, bytes: u32, time: Time) -> (Time, u32) {
        let now = self.free(vc, time);
        if now >= bytes {
            return (time, now);
        }
        // More may come, and sooner than what is known of: the other end frees its buffer in no order of time.
        let credits = &mut self.channels[vc as usize];
        credits.returning |= WANTED;
        let mut then = now + credits.first();
        if then >= bytes {
            return (credits.at, now);
        }
        if credits.returning & MORE != 0 {
            for &(at, more) in self.returns[vc as usize].iter() {
                then += more;
                if then >= bytes {
                    return (at, now);
                }
            }
        }
        (Time::NEVER, now)
    }

    /// The credits that a virtual channel has at a time; unlike [`Credits::ready`], this does not lead to a wake-up.
    #[inline]
    pub(crate) fn free(&mut self, vc: u32, time: Time) -> u32 {
        let credits = &self.channels[vc as usize];
        if credits.at > time { credits.now } else { self.collect(vc, time) }
    }

    /// Takes the credits that are back.
    #[inline(never)]
    fn collect(&mut self, vc: u32, time: Time) -> u32 {
        let credits = &mut self.channels[vc as usize];
        while credits.at <= time {
            credits.now += credits.first();
            if credits.returning & MORE == 0 {
                credits.set_first(Time::NEVER, 0);
                break;
            }
            let returns = &mut self.returns[vc as usize];
            let (at, bytes) = returns.pop_front().unwrap_or((Time::NEVER, 0));
            credits.set_first(at, bytes);
            if returns.is_empty() {
                credits.returning &= !MORE;
            }
        }
        credits.now
    }

    /// Of these, those that no packet has reserved.
    #[inline]
    pub(crate) fn unreserved(&mut self, vc: u32, time: Time) -> u32 {
        self.free(vc, time) - self.reserved[vc as usize]
    }

    /// Keeps credits for a packet that requests the virtual channel, until it is sent.
    #[inline]
    pub(crate) fn reserve(&mut self, vc: u32, bytes: u32) {
        self.reserved[vc as usize] += bytes;
    }

    /// The packet for which credits were reserved is sent.
    #[inline]
    pub(crate) fn release(&mut self, vc: u32, bytes: u32) {
        self.reserved[vc as usize] -= bytes;
    }

    /// Credits will come back at a time; whether the channel has waited for some.
    #[inline]
    pub(crate) fn come_back(&mut self, vc: u32, at: Time, bytes: u32, now: Time) -> bool {
        // Credits that are back need no list.
        self.free(vc, now);
        let credits = &mut self.channels[vc as usize];
        if credits.at == Time::NEVER {
            credits.set_first(at, bytes);
        } else {
            let returns = &mut self.returns[vc as usize];
            credits.returning |= MORE;
            if at < credits.at {
                returns.push_front((credits.at, credits.first()));
                credits.set_first(at, bytes);
            } else {
                let place = returns.iter().rposition(|r| r.0 <= at).map_or(0, |i| i + 1);
                returns.insert(place, (at, bytes));
            }
        }
        credits.returning & WANTED != 0
    }

    /// For a checkpoint.
    pub(crate) fn save(&self) -> SavedCredits {
        (self.channels.clone(), self.returns.clone(), self.reserved.clone())
    }

    /// What [`Credits::save`] has written.
    pub(crate) fn restore(&mut self, saved: SavedCredits) {
        (self.channels, self.returns, self.reserved) = saved;
    }
}
