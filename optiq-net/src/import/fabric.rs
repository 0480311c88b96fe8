//! What all files say, joined to one fabric: every cable at both of its ends, every table at its switch, every LID at
//! its port.

use super::collected::{
    Collected, Identity, LidOwner, Node, NodeKind, Peer, Place, Port, SlurmSwitch, Table, Troubles,
};
use crate::error::NetError;
use crate::hostlist;
use crate::limits::MAX_HOSTS;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The most LIDs of a port: LMC has three bits.
const MAX_LIDS: u16 = 1 << 7;

/// A fabric.
#[derive(Debug)]
pub(super) struct Fabric {
    /// What was read; cables are now known at both ends, with ports.
    pub all: Collected,
    /// Per node: which connected part it is in.
    pub parts: Vec<u32>,
    /// Per node: its table, sorted by LID; empty if it has none.
    pub tables: Vec<Vec<(u16, u8)>>,
    /// The nodes that Slurm lists, where others say how they are joined.
    pub listed: Option<BTreeSet<String>>,
}

impl Fabric {
    /// Joins what was read.
    ///
    /// # Errors
    /// [`NetError::Spec`] if no file says what is joined to what, and for lists of Slurm's that cannot be read.
    pub fn join(mut all: Collected) -> Result<Fabric, NetError> {
        let mut listed = None;
        let slurm = std::mem::take(&mut all.slurm);
        if all.nodes.is_empty() && slurm.is_empty() {
            return Err(NetError::Spec(format!(
                "no cables are in {}; what ibnetdiscover prints, opensm-subnet.lst or another file that has them is \
                 expected",
                all.files.join(", ")
            )));
        }
        if all.nodes.is_empty() {
            add_slurm(&mut all, &slurm)?;
        } else if !slurm.is_empty() {
            listed = Some(listed_nodes(&all, &slurm)?);
        }
        settle_kinds(&mut all);
        join_ends(&mut all)?;
        let parts = parts(&all.nodes);
        let tables = join_tables(&mut all);
        assign_lids(&mut all);
        check_lids(&mut all, &parts);
        Ok(Fabric { all, parts, tables, listed })
    }

    pub fn node(&self, node: u32) -> &Node {
        &self.all.nodes[node as usize]
    }

    pub fn is_switch(&self, node: u32) -> bool {
        self.node(node).kind == NodeKind::Switch
    }

    pub fn troubles(&mut self) -> &mut Troubles {
        &mut self.all.troubles
    }

    /// The cables of a node: its port, and the port at the other end.
    pub fn cables(&self, node: u32) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        self.node(node).ports.iter().filter_map(|(&port, p)| p.peer.map(|peer| (port, peer.node, peer.port)))
    }

    pub fn nodes(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.all.nodes.len() as u32
    }
}

/// The names of a list of Slurm's.
fn expand(all: &Collected, list: &[String], place: Place, most: usize) -> Result<Vec<String>, NetError> {
    let mut names = Vec::new();
    for text in list {
        let more = hostlist::expand(text, most.saturating_sub(names.len()));
        names.extend(more.map_err(|why| NetError::Spec(format!("{}: {why}", all.at(place))))?);
    }
    Ok(names)
}

fn listed_nodes(all: &Collected, slurm: &[SlurmSwitch]) -> Result<BTreeSet<String>, NetError> {
    let mut listed = BTreeSet::new();
    for switch in slurm {
        listed.extend(expand(all, &switch.nodes, switch.place, MAX_HOSTS)?);
        if listed.len() > MAX_HOSTS {
            return Err(NetError::Spec(format!("{}: more than {MAX_HOSTS} nodes", all.at(switch.place))));
        }
    }
    Ok(listed)
}

/// Switches and nodes of Slurm's files; their ports are numbered as they come.
fn add_slurm(all: &mut Collected, slurm: &[SlurmSwitch]) -> Result<(), NetError> {
    let most = MAX_HOSTS;
    for switch in slurm {
        for name in expand(all, std::slice::from_ref(&switch.name), switch.place, most)? {
            let node = all.node(Identity::Name(name.clone()), switch.place)?;
            if all.nodes[node as usize].described {
                all.trouble(switch.place, &format!("the switch {} is given twice; both are joined", all.label(node)));
            }
            all.describe(node, NodeKind::Switch, &name, switch.place);
            all.nodes[node as usize].described = true;
        }
    }
    for switch in slurm {
        let below = [(NodeKind::Adapter, &switch.nodes), (NodeKind::Switch, &switch.switches)];
        let above = expand(all, std::slice::from_ref(&switch.name), switch.place, most)?;
        for (kind, list) in below {
            for name in expand(all, list, switch.place, most)? {
                let node = all.node(Identity::Name(name.clone()), switch.place)?;
                if kind == NodeKind::Adapter {
                    all.describe(node, kind, &name, switch.place);
                    all.nodes[node as usize].described = true;
                }
                for above in &above {
                    let above = all.node(Identity::Name(above.clone()), switch.place)?;
                    let port = |all: &Collected, node: u32| all.nodes[node as usize].ports.len() as u32 + 1;
                    let (near, far) = (port(all, above), port(all, node) + u32::from(above == node));
                    all.cable(above, near, Peer { node, port: far, place: switch.place }, None)?;
                    all.cable(node, far, Peer { node: above, port: near, place: switch.place }, None)?;
                }
            }
        }
    }
    Ok(())
}

/// Nodes that no file describes are what their identity says, or what their cables look like.
fn settle_kinds(all: &mut Collected) {
    let mut named: BTreeMap<u32, usize> = BTreeMap::new();
    for node in &all.nodes {
        for peer in node.ports.values().filter_map(|port| port.peer) {
            *named.entry(peer.node).or_default() += 1;
        }
    }
    let missing: Vec<u32> = (0..all.nodes.len() as u32).filter(|&n| !all.nodes[n as usize].described).collect();
    for &node in &missing {
        let known = &mut all.nodes[node as usize];
        if known.kind == NodeKind::Unknown {
            let cables = named.get(&node).copied().unwrap_or(0);
            known.kind = if cables > 1 { NodeKind::Switch } else { NodeKind::Adapter };
        }
    }
    if let Some(&first) = missing.first() {
        let sentence = format!(
            "{} of {} nodes are only named at the other end of cables and described nowhere, the first of them {}, \
             as if a file were cut",
            missing.len(),
            all.nodes.len(),
            all.label(first)
        );
        all.troubles.tell(sentence);
    }
}

/// Makes every cable known at both of its ends.
fn join_ends(all: &mut Collected) -> Result<(), NetError> {
    for a in 0..all.nodes.len() as u32 {
        let ports: Vec<u32> = all.nodes[a as usize].ports.keys().copied().collect();
        for port in ports {
            // The cable may have lost to one that was given earlier.
            let Some(peer) = all.nodes[a as usize].ports[&port].peer else { continue };
            if peer.node == a {
                let why = format!("{} is joined to the same node; the cable is left out", all.port_label(a, port));
                all.trouble(peer.place, &why);
                unplug(all, a, port);
                continue;
            }
            let far = if peer.port == 0 { far_port(&all.nodes[peer.node as usize], a, port) } else { peer.port };
            let back = Peer { node: a, port, place: peer.place };
            let rate = all.nodes[a as usize].ports[&port].rate;
            let known = all.port(peer.node, far, peer.place)?;
            known.rate = known.rate.or(rate);
            match known.peer {
                Some(other) if other.node == a && (other.port == port || other.port == 0) => known.peer = Some(back),
                None => known.peer = Some(back),
                Some(other) => {
                    let earlier = (peer.place.file, peer.place.line) < (other.place.file, other.place.line);
                    if earlier {
                        known.peer = Some(back);
                    }
                    let (lost, kept) = if earlier { (other, peer) } else { (peer, other) };
                    let why = format!(
                        "{} is joined to {} here; {} says otherwise, and stands",
                        if earlier { all.port_label(peer.node, far) } else { all.port_label(a, port) },
                        if earlier { all.port_label(other.node, other.port) } else { all.port_label(peer.node, far) },
                        all.at(kept.place)
                    );
                    all.trouble(lost.place, &why);
                    if !earlier {
                        unplug(all, a, port);
                        continue;
                    }
                }
            }
            if let Some(p) = all.nodes[a as usize].ports.get_mut(&port) {
                p.peer = Some(Peer { port: far, ..peer });
            }
        }
    }
    // What lost its other end to a cable that was given earlier.
    for a in 0..all.nodes.len() as u32 {
        let loose = |(&port, p): (&u32, &Port)| {
            let peer = p.peer?;
            let back = all.nodes[peer.node as usize].ports.get(&peer.port).and_then(|far| far.peer);
            (back.map(|b| (b.node, b.port)) != Some((a, port))).then_some(port)
        };
        let loose: Vec<u32> = all.nodes[a as usize].ports.iter().filter_map(loose).collect();
        loose.into_iter().for_each(|port| unplug(all, a, port));
    }
    Ok(())
}

fn unplug(all: &mut Collected, node: u32, port: u32) {
    if let Some(port) = all.nodes[node as usize].ports.get_mut(&port) {
        port.peer = None;
    }
}

/// The port of `node` for a cable from `port` of `from`, of which only the near port is known.
fn far_port(node: &Node, from: u32, port: u32) -> u32 {
    let leads_back = |want: u32| {
        node.ports.iter().find(|(_, p)| p.peer.is_some_and(|b| b.node == from && b.port == want)).map(|(&q, _)| q)
    };
    let next = || node.ports.last_key_value().map_or(0, |(&last, _)| last) + 1;
    leads_back(port).or_else(|| leads_back(0)).unwrap_or_else(next)
}

/// Which connected part each node is in, numbered by their first nodes.
fn parts(nodes: &[Node]) -> Vec<u32> {
    let mut parts = vec![u32::MAX; nodes.len()];
    let mut count = 0;
    for first in 0..nodes.len() {
        if parts[first] != u32::MAX {
            continue;
        }
        parts[first] = count;
        let mut open = vec![first];
        while let Some(node) = open.pop() {
            for peer in nodes[node].ports.values().filter_map(|port| port.peer) {
                let peer = peer.node as usize;
                if parts[peer] == u32::MAX {
                    parts[peer] = count;
                    open.push(peer);
                }
            }
        }
        count += 1;
    }
    parts
}

/// Nodes by a key that only one of them has.
fn unique<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = (K, u32)>) -> HashMap<K, Option<u32>> {
    let mut found = HashMap::new();
    for (key, node) in keys {
        found
            .entry(key)
            .and_modify(|known: &mut Option<u32>| *known = known.filter(|n| *n == node))
            .or_insert(Some(node));
    }
    found
}

/// Gives tables to switches: by GUID, or else by name or LID where only one switch has it.
fn join_tables(all: &mut Collected) -> Vec<Vec<(u16, u8)>> {
    let switches = || (0u32..).zip(&all.nodes).filter(|(_, node)| node.kind == NodeKind::Switch);
    let by_guid = unique(switches().flat_map(|(n, node)| {
        let own = match node.identity {
            Identity::Guid(guid) => Some(guid),
            Identity::Name(_) => None,
        };
        let port = node.ports.get(&0).and_then(|port| port.guid);
        own.into_iter().chain(port).map(move |guid| (guid, n))
    }));
    let by_name = unique(switches().map(|(n, node)| (node.name.clone(), n)));
    let by_lid = unique(switches().filter_map(|(n, node)| Some((node.ports.get(&0)?.lid, n))));
    let mut joined = vec![Vec::new(); all.nodes.len()];
    for Table { owner, place, mut entries } in std::mem::take(&mut all.tables) {
        let guid = owner.guid.and_then(|guid| by_guid.get(&guid).copied().flatten());
        let name = || by_name.get(&owner.name).copied().flatten().filter(|_| !owner.name.is_empty());
        let lid = || by_lid.get(&owner.lid.filter(|lid| *lid > 0)?).copied().flatten();
        let Some(node) = guid.or_else(name).or_else(|| if owner.guid.is_none() { lid() } else { None }) else {
            let called = match owner.guid {
                Some(guid) => format!("0x{guid:016x} \"{}\"", crate::text_file::shorten(&owner.name)),
                None => format!("\"{}\"", crate::text_file::shorten(&owner.name)),
            };
            all.trouble(place, &format!("the table of {called} is left out, as no file gives that switch cables"));
            continue;
        };
        entries.sort_by_key(|(lid, _)| *lid);
        let table: &mut Vec<(u16, u8)> = &mut joined[node as usize];
        let before = table.len();
        table.append(&mut entries);
        // A stable sort: what was given first stands.
        table.sort_by_key(|(lid, _)| *lid);
        let mut other = 0usize;
        table.dedup_by(|next, kept| {
            other += usize::from(next.0 == kept.0 && next.1 != kept.1);
            next.0 == kept.0
        });
        table.shrink_to_fit();
        if other > 0 {
            let than = if before > 0 { "a table that was read before" } else { "a line above" };
            let why =
                format!("the table of {} gives {other} LIDs another port than {than}, which stands", all.label(node));
            all.trouble(place, &why);
        }
    }
    joined
}

/// Takes LIDs from what tables say of their destinations where the files with cables have none, and compares both
/// elsewhere.
fn assign_lids(all: &mut Collected) {
    let mut owners = std::mem::take(&mut all.owners);
    owners.sort_by_key(|owner| owner.lid);
    let mut by_guid: HashMap<u64, (u32, u32)> = HashMap::new();
    for (n, node) in (0u32..).zip(&all.nodes) {
        if let (Identity::Guid(guid), NodeKind::Switch) = (&node.identity, node.kind) {
            by_guid.entry(*guid).or_insert((n, 0));
        }
        for (&port, p) in &node.ports {
            if let Some(guid) = p.guid {
                by_guid.entry(guid).or_insert((n, port));
            }
        }
    }
    let by_name =
        unique((0u32..).zip(&all.nodes).map(|(n, node)| ((node.name.clone(), node.kind == NodeKind::Switch), n)));
    let (mut strangers, mut other) = (Vec::new(), Vec::new());
    let mut seen_lids = HashMap::new();
    for LidOwner { lid, guid, is_switch, name } in owners {
        let named = by_guid.get(&guid).copied().or_else(|| {
            let node = by_name.get(&(name.clone(), is_switch)).copied().flatten().filter(|_| !name.is_empty())?;
            let free = |(_, p): &(&u32, &Port)| p.peer.is_some() && p.guid.is_none();
            let port = if is_switch { 0 } else { *all.nodes[node as usize].ports.iter().find(free)?.0 };
            by_guid.insert(guid, (node, port));
            Some((node, port))
        });
        let Some((node, port)) = named else {
            strangers.push(format!("{lid} of \"{}\"", crate::text_file::shorten(&name)));
            continue;
        };
        let known = all.nodes[node as usize].ports.entry(port).or_default();
        known.guid.get_or_insert(guid);
        let seen = seen_lids.entry((node, port)).or_insert(0u16);
        let (seen, count) = ((*seen).max((1 << known.lmc.min(7)) - 1), seen);
        *count = count.saturating_add(1);
        if known.lid == 0 {
            known.lid = lid;
        } else if lid >= known.lid && lid - known.lid <= seen && seen < MAX_LIDS {
            // One behind the other: as many bits as tell the LIDs of the port apart.
            known.lmc = known.lmc.max((u16::BITS - (lid - known.lid).leading_zeros()) as u8);
        } else {
            let known = known.lid;
            other.push(format!("{} has the LID {lid} there and {known} in the file with its cable", all.label(node)));
        }
    }
    for (list, what) in
        [(strangers, "LIDs in tables belong to ports without a cable"), (other, "LIDs in tables are others than")]
    {
        if let Some(first) = list.first() {
            let sentence = match what.ends_with("than") {
                true => format!("{} {what} those of the file with the cables: {first}", list.len()),
                false => format!("{} {what}, the first of them {first}", list.len()),
            };
            all.troubles.tell(sentence);
        }
    }
}

/// Tells of LIDs that two ports of one part have.
fn check_lids(all: &mut Collected, parts: &[u32]) {
    let mut ranges = Vec::new();
    for (n, node) in (0u32..).zip(&all.nodes) {
        for (&port, p) in node.ports.iter().filter(|(_, p)| p.lid > 0) {
            ranges.push((parts[n as usize], u32::from(p.lid), u32::from(p.lid) + (1 << p.lmc.min(7)), n, port));
        }
    }
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        let [(part, _, end, a, port_a), (next_part, begin, _, b, port_b)] = [pair[0], pair[1]];
        if part == next_part && begin < end {
            let sentence = format!(
                "the LID {begin} is given twice: to {} and to {}",
                all.port_label(a, port_a),
                all.port_label(b, port_b)
            );
            all.troubles.tell(sentence);
        }
    }
}
