//! The fabric's own routes with every message striped over the rails of its source.
//!
//! Where hosts have several links to switches, the fabric's own route between two hosts takes one of them, but MPI
//! libraries send a large message over all of them at once, each rail its share by bandwidth. That is what a plan for
//! such a network has to beat.

use crate::demands::Demand;
use crate::parallel::in_two;
use crate::plan::MANY;
use optiq_net::{LinkId, LinkLoad, NetError, Network};

/// The load of the demands if each host that has rails ([`Network::has_rails`]) splits each demand over all of them by
/// capacity, and the others use the fabric's own routes. `None` if no source has.
///
/// # Errors
/// [`NetError`] if the fabric has no route for a demand, or bytes overflow.
pub fn striped_load(net: &Network, demands: &[Demand]) -> Result<Option<LinkLoad>, NetError> {
    if !demands.iter().any(|d| net.has_rails(d.src)) {
        return Ok(None);
    }
    let (first, second) = in_two(demands, demands.len() >= MANY, |part| load_of(net, part));
    let mut sum = first?;
    if let Some(second) = second {
        sum.merge(net, &second?)?;
    }
    Ok(Some(sum))
}

fn load_of(net: &Network, demands: &[Demand]) -> Result<LinkLoad, NetError> {
    let mut load = LinkLoad::empty(net);
    let mut routes: Vec<(f64, Vec<LinkId>)> = Vec::new();
    for d in demands {
        routes.clear();
        if net.has_rails(d.src) {
            for port in net.adapter_links(d.src) {
                let mut route = Vec::new();
                if net.route_by_port(port, d.dst, &mut route).is_ok() {
                    routes.push((net.link(port).capacity, route));
                }
            }
        }
        if routes.is_empty() {
            let mut route = Vec::new();
            net.route(d.src, d.dst, &mut route)?;
            routes.push((1.0, route));
        }
        let all: f64 = routes.iter().map(|(capacity, _)| capacity).sum();
        let (mut left, mut share) = (d.bytes, 0.0);
        for (capacity, route) in &routes {
            share += capacity;
            // What is left behind this rail; nothing behind the last one, where both sums are the same.
            let behind = (d.bytes as f64 * (1.0 - share / all)).floor() as u64;
            let bytes = left.saturating_sub(behind);
            left -= bytes;
            if bytes > 0 {
                load.add(net, route, bytes)?;
            }
        }
    }
    Ok(load)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::plan::congestion;
    use optiq_net::NodeId;

    fn seconds(spec: &str, demands: &[(u32, u32, u64)]) -> Option<f64> {
        let net = Network::from_spec(spec).unwrap();
        let demands: Vec<Demand> = demands
            .iter()
            .map(|&(src, dst, bytes)| Demand { src: NodeId(src), dst: NodeId(dst), bytes, class: 0 })
            .collect();
        Some(congestion(&net, &striped_load(&net, &demands).unwrap()?))
    }

    #[test]
    fn every_rail_carries_its_share() {
        // One host sends to another under the same leaf: half on each rail, the odd byte included.
        assert_eq!(seconds("fattree:2x2:1x2,rails=2,capacity=1B/s", &[(0, 1, 100)]), Some(50.0));
        assert_eq!(seconds("fattree:2x2:1x2,rails=2,capacity=1B/s", &[(0, 1, 101)]), Some(51.0));
        assert_eq!(seconds("fattree:2x2:1x2,rails=4,capacity=1B/s", &[(0, 1, 100), (0, 2, 100)]), Some(50.0));
    }

    #[test]
    fn without_a_choice_there_is_nothing_to_stripe() {
        assert_eq!(seconds("fattree:2x2:1x2", &[(0, 1, 100)]), None);
        assert_eq!(seconds("torus:4x4", &[(0, 1, 100)]), None);
        // An adapter and a link to memory are no two rails.
        assert_eq!(seconds("star:4,nodes=2@100B/s", &[(0, 2, 100)]), None);
        assert_eq!(seconds("fattree:2x2:1x2,rails=2", &[]), None);
    }
}
