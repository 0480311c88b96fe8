//! What a plan looks like in numbers: the columns of thesis table VII, and ours.

use crate::plan::classes::ClassFigures;
use crate::plan::{self, Plan};
use optiq_net::{LinkLoad, NetError, Network};
use serde::Serialize;

/// Figures of a plan on its network. A *physical link* is one lane of a bundle; means over links are over those
/// physical links that carry something. Bytes per link are *per unit link*: on a link with `c` times the capacity of
/// the network's slowest physical link, this number of bytes divided by `c`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The planner.
    pub planner: String,
    /// Hosts.
    pub nodes: usize,
    /// Directed physical links.
    pub links: usize,
    /// Demands.
    pub jobs: usize,
    /// Flows: (demand, path) pairs with bytes.
    pub paths: usize,
    /// Most flows of one demand.
    pub paths_per_job_max: usize,
    /// Flows of a demand, mean over all demands.
    pub paths_per_job_mean: f64,
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
    /// Most links on a path.
    pub hops_max: usize,
    /// Links that a byte takes, mean over all bytes.
    pub hops_mean: f64,
    /// See [`Plan::congestion_seconds`].
    pub congestion_seconds: f64,
    /// See [`Plan::direct_congestion_seconds`].
    pub direct_congestion_seconds: f64,
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
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        Ok(Report {
            planner: plan.planner.clone(),
            nodes: net.hosts(),
            links: net.physical_links(),
            jobs: plan.demands.len(),
            paths,
            paths_per_job_max: plan.flows.iter().map(Vec::len).max().unwrap_or(0),
            paths_per_job_mean: ratio(paths as f64, plan.demands.len() as f64),
            paths_per_link_max,
            paths_per_link_mean: ratio(flows_on_links as f64, links_used as f64),
            bytes_per_link_max: plan.congestion_seconds * unit,
            bytes_per_link_mean: ratio(bytes_on_links, units_used),
            forwarders: forwards.iter().filter(|&&f| f).count(),
            forwarded_bytes: forwarded,
            hops_max: flows().map(|f| f.links.len()).max().unwrap_or(0),
            hops_mean: ratio(byte_hops as f64, bytes as f64),
            congestion_seconds: plan.congestion_seconds,
            direct_congestion_seconds: plan.direct_congestion_seconds,
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
        })
    }
}
