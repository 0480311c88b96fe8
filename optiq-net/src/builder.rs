//! From loose hosts, switches and links to a checked [`Network`].

use crate::error::NetError;
use crate::geometry::{Geometry, Grid};
use crate::ids::{Link, LinkId, NodeId};
use crate::io_list::IoHosts;
use crate::limits::{MAX_HOSTS, MAX_LINKS};
use crate::names::Names;
use crate::network::{Derived, Network};
use crate::routing::Routing;
use crate::routing::shortest::ShortestRows;

/// Collects hosts, switches and links, checks them, and sorts them into a [`Network`].
#[derive(Debug, Default)]
pub struct NetworkBuilder {
    hosts: Vec<String>,
    switches: Vec<String>,
    aliases: Vec<(String, End)>,
    links: Vec<(End, End, u32, f64)>,
    title: String,
}

/// One end of a link while a network is being built: hosts and switches are numbered separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The `n`-th host.
    Host(u32),
    /// The `n`-th switch.
    Switch(u32),
}

impl NetworkBuilder {
    /// An empty network.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the network a name for people.
    pub fn title(&mut self, title: impl Into<String>) {
        self.title = title.into();
    }

    /// Adds a host and returns it.
    pub fn host(&mut self, name: impl Into<String>) -> End {
        self.hosts.push(name.into());
        End::Host(self.hosts.len() as u32 - 1)
    }

    /// Adds a switch and returns it.
    pub fn switch(&mut self, name: impl Into<String>) -> End {
        self.switches.push(name.into());
        End::Switch(self.switches.len() as u32 - 1)
    }

    /// Gives a vertex a further name.
    pub fn alias(&mut self, name: impl Into<String>, of: End) {
        self.aliases.push((name.into(), of));
    }

    /// Adds a directed bundle of `lanes` physical links with `capacity` bytes per second each. Bundles between
    /// the same pair are merged.
    pub fn link(&mut self, from: End, to: End, lanes: u32, capacity: f64) {
        self.links.push((from, to, lanes, capacity));
    }

    /// Adds the same bundle in both directions.
    pub fn duplex(&mut self, a: End, b: End, lanes: u32, capacity: f64) {
        self.link(a, b, lanes, capacity);
        self.link(b, a, lanes, capacity);
    }

    /// Checks what was collected and builds the network.
    ///
    /// # Errors
    /// [`NetError::Invalid`] for no hosts, more than [`MAX_HOSTS`] vertices or [`MAX_LINKS`] links, an empty name, a
    /// name given twice, a link from a vertex to itself, a link with zero lanes or a capacity that is not finite and
    /// positive, and links that are not those of the grid; [`NetError::Routing`] for a routing that does not fit.
    pub fn build(self, spec: impl Into<String>, geometry: Geometry, routing: Routing) -> Result<Network, NetError> {
        let invalid = |what: String| Err(NetError::Invalid(what));
        let hosts = self.hosts.len();
        let vertices = hosts + self.switches.len();
        if hosts == 0 {
            return invalid("a network needs at least one host".into());
        }
        if vertices > MAX_HOSTS || self.links.len() > MAX_LINKS {
            return invalid(format!(
                "{vertices} hosts and switches and {} links; at most {MAX_HOSTS} and {MAX_LINKS} are supported",
                self.links.len()
            ));
        }
        let vertex = |end: End| match end {
            End::Host(i) if (i as usize) < hosts => Ok(NodeId(i)),
            End::Switch(i) if (i as usize) < vertices - hosts => Ok(NodeId(hosts as u32 + i)),
            stranger => Err(NetError::Invalid(format!(
                "{stranger:?} was never added; there are {hosts} hosts and {} switches",
                vertices - hosts
            ))),
        };
        let aliases = self.aliases.into_iter().map(|(name, end)| Ok((name, vertex(end)?)));
        let aliases = aliases.collect::<Result<Vec<_>, NetError>>()?;
        let names = Names::new(self.hosts.into_iter().chain(self.switches).collect(), aliases)?;
        let mut links: Vec<Link> = Vec::with_capacity(self.links.len());
        for (from, to, lanes, capacity) in self.links {
            let (from, to) = (vertex(from)?, vertex(to)?);
            let label = || format!("link {} -> {}", names.of(from), names.of(to));
            if from == to {
                return invalid(format!("{} joins a vertex to itself", label()));
            }
            if lanes == 0 {
                return invalid(format!("{} has 0 lanes; at least 1 is needed", label()));
            }
            if !(capacity.is_finite() && capacity > 0.0) {
                return invalid(format!("{} has capacity {capacity}; bytes per second above zero are needed", label()));
            }
            links.push(Link { from, to, lanes, capacity: capacity * f64::from(lanes) });
        }
        // A stable sort: parallel bundles are summed in the order in which they were given.
        links.sort_by_key(|l| (l.from, l.to));
        links.dedup_by(|next, kept| {
            let same = next.from == kept.from && next.to == kept.to;
            if same {
                kept.lanes = kept.lanes.saturating_add(next.lanes);
                kept.capacity += next.capacity;
            }
            same
        });
        if let Some(l) = links.iter().find(|l| l.lanes == u32::MAX || !l.capacity.is_finite()) {
            return invalid(format!("the parallel links {} -> {} are too many", names.of(l.from), names.of(l.to)));
        }
        if let Geometry::Grid(grid) = &geometry {
            check_grid(grid, &names, hosts, &links)?;
        }
        let (first_out, _) = rows(vertices, links.iter().map(|l| l.from));
        let (first_in, in_links) = rows(vertices, links.iter().map(|l| l.to));
        let network = Network {
            spec: spec.into(),
            title: self.title,
            hosts,
            names,
            ends: links.iter().map(|l| l.to.0).collect(),
            links,
            first_out,
            first_in,
            in_links,
            geometry,
            routing,
            switched: None,
            shortest: ShortestRows::new(vertices),
            unit_capacity: None,
            io: IoHosts::default(),
            derived: Derived::default(),
        };
        network.check_routing(&network.routing)?;
        Ok(network)
    }
}

/// Distances and dimension-ordered routes on a grid are computed from coordinates, so its links must be exactly
/// those of the grid (with any capacities and lanes).
fn check_grid(grid: &Grid, names: &Names, hosts: usize, links: &[Link]) -> Result<(), NetError> {
    let invalid = |what: String| Err(NetError::Invalid(what));
    if grid.nodes() != hosts || names.len() != hosts {
        return invalid(format!(
            "a grid of {} vertices was given {hosts} hosts and {} switches; every vertex of a grid is a host",
            grid.nodes(),
            names.len() - hosts
        ));
    }
    if let Some(l) = links.iter().find(|l| grid.distance(l.from, l.to) != 1) {
        return invalid(format!(
            "link {} -> {} does not join neighbours of the grid",
            names.of(l.from),
            names.of(l.to)
        ));
    }
    // All links join neighbours and none is given twice: if their number is right, none is missing.
    if links.len() != grid.bundles() {
        return invalid(format!("a grid with {} links was given {}", grid.bundles(), links.len()));
    }
    Ok(())
}

/// Compressed rows: `first[v]..first[v + 1]` index into the items of row `v`, in their given order.
fn rows(vertices: usize, of: impl Iterator<Item = NodeId> + Clone) -> (Vec<u32>, Vec<LinkId>) {
    let mut first = vec![0u32; vertices + 1];
    for v in of.clone() {
        first[v.index() + 1] += 1;
    }
    for i in 0..vertices {
        first[i + 1] += first[i];
    }
    let mut next = first.clone();
    let mut items = vec![LinkId(0); first[vertices] as usize];
    for (i, v) in of.enumerate() {
        items[next[v.index()] as usize] = LinkId(i as u32);
        next[v.index()] += 1;
    }
    (first, items)
}
