//! Demands as applications have them: two coupled components, and data gathered at I/O hosts (thesis 6.5).

use crate::demands::demand::{Demand, MAX_DEMANDS};
use crate::demands::keys::{Keys, positive, push, size, whole};
use optiq_net::random::SplitMix64;
use optiq_net::{Network, NodeId};

/// Keys of [`coupling`].
pub(super) const COUPLING: &[&str] = &["from", "to", "pairs", "messages", "ranks", "points", "seed", "class"];

/// Keys of [`aggregate`].
pub(super) const AGGREGATE: &[&str] = &["ranks", "min", "max", "seed", "class"];

/// Hosts `FIRST-LAST`, as numbers, both included.
fn range(text: &str, hosts: usize) -> Result<(usize, usize), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if first <= last && last < hosts => Ok((first, last)),
        (Ok(_), Ok(_)) => Err(format!("hosts FIRST-LAST from 0-0 to 0-{} are expected", hosts.saturating_sub(1))),
        _ => Err("hosts FIRST-LAST are expected, such as 0-127".into()),
    }
}

/// A component on one range of hosts sends to a component on another: `pairs` different pairs of hosts, every choice equally
/// likely, carry `messages` messages between their ranks. Each pair has at least one, and at most one for each pair of its
/// `ranks` times `ranks` ranks. A message has 1 to `points` points, equally likely, of `bytes` bytes each. What goes between the
/// same hosts is one demand, as the thesis merges it (6.5.1.2). Ascending by source and destination.
pub(super) fn coupling(hosts: usize, bytes: u64, keys: &Keys) -> Result<Vec<Demand>, String> {
    let all = (0, hosts.saturating_sub(1));
    let from = keys.get("from", all, |text| range(text, hosts))?;
    let to = keys.get("to", all, |text| range(text, hosts))?;
    let length = |(first, last): (usize, usize)| last + 1 - first;
    // A host needs no network to itself.
    let both = (from.1.min(to.1) + 1).saturating_sub(from.0.max(to.0));
    let possible = length(from).saturating_mul(length(to)) - both;
    if possible > MAX_DEMANDS {
        return Err(format!("the two ranges have {possible} pairs of hosts; at most {MAX_DEMANDS} are allowed"));
    }
    let pairs = keys.get("pairs", hosts, positive)?;
    if pairs > possible {
        return Err(format!("pairs={pairs}: the two ranges have {possible} pairs of different hosts"));
    }
    let ranks = keys.get("ranks", 1, positive)? as u64;
    let messages = keys.get("messages", pairs, positive)? as u64;
    let room = (pairs as u64).saturating_mul(ranks.saturating_mul(ranks));
    if messages < pairs as u64 || messages > room {
        return Err(format!("messages={messages}: from {pairs} to {room} are possible for {pairs} pairs of hosts"));
    }
    if messages > MAX_DEMANDS as u64 {
        return Err(format!("messages={messages}: at most {MAX_DEMANDS} are allowed"));
    }
    let points = keys.get("points", 1, positive)? as u64;
    if messages.checked_mul(points).and_then(|n| n.checked_mul(bytes)).is_none() {
        return Err("there may be more bytes than 64 bits hold".into());
    }
    let mut rng = SplitMix64::new(keys.get("seed", 1, whole)?);
    let mut demands = Vec::with_capacity(pairs);
    // Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S).
    let mut left = possible;
    for src in from.0..=from.1 {
        for dst in (to.0..=to.1).filter(|&dst| dst != src) {
            if rng.below(left as u64) < (pairs - demands.len()) as u64 {
                push(&mut demands, src, dst, 0);
            }
            left -= 1;
        }
    }
    // How many messages each pair has: one, and the others wherever there is room.
    let mut count = vec![1u64; pairs];
    let mut open: Vec<usize> = if ranks > 1 { (0..pairs).collect() } else { Vec::new() };
    for _ in pairs as u64..messages {
        let place = rng.below(open.len() as u64) as usize;
        let pair = open[place];
        count[pair] += 1;
        if count[pair] == ranks.saturating_mul(ranks) {
            open.swap_remove(place);
        }
    }
    for (demand, count) in demands.iter_mut().zip(count) {
        demand.bytes = (0..count).map(|_| (1 + rng.below(points)) * bytes).sum();
    }
    Ok(demands)
}

/// Every host sends to its default I/O host ([`Network::default_io_host`]) what `ranks` ranks on it have, `min..=max` bytes each,
/// equally likely (thesis 6.5.3). I/O hosts send nothing to themselves, but their bytes are drawn too.
pub(super) fn aggregate(net: &Network, bytes: u64, keys: &Keys) -> Result<Vec<Demand>, String> {
    if net.io_hosts().is_empty() {
        return Err("the topology marks no I/O hosts; add io=HOST+HOST to it".into());
    }
    let ranks = keys.get("ranks", 1, positive)? as u64;
    let min = keys.get("min", bytes, size)?;
    let max = keys.get("max", bytes.max(min), size)?;
    if min > max {
        return Err(format!("min is {min} bytes, more than max, which is {max}"));
    }
    if (net.hosts() as u64).saturating_mul(ranks) > MAX_DEMANDS as u64 {
        return Err(format!("ranks={ranks}: at most {MAX_DEMANDS} ranks on all hosts are allowed"));
    }
    if ranks.checked_mul(max).and_then(|n| n.checked_mul(net.hosts() as u64)).is_none() {
        return Err("there may be more bytes than 64 bits hold".into());
    }
    let mut rng = SplitMix64::new(keys.get("seed", 1, whole)?);
    let mut demands = Vec::with_capacity(net.hosts());
    for host in 0..net.hosts() {
        let bytes = (0..ranks).map(|_| min + rng.up_to(max - min)).sum();
        if let Some(io) = net.default_io_host(NodeId(host as u32)) {
            push(&mut demands, host, io.index(), bytes);
        }
    }
    Ok(demands)
}
