//! The figures of a job, computed once for document, table and page.

use optiq_net::{LinkId, Network};
use optiq_sim::Model;
use optiq_sim::jobs::allocation::Allocation;
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::run::{JobResult, JobResults, JobRun};
use optiq_sim::jobs::statistics::{JobStatistics, Slowdown};

/// Of a job.
pub struct Figures {
    pub alone: Option<JobStatistics>,
    pub together: Option<JobStatistics>,
    pub slowdown: Option<Slowdown>,
}

impl Figures {
    pub fn of(job: &JobResult) -> Self {
        let of = |run: &Option<JobRun>| run.as_ref().and_then(|run| job.statistics(run));
        Self { alone: of(&job.alone), together: of(&job.together), slowdown: job.slowdown() }
    }
}

/// All that is shown.
pub struct Found<'a> {
    pub file: &'a JobFile,
    pub network: &'a Network,
    pub model: &'a Model,
    pub allocation: &'a Allocation,
    pub results: &'a JobResults,
    /// By job.
    pub figures: &'a [Figures],
    pub most: usize,
    pub finite: bool,
}

/// A link and what it carried in the run of all jobs.
pub struct BusyLink {
    pub link: LinkId,
    /// The part of the run in which it was busy, on average over its lanes.
    pub share: f64,
    pub bytes: u64,
    /// By job.
    pub of_jobs: Vec<u64>,
}

impl BusyLink {
    /// Whether several jobs have bytes on it.
    pub fn is_shared(&self) -> bool {
        self.of_jobs.iter().filter(|&&bytes| bytes > 0).count() > 1
    }
}

/// The links that carried something in the run of all jobs, the busiest first; those alike in the order of the network.
pub fn busy_links(found: &Found<'_>) -> Vec<BusyLink> {
    let Some(run) = &found.results.together else { return Vec::new() };
    let seconds = run.time.seconds();
    let jobs = || found.results.jobs.iter().filter_map(|job| job.together.as_ref());
    let each = found.network.links().iter().zip(&run.link_bytes).zip(&run.link_busy).enumerate();
    let mut links: Vec<BusyLink> = each
        .filter(|(_, ((_, bytes), _))| **bytes > 0)
        .map(|(i, ((link, &bytes), busy))| BusyLink {
            link: LinkId(i as u32),
            // A packet that has begun counts in full, so that a full link can have more than the run.
            share: if seconds > 0.0 { (busy.seconds() / f64::from(link.lanes) / seconds).min(1.0) } else { 0.0 },
            bytes,
            of_jobs: jobs().map(|job| job.outcome.link_bytes[i]).collect(),
        })
        .collect();
    links.sort_by(|a, b| b.share.total_cmp(&a.share));
    links
}
