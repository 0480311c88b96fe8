//! What all JSON documents about a job file begin with.

use optiq_net::Network;
use optiq_sim::jobs::allocation::Allocation;
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::statistics::Slowdown;
use optiq_sim::model::Model;
use serde::Serialize;

/// The file, and what it was read as.
#[derive(Serialize)]
pub struct JobFileDocument<'a> {
    title: &'a str,
    topology: &'a str,
    network_fingerprint: String,
    model: &'a str,
    routing: String,
    seed: u64,
    placement_seed: u64,
}

/// A job of it, and where it is.
#[derive(Serialize)]
pub struct PlacedJobDocument<'a> {
    name: &'a str,
    program: String,
    placement: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    servers_placement: Option<String>,
    hosts: usize,
    ranks: u32,
    servers: usize,
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
    pub fn new(file: &'a JobFile, network: &'a Network, model: &'a Model) -> Self {
        Self {
            title: &file.title,
            topology: network.spec(),
            network_fingerprint: network.fingerprint().to_string(),
            model: &model.title,
            routing: file.routing.to_string(),
            seed: file.seed,
            placement_seed: file.placement_seed,
        }
    }
}

impl<'a> PlacedJobDocument<'a> {
    pub fn new(file: &'a JobFile, allocation: &Allocation, job: usize) -> Self {
        let (entry, hosts) = (&file.jobs[job], &allocation.jobs[job]);
        Self {
            name: &entry.name,
            program: entry.program.to_string(),
            placement: entry.placement.to_string(),
            servers_placement: entry.servers.as_ref().map(ToString::to_string),
            hosts: hosts.hosts.len(),
            ranks: hosts.ranks(),
            servers: hosts.servers.len(),
        }
    }
}
