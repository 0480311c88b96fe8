//! What was sent to whom in which region of the code, from readings of counters that only grow.
//!
//! Let `c(p, t)` be the counter of peer `p` at time `t`, and `t0 < t1 < ...` the bounds of regions. The bytes of region `r` are the sum of
//! `c(p, t(i+1)) - c(p, t(i))` over the intervals during which `r` was the innermost region. The intervals do not overlap and leave nothing
//! out, so the sum over regions is the counter. Counters are read at bounds only; in between the recorder costs nothing.
//!
//! Call sites are regions within regions: from the beginning of a call of MPI on, what grows belongs to the place of the program that made it,
//! up to the next call or bound of a region. Between calls nothing is sent, so that readings are needed only where the place changes, and
//! what a library sends later, for a call that returned at once, belongs to the place where it was started, unless another call came between.
//! Time is that inside of calls.
//!
//! Memory: 16 B for each peer in use and record (of a region, or of a call site in one), and 24 B more for each peer in use; it does not grow
//! with time. Regions beyond [`MOST_REGIONS`] and records beyond [`MOST_RECORDS`] are not kept apart.

use optiq_trace::profile::rank_file::{FileTraffic, Region, Row};
use optiq_transport::mpi::monitoring::Counted;
use std::collections::BTreeMap;

/// Regions that are kept apart, in any nesting. 1,024 with 10,000 peers each are 160 MB, and no page shows more.
pub(super) const MOST_REGIONS: usize = 1024;

/// Records of regions and of call sites in them.
pub(super) const MOST_RECORDS: usize = 4 * MOST_REGIONS;

/// Regions within regions. Deeper ones are part of the one around them: a program that never ends its regions must not grow.
const DEEPEST: usize = 64;

/// Messages and bytes.
type Count = [u64; 2];

/// The counters of one kind as they were read last: for each peer in use its rank and its place in rows; places in order of use.
#[derive(Default)]
struct Peers {
    /// Ascending by peer.
    places: Vec<(u32, u32)>,
    last: Vec<Count>,
}

impl Peers {
    /// Hands on what grew since the last reading, by place.
    fn advance(&mut self, messages: &[u64], bytes: &[u64], mut grew: impl FnMut(usize, Count)) {
        let mut known = 0;
        for (peer, now) in messages.iter().zip(bytes).map(|(m, b)| [*m, *b]).enumerate() {
            let peer = peer as u32;
            let is_known = self.places.get(known).is_some_and(|place| place.0 == peer);
            if !is_known {
                if now == [0, 0] {
                    continue;
                }
                self.places.insert(known, (peer, self.last.len() as u32));
                self.last.push([0, 0]);
            }
            let place = self.places[known].1 as usize;
            known += 1;
            let last = std::mem::replace(&mut self.last[place], now);
            if now != last {
                // A tool that resets the counters must not make this panic; what is lost is lost.
                grew(place, [now[0].saturating_sub(last[0]), now[1].saturating_sub(last[1])]);
            }
        }
    }

    /// The rows of one region.
    fn rows(&self, counts: &[Count]) -> Vec<Row> {
        let row = |&(peer, place): &(u32, u32)| {
            let [messages, bytes] = *counts.get(place as usize)?;
            (messages > 0 || bytes > 0).then_some(Row(peer, messages, bytes))
        };
        self.places.iter().filter_map(row).collect()
    }
}

#[derive(Default)]
struct RegionRecord {
    path: String,
    inner: BTreeMap<String, usize>,
    /// The records of call sites in it, by their number.
    sites: BTreeMap<u32, usize>,
    /// Of a record that is a call site's: which.
    site: Option<u32>,
    files: FileTraffic,
    entries: u64,
    seconds: f64,
    /// By kind and place; as long as the last place in use.
    counts: [Vec<Count>; 3],
}

/// One that is open.
struct Open {
    region: usize,
    /// Its own name; none if it is part of the one around it, as there are too many.
    name: Option<String>,
}

/// The regions of a process and what was sent in them.
pub(super) struct Recorder {
    peers: [Peers; 3],
    regions: Vec<RegionRecord>,
    open: Vec<Open>,
    /// How many records are regions.
    region_count: usize,
    /// The call site whose call was the last one to begin in the innermost region, and its record.
    site: Option<(u32, usize)>,
    /// Whether that call goes on.
    is_inside: bool,
    /// Regions that are open beyond the deepest that are kept apart.
    deeper: u64,
    /// When the innermost region became that, in seconds.
    since: f64,
    /// Ends without a beginning.
    pub(super) unmatched_ends: u64,
    /// Entries into regions that are not kept apart.
    pub(super) merged_entries: u64,
}

impl Recorder {
    /// In no region, at a time in seconds.
    pub(super) fn new(now: f64) -> Self {
        Self {
            peers: [const { Peers { places: Vec::new(), last: Vec::new() } }; 3],
            regions: vec![RegionRecord { entries: 1, ..RegionRecord::default() }],
            open: Vec::new(),
            region_count: 1,
            site: None,
            is_inside: false,
            deeper: 0,
            since: now,
            unmatched_ends: 0,
            merged_entries: 0,
        }
    }

    /// The record of the innermost region.
    fn innermost(&self) -> usize {
        self.open.last().map_or(0, |open| open.region)
    }

    /// The record to which belongs what grows.
    fn current(&self) -> usize {
        self.site.map_or_else(|| self.innermost(), |(_, record)| record)
    }

    /// The number of the call site to which belongs what grows.
    pub(super) fn site(&self) -> Option<u32> {
        self.site.map(|(site, _)| site)
    }

    /// A call begins at a call site. Readings up to now must have been taken, unless it is [`Recorder::site`].
    pub(super) fn call_begins(&mut self, site: u32) {
        let around = self.innermost();
        let record = match self.regions[around].sites.get(&site) {
            Some(record) => *record,
            None if self.regions.len() >= MOST_RECORDS => around,
            None => {
                let record = self.regions.len();
                let path = self.regions[around].path.clone();
                self.regions.push(RegionRecord { path, site: Some(site), ..RegionRecord::default() });
                self.regions[around].sites.insert(site, record);
                record
            }
        };
        if record == around {
            self.merged_entries += 1;
        } else {
            self.regions[record].entries += 1;
        }
        (self.site, self.is_inside) = (Some((site, record)), true);
    }

    /// The call returns, at a time in seconds.
    pub(super) fn call_ends(&mut self, now: f64) {
        self.pass(now);
        self.is_inside = false;
    }

    /// What a call has read or written.
    pub(super) fn files(&mut self, moved: FileTraffic) {
        let at = self.current();
        self.regions[at].files.add(moved);
    }

    /// Takes a reading of one kind of counters, by peer: what grew belongs to the innermost region.
    pub(super) fn read(&mut self, counted: Counted, messages: &[u64], bytes: &[u64]) {
        let kind = counted as usize;
        let at = self.current();
        let counts = &mut self.regions[at].counts[kind];
        let before = counts.len();
        self.peers[kind].advance(messages, bytes, |place, grown| {
            if counts.len() <= place {
                counts.resize(place + 1, [0, 0]);
            }
            for (sum, more) in counts[place].iter_mut().zip(grown) {
                *sum = sum.saturating_add(more);
            }
        });
        if counts.len() > before {
            // Growing in steps leaves memory unused; peers are new in a region rarely.
            counts.shrink_to_fit();
        }
    }

    /// Memory of the counters, in bytes, as allocated.
    pub(super) fn counter_bytes(&self) -> u64 {
        let rows = self.regions.iter().flat_map(|region| &region.counts).map(Vec::capacity).sum::<usize>();
        (rows * size_of::<Count>()) as u64
    }

    /// What passed until `now` belongs to the innermost region.
    pub(super) fn pass(&mut self, now: f64) {
        let passed = (now - self.since).max(0.0);
        let at = if self.is_inside { self.current() } else { self.innermost() };
        self.regions[at].seconds += passed;
        self.since = now;
    }

    /// A region begins within the innermost one. Readings up to now must have been taken.
    pub(super) fn begin(&mut self, name: &str) {
        (self.site, self.is_inside) = (None, false);
        if self.open.len() >= DEEPEST {
            self.deeper += 1;
            self.merged_entries += 1;
            return;
        }
        let around = self.open.last().map_or(0, |open| open.region);
        let known = self.regions[around].inner.get(name).copied();
        let full = self.region_count >= MOST_REGIONS || self.regions.len() >= MOST_RECORDS;
        let (region, own) = match known {
            Some(region) => (region, true),
            None if full => (around, false),
            None => {
                let region = self.regions.len();
                let outer = &mut self.regions[around];
                let path = if outer.path.is_empty() { name.to_owned() } else { format!("{}/{name}", outer.path) };
                outer.inner.insert(name.to_owned(), region);
                self.regions.push(RegionRecord { path, ..RegionRecord::default() });
                self.region_count += 1;
                (region, true)
            }
        };
        if own {
            self.regions[region].entries += 1;
        } else {
            self.merged_entries += 1;
        }
        self.open.push(Open { region, name: own.then(|| name.to_owned()) });
    }

    /// The region of this name ends, and those that are open within it; without a name the innermost one. Readings up to now must
    /// have been taken.
    pub(super) fn end(&mut self, name: Option<&str>) {
        (self.site, self.is_inside) = (None, false);
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        let is_meant = |open: &Open| match (name, &open.name) {
            (Some(name), Some(own)) => own == name,
            _ => true,
        };
        match self.open.iter().rposition(is_meant) {
            Some(at) => self.open.truncate(at),
            None => self.unmatched_ends += 1,
        }
    }

    /// All regions, the one without a name first.
    pub(super) fn regions(&self) -> Vec<Region> {
        let rows = |record: &RegionRecord, kind: usize| self.peers[kind].rows(&record.counts[kind]);
        let region = |record: &RegionRecord| Region {
            name: record.path.clone(),
            entries: record.entries,
            seconds: record.seconds,
            sent: rows(record, 0),
            put: rows(record, 1),
            got: rows(record, 2),
            call_site: record.site,
            files: record.files,
        };
        self.regions.iter().map(region).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SENT: Counted = Counted::Sent;

    fn named<'a>(regions: &'a [Region], name: &str) -> &'a Region {
        regions.iter().find(|r| r.name == name).unwrap()
    }

    #[test]
    fn a_region_has_what_grew_while_it_was_the_innermost() {
        let mut recorder = Recorder::new(1.0);
        recorder.read(SENT, &[0, 1, 0], &[0, 10, 0]);
        recorder.pass(2.0);
        recorder.begin("a");
        recorder.read(SENT, &[0, 1, 2], &[0, 10, 40]);
        recorder.pass(2.5);
        recorder.begin("b");
        recorder.read(SENT, &[3, 1, 3], &[9, 10, 41]);
        recorder.read(Counted::Put, &[0, 1, 0], &[0, 7, 0]);
        recorder.pass(3.0);
        recorder.end(Some("a"));
        recorder.read(SENT, &[3, 1, 4], &[9, 10, 42]);
        let regions = recorder.regions();
        assert_eq!(named(&regions, "").sent, [Row(1, 1, 10), Row(2, 1, 1)]);
        assert_eq!(named(&regions, "a").sent, [Row(2, 2, 40)]);
        assert_eq!(named(&regions, "a/b").sent, [Row(0, 3, 9), Row(2, 1, 1)]);
        assert_eq!(named(&regions, "a/b").put, [Row(1, 1, 7)]);
        assert_eq!(
            (named(&regions, "").seconds, named(&regions, "a").seconds, named(&regions, "a/b").seconds),
            (1.0, 0.5, 0.5)
        );
    }

    #[test]
    fn call_sites_have_what_grew_from_their_calls_on() {
        let mut recorder = Recorder::new(0.0);
        let site = |regions: &[Region], name: &str, site| {
            regions.iter().find(|r| r.name == name && r.call_site == Some(site)).unwrap().clone()
        };
        recorder.begin("a");
        recorder.pass(1.0);
        recorder.call_begins(7);
        recorder.call_ends(1.5);
        recorder.files(FileTraffic { reads: 1, read_bytes: 8, ..FileTraffic::default() });
        // It is sent after the call has returned.
        recorder.read(SENT, &[1], &[10]);
        recorder.pass(2.0);
        recorder.call_begins(3);
        recorder.call_ends(2.25);
        recorder.read(SENT, &[2], &[15]);
        recorder.end(Some("a"));
        recorder.read(SENT, &[3], &[16]);
        recorder.call_begins(7);
        recorder.read(SENT, &[4], &[18]);
        let regions = recorder.regions();
        let seven = site(&regions, "a", 7);
        assert_eq!(
            (&seven.sent[..], seven.seconds, seven.entries, seven.files.read_bytes),
            (&[Row(0, 1, 10)][..], 0.5, 1, 8)
        );
        assert_eq!((&site(&regions, "a", 3).sent[..], site(&regions, "a", 3).seconds), (&[Row(0, 1, 5)][..], 0.25));
        assert_eq!(site(&regions, "", 7).sent, [Row(0, 1, 2)]);
        let plain = |name| regions.iter().find(|r| r.name == name && r.call_site.is_none()).unwrap();
        assert_eq!((plain("a").sent.len(), plain("a").seconds, &plain("").sent[..]), (0, 1.5, &[Row(0, 1, 1)][..]));
    }

    #[test]
    fn no_more_records_than_are_kept_apart() {
        let mut recorder = Recorder::new(0.0);
        (0..MOST_RECORDS as u32 + 10).for_each(|site| recorder.call_begins(site));
        assert_eq!((recorder.regions.len(), recorder.merged_entries), (MOST_RECORDS, 11));
        recorder.begin("too many");
        recorder.read(SENT, &[1], &[5]);
        assert_eq!(recorder.regions()[0].sent, [Row(0, 1, 5)]);
    }

    #[test]
    fn ends_without_a_beginning_are_counted_and_change_nothing() {
        let mut recorder = Recorder::new(0.0);
        recorder.end(None);
        recorder.begin("a");
        recorder.end(Some("b"));
        recorder.read(SENT, &[1], &[5]);
        recorder.end(None);
        recorder.read(SENT, &[2], &[6]);
        assert_eq!(recorder.unmatched_ends, 2);
        let regions = recorder.regions();
        assert_eq!(
            (&named(&regions, "a").sent[..], &named(&regions, "").sent[..]),
            (&[Row(0, 1, 5)][..], &[Row(0, 1, 1)][..])
        );
    }

    #[test]
    fn no_more_regions_than_are_kept_apart_and_none_deeper() {
        let mut recorder = Recorder::new(0.0);
        for i in 0..MOST_REGIONS + 10 {
            recorder.begin(&i.to_string());
            recorder.end(Some(&i.to_string()));
        }
        assert_eq!((recorder.regions.len(), recorder.merged_entries), (MOST_REGIONS, 11));
        let mut recorder = Recorder::new(0.0);
        (0..DEEPEST + 5).for_each(|_| recorder.begin("x"));
        assert_eq!((recorder.open.len(), recorder.merged_entries), (DEEPEST, 5));
        (0..DEEPEST + 5).for_each(|_| recorder.end(Some("x")));
        assert!(recorder.open.is_empty() && recorder.unmatched_ends == 0);
    }

    #[test]
    fn memory_is_16_bytes_for_a_peer_in_use_and_region() {
        let mut recorder = Recorder::new(0.0);
        let mut counters = vec![0u64; 1000];
        for round in 0..50 {
            recorder.begin(if round % 2 == 0 { "even" } else { "odd" });
            // Ten peers of a thousand.
            counters.iter_mut().step_by(100).for_each(|c| *c += 1);
            recorder.read(SENT, &counters, &counters);
            recorder.end(None);
        }
        assert_eq!(recorder.counter_bytes(), 16 * 10 * 2);
        assert_eq!(size_of::<(u32, u32)>() + size_of::<Count>(), 24);
    }

    proptest! {
        /// Whatever begins and ends, the regions together have what the counters have.
        #[test]
        fn regions_sum_to_the_whole(steps in prop::collection::vec((0u8..6, 0usize..6, 0u64..1000), 0..200)) {
            let mut recorder = Recorder::new(0.0);
            let mut counters = [[0u64; 6]; 2];
            for (what, peer, bytes) in steps {
                match what {
                    0 => recorder.begin(["a", "b", "c"][peer % 3]),
                    1 => recorder.end(Some(["a", "b", "c"][peer % 3])),
                    2 => recorder.end(None),
                    3 => recorder.call_begins(peer as u32),
                    4 => recorder.call_ends(0.0),
                    _ => {
                        counters[0][peer] += 1;
                        counters[1][peer] += bytes;
                    }
                }
                recorder.read(SENT, &counters[0], &counters[1]);
            }
            let regions = recorder.regions();
            let all = counters[0].iter().zip(&counters[1]);
            for (peer, (messages, bytes)) in all.enumerate() {
                let rows = regions.iter().flat_map(|r| &r.sent).filter(|row| row.0 == peer as u32);
                let sum = rows.fold([0, 0], |sum, row| [sum[0] + row.1, sum[1] + row.2]);
                prop_assert_eq!(sum, [*messages, *bytes]);
            }
        }
    }
}
