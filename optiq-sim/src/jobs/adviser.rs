//! Where jobs and I/O servers should be: the best of given placements, by what the certificate says.
//!
//! Every placement rule is tried with every rule for servers, random ones with several seeds; a simulation is not needed. What
//! is given by hand (`hosts:`, `leaves:`, `groups:`, `file:`, `like:`) stays. The best is where jobs meet least: in this
//! order, the fewest hosts in common; of all pairs of jobs, the least sum of the parts of traffic that pass links with much of
//! the other job ([`crate::jobs::sharing::MUCH`]); the least sum of the parts that pass any shared link; the fewest shared
//! links; and what comes first in the list, where what the file says is the first. It does not see times: jobs that share a
//! link may never use it at once, and a placement that keeps jobs apart may make the routes of each longer.

use crate::error::SimError;
use crate::jobs::allocation::Allocation;
use crate::jobs::certificate::Certificate;
use crate::jobs::file::{JobEntry, JobFile};
use crate::jobs::placement::{LeafPositions, Placement, ServerPlacement};
use crate::jobs::sites::Sites;
use crate::model::Model;
use optiq_net::Network;
use std::cmp::Ordering;

/// The most seeds of a random rule.
pub const MAX_SEEDS: u32 = 1000;

/// A placement of all jobs of a file that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The rule of all jobs whose hosts are not listed; `None`: as the file says.
    pub placement: Option<Placement>,
    /// The rule of servers that are not listed, with the number of the first such job; `None`: as the file says.
    pub servers: Option<ServerPlacement>,
    /// `placement_seed`.
    pub seed: u64,
    /// What it leads to.
    pub score: Score,
}

/// How much jobs meet; less is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Hosts in common, of all pairs.
    pub hosts: usize,
    /// The sum of [`crate::jobs::sharing::Sharing::parts_much`] over both jobs of all pairs.
    pub parts_much: f64,
    /// The sum of [`crate::jobs::sharing::Sharing::parts`].
    pub parts: f64,
    /// Shared links, of all pairs.
    pub links: usize,
    /// Whether no two jobs can slow each other.
    pub is_certified: bool,
}

impl Score {
    fn of(certificate: &Certificate) -> Self {
        let sharings = || certificate.pairs.iter().map(|p| &p.sharing);
        Self {
            hosts: sharings().map(|s| s.hosts.len()).sum(),
            parts_much: sharings().flat_map(|s| s.parts_much()).sum(),
            parts: sharings().flat_map(|s| s.parts()).sum(),
            links: sharings().map(|s| s.links.len()).sum(),
            is_certified: certificate.is_certified(),
        }
    }

    fn compare(&self, other: &Score) -> Ordering {
        (self.hosts.cmp(&other.hosts))
            .then(self.parts_much.total_cmp(&other.parts_much))
            .then(self.parts.total_cmp(&other.parts))
            .then(self.links.cmp(&other.links))
    }
}

/// What was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The best first.
    pub candidates: Vec<Candidate>,
    /// Rules that do not fit, and why.
    pub refused: Vec<(Option<Placement>, Option<ServerPlacement>, String)>,
}

/// Looks at all rules, random ones with `seeds` seeds from the file's `placement_seed` on. `each` is called before each with
/// its number, and how many there are; it ends the search by `false`, and what was found by then is compared.
///
/// # Errors
/// A job that sends nothing, and the like; a file whose jobs do not fit as it places them is none.
pub fn advise(
    file: &JobFile,
    network: &Network,
    model: &Model,
    seeds: u32,
    mut each: impl FnMut(usize, usize) -> bool,
) -> Result<Advice, SimError> {
    let sites = Sites::new(network);
    let tries = tries(file, &sites, seeds.clamp(1, MAX_SEEDS));
    let mut advice = Advice { candidates: Vec::new(), refused: Vec::new() };
    for (i, (placement, servers, seed)) in tries.iter().enumerate() {
        if !each(i, tries.len()) {
            break;
        }
        let changed = with(file, placement.as_ref(), servers.as_ref(), *seed);
        let allocation = match Allocation::on(&changed, network, &sites) {
            Ok(allocation) => allocation,
            Err(why) => {
                let is_new = advice.refused.last().is_none_or(|r| (&r.0, &r.1) != (placement, servers));
                if is_new {
                    advice.refused.push((placement.clone(), servers.clone(), why.to_string()));
                }
                continue;
            }
        };
        let score = Score::of(&Certificate::new(&changed, network, model, &allocation, |_, _| {})?);
        advice.candidates.push(Candidate {
            placement: placement.clone(),
            servers: servers.clone(),
            seed: *seed,
            score,
        });
    }
    advice.candidates.sort_by(|a, b| a.score.compare(&b.score));
    Ok(advice)
}

type Try = (Option<Placement>, Option<ServerPlacement>, u64);

/// The rules that jobs whose hosts are not listed may have on such a network; none if all are listed.
pub(super) fn placements(file: &JobFile, sites: &Sites) -> Vec<Placement> {
    if file.jobs.iter().all(|job| job.placement.has_own_count()) {
        return Vec::new();
    }
    let mut found = vec![Placement::Contiguous(0), Placement::RandomNode];
    found.extend((sites.leaves() > 1).then_some(Placement::RandomSwitch));
    found.extend(sites.groups().map(|_| Placement::RandomGroup));
    found
}

/// The rules that I/O servers may have, with the number of the first job whose servers are not listed; none if there is no such job, or
/// one switch only.
pub(super) fn server_placements(file: &JobFile, sites: &Sites) -> Vec<ServerPlacement> {
    let count = file.jobs.iter().filter_map(|job| job.servers.as_ref()?.count()).next();
    let Some(count) = count.filter(|_| sites.leaves() > 1) else { return Vec::new() };
    let isolated = [LeafPositions::Congruent, LeafPositions::Adjacent, LeafPositions::Random];
    let isolated = isolated.map(|positions| ServerPlacement::Isolated(count, positions));
    [ServerPlacement::Spread(count)].into_iter().chain(isolated).chain([ServerPlacement::Random(count)]).collect()
}

/// What is tried, in order.
fn tries(file: &JobFile, sites: &Sites, seeds: u32) -> Vec<Try> {
    let placements: Vec<_> = [None].into_iter().chain(placements(file, sites).into_iter().map(Some)).collect();
    let servers: Vec<_> = [None].into_iter().chain(server_placements(file, sites).into_iter().map(Some)).collect();
    let mut tries = Vec::new();
    for placement in &placements {
        for servers in &servers {
            let changed = with(file, placement.as_ref(), servers.as_ref(), 0);
            let is_random = |job: &JobEntry| {
                job.placement.is_random() || job.servers.as_ref().is_some_and(ServerPlacement::is_random)
            };
            let seeds = if changed.jobs.iter().any(is_random) { u64::from(seeds) } else { 1 };
            let seeds = (0..seeds).map(|i| file.placement_seed.wrapping_add(i));
            tries.extend(seeds.map(|seed| (placement.clone(), servers.clone(), seed)));
        }
    }
    tries
}

/// The file with other rules where they do not list hosts.
pub fn with(file: &JobFile, placement: Option<&Placement>, servers: Option<&ServerPlacement>, seed: u64) -> JobFile {
    let mut file = file.clone();
    file.placement_seed = seed;
    for job in &mut file.jobs {
        if let Some(rule) = placement.filter(|_| !job.placement.has_own_count()) {
            job.placement = rule.clone();
        }
        // Each keeps its number of servers.
        if let (Some(rule), Some(count)) = (servers, job.servers.as_ref().and_then(ServerPlacement::count)) {
            job.servers = Some(rule.with_count(count));
        }
    }
    file
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn file(text: &str) -> (JobFile, Network) {
        // Three pods of four leaves of four hosts, with as many ports up as down, like the larger tree of document 000.
        let file = JobFile::parse(&format!("network = \"fattree:4x4x3:1x4x2:1x1x2\"\n{text}"), "text").unwrap();
        let network = file.load_network().unwrap();
        (file, network)
    }

    const JOBS: &str = r#"
[[job]]
name = "mpi"
hosts = 12
placement = "leaves:1+6+11"
program = "pairs,message=1MB"
[[job]]
name = "io"
hosts = 12
placement = "leaves:2+5+9"
servers = "isolated-target:12:adjacent"
program = "io-write,request=1MB"
"#;

    #[test]
    fn congruent_servers_are_found_and_what_is_listed_stays() {
        let (file, network) = file(JOBS);
        let advice = advise(&file, &network, &Model::default(), 3, |_, _| true).unwrap();
        // Adjacent servers and spread ones need hosts that are listed.
        assert!(advice.refused.iter().any(|r| r.1.is_none()), "{:?}", advice.refused);
        let best = &advice.candidates[0];
        assert_eq!(best.placement, None);
        assert_eq!(best.servers, Some(ServerPlacement::Isolated(12, LeafPositions::Congruent)));
        // No data meets data; confirmations do, so that nothing is certified.
        assert!(best.score.parts_much < 0.01 && best.score.parts > 0.0 && !best.score.is_certified, "{best:?}");
        let changed = with(&file, best.placement.as_ref(), best.servers.as_ref(), best.seed);
        assert_eq!(changed.jobs[0].placement, file.jobs[0].placement);
    }

    #[test]
    fn the_best_comes_first_and_is_what_its_file_gives() {
        let (file, network) =
            file(&JOBS.replace("leaves:1+6+11", "random-switch").replace("leaves:2+5+9", "random-node"));
        let model = Model::default();
        let mut calls = 0;
        let run = |calls: &mut usize| {
            advise(&file, &network, &model, 2, |_, _| {
                *calls += 1;
                true
            })
            .unwrap()
        };
        let advice = run(&mut calls);
        // As in the file, random-node and random-switch are random with all six of servers; contiguous with two of them.
        assert_eq!(calls, 3 * 6 * 2 + 4 + 2 * 2);
        assert_eq!(run(&mut 0), advice);
        assert!(advice.candidates.windows(2).all(|w| w[0].score.compare(&w[1].score) != Ordering::Greater));
        for candidate in advice.candidates.iter().take(3) {
            let changed = with(&file, candidate.placement.as_ref(), candidate.servers.as_ref(), candidate.seed);
            let allocation = Allocation::new(&changed, &network).unwrap();
            let found = Certificate::new(&changed, &network, &model, &allocation, |_, _| {}).unwrap();
            assert_eq!(Score::of(&found), candidate.score);
        }
        // A search that is ended compares what it has.
        let few = advise(&file, &network, &model, 2, |i, _| i < 5).unwrap();
        assert_eq!(few.candidates.len() + few.refused.len(), 5);
    }
}
