//! What all ranks must know before a call: one reduction.

use super::fast_path::LargeCalls;
use super::load::News;
use super::plans::{Key, Measured};
use super::setup::Fabric;
use super::state::Session;
use crate::blocks::Blocks;
use crate::error::Error;
use optiq_lower::constants::ROW_CALLS;
use optiq_lower::forecast::{Agreed, CallClass};
use optiq_lower::trials::Side;
use optiq_transport::Rank;
use optiq_transport::mpi::{Combined, MINIMA, ReductionRecord};
use std::collections::BTreeSet;
use std::time::Instant;

/// What a rank brings to an agreement.
pub(super) struct Offer<'a> {
    /// Whether this rank's arguments are wrong.
    pub(super) failed: bool,
    /// The blocks, if they are runs of bytes.
    pub(super) blocks: Option<(&'a Blocks, &'a Blocks)>,
    /// Whether `MPI_Alltoallv` can count so far.
    pub(super) countable: bool,
    /// The priority class.
    pub(super) class: u8,
    /// Whether it is for an exchange that is started later: other ranks may wait for one that was started before, and need this rank's
    /// part in it, before they come.
    pub(super) repeated: bool,
}

/// What all ranks know after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreement {
    /// A rank whose arguments are wrong.
    pub(super) failed: Option<Rank>,
    /// All have runs of bytes.
    pub(super) servable: bool,
    /// Which demand set it is, if all have runs of bytes.
    pub(super) key: Key,
    /// `MPI_Alltoallv` can count so far on all ranks.
    pub(super) countable: bool,
    /// The least and the greatest priority class of any rank.
    pub(super) classes: (u8, u8),
    /// No host sends or receives more bytes than this.
    pub(super) host_bytes: u64,
    /// How many other hosts a host has bytes for, or gets bytes from, at most: on average over the calls since the last agreement that
    /// combined messages served; without such calls, by this one, how many a single rank has.
    pub(super) partners: u32,
    /// No message between ranks of different hosts has more bytes than this.
    pub(super) message_bytes: u64,
    /// What rank 0 has to tell about the load of links; see `load.rs`.
    pub(super) news: News,
    seconds_per_call: f64,
    misprediction: bool,
}

/// Longer than any call takes, in nanoseconds.
const UNMEASURED: i64 = i64::MAX / 2;

/// As it travels.
pub(super) fn nanos(seconds: f64) -> i64 {
    ((seconds * 1e9) as i64).min(UNMEASURED - 1)
}

/// On how many hosts other than that of `me` there are ranks with bytes, and the most bytes of one of these ranks.
fn other_hosts<H: Ord>(bytes: &[u64], me: Rank, host: impl Fn(Rank) -> H) -> (u32, u64) {
    let own = host(me);
    let with_bytes = (0..).map(Rank).zip(bytes).filter(|(_, bytes)| **bytes > 0);
    let elsewhere = with_bytes.map(|(rank, &bytes)| (host(rank), bytes)).filter(|(host, _)| *host != own);
    let (mut hosts, mut largest) = (BTreeSet::new(), 0);
    for (host, bytes) in elsewhere {
        hosts.insert(host);
        largest = largest.max(bytes);
    }
    (hosts.len() as u32, largest)
}

impl Session {
    /// Agrees with all other ranks; collective.
    pub(super) fn agree(&self, offer: &Offer<'_>) -> Result<Agreement, Error> {
        // Ranks with an argument error report -(rank + 1): the minimum names one of them.
        let status = if offer.failed { -i64::from(self.rank().0) - 1 } else { 0 };
        let ranks_here = self.fabric.as_ref().map_or(1, |f| f.placement.ranks(f.placement.host(self.rank())).len());
        let bytes = offer.blocks.map_or(0, |(send, receive)| send.total().max(receive.total()));
        let bytes = bytes.saturating_mul(ranks_here as u64).min(i64::MAX as u64) as i64;
        let now = Instant::now();
        let passed = now.duration_since(self.agreed_at.replace(now)).as_secs_f64();
        let (calls, large) = self.fast_path.take();
        let per_call = nanos(passed / (f64::from(calls) + 1.0));
        let measured = self.measured.take();
        let took = measured.as_ref().map_or(UNMEASURED, |m| nanos(m.seconds));
        let in_a_row = self.took_in_a_row(measured.as_ref()).map_or(UNMEASURED, nanos);
        let servable = i64::from(offer.blocks.is_some());
        let countable = i64::from(offer.countable);
        let news = self.news().word();
        let [by_mpi, combined] = self.combining.borrow().calls.since().map(nanos);
        let (partners, largest) = self.traffic(offer);
        let minima: [i64; MINIMA] = [
            status,
            servable,
            countable,
            -bytes,
            -per_call,
            large.word(),
            -took,
            news,
            -by_mpi,
            -combined,
            i64::from(offer.class),
            -i64::from(offer.class),
            -i64::from(partners),
            -i64::try_from(largest).unwrap_or(i64::MAX),
            -in_a_row,
        ];
        let key = offer.blocks.map_or(Key::default(), |(send, receive)| Key::share(self.rank(), 0, send, receive));
        let mut record = ReductionRecord { minima, sums: key.0 };
        if offer.repeated {
            let meanwhile = || {
                self.advance();
            };
            self.reduction.reduce_while(&self.comm, &mut record, meanwhile)?;
        } else {
            self.reduction.reduce(&self.comm, &mut record)?;
        }
        let [status, servable, countable, bytes, per_call, large, took, news, by_mpi, combined, ..] = record.minima;
        let [.., least_class, greatest_class, partners, largest, in_a_row] = record.minima;
        self.combining.borrow_mut().calls.learn([by_mpi, combined].map(|nanos| -nanos as f64 / 1e9));
        let (large, mut news) = (LargeCalls::of_word(large), News::of_word(news));
        if large != LargeCalls::None
            && let Ok(Fabric { load: Some(load), .. }) = &self.fabric
        {
            load.passed_on(None);
        }
        // If the call failed at one rank, it counts for none, or ranks would come to differ.
        if let Some(Measured { entry, side, .. }) = measured
            && -took < UNMEASURED
        {
            // Plain MPI could do without an agreement.
            let agreement = if side == Side::Plain { 0.0 } else { self.usual_agreement_seconds() };
            entry.record(side, -took as f64 / 1e9 + agreement);
            // A row in which other calls came between says nothing.
            if -in_a_row < UNMEASURED && large != LargeCalls::Mispredicted {
                entry.record_in_a_row(side, -in_a_row as f64 / 1e9);
            }
            if let Ok(fabric) = &self.fabric {
                fabric.learning.keep(&entry);
                if let Some(load) = &fabric.load {
                    news.look |= load.took(side, -took as f64 / 1e9) && !news.take_over;
                }
            }
        }
        Ok(Agreement {
            failed: (status < 0).then(|| Rank((-status - 1) as u32)),
            servable: servable == 1,
            key: Key(record.sums),
            countable: countable == 1,
            classes: (least_class as u8, -greatest_class as u8),
            host_bytes: -bytes as u64,
            partners: -partners as u32,
            message_bytes: -largest as u64,
            news,
            seconds_per_call: -per_call as f64 / 1e9,
            misprediction: large == LargeCalls::Mispredicted,
        })
    }

    /// What calls took at this rank where calls of one side follow each other ([`Trials::record_in_a_row`]), if this one ends a row.
    ///
    /// [`Trials::record_in_a_row`]: optiq_lower::trials::Trials::record_in_a_row
    fn took_in_a_row(&self, measured: Option<&Measured>) -> Option<f64> {
        let row = self.row.take();
        if let Some(signature) = row.and_then(|row| row.signature) {
            self.known_fallbacks.borrow_mut().remove(signature);
        }
        let measured = measured?;
        match measured.side {
            Side::Plain => row.filter(|row| row.left == 0).map(|row| row.seconds / (ROW_CALLS - 1) as f64),
            Side::Planned(_) => measured.entry.own_use_in_a_row(measured.whole_seconds),
        }
    }

    /// What this rank knows of [`Agreement::partners`] and [`Agreement::message_bytes`]. Whether there were combined messages since the last
    /// agreement, all ranks know alike.
    fn traffic(&self, offer: &Offer<'_>) -> (u32, u64) {
        let counted = self.combining.borrow_mut().combined.as_mut().and_then(Combined::take_partners);
        let (mut partners, mut largest) = (0, 0);
        if let (Ok(fabric), Some((send, receive))) = (&self.fabric, offer.blocks) {
            for blocks in [send, receive] {
                let found = other_hosts(&blocks.bytes, self.rank(), |rank| fabric.placement.host(rank));
                (partners, largest) = (partners.max(found.0), largest.max(found.1));
            }
        }
        (counted.unwrap_or(partners), largest)
    }

    /// The same error on all ranks if one has one; collective.
    pub(crate) fn settle<T>(&self, local: &Result<T, Error>) -> Result<(), Error> {
        self.settle_words(local, []).map(drop)
    }

    /// The same, and whether words that are not negative are the same on all ranks.
    pub(super) fn settle_words<T, const N: usize>(
        &self,
        local: &Result<T, Error>,
        words: [i64; N],
    ) -> Result<bool, Error> {
        let mut minima = [0; MINIMA];
        for (pair, word) in minima[1..].chunks_exact_mut(2).zip(words) {
            pair.copy_from_slice(&[word, -word]);
        }
        let ReductionRecord { minima, .. } = self.settled(local, ReductionRecord { minima, sums: Key::default().0 })?;
        Ok(minima[1..].chunks_exact(2).all(|pair| pair[0] == -pair[1]))
    }

    /// The same, and the key of the demand set of which every rank has a share.
    pub(super) fn settle_share<T>(&self, local: &Result<T, Error>, share: Key) -> Result<Key, Error> {
        let ReductionRecord { sums, .. } =
            self.settled(local, ReductionRecord { minima: [0; MINIMA], sums: share.0 })?;
        Ok(Key(sums))
    }

    /// The same error on all ranks if one has one, and what becomes of a record without its first minimum.
    fn settled<T>(&self, local: &Result<T, Error>, mut record: ReductionRecord) -> Result<ReductionRecord, Error> {
        record.minima[0] = if local.is_err() { -i64::from(self.rank().0) - 1 } else { 0 };
        self.reduction.reduce(&self.comm, &mut record)?;
        match record.minima[0] {
            // A rank's own error says more.
            status if status < 0 && local.is_ok() => Err(Error::ArgumentElsewhere(Rank((-status - 1) as u32))),
            _ => Ok(record),
        }
    }

    /// Tells the forecast what the call turned out to be; collective.
    ///
    /// # Errors
    /// What MPI reports where combined messages are prepared.
    pub(super) fn learn(
        &self,
        agreement: &Agreement,
        class: CallClass,
        later: bool,
        vain_seconds: f64,
    ) -> Result<(), Error> {
        let &Agreement { seconds_per_call, misprediction, .. } = agreement;
        let agreement_seconds = self.usual_agreement_seconds();
        let agreed = Agreed { class, misprediction, later, seconds_per_call, vain_seconds, agreement_seconds };
        let (skip, is_usual) = {
            let mut forecast = self.forecast.borrow_mut();
            (forecast.learn(agreed), forecast.is_unplanned())
        };
        if skip > 0 && self.forecasts && self.rank() == Rank(0) {
            log::debug!(
                "{skip} calls take the fast path to MPI before the next agreement: the last one was {class:?}, calls take \
                 {seconds_per_call:.3e} s, an agreement {agreement_seconds:.3e} s"
            );
        }
        let skip = if self.forecasts { skip } else { 0 };
        // This call as well may be served by combined messages.
        let is_one_more = self.forecasts && class == CallClass::Fallback && (skip > 0 || is_usual);
        let left = skip + u64::from(is_one_more);
        if let (Ok(fabric), CallClass::Fallback) = (&self.fabric, class) {
            self.prepare_combining(fabric, agreement, left)?;
        }
        let calls = &mut self.combining.borrow_mut().calls;
        let watched = calls.window(left);
        if watched > 0 && self.rank() == Rank(0) {
            log::debug!("{watched} of {left} calls ask who serves them ({:?}): {calls}", calls.served());
        }
        self.fast_path.allow(skip, watched.saturating_sub(left - skip));
        Ok(())
    }

    /// What an agreement takes as a rule; the same on all ranks.
    fn usual_agreement_seconds(&self) -> f64 {
        self.fabric.as_ref().map_or(0.0, |f| f.usual_agreement_seconds)
    }

    /// What an agreement takes at least, as it was calibrated: the same on all ranks.
    pub(crate) fn agreement_seconds(&self) -> f64 {
        self.fabric.as_ref().map_or(0.0, |f| f.model.agreement_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_other_hosts() {
        let found = |bytes: &[u64], me| other_hosts(bytes, Rank(me), |rank| rank.0 / 2);
        // Hosts of two ranks: bytes for the own host, for both ranks of the second one and for one of the third.
        assert_eq!(found(&[50, 50, 1, 1, 0, 9, 0, 0], 0), (2, 9));
        assert_eq!(found(&[50, 50, 1, 1, 0, 9, 0, 0], 6), (3, 50));
        assert_eq!((found(&[0; 8], 3), found(&[], 0)), ((0, 0), (0, 0)));
    }
}
