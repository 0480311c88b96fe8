//! The traces of all ranks of a session, on one clock.

use crate::error::TraceError;
use crate::folder::with_extension;
use crate::ids::{NO_PEER, PathId, Rank};
use crate::options::EXTENSION;
use crate::rank_trace::{Leg, RankTrace};
use crate::record::{Call, EventKind, Outcome, Record};
use crate::summary::{CallSummary, ChunkKey, Journey, PairPath, RankSummary, SlowestLeg, Step, Stretch, WaitSummary};
use std::collections::BTreeMap;
use std::path::Path;

/// Paths of a call at ranks.
type Legs = BTreeMap<(PathId, Rank), Leg>;

/// The traces of one session. All times that it gives are nanoseconds since the start of its first call.
#[derive(Clone, Debug)]
pub struct Run {
    files: Vec<RankTrace>,
    origin: i64,
    skipped: Vec<TraceError>,
}

impl Run {
    /// All sessions that left files in a directory, the one that began last first. Files that cannot be read are left out
    /// ([`Run::skipped`]): a full disk leaves empty ones, and one rank's bad luck must not hide what the others recorded.
    ///
    /// # Errors
    /// [`TraceError`] if the directory cannot be read or holds no trace, or no file in it can be read: what is wrong with the first.
    pub fn load(directory: &Path) -> Result<Vec<Run>, TraceError> {
        let paths = with_extension(directory, EXTENSION)?;
        let mut sessions: BTreeMap<u64, Vec<RankTrace>> = BTreeMap::new();
        let mut skipped = Vec::new();
        for path in paths {
            match RankTrace::load(&path) {
                Ok(trace) => sessions.entry(trace.session).or_default().push(trace),
                Err(error) => skipped.push(error),
            }
        }
        if let (true, Some(first)) = (sessions.is_empty(), skipped.first()) {
            return Err(first.clone());
        }
        let mut runs = sessions.into_values().map(Run::new).collect::<Result<Vec<Run>, _>>()?;
        runs.iter_mut().for_each(|run| run.skipped.clone_from(&skipped));
        runs.sort_by_key(|r| std::cmp::Reverse(r.wall()));
        Ok(runs)
    }

    /// The traces of one session, at most one of each rank.
    ///
    /// # Errors
    /// [`TraceError::Set`] if they do not belong together.
    pub fn new(mut files: Vec<RankTrace>) -> Result<Run, TraceError> {
        files.sort_by_key(|f| f.rank);
        for pair in files.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            let (first, second) = (a.path.display(), b.path.display());
            if (a.session, a.ranks) != (b.session, b.ranks) {
                let what = format!("{first} and {second} are of different sessions: {} and {} ranks", a.ranks, b.ranks);
                return Err(TraceError::Set(what));
            }
            if a.rank == b.rank {
                return Err(TraceError::Set(format!("{first} and {second} are both of rank {}", a.rank)));
            }
        }
        if files.is_empty() {
            return Err(TraceError::Set("there is no trace".into()));
        }
        let starts = files.iter().filter_map(|f| {
            let first = f.calls.iter().map(|c| c.start).chain(f.records.iter().map(|r| r.time)).min()?;
            Some(first.cast_signed().saturating_add(f.offset))
        });
        let origin = starts.min().unwrap_or(0);
        Ok(Run { files, origin, skipped: Vec::new() })
    }

    /// The files of the directory that could not be read, of this session or of another one: why each.
    pub fn skipped(&self) -> &[TraceError] {
        &self.skipped
    }

    /// The session's number.
    pub fn session(&self) -> u64 {
        self.files[0].session
    }

    /// How many ranks the session has.
    pub fn ranks(&self) -> u32 {
        self.files[0].ranks
    }

    /// The transport's name.
    pub fn transport(&self) -> &str {
        &self.files[0].transport
    }

    /// Nanoseconds since 1970 at its beginning, by the first rank that left a trace.
    pub fn wall(&self) -> u64 {
        self.files[0].wall
    }

    /// How wrong times of different ranks may be to each other: the worst rank's clock, in nanoseconds.
    pub fn clock_error(&self) -> u64 {
        self.files.iter().map(|f| f.error).max().unwrap_or(0)
    }

    /// The files, by rank.
    pub fn files(&self) -> &[RankTrace] {
        &self.files
    }

    /// Ranks without a file.
    pub fn missing(&self) -> Vec<Rank> {
        let found: Vec<Rank> = self.files.iter().map(|f| f.rank).collect();
        // Files bound how many ranks are looked at: beyond the last one, a range says it.
        let last = found.last().map_or(0, |l| l.0 + 1);
        let absent = (0..last).map(Rank).filter(|r| found.binary_search(r).is_err());
        let mut missing: Vec<Rank> = absent.take(1 << 16).collect();
        missing.extend((last..self.ranks()).map(Rank).take(1 << 16));
        missing
    }

    /// Nanoseconds since the first call's start of a stamp of one rank.
    pub fn at(&self, file: &RankTrace, time: u64) -> u64 {
        time.cast_signed().saturating_add(file.offset).saturating_sub(self.origin).max(0).cast_unsigned()
    }

    /// The calls; all of them, or the one of that number.
    pub fn calls(&self, only: Option<u32>) -> Vec<CallSummary> {
        let mut calls: BTreeMap<u32, CallSummary> = BTreeMap::new();
        for file in &self.files {
            for call in chosen(&file.calls, only) {
                let (start, end) = (self.at(file, call.start), self.at(file, call.end));
                let sum = calls.entry(call.number).or_insert_with(|| CallSummary {
                    number: call.number,
                    start,
                    end,
                    outcome: call.outcome,
                    served_by: call.served_by.clone(),
                    ranks: 0,
                    paths: 0,
                    chunks: 0,
                    bytes: 0,
                    forwarded_bytes: 0,
                });
                sum.start = sum.start.min(start);
                sum.end = sum.end.max(end);
                if call.outcome == Outcome::Failed {
                    sum.outcome = Outcome::Failed;
                }
                sum.ranks += 1;
                let legs = file.table(call).map_or(&[][..], |t| &t.legs);
                sum.paths += legs.iter().filter(|l| l.from.is_none()).count();
                sum.chunks = sum.chunks.saturating_add(call.sent);
                sum.bytes = sum.bytes.saturating_add(call.sent_bytes);
                sum.forwarded_bytes = sum.forwarded_bytes.saturating_add(call.forwarded_bytes);
            }
        }
        calls.into_values().collect()
    }

    /// What each rank's time went into, over all calls or one.
    pub fn rank_summaries(&self, only: Option<u32>) -> Vec<RankSummary> {
        let summary = |file: &RankTrace| {
            let count = records(file, only).count() as u64;
            let mut sum =
                RankSummary { rank: file.rank, records: count, complete: file.complete, ..RankSummary::default() };
            let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
            for call in chosen(&file.calls, only) {
                sum.calls += 1;
                add(&mut sum.time, call.end - call.start);
                add(&mut sum.waiting, call.waiting);
                add(&mut sum.copying, call.copying);
                add(&mut sum.forwarding, call.forwarding);
                add(&mut sum.own, call.own);
                add(&mut sum.plain, call.plain);
                add(&mut sum.sent.0, call.sent);
                add(&mut sum.sent.1, call.sent_bytes);
                add(&mut sum.forwarded.0, call.forwarded);
                add(&mut sum.forwarded.1, call.forwarded_bytes);
                add(&mut sum.delivered.0, call.delivered);
                add(&mut sum.delivered.1, call.delivered_bytes);
                add(&mut sum.dropped, call.dropped);
            }
            for wait in records(file, only).filter(|r| r.kind == EventKind::Waited) {
                match wait.cause {
                    Some(EventKind::Received) => add(&mut sum.for_chunks, wait.duration),
                    Some(EventKind::Completed) => add(&mut sum.for_confirmations, wait.duration),
                    _ => {}
                }
            }
            sum
        };
        self.files.iter().map(summary).collect()
    }

    /// The longest waits, longest first.
    pub fn longest_waits(&self, only: Option<u32>, most: usize) -> Vec<WaitSummary> {
        let mut waits: Vec<WaitSummary> = Vec::new();
        for file in &self.files {
            for r in records(file, only).filter(|r| r.kind == EventKind::Waited) {
                waits.push(WaitSummary {
                    rank: file.rank,
                    call: r.call,
                    start: self.at(file, r.time),
                    duration: r.duration,
                    cause: r.cause,
                    peer: (r.peer != NO_PEER).then_some(r.peer),
                    path: r.path,
                    sequence: r.sequence,
                });
            }
        }
        waits.sort_by_key(|w| (std::cmp::Reverse(w.duration), w.start, w.rank));
        waits.truncate(most);
        waits
    }

    /// Every stretch of every rank's time that is recorded, and calls that plain MPI served; by rank, then by time.
    pub fn stretches(&self, only: Option<u32>) -> Vec<Stretch> {
        let mut all = Vec::new();
        for file in &self.files {
            let rank = file.rank;
            let from = all.len();
            for r in records(file, only) {
                let (call, start, duration) = (r.call, self.at(file, r.time), r.duration);
                let stretch = Stretch { rank, call, start, duration, ..Stretch::default() };
                match r.kind {
                    EventKind::Waited => {
                        let cause = r.cause.filter(|_| r.peer != NO_PEER).map(|kind| (kind, r.peer));
                        all.push(Stretch { waiting: duration, cause, ..stretch });
                    }
                    EventKind::Worked => {
                        let copying = r.bytes.min(duration);
                        let forwarding = r.sequence.min(duration - copying);
                        all.push(Stretch { copying, forwarding, ..stretch });
                    }
                    _ => {}
                }
            }
            for c in chosen(&file.calls, only).filter(|c| c.outcome == Outcome::Plain) {
                let (call, start, duration) = (c.number, self.at(file, c.start), c.end - c.start);
                all.push(Stretch { rank, call, start, duration, plain: duration, ..Stretch::default() });
            }
            all[from..].sort_by_key(|s| s.start);
        }
        all
    }

    /// Paths of a call at every rank that recorded it.
    fn legs(&self, call: u32) -> Legs {
        let mut legs = BTreeMap::new();
        for file in &self.files {
            let head = file.calls.binary_search_by_key(&call, |c| c.number).ok().map(|i| &file.calls[i]);
            let table = head.and_then(|c| file.table(c));
            legs.extend(table.into_iter().flat_map(|t| &t.legs).map(|l| ((l.path, file.rank), *l)));
        }
        legs
    }

    /// What every chunk that is recorded did, in all calls or one.
    pub fn journeys(&self, only: Option<u32>) -> BTreeMap<ChunkKey, Journey> {
        let mut journeys: BTreeMap<ChunkKey, Journey> = BTreeMap::new();
        for file in &self.files {
            for r in records(file, only)
                .filter(|r| matches!(r.kind, EventKind::Sent | EventKind::Completed | EventKind::Received))
            {
                let key = ChunkKey { call: r.call, path: r.path, sequence: r.sequence };
                let journey = journeys.entry(key).or_default();
                journey.bytes = journey.bytes.max(r.bytes);
                // Files are sorted by rank, so the step of this rank is the last one, if it exists.
                if journey.steps.last().is_none_or(|s| s.rank != file.rank) {
                    journey.steps.push(Step { rank: file.rank, received: None, sent: None, completed: None });
                }
                let time = Some(self.at(file, r.time));
                if let Some(step) = journey.steps.last_mut() {
                    match r.kind {
                        EventKind::Sent => step.sent = time,
                        EventKind::Completed => step.completed = time,
                        _ => step.received = time,
                    }
                }
            }
        }
        let mut known: Option<(u32, Legs)> = None;
        let mut chain: (Option<(u32, PathId)>, Vec<Rank>) = (None, Vec::new());
        for (key, journey) in &mut journeys {
            if known.as_ref().is_none_or(|k| k.0 != key.call) {
                known = Some((key.call, self.legs(key.call)));
            }
            let Some((_, legs)) = &known else { continue };
            if chain.0 != Some((key.call, key.path)) {
                chain = (Some((key.call, key.path)), follow(legs, key.path).0);
            }
            let place = |rank: Rank| chain.1.iter().position(|&r| r == rank).unwrap_or(usize::MAX);
            journey.steps.sort_by_key(|s| (place(s.rank), s.received.or(s.sent).or(s.completed)));
        }
        journeys
    }

    /// How the bytes from one rank to another went, the path with most bytes first.
    pub fn pair(&self, source: Rank, destination: Rank, only: Option<u32>) -> Vec<PairPath> {
        let mut found: BTreeMap<Vec<Rank>, PairPath> = BTreeMap::new();
        let mut places: BTreeMap<(u32, PathId), Vec<Rank>> = BTreeMap::new();
        for call in self.calls(only) {
            let legs = self.legs(call.number);
            let mut seen: Vec<PathId> = Vec::new();
            for leg in legs.values().filter(|l| (l.source, l.destination) == (source, destination)) {
                if seen.last() == Some(&leg.path) {
                    continue;
                }
                seen.push(leg.path);
                let (ranks, known) = follow(&legs, leg.path);
                let path = found.entry(ranks.clone()).or_insert_with(|| PairPath {
                    ranks: ranks.clone(),
                    known,
                    bytes: 0,
                    paths: 0,
                    chunks: 0,
                    first: None,
                    last: None,
                    slowest: None,
                });
                path.bytes = path.bytes.saturating_add(leg.bytes);
                path.paths += 1;
                places.insert((call.number, leg.path), ranks);
            }
        }
        // Sums of times per leg of each path, and how many.
        let mut took: BTreeMap<(&[Rank], usize), (u128, u64)> = BTreeMap::new();
        for (key, journey) in self.journeys(only) {
            let Some(ranks) = places.get(&(key.call, key.path)) else { continue };
            let Some(path) = found.get_mut(ranks) else { continue };
            path.chunks += 1;
            for step in &journey.steps {
                if step.rank == source {
                    path.first = [path.first, step.sent].into_iter().flatten().min();
                }
                if step.rank == destination {
                    path.last = path.last.max(step.received);
                }
            }
            for (i, leg) in ranks.windows(2).enumerate() {
                let step = |rank| journey.steps.iter().find(|s| s.rank == rank);
                let (sent, received) = (step(leg[0]).and_then(|s| s.sent), step(leg[1]).and_then(|s| s.received));
                if let (Some(sent), Some(received)) = (sent, received) {
                    let sum = took.entry((ranks, i)).or_default();
                    sum.0 += u128::from(received.saturating_sub(sent));
                    sum.1 += 1;
                }
            }
        }
        for ((ranks, leg), (sum, chunks)) in took {
            let mean = (sum / u128::from(chunks)) as u64;
            if let Some(path) = found.get_mut(ranks)
                && path.slowest.is_none_or(|s| s.mean < mean)
            {
                path.slowest = Some(SlowestLeg { from: ranks[leg], to: ranks[leg + 1], mean, chunks });
            }
        }
        let mut paths: Vec<PairPath> = found.into_values().collect();
        paths.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.ranks.cmp(&b.ranks)));
        paths
    }
}

fn chosen(calls: &[Call], only: Option<u32>) -> impl Iterator<Item = &Call> {
    calls.iter().filter(move |c| only.is_none_or(|n| n == c.number))
}

fn records(file: &RankTrace, only: Option<u32>) -> impl Iterator<Item = &Record> {
    file.records.iter().filter(move |r| only.is_none_or(|n| n == r.call))
}

/// The ranks of a path from its source on, and whether all are known. Files may contradict each other, so that no rank
/// is followed twice.
fn follow(legs: &Legs, path: PathId) -> (Vec<Rank>, bool) {
    let Some((_, any)) = legs.range((path, Rank(0))..=(path, Rank(u32::MAX))).next() else {
        return (Vec::new(), false);
    };
    let mut ranks = vec![any.source];
    let mut at = any.source;
    while at != any.destination {
        match legs.get(&(path, at)).and_then(|l| l.to) {
            Some(next) if !ranks.contains(&next) => {
                ranks.push(next);
                at = next;
            }
            _ => {
                ranks.push(any.destination);
                return (ranks, false);
            }
        }
    }
    (ranks, true)
}
