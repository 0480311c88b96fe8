//! What document 000 published of jobs that share a fat tree; the numbers are in `data/published.toml`.

use serde::Deserialize;

/// Chapters 5 and 6. Microseconds and per cent; see the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interference {
    pub network: String,
    /// Of each of the two jobs, where both are of one size.
    pub clients: u32,
    pub servers: u32,
    pub link_bytes_per_second: f64,
    pub baselines: Baselines,
    pub b9: SlowdownIn,
    pub b10: Thresholds,
    pub b11: AtMost,
    pub b12: Peak,
    pub b15: JobSizes,
    pub b16: Placements,
    pub b17: Servers,
    pub b18: Throttle,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baselines {
    pub io_4kib_mean_microseconds: f64,
    pub mpi_4mib_third_quartile_microseconds: ThirdQuartiles,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThirdQuartiles {
    pub after_5_ms: f64,
    pub after_1_ms: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowdownIn {
    pub slowdown: f64,
    pub band: [f64; 2],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    pub interval_512kib_microseconds: [f64; 2],
    pub interval_4mib_microseconds: [f64; 2],
    /// Of the closed queue's threshold.
    pub within_percent: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtMost {
    pub slowdown_percent_max: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    pub peak: f64,
    pub band: [f64; 2],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobSizes {
    /// The medium and the large job over the small one.
    pub higher: [f64; 2],
    pub within_percent: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placements {
    /// I/O, MPI.
    pub random_node_percent: [f64; 2],
    pub slowdown_percent_max: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Servers {
    pub level_2_switches: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throttle {
    pub cost_percent: f64,
    pub cost_percent_text: f64,
    pub cost_percent_asked: f64,
    pub within_part: f64,
    pub mpi_times_faster: f64,
    /// That each client writes.
    pub total_bytes: f64,
}
