//! Records what links carry and what waits in queues, over time.
//!
//! How long a simulation takes is not known beforehand. So intervals begin with a microsecond, and whenever there are too many
//! of them, pairs become one: in the end there are between half of the most that there may be and that number. The width
//! follows from the time alone, so it is the same on any number of threads.
//!
//! All that waits at one place is known to one thread: the channels of a link end at one router, and a host's queues are in
//! its memory. So what waits at a link's end in all its buffers is known at each moment; the maximum of that sum is not the
//! sum of the buffers' maxima.

use super::level::{Level, halve};
use super::series::{JobSeries, QueueKind, QueueSeries, Recording, Series};
use crate::constants::{LEAST_INTERVALS, MOST_CELLS, MOST_INTERVALS};
use crate::nic::hosts::MemoryQueues;
use crate::router::fabric::Fabric;
use crate::time::Time;
use bincode::{Decode, Encode};
use optiq_net::{LinkId, Network, NodeId};

/// What one shard records.
#[derive(Clone, Debug, Decode, Encode)]
pub(crate) struct Recorder {
    interval: Time,
    /// When there would be too many intervals.
    limit: Time,
    jobs: usize,
    /// Per interval, link and job: bytes.
    sent: Vec<u64>,
    /// Per interval and job: bytes that arrived. Empty with one job.
    delivered: Vec<u64>,
    /// Per link.
    links: Vec<Level>,
    /// Per virtual channel, and per queue of the hosts: `None` if nothing ever waited. Empty if not wanted.
    buffers: Vec<Option<Box<Level>>>,
    hosts: Vec<Option<Box<Level>>>,
}

impl Recorder {
    /// For a fabric with `host_queues` queues at its hosts, and `jobs` jobs.
    pub(crate) fn new(fabric: &Fabric, links: usize, host_queues: usize, jobs: usize, what: Recording) -> Option<Self> {
        let queues = match what {
            Recording::Nothing => return None,
            Recording::Links => (0, 0),
            Recording::Queues => (fabric.channel_of_vc.len(), host_queues),
        };
        let cells = fabric.channels.len() * jobs + queues.0 + queues.1;
        let interval = Time::SECOND / 1_000_000;
        let most = (MOST_CELLS / cells.max(1)).clamp(LEAST_INTERVALS, MOST_INTERVALS) & !1;
        Some(Self {
            interval,
            limit: interval * most as u64,
            jobs,
            sent: Vec::new(),
            delivered: Vec::new(),
            links: vec![Level::default(); links],
            buffers: vec![None; queues.0],
            hosts: vec![None; queues.1],
        })
    }

    fn levels(&mut self) -> impl Iterator<Item = &mut Level> {
        let queues = self.buffers.iter_mut().chain(&mut self.hosts);
        self.links.iter_mut().chain(queues.flatten().map(|level| &mut **level))
    }

    /// Of one interval, in `sent`.
    fn cells(&self) -> usize {
        self.links.len() * self.jobs
    }

    /// Makes intervals long enough for a time.
    fn reach(&mut self, time: Time) {
        while time >= self.limit {
            let (interval, cells, jobs) = (self.interval, self.cells(), self.jobs);
            assert!(self.limit < Time::NEVER / 2, "a time beyond the end of time");
            halve(&mut self.sent, cells, |a, b| a + b);
            halve(&mut self.delivered, jobs, |a, b| a + b);
            self.levels().for_each(|level| level.halve(interval));
            (self.interval, self.limit) = (interval * 2, self.limit * 2);
        }
    }

    /// `bytes` bytes of a job are put on a channel.
    pub(crate) fn sent(&mut self, fabric: &Fabric, channel: u32, time: Time, bytes: u32, job: u16) {
        let Some(LinkId(link)) = fabric.link_of[channel as usize] else { return };
        self.reach(time);
        let cells = self.cells();
        let row = (time / self.interval) as usize * cells;
        if self.sent.len() < row + cells {
            self.sent.resize(row + cells, 0);
        }
        self.sent[row + link as usize * self.jobs + usize::from(job)] += u64::from(bytes);
    }

    /// `bytes` bytes of a job's programs have arrived.
    pub(crate) fn delivered(&mut self, job: u16, time: Time, bytes: u64) {
        if self.jobs > 1 {
            self.reach(time);
            let row = (time / self.interval) as usize * self.jobs;
            if self.delivered.len() < row + self.jobs {
                self.delivered.resize(row + self.jobs, 0);
            }
            self.delivered[row + usize::from(job)] += bytes;
        }
    }

    /// `bytes` bytes more, or fewer, wait in the buffer of a virtual channel.
    pub(crate) fn waits(&mut self, fabric: &Fabric, vc: u32, time: Time, bytes: i64) {
        self.reach(time);
        if let Some(link) = fabric.link_of[fabric.channel_of_vc[vc as usize] as usize] {
            self.links[link.index()].change(self.interval, time, bytes);
        }
        if let Some(buffer) = self.buffers.get_mut(vc as usize) {
            buffer.get_or_insert_default().change(self.interval, time, bytes);
        }
    }

    /// `bytes` bytes more, or fewer, wait in a queue of a host.
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
        memory_queues: &MemoryQueues,
        net: &Network,
        end: Time,
    ) -> Option<Series> {
        let links = net.links().len();
        // A packet may begin after the end: routers with a clock grant ahead. And a run that a limit has ended may have had
        // changes, but no events, after its last event.
        let covered = |r: &Recorder| r.interval * (r.sent.len() / r.cells().max(1)) as u64;
        let changed = all.iter_mut().flat_map(Recorder::levels).map(|level| level.since).max()?.max(end);
        let last = all.iter().map(covered).max()?.saturating_sub(Time::PICOSECOND).max(changed);
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
            for (at, row) in recorder.sent.chunks(recorder.cells().max(1)).enumerate() {
                let sums = row.chunks(recorder.jobs).map(|jobs| jobs.iter().sum::<u64>());
                bytes[at].iter_mut().zip(sums).for_each(|(sum, sent)| *sum += sent);
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
            queues.extend(memory_queues.of(i as u32).enumerate().filter_map(|(number, queue)| {
                seen(&|r| r.hosts.get(queue as usize)?.as_deref(), place(QueueKind::Memory, number as u32))
            }));
        }
        // Those of a kind stay in their order.
        queues.sort_by_key(|queue| queue.kind);
        let queues = wanted.then_some(queues);
        let jobs = Self::merge_jobs(&all, links, intervals);
        Some(Series { interval, bytes, waiting_bytes, waiting_most, queues, jobs })
    }
}

impl Recorder {
    /// What belongs to each job, if there are several.
    fn merge_jobs(all: &[Recorder], links: usize, intervals: usize) -> Vec<JobSeries> {
        let jobs = all.first().map_or(0, |recorder| recorder.jobs);
        let series = |job: usize| {
            let mut bytes = vec![vec![0; links]; intervals];
            let mut delivered_bytes = vec![0; intervals];
            for recorder in all {
                for (sums, row) in bytes.iter_mut().zip(recorder.sent.chunks(recorder.cells().max(1))) {
                    sums.iter_mut().zip(row.iter().skip(job).step_by(jobs)).for_each(|(sum, sent)| *sum += sent);
                }
                for (sum, row) in delivered_bytes.iter_mut().zip(recorder.delivered.chunks(jobs)) {
                    *sum += row[job];
                }
            }
            JobSeries { delivered_bytes, bytes }
        };
        if jobs > 1 { (0..jobs).map(series).collect() } else { Vec::new() }
    }

    /// Whether what was read from a checkpoint could follow from `like`, of the same places and jobs.
    ///
    /// # Errors
    /// A sentence, if it could not.
    pub(crate) fn check(&mut self, like: &Self) -> Result<(), String> {
        let sizes = |r: &Recorder| (r.links.len(), r.buffers.len(), r.hosts.len(), r.jobs);
        let of = |r: &Recorder| r.limit.as_picoseconds().checked_div(r.interval.as_picoseconds());
        if sizes(self) != sizes(like) || of(self) != of(like) {
            return Err("what it has recorded is of other links, queues or jobs".into());
        }
        let (interval, limit) = (self.interval, self.limit);
        let rows = usize::try_from(limit / interval).unwrap_or(usize::MAX);
        let fits = |cells: &[u64], row: usize| {
            cells.len() <= row.saturating_mul(rows) && cells.len().is_multiple_of(row.max(1))
        };
        let sound = fits(&self.sent, self.cells()) && fits(&self.delivered, self.jobs);
        if !sound || !self.levels().all(|level| level.is_sound(interval, limit)) {
            return Err("what it has recorded was at no time of it".into());
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;

    const MICROSECOND: Time = Time::picoseconds(1_000_000);

    fn fabric(spec: &str) -> (Network, Fabric) {
        let (network, model) = (Network::from_spec(spec).unwrap(), Model::default());
        let fabric = Fabric::new(&network, &model, 1);
        (network, fabric)
    }

    #[test]
    fn intervals_grow_and_lose_nothing() {
        let (network, fabric) = fabric("star:2");
        let mut recorder = Recorder::new(&fabric, network.links().len(), 0, 1, Recording::Links).unwrap();
        let links = network.links().len();
        for i in 0..1000u64 {
            recorder.sent(&fabric, 1, MICROSECOND * i, 10, 0);
        }
        assert_eq!(recorder.interval, MICROSECOND * 4);
        let bytes: Vec<u64> = recorder.sent.chunks(links).map(|row| row[1]).collect();
        assert_eq!(bytes, vec![40; 250]);
        assert_eq!(recorder.sent.iter().sum::<u64>(), 10_000);
    }

    /// Two lanes, each with 100 bytes for a microsecond, one after the other: never more than 100, but for a quarter in which
    /// both have some.
    #[test]
    fn the_most_at_a_link_is_no_sum_of_what_its_lanes_had() {
        let (network, fabric) = fabric("torus:2");
        let vc = |lane: u32| fabric.channels[(fabric.channel(LinkId(0)) + lane) as usize].first_vc;
        for (second, most) in [(4, 100), (3, 200)] {
            let mut recorder = Recorder::new(&fabric, network.links().len(), 0, 1, Recording::Queues).unwrap();
            let mut changes = [(0, 0, 100), (4, 0, -100), (second, 1, 100), (second + 4, 1, -100)];
            changes.sort_by_key(|change| change.0);
            for (quarter, lane, bytes) in changes {
                recorder.waits(&fabric, vc(lane), MICROSECOND * quarter / 4, bytes);
            }
            recorder.levels().for_each(|level| level.end(MICROSECOND, MICROSECOND * 3));
            assert_eq!(recorder.links[0].most.iter().max(), Some(&most));
            for lane in [0, 1] {
                let level = recorder.buffers[vc(lane) as usize].as_ref().unwrap();
                assert_eq!(level.most.iter().max(), Some(&100));
            }
        }
    }

    /// Nothing is kept for queues that are not wanted, or in which nothing waits; many queues have fewer intervals.
    #[test]
    fn memory_is_for_queues_in_which_something_waits() {
        let (network, fabric) = fabric("torus:4x4");
        let links = network.links().len();
        assert!(Recorder::new(&fabric, links, 64, 1, Recording::Nothing).is_none());
        let mut only = Recorder::new(&fabric, links, 64, 1, Recording::Links).unwrap();
        only.waits(&fabric, 0, Time::ZERO, 10);
        only.queued(3, Time::ZERO, 10);
        assert!(only.buffers.is_empty() && only.hosts.is_empty());
        let mut all = Recorder::new(&fabric, links, MOST_CELLS / LEAST_INTERVALS, 1, Recording::Queues).unwrap();
        all.queued(3, Time::ZERO, 10);
        all.queued(3, MICROSECOND, -10);
        assert_eq!(all.limit, MICROSECOND * LEAST_INTERVALS as u64);
        assert_eq!((all.hosts.iter().flatten().count(), all.buffers.iter().flatten().count()), (1, 0));
    }
}
