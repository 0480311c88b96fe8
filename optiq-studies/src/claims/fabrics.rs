//! Claims B4, B5, B7 and B8: K. Brown's picture of traffic on fat trees (document 000, chapter 4): levels from cables alone, bytes on links by
//! forwarding tables, and two case studies. The fabrics are simulated by `ibsim` and routed by OpenSM.

use super::facts::{COLUMNS, context, left_out, row};
use super::setting::Setting;
use crate::failure::Failure;
use crate::findings::{Findings, Row, Verdict};
use crate::real_runs::{RealRuns, Source};
use crate::simulated_subnet::{self, CABLES, FatTree, OPENSM_FILES, Subnet, TABLES};
use optiq_lower::link_traffic::HostTraffics;
use optiq_measure::statistics::mean;
use optiq_net::import::ImportedFabric;
use optiq_net::random::SplitMix64;
use optiq_net::structure::{Structure, parts};
use optiq_net::{LinkLoad, Network, NodeId};
use optiq_trace::profile::job::{JobProfile, Moved};
use std::collections::{BTreeMap, BTreeSet};

fn network(fabric: &ImportedFabric) -> Result<Network, Failure> {
    Ok(Network::from_toml(&fabric.toml("subnet")?, "subnet")?)
}

/// Parts of a network that are left connected without its hosts, each with the number of its switches on every level; the larger ones first.
fn planes(net: &Network, structure: &Structure) -> Vec<BTreeMap<u32, usize>> {
    let part = parts(&structure.neighbours, |v| v >= net.hosts(), |_, _| true);
    let mut planes: BTreeMap<u32, BTreeMap<u32, usize>> = BTreeMap::new();
    for (part, level) in part.iter().zip(&structure.levels).skip(net.hosts()) {
        *planes.entry(*part).or_default().entry(level.unwrap_or(0)).or_default() += 1;
    }
    let mut planes: Vec<_> = planes.into_values().collect();
    planes.sort_by_key(|plane| std::cmp::Reverse(plane.values().sum::<usize>()));
    planes
}

/// B4.
pub(super) fn levels_and_rails(setting: &Setting) -> Result<Findings, Failure> {
    if let Some(why) = simulated_subnet::missing() {
        return Ok(left_out(why));
    }
    let (two, three) = (FatTree::two_levels(6, 6, 3), FatTree::three_levels(3, 3, 4, 4, 2));
    let mut rows = Vec::new();
    for tree in [two, two.with_two_rails(), three, three.with_two_rails()] {
        let rails = if tree.rails == 1 { "one rail" } else { "two rails" };
        let case = format!("{} levels, {rails}, {} hosts", tree.levels(), tree.hosts());
        setting.progress.now(case.clone());
        let subnet = Subnet::start(&tree, "ftree", 0)?;
        let dumps: [(&str, &[&str]); 2] =
            [("OpenSM's dumps", &OPENSM_FILES), ("ibnetdiscover, dump_fts", &[CABLES, TABLES])];
        for (tools, names) in dumps {
            let case = format!("{case}: {tools}");
            let files: Vec<_> = (1..=tree.rails)
                .flat_map(|rail| names.iter().map(move |name| (rail, name)))
                .map(|(rail, name)| subnet.file(rail, name))
                .collect();
            let fabric = simulated_subnet::import(&files)?;
            rows.extend(facts_of(&case, &tree, &fabric)?);
        }
    }
    let note = "Levels are distances from the nearest host, from cables alone. The trees' own switches have names by which the level of each is \
                checked; no rule reads them. Two rails are two trees of the same form that share nothing but hosts, each a subnet with an OpenSM of its own; \
                told apart by leaving out the hosts."
        .into();
    Ok(Findings::new(COLUMNS, rows, vec![note]))
}

fn facts_of(case: &str, tree: &FatTree, fabric: &ImportedFabric) -> Result<Vec<Row>, Failure> {
    let net = network(fabric)?;
    let structure = Structure::of(&net);
    let switches = (net.hosts()..net.vertices()).map(|v| NodeId(v as u32));
    let wrong = switches.filter(|v| structure.levels[v.index()] != Some(FatTree::level_of(net.name(*v)))).count();
    let planes = planes(&net, &structure);
    let mirrored = planes.windows(2).all(|pair| pair[0] == pair[1]);
    let judged = |what: &str, found: usize, expected: usize| {
        let why = || format!("{case}: {what}: {found}, and {expected} were built");
        row(case, what, (found as f64, ""), &expected.to_string(), Verdict::of(found == expected, why))
    };
    let mut rows = vec![
        judged("levels", fabric.levels as usize, tree.levels() as usize),
        judged("switches on another level than built", wrong, 0),
        judged("rails", fabric.rails, tree.rails),
        judged("parts without hosts", planes.len(), tree.rails),
        judged("pairs of hosts that do not arrive", fabric.pairs_unresolved() as usize, 0),
    ];
    if tree.rails > 1 {
        let why = || format!("{case}: {planes:?}");
        let verdict = Verdict::of(mirrored, why);
        let on_each = planes.first().map_or(0, |plane| plane.values().sum());
        rows.push(row(
            case,
            "switches of each rail, level by level the same",
            (on_each as f64, ""),
            "mirrored",
            verdict,
        ));
    }
    Ok(rows)
}

/// Bytes by the two ends of a link.
type LinkBytes = BTreeMap<(String, String), u64>;

/// B5.
pub(super) fn bytes_on_links(setting: &Setting) -> Result<Findings, Failure> {
    if let Some(why) = simulated_subnet::missing() {
        return Ok(left_out(why));
    }
    let parallel = FatTree { leaf_lanes: 2, ..FatTree::two_levels(4, 4, 2) };
    let mut rows = Vec::new();
    for (tree, what) in [(parallel, "2 levels, parallel cables"), (FatTree::three_levels(3, 2, 4, 4, 1), "3 levels")] {
        for routing in ["ftree", "updn"] {
            let case = format!("{what}, {} hosts, {routing}", tree.hosts());
            setting.progress.now(case.clone());
            let subnet = Subnet::start(&tree, routing, 0)?;
            let net = network(&subnet.import(1)?)?;
            // Another number of bytes for each pair, so that no two sums are alike by chance.
            let amount = |from: usize, to: usize| (1 + from * 1009 + to * 31) as u64;
            let names: Vec<String> = subnet.lids(1)?.into_keys().collect();
            let (walked, cables) = walked(&subnet, &names, &amount)?;
            let load = load_of_pairs(&net, &names, &amount)?;
            let put = |i: usize| {
                let link = &net.links()[i];
                let key = (net.name(link.from).to_owned(), net.name(link.to).to_owned());
                (load.bytes[i], walked.get(&key).copied().unwrap_or(0))
            };
            let equal = (0..net.links().len()).filter(|i| put(*i).0 == put(*i).1).count();
            let sums = (load.bytes.iter().sum::<u64>(), walked.values().sum::<u64>());
            let why = || format!("{case}: {} of {} ends of links differ", net.links().len() - equal, net.links().len());
            let verdict = Verdict::of(equal == net.links().len() && sums.0 == sums.1, why);
            rows.push(context(&case, "pairs that ibtracert walked", ((names.len() * (names.len() - 1)) as f64, "")));
            rows.push(context(&case, "cables that it used, in their direction", (cables as f64, "")));
            rows.push(row(
                &case,
                "ends of links with the same bytes",
                (equal as f64, ""),
                &format!("all {}", net.links().len()),
                verdict,
            ));
            rows.push(context(&case, "bytes on all links together", (sums.0 as f64, "B")));
        }
    }
    let note = "Each pair of hosts sends another number of bytes. `ibtracert` asks the switches for every hop of every pair; its bytes are added up by \
                the names at both ends of each cable. Beside it is what `optiq traffic` prints, from the imported tables (`ibnetdiscover`, `dump_fts`). \
                `optiq traffic` writes CSV (`--csv`), YAML (`--yaml`) and JSON (`--json`); a test of the command compares CSV and YAML with `ibtracert` likewise."
        .into();
    Ok(Findings::new(COLUMNS, rows, vec![note]))
}

/// What a walk with `ibtracert` for every pair puts on links, and how many cables it used.
fn walked(
    subnet: &Subnet,
    names: &[String],
    amount: &dyn Fn(usize, usize) -> u64,
) -> Result<(LinkBytes, usize), Failure> {
    let lids = subnet.lids(1)?;
    let (mut bytes, mut cables) = (LinkBytes::new(), BTreeSet::new());
    for (from, to) in (0..names.len()).flat_map(|a| (0..names.len()).map(move |b| (a, b))).filter(|(a, b)| a != b) {
        let route = subnet.ibtracert(1, lids[&names[from]], lids[&names[to]])?;
        let mut at = names[from].as_str();
        for hop in route.split(' ') {
            // 19>mid-00-01/3
            let next = hop.split_once('>').and_then(|(_, far)| far.rsplit_once('/'));
            let (next, _) = next.ok_or_else(|| Failure::Work(format!("ibtracert has the hop \"{hop}\"")))?;
            *bytes.entry((at.to_owned(), next.to_owned())).or_default() += amount(from, to);
            cables.insert((at.to_owned(), hop.to_owned()));
            at = next;
        }
        if at != names[to] {
            return Err(Failure::Work(format!("ibtracert from {} to {} ends at {at}", names[from], names[to])));
        }
    }
    Ok((bytes, cables.len()))
}

fn load_of_pairs(net: &Network, names: &[String], amount: &dyn Fn(usize, usize) -> u64) -> Result<LinkLoad, Failure> {
    let hosts = names.iter().map(|name| net.resolve(name)).collect::<Result<Vec<NodeId>, _>>()?;
    let pairs = (0..hosts.len()).flat_map(|a| (0..hosts.len()).map(move |b| (a, b))).filter(|(a, b)| a != b);
    let sent = pairs.map(|(a, b)| (0, hosts[a], hosts[b], amount(a, b)));
    Ok(HostTraffics::new(sent).load(net)?)
}

/// What a profile of one rank a host puts on links, rank r being on `hosts[r]`.
fn load_of(net: &Network, profile: &JobProfile, hosts: &[NodeId]) -> Result<LinkLoad, Failure> {
    let pairs = profile.pairs(Moved::Sent);
    let host = |rank: u32| hosts[rank as usize];
    let sent = pairs.iter().map(|(&(from, to), t)| (0, host(from), host(to), t.bytes));
    Ok(HostTraffics::new(sent).load(net)?)
}

/// Keys of a rank in the samplesort: 1 MiB.
const KEYS: &str = "262144";
/// Random allocations beside the tight one.
const DRAWS: u64 = 10;

/// The most bytes on a link, and those on links that join level 2 and level 3.
fn peak_and_top(net: &Network, load: &LinkLoad, between_switches: bool) -> (u64, u64) {
    let level = |v: NodeId| FatTree::level_of(net.name(v));
    let (mut peak, mut top) = (0, 0);
    for (link, bytes) in net.links().iter().zip(&load.bytes) {
        let ends = [level(link.from), level(link.to)];
        if !between_switches || !ends.contains(&0) {
            peak = peak.max(*bytes);
        }
        top += if ends.contains(&3) { *bytes } else { 0 };
    }
    (peak, top)
}

/// The first hosts by name, which are as near to each other as can be; or random ones, in random order.
fn allocation(net: &Network, ranks: usize, draw: Option<u64>) -> Result<Vec<NodeId>, Failure> {
    let mut hosts = (1..=net.hosts()).map(|n| net.resolve(&format!("node{n:04}"))).collect::<Result<Vec<_>, _>>()?;
    if let Some(seed) = draw {
        let mut random = SplitMix64::new(seed);
        for i in 0..ranks {
            let other = i + random.below((hosts.len() - i) as u64) as usize;
            hosts.swap(i, other);
        }
    }
    hosts.truncate(ranks);
    Ok(hosts)
}

/// B7.
pub(super) fn tighter_node_set(setting: &Setting) -> Result<Findings, Failure> {
    let published = &setting.published.traffic;
    if let Some(why) = simulated_subnet::missing() {
        return Ok(left_out(why));
    }
    let runs = match RealRuns::find() {
        Ok(runs) => runs,
        Err(why) => return Ok(left_out(why)),
    };
    let ranks = published.samplesort_ranks;
    setting.progress.now(format!("samplesort of {ranks} ranks"));
    let program = runs.compile(Source::SampleSort)?;
    let whole = runs.profile("profile-of-samplesort", ranks, &program, &[KEYS], &[])?;
    let profile = whole.only("exchange").map_err(|e| Failure::Work(e.to_string()))?;
    let bytes: u64 = profile.pairs(Moved::Sent).values().map(|t| t.bytes).sum();
    let mut rows = vec![context("the program", "bytes between ranks in its exchange", (bytes as f64, "B"))];
    // Islands of 144 hosts, with a whole tree above them, a half and a quarter of it.
    for (tops, form) in [(12, "full bisection"), (6, "2:1 above islands"), (3, "4:1 above islands")] {
        for routing in ["minhop", "ftree"] {
            let tree = FatTree::three_levels(4, 12, 12, 12, tops);
            let case = format!("{} hosts, {form}, {routing}", tree.hosts());
            setting.progress.now(case.clone());
            let net = network(&Subnet::start(&tree, routing, 0)?.import(1)?)?;
            rows.extend(two_node_sets(
                &case,
                &net,
                &profile,
                ranks as usize,
                (tops == 3).then_some(published.peak_cut_percent),
            )?);
        }
    }
    let note = format!(
        "A samplesort of {ranks} real ranks (`benches/samplesort.c`) on this machine, 1 MiB of keys a rank where {:.0} GB was published: a thousandth, \
         which scales all links alike. Its profiled exchange is put on the tables that OpenSM makes, one rank a host: on the first {ranks} hosts, all \
         in one island of 144, and on {DRAWS} random sets of the whole machine. Judged on the trees that have a quarter of the cables above \
         their islands. They were chosen before any load was known, but because a cut was expected there: **so this shows the claim for trees with few cables \
         above islands, or with `minhop`, and for no others**. Where the bisection is full and `ftree` routes, a host's own link carries as much as any other, and no \
         choice of nodes lowers that; which links were oversubscribed on TSUBAME 2.5 that day is not published. Negative: the tight set's peak is higher.",
        published.samplesort_bytes_per_rank / 1e9
    );
    Ok(Findings::new(COLUMNS, rows, vec![note]))
}

/// The peaks of one tight and of random node sets; judged where a cut is asked for.
fn two_node_sets(
    case: &str,
    net: &Network,
    profile: &JobProfile,
    ranks: usize,
    cut: Option<f64>,
) -> Result<Vec<Row>, Failure> {
    let loads = |draw: Option<u64>| load_of(net, profile, &allocation(net, ranks, draw)?);
    let tight = loads(None)?;
    let (peak, top) = peak_and_top(net, &tight, false);
    let mut cuts = Vec::new();
    let (mut peaks, mut inner) = (Vec::new(), Vec::new());
    for draw in 1..=DRAWS {
        let load = loads(Some(draw))?;
        let spread = peak_and_top(net, &load, false).0;
        peaks.push(spread as f64);
        inner.push(peak_and_top(net, &load, true).0 as f64);
        cuts.push(100.0 * (1.0 - peak as f64 / spread as f64));
    }
    let least = cuts.iter().copied().fold(f64::INFINITY, f64::min);
    let verdict = match cut {
        None => Verdict::NotJudged,
        Some(cut) => Verdict::of(least > cut, || format!("{case}: the peak is cut by {least:.1} % at least")),
    };
    let asked = cut.map_or_else(String::new, |cut| format!("more than {cut} %"));
    let unused = if cut.is_some() {
        Verdict::of(top == 0, || format!("{case}: the tight set uses level 3"))
    } else {
        Verdict::NotJudged
    };
    Ok(vec![
        context(case, "busiest link, random nodes, mean", (mean(&peaks).unwrap_or(f64::NAN) / 1e6, "MB")),
        context(
            case,
            "busiest link between switches, random nodes, mean",
            (mean(&inner).unwrap_or(f64::NAN) / 1e6, "MB"),
        ),
        context(case, "busiest link, tight set", (peak as f64 / 1e6, "MB")),
        context(
            case,
            "busiest link between switches, tight set",
            (peak_and_top(net, &tight, true).0 as f64 / 1e6, "MB"),
        ),
        row(case, "tight set's bytes on level 3", (top as f64, "B"), if cut.is_some() { "none" } else { "" }, unused),
        context(case, "cut of the peak, mean of the sets", (mean(&cuts).unwrap_or(f64::NAN), "%")),
        row(case, "cut of the peak, least of the sets", (least, "%"), &asked, verdict),
    ])
}

/// Ranks of the broadcast.
const BROADCAST_RANKS: u32 = 64;

/// B8.
pub(super) fn one_rail_of_two(setting: &Setting) -> Result<Findings, Failure> {
    if let Some(why) = simulated_subnet::missing() {
        return Ok(left_out(why));
    }
    let runs = match RealRuns::find() {
        Ok(runs) => runs,
        Err(why) => return Ok(left_out(why)),
    };
    setting.progress.now(format!("a broadcast of {BROADCAST_RANKS} ranks"));
    let program = runs.compile(Source::Traffic)?;
    let whole = runs.profile("broadcast", BROADCAST_RANKS, &program, &["bcast"], &[])?;
    let profile = whole.only("bcast").map_err(|e| Failure::Work(e.to_string()))?;
    setting.progress.now("two rails");
    let tree = FatTree::two_levels(8, 8, 4).with_two_rails();
    let subnet = Subnet::start(&tree, "ftree", 0)?;
    let mut loads = Vec::new();
    for rail in 1..=tree.rails {
        let net = network(&subnet.import(rail)?)?;
        let load = load_of(&net, &profile, &allocation(&net, BROADCAST_RANKS as usize, None)?)?;
        // Bytes that hosts send, and the busiest link.
        let sent: u64 = net.links().iter().zip(&load.bytes).filter(|(l, _)| net.is_host(l.from)).map(|(_, b)| *b).sum();
        loads.push((sent as f64, load.bytes.iter().copied().max().unwrap_or(0) as f64));
    }
    let mut rows = Vec::new();
    for (case, shares, asked) in [("one rail", [1.0, 0.0], "all on one"), ("both rails", [0.5, 0.5], "half on each")] {
        let on: Vec<(f64, f64)> =
            loads.iter().zip(shares).map(|((sent, peak), part)| (sent * part, peak * part)).collect();
        let all = on[0].0 + on[1].0;
        let expected = if shares[1] == 0.0 { on[1].0 == 0.0 } else { on[0].0 == on[1].0 };
        let why = || format!("{case}: {} and {} B", on[0].0, on[1].0);
        let verdict = Verdict::of(on[0].0 > 0.0 && expected, why);
        rows.push(row(case, "rail 1, of all bytes that hosts send", (100.0 * on[0].0 / all, "%"), asked, verdict));
        rows.push(context(case, "rail 2, of all bytes that hosts send", (100.0 * on[1].0 / all, "%")));
        rows.push(context(case, "busiest link of rail 1", (on[0].1 / 1e3, "kB")));
        rows.push(context(case, "busiest link of rail 2", (on[1].1 / 1e3, "kB")));
    }
    let note = format!(
        "An MPI_Bcast of {BROADCAST_RANKS} real ranks (published: {} nodes), profiled, on a tree of {} hosts with two rails that are subnets of their own, by \
         the tables of each. How an MPI library divides messages between rails is given here, all on one as Open MPI 1.8.2 and halves as 1.6.5 did: the \
         source of counts knows no ports. What is shown is that bytes by rail tell the two apart.",
        setting.published.traffic.broadcast_nodes,
        tree.hosts()
    );
    Ok(Findings::new(COLUMNS, rows, vec![note]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn planes_are_what_is_left_without_hosts() {
        let net = Network::from_spec("fattree:2x2:1x1").unwrap();
        let found = planes(&net, &Structure::of(&net));
        assert_eq!(found, [BTreeMap::from([(1, 2), (2, 1)])]);
    }
}
