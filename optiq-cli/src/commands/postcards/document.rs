//! The JSON document of `optiq postcards join`.

use super::summary::{Stay, Summary, operation};
use optiq_trace::postcards::{Component, GapPlace, ProcessorEnd};
use serde::Serialize;

#[derive(Serialize)]
pub struct JoinedDocument<'a> {
    components: usize,
    postcards: usize,
    overwritten_postcards: u64,
    paths: usize,
    intact_paths: usize,
    paths_with_gaps: usize,
    ambiguous_paths: usize,
    unused_postcards: usize,
    clocks: ClocksDocument,
    busiest_components: Vec<StayDocument<'a>>,
    lines: Vec<LineDocument>,
    slowest_paths: Vec<PathDocument<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct ClocksDocument {
    /// Times of different parts cannot be compared.
    parts: usize,
    skew_seconds: f64,
    residual_seconds: f64,
    slack_seconds: f64,
}

#[derive(Serialize)]
struct StayDocument<'a> {
    name: &'a str,
    kind: &'static str,
    packets: usize,
    mean_seconds: f64,
    max_seconds: f64,
    total_seconds: f64,
    waiting_max_bytes: u32,
}

#[derive(Serialize)]
struct LineDocument {
    line: String,
    paths: usize,
    mean_seconds: f64,
    max_seconds: f64,
}

#[derive(Serialize)]
struct PathDocument<'a> {
    source: &'a str,
    destination: &'a str,
    tag: u16,
    operation: &'static str,
    is_intact: bool,
    is_ambiguous: bool,
    start_seconds: f64,
    duration_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    issued: Option<EndDocument<'a>>,
    hops: Vec<HopDocument<'a>>,
    gaps: Vec<GapDocument<'a>>,
    /// What was between the hosts of ranks, where taps tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    legs: Vec<LegDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<EndDocument<'a>>,
}

#[derive(Serialize)]
struct EndDocument<'a> {
    processor: &'a str,
    line: String,
    time_seconds: f64,
}

#[derive(Serialize)]
struct HopDocument<'a> {
    name: &'a str,
    arrived_seconds: f64,
    left_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_bytes: Option<u32>,
}

#[derive(Serialize)]
struct GapDocument<'a> {
    /// How many hops are before it.
    after_hops: usize,
    first: &'a str,
    last: &'a str,
}

#[derive(Serialize)]
struct LegDocument<'a> {
    from: &'a str,
    to: &'a str,
    through: Vec<&'a str>,
    /// Bytes that were followed from host to host in this time.
    followed: usize,
    is_ambiguous: bool,
}

fn seconds(ns: f64) -> f64 {
    ns / 1e9
}

impl<'a> JoinedDocument<'a> {
    pub fn new(summary: &'a Summary<'a>) -> Self {
        let (collection, joined) = (summary.collection, summary.joined);
        let name = |component: Component| collection.name(component);
        let stay = |&(component, stay): &(Component, Stay)| StayDocument {
            name: name(component),
            kind: summary.kind(component),
            packets: stay.packets,
            mean_seconds: seconds(stay.mean_ns()),
            max_seconds: seconds(stay.most_ns),
            total_seconds: seconds(stay.total_ns),
            waiting_max_bytes: stay.most_waiting_bytes,
        };
        let line = |&(context, stay): &(u32, Stay)| LineDocument {
            line: summary.line(context),
            paths: stay.packets,
            mean_seconds: seconds(stay.mean_ns()),
            max_seconds: seconds(stay.most_ns),
        };
        Self {
            components: collection.components.len(),
            postcards: collection.postcards(),
            overwritten_postcards: collection.overwritten(),
            paths: joined.paths.len(),
            intact_paths: summary.intact(),
            paths_with_gaps: summary.with_gaps(),
            ambiguous_paths: summary.ambiguous(),
            unused_postcards: joined.unused,
            clocks: ClocksDocument {
                parts: summary.parts(),
                skew_seconds: seconds(summary.skew_ns()),
                residual_seconds: seconds(summary.clocks.residual_ns),
                slack_seconds: seconds(joined.slack_ns),
            },
            busiest_components: summary.components.iter().map(stay).collect(),
            lines: summary.lines.iter().map(line).collect(),
            slowest_paths: summary.slowest.iter().map(|&i| path(summary, i)).collect(),
            notes: &summary.notes,
        }
    }
}

fn path<'a>(summary: &'a Summary<'a>, place: usize) -> PathDocument<'a> {
    let path = &summary.joined.paths[place];
    let name = |component: Component| summary.collection.name(component);
    let end = |end: ProcessorEnd| EndDocument {
        processor: name(end.processor),
        line: summary.line(end.context),
        time_seconds: seconds(end.at_ns),
    };
    let hops = path.hops.iter().map(|hop| HopDocument {
        name: name(hop.component),
        arrived_seconds: seconds(hop.arrived_ns),
        left_seconds: seconds(hop.left_ns),
        waiting_bytes: hop.waiting_bytes,
    });
    let gaps = path.gaps.iter().map(|gap| GapDocument {
        after_hops: match gap.place {
            GapPlace::Beginning => 0,
            GapPlace::After(hop) => hop + 1,
        },
        first: name(gap.first),
        last: name(gap.last),
    });
    let legs = summary.legs[place].iter().map(|leg| LegDocument {
        from: name(leg.from),
        to: name(leg.to),
        through: leg.through.iter().map(|&component| name(component)).collect(),
        followed: leg.followed,
        is_ambiguous: leg.is_ambiguous,
    });
    PathDocument {
        source: name(path.packet.source),
        destination: name(path.packet.destination),
        tag: path.packet.tag,
        operation: operation(path),
        is_intact: path.is_intact(),
        is_ambiguous: path.is_ambiguous,
        start_seconds: seconds(path.hops.first().map_or(0.0, |hop| hop.arrived_ns)),
        duration_seconds: seconds(path.duration_ns()),
        issued: path.issued.map(end),
        hops: hops.collect(),
        gaps: gaps.collect(),
        legs: legs.collect(),
        received: path.received.map(end),
    }
}
