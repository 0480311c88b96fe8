//! Flows, what limits them, and what became of them.

use crate::error::SimError;
use crate::model::Model;
use optiq_net::{LinkId, Network, NodeId};

/// Bytes from one host to another one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// The host that sends.
    pub source: u32,
    /// The host that receives.
    pub destination: u32,
    /// How many bytes.
    pub bytes: u64,
    /// When it is sent, in seconds.
    pub start: f64,
    /// From then until its bytes begin to use links, in seconds.
    pub latency: f64,
    /// The most bytes per second that it takes, if less than what links give.
    pub cap: Option<f64>,
    /// Its links in order; the fabric's own route if they are not given.
    pub links: Option<Vec<LinkId>>,
}

impl Flow {
    /// A flow that begins at once, on the fabric's own route.
    pub fn new(source: u32, destination: u32, bytes: u64) -> Self {
        Self { source, destination, bytes, ..Self::default() }
    }
}

/// What limits flows besides the links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The part of each link's capacity that flows can use, above 0 and at most 1.
    pub efficiency: f64,
    /// What a host sends to all others together, in bytes per second; 0 is no limit.
    pub injection: f64,
    /// What a host receives from all others together, in bytes per second; 0 is no limit.
    pub ejection: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { efficiency: 1.0, injection: 0.0, ejection: 0.0 }
    }
}

impl Limits {
    /// Those of a packet model on a network: headers count as a loss of capacity, and memory limits hosts that are joined
    /// directly.
    pub fn of(model: &Model, network: &Network) -> Self {
        let (packet, header) = (model.link.packet_bytes as f64, model.link.header_bytes as f64);
        let memory = if is_direct(network) { 1.0 } else { 0.0 };
        let part = packet / (packet + header);
        Self {
            efficiency: model.link.efficiency * part,
            injection: memory * model.host.injection_bytes_per_second * part,
            ejection: memory * model.host.ejection_bytes_per_second * part,
        }
    }
}

/// What became of flows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finished {
    /// When each flow ended, in seconds.
    pub finish: Vec<f64>,
    /// When the last one did.
    pub makespan: f64,
    /// Bytes of flows on each link of the network.
    pub link_bytes: Vec<u64>,
    /// How many times rates were computed.
    pub updates: u64,
}

/// Is told, after each change, the time and the rate of each active flow, in bytes per second.
pub type Observer<'a> = &'a mut dyn FnMut(f64, &[(usize, f64)]);

/// Whether hosts are joined directly, without switches.
pub(super) fn is_direct(network: &Network) -> bool {
    network.hosts() == network.vertices()
}

/// The error of a flow or a message between hosts that do not exist.
pub(super) fn unknown_host(what: &str, source: u32, destination: u32, hosts: u32) -> SimError {
    SimError::Workload(format!("a {what} from host {source} to host {destination}; there are {hosts} hosts"))
}

/// Checks a flow.
pub(super) fn check(network: &Network, number: usize, flow: &Flow) -> Result<(), SimError> {
    let hosts = network.hosts() as u32;
    if flow.source.max(flow.destination) >= hosts {
        return Err(unknown_host("flow", flow.source, flow.destination, hosts));
    }
    let wrong = |text: String| Err(SimError::Workload(format!("flow {number}: {text}")));
    for (what, time) in [("start", flow.start), ("latency", flow.latency)] {
        if !(time.is_finite() && time >= 0.0) {
            return wrong(format!("a {what} of {time} seconds; a number from 0 on is expected"));
        }
    }
    if let Some(cap) = flow.cap
        && !(cap.is_finite() && cap > 0.0)
    {
        return wrong(format!("a cap of {cap} bytes per second; a number above 0 is expected"));
    }
    let Some(links) = &flow.links else { return Ok(()) };
    let mut at = NodeId(flow.source);
    for &link in links {
        if link.index() >= network.links().len() {
            return wrong(format!("link {}; there are {} links", link.0, network.links().len()));
        }
        let link = network.link(link);
        if link.from != at {
            let (found, expected) = (network.name(link.from), network.name(at));
            return wrong(format!("a link that begins at {found}; one that begins at {expected} is expected"));
        }
        at = link.to;
    }
    if at != NodeId(flow.destination) {
        let (found, expected) = (network.name(at), network.name(NodeId(flow.destination)));
        return wrong(format!("links that end at {found}; {expected} is expected"));
    }
    Ok(())
}
