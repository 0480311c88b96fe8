//! A rank among those of its job.

use crate::nic::program::{Delivery, Host, Notice};
use optiq_net::random::SplitMix64;

/// What each kind of draw has a stream of its own for.
#[derive(Clone, Copy)]
pub(super) enum Stream {
    /// When operations start.
    Times,
    /// To whom messages go.
    Destinations,
    /// How ranks are paired, and other draws of the whole job.
    Job,
}

/// The stream of a rank's draws.
pub(super) fn stream(seed: u64, rank: u32, what: Stream) -> SplitMix64 {
    let base = SplitMix64::new(seed).next_u64();
    SplitMix64::new(base ^ SplitMix64::new(u64::from(rank) << 2 | what as u64).next_u64())
}

/// A rank: which processes are its job's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// The job's first process.
    pub(super) first: u32,
    /// The rank's number.
    pub(super) rank: u32,
    /// How many ranks there are.
    pub(super) ranks: u32,
}

impl Member {
    /// Sends to another rank, or to a server by its number after all ranks.
    #[track_caller]
    pub(super) fn send(&self, host: &mut Host<'_>, to: u32, bytes: u64, token: u64, notice: Notice) {
        host.send(self.first + to, bytes, token, notice);
    }

    /// The rank that a message is from.
    pub(super) fn source(&self, delivery: &Delivery) -> u32 {
        delivery.from - self.first
    }
}
