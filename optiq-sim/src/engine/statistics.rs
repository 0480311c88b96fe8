//! What is counted while a simulation runs.

use crate::time::Time;
use hdrhistogram::Histogram;
use optiq_trace::codec;

/// Counters of a shard, or of a job in one; those of all shards add up to the simulation's.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    /// Arrivals and what hosts do.
    pub(crate) events: u64,
    /// Wake-ups of channels: what the simulator does besides, which may depend on the number of threads.
    pub(crate) wakes: u64,
    /// When the last event was.
    pub(crate) last: Time,
    pub(crate) packets: u64,
    pub(crate) payload: u64,
    pub(crate) messages: u64,
    /// Packets that adaptive routing has sent off their minimal paths.
    pub(crate) detours: u64,
    pub(crate) packet_latency: Histogram<u64>,
    pub(crate) message_latency: Histogram<u64>,
    /// The sum of the messages' latencies in picoseconds, exactly.
    pub(crate) latency_sum: u128,
}

/// Three digits of latencies, from a picosecond to 16 minutes.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 1 << 50, 3).expect("valid bounds")
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self {
            events: 0,
            wakes: 0,
            last: Time::ZERO,
            packets: 0,
            payload: 0,
            messages: 0,
            detours: 0,
            packet_latency: histogram(),
            message_latency: histogram(),
            latency_sum: 0,
        }
    }

    #[inline]
    pub(crate) fn event(&mut self, time: Time) {
        self.events += 1;
        self.last = time;
    }

    /// For a checkpoint.
    pub(crate) fn save(&self) -> Vec<u8> {
        let Self { events, wakes, last, packets, payload, messages, detours, latency_sum, .. } = self;
        let cells = |h: &Histogram<u64>| -> Vec<(u64, u64)> {
            h.iter_recorded().map(|cell| (cell.value_iterated_to(), cell.count_at_value())).collect()
        };
        let histograms = (cells(&self.packet_latency), cells(&self.message_latency));
        codec::encode(&((events, wakes, last, packets), (payload, messages, detours, latency_sum), histograms))
    }

    /// What [`Counters::save`] has written.
    pub(crate) fn restore(state: &[u8]) -> Result<Self, String> {
        type Cells = Vec<(u64, u64)>;
        type State = ((u64, u64, Time, u64), (u64, u64, u64, u128), (Cells, Cells));
        let (a, b, (packet, message)): State = codec::decode(state)?;
        let filled = |cells: Cells| {
            let mut histogram = histogram();
            cells.into_iter().for_each(|(value, count)| histogram.saturating_record_n(value, count));
            histogram
        };
        let (events, wakes, last, packets) = a;
        let (payload, messages, detours, latency_sum) = b;
        let (packet_latency, message_latency) = (filled(packet), filled(message));
        Ok(Self {
            events,
            wakes,
            last,
            packets,
            payload,
            messages,
            detours,
            packet_latency,
            message_latency,
            latency_sum,
        })
    }

    #[inline]
    pub(crate) fn delivered(&mut self, payload: u64, latency: Option<Time>) {
        self.packets += 1;
        self.payload += payload;
        if let Some(latency) = latency {
            self.packet_latency.saturating_record(latency.as_picoseconds());
        }
    }

    pub(crate) fn message(&mut self, latency: Option<Time>) {
        self.messages += 1;
        if let Some(latency) = latency {
            self.latency_sum += u128::from(latency.as_picoseconds());
            self.message_latency.saturating_record(latency.as_picoseconds());
        }
    }

    /// The mean latency of messages, exactly, in picoseconds; 0 of none.
    pub(crate) fn mean_message_latency(&self) -> f64 {
        self.latency_sum as f64 / self.message_latency.len().max(1) as f64
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.wakes += other.wakes;
        self.last = self.last.max(other.last);
        self.packets += other.packets;
        self.payload += other.payload;
        self.messages += other.messages;
        self.detours += other.detours;
        self.latency_sum += other.latency_sum;
        // Same bounds.
        let _ = self.packet_latency.add(&other.packet_latency);
        let _ = self.message_latency.add(&other.message_latency);
    }
}
