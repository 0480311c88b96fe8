//! What a plan looks like in numbers: the columns of thesis table VII, and ours.

use crate::plan::classes::ClassFigures;
use crate::plan::{self, Plan};
use crate::striping::striped_load;
use crate::verdict::Gain;
use optiq_net::{LinkId, LinkLoad, NetError, Network, NodeId};
use serde::Serialize;

/// Figures of a plan on its network. A *physical link* is one lane of a bundle; means over links are over those
/// physical links that carry something. Bytes per link are *per unit link*: on a link with `c` times the capacity of
/// the network's slowest physical link, this number of bytes divided by `c`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The planner.
    pub planner: String,
    /// Hosts.
    pub hosts: usize,
    /// Directed physical links.
    pub links: usize,
    /// Demands.
    pub demand_count: usize,
    /// Flows: (demand, path) pairs with bytes.
    pub paths: usize,
    /// Most flows of one demand.
    pub paths_per_demand_max: usize,
    /// Flows of a demand, mean over all demands.
    pub paths_per_demand_mean: f64,
    /// Most flows on one physical link; those on a bundle spread evenly over its links.
    pub paths_per_link_max: u64,
    /// Flows on a physical link, mean.
    pub paths_per_link_mean: f64,
    /// Most bytes on a unit link: congestion times unit capacity.
    pub bytes_per_link_max: f64,
    /// Bytes on a unit link, mean.
    pub bytes_per_link_mean: f64,
    /// Hosts that forward something.
    pub forwarders: usize,
    /// Bytes that are forwarded, counted at every forwarder they pass; at most 2^64 - 1.
    pub forwarded_bytes: u64,
    /// Bytes that a host sends by another of its links (rails) than the fabric's own route would, where software chooses
    /// that ([`Network::has_rails`]); at most 2^64 - 1.
    pub further_rails_bytes: u64,
    /// Most links on a path.
    pub hops_max: usize,
    /// Links that a byte takes, mean over all bytes.
    pub hops_mean: f64,
    /// See [`Plan::congestion_seconds`].
    pub congestion_seconds: f64,
    /// See [`Plan::direct_congestion_seconds`].
    pub direct_congestion_seconds: f64,
    /// The congestion of the fabric's own routes with every message striped over the rails of its source, as MPI libraries
    /// send large ones; `None` where no source has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub striped_congestion_seconds: Option<f64>,
    /// Direct congestion over congestion: how many times better than the fabric's own routes; 1 if there is nothing
    /// to move.
    pub improvement: f64,
    /// See [`Plan::bound_seconds`].
    pub bound_seconds: f64,
    /// See [`Plan::gap`].
    pub gap: f64,
    /// See [`Plan::binding`].
    pub binding: String,
    /// Per class of urgency, the most urgent first.
    pub classes: Vec<ClassFigures>,
    /// Bytes and flows on every link under the plan. Left out when serialised.
    #[serde(skip)]
    pub load: LinkLoad,
    /// Bytes and routes on every link under the fabric's own routes. Left out when serialised.
    #[serde(skip)]
    pub direct_load: LinkLoad,
    /// The same for `striped_congestion_seconds`. Left out when serialised.
    #[serde(skip)]
    pub striped_load: Option<LinkLoad>,
    /// What makes the plan better than the fabric's own routes. Left out when serialised.
    #[serde(skip)]
    pub gain: Gain,
}

impl Report {
    /// The figures of `plan`, which was made for `net`.
    ///
    /// # Errors
    /// [`NetError`] if it was not.
    pub fn new(plan: &Plan, net: &Network) -> Result<Self, NetError> {
        Self::with_loads(plan, net, plan.link_load(net)?, plan::direct_load(net, &plan.demands)?)
    }

    /// [`Report::new`] where the load of the flows and of the fabric's own routes is known.
    pub(crate) fn with_loads(
        plan: &Plan,
        net: &Network,
        load: LinkLoad,
        direct_load: LinkLoad,
    ) -> Result<Self, NetError> {
        let flows = || plan.flows.iter().flatten();
        let paths = flows().count();
        let unit = net.unit_capacity();

        let (mut flows_on_links, mut links_used, mut bytes_on_links, mut units_used) = (0u64, 0u64, 0.0, 0.0);
        let mut paths_per_link_max = 0;
        for ((link, &bytes), &paths) in net.links().iter().zip(&load.bytes).zip(&load.paths) {
            if paths > 0 {
                let lanes = u64::from(link.lanes);
                paths_per_link_max = paths_per_link_max.max(paths.div_ceil(lanes));
                flows_on_links += paths;
                links_used += lanes.min(paths);
                bytes_on_links += bytes as f64;
                units_used += link.capacity / unit;
            }
        }
        let mut forwards = vec![false; net.hosts()];
        let (mut forwarded, mut bytes, mut byte_hops) = (0u64, 0u128, 0u128);
        for flow in flows() {
            let between = flow.stops.get(1..flow.stops.len().saturating_sub(1)).unwrap_or_default();
            for host in between {
                forwards[host.index()] = true;
                forwarded = forwarded.saturating_add(flow.bytes);
            }
            bytes += u128::from(flow.bytes);
            byte_hops += u128::from(flow.bytes) * flow.links.len() as u128;
        }
        let striped_load = striped_load(net, &plan.demands)?;
        let striped_congestion_seconds = striped_load.as_ref().map(|load| plan::congestion(net, load));
        let further_rails_bytes = further_rails_bytes(net, plan)?;
        let gain = Gain {
            forwarding: forwarded > 0,
            other_spines: forwarded > 0 && takes_other_spines(net, plan)?,
            further_rails: further_rails_bytes > 0,
            striped_seconds: striped_congestion_seconds,
        };
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        Ok(Report {
            planner: plan.planner.clone(),
            hosts: net.hosts(),
            links: net.physical_links(),
            demand_count: plan.demands.len(),
            paths,
            paths_per_demand_max: plan.flows.iter().map(Vec::len).max().unwrap_or(0),
            paths_per_demand_mean: ratio(paths as f64, plan.demands.len() as f64),
            paths_per_link_max,
            paths_per_link_mean: ratio(flows_on_links as f64, links_used as f64),
            bytes_per_link_max: plan.congestion_seconds * unit,
            bytes_per_link_mean: ratio(bytes_on_links, units_used),
            forwarders: forwards.iter().filter(|&&f| f).count(),
            forwarded_bytes: forwarded,
            further_rails_bytes,
            hops_max: flows().map(|f| f.links.len()).max().unwrap_or(0),
            hops_mean: ratio(byte_hops as f64, bytes as f64),
            congestion_seconds: plan.congestion_seconds,
            direct_congestion_seconds: plan.direct_congestion_seconds,
            striped_congestion_seconds,
            improvement: match plan.congestion_seconds > 0.0 {
                true => plan.direct_congestion_seconds / plan.congestion_seconds,
                false => 1.0,
            },
            bound_seconds: plan.bound_seconds,
            gap: plan.gap(),
            binding: plan.binding.clone(),
            classes: plan.classes(net)?,
            load,
            direct_load,
            striped_load,
            gain,
        })
    }
}

/// See [`Report::further_rails_bytes`].
fn further_rails_bytes(net: &Network, plan: &Plan) -> Result<u64, NetError> {
    let (mut bytes, mut route) = (0u64, Vec::new());
    for flow in plan.flows.iter().flatten() {
        let mut rest = flow.links.as_slice();
        for leg in flow.stops.windows(2) {
            let Some(&first) = rest.first() else { break };
            if net.has_rails(leg[0]) {
                route.clear();
                net.route(leg[0], leg[1], &mut route)?;
                if route.first() != Some(&first) {
                    bytes = bytes.saturating_add(flow.bytes);
                }
            }
            let ends = rest.iter().position(|&link| net.link(link).to == leg[1]);
            rest = ends.map_or(&[], |at| &rest[at + 1..]);
        }
    }
    Ok(bytes)
}

/// Whether something is forwarded over a switch that has no hosts, which the fabric's own route of its demand does not pass.
fn takes_other_spines(net: &Network, plan: &Plan) -> Result<bool, NetError> {
    if net.hosts() == net.vertices() {
        return Ok(false);
    }
    let mut leaf = vec![false; net.vertices()];
    for link in net.links().iter().filter(|link| net.is_host(link.from)) {
        leaf[link.to.index()] = true;
    }
    let spine = |link: &LinkId| Some(net.link(*link).to).filter(|v: &NodeId| !net.is_host(*v) && !leaf[v.index()]);
    let mut route = Vec::new();
    for (demand, flows) in plan.demands.iter().zip(&plan.flows) {
        for flow in flows.iter().filter(|flow| flow.stops.len() > 2) {
            route.clear();
            net.route(demand.src, demand.dst, &mut route)?;
            if flow.links.iter().filter_map(spine).any(|v| !route.iter().filter_map(spine).any(|own| own == v)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
