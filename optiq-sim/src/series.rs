//! What links carry and what waits in queues, over time.
//!
//! Nobody knows beforehand how long a simulation takes. So intervals begin with a microsecond, and whenever there are too
//! many of them, pairs become one: in the end there are between half as many and as many as there may be, whatever the
//! run took. The width follows from the time alone, so it is the same on any number of threads.
//!
//! All that waits at one place is known to one thread: the channels of a link end at one router, and a host's queues are in
//! its memory. So what waits at a link's end in all its buffers is known at each moment, and the most of it is no sum of what
//! was the most in each of them.

use crate::checkpoint;
use crate::fabric::Fabric;
use crate::host::Hosts;
use crate::time::{SECOND, Time};
use bincode::{Decode, Encode};
use optiq_net::{LinkId, Network, NodeId};

/// The most intervals of a small network; the cells of all links and queues are limited, too, as long as each of them has
/// [`LEAST`]. Where nothing ever waits, there are none.
const MOST: usize = 256;
const LEAST: usize = 16;
const CELLS: usize = 1 << 23;

/// What is recorded over time; see [`crate::RunOptions::series`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recording {
    /// Nothing, which costs nothing.
    #[default]
    Nothing,
    /// What links carry, and what waits at their ends.
    Links,
    /// Also what waits in each queue: [`Series::queues`].
    Queues,
}

/// Over time; see [`crate::RunOptions::series`].
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The width of an interval.
    pub interval: Time,
    /// Per interval, per link: bytes that were put on it, headers included; packets count where they begin.
    pub bytes: Vec<Vec<u64>>,
    /// Per interval, per link: bytes that waited in the buffers at its end, on average over the interval.
    pub waiting_bytes: Vec<Vec<u64>>,
    /// Per link: the most bytes that ever waited there at one time, in the buffers of all its lanes and virtual channels.
    pub waiting_most: Vec<u64>,
    /// If they were wanted, the queues in which something ever waited: by kind, then in the order of the network.
    pub queues: Option<Vec<QueueSeries>>,
}

/// Where packets and messages wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueKind {
    /// The input buffer of a virtual channel, at the end of a link's lane.
    Input,
    /// The buffer between a host's memory and its router, where hosts are joined directly.
    Injection,
    /// A host's memory: messages that may leave, and wait for their turn. What a protocol holds back is not among them.
    Memory,
}

/// One queue over time.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSeries {
    /// What it is.
    pub kind: QueueKind,
    /// Where the link begins, or the host.
    pub from: NodeId,
    /// The link that it is at the end of, or the one by which what waits at a host leaves: the queue's own, where routers
    /// choose. None where a host that is joined directly has no queues of links.
    pub link: Option<LinkId>,
    /// The link's lane; 0 for a host's queue where hosts are joined directly.
    pub lane: u32,
    /// Its number among those of the same lane, or of the same host.
    pub virtual_channel: u32,
    /// Per interval: bytes that waited, on average over it. Packets count with their headers, messages in a host's memory
    /// without.
    pub waiting_bytes: Vec<u64>,
    /// Per interval: the most bytes that waited at one time, if only for a moment.
    pub waiting_most: Vec<u64>,
}

impl QueueSeries {
    /// The most bytes that ever waited at one time.
    pub fn most(&self) -> u64 {
        self.waiting_most.iter().copied().max().unwrap_or(0)
    }
}

/// What waits at one place. As changes are many, the interval at hand is kept apart, and most changes need no more.
#[derive(Clone, Debug, Default, Decode, Encode)]
struct Level {
    /// What waits, and since when.
    now: u64,
    since: Time,
    /// The end of the interval at hand; 0 if there is none yet.
    until: Time,
    /// In it: the most bytes, and bytes that wait times picoseconds.
    highest: u64,
    sum: u128,
    /// Per interval, of those that are over and not empty.
    waited: Vec<u128>,
    most: Vec<u64>,
}

impl Level {
    /// So many bytes more, or less; intervals are long enough for that time.
    fn change(&mut self, interval: Time, time: Time, bytes: i64) {
        if time < self.until {
            self.sum += u128::from(self.now) * u128::from(time - self.since);
        } else {
            self.advance(interval, time);
        }
        self.now = self.now.saturating_add_signed(bytes);
        self.since = time;
        self.highest = self.highest.max(self.now);
    }

    /// To the interval of a time that is not in the one at hand.
    fn advance(&mut self, interval: Time, time: Time) {
        let now = u128::from(self.now);
        let at = time / interval;
        if self.until > 0 {
            self.sum += now * u128::from(self.until - self.since);
            self.keep(interval);
        }
        if self.now > 0 {
            for between in self.until / interval..at {
                self.set(between as usize, now * u128::from(interval), self.now);
            }
        }
        let begun = time - at * interval;
        self.until = time - begun + interval;
        self.sum = now * u128::from(begun);
        self.highest = if begun > 0 { self.now } else { 0 };
    }

    /// Puts the interval at hand with the others.
    fn keep(&mut self, interval: Time) {
        if self.highest > 0 {
            self.set((self.until / interval) as usize - 1, self.sum, self.highest);
        }
    }

    fn set(&mut self, at: usize, waited: u128, most: u64) {
        if self.waited.len() <= at {
            self.waited.resize(at + 1, 0);
            self.most.resize(at + 1, 0);
        }
        (self.waited[at], self.most[at]) = (waited, most);
    }

    /// Intervals are twice as long.
    fn halve(&mut self, interval: Time) {
        if self.until == 0 {
            return;
        }
        self.keep(interval);
        halve(&mut self.waited, 1, |a, b| a + b);
        halve(&mut self.most, 1, u64::max);
        let at = (self.until / interval - 1) / 2;
        self.until = (at + 1) * 2 * interval;
        self.sum = self.waited.get(at as usize).copied().unwrap_or(0);
        self.highest = self.most.get(at as usize).copied().unwrap_or(0);
    }

    /// That is all; the time is not before the last change.
    fn end(&mut self, interval: Time, time: Time) {
        self.change(interval, time, 0);
        self.keep(interval);
    }

    /// Whether anything ever waited.
    fn is_used(&self) -> bool {
        !self.most.is_empty()
    }

    /// Means over each interval of a run.
    fn means(&self, interval: Time, intervals: usize, end: Time) -> impl Iterator<Item = u64> + '_ {
        (0..intervals).map(move |at| {
            // The last interval is as long as it is.
            let width = interval.min(end.saturating_sub(at as Time * interval)).max(1);
            let waited = self.waited.get(at).copied().unwrap_or(0);
            (waited / u128::from(width)) as u64
        })
    }
}

/// What one shard sees of it.
#[derive(Clone, Debug, Decode, Encode)]
pub(crate) struct Recorder {
    interval: Time,
    /// When there would be too many intervals.
    limit: Time,
    /// Per interval and link: bytes.
    sent: Vec<u64>,
    /// Per link.
    links: Vec<Level>,
    /// Per virtual channel, and per queue of the hosts: nothing if nothing ever waited. Empty if not wanted.
    buffers: Vec<Option<Box<Level>>>,
    hosts: Vec<Option<Box<Level>>>,
}

impl Recorder {
    /// For a fabric with so many queues at its hosts.
    pub(crate) fn new(fabric: &Fabric, links: usize, host_queues: usize, what: Recording) -> Option<Self> {
        let queues = match what {
            Recording::Nothing => return None,
            Recording::Links => (0, 0),
            Recording::Queues => (fabric.channel_of_vc.len(), host_queues),
        };
        let cells = fabric.channels.len() + queues.0 + queues.1;
        let interval = SECOND / 1_000_000;
        let most = (CELLS / cells.max(1)).clamp(LEAST, MOST) & !1;
        Some(Self {
            interval,
            limit: interval * most as Time,
            sent: Vec::new(),
            links: vec![Level::default(); links],
            buffers: vec![None; queues.0],
            hosts: vec![None; queues.1],
        })
    }

    fn levels(&mut self) -> impl Iterator<Item = &mut Level> {
        let queues = self.buffers.iter_mut().chain(&mut self.hosts);
        self.links.iter_mut().chain(queues.flatten().map(|level| &mut **level))
    }

    /// Makes intervals long enough for a time.
    fn reach(&mut self, time: Time) {
        while time >= self.limit {
            let (interval, links) = (self.interval, self.links.len());
            halve(&mut self.sent, links, |a, b| a + b);
            self.levels().for_each(|level| level.halve(interval));
            (self.interval, self.limit) = (2 * interval, 2 * self.limit);
        }
    }

    /// So many bytes are put on a channel.
    pub(crate) fn sent(&mut self, fabric: &Fabric, channel: u32, time: Time, bytes: u32) {
        let Some(LinkId(link)) = fabric.link_of[channel as usize] else { return };
        self.reach(time);
        let at = (time / self.interval) as usize;
        let links = self.links.len();
        if self.sent.len() < (at + 1) * links {
            self.sent.resize((at + 1) * links, 0);
        }
        self.sent[at * links + link as usize] += u64::from(bytes);
    }

    /// So many bytes more, or less, wait in the buffer of a virtual channel.
    pub(crate) fn waits(&mut self, fabric: &Fabric, vc: u32, time: Time, bytes: i64) {
        self.reach(time);
        if let Some(link) = fabric.link_of[fabric.channel_of_vc[vc as usize] as usize] {
            self.links[link.index()].change(self.interval, time, bytes);
        }
        if let Some(buffer) = self.buffers.get_mut(vc as usize) {
            buffer.get_or_insert_default().change(self.interval, time, bytes);
        }
    }

    /// So many bytes more, or less, wait in a queue of a host.
    pub(crate) fn queued(&mut self, queue: u32, time: Time, bytes: i64) {
        if (queue as usize) < self.hosts.len() {
            self.reach(time);
            self.hosts[queue as usize].get_or_insert_default().change(self.interval, time, bytes);
        }
    }

    /// All shards' together, at the end. All hosts have the same queues, whatever shard they are in.
    pub(crate) fn merge(
        mut all: Vec<Recorder>,
        fabric: &Fabric,
        hosts: &Hosts,
        net: &Network,
        end: Time,
    ) -> Option<Series> {
        let links = net.links().len();
        // A packet may begin after the end: routers with a clock grant ahead. And a run that a limit has ended may have had
        // changes, but no events, after its last event.
        let covered = |r: &Recorder| (r.sent.len() / links.max(1)) as Time * r.interval;
        let changed = all.iter_mut().flat_map(Recorder::levels).map(|level| level.since).max()?.max(end);
        let last = all.iter().map(covered).max()?.saturating_sub(1).max(changed);
        // All to the same width.
        for recorder in &mut all {
            recorder.reach(last);
            let interval = recorder.interval;
            recorder.levels().for_each(|level| level.end(interval, changed));
        }
        let (interval, wanted) = all.first().map(|r| (r.interval, !r.buffers.is_empty()))?;
        let intervals = (last / interval) as usize + 1;
        let mut bytes = vec![vec![0; links]; intervals];
        let mut waiting_bytes = bytes.clone();
        let mut waiting_most = vec![0; links];
        for recorder in &all {
            for (at, row) in recorder.sent.chunks(links.max(1)).enumerate() {
                bytes[at].iter_mut().zip(row).for_each(|(sum, sent)| *sum += sent);
            }
            // Only one of them has seen anything wait at a link's end.
            for (link, level) in recorder.links.iter().enumerate().filter(|(_, level)| level.is_used()) {
                waiting_most[link] = level.most.iter().copied().max().unwrap_or(0);
                for (row, mean) in waiting_bytes.iter_mut().zip(level.means(interval, intervals, changed)) {
                    row[link] = mean;
                }
            }
        }
        let seen = |recorded: &dyn Fn(&Recorder) -> Option<&Level>, place: Place| -> Option<QueueSeries> {
            let level = all.iter().find_map(recorded).filter(|level| level.is_used())?;
            let waiting_bytes = level.means(interval, intervals, changed).collect();
            let mut waiting_most = level.most.clone();
            waiting_most.resize(intervals, 0);
            let Place { kind, from, link, lane, virtual_channel } = place;
            Some(QueueSeries { kind, from, link, lane, virtual_channel, waiting_bytes, waiting_most })
        };
        let mut queues = Vec::new();
        for (i, channel) in fabric.channels.iter().enumerate() {
            let (from, first) = (NodeId(channel.from), channel.first_vc);
            // Hosts that are joined directly have a queue for each link, or one for all.
            let place = |kind: QueueKind, virtual_channel: u32| {
                let own = || Some(LinkId(net.out_range(from).nth(virtual_channel as usize)?));
                let (link, lane) = match fabric.link_of[i] {
                    Some(link) => (Some(link), i as u32 - fabric.channel(link)),
                    None => (own().filter(|_| fabric.queue_per_link), 0),
                };
                Place { kind, from, link, lane, virtual_channel }
            };
            let kind = if fabric.link_of[i].is_some() { QueueKind::Input } else { QueueKind::Injection };
            queues.extend((0..channel.vcs).filter_map(|vc| {
                seen(&|r| r.buffers.get((first + vc * channel.stride) as usize)?.as_deref(), place(kind, vc))
            }));
            queues.extend(hosts.queues(i as u32).enumerate().filter_map(|(number, queue)| {
                seen(&|r| r.hosts.get(queue as usize)?.as_deref(), place(QueueKind::Memory, number as u32))
            }));
        }
        // Those of a kind stay in their order.
        queues.sort_by_key(|queue| queue.kind);
        let queues = wanted.then_some(queues);
        Some(Series { interval, bytes, waiting_bytes, waiting_most, queues })
    }

    /// For a checkpoint.
    pub(crate) fn save(&self) -> Vec<u8> {
        checkpoint::encode(self)
    }
}

/// Where a queue is, as in [`QueueSeries`].
struct Place {
    kind: QueueKind,
    from: NodeId,
    link: Option<LinkId>,
    lane: u32,
    virtual_channel: u32,
}

/// Makes one of each pair of rows.
fn halve<T: Copy + Default>(cells: &mut Vec<T>, row: usize, one: impl Fn(T, T) -> T) {
    let rows = (cells.len() / row.max(1)).div_ceil(2);
    for to in 0..rows {
        for i in 0..row {
            let second = cells.get((2 * to + 1) * row + i).copied().unwrap_or_default();
            cells[to * row + i] = one(cells[2 * to * row + i], second);
        }
    }
    cells.truncate(rows * row);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;

    const MICROSECOND: Time = 1_000_000;

    fn fabric(spec: &str) -> (Network, Fabric) {
        let (network, model) = (Network::from_spec(spec).unwrap(), Model::default());
        let fabric = Fabric::new(&network, &model, 1);
        (network, fabric)
    }

    #[test]
    fn intervals_grow_and_lose_nothing() {
        let (network, fabric) = fabric("star:2");
        let mut recorder = Recorder::new(&fabric, network.links().len(), 0, Recording::Links).unwrap();
        let links = network.links().len();
        for i in 0..1000u64 {
            recorder.sent(&fabric, 1, i * MICROSECOND, 10);
        }
        assert_eq!(recorder.interval, 4 * MICROSECOND);
        let bytes: Vec<u64> = recorder.sent.chunks(links).map(|row| row[1]).collect();
        assert_eq!(bytes, vec![40; 250]);
        assert_eq!(recorder.sent.iter().sum::<u64>(), 10_000);
    }

    #[test]
    fn what_waits_is_a_mean_over_the_interval() {
        let mut level = Level::default();
        // 100 bytes from 0.5 to 2.25 microseconds, 50 more from 1 to 2.
        for (quarter, bytes) in [(2, 100), (4, 50), (8, -50), (9, -100)] {
            level.change(MICROSECOND, quarter * MICROSECOND / 4, bytes);
        }
        let open = level.clone();
        level.end(MICROSECOND, level.since);
        assert_eq!(level.means(MICROSECOND, 4, 3 * MICROSECOND).collect::<Vec<_>>(), [50, 150, 25, 0]);
        assert_eq!((level.now, level.since, &level.most[..]), (0, 9 * MICROSECOND / 4, &[100, 150, 100][..]));
        // A run that ends with the last change has a last interval of a quarter.
        assert_eq!(level.means(MICROSECOND, 3, level.since).collect::<Vec<_>>(), [50, 150, 100]);
        // Twice as long intervals, whether it is over or goes on: 40 bytes from 2.5 to 7 microseconds.
        level.halve(MICROSECOND);
        assert_eq!(level.means(2 * MICROSECOND, 2, 4 * MICROSECOND).collect::<Vec<_>>(), [100, 12]);
        assert_eq!(level.most, [150, 100]);
        for early in [true, false] {
            let mut level = open.clone();
            for (quarter, bytes) in [(10, 40), (28, -40)] {
                if early == (bytes > 0) {
                    level.halve(MICROSECOND);
                }
                let interval = if early || bytes < 0 { 2 * MICROSECOND } else { MICROSECOND };
                level.change(interval, quarter * MICROSECOND / 4, bytes);
            }
            level.end(2 * MICROSECOND, 7 * MICROSECOND);
            // (25 + 60) / 2; 40 throughout; 40 for half of the last one, which is half as long.
            assert_eq!(level.means(2 * MICROSECOND, 4, 7 * MICROSECOND).collect::<Vec<_>>(), [100, 42, 40, 40]);
            assert_eq!(level.most, [150, 100, 40, 40]);
        }
    }

    /// Two lanes, each with 100 bytes for a microsecond, one after the other: never more than 100, but for a quarter in which
    /// both have some.
    #[test]
    fn the_most_at_a_link_is_no_sum_of_what_its_lanes_had() {
        let (network, fabric) = fabric("torus:2");
        let vc = |lane: u32| fabric.channels[(fabric.channel(LinkId(0)) + lane) as usize].first_vc;
        for (second, most) in [(4, 100), (3, 200)] {
            let mut recorder = Recorder::new(&fabric, network.links().len(), 0, Recording::Queues).unwrap();
            let mut changes = [(0, 0, 100), (4, 0, -100), (second, 1, 100), (second + 4, 1, -100)];
            changes.sort_by_key(|change| change.0);
            for (quarter, lane, bytes) in changes {
                recorder.waits(&fabric, vc(lane), quarter * MICROSECOND / 4, bytes);
            }
            recorder.levels().for_each(|level| level.end(MICROSECOND, 3 * MICROSECOND));
            assert_eq!(recorder.links[0].most.iter().max(), Some(&most));
            for lane in [0, 1] {
                let level = recorder.buffers[vc(lane) as usize].as_ref().unwrap();
                assert_eq!(level.most.iter().max(), Some(&100));
            }
        }
    }

    /// Nothing is kept for queues that nobody asked for, or in which nothing waits; many queues have fewer intervals.
    #[test]
    fn memory_is_for_queues_in_which_something_waits() {
        let (network, fabric) = fabric("torus:4x4");
        let links = network.links().len();
        assert!(Recorder::new(&fabric, links, 64, Recording::Nothing).is_none());
        let mut only = Recorder::new(&fabric, links, 64, Recording::Links).unwrap();
        only.waits(&fabric, 0, 0, 10);
        only.queued(3, 0, 10);
        assert!(only.buffers.is_empty() && only.hosts.is_empty());
        let mut all = Recorder::new(&fabric, links, CELLS / LEAST, Recording::Queues).unwrap();
        all.queued(3, 0, 10);
        all.queued(3, MICROSECOND, -10);
        assert_eq!(all.limit, LEAST as Time * MICROSECOND);
        assert_eq!((all.hosts.iter().flatten().count(), all.buffers.iter().flatten().count()), (1, 0));
    }
}
