//! Networks in TOML files that a person writes.
//!
//! ```toml
//! [network]
//! name = "lab"                  # for people
//! capacity = "100Mbit/s"        # of links that give none; default 1GB/s
//! routing = "dmodk"             # the default; or ecmp, tables, shortest; on a grid dor (the default), longest, bgq, zone0 to
//! seed = 7                      # zone3; of ecmp, zone0 and zone1
//!
//! [hosts]
//! names = ["node-a", "node-b"]  # or "node[001-144]", a list in Slurm's grammar; or: count = 16, prefix = "nid", first = 0, width = 5
//! [hosts.aliases]
//! "a.site.gov" = "node-a"       # further names
//!
//! [switches]
//! count = 2                     # s0, s1; or names, prefix, first, width as above
//!
//! [[links]]                     # both ways unless duplex = false; every `from` with every `to`
//! from = "s0"
//! to = ["node-a", "node-b"]     # or one name, or a list such as "node[001-018]"
//! capacity = "10Gbit/s"         # of each lane; a plain number is bytes per second
//! lanes = 2                     # parallel physical links
//!
//! [[next_hops]]                 # routing = "tables"
//! to = "node-b"                 # on the way to this host (or these) ...
//! via = { s0 = "node-b" }       # ... s0 sends to node-b; a vertex with one link needs no entry
//! ```
//!
//! Whole forwarding tables are shorter as `[[tables]]`, a row for each switch ([`crate::table_rows`]):
//!
//! ```toml
//! [[tables]]                    # routing = "tables"; a host with one link needs no row
//! at = "s0"
//! via = ["node-a", "node-b"]    # neighbours of s0 ...
//! next = "0 1*3 -"              # ... which of them is next, for each host in order: 1*3 is three times 1, - is none
//! ```
//!
//! `[[io]]` marks I/O hosts ([`Network::io_hosts`]):
//!
//! ```toml
//! [[io]]
//! host = ["node-a", "node-b"]   # or one name
//! capacity = "2GB/s"            # of each host's link to the storage, if it is known
//! ```
//!
//! Instead of links a file may say `[grid]` with `dims = [4, 4]` and `wrap = [true, false]` (all `true` unless given):
//! all vertices are then hosts, numbered row-major with the last dimension fastest, and `[[links]]` give single links
//! of the grid another capacity.

use crate::builder::{End, NetworkBuilder};
use crate::error::NetError;
use crate::geometry::{Geometry, Grid};
use crate::hostlist;
use crate::ids::NodeId;
use crate::io_list::IoHost;
use crate::limits::{DEFAULT_CAPACITY, MAX_HOSTS, MAX_LINKS};
use crate::network::Network;
use crate::routing::Routing;
use crate::routing::equal_cost::EqualCost;
use crate::routing::table::NextHops;
use crate::spec::{RoutingName, checked, grid_links};
use crate::table_rows;
use crate::text_file;
use crate::text_file::shorten;
use crate::toml_keys::{Fields, WrongKey, fields_of, first_wrong};
use crate::units::parse_rate;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// The largest file that is read.
pub(crate) const MAX_BYTES: u64 = 16 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TopologyDocument {
    #[serde(default)]
    network: General,
    #[serde(default = "absent")]
    hosts: Spanned<Vertices>,
    #[serde(default = "absent")]
    switches: Spanned<Vertices>,
    grid: Option<Spanned<GridShape>>,
    #[serde(default)]
    links: Vec<Spanned<LinkEntry>>,
    #[serde(default)]
    next_hops: Vec<Spanned<NextHopEntry>>,
    #[serde(default)]
    tables: Vec<Spanned<TableRow>>,
    #[serde(default)]
    io: Vec<Spanned<IoEntry>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct General {
    name: Option<String>,
    capacity: Option<Rate>,
    routing: Option<Spanned<String>>,
    seed: Option<Spanned<u64>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Vertices {
    names: Option<OneOrMany>,
    count: Option<u64>,
    prefix: Option<String>,
    first: Option<u32>,
    width: Option<u8>,
    #[serde(default)]
    aliases: BTreeMap<String, Spanned<String>>,
}

/// A table that the file does not have.
fn absent() -> Spanned<Vertices> {
    Spanned::new(0..0, Vertices::default())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GridShape {
    dims: Vec<u32>,
    wrap: Option<Vec<bool>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkEntry {
    from: OneOrMany,
    to: OneOrMany,
    capacity: Option<Rate>,
    lanes: Option<u32>,
    duplex: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NextHopEntry {
    to: OneOrMany,
    via: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableRow {
    at: String,
    via: Option<OneOrMany>,
    next: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IoEntry {
    host: OneOrMany,
    capacity: Option<Rate>,
}

/// The fields of a table by its path.
fn fields(path: &str) -> Option<Fields> {
    match path {
        "" => Some(fields_of::<TopologyDocument>()),
        "network" => Some(fields_of::<General>()),
        "hosts" | "switches" => Some(fields_of::<Vertices>()),
        "grid" => Some(fields_of::<GridShape>()),
        "links" => Some(fields_of::<LinkEntry>()),
        "next_hops" => Some(fields_of::<NextHopEntry>()),
        "tables" => Some(fields_of::<TableRow>()),
        "io" => Some(fields_of::<IoEntry>()),
        _ => None,
    }
}

/// Bytes per second: text with a unit, or a number.
#[derive(Clone, Copy)]
struct Rate(f64);

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RateVisitor;
        impl Visitor<'_> for RateVisitor {
            type Value = Rate;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate such as \"100Mbit/s\", or bytes per second")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Rate, E> {
                parse_rate(text).map(Rate).map_err(E::custom)
            }
            fn visit_f64<E: serde::de::Error>(self, rate: f64) -> Result<Rate, E> {
                self.visit_str(&rate.to_string())
            }
            fn visit_i64<E: serde::de::Error>(self, rate: i64) -> Result<Rate, E> {
                self.visit_str(&rate.to_string())
            }
        }
        deserializer.deserialize_any(RateVisitor)
    }
}

/// A name, or a list of names in TOML or in Slurm's grammar, as it is written.
struct OneOrMany(Vec<String>);

impl OneOrMany {
    /// The names, at most `most` of them where they are a list in Slurm's grammar.
    fn names(&self, most: usize) -> Result<Cow<'_, [String]>, String> {
        if !self.0.iter().any(|text| hostlist::is_list(text)) {
            return Ok(Cow::Borrowed(&self.0));
        }
        let mut names = Vec::new();
        for text in &self.0 {
            names.extend(hostlist::expand(text, most.saturating_sub(names.len()))?);
        }
        Ok(Cow::Owned(names))
    }
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NamesVisitor;
        impl<'de> Visitor<'de> for NamesVisitor {
            type Value = OneOrMany;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name, a list of names or one such as \"node[001-144]\"")
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![name.to_string()]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OneOrMany, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = seq.next_element()? {
                    names.push(name);
                }
                if names.is_empty() {
                    Err(A::Error::custom("found an empty list of names"))
                } else {
                    Ok(OneOrMany(names))
                }
            }
        }
        deserializer.deserialize_any(NamesVisitor)
    }
}

impl Network {
    /// The network in the TOML file at `path`; see [`Network::from_toml`].
    ///
    /// # Errors
    /// [`NetError::Spec`] if the file cannot be read or is larger than 16 MiB, and those of [`Network::from_toml`].
    pub fn from_file(path: &Path) -> Result<Network, NetError> {
        Network::from_file_within(path, MAX_HOSTS)
    }

    /// As [`Network::from_file`]; a network of more than `most` hosts and switches is not built.
    pub(crate) fn from_file_within(path: &Path, most: usize) -> Result<Network, NetError> {
        let label = optiq_files::input::name(path);
        let bad = |why: String| NetError::Spec(format!("topology file {label}: {why}"));
        let text = text_file::read(path, MAX_BYTES).map_err(bad)?;
        Reader { text: &text, label: &label, most }.read()
    }

    /// The network that `text` describes in TOML; `label` names the file in messages and in [`Network::spec`].
    ///
    /// ```
    /// let text = r#"
    ///     [network]
    ///     capacity = "100Mbit/s"   # default 1GB/s; routing = "dmodk" | "ecmp" | "tables" | "shortest" | "dor" | ...
    ///     [hosts]
    ///     names = ["a", "b"]       # or count = 16, prefix = "nid", first = 0, width = 5
    ///     [switches]
    ///     count = 1                # s0
    ///     [[links]]                # both ways unless duplex = false
    ///     from = "s0"
    ///     to = ["a", "b"]          # or one name
    ///     lanes = 2                # parallel links; capacity is that of each
    /// "#;
    /// let network = optiq_net::Network::from_toml(text, "net.toml")?;
    /// assert_eq!(network.distance(network.resolve("a")?, network.resolve("b")?), 2);
    /// # Ok::<(), optiq_net::NetError>(())
    /// ```
    ///
    /// Further tables: `[hosts.aliases]` with `"further.name" = "a"`; `[grid]` with `dims` and `wrap`, whose links need
    /// not be listed and where `[[links]]` give single links another capacity; `[[next_hops]]` with
    /// `to = "b"` and `via = { s0 = "b" }` for `routing = "tables"`, or `[[tables]]`, a row for each switch; `[[io]]` with `host` and `capacity`.
    ///
    /// # Errors
    /// [`NetError::Spec`], naming the line, for anything that is not such a file; [`NetError::Invalid`] and
    /// [`NetError::Routing`] for a network or routing that cannot be.
    pub fn from_toml(text: &str, label: &str) -> Result<Network, NetError> {
        Reader { text, label, most: MAX_HOSTS }.read()
    }
}

/// The text of a file while it is turned into a network.
struct Reader<'t> {
    text: &'t str,
    label: &'t str,
    /// The most hosts and switches.
    most: usize,
}

impl Reader<'_> {
    fn error(&self, span: Range<usize>, why: impl fmt::Display) -> NetError {
        let line = 1 + self.text.bytes().take(span.start).filter(|&b| b == b'\n').count();
        NetError::Spec(format!("topology file {}, line {line}: {why}", self.label))
    }

    /// An error of the network as a whole, told with the file's name.
    fn whole(&self, error: NetError) -> NetError {
        let told = |why: String| format!("topology file {}: {why}", self.label);
        match error {
            NetError::Invalid(why) => NetError::Invalid(told(why)),
            NetError::Routing(why) => NetError::Routing(told(why)),
            NetError::Spec(why) => NetError::Spec(told(why)),
            other => other,
        }
    }

    fn read(&self) -> Result<Network, NetError> {
        if self.text.len() as u64 > MAX_BYTES {
            return Err(self.whole(NetError::Spec(format!("it is larger than {} MiB", MAX_BYTES >> 20))));
        }
        if let Some(WrongKey { span, why }) = first_wrong(self.text, fields) {
            return Err(self.error(span, shorten_to(&why, 300)));
        }
        let document: TopologyDocument = toml::from_str(self.text).map_err(|e| {
            let why = e.message().split_whitespace().collect::<Vec<_>>().join(" ");
            // Some messages repeat what the file says, however long that is.
            self.error(e.span().unwrap_or(0..0), shorten_to(&why, 300))
        })?;
        let grid = match &document.grid {
            None => None,
            Some(shape) => {
                let GridShape { dims, wrap } = shape.get_ref();
                let wrap = wrap.clone().unwrap_or_else(|| vec![true; dims.len()]);
                let grid = Grid::new(dims.clone(), wrap).map_err(|e| e.to_string()).and_then(checked);
                Some(grid.map_err(|why| self.error(shape.span(), why))?)
            }
        };
        self.check_size(grid.as_ref().map_or(0, Grid::nodes))?;
        let mut builder = NetworkBuilder::new();
        let mut ends = BTreeMap::new();
        self.add_vertices(&mut builder, &mut ends, &document, grid.as_ref())?;
        let links = self.links(&document, &ends)?;
        self.add_links(&mut builder, &document, grid.as_ref(), links)?;
        if let Some(name) = &document.network.name {
            builder.title(name);
        }
        let tables = self.tables(&document)?;
        let routing = if tables { Routing::Shortest } else { self.routing(&document.network, grid.as_ref())? };
        let geometry = grid.map_or(Geometry::General, Geometry::Grid);
        let network = builder.build(format!("file:{}", self.label), geometry, routing).map_err(|e| self.whole(e))?;
        let network = if tables { self.with_tables(network, &document)? } else { network };
        self.with_io_hosts(network, &document)
    }

    fn check_size(&self, vertices: usize) -> Result<(), NetError> {
        match vertices > self.most {
            true => Err(NetError::TooLarge { spec: format!("file:{}", self.label), vertices, most: self.most }),
            false => Ok(()),
        }
    }

    fn add_vertices(
        &self,
        builder: &mut NetworkBuilder,
        ends: &mut BTreeMap<String, End>,
        document: &TopologyDocument,
        grid: Option<&Grid>,
    ) -> Result<(), NetError> {
        let hosts = self.names(&document.hosts, "h", grid.map(Grid::nodes))?;
        let switches = self.names(&document.switches, "s", None)?;
        self.check_size(hosts.len() + switches.len())?;
        let at_hosts = document.hosts.span();
        if let Some(expected) = grid.map(Grid::nodes)
            && (hosts.len() != expected || !switches.is_empty())
        {
            let (found, switches) = (hosts.len(), switches.len());
            let why = format!(
                "found {found} hosts and {switches} switches; the grid has {expected} vertices, all of them hosts"
            );
            return Err(self.error(at_hosts, why));
        }
        let twice = |span, name: &str| self.error(span, format!("the name \"{}\" is given twice", shorten(name)));
        for (names, is_host, span) in [(hosts, true, at_hosts), (switches, false, document.switches.span())] {
            for name in names {
                let end = if is_host { builder.host(name.clone()) } else { builder.switch(name.clone()) };
                if ends.insert(name.clone(), end).is_some() {
                    return Err(twice(span, &name));
                }
            }
        }
        for vertices in [&document.hosts, &document.switches] {
            for (alias, name) in &vertices.get_ref().aliases {
                let end = *ends.get(name.get_ref()).ok_or_else(|| self.unknown(name.span(), name.get_ref()))?;
                builder.alias(alias, end);
                if ends.insert(alias.clone(), end).is_some_and(|before| before != end) {
                    return Err(twice(name.span(), alias));
                }
            }
        }
        Ok(())
    }

    /// The names that a `[hosts]` or `[switches]` table gives.
    fn names(&self, table: &Spanned<Vertices>, prefix: &str, expected: Option<usize>) -> Result<Vec<String>, NetError> {
        let vertices = table.get_ref();
        let error = |why: String| self.error(table.span(), why);
        if let Some(names) = &vertices.names {
            if vertices.count.is_some()
                || vertices.prefix.is_some()
                || vertices.first.or(vertices.width.map(u32::from)).is_some()
            {
                return Err(error(
                    "found names together with count, prefix, first or width; one or the other is expected".into(),
                ));
            }
            return names.names(MAX_HOSTS).map(Cow::into_owned).map_err(error);
        }
        let count = vertices.count.or(expected.map(|n| n as u64)).unwrap_or(0);
        if count > MAX_HOSTS as u64 {
            return Err(error(format!("found count = {count}; at most {MAX_HOSTS} are supported")));
        }
        let width = usize::from(vertices.width.unwrap_or(0));
        let prefix = vertices.prefix.as_deref().unwrap_or(prefix);
        if width > 20 || prefix.len() > 64 {
            return Err(error("width is at most 20, and prefix at most 64 bytes long".into()));
        }
        let first = u64::from(vertices.first.unwrap_or(0));
        Ok((first..first + count).map(|i| format!("{prefix}{i:0width$}")).collect())
    }

    /// The names of a list in which each of `most` known ones stands once.
    fn known<'d>(&self, span: Range<usize>, list: &'d OneOrMany, most: usize) -> Result<Cow<'d, [String]>, NetError> {
        list.names(most).map_err(|why| self.error(span, why))
    }

    fn unknown(&self, span: Range<usize>, name: &str) -> NetError {
        self.error(span, format!("there is no host or switch \"{}\"", shorten(name)))
    }

    /// Every directed link that the file lists, and the line of its entry. None is listed twice.
    #[allow(clippy::type_complexity)]
    fn links<'d>(
        &self,
        document: &'d TopologyDocument,
        ends: &BTreeMap<String, End>,
    ) -> Result<BTreeMap<(End, End), &'d Spanned<LinkEntry>>, NetError> {
        let mut links = BTreeMap::new();
        for entry in &document.links {
            let LinkEntry { from, to, duplex, lanes, .. } = entry.get_ref();
            if *lanes == Some(0) {
                return Err(self.error(entry.span(), "found lanes = 0; at least 1 is expected"));
            }
            let find = |name: &String| ends.get(name).copied().ok_or_else(|| self.unknown(entry.span(), name));
            let (from, to) = (self.known(entry.span(), from, ends.len())?, self.known(entry.span(), to, ends.len())?);
            for (from, name) in from.iter().flat_map(|from| to.iter().map(move |to| (from, to))) {
                let (a, b) = (find(from)?, find(name)?);
                if links.len() > MAX_LINKS {
                    return Err(self.error(entry.span(), format!("more than {MAX_LINKS} links are not supported")));
                }
                if a == b {
                    return Err(self.error(entry.span(), "this link joins a vertex to itself"));
                }
                let both = duplex.unwrap_or(true).then_some((b, a));
                for pair in [Some((a, b)), both].into_iter().flatten() {
                    if links.insert(pair, entry).is_some() {
                        let why = format!(
                            "a link between \"{}\" and \"{}\" is given twice; parallel links are written as lanes = 2, \
                             and links that differ by direction with duplex = false",
                            shorten(from),
                            shorten(name)
                        );
                        return Err(self.error(entry.span(), why));
                    }
                }
            }
        }
        Ok(links)
    }

    fn add_links(
        &self,
        builder: &mut NetworkBuilder,
        document: &TopologyDocument,
        grid: Option<&Grid>,
        mut links: BTreeMap<(End, End), &Spanned<LinkEntry>>,
    ) -> Result<(), NetError> {
        let default = document.network.capacity.map_or(DEFAULT_CAPACITY, |rate| rate.0);
        let capacity = |entry: &LinkEntry| entry.capacity.map_or(default, |rate| rate.0);
        if let Some(grid) = grid {
            for (from, to, lanes) in grid_links(grid) {
                let (from, to) = (End::Host(from.0), End::Host(to.0));
                match links.remove(&(from, to)).map(Spanned::get_ref) {
                    Some(entry) => builder.link(from, to, entry.lanes.unwrap_or(lanes), capacity(entry)),
                    None => builder.link(from, to, lanes, default),
                }
            }
            if let Some(entry) = links.values().next() {
                return Err(self.error(entry.span(), "this link does not join neighbours of the grid"));
            }
        }
        for ((from, to), entry) in links {
            let lanes = entry.get_ref().lanes.unwrap_or(1);
            builder.link(from, to, lanes, capacity(entry.get_ref()));
        }
        Ok(())
    }

    /// Whether the file routes by tables.
    fn tables(&self, document: &TopologyDocument) -> Result<bool, NetError> {
        let routing = document.network.routing.as_ref();
        let named = routing.map(|r| matches!(r.get_ref().as_str(), "tables" | "table"));
        let (hop, row) = (document.next_hops.first().map(Spanned::span), document.tables.first().map(Spanned::span));
        match (named, hop, row) {
            (_, Some(_), Some(row)) => {
                Err(self.error(row, "found [[tables]] together with [[next_hops]]; one or the other is expected"))
            }
            (Some(true), None, None) => {
                let at = routing.map_or(0..0, Spanned::span);
                Err(self.error(at, "routing = \"tables\" needs [[next_hops]] or [[tables]]; there are none"))
            }
            (Some(false), Some(at), None) => {
                Err(self.error(at, "[[next_hops]] need routing = \"tables\"; another routing is given"))
            }
            (Some(false), None, Some(at)) => {
                Err(self.error(at, "[[tables]] need routing = \"tables\"; another routing is given"))
            }
            (_, hop, row) => Ok(hop.is_some() || row.is_some()),
        }
    }

    fn routing(&self, network: &General, grid: Option<&Grid>) -> Result<Routing, NetError> {
        let name = match (&network.routing, grid) {
            (None, Some(_)) => "dor",
            // Fabrics use all of their equal paths; which one a pair of hosts takes is best known of this one.
            (None, None) => "dmodk",
            (Some(name), _) => name.get_ref().as_str(),
        };
        let on_grids = RoutingName::parse(name);
        let is_random = name == "ecmp" || on_grids.is_some_and(RoutingName::is_random);
        let seed = match &network.seed {
            Some(seed) if !is_random => {
                return Err(self.error(seed.span(), "only routing ecmp, zone0 and zone1 make use of a seed"));
            }
            Some(seed) => *seed.get_ref(),
            None => 0,
        };
        match (name, on_grids) {
            ("dmodk", _) => Ok(Routing::EqualCost(EqualCost::DModK)),
            ("ecmp", _) => Ok(Routing::EqualCost(EqualCost::Ecmp { seed })),
            (_, Some(name)) => name.on(grid, seed).map_err(|e| self.whole(e)),
            (_, None) => {
                let span = network.routing.as_ref().map_or(0..0, Spanned::span);
                let (found, expected) = (shorten(name), RoutingName::EXPECTED);
                let why = format!("there is no routing \"{found}\"; dmodk, ecmp, tables, {expected} is expected");
                Err(self.error(span, why))
            }
        }
    }

    /// The network with the I/O hosts that the file marks.
    fn with_io_hosts(&self, network: Network, document: &TopologyDocument) -> Result<Network, NetError> {
        let mut marked = BTreeMap::new();
        for entry in &document.io {
            let IoEntry { host, capacity } = entry.get_ref();
            for name in self.known(entry.span(), host, network.hosts())?.iter() {
                let found = network.names.find(name).ok_or_else(|| self.unknown(entry.span(), name))?;
                if !network.is_host(found) {
                    let why = format!("\"{}\" is a switch; a host is expected", shorten(name));
                    return Err(self.error(entry.span(), why));
                }
                if marked.insert(found, IoHost { host: found, storage: capacity.map(|rate| rate.0) }).is_some() {
                    let why = format!("the I/O host \"{}\" is given twice", shorten(name));
                    return Err(self.error(entry.span(), why));
                }
            }
        }
        let marked: Vec<IoHost> = marked.into_values().collect();
        if marked.is_empty() { Ok(network) } else { network.with_io_hosts(&marked).map_err(|e| self.whole(e)) }
    }

    /// The network under the tables that the file gives in rows.
    fn with_rows(&self, network: Network, rows: &[Spanned<TableRow>]) -> Result<Network, NetError> {
        let mut next: Vec<Vec<u32>> = vec![Vec::new(); network.vertices()];
        for row in rows {
            let error = |why: String| self.error(row.span(), why);
            let find = |name: &String| network.names.find(name).ok_or_else(|| self.unknown(row.span(), name));
            let TableRow { at, via, next: text } = row.get_ref();
            let at = find(at)?;
            let names = via.as_ref().map(|via| self.known(row.span(), via, network.vertices())).transpose()?;
            let via = names.as_deref().unwrap_or_default().iter().map(find).collect::<Result<Vec<NodeId>, _>>()?;
            if let Some(far) = via.iter().find(|to| network.link_between(at, **to).is_none()) {
                let [at, far] = [at, *far].map(|v| network.name(v));
                return Err(error(format!("there is no link from \"{at}\" to \"{far}\"")));
            }
            if !next[at.index()].is_empty() {
                return Err(error(format!("the table of \"{}\" is given twice", network.name(at))));
            }
            next[at.index()] = table_rows::decode(text, &via, network.hosts()).map_err(error)?;
        }
        let table = NextHops::from_rows(&network, &next).map_err(|e| self.whole(e))?;
        network.with_routing(Routing::Table(table)).map_err(|e| self.whole(e))
    }

    /// The network under the file's next-hop tables.
    fn with_tables(&self, network: Network, document: &TopologyDocument) -> Result<Network, NetError> {
        NextHops::check_size(&network).map_err(|e| self.whole(e))?;
        if !document.tables.is_empty() {
            return self.with_rows(network, &document.tables);
        }
        let mut next = BTreeMap::new();
        for entry in &document.next_hops {
            let error = |why: String| self.error(entry.span(), why);
            let find = |name: &String| network.names.find(name).ok_or_else(|| self.unknown(entry.span(), name));
            let NextHopEntry { to, via } = entry.get_ref();
            let to = self.known(entry.span(), to, network.hosts())?;
            for (dst, (at, to)) in to.iter().flat_map(|dst| via.iter().map(move |hop| (dst, hop))) {
                let (dst, at, to) = (find(dst)?, find(at)?, find(to)?);
                if !network.is_host(dst) {
                    let dst = network.name(dst);
                    return Err(error(format!("\"{dst}\" is a switch; a host is expected as destination")));
                }
                let [at_name, to_name] = [at, to].map(|v| network.name(v));
                if network.link_between(at, to).is_none() {
                    return Err(error(format!("there is no link from \"{at_name}\" to \"{to_name}\"")));
                }
                if next.insert((dst, at), to).is_some() {
                    let dst = network.name(dst);
                    return Err(error(format!("the next hop from \"{at_name}\" towards \"{dst}\" is given twice")));
                }
            }
        }
        let table = NextHops::new(&network, |at, dst| next.get(&(dst, at)).copied()).map_err(|e| self.whole(e))?;
        network.with_routing(Routing::Table(table)).map_err(|e| self.whole(e))
    }
}

fn shorten_to(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
