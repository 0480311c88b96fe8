//! Topology specifications: `kind:shape[,key=value]...`.
//!
//! | specification | network | capacity of a link unless given |
//! | --- | --- | --- |
//! | `torus:4x4x4x8x2` | a torus of these lengths | 1 GB/s |
//! | `mesh:4x4` | a mesh of these lengths | 1 GB/s |
//! | `bgq:512`, `1024`, `2048`, `4096` | a Blue Gene/Q partition: 4x4x4x4x2, 4x4x4x8x2, 4x4x4x16x2, 4x4x8x16x2 | 1.8 GB/s (thesis 6.1) |
//! | `star:16` | hosts around one switch | 1 GB/s |
//! | `fattree:18x18x4:1x18x2:1x1x9` | a fat tree: children, parents and (unless 1) parallel cables per level | 1 GB/s |
//! | `fattree:k=36` | the classical three-level tree of 36-port switches, k^3 / 4 hosts | 1 GB/s |
//! | `fattree:brown1296` | `18x18x4:1x18x2:1x1x9`: the 1,296 nodes of Brown's dissertation, chapter 5 | 12.5 GB/s |
//! | `dragonfly:p=4,a=8,h=4,g=33` | hosts and global links per router, routers per group, groups (a h + 1 unless given) | 1 GB/s |
//! | `dragonfly:5586` | `p=7,a=14,h=4,g=57`: as many hosts as in Yoga and Chabbi's evaluation, after NERSC's Edison | 10 GB/s to hosts, 5.25 GB/s local, 4.7 GB/s global |
//! | `dragonfly+:p=16,l=24,s=24,h=16,g=9` | hosts per leaf, leaves and spines per group, global links per spine, groups (s h + 1 unless given) | 1 GB/s |
//! | `dragonfly+:3456` | the one just above, of Kang et al. 2019, section 2.1 | 16 GiB/s to hosts, 5.25 GiB/s local, 4.37 GiB/s global |
//! | `file:net.toml`, or `net.toml` if there is such a file | see [`Network::from_toml`]; or files of a fabric, with `+` between several, see [`crate::import`]; the rest of the text is the path | |
//!
//! `auto` is none of them: a program that runs under MPI discovers its network then, and [`Network::from_spec`] says so.
//!
//! | option | meaning |
//! | --- | --- |
//! | `capacity=100Mbit/s` | of every physical link, in each direction |
//! | `wrap=11110` | which dimensions close to rings, one digit for each |
//! | `routing=` | `dor`, `longest`, `bgq`, `zone0` to `zone3`, `adaptive`, `shortest` |
//! | `seed=7` | of the random choices of zones 0 and 1 |
//! | `io=0+10@2GB/s` | I/O hosts, with what their links to the storage carry; on any network, see [`Network::io_hosts`] |
//! | `names=node[001-144]` | the names of all hosts, as a list in Slurm's grammar; on any network |
//! | `hosts=hosts.txt` | the names of all hosts from a file, a line for each, see `host_names.rs`; on any network |
//!
//! Fat trees and dragonflies have options of their own: `capacity`; `terminal`, `local` and `global` for the capacities
//! of a dragonfly's links to hosts, within and between groups; `routing=dmodk` (the default), `smodk` or `shortest` on
//! a fat tree, `minimal` (the default) or `shortest` on a dragonfly. Stars have those of fat trees as soon as one of these two is
//! given: `rails=4` for four mirrored planes of switches with an adapter of every host in each, and `adapters=1@50%+7.3@none` for
//! adapters that are slower or missing, see `adapters.rs`; or `nodes=4@50GB/s`: every four consecutive hosts are the adapters of
//! one node, which ranks own, joined by memory that gives each of them this rate.
//!
//! Unless named, hosts are called `h0`, `h1`, ... and switches `s0`, `s1`, ...

mod adapters;
mod switched;

use crate::builder::{End, NetworkBuilder};
use crate::error::NetError;
use crate::geometry::{Geometry, Grid};
use crate::host_names;
use crate::ids::NodeId;
use crate::io_hosts;
use crate::limits::{MAX_HOSTS, MAX_LINKS};
use crate::network::Network;
use crate::routing::Routing;
use crate::routing::dimension_order::DimensionOrder;
use crate::routing::zone::Zone;
use crate::text_file::shorten;
use crate::units::{format_rate, parse_rate};
use optiq_files::input::STANDARD;
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use switched::SwitchedSpec;

const GB_PER_SECOND: f64 = 1e9;

/// What a Blue Gene/Q link carries of user data: 90 % of 2 GB/s (thesis 6.1).
const BGQ_LINK: f64 = 1.8e9;

/// What stands before the colon of a specification.
const KINDS: [&str; 8] = ["torus", "mesh", "bgq", "star", "fattree", "dragonfly", "dragonfly+", "file"];

/// The word for a network that is guessed when a program runs under MPI. It describes none: [`Network::from_spec`] refuses it.
pub const AUTO: &str = "auto";

/// Whether a specification is [`AUTO`].
pub fn is_auto(spec: &str) -> bool {
    spec.trim() == AUTO
}

/// Whether a specification begins with a known kind, `file:` among them. One that does not is the path of a file, if there is
/// such a file, or wrong: which of the two may differ between machines.
pub fn has_kind(spec: &str) -> bool {
    spec.split_once(':').is_some_and(|(kind, _)| KINDS.contains(&kind.trim()))
}

/// `spec` as it stands, or with `file:` before it if it has no known kind and is the path of a regular file.
pub fn with_kind(spec: &str) -> Cow<'_, str> {
    let path = spec.trim();
    if has_kind(spec) || is_auto(spec) || !Path::new(path).is_file() {
        return Cow::Borrowed(spec);
    }
    Cow::Owned(format!("file:{path}"))
}

impl Network {
    /// The network that `spec` describes: `torus:4x4x4x8x2`, `mesh:4x4`, `bgq:1024`, `star:16` or `file:net.toml`,
    /// the first four with options `,capacity=1.8GB/s`, `,wrap=11110`, `,routing=longest`, `,seed=7`; or a switched
    /// network, `fattree:18x18x4:1x18x2:1x1x9`, `fattree:k=4`, `fattree:brown1296`, `dragonfly:p=4,a=8,h=4`,
    /// `dragonfly+:p=16,l=24,s=24,h=16,g=9` or `dragonfly+:3456`, with `,capacity=`, `,routing=`, `,rails=`,
    /// `,adapters=`, `,nodes=` (also on stars), and on dragonflies `,terminal=`, `,local=`, `,global=` capacities. All but files with `,io=0+10@2GB/s`,
    /// the I/O hosts, and with `,names=node[001-144]` or `,hosts=FILE`, the names of all hosts. The path of a file needs no `file:`
    /// before it if the file is there. It may be a file that the tools of a fabric print, or several with `+` between them
    /// ([`crate::import`]).
    ///
    /// # Errors
    /// [`NetError::Spec`] for a specification or file that cannot be read or is too large ([`MAX_HOSTS`],
    /// [`MAX_LINKS`]), [`NetError::Routing`] for a routing that does not fit.
    pub fn from_spec(spec: &str) -> Result<Network, NetError> {
        Network::from_spec_within(spec, MAX_HOSTS)
    }

    /// As [`Network::from_spec`], but nothing large is built for a network of more than `most` hosts and switches.
    ///
    /// ```
    /// use optiq_net::{NetError, Network};
    ///
    /// assert!(matches!(Network::from_spec_within("torus:1024x1024", 1000), Err(NetError::TooLarge { .. })));
    /// ```
    ///
    /// # Errors
    /// [`NetError::TooLarge`] for such a network, and those of [`Network::from_spec`].
    pub fn from_spec_within(spec: &str, most: usize) -> Result<Network, NetError> {
        let spec = &*with_kind(spec);
        let bad = |why: String| NetError::Spec(format!("topology \"{}\": {why}", shorten(spec)));
        let (unnamed, naming) = host_names::split(spec).map_err(bad)?;
        let (base, io) = io_hosts::split(&unnamed).map_err(bad)?;
        let within = |vertices: usize| match vertices > most {
            true => Err(NetError::TooLarge { spec: shorten(spec), vertices, most }),
            false => Ok(()),
        };
        // A lone `-` is standard input, which is read as a file.
        let base_text = base.trim();
        let mut network = match base_text.strip_prefix("file:").or((base_text == STANDARD).then_some(STANDARD)) {
            Some(paths) => Network::from_files_within(paths, most)?,
            None => match SwitchedSpec::parse(&base)? {
                Some(switched) => within(switched.vertices()).and_then(|()| switched.build())?,
                None => {
                    let spec = Spec::parse(&base)?;
                    within(spec.vertices()).and_then(|()| spec.build())?
                }
            },
        };
        if let Some(naming) = naming {
            network = naming.apply(network).map_err(bad)?;
        }
        if let Some(list) = io {
            let marked = network.parse_io_hosts(&list);
            network = marked.and_then(|hosts| network.with_io_hosts(&hosts)).map_err(|e| bad(e.to_string()))?;
        }
        let (hosts, links) = (network.hosts(), network.links().len());
        log::debug!("topology {}: {hosts} hosts, {links} directed links", network.spec());
        Ok(network)
    }
}

/// A specification that was read, in little memory however large the network.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spec {
    kind: SpecKind,
    capacity: f64,
    routing: Option<RoutingName>,
    seed: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum SpecKind {
    Torus(Grid),
    Mesh(Grid),
    BlueGene(Grid),
    Star(u32),
}

impl SpecKind {
    fn grid(&self) -> Option<&Grid> {
        match self {
            SpecKind::Torus(grid) | SpecKind::Mesh(grid) | SpecKind::BlueGene(grid) => Some(grid),
            SpecKind::Star(_) => None,
        }
    }

    fn default_capacity(&self) -> f64 {
        if matches!(self, SpecKind::BlueGene(_)) { BGQ_LINK } else { GB_PER_SECOND }
    }

    fn default_routing(&self) -> RoutingName {
        match self {
            SpecKind::Torus(_) | SpecKind::Mesh(_) => RoutingName::Given,
            SpecKind::BlueGene(_) => RoutingName::BlueGene,
            SpecKind::Star(_) => RoutingName::Shortest,
        }
    }
}

/// The routings that have a name of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoutingName {
    Given,
    Longest,
    BlueGene,
    Zone(u8),
    Adaptive,
    Shortest,
}

impl RoutingName {
    pub const EXPECTED: &str = "dor, longest, bgq, zone0, zone1, zone2, zone3, adaptive or shortest";

    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "dor" => RoutingName::Given,
            "longest" => RoutingName::Longest,
            "bgq" => RoutingName::BlueGene,
            "zone0" => RoutingName::Zone(0),
            "zone1" => RoutingName::Zone(1),
            "zone2" => RoutingName::Zone(2),
            "zone3" => RoutingName::Zone(3),
            "adaptive" => RoutingName::Adaptive,
            "shortest" => RoutingName::Shortest,
            _ => return None,
        })
    }

    /// Whether a seed changes the routes.
    pub fn is_random(self) -> bool {
        matches!(self, RoutingName::Zone(0 | 1))
    }

    /// The routing, if there is the grid that it needs.
    pub fn on(self, grid: Option<&Grid>, seed: u64) -> Result<Routing, NetError> {
        if self == RoutingName::Shortest {
            return Ok(Routing::Shortest);
        }
        let none = || NetError::Routing(format!("routing {self} needs a mesh or a torus; this network has no grid"));
        let grid = grid.ok_or_else(none)?;
        Ok(match self {
            RoutingName::Given => Routing::DimensionOrder(DimensionOrder::ascending(grid)),
            RoutingName::Longest => Routing::DimensionOrder(DimensionOrder::longest_first(grid)),
            RoutingName::BlueGene => Routing::DimensionOrder(DimensionOrder::blue_gene(grid)),
            RoutingName::Zone(id) => Routing::Zone(Zone::new(id, seed)?),
            RoutingName::Adaptive => Routing::MinimalAdaptive,
            RoutingName::Shortest => Routing::Shortest,
        })
    }
}

impl fmt::Display for RoutingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RoutingName::Given => f.write_str("dor"),
            RoutingName::Longest => f.write_str("longest"),
            RoutingName::BlueGene => f.write_str("bgq"),
            RoutingName::Zone(id) => write!(f, "zone{id}"),
            RoutingName::Adaptive => f.write_str("adaptive"),
            RoutingName::Shortest => f.write_str("shortest"),
        }
    }
}

/// The options of a specification, as written.
#[derive(Default)]
struct Options<'s> {
    capacity: Option<&'s str>,
    wrap: Option<&'s str>,
    routing: Option<&'s str>,
    seed: Option<&'s str>,
}

impl<'s> Options<'s> {
    fn parse(parts: impl Iterator<Item = &'s str>) -> Result<Self, String> {
        let mut options = Options::default();
        for part in parts {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("found option \"{}\"; key=value is expected", shorten(part)))?;
            let place = match key.trim() {
                "capacity" => &mut options.capacity,
                "wrap" => &mut options.wrap,
                "routing" => &mut options.routing,
                "seed" => &mut options.seed,
                _ => {
                    return Err(format!(
                        "there is no option \"{}\"; capacity, wrap, routing, seed, names, hosts or io is expected",
                        shorten(key)
                    ));
                }
            };
            if place.replace(value.trim()).is_some() {
                return Err(format!("option {} is given twice", key.trim()));
            }
        }
        Ok(options)
    }
}

impl Spec {
    pub fn parse(text: &str) -> Result<Self, NetError> {
        let bad = |why: String| NetError::Spec(format!("topology \"{}\": {why}", shorten(text)));
        if is_auto(text.split(',').next().unwrap_or_default()) {
            return Err(bad(
                "it is known only to programs that run under MPI, which guess hosts and rates then; a network \
                            such as star:16 or torus:4x4 is expected"
                    .into(),
            ));
        }
        let (kind, rest) = text.trim().split_once(':').ok_or_else(|| {
            bad("kind:shape is expected, for example torus:4x4, mesh:4x4, bgq:1024, star:16 or file:net.toml".into())
        })?;
        let mut parts = rest.split(',').map(str::trim);
        let shape = parts.next().unwrap_or_default();
        let options = Options::parse(parts).map_err(bad)?;
        let kind = match kind {
            "torus" => SpecKind::Torus(grid(shape, true, options.wrap).map_err(bad)?),
            "mesh" => SpecKind::Mesh(grid(shape, false, options.wrap).map_err(bad)?),
            "bgq" => {
                let lengths = match shape {
                    "512" => "4x4x4x4x2",
                    "1024" => "4x4x4x8x2",
                    "2048" => "4x4x4x16x2",
                    "4096" => "4x4x8x16x2",
                    _ => {
                        let found = shorten(shape);
                        return Err(bad(format!("found {found:?} nodes; 512, 1024, 2048 or 4096 is expected")));
                    }
                };
                SpecKind::BlueGene(grid(lengths, true, options.wrap).map_err(bad)?)
            }
            "star" => match positive(shape) {
                _ if options.wrap.is_some() => return Err(bad("a star has no dimensions that could wrap".into())),
                Some(n) if (n as usize) < MAX_HOSTS => SpecKind::Star(n),
                _ => {
                    let most = MAX_HOSTS - 1;
                    return Err(bad(format!("found {:?} hosts; 1 to {most} are expected", shorten(shape))));
                }
            },
            _ => {
                let kind = shorten(kind);
                return Err(bad(format!(
                    "there is no kind \"{kind}\"; fattree, dragonfly, dragonfly+, torus, mesh, bgq, star or file is expected"
                )));
            }
        };
        let capacity = match options.capacity {
            Some(rate) => parse_rate(rate).map_err(|e| bad(e.to_string()))?,
            None => kind.default_capacity(),
        };
        let routing = options.routing.map(|name| {
            RoutingName::parse(name).ok_or_else(|| {
                bad(format!("there is no routing \"{}\"; {} is expected", shorten(name), RoutingName::EXPECTED))
            })
        });
        let routing = routing.transpose()?;
        // Whether the routing has the grid it needs is known here, before anything large is built.
        routing.unwrap_or(RoutingName::Shortest).on(kind.grid(), 0).map_err(|e| bad(e.to_string()))?;
        let seed = match options.seed {
            None => 0,
            Some(_) if !routing.is_some_and(RoutingName::is_random) => {
                return Err(bad("only routing=zone0 and routing=zone1 make use of a seed".into()));
            }
            Some(seed) => seed
                .parse()
                .map_err(|_| bad(format!("found seed \"{}\"; a whole number below 2^64 is expected", shorten(seed))))?,
        };
        Ok(Spec { kind, capacity, routing, seed })
    }

    /// Number of hosts and switches that [`Spec::build`] will make.
    pub fn vertices(&self) -> usize {
        match &self.kind {
            SpecKind::Star(n) => *n as usize + 1,
            kind => kind.grid().map_or(0, Grid::nodes),
        }
    }

    pub fn build(&self) -> Result<Network, NetError> {
        let routing = self.routing.unwrap_or_else(|| self.kind.default_routing()).on(self.kind.grid(), self.seed)?;
        let mut builder = NetworkBuilder::new();
        match &self.kind {
            SpecKind::Star(hosts) => {
                let hub = builder.switch("s0");
                for i in 0..*hosts {
                    let host = builder.host(format!("h{i}"));
                    builder.duplex(host, hub, 1, self.capacity);
                }
                builder.build(self.to_string(), Geometry::General, routing)
            }
            SpecKind::Torus(grid) | SpecKind::Mesh(grid) | SpecKind::BlueGene(grid) => {
                for i in 0..grid.nodes() {
                    builder.host(format!("h{i}"));
                }
                for (from, to, lanes) in grid_links(grid) {
                    builder.link(End::Host(from.0), End::Host(to.0), lanes, self.capacity);
                }
                let network = builder.build(self.to_string(), Geometry::Grid(grid.clone()), routing)?;
                Ok(if matches!(self.kind, SpecKind::BlueGene(_)) { network.with_bridges() } else { network })
            }
        }
    }
}

/// The canonical form: defaults are left out.
impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, wraps) = match &self.kind {
            SpecKind::Torus(_) => ("torus", true),
            SpecKind::Mesh(_) => ("mesh", false),
            SpecKind::BlueGene(_) => ("bgq", true),
            SpecKind::Star(_) => ("star", false),
        };
        match &self.kind {
            SpecKind::Torus(grid) | SpecKind::Mesh(grid) => {
                let lengths: Vec<String> = grid.dims().iter().map(u32::to_string).collect();
                write!(f, "{name}:{}", lengths.join("x"))?;
            }
            SpecKind::BlueGene(grid) => write!(f, "{name}:{}", grid.nodes())?,
            SpecKind::Star(hosts) => write!(f, "{name}:{hosts}")?,
        }
        if self.capacity != self.kind.default_capacity() {
            write!(f, ",capacity={}", format_rate(self.capacity))?;
        }
        if let Some(grid) = self.kind.grid().filter(|g| g.wrap().iter().any(|&w| w != wraps)) {
            let flags: String = grid.wrap().iter().map(|&w| if w { '1' } else { '0' }).collect();
            write!(f, ",wrap={flags}")?;
        }
        if let Some(routing) = self.routing.filter(|r| *r != self.kind.default_routing()) {
            write!(f, ",routing={routing}")?;
        }
        if self.seed != 0 {
            write!(f, ",seed={}", self.seed)?;
        }
        Ok(())
    }
}

fn positive(text: &str) -> Option<u32> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|&n| n > 0)
}

/// The grid of `4x4x8`, wrapping everywhere or nowhere unless `wrap` says otherwise, if its links are not too many.
fn grid(shape: &str, wraps: bool, wrap: Option<&str>) -> Result<Grid, String> {
    let length = |part: &str| {
        positive(part)
            .ok_or_else(|| format!("found length \"{}\"; a whole number above zero is expected", shorten(part)))
    };
    // One more than a grid may have is enough to have it refused.
    let dims = shape.split('x').take(Grid::MAX_DIMENSIONS + 1).map(length).collect::<Result<Vec<u32>, _>>()?;
    let wrap = match wrap {
        None => vec![wraps; dims.len()],
        Some(flags) if flags.len() == dims.len() && flags.bytes().all(|b| matches!(b, b'0' | b'1')) => {
            flags.bytes().map(|b| b == b'1').collect()
        }
        Some(flags) => {
            return Err(format!("found wrap={}; {} digits 0 or 1 are expected", shorten(flags), dims.len()));
        }
    };
    checked(Grid::new(dims, wrap).map_err(|e| e.to_string())?)
}

/// The grid, unless its links are more than a network may have.
pub(crate) fn checked(grid: Grid) -> Result<Grid, String> {
    match grid.bundles() {
        links if links > MAX_LINKS => Err(format!("the grid has {links} links; at most {MAX_LINKS} are supported")),
        _ => Ok(grid),
    }
}

/// Every directed bundle of a grid: from, to, lanes.
pub(crate) fn grid_links(grid: &Grid) -> impl Iterator<Item = (NodeId, NodeId, u32)> + '_ {
    let steps = (0..grid.dims().len()).flat_map(|d| [(d, true), (d, false)]);
    // In a ring of two the step down is the step up: one bundle of two lanes.
    let steps: Vec<(usize, bool)> = steps.filter(|&(d, up)| up || grid.lanes(d) == 1).collect();
    (0..grid.nodes() as u32).map(NodeId).flat_map(move |v| {
        let links = steps.iter().filter_map(|&(d, up)| Some((v, grid.step(v, d, up)?, grid.lanes(d))));
        links.collect::<Vec<_>>()
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn auto_is_no_network() {
        let error = Network::from_spec(" auto").unwrap_err().to_string();
        assert!(error.contains("known only to programs that run under MPI") && !error.contains('\n'), "{error}");
        assert!(is_auto("auto ") && !is_auto("file:auto") && !is_auto("star:4") && with_kind("auto") == "auto");
    }

    /// One of `bases`, in which a few bytes somewhere are replaced by others that specifications are made of.
    pub(crate) fn mutations(bases: Vec<&'static str>) -> impl Strategy<Value = String> {
        (prop::sample::select(bases), 0usize..60, "[0-9x:,=a-z.]{0,4}", 0usize..4).prop_map(|(base, at, with, cut)| {
            let at = at.min(base.len());
            let end = (at + cut).min(base.len());
            format!("{}{with}{}", &base[..at], &base[end..])
        })
    }

    #[test]
    fn canonical_forms() {
        let cases = [
            ("torus:4x4", "torus:4x4"),
            (" torus:04x4 , capacity=1e9", "torus:4x4"),
            ("torus:4x4,routing=dor,wrap=11", "torus:4x4"),
            ("torus:4x4,wrap=10,capacity=100Mbit/s", "torus:4x4,capacity=12.5MB/s,wrap=10"),
            ("mesh:4x4,wrap=01", "mesh:4x4,wrap=01"),
            ("bgq:1024,capacity=1.8GB/s,routing=bgq", "bgq:1024"),
            ("bgq:512,routing=zone1,seed=7", "bgq:512,routing=zone1,seed=7"),
            ("bgq:4096,wrap=11110", "bgq:4096,wrap=11110"),
            ("star:16,routing=shortest", "star:16"),
        ];
        for (text, canonical) in cases {
            let spec = Spec::parse(text).unwrap();
            assert_eq!(spec.to_string(), canonical);
            let again = Spec::parse(canonical).unwrap();
            assert_eq!(again.to_string(), canonical);
            let (a, b) = (spec.build().unwrap(), again.build().unwrap());
            assert_eq!(a.fingerprint(), b.fingerprint());
            assert_eq!(a.spec(), canonical);
        }
    }

    #[test]
    fn refusals_say_what_was_expected() {
        let cases = [
            ("", "kind:shape"),
            ("torus", "kind:shape"),
            ("ring:4", "torus, mesh, bgq, star or file"),
            ("torus:", "whole number above zero"),
            ("torus:4x0", "whole number above zero"),
            ("torus:4x-1", "whole number above zero"),
            ("torus:4xx4", "whole number above zero"),
            ("torus:4294967296", "whole number above zero"),
            ("torus:65536x65536x65536", "more than 4194304 hosts"),
            ("torus:1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1", "dimensions"),
            ("mesh:2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2", "at most 16777216"),
            ("bgq:1000", "512, 1024, 2048 or 4096"),
            ("star:0", "1 to 4194303"),
            ("star:4194304", "1 to 4194303"),
            ("star:4,wrap=1", "no dimensions"),
            ("star:4,routing=dor", "needs a mesh or a torus"),
            ("torus:4x4,wrap=111", "2 digits"),
            ("torus:4x4,wrap=1x", "2 digits"),
            ("torus:4x4,capacity=fast", "decimal number"),
            ("torus:4x4,capacity=inf", "decimal number"),
            ("torus:4x4,capacity=0", "above zero"),
            ("torus:4x4,routing=best", "adaptive or shortest"),
            ("torus:4x4,routing=zone4", "adaptive or shortest"),
            ("torus:4x4,seed=1", "zone0"),
            ("torus:4x4,routing=zone2,seed=1", "zone0"),
            ("torus:4x4,routing=zone0,seed=-1", "2^64"),
            ("torus:4x4,speed=1", "capacity, wrap, routing, seed, names, hosts or io"),
            ("torus:4x4,fast", "key=value"),
            ("torus:4x4,wrap=11,wrap=11", "twice"),
            ("fattree:4x4", "children:parents per level"),
            ("fattree:4x4:1", "equally many"),
            ("fattree:4x0:1x1", "whole number above zero"),
            ("fattree:65536x65536x65536:1x1x1", "at most 4194304"),
            ("fattree:k=3", "even number of ports"),
            ("fattree:k=4,routing=dor", "dmodk, smodk or shortest"),
            ("fattree:k=4,seed=1", "capacity, rails, adapters, nodes, routing, names, hosts or io is expected"),
            ("fattree:k=4,local=1GB/s", "capacity, rails, adapters, nodes, routing, names, hosts or io is expected"),
            ("dragonfly:p=4,a=8", "h= is missing"),
            ("dragonfly:p=4,a=8,h=4,g=34", "at most 33"),
            ("dragonfly:p=4,a=4294967295,h=4294967295", "at most 4194304"),
            ("dragonfly:p=1,a=2,h=1,routing=valiant", "minimal or shortest"),
            ("dragonfly+:p=1,l=1,s=2,h=2,g=6", "at most 5"),
            ("dragonfly+:3457", "key=value"),
            ("dragonfly+:3456,g=4", "capacity, terminal"),
            ("dragonfly+:3456,global=0", "above zero"),
        ];
        for (text, expected) in cases {
            let error = Network::from_spec(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains('\n') && error.len() < 400, "{error}");
        }
    }

    #[test]
    fn a_path_that_exists_is_a_file() {
        let directory = std::env::temp_dir().join(format!("optiq-net-spec-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("net.toml");
        let spec = path.to_str().unwrap();
        assert_eq!(with_kind(spec), spec);
        assert!(Network::from_spec(spec).is_err());
        std::fs::write(&path, "[grid]\ndims = [2, 3]\n").unwrap();
        assert_eq!(Network::from_spec(spec).unwrap().hosts(), 6);
        assert_eq!(Network::from_spec(spec).unwrap().spec(), format!("file:{spec}"));
        // What has a kind is no path, and a device or directory no file.
        assert!(has_kind("torus:4x4") && has_kind("dragonfly+:3456") && has_kind("file:x") && !has_kind("tours:4x4"));
        assert_eq!(with_kind("/dev/zero"), "/dev/zero");
        assert_eq!(with_kind(directory.to_str().unwrap()), directory.to_str().unwrap());
        std::fs::remove_dir_all(&directory).unwrap();
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC{0,60}") {
            let _ = Network::from_spec(&text);
        }

        #[test]
        fn mutated_specifications_do_not_panic(
            text in mutations(vec![
                "torus:4x4x2,capacity=1.8GB/s,wrap=110,routing=zone0,seed=3",
                "mesh:5x3,routing=longest",
                "bgq:512,capacity=100Mbit/s",
                "star:16",
            ]),
        ) {
            if let Ok(spec) = Spec::parse(&text) {
                let canonical = spec.to_string();
                prop_assert_eq!(Spec::parse(&canonical).unwrap().to_string(), canonical);
                if spec.vertices() <= 2000 {
                    prop_assert_eq!(spec.build().unwrap().vertices(), spec.vertices());
                }
            }
        }
    }
}
