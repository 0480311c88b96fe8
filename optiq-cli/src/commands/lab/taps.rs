//! `optiq lab run --taps`: postcards of what taps saw, for `optiq postcards join`.
//!
//! A followed byte is the packet: its header is the two hosts and a tag of its place in its stream and of the ports. A switch's postcard
//! is of two records, as the byte came and as it left; where a segment was sent again, the copies pass in order.

use crate::failure::Failure;
use optiq_lab::{LabError, TapRecord, Tapped};
use optiq_trace::postcards::{
    Collection, Component, ComponentKind, ComponentLog, EXTENSION, Operation, Packet, Postcard, write,
};
use std::collections::{HashMap, VecDeque};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// 2^32 divided by the golden ratio: spreads the tags of streams.
const GOLDEN: u32 = 0x9e37_79b9;

/// Makes the folder, before anything runs.
pub fn prepare(folder: &Path) -> Result<PathBuf, Failure> {
    let made = std::fs::create_dir_all(folder);
    made.map_err(|e| Failure::Input(format!("--taps: {}: the directory cannot be made: {e}", folder.display())))?;
    Ok(folder.join(format!("taps.{EXTENSION}")))
}

/// Writes what taps saw to a file of postcards.
pub fn keep(tapped: Result<Tapped, LabError>, every: u32, file: &Path) -> Result<(), Failure> {
    let collection = collection(tapped?, every);
    write(file, &collection)?;
    log::info!("{} postcards of taps are in {}", collection.postcards(), file.display());
    Ok(())
}

/// What is on its way through a switch: by switch and header, when it came, and from where.
type InSwitch = HashMap<(usize, Packet), VecDeque<(u64, usize)>>;

fn collection(tapped: Tapped, every: u32) -> Collection {
    let Tapped { names, hosts, mut records, dropped } = tapped;
    let log = |(name, dropped): (&String, &u64)| ComponentLog {
        name: if name.is_empty() { "management".into() } else { name.clone() },
        kind: ComponentKind::Tap,
        overwritten: *dropped,
        postcards: Vec::new(),
    };
    let mut components: Vec<ComponentLog> = names.iter().zip(&dropped).map(log).collect();
    let host: HashMap<Ipv4Addr, usize> = hosts.iter().copied().collect();
    let is_host: Vec<bool> = (0..names.len()).map(|n| hosts.iter().any(|&(_, namespace)| namespace == n)).collect();
    // What comes at the time at which something leaves came before it.
    records.sort_by_key(|record| (record.time, record.outgoing));
    let mut in_switch = InSwitch::new();
    // By switch and far end: when what was followed left.
    let mut left_at: HashMap<(usize, usize), Vec<u64>> = HashMap::new();
    for record in &records {
        let Some(packet) = packet(record, every, &host) else { continue };
        let TapRecord { namespace: here, far, outgoing, time, .. } = *record;
        let log = &mut components[here].postcards;
        let neighbour = component(far);
        match (is_host[here], outgoing) {
            (true, true) => {
                let (command, operation) = (log.len() as u32, Operation::Data);
                let (next, seen, left, last_left) = (neighbour, time, time, time);
                log.push(Postcard::Injected { command, operation, packet, next, seen, left, last_left });
            }
            (true, false) => {
                let command = log.len() as u32;
                let (previous, arrived, complete) = (neighbour, time, time);
                log.push(Postcard::Arrived { packet, previous, command, arrived, complete });
            }
            (false, false) => in_switch.entry((here, packet)).or_default().push_back((time, far)),
            (false, true) => {
                let Some((arrived, from)) = in_switch.get_mut(&(here, packet)).and_then(VecDeque::pop_front) else {
                    continue;
                };
                let before = left_at.entry((here, far)).or_default();
                let waited = before.len() - before.partition_point(|&left| left < arrived);
                before.push(time);
                // One byte in `every` is followed, so each stands for `every` bytes.
                let waiting_bytes = u32::try_from(waited as u64 * u64::from(every)).unwrap_or(u32::MAX);
                let (previous, next) = (component(from), neighbour);
                log.push(Postcard::Forwarded { packet, previous, next, arrived, left: time, waiting_bytes });
            }
        }
    }
    Collection { contexts: Vec::new(), components }
}

fn component(namespace: usize) -> Component {
    Component(namespace as u32)
}

/// A followed byte's header, if it goes from host to host.
fn packet(record: &TapRecord, every: u32, host: &HashMap<Ipv4Addr, usize>) -> Option<Packet> {
    let (source, destination) = (component(*host.get(&record.source)?), component(*host.get(&record.destination)?));
    let stream = (u32::from(record.ports.0) << 16 | u32::from(record.ports.1)).wrapping_mul(GOLDEN) >> 16;
    Some(Packet { source, destination, tag: (record.mark / every).wrapping_add(stream) as u16 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use optiq_trace::postcards::{Clocks, join};

    const HOSTS: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];

    /// Hosts 1 and 2 at switch 3; the byte `mark` from one to the other.
    fn way(from: usize, to: usize, mark: u32, times: [u64; 4]) -> Vec<TapRecord> {
        let at = |namespace, far, outgoing, time| TapRecord {
            namespace,
            far,
            outgoing,
            time,
            source: HOSTS[from - 1],
            destination: HOSTS[to - 1],
            ports: (from as u16, to as u16),
            mark,
        };
        vec![
            at(from, 3, true, times[0]),
            at(3, from, false, times[1]),
            at(3, to, true, times[2]),
            at(to, 3, false, times[3]),
        ]
    }

    fn tapped(records: Vec<TapRecord>) -> Tapped {
        let names = ["", "h0", "h1", "s0"].map(String::from).into();
        Tapped { names, hosts: vec![(HOSTS[0], 1), (HOSTS[1], 2)], records, dropped: vec![0, 0, 0, 5] }
    }

    #[test]
    fn what_taps_saw_are_paths_through_switches() {
        let ways = [
            way(1, 2, 4096, [1000, 1010, 1500, 1510]),
            way(1, 2, 8192, [1100, 1110, 2500, 2510]),
            way(2, 1, 4096, [3000, 3010, 3020, 3030]),
        ];
        let collection = collection(tapped(ways.concat()), 4096);
        collection.check().unwrap();
        let switch = &collection.components[3];
        let waited = |p: &Postcard| if let Postcard::Forwarded { waiting_bytes, .. } = p { *waiting_bytes } else { 1 };
        // The second one found the first one in the queue.
        assert_eq!(switch.postcards.iter().map(waited).collect::<Vec<_>>(), [0, 4096, 0]);
        assert_eq!((switch.overwritten, switch.name.as_str()), (5, "s0"));
        let joined = join(&collection, &Clocks::estimate(&collection));
        assert_eq!(joined.paths.len(), 3);
        for path in &joined.paths {
            assert!(path.is_intact() && path.hops.len() == 3 && path.hops[1].component == component(3), "{path:?}");
        }
        // Times at the switch are those of the kernel, whatever the clocks are taken to be.
        let stays: Vec<f64> = joined.paths.iter().map(|p| p.hops[1].left_ns - p.hops[1].arrived_ns).collect();
        assert_eq!(stays, [490.0, 1390.0, 10.0]);
    }

    #[test]
    fn what_is_lost_in_a_switch_is_a_gap_and_others_are_left_out() {
        let mut records = way(1, 2, 4096, [1000, 1010, 1500, 1510]);
        records.truncate(2);
        let mut other = way(1, 2, 4096, [1, 2, 3, 4]);
        other.iter_mut().for_each(|record| record.source = Ipv4Addr::new(198, 19, 0, 1));
        records.extend(other);
        let collection = collection(tapped(records), 4096);
        assert_eq!(collection.postcards(), 1);
        let joined = join(&collection, &Clocks::estimate(&collection));
        assert!(joined.paths.len() == 1 && joined.paths[0].gaps.len() == 1);
    }
}
