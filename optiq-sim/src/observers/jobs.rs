//! What each job has sent and received, where there are several.

use crate::engine::statistics::Counters;
use crate::router::fabric::Fabric;
use crate::time::Time;
use optiq_net::LinkId;
use optiq_trace::codec;

/// What one shard knows of each job. With one job the shard's own counters say the same.
pub(crate) struct JobRecorder {
    /// Per job.
    counters: Vec<Counters>,
    /// Per channel and job.
    channel_bytes: Vec<u64>,
}

impl JobRecorder {
    /// For this number of jobs; `None` of one.
    pub(crate) fn new(fabric: &Fabric, jobs: usize) -> Option<Self> {
        (jobs > 1).then(|| Self {
            counters: (0..jobs).map(|_| Counters::new()).collect(),
            channel_bytes: vec![0; fabric.channels.len() * jobs],
        })
    }

    pub(crate) fn sent(&mut self, channel: u32, bytes: u32, job: u16) {
        let jobs = self.counters.len();
        self.channel_bytes[channel as usize * jobs + usize::from(job)] += u64::from(bytes);
    }

    pub(crate) fn delivered(&mut self, job: u16, payload: u64, latency: Option<Time>) {
        self.counters[usize::from(job)].delivered(payload, latency);
    }

    pub(crate) fn received(&mut self, job: u16, latency: Option<Time>) {
        self.counters[usize::from(job)].message(latency);
    }

    pub(crate) fn detoured(&mut self, job: u16) {
        self.counters[usize::from(job)].detours += 1;
    }

    /// What all shards know together: per job its counters, and its bytes on each of `links` links.
    pub(crate) fn merge(all: Vec<JobRecorder>, fabric: &Fabric, links: usize) -> Vec<(Counters, Vec<u64>)> {
        let jobs = all.first().map_or(0, |recorder| recorder.counters.len());
        let mut sums: Vec<_> = (0..jobs).map(|_| (Counters::new(), vec![0; links])).collect();
        for recorder in all {
            for (sum, counters) in sums.iter_mut().zip(&recorder.counters) {
                sum.0.add(counters);
            }
            for (link, row) in fabric.link_of.iter().zip(recorder.channel_bytes.chunks(jobs)) {
                let Some(LinkId(link)) = link else { continue };
                sums.iter_mut().zip(row).for_each(|(sum, bytes)| sum.1[*link as usize] += bytes);
            }
        }
        sums
    }

    /// For a checkpoint.
    pub(crate) fn save(&self) -> Vec<u8> {
        let counters: Vec<Vec<u8>> = self.counters.iter().map(Counters::save).collect();
        codec::encode(&(counters, &self.channel_bytes))
    }

    /// Goes on from what [`JobRecorder::save`] has written.
    ///
    /// # Errors
    /// A sentence, if it was not of as many jobs and channels.
    pub(crate) fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let (counters, channel_bytes): (Vec<Vec<u8>>, Vec<u64>) = codec::decode(state)?;
        if counters.len() != self.counters.len() || channel_bytes.len() != self.channel_bytes.len() {
            return Err("other jobs".into());
        }
        for (to, from) in self.counters.iter_mut().zip(&counters) {
            *to = Counters::restore(from)?;
        }
        self.channel_bytes = channel_bytes;
        Ok(())
    }
}
