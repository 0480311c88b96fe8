//! What all files of a fabric say, as they say it: nodes, cables, tables, and whose LIDs are which.
//!
//! Files contradict each other and end in the middle. Nothing is decided here but which of two contradicting statements
//! stands (the first), and everything that is not used is told ([`Troubles`]).

use crate::error::NetError;
use crate::text_file::shorten;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The most nodes: more have no table that is small enough, see [`crate::routing::table::NextHops`].
const MAX_NODES: usize = 1 << 18;
/// The most ports of all nodes.
const MAX_PORTS: usize = 1 << 21;
/// The most entries of all tables, of 4 bytes each.
const MAX_ENTRIES: usize = 1 << 26;
/// The most sentences that are kept.
const MAX_TROUBLES: usize = 1000;

/// How files call a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Identity {
    /// By the globally unique identifier (GUID) of the node.
    Guid(u64),
    /// By a name that only this file knows.
    Name(String),
}

impl Identity {
    /// The identity in `text`, which is a GUID where `ibnetdiscover` wrote it: `S-0008f10400411f56`.
    pub fn of(text: &str) -> Identity {
        let digits = text.strip_prefix(['S', 'H', 'R']).and_then(|rest| rest.strip_prefix('-'));
        let guid = digits.filter(|d| d.len() == 16 && d.bytes().all(|b| b.is_ascii_hexdigit()));
        match guid.and_then(|d| u64::from_str_radix(d, 16).ok()) {
            Some(guid) => Identity::Guid(guid),
            None => Identity::Name(text.to_owned()),
        }
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    Switch,
    /// A channel adapter: a host's, or one of a device.
    Adapter,
    /// A router between subnets.
    Router,
    /// Only named as the other end of a cable.
    Unknown,
}

/// Where something stands: which file, which line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub file: u16,
    pub line: u32,
}

/// The other end of a cable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub node: u32,
    /// 0 if the file does not say.
    pub port: u32,
    pub place: Place,
}

/// A port of a node; port 0 of a switch is the switch itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Port {
    /// 0 if it is not known.
    pub lid: u16,
    pub lmc: u8,
    pub guid: Option<u64>,
    pub peer: Option<Peer>,
    /// Bytes per second, if a file says it.
    pub rate: Option<f64>,
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub identity: Identity,
    pub kind: NodeKind,
    /// What it says of itself (its node description), or its name in the file.
    pub name: String,
    /// What shares a chassis or a board.
    pub system: Option<u64>,
    /// How many ports it has, if a file says it.
    pub radix: u32,
    /// Whether a file describes it, and does not only name it as somebody's neighbour.
    pub described: bool,
    pub ports: BTreeMap<u32, Port>,
}

/// Whose table it is, as its heading says.
#[derive(Clone, Debug, Default)]
pub(super) struct TableOwner {
    pub guid: Option<u64>,
    pub name: String,
    pub lid: Option<u16>,
}

/// A switch's forwarding table.
#[derive(Debug)]
pub(super) struct Table {
    pub owner: TableOwner,
    pub place: Place,
    /// (LID, port), in the order of the file.
    pub entries: Vec<(u16, u8)>,
}

/// Whose a LID is, as a table's comment says.
#[derive(Debug)]
pub(super) struct LidOwner {
    pub lid: u16,
    pub guid: u64,
    pub is_switch: bool,
    pub name: String,
}

/// A switch of a file of Slurm's, with the lists of what is below it.
#[derive(Debug)]
pub(super) struct SlurmSwitch {
    pub name: String,
    pub nodes: Vec<String>,
    pub switches: Vec<String>,
    pub place: Place,
}

/// Sentences about what could not be used.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    pub told: Vec<String>,
    /// How many more there were.
    pub more: usize,
}

impl Troubles {
    pub fn tell(&mut self, sentence: String) {
        if self.told.len() < MAX_TROUBLES {
            self.told.push(sentence);
        } else {
            self.more += 1;
        }
    }
}

/// Everything that was read so far.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub files: Vec<String>,
    pub nodes: Vec<Node>,
    index: HashMap<Identity, u32>,
    ports: usize,
    pub tables: Vec<Table>,
    entries: usize,
    pub owners: Vec<LidOwner>,
    known_owners: HashSet<(u16, u64)>,
    pub slurm: Vec<SlurmSwitch>,
    pub troubles: Troubles,
}

impl Collected {
    /// `fabric file net.txt, line 7`.
    pub fn at(&self, place: Place) -> String {
        format!("fabric file {}, line {}", self.files[usize::from(place.file)], place.line)
    }

    pub fn trouble(&mut self, place: Place, why: &str) {
        let sentence = format!("{}: {why}", self.at(place));
        self.troubles.tell(sentence);
    }

    fn too_many(&self, place: Place, what: &str, most: usize) -> NetError {
        NetError::Spec(format!("{}: more than {most} {what} are not supported", self.at(place)))
    }

    /// The node of this identity, which is added if it is new.
    ///
    /// # Errors
    /// [`NetError::Spec`] for too many nodes.
    pub fn node(&mut self, identity: Identity, place: Place) -> Result<u32, NetError> {
        if let Some(&node) = self.index.get(&identity) {
            return Ok(node);
        }
        if self.nodes.len() >= MAX_NODES {
            return Err(self.too_many(place, "switches and adapters", MAX_NODES));
        }
        let node = self.nodes.len() as u32;
        let name = match &identity {
            Identity::Name(name) => name.clone(),
            Identity::Guid(_) => String::new(),
        };
        self.index.insert(identity.clone(), node);
        self.nodes.push(Node {
            identity,
            kind: NodeKind::Unknown,
            name,
            system: None,
            radix: 0,
            described: false,
            ports: BTreeMap::new(),
        });
        Ok(node)
    }

    /// Says what a node is and how it calls itself; where files differ, the first stands.
    pub fn describe(&mut self, node: u32, kind: NodeKind, name: &str, place: Place) {
        let known = &mut self.nodes[node as usize];
        if !name.is_empty()
            && (known.name.is_empty() || matches!(&known.identity, Identity::Name(n) if *n == known.name))
        {
            known.name = name.to_owned();
        }
        if known.kind == NodeKind::Unknown {
            known.kind = kind;
        } else if kind != NodeKind::Unknown && known.kind != kind {
            let why = format!(
                "{} is a {} here and a {} before",
                self.label(node),
                word(kind),
                word(self.nodes[node as usize].kind)
            );
            self.trouble(place, &why);
        }
    }

    /// The port of a node, which is added if it is new.
    ///
    /// # Errors
    /// [`NetError::Spec`] for too many ports.
    pub fn port(&mut self, node: u32, port: u32, place: Place) -> Result<&mut Port, NetError> {
        if !self.nodes[node as usize].ports.contains_key(&port) {
            if self.ports >= MAX_PORTS {
                return Err(self.too_many(place, "ports", MAX_PORTS));
            }
            self.ports += 1;
        }
        Ok(self.nodes[node as usize].ports.entry(port).or_default())
    }

    /// Says which LIDs a port has; where files differ, the first stands. 0 is none.
    ///
    /// # Errors
    /// [`NetError::Spec`] for too many ports.
    pub fn lid(&mut self, node: u32, port: u32, lid: u64, lmc: u64, place: Place) -> Result<(), NetError> {
        let Some(lid) = u16::try_from(lid).ok().filter(|lid| *lid < FIRST_MULTICAST) else {
            let why =
                format!("found the LID {lid} of {}; at most {} is expected", self.label(node), FIRST_MULTICAST - 1);
            self.trouble(place, &why);
            return Ok(());
        };
        if lid == 0 {
            return Ok(());
        }
        let known = self.port(node, port, place)?;
        let before = known.lid;
        if before == 0 {
            known.lid = lid;
        }
        if lmc <= 7 {
            known.lmc = known.lmc.max(lmc as u8);
        }
        if before != 0 && before != lid {
            let why =
                format!("{} has the LID {lid} here and {before} before, which stands", self.port_label(node, port));
            self.trouble(place, &why);
        }
        Ok(())
    }

    /// Says that a cable leads from `port` of `node` to `to`; where files differ, the first stands.
    ///
    /// # Errors
    /// [`NetError::Spec`] for too many ports.
    pub fn cable(&mut self, node: u32, port: u32, to: Peer, rate: Option<f64>) -> Result<(), NetError> {
        let known = self.port(node, port, to.place)?;
        known.rate = known.rate.or(rate);
        match known.peer {
            None => known.peer = Some(to),
            Some(before) if before.node == to.node && (before.port == to.port || to.port == 0) => {}
            Some(before) if before.node == to.node && before.port == 0 => known.peer = Some(to),
            Some(before) => {
                let (here, there) = (self.port_label(to.node, to.port), self.port_label(before.node, before.port));
                let why = format!(
                    "{} is joined to {here} here and to {there} in {}, which stands",
                    self.port_label(node, port),
                    self.at(before.place)
                );
                self.trouble(to.place, &why);
            }
        }
        Ok(())
    }

    /// Begins a table.
    pub fn table(&mut self, owner: TableOwner, place: Place) {
        self.tables.push(Table { owner, place, entries: Vec::new() });
    }

    /// Adds an entry to the last table.
    ///
    /// # Errors
    /// [`NetError::Spec`] for too many of them.
    pub fn entry(&mut self, lid: u16, port: u8, place: Place) -> Result<(), NetError> {
        if self.entries >= MAX_ENTRIES {
            return Err(self.too_many(place, "entries of tables", MAX_ENTRIES));
        }
        if let Some(table) = self.tables.last_mut() {
            table.entries.push((lid, port));
            self.entries += 1;
        }
        Ok(())
    }

    /// Says whose a LID is. Tables of all switches say it again, so that `name` is only looked for the first time.
    pub fn lid_owner(&mut self, lid: u16, guid: u64, is_switch: bool, name: impl FnOnce() -> String) {
        if self.known_owners.len() < MAX_NODES && self.known_owners.insert((lid, guid)) {
            self.owners.push(LidOwner { lid, guid, is_switch, name: name() });
        }
    }

    /// What messages call a node.
    pub fn label(&self, node: u32) -> String {
        let node = &self.nodes[node as usize];
        match (&node.identity, node.name.as_str()) {
            (Identity::Guid(guid), "") => format!("0x{guid:016x}"),
            (Identity::Guid(guid), name) => format!("\"{}\" (0x{guid:016x})", shorten(name)),
            (Identity::Name(_), name) => format!("\"{}\"", shorten(name)),
        }
    }

    /// What messages call a port.
    pub fn port_label(&self, node: u32, port: u32) -> String {
        format!("port {port} of {}", self.label(node))
    }
}

/// The first LID that stands for a group of ports (InfiniBand Architecture Specification, volume 1, "Addressing").
pub(super) const FIRST_MULTICAST: u16 = 0xC000;

fn word(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Switch => "switch",
        NodeKind::Adapter => "channel adapter",
        NodeKind::Router => "router",
        NodeKind::Unknown => "node",
    }
}
