//! What the jobs of a file share: the certificate of [`crate::jobs::sharing`] for each pair of them.

use crate::error::SimError;
use crate::jobs::allocation::{Allocation, JobHosts};
use crate::jobs::file::JobFile;
use crate::jobs::link_use::HostFlows;
use crate::jobs::programs::traffic::{Flows, traffic};
use crate::jobs::sharing::{Basis, Certifier, JobTraffic, Sharing};
use crate::model::Model;
use optiq_net::{Network, NodeId};

/// Two jobs of a file, by their numbers, and what they share.
#[derive(Clone, Debug)]
pub struct JobPair {
    /// The jobs, the one with the lower number first.
    pub jobs: [usize; 2],
    /// In this order, too.
    pub sharing: Sharing,
}

/// What the jobs of a file share.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// What it rests on.
    pub basis: Basis,
    /// By job.
    pub jobs: Vec<JobTraffic>,
    /// Every pair.
    pub pairs: Vec<JobPair>,
}

impl Certificate {
    /// For the jobs of a file where they are. `each` is called with each pair that is about to be looked at, and how many
    /// there are.
    ///
    /// # Errors
    /// A job that sends nothing; a file or a plan of its program; hosts without a route.
    pub fn new(
        file: &JobFile,
        network: &Network,
        model: &Model,
        allocation: &Allocation,
        mut each: impl FnMut(usize, usize),
    ) -> Result<Self, SimError> {
        let mut certifier = Certifier::new(network, file.routing, model);
        let mut jobs = Vec::new();
        for (number, hosts) in allocation.jobs.iter().enumerate() {
            let of_processes = hosts.of_processes().map(|h| h.0).collect::<Vec<_>>();
            let setting = allocation.setting(file, number, (network, model), &of_processes);
            let told = |e: SimError| file.error(number, &e.to_string());
            let flows = traffic(&file.jobs[number].program, &setting).map_err(told)?;
            if !flows.iter().any(sends) {
                let ranks = hosts.ranks();
                return Err(file.error(
                    number,
                    &format!("it sends nothing: there are {ranks} ranks, and none has another to send to"),
                ));
            }
            jobs.push(certifier.job(hosts.of_processes().collect(), between_hosts(&flows, hosts)).map_err(told)?);
        }
        let count = jobs.len() * (jobs.len() - 1) / 2;
        let mut pairs = Vec::with_capacity(count);
        for b in 0..jobs.len() {
            for a in 0..b {
                each(pairs.len(), count);
                pairs.push(JobPair { jobs: [a, b], sharing: certifier.pair(&jobs[a], &jobs[b])? });
            }
        }
        pairs.sort_by_key(|pair| pair.jobs);
        Ok(Self { basis: certifier.basis(), jobs, pairs })
    }

    /// Whether no two jobs can slow each other.
    pub fn is_certified(&self) -> bool {
        self.pairs.iter().all(|pair| pair.sharing.is_certified())
    }
}

/// Whether an entry has a pair of different ranks.
fn sends(flows: &Flows) -> bool {
    let (from, to) = (&flows.sources, &flows.destinations);
    !from.is_empty() && !to.is_empty() && (from.len() > 1 || to.len() > 1 || from.start != to.start)
}

/// Flows between ranks as flows between hosts.
fn between_hosts(flows: &[Flows], job: &JobHosts) -> Vec<HostFlows> {
    let hosts: Vec<NodeId> = job.of_processes().collect();
    let mut pairs = Vec::new();
    let mut found = Vec::new();
    for Flows { sources, destinations, bytes } in flows {
        let of = |ranks: &std::ops::Range<u32>| hosts[ranks.start as usize..ranks.end as usize].to_vec();
        match (sources.len(), destinations.len()) {
            (1, 1) => pairs.push((hosts[sources.start as usize], hosts[destinations.start as usize], *bytes)),
            _ => found.push(HostFlows::All { from: of(sources), to: of(destinations), bytes: *bytes }),
        }
    }
    found.push(HostFlows::Pairs(pairs));
    found
}
