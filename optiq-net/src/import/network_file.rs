//! An imported fabric as a network file, see [`crate::network::Network::from_toml`].

use super::fabric::Fabric;
use super::roles::ImportedHost;
use super::walk::Walk;
use crate::table_rows;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The width at which lists of names begin a new line.
const WIDTH: usize = 110;

/// A fabric's vertices, hosts first, as the network will number them.
pub(super) struct Vertices<'f> {
    pub fabric: &'f Fabric,
    pub hosts: &'f [ImportedHost],
    /// Nodes.
    pub switches: &'f [u32],
    pub switch_names: &'f [String],
}

/// Bytes per second, and physical links, between two vertices in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bundle {
    pub lanes: u32,
    /// Of all lanes.
    pub capacity: f64,
    /// Lanes whose rate no file says.
    pub unknown: u32,
}

impl Vertices<'_> {
    pub fn name(&self, vertex: u32) -> &str {
        match self.hosts.get(vertex as usize) {
            Some(host) => &host.name,
            None => &self.switch_names[vertex as usize - self.hosts.len()],
        }
    }

    /// Per node: its vertex.
    pub fn of_nodes(&self) -> Vec<Option<u32>> {
        let mut vertices = vec![None; self.fabric.all.nodes.len()];
        for (vertex, host) in (0u32..).zip(self.hosts) {
            host.ports.iter().for_each(|(node, _)| vertices[*node as usize] = Some(vertex));
        }
        for (number, &node) in (0u32..).zip(self.switches) {
            vertices[node as usize] = Some(self.hosts.len() as u32 + number);
        }
        vertices
    }

    /// The links from the larger vertex to the smaller one; those of the other direction are the same.
    pub fn bundles(&self, capacity: f64) -> BTreeMap<(u32, u32), Bundle> {
        let vertices = self.of_nodes();
        let mut bundles = BTreeMap::new();
        for node in self.fabric.nodes() {
            let Some(from) = vertices[node as usize] else { continue };
            for (port, peer, peer_port) in self.fabric.cables(node) {
                let Some(to) = vertices[peer as usize].filter(|to| *to < from) else { continue };
                let rates = [(node, port), (peer, peer_port)].map(|(n, p)| self.fabric.node(n).ports[&p].rate);
                let rate = rates.into_iter().flatten().min_by(f64::total_cmp);
                let bundle = bundles.entry((from, to)).or_insert(Bundle { lanes: 0, capacity: 0.0, unknown: 0 });
                bundle.lanes += 1;
                bundle.capacity += rate.unwrap_or(capacity);
                bundle.unknown += u32::from(rate.is_none());
            }
        }
        bundles
    }
}

fn quoted(name: &str) -> String {
    let mut text = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => text.extend(format!("\\u{:04x}", c as u32).chars()),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// A list of names, in lines of a width that can be read.
fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut text = String::from("[");
    let mut line = 0;
    for name in names.map(quoted) {
        if line > 0 {
            let too_long = line + name.len() > WIDTH;
            text.push_str(if too_long { ",\n " } else { ", " });
            line = if too_long { 0 } else { line };
        }
        line += name.len() + 2;
        text.push_str(&name);
    }
    text.push(']');
    text
}

/// The network file: vertices, links, and the tables where the fabric has some. `capacity` is that of links whose rate
/// is not known, in bytes per second.
pub(super) fn toml(vertices: &Vertices<'_>, walk: Option<&Walk>, title: &str, capacity: f64) -> String {
    let mut text = String::from("# Made by optiq fabric import.\n[network]\n");
    // Writing to a string does not fail.
    let _ = writeln!(text, "name = {}\ncapacity = {capacity:?}", quoted(title));
    text.push_str(if walk.is_some() { "routing = \"tables\"\n" } else { "routing = \"dmodk\"\n" });
    let hosts = vertices.hosts.iter().map(|host| host.name.as_str());
    let _ = write!(text, "\n[hosts]\nnames = {}\n", list(hosts));
    if !vertices.switch_names.is_empty() {
        let names = vertices.switch_names.iter().map(String::as_str);
        let _ = write!(text, "\n[switches]\nnames = {}\n", list(names));
    }
    links(vertices, capacity, &mut text);
    if let Some(walk) = walk {
        tables(vertices, walk, &mut text);
    }
    text
}

fn links(vertices: &Vertices<'_>, default: f64, text: &mut String) {
    // Per vertex, its neighbours by what joins them; bits of a rate are ordered as rates are.
    let mut groups: BTreeMap<(u32, u32, u64), Vec<u32>> = BTreeMap::new();
    for ((from, to), bundle) in vertices.bundles(default) {
        let each = bundle.capacity / f64::from(bundle.lanes);
        groups.entry((from, bundle.lanes, each.to_bits())).or_default().push(to);
    }
    for ((from, lanes, each), to) in groups {
        let _ = write!(text, "\n[[links]]\nfrom = {}\n", quoted(vertices.name(from)));
        let _ = writeln!(text, "to = {}", list(to.iter().map(|to| vertices.name(*to))));
        let each = f64::from_bits(each);
        if each != default {
            let _ = writeln!(text, "capacity = {each:?}");
        }
        if lanes > 1 {
            let _ = writeln!(text, "lanes = {lanes}");
        }
    }
}

fn tables(vertices: &Vertices<'_>, walk: &Walk, text: &mut String) {
    let hosts = vertices.hosts.len();
    let of_nodes = vertices.of_nodes();
    let mut row = |at: u32, next: &mut dyn Iterator<Item = Option<u32>>| {
        let next: Vec<Option<u32>> = next.collect();
        let (via, next) = table_rows::encode(&next);
        let _ = write!(text, "\n[[tables]]\nat = {}\n", quoted(vertices.name(at)));
        if !via.is_empty() {
            let _ = writeln!(text, "via = {}", list(via.iter().map(|v| vertices.name(*v))));
        }
        let _ = writeln!(text, "next = \"{next}\"");
    };
    let beyond = |node: u32, port: u32| {
        let peer = vertices.fabric.node(node).ports.get(&port)?.peer?;
        of_nodes[peer.node as usize]
    };
    for (number, &switch) in vertices.switches.iter().enumerate() {
        let ports = &walk.next[number * hosts..][..hosts];
        let mut next =
            ports.iter().map(|port| Some(*port).filter(|p| *p > 0).and_then(|p| beyond(switch, u32::from(p))));
        row((hosts + number) as u32, &mut next);
    }
    for (number, host) in vertices.hosts.iter().enumerate().filter(|(_, host)| host.ports.len() > 1) {
        let mut next = walk.first[number].iter().map(|rail| {
            let (adapter, port) = *host.ports.get(usize::from(*rail))?;
            beyond(adapter, port)
        });
        row(number as u32, &mut next);
    }
}
