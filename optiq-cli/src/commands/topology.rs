//! `optiq topology`.

use crate::arguments::specification;
use crate::failure::Failure;
use crate::output::Schema;
use crate::progress::Progress;
use crate::target::Target;
use crate::{names, output, topology_help};
use clap::Args;
use optiq_net::{Geometry, LinkId, Network, NodeId, Routing, Ties, units};
use optiq_view::network::{NetworkPage, Route};
use optiq_view::table;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what a network is made of, and its own routes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq topology bgq:1024
  optiq topology torus:4x4,capacity=100Mbit/s --route h0 '(2,3)'
  optiq topology fattree:k=4 --html network.html
  optiq topology star:8 --neighbours s0 --json")]
pub struct Arguments {
    #[arg(value_name = "SPEC", help = topology_help::SHORT, long_help = topology_help::long())]
    spec: Option<String>,
    /// Show the network's own route from A to B (names, numbers or coordinates)
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    route: Option<Vec<String>>,
    /// Show the links that leave A
    #[arg(long, value_name = "A")]
    neighbours: Option<String>,
    /// Write a page with a picture of the network, its links by kind, and how far hosts are; - is standard output
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct TopologyDocument {
    topology: String,
    title: String,
    hosts: usize,
    switches: usize,
    /// Directed physical links.
    links: usize,
    /// Pairs of neighbours in one direction; a bundle of parallel links is one.
    link_bundles: usize,
    link_capacity_min_bytes_per_second: f64,
    link_capacity_max_bytes_per_second: f64,
    total_capacity_bytes_per_second: f64,
    diameter: u32,
    geometry: GeometryDocument,
    routing: String,
    destination_based: bool,
    network_fingerprint: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    io_hosts: Vec<IoDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<RouteDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    neighbours: Option<Vec<LinkDocument>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
}

#[derive(Serialize)]
struct IoDocument {
    host: String,
    /// Of its link to the storage; none if unknown.
    storage_capacity_bytes_per_second: Option<f64>,
    /// Hosts whose default it is; not counted on networks where that would take long.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_of: Option<usize>,
}

#[derive(Serialize)]
struct GeometryDocument {
    kind: &'static str,
    lengths: Vec<u32>,
    wrap: Vec<bool>,
}

#[derive(Serialize)]
struct RouteDocument {
    from: String,
    to: String,
    hops: usize,
    distance: u32,
    nodes: Vec<String>,
    #[serde(skip)]
    links: Vec<LinkId>,
}

#[derive(Serialize)]
struct LinkDocument {
    from: String,
    to: String,
    lanes: u32,
    capacity_bytes_per_second: f64,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let html = self.html.as_deref().map(Target::new).transpose()?;
        let spec = specification(self.spec.as_deref(), "SPEC")?;
        let progress = Progress::start(format!("reading {spec}"));
        let net = Network::from_spec(&spec)?;
        net.warnings().iter().for_each(|warning| log::warn!("{warning}"));
        let route = self.route.as_deref().map(|ends| route(&net, ends)).transpose()?;
        let neighbours = self.neighbours.as_deref().map(|v| net.resolve(v)).transpose()?;
        progress.now("measuring distances");
        let mut document = TopologyDocument::new(&net, route, neighbours);
        if let Some(target) = &html {
            progress.now("drawing the picture");
            target.write(|out| out.write_all(document.page(&net).as_bytes()))?;
            document.html = Some(target.path().display().to_string());
        }
        drop(progress);
        if self.json {
            output::print_json(Schema::Topology, &document)?;
        } else {
            output::print(&document.text(&net))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn route(net: &Network, ends: &[String]) -> Result<RouteDocument, Failure> {
    let [from, to] = ends else { return Err(Failure::Input("--route takes two vertices".into())) };
    let (from, to) = (net.resolve(from)?, net.resolve(to)?);
    let mut links = Vec::new();
    net.route(from, to, &mut links)?;
    let nodes = std::iter::once(from).chain(links.iter().map(|&l| net.link(l).to));
    Ok(RouteDocument {
        from: net.name(from).to_owned(),
        to: net.name(to).to_owned(),
        hops: links.len(),
        distance: net.distance(from, to),
        nodes: nodes.map(|v| net.name(v).to_owned()).collect(),
        links,
    })
}

/// Pairs of hosts and I/O hosts whose distances are looked at.
const MAX_COUNTED: usize = 1 << 22;

fn io_hosts(net: &Network) -> Vec<IoDocument> {
    let mut default_of = vec![0; net.hosts()];
    let counted = net.hosts().saturating_mul(net.io_hosts().len()) <= MAX_COUNTED;
    if counted && !net.io_hosts().is_empty() {
        let defaults = (0..net.hosts() as u32).filter_map(|h| net.default_io_host(NodeId(h)));
        defaults.for_each(|io| default_of[io.index()] += 1);
    }
    let document = |io: &optiq_net::IoHost| IoDocument {
        host: net.name(io.host).to_owned(),
        storage_capacity_bytes_per_second: io.storage,
        default_of: counted.then(|| default_of[io.host.index()]),
    };
    net.io_hosts().iter().map(document).collect()
}

fn link(net: &Network, id: LinkId) -> LinkDocument {
    let l = net.link(id);
    LinkDocument {
        from: net.name(l.from).to_owned(),
        to: net.name(l.to).to_owned(),
        lanes: l.lanes,
        capacity_bytes_per_second: l.capacity,
    }
}

impl TopologyDocument {
    fn new(net: &Network, route: Option<RouteDocument>, neighbours: Option<NodeId>) -> Self {
        let geometry = match net.geometry() {
            Geometry::Grid(grid) => {
                GeometryDocument { kind: "grid", lengths: grid.dims().to_vec(), wrap: grid.wrap().to_vec() }
            }
            Geometry::General => GeometryDocument { kind: "general", lengths: Vec::new(), wrap: Vec::new() },
        };
        let per_lane = || net.links().iter().map(|l| l.capacity / f64::from(l.lanes));
        let none = net.links().is_empty();
        TopologyDocument {
            topology: net.spec().to_owned(),
            title: net.title().to_owned(),
            hosts: net.hosts(),
            switches: net.vertices() - net.hosts(),
            links: net.physical_links(),
            link_bundles: net.links().len(),
            link_capacity_min_bytes_per_second: if none { 0.0 } else { net.unit_capacity() },
            link_capacity_max_bytes_per_second: per_lane().fold(0.0, f64::max),
            total_capacity_bytes_per_second: net.links().iter().map(|l| l.capacity).sum(),
            diameter: net.diameter(),
            geometry,
            routing: routing(net.routing()),
            destination_based: net.routing().is_destination_based(),
            network_fingerprint: net.fingerprint().to_string(),
            io_hosts: io_hosts(net),
            route,
            neighbours: neighbours.map(|v| net.out_links(v).map(|l| link(net, l)).collect()),
            html: None,
        }
    }

    /// What there is to know, each with its name.
    fn facts(&self) -> Vec<Vec<String>> {
        let rate = |r: f64| if r > 0.0 { units::format_rate(r) } else { "none".into() };
        let (min, max) = (self.link_capacity_min_bytes_per_second, self.link_capacity_max_bytes_per_second);
        let capacity = if min == max { rate(min) } else { format!("{} to {}", rate(min), rate(max)) };
        let bundles = match self.links == self.link_bundles {
            true => String::new(),
            false => format!(" ({} pairs of neighbours, some joined by several)", self.link_bundles),
        };
        let mut rows = vec![("topology", self.topology.clone())];
        if self.title != self.topology {
            rows.push(("title", self.title.clone()));
        }
        rows.extend([
            ("hosts", self.hosts.to_string()),
            ("switches", self.switches.to_string()),
            ("links", format!("{} one way{bundles}", self.links)),
            ("capacity of a link", capacity),
            ("capacity of all", format!("{:.4} GB/s", self.total_capacity_bytes_per_second / 1e9)),
            ("diameter", table::count(self.diameter as usize, "hop")),
            ("geometry", self.geometry.text()),
            ("routing", self.routing.clone()),
            ("fingerprint", self.network_fingerprint.clone()),
        ]);
        if !self.io_hosts.is_empty() {
            rows.push(("I/O hosts", self.io_text()));
        }
        rows.into_iter().map(|(k, v)| vec![k.to_owned(), v]).collect()
    }

    fn page(&self, net: &Network) -> String {
        let route = self.route.as_ref().map(|route| Route {
            words: format!("{}: {}", route.words(), route.nodes.join(" ")),
            links: route.links.clone(),
        });
        NetworkPage { net, facts: &self.facts(), diameter: self.diameter, route }.page()
    }

    fn text(&self, net: &Network) -> String {
        let mut text = table::list(&self.facts());
        if let Some(route) = &self.route {
            text.push_str(&format!("\n{}\n  {}\n", route.words(), route.nodes.join(" ")));
        }
        if let Some(links) = &self.neighbours {
            let named = |l: &LinkDocument| {
                let to = net.resolve(&l.to).map_or_else(|_| l.to.clone(), |v| names::with_coordinates(net, v));
                let lanes = table::count(l.lanes as usize, "link");
                vec![format!("  {}", l.from), to, lanes, units::format_rate(l.capacity_bytes_per_second)]
            };
            text.push_str("\nneighbours\n");
            text.push_str(&table::list(&links.iter().map(named).collect::<Vec<_>>()));
        }
        if let Some(file) = &self.html {
            text.push_str(&format!("\nwritten: {file}\n"));
        }
        text
    }
}

impl RouteDocument {
    fn words(&self) -> String {
        let hops = table::count(self.hops, "hop");
        format!("route from {} to {}, {hops} (distance {})", self.from, self.to, self.distance)
    }
}

impl TopologyDocument {
    /// The I/O hosts in one line: the first few by name, and what they have in common.
    fn io_text(&self) -> String {
        const SHOWN: usize = 8;
        let named = |io: &IoDocument| match io.default_of {
            Some(n) => format!("{} (default of {n})", io.host),
            None => io.host.clone(),
        };
        let mut text = self.io_hosts.iter().take(SHOWN).map(named).collect::<Vec<_>>().join(", ");
        if self.io_hosts.len() > SHOWN {
            text = format!("{}: {text}, ...", self.io_hosts.len());
        }
        let rates: Vec<Option<f64>> = self.io_hosts.iter().map(|io| io.storage_capacity_bytes_per_second).collect();
        let storage = match rates.first().copied().flatten() {
            Some(rate) if rates.iter().all(|&r| r == Some(rate)) => format!("{} each", units::format_rate(rate)),
            None if rates.iter().all(Option::is_none) => "unknown".into(),
            _ => rates.iter().map(|r| r.map_or("unknown".into(), units::format_rate)).collect::<Vec<_>>().join(", "),
        };
        format!("{text}; to the storage {storage}")
    }
}

impl GeometryDocument {
    fn text(&self) -> String {
        if self.lengths.is_empty() {
            return "any graph".into();
        }
        let lengths: Vec<String> = self.lengths.iter().map(u32::to_string).collect();
        let wraps = match self.wrap.iter().filter(|&&w| w).count() {
            0 => "no dimension wraps".to_owned(),
            n if n == self.wrap.len() => "every dimension wraps".to_owned(),
            _ => {
                let letters = (b'A'..).zip(&self.wrap).filter(|(_, w)| **w).map(|(c, _)| char::from(c).to_string());
                format!("of the dimensions A, B, ... these wrap: {}", letters.collect::<Vec<_>>().join(", "))
            }
        };
        format!("grid {}, {wraps}", lengths.join("x"))
    }
}

/// A routing in words; dimensions are called A, B, C, ... in the order of the specification.
pub fn routing(routing: &Routing) -> String {
    match routing {
        Routing::Shortest => "shortest paths, the lowest-numbered link first".into(),
        Routing::EqualCost(rule) => rule.describe(),
        Routing::DimensionOrder(order) => {
            let letters: Vec<String> = order.order().iter().map(|&d| char::from(b'A' + d).to_string()).collect();
            let ties = match order.ties() {
                Ties::Positive => "upwards",
                Ties::SumParity => "by the parity of the source's coordinate sum",
                Ties::OwnParity => "by the parity of the source's coordinate",
                Ties::FirstSumThenOwn => {
                    "by the parity of the source's coordinate sum in the first dimension, of its coordinate in the others"
                }
            };
            format!("dimension by dimension, {}; ties {ties}", letters.join(" "))
        }
        Routing::Zone(zone) if zone.is_random() => format!("Blue Gene/Q zone {}, seed {}", zone.id(), zone.seed()),
        Routing::Zone(zone) => format!("Blue Gene/Q zone {}", zone.id()),
        Routing::MinimalAdaptive => "minimal adaptive: any direction that leads closer, packet by packet".into(),
        Routing::Table(t) => t.describe().into(),
    }
}
