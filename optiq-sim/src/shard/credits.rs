//! Credits: what a router knows of the room in the buffers behind its channels.
//!
//! They are no events (decision 020). What comes back waits, with its time, at the virtual channel that it is for, and is
//! counted when somebody asks.

use super::{Remote, Shard};
use crate::time::{NEVER, Time};
use bincode::{Decode, Encode};

/// A virtual channel at its beginning: the credits. Four of them are in a cache line, as routers that choose look at many.
#[derive(Clone, Copy, Debug, Encode, Decode)]
#[repr(align(16))]
pub(super) struct Credits {
    /// When the first ones that are on their way back will be there; never if there are none.
    at: Time,
    now: u32,
    /// The first ones on their way back, and [`WANTED`] and [`MORE`].
    returning: u32,
}

/// The channel has waited for credits: those that come back may make it wake up.
const WANTED: u32 = 1 << 31;
/// There are more behind the first ones.
pub(super) const MORE: u32 = 1 << 30;

impl Credits {
    pub(super) fn new(now: u32) -> Self {
        Self { at: NEVER, now, returning: 0 }
    }

    /// A packet goes.
    pub(super) fn spend(&mut self, bytes: u32) {
        self.now -= bytes;
    }

    fn first(&self) -> u32 {
        self.returning & !(WANTED | MORE)
    }

    fn set_first(&mut self, at: Time, bytes: u32) {
        self.at = at;
        self.returning = self.returning & (WANTED | MORE) | bytes;
    }
}

impl Shard<'_> {
    /// When a virtual channel has credits for so many bytes, and how many it has now.
    pub(super) fn credits(&mut self, vc: u32, bytes: u32) -> (Time, u32) {
        let now = self.free(vc);
        if now >= bytes {
            return (self.now, now);
        }
        // More may come, and sooner than what is known of: the other end frees its buffer in no order of time.
        let credits = &mut self.credits[vc as usize];
        credits.returning |= WANTED;
        let mut then = now + credits.first();
        if then >= bytes {
            return (credits.at, now);
        }
        if credits.returning & MORE != 0 {
            for &(time, more) in self.returns[vc as usize].iter() {
                then += more;
                if then >= bytes {
                    return (time, now);
                }
            }
        }
        (NEVER, now)
    }

    /// The credits that a virtual channel has now; unlike [`Shard::credits`], nobody waits for more.
    #[inline]
    pub(crate) fn free(&mut self, vc: u32) -> u32 {
        let credits = &self.credits[vc as usize];
        if credits.at > self.now { credits.now } else { self.collect(vc) }
    }

    /// Takes the credits that are back.
    #[inline(never)]
    fn collect(&mut self, vc: u32) -> u32 {
        let credits = &mut self.credits[vc as usize];
        while credits.at <= self.now {
            credits.now += credits.first();
            if credits.returning & MORE == 0 {
                credits.set_first(NEVER, 0);
                break;
            }
            let returns = &mut self.returns[vc as usize];
            let (at, bytes) = returns.pop_front().unwrap_or((NEVER, 0));
            credits.set_first(at, bytes);
            if returns.is_empty() {
                credits.returning &= !MORE;
            }
        }
        credits.now
    }

    /// Of these, those that nobody has reserved.
    pub(crate) fn unreserved(&mut self, vc: u32) -> u32 {
        self.free(vc) - self.reserved[vc as usize]
    }

    /// Keeps credits for a packet that asks for the virtual channel, until it is sent.
    pub(crate) fn reserve(&mut self, vc: u32, bytes: u32) {
        self.reserved[vc as usize] += bytes;
    }

    /// A packet leaves a buffer: its credits come back, at a time, to the router at the beginning of the channel.
    pub(super) fn give_back(&mut self, vc: u32, time: Time, bytes: u32) {
        let channel = self.buffers[vc as usize].channel;
        if let Some(series) = &mut self.series {
            series.waits(self.fabric, vc, self.now, -i64::from(bytes));
        }
        let from = self.inputs[channel as usize].from;
        if self.owns(from) {
            self.credit(vc, time, bytes);
        } else {
            self.outboxes[usize::from(self.owner[from as usize])].push(Remote::Credit { time, vc, bytes });
        }
    }

    pub(super) fn credit(&mut self, vc: u32, time: Time, bytes: u32) {
        // What is back needs no list.
        self.free(vc);
        let credits = &mut self.credits[vc as usize];
        if credits.at == NEVER {
            credits.set_first(time, bytes);
        } else {
            let returns = &mut self.returns[vc as usize];
            credits.returning |= MORE;
            if time < credits.at {
                returns.push_front((credits.at, credits.first()));
                credits.set_first(time, bytes);
            } else {
                let at = returns.iter().rposition(|r| r.0 <= time).map_or(0, |i| i + 1);
                returns.insert(at, (time, bytes));
            }
        }
        if credits.returning & WANTED != 0 {
            let channel = self.buffers[vc as usize].channel;
            if self.outputs[channel as usize].waiting > 0 {
                self.wake(channel, time.max(self.now + 1).max(self.outputs[channel as usize].busy_until));
            }
        }
    }
}
