//! The document of `optiq bench job`: what each rank of a job has measured.

use crate::failure::Failure;
use optiq_probe::measure::noise::WakeUps;
use optiq_sim::jobs::programs::samples::{RankSamples, Sample};
use optiq_sim::time::Time;
use serde::{Deserialize, Serialize};

/// A process and its samples; the servers of io-write and io-read have none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessSamples {
    /// The host that it was on.
    pub host: String,
    /// Whether it had all of its samples.
    pub complete: bool,
    /// When each operation started, after the start of the job.
    pub start_seconds: Vec<f64>,
    /// How long it took.
    pub duration_seconds: Vec<f64>,
    /// How late it woke up while it had nothing to do.
    #[serde(default)]
    pub wake_ups: WakeUps,
}

/// What a job has measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RealJobDocument {
    /// What its ranks did.
    pub program: String,
    /// The network.
    pub topology: String,
    /// Of all draws.
    pub seed: u64,
    /// Ranks, without servers.
    pub ranks: u32,
    /// Servers.
    pub servers: u32,
    /// How many messages all processes sent, confirmations included.
    pub messages: u64,
    /// Bytes of these messages.
    pub message_bytes: u64,
    /// From the start of the job until its end was decided.
    pub seconds: f64,
    /// Of each process, ranks first.
    pub processes: Vec<ProcessSamples>,
}

impl ProcessSamples {
    /// Of one process.
    pub fn new(host: &str, samples: &RankSamples, wake_ups: WakeUps) -> Self {
        let of = |time: fn(&Sample) -> Time| samples.samples.iter().map(|sample| time(sample).seconds()).collect();
        Self {
            host: host.to_owned(),
            complete: samples.complete.is_some(),
            start_seconds: of(|sample| sample.start),
            duration_seconds: of(|sample| sample.duration),
            wake_ups,
        }
    }

    fn samples(&self) -> RankSamples {
        let pairs = self.start_seconds.iter().zip(&self.duration_seconds);
        let sample = |(&start, &took)| Sample { start: Time::from_seconds(start), duration: Time::from_seconds(took) };
        let samples: Vec<Sample> = pairs.map(sample).collect();
        let complete = self.complete.then(|| samples.last().map_or(Time::ZERO, |last| last.start + last.duration));
        RankSamples { samples, complete }
    }
}

impl RealJobDocument {
    /// Reads what `optiq bench job --json` has printed.
    ///
    /// # Errors
    /// [`Failure::Work`] if it is no such document.
    pub fn parse(text: &[u8]) -> Result<Self, Failure> {
        let why = |e: String| Failure::Work(format!("optiq bench job has printed no document: {e}"));
        let document: Self = serde_json::from_slice(text).map_err(|e| why(e.to_string()))?;
        if document.processes.len() as u64 != u64::from(document.ranks) + u64::from(document.servers) {
            return Err(why(format!("it has {} processes", document.processes.len())));
        }
        Ok(document)
    }

    /// The samples of all ranks, without servers, as the statistics of simulated jobs take them.
    pub fn ranks(&self) -> Vec<RankSamples> {
        self.processes.iter().take(self.ranks as usize).map(ProcessSamples::samples).collect()
    }

    /// Whether every rank has all of its samples.
    pub fn is_complete(&self) -> bool {
        self.processes.iter().all(|process| process.complete)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn samples_survive_the_document() {
        let ms = |n: u64| Time::picoseconds(n * 1_000_000_000);
        let samples = vec![Sample { start: ms(1), duration: ms(20) }, Sample { start: ms(30), duration: ms(7) }];
        let rank = RankSamples { samples, complete: Some(ms(37)) };
        let document = RealJobDocument {
            program: "pairs,message=1KB".into(),
            topology: "star:2".into(),
            seed: 1,
            ranks: 1,
            servers: 0,
            messages: 2,
            message_bytes: 1064,
            seconds: 0.04,
            processes: vec![ProcessSamples::new("h0", &rank, WakeUps::default())],
        };
        let text = serde_json::to_vec(&document).unwrap();
        let read = RealJobDocument::parse(&text).unwrap();
        assert_eq!(read, document);
        assert_eq!(read.ranks(), vec![rank]);
        assert!(RealJobDocument::parse(b"{}").unwrap_err().to_string().contains("has printed no document"));
        let wrong = RealJobDocument { ranks: 4, ..document };
        assert!(RealJobDocument::parse(&serde_json::to_vec(&wrong).unwrap()).is_err());
    }
}
