//! Claims Y1 to Y5: A. Yoga and M. Chabbi, "Path-synchronous Performance Monitoring in HPC Interconnection Networks with Source-code
//! Attribution": whole paths of marked packets, joined from what unsynchronised components wrote.

use super::facts::{COLUMNS, context, row};
use super::setting::Setting;
use crate::failure::Failure;
use crate::findings::{Cell, Findings, Row, Verdict};
use optiq_measure::statistics;
use optiq_net::Network;
use optiq_sim::jobs::placed::{PlacedJob, simulate_placed};
use optiq_sim::model::Grants;
use optiq_sim::{Model, Outcome, PostcardOptions, Postcards, RunOptions};
use optiq_trace::postcards::{Clocks, Component, ComponentKind, Joined, Operation, Path, Postcard, join};
use std::collections::{BTreeMap, BTreeSet};

/// Of no values, nothing.
fn median(values: &[f64]) -> f64 {
    statistics::median(values).unwrap_or(0.0)
}

/// Large messages are sent by rendezvous above this, in bytes: what MPI libraries have on such fabrics (Open MPI's and Cray MPI's defaults
/// are 4 to 8 KiB).
const EAGER_BYTES: u64 = 8192;
/// Messages of each rank, and bytes of each, where all send to all: some 2,000 marked commands.
const UNIFORM: &str = "uniform,message=64KB,think=0,samples=50,warmup=0";

struct System {
    network: Network,
    model: Model,
    hosts: Vec<u32>,
}

impl System {
    /// The ranks are on the first hosts.
    fn new(setting: &Setting, grants: Grants) -> Result<Self, Failure> {
        let published = &setting.published.postcards;
        let network = Network::from_spec(&published.topology)?;
        let mut model = Model::for_network(&network);
        (model.host.eager_bytes, model.host.grants) = (EAGER_BYTES, grants);
        Ok(Self { network, model, hosts: (0..published.ranks).collect() })
    }

    fn run(&self, program: &str, postcards: Option<PostcardOptions>) -> Result<Outcome, Failure> {
        let job = PlacedJob { program: program.parse()?, hosts: self.hosts.clone(), servers: 0, is_measured: true };
        let options = RunOptions { threads: 1, seed: 1, postcards, ..RunOptions::default() };
        Ok(simulate_placed(&self.network, &self.model, &[job], &options)?.outcome)
    }
}

fn options(setting: &Setting) -> PostcardOptions {
    let published = &setting.published.postcards;
    PostcardOptions {
        one_in: published.one_in,
        skew_nanoseconds: (published.skew_milliseconds * 1e6) as u64,
        buffer_bytes: published.buffer_bytes,
        seed: 1,
        ..PostcardOptions::default()
    }
}

fn ncast_program(setting: &Setting) -> String {
    let published = &setting.published.postcards;
    let (message, root) = (published.message_bytes, published.root);
    format!("incast,message={message}B,root={root},start=together,think=0,samples=1,warmup=0")
}

fn collected(outcome: Outcome) -> Postcards {
    outcome.postcards.unwrap_or_default()
}

fn joined(postcards: &Postcards) -> (Clocks, Joined) {
    let clocks = Clocks::estimate(&postcards.collection);
    let joined = join(&postcards.collection, &clocks);
    (clocks, joined)
}

/// Of the packets of which anything was collected: how many have all of it in one path with nothing else, how many paths have
/// postcards of several packets, and how many of these say so neither by a gap nor as ambiguous.
struct Truth {
    packets: usize,
    whole: usize,
    wrong: usize,
    unflagged: usize,
}

impl Truth {
    fn of(postcards: &Postcards, joined: &Joined) -> Self {
        let mut packets: BTreeMap<u64, usize> = BTreeMap::new();
        for (log, truth) in postcards.collection.components.iter().zip(&postcards.truth) {
            for (postcard, &of) in log.postcards.iter().zip(truth) {
                if !matches!(postcard, Postcard::Issued { .. } | Postcard::Received { .. }) {
                    *packets.entry(of).or_default() += 1;
                }
            }
        }
        let mut found = Self { packets: packets.len(), whole: 0, wrong: 0, unflagged: 0 };
        for path in &joined.paths {
            let truths: BTreeSet<u64> =
                path.hops.iter().map(|hop| postcards.truth[hop.component.index()][hop.postcard]).collect();
            let all = truths.first().and_then(|of| packets.get(of)).copied();
            found.whole += usize::from(truths.len() == 1 && all == Some(path.hops.len()));
            found.wrong += usize::from(truths.len() > 1);
            found.unflagged += usize::from(truths.len() > 1 && path.is_intact());
        }
        found
    }
}

/// Y1.
pub(super) fn whole_paths(setting: &Setting) -> Result<Findings, Failure> {
    let system = System::new(setting, Grants::AtOnce)?;
    let mut rows = Vec::new();
    for (lost, tags) in [(0.0, 1 << 16), (0.1, 1 << 16), (0.0, 64), (0.1, 64)] {
        let case = format!("{:.0} % of postcards lost, {tags} tags", lost * 100.0);
        setting.progress.now(case.clone());
        let asked = PostcardOptions { lost, tags, ..options(setting) };
        let postcards = collected(system.run(UNIFORM, Some(asked))?);
        let (clocks, joined) = joined(&postcards);
        let truth = Truth::of(&postcards, &joined);
        let part = truth.whole as f64 / truth.packets.max(1) as f64 * 100.0;
        let intact = joined.paths.iter().filter(|path| path.is_intact()).count();
        let ambiguous = joined.paths.iter().filter(|path| path.is_ambiguous).count();
        let gaps = joined.paths.iter().filter(|path| !path.gaps.is_empty()).count();
        rows.push(context(&case, "marked commands", (postcards.marked as f64, "")));
        rows.push(context(&case, "postcards", (postcards.collection.postcards() as f64, "")));
        rows.push(context(&case, "packets of which there are postcards", (truth.packets as f64, "")));
        rows.push(context(&case, "paths without gaps or doubts", (intact as f64, "")));
        rows.push(context(&case, "paths with gaps", (gaps as f64, "")));
        rows.push(context(&case, "ambiguous paths", (ambiguous as f64, "")));
        rows.push(context(&case, "what clocks say of 95 % of packets is within", (clocks.residual_ns, "ns")));
        let (least, words) = if lost == 0.0 { (100.0, "all") } else { (99.0, "at least 99 %") };
        let holds = part >= least;
        let why = || format!("{case}: {part:.2} % of packets have all their postcards in one path");
        rows.push(row(
            &case,
            "packets with all their postcards in one path",
            (part, "%"),
            words,
            Verdict::of(holds, why),
        ));
        let why = || format!("{case}: {} wrong joins are not flagged", truth.unflagged);
        let verdict = Verdict::of(truth.unflagged == 0, why);
        rows.push(context(&case, "paths with postcards of several packets", (truth.wrong as f64, "")));
        rows.push(row(&case, "of these not flagged", (truth.unflagged as f64, ""), "none", verdict));
    }
    let note = format!(
        "{} ranks on {}, `{UNIFORM}`, large messages by rendezvous, so that a marked command has three paths: request, grant and data. \
         Clocks differ by up to {} ms and ten millionths of their rate; joining knows headers, neighbours and local times alone. Tags count \
         all packets of a source, and repeat after as many as are said. Changed after three runs of this claim that failed (99.93, 98.53 and \
         99.99 % of packets without losses): how the rates of clocks are estimated, and how far from its wire's latency an arrival may be.",
        system.hosts.len(),
        system.network.spec(),
        setting.published.postcards.skew_milliseconds
    );
    Ok(Findings::new(COLUMNS, rows, vec![note]))
}

/// Spearman's rank correlation; values that are equal keep their order.
fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let ranks = |values: Vec<f64>| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        let mut ranks = vec![0.0; values.len()];
        order.iter().enumerate().for_each(|(rank, &i)| ranks[i] = rank as f64);
        ranks
    };
    let (x, y) = (ranks(pairs.iter().map(|p| p.0).collect()), ranks(pairs.iter().map(|p| p.1).collect()));
    let n = pairs.len() as f64;
    let squares: f64 = x.iter().zip(&y).map(|(a, b)| (a - b) * (a - b)).sum();
    1.0 - 6.0 * squares / (n * (n * n - 1.0)).max(1.0)
}

/// The switch where marked packets stayed longest in all, and how long, in nanoseconds.
fn hottest(postcards: &Postcards, joined: &Joined) -> (Component, f64) {
    let mut stays: BTreeMap<Component, f64> = BTreeMap::new();
    for hop in joined.paths.iter().flat_map(|path| &path.hops) {
        if postcards.collection.components[hop.component.index()].kind == ComponentKind::Switch {
            *stays.entry(hop.component).or_default() += hop.left_ns - hop.arrived_ns;
        }
    }
    stays.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((Component(0), 0.0))
}

/// Y2.
pub(super) fn ncast(setting: &Setting) -> Result<Findings, Failure> {
    let published = &setting.published.postcards;
    let mut rows = Vec::new();
    for (grants, case) in
        [(Grants::OneByOne, "one message at a time"), (Grants::AtOnce, "all requests answered at once")]
    {
        setting.progress.now(case.to_owned());
        let system = System::new(setting, grants)?;
        let outcome = system.run(&ncast_program(setting), Some(options(setting)))?;
        let seconds = outcome.time.seconds();
        let postcards = collected(outcome);
        let (_, joined) = joined(&postcards);
        let collection = &postcards.collection;
        // The last switch before the root's adapter, as the paths themselves say.
        let root = Component(published.root);
        let last = joined.paths.iter().filter(|path| path.packet.destination == root && path.is_intact());
        let last: BTreeSet<Component> =
            last.filter_map(|path| Some(path.hops.iter().rev().nth(1)?.component)).collect();
        let (hot, stay) = hottest(&postcards, &joined);
        let of_root = last.len() == 1 && last.contains(&hot);
        let why = || format!("{case}: packets stay longest at {}", collection.name(hot));
        let words = format!("packets stay longest at {}, in all", collection.name(hot));
        let pulled = grants == Grants::OneByOne;
        let verdict = if pulled { Verdict::of(of_root, why) } else { Verdict::NotJudged };
        let asked = if pulled { "the switch of node 42" } else { "" };
        rows.push(row(case, &words, (stay / 1e3, "us"), asked, verdict));
        let data = |path: &&Path| path.operation == Some(Operation::Data) && path.packet.destination == root;
        let messages: Vec<&Path> = joined.paths.iter().filter(data).collect();
        let begins = |path: &Path| path.hops.first().map_or(0.0, |hop| hop.left_ns);
        let pairs: Vec<(f64, f64)> =
            messages.iter().map(|path| (f64::from(path.packet.source.0), begins(path))).collect();
        let correlation = rank_correlation(&pairs);
        let verdict = match pulled {
            true => Verdict::of(correlation >= 0.99, || format!("{case}: {correlation:.2} is no diagonal")),
            false => Verdict::of(correlation.abs() < 0.9, || format!("{case}: {correlation:.2} is a diagonal")),
        };
        let asked = if pulled { "a diagonal: at least 0.99" } else { "none: below 0.9" };
        rows.push(row(case, "rank correlation of senders and times", (correlation, ""), asked, verdict));
        let from_root = joined.paths.iter().filter(|path| path.packet.source == root).count();
        let others = joined.paths.iter().filter(|path| path.packet.source != root).count();
        let senders: BTreeSet<Component> = messages.iter().map(|path| path.packet.source).collect();
        rows.push(context(case, "marked messages to node 42", (messages.len() as f64, "")));
        rows.push(context(case, "marked packets of node 42", (from_root as f64, "")));
        let each = others as f64 / senders.len().max(1) as f64;
        let holds = from_root as f64 > 5.0 * each;
        let why = || format!("{case}: node 42 sent {from_root} marked packets, others {each:.1}");
        rows.push(row(
            case,
            "marked packets of each other sender",
            (each, ""),
            "far fewer than node 42's",
            Verdict::of(holds, why),
        ));
        let durations: Vec<f64> = messages.iter().map(|path| path.duration_ns() / 1e3).collect();
        rows.push(context(case, "median time of a message, from its command to its end", (median(&durations), "us")));
        rows.push(context(case, "simulated in all", (seconds * 1e3, "ms")));
    }
    let note = format!(
        "{} ranks on the first hosts of {}, each sends {} bytes to rank {}; 1 in {} commands is marked. Which hosts and which routing \
         were used is not published; this is the fabric's own, minimal. `optiq postcards join --report` draws the heatmap. Changed after a \
         first run: who pulls takes senders in the order of their numbers; then it began with whoever asked first, so that the diagonal \
         wrapped around, with a correlation of 0.89.",
        published.ranks, published.topology, published.message_bytes, published.root, published.one_in
    );
    Ok(Findings::new(COLUMNS, rows, vec![note]))
}

/// Y3.
pub(super) fn contexts(setting: &Setting) -> Result<Findings, Failure> {
    let system = System::new(setting, Grants::AtOnce)?;
    let mut rows = Vec::new();
    for (case, program) in [("NCAST", ncast_program(setting)), ("uniform", UNIFORM.to_owned())] {
        setting.progress.now(case.to_owned());
        let postcards = collected(system.run(&program, Some(options(setting)))?);
        let (_, joined) = joined(&postcards);
        let known = |end: Option<optiq_trace::postcards::ProcessorEnd>| {
            let context = end.and_then(|end| postcards.collection.contexts.get(end.context as usize));
            context.is_some_and(|context| context.line > 0 && !context.file.is_empty())
        };
        let messages = joined.paths.iter().filter(|path| path.is_intact() && path.operation == Some(Operation::Data));
        let (mut all, mut both) = (0, 0);
        for path in messages {
            all += 1;
            both += usize::from(known(path.issued) && known(path.received));
        }
        let why = || format!("{case}: {both} of {all} paths name both ends");
        let verdict = Verdict::of(all > 0 && both == all, why);
        rows.push(context(case, "intact paths of messages", (all as f64, "")));
        rows.push(row(case, "with file and line at both ends", (f64::from(both as u32), ""), "all", verdict));
        for context in postcards.collection.contexts.iter().filter(|context| context.line > 0) {
            let line = format!("{}:{}", context.file, context.line);
            rows.push(Row::new(
                vec![case.into(), "a line".into(), Cell::Nothing, line.as_str().into(), Cell::Nothing],
                Verdict::NotJudged,
            ));
        }
    }
    let note = "The programs are the simulator's own; the lines are theirs: where a message is sent (the caller of `Host::send`), and where the \
                program receives."
        .into();
    Ok(Findings::new(COLUMNS, rows, vec![note]))
}

/// Y4.
pub(super) fn overhead(setting: &Setting) -> Result<Findings, Failure> {
    let published = &setting.published.postcards;
    let system = System::new(setting, Grants::AtOnce)?;
    let mut rows = Vec::new();
    let (mut ratios, mut simulated): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    let repetitions = setting.repetitions.max(1);
    for (case, program) in [
        ("NCAST", ncast_program(setting)),
        ("broadcast", "broadcast,message=4MB,algorithm=tree,think=0,samples=1,warmup=0".to_owned()),
        ("uniform", UNIFORM.to_owned()),
    ] {
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for repetition in 0..repetitions {
            setting.progress.now(format!("{case}, {} of {repetitions}", repetition + 1));
            let plain = system.run(&program, None)?;
            let marked = system.run(&program, Some(options(setting)))?;
            simulated.push((marked.time.seconds() / plain.time.seconds() - 1.0) * 100.0);
            without.push(plain.wall_seconds);
            with.push(marked.wall_seconds);
        }
        let pairs: Vec<f64> = with.iter().zip(&without).map(|(with, without)| with / without).collect();
        rows.push(context(case, "wall-clock time without, median", (median(&without), "s")));
        rows.push(context(case, "with, over that of the run before, median", ((median(&pairs) - 1.0) * 100.0, "%")));
        ratios.push(median(&pairs).ln());
    }
    let wall = ((ratios.iter().sum::<f64>() / ratios.len() as f64).exp() - 1.0) * 100.0;
    let most = simulated.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let why = || format!("{most:.3} % of simulated time");
    let verdict = Verdict::of(most <= published.simulated_time_percent, why);
    let asked = format!("at most {} %", published.simulated_time_percent);
    rows.push(row("all", "more simulated time, at most", (most, "%"), &asked, verdict));
    let why = || format!("{wall:.1} % of wall-clock time");
    let verdict = Verdict::of(wall <= published.wall_time_percent, why);
    let asked = format!("at most {} %", published.wall_time_percent);
    rows.push(row("all", "more wall-clock time, geometric mean", (wall, "%"), &asked, verdict));
    let note = format!(
        "1 in {} commands, {repetitions} pairs of runs in turn for each program. Simulated time is the same to the bit: here adapters and \
         switches write postcards beside their work, and what the software of a real host does for a marked command is not simulated.",
        published.one_in
    );
    Ok(Findings::new(COLUMNS, rows, vec![note]))
}

/// Y5.
pub(super) fn buffers(setting: &Setting) -> Result<Findings, Failure> {
    let system = System::new(setting, Grants::AtOnce)?;
    let mut rows = Vec::new();
    let small = "uniform,message=64B,interval=100ns,samples=50,warmup=0";
    for (case, program, one_in, drain_bytes_per_second) in [
        ("64 KB, 1 in 100, drained at 1 Gbit/s", UNIFORM, setting.published.postcards.one_in, 125e6),
        ("64 B each 100 ns, 1 in 1, drained at 1 Gbit/s", small, 1, 125e6),
        ("64 B each 100 ns, 1 in 1, drained at 10 Mbit/s", small, 1, 1.25e6),
    ] {
        setting.progress.now(case.to_owned());
        let plain = system.run(program, None)?;
        let asked = PostcardOptions { one_in, drain_bytes_per_second, ..options(setting) };
        let endless = PostcardOptions { buffer_bytes: usize::MAX >> 1, ..asked };
        let all = collected(system.run(program, Some(endless))?);
        let outcome = system.run(program, Some(asked))?;
        let same = outcome.fingerprint() == plain.fingerprint();
        let postcards = collected(outcome);
        let (written, overwritten) = (all.collection.postcards() as u64, postcards.collection.overwritten());
        let kept = postcards.collection.postcards() as u64;
        rows.push(context(case, "postcards written", (written as f64, "")));
        rows.push(context(case, "written over", (overwritten as f64, "")));
        let why = || format!("{case}: {kept} kept and {overwritten} written over of {written}");
        let verdict = Verdict::of(kept + overwritten == written, why);
        rows.push(row(case, "kept or counted as written over", ((kept + overwritten) as f64, ""), "all", verdict));
        let verdict = Verdict::of(same, || format!("{case}: the simulation is another one"));
        let words = "packets that are later than without";
        rows.push(row(case, words, (f64::from(u8::from(!same)), ""), "none: the same to the bit", verdict));
    }
    let note = "A postcard takes 40 bytes, so that a buffer has room for 51. What is written while it is full replaces the oldest one.".into();
    Ok(Findings::new(COLUMNS, rows, vec![note]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_by_hand() {
        let pairs = |y: [f64; 4]| [0.0, 1.0, 2.0, 3.0].into_iter().zip(y).collect::<Vec<_>>();
        assert!((rank_correlation(&pairs([1.0, 5.0, 7.0, 9.0])) - 1.0).abs() < 1e-12);
        assert!((rank_correlation(&pairs([9.0, 7.0, 5.0, 1.0])) + 1.0).abs() < 1e-12);
        // Differences of ranks 1, 1, 0, 0: 1 - 6 x 2 / 60.
        assert!((rank_correlation(&pairs([5.0, 1.0, 7.0, 9.0])) - 0.8).abs() < 1e-12);
    }
}
