//! The jobs whose traffic is put on links, and the parts that it is counted by: a region of one job's code, and a line of its program.

use super::hosts::HostMap;
use crate::failure::Failure;
use optiq_lower::link_traffic::HostTraffics;
use optiq_net::{Network, NodeId};
use optiq_trace::postcards::Context;
use optiq_trace::profile::call_lines::CallLines;
use optiq_trace::profile::job::{JobProfile, Moved};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// One job.
pub struct Job {
    pub profile: JobProfile,
    lines: CallLines,
    /// What it is called: as its launcher does, with the directory where several are shown.
    pub name: String,
    /// Per rank, where that is known.
    hosts: Vec<Option<NodeId>>,
}

/// What one number of [`HostTraffics`] stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    pub job: usize,
    pub region: String,
    pub line: Option<Context>,
}

/// Traffic between hosts by parts.
pub struct JobTraffics {
    /// In the order of their numbers.
    pub parts: Vec<Part>,
    pub traffics: HostTraffics,
    /// Bytes of which an end is not known.
    pub unplaced_bytes: u64,
}

/// Reads the profiles of jobs, of one region alone if one is named: those of them that have it.
///
/// # Errors
/// As [`JobProfile::load`] and [`JobProfile::only`], and for a directory that is given twice.
pub fn load(directories: &[PathBuf], region: Option<&str>) -> Result<Vec<Job>, Failure> {
    let mut seen = BTreeSet::new();
    let (mut jobs, mut without) = (Vec::new(), None);
    for directory in directories {
        let same = directory.canonicalize().unwrap_or_else(|_| directory.clone());
        if !seen.insert(same) {
            let what = "is given twice; the directory of each job once is expected";
            return Err(Failure::Input(format!("--profile {} {what}", directory.display())));
        }
        let mut profile = JobProfile::load(directory)?;
        if let Some(region) = region {
            match profile.only(region) {
                Ok(part) => profile = part,
                Err(error) => {
                    without.get_or_insert(error);
                    continue;
                }
            }
        }
        let own = &profile.files[0].job;
        let name = match directories.len() {
            1 => own.clone(),
            _ => format!("{own} ({})", directory.display()),
        };
        jobs.push(Job { lines: profile.call_lines(), profile, name, hosts: Vec::new() });
    }
    match (jobs.is_empty(), without) {
        (true, Some(error)) => Err(error.into()),
        _ => Ok(jobs),
    }
}

/// Finds the hosts of the ranks of all jobs.
///
/// # Errors
/// As [`HostMap::place`].
pub fn place(jobs: &mut [Job], net: &Network, map: &HostMap) -> Result<(), Failure> {
    for job in jobs {
        job.hosts = map.place(net, &job.profile)?;
    }
    Ok(())
}

impl JobTraffics {
    /// What was moved in these ways, on the hosts where the ranks were.
    pub fn measured(jobs: &[Job], ways: &[Moved]) -> Self {
        Self::on(jobs, ways, |job, rank| jobs[job].hosts[rank as usize])
    }

    /// On other hosts, by job and rank.
    pub fn on(jobs: &[Job], ways: &[Moved], host: impl Fn(usize, u32) -> Option<NodeId>) -> Self {
        let parts = parts(jobs);
        let number: BTreeMap<&Part, u32> = parts.iter().zip(0..).collect();
        let (mut sent, mut unplaced_bytes) = (Vec::new(), 0u64);
        for (index, job) in jobs.iter().enumerate() {
            // Of each file's records.
            let numbers: Vec<BTreeMap<(&str, Option<u32>), u32>> = (0..job.profile.files.len())
                .map(|file| {
                    let regions = job.profile.files[file].regions.iter();
                    regions.map(|r| ((r.name.as_str(), r.call_site), number[&job.part(index, file, r)])).collect()
                })
                .collect();
            for way in ways {
                job.profile.for_each_record(*way, |file, region, from, to, t| {
                    match (host(index, from), host(index, to)) {
                        (Some(src), Some(dst)) => {
                            sent.push((numbers[file][&(region.name.as_str(), region.call_site)], src, dst, t.bytes));
                        }
                        _ => unplaced_bytes = unplaced_bytes.saturating_add(t.bytes),
                    }
                });
            }
        }
        Self { traffics: HostTraffics::new(sent), parts, unplaced_bytes }
    }

    /// The same traffic by job and region alone, with what each number stands for.
    pub fn by_region(&self) -> (HostTraffics, Vec<(usize, String)>) {
        let mut regions: Vec<(usize, String)> = Vec::new();
        let number = |part: &Part| {
            let same = |(job, region): &(usize, String)| (*job, region) == (part.job, &part.region);
            regions.iter().position(same).unwrap_or_else(|| {
                regions.push((part.job, part.region.clone()));
                regions.len() - 1
            }) as u32
        };
        let numbers: Vec<u32> = self.parts.iter().map(number).collect();
        (self.traffics.merged(&numbers), regions)
    }
}

impl Job {
    fn part(&self, job: usize, file: usize, region: &optiq_trace::profile::rank_file::Region) -> Part {
        let line = region.call_site.and_then(|site| self.lines.number(file, site));
        Part { job, region: region.name.clone(), line: line.map(|line| self.lines.lines[line as usize].clone()) }
    }
}

/// All parts: by job, and within that in the order in which the ranks came to their regions.
fn parts(jobs: &[Job]) -> Vec<Part> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        for (file, profile) in job.profile.files.iter().enumerate() {
            let parts = profile.regions.iter().map(|region| job.part(index, file, region));
            all.extend(parts.filter(|part| seen.insert(part.clone())));
        }
    }
    all
}
