//! What the pictures of `optiq traffic` show.

use crate::failure::Failure;
use optiq_lower::link_traffic::{HostTraffics, PairsOnLink};
use optiq_net::Network;
use optiq_view::fabric::{LinkMakers, LinkSeries};

/// Pairs of hosts that are named for each end of a link.
const MAKERS: usize = 3;

/// Traffic between hosts as the links carry it on the fabric's own routes; `regions` are the names of its regions.
pub fn series(name: &str, traffics: &HostTraffics, net: &Network, regions: &[&str]) -> Result<LinkSeries, Failure> {
    let found = traffics.on_links(net, regions.len(), MAKERS)?;
    let makers = |p: PairsOnLink| LinkMakers { pairs: p.pairs, most: p.most };
    Ok(LinkSeries {
        name: name.to_owned(),
        bytes: found.load.bytes,
        regions: regions.iter().map(|region| (*region).to_owned()).zip(found.regions).collect(),
        makers: found.makers.into_iter().map(makers).collect(),
    })
}
