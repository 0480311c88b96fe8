//! What A. Yoga and M. Chabbi published of path-synchronous monitoring, as far as claims Y1 to Y5 compare with it; see
//! `data/published.toml`.

use serde::Deserialize;

/// See the file. Times in the units of their names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedPostcards {
    pub topology: String,
    pub ranks: u32,
    /// To whom all others send.
    pub root: u32,
    pub message_bytes: u64,
    /// One command in this many is marked.
    pub one_in: u32,
    /// Of each component.
    pub buffer_bytes: usize,
    /// What this project asks for.
    pub skew_milliseconds: f64,
    pub simulated_time_percent: f64,
    pub wall_time_percent: f64,
}
