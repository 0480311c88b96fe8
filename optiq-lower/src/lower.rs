//! From messages between ranks to demands between hosts, and from a plan between hosts back to paths of ranks.
//!
//! All messages of one priority class from host A to host B are one demand (thesis 6.5.1.2, 7.2.3). The plan splits its bytes over paths
//! `p_1 .. p_m`. Packed in the order (source rank, destination rank), the messages are a byte string of the same
//! length; path `p_i` takes the interval `[p_1 + .. + p_{i-1}, p_1 + .. + p_i)` of it. Each piece of a
//! message within one interval becomes one path of ranks, so there are at most (paths + messages - 1) pieces per
//! demand, the load on every link is exactly the plan's, and nothing has to be gathered or copied at the source.
//!
//! The rank that forwards at a host is chosen by the piece's number, the same on every rank.

use crate::placement::Placement;
use crate::timetable::Timetable;
use optiq_net::NodeId;
use optiq_solver::{Demand, Flow, Plan};
use optiq_transport::{Path, PathId, Rank};
use std::collections::BTreeMap;

/// Bytes from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    /// The rank that sends.
    pub source: Rank,
    /// The rank that receives.
    pub destination: Rank,
    /// How many bytes; above zero.
    pub bytes: u64,
    /// Their priority class; higher ones are more urgent.
    pub class: u8,
}

/// Merges messages by host pair and class into demands, ascending by (source host, destination host, class). Messages within
/// a host are not demands.
///
/// # Errors
/// A sentence if a host pair's bytes exceed 64 bits.
pub fn merge(messages: &[Message], placement: &Placement) -> Result<Vec<Demand>, String> {
    let mut sums: BTreeMap<(NodeId, NodeId, u8), u64> = BTreeMap::new();
    for m in messages {
        let (src, dst) = (placement.host(m.source), placement.host(m.destination));
        if src != dst {
            let sum = sums.entry((src, dst, m.class)).or_default();
            *sum = sum.checked_add(m.bytes).ok_or_else(|| {
                format!(
                    "the bytes from rank {} to rank {} and their hosts' other messages exceed 2^64",
                    m.source, m.destination
                )
            })?;
        }
    }
    Ok(sums.into_iter().map(|((src, dst, class), bytes)| Demand { src, dst, bytes, class }).collect())
}

/// Turns messages into direct paths with a place in a timetable of the demands that they are merged into ([`merge`]). Messages
/// within a host go at once. Otherwise as [`lower`].
///
/// # Errors
/// A sentence if the timetable is not one for these messages.
pub fn lower_by_timetable(
    timetable: &Timetable,
    messages: &[Message],
    placement: &Placement,
) -> Result<Vec<Path>, String> {
    let mut paths: Vec<Path> = Vec::new();
    for m in messages.iter().filter(|m| placement.host(m.source) == placement.host(m.destination)) {
        push(&mut paths, m, vec![m.source, m.destination], m.bytes, 0)?;
    }
    let by_hosts = by_hosts(messages, placement);
    if by_hosts.len() != timetable.turns.len() {
        return Err(format!("a timetable of {} demands, where {} are made", timetable.turns.len(), by_hosts.len()));
    }
    for (messages, turns) in by_hosts.values().zip(&timetable.turns) {
        let ends = turns.iter().scan(0, |end, turn| {
            *end += turn.bytes;
            Some(*end)
        });
        let ends: Vec<u64> = ends.collect();
        let mut done = 0;
        for (m, turn, offset, bytes) in pieces(messages, turns.iter().map(|turn| turn.bytes))? {
            push(&mut paths, m, vec![m.source, m.destination], bytes, offset)?;
            // Pieces come in the order in which the turns take them.
            let left = ends[turn] - done;
            done += bytes;
            if let Some(path) = paths.last_mut() {
                path.starts_at = Some(turns[turn].starts_at + turns[turn].bytes - left);
            }
        }
    }
    Ok(paths)
}

/// What a demand is told by: hosts, and class.
pub(crate) type DemandKey = (NodeId, NodeId, u8);

/// The messages between different hosts, by the demands that they are merged into.
pub(crate) fn by_hosts(messages: &[Message], placement: &Placement) -> BTreeMap<DemandKey, Vec<Message>> {
    let mut groups: BTreeMap<_, Vec<Message>> = BTreeMap::new();
    for m in messages {
        let hosts = (placement.host(m.source), placement.host(m.destination));
        if hosts.0 != hosts.1 {
            groups.entry((hosts.0, hosts.1, m.class)).or_default().push(*m);
        }
    }
    groups
}

/// Turns a plan into paths of ranks. Offsets in the result count from the start of each message.
///
/// `messages` must be those that the plan's demands were merged from, ascending and without messages of a rank to
/// itself; a plan of `None`, and messages within a host, go straight from rank to rank.
///
/// # Errors
/// A sentence if the plan is not one for these messages, or wants to forward at a host without ranks.
pub fn lower(plan: Option<&Plan>, messages: &[Message], placement: &Placement) -> Result<Vec<Path>, String> {
    let mut paths: Vec<Path> = Vec::new();
    let within = |m: &&Message| plan.is_none() || placement.host(m.source) == placement.host(m.destination);
    for m in messages.iter().filter(within) {
        push(&mut paths, m, vec![m.source, m.destination], m.bytes, 0)?;
    }
    let Some(plan) = plan else { return Ok(paths) };
    let mut by_hosts = by_hosts(messages, placement);
    for (demand, flows) in plan.demands.iter().zip(&plan.flows) {
        let Some(messages) = by_hosts.remove(&(demand.src, demand.dst, demand.class)) else {
            return Err(format!(
                "the plan moves bytes from host {} to {}, which no rank sends",
                demand.src.0, demand.dst.0
            ));
        };
        cut(&mut paths, &messages, flows, placement)?;
    }
    match by_hosts.keys().next() {
        None => Ok(paths),
        Some((a, b, _)) => Err(format!("the plan has nothing for the bytes from host {} to {}", a.0, b.0)),
    }
}

/// Cuts one demand's messages at the borders of its flows, given by their bytes: the pieces, as (message, number of the flow,
/// offset in the message, bytes), in the order of the messages.
pub(crate) fn pieces(
    messages: &[Message],
    flows: impl ExactSizeIterator<Item = u64> + Clone,
) -> Result<Vec<(&Message, usize, u64, u64)>, String> {
    let mut pieces = Vec::new();
    let mut next = flows.clone();
    let (mut flow, mut left) = (0, next.next().unwrap_or(0));
    for m in messages {
        let mut offset = 0;
        while offset < m.bytes {
            if left == 0 {
                flow += 1;
                left = next.next().unwrap_or(0);
            }
            if left == 0 {
                return Err(format!("the plan moves fewer bytes than rank {} sends to {}", m.source, m.destination));
            }
            let bytes = left.min(m.bytes - offset);
            pieces.push((m, flow, offset, bytes));
            offset += bytes;
            left -= bytes;
        }
    }
    if left > 0 || flow + 1 < flows.len() {
        return Err("the plan moves more bytes than are sent".into());
    }
    Ok(pieces)
}

/// Makes one demand's pieces paths of ranks.
fn cut(paths: &mut Vec<Path>, messages: &[Message], flows: &[Flow], placement: &Placement) -> Result<(), String> {
    for (m, flow, offset, bytes) in pieces(messages, flows.iter().map(|f| f.bytes))? {
        let stops = &flows[flow].stops;
        let mut ranks = vec![m.source];
        for &host in stops.iter().take(stops.len().saturating_sub(1)).skip(1) {
            let none = || format!("the plan forwards at host {}, where no rank runs", host.0);
            ranks.push(placement.carrier(host, paths.len()).ok_or_else(none)?);
        }
        ranks.push(m.destination);
        push(paths, m, ranks, bytes, offset)?;
    }
    Ok(())
}

fn push(paths: &mut Vec<Path>, message: &Message, ranks: Vec<Rank>, bytes: u64, offset: u64) -> Result<(), String> {
    let id =
        u32::try_from(paths.len()).map(PathId).map_err(|_| "the exchange needs more than 2^32 paths".to_string())?;
    let class = message.class;
    paths.push(Path { id, ranks, bytes, source_offset: offset, destination_offset: offset, starts_at: None, class });
    Ok(())
}
