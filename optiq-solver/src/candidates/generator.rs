//! The candidate paths of one pair after another, by any method but templates.

use crate::candidates::diverse::Diverse;
use crate::candidates::method::CandidateMethod;
use crate::candidates::via::Via;
use crate::candidates::yen::Yen;
use crate::candidates::yen::query::Query;
use crate::legs;
use optiq_net::{LinkId, NetError, Network, NodeId};

/// One method's working space.
pub(super) struct Generator<'n> {
    net: &'n Network,
    k: usize,
    method: Method<'n>,
    /// Whether paths need not be looked at one by one to know that they can be executed.
    all_executable: bool,
    /// The destination of the last query and the distances to it.
    distances: Option<(NodeId, Vec<u32>)>,
    diameter: u32,
    cutter: legs::Cutter<'n>,
}

/// What the methods need.
enum Method<'n> {
    Yen(Yen<'n>),
    Diverse(Diverse<'n>),
    Via(Via<'n>),
}

impl<'n> Generator<'n> {
    /// For about `pairs` pairs.
    pub fn new(net: &'n Network, k: usize, method: CandidateMethod, pairs: usize) -> Self {
        let (method, diameter) = match method {
            CandidateMethod::Diverse => (Method::Diverse(Diverse::new(net)), 0),
            CandidateMethod::Via => (Method::Via(Via::new(net, pairs, k)), 0),
            _ => (Method::Yen(Yen::new(net)), net.diameter()),
        };
        let (all_executable, cutter) = (legs::every_path_has_legs(net), legs::Cutter::new(net));
        Generator { net, k, method, all_executable, distances: None, diameter, cutter }
    }

    /// At most `k` paths, the fabric's own among them.
    pub fn paths(&mut self, src: NodeId, dst: NodeId) -> Result<Vec<Vec<LinkId>>, NetError> {
        let mut own = Vec::new();
        self.net.route(src, dst, &mut own)?;
        let (net, k) = (self.net, self.k);
        let (all_executable, cutter) = (self.all_executable, &mut self.cutter);
        let executable = |path: &[LinkId]| all_executable || cutter.stops(path).is_some();
        let rotation = rotation(src, dst);
        let mut paths = match &mut self.method {
            Method::Diverse(diverse) => diverse.paths(src, dst, k, rotation, executable),
            // It composes them of legs, the fabric's own route first.
            Method::Via(via) => return Ok(via.paths(src, dst, k)),
            Method::Yen(yen) => {
                let distances = match self.distances.take() {
                    Some((of, distances)) if of == dst => distances,
                    _ => net.distances_to(dst),
                };
                let max_hops = self.diameter;
                let paths = yen.paths(Query { src, dst, distance: &distances, k, max_hops, rotation }, executable);
                self.distances = Some((dst, distances));
                paths
            }
        };
        if !paths.contains(&own) {
            paths.truncate(k - 1);
            let place = paths.partition_point(|p| p.len() <= own.len());
            paths.insert(place, own);
        }
        Ok(paths)
    }
}

/// Rotates the order of ports between equally good paths, so that not all pairs prefer the same.
fn rotation(src: NodeId, dst: NodeId) -> u32 {
    src.0.wrapping_add(dst.0)
}
