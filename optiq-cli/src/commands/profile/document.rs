//! The document of `optiq profile show`, and its text.

use super::lines::{CallLine, call_lines};
use optiq_trace::profile::job::{JobProfile, Moved, Traffic};
use optiq_trace::profile::rank_file::{FileTraffic, Source};
use optiq_view::table;
use serde::Serialize;
use std::collections::BTreeMap;

/// Ranks up to which the text has a matrix.
const MATRIX: u32 = 16;

/// Lines of ranks in the text.
const RANK_LINES: usize = 32;

#[derive(Serialize)]
pub struct ProfileDocument {
    job: String,
    rank_count: u32,
    host_count: usize,
    library: String,
    source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    only_region: Option<String>,
    messages: u64,
    bytes: u64,
    put_bytes: u64,
    got_bytes: u64,
    read_bytes: u64,
    written_bytes: u64,
    unmatched_ends: u64,
    merged_entries: u64,
    regions: Vec<RegionLine>,
    call_sites: Vec<CallLine>,
    ranks: Vec<RankLine>,
    pairs: Vec<PairLine>,
    interfaces: Vec<InterfaceLine>,
    connections: Vec<ConnectionLine>,
    gaps: Vec<String>,
    /// What is not known of lines of the program.
    notes: Vec<String>,
}

#[derive(Default, Serialize)]
struct RegionLine {
    name: String,
    /// Of the rank that entered it most often.
    entries_max: u64,
    /// Of the rank that was in it for longest.
    seconds_max: f64,
    messages: u64,
    bytes: u64,
    put_bytes: u64,
    got_bytes: u64,
    read_bytes: u64,
    written_bytes: u64,
}

#[derive(Serialize)]
struct RankLine {
    rank: u32,
    /// Missing where the rank's file is.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    sent_messages: u64,
    sent_bytes: u64,
    received_messages: u64,
    received_bytes: u64,
    /// One-sided: what it put into windows of others, and what others got from its own.
    one_sided_sent_bytes: u64,
    /// What it got, and what others put into its window.
    one_sided_received_bytes: u64,
    read_bytes: u64,
    written_bytes: u64,
}

/// TCP connections between an interface of a host and an address, of all its ranks.
#[derive(Serialize)]
struct ConnectionLine {
    host: String,
    interface: String,
    peer: String,
    connections: u64,
    sent_bytes: u64,
    received_bytes: u64,
}

#[derive(Default, Serialize)]
struct PairLine {
    from: u32,
    to: u32,
    messages: u64,
    bytes: u64,
    put_messages: u64,
    put_bytes: u64,
    got_messages: u64,
    got_bytes: u64,
}

#[derive(Serialize)]
struct InterfaceLine {
    host: String,
    name: String,
    sent_bytes: u64,
    received_bytes: u64,
}

impl ProfileDocument {
    pub fn new(profile: &JobProfile, region: Option<&str>) -> Self {
        let first = &profile.files[0];
        let mut hosts: Vec<&str> = profile.files.iter().map(|f| f.host.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let pairs = pairs(profile);
        let (call_sites, notes) = call_lines(profile);
        let mut files = FileTraffic::default();
        profile.files.iter().flat_map(|f| &f.regions).for_each(|region| files.add(region.files));
        let sum = |of: fn(&PairLine) -> u64| pairs.iter().map(of).fold(0, u64::saturating_add);
        Self {
            job: first.job.clone(),
            rank_count: profile.ranks(),
            host_count: hosts.len(),
            library: first.library.clone(),
            source: first.source.clone(),
            only_region: region.map(str::to_owned),
            messages: sum(|p| p.messages),
            bytes: sum(|p| p.bytes),
            put_bytes: sum(|p| p.put_bytes),
            got_bytes: sum(|p| p.got_bytes),
            read_bytes: files.read_bytes,
            written_bytes: files.written_bytes,
            unmatched_ends: profile.files.iter().map(|f| f.unmatched_ends).sum(),
            merged_entries: profile.files.iter().map(|f| f.merged_entries).sum(),
            regions: regions(profile),
            call_sites,
            ranks: ranks(profile, &pairs),
            interfaces: interfaces(profile),
            connections: connections(profile),
            gaps: profile.gaps(),
            notes,
            pairs,
        }
    }

    /// For people: totals, regions, ranks, and a matrix of not too many ranks.
    pub fn text(&self) -> String {
        let of = self.only_region.as_ref().map_or_else(String::new, |region| format!(", region \"{region}\" alone"));
        let within =
            if self.source.collectives { "collectives included" } else { "without messages inside collectives" };
        let mut text = format!(
            "job {} of {} on {}{of}\ncounted at the sender by {} of {}, {within}\n{} of {}\n\n",
            if self.job.is_empty() { "without a name" } else { &self.job },
            table::count(self.rank_count as usize, "rank"),
            table::count(self.host_count, "host"),
            self.source.name,
            self.library,
            table::count(usize::try_from(self.messages).unwrap_or(usize::MAX), "message"),
            table::bytes(self.bytes as f64),
        );
        text.push_str(&self.region_table());
        text.push('\n');
        text.push_str(&super::lines::call_table(&self.call_sites));
        text.push_str(&self.rank_table());
        if self.rank_count <= MATRIX {
            text.push('\n');
            text.push_str(&self.matrix());
        }
        if self.put_bytes > 0 || self.got_bytes > 0 {
            text.push_str(&format!(
                "\none-sided: {} put, {} got; where they travel as messages (osc pt2pt) they are among those as well\n",
                table::bytes(self.put_bytes as f64),
                table::bytes(self.got_bytes as f64)
            ));
        }
        if self.read_bytes > 0 || self.written_bytes > 0 {
            text.push_str(&format!(
                "\nfiles: {} read, {} written, as MPI's file functions were asked for\n",
                table::bytes(self.read_bytes as f64),
                table::bytes(self.written_bytes as f64)
            ));
        }
        if !self.connections.is_empty() {
            text.push('\n');
            text.push_str(&self.connection_table());
        }
        for note in &self.notes {
            text.push_str(&format!("\n{note}\n"));
        }
        if self.unmatched_ends > 0 {
            text.push_str(&format!(
                "\n{} of regions that were not open were ignored\n",
                table::count(self.unmatched_ends as usize, "end")
            ));
        }
        text
    }

    fn region_table(&self) -> String {
        let head = ["region", "entries", "seconds", "messages", "bytes"].map(str::to_owned).to_vec();
        let line = |r: &RegionLine| {
            let name = if r.name.is_empty() { "(in no region)" } else { &r.name };
            let seconds = table::seconds(r.seconds_max);
            vec![name.into(), r.entries_max.to_string(), seconds, r.messages.to_string(), table::bytes(r.bytes as f64)]
        };
        table::table(&std::iter::once(head).chain(self.regions.iter().map(line)).collect::<Vec<_>>())
    }

    fn rank_table(&self) -> String {
        let mut head = ["rank", "host", "sent", "received"].map(str::to_owned).to_vec();
        let one_sided = self.put_bytes > 0 || self.got_bytes > 0;
        let files = self.read_bytes > 0 || self.written_bytes > 0;
        head.extend(["one-sided sent", "received"].map(str::to_owned).into_iter().filter(|_| one_sided));
        head.extend(["read", "written"].map(str::to_owned).into_iter().filter(|_| files));
        let line = |r: &RankLine| {
            let host = r.host.clone().unwrap_or_else(|| "not known".into());
            let mut line = vec![r.rank.to_string(), host];
            let mut add = |moved: [u64; 2]| line.extend(moved.map(|bytes| table::bytes(bytes as f64)));
            add([r.sent_bytes, r.received_bytes]);
            if one_sided {
                add([r.one_sided_sent_bytes, r.one_sided_received_bytes]);
            }
            if files {
                add([r.read_bytes, r.written_bytes]);
            }
            line
        };
        let lines = self.ranks.iter().take(RANK_LINES).map(line);
        let mut text = table::table(&std::iter::once(head).chain(lines).collect::<Vec<_>>());
        if self.ranks.len() > RANK_LINES {
            text.push_str(&format!("and {} more; --json and --csv have all\n", self.ranks.len() - RANK_LINES));
        }
        text
    }

    fn connection_table(&self) -> String {
        let head = ["host", "interface", "peer", "TCP sent", "received"].map(str::to_owned).to_vec();
        let line = |c: &ConnectionLine| {
            let moved = [c.sent_bytes, c.received_bytes].map(|bytes| table::bytes(bytes as f64));
            let [sent, received] = moved;
            vec![c.host.clone(), c.interface.clone(), c.peer.clone(), sent, received]
        };
        let lines = self.connections.iter().take(RANK_LINES).map(line);
        let mut text = table::table(&std::iter::once(head).chain(lines).collect::<Vec<_>>());
        if self.connections.len() > RANK_LINES {
            text.push_str(&format!("and {} more; --json has all\n", self.connections.len() - RANK_LINES));
        }
        text
    }

    fn matrix(&self) -> String {
        let mut head = vec!["from / to".to_owned()];
        head.extend((0..self.rank_count).map(|rank| rank.to_string()));
        let cell = |from: u32, to: u32| {
            let pair = self.pairs.iter().find(|p| (p.from, p.to) == (from, to));
            pair.filter(|p| p.messages > 0).map_or_else(|| ".".into(), |p| table::bytes(p.bytes as f64))
        };
        let row = |from: u32| {
            std::iter::once(from.to_string()).chain((0..self.rank_count).map(|to| cell(from, to))).collect()
        };
        table::table(&std::iter::once(head).chain((0..self.rank_count).map(row)).collect::<Vec<Vec<String>>>())
    }
}

fn regions(profile: &JobProfile) -> Vec<RegionLine> {
    let mut lines: Vec<RegionLine> =
        profile.regions().iter().map(|name| RegionLine { name: (*name).into(), ..RegionLine::default() }).collect();
    let at: BTreeMap<String, usize> = lines.iter().enumerate().map(|(i, line)| (line.name.clone(), i)).collect();
    for file in &profile.files {
        // Call sites are parts of their regions.
        let mut seconds: BTreeMap<&str, f64> = BTreeMap::new();
        for region in &file.regions {
            let line = &mut lines[at[&region.name]];
            if region.call_site.is_none() {
                line.entries_max = line.entries_max.max(region.entries);
            }
            line.read_bytes = line.read_bytes.saturating_add(region.files.read_bytes);
            line.written_bytes = line.written_bytes.saturating_add(region.files.written_bytes);
            *seconds.entry(&region.name).or_default() += region.seconds;
        }
        for (name, seconds) in seconds {
            let line = &mut lines[at[name]];
            line.seconds_max = line.seconds_max.max(seconds);
        }
    }
    profile.for_each(Moved::Sent, |region, _, _, t| {
        let line = &mut lines[at[region]];
        line.messages = line.messages.saturating_add(t.messages);
        line.bytes = line.bytes.saturating_add(t.bytes);
    });
    profile.for_each(Moved::Put, |region, _, _, t| lines[at[region]].put_bytes += t.bytes);
    profile.for_each(Moved::Got, |region, _, _, t| lines[at[region]].got_bytes += t.bytes);
    lines
}

fn pairs(profile: &JobProfile) -> Vec<PairLine> {
    let mut pairs: BTreeMap<(u32, u32), PairLine> = BTreeMap::new();
    for moved in [Moved::Sent, Moved::Put, Moved::Got] {
        for ((from, to), Traffic { messages, bytes }) in profile.pairs(moved) {
            let pair = pairs.entry((from, to)).or_insert(PairLine { from, to, ..PairLine::default() });
            let (m, b) = match moved {
                Moved::Sent => (&mut pair.messages, &mut pair.bytes),
                Moved::Put => (&mut pair.put_messages, &mut pair.put_bytes),
                Moved::Got => (&mut pair.got_messages, &mut pair.got_bytes),
            };
            (*m, *b) = (messages, bytes);
        }
    }
    pairs.into_values().collect()
}

fn ranks(profile: &JobProfile, pairs: &[PairLine]) -> Vec<RankLine> {
    // Sent and received, as messages and by one-sided calls.
    let mut sums = vec![[Traffic::default(); 4]; profile.ranks() as usize];
    for pair in pairs {
        let one_sided = (pair.put_messages + pair.got_messages, pair.put_bytes.saturating_add(pair.got_bytes));
        sums[pair.from as usize][0].add(pair.messages, pair.bytes);
        sums[pair.to as usize][1].add(pair.messages, pair.bytes);
        sums[pair.from as usize][2].add(one_sided.0, one_sided.1);
        sums[pair.to as usize][3].add(one_sided.0, one_sided.1);
    }
    let mut files = vec![FileTraffic::default(); profile.ranks() as usize];
    for file in &profile.files {
        file.regions.iter().for_each(|region| files[file.rank as usize].add(region.files));
    }
    let mut hosts = profile.files.iter().map(|f| (f.rank, f.host.clone())).collect::<BTreeMap<_, _>>();
    let line = |(rank, [sent, received, given, taken]): (u32, [Traffic; 4])| RankLine {
        rank,
        host: hosts.remove(&rank),
        sent_messages: sent.messages,
        sent_bytes: sent.bytes,
        received_messages: received.messages,
        received_bytes: received.bytes,
        one_sided_sent_bytes: given.bytes,
        one_sided_received_bytes: taken.bytes,
        read_bytes: files[rank as usize].read_bytes,
        written_bytes: files[rank as usize].written_bytes,
    };
    (0..).zip(sums).map(line).collect()
}

/// Of each host's interfaces, what the rank that saw most saw: ranks of one host count the same bytes.
fn interfaces(profile: &JobProfile) -> Vec<InterfaceLine> {
    let mut most: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for (file, interface) in profile.files.iter().flat_map(|f| f.interfaces.iter().map(move |i| (f, i))) {
        let (sent, received) = most.entry((&file.host, &interface.name)).or_default();
        *sent = (*sent).max(interface.sent_bytes);
        *received = (*received).max(interface.received_bytes);
    }
    let line = |((host, name), (sent_bytes, received_bytes)): ((&str, &str), (u64, u64))| InterfaceLine {
        host: host.into(),
        name: name.into(),
        sent_bytes,
        received_bytes,
    };
    most.into_iter().map(line).collect()
}

/// Summed over the ranks of each host.
fn connections(profile: &JobProfile) -> Vec<ConnectionLine> {
    let mut sums: BTreeMap<(&str, &str, &str), [u64; 3]> = BTreeMap::new();
    for (file, c) in profile.files.iter().flat_map(|f| f.connections.iter().map(move |c| (f, c))) {
        let sum = sums.entry((&file.host, &c.interface, &c.peer)).or_default();
        let more = [c.connections, c.sent_bytes, c.received_bytes];
        sum.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }
    let line = |((host, interface, peer), sum): ((&str, &str, &str), [u64; 3])| {
        let [connections, sent_bytes, received_bytes] = sum;
        ConnectionLine {
            host: host.into(),
            interface: interface.into(),
            peer: peer.into(),
            connections,
            sent_bytes,
            received_bytes,
        }
    };
    sums.into_iter().map(line).collect()
}
