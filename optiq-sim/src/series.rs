//! What links carry and what waits in their buffers, over time.
//!
//! Nobody knows beforehand how long a simulation takes. So intervals begin with a microsecond, and whenever there are too
//! many of them, pairs become one: in the end there are between half as many and as many as there may be, whatever the
//! run took. The width follows from the time alone, so it is the same on any number of threads.

use crate::checkpoint;
use crate::fabric::Fabric;
use crate::time::{SECOND, Time};
use bincode::{Decode, Encode};
use optiq_net::LinkId;

/// The most intervals of a small network; the cells of all channels are limited, too.
const MOST: usize = 256;
const CELLS: usize = 1 << 23;

/// Of all links, over time; see [`crate::RunOptions::series`].
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The width of an interval.
    pub interval: Time,
    /// Per interval, per link: bytes that were put on it, headers included; packets count where they begin.
    pub bytes: Vec<Vec<u64>>,
    /// Per interval, per link: bytes that waited in the buffers at its end, on average over the interval.
    pub waiting_bytes: Vec<Vec<u64>>,
    /// Per link: the most bytes that ever waited there.
    pub waiting_most: Vec<u64>,
}

/// What one shard sees of it.
#[derive(Clone, Debug, Decode, Encode)]
pub(crate) struct Recorder {
    interval: Time,
    most: usize,
    channels: usize,
    /// Per interval and channel: bytes, and bytes that wait times picoseconds.
    sent: Vec<u64>,
    waited: Vec<u128>,
    /// Per channel: what waits, since when, and the most.
    now: Vec<(u64, Time, u64)>,
}

impl Recorder {
    pub(crate) fn new(channels: usize) -> Self {
        let most = (CELLS / channels.max(1)).clamp(16, MOST) & !1;
        let (sent, waited) = (Vec::new(), Vec::new());
        Self { interval: SECOND / 1_000_000, most, channels, sent, waited, now: vec![(0, 0, 0); channels] }
    }

    /// The interval of a time, for which there is room afterwards.
    fn at(&mut self, time: Time) -> usize {
        while time / self.interval >= self.most as Time {
            self.interval *= 2;
            halve(&mut self.sent, self.channels);
            halve(&mut self.waited, self.channels);
        }
        let at = (time / self.interval) as usize;
        let cells = (at + 1) * self.channels;
        if self.sent.len() < cells {
            self.sent.resize(cells, 0);
            self.waited.resize(cells, 0);
        }
        at
    }

    /// So many bytes are put on a channel.
    pub(crate) fn sent(&mut self, channel: u32, time: Time, bytes: u32) {
        let at = self.at(time);
        self.sent[at * self.channels + channel as usize] += u64::from(bytes);
    }

    /// So many bytes more, or less, wait in the buffers at the end of a channel.
    pub(crate) fn waits(&mut self, channel: u32, time: Time, bytes: i64) {
        let (before, since, most) = self.now[channel as usize];
        if before > 0 {
            let last = self.at(time);
            for at in (since / self.interval) as usize..=last {
                let from = since.max(at as Time * self.interval);
                let to = time.min((at as Time + 1) * self.interval);
                self.waited[at * self.channels + channel as usize] += u128::from(before) * u128::from(to - from);
            }
        }
        let now = before.saturating_add_signed(bytes);
        self.now[channel as usize] = (now, time, most.max(now));
    }

    /// All shards' together, at the end.
    pub(crate) fn merge(mut all: Vec<Recorder>, fabric: &Fabric, links: usize, end: Time) -> Option<Series> {
        for recorder in &mut all {
            for channel in 0..recorder.channels as u32 {
                recorder.waits(channel, end, 0);
            }
        }
        // All to the same width, and the same number. A packet may begin after the end: routers with a clock grant ahead.
        let covered = |r: &Recorder| (r.sent.len() / r.channels.max(1)) as Time * r.interval;
        let last = all.iter().map(covered).max()?.saturating_sub(1).max(end);
        for recorder in &mut all {
            recorder.at(last);
        }
        let (interval, channels) = all.first().map(|r| (r.interval, r.channels))?;
        let intervals = (last / interval) as usize + 1;
        let mut bytes = vec![vec![0; links]; intervals];
        let mut waited = vec![vec![0u128; links]; intervals];
        let mut waiting_most = vec![0; links];
        for recorder in &all {
            for (channel, link) in fabric.link_of.iter().enumerate() {
                let Some(LinkId(link)) = *link else { continue };
                waiting_most[link as usize] += recorder.now[channel].2;
                for at in 0..intervals {
                    bytes[at][link as usize] += recorder.sent[at * channels + channel];
                    waited[at][link as usize] += recorder.waited[at * channels + channel];
                }
            }
        }
        // The last interval is as long as it is.
        let width = |at: usize| u128::from(interval.min(end.saturating_sub(at as Time * interval)).max(1));
        let mean = |(at, row): (usize, Vec<u128>)| row.into_iter().map(|w| (w / width(at)) as u64).collect();
        let waiting_bytes = waited.into_iter().enumerate().map(mean).collect();
        Some(Series { interval, bytes, waiting_bytes, waiting_most })
    }

    /// For a checkpoint.
    pub(crate) fn save(&self) -> Vec<u8> {
        checkpoint::encode(self)
    }
}

/// Adds up pairs of rows.
fn halve<T: Copy + Default + std::ops::Add<Output = T>>(cells: &mut Vec<T>, row: usize) {
    let rows = (cells.len() / row.max(1)).div_ceil(2);
    for to in 0..rows {
        for i in 0..row {
            let second = cells.get((2 * to + 1) * row + i).copied().unwrap_or_default();
            cells[to * row + i] = cells[2 * to * row + i] + second;
        }
    }
    cells.truncate(rows * row);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: Time = 1_000_000;

    #[test]
    fn intervals_grow_and_lose_nothing() {
        let mut recorder = Recorder::new(3);
        for i in 0..1000u64 {
            recorder.sent(1, i * MICROSECOND, 10);
        }
        assert_eq!(recorder.interval, 4 * MICROSECOND);
        let bytes: Vec<u64> = recorder.sent.chunks(3).map(|row| row[1]).collect();
        assert_eq!(bytes, vec![40; 250]);
        assert!(recorder.sent.chunks(3).all(|row| row[0] + row[2] == 0));
    }

    #[test]
    fn what_waits_is_a_mean_over_the_interval() {
        let mut recorder = Recorder::new(1);
        // 100 bytes from 0.5 to 2.25 microseconds, 50 more from 1 to 2.
        recorder.waits(0, MICROSECOND / 2, 100);
        recorder.waits(0, MICROSECOND, 50);
        recorder.waits(0, 2 * MICROSECOND, -50);
        recorder.waits(0, 9 * MICROSECOND / 4, -100);
        let means: Vec<u128> = recorder.waited.iter().map(|w| w / u128::from(MICROSECOND)).collect();
        assert_eq!((means, recorder.now[0]), (vec![50, 150, 25], (0, 9 * MICROSECOND / 4, 150)));
    }
}
