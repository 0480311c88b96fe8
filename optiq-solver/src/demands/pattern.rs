//! The built-in communication patterns of thesis 6.4.2 and 6.4.4.2, all-to-all, and random pairs.
//!
//! The thesis gives `disjoint`; `overlap` and `subset` are the definitions that reproduce its Table VII's `MPI` row.

use crate::demands::application::{self, AGGREGATE, COUPLING};
use crate::demands::demand::{Demand, MAX_DEMANDS, parse_class};
use crate::demands::keys::{Keys, positive, push, size, whole};
use optiq_net::Network;
use optiq_net::random::SplitMix64;
use std::str::FromStr;

/// A pattern, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// `disjoint`, `overlap` and `subset`: every source sends to a block of hosts.
    Blocks(FirstDestination),
    AllToAll,
    Random,
    Coupling,
    Aggregate,
}

/// Where the blocks begin to which sources send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstDestination {
    /// `disjoint`.
    HalfOfHosts,
    /// `overlap`.
    HalfOfSources,
    /// `subset`.
    FirstHost,
}

impl Pattern {
    /// The keys that it takes.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Pattern::Blocks(_) => &["sources", "destinations", "class"],
            Pattern::AllToAll => &["class"],
            Pattern::Random => &["count", "seed", "min", "max", "class", "classes"],
            Pattern::Coupling => COUPLING,
            Pattern::Aggregate => AGGREGATE,
        }
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Ok(match name {
            "disjoint" => Pattern::Blocks(FirstDestination::HalfOfHosts),
            "overlap" => Pattern::Blocks(FirstDestination::HalfOfSources),
            "subset" => Pattern::Blocks(FirstDestination::FirstHost),
            "alltoall" => Pattern::AllToAll,
            "random" => Pattern::Random,
            "coupling" => Pattern::Coupling,
            "aggregate" => Pattern::Aggregate,
            _ => {
                let known = "the patterns are disjoint, overlap, subset, alltoall, random, coupling and aggregate";
                return Err(known.into());
            }
        })
    }
}

/// Parses `NAME[,KEY=VALUE...]` and makes the pattern's demands; the error is the rest of a sentence.
pub(super) fn parse(text: &str, net: &Network, message_bytes: u64) -> Result<Vec<Demand>, String> {
    let mut parts = text.split(',').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let pattern: Pattern = name.parse()?;
    let allowed = pattern.keys();
    let mut keys = Keys(Vec::new());
    for part in parts {
        let Some((key, value)) = part.split_once('=') else {
            return Err(format!("\"{part}\" is not of the form KEY=VALUE"));
        };
        if !allowed.contains(&key) {
            return Err(match allowed {
                [only] => format!("{name} has no key \"{key}\"; its one key is {only}"),
                _ => format!("{name} has no key \"{key}\"; its keys are {}", allowed.join(", ")),
            });
        }
        if keys.0.iter().any(|(k, _)| *k == key) {
            return Err(format!("\"{key}\" is given twice"));
        }
        keys.0.push((key, value));
    }
    let hosts = net.hosts();
    let class = keys.get("class", 0, parse_class)?;
    let mut demands = match pattern {
        Pattern::AllToAll => all_to_all(hosts, message_bytes),
        Pattern::Random => random(hosts, message_bytes, &keys),
        Pattern::Coupling => application::coupling(hosts, message_bytes, &keys),
        Pattern::Aggregate => application::aggregate(net, message_bytes, &keys),
        Pattern::Blocks(first) => blocks(first, hosts, message_bytes, &keys),
    }?;
    if class != 0 {
        demands.iter_mut().for_each(|d| d.class = class);
    }
    Ok(demands)
}

/// Source `i` sends to the `K` hosts from `start + K i` on.
fn blocks(first: FirstDestination, hosts: usize, bytes: u64, keys: &Keys) -> Result<Vec<Demand>, String> {
    let sources = keys.get("sources", if hosts >= 128 { hosts / 16 } else { (hosts / 4).max(1) }, positive)?;
    let default_k = if hosts >= 128 { 8 } else { (hosts / 2 / sources).max(1) };
    let destinations = keys.get("destinations", default_k, positive)?;
    let start = match first {
        FirstDestination::HalfOfHosts => hosts / 2,
        FirstDestination::HalfOfSources => sources / 2,
        FirstDestination::FirstHost => 0,
    };
    let end = sources.checked_mul(destinations).and_then(|n| n.checked_add(start));
    if sources > hosts || end.is_none_or(|e| e > hosts) {
        return Err(format!(
            "{sources} sources with {destinations} destinations each, counted from host {start}, need more than the \
             network's {hosts} hosts"
        ));
    }
    let mut demands = Vec::with_capacity(sources * destinations);
    for i in 0..sources {
        for j in 0..destinations {
            push(&mut demands, i, start + destinations * i + j, bytes);
        }
    }
    Ok(demands)
}

fn all_to_all(hosts: usize, bytes: u64) -> Result<Vec<Demand>, String> {
    let pairs = hosts.saturating_mul(hosts.saturating_sub(1));
    if pairs > MAX_DEMANDS {
        return Err(format!("{hosts} hosts make {pairs} pairs; at most {MAX_DEMANDS} demands are allowed"));
    }
    let mut demands = Vec::with_capacity(pairs);
    for src in 0..hosts {
        for dst in 0..hosts {
            push(&mut demands, src, dst, bytes);
        }
    }
    Ok(demands)
}

fn random(hosts: usize, bytes: u64, keys: &Keys) -> Result<Vec<Demand>, String> {
    let count = keys.get("count", hosts, positive)?;
    let seed = keys.get("seed", 1, whole)?;
    let mut rng = SplitMix64::new(seed);
    // Classes have a sequence of their own, so that a seed has the same pairs and sizes with and without them.
    let mut class_rng = SplitMix64::new(!seed);
    let classes = keys.get("classes", 1, |text| match whole(text)? {
        n @ 1..=256 => Ok(n),
        _ => Err("from 1 to 256 classes are possible".into()),
    })?;
    if keys.has("class") && keys.has("classes") {
        return Err("class and classes are both given; one or the other is expected".into());
    }
    let min = keys.get("min", bytes, size)?;
    let max = keys.get("max", bytes.max(min), size)?;
    if min > max {
        return Err(format!("min is {min} bytes, more than max, which is {max}"));
    }
    if hosts < 2 {
        return Err("random pairs need at least 2 hosts".into());
    }
    if count > MAX_DEMANDS {
        return Err(format!("count={count}: at most {MAX_DEMANDS} demands are allowed"));
    }
    let mut demands = Vec::with_capacity(count);
    for _ in 0..count {
        let src = rng.below(hosts as u64) as usize;
        let mut dst = rng.below(hosts as u64 - 1) as usize;
        dst += usize::from(dst >= src);
        let bytes = min + rng.up_to(max - min);
        push(&mut demands, src, dst, bytes);
        if let Some(last) = demands.last_mut() {
            last.class = class_rng.below(classes) as u8;
        }
    }
    Ok(demands)
}
