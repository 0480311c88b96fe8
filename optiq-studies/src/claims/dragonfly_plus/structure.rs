//! K1: the network, and how large such networks can be.

use super::system::System;
use crate::claims::setting::Setting;
use crate::failure::Failure;
use crate::findings::{Column, Findings, Row, Verdict, column};
use optiq_net::{Class, LinkId, Network, NodeId};
use std::collections::BTreeMap;

const COLUMNS: &[Column] = &[
    column("quantity", "quantity", 0),
    column("published", "published", 3),
    column("ours", "ours", 3),
    column("asked for", "asked", 0),
];

fn equal(quantity: String, published: f64, ours: f64) -> Row {
    let verdict = Verdict::of(published == ours, || format!("{quantity}: {ours}, published {published}"));
    Row::new(vec![quantity.into(), published.into(), ours.into(), "equal".into()], verdict)
}

/// The fewest and the most cables between any two groups.
fn cables(network: &Network) -> Option<(u32, u32)> {
    let shape = network.switched_shape()?;
    let mut between: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for id in (0..network.links().len() as u32).map(LinkId).filter(|&id| network.class(id) == Class::Global) {
        let link = network.link(id);
        *between.entry((shape.group(link.from), shape.group(link.to))).or_default() += link.lanes;
    }
    Some((*between.values().min()?, *between.values().max()?))
}

/// The most links between the switches of two hosts, over a host of each leaf switch.
fn diameter(network: &Network, in_leaf: usize) -> u32 {
    let hosts: Vec<NodeId> = (0..network.hosts() as u32).step_by(in_leaf).map(NodeId).collect();
    let pairs = hosts.iter().flat_map(|&a| hosts.iter().map(move |&b| (a, b))).filter(|(a, b)| a != b);
    // Without the links of the two hosts.
    pairs.map(|(a, b)| network.distance(a, b) - 2).max().unwrap_or(0)
}

/// Formula (1): hosts of the largest Dragonfly+ with routers of this radix.
fn largest_plus(radix: u64) -> u64 {
    let half = radix / 2;
    half * half * (half * half + 1)
}

/// Formula (2): of the largest 1-D dragonfly.
fn largest_dragonfly(radix: u64) -> u64 {
    let group = radix / 4 * (radix / 2 + 1);
    group * (group + 1)
}

/// K1.
pub(in super::super) fn structure(setting: &Setting) -> Result<Findings, Failure> {
    let system = System::new(setting)?;
    let (network, published) = (&system.network, system.published);
    let (fewest, most) = cables(network).unwrap_or_default();
    let count = f64::from;
    let mut rows = vec![
        equal("hosts".into(), 3456.0, network.hosts() as f64),
        equal("groups".into(), count(published.groups), count(system.group(network.hosts() as u32 - 1) + 1)),
        equal("cables between two groups, fewest".into(), count(published.cables_between_groups), count(fewest)),
        equal("cables between two groups, most".into(), count(published.cables_between_groups), count(most)),
        equal("diameter, links between switches".into(), count(published.diameter), count(diameter(network, 16))),
    ];
    for radix in [8u32, 16, 24] {
        let (half, quarter) = (radix / 2, radix / 4);
        let plus = Network::from_spec(&format!("dragonfly+:p={half},l={half},s={half},h={half}"))?.hosts();
        let flat = Network::from_spec(&format!("dragonfly:p={quarter},a={},h={quarter}", half + 1))?.hosts();
        let radix = u64::from(radix);
        rows.push(equal(
            format!("(1) hosts of the largest Dragonfly+ of radix {radix}"),
            largest_plus(radix) as f64,
            plus as f64,
        ));
        let formula = largest_dragonfly(radix) as f64;
        rows.push(equal(format!("(2) hosts of the largest 1-D dragonfly of radix {radix}"), formula, flat as f64));
    }
    let at = |radix: u64| largest_plus(radix) as f64 / largest_dragonfly(radix) as f64;
    let far = at(1 << 14);
    let verdict = Verdict::of((far - 4.0).abs() < 0.01, || format!("the ratio of sizes tends to {far}"));
    let quantity = format!("(3) limit of the ratio of both; radix 48: {:.2}, radix 16,384 as ours", at(48));
    rows.push(Row::new(vec![quantity.into(), 4.0.into(), far.into(), "equal in the limit".into()], verdict));
    let note =
        "Ours of (1) and (2): the hosts of networks as `optiq topology` makes them, with as many groups as can be."
            .into();
    Ok(Findings::new(COLUMNS, rows, vec![note]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_those_of_the_text() {
        // r = 8: 16 hosts a group, 17 groups; and 10 a group, 11 groups.
        assert_eq!((largest_plus(8), largest_dragonfly(8)), (272, 110));
        let network = Network::from_spec("dragonfly+:p=2,l=3,s=3,h=2,g=3").unwrap();
        assert_eq!((cables(&network), diameter(&network, 2)), (Some((3, 3)), 3));
    }
}
