//! The JSON document of `optiq interfere`.

use super::found::Found;
use crate::commands::job_document::{JobFileDocument, PlacedJobDocument};
use optiq_net::NodeId;
use optiq_sim::jobs::adviser::{Advice, Candidate};
use optiq_sim::jobs::certificate::JobPair;
use optiq_sim::jobs::sharing::{Basis, SharedLink};
use serde::Serialize;

#[derive(Serialize)]
pub struct InterfereDocument<'a> {
    #[serde(flatten)]
    file: JobFileDocument<'a>,
    /// `routes`, `adaptive-estimate` or `ties-estimate`.
    basis: &'static str,
    certified: bool,
    jobs: Vec<JobDocument>,
    pairs: Vec<PairDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<AdviceDocument>,
}

#[derive(Serialize)]
struct JobDocument {
    #[serde(flatten)]
    placed: PlacedJobDocument,
    links: usize,
    /// Of one operation of each rank, between hosts.
    operation_bytes: f64,
}

#[derive(Serialize)]
struct PairDocument<'a> {
    jobs: [&'a str; 2],
    certified: bool,
    shared_hosts: Vec<&'a str>,
    shared_links: usize,
    /// Of each job, the part of its bytes that passes a shared link.
    shared_parts: [f64; 2],
    /// Of each job, the part of its bytes that passes a link with much of the other one.
    much_shared_parts: [f64; 2],
    links: Vec<LinkDocument<'a>>,
}

#[derive(Serialize)]
struct LinkDocument<'a> {
    from: &'a str,
    to: &'a str,
    lane: u32,
    operation_bytes: [f64; 2],
}

#[derive(Serialize)]
struct AdviceDocument {
    tried: usize,
    placements: Vec<CandidateDocument>,
    refused: Vec<RefusedDocument>,
}

#[derive(Serialize)]
struct CandidateDocument {
    /// Left out: as the file says.
    #[serde(skip_serializing_if = "Option::is_none")]
    placement: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    servers: Option<String>,
    placement_seed: u64,
    certified: bool,
    shared_hosts: usize,
    shared_links: usize,
    shared_parts_sum: f64,
    much_shared_parts_sum: f64,
}

#[derive(Serialize)]
struct RefusedDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    placement: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    servers: Option<String>,
    reason: String,
}

/// As documents have it.
fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Routes => "routes",
        Basis::AdaptiveEstimate => "adaptive-estimate",
        Basis::TiesEstimate => "ties-estimate",
    }
}

impl<'a> InterfereDocument<'a> {
    pub fn new(found: &Found<'a>) -> Self {
        let &Found { file, network, model, certificate, .. } = found;
        Self {
            file: JobFileDocument::new(file, network, model),
            basis: basis(certificate.basis),
            certified: certificate.is_certified(),
            jobs: (0..file.jobs.len()).map(|i| job(found, i)).collect(),
            pairs: certificate.pairs.iter().map(|p| pair(found, p)).collect(),
            advice: found.advice.map(|a| advice(a, found.most)),
        }
    }
}

fn job(found: &Found<'_>, i: usize) -> JobDocument {
    let traffic = &found.certificate.jobs[i];
    JobDocument {
        placed: PlacedJobDocument::new(found.file, found.allocation, i),
        links: traffic.links(),
        operation_bytes: traffic.bytes(),
    }
}

fn pair<'a>(found: &Found<'a>, JobPair { jobs, sharing }: &JobPair) -> PairDocument<'a> {
    let name = |node: NodeId| found.network.name(node);
    let link = |&SharedLink { link, lane, bytes }: &SharedLink| {
        let ends = found.network.link(link);
        LinkDocument { from: name(ends.from), to: name(ends.to), lane, operation_bytes: bytes }
    };
    PairDocument {
        jobs: jobs.map(|job| &*found.file.jobs[job].name),
        certified: sharing.is_certified(),
        shared_hosts: sharing.hosts.iter().map(|&h| name(h)).collect(),
        shared_links: sharing.links.len(),
        shared_parts: sharing.parts(),
        much_shared_parts: sharing.parts_much(),
        links: sharing.links.iter().take(found.most).map(link).collect(),
    }
}

fn advice(advice: &Advice, most: usize) -> AdviceDocument {
    let candidate = |c: &Candidate| CandidateDocument {
        placement: c.placement.as_ref().map(ToString::to_string),
        servers: c.servers.as_ref().map(ToString::to_string),
        placement_seed: c.seed,
        certified: c.score.is_certified,
        shared_hosts: c.score.hosts,
        shared_links: c.score.links,
        shared_parts_sum: c.score.parts,
        much_shared_parts_sum: c.score.parts_much,
    };
    let refused = advice.refused.iter().map(|(placement, servers, reason)| RefusedDocument {
        placement: placement.as_ref().map(ToString::to_string),
        servers: servers.as_ref().map(ToString::to_string),
        reason: reason.clone(),
    });
    AdviceDocument {
        tried: advice.candidates.len(),
        placements: advice.candidates.iter().take(most).map(candidate).collect(),
        refused: refused.collect(),
    }
}
