//! Which part of the network each thread simulates.

use crate::router::fabric::Fabric;
use crate::time::Time;
use optiq_net::{LinkId, Network, NodeId, ShapeKind};

/// Per vertex, its shard. Hosts are assigned in the order of their numbers, those of a dragonfly by groups; a switch goes
/// where most of its neighbours below are, and one above all of them where there is least to do. So what two parts exchange
/// crosses a grid's slabs, a fat tree's top, or the cables between groups, which are the longest.
pub(crate) fn partition(network: &Network, fabric: &Fabric, shards: usize) -> Vec<u8> {
    const UNASSIGNED: u8 = u8::MAX;
    let (hosts, vertices) = (fabric.hosts as usize, fabric.vertices as usize);
    let shape = network.switched_shape();
    let groups = shape.as_ref().map_or(1, |shape| match shape.kind() {
        ShapeKind::Dragonfly { groups, .. } | ShapeKind::DragonflyPlus { groups, .. } => groups as usize,
        _ => 1,
    });
    let of_host = |host: usize| match &shape {
        Some(shape) if groups >= shards && groups > 1 => shape.group(NodeId(host as u32)) as usize * shards / groups,
        _ => host * shards / hosts,
    };
    let mut owner = vec![UNASSIGNED; vertices];
    let mut links = vec![0; shards];
    for (host, owner) in owner.iter_mut().enumerate().take(hosts) {
        *owner = of_host(host).min(shards - 1) as u8;
    }
    for router in hosts..vertices {
        let out = network.out_links(NodeId(router as u32));
        let mut neighbours = vec![0; shards];
        let mut count = 0;
        for link in out {
            count += 1;
            if let Some(n) = neighbours.get_mut(usize::from(owner[network.link(link).to.index()])) {
                *n += 1;
            }
        }
        let most = neighbours.iter().copied().max().unwrap_or(0);
        let best = (0..shards).filter(|&s| neighbours[s] == most).min_by_key(|&s| links[s]).unwrap_or(0);
        owner[router] = best as u8;
        links[best] += count;
    }
    owner
}

/// The lookahead: the shortest time after which what happens in one shard can make a difference in another one.
pub(crate) fn lookahead(network: &Network, fabric: &Fabric, owner: &[u8]) -> Time {
    let crosses = |link: &LinkId| {
        let link = network.link(*link);
        owner[link.from.index()] != owner[link.to.index()]
    };
    let links = (0..network.links().len() as u32).map(LinkId).filter(crosses);
    links.map(|link| fabric.channels[fabric.channel(link) as usize].latency).min().unwrap_or(Time::NEVER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;

    const NANOSECOND: Time = Time::picoseconds(1000);

    /// Shards of hosts, the smallest share of links, and the latency between parts in nanoseconds.
    fn parts(spec: &str, shards: usize) -> (Vec<usize>, u64) {
        let network = Network::from_spec(spec).unwrap();
        let fabric = Fabric::new(&network, &Model::default(), 1);
        let owner = partition(&network, &fabric, shards);
        assert!(owner.iter().all(|&o| usize::from(o) < shards));
        let mut hosts = vec![0; shards];
        owner[..network.hosts()].iter().for_each(|&o| hosts[usize::from(o)] += 1);
        (hosts, lookahead(&network, &fabric, &owner) / NANOSECOND)
    }

    #[test]
    fn parts_are_alike_and_far_from_each_other() {
        // The default model: 10 ns to a host and within a group, 100 ns between groups.
        assert_eq!(parts("torus:4x4", 2), (vec![8, 8], 10));
        assert_eq!(parts("fattree:k=4", 2), (vec![8, 8], 10));
        assert_eq!(parts("dragonfly:p=2,a=4,h=2,g=8", 2), (vec![32, 32], 100));
        assert_eq!(parts("dragonfly+:p=2,l=2,s=2,h=2,g=4", 2), (vec![8, 8], 100));
        // One switch: nothing to hear of each other but over terminal links.
        assert_eq!(parts("star:4", 2), (vec![2, 2], 10));
        // A network of one part.
        assert_eq!(parts("torus:4x4", 1), (vec![16], Time::NEVER / NANOSECOND));
    }
}
