//! Which problems are large: where all cheapest paths, or a dozen columns for each demand, are out of reach.

use crate::constants::{K_LEAST, LARGE_COLUMNS, PRICING_VISIT, WORK_MOST};
use crate::demands::Demand;
use optiq_net::{Network, NodeId};

/// Visits to links that pricing by Dijkstra's algorithm from `roots` vertices makes, about.
pub(crate) fn pricing_work(net: &Network, roots: usize) -> f64 {
    PRICING_VISIT * roots as f64 * net.links().len() as f64
}

/// Whether a grid has enough hosts or demands that `optimal` begins with few columns and finds others
/// as walks (module `walks`): where one pricing would take all of the work allowed, or columns as many as
/// [`K_LEAST`] for each demand would have more links than `LARGE_COLUMNS`.
pub(crate) fn is_large(net: &Network, demands: &[Demand]) -> bool {
    let Some(grid) = net.geometry().grid().filter(|_| net.ports().is_some_and(|ports| ports.order().is_some())) else {
        return false;
    };
    // Half of the diameter is the mean distance on a torus.
    let columns = demands.len() as f64 * K_LEAST as f64 * f64::from(grid.diameter()) / 2.0;
    columns > LARGE_COLUMNS || pricing_work(net, fewer_ends(net, demands)) > WORK_MOST
}

/// The number of hosts that send, or that receive, whichever is less.
fn fewer_ends(net: &Network, demands: &[Demand]) -> usize {
    let distinct = |end: fn(&Demand) -> NodeId| {
        let mut seen = vec![false; net.vertices()];
        demands.iter().for_each(|d| seen[end(d).index()] = true);
        seen.into_iter().filter(|&seen| seen).count()
    };
    distinct(|d| d.src).min(distinct(|d| d.dst))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::demands;

    /// 4,096 hosts with 36,864 links: pricing from 256 sources is 3 x 256 x 36,864 visits, far from 4e9. On 65,536 hosts with
    /// 524,288 links and 4,096 sources it is 6.4e9. A switched network has no walks.
    #[test]
    fn what_is_large() {
        for (spec, pattern, large) in [
            ("bgq:4096", "disjoint", false),
            ("bgq:4096", "random,count=50000", false),
            ("bgq:4096", "random,count=1000000", true),
            ("torus:16x16x16x16", "disjoint", true),
            ("torus:16x16x16x16", "disjoint,sources=16", false),
            ("fattree:k=4", "random,count=2000000", false),
        ] {
            let net = Network::from_spec(spec).unwrap();
            let demands = demands::parse(&format!("pattern:{pattern}"), &net, 1).unwrap();
            assert_eq!(is_large(&net, &demands), large, "{spec} {pattern}");
        }
    }
}
