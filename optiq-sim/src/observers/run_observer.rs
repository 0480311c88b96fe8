//! All that is recorded of one shard beside its counters: series over time, and what belongs to each job.

use super::jobs::JobRecorder;
use super::postcards::{PostcardOptions, PostcardRecorder};
use super::recorder::Recorder;
use super::series::Recording;
use crate::engine::observer::{MarkedEvent, Observer};
use crate::engine::packet::Label;
use crate::model::Model;
use crate::router::fabric::Fabric;
use crate::time::Time;
use optiq_trace::codec;

/// Observes one shard of a fabric.
pub(crate) struct RunObserver<'n> {
    fabric: &'n Fabric,
    series: Option<Recorder>,
    jobs: Option<JobRecorder>,
    postcards: Option<PostcardRecorder<'n>>,
}

impl<'n> RunObserver<'n> {
    /// What records one shard with `jobs` jobs; `None` if nothing is to be recorded. There are `host_queues` queues in hosts'
    /// memory.
    pub(crate) fn new(
        fabric: &'n Fabric,
        model: &'n Model,
        (links, host_queues, jobs): (usize, usize, usize),
        (series, postcards): (Recording, Option<PostcardOptions>),
    ) -> Option<Self> {
        let series = Recorder::new(fabric, links, host_queues, jobs, series);
        let jobs = JobRecorder::new(fabric, jobs);
        let postcards = postcards.map(|options| PostcardRecorder::new(fabric, model, options));
        let records = series.is_some() || jobs.is_some() || postcards.is_some();
        records.then_some(Self { fabric, series, jobs, postcards })
    }

    /// What it has recorded.
    pub(crate) fn into_parts(self) -> (Option<Recorder>, Option<JobRecorder>, Option<PostcardRecorder<'n>>) {
        (self.series, self.jobs, self.postcards)
    }
}

impl Observer for RunObserver<'_> {
    fn sent(&mut self, channel: u32, time: Time, bytes: u32, job: u16) {
        if let Some(jobs) = &mut self.jobs {
            jobs.sent(channel, bytes, job);
        }
        if let Some(series) = &mut self.series {
            series.sent(self.fabric, channel, time, bytes, job);
        }
    }

    fn delivered(&mut self, job: u16, time: Time, payload: u64, latency: Option<Time>) {
        if let Some(jobs) = &mut self.jobs {
            jobs.delivered(job, payload, latency);
        }
        if let Some(series) = &mut self.series {
            series.delivered(job, time, payload);
        }
    }

    fn received(&mut self, job: u16, latency: Option<Time>) {
        if let Some(jobs) = &mut self.jobs {
            jobs.received(job, latency);
        }
    }

    fn detoured(&mut self, job: u16) {
        if let Some(jobs) = &mut self.jobs {
            jobs.detoured(job);
        }
    }

    fn buffer_changed(&mut self, vc: u32, time: Time, bytes: i64) {
        if let Some(series) = &mut self.series {
            series.waits(self.fabric, vc, time, bytes);
        }
    }

    fn memory_queue_changed(&mut self, queue: u32, time: Time, bytes: i64) {
        if let Some(series) = &mut self.series {
            series.queued(queue, time, bytes);
        }
    }

    fn marks(&mut self, label: &Label) -> bool {
        self.postcards.as_ref().is_some_and(|postcards| postcards.marks(label))
    }

    fn injected(&mut self, label: &Label, channel: u32, time: Time, last: bool) -> u32 {
        self.postcards.as_mut().map_or(0, |postcards| postcards.injected(label, channel, time, last))
    }

    fn marked(&mut self, event: MarkedEvent<'_>, time: Time) {
        if let Some(postcards) = &mut self.postcards {
            postcards.marked(event, time);
        }
    }

    fn save(&self) -> Vec<u8> {
        codec::encode(&(&self.series, self.jobs.as_ref().map(JobRecorder::save)))
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let (series, jobs): (Option<Recorder>, Option<Vec<u8>>) = codec::decode(state)?;
        match (&mut self.series, series) {
            (Some(to), Some(mut from)) => {
                from.check(to)?;
                *to = from;
            }
            (None, None) => {}
            _ => return Err("it has recorded something else".into()),
        }
        match (&mut self.jobs, jobs) {
            (Some(to), Some(from)) => to.restore(&from),
            (None, None) => Ok(()),
            _ => Err("it has recorded something else".into()),
        }
    }
}
