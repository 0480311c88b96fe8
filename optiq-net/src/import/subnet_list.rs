//! OpenSM's `opensm-subnet.lst`: one cable a line, seen from each of its ends.
//!
//! ```text
//! { CA Ports:01 SystemGUID:0000000000100000 NodeGUID:... PortGUID:... VenID:000000 DevID:0000 Rev:000000A1 {node0001} LID:0002 PN:01 }
//! { SW Ports:08 ... {L-00} LID:0004 PN:01 } PHY=4x LOG=ACT SPD=2.5
//! ```
//!
//! (in one line). All numbers but the port's are hexadecimal, with `0x` or without. The node that OpenSM runs on is
//! `CA-SM` or `SW-SM`. It has no LMC.

use super::collected::{Collected, Identity, NodeKind, Peer, Place};
use super::rates::rate;
use super::scan::{hex, hex_behind};
use crate::error::NetError;

/// Whether a line is of this form.
pub(super) fn is_line(line: &str) -> bool {
    line.starts_with('{') && line.contains("NodeGUID:")
}

/// One end of a cable.
struct CableEnd<'t> {
    kind: NodeKind,
    radix: u32,
    system: Option<u64>,
    node: u64,
    port_guid: Option<u64>,
    name: &'t str,
    lid: u64,
    port: u32,
}

/// The end at the beginning of `text`, and what is behind it.
fn end(text: &str) -> Option<(CableEnd<'_>, &str)> {
    let text = text.trim_start().strip_prefix('{')?;
    // The name may have braces itself; the LID comes behind it.
    let (facts, rest) = text.split_once('{')?;
    let (name, rest) = rest.split_once("} LID:")?;
    let (ids, rest) = rest.split_once('}')?;
    let (lid, port) = ids.split_once("PN:")?;
    let kind = match facts.split_whitespace().next()?.split('-').next()? {
        "SW" | "Switch" => NodeKind::Switch,
        "CA" | "HCA" => NodeKind::Adapter,
        "RT" | "Router" => NodeKind::Router,
        _ => return None,
    };
    let end = CableEnd {
        kind,
        radix: hex_behind(facts, "Ports:").map_or(0, |ports| ports.min(255) as u32),
        system: hex_behind(facts, "SystemGUID:").filter(|guid| *guid != 0),
        node: hex_behind(facts, "NodeGUID:")?,
        port_guid: hex_behind(facts, "PortGUID:"),
        name: name.trim(),
        lid: hex(lid.trim())?,
        port: u32::try_from(hex(port.trim())?).ok()?,
    };
    Some((end, rest))
}

/// Reads a line; whether it could.
///
/// # Errors
/// [`NetError::Spec`] for too many nodes or ports.
pub(super) fn line(line: &str, place: Place, into: &mut Collected) -> Result<bool, NetError> {
    let Some((near, rest)) = end(line) else { return Ok(false) };
    let Some((far, rest)) = end(rest) else { return Ok(false) };
    let fact = |key: &str| rest.split_whitespace().find_map(|word| word.strip_prefix(key));
    let rate = fact("PHY=").zip(fact("SPD=")).and_then(|(width, speed)| rate(width, speed));
    let mut nodes = [0; 2];
    for (node, end) in nodes.iter_mut().zip([&near, &far]) {
        *node = into.node(Identity::Guid(end.node), place)?;
        into.describe(*node, end.kind, end.name, place);
        let known = &mut into.nodes[*node as usize];
        known.radix = known.radix.max(end.radix);
        known.system = known.system.or(end.system);
        let port = if end.kind == NodeKind::Switch { 0 } else { end.port };
        into.lid(*node, port, end.lid, 0, place)?;
        if let Some(guid) = end.port_guid {
            into.port(*node, port, place)?.guid.get_or_insert(guid);
        }
    }
    into.nodes[nodes[0] as usize].described = true;
    into.cable(nodes[0], near.port, Peer { node: nodes[1], port: far.port, place }, rate)?;
    Ok(true)
}
