//! Which switches a chunk of a real run passed between two ranks, by taps of a network that knows nothing of chunks.
//!
//! The bytes of a chunk are among those that went from one host to the other between its departure and its arrival. If all bytes that
//! were followed there in this time passed the same components, so did the chunk, whichever bytes were its own; if they did not, each
//! way is possible, and the first one is called ambiguous. Ranks and taps must be of one machine, with one clock, as in the lab.

use super::join::{Joined, Path};
use super::record::{Collection, Component, ComponentKind, Postcard};
use std::collections::HashMap;

/// One leg of a chunk's path, between two ranks on different hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The rank that sent.
    pub from: Component,
    /// The rank that received.
    pub to: Component,
    /// What is between their hosts, in order.
    pub through: Vec<Component>,
    /// How many bytes were followed from host to host while the chunk was on the leg.
    pub followed: usize,
    /// They took different ways.
    pub is_ambiguous: bool,
}

/// A byte's way from host to host: when it began and ended, and what is between.
struct TappedPath {
    began: u64,
    ended: u64,
    through: Vec<Component>,
}

/// By hosts, in the order of their beginnings.
type TappedPaths = HashMap<(Component, Component), Vec<TappedPath>>;

/// The legs of all paths in their order; of a path that is none of a chunk, and where nothing was followed, there are none.
pub fn legs(collection: &Collection, joined: &Joined) -> Vec<Vec<Leg>> {
    let mut ways = TappedPaths::new();
    for path in joined.paths.iter().filter(|path| path.is_intact()) {
        if let Some(way) = way(collection, path) {
            ways.entry((path.packet.source, path.packet.destination)).or_default().push(way);
        }
    }
    ways.values_mut().for_each(|list| list.sort_by_key(|way| way.began));
    let of_path = |path: &Path| {
        let pairs = path.hops.windows(2);
        pairs.filter_map(|pair| leg(collection, &ways, [&pair[0], &pair[1]])).collect()
    };
    joined.paths.iter().map(of_path).collect()
}

fn kind(collection: &Collection, component: Component) -> Option<ComponentKind> {
    collection.components.get(component.index()).map(|log| log.kind)
}

fn postcard<'a>(collection: &'a Collection, hop: &super::join::Hop) -> Option<&'a Postcard> {
    collection.components.get(hop.component.index())?.postcards.get(hop.postcard)
}

/// The way of a byte that taps saw from host to host.
fn way(collection: &Collection, path: &Path) -> Option<TappedPath> {
    let [first, between @ .., last] = path.hops.as_slice() else { return None };
    let (Postcard::Injected { left, .. }, Postcard::Arrived { arrived, .. }) =
        (postcard(collection, first)?, postcard(collection, last)?)
    else {
        return None;
    };
    let is_tap = kind(collection, first.component) == Some(ComponentKind::Tap);
    let through = between.iter().map(|hop| hop.component).collect();
    is_tap.then_some(TappedPath { began: *left, ended: *arrived, through })
}

fn leg(collection: &Collection, ways: &TappedPaths, [a, b]: [&super::join::Hop; 2]) -> Option<Leg> {
    let host = |component| match kind(collection, component) {
        Some(ComponentKind::Rank { tap }) => tap,
        _ => None,
    };
    let list = ways.get(&(host(a.component)?, host(b.component)?))?;
    let (Postcard::Injected { left, .. } | Postcard::Forwarded { left, .. }) = postcard(collection, a)? else {
        return None;
    };
    let (Postcard::Arrived { arrived, .. } | Postcard::Forwarded { arrived, .. }) = postcard(collection, b)? else {
        return None;
    };
    let first = list.partition_point(|way| way.began < *left);
    let mut during = list[first..].iter().take_while(|way| way.began <= *arrived).filter(|way| way.ended <= *arrived);
    let through = during.next()?.through.clone();
    let (mut followed, mut is_ambiguous) = (1, false);
    for other in during {
        followed += 1;
        is_ambiguous |= other.through != through;
    }
    Some(Leg { from: a.component, to: b.component, through, followed, is_ambiguous })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postcards::{Clocks, ComponentLog, Operation, Packet, join};

    /// Ranks 0 and 1 on hosts 2 and 3 with switches 4 and 5 between them; one chunk from 100 to 1000, and bytes over a switch each.
    fn run(bytes: &[(u32, u64, u64)]) -> Vec<Vec<Leg>> {
        let log = |kind, postcards| ComponentLog { name: String::new(), kind, overwritten: 0, postcards };
        let rank = |tap| ComponentKind::Rank { tap: Some(Component(tap)) };
        let operation = Operation::Data;
        let header =
            |source, destination, tag| Packet { source: Component(source), destination: Component(destination), tag };
        let sent = |packet, next, at| Postcard::Injected {
            command: 0,
            operation,
            packet,
            next: Component(next),
            seen: at,
            left: at,
            last_left: at,
        };
        let came = |packet, previous, at| Postcard::Arrived {
            packet,
            previous: Component(previous),
            command: 0,
            arrived: at,
            complete: at,
        };
        let mut components =
            vec![log(rank(2), vec![sent(header(0, 1, 9), 1, 100)]), log(rank(3), vec![came(header(0, 1, 9), 0, 1000)])];
        components.extend((2..6).map(|_| log(ComponentKind::Tap, Vec::new())));
        for (&(switch, began, ended), tag) in bytes.iter().zip(0..) {
            let packet = header(2, 3, tag);
            components[2].postcards.push(sent(packet, switch, began));
            components[3].postcards.push(came(packet, switch, ended));
            components[switch as usize].postcards.push(Postcard::Forwarded {
                packet,
                previous: Component(2),
                next: Component(3),
                arrived: began + 10,
                left: ended - 10,
                waiting_bytes: 0,
            });
        }
        let collection = Collection { contexts: Vec::new(), components };
        collection.check().unwrap();
        let joined = join(&collection, &Clocks::estimate(&collection));
        let legs = legs(&collection, &joined);
        let of_chunks = joined.paths.iter().zip(legs).filter(|(path, _)| path.packet.source == Component(0));
        of_chunks.map(|(_, legs)| legs).collect()
    }

    #[test]
    fn a_chunk_passed_what_all_bytes_of_its_time_passed() {
        let leg = |switch, followed, is_ambiguous| Leg {
            from: Component(0),
            to: Component(1),
            through: vec![Component(switch)],
            followed,
            is_ambiguous,
        };
        // Before it, while it was on its way, and still on their way when it had arrived.
        assert_eq!(run(&[(5, 50, 90), (4, 150, 200), (4, 900, 1000), (5, 950, 1010)]), [[leg(4, 2, false)]]);
        assert_eq!(run(&[(4, 150, 200), (5, 300, 400)]), [[leg(4, 2, true)]]);
        assert_eq!(run(&[(4, 50, 200)]), [[]]);
        assert_eq!(run(&[]), [[]]);
    }
}
