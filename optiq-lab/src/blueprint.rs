//! From a network to namespaces, cables and routes: what is to be made, before anything is made.
//!
//! * Every host of the network is a namespace with one fabric interface, `fab0`, whose address is in 198.18.0.0/16,
//!   and one management interface, `mgmt`, in 198.19.0.0/16. 198.18.0.0/15 is reserved for benchmarking networks
//!   (RFC 2544); nothing of it leaves the namespaces.
//! * Every switch is a namespace that forwards. So is the *router* of every host that has network links to more than
//!   one neighbour or to another host: on a direct network (torus, mesh) the host's own network interface forwards
//!   the traffic of others, and does so without the host. An unshaped cable joins the host (`fab0`) and its router
//!   (`host0`), so that a host can feed all its links at once.
//! * Every network link is one end of a veth pair between two such namespaces: link `i` leaves the namespace of its
//!   `from` through the device `l<i>` (or `fab0`, for a host whose only neighbour is a switch), and the queue of
//!   that device is the link: its rate can be changed, or the link cut, there and nowhere else. A link without a link
//!   in the other direction has a far end called `x<i>`, through which nothing is sent.
//! * Each forwarding namespace holds one route per host: the next link of the fabric's own route. Where that depends on
//!   the source as well, sources have rules and tables of their own ([`crate::tables`]).

use crate::error::LabError;
use crate::link::LabLink;
use crate::profile::Profile;
use crate::rate::Rate;
use crate::speeds::{self, LinkRate};
use crate::tables::Tables;
use crate::tuning::Tuning;
use optiq_net::{LinkId, Network, NodeId};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// The most namespaces of one lab: each is an open file of the holder, and common limits allow it 1,024.
pub const MAX_NAMESPACES: usize = 900;

/// The network of the management interfaces, as `mpirun` wants it.
pub(crate) const MANAGEMENT_NET: &str = "198.19.0.0/16";
/// The interface of a host that leads to the fabric.
pub(crate) const FABRIC_DEVICE: &str = "fab0";
/// The far end of it, in a host's router.
pub(crate) const HOST_DEVICE: &str = "host0";
/// The management namespace's own address.
pub(crate) const MANAGEMENT_HUB: Ipv4Addr = Ipv4Addr::new(198, 19, 255, 254);

/// What a namespace is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Where `mpirun` starts; holds the bridge of the management network.
    Management,
    /// Where the ranks of one host run.
    Host,
    /// Forwards: a switch, or the network interface of a host on a direct network.
    Router,
}

/// One network namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    /// What it is for.
    pub role: Role,
    /// The vertex of the network that it stands for; none for the management namespace.
    pub vertex: Option<u32>,
}

/// One host of the lab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name: the network's name of the vertex, and the host name that its processes see.
    pub name: String,
    /// Index of its namespace.
    pub namespace: usize,
    /// Address of `fab0`.
    pub fabric: Ipv4Addr,
    /// Address of `mgmt`.
    pub management: Ipv4Addr,
}

/// A pair of hosts between which the lab is calibrated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Index of the sending host.
    pub from: usize,
    /// Index of the receiving host.
    pub to: usize,
    /// The links between them, in order.
    pub links: Vec<usize>,
}

/// What a lab is made of. Serialised into the state file; indices into `namespaces` are also those of the holder's
/// files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Blueprint {
    /// The topology as a program inside the lab should see it, with the lab's capacities (`OPTIQ_TOPOLOGY`).
    pub topology: String,
    /// Management first, then the hosts in order, then the routers in the order of their vertices.
    pub namespaces: Vec<Namespace>,
    /// The hosts in order.
    pub hosts: Vec<Host>,
    /// The network's links in order.
    pub links: Vec<LabLink>,
    /// Pairs to calibrate on: a shortest and a longest route.
    pub probes: Vec<Probe>,
    /// What kind of network this is.
    pub profile: Profile,
    /// Kernel settings.
    pub tuning: Tuning,
    /// Index of the host whose processes run half of the time; none if all run all of the time.
    pub slow_host: Option<usize>,
    /// File of [background load](optiq_net::Background) that tells programs in the lab what the links do not have of the
    /// topology's capacities (`OPTIQ_BACKGROUND`); none if they have them all.
    #[serde(default)]
    pub background: Option<PathBuf>,
}

/// A veth pair: both ends, as (namespace, device).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cable {
    pub ends: [(usize, String); 2],
}

/// What is needed to make the lab and not afterwards.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wiring {
    pub cables: Vec<Cable>,
    /// `routes[n]` are the routes of namespace `n`: (index of the destination host, device).
    pub routes: Vec<Vec<(usize, String)>>,
    /// `rules[n]` are the routes of namespace `n` for single sources: (source host, destination host, device), by
    /// source.
    pub rules: Vec<Vec<(usize, usize, String)>>,
    /// The text of [`Blueprint::background`].
    pub background: Option<String>,
}

impl Blueprint {
    /// Lays out the lab of `network`, with a profile's settings for its slowest link unless others are given. Links have
    /// the network's capacities, or `rates` of their own; a bundle of lanes is one link.
    ///
    /// # Errors
    /// [`LabError::Topology`] if there are too many vertices, a host's name is no host name, or kernels cannot be told
    /// the routing; [`LabError::Argument`] if a link's speed is out of range, no link has one of `rates`, or there are
    /// settings for another profile than the default one.
    pub(crate) fn new(
        network: &Network,
        profile: Profile,
        tuning: Option<Tuning>,
        rates: &[LinkRate],
    ) -> Result<(Self, Wiring), LabError> {
        if tuning.is_some() && profile != Profile::default() {
            return Err(LabError::Argument(format!(
                "the profile {profile} was asked for together with kernel settings; one of the two is expected"
            )));
        }
        let hosts = network.hosts();
        let routers: Vec<NodeId> =
            (0..network.vertices() as u32).map(NodeId).filter(|&v| needs_router(network, v)).collect();
        let count = 1 + hosts + routers.len();
        if count > MAX_NAMESPACES {
            return Err(LabError::Topology(format!(
                "{} needs {count} network namespaces, {hosts} hosts and {} routers; the lab makes at most \
                 {MAX_NAMESPACES}",
                network.spec(),
                routers.len()
            )));
        }
        let mut namespaces = vec![Namespace { role: Role::Management, vertex: None }];
        namespaces.extend((0..hosts as u32).map(|v| Namespace { role: Role::Host, vertex: Some(v) }));
        namespaces.extend(routers.iter().map(|v| Namespace { role: Role::Router, vertex: Some(v.0) }));
        // The namespace in which a vertex's network links end: its router's if it has one.
        let mut edge: Vec<usize> = (0..network.vertices()).map(|v| 1 + v).collect();
        for (i, v) in routers.iter().enumerate() {
            edge[v.index()] = 1 + hosts + i;
        }

        let mut lab_hosts = Vec::with_capacity(hosts);
        for (i, v) in (0..hosts as u32).map(NodeId).enumerate() {
            let name = network.name(v);
            check_host_name(name)?;
            lab_hosts.push(Host {
                name: name.into(),
                namespace: 1 + i,
                fabric: fabric_address(i),
                management: management_address(i),
            });
        }
        let device = |id: LinkId| {
            let from = network.link(id).from;
            if needs_router(network, from) { format!("l{}", id.0) } else { FABRIC_DEVICE.to_string() }
        };
        let mut links = Vec::with_capacity(network.links().len());
        for (i, link) in network.links().iter().enumerate() {
            links.push(LabLink {
                from: network.name(link.from).into(),
                to: network.name(link.to).into(),
                namespace: edge[link.from.index()],
                device: device(LinkId(i as u32)),
                rate: Rate::from_bits(link.capacity * 8.0)?,
                cut: false,
            });
        }
        let background = speeds::apply(network, rates, &mut links)?;
        let slowest = links.iter().map(|l: &LabLink| l.rate).min().unwrap_or(Rate::MIN);
        let tuning = tuning.unwrap_or_else(|| Tuning::new(profile, slowest));
        let tables = Tables::new(network)?;
        let wiring = Wiring {
            cables: cables(network, &routers, &edge, &links),
            routes: routes(&namespaces, &edge, &tables.next, &links),
            rules: rules(&namespaces, &edge, &tables.deviations, &links),
            background,
        };
        let probes = probes(network)?;
        // As a program finds it from any directory.
        let topology = network.absolute_spec();
        let slow_host = (profile == Profile::SlowHost).then(|| hosts.saturating_sub(1));
        let blueprint = Blueprint {
            topology,
            namespaces,
            hosts: lab_hosts,
            links,
            probes,
            profile,
            tuning,
            slow_host,
            background: None,
        };
        Ok((blueprint, wiring))
    }

    /// The index of the host called `name`.
    ///
    /// # Errors
    /// [`LabError::Argument`] if there is none.
    pub fn host(&self, name: &str) -> Result<usize, LabError> {
        self.hosts.iter().position(|h| h.name == name).ok_or_else(|| {
            let (first, last) = match (self.hosts.first(), self.hosts.last()) {
                (Some(a), Some(b)) => (a.name.as_str(), b.name.as_str()),
                _ => ("", ""),
            };
            LabError::Argument(format!("the lab has no host \"{name}\"; its hosts are {first} to {last}"))
        })
    }

    /// Whether the processes in a namespace run half of the time only.
    pub(crate) fn is_slow(&self, namespace: usize) -> bool {
        self.slow_host.is_some_and(|host| self.hosts[host].namespace == namespace)
    }

    /// The index of the link from the vertex called `from` to the one called `to`.
    ///
    /// # Errors
    /// [`LabError::Argument`] if there is none.
    pub fn link(&self, from: &str, to: &str) -> Result<usize, LabError> {
        find_link(&self.links, from, to)
    }
}

/// The index of the link from the vertex called `from` to the one called `to`.
pub(crate) fn find_link(links: &[LabLink], from: &str, to: &str) -> Result<usize, LabError> {
    links.iter().position(|l| l.from == from && l.to == to).ok_or_else(|| {
        LabError::Argument(format!("the lab has no link from \"{from}\" to \"{to}\"; two neighbours are expected"))
    })
}

/// The network of the specification `spec`, with `rate` for its unit links.
///
/// # Errors
/// [`LabError::Topology`] if the specification cannot be read or is a file, which says the capacities itself.
pub fn network_at(spec: &str, rate: Rate) -> Result<Network, LabError> {
    let spec = spec.trim();
    if spec.starts_with("file:") {
        return Err(LabError::Topology(format!(
            "the links of {spec} have the capacities that the file gives; write {rate} there instead of asking for it"
        )));
    }
    let mut parts: Vec<&str> = spec.split(',').filter(|part| !is_capacity(part)).collect();
    let capacity = format!("capacity={}bit/s", rate.bits());
    parts.push(&capacity);
    Ok(Network::from_spec(&parts.join(","))?)
}

fn is_capacity(part: &str) -> bool {
    part.trim_start().starts_with("capacity=")
}

/// The network of the specification `spec` as it says itself, if it gives its links a capacity or is a file; with `rate` otherwise.
///
/// # Errors
/// [`LabError::Topology`] if the specification cannot be read.
pub fn network_as_given(spec: &str, rate: Rate) -> Result<Network, LabError> {
    if spec.trim().starts_with("file:") || spec.split(',').any(is_capacity) {
        Ok(Network::from_spec(spec.trim())?)
    } else {
        network_at(spec, rate)
    }
}

/// A switch always forwards; a host does unless its only neighbour is a switch.
fn needs_router(network: &Network, v: NodeId) -> bool {
    if !network.is_host(v) {
        return true;
    }
    let mut neighbours: Vec<NodeId> = network.out_links(v).map(|l| network.link(l).to).collect();
    neighbours.extend(network.in_links(v).iter().map(|&l| network.link(l).from));
    neighbours.sort_unstable();
    neighbours.dedup();
    neighbours.len() != 1 || network.is_host(neighbours[0])
}

fn check_host_name(name: &str) -> Result<(), LabError> {
    let fits = !name.is_empty()
        && name.len() <= 63
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.')
        && !name.starts_with(['-', '.']);
    if fits {
        Ok(())
    } else {
        Err(LabError::Topology(format!(
            "the host \"{name}\" cannot be a host name in the lab; at most 63 letters, digits, '-' and '.' are expected"
        )))
    }
}

/// `fab0` of the `i`-th host: 198.18.0.1 upwards. [`MAX_NAMESPACES`] keeps it below the routers' half.
fn fabric_address(i: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(198, 18, 0, 1).to_bits() + i as u32)
}

/// `mgmt` of the `i`-th host: 198.19.0.1 upwards.
fn management_address(i: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(198, 19, 0, 1).to_bits() + i as u32)
}

/// The address from which the router of a vertex reports errors (seen by `traceroute`): 198.18.128.0 upwards.
pub(crate) fn router_address(vertex: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(198, 18, 128, 0).to_bits() + vertex)
}

/// Hosts' cables first, then one cable for each pair of neighbours.
fn cables(network: &Network, routers: &[NodeId], edge: &[usize], links: &[LabLink]) -> Vec<Cable> {
    let mut cables = Vec::new();
    for &v in routers.iter().filter(|&&v| network.is_host(v)) {
        let host = (1 + v.index(), FABRIC_DEVICE.to_string());
        cables.push(Cable { ends: [host, (edge[v.index()], HOST_DEVICE.to_string())] });
    }
    for (i, link) in network.links().iter().enumerate() {
        let near = (links[i].namespace, links[i].device.clone());
        match network.link_between(link.to, link.from) {
            Some(back) if link.from < link.to => {
                let back = &links[back.index()];
                cables.push(Cable { ends: [near, (back.namespace, back.device.clone())] });
            }
            Some(_) => {}
            None => cables.push(Cable { ends: [near, (edge[link.to.index()], format!("x{i}"))] }),
        }
    }
    cables
}

/// The routes of each namespace; hosts need none, all of 198.18.0.0/16 being beyond `fab0`.
fn routes(
    namespaces: &[Namespace],
    edge: &[usize],
    table: &[Vec<Option<LinkId>>],
    links: &[LabLink],
) -> Vec<Vec<(usize, String)>> {
    let mut routes = vec![Vec::new(); namespaces.len()];
    for (v, row) in table.iter().enumerate() {
        let at = edge[v];
        if namespaces[at].role != Role::Router {
            continue;
        }
        for (d, next) in row.iter().enumerate() {
            if v == d {
                routes[at].push((d, HOST_DEVICE.to_string()));
            } else if let Some(id) = next {
                routes[at].push((d, links[id.index()].device.clone()));
            }
        }
    }
    routes
}

/// The routes of single sources.
fn rules(
    namespaces: &[Namespace],
    edge: &[usize],
    deviations: &[Vec<(usize, usize, LinkId)>],
    links: &[LabLink],
) -> Vec<Vec<(usize, usize, String)>> {
    let mut rules = vec![Vec::new(); namespaces.len()];
    for (v, deviating) in deviations.iter().enumerate() {
        // A host without a router has one link, and nothing to choose.
        rules[edge[v]].extend(deviating.iter().map(|&(s, d, id)| (s, d, links[id.index()].device.clone())));
    }
    rules
}

/// The first pair of hosts with a shortest and the first with a longest route, over distinct links.
fn probes(network: &Network) -> Result<Vec<Probe>, LabError> {
    let mut best: [Option<Probe>; 2] = [None, None];
    let mut route = Vec::new();
    for from in 0..network.hosts() {
        for to in (0..network.hosts()).filter(|&to| to != from) {
            route.clear();
            network.route(NodeId(from as u32), NodeId(to as u32), &mut route)?;
            let links: Vec<usize> = route.iter().map(|l| l.index()).collect();
            let longer = |p: &Probe| links.len() > p.links.len();
            let shorter = |p: &Probe| links.len() < p.links.len();
            let better = [best[0].as_ref().is_none_or(shorter), best[1].as_ref().is_none_or(longer)];
            for (slot, _) in best.iter_mut().zip(better).filter(|(_, better)| *better) {
                *slot = Some(Probe { from, to, links: links.clone() });
            }
        }
    }
    let mut probes: Vec<Probe> = best.into_iter().flatten().collect();
    probes.dedup();
    Ok(probes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use optiq_net::{Geometry, NetworkBuilder, Routing};

    fn blueprint(spec: &str) -> Result<(Blueprint, Wiring), LabError> {
        Blueprint::new(&network_at(spec, "100mbit".parse().unwrap()).unwrap(), Profile::Tuned, None, &[])
    }

    #[test]
    fn addresses_are_distinct_and_reserved() {
        let (blueprint, _) = blueprint("torus:16x16").unwrap();
        assert_eq!(blueprint.hosts[0].fabric, Ipv4Addr::new(198, 18, 0, 1));
        assert_eq!(blueprint.hosts[255].fabric, Ipv4Addr::new(198, 18, 1, 0));
        assert_eq!(blueprint.hosts[255].management, Ipv4Addr::new(198, 19, 1, 0));
        let routers = (0..MAX_NAMESPACES as u32).map(router_address);
        let hosts = blueprint.hosts.iter().flat_map(|h| [h.fabric, h.management]);
        let mut all: Vec<Ipv4Addr> = hosts.chain(routers).chain([MANAGEMENT_HUB]).collect();
        assert!(all.iter().all(|a| a.octets()[0] == 198 && a.octets()[1] & 0xfe == 18));
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
        // The last host that could be is still below the routers.
        assert!(fabric_address(MAX_NAMESPACES) < router_address(0));
    }

    /// Walking the kernel's tables from host to host takes the links that the network says.
    #[test]
    fn walking_the_routes_reproduces_the_network() {
        for spec in [
            "torus:4x4",
            "mesh:3x2",
            "torus:2x3x2",
            "torus:2x2x2x2",
            "torus:3x2x1x2x2",
            "torus:3x3,routing=longest",
            "torus:2x2x2x2x2",
            "torus:4x4,routing=zone1",
            "torus:4x4,routing=zone2",
            "star:5",
            "fattree:k=4",
            "fattree:k=4,routing=smodk",
            "fattree:4x2:1x2:1x2",
            "fattree:2x2:1x2,rails=2",
            "fattree:k=4,routing=shortest",
            "dragonfly:p=1,a=2,h=1",
            "dragonfly:p=2,a=4,h=2,g=3",
            "dragonfly+:p=2,l=2,s=2,h=1,g=3",
            "dragonfly+:p=1,l=2,s=2,h=2,g=3,routing=shortest",
        ] {
            let network = network_at(spec, "100mbit".parse().unwrap()).unwrap();
            let (blueprint, wiring) = Blueprint::new(&network, Profile::Tuned, None, &[]).unwrap();
            let far_end = |at: &(usize, String)| {
                let cable = wiring.cables.iter().find(|c| c.ends.contains(at)).unwrap();
                if cable.ends[0] == *at { cable.ends[1].clone() } else { cable.ends[0].clone() }
            };
            for (s, from) in blueprint.hosts.iter().enumerate() {
                for (d, to) in blueprint.hosts.iter().enumerate().filter(|(d, _)| *d != s) {
                    let mut walked = Vec::new();
                    let mut out = (from.namespace, FABRIC_DEVICE.to_string());
                    loop {
                        let link = |l: &LabLink| (l.namespace, l.device.clone()) == out;
                        walked.extend(blueprint.links.iter().position(link).map(|i| LinkId(i as u32)));
                        let (at, _) = far_end(&out);
                        if at == to.namespace {
                            break;
                        }
                        let rule = wiring.rules[at].iter().find(|(source, host, _)| (*source, *host) == (s, d));
                        let route = || wiring.routes[at].iter().find(|(host, _)| *host == d).unwrap();
                        out = (at, rule.map_or_else(|| route().1.clone(), |(_, _, device)| device.clone()));
                    }
                    let mut route = Vec::new();
                    network.route(NodeId(s as u32), NodeId(d as u32), &mut route).unwrap();
                    assert_eq!(walked, route, "{spec}: h{s} to h{d}");
                }
            }
        }
    }

    #[test]
    fn refuses_what_is_too_large_or_has_no_host_names() {
        assert!(matches!(blueprint("torus:22x22"), Err(LabError::Topology(_))));
        let mut builder = NetworkBuilder::new();
        let (a, b) = (builder.host("a b"), builder.host("c"));
        builder.duplex(a, b, 1, 1e6);
        let network = builder.build("x", Geometry::General, Routing::Shortest).unwrap();
        let error = Blueprint::new(&network, Profile::Tuned, None, &[]).unwrap_err().to_string();
        assert!(error.contains("\"a b\""), "{error}");
    }

    #[test]
    fn probes_are_the_shortest_and_the_longest_route() {
        let (blueprint, _) = blueprint("torus:4x4").unwrap();
        let hops: Vec<usize> = blueprint.probes.iter().map(|p| p.links.len()).collect();
        assert_eq!(hops, [1, 4]);
        let (star, _) = self::blueprint("star:3").unwrap();
        assert_eq!(star.probes.len(), 1);
        assert_eq!(star.probes[0].links, [0, 4]);
    }

    #[test]
    fn rates_follow_the_network() {
        let mut builder = NetworkBuilder::new();
        let (a, b) = (builder.host("a"), builder.host("b"));
        builder.duplex(a, b, 3, 12.5e6);
        let network = builder.build("x", Geometry::General, Routing::Shortest).unwrap();
        let (blueprint, _) = Blueprint::new(&network, Profile::Tuned, None, &[]).unwrap();
        assert_eq!(blueprint.links[0].rate.to_string(), "300 Mbit/s");
        let replaced = network_at("torus:4x4,capacity=3GB/s,routing=longest", "50mbit".parse().unwrap()).unwrap();
        assert_eq!(replaced.unit_capacity(), 6.25e6);
        assert!(network_at("file:net.toml", Rate::MAX).unwrap_err().to_string().contains("the file"));
        let given = |spec| network_as_given(spec, "50mbit".parse().unwrap()).unwrap().unit_capacity();
        assert_eq!(given("torus:4x4,capacity=2.5MB/s,routing=longest"), 2.5e6);
        assert_eq!(given("torus:4x4,routing=longest"), 6.25e6);
    }

    #[test]
    fn names_what_is_not_there() {
        let (blueprint, _) = blueprint("star:3").unwrap();
        assert_eq!(blueprint.host("h2").unwrap(), 2);
        let error = blueprint.host("h3").unwrap_err().to_string();
        assert_eq!(error, "the lab has no host \"h3\"; its hosts are h0 to h2");
        assert!(blueprint.link("h0", "h1").is_err());
        assert_eq!(blueprint.link("s0", "h1").unwrap(), 4);
    }
}
