//! What all ranks must know before a call: one reduction.

use super::plans::Side;
use super::{Session, forecast::Agreed, forecast::Class};
use crate::Error;
use crate::blocks::Blocks;
use optiq_transport::Rank;
use std::time::Instant;

/// Words of an agreement.
pub(super) const WORDS: usize = 9;

/// What a rank brings to an agreement.
pub(super) struct Offer<'a> {
    /// Whether this rank's arguments are wrong.
    pub(super) failed: bool,
    /// The blocks, if they are runs of bytes.
    pub(super) blocks: Option<(&'a Blocks, &'a Blocks)>,
    /// The number of the plan in this rank's cache, or 0.
    pub(super) cached: i64,
    /// Whether `MPI_Alltoallv` can count so far.
    pub(super) countable: bool,
}

/// What all ranks know after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreement {
    /// A rank whose arguments are wrong.
    pub(super) failed: Option<Rank>,
    /// All have runs of bytes.
    pub(super) servable: bool,
    /// The number of the plan that all have in their caches.
    pub(super) cached: Option<i64>,
    /// `MPI_Alltoallv` can count so far on all ranks.
    pub(super) countable: bool,
    /// No host sends or receives more bytes than this.
    pub(super) host_bytes: u64,
    seconds_per_call: f64,
    surprise: bool,
}

/// A call that was measured: the number of its plan, who served it, and how long it took at this rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) number: i64,
    pub(super) side: Side,
    pub(super) seconds: f64,
}

/// Longer than any call takes, in nanoseconds.
const UNMEASURED: i64 = i64::MAX / 2;

fn nanos(seconds: f64) -> i64 {
    ((seconds * 1e9) as i64).min(UNMEASURED - 1)
}

impl Session {
    /// Agrees with all other ranks; collective.
    pub(super) fn agree(&self, offer: &Offer<'_>) -> Result<Agreement, Error> {
        // Ranks with an argument error report -(rank + 1): the minimum names one of them.
        let status = if offer.failed { -i64::from(self.rank()) - 1 } else { 0 };
        let ranks_here = self.fabric.as_ref().map_or(1, |f| f.placement.ranks(f.placement.host(self.rank())).len());
        let bytes = offer.blocks.map_or(0, |(send, receive)| send.total().max(receive.total()));
        let bytes = bytes.saturating_mul(ranks_here as u64).min(i64::MAX as u64) as i64;
        let now = Instant::now();
        let passed = now.duration_since(self.agreed_at.replace(now)).as_secs_f64();
        let (calls, surprise) = self.quick.take();
        let per_call = nanos(passed / (f64::from(calls) + 1.0));
        let surprise = i64::from(surprise);
        let measured = self.measured.take();
        let took = measured.map_or(UNMEASURED, |m| nanos(m.seconds));
        let servable = i64::from(offer.blocks.is_some());
        let countable = i64::from(offer.countable);
        let mut words: [i64; WORDS] =
            [status, servable, offer.cached, -offer.cached, countable, -bytes, -per_call, -surprise, -took];
        self.comm.all_min(&mut words)?;
        let [status, servable, cached, minus_cached, countable, bytes, per_call, surprise, took] = words;
        // If the call failed at one rank, it counts for none, or ranks would come to differ.
        if let Some(Measured { number, side, .. }) = measured
            && -took < UNMEASURED
            && let Some(entry) = self.plans.borrow().look(number)
        {
            let mut trials = entry.trials.get();
            // Plain MPI could do without an agreement.
            let agreement = if side == Side::Planned { self.agreement_seconds() } else { 0.0 };
            trials.record(side, -took as f64 / 1e9 + agreement);
            entry.trials.set(trials);
        }
        Ok(Agreement {
            failed: (status < 0).then(|| (-status - 1) as Rank),
            servable: servable == 1,
            cached: (cached > 0 && cached == -minus_cached).then_some(cached),
            countable: countable == 1,
            host_bytes: -bytes as u64,
            seconds_per_call: -per_call as f64 / 1e9,
            surprise: surprise < 0,
        })
    }

    /// Tells the forecast what the call turned out to be.
    pub(super) fn learn(&self, agreement: &Agreement, class: Class, later: bool, planning_seconds: f64) {
        let &Agreement { seconds_per_call, surprise, .. } = agreement;
        let agreement_seconds = self.agreement_seconds();
        let agreed = Agreed { class, surprise, later, seconds_per_call, planning_seconds, agreement_seconds };
        let skip = self.forecast.borrow_mut().learn(agreed);
        self.quick.allow(if self.forecasts { skip } else { 0 });
    }

    /// What an agreement takes, as it was calibrated: the same on all ranks.
    pub(crate) fn agreement_seconds(&self) -> f64 {
        self.fabric.as_ref().map_or(0.0, |f| f.model.agreement_seconds)
    }
}
