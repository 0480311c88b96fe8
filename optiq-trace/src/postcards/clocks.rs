//! Clocks of components, from their postcards alone.
//!
//! A wire takes the same time for every packet: queues are before its beginning and behind its end. So with `l` the left time at
//! `u` and `a` the arrived time at `v` of one packet, each by its own clock,
//!
//! ```text
//!     a - l = latency + (clock of v - clock of u)      for every packet from u to v
//!     a' - l' = latency - (clock of v - clock of u)    for every packet from v to u
//! ```
//!
//! and where packets cross a cable in both directions, half the sum is the latency and half the difference is how the clocks differ
//! (D. Mills, "Internet Time Synchronization: the Network Time Protocol", IEEE Trans. Communications 39(10), 1991; there the
//! delay varies and the smallest one counts). Where packets go one way only, the latency is taken to be the median of the
//! cables of the same kind that have both. Between a processor and its adapter, and in real runs, the delays vary,
//! and the smallest ones stand for the wire; what the others took more bounds what a packet may take there, and rates are taken to be
//! the same, as kernels discipline those of monotonic clocks. The medians over all packets of a wire make wrong pairs harmless as long
//! as most are right; clocks that run at different rates show as a slope over time, the same in both directions but for its sign.
//!
//! A spanning tree with the most packets (R. Prim, 1957), cables in both directions first, carries this from one component to all
//! others. Wires that are not in it say how good the estimate is.

use super::record::{Collection, Component, ComponentKind, Packet, Postcard};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

/// What is known of one component's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockEstimate {
    /// Components that packets joined, in the order of the smallest one; times of different parts cannot be compared.
    pub part: u32,
    /// What it shows beyond the clock of the part's reference when that shows 0, in nanoseconds.
    pub offset_ns: f64,
    /// How much faster it runs, as a part of 1.
    pub drift: f64,
}

/// The clocks of all components of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Clocks {
    /// By component; `None` of one without postcards that could be paired.
    pub estimates: Vec<Option<ClockEstimate>>,
    /// The 95th percentile, over packets on all wires, of the distance between what the clocks and latencies say and what was written,
    /// in nanoseconds.
    pub residual_ns: f64,
    /// The earliest time of any component's clock: estimates count from it, as numbers with a fraction are exact near 0 only.
    base: u64,
    latencies: HashMap<(Component, Component), f64>,
    /// Of wires whose delays vary: how much less and more than the latency the packets took that could be paired, by these clocks.
    spreads: HashMap<(Component, Component), (f64, f64)>,
}

/// Postcards of one wire that may be of one packet: by (beginning, end, header, number of a command): times at both ends.
type Ends = BTreeMap<(Component, Component, PairKey), (Vec<u64>, Vec<u64>)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PairKey {
    Packet(Packet),
    Command(u32),
}

/// What packets say of one wire.
#[derive(Clone, Debug, Default)]
struct Wire {
    /// (Time at the beginning, what the end showed more), in time order, from `base` on.
    samples: Vec<(f64, f64)>,
    kind: WireKind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WireKind {
    /// Takes as long for every packet.
    #[default]
    Cable,
    /// Between a processor and its adapter: delays vary.
    Bus,
    /// Of a real run: delays vary.
    Real,
}

/// A line `delta = at + slope * time`.
#[derive(Clone, Copy, Debug)]
struct Line {
    at: f64,
    slope: f64,
}

/// Packets within less than this part of all the time say nothing of the rate of a clock: times are whole nanoseconds, and what is
/// wrong by one within a part would be wrong by as many as there are parts at the end.
const LEAST_PART_OF_SPAN: f64 = 8.0;
/// Of more points not all pairs are looked at.
const MOST_PAIRED: usize = 64;

fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// A line through points, as robust as a median: the median of the slopes between all pairs (H. Theil, 1950; P. Sen, 1968), or of many
/// points, between the medians of the first and of the last third. `None` if they are too close together in time to say anything
/// about `span`.
fn slope(points: &[(f64, f64)], span: f64) -> Option<f64> {
    let own = points.last()?.0 - points.first()?.0;
    if own <= 0.0 || own < span / LEAST_PART_OF_SPAN {
        return None;
    }
    if points.len() > MOST_PAIRED {
        let third = points.len() / 3;
        let (early, late) = (&points[..third], &points[points.len() - third..]);
        let middle =
            |part: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| median(&mut part.iter().map(of).collect::<Vec<_>>());
        let run = middle(late, |p| p.0) - middle(early, |p| p.0);
        return (run > 0.0).then(|| (middle(late, |p| p.1) - middle(early, |p| p.1)) / run);
    }
    let pair = |(i, a): (usize, &(f64, f64))| {
        let later = points[i + 1..].iter().filter(|b| b.0 - a.0 >= own / 2.0).map(|b| (b.1 - a.1) / (b.0 - a.0));
        later.collect::<Vec<_>>()
    };
    let mut slopes: Vec<f64> = points.iter().enumerate().flat_map(pair).collect();
    (!slopes.is_empty()).then(|| median(&mut slopes))
}

impl Wire {
    /// What its end shows more than its beginning, as a line with this slope.
    fn line(&self, slope: f64) -> Line {
        if self.kind != WireKind::Cable {
            let least = self.samples.iter().map(|s| s.1).fold(f64::INFINITY, f64::min);
            return Line { at: least, slope: 0.0 };
        }
        let mut rest: Vec<f64> = self.samples.iter().map(|(time, delta)| delta - slope * time).collect();
        Line { at: median(&mut rest), slope }
    }
}

/// Whether packets cross a cable in both directions, and how many do.
type Weight = (bool, usize);

/// All wires with what packets say of them.
type Wires = BTreeMap<(Component, Component), Wire>;

/// Their lines: both directions of a cable have the same slope, but for its sign.
fn lines(wires: &Wires, span: f64) -> BTreeMap<(Component, Component), Line> {
    let own = |wire: &Wire| {
        slope(&wire.samples, span).filter(|_| wire.kind == WireKind::Cable).map(|s| (s, wire.samples.len() as f64))
    };
    let line = |(&(u, v), wire): (&(Component, Component), &Wire)| {
        let back = wires.get(&(v, u)).and_then(own).map(|(slope, weight)| (-slope, weight));
        let (sum, weights) = own(wire).into_iter().chain(back).fold((0.0, 0.0), |(s, w), (a, b)| (s + a * b, w + b));
        ((u, v), wire.line(if weights > 0.0 { sum / weights } else { 0.0 }))
    };
    wires.iter().map(line).collect()
}

impl Clocks {
    /// See the top of the file.
    pub fn estimate(collection: &Collection) -> Self {
        let (ends, base) = ends(collection);
        let wires = wires(collection, &ends, base);
        let times = || wires.values().flat_map(|wire| &wire.samples).map(|sample| sample.0);
        let span = times().fold(0.0, f64::max) - times().fold(f64::INFINITY, f64::min);
        let lines = lines(&wires, span);
        let typical = typical_latencies(collection, &lines);
        let relation = |u: Component, v: Component| relation(collection, &lines, &typical, u, v);
        let mut clocks = Self {
            estimates: vec![None; collection.components.len()],
            residual_ns: 0.0,
            base,
            latencies: HashMap::new(),
            spreads: HashMap::new(),
        };
        clocks.span(&wires, &relation);
        for &(u, v) in lines.keys() {
            clocks.latencies.insert((u, v), relation(u, v).0);
        }
        clocks.residual_ns = clocks.residual(&wires);
        for (&(u, v), wire) in wires.iter().filter(|(_, wire)| wire.kind == WireKind::Real) {
            let taken = || clocks.taken(u, v, wire);
            let (least, most) = (taken().fold(0.0, f64::min), taken().fold(0.0, f64::max));
            clocks.spreads.insert((u, v), (least, most));
        }
        clocks
    }

    /// What packets took on a wire beyond its latency, by these clocks.
    fn taken(&self, u: Component, v: Component, wire: &Wire) -> impl Iterator<Item = f64> {
        let at = |c: Component, time: f64| match self.estimates[c.index()] {
            Some(ClockEstimate { offset_ns, drift, .. }) => (time - offset_ns) / (1.0 + drift),
            None => time,
        };
        let latency = self.latency_ns(u, v);
        wire.samples.iter().map(move |(time, delta)| at(v, time + delta) - at(u, *time) - latency)
    }

    /// How far a packet that was on a wire for `taken_ns`, by these clocks, is from what is usual there, if that is possible when times
    /// are known to `slack_ns`.
    pub(super) fn distance_ns(&self, from: Component, to: Component, taken_ns: f64, slack_ns: f64) -> Option<f64> {
        let more = taken_ns - self.latency_ns(from, to);
        let (least, most) = self.spreads.get(&(from, to)).copied().unwrap_or((0.0, 0.0));
        (least - slack_ns..=most + slack_ns).contains(&more).then_some(more.abs())
    }

    /// A component's time by its part's reference, in nanoseconds from the earliest time on, and the part. Without an estimate the
    /// component is a part of its own.
    pub fn corrected(&self, component: Component, time: u64) -> (Option<u32>, f64) {
        let local = time.saturating_sub(self.base) as f64;
        match self.estimates.get(component.index()).copied().flatten() {
            Some(ClockEstimate { part, offset_ns, drift }) => (Some(part), (local - offset_ns) / (1.0 + drift)),
            None => (None, local),
        }
    }

    /// How long a packet's head is on the wire between two components, in nanoseconds; 0 where nothing was ever paired.
    pub fn latency_ns(&self, from: Component, to: Component) -> f64 {
        self.latencies.get(&(from, to)).copied().unwrap_or(0.0)
    }

    /// Goes from component to component over the wires with the most packets.
    fn span(&mut self, wires: &Wires, relation: &dyn Fn(Component, Component) -> (f64, Line)) {
        let mut neighbours: BTreeMap<Component, Vec<(Component, Weight)>> = BTreeMap::new();
        for (&(u, v), wire) in wires {
            let back = wires.get(&(v, u)).map_or(0, |wire| wire.samples.len());
            let weight = (back > 0, wire.samples.len() + back);
            neighbours.entry(u).or_default().push((v, weight));
            neighbours.entry(v).or_default().push((u, weight));
        }
        let mut part = 0;
        for &start in neighbours.keys() {
            if self.estimates[start.index()].is_some() {
                continue;
            }
            self.estimates[start.index()] = Some(ClockEstimate { part, offset_ns: 0.0, drift: 0.0 });
            let mut reached = BinaryHeap::new();
            let offer = |reached: &mut BinaryHeap<_>, u: Component| {
                for &(v, weight) in neighbours.get(&u).into_iter().flatten() {
                    reached.push((weight, Reverse(v), Reverse(u)));
                }
            };
            offer(&mut reached, start);
            while let Some((_, Reverse(v), Reverse(u))) = reached.pop() {
                let (None, Some(known)) = (self.estimates[v.index()], self.estimates[u.index()]) else { continue };
                let (_, line) = relation(u, v);
                self.estimates[v.index()] = Some(ClockEstimate {
                    part,
                    offset_ns: line.at + known.offset_ns * (1.0 + line.slope),
                    drift: known.drift + line.slope,
                });
                offer(&mut reached, v);
            }
            part += 1;
        }
    }

    fn residual(&self, wires: &Wires) -> f64 {
        let mut distances = Vec::new();
        for (&(u, v), wire) in wires {
            match wire.kind {
                WireKind::Bus => {}
                WireKind::Cable => distances.extend(self.taken(u, v, wire).map(f64::abs)),
                WireKind::Real => {
                    // Only the quickest one tells of the clocks; it counts for all.
                    let quickest = self.taken(u, v, wire).fold(f64::INFINITY, f64::min).abs();
                    distances.extend(wire.samples.iter().map(|_| quickest));
                }
            }
        }
        if distances.is_empty() {
            return 0.0;
        }
        let place = (distances.len() * 95).div_ceil(100).saturating_sub(1);
        *distances.select_nth_unstable_by(place, f64::total_cmp).1
    }
}

/// All times at both ends of each wire, by packet or command, and the earliest time of all.
fn ends(collection: &Collection) -> (Ends, u64) {
    let mut ends = Ends::new();
    let begin = |from: Component, to: Component, key: PairKey, time: u64, ends: &mut Ends| {
        ends.entry((from, to, key)).or_default().0.push(time);
    };
    let end = |from: Component, to: Component, key: PairKey, time: u64, ends: &mut Ends| {
        ends.entry((from, to, key)).or_default().1.push(time);
    };
    let adapter_of = |c: Component| match collection.components.get(c.index()).map(|log| log.kind) {
        Some(ComponentKind::Processor { adapter }) => Some(adapter),
        _ => None,
    };
    let mut processors: HashMap<Component, Vec<Component>> = HashMap::new();
    for (log, number) in collection.components.iter().zip(0..) {
        if let ComponentKind::Processor { adapter } = log.kind {
            processors.entry(adapter).or_default().push(Component(number));
        }
    }
    // With several processors, a command's number does not say whose it is.
    let only = |adapter: Component| match processors.get(&adapter).map(Vec::as_slice) {
        Some([processor]) => Some(*processor),
        _ => None,
    };
    for (log, number) in collection.components.iter().zip(0..) {
        let me = Component(number);
        for postcard in &log.postcards {
            match *postcard {
                Postcard::Issued { command, at, .. } => {
                    if let Some(adapter) = adapter_of(me) {
                        begin(me, adapter, PairKey::Command(command), at, &mut ends);
                    }
                }
                Postcard::Injected { command, packet, next, seen, left, .. } => {
                    if let Some(processor) = only(me) {
                        end(processor, me, PairKey::Command(command), seen, &mut ends);
                    }
                    begin(me, next, PairKey::Packet(packet), left, &mut ends);
                }
                Postcard::Forwarded { packet, previous, next, arrived, left, .. } => {
                    end(previous, me, PairKey::Packet(packet), arrived, &mut ends);
                    begin(me, next, PairKey::Packet(packet), left, &mut ends);
                }
                Postcard::Arrived { packet, previous, command, arrived, complete } => {
                    end(previous, me, PairKey::Packet(packet), arrived, &mut ends);
                    if let Some(processor) = only(me) {
                        begin(me, processor, PairKey::Command(command), complete, &mut ends);
                    }
                }
                Postcard::Received { command, at, .. } => {
                    if let Some(adapter) = adapter_of(me) {
                        end(adapter, me, PairKey::Command(command), at, &mut ends);
                    }
                }
            }
        }
    }
    let postcards = collection.components.iter().flat_map(|log| &log.postcards);
    (ends, postcards.map(Postcard::earliest).min().unwrap_or(0))
}

/// Packets that have as many postcards at one end of a wire as at the other: they keep their order on it.
fn wires(collection: &Collection, ends: &Ends, base: u64) -> Wires {
    let mut wires = Wires::new();
    let kind = |c: Component| match collection.components.get(c.index()).map(|log| log.kind) {
        Some(ComponentKind::Processor { .. }) => WireKind::Bus,
        Some(ComponentKind::Rank { .. } | ComponentKind::Tap) => WireKind::Real,
        _ => WireKind::Cable,
    };
    for (&(from, to, _), (begins, arrivals)) in ends {
        if begins.is_empty() || begins.len() != arrivals.len() {
            continue;
        }
        let (mut begins, mut arrivals) = (begins.clone(), arrivals.clone());
        begins.sort_unstable();
        arrivals.sort_unstable();
        let wire = wires.entry((from, to)).or_default();
        wire.kind = match (kind(from), kind(to)) {
            (WireKind::Cable, other) | (other, _) => other,
        };
        let local = |time: u64| time.saturating_sub(base) as f64;
        // The difference of whole numbers: nanoseconds since 1970 are too many for a float.
        let taken = |b: u64, a: u64| a.wrapping_sub(b).cast_signed() as f64;
        wire.samples.extend(begins.iter().zip(&arrivals).map(|(&b, &a)| (local(b), taken(b, a))));
    }
    wires.values_mut().for_each(|wire| wire.samples.sort_unstable_by(|a, b| a.0.total_cmp(&b.0)));
    wires
}

/// Which kinds of components a wire joins, in either direction.
fn wire_kind(collection: &Collection, u: Component, v: Component) -> (u8, u8) {
    let kind = |c: Component| match collection.components.get(c.index()).map(|log| log.kind) {
        Some(ComponentKind::Processor { .. }) => 0,
        Some(ComponentKind::Adapter) => 1,
        Some(ComponentKind::Rank { .. }) => 3,
        Some(ComponentKind::Tap) => 4,
        _ => 2,
    };
    let (a, b) = (kind(u), kind(v));
    (a.min(b), a.max(b))
}

/// The median latency of wires that were used in both directions, by what they join.
fn typical_latencies(
    collection: &Collection,
    lines: &BTreeMap<(Component, Component), Line>,
) -> HashMap<(u8, u8), f64> {
    let mut all: HashMap<(u8, u8), Vec<f64>> = HashMap::new();
    for (&(u, v), line) in lines.iter().filter(|((u, v), _)| u < v) {
        if let Some(back) = lines.get(&(v, u)) {
            all.entry(wire_kind(collection, u, v)).or_default().push(f64::midpoint(line.at, back.at));
        }
    }
    all.into_iter().map(|(kind, mut latencies)| (kind, median(&mut latencies))).collect()
}

/// The latency from `u` to `v`, and what `v`'s clock shows more than that of `u`.
fn relation(
    collection: &Collection,
    lines: &BTreeMap<(Component, Component), Line>,
    typical: &HashMap<(u8, u8), f64>,
    u: Component,
    v: Component,
) -> (f64, Line) {
    let one_way = || typical.get(&wire_kind(collection, u, v)).copied().unwrap_or(0.0);
    // A line of the way back is over the time of `v`: the same over the time of `u`, which `v` shows with this much more.
    let over_u = |back: &Line, more: f64| back.at + back.slope * more;
    match (lines.get(&(u, v)), lines.get(&(v, u))) {
        (Some(to), Some(back)) => {
            let back_at = over_u(back, to.at);
            let difference = Line { at: (to.at - back_at) / 2.0, slope: (to.slope - back.slope) / 2.0 };
            (f64::midpoint(to.at, back_at), difference)
        }
        (Some(to), None) => (one_way(), Line { at: to.at - one_way(), ..*to }),
        (None, Some(back)) => (one_way(), Line { at: one_way() - over_u(back, -back.at), slope: -back.slope }),
        (None, None) => (one_way(), Line { at: 0.0, slope: 0.0 }),
    }
}
