//! Whole paths from postcards.
//!
//! A postcard with `next` and one with `previous` are of one packet if each names the other's component, their headers are the
//! same, and the second one's arrival is one wire after the first one's departure, by the corrected clocks, within a slack that
//! is far above the clocks' own residual and far below the time in which a source uses a tag again; between ranks of a real run, where a
//! chunk may be slow, as late as the slowest one that could be paired. Where several fit, the nearest ones are joined and the path is
//! called ambiguous.
//!
//! What is left are pieces of paths. A piece that ends before its destination and one that begins behind its source, with the
//! same header, are of one packet if the second begins within the time that the slowest whole path took; the components between
//! them are a [`Gap`], named as far as their neighbours name them. Every gap is said, so no guess is silent.

use super::clocks::Clocks;
use super::record::{Collection, Component, ComponentKind, Operation, Packet, Postcard};
use std::collections::{BTreeMap, HashMap};

/// One component of a path, with times by the clock of the part's reference, in nanoseconds from the collection's earliest time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// Which.
    pub component: Component,
    /// When the packet's head arrived there; in its source's adapter, when that saw the command.
    pub arrived_ns: f64,
    /// When its head left; in its destination's adapter, when the whole message was there.
    pub left_ns: f64,
    /// What waited before it, in a switch.
    pub waiting_bytes: Option<u32>,
    /// Which postcard says so: its place in the component's log.
    pub postcard: usize,
}

/// Where postcards are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapPlace {
    /// Before the first hop.
    Beginning,
    /// Behind the hop with this place in [`Path::hops`].
    After(usize),
}

/// Postcards that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Where.
    pub place: GapPlace,
    /// The first component without one.
    pub first: Component,
    /// The last one. If it is another one, those between them are not known.
    pub last: Component,
}

/// One end of a path in a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcessorEnd {
    /// Which.
    pub processor: Component,
    /// The line: an index of [`Collection::contexts`].
    pub context: u32,
    /// When, as in [`Hop`].
    pub at_ns: f64,
}

/// The way of one marked packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Its header.
    pub packet: Packet,
    /// What it was for; `None` if its source's postcard is missing.
    pub operation: Option<Operation>,
    /// The command of its source's adapter, likewise.
    pub command: Option<u32>,
    /// The program that sent it; `None` for what adapters send by themselves, and if a postcard is missing.
    pub issued: Option<ProcessorEnd>,
    /// Where it was, in order.
    pub hops: Vec<Hop>,
    /// What is missing between them.
    pub gaps: Vec<Gap>,
    /// Another packet's postcards may be among them, or its own among those of another path.
    pub is_ambiguous: bool,
    /// The program that received the message; `None` for what adapters receive for themselves, and if a postcard is missing.
    pub received: Option<ProcessorEnd>,
}

impl Path {
    /// Whether every component that it passed has its postcard, and these fit no other path.
    pub fn is_intact(&self) -> bool {
        self.gaps.is_empty() && !self.is_ambiguous
    }

    /// From when its source's adapter saw the command until the whole message was at its destination, in nanoseconds; for
    /// pieces, what there is of it.
    pub fn duration_ns(&self) -> f64 {
        let ends = (self.hops.first(), self.hops.last());
        if let (Some(first), Some(last)) = ends { last.left_ns - first.arrived_ns } else { 0.0 }
    }
}

/// All paths, and what could not be said.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// By the time of their first hop, then their header.
    pub paths: Vec<Path>,
    /// How far from its wire's latency the arrival of a next hop may be, in nanoseconds.
    pub slack_ns: f64,
    /// Postcards of processors whose adapters have none of that command.
    pub unused: usize,
}

/// A postcard of an adapter or a switch.
#[derive(Clone, Copy, Debug)]
struct Piece {
    hop: Hop,
    part: Option<u32>,
    previous: Option<Component>,
    next: Option<Component>,
    command: u32,
    operation: Option<Operation>,
}

/// What is more than this times the clocks' residual away is of another packet. The residual is that of 95 % of the packets; wires with few
/// packets are known less well, and a packet with the same header that comes so soon behind is another choice, which is said.
const SLACK_RESIDUALS: f64 = 256.0;
/// And this, in nanoseconds: times are whole ones, at both ends of the wire of a packet and of every wire in the estimate of their clocks.
const ROUNDING_NS: f64 = 256.0;

/// Joins the postcards of a collection; see the top of the file.
pub fn join(collection: &Collection, clocks: &Clocks) -> Joined {
    let slack_ns = SLACK_RESIDUALS * clocks.residual_ns + ROUNDING_NS;
    let mut paths = Vec::new();
    let mut pieces_of_paths = Vec::new();
    for (packet, pieces) in pieces(collection, clocks) {
        for (chain, is_ambiguous) in chains(&pieces, clocks, slack_ns) {
            pieces_of_paths.push((packet, chain.into_iter().map(|i| pieces[i]).collect::<Vec<_>>(), is_ambiguous));
        }
    }
    let is_whole = |chain: &[Piece]| {
        chain.first().is_some_and(|p| p.previous.is_none()) && chain.last().is_some_and(|p| p.next.is_none())
    };
    let whole = pieces_of_paths.iter().filter(|(_, chain, _)| is_whole(chain));
    let longest = whole.map(|(_, chain, _)| travel(chain)).fold(0.0, f64::max);
    let mut broken: BTreeMap<Packet, Vec<(Vec<Piece>, bool)>> = BTreeMap::new();
    for (packet, chain, is_ambiguous) in pieces_of_paths {
        if is_whole(&chain) {
            paths.push(path(packet, &[chain], is_ambiguous));
        } else {
            broken.entry(packet).or_default().push((chain, is_ambiguous));
        }
    }
    for (packet, chains) in broken {
        paths.extend(bridge(packet, chains, longest.max(slack_ns)));
    }
    let unused = add_processors(collection, clocks, &mut paths);
    let start = |path: &Path| path.hops.first().map_or(0.0, |hop| hop.arrived_ns);
    paths.sort_by(|a, b| start(a).total_cmp(&start(b)).then(a.packet.cmp(&b.packet)));
    Joined { paths, slack_ns, unused }
}

/// From the first departure to the last arrival.
fn travel(chain: &[Piece]) -> f64 {
    let (Some(first), Some(last)) = (chain.first(), chain.last()) else { return 0.0 };
    last.hop.arrived_ns - first.hop.left_ns
}

/// All postcards of adapters and switches, by header, in the order of their arrival.
fn pieces(collection: &Collection, clocks: &Clocks) -> BTreeMap<Packet, Vec<Piece>> {
    let mut all: BTreeMap<Packet, Vec<Piece>> = BTreeMap::new();
    for (log, number) in collection.components.iter().zip(0..) {
        let component = Component(number);
        for (place, postcard) in log.postcards.iter().enumerate() {
            let piece = |arrived: u64, left: u64, waiting_bytes: Option<u32>| {
                let (part, arrived_ns) = clocks.corrected(component, arrived);
                let left_ns = clocks.corrected(component, left).1;
                let hop = Hop { component, arrived_ns, left_ns, waiting_bytes, postcard: place };
                Piece { hop, part, previous: None, next: None, command: 0, operation: None }
            };
            let (packet, piece) = match *postcard {
                Postcard::Injected { command, operation, packet, next, seen, left, .. } => {
                    let operation = Some(operation);
                    (packet, Piece { next: Some(next), command, operation, ..piece(seen, left, None) })
                }
                Postcard::Forwarded { packet, previous, next, arrived, left, waiting_bytes } => {
                    let (previous, next) = (Some(previous), Some(next));
                    (packet, Piece { previous, next, ..piece(arrived, left, Some(waiting_bytes)) })
                }
                Postcard::Arrived { packet, previous, command, arrived, complete } => {
                    (packet, Piece { previous: Some(previous), command, ..piece(arrived, complete, None) })
                }
                Postcard::Issued { .. } | Postcard::Received { .. } => continue,
            };
            all.entry(packet).or_default().push(piece);
        }
    }
    all.values_mut().for_each(|list| list.sort_by(|a, b| a.hop.arrived_ns.total_cmp(&b.hop.arrived_ns)));
    all
}

/// Joins the pieces of one header that are a wire apart: chains of their places, and whether others would have fitted.
fn chains(pieces: &[Piece], clocks: &Clocks, slack_ns: f64) -> Vec<(Vec<usize>, bool)> {
    let distance = |a: &Piece, b: &Piece| -> Option<f64> {
        if a.next != Some(b.hop.component) || b.previous != Some(a.hop.component) {
            return None;
        }
        // Where nothing was paired, there is no time to compare.
        if a.part.is_none() || a.part != b.part {
            return Some(0.0);
        }
        clocks.distance_ns(a.hop.component, b.hop.component, b.hop.arrived_ns - a.hop.left_ns, slack_ns)
    };
    let mut fits: Vec<(f64, usize, usize)> = Vec::new();
    for (i, a) in pieces.iter().enumerate() {
        fits.extend(pieces.iter().enumerate().filter_map(|(j, b)| Some((distance(a, b)?, i, j))));
    }
    fits.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let matched = Matched::new(pieces.len(), fits.into_iter().map(|(_, i, j)| (i, j)));
    let flagged = |chain: Vec<usize>| {
        let is_ambiguous = matched.has_choice(&chain);
        (chain, is_ambiguous)
    };
    matched.chains().map(flagged).collect()
}

/// What follows what, where each has one successor and one predecessor at most.
struct Matched {
    next: Vec<Option<usize>>,
    has_previous: Vec<bool>,
    /// How many would have fitted behind each, and before it.
    choices: Vec<(usize, usize)>,
}

impl Matched {
    /// Of `count` things, from pairs that fit, the best ones first: each takes the first that is left.
    fn new(count: usize, fits: impl Iterator<Item = (usize, usize)>) -> Self {
        let (next, has_previous, choices) = (vec![None; count], vec![false; count], vec![(0, 0); count]);
        let mut matched = Self { next, has_previous, choices };
        for (i, j) in fits {
            matched.choices[i].0 += 1;
            matched.choices[j].1 += 1;
            if matched.next[i].is_none() && !matched.has_previous[j] {
                matched.next[i] = Some(j);
                matched.has_previous[j] = true;
            }
        }
        matched
    }

    /// Each from its first one on.
    fn chains(&self) -> impl Iterator<Item = Vec<usize>> {
        let starts = (0..self.next.len()).filter(|&i| !self.has_previous[i]);
        starts.map(|start| std::iter::successors(Some(start), |&i| self.next[i]).collect())
    }

    /// Whether another one would have fitted somewhere in it.
    fn has_choice(&self, chain: &[usize]) -> bool {
        chain.iter().any(|&i| self.choices[i].0 > 1 || self.choices[i].1 > 1)
    }
}

/// Joins pieces of paths with one header over gaps of at most `longest` nanoseconds.
fn bridge(packet: Packet, mut chains: Vec<(Vec<Piece>, bool)>, longest: f64) -> Vec<Path> {
    let time = |chain: &[Piece]| chain.first().map_or(0.0, |p| p.hop.arrived_ns);
    chains.sort_by(|a, b| time(&a.0).total_cmp(&time(&b.0)));
    // What an end and a beginning have in common: nothing missing but one component is nearer than any number of them.
    let fit = |a: &[Piece], b: &[Piece]| -> Option<(bool, f64)> {
        let (end, beginning) = (a.last()?, b.first()?);
        let (missing, before) = (end.next?, beginning.previous?);
        let apart = beginning.hop.arrived_ns - end.hop.left_ns;
        let comparable = end.part.is_some() && end.part == beginning.part;
        let near = !comparable || (0.0..=longest).contains(&apart);
        // A component that has its own postcard in the next piece is not missing.
        let possible = near && missing != beginning.hop.component && before != end.hop.component;
        possible.then_some((missing != before, apart))
    };
    let mut fits = Vec::new();
    for (i, a) in chains.iter().enumerate() {
        // What begins later is later: no circles, even where times cannot be compared.
        let later = chains.iter().enumerate().skip(i + 1);
        fits.extend(later.filter_map(|(j, b)| Some((fit(&a.0, &b.0)?, i, j))));
    }
    fits.sort_by(|a, b| a.0.0.cmp(&b.0.0).then(a.0.1.total_cmp(&b.0.1)).then((a.1, a.2).cmp(&(b.1, b.2))));
    let matched = Matched::new(chains.len(), fits.into_iter().map(|(_, i, j)| (i, j)));
    let whole = |parts: Vec<usize>| {
        let is_ambiguous = matched.has_choice(&parts) || parts.iter().any(|&i| chains[i].1);
        let parts: Vec<Vec<Piece>> = parts.into_iter().map(|i| chains[i].0.clone()).collect();
        path(packet, &parts, is_ambiguous)
    };
    matched.chains().map(whole).collect()
}

/// A path of parts between which postcards are missing.
fn path(packet: Packet, parts: &[Vec<Piece>], is_ambiguous: bool) -> Path {
    let (mut hops, mut gaps) = (Vec::new(), Vec::new());
    let (mut operation, mut command) = (None, None);
    let mut missing: Option<Component> = None;
    for part in parts {
        let Some(first) = part.first() else { continue };
        match (first.previous, hops.len()) {
            (Some(previous), 0) => {
                gaps.push(Gap { place: GapPlace::Beginning, first: packet.source, last: previous });
            }
            (Some(previous), hops) => {
                let first = missing.unwrap_or(previous);
                gaps.push(Gap { place: GapPlace::After(hops - 1), first, last: previous });
            }
            (None, _) => (operation, command) = (first.operation, Some(first.command)),
        }
        hops.extend(part.iter().map(|piece| piece.hop));
        missing = part.last().and_then(|piece| piece.next);
    }
    if let Some(missing) = missing {
        gaps.push(Gap { place: GapPlace::After(hops.len() - 1), first: missing, last: packet.destination });
    }
    Path { packet, operation, command, issued: None, hops, gaps, is_ambiguous, received: None }
}

/// Gives paths their ends in programs; how many postcards of processors are of no path.
fn add_processors(collection: &Collection, clocks: &Clocks, paths: &mut [Path]) -> usize {
    let mut issued: HashMap<(Component, u32), Vec<ProcessorEnd>> = HashMap::new();
    let mut received = issued.clone();
    for (log, number) in collection.components.iter().zip(0..) {
        let processor = Component(number);
        let adapter = match log.kind {
            ComponentKind::Processor { adapter } => adapter,
            ComponentKind::Rank { .. } => processor,
            ComponentKind::Adapter | ComponentKind::Switch | ComponentKind::Tap => continue,
        };
        for postcard in &log.postcards {
            let end = |context: u32, at: u64| {
                let at_ns = clocks.corrected(processor, at).1;
                ProcessorEnd { processor, context, at_ns }
            };
            match *postcard {
                Postcard::Issued { context, command, at, .. } => {
                    issued.entry((adapter, command)).or_default().push(end(context, at));
                }
                Postcard::Received { context, command, at, .. } => {
                    received.entry((adapter, command)).or_default().push(end(context, at));
                }
                _ => {}
            }
        }
    }
    let all = issued.values().chain(received.values()).map(Vec::len).sum::<usize>();
    let mut used = std::collections::HashSet::new();
    for path in paths {
        if path.operation != Some(Operation::Grant)
            && let Some(command) = path.command
            && let Some(ends) = issued.get(&(path.packet.source, command))
        {
            path.issued = ends.first().copied();
            path.is_ambiguous |= ends.len() > 1;
            used.insert((false, path.packet.source, command));
        }
        if let Some(command) = arrival_command(collection, path)
            && let Some(ends) = received.get(&(path.packet.destination, command))
        {
            path.received = ends.first().copied();
            path.is_ambiguous |= ends.len() > 1;
            used.insert((true, path.packet.destination, command));
        }
    }
    let count = |(of_receiver, adapter, command): &(bool, Component, u32)| {
        let ends = if *of_receiver { &received } else { &issued };
        ends.get(&(*adapter, *command)).map_or(0, Vec::len)
    };
    all - used.iter().map(count).sum::<usize>()
}

/// What the destination's adapter called the message of a path.
fn arrival_command(collection: &Collection, path: &Path) -> Option<u32> {
    let last = path.hops.last().filter(|hop| hop.component == path.packet.destination)?;
    match collection.components.get(last.component.index())?.postcards.get(last.postcard)? {
        Postcard::Arrived { command, .. } => Some(*command),
        _ => None,
    }
}
