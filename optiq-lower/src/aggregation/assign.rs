//! Which bytes of a file go to which server.
//!
//! *Balanced*: the bytes that are accessed, in file order and without the holes between them, are cut into one contiguous
//! range for each server, as long as the server is fast. A cut that comes close to the border of a rank's bytes is moved
//! there, so that few ranks have to do with two servers. Ranges then change places between equally fast servers as long as
//! that brings them closer to the ranks that have their bytes.
//!
//! *Default*: each rank's bytes go to the server that its host uses by default, whatever that makes of the load.

use super::servers::Servers;
use crate::constants::BORDER_SNAP;
use crate::placement::Placement;
use optiq_transport::Rank;
use std::collections::BTreeMap;
use std::str::FromStr;

/// The rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// As much to each server as it can take, in contiguous ranges of the file.
    Balanced,
    /// Each host's bytes to its default I/O host.
    Default,
}

impl FromStr for Assignment {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "balanced" => Ok(Assignment::Balanced),
            "default" => Ok(Assignment::Default),
            _ => Err(()),
        }
    }
}

/// The bytes of a file that one rank accesses, counted in what its view shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The first byte.
    pub start: u64,
    /// How many.
    pub bytes: u64,
}

impl Extent {
    /// The first byte behind it.
    pub fn end(&self) -> u64 {
        self.start + self.bytes
    }
}

/// A part of a rank's extent that one server handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The rank that has the bytes, or wants them.
    pub rank: Rank,
    /// Where they are in the file.
    pub extent: Extent,
}

/// More pairs of servers than this are not compared for who is closer.
const MAX_PAIRS: usize = 1 << 22;

/// Extents that hold bytes, ascending by start, then rank.
pub fn in_order(extents: &[Extent]) -> Vec<Share> {
    let shares = (0..).map(Rank).zip(extents).map(|(rank, &extent)| Share { rank, extent });
    let mut shares: Vec<Share> = shares.filter(|s| s.extent.bytes > 0).collect();
    shares.sort_by_key(|s| (s.extent.start, s.rank));
    shares
}

/// Whether any byte belongs to two shares, which are in order.
pub fn overlap(shares: &[Share]) -> Option<(Rank, Rank)> {
    let mut last: Option<&Share> = None;
    for share in shares {
        if let Some(last) = last.filter(|l| l.extent.end() > share.extent.start) {
            return Some((last.rank, share.rank));
        }
        if last.is_none_or(|l| l.extent.end() < share.extent.end()) {
            last = Some(share);
        }
    }
    None
}

/// Runs of bytes without holes between them, each with its place in the row of all of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    /// (start in the file, place in the row), ascending.
    starts: Vec<(u64, u64)>,
    total: u64,
}

impl Runs {
    /// Of shares that are in order; they may overlap.
    pub(super) fn new(shares: &[Share]) -> Self {
        let mut runs = Runs::default();
        let mut end = None;
        for Share { extent, .. } in shares {
            if end.is_none_or(|end| extent.start > end) {
                runs.starts.push((extent.start, runs.total));
                end = Some(extent.start);
            }
            let reached = end.unwrap_or(extent.start);
            if extent.end() > reached {
                runs.total += extent.end() - reached;
                end = Some(extent.end());
            }
        }
        runs
    }

    /// Bytes of all runs.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The place in the row of a byte that is in a run, or just behind one.
    pub(super) fn place(&self, at: u64) -> u64 {
        let run = self.starts.partition_point(|&(start, _)| start <= at).saturating_sub(1);
        self.starts.get(run).map_or(0, |&(start, place)| place + at.saturating_sub(start))
    }

    /// The parts of the file at these places of the row, ascending.
    pub(super) fn parts(&self, places: std::ops::Range<u64>) -> impl Iterator<Item = Extent> + '_ {
        let first = self.starts.partition_point(|&(_, place)| place <= places.start).saturating_sub(1);
        let number = self.starts.len();
        (first..number).map_while(move |i| {
            let (start, place) = self.starts[i];
            let behind = self.starts.get(i + 1).map_or(self.total, |next| next.1);
            let (from, to) = (places.start.max(place), places.end.min(behind));
            (place < places.end).then(|| Extent { start: start + (from - place), bytes: to.saturating_sub(from) })
        })
    }
}

/// The shares of each server, ascending by start, then rank. No rank has two shares at one server. Cuts are multiples of
/// `unit` bytes behind the start of an extent; extents should start and end at multiples of it, but for the very last.
///
/// Deterministic, in integers: ranks that call it with the same arguments get the same.
pub fn assign(
    servers: &Servers,
    placement: &Placement,
    extents: &[Extent],
    rule: Assignment,
    unit: u64,
) -> Vec<Vec<Share>> {
    let shares = in_order(extents);
    match rule {
        Assignment::Balanced => balanced(servers, placement, &shares, unit.max(1)),
        Assignment::Default => {
            let mut of: Vec<Vec<Share>> = vec![Vec::new(); servers.list().len()];
            for share in shares {
                of[servers.default_of(placement.host(share.rank))].push(share);
            }
            of
        }
    }
}

fn balanced(servers: &Servers, placement: &Placement, shares: &[Share], unit: u64) -> Vec<Vec<Share>> {
    let runs = Runs::new(shares);
    let cuts = cuts(servers, shares, &runs, unit);
    let mut ranges: Vec<Vec<Share>> = vec![Vec::new(); cuts.len() - 1];
    for share in shares {
        // A share's bytes are one run's, so that their places follow each other.
        let start = runs.place(share.extent.start);
        let end = start + share.extent.bytes;
        let first = cuts[1..].partition_point(|&cut| cut <= start);
        for (range, pair) in ranges.iter_mut().zip(cuts.windows(2)).skip(first) {
            let (from, to) = (start.max(pair[0]), end.min(pair[1]));
            if pair[0] >= end {
                break;
            }
            if from < to {
                let extent = Extent { start: share.extent.start + (from - start), bytes: to - from };
                range.push(Share { rank: share.rank, extent });
            }
        }
    }
    closer(servers, placement, ranges)
}

/// Where ranges begin and end in the row of all bytes: one more number than there are servers, ascending.
fn cuts(servers: &Servers, shares: &[Share], runs: &Runs, unit: u64) -> Vec<u64> {
    let weights: Vec<u128> = servers.list().iter().map(|s| u128::from(s.weight)).collect();
    let all: u128 = weights.iter().sum();
    let total = runs.total();
    let mut borders: Vec<u64> = shares.iter().map(|s| runs.place(s.extent.start)).collect();
    borders.dedup();
    let mut cuts = vec![0];
    let mut until = 0;
    for pair in weights.windows(2) {
        until += pair[0];
        let exact = (u128::from(total) * until / all) as u64;
        let near = (u128::from(total) * pair[0].min(pair[1]) / all / BORDER_SNAP) as u64;
        let next = borders.partition_point(|&b| b < exact);
        let around = [next.checked_sub(1), Some(next)].into_iter().flatten().filter_map(|i| borders.get(i).copied());
        let border = around.min_by_key(|b| b.abs_diff(exact)).filter(|b| b.abs_diff(exact) <= near);
        let cut = border.unwrap_or(exact - exact % unit);
        cuts.push(cut.max(cuts.last().copied().unwrap_or(0)));
    }
    cuts.push(total);
    cuts
}

/// Gives ranges to servers: the first to the first, then pairs of equally fast servers change theirs if that saves hops.
fn closer(servers: &Servers, placement: &Placement, ranges: Vec<Vec<Share>>) -> Vec<Vec<Share>> {
    let count = ranges.len();
    if count < 2 || count * count > MAX_PAIRS {
        return ranges;
    }
    // Bytes times hops of each range to each server.
    let hops: Vec<Vec<u128>> = ranges
        .iter()
        .map(|range| {
            let mut bytes = BTreeMap::new();
            for share in range {
                *bytes.entry(placement.host(share.rank)).or_insert(0u128) += u128::from(share.extent.bytes);
            }
            let to = |s| bytes.iter().map(|(&host, &b)| b * u128::from(servers.distance(s, host))).sum();
            (0..count).map(to).collect()
        })
        .collect();
    let mut range_of: Vec<usize> = (0..count).collect();
    let list = servers.list();
    // Each swap saves hops, so this ends; it is cut short after a few rounds, which are enough in practice.
    for _ in 0..8 {
        let mut swapped = false;
        for a in 0..count {
            for b in a + 1..count {
                let (x, y) = (range_of[a], range_of[b]);
                if list[a].weight == list[b].weight && hops[y][a] + hops[x][b] < hops[x][a] + hops[y][b] {
                    range_of.swap(a, b);
                    swapped = true;
                }
            }
        }
        if !swapped {
            break;
        }
    }
    let mut ranges: Vec<Option<Vec<Share>>> = ranges.into_iter().map(Some).collect();
    range_of.into_iter().map(|r| ranges[r].take().unwrap_or_default()).collect()
}
