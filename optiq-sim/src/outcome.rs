//! What a simulation found.

use crate::engine::limits::End;
use crate::engine::statistics::Counters;
use crate::nic::program::Program;
use crate::observers::postcards::Postcards;
use crate::observers::series::Series;
use crate::time::Time;
use hdrhistogram::Histogram;
use optiq_net::fingerprint::{Fingerprint, Hasher};

/// What a simulation found of one job. A message, and all that the protocol sends on its behalf, belongs to the job of the
/// process that sends it. Sums over all jobs are those of the [`Outcome`], link by link and packet by packet.
#[derive(Clone, Debug)]
pub struct JobOutcome {
    /// Packets that arrived in memory.
    pub packets: u64,
    /// Messages that arrived; those between processes of one host do not cross the network and are not among them.
    pub messages: u64,
    /// Bytes of the messages among them: without headers, and without what the protocol says.
    pub payload_bytes: u64,
    /// Packets that the routing has sent off their minimal paths.
    pub detours: u64,
    /// As in [`Outcome`].
    pub packet_latency: Histogram<u64>,
    /// As in [`Outcome`].
    pub message_latency: Histogram<u64>,
    /// Its mean, exactly.
    pub message_latency_mean: f64,
    /// Bytes on each link of the network, headers included, from the beginning on; parallel ones together.
    pub link_bytes: Vec<u64>,
    /// When the last of its processes said that it was done ([`crate::Host::done`]), if all have.
    pub done: Option<Time>,
}

impl JobOutcome {
    pub(crate) fn new(counters: Counters, link_bytes: Vec<u64>, done: Option<Time>) -> Self {
        Self {
            packets: counters.packets,
            messages: counters.messages,
            payload_bytes: counters.payload,
            detours: counters.detours,
            message_latency_mean: counters.mean_message_latency(),
            packet_latency: counters.packet_latency,
            message_latency: counters.message_latency,
            link_bytes,
            done,
        }
    }

    /// The fingerprint of all that was simulated of it: the same on every machine, with any number of threads and checkpoints.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = Hasher::new("optiq job outcome 1");
        for word in [self.packets, self.messages, self.payload_bytes, self.detours] {
            hasher.u64(word);
        }
        hash_latencies(&mut hasher, self.message_latency_mean, &self.packet_latency, &self.message_latency);
        self.link_bytes.iter().for_each(|&bytes| hasher.u64(bytes));
        hasher.u64(self.done.map_or(u64::MAX, Time::as_picoseconds));
        hasher.finish()
    }
}

fn hash_latencies(hasher: &mut Hasher, mean: f64, packets: &Histogram<u64>, messages: &Histogram<u64>) {
    hasher.u64(mean.to_bits());
    for histogram in [packets, messages] {
        for cell in histogram.iter_recorded() {
            hasher.u64(cell.value_iterated_to());
            hasher.u64(cell.count_at_value());
        }
    }
}

/// What a simulation found.
pub struct Outcome {
    /// Why it ended; unless [`End::Finished`], everything else is about the part before that.
    pub end: End,
    /// The time of the last event.
    pub time: Time,
    /// Arrivals of packets, and what hosts did.
    pub events: u64,
    /// Wake-ups of channels: no part of the results, as threads may make a difference.
    pub wakes: u64,
    /// Packets that arrived in memory.
    pub packets: u64,
    /// Messages that arrived.
    pub messages: u64,
    /// Packets that the routing has sent off their minimal paths: none by the fabric's own routes.
    pub detours: u64,
    /// Bytes of the messages among them: without headers, and without what the protocol says.
    pub payload_bytes: u64,
    /// From the first bit out of the source's memory to the last one in the destination's, in picoseconds; without what was
    /// sent in a warm-up ([`crate::Host::warm_up`]).
    pub packet_latency: Histogram<u64>,
    /// From the order to send until the receiver's processor has dealt with it, in picoseconds; without those of a warm-up.
    pub message_latency: Histogram<u64>,
    /// Its mean, exactly.
    pub message_latency_mean: f64,
    /// What belongs to each job, by number.
    pub jobs: Vec<JobOutcome>,
    /// Bytes on each link of the network, headers included; parallel ones together.
    pub link_bytes: Vec<u64>,
    /// For how long each link was busy; parallel ones together.
    pub link_busy: Vec<Time>,
    /// What happened over time, if it was recorded.
    pub series: Option<Series>,
    /// Postcards of marked packets, if they were wanted ([`crate::RunOptions::postcards`]).
    pub postcards: Option<Postcards>,
    /// The programs, as they ended, by process.
    pub programs: Vec<Box<dyn Program>>,
    /// What the simulation itself took, in seconds.
    pub wall_seconds: f64,
}

impl Outcome {
    /// The fingerprint of all that was simulated: the same on every machine, with any number of threads and checkpoints.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = Hasher::new("optiq outcome 1");
        for word in
            [self.time.as_picoseconds(), self.events, self.packets, self.messages, self.detours, self.payload_bytes]
        {
            hasher.u64(word);
        }
        hash_latencies(&mut hasher, self.message_latency_mean, &self.packet_latency, &self.message_latency);
        self.link_bytes.iter().for_each(|&bytes| hasher.u64(bytes));
        self.link_busy.iter().for_each(|busy| hasher.u64(busy.as_picoseconds()));
        // One job is what was hashed already.
        if self.jobs.len() > 1 {
            self.jobs.iter().for_each(|job| hasher.bytes(&job.fingerprint().0.to_le_bytes()));
        }
        hasher.finish()
    }
}
