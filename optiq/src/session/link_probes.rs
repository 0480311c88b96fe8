//! Probes of single links between calls: what is left of a link that is taken for busy and carries nothing of ours any more.
//!
//! A probe is a pair of ranks whose route leads over the link, and over no other one that is taken for busy or that another probe of the same turn needs. The
//! pairs of a turn send at the same time, each for [`LINK_PROBE_SECONDS`], and what a pair reaches says whether its link is free again. Two turns make a probe, as
//! two exchanges must agree before another plan is thought of. All of this is so rare that it takes [`LOOK_PART`] of the time.

use optiq_lower::constants::{CONFIRMATIONS, LINK_PROBE_SECONDS, LOOK_PART};
use optiq_lower::placement::Placement;
use optiq_net::{LinkId, Network};
use optiq_transport::Rank;
use std::collections::BTreeSet;

/// Pairs of hosts that are looked at for a link, at most.
const MOST_PAIRS: usize = 1 << 14;

/// A link, and the ranks that probe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkProbe {
    pub(super) link: LinkId,
    pub(super) from: Rank,
    pub(super) to: Rank,
}

impl LinkProbe {
    /// As words that rank 0 sends to all.
    pub(super) fn words(probes: &[Self]) -> Vec<u8> {
        probes.iter().flat_map(|p| [p.link.0, p.from.0, p.to.0].map(u32::to_le_bytes).concat()).collect()
    }

    pub(super) fn of_words(words: &[u8]) -> Vec<Self> {
        let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let probe = |w: &[u8]| Self { link: LinkId(word(w)), from: Rank(word(&w[4..])), to: Rank(word(&w[8..])) };
        words.chunks_exact(12).map(probe).collect()
    }
}

/// Who probes these links in one turn; links that no pair of ranks can probe are left out. `is_busy` says which links are taken for busy.
pub(super) fn choose(
    network: &Network,
    placement: &Placement,
    links: &[LinkId],
    is_busy: impl Fn(LinkId) -> bool,
) -> Vec<LinkProbe> {
    let ranks: Vec<Rank> = (0..placement.len() as u32).map(Rank).collect();
    // One rank of each host is enough.
    let mut hosts = BTreeSet::new();
    let ranks: Vec<Rank> = ranks.into_iter().filter(|&rank| hosts.insert(placement.host(rank))).collect();
    let (mut probes, mut taken, mut used) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for &link in links {
        let pairs = ranks.iter().flat_map(|&from| ranks.iter().map(move |&to| (from, to)));
        let found = pairs.take(MOST_PAIRS).find_map(|(from, to)| {
            if from == to || taken.contains(&from) || taken.contains(&to) {
                return None;
            }
            let mut route = Vec::new();
            network.route(placement.host(from), placement.host(to), &mut route).ok()?;
            let fits = |l: &LinkId| *l == link || !(is_busy(*l) || used.contains(l));
            (route.contains(&link) && route.iter().all(fits)).then_some((from, to, route))
        });
        if let Some((from, to, route)) = found {
            taken.extend([from, to]);
            used.extend(route);
            probes.push(LinkProbe { link, from, to });
        }
    }
    probes
}

/// When the next probe may be.
#[derive(Clone, Debug)]
pub(super) struct ProbePace {
    /// Of the last one, in seconds of the session.
    last: f64,
    /// What it took.
    took: f64,
}

impl ProbePace {
    pub(super) fn new() -> Self {
        Self { last: 0.0, took: f64::from(CONFIRMATIONS) * LINK_PROBE_SECONDS }
    }

    pub(super) fn is_due(&self, now: f64) -> bool {
        (now - self.last) * LOOK_PART >= self.took
    }

    /// A probe that ended at `now` took `seconds`.
    pub(super) fn probed(&mut self, now: f64, seconds: f64) {
        (self.last, self.took) = (now, seconds);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use optiq_lower::placement::PlacementRule;
    use optiq_net::NodeId;

    #[test]
    fn neighbours_probe_their_link_and_no_rank_probes_two() {
        let network = Network::from_spec("torus:4x4").unwrap();
        let names: Vec<String> = (0..16).map(|host| format!("h{host}")).collect();
        let placement = Placement::new(&network, &names, &PlacementRule::Names).unwrap();
        let link = |from: u32, to: u32| network.link_between(NodeId(from), NodeId(to)).unwrap();
        // The first two share a host, and the link between them is busy as well: no other route may need it.
        let busy = [link(0, 1), link(1, 2), link(5, 6)];
        let probes = choose(&network, &placement, &busy, |l| busy.contains(&l));
        let mut ranks = BTreeSet::new();
        for probe in &probes {
            let mut route = Vec::new();
            network.route(NodeId(probe.from.0), NodeId(probe.to.0), &mut route).unwrap();
            assert!(route.contains(&probe.link), "{probe:?}");
            assert_eq!(route.iter().filter(|l| busy.contains(l)).count(), 1, "{probe:?} {route:?}");
            assert!(ranks.insert(probe.from) && ranks.insert(probe.to), "{probes:?}");
        }
        assert_eq!(probes[0], LinkProbe { link: busy[0], from: Rank(0), to: Rank(1) });
        assert!(probes.len() >= 2, "{probes:?}");
        assert_eq!(LinkProbe::of_words(&LinkProbe::words(&probes)), probes);
        // Where the job has no rank behind a link, no pair can probe it.
        let placement = Placement::new(&network, &names[4..6], &PlacementRule::Names).unwrap();
        assert!(choose(&network, &placement, &busy, |_| false).is_empty());
    }

    #[test]
    fn probes_keep_to_their_part_of_the_time() {
        let mut pace = ProbePace::new();
        assert!(!pace.is_due(0.0));
        pace.probed(10.0, 0.1);
        assert!(!pace.is_due(10.0 + 0.99 * 0.1 / LOOK_PART) && pace.is_due(10.0 + 1.01 * 0.1 / LOOK_PART));
    }
}
