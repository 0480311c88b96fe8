//! What document 004 published of probes and predictions on one switch; the numbers are in `data/published.toml`.

use serde::Deserialize;

/// See the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedProbes {
    pub nodes: u32,
    pub probes_per_node: u32,
    pub idle_latency_microseconds: f64,
    pub utilisation_percent: [f64; 2],
    pub utilisation_percent_asked: [f64; 2],
    pub partners: Vec<u32>,
    pub messages: Vec<u32>,
    pub sleep_cycles: Vec<f64>,
    pub slowed_percent_asked: f64,
    pub points_asked: f64,
    pub mean_error_points: f64,
    pub median_error_points: f64,
    pub below_10_percent: f64,
    pub applications: [String; 6],
    pub slowdown_percent: [[f64; 6]; 6],
    pub training_sleep_cycles: Vec<f64>,
}
