//! The document of `optiq traffic`, and its text.

use super::jobs::{Job, JobTraffics, Part};
use crate::failure::Failure;
use optiq_lower::link_traffic::HostTraffic;
use optiq_net::structure::levels;
use optiq_net::{LinkId, LinkLoad, Network};
use optiq_trace::postcards::Context;
use optiq_trace::profile::call_lines::words;
use optiq_trace::profile::job::Moved;
use optiq_view::table;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Makers that a link has in the document: the largest.
const MAKERS: usize = 10;

/// Makers of a link in the text.
const MAKERS_IN_TEXT: usize = 3;

/// The load under another choice.
pub struct Other {
    /// What was chosen: `plan` or `placement=rank:2`.
    pub name: String,
    pub load: LinkLoad,
    /// Who would send what to whom on the fabric's own routes; none over planned paths.
    pub traffics: Option<JobTraffics>,
}

/// What is shown.
pub struct Shown<'a> {
    pub net: &'a Network,
    pub jobs: &'a [Job],
    pub region: Option<&'a str>,
    pub measured: &'a JobTraffics,
    pub load: &'a LinkLoad,
    pub other: Option<&'a Other>,
    pub one_sided_added: bool,
}

#[derive(Serialize)]
pub struct TrafficDocument {
    topology: String,
    network_fingerprint: String,
    /// Of several jobs, the first one.
    job: String,
    /// Of all jobs.
    rank_count: u32,
    jobs: Vec<JobLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    only_region: Option<String>,
    /// Bytes between hosts.
    bytes: u64,
    /// Bytes between ranks of one host, which take no link.
    inside_bytes: u64,
    /// Bytes to and from ranks whose host is not known, as their files are missing.
    unplaced_bytes: u64,
    /// Put and got by one-sided calls; in `bytes` if `one_sided_added`.
    one_sided_bytes: u64,
    one_sided_added: bool,
    /// How long the busiest link needs for its bytes, at least.
    congestion_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    what_if: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    what_if_congestion_seconds: Option<f64>,
    links_used: usize,
    levels: Vec<LevelLine>,
    busiest: Vec<BusyLink>,
    links: Vec<LinkLine>,
    gaps: Vec<String>,
}

#[derive(Serialize)]
struct JobLine {
    job: String,
    rank_count: u32,
    /// Bytes between hosts.
    bytes: u64,
}

/// All links between two levels of switches, in one direction; level 0 is hosts.
#[derive(Serialize)]
struct LevelLine {
    from_level: u32,
    to_level: u32,
    link_count: usize,
    bytes: u64,
    bytes_max: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    what_if_bytes: Option<u64>,
}

/// A link with bytes: what is sent at its first end and arrives at the second.
#[derive(Serialize)]
struct LinkLine {
    from: String,
    to: String,
    lanes: u32,
    capacity_bytes_per_second: f64,
    bytes: u64,
    seconds: f64,
    /// What goes the other way.
    reverse_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    what_if_bytes: Option<u64>,
}

#[derive(Serialize)]
struct BusyLink {
    #[serde(flatten)]
    link: LinkLine,
    maker_count: usize,
    makers: Vec<Maker>,
    regions: Vec<RegionShare>,
    call_sites: Vec<CallShare>,
    /// If there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    jobs: Vec<JobShare>,
}

#[derive(Serialize)]
struct Maker {
    from_host: String,
    to_host: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    region: String,
    /// The line of the program, if those were counted apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    call_site: Option<String>,
    bytes: u64,
}

/// What a line of the program has put on a link.
#[derive(Serialize)]
struct CallShare {
    file: String,
    line: u32,
    function: String,
    bytes: u64,
}

#[derive(Serialize)]
struct JobShare {
    job: String,
    bytes: u64,
}

#[derive(Serialize)]
struct RegionShare {
    region: String,
    bytes: u64,
}

impl TrafficDocument {
    pub fn new(shown: &Shown<'_>, busiest: usize) -> Result<Self, Failure> {
        let Shown { net, load, other, .. } = *shown;
        let in_use = |i: &usize| load.bytes[*i] > 0 || other.is_some_and(|o| o.load.bytes[*i] > 0);
        let mut order: Vec<usize> = (0..load.bytes.len()).filter(|i| load.bytes[*i] > 0).collect();
        let seconds = |i: usize| load.bytes[i] as f64 / net.links()[i].capacity;
        // Ties in the order of the links.
        order.sort_by(|a, b| seconds(*b).total_cmp(&seconds(*a)).then(a.cmp(b)));
        let links_used = order.len();
        order.truncate(busiest);
        let ids: Vec<LinkId> = order.iter().map(|i| LinkId(*i as u32)).collect();
        let makers = shown.measured.traffics.makers(net, &ids)?;
        let busiest = order.iter().zip(makers).map(|(i, makers)| shown.busy(*i, &makers)).collect();
        let one_sided = [Moved::Put, Moved::Got].map(|way| {
            let pairs = shown.jobs.iter().flat_map(|job| job.profile.pairs(way).into_values());
            pairs.map(|t| t.bytes).fold(0, u64::saturating_add)
        });
        Ok(Self {
            topology: net.spec().into(),
            network_fingerprint: net.fingerprint().to_string(),
            job: shown.jobs[0].profile.files[0].job.clone(),
            rank_count: shown.jobs.iter().map(|job| job.profile.ranks()).fold(0, u32::saturating_add),
            jobs: shown.job_lines(),
            only_region: shown.region.map(str::to_owned),
            bytes: shown.measured.traffics.bytes(),
            inside_bytes: shown.measured.traffics.inside_bytes,
            unplaced_bytes: shown.measured.unplaced_bytes,
            one_sided_bytes: one_sided.iter().sum(),
            one_sided_added: shown.one_sided_added,
            congestion_seconds: load.statistics(net).congestion_seconds,
            what_if: other.map(|o| o.name.clone()),
            what_if_congestion_seconds: other.map(|o| o.load.statistics(net).congestion_seconds),
            links_used,
            levels: shown.levels(),
            busiest,
            links: (0..load.bytes.len()).filter(in_use).map(|i| shown.link(i)).collect(),
            gaps: shown.jobs.iter().flat_map(|job| job.profile.gaps()).collect(),
        })
    }

    /// For people: totals, levels, and the busiest links.
    pub fn text(&self) -> String {
        let of = self.only_region.as_ref().map_or_else(String::new, |region| format!(", region \"{region}\" alone"));
        let mut text = format!(
            "{} on {}{of}\n{} between hosts over {}, {} inside hosts\nthe busiest link needs {}",
            table::count(self.rank_count as usize, "rank"),
            self.topology,
            table::bytes(self.bytes as f64),
            table::count(self.links_used, "link"),
            table::bytes(self.inside_bytes as f64),
            table::seconds(self.congestion_seconds),
        );
        if let (Some(name), Some(seconds)) = (&self.what_if, self.what_if_congestion_seconds) {
            text.push_str(&format!("; with {name} {}", table::seconds(seconds)));
        }
        text.push('\n');
        if self.one_sided_bytes > 0 && !self.one_sided_added {
            text.push_str(&format!(
                "{} of one-sided calls are not added; --one-sided add, unless they travel as messages\n",
                table::bytes(self.one_sided_bytes as f64)
            ));
        }
        if !self.levels.is_empty() {
            text.push('\n');
            text.push_str(&self.level_table());
        }
        if !self.busiest.is_empty() {
            text.push('\n');
            text.push_str(&self.busiest_table());
        }
        text
    }

    fn level_table(&self) -> String {
        let mut head = ["levels", "links", "bytes", "most on one"].map(str::to_owned).to_vec();
        head.extend(self.what_if.clone());
        let line = |l: &LevelLine| {
            let what = format!("{} to {}", l.from_level, l.to_level);
            let mut line =
                vec![what, l.link_count.to_string(), table::bytes(l.bytes as f64), table::bytes(l.bytes_max as f64)];
            line.extend(l.what_if_bytes.map(|bytes| table::bytes(bytes as f64)));
            line
        };
        table::table(&std::iter::once(head).chain(self.levels.iter().map(line)).collect::<Vec<_>>())
    }

    fn busiest_table(&self) -> String {
        let mut head = ["busiest link", "bytes", "seconds"].map(str::to_owned).to_vec();
        head.extend(self.what_if.clone());
        head.push("made by".into());
        let line = |b: &BusyLink| {
            let mut line = vec![
                format!("{} to {}", b.link.from, b.link.to),
                table::bytes(b.link.bytes as f64),
                table::seconds(b.link.seconds),
            ];
            line.extend(b.link.what_if_bytes.map(|bytes| table::bytes(bytes as f64)));
            let maker = |m: &Maker| {
                let job = m.job.as_ref().map_or_else(String::new, |job| format!(" of job {job}"));
                let region = if m.region.is_empty() { String::new() } else { format!(" in {}", m.region) };
                let call = m.call_site.as_ref().map_or_else(String::new, |line| format!(" at {line}"));
                format!("{} to {}{job}{region}{call} {}", m.from_host, m.to_host, table::bytes(m.bytes as f64))
            };
            let mut makers: Vec<String> = b.makers.iter().take(MAKERS_IN_TEXT).map(maker).collect();
            if b.maker_count > MAKERS_IN_TEXT {
                makers.push(format!("{} more", b.maker_count - MAKERS_IN_TEXT));
            }
            line.push(makers.join(", "));
            line
        };
        let last = head.len() - 1;
        let rows: Vec<_> = std::iter::once(head).chain(self.busiest.iter().map(line)).collect();
        table::aligned(&rows, |column| column != 0 && column != last)
    }
}

impl Shown<'_> {
    fn link(&self, i: usize) -> LinkLine {
        let link = &self.net.links()[i];
        let reverse = self.net.link_between(link.to, link.from);
        LinkLine {
            from: self.net.name(link.from).into(),
            to: self.net.name(link.to).into(),
            lanes: link.lanes,
            capacity_bytes_per_second: link.capacity,
            bytes: self.load.bytes[i],
            seconds: self.load.bytes[i] as f64 / link.capacity,
            reverse_bytes: reverse.map_or(0, |id| self.load.bytes[id.index()]),
            what_if_bytes: self.other.map(|o| o.load.bytes[i]),
        }
    }

    fn part(&self, t: &HostTraffic) -> &Part {
        &self.measured.parts[t.region as usize]
    }

    /// The name of a part's job, if there are several.
    fn job(&self, part: &Part) -> Option<String> {
        (self.jobs.len() > 1).then(|| self.jobs[part.job].name.clone())
    }

    fn job_lines(&self) -> Vec<JobLine> {
        let sums = shares(&self.measured.traffics.all, |t| self.part(t).job);
        let of = |job: usize| sums.iter().find(|(other, _)| *other == job).map_or(0, |(_, bytes)| *bytes);
        let line =
            |(i, job): (usize, &Job)| JobLine { job: job.name.clone(), rank_count: job.profile.ranks(), bytes: of(i) };
        self.jobs.iter().enumerate().map(line).collect()
    }

    fn busy(&self, i: usize, makers: &[HostTraffic]) -> BusyLink {
        let maker = |m: &HostTraffic| {
            let part = self.part(m);
            Maker {
                from_host: self.net.name(m.src).into(),
                to_host: self.net.name(m.dst).into(),
                job: self.job(part),
                region: part.region.clone(),
                call_site: part.line.as_ref().map(words),
                bytes: m.bytes,
            }
        };
        let regions = shares(makers, |m| &self.part(m).region).into_iter();
        let lines = shares(makers, |m| &self.part(m).line).into_iter();
        let line = |(line, bytes): (&Option<Context>, u64)| {
            let Context { file, line, function } = line.clone()?;
            Some(CallShare { file, line, function, bytes })
        };
        let jobs = shares(makers, |m| self.job(self.part(m))).into_iter();
        BusyLink {
            link: self.link(i),
            maker_count: makers.len(),
            makers: makers.iter().take(MAKERS).map(maker).collect(),
            regions: regions.map(|(region, bytes)| RegionShare { region: region.clone(), bytes }).collect(),
            call_sites: lines.filter_map(line).collect(),
            jobs: jobs.filter_map(|(job, bytes)| Some(JobShare { job: job?, bytes })).collect(),
        }
    }

    fn levels(&self) -> Vec<LevelLine> {
        let Some(levels) = levels(self.net) else { return Vec::new() };
        let mut lines: BTreeMap<(u32, u32), LevelLine> = BTreeMap::new();
        for (i, link) in self.net.links().iter().enumerate() {
            let (Some(from_level), Some(to_level)) = (levels[link.from.index()], levels[link.to.index()]) else {
                continue;
            };
            let what_if_bytes = self.other.map(|_| 0);
            let line = lines.entry((from_level, to_level)).or_insert(LevelLine {
                from_level,
                to_level,
                link_count: 0,
                bytes: 0,
                bytes_max: 0,
                what_if_bytes,
            });
            line.link_count += link.lanes as usize;
            line.bytes = line.bytes.saturating_add(self.load.bytes[i]);
            line.bytes_max = line.bytes_max.max(self.load.bytes[i]);
            if let (Some(sum), Some(other)) = (&mut line.what_if_bytes, self.other) {
                *sum = sum.saturating_add(other.load.bytes[i]);
            }
        }
        lines.into_values().collect()
    }
}

/// The bytes of each key, those with the most first; among equals the lower key.
fn shares<'a, K: Ord>(all: &'a [HostTraffic], key: impl Fn(&'a HostTraffic) -> K) -> Vec<(K, u64)> {
    let mut sums: BTreeMap<K, u64> = BTreeMap::new();
    for t in all {
        let sum = sums.entry(key(t)).or_default();
        *sum = sum.saturating_add(t.bytes);
    }
    let mut sums: Vec<(K, u64)> = sums.into_iter().collect();
    sums.sort_by_key(|(_, bytes)| Reverse(*bytes));
    sums
}
