//! What programs measure: each rank's samples, exactly, and when it had all of them.
//!
//! What a sample is depends on the program. Of messages (`open`, `pairs`, `uniform`, `tornado`, `incast`, `broadcast`; `stencil` with
//! `interval=`) it is the time from the order to send until the receiver's program has the message. Of operations of several
//! messages (`stencil`, `alltoall`, `alltoallv`, `samplesort`, `goal`, `steps`, `compression`) it is the time from a rank's start until this rank is
//! done. Of requests it is the time from a client's start until the last server has confirmed, or the last byte is there.
//! Of `impact` it is half of a round trip, and the rank that begins has it.
//! In a closed loop of messages the sender has the sample; in an open loop, and of broadcasts, the receiver.

use crate::error::SimError;
use crate::nic::program::Host;
use crate::time::Time;
use bincode::{Decode, Encode};
use parking_lot::Mutex;
use std::sync::Arc;

/// The most samples of a job, which are 256 MiB.
pub const MAX_JOB_SAMPLES: u64 = 1 << 24;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Sample {
    /// When it started.
    pub start: Time,
    /// How long it took.
    pub duration: Time,
}

/// What a rank has measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct RankSamples {
    /// In the order in which they were completed.
    pub samples: Vec<Sample>,
    /// When it had all of its samples; at its start if it measures nothing. `None` so far.
    pub complete: Option<Time>,
}

/// What a job measures; to be looked at when the simulation is over. A copy is of the same measurements.
#[derive(Clone, Debug)]
pub struct JobReport {
    ranks: Arc<Vec<Mutex<RankSamples>>>,
    failure: Arc<Mutex<Option<String>>>,
}

impl JobReport {
    /// Of a number of processes with a number of samples each, on average.
    ///
    /// # Errors
    /// [`SimError::Workload`] if these are more than [`MAX_JOB_SAMPLES`].
    pub(super) fn new(name: &str, processes: u32, samples: u64) -> Result<Self, SimError> {
        let all = u64::from(processes).saturating_mul(samples);
        if all > MAX_JOB_SAMPLES {
            let text = format!("{name}: {processes} ranks with {samples} samples each are {all} samples");
            return Err(SimError::Workload(format!("{text}; at most {MAX_JOB_SAMPLES} are expected")));
        }
        let ranks = (0..processes).map(|_| Mutex::default()).collect();
        Ok(Self { ranks: Arc::new(ranks), failure: Arc::default() })
    }

    /// How many processes there are, servers included.
    pub fn processes(&self) -> usize {
        self.ranks.len()
    }

    /// What a rank has measured so far; nothing of a process that the job does not have.
    pub fn rank(&self, rank: u32) -> RankSamples {
        self.ranks.get(rank as usize).map(|samples| samples.lock().clone()).unwrap_or_default()
    }

    /// How many samples there are so far.
    pub fn samples(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.lock().samples.len() as u64).sum()
    }

    /// The durations of all samples, in the order of ranks.
    pub fn durations(&self) -> Vec<Time> {
        let mut all = Vec::new();
        for rank in self.ranks.iter() {
            all.extend(rank.lock().samples.iter().map(|sample| sample.duration));
        }
        all
    }

    /// When the last rank had all of its samples; `None` if one has not.
    pub fn complete(&self) -> Option<Time> {
        self.ranks.iter().map(|rank| rank.lock().complete).max_by_key(|time| time.unwrap_or(Time::NEVER)).flatten()
    }

    /// From the first start of a sample to the last completion: what a job of a fixed number of operations took; zero
    /// without samples.
    pub fn makespan(&self) -> Time {
        let (mut first, mut last) = (Time::NEVER, Time::ZERO);
        for rank in self.ranks.iter() {
            for sample in &rank.lock().samples {
                first = first.min(sample.start);
                last = last.max(sample.start + sample.duration);
            }
        }
        last.saturating_sub(first)
    }

    /// The first thing that went wrong in a program, if something did. It says more than the deadlock that follows.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    pub(super) fn fail(&self, problem: String) {
        self.failure.lock().get_or_insert(problem);
    }

    pub(super) fn recorder(&self, rank: u32, skip: u64, wanted: u64) -> Recorder {
        Recorder { report: self.clone(), rank, skip, wanted, seen: 0 }
    }
}

/// What a program records with.
pub(super) struct Recorder {
    report: JobReport,
    rank: u32,
    /// Operations before the first sample.
    skip: u64,
    wanted: u64,
    /// Operations so far, none counted after the last sample.
    seen: u64,
}

impl Recorder {
    /// The program starts: without samples to come it has all.
    pub(super) fn start(&self, host: &mut Host<'_>) {
        if self.skip > 0 {
            host.warm_up(true);
        }
        if self.wanted == 0 {
            self.complete(host);
        }
    }

    /// An operation is complete.
    pub(super) fn record(&mut self, host: &mut Host<'_>, start: Time, duration: Time) {
        if self.is_complete() {
            return;
        }
        self.seen += 1;
        if self.seen == self.skip {
            host.warm_up(false);
        }
        if self.seen > self.skip && self.wanted > 0 {
            self.samples().lock().samples.push(Sample { start, duration });
        }
        if self.is_complete() {
            self.complete(host);
        }
    }

    /// Whether it has all samples.
    pub(super) fn is_complete(&self) -> bool {
        self.wanted == 0 || self.seen >= self.skip + self.wanted
    }

    fn complete(&self, host: &mut Host<'_>) {
        self.samples().lock().complete = Some(host.now());
        host.done();
    }

    fn samples(&self) -> &Mutex<RankSamples> {
        // Recorders are made for ranks of the report.
        &self.report.ranks[self.rank as usize]
    }

    pub(super) fn save(&self) -> (u64, RankSamples) {
        (self.seen, self.samples().lock().clone())
    }

    /// # Errors
    /// A sentence, if these are not measurements of this rank.
    pub(super) fn restore(&mut self, (seen, samples): (u64, RankSamples)) -> Result<(), String> {
        if seen > self.skip + self.wanted || samples.samples.len() as u64 != seen.saturating_sub(self.skip) {
            return Err("samples of another program".into());
        }
        self.seen = seen;
        *self.samples().lock() = samples;
        Ok(())
    }
}
