//! What a picture of a fabric shows, and the form in which its page has it: arrays, no objects per link.
//!
//! A *cable* is a pair of vertices that a link joins in one direction or both. Its two *ends* are numbered `2 * cable` and
//! `2 * cable + 1`; what is sent at an end is what the link from there carries.

use super::layout::FabricLayout;
use optiq_net::{LinkId, Network, NodeId};
use serde::Serialize;
use std::collections::BTreeMap;

/// The most regions that a page can filter by: those with the most bytes.
const MAX_REGIONS: usize = 24;

/// Which pairs of hosts send over a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkMakers {
    /// How many pairs.
    pub pairs: u32,
    /// Those with the most bytes, the largest first: source, destination, bytes.
    pub most: Vec<(NodeId, NodeId, u64)>,
}

/// What links carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkSeries {
    /// What it is of: `measured`, `plan`.
    pub name: String,
    /// Bytes on each link.
    pub bytes: Vec<u64>,
    /// The names of the jobs; may be empty.
    pub jobs: Vec<String>,
    /// What each region of each job's code has put there; may be empty.
    pub parts: Vec<LinkPart>,
    /// Who makes each link's bytes; empty where that is not known.
    pub makers: Vec<LinkMakers>,
}

/// What one region of a job's code has put on the links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkPart {
    /// The job, by its place in [`LinkSeries::jobs`].
    pub job: usize,
    /// The region; empty for what is in none.
    pub region: String,
    /// Bytes on each link.
    pub bytes: Vec<u64>,
}

/// A picture of a fabric.
pub struct FabricPicture<'a> {
    /// The network.
    pub net: &'a Network,
    /// Its places.
    pub layout: &'a FabricLayout,
    /// What stands above the picture.
    pub title: &'a str,
    /// A sentence below that.
    pub subtitle: String,
    /// What the links carry: nothing, as they are; one, or two beside each other.
    pub series: &'a [LinkSeries],
    /// What is missing.
    pub notes: &'a [String],
}

/// Two vertices with a link between them, the lower number first.
pub(super) struct Cable {
    pub ends: [NodeId; 2],
    /// The links that leave the first vertex and the second one.
    pub links: [Option<LinkId>; 2],
}

#[derive(Serialize)]
pub(super) struct PageData<'a> {
    format: &'static str,
    optiq_version: &'static str,
    topology: &'a str,
    network_fingerprint: String,
    names: Vec<&'a str>,
    hosts: usize,
    /// Hundredths of a unit.
    x: Vec<i64>,
    y: Vec<i64>,
    /// -1 of what no host reaches.
    level: Vec<i64>,
    /// -1 of hosts.
    rail: Vec<i64>,
    rails: u32,
    /// What rows of a tree are, and how high they stand.
    rows: Vec<(String, f64)>,
    cables: Cables,
    /// Bytes per second; ends name them by number.
    capacities: Vec<f64>,
    series: Vec<SeriesData<'a>>,
    regions_left_out: usize,
}

#[derive(Serialize, Default)]
struct Cables {
    a: Vec<u32>,
    b: Vec<u32>,
    lanes: Vec<u32>,
    /// Per end.
    capacity: Vec<u32>,
    /// Those that close a ring.
    stubs: Vec<usize>,
}

#[derive(Serialize)]
struct SeriesData<'a> {
    name: &'a str,
    /// Per end.
    bytes: Vec<u64>,
    regions: Vec<PartData<'a>>,
    /// If there are several.
    jobs: Vec<PartData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    makers: Option<MakerData>,
}

/// Ends with bytes: the first one, and how much further each next one is.
#[derive(Serialize)]
struct PartData<'a> {
    name: &'a str,
    job: usize,
    ends: Vec<usize>,
    bytes: Vec<u64>,
}

#[derive(Serialize, Default)]
struct MakerData {
    /// The most makers of an end that are listed.
    most: usize,
    /// Per end.
    pairs: Vec<u32>,
    /// `first[end]..first[end + 1]` are the makers of an end.
    first: Vec<usize>,
    /// Three numbers for each maker: source, destination, bytes.
    all: Vec<u64>,
}

impl FabricPicture<'_> {
    pub(super) fn cables(&self) -> Vec<Cable> {
        let mut cables = Vec::with_capacity(self.net.links().len() / 2);
        for (link, l) in (0..).map(LinkId).zip(self.net.links()) {
            let back = self.net.link_between(l.to, l.from);
            if l.from < l.to {
                cables.push(Cable { ends: [l.from, l.to], links: [Some(link), back] });
            } else if back.is_none() {
                cables.push(Cable { ends: [l.to, l.from], links: [None, Some(link)] });
            }
        }
        cables
    }

    /// The rows of a tree with their places.
    pub(super) fn rows(&self) -> Vec<(String, f64)> {
        let structure = &self.layout.structure;
        if structure.arrangement != optiq_net::structure::Arrangement::Tree {
            return Vec::new();
        }
        let mut rows: BTreeMap<(Option<u32>, u32), f64> = BTreeMap::new();
        for (v, place) in self.layout.places.iter().enumerate() {
            if let Some(level) = structure.levels[v] {
                rows.insert((structure.rail[v], level), place.1);
            }
        }
        let words = |((rail, level), y): ((Option<u32>, u32), f64)| {
            let what = match level {
                0 => "hosts".to_owned(),
                1 => "leaf switches".to_owned(),
                level => format!("level {level}"),
            };
            let rail = rail.filter(|_| structure.rails > 1).map_or_else(String::new, |r| format!(", rail {}", r + 1));
            (format!("{what}{rail}"), y)
        };
        rows.into_iter().map(words).collect()
    }

    /// The arrays of the page.
    pub(super) fn data(&self) -> PageData<'_> {
        let (net, structure) = (self.net, &self.layout.structure);
        let cables = self.cables();
        let hundredths = |v: f64| (100.0 * v).round() as i64;
        let signed = |v: &Option<u32>| v.map_or(-1, i64::from);
        let mut capacities: Vec<f64> = net.links().iter().map(|l| l.capacity).collect();
        capacities.sort_by(f64::total_cmp);
        capacities.dedup();
        let number = |capacity: f64| capacities.partition_point(|c| *c < capacity) as u32;
        let mut arrays = Cables::default();
        for (i, cable) in cables.iter().enumerate() {
            let [there, back] = cable.links.map(|link| link.map(|link| net.link(link)));
            let Some(one) = there.or(back) else { continue };
            arrays.a.push(cable.ends[0].0);
            arrays.b.push(cable.ends[1].0);
            arrays.lanes.push(one.lanes);
            arrays.capacity.extend([there, back].map(|link| number(link.unwrap_or(one).capacity)));
            if cable.links.iter().flatten().any(|link| self.layout.stubs[link.index()]) {
                arrays.stubs.push(i);
            }
        }
        let ends: Vec<Option<LinkId>> = cables.iter().flat_map(|cable| cable.links).collect();
        PageData {
            format: "optiq-fabric-picture/1",
            optiq_version: env!("CARGO_PKG_VERSION"),
            topology: net.spec(),
            network_fingerprint: net.fingerprint().to_string(),
            names: (0..net.vertices() as u32).map(|v| net.name(NodeId(v))).collect(),
            hosts: net.hosts(),
            x: self.layout.places.iter().map(|p| hundredths(p.0)).collect(),
            y: self.layout.places.iter().map(|p| hundredths(p.1)).collect(),
            level: structure.levels.iter().map(signed).collect(),
            rail: structure.rail.iter().map(signed).collect(),
            rails: structure.rails,
            rows: self.rows(),
            cables: arrays,
            capacities: capacities.clone(),
            series: self.series.iter().map(|series| series.data(&ends)).collect(),
            regions_left_out: self.series.iter().map(|s| s.parts.len().saturating_sub(MAX_REGIONS)).max().unwrap_or(0),
        }
    }
}

impl LinkSeries {
    fn data(&self, ends: &[Option<LinkId>]) -> SeriesData<'_> {
        let of = |bytes: &[u64]| ends.iter().map(|link| link.map_or(0, |link| bytes[link.index()])).collect::<Vec<_>>();
        let mut largest: Vec<usize> = (0..self.parts.len()).collect();
        let sum = |r: usize| self.parts[r].bytes.iter().copied().fold(0, u64::saturating_add);
        largest.sort_by_cached_key(|&r| std::cmp::Reverse(sum(r)));
        largest.truncate(MAX_REGIONS);
        largest.sort_unstable();
        let part = |name, job, bytes: &[u64]| {
            let mut data = PartData { name, job, ends: Vec::new(), bytes: Vec::new() };
            let mut before = 0;
            for (end, bytes) in of(bytes).into_iter().enumerate().filter(|(_, bytes)| *bytes > 0) {
                data.ends.push(end - before);
                data.bytes.push(bytes);
                before = end;
            }
            data
        };
        let region = |r: usize| part(self.parts[r].region.as_str(), self.parts[r].job, &self.parts[r].bytes);
        // All regions of a job, also those that are left out.
        let job = |(job, name)| {
            let mut sums = vec![0u64; self.bytes.len()];
            for own in self.parts.iter().filter(|part| part.job == job) {
                sums.iter_mut().zip(&own.bytes).for_each(|(sum, bytes)| *sum = sum.saturating_add(*bytes));
            }
            (name, sums)
        };
        let jobs: Vec<_> = self.jobs.iter().enumerate().filter(|_| self.jobs.len() > 1).map(job).collect();
        SeriesData {
            name: &self.name,
            bytes: of(&self.bytes),
            regions: largest.into_iter().map(region).collect(),
            jobs: (0..).zip(&jobs).map(|(i, (name, bytes))| part(name.as_str(), i, bytes)).collect(),
            makers: (!self.makers.is_empty()).then(|| self.maker_data(ends)),
        }
    }

    fn maker_data(&self, ends: &[Option<LinkId>]) -> MakerData {
        let mut data = MakerData { first: vec![0], ..MakerData::default() };
        let none = LinkMakers::default();
        for makers in ends.iter().map(|link| link.map_or(&none, |link| &self.makers[link.index()])) {
            data.most = data.most.max(makers.most.len());
            data.pairs.push(makers.pairs);
            data.all.extend(makers.most.iter().flat_map(|(src, dst, bytes)| [src.0.into(), dst.0.into(), *bytes]));
            data.first.push(data.all.len() / 3);
        }
        data
    }
}
