//! Conversion to and from [petgraph](https://docs.rs/petgraph), for its generic algorithms.

use crate::builder::{End, NetworkBuilder};
use crate::error::NetError;
use crate::geometry::Geometry;
use crate::ids::{Link, NodeId};
use crate::network::Network;
use crate::routing::Routing;
use petgraph::graph::DiGraph;
use petgraph::visit::EdgeRef;

/// What a vertex of the petgraph is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vertex {
    /// A host of this name.
    Host(String),
    /// A switch of this name.
    Switch(String),
}

/// The network as a petgraph: node index `i` is vertex `i`, edge index `i` is link `i`.
pub fn to_petgraph(network: &Network) -> DiGraph<Vertex, Link> {
    let mut graph = DiGraph::with_capacity(network.vertices(), network.links().len());
    for v in (0..network.vertices() as u32).map(NodeId) {
        let name = network.name(v).to_string();
        graph.add_node(if network.is_host(v) { Vertex::Host(name) } else { Vertex::Switch(name) });
    }
    for link in network.links() {
        graph.add_edge(link.from.0.into(), link.to.0.into(), *link);
    }
    graph
}

/// A network without geometry and with shortest-path routing. Hosts and switches are numbered in the order in which
/// they stand in the graph; `capacity` and `lanes` are taken from the edge's weight, its ends from the edge.
///
/// # Errors
/// Whatever [`NetworkBuilder::build`] rejects.
pub fn from_petgraph(graph: &DiGraph<Vertex, Link>, spec: &str) -> Result<Network, NetError> {
    let mut builder = NetworkBuilder::new();
    let ends: Vec<End> = graph
        .node_weights()
        .map(|vertex| match vertex {
            Vertex::Host(name) => builder.host(name),
            Vertex::Switch(name) => builder.switch(name),
        })
        .collect();
    for edge in graph.edge_references() {
        let Link { lanes, capacity, .. } = *edge.weight();
        let each = capacity / f64::from(lanes.max(1));
        builder.link(ends[edge.source().index()], ends[edge.target().index()], lanes, each);
    }
    builder.build(spec, Geometry::General, Routing::Shortest)
}
