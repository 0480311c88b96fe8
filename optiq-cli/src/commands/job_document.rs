//! What all JSON documents about a job file begin with.

use optiq_net::Network;
use optiq_sim::jobs::allocation::Allocation;
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::statistics::Slowdown;
use optiq_sim::model::Model;
use serde::{Deserialize, Serialize};

/// The file, and what it was read as.
#[derive(Serialize)]
pub struct JobFileDocument<'a> {
    title: &'a str,
    #[serde(flatten)]
    setting: SettingDocument,
}

/// In which network and how the jobs run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SettingDocument {
    pub topology: String,
    pub network_fingerprint: String,
    pub model: String,
    pub routing: String,
    pub seed: u64,
    pub placement_seed: u64,
}

/// A job of it, and where it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlacedJobDocument {
    pub name: String,
    pub program: String,
    pub placement: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers_placement: Option<String>,
    pub hosts: usize,
    pub ranks: u32,
    pub servers: usize,
}

/// A slowdown, without its intervals.
#[derive(Serialize)]
pub struct SlowdownValues {
    slowdown_mean: f64,
    slowdown_median: f64,
    slowdown_p99: f64,
}

impl From<&Slowdown> for SlowdownValues {
    fn from(s: &Slowdown) -> Self {
        Self { slowdown_mean: s.mean.value, slowdown_median: s.median.value, slowdown_p99: s.p99.value }
    }
}

impl<'a> JobFileDocument<'a> {
    pub fn new(file: &'a JobFile, network: &Network, model: &Model) -> Self {
        Self { title: &file.title, setting: SettingDocument::new(file, network, model) }
    }
}

impl SettingDocument {
    pub fn new(file: &JobFile, network: &Network, model: &Model) -> Self {
        Self {
            topology: network.spec().to_owned(),
            network_fingerprint: network.fingerprint().to_string(),
            model: model.title.clone(),
            routing: file.routing.to_string(),
            seed: file.seed,
            placement_seed: file.placement_seed,
        }
    }
}

impl PlacedJobDocument {
    pub fn new(file: &JobFile, allocation: &Allocation, job: usize) -> Self {
        let (entry, hosts) = (&file.jobs[job], &allocation.jobs[job]);
        Self {
            name: entry.name.clone(),
            program: entry.program.to_string(),
            placement: entry.placement.to_string(),
            servers_placement: entry.servers.as_ref().map(ToString::to_string),
            hosts: hosts.hosts.len(),
            ranks: hosts.ranks(),
            servers: hosts.servers.len(),
        }
    }
}
