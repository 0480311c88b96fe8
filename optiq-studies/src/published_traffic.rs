//! What document 000 (K. Brown), chapters 3 and 4, published of a profiler and of traffic on links, as far as claims B1 to B8 compare with it;
//! see `data/published.toml`. The profiler's overheads are in `studies/profiler.rs`.

use serde::Deserialize;

/// See the file. Amounts in the units of their names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedTraffic {
    /// Of the samplesort.
    pub samplesort_ranks: u32,
    pub samplesort_bytes_per_rank: f64,
    /// By how much a tighter node set cuts the load of the busiest link, at least.
    pub peak_cut_percent: f64,
    /// Of the broadcast on one rail of two.
    pub broadcast_nodes: u32,
    /// Of the profiler's counters, for a port and a peer: sent and received.
    pub counter_bytes: u64,
    /// What this project asks of the picture while it moves.
    pub frames_per_second: f64,
    /// What this project asks for where counts are compared with what interfaces count.
    pub interface_counts_within_percent: f64,
}
