//! Vertices and paths in words.

use crate::failure::Failure;
use optiq_net::{LinkId, Network, NodeId};
use optiq_solver::legs;

/// The names of the vertices on a path of links.
pub fn along(net: &Network, links: &[LinkId]) -> Vec<String> {
    of(net, &legs::nodes(net, links).unwrap_or_default())
}

/// The names of vertices.
pub fn of(net: &Network, nodes: &[NodeId]) -> Vec<String> {
    nodes.iter().map(|&v| net.name(v).to_owned()).collect()
}

/// A path in one line, hosts that forward in brackets: `h0 h1 [h2] h6`.
pub fn line(net: &Network, links: &[LinkId], stops: &[NodeId]) -> String {
    let forwarders = stops.get(1..stops.len().saturating_sub(1)).unwrap_or_default();
    let mut words = Vec::with_capacity(links.len() + 1);
    for v in legs::nodes(net, links).unwrap_or_default() {
        let name = net.name(v);
        words.push(if forwarders.contains(&v) { format!("[{name}]") } else { name.to_owned() });
    }
    words.join(" ")
}

/// A vertex with its coordinates where there are any: `h5 (1,1)`.
pub fn with_coordinates(net: &Network, v: NodeId) -> String {
    match net.geometry().grid() {
        Some(grid) => {
            let coordinates: Vec<String> = grid.coordinates(v).iter().map(u32::to_string).collect();
            format!("{} ({})", net.name(v), coordinates.join(","))
        }
        None => net.name(v).to_owned(),
    }
}

/// The host that `text` means.
///
/// # Errors
/// [`Failure::Input`] if there is no such vertex, or it is a switch.
pub fn host(net: &Network, text: &str) -> Result<NodeId, Failure> {
    match net.resolve(text)? {
        v if net.is_host(v) => Ok(v),
        v => Err(Failure::Input(format!("{} is a switch; a host is expected", net.name(v)))),
    }
}
