//! Nodes in blocks, as `ibnetdiscover` prints them and `ibsim` reads them:
//!
//! ```text
//! sysimgguid=0x2c9000100d051
//! switchguid=0x8f10400411f56(8f10400411f56)
//! Switch  24 "S-0008f10400411f56"   # "ISR9024 Voltaire" base port 0 lid 2 lmc 0
//! [1][ext 1]  "H-0002c9020020fe74"[1](2c9020020fe75)   # "node1 HCA-1" lid 5 4xDDR
//!
//! Ca      2 "H-0002c9020020fe74"    # "node1 HCA-1"
//! [1](2c9020020fe75)  "S-0008f10400411f56"[1]   # lid 5 lmc 0 "ISR9024 Voltaire" lid 2 4xDDR
//! ```
//!
//! Older ones say `Hca` for `Ca`, leave out quotes around names, the words `base` and `enhanced`, GUIDs of ports, rates
//! and LMC. Net files of `ibsim` have names in place of GUIDs, no LIDs, and may leave out the port at the far end.

use super::collected::{Collected, Identity, NodeKind, Peer, Place};
use super::rates::rate_of_word;
use super::scan::{Scan, hex_behind, number_behind};
use crate::error::NetError;

/// A block that is being read.
pub(super) struct Block {
    node: u32,
    kind: NodeKind,
}

/// What was said of the next node before its heading.
#[derive(Default)]
pub(super) struct Preface {
    system: Option<u64>,
    guid: Option<u64>,
}

impl Preface {
    /// Remembers what a line such as `switchguid=0x8f10400411f56(8f10400411f56)` says; whether it is one.
    pub fn read(&mut self, line: &str) -> bool {
        let Some((key, _)) = line.split_once('=') else { return false };
        let value = || hex_behind(line, "=").filter(|guid| *guid != 0);
        match key.trim() {
            "sysimgguid" => self.system = value(),
            "switchguid" | "caguid" | "rtguid" => self.guid = value(),
            "vendid" | "devid" => {}
            _ => return false,
        }
        true
    }
}

fn kind_of(word: &str) -> Option<NodeKind> {
    match word {
        "Switch" | "switch" => Some(NodeKind::Switch),
        "Ca" | "Hca" | "CA" | "HCA" | "ca" | "hca" => Some(NodeKind::Adapter),
        "Rt" | "Router" | "RT" => Some(NodeKind::Router),
        _ => None,
    }
}

/// Whether a line begins a block: a kind, how many ports, a quoted identity.
pub(super) fn is_heading(line: &str) -> bool {
    let mut scan = Scan(line);
    kind_of(scan.word()).is_some() && {
        scan.spaces();
        let digits = scan.0.len() - scan.0.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        scan.0 = &scan.0[digits..];
        digits > 0 && scan.quoted().is_some()
    }
}

/// The name in a comment: what stands in the outermost quotes; or else, of a switch, what stands before its port 0.
fn name_of(comment: &str) -> &str {
    if let (Some(first), Some(last)) = (comment.find('"'), comment.rfind('"'))
        && first < last
    {
        return comment[first + 1..last].trim();
    }
    let end = [" enhanced port 0", " base port 0", " port 0"].iter().filter_map(|words| comment.find(words)).min();
    comment[..end.unwrap_or(0)].trim_matches(|c: char| c == '#' || c.is_whitespace())
}

/// Begins the block of a heading.
///
/// # Errors
/// [`NetError::Spec`] for too many nodes.
pub(super) fn heading(
    line: &str,
    place: Place,
    preface: Preface,
    into: &mut Collected,
) -> Result<Option<Block>, NetError> {
    let mut scan = Scan(line);
    let Some(kind) = kind_of(scan.word()) else { return Ok(None) };
    scan.spaces();
    let digits = scan.0.len() - scan.0.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let radix = scan.0[..digits].parse().unwrap_or(0);
    scan.0 = &scan.0[digits..];
    let Some(id) = scan.quoted() else { return Ok(None) };
    let identity = match (Identity::of(id), preface.guid) {
        (Identity::Name(_), Some(guid)) if id.is_empty() => Identity::Guid(guid),
        (identity, _) => identity,
    };
    let node = into.node(identity, place)?;
    let comment = scan.0.trim_start();
    into.describe(node, kind, name_of(comment), place);
    let known = &mut into.nodes[node as usize];
    known.described = true;
    known.radix = known.radix.max(radix);
    known.system = known.system.or(preface.system);
    if kind == NodeKind::Switch {
        let behind_name = &comment[comment.rfind('"').map_or(0, |at| at + 1)..];
        if let Some(lid) = number_behind(behind_name, "lid") {
            let lmc = number_behind(behind_name, "lmc").unwrap_or(0);
            into.lid(node, 0, lid, lmc, place)?;
        }
    }
    Ok(Some(Block { node, kind }))
}

impl Block {
    /// Reads a line of the block; whether it could.
    ///
    /// # Errors
    /// [`NetError::Spec`] for too many nodes or ports.
    pub fn line(&mut self, line: &str, place: Place, into: &mut Collected) -> Result<bool, NetError> {
        let mut scan = Scan(line);
        let Some(port) = scan.bracketed_port() else { return Ok(false) };
        skip_external(&mut scan);
        let guid = parenthesised_guid(&mut scan);
        let Some(id) = scan.quoted().filter(|id| !id.is_empty()) else { return Ok(false) };
        let to_port = if scan.0.starts_with('[') { scan.bracketed_port() } else { Some(0) };
        let Some(to_port) = to_port else { return Ok(false) };
        skip_external(&mut scan);
        let to_guid = parenthesised_guid(&mut scan);
        let to = into.node(Identity::of(id), place)?;
        let comment = scan.0.trim_start();
        let name = name_of(comment);
        let kind = match (Identity::of(id), id.as_bytes()[0]) {
            (Identity::Guid(_), b'S') => NodeKind::Switch,
            (Identity::Guid(_), b'H') => NodeKind::Adapter,
            (Identity::Guid(_), _) => NodeKind::Router,
            (Identity::Name(_), _) => NodeKind::Unknown,
        };
        into.describe(to, kind, name, place);
        let peer = Peer { node: to, port: to_port, place };
        let rate = comment.split_whitespace().next_back().and_then(rate_of_word);
        into.cable(self.node, port, peer, rate)?;
        for (node, port, guid) in [(self.node, port, guid), (to, to_port, to_guid)] {
            if let Some(guid) = guid.filter(|_| port != 0) {
                into.port(node, port, place)?.guid.get_or_insert(guid);
            }
        }
        self.lids(comment, port, peer, into)?;
        Ok(true)
    }

    /// The LIDs in a comment: that of this port before the name of the neighbour, that of the neighbour behind it.
    fn lids(&self, comment: &str, port: u32, peer: Peer, into: &mut Collected) -> Result<(), NetError> {
        let first = comment.find('"').unwrap_or(0);
        let last = comment.rfind('"').map_or(0, |at| at + 1);
        if self.kind != NodeKind::Switch
            && let Some(lid) = number_behind(&comment[..first], "lid")
        {
            let lmc = number_behind(&comment[..first], "lmc").unwrap_or(0);
            into.lid(self.node, port, lid, lmc, peer.place)?;
        }
        if let Some(lid) = number_behind(&comment[last..], "lid").filter(|_| last > 0) {
            // All ports of a switch share the LID of its port 0.
            let port = if into.nodes[peer.node as usize].kind == NodeKind::Switch { 0 } else { peer.port };
            into.lid(peer.node, port, lid, 0, peer.place)?;
        }
        Ok(())
    }
}

/// Goes on behind `[ext 3]`, the number that is printed on the chassis.
fn skip_external(scan: &mut Scan<'_>) {
    if scan.eat("[ext") {
        scan.until(']');
    }
}

fn parenthesised_guid(scan: &mut Scan<'_>) -> Option<u64> {
    if !scan.0.starts_with('(') {
        return None;
    }
    scan.eat("(");
    super::scan::hex(scan.until(')')?.trim())
}
