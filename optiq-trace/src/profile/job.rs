//! The profiles of all ranks of a job.
//!
//! Messages are counted where they are sent, so what a rank received is what the others sent to it: the sum over their files, by
//! *their* regions. Of a rank whose file is missing nothing is known of what it sent.

use super::call_lines::CallLines;
use super::rank_file::{RankProfile, Region, Row};
use crate::error::TraceError;
use crate::folder::in_folder;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Messages and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Traffic {
    /// Adds what others sent; no more than 64 bits can count.
    pub fn add(&mut self, messages: u64, bytes: u64) {
        self.messages = self.messages.saturating_add(messages);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// How bytes were moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// As messages, those of collectives among them.
    Sent,
    /// By one-sided calls that put.
    Put,
    /// By one-sided calls that get: from the peer to the rank that counts.
    Got,
}

/// The profiles of the ranks of one job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobProfile {
    /// Those of the ranks whose files are there, ascending.
    pub files: Vec<RankProfile>,
    /// Ranks whose files are missing: they ended before `MPI_Finalize`.
    pub missing: Vec<u32>,
    /// Files that cannot be read, and why.
    pub unreadable: Vec<TraceError>,
}

impl JobProfile {
    /// Reads all profiles of a folder. Files that cannot be read are left out and listed, as long as one can be.
    ///
    /// # Errors
    /// [`TraceError`] if the folder cannot be read or holds no profile, if no file can be read (what is wrong with the first), and
    /// if the files are not of one job.
    pub fn load(folder: &Path) -> Result<Self, TraceError> {
        let none = "holds no profile; files such as optiq-profile-00000.json are expected, as a run under optiq profile writes";
        let paths = in_folder(folder, RankProfile::is_named, none)?;
        let (mut files, mut unreadable) = (Vec::new(), Vec::new());
        for path in paths {
            match RankProfile::read(&path) {
                Ok(profile) => files.push((path, profile)),
                Err(error) => unreadable.push(error),
            }
        }
        if let (true, Some(first)) = (files.is_empty(), unreadable.first()) {
            return Err(first.clone());
        }
        let mut profile = Self::new(files)?;
        profile.unreadable = unreadable;
        Ok(profile)
    }

    /// The profiles of one job, with their paths.
    ///
    /// # Errors
    /// [`TraceError::Set`] if there are none, or if they are not of one job.
    pub fn new(mut files: Vec<(PathBuf, RankProfile)>) -> Result<Self, TraceError> {
        files.sort_by_key(|(_, f)| f.rank);
        let Some((first, one)) = files.first() else { return Err(TraceError::Set("there is no profile".into())) };
        for (path, other) in &files[1..] {
            let [a, b] = [first, path].map(|p| p.display());
            if (&one.job, one.ranks) != (&other.job, other.ranks) {
                let of = |f: &RankProfile| format!("job \"{}\" with {} ranks", f.job, f.ranks);
                let what = format!("{a} is of {} and {b} of {}; the files of one job are expected", of(one), of(other));
                return Err(TraceError::Set(what));
            }
        }
        if let Some(pair) = files.windows(2).find(|pair| pair[0].1.rank == pair[1].1.rank) {
            let (a, b) = (pair[0].0.display(), pair[1].0.display());
            return Err(TraceError::Set(format!("{a} and {b} are both of rank {}", pair[0].1.rank)));
        }
        let there: BTreeSet<u32> = files.iter().map(|(_, f)| f.rank).collect();
        let missing = (0..one.ranks).filter(|rank| !there.contains(rank)).collect();
        Ok(Self { files: files.into_iter().map(|(_, f)| f).collect(), missing, unreadable: Vec::new() })
    }

    /// Ranks of the job.
    pub fn ranks(&self) -> u32 {
        self.files.first().map_or(0, |f| f.ranks)
    }

    /// The names of all regions, in the order in which the ranks entered them first, rank by rank.
    pub fn regions(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let all = self.files.iter().flat_map(|f| &f.regions).map(|r| r.name.as_str());
        all.filter(|name| seen.insert(*name)).collect()
    }

    /// A profile of some regions alone: the one of this name and those inside it; an empty name is what is in no region.
    ///
    /// # Errors
    /// [`TraceError::Set`] if no rank was in such a region; the sentence lists those that there are.
    pub fn only(mut self, region: &str) -> Result<Self, TraceError> {
        if !self.regions().into_iter().any(|name| is_within(name, region)) {
            let there: Vec<String> = self.regions().iter().map(|name| format!("\"{name}\"")).collect();
            let there = there.join(", ");
            return Err(TraceError::Set(format!(
                "there is no region \"{region}\" in the profile; {there} are expected"
            )));
        }
        for file in &mut self.files {
            file.regions.retain(|r| is_within(&r.name, region));
        }
        Ok(self)
    }

    /// Calls `each` with (region, source, destination, messages and bytes) for everything that was moved in one way, by region and
    /// rank. What was got has its owner as the source.
    pub fn for_each(&self, moved: Moved, mut each: impl FnMut(&str, u32, u32, Traffic)) {
        self.for_each_record(moved, |_, region, from, to, t| each(&region.name, from, to, t));
    }

    /// As [`JobProfile::for_each`], with the index of the file in [`JobProfile::files`] and the record of the region.
    pub fn for_each_record(&self, moved: Moved, mut each: impl FnMut(usize, &Region, u32, u32, Traffic)) {
        for (index, file) in self.files.iter().enumerate() {
            for region in &file.regions {
                for &Row(peer, messages, bytes) in rows(region, moved) {
                    let (from, to) = if moved == Moved::Got { (peer, file.rank) } else { (file.rank, peer) };
                    each(index, region, from, to, Traffic { messages, bytes });
                }
            }
        }
    }

    /// The calls of the program that were counted apart: lines, by debug information that is read now.
    pub fn call_lines(&self) -> CallLines {
        CallLines::of(&self.files)
    }

    /// What was moved in one way between pairs of ranks, by (source, destination).
    pub fn pairs(&self, moved: Moved) -> BTreeMap<(u32, u32), Traffic> {
        let mut pairs: BTreeMap<(u32, u32), Traffic> = BTreeMap::new();
        self.for_each(moved, |_, from, to, t| pairs.entry((from, to)).or_default().add(t.messages, t.bytes));
        pairs
    }

    /// What is not known: ranks whose files are missing, cannot be read, or were written before the end; empty if all is well.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps: Vec<String> = self.unreadable.iter().map(ToString::to_string).collect();
        // The ranks of unreadable files are among the missing ones.
        if !self.missing.is_empty() {
            gaps.push(format!("no profile of rank {}: what they sent is not known", list(&self.missing)));
        }
        let early: Vec<u32> = self.files.iter().filter(|f| !f.complete).map(|f| f.rank).collect();
        if !early.is_empty() {
            gaps.push(format!("rank {} did not come to MPI_Finalize; the profile ends at a signal", list(&early)));
        }
        gaps
    }
}

/// The rows of a region for one way of moving bytes.
fn rows(region: &Region, moved: Moved) -> &[Row] {
    match moved {
        Moved::Sent => &region.sent,
        Moved::Put => &region.put,
        Moved::Got => &region.got,
    }
}

fn is_within(name: &str, region: &str) -> bool {
    name == region || !region.is_empty() && name.strip_prefix(region).is_some_and(|rest| rest.starts_with('/'))
}

/// Ranks as `1, 5-7`.
fn list(ranks: &[u32]) -> String {
    let mut text = Vec::new();
    for run in ranks.chunk_by(|a, b| a + 1 == *b) {
        text.push(match run {
            [one] => one.to_string(),
            _ => format!("{}-{}", run[0], run[run.len() - 1]),
        });
    }
    text.join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::super::rank_file::{SCHEMA, Source};
    use super::*;

    fn rank(rank: u32, ranks: u32, regions: Vec<Region>) -> (PathBuf, RankProfile) {
        let profile = RankProfile {
            schema: SCHEMA.into(),
            job: "1".into(),
            rank,
            ranks,
            host: format!("h{rank}"),
            library: String::new(),
            source: Source { name: "pml_monitoring".into(), collectives: true },
            complete: true,
            unmatched_ends: 0,
            merged_entries: 0,
            counter_bytes: 0,
            interfaces: Vec::new(),
            connections: Vec::new(),
            call_sites: Vec::new(),
            regions,
        };
        (PathBuf::from(format!("f{rank}")), profile)
    }

    fn region(name: &str, sent: &[Row]) -> Region {
        Region { name: name.into(), sent: sent.to_vec(), ..Region::default() }
    }

    #[test]
    fn pairs_are_sums_over_regions_and_regions_contain_inner_ones() {
        let a = rank(0, 3, vec![region("", &[Row(1, 1, 10)]), region("s", &[Row(1, 2, 5)])]);
        let mut inner = region("s/t", &[Row(0, 1, 7)]);
        inner.got = vec![Row(2, 1, 100)];
        let b = rank(1, 3, vec![region("", &[]), inner, region("so", &[Row(2, 1, 1)])]);
        let profile = JobProfile::new(vec![b, a]).unwrap();
        assert_eq!((profile.ranks(), &profile.missing[..]), (3, &[2][..]));
        assert_eq!(profile.regions(), ["", "s", "s/t", "so"]);
        let pairs = profile.pairs(Moved::Sent);
        assert_eq!(pairs[&(0, 1)], Traffic { messages: 3, bytes: 15 });
        assert_eq!(
            profile.pairs(Moved::Got).into_iter().collect::<Vec<_>>(),
            [((2, 1), Traffic { messages: 1, bytes: 100 })]
        );
        let within = profile.clone().only("s").unwrap().pairs(Moved::Sent);
        assert_eq!(within.values().map(|t| t.bytes).sum::<u64>(), 12);
        assert_eq!(profile.clone().only("").unwrap().pairs(Moved::Sent).len(), 1);
        assert!(profile.clone().only("x").unwrap_err().to_string().contains("\"s/t\", \"so\" are expected"));
        assert!(profile.gaps()[0].contains("no profile of rank 2"), "{:?}", profile.gaps());
    }

    #[test]
    fn files_of_two_jobs_are_refused() {
        let (a, mut b) = (rank(0, 2, Vec::new()), rank(1, 2, Vec::new()));
        b.1.job = "2".into();
        let text = JobProfile::new(vec![a.clone(), b]).unwrap_err().to_string();
        assert!(text.contains("f0 is of job \"1\" with 2 ranks and f1 of job \"2\""), "{text}");
        assert!(JobProfile::new(vec![a.clone(), rank(1, 3, Vec::new())]).is_err());
        assert!(JobProfile::new(vec![a.clone(), a]).unwrap_err().to_string().contains("both of rank 0"));
    }

    #[test]
    fn ranks_are_listed_in_runs() {
        assert_eq!(list(&[1, 5, 6, 7, 9, 10]), "1, 5-7, 9-10");
    }
}
