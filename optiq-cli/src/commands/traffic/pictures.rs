//! What the pictures of `optiq traffic` show.

use super::jobs::JobTraffics;
use crate::failure::Failure;
use optiq_lower::link_traffic::PairsOnLink;
use optiq_net::Network;
use optiq_view::fabric::{LinkMakers, LinkPart, LinkSeries};

/// Pairs of hosts that are named for each end of a link.
const MAKERS: usize = 3;

/// Traffic between hosts as the links carry it on the fabric's own routes; `jobs` are the names of the jobs.
pub fn series(name: &str, traffics: &JobTraffics, net: &Network, jobs: &[&str]) -> Result<LinkSeries, Failure> {
    let (traffics, regions) = traffics.by_region();
    let found = traffics.on_links(net, regions.len(), MAKERS)?;
    let makers = |p: PairsOnLink| LinkMakers { pairs: p.pairs, most: p.most };
    let part = |((job, region), bytes)| LinkPart { job, region, bytes };
    Ok(LinkSeries {
        name: name.to_owned(),
        bytes: found.load.bytes,
        jobs: jobs.iter().map(|job| (*job).to_owned()).collect(),
        parts: regions.into_iter().zip(found.regions).map(part).collect(),
        makers: found.makers.into_iter().map(makers).collect(),
    })
}
