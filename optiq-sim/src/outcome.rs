//! What a simulation found.

use crate::engine::limits::End;
use crate::nic::program::Program;
use crate::observers::series::Series;
use crate::time::Time;
use hdrhistogram::Histogram;
use optiq_net::fingerprint::{Fingerprint, Hasher};

/// What a simulation found.
pub struct Outcome {
    /// Why it ended; unless [`End::Finished`], everything else is about the part before.
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
    /// From the first bit out of the source's memory to the last one in the destination's, in picoseconds.
    pub packet_latency: Histogram<u64>,
    /// From the order to send until the receiver's processor has dealt with it, in picoseconds.
    pub message_latency: Histogram<u64>,
    /// Its mean, exactly.
    pub message_latency_mean: f64,
    /// Bytes on each link of the network, headers included; parallel ones together.
    pub link_bytes: Vec<u64>,
    /// For how long each link was busy; parallel ones together.
    pub link_busy: Vec<Time>,
    /// What happened over time, if it was recorded.
    pub series: Option<Series>,
    /// The programs, as they ended.
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
        hasher.u64(self.message_latency_mean.to_bits());
        for histogram in [&self.packet_latency, &self.message_latency] {
            for cell in histogram.iter_recorded() {
                hasher.u64(cell.value_iterated_to());
                hasher.u64(cell.count_at_value());
            }
        }
        self.link_bytes.iter().for_each(|&bytes| hasher.u64(bytes));
        self.link_busy.iter().for_each(|busy| hasher.u64(busy.as_picoseconds()));
        hasher.finish()
    }
}
