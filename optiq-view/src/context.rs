//! What figures belong to: the network and the demands, each with its fingerprint.

use optiq_net::Network;
use optiq_solver::{Demand, demands};
use serde::Serialize;

/// What the figures of a page or of a JSON document belong to.
#[derive(Clone, Debug, Serialize)]
pub struct Context {
    /// Canonical specification of the network.
    pub topology: String,
    /// The file of background load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<String>,
    /// Which of `capacity`, `routing`, `planner` and `model` are defaults.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub defaults: Vec<&'static str>,
    /// Fingerprint of the network.
    pub network_fingerprint: String,
    /// The demands, as they were given.
    pub demands: String,
    /// Fingerprint of the demands.
    pub demands_fingerprint: String,
    /// Bytes of all demands together.
    pub demand_bytes: u64,
}

impl Context {
    /// Without background load and without defaults, which the caller may add.
    pub fn new(net: &Network, text: &str, demands: &[Demand]) -> Self {
        Context {
            topology: net.spec().to_owned(),
            background: None,
            defaults: Vec::new(),
            network_fingerprint: net.fingerprint().to_string(),
            demands: text.to_owned(),
            demands_fingerprint: demands::fingerprint(demands).to_string(),
            demand_bytes: demands.iter().fold(0u64, |sum, d| sum.saturating_add(d.bytes)),
        }
    }
}
