//! Plans: per demand, paths with bytes, and what the plan was made for.

pub mod classes;
pub mod codec;

use crate::checks::check_demands;
use crate::demands::Demand;
use crate::legs;
use crate::parallel::in_two;
use optiq_net::{Fingerprint, LinkId, LinkLoad, NetError, Network, NodeId};

/// The version of plans that this build makes and reads.
/// Version 2 brought the classes of demands.
pub const PLAN_VERSION: u32 = 2;

/// Bytes of one demand on one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The links from source to destination.
    pub links: Vec<LinkId>,
    /// Source, forwarders in order, destination: consecutive ones are joined by the fabric's own route, which is
    /// that stretch of `links` ([`crate::legs`]).
    pub stops: Vec<NodeId>,
    /// Above zero.
    pub bytes: u64,
}

/// A plan. The same network, demands and options give the same plan, to the byte on disk; it holds no times of
/// day and no durations of planning.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// [`PLAN_VERSION`].
    pub version: u32,
    /// The planner that made it.
    pub planner: String,
    /// The network that it was made for.
    pub network: Fingerprint,
    /// [`crate::demands::fingerprint`] of `demands`.
    pub demands_fingerprint: Fingerprint,
    /// The demands, in the order they were given.
    pub demands: Vec<Demand>,
    /// Per demand its flows; their bytes sum to the demand's exactly.
    pub flows: Vec<Vec<Flow>>,
    /// Max over links of load / capacity, in seconds: no execution is faster.
    pub congestion_seconds: f64,
    /// The same for the fabric's own routes.
    pub direct_congestion_seconds: f64,
    /// A proved lower bound on the congestion of every routing of all demands, whatever their classes.
    pub bound_seconds: f64,
    /// What proves the bound, in words: `the 9 links that leave h3`.
    pub binding: String,
}

impl Plan {
    /// How far the plan may be from the best there is: congestion over bound, minus 1; 0 if there is nothing to move.
    pub fn gap(&self) -> f64 {
        if self.bound_seconds > 0.0 { self.congestion_seconds / self.bound_seconds - 1.0 } else { 0.0 }
    }

    /// The load that the plan puts on every link of the network that it was made for.
    ///
    /// # Errors
    /// [`NetError::Overflow`]; not for a plan that [`Plan::check`] finds sound.
    pub fn link_load(&self, net: &Network) -> Result<LinkLoad, NetError> {
        let mut load = LinkLoad::empty(net);
        for flow in self.flows.iter().flatten() {
            load.add(net, &flow.links, flow.bytes)?;
        }
        Ok(load)
    }

    /// Whether the plan can be executed on `net` and delivers every byte: it is for this network, and its demands
    /// are those of its fingerprint; flows are chains of links from source to destination that pass no host and no link
    /// twice, cut into legs at their stops, and sum to their demands; congestion figures are those of the flows, and the bound
    /// does not exceed them.
    ///
    /// # Errors
    /// What does not hold, as a sentence.
    pub fn check(&self, net: &Network) -> Result<(), String> {
        if self.network != net.fingerprint() {
            return Err(format!("the plan is for network {}, not {}", self.network, net.fingerprint()));
        }
        check_demands(net, &self.demands).map_err(|e| e.to_string())?;
        if crate::demands::fingerprint(&self.demands) != self.demands_fingerprint {
            return Err("the demands are not those of the demands fingerprint".into());
        }
        if self.flows.len() != self.demands.len() {
            return Err(format!("there are flows for {} demands of {}", self.flows.len(), self.demands.len()));
        }
        self.check_flows(net)?;
        let load = self.link_load(net).map_err(|e| e.to_string())?;
        self.check_figures(net, &load, &direct_load(net, &self.demands).map_err(|e| e.to_string())?)
    }

    /// The part of [`Plan::check`] that looks at every flow. There are as many lists of flows as demands.
    pub(crate) fn check_flows(&self, net: &Network) -> Result<(), String> {
        let demands: Vec<usize> = (0..self.demands.len()).collect();
        let check = |part: &[usize]| {
            let mut checker =
                Checker { net, cutter: legs::Cutter::new(net), passed: vec![0; net.vertices()], flows: 0 };
            part.iter().try_for_each(|&i| {
                let demand = &self.demands[i];
                let mut sum = 0u64;
                for flow in &self.flows[i] {
                    checker.check(demand, flow).map_err(|problem| format!("a flow of demand {i} {problem}"))?;
                    sum = sum.saturating_add(flow.bytes);
                }
                if sum == demand.bytes {
                    return Ok(());
                }
                Err(format!("the flows of demand {i} carry {sum} bytes, but it has {}", demand.bytes))
            })
        };
        let (first, second) = in_two(&demands, demands.len() >= MANY, check);
        first.and(second.unwrap_or(Ok(())))
    }

    /// The part of [`Plan::check`] that compares figures with the load of the flows and that of the fabric's own routes.
    pub(crate) fn check_figures(&self, net: &Network, load: &LinkLoad, direct: &LinkLoad) -> Result<(), String> {
        let figures = [
            ("congestion", self.congestion_seconds, congestion(net, load)),
            ("direct congestion", self.direct_congestion_seconds, congestion(net, direct)),
        ];
        for (what, stated, real) in figures {
            if stated.to_bits() != real.to_bits() {
                return Err(format!("the {what} is stated as {stated} s, but it is {real} s"));
            }
        }
        if !(self.bound_seconds >= 0.0 && self.bound_seconds <= self.congestion_seconds) {
            return Err(format!("the bound is {} s, which no lower bound can be", self.bound_seconds));
        }
        Ok(())
    }
}

/// With fewer demands than this a second thread does not pay.
pub(crate) const MANY: usize = 1 << 10;

/// Checks one flow after another.
struct Checker<'n> {
    net: &'n Network,
    cutter: legs::Cutter<'n>,
    /// Per vertex, the number of the last flow that passed it.
    passed: Vec<u64>,
    /// Flows so far.
    flows: u64,
}

impl Checker<'_> {
    fn check(&mut self, demand: &Demand, flow: &Flow) -> Result<(), String> {
        let Some(nodes) = self.cutter.walk(&flow.links) else { return Err("is not a chain of links".into()) };
        if nodes.first() != Some(&demand.src) || nodes.last() != Some(&demand.dst) {
            return Err("does not lead from its source to its destination".into());
        }
        self.flows += 1;
        // Switches may be passed twice: a path through a host goes over that host's switch on the way in and out.
        let net = self.net;
        let mut again = |v: &NodeId| std::mem::replace(&mut self.passed[v.index()], self.flows) == self.flows;
        let host_again = nodes.iter().filter(|&&v| net.is_host(v)).any(&mut again);
        if host_again || net.vertices() > net.hosts() && legs::repeated(net, &flow.links).is_some() {
            return Err("passes a host or a link twice".into());
        }
        if flow.bytes == 0 {
            return Err("carries no bytes".into());
        }
        if !self.cutter.check_walked(&flow.links, &flow.stops) {
            return Err("does not follow the fabric's own routes between its stops".into());
        }
        Ok(())
    }
}

/// Max over links of bytes / capacity, in seconds.
pub fn congestion(net: &Network, load: &LinkLoad) -> f64 {
    net.links().iter().zip(&load.bytes).map(|(l, &bytes)| bytes as f64 / l.capacity).fold(0.0, f64::max)
}

/// The load of the demands on the fabric's own routes.
///
/// # Errors
/// What [`Network::route_load`] reports.
pub fn direct_load(net: &Network, demands: &[Demand]) -> Result<LinkLoad, NetError> {
    let load = |part: &[Demand]| net.route_load(part.iter().map(|d| (d.src, d.dst, d.bytes)));
    // Where routers choose, what one demand takes depends on the others.
    let apart = demands.len() >= MANY && !net.routing().is_adaptive();
    let (first, second) = in_two(demands, apart, load);
    let mut sum = first?;
    if let Some(second) = second {
        sum.merge(net, &second?)?;
    }
    Ok(sum)
}
