//! Packing: exchanges with several ranks on each host, gathered and scattered through memory that they share.
//!
//! With `n` ranks on a host, the demand of a host pair (thesis 6.5.1.2) consists of up to `n^2` messages. Cut at the
//! borders of the plan's flows ([`crate::lower::lower`]), each piece becomes a path of its own, which costs at least one chunk
//! on each of its legs. Where pieces are small, the ranks of a host therefore pack their messages into shared memory, the
//! *staging area*; each flow then is one path, which one of the host's ranks carries:
//!
//! ```text
//!   ranks of A ──copy──► A's outgoing area ──paths between carriers──► B's incoming area ──copy──► ranks of B
//! ```
//!
//! The outgoing area of a host holds its demands one after the other, by destination host, with messages within the
//! host first; the incoming area by source host. Carriers, and forwarders, are the ranks of their hosts in turn, by
//! the number of the path. All of this follows from the messages, the placement and the plan, which all ranks know.

use crate::constants::{PIECES_PER_FLOW, SMALL_PIECE_BYTES};
use crate::lower::Message;
use crate::placement::Placement;
use optiq_net::NodeId;
use optiq_solver::Plan;
use optiq_transport::{Path, PathId, Rank};
use std::collections::BTreeMap;

/// Where a message is in the staging areas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The message.
    pub message: Message,
    /// First byte in its source host's outgoing area.
    pub outgoing: u64,
    /// First byte in its destination host's incoming area; `None` if it stays on the host and is copied from the outgoing
    /// area.
    pub incoming: Option<u64>,
}

/// A gathered exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gathered {
    /// Paths between carriers; offsets count from the start of the outgoing and incoming areas.
    pub paths: Vec<Path>,
    /// All messages between different ranks.
    pub places: Vec<Place>,
    /// The largest outgoing area of a host, in bytes.
    pub outgoing_bytes: u64,
    /// The largest incoming area of a host, in bytes.
    pub incoming_bytes: u64,
}

/// Whether messages are small enough, and numerous enough on a host pair, for packing to pay; `pieces` is the number of paths that
/// [`crate::lower::lower`] makes. Messages of several classes are not packed: urgent bytes would wait for the others.
pub fn pays(plan: &Plan, pieces: usize) -> bool {
    if plan.has_classes() {
        return false;
    }
    let flows: usize = plan.flows.iter().map(Vec::len).sum();
    let bytes: u64 = plan.demands.iter().map(|d| d.bytes).sum();
    let mean = bytes / pieces.max(1) as u64;
    let does = pieces > PIECES_PER_FLOW * flows && mean < SMALL_PIECE_BYTES;
    log::debug!(
        "messages are {}gathered in shared memory: {pieces} pieces of {mean} bytes on average, {flows} flows; more than {PIECES_PER_FLOW} pieces \
         for each flow, of less than {SMALL_PIECE_BYTES} bytes, pay",
        if does { "" } else { "not " }
    );
    does
}

/// Packs messages and makes a path of each flow. `messages` as for [`crate::lower::lower`].
///
/// # Errors
/// A sentence if the plan is not one for these messages, or wants to forward at a host without ranks.
pub fn gather(plan: &Plan, messages: &[Message], placement: &Placement) -> Result<Gathered, String> {
    // Bytes by pair of hosts, which a BTreeMap keeps in the order of both areas.
    let mut sums: BTreeMap<(NodeId, NodeId), u64> = BTreeMap::new();
    let hosts = |m: &Message| (placement.host(m.source), placement.host(m.destination));
    for m in messages {
        *sums.entry(hosts(m)).or_default() += m.bytes;
    }
    let mut outgoing: BTreeMap<NodeId, u64> = BTreeMap::new();
    let mut incoming: BTreeMap<NodeId, u64> = BTreeMap::new();
    let mut starts: BTreeMap<(NodeId, NodeId), (u64, u64)> = BTreeMap::new();
    let within = sums.iter().filter(|((a, b), _)| a == b);
    for (&(a, b), &bytes) in within.chain(sums.iter().filter(|((a, b), _)| a != b)) {
        let out = outgoing.entry(a).or_default();
        let into = incoming.entry(b).or_default();
        starts.insert((a, b), (*out, *into));
        *out += bytes;
        *into += if a == b { 0 } else { bytes };
    }
    let mut at: BTreeMap<(NodeId, NodeId), u64> = BTreeMap::new();
    let place = |m: &Message| {
        let (a, b) = hosts(m);
        let next = at.entry((a, b)).or_default();
        let start = starts.get(&(a, b)).copied().unwrap_or_default();
        let place = Place { message: *m, outgoing: start.0 + *next, incoming: (a != b).then_some(start.1 + *next) };
        *next += m.bytes;
        place
    };
    let places = messages.iter().map(place).collect();

    let mut paths = Vec::new();
    for (demand, flows) in plan.demands.iter().zip(&plan.flows) {
        let pair = (demand.src, demand.dst);
        let (Some(&(mut out, mut into)), Some(&bytes)) = (starts.get(&pair), sums.get(&pair)) else {
            return Err(format!("the plan moves bytes from host {} to {}, which no rank sends", pair.0.0, pair.1.0));
        };
        if flows.iter().map(|f| f.bytes).sum::<u64>() != bytes {
            return Err(format!("the plan moves other bytes from host {} to {} than are sent", pair.0.0, pair.1.0));
        }
        for flow in flows {
            let number = paths.len();
            let id =
                u32::try_from(number).map(PathId).map_err(|_| "the exchange needs more than 2^32 paths".to_string())?;
            let carrier = |host: &NodeId| {
                let none = || format!("the plan uses host {}, where no rank runs", host.0);
                placement.carrier(*host, number).ok_or_else(none)
            };
            let ranks = flow.stops.iter().map(carrier).collect::<Result<Vec<Rank>, _>>()?;
            paths.push(Path {
                id,
                ranks,
                bytes: flow.bytes,
                source_offset: out,
                destination_offset: into,
                starts_at: None,
                class: demand.class,
            });
            out += flow.bytes;
            into += flow.bytes;
        }
        sums.remove(&pair);
    }
    if let Some((a, b)) = sums.keys().find(|(a, b)| a != b) {
        return Err(format!("the plan has nothing for the bytes from host {} to {}", a.0, b.0));
    }
    let largest = |areas: BTreeMap<NodeId, u64>| areas.into_values().max().unwrap_or(0);
    Ok(Gathered { paths, places, outgoing_bytes: largest(outgoing), incoming_bytes: largest(incoming) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::{lower, merge};
    use crate::placement::PlacementRule;
    use optiq_net::Network;
    use optiq_net::random::SplitMix64;
    use optiq_solver::pipeline::{self, PlanOptions};

    fn case(seed: u64) -> (Placement, Vec<Message>, Plan) {
        let net = Network::from_spec("torus:2x3").unwrap();
        let names = vec!["x".to_string(); 17];
        let placement = Placement::new(&net, &names, &PlacementRule::Ranks { per_host: 3 }).unwrap();
        let mut random = SplitMix64::new(seed);
        let mut messages = Vec::new();
        for source in 0..17 {
            for destination in 0..17 {
                if source != destination && random.below(3) > 0 {
                    let (source, destination) = (Rank(source), Rank(destination));
                    messages.push(Message { source, destination, bytes: 1 + random.below(500), class: 0 });
                }
            }
        }
        let demands = merge(&messages, &placement).unwrap();
        let options = PlanOptions {
            planner: optiq_solver::planner::PlannerName::Heuristic2,
            chunk: 64,
            ..PlanOptions::default()
        };
        let plan = pipeline::run(&net, &demands, &options).unwrap().plan;
        (placement, messages, plan)
    }

    /// Copies bytes as an exchange would, and looks at what every rank gets.
    #[test]
    fn every_byte_gets_where_it_belongs() {
        for seed in 0..20 {
            let (placement, messages, plan) = case(seed);
            let g = gather(&plan, &messages, &placement).unwrap();
            let byte = |m: &Message, i: u64| (u64::from(m.source.0) * 31 + u64::from(m.destination.0) * 7 + i) as u8;
            let mut outgoing = vec![vec![0u8; g.outgoing_bytes as usize]; 6];
            let mut incoming = vec![vec![0u8; g.incoming_bytes as usize]; 6];
            for p in &g.places {
                let area = &mut outgoing[placement.host(p.message.source).index()];
                for i in 0..p.message.bytes {
                    let cell = &mut area[(p.outgoing + i) as usize];
                    assert_eq!(*cell, 0, "nothing lies on top of something else");
                    *cell = byte(&p.message, i);
                }
            }
            for path in &g.paths {
                let [from, to] = [path.source(), path.destination()].map(|r| placement.host(r).index());
                for i in 0..path.bytes as usize {
                    let value = outgoing[from][path.source_offset as usize + i];
                    incoming[to][path.destination_offset as usize + i] = value;
                }
            }
            for p in &g.places {
                let [from, to] = [p.message.source, p.message.destination].map(|r| placement.host(r).index());
                for i in 0..p.message.bytes {
                    let found = match p.incoming {
                        Some(at) => incoming[to][(at + i) as usize],
                        None => outgoing[from][(p.outgoing + i) as usize],
                    };
                    assert_eq!(found, byte(&p.message, i), "seed {seed}: {p:?}");
                }
            }
        }
    }

    #[test]
    fn a_path_for_each_flow_and_carriers_in_turn() {
        let (placement, messages, plan) = case(1);
        let g = gather(&plan, &messages, &placement).unwrap();
        let flows: usize = plan.flows.iter().map(Vec::len).sum();
        assert_eq!(g.paths.len(), flows);
        let pieces = lower(Some(&plan), &messages, &placement).unwrap().len();
        assert!(pays(&plan, pieces) == (pieces > 2 * flows), "all messages are small here");
        let carriers: std::collections::BTreeSet<Rank> = g.paths.iter().map(Path::source).collect();
        assert!(carriers.len() > 12, "the work is spread over the ranks: {carriers:?}");
    }

    #[test]
    fn a_plan_for_other_messages_is_refused() {
        let (placement, mut messages, plan) = case(2);
        let far = messages.iter_mut().find(|m| placement.host(m.source) != placement.host(m.destination));
        far.unwrap().bytes += 1;
        let Err(error) = gather(&plan, &messages, &placement) else { panic!("it was taken") };
        assert!(error.starts_with("the plan"), "{error}");
        let none = Plan { demands: vec![], flows: vec![], ..plan };
        assert!(gather(&none, &messages, &placement).unwrap_err().contains("has nothing for"));
    }
}
