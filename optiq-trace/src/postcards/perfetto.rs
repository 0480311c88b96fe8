//! Paths as a Perfetto trace: a process for each component, a slice for the time that a packet was there, and one flow through all that
//! it passed, so that a click on any of them shows the whole path. The messages are those of [`crate::perfetto`].

use super::join::{Gap, GapPlace, Joined, Path, ProcessorEnd};
use super::record::{Collection, Component, Context, Operation};
use crate::perfetto::{Lanes, Packets, flow, named, number, words};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// One step of a path, in the time of the trace.
struct Stay<'a> {
    start: u64,
    end: u64,
    path: &'a Path,
    flow: u64,
    is_last: bool,
    what: What,
}

enum What {
    /// The hop with this place.
    Hop(usize),
    Issued(ProcessorEnd),
    Received(ProcessorEnd),
}

/// Writes the paths of a collection to `out`: it writes many small pieces, so pass a buffered writer. Times count from the first
/// one, by the clocks that were estimated; those of parts that no packet joined cannot be compared.
///
/// # Errors
/// What `out` reports.
pub fn write(collection: &Collection, joined: &Joined, out: impl Write) -> io::Result<()> {
    let mut packets = Packets::new(out);
    // Each component has 2^32 numbers for its tracks: 1 itself, 2 its program, from 16 on those of its slices.
    let uuid = |component: Component, track: u64| (u64::from(component.0) + 1) << 32 | track;
    for (component, mut stays) in stays(joined) {
        let name = collection.name(component);
        packets.track(uuid(component, 1), None, name, Some(u64::from(component.0) + 1))?;
        stays.sort_by_key(|stay| (stay.start, stay.end));
        if stays.iter().any(|stay| !matches!(stay.what, What::Hop(_))) {
            packets.track(uuid(component, 2), Some(uuid(component, 1)), "program", None)?;
        }
        let mut lanes = Lanes::default();
        for stay in stays {
            if !matches!(stay.what, What::Hop(_)) {
                packets.event(uuid(component, 2), stay.start, None, event(collection, &stay));
                continue;
            }
            let (lane, is_new) = lanes.place(stay.start, stay.end);
            let track = uuid(component, 16 + lane as u64);
            if is_new {
                let name = if lane == 0 { "packets".to_owned() } else { format!("packets {}", lane + 1) };
                packets.track(track, Some(uuid(component, 1)), &name, None)?;
            }
            let duration = (stay.end > stay.start).then_some(stay.end - stay.start);
            packets.event(track, stay.start, duration, event(collection, &stay));
        }
    }
    packets.finish()
}

/// By component, what was there when.
fn stays(joined: &Joined) -> BTreeMap<Component, Vec<Stay<'_>>> {
    let times = joined.paths.iter().flat_map(|path| {
        let ends = path.issued.iter().chain(&path.received).map(|end| end.at_ns);
        path.hops.iter().map(|hop| hop.arrived_ns).chain(ends)
    });
    let first = times.fold(f64::INFINITY, f64::min);
    // By corrected clocks something may be before it was: a slice has no negative duration.
    let at = |ns: f64| (ns - first).max(0.0).round() as u64;
    let mut all: BTreeMap<Component, Vec<Stay<'_>>> = BTreeMap::new();
    for (path, number) in joined.paths.iter().zip(1..) {
        let mut add = |component, start, end: u64, what, is_last| {
            let stay = Stay { start, end: end.max(start), path, flow: number, is_last, what };
            all.entry(component).or_default().push(stay);
        };
        if let Some(end) = path.issued {
            add(end.processor, at(end.at_ns), 0, What::Issued(end), false);
        }
        for (i, hop) in path.hops.iter().enumerate() {
            let is_last = i + 1 == path.hops.len() && path.received.is_none();
            add(hop.component, at(hop.arrived_ns), at(hop.left_ns), What::Hop(i), is_last);
        }
        if let Some(end) = path.received {
            add(end.processor, at(end.at_ns), 0, What::Received(end), true);
        }
    }
    all
}

/// What the ui shows of a step.
fn event(collection: &Collection, stay: &Stay<'_>) -> crate::protobuf::Message {
    let path = stay.path;
    let ends = (collection.name(path.packet.source), collection.name(path.packet.destination));
    let kind = match path.operation {
        Some(Operation::Request) => "request",
        Some(Operation::Grant) => "grant",
        Some(Operation::Data) | None => "packet",
    };
    let title = format!("{kind} {} to {}", ends.0, ends.1);
    let line = |event, end: ProcessorEnd| match collection.contexts.get(end.context as usize) {
        Some(Context { file, line, function }) if *line > 0 => {
            words(words(event, "line", &format!("{file}:{line}")), "function", function)
        }
        Some(Context { function, .. }) if !function.is_empty() => words(event, "function", function),
        _ => event,
    };
    let event = match stay.what {
        What::Issued(end) => line(named(&format!("{title}: sent"), "program"), end),
        What::Received(end) => line(named(&format!("{title}: received"), "program"), end),
        What::Hop(i) => {
            let event = number(named(&title, "packet"), "tag", path.packet.tag.into());
            let event = match path.hops[i].waiting_bytes {
                Some(bytes) => number(event, "bytes waiting before it", bytes.into()),
                None => event,
            };
            let gap = path.gaps.iter().find(|gap| gap.place == GapPlace::After(i) || i == 0 && is_first(gap));
            match gap {
                Some(gap) => words(event, "no postcard of", &missing(collection, gap)),
                None => event,
            }
        }
    };
    let event = if path.is_ambiguous { words(event, "ambiguous", "yes") } else { event };
    flow(event, stay.flow, stay.is_last)
}

fn is_first(gap: &Gap) -> bool {
    gap.place == GapPlace::Beginning
}

fn missing(collection: &Collection, gap: &Gap) -> String {
    let (first, last) = (collection.name(gap.first), collection.name(gap.last));
    if gap.first == gap.last { first.to_owned() } else { format!("{first} ... {last}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perfetto::tests::{Field, decode, inside, number_of};
    use crate::postcards::{ComponentKind, ComponentLog, Hop, Packet};

    /// One packet over a relay whose postcard is missing, and another one that stays at the same time: its own track.
    fn by_hand() -> (Collection, Joined) {
        let log = |name: &str| ComponentLog {
            name: name.into(),
            kind: ComponentKind::Rank { tap: None },
            overwritten: 0,
            postcards: Vec::new(),
        };
        let contexts = vec![Context { file: "a.c".into(), line: 7, function: "main".into() }];
        let collection = Collection { contexts, components: ["a", "b", "c"].map(log).into() };
        let packet = Packet { source: Component(0), destination: Component(2), tag: 9 };
        let hop = |component, arrived_ns, left_ns| Hop {
            component: Component(component),
            arrived_ns,
            left_ns,
            waiting_bytes: (component == 0).then_some(44),
            postcard: 0,
        };
        let end = |processor, at_ns| Some(ProcessorEnd { processor: Component(processor), context: 0, at_ns });
        let whole = Path {
            packet,
            operation: Some(Operation::Data),
            command: Some(1),
            issued: end(0, -50.0),
            hops: vec![hop(0, -50.0, 50.0), hop(2, 400.0, 400.0)],
            gaps: vec![Gap { place: GapPlace::After(0), first: Component(1), last: Component(1) }],
            is_ambiguous: false,
            received: end(2, 450.0),
        };
        let piece =
            Path { issued: None, received: None, gaps: Vec::new(), hops: vec![hop(0, 0.0, 100.0)], ..whole.clone() };
        (collection, Joined { paths: vec![whole, piece], slack_ns: 1.0, unused: 0 })
    }

    #[test]
    fn each_packet_is_one_flow_through_its_components() {
        let (collection, joined) = by_hand();
        let mut bytes = Vec::new();
        write(&collection, &joined, &mut bytes).unwrap();
        let text =
            |message: &[(u64, Field<'_>)], field| String::from_utf8(inside(message, field).unwrap().into()).unwrap();
        let (mut tracks, mut steps, mut open) = (BTreeMap::new(), Vec::new(), BTreeMap::<u64, i32>::new());
        for (field, value) in decode(&bytes) {
            let (1, Field::Bytes(packet)) = (field, value) else { panic!("no packet") };
            let packet = decode(packet);
            if let Some(track) = inside(&packet, 60).map(decode) {
                tracks.insert(number_of(&track, 1).unwrap(), (text(&track, 2), number_of(&track, 5)));
            }
            let Some(event) = inside(&packet, 11).map(decode) else { continue };
            let (kind, track) = (number_of(&event, 9).unwrap(), number_of(&event, 11).unwrap());
            *open.entry(track).or_default() += [0, 1, -1, 0][kind as usize];
            assert!((0..=1).contains(&open[&track]) && tracks.contains_key(&track), "slices do not overlap");
            if kind == 2 {
                continue;
            }
            let (goes_on, ends) = (number_of(&event, 47), number_of(&event, 48));
            let time = number_of(&packet, 8).unwrap();
            steps.push((
                goes_on.or(ends).unwrap(),
                time,
                (track >> 32) - 1,
                ends.is_some(),
                text(&event, 23),
                kind == 1,
            ));
        }
        assert!(open.values().all(|&n| n == 0), "every slice ends");
        let names: Vec<&str> = tracks.values().map(|track| track.0.as_str()).collect();
        // Two components are on paths; what was there at one time has a track of its own.
        assert_eq!(names, ["a", "program", "packets", "packets 2", "c", "program", "packets"]);
        steps.sort();
        let step = |flow, time, component, ends, name: &str, is_slice| {
            (flow, time, component, ends, name.to_owned(), is_slice)
        };
        assert_eq!(
            steps,
            [
                step(1, 0, 0, false, "packet a to c", true),
                step(1, 0, 0, false, "packet a to c: sent", false),
                step(1, 450, 2, false, "packet a to c", false),
                step(1, 500, 2, true, "packet a to c: received", false),
                step(2, 50, 0, true, "packet a to c", true),
            ]
        );
        let has = |words: &[u8]| bytes.windows(words.len()).any(|window| window == words);
        assert!(has(b"a.c:7") && has(b"main") && has(b"no postcard of") && has(b"bytes waiting before it"));
    }
}
